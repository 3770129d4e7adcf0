#include "cli/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/output.h"
#include "session/foreground.h"
#include "session/sweep/sweep_run.h"

#include "base/banned.h"

#define CONSOLE "console.log"

/* The id comes when the run was let go; without one the child's exit status says what was wrong, as
 * its words on standard error did. */
static int await_child(const struct jr_cli *cli, int fd, pid_t child)
{
    struct jr_buf id = JR_BUF_INIT;
    struct jr_error err = {0};
    if (jr_io_read_fd(&id, fd, 256, &err) == 0 && id.len > 0) {
        jr_buf_char(&id, '\n');
        return jr_cli_out(cli, &id);
    }
    jr_buf_release(&id);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
        return WEXITSTATUS(status);
    return jr_cli_say(cli, JR_STATUS_LAUNCH, "the detached jobrun ended before the run began");
}

bool jr_detach_fork(struct jr_detach *detach, const struct jr_cli *cli, int *ret_status)
{
    int ends[2];
    pid_t child = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
    if (child < 0) {
        *ret_status = jr_cli_say(cli, JR_STATUS_LAUNCH, "could not detach: %s", strerror(errno));
        return true;
    }
    (void)close(ends[child == 0 ? 0 : 1]);
    if (child == 0) {
        (void)setsid();
        detach->fd = ends[1];
        return false;
    }
    *ret_status = await_child(cli, ends[0], child);
    (void)close(ends[0]);
    return true;
}

/* All three standard descriptors, so that nothing holds the terminal. */
static int move_console(int file)
{
    JR_CLOSE int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0 || file < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(file, STDOUT_FILENO) < 0)
        return -1;
    return dup2(file, STDERR_FILENO) < 0 ? -1 : 0;
}

/* Leave the terminal for the console file, and report the id. */
static int leave_for(struct jr_detach *detach, struct jr_cli *cli, const char *name, int file)
{
    if (move_console(file) != 0)
        return jr_cli_say(cli, JR_STATUS_LAUNCH, CONSOLE ": %s", strerror(errno));
    JR_CLOSE int fd = jr_steal_fd(&detach->fd);
    cli->out_closed = cli->err_closed = false;
    (void)jr_cli_color(cli);
    /* The caller may be gone, for example by Ctrl-C: then the run is not wanted. */
    if (jr_io_write_all(fd, name, strlen(name)) != 0)
        return JR_STATUS_LAUNCH;
    return 0;
}

int jr_detach_leave(struct jr_detach *detach, struct jr_cli *cli, const struct jr_session *session)
{
    if (detach->fd < 0)
        return 0;
    JR_CLOSE int file = jr_session_create_file(session, CONSOLE);
    return leave_for(detach, cli, jr_session_run_name(session), file);
}

int jr_detach_leave_sweep(struct jr_detach *detach, struct jr_cli *cli,
                          const struct jr_sweep_place *place)
{
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
    if (detach->fd < 0)
        return 0;
    JR_CLOSE int file = openat(place->dir_fd, CONSOLE, flags, place->file_mode);
    return leave_for(detach, cli, place->id, file);
}

static const int stops[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};

enum { STOPS = sizeof stops / sizeof stops[0] };

void jr_hold_signals(const struct jr_session *session)
{
    sigset_t set;
    jr_session_signals(session, &set);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
}

static void exit_by_signal(int sig)
{
    _exit(128 + sig);
}

int jr_hold_end(void)
{
    sigset_t held, set;
    int sig, stop = 0;
    (void)sigprocmask(SIG_BLOCK, NULL, &held);
    while ((sig = sigtimedwait(&held, NULL, &(struct timespec){0})) > 0)
        for (int i = 0; i < STOPS && stop == 0; i++)
            stop = sig == stops[i] ? sig : 0;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTSTP);
    (void)sigaddset(&set, SIGCONT);
    for (int i = 0; i < STOPS; i++) {
        struct sigaction action;
        (void)sigaddset(&set, stops[i]);
        if (sigaction(stops[i], NULL, &action) == 0 && action.sa_handler == SIG_DFL)
            (void)signal(stops[i], exit_by_signal);
    }
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
    return stop;
}
