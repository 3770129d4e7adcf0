#include "past.h"

#include <signal.h>
#include <string.h>

#include "clock.h"
#include "earlier.h"
#include "exception.h"
#include "folder.h"
#include "hang_report.h"
#include "signame.h"
#include "strv.h"
#include "words.h"

#include "banned.h"

/* No run has more ranks, so none has more nodes or a longer axis. */
enum { MOST_RANKS = 1 << 20, EXIT_CODES = 256 };

/* A number below `end`; 0 when it is none. What is counted up to, or used as an
 * index, comes from here: a file may say anything. */
static uint32_t below_of(const json_t *object, const char *key, uint32_t end)
{
    uint32_t value = jr_json_get_u32(object, key);
    return value < end ? value : 0;
}

static uint64_t ns_of(const json_t *object, const char *key)
{
    return jr_clock_ns_of(jr_json_get_real(object, key));
}

static int signal_by(const json_t *name)
{
    return json_is_string(name) ? jr_signal_of(json_string_value(name)) : 0;
}

static int signal_of(const json_t *object, const char *key)
{
    return signal_by(json_object_get(object, key));
}

static void load_place(struct jr_plan *plan, struct jr_plan_rank *rank,
                       const json_t *line)
{
    rank->rank = jr_json_get_u32(line, "rank");
    rank->local_rank = jr_json_get_u32(line, "local_rank");
    rank->node_rank = below_of(line, "node_rank", MOST_RANKS);
    rank->device = jr_json_get_str(line, "device");
    rank->out_path = jr_json_get_str(line, "stdout");
    rank->err_path = jr_json_get_str(line, "stderr");
    rank->error_path = jr_json_get_str(line, "error_file");
    const json_t *at = json_object_get(line, "coordinates");
    for (int axis = 0; axis < JR_AXIS_COUNT; axis++) {
        rank->at[axis] = below_of(at, jr_words_axis(axis), MOST_RANKS);
        if (rank->at[axis] >= plan->axis_size[axis])
            plan->axis_size[axis] = rank->at[axis] + 1;
    }
    if (rank->node_rank >= plan->nodes)
        plan->nodes = rank->node_rank + 1;
}

static void load_end(struct jr_rank_outcome *rank, const json_t *line,
                     enum jr_rank_state state)
{
    const json_t *code = json_object_get(line, "exit_code");
    rank->pid = (int32_t)jr_json_get_u32(line, "pid");
    rank->signal = signal_of(line, "signal");
    rank->core_dumped = jr_json_get_bool(line, "core_dumped");
    rank->ended_ns = ns_of(line, "seconds");
    rank->max_rss_bytes = (uint64_t)jr_json_get_int(line, "max_rss_bytes");
    const json_t *dropped = json_object_get(line, "dropped_bytes");
    rank->dropped[0] = (uint64_t)jr_json_get_int(dropped, "stdout");
    rank->dropped[1] = (uint64_t)jr_json_get_int(dropped, "stderr");
    if (json_is_integer(code)) {
        rank->end = JR_END_EXITED;
        rank->exit_code = (int32_t)json_integer_value(code);
    } else if (rank->signal != 0) {
        rank->end = JR_END_SIGNALED;
    } else if (state != JR_RANK_NOT_STARTED && rank->pid == 0) {
        rank->end = JR_END_START;
    } else if (state == JR_RANK_FAILED ||
               state == JR_RANK_AFTER_FIRST_FAILURE) {
        rank->end = JR_END_LOST;
    }
    rank->cpu_ns = ns_of(line, "cpu_seconds");
    const json_t *sent = json_object_get(line, "stop_signals");
    rank->stopped_with = signal_by(json_array_get(sent, 0));
    rank->injected = jr_json_get_str(line, "injected") != NULL;
    rank->killed = rank->stopped_with == SIGKILL ||
                   signal_by(json_array_get(sent, 1)) == SIGKILL;
}

static void load_verdict(struct jr_rank_report *rank, const json_t *line)
{
    const char *error = jr_json_get_str(line, "result_error");
    const char *state = jr_json_get_str(line, "state");
    json_t *result = json_object_get(line, "result");
    if (state != NULL)
        (void)jr_rank_state_of(state, &rank->state);
    if (error != NULL && jr_result_error_of(error, &rank->result_error))
        rank->reason = jr_json_get_str(line, "error");
    else
        rank->error = jr_json_get_str(line, "error");
    rank->differs = jr_json_get_bool(line, "differs");
    rank->error_file = jr_json_get_str(line, "error_file") != NULL;
    if (!json_is_null(result))
        rank->result = json_incref(result);
}

