/*
 * The struct is bound from a third form of the tree, which has nothing to judge in it: every
 * default filled in, mappings of the user's names as lists, durations as milliseconds. It is
 * written to memory, and read by libcyaml with the tables below, which come from the rows of
 * fields.h.
 */
#include <cyaml/cyaml.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include <jobrun/entrypoint.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/json.h"
#include "base/num.h"
#include "spec/entry_arguments.h"
#include "spec/fields.h"
#include "spec/internal.h"

#include "base/banned.h"

/* Keys that no spec has; the others are those of the rows. */
#define BOUND_NAME       "name"
#define BOUND_VALUE      "value"
#define BOUND_REQUIRED   "required"
#define BOUND_FORM       "form"
#define BOUND_ARGV       "argv"
#define BOUND_TARGET     "target"
#define BOUND_STATED     "stated"
#define BOUND_TEE_STATED "tee_stated"
#define BOUND_RANKS      "ranks"
#define BOUND_STREAMS    "streams"

#define FORM(name, word, help) word,

/* `owner` is the mapping that contains the value. */
static struct jr_node *bound_value(struct jr_lint *lint, const struct jr_spec_type *type,
                                   const struct jr_node *node, const struct jr_node *owner);

static struct jr_node *bound_text(struct jr_lint *lint, const char *text)
{
    return jr_node_scalar(lint->arena, text, false);
}

static void add_bound_pair(struct jr_lint *lint, struct jr_node *mapping, const char *key,
                           struct jr_node *value)
{
    jr_node_add(lint->arena, mapping, bound_text(lint, key), value);
}

/* JSON as the text that represents it. */
static struct jr_node *bound_json_text(struct jr_lint *lint, json_t *json)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    if (json != NULL)
        jr_json_print(&out, json, 0);
    json_decref(json);
    if (out.data != NULL && !out.failed)
        return bound_text(lint, out.data);
    lint->arena->failed = true;
    return NULL;
}

/* A value of `enum` as JSON; under type string, unquoted text is text. */
static struct jr_node *bound_json(struct jr_lint *lint, const struct jr_node *node,
                                  const struct jr_node *owner)
{
    const struct jr_node *type = jr_doc_get(owner, "type");
    bool text = type != NULL && strcmp(type->text, "string") == 0;
    int64_t whole;
    double real;
    json_t *json = NULL;
    if (!text && node->plain && jr_num_i64(node->text, &whole))
        json = json_integer(whole);
    else if (!text && node->plain && jr_num_double(node->text, &real))
        json = json_real(real);
    else if (!text && jr_scalar_type(node) == JR_SCALAR_BOOL)
        json = json_boolean(strcasecmp(node->text, "true") == 0);
    else
        json = jr_json_str(node->text);
    return bound_json_text(lint, json);
}

/* An argument: text, except for a function's. */
static struct jr_node *bound_argument(struct jr_lint *lint, const struct jr_node *node)
{
    return lint->call ? bound_json_text(lint, jr_call_json(node)) : bound_text(lint, node->text);
}

static struct jr_node *bound_streams(struct jr_lint *lint, const struct jr_node *node)
{
    struct jr_node *out = jr_node_sequence(lint->arena);
    bool lone = node->kind == JR_NODE_SCALAR;
    for (size_t i = 0; i < (lone ? 1 : node->count); i++) {
        const char *ranks = lone ? "all" : node->pairs[i].key->text;
        const char *word = lone ? node->text : node->pairs[i].value->text;
        struct jr_node *rule = jr_node_mapping(lint->arena);
        add_bound_pair(lint, rule, BOUND_RANKS, bound_text(lint, ranks));
        add_bound_pair(lint, rule, BOUND_STREAMS, bound_text(lint, word));
        jr_node_append(lint->arena, out, rule);
    }
    return out;
}

/* A path that is not stated belongs to the user who runs the job, not to the author of the spec. */
static struct jr_node *path_below_here(struct jr_lint *lint, const char *path)
{
    JR_FREE char *absolute = jr_io_absolute(lint->here, path);
    if (absolute == NULL)
        lint->arena->failed = true;
    return absolute == NULL ? NULL : bound_text(lint, absolute);
}

