#include "run/policies/progress.h"

#include "base/clock.h"
#include "base/num.h"
#include "run/runner.h"

#include "base/banned.h"

#define TICK_NS UINT64_C(1000000000)

/* ", stopping: SIGKILL in 27s (Ctrl-C: now)" */
static void add_stopping(struct jr_buf *text, const struct jr_stop *stop,
                         uint64_t now)
{
    if (stop->grace.at <= now)
        return;
    jr_buf_str(text, ", stopping: SIGKILL in ");
    uint64_t seconds = (stop->grace.at - now + TICK_NS - 1) / TICK_NS;
    jr_num_add_duration(text, seconds * 1000);
    if (stop->signalled_ns != 0)
        jr_buf_str(text, " (Ctrl-C: now)");
}

static void draw_status(void *owner)
{
    struct jr_status_line *status = owner;
    uint64_t now = jr_clock_ns();
    struct jr_buf text = JR_BUF_INIT;
    uint64_t seconds = (now - status->started_ns) / TICK_NS;
    jr_buf_printf(&text, "jobrun: %u running", *status->running);
    if (seconds > 0) {
        jr_buf_str(&text, ", ");
        jr_num_add_duration(&text, seconds * 1000);
    }
    add_stopping(&text, status->stop, now);
    if (!text.failed)
        jr_console_writer_light(status->screen, text.data);
    jr_buf_release(&text);
    status->tick.at = now + TICK_NS;
}

void jr_status_open(struct jr_status_line *status, struct jr_loop *loop,
                    struct jr_console_writer *screen, const uint32_t *running,
                    const struct jr_stop *stop)
{
    *status =
        (struct jr_status_line){.tick = {.due = draw_status, .owner = status},
                                .screen = screen,
                                .running = running,
                                .stop = stop,
                                .started_ns = jr_clock_ns()};
    status->tick.at = status->started_ns + TICK_NS;
    jr_loop_timer(loop, &status->tick);
}

void jr_status_hurry(struct jr_status_line *status)
{
    if (status->tick.at != 0)
        status->tick.at = jr_clock_ns();
}

void jr_status_pause(struct jr_status_line *status)
{
    status->tick.at = 0;
    if (status->screen != NULL)
        jr_console_writer_light(status->screen, "");
}

void jr_status_resume(struct jr_status_line *status)
{
    if (status->screen != NULL)
        status->tick.at = jr_clock_ns() + TICK_NS;
}

void jr_status_close(struct jr_status_line *status)
{
    jr_status_pause(status);
    status->screen = NULL;
}
