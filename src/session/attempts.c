/*
 * A run is one attempt, or several under `restart`. Each is a jr_run of a plan made for it: the
 * same run folder, a port of its own, attempt_N for its ranks. The decision of restart.c is
 * reported, kept in attempt_N/results.json, and waited for here.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/num.h"
#include "base/syscalls.h"
#include "cluster/controller.h"
#include "judge/judgement.h"
#include "judge/words.h"
#include "record/record_facts.h"
#include "run/between_attempts.h"
#include "session/attempts.h"
#include "session/begin.h"
#include "session/findings_text.h"
#include "session/foreground.h"
#include "session/multinode_session.h"
#include "session/on_end.h"
#include "session/requeue.h"
#include "session/session.h"
#include "session/spares.h"
#include "session/stages.h"
#include "session/sweep/node_cells.h"
#include "session/write_judgement.h"
#include "store/events.h"

#include "base/banned.h"

static int judge_attempt(struct jr_session *session, struct jr_error *err)
{
    const struct jr_left left = {
        .run_fd = session->dir.fd, .before = session->before, .deliveries = session->deliveries};
    if (jr_judgement_make(&session->report, &session->plan, &session->outcome, &left, err) != 0)
        return -1;
    if (session->refusal.text[0] != '\0')
        session->report.error = session->refusal.text;
    /* Whoever goes on with the sweep does not see the files of this host. */
    const char *cells = session->cells_dir == NULL ? NULL : strrchr(session->cells_dir, '/');
    bool own = cells != NULL && jr_own_cells_is(cells + 1);
    for (size_t i = 0; own && i < session->report.count; i++)
        session->report.ranks[i].artifacts_count = 0;
    jr_spares_report(session);
    return 0;
}

/* Decide whether there is another attempt, and why not. */
static void decide_next_attempt(struct jr_session *session, struct jr_verdict *ret)
{
    const struct jr_policy *policy = session->plan.policy;
    struct jr_judgement *report = &session->report;
    struct jr_history *history = &session->history;
    jr_restart_decide(ret, policy, history);
    if (ret->why[0] != '\0')
        report->not_again = jr_arena_strdup(&report->arena, ret->why);
    if (policy->restart.max > 0)
        report->idle = jr_restart_idle(history);
    report->requeue.done = ret->requeued;
    report->requeue.max = policy->requeue.max;
    if (ret->requeue == JR_REQUEUE_NONE && report->status != JR_RUN_YIELDED)
        report->requeue.cause = JR_REQUEUE_NONE;
    if (ret->stall.attempts > 0)
        jr_judgement_stall(report, &ret->stall);
}

/* The record is there, and this process was killed before it had asked for the requeue, or just
 * after: then the job is in the queue, and nothing is done. */
static void complete_requeue(struct jr_session *session)
{
    struct jr_verdict verdict;
    if (session->slurm.job == NULL)
        return;
    session->outcome.guard_pid = 0;
    if (judge_attempt(session, NULL) != 0 ||
        jr_history_add(&session->history, &session->report, &session->plan, &session->outcome,
                       session->dir.fd) != 0)
        return;
    session->report.earlier = session->history.items;
    session->report.earlier_count = session->history.count - 1;
    decide_next_attempt(session, &verdict);
    if (verdict.again && verdict.requeue != JR_REQUEUE_NONE && jr_requeue_plan(session))
        jr_requeue_ask(session);
}

