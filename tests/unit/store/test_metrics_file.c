/* metrics.jsonl: bounded, even, and continued by the next attempt. */
#include "store/metrics_file.h"

#include <errno.h>
#include <math.h>

#include "base/io.h"
#include "scratch.h"

struct bench {
    struct scratch scratch;
    struct jr_progress *progress;
    struct jr_metrics_file file;
    double values[JR_METRICS_MOST];
};

static void begin(struct bench *bench)
{
    *bench = (struct bench){.progress = jr_progress_new(0)};
    scratch_start(&bench->scratch);
    CU_ASSERT_EQUAL(jr_progress_metric(bench->progress, "loss", 4), 0);
    CU_ASSERT_EQUAL(jr_progress_metric(bench->progress, "acc", 3), 1);
    jr_metrics_open(&bench->file, bench->scratch.fd, 0600, 0, bench->progress);
}

static void end(struct bench *bench)
{
    jr_metrics_close(&bench->file);
    jr_progress_free(bench->progress);
    scratch_end(&bench->scratch);
}

/* For the rest of the block. */
#define BENCH(name)                                                                                \
    struct bench name RELEASE(end);                                                                \
    begin(&name)

static void tell(struct bench *bench, uint32_t rank, int64_t step, uint32_t metrics)
{
    jr_metrics_add(&bench->file,
                   &(struct jr_metrics_point){.ns = 5,
                                              .wall_ns = UINT64_C(1700000000000000000),
                                              .rank = rank,
                                              .step = step,
                                              .metrics = metrics,
                                              .values = bench->values});
}

/* The lines of the file, each parsed. */
static json_t *read_lines(struct bench *bench)
{
    JR_BUF_CLEANUP struct jr_buf all = JR_BUF_INIT;
    json_t *lines = json_array();
    CU_ASSERT_EQUAL(jr_io_read_file(&all, bench->scratch.fd, "metrics.jsonl", 1 << 28, NULL), 0);
    for (size_t at = 0; at < all.len;) {
        size_t len = strcspn(all.data + at, "\n");
        json_t *line = jr_json_parse(all.data + at, len, NULL);
        CU_ASSERT_PTR_NOT_NULL(line);
        (void)json_array_append_new(lines, line);
        at += len + 1;
    }
    return lines;
}

static size_t count_with(const json_t *lines, const char *metric)
{
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(lines); i++)
        count +=
            json_object_get(json_object_get(json_array_get(lines, i), "metrics"), metric) != NULL;
    return count;
}

TEST(writes_points)
{
    JR_BUF_CLEANUP struct jr_buf all = JR_BUF_INIT;
    BENCH(bench);
    bench.values[0] = 0.25;
    bench.values[1] = (double)NAN;
    tell(&bench, 3, 7, 3);
    jr_metrics_flush(&bench.file);
    CU_ASSERT_EQUAL(jr_io_read_file(&all, bench.scratch.fd, "metrics.jsonl", 4096, NULL), 0);
    JR_ASSERT_TEXT(all.data, "{\"ns\": 5, \"time\": \"2023-11-14T22:13:20.000Z\", "
                             "\"attempt\": 0, \"rank\": 3, \"step\": 7, \"metrics\": "
                             "{\"loss\": 0.25, \"acc\": null}}\n");
}

/* Points stay even, and a metric that is rare keeps all of its own. */
TEST(stays_bounded)
{
    enum { STEPS = 250000, RARE = 1000 };
    BENCH(bench);
    for (int64_t step = 0; step < STEPS; step++) {
        tell(&bench, 0, step, 1);
        CU_ASSERT_TRUE(bench.file.points[0] <= JR_POINTS_MOST);
        if (step % RARE == 0)
            tell(&bench, 0, step, 2);
    }
    jr_metrics_flush(&bench.file);
    CU_ASSERT_EQUAL(bench.file.error, 0);
    json_t *lines = read_lines(&bench);
    CU_ASSERT_EQUAL(count_with(lines, "acc"), STEPS / RARE);
    size_t count = count_with(lines, "loss");
    CU_ASSERT_TRUE(count <= JR_POINTS_MOST && count > JR_POINTS_MOST / 2 - 1);
    json_int_t last = -1, gap = 0;
    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *line = json_array_get(lines, i);
        json_int_t step = jr_json_get_int(line, "step");
        if (json_object_get(json_object_get(line, "metrics"), "loss") == NULL)
            continue;
        if (last >= 0 && gap == 0)
            gap = step - last;
        CU_ASSERT_TRUE(last < 0 || step - last == gap);
        last = step;
    }
    CU_ASSERT_EQUAL(gap, 32);
    json_decref(lines);
}

