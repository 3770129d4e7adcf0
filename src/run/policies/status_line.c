/* The live status, once a second, and when a stop begins: the bar of a job that tells its steps, as
 * the last line of a terminal; else a temporary line. internal.h declares it. */
#include "base/clock.h"
#include "base/num.h"
#include "output/progress_bar.h"
#include "run/internal.h"

#include "base/banned.h"

#define TICK_NS UINT64_C(1000000000)

/* How far the job is stands there from its first step to a stop; else "jobrun: 3 running, 1m5s,
 * stopping: SIGKILL in 27s (Ctrl-C: now)". */
static void draw_status(void *owner)
{
    struct jr_runner *runner = owner;
    struct jr_progress_line *line = &runner->progress;
    uint64_t now = jr_clock_ns(), kills_at = jr_stop_kills_at(runner);
    uint64_t seconds = (now - line->started_ns) / TICK_NS;
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    line->tick.at = now + TICK_NS;
    if (kills_at <= now && jr_progress_bar_stand(&runner->console, runner->plan->name,
                                                 runner->outcome->progress, runner->options->utf8))
        return;
    jr_buf_printf(&text, "jobrun: %u running", runner->running);
    if (seconds > 0) {
        jr_buf_str(&text, ", ");
        jr_num_add_duration(&text, seconds * 1000);
    }
    if (kills_at > now) {
        jr_buf_str(&text, ", stopping: SIGKILL in ");
        jr_num_add_duration(&text, (kills_at - now + TICK_NS - 1) / TICK_NS * 1000);
        if (jr_stop_was_signalled(runner))
            jr_buf_str(&text, " (Ctrl-C: now)");
    }
    jr_console_writer_stand(&runner->console, "");
    if (!text.failed)
        jr_console_writer_draw(&runner->console, text.data);
}

static int open_progress(struct jr_runner *runner)
{
    struct jr_progress_line *line = &runner->progress;
    if (!runner->options->live)
        return 0;
    *line = (struct jr_progress_line){
        .tick = {.due = draw_status, .owner = runner}, .open = true, .started_ns = jr_clock_ns()};
    line->tick.at = line->started_ns + TICK_NS;
    jr_loop_timer(&runner->loop, &line->tick);
    return 0;
}

/* The line shows at once that the ranks are being stopped. */
static void hurry_progress(struct jr_runner *runner)
{
    if (runner->progress.tick.at != 0 && runner->running > 0 && !jr_stop_is_forced(runner))
        runner->progress.tick.at = jr_clock_ns();
}

/* Nothing is drawn while jobrun is suspended. */
static void pause_progress(struct jr_runner *runner)
{
    runner->progress.tick.at = 0;
    if (!runner->progress.open)
        return;
    jr_console_writer_stand(&runner->console, "");
    jr_console_writer_draw(&runner->console, "");
}

static void resume_progress(struct jr_runner *runner, uint64_t paused_ns)
{
    if (runner->progress.open && paused_ns != 0)
        runner->progress.tick.at = jr_clock_ns() + TICK_NS;
}

static void close_progress(struct jr_runner *runner)
{
    pause_progress(runner);
    runner->progress.open = false;
}

const struct jr_runner_policy jr_progress_policy = {
    .name = "progress",
    .open = open_progress,
    .stopping = hurry_progress,
    .suspended = pause_progress,
    .resumed = resume_progress,
    .close = close_progress,
};
