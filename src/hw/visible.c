#include "visible.h"

#include <string.h>

#include "banned.h"

/* What follows this many elements is cut: no node has more devices. */
enum { ELEMENTS_MAX = 1024 };

static const char MIG[] = "MIG-", UUID[] = "GPU-", BLANKS[] = " \t\n\v\f\r";

/* One element of the list: an ordinal, or text that begins a UUID. */
struct element {
    const char *text;
    size_t len;
    uint32_t ordinal;
};

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool jr_visible_is_mig(const char *value)
{
    return begins(value, MIG);
}

/* The number at the start of an element. False for a negative one and where
 * there is none. A number too large for any machine stays too large. */
static bool read_ordinal(struct element *element)
{
    const char *at = element->text + strspn(element->text, BLANKS);
    bool negative = *at == '-';
    if (*at == '-' || *at == '+')
        at++;
    size_t digits = strspn(at, "0123456789");
    uint32_t value = 0;
    for (size_t i = 0; i < digits; i++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint32_t)(at[i] - '0'), &value))
            value = UINT32_MAX;
    element->ordinal = value;
    return digits > 0 && !(negative && value > 0);
}

static bool is_same(const struct element *a, const struct element *b,
                    bool by_uuid)
{
    if (!by_uuid)
        return a->ordinal == b->ordinal;
    return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

/* Read the elements up to the first bad one. A repeated one empties the list.
 */
static size_t split(struct element *elements, const char *value, bool by_uuid)
{
    size_t count = 0;
    for (const char *at = value; at != NULL && count < ELEMENTS_MAX;) {
        struct element element = {.text = at, .len = strcspn(at, ",")};
        if (by_uuid ? !begins(at, UUID) : !read_ordinal(&element))
            break;
        for (size_t i = 0; i < count; i++)
            if (is_same(&elements[i], &element, by_uuid))
                return 0;
        elements[count++] = element;
        at = at[element.len] == ',' ? at + element.len + 1 : NULL;
    }
    return count;
}

/* The only device whose UUID begins with the text; `count` when there is none
 * or more than one. */
static uint32_t find_uuid(const struct element *element,
                          const struct jr_hw_device *devices, uint32_t count)
{
    uint32_t found = count;
    for (uint32_t i = 0; i < count; i++) {
        const char *uuid = devices[i].uuid;
        if (uuid == NULL || strncmp(uuid, element->text, element->len) != 0)
            continue;
        if (found != count)
            return count;
        found = i;
    }
    return found;
}

uint32_t jr_visible_cuda(uint32_t *order, const struct jr_hw_device *devices,
                         uint32_t count, const char *value)
{
    struct element elements[ELEMENTS_MAX];
    bool by_uuid = value != NULL && begins(value, UUID);
    size_t elements_count = value == NULL ? 0 : split(elements, value, by_uuid);
    uint32_t found = 0;
    for (; value == NULL && found < count; found++)
        order[found] = found;
    for (size_t i = 0; i < elements_count; i++) {
        uint32_t device = by_uuid ? find_uuid(&elements[i], devices, count)
                                  : elements[i].ordinal;
        if (device >= count)
            break;
        for (uint32_t j = 0; j < found; j++)
            if (order[j] == device)
                return 0;
        order[found++] = device;
    }
    return found;
}
