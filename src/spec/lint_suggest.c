/*
 * What may have been meant by a value, as help for a finding, and as a fix where that is sure: a
 * word of several, a value of another kind, as people bring them from elsewhere (a command line
 * where a list stands), a text that is none of its type. internal.h has what others use of it.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/did_you_mean.h"
#include "base/names.h"
#include "base/num.h"
#include "base/utf8.h"
#include "doc/doc.h"
#include "spec/foreign.h"
#include "spec/internal.h"
#include "spec/manual.h"

#include "base/banned.h"

enum {
    LONGEST = 120,     /* text that is rewritten, and examples */
    MOST = 16,         /* hosts and devices of a range that are written out */
    LONGEST_NAME = 63, /* of a job */
    MOST_LOCAL = 1024  /* ranks of a host; a port is larger */
};

/* How many characters more than its text the source has for a scalar: 0 or the two quotes. -1 where
 * it holds something else than the text: escapes, a block. */
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

void jr_lint_fix(struct jr_lint *lint, struct jr_diag *diag, const struct jr_node *node,
                 const char *text)
{
    if (text != NULL && node->filled == NULL && !node->shared &&
        count_quotes(node) == (node->plain ? 0 : 2))
        jr_diag_fix(lint->diags, diag, node->span, text);
}

void jr_lint_fix_text(struct jr_lint *lint, struct jr_diag *diag, const struct jr_node *node,
                      const char *text)
{
    struct jr_span span = node->span;
    int quotes = count_quotes(node);
    if (node->filled != NULL || node->shared || quotes < 0)
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

const char *jr_lint_near_word(const char *text, const char *const *words, bool *ret_sure)
{
    const char *near = jr_foreign_word(text, words, ret_sure);
    if (near != NULL)
        return near;
    for (size_t i = 0; words[i] != NULL; i++)
        if (strcasecmp(words[i], text) == 0) {
            *ret_sure = true;
            return words[i];
        }
    *ret_sure = jr_did_you_mean_near(text, words);
    near = jr_did_you_mean(text, words);
    for (size_t i = 0; near == NULL && words[i] != NULL; i++) { /* cuda:0, numa_node */
        size_t len = strlen(words[i]);
        if (len > 2 && strncmp(text, words[i], len) == 0 && strchr(":_-", text[len]) != NULL)
            near = words[i];
    }
    return near;
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

/* A value on its way to its help. */
struct odd {
    struct jr_lint *lint;
    struct jr_diag *diag;
    const struct jr_spec_type *type;
    const struct jr_node *node;
    const struct jr_node_step *at;
    const char *path;
    const char *text; /* of a scalar; else "" */
};

#define HELP(odd, ...) jr_diag_help((odd)->lint->diags, (odd)->diag, __VA_ARGS__)

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

/* Offer a text, in the place of the whole one where that is certain. */
static bool offer(const struct odd *odd, const struct jr_spec_type *type, const char *text,
                  bool sure)
{
    if (text == NULL || !jr_lint_fits(odd->lint, type, text, strlen(text)))
        return false;
    HELP(odd, "did you mean %s?", text);
    if (sure)
        jr_lint_fix_text(odd->lint, odd->diag, odd->node, text);
    return true;
}

static bool is_option(const struct odd *odd)
{
    return odd->node->span.source != NULL && odd->node->span.source->option;
}

/* `devices: 2` and `devices: 0-3`; as one of a list, cuda:0 and 0-3. */
static bool suggest_devices(const struct odd *odd)
{
    static const char digits[] = "0123456789";
    JR_BUF_CLEANUP struct jr_buf list = JR_BUF_INIT;
    const char *text = odd->text, *bad, *index = text + strcspn(text, digits);
    bool item = strncmp(odd->path, "devices[", 8) == 0;
    struct jr_set set;
    if (!item && strcmp(odd->path, "devices") != 0)
        return false;
    if (index > text && index[-1] == ':' && index[strspn(index, digits)] == '\0') {
        if (item)
            return offer(odd, odd->type, index, true);
        HELP(odd, "write its index: [%s]", index);
        return true;
    }
    if (!item && (*text == '-' || isalpha((unsigned char)*text)) && strchr(text, ',') == NULL &&
        strncmp(text, "GPU-", 4) != 0 && strncmp(text, "MIG-", 4) != 0) {
        HELP(odd, strcmp(text, "-1") == 0 ? "for every device write all; for none write none"
                                          : "which ones is said by index or UUID: [0, 1]");
        return true;
    }
    if (!jr_set_parse(&set, odd->lint->arena, text, &bad) || set.all || set.count != 1)
        return false;
    const struct jr_range *range = &set.ranges[0];
    if (!item && range->last == 0) {
        HELP(odd, "for device 0 write [0]; for none write none");
        return true;
    }
    if (!item && range->first == range->last) {
        HELP(odd, "for device %s alone: [%s]; for %s of them: local_world_size: %s", text, text,
             text, text);
        return true;
    }
    if (range->last - range->first >= MOST)
        return false;
    for (uint32_t i = range->first; i <= range->last; i += range->step)
        jr_buf_printf(&list, "%s%u", list.len > 0 ? ", " : "", i);
    HELP(odd, "write each: [%s]", list.failed ? "" : list.data);
    return true;
}

/* hosts: hostfile.txt, hosts: 2, and gpu[01-04] as Slurm has it */
static bool suggest_hosts(const struct odd *odd)
{
    JR_BUF_CLEANUP struct jr_buf list = JR_BUF_INIT;
    const char *text = odd->text, *open = strchr(text, '['), *dot = strrchr(text, '.');
    uint32_t first, last;
    char tail[2];
    if (odd->type->item == NULL || !odd->type->item->is_address)
        return false;
    if (jr_scalar_type(odd->node) == JR_SCALAR_INT) {
        HELP(odd,
             "their number is " JR_SETTING("nodes", "%s") "; hosts has their names: [node1, node2]",
             text);
        return true;
    }
    if (strchr(text, '/') != NULL || strstr(text, "hostfile") != NULL ||
        (dot != NULL && strcmp(dot, ".txt") == 0)) {
        HELP(odd, "no file of hosts is read: write each host: [node1, node2]");
        return true;
    }
    if (open == NULL || sscanf(open, "[%9" SCNu32 "-%9" SCNu32 "%1[]]", &first, &last, tail) != 3 ||
        strchr(open, ']')[1] != '\0' || last < first || last - first > MOST)
        return false;
    int width = (int)strcspn(open + 1, "-");
    for (uint32_t i = first; i <= last; i++)
        jr_buf_printf(&list, "%s%.*s%0*" PRIu32, i == first ? "" : ", ", (int)(open - text), text,
                      width, i);
    if (!list.failed)
        HELP(odd, "write each host: [%s]", list.data);
    return true;
}

/* A command that only a shell can read. */
static void suggest_shell(const struct odd *odd)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (odd->node->filled == NULL && odd->node->len < LONGEST && strchr(odd->text, '\n') == NULL)
        jr_quote_double(&text, odd->text, odd->node->len);
    HELP(odd, "for a shell command, write {shell: %s}",
         text.len > 0 && !text.failed ? text.data : "...");
}

/* A scalar where a list is wanted. */
static bool suggest_list(const struct odd *odd)
{
    static const char function[] = "entrypoint.python.function";
    const struct jr_spec_type *type = odd->type, *item = type->item;
    const char *text = odd->text, *list = NULL;
    size_t len = odd->node->len;
    bool command = type->shorthand != NULL && strcmp(type->shorthand, "command") == 0;
    if (jr_scalar_type(odd->node) == JR_SCALAR_BOOL)
        return false;
    /* train.py, or pkg.train:main: what Python is to run. Whether such a file is a program too is
     * not known, so there is no fix. */
    if (command && is_bare_item(text, len) && len > 3 && strcmp(text + len - 3, ".py") == 0) {
        HELP(odd, "did you mean {python: {script: %s}}?", text);
        return true;
    }
    if (command && is_bare_item(text, len) &&
        jr_lint_fits(odd->lint, jr_field_find(function)->type, text, len)) {
        HELP(odd, "did you mean {python: {function: \"%s\"}}?", text);
        return true;
    }
    if (suggest_devices(odd) || suggest_hosts(odd))
        return true;
    if (odd->node->plain && text[0] == '-' && isalpha((unsigned char)text[1]) && !is_option(odd) &&
        strchr(text, ' ') != NULL) { /* lines of a list without the blank, which are one text */
        HELP(odd, "a space is missing after each '-': - %.*s", (int)strcspn(text + 1, " "),
             text + 1);
        return true;
    }
    bool integers = item != NULL && item->kind == JR_KIND_INTEGER;
    if (len < LONGEST)
        list = jr_lint_word_list(odd->lint, text, !odd->node->plain && !integers);
    if (list != NULL) {
        HELP(odd, "a list is written in brackets: [%s]", list);
        jr_lint_fix(odd->lint, odd->diag, odd->node,
                    jr_arena_printf(odd->lint->arena, "[%s]", list));
    } else if (command) {
        suggest_shell(odd);
    }
    return list != NULL || command;
}

/* NAME=VALUE where NAME: VALUE is wanted. */
static bool suggest_pair(const struct odd *odd, const struct jr_node *item)
{
    if (item->kind != JR_NODE_SCALAR || item->filled != NULL || odd->type->kind != JR_KIND_NAMES)
        return false;
    size_t name = strcspn(item->text, "="), dashes = strspn(item->text, "-");
    if (name <= dashes || name == item->len || item->len >= LONGEST ||
        strchr(item->text, '\n') != NULL)
        return false;
    if (is_option(odd))
        HELP(odd, "write --set %s.%s", odd->path, item->text + dashes);
    else
        HELP(odd, "write each as a name and a value: %.*s: %s", (int)(name - dashes),
             item->text + dashes, item->text + name + 1);
    return true;
}

/* A list where a mapping is wanted. */
static bool suggest_entries(const struct odd *odd)
{
    const struct jr_node *node = odd->node;
    if (node->count == 0)
        return false;
    if (node->items[0]->kind != JR_NODE_MAPPING)
        return suggest_pair(odd, node->items[0]);
    if (odd->type->ranks)
        return false;
    HELP(odd,
         node->flow ? "leave out the brackets around it" : "leave out the '-' before each entry");
    return true;
}

/* A script, a module or a function, by how it looks. */
static bool suggest_python_form(const struct odd *odd)
{
    const char *text = odd->text;
    size_t len = odd->node->len;
    if (jr_field_get(odd->type->fields, "script") == NULL || !is_bare_item(text, len))
        return false;
    const char *form = strchr(text, ':') != NULL ? "function" : "module";
    if (len > 3 && strcmp(text + len - 3, ".py") == 0)
        form = "script";
    const char *quote = odd->node->plain ? "" : "\"";
    const char *whole =
        jr_arena_printf(odd->lint->arena, "{%s%s%s: \"%s\"}", quote, form, quote, text);
    HELP(odd, "did you mean %s?", whole);
    jr_lint_fix(odd->lint, odd->diag, odd->node, whole);
    return true;
}

/* engine: local, engine: slurm */
static bool suggest_engine(const struct odd *odd)
{
    if (strcmp(odd->path, "engine") != 0)
        return false;
    if (strcmp(odd->text, "local") == 0 || strcmp(odd->text, "none") == 0)
        HELP(odd, "leave it out: ranks start on this machine");
    else if (jr_field_get(odd->type->fields, odd->text) != NULL)
        HELP(odd, "write " JR_SETTING("engine.%s", "{}"), odd->text);
    else
        return false;
    return true;
}

/* `- lr: 3`, `- --lr: 3` */
static bool suggest_item(const struct odd *odd)
{
    const struct jr_node *node = odd->node;
    bool text = odd->type->kind == JR_KIND_TEXT || odd->type->kind == JR_KIND_VALUE;
    if (odd->at->key != NULL || !text || node->kind != JR_NODE_MAPPING)
        return false;
    const struct jr_pair *pair = node->count == 1 ? &node->pairs[0] : NULL;
    if (pair != NULL && pair->value->kind == JR_NODE_SCALAR && pair->value->filled != NULL)
        return false; /* it may be a secret */
    if (pair == NULL || pair->value->kind != JR_NODE_SCALAR || node->flow)
        HELP(odd, "for a text put it into quotes");
    else if (pair->key->text[0] == '-')
        HELP(odd, "an option and its value are two items: %s, %s", pair->key->text,
             pair->value->text);
    else
        HELP(odd, "a text with ': ' in it stands in quotes: \"%s: %s\"", pair->key->text,
             pair->value->text);
    return true;
}

/* vars: {lr: [0.1, 0.2]}: a list for the program, or values to be tried. */
static bool suggest_sweep(const struct odd *odd)
{
    JR_BUF_CLEANUP struct jr_buf list = JR_BUF_INIT;
    if (strncmp(odd->path, "vars.", 5) != 0 || odd->node->kind != JR_NODE_SEQUENCE)
        return false;
    for (size_t i = 0; i < odd->node->count; i++)
        if (odd->node->items[i]->kind != JR_NODE_SCALAR || odd->node->items[i]->filled != NULL)
            return false; /* it may be a secret */
    jr_doc_emit_line(&list, odd->node);
    if (!list.failed)
        HELP(odd,
             "one value each: write the list where ${vars.%s} stands, or try "
             "each in a run of its own: sweep: {axes: {vars.%s: %s}}",
             odd->at->key, odd->at->key, list.data);
    return true;
}

/* restart: on-failure, requeue: true */
static bool suggest_count(const struct odd *odd)
{
    if (*odd->text == '\0' ||
        (strcmp(odd->path, "restart") != 0 && strcmp(odd->path, "requeue") != 0))
        return false;
    HELP(odd, "say how often: " JR_SETTING("%s", "3"), odd->path);
    return true;
}

static bool suggest_other_kind(const struct odd *odd)
{
    const struct jr_spec_type *type = odd->type, *list = type;
    const struct jr_node *node = odd->node;
    enum jr_spec_kind kind = type->kind;
    if (kind == JR_KIND_MAP && type->shorthand != NULL)
        list = jr_field_get(type->fields, type->shorthand)->type;
    if (suggest_count(odd) || suggest_engine(odd) || suggest_item(odd) || suggest_sweep(odd))
        return true;
    if (node->kind == JR_NODE_SCALAR) {
        if (node->len == 0)
            return false;
        if (list->kind == JR_KIND_LIST)
            return suggest_list(odd);
        return (kind == JR_KIND_MAP && suggest_python_form(odd)) || suggest_pair(odd, node);
    }
    if (node->kind != JR_NODE_SEQUENCE)
        return false;
    if (kind == JR_KIND_MAP || kind == JR_KIND_NAMES)
        return suggest_entries(odd);
    bool shell = type->is_shell && strcmp(odd->at->key, "shell") == 0;
    if (shell)
        HELP(odd, "`shell` takes one text; use `command` for a list of arguments");
    return shell;
}

void jr_lint_suggest_kind(struct jr_lint *lint, struct jr_diag *diag,
                          const struct jr_spec_type *type, const struct jr_node *node,
                          const struct jr_node_step *at)
{
    bool scalar = node->kind == JR_NODE_SCALAR, hidden = scalar && node->filled != NULL;
    const struct odd odd = {
        lint, diag, type, node, at, jr_lint_path(lint, at), scalar ? node->text : ""};
    if (at == NULL) {
        bool list = node->kind == JR_NODE_SEQUENCE && node->count > 0 &&
                    node->items[0]->kind == JR_NODE_MAPPING;
        if (!list || !suggest_entries(&odd))
            HELP(&odd, "it begins with version: 1 and an entrypoint: [./train]");
        return;
    }
    if (diag == &lint->diags->scratch)
        return;
    if (hidden && type->shorthand != NULL && strcmp(type->shorthand, "command") == 0) {
        suggest_shell(&odd);
        return;
    }
    if (!hidden && suggest_other_kind(&odd))
        return;
    /* what all else fails to say: how the field looks where it is right */
    const struct jr_spec_field *field = jr_field_find(odd.path);
    const struct jr_field_note *note = field == NULL ? NULL : jr_field_note(field);
    const char *colon = note == NULL ? NULL : strstr(note->example, ": ");
    if (colon != NULL && strchr(colon, '\n') == NULL && strlen(note->example) < LONGEST)
        jr_diag_help_text(lint->diags, diag,
                          jr_arena_printf(lint->arena, "for example: " JR_SETTING("%.*s", "%s"),
                                          (int)(colon - note->example), note->example, colon + 2));
}

/* One of `hosts`, with how many ranks it has (gpu01:4, gpu01 slots=4), or for whom to log in; or an
 * address with its port. */
static bool suggest_address(const struct odd *odd)
{
    const char *text = odd->text, *at = strchr(text, '@');
    size_t len = strcspn(text, ": ");
    const char *rest = text + len;
    uint32_t number = 0;
    if (!odd->type->is_address)
        return false;
    rest += strncmp(rest, " slots=", 7) == 0 ? 7 : *rest == ':' ? 1 : 0;
    bool host = strncmp(odd->path, "hosts[", 6) == 0;
    bool counted = rest > text + len && jr_num_u32(rest, &number) && len > 0 &&
                   jr_lint_fits(odd->lint, odd->type, text, len);
    if (host && at != NULL && jr_lint_fits(odd->lint, odd->type, at + 1, strlen(at + 1)))
        HELP(odd, "write %s; which user logs in belongs into ~/.ssh/config", at + 1);
    else if (counted && host && number < MOST_LOCAL)
        HELP(odd, "write %.*s; its ranks are an entry of local_world_size: [%s, ...]", (int)len,
             text, rest);
    else if (counted && text[len] == ':')
        HELP(odd, "the port is a field of its own: master_port: %s", rest);
    else
        return false;
    return true;
}

/* my job: what a name may not contain becomes one dash. */
static bool suggest_name(const struct odd *odd)
{
    char slug[LONGEST_NAME + 1];
    size_t len = 0;
    if (strcmp(odd->path, "name") != 0 || odd->node->len > LONGEST_NAME)
        return false;
    for (const char *at = odd->text; *at != '\0'; at++) {
        bool kept = isalnum((unsigned char)*at) || strchr("._-", *at) != NULL;
        if ((unsigned char)*at < ' ' || (unsigned char)*at >= 0x7f)
            return false;
        if (kept || (len > 0 && slug[len - 1] != '-'))
            slug[len++] = kept ? *at : '-';
    }
    while (len > 0 && slug[len - 1] == '-')
        len--;
    return offer(odd, odd->type, jr_arena_strndup(odd->lint->arena, slug, len), false);
}

const char *jr_lint_signal_name(struct jr_lint *lint, const char *text)
{
    uint32_t number;
    char name[JR_SIGNAL_NAME] = "";
    if (jr_num_u32(text, &number) && number > 0 && number < 32) {
        jr_signal_name(name, (int)number);
        return jr_arena_strdup(lint->arena, name + strlen("SIG"));
    }
    char *upper = jr_arena_strdup(lint->arena, text + (strncasecmp(text, "sig", 3) == 0 ? 3 : 0));
    for (char *at = upper; at != NULL && *at != '\0'; at++)
        *at = (char)toupper((unsigned char)*at);
    return upper;
}

static bool suggest_signal(const struct odd *odd)
{
    if (strcmp(odd->path, "on_hang.signal") != 0 && strcmp(odd->path, "deadline.signal") != 0)
        return false;
    const char *name = jr_lint_signal_name(odd->lint, odd->text);
    if (name == NULL || (strcmp(name, "KILL") != 0 && strcmp(name, "STOP") != 0))
        return offer(odd, odd->type, name, true);
    HELP(odd, "no program can answer %s: write %s or USR1", name,
         odd->path[0] == 'd' ? "TERM" : "ABRT");
    return true;
}

bool jr_lint_is_endless(const char *text)
{
    static const char *const words[] = {"-1",  "inf",       ".inf", "infinity", "infinite",
                                        "max", "unlimited", "none", "no",       "never"};
    size_t i = 0, count = sizeof words / sizeof *words;
    while (i < count && strcasecmp(words[i], text) != 0)
        i++;
    return i < count;
}

/* A size that is written otherwise: 64k, 5 GB, 1.5gib. A unit of thousands might be meant for one:
 * it is offered, and not made. */
static void suggest_size(const struct odd *odd)
{
    static const char letters[] = "kmgt";
    static const char *const units[] = {"", "KiB", "MiB", "GiB", "TiB"};
    char number[24] = "";
    const char *text = odd->text;
    double value;
    if (odd->node->filled != NULL)
        return;
    if (jr_lint_is_endless(text)) {
        bool unlimited = jr_lint_fits(odd->lint, odd->type, "unlimited", strlen("unlimited"));
        HELP(odd, unlimited && tolower((unsigned char)*text) == 'n'
                      ? "write unlimited for no limit, or 0 for nothing"
                  : unlimited          ? "write unlimited"
                  : odd->type->min > 0 ? "leave it out for no limit"
                                       : "there is always a limit: write a size such as 64GiB");
        return;
    }
    size_t len = strspn(text, "0123456789.");
    if (len == 0 || len >= sizeof number)
        return;
    *(char *)mempcpy(number, text, len) = '\0';
    text += len + strspn(text + len, " ");
    const char *letter = *text == '\0' ? NULL : strchr(letters, tolower((unsigned char)*text));
    size_t power = letter == NULL ? 0 : (size_t)(letter - letters) + 1;
    const char *end = text + (power > 0);
    bool exact = power == 0 || strcasecmp(end, "ib") == 0 || strcasecmp(end, "i") == 0;
    if (!jr_num_double(number, &value) || (*end != '\0' && strcasecmp(end, "b") != 0 &&
                                           strcasecmp(end, "ib") != 0 && strcasecmp(end, "i") != 0))
        return;
    /* the largest unit in which it is a whole number; or none, where a count is wanted */
    bool count = !jr_lint_fits(odd->lint, odd->type, "1KiB", 4) &&
                 !jr_lint_fits(odd->lint, odd->type, "64KiB", 5);
    for (; power > 0 && (count || (double)(uint64_t)value != value) && value < 1e12; power--)
        value *= 1024;
    if (value >= 1e15 || (double)(uint64_t)value != value)
        return;
    (void)offer(odd, odd->type,
                jr_arena_printf(odd->lint->arena, "%" PRIu64 "%s", (uint64_t)value, units[power]),
                exact && !count);
}

void jr_lint_suggest_text(struct jr_lint *lint, struct jr_diag *diag,
                          const struct jr_spec_type *type, const struct jr_node *node,
                          const struct jr_node_step *at)
{
    const struct odd odd = {lint, diag, type, node, at, jr_lint_path(lint, at), node->text};
    if (type->is_size)
        suggest_size(&odd);
    else if (node->len > 0 && node->filled == NULL)
        (void)(suggest_address(&odd) || suggest_devices(&odd) || suggest_name(&odd) ||
               suggest_signal(&odd));
}

/*
 * Marks that an editor of prose puts in the place of those of a program: “train” for "train",
 * –epochs for --epochs. YAML has no meaning for them, so they are part of the text.
 */

static bool is_quote(uint32_t point)
{
    return (point >= 0x2018 && point <= 0x201f) || point == 0xab || point == 0xbb;
}

/* Each of the marks has two or three bytes. */
static size_t quote_before(const char *text, size_t len)
{
    uint32_t point = 0;
    size_t size = len == 0 ? 0 : jr_utf8_next(text, len, &point);
    return is_quote(point) ? size : 0;
}

static size_t quote_behind(const char *text, size_t len)
{
    for (size_t size = 2; size <= 3 && size <= len; size++)
        if (quote_before(text + len - size, size) == size)
            return size;
    return 0;
}

const char *jr_lint_typed(struct jr_lint *lint, const struct jr_node *node)
{
    const char *text = node->text;
    size_t len = node->len;
    if (node->kind != JR_NODE_SCALAR || !node->plain || node->filled != NULL)
        return NULL;
    size_t before = quote_before(text, len);
    size_t behind = before == 0 ? 0 : quote_behind(text, len);
    if (behind == 0 || before + behind >= len)
        return NULL;
    const char *inner = jr_arena_strndup(lint->arena, text + before, len - before - behind);
    bool single = inner != NULL && strpbrk(inner, "\"\\") != NULL;
    if (inner == NULL || (single && strchr(inner, '\'') != NULL))
        return NULL;
    return jr_arena_printf(lint->arena, single ? "'%s'" : "\"%s\"", inner);
}

/* What stands for an option that begins with a dash of prose, or NULL. */
static const char *typed_option(struct jr_lint *lint, const struct jr_node *node,
                                const struct jr_node_step *at)
{
    enum { EN_DASH = 0x2013, EM_DASH = 0x2014 };
    uint32_t point = 0;
    if (at == NULL || at->key != NULL || node->filled != NULL || node->len == 0)
        return NULL;
    size_t size = jr_utf8_next(node->text, node->len, &point);
    const char *rest = node->text + size;
    if ((point != EN_DASH && point != EM_DASH) || !isalpha((unsigned char)*rest))
        return NULL;
    bool lone = point == EN_DASH && rest[1] == '\0';
    return jr_arena_printf(lint->arena, "%s%s", lone ? "-" : "--", rest);
}

void jr_lint_typography(struct jr_lint *lint, const struct jr_node *node,
                        const struct jr_node_step *at)
{
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
    const struct jr_node_step *top = at;
    if ((unsigned char)node->text[0] < 0x80)
        return;
    while (top != NULL && top->up != NULL)
        top = top->up;
    if (top != NULL && top->key != NULL && /* a text for people, in which such marks are meant */
        (strcmp(top->key, "description") == 0 || strcmp(top->key, "labels") == 0))
        return;
    const char *quoted = jr_lint_typed(lint, node);
    const char *option = typed_option(lint, node, at);
    if (quoted == NULL && option == NULL)
        return;
    jr_point_path(&path, at);
    struct jr_diag *diag =
        jr_diags_warning(lint->diags, JR_CODE_TYPOGRAPHIC_MARK, node->span, path.data,
                         quoted != NULL ? "typographic quotes are part of the text"
                                        : "a typographic dash does not begin an option");
    jr_diag_help(lint->diags, diag, "write %s", quoted != NULL ? quoted : option);
}
