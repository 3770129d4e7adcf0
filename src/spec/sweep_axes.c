#include "spec/sweep_axes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/did_you_mean.h"
#include "base/num.h"
#include "doc/override.h"
#include "spec/internal.h"
#include "spec/sweep_options.h"

#include "base/banned.h"

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

/* A finding at a field of an axis. */
static struct jr_diag *refuse_field(struct jr_sweep_reading *reading,
                                    const struct jr_axis_field *field, const char *before,
                                    const char *path, const char *after)
{
    struct jr_span span = jr_point_part(field->key, field->at, field->at + strlen(field->path));
    return jr_sweep_refuse(reading, JR_CODE_WRONG_AXIS, span, field->key->text, "%s'%s'%s", before,
                           path, after);
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
        refuse_field(reading, field, "", field->path, " is not a field of the spec");
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

/* Whether a path leads to a field of the table that can vary, or into what is the user's own; else
 * a finding. */
static bool check_axis_field(struct jr_sweep_reading *reading, const struct jr_axis_field *field)
{
    /* what says where ranks run, where runs are kept, or what a sweep is */
    static const char *const fixed[] = {"version",     "template",   "sweep",       "targets",
                                        "log_dir",     "log_mode",   "engine",      "hosts",
                                        "node_rank",   "rank_start", "master_addr", "master_port",
                                        "init_method", "devices",    "extends",     NULL};
    const struct jr_spec_type *type = jr_field_root();
    const char *key = first_key(reading, field->path);
    bool parent = strncmp(field->path, "extends.", 8) == 0;
    struct jr_diag *diag;
    size_t i = 0;
    while (fixed[i] != NULL && strcmp(fixed[i], key) != 0)
        i++;
    if (fixed[i] != NULL && !parent) {
        diag = refuse_field(reading, field, "", field->path, " cannot vary within a sweep");
        jr_diag_help(reading->diags, diag, "%s",
                     strcmp(key, "extends") == 0
                         ? "name the parents, extends: {model: PATH}, and vary one "
                           "of them: extends.model"
                         : "it says where runs are made or kept, which jobrun decides for each "
                           "cell; sizes such as world_size can vary");
        return false;
    }
    if (is_secret(reading, field->path)) {
        diag = refuse_field(reading, field, "", field->path,
                            " is a secret, and the values of a sweep are written down");
        jr_diag_help(reading->diags, diag, "vary what names it, and have the program look it up");
        return false;
    }
    for (const char *at = field->path; type->kind == JR_KIND_MAP; at++) {
        key = first_key(reading, at);
        const struct jr_spec_field *row = jr_field_get(type->fields, key);
        if (row == NULL)
            return refuse_unknown_field(reading, field, type->fields, at);
        at += strlen(key);
        if (*at != '.')
            return true;
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
    for (size_t at = 0;; at++) {
        at += strspn(text + at, " ");
        size_t len = strcspn(text + at, ", ");
        struct jr_axis_field *field =
            jr_arena_push(reading->arena, &axis->fields, &axis->fields_count, sizeof *field);
        const char *path = jr_arena_strndup(reading->arena, text + at, len);
        if (field == NULL || path == NULL)
            return false;
        *field = (struct jr_axis_field){.path = path, .key = axis->key, .at = at};
        good = check_axis_field(reading, field) && good;
        at += len;
        at += strspn(text + at, " ");
        if (text[at] != ',')
            return good;
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
        struct jr_diag *diag = refuse_field(reading, field, "", field->path, " is in two axes");
        if (first != axis)
            jr_diag_relate(reading->diags, diag, first->key->span, "the other one");
        return false;
    }
    return true;
}

/* Add the axis of a key, which has the paths, and of what stands there: a list, a range, or how its
 * values are drawn. The axis of all draws stands for them until they are made. */
static void add_axis(struct jr_sweep_reading *reading, const struct jr_node *key,
                     struct jr_node *value)
{
    struct jr_sweep_axes *axes = reading->axes;
    struct jr_sweep_axis axis = {.key = key};
    if (!read_fields(reading, &axis) || !check_twice(reading, &axis))
        return;
    if (!jr_sweep_is_draw(value) || axis.fields_count > 1) {
        if (!jr_sweep_read_values(reading, &axis, value))
            return;
        struct jr_sweep_axis *slot =
            jr_arena_push(reading->arena, &axes->axes, &axes->count, sizeof *slot);
        if (slot != NULL)
            *slot = axis;
        return;
    }
    if (reading->draws == NULL) {
        reading->draws = jr_arena_alloc(reading->arena, sizeof *reading->draws);
        if (reading->draws == NULL)
            return;
        reading->draws->key = key;
        reading->draws->drawn = true;
    }
    struct jr_sweep_axis *draws = reading->draws;
    struct jr_axis_field *field =
        jr_arena_push(reading->arena, &draws->fields, &draws->fields_count, sizeof *field);
    struct jr_node **how =
        jr_arena_push(reading->arena, &draws->values, &draws->count, sizeof *how);
    if (field == NULL || how == NULL)
        return;
    *field = axis.fields[0];
    *how = value;
}

/* --sweep PATH=A,B: an axis on the command line. Values end at commas outside of brackets, braces
 * and quotes, and are read as YAML; a single A..B is a range. PATH may be several with commas, as
 * in a spec. */

const char *jr_sweep_value_end(const char *text)
{
    int depth = 0;
    char quote = 0;
    for (; *text != '\0'; text++) {
        if (quote != 0)
            quote = *text == quote ? 0 : quote;
        else if (*text == '\'' || *text == '"')
            quote = *text;
        else if (*text == '[' || *text == '{')
            depth++;
        else if (*text == ']' || *text == '}')
            depth--;
        else if (*text == ',' && depth <= 0)
            break;
    }
    return text;
}

/* "0..4" as {from: 0, to: 4}; NULL: it is no range. */
static struct jr_node *read_dotted_range(struct jr_arena *arena, const struct jr_node *value)
{
    const char *dots =
        value->kind == JR_NODE_SCALAR && value->plain ? strstr(value->text, "..") : NULL;
    int64_t from, to;
    if (dots == NULL)
        return NULL;
    const char *first = jr_arena_strndup(arena, value->text, (size_t)(dots - value->text));
    if (first == NULL || !jr_num_i64(first, &from) || !jr_num_i64(dots + 2, &to))
        return NULL;
    struct jr_node *range = jr_node_mapping(arena);
    if (range == NULL)
        return NULL;
    range->span = value->span;
    jr_node_set(arena, range, "from", jr_node_scalar(arena, first, true));
    jr_node_set(arena, range, "to", jr_node_scalar(arena, dots + 2, true));
    return range;
}

/* The values of an option after the `=`, which is byte `at`, each of which keeps its place there;
 * NULL after a finding. */
static struct jr_node *read_option_values(struct jr_sweep_reading *reading, const char *option,
                                          size_t at, const char *folder)
{
    struct jr_arena *arena = reading->arena;
    struct jr_node *list = jr_node_sequence(arena);
    for (const char *from = option + at + 1, *end; list != NULL; from = end + 1) {
        size_t errors = reading->diags->errors;
        struct jr_doc value;
        end = jr_sweep_value_end(from);
        const char *text = jr_arena_strndup(arena, option, (size_t)(end - option));
        if (text == NULL)
            return NULL;
        (void)jr_doc_load_value(&value, "--sweep", text, (size_t)(from - option), reading->diags);
        if (value.source != NULL)
            value.source->folder = jr_arena_strdup(arena, folder);
        struct jr_node *root = value.root;
        jr_arena_adopt(arena, &value.arena);
        if (reading->diags->errors > errors || root == NULL)
            return NULL;
        jr_node_append(arena, list, root);
        list->span = root->span;
        if (*end == '\0')
            break;
    }
    if (list == NULL || list->count != 1)
        return list;
    struct jr_node *only = list->items[0], *range = read_dotted_range(arena, only);
    bool mapping = jr_sweep_is_draw(only) ||
                   (only->kind == JR_NODE_MAPPING && jr_doc_get(only, "from") != NULL);
    return range != NULL ? range : mapping ? only : list;
}

/* Refuse an option that goes on with another axis: vars.lr=1,2,vars.b=3,4. `len` bytes are the
 * path. Returns whether it does. */
static bool refuse_joined_axes(struct jr_sweep_reading *reading, const char *option,
                               const struct jr_node *key, size_t len)
{
    const struct jr_shapes shapes = jr_shapes_make();
    const struct jr_joined_settings settings = {reading->arena, &shapes,   reading->doc->root,
                                                "--sweep",      key->text, false};
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    const char *at = option + len, *end = at, *from = option;
    size_t name = 0;
    while (*at != '\0' && name == 0) {
        at = jr_sweep_value_end(at + 1);
        name = *at == '\0' ? 0 : jr_joined_settings_name(&settings, at + 1);
    }
    if (name == 0)
        return false;
    struct jr_diag *diag = jr_sweep_refuse(
        reading, JR_CODE_WRONG_AXIS_VALUES,
        jr_point_bytes(key->span.source, (size_t)(at + 1 - option), strlen(option)), NULL,
        "'%.*s' is an axis of its own: each has its --sweep", (int)name, at + 1);
    while (*end != '\0') {
        end = jr_sweep_value_end(end + 1);
        if (*end != '\0' && jr_joined_settings_name(&settings, end + 1) == 0)
            continue;
        jr_joined_settings_add(&line, &settings, from, (size_t)(end - from));
        from = end + 1;
    }
    if (!line.failed)
        jr_diag_help(reading->diags, diag, "write %s", line.data);
    return true;
}

/* Append what is meant by range(1,10), choice(a,b), (a, b), and "1 2 3"; nothing where that is
 * not known. */
static void add_meant_values(struct jr_buf *out, struct jr_arena *arena, const char *text)
{
    static const char *const heads[] = {"choice(", "("};
    const char *range = NULL;
    if (text[strcspn(text, "(")] == '(' && jr_sweep_is_meant_range(arena, text, true, true, &range))
        jr_buf_str(out, range == NULL ? "" : range);
    for (size_t i = 0; out->len == 0 && i < sizeof heads / sizeof *heads; i++) {
        if (strncmp(text, heads[i], strlen(heads[i])) != 0)
            continue;
        for (text += strlen(heads[i]); *text != '\0' && *text != ')'; text++)
            if (*text != ' ')
                jr_buf_char(out, *text);
    }
    if (strchr(text, ' ') == NULL || text[strspn(text, "0123456789.eE+- ")] != '\0')
        return;
    for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
        size_t len = strcspn(text, " ");
        jr_buf_printf(out, "%s%.*s", out->len == 0 ? "" : ",", (int)len, text);
        text += len;
    }
    if (out->len > 0 && !out->failed && strchr(out->data, ',') == NULL)
        jr_buf_clear(out);
}

/* Whether the values are written as others do, which is reported: range(1,10), linspace(0,1,5),
 * (1, 2) and "1 2 3", each of which is one text here. `len` bytes are the path. */
static bool refuse_other_form(struct jr_sweep_reading *reading, const char *option,
                              const struct jr_node *key, size_t len)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.";
    struct jr_buf values JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_diag *diag;
    if (option[len] != '=' || len == 0) {
        diag = jr_sweep_refuse(reading, JR_CODE_WRONG_AXIS, key->span, NULL,
                               "--sweep wants PATH=VALUES");
        jr_diag_help(reading->diags, diag, "--sweep vars.lr=0.1,0.01");
        return true;
    }
    const char *text = option + len + 1, *comma = strchr(text, ','), *close = strchr(text, ')');
    size_t name = strspn(text, letters);
    bool brackets = *text == '(';
    bool call = name > 0 && text[name] == '(' && close != NULL &&
                (comma == NULL ? close[1] == '\0' : comma < close);
    add_meant_values(&values, reading->arena, text);
    bool meant = values.len > 0 && !values.failed;
    if (!meant && !call)
        return false;
    struct jr_span span = key->span;
    if (!meant || (!call && !brackets))
        span = jr_point_bytes(key->span.source, len + 1, strlen(option));
    diag = jr_sweep_refuse(reading, JR_CODE_WRONG_AXIS_VALUES, span, NULL,
                           call       ? "there are no functions in --sweep"
                           : brackets ? "values are listed without brackets"
                                      : "values are separated by commas");
    if (meant)
        jr_diag_help(reading->diags, diag, "--sweep %.*s=%s", (int)len, option, values.data);
    else
        jr_diag_help(reading->diags, diag,
                     "list the values, 0.1,0.2; or write a range: '{from: 0, to: 1, step: 0.25}'; "
                     "a text is quoted: '%.*s=\"%s\"'",
                     (int)len, option, text);
    return true;
}

