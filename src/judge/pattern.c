/* Results and marks that stand in logs, found by a pattern: see internal.h. */
#include "judge/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/num.h"
#include "base/utf8.h"
#include "judge/result_checks.h"
#include "output/log_file.h"
#include "run/policies/pin_results.h"

#include "base/banned.h"

/*
 * Searching a log for the last match: one pass with a window that slides over the file, so that
 * memory is bounded. A match may be 64 KiB long; `^` and `$` match at lines.
 *
 * Where a match takes more steps than a pattern is given, the rest of the window is searched line
 * by line: the lines that are to blame are left out and counted, and a match on another line is
 * still found. What spans several lines is not found there.
 */

enum {
    CHUNK = 1 << 20,   /* read at a time */
    OVERLAP = 1 << 16, /* the longest match that is sure to be found */
    CONTEXT = 256,     /* what ^ and a lookbehind see before the search */
    MOST_LIMITED = 10000
};

/* A part of the file. */
struct log_window {
    int fd;
    uint64_t at, end; /* where the next read begins, and before what it ends */
    size_t len;
    size_t from; /* where in the window the search goes on */
    bool by_line;
    bool eof;
    char data[CHUNK + OVERLAP + CONTEXT];
};

/* A group of the last match: `len` bytes of `text`, followed by a NUL. */
struct log_group {
    bool there;
    size_t start, len;
};

struct log_scan {
    struct jr_regex *regex; /* borrowed */
    bool found;
    uint64_t at;      /* where in the file the last match begins */
    bool given_up;    /* too many lines took too many steps */
    uint32_t limited; /* lines that did */
    struct log_group *groups;
    struct jr_buf text;
    struct log_window *window;
};

/* Remember the match that was just found at `start` in the window, instead of the one before it. */
static void take_match(struct log_scan *scan, size_t start)
{
    const struct log_window *window = scan->window;
    scan->found = true;
    scan->at = window->at - window->len + start;
    jr_buf_clear(&scan->text);
    for (size_t g = 0; g < jr_regex_group_count(scan->regex); g++) {
        struct jr_match part = {0};
        bool there = jr_regex_group(scan->regex, g, &part);
        size_t len = there ? part.end - part.start : 0;
        scan->groups[g] = (struct log_group){there, scan->text.len, len};
        jr_buf_add(&scan->text, window->data + part.start, len);
        jr_buf_char(&scan->text, '\0');
    }
}

/* Nothing was found before `end`. Returns whether to continue in this window.
 */
static bool pass_window_part(struct log_scan *scan, size_t end, bool limited)
{
    struct log_window *window = scan->window;
    if (!window->by_line) {
        window->by_line = limited;
        return limited;
    }
    bool whole = window->eof || window->data[end - 1] == '\n';
    if (!whole) {
        scan->limited += limited && window->len - window->from > OVERLAP;
        return false;
    }
    scan->limited += limited;
    scan->given_up = scan->limited >= MOST_LIMITED;
    bool more = end > window->from && end < window->len;
    window->from = end;
    return more && !scan->given_up;
}

/* Take every match of the window and return where the next one has to begin. A match at the very
 * end might go on in the bytes to come ($ and greedy repeats), so it is left for the next
 * window. */
static size_t search_window(struct log_scan *scan)
{
    struct log_window *window = scan->window;
    struct jr_match match;
    window->by_line = false;
    while (window->from <= window->len) {
        const char *newline = memchr(window->data + window->from, '\n', window->len - window->from);
        size_t end = window->len;
        if (window->by_line && newline != NULL)
            end = (size_t)(newline + 1 - window->data);
        bool limited = false;
        if (!jr_regex_find(scan->regex, window->data, end, window->from, &match, &limited)) {
            if (!pass_window_part(scan, end, limited))
                break;
            continue;
        }
        bool at_end = match.end + 1 >= window->len;
        if (!window->eof && at_end && window->len - match.start <= OVERLAP)
            return match.start;
        take_match(scan, match.start);
        size_t next = match.end > match.start ? match.end : match.end + 1;
        window->from = next > window->from ? next : window->from + 1;
    }
    size_t tail = window->len > OVERLAP ? window->len - OVERLAP : 0;
    return window->from > tail ? window->from : tail;
}

static int fill_window(struct log_window *window)
{
    size_t room = sizeof window->data - window->len;
    uint64_t left = window->end - window->at;
    ssize_t got = 0;
    do
        got = pread(window->fd, window->data + window->len, left < room ? (size_t)left : room,
                    (off_t)window->at);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return -1;
    window->len += (size_t)got;
    window->at += (uint64_t)got;
    window->eof = got == 0;
    return 0;
}

/* Search the bytes of `fd` from `from` to before `end`, or to the end of the
 * file. -1 where it cannot be read, or if memory runs out. Release in any case.
 */
