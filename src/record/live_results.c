#include "record/live_results.h"

#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/signal_name.h"
#include "record/live_ranks.h"
#include "record/record_folder.h"

#include "base/banned.h"

enum { FORMAT_VERSION = 1 };

/* The keys of results.json that are known only at the end: of the run, and of a
 * rank. */
static const char *const open_run[] = {"exit_code", "finished",
                                       "processes_left", "root_cause"};
static const char *const open_rank[] = {"seconds",    "max_rss_bytes",
                                        "error_file", "error",
                                        "result",     "result_error"};

static void set_null(json_t *object, const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++)
        jr_json_set_null(object, keys[i]);
}

/* Null is what `from` does not say. */
static void copy_key(json_t *to, const char *key, const json_t *from,
                     const char *from_key)
{
    json_t *value = json_object_get(from, from_key);
    if (value == NULL)
        jr_json_set_null(to, key);
    else
        jr_json_set(to, key, json_incref(value));
}

static void copy_keys(json_t *to, const json_t *from, const char *const *keys)
{
    for (; *keys != NULL; keys++)
        copy_key(to, *keys, from, *keys);
}

/* The state of a rank, by the events so far. */
static const char *rank_standing(const struct jr_live_rank *rank, bool live)
{
    if (rank == NULL || rank->pid == 0)
        return "not_started";
    return rank->ended || !live ? "ended" : "running";
}

static void set_rank_end(json_t *to, const struct jr_live_rank *rank)
{
    char name[JR_SIGNAL_NAME];
    bool ended = rank != NULL && rank->ended;
    if (ended && rank->signal == 0)
        jr_json_set_int(to, "exit_code", rank->exit_code);
    else
        jr_json_set_null(to, "exit_code");
    if (ended && rank->signal != 0) {
        jr_signal_name(name, rank->signal);
        jr_json_set_str(to, "signal", name);
    } else {
        jr_json_set_null(to, "signal");
    }
}

static void set_log(json_t *to, const char *key, const json_t *planned)
{
    copy_key(to, key, json_object_get(planned, key), "file");
}

static json_t *rank_json(const json_t *planned, const struct jr_live_rank *rank,
                         const json_t *run, bool live)
{
    static const char *const identity[] = {"rank", "local_rank", "node_rank",
                                           NULL};
    static const char *const place[] = {"device", "coordinates", NULL};
    json_t *to = json_object();
    copy_keys(to, planned, identity);
    /* With several nodes, only the record of each says where it ran. */
    if (jr_json_get_u32(run, "nodes") <= 1)
        jr_json_set_str(to, "host", jr_json_get_str(run, "host"));
    else
        jr_json_set_null(to, "host");
    if (rank != NULL && rank->pid != 0)
        jr_json_set_int(to, "pid", rank->pid);
    else
        jr_json_set_null(to, "pid");
    copy_keys(to, planned, place);
    jr_json_set_str(to, "state", rank_standing(rank, live));
    set_rank_end(to, rank);
    set_log(to, "stdout", planned);
    set_log(to, "stderr", planned);
    set_null(to, open_rank, sizeof open_rank / sizeof *open_rank);
    return to;
}

static void set_head(json_t *to, const json_t *run, const char *standing)
{
    static const char *const known[] = {"run_id",  "name",    "fingerprint",
                                        "attempt", "started", "world_size",
                                        NULL};
    double started = jr_json_get_real(run, "started");
    double now = (double)jr_clock_wall_ns() / 1e9;
    jr_json_set_int(to, "format_version", FORMAT_VERSION);
    copy_keys(to, run, known);
    jr_json_set_str(to, "status", standing);
    jr_json_set(to, "seconds", json_real(now > started ? now - started : 0));
    set_null(to, open_run, sizeof open_run / sizeof *open_run);
}

json_t *jr_live_results(const char *log_dir, const char *id, const json_t *run,
                        const char *standing, struct jr_error *err)
{
    struct jr_live_ranks crew;
    bool live = strcmp(standing, "running") == 0;
    if (jr_live_ranks_open(&crew, log_dir, id, 0, err) != 0)
        return NULL;
    json_t *plan = jr_record_folder_json(crew.run_fd, "plan.json", err);
    json_t *to = plan == NULL ? NULL : json_object();
    if (to != NULL)
        set_head(to, run, standing);
    json_t *ranks = json_array();
    const json_t *planned = json_object_get(plan, "ranks");
    for (size_t i = 0; to != NULL && i < json_array_size(planned); i++) {
        const json_t *row = json_array_get(planned, i);
        jr_json_append(
            ranks,
            rank_json(row,
                      jr_live_ranks_find(&crew, jr_json_get_int(row, "rank")),
                      run, live));
    }
    if (to != NULL)
        jr_json_set(to, "ranks", ranks);
    else
        json_decref(ranks);
    json_decref(plan);
    jr_live_ranks_close(&crew);
    return to;
}
