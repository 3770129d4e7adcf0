/*
 * A session in the foreground: what the program needs of it besides jobrun.h. These are the
 * findings that it prints, the console that it shares with the ranks, the signals that it holds
 * back, and the run folder.
 */
#ifndef JR_FOREGROUND_H
#define JR_FOREGROUND_H

#include <signal.h>

#include <jobrun/jobrun.h>

#include "diag/diag.h"

struct jr_host;

/* The list of findings, which the caller may sort, print and empty. */
struct jr_diags *jr_session_findings(struct jr_session *session);

/* The facts, zeroed before they are read. */
const struct jr_host *jr_session_host(const struct jr_session *session);

/* Once the run has begun: from now on text can be printed there. Once. */
void jr_session_open_console(struct jr_session *session, const struct jr_session_console *console);

/* Print our own text to standard error, after everything that the console still has to show,
 * without waiting for it. False if there is no console of a run, or of a sweep, or if memory runs
 * out. */
bool jr_session_print(struct jr_session *session, const char *text, size_t len);

/* Have the session leave waiting for the command of `on_end` to the caller, who has the report to
 * print first, and then calls jr_session_await_on_end. */
void jr_session_defer_on_end(struct jr_session *session);

/* Wait until the command of `on_end` has ended, or until a signal comes that would stop the run,
 * all of which are blocked. What went wrong is noted. */
void jr_session_await_on_end(struct jr_session *session);

/* Show what is left: however long the console takes, or until a signal comes that would stop the
 * run, all of which are blocked. */
void jr_session_show_rest(struct jr_session *session);

/* The signals that the run takes while it lasts, by its spec; before there is a plan those that any
 * run takes. */
void jr_session_signals(const struct jr_session *session, sigset_t *ret);

/* Whether there is nothing to be run: the job was started again after it had succeeded. Once the
 * run has begun. */
bool jr_session_is_over(const struct jr_session *session);

/* Once the run has begun: its name below LOG_DIR, "ID" or "ID/node_N". */
const char *jr_session_run_name(const struct jr_session *session);

/* Once the run has begun, and instead of running it: nothing of it is left, as if it had not
 * begun. */
void jr_session_discard(const struct jr_session *session);

/* Once the run has begun: create the file `name` in its folder, with the mode of its logs, to
 * append to it. Returns a descriptor, or -1 with errno; EEXIST where it is there. */
int jr_session_create_file(const struct jr_session *session, const char *name);

/* All is said: let the agents go, and wait for the programs that reached them; not any longer once
 * a stop signal comes, which are blocked: the exit status is decided. Nothing where there are no
 * agents. */
void jr_session_leave_nodes(struct jr_session *session);

#endif
