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

static struct jr_pmi_entry *find_entry(const struct jr_pmi_store *store, struct jr_pmi_text key)
{
    struct wanted wanted;
    if (!fill_wanted(&wanted, key))
        return NULL;
    struct jr_pmi_entry *const *slot = tfind(&wanted.entry, &store->places, compare_entries);
    return slot == NULL ? NULL : *slot;
}

const char *jr_pmi_store_get(const struct jr_pmi_store *store, struct jr_pmi_text key)
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

/* Room for one more in a list of entries. */
static bool make_entry_room(struct jr_pmi_entry ***entries, size_t count, size_t *room)
{
    size_t more = *room == 0 ? 64 : *room * 2;
    if (count < *room)
        return true;
    struct jr_pmi_entry **list = reallocarray(*entries, more, sizeof **entries);
    if (list == NULL)
        return false;
    *entries = list;
    *room = more;
    return true;
}

static struct jr_pmi_entry *add_entry(struct jr_pmi_store *store, struct jr_pmi_text key,
                                      char *value)
{
    struct jr_pmi_entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL || !make_entry_room(&store->entries, store->count, &store->room)) {
        free(entry);
        return NULL;
    }
    entry->key = strndup(key.at, key.len);
    if (entry->key == NULL || tsearch(entry, &store->places, compare_entries) == NULL) {
        free_entry(entry);
        return NULL;
    }
    entry->value = value;
    store->entries[store->count++] = entry;
    return entry;
}

/* The entry that has the value now; NULL without memory. */
static struct jr_pmi_entry *set_value(struct jr_pmi_store *store, struct jr_pmi_text key,
                                      struct jr_pmi_text value, size_t *ret_grown)
{
    struct jr_pmi_entry *entry = find_entry(store, key);
    char *copy = strndup(value.at, value.len);
    *ret_grown = 0;
    if (copy == NULL)
        return NULL;
    if (entry == NULL) {
        entry = add_entry(store, key, copy);
        if (entry != NULL)
            *ret_grown = sizeof *entry + key.len + value.len;
        else
            free(copy);
        return entry;
    }
    size_t before = strlen(entry->value);
    *ret_grown = value.len > before ? value.len - before : 0;
    free(entry->value);
    entry->value = copy;
    return entry;
}

bool jr_pmi_store_put(struct jr_pmi_store *store, struct jr_pmi_text key, struct jr_pmi_text value,
                      size_t *ret_grown)
{
    *ret_grown = 0;
    if (!make_entry_room(&store->fresh, store->fresh_count, &store->fresh_room))
        return false;
    struct jr_pmi_entry *entry = set_value(store, key, value, ret_grown);
    if (entry == NULL)
        return false;
    if (!entry->fresh)
        store->fresh[store->fresh_count++] = entry;
    entry->fresh = true;
    return true;
}

void jr_pmi_store_take_fresh(struct jr_pmi_store *store, struct jr_buf *out)
{
    for (size_t i = 0; i < store->fresh_count; i++) {
        struct jr_pmi_entry *entry = store->fresh[i];
        entry->fresh = false;
        jr_buf_printf(out, "%s %s\n", entry->key, entry->value);
    }
    store->fresh_count = 0;
}

bool jr_pmi_store_put_lines(struct jr_pmi_store *store, const char *lines, size_t len)
{
    while (len > 0) {
        const char *stop = memchr(lines, '\n', len);
        const char *blank = stop == NULL ? NULL : memchr(lines, ' ', (size_t)(stop - lines));
        size_t grown;
        if (blank == NULL)
            return false;
        const struct jr_pmi_text key = {lines, (size_t)(blank - lines)};
        const struct jr_pmi_text value = {blank + 1, (size_t)(stop - blank - 1)};
        if (set_value(store, key, value, &grown) == NULL)
            return false;
        len -= (size_t)(stop + 1 - lines);
        lines = stop + 1;
    }
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
    free(store->fresh);
    *store = (struct jr_pmi_store){0};
}
