/*
 * A run is one attempt, or several under `restart`. Each is a jr_run of a plan made for it: the
 * same run folder, a port of its own, attempt_N for its ranks. The decision of restart.c is
 * reported, kept in attempt_N/results.json, and waited for here. internal.h declares it.
 *
 * The judgement on the disk is run.json with its end, and results.json, which comes last: a run
 * that has it has finished, and may be removed. Both are written into space that was reserved
 * before the first rank started, so that a disk which the ranks have filled is no obstacle; and
 * both are whole before either takes its place. So the machine may crash at any time, and what
 * cannot be written is known while the judgement can still say so.
 *
 * Of a job of Slurm's that is to be continued the record is written before its place in the queue
 * is asked for (requeue.c): Slurm ends the processes of a job that it has queued again. So
 * results.json says that the job is queued again, and is written anew where that is refused.
 */
#include "session/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/draft_file.h"
#include "base/io.h"
#include "base/json.h"
#include "base/num.h"
#include "base/strv.h"
#include "base/syscalls.h"
#include "cluster/controller.h"
#include "judge/judgement.h"
#include "judge/words.h"
#include "record/record_facts.h"
#include "record/results_json.h"
#include "run/guard.h"
#include "session/foreground.h"
#include "session/sweep/cell_session.h"
#include "session/sweep/node_cells.h"
#include "store/events.h"

#include "base/banned.h"

/* The file in LOG_DIR whose time says when a run last waited for the disk: one that is there, and
 * whose time says nothing else. */
#define SYNCED        ".gitignore"
#define SYNC_EVERY_NS INT64_C(1000000000)

static void print_run_record(struct jr_buf *out, const void *data, const struct jr_drain *drain)
{
    const struct jr_session *session = data;
    (void)drain;
    jr_record_run_json(out, &session->record);
}

/* Write results.json by `print`, and run.json, and publish them. Many short runs in a row need not
 * each wait for the disk: what the last second's have written, it has been told to write. A LOG_DIR
 * whose .gitignore is not jobrun's own has no such time. */
static int write_judgement(struct jr_session *session, jr_session_printer *print,
                           struct jr_error *err)
{
    const struct jr_run_folder *dir = &session->dir;
    struct jr_draft_file record JR_DRAFT_FILE_CLEANUP = JR_DRAFT_FILE_INIT;
    struct jr_draft_file results JR_DRAFT_FILE_CLEANUP = JR_DRAFT_FILE_INIT;
    struct jr_io_printed texts[] = {{print, session}, {print_run_record, session}};
    const struct jr_io_source sources[] = {{jr_io_fill_printed, &texts[0]},
                                           {jr_io_fill_printed, &texts[1]}};
    struct stat st;
    jr_record_facts_finish(&session->record, &session->report, &session->outcome);
    if (jr_draft_file_open(&results, dir->fd, "results.json", dir->file_mode, err) != 0 ||
        jr_draft_file_open(&record, dir->fd, "run.json", dir->file_mode, err) != 0 ||
        jr_draft_file_fill(&results, &sources[0], err) != 0 ||
        jr_draft_file_fill(&record, &sources[1], err) != 0)
        return -1;
    bool noted = fstatat(dir->log_fd, SYNCED, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                 S_ISREG(st.st_mode) && st.st_size == 2 && st.st_uid == geteuid();
    int64_t ago =
        noted ? (int64_t)jr_clock_wall_ns() - st.st_mtim.tv_sec * 1000000000 - st.st_mtim.tv_nsec
              : -1;
    bool sync = ago < 0 || ago >= SYNC_EVERY_NS;
    if (jr_draft_file_settle(&record, sync, err) != 0 ||
        jr_draft_file_settle(&results, sync, err) != 0)
        return -1;
    if (sync && noted)
        (void)utimensat(dir->log_fd, SYNCED, NULL, AT_SYMLINK_NOFOLLOW);
    if (jr_draft_file_publish(&record, err) != 0 || jr_draft_file_publish(&results, err) != 0)
        return -1;
    if (session->companion.written != NULL)
        *session->companion.written = true;
    return 0;
}

/* The results of the ranks may need more space than was reserved; they are also in the ranks' own
 * files. */
static void print_brief_report(struct jr_buf *out, const void *data, const struct jr_drain *drain)
{
    const struct jr_session *session = data;
    struct jr_judgement brief;
    if (jr_judgement_redact(&brief, &session->report, session->plan.hidden) != 0) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < brief.count; i++) {
        json_decref(brief.ranks[i].result);
        brief.ranks[i].result = NULL;
        json_decref(brief.ranks[i].text);
        brief.ranks[i].text = NULL;
    }
    jr_judgement_json(out, &brief, &session->plan, &session->outcome, drain);
    jr_judgement_release(&brief);
}

