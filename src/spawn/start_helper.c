#include "spawn/start_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/names.h"
#include "base/pidfd.h"
#include "base/syscalls.h"
#include "store/run_folder.h"

#include "base/banned.h"

#define MESSAGE_MOST 4096
#define RANK_FDS     6

static void fail_helper(struct jr_helper *helper, enum jr_stage stage, int error, const char *text)
{
    bool was_reported = helper->failed;
    helper->failed = true;
    helper->ready = false;
    if (!was_reported)
        helper->hooks.failed(helper->hooks.owner, stage, error, text);
}

/* Both have to come before its end can be judged: its last words, and how it ended. What it forked
 * may have the socket longer than itself. */
static void judge_helper_end(struct jr_helper *helper)
{
    char text[128], how[JR_SIGNAL_NAME + 16];
    if (helper->socket.fd >= 0 || helper->process.fd >= 0)
        return;
    bool was_ready = helper->ready || helper->pending > 0;
    if (helper->code == CLD_EXITED)
        (void)snprintf(how, sizeof how, "exited with code %d", helper->status);
    else
        jr_signal_name(stpcpy(how, "was killed by "), helper->status);
    (void)snprintf(text, sizeof text, "it %s%s", how,
                   helper->pending > 0 ? " while it forked ranks"
                   : was_ready         ? ""
                                       : " before it was ready");
    fail_helper(helper, was_ready ? JR_STAGE_FORK : JR_STAGE_IMPORT, 0, text);
}

static void on_helper_end(void *owner, uint32_t events)
{
    (void)events;
    struct jr_helper *helper = owner;
    siginfo_t info = {0};
    struct rusage usage;
    if (jr_child_wait(helper->process.fd, helper->pid, &info, &usage) != 0 || info.si_pid == 0)
        return;
    helper->status = info.si_status;
    helper->code = info.si_code;
    jr_loop_close(&helper->process);
    judge_helper_end(helper);
}

static void receive_message(struct jr_helper *helper, const char *text)
{
    unsigned i = 0;
    int number = 0;
    if (strncmp(text, "threads ", 8) == 0) {
        helper->hooks.threads(helper->hooks.owner, text + 8);
    } else if (strcmp(text, "ready") == 0) {
        helper->ready = !helper->failed;
    } else if (strcmp(text, "done") == 0) {
        helper->forking = false;
        if (helper->pending > 0)
            fail_helper(helper, JR_STAGE_FORK, 0, "the process that forks the ranks was killed");
    } else if (strncmp(text, "failed ", 7) == 0) { /* and then "STAGE\nTEXT" */
        const char *why = strchr(text, '\n');
        fail_helper(helper, strncmp(text + 7, "fork", 4) == 0 ? JR_STAGE_FORK : JR_STAGE_IMPORT, 0,
                    why == NULL ? "" : why + 1);
    } else if (sscanf(text, "rank %u %d", &i, &number) == 2) {
        helper->pending--;
        helper->hooks.started(helper->hooks.owner, i, number);
    } else if (sscanf(text, "refused %u %d", &i, &number) == 2) {
        helper->pending--;
        fail_helper(helper, JR_STAGE_FORK, number, "");
    }
}

void jr_helper_receive(struct jr_helper *helper)
{
    char text[MESSAGE_MOST + 1];
    while (helper->socket.fd >= 0) {
        ssize_t len = recv(helper->socket.fd, text, MESSAGE_MOST, MSG_DONTWAIT);
        if (len < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (len <= 0) {
            jr_loop_close(&helper->socket);
            judge_helper_end(helper);
            return;
        }
        text[len] = '\0';
        receive_message(helper, text);
    }
}

static void on_message(void *owner, uint32_t events)
{
    (void)events;
    jr_helper_receive(owner);
}

int jr_helper_open(struct jr_helper *helper, struct jr_starter *starter, const struct jr_plan *plan,
                   struct jr_loop *loop, enum jr_stage *ret_stage)
{
    const struct jr_plan_rank *first = &plan->ranks[plan->first];
    struct jr_started started = {.pidfd = -1};
    struct jr_child child;
    int ends[2];
    *ret_stage = JR_STAGE_CLONE;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    (void)dup3(ends[1], JR_SLOT_EXTRA, O_CLOEXEC);
    (void)close(ends[1]);
    jr_start_child(starter, &child);
    child.argv = plan->helper.argv;
    child.env = jr_exported_join(&starter->exported, plan->helper.env, plan->helper.env_own, NULL);
    child.workdir = first->workdir;
    child.extra = true;
    child.streams[0].path = child.streams[1].path = helper->log;
    child.streams[0].shared = child.streams[1].shared = true;
    jr_start_beside(starter, first, JR_HELPER_LOG, helper->log, sizeof helper->log);
    if (child.env == NULL || jr_start_folder(starter, first->dir) != 0)
        started.stage = JR_STAGE_FOLDER;
    else
        (void)jr_start_program(starter, &child, &started);
    *ret_stage = started.stage;
    (void)dup3(JR_SLOT_NULL, JR_SLOT_EXTRA, O_CLOEXEC); /* keeps errno */
    helper->loop = loop;
    helper->pid = started.pid;
    helper->socket = (struct jr_watch){ends[0], on_message, helper};
    helper->process = (struct jr_watch){started.pidfd, on_helper_end, helper};
    if (*ret_stage == JR_STAGE_NONE && jr_loop_add(loop, &helper->socket, EPOLLIN) == 0 &&
        jr_loop_add(loop, &helper->process, EPOLLIN) == 0)
        return 0;
    if (*ret_stage == JR_STAGE_NONE)
        *ret_stage = JR_STAGE_CLONE;
    return -1;
}

bool jr_helper_may_start(const struct jr_helper *helper)
{
    return helper->ready && !helper->forking && helper->batched < JR_HELPER_BATCH;
}

static void add_strings(struct jr_buf *out, char *const *strings)
{
    for (size_t i = 0; strings[i] != NULL; i++)
        jr_buf_add(out, strings[i], strlen(strings[i]) + 1);
}

/* The request as a file in memory, to be read from its start; -1 with errno. */
static int write_request(const struct jr_child *child)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    const char *comma = "";
    size_t count = 0;
    while (child->argv[count] != NULL)
        count++;
    jr_buf_str(&text, child->workdir == NULL ? "." : child->workdir);
    jr_buf_char(&text, '\0');
    for (unsigned cpu = 0; child->cpus != NULL && cpu < JR_CPUS; cpu++)
        if (CPU_ISSET_S(cpu, child->cpus_size, child->cpus)) {
            jr_buf_printf(&text, "%s%u", comma, cpu);
            comma = ",";
        }
    jr_buf_char(&text, '\0');
    jr_buf_printf(&text, "%zu", count);
    jr_buf_char(&text, '\0');
    add_strings(&text, child->argv);
    add_strings(&text, child->env);
    errno = ENOMEM;
    JR_CLOSE int fd = text.failed ? -1 : jr_memory_file("jobrun-request");
    if (fd < 0 || jr_io_write_all(fd, text.data, text.len) != 0 || lseek(fd, 0, SEEK_SET) != 0)
        return -1;
    return jr_steal_fd(&fd);
}

