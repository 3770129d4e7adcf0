/* From a document to the whole tree: parents, --set, ${...}. internal.h has what others use of it.
 */
#include <stdlib.h>
#include <string.h>

#include <jobrun/template.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/strv.h"
#include "doc/extends.h"
#include "doc/interpolate.h"
#include "doc/override.h"
#include "spec/internal.h"
#include "spec/field.h"

#include "base/banned.h"

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

/* The parents that --set chooses by their names. False: one is no choice, or there is no memory. */
static bool read_parent_choices(struct jr_doc *doc, const struct jr_assembly *assembly,
                                struct jr_extends *extends, struct jr_diags *diags)
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
        const struct jr_parent_choice choice = jr_override_stated_parent(doc, value);
        jr_parent_choices_add(&extends->choices, &doc->arena, &choice);
    }
    return good && !doc->arena.failed;
}

bool jr_assembly_states_ssh(const struct jr_node *root)
{
    const struct jr_node *engine = NULL, *ssh = NULL;
    if (root->kind != JR_NODE_MAPPING)
        return true;
    engine = jr_doc_get(root, "engine");
    if (engine != NULL && engine->kind == JR_NODE_MAPPING)
        ssh = jr_doc_get(engine, "ssh");
    return ssh != NULL && (ssh->kind != JR_NODE_SCALAR || jr_scalar_type(ssh) != JR_SCALAR_NULL);
}

/* Put in what --set says, and the values of a cell, which are chosen among what the spec with --set
 * says. */
static void put_values(struct jr_doc *doc, const struct jr_assembly *assembly,
                       const struct jr_shapes *shapes, struct jr_diags *diags)
{
    const struct jr_spec_options *options = assembly->options;
    for (size_t i = 0; options->sets != NULL && options->sets[i] != NULL; i++)
        if (!jr_override_is_parent(options->sets[i]))
            jr_override(doc, shapes, options->sets[i], assembly->here, diags);
    if (options->ssh && !jr_assembly_states_ssh(doc->root))
        jr_override(doc, shapes, "engine.ssh={}", assembly->here, diags);
    struct jr_node *root = doc->root;
    if ((options->values_count > 0 || options->cell) && root->kind == JR_NODE_MAPPING) {
        size_t kept = 0; /* a cell is no sweep: what it was chosen from is not read again */
        for (size_t i = 0; i < root->count; i++)
            if (strcmp(root->pairs[i].key->text, "sweep") != 0)
                root->pairs[kept++] = root->pairs[i];
        root->count = kept;
    }
    for (size_t i = 0; i < options->values_count; i++) {
        const struct jr_stated_value *value = &options->values[i];
        if (jr_stated_value_is_parent(value))
            continue;
        /* a reference in it was not looked for */
        doc->dollars |=
            value->value->kind != JR_NODE_SCALAR || strstr(value->value->text, "${") != NULL;
        jr_override_stated(doc, shapes, value, diags);
    }
}

/* Make the document with all its parts, but without replacing ${...}. */
static int assemble_doc(struct jr_doc *doc, const struct jr_assembly *assembly,
                        const struct jr_shapes *shapes, struct jr_diags *diags)
{
    JR_FREE char *root = NULL;
    struct jr_reader files;
    struct jr_extends extends = {
        .shapes = shapes, .reader = assembly->options->reader, .file = assembly->file};
    if (extends.reader == NULL) {
        root = jr_spec_parents_root(assembly->options->root, assembly->file.folder);
        files = jr_reader_of_files(root);
        extends.reader = &files;
        doc->arena.failed |= root == NULL;
    }
    if (doc->arena.failed || !read_parent_choices(doc, assembly, &extends, diags) ||
        jr_extends_merge(doc, &extends, diags) != 0)
        return -1;
    put_values(doc, assembly, shapes, diags);
    if (!jr_profiles_named(doc->root))
        return 0;
    return jr_profiles_merge(doc, shapes, extends.reader, diags);
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
                jr_strv_push(&globs, arena, jr_arena_strdup(arena, stated->items[i]->text));
        return globs;
    }
    return jr_field_defaults(jr_field_find("secrets"), arena);
}

