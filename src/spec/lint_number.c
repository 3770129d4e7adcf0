#include "spec/lint_number.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "spec/lint_finding.h"
#include "spec/lint_suggest.h"
#include "spec/lint_text.h"

#include "base/banned.h"

/* The number that all of a text is, in octal or hexadecimal. */
static bool read_based(const char *text, bool hex, uint64_t *ret)
{
    const char *digits = hex ? "0123456789abcdefABCDEF" : "01234567";
    size_t len = strspn(text, digits);
    errno = 0;
    *ret = strtoull(text, NULL, hex ? 16 : 8);
    return len > 0 && text[len] == '\0' && errno == 0;
}

static bool is_number_in_range(const struct jr_spec_type *type, uint64_t value)
{
    return value >= type->min && value <= type->max;
}

static bool is_in_range(const struct jr_spec_type *type, const char *text)
{
    uint64_t value;
    return jr_num_u64(text, &value) && is_number_in_range(type, value);
}

static void say_too_large(struct jr_lint *lint, struct jr_diag *diag,
                          const struct jr_spec_type *type)
{
    jr_diag_help(lint->diags, diag, "this is too large: at most %u", type->max);
}

/* Offer a number that a value may be meant for, or say that it is too large: a
 * suggestion has to be one that can be taken. Returns whether it was offered.
 */
static bool offer_number(struct jr_lint *lint, struct jr_diag *diag,
                         const struct jr_spec_type *type, uint64_t value)
{
    bool good = is_number_in_range(type, value);
    if (good)
        jr_diag_help(lint->diags, diag, "did you mean %" PRIu64 "?", value);
    else if (value > type->max && type->min < type->max)
        say_too_large(lint, diag, type);
    else if (value < type->min)
        jr_diag_help(lint->diags, diag, "this is too small: at least %u", type->min);
    return good;
}