static int send_fds(int socket, const char *text, const int *fds, size_t count)
{
    union {
        char bytes[CMSG_SPACE(RANK_FDS * sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct iovec iov = {(void *)(uintptr_t)text, strlen(text)};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = CMSG_SPACE(count * sizeof(int))};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(head), fds, count * sizeof(int));
    return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -1 : 0;
}

/* Send the rank's descriptors with its request. A plain file, which the child side opens when it is
 * spawned, is opened here. Returns the stage at which that failed, with errno. */
static enum jr_stage send_rank_request(struct jr_helper *helper, const struct jr_starter *starter,
                                       const struct jr_child *child, uint32_t i)
{
    JR_CLOSE int request = write_request(child);
    int opened[2] = {-1, -1};
    int in = child->input == JR_INPUT_NONE ? JR_SLOT_NULL : JR_SLOT_IN;
    int fds[RANK_FDS] = {request, in};
    size_t count = 4;
    enum jr_stage stage = request < 0 ? JR_STAGE_FORK : JR_STAGE_NONE;
    for (int stream = 0; stream < 2 && stage == JR_STAGE_NONE; stream++) {
        const struct jr_child_stream *to = &child->streams[stream];
        if (to->path != NULL)
            opened[stream] = jr_start_log(starter, to);
        fds[2 + stream] = to->path != NULL ? opened[stream] : to->slot;
        if (fds[2 + stream] < 0)
            stage = stream == 0 ? JR_STAGE_STDOUT : JR_STAGE_STDERR;
    }
    if (child->extra)
        fds[count++] = JR_SLOT_EXTRA;
    if (child->line != 0)
        fds[count++] = JR_SLOT_LINE;
    char text[48];
    (void)snprintf(text, sizeof text, "rank %u %d", i, child->line);
    if (stage == JR_STAGE_NONE && send_fds(helper->socket.fd, text, fds, count) != 0)
        stage = JR_STAGE_FORK;
    int error = errno;
    for (int stream = 0; stream < 2; stream++)
        jr_close_fd(&opened[stream]);
    errno = error;
    return stage;
}

void jr_helper_start(struct jr_helper *helper, struct jr_starter *starter,
                     const struct jr_plan_rank *rank, uint32_t i, struct jr_started *ret)
{
    const struct jr_child *child = &starter->flights[0].child;
    int failed = jr_start_prepare(starter, 0, rank);
    *ret = starter->flights[0].started;
    if (failed == 0) {
        ret->stage = send_rank_request(helper, starter, child, i);
        if (ret->stage == JR_STAGE_NONE) {
            helper->batched++;
            helper->pending++;
        }
    }
    jr_start_settle(child, ret);
}

void jr_helper_fork(struct jr_helper *helper)
{
    if (helper->batched == 0 || helper->forking)
        return;
    helper->batched = 0;
    helper->forking = true;
    /* A helper that does not take it has ended, which will be noticed. */
    (void)send(helper->socket.fd, "go", 2, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void jr_helper_close(struct jr_helper *helper)
{
    helper->failed = true; /* what becomes of it is of no interest */
    helper->ready = false;
    jr_loop_close(&helper->socket);
}

void jr_helper_kill(struct jr_helper *helper)
{
    helper->failed = true;
    helper->ready = false;
    if (helper->process.fd >= 0)
        (void)jr_child_signal(helper->process.fd, helper->pid, SIGKILL);
}

void jr_helper_tidy(const struct jr_helper *helper)
{
    struct stat st;
    const char *name;
    if (helper->log[0] == '\0')
        return;
    JR_CLOSE int above = jr_open_above(JR_SLOT_DIR, helper->log, &name);
    if (above >= 0 && fstatat(above, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size == 0)
        (void)unlinkat(above, name, 0);
}
