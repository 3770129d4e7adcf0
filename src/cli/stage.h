/*
 * A session of the library for the command line: its findings go to standard error, and failures
 * are reported. All return the exit status, 0 to continue.
 */
#ifndef JR_STAGE_H
#define JR_STAGE_H

#include <jobrun/jobrun.h>

#include "cli/cli.h"

/* What the options say. Borrows from `cli`. */
struct jr_session_options jr_stage_options(struct jr_cli *cli);

/* Open a session; the caller closes *ret, in any case. */
int jr_stage_open(struct jr_session **ret, struct jr_cli *cli,
                  const struct jr_session_options *options);

/* Tell what a stage found, and forget it; what `status` is for in `err`, where that is not a
 * finding. Returns `status`. */
int jr_stage_told(struct jr_session *session, const struct jr_cli *cli, enum jr_status status,
                  const struct jr_error *err);

/* Load the spec that the words name (or the command after "--" with -n). One
 * that is several is refused unless the command line names a cell; with
 * `ret_sweep`, which is then true, it is not. */
int jr_stage_load(struct jr_session *session, const struct jr_cli *cli, bool *ret_sweep);

/* Facts, by --on or of this machine. */
int jr_stage_facts(struct jr_session *session, const struct jr_cli *cli);

/* A dry session of what the words name, up to the resolved spec, or of a sweep up to the facts, as
 * jr_stage_load has it; within an allocation of several nodes with the facts of all of them. */
int jr_stage_resolve(struct jr_session **ret, struct jr_cli *cli, bool *ret_sweep);

/* Take --wait into the options of a session that is to run. */
int jr_stage_wait(const struct jr_cli *cli, struct jr_session_options *options);

/* Begin, launch, supervise, verify, tell: of what is loaded; with --detach in a process of its
 * own. */
int jr_stage_run(struct jr_session *session, struct jr_cli *cli);

/* The plan of a sweep's cells to standard output. */
int jr_stage_print_cells(struct jr_session *session, const struct jr_cli *cli, bool json);

/* Run the cells of the sweep that is loaded. */
int jr_stage_run_sweep(struct jr_session *session, struct jr_cli *cli);

/* Refuse options of a sweep that do not go together. */
int jr_stage_check_sweep(const struct jr_cli *cli);

/* Refuse options that are about sweeps, where there is one job; `also` is one that the verb has for
 * sweeps alone and that was given, or NULL. */
int jr_stage_check_one_job(const struct jr_cli *cli, const char *also);

/* A text of the session to standard output. */
int jr_stage_print(const struct jr_session *session, const struct jr_cli *cli, enum jr_text what);

#endif
