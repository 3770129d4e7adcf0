/*
 * The fixes that are sure, written back: validate --fix, and migrate.
 *
 * A text is read, its fixes are made, and it is read again until no more is
 * sure; only then a file is replaced, in one step, by the new text.
 */
#ifndef JR_FIX_FILE_H
#define JR_FIX_FILE_H

#include "cli/cli.h"

struct jr_doc;

/* A text that is being fixed. */
struct jr_fixing {
    const struct jr_cli *cli;
    const char *name, *folder; /* of the text */
    struct jr_buf text;        /* as far as it is fixed */
    struct jr_buf told;        /* a line for each fix */
};

/* Read the text once and make the fixes of what is found, by jr_fixing_make.
 * Returns whether there were any. */
typedef bool jr_fixing_pass(struct jr_fixing *fixing);

/* What `validate` finds. */
jr_fixing_pass jr_fixing_check;

/* Make the fixes of one reading, unless they would spoil the text: then they
 * were not that sure. `doc` was read from the text. Returns whether there were
 * any. */
bool jr_fixing_make(struct jr_fixing *fixing, const struct jr_doc *doc,
                    const struct jr_diags *diags);

/* Fix a file, through a symbolic link the file that it leads to. Each fix is
 * reported on standard error. Returns 0, for a file without any fix or that
 * cannot be read too (checking it will say so), or an exit status after saying
 * why the file was left as it is. */
int jr_fix_file(const struct jr_cli *cli, const char *path,
                jr_fixing_pass *pass);

/* Read a spec from standard input and print it with its fixes to standard
 * output. *ret is what was printed, for it cannot be read again. Returns the
 * same. */
int jr_fix_stdin(const struct jr_cli *cli, jr_fixing_pass *pass,
                 struct jr_buf *ret);

#endif
