/* The verbs that lead one job through its stages, run, rerun, plan and resolve, and agent, which
 * does that for a controller. cli.h declares them. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/cli.h"
#include "session/foreground.h"
#include "session/preflight.h"
#include "session/rerun.h"
#include "session/submission.h"
#include "session/sweep/cell_session.h"

#include "base/banned.h"

/* What `submit` has frozen is a spec, and all that it is run with. */
static int check_frozen(const struct jr_cli *cli, struct jr_session_options *options)
{
    if (cli->frozen == NULL)
        return 0;
    if (cli->frozen[0] != '/')
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "--frozen wants the absolute path of a folder that `jobrun submit` made");
    if (cli->words_count > 0 || cli->rest != NULL || cli->count != NULL || cli->sets.count > 0 ||
        cli->sweeps.count > 0)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "a frozen job is run as it was submitted: --frozen "
                          "takes no spec, no --set, no --sweep and no command");
    options->code_of = cli->frozen;
    options->cell = NULL; /* it chooses among specs of cells */
    return 0;
}

static int load_frozen(struct jr_session *session, const struct jr_cli *cli)
{
    struct jr_error err = {0};
    return jr_stage_told(session, cli, jr_submission_load(session, cli->cell, &err), &err);
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
    if (status == 0 && !sweep)
        status = jr_stage_check_one_job(cli, NULL);
    if (status == 0)
        status = sweep ? jr_stage_run_sweep(session, cli) : jr_stage_run(session, cli);
    jr_session_close(session);
    return status;
}

/* jobrun rerun: a run once more. */

/* The number of a cell by its folder: "7" of "0007". */
static const char *cell_number(const char *folder)
{
    while (folder[0] == '0' && folder[1] >= '0' && folder[1] <= '9')
        folder++;
    return folder;
}

static int run_again(struct jr_cli *cli, const char *id, const struct jr_rerun *rerun)
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
    if (status == 0 && cli->sweep_dir != NULL)
        jr_session_be_cell(session, cell_number(id), cli->sweep_id);
    if (status == 0)
        jr_rerun_keep_values(session, rerun);
    if (status == 0)
        status = jr_stage_told(session, cli, jr_session_load(session, &rerun->source, &err), &err);
    if (status == 0)
        status = jr_stage_run(session, cli);
    jr_session_close(session);
    return status;
}

/* The run of a cell goes beside the sweep, and changes nothing of it. */
static int rerun_id(struct jr_cli *cli, const char *id)
{
    JR_FREE char *here = cli->sweep_dir == NULL ? NULL : getcwd(NULL, 0);
    JR_FREE char *log_dir = here == NULL ? NULL : jr_io_absolute(here, cli->sweep_dir);
    const struct jr_rerun_options options = {.exact = cli->exact,
                                             .local = cli->local,
                                             .code = cli->code,
                                             .trust = cli->trust,
                                             .log_dir = log_dir};
    struct jr_rerun rerun;
    struct jr_error err = {0};
    int status = jr_rerun_prepare(&rerun, jr_cli_log_dir(cli), id, &options, &err) != 0
                     ? jr_cli_say(cli, (int)err.status, "%s", err.text)
                     : run_again(cli, id, &rerun);
    jr_rerun_release(&rerun);
    return status;
}

int jr_cmd_rerun(struct jr_cli *cli)
{
    char id[256];
    if (cli->rest != NULL)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "rerun takes no arguments: a run is repeated with its own");
    int status = jr_cli_find_run(cli, id);
    return status != 0 ? status : rerun_id(cli, id);
}

/* jobrun plan: the value that `run` would execute, printed. */

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
        status = jr_stage_check_one_job(cli, NULL);
    if (status == 0)
        status = make_plan(session, cli);
    if (status == 0)
        status = jr_stage_print(session, cli, format == 1 ? JR_TEXT_PLAN_JSON : what);
    if (status == 0 && cli->on == NULL)
        status = check_machine(session, cli);
    jr_session_close(session);
    return status;
}

/* jobrun resolve: the spec with every MISSING field filled, or where each value came from. */

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
        return jr_cli_say(cli, JR_STATUS_USAGE, "--lock prints a spec: leave out %s",
                          cli->explain ? "--explain" : "--json");
    int status = jr_stage_resolve(&session, cli, NULL);
    if (status == 0)
        status = jr_stage_print(session, cli, format == 1 ? JR_TEXT_EXPLAIN_JSON : what);
    jr_session_close(session);
    return status;
}

/* jobrun agent: one node's end of a job on several, started by jobrun itself.
 */

int jr_cmd_agent(struct jr_cli *cli)
{
    struct jr_error err = {0};
    bool assigned = cli->words_count == 1 && strcmp(cli->words[0], "ssh") == 0;
    int status = jr_session_serve(cli->environ, assigned, &err);
    return status == JR_STATUS_OK ? 0 : jr_cli_say(cli, status, "%s", err.text);
}
