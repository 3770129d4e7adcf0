/*
 * Any text as what a node tells of the resources of its ranks: what is taken is told again so that
 * it is taken for the same.
 */
#include "fuzz.h"

#include "resolve/node_resources.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_node_resources resources = {.threads = 0}, again = {.threads = 0};
    JR_BUF_CLEANUP struct jr_buf one = JR_BUF_INIT, other = JR_BUF_INIT;
    if (jr_node_resources_read(&resources, &arena, (const char *)data, size) == 0) {
        require(resources.threads > 0);
        jr_node_resources_tell(&one, &resources);
        require(jr_node_resources_read(&again, &arena, one.data, one.len) == 0);
        jr_node_resources_tell(&other, &again);
        require(one.len == other.len && memcmp(one.data, other.data, one.len) == 0);
        require(again.devices_count == resources.devices_count &&
                again.slots_count == resources.slots_count);
    } else {
        require(resources.threads == 0 && resources.devices == NULL);
    }
    jr_arena_release(&arena);
    return 0;
}
