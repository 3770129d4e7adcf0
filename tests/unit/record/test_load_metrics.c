/* metrics.jsonl as curves: what is read of it, in which order, and what of a damaged or hostile
 * file is left out. */
#include "record/load_results.h"

#include <math.h>

#include "base/buf.h"
#include "scratch.h"
#include "quoted.h"

/* The points as "NAME RANK/ATTEMPT STEP=VALUE", and "partial". */
static void check_points(const struct jr_metrics *metrics, const char *expected)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    for (size_t i = 0; i < metrics->points_count; i++) {
        const struct jr_metric_point *point = &metrics->points[i];
        jr_buf_printf(&text, "%s%s %u/%u %g=%g", i == 0 ? "" : ", ", metrics->names[point->metric],
                      point->rank, point->attempt, point->step, fabs(point->value));
    }
    jr_buf_str(&text, metrics->partial ? " partial" : "");
    JR_ASSERT_TEXT(text.data == NULL ? "" : text.data, expected);
}

static void check_text(const char *name, const char *text, const char *expected)
{
    struct jr_metrics metrics;
    SCRATCH(scratch);
    if (text != NULL)
        scratch_write(&scratch, name, text);
    jr_metrics_read(&metrics, scratch.fd);
    check_points(&metrics, expected);
    jr_metrics_release(&metrics);
    CU_ASSERT_EQUAL(metrics.points_count, 0);
}

#define FILE_NAME "metrics.jsonl"
#define LINE(rank, attempt, step, values)                                                          \
    "{\"ns\":5,\"time\":\"t\",\"attempt\":" attempt ",\"rank\":" rank ",\"step\":" step            \
    ",\"metrics\":{" values "}}\n"

TEST(points_are_sorted)
{
    check_text(FILE_NAME,
               LINE("0", "0", "1", "\"loss\":2.5,\"acc\":0.5") LINE("1", "0", "1", "\"loss\":3")
                   LINE("0", "0", "2", "\"loss\":null,\"acc\":1")
                       LINE("0", "1", "1", "\"loss\":1e-3"),
               "loss 0/0 1=2.5, loss 0/0 2=nan, loss 0/1 1=0.001, loss 1/0 1=3, acc 0/0 1=0.5, acc "
               "0/0 2=1");
}

TEST(what_is_no_point_is_left_out)
{
#define GOOD LINE("0", "0", "1", "\"a\":1")
    static const struct {
        const char *text, *expected;
    } vectors[] = {{NULL, ""},
                   {"", ""},
                   {LINE("0", "0", "1", ""), ""},
                   {"\n" GOOD, "a 0/0 1=1 partial"},
                   {"junk\n" GOOD, "a 0/0 1=1 partial"},
                   {"[]\n" GOOD, "a 0/0 1=1 partial"},
                   {"{}\n" GOOD, "a 0/0 1=1 partial"},
                   {GOOD "{\"step\":2,\"metr", "a 0/0 1=1 partial"},
                   {LINE("0", "0", "\"1\"", "\"a\":1"), " partial"},
                   {LINE("0", "0", "null", "\"a\":1"), " partial"},
                   {LINE("0", "0", "1e300", "\"a\":1"), " partial"},
                   {LINE("0", "0", "1", "\"a\":\"1\",\"b\":2"), "b 0/0 1=2 partial"},
                   {LINE("0", "0", "1", "\"a\":[1],\"b\":{}"), " partial"},
                   {LINE("0", "0", "1", "\"a\":1e999"), " partial"},
                   {LINE("0", "0", "1", "\"a\":1,\"a\":2"), " partial"},
                   {LINE("-1", "x", "1", "\"a\":1"), " partial"},
                   {"{\"step\":3,\"metrics\":7}\n", " partial"},
                   {"{\"step\":3,\"metrics\":{\"a\":1}}\n", "a 0/0 3=1"},
                   {LINE("0", "0", "-3", "\"\":-1"), " 0/0 -3=1"}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++)
        check_text(FILE_NAME, vectors[i].text, vectors[i].expected);
}

