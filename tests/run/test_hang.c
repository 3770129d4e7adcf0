/* Runs that hang: how they are found, what is found out, and their end. */
#include "drive.h"
#include "unit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define EVENTS   "runs/run-0000/events.jsonl"
#define EVIDENCE "runs/run-0000/attempt_0/1/hang.json"
#define OUTPUT   "runs/run-0000/attempt_0/1/hang.txt"
#define MOST     8

/* How long it was quiet: the text before the number, which may be "null". */
#define SILENT "\"silent_seconds\": "

/* A run to its end, and texts of its files. In one that babbles nobody is silent before rank 1 has
 * told that it is ready. */
struct vector {
    const char *words;
    const char *want[MOST]; /* of the outcome */
    const char *events[4];
    const char *evidence[MOST]; /* of rank 1 */
};

static void expect(const struct jr_drive *drive, const char *file, const char *const *texts,
                   size_t most)
{
    for (size_t i = 0; i < most && texts[i] != NULL; i++)
        CU_ASSERT_TRUE(jr_drive_has(drive, file, texts[i]));
}

static void let_go(struct jr_drive *drive, const char *words)
{
    jr_drive_start(drive, JR_DRIVE_FILES, words);
    if (strstr(words, "tell=ready") != NULL) {
        CU_ASSERT_TRUE(jr_drive_ready(drive, 1));
        jr_drive_go(drive);
    }
    CU_ASSERT_TRUE(jr_drive_end(drive));
}

/* The limit of the vectors is 400 ms, and a busy machine is later than that. */
static void expect_silence(const struct jr_drive *drive)
{
    TEXT(text) = jr_drive_read(drive, EVIDENCE, NULL);
    const char *at = strstr(text, SILENT);
    CU_ASSERT_TRUE(at != NULL && strtod(at + strlen(SILENT), NULL) >= 0.39);
}

static void check(const struct vector *vectors, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct vector *vector = &vectors[i];
        DRIVE(drive);
        let_go(&drive, vector->words);
        for (size_t j = 0; j < MOST && vector->evidence[j] != NULL; j++)
            if (strcmp(vector->evidence[j], SILENT) == 0)
                expect_silence(&drive);
        expect(&drive, "outcome", vector->want, MOST);
        expect(&drive, EVENTS, vector->events, 4);
        expect(&drive, EVIDENCE, vector->evidence, MOST);
        CU_ASSERT_TRUE(jr_drive_has(&drive, "outcome", "left=0"));
        CU_ASSERT_EQUAL(jr_drive_survivors(&drive, 0), 0);
    }
}
#define CHECK(vectors) check(vectors, sizeof vectors / sizeof vectors[0])

#define HUNG     "timed_out=0 console_failed=0 left=0 hung=1 straggled=0"
#define STRAGGLE "timed_out=0 console_failed=0 left=0 hung=0 straggled=1"
#define GOOD     "timed_out=0 console_failed=0 left=0 hung=0 straggled=0"
#define STOPPED  "end=signaled code=0 signal=15 stage=none errno=0 stopped_with=15"
#define ABORTED  "end=signaled code=0 signal=6 stage=none errno=0 stopped_with=6"
#define SILENCE  "\"event\":\"timeout\",\"timeout\":\"silence\""

