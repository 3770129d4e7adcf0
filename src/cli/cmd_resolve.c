/* jobrun resolve: the spec with every MISSING field filled, or where each value
 * came from. cli.h declares it. */
#include "cli/stage.h"

#include "cli/output.h"

#include "base/banned.h"

int jr_cmd_resolve(struct jr_cli *cli)
{
    static const char *const formats[] = {"text", "json", NULL};
    struct jr_session *session = NULL;
    enum jr_text what = cli->explain ? JR_TEXT_EXPLAIN
                        : cli->lock  ? JR_TEXT_LOCK
                                     : JR_TEXT_RESOLVED;
    int format = jr_cli_format(cli, formats);
    if (format < 0)
        return JR_STATUS_USAGE;
    if (cli->lock && (cli->explain || format == 1))
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "--lock prints a spec: leave out %s",
                          cli->explain ? "--explain" : "--json");
    int status = jr_stage_resolve(&session, cli, NULL);
    if (status == 0)
        status = jr_stage_print(session, cli,
                                format == 1 ? JR_TEXT_EXPLAIN_JSON : what);
    jr_session_close(session);
    return status;
}
