/* jobrun run: launch a spec, or the command behind "--". */
#include "launch.h"

#include "banned.h"

int jr_cmd_run(struct jr_cli *cli)
{
    struct jr_stages stages = JR_STAGES_INIT;
    const struct jr_launch launch = {
        .spec = cli->words_count == 1 ? cli->words[0] : NULL};
    int status = jr_stage_load(&stages, cli);
    if (status == 0)
        status = jr_launch_run(&launch, &stages, cli);
    jr_stages_release(&stages);
    return status;
}
