/* What the visibility variables leave of a machine's devices. Each has a grammar of its own, and
 * its own rule for an element that it cannot use. Declared in accel.h.
 */
#include "host/accel/accel.h"

#include <string.h>

#include "base/strv.h"

#include "base/banned.h"

/* What follows this many elements is cut: no node has more devices. */
enum { ELEMENTS_MAX = 1024 };

static const char MIG[] = "MIG-", UUID[] = "GPU-", BLANKS[] = " \t\n\v\f\r";

/* One element of the list: an ordinal, or text that begins a UUID. */
struct element {
    const char *text;
    size_t len;
    uint32_t ordinal;
};

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool jr_visible_is_mig(const char *value)
{
    return begins_with(value, MIG);
}

/* The number at the start of an element. False for a negative one and if there is none. A number
 * too large for any machine stays too large. */
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

/* Read the elements up to the first bad one. A repeated one empties the list.
 */
static size_t split_elements(struct element *elements, const char *value, bool by_uuid)
{
    const char *kind = begins_with(value, MIG) ? MIG : UUID;
    size_t count = 0;
    for (const char *at = value; at != NULL && count < ELEMENTS_MAX;) {
        struct element element = {.text = at, .len = strcspn(at, ",")};
        if (by_uuid ? !begins_with(at, kind) : !read_ordinal(&element))
            break;
        for (size_t i = 0; i < count; i++) {
            const struct element *other = &elements[i];
            bool same = by_uuid ? other->len == element.len &&
                                      memcmp(other->text, element.text, element.len) == 0
                                : other->ordinal == element.ordinal;
            if (same)
                return 0;
        }
        elements[count++] = element;
        at = at[element.len] == ',' ? at + element.len + 1 : NULL;
    }
    return count;
}

/* The only device whose UUID begins with the text; `count` if there is none or more than one. */
static uint32_t find_uuid(const struct element *element, const struct jr_host_device *devices,
                          uint32_t count)
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

uint32_t jr_visible_cuda(uint32_t *order, const struct jr_host_device *devices, uint32_t count,
                         const char *value)
{
    struct element elements[ELEMENTS_MAX];
    bool by_uuid = value != NULL && (begins_with(value, UUID) || begins_with(value, MIG));
    size_t elements_count = value == NULL ? 0 : split_elements(elements, value, by_uuid);
    uint32_t found = 0;
    for (; value == NULL && found < count; found++)
        order[found] = found;
    for (size_t i = 0; i < elements_count; i++) {
        uint32_t device = by_uuid ? find_uuid(&elements[i], devices, count) : elements[i].ordinal;
        if (device >= count)
            break;
        for (uint32_t j = 0; j < found; j++)
            if (order[j] == device)
                return 0;
        order[found++] = device;
    }
    return found;
}

/* What the other vendors read: indices or, where it says so, UUIDs, between commas. Whatever cannot
 * be used ends the list, and what was read up to there counts. */
struct grammar {
    enum jr_device kind;
    const char *variable;
    const char *all; /* a word that stands for all; NULL: none does */
    bool uuids;      /* taken as well, cut short as long as they are unique */
    bool ascending;  /* an index that is not beyond the one before ends it */
    bool always;     /* counts within what the rows before leave; else a row
                        counts only if none before it is set */
};

static const struct grammar grammars[] = {
    /* HIP's count what ROCR's has left; CUDA's is HIP's other name */
    {JR_DEVICE_ROCM, "ROCR_VISIBLE_DEVICES", NULL, true, false, false},
    {JR_DEVICE_ROCM, "HIP_VISIBLE_DEVICES", NULL, false, false, true},
    {JR_DEVICE_ROCM, "CUDA_VISIBLE_DEVICES", NULL, false, false, false},
    {JR_DEVICE_ROCM, "GPU_DEVICE_ORDINAL", NULL, false, false, false},
    {JR_DEVICE_XPU, "ZE_AFFINITY_MASK", NULL, false, false, false},
    {JR_DEVICE_HPU, "HABANA_VISIBLE_DEVICES", "all", false, false, false},
    {JR_DEVICE_NPU, "ASCEND_RT_VISIBLE_DEVICES", NULL, false, true, false},
    {JR_DEVICE_MLU, "MLU_VISIBLE_DEVICES", NULL, false, false, false},
};

