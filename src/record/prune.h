/* Removing old runs: finished ones that bear jobrun's record, and nothing else. */
#ifndef JR_PRUNE_H
#define JR_PRUNE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include <jobrun/error.h>

struct jr_prune_options {
    uint32_t keep;     /* the newest so many stay */
    uint64_t older_ms; /* what began later than so long ago stays; 0: none */
    bool code;         /* remove the copies of their code only */
    bool dry;          /* only print what would be removed */
};

struct jr_pruned {
    uint32_t removed, kept;
    uint32_t unfinished; /* running or lost: left alone */
    uint32_t foreign;    /* not ours, or writable for everybody: left alone */
    uint32_t failed;     /* could not be removed, or not wholly */
    uint64_t bytes;      /* that were removed */
};

/* Remove runs of LOG_DIR; with `code`, of those that have a copy of their code that and nothing
 * else; the others are not counted. `out` gets a line for each that is removed or would be, `bad`
 * one for each that could not be. A folder is removed beneath its descriptor: links in it are
 * removed and never followed, another file system mounted in it and what belongs to another user
 * stay, and the record goes last, so that a removal that was cut short can be repeated. */
int jr_records_prune(struct jr_pruned *ret, struct jr_buf *out, struct jr_buf *bad,
                     const char *log_dir, const struct jr_prune_options *options,
                     struct jr_error *err);

/* Remove one folder of `dir_fd` in the same way, and add its bytes to those of
 * `pruned`. 0, or -1 with the errno of the first thing that stays. */
int jr_prune_folder(struct jr_pruned *pruned, int dir_fd, const char *name);

/* Remove the link `latest` of a LOG_DIR, which is open, where its target is gone. */
void jr_prune_latest(int dir_fd);

#endif
