#include "record/live_ranks.h"

#include "scratch.h"

#define PLAN(ranks) "{\"ranks\": [" ranks "]}"
#define RANK(i)                                                                \
    "{\"rank\": " i ", \"stdout\": {\"file\": \"out." i "\"}, "                \
    "\"stderr\": {\"file\": null}}"
#define STARTED(i, pid)                                                        \
    "{\"event\":\"rank_started\",\"rank\":" i ",\"pid\":" pid "}\n"
#define ENDED(i) "{\"event\":\"rank_ended\",\"rank\":" i ",\"pid\":1}\n"

struct run {
    struct scratch scratch;
    struct jr_live_ranks crew;
};

static int start(struct run *run, const char *plan, const char *events)
{
    struct jr_error err = {0};
    scratch_start(&run->scratch);
    CU_ASSERT_EQUAL(mkdirat(run->scratch.fd, "r", 0700), 0);
    if (plan != NULL)
        scratch_write(&run->scratch, "r/plan.json", plan);
    if (events != NULL)
        scratch_write(&run->scratch, "r/events.jsonl", events);
    return jr_live_ranks_open(&run->crew, run->scratch.dir, "r", 10, &err);
}

static void finish(struct run *run)
{
    jr_live_ranks_close(&run->crew);
    scratch_end(&run->scratch);
}

static void add(const struct run *run, const char *text)
{
    int fd = openat(run->scratch.fd, "r/events.jsonl",
                    O_WRONLY | O_CREAT | O_APPEND, 0600);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    CU_ASSERT_TRUE(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    (void)close(fd);
}

static void needs_a_plan(void)
{
    static const char *const plans[] = {NULL, "", "{", "[", "\"x"};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        struct run run;
        CU_ASSERT_EQUAL(start(&run, plans[i], ""), -1);
        finish(&run);
    }
}

/* Whatever stands in the files, there is nobody but the plan's ranks. */
static void survives_odd_events(void)
{
    static const char *const events[] = {
        "", "\n\n", "{", "rank_started", "{\"event\":\"rank_started\"}\n",
        STARTED("7", "5"), STARTED("-1", "5"), STARTED("\"0\"", "5"),
        "{\"event\":\"rank_\",\"rank\":0,\"pid\":5}\n",
        "{\"event\":\"rank_started\",\"rank\":1,\"pid\":5}", /* no end yet */
    };
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        struct run run;
        CU_ASSERT_EQUAL_FATAL(
            start(&run, PLAN(RANK("0") "," RANK("1")), events[i]), 0);
        CU_ASSERT_EQUAL_FATAL(run.crew.count, 2);
        CU_ASSERT_EQUAL(run.crew.items[1].pid, 0);
        CU_ASSERT_FALSE(run.crew.items[0].ended);
        finish(&run);
    }
}

/* Parts are joined in the order of their nodes, which need not be that of
 * their ranks. */
static void hears_of_ranks_in_any_order(void)
{
    struct run run;
    CU_ASSERT_EQUAL_FATAL(
        start(&run, PLAN(RANK("7") "," RANK("2") "," RANK("4")),
              STARTED("2", "52") STARTED("3", "53") STARTED("7", "57")
                  ENDED("2")),
        0);
    CU_ASSERT_EQUAL_FATAL(run.crew.count, 3);
    CU_ASSERT_EQUAL(run.crew.items[0].rank, 2);
    CU_ASSERT_EQUAL(run.crew.items[0].pid, 52);
    CU_ASSERT_TRUE(run.crew.items[0].ended);
    CU_ASSERT_EQUAL(run.crew.items[1].pid, 0);
    CU_ASSERT_EQUAL(run.crew.items[2].pid, 57);
    JR_ASSERT_TEXT(run.crew.items[2].out, "out.7");
    finish(&run);
}

static void hears_what_is_added(void)
{
    struct run run;
    CU_ASSERT_EQUAL_FATAL(start(&run, PLAN(RANK("0") "," RANK("1")), NULL), 0);
    CU_ASSERT_EQUAL(run.crew.events_fd, -1);
    add(&run, STARTED("0", "50") "{\"event\":\"rank_started\",\"ra");
    jr_live_ranks_update(&run.crew);
    CU_ASSERT_EQUAL(run.crew.items[0].pid, 50);
    CU_ASSERT_EQUAL(run.crew.items[1].pid, 0);
    add(&run, "nk\":1,\"pid\":51}\n" ENDED("0"));
    jr_live_ranks_update(&run.crew);
    CU_ASSERT_EQUAL(run.crew.items[1].pid, 51);
    CU_ASSERT_TRUE(run.crew.items[0].ended);
    CU_ASSERT_FALSE(run.crew.items[1].ended);
    JR_ASSERT_TEXT(run.crew.items[1].out, "out.1");
    CU_ASSERT_PTR_NULL(run.crew.items[1].err);
    finish(&run);
}

