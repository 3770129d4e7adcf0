/*
 * Readers of lint.h for texts, paths, words, rank sets, patterns and
 * templates.
 */
#include "spec/lint.h"

#include <stdlib.h>
#include <string.h>

#include <jobrun/contract.h>
#include <jobrun/types.h>

#include "base/cleanup.h"
#include "base/did_you_mean.h"
#include "base/io.h"
#include "base/regex.h"
#include "doc/interpolate.h"

#include "base/banned.h"

/* The compiled pattern of a text type, made once. */
static struct jr_regex *compiled_pattern(struct jr_lint *lint,
                                         const struct jr_spec_type *type)
{
    for (size_t i = 0; i < lint->compiled_count; i++)
        if (lint->compiled[i].type == type)
            return lint->compiled[i].regex;
    struct jr_pattern *slot = jr_arena_push(
        lint->arena, &lint->compiled, &lint->compiled_count, sizeof *slot);
    size_t bad;
    if (slot == NULL)
        return NULL;
    slot->type = type;
    if (jr_regex_new(&slot->regex, type->pattern, &bad, NULL) != 0)
        lint->arena->failed = true;
    return slot->regex;
}

/* Whole match: PCRE2's $ stands before a last newline too. */
bool jr_lint_fits(struct jr_lint *lint, const struct jr_spec_type *type,
                  const char *text, size_t len)
{
    struct jr_match match;
    bool limited;
    if (type->pattern == NULL)
        return true;
    struct jr_regex *regex = compiled_pattern(lint, type);
    if (regex ==
        NULL) /* no memory, which is reported after everything is read */
        return true;
    return jr_regex_find(regex, text, len, 0, &match, &limited) &&
           match.start == 0 && match.end == len;
}

/* The name in Python that a path, or dots alone, were written for. */
static void suggest_python_name(struct jr_lint *lint, struct jr_diag *diag,
                                const struct jr_spec_type *type,
                                const struct jr_node *node)
{
    const char *from = node->text + (strncmp(node->text, "./", 2) == 0 ? 2 : 0);
    char *text = jr_arena_strdup(lint->arena, from);
    if (text == NULL)
        return;
    for (char *slash = text; (slash = strchr(slash, '/')) != NULL;)
        *slash = '.';
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

/* Say what is wrong with an address, as far as it can be told. */
static void explain_address(struct jr_lint *lint, struct jr_diag *diag,
                            const struct jr_spec_type *type,
                            const struct jr_node *node)
{
    static const char digits[] = "0123456789";
    const char *text = node->text, *colon = strchr(text, ':');
    size_t len = colon == NULL ? 0 : (size_t)(colon - text);
    const char *last = strrchr(text, '.');
    if (text[0] == '\0' || node->filled != NULL)
        return;
    if (len > 0 && strchr(colon + 1, ':') == NULL && colon[1] != '\0' &&
        colon[1 + strspn(colon + 1, digits)] == '\0' &&
        jr_lint_fits(lint, type, text, len))
        jr_diag_help(lint->diags, diag,
                     "the port is a field of its own: master_port: %s",
                     colon + 1);
    else if (strstr(text, "://") != NULL)
        jr_diag_help(lint->diags, diag,
                     "write the name alone; a URL belongs into init_method");
    else if (colon == NULL && last != NULL && last[1] != '\0' &&
             last[1 + strspn(last + 1, digits)] == '\0')
        jr_diag_help(lint->diags, diag,
                     "an IPv4 address has four numbers from 0 to 255");
}

struct jr_node *jr_read_text(struct jr_lint *lint,
                             const struct jr_spec_type *type,
                             const struct jr_node *node,
                             const struct jr_node_step *at)
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
        if (type->is_address)
            explain_address(lint, diag, type, node);
        return NULL;
    }
    if (type->is_template && !jr_read_template(lint, node, at))
        return NULL;
    return jr_lint_scalar(lint, node, node->text, false);
}

/* What a path is relative to: the folder of the file that states it. */
static const char *value_folder(const struct jr_lint *lint,
                                const struct jr_node *node)
{
    const struct jr_source *source = node->span.source;
    return source != NULL && source->folder != NULL ? source->folder
                                                    : lint->folder;
}

/* A path made absolute, with its secrets as references like those in `node`. */
static struct jr_node *whole_path(struct jr_lint *lint,
                                  const struct jr_node *node,
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

struct jr_node *jr_read_path(struct jr_lint *lint,
                             const struct jr_spec_type *type,
                             const struct jr_node *node,
                             const struct jr_node_step *at)
{
    bool none = jr_scalar_type(node) == JR_SCALAR_NULL;
    if (none || node->len == 0 || node->text[0] == '~') {
        struct jr_diag *diag = jr_lint_wrong(lint, type, node, at);
        if (!none && node->len > 0)
            jr_diag_help(
                lint->diags, diag,
                "only a shell expands ~: write the path of the folder");
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
    JR_FREE char *absolute = jr_io_absolute(folder, node->text);
    if (absolute != NULL)
        return whole_path(lint, node, folder, absolute);
    lint->arena->failed = true;
    return NULL;
}

const char *const *jr_did_you_mean_list(struct jr_lint *lint,
                                        const struct jr_spec_word *words)
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
    size_t name = strspn(text + len, "abcdefghijklmnopqrstuvwxyz"
                                     "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789._-");
    return name > 0 && text[len + name] == '\0';
}

struct jr_node *jr_read_word(struct jr_lint *lint,
                             const struct jr_spec_type *type,
                             const struct jr_node *node,
                             const struct jr_node_step *at)
{
    const struct jr_spec_word *row = type->words;
    while (row->word != NULL && strcmp(row->word, node->text) != 0)
        row++;
    bool bare = type->custom && (strcmp(node->text, "custom") == 0 ||
                                 strcmp(node->text, "custom:") == 0);
    if ((row->word != NULL && !bare) || is_custom_value(type, node->text))
        return jr_lint_scalar(lint, node, node->text, false);
    struct jr_diag *diag = jr_lint_wrong(lint, type, node, at);
    if (bare)
        jr_diag_help(lint->diags, diag, "custom wants a name: custom:NAME");
    else
        jr_lint_suggest(lint, diag, node,
                        jr_did_you_mean_list(lint, type->words));
    return NULL;
}

const char *jr_ranks_text(struct jr_lint *lint, const struct jr_set *set)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_set_write(&text, set);
    return jr_buf_keep(&text, lint->arena);
}