static int scan_log(struct log_scan *scan, struct jr_regex *regex, int fd, uint64_t from,
                    uint64_t end)
{
    *scan = (struct log_scan){.regex = regex};
    scan->groups = calloc(jr_regex_group_count(regex) + 1, sizeof *scan->groups);
    struct log_window *window = scan->window = malloc(sizeof *window);
    if (window == NULL || scan->groups == NULL)
        return -1;
    window->fd = fd;
    window->at = from;
    window->end = end;
    window->len = window->from = 0;
    window->eof = false;
    while (!window->eof && !scan->given_up) {
        if (fill_window(window) != 0)
            return -1;
        /* Move it on, so that it begins CONTEXT before where the next match may. */
        size_t next = search_window(scan);
        next = next < window->len ? next : window->len;
        size_t cut = next > CONTEXT ? next - CONTEXT : 0;
        memmove(window->data, window->data + cut, window->len - cut);
        window->len -= cut;
        window->from = next - cut;
    }
    return scan->text.failed ? -1 : 0;
}

static void release_log_scan(struct log_scan *scan)
{
    jr_buf_release(&scan->text);
    free(scan->groups);
    free(scan->window);
    *scan = (struct log_scan){0};
}

/* What a match is worth: the result of a rank. */

enum { QUOTE_MAX = 60 };

static const char *const type_nouns[] = {
    [JR_JSON_INTEGER] = "an integer", [JR_JSON_NUMBER] = "a number",
    [JR_JSON_STRING] = "text",        [JR_JSON_BOOLEAN] = "true or false",
    [JR_JSON_ARRAY] = "a JSON array", [JR_JSON_OBJECT] = "a JSON object",
};

/* The value of that type that a group matched: `len` bytes, and a NUL after them. Text that a C
 * string cannot hold is neither a number nor a word. NULL: it is none. */
static json_t *value_from_text(enum jr_json_type type, const char *text, size_t len)
{
    bool plain = strlen(text) == len;
    int64_t whole = 0;
    double real = 0;
    switch (type) {
    case JR_JSON_NUMBER:
    case JR_JSON_INTEGER:
        if (plain && jr_num_i64(text, &whole))
            return json_integer(whole);
        return plain && type == JR_JSON_NUMBER && jr_num_double(text, &real) ? json_real(real)
                                                                             : NULL;
    case JR_JSON_STRING:
        return json_stringn(text, len);
    case JR_JSON_BOOLEAN:
        if (plain && strcmp(text, "true") == 0)
            return json_true();
        return plain && strcmp(text, "false") == 0 ? json_false() : NULL;
    case JR_JSON_ARRAY:
    case JR_JSON_OBJECT:
        break;
    }
    return jr_json_parse(text, len, NULL);
}

/* Set the field `name` from what was caught; false with the fault noted. */
static bool convert_caught(struct jr_judge *judge, size_t i, json_t *object, const char *name,
                           const char *text, size_t len)
{
    const struct jr_results *wants = judge->wants;
    enum jr_json_type type = JR_JSON_STRING;
    for (uint32_t f = 0; f < wants->fields_count; f++)
        if (strcmp(wants->fields[f].name, name) == 0)
            type = wants->fields[f].type;
    json_t *value = value_from_text(type, text, len);
    if (value != NULL)
        return json_object_set_new(object, name, value) == 0;
    JR_BUF_CLEANUP struct jr_buf shown = JR_BUF_INIT;
    jr_buf_escaped(&shown, text, jr_utf8_cut(text, len, QUOTE_MAX));
    jr_judge_fault(judge, i, JR_RESULT_FIELD, "%s: '%s' is '%s', not %s",
                   jr_result_source(judge, i), name, shown.data == NULL ? "" : shown.data,
                   type_nouns[type]);
    return false;
}

static json_t *object_from_match(struct jr_judge *judge, size_t i, const struct log_scan *scan)
{
    json_t *object = json_object();
    bool good = object != NULL;
    for (size_t g = 0; good && g < jr_regex_group_count(scan->regex); g++) {
        const struct log_group *group = &scan->groups[g];
        if (group->there)
            good = convert_caught(judge, i, object, jr_regex_group_name(scan->regex, g),
                                  scan->text.data + group->start, group->len);
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
    bool rewritten;        /* what the rank had written is not what it was */
    struct jr_log_gap gap; /* in the rank's own part; all zeros: none */
};

/* Behind what was there when the rank ended, whatever it started is no longer the rank; what is
 * there must not be less. */
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
    if (rank->log_errno == 0 && fstat(log->fd, &st) == 0)
        log->shortened = (uint64_t)st.st_size < log->end;
    log->rewritten =
        rank->result.digest != 0 && jr_pin_log(log->fd, rank->captured) != rank->result.digest;
}