/* Of several nodes one jobrun writes for all of them, and builds before this one
 * left blanks between what they said. */
static void hears_what_nodes_said(void)
{
    struct run run;
    CU_ASSERT_EQUAL_FATAL(
        start(&run, PLAN(RANK("0") "," RANK("1")),
              "{\"time\": \"2026-11-21T06:30:12.345Z\", \"ns\": 5, "
              "\"event\": \"rank_started\", \"rank\": 1, \"pid\": 51, "
              "\"node\": 1}\n"),
        0);
    CU_ASSERT_EQUAL(run.crew.items[0].pid, 0);
    CU_ASSERT_EQUAL(run.crew.items[1].pid, 51);
    finish(&run);
}

/* Another attempt has another plan, and nobody of the one before. */
static void starts_again(void)
{
    struct run run;
    CU_ASSERT_EQUAL_FATAL(
        start(&run, PLAN(RANK("0")), STARTED("0", "50") ENDED("0")), 0);
    scratch_write(&run.scratch, "r/plan.json",
                  PLAN(RANK("0") "," RANK("1") "," RANK("2")));
    add(&run, "{\"event\":\"restart\",\"attempt\":1}\n" STARTED("2", "62"));
    jr_live_ranks_update(&run.crew);
    CU_ASSERT_EQUAL_FATAL(run.crew.count, 3);
    CU_ASSERT_FALSE(run.crew.items[0].ended);
    CU_ASSERT_EQUAL(run.crew.items[0].pid, 0);
    CU_ASSERT_EQUAL(run.crew.items[2].pid, 62);
    finish(&run);
}

/* Only a grandchild of the run's jobrun is a rank. */
static void lives_below_its_runner(void)
{
    static const struct jr_proc all[] = {
        {.pid = 10, .parent = 1}, {.pid = 11, .parent = 10},
        {.pid = 50, .parent = 11}, {.pid = 51, .parent = 10},
        {.pid = 52, .parent = 1}, {.pid = 53, .parent = 99},
    };
    static const struct {
        struct jr_live_rank rank;
        bool lives;
    } vectors[] = {
        {{.pid = 0}, false},  {{.pid = -1}, false},
        {{.pid = 50}, true},  {{.pid = 50, .ended = true}, false},
        {{.pid = 51}, false}, {{.pid = 52}, false},
        {{.pid = 53}, false}, {{.pid = 54}, false},
        {{.pid = 10}, false}, {{.pid = 11}, false},
    };
    const struct jr_live_ranks crew = {.guard = 10};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        CU_ASSERT_EQUAL(jr_live_ranks_lives(&crew, &vectors[i].rank, all,
                                      sizeof all / sizeof *all),
                        vectors[i].lives);
}

static void knows_the_latest_log(void)
{
    static const struct timespec past[2] = {{.tv_sec = 1000},
                                            {.tv_sec = 1000}};
    struct run run;
    CU_ASSERT_EQUAL_FATAL(
        start(&run,
              PLAN("{\"rank\": 0, \"stdout\": {\"file\": \"out\"}, "
                   "\"stderr\": {\"file\": \"err\"}}"),
              ""),
        0);
    const struct jr_live_rank *rank = &run.crew.items[0];
    CU_ASSERT_PTR_NULL(jr_live_ranks_latest(&run.crew, rank));
    CU_ASSERT_EQUAL(jr_live_ranks_silence(&run.crew, rank), -1);
    scratch_write(&run.scratch, "r/out", "");
    CU_ASSERT_PTR_NULL(jr_live_ranks_latest(&run.crew, rank));
    scratch_write(&run.scratch, "r/out", "x");
    scratch_write(&run.scratch, "r/err", "x");
    CU_ASSERT_EQUAL(utimensat(run.scratch.fd, "r/out", past, 0), 0);
    JR_ASSERT_TEXT(jr_live_ranks_latest(&run.crew, rank), "err");
    CU_ASSERT_TRUE(jr_live_ranks_silence(&run.crew, rank) >= 0);
    CU_ASSERT_EQUAL(utimensat(run.scratch.fd, "r/err", past, 0), 0);
    CU_ASSERT_TRUE(jr_live_ranks_silence(&run.crew, rank) > 1e6);
    finish(&run);
}

JR_UNIT_MAIN("crew", CASE(needs_a_plan), CASE(survives_odd_events),
             CASE(hears_of_ranks_in_any_order),
             CASE(hears_what_is_added),
             CASE(hears_what_nodes_said), CASE(starts_again),
             CASE(lives_below_its_runner), CASE(knows_the_latest_log))
