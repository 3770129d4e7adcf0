#include "session/sweep/live_sweep.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/pidfd.h"
#include "session/sweep/load_sweep.h"
#include "sweep/journal.h"
#include "sweep/sweep_file.h"

#include "base/banned.h"

/* Signal the process that leads the sweep, which is held. */
static int stop_leader(int dir_fd, const struct jr_hold *leader,
                       struct jr_error *err)
{
    struct stat st;
    if (fstat(dir_fd, &st) != 0 || st.st_uid != geteuid())
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "the sweep belongs to another user, and is left "
                            "alone");
    if (jr_hold_signal(leader, SIGTERM) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "could not stop process %d",
                            (int)leader->pid);
    return 0;
}

/* Wait for the end of the process: false where the time was over. */
static bool await_leader(const struct jr_hold *leader, uint64_t until_ns)
{
    enum { TURN_MS = 60000 };
    uint64_t now = jr_clock_ns(), left_ms = TURN_MS;
    if (until_ns != 0 && until_ns <= now)
        return false;
    if (until_ns != 0 && (until_ns - now) / 1000000 < left_ms)
        left_ms = (until_ns - now) / 1000000 + 1;
    (void)jr_hold_await(leader, (int)left_ms);
    return true;
}

/* The lowest class of what its cells got. */
static int exit_status(const char *log_dir, const char *id, int *ret_code,
                       struct jr_error *err)
{
    json_t *sweep = jr_load_sweep(log_dir, id, err);
    const json_t *cells = json_object_get(sweep, "cells");
    int lowest = 0;
    bool whole = true;
    for (size_t i = 0; i < json_array_size(cells); i++) {
        const char *word = jr_json_get_str(json_array_get(cells, i), "status");
        int code = word == NULL ? 0 : jr_cell_status_class(word);
        whole = whole && word != NULL &&
                (code != 0 || strcmp(word, "succeeded") == 0);
        if (code != 0 && (lowest == 0 || code < lowest))
            lowest = code;
    }
    *ret_code = lowest == 0 && !whole ? JR_STATUS_LAUNCH : lowest;
    bool good = sweep != NULL;
    json_decref(sweep);
    return good ? 0 : -1;
}

int jr_sweep_await(const char *log_dir, const char *id, bool stop,
                   uint64_t until_ns, int *ret_code, struct jr_error *err)
{
    JR_CLOSE int log_fd = open(log_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    JR_CLOSE int fd =
        log_fd < 0 ? -1
                   : openat(log_fd, id,
                            O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return jr_error_sys(err, JR_STATUS_USAGE, "%s/%s", log_dir, id);
    for (pid_t pid; (pid = jr_journal_holder(fd)) > 0;) {
        struct jr_hold leader = jr_hold_open(pid);
        bool same = leader.pid > 0 && jr_journal_holder(fd) == pid;
        int failed = same && stop ? stop_leader(fd, &leader, err) : 0;
        bool in_time =
            failed == 0 && (!same || await_leader(&leader, until_ns));
        stop = stop && !same;
        jr_hold_close(&leader);
        if (failed != 0)
            return -1;
        if (!in_time)
            return 1;
    }
    return exit_status(log_dir, id, ret_code, err);
}
