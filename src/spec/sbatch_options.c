/*
 * First keys and values of engine.slurm as people know them from elsewhere:
 * with dashes, by their letter, as PBS and LSF call them; `2 hours`, `a100x4`.
 * Then the rule that holds a spec to the options.
 */
#include "spec/sbatch_options.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/did_you_mean.h"
#include "base/num.h"
#include "base/regex.h"
#include "spec/foreign_names.h"
#include "spec/internal.h"

#include "base/banned.h"

/* The letters of sbatch(1). */
static const char *const letters[] = {
    "A account",      "B extra-node-info",
    "C constraint",   "D chdir",
    "F nodefile",     "G gpus",
    "H hold",         "J job-name",
    "L licenses",     "M clusters",
    "N nodes",        "O overcommit",
    "Q quiet",        "S core-spec",
    "W wait",         "a array",
    "b begin",        "c cpus-per-task",
    "d dependency",   "e error",
    "i input",        "k no-kill",
    "m distribution", "n ntasks",
    "o output",       "p partition",
    "q qos",          "s oversubscribe",
    "t time",         "v verbose",
    "w nodelist",     "x exclude",
};

/* What other schedulers, and habit, call an option. */
static const char *const synonyms[][2] = {
    {"cpus", "cpus-per-task"},
    {"email", "mail-user"},
    {"feature", "constraint"},
    {"features", "constraint"},
    {"gpu", "gpus"},
    {"gpu-type", "gpus"},
    {"log", "output"},
    {"mail", "mail-user"},
    {"max-time", "time"},
    {"memory", "mem"},
    {"memory-per-cpu", "mem-per-cpu"},
    {"name", "job-name"},
    {"ncpus", "cpus-per-task"},
    {"ngpus", "gpus"},
    {"num-gpus", "gpus"},
    {"partitions", "partition"},
    {"project", "account"},
    {"queue", "partition"},
    {"ram", "mem"},
    {"runtime", "time"},
    {"stderr", "error"},
    {"stdout", "output"},
    {"tasks", "ntasks"},
    {"tasks-per-node", "ntasks-per-node"},
    {"time-limit", "time"},
    {"timelimit", "time"},
    {"timeout", "time"},
    {"walltime", "time"},
    {"workdir", "chdir"},
};

/* What the job itself decides, and what is written instead. */
static const char *const decided[][2] = {
    {"array", "write `sweep` at the top of the spec: jobrun submit SPEC --engine slurm "
              "makes a job array of its cells"},
    {"help", "leave it out"},
    {"job-name", "write `name` at the top of the spec"},
    {"nodes", "write `nodes` at the top of the spec"},
    {"ntasks", "write `world_size` at the top of the spec"},
    {"ntasks-per-core", "leave it out: sbatch starts one task a node, and "
                        "jobrun the ranks; `bind` says where they run"},
    {"ntasks-per-gpu", "write `local_world_size` at the top of the spec"},
    {"ntasks-per-node", "write `local_world_size` at the top of the spec"},
    {"ntasks-per-socket", "leave it out: sbatch starts one task a node, and "
                          "jobrun the ranks; `bind` says where they run"},
    {"parsable", "leave it out: jobrun submit prints the job's number"},
    {"test-only", "see the script: jobrun render SPEC --engine slurm"},
    {"usage", "leave it out"},
    {"version", "leave it out"},
    {"wait", "wait for the run: jobrun wait RUN"},
    {"wrap", "write `entrypoint: {shell: ...}` at the top of the spec"},
};

const char *jr_sbatch_decided(const char *name)
{
    for (size_t i = 0; i < sizeof decided / sizeof *decided; i++)
        if (jr_field_is_same_name(decided[i][0], name))
            return decided[i][1];
    return NULL;
}

static const char *find_letter(char letter)
{
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (letters[i][0] == letter)
            return letters[i] + 2;
    return NULL;
}

const char *jr_sbatch_meant(const char *key)
{
    const char *name = key + strspn(key, "-");
    size_t dashes = (size_t)(name - key);
    if (strlen(name) == 1 && dashes < 2)
        return find_letter(*name);
    const char *const *names = jr_sbatch_names();
    for (size_t i = 0; names[i] != NULL; i++)
        if (jr_field_is_same_name(names[i], name))
            return names[i];
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (jr_field_is_same_name(synonyms[i][0], name))
            return synonyms[i][1];
    return NULL;
}

