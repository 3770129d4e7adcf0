/* The files of a work tree: which of them git lists, and how they are taken. */
#ifndef JR_WORK_LIST_H
#define JR_WORK_LIST_H

#include "vcs/work_tree.h"

/* Find what the index says: what is aside, hidden, and a submodule. Meanwhile git looks for what
 * differs. */
int jr_work_tree_look(struct jr_work_tree *tree, const struct jr_work_look *look,
                      struct jr_error *err);

/* Find what differs, after jr_work_tree_look: all the rest. */
int jr_work_tree_list(struct jr_work_tree *tree, const struct jr_work_look *look,
                      struct jr_error *err);

/* Whether the path, from the top, is one that does not count. */
bool jr_work_tree_is_aside(const struct jr_work_tree *tree, const struct jr_work_look *look,
                           const char *path);

/* Whether the path, from the top, is the log_dir or below it. */
bool jr_work_tree_is_log(const struct jr_work_tree *tree, const struct jr_work_look *look,
                         const char *path);

/* Whether the folder of `nested` is a submodule of its index. */
bool jr_work_tree_is_submodule(const struct jr_work_tree *tree, const char *path);

#endif
