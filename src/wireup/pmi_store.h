/* What the clients of a process manager put, for all of them to get. */
#ifndef JR_PMI_STORE_H
#define JR_PMI_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wireup/pmi_line.h"

struct jr_pmi_entry {
    char *key, *value;
};

struct jr_pmi_store {
    void *places;                  /* of the entries, by key; of tsearch(3) */
    struct jr_pmi_entry **entries; /* in the order of their first put */
    size_t count, room;
};

/* Set the value of a key, instead of one that it has. *ret_grown: by how many
 * bytes the store is larger. False without memory: nothing has changed. */
bool jr_pmi_store_put(struct jr_pmi_store *store, struct jr_pmi_text key,
                      struct jr_pmi_text value, size_t *ret_grown);

/* The value of a key; NULL: it has none. */
const char *jr_pmi_store_get(const struct jr_pmi_store *store,
                             struct jr_pmi_text key);

/* Free all entries. */
void jr_pmi_store_release(struct jr_pmi_store *store);

#endif
