#include "session/continuation.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/syscalls.h"
#include "base/num.h"
#include "judge/words.h"
#include "record/load_results.h"
#include "record/record_folder.h"
#include "session/findings_text.h"
#include "session/stages.h"
#include "store/attempt_folder.h"
#include "store/events.h"
#include "store/progress.h"

#include "base/banned.h"

/* How long another process has that has made the next attempt's folder, to say in run.json who it
 * is; else it is gone. */
enum { CLAIM_TRIES = 20, CLAIM_PAUSE_MS = 100, MOST_CLAIMS = 64 };

static const char *run_id_of(struct jr_session *session)
{
    const char *id = session->options.run_id;
    if (id != NULL)
        return id;
    return jr_arena_printf(&session->arena, "%s-%s", session->resolution.job.name,
                           session->slurm.job);
}

/* run.json as it is now. NULL: there is none, for the start before was killed first. */
static json_t *read_run(const struct jr_session *session)
{
    return jr_record_folder_json(session->dir.fd, "run.json", NULL);
}

/* Whether the record is of an earlier start of this job. */
static int check_job(const struct jr_session *session, const json_t *run, struct jr_error *err)
{
    const json_t *job = json_object_get(run, "job");
    const char *id = jr_json_get_str(job, "id");
    if (run == NULL)
        return 0;
    if (id == NULL || strcmp(id, session->slurm.job) != 0)
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "the run '%s' in %s is %s%.32s, and this is job %s, which may only "
                            "continue its own: give another --run-id",
                            session->dir.id, session->resolution.job.log_dir,
                            id == NULL ? "no job's" : "that of job ", id == NULL ? "" : id,
                            session->slurm.job);
    if (jr_json_get_u32(job, "restarts") >= session->slurm.restarts)
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "the run '%s' in %s is already that of this start of job %s: give "
                            "each jobrun of the job a --run-id of its own",
                            session->dir.id, session->resolution.job.log_dir, session->slurm.job);
    return 0;
}

/* By this machine's clock, which may have begun later than the attempt: only differences of these
 * times are ever used. */
static void place_in_time(struct jr_attempt *attempt, uint64_t lasted_ns)
{
    uint64_t ago_ns = jr_clock_wall_ns() - attempt->started_wall_ns;
    attempt->started_ns = jr_clock_ns() - ago_ns;
    attempt->ended_ns = attempt->started_ns + lasted_ns;
}

static int recall_earlier(struct jr_session *session, const struct jr_loaded_run *loaded)
{
    int failed = 0;
    for (size_t i = 0; i < loaded->report.earlier_count && failed == 0; i++) {
        struct jr_attempt attempt = loaded->report.earlier[i];
        place_in_time(&attempt, attempt.ended_ns);
        failed = jr_history_recall(&session->history, &attempt);
    }
    return failed;
}

/* The attempt that the results are about. */
static int recall_last(struct jr_session *session, const struct jr_loaded_run *loaded)
{
    const struct jr_judgement *report = &loaded->report;
    const struct jr_outcome *outcome = &loaded->outcome;
    const json_t *step = json_object_get(json_object_get(loaded->json, "progress"), "best");
    struct jr_buf cause JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *why = jr_json_get_str(json_object_get(loaded->json, "root_cause"), "message");
    if (report->requeue.cause != JR_REQUEUE_NONE)
        jr_words_yield(&cause, report->requeue.cause, outcome);
    else
        jr_buf_str(&cause, why != NULL ? why : jr_run_status_word(report->status));
    struct jr_attempt attempt = {
        .number = loaded->plan.attempt,
        .status = report->status,
        .exit_code = report->exit_code,
        .continues = report->requeue.cause,
        .requeued = true,
        .cause = cause.failed ? "" : cause.data,
        .started_wall_ns = outcome->started_wall_ns,
        .stepped = json_is_integer(step),
        .best = json_integer_value(step),
    };
    place_in_time(&attempt, outcome->ended_ns - outcome->started_ns);
    return jr_history_recall(&session->history, &attempt);
}

/* One that was killed before it could write its results. */
static int recall_killed(struct jr_session *session, const json_t *run)
{
    json_t *progress = jr_record_folder_progress(session->dir.fd);
    const json_t *step = json_object_get(progress, "best");
    struct jr_attempt attempt = {
        .number = jr_json_get_u32(run, "attempt"),
        .status = JR_RUN_LAUNCH_FAILED,
        .exit_code = JR_STATUS_LAUNCH,
        .requeued = true,
        .cause = "jobrun was killed",
        .started_wall_ns = jr_clock_ns_of(jr_json_get_real(run, "started")),
        .stepped = json_is_integer(step),
        .best = json_integer_value(step),
    };
    json_decref(progress);
    place_in_time(&attempt, 0);
    return jr_history_recall(&session->history, &attempt);
}

/* Load the results of the run, or of the last attempt that has any; false:
 * there are none. */
