#include "report/top.h"

#include <inttypes.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/names.h"
#include "base/strv.h"
#include "base/utf8.h"
#include "judge/hang_report.h"
#include "judge/judge.h"
#include "output/sanitize.h"
#include "record/live_ranks.h"
#include "record/live_run.h"
#include "record/load_results.h"
#include "record/multinode.h"
#include "record/record_folder.h"
#include "report/internal.h"
#include "run/process_probe.h"
#include "store/progress.h"

#include "base/banned.h"

enum { FAMILY = 64, HEADING_LINES = 2, LAST_LINE_MOST = 4096 };

/* A rank as it was seen last. */
struct jr_top_row {
    bool lives;
    char state;
    uint64_t cpu_ns, rss_bytes;
    double load;    /* processors that it used since the look before */
    double silence; /* seconds; -1: it wrote nothing */
};

static void measure_rank(struct jr_top_row *row, const struct jr_proc *all, size_t count,
                         const struct jr_live_rank *rank, uint64_t passed_ns)
{
    size_t family[FAMILY];
    size_t found = jr_proc_family(all, count, rank->pid, family, FAMILY);
    uint64_t before = row->cpu_ns, cpu = 0, rss = 0;
    for (size_t i = 0; i < found; i++) {
        cpu += all[family[i]].cpu_ns;
        rss += all[family[i]].rss_bytes;
    }
    if (passed_ns == 0 || before == 0) {
        struct timespec now; /* since the boot, which is what processes' start times count from */
        uint64_t tick = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
        uint64_t began = all[family[0]].start_ticks * tick;
        (void)clock_gettime(CLOCK_BOOTTIME, &now);
        uint64_t up = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
        before = 0;
        passed_ns = up > began ? up - began : 0;
    }
    row->state = all[family[0]].state;
    row->cpu_ns = cpu;
    row->rss_bytes = rss;
    row->load = passed_ns == 0 || cpu < before ? 0 : (double)(cpu - before) / (double)passed_ns;
}

/* How far the job is, and each rank where several are watched. */
static void look_at_progress(struct jr_top *top)
{
    json_auto_t *object = jr_record_folder_progress(top->live.run_fd);
    const json_t *ranks = json_object_get(object, "ranks");
    jr_progress_free(top->progress);
    top->progress = object == NULL ? NULL : jr_progress_new((uint32_t)top->live.count);
    if (top->progress != NULL)
        jr_progress_get(top->progress, object);
    for (size_t n = 0; top->progress != NULL && n < json_array_size(ranks); n++) {
        const json_t *row = json_array_get(ranks, n);
        const struct jr_live_rank *rank =
            jr_live_ranks_find(&top->live, jr_json_get_int(row, "rank"));
        if (rank != NULL)
            jr_progress_get_rank(&top->progress->ranks[rank - top->live.items], top->progress, row);
    }
}

void jr_top_look(struct jr_top *top)
{
    size_t count = 0;
    jr_live_ranks_update(&top->live);
    if (top->count != top->live.count || top->rows == NULL) { /* another attempt, another plan */
        free(top->rows);
        top->count = top->live.count;
        top->rows = calloc(top->count + 1, sizeof *top->rows);
        top->looked_ns = 0;
    }
    if (top->rows == NULL)
        return;
    uint64_t now = jr_clock_ns();
    uint64_t passed = top->looked_ns == 0 ? 0 : now - top->looked_ns;
    JR_FREE struct jr_proc *all = jr_proc_all(&count);
    for (size_t i = 0; i < top->count; i++) {
        const struct jr_live_rank *rank = &top->live.items[i];
        struct jr_top_row *row = &top->rows[i];
        row->lives = all != NULL && jr_live_ranks_lives(&top->live, rank, all, count);
        row->silence = jr_live_ranks_silence(&top->live, rank);
        if (row->lives)
            measure_rank(row, all, count, rank, passed);
    }
    top->looked_ns = now;
    look_at_progress(top);
    uint64_t wall = jr_clock_wall_ns(), began = top->live.started_ns;
    top->elapsed_ns = wall > began && began > 0 ? wall - began : 0;
}

