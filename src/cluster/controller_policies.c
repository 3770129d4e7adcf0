/*
 * What is decided, and shown, once for all nodes of an attempt: the console, silence, progress,
 * preemption, and the world of MPI. internal.h declares it, with its manual.
 */
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "cluster/internal.h"
#include "output/progress_bar.h"
#include "spawn/run_options.h"
#include "store/outcome.h"
#include "store/run_folder.h"
#include "store/step_tracker.h"

#include "base/banned.h"

/* The console. */

#define STALL_NS UINT64_C(1000000000)
#define HURRY_NS (10 * STALL_NS)

static void hold_agents(struct jr_controller *controller, bool on)
{
    if (controller->held == on)
        return;
    controller->held = on;
    if (controller->watcher != NULL && jr_controller_is_mute(controller)) {
        controller->cut |= on; /* nobody can be held: the files have it all */
        return;
    }
    jr_controller_send(controller, &(struct jr_message){.type = JR_TO_NODES_HOLD, .on = on});
}

static void on_console_room(void *owner, struct jr_output *output)
{
    struct jr_controller *controller = owner;
    (void)output;
    if (!jr_console_writer_is_waiting(&controller->console) && !controller->cut)
        hold_agents(controller, false);
}

void jr_controller_open_console(struct jr_controller *controller, int out_fd, int err_fd)
{
    if (controller->console_open)
        return;
    controller->console_open = true;
    jr_console_writer_open(&controller->console, &controller->loop, out_fd, err_fd);
    controller->console.relieved = on_console_room;
    controller->console.owner = controller;
}

void jr_controller_show(struct jr_controller *controller, int stream, const char *bytes, size_t len)
{
    if (controller->cut || !controller->console_open)
        return;
    jr_console_writer_write(&controller->console, stream, bytes, len);
    if (jr_output_is_full(&controller->console.outputs[0]) ||
        jr_output_is_full(&controller->console.outputs[1]))
        hold_agents(controller, true);
}

void jr_controller_read_lines(struct jr_controller *controller, uint32_t node, enum jr_channel type)
{
    if ((type != JR_CHANNEL_OUT && type != JR_CHANNEL_ERR) || !controller->console_open)
        return;
    struct jr_buf *stream = &controller->nodes[node].streams[type];
    const char *end = stream->len == 0 ? NULL : memrchr(stream->data, '\n', stream->len);
    if (end == NULL)
        return;
    size_t len = (size_t)(end + 1 - stream->data);
    jr_controller_show(controller, type == JR_CHANNEL_ERR, stream->data, len);
    memmove(stream->data, stream->data + len, stream->len - len);
    stream->len -= len;
}

struct ending {
    struct jr_controller *controller;
    struct jr_watch signals;
    struct jr_signals uses;
    uint64_t limit_ns; /* of one that does not wait; 0: it does */
};

static void hurry_console(struct ending *ending)
{
    uint64_t now = jr_clock_ns();
    if (ending->limit_ns == 0)
        ending->limit_ns = now + HURRY_NS;
    ending->controller->timed_out = false;
    ending->controller->deadline.at = now + STALL_NS;
}

static void on_ending_signal(void *owner, uint32_t events)
{
    (void)events;
    struct ending *ending = owner;
    pid_t pid;
    int sig = jr_signal_read(ending->signals.fd, &pid);
    if (ending->uses.use[sig] == JR_SIGNAL_SUSPEND)
        (void)kill(getpid(), SIGSTOP);
    if (ending->uses.use[sig] != JR_SIGNAL_STOP)
        return;
    ending->controller->cut = true;
    hold_agents(ending->controller, true);
    hurry_console(ending);
}

static bool is_console_behind(const struct jr_controller *controller)
{
    for (uint32_t i = 0; i < controller->options.nodes; i++)
        if (controller->nodes[i].behind)
            return !controller->ended && !controller->cut;
    return false;
}

