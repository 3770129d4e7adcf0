/* What a sweep draws: its lines at any width, and how they are erased. */
#include <stdlib.h>

#include "base/utf8.h"
#include "session/sweep/internal.h"
#include "unit.h"

#define SECOND UINT64_C(1000000000)

static struct jr_progress *steps(int64_t step, int64_t of, double rate)
{
    struct jr_progress *progress = calloc(1, sizeof *progress);
    progress->job = (struct jr_steps){.any = true, .step = step, .of = of, .rate = rate};
    return progress;
}

static void check_cell(const struct jr_cell_line *line, unsigned columns, const char *expected)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_cell_line_add(&out, line, columns);
    JR_ASSERT_TEXT(out.data == NULL ? "" : out.data, expected);
}

TEST(a_cell_without_steps_has_its_time)
{
    struct jr_cell_line line = {
        .number = 7, .values = "lr 0.1  seed 2", .devices = "", .elapsed_ns = 65 * SECOND};
    check_cell(&line, 80, "0007  lr 0.1  seed 2  1m5s");
    line.elapsed_ns = 0;
    check_cell(&line, 80, "0007  lr 0.1  seed 2  0s");
    line.values_width = 16;
    check_cell(&line, 80, "0007  lr 0.1  seed 2    0s");
    line.devices = "GPU 0,1";
    check_cell(&line, 80, "0007  lr 0.1  seed 2    0s  GPU 0,1");
    line.values = "";
    line.values_width = 0;
    check_cell(&line, 80, "0007  0s  GPU 0,1");
}

TEST(steps_are_told)
{
    struct jr_progress *progress = steps(410, 800, 0);
    struct jr_cell_line line = {
        .number = 4, .values = "lr 0.03  seed 1", .devices = "", .progress = progress};
    check_cell(&line, 60, "0004  lr 0.03  seed 1  step 410/800  51 %  ########.........");
    check_cell(&line, 41, "0004  lr 0.03  seed 1  step 410/800  51 %");
    check_cell(&line, 30, "0004  step 410/800  51 %  ##..");
    free(progress);
}

TEST(no_line_is_wider_than_the_terminal)
{
    struct jr_progress *progress = steps(123456, 999999, 12.5);
    struct jr_cell_line line = {.number = 123456,
                                .values =
                                    "名前 \xe5\xad\xa6\xe7\xbf\x92\xe7\x8e\x87  path \033[31mred",
                                .devices = "GPU 0,1,2,3",
                                .progress = progress,
                                .elapsed_ns = SECOND,
                                .utf8 = true};
    for (unsigned columns = 1; columns < 120; columns++) {
        struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
        line.progress = columns % 2 == 0 ? progress : NULL;
        jr_cell_line_add(&out, &line, columns);
        CU_ASSERT_PTR_NOT_NULL_FATAL(out.data);
        CU_ASSERT_TRUE(jr_utf8_columns(out.data, out.len) <= columns);
        CU_ASSERT_PTR_NULL(strchr(out.data, '\033'));
    }
    free(progress);
}

static void check_sum(const struct jr_sum_line *line, unsigned columns, const char *expected)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_sum_line_add(&out, line, columns);
    JR_ASSERT_TEXT(out.data, expected);
}

TEST(the_sum_leaves_out_what_does_not_fit)
{
    struct jr_sum_line line = {.cells = 24,
                               .done = 5,
                               .failed = 1,
                               .running = 4,
                               .left = 14,
                               .timed = true,
                               .left_ns = 252 * SECOND,
                               .best = "0002 (accuracy 0.962)"};
    check_sum(&line, 120,
              "24 cells: 5 done, 1 failed, 4 running, 14 left; about 4m12s to "
              "go; best so far 0002 (accuracy 0.962)");
    check_sum(&line, 70, "24 cells: 5 done, 1 failed, 4 running, 14 left; about 4m12s to go");
    check_sum(&line, 50, "24 cells: 5 done, 1 failed, 4 running, 14 left");
    check_sum(&line, 20, "24 cells: 5 done, 1 ");
    line.stopping = true;
    line.best = "";
    check_sum(&line, 120, "24 cells: 5 done, 1 failed, 4 running, 14 left; no other begins");
    line = (struct jr_sum_line){.cells = 1, .running = 1, .best = ""};
    check_sum(&line, 80, "1 cell: 0 done, 1 running");
    line.timed = true;
    check_sum(&line, 80, "1 cell: 0 done, 1 running; about 1s to go");
    line.left_ns = 7322 * SECOND;
    check_sum(&line, 80, "1 cell: 0 done, 1 running; about 2h2m to go");
}

TEST(erasing_knows_what_was_wrapped)
{
    static const struct {
        size_t widths[3], count;
        unsigned columns;
        const char *expected;
    } vectors[] = {
        {{10, 20, 30}, 3, 80, "\r\033[2A\033[J"}, {{80, 80, 80}, 3, 80, "\r\033[2A\033[J"},
        {{80, 80, 80}, 3, 40, "\r\033[5A\033[J"}, {{81, 1, 1}, 3, 40, "\r\033[4A\033[J"},
        {{10, 0, 0}, 1, 80, "\r\033[J"},          {{0, 0, 0}, 2, 80, "\r\033[1A\033[J"}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_lines_erase(&out, vectors[i].widths, vectors[i].count, vectors[i].columns);
        JR_ASSERT_TEXT(out.data, vectors[i].expected);
    }
}
