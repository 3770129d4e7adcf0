/*
 * Variables that jobrun sets: the tables of them, what rank_env.c decides of each, what env_row.c
 * makes of that for the ranks, and the entry that it adds to PYTHONPATH.
 */
#ifndef JR_ENV_ROW_H
#define JR_ENV_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strv.h"
#include "plan/text_template.h"

/* A variable as rank_env.c has decided it. */
struct jr_env_row {
    const char *name;
    size_t len;
    bool unset;                           /* and not to be inherited either */
    struct jr_compiled_template template; /* NAME=VALUE */
};

/* Whether it is the row of a name of `len` bytes. */
bool jr_env_row_is(const struct jr_env_row *row, const char *name, size_t len);

/*
 * The variables that jobrun sets, as tables of name and template: those that are always there, and
 * those of each profile (contract.h).
 */

/* When a row applies. */
enum jr_when {
    JR_ALWAYS,
    JR_UNLESS_SET, /* a default for what the rank would otherwise not have */
    JR_IF_SET,     /* a correction of what the rank would otherwise inherit */
};

struct jr_env_variable {
    const char *name;
    const char *text; /* a template; NULL: the variable is unset */
    enum jr_when when;
    uint32_t kinds;   /* the kinds of device that it is for, as bits; 0: all */
    const char *with; /* one that JR_IF_SET asks for as well; NULL: none */
};

struct jr_variables {
    const char *name; /* of the profile */
    const struct jr_env_variable *rows;
    size_t count;
};

/* What every rank gets. */
const struct jr_variables *jr_variables_always(void);

/* What ranks get of what is said of tasks around jobrun. */
const struct jr_variables *jr_variables_tasks(void);

/* What every rank of a sweep's cell gets besides. */
const struct jr_variables *jr_variables_cell(void);

/* Those of an MPI world that jobrun serves by the protocol; none for NONE. */
const struct jr_variables *jr_variables_mpi(enum jr_mpi_protocol protocol);

/* What a profile adds; NULL: there is no such profile. */
const struct jr_variables *jr_variables_of(const char *profile);

/*
 * PYTHONPATH of the ranks: what the user has, and behind it the folder of the package jobrun, so
 * that `import jobrun` works in whatever Python a rank executes.
 */

#define JR_PYTHON_PATH "PYTHONPATH"

/* A value of the variable with `folder` as its last entry, in `arena`; NULL is the value of one
 * that is not set. The value itself where it has the folder already, and where a colon in its name
 * keeps it from being an entry. */
const char *jr_python_path_with(struct jr_arena *arena, const char *value, const char *folder);

/* The same for the variable in an environment, which is added if it is not there; a new string is
 * in `arena`. `folder` may be NULL: then nothing is done. */
void jr_python_path_extend(struct jr_strv *env, struct jr_arena *arena, const char *folder);

#endif
