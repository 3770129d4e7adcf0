#include "spawn/slurm_job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/strv.h"

#include "base/banned.h"

enum { MOST_BYTES = 64 << 10 }; /* what a pipe holds */

static const char killed[] = "was killed";

/* A line of the answer, up to its newline. */
struct line {
    const char *text;
    size_t len;
};

static bool line_begins(const struct line *line, const char *with)
{
    size_t len = strlen(with);
    return line->len >= len && memcmp(line->text, with, len) == 0;
}

/* The value of KEY=VALUE among the words of the line; false: it is not there.
 */
static bool line_value(const struct line *line, const char *key, char *ret, size_t size)
{
    size_t key_len = strlen(key);
    const char *at = line->text, *end = line->text + line->len;
    while (at < end) {
        at += strspn(at, " ");
        size_t len = strcspn(at, " \n");
        if (at + len > end || len == 0)
            return false;
        if (len > key_len && memcmp(at, key, key_len) == 0) {
            if (len - key_len >= size)
                return false;
            memcpy(ret, at + key_len, len - key_len);
            ret[len - key_len] = '\0';
            return true;
        }
        at += len;
    }
    return false;
}

/* What lines of the answer say by their first words, once each. */
enum { STATE, RESTARTS, TIMES, PREEMPT, LINES };
static const char *const heads[LINES] = {
    "   JobState=",
    "   Requeue=",
    "   StartTime=",
    "   Preempt",
};

static bool read_head(struct jr_slurm_job *job, const struct line *line, int head)
{
    char value[32];
    switch (head) {
    case STATE:
        return line_value(line, "JobState=", job->state, sizeof job->state);
    case RESTARTS:
        return line_value(line, "Restarts=", value, sizeof value) &&
               jr_num_u32(value, &job->restarts);
    case TIMES: /* Unknown where there is no end */
        if (line_value(line, "EndTime=", value, sizeof value))
            (void)jr_num_u64(value, &job->end);
        return true;
    default:
        job->preempting =
            line_value(line, "PreemptTime=", value, sizeof value) && strcmp(value, "None") != 0;
        return true;
    }
}

/* Take the line; false: it is there twice, or cannot be read. */
static bool take_line(struct jr_slurm_job *job, const struct line *line, bool seen[LINES])
{
    for (int i = 0; i < LINES; i++) {
        if (!line_begins(line, heads[i]))
            continue;
        if (seen[i])
            return false;
        seen[i] = true;
        if (!read_head(job, line, i))
            return false;
    }
    return true;
}

bool jr_slurm_job_read(struct jr_slurm_job *ret, const char *text, size_t len, const char *job)
{
    struct jr_slurm_job found = {0};
    bool seen[LINES] = {false}, own = false, whole = true;
    char head[48];
    (void)snprintf(head, sizeof head, "JobId=%s ", job);
    const char *end;
    for (size_t at = 0; (end = memchr(text + at, '\n', len - at)) != NULL;
         at = (size_t)(end - text) + 1) { /* what follows was cut off */
        const struct line line = {text + at, (size_t)(end - text) - at};
        if (line_begins(&line, "JobId=")) {
            whole = whole && !(own && line_begins(&line, head));
            own = line_begins(&line, head);
        } else if (own) {
            whole = whole && take_line(&found, &line, seen);
        }
    }
    if (!whole || !seen[STATE] || !seen[RESTARTS])
        return false;
    *ret = found;
    return true;
}

bool jr_slurm_job_is_preempted(const struct jr_slurm_job *job, const struct jr_slurm_self *self)
{
    bool queued = strcmp(job->state, "PENDING") == 0 || strcmp(job->state, "COMPLETING") == 0;
    return (job->preempting && job->restarts == self->restarts) ||
           (queued && job->restarts > self->restarts);
}

uint64_t jr_slurm_job_left_ms(const struct jr_slurm_job *job, uint64_t spare_ms)
{
    uint64_t now = jr_clock_wall_ns() / 1000000;
    if (job->end <= now / 1000 || job->end > UINT64_MAX / 1000)
        return 0;
    uint64_t left = job->end * 1000 - now;
    return left > 2 * spare_ms ? left - spare_ms : left / 2;
}

int jr_slurm_call_start(struct jr_slurm_call *ret, const struct jr_slurm_self *self,
                        const char *verb, unsigned limit_ms)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_strv env = {0}, argv = {0};
    struct jr_slurm_call call = {.out_fd = -1};
    bool show = strcmp(verb, "show") == 0;
    int ends[2];
    jr_strv_copy(&env, &arena, self->envp);
    jr_env_unset(&env, "SLURM_TIME_FORMAT");
    jr_strv_push(&env, &arena, (char *)"SLURM_TIME_FORMAT=%s");
    jr_strv_push(&argv, &arena, (char *)"scontrol");
    jr_strv_push(&argv, &arena, (char *)verb);
    if (show)
        jr_strv_push(&argv, &arena, (char *)"job");
    jr_strv_push(&argv, &arena, (char *)self->name);
    errno = ENOMEM;
    int failed = arena.failed ? -1 : pipe2(ends, O_CLOEXEC | O_NONBLOCK);
    if (failed == 0) {
        const struct jr_keeper_command command = {.argv = argv.items,
                                                  .env = env.items,
                                                  .workdir = "/",
                                                  .out_fd = ends[1],
                                                  .limit_ms = limit_ms};
        failed = jr_keeper_start(&call.keeper, &command);
        call.out_fd = ends[0];
        (void)close(ends[1]);
    }
    if (failed != 0 && call.out_fd >= 0)
        (void)close(call.out_fd);
    if (failed == 0)
        *ret = call;
    return failed;
}

const char *jr_slurm_call_finish(struct jr_slurm_call *call, struct jr_buf *out)
{
    struct jr_keeper_report report;
    char bytes[4096];
    size_t total = 0;
    ssize_t got;
    jr_keeper_finish(&call->keeper, &report);
    /* All that is in the pipe: the command has ended. */
    while (total < MOST_BYTES && (got = read(call->out_fd, bytes, sizeof bytes)) > 0) {
        jr_buf_add(out, bytes, (size_t)got);
        total += (size_t)got;
    }
    (void)close(call->out_fd);
    *call = (struct jr_slurm_call){.out_fd = -1};
    switch (report.end) {
    case JR_KEEPER_EXITED:
        return report.value == 0 ? NULL : "refused";
    case JR_KEEPER_NO_FOLDER:
    case JR_KEEPER_NO_START:
        return "could not be executed";
    case JR_KEEPER_TIMED_OUT:
        return "did not answer in time";
    case JR_KEEPER_LOST:
    case JR_KEEPER_SIGNALED:
    case JR_KEEPER_STOPPED:
        break;
    }
    return killed;
}

bool jr_slurm_call_was_killed(const char *why)
{
    return why == killed;
}

void jr_slurm_call_stop(struct jr_slurm_call *call)
{
    struct jr_buf none JR_BUF_CLEANUP = JR_BUF_INIT;
    if (call->keeper.pid == 0)
        return;
    jr_keeper_stop(&call->keeper);
    (void)jr_slurm_call_finish(call, &none);
}