/* What a living process does, by the letter of proc(5), the least usual first.
 */
struct state_word {
    const char *letters, *word;
};

static const struct state_word states[] = {
    {"Tt", "stopped"}, {"D", "blocked"}, {"ZXx", "ending"}, {"R", "running"}, {"SI", "waiting"}};

enum { STATES = sizeof states / sizeof *states };

static int state_index(char letter)
{
    for (int i = 0; i < STATES; i++)
        if (letter != '\0' && strchr(states[i].letters, letter) != NULL)
            return i;
    return 2;
}

/* In this order ranks are sorted by state. */
static int state_weight(const struct jr_live_rank *rank, const struct jr_top_row *row)
{
    if (row->lives)
        return state_index(row->state);
    if (rank->ended)
        return rank->signal != 0 ? STATES : rank->exit_code != 0 ? STATES + 1 : STATES + 2;
    return STATES + 3;
}

static void add_state(struct jr_buf *out, const struct jr_live_rank *rank,
                      const struct jr_top_row *row)
{
    char word[JR_SIGNAL_NAME];
    if (row->lives)
        (void)snprintf(word, sizeof word, "%s", states[state_index(row->state)].word);
    else if (rank->ended && rank->signal != 0)
        jr_signal_name(word, rank->signal);
    else if (rank->ended)
        (void)snprintf(word, sizeof word, "exit %d", rank->exit_code);
    else
        (void)snprintf(word, sizeof word, "%s", rank->pid != 0 ? "ended" : "not here");
    jr_buf_printf(out, "%-10s", word);
}

static void add_size(struct jr_buf *out, uint64_t bytes)
{
    static const char units[] = "KMGTP";
    double value = (double)bytes / 1024;
    size_t unit = 0;
    while (value >= 9999.5 && unit + 2 < sizeof units) {
        value /= 1024;
        unit++;
    }
    jr_buf_printf(out, "%4.0f %ciB", value, units[unit]);
}

/* Where several ranks are watched, the step of each and its rate. */
static void add_step_column(struct jr_buf *out, const struct jr_top *top, size_t i)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (top->progress == NULL || !top->progress->all)
        return;
    const struct jr_steps *steps = i < top->progress->count ? &top->progress->ranks[i] : NULL;
    if (steps != NULL && steps->any)
        jr_buf_printf(&text, "%" PRId64, steps->step);
    if (steps != NULL && steps->any && steps->rate > 0)
        jr_buf_printf(&text, " %.3g/s", steps->rate);
    jr_buf_printf(out, "  %16s", text.len > 0 ? text.data : "-");
}

/* The last line of the log that was written last. */
static void add_last_line(struct jr_buf *out, const struct jr_live_ranks *live,
                          const struct jr_live_rank *rank)
{
    JR_BUF_CLEANUP struct jr_buf tail = JR_BUF_INIT;
    const char *path = jr_live_ranks_latest(live, rank);
    if (path != NULL)
        jr_run_file_tail(&tail, live->run_fd, path, 1);
    if (tail.len == 0)
        return;
    size_t len = tail.len;
    const char *line = jr_sanitize_redrawn(tail.data, &len);
    jr_buf_escaped(out, line, len < LAST_LINE_MOST ? len : LAST_LINE_MOST);
}

/* One line, cut where the columns end; 0: they do not. */
static void add_cut_line(struct jr_buf *out, const struct jr_buf *line, unsigned columns)
{
    size_t len = columns == 0 ? line->len : jr_utf8_fit(line->data, line->len, columns);
    while (len > 0 && line->data[len - 1] == ' ')
        len--;
    jr_buf_add(out, line->data, len);
    jr_buf_char(out, '\n');
}

