/* Specs or runs side by side, as text; and those of a whole folder. */
#ifndef JR_DIFF_SPECS_H
#define JR_DIFF_SPECS_H

#include <jobrun/jobrun.h>

#include "base/arena.h"
#include "base/buf.h"
#include "diag/diag.h"

struct jr_comparison;

enum jr_diff_format { JR_DIFF_TEXT, JR_DIFF_JSON, JR_DIFF_MARKDOWN };

/* What a comparison is told besides what to compare. */
struct jr_diff_options {
    enum jr_diff_format format;
    size_t width;                               /* of the terminal; 0: it is none */
    const char *log_dir;                        /* of runs */
    char *const *environ;                       /* what ${env:NAME} reads, and git's own */
    const char *rev;                            /* of a tree: a revision of git */
    bool code;                                  /* of runs: with the patches of their code */
    const char *on;                             /* of a tree: the profile to resolve for; NULL */
    void (*note)(void *data, const char *line); /* told what need not be true,
                                                   or is not compared */
    void *data;
};

/* What differs. */
struct jr_diff {
    struct jr_buf text;
    bool differs;
    bool invalid;          /* of a tree: a spec of now has mistakes */
    struct jr_diags diags; /* what is wrong with a side, or with `on` */
    struct jr_arena arena;
    struct jr_comparison *sides; /* that the findings quote */
};

/* Set two specs or runs side by side, each word a file, REV:FILE or a run, resolved for the machine
 * of a session that has its facts. What keeps it from that is in the findings, else in `err`.
 * Release in any case. */
enum jr_status jr_diff_two(struct jr_diff *ret, const struct jr_session *session,
                           char *const words[static 2], const struct jr_diff_options *options,
                           struct jr_error *err);

/* Free a comparison. */
void jr_diff_release(struct jr_diff *diff);

/* Compare the specs below the folders (of `count` words; 0: the current one) with those at the
 * revision, and tell of those whose values differ: each for the machine `on`, else for the first of
 * its targets, else as it is written. Nothing of this machine or its environment is read. */
enum jr_status jr_diff_tree(struct jr_diff *ret, char *const *words, int count,
                            const struct jr_diff_options *options, struct jr_error *err);

#endif
