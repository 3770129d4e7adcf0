/* Stamps of work trees: what changes one, and when there is none. */
#include "vcs/run_tree.h"

#include <time.h>

#include "base/clock.h"
#include "repository.h"

struct bench {
    struct scratch scratch;
    char top[64];
    struct jr_run_tree code;
    uint64_t stamp;
};

/* Files are made, and then the clock of files has moved on. */
static void let_clock_go_on(void)
{
    uint64_t until = jr_clock_wall_ns() + 50000000;
    while (jr_clock_wall_ns() < until)
        (void)nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

static bool stamp(struct bench *bench)
{
    char below[64];
    struct jr_error err = {0};
    (void)snprintf(below, sizeof below, "%s/git", bench->scratch.dir);
    const struct jr_secrets none = {0};
    const struct jr_run_tree_request request = {.folder = bench->top,
                                                .scratch = below,
                                                .whole = true,
                                                .secrets = &none,
                                                .envp = environ,
                                                .limit_ms = 60000,
                                                .stop_fd = -1};
    uint64_t now = jr_clock_wall_ns();
    jr_run_tree_release(&bench->code);
    CU_ASSERT_EQUAL_FATAL(jr_run_tree_record(&bench->code, &request, &err), 0);
    return jr_tree_stamp_make(&bench->stamp, &bench->code, now);
}

static void begin(struct bench *bench)
{
    *bench = (struct bench){0};
    scratch_start(&bench->scratch);
    (void)snprintf(bench->top, sizeof bench->top, "%s/tree", bench->scratch.dir);
    shell(&bench->scratch, "mkdir tree && cd tree && git init -q . && mkdir -p a/b/c out data "
                           "&& echo 1 > a/b/c/f && echo 2 > g && echo out >.gitignore && "
                           "echo '*.bin' >>.gitignore && echo 3 > data/x.bin && " COMMIT);
    let_clock_go_on();
    CU_ASSERT_TRUE_FATAL(stamp(bench));
    CU_ASSERT_TRUE(jr_tree_stamp_holds(bench->stamp, &bench->code));
}

static void end(struct bench *bench)
{
    jr_run_tree_release(&bench->code);
    scratch_end(&bench->scratch);
}

#define COMMIT_ANEW                                                                                \
    "cd tree && git -c user.name=n -c user.email=e@example.org "                                   \
    "commit -q --allow-empty -m m"

static void changes_with_every_file(void)
{
    static const char *const commands[] = {
        "echo 9 > tree/a/b/c/f", /* another text of the same size */
        "echo more >> tree/g",   /* a larger one */
        "touch tree/g",          /* times alone; git is asked again */
        "chmod +x tree/g",       /* its mode */
        "rm tree/a/b/c/f",       /* one less */
        "echo > tree/new",       /* one more, at the top */
        "echo > tree/a/new",     /* where no file lies, only folders */
        "echo > tree/data/new",  /* where only ignored ones lie */
        "mkdir tree/a/b/d",      /* a folder, which may get files */
        "mv tree/g tree/h",      /* another name */
        "ln -sf nothing tree/g", /* a link in its place */
        COMMIT_ANEW /* another commit */};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        struct bench bench;
        begin(&bench);
        shell(&bench.scratch, commands[i]);
        bool holds = jr_tree_stamp_holds(bench.stamp, &bench.code);
        if (holds)
            printf("\n    %s", commands[i]);
        CU_ASSERT_FALSE(holds);
        end(&bench);
    }
}

static void does_not_change_with_what_is_ignored(void)
{
    struct bench bench;
    begin(&bench);
    shell(&bench.scratch, "echo > tree/out/new && mkdir tree/out/more && echo 9 > tree/data/x.bin");
    CU_ASSERT_TRUE(jr_tree_stamp_holds(bench.stamp, &bench.code));
    end(&bench);
}

/* A file that was just written may be written again without another time. */
static void is_none_while_files_are_fresh(void)
{
    struct bench bench;
    begin(&bench);
    for (int i = 0; i < 10; i++) {
        /* a clock that has moved on meanwhile makes it a good one */
        shell(&bench.scratch, "touch -d '+1 hour' tree/g");
        CU_ASSERT_FALSE(stamp(&bench));
    }
    end(&bench);
}

static void is_none_without_a_tree(void)
{
    struct jr_run_tree none = JR_RUN_TREE_INIT;
    uint64_t stamp = 7;
    CU_ASSERT_FALSE(jr_tree_stamp_make(&stamp, &none, UINT64_MAX));
    CU_ASSERT_FALSE(jr_tree_stamp_holds(stamp, &none));
    CU_ASSERT_EQUAL(stamp, 7);
    struct bench bench;
    begin(&bench);
    shell(&bench.scratch, "rm -rf tree");
    CU_ASSERT_FALSE(jr_tree_stamp_holds(bench.stamp, &bench.code));
    end(&bench);
}

JR_UNIT_MAIN("vcs.tree_stamp", CASE(changes_with_every_file),
             CASE(does_not_change_with_what_is_ignored), CASE(is_none_while_files_are_fresh),
             CASE(is_none_without_a_tree))
