#include "spawn/rlimits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

#include "base/banned.h"

/* The spec has checked the form; what is beyond 64 bits is as good as none. */
static rlim_t limit_value(const char *text)
{
    uint64_t value;
    if (strcmp(text, "unlimited") == 0 || !jr_num_size(text, &value))
        return RLIM_INFINITY;
    return (rlim_t)value;
}

/* Whether the kernel lets us: by trying, for that root may is not always so. */
static bool may_raise(int resource, const struct rlimit *limit)
{
    struct rlimit found;
    struct rlimit raised = {.rlim_max = limit->rlim_max};
    if (getrlimit((__rlimit_resource_t)resource, &found) != 0)
        return false;
    raised.rlim_cur = found.rlim_cur;
    if (setrlimit((__rlimit_resource_t)resource, &raised) != 0)
        return false;
    return setrlimit((__rlimit_resource_t)resource, &found) == 0;
}

static int refuse_limit(const char *name, const char *text, rlim_t hard,
                        struct jr_error *err)
{
    return jr_error_set(err, JR_STATUS_LAUNCH,
                        "limits.%s: %s is more than the hard limit, %" PRIu64
                        ", which jobrun may not raise (ulimit -H, limits.conf)",
                        name, text, (uint64_t)hard);
}

int jr_limits_make(struct jr_limit_list *ret, const struct jr_limits *wanted,
                   struct jr_error *err)
{
    const struct {
        const char *name, *text;
        int resource;
    } rows[] = {
        {"nofile", wanted->nofile, RLIMIT_NOFILE},
        {"core", wanted->core, RLIMIT_CORE},
        {"memlock", wanted->memlock, RLIMIT_MEMLOCK},
        {"stack", wanted->stack, RLIMIT_STACK},
        {"as", wanted->as, RLIMIT_AS},
        {"nproc", wanted->nproc, RLIMIT_NPROC},
    };
    struct jr_limit_list list = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rlimit limit;
        if (rows[i].text == NULL ||
            getrlimit((__rlimit_resource_t)rows[i].resource, &limit) != 0)
            continue;
        rlim_t hard = limit.rlim_max;
        limit.rlim_cur = limit_value(rows[i].text);
        if (limit.rlim_cur > limit.rlim_max)
            limit.rlim_max = limit.rlim_cur;
        if (limit.rlim_max > hard && !may_raise(rows[i].resource, &limit))
            return refuse_limit(rows[i].name, rows[i].text, hard, err);
        list.items[list.count++] = (struct jr_limit){rows[i].resource, limit};
    }
    *ret = list;
    return 0;
}

void jr_limits_restore(struct jr_limit_list *list, int resource,
                       const struct rlimit *found)
{
    for (unsigned i = 0; i < list->count; i++)
        if (list->items[i].resource == resource)
            return;
    list->items[list->count++] = (struct jr_limit){resource, *found};
}
