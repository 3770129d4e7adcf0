#include "report/show.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/proc.h"
#include "base/rank_set.h"
#include "base/strv.h"
#include "base/syscalls.h"
#include "judge/judge.h"
#include "record/live_ranks.h"
#include "record/load_results.h"
#include "record/multinode.h"
#include "record/record_code.h"
#include "record/record_folder.h"
#include "report/internal.h"
#include "store/events.h"
#include "store/progress.h"
#include "store/run_folder.h"

#include "base/banned.h"

enum { SHOWN_RANKS = 16 };

/* The code of a run in a work tree; or that its record is damaged, which says so. */
static void show_code(struct jr_buf *out, int fd)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_record_code code;
    struct jr_error err = {0};
    json_auto_t *run = jr_record_folder_json(fd, "run.json", &err);
    if (run == NULL && err.sys != ENOENT) {
        jr_buf_str(out, "  warning: ");
        jr_buf_safe(out, err.text);
        jr_buf_char(out, '\n');
    }
    if (jr_record_code_read(&code, &arena, run) && (code.tree != NULL || code.problem != NULL)) {
        jr_buf_str(out, "  code: ");
        jr_record_code_print(out, &code);
        jr_buf_char(out, '\n');
    }
}

/* Between two attempts, as the last event says: what has failed, and how long it is until all ranks
 * start again. */
static void show_pause(struct jr_buf *out, int fd)
{
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    jr_run_file_tail(&line, fd, "events.jsonl", 1);
    struct jr_event event;
    if (!jr_event_read(&event, line.data, line.len) || event.name != JR_EVENT_ATTEMPT_FAILED)
        return;
    double ago = ((double)jr_clock_ns() - (double)event.ns) / 1e9;
    double left = (double)event.wait_ms / 1e3 - ago;
    jr_buf_printf(out, "\n  attempt %u failed; attempt %u starts ", event.attempt,
                  event.attempt + 1);
    jr_buf_printf(out, left > 0.5 ? "in %.0f s" : "now", left);
}

static void add_standing(struct jr_buf *out, const json_t *run, const char *standing)
{
    double started = jr_json_get_real(run, "started");
    double now = (double)jr_clock_wall_ns() / 1e9;
    jr_buf_printf(out, "jobrun: %s", standing);
    if (strcmp(standing, "running") != 0 || now <= started)
        return;
    jr_buf_str(out, " for ");
    jr_clock_human(out, jr_clock_ns_of(now - started));
}

/* A run in parts, of which some go on. */
static void show_run_parts(struct jr_buf *out, const json_t *run, const char *run_dir, int fd)
{
    const char *name = strrchr(run_dir, '/');
    struct jr_multinode parts;
    jr_multinode_find(&parts, fd);
    json_auto_t *nodes = jr_multinode_nodes(fd, &parts);
    add_standing(out, run, jr_record_folder_standing(run));
    jr_buf_printf(out, ": %zu of %zu nodes are here\n", parts.count, json_array_size(nodes));
    jr_multinode_print(out, nodes, "  ");
    jr_node_mismatch_print(out, nodes, "  ", name == NULL ? run_dir : name + 1, run_dir, NULL);
    jr_buf_str(out, "  ");
    jr_buf_safe(out, run_dir);
    jr_buf_char(out, '\n');
    jr_multinode_release(&parts);
}

/* The state of a run without results. */
static const char *unfinished_standing(const json_t *run, int fd)
{
    const char *standing = jr_record_folder_standing(run);
    bool lost = strcmp(standing, "lost") == 0;
    /* Its other process is about to complete it. */
    return lost && jr_record_folder_companion(fd, run) != 0 ? "running" : standing;
}

/* How far it is. */
static void show_progress(struct jr_buf *out, int fd)
{
    json_auto_t *object = jr_record_folder_progress(fd);
    struct jr_progress *progress = object == NULL ? NULL : jr_progress_new(0);
    if (progress != NULL) {
        jr_progress_get(progress, object);
        jr_buf_str(out, progress->job.any ? "\n  " : "");
        jr_progress_words(out, progress, true, false);
    }
    jr_progress_free(progress);
}

/* The processes of the ranks, the first of them where there are many. */
static void show_ranks(struct jr_buf *out, const char *log_dir, const char *id)
{
    struct jr_live_ranks live;
    if (jr_live_ranks_open(&live, log_dir, id, 0, NULL) != 0)
        return;
    size_t shown = live.count < SHOWN_RANKS ? live.count : SHOWN_RANKS;
    for (size_t i = 0; i < shown; i++) {
        const struct jr_live_rank *rank = &live.items[i];
        jr_buf_printf(out, "\n  rank %u   ", rank->rank);
        if (rank->pid == 0)
            jr_buf_str(out, "not started");
        else
            jr_buf_printf(out, "pid %d%s", (int)rank->pid, rank->ended ? ", ended" : "");
    }
    if (live.count > shown)
        jr_buf_printf(out, "\n  and %zu more (jobrun top)", live.count - shown);
    jr_live_ranks_close(&live);
}

