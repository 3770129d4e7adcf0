/*
 * The rules of internal.h on what a job does while it runs and when it fails: when it starts again,
 * what its timeout for silence can hear, the deadline, when it is queued again, and where its
 * progress is read.
 */
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "base/num.h"
#include "base/regex.h"
#include "base/restart_trigger.h"
#include "spec/entry_arguments.h"
#include "spec/internal.h"

#include "base/banned.h"

/* A list of causes, or one that stands alone; NULL: there is none. */
static size_t list_causes(const struct jr_node *const *list,
                          const struct jr_node *const **ret_causes)
{
    bool lone = *list != NULL && (*list)->kind == JR_NODE_SCALAR;
    *ret_causes = lone || *list == NULL ? list : (const struct jr_node *const *)(*list)->items;
    return *list == NULL ? 0 : lone ? 1 : (*list)->count;
}

/* The cause of a kind that a list holds, or NULL. */
static const struct jr_node *find_restart_cause(const struct jr_check *check,
                                                const struct jr_node *list,
                                                enum jr_restart_trigger_kind kind)
{
    const struct jr_node *const *causes;
    struct jr_restart_trigger trigger;
    struct jr_restart_trigger_fault fault;
    size_t count = list_causes(&list, &causes);
    for (size_t i = 0; i < count; i++)
        if (jr_restart_trigger_parse(&trigger, check->lint->arena, causes[i]->text, &fault) &&
            trigger.kind == kind)
            return causes[i];
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
        if (range->first > JR_SHELL_SIGNAL_BASE && range->last - range->first < LONGEST &&
            range->last <= JR_SHELL_SIGNAL_BASE + JR_SHELL_SIGNAL_LAST)
            return range->first;
    }
    return 0;
}

/* exit:137 in a list that has no signal: a rank that is killed has no code. */
static void check_shell_codes(const struct jr_check *check, const struct jr_node *list,
                              const char *path)
{
    const struct jr_node *const *causes;
    struct jr_restart_trigger trigger;
    struct jr_restart_trigger_fault fault;
    size_t count = list_causes(&list, &causes);
    for (size_t i = 0; i < count; i++) {
        uint32_t code = 0;
        if (jr_restart_trigger_parse(&trigger, check->lint->arena, causes[i]->text, &fault))
            code = find_shell_code(&trigger);
        int signal = (int)code - JR_SHELL_SIGNAL_BASE;
        if (code == 0 || is_signal_taken(check, causes, count, signal))
            continue;
        struct jr_diag *diag = jr_diags_warning(
            check->lint->diags, JR_CODE_RESTART_NEVER_HAPPENS, causes[i]->span, path,
            "a rank that is killed does not match 'exit:%" PRIu32 "': it has no exit code", code);
        jr_diag_help(check->lint->diags, diag,
                     "write %s; exit:%" PRIu32
                     " beside it is for a shell in between that reports it",
                     jr_lint_signal_cause(check->lint, signal), code);
    }
}

/* Attempts in a row that end restarts need restarts. */
static void check_stall(const struct jr_check *check)
{
    struct jr_known max = jr_check_number(check, "restart.max");
    struct jr_known stall = jr_check_number(check, "progress.stall");
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

/* Causes that cannot be detected, and restarts that are not allowed. */
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
    if (hang != NULL && jr_check_raw(check, "timeouts.silence") == NULL &&
        jr_check_raw(check, "timeouts.progress") == NULL &&
        jr_check_raw(check, "timeouts.first_step") == NULL)
        warn_of_impossible(check, hang, "no hang is detected without timeouts.silence",
                           JR_SETTING("timeouts.silence", "10m"));
    const struct jr_node *raw = jr_check_raw(check, "restart");
    bool number = raw != NULL && raw->kind == JR_NODE_SCALAR;
    if (!number && jr_check_raw(check, "restart.max") == NULL)
        warn_of_impossible(check, restart->pairs[0].key,
                           "without 'restart.max' nothing is restarted",
                           JR_SETTING("restart.max", "3"));
}

/* A duration that the spec states, in milliseconds; 0: it states none. */
static uint64_t read_stated_duration(const struct jr_check *check, const char *path)
{
    const char *text = jr_check_text(check, path);
    uint64_t ms = 0;
    return text != NULL && jr_num_duration(text, &ms) ? ms : 0;
}

/* A stream that neither `tee` nor `redirects` takes goes by jobrun. Without
 * `tee` there is none. */
