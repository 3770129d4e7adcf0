/*
 * Where the files come from that a document refers to: the file system, or anything else that can
 * hand over bytes for a path (a revision of git, a table in a test); and what such a file is where
 * it is no YAML.
 */
#ifndef JR_SOURCE_READER_H
#define JR_SOURCE_READER_H

#include <jobrun/error.h>

#include "base/arena.h"
#include "base/buf.h"
#include "doc/doc.h"

/* A file that was read. */
struct jr_file {
    const char *id;     /* the same for one file under all its names; NULL: it is
                           not one of those that are referred to */
    const char *name;   /* for people */
    const char *folder; /* absolute: what paths in it are relative to */
};

/* One call: what is asked, and the answer. */
struct jr_reading {
    const char *path;           /* as it is written in */
    const struct jr_file *from; /* this file */
    struct jr_arena *arena;     /* for the strings of the answer */
    struct jr_file file;
    struct jr_buf text; /* the caller releases it in any case */
    bool outside;       /* what fails is that it may not be read */
};

struct jr_reader {
    /* Fill in the answer, of at most JR_DOC_MAX_BYTES; -1 with `err`, which says why and not for
     * which file. */
    int (*read)(const struct jr_reader *reader, struct jr_reading *reading, struct jr_error *err);
    const void *context;
};

/* Regular files in the folder `root` and below: an absolute path without links in it, which is
 * borrowed. A link may lead anywhere below it. */
struct jr_reader jr_reader_of_files(const char *root);

/* The name for people of `path` as a file named `from` refers to it: a name that leads there from
 * where `from` does. Folded; in `arena`. */
const char *jr_reader_name(struct jr_arena *arena, const char *from, const char *path);

/* Report a file that is something else than YAML in UTF-8, by how it begins:
 * UTF-16, an archive, a program, a script, a web page, or one with a conflict
 * of a merge. Returns whether it is. `source` has its text. */
bool jr_other_file_report(struct jr_diags *diags, const struct jr_source *source);

#endif
