#include "judge/judge.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/num.h"
#include "judge/internal.h"

#include "base/banned.h"

static const uint64_t DEFAULT_LIMIT = UINT64_C(256) << 20;

/* One field's pattern and allowed values. */
static int init_field(struct jr_judge *judge, uint32_t f, struct jr_error *err)
{
    const struct jr_result_field *field = &judge->wants->fields[f];
    size_t offset = 0;
    if (field->pattern != NULL &&
        jr_regex_new(&judge->field_pattern[f], field->pattern, &offset, err) != 0)
        return jr_error_wrap(err, "pattern of field '%s'", field->name);
    if (field->enums_count == 0)
        return 0;
    judge->field_enums[f] = json_array();
    for (uint32_t n = 0; n < field->enums_count; n++) {
        const char *text = field->enums[n];
        json_t *value = jr_json_parse(text, strlen(text), err);
        if (json_array_append_new(judge->field_enums[f], value) != 0)
            return jr_error_wrap(err, "enum of field '%s'", field->name);
    }
    return 0;
}

struct jr_regex *jr_judge_regex(const char *pattern, struct jr_error *err)
{
    const char *head = strncmp(pattern, "(*", 2) == 0 ? "" : "(*ANYCRLF)(?m)";
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_regex *regex = NULL;
    size_t offset = 0;
    jr_buf_printf(&text, "%s%s", head, pattern);
    if (text.failed)
        (void)jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    else
        (void)jr_regex_new(&regex, text.data, &offset, err);
    return regex;
}

void jr_judge_see(struct jr_judge *judge, size_t i, const char *artifact, const struct stat *st)
{
    struct jr_seen *seen =
        jr_arena_push(&judge->report->arena, &judge->seen, &judge->seen_count, sizeof *seen);
    if (seen != NULL)
        *seen = (struct jr_seen){st->st_dev, st->st_ino, i, artifact};
}

int jr_judge_init(struct jr_judge *judge, struct jr_error *err)
{
    struct jr_arena *arena = &judge->report->arena;
    uint32_t fields = judge->wants->fields_count;
    const char *required = judge->wants->required, *bad = NULL;
    judge->field_pattern = jr_arena_array(arena, fields, sizeof(struct jr_regex *));
    judge->field_enums = jr_arena_array(arena, fields, sizeof(json_t *));
    judge->limit_text = judge->wants->limit;
    /* A run of the past states no limit, and is not read again. */
    if (judge->limit_text == NULL || !jr_num_size(judge->limit_text, &judge->limit)) {
        judge->limit = DEFAULT_LIMIT;
        judge->limit_text = "256MiB";
    }
    if (judge->field_pattern == NULL || judge->field_enums == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    if (!jr_set_parse(&judge->required, arena, required == NULL ? "all" : required, &bad))
        return jr_error_set(err, JR_STATUS_INVALID, "results.required: '%s' is no rank set",
                            required);
    for (uint32_t f = 0; f < fields; f++)
        if (init_field(judge, f, err) != 0)
            return -1;
    if (judge->wants->pattern == NULL)
        return 0;
    judge->pattern = jr_judge_regex(judge->wants->pattern, err);
    return judge->pattern != NULL ? 0 : jr_error_wrap(err, "results.pattern");
}

void jr_judge_release(struct jr_judge *judge)
{
    jr_regex_free(judge->pattern);
    for (uint32_t f = 0; f < judge->wants->fields_count; f++) {
        if (judge->field_pattern != NULL)
            jr_regex_free(judge->field_pattern[f]);
        if (judge->field_enums != NULL)
            json_decref(judge->field_enums[f]);
    }
}

bool jr_judge_required(const struct jr_judge *judge, size_t i)
{
    return judge->wants->stated && jr_set_has(&judge->required, jr_plan_of(judge->plan, i)->rank);
}

bool jr_judge_yielded(const struct jr_judge *judge, size_t i)
{
    enum jr_result_error error = judge->report->ranks[i].result_error;
    return (judge->outcome->ranks[i].warned_with != 0 || judge->outcome->preempted) &&
           (error == JR_RESULT_MISSING || error == JR_RESULT_EMPTY || error == JR_RESULT_STALE);
}

void jr_judge_fault(struct jr_judge *judge, size_t i, enum jr_result_error error,
                    const char *format, ...)
{
    struct jr_rank_judgement *rank = &judge->report->ranks[i];
    if (!judge->wants->stated || rank->result_error != JR_RESULT_NONE)
        return;
    char text[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    rank->result_error = error;
    rank->differs = judge->comparing;
    rank->reason = jr_arena_strdup(&judge->report->arena, text);
}

/* O_NONBLOCK: a FIFO in the place of a result must not hold the run. */
static const int FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

/* Open it for reading, and look at what it is. */
static int open_run_file(int run_fd, const char *path, struct stat *ret, struct jr_error *err)
{
    JR_CLOSE int fd =
        path[0] == '/' ? open(path, FLAGS | O_NOFOLLOW) : jr_open_beneath(run_fd, path, FLAGS, 0);
    if (fd < 0)
        return jr_error_sys(err, JR_STATUS_INCOMPLETE, "could not be opened");
    if (fstat(fd, ret) != 0)
        return jr_error_sys(err, JR_STATUS_INCOMPLETE, "could not be read");
    if (!S_ISREG(ret->st_mode))
        return jr_error_set(err, JR_STATUS_INCOMPLETE, "not a regular file");
    return jr_steal_fd(&fd);
}

int jr_run_file_open(int run_fd, const char *path, struct jr_error *err)
{
    struct stat st;
    return open_run_file(run_fd, path, &st, err);
}

int jr_run_file_read(struct jr_buf *ret, int run_fd, const char *path, size_t limit,
                     struct jr_error *err)
{
    struct stat st;
    JR_CLOSE int fd = open_run_file(run_fd, path, &st, err);
    if (fd < 0)
        return -1;
    if ((uint64_t)st.st_size > limit)
        return jr_io_too_large(limit, err);
    return jr_io_read_fd(ret, fd, limit, err);
}

void jr_run_file_tail(struct jr_buf *ret, int run_fd, const char *path, unsigned lines)
{
    enum { WINDOW = 16 * 1024 };
    JR_CLOSE int fd = path[0] == '/' ? -1 : jr_run_file_open(run_fd, path, NULL);
    off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    if (size <= 0)
        return;
    char window[WINDOW];
    off_t from = size > WINDOW ? size - WINDOW : 0;
    ssize_t got = pread(fd, window, sizeof window, from);
    if (got <= 0)
        return;
    size_t len = (size_t)got, start;
    if (window[len - 1] == '\n')
        len--;
    for (start = len; start > 0; start--)
        if (window[start - 1] == '\n' && lines-- <= 1)
            break;
    jr_buf_add(ret, window + start, len - start);
}