static void report_no_match(struct jr_judge *judge, size_t i, const struct log *log,
                            const struct log_scan *scan)
{
    const char *more = "";
    if (scan->limited > 0)
        more = " within the match limit";
    if (log->late)
        more = "; a match came only after the rank had ended, from a process "
               "that it had started, and does not count";
    if (jr_judge_required(judge, i))
        jr_judge_fault(judge, i, JR_RESULT_MISSING, "nothing in %s matches '%s'%s", log->name,
                       judge->wants->pattern, more);
}

static json_t *judge_match(struct jr_judge *judge, size_t i, struct log *log,
                           const struct log_scan *scan)
{
    struct jr_rank_judgement *report = &judge->report->ranks[i];
    struct log_scan late;
    struct stat st;
    if (log->end != UINT64_MAX && fstat(log->fd, &st) == 0 && (uint64_t)st.st_size > log->end) {
        log->late =
            scan_log(&late, judge->pattern, log->fd, log->end, UINT64_MAX) == 0 && late.found;
        release_log_scan(&late);
    }
    report->pattern_limits = scan->limited;
    if (log->shortened)
        jr_judge_fault(judge, i, JR_RESULT_CHANGED, "%s was shortened after the rank had ended",
                       log->name);
    else if (log->rewritten)
        jr_judge_fault(judge, i, JR_RESULT_CHANGED,
                       "%s was changed after the rank had ended: it holds "
                       "something else where the rank had written",
                       log->name);
    else if (scan->given_up)
        jr_judge_fault(judge, i, JR_RESULT_MISSING,
                       "'%s' takes too many steps for more than %" PRIu32 " lines of %s",
                       judge->wants->pattern, scan->limited - 1, log->name);
    else if (log->gap.len > 0 && (!scan->found || scan->at < log->gap.at)) {
        if (jr_judge_required(judge, i)) /* only a match after the gap is known to be the last */
            jr_judge_fault(judge, i, JR_RESULT_MISSING,
                           "%s in the %" PRIu64 " bytes that log_limit left out of %s, and none "
                           "comes after them: raise log_limit, or use `from: file`",
                           scan->found ? "the last match may be" : "a match may be",
                           log->gap.dropped, log->name);
    } else if (!scan->found)
        report_no_match(judge, i, log, scan);
    else {
        report->late_match = log->late;
        return object_from_match(judge, i, scan);
    }
    return NULL;
}

/* Whether the log can be the rank's own: by a link it could be an earlier one, or, which is seen
 * once all are noted, that of another rank. */
static bool is_log_fit(struct jr_judge *judge, size_t i, const struct log *log)
{
    struct stat st;
    if (fstat(log->fd, &st) != 0 || !S_ISREG(st.st_mode))
        return true;
    jr_judge_see(judge, i, NULL, &st);
    if (!jr_result_is_old_link(judge, &st))
        return true;
    if (jr_judge_required(judge, i))
        jr_judge_fault(judge, i, JR_RESULT_STALE, "%s is a link to a file from before the start",
                       log->name);
    return false;
}

json_t *jr_pattern_find(struct jr_judge *judge, size_t i, const char *path)
{
    const struct jr_rank_outcome *rank = &judge->outcome->ranks[i];
    struct log log = {.name = jr_result_name(path)};
    struct jr_log_gap gap;
    struct jr_error err = {0};
    JR_CLOSE int fd = jr_run_file_open(judge->run_fd, path, &err);
    /* A stream to which nothing was written has no file, and reads as empty. */
    if (fd < 0 && err.sys == ENOENT && rank->captured == 0)
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        if (jr_judge_required(judge, i))
            jr_judge_fault(judge, i, JR_RESULT_MISSING, "%s: %s", log.name, err.text);
        return NULL;
    }
    log.fd = fd;
    if (!is_log_fit(judge, i, &log))
        return NULL;
    /* What log_limit left out of what the rank wrote: a match before it need not be the last. */
    if (rank->dropped[judge->wants->from == JR_FROM_STDERR] > 0 && jr_log_gap_find(fd, &gap) &&
        (!rank->pinned || rank->captured > gap.at))
        log.gap = gap;
    find_end(judge, i, &log);
    struct log_scan scan;
    json_t *result = NULL;
    if (scan_log(&scan, judge->pattern, fd, 0, log.end) == 0)
        result = judge_match(judge, i, &log, &scan);
    else
        jr_judge_fault(judge, i, JR_RESULT_MISSING, "%s could not be read", log.name);
    release_log_scan(&scan);
    return result;
}

bool jr_pattern_holds(const char *pattern, int run_fd, const char *path)
{
    JR_CLOSE int fd = path == NULL ? -1 : jr_run_file_open(run_fd, path, NULL);
    struct jr_regex *regex = fd < 0 ? NULL : jr_judge_regex(pattern, NULL);
    struct log_scan scan;
    if (regex == NULL)
        return false;
    bool found = scan_log(&scan, regex, fd, 0, UINT64_MAX) == 0 && scan.found;
    release_log_scan(&scan);
    jr_regex_free(regex);
    return found;
}
