/* jobrun render: print the input for an engine; and jobrun submit, which hands it over. cli.h
 * declares them. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/shell_words.h"
#include "base/subprocess.h"
#include "cli/cli.h"
#include "cli/mistakes.h"
#include "cli/options.h"
#include "session/render_session.h"
#include "session/support.h"

#include "session/submission.h"
#include "session/sweep/submit_sweep.h"

#include "base/banned.h"

/* What a script was made of. */
struct render {
    struct jr_session *session;             /* of the spec; NULL: it could not be opened */
    struct jr_sweep_submission *sweep;      /* of all of its cells; NULL: it is one
                                               job */
    struct jr_sweep_submit_options options; /* of that */
};

/* A path as it is read from any folder. */
static void push_path(struct jr_strv *words, struct jr_cli *cli, const char *path)
{
    JR_FREE char *here = getcwd(NULL, 0);
    JR_FREE char *absolute = here == NULL ? NULL : jr_io_absolute(here, path);
    cli->arena.failed |= absolute == NULL;
    jr_strv_push(words, &cli->arena, jr_arena_strdup(&cli->arena, absolute));
}

static void push_command_word(struct jr_strv *words, struct jr_cli *cli, const char *word)
{
    jr_strv_push(words, &cli->arena, jr_arena_strdup(&cli->arena, word));
}

/* The command line that does there what this one would do here. */
static struct jr_strv rendered_command(struct jr_cli *cli)
{
    struct jr_strv words = {0};
    jr_strv_push(&words, &cli->arena, jr_support_program(&cli->arena, cli->environ));
    push_command_word(&words, cli, "run");
    push_path(&words, cli, cli->words[0]);
    for (size_t i = 0; i < cli->sets.count; i++) {
        push_command_word(&words, cli, "--set");
        push_command_word(&words, cli, cli->sets.items[i]);
    }
    for (size_t i = 0; i < cli->sweeps.count; i++) {
        push_command_word(&words, cli, "--sweep");
        push_command_word(&words, cli, cli->sweeps.items[i]);
    }
    if (cli->cell != NULL) {
        push_command_word(&words, cli, "--cell");
        push_command_word(&words, cli, cli->cell);
    }
    if (cli->root != NULL) {
        push_command_word(&words, cli, "--root");
        push_path(&words, cli, cli->root);
    }
    for (char **word = cli->rest; word != NULL && *word != NULL; word++) {
        if (word == cli->rest)
            push_command_word(&words, cli, "--");
        push_command_word(&words, cli, *word);
    }
    return words;
}

/* The engine that a word means which is none: "k8s". NULL: nobody knows. */
static const char *near_engine(const char *word)
{
    static const struct {
        const char *word, *here;
    } rows[] = {{"sbatch", "slurm"},       {"srun", "slurm"},  {"k8s", "kubernetes"},
                {"kubectl", "kubernetes"}, {"openmpi", "mpi"}, {"mpirun", "mpi"},
                {"mpich", "mpi"},          {"mpiexec", "mpi"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcasecmp(rows[i].word, word) == 0)
            return rows[i].here;
    return jr_value_near("ENGINE", word);
}

/* What is handed to others than Slurm is what render prints. */
static int refuse_to_submit(const struct jr_cli *cli, const char *engine)
{
    JR_BUF_CLEANUP struct jr_buf spec = JR_BUF_INIT;
    jr_shell_quote(&spec, cli->words_count > 0 ? cli->words[0] : "SPEC");
    return jr_cli_say(cli, JR_STATUS_USAGE,
                      "submit is for slurm; for %s: jobrun render %s --engine %s%s", engine,
                      spec.failed ? "SPEC" : spec.data, engine,
                      strcmp(engine, "kubernetes") == 0 ? " | kubectl apply -f -" : " | sh");
}

/* No engine is stated, or none that there is: name the line to type. The engine may stand behind
 * the spec as a word. */
static int refuse_engine(const struct jr_cli *cli)
{
    const char *engine = cli->engine;
    bool bare = engine == NULL && cli->words_count == 2;
    const char *word = bare ? cli->words[1] : engine;
    const char *near = word == NULL ? NULL : jr_session_has_engine(word) ? word : near_engine(word);
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    bool submits = strcmp(cli->verb->name, "submit") == 0;
    if (submits && near != NULL && strcmp(near, "slurm") != 0)
        return refuse_to_submit(cli, near);
    jr_buf_printf(&text, "--engine wants slurm%s", submits ? "" : ", kubernetes or mpi");
    if (engine != NULL)
        jr_buf_printf(&text, ", not '%s'", engine);
    if (engine != NULL && near != NULL)
        jr_buf_printf(&text, "; did you mean '%s'?", near);
    if (cli->words_count > 0 && (engine == NULL || near != NULL)) {
        jr_buf_printf(&text, "%s type: jobrun %s ", engine == NULL ? ";" : "", cli->verb->name);
        jr_shell_quote(&text, cli->words[0]);
        jr_buf_printf(&text, " --engine %s", near == NULL ? "slurm" : near);
    }
    return jr_cli_say(cli, JR_STATUS_USAGE, "%s", text.failed ? "out of memory" : text.data);
}

static int check_render_words(const struct jr_cli *cli)
{
    if (cli->engine == NULL || !jr_session_has_engine(cli->engine))
        return refuse_engine(cli);
    int status = jr_mistake_only_spec(cli);
    if (status != 0)
        return status;
    if (cli->words_count != 1)
        return jr_cli_say(cli, JR_STATUS_USAGE, "%s wants one spec: jobrun %s SPEC --engine %s",
                          cli->verb->name, cli->verb->name, cli->engine);
    if (strcmp(cli->engine, "slurm") == 0 && strcmp(cli->words[0], "-") == 0)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "the job reads its spec when it starts, but standard "
                          "input is gone by then: give a file");
    return 0;
}

