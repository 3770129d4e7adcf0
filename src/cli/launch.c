/*
 * What is written before the first rank starts is the spec, what it resolved
 * to, the plan and a record that says `running`; what is written at the end is
 * the judgement. A run folder without one was lost half-way.
 */
#include "launch.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "doc.h"
#include "git.h"
#include "record.h"
#include "report.h"
#include "run.h"
#include "rundir.h"

#include "banned.h"

/* How long a launch may wait for git to say whether the tree is dirty. */
enum { GIT_MS = 300 };

/* What a run holds beside the stages. */
struct running {
    const struct jr_launch *launch;
    struct jr_stages *stages;
    struct jr_rundir dir;
    struct jr_record_facts facts;
    struct jr_git git;
    struct jr_artifacts *before;
    struct jr_outcome outcome;
    struct jr_error refusal; /* why it could not begin; no text: it did */
    struct jr_report report;
};

/* "jobrun: digits: 4 ranks on 1 node (data 4), gloo, 127.0.0.1:29500" */
static void header(const struct jr_cli *cli, const struct jr_plan *plan)
{
    static const char *const words[] = {
#define WORD(name, word, help) word,
        JR_AXES(WORD)
#undef WORD
    };
    struct jr_buf out = JR_BUF_INIT;
    jr_buf_str(&out, "jobrun: ");
    jr_buf_escaped(&out, plan->name, strlen(plan->name));
    jr_buf_printf(&out, ": %u rank%s on %u node%s", plan->world_size,
                  plan->world_size == 1 ? "" : "s", plan->nodes,
                  plan->nodes == 1 ? "" : "s");
    const char *separator = " (";
    for (int axis = JR_AXIS_COUNT - 1; axis >= 0; axis--) {
        if (plan->axis_size[axis] == 1)
            continue;
        jr_buf_printf(&out, "%s%s %u", separator, words[axis],
                      plan->axis_size[axis]);
        separator = " x ";
    }
    jr_buf_str(&out, separator[1] == '(' ? "" : ")");
    jr_buf_printf(&out, ", %s, %s:%u\n", plan->backend, plan->master_addr,
                  plan->master_port);
    jr_cli_err(cli, &out);
}

/* Write one file of the run folder and empty the buffer. */
static int write_file(struct running *run, const struct jr_cli *cli,
                      const char *name, struct jr_buf *bytes)
{
    struct jr_error err = {0};
    int status = 0;
    if (bytes->failed)
        status = jr_cli_say(cli, JR_STATUS_LAUNCH, "out of memory");
    else if (jr_rundir_write(&run->dir, name, bytes, &err) != 0)
        status = jr_cli_say(cli, JR_STATUS_LAUNCH, "%s", err.text);
    jr_buf_release(bytes);
    return status;
}

static int write_record(struct running *run, const struct jr_cli *cli)
{
    struct jr_buf bytes = JR_BUF_INIT;
    jr_record_run_json(&bytes, &run->facts);
    return write_file(run, cli, "run.json", &bytes);
}

static int write_inputs(struct running *run, const struct jr_cli *cli)
{
    struct jr_stages *stages = run->stages;
    const struct jr_source *source = jr_spec_doc(stages->file)->source;
    struct jr_buf bytes = JR_BUF_INIT;
    jr_buf_add(&bytes, source->text, source->len);
    int status = write_file(run, cli, "spec.yaml", &bytes);
    if (status != 0)
        return status;
    jr_resolution_emit(&bytes, &stages->resolution, stages->file);
    status = write_file(run, cli, "resolved.yaml", &bytes);
    if (status != 0)
        return status;
    jr_plan_json(&bytes, &stages->plan);
    status = write_file(run, cli, "plan.json", &bytes);
    return status != 0 ? status : write_record(run, cli);
}

/* Choose the id, plan under it, and make the folder. A generated id can be
 * taken by another run of the same second: then it gets another suffix. */
static int open_folder(struct running *run, struct jr_cli *cli)
{
    const struct jr_job *job = &run->stages->resolution.job;
    char generated[128];
    const char *id = cli->run_id;
    struct jr_error err = {0};
    if (id == NULL) {
        jr_rundir_id(generated, job->name);
        id = generated;
    }
    if (jr_rundir_create(&run->dir, job->log_dir, id, cli->run_id != NULL,
                         job->policy->log_mode, &err) != 0)
        return jr_cli_say(cli, (int)err.status, "%s", err.text);
    int status = jr_stage_plan(run->stages, cli, run->dir.id);
    if (status != 0)
        (void)unlinkat(run->dir.log_fd, run->dir.id, AT_REMOVEDIR);
    return status;
}

