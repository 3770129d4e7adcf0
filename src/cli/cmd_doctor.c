/* jobrun doctor: the facts that the resolver sees, for people or as the file
 * that --on reads. cli.h declares it. */
#include "cli/output.h"
#include "cli/stage.h"
#include "session/machine_text.h"

#include "base/banned.h"

static int print_machine(const struct jr_session *session,
                         const struct jr_cli *cli)
{
    struct jr_buf out = JR_BUF_INIT;
    jr_session_describe_machine(&out, session);
    return jr_cli_out(cli, &out);
}

int jr_cmd_doctor(struct jr_cli *cli)
{
    static const char *const formats[] = {"text", "yaml", NULL};
    const struct jr_session_options options = jr_stage_options(cli);
    struct jr_session *session = NULL;
    int format = jr_cli_format(cli, formats);
    if (format < 0)
        return JR_STATUS_USAGE;
    int status = jr_stage_open(&session, cli, &options);
    if (status == 0)
        status = jr_stage_facts(session, cli);
    if (status == 0)
        jr_session_more_facts(session);
    if (status == 0 && format == 1)
        status = jr_stage_print(session, cli, JR_TEXT_FACTS);
    else if (status == 0)
        status = print_machine(session, cli);
    jr_session_close(session);
    return status;
}
