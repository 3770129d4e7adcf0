/* What a rank starts with, and what is said when it does not start. */
#include "drive.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct vector {
    const char *words;
    const char *file;    /* where to look */
    const char *want[4]; /* texts that must be in it */
};

static void check(const struct vector *vectors, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        DRIVE(drive);
        CU_ASSERT_TRUE(jr_drive_run(&drive, vectors[i].words));
        for (int j = 0; j < 4 && vectors[i].want[j] != NULL; j++)
            CU_ASSERT_TRUE(jr_drive_has(&drive, vectors[i].file, vectors[i].want[j]));
        CU_ASSERT_EQUAL(jr_drive_survivors(&drive, 0), 0);
    }
}
#define CHECK(vectors) check(vectors, sizeof vectors / sizeof vectors[0])

TEST(tells_why_not)
{
    static const struct vector vectors[] = {
        {"ranks=3 path=/bin -- no-such-program",
         "outcome",
         {"rank 0 end=start code=0 signal=0 stage=exec errno=ENOENT", "rank 1 end=none",
          "rank 2 end=none"}},
        {"-- /no/such/program", "outcome", {"stage=exec errno=ENOENT"}},
        {"-- /etc", "outcome", {"stage=exec errno=EISDIR"}},
        {"-- ./runs", "outcome", {"stage=exec errno=EISDIR"}},
        {"-- /etc/passwd", "outcome", {"stage=exec errno=EACCES"}},
        {"path=/etc -- passwd", "outcome", {"stage=exec errno=EACCES"}},
        {"path=/ -- etc", "outcome", {"stage=exec errno=EISDIR"}},
        {"path= -- sh", "outcome", {"stage=exec errno=ENOENT"}},
        {"workdir=/no/such -- /bin/true", "outcome", {"stage=workdir errno=ENOENT"}},
        {"workdir=/etc/passwd -- /bin/true", "outcome", {"stage=workdir errno=ENOTDIR"}},
    };
    CHECK(vectors);
}

static void try_script(const char *text, const char *verdict)
{
    char path[] = "/tmp/jobrun-script-XXXXXX";
    char words[64];
    int fd = mkstemp(path);
    ssize_t len = (ssize_t)strlen(text);
    CU_ASSERT_EQUAL(write(fd, text, (size_t)len), len);
    (void)fchmod(fd, 0700);
    (void)close(fd);
    (void)snprintf(words, sizeof words, "-- %s", path);
    const struct vector vectors[] = {{words, "outcome", {verdict}}};
    CHECK(vectors);
    (void)unlink(path);
}

TEST(tells_a_script_without_interpreter)
{
    try_script("echo\n", "stage=exec errno=ENOEXEC");
    try_script("#!/no/such\n", "stage=exec errno=ELIBACC");
    try_script("#!/bin/sh\r\n", "stage=exec errno=ELIBACC");
    try_script("#!/etc/passwd\n", "stage=exec errno=ELIBACC");
}

/* A start that fails ends the ranks that were started before it. */
TEST(stops_what_runs)
{
    static const struct vector vectors[] = {
        {"ranks=3 missing=1 policy=continue -- %F hang",
         "outcome",
         {"rank 0 end=signaled code=0 signal=15 stage=none errno=0 stopped_with=15",
          "rank 1 end=start code=0 signal=0 stage=exec errno=ENOENT",
          "rank 2 end=none code=0 signal=0 stage=none errno=0 stopped_with=0"}},
    };
    CHECK(vectors);
}

TEST(gives_a_clean_start)
{
    static const struct vector vectors[] = {
        {"-- %F fds", "out", {"fds 0 1 2 1000\n"}},
        {"out=tee err=tee -- %F fds", "out", {"[0] fds 0 1 2 1000\n"}},
        {"out=file err=file -- %F fds",
         "runs/run-0000/attempt_0/0/stdout.log",
         {"fds 0 1 2 1000\n"}},
        {"-- %F signals", "out", {"signals\n"}},
        {"out=tee -- %F signals", "out", {"[0] signals\n"}},
        {"workdir=/usr -- %F place", "out", {"cwd /usr umask 022", "leader 1", "stdin 0"}},
        {"path=/bin -- echo found", "out", {"found"}},
        {"path=:/bin -- echo found", "out", {"found"}},
        {"workdir=/ path=bin -- echo found", "out", {"found"}},
        {"workdir=/bin -- ./echo found", "out", {"found"}},
    };
    CHECK(vectors);
}

TEST(gives_back_its_limits)
{
    static const struct vector vectors[] = {
        {"ranks=40 nofile=100 out=tee err=tee -- %F place", "out", {"[39] cwd", "nofile 100 "}},
        {"ranks=2 nofile=200 -- %F place", "out", {"nofile 200 "}},
    };
    CHECK(vectors);
}

