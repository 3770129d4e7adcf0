/* The controller and its srun: the three streams between them, from start to
 * end (controller_parts.h). */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/pidfd.h"
#include "cluster/controller_parts.h"

#include "base/banned.h"

#define LINE_MOST (256U << 10) /* bytes of what is not a frame */
#define LEAVE_S   20

static void close_watch(struct jr_controller *head, struct jr_watch *watch)
{
    if (watch->fd < 0)
        return;
    jr_loop_remove(&head->loop, watch);
    (void)close(watch->fd);
    watch->fd = -1;
}

static void watch_srun_input(struct jr_controller *head, bool wanted)
{
    if (wanted == head->in_watched || head->in.fd < 0)
        return;
    head->in_watched = wanted;
    if (wanted)
        (void)jr_loop_add(&head->loop, &head->in, EPOLLOUT);
    else
        jr_loop_remove(&head->loop, &head->in);
}

static void send_srun_input(struct jr_controller *head)
{
    struct jr_buf *box = &head->outbox;
    while (head->in.fd >= 0 && head->sent < box->len) {
        ssize_t len =
            write(head->in.fd, box->data + head->sent, box->len - head->sent);
        if (len < 0 && errno == EAGAIN)
            break;
        if (len < 0 && errno != EINTR)
            head->sent = box->len; /* its end is known from its process */
        else if (len > 0)
            head->sent += (size_t)len;
    }
    if (head->sent == box->len) {
        jr_buf_clear(box);
        head->sent = 0;
    }
    watch_srun_input(head, box->len > 0);
}

static void on_srun_input_room(void *owner, uint32_t events)
{
    (void)events;
    send_srun_input(owner);
}

void jr_controller_tell(struct jr_controller *head, enum jr_message_type type)
{
    jr_controller_send(head, &(struct jr_message){.type = type});
}

void jr_controller_send(struct jr_controller *head,
                        const struct jr_message *message)
{
    size_t before = head->outbox.len;
    jr_message_put(&head->outbox, message);
    head->told_bytes += head->outbox.len - before;
    send_srun_input(head);
}

void jr_controller_close_input(struct jr_controller *head)
{
    watch_srun_input(head, false);
    if (head->in.fd >= 0)
        (void)close(head->in.fd);
    head->in.fd = -1;
}

/* A line of no interest: that CPUs cannot be bound, which is not requested. */
static bool is_idle_message(const char *line, size_t len)
{
    return len == 0 || memmem(line, len, "lacks support for cpu binding", 29);
}

/* What is not a frame: what a prolog prints, or srun itself; except for what it
 * says of its own end. */
static void forward_other_line(struct jr_controller *head, int stream,
                               const char *line, size_t len)
{
    if (is_idle_message(line, len))
        return;
    if (head->run != NULL)
        jr_controller_run_noise(head->run, stream, line, len);
    else if (head->options.note != NULL && head->in.fd >= 0) {
        char text[512];
        (void)snprintf(text, sizeof text, "%.*s", (int)len, line);
        head->options.note(head->options.data, text);
    }
}

static void take_srun_output(struct jr_controller *head)
{
    const char *line;
    size_t len;
    while ((line = jr_inlet_line(&head->out_lines, &len)) != NULL) {
        json_t *frame = jr_message_read(line, len);
        if (frame != NULL)
            jr_controller_receive(head, frame);
        else
            forward_other_line(head, 0, line, len);
        json_decref(frame);
    }
}

static void take_srun_errors(struct jr_controller *head)
{
    const char *line;
    size_t len;
    while ((line = jr_inlet_line(&head->err_lines, &len)) != NULL) {
        forward_other_line(head, 1, line, len);
        if (is_idle_message(line, len))
            continue;
        (void)snprintf(head->said, sizeof head->said, "%.*s", (int)len, line);
        jr_controller_handle_srun(head);
    }
}

