/* A run folder, a plan of one rank, and what starts it. */
#ifndef JR_TEST_BENCH_H
#define JR_TEST_BENCH_H

#include <errno.h>

#include "scratch.h"
#include "spawn/start.h"
#include "store/run_folder.h"

struct bench {
    struct scratch scratch;
    struct jr_run_folder folder;
    struct jr_run_options options;
    struct jr_policy policy;
    struct jr_plan plan;
    struct jr_plan_rank rank;
    struct jr_budget budget;
    struct jr_starter starter;
    struct jr_started started;
    char workdir[64];
};

static struct bench bench;
static char *environment[] = {(char *)"PATH=/bin:/usr/bin", (char *)"X=1", NULL};

/* A rank that executes shell text, with its folder and both logs. */
static inline void begin(const char *text)
{
    static char *argv[4];
    argv[0] = (char *)"sh";
    argv[1] = (char *)"-c";
    argv[2] = (char *)text;
    bench = (struct bench){0};
    scratch_start(&bench.scratch);
    (void)snprintf(bench.workdir, sizeof bench.workdir, "%s", bench.scratch.dir);
    bench.folder =
        (struct jr_run_folder){.fd = bench.scratch.fd, .dir_mode = 0700, .file_mode = 0640};
    bench.options =
        (struct jr_run_options){.dir = &bench.folder, .in_fd = -1, .out_fd = -1, .err_fd = -1};
    bench.rank = (struct jr_plan_rank){.argv = argv,
                                       .env = environment,
                                       .workdir = bench.workdir,
                                       .on_console = true,
                                       .out = JR_SINK_FILE,
                                       .err = JR_SINK_FILE,
                                       .dir = "attempt_0/3",
                                       .out_path = "attempt_0/3/stdout.log",
                                       .err_path = "attempt_0/3/stderr.log"};
    bench.plan = (struct jr_plan){.policy = &bench.policy, .ranks = &bench.rank, .count = 1};
}

static inline void open_starter(void)
{
    (void)umask(027); /* that of the ranks */
    CU_ASSERT_EQUAL_FATAL(
        jr_starter_open(&bench.starter, &bench.plan, &bench.options, &bench.budget), 0);
    (void)umask(022);
}

static inline void end(void)
{
    const int fds[] = {bench.started.pidfd, bench.started.control, bench.started.pipes[0],
                       bench.started.pipes[1], bench.starter.attempt_fd};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] > 2)
            (void)close(fds[i]);
    for (int fd = JR_SLOT_DIR; fd < JR_SLOT_END; fd++)
        (void)close(fd);
    scratch_end(&bench.scratch);
}

static inline const char *content(const char *name)
{
    static char text[4096];
    int fd = openat(bench.scratch.fd, name, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    text[len < 0 ? 0 : len] = '\0';
    if (fd >= 0)
        (void)close(fd);
    return text;
}

#endif
