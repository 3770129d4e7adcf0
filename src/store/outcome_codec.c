#include "store/outcome_codec.h"

#include <signal.h>
#include <string.h>

#include "base/json_row.h"
#include "base/names.h"

#include "base/banned.h"

_Static_assert(JR_PINNED_ARTIFACTS == 8, "each has a row");

/* An enum is an int here, and no value of these is negative. */
_Static_assert(sizeof(enum jr_end) == sizeof(int32_t) && sizeof(enum jr_stage) == sizeof(int32_t) &&
                   sizeof(enum jr_mpi_part) == sizeof(int32_t) &&
                   sizeof(enum jr_inject) == sizeof(int32_t) &&
                   sizeof(enum jr_timeout) == sizeof(int32_t),
               "enums are read and written as int32_t");

#define COUNT(array)             (sizeof(array) / sizeof *(array))
#define US                       UINT64_C(1000) /* in nanoseconds */
#define WORD(name, word)         word,
#define STAGE(name, word, text)  word,
#define INJECT(name, word, help) word,
static const char *const end_words[] = {JR_ENDS(WORD)};
static const char *const stage_words[] = {JR_STAGES(STAGE)};
static const char *const mpi_words[] = {JR_MPI_PARTS(WORD)};
static const char *const inject_words[] = {JR_INJECTS(INJECT)};
static const char *const timeout_words[] = {JR_TIMEOUTS(WORD)};

/* How results.json has what is not the value of one member. */

static void put_number_if(struct jr_buf *out, const char *key, bool told, int64_t value)
{
    if (told)
        jr_json_put_int(out, key, value);
    else
        jr_json_put_str(out, key, NULL);
}

static void put_exit_code(struct jr_buf *out, const struct jr_json_row *row,
                          const void *const *from)
{
    const struct jr_rank_outcome *rank = from[0];
    put_number_if(out, row->key, rank->end == JR_END_EXITED, rank->exit_code);
}

/* The code of MPI_Abort, which may be 0 and less. */
static void put_mpi_code(struct jr_buf *out, const struct jr_json_row *row, const void *const *from)
{
    const struct jr_rank_outcome *rank = from[0];
    put_number_if(out, row->key, rank->mpi == JR_MPI_PART_ABORTED, rank->mpi_code);
}

static void put_signal(struct jr_buf *out, const struct jr_json_row *row, const void *const *from)
{
    const struct jr_rank_outcome *rank = from[0];
    char name[JR_SIGNAL_NAME];
    jr_signal_name(name, rank->signal);
    jr_json_put_str(out, row->key, rank->end == JR_END_SIGNALED ? name : NULL);
}

/* What jobrun sent it to end it, in that order. */
static void put_stops(struct jr_buf *out, const struct jr_json_row *row, const void *const *from)
{
    const struct jr_rank_outcome *rank = from[0];
    char name[JR_SIGNAL_NAME];
    bool first = rank->stopped_with != 0;
    jr_json_key(out, row->key);
    jr_buf_char(out, '[');
    if (first) {
        jr_signal_name(name, rank->stopped_with);
        jr_json_quote(out, name);
    }
    if (rank->killed && rank->stopped_with != SIGKILL)
        jr_buf_str(out, first ? ", \"SIGKILL\"" : "\"SIGKILL\"");
    jr_buf_char(out, ']');
}

static int signal_of_name(const json_t *name)
{
    return json_is_string(name) ? jr_signal_of(json_string_value(name)) : 0;
}

static void get_stops(void *const *to, const struct jr_json_row *row, const json_t *value)
{
    struct jr_rank_outcome *rank = to[0];
    (void)row;
    rank->stopped_with = signal_of_name(json_array_get(value, 0));
    rank->killed =
        rank->stopped_with == SIGKILL || signal_of_name(json_array_get(value, 1)) == SIGKILL;
}

static void put_injected(struct jr_buf *out, const struct jr_json_row *row, const void *const *from)
{
    const struct jr_rank_outcome *rank = from[0];
    jr_json_put_str(out, row->key, rank->injected ? inject_words[rank->injection] : NULL);
}

