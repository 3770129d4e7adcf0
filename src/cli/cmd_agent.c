/* jobrun agent: one node's end of a job on several, started by jobrun itself.
 * cli.h declares it. */
#include "cli/cli.h"
#include "cli/output.h"
#include "session/node_session.h"

#include "base/banned.h"

int jr_cmd_agent(struct jr_cli *cli)
{
    struct jr_error err = {0};
    int status = jr_session_serve(cli->environ, &err);
    return status == JR_STATUS_OK ? 0 : jr_cli_say(cli, status, "%s", err.text);
}
