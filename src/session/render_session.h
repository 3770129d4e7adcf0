/*
 * What an engine is handed, from a session: for the program, which prints it
 * or hands it over; and the check of the options that only sbatch knows.
 */
#ifndef JR_RENDER_SESSION_H
#define JR_RENDER_SESSION_H

#include <jobrun/jobrun.h>

#include "base/buf.h"

/* Instead of facts: a machine as the loaded spec states it, with as many
 * devices as it has ranks there. This machine, on which a job is only
 * rendered, is asked nothing. JR_STATUS_UNRESOLVED where the spec leaves open
 * what only a machine can tell. */
enum jr_status jr_session_assume_machine(struct jr_session *session,
                                         struct jr_error *err);

/* Whether there is an engine of that name. */
bool jr_session_has_engine(const char *name);

/* Append what the engine of that name is handed, of a dry session that has its
 * facts. `command` is what jobrun is started with there, NULL-terminated.
 * Resolves, and plans where the engine starts the ranks itself. */
enum jr_status jr_session_render(struct jr_session *session, const char *name,
                                 char *const *command, struct jr_buf *out,
                                 struct jr_error *err);

struct jr_doc;

/* The spec of a session that is resolved, as a tree in `doc`, to be resolved
 * again where it will run: without what is found there, unless the spec states
 * it. `pinned`: with the numbers of nodes and ranks, and not with a log_dir
 * that nobody chose, as a pod needs it. NULL: memory has run out. */
struct jr_node *jr_session_portable_spec(const struct jr_session *session,
                                         struct jr_doc *doc, bool pinned);

/* Ask the `sbatch --help` of this machine about the options of a session's spec
 * that the table of sbatch_options.h does not have: plugins of a cluster add
 * options. Those that it does not list are findings. Returns JR_STATUS_OK,
 * also where no sbatch answers, or JR_STATUS_UNRESOLVED. */
enum jr_status jr_installed_sbatch_check(struct jr_session *session);

#endif