static void get_injected(void *const *to, const struct jr_json_row *row, const json_t *value)
{
    struct jr_rank_outcome *rank = to[0];
    const char *word = json_string_value(value);
    (void)row;
    for (size_t i = 0; word != NULL && i < COUNT(inject_words); i++)
        if (strcmp(inject_words[i], word) == 0) {
            rank->injected = true;
            rank->injection = (enum jr_inject)i;
        }
}

/* A time of a rank that has lived, in microseconds. */
static void put_span(struct jr_buf *out, const char *key, const struct jr_rank_outcome *rank,
                     uint64_t us)
{
    if (rank->pid != 0 && rank->ended_ns >= rank->started_ns)
        jr_json_put_decimal(out, key, us, 6);
    else
        jr_json_put_str(out, key, NULL);
}

static void put_lifetime(struct jr_buf *out, const struct jr_json_row *row, const void *const *from)
{
    const struct jr_rank_outcome *rank = from[0];
    put_span(out, row->key, rank, (rank->ended_ns - rank->started_ns) / US);
}

static void put_cpu(struct jr_buf *out, const struct jr_json_row *row, const void *const *from)
{
    const struct jr_rank_outcome *rank = from[0];
    put_span(out, row->key, rank, rank->cpu_ns / US);
}

/* One row of the message is one of the two numbers. */
static const struct jr_json_row dropped_rows[] = {
    {"stdout", NULL, JR_AT(struct jr_rank_outcome, U64, dropped[0])},
    {"stderr", NULL, JR_AT(struct jr_rank_outcome, U64, dropped[1])},
};

static void put_dropped(struct jr_buf *out, const struct jr_json_row *row, const void *const *from)
{
    jr_json_key(out, row->key);
    jr_buf_char(out, '{');
    jr_json_rows_put(out, dropped_rows, COUNT(dropped_rows), from);
    jr_buf_char(out, '}');
}

static void get_dropped(void *const *to, const struct jr_json_row *row, const json_t *value)
{
    (void)row;
    jr_json_rows_get(dropped_rows, COUNT(dropped_rows), to, NULL, value);
}

/* A member as a node sends it, and as results.json has it. */
struct field {
    const char *sent;       /* its key in the message */
    struct jr_json_row row; /* without a key: results.json does not have it */
};

#define RANK(kind, member) JR_AT(struct jr_rank_outcome, kind, member)
#define RUN(kind, member)  JR_AT(struct jr_outcome, kind, member)

