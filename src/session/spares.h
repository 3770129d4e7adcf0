/*
 * The spare nodes of a job that has a controller: agents that cannot be had, at the start or for
 * the next attempt, are left out, and spares take their places.
 */
#ifndef JR_SPARES_H
#define JR_SPARES_H

#include <stdbool.h>

#include <jobrun/error.h>

struct jr_arena;
struct jr_controller_options;
struct jr_session;
struct jr_strv;

/* Start the agents of a session and wait for all to answer. `options` has its nodes and, behind
 * these, its spares. -1 with `err`. */
int jr_spares_connect(struct jr_session *session, const struct jr_controller_options *options,
                      struct jr_error *err);

/* The agents have not taken the spec, as `err` says: start again on others where one of them is
 * lost, until all have. -1 with `err` where that is not possible. */
int jr_spares_settle(struct jr_session *session, struct jr_error *err);

/* Whether an attempt has lost a node in whose place there could be a spare. */
bool jr_spares_are_wanted(const struct jr_session *session);

/* Put spares in the places of nodes that the attempt has lost, with new agents on all; signals that
 * stop a run end the wait. -1 with `err`. */
int jr_spares_replace(struct jr_session *session, struct jr_error *err);

/* Append the hosts of the machines of the job that have no node of it. */
void jr_spares_list(const struct jr_session *session, struct jr_strv *out, struct jr_arena *arena);

/* Have the job, which is resolved, on the nodes as they are placed. -1 without memory. */
int jr_spares_place(struct jr_session *session, struct jr_error *err);

/* Note which spares were lost meanwhile, and what is left out in the report. */
void jr_spares_report(struct jr_session *session);

/* Release what it holds. */
void jr_spares_release(struct jr_session *session);

#endif
