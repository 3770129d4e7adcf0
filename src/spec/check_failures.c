#include "spec/check_failures.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <strings.h>

#include "base/did_you_mean.h"
#include "base/names.h"
#include "base/num.h"
#include "base/regex.h"
#include "base/restart_trigger.h"
#include "spec/check_results.h"
#include "spec/internal.h"

#include "base/banned.h"

/* When a job starts again: causes, and what of them can never come. */

enum { SHELL_BASE = 128, LAST_SIGNAL = 31 };

/* What a rank matches that this signal ends, for a code as a shell gives it. */
static const char *name_signal_cause(struct jr_lint *lint, int signal)
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
    int64_t signal = code < 0 ? -code : code - SHELL_BASE;
    if (signal < 1 || signal > LAST_SIGNAL)
        return false;
    const char *cause = name_signal_cause(lint, (int)signal);
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
    const char *const *words = jr_did_you_mean_list(lint, type->words);
    static const char *const heads[] = {"exit:", "signal:"};
    struct jr_restart_trigger trigger;
    struct jr_restart_trigger_fault fault;
    size_t len = strcspn(node->text, ":");
    const char *word = jr_arena_strndup(lint->arena, node->text, len);
    if (word == NULL || node->filled != NULL)
        return;
    static const char *const any[] = {"all",  "any", "always", "error", "failure", "fail",
                                      "true", "*",   "failed", "crash", "errors",  "on-failure"};
    for (size_t i = 0; i < sizeof any / sizeof *any; i++) {
        if (strcasecmp(any[i], node->text) != 0)
            continue;
        jr_diag_help(lint->diags, diag, "leave `on` out, and any failure leads to a restart");
        return;
    }
    bool sure;
    if (suggest_signal(lint, diag, node->text))
        return;
    const char *near = jr_lint_near_word(word, words, &sure);
    if (node->text[len] == '\0' && near != NULL) {
        jr_lint_suggest(lint, diag, node, words);
        return;
    }
    if (near != NULL)
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

/* The cause of a kind that a list holds, or NULL. */
static const struct jr_node *find_restart_cause(const struct jr_check *check,
                                                const struct jr_node *list,
                                                enum jr_restart_trigger_kind kind)
{
    struct jr_restart_trigger trigger;
    struct jr_restart_trigger_fault fault;
    bool lone = list != NULL && list->kind == JR_NODE_SCALAR;
    size_t count = list == NULL ? 0 : lone ? 1 : list->count;
    for (size_t i = 0; i < count; i++) {
        const struct jr_node *node = lone ? list : list->items[i];
        if (jr_restart_trigger_parse(&trigger, check->lint->arena, node->text, &fault) &&
            trigger.kind == kind)
            return node;
    }
    return NULL;
}

static void warn_of_impossible(const struct jr_check *check, const struct jr_node *at,
                               const char *text, const char *help)
{
    struct jr_diag *diag = jr_diags_warning(check->lint->diags, JR_CODE_RESTART_NEVER_HAPPENS,
                                            at->span, "restart", "%s", text);
    jr_diag_help_text(check->lint->diags, diag, help);
}

/* Whether a list has a cause that a rank matches which the signal ends. */
static bool is_signal_taken(const struct jr_check *check, const struct jr_node *const *causes,
                            size_t count, int signal)
{
    struct jr_restart_trigger trigger;
    struct jr_restart_trigger_fault fault;
    for (size_t i = 0; i < count; i++) {
        if (!jr_restart_trigger_parse(&trigger, check->lint->arena, causes[i]->text, &fault))
            continue;
        if ((trigger.kind == JR_RESTART_TRIGGER_OOM && signal == SIGKILL) ||
            (trigger.kind == JR_RESTART_TRIGGER_SIGNAL &&
             jr_restart_trigger_takes_signal(&trigger, signal)))
            return true;
    }
    return false;
}

/* The first code of a cause that only a shell has for a signal; 0: none. A long range is meant for
 * codes. */
static uint32_t find_shell_code(const struct jr_restart_trigger *trigger)
{
    enum { LONGEST = 8 };
    if (trigger->kind != JR_RESTART_TRIGGER_EXIT || trigger->codes.all)
        return 0;
    for (size_t i = 0; i < trigger->codes.count; i++) {
        const struct jr_range *range = &trigger->codes.ranges[i];
        if (range->first > SHELL_BASE && range->last - range->first < LONGEST &&
            range->last <= SHELL_BASE + LAST_SIGNAL)
            return range->first;
    }
    return 0;
}

