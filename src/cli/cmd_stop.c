/* jobrun wait and stop: a run that another jobrun executes. cli.h declares it.
 */

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/strv.h"
#include "cli/cli.h"
#include "cli/mistakes.h"
#include "record/live_run.h"
#include "record/multinode.h"
#include "report/show.h"
#include "session/sweep/show_sweep.h"

#include "base/banned.h"

#define EXPIRED 124 /* the exit status of timeout(1) */

/* The run's own report, on standard error as when it was first told. */
static void show_run_report(const struct jr_cli *cli, const char *id)
{
    struct jr_buf out = JR_BUF_INIT;
    struct jr_error err = {0};
    if (jr_record_show(&out, jr_cli_log_dir(cli), id, NULL, cli->color_err, &err) != 0)
        (void)jr_cli_say(cli, 0, "%s", err.text);
    jr_cli_fit(&out, STDERR_FILENO);
    jr_cli_err(cli, &out);
}

static int open_live_run(const struct jr_cli *cli, const char *id, struct jr_live *live)
{
    struct jr_error err = {0};
    if (jr_live_open(live, jr_cli_log_dir(cli), id, &err) == 0)
        return 0;
    return jr_cli_say(cli, JR_STATUS_USAGE, "%s", err.text);
}

/* Why a run that has no results can be neither waited for nor stopped. */
static int refuse_dead_run(const struct jr_cli *cli, const char *id, const struct jr_live *live)
{
    JR_BUF_CLEANUP struct jr_buf why = JR_BUF_INIT;
    jr_live_explain(&why, live, jr_cli_run_name(cli, id));
    return jr_cli_say(cli, JR_STATUS_LAUNCH, "%s", why.failed ? "out of memory" : why.data);
}

/* The exit status; EXPIRED where it still runs at `until_ns`. */
static int await_run_end(const struct jr_cli *cli, const char *id, struct jr_live *live,
                         uint64_t until_ns)
{
    struct jr_error err = {0};
    int ended = jr_live_await(live, jr_cli_log_dir(cli), id, until_ns, &err);
    if (ended < 0)
        return jr_cli_say(cli, JR_STATUS_USAGE, "%s", err.text);
    return ended == 0 ? 0 : EXPIRED;
}

static int report_expired(const struct jr_cli *cli, const char *name)
{
    JR_BUF_CLEANUP struct jr_buf typed = JR_BUF_INIT;
    return jr_cli_say(cli, EXPIRED, "%s is still running after %s (jobrun wait %s)", name,
                      cli->timeout, jr_cli_run_words(&typed, cli, name));
}

/* --timeout, as the moment at which it is over. */
static int read_timeout(const struct jr_cli *cli, uint64_t *ret_until_ns)
{
    uint64_t ms = 0;
    *ret_until_ns = 0;
    if (cli->timeout == NULL)
        return 0;
    if (!jr_num_duration(cli->timeout, &ms) || ms > (UINT64_MAX - jr_clock_ns()) / 1000000)
        return jr_mistake_time(cli, "timeout", cli->timeout, "30s or 5m");
    *ret_until_ns = jr_clock_ns() + ms * 1000000;
    return 0;
}

static int wait_for_run(const struct jr_cli *cli, const char *id, uint64_t until_ns)
{
    struct jr_live live;
    int status = open_live_run(cli, id, &live);
    if (status != 0)
        return status;
    status = await_run_end(cli, id, &live, until_ns);
    if (status == EXPIRED)
        (void)report_expired(cli, jr_cli_run_name(cli, id));
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

/* Wait for a sweep, or stop it, and show its table. */
static int end_sweep(const struct jr_cli *cli, const char *id, bool stop)
{
    struct jr_error err = {0};
    struct jr_buf out = JR_BUF_INIT;
    struct jr_sweep_wait wait = {.stop = stop, .envp = cli->environ};
    const struct jr_sweep_view view = {.word = id};
    int code = 0, status = read_timeout(cli, &wait.until_ns);
    if (status != 0)
        return status;
    bool over = !jr_sweep_goes_on(jr_cli_log_dir(cli), id);
    int ended = jr_sweep_await(jr_cli_log_dir(cli), id, &wait, &code, &err);
    if (ended < 0)
        return jr_cli_say(cli, (int)err.status, "%s", err.text);
    if (ended > 0)
        return report_expired(cli, id);
    JR_BUF_CLEANUP struct jr_buf typed = JR_BUF_INIT;
    if (stop && over)
        (void)jr_cli_say(cli, 0, "%s has already ended (jobrun show %s)", id,
                         jr_cli_run_words(&typed, cli, id));
    if (jr_sweep_show(&out, jr_cli_log_dir(cli), id, &view, &err) != 0)
        (void)jr_cli_say(cli, 0, "%s", err.text);
    jr_cli_err(cli, &out);
    return stop ? 0 : code;
}

int jr_cmd_wait(struct jr_cli *cli)
{
    char id[256];
    struct jr_far_cell cell;
    uint64_t until_ns;
    if (jr_cli_find_sweep(cli, id))
        return end_sweep(cli, id, false);
    int status = read_timeout(cli, &until_ns);
    if (status != 0)
        return status;
    if (jr_cli_find_far_cell(cli, &cell) && !jr_far_cell_await(&cell, until_ns))
        return report_expired(cli, cli->words[0]);
    status = jr_cli_find_run(cli, id);
    if (status != 0)
        return status;
    jr_cli_say_whose(cli, id);
    return wait_for_run(cli, id, until_ns);
}

static int signal_run(const struct jr_cli *cli, const char *id, const struct jr_live *live)
{
    struct jr_error err = {0};
    if (jr_live_stop(live, jr_cli_log_dir(cli), id, jr_cli_run_name(cli, id), &err) == 0)
        return 0;
    return jr_cli_say(cli, (int)err.status, "%s", err.text);
}

/* Every part of it that runs here. */
static int signal_parts(const struct jr_cli *cli, const char *id)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
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
    return status;
}