TEST(binds_to_cpus)
{
    static const struct vector vectors[] = {
        {"cpus=0 -- grep Cpus_allowed_list /proc/self/status", "out", {"Cpus_allowed_list:\t0\n"}},
        {"cpus=8000 -- /bin/true", "outcome", {"stage=cpus errno=EINVAL"}},
        {"cpus=9000 -- /bin/true", "outcome", {"stage=cpus errno=EINVAL"}},
        {"cpus=x -- /bin/true", "outcome", {"stage=cpus errno=EINVAL"}},
    };
    CHECK(vectors);
}

TEST(counts_before_it_starts)
{
    static const struct vector vectors[] = {
        {"ranks=40 hard=100 out=tee -- /bin/true",
         "outcome",
         {"error 40 ranks need 216 file descriptors, and the hard limit is 100"}},
        {"ranks=40 hard=150 out=file -- /bin/true", "outcome", {"rank 39 end=exited"}},
        {"ranks=40000 hard=1000000 -- /bin/true", "outcome", {"error 40000 ranks need"}},
    };
    CHECK(vectors);
}

TEST(keeps_what_nohup_ignored)
{
    DRIVE(drive);
    jr_drive_start(&drive, JR_DRIVE_NOHUP, "-- %F signals");
    CU_ASSERT_TRUE(jr_drive_end(&drive));
    CU_ASSERT_TRUE(jr_drive_has(&drive, "out", "signals ignored 1 ignored 2\n"));
}

/* A parent that ignores SIGCHLD takes no ends from us, nor from the ranks. */
TEST(waits_where_ends_were_ignored)
{
    DRIVE(drive);
    jr_drive_start(&drive, JR_DRIVE_NOCHLD, "-- %F signals exit=3");
    CU_ASSERT_TRUE(jr_drive_end(&drive) && jr_drive_has(&drive, "out", "signals\n"));
    CU_ASSERT_TRUE(jr_drive_has(&drive, "outcome", "rank 0 end=exited code=3"));
}

TEST(runs_with_closed_descriptors)
{
    static const char *const words[] = {"-- %F fds print=x error=y",
                                        "out=tee err=tee -- %F fds print=x",
                                        "out=file err=file -- %F fds print=x error=y"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        DRIVE(drive);
        jr_drive_start(&drive, JR_DRIVE_CLOSED, words[i]);
        CU_ASSERT_TRUE(jr_drive_end(&drive));
        CU_ASSERT_TRUE(jr_drive_has(&drive, "outcome", "rank 0 end=exited code=0"));
        if (i > 0)
            CU_ASSERT_TRUE(jr_drive_has(&drive, "runs/run-0000/attempt_0/0/stdout.log",
                                        "fds 0 1 2 1000\nx\n"));
    }
}

/* Whatever numbers the caller's descriptors have, they are not in our way. */
TEST(runs_among_many_descriptors)
{
    for (unsigned count = 0; count < 24; count++) {
        DRIVE(drive);
        jr_drive_start(&drive, JR_DRIVE_CROWD(count), "ranks=2 out=tee err=file -- %F fds error=y");
        CU_ASSERT_TRUE(jr_drive_end(&drive) && jr_drive_has(&drive, "out", "[1] fds 0 1 2 1000\n"));
        CU_ASSERT_TRUE(jr_drive_has(&drive, "runs/run-0000/attempt_0/1/stderr.log", "y\n"));
    }
}

TEST(reports_every_exit_code)
{
    static char words[8192] = "ranks=256 policy=continue -- %F";
    DRIVE(drive);
    size_t len = strlen(words);
    for (int i = 0; i < 256; i++)
        len += (size_t)snprintf(words + len, sizeof words - len, " %d:exit=%d", i, i);
    CU_ASSERT_TRUE(jr_drive_run(&drive, words));
    TEXT(outcome) = jr_drive_read(&drive, "outcome", NULL);
    for (int i = 0; i < 256; i++) {
        char want[64];
        (void)snprintf(want, sizeof want, "rank %d end=exited code=%d signal=0", i, i);
        CU_ASSERT_PTR_NOT_NULL(strstr(outcome, want));
    }
}

TEST(reports_signals)
{
    static const int signals[] = {1, 2, 3, 6, 8, 9, 11, 13, 14, 15, 34, 64};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        char words[64], want[64];
        DRIVE(drive);
        (void)snprintf(words, sizeof words, "-- %%F signal=%d", signals[i]);
        (void)snprintf(want, sizeof want, "rank 0 end=signaled code=0 signal=%d ", signals[i]);
        CU_ASSERT_TRUE(jr_drive_run(&drive, words) && jr_drive_has(&drive, "outcome", want));
        CU_ASSERT_TRUE(jr_drive_has(&drive, "outcome", "rss=1"));
    }
}

/* Nothing of a run stays in its caller: neither signals nor descriptors. */
TEST(runs_again_and_again)
{
    DRIVE(drive);
    CU_ASSERT_TRUE(jr_drive_run(&drive, "repeat=50 hard=150 ranks=4 out=tee -- %F fds"));
    CU_ASSERT_TRUE(jr_drive_has(&drive, "outcome", "rank 3 end=exited code=0"));
}