/* An absent field: its default, if it has one, read like any other value. */
static struct jr_node *bound_default(struct jr_lint *lint, const struct jr_spec_field *field)
{
    struct jr_node *node = NULL;
    if (field->type->kind == JR_KIND_MAP)
        return field->type->stated ? NULL : jr_node_mapping(lint->arena);
    if (field->fallback == NULL)
        return NULL;
    if (field->type->kind != JR_KIND_LIST) {
        node = field->type->here ? path_below_here(lint, field->fallback)
                                 : bound_text(lint, field->fallback);
        if (node != NULL)
            node->plain = true;
        return node == NULL ? NULL : jr_lint_value(lint, field->type, node, NULL);
    }
    const struct jr_strv items = jr_field_defaults(field, lint->arena);
    node = jr_node_sequence(lint->arena);
    for (size_t i = 0; i < items.count; i++)
        jr_node_append(lint->arena, node, bound_text(lint, items.items[i]));
    return node;
}

static void add_bound_fields(struct jr_lint *lint, const struct jr_spec_field *fields,
                             const struct jr_node *node, struct jr_node *out)
{
    for (; fields->key != NULL; fields++) {
        const struct jr_node *value = jr_doc_get(node, fields->key);
        if (value == NULL)
            value = bound_default(lint, fields);
        if (value != NULL)
            add_bound_pair(lint, out, fields->key, bound_value(lint, fields->type, value, node));
    }
}

static struct jr_node *bound_names(struct jr_lint *lint, const struct jr_spec_type *type,
                                   const struct jr_node *node)
{
    struct jr_node *out = jr_node_sequence(lint->arena);
    for (size_t i = 0; i < node->count; i++) {
        const struct jr_pair *pair = &node->pairs[i];
        struct jr_node *entry = jr_node_mapping(lint->arena);
        add_bound_pair(lint, entry, BOUND_NAME, bound_text(lint, pair->key->text));
        if (type->item->kind == JR_KIND_MAP)
            add_bound_fields(lint, type->item->fields, pair->value, entry);
        else if (type->item->kind == JR_KIND_VALUE)
            add_bound_pair(lint, entry, BOUND_VALUE, bound_argument(lint, pair->value));
        else if (strcmp(pair->value->text, "???") == 0) /* a variable that is wanted set outside */
            add_bound_pair(lint, entry, BOUND_REQUIRED, jr_node_scalar(lint->arena, "true", true));
        else if (jr_scalar_type(pair->value) != JR_SCALAR_NULL) /* null unsets it */
            add_bound_pair(lint, entry, BOUND_VALUE, bound_text(lint, pair->value->text));
        jr_node_append(lint->arena, out, entry);
    }
    return out;
}

static struct jr_node *bound_value(struct jr_lint *lint, const struct jr_spec_type *type,
                                   const struct jr_node *node, const struct jr_node *owner)
{
    struct jr_node *out = NULL;
    if (type->kind == JR_KIND_MAP) {
        out = jr_node_mapping(lint->arena);
        add_bound_fields(lint, type->fields, node, out);
        return out;
    }
    if (type->kind == JR_KIND_LIST) {
        bool lone = node->kind == JR_NODE_SCALAR;
        out = jr_node_sequence(lint->arena);
        for (size_t i = 0; i < (lone ? 1 : node->count); i++)
            jr_node_append(lint->arena, out,
                           bound_value(lint, type->item, lone ? node : node->items[i], owner));
        return out;
    }
    if (type->kind == JR_KIND_NAMES)
        return bound_names(lint, type, node);
    if (type->kind == JR_KIND_STREAMS)
        return bound_streams(lint, node);
    if (type->kind == JR_KIND_DURATION) {
        uint64_t ms = 0;
        (void)jr_num_duration(node->text, &ms);
        const char *digits = jr_arena_printf(lint->arena, "%" PRIu64, ms);
        return digits == NULL ? NULL : jr_node_scalar(lint->arena, digits, true);
    }
    if (type->kind == JR_KIND_SCALAR)
        return bound_json(lint, node, owner);
    if (type->kind == JR_KIND_VALUE)
        return bound_argument(lint, node);
    return jr_node_scalar(lint->arena, node->text, node->plain);
}

/* The pair of a mapping that has one of these keys; of a checked tree there is one. */
static const struct jr_pair *stated_form(const struct jr_node *mapping, const char *const *forms)
{
    const struct jr_pair *pair = NULL;
    for (; pair == NULL && *forms != NULL; forms++)
        pair = jr_doc_pair(mapping, *forms);
    return pair;
}

