#include "store/outcome_codec.h"

#include <string.h>

#include "base/json_shape.h"
#include "store/outcome_forms.h"

#include "base/banned.h"

_Static_assert(JR_PINNED_ARTIFACTS == 8, "each has a row");

/* An enum is an int here, and no value of these is negative. */
_Static_assert(sizeof(enum jr_end) == sizeof(int32_t) && sizeof(enum jr_stage) == sizeof(int32_t) &&
                   sizeof(enum jr_mpi_part) == sizeof(int32_t) &&
                   sizeof(enum jr_inject) == sizeof(int32_t) &&
                   sizeof(enum jr_timeout) == sizeof(int32_t),
               "enums are read and written as int32_t");

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define ONE(...)     +1
#define ENDS         (0 JR_ENDS(ONE))
#define STAGES       (0 JR_STAGES(ONE))
#define INJECTS      (0 JR_INJECTS(ONE))
#define TIMEOUTS     (0 JR_TIMEOUTS(ONE))
#define MPI_PARTS    (0 JR_MPI_PARTS(ONE))

#define RANK(kind, member) JR_OUTCOME_##kind, offsetof(struct jr_rank_outcome, member)
#define INT32(member)      RANK(INT32, member)
#define UINT32(member)     RANK(UINT32, member)
#define UINT64(member)     RANK(UINT64, member)
#define BOOL(member)       RANK(BOOL, member)
#define NOT_WRITTEN        NULL, NULL, NULL

/* A member that results.json has beside another has its key there. */
static const struct jr_outcome_field rank_fields[] = {
    {"pid", INT32(pid), 0, "pid", &jr_form_number, "null: it was never started."},
    {"end", INT32(end), ENDS, "end", &jr_form_end_word,
     "How it ended: it could not start (see stage and errno), it exited with a code, a signal "
     "killed it, or its node was lost. null: it was not started, or ended with its runner."},
    {"stage", INT32(stage), STAGES, "stage", &jr_form_stage_word,
     "The step of its start that failed; null: it was started."},
    {"errno", INT32(start_errno), 0, "errno", &jr_form_number,
     "The errno of that step, as numbered on the machine; null: the error did "
     "not come from the system."},
    {"code", INT32(exit_code), 0, "exit_code", &jr_form_exit_code, NULL},
    {"signal", INT32(signal), 0, "signal", &jr_form_signal_name, "The signal's name."},
    {"core", BOOL(core_dumped), 0, "core_dumped", &jr_form_flag, NULL},
    {"oom", BOOL(oom), 0, "oom", &jr_form_flag, "The kernel killed it because memory ran out."},
    {"stopped", INT32(stopped_with), 0, "stop_signals", &jr_form_stops,
     "The signals that jobrun sent to end it, in that order."},
    {"warned", INT32(warned_with), 0, "deadline_signal", &jr_form_warning,
     "The signal of `deadline` that it was sent; null: none."},
    {"killed", BOOL(killed), 0, NOT_WRITTEN},
    {"injected", BOOL(injected), 0, "injected", &jr_form_injected,
     "The failure that --inject caused; null: none."},
    {"injection", INT32(injection), INJECTS, NOT_WRITTEN},
    {"injected_code", INT32(injected_code), 0, NOT_WRITTEN},
    {"from", UINT64(started_ns), 0, NOT_WRITTEN},
    {"to", UINT64(ended_ns), 0, "seconds", &jr_form_lived, "How long it ran."},
    {"rss", UINT64(max_rss_bytes), 0, "max_rss_bytes", &jr_form_number, NULL},
    {"cpu", UINT64(cpu_ns), 0, "cpu_seconds", &jr_form_cpu,
     "Processor time, user and system, of the rank and of the child processes that it waited for."},
    {"dropped_out", UINT64(dropped[0]), 0, "dropped_bytes", &jr_form_dropped,
     "How many bytes its logs lack because of log_limit."},
    {"dropped_err", UINT64(dropped[1]), 0, NOT_WRITTEN},
    {"silent_out", BOOL(silent[0]), 0, "stdout_silent", &jr_form_flag,
     "Whether it wrote nothing to a stream that was to have a log: there is none."},
    {"silent_err", BOOL(silent[1]), 0, "stderr_silent", &jr_form_flag, NULL},
    {"left_running", UINT32(left_running), 0, "processes_ended", &jr_form_number,
     "How many processes it left running when it ended by itself: jobrun "
     "ended them with the run. null: none."},
    {"own_pid", INT32(own_pid), 0, NOT_WRITTEN},
    {"returned", BOOL(returned), 0, NOT_WRITTEN},
    {"returned_by", INT32(returned_by), 0, NOT_WRITTEN},
    {"pinned", BOOL(pinned), 0, NOT_WRITTEN},
    {"pin_there", BOOL(result.there), 0, NOT_WRITTEN},
    {"pin_dev", UINT64(result.dev), 0, NOT_WRITTEN},
    {"pin_ino", UINT64(result.ino), 0, NOT_WRITTEN},
    {"pin_size", UINT64(result.size), 0, NOT_WRITTEN},
    {"pin_mtime", UINT64(result.mtime_ns), 0, NOT_WRITTEN},
    {"pin_ctime", UINT64(result.ctime_ns), 0, NOT_WRITTEN},
    {"pin_digest", UINT64(result.digest), 0, NOT_WRITTEN},
    {"artifact_0", UINT64(artifacts[0]), 0, NOT_WRITTEN},
    {"artifact_1", UINT64(artifacts[1]), 0, NOT_WRITTEN},
    {"artifact_2", UINT64(artifacts[2]), 0, NOT_WRITTEN},
    {"artifact_3", UINT64(artifacts[3]), 0, NOT_WRITTEN},
    {"artifact_4", UINT64(artifacts[4]), 0, NOT_WRITTEN},
    {"artifact_5", UINT64(artifacts[5]), 0, NOT_WRITTEN},
    {"artifact_6", UINT64(artifacts[6]), 0, NOT_WRITTEN},
    {"artifact_7", UINT64(artifacts[7]), 0, NOT_WRITTEN},
    {"captured", UINT64(captured), 0, NOT_WRITTEN},
    {"job_pinned", BOOL(job_pinned), 0, NOT_WRITTEN},
    {"far", BOOL(far), 0, NOT_WRITTEN},
    {"lingered", BOOL(lingered), 0, NOT_WRITTEN},
    {"order", UINT32(order), 0, NOT_WRITTEN},
    {"alive", UINT64(alive_ns), 0, NOT_WRITTEN},
    {"exiting", UINT64(exiting_ns), 0, NOT_WRITTEN},
    {"line", UINT64(line_ns), 0, NOT_WRITTEN},
    {"told", UINT64(told_ns), 0, NOT_WRITTEN},
    {"told_code", INT32(told_code), 0, "exiting_with", &jr_form_number,
     "The non-zero code that it announced before it exited; null: it announced none."},
    {"leaving", UINT64(leaving_ns), 0, NOT_WRITTEN},
    {"mpi", INT32(mpi), MPI_PARTS, "mpi", &jr_form_mpi_word,
     "What it did in the MPI world that jobrun served: it did not call MPI_Init, and neither did "
     "others (absent), or others did (left); it called MPI_Init, and then MPI_Finalize; it "
     "called MPI_Abort; or it broke the protocol. null: jobrun served none."},
    {"mpi_code", INT32(mpi_code), 0, "mpi_abort_code", &jr_form_mpi_code,
     "The code that it gave to MPI_Abort; null: it did not call it."},
    {"mpi_spawned", BOOL(mpi_spawned), 0, NOT_WRITTEN},
    {"lost_peer", BOOL(lost_peer), 0, NOT_WRITTEN},
    {"words", UINT32(words), 0, NOT_WRITTEN},
    {"heard", UINT64(heard_ns), 0, NOT_WRITTEN},
    {"log_errno", INT32(log_errno), 0, "log_errno", &jr_form_number,
     "The errno for which a log of it is incomplete, as numbered on the "
     "machine; null: its logs are complete."},
};

