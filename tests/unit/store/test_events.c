#include "store/events.h"
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json.h"
#include "scratch.h"

#define NAME(name, word, says, may, kind, told, help) JR_EVENT_##name,
static const enum jr_event_name names[] = {JR_EVENTS(NAME)};
#define NAMES (sizeof names / sizeof *names)

TEST(writes_lines_of_json)
{
    char folder[] = "/tmp/jobrun-events-XXXXXX";
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    int dir = open(folder, O_RDONLY | O_DIRECTORY);
    struct jr_events events;
    struct jr_buf held = JR_BUF_INIT;
    jr_events_open(&events, dir, 0600);
    jr_events_add(&events, &(struct jr_event){
                               .name = JR_EVENT_RANK_STARTED, .rank = 3, .pid = 42, .left = 5});
    CU_ASSERT_TRUE(jr_io_read_file(&held, dir, "events.jsonl", 4096, NULL) == 0 && held.len == 0);
    jr_events_flush(&events);
    jr_events_flush(&events);
    jr_events_close(&events);
    /* A second writer, the guard, adds to it. */
    jr_events_open(&events, dir, 0600);
    jr_events_add(&events, &(struct jr_event){.name = JR_EVENT_GUARD_LOST});
    jr_events_close(&events);
    jr_buf_clear(&held);
    CU_ASSERT_EQUAL(jr_io_read_file(&held, dir, "events.jsonl", 4096, NULL), 0);
    char *end = strchr(held.data, '\n');
    CU_ASSERT_PTR_NOT_NULL_FATAL(end);
    json_t *first = jr_json_parse(held.data, (size_t)(end - held.data), NULL);
    json_t *second = jr_json_parse(end + 1, held.len - (size_t)(end + 2 - held.data), NULL);
    JR_ASSERT_TEXT(json_string_value(json_object_get(first, "event")), "rank_started");
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(first, "pid")), 42);
    CU_ASSERT_EQUAL(json_object_size(first), 5);
    CU_ASSERT_TRUE(json_integer_value(json_object_get(second, "ns")) >=
                   json_integer_value(json_object_get(first, "ns")));
    CU_ASSERT_EQUAL(json_object_size(second), 3);
    json_decref(first);
    json_decref(second);
    jr_buf_release(&held);
    (void)unlinkat(dir, "events.jsonl", 0);
    (void)close(dir);
    (void)rmdir(folder);
}

/* A copy of a descriptor, where others are not in its way. */
TEST(writes_to_a_copy)
{
    struct jr_events events;
    int ends[2];
    char text[256] = "";
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    jr_events_open_fd(&events, ends[1], 100);
    CU_ASSERT_TRUE(events.fd >= 100 && fcntl(events.fd, F_GETFD) == FD_CLOEXEC);
    (void)close(ends[1]);
    jr_events_add(&events, &(struct jr_event){.name = JR_EVENT_GUARD_LOST});
    jr_events_close(&events);
    CU_ASSERT_TRUE(read(ends[0], text, sizeof text - 1) > 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"guard_lost\""));
    CU_ASSERT_EQUAL(read(ends[0], text, sizeof text), 0);
    (void)close(ends[0]);
}

/* What is no event stands between the events as it is; a line that could not be made whole does
 * not. */
TEST(adds_lines_that_are_no_events)
{
    struct jr_events events, none = {.fd = -1};
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_buf failed = {.data = (char *)"half", .len = 4, .failed = true};
    char text[256] = "";
    SCRATCH(scratch);
    jr_events_open(&events, scratch.fd, 0600);
    jr_buf_str(&line, "{\"steps_of\": 3}\n");
    jr_events_add_line(&events, &line);
    jr_events_add_line(&events, &failed);
    jr_events_add(&events, &(struct jr_event){.name = JR_EVENT_GUARD_LOST});
    jr_events_close(&events);
    int fd = openat(scratch.fd, "events.jsonl", O_RDONLY);
    CU_ASSERT_TRUE(read(fd, text, sizeof text - 1) > 0);
    CU_ASSERT_EQUAL(strncmp(text, "{\"steps_of\": 3}\n{", 17), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"guard_lost\""));
    (void)close(fd);
    jr_events_add_line(&none, &line);
    CU_ASSERT_EQUAL(none.lines.len, 0);
}

