/*
 * What an engine is handed, from a session: for the program, which prints it or hands it over; and
 * the check of the options that only sbatch knows.
 */
#ifndef JR_RENDER_SESSION_H
#define JR_RENDER_SESSION_H

#include <jobrun/jobrun.h>

#include "base/buf.h"

struct jr_arena;
struct jr_host;
struct jr_spec;

/* Instead of facts: a machine as the spec states it, with as many devices as it has ranks there, in
 * `arena`. JR_STATUS_UNRESOLVED where the spec, which may be NULL, leaves open what only a machine
 * can tell. */
enum jr_status jr_machine_assume(struct jr_host *ret, struct jr_arena *arena,
                                 const struct jr_spec *spec, struct jr_error *err);

/* The same for the loaded spec: this machine, on which a job is only rendered, is asked nothing. */
enum jr_status jr_session_assume_machine(struct jr_session *session, struct jr_error *err);

/* Whether there is an engine of that name. */
bool jr_session_has_engine(const char *name);

/* What is handed to an engine. */
struct jr_render_request {
    const char *engine;
    char *const *command; /* what jobrun is started with there, NULL-terminated:
                             the program and `run` come first */
    const char *array;    /* see jr_engine_job */
    bool checked;         /* the options of sbatch, by another cell */
};

/* Append what the engine is handed, of a dry session that has its facts. Resolves, and plans where
 * the engine starts the ranks itself. */
enum jr_status jr_session_render(struct jr_session *session,
                                 const struct jr_render_request *request, struct jr_buf *out,
                                 struct jr_error *err);

struct jr_doc;

/* The spec of a session that is resolved, as a tree in `doc`, to be resolved again where it will
 * run: without what is found there, unless the spec states it. `pinned`: with the numbers of nodes
 * and ranks, and not with a log_dir that nobody chose, as a pod needs it. NULL: memory has run
 * out. */
struct jr_node *jr_session_portable_spec(const struct jr_session *session, struct jr_doc *doc,
                                         bool pinned);

/* Ask the `sbatch --help` of this machine about the options of a session's spec that the table of
 * sbatch_options.h does not have: plugins of a cluster add options. Those that it does not list are
 * findings. Returns JR_STATUS_OK, also where no sbatch answers, or JR_STATUS_UNRESOLVED. */
enum jr_status jr_installed_sbatch_check(struct jr_session *session);

#endif
