/* Result files that are more than one rank's. */
#ifndef JR_CPU_SHARE_H
#define JR_CPU_SHARE_H

#include <jobrun/error.h>

struct jr_build;

/* Refuse (JR_STATUS_INVALID, with a finding) a plan in which two ranks of one
 * node must deliver to the same file: the result of one would count for both.
 */
enum jr_status jr_share_check(struct jr_build *build);

#endif
