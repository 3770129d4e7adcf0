/*
 * What print_parts.h offers to both ways of printing a plan, and the two tables of the one for
 * people: the mesh with its groups, and the ranks.
 */
#include "plan/print_parts.h"

#include <stdio.h>
#include <string.h>

#include "base/diff_table.h"
#include "base/redact.h"
#include "base/strv.h"
#include "plan/mesh_grid.h"
#include "plan/planner.h"

#include "base/banned.h"

enum {
    CELLS_MAX = 8,  /* a longer line of the mesh is one range */
    LINES_MAX = 16, /* of the mesh; then the first ones and the last */
    LIST_MAX = 4,   /* a group of more ranks is a range */
    GROUPS_MAX = 8, /* of one axis; then the first ones */
    WIDTH = 88,     /* groups on one line, without the proof */
    ROWS_EACH = 64, /* a larger world shows runs of like ranks */
    ROWS_MAX = 64,  /* of ranks; then the first ones */
};

#define AXIS_WORD(name, word, help) word,
const char *const jr_show_axis[JR_AXIS_COUNT] = {JR_AXES(AXIS_WORD)};

bool jr_show_secret(const struct jr_plan *plan, const char *item)
{
    return jr_env_matches(plan->secrets, plan->secrets_count, item, strcspn(item, "="));
}

void jr_telling_pass(struct jr_telling *telling, bool more)
{
    enum { ENOUGH = 1 << 16 };
    struct jr_buf *out = telling->out;
    if (more && (telling->drain == NULL || out->len < ENOUGH))
        return;
    jr_redact(out, telling->from, telling->plan->hidden, telling->json);
    if (telling->drain == NULL || telling->ended || out->failed)
        return;
    telling->ended = telling->drain->take(telling->drain->data, out) != 0;
    telling->from = 0;
}

/* The fastest axis that has a size: the lines of the table run along it. */
static enum jr_axis line_axis(const struct jr_grid *grid)
{
    for (enum jr_axis axis = 0; axis < JR_AXIS_COUNT; axis++)
        if (grid->size[axis] > 1)
            return axis;
    return JR_AXIS_DATA;
}

/* Pad the text since `start` to `width`. */
static void pad_mesh_text(struct jr_buf *out, size_t start, size_t width)
{
    size_t len = out->len - start;
    jr_buf_fill(out, ' ', len < width ? width - len : 1);
}

static unsigned count_digits(uint32_t number)
{
    unsigned count = 1;
    for (; number >= 10; number /= 10)
        count++;
    return count;
}

/* The width of an axis among the labels before a line; 0: not named. */
static size_t label_width(const struct jr_grid *grid, enum jr_axis axis)
{
    if (axis <= line_axis(grid) || grid->size[axis] == 1)
        return 0;
    return strlen(jr_show_axis[axis]) + count_digits(grid->size[axis] - 1) + 3;
}

/* "data 0  pipeline 0  " for the line that begins with `rank`, blank where the
 * line above said the same; `all` where there are lines left out above. */
static void print_labels(struct jr_buf *out, const struct jr_grid *grid, uint32_t rank, bool all)
{
    uint32_t line = grid->size[line_axis(grid)];
    for (enum jr_axis axis = JR_AXIS_COUNT; axis-- > 0;) {
        size_t start = out->len, width = label_width(grid, axis);
        uint32_t at = jr_grid_at(grid, rank, axis);
        if (width == 0)
            continue;
        if (all || rank < line || jr_grid_at(grid, rank - line, axis) != at)
            jr_buf_printf(out, "%s %u", jr_show_axis[axis], at);
        pad_mesh_text(out, start, width);
    }
}

/* Append the numbers from `first` on along the line, each after `word`. */
static void print_line(struct jr_buf *out, const struct jr_grid *grid, const char *word,
                       uint32_t first)
{
    enum jr_axis axis = line_axis(grid);
    uint32_t size = grid->size[axis];
    if (size > CELLS_MAX) {
        jr_buf_printf(out, "%s%u-%u\n", word, first, first + size - 1);
        return;
    }
    for (uint32_t i = 0; i < size; i++) {
        size_t start = out->len;
        jr_buf_printf(out, "%s%u", word, first + i);
        if (i + 1 < size)
            pad_mesh_text(out, start, strlen(jr_show_axis[axis]) + 5);
    }
    jr_buf_char(out, '\n');
}

