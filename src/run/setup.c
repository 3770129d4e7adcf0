/*
 * The spec's `setup`, as internal.h declares it.
 *
 * The text runs in /bin/sh, in the working directory of the first rank, with a session, limits and
 * streams like a rank's: its output goes to setup.log of the attempt and, behind a prefix of its
 * own, to the console. It is stopped and suspended as ranks are, and `timeouts.start` bounds it.
 *
 * It has succeeded if its last command has (or, under `set -e`, all of them). Then the same shell
 * becomes env(1), which writes what it exported into a file in memory, its descriptor 3; see
 * exported.h for what becomes of that. The text is the argument of eval, so that whatever it leaves
 * open, a quote or a here-document, ends with it, and it sees no arguments.
 */
#include "base/syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/names.h"
#include "run/internal.h"
#include "store/run_folder.h"

#include "base/banned.h"

#define AFTERWARDS "\nset -- \"$?\"\n[ \"$1\" = 0 ] || exit \"$1\"\nexec /usr/bin/env -0 >&3"

static void on_setup_end(void *owner, uint32_t events)
{
    (void)events;
    struct jr_runner *runner = owner;
    struct jr_setup *setup = &runner->setup;
    const struct jr_rank_outcome *outcome = &setup->outcome;
    struct jr_error err = {0};
    char name[JR_SIGNAL_NAME];
    if (!jr_rank_reap(&setup->run))
        return;
    jr_loop_close(&setup->run.watch);
    runner->running--;
    jr_rank_handle(&setup->run, JR_RANK_ON_EXIT, 0);
    JR_TELL(runner, .name = JR_EVENT_SETUP_ENDED,
            .exit_code = outcome->signal == 0 ? outcome->exit_code : -1, .signal = outcome->signal);
    JR_CLOSE int exported = setup->exported;
    setup->exported = -1;
    if (jr_stop_has_begun(runner))
        return;
    if (outcome->end == JR_END_SIGNALED) {
        jr_signal_name(name, outcome->signal);
        (void)snprintf(err.text, sizeof err.text, "it was killed by %s", name);
    } else if (outcome->exit_code != 0) {
        (void)snprintf(err.text, sizeof err.text, "it exited with code %d", outcome->exit_code);
    } else if (jr_exported_read(&runner->starter.exported, exported, &runner->plan->setup, &err) ==
               0) {
        setup->done = true;
        jr_launch_begin(runner);
        return;
    }
    jr_launch_fail(runner, JR_STAGE_SETUP, 0, err.text);
}

static void begin_setup(struct jr_runner *runner)
{
    struct jr_setup *setup = &runner->setup;
    struct jr_starter *starter = &runner->starter;
    struct jr_started started = JR_STARTED_NONE;
    struct jr_child child;
    JR_BUF_CLEANUP struct jr_buf script = JR_BUF_INIT;
    jr_buf_str(&script, "eval '"); /* as one word of the shell */
    jr_buf_replaced(&script, runner->plan->setup.text, "'", "'\\''");
    jr_buf_str(&script, "'" AFTERWARDS);
    if (script.failed) {
        jr_launch_fail(runner, JR_STAGE_SETUP, ENOMEM, "");
        return;
    }
    const char *const argv[] = {"/bin/sh", "-c", script.data, "setup", NULL};
    jr_start_child(starter, &child);
    child.argv = (char *const *)argv;
    child.env = runner->plan->setup.env;
    child.workdir = setup->plan.workdir;
    child.extra = true; /* the file as descriptor 3 */
    setup->exported = jr_memory_file("jobrun-setup");
    if (setup->exported < 0 || dup3(setup->exported, JR_SLOT_EXTRA, O_CLOEXEC) < 0)
        started.stage = JR_STAGE_CLONE;
    else if (jr_start_folder(starter, setup->plan.dir) != 0)
        started.stage = JR_STAGE_FOLDER;
    else if (jr_start_streams(starter, &setup->plan, &child, &started) == 0)
        (void)jr_start_program(starter, &child, &started);
    jr_start_settle(&child, &started);
    (void)dup3(JR_SLOT_NULL, JR_SLOT_EXTRA, O_CLOEXEC);
    if (started.stage != JR_STAGE_NONE) {
        /* What is executed is not the rank's program. */
        bool other = started.stage == JR_STAGE_EXEC;
        jr_launch_fail(runner, other ? JR_STAGE_SETUP : started.stage, started.error, "");
        return;
    }
    setup->run.pid = started.pid;
    setup->run.watch =
        (struct jr_watch){.fd = started.pidfd, .ready = on_setup_end, .owner = runner};
    jr_rank_handle(&setup->run, JR_RANK_ON_STARTED, 0);
    runner->running++;
    JR_TELL(runner, .name = JR_EVENT_SETUP_STARTED, .pid = started.pid);
    if (jr_loop_add(&runner->loop, &setup->run.watch, EPOLLIN) != 0 ||
        jr_tee_add(&runner->tee, runner->plan->count, &started, &setup->plan,
                   &runner->outcome->ranks[0]) != 0)
        jr_stop_force(runner);
}

void jr_setup_open(struct jr_runner *runner)
{
    struct jr_setup *setup = &runner->setup;
    const struct jr_plan *plan = runner->plan;
    const struct jr_plan_rank *first = &plan->ranks[plan->first];
    *setup = (struct jr_setup){.exported = -1};
    setup->run = (struct jr_rank_run){.runner = runner,
                                      .watch = {.fd = -1},
                                      .control = {.fd = -1},
                                      .group = true,
                                      .shielded = runner->options->shields,
                                      .plan = &setup->plan,
                                      .outcome = &setup->outcome};
    setup->done = plan->setup.text == NULL || plan->count == 0;
    if (jr_stop_has_begun(runner))
        return;
    if (setup->done) {
        jr_launch_begin(runner);
        return;
    }
    jr_start_beside(&runner->starter, first, JR_SETUP_LOG, setup->log, sizeof setup->log);
    setup->plan = (struct jr_plan_rank){.rank = first->rank,
                                        .workdir = first->workdir,
                                        .prefix = "[setup] ",
                                        .on_console = true,
                                        .out = JR_SINK_FILE | JR_SINK_CONSOLE,
                                        .err = JR_SINK_FILE | JR_SINK_CONSOLE,
                                        .dir = first->dir,
                                        .out_path = setup->log,
                                        .err_path = setup->log};
    begin_setup(runner);
}
