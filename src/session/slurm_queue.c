#include "session/slurm_queue.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/subprocess.h"

#include "base/banned.h"

/* How long squeue may take, which waits for its controller; and the bytes of its answer at most. */
enum { LIMIT_MS = 30000, MOST_BYTES = 16 << 20 };

void jr_slurm_queue_init(struct jr_slurm_queue *ret, char *const *envp)
{
    *ret = (struct jr_slurm_queue){.arena = JR_ARENA_INIT, .envp = envp, .ids = JR_BUF_INIT};
}

void jr_slurm_queue_release(struct jr_slurm_queue *queue)
{
    jr_buf_release(&queue->ids);
    jr_arena_release(&queue->arena);
}

static const char *ask_slurm(struct jr_slurm_queue *queue, char **words, struct jr_buf *out)
{
    const struct jr_subprocess command = {.argv = words, .envp = queue->envp};
    const char *why = jr_subprocess_ask(out, &queue->arena, &command, LIMIT_MS, MOST_BYTES);
    if (why == NULL && (out->failed || queue->arena.failed))
        why = "left no memory";
    return why;
}

/* A copy of a job's id, and its cluster, in the queue's memory. False: it is none. */
static bool split_job(struct jr_slurm_queue *queue, const char *job, char **ret_id,
                      char **ret_cluster)
{
    size_t digits = job == NULL ? 0 : strspn(job, "0123456789");
    if (digits == 0 || (job[digits] != '\0' && job[digits] != ';'))
        return false;
    *ret_id = jr_arena_strndup(&queue->arena, job, digits);
    *ret_cluster = job[digits] == ';' ? jr_arena_strdup(&queue->arena, job + digits + 1) : NULL;
    return *ret_id != NULL;
}

/* Of an array, %A is the id of each task, and %F that of the array. */
static void ask_queue(struct jr_slurm_queue *queue, char *cluster)
{
    char user[32], format[] = "%A\n%F";
    char *words[] = {(char[]){"squeue"},
                     (char[]){"--noheader"},
                     (char[]){"--user"},
                     user,
                     (char[]){"--format"},
                     format,
                     cluster == NULL ? NULL : (char[]){"--clusters"},
                     cluster,
                     NULL};
    bool same = queue->cluster == NULL || cluster == NULL ? queue->cluster == cluster
                                                          : strcmp(queue->cluster, cluster) == 0;
    if (queue->asked && same)
        return;
    (void)snprintf(user, sizeof user, "%u", (unsigned)geteuid());
    queue->asked = true;
    queue->cluster = cluster;
    jr_buf_clear(&queue->ids);
    queue->silent = ask_slurm(queue, words, &queue->ids);
}

/* Whether a line of the queue is the id. */
static bool is_queued(const struct jr_slurm_queue *queue, const char *id)
{
    const char *at = queue->ids.data;
    size_t len = strlen(id), left = queue->ids.len;
    while (left > 0) {
        const char *newline = memchr(at, '\n', left);
        size_t line = newline == NULL ? left : (size_t)(newline - at);
        if (line == len && memcmp(at, id, len) == 0)
            return true;
        size_t passed = newline == NULL ? line : line + 1;
        at += passed;
        left -= passed;
    }
    return false;
}

enum jr_queue_place jr_slurm_queue_find(struct jr_slurm_queue *queue, const char *job)
{
    char *id, *cluster;
    if (!split_job(queue, job, &id, &cluster))
        return JR_QUEUE_NO_JOB;
    ask_queue(queue, cluster);
    if (queue->silent != NULL)
        return JR_QUEUE_SILENT;
    return is_queued(queue, id) ? JR_QUEUE_QUEUED : JR_QUEUE_ENDED;
}

const char *jr_slurm_cancel(struct jr_slurm_queue *queue, const char *job)
{
    char *id, *cluster;
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    if (!split_job(queue, job, &id, &cluster))
        return "has no job that is known";
    char *words[] = {(char[]){"scancel"}, cluster == NULL ? id : (char[]){"--clusters"}, cluster,
                     cluster == NULL ? NULL : id, NULL};
    return ask_slurm(queue, words, &out);
}
