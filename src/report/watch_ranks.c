#include "report/watch_ranks.h"

#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/strv.h"
#include "judge/hang_report.h"
#include "record/live_ranks.h"
#include "record/live_run.h"
#include "record/load_results.h"
#include "record/multinode.h"
#include "record/record_folder.h"
#include "report/screen.h"
#include "report/top.h"
#include "run/process_probe.h"

#include "base/banned.h"

enum {
    FIRST_MS = 500, /* before a first table: to see how time is spent */
    TERMINAL_MS = 1000,
    PLAIN_MS = 10000
};

/* Its jobrun may live longer than the run, because of a console that is not read. */
static bool is_run_live(const struct jr_top_watch *watch)
{
    struct jr_live live;
    if (jr_live_open(&live, watch->log_dir, watch->id, NULL) != 0)
        return false;
    bool running = live.standing == JR_STANDING_RUNNING;
    jr_live_close(&live);
    return running;
}

/* False once the reader has gone. */
static bool print_table(const struct jr_top_watch *watch, struct jr_top *top)
{
    JR_BUF_CLEANUP struct jr_buf table = JR_BUF_INIT;
    struct jr_top_view view = {0};
    jr_top_look(top);
    jr_top_print(&table, top, &view);
    return !table.failed && table.len > 0 &&
           jr_io_write_all(watch->out, table.data, table.len) == 0;
}

static void print_tables(const struct jr_top_watch *watch, const struct jr_live *live,
                         struct jr_top *top)
{
    struct pollfd fds[] = {{.fd = live->held.fd, .events = POLLIN}, {.fd = watch->out}};
    int ms = FIRST_MS;
    while (poll(fds, 2, ms) == 0 && is_run_live(watch) && print_table(watch, top) && !watch->once)
        ms = PLAIN_MS;
}

/* What is drawn, and on what. */
struct drawing {
    struct jr_screen screen;
    struct jr_top *top;
    struct jr_top_view view;
    uint64_t next_ns; /* when the ranks are looked at again */
    int signal;       /* that ends it; 0: none */
};

static bool draw_table(struct drawing *drawing)
{
    JR_BUF_CLEANUP struct jr_buf table = JR_BUF_INIT;
    struct jr_screen_size size = jr_screen_size(&drawing->screen);
    drawing->view.lines = size.lines;
    drawing->view.columns = size.columns;
    drawing->view.keys = drawing->screen.keys >= 0;
    jr_top_print(&table, drawing->top, &drawing->view);
    return !table.failed && jr_screen_draw(&drawing->screen, &table);
}

/* Signals and keys; whether it goes on. */
static bool hear_reader(struct drawing *drawing, bool signals, bool keys)
{
    char typed[64];
    size_t len = 0;
    enum jr_screen_event event = JR_SCREEN_NOTHING;
    if (signals)
        event = jr_screen_signals(&drawing->screen, &drawing->signal);
    if (keys)
        len = jr_screen_keys(&drawing->screen, typed, sizeof typed);
    if (event == JR_SCREEN_DIE || !jr_top_type(&drawing->view, typed, len))
        return false;
    return (event == JR_SCREEN_NOTHING && len == 0) || draw_table(drawing);
}

/* Look at the ranks once it is time to. */
static bool look_again(struct drawing *drawing, const struct jr_top_watch *watch)
{
    if (jr_clock_ns() < drawing->next_ns)
        return true;
    drawing->next_ns = jr_clock_ns() + TERMINAL_MS * UINT64_C(1000000);
    if (!is_run_live(watch))
        return false;
    jr_top_look(drawing->top);
    return draw_table(drawing);
}

static int ms_until(uint64_t ns)
{
    uint64_t now = jr_clock_ns();
    return now >= ns ? 0 : (int)((ns - now) / 1000000 + 1);
}

static void draw_tables(struct drawing *drawing, const struct jr_top_watch *watch,
                        const struct jr_live *live)
{
    bool going_on = draw_table(drawing);
    drawing->next_ns = jr_clock_ns() + FIRST_MS * UINT64_C(1000000);
    while (going_on) {
        struct pollfd fds[] = {{.fd = live->held.fd, .events = POLLIN},
                               {.fd = drawing->screen.out},
                               {.fd = drawing->screen.signals, .events = POLLIN},
                               {.fd = drawing->screen.keys, .events = POLLIN}};
        (void)poll(fds, 4, ms_until(drawing->next_ns));
        going_on = fds[0].revents == 0 && fds[1].revents == 0 &&
                   hear_reader(drawing, fds[2].revents != 0, fds[3].revents != 0) &&
                   look_again(drawing, watch);
    }
}

int jr_watch_ranks(const struct jr_top_watch *watch, const struct jr_live *live, int *ret_signal,
                   struct jr_error *err)
{
    struct jr_top top;
    struct drawing drawing = {.top = &top};
    char part[300];
    *ret_signal = 0;
    (void)snprintf(part, sizeof part, "%s%s%s", watch->id, live->part == NULL ? "" : "/",
                   live->part == NULL ? "" : live->part);
    if (jr_top_open(&top, watch->log_dir, part, live->pid, err) != 0)
        return -1;
    jr_top_look(&top);
    if (watch->terminal && !watch->once && jr_screen_open(&drawing.screen, watch->in, watch->out)) {
        draw_tables(&drawing, watch, live);
        jr_screen_close(&drawing.screen);
        *ret_signal = drawing.signal;
    } else {
        print_tables(watch, live, &top);
    }
    jr_top_close(&top);
    return 0;
}

/* What is typed into `top`, which top.h declares. */

/* The keys that scroll, as terminals send them (xterm, VT100, VT220). */
enum scroll { UP, DOWN, PAGE_UP, PAGE_DOWN, HOME, END, SCROLLS };