/* A rank may have put a results.json there that it made up. */
static bool is_record_written(const struct jr_session *session)
{
    const bool *written = session->companion.written;
    return written != NULL
               ? *written
               : jr_access(session->dir.fd, "results.json", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* In the runner, where this process was killed while the attempt ran, was judged, or was followed
 * by a pause: it is the last one. */
static void complete_killed_attempt(void *data, const struct jr_outcome *outcome, int run_fd)
{
    struct jr_session *session = data;
    struct jr_error err = {0};
    /* Descriptors are where the runner has them. */
    session->dir.fd = run_fd;
    session->dir.log_fd = -1;
    session->outcome = *outcome;
    if (is_record_written(session)) {
        complete_requeue(session);
        return;
    }
    if (judge_attempt(session, &err) != 0) {
        jr_session_note(session, err.text);
        return;
    }
    session->report.earlier = session->history.items;
    session->report.earlier_count = session->history.count;
    if (session->plan.policy->restart.max > 0)
        session->report.not_again = "jobrun itself was killed";
    jr_session_write_judgement(session);
    jr_device_leases_release(&session->resolution);
    jr_on_end_start(session);
    jr_on_end_await(session, false);
}

static struct jr_run_options make_run_options(struct jr_session *session,
                                              const struct jr_session_console *console)
{
    const struct jr_record_facts *record = &session->record;
    session->companion = (struct jr_companion){
        .complete = complete_killed_attempt,
        .data = session,
        .written = jr_companion_share(),
        .key = jr_companion_key(record->machine.boot_id, record->pid, record->start_ticks)};
    struct jr_run_options options = {
        .dir = &session->dir,
        .group = &session->group,
        .companion = &session->companion,
        .out_fd = console == NULL ? -1 : console->out_fd,
        .err_fd = console == NULL ? -1 : console->err_fd,
        .in_fd = console == NULL ? -1 : console->in_fd,
        .live = console != NULL && console->live && session->options.debug_rank == NULL,
        .color = console != NULL && console->color,
        .utf8 = console != NULL && console->utf8,
        .replay = session->replays ? &session->replay : NULL,
        .slurm = session->slurm.job == NULL ? NULL : &session->slurm,
    };
    jr_signals_ignored(&options.ignored);
    options.shields = jr_requeue_shields(session) && sigismember(&options.ignored, SIGTERM) == 0;
    return options;
}

static int start_attempt(struct jr_session *session, const struct jr_run_options *options)
{
    struct jr_run_options own = *options;
    int *leases = NULL;
    if (session->controller != NULL)
        return jr_session_run_nodes(session, options, &session->refusal);
    /* Each attempt may have another port. */
    own.leases_count = jr_resolution_leases(&session->resolution, &session->arena, &leases);
    own.leases = leases;
    return jr_run(&session->outcome, &session->plan, &own, &session->refusal);
}

/* A run that could not begin has an outcome too: no rank was started. */
static int execute_attempt(struct jr_session *session, const struct jr_run_options *options,
                           struct jr_error *err)
{
    if (start_attempt(session, options) == 0 ||
        jr_outcome_none(&session->outcome, &session->plan) == 0)
        return 0;
    return jr_error_set(err, JR_STATUS_LAUNCH, "%s", session->refusal.text);
}

static int run_attempt(struct jr_session *session, const struct jr_run_options *options,
                       struct jr_error *err)
{
    if (execute_attempt(session, options, err) != 0 || judge_attempt(session, err) != 0)
        return -1;
    if (jr_history_add(&session->history, &session->report, &session->plan, &session->outcome,
                       session->dir.fd) != 0)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    session->report.earlier = session->history.items;
    session->report.earlier_count = session->history.count - 1;
    return 0;
}

/* "attempt 0 failed: rank 3 exited with code 1; all ranks start again in 2s (restart 1 of 3)" */
static void print_restart(const struct jr_session *session, const struct jr_verdict *verdict)
{
    const struct jr_restart *spec = &session->plan.policy->restart;
    const struct jr_attempt *last = &session->history.items[session->history.count - 1];
    size_t idle = jr_restart_idle(&session->history);
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&line, "attempt %u failed: ", last->number);
    jr_buf_safe(&line, last->cause);
    jr_buf_str(&line, "; all ranks start again");
    if (verdict->wait_ms > 0) {
        jr_buf_str(&line, " in ");
        jr_num_add_duration(&line, verdict->wait_ms);
    }
    jr_buf_printf(&line, " (restart %u of %u", verdict->counted + 1, spec->max);
    if (spec->window_ms > 0) {
        jr_buf_str(&line, " within ");
        jr_num_add_duration(&line, spec->window_ms);
    }
    jr_buf_char(&line, ')');
    if (idle > 1)
        jr_buf_printf(&line, "; no progress: %zu attempts failed the same way, at once", idle);
    jr_session_note_buf(session, &line);
}

/* "attempt 0 stopped for the deadline; all ranks start again (requeue 1 of 20)"
 */
static void print_requeue(const struct jr_session *session, const struct jr_verdict *verdict)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&line, "attempt %u ", session->attempt);
    jr_words_yield(&line, verdict->requeue, &session->outcome);
    jr_buf_printf(&line, "; all ranks start again (requeue %u of %u)", verdict->requeued + 1,
                  session->plan.policy->requeue.max);
    jr_session_note_buf(session, &line);
}