TEST(silence_is_found)
{
    static const struct vector vectors[] = {
        {"ranks=2 out=tee err=tee silence=400 -- %F 1:print=x 1:tell=ready 0:babble=go hang",
         {HUNG, "rank 0 " STOPPED, "rank 1 " STOPPED},
         {SILENCE, "\"event\":\"evidence\",\"signalled\":0", "\"SIGTERM\""},
         {"\"format_version\": 1", "\"rank\": 1", "\"state\": \"S\"", "\"name\": \"fakerank\"",
          SILENT, "\"cpu_seconds\": 0.0"}},
        {"ranks=2 out=file err=file silence=400 -- %F 1:print=x 1:tell=ready 0:babble=go hang",
         {HUNG, "rank 0 " STOPPED},
         {SILENCE},
         {SILENT}},
        {"ranks=2 out=file err=tee silence=400 -- %F hang", {HUNG}, {SILENCE}, {SILENT "null"}},
        {"ranks=2 out=tee err=tee silence=400 -- %F 1:tell=ready 1:stop 0:babble=go spin",
         {HUNG},
         {SILENCE},
         {"\"state\": \"T\""}},
        {"ranks=2 out=tee err=tee silence=400 -- %F 1:tell=ready 1:spin 0:babble=go hang",
         {HUNG},
         {SILENCE},
         {"\"state\": \"R\""}},
        {"ranks=2 out=tee err=tee silence=400 wait=0 -- %F hang",
         {HUNG},
         {SILENCE},
         {"\"threads\": ["}},
        {"ranks=2 out=tee err=tee silence=400 target=group -- "
         "%F fork 1:tell=ready 0:babble=go hang",
         {HUNG},
         {SILENCE},
         {"\"parent\": "}},
        /* A rank that is gone is no reason to wait; nor is one that failed. */
        {"ranks=3 out=tee err=tee silence=400 policy=continue -- "
         "%F 0:exit=0 1:tell=ready 2:babble=go 2:exit=3 hang",
         {HUNG, "rank 0 end=exited code=0", "rank 1 " STOPPED, "rank 2 end=exited code=3"},
         {SILENCE},
         {"\"rank\": 1"}},
    };
    CHECK(vectors);
}

TEST(what_speaks_does_not_hang)
{
    static const struct vector vectors[] = {
        {"silence=60000 out=tee err=tee -- %F print=x", {GOOD}, {0}, {0}},
        {"silence=60000 out=file err=file -- %F print=x", {GOOD}, {0}, {0}},
        /* Seen through a pipe, and in a file; what ends them is another limit. */
        {"silence=3000 run=5000 out=tee err=tee -- %F chatter=x hang",
         {"timed_out=1 console_failed=0 left=0 hung=0"},
         {0},
         {0}},
        {"silence=3000 run=5000 out=file err=file -- %F chatter=x hang",
         {"timed_out=1 console_failed=0 left=0 hung=0"},
         {0},
         {0}},
        /* What goes by jobrun is not seen, and no silence. */
        {"silence=100 run=1000 out=inherit err=tee -- %F hang",
         {"timed_out=1 console_failed=0 left=0 hung=0"},
         {0},
         {0}},
    };
    CHECK(vectors);
}

TEST(stragglers_are_found)
{
    static const struct vector vectors[] = {
        {"ranks=3 out=tee err=tee after=300 -- %F 1:tell=ready 0:await=go 0:exit=0 hang",
         {STRAGGLE, "rank 0 end=exited code=0", "rank 1 " STOPPED, "rank 2 " STOPPED},
         {"\"timeout\":\"after_first_exit\""},
         {"\"state\": \"S\""}},
        {"ranks=3 out=tee err=tee after=60000 -- %F 0:exit=0 1:exit=3 hang",
         {GOOD, "rank 1 end=exited code=3"},
         {0},
         {0}},
        {"ranks=2 out=tee err=tee after=100 policy=continue run=1500 -- %F 0:exit=3 hang",
         {"timed_out=1 console_failed=0 left=0 hung=0 straggled=0"},
         {0},
         {0}},
        {"ranks=2 after=60000 -- %F print=x", {GOOD}, {0}, {0}},
    };
    CHECK(vectors);
}

