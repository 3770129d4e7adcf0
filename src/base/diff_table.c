#include "base/diff_table.h"

#include <ctype.h>
#include <string.h>

#include "base/utf8.h"

#include "base/banned.h"

enum {
    GAP = 2,            /* between the columns of a table for people */
    MOST = 40,          /* columns of a value in a table for people */
    MOST_NARROW = 34,   /* the same on a narrow terminal */
    MOST_COMMENT = 160, /* the same in a comment */
    BEFORE = 8          /* bytes that stay before a difference */
};

void jr_diff_table_release(struct jr_diff_table *contrast)
{
    jr_arena_release(&contrast->arena);
    *contrast = JR_DIFF_TABLE_INIT;
}

struct jr_diff_table_row *jr_diff_table_add(struct jr_diff_table *contrast, const char *name)
{
    struct jr_diff_table_row *row =
        jr_arena_push(&contrast->arena, &contrast->rows, &contrast->count, sizeof *row);
    if (row != NULL)
        row->name = jr_arena_strdup(&contrast->arena, name);
    return row;
}

bool jr_diff_table_differs(const struct jr_diff_table_row *row)
{
    if (row->a.value == NULL || row->b.value == NULL)
        return row->a.value != row->b.value;
    return strcmp(row->a.value, row->b.value) != 0;
}

/* How many bytes of the text are no wider than `most` columns. */
static size_t fitting_bytes(const char *text, size_t most)
{
    size_t len = strlen(text), at = 0;
    for (size_t width = 0; at < len;) {
        uint32_t point;
        size_t size = jr_utf8_next(text + at, len - at, &point);
        width += jr_utf8_width(point);
        if (width > most)
            break;
        at += size;
    }
    return at;
}

/* The part of a side's value that is shown beside the other one: from shortly before it differs,
 * where it is long. */
static void add_side_value(struct jr_buf *out, const struct jr_diff_table_side *side,
                           const struct jr_diff_table_side *other, size_t most)
{
    const char *value = side->value == NULL ? "-" : side->value;
    size_t start = 0, same = 0;
    if (fitting_bytes(value, most) < strlen(value)) {
        while (other->value != NULL && value[same] != '\0' && value[same] == other->value[same])
            same++;
        start = same <= BEFORE ? 0 : jr_utf8_cut(value, strlen(value), same - BEFORE);
    }
    size_t len = fitting_bytes(value + start, most);
    jr_buf_str(out, start > 0 ? "..." : "");
    jr_buf_add(out, value + start, len);
    jr_buf_str(out, value[start + len] != '\0' ? "..." : "");
}

static void add_side_origin(struct jr_buf *out, const struct jr_diff_table_side *side)
{
    if (side->value != NULL && side->at.line != 0 && side->at.source != NULL)
        jr_buf_printf(out, "%s:%u", side->at.source->name, side->at.line);
    else if (side->value != NULL && side->from != NULL)
        jr_buf_str(out, side->from);
}

static void add_side_cell(struct jr_buf *cells, const struct jr_diff_table_side *side,
                          const struct jr_diff_table_side *other, size_t most)
{
    JR_BUF_CLEANUP struct jr_buf value = JR_BUF_INIT, from = JR_BUF_INIT;
    add_side_value(&value, side, other, most);
    add_side_origin(&from, side);
    jr_buf_char(cells, '\t');
    jr_buf_escaped(cells, value.data, value.len);
    jr_buf_char(cells, '\t');
    jr_buf_escaped(cells, from.data, from.len);
    cells->failed = cells->failed || value.failed || from.failed;
}

void jr_diff_table_text(struct jr_buf *out, const struct jr_diff_table *contrast, const char *title)
{
    JR_BUF_CLEANUP struct jr_buf cells = JR_BUF_INIT, table = JR_BUF_INIT;
    bool wide = false;
    size_t len;
    if (contrast->count == 0)
        return;
    jr_buf_printf(&cells, "%s\tA\t\tB\t\n", title);
    for (size_t i = 0; i < contrast->count; i++) {
        const struct jr_diff_table_row *row = &contrast->rows[i];
        jr_buf_safe(&cells, row->name);
        add_side_cell(&cells, &row->a, &row->b, MOST);
        add_side_cell(&cells, &row->b, &row->a, MOST);
        jr_buf_char(&cells, '\n');
    }
    jr_table_add(&table, &cells, GAP);
    out->failed |= table.failed;
    if (out->failed)
        return;
    for (const char *at = table.data; at != NULL && *at != '\0'; at += len + (at[len] == '\n')) {
        len = strcspn(at, "\n");
        wide |= out->width > 0 && jr_utf8_columns(at, len) > out->width;
    }
    if (!wide)
        jr_buf_str(out, table.data);
    for (size_t i = 0; wide && i < contrast->count; i++) { /* the sides below the name */
        const struct jr_diff_table_row *row = &contrast->rows[i];
        jr_buf_clear(&cells);
        jr_buf_safe(out, row->name);
        jr_buf_str(&cells, "\n  A");
        add_side_cell(&cells, &row->a, &row->b, MOST_NARROW);
        jr_buf_str(&cells, "\n  B");
        add_side_cell(&cells, &row->b, &row->a, MOST_NARROW);
        jr_buf_char(&cells, '\n');
        jr_table_add(out, &cells, GAP);
    }
}

