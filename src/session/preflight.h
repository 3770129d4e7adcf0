/*
 * What a launch will need of this machine, looked at without starting anything:
 * the working directories, the program, the interpreter and the script, and the
 * folders that something is to be written to.
 */
#ifndef JR_PREFLIGHT_H
#define JR_PREFLIGHT_H

#include <stdbool.h>

#include <jobrun/jobrun.h>

#include "base/buf.h"

/* Check the plan of a session against this machine; what is missing becomes findings of the
 * session, errors or, where `setup` may still provide it, warnings. Returns JR_STATUS_OK or
 * JR_STATUS_UNRESOLVED. Ranks that begin on other nodes are not looked at, nor is anything where a
 * controller leads nodes: they have file systems of their own. */
enum jr_status jr_session_preflight(struct jr_session *session);

/*
 * A file that is in the folder in which jobrun was called, and not where the ranks
 * look for it: the commonest of all mistakes where the spec lies in a folder of its own.
 */

/* Append what to do about whatever the entrypoint of the plan names first, where it is such a file;
 * `name` is what a message says of it. False: it is none. */
bool jr_misplaced_find(struct jr_buf *out, struct jr_buf *name, const struct jr_session *session);

/*
 * Where Python would find a module: the interpreter is asked, since it alone
 * knows all the ways (packages, hooks, archives, .pth files that are programs). It imports nothing
 * for that, so that no code of the user's runs but what runs at each start of this interpreter.
 * Where it gives no answer, nothing is said.
 */

/* A process that is to import something. All is borrowed. */
struct jr_python_look {
    char *const *env;        /* its environment */
    const char *workdir;     /* its folder, absolute */
    const char *interpreter; /* the file of the interpreter; relative: below
                                workdir. What is no binary program is not asked:
                                a script might do anything */
    bool field;              /* a field of the spec names the interpreter, not a command */
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
