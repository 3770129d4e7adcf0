/*
 * Opening the run folder, and writing the files that it begins with. internal.h declares it.
 *
 * A run may go on in another process: where the job of a scheduler was started again, this jobrun
 * takes up the job's own run folder, with the attempts that are in it, however the last of them
 * ended. Only the job's own folder is taken up: run.json has its number, and fewer restarts. Where
 * two processes come at once, mkdir(2) of the next attempt's folder decides. A run that succeeded
 * is over: nothing of it is run again.
 */
#include "session/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/draft_file.h"
#include "base/io.h"
#include "base/num.h"
#include "base/redact.h"
#include "base/strv.h"
#include "base/syscalls.h"
#include "doc/doc.h"
#include "judge/artifacts.h"
#include "judge/words.h"
#include "record/live_run.h"
#include "record/load_results.h"
#include "record/record_facts.h"
#include "record/record_folder.h"
#include "store/run_folder.h"
#include "store/events.h"
#include "store/progress.h"
#include "session/foreground.h"
#include "sweep/cells.h"

#include "base/banned.h"

/* What a rank's line in results.json takes, without its result and with it. */
enum { HEAD_BYTES = 16 << 10, LINE_BYTES = 1 << 10, RESULT_BYTES = 3 << 10 };
enum { RECORD_BYTES = 512 }; /* more than run.json had at the start */

#define MOST_RESERVED (UINT64_C(64) << 20)

/* How long another process has that has made the next attempt's folder, to say in run.json who it
 * is; else it is gone. */
enum { CLAIM_TRIES = 20, CLAIM_PAUSE_MS = 100, MOST_CLAIMS = 64 };

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
        for (size_t i = 0; i < loaded.report.earlier_count && failed == 0; i++) {
            struct jr_attempt earlier = loaded.report.earlier[i];
            place_in_time(&earlier, earlier.ended_ns);
            failed = jr_history_recall(&session->history, &earlier);
        }
        if (failed == 0)
            failed = recall_last(session, &loaded);
        jr_loaded_run_release(&loaded);
    }
    if (failed != 0 || run == NULL || whole)
        return failed;
    /* One that was killed before it could write its results. */
    json_t *progress = jr_record_folder_progress(session->dir.fd);
    const json_t *step = json_object_get(progress, "best");
    struct jr_attempt killed = {
        .number = attempt,
        .status = JR_RUN_LAUNCH_FAILED,
        .exit_code = JR_STATUS_LAUNCH,
        .requeued = true,
        .cause = "jobrun was killed",
        .started_wall_ns = jr_clock_ns_of(jr_json_get_real(run, "started")),
        .stepped = json_is_integer(step),
        .best = json_integer_value(step),
    };
    json_decref(progress);
    place_in_time(&killed, 0);
    return jr_history_recall(&session->history, &killed);
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

static int take_up(struct jr_session *session, struct jr_error *err)
{
    const struct jr_history *history = &session->history;
    uint32_t next;
    session->earlier = read_run(session);
    if (check_job(session, session->earlier, err) != 0)
        return -1;
    if (recall_history(session, session->earlier, &next) != 0)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    if (session->over) {
        struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
        session->progress = JR_PROGRESS_DONE;
        session->exit_code = JR_STATUS_OK;
        jr_buf_printf(&line,
                      "the run '%s' of job %s has succeeded: nothing is run again "
                      "(--run-id starts another one)",
                      session->dir.id, session->slurm.job);
        jr_session_note_buf(session, &line);
        return 0;
    }
    if (claim_attempt(session, next, err) != 0)
        return -1;
    /* The results were those of the attempt before: a run that has some is over. */
    if (history->count > 0) {
        char name[64];
        (void)snprintf(name, sizeof name, "attempt_%u/results.json",
                       history->items[history->count - 1].number);
        if (renameat(session->dir.fd, "results.json", session->dir.fd, name) != 0 &&
            errno != ENOENT)
            (void)unlinkat(session->dir.fd, "results.json", 0);
    }
    return 0;
}