/* Tell what the session of a cell found. */
static void print_cell_findings(void *data, struct jr_session *cell, enum jr_status status,
                                const struct jr_error *err)
{
    (void)jr_stage_told(cell, data, status, err);
}

static int render_sweep(struct render *render, struct jr_cli *cli, struct jr_buf *out, bool freezes)
{
    struct jr_strv command = rendered_command(cli);
    struct jr_error err = {0};
    /* The cells of a sweep are tasks of a job array, which only Slurm has. */
    if (strcmp(cli->engine, "slurm") != 0)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "the spec is a sweep, and %s runs one job: choose a "
                          "cell, for example --cell 0",
                          cli->engine);
    int failed = jr_stage_check_sweep(cli);
    if (failed == 0 && cli->on != NULL)
        failed = jr_stage_facts(render->session, cli);
    if (failed != 0)
        return failed;
    render->options =
        (struct jr_sweep_submit_options){.sweep = {.parallel = cli->parallel_value,
                                                   .resume = cli->resume,
                                                   .skip_failed = cli->skip_failed,
                                                   .refused = print_cell_findings,
                                                   .data = cli},
                                         .freezes = freezes,
                                         .command = command.items,
                                         .program = jr_support_program(&cli->arena, cli->environ)};
    if (cli->arena.failed)
        return jr_cli_say(cli, JR_STATUS_LAUNCH, "out of memory");
    enum jr_status status =
        jr_session_submit_sweep(&render->sweep, render->session, &render->options, out, &err);
    if (status != JR_STATUS_OK && err.text[0] == '\0')
        return (int)status; /* a cell has told why */
    return jr_stage_told(render->session, cli, status, &err);
}

static int render_job(struct jr_session *session, struct jr_cli *cli, struct jr_buf *out,
                      bool freezes)
{
    struct jr_strv command = rendered_command(cli);
    const char *folder = NULL;
    struct jr_error err = {0};
    int failed = jr_stage_check_one_job(cli, cli->run_id != NULL ? "--run-id" : NULL);
    if (failed == 0 && cli->on != NULL)
        failed = jr_stage_facts(session, cli);
    else if (failed == 0)
        failed = jr_stage_told(session, cli, jr_session_assume_machine(session, &err), &err);
    if (failed == 0 && freezes)
        failed = jr_stage_told(session, cli, jr_submission_make(session, &folder, &err), &err);
    if (failed != 0)
        return failed;
    if (folder != NULL) { /* the same for a job whose spec and code are there */
        command = (struct jr_strv){0};
        jr_strv_push(&command, &cli->arena, jr_support_program(&cli->arena, cli->environ));
        push_command_word(&command, cli, "run");
        push_command_word(&command, cli, "--frozen");
        push_command_word(&command, cli, folder);
    }
    if (cli->arena.failed)
        return jr_cli_say(cli, JR_STATUS_LAUNCH, "out of memory");
    const struct jr_render_request request = {.engine = cli->engine, .command = command.items};
    return jr_stage_told(session, cli, jr_session_render(session, &request, out, &err), &err);
}

/* Append what the engine of --engine is handed of the spec that the words name.
 * `freezes`: what the job needs is written where it wants that. Close *ret in
 * any case; until then it stays where it is. */
static int open_render(struct render *ret, struct jr_cli *cli, struct jr_buf *out, bool freezes)
{
    struct jr_session_options options = jr_stage_options(cli);
    bool sweep = false;
    *ret = (struct render){0};
    int status = check_render_words(cli);
    options.dry_run = true;
    if (status == 0)
        status = jr_stage_open(&ret->session, cli, &options);
    if (status == 0)
        status = jr_stage_load(ret->session, cli, &sweep);
    if (status != 0)
        return status;
    return sweep ? render_sweep(ret, cli, out, freezes)
                 : render_job(ret->session, cli, out, freezes);
}

static void close_render(struct render *render)
{
    jr_sweep_submission_close(render->sweep);
    jr_session_close(render->session);
}