/* Complete the run folder. What cannot be written is reported, and is part of the verdict: a run
 * that did well did not. */
static void complete_run_folder(struct jr_session *session)
{
    struct jr_judgement *report = &session->report;
    struct jr_error err = {0};
    jr_judgement_hide_files(report, &session->plan, session->dir.fd);
    if (write_judgement(session, jr_session_print_results, &err) != 0) {
        jr_session_note(session, err.text);
        if (report->exit_code == 0) {
            report->status = JR_RUN_INCOMPLETE;
            report->exit_code = JR_STATUS_LAUNCH;
            report->error = jr_arena_printf(
                &report->arena, "every rank succeeded, but the record is incomplete: %s", err.text);
        }
        if (write_judgement(session, print_brief_report, &err) != 0)
            jr_session_note(session, err.text);
    }
    session->exit_code = report->exit_code;
}

/* The last attempt is to be continued: where the scheduler does that, make the judgement one of a
 * job that is queued again, and return true. */
static bool plan_requeue(struct jr_session *session)
{
    struct jr_judgement *report = &session->report;
    if (session->slurm.job == NULL)
        return false;
    session->due = true;
    report->requeue.queued = true;
    report->status = JR_RUN_YIELDED;
    report->exit_code = JR_STATUS_YIELDED;
    return true;
}

/* The judgement is written: ask for what was planned. What comes of it is noted, and is written
 * where it is a refusal: a job that lost a node has failed, where it is not continued. */
static void ask_for_requeue(struct jr_session *session)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_judgement *report = &session->report;
    if (!session->due)
        return;
    session->due = false;
    const char *why = jr_requeue_queue_again(session);
    if (why == NULL) {
        jr_buf_printf(&line, "job %s is queued again (requeue %u of %u)", session->slurm.name,
                      report->requeue.done + 1, report->requeue.max);
        jr_session_note_buf(session, &line);
        return;
    }
    report->requeue.queued = false;
    report->not_again = jr_arena_printf(&report->arena, "it is not queued again: %s", why);
    if (report->requeue.cause == JR_REQUEUE_LOST_NODE) {
        report->status = JR_RUN_FAILED;
        report->exit_code = JR_STATUS_FAILED;
        report->requeue.cause = JR_REQUEUE_NONE;
    }
    complete_run_folder(session);
}

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

/* The attempt is one of the history, behind the earlier ones. */
static int add_to_history(struct jr_session *session)
{
    if (jr_history_add(&session->history, &session->report, &session->plan, &session->outcome,
                       session->dir.fd) != 0)
        return -1;
    session->report.earlier = session->history.items;
    session->report.earlier_count = session->history.count - 1;
    return 0;
}

/* In the runner, where this process was killed while the attempt ran, was judged, or was followed
 * by a pause: it is the last one. */
