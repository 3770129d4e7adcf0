/* The resource limits that ranks get (setrlimit(2)). */
#ifndef JR_RLIMITS_H
#define JR_RLIMITS_H

#include <sys/resource.h>

#include <jobrun/error.h>
#include <jobrun/types.h>

#define JR_LIMITS_MOST 7

struct jr_limit {
    int resource; /* RLIMIT_* */
    struct rlimit limit;
};

struct jr_limit_list {
    unsigned count;
    struct jr_limit items[JR_LIMITS_MOST];
};

/* Those that the policy states: the soft limit is what it says, the hard one
 * what it is, or as much where it is less. Returns 0, or -1 with `err` where
 * that is more than this user may have. */
int jr_limits_make(struct jr_limit_list *ret, const struct jr_limits *wanted,
                   struct jr_error *err);

/* Undo a raised soft limit, unless the list has that resource already. */
void jr_limits_restore(struct jr_limit_list *list, int resource,
                       const struct rlimit *found);

#endif
