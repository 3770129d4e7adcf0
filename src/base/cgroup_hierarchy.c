#include "base/cgroup_hierarchy.h"

#include <stddef.h>
#include <string.h>

#include "base/banned.h"

/* Whether a comma list, as "rw,cpu,cpuacct", has a word. */
static bool list_has_word(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, len) == 0 && (at[len] == ',' || at[len] == '\0'))
            return true;
    }
    return false;
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
        else if (controller != NULL && list_has_word(list, controller))
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
            *to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 |
                         (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

struct mount {
    char *root; /* the group that it shows at its mount point */
    char *point;
    const char *type, *options;
};

/* Read a line of mountinfo: ID PARENT DEVICE ROOT POINT ... - TYPE SOURCE
 * OPTIONS. */
static bool read_mount(struct mount *ret, char *line)
{
    char *tail = strstr(line, " - ");
    if (tail == NULL)
        return false;
    *tail = '\0';
    tail += strlen(" - ");
    for (int i = 0; i < 3; i++)
        (void)strsep(&line, " ");
    ret->root = strsep(&line, " ");
    ret->point = strsep(&line, " ");
    ret->type = strsep(&tail, " ");
    (void)strsep(&tail, " ");
    ret->options = tail;
    if (ret->point == NULL || ret->options == NULL)
        return false;
    unescape_mount_path(ret->root);
    unescape_mount_path(ret->point);
    return true;
}

/* What remains of the group's path below the mount's root, "" for the root
 * itself; NULL when the mount does not show it, as from another namespace. */
static const char *group_below_mount(const char *root, const char *group)
{
    size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (strncmp(group, "/..", 3) == 0 || strncmp(group, root, len) != 0)
        return NULL;
    if (strcmp(group + len, "/") == 0)
        return "";
    return group[len] == '/' || group[len] == '\0' ? group + len : NULL;
}

/* Where the controller's hierarchy is mounted so that it shows the group, and
 * the group below it; failing that, a mount that shows other ones. */
static void find_mount(struct jr_cgroup_hierarchy *found, char *mounts,
                       const char *controller, const char *group)
{
    const char *type = controller == NULL ? "cgroup2" : "cgroup";
    for (char *line; (line = strsep(&mounts, "\n")) != NULL;) {
        struct mount mount;
        if (!read_mount(&mount, line) || strcmp(mount.type, type) != 0 ||
            (controller != NULL && !list_has_word(mount.options, controller)))
            continue;
        const char *leaf = group_below_mount(mount.root, group);
        if (leaf != NULL || found->point == NULL) {
            found->point = mount.point;
            found->leaf = leaf == NULL ? "" : leaf;
        }
        found->shown = leaf != NULL;
        if (found->shown)
            break;
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
