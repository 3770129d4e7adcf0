/*
 * The spec's `on_end`. internal.h declares it.
 *
 * The command runs in the spec's folder and in jobrun's own environment, with the variables below
 * besides. It has no terminal and no input, and its output goes to a file of the run folder. jobrun
 * waits for it for a limited time, in which the report is already on the console. Its end changes
 * nothing about the run: what goes wrong is a warning.
 */
#include "session/internal.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/names.h"
#include "base/num.h"
#include "base/strv.h"
#include "eventloop/signals.h"
#include "session/foreground.h"
#include "spawn/program.h"

#include "base/banned.h"

enum { LIMIT_MS = 60000, QUIET_MS = 1000 };

void jr_on_end_check(struct jr_session *session)
{
    const struct jr_policy *policy = session->plan.policy;
    struct jr_program program = {0};
    JR_BUF_CLEANUP struct jr_buf name = JR_BUF_INIT;
    if (policy->on_end_count == 0)
        return;
    int error =
        jr_program_find(&program, policy->on_end[0], jr_env_get(session->options.envp, "PATH"),
                        jr_spec_folder_of(session->file));
    if (error == 0 && strchr(policy->on_end[0], '/') != NULL) {
        JR_FREE char *path = jr_io_absolute(jr_spec_folder_of(session->file), program.path);
        error = path == NULL ? ENOMEM : access(path, X_OK) == 0 ? 0 : errno;
    }
    jr_buf_safe(&name, policy->on_end[0]);
    if (error != 0 && !name.failed)
        (void)jr_diags_warning(&session->diags, JR_CODE_PROGRAM_NOT_FOUND,
                               jr_spec_where_within(session->file, "on_end[0]"), "on_end[0]",
                               "the program '%s' cannot be executed: %s", name.data,
                               strerror(error));
}

/* NAME=VALUE, in place of what jobrun was started with. */
static void set_variable(struct jr_strv *env, struct jr_arena *arena, const char *name,
                         const char *value)
{
    jr_env_unset(env, name);
    jr_strv_push(env, arena, jr_arena_printf(arena, "%s=%s", name, value));
}

/* "on_end: 'notify.sh' " and then what it did. */
static void begin_warning(struct jr_buf *out, const struct jr_session *session)
{
    jr_buf_str(out, "on_end: '");
    jr_buf_safe(out, session->plan.policy->on_end[0]);
    jr_buf_str(out, "' ");
}

void jr_on_end_start(struct jr_session *session)
{
    const struct jr_policy *policy = session->plan.policy;
    struct jr_on_end *on_end = &session->on_end;
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_strv argv = {0}, env = {0};
    char code[16];
    if (policy->on_end_count == 0 || on_end->keeper.pid != 0)
        return;
    for (uint32_t i = 0; i < policy->on_end_count; i++)
        jr_strv_push(&argv, &arena, policy->on_end[i]);
    (void)snprintf(code, sizeof code, "%d", session->exit_code);
    jr_strv_copy(&env, &arena, session->options.envp);
    set_variable(&env, &arena, "JOBRUN_RUN_ID", session->dir.id);
    set_variable(&env, &arena, "JOBRUN_RUN_DIR", session->plan.own_dir);
    set_variable(&env, &arena, "JOBRUN_STATUS", jr_run_status_word(session->report.status));
    set_variable(&env, &arena, "JOBRUN_EXIT_CODE", code);
    JR_CLOSE int log = jr_session_create_file(session, JR_ON_END_LOG);
    on_end->unlogged = log < 0 ? errno : 0;
    const struct jr_keeper_command command = {.argv = argv.items,
                                              .env = env.items,
                                              .workdir = jr_freeze_spec_folder(session),
                                              .out_fd = log,
                                              .limit_ms = LIMIT_MS};
    errno = ENOMEM;
    if (arena.failed || jr_keeper_start(&on_end->keeper, &command) != 0) {
        JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
        begin_warning(&text, session);
        jr_buf_printf(&text, "was not started: %s", strerror(errno));
        jr_session_note(session, text.failed ? "out of memory" : text.data);
    }
}

