#include "session/sweep/own_cells.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "cluster/protocol.h"
#include "store/run_folder.h"

#include "base/banned.h"

#define LOCK       JR_OWN_CELLS_LOCK
#define NODE_BEGIN "node_" /* of JR_NODE_DIR */
#define WAIT_NS    (300 * UINT64_C(1000000000))
#define LOOK_MS    50 /* the kernel tells nobody that a lock is free */

/* Nobody can have it: the folder is new. Where the file system has no locks, nobody waits. */
static int take_lock(const struct jr_run_folder *dir)
{
    int fd = openat(dir->fd, LOCK, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, dir->file_mode);
    if (fd >= 0)
        (void)flock(fd, LOCK_EX | LOCK_NB);
    return fd;
}

/* Whether the controller is still there. */
static bool has_controller(int wait_ms)
{
    struct pollfd input = {.fd = STDIN_FILENO};
    (void)poll(&input, 1, wait_ms);
    return (input.revents & (POLLHUP | POLLERR)) == 0;
}

/* Standard error is the link's, whose lines the controller hands on. */
static void note_wait(bool *noted)
{
    struct utsname here = {0};
    char line[256];
    (void)uname(&here);
    int len = snprintf(line, sizeof line,
                       "waiting for cells that an earlier jobrun is still ending on %.64s\n",
                       here.nodename);
    if (!*noted)
        (void)!write(STDERR_FILENO, line, (size_t)len);
    *noted = true;
}

static void await_lock(int fd, uint64_t until_ns, bool *noted)
{
    while (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK && jr_clock_ns() < until_ns) {
        note_wait(noted);
        if (!has_controller(LOOK_MS))
            break;
    }
}

bool jr_own_cells_is(const char *name)
{
    size_t begin = sizeof NODE_BEGIN - 1;
    if (strncmp(name, NODE_BEGIN, begin) != 0)
        return false;
    size_t digits = strspn(name + begin, "0123456789");
    const char *dot = name + begin + digits;
    return digits > 0 && dot[0] == '.' && dot[1] != '\0';
}

/* Whether it is the folder of an agent that another jobrun had. */
static bool is_earlier(const char *name, const char *token)
{
    return jr_own_cells_is(name) && strcmp(strchr(name, '.') + 1, token) != 0;
}

static void await_earlier(int sweep_fd, const char *token)
{
    uint64_t until_ns = jr_clock_ns() + WAIT_NS;
    const struct dirent *entry;
    bool noted = false;
    int again = dup(sweep_fd);
    DIR *entries = again < 0 ? NULL : fdopendir(again);
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        char path[NAME_MAX + sizeof "/" LOCK];
        if (!is_earlier(entry->d_name, token))
            continue;
        (void)snprintf(path, sizeof path, "%s/" LOCK, entry->d_name);
        JR_CLOSE int fd = jr_open_beneath(sweep_fd, path, O_RDWR | O_NONBLOCK | O_CLOEXEC, 0);
        if (fd >= 0)
            await_lock(fd, until_ns, &noted);
    }
    if (entries != NULL)
        (void)closedir(entries);
}

/* Who may read what is in it, as the spec says. */
static enum jr_log_mode find_log_mode(const struct jr_message *share)
{
    return share->mode == JR_LOG_GROUP || share->mode == JR_LOG_UMASK
               ? (enum jr_log_mode)share->mode
               : JR_LOG_PRIVATE;
}

int jr_own_cells_make(struct jr_own_cells *ret, const struct jr_message *share, uint32_t node,
                      struct jr_error *err)
{
    struct jr_run_folder dir = JR_RUN_FOLDER_INIT;
    char name[64];
    const char *slash = strrchr(share->cells, '/');
    JR_FREE char *sweep =
        slash == NULL ? NULL : strndup(share->cells, (size_t)(slash - share->cells));
    (void)snprintf(name, sizeof name, JR_OWN_CELLS_NAME, node, share->token);
    if (sweep == NULL || asprintf(&ret->dir, "%s/%s", sweep, name) < 0) {
        ret->dir = NULL;
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    }
    int failed = jr_run_folder_create(&dir, sweep, name, true, find_log_mode(share), err);
    if (failed == 0) {
        ret->lock_fd = take_lock(&dir);
        await_earlier(dir.log_fd, share->token);
    }
    jr_run_folder_close(&dir);
    return failed;
}

/* Where no cell has run, nothing is left of it. */
static void remove_unused(const char *dir)
{
    JR_BUF_CLEANUP struct jr_buf lock = JR_BUF_INIT;
    jr_buf_printf(&lock, "%s/" LOCK, dir);
    if (!lock.failed && unlink(lock.data) == 0)
        (void)rmdir(dir);
}

void jr_own_cells_release(struct jr_own_cells *own)
{
    if (own->dir != NULL)
        remove_unused(own->dir);
    free(own->dir);
    if (own->lock_fd > 0)
        (void)close(own->lock_fd);
    *own = (struct jr_own_cells){0};
}
