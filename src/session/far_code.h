/*
 * `code: freeze` on hosts that do not see the run folder (left_files.h): the
 * controller makes a tar archive of its copy of the code, and each such host
 * unpacks it in its own run folder. For cells of a sweep it has the folder that
 * submission.h describes, less their specs, and their sessions take the code
 * out of that (`code_of`).
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
 * `data` is the session, of a run or of a sweep. */
int jr_far_code_open(void *data, struct jr_code_archive *ret, struct jr_error *err);

/* Of an agent: whether the job's code is not here. */
bool jr_far_code_lacks(const struct jr_session *session);

/* Take bytes of the archive (protocol.h: code). Behind the last, the session has its code. -1 with
 * `err`. */
int jr_far_code_take(struct jr_session *session, struct jr_far_code *code,
                     const struct jr_message *message, struct jr_error *err);

/* The same of the code of cells, into the folder, which is made. */
int jr_far_code_take_cells(struct jr_session *session, struct jr_far_code *code, const char *folder,
                           const struct jr_message *message, struct jr_error *err);

/* End what unpacks it. */
void jr_far_code_close(struct jr_far_code *code);

#endif
