/* The live status: what it says, when it is drawn, and that it goes away. */
#include <pty.h>
#include <sys/ioctl.h>

#include "fake_runner.h"
#include "terminal.h"

#define HOUR_NS (3600000 * FAKE_MS)

static int master, slave;

static void start(bool live)
{
    const struct winsize size = {.ws_col = 100, .ws_row = 24};
    fake_runner_start();
    CU_ASSERT_EQUAL_FATAL(openpty(&master, &slave, NULL, NULL, &size), 0);
    jr_console_writer_close(&fake.runner.console);
    jr_console_writer_open(&fake.runner.console, &fake.runner.loop, -1, slave);
    fake.options.live = live;
    fake.options.utf8 = false;
    fake_runner_open(&jr_stop_policy);
    fake_runner_open(&jr_progress_policy);
    fake.runner.running = 3;
}

ENDING(end)
{
    fake_runner_end();
    (void)close(master);
    (void)close(slave);
}

/* What the terminal has got since the last time, without what moves on it. */
static const char *shown(void)
{
    static char text[2048];
    char *to = text;
    (void)terminal_text(master, slave, text, sizeof text);
    for (const char *from = text; *from != '\0'; from++) {
        if (*from == '\033')
            while (*from != '\0' && (*from < 'A' || *from == '['))
                from++;
        else if (*from != '\r')
            *to++ = *from;
    }
    *to = '\0';
    return text;
}

static void tick(void)
{
    fake.runner.progress.tick.at = 0;
    fake.runner.progress.tick.due(&fake.runner);
}

/* How many run, for how long, and when SIGKILL follows. */
TEST(says_what_goes_on)
{
    static const struct {
        uint64_t age_ms, kill_ms; /* since the start, until SIGKILL; 0: none */
        bool signalled;
        const char *text;
    } vectors[] = {
        {0, 0, false, "jobrun: 3 running"},
        {500, 0, true, "jobrun: 3 running"},
        {1001, 0, false, "jobrun: 3 running, 1s"},
        {65500, 0, false, "jobrun: 3 running, 1m5s"},
        {65500, 3600000, false, "jobrun: 3 running, 1m5s, stopping: SIGKILL in 1h"},
        {65500, 3600000, true, "jobrun: 3 running, 1m5s, stopping: SIGKILL in 1h (Ctrl-C: now)"},
        {500, 3600000, false, "jobrun: 3 running, stopping: SIGKILL in 1h"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        BEGIN(end, start(true));
        uint64_t now = jr_clock_ns();
        fake.runner.progress.started_ns = now - vectors[i].age_ms * FAKE_MS;
        if (vectors[i].kill_ms != 0)
            fake.runner.stop.grace.at = now + vectors[i].kill_ms * FAKE_MS;
        fake.runner.stop.signalled_ns = vectors[i].signalled;
        tick();
        bool slow = jr_clock_ns() - now >= 400 * FAKE_MS;
        const char *text = shown();
        if (!slow) /* the machine was fast enough to say it in time */
            JR_ASSERT_TEXT(text, vectors[i].text);
    }
}

/* A stop is shown at once, where there is anything to stop. */
TEST(hurries_at_a_stop)
{
    static const struct {
        uint32_t running;
        bool forced, drawn, hurries;
    } vectors[] = {
        {0, false, true, false},
        {3, true, true, false},
        {3, false, false, false},
        {3, false, true, true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        BEGIN(end, start(true));
        fake.runner.running = vectors[i].running;
        fake.runner.stop.forced = vectors[i].forced;
        uint64_t later = vectors[i].drawn ? jr_clock_ns() + HOUR_NS : 0;
        fake.runner.progress.tick.at = later;
        jr_progress_policy.stopping(&fake.runner);
        CU_ASSERT_EQUAL(fake.runner.progress.tick.at != later, vectors[i].hurries);
        CU_ASSERT_TRUE(fake.runner.progress.tick.at <= jr_clock_ns() || !vectors[i].hurries);
    }
}

/* Nothing is drawn while jobrun is suspended; afterwards in a second. */
TEST(pauses)
{
    BEGIN(end, start(true));
    tick();
    CU_ASSERT_PTR_NOT_NULL(strstr(shown(), "3 running"));
    jr_progress_policy.suspended(&fake.runner);
    CU_ASSERT_EQUAL(fake.runner.progress.tick.at, 0);
    CU_ASSERT_PTR_NULL(strstr(shown(), "running"));
    jr_progress_policy.resumed(&fake.runner, 0); /* had not been suspended */
    CU_ASSERT_EQUAL(fake.runner.progress.tick.at, 0);
    uint64_t before = jr_clock_ns();
    jr_progress_policy.resumed(&fake.runner, 5);
    CU_ASSERT_TRUE(fake_runner_is_after(fake.runner.progress.tick.at, before, 1000));
}
