#include "oom.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "cleanup.h"
#include "hierarchy.h"
#include "io.h"
#include "num.h"

#include "banned.h"

/* The number behind "oom_kill " at the start of a line. */
static bool read_count(const char *path, uint64_t *ret)
{
    static const char word[] = "\noom_kill ";
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_buf_char(&text, '\n'); /* so that the first line is like the others */
    JR_BUF_CLEANUP struct jr_buf file = JR_BUF_INIT;
    if (!jr_io_fact(&file, "", path) || file.len == 0)
        return false;
    jr_buf_add(&text, file.data, file.len);
    const char *at = text.failed ? NULL : strstr(text.data, word);
    const char *digits = at == NULL ? NULL : at + sizeof word - 1;
    return digits != NULL && jr_num_digits(&digits, ret);
}

/* Our group's file, or that of the nearest group above it that has one. */
static bool find_own(struct jr_oom *oom)
{
    JR_BUF_CLEANUP struct jr_buf groups = JR_BUF_INIT;
    JR_BUF_CLEANUP struct jr_buf mounts = JR_BUF_INIT;
    if (!jr_io_fact(&groups, "", "/proc/self/cgroup") ||
        !jr_io_fact(&mounts, "", "/proc/self/mountinfo"))
        return false;
    struct jr_hierarchy place =
        jr_hierarchy_find(groups.data, mounts.data, "memory");
    const char *name = place.v2 ? "memory.events" : "memory.oom_control";
    if (place.point == NULL)
        return false;
    for (size_t len = strlen(place.leaf);;) {
        int size = snprintf(oom->path, sizeof oom->path, "%s%.*s/%s",
                            place.point, (int)len, place.leaf, name);
        if (size > 0 && (size_t)size < sizeof oom->path &&
            read_count(oom->path, &oom->counted))
            return true;
        if (len == 0)
            return false;
        while (len > 0 && place.leaf[--len] != '/')
            continue;
    }
}

void jr_oom_open(struct jr_oom *oom, int at_least)
{
    *oom = (struct jr_oom){.log_fd = -1};
    oom->own = find_own(oom);
    if (oom->own)
        return;
    (void)snprintf(oom->path, sizeof oom->path, "/proc/vmstat");
    (void)read_count(oom->path, &oom->counted);
    JR_CLOSE int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && lseek(fd, 0, SEEK_END) >= 0)
        oom->log_fd = fcntl(fd, F_DUPFD_CLOEXEC, at_least);
}

/* "Out of memory: Killed process 4242 (train) total-vm:..." A read takes one
 * record; what was read is not read again. */
static bool log_names(const struct jr_oom *oom, pid_t pid)
{
    char record[1024], name[64];
    bool named = false;
    ssize_t len;
    (void)snprintf(name, sizeof name, "Killed process %d ", pid);
    while (oom->log_fd >= 0 &&
           (len = read(oom->log_fd, record, sizeof record - 1)) > 0) {
        record[len] = '\0';
        named |= strstr(record, name) != NULL;
    }
    return named;
}

bool jr_oom_explains(struct jr_oom *oom, pid_t pid)
{
    uint64_t count = 0;
    if (!read_count(oom->path, &count) || count <= oom->counted)
        return false;
    if (!oom->own && !log_names(oom, pid))
        return false;
    oom->counted++;
    return true;
}
