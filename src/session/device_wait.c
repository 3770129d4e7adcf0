#include "session/device_wait.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/names.h"
#include "eventloop/signals.h"
#include "session/stages.h"

#include "base/banned.h"

#define NS_PER_MS UINT64_C(1000000)

void jr_session_wait_open(struct jr_session_wait *wait, const struct jr_session *session)
{
    uint64_t now = jr_clock_ns(), ms = session->options.wait_ms;
    *wait = (struct jr_session_wait){.devices = JR_DEVICE_WAIT_INIT, .until_ns = UINT64_MAX};
    if (ms > 0 && ms < (UINT64_MAX - now) / NS_PER_MS)
        wait->until_ns = now + ms * NS_PER_MS;
}

void jr_session_wait_close(struct jr_session_wait *wait)
{
    jr_device_queue_leave(&wait->devices.queue);
    jr_arena_release(&wait->devices.arena);
}

/* What is lacking, as the refusal says it. */
static void note_waiting_for_devices(const struct jr_session *session, size_t first)
{
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    const struct jr_diags *diags = &session->diags;
    size_t i = first;
    while (i < diags->count && !jr_diag_is(&diags->items[i], JR_CODE_DEVICES_HELD))
        i++;
    jr_buf_str(&line, "waiting for devices");
    if (session->options.wait_ms > 0) {
        jr_buf_str(&line, " for at most ");
        jr_num_add_duration(&line, session->options.wait_ms);
    }
    if (i < diags->count) {
        jr_buf_str(&line, ": ");
        jr_buf_str(&line, diags->items[i].message);
    }
    jr_session_note_buf(session, &line);
}

int jr_session_sleep_in_queue(struct jr_device_queue *queue,
                              const struct jr_device_request *request,
                              const struct jr_policy *policy, uint64_t until_ns)
{
    struct jr_signals signals;
    sigset_t ignored, taken;
    jr_signals_ignored(&ignored);
    jr_signals_make(&signals, policy, &ignored);
    jr_signals_set(&signals, &taken);
    JR_CLOSE int fd = signalfd(-1, &taken, SFD_CLOEXEC);
    struct pollfd fds[] = {{.fd = queue->epoll_fd, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    while (!jr_device_queue_is_ready(queue, request)) {
        int ready = poll(fds, 2, jr_clock_poll_ms(until_ns));
        int sig = ready > 0 && fds[1].revents != 0 ? jr_signals_await(&signals, jr_clock_ns()) : 0;
        if (sig != 0)
            return sig;
        if (jr_clock_ns() >= until_ns)
            return -1;
    }
    return 0;
}

static enum jr_status refuse_stopped_wait(struct jr_session *session, size_t first, int sig,
                                          struct jr_error *err)
{
    char name[JR_SIGNAL_NAME];
    jr_signal_name(name, sig);
    jr_diags_drop_from(&session->diags, first);
    (void)jr_error_set(err, (enum jr_status)(128 + sig),
                       "stopped by %s while it waited for devices", name);
    return (enum jr_status)(128 + sig);
}

/* With a place for other devices, if those that come into question are not what they were. */
static int join_queue(struct jr_session_wait *wait, struct jr_error *err)
{
    struct jr_device_wait *devices = &wait->devices;
    const struct jr_device_request *request = &devices->request;
    if (devices->queue.ticket != 0 && devices->queue.places_count == request->count)
        return 0;
    jr_device_queue_leave(&devices->queue);
    if (jr_device_queue_join(&devices->queue, request) == 0)
        return 0;
    return jr_error_sys(err, JR_STATUS_LAUNCH, "cannot wait for devices");
}

/* A cell has its part of a machine whose facts are the sweep's. */
static int read_facts_again(struct jr_session *session, struct jr_error *err)
{
    if (session->cells_dir != NULL)
        return 0;
    session->host = (struct jr_host){0};
    session->custom = false;
    return jr_host_probe(&session->host, &session->arena, "", session->options.envp, err);
}

enum jr_status jr_session_await_devices(struct jr_session *session, struct jr_session_wait *wait,
                                        size_t first, struct jr_error *err)
{
    struct jr_error why = {0};
    if (join_queue(wait, &why) != 0) {
        jr_diags_drop_from(&session->diags, first);
        (void)jr_error_set(err, why.status, "%s", why.text);
        return why.status;
    }
    if (!wait->told)
        note_waiting_for_devices(session, first);
    wait->told = true;
    int sig = jr_session_sleep_in_queue(&wait->devices.queue, &wait->devices.request,
                                        &jr_spec_get(session->file)->policy, wait->until_ns);
    if (sig < 0)
        return JR_STATUS_UNRESOLVED;
    if (sig > 0)
        return refuse_stopped_wait(session, first, sig, err);
    jr_diags_drop_from(&session->diags, first);
    return read_facts_again(session, err) == 0 ? JR_STATUS_OK : JR_STATUS_LAUNCH;
}
