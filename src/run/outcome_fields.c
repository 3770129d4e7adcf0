#include "outcome_fields.h"

#include <signal.h>
#include <string.h>

#include "clock.h"
#include "json_shape.h"
#include "signame.h"

#include "banned.h"

#define US UINT64_C(1000) /* in nanoseconds */

/* How a member is stored. */
enum kind { INT32, UINT32, UINT64, BOOL };

struct field;

/* How results.json has a field: written, read, and what it may be. */
struct form {
    void (*put)(struct jr_buf *out, const struct field *field,
                const struct jr_rank_outcome *rank);
    void (*get)(struct jr_rank_outcome *ret, const struct field *field,
                const json_t *value);
    struct jr_shape shape;
};

struct field {
    const char *sent; /* its key in the message; NULL: it is not there */
    enum kind kind;
    size_t at;
    int32_t limit;           /* an enum's number of values; 0: any value */
    const char *key;         /* in results.json; NULL: it is not there */
    const struct form *form; /* of that */
    const char *help;
};

static int64_t load(const void *base, const struct field *field)
{
    const void *at = (const char *)base + field->at;
    switch (field->kind) {
    case INT32:
        return *(const int32_t *)at;
    case UINT32:
        return *(const uint32_t *)at;
    case UINT64:
        return (int64_t) * (const uint64_t *)at;
    case BOOL:
        break;
    }
    return *(const bool *)at;
}

static void store(void *base, const struct field *field, int64_t value)
{
    void *at = (char *)base + field->at;
    switch (field->kind) {
    case INT32:
        *(int32_t *)at = (int32_t)value;
        break;
    case UINT32:
        *(uint32_t *)at = (uint32_t)value;
        break;
    case UINT64:
        *(uint64_t *)at = (uint64_t)value;
        break;
    case BOOL:
        *(bool *)at = value != 0;
    }
}

static void put_null(struct jr_buf *out, const char *key)
{
    jr_json_key(out, key);
    jr_buf_add(out, "null", 4);
}

/* A number of which 0 is none. */
static void put_number(struct jr_buf *out, const struct field *field,
                       const struct jr_rank_outcome *rank)
{
    int64_t value = load(rank, field);
    if (value == 0)
        put_null(out, field->key);
    else
        jr_json_put_int(out, field->key, value);
}

static void get_number(struct jr_rank_outcome *ret, const struct field *field,
                       const json_t *value)
{
    store(ret, field, json_integer_value(value));
}

static void put_flag(struct jr_buf *out, const struct field *field,
                     const struct jr_rank_outcome *rank)
{
    jr_json_put_bool(out, field->key, load(rank, field) != 0);
}

static void get_flag(struct jr_rank_outcome *ret, const struct field *field,
                     const json_t *value)
{
    store(ret, field, json_is_true(value));
}

static void put_exit_code(struct jr_buf *out, const struct field *field,
                          const struct jr_rank_outcome *rank)
{
    if (rank->end == JR_END_EXITED)
        jr_json_put_int(out, field->key, rank->exit_code);
    else
        put_null(out, field->key);
}

static void put_signal(struct jr_buf *out, const struct field *field,
                       const struct jr_rank_outcome *rank)
{
    char name[JR_SIGNAL_NAME];
    if (rank->end != JR_END_SIGNALED) {
        put_null(out, field->key);
        return;
    }
    jr_signal_name(name, rank->signal);
    jr_json_put_str(out, field->key, name);
}

static int signal_by(const json_t *name)
{
    return json_is_string(name) ? jr_signal_of(json_string_value(name)) : 0;
}

static void get_signal(struct jr_rank_outcome *ret, const struct field *field,
                       const json_t *value)
{
    store(ret, field, signal_by(value));
}

