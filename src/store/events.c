#include "store/events.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/json.h"
#include "base/json_row.h"
#include "base/names.h"

#include "base/banned.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define WORD_OF(name, word)           word,
#define INJECT_WORD(name, word, help) word,
static const char *const timeouts[] = {JR_TIMEOUTS(WORD_OF)};
static const char *const problems[] = {JR_STEP_PROBLEMS(WORD_OF)};
static const char *const injects[] = {JR_INJECTS(INJECT_WORD)};

#define IS(kind, member) JR_AT(struct jr_event, kind, member)
#define PID              "{\"type\": \"integer\", \"minimum\": 1}"
#define PORT             "{\"type\": \"integer\", \"minimum\": 0, \"maximum\": 65535}"
#define STREAM           "{\"enum\": [1, 2]}"

_Static_assert(sizeof(enum jr_stage) == sizeof(uint32_t) &&
                   sizeof(enum jr_timeout) == sizeof(uint32_t) &&
                   sizeof(enum jr_inject) == sizeof(uint32_t) &&
                   sizeof(enum jr_step_problem) == sizeof(uint32_t),
               "enums are read and written as uint32_t");

static const struct jr_json_row members[] = {
    [JR_SAYS_RANK] = {"rank", NULL, IS(U32, rank)},
    [JR_SAYS_PID] = {"pid", NULL, IS(I32, pid), .shape.text = PID},
    [JR_SAYS_STREAM] = {"stream", "1 stdout, 2 stderr.", IS(U32, stream), .shape.text = STREAM},
    [JR_SAYS_EXIT_CODE] = {"exit_code", "null: it died by the signal.", IS(I32, exit_code),
                           .none = JR_NONE_LESS, .shape.text = JR_SHAPE_CODE},
    [JR_SAYS_EXIT_SIGNAL] = {"signal", "null: it exited with the code.", IS(SIGNAL, signal),
                             .none = JR_NONE_ZERO},
    [JR_SAYS_SIGNAL] = {"signal", NULL, IS(SIGNAL, signal)},
    [JR_SAYS_RETURNED] = {"returned", NULL, IS(FLAG, returned)},
    [JR_SAYS_STAGE] = {"stage", "The step that failed.", IS(U32, stage), .shape.text = PID},
    [JR_SAYS_START_ERRNO] = {"errno", "0: the error did not come from the system.", IS(I32, error)},
    [JR_SAYS_ERRNO] = {"errno", "As numbered on this machine.", IS(I32, error), .shape.text = PID},
    [JR_SAYS_TIMEOUT] = {"timeout", "The field of `timeouts`.", IS(WORD, timeout),
                         JR_WORDS_AFTER_0(timeouts)},
    [JR_SAYS_SIGNALLED] = {"signalled", "How many ranks were sent the signal of `on_hang`.",
                           IS(U32, signalled)},
    [JR_SAYS_RUNNING] = {"running", NULL, IS(U32, running)},
    [JR_SAYS_INJECTION] = {"injection", NULL, IS(WORD, injection), JR_WORDS(injects)},
    [JR_SAYS_ATTEMPT] = {"attempt", NULL, IS(U32, attempt)},
    [JR_SAYS_WAIT] = {"wait", "Seconds until the next attempt.", IS(SECONDS, wait_ms)},
    [JR_SAYS_MASTER_PORT] = {"master_port", NULL, IS(U32, master_port), .shape.text = PORT},
    [JR_SAYS_PROCESSES] = {"processes", "How many were killed.", IS(U32, processes)},
    [JR_SAYS_LEFT] = {"left", "How many could not be killed.", IS(U32, left)},
    [JR_SAYS_NODE] = {"node",
                      "With several nodes under one jobrun, the node where it happened; times are "
                      "converted to jobrun's clock.",
                      IS(U32, node)},
    [JR_SAYS_NODES] = {"nodes", NULL, IS(U32, nodes)},
    [JR_SAYS_HEARD] = {"heard", "Bytes.", IS(U64, heard)},
    [JR_SAYS_TOLD] = {"told", "How many bytes every agent was sent.", IS(U64, told)},
    [JR_SAYS_PROBLEM] = {"problem",
                         "What the warning is about; `progress` of results.json has its words.",
                         IS(WORD, problem), JR_WORDS(problems)},
};