static void note_continuation(const struct jr_session *session)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *before = jr_json_get_str(session->earlier, "fingerprint");
    jr_session_add_event(session, &(struct jr_event){.name = JR_EVENT_RESTART,
                                                     .attempt = session->attempt,
                                                     .master_port = session->plan.master_port});
    jr_buf_printf(&line, "job %s was started again: the run %s goes on with attempt %u",
                  session->slurm.name, session->dir.id, session->attempt);
    if (before != NULL && session->plan.fingerprint != NULL &&
        strcmp(before, session->plan.fingerprint) != 0)
        jr_buf_str(&line, "; its spec is not what it was: jobrun diff tells");
    jr_session_note_buf(session, &line);
}

/* A run that cannot even be written down leaves nothing: its id is free. */
static int write_input_files(struct jr_session *session, struct jr_error *err)
{
    const struct jr_source *source = jr_spec_doc(session->file)->source;
    struct jr_buf bytes = JR_BUF_INIT;
    const struct jr_job *job = &session->resolution.job;
    const struct jr_run_folder *dir = &session->dir;
    /* Those that the judgement is to be written into: where the disk takes no more files later,
     * they are there. */
    if (jr_draft_file_reserve(dir->fd, "results.json", 0, dir->file_mode, err) != 0 ||
        jr_draft_file_reserve(dir->fd, "run.json", 0, dir->file_mode, err) != 0)
        return -1;
    jr_buf_add(&bytes, source->text, source->len);
    jr_redact_refer(&bytes, 0, job->hidden, job->hidden_names);
    if (jr_session_write(session, "spec.yaml", &bytes, err) != 0)
        return -1;
    jr_resolution_emit(&bytes, &session->resolution, session->file);
    if (jr_session_write(session, "resolved.yaml", &bytes, err) != 0)
        return -1;
    jr_resolution_explain(&bytes, &session->resolution, true);
    if (jr_session_write(session, "explain.json", &bytes, err) != 0 ||
        jr_session_write_plan(session, err) != 0)
        return -1;
    return jr_session_write_record(session, err);
}

/* Choose the id and make the folder. A generated id can be taken by another run of the same second:
 * then it gets another suffix. */
static int make_run_folder(struct jr_session *session, struct jr_error *err)
{
    const struct jr_job *job = &session->resolution.job;
    const char *id = session->options.run_id;
    char generated[128];
    if (jr_requeue_keeps_run(session)) {
        int found = 1;
        session->attempt = 0;
        if (id == NULL)
            id = jr_arena_printf(&session->arena, "%s-%s", job->name, session->slurm.job);
        if (id == NULL)
            return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
        if (session->slurm.restarts > 0)
            found =
                jr_run_folder_continue(&session->dir, job->log_dir, id, job->policy->log_mode, err);
        if (found == 0)
            return take_up(session, err);
        return found < 0 ? -1
                         : jr_run_folder_create(&session->dir, job->log_dir, id, true,
                                                job->policy->log_mode, err);
    }
    if (session->part)
        return jr_run_folder_create_part(&session->dir, job->log_dir, id, job->node_rank,
                                         job->policy->log_mode, err);
    if (id == NULL)
        jr_run_folder_id(generated, job->name);
    return jr_run_folder_create(&session->dir, job->log_dir, id != NULL ? id : generated,
                                id != NULL, job->policy->log_mode, err);
}

/* `vars` and `labels` of the spec, by which runs are found again, without strings that hold
 * secrets, or whose names are those of secrets. */
static void fill_values(struct jr_session *session)
{
    static const char *const keys[] = {"vars", "labels"};
    const struct jr_plan *plan = &session->plan;
    const char *name;
    json_t *value;
    void *next;
    if (session->values == NULL)
        session->values = json_object();
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct jr_node *node = jr_doc_get(jr_spec_doc(session->file)->root, keys[i]);
        if (node == NULL || node->kind != JR_NODE_MAPPING)
            continue;
        json_t *object = jr_cell_value_json(node);
        json_object_foreach_safe(object, next, name, value)
        {
            const char *text = json_string_value(value);
            if (jr_env_matches(plan->secrets, plan->secrets_count, name, strlen(name)))
                jr_json_set_str(object, name, JR_REDACTED);
            else if (text != NULL)
                jr_json_set_str(object, name, jr_redact_copy(&session->arena, text, plan->hidden));
        }
        jr_json_set(session->values, keys[i], object);
    }
    session->record.values = session->values;
}

