#include "spec/spec_file.h"

#include <jobrun/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/strv.h"
#include "doc/extends.h"
#include "doc/interpolate.h"
#include "doc/node_path.h"
#include "doc/override.h"
#include "spec/env_profile.h"
#include "spec/field.h"

#include "base/banned.h"

enum jr_status jr_spec_status(const struct jr_diags *diags)
{
    size_t own = 0, outside = 0;
    for (size_t i = 0; i < diags->count; i++) {
        const struct jr_diag *diag = &diags->items[i];
        if (diag->severity != JR_SEVERITY_ERROR)
            continue;
        own += jr_diag_is(diag, JR_CODE_INTERNAL);
        outside += jr_diag_is(diag, JR_CODE_VALUE_NOT_SUPPLIED) ||
                   jr_diag_is(diag, JR_CODE_UNKNOWN_VARIABLE);
    }
    if (own > 0 || diags->arena.failed)
        return JR_STATUS_LAUNCH;
    if (diags->errors == 0)
        return JR_STATUS_OK;
    return outside == diags->errors ? JR_STATUS_UNRESOLVED : JR_STATUS_INVALID;
}

const char *jr_spec_folder_of(const struct jr_spec_file *file)
{
    return file->folder;
}

bool jr_spec_sweeps(const struct jr_spec_file *file)
{
    return file->sweeps;
}

const struct jr_spec *jr_spec_get(const struct jr_spec_file *file)
{
    return file->spec;
}

const struct jr_doc *jr_spec_doc(const struct jr_spec_file *file)
{
    return &file->doc;
}

const struct jr_node *jr_spec_tree(const struct jr_spec_file *file)
{
    return file->tree;
}

void jr_spec_escape(struct jr_arena *arena, struct jr_node *root)
{
    const struct jr_shapes shapes = jr_shapes_make();
    jr_interpolate_undo(arena, &shapes, root);
}

void jr_spec_emit(struct jr_buf *out, const struct jr_spec_file *file)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_node *root = jr_node_copy(&arena, file->tree);
    if (root != NULL)
        jr_spec_escape(&arena, root);
    if (arena.failed)
        out->failed = true;
    else
        jr_doc_emit(out, root);
    jr_arena_release(&arena);
}

static const struct jr_node *find_spec_node(const struct jr_spec_file *file,
                                            const char *path)
{
    return file->tree == NULL ? NULL : jr_doc_find(file->tree, path);
}

/* What a message, or a record, has for a scalar. */
typedef const char *teller(struct jr_arena *arena, const struct jr_node *node);

static const char *text_of_source(struct jr_arena *arena,
                                  const struct jr_node *node)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    if (node->filled == NULL)
        return NULL;
    jr_point_text(&out, node->filled->written, strlen(node->filled->written));
    return jr_buf_keep(&out, arena);
}

static const char *text_of_kept(struct jr_arena *arena,
                                const struct jr_node *node)
{
    (void)arena;
    return node->filled == NULL ? NULL : node->filled->kept;
}

/* A list, if the teller has something else than its text for any item. */
static const char *text_of_items(struct jr_arena *arena,
                                 const struct jr_node *list, teller *tell)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    bool any = false;
    for (size_t i = 0; i < list->count; i++) {
        const struct jr_node *item = list->items[i];
        const char *told = NULL;
        if (item->kind == JR_NODE_SCALAR)
            told = tell(arena, item);
        any = any || told != NULL;
        jr_buf_printf(&out, "%s%s", i == 0 ? "" : ",",
                      told != NULL                   ? told
                      : item->kind == JR_NODE_SCALAR ? item->text
                                                     : "...");
    }
    return any ? jr_buf_keep(&out, arena) : NULL;
}

static const char *text_of_field(const struct jr_spec_file *file,
                                 struct jr_arena *arena, const char *path,
                                 teller *tell)
{
    const struct jr_node *node = find_spec_node(file, path);
    if (node != NULL && node->kind == JR_NODE_SEQUENCE)
        return text_of_items(arena, node, tell);
    if (node != NULL && node->kind == JR_NODE_MAPPING)
        node = jr_doc_find(file->doc.root, path); /* its short form */
    return node != NULL && node->kind == JR_NODE_SCALAR ? tell(arena, node)
                                                        : NULL;
}

