/*
 * A run that is repeated: its resolved.yaml once more, as an override of its own. What the resolver
 * found for the machine of then is MISSING again, unless it is to be as it was. The code of then,
 * in place of the work tree as it is now, is declared in session_code.h.
 */
#ifndef JR_RERUN_H
#define JR_RERUN_H

#include <jobrun/spec.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/strv.h"

struct jr_session;

/* How it is repeated. */
struct jr_rerun_options {
    bool exact;          /* with the values of then */
    bool local;          /* all ranks on this machine, as with --local */
    bool code;           /* with the code of then */
    bool trust;          /* even if another user could have written it */
    const char *log_dir; /* where the new run goes; NULL: beside the old one */
};

/* What a session loads; it borrows from here. */
struct jr_rerun {
    struct jr_arena arena;
    struct jr_spec_source source;
    struct jr_strv sets; /* NULL-terminated, for the session's `sets` */
    bool local;          /* it is asked for, or was */
    const char *code_of; /* for the session's; NULL: the code of now */
    json_t *values;      /* the vars and labels of then, for the record */
};

/* Prepare the repetition of LOG_DIR/ID. -1 with `err`: JR_STATUS_USAGE where it never started,
 * JR_STATUS_LAUNCH where it cannot be read, or what another user wrote would be run as us. Release
 * in any case. */
int jr_rerun_prepare(struct jr_rerun *ret, const char *log_dir, const char *id,
                     const struct jr_rerun_options *options, struct jr_error *err);

/* Let the session record the vars of the run that it repeats, whose resolved spec has none any
 * more. Before it begins. */
void jr_rerun_keep_values(struct jr_session *session, const struct jr_rerun *rerun);

/* Free what the session borrowed. */
void jr_rerun_release(struct jr_rerun *rerun);

#endif
