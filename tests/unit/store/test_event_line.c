/* The lines of events.jsonl and their schema are of one table: what is written is what the schema
 * promises, and what is read is what can be written. */
#include "store/event_line.h"

#include <signal.h>

#include "unit.h"

#define NAME(name, word, says, may, kind, told, help) JR_EVENT_##name,
static const enum jr_event_name names[] = {JR_EVENTS(NAME)};
#define NAMES (sizeof names / sizeof *names)

/* An event that says something for each member. */
static struct jr_event full_event(enum jr_event_name name, uint32_t says)
{
    return (struct jr_event){.name = name,
                             .says = says,
                             .ns = 1,
                             .wall_ns = UINT64_C(1800000000123000000),
                             .rank = 3,
                             .pid = 42,
                             .stream = 2,
                             .exit_code = 7,
                             .signal = SIGTERM,
                             .stage = JR_STAGE_EXEC,
                             .error = 28,
                             .timeout = JR_TIMEOUT_RUN,
                             .node = 4};
}

static json_t *written(const struct jr_event *event)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_event_put(&text, event);
    json_t *line = jr_json_parse(text.data, text.len, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    return line;
}

static json_t *schema_of_events(void)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_schema_events(&text);
    CU_ASSERT_EQUAL(text.data[text.len - 1], '\n');
    CU_ASSERT_PTR_NOT_NULL(strstr(text.data, "\n  \"oneOf\": ["));
    json_t *schema = jr_json_parse(text.data, text.len, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(schema);
    return schema;
}

static bool array_has(const json_t *array, const char *word)
{
    for (size_t i = 0; i < json_array_size(array); i++)
        if (strcmp(json_string_value(json_array_get(array, i)), word) == 0)
            return true;
    return false;
}

/* The keys of a line that neither the schema of all events nor that of this one has among what it
 * requires; the other way around where one is missing. */
static void check_required(const json_t *line, const json_t *common, const json_t *row)
{
    const json_t *all = json_object_get(common, "required");
    const json_t *own = json_object_get(row, "required");
    const char *key;
    json_t *value;
    CU_ASSERT_EQUAL(json_object_size(line), json_array_size(all) + json_array_size(own));
    json_object_foreach((json_t *)(uintptr_t)line, key, value)
        CU_ASSERT_TRUE(array_has(all, key) || array_has(own, key));
}

/* All that a line may say has its shape, and nothing else has. */
static void check_properties(const json_t *line, const json_t *common, const json_t *row)
{
    json_t *shapes = json_copy(json_object_get(common, "properties"));
    const char *key;
    json_t *value;
    CU_ASSERT_EQUAL(json_object_size(shapes), 4);
    (void)json_object_update(shapes, json_object_get(row, "properties"));
    CU_ASSERT_EQUAL(json_object_size(line), json_object_size(shapes));
    json_object_foreach((json_t *)(uintptr_t)line, key, value)
        CU_ASSERT_PTR_NOT_NULL(json_object_get(shapes, key));
    json_decref(shapes);
}

static void the_schema_has_the_keys_that_are_written(void)
{
    json_t *schema = schema_of_events();
    const json_t *rows = json_object_get(schema, "oneOf");
    CU_ASSERT_EQUAL_FATAL(json_array_size(rows), NAMES);
    for (size_t i = 0; i < NAMES; i++) {
        const json_t *row = json_array_get(rows, i);
        const json_t *event = json_object_get(json_object_get(row, "properties"), "event");
        struct jr_event least = full_event(names[i], 0);
        struct jr_event most = full_event(names[i], UINT32_MAX);
        json_t *short_line = written(&least), *long_line = written(&most);
        JR_ASSERT_TEXT(jr_json_get_str(event, "const"), jr_event_word(names[i]));
        JR_ASSERT_TEXT(jr_json_get_str(short_line, "event"), jr_event_word(names[i]));
        CU_ASSERT_PTR_NOT_NULL(jr_json_get_str(row, "description"));
        check_required(short_line, schema, row);
        check_properties(long_line, schema, row);
        json_decref(short_line);
        json_decref(long_line);
    }
    json_decref(schema);
}

