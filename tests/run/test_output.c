/* Where the ranks' output goes, and what becomes of it on the way. */
#include "drive.h"
#include "unit.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define LOG(rank, name) "runs/run-0000/attempt_0/" #rank "/" name ".log"

struct vector {
    const char *words;
    const char *file;
    const char *want; /* its whole content; NULL: it does not exist */
};

static void check(const struct vector *vectors, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        DRIVE(drive);
        CU_ASSERT_TRUE(jr_drive_run(&drive, vectors[i].words));
        TEXT(held) = jr_drive_read(&drive, vectors[i].file, NULL);
        JR_ASSERT_TEXT(held, vectors[i].want);
    }
}
#define CHECK(vectors) check(vectors, sizeof vectors / sizeof vectors[0])

TEST(goes_where_it_should)
{
    static const struct vector vectors[] = {
        {"-- %F print=a error=b", "out", "a\n"},
        {"-- %F print=a error=b", "err", "b\n"},
        {"out=file -- %F print=a error=b", "out", ""},
        {"out=file -- %F print=a error=b", LOG(0, "stdout"), "a\n"},
        {"out=file -- %F print=a error=b", "err", "b\n"},
        {"out=console -- %F print=a error=b", "out", "[0] a\n"},
        {"out=console -- %F print=a error=b", LOG(0, "stdout"), ""},
        {"out=tee err=tee -- %F print=a error=b", "out", "[0] a\n"},
        {"out=tee err=tee -- %F print=a error=b", "err", "[0] b\n"},
        {"out=tee err=tee -- %F print=a error=b", LOG(0, "stdout"), "a\n"},
        {"out=tee err=tee -- %F print=a error=b", LOG(0, "stderr"), "b\n"},
        {"out=tee quiet=0 -- %F print=a", "out", ""},
        {"out=tee quiet=0 -- %F print=a", LOG(0, "stdout"), "a\n"},
        {"out=console quiet=0 -- %F print=a", "out", ""},
    };
    CHECK(vectors);
}

TEST(keeps_lines_whole)
{
    static const struct vector vectors[] = {
        {"out=tee partial=0 -- %F say=a print=b", "out", "[0] ab\n"},
        {"out=tee partial=0 -- %F say=last", "out", "[0] last\n"},
        {"out=tee partial=0 -- %F say=last", LOG(0, "stdout"), "last"},
        {"out=tee partial=0 -- %F print=", "out", "[0] \n"},
        {"out=tee partial=0 -- %F print=10%\r20%\r30%", "out", "[0] 30%\n"},
        {"out=tee partial=0 -- %F print=10%\r20%\r30%", LOG(0, "stdout"), "10%\r20%\r30%\n"},
        {"out=tee partial=0 -- %F print=dos\r", "out", "[0] dos\n"},
        {"out=tee partial=0 -- %F say=\r1% say=\r2% say=\r3% print=", "out", "[0] 3%\n"},
        {"out=tee partial=0 -- %F print=\033[2Jpipe", "out", "[0] \033[2Jpipe\n"},
    };
    CHECK(vectors);
}

TEST(shows_an_unfinished_line_in_time)
{
    DRIVE(drive);
    char shown[256];
    jr_drive_start(&drive, JR_DRIVE_PIPE, "out=tee partial=30 -- %F say=half await=go print=whole");
    ssize_t len = read(drive.from, shown, sizeof shown - 1);
    shown[len > 0 ? len : 0] = '\0';
    JR_ASSERT_TEXT(shown, "[0] half\\\n");
    jr_drive_go(&drive);
    CU_ASSERT_TRUE(jr_drive_end(&drive));
    len = read(drive.from, shown, sizeof shown - 1);
    shown[len > 0 ? len : 0] = '\0';
    JR_ASSERT_TEXT(shown, "[0] whole\n");
}

TEST(keeps_every_byte_in_the_file)
{
    DRIVE(drive);
    size_t len = 0;
    CU_ASSERT_TRUE(jr_drive_run(&drive, "out=tee -- %F bytes"));
    TEXT(held) = jr_drive_read(&drive, LOG(0, "stdout"), &len);
    CU_ASSERT_EQUAL(len, 256);
    for (size_t i = 0; i < len; i++)
        CU_ASSERT_EQUAL((unsigned char)held[i], i);
}

/* One read may take in all that there is, so that the second half is written once the first is
 * seen. */
