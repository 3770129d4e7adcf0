#include "store/event_line.h"

#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/json_row.h"
#include "base/names.h"

#include "base/banned.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* How a member is stored, and written. */
enum form {
    NUMBER32,
    NUMBER64,
    SIGNED, /* negative: null */
    FLAG,
    NAMED,   /* a signal by its name; 0: null */
    WORD,    /* an enum by the words of the shape, from `first` on */
    SECONDS, /* from milliseconds */
};

struct member {
    const char *key;
    enum form form;
    size_t at;
    struct jr_json_shape shape;
    int32_t first; /* WORD: the enum's value of the first word */
    const char *help;
};

#define WORD_OF(name, word)           word,
#define INJECT_WORD(name, word, help) word,
static const char *const timeouts[] = {JR_TIMEOUTS(WORD_OF)};
static const char *const problems[] = {JR_STEP_PROBLEMS(WORD_OF)};
static const char *const injects[] = {JR_INJECTS(INJECT_WORD)};

#define AT(name) offsetof(struct jr_event, name)
#define TEXT(schema)                                                                               \
    {                                                                                              \
        .text = (schema)                                                                           \
    }
#define TEXT_OR_NULL(schema)                                                                       \
    {                                                                                              \
        .text = (schema), .null = true                                                             \
    }
#define PID    "{\"type\": \"integer\", \"minimum\": 1}"
#define PORT   "{\"type\": \"integer\", \"minimum\": 0, \"maximum\": 65535}"
#define STREAM "{\"enum\": [1, 2]}"

_Static_assert(sizeof(enum jr_stage) == sizeof(uint32_t) &&
                   sizeof(enum jr_timeout) == sizeof(uint32_t) &&
                   sizeof(enum jr_inject) == sizeof(uint32_t) &&
                   sizeof(enum jr_step_problem) == sizeof(uint32_t),
               "enums are read and written as uint32_t");