TEST(knows_what_begins_an_end)
{
    CU_ASSERT_EQUAL(jr_event_kind(JR_EVENT_RANK_STARTED), JR_EVENT_IS_LIFE);
    CU_ASSERT_EQUAL(jr_event_kind(JR_EVENT_SIGNAL), JR_EVENT_IS_END);
    CU_ASSERT_EQUAL(jr_event_kind(JR_EVENT_TIMEOUT), JR_EVENT_IS_END);
    CU_ASSERT_EQUAL(jr_event_kind(JR_EVENT_STOP), 0);
}

TEST(does_without_a_file)
{
    struct jr_events events;
    jr_events_open(&events, -1, 0600);
    jr_events_add(&events, &(struct jr_event){.name = JR_EVENT_STOP});
    CU_ASSERT_EQUAL(events.lines.len, 0);
    jr_events_flush(&events);
    jr_events_close(&events);
    CU_ASSERT_EQUAL(events.fd, -1);
}

/* A rank could have put anything into the folder: what is no plain file is not written to, nor
 * waited for. */
TEST(writes_to_a_plain_file_only)
{
    struct jr_events events;
    SCRATCH(scratch);
    scratch_write(&scratch, "other", "");
    CU_ASSERT_EQUAL(symlinkat("other", scratch.fd, "events.jsonl"), 0);
    jr_events_open(&events, scratch.fd, 0600);
    CU_ASSERT_EQUAL(events.fd, -1);
    CU_ASSERT_EQUAL(unlinkat(scratch.fd, "events.jsonl", 0), 0);
    CU_ASSERT_EQUAL(mkfifoat(scratch.fd, "events.jsonl", 0600), 0);
    jr_events_open(&events, scratch.fd, 0600); /* that nobody reads */
    CU_ASSERT_EQUAL(events.fd, -1);
    int reader = openat(scratch.fd, "events.jsonl", O_RDONLY | O_NONBLOCK);
    jr_events_open(&events, scratch.fd, 0600);
    CU_ASSERT_EQUAL(events.fd, -1);
    (void)close(reader);
    CU_ASSERT_EQUAL(unlinkat(scratch.fd, "events.jsonl", 0), 0);
    jr_events_open(&events, scratch.fd, 0600);
    CU_ASSERT_TRUE(events.fd >= 0 && fcntl(events.fd, F_GETFD) == FD_CLOEXEC);
    jr_events_close(&events);
    CU_ASSERT_EQUAL(events.fd, -1);
    jr_events_close(&events); /* once more does no harm */
}

static struct jr_event read_event(const char *text)
{
    struct jr_event event;
    CU_ASSERT_TRUE_FATAL(jr_event_read(&event, text, strlen(text)));
    return event;
}

/* What happened at another time than now, as on another node. */
TEST(writes_the_times_that_it_is_given)
{
    struct jr_events events;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    SCRATCH(scratch);
    jr_events_open(&events, scratch.fd, 0600);
    jr_events_add_at(&events, &(struct jr_event){.name = JR_EVENT_STOP, .ns = 1, .wall_ns = 2},
                     UINT64_C(1800000000123000000), 5000000000);
    jr_events_close(&events);
    CU_ASSERT_EQUAL(jr_io_read_file(&text, scratch.fd, "events.jsonl", 4096, NULL), 0);
    struct jr_event got = read_event(text.data);
    CU_ASSERT_TRUE(got.ns == 5000000000 && got.wall_ns == UINT64_C(1800000000123000000));
}

