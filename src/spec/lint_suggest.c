/*
 * What may have been meant, as help for a finding of lint.h; and as a fix where that is sure.
 */
#include "spec/lint_suggest.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/did_you_mean.h"
#include "base/utf8.h"
#include "doc/emit.h"
#include "spec/foreign_names.h"
#include "spec/lint_finding.h"
#include "spec/lint_shape.h"
#include "spec/lint_text.h"
#include "spec/lint_value.h"
#include "spec/manual.h"

#include "base/banned.h"

/* How many characters more than its text the source has for a scalar: 0 or the
 * two quotes. -1 where it holds something else than the text: escapes, a block.
 */
static int count_quotes(const struct jr_node *node)
{
    const struct jr_span *span = &node->span;
    const char *text = jr_lint_source(node);
    size_t width = span->end_column - span->column;
    size_t points = jr_utf8_points(text, strlen(text));
    if (span->line != span->end_line)
        return -1;
    return width == points ? 0 : width == points + 2 ? 2 : -1;
}

/* Whether it can be told what changes with the text of a scalar. */
static bool is_text_editable(const struct jr_node *node)
{
    return node->filled == NULL && !node->shared;
}

void jr_lint_fix(struct jr_lint *lint, struct jr_diag *diag, const struct jr_node *node,
                 const char *text)
{
    if (text != NULL && is_text_editable(node) && count_quotes(node) == (node->plain ? 0 : 2))
        jr_diag_fix(lint->diags, diag, node->span, text);
}

void jr_lint_fix_text(struct jr_lint *lint, struct jr_diag *diag, const struct jr_node *node,
                      const char *text)
{
    struct jr_span span = node->span;
    int quotes = count_quotes(node);
    if (!is_text_editable(node) || quotes < 0)
        return;
    span.column += (uint32_t)quotes / 2;
    span.end_column -= (uint32_t)quotes / 2;
    jr_diag_fix(lint->diags, diag, span, text);
}

void jr_lint_unquote(struct jr_lint *lint, struct jr_diag *diag, const struct jr_node *node)
{
    /* in brackets, braces must be quoted */
    bool stuck = node->filled != NULL && node->flow;
    jr_diag_help(lint->diags, diag, "quotes make it a string: write %s%s", jr_lint_said(lint, node),
                 stuck ? ", on a line of its own" : "");
    if (!stuck && !node->shared && count_quotes(node) == 2)
        jr_diag_fix(lint->diags, diag, node->span, jr_lint_source(node));
}

bool jr_lint_is_bare(const char *text)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/";
    size_t len = strspn(text, letters);
    return len > 0 && text[len] == '\0' && text[0] != '-';
}

/* The word that is this one except for case, or NULL. */
static const char *find_word_but_case(const char *text, const char *const *words)
{
    while (*words != NULL && strcasecmp(*words, text) != 0)
        words++;
    return *words;
}

/* numa_node, gpu:0: the word that it begins with, or that is meant by what is before a colon; or
 * NULL. */
static const char *find_beginning(const char *text, const char *const *allowed)
{
    enum { LEAST = 3 };
    char head[16] = "";
    bool sure;
    for (const char *const *words = allowed; *words != NULL; words++) {
        size_t len = strlen(*words);
        if (len >= LEAST && strncmp(text, *words, len) == 0 && strchr("_-:. ", text[len]) != NULL &&
            text[len] != '\0')
            return *words;
    }
    size_t len = strcspn(text, ":");
    if (text[len] == '\0' || len >= sizeof head)
        return NULL;
    memcpy(head, text, len);
    return jr_field_foreign_word(head, allowed, &sure);
}

const char *jr_lint_near_word(const char *text, const char *const *words, bool *ret_sure)
{
    const char *near = jr_field_foreign_word(text, words, ret_sure);
    if (near != NULL)
        return near;
    near = find_word_but_case(text, words);
    *ret_sure = near != NULL || jr_did_you_mean_near(text, words);
    if (near == NULL)
        near = jr_did_you_mean(text, words);
    return near != NULL ? near : find_beginning(text, words);
}

void jr_lint_suggest(struct jr_lint *lint, struct jr_diag *diag, const struct jr_node *node,
                     const char *const *words)
{
    bool sure;
    if (diag == &lint->diags->scratch || node->filled != NULL)
        return;
    const char *near = jr_lint_near_word(node->text, words, &sure);
    if (near == NULL)
        return;
    jr_diag_help(lint->diags, diag, "did you mean '%s'?", near);
    if (sure && jr_lint_is_bare(near))
        jr_lint_fix_text(lint, diag, node, near);
}

/*
 * Values of another kind than is wanted, as people bring them from elsewhere: a command line where
 * a list stands, `- A=1` where names have values.
 */

