#include "spec/lint_duration.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/did_you_mean.h"
#include "base/num.h"
#include "spec/lint_finding.h"
#include "spec/lint_suggest.h"
#include "spec/lint_text.h"

#include "base/banned.h"

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE };
enum { DAY = 24 * HOUR, WEEK = 7 * DAY };

/* More is taken for no time at all. */
static const double MOST_MS = 1e15;

struct unit {
    const char *name;
    uint32_t ms;
};

static const struct unit units[] = {
    {"ms", 1},           {"msec", 1},     {"msecs", 1},    {"millis", 1},    {"millisecond", 1},
    {"milliseconds", 1}, {"s", SECOND},   {"sec", SECOND}, {"secs", SECOND}, {"second", SECOND},
    {"seconds", SECOND}, {"m", MINUTE},   {"min", MINUTE}, {"mins", MINUTE}, {"minute", MINUTE},
    {"minutes", MINUTE}, {"h", HOUR},     {"hr", HOUR},    {"hrs", HOUR},    {"hour", HOUR},
    {"hours", HOUR},     {"d", DAY},      {"day", DAY},    {"days", DAY},    {"w", WEEK},
    {"week", WEEK},      {"weeks", WEEK},
};

enum { UNITS = sizeof units / sizeof *units };

/* The unit that a word of at least three letters is nearly, or NULL. */
static const struct unit *near_unit(const char *word)
{
    const char *names[UNITS + 1] = {NULL};
    for (size_t i = 0; i < UNITS; i++)
        names[i] = units[i].name;
    const char *near = strlen(word) < 3 ? NULL : jr_did_you_mean(word, names);
    for (size_t i = 0; near != NULL && i < UNITS; i++)
        if (names[i] == near)
            return &units[i];
    return NULL;
}

/* The milliseconds of a unit by any of its names, or 0; of one that is nearly so, *ret_near is
 * set. */