bool jr_controller_show_rest(struct jr_controller *controller, const struct jr_policy *policy,
                             const sigset_t *ignored, bool stopped)
{
    struct ending ending = {.controller = controller};
    sigset_t set;
    if (!controller->console_open ||
        (!is_console_behind(controller) && !jr_console_writer_is_waiting(&controller->console)))
        return true;
    jr_signals_make(&ending.uses, policy, ignored);
    jr_signals_set(&ending.uses, &set);
    ending.signals = (struct jr_watch){signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK),
                                       on_ending_signal, &ending};
    controller->timed_out = false;
    if (stopped || ending.signals.fd < 0 ||
        jr_loop_add(&controller->loop, &ending.signals, EPOLLIN) != 0)
        hurry_console(&ending);
    while (!controller->timed_out &&
           (is_console_behind(controller) || jr_console_writer_is_waiting(&controller->console))) {
        jr_controller_turn(controller);
        uint64_t at = jr_clock_ns() + STALL_NS;
        /* A console that took all that there was gets a new moment. */
        if (ending.limit_ns != 0 && !jr_console_writer_is_waiting(&controller->console))
            controller->deadline.at = at < ending.limit_ns ? at : ending.limit_ns;
    }
    controller->deadline.at = 0;
    jr_loop_close(&ending.signals);
    bool whole = !controller->cut && !controller->timed_out;
    controller->cut = true;
    jr_console_writer_abandon(&controller->console);
    return whole;
}

/* Silence. */

void jr_controller_silence_ask(struct jr_controller_run *run)
{
    if (run->is_querying || run->stopped)
        return;
    run->is_querying = true;
    run->has_recent_output = false;
    for (uint32_t i = 0; i < run->plan->nodes; i++)
        run->controller->nodes[i].queried = run->controller->nodes[i].state == JR_NODE_RUNNING;
    jr_controller_send_type(run->controller, JR_TO_NODES_QUERY);
}

static uint64_t silence_limit_ns(const struct jr_controller_run *run)
{
    return run->plan->policy->timeouts.silence_ms * UINT64_C(1000000);
}

void jr_controller_silence_answer(struct jr_controller_run *run, uint32_t node, uint64_t silent_ns)
{
    run->controller->nodes[node].queried = false;
    run->has_recent_output = run->has_recent_output || silent_ns < silence_limit_ns(run);
    jr_controller_silence_decide(run);
}

/* Whether a rank of a node that has ended wrote something not long ago: it is asked no more, and
 * yet was no part of a silence that began after it. */
static bool has_ended_lately(const struct jr_controller_run *run, uint64_t limit_ns)
{
    uint64_t now = jr_clock_ns();
    for (uint32_t i = 0; i < run->plan->nodes; i++) {
        if (run->controller->nodes[i].state == JR_NODE_RUNNING)
            continue;
        for (uint32_t k = run->first[i]; k < run->first[i + 1]; k++)
            if (run->outcome->ranks[k].heard_ns + limit_ns > now)
                return true;
    }
    return false;
}

void jr_controller_silence_decide(struct jr_controller_run *run)
{
    for (uint32_t i = 0; i < run->plan->nodes; i++)
        if (run->controller->nodes[i].queried && run->controller->nodes[i].state == JR_NODE_RUNNING)
            return;
    if (run->is_querying && !run->has_recent_output && !run->stopped &&
        !has_ended_lately(run, silence_limit_ns(run)))
        jr_controller_send_type(run->controller, JR_TO_NODES_HANG);
    run->is_querying = false;
}

/* Progress. */

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

/* Preemption. */

#define MS UINT64_C(1000000)

/* What is left for the nodes to say what became of their ranks, the record, and the requeue, of the
 * time that the scheduler leaves. */
#define SPARE_MS 10000

static bool is_job_watched(const struct jr_controller_run *run)
{
    const struct jr_policy *policy = run->plan->policy;
    return (policy->deadline.before_ms > 0 || policy->requeue.max > 0) &&
           run->options->slurm != NULL;
}

