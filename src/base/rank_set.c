#include "base/rank_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"

#include "base/banned.h"

/* More ranges than this in one set are refused, so that a hostile spec cannot buy quadratic
 * time. */
enum { MOST_RANGES = 4096 };

/* Read a rank and step over it. */
static bool read_rank(const char **text, uint32_t *ret)
{
    const char *at = *text;
    uint64_t value;
    if (!jr_num_digits(&at, &value) || value > UINT32_MAX)
        return false;
    *text = at;
    *ret = (uint32_t)value;
    return true;
}

/* N, A-B or A-B/STEP, stepping over it. On failure *text points at the mistake.
 * `last` becomes the last member. */
static bool read_set_range(const char **text, struct jr_range *ret)
{
    struct jr_range range = {.step = 1};
    if (!read_rank(text, &range.first))
        return false;
    range.last = range.first;
    if (**text == '-') {
        const char *last = ++*text;
        if (!read_rank(text, &range.last))
            return false;
        if (range.last < range.first) {
            *text = last;
            return false;
        }
        if (**text == '/') {
            const char *step = ++*text;
            if (!read_rank(text, &range.step))
                return false;
            if (range.step == 0) {
                *text = step;
                return false;
            }
        }
    }
    range.last -= (range.last - range.first) % range.step;
    *ret = range;
    return true;
}

/* The greatest common divisor of `a` and `b`; a * *ret_factor is congruent to it modulo b. Euclid's
 * algorithm, extended. */
static int64_t common_divisor(int64_t a, int64_t b, int64_t *ret_factor)
{
    int64_t factor = 1, next_factor = 0;
    while (b != 0) {
        int64_t quotient = a / b, rest = a % b;
        int64_t rest_factor = factor - quotient * next_factor;
        a = b;
        b = rest;
        factor = next_factor;
        next_factor = rest_factor;
    }
    *ret_factor = factor;
    return a;
}

/* `value` modulo `modulus`, never negative. */
static uint64_t modulo_residue(int64_t value, int64_t modulus)
{
    int64_t rest = value % modulus;
    return (uint64_t)(rest < 0 ? rest + modulus : rest);
}

/* Whether there is a common member: the smallest is found by the Chinese remainder theorem, for
 * walking there would take up to 65,536 steps for each of millions of pairs. The products are below
 * 2^64, since first and step are below 2^32. */
static bool ranges_meet(const struct jr_range *a, const struct jr_range *b)
{
    int64_t factor, gap = (int64_t)b->first - (int64_t)a->first;
    int64_t divisor = common_divisor(a->step, b->step, &factor);
    if (gap % divisor != 0)
        return false;
    int64_t cycle = b->step / divisor;
    uint64_t steps =
        modulo_residue(gap / divisor, cycle) * modulo_residue(factor, cycle) % (uint64_t)cycle;
    uint64_t rank = a->first + steps * a->step;
    uint64_t stride = (uint64_t)cycle * a->step;
    if (rank < b->first)
        rank += (b->first - rank + stride - 1) / stride * stride;
    return rank <= a->last && rank <= b->last;
}

static int compare_range_starts(const void *a, const void *b)
{
    uint32_t left = ((const struct jr_range *)a)->first;
    uint32_t right = ((const struct jr_range *)b)->first;
    return (left > right) - (left < right);
}

static bool parse_ranges(struct jr_set *set, struct jr_arena *arena, const char **text)
{
    for (;; ++*text) {
        const char *start = *text;
        struct jr_range range;
        size_t i = 0;
        if (!read_set_range(text, &range))
            return false;
        while (i < set->count && !ranges_meet(&set->ranges[i], &range))
            i++;
        if (i < set->count || i == MOST_RANGES) {
            *text = start;
            return false;
        }
        struct jr_range *slot = jr_arena_push(arena, &set->ranges, &set->count, sizeof range);
        if (slot == NULL)
            return false;
        *slot = range;
        if (**text == '\0')
            break;
        if (**text != ',')
            return false;
    }
    qsort(set->ranges, set->count, sizeof *set->ranges, compare_range_starts);
    return true;
}

bool jr_set_parse(struct jr_set *ret, struct jr_arena *arena, const char *text,
                  const char **ret_bad)
{
    struct jr_set set = {.all = strcmp(text, "all") == 0};
    if (!set.all && strcmp(text, "none") != 0 && !parse_ranges(&set, arena, &text)) {
        *ret_bad = text;
        return false;
    }
    *ret = set;
    return true;
}

bool jr_set_has(const struct jr_set *set, uint32_t rank)
{
    for (size_t i = 0; i < set->count; i++)
        if (rank >= set->ranges[i].first && rank <= set->ranges[i].last &&
            (rank - set->ranges[i].first) % set->ranges[i].step == 0)
            return true;
    return set->all;
}

void jr_set_fill(const struct jr_set *set, unsigned *values, uint32_t count, unsigned value)
{
    for (uint32_t rank = 0; set->all && rank < count; rank++)
        values[rank] = value;
    for (size_t i = 0; i < set->count; i++) {
        const struct jr_range *range = &set->ranges[i];
        for (uint64_t rank = range->first; rank <= range->last && rank < count; rank += range->step)
            values[rank] = value;
    }
}

bool jr_set_max(const struct jr_set *set, uint32_t *ret)
{
    for (size_t i = 0; i < set->count; i++)
        if (i == 0 || set->ranges[i].last > *ret)
            *ret = set->ranges[i].last;
    return set->count != 0;
}

void jr_set_write(struct jr_buf *out, const struct jr_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct jr_range *range = &set->ranges[i];
        jr_buf_printf(out, i == 0 ? "%u" : ",%u", range->first);
        if (range->last > range->first)
            jr_buf_printf(out, "-%u", range->last);
        if (range->last > range->first && range->step > 1)
            jr_buf_printf(out, "/%u", range->step);
    }
    if (set->count == 0)
        jr_buf_str(out, set->all ? "all" : "none");
}

void jr_set_print(struct jr_buf *out, const uint32_t *ranks, size_t count)
{
    if (count == 0)
        jr_buf_str(out, "none");
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && ranks[end] == ranks[end - 1] + 1)
            end++;
        jr_buf_printf(out, i == 0 ? "%u" : ",%u", ranks[i]);
        if (end - i > 1)
            jr_buf_printf(out, "-%u", ranks[end - 1]);
        i = end;
    }
}

bool jr_set_cpus(cpu_set_t *ret, size_t size, const char *text)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_set set = {0};
    const char *bad;
    uint32_t last = 0;
    bool good =
        jr_set_parse(&set, &arena, text, &bad) && jr_set_max(&set, &last) && last < size * 8;
    CPU_ZERO_S(size, ret);
    for (uint32_t cpu = 0; good && cpu <= last; cpu++)
        if (jr_set_has(&set, cpu))
            CPU_SET_S(cpu, size, ret);
    return good;
}