struct jr_node *jr_read_ranks(struct jr_lint *lint,
                              const struct jr_spec_type *type,
                              const struct jr_node *node,
                              const struct jr_node_step *at)
{
    struct jr_set set;
    const char *bad;
    if (jr_set_parse(&set, lint->arena, node->text, &bad))
        return jr_lint_scalar(lint, node, jr_ranks_text(lint, &set), false);
    struct jr_diag *diag = jr_lint_wrong(lint, type, node, at);
    size_t from = (size_t)(bad - node->text);
    if (from < node->len)
        diag->span = jr_lint_part(lint, node, from, from + strcspn(bad, ","));
    return NULL;
}

struct jr_node *jr_read_pattern(struct jr_lint *lint,
                                const struct jr_spec_type *type,
                                const struct jr_node *node,
                                const struct jr_node_step *at)
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
    (void)jr_lint_error(lint, JR_CODE_WRONG_REGEX,
                        jr_lint_part(lint, node, from, to), at,
                        "'%s' is not a regular expression: %s",
                        jr_lint_path(lint, at), err.text);
    return NULL;
}

struct jr_node *jr_read_scalar(struct jr_lint *lint,
                               const struct jr_spec_type *type,
                               const struct jr_node *node,
                               const struct jr_node_step *at)
{
    (void)type;
    (void)at;
    return jr_lint_scalar(lint, node, node->text, node->plain);
}

/* At most this many mistakes of one scalar are reported, so that a scalar full
 * of mistakes does not take quadratic time. */
enum { MOST_TOLD = 8 };

#define WORD(name, word, help) word,

static const char *const names[] = {JR_TEMPLATE_NAMES(WORD) NULL};

static bool is_template_name(const char *name)
{
    for (size_t i = 0; names[i] != NULL; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static void help_with_template(struct jr_lint *lint, struct jr_diag *diag,
                               const char *near)
{
    if (near != NULL)
        jr_diag_help(lint->diags, diag, "did you mean '%%{%s}'?", near);
    else
        jr_diag_help(lint->diags, diag, "'%%%%{' is a literal '%%{'");
}

/* Write `near` in the place of %{NAME}, if that is what the span covers. */
static void fix_word(struct jr_lint *lint, struct jr_diag *diag,
                     const struct jr_node *node, const char *name,
                     const char *near)
{
    struct jr_span span = diag->span;
    bool exact = span.line == span.end_line &&
                 span.end_column - span.column == strlen(name) + 3;
    if (!exact || node->shared || !jr_did_you_mean_near(name, names))
        return;
    const char *text = jr_arena_printf(lint->arena, "%%{%s}", near);
    if (text != NULL)
        jr_diag_fix(lint->diags, diag, span, text);
}

/* The word of the %{...} at `start`. */
static bool check_template_word(struct jr_lint *lint,
                                const struct jr_node *node,
                                const struct jr_node_step *at, size_t start)
{
    const char *word = node->text + start + 2;
    size_t len = strcspn(word, "%{}");
    if (word[len] != '}') {
        struct jr_span span = jr_lint_part(lint, node, start, start + 2);
        help_with_template(lint,
                           jr_lint_error(lint, JR_CODE_WRONG_RANK_TEMPLATE,
                                         span, at, "'%%{' is not closed"),
                           NULL);
        return false;
    }
    const char *name = jr_arena_strndup(lint->arena, word, len);
    if (name == NULL || is_template_name(name))
        return name != NULL;
    struct jr_span span = jr_lint_part(lint, node, start, start + len + 3);
    struct jr_diag *diag = jr_lint_error(
        lint, JR_CODE_WRONG_RANK_TEMPLATE, span, at,
        "unknown per-rank template %s", jr_lint_quoted(lint, name, len));
    const char *near = jr_did_you_mean(name, names);
    help_with_template(lint, diag, near);
    if (near != NULL)
        fix_word(lint, diag, node, name, near);
    return false;
}

bool jr_read_template(struct jr_lint *lint, const struct jr_node *node,
                      const struct jr_node_step *at)
{
    int bad = 0;
    const char *text = node->text;
    while (bad < MOST_TOLD && (text = strchr(text, '%')) != NULL) {
        if (strncmp(text, "%%{", 3) == 0) {
            text += 3;
        } else if (text[1] == '{') {
            bad += !check_template_word(lint, node, at,
                                        (size_t)(text - node->text));
            text += 2;
        } else {
            text++;
        }
    }
    return bad == 0;
}

bool jr_template_is_absolute(const char *text)
{
    static const char *const folders[] = {"%{run_dir}", "%{rank_dir}"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (strncmp(text, folders[i], strlen(folders[i])) == 0)
            return true;
    return false;
}
