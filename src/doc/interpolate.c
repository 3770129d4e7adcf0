#include <ctype.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "base/did_you_mean.h"
#include "base/strv.h"
#include "base/utf8.h"
#include "doc/doc.h"
#include "doc/internal.h"
#include "doc/interpolate.h"

#include "base/banned.h"

struct interpolator {
    const struct jr_interpolate *fill;
    struct jr_locator locator;
    struct jr_arena *arena; /* the document's */
    struct jr_diags *diags;
    struct jr_strv *hidden; /* the secrets that are read */
    struct jr_strv *hidden_names;
    size_t spent; /* bytes that were put in */
    bool stopped; /* at the limit */
};

/* A scalar that is being filled in, and those on whose behalf it is. */
struct filling {
    const struct filling *up; /* NULL: the walk has come to it */
    struct jr_node *node;
    const char *path;              /* by which `up` names it */
    const struct jr_node_step *at; /* where `up` is NULL */
    unsigned depth;
    /* what comes of it */
    struct jr_buf text;
    bool keep; /* secrets stay references */
    bool secret, unknown;
    unsigned parts, mistakes;
    const struct jr_node *from; /* the last reference */
};

/* The reference at hand. */
struct reference {
    struct interpolator *filler;
    struct filling *filling;
    struct jr_interpolation at; /* braces included */
    const char *inside;         /* in the arena; */
    const char *shown;          /* the same, made fit for messages */
};

/* Add bytes [from, to) of the scalar's source text to the result. */
static void fill_part(struct interpolator *filler, struct filling *filling, size_t from, size_t to);

static void fill_scalar(struct interpolator *filler, struct filling *filling,
                        const struct jr_shape *shape);

enum {
    MOST_NAMES = 256, /* among so many a near one is looked for */
    LONGEST = 100     /* of what is written out */
};

/* The number of mistakes of one scalar that are reported, so that a scalar full
 * of mistakes does not take quadratic time; and the number that get a position:
 * see diag.c. */
enum { MOST_TOLD = 8, MOST_PLACED = 1000 };

#define ENV     "env:"
#define DEFAULT ":-"

#define NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"

static const char name_bytes[] = NAME_BYTES;

/* A mistake at those bytes, which makes the scalar unknown. */
__attribute__((format(printf, 5, 6))) static struct jr_diag *report_filling(
    struct interpolator *filler, struct filling *filling, enum jr_diag_code code,
    const struct jr_interpolation *at, const char *format, ...)
{
    struct jr_buf path JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_span span = filling->node->span;
    if (filler->diags->errors <= MOST_PLACED)
        span = jr_point_part(filling->node, at->start, at->end);
    if (filling->up == NULL)
        jr_point_path(&path, filling->at);
    else
        jr_point_text(&path, filling->path, strlen(filling->path));
    va_list args;
    va_start(args, format);
    const char *message = jr_arena_vprintf(filler->arena, format, args);
    va_end(args);
    filling->unknown = true;
    filling->mistakes++;
    return jr_diags_error(filler->diags, code, span, path.data, "%s",
                          message == NULL ? "out of memory" : message);
}

/* Add text as it is; the limit holds. */
static void add_filling(struct interpolator *filler, struct filling *filling, const char *text,
                        size_t len)
{
    const struct jr_interpolation all = {JR_INTERPOLATION_TEXT, 0, filling->node->len};
    filler->spent += len;
    if (filler->spent <= JR_FILL_MAX_BYTES) {
        if (filling->keep)
            jr_interpolation_escape(&filling->text, text, len);
        else
            jr_buf_add(&filling->text, text, len);
        return;
    }
    filling->unknown = true;
    if (!filler->stopped)
        (void)report_filling(filler, filling, JR_CODE_REFERENCES_TOO_LARGE, &all,
                             "all ${...} together insert more than 1 MiB");
    filler->stopped = true;
}

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

static bool help_with_per_rank(const struct reference *r, const char *text, struct jr_diag *diag)
{
    const char *const *name = r->filler->fill->per_rank;
    while (name != NULL && *name != NULL && strcasecmp(*name, text) != 0)
        name++;
    if (name == NULL || *name == NULL)
        return false;
    jr_diag_help(r->filler->diags, diag, "write %%{%s}, which is filled in for each rank", *name);
    return true;
}

