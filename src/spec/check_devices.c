#include "spec/check_devices.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jobrun/contract.h>
#include <jobrun/types.h>

#include "base/cleanup.h"
#include "spec/internal.h"

#include "base/banned.h"

#define WORD(name, word, help) word,

/* The kinds of device that a backend drives, as bits. */
static uint32_t kinds_driven_by(const char *backend)
{
#define DRIVES(name, kinds) [JR_BACKEND_##name] = (kinds),
    static const char *const words[] = {JR_BACKENDS(WORD)};
    static const uint32_t drives[] = {JR_BACKEND_DRIVES(DRIVES)};
    for (size_t i = 0; i < JR_BACKEND_CUSTOM; i++)
        if (strcmp(words[i], backend) == 0)
            return drives[i];
    return ~0u;
}

static bool is_device_word(const struct jr_node *node, const char *word)
{
    return node != NULL && node->kind == JR_NODE_SCALAR && strcmp(node->text, word) == 0;
}

static void refuse_backend(const struct jr_check *check, const struct jr_node *backend,
                           const struct jr_node *device)
{
    const char *said = jr_lint_said(check->lint, backend);
    if (device == jr_doc_get(check->tree, "devices"))
        (void)jr_check_clash(check, JR_CODE_BACKEND_CONTRADICTS_DEVICE, backend, device,
                             "backend %s cannot drive the CPU, and devices: "
                             "none leaves nothing else",
                             said);
    else
        (void)jr_check_clash(check, JR_CODE_BACKEND_CONTRADICTS_DEVICE, backend, device,
                             "backend %s cannot drive device %s", said,
                             jr_lint_said(check->lint, device));
}

/* Where no device is to be used, it is the CPU that is driven. */
static void check_backends(const struct jr_check *check)
{
    static const char *const kinds[] = {JR_DEVICES(WORD)};
    const struct jr_node *device = jr_doc_get(check->tree, "device");
    const struct jr_node *devices = jr_doc_get(check->tree, "devices");
    const struct jr_node *backends = jr_doc_get(check->tree, "backends");
    uint32_t kind = JR_DEVICE_CPU;
    if (device == NULL && is_device_word(devices, "none") && !jr_check_is_open(check, "device"))
        device = devices;
    if (device == NULL || backends == NULL)
        return;
    while (device != devices && kind < JR_DEVICE_CUSTOM && strcmp(kinds[kind], device->text) != 0)
        kind++;
    for (size_t i = 0; kind < JR_DEVICE_CUSTOM && i < backends->count; i++) {
        const struct jr_node *backend = backends->pairs[i].value;
        if ((kinds_driven_by(backend->text) & 1u << kind) == 0)
            refuse_backend(check, backend, device);
    }
}

/* device and devices, which may each say that there is none. */
static bool check_device_kind(const struct jr_check *check, const struct jr_node *devices)
{
    const struct jr_node *device = jr_doc_get(check->tree, "device");
    bool list = devices->kind == JR_NODE_SEQUENCE;
    if (device == NULL ||
        (is_device_word(device, "cpu") ? !list : !is_device_word(devices, "none")))
        return true;
    struct jr_diag *diag = jr_check_clash(
        check, JR_CODE_BIND_CONTRADICTS_DEVICES, devices, device, "%s contradicts device %s",
        list ? "a list of devices" : "devices none", jr_lint_said(check->lint, device));
    jr_diag_help(check->lint->diags, diag, "leave one of the two out");
    return false;
}

static int compare_device_nodes(const void *a, const void *b)
{
    const struct jr_node *const *left = a, *const *right = b;
    int order = strcmp((*left)->text, (*right)->text);
    if (order != 0)
        return order;
    order = (*left)->span.line > (*right)->span.line;
    if ((*left)->span.line == (*right)->span.line)
        return (*left)->span.column > (*right)->span.column ? 1 : -1;
    return order != 0 ? 1 : -1;
}

/* A device that is listed twice would be given to two ranks. */
static void check_device_twice(const struct jr_check *check, const struct jr_node *devices)
{
    size_t count = devices->count;
    JR_FREE const struct jr_node **items = calloc(count, sizeof *items);
    if (items == NULL) {
        check->lint->arena->failed = true;
        return;
    }
    memcpy(items, devices->items, count * sizeof *items);
    qsort(items, count, sizeof *items, compare_device_nodes);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(items[i - 1]->text, items[i]->text) != 0)
            continue;
        struct jr_diag *diag =
            jr_check_clash(check, JR_CODE_DEVICE_TWICE, items[i], items[i - 1],
                           "devices has %s twice", jr_lint_said(check->lint, items[i]));
        jr_diag_help(check->lint->diags, diag,
                     "leave one out, or let ranks share devices "
                     "(" JR_SETTING("oversubscribe", "true") ")");
    }
}

/* There must be as many devices as a node has ranks, or fewer if ranks share them. */
static void check_count(const struct jr_check *check, const struct jr_node *devices, bool shared)
{
    const struct jr_sizes sizes = jr_check_known(check);
    const struct jr_known *local = &sizes.local, *most = jr_check_most(&sizes);
    uint64_t count = devices->count;
    bool more = most->node != NULL && count > most->value;
    bool fewer = local->node != NULL && count < local->value && !shared;
    if (!more && !fewer)
        return;
    struct jr_diag *diag =
        jr_check_clash(check, JR_CODE_DEVICES_CONTRADICT_RANKS, devices, most->node,
                       "devices lists %" PRIu64 " device%s, but %s", count, count == 1 ? "" : "s",
                       jr_check_say_most(check, &sizes));
    jr_diag_help(check->lint->diags, diag,
                 more ? "local rank i gets entry i: leave out the entries that no rank uses"
                      : "list one for each local rank, or let ranks share them "
                        "(" JR_SETTING("oversubscribe", "true") ")");
}

/* Ranks are bound to the CPUs of their devices, which they have to have. */
static void check_bind(const struct jr_check *check)
{
    const struct jr_node *bind = jr_doc_get(check->tree, "bind");
    const struct jr_node *device = jr_doc_get(check->tree, "device");
    const struct jr_node *devices = jr_doc_get(check->tree, "devices");
    bool cpu = is_device_word(device, "cpu"), none = is_device_word(devices, "none");
    if (!is_device_word(bind, "device") || (!cpu && !none))
        return;
    struct jr_diag *diag =
        jr_check_clash(check, JR_CODE_BIND_CONTRADICTS_DEVICES, bind, cpu ? device : devices,
                       "bind device contradicts %s", cpu ? "device cpu" : "devices none");
    jr_diag_help(check->lint->diags, diag, "bind: core and bind: numa bind ranks to CPUs");
}

void jr_check_devices(const struct jr_check *check)
{
    const struct jr_node *devices = jr_doc_get(check->tree, "devices");
    const char *flag = jr_check_text(check, "oversubscribe");
    bool shared =
        jr_check_is_open(check, "oversubscribe") || (flag != NULL && strcasecmp(flag, "true") == 0);
    check_backends(check);
    check_bind(check);
    if (devices == NULL || !check_device_kind(check, devices) || devices->kind != JR_NODE_SEQUENCE)
        return;
    if (!shared)
        check_device_twice(check, devices);
    check_count(check, devices, shared);
}
