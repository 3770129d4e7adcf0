/* The streams of the programs that carry messages. internal.h declares it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/names.h"
#include "base/pidfd.h"
#include "cluster/internal.h"

#include "base/banned.h"

#define LINE_MOST  (256U << 10) /* bytes of what is not a frame */
#define EARLY_MOST (16U << 10)  /* bytes kept until a node has answered */

static void close_link_watch(struct jr_link *link, struct jr_watch *watch)
{
    if (watch->fd < 0)
        return;
    jr_loop_remove(&link->controller->loop, watch);
    (void)close(watch->fd);
    watch->fd = -1;
}

static void watch_link_input(struct jr_link *link, bool wanted)
{
    if (wanted == link->in_watched || link->in.fd < 0)
        return;
    link->in_watched = wanted;
    if (wanted)
        (void)jr_loop_add(&link->controller->loop, &link->in, EPOLLOUT);
    else
        jr_loop_remove(&link->controller->loop, &link->in);
}

/* Write from `*sent` on. Returns whether all is written, or will never be. */
static bool write_link_bytes(struct jr_link *link, const char *bytes, size_t most, size_t *sent)
{
    while (link->in.fd >= 0 && *sent < most) {
        ssize_t len = write(link->in.fd, bytes + *sent, most - *sent);
        if (len < 0 && errno == EAGAIN)
            return false;
        if (len < 0 && errno != EINTR)
            *sent = most; /* its end is known from its process */
        else if (len > 0)
            *sent += (size_t)len;
    }
    return *sent == most;
}

static void send_link_input(struct jr_link *link)
{
    struct jr_buf *box = &link->outbox;
    bool bulky = link->bulk_sent < link->bulk_len;
    if (bulky && !write_link_bytes(link, link->bulk, link->bulk_len, &link->bulk_sent)) {
        watch_link_input(link, true);
        return;
    }
    if (write_link_bytes(link, box->data, box->len, &link->sent)) {
        jr_buf_clear(box);
        link->sent = 0;
    }
    watch_link_input(link, box->len > 0 || link->feed != NULL);
}

static void on_link_room(void *owner, uint32_t events)
{
    (void)events;
    struct jr_link *link = owner;
    send_link_input(link);
    if (link->feed != NULL && link->outbox.len == 0)
        link->feed(link);
}

void jr_link_feed(struct jr_link *link, void (*feed)(struct jr_link *link))
{
    link->feed = feed;
    send_link_input(link);
}

bool jr_link_send(struct jr_link *link, const char *bytes, size_t len)
{
    if (link->closed)
        return true;
    jr_buf_add(&link->outbox, bytes, len);
    bool kept = !link->outbox.failed;
    send_link_input(link);
    return kept;
}

void jr_link_send_bulk(struct jr_link *link, const char *bytes, size_t len)
{
    if (link->bulk != NULL)
        return;
    link->bulk = bytes;
    link->bulk_len = len;
    send_link_input(link);
}

void jr_link_close_input(struct jr_link *link)
{
    link->closed = true;
    watch_link_input(link, false);
    jr_close_fd(&link->in.fd);
}