/* Read what there is; at the end close. */
static void on_srun_stream(struct jr_controller *head, struct jr_watch *watch,
                           struct jr_inlet *inlet)
{
    ssize_t len = read(watch->fd, head->bytes, JR_CONTROLLER_PIECE);
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (len <= 0) {
        close_watch(head, watch);
        jr_inlet_add(inlet, "\n", 1); /* a last line without its end */
        return;
    }
    size_t waiting;
    head->heard_bytes += (uint64_t)len;
    jr_inlet_add(inlet, head->bytes, (size_t)len);
    (void)jr_inlet_rest(inlet, &waiting);
    if (waiting > LINE_MOST)
        jr_inlet_add(inlet, "\n", 1);
}

static void on_srun_output(void *owner, uint32_t events)
{
    (void)events;
    struct jr_controller *head = owner;
    on_srun_stream(head, &head->out, &head->out_lines);
    take_srun_output(head);
}

static void on_srun_errors(void *owner, uint32_t events)
{
    (void)events;
    struct jr_controller *head = owner;
    on_srun_stream(head, &head->err, &head->err_lines);
    take_srun_errors(head);
}

static void on_srun_end(void *owner, uint32_t events)
{
    (void)events;
    struct jr_controller *head = owner;
    if (waitpid(head->srun.pid, &head->status, WNOHANG) != head->srun.pid)
        return;
    close_watch(head, &head->process);
    head->srun.pid = 0;
}

int jr_controller_connect(struct jr_controller *head, struct jr_error *err)
{
    const struct jr_controller_options *options = &head->options;
    head->in = (struct jr_watch){-1, on_srun_input_room, head};
    head->out = (struct jr_watch){-1, on_srun_output, head};
    head->err = (struct jr_watch){-1, on_srun_errors, head};
    head->process = (struct jr_watch){-1, on_srun_end, head};
    if (jr_srun_start(&head->srun, options->program, options->nodes,
                      options->envp, err) != 0)
        return -1;
    head->in.fd = head->srun.in_fd;
    head->out.fd = head->srun.out_fd;
    head->err.fd = head->srun.err_fd;
    head->process.fd = jr_pidfd_open(head->srun.pid);
    if (head->process.fd < 0 || fcntl(head->out.fd, F_SETFL, O_NONBLOCK) != 0 ||
        fcntl(head->err.fd, F_SETFL, O_NONBLOCK) != 0 ||
        jr_loop_add(&head->loop, &head->out, EPOLLIN) != 0 ||
        jr_loop_add(&head->loop, &head->err, EPOLLIN) != 0 ||
        jr_loop_add(&head->loop, &head->process, EPOLLIN) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "could not hear srun");
    return 0;
}

static void report_killed_srun(const struct jr_controller *head)
{
    char line[160];
    (void)snprintf(line, sizeof line,
                   "srun (pid %d) did not end within %ds of its input, and was "
                   "killed: a node or its agent hangs; squeue --steps shows "
                   "whether its step is gone",
                   (int)head->srun.pid, LEAVE_S);
    if (head->options.note != NULL)
        head->options.note(head->options.data, line);
}

/* The input of the agents ends, and they stop their ranks. */
static void end_srun(struct jr_controller *head)
{
    jr_controller_close_input(head);
    head->late = false;
    head->patience.at = jr_clock_ns() + LEAVE_S * UINT64_C(1000000000);
    if (!jr_controller_has_met(head)) /* there is no reader: end the step */
        (void)kill(head->srun.pid, SIGTERM);
    while (head->process.fd >= 0 && !head->late)
        jr_controller_turn(head);
    if (head->srun.pid > 0 && head->process.fd >= 0) {
        (void)kill(head->srun.pid, SIGKILL);
        (void)waitpid(head->srun.pid, &head->status, 0);
        report_killed_srun(head);
    }
}

void jr_controller_disconnect(struct jr_controller *head)
{
    if (head->srun.pid > 0)
        end_srun(head);
    close_watch(head, &head->process);
    close_watch(head, &head->out);
    close_watch(head, &head->err);
    jr_inlet_release(&head->out_lines);
    jr_inlet_release(&head->err_lines);
    jr_buf_release(&head->outbox);
}
