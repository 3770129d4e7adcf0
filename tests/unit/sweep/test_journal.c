/* The journal: what is written can be read, torn lines are passed over, and two processes do not
 * write one. */
#include "sweep/journal.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

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

/* A folder, and a journal in it that is being written. */
struct desk {
    struct scratch scratch;
    struct jr_journal journal;
    int dir;
};

static void desk_open_journal(struct desk *desk)
{
    pid_t holder;
    CU_ASSERT_EQUAL_FATAL(jr_journal_open(&desk->journal, desk->dir, 0600, &holder, NULL), 0);
}

static void desk_start(struct desk *desk)
{
    *desk = (struct desk){.journal = {.fd = -1}};
    scratch_start(&desk->scratch);
    desk->dir = desk->scratch.fd;
}

static void desk_end(struct desk *desk)
{
    jr_journal_close(&desk->journal);
    scratch_end(&desk->scratch);
}

#define DESK(desk)                                                                                 \
    struct desk desk RELEASE(desk_end);                                                            \
    desk_start(&desk)

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
    DESK(desk);
    struct rlimit before, small;
    desk_open_journal(&desk);
    add(&desk.journal, JR_JOURNAL_SWEEP_STARTED);
    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    small = before;
    small.rlim_cur = (rlim_t)lseek(desk.journal.fd, 0, SEEK_END) + 9;
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &small), 0);
    add(&desk.journal, JR_JOURNAL_SWEEP_RESUMED);
    CU_ASSERT_TRUE(desk.journal.failed);
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &before), 0);
    add(&desk.journal, JR_JOURNAL_SWEEP_RESUMED);
    add(&desk.journal, JR_JOURNAL_SWEEP_ENDED);
    CU_ASSERT_TRUE(desk.journal.failed);
    jr_journal_close(&desk.journal);
    check_lines(desk.dir, "0:-1:- 1:-1:- 4:-1:- ");
}

TEST(reads_back_what_was_written)
{
    DESK(desk);
    json_auto_t *values = json_pack("{s:f}", "vars.lr", 0.1);
    desk_open_journal(&desk);
    const struct jr_journal_line cell[] = {
        {.event = JR_JOURNAL_CELL_STARTED, .values = values},
        {.event = JR_JOURNAL_CELL_ENDED, .values = values, .status = "failed"},
        {.event = JR_JOURNAL_CELL_ENDED,
         .cell = 7,
         .values = values,
         .status = "stopped",
         .interrupted = true}};
    add(&desk.journal, JR_JOURNAL_SWEEP_STARTED);
    for (size_t i = 0; i < sizeof cell / sizeof *cell; i++)
        jr_journal_add(&desk.journal, &cell[i]);
    CU_ASSERT_EQUAL(jr_journal_sync(&desk.journal, false),
                    desk.journal.dirty_ns + UINT64_C(1000000000));
    CU_ASSERT_EQUAL(jr_journal_sync(&desk.journal, true), 0);
    CU_ASSERT_EQUAL(jr_journal_sync(&desk.journal, false), 0);
    CU_ASSERT_FALSE(desk.journal.failed);
    jr_journal_close(&desk.journal);
    CU_ASSERT_EQUAL(desk.journal.fd, -1);
    CU_ASSERT_EQUAL(jr_journal_holder(desk.dir), 0);
    check_lines(desk.dir, "0:-1:- 2:0:- 3:0:failed 3:7:stopped! ");
}

/* A second after the first line that is not, and at its end. */
TEST(is_synced_in_its_time)
{
    DESK(desk);
    desk_open_journal(&desk);
    add(&desk.journal, JR_JOURNAL_SWEEP_STARTED);
    uint64_t first = desk.journal.dirty_ns;
    add(&desk.journal, JR_JOURNAL_SWEEP_RESUMED);
    CU_ASSERT_EQUAL(desk.journal.dirty_ns, first);
    desk.journal.dirty_ns = jr_clock_ns() - UINT64_C(1000000001);
    CU_ASSERT_EQUAL(jr_journal_sync(&desk.journal, false), 0);
    CU_ASSERT_EQUAL(desk.journal.dirty_ns, 0);
    add(&desk.journal, JR_JOURNAL_SWEEP_ENDED);
    CU_ASSERT_TRUE(desk.journal.dirty_ns >= first);
    jr_journal_close(&desk.journal);
    CU_ASSERT_EQUAL(desk.journal.dirty_ns, 0);
}