/* What jobrun sent it to end it, in that order. */
static void put_stops(struct jr_buf *out, const struct field *field,
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

static void get_stops(struct jr_rank_outcome *ret, const struct field *field,
                      const json_t *value)
{
    (void)field;
    ret->stopped_with = signal_by(json_array_get(value, 0));
    ret->killed = ret->stopped_with == SIGKILL ||
                  signal_by(json_array_get(value, 1)) == SIGKILL;
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define END(name, word)          word,
#define STAGE(name, word, text)  word,
#define INJECT(name, word, help) word,
static const char *const end_words[] = {JR_ENDS(END)};
static const char *const stage_words[] = {JR_STAGES(STAGE)};
static const char *const inject_words[] = {JR_INJECTS(INJECT)};

/* The index of a word of the shape; -1: it is none. */
static int32_t word_at(const struct jr_shape *shape, const json_t *value)
{
    const char *word = json_string_value(value);
    for (size_t i = 0; word != NULL && i < shape->words_count; i++)
        if (strcmp(shape->words[i], word) == 0)
            return (int32_t)i;
    return -1;
}

/* An enum whose value 0 is nothing: its shape has the words behind that. */
static void put_word(struct jr_buf *out, const struct field *field,
                     const struct jr_rank_outcome *rank)
{
    int64_t value = load(rank, field);
    if (value == 0)
        put_null(out, field->key);
    else
        jr_json_put_str(out, field->key, field->form->shape.words[value - 1]);
}

static void get_word(struct jr_rank_outcome *ret, const struct field *field,
                     const json_t *value)
{
    store(ret, field, word_at(&field->form->shape, value) + 1);
}

static void put_injected(struct jr_buf *out, const struct field *field,
                         const struct jr_rank_outcome *rank)
{
    jr_json_put_str(out, field->key,
                    rank->injected ? inject_words[rank->injection] : NULL);
}

static void get_injected(struct jr_rank_outcome *ret, const struct field *field,
                         const json_t *value)
{
    int32_t found = word_at(&field->form->shape, value);
    ret->injected = found >= 0;
    ret->injection = (enum jr_inject)(found >= 0 ? found : 0);
}

static bool has_lived(const struct jr_rank_outcome *rank)
{
    return rank->pid != 0 && rank->ended_ns >= rank->started_ns;
}

static void put_seconds(struct jr_buf *out, const struct field *field,
                        const struct jr_rank_outcome *rank)
{
    if (has_lived(rank))
        jr_json_put_decimal(out, field->key,
                            (rank->ended_ns - rank->started_ns) / US, 6);
    else
        put_null(out, field->key);
}

static void put_cpu(struct jr_buf *out, const struct field *field,
                    const struct jr_rank_outcome *rank)
{
    if (has_lived(rank))
        jr_json_put_decimal(out, field->key, rank->cpu_ns / US, 6);
    else
        put_null(out, field->key);
}

static void get_seconds(struct jr_rank_outcome *ret, const struct field *field,
                        const json_t *value)
{
    store(ret, field, (int64_t)jr_clock_ns_of(json_number_value(value)));
}

static void put_dropped(struct jr_buf *out, const struct field *field,
                        const struct jr_rank_outcome *rank)
{
    jr_json_key(out, field->key);
    jr_buf_char(out, '{');
    jr_json_put_int(out, "stdout", (json_int_t)rank->dropped[0]);
    jr_json_put_int(out, "stderr", (json_int_t)rank->dropped[1]);
    jr_buf_char(out, '}');
}

static void get_dropped(struct jr_rank_outcome *ret, const struct field *field,
                        const json_t *value)
{
    (void)field;
    ret->dropped[0] = (uint64_t)jr_json_get_int(value, "stdout");
    ret->dropped[1] = (uint64_t)jr_json_get_int(value, "stderr");
}

#define ONE_OF(array, skipped)                                                 \
    {                                                                          \
        .words = (array) + (skipped), .words_count = COUNT(array) - (skipped), \
        .null = true                                                           \
    }

static const struct form number = {
    put_number, get_number, {.text = JR_SHAPE_COUNT, .null = true}};
static const struct form flag = {put_flag, get_flag, {.text = JR_SHAPE_FLAG}};
static const struct form exit_code = {
    put_exit_code, get_number, {.text = JR_SHAPE_COUNT, .null = true}};
static const struct form signal_name = {
    put_signal, get_signal, {.text = JR_SHAPE_SIGNAL, .null = true}};
static const struct form stops = {
    put_stops,
    get_stops,
    {.text = "{\"type\": \"array\", \"items\": {\"type\": \"string\"}}"}};
static const struct form end_word = {put_word, get_word, ONE_OF(end_words, 1)};
static const struct form stage_word = {put_word, get_word,
                                       ONE_OF(stage_words, 1)};
static const struct form injected = {put_injected, get_injected,
                                     ONE_OF(inject_words, 0)};
static const struct form lived = {
    put_seconds, get_seconds, {.text = JR_SHAPE_SECONDS, .null = true}};
static const struct form cpu = {
    put_cpu, get_seconds, {.text = JR_SHAPE_SECONDS, .null = true}};
static const struct form dropped = {
    put_dropped,
    get_dropped,
    {.text = "{\"type\": \"object\", \"required\": [\"stdout\", \"stderr\"],"
             " \"properties\": {\"stdout\": " JR_SHAPE_COUNT
             ", \"stderr\": " JR_SHAPE_COUNT "}}"}};

/* An enum is an int here, and no value of these is negative. */
_Static_assert(sizeof(enum jr_end) == sizeof(int32_t) &&
                   sizeof(enum jr_stage) == sizeof(int32_t) &&
                   sizeof(enum jr_inject) == sizeof(int32_t) &&
                   sizeof(enum jr_timeout) == sizeof(int32_t),
               "enums are read and written as int32_t");

#define AT(member)  offsetof(struct jr_rank_outcome, member)
#define NOT_WRITTEN NULL, NULL, NULL

/* A member that results.json has beside another has its key there. */
static const struct field rank_fields[] = {
    {"pid", INT32, AT(pid), 0, "pid", &number, "null: it was never started."},
    {"end", INT32, AT(end), COUNT(end_words), "end", &end_word,
     "How it ended: it could not start (see stage and errno), it exited with a "
     "code, a signal killed it, or its node was lost. null: it was not "
     "started, or ended with its runner."},
    {"stage", INT32, AT(stage), COUNT(stage_words), "stage", &stage_word,
     "The step of its start that failed; null: it was started."},
    {"errno", INT32, AT(start_errno), 0, "errno", &number,
     "Why that step failed, by the numbers of the machine; null: it was not "
     "the system that refused."},
    {"code", INT32, AT(exit_code), 0, "exit_code", &exit_code, NULL},
    {"signal", INT32, AT(signal), 0, "signal", &signal_name,
     "The signal's name."},
    {"core", BOOL, AT(core_dumped), 0, "core_dumped", &flag, NULL},
    {"oom", BOOL, AT(oom), 0, "oom", &flag,
     "The kernel killed it because memory ran out."},
    {"stopped", INT32, AT(stopped_with), 0, "stop_signals", &stops,
     "What jobrun sent it to end it, in that order."},
    {"killed", BOOL, AT(killed), 0, NOT_WRITTEN},
    {"injected", BOOL, AT(injected), 0, "injected", &injected,
     "What --inject did to it; null: nothing."},
    {"injection", INT32, AT(injection), COUNT(inject_words), NOT_WRITTEN},
    {"injected_code", INT32, AT(injected_code), 0, NOT_WRITTEN},
    {"from", UINT64, AT(started_ns), 0, NOT_WRITTEN},
    {"to", UINT64, AT(ended_ns), 0, "seconds", &lived, "How long it lived."},
    {"rss", UINT64, AT(max_rss_bytes), 0, "max_rss_bytes", &number, NULL},
    {"cpu", UINT64, AT(cpu_ns), 0, "cpu_seconds", &cpu,
     "Processor time, user and system, of the rank and of what it waited "
     "for."},
    {"dropped_out", UINT64, AT(dropped[0]), 0, "dropped_bytes", &dropped,
     "What its logs lack because of log_limit."},
    {"dropped_err", UINT64, AT(dropped[1]), 0, NOT_WRITTEN},
    {"own_pid", INT32, AT(own_pid), 0, NOT_WRITTEN},
    {"returned", BOOL, AT(returned), 0, NOT_WRITTEN},
    {"returned_by", INT32, AT(returned_by), 0, NOT_WRITTEN},
    {"lingered", BOOL, AT(lingered), 0, NOT_WRITTEN},
    {"order", UINT32, AT(order), 0, NOT_WRITTEN},
    {"heard", UINT64, AT(heard_ns), 0, NOT_WRITTEN},
    {"log_failed", BOOL, AT(log_failed), 0, NOT_WRITTEN},
    {"log_errno", INT32, AT(log_errno), 0, NOT_WRITTEN},
};

#define RUN(member) offsetof(struct jr_outcome, member)

static const struct field run_fields[] = {
    {"from", UINT64, RUN(started_ns), 0, NOT_WRITTEN},
    {"to", UINT64, RUN(ended_ns), 0, NOT_WRITTEN},
    {"from_wall", UINT64, RUN(started_wall_ns), 0, NOT_WRITTEN},
    {"to_wall", UINT64, RUN(ended_wall_ns), 0, NOT_WRITTEN},
    {"timed_out_by", INT32, RUN(timed_out_by), JR_TIMEOUT_COUNT, NOT_WRITTEN},
    {"stop_signal", INT32, RUN(stop_signal), 0, NOT_WRITTEN},
    {"late_signal", INT32, RUN(late_signal), 0, NOT_WRITTEN},
    {"runner_signal", INT32, RUN(runner_signal), 0, NOT_WRITTEN},
    {"pattern_limits", UINT32, RUN(pattern_limits), 0, NOT_WRITTEN},
    {"left", UINT32, RUN(left), 0, NOT_WRITTEN},
};

void jr_outcome_put(struct jr_buf *out, const struct jr_rank_outcome *rank)
{
    for (size_t i = 0; i < COUNT(rank_fields); i++)
        if (rank_fields[i].key != NULL)
            rank_fields[i].form->put(out, &rank_fields[i], rank);
}

/* How a rank ended whose record has no word for it: builds before that word. */
static enum jr_end end_before(const struct jr_rank_outcome *rank,
                              const json_t *object)
{
    const char *state = jr_json_get_str(object, "state");
    state = state == NULL ? "" : state;
    if (json_is_integer(json_object_get(object, "exit_code")))
        return JR_END_EXITED;
    if (rank->signal != 0)
        return JR_END_SIGNALED;
    if (rank->pid == 0 && strcmp(state, "not_started") != 0)
        return JR_END_START;
    return strcmp(state, "failed") == 0 ||
                   strcmp(state, "after_first_failure") == 0
               ? JR_END_LOST
               : JR_END_NONE;
}

void jr_outcome_get(struct jr_rank_outcome *ret, const json_t *object)
{
    for (size_t i = 0; i < COUNT(rank_fields); i++) {
        const struct field *field = &rank_fields[i];
        if (field->key != NULL)
            field->form->get(ret, field, json_object_get(object, field->key));
    }
    if (json_object_get(object, "end") == NULL)
        ret->end = end_before(ret, object);
}

void jr_outcome_schema(json_t *properties, json_t *required)
{
    for (size_t i = 0; i < COUNT(rank_fields); i++) {
        const struct field *field = &rank_fields[i];
        if (field->key != NULL)
            jr_shape_add(properties, required, field->key,
                         jr_shape_schema(&field->form->shape, field->help));
    }
}

static json_t *pack(const struct field *fields, size_t count, const void *base)
{
    json_t *object = json_object();
    for (size_t i = 0; i < count; i++) {
        int64_t value = load(base, &fields[i]);
        if (value != 0)
            jr_json_set_int(object, fields[i].sent, value);
    }
    return object;
}

static int unpack(const struct field *fields, size_t count, void *base,
                  const json_t *object)
{
    for (size_t i = 0; i < count; i++) {
        int64_t value = jr_json_get_int(object, fields[i].sent);
        if (fields[i].limit > 0 && (value < 0 || value >= fields[i].limit))
            return -1;
        store(base, &fields[i], value);
    }
    return 0;
}

json_t *jr_outcome_pack_rank(const struct jr_rank_outcome *rank)
{
    return pack(rank_fields, COUNT(rank_fields), rank);
}

int jr_outcome_unpack_rank(struct jr_rank_outcome *ret, const json_t *object)
{
    return unpack(rank_fields, COUNT(rank_fields), ret, object);
}

json_t *jr_outcome_pack(const struct jr_outcome *outcome)
{
    return pack(run_fields, COUNT(run_fields), outcome);
}

int jr_outcome_unpack(struct jr_outcome *ret, const json_t *object)
{
    return unpack(run_fields, COUNT(run_fields), ret, object);
}
