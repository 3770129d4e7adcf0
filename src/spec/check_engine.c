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
#include "spec/lint_suggest.h"
#include "spec/sbatch_options.h"

#include "base/banned.h"

/* More edits than these make another word: container-env, of a plugin, is no
 * misspelt container-id. */
enum { MOST_SLIPS = 2 };

static const char *const wanted[] = {
#define WANTED(name, wants, pattern) wants,
    JR_SBATCH_FORMS(WANTED)};
static const char *const patterns[] = {
#define PATTERN(name, wants, pattern) "^(" pattern ")$",
    JR_SBATCH_FORMS(PATTERN)};

static const char *const names[] = {
#define NAME(name, form) name,
    JR_SBATCH_OPTIONS(NAME) NULL};
static const enum jr_sbatch_form forms[] = {
#define FORM(name, form) JR_SBATCH_##form,
    JR_SBATCH_OPTIONS(FORM)};

/* The number of an option, or that of the NULL at the end. */
static size_t find_option(const char *name)
{
    size_t i = 0;
    while (names[i] != NULL && strcmp(names[i], name) != 0)
        i++;
    return i;
}

const char *const *jr_sbatch_names(void)
{
    return names;
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
    const char *meant = jr_sbatch_meant(key->text);
    const char *near = meant != NULL ? NULL : jr_did_you_mean(key->text, names);
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
    const char *instead = meant == NULL ? NULL : jr_sbatch_decided(meant);
    if (instead != NULL)
        jr_diag_help(diags, diag, "%s", instead);
    else if (meant != NULL)
        jr_diag_help(diags, diag,
                     "did you mean '%s'? '%s' is right only where a plugin of "
                     "the cluster adds it",
                     meant, jr_lint_said(check->lint, key));
    else
        jr_diag_help(diags, diag,
                     "this is right only where a plugin of the cluster adds "
                     "it");
}

static bool fits_form(const struct jr_check *check, enum jr_sbatch_form form,
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

/* Offer what sbatch calls the same time or size. */
static void offer_value(const struct jr_check *check, struct jr_diag *diag,
                        const struct jr_pair *pair, enum jr_sbatch_form form)
{
    struct jr_lint *lint = check->lint;
    const struct jr_node *raw = jr_check_raw(check, "engine.slurm");
    raw = raw == NULL ? NULL : jr_doc_get(raw, pair->key->text);
    if (raw == NULL || raw->filled != NULL)
        return;
    const char *near = jr_sbatch_near_value(lint->arena, form, raw->text);
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
    enum jr_sbatch_form form = forms[option];
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
