/*
 * What ranks that ended by themselves have left running: told before it is killed, by the rank.
 *
 * A helper that ends with its rank (a pool that reads to the end of a pipe, a tracker of resources,
 * the last part of a pipeline) is none: each process has a moment after its rank's end, and a
 * longer one if it wants the CPU then. It is waited for only where there is such a process, and not
 * beyond the last that ends. What is left of ranks that were stopped, or died by a signal, is
 * nobody's surprise, and is not told.
 */
#ifndef JR_LEFTOVERS_H
#define JR_LEFTOVERS_H

struct jr_runner;

/* No rank runs any more: set `left_running` of the outcomes, and write the events. The ends of
 * other children are taken meanwhile. */
void jr_leftovers_note(struct jr_runner *runner);

#endif
