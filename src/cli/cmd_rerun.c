/* jobrun rerun: a run once more. cli.h declares it. */
#include "cli/cmd_runs.h"
#include "cli/output.h"
#include "cli/stage.h"
#include "session/rerun.h"

#include "base/banned.h"

static int run_again(struct jr_cli *cli, const char *id,
                     const struct jr_rerun *rerun)
{
    struct jr_session_options options = jr_stage_options(cli);
    struct jr_session *session = NULL;
    struct jr_error err = {0};
    options.sets = rerun->sets.items;
    options.root = NULL;
    options.args = NULL;
    options.local = rerun->local;
    options.rerun_of = id;
    options.code_of = rerun->code_of;
    int status = jr_stage_wait(cli, &options);
    if (status == 0)
        status = jr_stage_open(&session, cli, &options);
    if (status == 0)
        status = jr_stage_told(
            session, cli, jr_session_load(session, &rerun->source, &err), &err);
    if (status == 0)
        status = jr_stage_run(session, cli);
    jr_session_close(session);
    return status;
}

static int rerun_id(struct jr_cli *cli, const char *id)
{
    const struct jr_rerun_options options = {.exact = cli->exact,
                                             .local = cli->local,
                                             .code = cli->code,
                                             .trust = cli->trust};
    struct jr_rerun rerun;
    struct jr_error err = {0};
    int status =
        jr_rerun_prepare(&rerun, jr_cli_log_dir(cli), id, &options, &err) != 0
            ? jr_cli_say(cli, (int)err.status, "%s", err.text)
            : run_again(cli, id, &rerun);
    jr_rerun_release(&rerun);
    return status;
}

int jr_cmd_rerun(struct jr_cli *cli)
{
    char id[256];
    if (cli->rest != NULL)
        return jr_cli_say(
            cli, JR_STATUS_USAGE,
            "rerun takes no arguments: a run is repeated with its own");
    int status = jr_cli_find_run(cli, id);
    return status != 0 ? status : rerun_id(cli, id);
}
