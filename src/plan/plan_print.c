#include "plan/plan_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/diff_table.h"
#include "base/redact.h"
#include "base/strv.h"
#include "plan/internal.h"

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

/* The width of an axis among the labels before a line; 0: not named. */
static size_t label_width(const struct jr_grid *grid, enum jr_axis axis)
{
    if (axis <= line_axis(grid) || grid->size[axis] == 1)
        return 0;
    size_t digits = (size_t)snprintf(NULL, 0, "%u", grid->size[axis] - 1);
    return strlen(jr_show_axis[axis]) + digits + 3;
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

/* The groups of every axis, on one line where they fit, else an axis a line; and their proof. */
static void print_groups(struct jr_buf *out, const struct jr_grid *grid)
{
    static const char *const gaps[] = {"   ", "\n        "};
    struct jr_error err = {0};
    size_t start = out->len;
    for (unsigned i = 0; i < 2 && (i == 0 || (out->len - start > WIDTH && !out->failed)); i++) {
        const char *before = "";
        if (i > 0)
            out->len = start;
        jr_buf_str(out, "groups  ");
        for (enum jr_axis axis = 0; axis < JR_AXIS_COUNT; axis++) {
            if (grid->size[axis] == 1)
                continue;
            jr_buf_str(out, before);
            print_axis(out, grid, axis);
            before = gaps[i];
        }
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

/* Append the mesh as a table, and the groups of every axis with their proof. */
static void show_mesh(struct jr_buf *out, const struct jr_plan *plan)
{
    struct jr_grid grid;
    memcpy(grid.size, plan->axis_size, sizeof grid.size);
    jr_buf_printf(out, "%u rank%s = data %u x pipeline %u x model %u", plan->world_size,
                  plan->world_size == 1 ? "" : "s", grid.size[JR_AXIS_DATA],
                  grid.size[JR_AXIS_PIPELINE], grid.size[JR_AXIS_MODEL]);
    jr_buf_str(out, "       layout [data][pipeline][model], model fastest\n");
    uint32_t size = grid.size[line_axis(&grid)];
    uint32_t lines = jr_grid_world(&grid) / size;
    if (lines > 1) { /* one axis alone needs no table: its only line is its only group */
        char word[32];
        (void)snprintf(word, sizeof word, "%s ", jr_show_axis[line_axis(&grid)]);
        for (enum jr_axis axis = 0; axis < JR_AXIS_COUNT; axis++)
            jr_buf_fill(out, ' ', label_width(&grid, axis));
        print_line(out, &grid, word, 0);
    }
    for (uint32_t line = 0; lines > 1 && line < lines; line++) {
        bool cut = lines > LINES_MAX && line == LINES_MAX / 2;
        if (cut) {
            jr_buf_printf(out, "...     %u more lines\n", lines - LINES_MAX / 2 - 1);
            line = lines - 1;
        }
        print_labels(out, &grid, line * size, cut);
        print_line(out, &grid, "", line * size);
    }
    print_groups(out, &grid);
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

static void add_sink(struct jr_buf *out, const struct run *run, enum jr_sink sink)
{
    if (sink == JR_SINK_INHERIT)
        jr_buf_str(out, "inherited");
    else if (!(sink & JR_SINK_CONSOLE))
        jr_buf_str(out, "file");
    else
        jr_buf_str(out, run->first.on_console ? "file + console" : "file, not shown");
}

/* "GPU 0 (H100)"; a UUID says itself what it is. */
static void add_device(struct jr_buf *out, const struct run *run)
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

/* The longest is the last, where a line may go on. */
enum column { RANK, NODE, LOCAL, DEVICE, THREADS, STDOUT, STDERR, ENV, CPUS, COLUMNS };

static const char *const titles[] = {"rank",   "node",   "local", "device", "threads",
                                     "stdout", "stderr", "env",   "cpus"};

static void add_cell(struct jr_buf *out, const struct run *run, enum column column)
{
    const struct jr_plan_rank *first = &run->first;
    const char *host = run->plan->hosts != NULL ? run->plan->hosts[first->node_rank] : NULL;
    switch ((unsigned)column) {
    case RANK:
        add_rank_run(out, first->rank, run->last.rank);
        break;
    case NODE:
        jr_buf_printf(out, "%u%s", first->node_rank, host != NULL ? " " : "");
        if (host != NULL)
            jr_buf_safe(out, host);
        break;
    case LOCAL:
        add_rank_run(out, first->local_rank, run->last.local_rank);
        break;
    case DEVICE:
        add_device(out, run);
        break;
    case THREADS:
        jr_buf_printf(out, "%u", first->threads);
        break;
    case STDOUT:
        add_sink(out, run, first->out);
        break;
    case STDERR:
        add_sink(out, run, first->err);
        break;
    case ENV:
        jr_buf_printf(out, "%u set by jobrun%s", first->env_own,
                      run->hint ? " (--env shows them)" : "");
        break;
    case CPUS:
        jr_buf_str(out, first->cpus != NULL ? first->cpus : "any");
        break;
    }
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
        const struct jr_plan_rank *a = &run.first;
        if (a->node_rank != next.node_rank || a->out != next.out || a->err != next.err ||
            a->on_console != next.on_console || a->threads != next.threads ||
            a->cpus != next.cpus || a->env_own != next.env_own)
            break;
        run.last = next;
    }
    return run;
}

/* Which columns all ranks have the same in, so that a row is short enough for
 * a line. None where there are more rows than are shown. False without memory.
 */
static bool find_common_columns(bool ret[static COLUMNS], const struct jr_plan *plan)
{
    bool failed = false;
    for (enum column i = 0; i < COLUMNS; i++) {
        JR_BUF_CLEANUP struct jr_buf first = JR_BUF_INIT;
        uint32_t next = 0;
        ret[i] = i == STDOUT || i == STDERR || i == ENV; /* wide */
        for (size_t row = 0; ret[i] && row < ROWS_MAX && next < plan->world_size; row++) {
            JR_BUF_CLEANUP struct jr_buf cell = JR_BUF_INIT;
            const struct run run = rank_run_at(plan, next);
            next = run.last.rank + 1;
            add_cell(row == 0 ? &first : &cell, &run, i);
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
    for (enum column i = 0; i < COLUMNS; i++) {
        bool output = i == STDOUT;
        if (!common[i] || (i == STDERR && both && common[i - 1]))
            continue;
        jr_buf_printf(out, "%s%-10s", gap, output && both && common[i + 1] ? "output" : titles[i]);
        add_cell(out, &run, i);
        jr_buf_char(out, '\n');
        gap = "";
    }
}

/* `run` NULL: the titles. */
static void add_table_row(struct jr_buf *cells, const struct jr_plan *plan, const bool *common,
                          const struct run *run)
{
    const char *gap = "";
    for (enum column i = 0; i < COLUMNS; i++) {
        if (common[i])
            continue;
        jr_buf_str(cells, gap);
        gap = "\t";
        if (i == NODE && plan->nodes == 1)
            continue;
        if (run == NULL)
            jr_buf_str(cells, titles[i]);
        else
            add_cell(cells, run, i);
    }
    jr_buf_char(cells, '\n');
}

/* Append a row per rank; in a large world, per run of like ranks. `hint` says how to see the
 * environment. */
static void show_ranks(struct jr_buf *out, const struct jr_plan *plan, bool hint)
{
    JR_BUF_CLEANUP struct jr_buf cells = JR_BUF_INIT;
    bool common[COLUMNS];
    uint32_t next = 0;
    out->failed |= !find_common_columns(common, plan);
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

/* The index of the variable that is set by jobrun for the rank and has the name of `item`; `hint`
 * is where it is likely to be. env_own if there is none. */
static uint32_t find_own_variable(const struct jr_plan_rank *rank, const char *item, uint32_t hint)
{
    size_t len = strcspn(item, "=") + 1;
    if (hint < rank->env_own && strncmp(rank->env[hint], item, len) == 0)
        return hint;
    uint32_t i = 0;
    while (i < rank->env_own && strncmp(rank->env[i], item, len) != 0)
        i++;
    return i;
}

/* Of the variables of rank 0, which ones are the same for all ranks. */
static void find_common(bool *common, const struct jr_plan_rank *model, struct jr_telling *telling)
{
    const struct jr_plan *plan = telling->plan;
    memset(common, true, model->env_own * sizeof *common);
    for (uint32_t rank = 1; rank < plan->world_size; rank++) {
        struct jr_arena arena = JR_ARENA_INIT;
        struct jr_plan_rank at = jr_plan_rank_at(plan, rank, &arena);
        telling->out->failed |= arena.failed;
        for (uint32_t i = 0; i < model->env_own && !arena.failed; i++) {
            const char *item = model->env[i];
            uint32_t found = common[i] ? find_own_variable(&at, item, i) : 0;
            common[i] = common[i] && found < at.env_own &&
                        (at.env[found] == item || strcmp(at.env[found], item) == 0);
        }
        jr_arena_release(&arena);
    }
}

static void print_variable(struct jr_buf *out, const struct jr_plan *plan, const char *item)
{
    jr_buf_str(out, "  ");
    if (jr_show_secret(plan, item))
        jr_buf_printf(out, "%.*s=" JR_REDACTED, (int)strcspn(item, "="), item);
    else
        jr_buf_safe(out, item);
    jr_buf_char(out, '\n');
}

/* What a rank does not have in common with all others. */
static void print_own_variables(struct jr_telling *telling, const struct jr_plan_rank *model,
                                const bool *common, uint32_t rank)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_plan_rank at = jr_plan_rank_at(telling->plan, rank, &arena);
    telling->out->failed |= arena.failed;
    jr_buf_printf(telling->out, "environment of rank %u\n", rank);
    for (uint32_t i = 0; i < at.env_own && !arena.failed; i++) {
        uint32_t first = find_own_variable(model, at.env[i], i);
        if (first == model->env_own || !common[first])
            print_variable(telling->out, telling->plan, at.env[i]);
    }
    jr_arena_release(&arena);
    jr_telling_pass(telling, true);
}

/* What all ranks have in common is said once. */
static void print_plan_env(struct jr_telling *telling, const struct jr_plan_rank *model)
{
    const struct jr_plan *plan = telling->plan;
    struct jr_buf *out = telling->out;
    JR_FREE bool *common = calloc(model->env_own + 1u, sizeof *common);
    if (common == NULL) {
        out->failed = true;
        return;
    }
    jr_buf_str(out, "\nenvironment of every rank\n");
    find_common(common, model, telling);
    for (uint32_t i = 0; i < model->env_own; i++)
        if (common[i])
            print_variable(out, plan, model->env[i]);
    for (uint32_t i = 0; i < plan->world_size && !telling->ended; i++)
        print_own_variables(telling, model, common, i);
}

/* A word as a shell would want it; of a text of several lines the first. */
static void print_word(struct jr_buf *out, const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ%+,-./:=@_";
    size_t len = strcspn(word, "\n");
    bool whole = word[len] == '\0' || word[len + 1] == '\0';
    const char *rest = whole ? "" : " ...";
    if (len > 0 && word[strspn(word, plain)] == '\0') {
        jr_buf_add(out, word, len);
        return;
    }
    jr_buf_char(out, '\'');
    for (const char *quote; (quote = memchr(word, '\'', len)) != NULL;) {
        size_t before = (size_t)(quote - word);
        jr_buf_escaped(out, word, before);
        jr_buf_str(out, "'\\''");
        word += before + 1;
        len -= before + 1;
    }
    jr_buf_escaped(out, word, len);
    jr_buf_printf(out, "%s'", rest);
}

static void print_plan_argv(struct jr_buf *out, const char *label, char *const *argv)
{
    jr_buf_printf(out, "%-9s", label);
    for (; *argv != NULL; argv++) {
        jr_buf_char(out, ' ');
        print_word(out, *argv);
    }
}

/* A copy of the code, and what it does not have of its own. */
static void print_frozen(struct jr_buf *out, const struct jr_plan *plan)
{
    enum { MOST_SHOWN = 20 };
    if (plan->frozen == NULL)
        return;
    jr_buf_str(out, "code      a copy of ");
    jr_buf_safe(out, plan->frozen);
    jr_buf_char(out, '\n');
    for (size_t i = 0; i < plan->links_count && i < MOST_SHOWN; i++) {
        jr_buf_str(out, i == 0 ? "links     " : ", ");
        jr_buf_safe(out, plan->links[i]);
    }
    if (plan->links_count > MOST_SHOWN)
        jr_buf_printf(out, " and %zu more", plan->links_count - MOST_SHOWN);
    if (plan->links_count > 0)
        jr_buf_str(out, " (git ignores these: they are not frozen)\n");
}

static void print_plan_text(struct jr_buf *out, const char *label, const char *text)
{
    jr_buf_printf(out, "%-10s", label);
    jr_buf_safe(out, text);
    jr_buf_char(out, '\n');
}

/* The default, and the axes that have another. */
static void print_backends(struct jr_buf *out, const struct jr_plan *plan)
{
    jr_buf_str(out, "backends  ");
    jr_buf_safe(out, plan->backend);
    for (enum jr_axis axis = 0; axis < JR_AXIS_COUNT; axis++) {
        const char *backend = plan->axis_backend[axis];
        if (backend == NULL || strcmp(backend, plan->backend) == 0)
            continue;
        jr_buf_printf(out, ", %s ", jr_show_axis[axis]);
        jr_buf_safe(out, backend);
    }
    jr_buf_char(out, '\n');
}

/* "spares    gpu05, gpu06: they take the place of a node that is lost" */
static void print_spares(struct jr_buf *out, const struct jr_plan *plan)
{
    for (uint32_t i = 0; i < plan->spare_nodes; i++) {
        uint32_t node = plan->nodes + i;
        const char *host = plan->hosts == NULL ? NULL : plan->hosts[node];
        jr_buf_str(out, i == 0 ? "spares    " : ", ");
        if (host == NULL)
            jr_buf_printf(out, "node %u", node);
        else
            jr_buf_safe(out, host);
    }
    if (plan->spare_nodes > 0)
        jr_buf_printf(out, ": %s the place of a node that is lost\n",
                      plan->spare_nodes == 1 ? "it takes" : "they take");
}

/* What runs before the ranks, the ranks, and what runs when all is over. */
static void print_commands(struct jr_buf *out, const struct jr_plan *plan,
                           const struct jr_plan_rank *model)
{
    const struct jr_policy *policy = plan->policy;
    if (plan->setup.text != NULL) {
        char *const setup[] = {(char *)plan->setup.text, NULL};
        print_plan_argv(out, "setup", setup);
        jr_buf_char(out, '\n');
    }
    if (plan->helper.argv != NULL) {
        print_plan_argv(out, "helper", plan->helper.argv);
        jr_buf_char(out, '\n');
    }
    print_plan_argv(out, "command", model->argv);
    jr_buf_str(out, plan->same_argv ? "\n" : "   (rank 0)\n");
    for (uint32_t i = 0; i < policy->on_end_count; i++) { /* what runs once, when all is over */
        jr_buf_str(out, i == 0 ? "on_end    " : " ");
        print_word(out, policy->on_end[i]);
    }
    if (policy->on_end_count > 0)
        jr_buf_char(out, '\n');
}

static void print_plan_head(struct jr_buf *out, const struct jr_plan *plan,
                            const struct jr_plan_rank *model)
{
    jr_buf_str(out, "job       ");
    jr_buf_safe(out, plan->name);
    jr_buf_printf(out, ": %u rank%s on %u node%s", plan->world_size,
                  plan->world_size == 1 ? "" : "s", plan->nodes, plan->nodes == 1 ? "" : "s");
    if (plan->spare_nodes > 0)
        jr_buf_printf(out, ", and %u spare%s", plan->spare_nodes,
                      plan->spare_nodes == 1 ? "" : "s");
    jr_buf_char(out, '\n');
    if (plan->count != plan->world_size)
        jr_buf_printf(out, "here      node %u: ranks %u-%u\n", plan->node_rank, plan->first,
                      plan->first + plan->count - 1);
    print_spares(out, plan);
    print_commands(out, plan, model);
    print_frozen(out, plan);
    print_plan_text(out, "workdir", model->workdir);
    print_plan_text(out, "folder", plan->own_dir);
    bool v6 = strchr(plan->master_addr, ':') != NULL;
    jr_buf_str(out, v6 ? "master    [" : "master    ");
    jr_buf_safe(out, plan->master_addr);
    jr_buf_printf(out, "%s:%u\n", v6 ? "]" : "", plan->master_port);
    print_backends(out, plan);
    if (plan->unbound != NULL)
        print_plan_text(out, "bind", plan->unbound);
    if (plan->inject != NULL)
        print_plan_text(out, "rehearsed", plan->inject);
}

void jr_plan_print(struct jr_buf *out, const struct jr_plan *plan, bool env,
                   const struct jr_drain *drain)
{
    struct jr_telling telling = {out, plan, drain, out->len, false, false};
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    const struct jr_plan_rank model = jr_plan_rank_at(plan, 0, &arena);
    if (arena.failed) {
        out->failed = true;
    } else {
        print_plan_head(out, plan, &model);
        jr_buf_char(out, '\n');
        show_mesh(out, plan);
        jr_buf_char(out, '\n');
        show_ranks(out, plan, !env);
        if (env)
            print_plan_env(&telling, &model);
        jr_telling_pass(&telling, false);
    }
}
