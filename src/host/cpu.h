/* CPUs, cores, caches and NUMA nodes, by sysfs, affinity and control groups. */
#ifndef JR_CPU_H
#define JR_CPU_H

#include "host/reader.h"

/* Read the CPUs that this process may use, and the NUMA nodes. */
void jr_host_reader_cpus(struct jr_host_reader *probe);

/* Read the caches of the CPUs, for people. */
void jr_host_reader_caches(struct jr_host_reader *probe);

#endif
