/*
 * A copy of the files of a work tree, which is a run's own: regular files with their modes and
 * times (as clones where the file system can, ioctl_ficlone(2)), symbolic links so that they lead
 * where they led, and links in the place of what is not copied.
 *
 * A link within the tree leads to the same place of the copy, and one out of it to where it led. No
 * link of the tree is followed, so that nothing but its own files can get into the copy.
 */
#ifndef JR_COPY_TREE_H
#define JR_COPY_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include <jobrun/error.h>

/* What to copy. Paths are absolute; lists are paths from the top, each with a NUL. */
struct jr_copy_tree_request {
    const char *top;            /* without links */
    const char *from;           /* where the files are; NULL: at the top */
    const char *to;             /* is made */
    const struct jr_buf *files; /* what is not there is passed over */
    const struct jr_buf *links; /* what a link takes the place of */
    bool again;                 /* the tree is a copy itself: its links are taken over as
                                   they are */
    uint64_t since_ns;          /* see jr_copied_tree */
    int stop_fd;                /* until this is readable; -1: none */
};

struct jr_copied_tree {
    uint64_t files, bytes; /* of regular files */
    uint64_t links;        /* in the place of what is not copied */
    bool changing;         /* a file was changed since `since_ns` of CLOCK_REALTIME */
    /* What there is, each with a NUL: "f MODE SIZE MTIME_NS PATH" of a file and of a link of the
     * tree, "l PATH" in the place of what is not copied. */
    struct jr_buf list;
};

#define JR_COPIED_TREE_INIT ((struct jr_copied_tree){0})

/* Copy. 0, or -1 with `err`, whose `sys` is EINTR where it was stopped and EEXIST where a link
 * would take the place of something copied; what was copied by then is there. Release in any
 * case. */
int jr_copy_tree(struct jr_copied_tree *ret, const struct jr_copy_tree_request *request,
                 struct jr_error *err);

/* Take such a list apart: the paths of files, and those of links. False where it is none. */
bool jr_copied_tree_read(const struct jr_buf *list, struct jr_buf *ret_files,
                         struct jr_buf *ret_links);

/* The path at which two such lists differ first; NULL: they are the same. */
const char *jr_copied_tree_differ(const struct jr_buf *a, const struct jr_buf *b);

/* Free the list; the copy stays. */
void jr_copied_tree_release(struct jr_copied_tree *copied);

#endif