static void record_end_of_attempt(const struct jr_session *session,
                                  const struct jr_verdict *verdict)
{
    struct jr_events events;
    bool requeue = verdict->requeue != JR_REQUEUE_NONE;
    jr_events_open(&events, session->dir.fd, session->dir.file_mode);
    jr_events_add(&events,
                  &(struct jr_event){.name = requeue ? JR_EVENT_REQUEUED : JR_EVENT_ATTEMPT_FAILED,
                                     .attempt = session->attempt,
                                     .wait_ms = verdict->wait_ms});
    jr_events_close(&events);
}

static void record_restart(const struct jr_session *session)
{
    struct jr_events events;
    jr_events_open(&events, session->dir.fd, session->dir.file_mode);
    jr_events_add(&events, &(struct jr_event){.name = JR_EVENT_RESTART,
                                              .attempt = session->attempt,
                                              .master_port = session->plan.master_port});
    jr_events_close(&events);
}

/* What this attempt would have been judged by. An attempt without a rank has no folder, and nothing
 * to keep. */
static void keep_results(struct jr_session *session)
{
    struct jr_buf name JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_error err = {0};
    jr_buf_printf(&name, "attempt_%u", session->attempt);
    if (name.failed)
        return;
    JR_CLOSE int fd =
        openat(session->dir.fd, name.data, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    jr_judgement_hide_files(&session->report, &session->plan, session->dir.fd);
    if (jr_session_stream(session, fd, "results.json", jr_session_print_results, &err) != 0)
        jr_session_note(session, err.text);
}

/* Everything that an attempt needs is made before what the last one left is forgotten: where it
 * cannot be, that one decides. */
static int prepare_next_attempt(struct jr_session *session, struct jr_error *err)
{
    if (session->controller != NULL && jr_session_renew_nodes(session, err) != 0)
        return -1;
    if (session->controller == NULL && jr_resolution_renew_port(&session->resolution, err) != 0)
        jr_session_note(session, err->text); /* the old one may do */
    if (jr_session_plan_again(session, err) != JR_STATUS_OK)
        return -1;
    jr_judgement_release(&session->report);
    jr_outcome_release(&session->outcome);
    session->record.attempt = session->attempt;
    if (jr_session_write_plan(session, err) != 0 || jr_session_write_record(session, err) != 0)
        jr_session_note(session, err->text);
    return 0;
}

/* jobrun was told to stop when no rank was there to be stopped. */
static void stop_between_attempts(struct jr_session *session, int sig)
{
    struct jr_judgement last = session->report;
    session->outcome.stop_signal = sig;
    session->outcome.ended_ns = jr_clock_ns();
    session->outcome.ended_wall_ns = jr_clock_wall_ns();
    session->report = (struct jr_judgement){0};
    if (judge_attempt(session, NULL) != 0) {
        session->report = last;
        return;
    }
    session->report.earlier = last.earlier;
    session->report.earlier_count = last.earlier_count;
    jr_judgement_release(&last);
}

/* Whether there is another attempt, for which all is ready. */
static bool has_next_attempt(struct jr_session *session, const struct jr_between_attempts *pause)
{
    struct jr_history *history = &session->history;
    struct jr_verdict verdict;
    struct jr_error err = {0};
    decide_next_attempt(session, &verdict);
    if (!verdict.again)
        return false;
    struct jr_attempt *last = &history->items[history->count - 1];
    last->wait_ms = verdict.wait_ms;
    last->requeued = verdict.requeue != JR_REQUEUE_NONE;
    if (last->requeued && jr_requeue_plan(session)) {
        record_end_of_attempt(session, &verdict);
        return false;
    }
    keep_results(session);
    record_end_of_attempt(session, &verdict);
    if (last->requeued)
        print_requeue(session, &verdict);
    else
        print_restart(session, &verdict);
    int sig = session->outcome.late_signal;
    if (sig == 0)
        sig = jr_between_attempts_wait(pause, verdict.wait_ms,
                                       session->replays ? &session->replay : NULL);
    if (sig != 0) {
        stop_between_attempts(session, sig);
        return false;
    }
    if (prepare_next_attempt(session, &err) == 0) {
        record_restart(session);
        return true;
    }
    session->report.not_again = jr_arena_strdup(&session->report.arena, err.text);
    sig = jr_between_attempts_wait(pause, 0, NULL);
    if (sig != 0)
        stop_between_attempts(session, sig);
    return false;
}

int jr_session_attempts(struct jr_session *session, const struct jr_session_console *console,
                        struct jr_error *err)
{
    jr_session_open_console(session, console);
    const struct jr_run_options options = make_run_options(session, console);
    struct jr_between_attempts pause;
    int result;
    jr_between_attempts_open(&pause, session->plan.policy, &options.ignored);
    do
        result = run_attempt(session, &options, err);
    while (result == 0 && has_next_attempt(session, &pause));
    if (result == 0)
        result = jr_session_finish(session, err);
    jr_device_leases_release(&session->resolution);
    jr_session_show_rest(session);
    if (!session->on_end.deferred)
        jr_on_end_await(session, true);
    jr_between_attempts_close(&pause);
    return result;
}

static const char *json_text(struct jr_arena *arena, const json_t *json)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (json == NULL)
        return NULL;
    jr_json_print(&text, json, 0);
    return jr_buf_keep(&text, arena);
}

