#include "wireup/pmi_store.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

/* A key as it is looked for: texts of lines have no end of their own. */
struct wanted {
    struct jr_pmi_entry entry; /* first: what is compared is entries */
    char key[256];
};

static int compare_entries(const void *a, const void *b)
{
    const struct jr_pmi_entry *left = a, *right = b;
    return strcmp(left->key, right->key);
}

static bool fill_wanted(struct wanted *wanted, struct jr_pmi_text key)
{
    if (key.len >= sizeof wanted->key)
        return false;
    *(char *)mempcpy(wanted->key, key.at, key.len) = '\0';
    wanted->entry = (struct jr_pmi_entry){.key = wanted->key};
    return true;
}

static struct jr_pmi_entry *find_entry(const struct jr_pmi_store *store,
                                       struct jr_pmi_text key)
{
    struct wanted wanted;
    if (!fill_wanted(&wanted, key))
        return NULL;
    struct jr_pmi_entry *const *slot =
        tfind(&wanted.entry, &store->places, compare_entries);
    return slot == NULL ? NULL : *slot;
}

const char *jr_pmi_store_get(const struct jr_pmi_store *store,
                             struct jr_pmi_text key)
{
    const struct jr_pmi_entry *entry = find_entry(store, key);
    return entry == NULL ? NULL : entry->value;
}

static void free_entry(struct jr_pmi_entry *entry)
{
    if (entry == NULL)
        return;
    free(entry->key);
    free(entry->value);
    free(entry);
}

static bool make_entry_room(struct jr_pmi_store *store)
{
    size_t room = store->room == 0 ? 64 : store->room * 2;
    if (store->count < store->room)
        return true;
    struct jr_pmi_entry **entries =
        reallocarray(store->entries, room, sizeof *entries);
    if (entries == NULL)
        return false;
    store->entries = entries;
    store->room = room;
    return true;
}

static bool add_entry(struct jr_pmi_store *store, struct jr_pmi_text key,
                      char *value)
{
    struct jr_pmi_entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL || !make_entry_room(store)) {
        free(entry);
        return false;
    }
    entry->key = strndup(key.at, key.len);
    if (entry->key == NULL ||
        tsearch(entry, &store->places, compare_entries) == NULL) {
        free_entry(entry);
        return false;
    }
    entry->value = value;
    store->entries[store->count++] = entry;
    return true;
}

bool jr_pmi_store_put(struct jr_pmi_store *store, struct jr_pmi_text key,
                      struct jr_pmi_text value, size_t *ret_grown)
{
    struct jr_pmi_entry *entry = find_entry(store, key);
    char *copy = strndup(value.at, value.len);
    *ret_grown = 0;
    if (copy == NULL)
        return false;
    if (entry == NULL) {
        bool added = add_entry(store, key, copy);
        if (added)
            *ret_grown = sizeof *entry + key.len + value.len;
        else
            free(copy);
        return added;
    }
    size_t before = strlen(entry->value);
    *ret_grown = value.len > before ? value.len - before : 0;
    free(entry->value);
    entry->value = copy;
    return true;
}

/* The tree's own nodes do not own the entries. */
static void keep_entry(void *entry)
{
    (void)entry;
}

void jr_pmi_store_release(struct jr_pmi_store *store)
{
    tdestroy(store->places, keep_entry);
    for (size_t i = 0; i < store->count; i++)
        free_entry(store->entries[i]);
    free(store->entries);
    *store = (struct jr_pmi_store){0};
}
