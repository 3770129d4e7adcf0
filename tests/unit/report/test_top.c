#include "report/top.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "scratch.h"
#include "quoted.h"

enum { RANKS = 4 };

/* A run whose runner we are, and whose guard is our parent: rank 0 has ended, rank 1 is a child of
 * ours that sleeps, 2 one that is stopped, and 3 has no process here. */
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
    char plan[1024], events[1024], record[64];
    int at = snprintf(plan, sizeof plan, "{\"ranks\": [");
    for (int i = 0; i < RANKS; i++)
        at += snprintf(plan + at, sizeof plan - (size_t)at,
                       "%s{\"rank\": %d, \"stdout\": {\"file\": \"out.%d\"}}", i == 0 ? "" : ",", i,
                       i);
    (void)snprintf(plan + at, sizeof plan - (size_t)at, "]}");
    at = 0;
    for (int i = 0; i < 3; i++)
        at +=
            snprintf(events + at, sizeof events - (size_t)at,
                     "{\"event\":\"rank_started\",\"rank\":%d,\"pid\":%d}\n", i, (int)run->pids[i]);
    (void)snprintf(
        events + at, sizeof events - (size_t)at,
        "{\"event\":\"rank_ended\",\"rank\":0,\"exit_code\":null,\"signal\":\"SIGSEGV\"}\n");
    (void)snprintf(record, sizeof record, "{\"name\": \"a\\u001bb\", \"started\": %.3f}",
                   (double)jr_clock_wall_ns() / 1e9 - 100000);
    scratch_write(&run->scratch, "r/run.json", record);
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
    CU_ASSERT_EQUAL_FATAL(jr_top_open(&run->top, run->scratch.dir, "r", getppid(), NULL), 0);
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
    struct jr_top_view view = {.lines = lines, .columns = columns};
    jr_top_print(&out, &run->top, &view);
    return jr_buf_detach(&out);
}

/* Whether a line of the text begins with this rank and has these words. */
static bool tells(const char *text, int rank, const char *words)
{
    char start[16];
    (void)snprintf(start, sizeof start, "\n%6d  ", rank);
    const char *line = strstr(text, start);
    const char *end = line == NULL ? NULL : strchr(line + 1, '\n');
    return end != NULL && memmem(line, (size_t)(end - line), words, strlen(words)) != NULL;
}

/* A size of so many units of 1024 bytes, "740 K" of KiB, in KiB. */
static double kib_of(double size, char unit)
{
    for (const char *at = "KMGTP"; *at != unit && *at != '\0'; at++)
        size *= 1024;
    return size;
}

/* The ranks that live have their pids, and a share of what the title says. */
static void check_usage(const struct run *run, const char *text)
{
    double all = 0, title = 0, load = -1, size = 0;
    char unit = '?';
    for (int i = 1; i < 3; i++) {
        char start[16];
        int pid = 0;
        (void)snprintf(start, sizeof start, "\n%6d  ", i);
        const char *line = strstr(text, start);
        CU_ASSERT_PTR_NOT_NULL_FATAL(line);
        CU_ASSERT_EQUAL(sscanf(line, " %*d %*s %d %lf %% %lf %ciB", &pid, &load, &size, &unit), 4);
        CU_ASSERT_EQUAL(pid, run->pids[i]);
        CU_ASSERT_TRUE(load >= 0 && load < 1000);
        CU_ASSERT_TRUE(kib_of(size, unit) >= 100);
        all += kib_of(size, unit);
    }
    const char *end = strstr(text, " CPUs, ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(end);
    CU_ASSERT_EQUAL(sscanf(end, " CPUs, %lf %ciB", &title, &unit), 2);
    title = kib_of(title, unit);
    CU_ASSERT_TRUE(title > all * 0.9 && title < all * 1.1);
}

TEST(tells_each_rank)
{
    struct run run;
    start(&run);
    jr_top_look(&run.top);
    jr_top_look(&run.top); /* of two looks the load */
    char *text = print(&run, 0, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    const char *title = strstr(text, "  2 of 4 ranks live, ");
    CU_ASSERT_EQUAL(strncmp(text, "a\\x1bb  27:46:4", 15), 0);
    CU_ASSERT_PTR_EQUAL(title, text + strlen("a\\x1bb  27:46:40"));
    CU_ASSERT_TRUE(tells(text, 0, "SIGSEGV"));
    CU_ASSERT_TRUE(tells(text, 2, "stopped"));
    CU_ASSERT_TRUE(tells(text, 3, "not here"));
    CU_ASSERT_TRUE(tells(text, 1, " MiB") || tells(text, 1, " KiB"));
    CU_ASSERT_TRUE(tells(text, 1, " ms") || tells(text, 1, " s "));
    check_usage(&run, text);
    /* Of a line that was drawn again what is left of it, and no escapes. */
    CU_ASSERT_TRUE(tells(text, 1, "last "));
    CU_ASSERT_FALSE(tells(text, 1, "50 %"));
    CU_ASSERT_PTR_NULL(strchr(text, '\033'));
    free(text);
    finish(&run);
}

TEST(fits_its_window)
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
                CU_ASSERT_TRUE(len <= columns);
                CU_ASSERT_TRUE(len == 0 || at[len - 1] != ' ');
                at += len + 1;
            }
            CU_ASSERT_EQUAL(count, lines < 6 ? lines : 6);
            free(text);
        }
    finish(&run);
}

