/* jobrun wait and stop: a run that another jobrun executes. cli.h declares it.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/pidfd.h"
#include "base/strv.h"
#include "cli/cli.h"
#include "cli/cmd_runs.h"
#include "cli/output.h"
#include "record/live_run.h"
#include "record/multinode.h"
#include "report/show.h"

#include "base/banned.h"

#define LEAVE_MS 1000 /* for a jobrun that has its results to end */
#define EXPIRED  124  /* the exit status of timeout(1) */

/* The run's own report, on standard error as when it was first told. */
static void show_run_report(const struct jr_cli *cli, const char *id)
{
    struct jr_buf out = JR_BUF_INIT;
    struct jr_error err = {0};
    const struct jr_record_view view = {.color = cli->color_err};
    if (jr_record_show(&out, jr_cli_log_dir(cli), id, &view, &err) != 0)
        (void)jr_cli_say(cli, 0, "%s", err.text);
    jr_cli_err(cli, &out);
}

static int open_live_run(const struct jr_cli *cli, const char *id,
                         struct jr_live *live)
{
    struct jr_error err = {0};
    if (jr_live_open(live, jr_cli_log_dir(cli), id, &err) == 0)
        return 0;
    return jr_cli_say(cli, JR_STATUS_USAGE, "%s", err.text);
}

/* Why a run that has no results can be neither waited for nor stopped. */
static int refuse_dead_run(const struct jr_cli *cli, const char *id,
                           const struct jr_live *live)
{
    const char *slash = live->part == NULL ? "" : "/";
    const char *part = live->part == NULL ? "" : live->part;
    if (live->standing == JR_STANDING_LOST)
        return jr_cli_say(cli, JR_STATUS_LAUNCH,
                          "%s%s%s is lost: its jobrun (pid %d) is gone and "
                          "left no results",
                          id, slash, part, live->pid);
    if (live->contained)
        return jr_cli_say(
            cli, JR_STATUS_LAUNCH,
            "%s%s%s runs in another PID namespace of this host, such as a "
            "container, where pid %d is its jobrun: run this command there",
            id, slash, part, live->pid);
    return jr_cli_say(cli, JR_STATUS_LAUNCH,
                      "%s%s%s runs on another host: run this command on %s", id,
                      slash, part, live->host == NULL ? "it" : live->host);
}

/* An inotify(7) descriptor that tells of files that come into the run folder;
 * -1: it cannot be had. */
static int watch_run_folder(const struct jr_cli *cli, const char *id)
{
    struct jr_buf path JR_BUF_CLEANUP = JR_BUF_INIT;
    JR_CLOSE int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    jr_buf_printf(&path, "%s/%s", jr_cli_log_dir(cli), id);
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

/* Sleep until no jobrun of the run is left here (a run in parts has several),
 * or until the results exist: the jobrun that writes them may still have lines
 * for a console that is not read. Sleep no longer than `until_ns` (monotonic;
 * 0: no limit). */
static int await_run_end(const struct jr_cli *cli, const char *id,
                         struct jr_live *live, uint64_t until_ns)
{
    int status = 0;
    JR_CLOSE int folder =
        live->standing == JR_STANDING_RUNNING ? watch_run_folder(cli, id) : -1;
    while (status == 0 && live->standing == JR_STANDING_RUNNING) {
        char events[4096];
        jr_live_close(live);
        status = open_live_run(cli, id, live);
        if (status != 0 || live->standing != JR_STANDING_RUNNING)
            break;
        struct pollfd fds[] = {{.fd = live->pidfd, .events = POLLIN},
                               {.fd = folder, .events = POLLIN}};
        int ready = poll(fds, 2, left_until(until_ns));
        if (ready == 0 && left_until(until_ns) == 0)
            return EXPIRED;
        if (ready > 0 && fds[1].revents != 0)
            (void)!read(folder, events, sizeof events);
    }
    struct pollfd end = {.fd = live->pidfd, .events = POLLIN};
    if (status == 0 && live->pidfd >= 0)
        (void)poll(&end, 1, LEAVE_MS);
    return status;
}

/* --timeout, as the moment at which it is over. */
static int read_timeout(const struct jr_cli *cli, uint64_t *ret_until_ns)
{
    uint64_t ms = 0;
    *ret_until_ns = 0;
    if (cli->timeout == NULL)
        return 0;
    if (!jr_num_duration(cli->timeout, &ms) ||
        ms > (UINT64_MAX - jr_clock_ns()) / 1000000)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "--timeout wants a time such as 30s or 5m, not '%s'",
                          cli->timeout);
    *ret_until_ns = jr_clock_ns() + ms * 1000000;
    return 0;
}

static int wait_for_run(const struct jr_cli *cli, const char *id,
                        uint64_t until_ns)
{
    struct jr_live live;
    int status = open_live_run(cli, id, &live);
    if (status != 0)
        return status;
    status = await_run_end(cli, id, &live, until_ns);
    if (status == EXPIRED)
        (void)jr_cli_say(cli, 0,
                         "%s is still running after %s (jobrun wait %s)", id,
                         cli->timeout, id);
    if (status != 0) {
        jr_live_close(&live);
        return status;
    }
    if (live.standing == JR_STANDING_FINISHED) {
        show_run_report(cli, id);
        status = live.exit_code;
    } else {
        status = refuse_dead_run(cli, id, &live);
    }
    jr_live_close(&live);
    return status;
}

