#include "spec/sweep_axes.h"

#include <stdarg.h>
#include <string.h>

#include "base/did_you_mean.h"
#include "base/num.h"
#include "spec/assemble.h"
#include "spec/internal.h"
#include "spec/spec_file.h"
#include "spec/sweep_choices.h"
#include "spec/sweep_options.h"
#include "spec/sweep_parts.h"
#include "spec/sweep_values.h"

#include "base/banned.h"

/* What says where ranks run, where runs are kept, or what a sweep is: no cell can have its own. */
static const char *const fixed[] = {"version",     "template",   "sweep",       "targets",
                                    "log_dir",     "log_mode",   "engine",      "hosts",
                                    "node_rank",   "rank_start", "master_addr", "master_port",
                                    "init_method", "devices",    "extends",     NULL};

struct jr_diag *jr_sweep_refuse(struct jr_sweep_reading *reading, enum jr_diag_code code,
                                struct jr_span span, const char *key, const char *format, ...)
{
    struct jr_buf path JR_BUF_CLEANUP = JR_BUF_INIT;
    va_list args;
    va_start(args, format);
    const char *text = jr_arena_vprintf(reading->arena, format, args);
    va_end(args);
    jr_buf_str(&path, "sweep");
    if (key != NULL) {
        jr_buf_str(&path, ".axes.");
        jr_buf_safe(&path, key);
    }
    return jr_diags_error(reading->diags, code, span, path.data, "%s",
                          text == NULL ? "out of memory" : text);
}

static struct jr_span field_span(const struct jr_axis_field *field)
{
    return jr_point_part(field->key, field->at, field->at + strlen(field->path));
}

/* The first key of a path, in the arena. */
static const char *first_key(struct jr_sweep_reading *reading, const char *path)
{
    const char *key = jr_arena_strndup(reading->arena, path, strcspn(path, ".["));
    return key == NULL ? "" : key;
}

/* Refuse a path whose part from `at` on is no key of `rows`. */
static bool refuse_unknown_field(struct jr_sweep_reading *reading,
                                 const struct jr_axis_field *field,
                                 const struct jr_spec_field *rows, const char *at)
{
    enum { MOST = 128 };
    const char *names[MOST + 1];
    size_t count = 0;
    for (; rows->key != NULL && count < MOST; rows++)
        names[count++] = rows->key;
    names[count] = NULL;
    const char *key = first_key(reading, at);
    const char *near = jr_did_you_mean(key, names);
    const char *variable =
        at == field->path ? jr_lint_near_variable(reading->doc->root, key) : NULL;
    struct jr_diag *diag =
        jr_sweep_refuse(reading, JR_CODE_WRONG_AXIS, field_span(field), field->key->text,
                        "'%s' is not a field of the spec", field->path);
    if (variable != NULL)
        jr_diag_help(reading->diags, diag, "did you mean 'vars.%s'?", variable);
    else if (near != NULL)
        jr_diag_help(reading->diags, diag, "did you mean '%.*s%s%s'?", (int)(at - field->path),
                     field->path, near, at + strlen(key));
    else
        jr_diag_help(reading->diags, diag,
                     "an axis is a field by its dotted path, such as vars.lr or world_size");
    return false;
}

static bool refuse_fixed(struct jr_sweep_reading *reading, const struct jr_axis_field *field,
                         const char *key)
{
    bool parents = strcmp(key, "extends") == 0;
    struct jr_diag *diag =
        jr_sweep_refuse(reading, JR_CODE_WRONG_AXIS, field_span(field), field->key->text,
                        "'%s' cannot vary within a sweep", field->path);
    if (parents)
        jr_diag_help(reading->diags, diag,
                     "name the parents, extends: {model: PATH}, and vary one "
                     "of them: extends.model");
    else
        jr_diag_help(reading->diags, diag,
                     "it says where runs are made or kept, which jobrun decides for each cell; "
                     "sizes such as world_size can vary");
    return false;
}

/* Whether a path is that of a variable whose value is never written down. */
static bool is_secret(struct jr_sweep_reading *reading, const char *path)
{
    const struct jr_node *stated = jr_doc_find(reading->doc->root, "secrets");
    struct jr_strv globs = jr_field_defaults(jr_field_find("secrets"), reading->arena);
    if (strncmp(path, "env.", 4) != 0)
        return false;
    for (size_t i = 0; stated != NULL && stated->kind == JR_NODE_SEQUENCE && i < stated->count; i++)
        if (stated->items[i]->kind == JR_NODE_SCALAR)
            jr_strv_push(&globs, reading->arena,
                         jr_arena_strdup(reading->arena, stated->items[i]->text));
    return jr_env_matches(globs.items, globs.count, path + 4, strlen(path + 4));
}