/* What an editor shows to somebody who has the schema and not this source. */
static void the_schema_says_what_it_is_of(void)
{
    json_t *schema = schema_of_events();
    const json_t *properties = json_object_get(schema, "properties");
    JR_ASSERT_TEXT(jr_json_get_str(schema, "$schema"),
                   "https://json-schema.org/draft/2020-12/schema");
    JR_ASSERT_TEXT(jr_json_get_str(schema, "title"), "An event of a jobrun run, version 1");
    CU_ASSERT_PTR_NOT_NULL(jr_json_get_str(schema, "description"));
    JR_ASSERT_TEXT(jr_json_get_str(schema, "type"), "object");
    CU_ASSERT_PTR_NOT_NULL(
        strstr(jr_json_get_str(json_object_get(properties, "time"), "pattern"), "T[0-9]{2}:"));
    JR_ASSERT_TEXT(jr_json_get_str(json_object_get(properties, "ns"), "type"), "integer");
    JR_ASSERT_TEXT(jr_json_get_str(json_object_get(properties, "event"), "type"), "string");
    json_decref(schema);
}

/* Lines that say nothing of the member, by a value that it cannot have. */
static void no_value_is_taken_that_is_none(void)
{
    static const char *const lines[] = {
        "{\"event\": \"rank_started\", \"rank\": -1}",
        "{\"event\": \"rank_started\", \"rank\": 2147483648}",
        "{\"event\": \"rank_started\", \"rank\": \"3\"}",
        "{\"event\": \"rank_started\", \"rank\": 3.0}",
        "{\"event\": \"rank_started\", \"rank\": null}",
        "{\"event\": \"rank_started\", \"exit_code\": 3}",
        "{\"event\": \"rank_ended\", \"exit_code\": -1}",
        "{\"event\": \"rank_ended\", \"signal\": 15}",
        "{\"event\": \"rank_ended\", \"signal\": \"SIGNONSENSE\"}",
        "{\"event\": \"timeout\", \"timeout\": \"none\"}",
        "{\"event\": \"timeout\", \"timeout\": 1}",
        "{\"event\": \"injected\", \"injection\": \"nonsense\"}",
        "{\"event\": \"attempt_failed\", \"wait\": \"1\"}",
        "{\"event\": \"agents\", \"heard\": -1, \"told\": \"1\"}",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct jr_event event;
        CU_ASSERT_TRUE(jr_event_read(&event, lines[i], strlen(lines[i])));
        if (event.says != 0)
            printf("\n    %s", lines[i]);
        CU_ASSERT_EQUAL(event.says, 0);
        CU_ASSERT_TRUE(event.rank == 0 && event.exit_code == -1 && event.signal == 0 &&
                       event.heard == 0);
    }
}

