/* jobrun resolve: the spec with every MISSING field filled, or where each
 * value came from. */
#include "stage.h"

#include "banned.h"

int jr_cmd_resolve(struct jr_cli *cli)
{
    static const char *const formats[] = {"text", "json", NULL};
    struct jr_stages stages = JR_STAGES_INIT;
    struct jr_buf out = JR_BUF_INIT;
    int format = jr_cli_format(cli, formats);
    int status =
        format < 0 ? JR_STATUS_USAGE : jr_stage_resolve(&stages, cli, false);
    if (status == 0) {
        if (cli->explain || format == 1)
            jr_resolution_explain(&out, &stages.resolution, format == 1);
        else
            jr_resolution_emit(&out, &stages.resolution, stages.file);
        status = jr_cli_out(cli, &out);
    }
    jr_stages_release(&stages);
    return status;
}