/* What run.json says of this process, the spec and its commit. */
static int fill_facts(struct running *run, const struct jr_cli *cli)
{
    struct jr_record_facts *facts = &run->facts;
    struct jr_error err = {0};
    if (jr_record_facts_fill(facts, &run->stages->arena, &run->stages->plan,
                             &err) != 0)
        return jr_cli_say(cli, JR_STATUS_LAUNCH, "%s", err.text);
    jr_git_finish(&run->git, GIT_MS);
    facts->commit = run->git.commit[0] != '\0' ? run->git.commit : NULL;
    facts->dirty = run->git.dirty_known ? &run->git.dirty : NULL;
    facts->spec = run->launch->spec;
    facts->rerun_of = run->launch->rerun_of;
    facts->local = cli->local;
    return 0;
}

/* Everything up to the first rank. */
static int prepare(struct running *run, struct jr_cli *cli)
{
    struct jr_error err = {0};
    int status = jr_stage_settle(run->stages, cli, true);
    if (status != 0)
        return status;
    jr_git_start(&run->git, run->stages->resolution.job.workdir, cli->environ);
    status = open_folder(run, cli);
    if (status == 0)
        status = fill_facts(run, cli);
    if (status == 0)
        status = write_inputs(run, cli);
    if (status == 0 && jr_rundir_latest(&run->dir, &err) != 0)
        (void)jr_cli_say(cli, 0, "%s", err.text);
    if (status == 0 &&
        jr_artifacts_before(&run->before, &run->stages->plan, &err) != 0)
        status = jr_cli_say(cli, JR_STATUS_LAUNCH, "%s", err.text);
    return status;
}

static bool ignored(int signal)
{
    struct sigaction now;
    return sigaction(signal, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

static int start(struct running *run, const struct jr_cli *cli)
{
    struct jr_run_options options = {
        .dir = &run->dir,
        .out_fd = cli->out_closed ? -1 : STDOUT_FILENO,
        .err_fd = cli->err_closed ? -1 : STDERR_FILENO,
        .live = !cli->err_closed && isatty(STDERR_FILENO) == 1,
        .color = cli->color_err,
        .stop_on_hup = !ignored(SIGHUP),
        .stop_on_int = !ignored(SIGINT),
    };
    header(cli, &run->stages->plan);
    if (cli->out_closed)
        (void)jr_cli_say(cli, 0,
                         "standard output is closed: what the ranks print "
                         "goes to their files only");
    if (jr_run(&run->outcome, &run->stages->plan, &options, &run->refusal) ==
            0 ||
        jr_outcome_none(&run->outcome, &run->stages->plan) == 0)
        return 0;
    return jr_cli_say(cli, JR_STATUS_LAUNCH, "%s", run->refusal.text);
}

/* The plan as it is told: a run folder below the current one by its shorter
 * name, which is also where the other verbs look for it. */
static struct jr_plan told_plan(const struct running *run)
{
    struct jr_plan plan = run->stages->plan;
    const char *here = run->facts.cwd;
    size_t len = here != NULL ? strlen(here) : 0;
    if (len > 1 && strncmp(plan.run_dir, here, len) == 0 &&
        plan.run_dir[len] == '/')
        plan.run_dir += len + 1;
    return plan;
}

/* Judge and tell. A judgement that cannot be written is told all the same. */
static int conclude(struct running *run, struct jr_cli *cli)
{
    const struct jr_plan *plan = &run->stages->plan;
    struct jr_error err = {0};
    struct jr_buf bytes = JR_BUF_INIT;
    if (jr_report_make(&run->report, plan, &run->outcome, run->before,
                       run->dir.fd, &err) != 0)
        return jr_cli_say(cli, JR_STATUS_LAUNCH, "%s", err.text);
    if (run->refusal.text[0] != '\0')
        run->report.error = run->refusal.text;
    jr_report_json(&bytes, &run->report, plan, &run->outcome);
    int status = write_file(run, cli, "results.json", &bytes);
    jr_record_facts_finish(&run->facts, &run->report, &run->outcome);
    int recorded = write_record(run, cli);
    const struct jr_plan told = told_plan(run);
    jr_report_print(&bytes, &run->report, &told, &run->outcome, run->dir.fd,
                    cli->color_err);
    jr_cli_err(cli, &bytes);
    if (run->report.exit_code != 0)
        return run->report.exit_code;
    return status != 0 ? status : recorded;
}

static void release(struct running *run)
{
    jr_report_release(&run->report);
    jr_outcome_release(&run->outcome);
    jr_artifacts_free(run->before);
    jr_git_finish(&run->git, 0);
    jr_rundir_close(&run->dir);
}

int jr_launch_run(const struct jr_launch *launch, struct jr_stages *stages,
                  struct jr_cli *cli)
{
    struct running run = {.launch = launch,
                          .stages = stages,
                          .dir = JR_RUNDIR_INIT,
                          .git = JR_GIT_INIT};
    int status = prepare(&run, cli);
    if (status == 0)
        status = start(&run, cli);
    if (status == 0)
        status = conclude(&run, cli);
    release(&run);
    return status;
}
