#include "spec/check_entry.h"

#include <string.h>

#include <jobrun/types.h>

#include "spec/entry_arguments.h"
#include "spec/internal.h"

#include "base/banned.h"

/* What every rank runs: one form, and nothing that only another form takes. */

/* The pair of a form that a mapping states. */
static const struct jr_pair *entry_form(const struct jr_check *check, const struct jr_node *node,
                                        const char *form)
{
    const struct jr_pair *pair = jr_doc_pair(node, form);
    bool removed = pair != NULL && jr_lint_is_removed(check->lint, pair->value);
    return removed ? NULL : pair;
}

/* Whether a key is not a field, so that a form may have been meant by it. */
static bool has_unknown_key(const struct jr_node *node, const struct jr_spec_type *type)
{
    for (size_t i = 0; i < node->count; i++)
        if (jr_field_get(type->fields, node->pairs[i].key->text) == NULL)
            return true;
    return false;
}

/* Exactly one of the forms of a field; a template may have none yet. */
static void check_forms(const struct jr_check *check, const char *path, const char *choice)
{
    const struct jr_spec_type *type = jr_field_find(path)->type;
    const struct jr_node *node = jr_check_raw(check, path);
    const struct jr_pair *first = NULL;
    if (node == NULL || node->kind != JR_NODE_MAPPING)
        return;
    for (const char *const *form = type->forms; *form != NULL; form++) {
        const struct jr_pair *pair = entry_form(check, node, *form);
        if (pair != NULL && first != NULL)
            (void)jr_check_clash(check, JR_CODE_TWO_ENTRYPOINTS, pair->key, first->key,
                                 "'%s' has two forms: %s and %s", path, first->key->text,
                                 pair->key->text);
        first = first != NULL ? first : pair;
    }
    if (first == NULL && !has_unknown_key(node, type) && !check->lint->base)
        (void)jr_check_clash(check, JR_CODE_FIELD_REQUIRED, node, NULL, "'%s' wants one of %s",
                             path, choice);
}

void jr_check_forms(const struct jr_check *check)
{
    check_forms(check, "entrypoint", "command, shell, python and library");
    check_forms(check, "entrypoint.python", "script, module and function");
}

/* Refuse what only a function takes. */
static void refuse_function_key(const struct jr_check *check, const struct jr_node *mapping,
                                const char *key, const char *help)
{
    const struct jr_pair *pair = NULL;
    if (mapping != NULL)
        pair = jr_doc_pair(mapping, key);
    if (pair == NULL)
        return;
    struct jr_diag *diag = jr_check_clash(check, JR_CODE_ENTRYPOINT_CANNOT_USE, pair->key, NULL,
                                          "only a Python function has %s", key);
    jr_diag_help(check->lint->diags, diag, "%s", help);
}

/* What proves the groups of `init` has groups to prove. */
static void check_smoke(const struct jr_check *check, const struct jr_node *python)
{
    const char *smoke = jr_check_text(check, "entrypoint.python.smoke_test");
    const char *init = jr_check_text(check, "entrypoint.python.init");
    const struct jr_node *raw = jr_check_raw(check, "entrypoint.python.init");
    bool none = init == NULL ? raw == NULL : strcmp(init, "none") == 0;
    if (smoke == NULL || strcmp(smoke, "true") != 0 || !none)
        return;
    struct jr_diag *diag =
        jr_check_clash(check, JR_CODE_ENTRYPOINT_CANNOT_USE, jr_doc_pair(python, "smoke_test")->key,
                       NULL, "smoke_test has nothing to test: it tests what init sets up");
    jr_diag_help(check->lint->diags, diag, "init: torch");
}