static const struct member members[] = {
    [JR_SAYS_RANK] = {"rank", NUMBER32, AT(rank), TEXT(JR_SHAPE_COUNT), 0, NULL},
    [JR_SAYS_PID] = {"pid", NUMBER32, AT(pid), TEXT(PID), 0, NULL},
    [JR_SAYS_STREAM] = {"stream", NUMBER32, AT(stream), TEXT(STREAM), 0, "1 stdout, 2 stderr."},
    [JR_SAYS_EXIT_CODE] = {"exit_code", SIGNED, AT(exit_code), TEXT_OR_NULL(JR_SHAPE_CODE), 0,
                           "null: it died by the signal."},
    [JR_SAYS_EXIT_SIGNAL] = {"signal", NAMED, AT(signal), TEXT_OR_NULL(JR_SHAPE_SIGNAL), 0,
                             "null: it exited with the code."},
    [JR_SAYS_SIGNAL] = {"signal", NAMED, AT(signal), TEXT(JR_SHAPE_SIGNAL), 0, NULL},
    [JR_SAYS_RETURNED] = {"returned", FLAG, AT(returned), TEXT(JR_SHAPE_FLAG), 0, NULL},
    [JR_SAYS_STAGE] = {"stage", NUMBER32, AT(stage), TEXT(PID), 0, "The step that failed."},
    [JR_SAYS_START_ERRNO] = {"errno", NUMBER32, AT(error), TEXT(JR_SHAPE_COUNT), 0,
                             "0: the error did not come from the system."},
    [JR_SAYS_ERRNO] = {"errno", NUMBER32, AT(error), TEXT(PID), 0, "As numbered on this machine."},
    [JR_SAYS_TIMEOUT] = {"timeout",
                         WORD,
                         AT(timeout),
                         {.words = timeouts + 1, .words_count = COUNT(timeouts) - 1},
                         1,
                         "The field of `timeouts`."},
    [JR_SAYS_SIGNALLED] = {"signalled", NUMBER32, AT(signalled), TEXT(JR_SHAPE_COUNT), 0,
                           "How many ranks were sent the signal of `on_hang`."},
    [JR_SAYS_RUNNING] = {"running", NUMBER32, AT(running), TEXT(JR_SHAPE_COUNT), 0, NULL},
    [JR_SAYS_INJECTION] =
        {"injection",
         WORD,
         AT(injection),
         {.words = injects, .words_count = COUNT(injects)},
         0,
         NULL},
    [JR_SAYS_ATTEMPT] = {"attempt", NUMBER32, AT(attempt), TEXT(JR_SHAPE_COUNT), 0, NULL},
    [JR_SAYS_WAIT] = {"wait", SECONDS, AT(wait_ms), TEXT(JR_SHAPE_SECONDS), 0,
                      "Seconds until the next attempt."},
    [JR_SAYS_MASTER_PORT] = {"master_port", NUMBER32, AT(master_port), TEXT(PORT), 0, NULL},
    [JR_SAYS_PROCESSES] = {"processes", NUMBER32, AT(processes), TEXT(JR_SHAPE_COUNT), 0,
                           "How many were killed."},
    [JR_SAYS_LEFT] = {"left", NUMBER32, AT(left), TEXT(JR_SHAPE_COUNT), 0,
                      "How many could not be killed."},
    [JR_SAYS_NODE] = {"node", NUMBER32, AT(node), TEXT(JR_SHAPE_COUNT), 0,
                      "With several nodes under one jobrun, the node where it "
                      "happened; times are converted to jobrun's clock."},
    [JR_SAYS_NODES] = {"nodes", NUMBER32, AT(nodes), TEXT(JR_SHAPE_COUNT), 0, NULL},
    [JR_SAYS_HEARD] = {"heard", NUMBER64, AT(heard), TEXT(JR_SHAPE_COUNT), 0, "Bytes."},
    [JR_SAYS_TOLD] = {"told", NUMBER64, AT(told), TEXT(JR_SHAPE_COUNT), 0,
                      "How many bytes every agent was sent."},
    [JR_SAYS_PROBLEM] =
        {"problem",
         WORD,
         AT(problem),
         {.words = problems, .words_count = COUNT(problems)},
         0,
         "What the warning is about; `progress` of results.json has its words."},
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

static const void *member_address(const struct jr_event *event, const struct member *member)
{
    return (const char *)event + member->at;
}

static void put_quoted(struct jr_buf *out, const char *text)
{
    jr_buf_char(out, '"');
    jr_buf_str(out, text);
    jr_buf_char(out, '"');
}

static void put_event_signal(struct jr_buf *out, int32_t number)
{
    char name[JR_SIGNAL_NAME];
    if (number == 0) {
        jr_buf_str(out, "null");
        return;
    }
    jr_signal_name(name, number);
    put_quoted(out, name);
}

static void put_value(struct jr_buf *out, const struct member *member, const void *at)
{
    const uint32_t *number = at;
    switch (member->form) {
    case NUMBER32:
        jr_buf_u64(out, *number);
        break;
    case NUMBER64:
        jr_buf_u64(out, *(const uint64_t *)at);
        break;
    case SIGNED:
        if (*(const int32_t *)at < 0)
            jr_buf_str(out, "null");
        else
            jr_buf_u64(out, *number);
        break;
    case FLAG:
        jr_buf_str(out, *(const bool *)at ? "true" : "false");
        break;
    case NAMED:
        put_event_signal(out, *(const int32_t *)at);
        break;
    case WORD:
        put_quoted(out, member->shape.words[(int32_t)*number - member->first]);
        break;
    case SECONDS:
        jr_buf_printf(out, "%.15g", (double)*(const uint64_t *)at / 1e3);
        break;
    }
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
        put_value(out, &members[i], member_address(event, &members[i]));
    }
    jr_buf_str(out, "}\n");
}

/* The value of a word; -1: it is not one. */
static int32_t find_member_word(const struct member *member, const json_t *value)
{
    const char *word = json_string_value(value);
    for (size_t i = 0; word != NULL && i < member->shape.words_count; i++)
        if (strcmp(member->shape.words[i], word) == 0)
            return (int32_t)i + member->first;
    return -1;
}

static bool get_event_number(uint64_t *ret, const json_t *value, uint64_t most)
{
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < 0 || (uint64_t)number > most)
        return false;
    *ret = (uint64_t)number;
    return true;
}

static bool get_u32(void *at, const json_t *value)
{
    uint64_t number = 0;
    if (!get_event_number(&number, value, INT32_MAX))
        return false;
    *(uint32_t *)at = (uint32_t)number;
    return true;
}

static bool get_event_word(const struct member *member, void *at, const json_t *value)
{
    int32_t found = find_member_word(member, value);
    if (found >= 0)
        *(uint32_t *)at = (uint32_t)found;
    return found >= 0;
}

static bool get_event_millis(uint64_t *ret, const json_t *value)
{
    *ret = jr_clock_ns_of(json_number_value(value)) / UINT64_C(1000000);
    return json_is_number(value);
}

/* Read a member; false, and it is not said, if it is not one. */
static bool get_value(const struct member *member, void *at, const json_t *value)
{
    switch (member->form) {
    case NUMBER32:
    case SIGNED:
        return get_u32(at, value);
    case NUMBER64:
        return get_event_number(at, value, INT64_MAX);
    case FLAG:
        *(bool *)at = json_is_true(value);
        return json_is_boolean(value);
    case NAMED:
        if (json_is_string(value))
            *(int32_t *)at = jr_signal_of(json_string_value(value));
        return *(int32_t *)at != 0;
    case WORD:
        return get_event_word(member, at, value);
    case SECONDS:
        return get_event_millis(at, value);
    }
    return false;
}

