/* `jobrun plan` of a sweep: its cells, what each needs, and how many rounds
 * they take. */
#ifndef JR_PLAN_CELLS_H
#define JR_PLAN_CELLS_H

#include <jobrun/jobrun.h>

struct jr_plan_cells_options {
    uint32_t parallel; /* cells at once at most; 0: what the spec says */
    bool json;
    int (*take)(void *data, const char *text, size_t len);
    void *data;
};

/* Find the needs of the cells on the machine whose facts the session has, and tell them as text or
 * as JSON, piece by piece: `take` as jr_session_tell has it. */
enum jr_status jr_session_plan_cells(struct jr_session *session,
                                     const struct jr_plan_cells_options *options,
                                     struct jr_error *err);

#endif
