#include "plan/deadline_notice.h"

#include <stddef.h>
#include <string.h>

#include "base/banned.h"

/* What schedulers know by name, and jobrun forwards where nothing is said. */
static const char *const notices[] = {"USR1", "USR2"};

enum { NOTICES = sizeof notices / sizeof notices[0] };

static bool is_forwarded(const struct jr_policy *policy, const char *name)
{
    for (uint32_t i = 0; i < policy->signals_count; i++)
        if (strcmp(policy->signals[i].name, name) == 0)
            return policy->signals[i].use == JR_ON_SIGNAL_FORWARD;
    return true;
}

const char *jr_deadline_notice(const struct jr_policy *policy)
{
    const char *found = NULL;
    if (policy->deadline.before_ms == 0)
        return NULL;
    for (size_t i = NOTICES; i-- > 0;)
        if (is_forwarded(policy, notices[i]))
            found = notices[i];
    for (size_t i = 0; i < NOTICES; i++)
        if (strcmp(policy->deadline.signal, notices[i]) == 0 && is_forwarded(policy, notices[i]))
            found = notices[i];
    return found;
}
