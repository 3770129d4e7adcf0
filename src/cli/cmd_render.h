/* What an engine is handed, for the verbs that print it or hand it over. */
#ifndef JR_CMD_RENDER_H
#define JR_CMD_RENDER_H

#include "cli/cli.h"

#include "session/submission.h"

/* Append what the engine of --engine is handed of the spec that the words
 * name. *ret_session, which the caller closes, is NULL or has what was frozen
 * for it; NULL: nothing is to be frozen. */
int jr_stage_render(struct jr_cli *cli, struct jr_buf *out,
                    struct jr_session **ret_session);

#endif