/* The report as jobrun.h has it. */
static int fill_ranks(struct jr_session *session, struct jr_error *err)
{
    const struct jr_judgement *report = &session->report;
    struct jr_arena *arena = &session->arena;
    session->ranks = jr_arena_array(arena, report->count, sizeof *session->ranks);
    for (size_t i = 0; i < report->count && session->ranks != NULL; i++) {
        const struct jr_rank_judgement *rank = &report->ranks[i];
        session->ranks[i] = (struct jr_rank_result){
            .plan = &session->plan.ranks[session->plan.first + i],
            .outcome = &session->outcome.ranks[i],
            .state = rank->state,
            .result =
                rank->text != NULL ? json_string_value(rank->text) : json_text(arena, rank->result),
            .result_error = rank->result_error,
            .reason = rank->reason,
            .error = rank->error,
            .where = rank->where,
        };
    }
    for (size_t i = 0; i < report->causes_count && session->ranks != NULL; i++)
        session->ranks[report->causes[i]].cause = true;
    return arena->failed ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory") : 0;
}

/* Slurm ends all processes of a job that it queues again: the command of
 * `on_end` has its time before that, unless the job's is over. */
int jr_session_finish(struct jr_session *session, struct jr_error *err)
{
    jr_session_write_judgement(session);
    if (session->report.requeue.cause == JR_REQUEUE_PREEMPTED)
        jr_requeue_ask(session);
    jr_on_end_start(session);
    if (session->due)
        jr_on_end_await(session, true);
    jr_requeue_ask(session);
    jr_companion_release(&session->companion);
    return fill_ranks(session, err);
}

/* A run ends every descendant of this process: it cannot tell whose it was. */
static bool has_children(void)
{
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

enum jr_status jr_session_run(struct jr_session *session, const struct jr_session_console *console,
                              struct jr_error *err)
{
    JR_DECIMAL_POINT;
    enum jr_status status = JR_STATUS_OK;
    if (session->over)
        return JR_STATUS_OK;
    if (session->progress == JR_PROGRESS_DONE) {
        (void)jr_error_set(err, JR_STATUS_USAGE, "a session runs once");
        return JR_STATUS_USAGE;
    }
    if (!session->options.end_children && session->controller == NULL && has_children()) {
        (void)jr_error_set(err, JR_STATUS_USAGE,
                           "this process has children, which a run would end");
        return JR_STATUS_USAGE;
    }
    if (!session->begun)
        status = jr_session_begin(session, err);
    if (status != JR_STATUS_OK || session->over)
        return status;
    session->progress = JR_PROGRESS_DONE;
    return jr_session_attempts(session, console, err) == 0 ? JR_STATUS_OK : JR_STATUS_LAUNCH;
}