TEST(ranks_are_asked)
{
    static const struct vector vectors[] = {
        {"ranks=3 out=tee err=tee silence=400 ask=ABRT -- %F hang",
         {HUNG, "rank 0 " ABORTED, "rank 2 " ABORTED},
         {"\"event\":\"evidence\",\"signalled\":3"},
         {0}},
        /* One that does not mind is stopped when the wait is over. */
        {"ranks=2 out=tee err=tee silence=400 wait=800 ask=USR1 -- "
         "%F ignore=10 1:tell=ready 0:babble=go hang",
         {HUNG, "rank 0 " STOPPED},
         {"\"signalled\":2"},
         {0}},
        {"ranks=2 out=tee err=tee silence=400 python=1 -- %F hang",
         {HUNG, "rank 0 " ABORTED},
         {"\"signalled\":2"},
         {0}},
        {"ranks=2 out=tee err=tee silence=400 -- %F hang",
         {HUNG, "rank 0 " STOPPED},
         {"\"signalled\":0"},
         {0}},
    };
    struct rlimit found, all = {RLIM_INFINITY, RLIM_INFINITY};
    (void)getrlimit(RLIMIT_CORE, &found);
    all.rlim_cur = all.rlim_max = found.rlim_max;
    (void)setrlimit(RLIMIT_CORE, &all);
    (void)setenv("PYTHONFAULTHANDLER", "1", 1);
    CHECK(vectors);
    (void)unsetenv("PYTHONFAULTHANDLER");
    (void)setrlimit(RLIMIT_CORE, &found);
}

/* None is dumped, whatever the limit is otherwise. */
TEST(probing_leaves_no_core)
{
    struct jr_drive drive;
    struct rlimit found, all;
    (void)getrlimit(RLIMIT_CORE, &found);
    all = (struct rlimit){found.rlim_max, found.rlim_max};
    (void)setrlimit(RLIMIT_CORE, &all);
    CU_ASSERT_TRUE(jr_drive_run(&drive, "out=tee err=tee silence=400 ask=ABRT -- %F hang"));
    CU_ASSERT_TRUE(jr_drive_has(&drive, "outcome", "core=0"));
    jr_drive_close(&drive);
    (void)setrlimit(RLIMIT_CORE, &found);
}

TEST(commands_are_run)
{
    DRIVE(drive);
    CU_ASSERT_TRUE(jr_drive_run(&drive, "ranks=20 out=tee err=tee silence=400 "
                                        "command=/bin/cat,/proc/%{pid}/comm,/proc/%{pid}/environ "
                                        "ask=ABRT -- %F hang"));
    CU_ASSERT_TRUE(jr_drive_has(&drive, OUTPUT, "fakerank"));
    size_t len;
    TEXT(text) = jr_drive_read(&drive, OUTPUT, &len);
    CU_ASSERT_PTR_NOT_NULL(memmem(text, len, "RANK=1", 6));
    CU_ASSERT_TRUE(jr_drive_has(&drive, "outcome", "rank 19 " ABORTED));
    CU_ASSERT_EQUAL(jr_drive_survivors(&drive, 0), 0);
}

TEST(commands_are_bounded)
{
    static const struct vector vectors[] = {
        {"ranks=2 out=tee err=tee silence=400 wait=1000 "
         "command=/bin/sleep,1000 ask=ABRT -- %F hang",
         {HUNG, "rank 0 " STOPPED},
         {0},
         {0}},
        {"ranks=2 out=tee err=tee silence=400 wait=5000 command=/no/such/program -- %F hang",
         {HUNG, "rank 0 " STOPPED},
         {"\"event\":\"evidence_failed\",\"rank\":1,\"errno\":2"},
         {"\"state\": \"S\""}},
    };
    CHECK(vectors);
}

/* Ctrl-C while evidence is gathered. */
TEST(a_stop_ends_the_asking)
{
    DRIVE(drive);
    jr_drive_start(&drive, JR_DRIVE_FILES,
                   "ranks=2 out=tee err=tee silence=400 wait=50000 "
                   "command=/bin/sh,-c,echo>ready;cat<go -- %F hang");
    CU_ASSERT_TRUE(jr_drive_ready(&drive, 2));
    jr_drive_kill(drive.pid, SIGTERM);
    CU_ASSERT_TRUE(jr_drive_end(&drive) && jr_drive_has(&drive, "outcome", "stop_signal=15"));
    CU_ASSERT_TRUE(jr_drive_has(&drive, "outcome", "rank 0 " STOPPED));
    CU_ASSERT_EQUAL(jr_drive_survivors(&drive, 0), 0);
}
