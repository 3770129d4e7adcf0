#include "doc/interpolate_help.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/did_you_mean.h"

#include "base/banned.h"

enum {
    MOST_NAMES = 256, /* among so many a near one is looked for */
    LONGEST = 100     /* of what is written out */
};

static const char name_bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

/* The key of a mapping that is nearest to a name: equal but for case, or not far from it. NULL for
 * none. */
static const char *near_key(const struct jr_node *mapping, const char *name)
{
    const char *names[MOST_NAMES + 1];
    if (mapping == NULL || mapping->kind != JR_NODE_MAPPING || mapping->count > MOST_NAMES)
        return NULL;
    for (size_t i = 0; i < mapping->count; i++) {
        names[i] = mapping->pairs[i].key->text;
        if (strcasecmp(names[i], name) == 0)
            return names[i];
    }
    names[mapping->count] = NULL;
    return jr_did_you_mean(name, names);
}

static bool is_name(const char *text, size_t len)
{
    size_t i = 0;
    while (i < len && text[i] != '\0' && strchr(name_bytes, text[i]) != NULL)
        i++;
    return len > 0 && i == len;
}

static bool is_name_start(char byte)
{
    return is_name(&byte, 1) && !(byte >= '0' && byte <= '9');
}

static bool is_upper_case_name(const char *name)
{
    return *name != '\0' && strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == strlen(name);
}

bool jr_reference_help_per_rank(const struct jr_reference *r, const char *text,
                                struct jr_diag *diag)
{
    const char *const *name = r->filler->fill->per_rank;
    while (name != NULL && *name != NULL && strcasecmp(*name, text) != 0)
        name++;
    if (name == NULL || *name == NULL)
        return false;
    jr_diag_help(r->filler->diags, diag, "write %%{%s}, which is filled in for each rank", *name);
    return true;
}

bool jr_reference_help_rank_variable(const struct jr_reference *r, const char *name,
                                     struct jr_diag *diag)
{
    bool of_ranks = strstr(name, "RANK") != NULL || strstr(name, "WORLD_SIZE") != NULL ||
                    strncmp(name, "MASTER_", 7) == 0;
    return of_ranks && jr_reference_help_per_rank(r, name, diag);
}

/* A name without a path, which may be one of `vars`. */
static bool help_with_bare_name(const struct jr_reference *r, const struct jr_location *location,
                                struct jr_diag *diag)
{
    struct jr_diags *diags = r->filler->diags;
    const struct jr_node *vars = jr_doc_get(r->filler->locator.root, "vars");
    const char *name = r->inside;
    if (strcmp(location->name, name) != 0)
        return false;
    if (jr_doc_get(vars, name) != NULL)
        jr_diag_help(diags, diag, "did you mean ${vars.%s}?", name);
    else if (jr_reference_help_rank_variable(r, name, diag))
        return true;
    else if (is_upper_case_name(name))
        jr_diag_help(diags, diag, "an environment variable is written ${env:%s}", name);
    else if (!jr_reference_help_per_rank(r, name, diag))
        return false;
    return true;
}

/* ${LR-0.1} of shells */
static bool help_with_default(const struct jr_reference *r, struct jr_diag *diag)
{
    size_t len = strspn(r->inside, name_bytes);
    const char *name = jr_arena_strndup(r->filler->arena, r->inside, len);
    if (r->inside[len] != '-' || name == NULL || !is_upper_case_name(name))
        return false;
    jr_diag_help(r->filler->diags, diag, "write ${env:%s:-%s}", name, r->inside + len + 1);
    return true;
}

/* A step of a path: env.HOME, vars.lr */
static bool help_with_step(const struct jr_reference *r, struct jr_diag *diag)
{
    static const char env[] = "env.", vars[] = "vars.";
    struct jr_diags *diags = r->filler->diags;
    const char *name = strchr(r->inside, '.');
    if (name == NULL || !is_name(name + 1, strlen(name + 1)))
        return false;
    name++;
    if (strncasecmp(r->inside, env, sizeof env - 1) == 0)
        jr_diag_help(diags, diag, "an environment variable is written ${env:%s}", name);
    else if (strncmp(r->inside, vars, sizeof vars - 1) == 0)
        jr_diag_help(diags, diag, "declare it: " JR_SETTING("vars.%s", "VALUE"), name);
    else
        return false;
    return true;
}

