#include "judge/pattern.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/num.h"
#include "base/utf8.h"
#include "judge/judge.h"
#include "judge/log_scan.h"
#include "judge/read_left.h"
#include "judge/results.h"
#include "output/log_file.h"
#include "output/log_gap.h"

#include "base/banned.h"

enum { QUOTE_MAX = 60 };

/* The text that a group matched: `len` bytes, without the NUL after them. */
struct caught {
    const char *text;
    size_t len;
};

/* Text that a C string cannot hold is neither a number nor a word. */
static bool is_text_plain(const struct caught *caught)
{
    return strlen(caught->text) == caught->len;
}

static json_t *integer_from_text(const struct caught *caught)
{
    int64_t value = 0;
    return is_text_plain(caught) && jr_num_i64(caught->text, &value)
               ? json_integer(value)
               : NULL;
}

static json_t *number_from_text(const struct caught *caught)
{
    double value = 0;
    json_t *whole = integer_from_text(caught);
    if (whole != NULL)
        return whole;
    return is_text_plain(caught) && jr_num_double(caught->text, &value)
               ? json_real(value)
               : NULL;
}

static json_t *string_from_text(const struct caught *caught)
{
    return json_stringn(caught->text, caught->len);
}

static json_t *boolean_from_text(const struct caught *caught)
{
    if (!is_text_plain(caught))
        return NULL;
    if (strcmp(caught->text, "true") == 0)
        return json_true();
    return strcmp(caught->text, "false") == 0 ? json_false() : NULL;
}

static json_t *json_from_text(const struct caught *caught)
{
    return jr_json_parse(caught->text, caught->len, NULL);
}

struct conversion {
    json_t *(*read)(const struct caught *caught);
    const char *noun;
};

static const struct conversion conversions[] = {
    [JR_JSON_INTEGER] = {integer_from_text, "an integer"},
    [JR_JSON_NUMBER] = {number_from_text, "a number"},
    [JR_JSON_STRING] = {string_from_text, "text"},
    [JR_JSON_BOOLEAN] = {boolean_from_text, "true or false"},
    [JR_JSON_ARRAY] = {json_from_text, "a JSON array"},
    [JR_JSON_OBJECT] = {json_from_text, "a JSON object"},
};

static enum jr_json_type field_type(const struct jr_results *wants,
                                    const char *name)
{
    for (uint32_t f = 0; f < wants->fields_count; f++)
        if (strcmp(wants->fields[f].name, name) == 0)
            return wants->fields[f].type;
    return JR_JSON_STRING;
}

/* Set the field `name` from what was caught; false with the fault noted. */
static bool convert_caught(struct jr_judge *judge, size_t i, json_t *object,
                           const char *name, const struct caught *caught)
{
    enum jr_json_type type = field_type(judge->wants, name);
    json_t *value = conversions[type].read(caught);
    if (value != NULL)
        return json_object_set_new(object, name, value) == 0;
    JR_BUF_CLEANUP struct jr_buf shown = JR_BUF_INIT;
    jr_buf_escaped(&shown, caught->text,
                   jr_utf8_cut(caught->text, caught->len, QUOTE_MAX));
    jr_judge_fault(judge, i, JR_RESULT_FIELD, "%s: '%s' is '%s', not %s",
                   jr_result_source(judge, i), name,
                   shown.data == NULL ? "" : shown.data,
                   conversions[type].noun);
    return false;
}

static json_t *object_from_match(struct jr_judge *judge, size_t i,
                                 const struct jr_scan *scan)
{
    json_t *object = json_object();
    bool good = object != NULL;
    for (size_t g = 0; good && g < jr_regex_group_count(scan->regex); g++) {
        const struct jr_scan_group *group = &scan->groups[g];
        const struct caught caught = {scan->text.data + group->start,
                                      group->len};
        if (group->there)
            good = convert_caught(judge, i, object,
                                  jr_regex_group_name(scan->regex, g), &caught);
    }
    if (good)
        return object;
    json_decref(object);
    return NULL;
}

/* A log, and where the rank's own part of it ends. */
struct log {
    const char *name;
    int fd;
    uint64_t end; /* UINT64_MAX: where the file ends */
    bool late;    /* something after that matches */
    bool shortened;
};

