/*
 * Two lines as rank sets: what is taken is sorted, free of repetition, and has exactly the members
 * that the text names; both together are a set where they have no member in common.
 */
#include "fuzz.h"

#include "base/num.h"
#include "base/rank_set.h"

enum { COUNTED = 512 };

static void check_ranges(const struct jr_set *set)
{
    uint32_t most = 0, max = 0;
    for (size_t i = 0; i < set->count; i++) {
        const struct jr_range *range = &set->ranges[i];
        require(range->first <= range->last && range->step >= 1);
        require((range->last - range->first) % range->step == 0);
        require(i == 0 || set->ranges[i - 1].first < range->first);
        require(jr_set_has(set, range->first) && jr_set_has(set, range->last));
        most = range->last > most ? range->last : most;
    }
    require(jr_set_max(set, &max) == (set->count > 0) && max == most);
}

static void check_members(const struct jr_set *set, const char *text)
{
    bool all = strcmp(text, "all") == 0, none = strcmp(text, "none") == 0;
    require((set->count == 0) == (all || none) && set->all == all);
    for (uint32_t rank = 0; rank < COUNTED; rank++)
        require(jr_set_has(set, rank) == (all || (!none && fuzz_names(text, rank))));
}

/* No rank stands twice. */
static void check_once(const struct jr_set *set)
{
    for (uint32_t rank = 0; rank < COUNTED; rank++) {
        size_t times = 0;
        for (size_t i = 0; i < set->count; i++) {
            const struct jr_set one = {.ranges = &set->ranges[i], .count = 1};
            times += jr_set_has(&one, rank);
        }
        require(times <= 1);
    }
}

static bool parse(struct jr_set *ret, struct jr_arena *arena, const char *text)
{
    const char *bad = NULL;
    if (!jr_set_parse(ret, arena, text, &bad)) {
        require(bad >= text && bad <= text + strlen(text));
        return false;
    }
    check_ranges(ret);
    check_members(ret, text);
    check_once(ret);
    return true;
}

static bool is_set(struct jr_arena *arena, const char *a, const char *b)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_set set;
    const char *bad;
    jr_buf_printf(&text, "%s,%s", a, b);
    return jr_set_parse(&set, arena, text.data, &bad);
}

/* Two sets are one where they have no rank in common, whichever comes first. */
static void check_overlap(struct jr_arena *arena, const struct jr_set *sets, char *const *lines)
{
    bool joined = is_set(arena, lines[0], lines[1]);
    require(joined == is_set(arena, lines[1], lines[0]));
    for (uint32_t i = 0; i < COUNTED && joined; i++)
        require(!jr_set_has(&sets[0], i) || !jr_set_has(&sets[1], i));
}

/* Members below COUNTED, written out, are the same members. */
static void check_print(const struct jr_set *set, struct jr_arena *arena)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    uint32_t ranks[COUNTED];
    size_t count = 0;
    for (uint32_t rank = 0; rank < COUNTED; rank++)
        if (jr_set_has(set, rank))
            ranks[count++] = rank;
    jr_set_print(&text, ranks, count);
    struct jr_set again;
    const char *bad;
    require(jr_set_parse(&again, arena, text.data, &bad));
    for (uint32_t rank = 0; rank < COUNTED; rank++)
        require(jr_set_has(&again, rank) == jr_set_has(set, rank));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *lines[2];
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_set sets[2];
    fuzz_split(lines, 2, '\n', data, size);
    bool first = parse(&sets[0], &arena, lines[0]);
    bool second = parse(&sets[1], &arena, lines[1]);
    if (first)
        check_print(&sets[0], &arena);
    if (first && second)
        check_overlap(&arena, sets, lines);
    jr_arena_release(&arena);
    fuzz_free(lines, 2);
    return 0;
}