/* In a code span nothing is markup but a backtick, and in a table the bar. */
static bool is_plain_markdown(const char *text)
{
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < ' ' || strchr("`|\\", text[i]) != NULL)
            return false;
    return len > 0 && text[0] != ' ' && text[len - 1] != ' ';
}

void jr_diff_table_code(struct jr_buf *out, const char *text)
{
    JR_BUF_CLEANUP struct jr_buf shown = JR_BUF_INIT;
    jr_buf_safe(&shown, text);
    out->failed = out->failed || shown.failed;
    if (shown.len > 0 && is_plain_markdown(shown.data)) {
        jr_buf_printf(out, "`%s`", shown.data);
        return;
    }
    jr_buf_str(out, "<code>");
    for (size_t i = 0; i < shown.len; i++) { /* ASCII but letters and digits as a reference */
        unsigned char byte = (unsigned char)shown.data[i];
        if (byte < 0x80 && !isalnum(byte))
            jr_buf_printf(out, "&#%u;", byte);
        else
            jr_buf_char(out, (char)byte);
    }
    jr_buf_str(out, "</code>");
}

static void add_comment(struct jr_buf *out, const struct jr_diff_table_side *side,
                        const struct jr_diff_table_side *other)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (side->value == NULL) {
        jr_buf_str(out, " |");
        return;
    }
    jr_buf_char(out, ' ');
    add_side_value(&text, side, other, MOST_COMMENT);
    jr_diff_table_code(out, text.len == 0 ? "" : text.data);
    jr_buf_clear(&text);
    add_side_origin(&text, side);
    if (text.len > 0) {
        jr_buf_str(out, " ");
        jr_diff_table_code(out, text.data);
    }
    out->failed = out->failed || text.failed;
    jr_buf_str(out, " |");
}

void jr_diff_table_markdown(struct jr_buf *out, const struct jr_diff_table *contrast,
                            const char *title)
{
    if (contrast->count == 0)
        return;
    jr_buf_printf(out, "| %s | A | B |\n|---|---|---|\n", title);
    for (size_t i = 0; i < contrast->count; i++) {
        const struct jr_diff_table_row *row = &contrast->rows[i];
        jr_buf_str(out, "| ");
        jr_diff_table_code(out, row->name);
        jr_buf_str(out, " |");
        add_comment(out, &row->a, &row->b);
        add_comment(out, &row->b, &row->a);
        jr_buf_char(out, '\n');
    }
}

static json_t *diff_side_json(const struct jr_diff_table_side *side)
{
    if (side->value == NULL)
        return json_null();
    json_t *object = json_object();
    bool placed = side->at.line != 0 && side->at.source != NULL;
    jr_json_set_str(object, "value", side->value);
    jr_json_set_str(object, "from", side->from);
    jr_json_set_str(object, "file", placed ? side->at.source->name : NULL);
    jr_json_set(object, "line", placed ? json_integer(side->at.line) : json_null());
    jr_json_set(object, "column", placed ? json_integer(side->at.column) : json_null());
    return object;
}

json_t *jr_diff_table_json(const struct jr_diff_table *contrast)
{
    json_t *list = json_array();
    for (size_t i = 0; i < contrast->count; i++) {
        const struct jr_diff_table_row *row = &contrast->rows[i];
        json_t *object = json_object();
        jr_json_set_str(object, "field", row->name);
        jr_json_set_str(object, "part", row->part);
        jr_json_set(object, "a", diff_side_json(&row->a));
        jr_json_set(object, "b", diff_side_json(&row->b));
        jr_json_append(list, object);
    }
    return list;
}

void jr_table_add(struct jr_buf *out, const struct jr_buf *cells, size_t gap)
{
    size_t widths[JR_TABLE_COLUMNS] = {0};
    size_t column = 0, blanks = 0, len;
    out->failed |= cells->failed;
    if (out->failed || cells->len == 0)
        return;
    for (const char *at = cells->data; *at != '\0'; at += len + 1) {
        len = strcspn(at, "\t\n");
        size_t width = jr_utf8_columns(at, len);
        if (width > widths[column])
            widths[column] = width;
        column = at[len] == '\n' ? 0 : column + 1;
    }
    for (const char *at = cells->data; *at != '\0'; at += len + 1) {
        len = strcspn(at, "\t\n");
        if (len > 0) {
            jr_buf_fill(out, ' ', blanks);
            jr_buf_add(out, at, len);
            blanks = 0;
        }
        if (widths[column] > 0)
            blanks += widths[column] + gap - jr_utf8_columns(at, len);
        column++;
        if (at[len] == '\n') {
            jr_buf_char(out, '\n');
            column = blanks = 0;
        }
    }
}
