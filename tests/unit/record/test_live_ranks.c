#include "record/live_ranks.h"

#include <signal.h>
#include <time.h>

#include "scratch.h"
#include "quoted.h"

#define PLAN(ranks)     "{'ranks': [" ranks "]}"
#define RANK(i)         "{'rank': " i ", 'stdout': {'file': 'out." i "'}, 'stderr': {'file': null}}"
#define STARTED(i, pid) "{'event':'rank_started','rank':" i ",'pid':" pid "}\n"
#define ENDED(i)        "{'event':'rank_ended','rank':" i ",'pid':1}\n"
#define TWO             PLAN(RANK("0") "," RANK("1"))

struct run {
    struct scratch scratch;
    struct jr_live_ranks live;
};

static int start(struct run *run, const char *plan, const char *events)
{
    struct jr_error err = {0};
    scratch_start(&run->scratch);
    CU_ASSERT_EQUAL(mkdirat(run->scratch.fd, "r", 0700), 0);
    if (plan != NULL)
        scratch_write(&run->scratch, "r/plan.json", jq(plan));
    if (events != NULL)
        scratch_write(&run->scratch, "r/events.jsonl", jq(events));
    return jr_live_ranks_open(&run->live, run->scratch.dir, "r", 10, &err);
}

static void finish(struct run *run)
{
    jr_live_ranks_close(&run->live);
    scratch_end(&run->scratch);
}

static void add(const struct run *run, const char *text)
{
    int fd = openat(run->scratch.fd, "r/events.jsonl", O_WRONLY | O_CREAT | O_APPEND, 0600);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    CU_ASSERT_TRUE(write(fd, jq(text), strlen(jq(text))) == (ssize_t)strlen(jq(text)));
    (void)close(fd);
}

/* Each rank with its pid, and how it ended: "0:50 1:51/0/11", which is by code and signal. */
static void check_ranks(struct run *run, const char *expected)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_live_ranks_update(&run->live);
    for (size_t i = 0; i < run->live.count; i++) {
        const struct jr_live_rank *rank = &run->live.items[i];
        jr_buf_printf(&text, "%s%u:%d", i == 0 ? "" : " ", rank->rank, (int)rank->pid);
        if (rank->ended)
            jr_buf_printf(&text, "/%d/%d", rank->exit_code, rank->signal);
    }
    JR_ASSERT_TEXT(text.data, expected);
}

TEST(needs_a_plan)
{
    static const char *const plans[] = {NULL, "", "{", "[", "'x"};
    for (size_t i = 0; i < COUNT_OF(plans); i++) {
        struct run run;
        CU_ASSERT_EQUAL(start(&run, plans[i], ""), -1);
        finish(&run);
    }
}

/* Parts are joined in the order of their nodes, which need not be that of their ranks. Whatever
 * stands in the files, there is nobody but the plan's ranks. Of several nodes one jobrun writes for
 * all of them, and builds before this one left blanks between what they said. */
TEST(hears_of_ranks)
{
    static const struct {
        const char *plan, *events, *expected;
    } vectors[] = {
        {TWO, "", "0:0 1:0"},
        {TWO, "\n\n", "0:0 1:0"},
        {TWO, "{", "0:0 1:0"},
        {TWO, "rank_started", "0:0 1:0"},
        {TWO, "{'event':'rank_started'}\n", "0:0 1:0"},
        {TWO, STARTED("7", "5"), "0:0 1:0"},
        {TWO, STARTED("-1", "5"), "0:0 1:0"},
        {TWO, STARTED("'0'", "5"), "0:0 1:0"},
        {TWO, "{'event':'rank_','rank':0,'pid':5}\n", "0:0 1:0"},
        {TWO, "{'event':'rank_started','rank':1,'pid':5}", "0:0 1:0"}, /* no end yet */
        {PLAN(RANK("7") "," RANK("2") "," RANK("4")),
         STARTED("2", "52") STARTED("3", "53") STARTED("7", "57") ENDED("2"), "2:52/-1/0 4:0 7:57"},
        {TWO,
         STARTED("0", "50") STARTED(
             "1",
             "51") "{'event':'rank_ended','rank':0,'pid':50,'exit_code':3,'signal':null}\n"
                   "{'event':'rank_ended','rank':1,'pid':51,'exit_code':null,'signal':'SIGSEGV'}\n",
         "0:50/3/0 1:51/-1/11"},
        {TWO,
         "{'time': '2026-11-21T06:30:12.345Z', 'ns': 5, 'event': 'rank_started', 'rank': 1, 'pid': "
         "51, 'node': 1}\n",
         "0:0 1:51"}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        struct run run;
        CU_ASSERT_EQUAL_FATAL(start(&run, vectors[i].plan, vectors[i].events), 0);
        check_ranks(&run, vectors[i].expected);
        finish(&run);
    }
}