static void add_rank_row(struct jr_buf *out, const struct jr_top *top, size_t i, unsigned columns)
{
    const struct jr_live_rank *rank = &top->live.items[i];
    const struct jr_top_row *row = &top->rows[i];
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    jr_buf_printf(&line, "%6u  ", rank->rank);
    add_state(&line, rank, row);
    if (row->lives) {
        jr_buf_printf(&line, "%9d  %4.0f %%  ", (int)rank->pid, row->load * 100);
        add_size(&line, row->rss_bytes);
    } else {
        jr_buf_printf(&line, "%9s  %6s  %8s", "-", "-", "-");
    }
    JR_BUF_CLEANUP struct jr_buf silence = JR_BUF_INIT;
    if (row->silence >= 0)
        jr_clock_human(&silence, jr_clock_ns_of(row->silence));
    jr_buf_printf(&line, "%10s", silence.len > 0 ? silence.data : "-");
    add_step_column(&line, top, i);
    jr_buf_str(&line, "  ");
    add_last_line(&line, &top->live, rank);
    out->failed |= line.failed;
    if (!line.failed)
        add_cut_line(out, &line, columns);
}

/* What the order is made of. */
struct order {
    const struct jr_top *top;
    enum jr_top_sort sort;
    bool reversed;
};

/* Ranks with more come first. What they had before they ended does not count.
 */
static double rank_weight(const struct order *order, size_t i)
{
    const struct jr_live_rank *rank = &order->top->live.items[i];
    const struct jr_top_row *row = &order->top->rows[i];
    switch (order->sort) {
    case JR_TOP_BY_STATE:
        return -state_weight(rank, row);
    case JR_TOP_BY_CPU:
        return row->lives ? row->load : -1;
    case JR_TOP_BY_MEMORY:
        return row->lives ? (double)row->rss_bytes : -1;
    case JR_TOP_BY_SILENCE:
        return row->lives ? row->silence : -2;
    case JR_TOP_BY_RANK:
    case JR_TOP_SORT_COUNT:
        break;
    }
    return -(double)rank->rank;
}

static int compare_weights(const void *a, const void *b, void *data)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    const struct order *order = data;
    double first = rank_weight(order, x), second = rank_weight(order, y);
    if (first > second || first < second)
        return (first > second) == order->reversed ? 1 : -1;
    return (x > y) - (x < y);
}

static void add_summary(struct jr_buf *out, const struct jr_top *top, unsigned columns)
{
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    size_t lives = 0;
    double load = 0;
    uint64_t rss = 0;
    for (size_t i = 0; i < top->count; i++) {
        if (!top->rows[i].lives)
            continue;
        lives++;
        load += top->rows[i].load;
        rss += top->rows[i].rss_bytes;
    }
    if (top->live.name != NULL)
        jr_buf_escaped(&line, top->live.name, strlen(top->live.name));
    jr_buf_str(&line, line.len > 0 ? "  " : "");
    uint64_t seconds = top->elapsed_ns / 1000000000;
    jr_buf_printf(&line, "%" PRIu64 ":%02u:%02u", seconds / 3600, (unsigned)(seconds / 60 % 60),
                  (unsigned)(seconds % 60));
    jr_buf_printf(&line, "  %zu of %zu ranks live, %.1f CPUs, ", lives, top->count, load);
    add_size(&line, rss);
    if (top->progress != NULL && top->progress->job.any) {
        jr_buf_str(&line, "  ");
        jr_progress_words(&line, top->progress, false, false);
    }
    if (line.failed)
        return;
    /* It is cut where a part of it ends: at a comma, a semicolon or a gap. */
    size_t len = columns == 0 ? line.len : jr_utf8_fit(line.data, line.len, columns), end = len;
    while (len < line.len && end > 0 && strncmp(line.data + end, ", ", 2) != 0 &&
           strncmp(line.data + end, "; ", 2) != 0 && strncmp(line.data + end, "  ", 2) != 0)
        end--;
    if (end > 0)
        line.len = end;
    add_cut_line(out, &line, columns);
}

/* Which ranks are shown, and what may be typed. */
static void add_footer(struct jr_buf *out, const struct jr_top *top, const struct jr_top_view *view,
                       enum jr_top_sort sort)
{
    static const struct {
        char key;
        const char *word;
    } sorts[] = {
#define ROW(name, key, word) {key, word},
        JR_TOP_SORTS(ROW)
#undef ROW
    };
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    size_t first = view->page == 0 ? 0 : view->first + 1;
    jr_buf_printf(&line, "%zu-%zu of %zu, by %s", first, view->first + view->page, top->count,
                  sorts[sort].word);
    if (view->keys) {
        jr_buf_str(&line, view->page < top->count ? "  q quit  arrows " : "  q quit ");
        for (size_t i = 0; i < JR_TOP_SORT_COUNT; i++)
            jr_buf_printf(&line, " %c %s", sorts[i].key, sorts[i].word);
    }
    if (!line.failed)
        add_cut_line(out, &line, view->columns);
}

