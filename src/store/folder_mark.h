/*
 * A mark in a run folder, by which other nodes know that theirs is the same one: a folder of the
 * same name may be another, on a disk of their own. It is an empty file with a name that nobody can
 * have looked for before, so that no cache of a network file system knows better.
 */
#ifndef JR_FOLDER_MARK_H
#define JR_FOLDER_MARK_H

#include "base/hash.h"
#include "store/run_folder.h"

/* Make one, and its token. 0, or -1 with `err`. */
int jr_folder_mark_make(const struct jr_run_folder *dir, char ret[static JR_TOKEN_SIZE],
                        struct jr_error *err);

/* Whether the folder has the mark of a token; one that is none is not there. */
bool jr_folder_mark_is(const struct jr_run_folder *dir, const char *token);

/* Remove it. */
void jr_folder_mark_remove(const struct jr_run_folder *dir, const char *token);

#endif