/* A run without results: it is running, or its jobrun is gone. */
static void show_unfinished(struct jr_buf *out, const json_t *run, const char *log_dir,
                            const char *id, int fd)
{
    const char *standing = unfinished_standing(run, fd);
    add_standing(out, run, standing);
    long long attempt = jr_json_get_int(run, "attempt");
    if (attempt > 0)
        jr_buf_printf(out, ", attempt %lld", attempt);
    jr_buf_printf(out, ": pid %lld on ", jr_json_get_int(run, "pid"));
    const char *host = jr_json_get_str(run, "host");
    jr_buf_safe(out, host == NULL ? "" : host);
    if (strcmp(standing, "lost") == 0 &&
        jr_access(fd, "results.json", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        jr_buf_str(out, " is gone, and its results.json is damaged");
    else if (strcmp(standing, "lost") == 0)
        jr_buf_str(out, " is gone and left no results");
    if (jr_record_folder_is_contained(run))
        jr_buf_str(out, ", in another PID namespace (a container); it can be seen only from there");
    if (strcmp(standing, "running") == 0) {
        struct jr_proc proc; /* suspended by job control, or by a SIGSTOP */
        json_int_t pid = jr_json_get_int(run, "pid");
        if (jr_proc_of(&proc, pid) && proc.state == 'T')
            jr_buf_printf(out, ", suspended (kill -CONT %lld wakes it)", pid);
        show_pause(out, fd);
        show_progress(out, fd);
        show_ranks(out, log_dir, id);
    }
    jr_buf_str(out, "\n  ");
    jr_buf_safe(out, log_dir);
    jr_buf_char(out, '/');
    jr_buf_safe(out, id);
    jr_buf_char(out, '\n');
}

int jr_record_show(struct jr_buf *out, const char *log_dir, const char *id, const uint32_t *attempt,
                   bool color, struct jr_error *err)
{
    JR_CLOSE int fd = jr_record_folder_open(log_dir, id, err);
    JR_BUF_CLEANUP struct jr_buf run_dir = JR_BUF_INIT, name = JR_BUF_INIT;
    if (fd < 0 || jr_record_folder_results(&name, fd, id, attempt, err) != 0)
        return -1;
    jr_buf_printf(&run_dir, "%s/%s", log_dir, id);
    struct jr_loaded_run loaded;
    struct jr_error missing = {0};
    if (!run_dir.failed && jr_loaded_run_load(&loaded, fd, name.data, log_dir, id, &missing) == 0) {
        struct jr_page page = jr_page_of(&loaded, fd, out);
        page.color = color;
        page.attempt = attempt;
        jr_print_page(&page);
        show_code(out, fd);
        jr_loaded_run_release(&loaded);
        return 0;
    }
    json_t *run = jr_record_folder_json(fd, "run.json", err);
    if (run == NULL)
        return -1;
    bool joined = json_object_get(run, "part") != NULL;
    /* It has ended, and its results cannot be read. */
    if (jr_json_get_str(run, "status") != NULL && !joined && missing.sys != ENOENT) {
        json_decref(run);
        return jr_error_set(err, missing.status, "%s", missing.text);
    }
    if (joined)
        show_run_parts(out, run, run_dir.data, fd);
    else
        show_unfinished(out, run, log_dir, id, fd);
    show_code(out, fd);
    json_decref(run);
    return 0;
}

static void add_printed_json(struct jr_buf *out, json_t *json)
{
    jr_json_print(out, json, 2);
    jr_buf_char(out, '\n');
    json_decref(json);
}

int jr_record_results(struct jr_buf *out, const char *log_dir, const char *id,
                      const uint32_t *attempt, struct jr_error *err)
{
    JR_CLOSE int fd = jr_record_folder_open(log_dir, id, err);
    JR_BUF_CLEANUP struct jr_buf name = JR_BUF_INIT;
    if (fd < 0 || jr_record_folder_results(&name, fd, id, attempt, err) != 0)
        return -1;
    if (!jr_multinode_exists(fd) && attempt == NULL &&
        jr_access(fd, name.data, F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
        json_t *run = jr_record_folder_json(fd, "run.json", err), *live = NULL;
        if (run != NULL)
            live = jr_live_results(log_dir, id, run, unfinished_standing(run, fd), err);
        if (live != NULL)
            add_printed_json(out, live);
        json_decref(run);
        return live == NULL ? -1 : 0;
    }
    if (!jr_multinode_exists(fd))
        return jr_record_folder_read(out, fd, name.data, err);
    json_t *joined = jr_record_folder_json(fd, name.data, err);
    JR_BUF_CLEANUP struct jr_buf typed = JR_BUF_INIT;
    jr_record_words(&typed, log_dir, id);
    if (joined == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "%s has no results while one of its nodes is "
                            "running (jobrun show %s shows their state)",
                            id, typed.failed ? id : typed.data);
    add_printed_json(out, joined);
    return 0;
}

/* The file of one stream: results say its path, a plan how it goes there. */
static char *log_path(struct jr_arena *arena, const json_t *rank, const char *stream)
{
    const json_t *value = json_object_get(rank, stream);
    if (json_is_object(value))
        value = json_object_get(value, "file");
    return jr_arena_strdup(arena, json_string_value(value));
}

static void add_rank_log(struct jr_record_logs *logs, const json_t *rank)
{
    const json_t *number = json_object_get(rank, "rank");
    struct jr_record_log *log =
        jr_arena_push(&logs->arena, &logs->items, &logs->count, sizeof *log);
    if (log == NULL)
        return;
    *log = (struct jr_record_log){
        .rank = (uint32_t)json_integer_value(number),
        .out = log_path(&logs->arena, rank, "stdout"),
        .err = log_path(&logs->arena, rank, "stderr"),
        .silent = json_is_true(json_object_get(rank, "stdout_silent")) ||
                  json_is_true(json_object_get(rank, "stderr_silent")),
    };
}

/* Where each part has its results, or the run its own. */
static void add_ends(struct jr_record_logs *logs, int fd)
{
    static const char name[] = "results.json";
    struct jr_arena *arena = &logs->arena;
    struct jr_strv ends = {0};
    struct jr_multinode parts;
    jr_multinode_find(&parts, fd);
    for (size_t i = 0; i < parts.count; i++)
        jr_strv_push(&ends, arena, jr_arena_printf(arena, JR_NODE_DIR "/%s", parts.nodes[i], name));
    if (parts.count == 0)
        jr_strv_push(&ends, arena, jr_arena_strdup(arena, name));
    jr_multinode_release(&parts);
    logs->ends = ends.items;
}

int jr_record_logs_load(struct jr_record_logs *ret, const char *log_dir, const char *id,
                        const uint32_t *attempt, struct jr_error *err)
{
    struct jr_record_logs logs = JR_RECORD_LOGS_INIT;
    JR_CLOSE int fd = jr_record_folder_open(log_dir, id, err);
    JR_BUF_CLEANUP struct jr_buf name = JR_BUF_INIT;
    if (fd < 0 || jr_record_folder_results(&name, fd, id, attempt, err) != 0)
        return -1;
    json_t *file = jr_record_folder_json(fd, name.data, NULL);
    logs.finished = file != NULL;
    if (file == NULL)
        file = jr_record_folder_json(fd, "plan.json", err);
    if (file == NULL)
        return -1;
    const json_t *ranks = json_object_get(file, "ranks");
    for (size_t i = 0; i < json_array_size(ranks); i++)
        add_rank_log(&logs, json_array_get(ranks, i));
    json_decref(file);
    add_ends(&logs, fd);
    if (logs.arena.failed) {
        jr_record_logs_release(&logs);
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    }
    *ret = logs;
    return 0;
}

int jr_record_logs_refuse(const struct jr_record_logs *logs, const struct jr_set *ranks,
                          struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf asked = JR_BUF_INIT, there = JR_BUF_INIT;
    size_t i = 0;
    while (i < logs->count && !jr_set_has(ranks, logs->items[i].rank))
        i++;
    jr_set_write(&asked, ranks);
    JR_FREE uint32_t *numbers = calloc(logs->count + 1, sizeof *numbers);
    for (size_t n = 0; numbers != NULL && n < logs->count; n++)
        numbers[n] = logs->items[n].rank;
    if (numbers != NULL)
        jr_set_print(&there, numbers, logs->count);
    if (i < logs->count || logs->count == 0 || asked.failed || there.failed || there.data == NULL)
        return jr_error_set(err, JR_STATUS_USAGE,
                            "no such logs: these ranks' output went to the console only");
    return jr_error_set(err, JR_STATUS_USAGE, "no rank %s in this run: --rank takes %s", asked.data,
                        there.data);
}

void jr_record_logs_release(struct jr_record_logs *logs)
{
    jr_arena_release(&logs->arena);
    *logs = (struct jr_record_logs)JR_RECORD_LOGS_INIT;
}
