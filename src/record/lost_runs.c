#include "record/lost_runs.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/strv.h"
#include "record/live_run.h"
#include "record/multinode.h"
#include "spawn/cgroup_tree.h"
#include "store/run_folder.h"

#include "base/banned.h"

#define WAIT_NS    (10 * UINT64_C(1000000000)) /* for what does not die */
#define MOST_LOOKS 65536 /* entries of a log_dir that a start looks at */

/* Whether there is a lost run's group to be killed. Where a record does not say
 * in which PID namespace its pid is, the run may live in another one: then a
 * group that has a runner, or anybody whom we cannot see, is not touched. */
static bool is_clearable(const struct jr_live *live, const char *run)
{
    if (live->standing != JR_STANDING_LOST || !live->ours ||
        live->cgroup == NULL || !jr_group_is_of(live->cgroup, run))
        return false;
    return live->placed || !jr_group_may_be_led(live->cgroup);
}

static unsigned clear_lost_run(struct jr_buf *out, const char *log_dir,
                               const char *id)
{
    struct jr_live live;
    char run[128];
    uint32_t count = 0;
    bool left = false;
    if (jr_live_open(&live, log_dir, id, NULL) != 0)
        return 0;
    (void)snprintf(run, sizeof run, "%.*s", (int)strcspn(id, "/"), id);
    if (is_clearable(&live, run))
        count = jr_group_clear(live.cgroup, WAIT_NS, &left);
    jr_live_close(&live);
    if (count > 0)
        jr_buf_printf(
            out, "%sthe lost run %s had left %u process%s, now killed%s",
            out->len > 0 ? "; " : "", id, count, count == 1 ? "" : "es",
            left ? "; some could not be killed" : "");
    return count;
}

unsigned jr_lost_sweep(struct jr_buf *out, const char *log_dir, const char *id)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_strv ids = jr_multinode_ids(&arena, log_dir, id);
    unsigned count = 0;
    for (size_t i = 0; i < ids.count; i++)
        count += clear_lost_run(out, log_dir, ids.items[i]);
    jr_arena_release(&arena);
    return count;
}

/* Whether the entry is a run of ours that has no results: cheap, for most have
 * some, and those of strangers are not even opened. */
static bool is_unfinished_run(int dir_fd, const struct dirent *entry)
{
    struct stat st;
    if ((entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) ||
        !jr_run_folder_is_id(entry->d_name) ||
        fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
        return false;
    JR_CLOSE int fd = openat(dir_fd, entry->d_name,
                             O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 &&
           faccessat(fd, "results.json", F_OK, AT_SYMLINK_NOFOLLOW) != 0;
}

void jr_lost_sweep_all(const char *log_dir,
                       void (*note)(void *data, const char *line), void *data)
{
    DIR *dir = opendir(log_dir);
    const struct dirent *entry;
    for (unsigned looks = 0;
         dir != NULL && looks < MOST_LOOKS && (entry = readdir(dir)) != NULL;
         looks++) {
        struct jr_buf line = JR_BUF_INIT;
        if (is_unfinished_run(dirfd(dir), entry) &&
            jr_lost_sweep(&line, log_dir, entry->d_name) > 0 && !line.failed)
            note(data, line.data);
        jr_buf_release(&line);
    }
    if (dir != NULL)
        (void)closedir(dir);
}
