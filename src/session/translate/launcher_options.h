/* A launcher's line: its options, from the words to the setters of its tables, and the program that
 * it starts. */
#ifndef JR_LAUNCHER_OPTIONS_H
#define JR_LAUNCHER_OPTIONS_H

#include "session/translate/flag.h"

/* Take the launcher's options, up to the program or --help. */
int jr_translate_options(struct jr_translator *t);

/* The program and its arguments, from the word at `at` on. */
int jr_put_program(struct jr_translator *t);

#endif
