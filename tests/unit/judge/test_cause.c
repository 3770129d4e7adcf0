#include "judge/internal.h"

#include <errno.h>
#include <signal.h>

#include "fake_run.h"
#include "quoted.h"
#include "store/outcome.h"
#include "store/progress.h"

/* How a rank ended, in a letter: s(ucceeded) f(ailed with 3) F(ailed by SIGSEGV) t(old to stop)
 * n(ever started) x(could not start) k(illed by someone) 0 (exited with 0 after the stop
 * signal). */
static void set_end(struct fake *fake, uint32_t i, char end)
{
    struct jr_rank_outcome *rank = &fake->ends[i];
    switch (end) {
    case 'f':
        fake_exit(fake, i, 3);
        break;
    case 'F':
        fake_signal(fake, i, 11);
        break;
    case 'k':
        fake_signal(fake, i, 9);
        break;
    case 't':
        fake_stopped(fake, i);
        break;
    case '0':
        rank->stopped_with = 15;
        break;
    case 'n':
        *rank = (struct jr_rank_outcome){0};
        break;
    case 'x':
        *rank = (struct jr_rank_outcome){.end = JR_END_START,
                                         .stage = JR_STAGE_EXEC,
                                         .start_errno = 2,
                                         .order = i + 1,
                                         .ended_ns = rank->ended_ns};
        break;
    default:
        break;
    }
}

/* States in a letter each: S(ucceeded) F(ailed) I(ncomplete) A(fter the first failure) T(old to
 * stop) N(ot started). */
static void check_states(const struct fake *fake, const char *expected)
{
    static const char letters[] = "SFIATN";
    char actual[FAKE_MOST + 1] = "";
    for (size_t i = 0; i < fake->report.count; i++)
        actual[i] = letters[fake->report.ranks[i].state];
    JR_ASSERT_TEXT(actual, expected);
}

struct vector {
    const char *ends;
    int stop_signal, runner_signal;
    bool timed_out, log_failed;
    const char *states;
    enum jr_run_status status;
    int exit_code, as_rank; /* exit status by class and by rank */
    int cause;              /* -1: none */
};

static const struct vector vectors[] = {
    {"sfss", 0, 0, 0, 0, "SFSS", JR_RUN_FAILED, 1, 3, 1},
    {"tfts", 0, 0, 0, 0, "TFTS", JR_RUN_FAILED, 1, 3, 1},
    {"sFff", 0, 0, 0, 0, "SFAA", JR_RUN_FAILED, 1, 139, 1},
    {"0f00", 0, 0, 0, 0, "TFTT", JR_RUN_FAILED, 1, 3, 1},
    {"sskt", 0, 0, 0, 0, "SSFT", JR_RUN_FAILED, 1, 137, 2},
    {"xnnn", 0, 0, 0, 0, "FNNN", JR_RUN_LAUNCH_FAILED, 7, 7, 0},
    {"fxnn", 0, 0, 0, 0, "FANN", JR_RUN_LAUNCH_FAILED, 7, 7, 0},
    {"tttt", 2, 0, 0, 0, "TTTT", JR_RUN_STOPPED, 130, 130, -1},
    {"ftxt", 15, 0, 0, 0, "FTAT", JR_RUN_STOPPED, 143, 143, 0},
    {"ssss", 1, 0, 0, 0, "SSSS", JR_RUN_STOPPED, 129, 129, -1},
    {"tttt", 0, 0, 1, 0, "TTTT", JR_RUN_TIMED_OUT, 6, 6, -1},
    {"fttt", 0, 0, 1, 0, "FTTT", JR_RUN_TIMED_OUT, 6, 6, 0},
    {"kkkk", 0, 9, 0, 0, "TTTT", JR_RUN_LAUNCH_FAILED, 7, 7, -1},
    {"ssnn", 0, 0, 0, 0, "SSNN", JR_RUN_LAUNCH_FAILED, 7, 7, -1},
    {"ssss", 0, 0, 0, 1, "SSSS", JR_RUN_INCOMPLETE, 7, 7, -1},
    {"fsss", 0, 0, 0, 1, "FSSS", JR_RUN_FAILED, 1, 3, 0},
    {"ssss", 0, 0, 0, 0, "SSSS", JR_RUN_SUCCEEDED, 0, 0, -1}};

