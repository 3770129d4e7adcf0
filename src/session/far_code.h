/*
 * `code: freeze` on hosts that do not see the run folder (left_files.h): the
 * controller makes a tar archive of its copy of the code, and each such host
 * unpacks it in its own run folder.
 */
#ifndef JR_FAR_CODE_H
#define JR_FAR_CODE_H

#include <stdbool.h>
#include <sys/types.h>

#include <jobrun/error.h>

struct jr_code_archive;
struct jr_message;
struct jr_session;

/* Of an agent: what unpacks it. */
struct jr_far_code {
    bool begun; /* bytes have come */
    pid_t pid;  /* of tar(1); 0: it does not run, or has had enough */
    int fd;     /* that it reads */
};

/* Of the controller: make the archive, a file without a name. -1 with `err`.
 * `data` is the session. */
int jr_far_code_open(void *data, struct jr_code_archive *ret,
                     struct jr_error *err);

/* Of an agent: whether the job's code is not here. */
bool jr_far_code_lacks(const struct jr_session *session);

/* Take bytes of the archive (protocol.h: code). Behind the last, the session
 * has its code. -1 with `err`. */
int jr_far_code_take(struct jr_session *session, struct jr_far_code *code,
                     const struct jr_message *message, struct jr_error *err);

/* End what unpacks it. */
void jr_far_code_close(struct jr_far_code *code);

#endif