static void print_mesh_head(struct jr_buf *out, const struct jr_grid *grid)
{
    char word[32];
    (void)snprintf(word, sizeof word, "%s ", jr_show_axis[line_axis(grid)]);
    for (enum jr_axis axis = 0; axis < JR_AXIS_COUNT; axis++)
        jr_buf_fill(out, ' ', label_width(grid, axis));
    print_line(out, grid, word, 0);
}

/* One axis alone needs no table: its only line is its only group. */
static void print_mesh_table(struct jr_buf *out, const struct jr_grid *grid)
{
    uint32_t size = grid->size[line_axis(grid)];
    uint32_t lines = jr_grid_world(grid) / size;
    if (lines == 1)
        return;
    print_mesh_head(out, grid);
    for (uint32_t line = 0; line < lines; line++) {
        bool cut = lines > LINES_MAX && line == LINES_MAX / 2;
        if (cut) {
            jr_buf_printf(out, "...     %u more lines\n", lines - LINES_MAX / 2 - 1);
            line = lines - 1;
        }
        print_labels(out, grid, line * size, cut);
        print_line(out, grid, "", line * size);
    }
}

/* Members are evenly spaced: a short list, or first-last/step. */
static void print_mesh_group(struct jr_buf *out, const struct jr_grid *grid, enum jr_axis axis,
                             uint32_t group)
{
    uint32_t size = grid->size[axis];
    uint32_t first = jr_grid_member(grid, axis, group, 0);
    jr_buf_printf(out, " %u", first);
    if (size > LIST_MAX) {
        uint32_t step = jr_grid_member(grid, axis, group, 1) - first;
        jr_buf_printf(out, "-%u", first + (size - 1) * step);
        if (step > 1)
            jr_buf_printf(out, "/%u", step);
        return;
    }
    for (uint32_t i = 1; i < size; i++)
        jr_buf_printf(out, ",%u", jr_grid_member(grid, axis, group, i));
}

static void print_axis(struct jr_buf *out, const struct jr_grid *grid, enum jr_axis axis)
{
    uint32_t groups = jr_grid_groups(grid, axis);
    uint32_t shown = groups > GROUPS_MAX ? GROUPS_MAX / 2 : groups;
    jr_buf_str(out, jr_show_axis[axis]);
    for (uint32_t group = 0; group < shown; group++)
        print_mesh_group(out, grid, axis, group);
    if (shown == groups)
        return;
    jr_buf_str(out, " ..");
    print_mesh_group(out, grid, axis, groups - 1);
    jr_buf_printf(out, " (%u groups)", groups);
}

static void print_mesh_axes(struct jr_buf *out, const struct jr_grid *grid, const char *between)
{
    const char *before = "";
    for (enum jr_axis axis = 0; axis < JR_AXIS_COUNT; axis++) {
        if (grid->size[axis] == 1)
            continue;
        jr_buf_str(out, before);
        print_axis(out, grid, axis);
        before = between;
    }
}

/* On one line where they fit, else an axis a line. */
static void print_mesh_groups(struct jr_buf *out, const struct jr_grid *grid)
{
    struct jr_error err = {0};
    size_t start = out->len;
    jr_buf_str(out, "groups  ");
    print_mesh_axes(out, grid, "   ");
    if (out->len - start > WIDTH && !out->failed) {
        out->len = start;
        jr_buf_str(out, "groups  ");
        print_mesh_axes(out, grid, "\n        ");
    }
    if (jr_grid_world(grid) == 1)
        jr_buf_str(out, "one rank, its own group on each axis");
    if (jr_grid_prove(grid, &err) < 0 && err.status == JR_STATUS_LAUNCH)
        out->failed = true; /* because memory ran out */
    else if (err.text[0] != '\0')
        jr_buf_printf(out, "      NOT PROVED: %s\n", err.text);
    else
        jr_buf_printf(out, "      proved: each axis partitions 0-%u\n", jr_grid_world(grid) - 1);
}

