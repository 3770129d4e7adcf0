/* What the ranks wrote, as it is printed: which files, from where, how. */
#include "report/follow_logs.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/rank_set.h"
#include "descriptors.h"
#include "fake_record.h"
#include "quoted.h"
#include "output/log_file.h"
#include "scratch.h"

#define LOG(rank, stream) "attempt_0/" #rank "/" stream ".log"
#define RANK(rank)                                                                                 \
    "{\"rank\": " #rank ", \"stdout\": \"" LOG(rank, "stdout") "\", "                              \
                                                               "\"stderr\": null}"

/* A LOG_DIR with the run `r` of two ranks. */
struct logs {
    struct scratch scratch;
    struct jr_arena arena;
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
    scratch_write(&logs->scratch, "r/results.json", "{\"ranks\": [" RANK(0) ", " RANK(1) "]}");
    scratch_write(&logs->scratch, "r/" LOG(0, "stdout"), "a\nb\nc");
    scratch_write(&logs->scratch, "r/" LOG(1, "stdout"), "x\n");
    logs->view.ranks = &logs->ranks;
}

static void end_logs(struct logs *logs)
{
    jr_buf_release(&logs->text);
    jr_arena_release(&logs->arena);
    scratch_end(&logs->scratch);
}

#define LOGS(name)                                                                                 \
    struct logs name RELEASE(end_logs);                                                            \
    start_logs(&name)

