#include "cluster/controller_steps.h"

#include "base/clock.h"
#include "output/progress_bar.h"
#include "spawn/run_options.h"
#include "store/run_folder.h"
#include "store/step_message.h"

#include "base/banned.h"

#define SECOND_NS UINT64_C(1000000000)

/* When the last rank started; 0: not all have. */
static uint64_t all_started_ns(const struct jr_controller_run *run)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < run->outcome->count; i++) {
        uint64_t started = run->outcome->ranks[i].started_ns;
        if (started == 0)
            return 0;
        last = started > last ? started : last;
    }
    return last;
}

static void on_steps_flush(void *owner)
{
    struct jr_controller *controller = owner;
    struct jr_controller_run *run = controller->run;
    if (run == NULL)
        return;
    jr_step_tracker_flush(&run->steps, jr_clock_ns());
    /* Where steps come, this is once a second: the bar needs no other tick. */
    if (run->options->live && !run->stopped && !controller->cut)
        (void)jr_progress_bar_stand(&controller->console, run->plan->name, run->outcome->progress,
                                    run->options->utf8);
}

void jr_controller_steps_hide(struct jr_controller_run *run)
{
    if (run->controller->console_open)
        jr_console_writer_stand(&run->controller->console, "");
}

static void on_steps_limit(void *owner)
{
    struct jr_controller *controller = owner;
    struct jr_controller_run *run = controller->run;
    if (run == NULL || run->stopped)
        return;
    switch (jr_step_limit_look(&run->limits, &run->steps, all_started_ns(run), jr_clock_ns(),
                               &controller->steps_limit.at)) {
    case JR_STEP_OVERRUN_FIRST:
        jr_controller_send_type(controller, JR_TO_NODES_NO_FIRST_STEP);
        break;
    case JR_STEP_OVERRUN_NEXT:
        jr_controller_send_type(controller, JR_TO_NODES_NO_STEP);
        break;
    case JR_STEP_OVERRUN_NONE:
        break;
    }
}

static void on_steps_told(void *owner)
{
    struct jr_controller_run *run = owner;
    struct jr_controller *controller = run->controller;
    if (controller->steps_flush.at == 0)
        controller->steps_flush.at = run->steps.flushed_ns + SECOND_NS;
    if (!run->limits.counting && !run->stopped)
        controller->steps_limit.at = jr_step_limit_told(&run->limits, &run->steps,
                                                        controller->steps_limit.at, jr_clock_ns());
}

/* Of stragglers, which no node can know of. */
static void on_steps_warning(void *owner, const struct jr_step_warning *warning)
{
    struct jr_controller_run *run = owner;
    jr_events_add(&run->events, &(struct jr_event){.name = JR_EVENT_PROGRESS_WARNING,
                                                   .rank = warning->rank,
                                                   .problem = warning->problem});
}

int jr_controller_steps_open(struct jr_controller_run *run)
{
    struct jr_controller *controller = run->controller;
    struct jr_outcome *outcome = run->outcome;
    outcome->progress = jr_progress_new(run->plan->count);
    if (outcome->progress == NULL ||
        jr_step_tracker_open(&run->steps, run->plan, outcome->progress, run->options->dir->fd,
                             run->options->dir->file_mode) != 0)
        return -1;
    run->steps.relayed = true;
    run->steps.told = on_steps_told;
    run->steps.warned = on_steps_warning;
    run->steps.owner = run;
    controller->steps_flush = (struct jr_timer){.due = on_steps_flush, .owner = controller};
    controller->steps_limit = (struct jr_timer){.due = on_steps_limit, .owner = controller};
    uint64_t first_ms = run->plan->policy->timeouts.first_step_ms;
    if (first_ms != 0 && run->steps.watched_count > 0)
        controller->steps_limit.at = jr_clock_ns() + first_ms * 1000000;
    return 0;
}

bool jr_controller_steps_take(struct jr_controller_run *run, uint32_t node, const char *line,
                              size_t len)
{
    return jr_step_message_take(&run->steps, line, len, &run->first[node],
                                run->controller->nodes[node].offset_ns);
}

void jr_controller_steps_end_rank(struct jr_controller_run *run, uint32_t rank)
{
    if (run->steps.watched != NULL)
        jr_step_tracker_end(&run->steps, rank, jr_clock_ns());
}

void jr_controller_steps_pause(struct jr_controller_run *run, uint64_t paused_ns)
{
    jr_step_limit_pause(&run->limits, &run->steps, all_started_ns(run), paused_ns);
}

void jr_controller_steps_stop(struct jr_controller_run *run)
{
    run->controller->steps_limit.at = 0;
    jr_controller_steps_hide(run);
}

void jr_controller_steps_close(struct jr_controller_run *run)
{
    run->controller->steps_flush.at = run->controller->steps_limit.at = 0;
    jr_controller_steps_hide(run);
    if (run->steps.progress != NULL)
        jr_step_tracker_close(&run->steps, jr_clock_ns());
}
