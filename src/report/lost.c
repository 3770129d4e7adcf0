#include "lost.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "group.h"
#include "live.h"
#include "parts.h"
#include "rundir.h"
#include "strv.h"

#include "banned.h"

#define WAIT_NS (10 * UINT64_C(1000000000)) /* for what does not die */

static unsigned sweep(struct jr_buf *out, const char *log_dir, const char *id)
{
    struct jr_live live;
    char run[128];
    uint32_t count = 0;
    bool left = false;
    if (jr_live_open(&live, log_dir, id, NULL) != 0)
        return 0;
    (void)snprintf(run, sizeof run, "%.*s", (int)strcspn(id, "/"), id);
    if (live.standing == JR_STANDING_LOST && live.ours && live.cgroup != NULL &&
        jr_group_is_of(live.cgroup, run))
        count = jr_group_clear(live.cgroup, WAIT_NS, &left);
    jr_live_close(&live);
    if (count > 0)
        jr_buf_printf(out,
                      "%sthe lost run %s had left %u process%s, now killed%s",
                      out->len > 0 ? "; " : "", id, count,
                      count == 1 ? "" : "es", left ? "; some do not die" : "");
    return count;
}

unsigned jr_lost_sweep(struct jr_buf *out, const char *log_dir, const char *id)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_strv ids = jr_parts_ids(&arena, log_dir, id);
    unsigned count = 0;
    for (size_t i = 0; i < ids.count; i++)
        count += sweep(out, log_dir, ids.items[i]);
    jr_arena_release(&arena);
    return count;
}

/* Cheap: most runs have results. */
static bool is_unfinished(int dir_fd, const char *id)
{
    if (!jr_rundir_is_id(id))
        return false;
    int fd = openat(dir_fd, id, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool unfinished = faccessat(fd, "results.json", F_OK, 0) != 0;
    (void)close(fd);
    return unfinished;
}

void jr_lost_sweep_all(const char *log_dir,
                       void (*note)(void *data, const char *line), void *data)
{
    DIR *dir = opendir(log_dir);
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        struct jr_buf line = JR_BUF_INIT;
        if (is_unfinished(dirfd(dir), entry->d_name) &&
            jr_lost_sweep(&line, log_dir, entry->d_name) > 0 && !line.failed)
            note(data, line.data);
        jr_buf_release(&line);
    }
    if (dir != NULL)
        (void)closedir(dir);
}
