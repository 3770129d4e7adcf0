#include "judge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "left.h"
#include "num.h"

#include "banned.h"

enum {
    CHUNK = 1 << 20,   /* read at a time */
    OVERLAP = 1 << 16, /* the longest match that is sure to be found */
    CONTEXT = 256      /* what ^ and a lookbehind see before the search */
};

/* A group of the last match, a part of `text`. */
struct group {
    bool there;
    size_t start, len;
};

/* One pass over a log: a window that slides over the file. */
struct scan {
    struct jr_regex *regex;
    int fd;
    char *data;
    size_t len;
    size_t from;       /* where in the window the search goes on */
    bool eof, limited; /* a match limit was hit */
    bool found;
    struct group *groups;
    struct jr_buf text;
};

/* Remember the match that was just found, instead of the one before it. */
static void take(struct scan *scan)
{
    scan->found = true;
    jr_buf_clear(&scan->text);
    for (size_t g = 0; g < jr_regex_group_count(scan->regex); g++) {
        struct jr_match part = {0};
        bool there = jr_regex_group(scan->regex, g, &part);
        size_t len = there ? part.end - part.start : 0;
        scan->groups[g] = (struct group){there, scan->text.len, len};
        jr_buf_add(&scan->text, scan->data + part.start, len);
        jr_buf_char(&scan->text, '\0');
    }
}

/* Take every match of the window and return where the next one has to begin.
 * A match at the very end might go on in the bytes to come ($ and greedy
 * repeats), so it is left for the next window. */
static size_t search(struct scan *scan)
{
    struct jr_match match;
    while (scan->from <= scan->len &&
           jr_regex_find(scan->regex, scan->data, scan->len, scan->from, &match,
                         &scan->limited)) {
        bool at_end = match.end + 1 >= scan->len;
        if (!scan->eof && at_end && scan->len - match.start <= OVERLAP)
            return match.start;
        take(scan);
        size_t next = match.end > match.start ? match.end : match.end + 1;
        scan->from = next > scan->from ? next : scan->from + 1;
    }
    size_t tail = scan->len > OVERLAP ? scan->len - OVERLAP : 0;
    return scan->from > tail ? scan->from : tail;
}

/* Move the window on, so that it begins CONTEXT before `next`. */
static void slide(struct scan *scan, size_t next)
{
    if (next > scan->len)
        next = scan->len;
    size_t cut = next > CONTEXT ? next - CONTEXT : 0;
    memmove(scan->data, scan->data + cut, scan->len - cut);
    scan->len -= cut;
    scan->from = next - cut;
}

static int fill(struct scan *scan)
{
    size_t room = CHUNK + OVERLAP + CONTEXT - scan->len;
    ssize_t got = 0;
    do
        got = read(scan->fd, scan->data + scan->len, room);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return -1;
    scan->len += (size_t)got;
    scan->eof = got == 0;
    return 0;
}

static int scan_all(struct scan *scan)
{
    while (!scan->eof) {
        if (fill(scan) != 0)
            return -1;
        slide(scan, search(scan));
    }
    return scan->text.failed ? -1 : 0;
}

static json_t *to_integer(const char *text)
{
    int64_t value = 0;
    return jr_num_i64(text, &value) ? json_integer(value) : NULL;
}

static json_t *to_number(const char *text)
{
    double value = 0;
    json_t *whole = to_integer(text);
    if (whole != NULL)
        return whole;
    return jr_num_double(text, &value) ? json_real(value) : NULL;
}

static json_t *to_string(const char *text)
{
    return json_string(text);
}

static json_t *to_boolean(const char *text)
{
    if (strcmp(text, "true") == 0)
        return json_true();
    return strcmp(text, "false") == 0 ? json_false() : NULL;
}

static json_t *to_json(const char *text)
{
    return jr_json_parse(text, strlen(text), NULL);
}

struct conversion {
    json_t *(*read)(const char *text);
    const char *noun;
};

