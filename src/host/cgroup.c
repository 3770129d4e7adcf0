#include "host/cgroup.h"

#include <string.h>

#include "base/num.h"
#include "base/proc.h"
#include "host/reader.h"

#include "base/banned.h"

/* From the leaf up to the mount point. */
static void list_folders(struct jr_cgroup *ret, struct jr_arena *arena, const char *point,
                         const char *leaf)
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

struct jr_cgroup jr_cgroup_find(struct jr_host_reader *probe, const char *controller)
{
    struct jr_arena *scratch = &probe->scratch;
    if (probe->groups == NULL)
        probe->groups = jr_host_reader_text(probe, "/proc/self/cgroup");
    if (probe->mounts == NULL)
        probe->mounts = jr_host_reader_text(probe, "/proc/self/mountinfo");
    struct jr_cgroup_hierarchy place =
        jr_cgroup_hierarchy_find(jr_arena_strdup(scratch, probe->groups),
                                 jr_arena_strdup(scratch, probe->mounts), controller);
    struct jr_cgroup found = {.v2 = place.v2};
    if (place.point != NULL)
        list_folders(&found, scratch, place.point, place.leaf);
    return found;
}

/* Version 1 says "no limit" by the largest multiple of the page size that fits 63 bits; version 2
 * by a word. Nothing real comes near. */
#define NO_LIMIT (UINT64_C(1) << 62)

static uint64_t total_bytes(struct jr_host_reader *probe)
{
    const char *text = jr_host_reader_text(probe, "/proc/meminfo");
    char *value = jr_host_reader_field(probe, text, "MemTotal");
    uint64_t kib;
    const char *number = strsep(&value, " ");
    if (number == NULL || !jr_num_u64(number, &kib) || kib >= NO_LIMIT >> 10)
        return NO_LIMIT;
    return kib << 10;
}

static uint64_t limited_bytes(struct jr_host_reader *probe, uint64_t bytes, const char *folder,
                              const char *file)
{
    const char *text = jr_host_reader_text(probe, "%s/%s", folder, file);
    uint64_t limit;
    bool less = text != NULL && jr_num_u64(text, &limit) && limit < bytes;
    return less ? limit : bytes;
}

/* The machine's memory, or less where a group on the way up says so. What is free at the moment is
 * no fact of the machine and is not asked. */
void jr_host_reader_memory(struct jr_host_reader *probe)
{
    struct jr_cgroup group = jr_cgroup_find(probe, "memory");
    uint64_t bytes = total_bytes(probe);
    for (size_t i = 0; i < group.folders.count; i++) {
        const char *folder = group.folders.items[i];
        if (group.v2) {
            bytes = limited_bytes(probe, bytes, folder, "memory.max");
            bytes = limited_bytes(probe, bytes, folder, "memory.high");
        } else {
            bytes = limited_bytes(probe, bytes, folder, "memory.limit_in_bytes");
        }
    }
    probe->hw->memory = bytes == NO_LIMIT ? 0 : bytes;
}
