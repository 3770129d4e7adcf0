/* What only a process of its own may try: it lowers its limits, leaves its namespaces, or is denied
 * calls. */
#ifndef ELSEWHERE_H
#define ELSEWHERE_H

#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

/* The exit code of one that cannot be tried here. */
enum { SKIPPED = 77 };

static inline void check_elsewhere(pid_t pid, const char *what)
{
    int status = -1;
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    bool skipped = WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED;
    if (status != 0)
        (void)printf("\n    %s: %s\n", skipped ? "SKIPPED, it cannot be done here" : "failed",
                     what);
    CU_ASSERT_TRUE(status == 0 || skipped);
}

/* Whether `good` holds there. */
#define ELSEWHERE(good)                                                                            \
    do {                                                                                           \
        pid_t elsewhere_ = fork();                                                                 \
        if (elsewhere_ == 0)                                                                       \
            _exit((good) ? 0 : 1);                                                                 \
        check_elsewhere(elsewhere_, #good);                                                        \
    } while (0)

#endif