struct scroll_key {
    const char *bytes;
    enum scroll scroll;
};

static const struct scroll_key scroll_keys[] = {
    {"\033[A", UP},       {"\033OA", UP},   {"k", UP},
    {"\033[B", DOWN},     {"\033OB", DOWN}, {"j", DOWN},
    {"\033[5~", PAGE_UP}, {"b", PAGE_UP},   {"\033[6~", PAGE_DOWN},
    {" ", PAGE_DOWN},     {"\033[H", HOME}, {"\033OH", HOME},
    {"\033[1~", HOME},    {"g", HOME},      {"\033[F", END},
    {"\033OF", END},      {"\033[4~", END}, {"G", END},
};

static void scroll_view(struct jr_top_view *view, enum scroll scroll)
{
    size_t page = view->page > 1 ? view->page : 1, first = view->first;
    const size_t to[SCROLLS] = {
        [UP] = first > 0 ? first - 1 : 0,
        [DOWN] = first + 1,
        [PAGE_UP] = first > page ? first - page : 0,
        [PAGE_DOWN] = first + page,
        [HOME] = 0,
        [END] = SIZE_MAX,
    };
    view->first = to[scroll];
}

static void sort_view(struct jr_top_view *view, enum jr_top_sort sort)
{
    view->reversed = view->chosen && view->sort == sort && !view->reversed;
    view->chosen = true;
    view->sort = sort;
    view->first = 0;
}

/* The length of a control sequence (ECMA-48, 5.4), whatever it means. */
static size_t sequence_length(const char *keys, size_t len)
{
    size_t at = 2;
    if (len < 2 || keys[0] != '\033' || (keys[1] != '[' && keys[1] != 'O'))
        return 1;
    while (at < len && (unsigned char)keys[at] < '@')
        at++;
    return at < len ? at + 1 : len;
}

static void type_key(struct jr_top_view *view, const char *key, size_t len)
{
    static const char sorts[] = {
#define KEY(name, key, word) key,
        JR_TOP_SORTS(KEY)
#undef KEY
    };
    for (size_t i = 0; i < sizeof scroll_keys / sizeof *scroll_keys; i++)
        if (strlen(scroll_keys[i].bytes) == len && memcmp(scroll_keys[i].bytes, key, len) == 0)
            scroll_view(view, scroll_keys[i].scroll);
    for (size_t i = 0; i < JR_TOP_SORT_COUNT; i++)
        if (len == 1 && *key == sorts[i])
            sort_view(view, (enum jr_top_sort)i);
}

bool jr_top_type(struct jr_top_view *view, const char *keys, size_t len)
{
    while (len > 0) {
        size_t key = sequence_length(keys, len);
        if (*keys == 'q' || *keys == 'Q')
            return false;
        type_key(view, keys, key);
        keys += key;
        len -= key;
    }
    return true;
}

static const long INTERVAL_NS = 500000000;

/* What hung left in the folder of its last attempt. */
static void add_saved_stacks(json_t *list, const struct jr_loaded_run *loaded, int fd,
                             const struct jr_set *ranks)
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

static json_t *saved_stacks(const char *log_dir, const char *id, const struct jr_stacks_view *view,
                            struct jr_error *err)
{
    struct jr_loaded_run loaded;
    JR_BUF_CLEANUP struct jr_buf name = JR_BUF_INIT;
    JR_CLOSE int fd = jr_record_folder_open(log_dir, id, err);
    if (fd < 0 || jr_record_folder_results(&name, fd, id, view->attempt, err) != 0 ||
        jr_loaded_run_load(&loaded, fd, name.data, log_dir, id, err) != 0)
        return NULL;
    json_t *list = json_array();
    add_saved_stacks(list, &loaded, fd, view->ranks);
    jr_loaded_run_release(&loaded);
    return list;
}

/* One look at all ranks: `probes` has one for each of the live. */
static void probe_ranks(const struct jr_live_ranks *live, const struct jr_set *ranks,
                        struct jr_process_probe *probes)
{
    size_t count = 0;
    struct jr_proc *all = jr_proc_all(&count);
    for (size_t i = 0; all != NULL && i < live->count; i++) {
        const struct jr_live_rank *rank = &live->items[i];
        if (jr_set_has(ranks, rank->rank) && jr_live_ranks_lives(live, rank, all, count))
            jr_process_probe_read(&probes[i], all, count, rank->pid);
    }
    free(all);
}

static json_t *probe_evidence(const struct jr_live_ranks *live, size_t i,
                              const struct jr_process_probe *now,
                              const struct jr_process_probe *before, uint64_t took_ns)
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
    jr_json_set(object, "silent_seconds", silence < 0 ? json_null() : json_real(silence));
    jr_json_set_real(object, "interval_seconds", (double)(took_ns / 1000000) / 1e3);
    jr_json_set_real(object, "cpu_seconds",
                     (double)(jr_process_probe_used(now, before) / 1000000) / 1e3);
    jr_json_set(object, "processes", jr_process_probe_json(now, before));
    return object;
}

static json_t *live_stacks(const struct jr_live_ranks *live, const struct jr_set *ranks)
{
    JR_FREE struct jr_process_probe *before = calloc(live->count + 1, sizeof *before);
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
            jr_json_append(list, probe_evidence(live, i, &now[i], &before[i], took));
        jr_process_probe_release(&before[i]);
        jr_process_probe_release(&now[i]);
    }
    return list;
}

static json_t *collect_stacks(const char *log_dir, const char *id,
                              const struct jr_stacks_view *view, struct jr_error *err)
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
                           "run '%s' has no results, and is not running here", id);
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
json_t *jr_stacks_of(const char *log_dir, const char *id, const struct jr_stacks_view *view,
                     struct jr_error *err)
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