void jr_check_silence(const struct jr_check *check)
{
    enum { MOST_FOLLOWED = 4096 }; /* local ranks */
    static const char *const words[] = {"out", "err"};
    const struct jr_node *silence = jr_doc_find(check->tree, "timeouts.silence");
    const struct jr_node *tee = jr_doc_get(check->tree, "tee");
    const struct jr_node *redirects = jr_doc_get(check->tree, "redirects");
    struct jr_known local = jr_check_number(check, "local_world_size");
    uint64_t ranks = local.node == NULL ? 1 : local.value;
    if (tee == NULL || read_stated_duration(check, "timeouts.silence") == 0)
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

/* The deadline comes before the end; and what ends for it can be told from what is done only where
 * ranks deliver by returning, or results are demanded. */
void jr_check_deadline(const struct jr_check *check)
{
    const struct jr_pair *pair = jr_doc_pair(check->tree, "deadline");
    const struct jr_node *entry = jr_doc_get(check->tree, "entrypoint");
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
    if (jr_doc_get(check->tree, "results") != NULL || jr_check_is_open(check, "results") ||
        jr_call_returns(entry))
        return;
    diag = jr_diags_warning(check->lint->diags, JR_CODE_DEADLINE_LOOSE, pair->key->span, "deadline",
                            "without 'results', a rank that stops for the deadline with 0 has "
                            "succeeded");
    jr_diag_help(check->lint->diags, diag,
                 JR_SETTING("results.from", "file") "; or end with 75 (EX_TEMPFAIL)");
}

/* The exit status can say that the job is queued again, and the causes for it can come. */
void jr_check_requeue(const struct jr_check *check)
{
    const struct jr_pair *pair = jr_doc_pair(check->tree, "requeue");
    const char *status = jr_check_text(check, "exit_status");
    const struct jr_node *no = jr_doc_find(check->tree, "engine.slurm.no-requeue");
    const struct jr_node *on = jr_doc_find(check->tree, "requeue.on");
    const struct jr_node *const *causes;
    struct jr_diags *diags = check->lint->diags;
    struct jr_diag *diag;
    if (pair == NULL)
        return;
    if (no != NULL && no->kind == JR_NODE_SCALAR && strcmp(no->text, "true") == 0) {
        diag = jr_diags_warning(diags, JR_CODE_REQUEUE_NEVER_HAPPENS, no->span,
                                "engine.slurm.no-requeue",
                                "Slurm refuses to queue a job again that was "
                                "submitted with 'no-requeue'");
        jr_diag_help(diags, diag, "leave it out");
    }
    if (status != NULL && strcmp(status, "rank") == 0) {
        diag =
            jr_check_clash(check, JR_CODE_REQUEUE_CONFLICT, jr_doc_find(check->tree, "exit_status"),
                           pair->key, "with 'requeue', 'exit_status' cannot be 'rank'");
        jr_diag_help(diags, diag,
                     "leave exit_status out: exit status 8 says that the job is to be continued");
    }
    size_t i = 0, count = list_causes(&on, &causes);
    while (i < count && strcmp(causes[i]->text, "deadline") != 0)
        i++;
    if (i == count || jr_check_raw(check, "deadline") != NULL)
        return;
    diag = jr_diags_warning(diags, JR_CODE_REQUEUE_NEVER_HAPPENS, causes[i]->span, "requeue.on",
                            "no rank stops for a deadline: there is none");
    jr_diag_help(diags, diag, JR_SETTING("deadline.before", "10m"));
}

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

/* Progress has a pattern where there is a stream to read, with a group for the step. */
void jr_check_progress(const struct jr_check *check)
{
    const struct jr_pair *pair = jr_doc_pair(check->tree, "progress");
    const char *from = jr_check_text(check, "progress.from");
    const struct jr_node *pattern = jr_doc_find(check->tree, "progress.pattern");
    const struct jr_node *where = jr_doc_find(check->tree, "progress.from");
    struct jr_diag *diag;
    if (pair == NULL || (from == NULL && jr_check_is_open(check, "progress.from")))
        return;
    if (from != NULL && strcmp(from, "file") == 0) {
        if (pattern != NULL)
            (void)jr_check_clash(check, JR_CODE_PROGRESS_CONFLICT, pattern, where,
                                 "'progress.pattern' is only read with from: stdout or stderr");
        return;
    }
    where = where == NULL ? pair->key : where;
    from = from == NULL ? "stdout" : from;
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
