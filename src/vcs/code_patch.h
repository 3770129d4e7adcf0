/*
 * The difference of a work tree to its commit as a patch of bounded size, without secrets: whole
 * files are left out, the largest first, and which they are is said. And the tree once more, out of
 * both.
 */
#ifndef JR_CODE_PATCH_H
#define JR_CODE_PATCH_H

#include <stdbool.h>
#include <stddef.h>

#include <jobrun/error.h>

#include "base/arena.h"
#include "base/buf.h"
#include "vcs/git.h"
#include "vcs/secret_lines.h"

enum { JR_PATCH_MOST = 1 << 20 }; /* bytes of all of it */

/* Why a file is not in the patch as it is. `word` is how the record says it. */
#define JR_LEFT_OUTS(X)                                                                            \
    X(SIZE, "size", "the patch would be too large")                                                \
    X(BINARY, "binary", "it is no text, and may have a secret in it")                              \
    X(SECRET, "secret", "it is not tracked, and has a secret in it")                               \
    X(REDACTED, "redacted", "the secrets in it are replaced")                                      \
    X(CONVERTED, "converted", "git converts its line ends or its encoding")                        \
    X(LINK, "link", "what this link leads to is not in the work tree")                             \
    X(REPOSITORY, "repository", "it is a repository that is not tracked")

#define JR_LEFT_OUT_ENUM(name, word, help) JR_LEFT_OUT_##name,
enum jr_left_out_why { JR_LEFT_OUTS(JR_LEFT_OUT_ENUM) };

/* The word of a reason, as the record has it. Static text. */
const char *jr_left_out_word(enum jr_left_out_why why);

/* The sentence that explains a reason. Static text. */
const char *jr_left_out_help(enum jr_left_out_why why);

struct jr_left_out {
    const char *path;
    enum jr_left_out_why why;
};

/* The files of a difference that have been read so far. */
struct jr_code_piece {
    const char *path;
    struct jr_buf text;
};

struct jr_code_patch {
    struct jr_arena *arena; /* of the paths */
    const struct jr_secrets *secrets;
    struct jr_code_piece *pieces; /* without those that were left out */
    size_t count;
    size_t bytes; /* of all of them */
    struct jr_left_out *left_out;
    size_t left_out_count;
    bool differs; /* there was a file, in it or left out */
    bool failed;  /* no memory */
};

/* Add that a file is left out. The path is copied. */
void jr_code_patch_leave(struct jr_code_patch *patch, const char *path, enum jr_left_out_why why);

/* Take a difference, as jr_snapshot_diff prints it, piece by piece. */
struct jr_code_reader {
    struct jr_code_patch *patch;
    const char *prefix; /* before every path */
    /* Whether the file of that path is not to be in it, and does not differ. */
    bool (*passes)(void *data, const char *path);
    /* Whether the file of that path, with the prefix, may be in it though it is no text, in which
     * secrets cannot be replaced. NULL: none may. */
    bool (*shows)(void *data, const char *path);
    void *data;

    struct jr_buf partial; /* of a record or a line */
    const char **paths;    /* of the texts, in their order; NULL: passed over */
    size_t paths_count, next;
    bool text;                  /* the records have ended */
    bool cut;                   /* the line goes on that was taken in part */
    bool expected;              /* a path comes next */
    char state;                 /* of the file whose path it is */
    struct jr_code_piece piece; /* that is being read */
    bool open, large;
    bool binary;   /* it is no text, and is left out */
    bool encoded;  /* it is no text, and is in the patch: */
    bool complete; /* and what follows is what it was before */
};

/* A jr_task_sink's `take`; its data is the reader. */
int jr_code_reader_take(void *data, const char *bytes, size_t len);

/* Add what was read last, and free the reader. */
void jr_code_reader_end(struct jr_code_reader *reader);

/* Append the text of all pieces, in the order of their paths' reading. */
void jr_code_patch_print(struct jr_buf *out, const struct jr_code_patch *patch);

/* Free the pieces. */
void jr_code_patch_release(struct jr_code_patch *patch);

/*
 * The tree of a run once more, out of its commit and its patch: as files beside the repository,
 * which is not written to, and proved by its name.
 */

/* What was recorded. Paths are absolute. */
struct jr_rebuild_request {
    const char *top;            /* of the repository */
    const char *commit;         /* NULL: there was none yet */
    const char *tree;           /* the name that it has to have */
    const struct jr_buf *patch; /* may be empty */
    char *const *files;         /* did not count; NULL-terminated, or NULL */
    const char *log_dir;        /* did not count; NULL: none */
    const char *scratch;        /* is made, and removed by who called; its parent is
                                   there */
    char *const *envp;
    struct jr_task_limit limit;
};

/* Make the files in the folder `tree` of the scratch folder, and append their paths to `ret_files`,
 * each with a NUL. -1 with `err` where the commit is not there, the patch does not fit it, or both
 * make another tree. */
int jr_tree_rebuild(const struct jr_rebuild_request *request, struct jr_buf *ret_files,
                    struct jr_error *err);

#endif