void jr_lint_sbatch_key(struct jr_lint *lint, const struct jr_node *key,
                        const struct jr_node_step *at)
{
    const char *said = jr_lint_quoted(lint, key->text, key->len);
    const char *meant = jr_sbatch_meant(key->text);
    const char *instead = jr_sbatch_decided(meant == NULL ? key->text : meant);
    struct jr_diag *diag;
    if (instead != NULL) {
        diag = jr_lint_error(lint, JR_CODE_WRONG_VALUE, key->span, at,
                             "the job itself decides %s of 'engine.slurm'", said);
        jr_diag_help(lint->diags, diag, "%s", instead);
        return;
    }
    diag =
        jr_lint_error(lint, JR_CODE_WRONG_VALUE, key->span, at,
                      "'engine.slurm' wants long options of sbatch, without dashes, not %s", said);
    if (meant == NULL) {
        jr_diag_help(lint->diags, diag, "their names are in: sbatch --help");
        return;
    }
    jr_diag_help(lint->diags, diag, "did you mean '%s'?", meant);
    jr_lint_fix_text(lint, diag, key, meant);
}

/* 1h30m and 2 hours as 1:30:00 and 2:00:00. */
static const char *time_for_sbatch(struct jr_arena *arena, const char *text)
{
    uint64_t ms;
    if ((!jr_num_duration(text, &ms) && !jr_lint_read_words(text, &ms)) || ms < 1000)
        return NULL;
    uint64_t seconds = ms / 1000;
    uint64_t days = seconds / 86400, hours = seconds / 3600 % 24;
    const char *before = days > 0 ? jr_arena_printf(arena, "%" PRIu64 "-", days) : "";
    return before == NULL ? NULL
                          : jr_arena_printf(arena, "%s%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, before,
                                            hours, seconds / 60 % 60, seconds % 60);
}

/* 64GiB, 64Gi and "64 GB" as 64G. */
static const char *memory_for_sbatch(struct jr_arena *arena, const char *text)
{
    size_t digits = strspn(text, "0123456789");
    const char *unit = text + digits + strspn(text + digits, " ");
    size_t rest = *unit == '\0' ? 0 : strspn(unit + 1, "iIbB");
    if (digits == 0 || strchr("KMGTkmgt", *unit) == NULL || *unit == '\0' ||
        (unit[1 + rest] != '\0' && strncasecmp(unit + 1, "igabyte", 7) != 0 &&
         strncasecmp(unit + 1, "egabyte", 7) != 0))
        return NULL;
    return jr_arena_printf(arena, "%.*s%c", (int)digits, text, toupper((unsigned char)*unit));
}

/* What may stand between a kind of GPU and how many of them there are. */
static const char between[] = "xX*:= ";

static bool is_gpu_name(const char *text, size_t len)
{
    static const char bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    return len > 0 && isalpha((unsigned char)*text) && strspn(text, bytes) >= len;
}

/* a100x4, "4 a100" and 4*a100 as a100:4. */
static const char *gpus_for_sbatch(struct jr_arena *arena, const char *text)
{
    size_t len = strlen(text), digits = strspn(text, "0123456789");
    const char *name = text + digits + strspn(text + digits, between);
    if (digits > 0 && name > text + digits && is_gpu_name(name, strlen(name)))
        return jr_arena_printf(arena, "%s:%.*s", name, (int)digits, text);
    size_t count = len;
    while (count > 0 && isdigit((unsigned char)text[count - 1]))
        count--;
    size_t end = count;
    while (end > 0 && strchr(between, text[end - 1]) != NULL)
        end--;
    if (digits > 0 || count == len || end == count || !is_gpu_name(text, end))
        return NULL;
    return jr_arena_printf(arena, "%.*s:%s", (int)end, text, text + count);
}

/* gpu=4 as gpu:4. */
static const char *gres_for_sbatch(struct jr_arena *arena, const char *text)
{
    char *copy = jr_arena_strdup(arena, text);
    for (char *at = copy; at != NULL && *at != '\0'; at++)
        *at = *at == '=' ? ':' : *at;
    return copy;
}

