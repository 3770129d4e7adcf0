/* Opening the run folder, and writing the files that it begins with. */
#ifndef JR_BEGIN_H
#define JR_BEGIN_H

#include "session/session.h"

/* Write a file of the run folder and empty the buffer. 0 or -1. */
int jr_session_write(struct jr_session *session, const char *name, struct jr_buf *bytes,
                     struct jr_error *err);

/* Write plan.json. 0 or -1. */
int jr_session_write_plan(struct jr_session *session, struct jr_error *err);

/* A function that appends a text to `out`, which `drain` may empty in between.
 */
typedef void jr_session_printer(struct jr_buf *out, const struct jr_session *session,
                                const struct jr_drain *drain);

/* Write the file `name` in the folder `dir_fd` piece by piece. 0 or -1. */
int jr_session_stream(const struct jr_session *session, int dir_fd, const char *name,
                      jr_session_printer *print, struct jr_error *err);

/* The same into an open file; 0, or -1 with errno. */
int jr_session_stream_fd(const struct jr_session *session, int fd, jr_session_printer *print);

/* Write run.json, as the session's record has it. 0 or -1. */
int jr_session_write_record(struct jr_session *session, struct jr_error *err);

#endif