/* An index that a list has not. */
static void help_with_index(const struct jr_reference *r, const struct jr_location *location,
                            struct jr_diag *diag)
{
    const struct jr_node *list = location->node;
    size_t len = strcspn(r->inside, "[");
    if (list == NULL || list->kind != JR_NODE_SEQUENCE || list->count == 0)
        return;
    if (list->count == 1)
        jr_diag_help(r->filler->diags, diag, "the only entry is ${%.*s[0]}", (int)len, r->inside);
    else
        jr_diag_help(r->filler->diags, diag, "the last of %zu entries is ${%.*s[%zu]}", list->count,
                     (int)len, r->inside, list->count - 1);
}

/* hosts.1: an entry of a list. */
static bool help_with_number(const struct jr_reference *r, const struct jr_location *location,
                             struct jr_diag *diag)
{
    const char *name = location->name;
    if (location->name_at == 0 || name[strspn(name, "0123456789")] != '\0')
        return false;
    jr_diag_help(r->filler->diags, diag, "an entry of a list is written ${%.*s[%s]}",
                 (int)location->name_at - 1, r->inside, name);
    return true;
}

/* Whether the scalar is the text of [bash, -c, TEXT], which a shell reads. */
static bool is_text_of_shell(const struct jr_reference *r)
{
    static const char *const shells[] = {"sh", "bash", "dash", "zsh", "ksh"};
    const struct jr_node_step *at = r->filling->at;
    struct jr_buf path JR_BUF_CLEANUP = JR_BUF_INIT;
    if (r->filling->up != NULL || at == NULL || at->key != NULL || at->index < 2)
        return false;
    jr_point_path(&path, at->up);
    const struct jr_node *list =
        path.data == NULL ? NULL : jr_doc_find(r->filler->locator.root, path.data);
    if (list == NULL || list->kind != JR_NODE_SEQUENCE || at->index >= list->count ||
        list->items[0]->kind != JR_NODE_SCALAR ||
        list->items[at->index - 1]->kind != JR_NODE_SCALAR)
        return false;
    const char *option = list->items[at->index - 1]->text;
    const char *slash = strrchr(list->items[0]->text, '/');
    const char *program = slash == NULL ? list->items[0]->text : slash + 1;
    size_t len = strlen(option), i = 0;
    while (i < sizeof shells / sizeof *shells && strcmp(shells[i], program) != 0)
        i++;
    return i < sizeof shells / sizeof *shells && len >= 2 && option[0] == '-' && option[1] != '-' &&
           option[len - 1] == 'c';
}

/* ${x}, ${x%%.*}, ${1:-d}, ${#a[@]}: what a shell expands, in its own text. A dollar more makes it
 * the shell's. */
static bool help_with_shell(const struct jr_reference *r, struct jr_diag *diag)
{
    struct jr_diags *diags = r->filler->diags;
    const struct jr_node *vars = jr_doc_get(r->filler->locator.root, "vars");
    const char *text = r->inside + strspn(r->inside, "#!");
    size_t len = strspn(text, name_bytes);
    bool operated = strchr("%#/:-+=?@^,[", text[len]) != NULL; /* or nothing */
    if (!is_text_of_shell(r) || (len == 0 && strchr("@*?", *text) == NULL) ||
        (len > 0 && !operated) || strncmp(r->inside, "env:", 4) == 0 ||
        jr_doc_get(vars, r->inside) != NULL || strlen(r->inside) > LONGEST)
        return false;
    const struct jr_node *node = r->filling->node;
    jr_diag_help(diags, diag, "for the shell, write $${%s}", r->shown);
    /* In a text with escapes its parts have no place of their own. */
    struct jr_span dollar = jr_point_part(node, r->at.start, r->at.start + 1);
    if (dollar.line == dollar.end_line && dollar.end_column == dollar.column + 1)
        jr_diag_fix(diags, diag, dollar, "$$");
    return true;
}

/* A name that no reference has, as a path of shells: ${x%%.*}. */
static bool help_with_literal(const struct jr_reference *r, struct jr_diag *diag)
{
    if (r->inside[strcspn(r->inside, "%#/^,@*?!")] == '\0')
        return false;
    jr_diag_help(r->filler->diags, diag,
                 "outside `shell` no shell reads it; '$${' is a literal '${'");
    return true;
}

