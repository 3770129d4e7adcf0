#include "events.h"
#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "io.h"
#include "json.h"

static void writes_lines_of_json(void)
{
    char folder[] = "/tmp/jobrun-events-XXXXXX";
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    int dir = open(folder, O_RDONLY | O_DIRECTORY);
    struct jr_events events;
    struct jr_buf held = JR_BUF_INIT;
    jr_events_open(&events, dir, 0600);
    jr_events_add(&events, "rank_started", "\"rank\":%d,\"pid\":%d", 3, 42);
    CU_ASSERT_EQUAL(jr_io_read_file(&held, dir, "events.jsonl", 4096, NULL), 0);
    CU_ASSERT_EQUAL(held.len, 0);
    jr_events_flush(&events);
    jr_events_flush(&events);
    jr_events_close(&events);
    /* A second writer, the guard, adds to it. */
    jr_events_open(&events, dir, 0600);
    jr_events_add(&events, "runner_lost", "%s", "");
    jr_events_close(&events);
    jr_buf_clear(&held);
    CU_ASSERT_EQUAL(jr_io_read_file(&held, dir, "events.jsonl", 4096, NULL), 0);
    char *end = strchr(held.data, '\n');
    CU_ASSERT_PTR_NOT_NULL_FATAL(end);
    json_t *first = jr_json_parse(held.data, (size_t)(end - held.data), NULL);
    json_t *second =
        jr_json_parse(end + 1, held.len - (size_t)(end + 2 - held.data), NULL);
    JR_ASSERT_TEXT(json_string_value(json_object_get(first, "event")),
                   "rank_started");
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

static void does_without_a_file(void)
{
    struct jr_events events;
    jr_events_open(&events, -1, 0600);
    jr_events_add(&events, "stop", "%s", "");
    CU_ASSERT_EQUAL(events.lines.len, 0);
    jr_events_flush(&events);
    jr_events_close(&events);
    CU_ASSERT_EQUAL(events.fd, -1);
}

static void signals_are_told_by_name(void)
{
    char text[JR_EVENTS_SIGNAL];
    JR_ASSERT_TEXT(jr_events_signal(text, 0), "null");
    JR_ASSERT_TEXT(jr_events_signal(text, 15), "\"SIGTERM\"");
    JR_ASSERT_TEXT(jr_events_signal(text, 64), "\"SIGRTMIN+30\"");
}

JR_UNIT_MAIN("events", CASE(writes_lines_of_json), CASE(does_without_a_file),
             CASE(signals_are_told_by_name))
