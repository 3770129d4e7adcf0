#include "report/top.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "scratch.h"

enum { RANKS = 4 };

/* A run whose runner we are, and whose guard is our parent: rank 0 has ended,
 * rank 1 is a child of ours that sleeps, 2 one that is stopped, and 3 has no
 * process here. */
struct run {
    struct scratch scratch;
    struct jr_top top;
    pid_t pids[RANKS];
};

static pid_t make_child(int sig)
{
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (sig != 0)
            (void)raise(sig);
        for (;;)
            (void)pause();
    }
    siginfo_t info;
    if (sig != 0)
        CU_ASSERT_EQUAL(waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOWAIT), 0);
    return pid;
}

static void write_files(const struct run *run)
{
    char plan[1024], events[1024];
    int at = snprintf(plan, sizeof plan, "{\"ranks\": [");
    for (int i = 0; i < RANKS; i++)
        at += snprintf(plan + at, sizeof plan - (size_t)at,
                       "%s{\"rank\": %d, \"stdout\": {\"file\": \"out.%d\"}}",
                       i == 0 ? "" : ",", i, i);
    (void)snprintf(plan + at, sizeof plan - (size_t)at, "]}");
    at = 0;
    for (int i = 0; i < 3; i++)
        at += snprintf(events + at, sizeof events - (size_t)at,
                       "{\"event\":\"rank_started\",\"rank\":%d,\"pid\":%d}\n",
                       i, (int)run->pids[i]);
    (void)snprintf(events + at, sizeof events - (size_t)at,
                   "{\"event\":\"rank_ended\",\"rank\":0}\n");
    scratch_write(&run->scratch, "r/plan.json", plan);
    scratch_write(&run->scratch, "r/events.jsonl", events);
    scratch_write(&run->scratch, "r/out.1", "first\n50 %\r\033[2Jlast \033[31m");
}

static void start(struct run *run)
{
    *run = (struct run){.pids = {1, make_child(0), make_child(SIGSTOP)}};
    scratch_start(&run->scratch);
    CU_ASSERT_EQUAL(mkdirat(run->scratch.fd, "r", 0700), 0);
    write_files(run);
    CU_ASSERT_EQUAL_FATAL(
        jr_top_open(&run->top, run->scratch.dir, "r", getppid(), NULL), 0);
}

static void finish(struct run *run)
{
    jr_top_close(&run->top);
    scratch_end(&run->scratch);
    for (int i = 1; i < 3; i++) {
        (void)kill(run->pids[i], SIGKILL);
        (void)waitpid(run->pids[i], NULL, 0);
    }
}

static char *print(const struct run *run, unsigned lines, unsigned columns)
{
    struct jr_buf out = JR_BUF_INIT;
    const struct jr_top_size size = {lines, columns};
    jr_top_print(&out, &run->top, &size);
    return jr_buf_detach(&out);
}

/* Whether a line of the text begins with this rank and has these words. */
static bool tells(const char *text, int rank, const char *words)
{
    char start[16];
    (void)snprintf(start, sizeof start, "\n%6d  ", rank);
    const char *line = strstr(text, start);
    const char *end = line == NULL ? NULL : strchr(line + 1, '\n');
    return end != NULL &&
           memmem(line, (size_t)(end - line), words, strlen(words)) != NULL;
}

static void tells_each_rank(void)
{
    struct run run;
    start(&run);
    jr_top_look(&run.top);
    jr_top_look(&run.top); /* of two looks the load */
    char *text = print(&run, 0, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_EQUAL(strncmp(text, "2 of 4 ranks live, ", 19), 0);
    CU_ASSERT_TRUE(tells(text, 0, "ended"));
    CU_ASSERT_TRUE(tells(text, 2, "stopped"));
    CU_ASSERT_TRUE(tells(text, 3, "not here"));
    CU_ASSERT_TRUE(tells(text, 1, " MiB") || tells(text, 1, " KiB"));
    /* Of a line that was drawn again what is left of it, and no escapes. */
    CU_ASSERT_TRUE(tells(text, 1, "last "));
    CU_ASSERT_FALSE(tells(text, 1, "50 %"));
    CU_ASSERT_PTR_NULL(strchr(text, '\033'));
    free(text);
    finish(&run);
}

static void fits_its_window(void)
{
    struct run run;
    start(&run);
    jr_top_look(&run.top);
    for (unsigned lines = 1; lines < 10; lines++)
        for (unsigned columns = 1; columns < 80; columns += 13) {
            unsigned count = 0;
            char *text = print(&run, lines, columns);
            CU_ASSERT_PTR_NOT_NULL_FATAL(text);
            for (const char *at = text; *at != '\0'; count++) {
                size_t len = strcspn(at, "\n");
                CU_ASSERT_TRUE(len <= columns || strncmp(at, "and ", 4) == 0);
                at += len + 1;
            }
            CU_ASSERT_TRUE(lines < 4 || count <= lines);
            free(text);
        }
    finish(&run);
}

/* A last line that is long, and all of it escaped, is cut at once: it was
 * measured anew for each character that was cut off. */
static void cuts_long_lines(void)
{
    struct run run;
    char line[5000];
    memset(line, '\001', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    start(&run);
    scratch_write(&run.scratch, "r/out.1", line);
    scratch_write(&run.scratch, "r/out.2", line);
    jr_top_look(&run.top);
    for (int i = 0; i < 400; i++) {
        char *text = print(&run, 0, 100);
        CU_ASSERT_PTR_NOT_NULL_FATAL(text);
        CU_ASSERT_TRUE(tells(text, 1, "\\x01\\x01\\x01"));
        free(text);
    }
    finish(&run);
}

/* Those that live and have been silent the longest stay. */
static void the_silent_stay(void)
{
    struct run run;
    start(&run);
    scratch_write(&run.scratch, "r/out.2", "stuck\n");
    CU_ASSERT_EQUAL(
        utimensat(run.scratch.fd, "r/out.2",
                  (struct timespec[]){{.tv_sec = 9}, {.tv_sec = 9}}, 0),
        0);
    jr_top_look(&run.top);
    char *text = print(&run, 4, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_TRUE(tells(text, 2, "stuck"));
    CU_ASSERT_FALSE(tells(text, 1, ""));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\nand 3 more, none silent for longer"));
    free(text);
    finish(&run);
}

JR_UNIT_MAIN("top", CASE(tells_each_rank), CASE(fits_its_window),
             CASE(cuts_long_lines), CASE(the_silent_stay))
