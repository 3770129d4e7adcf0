/* events.jsonl, drawn and told: what is read of it, and what is left out. */
#include "record/timeline.h"

#include "base/buf.h"
#include "scratch.h"
#include "quoted.h"

static void read_events(struct jr_timeline *ret, const char *text)
{
    SCRATCH(scratch);
    if (text != NULL)
        scratch_write(&scratch, "events.jsonl", text);
    jr_timeline_read(ret, scratch.fd);
}

/* The spans as "RANK START-END[ heard AT][ last]", ENDs of -1 are open. */
static void check_spans(const struct jr_timeline *timeline, const char *expected)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    for (size_t i = 0; i < timeline->span_count; i++) {
        const struct jr_stretch *span = &timeline->spans[i];
        jr_buf_printf(&text, "%s%u %g-%g", i == 0 ? "" : ", ", span->rank, span->started,
                      span->ended);
        if (span->heard >= 0)
            jr_buf_printf(&text, " heard %g", span->heard);
        jr_buf_str(&text, span->last ? " last" : "");
    }
    JR_ASSERT_TEXT(text.data == NULL ? "" : text.data, expected);
}

static void check_moments(const struct jr_timeline *timeline, const char *expected)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    for (size_t i = 0; i < timeline->moment_count; i++) {
        const struct jr_moment *moment = &timeline->moments[i];
        jr_buf_printf(&text, "%s%g: %s (%s)", i == 0 ? "" : "\n", moment->at, moment->words,
                      moment->text);
    }
    JR_ASSERT_TEXT(text.data == NULL ? "" : text.data, expected);
}

#define WALL                  "\"time\":\"2026-11-21T06:30:12.500Z\","
#define LINE(ns, event, more) "{" WALL "\"ns\":" ns ",\"event\":\"" event "\"" more "}\n"

TEST(what_is_no_event_is_left_out)
{
    static const struct {
        const char *text;
        bool partial;
    } vectors[] = {{NULL, true},
                   {"", false},
                   {"\n", true},
                   {"junk\n", true},
                   {"[1]\n", true},
                   {"{\"ns\": 5}\n", true},
                   {"{\"event\": \"kill\"}\n", true},
                   {"{\"event\": \"kill\", \"ns\": 0}\n", true},
                   {"{\"event\": \"kill\", \"ns\": -3}\n", true},
                   {"{\"event\": \"kill\", \"ns\": \"5\"}\n", true},
                   {"{\"event\": 7, \"ns\": 5}\n", true},
                   {LINE("5", "rank_started", ",\"pid\":7"), true},
                   {LINE("5", "rank_started", ",\"rank\":-1,\"pid\":7"), true},
                   {LINE("5", "rank_started", ",\"rank\":1048576,\"pid\":7"), true}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        struct jr_timeline timeline;
        read_events(&timeline, vectors[i].text);
        CU_ASSERT_EQUAL(timeline.partial, vectors[i].partial);
        CU_ASSERT_EQUAL(timeline.span_count, 0);
        CU_ASSERT_EQUAL(timeline.moment_count, 0);
        jr_timeline_release(&timeline);
    }
}

TEST(ranks_live_from_their_start_to_their_end)
{
    struct jr_timeline timeline;
    read_events(&timeline,
                LINE("1000000000", "rank_started", ",\"rank\":1,\"pid\":7")
                    LINE("1500000000", "rank_started", ",\"rank\":0,\"pid\":8")
                        LINE("1750000000", "first_output", ",\"rank\":1,\"stream\":1")
                            LINE("2000000000", "first_output", ",\"rank\":1,\"stream\":2")
                                LINE("3000000000", "rank_ended",
                                     ",\"rank\":1,\"pid\":7,\"exit_code\":0,\"signal\":null"));
    check_spans(&timeline, "1 0-2 heard 0.75 last, 0 0.5--1 last");
    check_moments(&timeline, "");
    CU_ASSERT_FALSE(timeline.partial);
    CU_ASSERT_EQUAL(timeline.end, 2.0);
    CU_ASSERT_DOUBLE_EQUAL(timeline.spans[0].wall, 1795242612.5, 1e-3);
    CU_ASSERT_EQUAL(timeline.spans[1].wall, 0);
    jr_timeline_release(&timeline);
}

/* An end without a start is nothing that can be drawn. */
TEST(ends_of_unknown_ranks_are_not_drawn)
{
    struct jr_timeline timeline;
    read_events(
        &timeline,
        LINE("1000000000", "rank_ended", ",\"rank\":3,\"pid\":7,\"exit_code\":0,\"signal\":null")
            LINE("2000000000", "rank_started", ",\"rank\":4,\"pid\":9") LINE(
                "2500000000", "rank_ended", ",\"rank\":3,\"pid\":7,\"exit_code\":0,\"signal\":null")
                LINE("3000000000", "rank_done", ",\"rank\":4,\"returned\":true"));
    check_spans(&timeline, "4 1--1 last");
    CU_ASSERT_FALSE(timeline.partial);
    CU_ASSERT_EQUAL(timeline.end, 2.0);
    jr_timeline_release(&timeline);
}

