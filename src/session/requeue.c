/*
 * A job of Slurm's that is to be continued asks for its place in the queue. internal.h declares it.
 */
#include "session/internal.h"

#include <string.h>

#include "base/strv.h"

#include "base/banned.h"

/* How long Slurm's controller may take, which may be busy or starting anew. */
enum { SHOW_MS = 10000, REQUEUE_MS = 30000 };

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
    /* A task of an array has a number of its own, and is meant by that of the array: the number
     * alone may mean all of them. */
    const char *array = jr_env_get(session->options.envp, "SLURM_ARRAY_JOB_ID");
    const char *task = jr_env_get(session->options.envp, "SLURM_ARRAY_TASK_ID");
    session->slurm = (struct jr_slurm_self){
        .job = job,
        .name = array == NULL || task == NULL
                    ? job
                    : jr_arena_printf(&session->arena, "%s_%s", array, task),
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

/* One call, to its end. Returns NULL, or why there is no answer. */
static const char *call_scontrol(const struct jr_session *session, const char *verb,
                                 unsigned limit_ms, struct jr_buf *out)
{
    struct jr_slurm_call call;
    if (jr_slurm_call_start(&call, &session->slurm, verb, limit_ms) != 0)
        return "could not be started";
    return jr_slurm_call_finish(&call, out);
}

/* Why the job is not to be queued again, or NULL: it is, or is already (*ret_there). What may be
 * queued again is the job as it runs, or as it was taken away: one that somebody has cancelled is
 * not. */
static const char *look_at_job(struct jr_session *session, bool *ret_there)
{
    static const char *const queueable[] = {"RUNNING", "SIGNALING", "PREEMPTED", "NODE_FAIL",
                                            "CONFIGURING"};
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_slurm_job job;
    const char *job_id = session->slurm.job, *silent = NULL;
    for (int i = 0; i < JR_SLURM_TRIES; i++) {
        jr_buf_clear(&text);
        silent = call_scontrol(session, "show", SHOW_MS, &text);
        if (!jr_slurm_call_was_killed(silent))
            break;
    }
    *ret_there = false;
    if (silent == NULL && !jr_slurm_job_read(&job, text.data, text.len, job_id))
        silent = "did not say what the job is doing";
    if (silent != NULL)
        return jr_arena_printf(&session->arena, "scontrol show job %s %s", session->slurm.name,
                               silent);
    *ret_there = job.restarts > session->slurm.restarts;
    for (size_t i = 0; i < sizeof queueable / sizeof *queueable; i++)
        if (*ret_there || strcmp(queueable[i], job.state) == 0)
            return NULL;
    return jr_arena_printf(&session->arena, "Slurm has job %s as %s", job_id, job.state);
}

const char *jr_requeue_queue_again(struct jr_session *session)
{
    const char *why = NULL;
    for (int i = 0; i < JR_SLURM_TRIES; i++) {
        struct jr_buf said JR_BUF_CLEANUP = JR_BUF_INIT, line JR_BUF_CLEANUP = JR_BUF_INIT;
        bool there;
        why = look_at_job(session, &there);
        if (why != NULL || there)
            return why;
        why = call_scontrol(session, "requeue", REQUEUE_MS, &said);
        if (why == NULL)
            return NULL;
        bool killed = jr_slurm_call_was_killed(why);
        /* "scontrol requeue 12 refused: Requested operation is presently disabled" */
        size_t len = said.len == 0 ? 0 : strcspn(said.data, "\n");
        jr_buf_printf(&line, "scontrol requeue %s %s", session->slurm.name, why);
        if (len > 0) {
            jr_buf_str(&line, ": ");
            jr_buf_escaped(&line, said.data, len < 200 ? len : 200);
        }
        why = jr_buf_keep(&line, &session->arena);
        if (!killed)
            break;
    }
    return why != NULL ? why : "out of memory";
}