bool jr_assembly_is_template(const struct jr_node *root)
{
    const struct jr_node *flag = NULL;
    if (root->kind == JR_NODE_MAPPING)
        flag = jr_doc_get(root, "template");
    return flag != NULL && flag->kind == JR_NODE_SCALAR && jr_scalar_type(flag) == JR_SCALAR_BOOL &&
           flag->text[0] != 'f' && flag->text[0] != 'F';
}

bool jr_assembly_sweeps(const struct jr_assembly *assembly, const struct jr_doc *doc)
{
    const struct jr_node *sweep = NULL;
    if (!assembly->options->sweeps || doc->root == NULL || doc->root->kind != JR_NODE_MAPPING ||
        jr_assembly_is_template(doc->root))
        return false;
    sweep = jr_doc_get(doc->root, "sweep");
    return assembly->options->swept || (sweep != NULL && (sweep->kind != JR_NODE_SCALAR ||
                                                          jr_scalar_type(sweep) != JR_SCALAR_NULL));
}

#define NAME(name, word, help) word,

static const char *const per_rank[] = {JR_TEMPLATE_NAMES(NAME) NULL};

int jr_assemble(struct jr_doc *doc, const struct jr_assembly *assembly, struct jr_diags *diags)
{
    const struct jr_spec_options *options = assembly->options;
    const struct jr_shapes shapes = jr_shapes_make();
    doc->source->folder = assembly->file.folder;
    bool refers = doc->root->kind == JR_NODE_MAPPING &&
                  (jr_doc_pair(doc->root, "extends") != NULL || jr_profiles_named(doc->root));
    if ((refers || options->sets != NULL || options->values_count > 0 || options->ssh) &&
        assemble_doc(doc, assembly, &shapes, diags) != 0)
        return -1;
    if (!doc->dollars || jr_assembly_sweeps(assembly, doc))
        return 0;
    jr_shell_variables(doc, diags);
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

/* Whether any text of one line is a value of it. */
static bool holds_text(const struct jr_spec_type *type)
{
    bool free_text = type->kind == JR_KIND_TEXT && type->pattern == NULL && !type->is_address &&
                     !type->is_size && !type->is_python;
    return free_text || type->kind == JR_KIND_PATH || type->kind == JR_KIND_SCALAR ||
           type->kind == JR_KIND_VALUE;
}

static struct jr_shape value_shape(const struct jr_spec_type *type)
{
    const struct jr_spec_type *value = type->kind == JR_KIND_NAMES ? type->item : type;
    return (struct jr_shape){
        .type = type,
        .shorthand = type->shorthand,
        .forms = type->forms,
        .open = type->kind >= JR_KIND_NAMES,
        .text = holds_text(type),
        .declared = type->declared,
        .keeps_null = type->env || value->kind == JR_KIND_VALUE,
        .literal = type->literal || type->is_shell,
        .early = type->early,
    };
}

bool jr_shapes_is_own(const char *key)
{
    return strncmp(key, "x-", 2) == 0 || strcmp(key, "$schema") == 0;
}

static struct jr_shape child_shape(const struct jr_shape *shape, const char *key)
{
    const struct jr_spec_type *type = shape->type;
    struct jr_shape ret = {0};
    if (type == NULL)
        return ret;
    if (key != NULL && type->kind == JR_KIND_MAP) {
        const struct jr_spec_field *field = jr_field_get(type->fields, key);
        ret.own = jr_shapes_is_own(key);
        if (ret.own || field == NULL)
            return ret;
        ret = value_shape(field->type);
        ret.resolvable = field->need == JR_NEED_RESOLVED;
        ret.awaited = !ret.resolvable;
        return ret;
    }
    bool item = key == NULL ? type->kind == JR_KIND_LIST : type->kind == JR_KIND_NAMES;
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
