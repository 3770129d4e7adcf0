/* What an engine is handed, for the verbs that print it or hand it over. */
#ifndef JR_CMD_RENDER_H
#define JR_CMD_RENDER_H

#include "cli/cli.h"

#include "session/submission.h"
#include "session/sweep/submit_sweep.h"

/* What a script was made of. */
struct jr_render {
    struct jr_session *session;             /* of the spec; NULL: it could not be opened */
    struct jr_sweep_submission *sweep;      /* of all of its cells; NULL: it is one
                                               job */
    struct jr_sweep_submit_options options; /* of that */
};

/* Append what the engine of --engine is handed of the spec that the words name.
 * `freezes`: what the job needs is written where it wants that. Close *ret in
 * any case; until then it stays where it is. */
int jr_render_open(struct jr_render *ret, struct jr_cli *cli, struct jr_buf *out, bool freezes);

/* Free it. */
void jr_render_close(struct jr_render *render);

#endif
