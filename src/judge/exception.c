#include "judge/exception.h"

#include <string.h>

#include <jobrun/run.h>

#include "base/json.h"
#include "base/strv.h"
#include "judge/judge.h"
#include "run/failure_words.h"

#include "base/banned.h"

/* What the worker of a Python or library entrypoint exits with when it could not call it; the
 * shells' own code for what cannot be executed. */
enum { UNSTARTED = 126 };

/* More than any traceback; a foreign file of gigabytes is not read. */
static const size_t MAX_ERROR_FILE = (size_t)4 << 20;

/* The number of causes of an exception that are reported, the nearest first; a chain may have any
 * number of them. */
enum { MOST_BEHIND = 8 };

/* The first line of `text`, or NULL when that is empty. */
static char *first_line(struct jr_arena *arena, const char *text)
{
    size_t len = text == NULL ? 0 : strcspn(text, "\r\n");
    return len == 0 ? NULL : jr_arena_strndup(arena, text, len);
}

/* The last `File "X", line N, in F` of a traceback as "X:N in F". */
static const char *last_frame(struct jr_arena *arena, const char *callstack)
{
    static const char head[] = "  File \"";
    const char *frame = NULL;
    for (const char *at = callstack; at != NULL;) {
        at = strstr(at, head);
        if (at != NULL)
            frame = at += sizeof head - 1;
    }
    if (frame == NULL)
        return NULL;
    static const char middle[] = "\", line ";
    const char *quote = strchr(frame, '"');
    if (quote == NULL || strncmp(quote, middle, sizeof middle - 1) != 0)
        return NULL;
    const char *line = quote + sizeof middle - 1;
    size_t digits = strspn(line, "0123456789");
    const char *slash = memrchr(frame, '/', (size_t)(quote - frame));
    const char *file = slash == NULL ? frame : slash + 1;
    const char *rest = line + digits;
    size_t rest_len = 0;
    if (strncmp(rest, ", in ", 5) == 0)
        rest_len = strcspn(++rest, "\n");
    return jr_arena_printf(arena, "%.*s:%.*s%.*s", (int)(quote - file), file, (int)digits, line,
                           (int)rest_len, rest);
}

/* The causes of an exception. */
static void add_cause_line(struct jr_strv *causes, struct jr_arena *arena, char *line)
{
    if (line != NULL)
        jr_strv_push(causes, arena, line);
}

/* "K: 'lr', from O: gone": from the first one on, or from the last one `back`; NULL for none. */
static const char *describe_cause_lines(const struct jr_strv *causes, struct jr_arena *arena,
                                        bool back)
{
    const char *text = NULL;
    size_t i = 0, count = causes->count;
    for (; i < count && i < MOST_BEHIND; i++) {
        const char *line = causes->items[back ? count - 1 - i : i];
        text = text == NULL ? line : jr_arena_printf(arena, "%s, from %s", text, line);
    }
    return i == count ? text : jr_arena_printf(arena, "%s, and %zu more causes", text, count - i);
}

/* The start of the next exception of a traceback, after the sentence that Python puts between two;
 * NULL if there is none. */
static const char *next_exception(const char *stack)
{
    static const char *const betweens[] = {
        "\n\nThe above exception was the direct cause of the following exception:\n\n",
        "\n\nDuring handling of the above exception, another exception occurred:\n\n"};
    while ((stack = strstr(stack, "\n\n")) != NULL) {
        for (size_t i = 0; i < sizeof betweens / sizeof *betweens; i++)
            if (strncmp(stack, betweens[i], strlen(betweens[i])) == 0)
                return stack + strlen(betweens[i]);
        stack++;
    }
    return NULL;
}

/* The causes of an exception: of a list the nearest comes first; else from the text of a traceback,
 * where each is headed by the first line that is not indented, the deepest first. */
static const char *describe_causes(struct jr_arena *arena, const json_t *list, const char *stack)
{
    struct jr_strv causes = {0};
    size_t i;
    json_t *cause;
    json_array_foreach(list, i, cause)
        add_cause_line(&causes, arena, first_line(arena, jr_json_get_str(cause, "message")));
    if (list != NULL)
        return describe_cause_lines(&causes, arena, false);
    for (const char *next; stack != NULL && (next = next_exception(stack)) != NULL; stack = next) {
        const char *line = strchr(stack, '\n');
        while (line != NULL && line + 1 < next && line[1] == ' ')
            line = strchr(line + 1, '\n');
        if (line != NULL && line + 1 < next)
            add_cause_line(&causes, arena, first_line(arena, line + 1));
    }
    return describe_cause_lines(&causes, arena, true);
}

/* torch writes {"message": {"message": ..., "extraInfo": {...}}}, or flat {"message": "..."} where
 * it knows no more. */
static bool read_json_exception(struct jr_exception *ret, struct jr_arena *arena,
                                const json_t *file)
{
    const json_t *message = json_object_get(file, "message");
    const json_t *extra = json_object_get(message, "extraInfo");
    const json_t *text = json_is_string(message) ? message : json_object_get(message, "message");
    const char *what = first_line(arena, json_string_value(text));
    if (what == NULL)
        return false;
    const char *stack = jr_json_get_str(extra, "py_callstack");
    const json_t *time = json_object_get(file, "time_ns");
    json_int_t ns = json_integer_value(time != NULL ? time : json_object_get(extra, "time_ns"));
    *ret = (struct jr_exception){
        .what = what,
        .where = last_frame(arena, stack),
        .behind = describe_causes(arena, json_object_get(file, "causes"), stack),
        .wall_ns = ns > 0 ? (uint64_t)ns : 0,
        .pid = jr_json_get_int(file, "pid"),
        .lost_peer = jr_failure_words_of_error(file).lost_peer,
        .start = jr_json_get_bool(file, "start"),
    };
    return true;
}

bool jr_exception_is_start(const struct jr_exception *exception, const struct jr_rank_outcome *rank)
{
    bool left = rank->end == JR_END_EXITED && rank->exit_code == UNSTARTED;
    return exception->start && (left || rank->stopped_with != 0);
}

bool jr_exception_is_own(const struct jr_exception *exception, const struct jr_rank_outcome *rank,
                         bool returns)
{
    if (rank->own_pid == 0)
        return true;
    return exception->pid == rank->own_pid || (exception->pid == 0 && !returns);
}

enum jr_exception_found jr_exception_read(struct jr_exception *ret, struct jr_arena *arena,
                                          int run_fd, const char *path)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (path == NULL || jr_run_file_read(&text, run_fd, path, MAX_ERROR_FILE, NULL) != 0 ||
        text.len == 0)
        return JR_EXCEPTION_NONE;
    json_auto_t *file = jr_json_parse(text.data, text.len, NULL);
    bool read = read_json_exception(ret, arena, file);
    return read ? JR_EXCEPTION_READ : JR_EXCEPTION_FOREIGN;
}