const char *jr_spec_written(const struct jr_spec_file *file,
                            struct jr_arena *arena, const char *path)
{
    return text_of_field(file, arena, path, text_of_source);
}

const char *jr_spec_kept(const struct jr_spec_file *file,
                         struct jr_arena *arena, const char *path)
{
    return text_of_field(file, arena, path, text_of_kept);
}

static bool is_value_unknown(const struct jr_node *node)
{
    bool unknown = node->filled != NULL && node->filled->unknown;
    for (size_t i = 0; node->kind == JR_NODE_SEQUENCE && i < node->count; i++)
        unknown = unknown || is_value_unknown(node->items[i]);
    return unknown;
}

bool jr_spec_is_unknown(const struct jr_spec_file *file, const char *path)
{
    char group[64];
    const char *dot = strrchr(path, '.');
    const struct jr_node *node = jr_doc_find(file->doc.root, path);
    if (node != NULL || dot == NULL)
        return node != NULL && is_value_unknown(node);
    (void)snprintf(group, sizeof group, "%.*s", (int)(dot - path), path);
    return jr_spec_is_unknown(file, group);
}

struct jr_span jr_spec_where(const struct jr_spec_file *file, const char *path)
{
    const struct jr_node *node = find_spec_node(file, path);
    return node == NULL ? (struct jr_span){0} : node->span;
}

struct jr_span jr_spec_where_within(const struct jr_spec_file *file,
                                    const char *path)
{
    struct jr_span span = {0};
    JR_FREE char *part = strdup(path);
    for (size_t len = strlen(path); part != NULL && len > 0 && span.line == 0;
         len--) {
        bool whole = strchr(".[", part[len]) != NULL; /* or the end */
        part[len] = '\0';
        if (whole)
            span = jr_spec_where(file, part);
    }
    return span;
}

struct jr_span jr_spec_overridden(const struct jr_spec_file *file,
                                  const char *path, size_t i)
{
    const struct jr_node *node = find_spec_node(file, path);
    node = node == NULL ? NULL : node->under;
    for (; node != NULL && i > 0; i--)
        node = node->under;
    return node == NULL ? (struct jr_span){0} : node->span;
}

char *jr_spec_parents_root(const char *root, const char *folder)
{
    JR_FREE char *top = NULL;
    if (root != NULL)
        folder = root;
    else if (folder != NULL)
        top = jr_io_find_above(folder, ".git");
    if (folder == NULL) /* there was no memory for its name */
        return NULL;
    if (top != NULL)
        folder = top;
    char *real = realpath(folder, NULL);
    return real != NULL ? real : strdup(folder);
}

/* The parents that --set chooses by their names. False: one is no choice, or
 * there is no memory. */
static bool read_parent_choices(struct jr_doc *doc,
                                const struct jr_assembly *assembly,
                                struct jr_extends *extends,
                                struct jr_diags *diags)
{
    char *const *sets = assembly->options->sets;
    bool good = true;
    extends->choices.here = assembly->here;
    for (; sets != NULL && *sets != NULL; sets++) {
        struct jr_parent_choice choice;
        if (!jr_override_is_parent(*sets))
            continue;
        if (jr_override_parent(doc, *sets, &choice, diags))
            jr_parent_choices_add(&extends->choices, &doc->arena, &choice);
        else
            good = false;
    }
    for (size_t i = 0; i < assembly->options->values_count; i++) {
        const struct jr_stated_value *value = &assembly->options->values[i];
        if (!jr_stated_value_is_parent(value))
            continue;
        const struct jr_parent_choice choice =
            jr_override_stated_parent(doc, value);
        jr_parent_choices_add(&extends->choices, &doc->arena, &choice);
    }
    return good && !doc->arena.failed;
}

