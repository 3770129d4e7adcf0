#include "store/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/utf8.h"

#include "base/banned.h"

static size_t progress_size(uint32_t count)
{
    return sizeof(struct jr_progress) + (size_t)count * sizeof(struct jr_steps);
}

struct jr_progress *jr_progress_new(uint32_t count)
{
    struct jr_progress *progress = mmap(NULL, progress_size(count), PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (progress == MAP_FAILED)
        return NULL;
    progress->count = count;
    return progress;
}

void jr_progress_free(struct jr_progress *progress)
{
    if (progress != NULL)
        (void)munmap(progress, progress_size(progress->count));
}

struct jr_progress *jr_progress_copy(const struct jr_progress *progress)
{
    struct jr_progress *copy = progress == NULL ? NULL : jr_progress_new(progress->count);
    if (copy == NULL)
        return NULL;
    size_t size = progress_size(progress->all ? progress->count : 0);
    return memcpy(copy, progress, size);
}

bool jr_progress_is_told(const struct jr_progress *progress)
{
    return progress != NULL && (progress->job.any || progress->warnings_count > 0);
}

bool jr_steps_left(const struct jr_steps *steps, uint64_t *ret_ns)
{
    if (!steps->any || steps->of <= 0 || steps->rate <= 0)
        return false;
    double left = (double)(steps->of - steps->step) / steps->rate;
    if (!(left < 1e9))
        return false;
    *ret_ns = left <= 0 ? 0 : (uint64_t)(left * 1e9);
    return true;
}

/* Control bytes would reach terminals and pages by way of a name. */
static bool copy_metric_name(char ret[static JR_METRIC_NAME], const char *name, size_t len)
{
    if (len == 0 || len >= JR_METRIC_NAME)
        return false;
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)name[i] < ' ' || name[i] == 0x7f)
            return false;
    (void)stpcpy(mempcpy(ret, name, len), "");
    return jr_utf8_is_text(ret);
}

uint32_t jr_progress_metric(struct jr_progress *progress, const char *name, size_t len)
{
    for (uint32_t i = 0; i < progress->names_count; i++)
        if (strncmp(progress->names[i], name, len) == 0 && progress->names[i][len] == '\0')
            return i;
    uint32_t at = progress->names_count;
    if (at == JR_METRICS_MOST || !copy_metric_name(progress->names[at], name, len))
        return JR_METRICS_MOST;
    progress->names_count++;
    return at;
}

static void put_metrics(struct jr_buf *out, const struct jr_json_row *row, const void *const *from)
{
    const struct jr_steps *steps = from[0];
    const struct jr_progress *progress = from[1];
    json_auto_t *metrics = json_object();
    for (uint32_t i = 0; i < progress->names_count; i++) {
        double value = steps->values[i];
        if ((steps->metrics >> i & 1) != 0)
            jr_json_set(metrics, progress->names[i],
                        isfinite(value) ? json_real(value) : json_null());
    }
    jr_json_key(out, row->key);
    jr_json_print(out, metrics, 0);
}

static void get_metrics(void *const *to, const struct jr_json_row *row, const json_t *metrics)
{
    struct jr_steps *steps = to[0];
    const char *name;
    json_t *value;
    (void)row;
    json_object_foreach((json_t *)metrics, name, value) {
        uint32_t at = jr_progress_metric(to[1], name, strlen(name));
        if (at == JR_METRICS_MOST || (!json_is_number(value) && !json_is_null(value)))
            continue;
        steps->metrics |= UINT32_C(1) << at;
        steps->values[at] = json_is_null(value) ? (double)NAN : json_number_value(value);
    }
}

static void put_time(struct jr_buf *out, const struct jr_json_row *row, const void *const *from)
{
    const struct jr_steps *steps = from[0];
    char time[32];
    jr_clock_rfc3339(time, steps->wall_ns);
    jr_json_put_str(out, row->key, steps->any ? time : NULL);
}

static void get_time(void *const *to, const struct jr_json_row *row, const json_t *value)
{
    struct jr_steps *steps = to[0];
    (void)row;
    if (json_is_string(value))
        steps->wall_ns = jr_clock_ns_of(jr_clock_of_rfc3339(json_string_value(value)));
}

static void put_slowest(struct jr_buf *out, const struct jr_json_row *row, const void *const *from)
{
    const struct jr_progress *progress = from[1];
    jr_json_key(out, row->key);
    if (progress->all && progress->job.any)
        jr_buf_printf(out, "{\"rank\": %u, \"behind\": %" PRId64 "}", progress->slowest,
                      progress->behind);
    else
        jr_buf_str(out, "null");
}

static void get_slowest(void *const *to, const struct jr_json_row *row, const json_t *value)
{
    struct jr_progress *progress = to[1];
    (void)row;
    progress->all = json_is_object(value);
    progress->slowest = jr_json_get_u32(value, "rank");
    progress->behind = jr_json_get_int(value, "behind");
}

