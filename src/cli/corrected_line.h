/* The line to type instead of one with options of another launcher. */
#ifndef JR_CORRECTED_LINE_H
#define JR_CORRECTED_LINE_H

#include <stdbool.h>

#include "base/buf.h"

struct jr_cli;

/* What has to stand before a program as it was typed: Python, before a script of its that cannot be
 * executed. "" or " python3". */
const char *jr_line_interpreter(const char *word);

/* Whether a path is a file that can be executed. */
bool jr_line_is_program(const char *path);

/* Whether a word is the name of a Python script. */
bool jr_line_is_python(const char *word);

/* Whether a word is PATH=VALUE, as Hydra takes it: with a '+' before it, too.
 */
bool jr_line_is_setting(const char *word);

/* Append ` -s PATH=VALUE` for one; a name that is no field is one of `vars`. */
void jr_line_add_setting(struct jr_buf *line, const char *word);

/* Append the line that says here what the one that was typed says with options of others, such as
 * "jobrun -n 2 -- python3 train.py". Returns false where that is not certain: `out` is to be thrown
 * away then. */
bool jr_line_correct(struct jr_buf *out, const struct jr_cli *cli);

#endif
