/*
 * A batch script. jobrun takes the place of the script's shell, so that the signal before the limit
 * reaches it; on several nodes it starts an agent on each by itself. The cells of a sweep are the
 * tasks of a job array. Declared in internal.h.
 */
#include "render/internal.h"

#include <inttypes.h>
#include <string.h>

#include "base/strv.h"
#include "plan/deadline_notice.h"

#include "base/banned.h"

enum {
    REPORT = 30, /* seconds for jobrun itself, once its ranks have ended */
    START = 60   /* seconds around the ranks' own time */
};

/* Our own options, and the options of the user that replace each of them. */
#define OPTIONS(X)                                                                                 \
    X(CPUS, "cpus-per-task", "exclusive cpus-per-gpu")                                             \
    X(DEVICES, "gpus-per-node", "gpus gpus-per-task gres tres-per-node")                           \
    X(TIME, "time", "")                                                                            \
    X(SIGNAL, "signal", "")                                                                        \
    X(REQUEUE, "no-requeue", "requeue")                                                            \
    X(AGAIN, "requeue", "no-requeue")                                                              \
    X(OUTPUT, "open-mode", "")                                                                     \
    X(KEEP, "no-kill", "")

#define OPTION_ENUM(id, name, instead) OPTION_##id,
enum option { OPTIONS(OPTION_ENUM) OPTION_COUNT };

static const char *const names[] = {
#define NAME(id, name, instead) name,
    OPTIONS(NAME)
#undef NAME
};

/* Whether the user says it, in this way or in another. */
static bool is_option_given(const struct jr_engine *engine, enum option option)
{
    static const char *const instead[] = {
#define INSTEAD(id, name, list) list,
        OPTIONS(INSTEAD)
#undef INSTEAD
    };
    for (uint32_t i = 0; i < engine->slurm_count; i++) {
        const char *name = engine->slurm[i].name;
        if (strcmp(name, names[option]) == 0 ||
            jr_words_have(instead[option], ' ', name, strlen(name)))
            return true;
    }
    return false;
}

static void put_sbatch_option(struct jr_buf *out, const char *name, const char *value)
{
    jr_buf_printf(out, "#SBATCH --%s", name);
    if (value != NULL) {
        jr_buf_char(out, '=');
        jr_engine_word(out, value);
    }
    jr_buf_char(out, '\n');
}

static void put_own_option(struct jr_buf *out, const struct jr_engine_job *job, enum option option,
                           const char *value)
{
    if (!is_option_given(&job->policy->engine, option))
        put_sbatch_option(out, names[option], value);
}

static void put_number_option(struct jr_buf *out, const struct jr_engine_job *job,
                              enum option option, uint32_t number)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&text, "%u", number);
    out->failed |= text.failed;
    if (number > 0 && text.data != NULL)
        put_own_option(out, job, option, text.data);
}

/* Under `deadline` the signal that starts it, so long before the end that the ranks have all of
 * their time; else the one after which jobrun has the time to stop them. */
static void put_signal(struct jr_buf *out, const struct jr_engine_job *job, uint64_t grace)
{
    const char *notice = jr_deadline_notice(job->policy);
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    uint64_t most = 65535, before = grace + REPORT;
    if (notice != NULL)
        before += (job->policy->deadline.before_ms + 999) / 1000;
    jr_buf_printf(&text, "B:%s@%" PRIu64, notice == NULL ? "TERM" : notice,
                  before < most ? before : most);
    if (!text.failed)
        put_own_option(out, job, OPTION_SIGNAL, text.data);
    out->failed |= text.failed;
}

/* The time that all of the run may take, as D-HH:MM:SS, which sbatch rounds up to minutes. */
static void put_times(struct jr_buf *out, const struct jr_engine_job *job)
{
    const struct jr_timeouts *timeouts = &job->policy->timeouts;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    uint64_t grace = (timeouts->stop_grace_ms + 999) / 1000;
    uint64_t time = (timeouts->start_ms + timeouts->run_ms + 999) / 1000 + grace + REPORT + START;
    jr_buf_printf(&text, "%" PRIu64 "-%02u:%02u:%02u", time / 86400, (unsigned)(time / 3600 % 24),
                  (unsigned)(time / 60 % 60), (unsigned)(time % 60));
    if (timeouts->run_ms > 0 && !text.failed)
        put_own_option(out, job, OPTION_TIME, text.data);
    put_signal(out, job, grace);
    out->failed |= text.failed;
}

static void put_options(struct jr_buf *out, const struct jr_engine_job *job)
{
    const struct jr_engine *engine = &job->policy->engine;
    put_sbatch_option(out, "job-name", job->name);
    jr_buf_printf(out, "#SBATCH --nodes=%u\n#SBATCH --ntasks-per-node=1\n",
                  job->nodes + job->spares);
    if (job->array != NULL)
        put_sbatch_option(out, "array", job->array);
    put_number_option(out, job, OPTION_CPUS, job->cpus);
    if (job->device != JR_DEVICE_CPU)
        put_number_option(out, job, OPTION_DEVICES, job->ranks);
    put_times(out, job);
    /* a node that fails ends the whole job, which nothing else could restart */
    bool requeue = job->policy->requeue.max > 0;
    put_own_option(out, job,
                   requeue || job->policy->restart.max > 0 ? OPTION_AGAIN : OPTION_REQUEUE, NULL);
    if (job->spares > 0) /* Slurm would end the job with the node */
        put_own_option(out, job, OPTION_KEEP, NULL);
    if (requeue) /* what the starts before have written is kept */
        put_own_option(out, job, OPTION_OUTPUT, "append");
    for (uint32_t i = 0; i < engine->slurm_count; i++) {
        const char *value = engine->slurm[i].value;
        if (strcmp(value, "false") != 0)
            put_sbatch_option(out, engine->slurm[i].name,
                              strcmp(value, "true") == 0 ? NULL : value);
    }
}

int jr_slurm_render(struct jr_buf *out, const struct jr_engine_job *job, struct jr_error *err)
{
    (void)err;
    jr_buf_str(out, "#!/bin/sh\n");
    put_options(out, job);
    jr_buf_str(out, "\nexec");
    for (size_t i = 0; job->command[i] != NULL; i++) {
        if (job->array != NULL && i == 2) /* each task runs the cell of its own number */
            jr_buf_str(out, " --cell \"$SLURM_ARRAY_TASK_ID\"");
        jr_buf_char(out, ' ');
        jr_engine_word(out, job->command[i]);
    }
    jr_buf_char(out, '\n');
    return 0;
}
