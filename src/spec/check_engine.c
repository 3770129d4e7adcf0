/*
 * Options that are handed to sbatch: known by their names, and held to the form
 * of their values, since what sbatch makes of a wrong one is found out when the
 * job is submitted, or never. The header of this file is check.h.
 */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/did_you_mean.h"
#include "base/num.h"
#include "base/regex.h"
#include "spec/check.h"
#include "spec/sbatch_options.h"

#include "base/banned.h"

/* More edits than these make another word: container-env, of a plugin, is no
 * misspelt container-id. */
enum { MOST_SLIPS = 2 };

/* X(form, what it wants, pattern of a whole value) */
#define FORMS(X)                                                               \
    X(FLAG, "true or false: it has no value", "true|false")                    \
    X(TEXT, "a value", "(?!(true|false)$).+")                                  \
    X(EITHER, "a value, or true or false", ".+")                               \
    X(COUNT, "an integer of at least 1", "[1-9][0-9]*")                        \
    X(TIME, "minutes, HOURS:MINUTES:SECONDS or DAYS-HOURS:MINUTES:SECONDS",    \
      "([0-9]+-)?[0-9]+(:[0-9]+){0,2}|(?i:infinite|unlimited)|-1")             \
    X(MEMORY, "a number in MB, or with K, M, G or T",                          \
      "[0-9]+([KkMmGgTt][Bb]?)?")                                              \
    X(GPUS, "a number, or TYPE:NUMBER", GPU "(," GPU ")*")                     \
    X(SIGNAL, "a signal such as USR1@60 or B:TERM@120",                        \
      "([RB]{1,2}:)?[A-Za-z0-9+]+(@[0-9]+)?")
#define GPU "([A-Za-z0-9_.-]+:)?[0-9]+"

#define FORM_ENUM(name, wants, pattern) FORM_##name,
enum form { FORMS(FORM_ENUM) FORM_COUNT_OF };

static const char *const wanted[] = {
#define WANTED(name, wants, pattern) wants,
    FORMS(WANTED)};
static const char *const patterns[] = {
#define PATTERN(name, wants, pattern) "^(" pattern ")$",
    FORMS(PATTERN)};

static const char *const names[] = {
#define NAME(name, form) name,
    JR_SBATCH_OPTIONS(NAME) NULL};
static const enum form forms[] = {
#define FORM(name, form) FORM_##form,
    JR_SBATCH_OPTIONS(FORM)};

/* The number of an option, or that of the NULL at the end. */
static size_t find_option(const char *name)
{
    size_t i = 0;
    while (names[i] != NULL && strcmp(names[i], name) != 0)
        i++;
    return i;
}

bool jr_sbatch_has_option(const char *name)
{
    return names[find_option(name)] != NULL;
}

/* An option that is no option: a misspelt one is an error. Plugins of a cluster
 * add options of their own, so another one is a warning. */
static void report_unknown_option(const struct jr_check *check,
                                  const struct jr_node *key)
{
    struct jr_diags *diags = check->lint->diags;
    const char *near = jr_did_you_mean(key->text, names);
    if (near != NULL &&
        jr_edit_distance(key->text, near, MOST_SLIPS) <= MOST_SLIPS) {
        struct jr_diag *diag = jr_check_clash(
            check, JR_CODE_UNKNOWN_SBATCH_OPTION, key, NULL,
            "sbatch has no option '%s'", jr_lint_said(check->lint, key));
        jr_diag_help(diags, diag, "did you mean '%s'?", near);
        if (jr_did_you_mean_near(key->text, names))
            jr_lint_fix_text(check->lint, diag, key, near);
        return;
    }
    const struct jr_node_step engine = {.key = "engine"};
    const struct jr_node_step slurm = {.up = &engine, .key = "slurm"};
    const struct jr_node_step step = {.up = &slurm, .key = key->text};
    struct jr_diag *diag = jr_diags_warning(
        diags, JR_CODE_UNKNOWN_SBATCH_OPTION, key->span,
        jr_lint_path(check->lint, &step), "'%s' is no option of sbatch itself",
        jr_lint_said(check->lint, key));
    jr_diag_help(diags, diag,
                 "this is right only where a plugin of the cluster adds it");
}

