/* What ranks were doing, out of the evidence in their hang.json. */
#ifndef JR_THREAD_STATE_H
#define JR_THREAD_STATE_H

#include "base/buf.h"
#include "base/json.h"

/* What a rank was doing as a whole, in words that follow "was": "using the
 * CPU", "waiting in futex (futex_do_wait)". Of several processes it is the one
 * that the others wait for. `evidence` is what run/policies/hang.c writes. */
void jr_thread_state_words(struct jr_buf *out, const json_t *evidence);

/* All threads, one per line, under a heading: rank, pid, what it does, silence.
 * Those that are alike and without a stack are listed once. */
void jr_thread_state_stacks(struct jr_buf *out, const json_t *evidence);

/* How long the rank had been silent, in seconds; -1: it wrote nothing. */
double jr_thread_state_silence(const json_t *evidence);

#endif