static void complete_killed_attempt(void *data, const struct jr_outcome *outcome, int run_fd)
{
    struct jr_session *session = data;
    const bool *written = session->companion.written;
    struct jr_error err = {0};
    /* Descriptors are where the runner has them. */
    session->dir.fd = run_fd;
    session->dir.log_fd = -1;
    session->outcome = *outcome;
    /* A rank may have put a results.json there that it made up. */
    if (written != NULL
            ? *written
            : jr_access(session->dir.fd, "results.json", F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        /* The record is there, and this process was killed before it had asked for the requeue, or
         * just after: then the job is in the queue, and nothing is done. */
        struct jr_verdict verdict;
        session->outcome.guard_pid = 0;
        if (session->slurm.job == NULL || judge_attempt(session, NULL) != 0 ||
            add_to_history(session) != 0)
            return;
        decide_next_attempt(session, &verdict);
        if (verdict.again && verdict.requeue != JR_REQUEUE_NONE && plan_requeue(session))
            ask_for_requeue(session);
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
    complete_run_folder(session);
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

static int run_attempt(struct jr_session *session, const struct jr_run_options *options,
                       struct jr_error *err)
{
    struct jr_run_options own = *options;
    int *leases = NULL, failed;
    if (session->controller != NULL) {
        failed = jr_session_run_nodes(session, options, &session->refusal);
    } else {
        /* Each attempt may have another port. */
        own.leases_count = jr_resolution_leases(&session->resolution, &session->arena, &leases);
        own.leases = leases;
        failed = jr_run(&session->outcome, &session->plan, &own, &session->refusal);
    }
    /* A run that could not begin has an outcome too: no rank was started. */
    if (failed != 0 && jr_outcome_none(&session->outcome, &session->plan) != 0)
        return jr_error_set(err, JR_STATUS_LAUNCH, "%s", session->refusal.text);
    if (judge_attempt(session, err) != 0)
        return -1;
    return add_to_history(session) == 0 ? 0 : jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
}

/* "attempt 0 failed: rank 3 exited with code 1; all ranks start again in 2s (restart 1 of 3)", or
 * "attempt 0 stopped for the deadline; all ranks start again (requeue 1 of 20)" */
static void print_restart(const struct jr_session *session, const struct jr_verdict *verdict)
{
    const struct jr_policy *policy = session->plan.policy;
    const struct jr_attempt *last = &session->history.items[session->history.count - 1];
    size_t idle = jr_restart_idle(&session->history);
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    if (verdict->requeue != JR_REQUEUE_NONE) {
        jr_buf_printf(&line, "attempt %u ", session->attempt);
        jr_words_yield(&line, verdict->requeue, &session->outcome);
        jr_buf_printf(&line, "; all ranks start again (requeue %u of %u)", verdict->requeued + 1,
                      policy->requeue.max);
        jr_session_note_buf(session, &line);
        return;
    }
    jr_buf_printf(&line, "attempt %u failed: ", last->number);
    jr_buf_safe(&line, last->cause);
    jr_buf_str(&line, "; all ranks start again");
    if (verdict->wait_ms > 0) {
        jr_buf_str(&line, " in ");
        jr_num_add_duration(&line, verdict->wait_ms);
    }
    jr_buf_printf(&line, " (restart %u of %u", verdict->counted + 1, policy->restart.max);
    if (policy->restart.window_ms > 0) {
        jr_buf_str(&line, " within ");
        jr_num_add_duration(&line, policy->restart.window_ms);
    }
    jr_buf_char(&line, ')');
    if (idle > 1)
        jr_buf_printf(&line, "; no progress: %zu attempts failed the same way, at once", idle);
    jr_session_note_buf(session, &line);
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
    bool queued = last->requeued && plan_requeue(session);
    if (!queued) { /* What this attempt would have been judged by. */
        jr_judgement_hide_files(&session->report, &session->plan, session->dir.fd);
        jr_session_keep_results(session, &err);
        if (err.text[0] != '\0')
            jr_session_note(session, err.text);
    }
    jr_session_add_event(
        session,
        &(struct jr_event){.name = last->requeued ? JR_EVENT_REQUEUED : JR_EVENT_ATTEMPT_FAILED,
                           .attempt = session->attempt,
                           .wait_ms = verdict.wait_ms});
    if (queued)
        return false;
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
        jr_session_add_event(session, &(struct jr_event){.name = JR_EVENT_RESTART,
                                                         .attempt = session->attempt,
                                                         .master_port = session->plan.master_port});
        return true;
    }
    session->report.not_again = jr_arena_strdup(&session->report.arena, err.text);
    sig = jr_between_attempts_wait(pause, 0, NULL);
    if (sig != 0)
        stop_between_attempts(session, sig);
    return false;
}

/* The report as jobrun.h has it. */
static int fill_ranks(struct jr_session *session, struct jr_error *err)
{
    const struct jr_judgement *report = &session->report;
    struct jr_arena *arena = &session->arena;
    session->ranks = jr_arena_array(arena, report->count, sizeof *session->ranks);
    for (size_t i = 0; i < report->count && session->ranks != NULL; i++) {
        const struct jr_rank_judgement *rank = &report->ranks[i];
        JR_BUF_CLEANUP struct jr_buf result = JR_BUF_INIT;
        if (rank->text == NULL && rank->result != NULL)
            jr_json_print(&result, rank->result, 0);
        session->ranks[i] = (struct jr_rank_result){
            .plan = &session->plan.ranks[session->plan.first + i],
            .outcome = &session->outcome.ranks[i],
            .state = rank->state,
            .result = rank->text != NULL     ? json_string_value(rank->text)
                      : rank->result != NULL ? jr_buf_keep(&result, arena)
                                             : NULL,
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

/* Launch and judge, attempt after attempt. The last one's outcome and report stay in the
 * session. */
static int run_attempts(struct jr_session *session, const struct jr_session_console *console,
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
    if (result == 0) {
        complete_run_folder(session);
        /* Slurm ends all processes of a job that it queues again: the command of `on_end` has its
         * time before that, unless the job's is over. */
        if (session->report.requeue.cause == JR_REQUEUE_PREEMPTED)
            ask_for_requeue(session);
        jr_on_end_start(session);
        if (session->due)
            jr_on_end_await(session, true);
        ask_for_requeue(session);
        jr_companion_release(&session->companion);
        result = fill_ranks(session, err);
    }
    jr_device_leases_release(&session->resolution);
    jr_session_show_rest(session);
    if (!session->on_end.deferred)
        jr_on_end_await(session, true);
    jr_between_attempts_close(&pause);
    return result;
}

enum jr_status jr_session_run(struct jr_session *session, const struct jr_session_console *console,
                              struct jr_error *err)
{
    JR_DECIMAL_POINT;
    enum jr_status status = JR_STATUS_OK;
    siginfo_t info;
    if (session->over)
        return JR_STATUS_OK;
    if (session->progress == JR_PROGRESS_DONE)
        return jr_session_misuse(err, "a session runs once");
    /* A run ends every descendant of this process: it cannot tell whose it was. */
    if (!session->options.end_children && session->controller == NULL &&
        waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
        return jr_session_misuse(err, "this process has children, which a run would end");
    if (!session->begun)
        status = jr_session_begin(session, err);
    if (status != JR_STATUS_OK || session->over)
        return status;
    session->progress = JR_PROGRESS_DONE;
    return run_attempts(session, console, err) == 0 ? JR_STATUS_OK : JR_STATUS_LAUNCH;
}

struct jr_session *jr_session_open(const struct jr_session_options *options)
{
    struct jr_session *session = calloc(1, sizeof *session);
    if (session == NULL)
        return NULL;
    *session = (struct jr_session){
        .resolution = JR_RESOLUTION_INIT,
        .dir = JR_RUN_FOLDER_INIT,
        .report = {.status = JR_RUN_LAUNCH_FAILED},
        .exit_code = JR_STATUS_LAUNCH,
    };
    if (options != NULL)
        session->options = *options;
    if (session->options.envp == NULL)
        session->options.envp = environ;
    return session;
}

void jr_session_close(struct jr_session *session)
{
    if (session == NULL)
        return;
    jr_companion_close(&session->companion);
    jr_controller_close(session->controller);
    jr_spares_release(session);
    jr_ssh_session_release(session);
    jr_judgement_release(&session->report);
    jr_outcome_release(&session->outcome);
    jr_artifacts_free(session->before);
    jr_run_tree_release(&session->run_tree);
    jr_freeze_release(session);
    json_decref(session->earlier);
    json_decref(session->values);
    jr_group_remove(&session->group);
    if (session->replays)
        jr_replay_close(&session->replay);
    jr_run_folder_close(&session->dir);
    jr_resolution_release(&session->resolution);
    jr_diags_release(&session->diags);
    jr_spec_free(session->file);
    jr_session_close_sweep(session);
    jr_history_release(&session->history);
    for (int i = 0; i < 2; i++)
        jr_arena_release(&session->plans[i]);
    jr_arena_release(&session->arena);
    free(session);
}
