/*
 * Whether the files of a work tree are as they were when it was recorded, by what stat(2) says of
 * them and of their folders: of a thousand files within two milliseconds, where git's processes
 * take twenty.
 */
#ifndef JR_TREE_STAMP_H
#define JR_TREE_STAMP_H

#include "vcs/run_tree.h"

/* Make the stamp of a tree that was recorded with `whole`. False where it would not be reliable: a
 * file was changed at or after `recorded_ns` (CLOCK_REALTIME) less the steps of the clock of files,
 * the files are not known, or there are too many of them. */
bool jr_tree_stamp_make(uint64_t *ret, const struct jr_run_tree *code, uint64_t recorded_ns);

/* Whether the tree would still have that stamp. */
bool jr_tree_stamp_holds(uint64_t stamp, const struct jr_run_tree *code);

#endif
