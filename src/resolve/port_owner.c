#include "resolve/port_lease.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/num.h"

#include "base/banned.h"

/* The state LISTEN in /proc/net/tcp. */
#define TCP_LISTEN 0x0A

/* The inode of the socket that listens on `port` in one of the kernel's tables,
 * and its user; 0 for none. */
static uint64_t find_inode(const char *table, uint32_t port, uid_t *ret_user)
{
    char line[256];
    unsigned local, state, user;
    uint64_t inode, found = 0;
    FILE *file = fopen(table, "re");
    if (file == NULL)
        return 0;
    while (found == 0 && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line,
                   "%*d: %*[0-9A-F]:%x %*s %x %*s %*s %*s %u %*s %" SCNu64,
                   &local, &state, &user, &inode) == 4 &&
            local == port && state == TCP_LISTEN) {
            found = inode;
            *ret_user = user;
        }
    (void)fclose(file);
    return found;
}

/* Whether one of the process's descriptors is the socket called `link`. */
static bool has_socket(const char *pid, const char *link)
{
    char path[64], target[64];
    struct dirent *entry;
    bool found = false;
    (void)snprintf(path, sizeof path, "/proc/%.16s/fd", pid);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return false;
    while (!found && (entry = readdir(folder)) != NULL) {
        ssize_t len =
            readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
        target[len > 0 ? len : 0] = '\0';
        found = strcmp(target, link) == 0;
    }
    (void)closedir(folder);
    return found;
}

struct jr_holder jr_lease_owner(uint32_t port)
{
    struct jr_holder owner = {.uid = (uid_t)-1};
    char link[64];
    struct dirent *entry;
    uint32_t pid = 0, found = 0;
    uint64_t inode = find_inode("/proc/net/tcp", port, &owner.uid);
    if (inode == 0)
        inode = find_inode("/proc/net/tcp6", port, &owner.uid);
    DIR *folder = inode != 0 ? opendir("/proc") : NULL;
    if (folder == NULL)
        return owner;
    (void)snprintf(link, sizeof link, "socket:[%" PRIu64 "]", inode);
    while (found == 0 && (entry = readdir(folder)) != NULL)
        if (jr_num_u32(entry->d_name, &pid) && has_socket(entry->d_name, link))
            found = pid;
    (void)closedir(folder);
    owner.pid = (pid_t)found;
    return owner;
}
