#include "record/live_ranks.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/names.h"
#include "base/syscalls.h"
#include "judge/judge.h"
#include "record/record_folder.h"
#include "store/events.h"

#include "base/banned.h"

enum { MOST_LINE = 1 << 20 };

static const char *rank_file(struct jr_live_ranks *live, const json_t *rank, const char *stream)
{
    const json_t *value = json_object_get(rank, stream);
    return jr_arena_strdup(&live->arena, jr_json_get_str(value, "file"));
}

static int compare_live_ranks(const void *a, const void *b)
{
    const struct jr_live_rank *x = a, *y = b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

struct jr_live_rank *jr_live_ranks_find(const struct jr_live_ranks *live, int64_t number)
{
    const struct jr_live_rank key = {.rank = (uint32_t)number};
    if (number < 0 || number > UINT32_MAX || live->count == 0)
        return NULL;
    return bsearch(&key, live->items, live->count, sizeof key, compare_live_ranks);
}

/* Read the plan again: its paths are those of another attempt. */
static int load_plan(struct jr_live_ranks *live, struct jr_error *err)
{
    json_t *plan = jr_record_folder_json(live->run_fd, "plan.json", err);
    const json_t *ranks = json_object_get(plan, "ranks");
    if (plan == NULL)
        return -1;
    live->count = json_array_size(ranks);
    live->items = jr_arena_array(&live->arena, live->count, sizeof *live->items);
    if (live->items == NULL)
        live->count = 0;
    for (size_t i = 0; live->items != NULL && i < live->count; i++) {
        const json_t *rank = json_array_get(ranks, i);
        live->items[i] = (struct jr_live_rank){.rank = (uint32_t)jr_json_get_int(rank, "rank"),
                                               .node = (uint32_t)jr_json_get_int(rank, "node_rank"),
                                               .out = rank_file(live, rank, "stdout"),
                                               .err = rank_file(live, rank, "stderr")};
    }
    if (live->count > 0)
        qsort(live->items, live->count, sizeof *live->items, compare_live_ranks);
    json_decref(plan);
    return live->arena.failed ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory") : 0;
}

static void read_event_line(struct jr_live_ranks *live, const char *line, size_t len)
{
    struct jr_event event;
    if (!jr_event_read(&event, line, len))
        return;
    if (event.name == JR_EVENT_RESTART)
        (void)load_plan(live, NULL);
    for (size_t i = 0; event.name == JR_EVENT_NODE_APART && i < live->count; i++)
        live->items[i].apart |= live->items[i].node == event.node;
    bool names_one = (event.says & JR_SAYS(RANK)) != 0;
    struct jr_live_rank *rank = names_one ? jr_live_ranks_find(live, event.rank) : NULL;
    if (rank != NULL && event.name == JR_EVENT_RANK_STARTED)
        rank->pid = event.pid;
    if (rank != NULL && event.name == JR_EVENT_RANK_ENDED) {
        rank->ended = true;
        rank->exit_code = event.exit_code;
        rank->signal = event.signal;
    }
}

/* Take the whole lines out of the rest. */
static void read_event_lines(struct jr_live_ranks *live)
{
    struct jr_buf *rest = &live->rest;
    size_t at = 0;
    while (at < rest->len) {
        const char *end = memchr(rest->data + at, '\n', rest->len - at);
        if (end == NULL)
            break;
        size_t len = (size_t)(end - rest->data) - at;
        read_event_line(live, rest->data + at, len);
        at += len + 1;
    }
    memmove(rest->data, rest->data + at, rest->len - at);
    rest->len -= at;
}

void jr_live_ranks_update(struct jr_live_ranks *live)
{
    char bytes[65536];
    ssize_t len;
    if (live->events_fd < 0)
        live->events_fd = jr_run_file_open(live->run_fd, "events.jsonl", NULL);
    while (live->events_fd >= 0 && (len = read(live->events_fd, bytes, sizeof bytes)) > 0) {
        jr_buf_add(&live->rest, bytes, (size_t)len);
        if (!live->rest.failed)
            read_event_lines(live);
        if (live->rest.len > MOST_LINE) /* jobrun writes none so long */
            jr_buf_clear(&live->rest);
    }
}

int jr_live_ranks_open(struct jr_live_ranks *ret, const char *log_dir, const char *id,
                       int32_t guard, struct jr_error *err)
{
    *ret = (struct jr_live_ranks){
        .run_fd = jr_record_folder_open(log_dir, id, err), .events_fd = -1, .guard = guard};
    json_t *run = ret->run_fd < 0 ? NULL : jr_record_folder_json(ret->run_fd, "run.json", NULL);
    ret->name = jr_arena_strdup(&ret->arena, jr_json_get_str(run, "name"));
    ret->started_ns = jr_clock_ns_of(jr_json_get_real(run, "started"));
    json_decref(run);
    if (ret->run_fd < 0 || load_plan(ret, err) != 0) {
        jr_live_ranks_close(ret);
        return -1;
    }
    jr_live_ranks_update(ret);
    return 0;
}

void jr_live_ranks_close(struct jr_live_ranks *live)
{
    jr_close_fd(&live->run_fd);
    jr_close_fd(&live->events_fd);
    jr_buf_release(&live->rest);
    jr_arena_release(&live->arena);
    *live = (struct jr_live_ranks){.run_fd = -1, .events_fd = -1};
}

/* The parent of a process of the list; 0: it is not there. */
static pid_t find_parent_pid(const struct jr_proc *all, size_t count, pid_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (all[i].pid == pid)
            return all[i].parent;
    return 0;
}

bool jr_live_ranks_lives(const struct jr_live_ranks *live, const struct jr_live_rank *rank,
                         const struct jr_proc *all, size_t count)
{
    if (rank->pid <= 0 || rank->ended)
        return false;
    pid_t runner = find_parent_pid(all, count, rank->pid);
    return runner > 0 && find_parent_pid(all, count, runner) == live->guard;
}

/* The wall time at which a log was last written; 0: it is empty, or something else is in its
 * place. */
static uint64_t log_written_ns(const struct jr_live_ranks *live, const char *path)
{
    struct stat file;
    if (path == NULL || fstatat(live->run_fd, path, &file, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(file.st_mode) || file.st_size == 0)
        return 0;
    return (uint64_t)file.st_mtim.tv_sec * UINT64_C(1000000000) + (uint64_t)file.st_mtim.tv_nsec;
}

const char *jr_live_ranks_latest(const struct jr_live_ranks *live, const struct jr_live_rank *rank)
{
    uint64_t out = log_written_ns(live, rank->out);
    uint64_t err = log_written_ns(live, rank->err);
    if (out == 0 && err == 0)
        return NULL;
    return err > out ? rank->err : rank->out;
}

double jr_live_ranks_silence(const struct jr_live_ranks *live, const struct jr_live_rank *rank)
{
    uint64_t now = jr_clock_wall_ns();
    uint64_t at = log_written_ns(live, jr_live_ranks_latest(live, rank));
    if (at == 0)
        return -1;
    return at > now ? 0 : (double)((now - at) / 1000000) / 1e3;
}

/* The run so far, with the keys of results.json. */

enum { FORMAT_VERSION = 1 };

/* The keys of results.json that are known only at the end: of the run, and of a rank. */
static const char *const open_run[] = {"exit_code", "finished", "processes_left", "processes_ended",
                                       "root_cause"};
static const char *const open_rank[] = {"seconds", "max_rss_bytes", "error_file",
                                        "error",   "result",        "result_error"};

static void set_null(json_t *object, const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++)
        jr_json_set_null(object, keys[i]);
}

/* Null is what `from` does not say. */
static void copy_keys(json_t *to, const json_t *from, const char *const *keys)
{
    for (; *keys != NULL; keys++)
        jr_json_share(to, from, *keys);
}

/* A log that is not there, or not yet, is none. */
static void set_log(json_t *to, const char *key, const json_t *planned, int fd)
{
    const char *path = jr_json_get_str(json_object_get(planned, key), "file");
    if (path != NULL && jr_access(fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        jr_json_set_str(to, key, path);
    else
        jr_json_set_null(to, key);
}

/* A planned rank as the events so far have it. */
static json_t *rank_json(const json_t *planned, const struct jr_live_rank *rank, const json_t *run,
                         bool live, int fd)
{
    static const char *const identity[] = {"rank", "local_rank", "node_rank", NULL};
    static const char *const place[] = {"device", "coordinates", NULL};
    json_t *to = json_object();
    bool begun = rank != NULL && rank->pid != 0, ended = rank != NULL && rank->ended;
    char name[JR_SIGNAL_NAME];
    copy_keys(to, planned, identity);
    /* With several nodes, only the record of each says where it ran. */
    jr_json_set_str(to, "host",
                    jr_json_get_u32(run, "nodes") <= 1 ? jr_json_get_str(run, "host") : NULL);
    jr_json_set(to, "pid", begun ? json_integer(rank->pid) : json_null());
    copy_keys(to, planned, place);
    jr_json_set_str(to, "state", !begun ? "not_started" : ended || !live ? "ended" : "running");
    jr_json_set(to, "exit_code",
                ended && rank->signal == 0 ? json_integer(rank->exit_code) : json_null());
    if (ended && rank->signal != 0)
        jr_signal_name(name, rank->signal);
    jr_json_set_str(to, "signal", ended && rank->signal != 0 ? name : NULL);
    set_log(to, "stdout", planned, fd);
    set_log(to, "stderr", planned, fd);
    set_null(to, open_rank, sizeof open_rank / sizeof *open_rank);
    return to;
}

json_t *jr_live_results(const char *log_dir, const char *id, const json_t *run,
                        const char *standing, struct jr_error *err)
{
    static const char *const known[] = {"run_id",  "name",       "fingerprint", "attempt",
                                        "started", "world_size", NULL};
    struct jr_live_ranks live_ranks;
    double started = jr_json_get_real(run, "started");
    double now = (double)jr_clock_wall_ns() / 1e9;
    if (jr_live_ranks_open(&live_ranks, log_dir, id, 0, err) != 0)
        return NULL;
    json_t *plan = jr_record_folder_json(live_ranks.run_fd, "plan.json", err), *planned = NULL;
    json_t *to = plan == NULL ? NULL : json_object();
    if (to != NULL) {
        json_t *progress = jr_record_folder_progress(live_ranks.run_fd), *ranks = json_array();
        size_t i = 0;
        jr_json_set_int(to, "format_version", FORMAT_VERSION);
        copy_keys(to, run, known);
        jr_json_set_str(to, "status", standing);
        jr_json_set(to, "seconds", json_real(now > started ? now - started : 0));
        set_null(to, open_run, sizeof open_run / sizeof *open_run);
        jr_json_set(to, "progress", progress == NULL ? json_null() : progress);
        json_array_foreach(json_object_get(plan, "ranks"), i, planned)
            jr_json_append(
                ranks, rank_json(planned,
                                 jr_live_ranks_find(&live_ranks, jr_json_get_int(planned, "rank")),
                                 run, strcmp(standing, "running") == 0, live_ranks.run_fd));
        jr_json_set(to, "ranks", ranks);
    }
    json_decref(plan);
    jr_live_ranks_close(&live_ranks);
    return to;
}