void jr_show_mesh(struct jr_buf *out, const struct jr_plan *plan)
{
    struct jr_grid grid;
    memcpy(grid.size, plan->axis_size, sizeof grid.size);
    jr_buf_printf(out, "%u rank%s = data %u x pipeline %u x model %u", plan->world_size,
                  plan->world_size == 1 ? "" : "s", grid.size[JR_AXIS_DATA],
                  grid.size[JR_AXIS_PIPELINE], grid.size[JR_AXIS_MODEL]);
    jr_buf_str(out, "       layout [data][pipeline][model], model fastest\n");
    print_mesh_table(out, &grid);
    print_mesh_groups(out, &grid);
}

/* Ranks first .. last, which the table shows as one row. */
struct run {
    const struct jr_plan *plan;
    struct jr_plan_rank first, last;
    bool hint; /* tell how to see the environment */
};

static void add_rank_run(struct jr_buf *out, uint32_t first, uint32_t last)
{
    jr_buf_printf(out, "%u", first);
    if (last != first)
        jr_buf_printf(out, "-%u", last);
}

static void cell_rank(struct jr_buf *out, const struct run *run)
{
    add_rank_run(out, run->first.rank, run->last.rank);
}

static void cell_node(struct jr_buf *out, const struct run *run)
{
    const char *host = run->plan->hosts != NULL ? run->plan->hosts[run->first.node_rank] : NULL;
    jr_buf_printf(out, "%u", run->first.node_rank);
    if (host != NULL) {
        jr_buf_char(out, ' ');
        jr_buf_safe(out, host);
    }
}

static void cell_local(struct jr_buf *out, const struct run *run)
{
    add_rank_run(out, run->first.local_rank, run->last.local_rank);
}

/* "GPU 0 (H100)"; a UUID says itself what it is. */
static void cell_device(struct jr_buf *out, const struct run *run)
{
    const char *kind = run->plan->device_name;
    const char *first = run->first.device, *last = run->last.device;
    if (first == NULL) {
        jr_buf_safe(out, kind);
        return;
    }
    if (strcmp(kind, "cuda") == 0 || strcmp(kind, "rocm") == 0)
        kind = "GPU";
    if (strspn(first, "0123456789") == strlen(first)) {
        jr_buf_safe(out, kind);
        jr_buf_char(out, ' ');
    }
    jr_buf_safe(out, first);
    if (strcmp(first, last) != 0) {
        jr_buf_str(out, " .. ");
        jr_buf_safe(out, last);
    }
    if (run->first.device_model != NULL) {
        jr_buf_str(out, " (");
        jr_buf_safe(out, run->first.device_model);
        jr_buf_char(out, ')');
    }
}

static void cell_cpus(struct jr_buf *out, const struct run *run)
{
    jr_buf_str(out, run->first.cpus != NULL ? run->first.cpus : "any");
}

static void cell_threads(struct jr_buf *out, const struct run *run)
{
    jr_buf_printf(out, "%u", run->first.threads);
}

static void add_sink(struct jr_buf *out, const struct run *run, enum jr_sink sink)
{
    if (sink == JR_SINK_INHERIT)
        jr_buf_str(out, "inherited");
    else if (!(sink & JR_SINK_CONSOLE))
        jr_buf_str(out, "file");
    else
        jr_buf_str(out, run->first.on_console ? "file + console" : "file, not shown");
}

static void cell_stdout(struct jr_buf *out, const struct run *run)
{
    add_sink(out, run, run->first.out);
}

static void cell_stderr(struct jr_buf *out, const struct run *run)
{
    add_sink(out, run, run->first.err);
}

static void cell_env(struct jr_buf *out, const struct run *run)
{
    jr_buf_printf(out, "%u set by jobrun%s", run->first.env_own,
                  run->hint ? " (--env shows them)" : "");
}

struct column {
    const char *title;
    void (*cell)(struct jr_buf *out, const struct run *run);
    bool nodes; /* only where there are several */
    bool wide;  /* said once below the table where all rows have the same */
};

