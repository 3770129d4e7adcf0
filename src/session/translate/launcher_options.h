/* A launcher's options, from the words to the setters of its tables. */
#ifndef JR_LAUNCHER_OPTIONS_H
#define JR_LAUNCHER_OPTIONS_H

#include "session/translate/flag.h"

/* Take the launcher's options, up to the program or --help. */
int jr_translate_options(struct jr_translator *t);

#endif
