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

static json_t *metrics_json(const struct jr_progress *progress, const struct jr_steps *steps)
{
    json_t *metrics = json_object();
    for (uint32_t i = 0; i < progress->names_count; i++) {
        double value = steps->values[i];
        if ((steps->metrics >> i & 1) != 0)
            jr_json_set(metrics, progress->names[i],
                        isfinite(value) ? json_real(value) : json_null());
    }
    return metrics;
}

static void set_steps(json_t *object, const struct jr_progress *progress,
                      const struct jr_steps *steps)
{
    char time[32];
    jr_clock_rfc3339(time, steps->wall_ns);
    jr_json_set(object, "step", steps->any ? json_integer(steps->step) : json_null());
    jr_json_set(object, "best", steps->any ? json_integer(steps->best) : json_null());
    jr_json_set(object, "of", steps->of > 0 ? json_integer(steps->of) : json_null());
    jr_json_set(object, "rate",
                steps->rate > 0 && isfinite(steps->rate) ? json_real(steps->rate) : json_null());
    jr_json_set(object, "metrics", metrics_json(progress, steps));
    jr_json_set_str(object, "time", steps->any ? time : NULL);
}

/* A sentence, and how often it was so. */
static json_t *warning_json(const struct jr_step_warning *warning)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_buf_str(&text, warning->text);
    if (warning->count > 1)
        jr_buf_printf(&text, " (%u times)", warning->count);
    return jr_json_buf(&text);
}

json_t *jr_progress_json(const struct jr_progress *progress)
{
    if (!jr_progress_is_told(progress))
        return json_null();
    json_t *object = json_object(), *warnings = json_array();
    set_steps(object, progress, &progress->job);
    if (progress->all && progress->job.any) {
        json_t *slowest = json_object();
        jr_json_set_int(slowest, "rank", progress->slowest);
        jr_json_set_int(slowest, "behind", progress->behind);
        jr_json_set(object, "slowest", slowest);
    } else {
        jr_json_set_null(object, "slowest");
    }
    for (uint32_t i = 0; i < progress->warnings_count; i++)
        jr_json_append(warnings, warning_json(&progress->warnings[i]));
    jr_json_set(object, "warnings", warnings);
    return object;
}

json_t *jr_progress_rank_json(const struct jr_progress *progress, const struct jr_steps *steps)
{
    if (!steps->any)
        return json_null();
    json_t *object = json_object();
    set_steps(object, progress, steps);
    return object;
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

static void get_metrics(struct jr_steps *ret, struct jr_progress *names, json_t *metrics)
{
    const char *name;
    json_t *value;
    json_object_foreach(metrics, name, value) {
        uint32_t at = jr_progress_metric(names, name, strlen(name));
        if (at == JR_METRICS_MOST || (!json_is_number(value) && !json_is_null(value)))
            continue;
        ret->metrics |= UINT32_C(1) << at;
        ret->values[at] = json_is_null(value) ? (double)NAN : json_number_value(value);
    }
}

void jr_progress_get_rank(struct jr_steps *ret, struct jr_progress *names, const json_t *object)
{
    const char *time = jr_json_get_str(object, "time");
    ret->any = json_is_integer(json_object_get(object, "step"));
    ret->step = jr_json_get_int(object, "step");
    ret->best = jr_json_get_int(object, "best");
    ret->of = jr_json_get_int(object, "of");
    ret->rate = jr_json_get_real(object, "rate");
    if (time != NULL)
        ret->wall_ns = jr_clock_ns_of(jr_clock_of_rfc3339(time));
    get_metrics(ret, names, json_object_get(object, "metrics"));
}

void jr_progress_get(struct jr_progress *ret, const json_t *object)
{
    const json_t *slowest = json_object_get(object, "slowest");
    const json_t *warnings = json_object_get(object, "warnings");
    jr_progress_get_rank(&ret->job, ret, object);
    ret->all = json_is_object(slowest);
    ret->slowest = jr_json_get_u32(slowest, "rank");
    ret->behind = jr_json_get_int(slowest, "behind");
    for (size_t i = 0; i < json_array_size(warnings) && ret->warnings_count < JR_STEP_WARNINGS;
         i++) {
        const char *text = json_string_value(json_array_get(warnings, i));
        struct jr_step_warning *warning = &ret->warnings[ret->warnings_count];
        if (text == NULL)
            continue;
        (void)snprintf(warning->text, sizeof warning->text, "%s", text);
        warning->count = 1;
        ret->warnings_count++;
    }
}
