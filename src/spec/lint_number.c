/* Readers of lint.h for numbers, booleans and durations. */
#include "spec/lint.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

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
        jr_diag_help(lint->diags, diag, "at most %u", type->max);
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
        if (read_based(text, false, &based) &&
            is_number_in_range(type, based) &&
            is_number_in_range(type, decimal))
            jr_diag_help(lint->diags, diag,
                         "did you mean %" PRIu64 ", or octal %" PRIu64 "?",
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
    if (!jr_num_double(digits, &real) || real < 0 || real > 1e15 ||
        (double)(uint64_t)real != real)
        return false;
    *ret = (uint64_t)real;
    return true;
}

static void suggest_number(struct jr_lint *lint, struct jr_diag *diag,
                           const struct jr_spec_type *type,
                           const struct jr_node *node)
{
    uint64_t whole;
    if (suggest_based(lint, diag, type, node->text) ||
        !read_loosely(node->text, &whole))
        return;
    const char *plain = jr_arena_printf(lint->arena, "%" PRIu64, whole);
    if (plain == NULL || strcmp(plain, node->text) == 0)
        return;
    if (offer_number(lint, diag, type, whole))
        jr_lint_fix(lint, diag, node, plain);
}

struct jr_node *jr_read_integer(struct jr_lint *lint,
                                const struct jr_spec_type *type,
                                const struct jr_node *node,
                                const struct jr_node_step *at)
{
    uint64_t value;
    if (node->plain && is_in_range(type, node->text))
        return jr_lint_scalar(lint, node, node->text, true);
    struct jr_diag *diag = jr_lint_wrong(lint, type, node, at);
    if (is_in_range(type, node->text))
        jr_lint_unquote(lint, diag, node);
    else if (jr_num_u64(node->text, &value) && value > type->max &&
             type->min < type->max)
        jr_diag_help(lint->diags, diag, "at most %u", type->max);
    else if (node->plain)
        suggest_number(lint, diag, type, node);
    return NULL;
}

struct jr_node *jr_read_number(struct jr_lint *lint,
                               const struct jr_spec_type *type,
                               const struct jr_node *node,
                               const struct jr_node_step *at)
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

/* The boolean of older YAML that a word is, or NULL. */
static const char *old_boolean(const char *word)
{
    static const char *const words[][2] = {
        {"yes", "true"}, {"no", "false"}, {"on", "true"}, {"off", "false"},
        {"y", "true"},   {"n", "false"},  {"1", "true"},  {"0", "false"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(words[i][0], word) == 0)
            return words[i][1];
    return NULL;
}

struct jr_node *jr_read_boolean(struct jr_lint *lint,
                                const struct jr_spec_type *type,
                                const struct jr_node *node,
                                const struct jr_node_step *at)
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

/* Durations: 500ms, 30s, 1h30m. What people write elsewhere is understood well
 * enough to say how it is written here. */

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE };
enum { DAY = 24 * HOUR, WEEK = 7 * DAY };

/* More is taken for no time at all. */
static const double MOST_MS = 1e15;