/* A finding on its way to its help. */
struct odd {
    struct jr_lint *lint;
    struct jr_diag *diag;
    const struct jr_spec_type *type;
    const struct jr_node *node;
    const struct jr_node_step *at;
};

enum {
    LONGEST = 120, /* text that is rewritten, and examples */
    MOST = 16      /* hosts of a range that are written out */
};

/* Whether a word means itself in [ ]. */
static bool is_bare_item(const char *word, size_t len)
{
    static const char marks[] = "._-/=+:";
    if (word[0] == ':' || word[len - 1] == ':' || (len == 1 && word[0] == '-'))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)word[i]) && strchr(marks, word[i]) == NULL)
            return false;
    return true;
}

const char *jr_lint_word_list(struct jr_lint *lint, const char *text, bool quoted)
{
    const char *ends = strchr(text, ',') != NULL ? "," : " ";
    const char *list = "";
    text += strspn(text, ", ");
    while (*text != '\0' && list != NULL) {
        size_t len = strcspn(text, ends), word = len;
        while (word > 1 && text[word - 1] == ' ')
            word--;
        bool bare = is_bare_item(text, word);
        if (!bare && strncmp(text, "%{", 2) != 0)
            return NULL;
        const char *quote = bare && !quoted ? "" : "\"";
        list = jr_arena_printf(lint->arena, "%s%s%s%.*s%s", list, *list == '\0' ? "" : ", ", quote,
                               (int)word, text, quote);
        text += len;
        text += strspn(text, ", ");
    }
    return list == NULL || *list == '\0' ? NULL : list;
}

static bool is_command(const struct jr_spec_type *type)
{
    return type->shorthand != NULL && strcmp(type->shorthand, "command") == 0;
}

static bool has_integers(const struct jr_spec_type *type)
{
    return type->item != NULL && type->item->kind == JR_KIND_INTEGER;
}

/* train.py, or pkg.train:main: what Python is to run. Whether such a file is a program too is not
 * known, so there is no fix. */
static bool suggest_python(const struct odd *odd)
{
    static const char function[] = "entrypoint.python.function";
    const char *text = odd->node->text;
    size_t len = odd->node->len;
    if (!is_command(odd->type) || len == 0 || !is_bare_item(text, len))
        return false;
    if (len > 3 && strcmp(text + len - 3, ".py") == 0)
        jr_diag_help(odd->lint->diags, odd->diag, "did you mean {python: {script: %s}}?", text);
    else if (jr_lint_fits(odd->lint, jr_field_find(function)->type, text, len))
        jr_diag_help(odd->lint->diags, odd->diag, "did you mean {python: {function: \"%s\"}}?",
                     text);
    else
        return false;
    return true;
}

/* `devices: 2` and `devices: 0-3` */
static bool suggest_devices(const struct odd *odd)
{
    const char *text = odd->node->text;
    struct jr_set set;
    const char *bad;
    if (strcmp(jr_lint_path(odd->lint, odd->at), "devices") != 0)
        return false;
    if (strcmp(text, "-1") == 0) {
        jr_diag_help(odd->lint->diags, odd->diag,
                     "for every device write all; for none write none");
        return true;
    }
    if (strncmp(text, "cuda:", 5) == 0 && strspn(text + 5, "0123456789") > 0 &&
        text[5 + strspn(text + 5, "0123456789")] == '\0') {
        jr_diag_help(odd->lint->diags, odd->diag, "write its index: [%s]", text + 5);
        return true;
    }
    if (isalpha((unsigned char)text[0]) && strchr(text, ',') == NULL &&
        strncmp(text, "GPU-", 4) != 0 && strncmp(text, "MIG-", 4) != 0) {
        jr_diag_help(odd->lint->diags, odd->diag, "which ones is said by index or UUID: [0, 1]");
        return true;
    }
    if (!jr_set_parse(&set, odd->lint->arena, text, &bad) || set.all || set.count != 1)
        return false;
    if (set.ranges[0].last == 0)
        jr_diag_help(odd->lint->diags, odd->diag, "for device 0 write [0]; for none write none");
    else if (set.ranges[0].first == set.ranges[0].last)
        jr_diag_help(odd->lint->diags, odd->diag,
                     "for device %s alone: [%s]; for %s of them: local_world_size: %s", text, text,
                     text, text);
    else
        jr_lint_suggest_text(odd->lint, odd->diag, odd->type->item, odd->node,
                             &(struct jr_node_step){.up = odd->at});
    return true;
}

