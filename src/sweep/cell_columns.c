#include "sweep/cell_columns.h"

#include <string.h>

#include "base/utf8.h"

#include "base/banned.h"

const char *jr_cell_column_name(const char *path)
{
    static const char *const own[] = {"vars.", "extends."};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strncmp(path, own[i], strlen(own[i])) == 0)
            return path + strlen(own[i]);
    return path;
}

/* How wide a text is; without memory for it the arena has failed. */
static size_t text_width(struct jr_cell_columns *columns, const struct jr_buf *text)
{
    columns->arena.failed |= text->failed;
    return jr_utf8_columns(text->data, text->len);
}

static size_t value_width(struct jr_cell_columns *columns, const struct jr_node *value)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_cell_value_text(&text, value);
    return text_width(columns, &text);
}

static size_t heading_width(struct jr_cell_columns *columns, const char *path)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_safe(&text, jr_cell_column_name(path));
    return text_width(columns, &text);
}

/* The column of a field, which is added if there is none; NULL without memory.
 */
static struct jr_cell_column *find_column(struct jr_cell_columns *columns, const char *path)
{
    for (size_t i = 0; i < columns->count; i++)
        if (strcmp(columns->items[i].path, path) == 0)
            return &columns->items[i];
    struct jr_cell_column *column =
        jr_arena_push(&columns->arena, &columns->items, &columns->count, sizeof *column);
    if (column != NULL)
        *column = (struct jr_cell_column){path, heading_width(columns, path)};
    return column;
}

static void fit_column(struct jr_cell_columns *columns, const char *path,
                       const struct jr_node *value)
{
    struct jr_cell_column *column = find_column(columns, path);
    size_t width = value_width(columns, value);
    if (column != NULL && column->width < width)
        column->width = width;
}

void jr_cell_columns_init(struct jr_cell_columns *ret, const struct jr_cells *cells)
{
    const struct jr_sweep_axes *axes = cells->axes;
    *ret = (struct jr_cell_columns){.cells = cells};
    ret->values = jr_arena_array(&ret->arena, cells->most_values, sizeof *ret->values);
    for (size_t i = 0; i < axes->count; i++) {
        const struct jr_sweep_axis *axis = &axes->axes[i];
        for (size_t j = 0; j < axis->count * axis->fields_count; j++)
            fit_column(ret, axis->fields[j % axis->fields_count].path, axis->values[j]);
    }
    for (size_t i = 0; i < axes->includes_count; i++)
        for (size_t j = 0; j < axes->includes[i].count; j++)
            fit_column(ret, axes->includes[i].fields[j].path, axes->includes[i].values[j]);
}

void jr_cell_columns_release(struct jr_cell_columns *columns)
{
    jr_arena_release(&columns->arena);
}

/* Append a text that is safe to show, and blanks to the end of its column. */
static void add_padded(struct jr_buf *out, const struct jr_buf *text, size_t width)
{
    out->failed |= text->failed;
    if (text->failed)
        return;
    jr_buf_add(out, text->data, text->len);
    jr_buf_fill(out, ' ', width - jr_utf8_columns(text->data, text->len) + 2);
}

void jr_cell_columns_head(struct jr_buf *out, const struct jr_cell_columns *columns)
{
    out->failed |= columns->arena.failed;
    for (size_t i = 0; i < columns->count; i++) {
        struct jr_buf name JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_safe(&name, jr_cell_column_name(columns->items[i].path));
        add_padded(out, &name, columns->items[i].width);
    }
}

void jr_cell_columns_row(struct jr_buf *out, const struct jr_cell_columns *columns, size_t i)
{
    out->failed |= columns->arena.failed;
    if (out->failed)
        return;
    size_t count = jr_cells_values(columns->cells, i, columns->values);
    for (size_t at = 0; at < columns->count; at++) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        for (size_t j = 0; j < count; j++)
            if (strcmp(columns->values[j].path, columns->items[at].path) == 0)
                jr_cell_value_text(&text, columns->values[j].value);
        if (text.data == NULL)
            jr_buf_char(&text, '-');
        add_padded(out, &text, columns->items[at].width);
    }
}
