/* The readers of scalars. internal.h has the whole. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jobrun/contract.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/names.h"
#include "base/num.h"
#include "base/regex.h"
#include "base/restart_trigger.h"
#include "doc/interpolate.h"
#include "spec/entry_arguments.h"
#include "spec/internal.h"
#include "spec/template_text.h"

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

/* The name in Python that a path was written for: pkg/train.py is pkg.train. */
static void suggest_python_name(struct jr_lint *lint, struct jr_diag *diag,
                                const struct jr_spec_type *type, const struct jr_node *node)
{
    char *text = jr_arena_strdup(lint->arena, node->text + 2 * !strncmp(node->text, "./", 2));
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
        else
            jr_lint_suggest_text(lint, diag, type, node, at);
        return NULL;
    }
    if (type->is_template && !jr_read_template(lint, node, at))
        return NULL;
    return jr_lint_scalar(lint, node, node->text, false);
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

struct jr_node *jr_read_path(struct jr_lint *lint, const struct jr_spec_type *type,
                             const struct jr_node *node, const struct jr_node_step *at)
{
    bool none = jr_scalar_type(node) == JR_SCALAR_NULL;
    size_t plain = 0;
    while ((unsigned char)node->text[plain] >= ' ')
        plain++;
    if (node->text[plain] != '\0') {
        (void)jr_lint_wrong(lint, type, node, at);
        return NULL;
    }
    if (none || node->len == 0 || node->text[0] == '~') {
        struct jr_diag *diag = jr_lint_wrong(lint, type, node, at);
        const char *written = jr_lint_source(node);
        const char *home =
            jr_arena_printf(lint->arena, "${env:HOME}%s", written[0] == '\0' ? "" : written + 1);
        if (node->text[0] == '~' && (node->text[1] == '/' || node->text[1] == '\0') && home != NULL)
            jr_diag_help(lint->diags, diag, "only a shell expands ~: write %s",
                         jr_lint_replaced(lint, node, 0, strlen(written), home));
        else if (!none && node->len > 0)
            jr_diag_help(lint->diags, diag, "only a shell expands ~: write the path of the folder");
        return NULL;
    }
    if ((type->is_profile && jr_profile_is_shorthand(node->text)) ||
        (type->is_program && strchr(node->text, '/') == NULL))
        return jr_lint_scalar(lint, node, node->text, false);
    if (type->is_template && !jr_read_template(lint, node, at))
        return NULL;
    if (type->is_template &&
        (strncmp(node->text, "%{run_dir}", 10) == 0 || strncmp(node->text, "%{rank_dir}", 11) == 0))
        return jr_lint_scalar(lint, node, node->text, false);
    const struct jr_source *source = node->span.source; /* the file that states it */
    const char *folder = source != NULL && source->folder != NULL ? source->folder : lint->folder;
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

struct jr_node *jr_read_word(struct jr_lint *lint, const struct jr_spec_type *type,
                             const struct jr_node *node, const struct jr_node_step *at)
{
    const struct jr_spec_word *row = type->words;
    while (row->word != NULL && strcmp(row->word, node->text) != 0)
        row++;
    bool bare =
        type->custom && (strcmp(node->text, "custom") == 0 || strcmp(node->text, "custom:") == 0);
    if ((row->word != NULL && !bare) || is_custom_value(type, node->text))
        return jr_lint_scalar(lint, node, node->text, false);
    struct jr_diag *diag = jr_lint_wrong(lint, type, node, at);
    if (bare)
        jr_diag_help(lint->diags, diag, "custom wants a name: custom:NAME");
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

static bool is_in_range(const struct jr_spec_type *type, const char *text)
{
    uint64_t value;
    return jr_num_u64(text, &value) && value >= type->min && value <= type->max;
}

/* The whole number that +4, 1_000, 4.0 or 1e2 is. */
static bool read_loosely(const char *text, uint64_t *ret)
{
    char digits[32];
    size_t len = 0;
    double real;
    for (text += *text == '+'; *text != '\0' && len < sizeof digits - 1; text++)
        if (*text != '_')
            digits[len++] = *text;
    digits[len] = '\0';
    if (jr_num_u64(digits, ret))
        return true;
    if (!jr_num_double(digits, &real) || real < 0 || real > 1e15 || (double)(uint64_t)real != real)
        return false;
    *ret = (uint64_t)real;
    return true;
}

/* Whether a text is nothing but digits, so that it can only be too large. */
static bool is_all_digits(const char *text)
{
    return *text != '\0' && *text != '0' && text[strspn(text, "0123456789")] == '\0';
}

/* A version of the language that this jobrun does not read. */
static bool suggest_version(struct jr_lint *lint, struct jr_diag *diag,
                            const struct jr_spec_type *type, const struct jr_node *node)
{
    uint64_t value;
    if (type->min != type->max || is_in_range(type, node->text))
        return false;
    if (is_all_digits(node->text) && (!jr_num_u64(node->text, &value) || value > type->max))
        jr_diag_help(lint->diags, diag,
                     "version %s needs a newer jobrun: this one reads version: %u", node->text,
                     type->max);
    else if (node->plain && read_loosely(node->text, &value) && value == type->max)
        return false;
    else
        jr_diag_help(lint->diags, diag, "write " JR_SETTING("version", "%u"), type->max);
    return true;
}

/* -1, all, gpu: jobrun is to choose; 1:4 and 2-8, as elastic launchers have it; $WORLD_SIZE. */
static bool suggest_habit(struct jr_lint *lint, struct jr_diag *diag, const char *text,
                          const struct jr_node_step *at)
{
    static const char *const words[] = {"-1", "0", "all", "any", "gpu", "cpu", "default", "none"};
    static const char name_bytes[] =
        "abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    const char *path = jr_lint_path(lint, at), *number = text;
    const struct jr_spec_field *field = jr_field_find(path);
    uint64_t least, most;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (field != NULL && field->need == JR_NEED_RESOLVED && strcasecmp(words[i], text) == 0) {
            jr_diag_help(lint->diags, diag, "leave it out, or write auto, and jobrun fills it in");
            return true;
        }
    bool dollar = *text == '$' && text[1] != '\0';
    if (dollar && text[1 + strspn(text + 1, name_bytes)] == '\0')
        jr_diag_help(lint->diags, diag, "no shell reads it: write ${env:%s}", text + 1);
    else if ((strcmp(path, "nodes") == 0 || strcmp(path, "world_size") == 0 ||
              strcmp(path, "local_world_size") == 0) &&
             *number >= '1' && *number <= '9' && jr_num_digits(&number, &least) &&
             (*number == ':' || *number == '-') && jr_num_u64(number + 1, &most))
        jr_diag_help(lint->diags, diag,
                     "a job has one size: %s: %s; `restart` and `spare_nodes` replace what fails",
                     path, number + 1);
    else
        return false;
    return true;
}

struct jr_node *jr_read_integer(struct jr_lint *lint, const struct jr_spec_type *type,
                                const struct jr_node *node, const struct jr_node_step *at)
{
    uint64_t value;
    const char *text = node->text;
    bool good = is_in_range(type, text);
    if (node->plain && good)
        return jr_lint_scalar(lint, node, text, true);
    struct jr_diag *diag = jr_lint_wrong(lint, type, node, at);
    if (good)
        jr_lint_unquote(lint, diag, node);
    if (good || suggest_version(lint, diag, type, node))
        return NULL;
    bool whole = node->plain && read_loosely(text, &value);
    if (type->min < type->max && node->plain &&
        (is_all_digits(text) || (whole && value > type->max)))
        jr_diag_help(lint->diags, diag, "this is too large: at most %u", type->max);
    else if (!suggest_habit(lint, diag, text, at) && whole && value >= type->min &&
             !jr_num_u64(text, &value)) {
        jr_diag_help(lint->diags, diag, "did you mean %" PRIu64 "?", value);
        jr_lint_fix(lint, diag, node, jr_arena_printf(lint->arena, "%" PRIu64, value));
    }
    return NULL;
}

struct jr_node *jr_read_number(struct jr_lint *lint, const struct jr_spec_type *type,
                               const struct jr_node *node, const struct jr_node_step *at)
{
    double value;
    bool number = jr_num_double(node->text, &value);
    if (node->plain && number)
        return jr_lint_scalar(lint, node, node->text, true);
    struct jr_diag *diag = jr_lint_wrong(lint, type, node, at);
    if (number)
        jr_lint_unquote(lint, diag, node);
    return NULL;
}

struct jr_node *jr_read_boolean(struct jr_lint *lint, const struct jr_spec_type *type,
                                const struct jr_node *node, const struct jr_node_step *at)
{
    static const char *const old[][2] = {/* of older YAML */
                                         {"yes", "true"},  {"no", "false"}, {"on", "true"},
                                         {"off", "false"}, {"1", "true"},   {"0", "false"}};
    bool yes = strcasecmp(node->text, "true") == 0;
    if (jr_scalar_type(node) == JR_SCALAR_BOOL)
        return jr_lint_scalar(lint, node, yes ? "true" : "false", true);
    struct jr_diag *diag = jr_lint_wrong(lint, type, node, at);
    if (yes || strcasecmp(node->text, "false") == 0)
        jr_lint_unquote(lint, diag, node);
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        if (strcasecmp(old[i][0], node->text) == 0) {
            jr_diag_help(lint->diags, diag, "did you mean %s?", old[i][1]);
            jr_lint_fix(lint, diag, node, old[i][1]);
        }
    return NULL;
}

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR };

/* The milliseconds of a unit by any of its names, or 0. */
static uint32_t unit_ms(const char *name, size_t len)
{
    static const struct {
        const char *names;
        uint32_t ms;
    } units[] = {
        {" ms msec msecs millisecond milliseconds ", 1},
        {" s sec secs second seconds ", SECOND},
        {" m min mins minute minutes ", MINUTE},
        {" h hr hrs hour hours ", HOUR},
        {" d day days ", DAY},
        {" w week weeks ", 7 * DAY},
    };
    char word[18] = " ";
    if (len == 0 || len > sizeof word - 3)
        return 0;
    for (size_t i = 0; i < len; i++)
        word[i + 1] = (char)tolower((unsigned char)name[i]);
    word[len + 1] = ' ';
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strstr(units[i].names, word) != NULL)
            return units[i].ms;
    return 0;
}