static bool refuse_secret(struct jr_sweep_reading *reading, const struct jr_axis_field *field)
{
    struct jr_diag *diag = jr_sweep_refuse(
        reading, JR_CODE_WRONG_AXIS, field_span(field), field->key->text,
        "'%s' is a secret, and the values of a sweep are written down", field->path);
    jr_diag_help(reading->diags, diag, "vary what names it, and have the program look it up");
    return false;
}

bool jr_sweep_check_field(struct jr_sweep_reading *reading, const struct jr_axis_field *field)
{
    const struct jr_spec_type *type = jr_field_root();
    const char *key = first_key(reading, field->path);
    bool named = strncmp(field->path, "extends.", 8) == 0;
    for (size_t i = 0; fixed[i] != NULL; i++)
        if (strcmp(fixed[i], key) == 0 && !named)
            return refuse_fixed(reading, field, key);
    if (is_secret(reading, field->path))
        return refuse_secret(reading, field);
    for (const char *at = field->path; type->kind == JR_KIND_MAP;) {
        key = first_key(reading, at);
        const struct jr_spec_field *row = jr_field_get(type->fields, key);
        if (row == NULL)
            return refuse_unknown_field(reading, field, type->fields, at);
        at += strlen(key);
        if (*at != '.')
            return true;
        at++;
        type = row->type;
    }
    return true;
}

const struct jr_sweep_axis *jr_sweep_axes_find(const struct jr_sweep_axes *axes, const char *path,
                                               size_t *ret_field)
{
    for (size_t i = 0; i < axes->count; i++)
        for (size_t j = 0; j < axes->axes[i].fields_count; j++)
            if (strcmp(axes->axes[i].fields[j].path, path) == 0) {
                *ret_field = j;
                return &axes->axes[i];
            }
    return NULL;
}

/* The fields that the key of an axis names. */
static bool read_fields(struct jr_sweep_reading *reading, struct jr_sweep_axis *axis)
{
    const char *text = axis->key->text;
    bool good = true;
    for (size_t at = 0;;) {
        size_t blanks = strspn(text + at, " ");
        size_t len = strcspn(text + at + blanks, ", ");
        struct jr_axis_field *field =
            jr_arena_push(reading->arena, &axis->fields, &axis->fields_count, sizeof *field);
        if (field == NULL)
            return false;
        *field = (struct jr_axis_field){
            .path = jr_arena_strndup(reading->arena, text + at + blanks, len),
            .key = axis->key,
            .at = at + blanks};
        if (field->path == NULL)
            return false;
        good = jr_sweep_check_field(reading, field) && good;
        at += blanks + len;
        at += strspn(text + at, " ");
        if (text[at] != ',')
            return good;
        at++;
    }
}

/* Whether no other axis has one of its fields, and it none of them twice. */
static bool check_twice(struct jr_sweep_reading *reading, const struct jr_sweep_axis *axis)
{
    for (size_t i = 0; i < axis->fields_count; i++) {
        const struct jr_axis_field *field = &axis->fields[i];
        size_t other;
        const struct jr_sweep_axis *first = jr_sweep_axes_find(reading->axes, field->path, &other);
        for (size_t j = 0; j < i && first == NULL; j++)
            if (strcmp(axis->fields[j].path, field->path) == 0)
                first = axis;
        if (first == NULL)
            continue;
        struct jr_diag *diag = jr_sweep_refuse(reading, JR_CODE_WRONG_AXIS, field_span(field),
                                               axis->key->text, "'%s' is in two axes", field->path);
        if (first != axis)
            jr_diag_relate(reading->diags, diag, first->key->span, "the other one");
        return false;
    }
    return true;
}

/* The axis of all draws, which stands for them until they are made. */
static void add_drawn_field(struct jr_sweep_reading *reading, const struct jr_sweep_axis *axis,
                            struct jr_node *value)
{
    if (reading->draws == NULL) {
        reading->draws = jr_arena_alloc(reading->arena, sizeof *reading->draws);
        if (reading->draws == NULL)
            return;
        reading->draws->key = axis->key;
        reading->draws->drawn = true;
    }
    struct jr_sweep_axis *draws = reading->draws;
    struct jr_axis_field *field =
        jr_arena_push(reading->arena, &draws->fields, &draws->fields_count, sizeof *field);
    struct jr_node **how =
        jr_arena_push(reading->arena, &draws->values, &draws->count, sizeof *how);
    if (field == NULL || how == NULL)
        return;
    *field = axis->fields[0];
    *how = value;
}