/* exit:137 in a list that has no signal: a rank that is killed has no code. */
static void check_shell_codes(const struct jr_check *check, const struct jr_node *list,
                              const char *path)
{
    struct jr_restart_trigger trigger;
    struct jr_restart_trigger_fault fault;
    if (list == NULL)
        return;
    bool lone = list->kind == JR_NODE_SCALAR;
    const struct jr_node *const *causes = lone ? &list : (const struct jr_node *const *)list->items;
    size_t count = lone ? 1 : list->count;
    for (size_t i = 0; i < count; i++) {
        uint32_t code =
            jr_restart_trigger_parse(&trigger, check->lint->arena, causes[i]->text, &fault)
                ? find_shell_code(&trigger)
                : 0;
        int signal = (int)code - SHELL_BASE;
        if (code == 0 || is_signal_taken(check, causes, count, signal))
            continue;
        struct jr_diag *diag = jr_diags_warning(
            check->lint->diags, JR_CODE_RESTART_NEVER_HAPPENS, causes[i]->span, path,
            "a rank that is killed does not match 'exit:%" PRIu32 "': it has no exit code", code);
        jr_diag_help(check->lint->diags, diag,
                     "write %s; exit:%" PRIu32
                     " beside it is for a shell in between that reports it",
                     name_signal_cause(check->lint, signal), code);
    }
}

/* Whether one of the limits is stated that find hangs. */
static bool is_hang_sought(const struct jr_check *check)
{
    return jr_check_raw(check, "timeouts.silence") != NULL ||
           jr_check_raw(check, "timeouts.progress") != NULL ||
           jr_check_raw(check, "timeouts.first_step") != NULL;
}

/* Attempts in a row that end restarts need restarts. */
static void check_stall(const struct jr_check *check)
{
    struct jr_stated max = jr_check_number(check, "restart.max");
    struct jr_stated stall = jr_check_number(check, "progress.stall");
    if (stall.node == NULL || stall.value == 0 || jr_check_raw(check, "requeue") != NULL ||
        jr_check_is_open(check, "restart.max") || jr_check_raw(check, "restart.window") != NULL)
        return;
    if (max.node == NULL || max.value < stall.value)
        warn_of_impossible(
            check, stall.node,
            max.node == NULL ? "'progress.stall' ends restarts, and there are none"
                             : "'restart.max' ends the restarts before 'progress.stall'",
            jr_arena_printf(check->lint->arena, JR_SETTING("restart.max", "%" PRIu64),
                            max.node == NULL ? stall.value + 8 : stall.value));
}

/* Check for causes that cannot be detected, and for restarts that are not allowed. */
void jr_check_restart(const struct jr_check *check)
{
    check_stall(check);
    const struct jr_node *restart = jr_doc_get(check->tree, "restart");
    if (restart == NULL || restart->count == 0)
        return;
    const struct jr_node *on = jr_doc_get(restart, "on");
    const struct jr_node *never = jr_doc_get(restart, "never");
    const struct jr_node *seen = find_restart_cause(check, on, JR_RESTART_TRIGGER_STDERR);
    const struct jr_node *hang = find_restart_cause(check, on, JR_RESTART_TRIGGER_HANG);
    if (seen == NULL)
        seen = find_restart_cause(check, never, JR_RESTART_TRIGGER_STDERR);
    if (seen != NULL)
        jr_check_kept(check, seen, "stderr");
    check_shell_codes(check, on, "restart.on");
    check_shell_codes(check, never, "restart.never");
    if (hang != NULL && !is_hang_sought(check))
        warn_of_impossible(check, hang, "no hang is detected without timeouts.silence",
                           JR_SETTING("timeouts.silence", "10m"));
    const struct jr_node *raw = jr_check_raw(check, "restart");
    bool number = raw != NULL && raw->kind == JR_NODE_SCALAR;
    if (!number && jr_check_raw(check, "restart.max") == NULL)
        warn_of_impossible(check, restart->pairs[0].key,
                           "without 'restart.max' nothing is restarted",
                           JR_SETTING("restart.max", "3"));
}

/* What `timeouts.silence` can detect. */

enum { MOST_FOLLOWED = 4096 }; /* local ranks */

static bool is_output_limited(const struct jr_node *silence)
{
    uint64_t ms = 0;
    return silence != NULL && silence->kind == JR_NODE_SCALAR &&
           jr_num_duration(silence->text, &ms) && ms > 0;
}

