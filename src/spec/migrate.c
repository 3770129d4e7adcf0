#include "spec/migrate.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "doc/doc.h"

#include "base/banned.h"

/* What the rules are run with. */
struct migrating {
    struct jr_diags *diags;
    const struct jr_migrations *migrations;
    uint32_t version; /* of the document */
    bool stuck;       /* a person has to decide something first */
};

const struct jr_migrations *jr_migrations(void)
{
    static const struct jr_migrations own = {.current = 1};
    return &own;
}

static void rename_key(struct migrating *to, const struct jr_migration *row,
                       const struct jr_node *mapping, const struct jr_node *key)
{
    bool taken = jr_doc_get(mapping, row->key) != NULL;
    struct jr_diag *diag =
        jr_diags_error(to->diags, JR_CODE_UNKNOWN_FIELD, key->span, row->field,
                       "'%s' has been called '%s' since version %u%s", key->text, row->key,
                       row->from + 1, taken ? ", and the spec has both" : "");
    to->stuck = to->stuck || taken;
    if (!taken)
        jr_diag_fix(to->diags, diag, key->span, row->key);
}

static void change_value_word(const struct migrating *to, const struct jr_migration *row,
                              const struct jr_node *value)
{
    if (value->kind != JR_NODE_SCALAR || strcmp(value->text, row->was) != 0)
        return;
    struct jr_diag *diag =
        jr_diags_error(to->diags, JR_CODE_WRONG_VALUE, value->span, row->field,
                       "'%s' has been '%s' since version %u", row->was, row->word, row->from + 1);
    jr_diag_fix(to->diags, diag, value->span, row->word);
}

/* Follow `path`, what is left of the row's, into `mapping`. */
static void walk_migration(struct migrating *to, const struct jr_migration *row,
                           const struct jr_node *mapping, const char *path)
{
    size_t len = strcspn(path, ".");
    bool any = len == 1 && path[0] == '*';
    if (mapping->kind != JR_NODE_MAPPING)
        return;
    for (size_t i = 0; i < mapping->count; i++) {
        const struct jr_node *key = mapping->pairs[i].key;
        const struct jr_node *value = mapping->pairs[i].value;
        if (!any && (key->len != len || memcmp(key->text, path, len) != 0))
            continue;
        if (path[len] == '.') {
            walk_migration(to, row, value, path + len + 1);
            continue;
        }
        if (row->key != NULL)
            rename_key(to, row, mapping, key);
        if (row->was != NULL)
            change_value_word(to, row, value);
    }
}

/* The version that the document states, with a finding if it is not one. */
static const struct jr_node *find_version(struct migrating *to, const struct jr_doc *doc)
{
    uint32_t current = to->migrations->current;
    const struct jr_node *version = NULL;
    if (doc->root->kind == JR_NODE_MAPPING)
        version = jr_doc_get(doc->root, "version");
    if (version == NULL) {
        (void)jr_diags_error(to->diags, JR_CODE_FIELD_REQUIRED, doc->root->span, "version",
                             "'version' is missing, so the version of this spec is unknown");
        return NULL;
    }
    if (version->kind != JR_NODE_SCALAR || jr_scalar_type(version) != JR_SCALAR_INT ||
        !jr_num_u32(version->text, &to->version)) {
        (void)jr_diags_error(to->diags, JR_CODE_WRONG_VALUE, version->span, "version",
                             "'version' is not a version number: the current version is %u",
                             current);
        return NULL;
    }
    if (to->version <= current)
        return version;
    (void)jr_diags_error(to->diags, JR_CODE_WRONG_VALUE, version->span, "version",
                         "version %u is newer than what this jobrun understands: version %u",
                         to->version, current);
    return NULL;
}

void jr_migrate_find(struct jr_diags *diags, const struct jr_doc *doc,
                     const struct jr_migrations *migrations)
{
    struct migrating to = {.diags = diags, .migrations = migrations};
    const struct jr_node *version = find_version(&to, doc);
    size_t first = diags->count;
    char next[16];
    if (version == NULL || to.version == migrations->current)
        return;
    for (size_t i = 0; i < migrations->count; i++)
        if (migrations->rows[i].from == to.version)
            walk_migration(&to, &migrations->rows[i], doc->root, migrations->rows[i].field);
    (void)snprintf(next, sizeof next, "%u", to.version + 1);
    struct jr_diag *diag = jr_diags_error(diags, JR_CODE_WRONG_VALUE, version->span, "version",
                                          "version %u is not the current one", to.version);
    jr_diag_fix(diags, diag, version->span, next);
    /* A document is of one version: all of a step is made, or nothing. */
    for (size_t i = first; to.stuck && i < diags->count; i++)
        diags->items[i].fix = NULL;
}
