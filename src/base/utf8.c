#include "base/utf8.h"

#include <string.h>

#include "base/banned.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct block {
    uint32_t first, last;
};

static bool is_in_blocks(const struct block *blocks, size_t count, uint32_t point)
{
    for (size_t i = 0; i < count; i++)
        if (point >= blocks[i].first && point <= blocks[i].last)
            return true;
    return false;
}

size_t jr_utf8_decode(const char *text, size_t len, uint32_t *ret)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t point = len == 0 ? 0xff : (unsigned char)text[0];
    /* The first byte announces the size by the bits that it begins with. */
    size_t size = point < 0x80 ? 1 : point < 0xc0 ? 0 : point < 0xe0 ? 2 : point < 0xf0 ? 3 : 4;
    if (size == 0 || size > len || point >= 0xf8)
        return 0;
    if (size > 1)
        point &= 0x7fu >> size;
    for (size_t i = 1; i < size; i++) {
        unsigned char next = (unsigned char)text[i];
        if ((next & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (next & 0x3f);
    }
    bool surrogate = point >= 0xd800 && point <= 0xdfff;
    if (point < smallest[size] || point > 0x10ffff || surrogate)
        return 0;
    *ret = point;
    return size;
}

bool jr_utf8_is_text(const char *text)
{
    uint32_t point;
    size_t len = strlen(text), size = 1;
    for (; len > 0 && size > 0; text += size, len -= size)
        size = jr_utf8_decode(text, len, &point);
    return size > 0;
}

size_t jr_utf8_next(const char *text, size_t len, uint32_t *ret)
{
    size_t size = jr_utf8_decode(text, len, ret);
    if (size != 0)
        return size;
    *ret = (unsigned char)*text;
    return 1;
}

size_t jr_utf8_points(const char *text, size_t len)
{
    size_t points = 0;
    uint32_t point;
    for (size_t at = 0; at < len; points++)
        at += jr_utf8_next(text + at, len - at, &point);
    return points;
}

size_t jr_utf8_cut(const char *text, size_t len, size_t most)
{
    size_t cut = len < most ? len : most;
    while (cut > 0 && cut < len && ((unsigned char)text[cut] & 0xc0) == 0x80)
        cut--;
    return cut;
}

bool jr_utf8_is_shown(uint32_t point)
{
    static const struct block hidden[] = {
        {0x00, 0x1f},     {0x7f, 0x9f},     {0x061c, 0x061c}, {0x200e, 0x200f},
        {0x2028, 0x202e}, {0x2066, 0x2069}, {0xfeff, 0xfeff},
    };
    return !is_in_blocks(hidden, COUNT(hidden), point);
}

bool jr_utf8_is_unseen(uint32_t point)
{
    static const struct block unseen[] = {
        {0xad, 0xad},     {0x034f, 0x034f}, {0x061c, 0x061c}, {0x180e, 0x180e},
        {0x200b, 0x200f}, {0x202a, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff},
    };
    return is_in_blocks(unseen, COUNT(unseen), point);
}

/* The blocks that matter in specs, not the whole of Unicode's tables: the C library's wcwidth has
 * those, but only under a UTF-8 locale, and a diagnostic must not change with LC_ALL. */
unsigned jr_utf8_width(uint32_t point)
{
    static const struct block narrow[] = {
        {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x0610, 0x061a}, {0x064b, 0x065f},
        {0x200b, 0x200d}, {0x20d0, 0x20f0}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
    };
    static const struct block wide[] = {
        {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xac00, 0xd7a3},
        {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
        {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
    };
    if (is_in_blocks(narrow, COUNT(narrow), point))
        return 0;
    return is_in_blocks(wide, COUNT(wide), point) ? 2 : 1;
}

size_t jr_utf8_columns(const char *text, size_t len)
{
    size_t columns = 0;
    for (size_t at = 0; at < len;) {
        uint32_t point;
        at += jr_utf8_next(text + at, len - at, &point);
        columns += jr_utf8_width(point);
    }
    return columns;
}

size_t jr_utf8_fit(const char *text, size_t len, size_t columns)
{
    size_t at = 0, size;
    for (; at < len; at += size) {
        uint32_t point;
        size = jr_utf8_next(text + at, len - at, &point);
        if (jr_utf8_width(point) > columns)
            break;
        columns -= jr_utf8_width(point);
    }
    return at;
}