/* How far the job is stands in the title. */
TEST(tells_how_far_it_is)
{
    struct run run;
    start(&run);
    scratch_write(&run.scratch, "r/progress.json",
                  "{\"step\": 7, \"of\": 90, \"slowest\": {\"rank\": 1, \"behind\": 4}, \"ranks\": "
                  "[{\"rank\": 1, \"step\": 3, \"rate\": 2.5}, {\"rank\": 9, \"step\": 4}]}");
    jr_top_look(&run.top);
    char *text = print(&run, 0, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_TRUE(tells(text, 1, " 3 2.5/s  "));
    CU_ASSERT_TRUE(tells(text, 2, "  -  "));
    text[strcspn(text, "\n")] = '\0';
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "  step 7 of 90"));
    free(text);
    finish(&run);
}

/* A number of the title that does not fit is not shown by half. */
TEST(cuts_the_title_between_its_parts)
{
    struct run run;
    start(&run);
    jr_top_look(&run.top);
    for (unsigned columns = 36; columns < 45; columns++) {
        char *text = print(&run, 0, columns);
        CU_ASSERT_PTR_NOT_NULL_FATAL(text);
        const char *end = strstr(text, "  2 of 4 ranks live\n");
        CU_ASSERT_PTR_EQUAL(end, text + strlen("a\\x1bb  27:46:40"));
        free(text);
    }
    finish(&run);
}

/* A last line that is long, and all of it escaped, is cut at once: it was measured anew for each
 * character that was cut off. */
TEST(cuts_long_lines)
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

/* The ranks of a view with one blank behind each, and its last line. */
static void check_view(const struct run *run, struct jr_top_view *view, const char *ranks,
                       const char *last)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT, got = JR_BUF_INIT;
    jr_top_print(&out, &run->top, view);
    CU_ASSERT_FALSE_FATAL(out.failed || out.len == 0);
    const char *line = out.data;
    for (size_t i = 0; i < 2; i++)
        line = strchr(line, '\n') + 1;
    for (size_t i = 0; i < view->page; i++, line = strchr(line, '\n') + 1)
        jr_buf_printf(&got, "%lu ", strtoul(line, NULL, 10));
    JR_ASSERT_TEXT(got.data, ranks);
    out.data[out.len - 1] = '\0';
    JR_ASSERT_TEXT(line, last);
}

/* Those that live and have been silent the longest come first where not all have room, until a key
 * says otherwise. */