TEST(keeps_every_rank)
{
    enum { RANKS = 100, STEPS = 500 };
    size_t counts[RANKS] = {0};
    BENCH(bench);
    for (int64_t step = 0; step < STEPS; step++)
        for (uint32_t rank = 0; rank < RANKS; rank++)
            tell(&bench, rank, step, 1);
    jr_metrics_flush(&bench.file);
    json_t *lines = read_lines(&bench);
    CU_ASSERT_TRUE(json_array_size(lines) <= JR_POINTS_MOST);
    for (size_t i = 0; i < json_array_size(lines); i++)
        counts[jr_json_get_u32(json_array_get(lines, i), "rank") % RANKS]++;
    for (uint32_t rank = 0; rank < RANKS; rank++)
        CU_ASSERT_TRUE(counts[rank] >= 30 && counts[rank] <= 200);
    json_decref(lines);
}

static size_t count_of_rank(const json_t *lines, uint32_t rank)
{
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(lines); i++)
        count += jr_json_get_u32(json_array_get(lines, i), "rank") == rank;
    return count;
}

/* Where there are too many points, a series of half the mean or more loses every second of its
 * lines: with three, that is a sixth of all. A smaller one keeps all it has, and those of another
 * metric are left alone. */
TEST(halves_large_series_only)
{
    enum { ALL = JR_POINTS_MOST + 1, LARGE = (ALL + 5) / 6, OTHER = 7000 };
    for (uint32_t less = 0; less < 2; less++) {
        const uint32_t small = LARGE - less, rest = ALL - small - 1;
        BENCH(bench);
        for (uint32_t i = 0; i < small; i++)
            tell(&bench, 1, i, 1);
        tell(&bench, 2, 0, 1);
        for (uint32_t i = 0; i < OTHER; i++)
            tell(&bench, 3, i, 2);
        for (uint32_t rank = 4; rank < 9; rank++)
            tell(&bench, rank, 0, 2);
        for (uint32_t i = 0; i < rest; i++)
            tell(&bench, 0, i, 1);
        jr_metrics_flush(&bench.file);
        json_t *lines = read_lines(&bench);
        CU_ASSERT_EQUAL(count_of_rank(lines, 0), (rest + 1) / 2);
        CU_ASSERT_EQUAL(count_of_rank(lines, 1), less ? small : (small + 1) / 2);
        CU_ASSERT_TRUE(count_of_rank(lines, 2) == 1 && count_of_rank(lines, 3) == OTHER);
        CU_ASSERT_EQUAL(count_of_rank(lines, 8), 1);
        json_decref(lines);
    }
}

TEST(goes_on_with_the_next_attempt)
{
    BENCH(bench);
    for (int64_t step = 0; step < 8000; step++)
        tell(&bench, 0, step, 1);
    jr_metrics_close(&bench.file);
    struct jr_progress *fresh = jr_progress_new(0);
    jr_progress_free(bench.progress);
    bench.progress = fresh;
    jr_metrics_open(&bench.file, bench.scratch.fd, 0600, 1, fresh);
    CU_ASSERT_EQUAL(bench.file.points[0], 8000);
    for (int64_t step = 0; step < 8000; step++)
        tell(&bench, 0, step, 1);
    jr_metrics_flush(&bench.file);
    json_t *lines = read_lines(&bench);
    size_t count = json_array_size(lines), first = 0;
    for (size_t i = 0; i < count; i++)
        first += jr_json_get_int(json_array_get(lines, i), "attempt") == 0;
    CU_ASSERT_TRUE(count <= JR_POINTS_MOST && first > 1000 && count - first > 1000);
    json_decref(lines);
}

/* Something that somebody has put in its place is not written to. */
TEST(refuses_what_is_not_its_own)
{
    static const char *const planted[] = {"link", "other"};
    for (int i = 0; i < 2; i++) {
        BENCH(bench);
        scratch_write(&bench.scratch, planted[i], "theirs");
        int made = 0;
        if (i == 0)
            made = symlinkat("link", bench.scratch.fd, "metrics.jsonl");
        else
            scratch_write(&bench.scratch, "metrics.jsonl", "theirs");
        CU_ASSERT_EQUAL(made, 0);
        tell(&bench, 0, 1, 1);
        jr_metrics_flush(&bench.file);
        CU_ASSERT_EQUAL(bench.file.error, i == 0 ? ELOOP : EEXIST);
        JR_BUF_CLEANUP struct jr_buf all = JR_BUF_INIT;
        CU_ASSERT_EQUAL(jr_io_read_file(&all, bench.scratch.fd, planted[i], 64, NULL), 0);
        JR_ASSERT_TEXT(all.data, "theirs");
        tell(&bench, 0, 2, 1); /* and nothing happens any more */
    }
}
