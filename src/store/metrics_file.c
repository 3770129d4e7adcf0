#include "store/metrics_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/num.h"

#include "base/banned.h"

#define NAME      "metrics.jsonl"
#define FLUSH_AT  (64U << 10)
#define READ_MOST (256U << 20)

struct jr_metrics_series {
    uint32_t attempt, rank, metrics;
    uint32_t lines; /* that it has in the file */
    uint64_t every; /* it gets each so-manieth of what is told */
    uint64_t seen;
    bool halved; /* while lines are dropped: */
    bool odd;    /* the next of its lines goes */
};

struct jr_metrics_line {
    uint32_t series, len;
};

static void fail_metrics(struct jr_metrics_file *file, int error)
{
    file->error = error;
    file->dir_fd = -1;
    jr_buf_clear(&file->pending);
}

/* A series by what it is, made if it is new; JR_SERIES_MOST: no room. */
static uint32_t find_series(struct jr_metrics_file *file, uint32_t attempt, uint32_t rank,
                            uint32_t metrics)
{
    const struct jr_metrics_series *all = file->series;
    uint32_t count = file->series_count;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t i = file->latest + k < count ? file->latest + k : file->latest + k - count;
        if (all[i].rank == rank && all[i].metrics == metrics && all[i].attempt == attempt)
            return file->latest = i;
    }
    if (count == JR_SERIES_MOST)
        return JR_SERIES_MOST;
    file->series[count] = (struct jr_metrics_series){
        .attempt = attempt, .rank = rank, .metrics = metrics, .every = 1};
    file->series_count++;
    return file->latest = count;
}

static bool note_line(struct jr_metrics_file *file, uint32_t series, size_t len)
{
    if (file->lines_count == file->lines_room) {
        size_t room = file->lines_room == 0 ? 256 : 2 * file->lines_room;
        struct jr_metrics_line *lines = reallocarray(file->lines, room, sizeof *lines);
        if (lines == NULL)
            return false;
        file->lines = lines;
        file->lines_room = room;
    }
    file->lines[file->lines_count++] = (struct jr_metrics_line){series, (uint32_t)len};
    file->series[series].lines++;
    return true;
}

/* The places of `points` that lines with these metrics count for. */
static uint64_t point_places(uint32_t metrics)
{
    return metrics == 0 ? UINT64_C(1) << JR_METRICS_MOST : metrics;
}

static void count_points(struct jr_metrics_file *file, uint32_t metrics)
{
    uint64_t places = point_places(metrics);
    for (uint32_t i = 0; i <= JR_METRICS_MOST; i++)
        file->points[i] += (uint32_t)(places >> i & 1);
}

/* Dropping lines. */

/* Choose the series of a metric that are large among its own. */
static void choose_halved(struct jr_metrics_file *file, uint64_t place)
{
    uint64_t lines = 0, count = 0;
    for (uint32_t i = 0; i < file->series_count; i++) {
        struct jr_metrics_series *series = &file->series[i];
        bool has = (point_places(series->metrics) & place) != 0;
        lines += has ? series->lines : 0;
        count += has;
    }
    for (uint32_t i = 0; i < file->series_count; i++) {
        struct jr_metrics_series *series = &file->series[i];
        series->halved =
            (point_places(series->metrics) & place) != 0 && 2 * count * series->lines >= lines;
        series->odd = false;
        series->every *= series->halved ? 2 : 1;
    }
}

/* Keep of `all` what is not dropped. */
static void drop_lines(struct jr_metrics_file *file, const struct jr_buf *all, struct jr_buf *kept)
{
    size_t at = 0, count = 0;
    memset(file->points, 0, sizeof file->points);
    for (uint32_t i = 0; i < file->series_count; i++)
        file->series[i].lines = 0;
    for (size_t i = 0; i < file->lines_count; i++) {
        struct jr_metrics_line line = file->lines[i];
        struct jr_metrics_series *series = &file->series[line.series];
        bool drop = series->halved && series->odd;
        series->odd = !series->odd;
        if (!drop && at + line.len <= all->len) {
            jr_buf_add(kept, all->data + at, line.len);
            series->lines++;
            count_points(file, series->metrics);
            file->lines[count++] = line;
        }
        at += line.len;
    }
    file->lines_count = count;
}

/* Drop every second line of the large series of a metric. */
static void thin_metric(struct jr_metrics_file *file, uint64_t place)
{
    JR_BUF_CLEANUP struct jr_buf all = JR_BUF_INIT, kept = JR_BUF_INIT;
    struct jr_error err = {0};
    jr_metrics_flush(file);
    if (file->dir_fd < 0)
        return;
    choose_halved(file, place);
    if (jr_io_read_file(&all, file->dir_fd, NAME, READ_MOST, &err) != 0) {
        fail_metrics(file, err.sys);
        return;
    }
    drop_lines(file, &all, &kept);
    (void)close(file->fd);
    file->fd = -1;
    if (kept.failed ||
        jr_io_replace(file->dir_fd, NAME, kept.data, kept.len, file->mode, &err) != 0)
        fail_metrics(file, kept.failed ? ENOMEM : err.sys);
    file->written = kept.len;
}

