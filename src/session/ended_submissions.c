#include "session/ended_submissions.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/shell_words.h"
#include "base/strv.h"
#include "record/record_folder.h"
#include "session/slurm_queue.h"
#include "session/submission.h"
#include "store/run_folder.h"

#include "base/banned.h"

/* A look through the folders. */
struct submissions {
    struct jr_pruned *pruned;
    struct jr_buf *out, *bad;
    const char *log_dir;
    const struct jr_prune_options *options;
    int dir_fd;
    struct jr_arena arena;
    struct jr_strv names, jobs; /* of the folders; a job that was never noted is
                                   "" */
    struct jr_slurm_queue queue;
};

/* Say of a folder what is to be done with it by hand. */
static void leave_alone(struct submissions *look, const char *name, const char *why)
{
    const char *path =
        jr_arena_printf(&look->arena, "%s/%s/%s", look->log_dir, JR_SUBMITTED_DIR, name);
    look->pruned->unfinished++;
    jr_buf_printf(look->bad,
                  "jobrun: " JR_SUBMITTED_DIR "/%s was left alone: %s; if its "
                  "job has ended, remove it: rm -r ",
                  name, why);
    jr_shell_quote(look->bad, path == NULL ? "" : path);
    jr_buf_char(look->bad, '\n');
}

/* Whether the job of the folder has ended, as far as can be known. */
static bool is_job_over(struct submissions *look, const char *name, char *job)
{
    switch (jr_slurm_queue_find(&look->queue, job)) {
    case JR_QUEUE_NO_JOB:
        leave_alone(look, name, "its job was never noted");
        return false;
    case JR_QUEUE_SILENT: {
        const char *why =
            jr_arena_printf(&look->arena, "squeue, asked for job %s, %s", job, look->queue.silent);
        leave_alone(look, name, why == NULL ? "out of memory" : why);
        return false;
    }
    case JR_QUEUE_QUEUED:
        look->pruned->unfinished++;
        return false;
    case JR_QUEUE_ENDED:
    default:
        return true;
    }
}

static void remove_submission(struct submissions *look, const char *name)
{
    if (!look->options->dry && jr_prune_folder(look->pruned, look->dir_fd, name) != 0) {
        look->pruned->failed++;
        jr_buf_printf(look->bad, "jobrun: " JR_SUBMITTED_DIR "/%s could not be removed: %s\n", name,
                      strerror(errno));
        return;
    }
    look->pruned->removed++;
    jr_buf_printf(look->out, JR_SUBMITTED_DIR "/%s\n", name);
}

/* A folder that is ours, and has this form, or it is not looked at. */
static void list_submission(struct submissions *look, const char *name)
{
    struct stat st;
    JR_CLOSE int fd = openat(look->dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_uid != geteuid() || (st.st_mode & S_IWOTH) != 0)
        return;
    json_t *run = jr_record_folder_json(fd, "run.json", NULL);
    const char *job = jr_json_get_str(run, "job");
    double age = (double)jr_clock_wall_ns() / 1e9 - (double)st.st_ctim.tv_sec;
    if (jr_json_get_str(run, "spec_folder") != NULL) {
        if (age * 1e3 < (double)look->options->older_ms) {
            look->pruned->kept++;
        } else {
            jr_strv_push(&look->names, &look->arena, jr_arena_strdup(&look->arena, name));
            jr_strv_push(&look->jobs, &look->arena,
                         jr_arena_strdup(&look->arena, job == NULL ? "" : job));
        }
    }
    json_decref(run);
}

/* All folders are listed before Slurm is asked for the first: a job that is submitted meanwhile is
 * in neither list, or in both. */
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

void jr_submissions_prune(struct jr_pruned *ret, struct jr_buf *out, struct jr_buf *bad,
                          const char *log_dir, const struct jr_prune_options *options,
                          char *const *envp)
{
    struct submissions look = {
        .pruned = ret,
        .out = out,
        .bad = bad,
        .log_dir = log_dir,
        .options = options,
        .arena = JR_ARENA_INIT,
    };
    *ret = (struct jr_pruned){0};
    jr_slurm_queue_init(&look.queue, envp);
    JR_CLOSE int log = open(log_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    look.dir_fd = openat(log, JR_SUBMITTED_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (look.dir_fd >= 0)
        prune_listed(&look);
    jr_slurm_queue_release(&look.queue);
    jr_arena_release(&look.arena);
}