void jr_top_print(struct jr_buf *out, const struct jr_top *top, struct jr_top_view *view)
{
    if (top->rows == NULL)
        return;
    /* How the lines of the view are used. */
    bool heading = view->lines == 0 || view->lines >= 4;
    bool footer = view->lines >= 3 && (view->keys || top->count + HEADING_LINES > view->lines);
    size_t room = view->lines == 0 ? top->count : view->lines - 1 - heading - footer;
    size_t rows = top->count < room ? top->count : room;
    enum jr_top_sort sort = view->chosen         ? view->sort
                            : rows == top->count ? JR_TOP_BY_RANK
                                                 : JR_TOP_BY_SILENCE;
    struct order order = {top, sort, view->reversed};
    JR_FREE size_t *ranks = calloc(top->count + 1, sizeof *ranks);
    if (ranks == NULL)
        return;
    for (size_t i = 0; i < top->count; i++)
        ranks[i] = i;
    if (top->count > 0)
        qsort_r(ranks, top->count, sizeof *ranks, compare_weights, &order);
    view->page = rows;
    if (view->first > top->count - rows)
        view->first = top->count - rows;
    add_summary(out, top, view->columns);
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    bool steps = top->progress != NULL && top->progress->all;
    jr_buf_str(&line, "  rank  state            pid     CPU    memory    silent  ");
    jr_buf_str(&line, steps ? "      step, rate  last line" : "last line");
    if (heading && !line.failed)
        add_cut_line(out, &line, view->columns);
    for (size_t i = 0; i < rows; i++)
        add_rank_row(out, top, ranks[view->first + i], view->columns);
    if (footer)
        add_footer(out, top, view, sort);
}

int jr_top_open(struct jr_top *ret, const char *log_dir, const char *id, int32_t guard,
                struct jr_error *err)
{
    *ret = (struct jr_top){0};
    return jr_live_ranks_open(&ret->live, log_dir, id, guard, err);
}

void jr_top_close(struct jr_top *top)
{
    jr_live_ranks_close(&top->live);
    jr_progress_free(top->progress);
    free(top->rows);
    *top = (struct jr_top){0};
}

/* The loop of `top`, and what is typed into it. */

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

/* What is drawn, and on what. */
struct drawing {
    struct jr_screen screen;
    struct jr_top *top;
    struct jr_top_view view;
    int signal; /* that ends it; 0: none */
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

static void draw_tables(struct drawing *drawing, const struct jr_top_watch *watch,
                        const struct jr_live *live)
{
    bool going_on = draw_table(drawing);
    uint64_t next_ns = jr_clock_ns() + FIRST_MS * UINT64_C(1000000); /* the ranks are looked at */
    while (going_on) {
        struct pollfd fds[] = {{.fd = live->held.fd, .events = POLLIN},
                               {.fd = drawing->screen.out},
                               {.fd = drawing->screen.signals, .events = POLLIN},
                               {.fd = drawing->screen.keys, .events = POLLIN}};
        (void)poll(fds, 4, jr_clock_poll_ms(next_ns));
        going_on = fds[0].revents == 0 && fds[1].revents == 0 &&
                   hear_reader(drawing, fds[2].revents != 0, fds[3].revents != 0);
        if (!going_on || jr_clock_ns() < next_ns)
            continue;
        next_ns = jr_clock_ns() + TERMINAL_MS * UINT64_C(1000000);
        going_on = is_run_live(watch);
        if (going_on) {
            jr_top_look(drawing->top);
            going_on = draw_table(drawing);
        }
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
        struct pollfd fds[] = {{.fd = live->held.fd, .events = POLLIN}, {.fd = watch->out}};
        bool heard = true; /* the reader is there */
        for (int ms = FIRST_MS; heard && poll(fds, 2, ms) == 0 && is_run_live(watch);
             ms = PLAIN_MS) {
            JR_BUF_CLEANUP struct jr_buf table = JR_BUF_INIT;
            struct jr_top_view view = {0};
            jr_top_look(&top);
            jr_top_print(&table, &top, &view);
            heard = !table.failed && table.len > 0 &&
                    jr_io_write_all(watch->out, table.data, table.len) == 0 && !watch->once;
        }
    }
    jr_top_close(&top);
    return 0;
}

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
        if (len == 1 && *key == sorts[i]) {
            enum jr_top_sort sort = (enum jr_top_sort)i;
            view->reversed = view->chosen && view->sort == sort && !view->reversed;
            view->chosen = true;
            view->sort = sort;
            view->first = 0;
        }
}

