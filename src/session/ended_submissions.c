#include "session/ended_submissions.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/shell_words.h"
#include "base/strv.h"
#include "host/ask.h"
#include "record/record_folder.h"
#include "session/submission.h"
#include "store/run_folder.h"

#include "base/banned.h"

/* How long squeue may take, which waits for its controller; and the bytes of
 * its answer at most. */
enum { LIMIT_MS = 30000, MOST_BYTES = 16 << 20 };

/* A look through the folders. */
struct submissions {
    struct jr_pruned *pruned;
    struct jr_buf *out, *bad;
    const char *log_dir;
    const struct jr_prune_options *options;
    char *const *envp;
    int dir_fd;
    struct jr_arena arena;
    struct jr_strv names, jobs; /* of the folders; a job that was never noted is
                                   "" */
    struct jr_buf queue;        /* the ids of our jobs in Slurm, one a line */
    const char *cluster;        /* whose queue it is; NULL: the own one */
    const char *silent;         /* why Slurm gave no answer; NULL: it did */
    bool asked;
};

/* Becomes squeue, for the jobs of ours that have not ended. */
static int print_queue(void *data, int fd)
{
    const struct submissions *look = data;
    char user[32], format[] = "%A";
    (void)snprintf(user, sizeof user, "%u", (unsigned)geteuid());
    char *words[] = {(char[]){"squeue"},
                     (char[]){"--noheader"},
                     (char[]){"--user"},
                     user,
                     (char[]){"--format"},
                     format,
                     look->cluster == NULL ? NULL : (char[]){"--clusters"},
                     (char *)look->cluster,
                     NULL};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(fd, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0)
        return 126;
    (void)execvpe(words[0], words, look->envp);
    return 127;
}

static bool is_same_cluster(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Ask once for all jobs of a cluster that come one after the other. */
static void ask_queue(struct submissions *look, const char *cluster)
{
    const struct jr_ask ask = {.answer = print_queue,
                               .data = look,
                               .limit_ms = LIMIT_MS,
                               .most = MOST_BYTES};
    if (look->asked && is_same_cluster(look->cluster, cluster))
        return;
    look->asked = true;
    look->cluster = jr_arena_strdup(&look->arena, cluster);
    jr_buf_clear(&look->queue);
    look->silent = jr_ask(&look->queue, &look->arena, &ask);
    if (look->silent == NULL && (look->queue.failed || look->arena.failed))
        look->silent = "left no memory";
}

/* Whether a line of the queue is the id. */
static bool is_queued(const struct submissions *look, const char *id)
{
    size_t len = strlen(id);
    const char *at = look->queue.data, *end = at + look->queue.len;
    while (at != NULL && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t line = (size_t)((newline == NULL ? end : newline) - at);
        if (line == len && memcmp(at, id, len) == 0)
            return true;
        at += line + 1;
    }
    return false;
}

/* Say of a folder what is to be done with it by hand. */
static void leave_alone(struct submissions *look, const char *name,
                        const char *why)
{
    const char *path = jr_arena_printf(&look->arena, "%s/%s/%s", look->log_dir,
                                       JR_SUBMITTED_DIR, name);
    look->pruned->unfinished++;
    jr_buf_printf(look->bad,
                  "jobrun: " JR_SUBMITTED_DIR "/%s was left alone: %s; if its "
                  "job has ended, remove it: rm -r ",
                  name, why);
    jr_shell_quote(look->bad, path == NULL ? "" : path);
    jr_buf_char(look->bad, '\n');
}

/* Take "ID" or "ID;CLUSTER" apart, in place. False: it is neither. */
static bool split_job(char *job, const char **ret_cluster)
{
    size_t digits = strspn(job, "0123456789");
    *ret_cluster = job[digits] == ';' ? job + digits + 1 : NULL;
    if (digits == 0 || (job[digits] != '\0' && *ret_cluster == NULL))
        return false;
    job[digits] = '\0';
    return true;
}

/* Whether the job of the folder has ended, as far as can be known. */
static bool is_job_over(struct submissions *look, const char *name, char *job)
{
    const char *cluster;
    if (!split_job(job, &cluster)) {
        leave_alone(look, name, "its job was never noted");
        return false;
    }
    ask_queue(look, cluster);
    if (look->silent != NULL) {
        const char *why = jr_arena_printf(
            &look->arena, "squeue, asked for job %s, %s", job, look->silent);
        leave_alone(look, name, why == NULL ? "out of memory" : why);
        return false;
    }
    bool queued = is_queued(look, job);
    look->pruned->unfinished += queued;
    return !queued;
}

static void remove_submission(struct submissions *look, const char *name)
{
    if (!look->options->dry &&
        jr_prune_folder(look->pruned, look->dir_fd, name) != 0) {
        look->pruned->failed++;
        jr_buf_printf(look->bad,
                      "jobrun: " JR_SUBMITTED_DIR
                      "/%s could not be removed: %s\n",
                      name, strerror(errno));
        return;
    }
    look->pruned->removed++;
    jr_buf_printf(look->out, JR_SUBMITTED_DIR "/%s\n", name);
}

/* A folder that is ours, and has this form, or it is not looked at. */
static void list_submission(struct submissions *look, const char *name)
{
    struct stat st;
    JR_CLOSE int fd = openat(look->dir_fd, name,
                             O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_uid != geteuid() ||
        (st.st_mode & S_IWOTH) != 0)
        return;
    json_t *run = jr_record_folder_json(fd, "run.json", NULL);
    const char *job = jr_json_get_str(run, "job");
    double age = (double)jr_clock_wall_ns() / 1e9 - (double)st.st_ctim.tv_sec;
    if (jr_json_get_str(run, "spec_folder") != NULL) {
        if (age * 1e3 < (double)look->options->older_ms) {
            look->pruned->kept++;
        } else {
            jr_strv_push(&look->names, &look->arena,
                         jr_arena_strdup(&look->arena, name));
            jr_strv_push(&look->jobs, &look->arena,
                         jr_arena_strdup(&look->arena, job == NULL ? "" : job));
        }
    }
    json_decref(run);
}

/* All folders are listed before Slurm is asked for the first: a job that is
 * submitted meanwhile is in neither list, or in both. */
static void prune_listed(struct submissions *look)
{
    DIR *dir = fdopendir(look->dir_fd);
    const struct dirent *entry;
    if (dir == NULL)
        return;
    while ((entry = readdir(dir)) != NULL)
        if (jr_run_folder_is_id(entry->d_name))
            list_submission(look, entry->d_name);
    for (size_t i = 0; i < look->names.count && !look->arena.failed; i++)
        if (is_job_over(look, look->names.items[i], look->jobs.items[i]))
            remove_submission(look, look->names.items[i]);
    (void)closedir(dir);
}

void jr_submissions_prune(struct jr_pruned *ret, struct jr_buf *out,
                          struct jr_buf *bad, const char *log_dir,
                          const struct jr_prune_options *options,
                          char *const *envp)
{
    struct submissions look = {
        .pruned = ret,
        .out = out,
        .bad = bad,
        .log_dir = log_dir,
        .options = options,
        .envp = envp,
        .arena = JR_ARENA_INIT,
        .queue = JR_BUF_INIT,
    };
    *ret = (struct jr_pruned){0};
    JR_CLOSE int log = open(log_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    look.dir_fd = openat(log, JR_SUBMITTED_DIR,
                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (look.dir_fd >= 0)
        prune_listed(&look);
    jr_buf_release(&look.queue);
    jr_arena_release(&look.arena);
}
