/*
 * The rules of internal.h on what every rank runs: one form and only what that form takes, how it
 * starts, the variables that jobrun sets itself, and commands that no program can be meant by, as
 * they are brought along from a shell (`cd`, `LR=3 ./train`, "./train --lr 3" in one piece), or
 * launchers, which would start ranks within each rank. These last are known by their looks, and so
 * are warnings.
 */
#include <ctype.h>
#include <string.h>

#include <jobrun/contract.h>
#include <jobrun/types.h>

#include "base/num.h"
#include "base/shell_words.h"
#include "base/strv.h"
#include "spec/entry_arguments.h"
#include "spec/internal.h"

#include "base/banned.h"

/* Exactly one of the forms of a field; a template may have none yet. */
static void check_form(const struct jr_check *check, const char *path, const char *choice)
{
    const struct jr_spec_type *type = jr_field_find(path)->type;
    const struct jr_node *node = jr_check_raw(check, path);
    const struct jr_pair *first = NULL;
    bool unknown = false; /* a key that is no field: a form may be meant by it */
    if (node == NULL || node->kind != JR_NODE_MAPPING)
        return;
    for (const char *const *form = type->forms; *form != NULL; form++) {
        const struct jr_pair *pair = jr_doc_pair(node, *form);
        if (pair == NULL || jr_lint_is_removed(check->lint, pair->value))
            continue;
        if (first != NULL)
            (void)jr_check_clash(check, JR_CODE_TWO_ENTRYPOINTS, pair->key, first->key,
                                 "'%s' has two forms: %s and %s", path, first->key->text,
                                 pair->key->text);
        first = first != NULL ? first : pair;
    }
    for (size_t i = 0; i < node->count; i++)
        unknown |= jr_field_get(type->fields, node->pairs[i].key->text) == NULL;
    if (first == NULL && !unknown && !check->lint->base)
        (void)jr_check_clash(check, JR_CODE_FIELD_REQUIRED, node, NULL, "'%s' wants one of %s",
                             path, choice);
}

void jr_check_forms(const struct jr_check *check)
{
    check_form(check, "entrypoint", "command, shell, python and library");
    check_form(check, "entrypoint.python", "script, module and function");
}

/* Refuse what only a function takes. */
static void refuse_function_key(const struct jr_check *check, const struct jr_node *mapping,
                                const char *key, const char *help)
{
    const struct jr_pair *pair = jr_doc_pair(mapping, key);
    if (pair == NULL)
        return;
    struct jr_diag *diag = jr_check_clash(check, JR_CODE_ENTRYPOINT_CANNOT_USE, pair->key, NULL,
                                          "only a Python function has %s", key);
    jr_diag_help(check->lint->diags, diag, "%s", help);
}

/* Words that other readers of YAML take for booleans or numbers (yes, 010, 1_000), below `node`,
 * which may be NULL. */