TEST(hears_what_is_added)
{
    struct run run;
    CU_ASSERT_EQUAL_FATAL(start(&run, TWO, NULL), 0);
    CU_ASSERT_EQUAL(run.live.events_fd, -1);
    add(&run, STARTED("0", "50") "{'event':'rank_started','ra");
    check_ranks(&run, "0:50 1:0");
    add(&run, "nk':1,'pid':51}\n" ENDED("0"));
    check_ranks(&run, "0:50/-1/0 1:51");
    JR_ASSERT_TEXT(run.live.items[1].out, "out.1");
    CU_ASSERT_PTR_NULL(run.live.items[1].err);
    /* Another attempt has another plan, and nobody of the one before. */
    scratch_write(&run.scratch, "r/plan.json", jq(PLAN(RANK("0") "," RANK("1") "," RANK("2"))));
    add(&run, "{'event':'restart','attempt':1}\n" STARTED("2", "62"));
    check_ranks(&run, "0:0 1:0 2:62");
    finish(&run);
}

/* Only a grandchild of the run's jobrun is a rank. */
TEST(lives_below_its_runner)
{
    static const struct jr_proc all[] = {{.pid = 10, .parent = 1},  {.pid = 11, .parent = 10},
                                         {.pid = 50, .parent = 11}, {.pid = 51, .parent = 10},
                                         {.pid = 52, .parent = 1},  {.pid = 53, .parent = 99}};
    static const struct {
        struct jr_live_rank rank;
        bool lives;
    } vectors[] = {{{.pid = 0}, false},  {{.pid = -1}, false},
                   {{.pid = 50}, true},  {{.pid = 50, .ended = true}, false},
                   {{.pid = 51}, false}, {{.pid = 52}, false},
                   {{.pid = 53}, false}, {{.pid = 54}, false},
                   {{.pid = 10}, false}, {{.pid = 11}, false}};
    const struct jr_live_ranks live = {.guard = 10};
    for (size_t i = 0; i < COUNT_OF(vectors); i++)
        CU_ASSERT_EQUAL(jr_live_ranks_lives(&live, &vectors[i].rank, all, sizeof all / sizeof *all),
                        vectors[i].lives);
}

/* A number that no rank has, however large, is nobody's. */
TEST(finds_ranks_by_their_numbers)
{
    static const int64_t none[] = {
        -1, 0, 2, 4, INT64_C(4294967297), INT64_C(4294967298), INT64_MIN, INT64_MAX};
    struct run run;
    struct jr_live_rank *rank;
    CU_ASSERT_EQUAL_FATAL(start(&run, PLAN(RANK("3") "," RANK("1") "," RANK("4294967295")), ""), 0);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        CU_ASSERT_PTR_NULL(jr_live_ranks_find(&run.live, none[i]));
    rank = jr_live_ranks_find(&run.live, 1);
    CU_ASSERT_TRUE(rank != NULL && rank->rank == 1);
    rank = jr_live_ranks_find(&run.live, 3);
    CU_ASSERT_TRUE(rank != NULL && rank->rank == 3);
    rank = jr_live_ranks_find(&run.live, UINT32_MAX);
    CU_ASSERT_TRUE(rank != NULL && rank->rank == UINT32_MAX);
    finish(&run);
    CU_ASSERT_EQUAL_FATAL(start(&run, PLAN(""), STARTED("0", "5")), 0);
    CU_ASSERT_PTR_NULL(jr_live_ranks_find(&run.live, 0));
    finish(&run);
}