static void judge_vector(struct fake *fake, const struct vector *vector)
{
    fake_start(fake, 4);
    for (uint32_t i = 0; i < 4; i++)
        set_end(fake, i, vector->ends[i]);
    fake->outcome.stop_signal = vector->stop_signal;
    fake->outcome.runner_signal = vector->runner_signal;
    if (vector->timed_out)
        fake->outcome.timed_out_by = JR_TIMEOUT_RUN;
    fake->ends[0].log_errno = vector->log_failed ? 28 : 0;
    fake_judge(fake);
}

TEST(states_status_and_code)
{
    for (size_t v = 0; v < COUNT_OF(vectors); v++) {
        const struct vector *vector = &vectors[v];
        struct fake fake RELEASE(fake_end) = {0};
        judge_vector(&fake, vector);
        check_states(&fake, vector->states);
        CU_ASSERT_EQUAL(fake.report.status, vector->status);
        CU_ASSERT_EQUAL(fake.report.exit_code, vector->exit_code);
        CU_ASSERT_EQUAL(fake.report.causes_count, vector->cause >= 0);
        if (vector->cause >= 0 && fake.report.causes_count > 0)
            CU_ASSERT_EQUAL(fake.report.causes[0], (uint32_t)vector->cause);
        fake.policy.exit_status = JR_EXIT_STATUS_RANK;
        fake_judge(&fake);
        CU_ASSERT_EQUAL(fake.report.exit_code, vector->as_rank);
    }
}

TEST(without_a_line_20_ms_are_in_doubt)
{
    static const struct {
        uint64_t later_ns;
        const char *states;
    } cases[] = {{20000001, "FAAS"}, {20000000, "FFFS"}, {0, "FFFS"}};
    for (size_t c = 0; c < 3; c++) {
        FAKE_ENDS(fake, "1 2 3 0");
        fake.ends[1].ended_ns = fake.ends[2].ended_ns = fake.ends[0].ended_ns + cases[c].later_ns;
        fake_judge(&fake);
        check_states(&fake, cases[c].states);
    }
}

/* An error.json whose exception was raised so long after the start. */
static void raise_at(struct fake *fake, uint32_t rank, double seconds)
{
    char text[128];
    uint64_t ns = FAKE_WALL + (uint64_t)(int64_t)(seconds * 1e9);
    (void)snprintf(text, sizeof text, "{\"message\": {\"message\": \"E: x\"}, \"time_ns\": %llu}",
                   (unsigned long long)ns);
    fake_write_rank(fake, rank, "error.json", text);
}

TEST(an_exception_counts_when_it_was_raised)
{
    /* Rank i lived from 0 to 1 + i seconds after the start. */
    static const struct {
        char ends[4];
        uint32_t rank;
        double raised;
        const char *states;
        uint32_t cause;
    } cases[] = {
        {"sff", 2, 5.0, "SFA", 1},  /* after its own end: not believed */
        {"sff", 2, -1.0, "SFA", 1}, /* before the start: neither */
        {"sff", 2, 2.5, "SFA", 1},  /* later than rank 1's end */
        {"sff", 2, 1.5, "SAF", 2},  {"sft", 2, 2.5, "SFT", 1},
        {"sft", 2, 1.5, "SAF", 2}, /* stopped, but it was the first */
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        FAKE(fake, 3);
        for (uint32_t i = 0; i < 3; i++)
            set_end(&fake, i, cases[c].ends[i]);
        raise_at(&fake, cases[c].rank, cases[c].raised);
        fake_judge(&fake);
        check_states(&fake, cases[c].states);
        CU_ASSERT_EQUAL(fake.report.causes_count, 1);
        CU_ASSERT_EQUAL(fake.report.causes[0], cases[c].cause);
        CU_ASSERT_TRUE(fake.report.ranks[2].error_file);
        JR_ASSERT_TEXT(fake.report.ranks[2].error, "E: x");
    }
}

TEST(an_exception_alone_is_no_failure)
{
    FAKE_ENDS(fake, "T T");
    fake.outcome.timed_out_by = JR_TIMEOUT_RUN;
    raise_at(&fake, 1, 0.5);
    fake_judge(&fake);
    check_states(&fake, "TT");
    CU_ASSERT_EQUAL(fake.report.causes_count, 0);
}