/* Sentences, and how often each was so. */
static void put_warnings(struct jr_buf *out, const struct jr_json_row *row, const void *const *from)
{
    const struct jr_progress *progress = from[1];
    jr_json_key(out, row->key);
    jr_buf_char(out, '[');
    for (uint32_t i = 0; i < progress->warnings_count; i++) {
        const struct jr_step_warning *warning = &progress->warnings[i];
        JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
        jr_buf_str(&text, warning->text);
        if (warning->count > 1)
            jr_buf_printf(&text, " (%u times)", warning->count);
        jr_buf_str(out, i == 0 ? "" : ", ");
        jr_json_quote(out, text.data == NULL ? "" : text.data);
        out->failed |= text.failed;
    }
    jr_buf_char(out, ']');
}

static void get_warnings(void *const *to, const struct jr_json_row *row, const json_t *value)
{
    struct jr_progress *ret = to[1];
    (void)row;
    for (size_t i = 0; i < json_array_size(value) && ret->warnings_count < JR_STEP_WARNINGS; i++) {
        const char *text = json_string_value(json_array_get(value, i));
        struct jr_step_warning *warning = &ret->warnings[ret->warnings_count];
        if (text == NULL)
            continue;
        (void)snprintf(warning->text, sizeof warning->text, "%s", text);
        warning->count = 1;
        ret->warnings_count++;
    }
}

#define STEPS(kind, member) JR_AT(struct jr_steps, kind, member)

const struct jr_json_row jr_progress_rows[JR_PROGRESS_ROWS] = {
    {"step", NULL, STEPS(I64, step), JR_TOLD_BY(struct jr_steps, any)},
    {"best", "The furthest step of the attempt.", STEPS(I64, best),
     JR_TOLD_BY(struct jr_steps, any)},
    {"of", NULL, STEPS(I64, of), .none = JR_NONE_ZERO},
    {"rate", "Steps a second, of late.", STEPS(REAL, rate), .none = JR_NONE_ZERO},
    {"metrics", "null: infinite, or not a number.", .put = put_metrics, .get = get_metrics,
     .shape.text = "{\"type\": \"object\", \"additionalProperties\": {\"type\": [\"number\", "
                   "\"null\"]}}"},
    {"time", "Of the step.", .put = put_time, .get = get_time, .shape.text = JR_SHAPE_TEXT,
     .shape.null = true},
    {"slowest", .put = put_slowest, .get = get_slowest,
     .shape.text =
         "{\"type\": [\"object\", \"null\"], \"description\": \"With several ranks, the "
         "one that is the furthest behind.\", \"required\": [\"rank\", \"behind\"], "
         "\"properties\": {\"rank\": " JR_SHAPE_COUNT ", \"behind\": " JR_SHAPE_COUNT "}}"},
    {"warnings", .put = put_warnings, .get = get_warnings, .shape.text = JR_SHAPE_TEXTS},
};

json_t *jr_progress_json(const struct jr_progress *progress)
{
    if (!jr_progress_is_told(progress))
        return json_null();
    return jr_json_rows_object(jr_progress_rows, JR_PROGRESS_ROWS,
                               (const void *[]){&progress->job, progress});
}

json_t *jr_progress_rank_json(const struct jr_progress *progress, const struct jr_steps *steps)
{
    if (!steps->any)
        return json_null();
    return jr_json_rows_object(jr_progress_rows, JR_STEPS_ROWS, (const void *[]){steps, progress});
}

void jr_steps_short(struct jr_buf *out, const struct jr_steps *steps)
{
    if (!steps->any)
        jr_buf_char(out, '-');
    else
        jr_buf_printf(out, "%" PRId64, steps->step);
    if (steps->any && steps->of > 0)
        jr_buf_printf(out, "/%" PRId64, steps->of);
}

static void add_metrics(struct jr_buf *out, const struct jr_progress *progress)
{
    const struct jr_steps *job = &progress->job;
    for (uint32_t i = 0; i < progress->names_count; i++) {
        if ((job->metrics >> i & 1) == 0)
            continue;
        jr_buf_str(out, ", ");
        jr_buf_safe(out, progress->names[i]);
        jr_buf_printf(out, " %.4g", job->values[i]);
    }
}

void jr_progress_words(struct jr_buf *out, const struct jr_progress *progress, bool metrics,
                       bool ended)
{
    const struct jr_steps *job = &progress->job;
    uint64_t left_ns = 0;
    if (!job->any)
        return;
    jr_buf_printf(out, "step %" PRId64, job->step);
    if (job->of > 0)
        jr_buf_printf(out, " of %" PRId64, job->of);
    if (job->rate > 0)
        jr_buf_printf(out, ", %.3g a second", job->rate);
    if (!ended && jr_steps_left(job, &left_ns)) {
        jr_buf_str(out, ", ");
        jr_clock_human(out, left_ns);
        jr_buf_str(out, " left");
    }
    if (metrics)
        add_metrics(out, progress);
    if (progress->all && progress->behind > 0)
        jr_buf_printf(out, "; rank %u is %" PRId64 " behind", progress->slowest, progress->behind);
}

void jr_progress_get_rank(struct jr_steps *ret, struct jr_progress *names, const json_t *object)
{
    jr_json_rows_get(jr_progress_rows, JR_STEPS_ROWS, (void *[]){ret, names}, NULL, object);
}

void jr_progress_get(struct jr_progress *ret, const json_t *object)
{
    jr_json_rows_get(jr_progress_rows, JR_PROGRESS_ROWS, (void *[]){&ret->job, ret}, NULL, object);
}
