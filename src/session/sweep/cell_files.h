/*
 * What comes back of the cells that ran on hosts which do not see the folder of the sweep
 * (send_cell.h), in records (left_records.h):
 *
 *   {"cell":7,"file":"results.json","size":712,"first":true,...}
 *   {"cell":7,"whole":true,"size":0}      nothing more follows of it
 *
 * Files gather in cells/.0007, which becomes cells/0007 when the cell is over:
 * so a cell of which not all has come is none that has run.
 */
#ifndef JR_CELL_FILES_H
#define JR_CELL_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/left_records.h"

struct jr_cell_process;
struct jr_sweep_run;

/* What comes from a node. */
struct jr_cell_files {
    struct jr_left_stream stream;
    struct jr_sweep_run *run;
    uint32_t node;   /* of the sweep */
    bool any, whole; /* something of a cell has come, and all of it */
    uint32_t number; /* of that cell */
    int dir_fd;      /* where its files gather; -1: nowhere yet */
    int fd;          /* of the file that is written; -1: none is */
    uint64_t room;   /* bytes that may still come of it */
    uint32_t count;  /* of files that have come */
    int error;       /* why not all of it is here; EFBIG: it is more than the
                        host was to send; 0 */
};

/* Nothing has come. */
void jr_cell_files_init(struct jr_cell_files *files, struct jr_sweep_run *run, uint32_t node);

/* Take bytes, which may end anywhere. What is no record, or is of a cell that does not run on the
 * node now, ends what is taken of it. */
void jr_cell_files_take(struct jr_cell_files *files, const char *bytes, size_t len);

/* The cell is over: what has come of it takes its place among the others, if that is all; if not,
 * it is removed, and the user told why where the reason is here. Another one may follow. */
void jr_cell_files_end(struct jr_cell_files *files, struct jr_cell_process *process);

/* The node is lost, or the sweep over: remove what is not whole. */
void jr_cell_files_drop(struct jr_cell_files *files);

#endif
