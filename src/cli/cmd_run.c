/* jobrun run: launch a spec, or the command after "--". cli.h declares it. */
#include "cli/stage.h"

#include "base/banned.h"

int jr_cmd_run(struct jr_cli *cli)
{
    const struct jr_session_options options = jr_stage_options(cli);
    struct jr_session *session = NULL;
    int status = jr_stage_open(&session, cli, &options);
    if (status == 0)
        status = jr_stage_load(session, cli);
    if (status == 0)
        status = jr_stage_run(session, cli);
    jr_session_close(session);
    return status;
}