static void on_preempted_limit(void *owner)
{
    struct jr_controller *controller = owner;
    if (controller->run != NULL)
        jr_controller_run_stop(controller->run);
}

/* The ranks have until then; the stop after it has a grace of its own. */
static void limit_preemption(struct jr_controller_run *run, uint64_t left_ms)
{
    const struct jr_policy *policy = run->plan->policy;
    uint64_t grace_ms = policy->timeouts.stop_grace_ms;
    if (policy->deadline.before_ms == 0)
        return;
    if (left_ms == 0)
        left_ms = grace_ms;
    else
        left_ms = left_ms > 2 * grace_ms ? left_ms - grace_ms : left_ms / 2;
    run->controller->preempted.due = on_preempted_limit;
    run->controller->preempted.owner = run->controller;
    run->controller->preempted.at = jr_clock_ns() + left_ms * MS;
}

static void settle_preemption(struct jr_controller_run *run, bool preempted, uint64_t left_ms)
{
    bool terminated = run->terminated;
    run->terminated = false;
    jr_controller_send_type(run->controller,
                            preempted ? JR_TO_NODES_PREEMPTED : JR_TO_NODES_NOT_PREEMPTED);
    if (preempted) {
        run->outcome->preempted = true;
        limit_preemption(run, left_ms);
    } else if (terminated) {
        run->outcome->stop_signal = SIGTERM;
        jr_controller_run_stop(run);
    }
}

static void on_scheduler_word(void *owner, uint32_t events);

/* Ask, or ask again; without a process for that the job is not preempted. */
static void call_scheduler(struct jr_controller_run *run)
{
    run->tries++;
    if (jr_slurm_call_start(&run->call, run->options->slurm, "show", JR_SLURM_QUICK_MS) != 0) {
        settle_preemption(run, false, 0);
        return;
    }
    run->answer = (struct jr_watch){run->call.keeper.fd, on_scheduler_word, run};
    if (jr_loop_add(&run->controller->loop, &run->answer, EPOLLIN) == 0)
        return;
    run->answer.fd = -1;
    jr_slurm_call_stop(&run->call);
    settle_preemption(run, false, 0);
}

static void on_scheduler_word(void *owner, uint32_t events)
{
    (void)events;
    struct jr_controller_run *run = owner;
    const struct jr_slurm_self *self = run->options->slurm;
    struct jr_slurm_job job;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_loop_remove(&run->controller->loop, &run->answer);
    run->answer.fd = -1;
    const char *why = jr_slurm_call_finish(&run->call, &text);
    if (jr_slurm_call_was_killed(why) && run->tries < JR_SLURM_TRIES) {
        call_scheduler(run);
        return;
    }
    bool known = why == NULL && jr_slurm_job_read(&job, text.data, text.len, self->job);
    bool preempted = known && jr_slurm_job_is_preempted(&job, self);
    settle_preemption(run, preempted, preempted ? jr_slurm_job_left_ms(&job, SPARE_MS) : 0);
}

void jr_controller_preempt_ask(struct jr_controller_run *run)
{
    if (run->answer.fd >= 0)
        return;
    if (run->outcome->preempted) {
        jr_controller_send_type(run->controller, JR_TO_NODES_PREEMPTED);
        return;
    }
    run->tries = 0;
    if (is_job_watched(run))
        call_scheduler(run);
    else
        settle_preemption(run, false, 0);
}

bool jr_controller_preempt_takes(struct jr_controller_run *run, int sig)
{
    bool again = run->was_terminated;
    if (sig != SIGTERM || !is_job_watched(run) || run->stopped)
        return false;
    run->was_terminated = true;
    if (run->outcome->preempted && again) /* their time is over */
        jr_controller_run_stop(run);
    if (run->outcome->preempted)
        return true;
    run->terminated = true;
    jr_controller_preempt_ask(run);
    return true;
}