static const struct field rank_fields[] = {
    {"pid", {"pid", "null: it was never started.", RANK(I32, pid), .none = JR_NONE_ZERO}},
    {"end",
     {"end",
      "How it ended: it could not start (see stage and errno), it exited with a code, a signal "
      "killed it, or its node was lost. null: it was not started, or ended with its runner.",
      RANK(WORD, end), .none = JR_NONE_ZERO, JR_WORDS_AFTER_0(end_words)}},
    {"stage",
     {"stage", "The step of its start that failed; null: it was started.", RANK(WORD, stage),
      .none = JR_NONE_ZERO, JR_WORDS_AFTER_0(stage_words)}},
    {"errno",
     {"errno",
      "The errno of that step, as numbered on the machine; null: the error did "
      "not come from the system.",
      RANK(I32, start_errno), .none = JR_NONE_ZERO}},
    {"code", {"exit_code", NULL, RANK(I32, exit_code), .put = put_exit_code, .shape.null = true}},
    {"signal",
     {"signal", "The signal's name.", RANK(SIGNAL, signal), .put = put_signal, .shape.null = true}},
    {"core", {"core_dumped", NULL, RANK(FLAG, core_dumped)}},
    {"oom", {"oom", "The kernel killed it because memory ran out.", RANK(FLAG, oom)}},
    {"stopped",
     {"stop_signals", "The signals that jobrun sent to end it, in that order.",
      RANK(I32, stopped_with), .put = put_stops, .get = get_stops, .shape.text = JR_SHAPE_TEXTS}},
    {"warned",
     {"deadline_signal", "The signal of `deadline` that it was sent; null: none.",
      RANK(SIGNAL, warned_with), .none = JR_NONE_ZERO}},
    {"killed", {RANK(FLAG, killed)}},
    {"injected",
     {"injected", "The failure that --inject caused; null: none.", RANK(FLAG, injected),
      .put = put_injected, .get = get_injected, JR_WORDS(inject_words), .shape.null = true}},
    {"injection", {RANK(WORD, injection), JR_WORDS(inject_words)}},
    {"injected_code", {RANK(I32, injected_code)}},
    {"from", {RANK(U64, started_ns)}},
    {"to",
     {"seconds", "How long it ran.", RANK(SPAN, ended_ns), .put = put_lifetime,
      .shape.null = true}},
    {"rss", {"max_rss_bytes", NULL, RANK(U64, max_rss_bytes), .none = JR_NONE_ZERO}},
    {"cpu",
     {"cpu_seconds",
      "Processor time, user and system, of the rank and of the child processes that it waited for.",
      RANK(SPAN, cpu_ns), .put = put_cpu, .shape.null = true}},
    {"dropped_out",
     {"dropped_bytes", "How many bytes its logs lack because of log_limit.", RANK(U64, dropped[0]),
      .put = put_dropped, .get = get_dropped, JR_ROWS(dropped_rows)}},
    {"dropped_err", {RANK(U64, dropped[1])}},
    {"silent_out",
     {"stdout_silent",
      "Whether it wrote nothing to a stream that was to have a log: there is none.",
      RANK(FLAG, silent[0])}},
    {"silent_err", {"stderr_silent", NULL, RANK(FLAG, silent[1])}},
    {"left_running",
     {"processes_ended",
      "How many processes it left running when it ended by itself: jobrun "
      "ended them with the run. null: none.",
      RANK(U32, left_running), .none = JR_NONE_ZERO}},
    {"own_pid", {RANK(I32, own_pid)}},
    {"returned", {RANK(FLAG, returned)}},
    {"returned_by", {RANK(I32, returned_by)}},
    {"pinned", {RANK(FLAG, pinned)}},
    {"pin_there", {RANK(FLAG, result.there)}},
    {"pin_dev", {RANK(U64, result.dev)}},
    {"pin_ino", {RANK(U64, result.ino)}},
    {"pin_size", {RANK(U64, result.size)}},
    {"pin_mtime", {RANK(U64, result.mtime_ns)}},
    {"pin_ctime", {RANK(U64, result.ctime_ns)}},
    {"pin_digest", {RANK(U64, result.digest)}},
    {"artifact_0", {RANK(U64, artifacts[0])}},
    {"artifact_1", {RANK(U64, artifacts[1])}},
    {"artifact_2", {RANK(U64, artifacts[2])}},
    {"artifact_3", {RANK(U64, artifacts[3])}},
    {"artifact_4", {RANK(U64, artifacts[4])}},
    {"artifact_5", {RANK(U64, artifacts[5])}},
    {"artifact_6", {RANK(U64, artifacts[6])}},
    {"artifact_7", {RANK(U64, artifacts[7])}},
    {"captured", {RANK(U64, captured)}},
    {"job_pinned", {RANK(FLAG, job_pinned)}},
    {"far", {RANK(FLAG, far)}},
    {"lingered", {RANK(FLAG, lingered)}},
    {"order", {RANK(U32, order)}},
    {"alive", {RANK(U64, alive_ns)}},
    {"exiting", {RANK(U64, exiting_ns)}},
    {"line", {RANK(U64, line_ns)}},
    {"told", {RANK(U64, told_ns)}},
    {"told_code",
     {"exiting_with",
      "The non-zero code that it announced before it exited; null: it announced none.",
      RANK(I32, told_code), .none = JR_NONE_ZERO}},
    {"leaving", {RANK(U64, leaving_ns)}},
    {"mpi",
     {"mpi",
      "What it did in the MPI world that jobrun served: it did not call MPI_Init, and neither did "
      "others (absent), or others did (left); it called MPI_Init, and then MPI_Finalize; it "
      "called MPI_Abort; or it broke the protocol. null: jobrun served none.",
      RANK(WORD, mpi), .none = JR_NONE_ZERO, JR_WORDS_AFTER_0(mpi_words)}},
    {"mpi_code",
     {"mpi_abort_code", "The code that it gave to MPI_Abort; null: it did not call it.",
      RANK(I32, mpi_code), .put = put_mpi_code, .shape.text = "{\"type\": \"integer\"}",
      .shape.null = true}},
    {"mpi_spawned", {RANK(FLAG, mpi_spawned)}},
    {"lost_peer", {RANK(FLAG, lost_peer)}},
    {"words", {RANK(U32, words)}},
    {"heard", {RANK(U64, heard_ns)}},
    {"log_errno",
     {"log_errno",
      "The errno for which a log of it is incomplete, as numbered on the "
      "machine; null: its logs are complete.",
      RANK(I32, log_errno), .none = JR_NONE_ZERO}},
};