/* Lines wait for an idle moment, but not more than 64 KiB of them. */
TEST(writes_many_lines_without_waiting)
{
    struct jr_events events;
    struct stat st;
    size_t most = 0;
    SCRATCH(scratch);
    jr_events_open(&events, scratch.fd, 0600);
    for (unsigned i = 0; i < 1000; i++) {
        jr_events_add(&events, &(struct jr_event){.name = JR_EVENT_STOP});
        most = events.lines.len > most ? events.lines.len : most;
    }
    CU_ASSERT_EQUAL(fstat(events.fd, &st), 0);
    CU_ASSERT_TRUE(st.st_size >= 64 << 10);
    CU_ASSERT_TRUE(most > 60 << 10 && most < 64 << 10);
    size_t rest = events.lines.len;
    off_t written = st.st_size;
    jr_events_flush(&events);
    CU_ASSERT_TRUE(events.lines.len == 0 && fstat(events.fd, &st) == 0);
    CU_ASSERT_EQUAL(st.st_size, written + (off_t)rest);
    jr_events_close(&events);
}

/* Each event, with members of its own, through a line and back. */
TEST(each_is_read_as_it_was_written)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        struct jr_buf again JR_BUF_CLEANUP = JR_BUF_INIT;
        struct jr_event event = {.name = names[i],
                                 .says = UINT32_MAX,
                                 .ns = 5000000000,
                                 .wall_ns = UINT64_C(1800000000123000000),
                                 .rank = 3,
                                 .pid = 42,
                                 .stream = 2,
                                 .exit_code = 7,
                                 .signal = 15,
                                 .returned = true,
                                 .stage = JR_STAGE_EXEC,
                                 .error = 28,
                                 .timeout = JR_TIMEOUT_EXIT,
                                 .injection = JR_INJECT_KILL,
                                 .signalled = 4,
                                 .running = 5,
                                 .attempt = 6,
                                 .wait_ms = 1500,
                                 .master_port = 29500,
                                 .processes = 8,
                                 .left = 9,
                                 .node = 10,
                                 .nodes = 11,
                                 .heard = 1ULL << 40,
                                 .told = 13};
        jr_event_put(&text, &event);
        struct jr_event got = read_event(text.data);
        CU_ASSERT_TRUE(got.name == names[i] && got.ns == event.ns && got.wall_ns == event.wall_ns);
        CU_ASSERT_NOT_EQUAL(got.says & JR_SAYS(NODE), 0);
        jr_event_put(&again, &got);
        JR_ASSERT_TEXT(again.data, text.data);
        CU_ASSERT_PTR_NOT_NULL(jr_event_words(names[i]));
    }
}

TEST(an_end_has_a_code_or_a_signal)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_event_put(&text, &(struct jr_event){
                            .name = JR_EVENT_RANK_ENDED, .pid = 1, .exit_code = -1, .signal = 64});
    CU_ASSERT_PTR_NOT_NULL(strstr(text.data, "\"exit_code\":null,\"signal\":\"SIGRTMIN+30\"}\n"));
    struct jr_event got = read_event(text.data);
    CU_ASSERT_EQUAL(got.signal, 64);
    CU_ASSERT_EQUAL(got.says & JR_SAYS(EXIT_CODE), 0);
    CU_ASSERT_EQUAL(got.exit_code, -1);
    jr_buf_clear(&text);
    jr_event_put(&text, &(struct jr_event){.name = JR_EVENT_RANK_ENDED, .pid = 1});
    CU_ASSERT_PTR_NOT_NULL(strstr(text.data, "\"exit_code\":0,\"signal\":null}\n"));
}

TEST(what_it_may_say_is_said_where_it_is_meant)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_event_put(&text, &(struct jr_event){.name = JR_EVENT_TIMEOUT, .timeout = JR_TIMEOUT_RUN});
    CU_ASSERT_PTR_NOT_NULL(strstr(text.data, "\"timeout\":\"run\"}\n"));
    CU_ASSERT_EQUAL(read_event(text.data).says, JR_SAYS(TIMEOUT));
    jr_buf_clear(&text);
    jr_event_put(&text, &(struct jr_event){.name = JR_EVENT_TIMEOUT,
                                           .says = JR_SAYS(RANK),
                                           .timeout = JR_TIMEOUT_EXIT});
    CU_ASSERT_EQUAL(read_event(text.data).says, JR_SAYS(TIMEOUT) | JR_SAYS(RANK));
}

