#include "output/step_lines.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/regex.h"

#include "base/banned.h"

enum { LIMITED_MOST = 100, SHOWN_MOST = 40, NUMBER_MOST = 64 };

/* How many lines are taken for steps before some are passed over: as many at once, then one after
 * so many nanoseconds, and the last one of each piece, which may be as short as a pipe of 64
 * KiB. */
enum {
    CREDIT_MOST = 10000,
    CREDIT_NS = 50000,
    LOOK_GROWTH = 16 /* how much further back the last step is looked for */
};

/* How the lines that match a pattern are found among many. */

/* What of a group may follow its parenthesis: a name, or nothing but a group.
 */
static bool is_plain_group(const char *after)
{
    if (after[0] != '?')
        return after[0] != '*';
    if (after[1] == ':' || after[1] == '\'')
        return true;
    if (after[1] == 'P')
        return after[2] == '<';
    return after[1] == '<' && after[2] != '=' && after[2] != '!';
}

/* Whether a line that matches `pattern` can be found by looking through many lines at once: nothing
 * in it looks at what is around the match. */
static bool is_plain_pattern(const char *pattern)
{
    for (const char *at = pattern; *at != '\0'; at++) {
        /* \A \z and the like are about the whole text, \Q quotes. */
        if (*at == '\\' && (at[1] == '\0' || strchr("AzZGKQEX", at[1]) != NULL))
            return false;
        if (*at == '\\')
            at++;
        else if (*at == '(' && !is_plain_group(at + 1))
            return false;
        else if (*at == '+' && at > pattern && strchr("*+?}", at[-1]) != NULL)
            return false; /* possessive: it could swallow the next line */
    }
    return true;
}

/* The character by which lines are found that may match, where the whole is not searched for its
 * beginning: nothing is known of that, as in '(?<step>\d+)/(?<of>\d+)', or the pattern is not
 * plain. A letter does if no group can make it stand for both cases. -1: there is none. */
static int find_landmark(const struct jr_regex *line, bool plain)
{
    int found = plain && jr_regex_has_first_byte(line) ? -1 : jr_regex_required_char(line);
    bool breaks = found == '\n' || found == '\r';
    return breaks || (!plain && isalpha(found)) ? -1 : found;
}

int jr_step_lines_open(struct jr_step_lines *lines, struct jr_step_tracker *tracker,
                       const char *pattern)
{
    struct jr_error err = {0};
    size_t bad;
    bool plain = pattern != NULL && is_plain_pattern(pattern);
    *lines = (struct jr_step_lines){.tracker = tracker, .landmark = -1};
    if (pattern == NULL)
        return 0;
    errno = ENOMEM;
    if (jr_regex_new(&lines->line, pattern, &bad, &err) != 0)
        return -1;
    lines->landmark = find_landmark(lines->line, plain);
    if (plain && lines->landmark < 0)
        (void)jr_regex_new_lines(&lines->ahead, pattern, &bad, &err);
    return 0;
}

void jr_step_lines_close(struct jr_step_lines *lines)
{
    jr_regex_free(lines->line);
    jr_regex_free(lines->ahead);
    lines->line = lines->ahead = NULL;
}

/* Numbers. */

/* A text from outside, cut and made safe. */
static const char *show_text(struct jr_buf *to, const char *text, size_t len)
{
    jr_buf_escaped(to, text, len < SHOWN_MOST ? len : SHOWN_MOST);
    return to->data == NULL ? "" : to->data;
}

