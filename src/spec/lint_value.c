#include "spec/lint_value.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jobrun/contract.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/regex.h"
#include "doc/interpolate.h"
#include "spec/lint_finding.h"
#include "spec/lint_suggest.h"
#include "spec/lint_template.h"
#include "spec/lint_text.h"

#include "base/banned.h"

/* The compiled pattern of a text type, made once. */
static struct jr_regex *compiled_pattern(struct jr_lint *lint, const struct jr_spec_type *type)
{
    for (size_t i = 0; i < lint->compiled_count; i++)
        if (lint->compiled[i].type == type)
            return lint->compiled[i].regex;
    struct jr_pattern *slot =
        jr_arena_push(lint->arena, &lint->compiled, &lint->compiled_count, sizeof *slot);
    size_t bad;
    if (slot == NULL)
        return NULL;
    slot->type = type;
    if (jr_regex_new(&slot->regex, type->pattern, &bad, NULL) != 0)
        lint->arena->failed = true;
    return slot->regex;
}

/* Whole match: PCRE2's $ stands before a last newline too. */
bool jr_lint_fits(struct jr_lint *lint, const struct jr_spec_type *type, const char *text,
                  size_t len)
{
    struct jr_match match;
    bool limited;
    if (type->pattern == NULL)
        return true;
    struct jr_regex *regex = compiled_pattern(lint, type);
    if (regex == NULL) /* no memory, which is reported after everything is read */
        return true;
    bool found = jr_regex_find(regex, text, len, 0, &match, &limited);
    if (limited) /* the same: no such pattern takes many steps */
        lint->arena->failed = true;
    return limited || (found && match.start == 0 && match.end == len);
}

/* The name in Python that a path, or dots alone, were written for. */
static void suggest_python_name(struct jr_lint *lint, struct jr_diag *diag,
                                const struct jr_spec_type *type, const struct jr_node *node)
{
    bool here = strncmp(node->text, "./", 2) == 0;
    bool option = strncmp(node->text, "-m ", 3) == 0;
    const char *from = node->text + (here ? 2 : option ? 3 : 0);
    char *text = jr_arena_strdup(lint->arena, from);
    if (text == NULL)
        return;
    for (char *slash = text; (slash = strchr(slash, '/')) != NULL;)
        *slash = '.';
    char *call = strchr(text, '('); /* train:main() */
    if (call != NULL)
        *call = '\0';
    char *py = strstr(text, ".py"), *dot = strrchr(text, '.');
    if (py != NULL && (py[3] == '\0' || py[3] == ':'))
        memmove(py, py + 3, strlen(py + 3) + 1);
    else if (dot != NULL && !jr_lint_fits(lint, type, text, strlen(text)))
        *dot = ':';
    if (!jr_lint_fits(lint, type, text, strlen(text)))
        return;
    jr_diag_help(lint->diags, diag, "did you mean '%s'?", text);
    jr_lint_fix_text(lint, diag, node, text);
}

struct jr_node *jr_read_text(struct jr_lint *lint, const struct jr_spec_type *type,
                             const struct jr_node *node, const struct jr_node_step *at)
{
    if (node->plain && node->len == 0 && node->filled == NULL) {
        jr_diag_help(lint->diags, jr_lint_wrong(lint, type, node, at),
                     "write '' for an empty string");
        return NULL;
    }
    if (!jr_lint_fits(lint, type, node->text, node->len)) {
        struct jr_diag *diag = jr_lint_wrong(lint, type, node, at);
        if (type->is_python)
            suggest_python_name(lint, diag, type, node);
        else if (type->is_size)
            jr_lint_suggest_size(lint, diag, type, node);
        else if (node->filled == NULL)
            jr_lint_suggest_text(lint, diag, type, node, at);
        return NULL;
    }
    if (type->is_template && !jr_read_template(lint, node, at))
        return NULL;
    return jr_lint_scalar(lint, node, node->text, false);
}

/* What a path is relative to: the folder of the file that states it. */
static const char *value_folder(const struct jr_lint *lint, const struct jr_node *node)
{
    const struct jr_source *source = node->span.source;
    return source != NULL && source->folder != NULL ? source->folder : lint->folder;
}

