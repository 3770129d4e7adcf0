#include "record/live_ranks.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "judge/read_left.h"
#include "record/record_folder.h"
#include "store/event_table.h"

#include "base/banned.h"

enum { MOST_LINE = 1 << 20 };

static const char *rank_file(struct jr_live_ranks *crew, const json_t *rank,
                             const char *stream)
{
    const json_t *value = json_object_get(rank, stream);
    return jr_arena_strdup(&crew->arena, jr_json_get_str(value, "file"));
}

static int compare_live_ranks(const void *a, const void *b)
{
    const struct jr_live_rank *x = a, *y = b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

struct jr_live_rank *jr_live_ranks_find(const struct jr_live_ranks *crew,
                                        int64_t number)
{
    const struct jr_live_rank key = {.rank = (uint32_t)number};
    if (number < 0 || number > UINT32_MAX || crew->count == 0)
        return NULL;
    return bsearch(&key, crew->items, crew->count, sizeof key,
                   compare_live_ranks);
}

/* Read the plan again: its paths are those of another attempt. */
static int load_plan(struct jr_live_ranks *crew, struct jr_error *err)
{
    json_t *plan = jr_record_folder_json(crew->run_fd, "plan.json", err);
    const json_t *ranks = json_object_get(plan, "ranks");
    if (plan == NULL)
        return -1;
    crew->count = json_array_size(ranks);
    crew->items =
        jr_arena_array(&crew->arena, crew->count, sizeof *crew->items);
    if (crew->items == NULL)
        crew->count = 0;
    for (size_t i = 0; crew->items != NULL && i < crew->count; i++) {
        const json_t *rank = json_array_get(ranks, i);
        crew->items[i] = (struct jr_live_rank){
            .rank = (uint32_t)jr_json_get_int(rank, "rank"),
            .out = rank_file(crew, rank, "stdout"),
            .err = rank_file(crew, rank, "stderr")};
    }
    if (crew->count > 0)
        qsort(crew->items, crew->count, sizeof *crew->items,
              compare_live_ranks);
    json_decref(plan);
    return crew->arena.failed
               ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory")
               : 0;
}

static void end_rank(struct jr_live_rank *rank, const struct jr_event *event)
{
    rank->ended = true;
    rank->exit_code = event->exit_code;
    rank->signal = event->signal;
}

static void read_event_line(struct jr_live_ranks *crew, const char *line,
                            size_t len)
{
    struct jr_event event;
    if (!jr_event_read(&event, line, len))
        return;
    if (event.name == JR_EVENT_RESTART)
        (void)load_plan(crew, NULL);
    bool names_one = (event.says & JR_SAYS(RANK)) != 0;
    struct jr_live_rank *rank =
        names_one ? jr_live_ranks_find(crew, event.rank) : NULL;
    if (rank != NULL && event.name == JR_EVENT_RANK_STARTED)
        rank->pid = event.pid;
    if (rank != NULL && event.name == JR_EVENT_RANK_ENDED)
        end_rank(rank, &event);
}

/* Take the whole lines out of the rest. */
static void read_event_lines(struct jr_live_ranks *crew)
{
    struct jr_buf *rest = &crew->rest;
    size_t at = 0;
    while (at < rest->len) {
        const char *end = memchr(rest->data + at, '\n', rest->len - at);
        if (end == NULL)
            break;
        size_t len = (size_t)(end - rest->data) - at;
        read_event_line(crew, rest->data + at, len);
        at += len + 1;
    }
    if (at == 0)
        return;
    memmove(rest->data, rest->data + at, rest->len - at);
    rest->len -= at;
}

void jr_live_ranks_update(struct jr_live_ranks *crew)
{
    char bytes[65536];
    ssize_t len;
    if (crew->events_fd < 0)
        crew->events_fd = jr_read_left_open(crew->run_fd, "events.jsonl", NULL);
    while (crew->events_fd >= 0 &&
           (len = read(crew->events_fd, bytes, sizeof bytes)) > 0) {
        jr_buf_add(&crew->rest, bytes, (size_t)len);
        if (!crew->rest.failed)
            read_event_lines(crew);
        if (crew->rest.len > MOST_LINE) /* jobrun writes none so long */
            jr_buf_clear(&crew->rest);
    }
}

int jr_live_ranks_open(struct jr_live_ranks *ret, const char *log_dir,
                       const char *id, int32_t guard, struct jr_error *err)
{
    *ret = (struct jr_live_ranks){.run_fd =
                                      jr_record_folder_open(log_dir, id, err),
                                  .events_fd = -1,
                                  .guard = guard};
    if (ret->run_fd < 0 || load_plan(ret, err) != 0) {
        jr_live_ranks_close(ret);
        return -1;
    }
    jr_live_ranks_update(ret);
    return 0;
}

void jr_live_ranks_close(struct jr_live_ranks *crew)
{
    if (crew->run_fd >= 0)
        (void)close(crew->run_fd);
    if (crew->events_fd >= 0)
        (void)close(crew->events_fd);
    jr_buf_release(&crew->rest);
    jr_arena_release(&crew->arena);
    *crew = (struct jr_live_ranks){.run_fd = -1, .events_fd = -1};
}

/* The parent of a process of the list; 0: it is not there. */
static pid_t find_parent_pid(const struct jr_proc *all, size_t count, pid_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (all[i].pid == pid)
            return all[i].parent;
    return 0;
}

bool jr_live_ranks_lives(const struct jr_live_ranks *crew,
                         const struct jr_live_rank *rank,
                         const struct jr_proc *all, size_t count)
{
    if (rank->pid <= 0 || rank->ended)
        return false;
    pid_t runner = find_parent_pid(all, count, rank->pid);
    return runner > 0 && find_parent_pid(all, count, runner) == crew->guard;
}

/* The wall time at which a log was last written; 0: it is empty. */
static uint64_t log_written_ns(const struct jr_live_ranks *crew,
                               const char *path)
{
    struct stat file;
    if (path == NULL ||
        fstatat(crew->run_fd, path, &file, AT_SYMLINK_NOFOLLOW) != 0 ||
        file.st_size == 0)
        return 0;
    return (uint64_t)file.st_mtim.tv_sec * UINT64_C(1000000000) +
           (uint64_t)file.st_mtim.tv_nsec;
}

const char *jr_live_ranks_latest(const struct jr_live_ranks *crew,
                                 const struct jr_live_rank *rank)
{
    uint64_t out = log_written_ns(crew, rank->out);
    uint64_t err = log_written_ns(crew, rank->err);
    if (out == 0 && err == 0)
        return NULL;
    return err > out ? rank->err : rank->out;
}

double jr_live_ranks_silence(const struct jr_live_ranks *crew,
                             const struct jr_live_rank *rank)
{
    uint64_t now = jr_clock_wall_ns();
    uint64_t at = log_written_ns(crew, jr_live_ranks_latest(crew, rank));
    if (at == 0)
        return -1;
    return at > now ? 0 : (double)((now - at) / 1000000) / 1e3;
}
