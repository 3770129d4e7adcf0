/* jobrun report: what a run came to, as lines or as one HTML file. cli.h
 * declares it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/cli.h"
#include "cli/cmd_runs.h"
#include "cli/output.h"
#include "report/show.h"

#include "base/banned.h"

/* Append how to get from the folder `from` to `to`, both absolute and folded:
 * "../runs/ID". */
static void add_relative_path(struct jr_buf *out, const char *from,
                              const char *to)
{
    size_t same = 0;
    for (size_t i = 0;; i++) {
        bool end = from[i] == '\0' || from[i] == '/';
        if (end && (to[i] == '\0' || to[i] == '/'))
            same = i;
        if (from[i] != to[i] || from[i] == '\0')
            break;
    }
    for (const char *at = from + same; *at != '\0'; at++)
        if (*at == '/' && at[1] != '\0')
            jr_buf_str(out, "../");
    const char *rest = to + same + strspn(to + same, "/");
    jr_buf_str(out, *rest == '\0' ? "." : rest);
}

/* The run folder as the report's links name it. 0 or -1. */
static int find_run_link(struct jr_buf *out, const struct jr_cli *cli,
                         const char *id)
{
    JR_FREE char *here = getcwd(NULL, 0);
    JR_BUF_CLEANUP struct jr_buf run = JR_BUF_INIT, folder = JR_BUF_INIT;
    if (cli->output != NULL && strchr(cli->output, '/') != NULL)
        jr_buf_add(&folder, cli->output,
                   (size_t)(strrchr(cli->output, '/') - cli->output) + 1);
    else
        jr_buf_char(&folder, '.');
    jr_buf_printf(&run, "%s/%s", jr_cli_log_dir(cli), id);
    if (here == NULL || run.failed || folder.failed)
        return -1;
    JR_FREE char *from = jr_io_absolute(here, folder.data);
    JR_FREE char *to = jr_io_absolute(here, run.data);
    if (from == NULL || to == NULL)
        return -1;
    add_relative_path(out, from, to);
    return 0;
}

int jr_cmd_report(struct jr_cli *cli)
{
    static const char *const formats[] = {"text", "html", NULL};
    char id[256];
    struct jr_error err = {0};
    struct jr_buf out = JR_BUF_INIT;
    JR_BUF_CLEANUP struct jr_buf way = JR_BUF_INIT;
    int format = jr_cli_format(cli, formats);
    int status = format < 0 ? JR_STATUS_USAGE : jr_cli_find_run(cli, id);
    if (status != 0)
        return status;
    jr_cli_say_whose(cli, id);
    if (find_run_link(&way, cli, id) != 0)
        return jr_cli_say(cli, JR_STATUS_LAUNCH,
                          "cannot find the path from here to the run folder");
    struct jr_record_report_view look = {
        .html = format == 1,
        .color = cli->color_out && cli->output == NULL,
        .base = way.data,
    };
    if (jr_record_report(&out, jr_cli_log_dir(cli), id, &look, &err) != 0) {
        jr_buf_release(&out);
        return jr_cli_say(cli, JR_STATUS_LAUNCH, "%s", err.text);
    }
    return jr_cli_deliver(cli, &out);
}