/* The longest is the last, where a line may go on. */
static const struct column columns[] = {
    {"rank", cell_rank, false, false},       {"node", cell_node, true, false},
    {"local", cell_local, false, false},     {"device", cell_device, false, false},
    {"threads", cell_threads, false, false}, {"stdout", cell_stdout, false, true},
    {"stderr", cell_stderr, false, true},    {"env", cell_env, false, true},
    {"cpus", cell_cpus, false, false},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static bool are_ranks_alike(const struct jr_plan_rank *a, const struct jr_plan_rank *b)
{
    return a->node_rank == b->node_rank && a->out == b->out && a->err == b->err &&
           a->on_console == b->on_console && a->threads == b->threads && a->cpus == b->cpus &&
           a->env_own == b->env_own;
}

/* The run that begins with rank `first`. */
static struct run rank_run_at(const struct jr_plan *plan, uint32_t first)
{
    struct run run = {.plan = plan};
    struct jr_plan_rank next;
    jr_plan_place(plan, first, &run.first);
    run.last = run.first;
    while (plan->world_size > ROWS_EACH && run.last.rank + 1 < plan->world_size) {
        jr_plan_place(plan, run.last.rank + 1, &next);
        if (!are_ranks_alike(&run.first, &next))
            break;
        run.last = next;
    }
    return run;
}

/* Which columns all ranks have the same in, so that a row is short enough for
 * a line. None where there are more rows than are shown. False without memory.
 */
static bool find_common(bool ret[static COLUMNS], const struct jr_plan *plan)
{
    bool failed = false;
    for (size_t i = 0; i < COLUMNS; i++) {
        JR_BUF_CLEANUP struct jr_buf first = JR_BUF_INIT;
        uint32_t next = 0;
        ret[i] = columns[i].wide;
        for (size_t row = 0; ret[i] && row < ROWS_MAX && next < plan->world_size; row++) {
            JR_BUF_CLEANUP struct jr_buf cell = JR_BUF_INIT;
            const struct run run = rank_run_at(plan, next);
            next = run.last.rank + 1;
            columns[i].cell(row == 0 ? &first : &cell, &run);
            failed |= first.failed || cell.failed;
            ret[i] = !failed && (row == 0 || strcmp(first.data, cell.data) == 0);
        }
        ret[i] = ret[i] && next == plan->world_size;
    }
    return !failed;
}

/* "output    file + console", "env       42 set by jobrun" */
static void add_common(struct jr_buf *out, const struct jr_plan *plan, const bool *common,
                       bool hint)
{
    struct run run = rank_run_at(plan, 0);
    bool both = run.first.out == run.first.err;
    const char *gap = "\n"; /* before the first one */
    run.hint = hint;
    for (size_t i = 0; i < COLUMNS; i++) {
        bool output = columns[i].cell == cell_stdout;
        if (!common[i] || (columns[i].cell == cell_stderr && both && common[i - 1]))
            continue;
        jr_buf_printf(out, "%s%-10s", gap,
                      output && both && common[i + 1] ? "output" : columns[i].title);
        columns[i].cell(out, &run);
        jr_buf_char(out, '\n');
        gap = "";
    }
}

/* `run` NULL: the titles. */
static void add_table_row(struct jr_buf *cells, const struct jr_plan *plan, const bool *common,
                          const struct run *run)
{
    const char *gap = "";
    for (size_t i = 0; i < COLUMNS; i++) {
        if (common[i])
            continue;
        jr_buf_str(cells, gap);
        gap = "\t";
        if (columns[i].nodes && plan->nodes == 1)
            continue;
        if (run == NULL)
            jr_buf_str(cells, columns[i].title);
        else
            columns[i].cell(cells, run);
    }
    jr_buf_char(cells, '\n');
}

void jr_show_ranks(struct jr_buf *out, const struct jr_plan *plan, bool hint)
{
    JR_BUF_CLEANUP struct jr_buf cells = JR_BUF_INIT;
    bool common[COLUMNS];
    uint32_t next = 0;
    out->failed |= !find_common(common, plan);
    add_table_row(&cells, plan, common, NULL);
    for (size_t i = 0; i < ROWS_MAX && next < plan->world_size; i++) {
        struct run run = rank_run_at(plan, next);
        run.hint = i == 0 && hint;
        next = run.last.rank + 1;
        add_table_row(&cells, plan, common, &run);
    }
    jr_table_add(out, &cells, 2);
    add_common(out, plan, common, hint);
    if (next < plan->world_size)
        jr_buf_printf(out, "...   ranks %u-%u: --format json has them\n", next,
                      plan->world_size - 1);
}
