#include "record/results_cause.h"

#include <string.h>

#include "base/json_shape.h"
#include "base/names.h"
#include "judge/words.h"
#include "store/outcome.h"

#include "base/banned.h"

struct row {
    const char *key;
    void (*put)(struct jr_buf *out, const char *key, const struct jr_results_cause *cause);
    void (*get)(struct jr_results_cause *ret, struct jr_arena *arena, const json_t *value);
    struct jr_json_shape shape;
    const char *help;
};

static void put_cause_number(struct jr_buf *out, const char *key, int64_t value)
{
    if (value < 0)
        jr_json_put_str(out, key, NULL);
    else
        jr_json_put_int(out, key, value);
}

static int64_t cause_number(const json_t *value)
{
    return json_is_integer(value) ? json_integer_value(value) : -1;
}

static void put_cause_rank(struct jr_buf *out, const char *key,
                           const struct jr_results_cause *cause)
{
    put_cause_number(out, key, cause->rank);
}

static void get_cause_rank(struct jr_results_cause *ret, struct jr_arena *arena,
                           const json_t *value)
{
    (void)arena;
    ret->rank = cause_number(value);
}

static void put_cause_host(struct jr_buf *out, const char *key,
                           const struct jr_results_cause *cause)
{
    jr_json_put_str(out, key, cause->host);
}

static void get_cause_host(struct jr_results_cause *ret, struct jr_arena *arena,
                           const json_t *value)
{
    (void)arena;
    ret->host = json_string_value(value);
}

static void put_cause_kind(struct jr_buf *out, const char *key,
                           const struct jr_results_cause *cause)
{
    jr_json_put_str(out, key, jr_cause_kind_word(cause->kind));
}

static void get_cause_kind(struct jr_results_cause *ret, struct jr_arena *arena,
                           const json_t *value)
{
    (void)arena;
    if (json_is_string(value))
        (void)jr_cause_kind_of(json_string_value(value), &ret->kind);
}

static void put_cause_exit_code(struct jr_buf *out, const char *key,
                                const struct jr_results_cause *cause)
{
    put_cause_number(out, key, cause->exit_code);
}

static void get_cause_exit_code(struct jr_results_cause *ret, struct jr_arena *arena,
                                const json_t *value)
{
    (void)arena;
    ret->exit_code = (int32_t)cause_number(value);
}

static void put_cause_signal(struct jr_buf *out, const char *key,
                             const struct jr_results_cause *cause)
{
    char name[JR_SIGNAL_NAME];
    if (cause->signal != 0)
        jr_signal_name(name, cause->signal);
    jr_json_put_str(out, key, cause->signal == 0 ? NULL : name);
}

static void get_cause_signal(struct jr_results_cause *ret, struct jr_arena *arena,
                             const json_t *value)
{
    (void)arena;
    if (json_is_string(value))
        ret->signal = jr_signal_of(json_string_value(value));
}

static void put_cause_message(struct jr_buf *out, const char *key,
                              const struct jr_results_cause *cause)
{
    jr_json_put_str(out, key, cause->message);
}

static void get_cause_message(struct jr_results_cause *ret, struct jr_arena *arena,
                              const json_t *value)
{
    (void)arena;
    ret->message = json_string_value(value);
}

static void put_cause_together(struct jr_buf *out, const char *key,
                               const struct jr_results_cause *cause)
{
    jr_json_key(out, key);
    jr_buf_char(out, '[');
    for (size_t i = 0; i < cause->together_count; i++) {
        jr_buf_str(out, i == 0 ? "" : ", ");
        jr_buf_u64(out, cause->together[i]);
    }
    jr_buf_char(out, ']');
}

static void get_cause_together(struct jr_results_cause *ret, struct jr_arena *arena,
                               const json_t *value)
{
    size_t count = json_array_size(value);
    uint32_t *ranks = jr_arena_array(arena, count, sizeof *ranks);
    ret->together = ranks;
    ret->together_count = ranks == NULL ? 0 : count;
    for (size_t i = 0; i < ret->together_count; i++)
        ranks[i] = (uint32_t)json_integer_value(json_array_get(value, i));
}