/* 10min, 1.5h, 1 hour 30 minutes, 30m1h */
bool jr_lint_read_words(const char *text, uint64_t *ret_ms)
{
    double total = 0, value;
    do {
        char number[24] = "";
        text += strspn(text, " ");
        size_t len = strspn(text, "0123456789.");
        if (len == 0 || len >= sizeof number)
            return false;
        *(char *)mempcpy(number, text, len) = '\0';
        text += len + strspn(text + len, " ");
        for (len = 0; isalpha((unsigned char)text[len]);)
            len++;
        uint32_t unit = unit_ms(text, len);
        if (!jr_num_double(number, &value) || unit == 0)
            return false;
        total += value * unit;
        if (total > 1e15)
            return false;
        text += len + strspn(text + len, " ,");
    } while (*text != '\0');
    *ret_ms = (uint64_t)(total + 0.5);
    double rest = total - (double)*ret_ms;
    return rest < 1e-6 && rest > -1e-6;
}

static const char *duration_text(struct jr_lint *lint, uint64_t ms)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_num_add_duration(&text, ms);
    return jr_buf_keep(&text, lint->arena);
}

/* A time as Slurm and clocks have it: [DAYS-]HOURS:MINUTES[:SECONDS]. Of two numbers without days,
 * *ret_short is the time if they are minutes and seconds; else 0. */