void jr_controller_preempt_close(struct jr_controller_run *run)
{
    run->controller->preempted.at = 0;
    if (run->answer.fd >= 0)
        jr_loop_remove(&run->controller->loop, &run->answer);
    run->answer.fd = -1;
    jr_slurm_call_stop(&run->call);
    if (run->terminated && run->outcome->stop_signal == 0)
        run->outcome->late_signal = SIGTERM;
}

/* MPI. */

/* Bytes of the exchange in one message: an agent reads lines of any length, but looks for the end
 * of each again with all that comes. */
enum { PIECE = 24 << 10 };

static bool send_exchange(void *owner, uint32_t node, const char *bytes, size_t len)
{
    const struct jr_controller_run *run = owner;
    for (size_t at = 0; at < len; at += PIECE) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_base64_add(&text, bytes + at, len - at < PIECE ? len - at : PIECE);
        if (text.failed)
            return false;
        const struct jr_message message = {.type = JR_TO_NODES_EXCHANGE, .bytes = text.data};
        if (node == JR_EXCHANGE_ALL)
            jr_controller_send(run->controller, &message);
        else
            jr_controller_send_to(run->controller, node, &message);
    }
    return true;
}

int jr_controller_mpi_open(struct jr_controller_run *run)
{
    run->hub = (struct jr_exchange_hub){
        .owner = run, .send = send_exchange, .nodes = run->plan->nodes, .first = run->first};
    for (uint32_t node = 0; node < run->plan->nodes; node++)
        jr_buf_clear(&run->controller->nodes[node].streams[JR_CHANNEL_EXCHANGE]);
    return jr_exchange_hub_open(&run->hub);
}

/* Ranks that are told to stop may have to meet before they can end, as in MPI_Finalize: the
 * exchange goes on until the attempt is over. */
void jr_controller_mpi_take(struct jr_controller_run *run, uint32_t node)
{
    struct jr_buf *stream = &run->controller->nodes[node].streams[JR_CHANNEL_EXCHANGE];
    bool taken =
        run->result != 0 ||
        (!stream->failed && jr_exchange_hub_take(&run->hub, node, stream->data, stream->len));
    jr_buf_clear(stream);
    if (!taken && !run->stopped)
        jr_controller_run_refuse(run, node,
                                 "what MPI's process manager there exchanges with others cannot be "
                                 "read, or there is no memory for it here");
}

bool jr_controller_mpi_needs(const struct jr_controller_run *run,
                             const struct jr_rank_outcome *rank)
{
    return run->has_world && rank->mpi != JR_MPI_PART_FINALIZED;
}

bool jr_controller_mpi_settle(struct jr_controller_run *run, uint32_t node)
{
    bool missing = false;
    for (uint32_t i = run->first[node]; run->has_world && i < run->first[node + 1]; i++) {
        struct jr_rank_outcome *rank = &run->outcome->ranks[i];
        if (rank->mpi == JR_MPI_PART_ABSENT && rank->end == JR_END_EXITED && rank->exit_code == 0)
            rank->mpi = JR_MPI_PART_LEFT;
        missing = missing || (jr_controller_mpi_needs(run, rank) && rank->end != JR_END_NONE &&
                              !jr_outcome_is_well(rank));
    }
    return missing;
}

/* A node that is at work is told, and looks at its ranks itself. */
void jr_controller_mpi_begin(struct jr_controller_run *run)
{
    bool missing = false;
    if (run->has_world)
        return;
    run->has_world = true;
    jr_controller_send_type(run->controller, JR_TO_NODES_WORLD);
    for (uint32_t node = 0; node < run->plan->nodes; node++)
        if (run->controller->nodes[node].state >= JR_NODE_DONE)
            missing = jr_controller_mpi_settle(run, node) || missing;
    if (missing)
        jr_controller_run_stop(run);
}