/* What earlier builds wrote, a head among them, and what none did. */
TEST(odd_lines_are_read_as_far_as_they_go)
{
    struct jr_event event =
        read_event("{\"event\": \"rank_ended\", \"ns\": 7, \"rank\": 3, \"pid\": 5, "
                   "\"exit_code\": 1, \"signal\": null, \"node\": 2, \"more\": [1]}");
    CU_ASSERT_TRUE(event.name == JR_EVENT_RANK_ENDED && event.rank == 3 && event.exit_code == 1);
    CU_ASSERT_TRUE(event.node == 2 && event.wall_ns == 0);
    event = read_event("{\"event\": \"of tomorrow\", \"rank\": 3}");
    CU_ASSERT_TRUE(event.name == JR_EVENT_UNKNOWN && jr_event_words(event.name) == NULL);
    CU_ASSERT_EQUAL(jr_event_kind(event.name), 0);
    event = read_event("{\"event\": \"rank_started\", \"rank\": -1, \"pid\": 1e3, \"ns\": \"7\"}");
    CU_ASSERT_TRUE(event.says == 0 && event.ns == 0);
    event = read_event("{\"event\": \"timeout\", \"timeout\": \"none\"}");
    CU_ASSERT_EQUAL(event.says, 0);
    static const char *const none[] = {"",    "{", "[]", "{}", "{\"event\": 1}", "{\"ns\": 1}",
                                       "null"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        CU_ASSERT_FALSE(jr_event_read(&event, none[i], strlen(none[i])));
}

/* The lines and their schema are of one table: what is written is what the schema promises, and
 * what is read is what can be written. */

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

TEST(the_schema_has_the_keys_that_are_written)
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
TEST(the_schema_says_what_it_is_of)
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
TEST(no_value_is_taken_that_is_none)
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

TEST(values_at_their_ends_are_taken)
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
        CU_ASSERT_TRUE(event.says == vectors[i].says && event.ns == want->ns);
        CU_ASSERT_EQUAL(event.rank, want->rank);
        CU_ASSERT_TRUE((event.says & JR_SAYS(EXIT_CODE)) == 0 ||
                       event.exit_code == want->exit_code);
        CU_ASSERT_TRUE(event.signal == want->signal && event.heard == want->heard);
        CU_ASSERT_EQUAL(event.wait_ms, want->wait_ms);
    }
}

/* Each word of an enum, the first and the last among them. */
TEST(words_are_read_as_they_were_written)
{
#define TIMEOUT(name, word)      JR_TIMEOUT_##name,
#define INJECT(name, word, help) JR_INJECT_##name,
    static const enum jr_timeout timeouts[] = {JR_TIMEOUTS(TIMEOUT)};
    static const enum jr_inject injects[] = {JR_INJECTS(INJECT)};
    struct jr_event got, event = full_event(JR_EVENT_TIMEOUT, 0);
    for (size_t i = 1; i < sizeof timeouts / sizeof *timeouts; i++) {
        event.timeout = timeouts[i];
        json_t *line = written(&event);
        CU_ASSERT_TRUE(jr_event_of(&got, line) && got.timeout == timeouts[i]);
        CU_ASSERT_EQUAL(got.says & JR_SAYS(TIMEOUT), JR_SAYS(TIMEOUT));
        json_decref(line);
    }
    event = full_event(JR_EVENT_INJECTED, 0);
    for (size_t i = 0; i < sizeof injects / sizeof *injects; i++) {
        event.injection = injects[i];
        json_t *line = written(&event);
        CU_ASSERT_TRUE(jr_event_of(&got, line) && got.injection == injects[i]);
        CU_ASSERT_EQUAL(got.says & JR_SAYS(INJECTION), JR_SAYS(INJECTION));
        json_decref(line);
    }
}

TEST(flags_are_true_false_or_not_said)
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
