#include "run/companion.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/pidfd.h"
#include "run/internal.h"

#include "base/banned.h"

/* The draft of the results: it is there from the run's begin to its end. */
#define HELD ".results.json"

/* PIDFD_GET_INFO of Linux 6.13, with what became of a process that was reaped from 6.15 on
 * (linux/pidfd.h). */
struct pidfd_info {
    uint64_t mask, cgroup;
    uint32_t pid, tgid, ppid, ids[8];
    int32_t exit_code; /* as wait(2) has it */
};

enum { LEAVE_MS = 1000 }; /* between the end of its descriptors and its own */

#define GET_INFO  _IOWR(0xFF, 11, struct pidfd_info)
#define INFO_EXIT (UINT64_C(1) << 3)

void jr_companion_release(struct jr_companion *companion)
{
    if (companion->pid == 0)
        return;
    (void)jr_child_signal(companion->fd, companion->pid, SIGKILL);
    while (waitpid(companion->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    jr_close_fd(&companion->fd);
    jr_close_fd(&companion->life_fd);
    companion->pid = 0;
}

bool *jr_companion_share(void)
{
    bool *word =
        mmap(NULL, sizeof *word, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return word == MAP_FAILED ? NULL : word;
}

void jr_companion_close(struct jr_companion *companion)
{
    jr_companion_release(companion);
    if (companion->written != NULL)
        (void)munmap(companion->written, sizeof *companion->written);
    companion->written = NULL;
}

/* FNV-1a, which is no secret's. */
uint64_t jr_companion_key(const char *boot_id, int64_t pid, uint64_t ticks)
{
    uint64_t key = UINT64_C(0xcbf29ce484222325);
    const uint64_t numbers[] = {(uint64_t)pid, ticks};
    const uint64_t prime = UINT64_C(0x100000001b3);
    for (; boot_id != NULL && *boot_id != '\0'; boot_id++)
        key = (key ^ (unsigned char)*boot_id) * prime;
    for (int i = 0; i < 128; i += 8)
        key = (key ^ (numbers[i / 64] >> i % 64 & 0xff)) * prime;
    return key;
}

/* One byte of the file, which need not be there: the guard's. */
static struct flock make_guard_lock(uint64_t key)
{
    return (struct flock){
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)(key >> 2), .l_len = 1};
}

/* A lock of fcntl(2) ends with its process and is no child's. It would end with any descriptor of
 * the file, too: there is one, where no start moves it. */
void jr_companion_hold(int run_fd, uint64_t key)
{
    struct flock lock = make_guard_lock(key);
    int fd = openat(run_fd, HELD, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    int kept = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, JR_SLOT_END);
    if (fd >= 0)
        (void)close(fd);
    if (kept >= 0)
        (void)fcntl(kept, F_SETLK, &lock);
}

pid_t jr_companion_of(int run_fd, uint64_t key)
{
    struct flock lock = make_guard_lock(key);
    JR_CLOSE int fd = openat(run_fd, HELD, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK)
        return 0;
    return lock.l_pid > 0 ? lock.l_pid : -1;
}

static bool read_info(int pidfd, int *ret_status)
{
    struct pidfd_info info = {.mask = INFO_EXIT};
    if (ioctl(pidfd, GET_INFO, &info) != 0 || (info.mask & INFO_EXIT) == 0)
        return false;
    *ret_status = info.exit_code;
    return true;
}

/* For one that is not reaped yet: the last field of its stat. *ret_state is 0 where it is not
 * there. */
static bool read_zombie(pid_t pid, int proc_fd, int *ret_status, char *ret_state)
{
    char path[64], text[1024], state;
    *ret_state = 0;
    (void)snprintf(path, sizeof path, "%d/stat", (int)pid);
    JR_CLOSE int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (len <= 0)
        return false;
    text[len] = '\0';
    const char *end = strrchr(text, ')'), *last = strrchr(text, ' ');
    if (end == NULL || last < end || sscanf(end, ") %c", &state) != 1)
        return false;
    *ret_state = state;
    if (state != 'Z')
        return false;
    return sscanf(last, " %d", ret_status) == 1 && *ret_status != 0;
}

int jr_companion_signal(int pidfd, pid_t pid, int proc_fd)
{
    int status = 0;
    char state;
    JR_CLOSE int proc = proc_fd >= 0 ? -1 : open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int at = proc_fd >= 0 ? proc_fd : proc;
    bool known = read_info(pidfd, &status) || read_zombie(pid, at, &status, &state) ||
                 read_info(pidfd, &status); /* reaped meanwhile */
    /* What was a pipe told of the end of its descriptors. */
    for (int i = 0; i < LEAVE_MS && !known && state != 0 && state != 'Z'; i++) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        known = read_zombie(pid, at, &status, &state);
    }
    return known && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

_Noreturn void jr_companion_end(struct jr_runner *runner, int done_fd)
{
    const struct jr_companion *companion = runner->options->companion;
    struct jr_outcome *outcome = runner->outcome;
    struct pollfd end = {.fd = runner->guard.fd, .events = POLLIN};
    /* What does not end is the guard's as soon as we have. */
    if (companion == NULL || (!runner->guard_lost && outcome->left > 0))
        _exit(0);
    if (!runner->guard_lost) {
        /* No wake-up until the guard ends; it ends us otherwise. */
        (void)eventfd_write(done_fd, 1);
        while (poll(&end, 1, -1) < 0 && errno == EINTR)
            continue;
    }
    outcome->guard_pid = runner->shared->guard;
    outcome->guard_signal =
        jr_companion_signal(runner->guard.fd, outcome->guard_pid, runner->proc_fd);
    companion->complete(companion->data, outcome, JR_SLOT_DIR);
    _exit(0);
}
