/* The journal: what is written can be read, torn lines are passed over, and two processes do not
 * write one. */
#include "sweep/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "deny.h"
#include "descriptors.h"
#include "scratch.h"

struct read_lines {
    struct jr_buf text;
};

static void take(void *data, enum jr_journal_event event, const json_t *line)
{
    struct read_lines *lines = data;
    const char *status = jr_json_get_str(line, "status");
    jr_buf_printf(&lines->text, "%d:%lld:%s%s ", (int)event,
                  json_is_integer(json_object_get(line, "cell")) ? jr_json_get_int(line, "cell")
                                                                 : -1LL,
                  status == NULL ? "-" : status, jr_json_get_bool(line, "interrupted") ? "!" : "");
}

static void add(struct jr_journal *journal, enum jr_journal_event event)
{
    const struct jr_journal_line line = {.event = event, .cell = JR_JOURNAL_NO_CELL};
    jr_journal_add(journal, &line);
}

static int open_scratch(struct scratch *scratch)
{
    scratch_start(scratch);
    return open(scratch->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void check_lines(int dir, const char *expected)
{
    struct read_lines lines = {JR_BUF_INIT};
    CU_ASSERT_TRUE(jr_journal_read(dir, take, &lines));
    JR_ASSERT_TEXT(lines.text.data == NULL ? "" : lines.text.data, expected);
    jr_buf_release(&lines.text);
}

/* A line that a full disk has torn is followed by lines of their own. */
TEST(a_torn_line_takes_no_other)
{
    struct scratch scratch RELEASE(scratch_end);
    struct jr_journal journal;
    struct rlimit before, small;
    pid_t holder;
    int dir = open_scratch(&scratch);
    CU_ASSERT_EQUAL_FATAL(jr_journal_open(&journal, dir, 0600, &holder, NULL), 0);
    add(&journal, JR_JOURNAL_SWEEP_STARTED);
    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    small = before;
    small.rlim_cur = (rlim_t)lseek(journal.fd, 0, SEEK_END) + 9;
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &small), 0);
    add(&journal, JR_JOURNAL_SWEEP_RESUMED);
    CU_ASSERT_TRUE(journal.failed);
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &before), 0);
    add(&journal, JR_JOURNAL_SWEEP_RESUMED);
    add(&journal, JR_JOURNAL_SWEEP_ENDED);
    CU_ASSERT_TRUE(journal.failed);
    jr_journal_close(&journal);
    check_lines(dir, "0:-1:- 1:-1:- 4:-1:- ");
    (void)close(dir);
}

TEST(is_not_there_at_first)
{
    struct scratch scratch RELEASE(scratch_end);
    struct read_lines lines = {JR_BUF_INIT};
    int dir = open_scratch(&scratch);
    CU_ASSERT_FALSE(jr_journal_read(dir, take, &lines));
    CU_ASSERT_EQUAL(jr_journal_holder(dir), 0);
    (void)close(dir);
}

TEST(reads_back_what_was_written)
{
    struct scratch scratch RELEASE(scratch_end);
    struct jr_journal journal;
    pid_t holder;
    int dir = open_scratch(&scratch);
    json_auto_t *values = json_pack("{s:f}", "vars.lr", 0.1);
    CU_ASSERT_EQUAL_FATAL(jr_journal_open(&journal, dir, 0600, &holder, NULL), 0);
    const struct jr_journal_line cell[] = {
        {.event = JR_JOURNAL_CELL_STARTED, .values = values},
        {.event = JR_JOURNAL_CELL_ENDED, .values = values, .status = "failed"},
        {.event = JR_JOURNAL_CELL_ENDED,
         .cell = 7,
         .values = values,
         .status = "stopped",
         .interrupted = true}};
    add(&journal, JR_JOURNAL_SWEEP_STARTED);
    for (size_t i = 0; i < sizeof cell / sizeof *cell; i++)
        jr_journal_add(&journal, &cell[i]);
    CU_ASSERT_EQUAL(jr_journal_sync(&journal, false), journal.dirty_ns + UINT64_C(1000000000));
    CU_ASSERT_EQUAL(jr_journal_sync(&journal, true), 0);
    CU_ASSERT_EQUAL(jr_journal_sync(&journal, false), 0);
    CU_ASSERT_FALSE(journal.failed);
    jr_journal_close(&journal);
    CU_ASSERT_EQUAL(journal.fd, -1);
    CU_ASSERT_EQUAL(jr_journal_holder(dir), 0);
    check_lines(dir, "0:-1:- 2:0:- 3:0:failed 3:7:stopped! ");
    (void)close(dir);
}