/* hosts: hostfile.txt, and hosts: 2 */
static bool suggest_host_file(const struct odd *odd)
{
    const char *text = odd->node->text;
    const char *dot = strrchr(text, '.');
    bool file = strchr(text, '/') != NULL || strstr(text, "hostfile") != NULL ||
                (dot != NULL && strcmp(dot, ".txt") == 0);
    bool count = jr_scalar_type(odd->node) == JR_SCALAR_INT;
    if (odd->type->item == NULL || !odd->type->item->is_address || (!file && !count))
        return false;
    if (count)
        jr_diag_help(odd->lint->diags, odd->diag,
                     "their number is nodes: %s; hosts has their names: [node1, node2]", text);
    else
        jr_diag_help(odd->lint->diags, odd->diag,
                     "no file of hosts is read: write each host: [node1, node2]");
    return true;
}

/* Lines of a list without the blank behind the dash, which are one text. */
static bool suggest_dash(const struct odd *odd)
{
    const char *text = odd->node->text;
    const struct jr_span *span = &odd->node->span;
    if (!odd->node->plain || text[0] != '-' || !isalpha((unsigned char)text[1]) ||
        span->source == NULL || span->source->option || strchr(text, ' ') == NULL)
        return false;
    size_t len = strcspn(text + 1, " ");
    jr_diag_help(odd->lint->diags, odd->diag, "a space is missing after each '-': - %.*s", (int)len,
                 text + 1);
    return true;
}

/* gpu[01-04], as Slurm has it */
static bool suggest_hosts(const struct odd *odd)
{
    JR_BUF_CLEANUP struct jr_buf list = JR_BUF_INIT;
    const char *text = odd->node->text, *open = strchr(text, '[');
    uint32_t first, last;
    char tail[2];
    if (open == NULL || odd->type->item == NULL || !odd->type->item->is_address ||
        sscanf(open, "[%9" SCNu32 "-%9" SCNu32 "%1[]]", &first, &last, tail) != 3 ||
        strchr(open, ']')[1] != '\0' || last < first || last - first > MOST)
        return false;
    int width = (int)strcspn(open + 1, "-");
    for (uint32_t i = first; i <= last; i++)
        jr_buf_printf(&list, "%s%.*s%0*" PRIu32, i == first ? "" : ", ", (int)(open - text), text,
                      width, i);
    if (!list.failed)
        jr_diag_help(odd->lint->diags, odd->diag, "write each host: [%s]", list.data);
    return true;
}

/* A command that only a shell can read. */
static bool suggest_shell(const struct odd *odd)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    bool written = odd->node->filled == NULL && odd->node->len < LONGEST &&
                   strchr(odd->node->text, '\n') == NULL;
    if (written)
        jr_quote_double(&text, odd->node->text, odd->node->len);
    jr_diag_help(odd->lint->diags, odd->diag, "for a shell command, write {shell: %s}",
                 text.len > 0 && !text.failed ? text.data : "...");
    return true;
}

/* A scalar where a list is wanted. */
static bool suggest_list(const struct odd *odd)
{
    const char *text = odd->node->text;
    enum jr_scalar_type kind = jr_scalar_type(odd->node);
    if (kind == JR_SCALAR_BOOL)
        return false;
    if (suggest_python(odd) || suggest_devices(odd) || suggest_hosts(odd) ||
        suggest_host_file(odd) || suggest_dash(odd))
        return true;
    const char *list = NULL;
    if (odd->node->len < LONGEST)
        list = jr_lint_word_list(odd->lint, text, !odd->node->plain && !has_integers(odd->type));
    if (list == NULL)
        return is_command(odd->type) && suggest_shell(odd);
    jr_diag_help(odd->lint->diags, odd->diag, "a list is written in brackets: [%s]", list);
    jr_lint_fix(odd->lint, odd->diag, odd->node, jr_arena_printf(odd->lint->arena, "[%s]", list));
    return true;
}

/* NAME=VALUE where NAME: VALUE is wanted. */
static bool suggest_pair(const struct odd *odd, const struct jr_node *item)
{
    if (item->kind != JR_NODE_SCALAR || item->filled != NULL || odd->type->kind != JR_KIND_NAMES)
        return false;
    size_t name = strcspn(item->text, "=");
    if (name == 0 || name == item->len || item->len >= LONGEST || strchr(item->text, '\n') != NULL)
        return false;
    size_t dashes = strspn(item->text, "-");
    if (dashes >= name)
        return false;
    if (item->span.source != NULL && item->span.source->option)
        jr_diag_help(odd->lint->diags, odd->diag, "write --set %s.%s",
                     jr_lint_path(odd->lint, odd->at), item->text + dashes);
    else
        jr_diag_help(odd->lint->diags, odd->diag, "write each as a name and a value: %.*s: %s",
                     (int)(name - dashes), item->text + dashes, item->text + name + 1);
    return true;
}

