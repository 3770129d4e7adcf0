/* Names that sbatch and srun put into the names of files: logs/%j. */
#ifndef JR_CHECK_PATTERNS_H
#define JR_CHECK_PATTERNS_H

#include "spec/check.h"

/* Warn of such names in paths of the spec, which has other ones. */
void jr_check_patterns(const struct jr_check *check);

#endif