TEST(a_start_that_failed_says_why)
{
    static const struct {
        enum jr_stage stage;
        int error;
        const char *text;
    } cases[] = {
        {JR_STAGE_EXEC, 2, "could not execute './train': No such file or directory in /"},
        {JR_STAGE_CLONE, 11,
         "could not make a process: a limit on processes is reached (ulimit -u, the cgroup's "
         "pids.max)"},
        {JR_STAGE_LIMITS, 9999, "could not set its limits: unknown error"},
        {JR_STAGE_LIMITS, 0, "could not set its limits"},
        {JR_STAGE_WORKDIR, 2,
         "could not enter the working directory '/': No such file or directory"}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        FAKE(fake, 1);
        set_end(&fake, 0, 'x');
        fake.ends[0].stage = cases[c].stage;
        fake.ends[0].start_errno = cases[c].error;
        fake_judge(&fake);
        JR_ASSERT_TEXT(fake.report.ranks[0].error, cases[c].text);
    }
}

/* What the program may have been, and what is to be done about one that is there. */
TEST(a_program_that_cannot_be_executed_is_explained)
{
    static const struct {
        const char *program;
        int error;
        const char *more;
    } cases[] = {{"train", ENOENT, ": not found in PATH; did you mean './train'?"},
                 {"./trian", ENOENT, ": No such file or directory; did you mean './train'?"},
                 {"sub/other", ENOENT, ": No such file or directory in "},
                 {"/no/such/file", ENOENT, ": No such file or directory"},
                 {"./train.py", EACCES, "; or put python3 before it"},
                 {"./dos.sh", ELIBACC, "; its lines end as on Windows"},
                 {"./train", ELIBACC, "loader) cannot be executed"}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        char *argv[] = {(char *)(uintptr_t)cases[c].program, NULL};
        char expected[256];
        FAKE(fake, 1);
        fake_write(&fake, "train", "#!/bin/sh\n");
        fake_write(&fake, "dos.sh", "#!/bin/sh\r\necho\r\n");
        CU_ASSERT_EQUAL(fchmodat(fake.fd, "train", 0755, 0), 0);
        fake.ranks[0].workdir = fake.dir;
        fake.ranks[0].argv = argv;
        set_end(&fake, 0, 'x');
        fake.ends[0].stage = JR_STAGE_EXEC;
        fake.ends[0].start_errno = cases[c].error;
        fake_judge(&fake);
        (void)snprintf(expected, sizeof expected, "%s%s", cases[c].more,
                       cases[c].more[strlen(cases[c].more) - 1] == ' ' ? fake.dir : "");
        if (strstr(fake.report.ranks[0].error, expected) == NULL)
            (void)printf("\n    %s\n", fake.report.ranks[0].error);
        CU_ASSERT_PTR_NOT_NULL(strstr(fake.report.ranks[0].error, expected));
    }
}

/* A node that is lost says how that is known, for each of its ranks. */
TEST(a_lost_rank_says_how_that_is_known)
{
    FAKE_ENDS(fake, "0 L");
    strcpy(fake.outcome.lost_text, "ssh was killed by SIGKILL");
    fake_judge(&fake);
    JR_ASSERT_TEXT(fake.report.ranks[1].error, "ssh was killed by SIGKILL");
    CU_ASSERT_PTR_NULL(fake.report.ranks[0].error);
}

TEST(a_helper_that_failed_says_why)
{
    FAKE(fake, 2);
    set_end(&fake, 0, 'x');
    set_end(&fake, 1, 'n');
    fake.ends[0].stage = JR_STAGE_IMPORT;
    fake.ends[0].start_errno = 0;
    strcpy(fake.outcome.start_text, "KeyError: 'lr' (/x/raises.py:2)");
    fake_judge(&fake);
    JR_ASSERT_TEXT(fake.report.ranks[0].error,
                   "did not start: its helper could not import: KeyError: 'lr' (/x/raises.py:2)");
    CU_ASSERT_EQUAL(fake.report.exit_code, 7);
}

TEST(what_could_not_be_called_was_not_launched)
{
    static const struct {
        int code;
        const char *text;
        int status;
        bool foreign;
    } cases[] = {{126, "{\"message\": \"no module\", \"start\": true}", 7, false},
                 {1, "{\"message\": \"no module\", \"start\": true}", 1, false},
                 {126, "{\"message\": \"no module\"}", 1, false},
                 {126, "{\"mess", 1, true}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        FAKE(fake, 2);
        fake_exit(&fake, 1, cases[c].code);
        fake_write_rank(&fake, 1, "error.json", cases[c].text);
        fake_judge(&fake);
        CU_ASSERT_EQUAL(fake.report.exit_code, cases[c].status);
        CU_ASSERT_EQUAL(fake.report.ranks[1].error_foreign, cases[c].foreign);
    }
}