/* What went wrong, as a verb and more; false where nothing did. */
static bool describe_end(struct jr_buf *out, const struct jr_keeper_report *report, int stopped_by)
{
    char name[JR_SIGNAL_NAME];
    switch (report->end) {
    case JR_KEEPER_LOST:
        jr_buf_str(out, "was lost: the process that watched it was killed");
        break;
    case JR_KEEPER_NO_FOLDER:
        jr_buf_printf(out, "was not started: the spec's folder: %s", strerror(report->value));
        break;
    case JR_KEEPER_NO_START:
        jr_buf_printf(out, "could not be executed: %s", strerror(report->value));
        break;
    case JR_KEEPER_SIGNALED:
        jr_signal_name(name, report->value);
        jr_buf_printf(out, "was killed by %s", name);
        break;
    case JR_KEEPER_TIMED_OUT:
        jr_buf_str(out, "was killed after ");
        jr_num_add_duration(out, LIMIT_MS);
        break;
    case JR_KEEPER_STOPPED:
        jr_signal_name(name, stopped_by);
        jr_buf_printf(out, "was killed, because jobrun received %s", name);
        break;
    case JR_KEEPER_EXITED:
        if (report->value != 0)
            jr_buf_printf(out, "exited with code %d", report->value);
        else if (report->left)
            jr_buf_str(out, "exited and left processes behind, which were "
                            "killed: let it wait for them");
        else
            return false;
    }
    return true;
}

static void note_end(const struct jr_session *session, const struct jr_keeper_report *report,
                     int stopped_by)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    int unlogged = session->on_end.unlogged;
    begin_warning(&text, session);
    if (!describe_end(&text, report, stopped_by))
        return;
    /* Whether the command came as far as to print anything. */
    bool begun = report->end != JR_KEEPER_NO_FOLDER && report->end != JR_KEEPER_NO_START;
    if (begun && unlogged != 0)
        jr_buf_printf(&text, " (its output is lost: %s: %s)", JR_ON_END_LOG, strerror(unlogged));
    else if (begun)
        jr_buf_printf(&text, " (its output: %s/%s)", session->plan.own_dir, JR_ON_END_LOG);
    jr_session_note(session, text.failed ? "out of memory" : text.data);
}

/* Sleep until there is a report. Returns the signal by which the command was ended; 0. */
static int await_report(const struct jr_session *session, const struct jr_signals *signals,
                        int signal_fd)
{
    const struct jr_keeper *keeper = &session->on_end.keeper;
    struct pollfd fds[] = {{.fd = keeper->fd, .events = POLLIN},
                           {.fd = signal_fd, .events = POLLIN}};
    int timeout_ms = QUIET_MS, stopped_by = 0;
    for (;;) {
        int ready = poll(fds, 2, timeout_ms);
        if (fds[0].revents != 0 || (ready < 0 && errno != EINTR))
            return stopped_by;
        if (ready == 0) {
            JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
            begin_warning(&text, session);
            jr_buf_str(&text, "is still running; jobrun waits for it for at most ");
            jr_num_add_duration(&text, LIMIT_MS);
            jr_session_note_buf(session, &text);
            timeout_ms = -1;
        }
        int sig = fds[1].revents == 0 ? 0 : jr_signals_await(signals, jr_clock_ns());
        if (sig != 0 && stopped_by == 0) {
            stopped_by = sig;
            jr_keeper_stop(keeper);
        }
    }
}

void jr_on_end_await(struct jr_session *session, bool stoppable)
{
    struct jr_keeper *keeper = &session->on_end.keeper;
    struct jr_keeper_report report;
    struct jr_signals signals;
    sigset_t ignored, taken, before;
    if (keeper->pid == 0)
        return;
    jr_signals_ignored(&ignored);
    jr_signals_make(&signals, session->plan.policy, &ignored);
    jr_signals_set(&signals, &taken);
    (void)sigprocmask(SIG_BLOCK, &taken, &before);
    JR_CLOSE int fd = stoppable ? signalfd(-1, &taken, SFD_CLOEXEC) : -1;
    int stopped_by = await_report(session, &signals, fd);
    jr_keeper_finish(keeper, &report);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    note_end(session, &report, stopped_by);
}
