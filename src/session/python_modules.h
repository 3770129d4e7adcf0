/*
 * Where Python would find a module, told without executing anything: by the
 * folders that it searches. Python offers so many ways to find more (import
 * hooks, archives, .pth files that are programs) that only what is certainly
 * missing is said to be: wherever one of these may be at work, nothing is.
 */
#ifndef JR_PYTHON_MODULES_H
#define JR_PYTHON_MODULES_H

#include <stdbool.h>

#include "base/buf.h"

/* A process that is to import something. All is borrowed. */
struct jr_python_look {
    char *const *env;        /* its environment */
    const char *workdir;     /* its folder, absolute */
    const char *interpreter; /* the file of the interpreter; relative: below
                                workdir */
};

/* Whether `module`, a dotted name, is certainly not there. Then ret_part is
 * given how much of the name is missing ("pkg.train" of "pkg.train.main") and
 * ret_help what to type instead, where that can be known; both are emptied
 * first. */
bool jr_python_module_missing(struct jr_buf *ret_part, struct jr_buf *ret_help,
                              const struct jr_python_look *look,
                              const char *module);

#endif