/* Add the axes of --sweep, which take the place of those of the spec that have the same paths. */
static void read_options(struct jr_sweep_reading *reading, char *const *sweeps, const char *folder)
{
    for (; sweeps != NULL && *sweeps != NULL; sweeps++) {
        size_t len = strcspn(*sweeps, "=");
        const char *option = jr_arena_strdup(reading->arena, *sweeps);
        struct jr_source *source = jr_arena_alloc(reading->arena, sizeof *source);
        struct jr_node *key = jr_node_scalar_n(reading->arena, *sweeps, len, true);
        if (option == NULL || source == NULL || key == NULL)
            return;
        *source = (struct jr_source){.name = "--sweep",
                                     .text = option,
                                     .len = strlen(option),
                                     .folder = folder,
                                     .option = true};
        key->span = jr_point_bytes(source, 0, len);
        if (reading->axes->at.line == 0)
            reading->axes->at = key->span;
        if (refuse_other_form(reading, option, key, len) ||
            refuse_joined_axes(reading, option, key, len))
            continue;
        struct jr_node *values = read_option_values(reading, option, len, folder);
        if (values != NULL)
            add_axis(reading, key, values);
    }
}

/* Entries of `exclude`, which are about axes, and of `include`, which may state other fields, too.
 */

static void refuse_no_axis(struct jr_sweep_reading *reading, const struct jr_axis_field *field)
{
    enum { MOST = 256 };
    const char *names[MOST + 1];
    size_t count = 0;
    const struct jr_sweep_axes *axes = reading->axes;
    for (size_t i = 0; i < axes->count; i++)
        for (size_t j = 0; j < axes->axes[i].fields_count && count < MOST; j++)
            names[count++] = axes->axes[i].fields[j].path;
    names[count] = NULL;
    const char *near = jr_did_you_mean(field->path, names);
    struct jr_diag *diag =
        jr_sweep_refuse(reading, JR_CODE_WRONG_CELLS, field->key->span, NULL,
                        "'%s' is not an axis: only combinations of axes are excluded", field->path);
    if (near != NULL)
        jr_diag_help(reading->diags, diag, "did you mean '%s'?", near);
}

