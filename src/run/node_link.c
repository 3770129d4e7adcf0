/* What connects the runner with the other nodes of a job. internal.h declares it. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "run/internal.h"

#include "base/banned.h"

int jr_node_link_keep(struct jr_runner *runner)
{
    const struct jr_run_link *from = runner->options->link;
    struct jr_node_link *link = &runner->link;
    *link = (struct jr_node_link){-1, -1, -1};
    if (from == NULL)
        return 0;
    jr_events_open_fd(&runner->events, from->events_fd, JR_SLOT_END);
    link->commands_fd = fcntl(from->commands_fd, F_DUPFD_CLOEXEC, JR_SLOT_END);
    link->reports_fd = fcntl(from->reports_fd, F_DUPFD_CLOEXEC, JR_SLOT_END);
    link->exchange_fd = fcntl(from->exchange_fd, F_DUPFD_CLOEXEC, JR_SLOT_END);
    return runner->events.fd < 0 || link->commands_fd < 0 || link->reports_fd < 0 ||
                   link->exchange_fd < 0
               ? -1
               : 0;
}

int jr_node_link_take_exchange(struct jr_runner *runner)
{
    int fd = runner->options->link == NULL ? -1 : runner->link.exchange_fd;
    runner->link.exchange_fd = -1;
    return fd;
}

void jr_node_link_report(struct jr_runner *runner, enum jr_report_name name, uint64_t for_ns)
{
    const struct jr_report report = {name, for_ns};
    int fd = runner->link.reports_fd;
    while (fd >= 0 && write(fd, &report, sizeof report) < 0 && errno == EINTR)
        continue;
}