/* What is no line of jobrun's is not kept, however long it is. */
TEST(forgets_a_line_without_end)
{
    struct run run;
    char *junk = malloc((1 << 20) + 2);
    CU_ASSERT_PTR_NOT_NULL_FATAL(junk);
    memset(junk, 'x', (1 << 20) + 1);
    junk[(1 << 20) + 1] = '\0';
    CU_ASSERT_EQUAL_FATAL(start(&run, PLAN(RANK("0")), NULL), 0);
    scratch_write(&run.scratch, "r/events.jsonl", junk);
    jr_live_ranks_update(&run.live);
    CU_ASSERT_TRUE(run.live.rest.len < 1 << 20);
    add(&run, "\n" STARTED("0", "50"));
    jr_live_ranks_update(&run.live);
    CU_ASSERT_EQUAL(run.live.items[0].pid, 50);
    CU_ASSERT_EQUAL(run.live.rest.len, 0);
    finish(&run);
    free(junk);
}

static unsigned count_descriptors(void)
{
    unsigned count = 0;
    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

TEST(leaves_no_descriptor_open)
{
    struct run run;
    unsigned before = count_descriptors();
    CU_ASSERT_EQUAL(start(&run, PLAN(RANK("0")), STARTED("0", "5")), 0);
    CU_ASSERT_TRUE(run.live.run_fd >= 0 && run.live.events_fd >= 0);
    jr_live_ranks_close(&run.live);
    CU_ASSERT_TRUE(run.live.run_fd == -1 && run.live.events_fd == -1);
    CU_ASSERT_EQUAL(run.live.count, 0);
    finish(&run); /* and closes it once more */
    CU_ASSERT_EQUAL(start(&run, "{", ""), -1);
    CU_ASSERT_TRUE(run.live.run_fd == -1 && run.live.events_fd == -1);
    scratch_end(&run.scratch);
    CU_ASSERT_EQUAL(count_descriptors(), before);
}

static void touch(const struct run *run, const char *name, time_t seconds, long ns)
{
    const struct timespec times[2] = {{.tv_sec = seconds, .tv_nsec = ns},
                                      {.tv_sec = seconds, .tv_nsec = ns}};
    CU_ASSERT_EQUAL(utimensat(run->scratch.fd, name, times, 0), 0);
}

TEST(knows_the_latest_log)
{
    struct run run;
    CU_ASSERT_EQUAL_FATAL(
        start(&run, PLAN("{'rank': 0, 'stdout': {'file': 'out'}, 'stderr': {'file': 'err'}}"), ""),
        0);
    const struct jr_live_rank *rank = &run.live.items[0];
    CU_ASSERT_PTR_NULL(jr_live_ranks_latest(&run.live, rank));
    CU_ASSERT_EQUAL(jr_live_ranks_silence(&run.live, rank), -1);
    scratch_write(&run.scratch, "r/out", "");
    CU_ASSERT_PTR_NULL(jr_live_ranks_latest(&run.live, rank));
    scratch_write(&run.scratch, "r/out", "x");
    JR_ASSERT_TEXT(jr_live_ranks_latest(&run.live, rank), "out");
    scratch_write(&run.scratch, "r/err", "x");
    touch(&run, "r/out", 1000, 5);
    JR_ASSERT_TEXT(jr_live_ranks_latest(&run.live, rank), "err");
    CU_ASSERT_TRUE(jr_live_ranks_silence(&run.live, rank) >= 0);
    touch(&run, "r/err", 1000, 4);
    JR_ASSERT_TEXT(jr_live_ranks_latest(&run.live, rank), "out");
    touch(&run, "r/err", 1000, 6);
    JR_ASSERT_TEXT(jr_live_ranks_latest(&run.live, rank), "err");
    CU_ASSERT_EQUAL(symlinkat("out", run.scratch.fd, "r/link"), 0);
    const struct jr_live_rank linked = {.out = "link"};
    CU_ASSERT_PTR_NULL(jr_live_ranks_latest(&run.live, &linked));
    finish(&run);
}

/* In seconds, by the clock of the wall, which may have been set back. */
TEST(tells_how_long_a_rank_was_silent)
{
    struct run run;
    CU_ASSERT_EQUAL_FATAL(start(&run, PLAN(RANK("0")), ""), 0);
    const struct jr_live_rank *rank = &run.live.items[0];
    scratch_write(&run.scratch, "r/out.0", "x");
    time_t now = time(NULL);
    touch(&run, "r/out.0", now - 1000, 500000000);
    double silence = jr_live_ranks_silence(&run.live, rank);
    CU_ASSERT_TRUE(silence >= 999 && silence < 1100);
    touch(&run, "r/out.0", now + 1000, 0);
    CU_ASSERT_EQUAL(jr_live_ranks_silence(&run.live, rank), 0);
    finish(&run);
}