static bool read_clock(const char *text, uint64_t *ret_ms, uint64_t *ret_short)
{
    uint64_t day = 0, parts[3] = {0};
    size_t count = 0;
    bool days = strchr(text, '-') != NULL;
    for (bool first = days; count < 3; first = false) {
        size_t len = strspn(text, "0123456789");
        uint64_t value = 0;
        if (len == 0 || len > 6)
            return false;
        for (const char *end = text + len; text < end; text++)
            value = value * 10 + (uint64_t)(*text - '0');
        if (first)
            day = value;
        else
            parts[count++] = value;
        if (*text == '\0')
            break;
        if (*text++ != (first ? '-' : ':'))
            return false;
    }
    if (*text != '\0' || count == 0 || (!days && count == 1))
        return false;
    *ret_ms = day * DAY + parts[0] * HOUR + parts[1] * MINUTE + parts[2] * SECOND;
    *ret_short = days || count == 3 ? 0 : parts[0] * MINUTE + parts[1] * SECOND;
    return true;
}

static void suggest_duration(struct jr_lint *lint, struct jr_diag *diag, const struct jr_node *node,
                             const struct jr_node_step *at)
{
    const char *text = node->text, *path = jr_lint_path(lint, at), *meant = NULL;
    uint64_t ms, other = 0;
    double bare;
    bool timeout = strncmp(path, "timeouts.", 9) == 0 && strcmp(path, "timeouts.stop_grace") != 0;
    if (jr_lint_is_endless(text))
        jr_diag_help(lint->diags, diag,
                     timeout || strcmp(path, "restart.window") == 0
                         ? "write 0 for no limit"
                         : "there is always a limit: write a long time, such as 30d");
    else if (jr_num_u64(text, &ms))
        jr_diag_help(lint->diags, diag, "it needs a unit: %ss, or %sm for minutes, %sh for hours",
                     text, text, text);
    else if (jr_num_double(text, &bare) && bare >= 0)
        jr_diag_help(lint->diags, diag, "write whole numbers, each with its unit");
    else if (jr_lint_read_words(text, &ms) || read_clock(text, &ms, &other))
        meant = duration_text(lint, ms);
    else if (isdigit((unsigned char)*text))
        jr_diag_help(lint->diags, diag, "write whole numbers, each with d, h, m, s or ms");
    if (meant != NULL && other > 0) {
        jr_diag_help(lint->diags, diag, "did you mean %s, or %s?", duration_text(lint, other),
                     meant);
    } else if (meant != NULL) {
        jr_diag_help(lint->diags, diag, "did you mean %s?", meant);
        jr_lint_fix_text(lint, diag, node, meant);
    }
}

