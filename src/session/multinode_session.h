/*
 * A session on the nodes of an allocation: which sessions are that, and what they do besides. The
 * controller's side is multinode_session.c, a node's node_session.c.
 */
#ifndef JR_MULTINODE_SESSION_H
#define JR_MULTINODE_SESSION_H

#include <jobrun/jobrun.h>

struct jr_arena;
struct jr_controller;
struct jr_host;
struct jr_run_options;
struct jr_spec_file;
struct jr_strv;

/* Whether this is the shell or the script of an allocation of several nodes, whose facts are read,
 * so that ranks can be on all of them. */
bool jr_session_leads_allocation(const struct jr_session *session);

/* Where the ranks of a spec that is loaded are for several nodes of an allocation whose own shell
 * or script this is: start an agent on each, and take their facts together for those of the
 * session, which has its own. Elsewhere, and a second time, nothing is done. It may take its time,
 * so no signal should be held back; jr_session_begin does it otherwise. */
enum jr_status jr_session_connect_agents(struct jr_session *session, struct jr_error *err);

/* Whether options ask for what only one terminal, or one machine, can give. */
bool jr_session_is_local_only(const struct jr_session *session);

/* In such a one, or over ssh: start an agent on each of its nodes, for the cells of a sweep, of
 * which `like` is one. Notes how many there are. It may take its time, as above. */
enum jr_status jr_session_connect_cell_agents(struct jr_session *session,
                                              const struct jr_spec_file *like,
                                              struct jr_error *err);

/* The same once more, on those of them that are named in *hosts, which lives as long as the
 * session; without waiting: jr_controller_start. */
int jr_session_renew_cell_agents(struct jr_controller **ret, struct jr_session *session,
                                 const struct jr_strv *hosts, struct jr_error *err);

/* This very program, where nodes see it too. */
const char *jr_session_own_program(struct jr_session *session);

/* An agent's environment variables about devices of the user's own kind: their
 * name, such as `custom:acme`, and where their facts are. Ranks do not see it.
 */
#define JR_AGENT_DEVICE "JOBRUN_AGENT_DEVICE"
#define JR_AGENT_FOLDER "JOBRUN_AGENT_FOLDER"

/* Another: which node each task of the step has, "0,3,1,2". Unset: they are in order. */
#define JR_AGENT_PLACES "JOBRUN_AGENT_PLACES"

/* Hand the resolved spec to the agents, where there are any; they hold it against their nodes. */
enum jr_status jr_session_send_spec(struct jr_session *session, struct jr_error *err);

/* One attempt on all nodes, as jr_run does it on one. */
int jr_session_run_nodes(struct jr_session *session, const struct jr_run_options *options,
                         struct jr_error *err);

/* Another port for the next attempt, where it is not stated. -1 if there is no next attempt, with
 * why. */
int jr_session_renew_nodes(struct jr_session *session, struct jr_error *err);

#endif