/* What is bound besides the rows: the form's word, and its own words followed by `args`. */
static void add_bound_entry(struct jr_lint *lint, const struct jr_node *entry, struct jr_node *out)
{
    static const char *const forms[] = {JR_FORMS(FORM) NULL};
    static const char *const pythons[] = {JR_PYTHON_FORMS(FORM) NULL};
    const struct jr_pair *form = stated_form(entry, forms), *python = NULL;
    const struct jr_node *args = jr_doc_get(entry, "args");
    struct jr_node *argv = jr_node_sequence(lint->arena);
    if (form == NULL)
        return;
    if (form->value->kind == JR_NODE_SCALAR)
        jr_node_append(lint->arena, argv, bound_text(lint, form->value->text));
    for (size_t i = 0; form->value->kind == JR_NODE_SEQUENCE && i < form->value->count; i++)
        jr_node_append(lint->arena, argv, form->value->items[i]);
    for (size_t i = 0; args != NULL && i < args->count; i++)
        jr_node_append(lint->arena, argv, bound_argument(lint, args->items[i]));
    add_bound_pair(lint, out, BOUND_FORM, bound_text(lint, form->key->text));
    add_bound_pair(lint, out, BOUND_ARGV, argv);
    if (strcmp(form->key->text, "python") == 0)
        python = stated_form(form->value, pythons);
    if (python == NULL)
        return;
    struct jr_node *map = jr_doc_get(out, "python");
    add_bound_pair(lint, map, BOUND_FORM, bound_text(lint, python->key->text));
    add_bound_pair(lint, map, BOUND_TARGET, bound_text(lint, python->value->text));
}

/* What a function or a library returns is its result, and it has to return. */
static void add_results(struct jr_lint *lint, const struct jr_node *tree, struct jr_node *results)
{
    const struct jr_node *stated = jr_doc_get(tree, "results");
    const struct jr_node *entry = jr_doc_get(tree, "entrypoint");
    bool returns = jr_call_returns(entry);
    if (stated != NULL || returns)
        add_bound_pair(lint, results, BOUND_STATED, jr_node_scalar(lint->arena, "true", true));
    if (stated == NULL || jr_doc_get(stated, "from") == NULL)
        add_bound_pair(lint, results, "from", bound_text(lint, returns ? "return" : "file"));
}

/* The tree as libcyaml binds it, in the lint's arena. NULL if memory runs out, or the arena has
 * failed. */
static struct jr_node *bound_tree(struct jr_lint *lint, const struct jr_node *tree,
                                  const char *stem)
{
    struct jr_arena *arena = lint->arena;
    const struct jr_node *entry = jr_doc_get(tree, "entrypoint");
    lint->call = jr_call_is_one(tree);
    struct jr_node *out = bound_value(lint, jr_field_root(), tree, NULL);
    if (arena->failed || entry == NULL)
        return NULL;
    add_bound_entry(lint, entry, jr_doc_get(out, "entrypoint"));
    if (jr_doc_get(tree, "name") == NULL)
        add_bound_pair(lint, out, "name", bound_text(lint, stem));
    if (jr_doc_get(tree, "tee") != NULL)
        add_bound_pair(lint, out, BOUND_TEE_STATED, jr_node_scalar(arena, "true", true));
    add_results(lint, tree, jr_doc_get(out, "results"));
    if (jr_doc_get(tree, "exit_barrier") == NULL)
        add_bound_pair(lint, out, "exit_barrier",
                       bound_text(lint, jr_call_returns(entry) ? "true" : "false"));
    if (jr_doc_get(tree, "stop_target") == NULL && jr_doc_get(entry, "shell") != NULL)
        add_bound_pair(lint, out, "stop_target", bound_text(lint, "group"));
    return arena->failed ? NULL : out;
}

/* Flags of a field: libcyaml has no defaults, so all are optional to it. */
#define OPT CYAML_FLAG_OPTIONAL
#define PTR (CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL)

/* What the `bind` column of fields.h means; OF is the struct at hand. */
#define AT(m)     .data_offset = offsetof(OF, m)
#define MEMBER(m) (((OF *)NULL)->m)
#define SKIP      .value = {.type = CYAML_IGNORE, .flags = OPT}
#define STR(m)    AT(m), .value = {CYAML_VALUE_STRING(PTR, char, 0, CYAML_UNLIMITED)}
#define U32P(m)   AT(m), .value = {CYAML_VALUE_UINT(PTR, uint32_t)}
#define U32(m)    AT(m), .value = {CYAML_VALUE_UINT(OPT, uint32_t)}
#define U64(m)    AT(m), .value = {CYAML_VALUE_UINT(OPT, uint64_t)}
#define FLAG(m)   AT(m), .value = {CYAML_VALUE_BOOL(OPT, bool)}
#define WORDS(m, table)                                                                            \
    AT(m), .value = {CYAML_VALUE_ENUM(OPT | CYAML_FLAG_STRICT, MEMBER(m), table,                   \
                                      CYAML_ARRAY_LEN(table))}