static void load_rank(struct jr_past *past, size_t i, const json_t *line)
{
    struct jr_plan_rank *place = &past->plan.ranks[i];
    struct jr_rank_report *verdict = &past->report.ranks[i];
    load_verdict(verdict, line);
    load_place(&past->plan, place, line);
    load_end(&past->outcome.ranks[i], line, verdict->state);
    place->dir = jr_json_get_str(line, "folder");
    if (place->dir == NULL)
        place->dir = jr_arena_printf(&past->arena, "attempt_%u/%u",
                                     jr_json_get_u32(past->json, "attempt"),
                                     place->rank);
}

static void load_exception(struct jr_past *past, size_t i, int fd)
{
    struct jr_exception exception = {0};
    if (past->report.ranks[i].error_file &&
        jr_exception_read(&exception, &past->arena, fd,
                          past->plan.ranks[i].error_path) ==
            JR_EXCEPTION_READ) {
        past->report.ranks[i].where = exception.where;
        past->report.ranks[i].behind = exception.behind;
        past->report.ranks[i].unstarted =
            jr_exception_is_start(&exception, &past->outcome.ranks[i]);
    }
}

static void add_cause(struct jr_past *past, const json_t *rank, int fd)
{
    for (uint32_t i = 0; json_is_integer(rank) && i < past->plan.count; i++) {
        if (past->plan.ranks[i].rank != json_integer_value(rank))
            continue;
        past->report.causes[past->report.causes_count++] = i;
        load_exception(past, i, fd);
        return;
    }
}

/* The root cause; that of an incomplete run is in the ranks' own words. */
static void load_causes(struct jr_past *past, int fd)
{
    const json_t *cause = json_object_get(past->json, "root_cause");
    const json_t *together = json_object_get(cause, "together");
    const char *kind = jr_json_get_str(cause, "kind");
    if (kind != NULL && strcmp(kind, "result") == 0 &&
        json_is_null(json_object_get(cause, "rank")))
        past->report.error = jr_json_get_str(cause, "message");
    if (kind == NULL || strcmp(kind, "result") == 0 ||
        strcmp(kind, "hang") == 0 || strcmp(kind, "timeout") == 0)
        return;
    add_cause(past, json_object_get(cause, "rank"), fd);
    if (past->report.causes_count > 0 && strcmp(kind, "oom") == 0)
        past->outcome.ranks[past->report.causes[0]].oom = true;
    for (size_t n = 0; n < json_array_size(together) &&
                       past->report.causes_count < past->plan.count;
         n++)
        add_cause(past, json_array_get(together, n), fd);
    if (past->report.causes_count > 0 ||
        past->report.status != JR_RUN_LAUNCH_FAILED)
        return;
    past->outcome.runner_signal = signal_of(cause, "signal");
    if (past->outcome.runner_signal == 0)
        past->report.error = jr_json_get_str(cause, "message");
}

static void load_run(struct jr_past *past)
{
    const json_t *json = past->json;
    struct jr_outcome *outcome = &past->outcome;
    struct jr_report *report = &past->report;
    const char *status = jr_json_get_str(json, "status");
    if (status != NULL)
        (void)jr_run_status_of(status, &report->status);
    report->exit_code = (int)below_of(json, "exit_code", EXIT_CODES);
    past->plan.inject = jr_json_get_str(json, "inject");
    past->plan.name = jr_json_get_str(json, "name");
    past->plan.run_id = jr_json_get_str(json, "run_id");
    past->plan.fingerprint = jr_json_get_str(json, "fingerprint");
    past->plan.world_size = jr_json_get_u32(json, "world_size");
    outcome->started_wall_ns = ns_of(json, "started");
    outcome->ended_wall_ns = ns_of(json, "finished");
    outcome->ended_ns = ns_of(json, "seconds");
    outcome->left = jr_json_get_u32(json, "processes_left");
    jr_earlier_load(report, &past->arena, json_object_get(json, "attempts"));
    report->idle = jr_json_get_u32(json, "failed_alike");
    report->not_again = jr_json_get_str(json, "not_restarted");
    outcome->timed_out = report->status == JR_RUN_TIMED_OUT;
    outcome->hung = report->status == JR_RUN_HUNG;
    if (report->status == JR_RUN_STOPPED)
        outcome->stop_signal = report->exit_code - 128;
}

