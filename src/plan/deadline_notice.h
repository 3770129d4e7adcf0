/* The signal by which jobrun itself is told that the end of a job is near. */
#ifndef JR_DEADLINE_NOTICE_H
#define JR_DEADLINE_NOTICE_H

#include <jobrun/policy.h>

/* The name, without SIG, of the signal that starts the deadline when jobrun gets it: that of
 * `deadline`, if jobrun would forward it, else USR1 or USR2. NULL: there is no deadline, or the
 * spec uses all of them otherwise. */
const char *jr_deadline_notice(const struct jr_policy *policy);

#endif