#define MAP(m, group)     AT(m), .value = {CYAML_VALUE_MAPPING(OPT, MEMBER(m), fields_##group)}
#define POINTER(m, group) AT(m), .value = {CYAML_VALUE_MAPPING(PTR, *MEMBER(m), fields_##group)}
#define ENTRY(m)          AT(m), .value = {CYAML_VALUE_MAPPING(OPT, MEMBER(m), fields_entry)}
#define SEQ(m, entry)                                                                              \
    AT(m), .count_offset = offsetof(OF, m##_count), .count_size = sizeof MEMBER(m##_count),        \
           .value = {CYAML_VALUE_SEQUENCE(PTR, *MEMBER(m), &entry, 0, CYAML_UNLIMITED)}
#define STRS(m)  SEQ(m, bind_string)
#define U32S(m)  SEQ(m, bind_u32)
#define RULES(m) SEQ(m, bind_rule)

#define BIND_X(key_, type, need, bind, fallback, unit, part, missing, help) {.key = key_, bind},

#define V_START(name, word, help)    {word, JR_START_##name},
#define V_VISIBLE(name, word, help)  {word, JR_VISIBLE_##name},
#define V_STREAM(name, word, help)   {word, JR_STREAM_##name},
#define V_FAILURE(name, word, help)  {word, JR_ON_FAILURE_##name},
#define V_TARGET(name, word, help)   {word, JR_STOP_##name},
#define V_THREADS(name, word, help)  {word, JR_FORK_THREADS_##name},
#define V_STATUS(name, word, help)   {word, JR_EXIT_STATUS_##name},
#define V_PROTOCOL(name, word, help) {word, JR_MPI_PROTOCOL_##name},
#define V_ISOLATE(name, word, help)  {word, JR_ISOLATION_##name},
#define V_SIGNAL(name, word, help)   {word, JR_ON_SIGNAL_##name},
#define V_MODE(name, word, help)     {word, JR_LOG_##name},
#define V_FROM(name, word, help)     {word, JR_FROM_##name},
#define V_CODE(name, word, help)     {word, JR_CODE_MODE_##name},
#define V_PROGRESS(name, word, help) {word, JR_PROGRESS_##name},
#define V_JSON(name, word, help)     {word, JR_JSON_##name},
#define V_FORM(name, word, help)     {word, JR_FORM_##name},
#define V_PYTHON(name, word, help)   {word, JR_PYTHON_##name},
#define V_INIT(name, word, help)     {word, JR_INIT_##name},
#define V_DIALECT(name, word, help)  {word, JR_MPI_##name},

static const cyaml_strval_t dialects[] = {JR_MPI_DIALECTS(V_DIALECT)};
static const cyaml_strval_t start_methods[] = {JR_START_METHODS(V_START)};
static const cyaml_strval_t visibilities[] = {JR_VISIBILITIES(V_VISIBLE)};
static const cyaml_strval_t streams[] = {JR_STREAMS(V_STREAM)};
static const cyaml_strval_t on_failures[] = {JR_ON_FAILURES(V_FAILURE)};
static const cyaml_strval_t stop_targets[] = {JR_STOP_TARGETS(V_TARGET)};
static const cyaml_strval_t fork_threads[] = {JR_FORK_THREADS(V_THREADS)};
static const cyaml_strval_t exit_statuses[] = {JR_EXIT_STATUSES(V_STATUS)};
static const cyaml_strval_t mpi_protocols[] = {JR_MPI_PROTOCOLS(V_PROTOCOL)};
static const cyaml_strval_t isolations[] = {JR_ISOLATIONS(V_ISOLATE)};
static const cyaml_strval_t on_signals[] = {JR_ON_SIGNALS(V_SIGNAL)};
static const cyaml_strval_t log_modes[] = {JR_LOG_MODES(V_MODE)};
static const cyaml_strval_t result_froms[] = {JR_RESULT_FROMS(V_FROM)};
static const cyaml_strval_t code_modes[] = {JR_CODE_MODES(V_CODE)};
static const cyaml_strval_t progress_froms[] = {JR_PROGRESS_FROMS(V_PROGRESS)};
static const cyaml_strval_t json_types[] = {JR_JSON_TYPES(V_JSON)};
static const cyaml_strval_t forms[] = {JR_FORMS(V_FORM)};
static const cyaml_strval_t pythons[] = {JR_PYTHON_FORMS(V_PYTHON)};
static const cyaml_strval_t inits[] = {JR_PYTHON_INITS(V_INIT)};

static const cyaml_schema_value_t bind_string = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, CYAML_UNLIMITED)};
static const cyaml_schema_value_t bind_u32 = {CYAML_VALUE_UINT(CYAML_FLAG_DEFAULT, uint32_t)};