void jr_reference_help_unknown(const struct jr_reference *r, const struct jr_location *location,
                               struct jr_diag *diag)
{
    struct jr_diags *diags = r->filler->diags;
    if (location->name == NULL) {
        help_with_index(r, location, diag);
        return;
    }
    if (help_with_shell(r, diag) || help_with_bare_name(r, location, diag) ||
        help_with_number(r, location, diag) || help_with_default(r, diag))
        return;
    const char *near = near_key(location->near, location->name);
    if (near != NULL)
        jr_diag_help(diags, diag, "did you mean ${%.*s%s%s}?", (int)location->name_at, r->inside,
                     near, r->inside + location->name_at + strlen(location->name));
    else if (!help_with_step(r, diag) && !help_with_literal(r, diag) &&
             is_name(r->inside, strlen(r->inside)))
        jr_diag_help(diags, diag,
                     "write ${vars.%s}, and declare it: " JR_SETTING("vars.%s", "VALUE"), r->shown,
                     r->shown);
}

void jr_reference_help_entry(const struct jr_reference *r, const struct jr_node *node)
{
    struct jr_diags *diags = r->filler->diags;
    bool list = node->kind == JR_NODE_SEQUENCE;
    struct jr_diag *diag = jr_interpolate_error(
        r->filler, r->filling, JR_CODE_REFERENCE_NOT_SCALAR, &r->at,
        "'%s' is a %s: only scalars can be inserted", r->shown, list ? "list" : "mapping");
    if (node->count == 0)
        return;
    if (list && node->items[0]->kind == JR_NODE_SCALAR)
        jr_diag_help(diags, diag, "name an entry: ${%s[0]}", r->inside);
    else if (!list && node->pairs[0].value->kind == JR_NODE_SCALAR)
        jr_diag_help(diags, diag, "name an entry: ${%s.%s}", r->inside, node->pairs[0].key->text);
}

/* ${ vars.lr }: the same without blanks, if that is all. */
static const char *without_blanks(const struct jr_reference *r)
{
    const char *text = r->inside + strspn(r->inside, " \t");
    size_t len = strcspn(text, " \t");
    bool all = is_name_start(*text) && text[len + strspn(text + len, " \t")] == '\0' &&
               strlen(r->inside) != len;
    return all ? jr_arena_strndup(r->filler->arena, text, len) : NULL;
}

/* ${HOME:-x}, ${oc.env:HOME,x}, ${env: HOME}, ${env:HOME,x}: a variable of the environment as
 * others write it. */
static const char *as_variable(const struct jr_reference *r)
{
    static const char *const heads[] = {"oc.env:", "env:", "ENV:", "env."};
    static const char *const ends[] = {":-", "-", ",", ":"};
    const char *text = r->inside;
    bool named = false;
    size_t plain = strspn(text, name_bytes);
    if (is_name_start(*text) && (strncmp(text + plain, ":?", 2) == 0 || text[plain] == '?'))
        return jr_arena_printf(r->filler->arena, "env:%.*s", (int)plain, text);
    for (size_t i = 0; i < sizeof heads / sizeof *heads && !named; i++) {
        named = strncmp(text, heads[i], strlen(heads[i])) == 0;
        text += named ? strlen(heads[i]) : 0;
    }
    text += strspn(text, " ");
    size_t len = strspn(text, name_bytes);
    const char *rest = text + len;
    if (!is_name_start(*text) || (!named && strncmp(rest, ":-", 2) != 0))
        return NULL;
    if (*rest == '\0')
        return jr_arena_printf(r->filler->arena, "env:%s", text);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strncmp(rest, ends[i], strlen(ends[i])) == 0)
            return jr_arena_printf(r->filler->arena, "env:%.*s:-%s", (int)len, text,
                                   rest + strlen(ends[i]));
    return NULL;
}

/* What the contexts of workflows of GitHub, and of those like them, are here.
 */
struct workflow_context {
    const char *head, *here;
    bool upper; /* the variable's name is in capitals */
};

static const struct workflow_context contexts[] = {
    {"env.", "env:", false},          {"secrets.", "env:", false},
    {"github.", "env:GITHUB_", true}, {"runner.", "env:RUNNER_", true},
    {"vars.", "vars.", false},        {"matrix.", "vars.", false},
    {"inputs.", "vars.", false},      {"params.", "vars.", false},
    {"parameters.", "vars.", false},  {"", "vars.", false}};

