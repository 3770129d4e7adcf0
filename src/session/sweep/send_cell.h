/* Cells on a host that does not see the folder of its sweep are whole runs in one of their agent's
 * own (own_cells.h). What comes back of one (cell_files.h) is sent once it is over, by a process of
 * its own. */
#ifndef JR_SEND_CELL_H
#define JR_SEND_CELL_H

#include <stdint.h>

#include <jobrun/error.h>

/* What is sent. */
struct jr_cell_sending {
    const char *cells_dir; /* absolute */
    uint32_t number;       /* of the cell */
    const char *collect;   /* words with commas */
    int fd;                /* takes it */
};

/* Whether a file of a cell is a log, by its path, of which not all is sent. */
bool jr_cell_is_log(const char *path);

/* Send what the cell has left, and that it is all. -1 with `err`. */
int jr_cell_send(const struct jr_cell_sending *sending, struct jr_error *err);

#endif