#define OF struct jr_stream_rule
static const cyaml_schema_field_t fields_rule[] = {
    {.key = "ranks", STR(ranks)},
    {.key = "streams", WORDS(streams, streams)},
    CYAML_FIELD_END,
};
#undef OF
static const cyaml_schema_value_t bind_rule = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct jr_stream_rule, fields_rule)};

#define OF struct jr_env_entry
static const cyaml_schema_field_t fields_env[] = {
    {.key = BOUND_NAME, STR(name)},
    {.key = BOUND_VALUE, STR(value)},
    {.key = BOUND_REQUIRED, FLAG(required)},
    CYAML_FIELD_END,
};
#undef OF
static const cyaml_schema_value_t bind_env = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct jr_env_entry, fields_env)};

#define OF struct jr_kwarg
static const cyaml_schema_field_t fields_kwarg[] = {
    {.key = BOUND_NAME, STR(name)},
    {.key = BOUND_VALUE, STR(value)},
    CYAML_FIELD_END,
};
#undef OF
static const cyaml_schema_value_t bind_kwarg = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct jr_kwarg, fields_kwarg)};

#define OF struct jr_signal_rule
static const cyaml_schema_field_t fields_signal[] = {
    {.key = BOUND_NAME, STR(name)},
    {.key = BOUND_VALUE, WORDS(use, on_signals)},
    CYAML_FIELD_END,
};
#undef OF
static const cyaml_schema_value_t bind_signal = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct jr_signal_rule, fields_signal)};

#define OF struct jr_rank_entry
static const cyaml_schema_field_t fields_RANK_ENTRY[] = {
    {.key = BOUND_NAME, STR(ranks)},
    JR_FIELDS_RANK_ENTRY(BIND_X) CYAML_FIELD_END,
};
#undef OF
static const cyaml_schema_value_t bind_rank = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct jr_rank_entry, fields_RANK_ENTRY)};

#define OF struct jr_result_field
static const cyaml_schema_field_t fields_RESULT_FIELD[] = {
    {.key = BOUND_NAME, STR(name)},
    JR_FIELDS_RESULT_FIELD(BIND_X) CYAML_FIELD_END,
};
#undef OF
static const cyaml_schema_value_t bind_field = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct jr_result_field, fields_RESULT_FIELD)};

#define OF struct jr_python
static const cyaml_schema_field_t fields_PYTHON[] = {
    {.key = BOUND_FORM, WORDS(what, pythons)},
    {.key = BOUND_TARGET, STR(target)},
    JR_FIELDS_PYTHON(BIND_X) CYAML_FIELD_END,
};
#undef OF

#define OF struct jr_library
static const cyaml_schema_field_t fields_LIBRARY[] = {
    JR_FIELDS_LIBRARY(BIND_X) CYAML_FIELD_END,
};
#undef OF

#define OF struct jr_entrypoint
static const cyaml_schema_field_t fields_entry[] = {
    {.key = BOUND_FORM, WORDS(form, forms)},
    {.key = BOUND_ARGV, STRS(argv)},
    JR_FIELDS_ENTRYPOINT(BIND_X) CYAML_FIELD_END,
};
#undef OF

#define OF struct jr_spec_parallelism
static const cyaml_schema_field_t fields_PARALLELISM[] = {
    JR_FIELDS_PARALLELISM(BIND_X) CYAML_FIELD_END,
};
#undef OF

#define OF struct jr_spec_backends
static const cyaml_schema_field_t fields_BACKENDS[] = {
    JR_FIELDS_BACKENDS(BIND_X) CYAML_FIELD_END,
};
#undef OF

#define OF struct jr_console
static const cyaml_schema_field_t fields_CONSOLE[] = {
    JR_FIELDS_CONSOLE(BIND_X) CYAML_FIELD_END,
};
#undef OF