/* Digits, where zeros in front do no harm. */
static bool read_step(const char *text, size_t len, int64_t *ret)
{
    uint64_t value = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned digit = (unsigned)((unsigned char)text[i] - '0');
        if (digit > 9 || value > ((uint64_t)INT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *ret = (int64_t)value;
    return len > 0;
}

/* A number as printf and Python write it, also one that is none. */
static bool read_metric(const char *text, size_t len, double *ret)
{
    char copy[NUMBER_MOST];
    if (len == 0 || len >= sizeof copy || memchr(text, '\0', len) != NULL)
        return false;
    (void)stpcpy(mempcpy(copy, text, len), "");
    const char *word = copy + (copy[0] == '-' || copy[0] == '+');
    if (jr_num_double(copy, ret))
        return true;
    if (strcasecmp(word, "nan") == 0)
        *ret = (double)NAN;
    else if (strcasecmp(word, "inf") == 0 || strcasecmp(word, "infinity") == 0)
        *ret = copy[0] == '-' ? -(double)INFINITY : (double)INFINITY;
    else
        return false;
    return true;
}

/* Less the metrics, which are many bytes: only as many count as were added. */
static void begin_report(struct jr_step_report *report, uint32_t i)
{
    report->i = i;
    report->has_step = false;
    report->step = report->of = 0;
    report->count = 0;
}

static void add_metric(struct jr_step_report *report, const char *name, double value)
{
    if (report->count == JR_METRICS_MOST)
        return;
    report->metrics[report->count++] = (struct jr_told_metric){name, strlen(name), value};
}

/* A line that matched. */

static void warn_of_number(struct jr_step_lines *lines, uint32_t i, const char *name,
                           const char *text, size_t len)
{
    JR_BUF_CLEANUP struct jr_buf shown = JR_BUF_INIT, called = JR_BUF_INIT;
    bool step = strcmp(name, "step") == 0 || strcmp(name, "of") == 0;
    (void)jr_step_tracker_warn(
        lines->tracker, step ? JR_STEP_PROBLEM_STEP : JR_STEP_PROBLEM_METRIC, i,
        step ? "told a '%s' that is not a whole number: '%s'"
             : "told a metric '%s' that is not a number: '%s'",
        show_text(&called, name, strlen(name)), show_text(&shown, text, len));
}

/* False: the step is none, so the line does not count. */
static bool take_group(struct jr_step_lines *lines, uint32_t i, const char *name, const char *text,
                       size_t len)
{
    struct jr_step_report *report = &lines->report;
    double value = 0;
    if (strcmp(name, "step") == 0) {
        report->has_step = read_step(text, len, &report->step);
        if (!report->has_step)
            warn_of_number(lines, i, name, text, len);
        return report->has_step;
    }
    if (strcmp(name, "of") == 0) {
        if (!read_step(text, len, &report->of))
            warn_of_number(lines, i, name, text, len);
    } else if (read_metric(text, len, &value)) {
        add_metric(report, name, value);
    } else {
        warn_of_number(lines, i, name, text, len);
    }
    return true;
}

/* Whether it matches; then it is told. */
static bool take_matching_line(struct jr_step_lines *lines, uint32_t i, const char *line,
                               size_t len)
{
    struct jr_match match;
    bool limited = false, good = true;
    if (lines->limited >= LIMITED_MOST ||
        !jr_regex_find(lines->line, line, len, 0, &match, &limited)) {
        if (limited)
            (void)jr_step_tracker_warn(
                lines->tracker, JR_STEP_PROBLEM_PATTERN, i,
                "wrote a line for which progress.pattern takes too many steps");
        lines->limited += limited;
        return false;
    }
    begin_report(&lines->report, i);
    size_t groups = jr_regex_group_count(lines->line);
    for (size_t k = 0; k < groups && good; k++)
        if (jr_regex_group(lines->line, k, &match))
            good = take_group(lines, i, jr_regex_group_name(lines->line, k), line + match.start,
                              match.end - match.start);
    if (good)
        jr_step_tracker_tell(lines->tracker, &lines->report, lines->now_ns, lines->wall_ns);
    return true;
}

/* A line of JSON. */

static bool read_json_step(const json_t *value, int64_t *ret)
{
    if (json_is_integer(value)) {
        *ret = json_integer_value(value);
        return *ret >= 0;
    }
    double real = json_is_real(value) ? json_real_value(value) : -1;
    if (!(real >= 0 && real < 9e15 && floor(real) == real))
        return false;
    *ret = (int64_t)real;
    return true;
}

static void take_object(struct jr_step_lines *lines, uint32_t i, const char *line, size_t len,
                        json_t *object)
{
    struct jr_step_report *report = &lines->report;
    json_t *of = json_object_get(object, "of"), *value;
    const char *name;
    begin_report(report, i);
    report->has_step = read_json_step(json_object_get(object, "step"), &report->step);
    if (!report->has_step) {
        warn_of_number(lines, i, "step", line, len);
        return;
    }
    if (of != NULL && !json_is_null(of) && !read_json_step(of, &report->of))
        warn_of_number(lines, i, "of", line, len);
    json_object_foreach(object, name, value) {
        bool number = json_is_number(value) || json_is_null(value);
        if (!number || strcmp(name, "step") == 0 || strcmp(name, "of") == 0)
            continue;
        add_metric(report, name, json_is_null(value) ? (double)NAN : json_number_value(value));
    }
    jr_step_tracker_tell(lines->tracker, report, lines->now_ns, lines->wall_ns);
}

/* Python and others write NaN and Infinity, which JSON has not: null of as many bytes as there is
 * room for. False: there is none of them. */
static bool replace_unreal(struct jr_buf *to, const char *line, size_t len)
{
    static const char *const words[] = {"-Infinity", "Infinity", "NaN"};
    bool quoted = false, any = false;
    for (size_t at = 0; at < len;) {
        size_t word = 0, count = sizeof words / sizeof *words;
        while (word < count && (quoted || len - at < strlen(words[word]) ||
                                memcmp(line + at, words[word], strlen(words[word])) != 0))
            word++;
        if (word < count) {
            jr_buf_str(to, "null");
            at += strlen(words[word]);
            any = true;
            continue;
        }
        if (line[at] == '\\' && at + 1 < len)
            jr_buf_char(to, line[at++]);
        else if (line[at] == '"')
            quoted = !quoted;
        jr_buf_char(to, line[at++]);
    }
    return any;
}

static void take_json_line(struct jr_step_lines *lines, uint32_t i, const char *line, size_t len)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT, shown = JR_BUF_INIT;
    if (len == 0)
        return;
    json_t *object = jr_json_parse(line, len, NULL);
    if (object == NULL && replace_unreal(&text, line, len) && !text.failed)
        object = jr_json_parse(text.data, text.len, NULL);
    if (json_is_object(object))
        take_object(lines, i, line, len, object);
    else
        (void)jr_step_tracker_warn(
            lines->tracker, JR_STEP_PROBLEM_JSON, i,
            "has a line in its progress file that is not a JSON object: '%s'",
            show_text(&shown, line, len));
    json_decref(object);
}

/* Lines out of pieces. */

/* Where the line ends that begins at `bytes`; NULL: not here. */
static const char *line_end(const char *bytes, size_t len)
{
    const char *newline = memchr(bytes, '\n', len);
    const char *before = memchr(bytes, '\r', newline == NULL ? len : (size_t)(newline - bytes));
    return before != NULL ? before : newline;
}

/* The end of the last line in `bytes`; NULL: there is none. */
static const char *last_line_end(const char *bytes, size_t len)
{
    const char *newline = memrchr(bytes, '\n', len);
    size_t from = newline == NULL ? 0 : (size_t)(newline - bytes);
    const char *after = memrchr(bytes + from, '\r', len - from);
    return after != NULL ? after : newline;
}

static void warn_of_length(struct jr_step_lines *lines, uint32_t i)
{
    (void)jr_step_tracker_warn(lines->tracker, JR_STEP_PROBLEM_LINE, i,
                               "has a line of more than %d bytes in its progress file, which is "
                               "left out",
                               JR_STEP_LINE_MOST);
}

/* An empty line tells nothing: there is one within each \r\n. Of a line that is too long for it, a
 * pattern sees the first bytes; such a line of JSON is left out, for what is cut off it is no
 * object. Returns whether it matched. */
static bool take_step_line(struct jr_step_lines *lines, uint32_t i, const char *line, size_t len)
{
    bool fits = len <= JR_STEP_LINE_MOST;
    if (lines->line != NULL)
        return len > 0 && take_matching_line(lines, i, line, fits ? len : JR_STEP_LINE_MOST);
    if (fits)
        take_json_line(lines, i, line, len);
    else
        warn_of_length(lines, i);
    return true;
}

/* The line of `bytes` that the byte `in` lies in, no line before `from`. */
static const char *line_start(const char *bytes, size_t from, size_t in)
{
    const char *end = last_line_end(bytes + from, in - from);
    return end == NULL ? bytes + from : end + 1;
}

/* Whole lines on their way through a search. */
struct step_search {
    const char *bytes;
    size_t len, at;
    bool each; /* a search took the pattern too long: each line is tried */
};

/* Go on to within the next line that may match, and tell where that begins, no sooner than where
 * the search is. False: there is none. */
static bool find_candidate(struct jr_step_lines *lines, struct step_search *search,
                           const char **ret_start)
{
    const char *from = search->bytes + search->at, *found;
    struct jr_match match = {search->at, search->at};
    bool limited = false;
    if (lines->landmark >= 0) {
        found = memchr(from, lines->landmark, search->len - search->at);
        if (found == NULL)
            return false;
        match.start = (size_t)(found - search->bytes);
    } else if (lines->ahead != NULL && !search->each) {
        if (!jr_regex_find(lines->ahead, search->bytes, search->len, search->at, &match,
                           &limited) &&
            !limited)
            return false;
        search->each = limited;
    }
    *ret_start = line_start(search->bytes, search->at, match.start);
    search->at = match.start;
    return true;
}

/* Whole lines, until `*most` of them matched, which counts down; returns where that was. After a
 * line that matches, the next is tried at once; after one that does not, the next that may is
 * looked for. */
static size_t take_whole_lines(struct jr_step_lines *lines, uint32_t i, const char *bytes,
                               size_t len, uint32_t *most)
{
    struct step_search search = {bytes, len, 0, false};
    bool matched = false;
    while (*most > 0 && search.at < len && lines->limited < LIMITED_MOST) {
        const char *start = bytes + search.at;
        if (!matched && !find_candidate(lines, &search, &start))
            return len;
        const char *end = line_end(bytes + search.at, len - search.at);
        if (end == NULL)
            return len;
        matched = take_step_line(lines, i, start, (size_t)(end - start));
        *most -= matched;
        search.at = (size_t)(end + 1 - bytes);
    }
    return search.at;
}

/* The last line that matches, or some last ones: no more lines are tried than must be to find one.
 * The last line of all is tried first, alone. */
static void take_last_lines(struct jr_step_lines *lines, uint32_t i, const char *bytes, size_t len)
{
    uint32_t most = UINT32_MAX;
    size_t from = len;
    for (size_t look = 1; from > 0 && most == UINT32_MAX; look *= LOOK_GROWTH) {
        from = look < len ? (size_t)(line_start(bytes, 0, len - look) - bytes) : 0;
        (void)take_whole_lines(lines, i, bytes + from, len - from, &most);
    }
}

/* Where ranks tell more steps than anybody can look at, some of each piece are taken: as many of
 * the first ones as there is credit for, and the last. */
static void take_some_lines(struct jr_step_lines *lines, uint32_t i, const char *bytes, size_t len)
{
    uint64_t more = (lines->now_ns - lines->credited_ns) / CREDIT_NS;
    if (more >= CREDIT_MOST - lines->credit) {
        lines->credit = CREDIT_MOST;
        lines->credited_ns = lines->now_ns;
    } else {
        lines->credit += (uint32_t)more;
        lines->credited_ns += more * CREDIT_NS;
    }
    size_t at = take_whole_lines(lines, i, bytes, len, &lines->credit);
    if (lines->credit == 0)
        take_last_lines(lines, i, bytes + at, len - at);
}

static void keep_rest(struct jr_step_lines *lines, struct jr_step_text *text, const char *bytes,
                      size_t len)
{
    size_t room = JR_STEP_LINE_MOST - text->rest.len;
    jr_buf_add(&text->rest, bytes, len < room ? len : room);
    if (len <= room || text->skipped)
        return;
    text->skipped = true;
    if (lines->line == NULL)
        warn_of_length(lines, text->i);
}

static void take_rest(struct jr_step_lines *lines, struct jr_step_text *text)
{
    bool json = lines->line == NULL;
    if (text->rest.len > 0 && !text->rest.failed && !(json && text->skipped))
        (void)take_step_line(lines, text->i, text->rest.data, text->rest.len);
    jr_buf_clear(&text->rest);
    text->skipped = false;
}

void jr_step_lines_add(struct jr_step_lines *lines, struct jr_step_text *text, const char *bytes,
                       size_t len)
{
    lines->now_ns = jr_clock_ns();
    lines->wall_ns = jr_clock_wall_ns();
    if (text->rest.len > 0 || text->skipped) {
        const char *end = line_end(bytes, len);
        keep_rest(lines, text, bytes, end == NULL ? len : (size_t)(end - bytes));
        if (end == NULL)
            return;
        take_rest(lines, text);
        len -= (size_t)(end + 1 - bytes);
        bytes = end + 1;
    }
    const char *last = len == 0 ? NULL : last_line_end(bytes, len);
    size_t whole = last == NULL ? 0 : (size_t)(last + 1 - bytes);
    uint32_t all = UINT32_MAX;
    if (whole > 0 && lines->line != NULL)
        take_some_lines(lines, text->i, bytes, whole);
    else if (whole > 0)
        (void)take_whole_lines(lines, text->i, bytes, whole, &all);
    if (len > whole)
        keep_rest(lines, text, bytes + whole, len - whole);
}

void jr_step_lines_end(struct jr_step_lines *lines, struct jr_step_text *text)
{
    lines->now_ns = jr_clock_ns();
    lines->wall_ns = jr_clock_wall_ns();
    take_rest(lines, text);
    jr_buf_release(&text->rest);
}
