#include "tally.h"

#include <stdio.h>
#include <string.h>

#include "json.h"

#include "banned.h"

enum kind { INT32, UINT32, UINT64, BOOL };

struct row {
    const char *key;
    size_t at;
    enum kind kind;
};

#define RANK(key, kind, member)                                                \
    {                                                                          \
        key, offsetof(struct jr_rank_outcome, member), kind                    \
    }

/* An enum is an int here, and no value of these is negative. */
_Static_assert(sizeof(enum jr_end) == sizeof(int32_t) &&
                   sizeof(enum jr_stage) == sizeof(int32_t) &&
                   sizeof(enum jr_inject) == sizeof(int32_t),
               "enums are read and written as int32_t");

static const struct row rank_rows[] = {
    RANK("pid", INT32, pid),
    RANK("end", INT32, end),
    RANK("stage", INT32, stage),
    RANK("errno", INT32, start_errno),
    RANK("code", INT32, exit_code),
    RANK("signal", INT32, signal),
    RANK("core", BOOL, core_dumped),
    RANK("oom", BOOL, oom),
    RANK("stopped", INT32, stopped_with),
    RANK("returned", BOOL, returned),
    RANK("lingered", BOOL, lingered),
    RANK("killed", BOOL, killed),
    RANK("injected", BOOL, injected),
    RANK("injection", INT32, injection),
    RANK("injected_code", INT32, injected_code),
    RANK("order", UINT32, order),
    RANK("from", UINT64, started_ns),
    RANK("to", UINT64, ended_ns),
    RANK("heard", UINT64, heard_ns),
    RANK("rss", UINT64, max_rss_bytes),
    RANK("cpu", UINT64, cpu_ns),
    RANK("log_failed", BOOL, log_failed),
    RANK("log_errno", INT32, log_errno),
    RANK("dropped_out", UINT64, dropped[0]),
    RANK("dropped_err", UINT64, dropped[1]),
    {NULL, 0, INT32},
};

#define RUN(key, kind, member)                                                 \
    {                                                                          \
        key, offsetof(struct jr_outcome, member), kind                         \
    }

static const struct row run_rows[] = {
    RUN("from", UINT64, started_ns),
    RUN("to", UINT64, ended_ns),
    RUN("from_wall", UINT64, started_wall_ns),
    RUN("to_wall", UINT64, ended_wall_ns),
    RUN("timed_out", BOOL, timed_out),
    RUN("straggled", BOOL, straggled),
    RUN("hung", BOOL, hung),
    RUN("stop_signal", INT32, stop_signal),
    RUN("late_signal", INT32, late_signal),
    RUN("runner_signal", INT32, runner_signal),
    RUN("pattern_limits", UINT32, pattern_limits),
    RUN("left", UINT32, left),
    {NULL, 0, INT32},
};

static int64_t get(const void *base, const struct row *row)
{
    const void *at = (const char *)base + row->at;
    switch (row->kind) {
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

static void set(void *base, const struct row *row, int64_t value)
{
    void *at = (char *)base + row->at;
    switch (row->kind) {
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

static json_t *write_rows(const struct row *row, const void *base)
{
    json_t *object = json_object();
    for (; row->key != NULL; row++)
        if (get(base, row) != 0)
            jr_json_set_int(object, row->key, get(base, row));
    return object;
}

static void read_rows(const struct row *row, void *base, const json_t *object)
{
    for (; row->key != NULL; row++)
        set(base, row, jr_json_get_int(object, row->key));
}

void jr_tally_add(struct jr_buf *out, const struct jr_outcome *outcome)
{
    size_t most = sizeof outcome->left_pids / sizeof *outcome->left_pids;
    json_t *run = write_rows(run_rows, outcome);
    json_t *ranks = json_array(), *pids = json_array();
    for (uint32_t i = 0; i < outcome->count; i++)
        jr_json_append(ranks, write_rows(rank_rows, &outcome->ranks[i]));
    for (size_t i = 0; i < outcome->left && i < most; i++)
        jr_json_append(pids, json_integer(outcome->left_pids[i]));
    jr_json_set(run, "left_pids", pids);
    if (outcome->start_text[0] != '\0')
        jr_json_set_str(run, "start_text", outcome->start_text);
    jr_json_set(run, "ranks", ranks);
    jr_json_print(out, run, 0);
    json_decref(run);
}

void jr_tally_refuse(struct jr_buf *out, const struct jr_error *why)
{
    json_t *run = json_object();
    jr_json_set_str(run, "error", why->text);
    jr_json_print(out, run, 0);
    json_decref(run);
}

/* What is an index elsewhere has to be one. */
static bool is_known(const struct jr_rank_outcome *rank)
{
    return (unsigned)rank->end <= JR_END_LOST &&
           (unsigned)rank->stage <= JR_STAGE_LATE &&
           (unsigned)rank->injection <= JR_INJECT_OOM;
}

static bool read_ranks(struct jr_outcome *ret, const json_t *ranks)
{
    bool known = true;
    ret->count = (uint32_t)json_array_size(ranks);
    for (uint32_t i = 0; i < ret->count; i++) {
        read_rows(rank_rows, &ret->ranks[i], json_array_get(ranks, i));
        known = known && is_known(&ret->ranks[i]);
    }
    return known;
}

static void read_run(struct jr_outcome *ret, const json_t *run)
{
    size_t most = sizeof ret->left_pids / sizeof *ret->left_pids;
    const json_t *pids = json_object_get(run, "left_pids");
    const char *text = jr_json_get_str(run, "start_text");
    read_rows(run_rows, ret, run);
    for (size_t i = 0; i < most && i < json_array_size(pids); i++)
        ret->left_pids[i] =
            (int32_t)json_integer_value(json_array_get(pids, i));
    (void)snprintf(ret->start_text, sizeof ret->start_text, "%s",
                   text != NULL ? text : "");
}

int jr_tally_read(struct jr_outcome *ret, uint32_t count, const char *text,
                  size_t len, struct jr_error *err)
{
    json_t *run = jr_json_parse(text, len, NULL);
    const json_t *ranks = json_object_get(run, "ranks");
    const char *refusal = jr_json_get_str(run, "error");
    int result = 0;
    if (refusal != NULL)
        result = jr_error_set(err, JR_STATUS_LAUNCH, "%s", refusal);
    else if (!json_is_array(ranks) || json_array_size(ranks) != count ||
             !read_ranks(ret, ranks))
        result = jr_error_set(err, JR_STATUS_LAUNCH,
                              "it did not say what became of its ranks");
    else
        read_run(ret, run);
    json_decref(run);
    return result;
}
