#include "host/narrow.h"

#include <string.h>

#include "base/rank_set.h"

#include "base/banned.h"

/* The CPUs of a list as a set; an empty one for what is none. */
static struct jr_set cpus_of(struct jr_arena *arena, const char *text)
{
    struct jr_set set = {0};
    const char *bad;
    if (text == NULL || !jr_set_parse(&set, arena, text, &bad) || set.all)
        return (struct jr_set){0};
    return set;
}

static uint32_t last_cpu(const struct jr_set *set)
{
    uint32_t last = 0;
    return jr_set_max(set, &last) ? last + 1 : 0;
}

uint32_t jr_host_core_count(const struct jr_host *host)
{
    if (host->cpus.cores.count > 0)
        return (uint32_t)host->cpus.cores.count;
    return host->cpus.set == NULL ? 0 : host->cpus.usable;
}

/* The CPUs that are kept, by number. */
struct kept {
    struct jr_arena *arena;
    bool *cpus;
    uint32_t count;
};

static void keep_cpus(struct kept *kept, const char *text)
{
    const struct jr_set set = cpus_of(kept->arena, text);
    for (uint32_t cpu = 0; cpu < kept->count; cpu++)
        kept->cpus[cpu] |= jr_set_has(&set, cpu);
}

/* The text of the CPU that is number `index` of the set. */
static const char *nth_cpu(struct jr_arena *arena, const struct jr_set *set,
                           uint32_t index)
{
    uint32_t count = last_cpu(set);
    for (uint32_t cpu = 0; cpu < count; cpu++)
        if (jr_set_has(set, cpu) && index-- == 0)
            return jr_arena_printf(arena, "%u", cpu);
    return NULL;
}

/* The kept ones of a list of CPUs, as text; NULL: there are none. */
static const char *kept_part(const struct kept *kept, const char *text,
                             uint32_t *ret_count)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    const struct jr_set set = cpus_of(kept->arena, text);
    uint32_t *cpus = jr_arena_array(kept->arena, kept->count + 1, sizeof *cpus);
    uint32_t count = 0;
    for (uint32_t cpu = 0; cpus != NULL && cpu < kept->count; cpu++)
        if (kept->cpus[cpu] && jr_set_has(&set, cpu))
            cpus[count++] = cpu;
    *ret_count = count;
    if (count == 0)
        return NULL;
    jr_set_print(&out, cpus, count);
    return jr_buf_keep(&out, kept->arena);
}

static void narrow_numa(struct jr_host_cpus *cpus, const struct kept *kept)
{
    struct jr_host_numa *numa =
        jr_arena_array(kept->arena, cpus->numa_count + 1, sizeof *numa);
    uint32_t count = 0, ignored;
    for (uint32_t i = 0; numa != NULL && i < cpus->numa_count; i++) {
        const char *text = kept_part(kept, cpus->numa[i].cpus, &ignored);
        if (text != NULL)
            numa[count++] = (struct jr_host_numa){cpus->numa[i].index, text};
    }
    cpus->numa = numa;
    cpus->numa_count = numa == NULL ? 0 : count;
}

/* Keep only the cores of the part. */
static void narrow_cpus(struct jr_host *ret, const struct jr_host *host,
                        const struct jr_host_part *part, struct jr_arena *arena)
{
    const struct jr_host_cpus *from = &host->cpus;
    const struct jr_set all = cpus_of(arena, from->set);
    struct kept kept = {arena, NULL, last_cpu(&all)};
    struct jr_strv cores = {0};
    kept.cpus = jr_arena_array(arena, kept.count + 1, sizeof *kept.cpus);
    for (uint32_t i = 0; kept.cpus != NULL && i < part->cores_count; i++) {
        const char *core = from->cores.count > 0
                               ? from->cores.items[part->cores[i]]
                               : nth_cpu(arena, &all, part->cores[i]);
        keep_cpus(&kept, core);
        if (from->cores.count > 0)
            jr_strv_push(&cores, arena, jr_arena_strdup(arena, core));
    }
    if (arena->failed)
        return;
    ret->cpus.cores = cores;
    ret->cpus.usable_cores = part->cores_count;
    ret->cpus.set = kept_part(&kept, from->set, &ret->cpus.usable);
    ret->cpus.quota = 0; /* the whole of it is shared out by cores */
    ret->cpus.caches_count = 0;
    narrow_numa(&ret->cpus, &kept);
}

/* Devices that are not of the part are not visible any more. */
static void narrow_devices(struct jr_host *ret, const struct jr_host *host,
                           const struct jr_host_part *part,
                           struct jr_arena *arena)
{
    struct jr_host_device *devices =
        jr_arena_array(arena, host->devices_count + 1, sizeof *devices);
    bool *ours = jr_arena_array(arena, host->devices_count + 1, sizeof *ours);
    uint32_t count = 0;
    if (devices == NULL || ours == NULL)
        return;
    for (uint32_t i = 0; i < part->devices_count; i++) {
        ours[part->devices[i]] = true;
        devices[count++] = host->devices[part->devices[i]];
    }
    for (uint32_t i = 0; i < host->devices_count; i++)
        if (!ours[i]) {
            devices[count] = host->devices[i];
            devices[count++].visible = false;
        }
    ret->devices = devices;
}

void jr_host_narrow(struct jr_host *ret, const struct jr_host *host,
                    const struct jr_host_part *part, struct jr_arena *arena)
{
    *ret = *host;
    if (part->cores_count > 0)
        narrow_cpus(ret, host, part, arena);
    if (part->devices_count > 0)
        narrow_devices(ret, host, part, arena);
}
