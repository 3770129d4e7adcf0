#include "base/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/num.h"
#include "base/pidfd.h"
#include "base/strv.h"
#include "base/syscalls.h"

#include "base/banned.h"

/* PF_EXITING and PF_SIGNALED, whose values the kernel has never changed. A signal that is fatal to
 * a process is pending as SIGKILL in each of its threads until the thread has noticed it. */
enum { EXITING = 0x4, SIGNALED = 0x400, KILL_PENDING = 1 << (SIGKILL - 1) };

/* The fields after the name are counted from its last parenthesis, because the name may contain
 * anything. */
static bool parse_proc_stat(struct jr_proc *proc, const char *text)
{
    uint64_t user = 0, system = 0, pages = 0;
    const char *name = strchr(text, '('), *end = strrchr(text, ')');
    if (name == NULL || end == NULL || end < name || sscanf(text, "%d", &proc->pid) != 1)
        return false;
    if (sscanf(end,
               ") %c %d %*s %d %*s %*s %" SCNu32 " %*s %*s %*s %*s %" SCNu64 " %" SCNu64
               " %*s %*s %*s %*s %" SCNu32 " %*s %" SCNu64 " %*s %" SCNu64
               " %*s %*s %*s %*s %*s %*s %" SCNu32,
               &proc->state, &proc->parent, &proc->session, &proc->flags, &user, &system,
               &proc->threads, &proc->start_ticks, &pages, &proc->pending) < 9)
        return false;
    size_t len = (size_t)(end - name) - 1;
    if (len >= sizeof proc->name)
        len = sizeof proc->name - 1;
    memcpy(proc->name, name + 1, len);
    proc->name[len] = '\0';
    proc->cpu_ns = (user + system) * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
    proc->rss_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return true;
}

/* The beginning of a file of /proc, which the kernel gives at once; `at` as in openat(2). False:
 * there is nothing. */
static bool read_proc_text(int at, const char *path, char *ret, size_t size)
{
    JR_CLOSE int fd = openat(at, path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, ret, size - 1);
    if (len <= 0)
        return false;
    ret[len] = '\0';
    return true;
}

bool jr_proc_read(struct jr_proc *ret, const char *path)
{
    char text[1024];
    struct jr_proc proc = {0};
    if (!read_proc_text(AT_FDCWD, path, text, sizeof text) || !parse_proc_stat(&proc, text))
        return false;
    *ret = proc;
    return true;
}

bool jr_proc_is_exiting(const struct jr_proc *proc)
{
    return (proc->flags & (EXITING | SIGNALED)) != 0 || (proc->pending & KILL_PENDING) != 0;
}

bool jr_proc_of(struct jr_proc *ret, int64_t pid)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    return jr_proc_read(ret, path);
}