static const struct conversion conversions[] = {
    [JR_JSON_INTEGER] = {to_integer, "an integer"},
    [JR_JSON_NUMBER] = {to_number, "a number"},
    [JR_JSON_STRING] = {to_string, "text"},
    [JR_JSON_BOOLEAN] = {to_boolean, "true or false"},
    [JR_JSON_ARRAY] = {to_json, "a JSON array"},
    [JR_JSON_OBJECT] = {to_json, "a JSON object"},
};

static enum jr_json_type type_of(const struct jr_results *wants,
                                 const char *name)
{
    for (uint32_t f = 0; f < wants->fields_count; f++)
        if (strcmp(wants->fields[f].name, name) == 0)
            return wants->fields[f].type;
    return JR_JSON_STRING;
}

/* Set the field `name` from `text`; false with the fault noted. */
static bool convert(struct jr_judge *judge, size_t i, json_t *object,
                    const char *const name_text[2])
{
    const char *name = name_text[0], *text = name_text[1];
    enum jr_json_type type = type_of(judge->wants, name);
    json_t *value = conversions[type].read(text);
    if (value != NULL)
        return json_object_set_new(object, name, value) == 0;
    jr_judge_fault(judge, i, JR_RESULT_FIELD, "%s: '%s' is '%.60s', not %s",
                   jr_result_source(judge, i), name, text,
                   conversions[type].noun);
    return false;
}

static json_t *to_object(struct jr_judge *judge, size_t i,
                         const struct scan *scan)
{
    json_t *object = json_object();
    bool good = object != NULL;
    for (size_t g = 0; good && g < jr_regex_group_count(scan->regex); g++) {
        if (!scan->groups[g].there)
            continue;
        const char *const pair[] = {jr_regex_group_name(scan->regex, g),
                                    scan->text.data + scan->groups[g].start};
        good = convert(judge, i, object, pair);
    }
    if (good)
        return object;
    json_decref(object);
    return NULL;
}

static void missing(struct jr_judge *judge, size_t i, const struct scan *scan,
                    const char *name)
{
    if (!jr_judge_required(judge, i))
        return;
    jr_judge_fault(judge, i, JR_RESULT_MISSING, "nothing in %s matches '%s'%s",
                   name, judge->wants->pattern,
                   scan->limited ? " within the match limit" : "");
}

json_t *jr_pattern_find(struct jr_judge *judge, size_t i, const char *path)
{
    const char *name = jr_result_name(path);
    struct jr_error err = {0};
    JR_CLOSE int fd = jr_left_open(judge->run_fd, path, &err);
    if (fd < 0) {
        if (jr_judge_required(judge, i))
            jr_judge_fault(judge, i, JR_RESULT_MISSING, "%s: %s", name,
                           err.text);
        return NULL;
    }
    JR_FREE char *data = malloc(CHUNK + OVERLAP + CONTEXT);
    JR_FREE struct group *groups =
        calloc(jr_regex_group_count(judge->pattern) + 1, sizeof *groups);
    struct scan scan = {
        .regex = judge->pattern, .fd = fd, .data = data, .groups = groups};
    json_t *result = NULL;
    if (data == NULL || groups == NULL || scan_all(&scan) != 0)
        jr_judge_fault(judge, i, JR_RESULT_MISSING, "%s could not be read",
                       name);
    else if (scan.found)
        result = to_object(judge, i, &scan);
    else
        missing(judge, i, &scan, name);
    jr_buf_release(&scan.text);
    return result;
}

bool jr_pattern_holds(const char *pattern, int run_fd, const char *path)
{
    JR_CLOSE int fd = path == NULL ? -1 : jr_left_open(run_fd, path, NULL);
    struct jr_regex *regex = fd < 0 ? NULL : jr_judge_regex(pattern, NULL);
    if (regex == NULL)
        return false;
    JR_FREE char *data = malloc(CHUNK + OVERLAP + CONTEXT);
    JR_FREE struct group *groups =
        calloc(jr_regex_group_count(regex) + 1, sizeof *groups);
    struct scan scan = {
        .regex = regex, .fd = fd, .data = data, .groups = groups};
    bool found =
        data != NULL && groups != NULL && scan_all(&scan) == 0 && scan.found;
    jr_buf_release(&scan.text);
    jr_regex_free(regex);
    return found;
}
