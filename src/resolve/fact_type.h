/* The kinds of scalars that a facts file holds: how each is written and read. Private to this
 * folder. */
#ifndef JR_FACT_TYPE_H
#define JR_FACT_TYPE_H

#include <stdbool.h>

#include "base/arena.h"

enum jr_fact {
    JR_FACT_VERSION, /* of the format: 1; no member */
    JR_FACT_INDEX,   /* uint32_t */
    JR_FACT_COUNT,   /* uint32_t; 0: unknown */
    JR_FACT_BYTES,   /* uint64_t; 0: unknown */
    JR_FACT_SECONDS, /* uint64_t; 0: unknown */
    JR_FACT_CPUS,    /* double; 0: unknown */
    JR_FACT_NODE,    /* int; -1: unknown */
    JR_FACT_FLAG,    /* bool */
    JR_FACT_KIND,    /* enum jr_device */
    JR_FACT_SET,     /* const char *, "0-3,8"; NULL: unknown */
    JR_FACT_HOSTS,   /* struct jr_strv; none: unknown */
    JR_FACT_GROUPS,  /* struct jr_strv of CPU sets; none: unknown */
    JR_FACT_COUNTS,  /* struct jr_counts; none: unknown */
    JR_FACT_NAME,    /* const char *, of a variable; NULL: none */
    JR_FACT_TEXT     /* const char *; NULL: unknown */
};

struct jr_fact_type {
    const char *wants; /* what a value must be, for messages */
    unsigned scalars;  /* 1 << each jr_scalar_type that it may be written as */
    /* Set the member at `to` from the text of a scalar of such a type; false, and the member
     * untouched, when that is no such fact. */
    bool (*read)(const char *text, void *to, struct jr_arena *arena);
    /* The text of the member at `from`; NULL when it is unknown. */
    char *(*write)(const void *from, struct jr_arena *arena);
};

/* The type of a kind of fact. */
const struct jr_fact_type *jr_fact_type(enum jr_fact fact);

#endif
