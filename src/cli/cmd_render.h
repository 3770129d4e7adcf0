/* What an engine is handed, for the verbs that print it or hand it over. */
#ifndef JR_CMD_RENDER_H
#define JR_CMD_RENDER_H

#include "cli/cli.h"

/* Append what the engine of --engine is handed of the spec that the words
 * name. */
int jr_stage_render(struct jr_cli *cli, struct jr_buf *out);

#endif
