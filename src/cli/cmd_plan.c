/* jobrun plan: the value that `run` would execute, printed. */
#include "stage.h"

#include "banned.h"

int jr_cmd_plan(struct jr_cli *cli)
{
    static const char *const formats[] = {"text", "json", NULL};
    struct jr_stages stages = JR_STAGES_INIT;
    struct jr_buf out = JR_BUF_INIT;
    int format = jr_cli_format(cli, formats);
    int status =
        format < 0 ? JR_STATUS_USAGE : jr_stage_resolve(&stages, cli, false);
    if (status == 0)
        status = jr_stage_plan(&stages, cli,
                               cli->run_id != NULL ? cli->run_id : "RUN_ID");
    if (status == 0) {
        if (format == 1)
            jr_plan_json(&out, &stages.plan);
        else
            jr_plan_print(&out, &stages.plan, cli->env);
        status = jr_cli_out(cli, &out);
    }
    jr_stages_release(&stages);
    return status;
}