/* Writing. */

void jr_metrics_flush(struct jr_metrics_file *file)
{
    if (file->dir_fd < 0 || file->pending.len == 0)
        return;
    struct stat st;
    if (file->fd < 0) {
        JR_CLOSE int fd =
            openat(file->dir_fd, NAME,
                   O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                   file->mode);
        if (fd >= 0 && fstat(fd, &st) == 0) {
            errno = EEXIST; /* somebody's, in its place */
            if (S_ISREG(st.st_mode) && (uint64_t)st.st_size == file->written)
                file->fd = jr_steal_fd(&fd);
        }
    }
    if (file->fd < 0 || file->pending.failed ||
        jr_io_write_all(file->fd, file->pending.data, file->pending.len) != 0)
        fail_metrics(file, file->pending.failed ? ENOMEM : errno);
    jr_buf_clear(&file->pending);
}

void jr_metrics_add(struct jr_metrics_file *file, const struct jr_metrics_point *point)
{
    if (file->dir_fd < 0)
        return;
    uint32_t at = find_series(file, file->attempt, point->rank, point->metrics);
    if (at == JR_SERIES_MOST || file->series[at].seen++ % file->series[at].every != 0)
        return;
    struct jr_buf *out = &file->pending;
    size_t before = out->len;
    char time[32];
    jr_clock_rfc3339(time, point->wall_ns);
    jr_buf_printf(out,
                  "{\"ns\": %" PRIu64 ", \"time\": \"%s\", \"attempt\": %u, "
                  "\"rank\": %u, \"step\": %" PRId64 ", \"metrics\": {",
                  point->ns, time, file->attempt, point->rank, point->step);
    for (uint32_t left = point->metrics; left != 0; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(left);
        jr_buf_str(out, left == point->metrics ? "" : ", ");
        jr_json_quote(out, file->progress->names[i]);
        jr_buf_str(out, ": ");
        if (isfinite(point->values[i]))
            jr_num_add_double(out, point->values[i]);
        else
            jr_buf_str(out, "null");
    }
    jr_buf_str(out, "}}\n");
    if (!note_line(file, at, out->len - before)) {
        fail_metrics(file, ENOMEM);
        return;
    }
    count_points(file, point->metrics);
    for (uint64_t places = point_places(point->metrics); places != 0; places &= places - 1)
        while (file->points[__builtin_ctzll(places)] > JR_POINTS_MOST && file->dir_fd >= 0)
            thin_metric(file, places & -places);
    if (file->pending.len >= FLUSH_AT)
        jr_metrics_flush(file);
}

/* What earlier attempts wrote. */
static void load_metrics(struct jr_metrics_file *file)
{
    JR_BUF_CLEANUP struct jr_buf all = JR_BUF_INIT;
    struct jr_error err = {0};
    if (jr_io_read_file(&all, file->dir_fd, NAME, READ_MOST, &err) != 0) {
        if (err.sys != ENOENT)
            fail_metrics(file, err.sys);
        return;
    }
    for (size_t at = 0; at < all.len;) {
        const char *end = memchr(all.data + at, '\n', all.len - at);
        size_t len = end == NULL ? all.len - at : (size_t)(end + 1 - (all.data + at));
        json_t *line = jr_json_parse(all.data + at, len, NULL);
        struct jr_steps steps = {0};
        jr_progress_get_rank(&steps, file->progress, line);
        uint32_t i = find_series(file, jr_json_get_u32(line, "attempt"),
                                 jr_json_get_u32(line, "rank"), steps.metrics);
        json_decref(line);
        at += len;
        if (end == NULL || i == JR_SERIES_MOST || !note_line(file, i, len)) {
            fail_metrics(file, end == NULL ? EILSEQ : ENOMEM);
            return;
        }
        count_points(file, steps.metrics);
    }
    file->written = all.len;
}

void jr_metrics_open(struct jr_metrics_file *file, int dir_fd, mode_t mode, uint32_t attempt,
                     struct jr_progress *progress)
{
    *file = (struct jr_metrics_file){
        .dir_fd = dir_fd,
        .fd = -1,
        .mode = mode,
        .attempt = attempt,
        .progress = progress,
        .series = dir_fd < 0 ? NULL : calloc(JR_SERIES_MOST, sizeof *file->series)};
    if (dir_fd < 0)
        return;
    if (file->series == NULL)
        fail_metrics(file, ENOMEM);
    else if (attempt > 0)
        load_metrics(file);
}

void jr_metrics_close(struct jr_metrics_file *file)
{
    jr_metrics_flush(file);
    jr_close_fd(&file->fd);
    free(file->series);
    free(file->lines);
    jr_buf_release(&file->pending);
    *file = (struct jr_metrics_file){.dir_fd = -1, .fd = -1};
}
