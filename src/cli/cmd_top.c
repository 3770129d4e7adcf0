/*
 * jobrun top: the ranks of a run, again and again until it ends. On a terminal
 * the table is drawn over itself; elsewhere it is printed one below the other,
 * less often, and nothing moves a cursor. Of a run in parts it is the ranks of
 * one that runs here. cli.h declares it.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/cli.h"
#include "cli/cmd_runs.h"
#include "cli/output.h"
#include "record/live_run.h"
#include "report/top.h"

#include "base/banned.h"

enum {
    FIRST_MS = 500, /* before the first table: to see how time is spent */
    TERMINAL_MS = 2000,
    PLAIN_MS = 10000
};

static struct jr_top_size size_of_terminal(void)
{
    struct winsize window = {0};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_row < 2)
        return (struct jr_top_size){24, 80};
    /* The cursor rests below the last line. */
    return (struct jr_top_size){window.ws_row - 1U, window.ws_col};
}

/* The table over the one before: each line's rest is erased, and what is
 * below. */
static void draw_top_table(struct jr_buf *out, const struct jr_buf *table)
{
    JR_BUF_CLEANUP struct jr_buf lines = JR_BUF_INIT;
    jr_buf_replaced(&lines, table->data, "\n", "\033[K\n");
    out->failed |= lines.failed;
    jr_buf_str(out, "\033[H");
    if (!lines.failed)
        jr_buf_add(out, lines.data, lines.len);
    jr_buf_str(out, "\033[J");
}

/* False once its reader has gone, or it cannot be written. */
static bool show_top(struct jr_top *top, bool terminal)
{
    JR_BUF_CLEANUP struct jr_buf table = JR_BUF_INIT, out = JR_BUF_INIT;
    struct jr_top_size size = {0};
    if (terminal)
        size = size_of_terminal();
    jr_top_look(top);
    jr_top_print(&table, top, &size);
    if (table.failed || table.len == 0)
        return false;
    if (terminal)
        draw_top_table(&out, &table);
    else
        jr_buf_add(&out, table.data, table.len);
    return !out.failed &&
           jr_io_write_all(STDOUT_FILENO, out.data, out.len) == 0;
}

/* Sleep for so long. False when the run, or the reader, is gone before. */
static bool sleep_beside_run(const struct jr_live *live, int ms)
{
    struct pollfd fds[] = {{.fd = live->pidfd, .events = POLLIN},
                           {.fd = STDOUT_FILENO}};
    return poll(fds, 2, ms) == 0;
}

/* Its jobrun may live longer than the run, because of a console that is not
 * read. */
static bool is_top_run_going_on(const struct jr_cli *cli, const char *id)
{
    struct jr_live live;
    if (jr_live_open(&live, jr_cli_log_dir(cli), id, NULL) != 0)
        return false;
    bool running = live.standing == JR_STANDING_RUNNING;
    jr_live_close(&live);
    return running;
}

static int watch_run_ranks(struct jr_cli *cli, const char *id,
                           const struct jr_live *live)
{
    struct jr_top top;
    struct jr_error err = {0};
    bool terminal = cli->moves_cursor && !cli->once;
    char part[300];
    (void)snprintf(part, sizeof part, "%s%s%s", id,
                   live->part == NULL ? "" : "/",
                   live->part == NULL ? "" : live->part);
    if (jr_top_open(&top, jr_cli_log_dir(cli), part, live->pid, &err) != 0)
        return jr_cli_say(cli, JR_STATUS_LAUNCH, "%s", err.text);
    if (terminal)
        (void)jr_io_write_all(STDOUT_FILENO, "\033[2J", 4);
    jr_top_look(&top);
    int ms = FIRST_MS;
    while (sleep_beside_run(live, ms) && is_top_run_going_on(cli, id) &&
           show_top(&top, terminal) && !cli->once)
        ms = terminal ? TERMINAL_MS : PLAIN_MS;
    jr_top_close(&top);
    return 0;
}

int jr_cmd_top(struct jr_cli *cli)
{
    char id[256];
    struct jr_live live;
    struct jr_error err = {0};
    int status = jr_cli_find_run(cli, id);
    if (status != 0)
        return status;
    jr_cli_say_whose(cli, id);
    if (jr_live_open(&live, jr_cli_log_dir(cli), id, &err) != 0)
        return jr_cli_say(cli, JR_STATUS_USAGE, "%s", err.text);
    if (live.standing == JR_STANDING_RUNNING)
        status = watch_run_ranks(cli, id, &live);
    else if (live.standing != JR_STANDING_FINISHED)
        status = jr_cli_say(cli, JR_STATUS_LAUNCH,
                            "%s has no results, and is not running here", id);
    jr_live_close(&live);
    if (status == 0 &&
        jr_live_open(&live, jr_cli_log_dir(cli), id, NULL) == 0) {
        if (live.standing == JR_STANDING_FINISHED)
            (void)jr_cli_say(cli, 0, "%s has ended: %s (jobrun show %s)", id,
                             live.status, id);
        jr_live_close(&live);
    }
    return status;
}
