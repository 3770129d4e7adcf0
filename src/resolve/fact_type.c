#include "resolve/fact_type.h"

#include <jobrun/types.h>
#include <string.h>

#include "base/num.h"
#include "base/rank_set.h"
#include "doc/doc.h"
#include "host/host.h"
#include "host/scheduler/hostlist.h"

#include "base/banned.h"

#define WORD(name, word, help) word,
static const char *const kinds[] = {JR_DEVICES(WORD) NULL};

static bool read_version(const char *text, void *to, struct jr_arena *arena)
{
    (void)to;
    (void)arena;
    return strcmp(text, "1") == 0;
}

static char *write_version(const void *from, struct jr_arena *arena)
{
    (void)from;
    return jr_arena_strdup(arena, "1");
}

static bool read_u32(const char *text, void *to, struct jr_arena *arena)
{
    (void)arena;
    return jr_num_u32(text, to);
}

static char *write_index(const void *from, struct jr_arena *arena)
{
    return jr_arena_printf(arena, "%u", *(const uint32_t *)from);
}

static char *write_count(const void *from, struct jr_arena *arena)
{
    return *(const uint32_t *)from == 0 ? NULL : write_index(from, arena);
}

static bool read_bytes(const char *text, void *to, struct jr_arena *arena)
{
    (void)arena;
    return jr_num_size(text, to);
}

static char *write_bytes(const void *from, struct jr_arena *arena)
{
    unsigned long long bytes = *(const uint64_t *)from;
    return bytes == 0 ? NULL : jr_arena_printf(arena, "%llu", bytes);
}

static bool read_seconds(const char *text, void *to, struct jr_arena *arena)
{
    (void)arena;
    return jr_num_u64(text, to);
}

static bool read_hosts(const char *text, void *to, struct jr_arena *arena)
{
    const char *bad;
    return jr_hostlist_expand(to, arena, text, &bad);
}

static bool is_cpus(const char *text, struct jr_arena *arena)
{
    struct jr_set set;
    const char *bad;
    uint32_t last;
    return jr_set_parse(&set, arena, text, &bad) && jr_set_max(&set, &last) &&
           last < JR_HOST_CPUS_MAX;
}

/* Sets that blanks separate. */
static bool read_groups(const char *text, void *to, struct jr_arena *arena)
{
    struct jr_strv groups = {0};
    char *rest = jr_arena_strdup(arena, text);
    for (char *group; (group = strsep(&rest, " ")) != NULL;) {
        if (!is_cpus(group, arena))
            return false;
        jr_strv_push(&groups, arena, group);
    }
    *(struct jr_strv *)to = groups;
    return groups.count > 0;
}

static char *join_texts(const struct jr_strv *items, char separator, struct jr_arena *arena)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    for (size_t i = 0; i < items->count; i++) {
        if (i > 0)
            jr_buf_char(&text, separator);
        jr_buf_str(&text, items->items[i]);
    }
    return items->count == 0 ? NULL : jr_buf_keep(&text, arena);
}

static char *write_hosts(const void *from, struct jr_arena *arena)
{
    return join_texts(from, ',', arena);
}

static char *write_groups(const void *from, struct jr_arena *arena)
{
    return join_texts(from, ' ', arena);
}

static bool read_fact_counts(const char *text, void *to, struct jr_arena *arena)
{
    return jr_counts_expand(to, arena, text);
}

static char *write_counts(const void *from, struct jr_arena *arena)
{
    return jr_counts_print(from, arena);
}

static bool read_fact_cpus(const char *text, void *to, struct jr_arena *arena)
{
    double value;
    (void)arena;
    if (!jr_num_double(text, &value) || value < 0)
        return false;
    *(double *)to = value;
    return true;
}

static char *write_cpus(const void *from, struct jr_arena *arena)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    double value = *(const double *)from;
    if (value <= 0)
        return NULL;
    jr_num_add_double(&text, value);
    return jr_buf_keep(&text, arena);
}

static bool read_fact_node(const char *text, void *to, struct jr_arena *arena)
{
    uint32_t node;
    (void)arena;
    if (!jr_num_u32(text, &node) || node > INT32_MAX)
        return false;
    *(int *)to = (int)node;
    return true;
}