struct jr_node *jr_read_duration(struct jr_lint *lint, const struct jr_spec_type *type,
                                 const struct jr_node *node, const struct jr_node_step *at)
{
    uint64_t ms;
    if (jr_num_duration(node->text, &ms))
        return jr_lint_scalar(lint, node, duration_text(lint, ms), false);
    suggest_duration(lint, jr_lint_wrong(lint, type, node, at), node, at);
    return NULL;
}

/* Causes of a restart. */

const char *jr_lint_signal_cause(struct jr_lint *lint, int signal)
{
    char name[JR_SIGNAL_NAME];
    jr_signal_name(name, signal);
    return jr_arena_printf(lint->arena, "signal:%s%s", name,
                           signal == SIGKILL ? ", or oom where memory ran out" : "");
}

/* 137, which a shell says of a program that SIGKILL ended, or -9 as Python has it. */
static bool suggest_signal(struct jr_lint *lint, struct jr_diag *diag, const char *text)
{
    int64_t code;
    if (!jr_num_i64(text, &code))
        return false;
    int64_t signal = code < 0 ? -code : code - JR_SHELL_SIGNAL_BASE;
    if (signal < 1 || signal > JR_SHELL_SIGNAL_LAST)
        return false;
    const char *cause = jr_lint_signal_cause(lint, (int)signal);
    if (code < 0)
        jr_diag_help(lint->diags, diag, "a rank that dies by signal %s matches %s", text + 1,
                     cause);
    else
        jr_diag_help(lint->diags, diag,
                     "a rank that is killed matches %s; exit:%s is a code that "
                     "a shell in between, or the program, exits with",
                     cause, text);
    return true;
}

/* A text that begins with none of the words: one of them misspelt, or the argument of one. */
static void suggest_word(struct jr_lint *lint, struct jr_diag *diag,
                         const struct jr_spec_type *type, const struct jr_node *node)
{
    static const char *const heads[] = {"exit:", "signal:"};
    static const char *const any[] = {"all",  "any", "always", "error", "failure", "fail",
                                      "true", "*",   "failed", "crash", "errors",  "on-failure"};
    const char *const *words = jr_did_you_mean_list(lint, type->words);
    struct jr_restart_trigger trigger;
    struct jr_restart_trigger_fault fault;
    size_t len = strcspn(node->text, ":");
    const char *word = jr_arena_strndup(lint->arena, node->text, len);
    bool sure;
    if (word == NULL || node->filled != NULL)
        return;
    for (size_t i = 0; i < sizeof any / sizeof *any; i++) {
        if (strcasecmp(any[i], node->text) != 0)
            continue;
        jr_diag_help(lint->diags, diag, "leave `on` out, and any failure leads to a restart");
        return;
    }
    if (suggest_signal(lint, diag, node->text))
        return;
    const char *near = jr_lint_near_word(word, words, &sure);
    if (near != NULL && node->text[len] == '\0')
        jr_lint_suggest(lint, diag, node, words);
    else if (near != NULL)
        jr_diag_help(lint->diags, diag, "did you mean '%s:...'?", near);
    for (size_t i = 0; near == NULL && i < sizeof heads / sizeof *heads; i++) {
        const char *text = jr_arena_printf(lint->arena, "%s%s", heads[i], node->text);
        if (text != NULL && jr_restart_trigger_parse(&trigger, lint->arena, text, &fault))
            jr_diag_help(lint->diags, diag, "did you mean '%s'?", text);
    }
}

