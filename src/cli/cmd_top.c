/* jobrun top: the ranks of a run that goes on, until it ends. Of a run in parts
 * it is the ranks of one that runs here. cli.h declares it. */
#include <signal.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/cmd_runs.h"
#include "cli/output.h"
#include "record/live_run.h"
#include "report/watch_ranks.h"

#include "base/banned.h"

static int watch_run(const struct jr_cli *cli, const char *id,
                     const struct jr_live *live)
{
    const struct jr_top_watch watch = {.log_dir = jr_cli_log_dir(cli),
                                       .id = id,
                                       .in = STDIN_FILENO,
                                       .out = STDOUT_FILENO,
                                       .terminal = cli->moves_cursor,
                                       .once = cli->once};
    struct jr_error err = {0};
    int signal = 0;
    if (jr_watch_ranks(&watch, live, &signal, &err) != 0)
        return jr_cli_say(cli, JR_STATUS_LAUNCH, "%s", err.text);
    if (signal == 0)
        return 0;
    (void)raise(signal); /* the terminal is as it was before */
    return 128 + signal;
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
        status = watch_run(cli, id, &live);
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
