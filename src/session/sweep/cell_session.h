/* A session of a spec that is several takes one cell of it; and the process in which a cell of a
 * sweep that runs has a session of its own. */
#ifndef JR_CELL_SESSION_H
#define JR_CELL_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <jobrun/jobrun.h>

struct jr_host;
struct jr_host_part;
struct jr_spec_file;
struct jr_spec_options;
struct jr_swept_spec;

/* The session's spec was read with these words and is several, or a cell was asked for: take that
 * one in its place. JR_STATUS_USAGE without one, with what to type; the session then keeps the
 * sweep. */
enum jr_status jr_session_take_cell(struct jr_session *session, const struct jr_spec_source *source,
                                    const struct jr_spec_options *options, struct jr_error *err);

/* The cells of the spec that was loaded; 0: it is no sweep. */
size_t jr_session_cells(const struct jr_session *session);

/* What will be loaded is the spec of a cell, which was resolved before: cell
 * `number`, of the sweep of that name. Both are borrowed. */
void jr_session_be_cell(struct jr_session *session, const char *number, const char *sweep_id);

/* Keep a cell's spec, which is taken over, for as long as the session has findings that quote
 * it. */
void jr_session_keep_cell_file(struct jr_session *session, struct jr_spec_file *file);

/* Free what the session keeps of the sweep. */
void jr_session_close_sweep(struct jr_session *session);

/* The process of a cell, whoever it is a child of: the jobrun that leads the sweep, or the agent of
 * a node. */

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
