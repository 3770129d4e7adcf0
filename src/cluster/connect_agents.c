/* The controller and its srun: the three streams between them, from start to
 * end (controller_parts.h). */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/pidfd.h"
#include "cluster/controller_run.h"
#include "eventloop/signals.h"

#include "base/banned.h"

#define LINE_MOST (256U << 10) /* bytes of what is not a frame */
#define LEAVE_S   20

static void close_watch(struct jr_controller *controller,
                        struct jr_watch *watch)
{
    if (watch->fd < 0)
        return;
    jr_loop_remove(&controller->loop, watch);
    (void)close(watch->fd);
    watch->fd = -1;
}

static void watch_srun_input(struct jr_controller *controller, bool wanted)
{
    if (wanted == controller->in_watched || controller->in.fd < 0)
        return;
    controller->in_watched = wanted;
    if (wanted)
        (void)jr_loop_add(&controller->loop, &controller->in, EPOLLOUT);
    else
        jr_loop_remove(&controller->loop, &controller->in);
}

static void send_srun_input(struct jr_controller *controller)
{
    struct jr_buf *box = &controller->outbox;
    while (controller->in.fd >= 0 && controller->sent < box->len) {
        ssize_t len = write(controller->in.fd, box->data + controller->sent,
                            box->len - controller->sent);
        if (len < 0 && errno == EAGAIN)
            break;
        if (len < 0 && errno != EINTR)
            controller->sent = box->len; /* its end is known from its process */
        else if (len > 0)
            controller->sent += (size_t)len;
    }
    if (controller->sent == box->len) {
        jr_buf_clear(box);
        controller->sent = 0;
    }
    watch_srun_input(controller, box->len > 0);
}

static void on_srun_input_room(void *owner, uint32_t events)
{
    (void)events;
    send_srun_input(owner);
}

void jr_controller_send_type(struct jr_controller *controller,
                             enum jr_message_type type)
{
    jr_controller_send(controller, &(struct jr_message){.type = type});
}

void jr_controller_send(struct jr_controller *controller,
                        const struct jr_message *message)
{
    size_t before = controller->outbox.len;
    jr_message_put(&controller->outbox, message);
    controller->sent_bytes += controller->outbox.len - before;
    send_srun_input(controller);
}

void jr_controller_close_input(struct jr_controller *controller)
{
    watch_srun_input(controller, false);
    if (controller->in.fd >= 0)
        (void)close(controller->in.fd);
    controller->in.fd = -1;
}

/* A line of no interest: that CPUs cannot be bound, which is not requested. */
static bool is_idle_message(const char *line, size_t len)
{
    return len == 0 || memmem(line, len, "lacks support for cpu binding", 29);
}

/* What is not a frame: what a prolog prints, or srun itself; except for what it
 * says of its own end. */
static void forward_other_line(struct jr_controller *controller, int stream,
                               const char *line, size_t len)
{
    if (is_idle_message(line, len))
        return;
    if (controller->run != NULL)
        jr_controller_run_print(controller->run, stream, line, len);
    else if (controller->options.note != NULL && controller->in.fd >= 0) {
        char text[512];
        (void)snprintf(text, sizeof text, "%.*s", (int)len, line);
        controller->options.note(controller->options.data, text);
    }
}

static void take_srun_output(struct jr_controller *controller)
{
    const char *line;
    size_t len;
    while ((line = jr_inlet_line(&controller->out_lines, &len)) != NULL) {
        json_t *frame = jr_message_read(line, len);
        if (frame != NULL)
            jr_controller_receive(controller, frame);
        else
            forward_other_line(controller, 0, line, len);
        json_decref(frame);
    }
}

static void take_srun_errors(struct jr_controller *controller)
{
    const char *line;
    size_t len;
    while ((line = jr_inlet_line(&controller->err_lines, &len)) != NULL) {
        forward_other_line(controller, 1, line, len);
        if (is_idle_message(line, len))
            continue;
        (void)snprintf(controller->last_line, sizeof controller->last_line,
                       "%.*s", (int)len, line);
        jr_controller_handle_srun(controller);
    }
}

/* Read what there is; at the end close. */
static void on_srun_stream(struct jr_controller *controller,
                           struct jr_watch *watch, struct jr_inlet *inlet)
{
    ssize_t len = read(watch->fd, controller->bytes, JR_CONTROLLER_PIECE);
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (len <= 0) {
        close_watch(controller, watch);
        jr_inlet_add(inlet, "\n", 1); /* a last line without its end */
        return;
    }
    size_t waiting;
    controller->received_bytes += (uint64_t)len;
    jr_inlet_add(inlet, controller->bytes, (size_t)len);
    (void)jr_inlet_rest(inlet, &waiting);
    if (waiting > LINE_MOST)
        jr_inlet_add(inlet, "\n", 1);
}

