/* What scontrol says of a job: answers as Slurm 22.05 gives them, and as nobody should have made
 * them. */
#include "spawn/slurm_job.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "descriptors.h"

#define ANSWER(name, state, restarts, rest)                                                        \
    "JobId=12 JobName=" name "\n   UserId=a(1) GroupId=a(1) MCS_label=N/A\n"                       \
    "   JobState=" state " Reason=None Dependency=(null)\n"                                        \
    "   Requeue=1 Restarts=" restarts " BatchFlag=1 Reboot=0 ExitCode=0:0\n"                       \
    "   RunTime=00:00:00 TimeLimit=UNLIMITED TimeMin=N/A\n" rest                                   \
    "   Command=/x PreemptTime=1800000000\n   Power=\n   \n"
#define TIMES(end)    "   StartTime=1700000000 EndTime=" end " Deadline=N/A\n"
#define PREEMPT(time) "   PreemptEligibleTime=1700000000 PreemptTime=" time "\n"

static const struct jr_slurm_self SELF = {.job = "12", .name = "12", .restarts = 1};

TEST(reads_what_slurm_says)
{
    static const struct {
        const char *text, *state;
        uint32_t restarts;
        uint64_t end;
        bool preempting, preempted;
    } rows[] = {
        {ANSWER("t", "RUNNING", "1", TIMES("Unknown")), "RUNNING", 1, 0, false, false},
        {ANSWER("t", "RUNNING", "1", TIMES("1800000020") PREEMPT("1800000000")), "RUNNING", 1,
         1800000020, true, true},
        {ANSWER("t", "RUNNING", "1", PREEMPT("None")), "RUNNING", 1, 0, false, false},
        {ANSWER("t", "RUNNING", "1", "   PreemptTime=1800000000 SuspendTime=None\n"), "RUNNING", 1,
         0, true, true},
        {ANSWER("t", "RUNNING", "2", PREEMPT("1800000000")), "RUNNING", 2, 0, true, false},
        {ANSWER("t", "COMPLETING", "2", ""), "COMPLETING", 2, 0, false, true},
        {ANSWER("t", "PENDING", "2", ""), "PENDING", 2, 0, false, true},
        {ANSWER("t", "COMPLETING", "1", ""), "COMPLETING", 1, 0, false, false},
        {ANSWER("t", "CANCELLED", "2", ""), "CANCELLED", 2, 0, false, false},
        {ANSWER("a PreemptTime=1800000000", "RUNNING", "1", ""), "RUNNING", 1, 0, false, false},
        {ANSWER("a\n   JobName=b", "RUNNING", "1", ""), "RUNNING", 1, 0, false, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct jr_slurm_job job = {.restarts = 99};
        CU_ASSERT_TRUE_FATAL(jr_slurm_job_read(&job, rows[i].text, strlen(rows[i].text), "12"));
        JR_ASSERT_TEXT(job.state, rows[i].state);
        CU_ASSERT_EQUAL(job.restarts, rows[i].restarts);
        CU_ASSERT_EQUAL(job.end, rows[i].end);
        CU_ASSERT_EQUAL(job.preempting, rows[i].preempting);
        CU_ASSERT_EQUAL(jr_slurm_job_is_preempted(&job, &SELF), rows[i].preempted);
    }
}

/* Of several tasks of an array, the one is meant whose number it is. */
TEST(finds_its_own_among_several)
{
    static const char text[] = "JobId=11 ArrayJobId=12 ArrayTaskId=1 JobName=t\n"
                               "   JobState=COMPLETING Reason=None\n   Requeue=1 Restarts=9\n\n"
                               "JobId=12 ArrayJobId=12 ArrayTaskId=2 JobName=t\n"
                               "   JobState=RUNNING Reason=None\n   Requeue=1 Restarts=1\n\n"
                               "JobId=120 ArrayJobId=12 ArrayTaskId=3 JobName=t\n"
                               "   JobState=PENDING Reason=None\n   Requeue=1 Restarts=9\n\n";
    struct jr_slurm_job job;
    CU_ASSERT_TRUE_FATAL(jr_slurm_job_read(&job, text, strlen(text), "12"));
    JR_ASSERT_TEXT(job.state, "RUNNING");
    CU_ASSERT_EQUAL(job.restarts, 1);
}

/* What is cut off, contradicts itself, or is another's, says nothing. */
TEST(believes_no_other_answer)
{
    static const char *const rows[] = {
        "",
        "\n",
        "slurm_load_jobs error: Invalid job id specified\n",
        "JobId=13 JobName=t\n   JobState=PENDING R=x\n   Requeue=1 Restarts=9\n",
        "JobId=12 JobName=t\n   JobState=PENDING Reason=x\n",
        "JobId=12 JobName=t\n   Requeue=1 Restarts=9\n",
        "JobId=12 JobName=t\n   JobState=PENDING R=x\n   Requeue=1 Restarts=x\n",
        "JobId=12 JobName=t\n   JobState=PENDING R=x\n   Requeue=1 Restarts=-1\n",
        "JobId=12 JobName=t\n   JobState=PENDING R=x\n   Requeue=1 Restarts=9",
        "JobId=12 J=t\n   JobState=PENDING R=x\n   Requeue=1 Restarts=9\n"
        "   JobState=RUNNING Reason=None\n   Requeue=1 Restarts=1\n",
        "JobId=12 J=t\n   JobState=PENDING R=x\n   Requeue=1 Restarts=9\n"
        "JobId=12 J=t\n",
        "   JobState=PENDING Reason=x\n   Requeue=1 Restarts=9\n",
        "JobId=12 JobName=t\n   JobState=AVERYLONGSTATETHATNOBODYHASEVERSEEN\n"
        "   Requeue=1 Restarts=9\n",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct jr_slurm_job job = {.restarts = 99};
        CU_ASSERT_FALSE(jr_slurm_job_read(&job, rows[i], strlen(rows[i]), "12"));
        CU_ASSERT_EQUAL(job.restarts, 99);
    }
}

/* A word of a state has room for its end. */
TEST(knows_how_long_a_state_may_be)
{
    struct jr_slurm_job job = {.restarts = 99};
    for (size_t len = sizeof job.state - 1; len <= sizeof job.state; len++) {
        char state[64] = "", text[256];
        memset(state, 'S', len);
        (void)snprintf(text, sizeof text,
                       "JobId=12 J=t\n   JobState=%s R=x\n   Requeue=1 Restarts=9\n", state);
        CU_ASSERT_EQUAL(jr_slurm_job_read(&job, text, strlen(text), "12"), len < sizeof job.state);
    }
    CU_ASSERT_EQUAL(strlen(job.state), sizeof job.state - 1);
}

TEST(knows_how_long_is_left)
{
    uint64_t now = jr_clock_wall_ns() / 1000000000;
    struct jr_slurm_job job = {.end = now + 1000};
    uint64_t left = jr_slurm_job_left_ms(&job, 5000);
    CU_ASSERT_TRUE(left > 900000 && left <= 995000);
    job.end = now + 4;
    left = jr_slurm_job_left_ms(&job, 5000);
    CU_ASSERT_TRUE(left > 1000 && left <= 2000);
    job.end = now + 1000; /* more than twice what is to be spared, or not */
    left = jr_slurm_job_left_ms(&job, 400000);
    CU_ASSERT_TRUE(left > 550000 && left <= 600000);
    left = jr_slurm_job_left_ms(&job, 600000);
    CU_ASSERT_TRUE(left > 450000 && left <= 500000);
    job.end = now - 1;
    CU_ASSERT_EQUAL(jr_slurm_job_left_ms(&job, 5000), 0);
    job.end = now; /* or sooner, by now */
    CU_ASSERT_EQUAL(jr_slurm_job_left_ms(&job, 5000), 0);
    job.end = UINT64_MAX / 1000;
    CU_ASSERT_TRUE(jr_slurm_job_left_ms(&job, 5000) > UINT64_MAX / 2);
    job.end = 0;
    CU_ASSERT_EQUAL(jr_slurm_job_left_ms(&job, 5000), 0);
    job.end = UINT64_MAX;
    CU_ASSERT_EQUAL(jr_slurm_job_left_ms(&job, 5000), 0);
}

/* A stand-in for scontrol, in a folder of its own, which is all of PATH. */
struct stand_in {
    char folder[32], path[64], search[64];
    char *envp[3];
};

/* NULL: there is none. */
static void make_stand_in(struct stand_in *ret, const char *script)
{
    static char format[] = "SLURM_TIME_FORMAT=of the user";
    *ret = (struct stand_in){.folder = "/tmp/scontrol-XXXXXX"};
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(ret->folder));
    (void)snprintf(ret->path, sizeof ret->path, "%s/scontrol", ret->folder);
    (void)snprintf(ret->search, sizeof ret->search, "PATH=%s:/usr/bin:/bin", ret->folder);
    FILE *file = script == NULL ? NULL : fopen(ret->path, "we");
    if (file != NULL) {
        (void)fprintf(file, "#!/bin/sh\n%s\n", script);
        (void)fclose(file);
        (void)chmod(ret->path, 0700);
    } else {
        (void)snprintf(ret->search, sizeof ret->search, "PATH=%s", ret->folder);
    }
    ret->envp[0] = ret->search;
    ret->envp[1] = format;
}

