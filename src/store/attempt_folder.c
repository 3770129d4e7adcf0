#include "store/attempt_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "base/banned.h"

#define NODE_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* Make a folder in one of the run's; -1 with errno. */
static int make_run_subfolder(const struct jr_run_folder *dir, int at, const char *name)
{
    mode_t mask = umask(0);
    int failed = mkdirat(at, name, dir->dir_mode);
    int error = errno;
    (void)umask(mask);
    errno = error;
    return failed;
}

/* Something already exists there, so this attempt may not write to it. */
static int refuse_folder(const char *path, struct jr_error *err)
{
    if (errno != EEXIST)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "the run folder's %s", path);
    return jr_error_set(err, JR_STATUS_LAUNCH,
                        "the run folder already has %s, which this attempt was to write: "
                        "jobrun did not create it, but a rank of an earlier attempt may have",
                        path);
}

/* The node's folder, which an earlier attempt may have made: never a link. */
static int enter_node(const struct jr_run_folder *dir, const char *path, struct jr_error *err)
{
    struct stat st;
    if (make_run_subfolder(dir, dir->fd, path) != 0 && errno != EEXIST)
        return refuse_folder(path, err);
    JR_CLOSE int fd = openat(dir->fd, path, NODE_FLAGS);
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid())
        return jr_steal_fd(&fd);
    errno = EEXIST;
    return refuse_folder(path, err);
}

int jr_attempt_folder_make_part(const struct jr_run_folder *dir, uint32_t node, uint32_t attempt,
                                struct jr_error *err)
{
    char path[64];
    (void)snprintf(path, sizeof path, JR_NODE_DIR, node);
    JR_CLOSE int fd = enter_node(dir, path, err);
    if (fd < 0)
        return -1;
    (void)snprintf(path, sizeof path, JR_NODE_DIR "/attempt_%u", node, attempt);
    return make_run_subfolder(dir, fd, strchr(path, '/') + 1) == 0 ? 0 : refuse_folder(path, err);
}

int jr_attempt_folder_make(const struct jr_run_folder *dir, uint32_t attempt, struct jr_error *err)
{
    char path[64];
    if (dir->claimed == attempt + 1)
        return 0;
    (void)snprintf(path, sizeof path, "attempt_%u", attempt);
    return make_run_subfolder(dir, dir->fd, path) == 0 ? 0 : refuse_folder(path, err);
}

int jr_attempt_folder_claim(struct jr_run_folder *dir, uint32_t attempt, struct jr_error *err)
{
    char path[64];
    (void)snprintf(path, sizeof path, "attempt_%u", attempt);
    if (make_run_subfolder(dir, dir->fd, path) == 0) {
        dir->claimed = attempt + 1;
        return 0;
    }
    return errno == EEXIST ? 1 : refuse_folder(path, err);
}