/* A rank that ends as it was warned to is continued; one that the warning's signal killed only
 * where the job gets on, or is preempted. */
TEST(what_was_warned_may_yield)
{
    enum { CODE = JR_YIELD_CODE };
    static const struct {
        bool preempted, stepped;
        int warned_with, signal, code; /* signal 0: it exited */
        enum jr_rank_state state;
    } rows[] = {{false, false, SIGUSR1, 0, CODE, JR_RANK_YIELDED},
                {false, false, SIGUSR1, 0, CODE + 1, JR_RANK_FAILED},
                {false, false, SIGUSR1, SIGUSR1, 0, JR_RANK_FAILED},
                {false, true, SIGUSR1, SIGUSR1, 0, JR_RANK_YIELDED},
                {false, true, SIGUSR1, SIGUSR2, 0, JR_RANK_FAILED},
                {false, true, 0, 0, CODE, JR_RANK_FAILED},
                {false, true, 0, SIGTERM, 0, JR_RANK_FAILED},
                {true, false, 0, 0, CODE, JR_RANK_YIELDED},
                {true, false, 0, SIGTERM, 0, JR_RANK_YIELDED},
                {true, false, SIGUSR1, SIGUSR1, 0, JR_RANK_YIELDED},
                {true, true, 0, SIGUSR1, 0, JR_RANK_FAILED}};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (int told = rows[i].stepped; told < 2; told++) {
            FAKE(fake, 1);
            fake.outcome.preempted = rows[i].preempted;
            fake.outcome.progress = told ? jr_progress_new(1) : NULL;
            if (told)
                fake.outcome.progress->job.any = rows[i].stepped;
            fake.ends[0].warned_with = rows[i].warned_with;
            fake_exit(&fake, 0, rows[i].code);
            if (rows[i].signal != 0)
                fake_signal(&fake, 0, rows[i].signal);
            fake_judge(&fake);
            CU_ASSERT_EQUAL(fake.report.ranks[0].state, rows[i].state);
            jr_progress_free(fake.outcome.progress);
            fake.outcome.progress = NULL;
        }
}

/* Of three ranks that have to deliver, the last fails after the others ended with 0. What those
 * wrote, and who is to blame. */
struct left {
    const char *name;
    const char *wrote[2]; /* NULL: nothing */
    /* required RANKS: else all; own: the last failed by itself; of rank 0, late NS: it ended so
     * long after that; told: it had told before that it goes; stopped: by jobrun; warned: of the
     * deadline; in_turn: rank 1 ended before it. */
    const char *words;
    const char *states, *early;
    uint32_t cause;
};

static const struct left left_vectors[] = {
    {"nothing of rank 0", {NULL, "{}"}, "", "FSA", "---", 0},
    {"nothing of rank 1, which left after rank 0", {"{}", NULL}, "", "SFA", "e--", 1},
    {"an empty file", {"", "{}"}, "", "FSA", "---", 0},
    {"nothing of both", {NULL, NULL}, "", "FIA", "---", 0},
    {"nothing of both, rank 1 first", {NULL, NULL}, "in_turn", "IFA", "---", 1},
    {"all that they had to", {"{}", "{}"}, "", "SSF", "ee-", 2},
    {"what is wrong with it says not that it left too soon", {"{", "{}"}, "", "ISF", "ee-", 2},
    {"nothing was asked of rank 0", {NULL, "{}"}, "required 1-2", "SSF", "ee-", 2},
    {"the last failed by itself", {NULL, "{}"}, "own", "ISF", "ee-", 2},
    {"rank 0 ended up to 20 ms after that", {NULL, "{}"}, "late 20000000", "FSF", "-e-", 0},
    {"rank 0 ended later", {NULL, "{}"}, "late 20000001", "ISF", "-e-", 2},
    {"rank 0 ended later, and had told before that it goes",
     {NULL, "{}"},
     "told late 10000000000",
     "FSA",
     "---",
     0},
    {"rank 0 ended because it was stopped", {NULL, "{}"}, "stopped late 5", "TSF", "-e-", 2},
    {"rank 0 was told to leave", {NULL, "{}"}, "warned", "YSF", "ee-", 2}};