void jr_sweep_add_axis(struct jr_sweep_reading *reading, const struct jr_node *key,
                       struct jr_node *value)
{
    struct jr_sweep_axes *axes = reading->axes;
    struct jr_sweep_axis axis = {.key = key};
    if (!read_fields(reading, &axis) || !check_twice(reading, &axis))
        return;
    if (jr_sweep_is_draw(value) && axis.fields_count == 1) {
        add_drawn_field(reading, &axis, value);
        return;
    }
    if (!jr_sweep_read_values(reading, &axis, value))
        return;
    struct jr_sweep_axis *slot =
        jr_arena_push(reading->arena, &axes->axes, &axes->count, sizeof *slot);
    if (slot != NULL)
        *slot = axis;
}

/* A field that --set states has one value. */
static void check_sets(struct jr_sweep_reading *reading, char *const *sets)
{
    for (; sets != NULL && *sets != NULL; sets++) {
        const char *option = *sets + (**sets == '+');
        size_t len = strcspn(option, "="), field;
        const char *path = jr_arena_strndup(reading->arena, option, len);
        const struct jr_sweep_axis *axis =
            path == NULL ? NULL : jr_sweep_axes_find(reading->axes, path, &field);
        if (axis == NULL)
            continue;
        struct jr_diag *diag = jr_sweep_refuse(
            reading, JR_CODE_WRONG_AXIS, field_span(&axis->fields[field]), axis->key->text,
            "--set states '%s', which is an axis of the sweep", path);
        jr_diag_help(reading->diags, diag, "--sweep %s gives the axis this value alone", *sets);
    }
}

static void put_first(struct jr_sweep_reading *reading, const struct jr_shapes *shapes,
                      const struct jr_stated_value *value)
{
    if (!jr_stated_value_is_parent(value))
        jr_override_stated(reading->doc, shapes, value, reading->diags);
}

/* Whether the spec takes what the axes vary: put the first value of each into it, which nobody
 * reads any further. */
static void check_paths(struct jr_sweep_reading *reading)
{
    const struct jr_shapes shapes = jr_shapes_make();
    for (size_t i = 0; i < reading->axes->count; i++) {
        const struct jr_sweep_axis *axis = &reading->axes->axes[i];
        for (size_t j = 0; j < axis->fields_count; j++) {
            const struct jr_stated_value first = {.path = axis->fields[j].path,
                                                  .key = axis->fields[j].key,
                                                  .at = axis->fields[j].at,
                                                  .value = axis->values[j]};
            put_first(reading, &shapes, &first);
        }
    }
    for (size_t i = 0; i < reading->axes->includes_count; i++) {
        const struct jr_sweep_choice *choice = &reading->axes->includes[i];
        for (size_t j = 0; j < choice->count; j++) {
            const struct jr_stated_value stated = {.path = choice->fields[j].path,
                                                   .key = choice->fields[j].key,
                                                   .value = choice->values[j]};
            put_first(reading, &shapes, &stated);
        }
    }
}

static void count_product(struct jr_sweep_reading *reading)
{
    struct jr_sweep_axes *axes = reading->axes;
    axes->product = 1;
    bool over = false;
    for (size_t i = 0; i < axes->count; i++) {
        over |= __builtin_mul_overflow(axes->product, axes->axes[i].count, &axes->product);
        over |= axes->product > JR_SWEEP_CELLS_MAX;
        if (!over)
            continue;
        struct jr_diag *diag = jr_sweep_refuse(
            reading, JR_CODE_TOO_MANY_CELLS, axes->axes[i].key->span, axes->axes[i].key->text,
            "the axes up to this one make more than %u cells", JR_SWEEP_CELLS_MAX);
        jr_diag_help(reading->diags, diag,
                     "sweep fewer values, or draw some of them: {uniform: [0, 1]} with `samples`");
        return;
    }
}

static uint32_t stated_number(const struct jr_node *sweep, const char *key)
{
    const struct jr_node *node = jr_doc_get(sweep, key);
    uint32_t number = 0;
    if (node != NULL && node->kind == JR_NODE_SCALAR)
        (void)jr_num_u32(node->text, &number);
    return number;
}

/* The number of a word in its table. */
static unsigned word_number(const struct jr_node *map, const char *key, const char *const *words)
{
    const struct jr_node *node = jr_doc_get(map, key);
    unsigned i = 0;
    while (node != NULL && words[i] != NULL && strcmp(words[i], node->text) != 0)
        i++;
    return node == NULL || words[i] == NULL ? 0 : i;
}

