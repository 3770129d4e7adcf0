/* What is typed into `top`. top.h declares it. */
#include <stdint.h>
#include <string.h>

#include "report/top.h"

#include "base/banned.h"

/* The keys that scroll, as terminals send them (xterm, VT100, VT220). */
enum scroll { UP, DOWN, PAGE_UP, PAGE_DOWN, HOME, END, SCROLLS };

struct scroll_key {
    const char *bytes;
    enum scroll scroll;
};

static const struct scroll_key scroll_keys[] = {
    {"\033[A", UP},       {"\033OA", UP},   {"k", UP},
    {"\033[B", DOWN},     {"\033OB", DOWN}, {"j", DOWN},
    {"\033[5~", PAGE_UP}, {"b", PAGE_UP},   {"\033[6~", PAGE_DOWN},
    {" ", PAGE_DOWN},     {"\033[H", HOME}, {"\033OH", HOME},
    {"\033[1~", HOME},    {"g", HOME},      {"\033[F", END},
    {"\033OF", END},      {"\033[4~", END}, {"G", END},
};

static void scroll_view(struct jr_top_view *view, enum scroll scroll)
{
    size_t page = view->page > 1 ? view->page : 1, first = view->first;
    const size_t to[SCROLLS] = {
        [UP] = first > 0 ? first - 1 : 0,
        [DOWN] = first + 1,
        [PAGE_UP] = first > page ? first - page : 0,
        [PAGE_DOWN] = first + page,
        [HOME] = 0,
        [END] = SIZE_MAX,
    };
    view->first = to[scroll];
}

static void sort_view(struct jr_top_view *view, enum jr_top_sort sort)
{
    view->reversed = view->chosen && view->sort == sort && !view->reversed;
    view->chosen = true;
    view->sort = sort;
    view->first = 0;
}

/* The length of a control sequence (ECMA-48, 5.4), whatever it means. */
static size_t sequence_length(const char *keys, size_t len)
{
    size_t at = 2;
    if (len < 2 || keys[0] != '\033' || (keys[1] != '[' && keys[1] != 'O'))
        return 1;
    while (at < len && (unsigned char)keys[at] < '@')
        at++;
    return at < len ? at + 1 : len;
}

static void type_key(struct jr_top_view *view, const char *key, size_t len)
{
    static const char sorts[] = {
#define KEY(name, key, word) key,
        JR_TOP_SORTS(KEY)
#undef KEY
    };
    for (size_t i = 0; i < sizeof scroll_keys / sizeof *scroll_keys; i++)
        if (strlen(scroll_keys[i].bytes) == len &&
            memcmp(scroll_keys[i].bytes, key, len) == 0)
            scroll_view(view, scroll_keys[i].scroll);
    for (size_t i = 0; i < JR_TOP_SORT_COUNT; i++)
        if (len == 1 && *key == sorts[i])
            sort_view(view, (enum jr_top_sort)i);
}

bool jr_top_type(struct jr_top_view *view, const char *keys, size_t len)
{
    while (len > 0) {
        size_t key = sequence_length(keys, len);
        if (*keys == 'q' || *keys == 'Q')
            return false;
        type_key(view, keys, key);
        keys += key;
        len -= key;
    }
    return true;
}