/* The boolean that other readers of YAML take a word for, or NULL. */
static const char *old_yaml_boolean(const char *word)
{
    static const char *const words[][2] = {
        {"yes", "true"}, {"on", "true"}, {"no", "false"}, {"off", "false"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(words[i][0], word) == 0)
            return words[i][1];
    return NULL;
}

/* 010 and 1_000, which others take for numbers. */
static bool is_odd_number(const char *text)
{
    return text[0] >= '0' && text[0] <= '9' && text[strspn(text, "0123456789_")] == '\0';
}

static void warn_of_word(const struct jr_check *check, const struct jr_node *node)
{
    struct jr_diags *diags = check->lint->diags;
    const char *boolean = old_yaml_boolean(node->text);
    if (!node->plain || node->filled != NULL || jr_scalar_type(node) != JR_SCALAR_STRING ||
        (boolean == NULL && !is_odd_number(node->text)))
        return;
    struct jr_diag *diag = jr_diags_warning(
        diags, JR_CODE_AMBIGUOUS_STRING, node->span, NULL,
        "the function gets the string %s, which is not a %s in a spec",
        jr_lint_quoted(check->lint, node->text, node->len), boolean != NULL ? "boolean" : "number");
    if (boolean != NULL)
        jr_diag_help(diags, diag, "write %s, or quote the string", boolean);
    else
        jr_diag_help(diags, diag,
                     "write the number without leading zeros and underscores, or quote the string");
}

/* Every scalar below `node`, which may be NULL. */
static void warn_of_words(const struct jr_check *check, const struct jr_node *node)
{
    if (node != NULL && node->kind == JR_NODE_SCALAR)
        warn_of_word(check, node);
    for (size_t i = 0; node != NULL && node->kind != JR_NODE_SCALAR && i < node->count; i++)
        warn_of_words(check,
                      node->kind == JR_NODE_SEQUENCE ? node->items[i] : node->pairs[i].value);
}

/* What a function is called with. */
static void check_call_values(const struct jr_check *check, const struct jr_node *entry)
{
    const struct jr_node *entries = jr_doc_get(check->tree, "per_rank");
    if (entry == NULL)
        return;
    warn_of_words(check, jr_doc_get(entry, "args"));
    warn_of_words(check, jr_doc_get(entry, "kwargs"));
    for (size_t i = 0; entries != NULL && i < entries->count; i++) {
        const struct jr_node *one = entries->pairs[i].value;
        warn_of_words(check, jr_doc_get(one, "args"));
        warn_of_words(check, jr_doc_get(one, "kwargs"));
    }
}

void jr_check_calls(const struct jr_check *check)
{
    static const char *const keys[] = {"setup", "init", "smoke_test"};
    const struct jr_node *entry = jr_doc_get(check->tree, "entrypoint");
    const struct jr_node *python = jr_doc_find(check->tree, "entrypoint.python");
    const struct jr_node *entries = jr_doc_get(check->tree, "per_rank");
    bool function = jr_call_is_one(check->root);
    if (function) {
        check_call_values(check, entry);
        if (python != NULL)
            check_smoke(check, python);
        return;
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        refuse_function_key(check, python, keys[i], "name one: function: \"pkg.train:main\"");
    refuse_function_key(check, entry, "kwargs", "other programs take args");
    for (size_t i = 0; entries != NULL && i < entries->count; i++)
        refuse_function_key(check, entries->pairs[i].value, "kwargs", "other programs take args");
}

/* How ranks start, and what goes with it. */

/* There is nothing to fork from if each rank starts a new program. */
static void check_method(const struct jr_check *check, const struct jr_node *method,
                         const struct jr_node *entry)
{
    const struct jr_pair *form = jr_doc_pair(entry, "command");
    form = form != NULL ? form : jr_doc_pair(entry, "shell");
    if (form == NULL)
        return;
    struct jr_diag *diag =
        jr_check_clash(check, JR_CODE_NOTHING_TO_FORK, method, form->key,
                       "start_method %s has nothing to fork from: a %s starts a new program",
                       jr_lint_said(check->lint, method), form->key->text);
    jr_diag_help(check->lint->diags, diag, "leave it out, or write spawn");
}

/* Somebody has to import what is preloaded. */
static void check_preload(const struct jr_check *check, const struct jr_node *method,
                          const struct jr_node *entry)
{
    const struct jr_pair *preload = jr_doc_pair(check->tree, "preload");
    const struct jr_pair *library = entry == NULL ? NULL : jr_doc_pair(entry, "library");
    bool unknown = method == NULL && jr_check_raw(check, "start_method") != NULL;
    if (preload == NULL || preload->value->count == 0 || unknown)
        return;
    struct jr_diag *diag = NULL;
    if (method == NULL || strcmp(method->text, "spawn") == 0) {
        diag = jr_check_clash(check, JR_CODE_PRELOAD_UNUSED, preload->key, method,
                              "spawned ranks have no helper that could preload modules");
        bool python = entry != NULL && jr_doc_get(entry, "python") != NULL;
        jr_diag_help(check->lint->diags, diag,
                     python ? "start_method: forkserver" : "leave it out: only Python has modules");
    } else if (library != NULL) {
        (void)jr_check_clash(check, JR_CODE_PRELOAD_UNUSED, preload->key, library->key,
                             "a library has no modules to preload");
    }
}

/* A program of its own says nothing to jobrun before it ends. */
static void check_barrier(const struct jr_check *check, const struct jr_node *entry)
{
    const struct jr_pair *barrier = jr_doc_pair(check->tree, "exit_barrier");
    if (barrier == NULL || entry == NULL || strcmp(barrier->value->text, "true") != 0)
        return;
    const struct jr_pair *form = jr_doc_pair(entry, "command");
    form = form != NULL ? form : jr_doc_pair(entry, "shell");
    if (form != NULL)
        (void)jr_check_clash(check, JR_CODE_ENTRYPOINT_CANNOT_USE, barrier->key, form->key,
                             "exit_barrier works for Python and libraries only: a %s does not "
                             "tell jobrun that it has returned",
                             form->key->text);
}

/* Whether a library, or Python itself, reads the variable when it is loaded. */
static bool is_read_early(const char *name)
{
    static const char *const prefixes[] = {"LD_", "OMP_", "PYTHON"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

/* Whether a value differs between ranks: all words may. */
static bool varies_by_rank(const struct jr_node *value)
{
    const char *mark = strstr(value->text, "%{");
    return mark != NULL && (mark == value->text || mark[-1] != '%');
}

static void warn_of_late_variables(const struct jr_check *check, const struct jr_node *method,
                                   const struct jr_node *env, bool all)
{
    for (size_t i = 0; env != NULL && i < env->count; i++) {
        const struct jr_pair *pair = &env->pairs[i];
        if (!is_read_early(pair->key->text) || (!all && !varies_by_rank(pair->value)))
            continue;
        struct jr_diag *diag = jr_diags_warning(
            check->lint->diags, JR_CODE_VARIABLE_SET_TOO_LATE, pair->key->span, NULL,
            "%s differs between ranks, but it is read before the helper forks them",
            jr_lint_quoted(check->lint, pair->key->text, pair->key->len));
        jr_diag_relate(check->lint->diags, diag, method->span, "forked by");
        jr_diag_help(check->lint->diags, diag,
                     "state it for all ranks, or write start_method: spawn");
    }
}

/* Where ranks are forked, no world can be made of them: the variables are all that they get.
 * Whoever states what makes one is told so elsewhere. */
static void warn_of_singletons(const struct jr_check *check, const struct jr_node *method)
{
    const struct jr_node *profiles = jr_doc_get(check->tree, "env_profiles");
    const char *protocol = jr_check_text(check, "mpi");
    bool spawned = method == NULL || strcmp(method->text, "spawn") == 0;
    if (spawned || (protocol != NULL && strcmp(protocol, "auto") != 0))
        return;
    for (size_t i = 0; profiles != NULL && i < profiles->count; i++) {
        const struct jr_node *profile = profiles->items[i];
        if (strcmp(profile->text, "mpi") != 0)
            continue;
        struct jr_diag *diag =
            jr_diags_warning(check->lint->diags, JR_CODE_MPI_SINGLETONS, profile->span, NULL,
                             "with start_method: %s the mpi profile sets variables only: they "
                             "do not make the ranks one world of MPI",
                             jr_lint_said(check->lint, method));
        jr_diag_help(check->lint->diags, diag,
                     "leave start_method out, or write mpi: none if the "
                     "variables are all that is wanted");
    }
}

/* A fork of the helper gets no stream to a process manager. */
static void check_mpi(const struct jr_check *check, const struct jr_node *method)
{
    const struct jr_node *protocol = jr_doc_get(check->tree, "mpi");
    if (protocol == NULL || strncmp(protocol->text, "pmi", 3) != 0 || method == NULL ||
        strcmp(method->text, "spawn") == 0)
        return;
    struct jr_diag *diag =
        jr_check_clash(check, JR_CODE_MPI_NEEDS_SPAWN, protocol, method,
                       "mpi: %s needs start_method: spawn, and this is %s",
                       jr_lint_said(check->lint, protocol), jr_lint_said(check->lint, method));
    jr_diag_help(check->lint->diags, diag, "leave start_method out");
}

void jr_check_start(const struct jr_check *check)
{
    const struct jr_node *method = jr_doc_get(check->tree, "start_method");
    const struct jr_node *entry = jr_doc_get(check->tree, "entrypoint");
    const struct jr_node *entries = jr_doc_get(check->tree, "per_rank");
    check_preload(check, method, entry);
    check_barrier(check, entry);
    warn_of_singletons(check, method);
    check_mpi(check, method);
    if (method == NULL || strcmp(method->text, "spawn") == 0)
        return;
    if (entry != NULL)
        check_method(check, method, entry);
    warn_of_late_variables(check, method, jr_doc_get(check->tree, "env"), false);
    for (size_t i = 0; entries != NULL && i < entries->count; i++)
        warn_of_late_variables(check, method, jr_doc_get(entries->pairs[i].value, "env"), true);
}

void jr_check_code(const struct jr_check *check)
{
    const struct jr_node *link = jr_doc_find(check->tree, "code.link");
    const struct jr_node *where = jr_doc_find(check->tree, "code.mode");
    const char *mode = jr_check_text(check, "code.mode");
    if (link == NULL || (mode == NULL && jr_check_is_open(check, "code.mode")))
        return;
    if (mode != NULL && strcmp(mode, "freeze") == 0)
        return;
    struct jr_diag *diag = jr_check_clash(check, JR_CODE_CODE_NOT_LINKED, link, where,
                                          "'code.link' is only read with mode: freeze");
    jr_diag_help(check->lint->diags, diag, "code: {mode: freeze, link: ...}, or leave 'link' out");
}
