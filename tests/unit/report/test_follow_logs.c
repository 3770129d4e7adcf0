/* What the ranks wrote, as it is printed: which files, from where, how. */
#include "report/follow_logs.h"

#include <signal.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/rank_set.h"
#include "scratch.h"

#define LOG(rank, stream) "attempt_0/" #rank "/" stream ".log"
#define RANK(rank)                                                             \
    "{\"rank\": " #rank                                                        \
    ", \"stdout\": \"" LOG(rank, "stdout") "\", "                              \
                                           "\"stderr\": null}"

/* A LOG_DIR with the run `r` of two ranks. */
struct logs {
    struct scratch scratch;
    struct jr_set ranks;
    struct jr_logs_view view;
    struct jr_error err;
    struct jr_buf text; /* what was printed */
};

static void start_logs(struct logs *logs)
{
    *logs = (struct logs){.ranks = {.all = true}};
    scratch_start(&logs->scratch);
    (void)mkdirat(logs->scratch.fd, "r", 0700);
    (void)mkdirat(logs->scratch.fd, "r/attempt_0", 0700);
    (void)mkdirat(logs->scratch.fd, "r/attempt_0/0", 0700);
    (void)mkdirat(logs->scratch.fd, "r/attempt_0/1", 0700);
    scratch_write(&logs->scratch, "r/results.json",
                  "{\"ranks\": [" RANK(0) ", " RANK(1) "]}");
    scratch_write(&logs->scratch, "r/" LOG(0, "stdout"), "a\nb\nc");
    scratch_write(&logs->scratch, "r/" LOG(1, "stdout"), "x\n");
    logs->view.ranks = &logs->ranks;
}

static void end_logs(struct logs *logs)
{
    jr_buf_release(&logs->text);
    scratch_end(&logs->scratch);
}

/* Print them; the result, and the text. */
static int print_logs(struct logs *logs)
{
    int fd = openat(logs->scratch.fd, "out", O_RDWR | O_CREAT | O_TRUNC, 0600);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    logs->err = (struct jr_error){0};
    int failed =
        jr_logs_print(fd, logs->scratch.dir, "r", &logs->view, &logs->err);
    CU_ASSERT_EQUAL(lseek(fd, 0, SEEK_SET), 0);
    jr_buf_release(&logs->text);
    logs->text = JR_BUF_INIT;
    jr_buf_str(&logs->text, "");
    CU_ASSERT_EQUAL(jr_io_read_fd(&logs->text, fd, 1 << 20, NULL), 0);
    (void)close(fd);
    return failed;
}

static const char *printed(const struct logs *logs)
{
    return logs->text.len == 0 ? "" : logs->text.data;
}

/* The rank alone. */
static void choose_rank(struct logs *logs, struct jr_arena *arena,
                        const char *words)
{
    const char *bad;
    CU_ASSERT_TRUE_FATAL(jr_set_parse(&logs->ranks, arena, words, &bad));
}

static void refuses_what_is_not_there(void)
{
    struct logs logs;
    struct jr_arena arena = JR_ARENA_INIT;
    start_logs(&logs);
    CU_ASSERT_EQUAL(
        jr_logs_print(-1, logs.scratch.dir, "s", &logs.view, &logs.err), -1);
    CU_ASSERT_EQUAL(logs.err.status, JR_STATUS_USAGE);
    choose_rank(&logs, &arena, "7");
    CU_ASSERT_EQUAL(print_logs(&logs), -1);
    CU_ASSERT_EQUAL(logs.err.status, JR_STATUS_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(logs.err.text, "no rank 7 in this run"));
    uint32_t attempt = 3;
    logs.ranks = (struct jr_set){.all = true};
    logs.view.attempt = &attempt;
    CU_ASSERT_EQUAL(print_logs(&logs), -1);
    jr_arena_release(&arena);
    end_logs(&logs);
}

static void follows_no_link_out_of_the_run(void)
{
    struct logs logs;
    struct jr_arena arena = JR_ARENA_INIT;
    start_logs(&logs);
    choose_rank(&logs, &arena, "1");
    scratch_write(&logs.scratch, "secret", "of another user\n");
    (void)unlinkat(logs.scratch.fd, "r/" LOG(1, "stdout"), 0);
    CU_ASSERT_EQUAL(
        symlinkat("../../../secret", logs.scratch.fd, "r/" LOG(1, "stdout")),
        0);
    CU_ASSERT_EQUAL(print_logs(&logs), 0);
    CU_ASSERT_STRING_EQUAL(printed(&logs), "");
    jr_arena_release(&arena);
    end_logs(&logs);
}

static void heads_several_files(void)
{
    struct logs logs;
    struct jr_arena arena = JR_ARENA_INIT;
    char all[256];
    start_logs(&logs);
    (void)snprintf(
        all, sizeof all,
        "==> %s/r/" LOG(0, "stdout") " <==\na\nb\nc\n"
                                     "==> %s/r/" LOG(1, "stdout") " <==\nx\n",
        logs.scratch.dir, logs.scratch.dir);
    CU_ASSERT_EQUAL(print_logs(&logs), 0);
    CU_ASSERT_STRING_EQUAL(printed(&logs), all);
    choose_rank(&logs, &arena, "0");
    CU_ASSERT_EQUAL(print_logs(&logs), 0);
    CU_ASSERT_STRING_EQUAL(printed(&logs), "a\nb\nc");
    jr_arena_release(&arena);
    end_logs(&logs);
}