static char *write_node(const void *from, struct jr_arena *arena)
{
    int node = *(const int *)from;
    return node < 0 ? NULL : jr_arena_printf(arena, "%d", node);
}

static bool read_flag(const char *text, void *to, struct jr_arena *arena)
{
    (void)arena;
    *(bool *)to = *text == 't' || *text == 'T';
    return true;
}

static char *write_flag(const void *from, struct jr_arena *arena)
{
    return jr_arena_strdup(arena, *(const bool *)from ? "true" : "false");
}

static bool read_fact_kind(const char *text, void *to, struct jr_arena *arena)
{
    (void)arena;
    for (unsigned i = 0; i < JR_DEVICE_COUNT; i++) {
        if (strcmp(text, kinds[i]) != 0)
            continue;
        *(enum jr_device *)to = (enum jr_device)i;
        return true;
    }
    return false;
}

static char *write_kind(const void *from, struct jr_arena *arena)
{
    return jr_arena_strdup(arena, kinds[*(const enum jr_device *)from]);
}

static bool read_fact_text(const char *text, void *to, struct jr_arena *arena)
{
    *(const char **)to = jr_arena_strdup(arena, text);
    return true;
}

static char *write_fact_text(const void *from, struct jr_arena *arena)
{
    return jr_arena_strdup(arena, *(const char *const *)from);
}

static bool read_fact_name(const char *text, void *to, struct jr_arena *arena)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    return *text != '\0' && (*text < '0' || *text > '9') && text[strspn(text, letters)] == '\0' &&
           read_fact_text(text, to, arena);
}

static bool read_fact_set(const char *text, void *to, struct jr_arena *arena)
{
    return is_cpus(text, arena) && read_fact_text(text, to, arena);
}

#define TYPE_BIT(name) (1u << JR_SCALAR_##name)
#define ANY_SCALAR     (~TYPE_BIT(NULL))

static const struct jr_fact_type types[] = {
    [JR_FACT_VERSION] = {"1", TYPE_BIT(INT), read_version, write_version},
    [JR_FACT_INDEX] = {"an integer of at least 0", TYPE_BIT(INT), read_u32, write_index},
    [JR_FACT_COUNT] = {"an integer of at least 0", TYPE_BIT(INT), read_u32, write_count},
    [JR_FACT_BYTES] = {"a size such as 64GiB", ANY_SCALAR, read_bytes, write_bytes},
    [JR_FACT_SECONDS] = {"seconds since 1970", TYPE_BIT(INT), read_seconds, write_bytes},
    [JR_FACT_HOSTS] = {"hosts such as n[1-4]", ANY_SCALAR, read_hosts, write_hosts},
    [JR_FACT_GROUPS] = {"sets of CPUs such as 0,4 1,5", ANY_SCALAR, read_groups, write_groups},
    [JR_FACT_COUNTS] = {"counts per node such as 8(x4)", ANY_SCALAR, read_fact_counts,
                        write_counts},
    [JR_FACT_CPUS] = {"a number of CPUs such as 1.5", TYPE_BIT(INT) | TYPE_BIT(FLOAT),
                      read_fact_cpus, write_cpus},
    [JR_FACT_NODE] = {"an integer of at least 0", TYPE_BIT(INT), read_fact_node, write_node},
    [JR_FACT_FLAG] = {"true or false", TYPE_BIT(BOOL), read_flag, write_flag},
    [JR_FACT_KIND] = {"a kind of device: cpu cuda rocm xpu hpu npu mlu custom", ANY_SCALAR,
                      read_fact_kind, write_kind},
    [JR_FACT_SET] = {"CPU numbers such as 0-3,8", ANY_SCALAR, read_fact_set, write_fact_text},
    [JR_FACT_NAME] = {"the name of a variable", ANY_SCALAR, read_fact_name, write_fact_text},
    [JR_FACT_TEXT] = {"a string", ANY_SCALAR, read_fact_text, write_fact_text},
};

const struct jr_fact_type *jr_fact_type(enum jr_fact fact)
{
    return &types[fact];
}