/* The part of run.json about this process and the spec. */
static int fill_begin_record(struct jr_session *session, struct jr_error *err)
{
    struct jr_record_facts *record = &session->record;
    if (jr_record_facts_fill(record, &session->arena, &session->plan, session->machine) != 0)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    record->spec = session->options.rerun_of == NULL ? session->spec_name : NULL;
    record->spec_folder = jr_spec_folder_of(session->file);
    record->rerun_of = session->options.rerun_of;
    fill_values(session);
    record->local = session->options.local;
    if (session->cells_dir != NULL)
        record->run_id = session->dir.id;
    record->any_devices = session->resolution.job.devices_any;
    record->attempt = session->attempt;
    record->job = session->slurm.job;
    record->job_restarts = session->slurm.restarts;
    /* The control group of the ranks here. Parts of one run may share a machine. */
    const char *group = session->dir.id;
    if (session->part)
        group = jr_arena_printf(&session->arena, "%s.%u", group, session->resolution.job.node_rank);
    if (session->controller == NULL && group != NULL && session->group_home != NULL)
        jr_group_make_in(&session->group, session->group_home, group);
    else if (session->controller == NULL && group != NULL)
        jr_group_make(&session->group, group);
    if (session->group.path[0] != '\0')
        record->cgroup = session->group.path;
    return 0;
}

/* A rank that was named must be one that this machine starts. */
static int check_rank(const struct jr_session *session, const uint32_t *rank, const char *option,
                      struct jr_error *err)
{
    const struct jr_job *job = &session->resolution.job;
    uint32_t first = session->options.local ? 0 : job->rank_start;
    uint32_t count =
        session->options.local ? job->world_size : job->local_world_sizes[job->node_rank];
    if (rank == NULL || *rank - first < count)
        return 0;
    return jr_error_set(err, JR_STATUS_USAGE, "%s %u: this machine starts ranks %u to %u%s", option,
                        *rank, first, first + count - 1,
                        session->part && *rank < job->world_size
                            ? "; use it on the node of that rank, or start all "
                              "ranks here with --local"
                            : "");
}

/* Only the user can tell the nodes what they have in common. */
static int check_id(const struct jr_session *session, struct jr_error *err)
{
    const struct jr_job *job = &session->resolution.job;
    const char *number = session->host.scheduler.job_id;
    if (session->options.run_id != NULL || !session->part)
        return 0;
    if (number == NULL || !jr_run_folder_is_id(number))
        number = "1";
    return jr_error_set(err, JR_STATUS_USAGE,
                        "node %u of %u: when each node has its own jobrun, they need a --run-id "
                        "that is the same on all nodes and new for each run (--run-id %s-%s)",
                        job->node_rank, job->nodes, job->name, number);
}

