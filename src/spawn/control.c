#include "spawn/control.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/banned.h"

bool jr_control_is_awaited(const struct jr_plan *plan)
{
    return plan->returns || plan->policy->exit_barrier;
}

bool jr_control_wanted(const struct jr_plan *plan)
{
    return plan->form == JR_FORM_PYTHON || jr_control_is_awaited(plan);
}

int jr_control_open(int ends[2])
{
    int on = 1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    if (setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0 &&
        fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0)
        return 0;
    int error = errno;
    (void)close(ends[0]);
    (void)close(ends[1]);
    errno = error;
    return -1;
}

bool jr_control_read(struct jr_control_status *ret, int fd)
{
    union {
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
        struct cmsghdr align;
    } control;
    struct iovec iov = {ret->text, sizeof ret->text - 1};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct ucred from = {0};
    ssize_t len = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    ret->len = len > 0 ? (size_t)len : 0;
    ret->text[ret->len] = '\0';
    struct cmsghdr *head = len > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (head != NULL && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_CREDENTIALS)
        memcpy(&from, CMSG_DATA(head), sizeof from);
    ret->from = from.pid;
    return true;
}

size_t jr_control_waiting(int fd)
{
    int bytes = 0;
    return ioctl(fd, FIONREAD, &bytes) == 0 && bytes > 0 ? (size_t)bytes : 0;
}