static void read_best(struct jr_sweep_axes *axes, const struct jr_node *best)
{
#define WORD(name, word, help) word,
    static const char *const goals[] = {JR_SWEEP_GOALS(WORD) NULL};
    static const char *const ofs[] = {JR_SWEEP_OFS(WORD) NULL};
#undef WORD
    const struct jr_node *field = best == NULL ? NULL : jr_doc_get(best, "field");
    if (field == NULL)
        return;
    axes->best = (struct jr_sweep_best){
        .field = field->text,
        .goal = (enum jr_sweep_goal)word_number(best, "goal", goals),
        .of = (enum jr_sweep_of)word_number(best, "of", ofs),
    };
}

/* The field itself, in the form that the table of fields wants. */
static void read_sweep_field(struct jr_sweep_reading *reading, const struct jr_node *sweep)
{
    struct jr_sweep_axes *axes = reading->axes;
    axes->samples = stated_number(sweep, "samples");
    axes->seed = stated_number(sweep, "seed");
    axes->parallel = stated_number(sweep, "parallel");
    axes->stop_after = stated_number(sweep, "stop_after");
    read_best(axes, jr_doc_get(sweep, "best"));
}

/* The axes of the spec but for those whose key --sweep has, too. */
static void read_stated_axes(struct jr_sweep_reading *reading, const struct jr_node *stated,
                             char *const *sweeps)
{
    for (size_t i = 0; stated != NULL && i < stated->count; i++) {
        const struct jr_pair *pair = &stated->pairs[i];
        size_t len = strlen(pair->key->text), word = 0;
        while (sweeps != NULL && sweeps[word] != NULL &&
               (strncmp(sweeps[word], pair->key->text, len) != 0 || sweeps[word][len] != '='))
            word++;
        if (sweeps == NULL || sweeps[word] == NULL)
            jr_sweep_add_axis(reading, pair->key, pair->value);
    }
}

static struct jr_node *lint_sweep(struct jr_sweep_reading *reading, const struct jr_spec_file *file,
                                  const struct jr_node *node)
{
    struct jr_lint lint = {.arena = reading->arena,
                           .diags = reading->diags,
                           .folder = file->folder,
                           .here = file->here,
                           .cell = true,
                           .composed = true,
                           .call = true};
    const struct jr_node_step at = {.key = "sweep"};
    struct jr_node *sweep = jr_lint_value(&lint, jr_field_find("sweep")->type, node, &at);
    jr_lint_release(&lint);
    return sweep;
}

/* A sweep that names no cell. */
static void refuse_empty(struct jr_sweep_reading *reading)
{
    struct jr_sweep_axes *axes = reading->axes;
    struct jr_diag *diag = jr_sweep_refuse(reading, JR_CODE_SWEEP_INCOMPLETE, axes->at, NULL,
                                           "a sweep needs an axis, or cells to include");
    jr_diag_help(reading->diags, diag, "sweep: {axes: {vars.lr: [0.1, 0.01]}}");
}

/* Whether what was read has no mistake, and all of it is there. */
static bool is_read_well(const struct jr_sweep_reading *reading, size_t errors)
{
    return !reading->arena->failed && reading->diags->errors == errors;
}

int jr_sweep_axes_read(struct jr_sweep_axes *ret, struct jr_spec_file *file,
                       const struct jr_sweep_words *words, struct jr_diags *diags)
{
    size_t errors = diags->errors;
    struct jr_sweep_reading reading = {
        .axes = ret, .doc = &file->doc, .arena = &file->doc.arena, .diags = diags};
    const struct jr_pair *pair = jr_doc_pair(file->doc.root, "sweep");
    const struct jr_node *stated = NULL;
    *ret = (struct jr_sweep_axes){.arena = reading.arena, .product = 1};
    if (pair != NULL) {
        ret->node = pair->value;
        ret->at = pair->key->span;
        stated = lint_sweep(&reading, file, pair->value);
    }
    if (stated != NULL) {
        read_sweep_field(&reading, stated);
        read_stated_axes(&reading, jr_doc_get(stated, "axes"), words->sweeps);
    }
    jr_sweep_read_options(&reading, words->sweeps, file->here);
    jr_sweep_draw(&reading);
    if (stated != NULL && is_read_well(&reading, errors))
        jr_sweep_read_choices(&reading, stated);
    if (is_read_well(&reading, errors) && ret->count + ret->includes_count == 0)
        refuse_empty(&reading);
    check_sets(&reading, words->sets);
    count_product(&reading);
    if (is_read_well(&reading, errors))
        check_paths(&reading);
    if (reading.arena->failed)
        (void)jr_sweep_refuse(&reading, JR_CODE_INTERNAL, ret->at, NULL, "out of memory");
    return diags->errors == errors ? 0 : -1;
}
