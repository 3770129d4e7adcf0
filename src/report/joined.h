/* How the files of a run's parts become one. For parts.c alone. */
#ifndef JR_JOINED_H
#define JR_JOINED_H

#include "left.h"
#include "parts.h"

enum {
    JR_PART_NAME = 16, /* "node_1" */
    JR_PART_PATH = 64  /* and a file in it */
};

void jr_part_path(char ret[static JR_PART_PATH], uint32_t node,
                  const char *name);

/* A file of one part; NULL where it is not there. */
json_t *jr_part_json(int fd, uint32_t node, const char *name, bool head);

/* How the part stands whose record is `run`: "finished", or as
 * jr_folder_standing has it. */
const char *jr_part_standing(int fd, uint32_t node, const json_t *run);

/* Whether that record has the fingerprint, as far as it has one. */
bool jr_part_ran_like(const json_t *run, const char *fingerprint);

/* joined.c: see parts.h. */
json_t *jr_joined_results(int fd, const struct jr_parts *parts, bool head);
json_t *jr_joined_plan(int fd, const struct jr_parts *parts, bool head);

/* across.c: whether these results have fields that are compared over the ranks;
 * and to do so over all ranks of the joined results, as far as they are here:
 * who differs did not deliver, and where nothing graver is known, neither did
 * the run. */
bool jr_across_asked(const json_t *results);
void jr_across_compare(json_t *joined);

#endif
