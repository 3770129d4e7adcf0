/* Standard error of a sweep: who does not read it holds nobody. */
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "session/sweep/internal.h"
#include "unit.h"

enum { PAGE = 4096, LINE = 1000 };

/* A pipe of one page in the place of standard error. */
struct stage {
    int kept, from;
    struct jr_sweep_output output;
};

static void stage_start(struct stage *stage)
{
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_CLOEXEC), 0);
    CU_ASSERT_TRUE_FATAL(fcntl(ends[1], F_SETPIPE_SZ, PAGE) >= PAGE);
    stage->kept = dup(STDERR_FILENO);
    stage->from = ends[0];
    CU_ASSERT_EQUAL_FATAL(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    (void)close(ends[1]);
    jr_sweep_output_open(&stage->output);
}

static void stage_end(struct stage *stage)
{
    jr_sweep_output_close(&stage->output);
    (void)dup2(stage->kept, STDERR_FILENO);
    (void)close(stage->kept);
    if (stage->from >= 0)
        (void)close(stage->from);
}

/* Add a line of so many bytes. */
static void add_line(struct jr_sweep_output *output, char byte)
{
    char line[LINE];
    memset(line, byte, sizeof line - 1);
    line[sizeof line - 1] = '\n';
    jr_sweep_output_add(output, line, sizeof line);
}

/* Read all that comes while it is flushed. */
static void read_all(struct stage *stage, struct jr_buf *ret)
{
    static char bytes[1 << 16];
    bool all;
    do {
        all = jr_sweep_output_flush(&stage->output);
        ssize_t got = read(stage->from, bytes, sizeof bytes);
        CU_ASSERT_TRUE_FATAL(got > 0);
        jr_buf_add(ret, bytes, (size_t)got);
    } while (!all);
}

#define STAGE(name)                                                                                \
    struct stage name RELEASE(stage_end);                                                          \
    stage_start(&name)

TEST(what_is_not_read_waits_for_nobody)
{
    struct jr_buf told JR_BUF_CLEANUP = JR_BUF_INIT;
    STAGE(stage);
    CU_ASSERT_TRUE_FATAL(jr_sweep_output_is_open(&stage.output));
    CU_ASSERT_FALSE(stage.output.terminal);
    for (int i = 0; i < 20; i++) {
        add_line(&stage.output, (char)('a' + i));
        (void)jr_sweep_output_flush(&stage.output);
    }
    CU_ASSERT_TRUE(jr_sweep_output_is_behind(&stage.output));
    read_all(&stage, &told);
    CU_ASSERT_FALSE(jr_sweep_output_is_behind(&stage.output));
    CU_ASSERT_EQUAL(told.len, 20 * LINE);
    for (size_t i = 0; i < 20 && told.len == 20 * LINE; i++)
        CU_ASSERT_EQUAL(told.data[i * LINE], 'a' + (int)i);
}

/* The memory for it is bounded, and what is missing is said in its place. */
TEST(what_has_no_room_is_counted)
{
    struct jr_buf told JR_BUF_CLEANUP = JR_BUF_INIT;
    size_t shown = 0;
    char wanted[64];
    STAGE(stage);
    for (int i = 0; i < 3000; i++)
        add_line(&stage.output, 'x');
    shown = stage.output.pending.len / LINE;
    CU_ASSERT_TRUE(shown > 1000 && shown < 1100);
    CU_ASSERT_EQUAL(stage.output.lost, 3000 - shown);
    read_all(&stage, &told);
    (void)snprintf(wanted, sizeof wanted, "\njobrun: %zu messages were left out", 3000 - shown);
    CU_ASSERT_PTR_NOT_NULL(strstr(told.data, wanted));
    CU_ASSERT_EQUAL(stage.output.lost, 0);
}

TEST(a_reader_that_goes_away_ends_it)
{
    STAGE(stage);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)close(stage.from);
    stage.from = -1;
    add_line(&stage.output, 'x');
    CU_ASSERT_FALSE(jr_sweep_output_flush(&stage.output));
    CU_ASSERT_TRUE(stage.output.gone);
    CU_ASSERT_FALSE(jr_sweep_output_is_behind(&stage.output));
}

/* A file takes everything at once. */
TEST(a_file_is_written_to_as_it_is)
{
    char name[] = "/tmp/jr_output_XXXXXX";
    int file = mkstemp(name);
    STAGE(stage);
    jr_sweep_output_close(&stage.output);
    CU_ASSERT_EQUAL_FATAL(dup2(file, STDERR_FILENO), STDERR_FILENO);
    jr_sweep_output_open(&stage.output);
    CU_ASSERT_FALSE(jr_sweep_output_is_open(&stage.output));
    (void)close(file);
    (void)unlink(name);
}