/* A person who debugs a rank needs time without a limit. */
static int prepare_debug(struct jr_session *session, struct jr_error *err)
{
    struct jr_job *job = &session->resolution.job;
    const struct jr_session_options *options = &session->options;
    if (check_rank(session, options->debug_rank, "--debug", err) != 0 ||
        check_rank(session, options->stdin_rank, "--stdin", err) != 0)
        return -1;
    if (options->debug_rank == NULL)
        return 0;
    struct jr_policy *policy = jr_arena_array(&session->arena, 1, sizeof *policy);
    if (policy == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    *policy = *job->policy;
    policy->timeouts = (struct jr_timeouts){.stop_grace_ms = job->policy->timeouts.stop_grace_ms};
    policy->restart = (struct jr_restart){0};
    job->policy = policy;
    return 0;
}

/* Reserve space on the disk for the judgement. */
static void reserve_space(const struct jr_session *session)
{
    const struct jr_run_folder *dir = &session->dir;
    const struct jr_plan *plan = &session->plan;
    bool delivers = plan->returns || plan->policy->results.stated;
    uint64_t line = LINE_BYTES + (delivers ? RESULT_BYTES : 0);
    uint64_t bytes = HEAD_BYTES + line * plan->count;
    struct stat st;
    if (fstatat(dir->fd, "run.json", &st, AT_SYMLINK_NOFOLLOW) == 0)
        (void)jr_draft_file_reserve(dir->fd, "run.json", (uint64_t)st.st_size + RECORD_BYTES,
                                    dir->file_mode, NULL);
    (void)jr_draft_file_reserve(dir->fd, "results.json",
                                bytes < MOST_RESERVED ? bytes : MOST_RESERVED, dir->file_mode,
                                NULL);
}

/* Resolve, with the facts of all nodes where this is their controller; and let them hold it against
 * their own. */
static enum jr_status resolve_session(struct jr_session *session, struct jr_error *err)
{
    enum jr_status status = JR_STATUS_OK;
    if (session->progress == JR_PROGRESS_LOADED && !session->facts)
        status = jr_session_facts(session, NULL, err);
    if (status == JR_STATUS_OK && session->progress == JR_PROGRESS_LOADED)
        status = jr_session_connect_agents(session, err);
    if (status == JR_STATUS_OK)
        status = jr_session_resolve(session, err);
    if (status == JR_STATUS_OK)
        status = jr_session_send_spec(session, err);
    if (status != JR_STATUS_OK && session->controller != NULL &&
        session->progress == JR_PROGRESS_RESOLVED && jr_spares_settle(session, err) == 0)
        status = JR_STATUS_OK;
    return status;
}

enum jr_status jr_session_begin(struct jr_session *session, struct jr_error *err)
{
    JR_DECIMAL_POINT;
    const char *log_dir = session->cells_dir; /* the sweep has looked at all of them */
    struct jr_error why = {0};
    if (session->options.dry_run || session->options.check)
        return jr_session_misuse(err, "nothing is run in a session that is dry or only checks");
    enum jr_status status = resolve_session(session, err);
    if (status != JR_STATUS_OK)
        return status;
    jr_session_find_part(session);
    jr_requeue_find_job(session);
    if (check_id(session, &why) != 0 || jr_session_check_meeting(session, &why) != 0 ||
        prepare_debug(session, &why) != 0 || jr_freeze_find(session, &why) != 0)
        return jr_session_fail(err, &why);
    if (log_dir != NULL)
        session->resolution.job.log_dir = log_dir;
    else
        jr_lost_sweep_all(session->resolution.job.log_dir, jr_session_note_line, session);
    if (make_run_folder(session, &why) != 0)
        return jr_session_fail(err, &why);
    if (session->over)
        return JR_STATUS_OK;
    jr_freeze_plan_copy(session);
    status = jr_session_plan_as(session, session->dir.id, err);
    if (status != JR_STATUS_OK) {
        jr_run_folder_discard(&session->dir);
        return status;
    }
    jr_device_leases_note(&session->resolution, session->plan.run_id);
    if (fill_begin_record(session, err) != 0)
        return JR_STATUS_LAUNCH;
    if (write_input_files(session, &why) != 0) {
        jr_run_folder_discard(&session->dir);
        (void)jr_error_set(err, why.status, "%s: %s", session->resolution.job.log_dir, why.text);
        return JR_STATUS_LAUNCH;
    }
    if (jr_session_record_code(session, &why) != 0) {
        jr_run_folder_discard(&session->dir);
        return jr_session_fail(err, &why);
    }
    if ((session->run_tree.work_tree || session->frozen.copy != NULL) &&
        jr_session_write_record(session, &why) != 0)
        jr_session_note(session, why.text);
    reserve_space(session);
    if (log_dir == NULL && jr_run_folder_latest(&session->dir, &why) != 0)
        jr_session_note(session, why.text);
    if (jr_artifacts_before(&session->before, &session->plan, session->dir.fd, err) != 0)
        return JR_STATUS_LAUNCH;
    if (session->dir.kept)
        note_continuation(session);
    session->begun = true;
    return JR_STATUS_OK;
}
