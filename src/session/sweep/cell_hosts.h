/*
 * The machines on which the cells of a sweep run: this one; in the shell or the script of an
 * allocation its nodes, or the hosts that ssh reaches, each of which has an agent; or the nodes of
 * a profile, where it is only planned.
 *
 * A cell is for one of them, unless its spec states more nodes, or ranks for more: each cell then
 * sees a machine of its own, and nothing of the allocation. Cells of several nodes see that, as
 * runs do.
 */
#ifndef JR_CELL_HOSTS_H
#define JR_CELL_HOSTS_H

#include <stdbool.h>
#include <stdint.h>

#include <jobrun/error.h>

struct jr_host;
struct jr_session;
struct jr_spec_file;

/* Within an allocation of several nodes, or for `hosts` by ssh: start an agent on each, for the
 * cells of the session's sweep, and read its facts. Elsewhere nothing is done. It may take its
 * time, so no signal should be held back. */
enum jr_status jr_cell_hosts_connect(struct jr_session *session, struct jr_error *err);

/* Whether who leads the sweep has agents on other machines. */
bool jr_cell_hosts_are_led(const struct jr_session *session);

/* How many there are. */
uint32_t jr_cell_hosts_count(const struct jr_session *session);

/* The facts of one, as a cell of one node sees them; they are the session's. */
struct jr_host jr_cell_host(const struct jr_session *session, uint32_t node);

/* The facts by which a cell, whose spec was loaded, is resolved. */
struct jr_host jr_cell_host_for(const struct jr_session *session, const struct jr_spec_file *file);

/* Take out of the facts of a machine what the scheduler says of other ones. */
void jr_cell_host_alone(struct jr_host *host);

#endif