/* A second after the first line that is not, and at its end. */
TEST(is_synced_in_its_time)
{
    struct scratch scratch RELEASE(scratch_end);
    struct jr_journal journal;
    pid_t holder;
    int dir = open_scratch(&scratch);
    CU_ASSERT_EQUAL_FATAL(jr_journal_open(&journal, dir, 0600, &holder, NULL), 0);
    add(&journal, JR_JOURNAL_SWEEP_STARTED);
    uint64_t first = journal.dirty_ns;
    add(&journal, JR_JOURNAL_SWEEP_RESUMED);
    CU_ASSERT_EQUAL(journal.dirty_ns, first);
    journal.dirty_ns = jr_clock_ns() - UINT64_C(1000000001);
    CU_ASSERT_EQUAL(jr_journal_sync(&journal, false), 0);
    CU_ASSERT_EQUAL(journal.dirty_ns, 0);
    add(&journal, JR_JOURNAL_SWEEP_ENDED);
    CU_ASSERT_TRUE(journal.dirty_ns >= first);
    jr_journal_close(&journal);
    CU_ASSERT_EQUAL(journal.dirty_ns, 0);
    (void)close(dir);
}

/* On a file system that has no locks, it is nobody's, and not ours. */
TEST(is_not_begun_without_a_lock)
{
    static const struct deny_call none[] = {{SYS_fcntl, ENOLCK}};
    struct scratch scratch RELEASE(scratch_end);
    int dir = open_scratch(&scratch), status = -1;
    pid_t child = fork();
    if (child == 0) {
        struct jr_error err = {0};
        struct jr_journal journal;
        pid_t holder = 77;
        bool refused = deny(none, 1) && jr_journal_open(&journal, dir, 0600, &holder, &err) == -1 &&
                       err.status == JR_STATUS_LAUNCH && err.sys == ENOLCK && holder == 0 &&
                       jr_journal_holder(dir) == 0 && journal.fd == -1;
        _exit(refused ? 0 : 1);
    }
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_EQUAL(status, 0);
    (void)close(dir);
}

static void take_place(void *data, enum jr_journal_event event, const json_t *line)
{
    const char *host = jr_json_get_str(line, "host");
    const char *job = jr_json_get_str(line, "job");
    struct read_lines *lines = data;
    JR_FREE char *values = json_dumps(json_object_get(line, "values"), JSON_COMPACT);
    jr_buf_printf(&lines->text, "%d:%s:%s:%s:%s ", (int)event, host == NULL ? "-" : host,
                  job == NULL ? "-" : job, values == NULL ? "-" : values,
                  jr_json_get_str(line, "time") != NULL &&
                          json_is_integer(json_object_get(line, "ns"))
                      ? "timed"
                      : "");
}

/* Where a line was written, or its cell runs, and with which values. */
TEST(says_where_it_was)
{
    json_auto_t *values = json_pack("{s:i}", "vars.n", 3);
    const struct jr_journal_line rows[] = {
        {.event = JR_JOURNAL_SWEEP_STARTED, .cell = JR_JOURNAL_NO_CELL, .host = "n1", .job = "77"},
        {.event = JR_JOURNAL_CELL_STARTED, .values = values, .host = "n2"}};
    struct scratch scratch RELEASE(scratch_end);
    struct jr_journal journal;
    struct read_lines lines = {JR_BUF_INIT};
    pid_t holder;
    int dir = open_scratch(&scratch);
    CU_ASSERT_EQUAL_FATAL(jr_journal_open(&journal, dir, 0600, &holder, NULL), 0);
    for (size_t i = 0; i < 2; i++)
        jr_journal_add(&journal, &rows[i]);
    jr_journal_close(&journal);
    CU_ASSERT_TRUE(jr_journal_read(dir, take_place, &lines));
    JR_ASSERT_TEXT(lines.text.data, "0:n1:77:-:timed 2:n2:-:{\"vars.n\":3}:timed ");
    jr_buf_release(&lines.text);
    (void)close(dir);
}