int jr_cmd_wait(struct jr_cli *cli)
{
    char id[256];
    int status = jr_cli_find_run(cli, id);
    if (status != 0)
        return status;
    jr_cli_say_whose(cli, id);
    uint64_t until_ns;
    status = read_timeout(cli, &until_ns);
    return status != 0 ? status : wait_for_run(cli, id, until_ns);
}

/* Why a run is left alone that may be a forgery, or is another user's. */
static int refuse_untrusted_signal(const struct jr_cli *cli, const char *id,
                                   const struct jr_live *live)
{
    JR_BUF_CLEANUP struct jr_buf why = JR_BUF_INIT;
    jr_trust_explain(&why, &live->trust);
    return jr_cli_say(
        cli, JR_STATUS_LAUNCH,
        "%s %s, so its record is not trusted and nothing was signalled (%s)",
        id, why.failed ? "is not trusted" : why.data,
        live->trust.verdict == JR_TRUST_OPEN
            ? "chmod o-w, if you know that it is yours"
            : "its owner can stop it");
}

/* A stopped jobrun cannot obey: it is woken, too. */
static int signal_run(const struct jr_cli *cli, const char *id,
                      const struct jr_live *live)
{
    if (!jr_trust_is_ours(&live->trust))
        return refuse_untrusted_signal(cli, id, live);
    if (!live->ours)
        return jr_cli_say(cli, JR_STATUS_LAUNCH,
                          "%s belongs to %s; it was left alone", id,
                          live->user == NULL ? "somebody else" : live->user);
    if (jr_pidfd_signal(live->pidfd, SIGTERM) != 0 && errno != ESRCH)
        return jr_cli_say(cli, JR_STATUS_LAUNCH,
                          "pid %d of %s could not be signalled: %s", live->pid,
                          id, strerror(errno));
    (void)jr_pidfd_signal(live->pidfd, SIGCONT);
    return 0;
}

/* Every part of it that runs here. */
static int signal_parts(const struct jr_cli *cli, const char *id)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_strv ids = jr_multinode_ids(&arena, jr_cli_log_dir(cli), id);
    int status = 0;
    for (size_t i = 0; i < ids.count; i++) {
        struct jr_live live;
        int failed = open_live_run(cli, ids.items[i], &live);
        if (failed == 0) {
            if (live.standing == JR_STANDING_RUNNING)
                failed = signal_run(cli, ids.items[i], &live);
            jr_live_close(&live);
        }
        status = failed != 0 ? failed : status;
    }
    jr_arena_release(&arena);
    return status;
}

/* Its jobrun may still have lines for a console that is not read. */
static void end_showing(const struct jr_cli *cli, const char *id,
                        const struct jr_live *live)
{
    struct pollfd end = {.fd = live->pidfd, .events = POLLIN};
    if (live->pidfd < 0 || poll(&end, 1, LEAVE_MS) != 0 ||
        signal_run(cli, id, live) != 0)
        return;
    (void)jr_cli_say(cli, 0,
                     "%s had lines left that its console did not take; they "
                     "are no longer shown (jobrun logs %s prints them)",
                     id, id);
}

/* Nothing runs: whether because it ended, or because its jobrun was killed and
 * left what is swept now. */
static int report_idle_stop(const struct jr_cli *cli, const char *id,
                            const struct jr_live *live)
{
    struct jr_buf out = JR_BUF_INIT;
    if (live->standing == JR_STANDING_FINISHED)
        end_showing(cli, id, live);
    if (live->standing == JR_STANDING_FINISHED)
        return jr_cli_say(cli, 0, "%s has already ended: %s (jobrun show %s)",
                          id, live->status, id);
    int status = refuse_dead_run(cli, id, live);
    if (jr_lost_sweep(&out, jr_cli_log_dir(cli), id) > 0)
        status = jr_cli_say(cli, 0, "%s", out.failed ? "swept" : out.data);
    jr_buf_release(&out);
    return status;
}

static int stop_and_wait(const struct jr_cli *cli, const char *id,
                         struct jr_live *live)
{
    int status = signal_parts(cli, id);
    if (status == 0)
        status = await_run_end(cli, id, live, 0);
    if (status != 0)
        return status;
    if (live->standing != JR_STANDING_FINISHED)
        return report_idle_stop(cli, id, live);
    show_run_report(cli, id);
    return 0;
}

int jr_cmd_stop(struct jr_cli *cli)
{
    char id[256];
    struct jr_live live = {.pidfd = -1};
    int status = jr_cli_find_run(cli, id);
    if (status == 0)
        status = open_live_run(cli, id, &live);
    if (status != 0)
        return status;
    if (!jr_trust_is_ours(&live.trust))
        status = refuse_untrusted_signal(cli, id, &live);
    else if (live.standing == JR_STANDING_RUNNING)
        status = stop_and_wait(cli, id, &live);
    else
        status = report_idle_stop(cli, id, &live);
    jr_live_close(&live);
    return status;
}
