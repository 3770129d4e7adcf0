/* The process of a cell, whoever it is a child of: the jobrun that leads the sweep, or the agent of
 * a node. */
#ifndef JR_CELL_SESSION_H
#define JR_CELL_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct jr_host;
struct jr_host_part;
struct jr_session;

/* Not to outlive its parent, and to have no part in the signals of its terminal: what is for the
 * cells, the parent passes on. */
void jr_cell_leave_parent(pid_t parent);

/* Give a session that part of a machine's facts, and the process its CPUs. */
void jr_cell_take_part(struct jr_session *session, const struct jr_host *whole,
                       const struct jr_host_part *part);

/* The guard of a cell was killed: its runner ends the run, and is a child of ours until it has
 * ended. Returns whether that is still so. */
bool jr_cell_has_runner(const char *cells_dir, uint32_t number, pid_t *ret_runner);

/* Whether the folder of the cells, which is open, has no room for the files of another one; a cell
 * that could not begin has removed its own. That there is room for a single file says little. */
bool jr_cell_disk_is_full(int dir_fd);

/* Kill the children of this process but for those: what a cell left whose guard and runner were
 * both killed. */
void jr_cell_kill_strays(const pid_t *known, size_t count);

#endif
