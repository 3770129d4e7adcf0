/*
 * Specs as they were at a git revision, including the files that they extend.
 * Paths are those of the work tree: an old spec has the path that it would have
 * now.
 */
#ifndef JR_REV_READER_H
#define JR_REV_READER_H

#include "doc/source_reader.h"
#include "spec/load.h"
#include "vcs/revision.h"

/* A reader of the files below the top of the work tree. Borrows. */
struct jr_reader jr_rev_reader(struct jr_revision *revision);

/* Load the spec at `path`, which is from the top; `environ` as in jr_side.
 * Returns what jr_spec_load does; what keeps it from being read is a finding
 * too. */
int jr_rev_load(struct jr_spec_file **ret, struct jr_revision *revision,
                const char *path, char *const *environ, struct jr_diags *diags);

#endif
