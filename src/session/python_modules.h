/*
 * Where Python would find a module: the interpreter is asked, since it alone knows all the ways
 * (packages, hooks, archives, .pth files that are programs). It imports nothing for that, so that
 * no code of the user's runs but what runs at each start of this interpreter. Where it gives no
 * answer, nothing is said.
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
                                workdir. What is no binary program is not asked:
                                a script might do anything */
    char *const *options;    /* of the interpreter, of which -I, -P and the like
                                change what it finds */
    size_t options_count;
};

/* Whether `module`, a dotted name, is certainly not there. Then ret_part is given how much of the
 * name is missing ("pkg.train" of "pkg.train.main") and ret_help what to type instead, where that
 * can be known; both are emptied first. */
bool jr_python_module_missing(struct jr_buf *ret_part, struct jr_buf *ret_help,
                              const struct jr_python_look *look, const char *module);

#endif