_Static_assert(COUNT(members) == JR_SAYS_COUNT && JR_SAYS_COUNT < 32,
               "each member has a row and a bit, and none is behind the last");

struct row {
    const char *word;
    uint32_t says, may;
    unsigned kind;
    const char *words, *help;
};

#define ROW(name, word, says, may, kind, words, help)                                              \
    [JR_EVENT_##name] = {word, says, may, kind, words, help},
static const struct row rows[] = {JR_EVENTS(ROW)};

const char *jr_event_words(enum jr_event_name name)
{
    return rows[name].words;
}

unsigned jr_event_kind(enum jr_event_name name)
{
    return rows[name].kind;
}

const char *jr_event_word(enum jr_event_name name)
{
    return rows[name].word;
}

/* The first member from `from` on of those in the set; their number: none. */
static unsigned next_member_in(uint32_t set, unsigned from)
{
    uint32_t rest = set >> from;
    return rest == 0 ? JR_SAYS_COUNT : from + (unsigned)__builtin_ctz(rest);
}

static void put_quoted(struct jr_buf *out, const char *text)
{
    jr_buf_char(out, '"');
    jr_buf_str(out, text);
    jr_buf_char(out, '"');
}

void jr_event_put(struct jr_buf *out, const struct jr_event *event)
{
    const struct row *row = &rows[event->name];
    uint32_t says = row->says | (event->says & (row->may | JR_SAYS(NODE)));
    char time[32];
    jr_clock_rfc3339(time, event->wall_ns);
    jr_buf_str(out, "{\"time\":");
    put_quoted(out, time);
    jr_buf_str(out, ",\"ns\":");
    jr_buf_u64(out, event->ns);
    jr_buf_str(out, ",\"event\":");
    put_quoted(out, row->word);
    for (unsigned i = next_member_in(says, 0); i < JR_SAYS_COUNT; i = next_member_in(says, i + 1)) {
        jr_buf_char(out, ',');
        put_quoted(out, members[i].key);
        jr_buf_char(out, ':');
        if (i == JR_SAYS_WAIT)
            jr_buf_printf(out, "%.15g", (double)event->wait_ms / 1e3);
        else
            jr_json_row_value(out, &members[i], event);
    }
    jr_buf_str(out, "}\n");
}

/* Whether the value is one that the member may have; else it is not said. */
static bool fits_member(const struct jr_json_row *row, const json_t *value)
{
    const char *word = json_string_value(value);
    json_int_t number = json_integer_value(value);
    size_t i = 0;
    if (row->kind == JR_ROW_FLAG)
        return json_is_boolean(value);
    if (row->kind == JR_ROW_SECONDS)
        return json_is_number(value);
    if (row->kind == JR_ROW_SIGNAL)
        return word != NULL && jr_signal_of(word) != 0;
    if (row->kind != JR_ROW_WORD)
        return json_is_integer(value) && number >= 0 &&
               (row->kind == JR_ROW_U64 || number <= INT32_MAX);
    while (word != NULL && i < row->shape.words_count && strcmp(row->shape.words[i], word) != 0)
        i++;
    return word != NULL && i < row->shape.words_count;
}

bool jr_event_of(struct jr_event *ret, const json_t *line)
{
    const char *word = jr_json_get_str(line, "event");
    const char *time = jr_json_get_str(line, "time");
    *ret = (struct jr_event){.exit_code = -1};
    if (word == NULL)
        return false;
    json_int_t ns = jr_json_get_int(line, "ns");
    ret->ns = ns > 0 ? (uint64_t)ns : 0;
    for (size_t i = 1; i < COUNT(rows); i++)
        if (strcmp(rows[i].word, word) == 0)
            ret->name = (enum jr_event_name)i;
    ret->wall_ns = time == NULL ? 0 : jr_clock_ns_of(jr_clock_of_rfc3339(time));
    uint32_t may = rows[ret->name].says | rows[ret->name].may | JR_SAYS(NODE);
    for (unsigned i = next_member_in(may, 0); i < JR_SAYS_COUNT; i = next_member_in(may, i + 1)) {
        if (!fits_member(&members[i], json_object_get(line, members[i].key)))
            continue;
        jr_json_rows_get(&members[i], 1, (void *[]){ret}, NULL, line);
        ret->says |= UINT32_C(1) << i;
    }
    return true;
}

bool jr_event_read(struct jr_event *ret, const char *line, size_t len)
{
    json_auto_t *json = jr_json_parse(line, len, NULL);
    return jr_event_of(ret, json);
}

static json_t *row_schema(const struct row *row)
{
    json_t *schema = json_object(), *event = json_object();
    json_t *properties = json_object(), *required = json_array();
    uint32_t all = row->says | row->may;
    jr_json_set_str(event, "const", row->word);
    jr_json_set(properties, "event", event);
    for (unsigned i = next_member_in(all, 0); i < JR_SAYS_COUNT; i = next_member_in(all, i + 1))
        jr_json_rows_schema(&members[i], 1, properties,
                            (row->says >> i & 1) != 0 ? required : NULL);
    jr_json_set_str(schema, "description", row->help);
    jr_json_set(schema, "required", required);
    jr_json_set(schema, "properties", properties);
    return schema;
}

void jr_schema_events(struct jr_buf *out)
{
    static const struct jr_json_row common[] = {
        {"time", "RFC 3339.",
         .shape.text =
             "{\"type\": \"string\", \"pattern\": "
             "\"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\\\.[0-9]{3}Z$\"}"},
        {"ns", "Of the monotonic clock: times of the same boot can be subtracted.",
         .shape.text = JR_SHAPE_COUNT},
        {"event", .shape.text = JR_SHAPE_TEXT},
    };
    json_t *schema = json_object(), *events = json_array();
    json_t *properties = json_object(), *required = json_array();
    jr_json_set_str(schema, "$schema", "https://json-schema.org/draft/2020-12/schema");
    jr_json_set_str(schema, "$id", "events-v1.schema.json");
    jr_json_set_str(schema, "title", "An event of a jobrun run, version 1");
    jr_json_set_str(schema, "description",
                    "A line of events.jsonl of a run folder: what happened, in the order in "
                    "which jobrun saw it. A reader ignores events and keys that it does not know.");
    jr_json_set_str(schema, "type", "object");
    jr_json_rows_schema(common, COUNT(common), properties, required);
    jr_json_rows_schema(&members[JR_SAYS_NODE], 1, properties, NULL);
    for (size_t i = 1; i < COUNT(rows); i++)
        jr_json_append(events, row_schema(&rows[i]));
    jr_json_set(schema, "required", required);
    jr_json_set(schema, "properties", properties);
    jr_json_set(schema, "oneOf", events);
    jr_json_print(out, schema, 2);
    jr_buf_char(out, '\n');
    json_decref(schema);
}

/* The log. */

#define FLUSH_AT (64U << 10) /* bytes that do not wait for an idle moment */

void jr_events_open(struct jr_events *events, int dir_fd, mode_t mode)
{
    struct stat st;
    JR_CLOSE int fd = openat(
        dir_fd, "events.jsonl",
        O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode);
    bool plain = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    *events = (struct jr_events){.fd = plain ? jr_steal_fd(&fd) : -1};
}

void jr_events_open_fd(struct jr_events *events, int fd, int least)
{
    *events = (struct jr_events){.fd = fcntl(fd, F_DUPFD_CLOEXEC, least)};
}

void jr_events_add_at(struct jr_events *events, const struct jr_event *event, uint64_t wall_ns,
                      uint64_t ns)
{
    struct jr_event timed = *event;
    if (events->fd < 0)
        return;
    timed.wall_ns = wall_ns;
    timed.ns = ns;
    jr_event_put(&events->lines, &timed);
    if (events->lines.len >= FLUSH_AT)
        jr_events_flush(events);
}

void jr_events_add(struct jr_events *events, const struct jr_event *event)
{
    jr_events_add_at(events, event, jr_clock_wall_ns(), jr_clock_ns());
}

void jr_events_add_line(struct jr_events *events, const struct jr_buf *line)
{
    if (events->fd >= 0 && !line->failed)
        jr_buf_add(&events->lines, line->data, line->len);
}

void jr_events_flush(struct jr_events *events)
{
    (void)jr_io_write_all(events->fd, events->lines.data, events->lines.len);
    jr_buf_clear(&events->lines);
}

void jr_events_close(struct jr_events *events)
{
    jr_events_flush(events);
    jr_buf_release(&events->lines);
    jr_close_fd(&events->fd);
}
