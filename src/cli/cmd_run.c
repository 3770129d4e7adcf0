/* jobrun run: launch a spec, or the command after "--". cli.h declares it. */
#include "cli/output.h"
#include "cli/stage.h"
#include "session/submission.h"

#include "base/banned.h"

/* --resume is about sweeps. */
static int check_resume(const struct jr_cli *cli, bool sweep)
{
    if (sweep ||
        (cli->resume == NULL && !cli->skip_failed && cli->parallel == NULL))
        return 0;
    return jr_cli_say(cli, JR_STATUS_USAGE,
                      "%s is for a sweep: the spec has no `sweep`, and there "
                      "is no --sweep, or --cell takes one cell of it",
                      cli->resume != NULL ? "--resume"
                      : cli->skip_failed  ? "--skip-failed"
                                          : "--parallel");
}

/* What `submit` has frozen is a spec, and all that it is run with. */
static int check_frozen(const struct jr_cli *cli,
                        struct jr_session_options *options)
{
    if (cli->frozen == NULL)
        return 0;
    if (cli->frozen[0] != '/')
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "--frozen wants the absolute path of a folder that "
                          "`jobrun submit` made");
    if (cli->words_count > 0 || cli->rest != NULL || cli->count != NULL ||
        cli->sets.count > 0)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "a frozen job is run as it was submitted: --frozen "
                          "takes no spec, no --set and no command");
    options->code_of = cli->frozen;
    return 0;
}

static int load_frozen(struct jr_session *session, const struct jr_cli *cli)
{
    struct jr_error err = {0};
    return jr_stage_told(session, cli, jr_submission_load(session, &err), &err);
}

int jr_cmd_run(struct jr_cli *cli)
{
    struct jr_session_options options = jr_stage_options(cli);
    struct jr_session *session = NULL;
    bool sweep = false;
    int status = check_frozen(cli, &options);
    if (status == 0)
        status = jr_stage_wait(cli, &options);
    if (status == 0)
        status = jr_stage_open(&session, cli, &options);
    if (status == 0 && cli->frozen != NULL)
        status = load_frozen(session, cli);
    else if (status == 0)
        status = jr_stage_load(session, cli, &sweep);
    if (status == 0)
        status = check_resume(cli, sweep);
    if (status == 0)
        status = sweep ? jr_stage_run_sweep(session, cli)
                       : jr_stage_run(session, cli);
    jr_session_close(session);
    return status;
}