static void read_choice(struct jr_sweep_reading *reading, struct jr_sweep_choice *choice,
                        const struct jr_node *node, bool exclude)
{
    choice->node = node;
    for (size_t i = 0; i < node->count; i++) {
        size_t values = choice->count, other;
        struct jr_axis_field *field =
            jr_arena_push(reading->arena, &choice->fields, &choice->count, sizeof *field);
        struct jr_node **value =
            jr_arena_push(reading->arena, &choice->values, &values, sizeof *value);
        if (field == NULL || value == NULL)
            return;
        *field =
            (struct jr_axis_field){.path = node->pairs[i].key->text, .key = node->pairs[i].key};
        *value = node->pairs[i].value;
        if (!exclude)
            (void)check_axis_field(reading, field);
        else if (jr_sweep_axes_find(reading->axes, field->path, &other) == NULL)
            refuse_no_axis(reading, field);
    }
    if (node->count > 0)
        return;
    /* it would be about all cells, or about none */
    struct jr_diag *diag = jr_sweep_refuse(reading, JR_CODE_WRONG_CELLS, node->span, NULL,
                                           "this entry says nothing of any field");
    jr_diag_help(reading->diags, diag, "state values: {vars.lr: 0.1}");
}

static void read_choices(struct jr_sweep_reading *reading, const struct jr_node *list, bool exclude,
                         struct jr_sweep_choice **ret_choices, size_t *ret_count)
{
    for (size_t i = 0; list != NULL && i < list->count; i++) {
        struct jr_sweep_choice *choice =
            jr_arena_push(reading->arena, ret_choices, ret_count, sizeof *choice);
        if (choice == NULL)
            return;
        read_choice(reading, choice, list->items[i], exclude);
    }
}