static enum jr_event_name event_of_name(const char *word)
{
    for (size_t i = 1; i < COUNT(rows); i++)
        if (strcmp(rows[i].word, word) == 0)
            return (enum jr_event_name)i;
    return JR_EVENT_UNKNOWN;
}

bool jr_event_of(struct jr_event *ret, const json_t *line)
{
    const char *word = jr_json_get_str(line, "event");
    const char *time = jr_json_get_str(line, "time");
    *ret = (struct jr_event){.exit_code = -1};
    if (word == NULL)
        return false;
    (void)get_event_number(&ret->ns, json_object_get(line, "ns"), INT64_MAX);
    ret->name = event_of_name(word);
    ret->wall_ns = time == NULL ? 0 : jr_clock_ns_of(jr_clock_of_rfc3339(time));
    uint32_t may = rows[ret->name].says | rows[ret->name].may | JR_SAYS(NODE);
    for (unsigned i = next_member_in(may, 0); i < JR_SAYS_COUNT; i = next_member_in(may, i + 1)) {
        void *at = (char *)ret + members[i].at;
        if (get_value(&members[i], at, json_object_get(line, members[i].key)))
            ret->says |= UINT32_C(1) << i;
    }
    return true;
}

bool jr_event_read(struct jr_event *ret, const char *line, size_t len)
{
    json_t *json = jr_json_parse(line, len, NULL);
    bool is_event = jr_event_of(ret, json);
    json_decref(json);
    return is_event;
}

static void add_event_member(json_t *properties, json_t *required, enum jr_event_member i)
{
    jr_json_shape_add(properties, required, members[i].key,
                      jr_json_shape_schema(&members[i].shape, members[i].help));
}

static json_t *row_schema(const struct row *row)
{
    json_t *schema = json_object(), *event = json_object();
    json_t *properties = json_object(), *required = json_array();
    uint32_t all = row->says | row->may;
    jr_json_set_str(event, "const", row->word);
    jr_json_set(properties, "event", event);
    for (unsigned i = next_member_in(all, 0); i < JR_SAYS_COUNT; i = next_member_in(all, i + 1))
        add_event_member(properties, (row->says >> i & 1) != 0 ? required : NULL,
                         (enum jr_event_member)i);
    jr_json_set_str(schema, "description", row->help);
    jr_json_set(schema, "required", required);
    jr_json_set(schema, "properties", properties);
    return schema;
}

/* What all events say. */
static void add_common(json_t *properties, json_t *required)
{
    static const struct jr_json_shape time = {
        .text = "{\"type\": \"string\", \"pattern\": "
                "\"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\\\.[0-9]{3}Z$\"}"};
    static const struct jr_json_shape number = {.text = JR_SHAPE_COUNT};
    static const struct jr_json_shape word = {.text = JR_SHAPE_TEXT};
    jr_json_shape_add(properties, required, "time", jr_json_shape_schema(&time, "RFC 3339."));
    jr_json_shape_add(properties, required, "ns",
                      jr_json_shape_schema(&number, "Of the monotonic clock: times of the "
                                                    "same boot can be subtracted."));
    jr_json_shape_add(properties, required, "event", jr_json_shape_schema(&word, NULL));
    add_event_member(properties, NULL, JR_SAYS_NODE);
}

void jr_schema_events(struct jr_buf *out)
{
    json_t *schema = json_object(), *events = json_array();
    json_t *properties = json_object(), *required = json_array();
    jr_json_set_str(schema, "$schema", "https://json-schema.org/draft/2020-12/schema");
    jr_json_set_str(schema, "$id", "events-v1.schema.json");
    jr_json_set_str(schema, "title", "An event of a jobrun run, version 1");
    jr_json_set_str(schema, "description",
                    "A line of events.jsonl of a run folder: what happened, in the order in "
                    "which jobrun saw it. A reader ignores events and keys that it does not know.");
    jr_json_set_str(schema, "type", "object");
    add_common(properties, required);
    for (size_t i = 1; i < COUNT(rows); i++)
        jr_json_append(events, row_schema(&rows[i]));
    jr_json_set(schema, "required", required);
    jr_json_set(schema, "properties", properties);
    jr_json_set(schema, "oneOf", events);
    jr_json_print(out, schema, 2);
    jr_buf_char(out, '\n');
    json_decref(schema);
}
