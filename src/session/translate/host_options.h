/* The hosts of a line, stated in an option or in a hostfile. */
#ifndef JR_HOST_OPTIONS_H
#define JR_HOST_OPTIONS_H

#include "session/translate/flag.h"

/* a:4,b:2 and a,a,b are hosts with their slots; a name alone is one slot unless no host states any.
 * Where a launcher starts its ranks by ssh, so does the spec. */
jr_flag_set jr_set_hosts;

/* The same for the file that is named, if it can be read here. */
jr_flag_set jr_set_hostfile;

/* A list of nodes as Slurm has it, gpu[01-04], or a file of them, by its '/'.
 */
jr_flag_set jr_set_nodelist;

/* Keep the hosts that `named` (NULL-terminated) has, or with `others` those that it has not. */
void jr_hosts_keep(struct jr_translator *t, char *const *named, bool others);

/* Keep the first `count`. */
void jr_hosts_cut(struct jr_translator *t, uint32_t count);

/* Words for ssh, behind those that are there. */
int jr_hosts_ssh_options(struct jr_translator *t, const struct jr_given *given, const char *letter);

/* How many hosts the spec names; 0: none. */
uint32_t jr_hosts_count(const struct jr_translator *t);

#endif