/* Put values into the spec, which nobody reads any further: whether it takes what the axes vary. */

static void put_value(struct jr_sweep_reading *reading, const struct jr_axis_field *field,
                      struct jr_node *node)
{
    const struct jr_shapes shapes = jr_shapes_make();
    const struct jr_stated_value value = {
        .path = field->path, .key = field->key, .at = field->at, .value = node};
    if (!jr_stated_value_is_parent(&value))
        jr_override_stated(reading->doc, &shapes, &value, reading->diags);
}

/* The axes make at most so many cells. */
static void count_product(struct jr_sweep_reading *reading)
{
    struct jr_sweep_axes *axes = reading->axes;
    axes->product = 1;
    for (size_t i = 0; i < axes->count; i++) {
        if (!__builtin_mul_overflow(axes->product, axes->axes[i].count, &axes->product) &&
            axes->product <= JR_SWEEP_CELLS_MAX)
            continue;
        struct jr_diag *diag = jr_sweep_refuse(
            reading, JR_CODE_TOO_MANY_CELLS, axes->axes[i].key->span, axes->axes[i].key->text,
            "the axes up to this one make more than %u cells", JR_SWEEP_CELLS_MAX);
        jr_diag_help(reading->diags, diag,
                     "sweep fewer values, or draw some of them: {uniform: [0, 1]} with `samples`");
        return;
    }
}