/* Behind what was there when the rank ended, whatever it started is no longer
 * the rank; what is there must not be less. */
static void find_end(const struct jr_judge *judge, size_t i, struct log *log)
{
    const struct jr_rank_outcome *rank = &judge->outcome->ranks[i];
    const char *text = judge->plan->policy->log_limit;
    uint64_t limit = 0;
    struct stat st;
    log->end = UINT64_MAX;
    if (!rank->pinned)
        return;
    if (text != NULL)
        (void)jr_num_size(text, &limit);
    log->end = jr_log_gap_place(log->fd, limit, rank->captured);
    if (!rank->log_failed && fstat(log->fd, &st) == 0)
        log->shortened = (uint64_t)st.st_size < log->end;
}

static void look_for_late_match(const struct jr_judge *judge, struct log *log)
{
    struct jr_scan scan;
    struct stat st;
    if (log->end == UINT64_MAX || fstat(log->fd, &st) != 0 ||
        (uint64_t)st.st_size <= log->end)
        return;
    log->late = jr_scan_run(&scan, judge->pattern, log->fd, log->end,
                            UINT64_MAX) == 0 &&
                scan.found;
    jr_scan_release(&scan);
}

static void report_no_match(struct jr_judge *judge, size_t i,
                            const struct log *log, const struct jr_scan *scan)
{
    const char *more = "";
    if (scan->limited > 0)
        more = " within the match limit";
    if (log->late)
        more = "; a match came only after the rank had ended, from a process "
               "that it had started, and does not count";
    if (jr_judge_required(judge, i))
        jr_judge_fault(judge, i, JR_RESULT_MISSING,
                       "nothing in %s matches '%s'%s", log->name,
                       judge->wants->pattern, more);
}

static json_t *judge_match(struct jr_judge *judge, size_t i, struct log *log,
                           const struct jr_scan *scan)
{
    struct jr_rank_judgement *report = &judge->report->ranks[i];
    look_for_late_match(judge, log);
    report->pattern_limits = scan->limited;
    if (log->shortened)
        jr_judge_fault(judge, i, JR_RESULT_CHANGED,
                       "%s was shortened after the rank had ended", log->name);
    else if (scan->given_up)
        jr_judge_fault(judge, i, JR_RESULT_MISSING,
                       "'%s' takes too many steps for more than %" PRIu32
                       " lines of %s",
                       judge->wants->pattern, scan->limited - 1, log->name);
    else if (!scan->found)
        report_no_match(judge, i, log, scan);
    else {
        report->late_match = log->late;
        return object_from_match(judge, i, scan);
    }
    return NULL;
}

json_t *jr_pattern_find(struct jr_judge *judge, size_t i, const char *path)
{
    struct log log = {.name = jr_result_name(path)};
    struct jr_error err = {0};
    JR_CLOSE int fd = jr_read_left_open(judge->run_fd, path, &err);
    if (fd < 0) {
        if (jr_judge_required(judge, i))
            jr_judge_fault(judge, i, JR_RESULT_MISSING, "%s: %s", log.name,
                           err.text);
        return NULL;
    }
    log.fd = fd;
    find_end(judge, i, &log);
    struct jr_scan scan;
    json_t *result = NULL;
    if (jr_scan_run(&scan, judge->pattern, fd, 0, log.end) == 0)
        result = judge_match(judge, i, &log, &scan);
    else
        jr_judge_fault(judge, i, JR_RESULT_MISSING, "%s could not be read",
                       log.name);
    jr_scan_release(&scan);
    return result;
}

bool jr_pattern_holds(const char *pattern, int run_fd, const char *path)
{
    JR_CLOSE int fd = path == NULL ? -1 : jr_read_left_open(run_fd, path, NULL);
    struct jr_regex *regex = fd < 0 ? NULL : jr_judge_regex(pattern, NULL);
    struct jr_scan scan;
    if (regex == NULL)
        return false;
    bool found =
        jr_scan_run(&scan, regex, fd, 0, UINT64_MAX) == 0 && scan.found;
    jr_scan_release(&scan);
    jr_regex_free(regex);
    return found;
}
