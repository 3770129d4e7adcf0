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
#include "session/submission.h"

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
    return jr_error_set(err, JR_STATUS_LAUNCH, "tar could not %s the code of the run (it %s %d)",
                        what, WIFEXITED(status) ? "ended with exit code" : "was killed by signal",
                        WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

static pid_t start_tar(const struct jr_session *session, char **argv, const int fds[3],
                       struct jr_error *err)
{
    const struct jr_subprocess tar = {
        .argv = argv, .envp = session->options.envp, .fds = fds, .session = true};
    pid_t pid = jr_subprocess_start(&tar);
    if (pid < 0)
        (void)jr_error_sys(err, JR_STATUS_LAUNCH, "tar, by which code goes to other hosts");
    return pid;
}

/* A file without a name that has all of a folder, with times as exact as they are: by them a file
 * is known to be the one that was frozen. */
static int pack_folder(int *ret_fd, struct jr_session *session, const char *folder,
                       struct jr_error *err)
{
    char pack[] = "tar", exact[] = "--format=posix", to[] = "-cf", out[] = "-", in[] = "-C",
         all[] = ".";
    char *from = jr_arena_strdup(&session->arena, folder);
    char *argv[] = {pack, exact, to, out, in, from, all, NULL};
    JR_CLOSE int fd = openat(session->dir.fd, ARCHIVE, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (from == NULL || fd < 0 || unlinkat(session->dir.fd, ARCHIVE, 0) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "the run folder's " ARCHIVE);
    const int fds[3] = {-1, fd, STDERR_FILENO};
    pid_t pid = start_tar(session, argv, fds, err);
    if (pid < 0 || await_tar(pid, "pack", err) != 0)
        return -1;
    *ret_fd = jr_steal_fd(&fd);
    return 0;
}

/* Of all cells of a sweep: with the record of the code, and as it is now. */
static int open_cells_code(struct jr_session *first, struct jr_code_archive *ret,
                           struct jr_error *err)
{
    const struct jr_frozen *frozen = &first->frozen;
    const char *folder;
    int fd;
    if (jr_submission_make_cells(first, &folder, err) != JR_STATUS_OK)
        return -1;
    int failed = pack_folder(&fd, first, folder, err);
    jr_submission_discard(first);
    if (failed == 0)
        *ret = (struct jr_code_archive){fd, frozen->top, frozen->name};
    return failed;
}

int jr_far_code_open(void *data, struct jr_code_archive *ret, struct jr_error *err)
{
    struct jr_session *session = data;
    const struct jr_frozen *frozen = &session->frozen;
    int fd;
    if (session->first_cell != NULL)
        return open_cells_code(session->first_cell, ret, err);
    if (frozen->copy == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "there is no copy of the code here");
    if (pack_folder(&fd, session, frozen->copy, err) != 0)
        return -1;
    *ret = (struct jr_code_archive){fd, frozen->top, frozen->name};
    return 0;
}

bool jr_far_code_lacks(const struct jr_session *session)
{
    const struct jr_policy *policy = session->resolution.job.policy;
    return session->apart && policy->code.mode == JR_CODE_MODE_FREEZE && session->code_top == NULL;
}

/* Of an agent before this one: ranks may have changed it since. Where there is one aside for this
 * attempt, no rank has had the other. */
static void set_older_code_aside(const struct jr_session *session)
{
    char name[40];
    struct jr_pruned pruned = {0};
    (void)snprintf(name, sizeof name, JR_CODE_DIR ".before_%u", session->attempt);
    if (renameat(session->dir.fd, JR_CODE_DIR, session->dir.fd, name) != 0)
        (void)jr_prune_folder(&pruned, session->dir.fd, JR_CODE_DIR);
}

/* In a folder that is there. */
static int begin_unpacking(struct jr_session *session, struct jr_far_code *code, const char *folder,
                           struct jr_error *err)
{
    char unpack[] = "tar", from[] = "-xpf", in[] = "-", to[] = "-C";
    char *copy = jr_arena_strdup(&session->arena, folder);
    char *argv[] = {unpack, from, in, to, copy, NULL};
    int ends[2];
    if (copy == NULL || pipe2(ends, O_CLOEXEC) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "a pipe for tar");
    const int fds[3] = {ends[0], STDERR_FILENO, STDERR_FILENO};
    pid_t pid = start_tar(session, argv, fds, err);
    (void)close(ends[0]);
    code->fd = ends[1];
    code->pid = pid < 0 ? 0 : pid;
    return pid < 0 ? -1 : 0;
}

static int make_copy(struct jr_session *session, struct jr_far_code *code, struct jr_error *err)
{
    const struct jr_run_folder *dir = &session->dir;
    const char *copy = jr_arena_printf(&session->arena, "%s/%s/" JR_CODE_DIR,
                                       session->resolution.job.log_dir, dir->path);
    set_older_code_aside(session);
    if (copy == NULL || mkdirat(dir->fd, JR_CODE_DIR, dir->dir_mode) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "the run folder's %s/%s", dir->path,
                            JR_CODE_DIR);
    return begin_unpacking(session, code, copy, err);
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
static int unpack_bytes(struct jr_far_code *code, const char *text, struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf bytes = JR_BUF_INIT;
    if (text == NULL || code->pid == 0)
        return 0;
    if (!jr_base64_take(&bytes, text, strlen(text)) || bytes.failed)
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "the code of the run did not come as it was sent");
    return jr_io_write_all(code->fd, bytes.data, bytes.len) == 0 ? 0 : end_unpacking(code, err);
}

/* The bytes of a message, and with the last one the end. */
static int take_code_bytes(struct jr_far_code *code, const struct jr_message *message,
                           struct jr_error *err)
{
    code->begun = true;
    if (unpack_bytes(code, message->bytes, err) != 0)
        return -1;
    return message->on && code->pid != 0 ? end_unpacking(code, err) : 0;
}

int jr_far_code_take(struct jr_session *session, struct jr_far_code *code,
                     const struct jr_message *message, struct jr_error *err)
{
    if ((!code->begun && make_copy(session, code, err) != 0) ||
        take_code_bytes(code, message, err) != 0)
        return -1;
    if (!message->on)
        return 0;
    session->code_top = jr_arena_strdup(&session->arena, message->folder);
    session->code_name = jr_arena_strdup(&session->arena, message->name);
    return session->code_top != NULL && session->code_name != NULL
               ? 0
               : jr_error_set(err, JR_STATUS_LAUNCH, "the controller did not say whose code it is");
}

int jr_far_code_take_cells(struct jr_session *session, struct jr_far_code *code, const char *folder,
                           const struct jr_message *message, struct jr_error *err)
{
    if (!code->begun && mkdir(folder, S_IRWXU) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "%s", folder);
    if (!code->begun && begin_unpacking(session, code, folder, err) != 0)
        return -1;
    return take_code_bytes(code, message, err);
}

void jr_far_code_close(struct jr_far_code *code)
{
    if (code->pid == 0)
        return;
    struct jr_error err = {0};
    (void)kill(code->pid, SIGKILL);
    (void)end_unpacking(code, &err);
}
