/*
 * Another launcher's command line, said as a spec.
 *
 *   line --jr_shell_split--> words --jr_translate--> jr_translation --> YAML
 *
 * Nothing of the line is expanded or executed, and of this machine only a hostfile that it names is
 * read. What each launcher's options become is in the tables of spec/foreign_launchers.c.
 */
#ifndef JR_TRANSLATE_H
#define JR_TRANSLATE_H

#include <stdbool.h>
#include <stddef.h>

#include <jobrun/error.h>

#include "base/arena.h"
#include "base/buf.h"
#include "diag/diag.h"
#include "spec/foreign.h"

struct jr_note {
    enum jr_verdict verdict;
    const char *what; /* as the line has it */
    const char *why;
};

/* What of the line a field of the spec came from. */
struct jr_origin {
    const char *path, *text;
};

struct jr_node;
struct jr_spec_file;

struct jr_translation {
    struct jr_arena arena;
    const char *from;               /* the launchers that the line names */
    const struct jr_launcher *help; /* whose options it asks for, or NULL */
    struct jr_node *spec;           /* a mapping */
    struct jr_origin *origins;
    size_t origins_count;
    struct jr_note *notes;
    size_t notes_count;
    struct jr_spec_file *read; /* by jr_translation_print; NULL: not yet */
};

/* Translate the first command of `line` (UTF-8, copied). Returns 0, or -1 with a usage error: no
 * launcher that is known, no program, a wrong value. Release in any case. */
int jr_translate(struct jr_translation *ret, const char *line, struct jr_error *err);

/* Free a translation. */
void jr_translation_release(struct jr_translation *translation);

/* Append the names of the launchers, for help: "torchrun, srun". */
void jr_launcher_names(struct jr_buf *out);

/* Append the spec as YAML, with its notes and origins as comments; and have it read as any other,
 * which has the last word on what the line said. -1 with the mistakes in `diags`, to be released
 * before the translation. */
int jr_translation_print(struct jr_buf *out, struct jr_translation *translation,
                         struct jr_diags *diags);

/* Append what becomes of each option of the launcher. */
void jr_launcher_print(struct jr_buf *out, const struct jr_launcher *launcher);

#endif
