/* Loading a library and calling the function in it that is the entrypoint. */
#ifndef JR_ENTRY_CALL_H
#define JR_ENTRY_CALL_H

#include "worker/c/worker.h"

/* Load, call, deliver, and wait for the runner's word: the exit code. */
int jr_worker_run(const struct jr_worker *worker);

/* Tell that the rank could not be started, on standard error and in its error.json; returns
 * JR_WORKER_UNSTARTED. */
int jr_worker_refuse(const struct jr_error *err);

/* Append what may have been meant by a symbol that the library at `path` does not have; nothing
 * where nothing is like it. */
void jr_worker_suggest(const char *path, const char *symbol, struct jr_buf *ret);

/* dlopen(3); NULL with `err`. */
void *jr_worker_load(const char *path, struct jr_error *err);

#endif
