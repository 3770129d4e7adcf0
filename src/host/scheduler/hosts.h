/* Lists of hosts in all the forms that schedulers have, by scheduler.h; and what some systems say
 * in ways of their own. */
#ifndef JR_HOSTS_H
#define JR_HOSTS_H

#include "host/scheduler/scheduler.h"

/* Use a value of LIST: fill hosts, and where slots are told, how many each has. False when the
 * value, or the file that it names, cannot be read. The five others are alike. */
bool jr_hosts_list(struct jr_host_reader *probe, const char *value);

/* The same for a host once per slot: "h1 h1 h2". */
bool jr_hosts_words(struct jr_host_reader *probe, const char *value);

/* The same for hosts with slots: "h1 4 h2 4". */
bool jr_hosts_pairs(struct jr_host_reader *probe, const char *value);

/* The same for a file with a host per slot. */
bool jr_hosts_lines(struct jr_host_reader *probe, const char *path);

/* The same for a file of lines HOST SLOTS. */
bool jr_hosts_table(struct jr_host_reader *probe, const char *path);

/* The same for a JSON list of hosts, without slots. */
bool jr_hosts_json(struct jr_host_reader *probe, const char *value);

/* The position of `name` in the hosts: the only one that is called so, in full or up to the first
 * dot; -1 if there is none, or more. */
int jr_hosts_find(const struct jr_host_scheduler *scheduler, const char *name);

/* Read what Volcano says in a way of its own. */
void jr_volcano_settle(struct jr_host_reader *probe);

/* The same for AWS Batch, whose main node is not told its own address. */
void jr_aws_batch_settle(struct jr_host_reader *probe);

/* The same for SageMaker. */
void jr_sagemaker_settle(struct jr_host_reader *probe);

/* The same for Slurm. */
void jr_slurm_settle(struct jr_host_reader *probe);

#endif