/* Whether a value may have a reference in it, which was not looked for. */
static bool may_refer(const struct jr_node *value)
{
    return value->kind != JR_NODE_SCALAR || strstr(value->text, "${") != NULL;
}

/* A cell is no sweep: what it was chosen from is not read again. */
static void drop_sweep(struct jr_doc *doc)
{
    struct jr_node *root = doc->root;
    size_t kept = 0;
    for (size_t i = 0; root->kind == JR_NODE_MAPPING && i < root->count; i++)
        if (strcmp(root->pairs[i].key->text, "sweep") != 0)
            root->pairs[kept++] = root->pairs[i];
    if (root->kind == JR_NODE_MAPPING)
        root->count = kept;
}

/* Put in what --set says, and the values of a cell, which are chosen among
 * what the spec with --set says. */
static void put_values(struct jr_doc *doc, const struct jr_assembly *assembly,
                       const struct jr_shapes *shapes, struct jr_diags *diags)
{
    const struct jr_spec_options *options = assembly->options;
    for (size_t i = 0; options->sets != NULL && options->sets[i] != NULL; i++)
        if (!jr_override_is_parent(options->sets[i]))
            jr_override(doc, shapes, options->sets[i], assembly->here, diags);
    if (options->values_count > 0 || options->cell)
        drop_sweep(doc);
    for (size_t i = 0; i < options->values_count; i++) {
        const struct jr_stated_value *value = &options->values[i];
        if (jr_stated_value_is_parent(value))
            continue;
        doc->dollars |= may_refer(value->value);
        jr_override_stated(doc, shapes, value, diags);
    }
}

/* Take in the files that the document refers to. */
static int merge_referred_files(struct jr_doc *doc,
                                const struct jr_assembly *assembly,
                                struct jr_extends *extends,
                                struct jr_diags *diags)
{
    if (!read_parent_choices(doc, assembly, extends, diags) ||
        jr_extends_merge(doc, extends, diags) != 0)
        return -1;
    put_values(doc, assembly, extends->shapes, diags);
    if (!jr_profiles_named(doc->root))
        return 0;
    return jr_profiles_merge(doc, extends->shapes, extends->reader, diags);
}

/* Make the document with all its parts, but without replacing ${...}. */
static int assemble_doc(struct jr_doc *doc, const struct jr_assembly *assembly,
                        const struct jr_shapes *shapes, struct jr_diags *diags)
{
    JR_FREE char *root = NULL;
    struct jr_reader files;
    struct jr_extends extends = {.shapes = shapes,
                                 .reader = assembly->options->reader,
                                 .file = assembly->file};
    if (extends.reader == NULL) {
        root = jr_spec_parents_root(assembly->options->root,
                                    assembly->file.folder);
        files = jr_reader_of_files(root);
        extends.reader = &files;
        doc->arena.failed |= root == NULL;
    }
    if (doc->arena.failed)
        return -1;
    return merge_referred_files(doc, assembly, &extends, diags);
}

/* The globs of `secrets`, unchanged: those of the spec, or the default. */
static struct jr_strv stated_secret_globs(struct jr_doc *doc)
{
    struct jr_strv globs = {0};
    struct jr_arena *arena = &doc->arena;
    const struct jr_node *stated = NULL;
    if (doc->root->kind == JR_NODE_MAPPING)
        stated = jr_doc_get(doc->root, "secrets");
    if (stated != NULL && stated->kind == JR_NODE_SEQUENCE) {
        for (size_t i = 0; i < stated->count; i++)
            if (stated->items[i]->kind == JR_NODE_SCALAR)
                jr_strv_push(&globs, arena,
                             jr_arena_strdup(arena, stated->items[i]->text));
        return globs;
    }
    return jr_field_defaults(jr_field_find("secrets"), arena);
}

bool jr_assembly_is_template(const struct jr_node *root)
{
    const struct jr_node *flag = NULL;
    if (root->kind == JR_NODE_MAPPING)
        flag = jr_doc_get(root, "template");
    return flag != NULL && flag->kind == JR_NODE_SCALAR &&
           jr_scalar_type(flag) == JR_SCALAR_BOOL && flag->text[0] != 'f' &&
           flag->text[0] != 'F';
}

