/* The table of ranks. The header of this file is print_parts.h. */
#include "plan/print_parts.h"

#include <string.h>

#include "base/text_table.h"
#include "plan/planner.h"

#include "base/banned.h"

enum {
    ROWS_EACH = 64, /* a larger world shows runs of like ranks */
    ROWS_MAX = 64,
};

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
    const char *host = run->plan->hosts != NULL
                           ? run->plan->hosts[run->first.node_rank]
                           : NULL;
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

static void add_sink(struct jr_buf *out, const struct run *run,
                     enum jr_sink sink)
{
    if (sink == JR_SINK_INHERIT)
        jr_buf_str(out, "inherited");
    else if (!(sink & JR_SINK_CONSOLE))
        jr_buf_str(out, "file");
    else
        jr_buf_str(out, run->first.on_console ? "file + console"
                                              : "file, not shown");
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
};

static const struct column columns[] = {
    {"rank", cell_rank, false},     {"node", cell_node, true},
    {"local", cell_local, false},   {"device", cell_device, false},
    {"cpus", cell_cpus, false},     {"threads", cell_threads, false},
    {"stdout", cell_stdout, false}, {"stderr", cell_stderr, false},
    {"env", cell_env, false},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static bool are_ranks_alike(const struct jr_plan_rank *a,
                            const struct jr_plan_rank *b)
{
    return a->node_rank == b->node_rank && a->out == b->out &&
           a->err == b->err && a->on_console == b->on_console &&
           a->threads == b->threads && a->cpus == b->cpus &&
           a->env_own == b->env_own;
}

/* The run that begins with rank `first`. */
static struct run rank_run_at(const struct jr_plan *plan, uint32_t first)
{
    struct run run = {.plan = plan};
    struct jr_plan_rank next;
    jr_plan_place(plan, first, &run.first);
    run.last = run.first;
    while (plan->world_size > ROWS_EACH &&
           run.last.rank + 1 < plan->world_size) {
        jr_plan_place(plan, run.last.rank + 1, &next);
        if (!are_ranks_alike(&run.first, &next))
            break;
        run.last = next;
    }
    return run;
}

/* `run` NULL: the titles. */
static void add_table_row(struct jr_buf *cells, const struct jr_plan *plan,
                          const struct run *run)
{
    for (size_t i = 0; i < COLUMNS; i++) {
        if (i > 0)
            jr_buf_char(cells, '\t');
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
    uint32_t next = 0;
    add_table_row(&cells, plan, NULL);
    for (size_t i = 0; i < ROWS_MAX && next < plan->world_size; i++) {
        struct run run = rank_run_at(plan, next);
        run.hint = i == 0 && hint;
        next = run.last.rank + 1;
        add_table_row(&cells, plan, &run);
    }
    jr_table_add(out, &cells, 2);
    if (next < plan->world_size)
        jr_buf_printf(out, "...   ranks %u-%u: --format json has them\n", next,
                      plan->world_size - 1);
}
