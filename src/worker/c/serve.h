/* The helper of a library's ranks; see serve.c. */
#ifndef JR_SERVE_H
#define JR_SERVE_H

#include <stdbool.h>

/* The words of a command line. */
struct jr_worker_words {
    int argc;
    char **argv;
};

/* Be the helper; returns in each rank, with the rank's words. */
void jr_worker_serve(const char *path, bool refuse_threads, struct jr_worker_words *ret);

#endif
