#include "record/await_run.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#include "base/banned.h"

/* An inotify(7) descriptor that tells of files that come into the run folder;
 * -1: it cannot be had. */
static int watch_run_folder(const char *log_dir, const char *id)
{
    struct jr_buf path JR_BUF_CLEANUP = JR_BUF_INIT;
    JR_CLOSE int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    jr_buf_printf(&path, "%s/%s", log_dir, id);
    if (fd < 0 || path.failed ||
        inotify_add_watch(fd, path.data, IN_MOVED_TO | IN_CREATE) < 0)
        return -1;
    return jr_steal_fd(&fd);
}

/* The milliseconds that are left until then, as poll(2) takes them; -1: there
 * is no such moment. */
static int left_until(uint64_t until_ns)
{
    uint64_t now = jr_clock_ns();
    if (until_ns == 0)
        return -1;
    if (until_ns <= now)
        return 0;
    uint64_t ms = (until_ns - now) / 1000000 + 1;
    return ms < INT_MAX ? (int)ms : INT_MAX;
}

/* Sleep until the jobrun ends or a file comes into the folder. False where the
 * moment was first. */
static bool sleep_beside(const struct jr_live *live, int folder,
                         uint64_t until_ns)
{
    char events[4096];
    struct pollfd fds[] = {{.fd = live->held.fd, .events = POLLIN},
                           {.fd = folder, .events = POLLIN}};
    int ready =
        poll(fds, 2, jr_hold_poll_ms(&live->held, left_until(until_ns)));
    if (ready == 0 && left_until(until_ns) == 0)
        return false;
    if (ready > 0 && fds[1].revents != 0)
        (void)!read(folder, events, sizeof events);
    return true;
}

bool jr_live_stays(const struct jr_live *live)
{
    return live->held.pid != 0 && !jr_hold_await(&live->held, JR_LIVE_LEAVE_MS);
}

int jr_live_await(struct jr_live *live, const char *log_dir, const char *id,
                  uint64_t until_ns, struct jr_error *err)
{
    JR_CLOSE int folder = live->standing == JR_STANDING_RUNNING
                              ? watch_run_folder(log_dir, id)
                              : -1;
    while (live->standing == JR_STANDING_RUNNING) {
        jr_live_close(live);
        if (jr_live_open(live, log_dir, id, err) != 0)
            return -1;
        if (live->standing == JR_STANDING_RUNNING &&
            !sleep_beside(live, folder, until_ns))
            return 1;
    }
    (void)jr_live_stays(live);
    return 0;
}

/* Why a run is left alone that may be a forgery, or is another user's. */
static int refuse_untrusted(const struct jr_live *live, const char *id,
                            struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf why = JR_BUF_INIT;
    jr_trust_explain(&why, &live->trust);
    return jr_error_set(
        err, JR_STATUS_LAUNCH,
        "%s %s, so its record is not trusted and nothing was signalled (%s)",
        id, why.failed ? "is not trusted" : why.data,
        live->trust.verdict == JR_TRUST_OPEN
            ? "chmod o-w, if you know that it is yours"
            : "its owner can stop it");
}

int jr_live_stop(const struct jr_live *live, const char *id,
                 struct jr_error *err)
{
    if (!jr_trust_is_ours(&live->trust))
        return refuse_untrusted(live, id, err);
    if (!live->ours)
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "%s belongs to %s; it was left alone", id,
                            live->user == NULL ? "somebody else" : live->user);
    if (jr_hold_signal(&live->held, SIGTERM) != 0 && errno != ESRCH)
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "pid %d of %s could not be signalled: %s",
                            live->pid, id, strerror(errno));
    (void)jr_hold_signal(&live->held, SIGCONT);
    return 0;
}

void jr_live_explain(struct jr_buf *out, const struct jr_live *live,
                     const char *id)
{
    jr_buf_printf(out, "%s%s%s ", id, live->part == NULL ? "" : "/",
                  live->part == NULL ? "" : live->part);
    if (live->standing == JR_STANDING_LOST)
        jr_buf_printf(out,
                      "is lost: its jobrun (pid %d) is gone and left no "
                      "results",
                      live->pid);
    else if (live->contained)
        jr_buf_printf(out,
                      "runs in another PID namespace of this host, such as a "
                      "container, where pid %d is its jobrun: run this command "
                      "there",
                      live->pid);
    else
        jr_buf_printf(out, "runs on another host: run this command on %s",
                      live->host == NULL ? "it" : live->host);
}
