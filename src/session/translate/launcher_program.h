/* The program that the line starts. */
#ifndef JR_LAUNCHER_PROGRAM_H
#define JR_LAUNCHER_PROGRAM_H

#include "session/translate/flag.h"
/* The program and its arguments, from the word at `at` on. */
int jr_put_program(struct jr_translator *t);

#endif
