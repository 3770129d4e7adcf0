/*
 * A session in the foreground: what the program needs of it besides jobrun.h. These are the
 * findings that it prints, the console that it shares with the ranks, the signals that it holds
 * back, and the run folder.
 */
#ifndef JR_FOREGROUND_H
#define JR_FOREGROUND_H

#include <signal.h>

#include <jobrun/jobrun.h>

#include "base/buf.h"
#include "diag/diag.h"

struct jr_set;

/* The list of findings, which the caller may sort, print and empty. */
struct jr_diags *jr_session_findings(struct jr_session *session);

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

/* Where the ranks of a spec that is loaded are for several nodes of an allocation whose own shell
 * or script this is: start an agent on each, and take their facts together for those of the
 * session, which has its own. Elsewhere, and a second time, nothing is done. It may take its time,
 * so no signal should be held back; jr_session_begin does it otherwise. */
enum jr_status jr_session_connect_agents(struct jr_session *session, struct jr_error *err);

/* Hand the resolved spec to the agents, where there are any; they hold it against their nodes. */
enum jr_status jr_session_send_spec(struct jr_session *session, struct jr_error *err);

/* Be the agent of this node to the end of standard input: as srun has started it, or, where it is
 * `assigned`, as the first message there says. Returns the exit status, and tells in `err`. */
int jr_session_serve(char *const *envp, bool assigned, struct jr_error *err);

/* Read the facts that only people want: those of this machine, once it was read. */
void jr_session_more_facts(struct jr_session *session);

/* Append the machine of a session that has its facts, line by line: its processors, devices and
 * scheduler, what of the environment counts, where the Python package is, and what is wrong with
 * it. */
void jr_session_describe_machine(struct jr_buf *out, const struct jr_session *session);

/* Logs of which only the end has come back from a host that does not see the run folder
 * (left_files.h): all of a log is fetched from there, by ssh, when somebody wants to read it, and
 * takes its place. */
struct jr_fetch_logs {
    const char *log_dir, *id;
    const struct jr_set *ranks;
    const uint32_t *attempt;                    /* NULL: the last */
    char *const *envp;                          /* of ssh */
    void (*note)(void *data, const char *line); /* what was not fetched, and
                                                   why */
    void *data;
};

/* Fetch what is not here. A run of another user is left as it is: what says where its logs are is a
 * word for ssh. */
void jr_fetch_logs(const struct jr_fetch_logs *wanted);

#endif
