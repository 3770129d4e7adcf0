/* What the clients of a process manager put, for all of them to get. */
#ifndef JR_PMI_STORE_H
#define JR_PMI_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "wireup/pmi_line.h"

struct jr_pmi_entry {
    char *key, *value;
    bool fresh; /* put since jr_pmi_store_take_fresh */
};

struct jr_pmi_store {
    void *places;                  /* of the entries, by key; of tsearch(3) */
    struct jr_pmi_entry **entries; /* in the order of their first put */
    size_t count, room;
    struct jr_pmi_entry **fresh; /* those that are */
    size_t fresh_count, fresh_room;
};

/* Set the value of a key, instead of one that it has. *ret_grown: by how many bytes the store is
 * larger. False without memory: nothing has changed. */
bool jr_pmi_store_put(struct jr_pmi_store *store, struct jr_pmi_text key, struct jr_pmi_text value,
                      size_t *ret_grown);

/* The value of a key; NULL: it has none. */
const char *jr_pmi_store_get(const struct jr_pmi_store *store, struct jr_pmi_text key);

/* Append a line KEY VALUE for each entry that was put since the last call, as for the stores of
 * other nodes. */
void jr_pmi_store_take_fresh(struct jr_pmi_store *store, struct jr_buf *out);

/* Put what such lines say, which are fresh no more. False without memory, or where they are
 * none. */
bool jr_pmi_store_put_lines(struct jr_pmi_store *store, const char *lines, size_t len);

/* Free all entries. */
void jr_pmi_store_release(struct jr_pmi_store *store);

#endif