/* Its jobrun may still have lines for a console that is not read. */
static void end_showing(const struct jr_cli *cli, const char *id, const struct jr_live *live)
{
    if (!jr_live_stays(live) || signal_run(cli, id, live) != 0)
        return;
    JR_BUF_CLEANUP struct jr_buf typed = JR_BUF_INIT;
    (void)jr_cli_say(cli, 0,
                     "%s had lines left that its console did not take; they "
                     "are no longer shown (jobrun logs %s prints them)",
                     jr_cli_run_name(cli, id),
                     jr_cli_run_words(&typed, cli, jr_cli_run_name(cli, id)));
}

/* Nothing runs: whether because it ended, or because its jobrun was killed and left what is swept
 * now. */
static int report_idle_stop(const struct jr_cli *cli, const char *id, const struct jr_live *live)
{
    struct jr_buf out = JR_BUF_INIT;
    JR_BUF_CLEANUP struct jr_buf typed = JR_BUF_INIT;
    if (live->standing == JR_STANDING_FINISHED)
        end_showing(cli, id, live);
    if (live->standing == JR_STANDING_FINISHED)
        return jr_cli_say(cli, 0, "%s has already ended: %s (jobrun show %s)",
                          jr_cli_run_name(cli, id), live->status,
                          jr_cli_run_words(&typed, cli, jr_cli_run_name(cli, id)));
    int status = refuse_dead_run(cli, id, live);
    if (jr_lost_sweep(&out, jr_cli_log_dir(cli), id) > 0)
        status = jr_cli_say(cli, 0, "%s", out.failed ? "swept" : out.data);
    jr_buf_release(&out);
    return status;
}

static int stop_and_wait(const struct jr_cli *cli, const char *id, struct jr_live *live)
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

/* Of such a cell the jobrun of its sweep has the agent; when it has ended, its files are here,
 * unless its host was lost. */
static int stop_far_cell(struct jr_cli *cli, const struct jr_far_cell *cell)
{
    char id[256];
    struct jr_error err = {0};
    if (jr_far_cell_stop(cell, &err) != 0)
        return jr_cli_say(cli, (int)err.status, "%s", err.text);
    (void)jr_far_cell_await(cell, 0);
    int status = jr_cli_find_run(cli, id);
    if (status == 0)
        show_run_report(cli, id);
    return status;
}

int jr_cmd_stop(struct jr_cli *cli)
{
    char id[256];
    struct jr_far_cell cell;
    if (jr_cli_find_sweep(cli, id))
        return end_sweep(cli, id, true);
    if (jr_cli_find_far_cell(cli, &cell))
        return stop_far_cell(cli, &cell);
    struct jr_live live = {.held = JR_HOLD_NONE};
    int status = jr_cli_find_run(cli, id);
    if (status == 0)
        status = open_live_run(cli, id, &live);
    if (status != 0)
        return status;
    if (!jr_trust_is_ours(&live.trust))
        status = signal_run(cli, id, &live); /* which it refuses */
    else if (live.standing == JR_STANDING_RUNNING)
        status = stop_and_wait(cli, id, &live);
    else
        status = report_idle_stop(cli, id, &live);
    jr_live_close(&live);
    return status;
}
