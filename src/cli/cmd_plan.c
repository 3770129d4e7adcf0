/* jobrun plan: the value that `run` would execute, printed. cli.h declares it.
 */
#include "cli/stage.h"

#include "cli/output.h"
#include "session/preflight.h"

#include "base/banned.h"

static int make_plan(struct jr_session *session, const struct jr_cli *cli)
{
    struct jr_error err = {0};
    enum jr_status status = jr_session_make_plan(session, &err);
    return jr_stage_told(session, cli, status, &err);
}

/* What the launch will need is said last, below the plan. */
static int check_machine(struct jr_session *session, const struct jr_cli *cli)
{
    struct jr_error err = {0};
    enum jr_status status = jr_session_preflight(session);
    return jr_stage_told(session, cli, status, &err);
}

int jr_cmd_plan(struct jr_cli *cli)
{
    static const char *const formats[] = {"text", "json", NULL};
    struct jr_session *session = NULL;
    enum jr_text what = cli->env ? JR_TEXT_PLAN_ENV : JR_TEXT_PLAN;
    int format = jr_cli_format(cli, formats);
    if (format < 0)
        return JR_STATUS_USAGE;
    bool sweep = false;
    int status = jr_stage_resolve(&session, cli, &sweep);
    if (status == 0 && sweep) {
        status = jr_stage_print_cells(session, cli, format == 1);
        jr_session_close(session);
        return status;
    }
    if (status == 0)
        status = make_plan(session, cli);
    if (status == 0)
        status = jr_stage_print(session, cli,
                                format == 1 ? JR_TEXT_PLAN_JSON : what);
    if (status == 0 && cli->on == NULL)
        status = check_machine(session, cli);
    jr_session_close(session);
    return status;
}
