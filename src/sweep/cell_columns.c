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

static size_t value_width(struct jr_cell_columns *columns,
                          const struct jr_node *value)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_cell_value_text(&text, value);
    columns->arena.failed |= text.failed;
    return text.data == NULL ? 0 : jr_utf8_columns(text.data, text.len);
}

/* The column of a field, which is added if there is none. */
static size_t *column_width(struct jr_cell_columns *columns, const char *path)
{
    size_t i = 0, count = columns->count;
    while (i < count && strcmp(columns->paths[i], path) != 0)
        i++;
    if (i < count)
        return &columns->widths[i];
    size_t widths = count;
    const char **slot = jr_arena_push(&columns->arena, &columns->paths,
                                      &columns->count, sizeof *slot);
    size_t *width = jr_arena_push(&columns->arena, &columns->widths, &widths,
                                  sizeof *width);
    if (slot == NULL || width == NULL)
        return NULL;
    *slot = path;
    const char *name = jr_cell_column_name(path);
    *width = jr_utf8_columns(name, strlen(name));
    return width;
}

static void fit_column(struct jr_cell_columns *columns, const char *path,
                       const struct jr_node *value)
{
    size_t *width = column_width(columns, path);
    size_t wide = value_width(columns, value);
    if (width != NULL && *width < wide)
        *width = wide;
}

void jr_cell_columns_init(struct jr_cell_columns *ret,
                          const struct jr_cells *cells)
{
    const struct jr_sweep_axes *axes = cells->axes;
    *ret = (struct jr_cell_columns){.cells = cells};
    ret->values = jr_arena_array(&ret->arena, cells->most_values + 1,
                                 sizeof *ret->values);
    for (size_t i = 0; i < axes->count; i++) {
        const struct jr_sweep_axis *axis = &axes->axes[i];
        for (size_t j = 0; j < axis->count * axis->fields_count; j++)
            fit_column(ret, axis->fields[j % axis->fields_count].path,
                       axis->values[j]);
    }
    for (size_t i = 0; i < axes->includes_count; i++)
        for (size_t j = 0; j < axes->includes[i].count; j++)
            fit_column(ret, axes->includes[i].fields[j].path,
                       axes->includes[i].values[j]);
}

void jr_cell_columns_release(struct jr_cell_columns *columns)
{
    jr_arena_release(&columns->arena);
}

/* Append a text that is safe to show, and blanks to the end of its column. */
static void add_padded(struct jr_buf *out, const char *text, size_t len,
                       size_t width)
{
    size_t wide = jr_utf8_columns(text, len);
    jr_buf_add(out, text, len);
    jr_buf_fill(out, ' ', (width > wide ? width - wide : 0) + 2);
}

void jr_cell_columns_head(struct jr_buf *out,
                          const struct jr_cell_columns *columns)
{
    for (size_t i = 0; i < columns->count; i++) {
        struct jr_buf name JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_safe(&name, jr_cell_column_name(columns->paths[i]));
        if (name.data != NULL)
            add_padded(out, name.data, name.len, columns->widths[i]);
    }
}

void jr_cell_columns_row(struct jr_buf *out,
                         const struct jr_cell_columns *columns, size_t i)
{
    size_t count = jr_cells_values(columns->cells, i, columns->values);
    for (size_t at = 0; at < columns->count; at++) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        for (size_t j = 0; j < count; j++)
            if (strcmp(columns->values[j].path, columns->paths[at]) == 0)
                jr_cell_value_text(&text, columns->values[j].value);
        if (text.data == NULL)
            jr_buf_char(&text, '-');
        out->failed |= text.failed;
        if (text.data != NULL)
            add_padded(out, text.data, text.len, columns->widths[at]);
    }
}
