/* Where a host does not see the run folder (left_files.h): the agent's side. */
#ifndef JR_SEND_LEFT_H
#define JR_SEND_LEFT_H

#include <jobrun/run.h>

struct jr_session;

/* Once the ranks have ended: judge what they have delivered, and write it, and the files that are
 * asked for, to `fd`. -1 with `err`: not all is written. */
int jr_left_send(struct jr_session *session, const struct jr_outcome *outcome, int fd,
                 struct jr_error *err);

#endif
