/*
 * A run that did not happen: a plan, an outcome and a run folder, for tests to bend. Ranks have
 * logs and a result file in attempt_0/RANK; the clock starts at 1 s; rank i lived from 1 s to (2 +
 * i) s, in that order, and did well.
 */
#ifndef FAKE_H
#define FAKE_H

#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "judge/artifacts.h"
#include "judge/judgement.h"
#include "unit.h"

enum { FAKE_MOST = 8 };
#define FAKE_SECOND UINT64_C(1000000000)
#define FAKE_WALL   (UINT64_C(1800000000) * FAKE_SECOND)

struct fake {
    char dir[64];
    int fd;
    struct jr_arena arena;
    struct jr_policy policy;
    struct jr_plan plan;
    struct jr_plan_rank ranks[FAKE_MOST];
    char *hosts[FAKE_MOST];
    struct jr_rank_outcome ends[FAKE_MOST];
    struct jr_outcome outcome;
    struct jr_artifacts *before;
    json_t **deliveries; /* NULL: all files are here */
    bool apart;
    struct jr_judgement report;
};

static inline void fake_write_bytes(const char *path, const char *bytes, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    CU_ASSERT_TRUE(write(fd, bytes, len) == (ssize_t)len);
    (void)close(fd);
}

/* Write `name` beneath the run folder. */
static inline void fake_write(struct fake *fake, const char *name, const char *text)
{
    const char *path = jr_arena_printf(&fake->arena, "%s/%s", fake->dir, name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(path);
    fake_write_bytes(path, text, strlen(text));
}

static inline void fake_write_rank(struct fake *fake, uint32_t rank, const char *name,
                                   const char *text)
{
    fake_write(fake, jr_arena_printf(&fake->arena, "attempt_0/%u/%s", rank, name), text);
}

static inline void fake_rank(struct fake *fake, uint32_t i)
{
    static char *argv[] = {(char *)"./train", NULL};
    struct jr_arena *arena = &fake->arena;
    const char *dir = jr_arena_printf(arena, "attempt_0/%u", i);
    fake->ranks[i] = (struct jr_plan_rank){
        .rank = i,
        .local_rank = i,
        .at = {[JR_AXIS_DATA] = i},
        .argv = argv,
        .workdir = "/",
        .dir = dir,
        .out_path = jr_arena_printf(arena, "%s/stdout.log", dir),
        .err_path = jr_arena_printf(arena, "%s/stderr.log", dir),
        .result_path = jr_arena_printf(arena, "%s/result.json", dir),
        .error_path = jr_arena_printf(arena, "%s/error.json", dir),
    };
    fake->ends[i] = (struct jr_rank_outcome){
        .pid = (int32_t)(1000 + i),
        .end = JR_END_EXITED,
        .order = i + 1,
        .started_ns = FAKE_SECOND,
        .ended_ns = FAKE_SECOND * (2 + i),
    };
    (void)mkdir(jr_arena_printf(arena, "%s/%s", fake->dir, dir), 0700);
}

static inline void fake_start(struct fake *fake, uint32_t world)
{
    *fake = (struct fake){.dir = "/tmp/jr_judgement_XXXXXX"};
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(fake->dir));
    fake->fd = open(fake->dir, O_RDONLY | O_DIRECTORY);
    (void)mkdirat(fake->fd, "attempt_0", 0700);
    for (uint32_t i = 0; i < world; i++)
        fake_rank(fake, i);
    fake->hosts[0] = (char *)"gpu07";
    fake->policy.results.required = (char *)"all";
    fake->plan = (struct jr_plan){
        .name = "digits",
        .run_id = "20261121-063012-digits-3f9c",
        .run_dir = "runs/20261121-063012-digits-3f9c",
        .own_dir = "runs/20261121-063012-digits-3f9c",
        .fingerprint = "abc",
        .world_size = world,
        .nodes = 1,
        .axis_size = {1, 1, world},
        .hosts = fake->hosts,
        .ranks = fake->ranks,
        .count = world,
        .policy = &fake->policy,
    };
    fake->outcome = (struct jr_outcome){
        .started_ns = FAKE_SECOND,
        .ended_ns = FAKE_SECOND * 11,
        .started_wall_ns = FAKE_WALL,
        .ended_wall_ns = FAKE_WALL + FAKE_SECOND * 10,
        .count = world,
        .ranks = fake->ends,
    };
}

/* Let a rank end with an exit code of its own. */
static inline void fake_exit(struct fake *fake, uint32_t i, int code)
{
    fake->ends[i].exit_code = code;
}

static inline void fake_signal(struct fake *fake, uint32_t i, int signal)
{
    fake->ends[i].end = JR_END_SIGNALED;
    fake->ends[i].signal = signal;
}

/* Let jobrun have stopped a rank with SIGTERM. */
static inline void fake_stopped(struct fake *fake, uint32_t i)
{
    fake_signal(fake, i, 15);
    fake->ends[i].stopped_with = 15;
}

/* Start with as many ranks as there are words, of which each says how one ended: the code that it
 * exited with, S11 by that signal, T stopped by jobrun with SIGTERM, L lost with its node, - never
 * started. */
static inline void fake_ends(struct fake *fake, const char *words)
{
    uint32_t count = 1, i = 0;
    for (const char *at = words; *at != '\0'; at++)
        count += *at == ' ';
    fake_start(fake, count);
    for (const char *at = words; i < count; at += strcspn(at, " ") + 1, i++) {
        if (*at == 'S')
            fake_signal(fake, i, atoi(at + 1));
        else if (*at == 'T')
            fake_stopped(fake, i);
        else if (*at == 'L')
            fake->ends[i].end = JR_END_LOST;
        else if (*at == '-')
            fake->ends[i] = (struct jr_rank_outcome){0};
        else
            fake_exit(fake, i, atoi(at));
    }
}

/* Judge it; a second time after the first was released. */
static inline void fake_judge(struct fake *fake)
{
    struct jr_error err = {0};
    jr_judgement_release(&fake->report);
    const struct jr_left left = {.run_fd = fake->fd,
                                 .before = fake->before,
                                 .deliveries = fake->deliveries,
                                 .apart = fake->apart};
    int result = jr_judgement_make(&fake->report, &fake->plan, &fake->outcome, &left, &err);
    if (result != 0)
        printf("\n    %s\n", err.text);
    CU_ASSERT_EQUAL_FATAL(result, 0);
}

static inline int fake_remove(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static inline void fake_end(struct fake *fake)
{
    if (fake->dir[0] == '\0')
        return;
    jr_judgement_release(&fake->report);
    jr_artifacts_free(fake->before);
    (void)close(fake->fd);
    (void)nftw(fake->dir, fake_remove, 16, FTW_DEPTH | FTW_PHYS);
    jr_arena_release(&fake->arena);
    *fake = (struct fake){.fd = -1};
}

/* A run of a block, which ends with that unless it has ended before. */
#define FAKE(name, world)                                                                          \
    struct fake name RELEASE(fake_end);                                                            \
    fake_start(&name, world)
#define FAKE_ENDS(name, words)                                                                     \
    struct fake name RELEASE(fake_end);                                                            \
    fake_ends(&name, words)

#endif
