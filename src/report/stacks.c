#include "report/stacks.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/strv.h"
#include "judge/hang_report.h"
#include "record/live_ranks.h"
#include "record/live_run.h"
#include "record/load_results.h"
#include "record/multinode.h"
#include "record/record_folder.h"
#include "run/process_probe.h"

#include "base/banned.h"

static const long INTERVAL_NS = 500000000;

/* What hung left in the folder of its last attempt. */
static void add_saved_stacks(json_t *list, const struct jr_loaded_run *loaded,
                             int fd, const struct jr_set *ranks)
{
    for (size_t i = 0; i < loaded->plan.count; i++) {
        const struct jr_plan_rank *rank = &loaded->plan.ranks[i];
        char path[64];
        (void)snprintf(path, sizeof path, "%s/hang.json", rank->dir);
        json_t *hung = NULL;
        if (jr_set_has(ranks, rank->rank))
            hung = jr_record_folder_json(fd, path, NULL);
        if (hung != NULL)
            jr_json_append(list, hung);
    }
}

static json_t *saved_stacks(const char *log_dir, const char *id,
                            const struct jr_stacks_view *view,
                            struct jr_error *err)
{
    struct jr_loaded_run loaded;
    JR_BUF_CLEANUP struct jr_buf name = JR_BUF_INIT;
    JR_CLOSE int fd = jr_record_folder_open(log_dir, id, err);
    if (fd < 0 ||
        jr_record_folder_results(&name, fd, id, view->attempt, err) != 0 ||
        jr_loaded_run_load(&loaded, fd, name.data, log_dir, id, err) != 0)
        return NULL;
    json_t *list = json_array();
    add_saved_stacks(list, &loaded, fd, view->ranks);
    jr_loaded_run_release(&loaded);
    return list;
}

/* One look at all ranks: `probes` has one for each of the live. */
static void probe_ranks(const struct jr_live_ranks *live,
                        const struct jr_set *ranks,
                        struct jr_process_probe *probes)
{
    size_t count = 0;
    struct jr_proc *all = jr_proc_all(&count);
    for (size_t i = 0; all != NULL && i < live->count; i++) {
        const struct jr_live_rank *rank = &live->items[i];
        if (jr_set_has(ranks, rank->rank) &&
            jr_live_ranks_lives(live, rank, all, count))
            jr_process_probe_read(&probes[i], all, count, rank->pid);
    }
    free(all);
}

static json_t *probe_evidence(const struct jr_live_ranks *live, size_t i,
                              const struct jr_process_probe *now,
                              const struct jr_process_probe *before,
                              uint64_t took_ns)
{
    const struct jr_live_rank *rank = &live->items[i];
    double silence = jr_live_ranks_silence(live, rank);
    json_t *object = json_object();
    char time[32];
    jr_clock_rfc3339(time, jr_clock_wall_ns());
    jr_json_set_int(object, "format_version", 1);
    jr_json_set_int(object, "rank", rank->rank);
    jr_json_set_int(object, "pid", rank->pid);
    jr_json_set_str(object, "time", time);
    jr_json_set(object, "silent_seconds",
                silence < 0 ? json_null() : json_real(silence));
    jr_json_set_real(object, "interval_seconds",
                     (double)(took_ns / 1000000) / 1e3);
    jr_json_set_real(object, "cpu_seconds",
                     (double)(jr_process_probe_used(now, before) / 1000000) /
                         1e3);
    jr_json_set(object, "processes", jr_process_probe_json(now, before));
    return object;
}

static json_t *live_stacks(const struct jr_live_ranks *live,
                           const struct jr_set *ranks)
{
    JR_FREE struct jr_process_probe *before =
        calloc(live->count + 1, sizeof *before);
    JR_FREE struct jr_process_probe *now = calloc(live->count + 1, sizeof *now);
    if (before == NULL || now == NULL)
        return NULL;
    json_t *list = json_array();
    uint64_t began = jr_clock_ns();
    probe_ranks(live, ranks, before);
    (void)nanosleep(&(struct timespec){.tv_nsec = INTERVAL_NS}, NULL);
    probe_ranks(live, ranks, now);
    uint64_t took = jr_clock_ns() - began;
    for (size_t i = 0; i < live->count; i++) {
        if (now[i].count > 0 && before[i].count > 0)
            jr_json_append(list,
                           probe_evidence(live, i, &now[i], &before[i], took));
        jr_process_probe_release(&before[i]);
        jr_process_probe_release(&now[i]);
    }
    return list;
}

static json_t *collect_stacks(const char *log_dir, const char *id,
                              const struct jr_stacks_view *view,
                              struct jr_error *err)
{
    struct jr_live live;
    struct jr_live_ranks live_ranks;
    if (jr_live_open(&live, log_dir, id, err) != 0)
        return NULL;
    enum jr_standing standing = live.standing;
    int32_t guard = live.pid;
    jr_live_close(&live);
    if (standing == JR_STANDING_FINISHED || view->attempt != NULL)
        return saved_stacks(log_dir, id, view, err);
    if (standing != JR_STANDING_RUNNING) {
        (void)jr_error_set(err, JR_STATUS_LAUNCH,
                           "run '%s' has no results, and is not running here",
                           id);
        return NULL;
    }
    if (jr_live_ranks_open(&live_ranks, log_dir, id, guard, err) != 0)
        return NULL;
    json_t *list = live_stacks(&live_ranks, view->ranks);
    if (list == NULL)
        (void)jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    jr_live_ranks_close(&live_ranks);
    return list;
}

/* For a run in parts, those that are available. */
json_t *jr_stacks_of(const char *log_dir, const char *id,
                     const struct jr_stacks_view *view, struct jr_error *err)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_strv ids = jr_multinode_ids(&arena, log_dir, id);
    json_t *all = NULL;
    for (size_t i = 0; i < ids.count; i++) {
        json_t *list = collect_stacks(log_dir, ids.items[i], view, err);
        if (all == NULL)
            all = list;
        else if (list != NULL)
            (void)json_array_extend(all, list);
        if (all != list)
            json_decref(list);
    }
    jr_arena_release(&arena);
    return all;
}

void jr_stacks_print(struct jr_buf *out, const json_t *stacks)
{
    for (size_t i = 0; i < json_array_size(stacks); i++)
        jr_thread_state_stacks(out, json_array_get(stacks, i));
}