/* The position of the device with an index; `count` if there is none. */
static uint32_t find_index(const struct element *element, const struct jr_host_device *devices,
                           uint32_t count)
{
    uint32_t index = 0;
    for (size_t i = 0; i < element->len; i++)
        if (element->text[i] < '0' || element->text[i] > '9' ||
            __builtin_mul_overflow(index, 10, &index) ||
            __builtin_add_overflow(index, (uint32_t)(element->text[i] - '0'), &index))
            return count;
    for (uint32_t i = 0; i < count && element->len > 0; i++)
        if (devices[i].index == index)
            return i;
    return count;
}

static uint32_t read_visible_list(uint32_t *order, const struct jr_host_device *devices,
                                  uint32_t count, const struct grammar *grammar, const char *value)
{
    uint32_t found = 0;
    bool all = grammar->all != NULL && strcmp(value, grammar->all) == 0;
    for (; all && found < count; found++)
        order[found] = found;
    for (const char *at = all ? NULL : value; at != NULL;) {
        struct element element = {.text = at, .len = strcspn(at, ",")};
        bool number = strspn(at, "0123456789") == element.len;
        bool by_uuid = grammar->uuids &&
                       (begins_with(at, UUID) || (grammar->kind == JR_DEVICE_CUSTOM && !number));
        uint32_t device =
            by_uuid ? find_uuid(&element, devices, count) : find_index(&element, devices, count);
        uint32_t before = 0;
        while (before < found && order[before] != device)
            before++;
        if (device >= count || before < found ||
            (grammar->ascending && found > 0 && device < order[found - 1]))
            break;
        order[found++] = device;
        at = at[element.len] == ',' ? at + element.len + 1 : NULL;
    }
    return found;
}

/* Apply a list to what is left: its indices count that from 0. */
static uint32_t narrow_visible(uint32_t *order, uint32_t left, const char *value,
                               const struct grammar *grammar)
{
    struct jr_host_device slots[ELEMENTS_MAX];
    uint32_t picked[ELEMENTS_MAX], kept[ELEMENTS_MAX];
    for (uint32_t i = 0; i < left; i++) {
        slots[i] = (struct jr_host_device){.index = i};
        kept[i] = order[i];
    }
    uint32_t found = read_visible_list(picked, slots, left, grammar, value);
    for (uint32_t i = 0; i < found; i++)
        order[i] = kept[picked[i]];
    return found;
}

uint32_t jr_visible(uint32_t *order, const struct jr_host_device *devices, uint32_t count,
                    enum jr_device kind, char *const *envp)
{
    uint32_t left = count;
    bool set = false;
    if (kind == JR_DEVICE_CUDA)
        return jr_visible_cuda(order, devices, count, jr_env_get(envp, JR_CUDA_VISIBLE));
    if (count > ELEMENTS_MAX)
        return 0;
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t i = 0; i < sizeof grammars / sizeof grammars[0]; i++) {
        const struct grammar *grammar = &grammars[i];
        const char *value = jr_env_get(envp, grammar->variable);
        if (grammar->kind != kind || value == NULL || (set && !grammar->always))
            continue;
        left = set || grammar->always ? narrow_visible(order, left, value, grammar)
                                      : read_visible_list(order, devices, count, grammar, value);
        set = true;
    }
    return left;
}

uint32_t jr_visible_custom(uint32_t *order, const struct jr_host_device *devices, uint32_t count,
                           const char *value)
{
    static const struct grammar grammar = {.kind = JR_DEVICE_CUSTOM, .uuids = true};
    if (value != NULL)
        return read_visible_list(order, devices, count, &grammar, value);
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    return count;
}