bool jr_proc_variable(pid_t pid, const char *name, char *ret, size_t size)
{
    char path[32];
    char *line JR_FREE = NULL;
    size_t room = 0, len = strlen(name);
    ssize_t got;
    bool found = false;
    (void)snprintf(path, sizeof path, "/proc/%d/environ", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    while (!found && (got = getdelim(&line, &room, '\0', file)) > 0)
        found = strncmp(line, name, len) == 0 && line[len] == '=';
    (void)fclose(file);
    if (!found || strlen(line) - len > size)
        return false;
    (void)stpcpy(ret, line + len + 1);
    return true;
}

bool jr_proc_ignores(pid_t pid, int sig)
{
    char path[32], text[16384];
    uint64_t ignored = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/status", pid);
    if (!read_proc_text(AT_FDCWD, path, text, sizeof text))
        return false;
    const char *line = strstr(text, "\nSigIgn:");
    return line != NULL && sscanf(line, "\nSigIgn: %" SCNx64, &ignored) == 1 &&
           (ignored >> (sig - 1) & 1) != 0;
}

pid_t jr_proc_number(int proc_fd, int pidfd)
{
    char path[64], text[512];
    (void)snprintf(path, sizeof path, "%sself/fdinfo/%d", proc_fd == AT_FDCWD ? "/proc/" : "",
                   pidfd);
    int number = 0;
    if (!read_proc_text(proc_fd, path, text, sizeof text))
        return 0;
    const char *line = strstr(text, "\nPid:");
    if (line == NULL || sscanf(line, "\nPid: %d", &number) != 1)
        return 0;
    return number > 0 ? number : 0;
}

/* The number of a process, PID in the /proc at `proc_fd`, in the innermost of its PID namespaces,
 * which are *ret_depth; 0: it is not there. */
static pid_t innermost_number(int proc_fd, const char *pid, int *ret_depth)
{
    char path[64], text[4096];
    (void)snprintf(path, sizeof path, "%s%s/status", proc_fd == AT_FDCWD ? "/proc/" : "", pid);
    int number = 0;
    *ret_depth = 0;
    if (!read_proc_text(proc_fd, path, text, sizeof text))
        return 0;
    char *at = strstr(text, "\nNSpid:"), *end = at;
    for (at = at == NULL ? NULL : at + 7; at != NULL && *at != '\n'; at = end) {
        number = (int)strtol(at, &end, 10);
        if (end == at)
            break;
        (*ret_depth)++;
    }
    return number;
}

pid_t jr_proc_child_number(int proc_fd, pid_t pid)
{
    char path[] = "thread-self/children";
    int child, depth;
    JR_CLOSE int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
    FILE *list = fd < 0 ? NULL : fdopen(fd, "r");
    pid_t found = 0;
    if (list == NULL)
        return 0;
    (void)jr_steal_fd(&fd);
    while (found == 0 && fscanf(list, "%d", &child) == 1) {
        char name[16];
        (void)snprintf(name, sizeof name, "%d", child);
        if (innermost_number(proc_fd, name, &depth) == pid)
            found = child;
    }
    (void)fclose(list);
    return found;
}

/* By what each process says of its own numbers, where /proc is that of an outer namespace. It is
 * one of ours if its namespaces are as many as our own, and one of them is the same. */
static pid_t search_own_number(pid_t pid)
{
    int own = 0, depth = 0;
    pid_t self = innermost_number(AT_FDCWD, "self", &own);
    JR_CLOSEDIR DIR *proc = self != getpid() ? NULL : opendir("/proc");
    const struct dirent *entry;
    uint32_t number, found = 0;
    while (proc != NULL && found == 0 && (entry = readdir(proc)) != NULL) {
        struct stat st;
        char path[NAME_MAX + 32];
        if (!jr_num_u32(entry->d_name, &number) ||
            innermost_number(AT_FDCWD, entry->d_name, &depth) != pid || depth != own)
            continue;
        (void)snprintf(path, sizeof path, "/proc/%s/ns/pid", entry->d_name);
        if (stat(path, &st) == 0 && st.st_ino == jr_proc_namespace())
            found = number;
    }
    return (pid_t)found;
}

bool jr_proc_is_ours(void)
{
    char self[32] = "";
    uint32_t number;
    return readlink("/proc/self", self, sizeof self - 1) > 0 && jr_num_u32(self, &number) &&
           (pid_t)number == getpid();
}

bool jr_proc_own(struct jr_proc *ret, pid_t pid)
{
    JR_CLOSE int pidfd = pid > 0 ? jr_pidfd_open(pid) : -1;
    pid_t number = pidfd < 0 ? 0 : jr_proc_number(AT_FDCWD, pidfd);
    if (pid > 0 && pidfd < 0 && jr_call_is_missing(errno))
        number = jr_proc_is_ours() ? pid : search_own_number(pid);
    return number > 0 && jr_proc_of(ret, number);
}

uint64_t jr_proc_namespace(void)
{
    struct stat st;
    return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

static int compare_parents(const void *a, const void *b)
{
    const struct jr_proc *x = a, *y = b;
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

struct jr_proc *jr_proc_all(size_t *ret_count)
{
    size_t count = 0, cap = 256;
    JR_CLOSEDIR DIR *proc = opendir("/proc");
    struct jr_proc *all = proc == NULL ? NULL : calloc(cap, sizeof *all);
    const struct dirent *entry;
    uint32_t pid;
    while (all != NULL && (entry = readdir(proc)) != NULL) {
        if (!jr_num_u32(entry->d_name, &pid) || !jr_proc_of(&all[count], pid))
            continue;
        if (++count < cap)
            continue;
        cap *= 2;
        struct jr_proc *grown = reallocarray(all, cap, sizeof *all);
        if (grown == NULL)
            free(all);
        all = grown;
    }
    if (all != NULL)
        qsort(all, count, sizeof *all, compare_parents);
    *ret_count = count;
    return all;
}

size_t jr_proc_family(const struct jr_proc *all, size_t count, pid_t pid, size_t *ret, size_t most)
{
    size_t found = 0;
    for (size_t i = 0; i < count && found == 0 && most > 0; i++)
        if (all[i].pid == pid)
            ret[found++] = i;
    for (size_t next = 0; next < found; next++) {
        pid_t parent = all[ret[next]].pid;
        size_t low = 0, high = count; /* the first whose parent is not below it */
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (all[middle].parent < parent)
                low = middle + 1;
            else
                high = middle;
        }
        for (; low < count && all[low].parent == parent && found < most; low++)
            ret[found++] = low;
    }
    return found;
}

/* The process's group by /proc/self/cgroup, whose lines are ID:LIST:PATH. A
 * controller that no version 1 hierarchy has is the unified one's, "0::PATH".
 */
static const char *own_group(char *text, const char *controller, bool *ret_v2)
{
    const char *unified = NULL;
    for (char *line = strsep(&text, "\n"); line; line = strsep(&text, "\n")) {
        const char *id = strsep(&line, ":");
        const char *list = strsep(&line, ":");
        if (line == NULL)
            continue;
        *ret_v2 = strcmp(id, "0") == 0 && list[0] == '\0';
        if (*ret_v2)
            unified = line;
        else if (controller != NULL && jr_words_have(list, ',', controller, strlen(controller)))
            return line;
    }
    *ret_v2 = true;
    return unified;
}

/* The kernel writes blanks, newlines and backslashes of paths as \ooo. */
static void unescape_mount_path(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; to++) {
        if (from[0] == '\\' && strspn(from + 1, "01234567") >= 3) {
            *to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

/* What remains of the group's path below the mount's root, "" for the root itself; NULL when the
 * mount does not show it, as from another namespace. */
static const char *group_below_mount(const char *root, const char *group)
{
    size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (strncmp(group, "/..", 3) == 0 || strncmp(group, root, len) != 0)
        return NULL;
    if (strcmp(group + len, "/") == 0)
        return "";
    return group[len] == '/' || group[len] == '\0' ? group + len : NULL;
}

/* Where the controller's hierarchy is mounted so that it shows the group, and the group below it;
 * failing that, a mount that shows other ones. The lines of mountinfo are ID PARENT DEVICE ROOT
 * POINT ... - TYPE SOURCE OPTIONS; ROOT is the group that is shown at POINT. */
static void find_mount(struct jr_cgroup_hierarchy *found, char *mounts, const char *controller,
                       const char *group)
{
    for (char *line; !found->shown && (line = strsep(&mounts, "\n")) != NULL;) {
        char *tail = strstr(line, " - ");
        if (tail == NULL)
            continue;
        *tail = '\0';
        tail += strlen(" - ");
        for (int i = 0; i < 3; i++)
            (void)strsep(&line, " ");
        char *root = strsep(&line, " "), *point = strsep(&line, " ");
        const char *type = strsep(&tail, " ");
        (void)strsep(&tail, " ");
        if (point == NULL || tail == NULL ||
            strcmp(type, controller == NULL ? "cgroup2" : "cgroup") != 0 ||
            (controller != NULL && !jr_words_have(tail, ',', controller, strlen(controller))))
            continue;
        unescape_mount_path(root);
        unescape_mount_path(point);
        const char *leaf = group_below_mount(root, group);
        if (leaf != NULL || found->point == NULL) {
            found->point = point;
            found->leaf = leaf == NULL ? "" : leaf;
        }
        found->shown = leaf != NULL;
    }
}

struct jr_cgroup_hierarchy jr_cgroup_hierarchy_find(char *groups, char *mounts,
                                                    const char *controller)
{
    struct jr_cgroup_hierarchy found = {.leaf = ""};
    const char *group = own_group(groups, controller, &found.v2);
    if (group != NULL)
        find_mount(&found, mounts, found.v2 ? NULL : controller, group);
    return found;
}