static bool fits_form(const struct jr_check *check, enum form form,
                      const char *text)
{
    struct jr_regex *regex = NULL;
    struct jr_match match;
    size_t bad;
    bool limited, fits = true;
    if (jr_regex_new(&regex, patterns[form], &bad, NULL) != 0)
        check->lint->arena->failed = true;
    else
        fits = jr_regex_find(regex, text, strlen(text), 0, &match, &limited);
    jr_regex_free(regex);
    return fits;
}

/* 1h30m as 1:30:00. */
static const char *time_for_sbatch(struct jr_arena *arena, const char *text)
{
    uint64_t ms;
    if (!jr_num_duration(text, &ms) || ms < 1000)
        return NULL;
    uint64_t seconds = ms / 1000;
    uint64_t days = seconds / 86400, hours = seconds / 3600 % 24;
    const char *before =
        days > 0 ? jr_arena_printf(arena, "%" PRIu64 "-", days) : "";
    return before == NULL ? NULL
                          : jr_arena_printf(
                                arena, "%s%" PRIu64 ":%02" PRIu64 ":%02" PRIu64,
                                before, hours, seconds / 60 % 60, seconds % 60);
}

/* 64GiB, 64Gi and "64 GB" as 64G. */
static const char *memory_for_sbatch(struct jr_arena *arena, const char *text)
{
    size_t digits = strspn(text, "0123456789");
    const char *unit = text + digits + strspn(text + digits, " ");
    size_t rest = *unit == '\0' ? 0 : strspn(unit + 1, "iIbB");
    if (digits == 0 || strchr("KMGTkmgt", *unit) == NULL || *unit == '\0' ||
        unit[1 + rest] != '\0')
        return NULL;
    return jr_arena_printf(arena, "%.*s%c", (int)digits, text,
                           toupper((unsigned char)*unit));
}

/* Offer what sbatch calls the same time or size. */
static void offer_value(const struct jr_check *check, struct jr_diag *diag,
                        const struct jr_pair *pair, enum form form)
{
    struct jr_lint *lint = check->lint;
    const struct jr_node *raw = jr_check_raw(check, "engine.slurm");
    const char *near = NULL;
    raw = raw == NULL ? NULL : jr_doc_get(raw, pair->key->text);
    if (raw == NULL || raw->filled != NULL)
        return;
    if (form == FORM_TIME)
        near = time_for_sbatch(lint->arena, raw->text);
    else if (form == FORM_MEMORY)
        near = memory_for_sbatch(lint->arena, raw->text);
    if (near == NULL)
        return;
    jr_diag_help(lint->diags, diag, "did you mean \"%s\"?", near);
    jr_lint_fix(lint, diag, raw, jr_arena_printf(lint->arena, "\"%s\"", near));
}

static void check_option(const struct jr_check *check,
                         const struct jr_pair *pair)
{
    struct jr_lint *lint = check->lint;
    const struct jr_node *value = pair->value;
    size_t option = find_option(pair->key->text);
    if (names[option] == NULL) {
        report_unknown_option(check, pair->key);
        return;
    }
    enum form form = forms[option];
    bool unknown = value->filled != NULL && value->filled->unknown;
    if (unknown || fits_form(check, form, value->text))
        return;
    struct jr_diag *diag = jr_check_clash(
        check, JR_CODE_WRONG_SBATCH_VALUE, value, NULL,
        "'--%s' of sbatch wants %s, not %s", names[option], wanted[form],
        jr_lint_quoted(lint, jr_lint_source(value),
                       strlen(jr_lint_source(value))));
    offer_value(check, diag, pair, form);
}

void jr_check_engine(const struct jr_check *check)
{
    const struct jr_node *options = jr_doc_find(check->tree, "engine.slurm");
    for (size_t i = 0; options != NULL && i < options->count; i++)
        check_option(check, &options->pairs[i]);
}