/* 8 cores as 8. */
static const char *count_for_sbatch(struct jr_arena *arena, const char *text)
{
    static const char *const things[] = {"core", "cpu", "gpu", "thread", "c"};
    size_t digits = strspn(text, "0123456789"), i = 0;
    const char *unit = text + digits + strspn(text + digits, " ");
    size_t len = strlen(unit), count = sizeof things / sizeof *things;
    len -= len > 1 && unit[len - 1] == 's';
    while (i < count && (strlen(things[i]) != len || strncasecmp(things[i], unit, len) != 0))
        i++;
    if (digits == 0 || *text == '0' || i == count)
        return NULL;
    return jr_arena_strndup(arena, text, digits);
}

const char *jr_sbatch_near_value(struct jr_arena *arena, enum jr_sbatch_form form, const char *text)
{
    static const char *(*const near[])(struct jr_arena *, const char *) = {
        [JR_SBATCH_TIME] = time_for_sbatch,   [JR_SBATCH_MEMORY] = memory_for_sbatch,
        [JR_SBATCH_GPUS] = gpus_for_sbatch,   [JR_SBATCH_GRES] = gres_for_sbatch,
        [JR_SBATCH_COUNT] = count_for_sbatch, [JR_SBATCH_SIGNAL] = NULL,
    };
    return near[form] == NULL ? NULL : near[form](arena, text);
}

/* Options that are handed to sbatch: known by their names, and held to the form of their values,
 * since what sbatch makes of a wrong one is found out when the job is submitted, or never. */

/* More edits than these make another word: container-env, of a plugin, is no misspelt
 * container-id. */
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

/* An option that is no option: a misspelt one is an error. Plugins of a cluster add options of
 * their own, so another one is a warning. */
static void report_unknown_option(const struct jr_check *check, const struct jr_node *key)
{
    struct jr_diags *diags = check->lint->diags;
    const char *meant = jr_sbatch_meant(key->text);
    const char *near = meant != NULL ? NULL : jr_did_you_mean(key->text, names);
    if (near != NULL && jr_edit_distance(key->text, near, MOST_SLIPS) <= MOST_SLIPS) {
        struct jr_diag *diag =
            jr_check_clash(check, JR_CODE_UNKNOWN_SBATCH_OPTION, key, NULL,
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
        diags, JR_CODE_UNKNOWN_SBATCH_OPTION, key->span, jr_lint_path(check->lint, &step),
        "'%s' is no option of sbatch itself", jr_lint_said(check->lint, key));
    const char *instead = meant == NULL ? NULL : jr_sbatch_decided(meant);
    if (instead != NULL)
        jr_diag_help(diags, diag, "%s", instead);
    else if (meant != NULL)
        jr_diag_help(diags, diag,
                     "did you mean '%s'? '%s' is right only where a plugin of the cluster adds it",
                     meant, jr_lint_said(check->lint, key));
    else
        jr_diag_help(diags, diag, "this is right only where a plugin of the cluster adds it");
}

static bool fits_form(const struct jr_check *check, enum jr_sbatch_form form, const char *text)
{
    struct jr_regex *regex = NULL;
    struct jr_match match;
    size_t bad;
    bool fits = false;
    /* Without memory, which is reported in the end; no such pattern takes many steps. */
    bool limited = jr_regex_new(&regex, patterns[form], &bad, NULL) != 0;
    if (!limited)
        fits = jr_regex_find(regex, text, strlen(text), 0, &match, &limited);
    check->lint->arena->failed |= limited;
    jr_regex_free(regex);
    return fits || limited;
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

static void check_option(const struct jr_check *check, const struct jr_pair *pair)
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
    struct jr_diag *diag =
        jr_check_clash(check, JR_CODE_WRONG_SBATCH_VALUE, value, NULL,
                       "'--%s' of sbatch wants %s, not %s", names[option], wanted[form],
                       jr_lint_quoted(lint, jr_lint_source(value), strlen(jr_lint_source(value))));
    offer_value(check, diag, pair, form);
}

void jr_check_engine(const struct jr_check *check)
{
    const struct jr_node *options = jr_doc_find(check->tree, "engine.slurm");
    for (size_t i = 0; options != NULL && i < options->count; i++)
        check_option(check, &options->pairs[i]);
}
