#include "session/begin.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/num.h"
#include "base/redact.h"
#include "base/strv.h"
#include "doc/doc.h"
#include "judge/artifacts.h"
#include "plan/plan_print.h"
#include "record/live_run.h"
#include "record/record_facts.h"
#include "session/continuation.h"
#include "session/findings_text.h"
#include "session/multinode_session.h"
#include "session/requeue.h"
#include "session/session.h"
#include "session/session_code.h"
#include "session/spares.h"
#include "session/stages.h"
#include "session/write_judgement.h"
#include "sweep/cells.h"

#include "base/banned.h"

int jr_session_write(struct jr_session *session, const char *name, struct jr_buf *bytes,
                     struct jr_error *err)
{
    int failed = bytes->failed ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory")
                               : jr_run_folder_write(&session->dir, name, bytes, err);
    jr_buf_release(bytes);
    return failed;
}

int jr_session_write_record(struct jr_session *session, struct jr_error *err)
{
    struct jr_buf bytes = JR_BUF_INIT;
    session->dir.unread = false;
    jr_record_run_json(&bytes, &session->record);
    return jr_session_write(session, "run.json", &bytes, err);
}

/* A text on its way into a file: of many ranks, it is larger than all else that is in memory. */
struct file_stream {
    int fd, error; /* 0: so far all was written */
};

static int write_piece(void *data, struct jr_buf *text)
{
    struct file_stream *file_stream = data;
    if (jr_io_write_all(file_stream->fd, text->data, text->len) != 0)
        file_stream->error = errno;
    jr_buf_clear(text);
    return file_stream->error;
}

int jr_session_stream_fd(const struct jr_session *session, int fd, jr_session_printer *print)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct file_stream file_stream = {fd, 0};
    const struct jr_drain drain = {write_piece, &file_stream};
    print(&text, session, &drain);
    errno = text.failed ? ENOMEM : file_stream.error;
    return errno == 0 ? 0 : -1;
}

/* What is recorded about a session, and by which user. */
struct session_text {
    const struct jr_session *session;
    jr_session_printer *print;
};

static int write_session_text(void *data, int fd)
{
    const struct session_text *session_text = data;
    return jr_session_stream_fd(session_text->session, fd, session_text->print);
}

int jr_session_stream(const struct jr_session *session, int dir_fd, const char *name,
                      jr_session_printer *print, struct jr_error *err)
{
    struct session_text session_text = {session, print};
    const struct jr_io_source source = {write_session_text, &session_text};
    bool make = session->dir.unread && dir_fd == session->dir.fd;
    return (make ? jr_io_make_from : jr_io_replace_from)(dir_fd, name, &source,
                                                         session->dir.file_mode, err);
}

static void write_plan(struct jr_buf *out, const struct jr_session *session,
                       const struct jr_drain *drain)
{
    jr_plan_json(out, &session->plan, drain);
}

int jr_session_write_plan(struct jr_session *session, struct jr_error *err)
{
    return jr_session_stream(session, session->dir.fd, "plan.json", write_plan, err);
}

