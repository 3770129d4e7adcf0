#include "cgroup.h"

#include <string.h>

#include "banned.h"

/* Whether a comma list, as "rw,cpu,cpuacct", has a word. */
static bool has_word(const char *list, const char *word)
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
        else if (has_word(list, controller))
            return line;
    }
    *ret_v2 = true;
    return unified;
}

/* The kernel writes blanks, newlines and backslashes of paths as \ooo. */
static void unescape(char *text)
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
    unescape(ret->root);
    unescape(ret->point);
    return true;
}

/* What remains of the group's path below the mount's root, "" for the root
 * itself; NULL when the mount does not show it, as from another namespace. */
static const char *below(const char *root, const char *group)
{
    size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (strncmp(group, "/..", 3) == 0 || strncmp(group, root, len) != 0)
        return NULL;
    if (strcmp(group + len, "/") == 0)
        return "";
    return group[len] == '/' || group[len] == '\0' ? group + len : NULL;
}

/* From the leaf up to the mount point. */
static void list_folders(struct jr_cgroup *ret, struct jr_arena *arena,
                         const char *point, const char *leaf)
{
    size_t top = strlen(point);
    char *folder = jr_arena_printf(arena, "%s%s", point, leaf);
    while (folder != NULL) {
        jr_strv_push(&ret->folders, arena, folder);
        size_t len = strlen(folder);
        while (len > top && folder[len - 1] != '/')
            len--;
        folder = len > top ? jr_arena_strndup(arena, folder, len - 1) : NULL;
    }
}

/* Where the controller's hierarchy is mounted so that it shows the group, and
 * the group below it in *ret_leaf. Failing that, a mount that shows other ones:
 * in a container its topmost group is the container's, whose limits are meant
 * for this process too. NULL: not mounted. */
static const char *find_mount(char *mounts, const char *controller,
                              const char *group, const char **ret_leaf)
{
    const char *type = controller == NULL ? "cgroup2" : "cgroup";
    const char *point = NULL;
    for (char *line; (line = strsep(&mounts, "\n")) != NULL;) {
        struct mount mount;
        if (!read_mount(&mount, line) || strcmp(mount.type, type) != 0 ||
            (controller != NULL && !has_word(mount.options, controller)))
            continue;
        const char *leaf = below(mount.root, group);
        if (leaf != NULL || point == NULL) {
            point = mount.point;
            *ret_leaf = leaf == NULL ? "" : leaf;
        }
        if (leaf != NULL)
            break;
    }
    return point;
}

struct jr_cgroup jr_cgroup_find(struct jr_probe *probe, const char *controller)
{
    struct jr_cgroup found = {0};
    const char *group = own_group(jr_probe_text(probe, "/proc/self/cgroup"),
                                  controller, &found.v2);
    if (group == NULL)
        return found;
    const char *leaf = "";
    const char *point = find_mount(jr_probe_text(probe, "/proc/self/mountinfo"),
                                   found.v2 ? NULL : controller, group, &leaf);
    if (point != NULL)
        list_folders(&found, &probe->scratch, point, leaf);
    return found;
}