static char **names_of(struct jr_arena *arena, const json_t *list,
                       uint32_t *ret_count)
{
    struct jr_strv names = {0};
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (name != NULL)
            jr_strv_push(&names, arena, jr_arena_strdup(arena, name));
    }
    *ret_count = (uint32_t)names.count;
    return names.items;
}

/* What was compared, and what reasons call the place where it was found: a
 * path whose last component that is. */
static void load_compared(struct jr_past *past)
{
    const json_t *compared = json_object_get(past->json, "compared");
    const char *source = jr_json_get_str(compared, "source");
    struct jr_results *wants = &past->policy.results;
    wants->stated = compared != NULL && !json_is_null(compared);
    wants->equal = names_of(&past->arena, json_object_get(compared, "equal"),
                            &wants->equal_count);
    wants->distinct =
        names_of(&past->arena, json_object_get(compared, "distinct"),
                 &wants->distinct_count);
    for (uint32_t i = 0; i < past->plan.count; i++)
        past->plan.ranks[i].result_path = source;
}

static void load_hosts(struct jr_past *past, const json_t *ranks)
{
    char **hosts =
        jr_arena_array(&past->arena, past->plan.nodes, sizeof *hosts);
    for (size_t i = 0; hosts != NULL && i < past->plan.count; i++)
        hosts[past->plan.ranks[i].node_rank] = jr_arena_strdup(
            &past->arena, jr_json_get_str(json_array_get(ranks, i), "host"));
    past->plan.hosts = hosts;
}

/* Room for the ranks in all three values. */
static bool make_room(struct jr_past *past, size_t count)
{
    struct jr_arena *arena = &past->arena;
    past->plan.count = (uint32_t)count;
    past->outcome.count = (uint32_t)count;
    past->report.count = count;
    past->plan.policy = &past->policy;
    past->plan.ranks = jr_arena_array(arena, count, sizeof *past->plan.ranks);
    past->outcome.ranks =
        jr_arena_array(arena, count, sizeof *past->outcome.ranks);
    past->report.causes =
        jr_arena_array(arena, count, sizeof *past->report.causes);
    past->report.ranks =
        jr_arena_array(arena, count, sizeof *past->report.ranks);
    return !arena->failed;
}

/* What the ranks of a run that met a timeout were doing. */
static void load_hang(struct jr_past *past, int fd)
{
    const json_t *cause = json_object_get(past->json, "root_cause");
    const char *kind = jr_json_get_str(cause, "kind");
    const char *message = jr_json_get_str(cause, "message");
    struct jr_judge judge = {.report = &past->report,
                             .plan = &past->plan,
                             .outcome = &past->outcome,
                             .run_fd = fd};
    bool timed = past->outcome.timed_out || past->outcome.hung;
    if (timed && kind != NULL && message != NULL &&
        (strcmp(kind, "timeout") == 0 || strcmp(kind, "hang") == 0)) {
        past->report.overrun =
            jr_arena_strndup(&past->arena, message, strcspn(message, ";"));
        past->outcome.straggled = strstr(message, "after_first_exit") != NULL;
    }
    jr_hang_find(&judge);
}

int jr_past_read(struct jr_past *ret, json_t *results, struct jr_error *err)
{
    const json_t *ranks = json_object_get(results, "ranks");
    size_t count = json_array_size(ranks);
    *ret = (struct jr_past){.json = results};
    if (!json_is_array(ranks) || !make_room(ret, count)) {
        jr_past_release(ret);
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "results.json is not what jobrun writes");
    }
    load_run(ret);
    for (size_t i = 0; i < count; i++)
        load_rank(ret, i, json_array_get(ranks, i));
    load_hosts(ret, ranks);
    load_compared(ret);
    return 0;
}

int jr_past_load(struct jr_past *ret, int fd, const char *name,
                 const char *log_dir, const char *id, struct jr_error *err)
{
    json_t *json = jr_folder_json(fd, name, err);
    if (json == NULL || jr_past_read(ret, json, err) != 0)
        return -1;
    ret->id = id;
    ret->plan.own_dir = jr_arena_printf(&ret->arena, "%s/%s", log_dir, id);
    ret->plan.run_dir = jr_arena_printf(&ret->arena, "%s/%.*s", log_dir,
                                        (int)strcspn(id, "/"), id);
    load_causes(ret, fd);
    load_hang(ret, fd);
    return 0;
}

void jr_past_release(struct jr_past *past)
{
    jr_report_release(&past->report);
    json_decref(past->json);
    jr_arena_release(&past->arena);
    *past = (struct jr_past){0};
}