#define OF struct jr_timeouts
static const cyaml_schema_field_t fields_TIMEOUTS[] = {
    JR_FIELDS_TIMEOUTS(BIND_X) CYAML_FIELD_END,
};
#undef OF

#define OF struct jr_on_hang
static const cyaml_schema_field_t fields_ON_HANG[] = {
    JR_FIELDS_ON_HANG(BIND_X) CYAML_FIELD_END,
};
#undef OF

#define OF struct jr_limits
static const cyaml_schema_field_t fields_LIMITS[] = {
    JR_FIELDS_LIMITS(BIND_X) CYAML_FIELD_END,
};
#undef OF

#define OF struct jr_restart
static const cyaml_schema_field_t fields_RESTART[] = {
    JR_FIELDS_RESTART(BIND_X) CYAML_FIELD_END,
};
#undef OF

#define OF struct jr_kubernetes
static const cyaml_schema_field_t fields_KUBERNETES[] = {
    JR_FIELDS_KUBERNETES(BIND_X) CYAML_FIELD_END,
};
#undef OF

#define OF struct jr_mpi
static const cyaml_schema_field_t fields_MPI[] = {
    JR_FIELDS_MPI(BIND_X) CYAML_FIELD_END,
};
#undef OF

#define OF struct jr_ssh
static const cyaml_schema_field_t fields_SSH[] = {
    JR_FIELDS_SSH(BIND_X) CYAML_FIELD_END,
};
#undef OF

#define OF struct jr_engine
static const cyaml_schema_field_t fields_ENGINE[] = {
    JR_FIELDS_ENGINE(BIND_X) CYAML_FIELD_END,
};
#undef OF

#define OF struct jr_results
static const cyaml_schema_field_t fields_RESULTS[] = {
    {.key = BOUND_STATED, FLAG(stated)},
    JR_FIELDS_RESULTS(BIND_X) CYAML_FIELD_END,
};
#undef OF

#define OF struct jr_progress_source
static const cyaml_schema_field_t fields_PROGRESS[] = {
    JR_FIELDS_PROGRESS(BIND_X) CYAML_FIELD_END,
};
#undef OF

#define OF struct jr_code_choice
static const cyaml_schema_field_t fields_CODE[] = {
    JR_FIELDS_CODE(BIND_X) CYAML_FIELD_END,
};
#undef OF

#define OF struct jr_deadline
static const cyaml_schema_field_t fields_DEADLINE[] = {
    JR_FIELDS_DEADLINE(BIND_X) CYAML_FIELD_END,
};
#undef OF

#define OF struct jr_requeue
static const cyaml_schema_field_t fields_REQUEUE[] = {
    JR_FIELDS_REQUEUE(BIND_X) CYAML_FIELD_END,
};
#undef OF

#define OF struct jr_spec
static const cyaml_schema_field_t fields_SPEC[] = {
    {.key = BOUND_TEE_STATED, FLAG(tee_stated)},
    JR_FIELDS_SPEC(BIND_X) CYAML_FIELD_END,
};
#undef OF

static const cyaml_schema_value_t bind_spec = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct jr_spec, fields_SPEC)};

static const cyaml_config_t config = {
    .mem_fn = cyaml_mem,
    .flags = CYAML_CFG_NO_ALIAS,
};

int jr_bind_spec(struct jr_spec **ret, struct jr_lint *lint, const struct jr_node *tree,
                 const char *stem)
{
    struct jr_buf text = JR_BUF_INIT;
    struct jr_spec *spec = NULL;
    const char *problem = "out of memory";
    struct jr_node *bound = bound_tree(lint, tree, stem);
    if (bound != NULL)
        jr_doc_emit(&text, bound);
    if (bound != NULL && !text.failed && !lint->arena->failed) {
        errno = 0;
        cyaml_err_t err = cyaml_load_data((const uint8_t *)text.data, text.len, &config, &bind_spec,
                                          (cyaml_data_t **)&spec, NULL);
        if (err == CYAML_OK)
            problem = NULL;
        else if (errno != ENOMEM)
            problem = cyaml_strerror(err);
    }
    jr_buf_release(&text);
    if (problem == NULL) {
        *ret = spec;
        return 0;
    }
    (void)jr_lint_error(lint, JR_CODE_INTERNAL, tree->span, NULL,
                        "jobrun failed to take in a checked spec: %s", problem);
    return -1;
}

void jr_bind_free(struct jr_spec *spec)
{
    (void)cyaml_free(&config, &bind_spec, spec, 0);
}
