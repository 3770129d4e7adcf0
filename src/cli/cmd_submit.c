/*
 * jobrun submit: sbatch with the rendered script as its standard input. The job
 * id, which sbatch prints before it waits, tells a job that went wrong from one
 * that was never taken. cli.h declares it.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/subprocess.h"
#include "base/syscalls.h"
#include "cli/cmd_render.h"
#include "cli/output.h"

#include "base/banned.h"

/* What goes to sbatch and comes from it; -1: not open. */
struct sbatch {
    int script;  /* a file in memory, so that no process waits for a reader */
    int in, out; /* the pipe of its standard output */
    pid_t pid;
    bool taken;                 /* it has printed the id of a job */
    struct jr_session *session; /* whose job it is; NULL: nothing is frozen */
};

static void close_sbatch_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

static int prepare_sbatch(struct sbatch *run, const struct jr_buf *script)
{
    int pipe_fds[2];
    run->script = jr_memory_file("jobrun");
    if (run->script < 0 ||
        jr_io_write_all(run->script, script->data, script->len) != 0 ||
        lseek(run->script, 0, SEEK_SET) != 0 || pipe2(pipe_fds, O_CLOEXEC) != 0)
        return errno;
    run->out = pipe_fds[0];
    run->in = pipe_fds[1];
    return 0;
}

static int start_sbatch(struct sbatch *run, const struct jr_cli *cli)
{
    char *const words[] = {(char[]){"sbatch"}, (char[]){"--parsable"},
                           cli->wait != NULL ? (char[]){"--wait"} : NULL, NULL};
    const int fds[3] = {run->script, run->in, STDERR_FILENO};
    const struct jr_subprocess sbatch = {
        .argv = words, .envp = cli->environ, .fds = fds};
    run->pid = jr_subprocess_start(&sbatch);
    return run->pid < 0 ? errno : 0;
}

/* What was frozen for the job is removed by `prune` once the job has ended. */
static void note_job(const struct sbatch *run, const struct jr_cli *cli,
                     char *job)
{
    struct jr_error err = {0};
    job[strcspn(job, "\n")] = '\0';
    if (run->session != NULL &&
        jr_submission_note_job(run->session, job, &err) != 0)
        (void)jr_cli_say(cli, 0, "%s", err.text);
}

/* Forward its output at once; return whether there was any. If the id of a job
 * cannot be printed, the job exists anyway, so that is reported. */
static bool relay_sbatch_output(const struct sbatch *run,
                                const struct jr_cli *cli, int *ret_status)
{
    char bytes[256];
    bool any = false;
    for (;;) {
        ssize_t len = read(run->out, bytes, sizeof bytes - 1);
        if (len < 0 && errno == EINTR)
            continue;
        if (len <= 0)
            return any;
        bytes[len] = '\0';
        if (*ret_status == 0 &&
            !jr_cli_write(cli, bytes, (size_t)len, ret_status))
            (void)jr_cli_say(cli, 0, "the job was accepted: %.*s",
                             (int)strcspn(bytes, "\n"), bytes);
        if (!any)
            note_job(run, cli, bytes);
        any = true;
    }
}

/* The job's own exit status where it was waited for. */
static int finish_sbatch(struct sbatch *run, const struct jr_cli *cli)
{
    int status = 0, unprinted = 0;
    close_sbatch_fd(&run->in);
    run->taken = relay_sbatch_output(run, cli, &unprinted);
    while (waitpid(run->pid, &status, 0) < 0)
        if (errno != EINTR)
            return jr_cli_say(cli, JR_STATUS_LAUNCH, "sbatch was lost: %s",
                              strerror(errno));
    if (WIFSIGNALED(status))
        return 128 + WTERMSIG(status);
    if (WEXITSTATUS(status) != 0 && !run->taken)
        return jr_cli_say(cli, JR_STATUS_LAUNCH,
                          "sbatch did not accept the job (exit status %d); "
                          "jobrun render prints its script",
                          WEXITSTATUS(status));
    return WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : unprinted;
}

static int submit_script(const struct jr_cli *cli, const struct jr_buf *script,
                         struct jr_session *session, bool *ret_taken)
{
    struct sbatch run = {-1, -1, -1, -1, false, session};
    int failed = prepare_sbatch(&run, script);
    if (failed == 0)
        failed = start_sbatch(&run, cli);
    int status;
    if (failed == ENOENT)
        status = jr_cli_say(cli, JR_STATUS_LAUNCH,
                            "sbatch is not in PATH: submit on a machine that "
                            "has the cluster's commands");
    else if (failed != 0)
        status = jr_cli_say(cli, JR_STATUS_LAUNCH, "cannot start sbatch: %s",
                            strerror(failed));
    else
        status = finish_sbatch(&run, cli);
    *ret_taken = run.taken;
    close_sbatch_fd(&run.script);
    close_sbatch_fd(&run.in);
    close_sbatch_fd(&run.out);
    return status;
}

int jr_cmd_submit(struct jr_cli *cli)
{
    struct jr_buf script = JR_BUF_INIT;
    if (cli->engine != NULL && strcmp(cli->engine, "slurm") != 0)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "submit is for slurm; for kubernetes: jobrun render "
                          "SPEC --engine kubernetes | kubectl apply -f -");
    if (cli->wait != NULL && cli->wait[0] != '\0')
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "submit waits until the job ends: type --wait "
                          "without a time");
    struct jr_session *session = NULL;
    bool taken = false;
    int status = jr_stage_render(cli, &script, &session);
    if (status == 0)
        status = submit_script(cli, &script, session, &taken);
    if (session != NULL && !taken)
        jr_submission_discard(session);
    jr_session_close(session);
    jr_buf_release(&script);
    return status;
}