/* Print them; the result, and the text. */
static int print_logs(struct logs *logs)
{
    int fd = openat(logs->scratch.fd, "out", O_RDWR | O_CREAT | O_TRUNC, 0600);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    logs->err = (struct jr_error){0};
    int failed = jr_logs_print(fd, logs->scratch.dir, "r", &logs->view, &logs->err);
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
static void choose_rank(struct logs *logs, const char *words)
{
    const char *bad;
    CU_ASSERT_TRUE_FATAL(jr_set_parse(&logs->ranks, &logs->arena, words, &bad));
}

static void check_printed(struct logs *logs, const char *expected)
{
    CU_ASSERT_EQUAL(print_logs(logs), 0);
    JR_ASSERT_TEXT(printed(logs), expected);
}

TEST(refuses_what_is_not_there)
{
    LOGS(logs);
    CU_ASSERT_EQUAL(jr_logs_print(-1, logs.scratch.dir, "s", &logs.view, &logs.err), -1);
    CU_ASSERT_EQUAL(logs.err.status, JR_STATUS_USAGE);
    choose_rank(&logs, "7");
    CU_ASSERT_EQUAL(print_logs(&logs), -1);
    CU_ASSERT_EQUAL(logs.err.status, JR_STATUS_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(logs.err.text, "no rank 7 in this run"));
    uint32_t attempt = 3;
    logs.ranks = (struct jr_set){.all = true};
    logs.view.attempt = &attempt;
    CU_ASSERT_EQUAL(print_logs(&logs), -1);
}

TEST(follows_no_link_out_of_the_run)
{
    LOGS(logs);
    choose_rank(&logs, "1");
    scratch_write(&logs.scratch, "secret", "of another user\n");
    (void)unlinkat(logs.scratch.fd, "r/" LOG(1, "stdout"), 0);
    CU_ASSERT_EQUAL(symlinkat("../../../secret", logs.scratch.fd, "r/" LOG(1, "stdout")), 0);
    check_printed(&logs, "");
}

TEST(heads_several_files)
{
    char all[256];
    LOGS(logs);
    (void)snprintf(all, sizeof all,
                   "==> %s/r/" LOG(0, "stdout") " <==\na\nb\nc\n"
                                                "==> %s/r/" LOG(1, "stdout") " <==\nx\n",
                   logs.scratch.dir, logs.scratch.dir);
    check_printed(&logs, all);
    choose_rank(&logs, "0");
    check_printed(&logs, "a\nb\nc");
}

/* Standard error has a file of its own; what was opened is closed. */
TEST(prints_both_streams)
{
    char all[256];
    LOGS(logs);
    scratch_write(&logs.scratch, "r/results.json",
                  "{\"ranks\": [{\"rank\": 0, \"stdout\": \"" LOG(
                      0, "stdout") "\", \"stderr\": \"" LOG(0, "stderr") "\"}]}");
    scratch_write(&logs.scratch, "r/" LOG(0, "stderr"), "e\n");
    (void)snprintf(all, sizeof all,
                   "==> %s/r/" LOG(0, "stdout") " <==\na\nb\nc\n"
                                                "==> %s/r/" LOG(0, "stderr") " <==\ne\n",
                   logs.scratch.dir, logs.scratch.dir);
    unsigned before = count_descriptors();
    check_printed(&logs, all);
    CU_ASSERT_EQUAL(count_descriptors(), before);
}

/* A line without its end counts. */
TEST(begins_with_the_last_lines)
{
    static const char *const tails[] = {"", "c", "b\nc", "a\nb\nc", "a\nb\nc"};
    LOGS(logs);
    choose_rank(&logs, "0");
    for (uint32_t lines = 0; lines < 5; lines++) {
        logs.view.tail = &lines;
        check_printed(&logs, tails[lines]);
    }
}

TEST(spares_a_terminal)
{
    static const char text[] = "10 %\r20 %\n\033]0;title\007\033[1mbold\n";
    LOGS(logs);
    choose_rank(&logs, "1");
    scratch_write(&logs.scratch, "r/" LOG(1, "stdout"), text);
    check_printed(&logs, text);
    logs.view.terminal = true;
    check_printed(&logs, "20 %\nbold\n");
}

/* To the end at once: nothing goes on that could write more. */
TEST(follows_a_run_to_its_end)
{
    LOGS(logs);
    logs.view.follow = true;
    check_printed(&logs, "[0] a\n[0] b\n[1] x\n[0] c\n");
    (void)mkdirat(logs.scratch.fd, "r/attempt_1", 0700);
    (void)mkdirat(logs.scratch.fd, "r/attempt_1/1", 0700);
    scratch_write(&logs.scratch, "r/attempt_1/1/stdout.log", "again\n");
    check_printed(&logs, "[0] a\n[0] b\n[1] x\n[1] again\n[0] c\n");
    choose_rank(&logs, "1");
    check_printed(&logs, "x\nagain\n");
    uint32_t first = 0;
    scratch_write(&logs.scratch, "r/attempt_0/results.json", "{\"ranks\": [" RANK(1) "]}");
    logs.view.attempt = &first;
    check_printed(&logs, "x\n");
}

TEST(tells_of_a_run_without_results)
{
    LOGS(logs);
    CU_ASSERT_EQUAL(renameat(logs.scratch.fd, "r/results.json", logs.scratch.fd, "r/plan.json"), 0);
    CU_ASSERT_EQUAL(print_logs(&logs), 0);
    logs.view.follow = true;
    CU_ASSERT_EQUAL(print_logs(&logs), -1);
    CU_ASSERT_EQUAL(logs.err.status, JR_STATUS_LAUNCH);
    CU_ASSERT_PTR_NOT_NULL(strstr(logs.err.text, "left no results"));
    CU_ASSERT_PTR_NOT_NULL(strstr(printed(&logs), "[1] x\n"));
}

TEST(a_reader_may_go_and_a_disk_be_full)
{
    int ends[2];
    LOGS(logs);
    (void)signal(SIGPIPE, SIG_IGN);
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    (void)close(ends[0]);
    CU_ASSERT_EQUAL(jr_logs_print(ends[1], logs.scratch.dir, "r", &logs.view, &logs.err), 0);
    (void)close(ends[1]);
    int full = open("/dev/full", O_WRONLY);
    CU_ASSERT_EQUAL(jr_logs_print(full, logs.scratch.dir, "r", &logs.view, &logs.err), -1);
    CU_ASSERT_EQUAL(logs.err.status, JR_STATUS_LAUNCH);
    CU_ASSERT_PTR_NOT_NULL(strstr(logs.err.text, "cannot print"));
    (void)close(full);
}

/* A run that this process leads, followed by a child of it. */
struct follow {
    struct fake fake;
    pid_t pid;
    int ends[2]; /* what is printed, and what is noted as lines with '!' */
    char text[4096];
    size_t len;
};

#define PLAN                                                                                       \
    "{\"ranks\": [{\"rank\": 0, \"stdout\": {\"file\": "                                           \
    "\"attempt_0/0/stdout.log\"}}, {\"rank\": 1, \"node_rank\": 1, "                               \
    "\"stdout\": "                                                                                 \
    "{\"file\": \"attempt_0/1/stdout.log\"}}]}"

static void write_note(void *data, const char *line)
{
    const struct follow *follow = data;
    char text[512];
    int len = snprintf(text, sizeof text, "!%s\n", line);
    (void)!write(follow->ends[1], text, (size_t)len);
}

static void begin_follow(struct follow *follow, const uint32_t *tail)
{
    *follow = (struct follow){.len = 0};
    fake_start(&follow->fake, 2);
    fake_record(&follow->fake, true, "");
    fake_write(&follow->fake, "plan.json", PLAN);
    fake_write(&follow->fake, "events.jsonl", "");
    fake_write_rank(&follow->fake, 0, "stdout.log", "a\nb\n");
    CU_ASSERT_EQUAL_FATAL(pipe(follow->ends), 0);
    (void)fflush(stdout);
    follow->pid = fork();
    if (follow->pid == 0) {
        const struct jr_set all = {.all = true};
        const struct jr_logs_view view = {
            .ranks = &all, .tail = tail, .follow = true, .note = write_note, .data = follow};
        struct jr_error err = {0};
        (void)alarm(60);
        (void)close(follow->ends[0]);
        int failed =
            jr_logs_print(follow->ends[1], FAKE_LOG_DIR, fake_id(&follow->fake), &view, &err);
        _exit(failed == 0 ? 7 : 8);
    }
    (void)close(follow->ends[1]);
}

/* All that was printed so far, once it ends with this. */
static void await_printed(struct follow *follow, const char *expected)
{
    size_t want = strlen(expected);
    while (follow->len < want) {
        ssize_t got = read(follow->ends[0], follow->text + follow->len,
                           sizeof follow->text - 1 - follow->len);
        CU_ASSERT_TRUE_FATAL(got > 0);
        follow->len += (size_t)got;
    }
    follow->text[follow->len] = '\0';
    JR_ASSERT_TEXT(follow->text, expected);
}

static void append(const struct follow *follow, const char *name, const char *text)
{
    int fd = openat(follow->fake.fd, name, O_WRONLY | O_CREAT | O_APPEND, 0600);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(fd);
}

/* The run ends, and with it the child, after what it prints at last. */
static void end_follow(struct follow *follow, const char *expected)
{
    int status = 0;
    fake_results(&follow->fake, "results.json");
    await_printed(follow, expected);
    CU_ASSERT_EQUAL(waitpid(follow->pid, &status, 0), follow->pid);
    CU_ASSERT_TRUE(WIFEXITED(status));
    CU_ASSERT_EQUAL(WEXITSTATUS(status), 7);
    (void)close(follow->ends[0]);
    fake_end(&follow->fake);
}

/* Lines are shown once they are whole, or at the end; attempts that begin meanwhile are followed,
 * too. */
TEST(follows_a_run_that_goes_on)
{
    struct follow follow;
    begin_follow(&follow, NULL);
    await_printed(&follow, "[0] a\n[0] b\n");
    append(&follow, "attempt_0/0/stdout.log", "c");
    append(&follow, "attempt_0/1/stdout.log", "x\n");
    await_printed(&follow, "[0] a\n[0] b\n[1] x\n");
    append(&follow, "attempt_0/0/stdout.log", "d\n");
    await_printed(&follow, "[0] a\n[0] b\n[1] x\n[0] cd\n");
    (void)mkdirat(follow.fake.fd, "attempt_1", 0700);
    (void)mkdirat(follow.fake.fd, "attempt_1/1", 0700);
    append(&follow, "attempt_1/1/stdout.log", "again\nrest");
    await_printed(&follow, "[0] a\n[0] b\n[1] x\n[0] cd\n[1] again\n");
    end_follow(&follow, "[0] a\n[0] b\n[1] x\n[0] cd\n[1] again\n[1] rest\n");
}

/* Of what is there already the last lines; what comes to a file that was begun with is new. */
TEST(follows_from_the_last_lines_on)
{
    static const uint32_t one = 1, none = 0;
    struct follow follow;
    begin_follow(&follow, &one);
    await_printed(&follow, "[0] b\n");
    append(&follow, "attempt_0/0/stdout.log", "c\nd\n");
    await_printed(&follow, "[0] b\n[0] c\n[0] d\n");
    end_follow(&follow, "[0] b\n[0] c\n[0] d\n");
    begin_follow(&follow, &none);
    end_follow(&follow, "");
}

#define HEAD "a\nb\n"

static void replace_log(const struct follow *follow, const char *text)
{
    append(follow, "new", text);
    CU_ASSERT_EQUAL(renameat(follow->fake.fd, "new", follow->fake.fd, "attempt_0/0/stdout.log"), 0);
}

/* A log that outgrew its limit is another file, which lacks some of what was shown, or of what
 * comes next. */
TEST(goes_on_in_a_file_that_was_cut)
{
    struct follow follow;
    begin_follow(&follow, NULL);
    await_printed(&follow, "[0] a\n[0] b\n");
    append(&follow, "attempt_0/0/stdout.log", "c\nd\n");
    await_printed(&follow, "[0] a\n[0] b\n[0] c\n[0] d\n");
    /* without c, which was shown: on behind d */
    replace_log(&follow, HEAD JR_LOG_GAP_BEGIN "2" JR_LOG_GAP_END "d\ne\n");
    await_printed(&follow, "[0] a\n[0] b\n[0] c\n[0] d\n[0] e\n");
    /* without c to f, of which f was not shown: on at the gap */
    replace_log(&follow, HEAD JR_LOG_GAP_BEGIN "8" JR_LOG_GAP_END "g\n");
    await_printed(&follow, "[0] a\n[0] b\n[0] c\n[0] d\n[0] e\n"
                           "[0] " JR_LOG_GAP_BEGIN "8" JR_LOG_GAP_END "[0] g\n");
    append(&follow, "attempt_0/0/stdout.log", "h\n");
    end_follow(&follow, "[0] a\n[0] b\n[0] c\n[0] d\n[0] e\n"
                        "[0] " JR_LOG_GAP_BEGIN "8" JR_LOG_GAP_END "[0] g\n[0] h\n");
}
