#include "store/outcome_forms.h"

#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_shape.h"
#include "base/names.h"

#include "base/banned.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define US           UINT64_C(1000) /* in nanoseconds */

int64_t jr_outcome_load(const void *base, const struct jr_outcome_field *field)
{
    const void *at = (const char *)base + field->at;
    switch (field->kind) {
    case JR_OUTCOME_INT32:
        return *(const int32_t *)at;
    case JR_OUTCOME_UINT32:
        return *(const uint32_t *)at;
    case JR_OUTCOME_UINT64:
        return (int64_t) * (const uint64_t *)at;
    case JR_OUTCOME_BOOL:
        break;
    }
    return *(const bool *)at;
}

void jr_outcome_store(void *base, const struct jr_outcome_field *field, int64_t value)
{
    void *at = (char *)base + field->at;
    switch (field->kind) {
    case JR_OUTCOME_INT32:
    case JR_OUTCOME_UINT32:
        *(uint32_t *)at = (uint32_t)value;
        break;
    case JR_OUTCOME_UINT64:
        *(uint64_t *)at = (uint64_t)value;
        break;
    case JR_OUTCOME_BOOL:
        *(bool *)at = value != 0;
    }
}

static void put_null_field(struct jr_buf *out, const char *key)
{
    jr_json_key(out, key);
    jr_buf_add(out, "null", 4);
}

/* A number of which 0 is none. */
static void put_number_field(struct jr_buf *out, const struct jr_outcome_field *field,
                             const struct jr_rank_outcome *rank)
{
    int64_t value = jr_outcome_load(rank, field);
    if (value == 0)
        put_null_field(out, field->key);
    else
        jr_json_put_int(out, field->key, value);
}

static void get_number_field(struct jr_rank_outcome *ret, const struct jr_outcome_field *field,
                             const json_t *value)
{
    jr_outcome_store(ret, field, json_integer_value(value));
}

static void put_flag_field(struct jr_buf *out, const struct jr_outcome_field *field,
                           const struct jr_rank_outcome *rank)
{
    jr_json_put_bool(out, field->key, jr_outcome_load(rank, field) != 0);
}

static void get_flag_field(struct jr_rank_outcome *ret, const struct jr_outcome_field *field,
                           const json_t *value)
{
    jr_outcome_store(ret, field, json_is_true(value));
}

static void put_exit_code_field(struct jr_buf *out, const struct jr_outcome_field *field,
                                const struct jr_rank_outcome *rank)
{
    if (rank->end == JR_END_EXITED)
        jr_json_put_int(out, field->key, rank->exit_code);
    else
        put_null_field(out, field->key);
}

static void put_signal_field(struct jr_buf *out, const struct jr_outcome_field *field,
                             const struct jr_rank_outcome *rank)
{
    char name[JR_SIGNAL_NAME];
    if (rank->end != JR_END_SIGNALED) {
        put_null_field(out, field->key);
        return;
    }
    jr_signal_name(name, rank->signal);
    jr_json_put_str(out, field->key, name);
}

/* The signal of the deadline, whatever ended the rank. */
static void put_warning_field(struct jr_buf *out, const struct jr_outcome_field *field,
                              const struct jr_rank_outcome *rank)
{
    char name[JR_SIGNAL_NAME];
    if (rank->warned_with == 0) {
        put_null_field(out, field->key);
        return;
    }
    jr_signal_name(name, rank->warned_with);
    jr_json_put_str(out, field->key, name);
}

static int signal_of_name(const json_t *name)
{
    return json_is_string(name) ? jr_signal_of(json_string_value(name)) : 0;
}

static void get_signal_field(struct jr_rank_outcome *ret, const struct jr_outcome_field *field,
                             const json_t *value)
{
    jr_outcome_store(ret, field, signal_of_name(value));
}

/* What jobrun sent it to end it, in that order. */
static void put_stops_field(struct jr_buf *out, const struct jr_outcome_field *field,
                            const struct jr_rank_outcome *rank)
{
    char name[JR_SIGNAL_NAME];
    bool first = rank->stopped_with != 0;
    jr_json_key(out, field->key);
    jr_buf_char(out, '[');
    if (first) {
        jr_signal_name(name, rank->stopped_with);
        jr_json_quote(out, name);
    }
    if (rank->killed && rank->stopped_with != SIGKILL)
        jr_buf_str(out, first ? ", \"SIGKILL\"" : "\"SIGKILL\"");
    jr_buf_char(out, ']');
}

static void get_stops_field(struct jr_rank_outcome *ret, const struct jr_outcome_field *field,
                            const json_t *value)
{
    (void)field;
    ret->stopped_with = signal_of_name(json_array_get(value, 0));
    ret->killed =
        ret->stopped_with == SIGKILL || signal_of_name(json_array_get(value, 1)) == SIGKILL;
}

#define END(name, word)          word,
#define STAGE(name, word, text)  word,
#define INJECT(name, word, help) word,
static const char *const end_words[] = {JR_ENDS(END)};
static const char *const stage_words[] = {JR_STAGES(STAGE)};
static const char *const mpi_words[] = {JR_MPI_PARTS(END)};
static const char *const inject_words[] = {JR_INJECTS(INJECT)};

/* The index of a word of the shape; -1: it is not one. */
static int32_t word_index(const struct jr_json_shape *shape, const json_t *value)
{
    const char *word = json_string_value(value);
    for (size_t i = 0; word != NULL && i < shape->words_count; i++)
        if (strcmp(shape->words[i], word) == 0)
            return (int32_t)i;
    return -1;
}