static uint32_t duration_unit(const char *name, size_t len, bool *ret_near)
{
    char word[16] = "";
    if (len == 0 || len >= sizeof word)
        return 0;
    for (size_t i = 0; i < len; i++)
        word[i] = (char)tolower((unsigned char)name[i]);
    for (size_t i = 0; i < UNITS; i++)
        if (strcmp(units[i].name, word) == 0)
            return units[i].ms;
    const struct unit *near = near_unit(word);
    *ret_near = near != NULL;
    return near == NULL ? 0 : near->ms;
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

/* 10min, 1.5h, 1 hour 30 minutes, 30m1h; and with *ret_near 5 minuts */
static bool read_words(const char *text, uint64_t *ret_ms, bool *ret_near)
{
    double total = 0, number;
    do {
        if (!take_number(&text, &number))
            return false;
        size_t len = 0;
        while (isalpha((unsigned char)text[len]))
            len++;
        bool near = false;
        uint32_t unit = duration_unit(text, len, &near);
        *ret_near |= near;
        total += number * unit;
        if (unit == 0 || total > MOST_MS)
            return false;
        text += len + strspn(text + len, " ,");
    } while (*text != '\0');
    *ret_ms = (uint64_t)(total + 0.5);
    double rest = total - (double)*ret_ms;
    return rest < 1e-6 && rest > -1e-6;
}

bool jr_lint_read_words(const char *text, uint64_t *ret_ms)
{
    bool near = false;
    return read_words(text, ret_ms, &near) && !near;
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
static const char *clock_as_duration(struct jr_lint *lint, const struct clock *clock, uint64_t unit)
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

static void offer_duration(struct jr_lint *lint, struct jr_diag *diag, const struct jr_node *node,
                           const char *text)
{
    if (text == NULL)
        return;
    jr_diag_help(lint->diags, diag, "did you mean %s?", text);
    jr_lint_fix_text(lint, diag, node, text);
}

/* ISO 8601, as PT1H30M or P2D: the same without its letters. */
static bool read_iso(struct jr_lint *lint, const char *text, uint64_t *ret_ms)
{
    bool near = false;
    if (*text != 'P' && *text != 'p')
        return false;
    char *words = jr_arena_strdup(lint->arena, text + 1);
    char *time = words == NULL ? NULL : strpbrk(words, "Tt");
    if (time == NULL && (words == NULL || strpbrk(words, "Mm") != NULL))
        return false; /* months */
    if (time != NULL)
        *time = ' ';
    return read_words(words, ret_ms, &near) && !near;
}

/* 1h30: the last number has no unit; the unit that follows is meant. */
static const char *with_last_unit(struct jr_lint *lint, const char *text)
{
    static const char units_down[] = "dhms";
    size_t len = strlen(text), digits = len;
    uint64_t ms;
    while (digits > 0 && isdigit((unsigned char)text[digits - 1]))
        digits--;
    if (digits == len || digits == 0)
        return NULL;
    const char *last = strchr(units_down, text[digits - 1]);
    if (last == NULL || last[1] == '\0')
        return NULL;
    const char *whole = jr_arena_printf(lint->arena, "%s%c", text, last[1]);
    return whole != NULL && jr_num_duration(whole, &ms) ? whole : NULL;
}

/* -1 and inf: 0 is no limit where the field has it so. Elsewhere there is one,
 * or the time is no limit at all. */
static void help_with_endless(struct jr_lint *lint, struct jr_diag *diag,
                              const struct jr_node *node, const struct jr_node_step *at)
{
    static const char *const none[] = {
        "timeouts.start",    "timeouts.run",        "timeouts.silence", "timeouts.after_first_exit",
        "timeouts.progress", "timeouts.first_step", "timeouts.exit",    "restart.window"};
    const char *path = jr_lint_path(lint, at);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (strcmp(path, none[i]) == 0) {
            jr_diag_help(lint->diags, diag, "write 0 for no limit");
            return;
        }
    if (strcmp(path, "deadline.before") == 0)
        jr_diag_help(lint->diags, diag,
                     "it is how long before the end the ranks are warned: "
                     "write a time such as 60s");
    else if (strcmp(path, "restart.backoff") == 0)
        jr_diag_help(lint->diags, diag,
                     "it is the wait before a restart: write 0 for none, or a time such as 10s");
    else if (node->text[0] == '-' || strcasecmp(node->text, "none") == 0 ||
             strcasecmp(node->text, "no") == 0)
        jr_diag_help(lint->diags, diag, "write 0 for no time at all, or a long one, such as 30d");
    else
        jr_diag_help(lint->diags, diag, "there is always a limit: write a long time, such as 30d");
}

/* A time without a unit. */
static bool suggest_unit(struct jr_lint *lint, struct jr_diag *diag, const char *text)
{
    uint64_t ms;
    double bare;
    const char *whole = with_last_unit(lint, text);
    if (jr_num_u64(text, &ms))
        jr_diag_help(lint->diags, diag, "it needs a unit: %ss, or %sm for minutes, %sh for hours",
                     text, text, text);
    else if (jr_num_double(text, &bare) && bare >= 0)
        jr_diag_help(lint->diags, diag, "write whole numbers, each with its unit");
    else if (whole != NULL)
        jr_diag_help(lint->diags, diag, "each number needs its unit: %s", whole);
    else
        return false;
    return true;
}

static bool suggest_clock(struct jr_lint *lint, struct jr_diag *diag, const struct jr_node *node)
{
    struct clock clock;
    if (!read_duration_clock(node->text, &clock))
        return false;
    if (clock.days || clock.count == 3)
        offer_duration(lint, diag, node, clock_as_duration(lint, &clock, HOUR));
    else
        jr_diag_help(lint->diags, diag, "did you mean %s, or %s?",
                     clock_as_duration(lint, &clock, MINUTE),
                     clock_as_duration(lint, &clock, HOUR));
    return true;
}

/* What there is, for a number with a unit that is none, or a sign. */
static void help_with_units(struct jr_lint *lint, struct jr_diag *diag, const char *text)
{
    uint64_t ms;
    if (*text == '-' && jr_num_duration(text + 1, &ms))
        jr_diag_help(lint->diags, diag, "no time is negative: %s", text + 1);
    else if (isdigit((unsigned char)*text) && strpbrk(text, "abcdefghijklmnopqrstuvwxyz") != NULL)
        jr_diag_help(lint->diags, diag, "write whole numbers, each with d, h, m, s or ms");
}

static void suggest_duration(struct jr_lint *lint, struct jr_diag *diag, const struct jr_node *node,
                             const struct jr_node_step *at)
{
    uint64_t ms;
    bool near = false;
    if (jr_lint_is_endless(node->text)) {
        help_with_endless(lint, diag, node, at);
        return;
    }
    if (suggest_unit(lint, diag, node->text))
        return;
    bool words = read_words(node->text, &ms, &near);
    if (words && !near)
        offer_duration(lint, diag, node, words_as_duration(lint, ms));
    else if (words || read_iso(lint, node->text, &ms))
        jr_diag_help(lint->diags, diag, "did you mean %s?", words_as_duration(lint, ms));
    else if (!suggest_clock(lint, diag, node))
        help_with_units(lint, diag, node->text);
}

struct jr_node *jr_read_duration(struct jr_lint *lint, const struct jr_spec_type *type,
                                 const struct jr_node *node, const struct jr_node_step *at)
{
    uint64_t ms;
    if (!jr_num_duration(node->text, &ms)) {
        suggest_duration(lint, jr_lint_wrong(lint, type, node, at), node, at);
        return NULL;
    }
    return jr_lint_scalar(lint, node, words_as_duration(lint, ms), false);
}