static void on_srun_output(void *owner, uint32_t events)
{
    (void)events;
    struct jr_controller *controller = owner;
    on_srun_stream(controller, &controller->out, &controller->out_lines);
    take_srun_output(controller);
}

static void on_srun_errors(void *owner, uint32_t events)
{
    (void)events;
    struct jr_controller *controller = owner;
    on_srun_stream(controller, &controller->err, &controller->err_lines);
    take_srun_errors(controller);
}

/* What tells of an end where there are no pidfds; from now on it is kept for
 * that. */
static int hear_children(void)
{
    sigset_t child;
    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &child, NULL);
    return signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void on_srun_end(void *owner, uint32_t events)
{
    (void)events;
    struct jr_controller *controller = owner;
    pid_t pid;
    if (controller->blind)
        (void)jr_signal_read(controller->process.fd, &pid);
    if (waitpid(controller->srun.pid, &controller->status, WNOHANG) !=
        controller->srun.pid)
        return;
    close_watch(controller, &controller->process);
    controller->srun.pid = 0;
}

int jr_controller_connect(struct jr_controller *controller,
                          struct jr_error *err)
{
    const struct jr_controller_options *options = &controller->options;
    controller->in = (struct jr_watch){-1, on_srun_input_room, controller};
    controller->out = (struct jr_watch){-1, on_srun_output, controller};
    controller->err = (struct jr_watch){-1, on_srun_errors, controller};
    controller->process = (struct jr_watch){-1, on_srun_end, controller};
    controller->blind = !jr_pidfd_works();
    if (controller->blind)
        controller->process.fd = hear_children();
    if (jr_srun_start(&controller->srun, options->program, options->nodes,
                      options->envp, err) != 0)
        return -1;
    controller->in.fd = controller->srun.in_fd;
    controller->out.fd = controller->srun.out_fd;
    controller->err.fd = controller->srun.err_fd;
    if (!controller->blind)
        controller->process.fd = jr_pidfd_open(controller->srun.pid);
    if (controller->process.fd < 0 ||
        fcntl(controller->out.fd, F_SETFL, O_NONBLOCK) != 0 ||
        fcntl(controller->err.fd, F_SETFL, O_NONBLOCK) != 0 ||
        jr_loop_add(&controller->loop, &controller->out, EPOLLIN) != 0 ||
        jr_loop_add(&controller->loop, &controller->err, EPOLLIN) != 0 ||
        jr_loop_add(&controller->loop, &controller->process, EPOLLIN) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "could not hear srun");
    return 0;
}

static void report_killed_srun(const struct jr_controller *controller)
{
    char line[160];
    (void)snprintf(line, sizeof line,
                   "srun (pid %d) did not end within %ds of its input, and was "
                   "killed: a node or its agent hangs; squeue --steps shows "
                   "whether its step is gone",
                   (int)controller->srun.pid, LEAVE_S);
    if (controller->options.note != NULL)
        controller->options.note(controller->options.data, line);
}

/* The input of the agents ends, and they stop their ranks. */
static void end_srun(struct jr_controller *controller)
{
    jr_controller_close_input(controller);
    controller->timed_out = false;
    controller->deadline.at = jr_clock_ns() + LEAVE_S * UINT64_C(1000000000);
    if (!jr_controller_has_agent(
            controller)) /* there is no reader: end the step */
        (void)kill(controller->srun.pid, SIGTERM);
    while (controller->process.fd >= 0 && !controller->timed_out)
        jr_controller_turn(controller);
    if (controller->srun.pid > 0 && controller->process.fd >= 0) {
        (void)kill(controller->srun.pid, SIGKILL);
        (void)waitpid(controller->srun.pid, &controller->status, 0);
        report_killed_srun(controller);
    }
}

void jr_controller_disconnect(struct jr_controller *controller)
{
    if (controller->srun.pid > 0)
        end_srun(controller);
    close_watch(controller, &controller->process);
    close_watch(controller, &controller->out);
    close_watch(controller, &controller->err);
    jr_inlet_release(&controller->out_lines);
    jr_inlet_release(&controller->err_lines);
    jr_buf_release(&controller->outbox);
}
