/* The bar, text by text: what it tells at each width. */
#include "output/progress_bar.h"

#include <math.h>

#include "base/utf8.h"
#include "terminal.h"
#include "unit.h"

#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const struct jr_progress_metric metrics[] = {
    {"loss", 0.527}, {"acc", 0.9125}, {"lr", 1e-4}, {"more", 1}};

/* The one of looks. */
static const struct jr_progress_bar train = {
    .name = "train",
    .step = 1840,
    .of = 4000,
    .rate = 12.4,
    .timed = true,
    .left_ns = UINT64_C(174200000000),
    .metrics = metrics,
    .metrics_count = 1,
    .slowest = 5,
    .behind = 31,
};

static void check_bar(const struct jr_progress_bar *bar, unsigned columns, bool plain,
                      const char *expected)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    jr_progress_bar_add(&out, bar, columns, plain);
    CU_ASSERT_FALSE(out.failed);
    JR_ASSERT_TEXT(out.data == NULL ? "" : out.data, expected);
    CU_ASSERT_TRUE(out.len == 0 || jr_utf8_columns(out.data, out.len) <= columns);
}

TEST(fits_every_width)
{
    static const struct {
        unsigned columns;
        const char *text;
    } rows[] = {
        {120, "train  step 1840/4000  46 %  ━━━━━━━━━━               12.4 steps/s   left 2m54s   "
              "loss 0.527   rank 5 is 31 steps behind"},
        {119, "train  step 1840/4000  46 %  ━━━━━━━━━╸              12.4 steps/s   left 2m54s   "
              "loss 0.527   rank 5 is 31 steps behind"},
        {79, "train  step 1840/4000  46 %  ━━━━        12.4 steps/s   left 2m54s   loss 0.527"},
        {60, "step 1840/4000  46 %  ━━━━╸        12.4 steps/s   left 2m54s"},
        {39, "step 1840/4000  46 %  ━╸     left 2m54s"},
        {38, "step 1840/4000  46 %   left 2m54s"},
        {30, "step 1840/4000   left 2m54s"},
        {26, "step 1840/4000"},
        {14, "step 1840/4000"},
        {13, ""},
        {0, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_bar(&train, rows[i].columns, false, rows[i].text);
    for (unsigned columns = 0; columns < 200; columns++) {
        JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
        jr_progress_bar_add(&out, &train, columns, false);
        CU_ASSERT_TRUE(out.len == 0 || jr_utf8_columns(out.data, out.len) <= columns);
    }
}

TEST(tells_what_is_known)
{
    struct jr_progress_bar bar = {.name = "t", .step = 7};
    check_bar(&bar, 79, false, "t  step 7");
    bar.rate = 3;
    bar.metrics = metrics;
    bar.metrics_count = 4;
    check_bar(&bar, 79, false, "t  step 7   3.0 steps/s   loss 0.527   acc 0.9125   lr 0.0001");
    check_bar(&bar, 49, false, "t  step 7   3.0 steps/s   loss 0.527   acc 0.9125");
    check_bar(&bar, 48, false, "t  step 7   3.0 steps/s   loss 0.527");
    bar = (struct jr_progress_bar){.name = "t", .step = 0, .of = 1};
    check_bar(&bar, 22, false, "t  step 0/1  0 %      ");
    check_bar(&bar, 21, false, "step 0/1  0 %        ");
    check_bar(&bar, 18, false, "step 0/1  0 %");
    bar.behind = 1;
    bar.slowest = 3;
    check_bar(&bar, 60, true, "t  step 0/1  0 %  ................   rank 3 is 1 step behind");
}

/* A fifth of the bar after another, and what no job should tell. */
TEST(draws_what_is_done)
{
    static const struct {
        int64_t step, of;
        const char *text, *plain;
    } rows[] = {
        {0, 10, "step 0/10  0 %            ", "step 0/10  0 %  .........."},
        {1, 10, "step 1/10  10 %  ╸        ", "step 1/10  10 %  ........."},
        {5, 10, "step 5/10  50 %  ━━━━╸    ", "step 5/10  50 %  ####....."},
        {10, 10, "step 10/10  100 %  ━━━━━━━", "step 10/10  100 %  #######"},
        {11, 10, "step 11/10  100 %  ━━━━━━━", "step 11/10  100 %  #######"},
        {-1, 10, "step -1/10  0 %           ", "step -1/10  0 %  ........."},
        {1, -10, "step 1", "step 1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct jr_progress_bar bar = {.name = "", .step = rows[i].step, .of = rows[i].of};
        check_bar(&bar, 26, false, rows[i].text);
        check_bar(&bar, 26, true, rows[i].plain);
    }
    const struct jr_progress_bar last = {.name = "", .step = INT64_MAX, .of = INT64_MAX};
    check_bar(&last, 50, false, "step 9223372036854775807/9223372036854775807");
}

TEST(tells_rates_and_times)
{
    static const struct {
        double rate;
        uint64_t left_ms;
        const char *text;
    } rows[] = {
        {1234.5, 400, "step 1   1234 steps/s   left 0s"},
        {99.96, 500, "step 1   100 steps/s   left 1s"},
        {99.94, 59400, "step 1   99.9 steps/s   left 59s"},
        {1, 3599400, "step 1   1.0 steps/s   left 59m59s"},
        {0.5, 3600000, "step 1   2.0 s/step   left 1h"},
        {0.1, 7384000, "step 1   10s/step   left 2h3m"},
        {0.01, 90000000, "step 1   1m40s/step   left 1d1h"},
        {1e-12, 1000, "step 1   left 1s"},
        {0, 1000, "step 1   left 1s"},
        {-1, 1000, "step 1   left 1s"},
        {NAN, 1000, "step 1   left 1s"},
        {5e-324, 1000, "step 1   left 1s"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct jr_progress_bar bar = {.name = "",
                                            .step = 1,
                                            .rate = rows[i].rate,
                                            .timed = true,
                                            .left_ns = rows[i].left_ms * 1000000};
        check_bar(&bar, 79, false, rows[i].text);
    }
}

/* Names are the program's; nothing in them moves a cursor, and wide ones are counted as the
 * terminal does. */
TEST(names_are_safe)
{
    static const struct jr_progress_metric odd[] = {{"a\033[2J\n", NAN},
                                                    {"\xe6\x97\xa5\xe6\x9c\xac", INFINITY}};
    const struct jr_progress_bar bar = {
        .name = "j\r", .step = 1, .metrics = odd, .metrics_count = 2};
    check_bar(&bar, 79, false,
              "j\\x0d  step 1   a\\x1b[2J\\x0a nan   \xe6\x97\xa5\xe6\x9c\xac inf");
    check_bar(&bar, 43, false,
              "j\\x0d  step 1   a\\x1b[2J\\x0a nan   \xe6\x97\xa5\xe6\x9c\xac inf");
    check_bar(&bar, 42, false, "j\\x0d  step 1   a\\x1b[2J\\x0a nan");
}

/* The bar of a job on a terminal of `columns`, as it is drawn: "" where it is not. */
static const char *stand(const struct jr_progress *progress, bool utf8, unsigned short columns,
                         bool *ret_stands)
{
    const struct winsize size = {.ws_col = columns, .ws_row = 24};
    static char text[4096];
    struct jr_console_writer console;
    struct jr_loop loop;
    int master, slave;
    CU_ASSERT_EQUAL_FATAL(openpty(&master, &slave, NULL, NULL, &size), 0);
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&loop), 0);
    jr_console_writer_open(&console, &loop, -1, slave);
    *ret_stands = jr_progress_bar_stand(&console, "digits", progress, utf8);
    (void)terminal_text(master, slave, text, sizeof text);
    jr_console_writer_close(&console);
    (void)close(loop.epoll_fd);
    (void)close(slave);
    (void)close(master);
    return text;
}

TEST(stands_where_there_is_a_step)
{
    struct jr_progress *progress = jr_progress_new(2);
    bool stands = true;
    JR_ASSERT_TEXT(stand(NULL, true, 80, &stands), "");
    CU_ASSERT_FALSE(stands);
    JR_ASSERT_TEXT(stand(progress, true, 80, &stands), "");
    CU_ASSERT_FALSE(stands);
    progress->job.any = true;
    CU_ASSERT_PTR_NOT_NULL(strstr(stand(progress, true, 80, &stands), "digits  step 0"));
    CU_ASSERT_TRUE(stands);
    jr_progress_free(progress);
}

/* What the line has of a job: the metrics that have a value, who is behind, and the time that is
 * left before the last step. */
TEST(stands_with_what_is_told)
{
    struct jr_progress *progress = jr_progress_new(2);
    bool stands;
    (void)jr_progress_metric(progress, "loss", 4);
    (void)jr_progress_metric(progress, "lr", 2);
    (void)jr_progress_metric(progress, "acc", 3);
    progress->job = (struct jr_steps){
        .any = true, .step = 30, .of = 60, .rate = 2, .metrics = 5, .values = {0.5, 7, 0.25}};
    progress->slowest = 1;
    progress->behind = 4;
    const char *text = stand(progress, false, 150, &stands);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "digits  step 30/60  50 %  ####"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "2.0 steps/s   left 15s   loss 0.5   acc 0.25"));
    CU_ASSERT_PTR_NULL(strstr(text, "lr"));
    CU_ASSERT_PTR_NULL(strstr(text, "behind")); /* one rank's steps count */
    CU_ASSERT_PTR_NULL(strstr(text, "\xe2"));
    progress->all = true;
    progress->job.step = 60;
    text = stand(progress, true, 150, &stands);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "rank 1 is 4 steps behind"));
    CU_ASSERT_TRUE(strstr(text, "left") == NULL && strstr(text, "\xe2") != NULL);
    progress->job.step = 59;
    CU_ASSERT_PTR_NOT_NULL(strstr(stand(progress, true, 150, &stands), "left 1s"));
    jr_progress_free(progress);
}
