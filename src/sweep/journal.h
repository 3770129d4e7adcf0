/*
 * journal.jsonl of a sweep: what began and ended, a line each, appended as it happens and synced in
 * batches. It is what tells of a sweep whose jobrun was killed; what a cell delivered is in the
 * cell's own folder.
 */
#ifndef JR_JOURNAL_H
#define JR_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <jobrun/error.h>

#include "base/json.h"

#define JR_JOURNAL_FILE "journal.jsonl"

/* What a line can be about: X(NAME, word). */
#define JR_JOURNAL_EVENTS(X)                                                                       \
    X(SWEEP_STARTED, "sweep_started")                                                              \
    X(SWEEP_RESUMED, "sweep_resumed")                                                              \
    X(CELL_STARTED, "cell_started")                                                                \
    X(CELL_ENDED, "cell_ended")                                                                    \
    X(SWEEP_ENDED, "sweep_ended")

#define JR_JOURNAL_ENUM(name, word) JR_JOURNAL_##name,
enum jr_journal_event { JR_JOURNAL_EVENTS(JR_JOURNAL_ENUM) };

struct jr_journal {
    int fd;            /* -1: not open */
    uint64_t dirty_ns; /* when the first line that is not synced was written;
                          0: all is */
    bool failed;       /* a line could not be written */
    bool torn;         /* so that the last one may have no end */
};

/* Open the journal in the folder of the sweep, made with `mode`, and lock it for this process
 * (fcntl(2): the lock is no child's, and ends with us). A line that was torn is ended. -1 with
 * `err`; JR_STATUS_USAGE where another process has it locked: *ret_holder is then what
 * jr_journal_holder says. */
int jr_journal_open(struct jr_journal *ret, int dir_fd, mode_t mode, pid_t *ret_holder,
                    struct jr_error *err);

/* A process that is not seen from here: it is in another PID namespace, or on another machine. */
#define JR_JOURNAL_UNSEEN ((pid_t)-1)

/* Who holds the journal in the folder; 0: nobody. */
pid_t jr_journal_holder(int dir_fd);

#define JR_JOURNAL_NO_CELL (-1L)

/* A line: what happened, and to which cell. */
struct jr_journal_line {
    enum jr_journal_event event;
    long cell;            /* JR_JOURNAL_NO_CELL: to the sweep */
    const json_t *values; /* of the cell; NULL: none are said */
    const char *status;   /* it ended with; NULL: it did not */
    bool interrupted;     /* it ended because the sweep was stopped */
    const char *host;     /* of who leads the sweep, or runs the cell; NULL */
    const char *job;      /* of Slurm's, in which that is; NULL: in none */
    const char *there;    /* the folder of its cells, where the host that runs
                             the cell has one of its own; NULL */
};

/* Append a line. */
void jr_journal_add(struct jr_journal *journal, const struct jr_journal_line *line);

/* Wait for the disk if there are lines that are older than a second, or, with
 * `now`, any. Returns when it should be called again (CLOCK_MONOTONIC ns); 0:
 * there is nothing to sync. */
uint64_t jr_journal_sync(struct jr_journal *journal, bool now);

/* Sync and close. */
void jr_journal_close(struct jr_journal *journal);

/* Call `take` for each whole line of the journal in the folder, in order; what is no line of it is
 * passed over, and so is one of more than 8 MiB. False where there is no journal, or not all lines
 * could be read: it has 1 GiB or more, or reading fails, or memory is short. */
bool jr_journal_read(int dir_fd,
                     void (*take)(void *data, enum jr_journal_event event, const json_t *line),
                     void *data);

/* The same of a journal that this process has open. The other one must not be called for it:
 * whoever closes a descriptor of a file gives up all locks that its process has on it
 * (fcntl(2)). */
bool jr_journal_read_own(const struct jr_journal *journal,
                         void (*take)(void *data, enum jr_journal_event event, const json_t *line),
                         void *data);

#endif
