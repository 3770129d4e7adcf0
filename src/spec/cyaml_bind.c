/*
 * The struct is bound from a third form of the tree, which has nothing to judge in it: every
 * default filled in, mappings of the user's names as lists, durations as milliseconds. It is made
 * by cyaml_tree.c, written to memory, and read by libcyaml with the tables below, which come from
 * the rows of fields.h.
 */
#include "spec/cyaml_bind.h"

#include <cyaml/cyaml.h>
#include <errno.h>
#include <stddef.h>

#include "spec/cyaml_tree.h"
#include "spec/fields.h"
#include "spec/internal.h"

#include "base/banned.h"

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
    {.key = JR_BOUND_NAME, STR(name)},
    {.key = JR_BOUND_VALUE, STR(value)},
    {.key = JR_BOUND_REQUIRED, FLAG(required)},
    CYAML_FIELD_END,
};
#undef OF
static const cyaml_schema_value_t bind_env = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct jr_env_entry, fields_env)};

#define OF struct jr_kwarg
static const cyaml_schema_field_t fields_kwarg[] = {
    {.key = JR_BOUND_NAME, STR(name)},
    {.key = JR_BOUND_VALUE, STR(value)},
    CYAML_FIELD_END,
};
#undef OF
static const cyaml_schema_value_t bind_kwarg = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct jr_kwarg, fields_kwarg)};

#define OF struct jr_signal_rule
static const cyaml_schema_field_t fields_signal[] = {
    {.key = JR_BOUND_NAME, STR(name)},
    {.key = JR_BOUND_VALUE, WORDS(use, on_signals)},
    CYAML_FIELD_END,
};
#undef OF
static const cyaml_schema_value_t bind_signal = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct jr_signal_rule, fields_signal)};

#define OF struct jr_rank_entry
static const cyaml_schema_field_t fields_RANK_ENTRY[] = {
    {.key = JR_BOUND_NAME, STR(ranks)},
    JR_FIELDS_RANK_ENTRY(BIND_X) CYAML_FIELD_END,
};
#undef OF
static const cyaml_schema_value_t bind_rank = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct jr_rank_entry, fields_RANK_ENTRY)};

#define OF struct jr_result_field
static const cyaml_schema_field_t fields_RESULT_FIELD[] = {
    {.key = JR_BOUND_NAME, STR(name)},
    JR_FIELDS_RESULT_FIELD(BIND_X) CYAML_FIELD_END,
};
#undef OF
static const cyaml_schema_value_t bind_field = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct jr_result_field, fields_RESULT_FIELD)};

#define OF struct jr_python
static const cyaml_schema_field_t fields_PYTHON[] = {
    {.key = JR_BOUND_FORM, WORDS(what, pythons)},
    {.key = JR_BOUND_TARGET, STR(target)},
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
    {.key = JR_BOUND_FORM, WORDS(form, forms)},
    {.key = JR_BOUND_ARGV, STRS(argv)},
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
    {.key = JR_BOUND_STATED, FLAG(stated)},
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
    {.key = JR_BOUND_TEE_STATED, FLAG(tee_stated)},
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
    struct jr_node *bound = jr_bound_tree(lint, tree, stem);
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