int jr_cmd_render(struct jr_cli *cli)
{
    struct jr_buf text = JR_BUF_INIT;
    struct render render;
    int status = open_render(&render, cli, &text, false);
    close_render(&render);
    if (status == 0)
        return jr_cli_out(cli, &text);
    jr_buf_release(&text);
    return status;
}

/*
 * jobrun submit: sbatch with the rendered script as its standard input. The job id, which sbatch
 * prints before it waits, tells a job that went wrong from one that was never taken.
 */

/* What is told of a job that sbatch has taken. */
struct sbatch {
    const struct jr_cli *cli;
    const struct render *render; /* what was frozen for the job */
    bool taken;                  /* it has printed the id of a job */
    int status;                  /* of printing it */
};

/* A sink of its output, which goes on at once. If the id of a job cannot be printed, the job exists
 * anyway, so that is reported. What was frozen for the job is removed by `prune` once the job has
 * ended. */
static int relay_sbatch_output(void *data, const char *bytes, size_t len)
{
    struct sbatch *run = data;
    const struct render *render = run->render;
    const char *end = memchr(bytes, '\n', len);
    char *job = strndup(bytes, end == NULL ? len : (size_t)(end - bytes));
    struct jr_error err = {0};
    if (run->status == 0 && !jr_cli_write(run->cli, bytes, len, &run->status) && job != NULL)
        (void)jr_cli_say(run->cli, 0, "the job was accepted: %s", job);
    if (!run->taken && job != NULL &&
        (render->sweep != NULL ? jr_sweep_submission_note_job(render->sweep, job, &err)
                               : jr_submission_note_job(render->session, job, &err)) != 0)
        (void)jr_cli_say(run->cli, 0, "%s", err.text);
    run->taken = true;
    free(job);
    return 0;
}

/* The job's own exit status where it was waited for. */
static int submit_script(const struct jr_cli *cli, const struct jr_buf *script,
                         const struct render *render, bool *ret_taken)
{
    char *const words[] = {(char[]){"sbatch"}, (char[]){"--parsable"},
                           cli->wait != NULL ? (char[]){"--wait"} : NULL, NULL};
    static const int fds[3] = {-1, JR_FD_TASK, STDERR_FILENO};
    static const struct jr_task_limit for_ever = {.stop_fd = -1};
    const struct jr_subprocess sbatch = {.argv = words, .envp = cli->environ, .fds = fds};
    struct sbatch run = {.cli = cli, .render = render};
    const struct jr_task_sink sink = {relay_sbatch_output, &run};
    struct jr_task task;
    int status = 0;
    *ret_taken = false;
    if (jr_task_begin(&task, &sbatch, script) != 0)
        return errno == ENOENT
                   ? jr_cli_say(cli, JR_STATUS_LAUNCH,
                                "sbatch is not in PATH: submit on a machine that "
                                "has the cluster's commands")
                   : jr_cli_say(cli, JR_STATUS_LAUNCH, "cannot start sbatch: %s", strerror(errno));
    int failed = jr_task_end(&task, &sink, &for_ever, &status);
    jr_task_cancel(&task);
    *ret_taken = run.taken;
    if (failed != 0)
        return jr_cli_say(cli, JR_STATUS_LAUNCH, "sbatch was lost: %s", strerror(failed));
    if (WIFSIGNALED(status))
        return 128 + WTERMSIG(status);
    if (WEXITSTATUS(status) != 0 && !run.taken)
        return jr_cli_say(cli, JR_STATUS_LAUNCH,
                          "sbatch did not accept the job (exit status %d); "
                          "jobrun render prints its script",
                          WEXITSTATUS(status));
    return WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : run.status;
}

int jr_cmd_submit(struct jr_cli *cli)
{
    struct jr_buf script = JR_BUF_INIT;
    if (cli->engine != NULL && strcmp(cli->engine, "slurm") != 0 &&
        jr_session_has_engine(cli->engine))
        return refuse_to_submit(cli, cli->engine);
    if (cli->wait != NULL && cli->wait[0] != '\0')
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "submit waits until the job ends: type --wait without a time");
    struct render render;
    bool taken = false;
    int status = open_render(&render, cli, &script, true);
    if (status == 0 && script.len == 0)
        (void)jr_cli_say(cli, 0, "nothing of the sweep is left to be run");
    else if (status == 0)
        status = submit_script(cli, &script, &render, &taken);
    struct jr_error err = {0};
    int code = 0;
    /* No job was taken: what was made for one goes. */
    if (!taken && render.sweep != NULL)
        jr_sweep_submission_discard(render.sweep);
    else if (!taken && render.session != NULL)
        jr_submission_discard(render.session);
    /* The sweep was waited for: what its cells got, and not what sbatch says of the tasks, the
     * highest; unless sbatch itself was killed. */
    if (taken && status >= 0 && status <= 128 && cli->wait != NULL && render.sweep != NULL)
        status = jr_sweep_submission_status(render.sweep, &code, &err) != 0
                     ? jr_cli_say(cli, (int)err.status, "%s", err.text)
                     : code;
    close_render(&render);
    jr_buf_release(&script);
    return status;
}
