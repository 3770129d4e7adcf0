/* A session of a spec that is several: which cell of it is taken. */
#ifndef JR_SESSION_CELLS_H
#define JR_SESSION_CELLS_H

#include <stddef.h>

#include <jobrun/jobrun.h>

#include "base/buf.h"

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

#endif