/* ${{ env.X }}: the reference that it would be here; NULL: there is none. */
static const char *as_workflow(const struct jr_reference *r)
{
    JR_BUF_CLEANUP struct jr_buf name = JR_BUF_INIT;
    const char *text = r->inside;
    size_t i = 0;
    text += 1 + strspn(text + 1, " ");
    while (strncmp(text, contexts[i].head, strlen(contexts[i].head)) != 0)
        i++;
    text += strlen(contexts[i].head);
    size_t len = strspn(text, name_bytes);
    if (!is_name_start(*text) || text[len + strspn(text + len, " }")] != '\0')
        return NULL;
    jr_buf_str(&name, contexts[i].here);
    for (size_t j = 0; j < len; j++)
        jr_buf_char(&name, contexts[i].upper ? (char)toupper((unsigned char)text[j]) : text[j]);
    return jr_buf_keep(&name, r->filler->arena);
}

static bool is_workflow(const struct jr_reference *r)
{
    return *r->inside == '{';
}

const char *jr_reference_problem(const struct jr_reference *r)
{
    return is_workflow(r) ? "an expression of GitHub Actions, or of a template, "
                            "is not evaluated here"
                          : "this is not a reference";
}

static void help_with_workflow(const struct jr_reference *r, struct jr_diag *diag)
{
    const char *meant = as_workflow(r);
    jr_diag_help(r->filler->diags, diag,
                 meant == NULL ? "put it into a variable of the environment, and write "
                                 "${env:%s}; '$${{' is a literal '${{'"
                               : "write ${%s}; '$${{' is a literal '${{'",
                 meant == NULL ? "NAME" : meant);
}

/* ${now:%Y}, ${hydra:runtime.cwd}: a resolver of OmegaConf. */
static bool help_with_resolver(const struct jr_reference *r, struct jr_diag *diag)
{
    size_t len = strspn(r->inside, "abcdefghijklmnopqrstuvwxyz._ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    if (len == 0 || r->inside[len] != ':' || strncmp(r->inside, "env:", 4) == 0)
        return false;
    jr_diag_help(r->filler->diags, diag,
                 "there is no resolver '%.*s': write ${vars.NAME}, and give "
                 "the value: -s +vars.NAME=VALUE",
                 (int)len, r->inside);
    return true;
}

/* ${vars[lr]}: a name is a step of its own. */
static const char *as_step(const struct jr_reference *r)
{
    const char *open = strchr(r->inside, '[');
    size_t len = open == NULL ? 0 : strcspn(open, "]");
    if (open == NULL || strncmp(r->inside, "vars[", 5) != 0 || strcmp(open + len, "]") != 0)
        return NULL;
    const char *name = open + 1 + strspn(open + 1, "'\"");
    size_t size = strcspn(name, "'\"]");
    if (!is_name(name, size))
        return NULL;
    return jr_arena_printf(r->filler->arena, "%.*s.%.*s", (int)(open - r->inside), r->inside,
                           (int)size, name);
}

bool jr_reference_help_malformed(const struct jr_reference *r, struct jr_diag *diag)
{
    struct jr_diags *diags = r->filler->diags;
    if (is_workflow(r)) {
        help_with_workflow(r, diag);
        return true;
    }
    if (strlen(r->inside) > LONGEST)
        return false;
    if (help_with_shell(r, diag))
        return true;
    const char *meant = without_blanks(r);
    if (meant == NULL)
        meant = as_variable(r);
    if (meant == NULL)
        meant = as_step(r);
    if (meant != NULL)
        jr_diag_help(diags, diag, "write ${%s}", meant);
    else if (strstr(r->inside, "[-") != NULL)
        jr_diag_help(diags, diag, "entries are counted from the first, which is ${%.*s[0]}",
                     (int)strcspn(r->inside, "["), r->inside);
    else if (strpbrk(r->inside, "*/+") != NULL)
        jr_diag_help(diags, diag,
                     "nothing is calculated here: give the result a name of its own in `vars`");
    else
        return help_with_resolver(r, diag);
    return true;
}

void jr_reference_help_open(struct jr_interpolator *filler, struct jr_diag *diag, const char *text)
{
    size_t len =
        strspn(text + 2, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.:[]");
    while (len > 0 && strchr(".:[", text[2 + len - 1]) != NULL)
        len--;
    if (len > 0 && len <= LONGEST)
        jr_diag_help(filler->diags, diag, "the '}' is missing: ${%.*s}; '$${' is a literal '${'",
                     (int)len, text + 2);
    else
        jr_diag_help(filler->diags, diag, "'$${' is a literal '${'");
}
