/* `show --stacks`: what the ranks of a run are doing, or were when it hung. */
#ifndef JR_STACKS_H
#define JR_STACKS_H

#include "base/buf.h"
#include "base/json.h"
#include "base/rank_set.h"

/* The run and the ranks. */
struct jr_stacks_view {
    const struct jr_set *ranks;
    const uint32_t *attempt; /* NULL: the last, or the one that continues */
};

/* The evidence of each rank of the set, as in hang.json: of a running job it is
 * gathered now, by two looks half a second apart; of another one it is what was
 * gathered when it hung. A new array, empty if there is none; NULL with `err`.
 */
json_t *jr_stacks_of(const char *log_dir, const char *id,
                     const struct jr_stacks_view *view, struct jr_error *err);

/* Append it for people. */
void jr_stacks_print(struct jr_buf *out, const json_t *stacks);

#endif