bool jr_top_type(struct jr_top_view *view, const char *keys, size_t len)
{
    while (len > 0) {
        size_t key = 1; /* or a control sequence (ECMA-48, 5.4), whatever it means */
        if (len >= 2 && keys[0] == '\033' && (keys[1] == '[' || keys[1] == 'O'))
            for (key = 2; key < len && (unsigned char)keys[key] < '@';)
                key++;
        if (key > 1 && key < len)
            key++;
        if (*keys == 'q' || *keys == 'Q')
            return false;
        type_key(view, keys, key);
        keys += key;
        len -= key;
    }
    return true;
}

/* The stacks of the ranks. */

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

static json_t *saved_stacks(const char *log_dir, const char *id, const struct jr_set *ranks,
                            const uint32_t *attempt, struct jr_error *err)
{
    struct jr_loaded_run loaded;
    JR_BUF_CLEANUP struct jr_buf name = JR_BUF_INIT;
    JR_CLOSE int fd = jr_record_folder_open(log_dir, id, err);
    if (fd < 0 || jr_record_folder_results(&name, fd, id, attempt, err) != 0 ||
        jr_loaded_run_load(&loaded, fd, name.data, log_dir, id, err) != 0)
        return NULL;
    json_t *list = json_array();
    add_saved_stacks(list, &loaded, fd, ranks);
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

static json_t *collect_stacks(const char *log_dir, const char *id, const struct jr_set *ranks,
                              const uint32_t *attempt, struct jr_error *err)
{
    struct jr_live live;
    struct jr_live_ranks live_ranks;
    if (jr_live_open(&live, log_dir, id, err) != 0)
        return NULL;
    enum jr_standing standing = live.standing;
    int32_t guard = live.pid;
    jr_live_close(&live);
    if (standing == JR_STANDING_FINISHED || attempt != NULL)
        return saved_stacks(log_dir, id, ranks, attempt, err);
    if (standing != JR_STANDING_RUNNING) {
        (void)jr_error_set(err, JR_STATUS_LAUNCH,
                           "run '%s' has no results, and is not running here", id);
        return NULL;
    }
    if (jr_live_ranks_open(&live_ranks, log_dir, id, guard, err) != 0)
        return NULL;
    json_t *list = live_stacks(&live_ranks, ranks);
    if (list == NULL)
        (void)jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    jr_live_ranks_close(&live_ranks);
    return list;
}

/* For a run in parts, those that are available. */
json_t *jr_stacks_of(const char *log_dir, const char *id, const struct jr_set *ranks,
                     const uint32_t *attempt, struct jr_error *err)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_strv ids = jr_multinode_ids(&arena, log_dir, id);
    json_t *all = NULL;
    for (size_t i = 0; i < ids.count; i++) {
        json_t *list = collect_stacks(log_dir, ids.items[i], ranks, attempt, err);
        if (all == NULL)
            all = list;
        else if (list != NULL)
            (void)json_array_extend(all, list);
        if (all != list)
            json_decref(list);
    }
    return all;
}

void jr_stacks_print(struct jr_buf *out, const json_t *stacks)
{
    for (size_t i = 0; i < json_array_size(stacks); i++)
        jr_thread_state_stacks(out, json_array_get(stacks, i));
}
