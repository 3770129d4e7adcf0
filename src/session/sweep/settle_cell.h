/*
 * A cell that was begun before a sweep is gone on with, and has no results: it may still come to
 * its end, or be lost.
 *
 * One that runs here is waited for. Of one on another machine, or in another container, nothing is
 * seen but what it writes. It is taken for lost where what ran it is known to be gone: the journal
 * says that its node was lost, the job of Slurm's in which it ran has ended, or the jobrun that led
 * the sweep ran on this machine, and has given up the lock of the journal. Agents end their cells
 * when their leader is gone, so that such a cell has its results after the grace of its stop, or
 * will never have any. Elsewhere a lock may be seen on its own machine only, and the cell is left
 * to its user.
 */
#ifndef JR_SETTLE_CELL_H
#define JR_SETTLE_CELL_H

#include <stdbool.h>
#include <stdint.h>

#include <jobrun/error.h>

#include "sweep/journal.h"

struct jr_sweep_run;

/* Who led the sweep before, as the journal tells it. */
struct jr_former_leader {
    char host[256];       /* "": not known */
    char job[32];         /* of Slurm's, in which it ran; "": in none, or not known */
    bool asked, job_over; /* Slurm was asked about it, and has ended it */
    double lost;          /* when a cell was lost last, since the epoch */
    uint64_t until_ns;    /* what it ran has come to its end by then; 0: that
                             was not needed yet */
};

/* Learn from a line of the journal, in their order. */
void jr_former_leader_learn(struct jr_former_leader *leader, enum jr_journal_event event,
                            const json_t *line);

/* Whether the line says that a cell was lost with its node. */
bool jr_journal_says_lost(enum jr_journal_event event, const json_t *line);

/* What this process writes of itself for those that come after it; the texts are valid for as long
 * as the session. */
void jr_leader_of_now(const struct jr_sweep_run *run, struct jr_journal_line *ret);

/* Wait for the end of the cell in that folder, and end what a lost one has left
 * here. `lost`: the journal says it. 0; -1 with `err` where it goes on, or may.
 */
int jr_settle_cell(struct jr_sweep_run *run, struct jr_former_leader *leader, const char *folder,
                   bool lost, struct jr_error *err);

#endif
