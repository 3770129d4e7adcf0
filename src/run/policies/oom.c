/*
 * Whether the kernel killed a rank for want of memory, by its own account: the count of our control
 * group (oom_kill in memory.events, or in version 1's memory.oom_control), which rises before the
 * rank ends; and for a rank in a group of its own, which ours does not count, or where we are in
 * none, the machine's count (/proc/vmstat) and the kernel's log, which names the process but is not
 * for everybody to read. internal.h declares it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/num.h"
#include "base/proc.h"
#include "run/internal.h"

#include "base/banned.h"

static const char machine_path[] = "/proc/vmstat";

/* The number behind "oom_kill " at the start of a line of the file. */
static bool read_oom_count(const struct jr_oom *oom, const char *path, uint64_t *ret)
{
    static const char word[] = "\noom_kill ";
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_buf_char(&text, '\n'); /* so that the first line is like the others */
    JR_BUF_CLEANUP struct jr_buf file = JR_BUF_INIT;
    if (!jr_io_fact(&file, oom->root, path) || file.len == 0)
        return false;
    jr_buf_add(&text, file.data, file.len);
    const char *at = text.failed ? NULL : strstr(text.data, word);
    const char *digits = at == NULL ? NULL : at + sizeof word - 1;
    return digits != NULL && jr_num_digits(&digits, ret);
}

/* Our group's file, or that of the nearest group above it that has one. */
static bool find_own_group_file(struct jr_oom *oom)
{
    JR_BUF_CLEANUP struct jr_buf groups = JR_BUF_INIT;
    JR_BUF_CLEANUP struct jr_buf mounts = JR_BUF_INIT;
    if (!jr_io_fact(&groups, oom->root, "/proc/self/cgroup") ||
        !jr_io_fact(&mounts, oom->root, "/proc/self/mountinfo"))
        return false;
    struct jr_cgroup_hierarchy place = jr_cgroup_hierarchy_find(groups.data, mounts.data, "memory");
    const char *name = place.v2 ? "memory.events" : "memory.oom_control";
    if (place.point == NULL)
        return false;
    for (size_t len = strlen(place.leaf);;) {
        int size = snprintf(oom->path, sizeof oom->path, "%s%.*s/%s", place.point, (int)len,
                            place.leaf, name);
        if (size > 0 && (size_t)size < sizeof oom->path &&
            read_oom_count(oom, oom->path, &oom->counted))
            return true;
        if (len == 0)
            return false;
        while (len > 0 && place.leaf[--len] != '/')
            continue;
    }
}

void jr_oom_open(struct jr_oom *oom, const char *root, int at_least)
{
    char path[PATH_MAX];
    int size = snprintf(path, sizeof path, "%s/dev/kmsg", root);
    *oom = (struct jr_oom){.root = root, .log_fd = -1};
    oom->own = find_own_group_file(oom);
    if (!read_oom_count(oom, machine_path, &oom->machine) || size < 0 ||
        (size_t)size >= sizeof path)
        return;
    JR_CLOSE int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && lseek(fd, 0, SEEK_END) >= 0)
        oom->log_fd = fcntl(fd, F_DUPFD_CLOEXEC, at_least);
}

/* A read takes one record, and none twice; so those of others are kept, who may be asked about
 * next. EPIPE: some were overwritten before they were read. */
static void read_log(struct jr_oom *oom)
{
    static const char word[] = "Killed process ";
    char record[1024]; /* "Out of memory: Killed process 4242 (train) total-vm:..." */
    uint64_t pid;
    ssize_t len;
    do {
        len = read(oom->log_fd, record, sizeof record - 1);
        record[len > 0 ? len : 0] = '\0';
        const char *at = strstr(record, word), *digits = at == NULL ? "" : at + sizeof word - 1;
        if (jr_num_digits(&digits, &pid) && *digits == ' ')
            oom->named[oom->named_count++ % JR_OOM_NAMED] = (pid_t)pid;
    } while (len > 0 || (len < 0 && (errno == EPIPE || errno == EINTR)));
}

static bool log_names(struct jr_oom *oom, pid_t pid)
{
    if (oom->log_fd >= 0)
        read_log(oom);
    for (unsigned i = 0; i < oom->named_count && i < JR_OOM_NAMED; i++)
        if (oom->named[i] == pid)
            return true;
    return false;
}

bool jr_oom_explains(struct jr_oom *oom, pid_t pid)
{
    uint64_t count = 0;
    /* Our group's count does not say of whom; it is the rank's that just ended. */
    if (oom->own && read_oom_count(oom, oom->path, &count) && count > oom->counted) {
        oom->counted++;
        return true;
    }
    return read_oom_count(oom, machine_path, &count) && count > oom->machine && log_names(oom, pid);
}

static int open_oom(struct jr_runner *runner)
{
    jr_oom_open(&runner->oom, "", JR_SLOT_END);
    return 0;
}

/* Of a SIGKILL that is not ours. */
static void explain_kill(struct jr_rank_run *rank)
{
    struct jr_rank_outcome *outcome = rank->outcome;
    if (outcome->signal == SIGKILL && outcome->stopped_with == 0 && !outcome->killed)
        outcome->oom = jr_oom_explains(&rank->runner->oom, outcome->pid);
}

const struct jr_runner_policy jr_oom_policy = {
    .name = "oom",
    .open = open_oom,
    .rank_ended = explain_kill,
};