/* An enum whose value 0 is nothing: its shape has the words behind that. */
static void put_word_field(struct jr_buf *out, const struct jr_outcome_field *field,
                           const struct jr_rank_outcome *rank)
{
    int64_t value = jr_outcome_load(rank, field);
    if (value == 0)
        put_null_field(out, field->key);
    else
        jr_json_put_str(out, field->key, field->form->shape.words[value - 1]);
}

static void get_word_field(struct jr_rank_outcome *ret, const struct jr_outcome_field *field,
                           const json_t *value)
{
    jr_outcome_store(ret, field, word_index(&field->form->shape, value) + 1);
}

/* The code of MPI_Abort, which may be 0 and less. */
static void put_mpi_code_field(struct jr_buf *out, const struct jr_outcome_field *field,
                               const struct jr_rank_outcome *rank)
{
    if (rank->mpi == JR_MPI_PART_ABORTED)
        jr_json_put_int(out, field->key, rank->mpi_code);
    else
        put_null_field(out, field->key);
}

static void put_injected_field(struct jr_buf *out, const struct jr_outcome_field *field,
                               const struct jr_rank_outcome *rank)
{
    jr_json_put_str(out, field->key, rank->injected ? inject_words[rank->injection] : NULL);
}

static void get_injected_field(struct jr_rank_outcome *ret, const struct jr_outcome_field *field,
                               const json_t *value)
{
    int32_t found = word_index(&field->form->shape, value);
    ret->injected = found >= 0;
    ret->injection = (enum jr_inject)(found >= 0 ? found : 0);
}

static bool has_rank_lived(const struct jr_rank_outcome *rank)
{
    return rank->pid != 0 && rank->ended_ns >= rank->started_ns;
}

static void put_lifetime_field(struct jr_buf *out, const struct jr_outcome_field *field,
                               const struct jr_rank_outcome *rank)
{
    if (has_rank_lived(rank))
        jr_json_put_decimal(out, field->key, (rank->ended_ns - rank->started_ns) / US, 6);
    else
        put_null_field(out, field->key);
}

static void put_cpu_field(struct jr_buf *out, const struct jr_outcome_field *field,
                          const struct jr_rank_outcome *rank)
{
    if (has_rank_lived(rank))
        jr_json_put_decimal(out, field->key, rank->cpu_ns / US, 6);
    else
        put_null_field(out, field->key);
}

static void get_lifetime_field(struct jr_rank_outcome *ret, const struct jr_outcome_field *field,
                               const json_t *value)
{
    jr_outcome_store(ret, field, (int64_t)jr_clock_ns_of(json_number_value(value)));
}

static void put_dropped_field(struct jr_buf *out, const struct jr_outcome_field *field,
                              const struct jr_rank_outcome *rank)
{
    jr_json_key(out, field->key);
    jr_buf_char(out, '{');
    jr_json_put_int(out, "stdout", (json_int_t)rank->dropped[0]);
    jr_json_put_int(out, "stderr", (json_int_t)rank->dropped[1]);
    jr_buf_char(out, '}');
}

static void get_dropped_field(struct jr_rank_outcome *ret, const struct jr_outcome_field *field,
                              const json_t *value)
{
    (void)field;
    ret->dropped[0] = (uint64_t)jr_json_get_int(value, "stdout");
    ret->dropped[1] = (uint64_t)jr_json_get_int(value, "stderr");
}

#define ONE_OF(array, skipped)                                                                     \
    {                                                                                              \
        .words = (array) + (skipped), .words_count = COUNT(array) - (skipped), .null = true        \
    }

const struct jr_outcome_form jr_form_number = {
    put_number_field, get_number_field, {.text = JR_SHAPE_COUNT, .null = true}};
const struct jr_outcome_form jr_form_flag = {
    put_flag_field, get_flag_field, {.text = JR_SHAPE_FLAG}};
const struct jr_outcome_form jr_form_exit_code = {
    put_exit_code_field, get_number_field, {.text = JR_SHAPE_COUNT, .null = true}};
const struct jr_outcome_form jr_form_signal_name = {
    put_signal_field, get_signal_field, {.text = JR_SHAPE_SIGNAL, .null = true}};
const struct jr_outcome_form jr_form_warning = {
    put_warning_field, get_signal_field, {.text = JR_SHAPE_SIGNAL, .null = true}};
const struct jr_outcome_form jr_form_stops = {
    put_stops_field,
    get_stops_field,
    {.text = "{\"type\": \"array\", \"items\": {\"type\": \"string\"}}"}};
const struct jr_outcome_form jr_form_end_word = {put_word_field, get_word_field,
                                                 ONE_OF(end_words, 1)};
const struct jr_outcome_form jr_form_stage_word = {put_word_field, get_word_field,
                                                   ONE_OF(stage_words, 1)};
const struct jr_outcome_form jr_form_mpi_word = {put_word_field, get_word_field,
                                                 ONE_OF(mpi_words, 1)};
const struct jr_outcome_form jr_form_mpi_code = {
    put_mpi_code_field, get_number_field, {.text = "{\"type\": \"integer\"}", .null = true}};
const struct jr_outcome_form jr_form_injected = {put_injected_field, get_injected_field,
                                                 ONE_OF(inject_words, 0)};
const struct jr_outcome_form jr_form_lived = {
    put_lifetime_field, get_lifetime_field, {.text = JR_SHAPE_SECONDS, .null = true}};
const struct jr_outcome_form jr_form_cpu = {
    put_cpu_field, get_lifetime_field, {.text = JR_SHAPE_SECONDS, .null = true}};
const struct jr_outcome_form jr_form_dropped = {
    put_dropped_field,
    get_dropped_field,
    {.text = "{\"type\": \"object\", \"required\": [\"stdout\", \"stderr\"],"
             " \"properties\": {\"stdout\": " JR_SHAPE_COUNT ", \"stderr\": " JR_SHAPE_COUNT "}}"}};