static bool load_last_results(struct jr_session *session, uint32_t attempt,
                              struct jr_loaded_run *ret)
{
    const char *log_dir = session->resolution.job.log_dir;
    char name[64];
    if (jr_loaded_run_load(ret, session->dir.fd, "results.json", log_dir, session->dir.id, NULL) ==
        0)
        return true;
    for (uint32_t i = attempt; i-- > 0;) {
        (void)snprintf(name, sizeof name, "attempt_%u/results.json", i);
        if (jr_access(session->dir.fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            return jr_loaded_run_load(ret, session->dir.fd, name, log_dir, session->dir.id, NULL) ==
                   0;
    }
    return false;
}

/* What is known of the attempts so far; *ret_next is the next one's number. */
static int recall_history(struct jr_session *session, const json_t *run, uint32_t *ret_next)
{
    struct jr_loaded_run loaded;
    uint32_t attempt = jr_json_get_u32(run, "attempt");
    int failed = 0;
    bool found = load_last_results(session, attempt, &loaded), whole = false;
    *ret_next = run == NULL ? 0 : attempt + 1;
    if (found) {
        whole = loaded.plan.attempt >= attempt;
        if (loaded.plan.attempt >= *ret_next)
            *ret_next = loaded.plan.attempt + 1;
        session->over = loaded.report.status == JR_RUN_SUCCEEDED && whole;
        failed = recall_earlier(session, &loaded);
        if (failed == 0)
            failed = recall_last(session, &loaded);
        jr_loaded_run_release(&loaded);
    }
    if (failed == 0 && run != NULL && !whole)
        failed = recall_killed(session, run);
    return failed;
}

/* Whether somebody else has taken up the run, with this attempt or a later one; a while is given to
 * say so. */
static bool is_taken_up(struct jr_session *session, uint32_t attempt)
{
    const struct timespec pause = {.tv_nsec = CLAIM_PAUSE_MS * 1000000};
    for (int i = 0; i < CLAIM_TRIES; i++) {
        json_t *run = read_run(session);
        bool taken = run != NULL && jr_json_get_u32(run, "attempt") >= attempt;
        json_decref(run);
        if (taken)
            return true;
        (void)nanosleep(&pause, NULL);
    }
    return false;
}

/* Make the folder of the next attempt, which nobody else makes. */
static int claim_attempt(struct jr_session *session, uint32_t next, struct jr_error *err)
{
    for (int i = 0; i < MOST_CLAIMS; i++, next++) {
        int failed = jr_attempt_folder_claim(&session->dir, next, err);
        session->attempt = next;
        if (failed <= 0)
            return failed;
        if (!is_taken_up(session, next))
            continue; /* by one that was killed at once */
        json_t *run = read_run(session);
        failed = check_job(session, run, err);
        json_decref(run);
        if (failed != 0)
            return -1;
    }
    return jr_error_set(err, JR_STATUS_LAUNCH,
                        "the run '%s' has folders of attempts that nobody "
                        "made: it is not continued",
                        session->dir.id);
}

/* The results were those of the attempt before: a run that has some is over. */
static void move_results(const struct jr_session *session)
{
    const struct jr_history *history = &session->history;
    char name[64];
    if (history->count == 0)
        return;
    (void)snprintf(name, sizeof name, "attempt_%u/results.json",
                   history->items[history->count - 1].number);
    if (renameat(session->dir.fd, "results.json", session->dir.fd, name) != 0 && errno != ENOENT)
        (void)unlinkat(session->dir.fd, "results.json", 0);
}

static void note_success(const struct jr_session *session)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&line,
                  "the run '%s' of job %s has succeeded: nothing is run again "
                  "(--run-id starts another one)",
                  session->dir.id, session->slurm.job);
    jr_session_note_buf(session, &line);
}

static int take_up(struct jr_session *session, struct jr_error *err)
{
    uint32_t next;
    session->earlier = read_run(session);
    if (check_job(session, session->earlier, err) != 0)
        return -1;
    if (recall_history(session, session->earlier, &next) != 0)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    if (session->over) {
        session->progress = JR_PROGRESS_DONE;
        session->exit_code = JR_STATUS_OK;
        note_success(session);
        return 0;
    }
    if (claim_attempt(session, next, err) != 0)
        return -1;
    move_results(session);
    return 0;
}

int jr_continuation_open(struct jr_session *session, struct jr_error *err)
{
    const struct jr_job *job = &session->resolution.job;
    const char *id = run_id_of(session);
    int found = 1;
    session->attempt = 0;
    if (id == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    if (session->slurm.restarts > 0)
        found = jr_run_folder_continue(&session->dir, job->log_dir, id, job->policy->log_mode, err);
    if (found < 0)
        return -1;
    if (found == 0)
        return take_up(session, err);
    return jr_run_folder_create(&session->dir, job->log_dir, id, true, job->policy->log_mode, err);
}

bool jr_continuation_keeps_code(struct jr_session *session)
{
    struct jr_record_code code;
    struct stat st;
    const char *copy = session->frozen.copy;
    if (!session->dir.kept || copy == NULL || lstat(copy, &st) != 0)
        return false;
    if (S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
        jr_record_code_read(&code, &session->arena, session->earlier) && code.frozen &&
        code.tree != NULL) {
        session->record.code = code;
        return true;
    }
    jr_freeze_discard(session); /* it was killed while it made the copy */
    return false;
}

void jr_continuation_note(const struct jr_session *session)
{
    struct jr_events events;
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *before = jr_json_get_str(session->earlier, "fingerprint");
    jr_events_open(&events, session->dir.fd, session->dir.file_mode);
    jr_events_add(&events, &(struct jr_event){.name = JR_EVENT_RESTART,
                                              .attempt = session->attempt,
                                              .master_port = session->plan.master_port});
    jr_events_close(&events);
    jr_buf_printf(&line, "job %s was started again: the run %s goes on with attempt %u",
                  session->slurm.name, session->dir.id, session->attempt);
    if (before != NULL && session->plan.fingerprint != NULL &&
        strcmp(before, session->plan.fingerprint) != 0)
        jr_buf_str(&line, "; its spec is not what it was: jobrun diff tells");
    jr_session_note_buf(session, &line);
}
