/* The table of the rules of internal.h, and the rule that holds engine.slurm to the options of
 * sbatch: known by their names, and with values of their form, since what sbatch makes of a wrong
 * one is found out when the job is submitted, or never. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/did_you_mean.h"
#include "base/num.h"
#include "base/regex.h"
#include "spec/internal.h"
#include "spec/sbatch_options.h"

#include "base/banned.h"

/* An option that is no option: a misspelt one is an error. Plugins of a cluster add options of
 * their own, so another one is a warning. */
static void report_unknown_option(const struct jr_check *check, const struct jr_node *key)
{
    /* more edits than these make another word: container-env, of a plugin, is no misspelt
     * container-id */
    enum { MOST_SLIPS = 2 };
    struct jr_diags *diags = check->lint->diags;
    const char *const *names = jr_sbatch_names();
    const char *meant = jr_sbatch_meant(key->text), *said = jr_lint_said(check->lint, key);
    const char *near = meant != NULL ? NULL : jr_did_you_mean(key->text, names);
    struct jr_diag *diag;
    if (near != NULL && jr_edit_distance(key->text, near, MOST_SLIPS) <= MOST_SLIPS) {
        diag = jr_check_clash(check, JR_CODE_UNKNOWN_SBATCH_OPTION, key, NULL,
                              "sbatch has no option '%s'", said);
        jr_diag_help(diags, diag, "did you mean '%s'?", near);
        if (jr_did_you_mean_near(key->text, names))
            jr_lint_fix_text(check->lint, diag, key, near);
        return;
    }
    const struct jr_node_step engine = {.key = "engine"}, slurm = {.up = &engine, .key = "slurm"};
    const struct jr_node_step step = {.up = &slurm, .key = key->text};
    diag = jr_diags_warning(diags, JR_CODE_UNKNOWN_SBATCH_OPTION, key->span,
                            jr_lint_path(check->lint, &step), "'%s' is no option of sbatch itself",
                            said);
    const char *instead = meant == NULL ? NULL : jr_sbatch_decided(meant);
    if (instead != NULL)
        jr_diag_help(diags, diag, "%s", instead);
    else if (meant != NULL)
        jr_diag_help(diags, diag,
                     "did you mean '%s'? '%s' is right only where a plugin of the cluster adds it",
                     meant, said);
    else
        jr_diag_help(diags, diag, "this is right only where a plugin of the cluster adds it");
}

static bool fits_form(const struct jr_check *check, const char *pattern, const char *text)
{
    struct jr_regex *regex = NULL;
    struct jr_match match;
    size_t bad;
    bool fits = false;
    /* Without memory, which is reported in the end; no such pattern takes many steps. */
    bool limited = jr_regex_new(&regex, pattern, &bad, NULL) != 0;
    if (!limited)
        fits = jr_regex_find(regex, text, strlen(text), 0, &match, &limited);
    check->lint->arena->failed |= limited;
    jr_regex_free(regex);
    return fits || limited;
}

/* What sbatch calls a time or a size that people write in another way; or NULL. */
static const char *near_sbatch_value(struct jr_arena *arena, enum jr_sbatch_form form,
                                     const char *text)
{
    uint64_t ms;
    if (form == JR_SBATCH_TIME && (jr_num_duration(text, &ms) || jr_lint_read_words(text, &ms)) &&
        ms >= 1000) {
        uint64_t seconds = ms / 1000, days = seconds / 86400;
        const char *before = days > 0 ? jr_arena_printf(arena, "%" PRIu64 "-", days) : "";
        return before == NULL
                   ? NULL
                   : jr_arena_printf(arena, "%s%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, before,
                                     seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    }
    size_t digits = strspn(text, "0123456789");
    const char *unit = text + digits + strspn(text + digits, " ");
    size_t rest = *unit == '\0' ? 0 : 1 + strspn(unit + 1, "iIbB");
    if (form == JR_SBATCH_MEMORY && digits > 0 && *unit != '\0' &&
        strchr("KMGTkmgt", *unit) != NULL &&
        (unit[rest] == '\0' || strncasecmp(unit + 1, "igabyte", 7) == 0 ||
         strncasecmp(unit + 1, "egabyte", 7) == 0))
        return jr_arena_printf(arena, "%.*s%c", (int)digits, text, toupper((unsigned char)*unit));
    return NULL;
}

static void check_engine(const struct jr_check *check)
{
#define FORM(name, form)              JR_SBATCH_##form,
#define WANTED(name, wants, pattern)  wants,
#define PATTERN(name, wants, pattern) "^(" pattern ")$",
    static const enum jr_sbatch_form forms[] = {JR_SBATCH_OPTIONS(FORM)};
    static const char *const wanted[] = {JR_SBATCH_FORMS(WANTED)};
    static const char *const patterns[] = {JR_SBATCH_FORMS(PATTERN)};
    struct jr_lint *lint = check->lint;
    const char *const *names = jr_sbatch_names();
    const struct jr_node *options = jr_doc_find(check->tree, "engine.slurm");
    for (size_t i = 0, option; options != NULL && i < options->count; i++) {
        const struct jr_node *key = options->pairs[i].key, *value = options->pairs[i].value;
        for (option = 0; names[option] != NULL && strcmp(names[option], key->text) != 0;)
            option++;
        if (names[option] == NULL) {
            report_unknown_option(check, key);
            continue;
        }
        enum jr_sbatch_form form = forms[option];
        if ((value->filled != NULL && value->filled->unknown) ||
            fits_form(check, patterns[form], value->text))
            continue;
        struct jr_diag *diag = jr_check_clash(
            check, JR_CODE_WRONG_SBATCH_VALUE, value, NULL, "'--%s' of sbatch wants %s, not %s",
            names[option], wanted[form],
            jr_lint_quoted(lint, jr_lint_source(value), strlen(jr_lint_source(value))));
        const struct jr_node *raw = jr_doc_get(jr_check_raw(check, "engine.slurm"), key->text);
        const char *near = raw == NULL || raw->filled != NULL
                               ? NULL
                               : near_sbatch_value(lint->arena, form, raw->text);
        if (near == NULL)
            continue;
        jr_diag_help(lint->diags, diag, "did you mean \"%s\"?", near);
        jr_lint_fix(lint, diag, raw, jr_arena_printf(lint->arena, "\"%s\"", near));
    }
}

void jr_check_spec(struct jr_lint *lint, const struct jr_node *root, const struct jr_node *tree)
{
    static jr_check_rule *const rules[] = {
        jr_check_forms,   jr_check_calls,    jr_check_start,        jr_check_sizes,
        jr_check_places,  jr_check_devices,  jr_check_env,          jr_check_ranks,
        jr_check_source,  jr_check_fields,   jr_check_comparisons,  jr_check_capture,
        jr_check_shared,  jr_check_progress, jr_check_restart,      jr_check_deadline,
        jr_check_requeue, jr_check_silence,  jr_check_secrets,      jr_check_vars,
        check_engine,     jr_check_command,  jr_check_shell_syntax, jr_check_patterns,
        jr_check_code,    jr_check_spares,
    };
    const struct jr_check check = {
        .lint = lint, .root = root, .tree = tree, .secrets = jr_check_secret_globs(lint, tree)};
    for (size_t i = 0; !lint->arena->failed && i < sizeof rules / sizeof *rules; i++)
        rules[i](&check);
}
