/* JSON in the text of a test. */
#ifndef QUOTED_H
#define QUOTED_H

#include <stdbool.h>

#include "unit.h"

/* JSON that is written with single quotes, as "{'a': [1, null]}": with those that it has. `\\'` is
 * one of the text. What is returned holds for the next fifteen calls. */
static inline const char *jq(const char *text)
{
    static char texts[16][8192];
    static unsigned next;
    char *out = texts[next++ % 16], *at = out;
    CU_ASSERT_TRUE_FATAL(strlen(text) < sizeof texts[0]);
    for (; *text != '\0'; text++) {
        bool kept = text[0] == '\\' && text[1] == '\'';
        text += kept;
        *at++ = *text == '\'' && !kept ? '"' : *text;
    }
    *at = '\0';
    return out;
}

#endif
