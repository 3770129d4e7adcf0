/* What is taken to be said where a spec, or nobody, says it. Private to this
 * folder. */
#ifndef JR_DEFAULTS_H
#define JR_DEFAULTS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

struct jr_doc;

/* The name of a spec that states none: its file's, without what every such
 * file's name ends with, and with stand-ins for what no name may hold. */
char *jr_spec_stem(struct jr_arena *arena, const char *path);

/* Append the spec of a bare command, NULL-terminated; `n` ranks, or 0 for as
 * many as there are to be. */
void jr_spec_write_command(struct jr_buf *out, struct jr_arena *arena,
                           uint32_t n, char *const *argv);

/* Give the nodes of that spec, as loaded, the positions that its user knows:
 * that of the number is in a source named -n, those of the words are in one
 * named `command`; what nobody wrote has none. `folder` is what paths are
 * relative to, in the document's arena. */
void jr_spec_place_command(struct jr_doc *doc, char *const *argv,
                           const char *folder);

#endif
