/* The steps of the ranks' files: which files are read and when, what has to be read anew, what goes
 * to the controller, and which limit is met. */
#include <sys/inotify.h>

#include "fake_runner.h"

#define HOUR_NS (3600000 * FAKE_MS)

/* Ranks 0 to 5, of which the steps of `ranks` count. */
static void start(const char *ranks, bool link)
{
    static char text[32];
    fake_runner_start();
    (void)snprintf(text, sizeof text, "%s", ranks);
    fake.policy.progress.from = JR_PROGRESS_FILE;
    fake.policy.progress.ranks = text;
    fake.policy.on_hang.wait_ms = 3600000;
    CU_ASSERT_EQUAL(mkdirat(fake.scratch.fd, "attempt_0", 0700), 0);
    CU_ASSERT_EQUAL(mkdirat(fake.scratch.fd, "attempt_0/progress", 0700), 0);
    for (uint32_t i = 0; i < FAKE_RANKS; i++) {
        fake.planned[i].rank = i;
        fake.planned[i].dir = "attempt_0/0";
    }
    if (link)
        fake_runner_link();
    fake_runner_open(&jr_stop_policy);
    fake_runner_open(&jr_hang_policy);
}

static void open_and_run(void)
{
    fake_runner_open(&jr_steps_policy);
    for (uint32_t i = 0; i < FAKE_RANKS; i++) {
        fake_runner_run(i);
        jr_steps_policy.rank_started(&fake.ranks[i]);
    }
}

ENDING(end)
{
    for (uint32_t i = 0; i < FAKE_RANKS; i++) /* as in a run, none is left */
        if (fake.runner.steps.files != NULL)
            jr_steps_policy.rank_ended(&fake.ranks[i]);
    jr_steps_policy.close(&fake.runner);
    fake_runner_end();
}

static void write_steps(uint32_t rank, const char *text, int flags)
{
    char name[64];
    (void)snprintf(name, sizeof name, "attempt_0/progress/%u.jsonl", rank);
    int fd = openat(fake.scratch.fd, name, O_WRONLY | O_CREAT | flags, 0600);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(fd);
}

/* The folder's events are there as soon as the file is written. */
static void turn(void)
{
    (void)jr_loop_turn(&fake.runner.loop, true);
}

static int64_t step_of(uint32_t i)
{
    const struct jr_steps *steps = &fake.outcome.progress->ranks[i];
    return steps->any ? steps->step : -1;
}

/* What was there before the first rank was watched is read as well. */
TEST(reads_what_was_there_before)
{
    BEGIN(end, start("0-5", false));
    fake_runner_open(&jr_steps_policy);
    write_steps(0, "{\"step\": 7}\n", O_APPEND);
    fake_runner_run(0);
    jr_steps_policy.rank_started(&fake.ranks[0]);
    CU_ASSERT_EQUAL(step_of(0), 7);
}

/* Where nothing is said of such files, they are watched a little later, and then for what was
 * written meanwhile, too; a rank that ends before has its file read all the same. */
TEST(watches_unannounced_files_later)
{
    BEGIN(end, start("0-5", false));
    fake.policy.progress.from = JR_PROGRESS_STDOUT;
    open_and_run();
    write_steps(0, "{\"step\": 1}\n", O_APPEND);
    write_steps(1, "{\"step\": 2}\n", O_APPEND);
    turn();
    CU_ASSERT_EQUAL(fake.runner.steps.folder.fd, -1);
    CU_ASSERT_EQUAL(step_of(0), -1);
    jr_steps_policy.rank_ended(&fake.ranks[0]);
    CU_ASSERT_EQUAL(step_of(0), 1);
    CU_ASSERT_TRUE(fake.runner.steps.watch.at > jr_clock_ns());
    fake.runner.steps.watch.at = 1; /* as if the time had come */
    turn();
    CU_ASSERT_EQUAL(step_of(1), 2);
    write_steps(2, "{\"step\": 3}\n", O_APPEND);
    turn();
    CU_ASSERT_EQUAL(step_of(2), 3);
    CU_ASSERT_EQUAL(fake.runner.steps.watch.at, 0); /* nothing wakes it again */
}

/* Some write their file anew with each step: a shorter one, or one with other text where the last
 * was read. */