/* Of a first line that was torn, a byte may be there. */
TEST(a_torn_byte_takes_no_line)
{
    struct scratch scratch RELEASE(scratch_end);
    struct jr_journal journal;
    pid_t holder;
    int dir = open_scratch(&scratch);
    scratch_write(&scratch, JR_JOURNAL_FILE, "{");
    CU_ASSERT_EQUAL_FATAL(jr_journal_open(&journal, dir, 0600, &holder, NULL), 0);
    add(&journal, JR_JOURNAL_SWEEP_RESUMED);
    jr_journal_close(&journal);
    check_lines(dir, "1:-1:- ");
    (void)close(dir);
}

TEST(passes_over_what_is_torn_or_foreign)
{
    static const char text[] = "{\"event\": \"cell_ended\", \"cell\": 1, \"status\": \"failed\"}\n"
                               "not JSON\n{\"event\": \"of another build\"}\n[1]\n"
                               "{\"event\": \"cell_ended\", \"ce";
    struct scratch scratch RELEASE(scratch_end);
    struct jr_journal journal;
    pid_t holder;
    int dir = open_scratch(&scratch);
    int fd = openat(dir, JR_JOURNAL_FILE, O_CREAT | O_WRONLY, 0600);
    CU_ASSERT_EQUAL(write(fd, text, sizeof text - 1), sizeof text - 1);
    (void)close(fd);
    check_lines(dir, "3:1:failed ");
    CU_ASSERT_EQUAL_FATAL(jr_journal_open(&journal, dir, 0600, &holder, NULL), 0);
    add(&journal, JR_JOURNAL_SWEEP_RESUMED);
    jr_journal_close(&journal);
    check_lines(dir, "3:1:failed 1:-1:- ");
    (void)close(dir);
}

TEST(is_one_process_s_own)
{
    struct scratch scratch RELEASE(scratch_end);
    struct jr_journal journal RELEASE(jr_journal_close);
    pid_t holder, parent = getpid();
    int dir = open_scratch(&scratch), status = -1;
    CU_ASSERT_EQUAL_FATAL(jr_journal_open(&journal, dir, 0600, &holder, NULL), 0);
    pid_t child = fork();
    if (child == 0) {
        struct jr_error err = {0};
        struct jr_journal other;
        unsigned open = count_descriptors();
        bool refused = jr_journal_open(&other, dir, 0600, &holder, &err) == -1 &&
                       err.status == JR_STATUS_USAGE && holder == parent &&
                       jr_journal_holder(dir) == parent && other.fd == -1 &&
                       count_descriptors() == open;
        _exit(refused ? 0 : 1);
    }
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_EQUAL(status, 0);
    (void)close(dir);
}

/* Who goes on with a sweep reads what there is, and has it locked still. */
TEST(is_read_under_its_lock)
{
    struct scratch scratch RELEASE(scratch_end);
    struct jr_journal journal;
    struct read_lines lines = {JR_BUF_INIT};
    pid_t holder, parent = getpid();
    int dir = open_scratch(&scratch), status = -1;
    CU_ASSERT_EQUAL_FATAL(jr_journal_open(&journal, dir, 0600, &holder, NULL), 0);
    add(&journal, JR_JOURNAL_SWEEP_STARTED);
    CU_ASSERT_TRUE(jr_journal_read_own(&journal, take, &lines));
    add(&journal, JR_JOURNAL_SWEEP_ENDED);
    JR_ASSERT_TEXT(lines.text.data, "0:-1:- ");
    jr_buf_release(&lines.text);
    pid_t child = fork();
    if (child == 0)
        _exit(jr_journal_holder(dir) == parent ? 0 : 1);
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_EQUAL(status, 0);
    jr_journal_close(&journal);
    check_lines(dir, "0:-1:- 4:-1:- ");
    (void)close(dir);
}

TEST(says_when_a_line_was_lost)
{
    struct jr_journal journal RELEASE(jr_journal_close) = {
        .fd = open("/dev/full", O_WRONLY | O_CLOEXEC)};
    add(&journal, JR_JOURNAL_SWEEP_STARTED);
    CU_ASSERT_TRUE(journal.failed);
}