bool jr_assembly_sweeps(const struct jr_assembly *assembly,
                        const struct jr_doc *doc)
{
    const struct jr_node *sweep = NULL;
    if (!assembly->options->sweeps || doc->root == NULL ||
        doc->root->kind != JR_NODE_MAPPING ||
        jr_assembly_is_template(doc->root))
        return false;
    sweep = jr_doc_get(doc->root, "sweep");
    return assembly->options->swept ||
           (sweep != NULL && (sweep->kind != JR_NODE_SCALAR ||
                              jr_scalar_type(sweep) != JR_SCALAR_NULL));
}

#define NAME(name, word, help) word,

static const char *const per_rank[] = {JR_TEMPLATE_NAMES(NAME) NULL};

int jr_assemble(struct jr_doc *doc, const struct jr_assembly *assembly,
                struct jr_diags *diags)
{
    const struct jr_spec_options *options = assembly->options;
    const struct jr_shapes shapes = jr_shapes_make();
    doc->source->folder = assembly->file.folder;
    bool refers = doc->root->kind == JR_NODE_MAPPING &&
                  (jr_doc_pair(doc->root, "extends") != NULL ||
                   jr_profiles_named(doc->root));
    if ((refers || options->sets != NULL || options->values_count > 0) &&
        assemble_doc(doc, assembly, &shapes, diags) != 0)
        return -1;
    if (!doc->dollars || jr_assembly_sweeps(assembly, doc))
        return 0;
    const struct jr_strv secrets = stated_secret_globs(doc);
    const struct jr_interpolate fill = {
        .shapes = &shapes,
        .environ = options->environ,
        .allow = options->allow_env,
        .secrets = secrets.items,
        .secrets_count = secrets.count,
        .per_rank = per_rank,
        .guess = options->validate && !options->strict,
    };
    jr_interpolate_in(doc, &fill, diags);
    return 0;
}

/* Whether null is one of the values in it. */
static bool holds_values(const struct jr_spec_type *type)
{
    if (type->kind == JR_KIND_NAMES)
        type = type->item;
    return type->kind == JR_KIND_VALUE;
}

static struct jr_shape value_shape(const struct jr_spec_type *type)
{
    return (struct jr_shape){
        .type = type,
        .shorthand = type->shorthand,
        .forms = type->forms,
        .open = type->kind >= JR_KIND_NAMES,
        .declared = type->declared,
        .keeps_null = type->env || holds_values(type),
        .literal = type->literal || type->is_shell,
        .early = type->early,
    };
}

bool jr_shapes_is_own(const char *key)
{
    return strncmp(key, "x-", 2) == 0 || strcmp(key, "$schema") == 0;
}

static struct jr_shape child_of_map(const struct jr_spec_type *type,
                                    const char *key)
{
    if (jr_shapes_is_own(key))
        return (struct jr_shape){.own = true};
    const struct jr_spec_field *field = jr_field_get(type->fields, key);
    if (field == NULL)
        return (struct jr_shape){0};
    struct jr_shape shape = value_shape(field->type);
    shape.resolvable = field->need == JR_NEED_RESOLVED;
    shape.awaited = !shape.resolvable;
    return shape;
}

static struct jr_shape child_shape(const struct jr_shape *shape,
                                   const char *key)
{
    const struct jr_spec_type *type = shape->type;
    struct jr_shape ret = {0};
    if (type == NULL)
        return ret;
    if (key != NULL && type->kind == JR_KIND_MAP)
        return child_of_map(type, key);
    bool item =
        key == NULL ? type->kind == JR_KIND_LIST : type->kind == JR_KIND_NAMES;
    if (item)
        ret = value_shape(type->item);
    if (type->kind == JR_KIND_VALUE)
        ret = value_shape(type);
    ret.awaited = type->outside;
    ret.literal |= type->literal;
    return ret;
}

struct jr_shapes jr_shapes_make(void)
{
    return (struct jr_shapes){value_shape(jr_field_root()), child_shape};
}