#define RUN(kind, member) JR_OUTCOME_##kind, offsetof(struct jr_outcome, member)

static const struct jr_outcome_field run_fields[] = {
    {"from", RUN(UINT64, started_ns), 0, NOT_WRITTEN},
    {"to", RUN(UINT64, ended_ns), 0, NOT_WRITTEN},
    {"from_wall", RUN(UINT64, started_wall_ns), 0, NOT_WRITTEN},
    {"to_wall", RUN(UINT64, ended_wall_ns), 0, NOT_WRITTEN},
    {"timed_out_by", RUN(INT32, timed_out_by), TIMEOUTS, NOT_WRITTEN},
    {"preempted", RUN(BOOL, preempted), 0, NOT_WRITTEN},
    {"stop_signal", RUN(INT32, stop_signal), 0, NOT_WRITTEN},
    {"late_signal", RUN(INT32, late_signal), 0, NOT_WRITTEN},
    {"runner_signal", RUN(INT32, runner_signal), 0, NOT_WRITTEN},
    {"pattern_limits", RUN(UINT32, pattern_limits), 0, NOT_WRITTEN},
    {"left", RUN(UINT32, left), 0, NOT_WRITTEN},
};

void jr_outcome_put(struct jr_buf *out, const struct jr_rank_outcome *rank)
{
    for (size_t i = 0; i < COUNT(rank_fields); i++)
        if (rank_fields[i].key != NULL)
            rank_fields[i].form->put(out, &rank_fields[i], rank);
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
    for (size_t i = 0; i < COUNT(rank_fields); i++) {
        const struct jr_outcome_field *field = &rank_fields[i];
        if (field->key != NULL)
            field->form->get(ret, field, json_object_get(object, field->key));
    }
    if (json_object_get(object, "end") == NULL)
        ret->end = guess_earlier_end(ret, object);
}

void jr_outcome_schema(json_t *properties, json_t *required)
{
    for (size_t i = 0; i < COUNT(rank_fields); i++) {
        const struct jr_outcome_field *field = &rank_fields[i];
        if (field->key != NULL)
            jr_json_shape_add(properties, required, field->key,
                              jr_json_shape_schema(&field->form->shape, field->help));
    }
}

static json_t *pack_fields(const struct jr_outcome_field *fields, size_t count, const void *base)
{
    json_t *object = json_object();
    for (size_t i = 0; i < count; i++) {
        int64_t value = jr_outcome_load(base, &fields[i]);
        if (value != 0)
            jr_json_set_int(object, fields[i].sent, value);
    }
    return object;
}

static int unpack_fields(const struct jr_outcome_field *fields, size_t count, void *base,
                         const json_t *object)
{
    for (size_t i = 0; i < count; i++) {
        int64_t value = jr_json_get_int(object, fields[i].sent);
        if (fields[i].limit != 0 && (value < 0 || value >= fields[i].limit))
            return -1;
        jr_outcome_store(base, &fields[i], value);
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
