#include "host/cgroup.h"

#include <string.h>

#include "base/cgroup_hierarchy.h"

#include "base/banned.h"

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

struct jr_cgroup jr_cgroup_find(struct jr_host_reader *probe,
                                const char *controller)
{
    struct jr_arena *scratch = &probe->scratch;
    if (probe->groups == NULL)
        probe->groups = jr_host_reader_text(probe, "/proc/self/cgroup");
    if (probe->mounts == NULL)
        probe->mounts = jr_host_reader_text(probe, "/proc/self/mountinfo");
    struct jr_cgroup_hierarchy place = jr_cgroup_hierarchy_find(
        jr_arena_strdup(scratch, probe->groups),
        jr_arena_strdup(scratch, probe->mounts), controller);
    struct jr_cgroup found = {.v2 = place.v2};
    if (place.point != NULL)
        list_folders(&found, scratch, place.point, place.leaf);
    return found;
}