TEST(reads_a_new_file_from_its_beginning)
{
    static const struct {
        const char *before, *after;
        int64_t step;
    } vectors[] = {
        {"{\"step\": 100}\n", "{\"step\": 7}\n", 7},
        {"{\"step\": 1}\n", "{\"step\": 2}\n", 2},
        {"{\"step\": 1}\n", "{\"step\": 2}\n{\"step\": 3}\n", 3},
        {"{\"step\": 1}\n", "{\"step\": 1}\n{\"step\": 4}\n", 4},
        {"{\"step\": 1, \"loss\": 0.123456789012345678901234567890}\n",
         "{\"step\": 2, \"loss\": 0.123456789012345678901234567890}\n", 1},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        BEGIN(end, start("0-5", false));
        open_and_run();
        write_steps(0, vectors[i].before, O_TRUNC);
        turn();
        write_steps(0, vectors[i].after, O_TRUNC);
        turn();
        CU_ASSERT_EQUAL(step_of(0), vectors[i].step);
    }
}

/* Where no rank's steps count, nothing is watched. */
TEST(watches_nothing_where_nothing_counts)
{
    BEGIN(end, start("17", false));
    open_and_run();
    CU_ASSERT_TRUE(fake.runner.steps.folder_fd == -1 && fake.runner.steps.folder.fd == -1);
}

/* Other names in the folder are nobody's file. */
TEST(other_names_are_nobodys)
{
    static const char *const names[] = {"x.jsonl",
                                        "1.json",
                                        "1.jsonl.tmp",
                                        "1.jsonlx",
                                        "-1.jsonl",
                                        ".jsonl",
                                        "99999999999999999999.jsonl",
                                        "6.jsonl",
                                        "4294967297.jsonl",
                                        "1"};
    BEGIN(end, start("0-5", false));
    open_and_run();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "attempt_0/progress/%s", names[i]);
        scratch_write(&fake.scratch, name, "{\"step\": 5}\n");
        turn();
    }
    for (uint32_t i = 0; i < FAKE_RANKS; i++)
        CU_ASSERT_EQUAL(step_of(i), -1);
}

/* Where the folder cannot be watched, the files are read at the end. */
TEST(reads_without_a_watch)
{
    BEGIN(end, start("0-5", false));
    fake_runner_open(&jr_steps_policy);
    fake_runner_run(0);
    fake.planned[0].dir = NULL; /* so there is no folder */
    jr_steps_policy.rank_started(&fake.ranks[0]);
    CU_ASSERT_EQUAL(fake.runner.steps.folder_fd, -1);
    write_steps(0, "{\"step\": 8}\n", O_APPEND);
    jr_steps_policy.rank_ended(&fake.ranks[0]);
    CU_ASSERT_EQUAL(step_of(0), -1);
}

/* A step is written at most once a second. */
TEST(writes_once_a_second)
{
    BEGIN(end, start("0", false));
    open_and_run();
    fake.runner.steps.tracker.flushed_ns = 5000;
    CU_ASSERT_EQUAL(fake.runner.steps.flush.at, 0);
    write_steps(0, "{\"step\": 8}\n", O_APPEND);
    fake.runner.steps.folder.ready(&fake.runner, 0);
    CU_ASSERT_EQUAL(fake.runner.steps.flush.at, 5000 + 1000 * FAKE_MS);
    fake.runner.steps.flush.at = 77;
    write_steps(0, "{\"step\": 9}\n", O_APPEND);
    fake.runner.steps.folder.ready(&fake.runner, 0);
    CU_ASSERT_EQUAL(fake.runner.steps.flush.at, 77);
    fake.runner.steps.flush.due(&fake.runner);
    char text[512];
    const char *file = fake_runner_read("progress.json", text, sizeof text);
    CU_ASSERT_PTR_NOT_NULL(strstr(file, "\"step\": 9"));
}

/* timeouts.first_step counts from the beginning, timeouts.progress from the first step; neither
 * where no steps count, or on one node of several. */
