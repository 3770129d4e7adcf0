/*
 * Specs of older versions of the language: what has another name or another word in the next
 * version, in a table. The findings have fixes, so that what is written back keeps its comments and
 * its layout.
 */
#ifndef JR_MIGRATE_H
#define JR_MIGRATE_H

#include <stddef.h>
#include <stdint.h>

#include "diag/diag.h"

struct jr_doc;

/* What becomes of a field. */
struct jr_migration {
    uint32_t from;          /* the version that is left for the next one */
    const char *field;      /* dotted path in it; a star is any name */
    const char *key;        /* what its last part is called then; NULL: the same */
    const char *was, *word; /* the scalar `was` is `word` then; NULL: any value
                               stays as it is */
};

struct jr_migrations {
    const struct jr_migration *rows;
    size_t count;
    uint32_t current; /* the version that is understood */
};

/* The changes that this program knows. */
const struct jr_migrations *jr_migrations(void);

/* Look for what the next version wants otherwise; the version is that of the document. Each finding
 * has a fix, but where the version is newer than the current one or none at all, and where a new
 * name is taken: then none has one. Nothing is found in a document of the current version. Once the
 * fixes are made, look again: a document goes from version to version. */
void jr_migrate_find(struct jr_diags *diags, const struct jr_doc *doc,
                     const struct jr_migrations *migrations);

#endif
