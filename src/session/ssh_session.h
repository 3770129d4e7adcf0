/*
 * A session whose ranks are on hosts that ssh reaches: which sessions are that, what their spec
 * gets from --hosts, and what the agents there are told. The rest is multinode_session.h's and
 * node_session.h's.
 */
#ifndef JR_SSH_SESSION_H
#define JR_SSH_SESSION_H

#include <jobrun/jobrun.h>

struct jr_arena;
struct jr_controller_options;
struct jr_message;
struct jr_spec_file;
struct jr_strv;

/* Whether the ranks of a spec that is loaded are to be started so. */
bool jr_ssh_session_is(const struct jr_session *session);

/* The same, or the cells of a sweep. */
bool jr_ssh_session_has(const struct jr_session *session);

/* The values of --set, and after them that of --hosts. NULL: there are none. Out of memory shows in
 * the session's arena. */
char *const *jr_ssh_session_sets(struct jr_session *session);

/* Let the findings on the value of --hosts stand where it was typed, and not in the --set that it
 * became. */
void jr_ssh_session_place(struct jr_session *session);

/* Check the hosts of a spec, and complete what a controller has to know of them. -1 with `err`
 * where there are none, or too few. */
int jr_ssh_session_prepare(struct jr_session *session, const struct jr_spec_file *file,
                           struct jr_controller_options *ret, struct jr_error *err);

/* Free what only that has needed. */
void jr_ssh_session_release(struct jr_session *session);

/* Of an agent: its environment, and what the controller gives to it. -1: that is no list of
 * variables. */
int jr_ssh_session_take_environment(struct jr_strv *env, struct jr_arena *arena,
                                    const struct jr_message *assignment);

/* Of an agent: whether a name by which ranks meet means something here. -1 with
 * `err`. */
int jr_ssh_session_check_address(const char *address, struct jr_error *err);

#endif