static void warn_of_words(const struct jr_check *check, const struct jr_node *node)
{
    static const char *const words[][2] = {
        {"yes", "true"}, {"on", "true"}, {"no", "false"}, {"off", "false"}, {NULL, NULL}};
    bool collection = node != NULL && node->kind != JR_NODE_SCALAR;
    size_t i = 0;
    for (; collection && i < node->count; i++)
        warn_of_words(check,
                      node->kind == JR_NODE_SEQUENCE ? node->items[i] : node->pairs[i].value);
    if (node == NULL || collection || !node->plain || node->filled != NULL ||
        jr_scalar_type(node) != JR_SCALAR_STRING)
        return;
    while (words[i][0] != NULL && strcasecmp(words[i][0], node->text) != 0)
        i++;
    const char *boolean = words[i][1], *text = node->text;
    bool number = text[0] >= '0' && text[0] <= '9' && text[strspn(text, "0123456789_")] == '\0';
    if (boolean == NULL && !number)
        return;
    struct jr_diag *diag = jr_diags_warning(
        check->lint->diags, JR_CODE_AMBIGUOUS_STRING, node->span, NULL,
        "the function gets the string %s, which is not a %s in a spec",
        jr_lint_quoted(check->lint, node->text, node->len), boolean != NULL ? "boolean" : "number");
    if (boolean != NULL)
        jr_diag_help(check->lint->diags, diag, "write %s, or quote the string", boolean);
    else
        jr_diag_help(check->lint->diags, diag,
                     "write the number without leading zeros and underscores, or quote the string");
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

void jr_check_calls(const struct jr_check *check)
{
    static const char *const keys[] = {"setup", "init", "smoke_test"};
    const struct jr_node *entry = jr_doc_get(check->tree, "entrypoint");
    const struct jr_node *python = jr_doc_get(entry, "python");
    const struct jr_node *entries = jr_doc_get(check->tree, "per_rank");
    size_t count = entries == NULL ? 0 : entries->count;
    if (jr_call_is_one(check->root)) {
        warn_of_words(check, jr_doc_get(entry, "args"));
        warn_of_words(check, jr_doc_get(entry, "kwargs"));
        for (size_t i = 0; entry != NULL && i < count; i++) {
            warn_of_words(check, jr_doc_get(entries->pairs[i].value, "args"));
            warn_of_words(check, jr_doc_get(entries->pairs[i].value, "kwargs"));
        }
        if (python != NULL)
            check_smoke(check, python);
        return;
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        refuse_function_key(check, python, keys[i], "name one: function: \"pkg.train:main\"");
    refuse_function_key(check, entry, "kwargs", "other programs take args");
    for (size_t i = 0; i < count; i++)
        refuse_function_key(check, entries->pairs[i].value, "kwargs", "other programs take args");
}

/* How ranks start, and what goes with it. */

/* Somebody has to import what is preloaded. */
static void check_preload(const struct jr_check *check, const struct jr_node *method,
                          const struct jr_node *entry)
{
    const struct jr_pair *preload = jr_doc_pair(check->tree, "preload");
    const struct jr_pair *library = jr_doc_pair(entry, "library");
    bool unknown = method == NULL && jr_check_raw(check, "start_method") != NULL;
    if (preload == NULL || preload->value->count == 0 || unknown)
        return;
    if (method == NULL || strcmp(method->text, "spawn") == 0) {
        struct jr_diag *diag =
            jr_check_clash(check, JR_CODE_PRELOAD_UNUSED, preload->key, method,
                           "spawned ranks have no helper that could preload modules");
        jr_diag_help(check->lint->diags, diag,
                     jr_doc_get(entry, "python") != NULL ? JR_SETTING("start_method", "forkserver")
                                                         : "leave it out: only Python has modules");
    } else if (library != NULL) {
        (void)jr_check_clash(check, JR_CODE_PRELOAD_UNUSED, preload->key, library->key,
                             "a library has no modules to preload");
    }
}

/* Variables that differ between ranks, as those of one rank (`own`) do and what has %{...} in it
 * may, but that a library, or Python itself, reads when it is loaded. */
static void warn_of_late_variables(const struct jr_check *check, const struct jr_node *method,
                                   const struct jr_node *env, bool own)
{
    for (size_t i = 0; env != NULL && i < env->count; i++) {
        const struct jr_node *key = env->pairs[i].key, *value = env->pairs[i].value;
        const char *mark = strstr(value->text, "%{");
        bool early = strncmp(key->text, "LD_", 3) == 0 || strncmp(key->text, "OMP_", 4) == 0 ||
                     strncmp(key->text, "PYTHON", 6) == 0;
        bool varies = own || (mark != NULL && (mark == value->text || mark[-1] != '%'));
        if (!early || !varies)
            continue;
        struct jr_diag *diag = jr_diags_warning(
            check->lint->diags, JR_CODE_VARIABLE_SET_TOO_LATE, key->span, NULL,
            "%s differs between ranks, but it is read before the helper forks them",
            jr_lint_quoted(check->lint, key->text, key->len));
        jr_diag_relate(check->lint->diags, diag, method->span, "forked by");
        jr_diag_help(check->lint->diags, diag,
                     "state it for all ranks, or write " JR_SETTING("start_method", "spawn"));
    }
}

/* Where ranks are forked (`method` says so) no world of MPI can be made of them: a fork of the
 * helper gets no stream to a process manager, only the variables. */
static void check_mpi(const struct jr_check *check, const struct jr_node *method)
{
    const struct jr_node *profiles = jr_doc_get(check->tree, "env_profiles");
    const struct jr_node *protocol = jr_doc_get(check->tree, "mpi");
    struct jr_diags *diags = check->lint->diags;
    struct jr_diag *diag;
    bool open = protocol == NULL ||
                (protocol->kind == JR_NODE_SCALAR && strcmp(protocol->text, "auto") == 0);
    for (size_t i = 0; open && profiles != NULL && i < profiles->count; i++) {
        if (strcmp(profiles->items[i]->text, "mpi") != 0)
            continue;
        diag = jr_diags_warning(diags, JR_CODE_MPI_SINGLETONS, profiles->items[i]->span, NULL,
                                "with start_method: %s the mpi profile sets variables only: they "
                                "do not make the ranks one world of MPI",
                                jr_lint_said(check->lint, method));
        jr_diag_help(diags, diag,
                     "leave start_method out, or write " JR_SETTING(
                         "mpi", "none") " if the variables are all that is wanted");
    }
    if (protocol == NULL || strncmp(protocol->text, "pmi", 3) != 0)
        return;
    diag = jr_check_clash(check, JR_CODE_MPI_NEEDS_SPAWN, protocol, method,
                          "mpi: %s needs start_method: spawn, and this is %s",
                          jr_lint_said(check->lint, protocol), jr_lint_said(check->lint, method));
    jr_diag_help(diags, diag, "leave start_method out");
}

void jr_check_start(const struct jr_check *check)
{
    const struct jr_node *method = jr_doc_get(check->tree, "start_method");
    const struct jr_node *entry = jr_doc_get(check->tree, "entrypoint");
    const struct jr_node *entries = jr_doc_get(check->tree, "per_rank");
    const struct jr_pair *barrier = jr_doc_pair(check->tree, "exit_barrier");
    const struct jr_pair *program = jr_doc_pair(entry, "command");
    if (program == NULL)
        program = jr_doc_pair(entry, "shell");
    check_preload(check, method, entry);
    /* a program of its own says nothing to jobrun before it ends */
    if (barrier != NULL && program != NULL && strcmp(barrier->value->text, "true") == 0)
        (void)jr_check_clash(check, JR_CODE_ENTRYPOINT_CANNOT_USE, barrier->key, program->key,
                             "exit_barrier works for Python and libraries only: a %s does not "
                             "tell jobrun that it has returned",
                             program->key->text);
    if (method == NULL || strcmp(method->text, "spawn") == 0)
        return;
    check_mpi(check, method);
    if (program != NULL) {
        struct jr_diag *diag =
            jr_check_clash(check, JR_CODE_NOTHING_TO_FORK, method, program->key,
                           "start_method %s has nothing to fork from: a %s starts a new program",
                           jr_lint_said(check->lint, method), program->key->text);
        jr_diag_help(check->lint->diags, diag, "leave it out, or write spawn");
    }
    warn_of_late_variables(check, method, jr_doc_get(check->tree, "env"), false);
    for (size_t i = 0; entries != NULL && i < entries->count; i++)
        warn_of_late_variables(check, method, jr_doc_get(entries->pairs[i].value, "env"), true);
}

void jr_check_code(const struct jr_check *check)
{
    const struct jr_node *link = jr_doc_find(check->tree, "code.link");
    const char *mode = jr_check_text(check, "code.mode");
    if (link == NULL || (mode == NULL && jr_check_is_open(check, "code.mode")) ||
        (mode != NULL && strcmp(mode, "freeze") == 0))
        return;
    struct jr_diag *diag =
        jr_check_clash(check, JR_CODE_CODE_NOT_LINKED, link, jr_doc_find(check->tree, "code.mode"),
                       "'code.link' is only read with mode: freeze");
    jr_diag_help(check->lint->diags, diag, "code: {mode: freeze, link: ...}, or leave 'link' out");
}

/* The variables that jobrun sets for each rank itself: those of all ranks, and of each profile. */

struct variable {
    const char *profile; /* "" is what all ranks get */
    const char *name;
    const char *field; /* for the same; "": there is none */
};

#define ALWAYS(name, value, field)    {"", name, field},
#define TORCH(name, value, field)     {"torch", name, field},
#define PADDLE(name, value, field)    {"paddle", name, field},
#define ON_DEVICE(name, value, kinds) {"paddle", name, "device"},
#define MEGENGINE(name, value, field) {"megengine", name, field},
#define MPI(name, value, field)       {"mpi", name, field},
#define PMI1(name, value, field)      {"pmi1", name, field},
#define PMIX(name, value, field)      {"pmix", name, field},
static const struct variable variables[] = {
    JR_CONTRACT_VARIABLES(ALWAYS) JR_CONTRACT_CELL(ALWAYS) JR_CONTRACT_TORCH(TORCH)
        JR_CONTRACT_PADDLE(PADDLE) JR_CONTRACT_PADDLE_DEVICES(ON_DEVICE)
            JR_CONTRACT_MEGENGINE(MEGENGINE) JR_CONTRACT_MPI(MPI) JR_CONTRACT_PMI1(PMI1)
                JR_CONTRACT_PMIX(PMIX)};

/* Whether a profile counts, or the protocol of `mpi` that is called so:
 * profiles that are not known are none. */
static bool is_profile_chosen(const struct jr_check *check, const char *name)
{
    const struct jr_node *chosen = jr_doc_get(check->tree, "env_profiles");
    const char *protocol = jr_check_text(check, "mpi");
    if (name[0] == '\0' || (protocol != NULL && strcmp(protocol, name) == 0))
        return true;
    for (size_t i = 0; chosen != NULL && i < chosen->count; i++)
        if (strcmp(chosen->items[i]->text, name) == 0)
            return true;
    return chosen == NULL && strcmp(name, "torch") == 0 &&
           jr_check_raw(check, "env_profiles") == NULL;
}

static void refuse_variables(const struct jr_check *check, const struct jr_node *env)
{
    for (size_t i = 0; env != NULL && i < env->count; i++) {
        const struct jr_node *key = env->pairs[i].key;
        for (size_t j = 0; j < sizeof variables / sizeof *variables; j++) {
            const struct variable *variable = &variables[j];
            if (strcmp(variable->name, key->text) != 0 || strlen(variable->name) != key->len ||
                !is_profile_chosen(check, variable->profile))
                continue;
            struct jr_diag *diag =
                jr_check_clash(check, JR_CODE_RESERVED_VARIABLE, key, NULL,
                               "jobrun sets %s for each rank itself", variable->name);
            if (variable->field[0] != '\0')
                jr_diag_help(check->lint->diags, diag, "the field for it is '%s'", variable->field);
        }
    }
}

void jr_check_env(const struct jr_check *check)
{
    const struct jr_node *entries = jr_doc_get(check->tree, "per_rank");
    refuse_variables(check, jr_doc_get(check->tree, "env"));
    for (size_t i = 0; entries != NULL && i < entries->count; i++)
        refuse_variables(check, jr_doc_get(entries->pairs[i].value, "env"));
}

/* Commands. */

enum { LONGEST = 200 }; /* bytes of a command that is written out */

/* A program without its folder. */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* Whether a text may hold a secret, which no finding quotes. */
static bool may_be_secret(const char *text)
{
    static const char *const parts[] = {"key", "token", "secret", "pass", "cred"};
    size_t i = 0, count = sizeof parts / sizeof *parts;
    while (i < count && strcasestr(text, parts[i]) == NULL)
        i++;
    return i < count;
}

static bool is_typed(const struct jr_node *node)
{
    return node->span.source != NULL && node->span.source->option;
}

/* Whether the spec says that there is one rank only, which may start others as it likes. */
static bool is_alone(const struct jr_check *check)
{
    const struct jr_node *world = jr_doc_get(check->tree, "world_size");
    return world != NULL && strcmp(world->text, "1") == 0;
}

static struct jr_diag *warn_of_word(const struct jr_check *check, const struct jr_node *list,
                                    size_t i, enum jr_diag_code code, const char *reason)
{
    return jr_diags_warning(check->lint->diags, code, list->items[i]->span,
                            jr_arena_printf(check->lint->arena, "entrypoint.command[%zu]", i),
                            "'%s' %s", jr_lint_said(check->lint, list->items[i]), reason);
}

#define LAUNCHERS "torchrun deepspeed horovodrun mpirun mpiexec mpiexec.hydra orterun srun"
#define NESTED    "is a launcher, of which each rank would start its own"
#define UNNEST                                                                                     \
    "write the program that it starts; for one launcher write " JR_SETTING("world_size", "1")

/* The word that is, or ends, a launcher: `accelerate launch`, `python -m torch.distributed.run`. */
static bool check_launcher(const struct jr_check *check, const struct jr_node *list)
{
    const char *first = base_name(list->items[0]->text);
    const char *second = list->count > 1 ? list->items[1]->text : "";
    const char *third = list->count > 2 ? list->items[2]->text : "";
    bool module = strncmp(first, "python", 6) == 0 && strcmp(second, "-m") == 0 &&
                  jr_words_have("torch.distributed.run torch.distributed.launch "
                                "accelerate.commands.launch paddle.distributed.launch",
                                ' ', third, strlen(third));
    bool launcher = jr_words_have(LAUNCHERS, ' ', first, strlen(first)) ||
                    (strcmp(first, "accelerate") == 0 && strcmp(second, "launch") == 0);
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    bool filled = false;
    if ((!launcher && !module) || is_alone(check))
        return false;
    for (size_t i = 0; i < list->count; i++) {
        filled |= list->items[i]->filled != NULL;
        if (i > 0)
            jr_buf_char(&line, ' ');
        jr_shell_quote(&line, list->items[i]->text);
    }
    struct jr_diag *diag =
        warn_of_word(check, list, module ? 2 : 0, JR_CODE_LAUNCHER_NESTED, NESTED);
    if (filled || line.len > LONGEST || line.failed || strchr(line.data, '\'') != NULL ||
        may_be_secret(line.data))
        jr_diag_help(check->lint->diags, diag, UNNEST);
    else
        jr_diag_help(check->lint->diags, diag, "translate it: jobrun new --from '%s'", line.data);
    return true;
}

/* LR=3 */
static bool check_assignment(const struct jr_check *check, const struct jr_node *list)
{
    const char *text = list->items[0]->text;
    const char *equals = strchr(text, '=');
    size_t len = equals == NULL ? 0 : (size_t)(equals - text);
    if (len == 0 || isdigit((unsigned char)*text) || strspn(text, JR_SHELL_NAME_BYTES) != len)
        return false;
    struct jr_diag *diag = warn_of_word(check, list, 0, JR_CODE_COMMAND_UNLIKELY,
                                        "is a variable for a shell, not a program");
    const char *value =
        list->items[0]->filled == NULL && jr_lint_is_bare(equals + 1) ? equals + 1 : "...";
    if (is_typed(list->items[0]))
        jr_diag_help(check->lint->diags, diag, "type it before `--`: -s env.%.*s=%s", (int)len,
                     text, value);
    else
        jr_diag_help(check->lint->diags, diag, "write it into `env`: env: {%.*s: %s}", (int)len,
                     text, value);
    return true;
}

/* A first word that only a shell knows. */
static bool check_shell_word(const struct jr_check *check, const struct jr_node *list)
{
#define BUILTIN "is a command of the shell's own, not a program"
    static const struct {
        const char *words, *message, *help;
    } rows[] = {
        {"cd pushd popd", BUILTIN, "write `workdir` for the folder, or use `shell:`"},
        {"source .", BUILTIN, "source the file in `setup`, or use `shell:`"},
        {"export set unset", BUILTIN, "write variables into `env`, or use `shell:`"},
        {"ulimit", BUILTIN, "write `limits`, such as limits: {nofile: 65536}, or use `shell:`"},
        {"module", "is a function of the shell, not a program",
         "load modules in `setup`, or use `shell:`"},
        {"alias eval exec trap wait", BUILTIN, "leave it out, or use `shell:`"},
        {"if for while until case function", "begins a script of the shell", "use `shell:`"},
        {"conda mamba micromamba", "activates nothing for the ranks: no shell runs it",
         "activate the environment in `setup`"},
    };
    const char *text = list->items[0]->text;
    size_t i = 0, count = sizeof rows / sizeof *rows;
    while (i < count && !jr_words_have(rows[i].words, ' ', text, strlen(text)))
        i++;
    bool activates = list->count > 1 && strcmp(list->items[1]->text, "activate") == 0;
    if (i == count || (i == count - 1 && !activates))
        return false;
    struct jr_diag *diag = warn_of_word(check, list, 0, JR_CODE_COMMAND_UNLIKELY, rows[i].message);
    jr_diag_help(check->lint->diags, diag, "%s",
                 is_typed(list->items[0]) ? "type the whole as a text: -- sh -c TEXT"
                                          : rows[i].help);
    return true;
}

/* [bash, -c, python3, train.py]: only the first word is the text. */
static bool check_shell_text(const struct jr_check *check, const struct jr_node *list)
{
    const char *first = base_name(list->items[0]->text);
    if (list->count < 4 || !jr_words_have("sh bash dash zsh", ' ', first, strlen(first)) ||
        strcmp(list->items[1]->text, "-c") != 0 || !jr_lint_is_bare(list->items[2]->text) ||
        !jr_lint_is_bare(list->items[3]->text + strspn(list->items[3]->text, "-")))
        return false;
    struct jr_diag *diag = warn_of_word(check, list, 3, JR_CODE_COMMAND_UNLIKELY,
                                        "is no part of the text that the shell runs");
    jr_diag_help(check->lint->diags, diag, "leave the shell out: [%s, %s%s]", list->items[2]->text,
                 list->items[3]->text, list->count > 4 ? ", ..." : "");
    return true;
}

/* The words of a text, "a, b, c"; NULL where only a shell can tell them apart, or one of them may
 * be a secret. */
static const char *words_as_list(struct jr_lint *lint, const char *text)
{
    JR_BUF_CLEANUP struct jr_buf list = JR_BUF_INIT;
    if (strpbrk(text, "\"'\\`$|&;<>()\n\t,[]{}#*?!") != NULL || strlen(text) > LONGEST ||
        may_be_secret(text))
        return NULL;
    for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
        size_t len = strcspn(text, " ");
        jr_buf_printf(&list, "%s%.*s", list.len == 0 ? "" : ", ", (int)len, text);
        text += len;
    }
    return list.len == 0 ? NULL : jr_buf_keep(&list, lint->arena);
}

/* Whether a word of a command is several: "./train --lr 3", or "python3 train.py", as the program;
 * "--lr 3" as an argument, and "train.py --lr 3" or "-m train" behind python3. */
static bool is_several_words(const struct jr_node *list, size_t i, const char *text)
{
    const char *first = base_name(text), *blank = strchr(text, ' ');
    size_t dashes = strspn(text, "-"), len = strcspn(first, " ");
    double number;
    if (blank == NULL)
        return false;
    if (i == 0)
        return strstr(text, " -") != NULL ||
               (list->count == 1 && first[len] == ' ' &&
                (strncmp(first, "python", 6) == 0 ||
                 jr_words_have(
                     "bash sh perl node ruby Rscript julia java time nice numactl torchrun "
                     "srun mpirun accelerate",
                     ' ', first, len)));
    if (dashes > 0 && dashes < 3 && isalpha((unsigned char)text[dashes]) &&
        memchr(text, '=', (size_t)(blank - text)) == NULL &&
        jr_num_double(blank + strspn(blank, " "), &number))
        return true;
    return i == 1 && strncmp(base_name(list->items[0]->text), "python", 6) == 0 &&
           (strstr(text, ".py ") != NULL || strncmp(text, "-m ", 3) == 0);
}

static void check_blanks(const struct jr_check *check, const struct jr_node *list, size_t i)
{
    const struct jr_node *word = list->items[i];
    const char *text = jr_lint_source(word);
    const char *words = is_several_words(list, i, text) ? words_as_list(check->lint, text) : NULL;
    if (words == NULL || jr_lint_origin(word)->meant)
        return;
    struct jr_diag *diag = warn_of_word(check, list, i, JR_CODE_COMMAND_UNLIKELY,
                                        i > 0 ? "is one argument, with a blank in it"
                                              : "is the name of one program, with blanks in it");
    jr_diag_help(check->lint->diags, diag, "write several words: %s%s%s", i == 0 ? "[" : "", words,
                 i == 0 ? "]" : "");
}

/* {script: train.py --lr 3} */
static void check_script_blanks(const struct jr_check *check)
{
    const struct jr_node *node = jr_check_raw(check, "entrypoint.python.script");
    struct jr_lint *lint = check->lint;
    if (node == NULL || node->kind != JR_NODE_SCALAR || node->filled != NULL ||
        jr_lint_origin(node)->meant || may_be_secret(node->text))
        return;
    const char *end = strstr(node->text, ".py ");
    const char *list = end == NULL ? NULL : words_as_list(lint, end + 3);
    if (list == NULL)
        return;
    struct jr_diag *diag = jr_diags_warning(
        lint->diags, JR_CODE_COMMAND_UNLIKELY, node->span, "entrypoint.python.script",
        "'%s' is the name of one file, with blanks in it", jr_lint_said(lint, node));
    jr_diag_help(lint->diags, diag,
                 "write arguments beside it: {python: {script: %.*s}, args: [%s]}",
                 (int)(end + 3 - node->text), node->text, list);
}

/* {shell: "mpirun -np 4 ./train"} */
static void check_shell_launcher(const struct jr_check *check)
{
    const struct jr_node *node = jr_check_raw(check, "entrypoint.shell");
    if (node == NULL || node->kind != JR_NODE_SCALAR || is_alone(check) || node->filled != NULL ||
        jr_lint_origin(node)->meant)
        return;
    const char *first = node->text + strspn(node->text, " \n");
    size_t len = strcspn(first, " \n");
    if (!jr_words_have(LAUNCHERS, ' ', first, len))
        return;
    struct jr_diag *diag = jr_diags_warning(check->lint->diags, JR_CODE_LAUNCHER_NESTED, node->span,
                                            "entrypoint.shell", "'%.*s' " NESTED, (int)len, first);
    jr_diag_help(check->lint->diags, diag, UNNEST);
}

void jr_check_command(const struct jr_check *check)
{
    const struct jr_node *list = jr_doc_find(check->tree, "entrypoint.command");
    check_script_blanks(check);
    check_shell_launcher(check);
    for (size_t i = 0; list != NULL && i < list->count; i++)
        if (list->items[i]->kind != JR_NODE_SCALAR)
            return;
    if (list == NULL || list->count == 0 || check_launcher(check, list) ||
        check_assignment(check, list) || check_shell_word(check, list) ||
        is_typed(list->items[0]) || check_shell_text(check, list))
        return;
    for (size_t i = 0; i < list->count; i++)
        check_blanks(check, list, i);
}