#define WORD(name, word) word,
static const char *const kinds[] = {JR_CAUSE_KINDS(WORD)};

static const struct row rows[] = {
    {"rank",
     put_cause_rank,
     get_cause_rank,
     {.text = JR_SHAPE_COUNT, .null = true},
     "null: no rank, but jobrun itself or time."},
    {"host", put_cause_host, get_cause_host, {.text = JR_SHAPE_TEXT, .null = true}, NULL},
    {"kind",
     put_cause_kind,
     get_cause_kind,
     {.words = kinds + 1, .words_count = sizeof kinds / sizeof *kinds - 1},
     NULL},
    {"exit_code",
     put_cause_exit_code,
     get_cause_exit_code,
     {.text = JR_SHAPE_COUNT, .null = true},
     NULL},
    {"signal",
     put_cause_signal,
     get_cause_signal,
     {.text = JR_SHAPE_SIGNAL, .null = true},
     "The signal's name."},
    {"message", put_cause_message, get_cause_message, {.text = JR_SHAPE_TEXT}, NULL},
    {"together",
     put_cause_together,
     get_cause_together,
     {.text = "{\"type\": \"array\", \"items\": " JR_SHAPE_COUNT "}"},
     "Ranks whose failure cannot be distinguished from it."},
};

void jr_results_put_cause(struct jr_buf *out, const struct jr_results_cause *cause)
{
    if (cause->kind == JR_CAUSE_NONE) {
        jr_buf_str(out, "null");
        return;
    }
    jr_buf_char(out, '{');
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        rows[i].put(out, rows[i].key, cause);
    jr_buf_char(out, '}');
}

void jr_results_get_cause(struct jr_results_cause *ret, struct jr_arena *arena,
                          const json_t *object)
{
    *ret = (struct jr_results_cause){.rank = -1, .exit_code = -1};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        rows[i].get(ret, arena, json_object_get(object, rows[i].key));
}

json_t *jr_results_cause_schema(void)
{
    static const struct jr_json_shape object = {.text = "{\"type\": \"object\"}", .null = true};
    json_t *schema =
        jr_json_shape_schema(&object, "What came first; null where nothing went wrong.");
    json_t *properties = json_object(), *required = json_array();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        jr_json_shape_add(properties, required, rows[i].key,
                          jr_json_shape_schema(&rows[i].shape, rows[i].help));
    jr_json_set(schema, "required", required);
    jr_json_set(schema, "properties", properties);
    return schema;
}

/* Which of jobrun's own two processes was killed. */
void jr_results_put_killed(struct jr_buf *out, const struct jr_results_row *row,
                           const struct jr_results_run *run)
{
    const struct jr_outcome *outcome = run->outcome;
    int sig = jr_outcome_lost_by(outcome);
    bool guard = outcome->guard_pid != 0;
    char name[JR_SIGNAL_NAME];
    if (!jr_outcome_lost(outcome)) {
        jr_json_put_str(out, row->key, NULL);
        return;
    }
    jr_signal_name(name, sig);
    jr_json_key(out, row->key);
    jr_buf_char(out, '{');
    jr_json_put_str(out, "process", guard ? "guard" : "runner");
    if (guard)
        jr_json_put_int(out, "pid", outcome->guard_pid);
    else
        jr_json_put_str(out, "pid", NULL);
    jr_json_put_str(out, "signal", sig == 0 ? NULL : name);
    jr_buf_char(out, '}');
}

void jr_results_get_killed(struct jr_loaded_run *loaded, const struct jr_results_row *row,
                           const json_t *value)
{
    (void)row;
    const char *process = jr_json_get_str(value, "process");
    const char *name = jr_json_get_str(value, "signal");
    int sig = name == NULL ? 0 : jr_signal_of(name);
    if (process != NULL && strcmp(process, "runner") == 0) {
        loaded->outcome.runner_signal = sig;
    } else if (process != NULL) {
        loaded->outcome.guard_pid = (int32_t)jr_json_get_u32(value, "pid");
        loaded->outcome.guard_signal = sig;
    }
}