/* A path made absolute, with its secrets as references like those in `node`. */
static struct jr_node *whole_path(struct jr_lint *lint, const struct jr_node *node,
                                  const char *folder, const char *absolute)
{
    struct jr_node *ret = jr_lint_scalar(lint, node, absolute, false);
    const char *kept = node->filled == NULL ? NULL : node->filled->kept;
    if (ret == NULL || kept == NULL || node->text[0] == '/')
        return ret;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_interpolation_escape(&text, folder, strlen(folder));
    jr_buf_printf(&text, "/%s", kept);
    struct jr_filled *filled = jr_arena_alloc(lint->arena, sizeof *filled);
    if (filled == NULL)
        return NULL;
    *filled = *node->filled;
    filled->kept = jr_buf_keep(&text, lint->arena);
    ret->filled = filled;
    return ret;
}

/* ~ or ~/data, but no other user's. */
static bool is_home_path(const char *text)
{
    return text[0] == '~' && (text[1] == '/' || text[1] == '\0');
}

static bool has_control(const char *text)
{
    while (*text != '\0' && (unsigned char)*text >= ' ')
        text++;
    return *text != '\0';
}

/* "C:\new\train": in double quotes '\n' and '\t' are no letters. */
static struct jr_node *refuse_control(struct jr_lint *lint, const struct jr_spec_type *type,
                                      const struct jr_node *node, const struct jr_node_step *at)
{
    struct jr_diag *diag = jr_lint_wrong(lint, type, node, at);
    jr_diag_help(lint->diags, diag,
                 "a line break or a tab is in it: in double quotes '\\n' and "
                 "'\\t' are these; in single quotes they stay as they are");
    return NULL;
}

struct jr_node *jr_read_path(struct jr_lint *lint, const struct jr_spec_type *type,
                             const struct jr_node *node, const struct jr_node_step *at)
{
    bool none = jr_scalar_type(node) == JR_SCALAR_NULL;
    if (has_control(node->text))
        return refuse_control(lint, type, node, at);
    if (none || node->len == 0 || node->text[0] == '~') {
        struct jr_diag *diag = jr_lint_wrong(lint, type, node, at);
        if (is_home_path(node->text))
            jr_diag_help(lint->diags, diag, "only a shell expands ~: write ${env:HOME}%s",
                         jr_lint_source(node) + 1);
        else if (!none && node->len > 0)
            jr_diag_help(lint->diags, diag, "only a shell expands ~: write the path of the folder");
        return NULL;
    }
    if ((type->is_profile && jr_profile_is_shorthand(node->text)) ||
        (type->is_program && strchr(node->text, '/') == NULL))
        return jr_lint_scalar(lint, node, node->text, false);
    if (type->is_template && !jr_read_template(lint, node, at))
        return NULL;
    if (type->is_template && jr_template_is_absolute(node->text))
        return jr_lint_scalar(lint, node, node->text, false);
    const char *folder = value_folder(lint, node);
    if (type->is_template) /* where the spec lies is no template of its own */
        folder = jr_template_literal(lint->arena, folder);
    if (folder == NULL)
        return NULL;
    JR_FREE char *absolute = jr_io_absolute(folder, node->text);
    if (absolute != NULL)
        return whole_path(lint, node, folder, absolute);
    lint->arena->failed = true;
    return NULL;
}

const char *const *jr_did_you_mean_list(struct jr_lint *lint, const struct jr_spec_word *words)
{
    static const char *const none[] = {NULL};
    size_t count = 0;
    while (words[count].word != NULL)
        count++;
    const char **list = jr_arena_array(lint->arena, count + 1, sizeof *list);
    if (list == NULL)
        return none;
    for (size_t i = 0; i < count; i++)
        list[i] = words[i].word;
    return list;
}

