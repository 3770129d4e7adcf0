#include "store/events.h"
#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json.h"
#include "scratch.h"

static void writes_lines_of_json(void)
{
    char folder[] = "/tmp/jobrun-events-XXXXXX";
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    int dir = open(folder, O_RDONLY | O_DIRECTORY);
    struct jr_events events;
    struct jr_buf held = JR_BUF_INIT;
    jr_events_open(&events, dir, 0600);
    jr_events_add(&events, &(struct jr_event){
                               .name = JR_EVENT_RANK_STARTED, .rank = 3, .pid = 42, .left = 5});
    CU_ASSERT_EQUAL(jr_io_read_file(&held, dir, "events.jsonl", 4096, NULL), 0);
    CU_ASSERT_EQUAL(held.len, 0);
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
static void writes_to_a_copy(void)
{
    struct jr_events events;
    int ends[2];
    char text[256] = "";
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    jr_events_open_fd(&events, ends[1], 100);
    CU_ASSERT_TRUE(events.fd >= 100);
    CU_ASSERT_EQUAL(fcntl(events.fd, F_GETFD), FD_CLOEXEC);
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
static void adds_lines_that_are_no_events(void)
{
    struct scratch scratch;
    struct jr_events events, none = {.fd = -1};
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_buf failed = {.data = (char *)"half", .len = 4, .failed = true};
    char text[256] = "";
    scratch_start(&scratch);
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
    scratch_end(&scratch);
}

static void knows_what_begins_an_end(void)
{
    CU_ASSERT_EQUAL(jr_event_kind(JR_EVENT_RANK_STARTED), JR_EVENT_IS_LIFE);
    CU_ASSERT_EQUAL(jr_event_kind(JR_EVENT_SIGNAL), JR_EVENT_IS_END);
    CU_ASSERT_EQUAL(jr_event_kind(JR_EVENT_TIMEOUT), JR_EVENT_IS_END);
    CU_ASSERT_EQUAL(jr_event_kind(JR_EVENT_STOP), 0);
}

static void does_without_a_file(void)
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
static void writes_to_a_plain_file_only(void)
{
    struct scratch scratch;
    struct jr_events events;
    scratch_start(&scratch);
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
    CU_ASSERT_TRUE(events.fd >= 0);
    CU_ASSERT_EQUAL(fcntl(events.fd, F_GETFD), FD_CLOEXEC);
    jr_events_close(&events);
    CU_ASSERT_EQUAL(events.fd, -1);
    jr_events_close(&events); /* once more does no harm */
    scratch_end(&scratch);
}

static struct jr_event read_event(const char *text)
{
    struct jr_event event;
    CU_ASSERT_TRUE_FATAL(jr_event_read(&event, text, strlen(text)));
    return event;
}

/* What happened at another time than now, as on another node. */
static void writes_the_times_that_it_is_given(void)
{
    struct scratch scratch;
    struct jr_events events;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    scratch_start(&scratch);
    jr_events_open(&events, scratch.fd, 0600);
    jr_events_add_at(&events, &(struct jr_event){.name = JR_EVENT_STOP, .ns = 1, .wall_ns = 2},
                     UINT64_C(1800000000123000000), 5000000000);
    jr_events_close(&events);
    CU_ASSERT_EQUAL(jr_io_read_file(&text, scratch.fd, "events.jsonl", 4096, NULL), 0);
    struct jr_event got = read_event(text.data);
    CU_ASSERT_EQUAL(got.ns, 5000000000);
    CU_ASSERT_EQUAL(got.wall_ns, UINT64_C(1800000000123000000));
    scratch_end(&scratch);
}

/* Lines wait for an idle moment, but not more than 64 KiB of them. */
static void writes_many_lines_without_waiting(void)
{
    struct scratch scratch;
    struct jr_events events;
    struct stat st;
    size_t most = 0;
    scratch_start(&scratch);
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
    CU_ASSERT_EQUAL(events.lines.len, 0);
    CU_ASSERT_EQUAL(fstat(events.fd, &st), 0);
    CU_ASSERT_EQUAL(st.st_size, written + (off_t)rest);
    jr_events_close(&events);
    scratch_end(&scratch);
}

/* Each event, with members of its own, through a line and back. */
static void each_is_read_as_it_was_written(void)
{
#define NAME(name, word, says, may, kind, told, help) JR_EVENT_##name,
    static const enum jr_event_name names[] = {JR_EVENTS(NAME)};
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
        CU_ASSERT_EQUAL(got.name, names[i]);
        CU_ASSERT_EQUAL(got.ns, event.ns);
        CU_ASSERT_EQUAL(got.wall_ns, event.wall_ns);
        CU_ASSERT_NOT_EQUAL(got.says & JR_SAYS(NODE), 0);
        jr_event_put(&again, &got);
        JR_ASSERT_TEXT(again.data, text.data);
        CU_ASSERT_PTR_NOT_NULL(jr_event_words(names[i]));
    }
}

static void an_end_has_a_code_or_a_signal(void)
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

static void what_it_may_say_is_said_where_it_is_meant(void)
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
static void odd_lines_are_read_as_far_as_they_go(void)
{
    struct jr_event event =
        read_event("{\"event\": \"rank_ended\", \"ns\": 7, \"rank\": 3, \"pid\": 5, "
                   "\"exit_code\": 1, \"signal\": null, \"node\": 2, \"more\": [1]}");
    CU_ASSERT_EQUAL(event.name, JR_EVENT_RANK_ENDED);
    CU_ASSERT_EQUAL(event.rank, 3);
    CU_ASSERT_EQUAL(event.exit_code, 1);
    CU_ASSERT_EQUAL(event.node, 2);
    CU_ASSERT_EQUAL(event.wall_ns, 0);
    event = read_event("{\"event\": \"of tomorrow\", \"rank\": 3}");
    CU_ASSERT_EQUAL(event.name, JR_EVENT_UNKNOWN);
    CU_ASSERT_PTR_NULL(jr_event_words(event.name));
    CU_ASSERT_EQUAL(jr_event_kind(event.name), 0);
    event = read_event("{\"event\": \"rank_started\", \"rank\": -1, \"pid\": 1e3, \"ns\": \"7\"}");
    CU_ASSERT_EQUAL(event.says, 0);
    CU_ASSERT_EQUAL(event.ns, 0);
    event = read_event("{\"event\": \"timeout\", \"timeout\": \"none\"}");
    CU_ASSERT_EQUAL(event.says, 0);
    static const char *const none[] = {"",    "{", "[]", "{}", "{\"event\": 1}", "{\"ns\": 1}",
                                       "null"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        CU_ASSERT_FALSE(jr_event_read(&event, none[i], strlen(none[i])));
}

JR_UNIT_MAIN("events", CASE(writes_to_a_copy), CASE(adds_lines_that_are_no_events),
             CASE(knows_what_begins_an_end), CASE(writes_lines_of_json), CASE(does_without_a_file),
             CASE(writes_to_a_plain_file_only), CASE(writes_the_times_that_it_is_given),
             CASE(writes_many_lines_without_waiting), CASE(each_is_read_as_it_was_written),
             CASE(an_end_has_a_code_or_a_signal), CASE(what_it_may_say_is_said_where_it_is_meant),
             CASE(odd_lines_are_read_as_far_as_they_go))
