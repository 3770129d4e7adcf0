/*
 * The run folders of a LOG_DIR as they stand on disk. A folder is a run's if it holds a run.json;
 * whose word it is says record_folder.h.
 */
#ifndef JR_RUN_LIST_H
#define JR_RUN_LIST_H

#include "base/arena.h"
#include "base/json.h"
#include "record/record_folder.h"

/* One line of `jobrun runs`. */
struct jr_record {
    const char *id;
    const char *name;   /* NULL: unknown */
    const char *status; /* a word of the contract; "running"; "lost": it ended
                           without a result; "elsewhere": unfinished, on another
                           host or in a container; "damaged"; "unknown": not jobrun's */
    bool finished;
    int exit_code;                         /* once finished */
    bool damaged;                          /* its record cannot be read */
    bool no_folder;                        /* a cell that only its sweep knows of: it has not
                                              begun, or its folder is gone */
    double started;                        /* seconds since the epoch; 0: unknown */
    double seconds;                        /* it took, or has taken so far */
    uint32_t world_size;                   /* 0: unknown */
    json_t *progress;                      /* as results.json has it, owned by the list; NULL: none
                                            */
    json_t *vars, *labels;                 /* as run.json has them, the same */
    const char *spec, *host, *fingerprint; /* the same; NULL: unknown */
    bool has_code;                         /* a copy of its code is there */
    uint64_t code_bytes;                   /* how large that was when it was made */
    struct jr_trust trust;                 /* whose word all this is */
};

struct jr_records {
    struct jr_arena arena;
    struct jr_record *items;
    size_t count;
};

#define JR_RECORDS_INIT                                                                            \
    {                                                                                              \
        0                                                                                          \
    }

/* All runs of LOG_DIR, the newest first; those that cannot be read as damaged. A folder that is not
 * there holds none. */
int jr_records_list(struct jr_records *ret, const char *log_dir, struct jr_error *err);

/* Whether it can be told when the run began, and how long it took. */
static inline bool jr_record_has_times(const struct jr_record *record)
{
    return !record->no_folder && (record->started > 0 || !record->damaged);
}

/* Append how far a run is: "120/1000", "120", or "-". */
void jr_record_step(struct jr_buf *out, const struct jr_record *record);

/* Add a run after the others: its strings are the list's, and its objects become so. */
void jr_records_add(struct jr_records *records, const struct jr_record *record);

/* The newest run first, as jr_records_list has them. */
void jr_records_order(struct jr_records *records);

/* Free the list. */
void jr_records_release(struct jr_records *records);

/* The id that RUN means: an id, a prefix that only one run has, or `latest`, by a link of ours or
 * of LOG_DIR's owner; with a part after it, "exp1/node_0", if the run has parts. Fails with the
 * candidates when it means several. */
int jr_record_find(char ret_id[static 256], const char *log_dir, const char *run,
                   struct jr_error *err);

#endif