/* `vars: [lr, 0.1]`: names without values. */
static bool suggest_name(const struct odd *odd, const struct jr_node *item)
{
    if (item->kind != JR_NODE_SCALAR || item->filled != NULL || odd->type->kind != JR_KIND_NAMES ||
        !jr_lint_is_bare(item->text) || !isalpha((unsigned char)item->text[0]))
        return false;
    jr_diag_help(odd->lint->diags, odd->diag, "write each as a name and a value: {%s: VALUE}",
                 item->text);
    return true;
}

/* A list where a mapping is wanted. */
static bool suggest_entries(const struct odd *odd)
{
    const struct jr_node *node = odd->node;
    if (node->count == 0)
        return false;
    if (node->items[0]->kind != JR_NODE_MAPPING)
        return suggest_pair(odd, node->items[0]) || suggest_name(odd, node->items[0]);
    if (odd->type->ranks)
        return false;
    jr_diag_help(odd->lint->diags, odd->diag,
                 node->flow ? "leave out the brackets around it"
                            : "leave out the '-' before each entry");
    return true;
}

/* A script, a module or a function, by how it looks. */
static bool suggest_python_form(const struct odd *odd)
{
    const char *text = odd->node->text;
    size_t len = odd->node->len;
    if (jr_field_get(odd->type->fields, "script") == NULL || !is_bare_item(text, len))
        return false;
    const char *form = strchr(text, ':') != NULL ? "function" : "module";
    if (len > 3 && strcmp(text + len - 3, ".py") == 0)
        form = "script";
    const char *quote = odd->node->plain ? "" : "\"";
    const char *whole =
        jr_arena_printf(odd->lint->arena, "{%s%s%s: \"%s\"}", quote, form, quote, text);
    jr_diag_help(odd->lint->diags, odd->diag, "did you mean %s?", whole);
    jr_lint_fix(odd->lint, odd->diag, odd->node, whole);
    return true;
}

static bool wants_list(const struct jr_spec_type *type)
{
    if (type->kind == JR_KIND_MAP && type->shorthand != NULL)
        type = jr_field_get(type->fields, type->shorthand)->type;
    return type->kind == JR_KIND_LIST;
}

static bool suggest_other_kind(const struct odd *odd)
{
    enum jr_spec_kind kind = odd->type->kind;
    const struct jr_node *node = odd->node;
    bool scalar = node->kind == JR_NODE_SCALAR;
    if (scalar && node->len == 0)
        return false;
    if (scalar && wants_list(odd->type))
        return suggest_list(odd);
    if (scalar && kind == JR_KIND_MAP)
        return suggest_python_form(odd);
    if (scalar && kind == JR_KIND_NAMES)
        return suggest_pair(odd, node);
    if (node->kind == JR_NODE_SEQUENCE && (kind == JR_KIND_MAP || kind == JR_KIND_NAMES))
        return suggest_entries(odd);
    if (node->kind != JR_NODE_SEQUENCE || !odd->type->is_shell)
        return false;
    jr_diag_help(odd->lint->diags, odd->diag,
                 "`shell` takes one text; use `command` for a list of arguments");
    return true;
}

/* What all else fails to say: how the field looks where it is right. */
static void show_example(const struct odd *odd)
{
    const struct jr_spec_field *field = jr_field_find(jr_lint_path(odd->lint, odd->at));
    const struct jr_field_note *note = field == NULL ? NULL : jr_field_note(field);
    if (note != NULL && strchr(note->example, '\n') == NULL && strlen(note->example) < LONGEST)
        jr_diag_help(odd->lint->diags, odd->diag, "for example: %s", note->example);
}

/* What is no mapping of fields, in the place of a spec. */
static void suggest_spec(const struct odd *odd)
{
    const struct jr_node *node = odd->node;
    bool list = node->kind == JR_NODE_SEQUENCE && node->count > 0 &&
                node->items[0]->kind == JR_NODE_MAPPING;
    if (list)
        (void)suggest_entries(odd);
    else
        jr_diag_help(odd->lint->diags, odd->diag,
                     "it begins with version: 1 and an entrypoint: [./train]");
}

void jr_lint_suggest_kind(struct jr_lint *lint, struct jr_diag *diag,
                          const struct jr_spec_type *type, const struct jr_node *node,
                          const struct jr_node_step *at)
{
    const struct odd odd = {lint, diag, type, node, at};
    bool hidden = node->kind == JR_NODE_SCALAR && node->filled != NULL;
    if (at == NULL)
        suggest_spec(&odd);
    if (diag == &lint->diags->scratch || at == NULL)
        return;
    if (hidden && is_command(type))
        (void)suggest_shell(&odd);
    else if (hidden ||
             (!jr_lint_suggest_shape(lint, diag, type, node, at) && !suggest_other_kind(&odd)))
        show_example(&odd);
}
