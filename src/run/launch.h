/*
 * The ranks' coming and going, as the runner sees it: each is started when its turn comes, here or
 * by the helper, is watched, and is judged at its end.
 */
#ifndef JR_LAUNCH_H
#define JR_LAUNCH_H

#include "spawn/start.h"

struct jr_runner;

/* Before anything else: there is no helper yet. */
void jr_launch_open(struct jr_runner *runner);

/* The setup is done: start the helper, if ranks are forked from one. */
void jr_launch_begin(struct jr_runner *runner);

/* Start some of the ranks that are due, and tend the helper. Returns whether there was a rank that
 * could be started at once. */
bool jr_launch_turn(struct jr_runner *runner);

/* Whether ranks are still to come. */
bool jr_launch_is_due(const struct jr_runner *runner);

/* No further rank will start: the first that has no process is reported as the one that failed.
 * `text`: more of why; may be empty. */
void jr_launch_fail(struct jr_runner *runner, enum jr_stage stage, int error, const char *text);

#endif