struct jr_node *jr_read_trigger(struct jr_lint *lint, const struct jr_spec_type *type,
                                const struct jr_node *node, const struct jr_node_step *at)
{
    struct jr_restart_trigger trigger;
    struct jr_restart_trigger_fault fault = {0};
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    if (jr_restart_trigger_parse(&trigger, lint->arena, node->text, &fault)) {
        jr_restart_trigger_print(&text, &trigger);
        const char *normal = jr_buf_keep(&text, lint->arena);
        return normal == NULL ? NULL : jr_lint_scalar(lint, node, normal, false);
    }
    if (fault.regex) {
        (void)jr_lint_error(
            lint, JR_CODE_WRONG_REGEX, jr_lint_part(lint, node, fault.from, fault.to), at,
            "'%s' is not a regular expression: %s", jr_lint_path(lint, at), fault.text);
        return NULL;
    }
    struct jr_diag *diag = jr_lint_wrong(lint, type, node, at);
    if (fault.word) {
        suggest_word(lint, diag, type, node);
        return NULL;
    }
    if (fault.to > fault.from)
        diag->span = jr_lint_part(lint, node, fault.from, fault.to);
    jr_diag_help(lint->diags, diag, "%s", fault.text);
    return NULL;
}

/* Values of JSON, as a function takes them. */

static struct jr_node *read_json_number(struct jr_lint *lint, const struct jr_node *node,
                                        const struct jr_node_step *at)
{
    static const struct jr_spec_type value = {.wants = "a value of JSON"};
    errno = 0;
    json_t *json = jr_call_json(node);
    if (json == NULL && errno == ENOMEM) {
        lint->arena->failed = true;
        return NULL;
    }
    if (json == NULL) {
        struct jr_diag *diag = jr_lint_wrong(lint, &value, node, at);
        bool whole = jr_scalar_type(node) == JR_SCALAR_INT;
        jr_diag_help(lint->diags, diag,
                     whole ? "it is beyond 64 bits: pass it in quotes, as a string"
                           : "JSON has no infinity and no NaN: pass it in quotes, as a string");
        return NULL;
    }
    json_decref(json);
    return jr_lint_scalar(lint, node, node->text, true);
}

static struct jr_node *read_json_scalar(struct jr_lint *lint, const struct jr_spec_type *type,
                                        const struct jr_node *node, const struct jr_node_step *at)
{
    enum jr_scalar_type is = jr_scalar_type(node);
    if (is == JR_SCALAR_INT || is == JR_SCALAR_FLOAT)
        return read_json_number(lint, node, at);
    if (is == JR_SCALAR_NULL)
        return jr_lint_scalar(lint, node, "null", true);
    if (is == JR_SCALAR_BOOL)
        return jr_read_boolean(lint, type, node, at);
    if (!jr_read_template(lint, node, at))
        return NULL;
    return jr_lint_scalar(lint, node, node->text, node->plain);
}

static struct jr_node *read_collection(struct jr_lint *lint, const struct jr_spec_type *type,
                                       const struct jr_node *node, const struct jr_node_step *up)
{
    bool list = node->kind == JR_NODE_SEQUENCE;
    struct jr_node *out = list ? jr_node_sequence(lint->arena) : jr_node_mapping(lint->arena);
    if (out == NULL)
        return NULL;
    out->span = node->span;
    for (size_t i = 0; i < node->count; i++) {
        const struct jr_node_step at = {
            .up = up,
            .key = list ? NULL : node->pairs[i].key->text,
            .index = i,
        };
        struct jr_node *value =
            jr_lint_value(lint, type, list ? node->items[i] : node->pairs[i].value, &at);
        if (list)
            jr_node_append(lint->arena, out, value);
        else
            jr_node_add(lint->arena, out, node->pairs[i].key, value);
    }
    return out->count == node->count ? out : NULL;
}

struct jr_node *jr_read_value(struct jr_lint *lint, const struct jr_spec_type *type,
                              const struct jr_node *node, const struct jr_node_step *at)
{
    bool scalar = node->kind == JR_NODE_SCALAR;
    if (type->item == NULL || lint->call)
        return scalar ? read_json_scalar(lint, type, node, at)
                      : read_collection(lint, type, node, at);
    if (scalar)
        return jr_lint_reader(type->item->kind)(lint, type->item, node, at);
    jr_diag_help(lint->diags, jr_lint_wrong(lint, type->item, node, at),
                 "only a Python function takes other values than strings");
    return NULL;
}
