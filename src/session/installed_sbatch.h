/* The options of the sbatch that this machine has, where a spec has one that
 * the table of sbatch_options.h does not: plugins of a cluster add options. */
#ifndef JR_INSTALLED_SBATCH_H
#define JR_INSTALLED_SBATCH_H

#include <jobrun/jobrun.h>

/* Ask `sbatch --help` about the options of a session's spec that jobrun does
 * not know. Those that it does not list are findings. Returns JR_STATUS_OK,
 * also where no sbatch answers, or JR_STATUS_UNRESOLVED. */
enum jr_status jr_installed_sbatch_check(struct jr_session *session);

#endif
