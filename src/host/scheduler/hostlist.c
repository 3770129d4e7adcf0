#include "host/scheduler/hostlist.h"

#include <inttypes.h>
#include <string.h>

#include "base/num.h"

#include "base/banned.h"

#define DIGITS "0123456789"
/* What a host's name may consist of (slurm.conf(5), RFC 1123). */
#define NAME DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-"

/* One range of a bracket: `first` to `last`, `width` digits wide at least. */
struct range {
    uint32_t first, last;
    int width;
};

/* A piece of an item: text, and the bracket behind it. */
struct piece {
    const char *text;
    int len;
    struct range *ranges;
    size_t count;
    uint64_t values; /* that the bracket has; 1 for none */
};

struct reader {
    const char *at;
    struct jr_arena *arena;
    struct jr_strv *hosts;
    struct piece pieces[JR_HOSTLIST_BRACKETS];
    size_t pieces_count;
};

/* A number of a range, and how wide it is written: zeros in front count. */
static bool read_end(struct reader *r, uint32_t *ret, int *ret_width)
{
    size_t len = strspn(r->at, DIGITS);
    uint32_t value = 0;
    if (len == 0 || len > 9)
        return false;
    for (size_t i = 0; i < len; i++)
        value = value * 10 + (uint32_t)(r->at[i] - '0');
    *ret = value;
    *ret_width = (int)len;
    r->at += len;
    return true;
}

static bool read_host_range(struct reader *r, struct range *ret)
{
    const char *start = r->at;
    int width;
    if (!read_end(r, &ret->first, &ret->width))
        return false;
    ret->last = ret->first;
    if (*r->at != '-')
        return true;
    r->at++;
    if (!read_end(r, &ret->last, &width))
        return false;
    if (ret->last >= ret->first && width >= ret->width && ret->last - ret->first < JR_HOSTLIST_MAX)
        return true;
    r->at = start;
    return false;
}

/* From behind the opening bracket to behind the closing one. */
static bool read_bracket(struct reader *r, struct piece *piece)
{
    for (piece->values = 0;;) {
        struct range range;
        if (!read_host_range(r, &range))
            return false;
        piece->values += range.last - range.first + 1;
        struct range *slot = jr_arena_push(r->arena, &piece->ranges, &piece->count, sizeof *slot);
        if (slot == NULL)
            return false;
        *slot = range;
        if (*r->at != ',' && *r->at != ']')
            return false;
        if (*r->at++ == ']')
            return true;
    }
}

static bool read_host_item(struct reader *r)
{
    r->pieces_count = 0;
    while (*r->at != ',' && *r->at != '\0') {
        if (r->pieces_count == JR_HOSTLIST_BRACKETS)
            return false;
        struct piece *piece = &r->pieces[r->pieces_count];
        *piece = (struct piece){.text = r->at, .len = (int)strspn(r->at, NAME), .values = 1};
        r->at += piece->len;
        bool bracket = *r->at == '[';
        /* A name, or the prefix of one; nothing stands behind the last bracket, in keeping with
         * Slurm. */
        if ((!bracket && (piece->len == 0 || r->pieces_count > 0)) ||
            (bracket && piece->len == 0 && r->pieces_count == 0)) {
            r->at = bracket ? r->at : piece->text + piece->len;
            return false;
        }
        r->at += bracket;
        if (bracket && !read_bracket(r, piece))
            return false;
        r->pieces_count++;
        if (!bracket)
            break;
    }
    return r->pieces_count > 0 && (*r->at == ',' || *r->at == '\0');
}

