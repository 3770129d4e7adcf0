/*
 * Three lines of what schedulers say of hosts. The first is a list of them:
 * what is taken names hosts, and written out one by one is taken for the same.
 * The second is counts: written short they are the same. The third is hosts as
 * words, pairs and JSON: as many counts as hosts, none of which stands twice.
 */
#include "fuzz.h"

#include "base/buf.h"
#include "host/scheduler/hostlist.h"
#include "host/scheduler/scheduler.h"

enum { COMPARED = 256 };

static bool is_name(const char *host)
{
    return *host != '\0' &&
           host[strspn(
               host, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-")] == '\0';
}

static bool expand(struct jr_strv *ret, struct jr_arena *arena, const char *text)
{
    const char *bad = NULL;
    struct jr_strv untouched = *ret;
    if (!jr_hostlist_expand(ret, arena, text, &bad)) {
        require(bad >= text && bad <= text + strlen(text));
        require(ret->items == untouched.items);
        return false;
    }
    require(ret->count > 0 && ret->count <= JR_HOSTLIST_MAX);
    for (size_t i = 0; i < ret->count; i++)
        require(is_name(ret->items[i]));
    return true;
}

static void check_list(struct jr_arena *arena, const char *text)
{
    JR_BUF_CLEANUP struct jr_buf plain = JR_BUF_INIT;
    struct jr_strv hosts = {0}, again = {0};
    if (!expand(&hosts, arena, text) || hosts.count > COMPARED)
        return;
    for (size_t i = 0; i < hosts.count; i++)
        jr_buf_printf(&plain, "%s%s", i == 0 ? "" : ",", hosts.items[i]);
    require(expand(&again, arena, plain.data) && again.count == hosts.count);
    for (size_t i = 0; i < hosts.count; i++)
        require(strcmp(hosts.items[i], again.items[i]) == 0);
}

static void check_counts(struct jr_arena *arena, const char *text)
{
    struct jr_counts counts = {0}, again = {0};
    if (!jr_counts_expand(&counts, arena, text)) {
        require(counts.items == NULL && counts.count == 0);
        return;
    }
    require(counts.count > 0 && counts.count <= JR_HOSTLIST_MAX);
    const char *brief = jr_counts_print(&counts, arena);
    require(jr_counts_expand(&again, arena, brief));
    require(again.count == counts.count);
    for (uint32_t i = 0; i < counts.count; i++)
        require(counts.items[i] > 0 && counts.items[i] == again.items[i]);
}

static void check_hosts(struct jr_arena *arena, const char *text, enum jr_use use)
{
    const struct jr_variable row = {.use = use};
    struct jr_host hw = {0};
    struct jr_host_reader probe = {.hw = &hw, .arena = arena, .root = ""};
    const struct jr_strv *hosts = &hw.scheduler.hosts;
    bool taken = jr_variable_use(&probe, &row, text);
    require(taken == (hosts->count > 0));
    require(hosts->count == hw.scheduler.tasks.count);
    for (size_t i = 0; i < hosts->count && i < COMPARED; i++) {
        uint32_t slots = hw.scheduler.tasks.items[i];
        require(slots > 0 && slots <= JR_HOSTLIST_MAX);
        for (size_t other = 0; other < i; other++)
            require(strcmp(hosts->items[i], hosts->items[other]) != 0);
    }
    jr_arena_release(&probe.scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *lines[3];
    struct jr_arena arena = JR_ARENA_INIT;
    fuzz_split(lines, 3, '\n', data, size);
    check_list(&arena, lines[0]);
    check_counts(&arena, lines[1]);
    check_hosts(&arena, lines[2], JR_USE_WORDS);
    check_hosts(&arena, lines[2], JR_USE_PAIRS);
    check_hosts(&arena, lines[2], JR_USE_JSON);
    jr_arena_release(&arena);
    fuzz_free(lines, 3);
    return 0;
}