static int write_input_files(struct jr_session *session, struct jr_error *err)
{
    const struct jr_source *source = jr_spec_doc(session->file)->source;
    struct jr_buf bytes = JR_BUF_INIT;
    const struct jr_job *job = &session->resolution.job;
    if (jr_session_reserve_names(session, err) != 0)
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

/* A run that cannot even be written down leaves nothing: its id is free. */
static int write_inputs(struct jr_session *session, struct jr_error *err)
{
    struct jr_error why = {0};
    if (write_input_files(session, &why) == 0)
        return 0;
    jr_run_folder_discard(&session->dir);
    return jr_error_set(err, why.status, "%s: %s", session->resolution.job.log_dir, why.text);
}

/* Choose the id and make the folder. A generated id can be taken by another run of the same second:
 * then it gets another suffix. */
static int make_run_folder(struct jr_session *session, struct jr_error *err)
{
    const struct jr_job *job = &session->resolution.job;
    const char *id = session->options.run_id;
    char generated[128];
    if (jr_requeue_keeps_run(session))
        return jr_continuation_open(session, err);
    if (session->part)
        return jr_run_folder_create_part(&session->dir, job->log_dir, id, job->node_rank,
                                         job->policy->log_mode, err);
    if (id == NULL)
        jr_run_folder_id(generated, job->name);
    return jr_run_folder_create(&session->dir, job->log_dir, id != NULL ? id : generated,
                                id != NULL, job->policy->log_mode, err);
}

static enum jr_status open_folder(struct jr_session *session, struct jr_error *err)
{
    struct jr_error why = {0};
    if (make_run_folder(session, &why) != 0) {
        (void)jr_error_set(err, why.status, "%s", why.text);
        return why.status;
    }
    if (session->over)
        return JR_STATUS_OK;
    jr_freeze_plan_copy(session);
    enum jr_status status = jr_session_plan_as(session, session->dir.id, err);
    if (status != JR_STATUS_OK)
        jr_run_folder_discard(&session->dir);
    return status;
}

/* The control group of the ranks here. Parts of one run may share a machine. */
static void make_session_group(struct jr_session *session)
{
    const char *id = session->dir.id;
    if (session->part)
        id = jr_arena_printf(&session->arena, "%s.%u", id, session->resolution.job.node_rank);
    if (session->controller != NULL || id == NULL)
        return;
    if (session->group_home != NULL)
        jr_group_make_in(&session->group, session->group_home, id);
    else
        jr_group_make(&session->group, id);
}

/* Take the strings of an object that hold secrets, or whose names are those of secrets, out of
 * it. */
static void hide_values(struct jr_session *session, json_t *object)
{
    const struct jr_plan *plan = &session->plan;
    const char *name;
    json_t *value;
    void *next;
    json_object_foreach_safe(object, next, name, value)
    {
        const char *text = json_string_value(value);
        if (jr_env_matches(plan->secrets, plan->secrets_count, name, strlen(name)))
            jr_json_set_str(object, name, JR_REDACTED);
        else if (text != NULL)
            jr_json_set_str(object, name, jr_redact_copy(&session->arena, text, plan->hidden));
    }
}

/* `vars` and `labels` of the spec, by which runs are found again. */
static void fill_values(struct jr_session *session)
{
    static const char *const keys[] = {"vars", "labels"};
    const struct jr_node *root = jr_spec_doc(session->file)->root;
    if (session->values == NULL)
        session->values = json_object();
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct jr_node *node = jr_doc_get(root, keys[i]);
        if (node == NULL || node->kind != JR_NODE_MAPPING)
            continue;
        json_t *object = jr_cell_value_json(node);
        hide_values(session, object);
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
    make_session_group(session);
    if (session->group.path[0] != '\0')
        record->cgroup = session->group.path;
    return 0;
}

static void note_begin_line(void *data, const char *line)
{
    jr_session_note(data, line);
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
        status = jr_session_ensure_resolved(session, err);
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
    struct jr_error why = {0};
    if (session->options.dry_run || session->options.check) {
        (void)jr_error_set(err, JR_STATUS_USAGE,
                           "nothing is run in a session that is dry or only checks");
        return JR_STATUS_USAGE;
    }
    enum jr_status status = resolve_session(session, err);
    if (status != JR_STATUS_OK)
        return status;
    jr_session_find_part(session);
    jr_requeue_find_job(session);
    if (check_id(session, &why) != 0 || jr_session_check_meeting(session, &why) != 0 ||
        prepare_debug(session, &why) != 0 || jr_freeze_find(session, &why) != 0) {
        (void)jr_error_set(err, why.status, "%s", why.text);
        return why.status;
    }
    if (session->cells_dir != NULL) /* the sweep has looked at all of them */
        session->resolution.job.log_dir = session->cells_dir;
    else
        jr_lost_sweep_all(session->resolution.job.log_dir, note_begin_line, session);
    status = open_folder(session, err);
    if (status != JR_STATUS_OK || session->over)
        return status;
    jr_device_leases_note(&session->resolution, session->plan.run_id);
    if (fill_begin_record(session, err) != 0 || write_inputs(session, err) != 0)
        return JR_STATUS_LAUNCH;
    if (jr_session_record_code(session, &why) != 0) {
        jr_run_folder_discard(&session->dir);
        (void)jr_error_set(err, why.status, "%s", why.text);
        return why.status;
    }
    if ((session->run_tree.work_tree || session->frozen.copy != NULL) &&
        jr_session_write_record(session, &why) != 0)
        jr_session_note(session, why.text);
    jr_session_reserve(session);
    if (session->cells_dir == NULL && jr_run_folder_latest(&session->dir, &why) != 0)
        jr_session_note(session, why.text);
    if (jr_artifacts_before(&session->before, &session->plan, session->dir.fd, err) != 0)
        return JR_STATUS_LAUNCH;
    if (session->dir.kept)
        jr_continuation_note(session);
    session->begun = true;
    return JR_STATUS_OK;
}