/* Read what there is; at the end close. */
static void read_link_stream(struct jr_link *link, struct jr_watch *watch, struct jr_inlet *inlet)
{
    struct jr_controller *controller = link->controller;
    ssize_t len = read(watch->fd, controller->bytes, JR_CONTROLLER_PIECE);
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (len <= 0) {
        close_link_watch(link, watch);
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

/* What comes, line by line. */

static bool is_idle_line(const struct jr_link *link, const char *line, size_t len)
{
    const struct jr_transport *transport = link->controller->transport;
    return len == 0 || (transport->is_idle != NULL && transport->is_idle(line, len));
}

/* What is not a frame: what a prolog prints, or the program itself; except for what it says of its
 * own end. */
static void forward_other_line(const struct jr_link *link, int stream, const char *line, size_t len)
{
    struct jr_controller *controller = link->controller;
    if (is_idle_line(link, line, len))
        return;
    if (controller->run != NULL)
        jr_controller_run_print(controller->run, stream, line, len);
    else if (controller->options.note != NULL && link->in.fd >= 0 &&
             controller->survey == NULL) { /* that tells it of its host */
        char text[512];
        (void)snprintf(text, sizeof text, "%.*s", (int)len, line);
        controller->options.note(controller->options.data, text);
    }
}

/* Once nothing more can come. */
static void check_link_end(struct jr_link *link)
{
    const char *line;
    size_t len;
    if (link->ended || link->pid > 0 || link->out.fd >= 0 || link->err.fd >= 0)
        return;
    link->ended = true;
    /* There will be no answer: show the lines that wait for it. */
    while ((line = jr_inlet_line(&link->early, &len)) != NULL)
        forward_other_line(link, 1, line, len);
    jr_inlet_release(&link->early);
    jr_controller_handle_end(link->controller, link);
}

static void on_link_output(void *owner, uint32_t events)
{
    (void)events;
    struct jr_link *link = owner;
    bool each = link->controller->transport->each;
    const char *line;
    size_t len;
    read_link_stream(link, &link->out, &link->out_lines);
    while ((line = jr_inlet_line(&link->out_lines, &len)) != NULL) {
        json_t *frame = jr_message_read(line, len);
        /* An agent that has a link of its own speaks for no other node, whatever a host sends. */
        bool own = frame != NULL && (!each || jr_json_get_u32(frame, "n") == link->node);
        if (own && !link->answered) {
            /* What ssh says on the way to a host, as its banner, is worth no line once that is
             * reached; and is nothing that it says in the end. */
            link->answered = true;
            link->last_line[0] = link->telling[0] = '\0';
            jr_inlet_release(&link->early);
        }
        if (own)
            jr_controller_receive(link->controller, frame);
        else
            forward_other_line(link, 0, line, len);
        json_decref(frame);
    }
    check_link_end(link);
}

static void on_link_errors(void *owner, uint32_t events)
{
    (void)events;
    struct jr_link *link = owner;
    const struct jr_transport *transport = link->controller->transport;
    const char *line;
    size_t len;
    read_link_stream(link, &link->err, &link->err_lines);
    while ((line = jr_inlet_line(&link->err_lines, &len)) != NULL) {
        len -= len > 0 && line[len - 1] == '\r';         /* as ssh ends its lines */
        bool waits = !link->answered && transport->each; /* for the answer of the node */
        if (!waits) {
            forward_other_line(link, 1, line, len);
        } else if (link->early.bytes.len + len < EARLY_MOST) {
            jr_inlet_add(&link->early, line, len);
            jr_inlet_add(&link->early, "\n", 1);
        }
        if (is_idle_line(link, line, len))
            continue;
        (void)snprintf(link->last_line, sizeof link->last_line, "%.*s", (int)len, line);
        /* The first that tells says more than those that follow from it. */
        if (link->telling[0] == '\0' && transport->is_telling != NULL &&
            transport->is_telling(link->last_line))
            memcpy(link->telling, link->last_line, sizeof link->telling);
        jr_controller_handle_errors(link->controller, link);
    }
    check_link_end(link);
}

void jr_link_take_end(struct jr_link *link, int status)
{
    link->status = status;
    close_link_watch(link, &link->process);
    link->pid = 0;
    check_link_end(link);
}

void jr_link_reap(struct jr_link *link)
{
    int status;
    if (link->pid != 0 && waitpid(link->pid, &status, WNOHANG) == link->pid)
        jr_link_take_end(link, status);
}

static void on_link_process(void *owner, uint32_t events)
{
    (void)events;
    jr_link_reap(owner);
}

/* From start to end. */

void jr_link_init(struct jr_link *link, struct jr_controller *controller, uint32_t node)
{
    *link = (struct jr_link){
        .controller = controller,
        .node = node,
        .in = {-1, on_link_room, link},
        .out = {-1, on_link_output, link},
        .err = {-1, on_link_errors, link},
        .process = {-1, on_link_process, link},
    };
}

int jr_link_open(struct jr_link *link, struct jr_error *err)
{
    struct jr_controller *controller = link->controller;
    const struct jr_transport *transport = controller->transport;
    struct jr_loop *loop = &controller->loop;
    struct jr_carrier carrier;
    if (transport->start(&carrier, &controller->options, link->node, err) != 0)
        return -1;
    link->pid = carrier.pid;
    link->in.fd = carrier.in_fd;
    link->out.fd = carrier.out_fd;
    link->err.fd = carrier.err_fd;
    bool heard =
        jr_loop_add(loop, &link->out, EPOLLIN) == 0 && jr_loop_add(loop, &link->err, EPOLLIN) == 0;
    if (heard && controller->children.fd < 0) { /* else that tells of each end */
        link->process.fd = jr_pidfd_open(link->pid);
        heard = link->process.fd >= 0 && jr_loop_add(loop, &link->process, EPOLLIN) == 0;
    }
    return heard ? 0 : jr_error_sys(err, JR_STATUS_LAUNCH, "could not hear %s", transport->program);
}

void jr_link_kill(struct jr_link *link)
{
    if (link->pid == 0)
        return;
    (void)kill(-link->pid, SIGKILL); /* it leads a group */
    (void)kill(link->pid, SIGKILL);
    (void)waitpid(link->pid, &link->status, 0);
    close_link_watch(link, &link->process);
    link->pid = 0;
}

const char *jr_link_refusal(const struct jr_link *link)
{
    const char *line = link->telling[0] != '\0' ? link->telling : link->last_line;
    return line[0] != '\0' ? line : NULL;
}

void jr_link_describe_end(struct jr_buf *out, const struct jr_link *link, bool answered)
{
    const struct jr_controller *controller = link->controller;
    const struct jr_transport *transport = controller->transport;
    const char *line = answered ? NULL : jr_link_refusal(link);
    char name[JR_SIGNAL_NAME];
    if (line != NULL && transport->add_advice != NULL) { /* why it was never reached */
        jr_buf_str(out, line);
        jr_buf_str(out, "; ");
        transport->add_advice(out, line, controller->nodes[link->node].host,
                              controller->options.ssh);
        return;
    }
    jr_signal_name(name, WTERMSIG(link->status));
    if (WIFSIGNALED(link->status))
        jr_buf_printf(out, "%s was killed by %s", transport->program, name);
    else
        jr_buf_printf(out, "%s ended with exit code %d", transport->program,
                      WEXITSTATUS(link->status));
    if (link->last_line[0] != '\0')
        jr_buf_printf(out, "; its last output: %s", link->last_line);
}

void jr_link_close(struct jr_link *link)
{
    jr_link_close_input(link);
    close_link_watch(link, &link->process);
    close_link_watch(link, &link->out);
    close_link_watch(link, &link->err);
    jr_inlet_release(&link->out_lines);
    jr_inlet_release(&link->err_lines);
    jr_buf_release(&link->outbox);
    jr_inlet_release(&link->early);
}
