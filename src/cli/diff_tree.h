/*
 * Every spec of a folder that is not what it was at a revision.
 */
#ifndef JR_DIFF_TREE_H
#define JR_DIFF_TREE_H

#include "cli/cli.h"

enum jr_diff_format { JR_DIFF_TEXT, JR_DIFF_JSON, JR_DIFF_MARKDOWN };

/* Compare the specs below the words' folders with those at --rev, and print
 * those whose values differ: each for --on, else for the first of its targets,
 * else as it is written. Nothing of this machine or its environment is read.
 * Returns the exit status. */
int jr_diff_tree(struct jr_cli *cli, enum jr_diff_format format);

#endif
