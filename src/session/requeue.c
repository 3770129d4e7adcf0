#include "session/requeue.h"

#include <string.h>

#include "base/strv.h"
#include "cluster/controller.h"
#include "session/findings_text.h"
#include "session/stages.h"
#include "session/write_judgement.h"

#include "base/banned.h"

/* How long Slurm's controller may take, which may be busy or starting anew. */
enum { SHOW_MS = 10000, REQUEUE_MS = 30000 };

/* A task of an array has a number of its own, and is meant by that of the array: the number alone
 * may mean all of them. */
static const char *job_name(struct jr_session *session, const char *job)
{
    char *const *envp = session->options.envp;
    const char *array = jr_env_get(envp, "SLURM_ARRAY_JOB_ID");
    const char *task = jr_env_get(envp, "SLURM_ARRAY_TASK_ID");
    if (array == NULL || task == NULL)
        return job;
    return jr_arena_printf(&session->arena, "%s_%s", array, task);
}

void jr_requeue_find_job(struct jr_session *session)
{
    const struct jr_host_scheduler *scheduler = &session->host.scheduler;
    const char *job = jr_env_get(session->options.envp, "SLURM_JOB_ID");
    bool real = session->host.real || session->controller != NULL;
    /* The cells of a sweep share the job, which is not one of theirs alone, unless each was
     * submitted as a task of an array. */
    bool shared = session->cells_dir != NULL && !session->submitted;
    if (!real || session->options.local || session->part || shared || job == NULL ||
        scheduler->name == NULL || strstr(scheduler->name, "Slurm") == NULL ||
        job[strspn(job, "0123456789")] != '\0' || job[0] == '\0')
        return;
    session->slurm = (struct jr_slurm_self){
        .job = job,
        .name = job_name(session, job),
        .restarts = scheduler->restarts,
        .envp = session->options.envp,
    };
    if (session->slurm.name == NULL)
        session->slurm.job = NULL;
}

bool jr_requeue_shields(const struct jr_session *session)
{
    const struct jr_deadline *deadline = &session->plan.policy->deadline;
    return deadline->before_ms > 0 && strcmp(deadline->signal, "TERM") != 0 &&
           jr_env_get(session->options.envp, "SLURM_JOB_ID") != NULL;
}

bool jr_requeue_keeps_run(const struct jr_session *session)
{
    return session->slurm.job != NULL &&
           (session->resolution.job.policy->requeue.max > 0 || session->submitted);
}

bool jr_requeue_plan(struct jr_session *session)
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

/* One call, to its end. Returns NULL, or why there is no answer. */
static const char *call_scontrol(const struct jr_session *session, const char *verb,
                                 unsigned limit_ms, struct jr_buf *out)
{
    struct jr_slurm_call call;
    if (jr_slurm_call_start(&call, &session->slurm, verb, limit_ms) != 0)
        return "could not be started";
    return jr_slurm_call_finish(&call, out);
}

/* The same of `show`, which can be asked again. */
static const char *call_show(const struct jr_session *session, struct jr_buf *out)
{
    const char *why = NULL;
    for (int i = 0; i < JR_SLURM_TRIES; i++) {
        jr_buf_clear(out);
        why = call_scontrol(session, "show", SHOW_MS, out);
        if (!jr_slurm_call_was_killed(why))
            break;
    }
    return why;
}

/* What may be queued again: the job as it runs, or as it was taken away. One that somebody has
 * cancelled is not, and one that is in the queue is there. */
static bool is_queueable(const char *state)
{
    static const char *const states[] = {"RUNNING", "SIGNALING", "PREEMPTED", "NODE_FAIL",
                                         "CONFIGURING"};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (strcmp(states[i], state) == 0)
            return true;
    return false;
}

/* Why the job is not to be queued again, or NULL: it is, or is already (*ret_there). */
static const char *look_at_job(struct jr_session *session, bool *ret_there)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_slurm_job job;
    const char *job_id = session->slurm.job;
    const char *silent = call_show(session, &text);
    *ret_there = false;
    if (silent == NULL && !jr_slurm_job_read(&job, text.data, text.len, job_id))
        silent = "did not say what the job is doing";
    if (silent != NULL)
        return jr_arena_printf(&session->arena, "scontrol show job %s %s", session->slurm.name,
                               silent);
    if (job.restarts > session->slurm.restarts) {
        *ret_there = true;
        return NULL;
    }
    return is_queueable(job.state)
               ? NULL
               : jr_arena_printf(&session->arena, "Slurm has job %s as %s", job_id, job.state);
}

/* "scontrol requeue 12 refused: Requested operation is presently disabled" */
static const char *describe_refusal(struct jr_session *session, const char *why,
                                    const struct jr_buf *said)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    size_t len = said->len == 0 ? 0 : strcspn(said->data, "\n");
    jr_buf_printf(&line, "scontrol requeue %s %s", session->slurm.name, why);
    if (len > 0) {
        jr_buf_str(&line, ": ");
        jr_buf_escaped(&line, said->data, len < 200 ? len : 200);
    }
    return jr_buf_keep(&line, &session->arena);
}

/* Why it was not queued again; NULL: it was. A call that Slurm has ended with the job may have come
 * through. */
static const char *queue_again(struct jr_session *session)
{
    const char *why = NULL;
    for (int i = 0; i < JR_SLURM_TRIES; i++) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        bool there;
        why = look_at_job(session, &there);
        if (why != NULL || there)
            return why;
        why = call_scontrol(session, "requeue", REQUEUE_MS, &text);
        if (why == NULL)
            return NULL;
        bool killed = jr_slurm_call_was_killed(why);
        why = describe_refusal(session, why, &text);
        if (!killed)
            break;
    }
    return why != NULL ? why : "out of memory";
}

/* A job that lost a node has failed, where it is not continued. */
static void take_back(struct jr_session *session, const char *why)
{
    struct jr_judgement *report = &session->report;
    report->requeue.queued = false;
    report->not_again = jr_arena_printf(&report->arena, "it is not queued again: %s", why);
    if (report->requeue.cause == JR_REQUEUE_LOST_NODE) {
        report->status = JR_RUN_FAILED;
        report->exit_code = JR_STATUS_FAILED;
        report->requeue.cause = JR_REQUEUE_NONE;
    }
    jr_session_write_judgement(session);
}

void jr_requeue_ask(struct jr_session *session)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    if (!session->due)
        return;
    session->due = false;
    const char *why = queue_again(session);
    if (why != NULL) {
        take_back(session, why);
        return;
    }
    jr_buf_printf(&line, "job %s is queued again (requeue %u of %u)", session->slurm.name,
                  session->report.requeue.done + 1, session->report.requeue.max);
    jr_session_note_buf(session, &line);
}