/* On a file system that has no locks, it is nobody's, and not ours. */
TEST(is_not_begun_without_a_lock)
{
    static const struct deny_call none[] = {{SYS_fcntl, ENOLCK}};
    DESK(desk);
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        struct jr_error err = {0};
        struct jr_journal journal;
        pid_t holder = 77;
        bool refused = deny(none, 1) &&
                       jr_journal_open(&journal, desk.dir, 0600, &holder, &err) == -1 &&
                       err.status == JR_STATUS_LAUNCH && err.sys == ENOLCK && holder == 0 &&
                       jr_journal_holder(desk.dir) == 0 && journal.fd == -1;
        _exit(refused ? 0 : 1);
    }
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_EQUAL(status, 0);
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
    DESK(desk);
    struct read_lines lines = {JR_BUF_INIT};
    desk_open_journal(&desk);
    for (size_t i = 0; i < 2; i++)
        jr_journal_add(&desk.journal, &rows[i]);
    jr_journal_close(&desk.journal);
    CU_ASSERT_TRUE(jr_journal_read(desk.dir, take_place, &lines));
    JR_ASSERT_TEXT(lines.text.data, "0:n1:77:-:timed 2:n2:-:{\"vars.n\":3}:timed ");
    jr_buf_release(&lines.text);
}

/* Of a first line that was torn, a byte may be there. */
TEST(a_torn_byte_takes_no_line)
{
    DESK(desk);
    scratch_write(&desk.scratch, JR_JOURNAL_FILE, "{");
    desk_open_journal(&desk);
    add(&desk.journal, JR_JOURNAL_SWEEP_RESUMED);
    jr_journal_close(&desk.journal);
    check_lines(desk.dir, "1:-1:- ");
}

/* Who goes on with a sweep reads what there is, and has it locked still. */
TEST(is_read_under_its_lock)
{
    DESK(desk);
    struct read_lines lines = {JR_BUF_INIT};
    pid_t parent = getpid();
    int status = -1;
    desk_open_journal(&desk);
    add(&desk.journal, JR_JOURNAL_SWEEP_STARTED);
    CU_ASSERT_TRUE(jr_journal_read_own(&desk.journal, take, &lines));
    add(&desk.journal, JR_JOURNAL_SWEEP_ENDED);
    JR_ASSERT_TEXT(lines.text.data, "0:-1:- ");
    jr_buf_release(&lines.text);
    pid_t child = fork();
    if (child == 0)
        _exit(jr_journal_holder(desk.dir) == parent ? 0 : 1);
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_EQUAL(status, 0);
    jr_journal_close(&desk.journal);
    check_lines(desk.dir, "0:-1:- 4:-1:- ");
}

/* A line of 8 MiB is one, and a byte more is none. */
TEST(reads_no_line_that_is_too_long)
{
    static const char head[] = "{\"event\": \"cell_ended\", \"cell\": 7, "
                               "\"status\": \"failed\", \"pad\": \"",
                      tail[] = "\"}\n";
    static char pad[8 << 20];
    DESK(desk);
    memset(pad, 'x', sizeof pad);
    for (size_t more = 0; more < 2; more++) {
        size_t len = sizeof pad + more - (sizeof head - 1) - (sizeof tail - 2);
        int fd = openat(desk.dir, JR_JOURNAL_FILE, O_CREAT | O_WRONLY, 0600);
        CU_ASSERT_EQUAL(write(fd, head, sizeof head - 1), sizeof head - 1);
        CU_ASSERT_EQUAL(write(fd, pad, len), (ssize_t)len);
        CU_ASSERT_EQUAL(write(fd, tail, sizeof tail - 1), sizeof tail - 1);
        (void)close(fd);
        check_lines(desk.dir, more ? "" : "3:7:failed ");
    }
}
