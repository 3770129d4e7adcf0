#include "spawn/cgroup_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/num.h"
#include "base/proc.h"

#include "base/banned.h"

#define CGROUP2_MAGIC 0x63677270 /* statfs(2) */
#define MOST_DEPTH    16         /* of groups that ranks made */
#define MS            UINT64_C(1000000)
#define FOLDER        (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static bool is_there(const struct jr_group *group)
{
    return group->path[0] != '\0';
}

/* Write to a control file of the group. Returns 0, or -1 with errno. */
static int write_group_control(const char *group, const char *file, const char *text)
{
    char path[PATH_MAX + 32];
    (void)snprintf(path, sizeof path, "%s/%s", group, file);
    JR_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -1;
    return jr_io_write_all(fd, text, strlen(text));
}

/* The group that we are in, by a mount that shows it. */
static bool find_home(char ret[static PATH_MAX])
{
    JR_BUF_CLEANUP struct jr_buf groups = JR_BUF_INIT;
    JR_BUF_CLEANUP struct jr_buf mounts = JR_BUF_INIT;
    if (!jr_io_fact(&groups, "", "/proc/self/cgroup") ||
        !jr_io_fact(&mounts, "", "/proc/self/mountinfo"))
        return false;
    struct jr_cgroup_hierarchy place = jr_cgroup_hierarchy_find(groups.data, mounts.data, NULL);
    if (place.point == NULL || !place.shown)
        return false;
    int len = snprintf(ret, PATH_MAX, "%s%s", place.point, place.leaf);
    return len < PATH_MAX;
}

/* Hold the group's folder as our own; -1 where somebody else does. */
static int lock_group(int at, const char *name)
{
    struct stat st;
    JR_CLOSE int fd = openat(at, name, FOLDER);
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_uid != geteuid() ||
        flock(fd, LOCK_EX | LOCK_NB) != 0)
        return -1;
    return jr_steal_fd(&fd);
}

/* The groups below, then the group; depth first, for a group with others below it cannot be
 * removed. */
static void remove_tree(int at, const char *name, int depth)
{
    int fd = openat(at, name, FOLDER);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        if (fd >= 0)
            (void)close(fd);
        return;
    }
    const struct dirent *entry;
    while (depth < MOST_DEPTH && (entry = readdir(dir)) != NULL)
        if (entry->d_type == DT_DIR && strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0)
            remove_tree(fd, entry->d_name, depth + 1);
    (void)closedir(dir);
    (void)unlinkat(at, name, AT_REMOVEDIR);
}

/* The groups of jobruns that were killed before anything ran in them, or after that: no record may
 * name them. A group with processes stays. */
static void remove_abandoned(const char *home)
{
    JR_CLOSEDIR DIR *dir = opendir(home);
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (entry->d_type != DT_DIR ||
            strncmp(entry->d_name, JR_GROUP_PREFIX, sizeof JR_GROUP_PREFIX - 1) != 0)
            continue;
        JR_CLOSE int lock = lock_group(dirfd(dir), entry->d_name);
        if (lock >= 0)
            remove_tree(dirfd(dir), entry->d_name, 0);
    }
}

/* If another jobrun considers it abandoned before we hold it, it is created again. */
static bool make_own_group(struct jr_group *group)
{
    char kill[PATH_MAX + 32];
    (void)snprintf(kill, sizeof kill, "%s/cgroup.kill", group->path);
    for (int tries = 2; tries > 0; tries--) {
        if (mkdir(group->path, 0755) != 0)
            return false;
        group->lock_fd = lock_group(AT_FDCWD, group->path);
        /* Killing at one stroke came with Linux 5.14. */
        if (group->lock_fd >= 0 && access(kill, W_OK) == 0)
            return true;
        jr_close_fd(&group->lock_fd);
        (void)rmdir(group->path);
    }
    return false;
}

void jr_group_find_home(char ret[static PATH_MAX])
{
    if (find_home(ret))
        remove_abandoned(ret);
    else
        ret[0] = '\0';
}

void jr_group_make(struct jr_group *ret, const char *id)
{
    char home[PATH_MAX];
    jr_group_find_home(home);
    jr_group_make_in(ret, home, id);
}