static const struct field run_fields[] = {
    {"from", {RUN(U64, started_ns)}},
    {"to", {RUN(U64, ended_ns)}},
    {"from_wall", {RUN(U64, started_wall_ns)}},
    {"to_wall", {RUN(U64, ended_wall_ns)}},
    {"timed_out_by", {RUN(WORD, timed_out_by), JR_WORDS(timeout_words)}},
    {"preempted", {RUN(FLAG, preempted)}},
    {"stop_signal", {RUN(I32, stop_signal)}},
    {"late_signal", {RUN(I32, late_signal)}},
    {"runner_signal", {RUN(I32, runner_signal)}},
    {"pattern_limits", {RUN(U32, pattern_limits)}},
    {"left", {RUN(U32, left)}},
};

void jr_outcome_put(struct jr_buf *out, const struct jr_rank_outcome *rank)
{
    for (size_t i = 0; i < COUNT(rank_fields); i++)
        jr_json_rows_put(out, &rank_fields[i].row, 1, (const void *[]){rank});
}

/* How a rank ended whose record has no word for it: builds before that word. */
static enum jr_end guess_earlier_end(const struct jr_rank_outcome *rank, const json_t *object)
{
    const char *state = jr_json_get_str(object, "state");
    state = state == NULL ? "" : state;
    if (json_is_integer(json_object_get(object, "exit_code")))
        return JR_END_EXITED;
    if (rank->signal != 0)
        return JR_END_SIGNALED;
    if (rank->pid == 0 && strcmp(state, "not_started") != 0)
        return JR_END_START;
    return strcmp(state, "failed") == 0 || strcmp(state, "after_first_failure") == 0 ? JR_END_LOST
                                                                                     : JR_END_NONE;
}

void jr_outcome_get(struct jr_rank_outcome *ret, const json_t *object)
{
    for (size_t i = 0; i < COUNT(rank_fields); i++)
        jr_json_rows_get(&rank_fields[i].row, 1, (void *[]){ret}, NULL, object);
    if (json_object_get(object, "end") == NULL)
        ret->end = guess_earlier_end(ret, object);
}

void jr_outcome_schema(json_t *properties, json_t *required)
{
    for (size_t i = 0; i < COUNT(rank_fields); i++)
        jr_json_rows_schema(&rank_fields[i].row, 1, properties, required);
}

static json_t *pack_fields(const struct field *fields, size_t count, const void *base)
{
    json_t *object = json_object();
    for (size_t i = 0; i < count; i++) {
        int64_t value = jr_json_row_load(&fields[i].row, base);
        if (value != 0)
            jr_json_set_int(object, fields[i].sent, value);
    }
    return object;
}

/* -1 where a value is none of its enum. */
static int unpack_fields(const struct field *fields, size_t count, void *base, const json_t *object)
{
    for (size_t i = 0; i < count; i++) {
        const struct jr_json_row *row = &fields[i].row;
        int64_t value = jr_json_get_int(object, fields[i].sent);
        if (row->kind == JR_ROW_WORD &&
            (value < 0 || value >= row->first + (int64_t)row->shape.words_count))
            return -1;
        jr_json_row_store(row, base, value);
    }
    return 0;
}

json_t *jr_outcome_pack_rank(const struct jr_rank_outcome *rank)
{
    return pack_fields(rank_fields, COUNT(rank_fields), rank);
}

int jr_outcome_unpack_rank(struct jr_rank_outcome *ret, const json_t *object)
{
    return unpack_fields(rank_fields, COUNT(rank_fields), ret, object);
}

json_t *jr_outcome_pack(const struct jr_outcome *outcome)
{
    return pack_fields(run_fields, COUNT(run_fields), outcome);
}

int jr_outcome_unpack(struct jr_outcome *ret, const json_t *object)
{
    return unpack_fields(run_fields, COUNT(run_fields), ret, object);
}