TEST(each_attempt_is_a_life_of_its_own)
{
    struct jr_timeline timeline;
    read_events(&timeline,
                LINE("1000000000", "rank_started", ",\"rank\":0,\"pid\":7")
                    LINE("2000000000", "rank_ended",
                         ",\"rank\":0,\"pid\":7,\"exit_code\":3,\"signal\":null")
                        LINE("2000000000", "attempt_failed", ",\"attempt\":0,\"wait\":1.5")
                            LINE("3500000000", "restart", ",\"attempt\":1,\"master_port\":29501")
                                LINE("4000000000", "rank_started", ",\"rank\":0,\"pid\":9")
                                    LINE("4250000000", "first_output", ",\"rank\":0,\"stream\":1"));
    check_spans(&timeline, "0 0-1, 0 3--1 heard 3.25 last");
    check_moments(&timeline, "1: an attempt failed (attempt 0, wait 1.5)\n"
                             "2.5: started all ranks again (attempt 1, master_port 29501)");
    jr_timeline_release(&timeline);
}

TEST(what_happened_besides_is_told)
{
    struct jr_timeline timeline;
    read_events(&timeline,
                LINE("1000000000", "signal", ",\"signal\":\"SIGTERM\"")
                    LINE("1250000000", "stop", ",\"signal\":\"SIGTERM\",\"running\":5")
                        LINE("1500000000", "from_the_future", ",\"how\":[1,{\"a\":null}]"));
    check_moments(&timeline, "0: jobrun was sent a signal (signal SIGTERM)\n"
                             "0.25: told the ranks to stop (signal SIGTERM, running 5)\n"
                             "0.5: from_the_future (how [1, {\"a\": null}])");
    CU_ASSERT_EQUAL_FATAL(timeline.moment_count, 3);
    CU_ASSERT_EQUAL(timeline.moments[0].name, JR_EVENT_SIGNAL);
    CU_ASSERT_EQUAL(timeline.moments[2].name, JR_EVENT_UNKNOWN);
    CU_ASSERT_DOUBLE_EQUAL(timeline.moments[1].wall, 1795242612.5, 1e-3);
    jr_timeline_release(&timeline);
}

/* The clock counts from the first event, and never backwards. */
TEST(time_begins_with_the_first_event)
{
    struct jr_timeline timeline;
    read_events(&timeline, LINE("5000000000", "kill", ",\"running\":2")
                               LINE("4000000000", "kill", ",\"running\":1")
                                   LINE("5125000000", "kill", ",\"running\":0"));
    check_moments(&timeline, "0: killed the ranks that still ran (running 2)\n"
                             "0: killed the ranks that still ran (running 1)\n"
                             "0.125: killed the ranks that still ran (running 0)");
    CU_ASSERT_EQUAL(timeline.end, 0.125);
    jr_timeline_release(&timeline);
}

/* A machine that crashed leaves half a line. */
TEST(a_torn_last_line_is_left_out)
{
    struct jr_timeline timeline;
    read_events(&timeline,
                LINE("5000000000", "kill", ",\"running\":2") "{\"time\":\"2026-11-21T06:3");
    check_moments(&timeline, "0: killed the ranks that still ran (running 2)");
    CU_ASSERT_TRUE(timeline.partial);
    jr_timeline_release(&timeline);
}

TEST(a_last_line_without_its_newline_counts)
{
    struct jr_timeline timeline;
    read_events(&timeline, "{\"event\":\"kill\",\"ns\":7,\"running\":2}");
    check_moments(&timeline, "0: killed the ranks that still ran (running 2)");
    CU_ASSERT_FALSE(timeline.partial);
    CU_ASSERT_EQUAL(timeline.moments[0].wall, 0);
    jr_timeline_release(&timeline);
}

TEST(no_more_moments_than_a_page_holds)
{
    static const struct {
        int events;
        size_t moments;
        bool partial;
    } vectors[] = {{499, 499, false}, {500, 500, false}, {501, 500, true}};
    for (size_t v = 0; v < 3; v++) {
        struct jr_timeline timeline;
        JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
        for (int i = 1; i <= vectors[v].events; i++)
            jr_buf_printf(&text, "{\"event\":\"kill\",\"ns\":%d}\n", i);
        read_events(&timeline, text.data);
        CU_ASSERT_EQUAL(timeline.moment_count, vectors[v].moments);
        CU_ASSERT_EQUAL(timeline.partial, vectors[v].partial);
        jr_timeline_release(&timeline);
    }
}

/* The events of another node begin later, and its ranks are others. */
TEST(files_of_several_nodes_are_added)
{
    struct jr_timeline timeline = {0};
    SCRATCH(scratch);
    scratch_write(&scratch, "a", LINE("9000000000", "rank_started", ",\"rank\":0,\"pid\":7"));
    scratch_write(&scratch, "b",
                  LINE("100000000", "rank_started", ",\"rank\":1,\"pid\":7")
                      LINE("600000000", "rank_ended",
                           ",\"rank\":1,\"pid\":7,\"exit_code\":0,\"signal\":null"));
    jr_timeline_add(&timeline, scratch.fd, "a", 0);
    jr_timeline_add(&timeline, scratch.fd, "b", 2);
    check_spans(&timeline, "0 0--1 last, 1 2-2.5 last");
    CU_ASSERT_EQUAL(timeline.end, 2.5);
    CU_ASSERT_FALSE(timeline.partial);
    jr_timeline_add(&timeline, scratch.fd, "c", 0);
    CU_ASSERT_TRUE(timeline.partial);
    jr_timeline_release(&timeline);
}
