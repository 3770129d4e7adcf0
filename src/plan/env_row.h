/* A variable that jobrun sets: what rank_env.c decides, and rank_env_build.c
 * expands. */
#ifndef JR_ENV_ROW_H
#define JR_ENV_ROW_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/text_template.h"

struct jr_env_row {
    const char *name;
    size_t len;
    bool unset;                          /* and not to be inherited either */
    struct jr_compiled_template stencil; /* NAME=VALUE */
};

/* Whether it is the row of a name of `len` bytes. */
bool jr_env_row_is(const struct jr_env_row *row, const char *name, size_t len);

#endif