void jr_group_make_in(struct jr_group *ret, const char *home, const char *id)
{
    *ret = (struct jr_group){.lock_fd = -1};
    if (home[0] == '\0')
        return;
    (void)snprintf(ret->home, sizeof ret->home, "%s", home);
    /* Runs in different log folders may have the same id. */
    int len = snprintf(ret->path, sizeof ret->path, "%s/%s%s.%d", ret->home, JR_GROUP_PREFIX, id,
                       getpid());
    if ((size_t)len >= sizeof ret->path || !make_own_group(ret))
        ret->path[0] = '\0';
}

pid_t jr_group_fork(const struct jr_group *group)
{
    if (group == NULL || !is_there(group))
        return fork();
    JR_CLOSE int fd = open(group->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct clone_args args = {
        .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)(unsigned)fd};
    /* Like fork, except that the C library is not informed: what it knows about the caller's
     * threads is of no use to a process with one thread. */
    pid_t child = fd < 0 ? -1 : (pid_t)syscall(SYS_clone3, &args, sizeof args);
    if (child >= 0)
        return child;
    child = fork(); /* a container may refuse clone3 */
    if (child == 0)
        (void)jr_group_enter(group);
    return child;
}

int jr_group_enter(const struct jr_group *group)
{
    return is_there(group) ? write_group_control(group->path, "cgroup.procs", "0") : 0;
}

int jr_group_leave(const struct jr_group *group)
{
    return is_there(group) ? write_group_control(group->home, "cgroup.procs", "0") : 0;
}

void jr_group_kill(const struct jr_group *group)
{
    if (is_there(group))
        (void)write_group_control(group->path, "cgroup.kill", "1");
}

void jr_group_remove(const struct jr_group *group)
{
    if (!is_there(group))
        return;
    if (rmdir(group->path) != 0)
        remove_tree(AT_FDCWD, group->path, 0);
    (void)close(group->lock_fd);
}

bool jr_group_is_of(const char *path, const char *id)
{
    struct statfs fs;
    struct stat st;
    char name[NAME_MAX + 1];
    const char *slash = strrchr(path, '/');
    int len = snprintf(name, sizeof name, "%s%s.", JR_GROUP_PREFIX, id);
    if (path[0] != '/' || strstr(path, "/../") != NULL || len <= 0 || (size_t)len >= sizeof name ||
        strncmp(slash + 1, name, (size_t)len) != 0)
        return false;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
           statfs(path, &fs) == 0 && fs.f_type == CGROUP2_MAGIC;
}

bool jr_group_may_be_led(const char *path)
{
    char file[PATH_MAX + 32];
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    (void)snprintf(file, sizeof file, "%s/cgroup.procs", path);
    if (!jr_io_fact(&text, "", file))
        return true;
    for (char *at = text.data, *line; (line = strsep(&at, "\n")) != NULL;) {
        struct jr_proc proc;
        uint32_t pid;
        if (!jr_num_u32(line, &pid))
            continue;
        if (pid == 0 || (jr_proc_of(&proc, pid) && strcmp(proc.name, JR_RUNNER_NAME) == 0))
            return true;
    }
    return false;
}

/* The kernel reports changes of cgroup.events by POLLPRI. It says "populated 1" of a group that has
 * processes here, or in a group below. */
static bool await_empty_group(const char *group, uint64_t limit_ns)
{
    char path[PATH_MAX + 32];
    (void)snprintf(path, sizeof path, "%s/cgroup.events", group);
    JR_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct pollfd events = {.fd = fd, .events = POLLPRI};
    uint64_t until = jr_clock_ns() + limit_ns, now;
    for (;;) {
        char text[128];
        ssize_t len = fd < 0 ? -1 : pread(fd, text, sizeof text, 0);
        if (len <= 0 || memmem(text, (size_t)len, "populated 1", 11) == NULL)
            return true;
        now = jr_clock_ns();
        if (now >= until)
            return false;
        (void)poll(&events, 1, (int)((until - now) / MS) + 1);
    }
}

uint32_t jr_group_clear(const char *path, uint64_t limit_ns, bool *ret_left)
{
    char file[PATH_MAX + 32];
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    uint32_t count = 0; /* of the group itself, not of those that ranks made below */
    (void)snprintf(file, sizeof file, "%s/cgroup.procs", path);
    if (jr_io_fact(&text, "", file) && text.len > 0)
        count = 1; /* the last newline is not in the text */
    for (const char *at = text.data; count > 0 && (at = strchr(at, '\n')) != NULL; at++)
        count++;
    (void)write_group_control(path, "cgroup.kill", "1");
    *ret_left = !await_empty_group(path, limit_ns);
    remove_tree(AT_FDCWD, path, 0);
    return count;
}