/* A line without its end counts. */
static void begins_with_the_last_lines(void)
{
    static const char *const tails[] = {"", "c", "b\nc", "a\nb\nc", "a\nb\nc"};
    struct logs logs;
    struct jr_arena arena = JR_ARENA_INIT;
    start_logs(&logs);
    choose_rank(&logs, &arena, "0");
    for (uint32_t lines = 0; lines < 5; lines++) {
        logs.view.tail = &lines;
        CU_ASSERT_EQUAL(print_logs(&logs), 0);
        CU_ASSERT_STRING_EQUAL(printed(&logs), tails[lines]);
    }
    jr_arena_release(&arena);
    end_logs(&logs);
}

static void spares_a_terminal(void)
{
    static const char text[] = "10 %\r20 %\n\033]0;title\007\033[1mbold\n";
    struct logs logs;
    struct jr_arena arena = JR_ARENA_INIT;
    start_logs(&logs);
    choose_rank(&logs, &arena, "1");
    scratch_write(&logs.scratch, "r/" LOG(1, "stdout"), text);
    CU_ASSERT_EQUAL(print_logs(&logs), 0);
    CU_ASSERT_STRING_EQUAL(printed(&logs), text);
    logs.view.terminal = true;
    CU_ASSERT_EQUAL(print_logs(&logs), 0);
    CU_ASSERT_STRING_EQUAL(printed(&logs), "20 %\nbold\n");
    jr_arena_release(&arena);
    end_logs(&logs);
}

/* To the end at once: nothing goes on that could write more. */
static void follows_a_run_to_its_end(void)
{
    struct logs logs;
    struct jr_arena arena = JR_ARENA_INIT;
    start_logs(&logs);
    logs.view.follow = true;
    CU_ASSERT_EQUAL(print_logs(&logs), 0);
    CU_ASSERT_STRING_EQUAL(printed(&logs), "[0] a\n[0] b\n[1] x\n[0] c\n");
    (void)mkdirat(logs.scratch.fd, "r/attempt_1", 0700);
    (void)mkdirat(logs.scratch.fd, "r/attempt_1/1", 0700);
    scratch_write(&logs.scratch, "r/attempt_1/1/stdout.log", "again\n");
    CU_ASSERT_EQUAL(print_logs(&logs), 0);
    CU_ASSERT_STRING_EQUAL(printed(&logs),
                           "[0] a\n[0] b\n[1] x\n[1] again\n[0] c\n");
    choose_rank(&logs, &arena, "1");
    CU_ASSERT_EQUAL(print_logs(&logs), 0);
    CU_ASSERT_STRING_EQUAL(printed(&logs), "x\nagain\n");
    uint32_t first = 0;
    scratch_write(&logs.scratch, "r/attempt_0/results.json",
                  "{\"ranks\": [" RANK(1) "]}");
    logs.view.attempt = &first;
    CU_ASSERT_EQUAL(print_logs(&logs), 0);
    CU_ASSERT_STRING_EQUAL(printed(&logs), "x\n");
    jr_arena_release(&arena);
    end_logs(&logs);
}

static void tells_of_a_run_without_results(void)
{
    struct logs logs;
    start_logs(&logs);
    CU_ASSERT_EQUAL(renameat(logs.scratch.fd, "r/results.json", logs.scratch.fd,
                             "r/plan.json"),
                    0);
    CU_ASSERT_EQUAL(print_logs(&logs), 0);
    logs.view.follow = true;
    CU_ASSERT_EQUAL(print_logs(&logs), -1);
    CU_ASSERT_EQUAL(logs.err.status, JR_STATUS_LAUNCH);
    CU_ASSERT_PTR_NOT_NULL(strstr(logs.err.text, "left no results"));
    CU_ASSERT_PTR_NOT_NULL(strstr(printed(&logs), "[1] x\n"));
    end_logs(&logs);
}

static void a_reader_may_go_and_a_disk_be_full(void)
{
    struct logs logs;
    int ends[2];
    start_logs(&logs);
    (void)signal(SIGPIPE, SIG_IGN);
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    (void)close(ends[0]);
    CU_ASSERT_EQUAL(
        jr_logs_print(ends[1], logs.scratch.dir, "r", &logs.view, &logs.err),
        0);
    (void)close(ends[1]);
    int full = open("/dev/full", O_WRONLY);
    CU_ASSERT_EQUAL(
        jr_logs_print(full, logs.scratch.dir, "r", &logs.view, &logs.err), -1);
    CU_ASSERT_EQUAL(logs.err.status, JR_STATUS_LAUNCH);
    CU_ASSERT_PTR_NOT_NULL(strstr(logs.err.text, "cannot print"));
    (void)close(full);
    end_logs(&logs);
}

JR_UNIT_MAIN("follow_logs", CASE(refuses_what_is_not_there),
             CASE(follows_no_link_out_of_the_run), CASE(heads_several_files),
             CASE(begins_with_the_last_lines), CASE(spares_a_terminal),
             CASE(follows_a_run_to_its_end),
             CASE(tells_of_a_run_without_results),
             CASE(a_reader_may_go_and_a_disk_be_full))