TEST(counts_its_limits)
{
    static const struct {
        const char *ranks;
        uint64_t first_ms, next_ms;
        bool link;
        uint64_t before_ms, after_ms; /* the first step; 0: not counted */
    } vectors[] = {
        {"0", 0, 0, false, 0, 0},
        {"17", 5000, 7000, false, 0, 0},
        {"0", 5000, 7000, true, 0, 0},
        {"0", 5000, 0, false, 5000, 5000},
        {"0", 0, 7000, false, 0, 7000},
        {"0", 9000, 7000, false, 9000, 7000},
        {"0", 5000, 7000, false, 5000, 5000},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        BEGIN(end, start(vectors[i].ranks, vectors[i].link));
        fake.policy.timeouts.first_step_ms = vectors[i].first_ms;
        fake.policy.timeouts.progress_ms = vectors[i].next_ms;
        uint64_t before = jr_clock_ns();
        open_and_run();
        uint64_t at = fake.runner.steps.limit.at;
        CU_ASSERT_EQUAL(at == 0, vectors[i].before_ms == 0);
        if (at != 0)
            CU_ASSERT_TRUE(fake_runner_is_after(at, before, vectors[i].before_ms));
        if (strcmp(vectors[i].ranks, "0") == 0) {
            write_steps(0, "{\"step\": 8}\n", O_APPEND);
            fake.runner.steps.folder.ready(&fake.runner, 0);
            CU_ASSERT_EQUAL(step_of(0), 8);
        }
        at = fake.runner.steps.limit.at;
        CU_ASSERT_EQUAL(at == 0, vectors[i].after_ms == 0);
        if (at != 0)
            CU_ASSERT_TRUE(fake_runner_is_after(at, before, vectors[i].after_ms));
    }
}

/* While a rank is to come no first step is late; nor is one before the last rank's start. */
TEST(waits_for_the_last_rank)
{
    BEGIN(end, start("0", false));
    fake.policy.timeouts.first_step_ms = 5000;
    open_and_run();
    for (uint32_t i = 0; i < FAKE_RANKS; i++)
        fake.outcomes[i].started_ns = 1;
    fake.runner.next--;
    uint64_t before = jr_clock_ns();
    fake.runner.steps.limit.due(&fake.runner);
    CU_ASSERT_FALSE(jr_hang_has_begun(&fake.runner));
    CU_ASSERT_TRUE(fake_runner_is_after(fake.runner.steps.limit.at, before, 5000));
    fake.runner.next++;
    uint64_t last = jr_clock_ns() + HOUR_NS;
    fake.outcomes[3].started_ns = last;
    fake.runner.steps.limit.due(&fake.runner);
    CU_ASSERT_EQUAL(fake.runner.steps.limit.at, last + 5000 * FAKE_MS);
}

/* A node of several tells what is new, once, and decides nothing. */
TEST(a_node_tells_what_is_new)
{
    BEGIN(end, start("0-5", true));
    open_and_run();
    write_steps(2, "{\"step\": 4}\n", O_APPEND);
    turn();
    fake.runner.steps.flush.due(&fake.runner);
    struct jr_buf *lines = &fake.runner.events.lines;
    CU_ASSERT_PTR_NOT_NULL_FATAL(lines->data);
    CU_ASSERT_PTR_NOT_NULL(strstr(lines->data, "\"steps_of\": 2"));
    CU_ASSERT_PTR_NULL(strstr(lines->data, "\"steps_of\": 0"));
    lines->len = 0;
    fake.runner.steps.flush.due(&fake.runner);
    CU_ASSERT_EQUAL(lines->len, 0);
    write_steps(2, "{\"step\": 5}\nno JSON\n", O_APPEND);
    turn();
    lines->len = 0;
    jr_steps_finish(&fake.runner);
    CU_ASSERT_PTR_NOT_NULL(strstr(lines->data, "\"steps_of\": 2"));
    CU_ASSERT_PTR_NOT_NULL(strstr(lines->data, "\"warning_of\": 2"));
    char text[64];
    JR_ASSERT_TEXT(fake_runner_read("progress.json", text, sizeof text), "");
}

/* While jobrun is suspended no time passes. */
TEST(no_time_passes_while_suspended)
{
    BEGIN(end, start("0", false));
    open_and_run();
    for (uint32_t i = 0; i < FAKE_RANKS; i++)
        fake.outcomes[i].started_ns = 1000 + i;
    fake.outcomes[1].started_ns = 5000;
    jr_steps_policy.resumed(&fake.runner, 70);
    CU_ASSERT_EQUAL(fake.runner.steps.limits.since_ns, 5070);
}

TEST(ends_with_the_run)
{
    BEGIN(end, start("0", false));
    fake.policy.timeouts.first_step_ms = 5000;
    open_and_run();
    CU_ASSERT_NOT_EQUAL(fake.runner.steps.limit.at, 0);
    jr_steps_policy.stopping(&fake.runner);
    CU_ASSERT_TRUE(fake.runner.steps.limit.at == 0 && fake.runner.steps.folder.fd >= 0);
    fake.runner.steps.limit.at = 5;
    jr_steps_policy.close(&fake.runner);
    CU_ASSERT_TRUE(fake.runner.steps.limit.at == 0 && fake.runner.steps.folder.fd == -1);
    CU_ASSERT_EQUAL(fake.runner.steps.folder_fd, -1);
}
