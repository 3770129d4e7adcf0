#include "judge/redact_report.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/redact.h"
#include "judge/judge.h"
#include "judge/restart.h"

#include "base/banned.h"

enum { MOST_ERROR = 16 << 20, TAIL_LINES = 10 };

/* What a copy is made with. */
struct copying {
    struct jr_arena *arena;
    char *const *hidden;
};

/* The same text, or its replacement. */
static const char *redact_text(const struct copying *copying, const char *text)
{
    return jr_redact_copy(copying->arena, text, copying->hidden);
}

static json_t *redact_json(const struct copying *copying, json_t *json);

static json_t *redact_object(const struct copying *copying, json_t *json)
{
    json_t *copy = json_object(), *value;
    const char *key;
    json_object_foreach(json, key, value) {
        const char *name = redact_text(copying, key);
        if (name != NULL)
            jr_json_set(copy, name, redact_json(copying, value));
    }
    return copy;
}

static json_t *redact_array(const struct copying *copying, json_t *json)
{
    json_t *copy = json_array(), *value;
    size_t i;
    json_array_foreach(json, i, value)
        jr_json_append(copy, redact_json(copying, value));
    return copy;
}

/* No value of a secret holds U+0000, but a string may: what stands between two of them is redacted
 * as a text of its own. */
static json_t *redact_parts(const struct copying *copying, const char *text, size_t len)
{
    JR_BUF_CLEANUP struct jr_buf redacted = JR_BUF_INIT;
    for (size_t at = 0; at <= len; at += strlen(text + at) + 1) {
        const char *part = redact_text(copying, text + at);
        if (at > 0)
            jr_buf_char(&redacted, '\0');
        jr_buf_str(&redacted, part == NULL ? "" : part);
    }
    return redacted.failed ? NULL : json_stringn(redacted.data, redacted.len);
}

static json_t *redact_string(const struct copying *copying, json_t *json)
{
    const char *text = json_string_value(json);
    size_t len = json_string_length(json);
    if (strlen(text) < len)
        return redact_parts(copying, text, len);
    const char *redacted = redact_text(copying, text);
    return redacted == text ? json_incref(json) : jr_json_str(redacted);
}

/* A new reference to the value, or to its replacement. */
static json_t *redact_json(const struct copying *copying, json_t *json)
{
    if (json_is_object(json))
        return redact_object(copying, json);
    if (json_is_array(json))
        return redact_array(copying, json);
    return json_is_string(json) ? redact_string(copying, json) : json_incref(json);
}

static struct jr_rank_judgement redact_rank(const struct copying *copying,
                                            const struct jr_rank_judgement *rank)
{
    struct jr_rank_judgement copy = *rank;
    copy.reason = redact_text(copying, rank->reason);
    copy.error = redact_text(copying, rank->error);
    copy.where = redact_text(copying, rank->where);
    copy.behind = redact_text(copying, rank->behind);
    copy.result = rank->result == NULL ? NULL : redact_json(copying, rank->result);
    copy.text = json_incref(rank->text); /* it has none: see results.c */
    copy.artifacts = jr_arena_array(copying->arena, rank->artifacts_count, sizeof *copy.artifacts);
    for (size_t i = 0; i < copy.artifacts_count && copy.artifacts != NULL; i++) {
        copy.artifacts[i] = rank->artifacts[i];
        copy.artifacts[i].path = redact_text(copying, rank->artifacts[i].path);
    }
    return copy;
}

static void redact_earlier_attempts(const struct copying *copying, struct jr_judgement *ret)
{
    struct jr_attempt *copies = jr_arena_array(copying->arena, ret->earlier_count, sizeof *copies);
    for (size_t i = 0; i < ret->earlier_count && copies != NULL; i++) {
        copies[i] = ret->earlier[i];
        copies[i].cause = redact_text(copying, copies[i].cause);
    }
    ret->earlier = copies;
}

int jr_judgement_redact(struct jr_judgement *ret, const struct jr_judgement *report,
                        char *const *hidden)
{
    struct jr_arena none = JR_ARENA_INIT;
    struct jr_judgement copy = *report;
    const struct copying copying = {&copy.arena, hidden};
    copy.arena = none;
    copy.ranks = jr_arena_array(&copy.arena, copy.count, sizeof *copy.ranks);
    for (size_t i = 0; i < copy.count && copy.ranks != NULL; i++)
        copy.ranks[i] = redact_rank(&copying, &report->ranks[i]);
    copy.error = redact_text(&copying, report->error);
    copy.not_again = redact_text(&copying, report->not_again);
    if (copy.earlier_count > 0)
        redact_earlier_attempts(&copying, &copy);
    if (!copy.arena.failed) {
        *ret = copy;
        return 0;
    }
    jr_judgement_release(&copy);
    return -1;
}

/* What the worker of a rank wrote of its exception is jobrun's word, too. */
static void redact_error_file(const struct jr_plan *plan, const char *path, int run_fd)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT, redacted = JR_BUF_INIT;
    struct stat st;
    if (path == NULL || *path == '/' ||
        jr_run_file_read(&text, run_fd, path, MOST_ERROR, NULL) != 0)
        return;
    jr_buf_add(&redacted, text.data, text.len);
    jr_redact(&redacted, 0, plan->hidden, true);
    if (redacted.failed ||
        (redacted.len == text.len && memcmp(redacted.data, text.data, text.len) == 0))
        return;
    JR_CLOSE int fd = jr_open_beneath(run_fd, path, O_WRONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
        jr_io_write_all(fd, redacted.data, redacted.len) == 0)
        (void)!ftruncate(fd, (off_t)redacted.len);
}

static bool holds_secret(const struct jr_plan *plan, const char *path, int run_fd)
{
    JR_BUF_CLEANUP struct jr_buf tail = JR_BUF_INIT;
    if (path == NULL)
        return false;
    jr_run_file_tail(&tail, run_fd, path, TAIL_LINES);
    for (char *const *value = plan->hidden; tail.len > 0 && *value != NULL; value++)
        if (memmem(tail.data, tail.len, *value, strlen(*value)) != NULL)
            return true;
    return false;
}

static void note_log_secrets(struct jr_judgement *report, const struct jr_plan *plan, size_t i,
                             int run_fd)
{
    const struct jr_plan_rank *rank = jr_plan_of(plan, i);
    report->ranks[i].log_secret =
        holds_secret(plan, rank->err_path, run_fd) || holds_secret(plan, rank->out_path, run_fd);
}

void jr_judgement_hide_files(struct jr_judgement *report, const struct jr_plan *plan, int run_fd)
{
    if (plan->hidden == NULL)
        return;
    for (size_t i = 0; i < report->count; i++)
        if (report->ranks[i].error_file)
            redact_error_file(plan, jr_plan_of(plan, i)->error_path, run_fd);
    if (report->causes_count > 0)
        note_log_secrets(report, plan, report->causes[0], run_fd);
    if (report->odd_count > 0)
        note_log_secrets(report, plan, report->odd[0], run_fd);
}