/* custom:NAME, for the types that allow it. */
static bool is_custom_value(const struct jr_spec_type *type, const char *text)
{
    static const char prefix[] = "custom:";
    size_t len = sizeof prefix - 1;
    if (!type->custom || strncmp(text, prefix, len) != 0)
        return false;
    size_t name =
        strspn(text + len, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
    return name > 0 && text[len + name] == '\0';
}

static bool is_word(const struct jr_spec_type *type, const char *text)
{
    const struct jr_spec_word *row = type->words;
    while (row->word != NULL && strcmp(row->word, text) != 0)
        row++;
    return row->word != NULL;
}

struct jr_node *jr_read_word(struct jr_lint *lint, const struct jr_spec_type *type,
                             const struct jr_node *node, const struct jr_node_step *at)
{
    bool bare =
        type->custom && (strcmp(node->text, "custom") == 0 || strcmp(node->text, "custom:") == 0);
    if ((is_word(type, node->text) && !bare) || is_custom_value(type, node->text))
        return jr_lint_scalar(lint, node, node->text, false);
    struct jr_diag *diag = jr_lint_wrong(lint, type, node, at);
    const char *colon = strrchr(node->text, ':');
    if (bare)
        jr_diag_help(lint->diags, diag, "custom wants a name: custom:NAME");
    else if (colon != NULL && strchr(node->text, ',') != NULL && node->filled == NULL &&
             is_word(type, colon + 1))
        jr_diag_help(lint->diags, diag, "one for all ranks: write %s", colon + 1);
    else
        jr_lint_suggest(lint, diag, node, jr_did_you_mean_list(lint, type->words));
    return NULL;
}

const char *jr_ranks_text(struct jr_lint *lint, const struct jr_set *set)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_set_write(&text, set);
    return jr_buf_keep(&text, lint->arena);
}

/* true, "rank 0", rank0, 0:3, *: the ranks that were meant. */
static void suggest_ranks(struct jr_lint *lint, struct jr_diag *diag, const struct jr_node *node)
{
    static const char *const words[][2] = {
        {"true", "all"},  {"false", "none"}, {"*", "all"},   {"any", "all"},
        {"every", "all"}, {"yes", "all"},    {"no", "none"}, {"", "none"},
    };
    struct jr_set set;
    const char *bad, *text = node->text, *meant = NULL;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(words[i][0], text) == 0)
            meant = words[i][1];
    if (meant == NULL && strncasecmp(text, "rank", 4) == 0) {
        meant = text + 4;
        meant += strspn(meant, " _s");
    }
    if (meant != NULL && jr_set_parse(&set, lint->arena, meant, &bad))
        jr_diag_help(lint->diags, diag, "did you mean %s?", meant);
}

struct jr_node *jr_read_ranks(struct jr_lint *lint, const struct jr_spec_type *type,
                              const struct jr_node *node, const struct jr_node_step *at)
{
    struct jr_set set;
    const char *bad;
    if (jr_set_parse(&set, lint->arena, node->text, &bad))
        return jr_lint_scalar(lint, node, jr_ranks_text(lint, &set), false);
    struct jr_diag *diag = jr_lint_wrong(lint, type, node, at);
    size_t from = (size_t)(bad - node->text);
    if (from < node->len)
        diag->span = jr_lint_part(lint, node, from, from + strcspn(bad, ","));
    if (node->filled == NULL)
        suggest_ranks(lint, diag, node);
    return NULL;
}

struct jr_node *jr_read_pattern(struct jr_lint *lint, const struct jr_spec_type *type,
                                const struct jr_node *node, const struct jr_node_step *at)
{
    struct jr_regex *regex = NULL;
    struct jr_error err = {0};
    size_t bad = 0;
    (void)type;
    if (jr_regex_new(&regex, node->text, &bad, &err) == 0) {
        jr_regex_free(regex);
        return jr_lint_scalar(lint, node, node->text, false);
    }
    if (err.status == JR_STATUS_LAUNCH) {
        lint->arena->failed = true;
        return NULL;
    }
    size_t from = bad < node->len ? bad : node->len;
    size_t to = from < node->len ? from + 1 : from;
    struct jr_diag *diag =
        jr_lint_error(lint, JR_CODE_WRONG_REGEX, jr_lint_part(lint, node, from, to), at,
                      "'%s' is not a regular expression: %s", jr_lint_path(lint, at), err.text);
    if (node->text[0] == '*' && node->filled == NULL)
        jr_diag_help(lint->diags, diag, "'*' repeats what is before it: for any text write .*");
    return NULL;
}

struct jr_node *jr_read_scalar(struct jr_lint *lint, const struct jr_spec_type *type,
                               const struct jr_node *node, const struct jr_node_step *at)
{
    (void)type;
    (void)at;
    return jr_lint_scalar(lint, node, node->text, node->plain);
}