/* 010, 0x10 and 0o10: readers of YAML disagree. */
static bool suggest_based(struct jr_lint *lint, struct jr_diag *diag,
                          const struct jr_spec_type *type, const char *text)
{
    size_t zeros = strspn(text, "0");
    uint64_t decimal, based;
    if (zeros == 0)
        return false;
    if (jr_num_u64(text + zeros, &decimal)) {
        if (read_based(text, false, &based) && is_number_in_range(type, based) &&
            is_number_in_range(type, decimal))
            jr_diag_help(lint->diags, diag, "did you mean %" PRIu64 ", or octal %" PRIu64 "?",
                         decimal, based);
        else
            (void)offer_number(lint, diag, type, decimal);
        return true;
    }
    bool octal = text[1] == 'o', hex = text[1] == 'x';
    if (!octal && !hex)
        return false;
    if (read_based(text + 2, hex, &based))
        (void)offer_number(lint, diag, type, based);
    return true;
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

/* 8 GPUs */
static bool suggest_counted(struct jr_lint *lint, struct jr_diag *diag,
                            const struct jr_spec_type *type, const char *text)
{
    uint64_t value;
    const char *at = text;
    if (*at < '1' || *at > '9' || !jr_num_digits(&at, &value) || *at != ' ')
        return false;
    at += strspn(at, " ");
    if (!isalpha((unsigned char)*at) || isspace((unsigned char)at[1]) ||
        strpbrk(at, " /#*") != NULL || strlen(at) < 3)
        return false;
    (void)offer_number(lint, diag, type, value);
    return true;
}

static void suggest_number(struct jr_lint *lint, struct jr_diag *diag,
                           const struct jr_spec_type *type, const struct jr_node *node)
{
    uint64_t whole;
    if (suggest_based(lint, diag, type, node->text) ||
        suggest_counted(lint, diag, type, node->text) || !read_loosely(node->text, &whole))
        return;
    const char *plain = jr_arena_printf(lint->arena, "%" PRIu64, whole);
    if (plain == NULL || strcmp(plain, node->text) == 0)
        return;
    if (offer_number(lint, diag, type, whole))
        jr_lint_fix(lint, diag, node, plain);
}

/* Whether a text is nothing but digits, so that it can only be too large. */
static bool is_all_digits(const char *text)
{
    return *text != '\0' && *text != '0' && text[strspn(text, "0123456789")] == '\0';
}

/* Whether a value says that jobrun is to choose: -1, all, gpu. */
static bool is_left_to_jobrun(const struct jr_node_step *at, const char *text)
{
    static const char *const words[] = {"-1",      "all",     "any",    "gpu", "max",
                                        "cpu",     "default", "gpus",   "0",   "cpus",
                                        "devices", "none",    "random", "free"};
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
    jr_point_path(&path, at);
    const struct jr_spec_field *field =
        path.failed || path.data == NULL ? NULL : jr_field_find(path.data);
    size_t i = 0, count = sizeof words / sizeof *words;
    while (i < count && strcasecmp(words[i], text) != 0)
        i++;
    return i < count && field != NULL && field->need == JR_NEED_RESOLVED;
}

/* A version of the language that this jobrun does not read. */
static bool suggest_version(struct jr_lint *lint, struct jr_diag *diag,
                            const struct jr_spec_type *type, const struct jr_node *node)
{
    uint64_t value;
    const char *text = node->text + (*node->text == 'v');
    if (type->min != type->max || is_in_range(type, node->text))
        return false;
    if (is_all_digits(text) && (!jr_num_u64(text, &value) || value > type->max))
        jr_diag_help(lint->diags, diag,
                     "version %s needs a newer jobrun: this one reads version: %u", text,
                     type->max);
    else if (node->plain && text == node->text && read_loosely(text, &value) && value == type->max)
        return false;
    else
        jr_diag_help(lint->diags, diag, "write version: %u", type->max);
    return true;
}

/* 4; or 4, or 4#x: a number with something behind it. */
static bool suggest_bare_number(struct jr_lint *lint, struct jr_diag *diag,
                                const struct jr_spec_type *type, const struct jr_node *node)
{
    size_t len = strspn(node->text, "0123456789");
    const char *rest = node->text + len;
    const char *number = jr_arena_strndup(lint->arena, node->text, len);
    bool comment = *rest == '#';
    if (number == NULL || !node->plain || !is_in_range(type, number) ||
        (!comment && strcmp(rest, ";") != 0 && strcmp(rest, ",") != 0))
        return false;
    const char *meant = comment ? jr_arena_printf(lint->arena, "%s %s", number, rest) : number;
    if (comment)
        jr_diag_help(lint->diags, diag, "a comment begins after a space: %s", meant);
    else
        jr_diag_help(lint->diags, diag, "leave out the '%s': %s", rest, number);
    jr_lint_fix(lint, diag, node, meant);
    return true;
}

/* Whether the path begins with one of the words. */
static bool is_below(const char *path, const char *first, const char *second)
{
    return strncmp(path, first, strlen(first)) == 0 || strncmp(path, second, strlen(second)) == 0;
}

/* 2 x 4 ranks, or $WORLD_SIZE. */
static bool suggest_count(struct jr_lint *lint, struct jr_diag *diag,
                          const struct jr_spec_type *type, const char *text)
{
    static const char name_bytes[] =
        "abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    uint64_t a, b;
    if (*text == '$' && text[1] != '\0' && text[1 + strspn(text + 1, name_bytes)] == '\0') {
        jr_diag_help(lint->diags, diag, "no shell reads it: write ${env:%s}", text + 1);
        return true;
    }
    const char *at = text;
    if (*at < '1' || *at > '9' || !jr_num_digits(&at, &a))
        return false;
    at += strspn(at, " ");
    if (*at == '\0' || strchr("xX*", *at) == NULL)
        return false;
    at += 1 + strspn(at + 1, " ");
    if (*at < '1' || *at > '9' || !jr_num_digits(&at, &b) || *at != '\0' || a > UINT32_MAX ||
        b > UINT32_MAX)
        return false;
    (void)offer_number(lint, diag, type, a * b);
    return true;
}

/* 1:4 or 2-8, as elastic launchers have it */
static bool suggest_fixed(struct jr_lint *lint, struct jr_diag *diag, const struct jr_node_step *at,
                          const char *text)
{
    static const char *const fields[] = {"nodes", "world_size", "local_world_size"};
    const char *path = jr_lint_path(lint, at), *number = text;
    uint64_t least, most;
    size_t i = 0, count = sizeof fields / sizeof *fields;
    while (i < count && strcmp(fields[i], path) != 0)
        i++;
    if (i == count || *number < '1' || *number > '9' || !jr_num_digits(&number, &least) ||
        strchr(":-", *number) == NULL || *number == '\0' || !jr_num_u64(number + 1, &most))
        return false;
    jr_diag_help(lint->diags, diag,
                 "a job has one size: %s: %s; `restart` and `spare_nodes` replace what fails", path,
                 number + 1);
    return true;
}

static void help_with_integer(struct jr_lint *lint, struct jr_diag *diag,
                              const struct jr_spec_type *type, const struct jr_node *node,
                              const struct jr_node_step *at)
{
    uint64_t value;
    bool whole = jr_num_u64(node->text, &value);
    if (is_in_range(type, node->text))
        jr_lint_unquote(lint, diag, node);
    else if (suggest_version(lint, diag, type, node))
        return;
    else if (type->min < type->max && node->plain &&
             (whole ? value > type->max : is_all_digits(node->text)))
        say_too_large(lint, diag, type);
    else if (is_left_to_jobrun(at, node->text))
        jr_diag_help(lint->diags, diag, "leave it out, or write auto, and jobrun fills it in");
    else if (jr_lint_is_endless(node->text) &&
             is_below(jr_lint_path(lint, at), "restart", "requeue"))
        jr_diag_help(lint->diags, diag, "write a large number, such as 1000000");
    else if (suggest_count(lint, diag, type, node->text) ||
             suggest_fixed(lint, diag, at, node->text))
        return;
    else if (!suggest_bare_number(lint, diag, type, node) && node->plain)
        suggest_number(lint, diag, type, node);
}

struct jr_node *jr_read_integer(struct jr_lint *lint, const struct jr_spec_type *type,
                                const struct jr_node *node, const struct jr_node_step *at)
{
    if (node->plain && is_in_range(type, node->text))
        return jr_lint_scalar(lint, node, node->text, true);
    help_with_integer(lint, jr_lint_wrong(lint, type, node, at), type, node, at);
    return NULL;
}

/* "0.9" of 90%, >=0.9 and 0,9; NULL where it is none of them. */
static const char *meant_number(struct jr_lint *lint, const char *text)
{
    double value;
    size_t len = strlen(text), mark = strspn(text, "<>= ");
    char *copy = jr_arena_strdup(lint->arena, text + mark);
    if (copy == NULL || (mark == len))
        return NULL;
    char *comma = strchr(copy, ',');
    if (comma != NULL)
        *comma = '.';
    len = strlen(copy);
    bool percent = len > 1 && copy[len - 1] == '%';
    if (percent)
        copy[len - 1] = '\0';
    if (!jr_num_double(copy, &value))
        return NULL;
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    jr_num_add_double(&out, percent ? value / 100 : value);
    return jr_buf_keep(&out, lint->arena);
}

struct jr_node *jr_read_number(struct jr_lint *lint, const struct jr_spec_type *type,
                               const struct jr_node *node, const struct jr_node_step *at)
{
    double value;
    bool number = jr_num_double(node->text, &value);
    if (node->plain && number)
        return jr_lint_scalar(lint, node, node->text, true);
    struct jr_diag *diag = jr_lint_wrong(lint, type, node, at);
    const char *meant = number ? NULL : meant_number(lint, node->text);
    if (number)
        jr_lint_unquote(lint, diag, node);
    else if (meant != NULL && strcmp(meant, node->text) != 0)
        jr_diag_help(lint->diags, diag, "did you mean %s?", meant);
    return NULL;
}

/* The boolean of older YAML that a word is, or NULL. */
static const char *old_boolean(const char *word)
{
    static const char *const words[][2] = {
        {"yes", "true"},    {"no", "false"},     {"on", "true"},       {"off", "false"},
        {"y", "true"},      {"n", "false"},      {"1", "true"},        {"0", "false"},
        {"enable", "true"}, {"enabled", "true"}, {"disable", "false"}, {"disabled", "false"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(words[i][0], word) == 0)
            return words[i][1];
    return NULL;
}

struct jr_node *jr_read_boolean(struct jr_lint *lint, const struct jr_spec_type *type,
                                const struct jr_node *node, const struct jr_node_step *at)
{
    bool yes = strcasecmp(node->text, "true") == 0;
    bool no = strcasecmp(node->text, "false") == 0;
    if (jr_scalar_type(node) == JR_SCALAR_BOOL)
        return jr_lint_scalar(lint, node, yes ? "true" : "false", true);
    struct jr_diag *diag = jr_lint_wrong(lint, type, node, at);
    const char *old = old_boolean(node->text);
    if (yes || no)
        jr_lint_unquote(lint, diag, node);
    else if (old != NULL) {
        jr_diag_help(lint->diags, diag, "did you mean %s?", old);
        jr_lint_fix(lint, diag, node, old);
    }
    return NULL;
}
