/* jobrun logs: what the ranks wrote, to standard output. cli.h declares it. */
#include <unistd.h>

#include "base/rank_set.h"
#include "cli/cli.h"
#include "cli/cmd_runs.h"
#include "cli/output.h"
#include "report/follow_logs.h"

#include "base/banned.h"

static int print_logs(const struct jr_cli *cli, const char *id,
                      const struct jr_set *ranks)
{
    const struct jr_logs_view view = {
        .ranks = ranks,
        .attempt = cli->attempt,
        .tail = cli->tail,
        .follow = cli->follow,
        .terminal = isatty(STDOUT_FILENO) == 1,
        .color = cli->color_out,
    };
    struct jr_error err = {0};
    if (jr_logs_print(STDOUT_FILENO, jr_cli_log_dir(cli), id, &view, &err) == 0)
        return 0;
    return jr_cli_say(cli, (int)err.status, "%s", err.text);
}

int jr_cmd_logs(struct jr_cli *cli)
{
    char id[256];
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_set ranks;
    int status = jr_cli_find_run(cli, id);
    if (status != 0)
        return status;
    jr_cli_say_whose(cli, id);
    status = jr_cli_ranks(cli, &arena, &ranks);
    if (status == 0)
        status = print_logs(cli, id, &ranks);
    jr_arena_release(&arena);
    return status;
}