TEST(nothing_but_a_plain_file_is_read)
{
    struct jr_metrics metrics;
    SCRATCH(scratch);
    scratch_write(&scratch, "other", GOOD);
    CU_ASSERT_EQUAL(symlinkat("other", scratch.fd, FILE_NAME), 0);
    jr_metrics_read(&metrics, scratch.fd);
    check_points(&metrics, " partial");
    jr_metrics_release(&metrics);
    CU_ASSERT_EQUAL(unlinkat(scratch.fd, FILE_NAME, 0), 0);
    CU_ASSERT_EQUAL(mkfifoat(scratch.fd, FILE_NAME, 0600), 0);
    jr_metrics_read(&metrics, scratch.fd); /* and it does not wait */
    check_points(&metrics, " partial");
    jr_metrics_release(&metrics);
    CU_ASSERT_EQUAL(unlinkat(scratch.fd, FILE_NAME, 0), 0);
    CU_ASSERT_EQUAL(mkdirat(scratch.fd, FILE_NAME, 0700), 0);
    jr_metrics_read(&metrics, scratch.fd);
    check_points(&metrics, " partial");
    jr_metrics_release(&metrics);
}

/* A line of 1 MiB, before and behind lines that count. */
TEST(long_lines_are_passed_over)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_buf_str(&text, GOOD);
    for (int i = 0; i < 1 << 20; i++)
        jr_buf_char(&text, 'x');
    jr_buf_str(&text, "\n" LINE("0", "0", "2", "\"a\":2"));
    check_text(FILE_NAME, text.data, "a 0/0 1=1, a 0/0 2=2 partial");
}

/* More points than any job's, and more names. */
TEST(reading_is_bounded)
{
    struct jr_metrics metrics;
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    SCRATCH(scratch);
    for (int i = 0; i < 600000; i++)
        jr_buf_printf(&text, "{\"step\":%d,\"metrics\":{\"a\":1}}\n", i);
    scratch_write(&scratch, FILE_NAME, text.data);
    jr_metrics_read(&metrics, scratch.fd);
    CU_ASSERT_EQUAL(metrics.points_count, 500000);
    CU_ASSERT_EQUAL(metrics.points[499999].step, 499999);
    CU_ASSERT_TRUE(metrics.partial);
    jr_metrics_release(&metrics);
    jr_buf_clear(&text);
    for (int i = 0; i < 200; i++)
        jr_buf_printf(&text, "{\"step\":%d,\"metrics\":{\"a%d\":1}}\n", i, i);
    scratch_write(&scratch, FILE_NAME, text.data);
    jr_metrics_read(&metrics, scratch.fd);
    CU_ASSERT_EQUAL(metrics.names_count, 64);
    CU_ASSERT_EQUAL(metrics.points_count, 64);
    CU_ASSERT_TRUE(metrics.partial);
    jr_metrics_release(&metrics);
    /* a file of 1 TiB without a line, which takes no space */
    int fd = openat(scratch.fd, FILE_NAME, O_WRONLY | O_TRUNC);
    CU_ASSERT_EQUAL(ftruncate(fd, (off_t)1 << 40), 0);
    (void)close(fd);
    jr_metrics_read(&metrics, scratch.fd);
    check_points(&metrics, " partial");
    jr_metrics_release(&metrics);
}

/* Each node by hand has its own ranks. */
TEST(parts_are_put_together)
{
    struct jr_metrics metrics;
    SCRATCH(scratch);
    CU_ASSERT_EQUAL(mkdirat(scratch.fd, "node_0", 0700), 0);
    CU_ASSERT_EQUAL(mkdirat(scratch.fd, "node_3", 0700), 0);
    scratch_write(&scratch, "node_0/run.json", "{}");
    scratch_write(&scratch, "node_3/run.json", "{}");
    scratch_write(&scratch, "node_3/" FILE_NAME, LINE("6", "0", "1", "\"a\":6"));
    scratch_write(&scratch, "node_0/" FILE_NAME, LINE("0", "0", "1", "\"a\":0"));
    jr_metrics_read(&metrics, scratch.fd);
    check_points(&metrics, "a 0/0 1=0, a 6/0 1=6");
    jr_metrics_release(&metrics);
}
