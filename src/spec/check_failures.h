/* Rules of check.h on what a job does while it runs and when it fails: when it starts again, what
 * its timeout for silence can hear, the deadline, when it is queued again, and where its progress
 * is read. */
#ifndef JR_CHECK_FAILURES_H
#define JR_CHECK_FAILURES_H

#include "spec/check.h"

/* The deadline comes before the end, and can be told from success. */
jr_check_rule jr_check_deadline;

/* The exit status can say that the job is queued again, and the causes for it can come. */
jr_check_rule jr_check_requeue;

/* Progress can be read as stated. */
jr_check_rule jr_check_progress;

/* A restart, and a hang by silence, can happen. */
jr_check_rule jr_check_restart, jr_check_silence;

/* The reader of a cause of a restart, with what follows it. */
jr_reader jr_read_trigger;

#endif
