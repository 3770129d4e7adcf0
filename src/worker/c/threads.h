/*
 * Threads across a fork: what the helper of a library's ranks does about the threads that loading
 * the library starts, and what each rank does about the sizes of the pools that it has inherited.
 * python/jobrun/_threads.py does the same for Python.
 */
#ifndef JR_THREADS_H
#define JR_THREADS_H

#include <stdbool.h>

#include "base/buf.h"

/* Before the library is loaded: pools that are made have one thread. */
void jr_worker_threads_limit(void);

/* How many threads there are besides this one; their names (comm of proc(5)) are appended: "2
 * threads (worker, jobrun-step)". */
unsigned jr_worker_threads_print(struct jr_buf *ret);

/* Whether a fork of this process hangs in its next parallel region of GNU's OpenMP: a fork
 * tries. */
bool jr_worker_threads_hang(void);

/* In a rank: what its variables say, of the pools that it has inherited. */
void jr_worker_threads_resize(void);

#endif