static bool help_with_rank_variable(const struct reference *r, const char *name,
                                    struct jr_diag *diag)
{
    bool of_ranks = strstr(name, "RANK") != NULL || strstr(name, "WORLD_SIZE") != NULL ||
                    strncmp(name, "MASTER_", 7) == 0;
    return of_ranks && help_with_per_rank(r, name, diag);
}

/* A name without a path, which may be one of `vars`. */
static bool help_with_bare_name(const struct reference *r, const struct jr_location *location,
                                struct jr_diag *diag)
{
    struct jr_diags *diags = r->filler->diags;
    const struct jr_node *vars = jr_doc_get(r->filler->locator.root, "vars");
    const char *name = r->inside;
    if (strcmp(location->name, name) != 0)
        return false;
    if (jr_doc_get(vars, name) != NULL)
        jr_diag_help(diags, diag, "did you mean ${vars.%s}?", name);
    else if (help_with_rank_variable(r, name, diag))
        return true;
    else if (is_upper_case_name(name))
        jr_diag_help(diags, diag, "an environment variable is written ${env:%s}", name);
    else if (!help_with_per_rank(r, name, diag))
        return false;
    return true;
}

/* A step of a path: env.HOME, vars.lr */
static bool help_with_step(const struct reference *r, struct jr_diag *diag)
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
static void help_with_index(const struct reference *r, const struct jr_location *location,
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

/* Whether the scalar is the text of [bash, -c, TEXT], which a shell reads. */
static bool is_text_of_shell(const struct reference *r)
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
static bool help_with_shell(const struct reference *r, struct jr_diag *diag)
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

/* Help for a name that is not there. */
static void help_with_unknown(const struct reference *r, const struct jr_location *location,
                              struct jr_diag *diag)
{
    struct jr_diags *diags = r->filler->diags;
    const char *name = location->name, *inside = r->inside;
    if (name == NULL) {
        help_with_index(r, location, diag);
        return;
    }
    if (help_with_shell(r, diag) || help_with_bare_name(r, location, diag))
        return;
    size_t at = location->name_at, len = strspn(inside, name_bytes);
    const char *variable = jr_arena_strndup(r->filler->arena, inside, len);
    const char *near = near_key(location->near, name);
    if (at > 0 && name[strspn(name, "0123456789")] == '\0') /* hosts.1 */
        jr_diag_help(diags, diag, "an entry of a list is written ${%.*s[%s]}", (int)at - 1, inside,
                     name);
    else if (inside[len] == '-' && variable != NULL && is_upper_case_name(variable))
        jr_diag_help(diags, diag, "write ${env:%s:-%s}", variable,
                     inside + len + 1); /* of shells */
    else if (near != NULL)
        jr_diag_help(diags, diag, "did you mean ${%.*s%s%s}?", (int)at, inside, near,
                     inside + at + strlen(name));
    else if (help_with_step(r, diag))
        return;
    else if (inside[strcspn(inside, "%#/^,@*?!")] != '\0') /* ${x%%.*} */
        jr_diag_help(diags, diag, "outside `shell` no shell reads it; '$${' is a literal '${'");
    else if (is_name(inside, strlen(inside)))
        jr_diag_help(diags, diag,
                     "write ${vars.%s}, and declare it: " JR_SETTING("vars.%s", "VALUE"), r->shown,
                     r->shown);
}

/* Refuse a reference to a node that is no scalar, with one to a scalar in it. */
static void refuse_collection(const struct reference *r, const struct jr_node *node)
{
    struct jr_diags *diags = r->filler->diags;
    bool list = node->kind == JR_NODE_SEQUENCE;
    struct jr_diag *diag = report_filling(r->filler, r->filling, JR_CODE_REFERENCE_NOT_SCALAR,
                                          &r->at, "'%s' is a %s: only scalars can be inserted",
                                          r->shown, list ? "list" : "mapping");
    if (node->count == 0)
        return;
    if (list && node->items[0]->kind == JR_NODE_SCALAR)
        jr_diag_help(diags, diag, "name an entry: ${%s[0]}", r->inside);
    else if (!list && node->pairs[0].value->kind == JR_NODE_SCALAR)
        jr_diag_help(diags, diag, "name an entry: ${%s.%s}", r->inside, node->pairs[0].key->text);
}

/* ${HOME:-x}, ${oc.env:HOME,x}, ${env: HOME}, ${env:HOME,x}: a variable of the environment as
 * others write it. */
static const char *as_variable(const struct reference *r)
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
static const char *as_workflow(const struct reference *r)
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

/* ${vars[lr]}: a name is a step of its own. */
static const char *as_step(const struct reference *r)
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

/* Help for what is between the braces and is no reference. Returns whether it is known what was
 * meant. */
static bool help_with_malformed(const struct reference *r, struct jr_diag *diag)
{
    struct jr_diags *diags = r->filler->diags;
    const char *inside = r->inside, *text = inside + strspn(inside, " \t"), *meant = NULL;
    if (*inside == '{') {
        meant = as_workflow(r);
        jr_diag_help(diags, diag,
                     meant == NULL ? "put it into a variable of the environment, and write "
                                     "${env:%s}; '$${{' is a literal '${{'"
                                   : "write ${%s}; '$${{' is a literal '${{'",
                     meant == NULL ? "NAME" : meant);
        return true;
    }
    if (strlen(inside) > LONGEST)
        return false;
    if (help_with_shell(r, diag))
        return true;
    size_t len = strcspn(text, " \t");
    if (is_name_start(*text) && text[len + strspn(text + len, " \t")] == '\0' &&
        strlen(inside) != len) /* ${ vars.lr } */
        meant = jr_arena_strndup(r->filler->arena, text, len);
    if (meant == NULL)
        meant = as_variable(r);
    if (meant == NULL)
        meant = as_step(r);
    size_t resolver = strspn(inside, "abcdefghijklmnopqrstuvwxyz._ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    if (meant != NULL)
        jr_diag_help(diags, diag, "write ${%s}", meant);
    else if (strstr(inside, "[-") != NULL)
        jr_diag_help(diags, diag, "entries are counted from the first, which is ${%.*s[0]}",
                     (int)strcspn(inside, "["), inside);
    else if (strpbrk(inside, "*/+") != NULL)
        jr_diag_help(diags, diag,
                     "nothing is calculated here: give the result a name of its own in `vars`");
    else if (resolver == 0 || inside[resolver] != ':' || strncmp(inside, ENV, strlen(ENV)) == 0)
        return false;
    else /* ${now:%Y}, ${hydra:runtime.cwd}: of OmegaConf */
        jr_diag_help(diags, diag,
                     "there is no resolver '%.*s': write ${vars.NAME}, and give "
                     "the value: -s +vars.NAME=VALUE",
                     (int)resolver, inside);
    return true;
}

static void report_malformed(const struct reference *r, const char *help)
{
    struct jr_diag *diag =
        report_filling(r->filler, r->filling, JR_CODE_WRONG_REFERENCE, &r->at, "%s",
                       *r->inside == '{' ? "an expression of GitHub Actions, or of a template, "
                                           "is not evaluated here"
                                         : "this is not a reference");
    if (!help_with_malformed(r, diag))
        jr_diag_help(r->filler->diags, diag, "%s", help);
}

static void refuse_unset(const struct reference *r, const char *name, bool readable)
{
    if (r->filler->fill->guess) {
        r->filling->unknown = true;
        return;
    }
    struct jr_diag *diag =
        report_filling(r->filler, r->filling, JR_CODE_UNKNOWN_VARIABLE, &r->at,
                       "the variable '%s' is not %s", name, readable ? "set" : "read here");
    if (help_with_rank_variable(r, name, diag))
        return;
    jr_diag_help(r->filler->diags, diag, "%s it, or give a default: ${env:%s:-...}",
                 readable ? "export" : "pass --allow-env for", name);
}

static void add_env_value(const struct reference *r, const char *name, const char *value)
{
    struct interpolator *filler = r->filler;
    const struct jr_interpolate *fill = filler->fill;
    struct jr_strv *hidden = filler->hidden;
    bool secret = jr_env_matches(fill->secrets, fill->secrets_count, name, strlen(name));
    r->filling->secret |= secret;
    /* Remember the value of a secret, so that it can be told where it is met. */
    size_t i = 0;
    while (i < hidden->count && strcmp(hidden->items[i], value) != 0)
        i++;
    if (secret && i == hidden->count && value[0] != '\0') {
        jr_strv_push(hidden, filler->arena, jr_arena_strdup(filler->arena, value));
        jr_strv_push(filler->hidden_names, filler->arena, jr_arena_strdup(filler->arena, name));
    }
    const char *reference = NULL;
    if (secret && r->filling->keep)
        reference = jr_arena_printf(filler->arena, "${" ENV "%s}", name);
    if (reference != NULL)
        jr_interpolation_refer(&r->filling->text, reference, strlen(reference));
    else if (jr_utf8_is_text(value))
        add_filling(filler, r->filling, value, strlen(value));
    else
        (void)report_filling(filler, r->filling, JR_CODE_UNKNOWN_VARIABLE, &r->at,
                             "the variable '%s' is not UTF-8", name);
}

/* ${env:NAME} or ${env:NAME:-default} */
static void read_env_reference(const struct reference *r)
{
    const struct jr_interpolate *fill = r->filler->fill;
    const char *start = r->inside + strlen(ENV), *end = start;
    if (!isdigit((unsigned char)*start))
        end += strspn(start, name_bytes);
    bool fallback = strncmp(end, DEFAULT, strlen(DEFAULT)) == 0;
    if (end == start || (*end != '\0' && !fallback)) {
        report_malformed(r, "write ${env:NAME}, or ${env:NAME:-default}");
        return;
    }
    const char *name = jr_arena_strndup(r->filler->arena, start, (size_t)(end - start));
    if (name == NULL)
        return;
    bool readable = fill->environ != NULL && fill->allow == NULL;
    for (char *const *glob = fill->allow; fill->environ != NULL && glob != NULL && *glob != NULL;
         glob++)
        readable |= fnmatch(*glob, name, 0) == 0;
    const char *value = readable ? jr_env_get(fill->environ, name) : NULL;
    size_t from = r->at.start + strlen("${") + (size_t)(end - r->inside);
    if (value != NULL) {
        add_env_value(r, name, value);
    } else if (fallback) {
        r->filling->depth++;
        fill_part(r->filler, r->filling, from + strlen(DEFAULT), r->at.end - 1);
        r->filling->depth--;
    } else {
        refuse_unset(r, name, readable);
    }
}

/* The names by which the fillings from the first one that is of `node` down to this one were
 * reached, each with an arrow before it. */
static void add_filling_chain(struct jr_buf *out, const struct filling *filling,
                              const struct jr_node *node)
{
    if (filling->node == node)
        return;
    add_filling_chain(out, filling->up, node);
    jr_buf_str(out, " -> ");
    jr_point_text(out, filling->path, strlen(filling->path));
}

/* Whether the scalar is already being filled in: a circle, which is reported.
 */
static bool is_reference_circle(const struct reference *r, const struct jr_node *node)
{
    const struct filling *filling = r->filling;
    while (filling != NULL && filling->node != node)
        filling = filling->up;
    if (filling == NULL)
        return false;
    struct jr_buf chain JR_BUF_CLEANUP = JR_BUF_INIT;
    add_filling_chain(&chain, r->filling, node);
    (void)report_filling(r->filler, r->filling, JR_CODE_CIRCULAR_REFERENCE, &r->at,
                         "${...} goes in a circle: %s%s -> %s", r->shown,
                         chain.data == NULL ? "" : chain.data, r->shown);
    return true;
}

static void refuse_missing_value(const struct reference *r, const struct jr_location *location)
{
    struct jr_diags *diags = r->filler->diags;
    struct jr_diag *diag =
        report_filling(r->filler, r->filling, JR_CODE_REFERENCE_NOT_KNOWN_YET, &r->at,
                       "'%s' is not known when the spec is read", r->shown);
    if (location->node != NULL)
        jr_diag_relate(diags, diag, location->node->span, "it is MISSING");
    if (!help_with_per_rank(r, r->inside, diag) && location->node == NULL)
        jr_diag_help(diags, diag, "the spec does not state it");
}

/* Whether a located scalar has a value that can be put in. */
static bool has_known_value(const struct reference *r, const struct jr_location *location)
{
    const struct jr_node *node = location->node;
    bool outside =
        !location->shape.resolvable && node->filled == NULL && strcmp(node->text, "???") == 0;
    bool missing = jr_shape_is_missing(&location->shape, node);
    bool unknown = node->filled != NULL && node->filled->unknown;
    bool told = location->shape.awaited || r->filler->fill->guess;
    if (unknown || outside)
        r->filling->unknown = true;
    if (missing || (outside && !told))
        refuse_missing_value(r, location);
    return !unknown && !outside && !missing;
}

/* Fill in the scalar that is named, and then put it in. */
static void read_scalar_reference(const struct reference *r, const struct jr_location *location)
{
    struct filling filling = {.up = r->filling,
                              .node = location->node,
                              .path = r->inside,
                              .depth = r->filling->depth + 1};
    if (location->node->kind != JR_NODE_SCALAR) {
        refuse_collection(r, location->node);
        return;
    }
    location->node->read = true;
    if (is_reference_circle(r, location->node))
        return;
    struct jr_shape shape = jr_shape_of(r->filler->fill->shapes, &location->shape, location->node);
    fill_scalar(r->filler, &filling, &shape);
    if (!has_known_value(r, location))
        return;
    const struct jr_node *node = location->node;
    const char *kept = node->filled == NULL ? NULL : node->filled->kept;
    r->filling->from = node;
    r->filling->secret |= kept != NULL;
    if (r->filling->keep && kept != NULL)
        jr_interpolation_append(&r->filling->text, kept, strlen(kept));
    else
        add_filling(r->filler, r->filling, node->text, node->len);
}

static void read_path_reference(const struct reference *r)
{
    struct jr_location location;
    enum jr_located located = JR_LOCATED_NO_PATH;
    if (strpbrk(r->inside, " \t\n\"'{}:$") == NULL)
        located = jr_locate(&r->filler->locator, r->inside, &location);
    switch (located) {
    case JR_LOCATED:
        read_scalar_reference(r, &location);
        break;
    case JR_LOCATED_NO_PATH:
        report_malformed(r, "write ${vars.NAME}, ${FIELD} or ${env:NAME}; '$${' is a literal '${'");
        break;
    case JR_LOCATED_UNKNOWN:
        help_with_unknown(r, &location,
                          report_filling(r->filler, r->filling, JR_CODE_UNKNOWN_REFERENCE, &r->at,
                                         "there is no '%s'", r->shown));
        break;
    case JR_LOCATED_UNSTATED:
        location.node = NULL;
        refuse_missing_value(r, &location);
        break;
    case JR_LOCATED_OWN:
        jr_diag_help(r->filler->diags,
                     report_filling(r->filler, r->filling, JR_CODE_UNKNOWN_REFERENCE, &r->at,
                                    "'%s' is never read", r->shown),
                     "put values that are read into `vars`");
        break;
    }
}

static void add_reference(struct interpolator *filler, struct filling *filling, size_t from,
                          size_t to)
{
    const char *inside =
        jr_arena_strndup(filler->arena, filling->node->text + from + 2, to - from - 3);
    if (inside == NULL)
        return;
    struct jr_buf shown JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_point_text(&shown, inside, strlen(inside));
    const struct reference r = {
        .filler = filler,
        .filling = filling,
        .at = {JR_INTERPOLATION_REFERENCE, from, to},
        .inside = inside,
        .shown = jr_buf_keep(&shown, filler->arena), /* made fit for messages */
    };
    if (filling->depth >= JR_FILL_MAX_DEPTH)
        (void)report_filling(filler, filling, JR_CODE_REFERENCES_TOO_LARGE, &r.at,
                             "more than 64 values refer to one another");
    else if (strncmp(inside, ENV, strlen(ENV)) == 0)
        read_env_reference(&r);
    else
        read_path_reference(&r);
}

static void fill_part(struct interpolator *filler, struct filling *filling, size_t from, size_t to)
{
    const char *text = filling->node->text;
    struct jr_interpolation part;
    while (!filler->stopped && filling->mistakes < MOST_TOLD &&
           jr_interpolation_next(text, to, &from, &part)) {
        filling->parts++;
        if (part.kind == JR_INTERPOLATION_TEXT) {
            add_filling(filler, filling, text + part.start, part.end - part.start);
            continue;
        }
        if (part.kind == JR_INTERPOLATION_REFERENCE) {
            add_reference(filler, filling, part.start, part.end);
            continue;
        }
        const char *open = text + part.start + 2;
        part.end = part.start + 2;
        struct jr_diag *diag =
            report_filling(filler, filling, JR_CODE_WRONG_REFERENCE, &part, "'${' is not closed");
        size_t len = strspn(open, NAME_BYTES ".:[]");
        while (len > 0 && strchr(".:[", open[len - 1]) != NULL)
            len--;
        if (len > 0 && len <= LONGEST)
            jr_diag_help(filler->diags, diag,
                         "the '}' is missing: ${%.*s}; '$${' is a literal '${'", (int)len, open);
        else
            jr_diag_help(filler->diags, diag, "'$${' is a literal '${'");
    }
}

static void finish_filling(struct interpolator *filler, struct filling *filling)
{
    struct jr_node *node = filling->node;
    struct jr_filled *filled = jr_arena_alloc(filler->arena, sizeof *filled);
    struct jr_buf *text = &filling->text;
    if (filled == NULL || text->failed) {
        filler->arena->failed = true;
        return;
    }
    filled->unknown = filling->unknown || filler->stopped;
    filled->written = node->text;
    if (!filled->unknown && filling->secret) { /* once more, with its secrets as references */
        struct filling again = *filling;
        again.keep = true;
        again.text = JR_BUF_INIT;
        fill_part(filler, &again, 0, node->len);
        filled->kept = jr_buf_keep(&again.text, filler->arena);
        jr_buf_release(&again.text);
    }
    if (!filled->unknown && filling->parts == 1)
        filled->from = filling->from;
    if (filled->from != NULL && filled->from->meant)
        node->meant = true;
    if (!filled->unknown)
        jr_node_rewrite(filler->arena, node, text->data, text->len);
    node->filled = filled;
}

static void fill_scalar(struct interpolator *filler, struct filling *filling,
                        const struct jr_shape *shape)
{
    const struct jr_node *node = filling->node;
    if (node->filled != NULL || shape->literal || strstr(node->text, "${") == NULL)
        return;
    fill_part(filler, filling, 0, node->len);
    finish_filling(filler, filling);
    jr_buf_release(&filling->text);
}

static void fill_tree(struct interpolator *filler, struct jr_node *node,
                      const struct jr_shape *shape, const struct jr_node_step *up)
{
    const struct jr_shapes *shapes = filler->fill->shapes;
    struct jr_shape own = jr_shape_of(shapes, shape, node);
    struct filling filling = {.node = node, .at = up};
    bool list = node->kind == JR_NODE_SEQUENCE;
    if (own.own || filler->arena->failed)
        return;
    if (node->kind == JR_NODE_SCALAR)
        fill_scalar(filler, &filling, &own);
    for (size_t i = 0; node->kind != JR_NODE_SCALAR && i < node->count; i++) {
        const char *key = list ? NULL : node->pairs[i].key->text;
        const struct jr_node_step at = {up, key, i};
        struct jr_shape child = shapes->child(&own, key);
        fill_tree(filler, list ? node->items[i] : node->pairs[i].value, &child, &at);
    }
}

void jr_interpolate_in(struct jr_doc *doc, const struct jr_interpolate *fill,
                       struct jr_diags *diags)
{
    struct interpolator filler = {
        .fill = fill,
        .locator = {&doc->arena, fill->shapes, doc->root, NULL},
        .arena = &doc->arena,
        .diags = diags,
        .hidden = &doc->hidden,
        .hidden_names = &doc->hidden_names,
    };
    if (!doc->dollars)
        return;
    fill_tree(&filler, doc->root, &fill->shapes->root, NULL);
    jr_locator_release(&filler.locator);
}

static void undo_scalar(struct jr_arena *arena, struct jr_node *node)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *kept = node->filled == NULL ? NULL : node->filled->kept;
    bool unknown = node->filled != NULL && node->filled->unknown;
    if (unknown || (kept == NULL && strstr(node->text, "${") == NULL))
        return;
    if (kept != NULL)
        jr_buf_str(&text, kept);
    else
        jr_interpolation_escape(&text, node->text, node->len);
    jr_node_rewrite(arena, node, text.data, text.len);
    arena->failed |= text.failed;
}

static void undo_tree(struct jr_arena *arena, const struct jr_shapes *shapes, struct jr_node *node,
                      const struct jr_shape *shape)
{
    struct jr_shape own = jr_shape_of(shapes, shape, node);
    bool list = node->kind == JR_NODE_SEQUENCE;
    if (node->kind == JR_NODE_SCALAR && !own.literal && !own.own)
        undo_scalar(arena, node);
    for (size_t i = 0; node->kind != JR_NODE_SCALAR && i < node->count; i++) {
        const char *key = list ? NULL : node->pairs[i].key->text;
        struct jr_shape child = shapes->child(&own, key);
        undo_tree(arena, shapes, list ? node->items[i] : node->pairs[i].value, &child);
    }
}

void jr_interpolate_undo(struct jr_arena *arena, const struct jr_shapes *shapes,
                         struct jr_node *root)
{
    undo_tree(arena, shapes, root, &shapes->root);
}

bool jr_interpolation_next(const char *text, size_t len, size_t *at, struct jr_interpolation *ret)
{
    size_t start = *at;
    if (start >= len)
        return false;
    const char *mark = memmem(text + start, len - start, "${", 2);
    size_t brace = mark == NULL ? len : (size_t)(mark - text) + 1, run = brace;
    while (run > start && text[run - 1] == '$')
        run--;
    size_t dollars = mark == NULL ? 0 : brace - run;
    size_t literal = mark == NULL ? len : run + dollars / 2;
    *ret = (struct jr_interpolation){JR_INTERPOLATION_TEXT, start, literal};
    *at = dollars % 2 == 0 ? brace : brace - 1;
    if (literal > start || dollars != 1)
        return true;
    size_t close = 0, open = 0; /* behind the brace that closes it; 0 where none does */
    for (size_t i = start; close == 0 && i < len; i++) {
        if (text[i] == '$' && i + 1 < len && text[i + 1] == '{')
            open++;
        else if (text[i] == '}' && --open == 0)
            close = i + 1;
    }
    ret->kind = close == 0 ? JR_INTERPOLATION_OPEN : JR_INTERPOLATION_REFERENCE;
    ret->end = *at = close == 0 ? len : close;
    return true;
}

/* Double the dollars that the buffer ends with: those of a run before a brace or a reference. */
static void double_dollars(struct jr_buf *out)
{
    size_t run = 0;
    while (run < out->len && out->data[out->len - run - 1] == '$')
        run++;
    jr_buf_fill(out, '$', run);
}

void jr_interpolation_escape(struct jr_buf *out, const char *text, size_t len)
{
    const char *end = text + len;
    for (const char *brace; text < end; text = brace) {
        if (*text == '{')
            double_dollars(out);
        brace = memchr(text + 1, '{', (size_t)(end - text) - 1);
        brace = brace == NULL ? end : brace;
        jr_buf_add(out, text, (size_t)(brace - text));
    }
}

void jr_interpolation_refer(struct jr_buf *out, const char *text, size_t len)
{
    double_dollars(out);
    jr_buf_add(out, text, len);
}

void jr_interpolation_append(struct jr_buf *out, const char *text, size_t len)
{
    struct jr_interpolation part;
    for (size_t at = 0; jr_interpolation_next(text, len, &at, &part);) {
        size_t size = part.end - part.start;
        if (part.kind == JR_INTERPOLATION_TEXT)
            jr_interpolation_escape(out, text + part.start, size);
        else
            jr_interpolation_refer(out, text + part.start, size);
    }
}