/* The host of an item that stands at `number` in its expansion. */
static void push_host(struct reader *r, uint64_t number)
{
    JR_BUF_CLEANUP struct jr_buf name = JR_BUF_INIT;
    uint64_t numbers[JR_HOSTLIST_BRACKETS] = {0};
    /* The last bracket turns fastest, then the first, the second and so on. It is Slurm's order,
     * and with three brackets not the one of reading; and a node's place in it is its rank. */
    for (size_t step = 0; step < r->pieces_count; step++) {
        size_t piece = step == 0 ? r->pieces_count - 1 : step - 1;
        uint64_t values = r->pieces[piece].values;
        numbers[piece] = number % values;
        number /= values;
    }
    for (size_t i = 0; i < r->pieces_count; i++) {
        const struct range *range = r->pieces[i].ranges;
        const struct range *end = range + r->pieces[i].count;
        jr_buf_add(&name, r->pieces[i].text, (size_t)r->pieces[i].len);
        for (; range < end && numbers[i] > range->last - range->first; range++)
            numbers[i] -= range->last - range->first + 1;
        if (range < end)
            jr_buf_printf(&name, "%0*" PRIu64, range->width, range->first + numbers[i]);
    }
    jr_strv_push(r->hosts, r->arena, jr_buf_keep(&name, r->arena));
}

/* Expand the item that was read; false when that is too much. */
static bool expand_host_item(struct reader *r)
{
    uint64_t total = 1;
    for (size_t i = 0; i < r->pieces_count; i++) {
        uint64_t values = r->pieces[i].values;
        if (values > JR_HOSTLIST_MAX || total > JR_HOSTLIST_MAX)
            return false;
        total *= values;
    }
    if (total > JR_HOSTLIST_MAX - r->hosts->count)
        return false;
    for (uint64_t i = 0; i < total && !r->arena->failed; i++)
        push_host(r, i);
    return true;
}

bool jr_hostlist_expand(struct jr_strv *ret, struct jr_arena *arena, const char *text,
                        const char **ret_bad)
{
    struct jr_strv hosts = {0};
    struct reader r = {.at = text, .arena = arena, .hosts = &hosts};
    for (bool more = true; more; r.at += more) {
        const char *item = r.at;
        bool whole = read_host_item(&r);
        if (!whole || !expand_host_item(&r)) {
            *ret_bad = whole ? item : r.at;
            return false;
        }
        more = *r.at == ',';
    }
    *ret = hosts;
    return true;
}

static bool read_task_count(const char **at, uint32_t *ret)
{
    uint64_t value;
    if (!jr_num_digits(at, &value) || value == 0 || value > JR_HOSTLIST_MAX)
        return false;
    *ret = (uint32_t)value;
    return true;
}

bool jr_counts_expand(struct jr_counts *ret, struct jr_arena *arena, const char *text)
{
    uint32_t *items = NULL;
    size_t size = 0;
    for (bool more = true; more; text += more) {
        uint32_t count, times = 1; /* COUNT or COUNT(xTIMES) */
        if (!read_task_count(&text, &count))
            return false;
        if (text[0] == '(') {
            if (text[1] != 'x')
                return false;
            text += 2;
            if (!read_task_count(&text, &times) || *text++ != ')')
                return false;
        }
        if (times > JR_HOSTLIST_MAX - size)
            return false;
        for (uint32_t i = 0; i < times; i++) {
            uint32_t *slot = jr_arena_push(arena, &items, &size, sizeof *slot);
            if (slot == NULL)
                return false;
            *slot = count;
        }
        more = *text == ',';
    }
    if (*text != '\0')
        return false;
    *ret = (struct jr_counts){items, (uint32_t)size};
    return true;
}

char *jr_counts_print(const struct jr_counts *counts, struct jr_arena *arena)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (counts->count == 0)
        return NULL;
    for (uint32_t i = 0, times; i < counts->count; i += times) {
        times = 1;
        while (i + times < counts->count && counts->items[i + times] == counts->items[i])
            times++;
        jr_buf_printf(&text, "%s%u", i == 0 ? "" : ",", counts->items[i]);
        if (times > 1)
            jr_buf_printf(&text, "(x%u)", times);
    }
    return jr_buf_keep(&text, arena);
}