/* A stream that neither `tee` nor `redirects` takes goes by jobrun. Without
 * `tee` there is none. */
void jr_check_silence(const struct jr_check *check)
{
    static const char *const words[] = {"out", "err"};
    const struct jr_node *silence = jr_doc_find(check->tree, "timeouts.silence");
    const struct jr_node *tee = jr_doc_get(check->tree, "tee");
    const struct jr_node *redirects = jr_doc_get(check->tree, "redirects");
    struct jr_stated local = jr_check_number(check, "local_world_size");
    uint64_t ranks = local.node == NULL ? 1 : local.value;
    if (tee == NULL || !is_output_limited(silence))
        return;
    for (uint32_t n = 0; n < 2 * ranks && n < MOST_FOLLOWED; n++) {
        if (jr_check_takes(check, tee, words[n % 2], n / 2) ||
            jr_check_takes(check, redirects, words[n % 2], n / 2))
            continue;
        struct jr_diag *diag = jr_diags_warning(
            check->lint->diags, JR_CODE_SILENCE_UNDETECTABLE, silence->span, "timeouts.silence",
            "no hang can be detected: local rank %u inherits its std%s, which jobrun cannot see",
            n / 2, words[n % 2]);
        jr_diag_relate(check->lint->diags, diag, tee->span, "stated here");
        jr_diag_help(check->lint->diags, diag,
                     "leave tee out, or redirect that stream to its file");
        return;
    }
}

/* The deadline comes before the end, and what ends for it can be told from what is done. */

/* A duration that the spec states, in milliseconds; 0: it states none. */
static uint64_t read_stated_duration(const struct jr_check *check, const char *path)
{
    const char *text = jr_check_text(check, path);
    uint64_t ms = 0;
    return text != NULL && jr_num_duration(text, &ms) ? ms : 0;
}

/* Whether ranks deliver by returning, or results are demanded. */
static bool is_delivery_demanded(const struct jr_check *check)
{
    const struct jr_node *entry = jr_doc_get(check->tree, "entrypoint");
    const struct jr_node *python = jr_doc_get(entry, "python");
    return jr_doc_get(check->tree, "results") != NULL || jr_doc_get(python, "function") != NULL ||
           jr_doc_get(entry, "library") != NULL;
}

void jr_check_deadline(const struct jr_check *check)
{
    const struct jr_pair *pair = jr_doc_pair(check->tree, "deadline");
    uint64_t before = read_stated_duration(check, "deadline.before");
    uint64_t run = read_stated_duration(check, "timeouts.run");
    struct jr_diag *diag;
    if (pair == NULL || before == 0)
        return;
    if (run != 0 && before >= run) {
        diag = jr_check_clash(check, JR_CODE_DEADLINE_CONFLICT,
                              jr_doc_find(check->tree, "deadline.before"),
                              jr_doc_find(check->tree, "timeouts.run"),
                              "'deadline.before' must be shorter than 'timeouts.run'");
        jr_diag_help(check->lint->diags, diag,
                     "it is how long before that end the ranks are warned");
    }
    if (is_delivery_demanded(check) || jr_check_is_open(check, "results"))
        return;
    diag = jr_diags_warning(check->lint->diags, JR_CODE_DEADLINE_LOOSE, pair->key->span, "deadline",
                            "without 'results', a rank that stops for the deadline with 0 has "
                            "succeeded");
    jr_diag_help(check->lint->diags, diag, "results: {from: file}; or end with 75 (EX_TEMPFAIL)");
}

/* An entry of requeue.on, which may be one word; NULL: it is not there. */
static const struct jr_node *find_requeue_cause(const struct jr_check *check, const char *word)
{
    const struct jr_node *on = jr_doc_find(check->tree, "requeue.on");
    bool lone = on != NULL && on->kind == JR_NODE_SCALAR;
    size_t count = on == NULL ? 0 : lone ? 1 : on->count;
    for (size_t i = 0; i < count; i++) {
        const struct jr_node *node = lone ? on : on->items[i];
        if (strcmp(node->text, word) == 0)
            return node;
    }
    return NULL;
}

