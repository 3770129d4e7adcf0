/* Looking up the program that a rank executes, as execvp(3) does. */
#ifndef JR_PROGRAM_H
#define JR_PROGRAM_H

#include <limits.h>

/* The last program that was looked up; see jr_program_find. */
struct jr_program {
    const char *name, *search, *workdir;
    int error;
    char path[PATH_MAX];
};

/* Find what execve is to be given for argv[0] `name`: as it is where it has a
 * slash; else the first executable regular file in the folders of `search` (a
 * PATH; NULL: the system's default), relative ones below `workdir`. Looks once
 * for equal arguments in a row; they are borrowed. Returns 0 or an errno:
 * ENOENT, EISDIR or EACCES for what was there and would not do. */
int jr_program_find(struct jr_program *program, const char *name, const char *search,
                    const char *workdir);

/* A more exact errno for a failed execve of `path` (relative: below `workdir`, NULL: the current
 * folder): EISDIR for EACCES of a folder, ELIBACC where ENOENT or EACCES are about the interpreter;
 * `error` otherwise. */
int jr_program_refine_errno(const char *path, const char *workdir, int error);

#endif
