/* Caches by sysfs. Nothing is resolved from them: ranks of a node are bound to
 * cores side by side, and those share caches. So they are read for people only,
 * apart from the facts that every run needs: of each CPU it takes a dozen
 * files. */
#include <string.h>

#include "base/num.h"
#include "base/rank_set.h"
#include "host/reader.h"

#include "base/banned.h"

#define FOLDER "/sys/devices/system/cpu/cpu%u/cache/index%u/"

/* The first levels are each core's own. */
enum { LEAST_LEVEL = 2, INDEXES_MAX = 16 };

/* One cache as its first usable CPU shows it. */
struct cache {
    uint32_t level;
    uint64_t size;
    const char *cpus; /* the usable ones that share it */
};

/* The kernel writes "2048K". */
static uint64_t read_cache_size(const char *text)
{
    uint64_t size;
    if (text == NULL || !jr_num_digits(&text, &size))
        return 0;
    return *text == 'K' ? size << 10 : *text == 'M' ? size << 20 : size;
}

/* The last usable CPU that is in the set; false: none of it is known. */
static bool last_cpu_of(const struct jr_set *shared,
                        const struct jr_set *usable, uint32_t *ret)
{
    uint32_t last, most;
    if (!jr_set_max(shared, &last) || !jr_set_max(usable, &most))
        return false;
    *ret = last < most ? last : most;
    return true;
}

/* False if there is no such cache, where it is for instructions, and where
 * another CPU has shown it before. */
static bool read_cache(struct jr_host_reader *probe,
                       const struct jr_set *usable, const uint32_t place[2],
                       struct cache *ret)
{
    uint32_t cpu = place[0], index = place[1], count = 0, last;
    const char *level = jr_host_reader_text(probe, FOLDER "level", cpu, index);
    const char *type = jr_host_reader_text(probe, FOLDER "type", cpu, index);
    const char *text =
        jr_host_reader_text(probe, FOLDER "shared_cpu_list", cpu, index);
    const char *bad;
    struct jr_set shared;
    if (level == NULL || !jr_num_u32(level, &ret->level) || text == NULL ||
        ret->level < LEAST_LEVEL ||
        (type != NULL && strcmp(type, "Instruction") == 0) ||
        !jr_set_parse(&shared, &probe->scratch, text, &bad) ||
        !last_cpu_of(&shared, usable, &last) || last < cpu)
        return false;
    uint32_t *members =
        jr_arena_array(&probe->scratch, last - cpu + 1, sizeof *members);
    for (uint32_t at = 0; members != NULL && at <= last; at++) {
        if (!jr_set_has(&shared, at) || !jr_set_has(usable, at))
            continue;
        if (at < cpu)
            return false;
        members[count++] = at;
    }
    JR_BUF_CLEANUP struct jr_buf cpus = JR_BUF_INIT;
    jr_set_print(&cpus, members, count);
    ret->size =
        read_cache_size(jr_host_reader_text(probe, FOLDER "size", cpu, index));
    ret->cpus = jr_buf_keep(&cpus, probe->arena);
    return count > 0 && ret->cpus != NULL;
}

/* A row for each level and size. */
static void count_cache(struct jr_host_reader *probe, const struct cache *cache)
{
    struct jr_host_cpus *facts = &probe->hw->cpus;
    struct jr_host_cache *row = NULL;
    size_t count = facts->caches_count;
    for (size_t i = 0; i < count && row == NULL; i++)
        if (facts->caches[i].level == cache->level &&
            facts->caches[i].size == cache->size)
            row = &facts->caches[i];
    if (row == NULL) {
        row = jr_arena_push(probe->arena, &facts->caches, &count, sizeof *row);
        if (row == NULL)
            return;
        *row = (struct jr_host_cache){cache->level, cache->size, {0}};
        facts->caches_count = (uint32_t)count;
    }
    jr_strv_push(&row->cpus, probe->arena, (char *)cache->cpus);
}

void jr_host_reader_caches(struct jr_host_reader *probe)
{
    const char *text = probe->hw->cpus.set, *bad;
    struct jr_set usable;
    uint32_t last;
    if (text == NULL || !jr_set_parse(&usable, &probe->scratch, text, &bad) ||
        !jr_set_max(&usable, &last))
        return;
    for (uint32_t cpu = 0; cpu <= last; cpu++)
        for (uint32_t i = 0; i < INDEXES_MAX && jr_set_has(&usable, cpu); i++) {
            struct cache cache;
            if (read_cache(probe, &usable, (uint32_t[]){cpu, i}, &cache))
                count_cache(probe, &cache);
        }
}