/* The milliseconds of a unit by any of its names, or 0. */
static uint32_t duration_unit(const char *name, size_t len)
{
    static const struct {
        const char *names;
        uint32_t ms;
    } units[] = {
        {" ms msec msecs millis millisecond milliseconds ", 1},
        {" s sec secs second seconds ", SECOND},
        {" m min mins minute minutes ", MINUTE},
        {" h hr hrs hour hours ", HOUR},
        {" d day days ", DAY},
        {" w week weeks ", WEEK},
    };
    char word[16] = " ";
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

/* Read the number at *text, and move *text past it and the blanks around it. */
static bool take_number(const char **text, double *ret)
{
    char number[24] = "";
    const char *at = *text + strspn(*text, " ");
    size_t len = strspn(at, "0123456789.");
    if (len == 0 || len >= sizeof number)
        return false;
    *(char *)mempcpy(number, at, len) = '\0';
    *text = at + len + strspn(at + len, " ");
    return jr_num_double(number, ret);
}

/* 10min, 1.5h, 1 hour 30 minutes, 30m1h */
static bool read_words(const char *text, uint64_t *ret_ms)
{
    double total = 0, number;
    do {
        if (!take_number(&text, &number))
            return false;
        size_t len = 0;
        while (isalpha((unsigned char)text[len]))
            len++;
        uint32_t unit = duration_unit(text, len);
        total += number * unit;
        if (unit == 0 || total > MOST_MS)
            return false;
        text += len + strspn(text + len, " ,");
    } while (*text != '\0');
    *ret_ms = (uint64_t)(total + 0.5);
    double rest = total - (double)*ret_ms;
    return rest < 1e-6 && rest > -1e-6;
}

/* A time as Slurm and clocks have it: [DAYS-]A[:B[:C]]. */
struct clock {
    bool days;
    uint64_t day, parts[3];
    unsigned count;
};

/* Up to six digits, which may begin with zeros. */
static bool take_digits(const char **text, uint64_t *ret)
{
    size_t len = strspn(*text, "0123456789");
    *ret = 0;
    for (const char *end = *text + len; *text < end; (*text)++)
        *ret = *ret * 10 + (uint64_t)(**text - '0');
    return len > 0 && len < 7;
}

static bool read_duration_clock(const char *text, struct clock *ret)
{
    *ret = (struct clock){0};
    if (strchr(text, '-') != NULL) {
        ret->days = take_digits(&text, &ret->day) && *text == '-';
        if (!ret->days)
            return false;
        text++;
    }
    do {
        if (ret->count == 3 || !take_digits(&text, &ret->parts[ret->count]))
            return false;
        ret->count++;
    } while (*text == ':' && *++text != '\0');
    return *text == '\0' && (ret->days || ret->count > 1);
}

/* The time, if its first part counts units of so many milliseconds. */
static const char *clock_as_duration(struct jr_lint *lint,
                                     const struct clock *clock, uint64_t unit)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    uint64_t ms = clock->day * DAY;
    for (unsigned i = 0; i < clock->count; i++, unit /= 60)
        ms += clock->parts[i] * unit;
    jr_num_add_duration(&text, ms);
    return jr_buf_keep(&text, lint->arena);
}

static const char *words_as_duration(struct jr_lint *lint, uint64_t ms)
{
    const struct clock clock = {.parts = {ms}, .count = 1};
    return clock_as_duration(lint, &clock, 1);
}

static void offer_duration(struct jr_lint *lint, struct jr_diag *diag,
                           const struct jr_node *node, const char *text)
{
    if (text == NULL)
        return;
    jr_diag_help(lint->diags, diag, "did you mean %s?", text);
    jr_lint_fix_text(lint, diag, node, text);
}

static bool is_endless(const char *text)
{
    static const char *const words[] = {"none",      "never",    "inf",
                                        "infinite",  "infinity", "forever",
                                        "unlimited", "-1"};
    size_t i = 0, count = sizeof words / sizeof *words;
    while (i < count && strcasecmp(words[i], text) != 0)
        i++;
    return i < count;
}

static void suggest_duration(struct jr_lint *lint, struct jr_diag *diag,
                             const struct jr_node *node)
{
    struct clock clock;
    uint64_t ms;
    double bare;
    if (jr_num_u64(node->text, &ms))
        jr_diag_help(lint->diags, diag,
                     "it needs a unit: %ss, or %sm for minutes, %sh for hours",
                     node->text, node->text, node->text);
    else if (jr_num_double(node->text, &bare) && bare >= 0)
        jr_diag_help(lint->diags, diag,
                     "write whole numbers, each with its unit");
    else if (is_endless(node->text))
        jr_diag_help(lint->diags, diag, "leave it out for no limit");
    else if (read_words(node->text, &ms))
        offer_duration(lint, diag, node, words_as_duration(lint, ms));
    else if (!read_duration_clock(node->text, &clock))
        return;
    else if (clock.days || clock.count == 3)
        offer_duration(lint, diag, node, clock_as_duration(lint, &clock, HOUR));
    else
        jr_diag_help(lint->diags, diag, "did you mean %s, or %s?",
                     clock_as_duration(lint, &clock, MINUTE),
                     clock_as_duration(lint, &clock, HOUR));
}

struct jr_node *jr_read_duration(struct jr_lint *lint,
                                 const struct jr_spec_type *type,
                                 const struct jr_node *node,
                                 const struct jr_node_step *at)
{
    uint64_t ms;
    if (!jr_num_duration(node->text, &ms)) {
        suggest_duration(lint, jr_lint_wrong(lint, type, node, at), node);
        return NULL;
    }
    return jr_lint_scalar(lint, node, words_as_duration(lint, ms), false);
}
