/*
 * Asking what may hang or crash, in a process of its own: a vendor's library, a program of the
 * user's.
 */
#ifndef JR_ASK_H
#define JR_ASK_H

#include "base/arena.h"
#include "base/buf.h"

struct jr_ask {
    /* Runs in the child: write the answer to `fd` and return 0, or why there is none, as an exit
     * code. One thread, no handlers; it may exec. */
    int (*answer)(void *data, int fd);
    void *data;
    unsigned limit_ms; /* then the child is killed, with what it started */
    size_t most;       /* bytes of answer; more is none */
};

/* Fork, and append to `out` what the child wrote until it and all that it started had closed the
 * pipe. Returns NULL once it has ended with 0; else why there is no answer, as a clause in `arena`:
 * "gave no answer within 10 s", "died by SIGSEGV", "exited with code 3". No child is left, unless
 * the kernel cannot kill it. */
const char *jr_ask(struct jr_buf *out, struct jr_arena *arena, const struct jr_ask *ask);

#endif
