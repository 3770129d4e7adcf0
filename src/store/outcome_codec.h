/*
 * The outcome of a rank, as it is given to other processes: in results.json, and in the message
 * that a node's agent sends. Both are written and read by one table, outcome_codec.c, which has a
 * row for each member of struct jr_rank_outcome; a new member is a new row. The same holds for the
 * members of struct jr_outcome that a node sends.
 */
#ifndef JR_OUTCOME_CODEC_H
#define JR_OUTCOME_CODEC_H

#include <jobrun/run.h>

#include "base/json.h"

/* Append the members of a rank's object in results.json. The caller adds the braces, and the
 * members that are not part of the outcome. */
void jr_outcome_put(struct jr_buf *out, const struct jr_rank_outcome *rank);

/* Read them back into *ret, which is zeroed. `object` is borrowed. A rank's life is from 0 to as
 * long as it lasted. What an earlier build did not write is found from what it did. */
void jr_outcome_get(struct jr_rank_outcome *ret, const json_t *object);

/* Add the schema of these members to `properties`, and their keys to
 * `required`. */
void jr_outcome_schema(json_t *properties, json_t *required);

/* A rank as a node sends it: what is 0 is left out. The caller owns it. */
json_t *jr_outcome_pack_rank(const struct jr_rank_outcome *rank);

/* Read it into *ret. -1 where it says what no rank can be. */
int jr_outcome_unpack_rank(struct jr_rank_outcome *ret, const json_t *object);

/* The same for what is said of all ranks of the node; without the ranks, and without what is text
 * or a list. */
json_t *jr_outcome_pack(const struct jr_outcome *outcome);

/* Read it into *ret, whose other members stay. -1 where it says what no run can be. */
int jr_outcome_unpack(struct jr_outcome *ret, const json_t *object);

#endif
