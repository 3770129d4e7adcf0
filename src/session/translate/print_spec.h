/* A translation as YAML, and a launcher's tables as text. */
#ifndef JR_PRINT_SPEC_H
#define JR_PRINT_SPEC_H

#include "session/translate/translate.h"

/* Append the spec as YAML, with its notes and origins as comments; and have it
 * read as any other, which has the last word on what the line said. -1 with the
 * mistakes in `diags`, to be released before the translation. */
int jr_translation_print(struct jr_buf *out, struct jr_translation *translation,
                         struct jr_diags *diags);

/* Append what becomes of each option of the launcher. */
void jr_launcher_print(struct jr_buf *out, const struct jr_launcher *launcher);

#endif
