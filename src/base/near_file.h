/* The file that a name which is none was probably meant for. */
#ifndef JR_NEAR_FILE_H
#define JR_NEAR_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* The length of a name without the end that YAML files have, .jobrun.yaml or
 * .yaml; of one that has none, all of it. */
size_t jr_near_file_stem(const char *name);

/* Whether a name ends as those of YAML files do. */
bool jr_near_file_is_yaml(const char *name);

/* Find the YAML file that `path` names without the end of its name ("train" is
 * train.jobrun.yaml), or misspells, in the same folder. Returns whether there
 * is one, as a path that begins as `path` does; *ret is emptied first. */
bool jr_near_file_find(struct jr_buf *ret, const char *path);

#endif
