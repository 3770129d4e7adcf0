/* A translation as YAML, and a launcher's tables as text. */
#ifndef JR_PRINT_SPEC_H
#define JR_PRINT_SPEC_H

#include "cli/translate/translate.h"

/* Append the spec as YAML, with its notes and origins as comments. */
void jr_translation_print(struct jr_buf *out,
                          const struct jr_translation *translation);

/* Append what becomes of each option of the launcher. */
void jr_launcher_print(struct jr_buf *out, const struct jr_launcher *launcher);

#endif
