/* The values that are assumed if a spec does not state them, and the spec that
 * is assumed if there is none. Private to this folder. */
#ifndef JR_DEFAULTS_H
#define JR_DEFAULTS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

struct jr_doc;

/* The name of a spec that states none: that of its file, without the usual
 * ending, and with characters that a name may not contain replaced. */
char *jr_spec_stem(struct jr_arena *arena, const char *path);

/* Append the spec of a bare command, NULL-terminated; `n` ranks, or 0 for as
 * many as there are to be. */
void jr_spec_write_command(struct jr_buf *out, struct jr_arena *arena,
                           uint32_t n, char *const *argv);

/* Give the nodes of that spec, as loaded, positions that its user knows: the
 * number is in a source named -n, the words are in one named `command`;
 * everything else has no position. `folder` is what paths are relative to, in
 * the document's arena. */
void jr_spec_place_command(struct jr_doc *doc, char *const *argv,
                           const char *folder);

#endif