static void remove_stand_in(const struct stand_in *stand_in)
{
    (void)unlink(stand_in->path);
    (void)rmdir(stand_in->folder);
}

static const char *ask(const char *script, const char *verb, unsigned limit_ms, struct jr_buf *out)
{
    struct stand_in stand_in;
    struct jr_slurm_call call;
    make_stand_in(&stand_in, script);
    const struct jr_slurm_self self = {.job = "12", .name = "12_3", .envp = stand_in.envp};
    unsigned open = count_descriptors();
    CU_ASSERT_EQUAL_FATAL(jr_slurm_call_start(&call, &self, verb, limit_ms), 0);
    CU_ASSERT_EQUAL(count_descriptors(), open + 2); /* its output and report */
    const char *why = jr_slurm_call_finish(&call, out);
    CU_ASSERT_EQUAL(call.keeper.pid, 0);
    CU_ASSERT_EQUAL(call.out_fd, -1);
    CU_ASSERT_EQUAL(count_descriptors(), open);
    remove_stand_in(&stand_in);
    return why;
}

/* Whoever does not wait for the answer has it end. */
TEST(takes_back_what_was_asked)
{
    struct stand_in stand_in;
    struct jr_slurm_call call;
    make_stand_in(&stand_in, "exec sleep 1000");
    const struct jr_slurm_self self = {.job = "12", .name = "12", .envp = stand_in.envp};
    unsigned open = count_descriptors();
    CU_ASSERT_EQUAL_FATAL(jr_slurm_call_start(&call, &self, "show", 60000), 0);
    pid_t keeper = call.keeper.pid;
    jr_slurm_call_stop(&call);
    CU_ASSERT_EQUAL(call.keeper.pid, 0);
    CU_ASSERT_EQUAL(kill(keeper, 0), -1);
    CU_ASSERT_EQUAL(count_descriptors(), open);
    jr_slurm_call_stop(&call); /* there is none any more */
    remove_stand_in(&stand_in);
}

