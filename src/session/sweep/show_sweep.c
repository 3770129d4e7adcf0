/* The table of a sweep's cells, printed. */
#include "session/sweep/show_sweep.h"

#include <string.h>

#include "session/sweep/sweep_table.h"

#include "base/banned.h"

/* What a line of the table is besides its columns. */
struct cell_margin {
    const struct jr_sweep_table *table;
    const struct jr_sweep_view *view;
};

/* A cell that delivered, but with other code than the sweep had at last. */
static void add_code_mark(const struct jr_sweep_table *table, struct jr_buf *out, const json_t *row)
{
    const char *ran = jr_json_get_str(row, "code"), *now = jr_json_get_str(table->sweep, "code"),
               *status = jr_json_get_str(row, "status");
    if (ran != NULL && now != NULL && strcmp(ran, now) != 0 && status != NULL &&
        strcmp(status, "succeeded") == 0)
        jr_buf_str(out, "other code");
}

/* The best cell has a star. */
static const char *star(const void *data, const json_t *row)
{
    const struct cell_margin *margin = data;
    return jr_json_get_int(row, "cell") == margin->table->best ? "* " : "  ";
}

static void add_reason(const void *data, struct jr_buf *out, const json_t *row)
{
    const struct cell_margin *margin = data;
    if (margin->view->columns == NULL)
        add_code_mark(margin->table, out, row);
    if (margin->view->columns == NULL && jr_sweep_table_reason(out, margin->table, row)) {
        jr_buf_str(out, "   (jobrun show ");
        jr_buf_safe(out, margin->view->word);
        jr_buf_printf(out, "/%lld)", (long long)jr_json_get_int(row, "cell"));
    }
}

/* "lr-scan: 23 of 24 delivered, 1 failed      by accuracy, highest first" */
static void print_summary(struct jr_buf *out, const struct jr_sweep_table *table)
{
    const struct jr_row_table *rows = &table->rows;
    const char *name = jr_json_get_str(table->sweep, "name");
    jr_buf_safe(out, name == NULL ? "sweep" : name);
    jr_buf_str(out, ": ");
    jr_sweep_table_count(out, table);
    if (rows->sort != NULL) {
        jr_buf_str(out, "      by ");
        jr_buf_safe(out, jr_row_table_heading(rows, rows->sort));
        jr_buf_str(out, rows->falls ? ", highest first" : ", lowest first");
    }
    jr_buf_char(out, '\n');
}

static int show_cells(struct jr_buf *out, struct jr_sweep_table *table,
                      const struct jr_sweep_view *view, struct jr_error *err)
{
    const struct cell_margin data = {table, view};
    const struct jr_row_margin margin = {star, add_reason, &data};
    if (view->format == JR_ROWS_JSON) {
        jr_json_print(out, table->sweep, 2);
        jr_buf_char(out, '\n');
    } else if (jr_sweep_table_arrange(table, view, err) != 0) {
        return -1;
    } else {
        if (view->format == JR_ROWS_TEXT)
            print_summary(out, table);
        jr_row_table_print(out, &table->rows, &margin);
    }
    return out->failed ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory") : 0;
}

int jr_sweep_show(struct jr_buf *out, const char *log_dir, const char *id,
                  const struct jr_sweep_view *view, struct jr_error *err)
{
    struct jr_sweep_table table;
    if (view->format == JR_ROWS_JSON &&
        (view->sort != NULL || view->columns != NULL || view->top > 0))
        return jr_error_set(err, JR_STATUS_USAGE,
                            "--format json prints all of sweep.json: leave out --sort, --columns "
                            "and --top, or take --format csv");
    int status = jr_sweep_table_open(&table, log_dir, id, view->format, err);
    if (status == 0)
        status = show_cells(out, &table, view, err);
    jr_sweep_table_close(&table);
    return status;
}