/* Nothing is written to what is no file, or is led to by a link. */
TEST(is_a_regular_file)
{
    struct scratch scratch RELEASE(scratch_end);
    struct jr_journal journal;
    pid_t holder;
    int dir = open_scratch(&scratch);
    for (int i = 0; i < 3; i++) {
        struct jr_error err = {0};
        unsigned open = count_descriptors();
        holder = 77;
        CU_ASSERT_EQUAL_FATAL(i == 0   ? mkfifoat(dir, JR_JOURNAL_FILE, 0600)
                              : i == 1 ? mkdirat(dir, JR_JOURNAL_FILE, 0700)
                                       : symlinkat("elsewhere", dir, JR_JOURNAL_FILE),
                              0);
        CU_ASSERT_EQUAL(jr_journal_open(&journal, dir, 0600, &holder, &err), -1);
        CU_ASSERT_EQUAL(holder, 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, JR_JOURNAL_FILE));
        CU_ASSERT_FALSE(jr_journal_read(dir, take, NULL));
        CU_ASSERT_EQUAL(journal.fd, -1);
        CU_ASSERT_EQUAL(count_descriptors(), open);
        CU_ASSERT_EQUAL(unlinkat(dir, JR_JOURNAL_FILE, i == 1 ? AT_REMOVEDIR : 0), 0);
    }
    CU_ASSERT_TRUE(faccessat(dir, "elsewhere", F_OK, 0) != 0);
    scratch_write(&scratch, "elsewhere", "{\"event\": \"sweep_ended\"}\n");
    CU_ASSERT_EQUAL(symlinkat("elsewhere", dir, JR_JOURNAL_FILE), 0);
    CU_ASSERT_FALSE(jr_journal_read(dir, take, NULL));
    (void)close(dir);
}

/* A line of 8 MiB is one, and a byte more is none. */
TEST(reads_no_line_that_is_too_long)
{
    static const char head[] = "{\"event\": \"cell_ended\", \"cell\": 7, "
                               "\"status\": \"failed\", \"pad\": \"",
                      tail[] = "\"}\n";
    static char pad[8 << 20];
    struct scratch scratch RELEASE(scratch_end);
    int dir = open_scratch(&scratch);
    memset(pad, 'x', sizeof pad);
    for (size_t more = 0; more < 2; more++) {
        size_t len = sizeof pad + more - (sizeof head - 1) - (sizeof tail - 2);
        int fd = openat(dir, JR_JOURNAL_FILE, O_CREAT | O_WRONLY, 0600);
        CU_ASSERT_EQUAL(write(fd, head, sizeof head - 1), sizeof head - 1);
        CU_ASSERT_EQUAL(write(fd, pad, len), (ssize_t)len);
        CU_ASSERT_EQUAL(write(fd, tail, sizeof tail - 1), sizeof tail - 1);
        (void)close(fd);
        check_lines(dir, more ? "" : "3:7:failed ");
    }
    (void)close(dir);
}

/* Lines lie across the pieces in which it is read, and far behind each other:
 * the hole is a line that is too long, and takes nothing from the disk. */
TEST(reads_all_of_a_long_one)
{
    static const char line[] = "{\"event\": \"cell_ended\", \"cell\": 7, \"status\": \"failed\"}\n";
    struct scratch scratch RELEASE(scratch_end);
    struct read_lines lines = {JR_BUF_INIT};
    int dir = open_scratch(&scratch);
    int fd = openat(dir, JR_JOURNAL_FILE, O_CREAT | O_RDWR | O_APPEND, 0600);
    for (int i = 0; i < 5000; i++)
        CU_ASSERT_EQUAL(write(fd, line, sizeof line - 1), sizeof line - 1);
    CU_ASSERT_TRUE(jr_journal_read(dir, take, &lines));
    CU_ASSERT_EQUAL(lines.text.len, 5000 * strlen("3:7:failed "));
    jr_buf_release(&lines.text);
    CU_ASSERT_EQUAL(ftruncate(fd, 10), 0); /* torn, as by a full disk */
    CU_ASSERT_EQUAL(ftruncate(fd, (off_t)300 << 20), 0);
    CU_ASSERT_EQUAL(write(fd, "\n", 1), 1);
    CU_ASSERT_EQUAL(write(fd, line, sizeof line - 1), sizeof line - 1);
    check_lines(dir, "3:7:failed ");
    CU_ASSERT_EQUAL(ftruncate(fd, (off_t)1 << 30), 0);
    CU_ASSERT_FALSE(jr_journal_read(dir, take, &lines));
    jr_buf_release(&lines.text);
    (void)close(fd);
    (void)close(dir);
}