TEST(asks_scontrol)
{
    static const struct {
        const char *script, *verb;
        unsigned limit_ms;
        const char *why, *out;
    } rows[] = {
        {"echo \"$@\" $SLURM_TIME_FORMAT; pwd", "show", 60000, NULL, "show job 12_3 %s\n/\n"},
        {"echo no >&2; exit 1", "show", 60000, "refused", "no\n"},
        {"echo part; exec sleep 1000", "show", 300, "did not answer in time", "part\n"},
        {"kill -9 $$", "show", 60000, "was killed", NULL},
        {NULL, "show", 60000, "could not be executed", NULL},
        {"echo \"$@\"", "requeue", 60000, NULL, "requeue 12_3\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
        const char *why = ask(rows[i].script, rows[i].verb, rows[i].limit_ms, &out);
        if (rows[i].why == NULL)
            CU_ASSERT_PTR_NULL(why)
        else
            JR_ASSERT_TEXT(why, rows[i].why);
        CU_ASSERT_EQUAL(jr_slurm_call_was_killed(why), i == 3);
        if (rows[i].out == NULL)
            CU_ASSERT_EQUAL(out.len, 0)
        else if (i != 2 || out.len > 0) /* it may be too slow even for that */
            JR_ASSERT_TEXT(out.data, rows[i].out);
    }
}
