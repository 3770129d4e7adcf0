/*
 * What an engine is handed, from a session: for the program, which prints it
 * or hands it over.
 */
#ifndef JR_RENDER_SESSION_H
#define JR_RENDER_SESSION_H

#include <jobrun/jobrun.h>

#include "render/render.h"

/* Instead of facts: a machine as the loaded spec states it, with as many
 * devices as it has ranks there. This machine, on which a job is only
 * rendered, is asked nothing. JR_STATUS_UNRESOLVED where the spec leaves open
 * what only a machine can tell. */
enum jr_status jr_session_imagine(struct jr_session *session,
                                  struct jr_error *err);

/* Append what the engine is handed, of a dry session that has its facts.
 * `command` is what jobrun is started with there, NULL-terminated. Resolves,
 * and plans where the engine starts the ranks itself. */
enum jr_status jr_session_render(struct jr_session *session,
                                 enum jr_engine_kind kind, char *const *command,
                                 struct jr_buf *out, struct jr_error *err);

#endif