TEST(shows_a_line_without_end_in_pieces)
{
    DRIVE(drive);
    size_t len = 0;
    jr_drive_start(&drive, JR_DRIVE_FILES,
                   "out=tee partial=0 -- %F wide=500000 await=go wide=500000");
    CU_ASSERT_TRUE(jr_drive_holds(&drive, "out", 64 << 10));
    jr_drive_go(&drive);
    CU_ASSERT_TRUE(jr_drive_end(&drive));
    free(jr_drive_read(&drive, LOG(0, "stdout"), &len));
    CU_ASSERT_EQUAL(len, 1000000);
    TEXT(held) = jr_drive_read(&drive, "out", &len);
    size_t wide = 0, lines = 0;
    for (size_t i = 0; i < len; i++) {
        wide += held[i] == 'w';
        lines += held[i] == '\n';
    }
    CU_ASSERT_EQUAL(wide, 1000000);
    CU_ASSERT_TRUE(lines > 1 && lines < 20);
}

/* Every line of every rank, whole and in order, among the others'. */
static void check_flood(const char *held, size_t len, unsigned ranks, unsigned long each)
{
    unsigned long next[8] = {0};
    size_t wrong = 0;
    for (const char *line = held; line < held + len; line += 104) {
        unsigned rank = (unsigned)(line[1] - '0');
        bool whole = line[0] == '[' && line[2] == ']' && line[103] == '\n' && rank < ranks &&
                     strtoul((char[]){line[4], line[5], line[6], line[7], line[8], line[9],
                                      line[10], line[11], line[12], line[13], '\0'},
                             NULL, 10) == next[rank];
        wrong += !whole;
        if (whole)
            next[rank]++;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    for (unsigned i = 0; i < ranks; i++)
        CU_ASSERT_EQUAL(next[i], each);
}

TEST(never_tears_lines)
{
    DRIVE(drive);
    size_t len = 0;
    CU_ASSERT_TRUE(jr_drive_run(&drive, "ranks=4 out=tee partial=0 -- %F flood=3000000"));
    TEXT(held) = jr_drive_read(&drive, "out", &len);
    check_flood(held, len, 4, 30000);
}

/* A log of so many bytes has more than a pipe can take for the console, where they go before the
 * runner does anything else. */
#define MORE 500000

/* Nobody reads until the console is blocked; then nothing is missing. */
TEST(waits_for_a_slow_reader)
{
    DRIVE(drive);
    static char held[8 * 1000 * 1000];
    size_t len = 0;
    jr_drive_start(&drive, JR_DRIVE_PIPE,
                   "ranks=2 out=tee partial=0 -- %F 1:await=go flood=3000000");
    CU_ASSERT_TRUE(jr_drive_holds(&drive, LOG(0, "stdout"), MORE));
    jr_drive_go(&drive);
    for (ssize_t got = 1; got > 0; len += (size_t)got) {
        struct pollfd wait = {.fd = drive.from, .events = POLLIN};
        got = poll(&wait, 1, JR_DRIVE_WAIT_MS) != 1
                  ? 0
                  : read(drive.from, held + len, sizeof held - len);
        got = got < 0 ? 0 : got;
    }
    CU_ASSERT_TRUE(jr_drive_end(&drive) && jr_drive_has(&drive, "outcome", "console_failed=0"));
    check_flood(held, len, 2, 30000);
}

TEST(goes_on_when_the_reader_leaves)
{
    DRIVE(drive);
    size_t len = 0;
    jr_drive_start(&drive, JR_DRIVE_PIPE, "out=tee -- %F flood=3000000");
    (void)close(drive.from);
    drive.from = -1;
    CU_ASSERT_TRUE(jr_drive_end(&drive) && jr_drive_has(&drive, "outcome", "console_failed=1"));
    CU_ASSERT_TRUE(jr_drive_has(&drive, "outcome", "rank 0 end=exited code=0"));
    free(jr_drive_read(&drive, LOG(0, "stdout"), &len));
    CU_ASSERT_EQUAL(len, 3000000);
}

/* A reader that takes nothing cannot keep jobrun from being stopped. */
TEST(stops_in_front_of_a_dead_reader)
{
    DRIVE(drive);
    jr_drive_start(&drive, JR_DRIVE_PIPE, "out=tee grace=200 -- %F flood=9000000 hang");
    CU_ASSERT_TRUE(jr_drive_holds(&drive, LOG(0, "stdout"), MORE));
    jr_drive_kill(drive.pid, SIGTERM);
    CU_ASSERT_TRUE(jr_drive_end(&drive));
    CU_ASSERT_TRUE(jr_drive_has(&drive, "outcome",
                                "run stop_signal=15 runner_signal=0 timed_out=0 "
                                "console_failed=1 left=0"));
    CU_ASSERT_EQUAL(jr_drive_survivors(&drive, 0), 0);
}

TEST(survives_a_full_log)
{
    DRIVE(drive);
    CU_ASSERT_TRUE(jr_drive_run(&drive, "out=tee err=tee fsize=100000 -- %F flood=90000 "
                                        "flood=30000 error=fine"));
    /* EFBIG stands for ENOSPC: the same path. */
    jr_drive_check(&drive, "outcome", "log=1:27|rank 0 end=exited code=0");
    CU_ASSERT_TRUE(jr_drive_has(&drive, LOG(0, "stderr"), "fine"));
    CU_ASSERT_TRUE(jr_drive_has(&drive, "runs/run-0000/events.jsonl",
                                "\"event\":\"log_failed\",\"rank\":0,\"stream\":1,\"errno\":27"));
}

TEST(is_not_held_by_a_daemon)
{
    static const char *const words[] = {"out=tee err=tee -- %F daemonise print=done",
                                        "out=tee -- %F chatter=boo print=done",
                                        "ranks=2 out=tee -- %F fork print=done"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        DRIVE(drive);
        CU_ASSERT_TRUE(jr_drive_run(&drive, words[i]) && jr_drive_has(&drive, "out", "[0] done\n"));
        CU_ASSERT_TRUE(jr_drive_has(&drive, "outcome", "left=0"));
        CU_ASSERT_EQUAL(jr_drive_survivors(&drive, 0), 0);
    }
}

TEST(puts_the_time_before_lines)
{
    DRIVE(drive);
    CU_ASSERT_TRUE(jr_drive_run(&drive, "out=tee timestamps=1 -- %F print=a print=b"));
    TEXT(held) = jr_drive_read(&drive, "out", NULL);
    CU_ASSERT_EQUAL(strlen(held), 2 * strlen("2026-01-01T00:00:00.000Z [0] a\n"));
    CU_ASSERT_TRUE(held[10] == 'T' && strstr(held, "Z [0] b\n") != NULL);
}

/* Add what a terminal shows to the text `shown`, until it holds `text`, or, where that is NULL,
 * until the run ends. Returns whether it came to that. */
static bool read_terminal(const struct jr_drive *drive, char *shown, size_t size, const char *text)
{
    size_t len = strlen(shown);
    struct pollfd wait = {.fd = drive->terminal, .events = POLLIN};
    while (text == NULL || strstr(shown, text) == NULL) {
        if (len >= size - 1 || poll(&wait, 1, JR_DRIVE_WAIT_MS) != 1)
            return false;
        ssize_t got = read(drive->terminal, shown + len, size - 1 - len);
        if (got <= 0)
            return text == NULL;
        len += (size_t)got;
        shown[len] = '\0';
    }
    return true;
}

TEST(keeps_a_terminal_safe)
{
    static const struct {
        const char *words, *want;
    } vectors[] = {
        {"out=tee partial=0 -- %F print=\033]0;title\aa\033[2Jb\033[1;1Hc", "[0] abc\r\n"},
        {"out=tee color=1 -- %F print=\033[31mred", "[0] \033[31mred\033[0m\r\n"},
        {"out=tee color=0 -- %F print=\033[31mred", "[0] red\r\n"},
        {"out=tee partial=0 -- %F print=a\ab", "[0] a\\x07b\r\n"},
        {"err=tee -- %F error=\xff\xc3\xa4", "[0] \\xff\xc3\xa4\r\n"},
        {"out=tee err=tee -- %F say=1%\r await=go print=2%", "[0] 1%\r\033[K[0] 2%\r\n"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        DRIVE(drive);
        char shown[4096] = "";
        jr_drive_start(&drive, JR_DRIVE_TERMINAL, vectors[i].words);
        if (strstr(vectors[i].words, "await") != NULL) {
            CU_ASSERT_TRUE(read_terminal(&drive, shown, sizeof shown, "1%"));
            jr_drive_go(&drive);
        }
        CU_ASSERT_TRUE(read_terminal(&drive, shown, sizeof shown, NULL) && jr_drive_end(&drive));
        if (strstr(shown, vectors[i].want) == NULL)
            JR_ASSERT_TEXT(shown, vectors[i].want);
        CU_ASSERT_TRUE(strstr(shown, vectors[i].want) != NULL && strstr(shown, "\033]") == NULL);
    }
}

/* Every temporary line is short enough for 40 columns, one that tells of a stop was cut for them,
 * and the last one was erased. */
static void check_status(const char *shown)
{
    size_t len = 0;
    for (const char *at = shown; (at = strstr(at, "\r\033[K")) != NULL;) {
        at += strlen("\r\033[K");
        len = strncmp(at, "jobrun: ", 8) == 0 ? strcspn(at, "\r") : 0;
        CU_ASSERT_TRUE(len <= 39);
        if (len > 0 && memmem(at, len, "stopping", 8) != NULL)
            CU_ASSERT_EQUAL(len, 39);
    }
    CU_ASSERT_EQUAL(len, 0);
}

/* The status is there, tells of a stop before any rank can obey, is cut to the width, and is gone
 * at the end. */
TEST(draws_and_erases_the_status)
{
    DRIVE(drive);
    char shown[4096] = "";
    jr_drive_start(&drive, JR_DRIVE_TERMINAL, "live=1 ranks=2 out=tee -- %F obey tell=ready hang");
    CU_ASSERT_TRUE(jr_drive_ready(&drive, 2));
    CU_ASSERT_TRUE(read_terminal(&drive, shown, sizeof shown, "\r\033[Kjobrun: 2 running, "));
    jr_drive_kill(drive.pid, SIGTERM);
    CU_ASSERT_TRUE(read_terminal(&drive, shown, sizeof shown, NULL) && jr_drive_end(&drive));
    char *obeyed = strstr(shown, "told to stop");
    CU_ASSERT_PTR_NOT_NULL_FATAL(obeyed);
    check_status(shown);
    *obeyed = '\0';
    CU_ASSERT_TRUE(strstr(shown, "s, stopping: SI") != NULL && strstr(shown, "1 running") == NULL);
}

TEST(shows_and_hides_lines)
{
    static const struct vector vectors[] = {
        {"out=tee hide=b -- %F print=a print=b print=c", "out", "[0] a\n[0] c\n"},
        {"out=tee show=b -- %F print=a print=b print=c", "out", "[0] b\n"},
        {"out=tee show=[ab] hide=b -- %F print=a print=b", "out", "[0] a\n"},
        {"out=tee show=b -- %F print=a print=b", LOG(0, "stdout"), "a\nb\n"},
        {"out=tee show=^a$ -- %F print=a say=a print=b", "out", "[0] a\n"},
        {"out=tee hide=^$ -- %F print= print=a", "out", "[0] a\n"},
        {"out=tee hide=20 -- %F print=10%\r20%\r30%", "out", "[0] 30%\n"},
        {"out=tee hide=30 -- %F print=10%\r20%\r30%", "out", ""},
        {"out=tee show=^a$ -- %F print=a\r", "out", "[0] a\n"},
        {"out=tee show=x hide=w -- %F wide=200000", "out", ""},
        {"err=tee hide=\xc3\xa4 -- %F error=\xc3\xa4 error=\xff", "err", "[0] \xff\n"},
    };
    CHECK(vectors);
}

/* An unfinished line waits for its end, which decides. */
TEST(filters_whole_lines_only)
{
    DRIVE(drive);
    char shown[256];
    jr_drive_start(&drive, JR_DRIVE_PIPE,
                   "ranks=2 out=tee partial=1 hide=secret -- %F "
                   "0:say=top 0:tell=ready 0:await=go 0:print=secret "
                   "0:print=end 1:say=x 1:tell=ready 1:await=go 1:print=y");
    CU_ASSERT_TRUE(jr_drive_ready(&drive, 2));
    jr_drive_go_all(&drive);
    CU_ASSERT_TRUE(jr_drive_end(&drive));
    ssize_t len = read(drive.from, shown, sizeof shown - 1);
    shown[len > 0 ? len : 0] = '\0';
    CU_ASSERT_TRUE(strstr(shown, "top") == NULL && strstr(shown, "[0] end\n") != NULL);
    CU_ASSERT_PTR_NOT_NULL(strstr(shown, "[1] xy\n"));
}

/* A line that would take for ever is soon shown, and told of. */
TEST(gives_hard_patterns_up)
{
    DRIVE(drive);
    char words[4096] = "out=tee hide=^(w+)+$ -- %F";
    for (int i = 0; i < 120; i++)
        strcat(words, " wide=60 print=!");
    CU_ASSERT_TRUE(jr_drive_run(&drive, words) && jr_drive_has(&drive, "outcome", "limits=100 "));
    size_t len = 0;
    free(jr_drive_read(&drive, "out", &len));
    CU_ASSERT_EQUAL(len, 120 * strlen("[0] !\n") + 120 * 60);
}

TEST(folds_what_ranks_have_in_common)
{
    static const struct vector vectors[] = {
        {"ranks=4 out=tee collapse=1 -- %F print=a print=b", "out", "[0-3] a\n[0-3] b\n"},
        {"ranks=4 out=tee collapse=1 -- %F print=a print=b", LOG(2, "stdout"), "a\nb\n"},
        {"ranks=1 out=tee collapse=1 -- %F print=a print=a", "out", "[0] a\n[0] a\n"},
        {"ranks=2 out=tee collapse=1 -- %F print=a print=a", "out", "[0-1] a\n[0-1] a\n"},
        {"ranks=3 quiet=1 out=tee collapse=1 -- %F print=a", "out", "[0,2] a\n"},
        {"ranks=2 out=tee collapse=1 hide=b -- %F print=a print=b", "out", "[0-1] a\n"},
    };
    /* Whether lines meet in time is a matter of the machine's load: what is held to is what every
     * outcome of that has in common. */
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        DRIVE(drive);
        CU_ASSERT_TRUE(jr_drive_run(&drive, vectors[i].words));
        TEXT(held) = jr_drive_read(&drive, vectors[i].file, NULL);
        if (strcmp(held, vectors[i].want) != 0) {
            CU_ASSERT_TRUE(strstr(held, "] a\n") != NULL && strlen(held) > strlen(vectors[i].want));
        }
    }
}

TEST(folds_floods_without_tearing_them)
{
    DRIVE(drive);
    size_t len = 0;
    CU_ASSERT_TRUE(
        jr_drive_run(&drive, "ranks=4 out=tee collapse=1 partial=0 -- %F flood=2000000"));
    TEXT(held) = jr_drive_read(&drive, "out", &len);
    unsigned long next[4] = {0}, wrong = 0;
    for (char *line = strtok(held, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        const char *text = strchr(line, ' ');
        unsigned long number = 0;
        wrong += line[0] != '[' || text == NULL || strlen(text) != 100 ||
                 sscanf(text, "%10lu", &number) != 1;
        for (char *at = line + 1; text != NULL && *at >= '0' && *at < '4';) {
            unsigned first = (unsigned)(*at - '0'), last = first;
            if (at[1] == '-')
                last = (unsigned)(*(at += 2) - '0');
            for (; first <= last && first < 4; first++)
                wrong += number != next[first]++;
            at += 1 + (at[1] == ',');
        }
    }
    CU_ASSERT_EQUAL(wrong, 0);
    for (int i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(next[i], 20000);
}

/* Teed or redirected, a log stays within its limit, and ends with the stream's end. */
TEST(limits_logs)
{
    static const char *const words[] = {
        "out=tee limit=100000 -- %F flood=3000000 print=end",
        "out=file limit=64KiB -- %F flood=3000000 print=end",
    };
    for (int i = 0; i < 2; i++) {
        DRIVE(drive);
        size_t len = 0;
        CU_ASSERT_TRUE(jr_drive_run(&drive, words[i]));
        char *held = jr_drive_read(&drive, LOG(0, "stdout"), &len);
        CU_ASSERT_TRUE(len > 40000 && len <= 100000);
        CU_ASSERT_EQUAL(strncmp(held, "00000000000", 11), 0);
        JR_ASSERT_TEXT(held + len - 5, "\nend\n");
        char *mark = strstr(held, "\n[jobrun: log_limit: ");
        CU_ASSERT_PTR_NOT_NULL_FATAL(mark);
        char wanted[64];
        (void)snprintf(wanted, sizeof wanted, "dropped=%lu,0", strtoul(mark + 21, NULL, 10));
        CU_ASSERT_TRUE(jr_drive_has(&drive, "outcome", wanted));
        free(held);
        held = jr_drive_read(&drive, LOG(0, "stdout.log.next"), NULL);
        JR_ASSERT_TEXT(held, "");
        free(held);
        held = jr_drive_read(&drive, "out", &len);
        CU_ASSERT_EQUAL(len, i == 0 ? 30000 * 104 + 8 : 0);
        free(held);
    }
}

/* More logs than descriptors: they take turns. */
TEST(captures_more_than_it_can_hold_open)
{
    DRIVE(drive);
    CU_ASSERT_TRUE(jr_drive_run(&drive, "ranks=100 out=tee err=tee nofile=472 hard=472 -- %F "
                                        "print=a error=b print=c"));
    char *held = jr_drive_read(&drive, "outcome", NULL);
    CU_ASSERT_TRUE(strstr(held, "error") == NULL && strstr(held, "log=1") == NULL);
    free(held);
    for (int i = 0; i < 100; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "runs/run-0000/attempt_0/%d/%s", i, "stdout.log");
        held = jr_drive_read(&drive, name, NULL);
        JR_ASSERT_TEXT(held, "a\nc\n");
        free(held);
    }
}