/* An option of sbatch that forbids what the spec asks for. */
static void check_no_requeue(const struct jr_check *check)
{
    const struct jr_node *slurm = jr_doc_find(check->tree, "engine.slurm");
    const struct jr_node *no = jr_doc_get(slurm, "no-requeue");
    if (no == NULL || no->kind != JR_NODE_SCALAR || strcmp(no->text, "true") != 0)
        return;
    struct jr_diag *diag = jr_diags_warning(check->lint->diags, JR_CODE_REQUEUE_NEVER_HAPPENS,
                                            no->span, "engine.slurm.no-requeue",
                                            "Slurm refuses to queue a job again that was "
                                            "submitted with 'no-requeue'");
    jr_diag_help(check->lint->diags, diag, "leave it out");
}

void jr_check_requeue(const struct jr_check *check)
{
    const struct jr_pair *pair = jr_doc_pair(check->tree, "requeue");
    const char *status = jr_check_text(check, "exit_status");
    const struct jr_node *on = find_requeue_cause(check, "deadline");
    struct jr_diag *diag;
    if (pair == NULL)
        return;
    check_no_requeue(check);
    if (status != NULL && strcmp(status, "rank") == 0) {
        diag =
            jr_check_clash(check, JR_CODE_REQUEUE_CONFLICT, jr_doc_find(check->tree, "exit_status"),
                           pair->key, "with 'requeue', 'exit_status' cannot be 'rank'");
        jr_diag_help(check->lint->diags, diag,
                     "leave exit_status out: exit status 8 says that the job is to be continued");
    }
    if (on == NULL || jr_check_raw(check, "deadline") != NULL)
        return;
    diag = jr_diags_warning(check->lint->diags, JR_CODE_REQUEUE_NEVER_HAPPENS, on->span,
                            "requeue.on", "no rank stops for a deadline: there is none");
    jr_diag_help(check->lint->diags, diag, "deadline: {before: 10m}");
}

/* Progress has a pattern where there is a stream to read, with a group for the step. */

/* Whether a pattern that compiles has no group `step`. */
static bool lacks_step(const struct jr_check *check, const char *pattern)
{
    struct jr_regex *regex = NULL;
    struct jr_error err = {0};
    size_t bad;
    if (jr_regex_new(&regex, pattern, &bad, &err) != 0) {
        check->lint->arena->failed |= err.status == JR_STATUS_LAUNCH;
        return false;
    }
    bool lacks = true;
    for (size_t i = 0; i < jr_regex_group_count(regex); i++)
        lacks = lacks && strcmp(jr_regex_group_name(regex, i), "step") != 0;
    jr_regex_free(regex);
    return lacks;
}

static void check_stream(const struct jr_check *check, const struct jr_node *where,
                         const char *from)
{
    const struct jr_node *pattern = jr_doc_find(check->tree, "progress.pattern");
    struct jr_diag *diag = NULL;
    if (jr_check_raw(check, "progress.pattern") == NULL) {
        diag = jr_check_clash(check, JR_CODE_PROGRESS_CONFLICT, where, NULL,
                              "steps on the %s of ranks need 'pattern'", from);
        jr_diag_help(check->lint->diags, diag,
                     "pattern: 'step (?<step>\\d+)'; or from: file, for "
                     "programs that call jobrun.progress()");
    } else if (pattern != NULL && pattern->kind == JR_NODE_SCALAR &&
               lacks_step(check, pattern->text)) {
        diag = jr_check_clash(check, JR_CODE_PROGRESS_CONFLICT, pattern, NULL,
                              "the pattern has no group named 'step'");
        jr_diag_help(check->lint->diags, diag, "name it: (?<step>\\d+)");
    }
    jr_check_kept(check, where, from);
}

void jr_check_progress(const struct jr_check *check)
{
    const struct jr_node *progress = jr_doc_get(check->tree, "progress");
    const struct jr_pair *pair = jr_doc_pair(check->tree, "progress");
    const char *from = jr_check_text(check, "progress.from");
    const struct jr_node *pattern = jr_doc_find(check->tree, "progress.pattern");
    if (progress == NULL || pair == NULL ||
        (from == NULL && jr_check_is_open(check, "progress.from")))
        return;
    const struct jr_node *where = jr_doc_get(progress, "from");
    if (from == NULL || strcmp(from, "file") != 0)
        check_stream(check, where == NULL ? pair->key : where, from == NULL ? "stdout" : from);
    else if (pattern != NULL)
        (void)jr_check_clash(check, JR_CODE_PROGRESS_CONFLICT, pattern, where,
                             "'progress.pattern' is only read with from: stdout or stderr");
}