TEST(sorts_and_scrolls)
{
    static const struct {
        const char *keys, *ranks, *last;
    } rows[] = {{"", "2 1 ", "1-2 of 4, by silence"},
                {"j", "1 0 ", "2-3 of 4, by silence"},
                {"r", "0 1 ", "1-2 of 4, by rank"},
                {"\033[B", "1 2 ", "2-3 of 4, by rank"},
                {"\033OB\033OB\033OB", "2 3 ", "3-4 of 4, by rank"},
                {"\033[A", "1 2 ", "2-3 of 4, by rank"},
                {"\033[5~", "0 1 ", "1-2 of 4, by rank"},
                {"k", "0 1 ", "1-2 of 4, by rank"},
                {" ", "2 3 ", "3-4 of 4, by rank"},
                {"g", "0 1 ", "1-2 of 4, by rank"},
                {"\033[F", "2 3 ", "3-4 of 4, by rank"},
                {"r", "3 2 ", "1-2 of 4, by rank"},
                {"r", "0 1 ", "1-2 of 4, by rank"},
                {"t", "2 1 ", "1-2 of 4, by state"},
                {"tG", "1 2 ", "3-4 of 4, by state"},
                {"m", "1 2 ", NULL},
                {"x\033\033[12;3Hz", "1 2 ", NULL},
                {"s", "2 1 ", "1-2 of 4, by silence"}};
    struct run run;
    struct jr_top_view view = {.lines = 5, .columns = 200};
    start(&run);
    scratch_write(&run.scratch, "r/out.2", "stuck\n");
    CU_ASSERT_EQUAL(
        utimensat(run.scratch.fd, "r/out.2", (struct timespec[]){{.tv_sec = 9}, {.tv_sec = 9}}, 0),
        0);
    jr_top_look(&run.top);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CU_ASSERT_TRUE(jr_top_type(&view, rows[i].keys, strlen(rows[i].keys)));
        if (rows[i].last != NULL)
            check_view(&run, &view, rows[i].ranks, rows[i].last);
    }
    CU_ASSERT_FALSE(jr_top_type(&view, "xq", 2));
    finish(&run);
}

/* What is least usual comes first: those that live, then by how they ended, then those that are not
 * here. */
TEST(sorts_by_state)
{
    static const char more[] = "{\"event\":\"rank_started\",\"rank\":3,\"pid\":1}\n";
    static const struct {
        const char *end, *ranks;
    } rows[] = {
        {"", "2 1 0 3 "},
        {"{\"event\":\"rank_ended\",\"rank\":3,\"exit_code\":0,\"signal\":null}\n{\"event\":\"rank_"
         "ended\",\"rank\":0,\"exit_code\":3,\"signal\":null}\n",
         "2 1 0 3 "},
        {"{\"event\":\"rank_ended\",\"rank\":3,\"exit_code\":3,\"signal\":null}\n{\"event\":\"rank_"
         "ended\",\"rank\":0,\"exit_code\":0,\"signal\":null}\n",
         "2 1 3 0 "},
        {"{\"event\":\"rank_ended\",\"rank\":3,\"exit_code\":null,\"signal\":\"SIGSEGV\"}\n{"
         "\"event\":\"rank_ended\",\"rank\":0,\"exit_code\":3,\"signal\":null}\n",
         "2 1 3 0 "}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct run run;
        struct jr_top_view view = {.lines = 24, .columns = 80, .keys = true};
        start(&run);
        int fd = openat(run.scratch.fd, "r/events.jsonl", O_WRONLY | O_APPEND);
        if (i > 0)
            CU_ASSERT_TRUE(write(fd, more, sizeof more - 1) > 0);
        CU_ASSERT_EQUAL(write(fd, rows[i].end, strlen(rows[i].end)), (ssize_t)strlen(rows[i].end));
        (void)close(fd);
        jr_top_look(&run.top);
        CU_ASSERT_TRUE(jr_top_type(&view, "t", 1));
        check_view(&run, &view, rows[i].ranks,
                   "1-4 of 4, by state  q quit  r rank t state c CPU m memory s silence");
        finish(&run);
    }
}

#define HEADING "\n  rank  state            pid     CPU    memory    silent  "

/* The heading goes before the last ranks do, and names the columns. */
TEST(has_a_heading_where_there_is_room)
{
    struct run run;
    start(&run);
    jr_top_look(&run.top);
    for (unsigned lines = 0; lines < 6; lines++) {
        char *text = print(&run, lines, 120);
        CU_ASSERT_PTR_NOT_NULL_FATAL(text);
        CU_ASSERT_EQUAL(strstr(text, HEADING "last line\n") != NULL, lines == 0 || lines >= 4);
        free(text);
    }
    finish(&run);
}

/* A view that has room for all is sorted by rank, and says which keys there are where there are
 * any. */
TEST(names_its_keys)
{
    struct run run;
    struct jr_top_view view = {.lines = 24, .columns = 80, .keys = true};
    start(&run);
    jr_top_look(&run.top);
    check_view(&run, &view, "0 1 2 3 ",
               "1-4 of 4, by rank  q quit  r rank t state c CPU m memory s silence");
    view.lines = 6;
    check_view(&run, &view, "1 2 0 ",
               "1-3 of 4, by silence  q quit  arrows  r rank t state c CPU m memory s silence");
    finish(&run);
}