static uint32_t stated_count(const struct jr_node *sweep, const char *key)
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

/* The field itself, in the form that the table of fields wants, but for the axes whose key --sweep
 * has, too. */
static void read_sweep_field(struct jr_sweep_reading *reading, const struct jr_node *sweep,
                             char *const *sweeps)
{
#define WORD(name, word, help) word,
    static const char *const goals[] = {JR_SWEEP_GOALS(WORD) NULL};
    static const char *const ofs[] = {JR_SWEEP_OFS(WORD) NULL};
#undef WORD
    struct jr_sweep_axes *axes = reading->axes;
    const struct jr_node *best = jr_doc_get(sweep, "best"), *field = jr_doc_get(best, "field");
    const struct jr_node *stated = jr_doc_get(sweep, "axes");
    axes->samples = stated_count(sweep, "samples");
    axes->seed = stated_count(sweep, "seed");
    axes->parallel = stated_count(sweep, "parallel");
    axes->stop_after = stated_count(sweep, "stop_after");
    if (field != NULL)
        axes->best = (struct jr_sweep_best){
            .field = field->text,
            .goal = (enum jr_sweep_goal)word_number(best, "goal", goals),
            .of = (enum jr_sweep_of)word_number(best, "of", ofs),
        };
    for (size_t i = 0; stated != NULL && i < stated->count; i++) {
        const struct jr_pair *pair = &stated->pairs[i];
        size_t len = strlen(pair->key->text);
        char *const *word = sweeps;
        while (word != NULL && *word != NULL &&
               (strncmp(*word, pair->key->text, len) != 0 || (*word)[len] != '='))
            word++;
        if (word == NULL || *word == NULL)
            add_axis(reading, pair->key, pair->value);
    }
}

/* A field that --set states has one value. */
static void check_sets(struct jr_sweep_reading *reading, char *const *sets)
{
    for (; sets != NULL && *sets != NULL; sets++) {
        const char *option = *sets + (**sets == '+');
        size_t field;
        const char *path = jr_arena_strndup(reading->arena, option, strcspn(option, "="));
        const struct jr_sweep_axis *axis =
            path == NULL ? NULL : jr_sweep_axes_find(reading->axes, path, &field);
        if (axis == NULL)
            continue;
        struct jr_diag *diag = refuse_field(reading, &axis->fields[field], "--set states ", path,
                                            ", which is an axis of the sweep");
        jr_diag_help(reading->diags, diag, "--sweep %s gives the axis this value alone", *sets);
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
    if (stated != NULL)
        read_sweep_field(&reading, stated, words->sweeps);
    read_options(&reading, words->sweeps, file->here);
    jr_sweep_draw(&reading);
    if (stated != NULL && is_read_well(&reading, errors)) {
        read_choices(&reading, jr_doc_get(stated, "exclude"), true, &ret->excludes,
                     &ret->excludes_count);
        read_choices(&reading, jr_doc_get(stated, "include"), false, &ret->includes,
                     &ret->includes_count);
    }
    if (is_read_well(&reading, errors) && ret->count + ret->includes_count == 0) {
        struct jr_diag *diag = jr_sweep_refuse(&reading, JR_CODE_SWEEP_INCOMPLETE, ret->at, NULL,
                                               "a sweep needs an axis, or cells to include");
        jr_diag_help(diags, diag, JR_SETTING("sweep.axes", "{vars.lr: [0.1, 0.01]}"));
    }
    check_sets(&reading, words->sets);
    count_product(&reading);
    if (is_read_well(&reading, errors)) {
        for (size_t i = 0; i < ret->count; i++)
            for (size_t j = 0; j < ret->axes[i].fields_count; j++)
                put_value(&reading, &ret->axes[i].fields[j], ret->axes[i].values[j]);
        for (size_t i = 0; i < ret->includes_count; i++)
            for (size_t j = 0; j < ret->includes[i].count; j++)
                put_value(&reading, &ret->includes[i].fields[j], ret->includes[i].values[j]);
    }
    if (reading.arena->failed)
        (void)jr_sweep_refuse(&reading, JR_CODE_INTERNAL, ret->at, NULL, "out of memory");
    return diags->errors == errors ? 0 : -1;
}