static void values_at_their_ends_are_taken(void)
{
    static const struct {
        const char *line;
        uint32_t says;
        struct jr_event want;
    } vectors[] = {
        {"{\"event\": \"rank_started\", \"rank\": 0, \"ns\": 0}", JR_SAYS(RANK), {0}},
        {"{\"event\": \"rank_started\", \"rank\": 2147483647, \"ns\": 9223372036854775807}",
         JR_SAYS(RANK),
         {.rank = INT32_MAX, .ns = INT64_MAX}},
        {"{\"event\": \"rank_ended\", \"exit_code\": 0, \"signal\": null}",
         JR_SAYS(EXIT_CODE),
         {.exit_code = 0}},
        {"{\"event\": \"rank_ended\", \"signal\": \"SIGHUP\"}",
         JR_SAYS(EXIT_SIGNAL),
         {.exit_code = -1, .signal = SIGHUP}},
        {"{\"event\": \"agents\", \"heard\": 9223372036854775807, \"told\": 0}",
         JR_SAYS(HEARD) | JR_SAYS(TOLD),
         {.heard = INT64_MAX}},
        {"{\"event\": \"attempt_failed\", \"wait\": 0.0019}", JR_SAYS(WAIT), {.wait_ms = 1}},
        {"{\"event\": \"attempt_failed\", \"wait\": 2}", JR_SAYS(WAIT), {.wait_ms = 2000}},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const struct jr_event *want = &vectors[i].want;
        struct jr_event event;
        CU_ASSERT_TRUE(jr_event_read(&event, vectors[i].line, strlen(vectors[i].line)));
        CU_ASSERT_EQUAL(event.says, vectors[i].says);
        CU_ASSERT_EQUAL(event.ns, want->ns);
        CU_ASSERT_EQUAL(event.rank, want->rank);
        CU_ASSERT_TRUE((event.says & JR_SAYS(EXIT_CODE)) == 0 ||
                       event.exit_code == want->exit_code);
        CU_ASSERT_EQUAL(event.signal, want->signal);
        CU_ASSERT_EQUAL(event.heard, want->heard);
        CU_ASSERT_EQUAL(event.wait_ms, want->wait_ms);
    }
}

/* Each word of an enum, the first and the last among them. */
static void words_are_read_as_they_were_written(void)
{
#define TIMEOUT(name, word)      JR_TIMEOUT_##name,
#define INJECT(name, word, help) JR_INJECT_##name,
    static const enum jr_timeout timeouts[] = {JR_TIMEOUTS(TIMEOUT)};
    static const enum jr_inject injects[] = {JR_INJECTS(INJECT)};
    struct jr_event got, event = full_event(JR_EVENT_TIMEOUT, 0);
    for (size_t i = 1; i < sizeof timeouts / sizeof *timeouts; i++) {
        event.timeout = timeouts[i];
        json_t *line = written(&event);
        CU_ASSERT_TRUE(jr_event_of(&got, line));
        CU_ASSERT_EQUAL(got.timeout, timeouts[i]);
        CU_ASSERT_EQUAL(got.says & JR_SAYS(TIMEOUT), JR_SAYS(TIMEOUT));
        json_decref(line);
    }
    event = full_event(JR_EVENT_INJECTED, 0);
    for (size_t i = 0; i < sizeof injects / sizeof *injects; i++) {
        event.injection = injects[i];
        json_t *line = written(&event);
        CU_ASSERT_TRUE(jr_event_of(&got, line));
        CU_ASSERT_EQUAL(got.injection, injects[i]);
        CU_ASSERT_EQUAL(got.says & JR_SAYS(INJECTION), JR_SAYS(INJECTION));
        json_decref(line);
    }
}

static void flags_are_true_false_or_not_said(void)
{
    static const struct {
        const char *value;
        bool said, flag;
    } vectors[] = {{"1", false, false},
                   {"\"true\"", false, false},
                   {"null", false, false},
                   {"false", true, false},
                   {"true", true, true}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_event event;
        char line[80];
        (void)snprintf(line, sizeof line, "{\"event\": \"%s\", \"returned\": %s}",
                       jr_event_word(JR_EVENT_RANK_DONE), vectors[i].value);
        CU_ASSERT_TRUE(jr_event_read(&event, line, strlen(line)));
        CU_ASSERT_EQUAL((event.says & JR_SAYS(RETURNED)) != 0, vectors[i].said);
        CU_ASSERT_EQUAL(event.returned, vectors[i].flag);
    }
}

JR_UNIT_MAIN("event_line", CASE(no_value_is_taken_that_is_none),
             CASE(values_at_their_ends_are_taken), CASE(words_are_read_as_they_were_written),
             CASE(flags_are_true_false_or_not_said), CASE(the_schema_has_the_keys_that_are_written),
             CASE(the_schema_says_what_it_is_of))
