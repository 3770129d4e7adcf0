#include "session/far_code.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/subprocess.h"
#include "cluster/controller.h"
#include "cluster/protocol.h"
#include "record/prune.h"
#include "session/session.h"

#include "base/banned.h"

#define ARCHIVE ".code.tar"

/* Wait for tar's end. -1 with `err`. */
static int await_tar(pid_t pid, const char *what, struct jr_error *err)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (status == 0)
        return 0;
    return jr_error_set(
        err, JR_STATUS_LAUNCH,
        "tar could not %s the code of the run (it %s %d)", what,
        WIFEXITED(status) ? "ended with exit code" : "was killed by signal",
        WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

static pid_t start_tar(const struct jr_session *session, char **argv,
                       const int fds[3], struct jr_error *err)
{
    const struct jr_subprocess tar = {.argv = argv,
                                      .envp = session->options.envp,
                                      .fds = fds,
                                      .session = true};
    pid_t pid = jr_subprocess_start(&tar);
    if (pid < 0)
        (void)jr_error_sys(err, JR_STATUS_LAUNCH,
                           "tar, by which code goes to other hosts");
    return pid;
}

int jr_far_code_open(void *data, struct jr_code_archive *ret,
                     struct jr_error *err)
{
    struct jr_session *session = data;
    const struct jr_frozen *frozen = &session->frozen;
    char pack[] = "tar", to[] = "-cf", out[] = "-", in[] = "-C", all[] = ".";
    char *copy = frozen->copy == NULL
                     ? NULL
                     : jr_arena_strdup(&session->arena, frozen->copy);
    char *argv[] = {pack, to, out, in, copy, all, NULL};
    if (copy == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "there is no copy of the code here");
    JR_CLOSE int fd = openat(session->dir.fd, ARCHIVE,
                             O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || unlinkat(session->dir.fd, ARCHIVE, 0) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "the run folder's " ARCHIVE);
    const int fds[3] = {-1, fd, STDERR_FILENO};
    pid_t pid = start_tar(session, argv, fds, err);
    if (pid < 0 || await_tar(pid, "pack", err) != 0)
        return -1;
    *ret =
        (struct jr_code_archive){jr_steal_fd(&fd), frozen->top, frozen->name};
    return 0;
}

bool jr_far_code_lacks(const struct jr_session *session)
{
    const struct jr_policy *policy = session->resolution.job.policy;
    return session->apart && policy->code.mode == JR_CODE_MODE_FREEZE &&
           session->code_top == NULL;
}

/* Of an agent before this one: ranks may have changed it since. Where there is
 * one aside for this attempt, no rank has had the other. */
static void set_older_code_aside(const struct jr_session *session)
{
    char name[40];
    struct jr_pruned pruned = {0};
    (void)snprintf(name, sizeof name, JR_CODE_DIR ".before_%u",
                   session->attempt);
    if (renameat(session->dir.fd, JR_CODE_DIR, session->dir.fd, name) != 0)
        (void)jr_prune_folder(&pruned, session->dir.fd, JR_CODE_DIR);
}

static int begin_unpacking(struct jr_session *session, struct jr_far_code *code,
                           struct jr_error *err)
{
    const struct jr_run_folder *dir = &session->dir;
    char unpack[] = "tar", from[] = "-xpf", in[] = "-", to[] = "-C";
    char *copy = jr_arena_printf(&session->arena, "%s/%s/" JR_CODE_DIR,
                                 session->resolution.job.log_dir, dir->path);
    char *argv[] = {unpack, from, in, to, copy, NULL};
    int ends[2];
    set_older_code_aside(session);
    if (copy == NULL || mkdirat(dir->fd, JR_CODE_DIR, dir->dir_mode) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "the run folder's %s/%s",
                            dir->path, JR_CODE_DIR);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "a pipe for tar");
    const int fds[3] = {ends[0], STDERR_FILENO, STDERR_FILENO};
    pid_t pid = start_tar(session, argv, fds, err);
    (void)close(ends[0]);
    code->fd = ends[1];
    code->pid = pid < 0 ? 0 : pid;
    return pid < 0 ? -1 : 0;
}

static int end_unpacking(struct jr_far_code *code, struct jr_error *err)
{
    pid_t pid = code->pid;
    code->pid = 0;
    (void)close(code->fd);
    code->fd = -1;
    return await_tar(pid, "unpack", err);
}

/* What it does not take, its exit code says. */
static int unpack_bytes(struct jr_far_code *code, const char *text,
                        struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf bytes = JR_BUF_INIT;
    if (text == NULL || code->pid == 0)
        return 0;
    if (!jr_base64_take(&bytes, text, strlen(text)) || bytes.failed)
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "the code of the run did not come as it was sent");
    return jr_io_write_all(code->fd, bytes.data, bytes.len) == 0
               ? 0
               : end_unpacking(code, err);
}

int jr_far_code_take(struct jr_session *session, struct jr_far_code *code,
                     const struct jr_message *message, struct jr_error *err)
{
    if (!code->begun && begin_unpacking(session, code, err) != 0)
        return -1;
    code->begun = true;
    if (unpack_bytes(code, message->bytes, err) != 0)
        return -1;
    if (!message->on)
        return 0;
    if (code->pid != 0 && end_unpacking(code, err) != 0)
        return -1;
    session->code_top = jr_arena_strdup(&session->arena, message->folder);
    session->code_name = jr_arena_strdup(&session->arena, message->name);
    return session->code_top != NULL && session->code_name != NULL
               ? 0
               : jr_error_set(err, JR_STATUS_LAUNCH,
                              "the controller did not say whose code it is");
}

void jr_far_code_close(struct jr_far_code *code)
{
    if (code->pid == 0)
        return;
    struct jr_error err = {0};
    (void)kill(code->pid, SIGKILL);
    (void)end_unpacking(code, &err);
}