static void check_left(const struct left *vector)
{
    static const char letters[] = "SFIATNY";
    char states[4] = "", early[4] = "";
    FAKE(fake, 3);
    fake.policy.results.stated = true;
    const char *required = strstr(vector->words, "required "),
               *late = strstr(vector->words, "late ");
    if (required != NULL)
        fake.policy.results.required = (char *)(uintptr_t)(required + strlen("required "));
    for (uint32_t i = 0; i < 2; i++)
        if (vector->wrote[i] != NULL)
            fake_write_rank(&fake, i, "result.json", vector->wrote[i]);
    fake_exit(&fake, 2, 1);
    fake.ends[2].lost_peer = strstr(vector->words, "own") == NULL;
    fake.ends[0].warned_with = strstr(vector->words, "warned") != NULL ? 15 : 0;
    fake.ends[0].stopped_with = strstr(vector->words, "stopped") != NULL ? 15 : 0;
    if (late != NULL)
        fake.ends[0].ended_ns = fake.ends[2].ended_ns + strtoull(late + strlen("late "), NULL, 10);
    if (strstr(vector->words, "told") != NULL)
        fake.ends[0].leaving_ns = fake.ends[1].ended_ns;
    if (strstr(vector->words, "in_turn") != NULL)
        fake.ends[0].ended_ns = fake.ends[1].ended_ns + 1;
    for (size_t i = 0; i < 3; i++)
        fake.ends[i].line_ns = fake.ends[i].ended_ns;
    fake_judge(&fake);
    for (size_t i = 0; i < 3; i++) {
        states[i] = letters[fake.report.ranks[i].state];
        early[i] = fake.report.ranks[i].early ? 'e' : '-';
    }
    if (strcmp(states, vector->states) != 0 || strcmp(early, vector->early) != 0)
        printf("\n    %s", vector->name);
    JR_ASSERT_TEXT(states, vector->states);
    JR_ASSERT_TEXT(early, vector->early);
    bool together = strchr(states, 'F') != strrchr(states, 'F');
    CU_ASSERT_EQUAL_FATAL(fake.report.causes_count, together ? 2 : 1);
    CU_ASSERT_EQUAL(fake.report.causes[0], vector->cause);
    CU_ASSERT_EQUAL(fake.report.ranks[2].follows, together);
    CU_ASSERT_TRUE(!together || fake.report.causes[1] == 2);
    CU_ASSERT_EQUAL(fake.report.status, JR_RUN_FAILED);
    CU_ASSERT_EQUAL(fake.report.exit_code, JR_STATUS_FAILED);
    CU_ASSERT_EQUAL(jr_judgement_left(&fake.report.ranks[fake.report.causes[0]]),
                    vector->cause != 2);
}

/* Who leaves without what it had to deliver is the peer that another lost. */
TEST(who_left_without_delivering_is_to_blame)
{
    size_t count = sizeof left_vectors / sizeof *left_vectors;
    for (size_t i = 0; i < count; i++)
        check_left(&left_vectors[i]);
}

/* All that failed with the loss follow from it, and the exit status of ranks is not 0 where theirs
 * is. */
TEST(all_that_lost_a_peer_come_after)
{
    FAKE(fake, 4);
    fake.policy.results.stated = true;
    fake.policy.exit_status = JR_EXIT_STATUS_RANK;
    for (uint32_t i = 1; i < 3; i++) {
        fake_exit(&fake, i, 9);
        fake.ends[i].lost_peer = true;
        fake.ends[i].ended_ns = 10 * FAKE_SECOND + i;
    }
    fake_stopped(&fake, 3);
    fake_judge(&fake);
    check_states(&fake, "FAAT");
    CU_ASSERT_EQUAL(fake.report.causes_count, 1);
    CU_ASSERT_EQUAL(fake.report.causes[0], 0);
    CU_ASSERT_FALSE(fake.report.ranks[2].follows);
    CU_ASSERT_EQUAL(fake.report.exit_code, JR_STATUS_FAILED);
    JR_ASSERT_TEXT(fake.report.ranks[0].reason, "result.json was not written");
}
