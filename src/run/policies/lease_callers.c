/*
 * Who asks whose a port or a device is connects to the socket that is its lease, and so does who
 * waits for its end. The session, its guard and the runner hold the leases together; the runner is
 * the one that is always there to accept such connections, and the last to have them in hand when
 * the guard is killed.
 *
 * A lease holds without it, too: where there is no descriptor left, the connections stay in the
 * kernel. internal.h declares it.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "run/internal.h"

#include "base/banned.h"

int jr_lease_callers_keep(struct jr_runner *runner)
{
    const struct jr_run_options *options = runner->options;
    struct jr_lease_callers *callers = &runner->lease_callers;
    *callers = (struct jr_lease_callers){.watch = {.fd = -1}, .backlog = JR_BACKLOG_NONE};
    if (options->leases_count == 0)
        return 0;
    callers->leases = calloc(options->leases_count, sizeof *callers->leases);
    if (callers->leases == NULL)
        return -1;
    for (uint32_t i = 0; i < options->leases_count; i++) {
        int fd = options->leases[i];
        if (fd >= JR_SLOT_DIR && fd < JR_SLOT_END)
            fd = fcntl(fd, F_DUPFD_CLOEXEC, JR_SLOT_END);
        callers->leases[callers->count++] = fd;
    }
    return 0;
}

static void on_lease_callers(void *owner, uint32_t events)
{
    (void)events;
    jr_backlog_turn(owner);
}

static int open_lease_callers(struct jr_runner *runner)
{
    struct jr_lease_callers *callers = &runner->lease_callers;
    if (jr_backlog_open(&callers->backlog, callers->leases, callers->count) != 0 ||
        callers->backlog.epoll_fd < 0)
        return 0;
    callers->watch = (struct jr_watch){
        .fd = callers->backlog.epoll_fd, .ready = on_lease_callers, .owner = &callers->backlog};
    if (jr_loop_add(&runner->loop, &callers->watch, EPOLLIN) != 0)
        callers->watch.fd = -1;
    return 0;
}

static void close_lease_callers(struct jr_runner *runner)
{
    struct jr_lease_callers *callers = &runner->lease_callers;
    callers->watch.fd = -1;
    jr_backlog_close(&callers->backlog);
    for (uint32_t i = 0; i < callers->count; i++)
        if (callers->leases[i] >= 0 && callers->leases[i] != runner->options->leases[i])
            (void)close(callers->leases[i]);
    free(callers->leases);
    callers->leases = NULL;
    callers->count = 0;
}

const struct jr_runner_policy jr_lease_callers_policy = {
    .name = "lease_callers",
    .open = open_lease_callers,
    .close = close_lease_callers,
};
