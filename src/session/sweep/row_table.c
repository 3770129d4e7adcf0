#include "session/sweep/row_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jobrun/verdict.h>

#include "base/clock.h"
#include "base/did_you_mean.h"
#include "base/diff_table.h"
#include "base/num.h"
#include "sweep/cells.h"
#include "sweep/sweep_file.h"

#include "base/banned.h"

enum condition_is { IS_LESS = 1, IS_EQUAL = 2, IS_MORE = 4 };

struct condition {
    const char *name;
    unsigned wanted;  /* a set of condition_is */
    const char *text; /* what stands behind the sign */
    double number;    /* the same, where it is one */
    bool numeric;
};

#define WORD(name, word) word,
static const char *const statuses[] = {JR_RUN_STATUSES(WORD) "running", "lost", "damaged", NULL};
#undef WORD

bool jr_row_status_is(const char *word)
{
    size_t i = 0;
    while (statuses[i] != NULL && strcmp(statuses[i], word) != 0)
        i++;
    return statuses[i] != NULL;
}

/* A misspelt status would list nothing. There are more words for sweeps than those of runs: only
 * what is near to one of these, or what others call one, is refused. */
static int check_status(const char *word, struct jr_error *err)
{
    static const char *const others[][2] = {
        {"done", "succeeded"},     {"finished", "succeeded"}, {"completed", "succeeded"},
        {"complete", "succeeded"}, {"success", "succeeded"},  {"ok", "succeeded"},
        {"passed", "succeeded"},   {"error", "failed"},       {"crashed", "failed"},
        {"killed", "stopped"},     {"cancelled", "stopped"},  {"canceled", "stopped"},
        {"aborted", "stopped"},    {"timeout", "timed_out"},  {"pending", "not_started"},
        {"queued", "not_started"}, {"active", "running"},     {"broken", "damaged"}};
    const char *near = jr_did_you_mean_longer(word, statuses);
    for (size_t i = 0; near == NULL && i < sizeof others / sizeof *others; i++)
        if (strcasecmp(others[i][0], word) == 0)
            near = others[i][1];
    if (near == NULL || strcmp(near, word) == 0)
        return 0;
    return jr_error_set(err, JR_STATUS_USAGE,
                        "--where: no run has the status '%s'; did you mean status=%s?", word, near);
}

static int read_condition(struct condition *ret, struct jr_row_table *table, const char *word,
                          struct jr_error *err)
{
    static const struct {
        const char *sign;
        unsigned wanted;
    } signs[] = {{"!=", IS_LESS | IS_MORE},
                 {"<=", IS_LESS | IS_EQUAL},
                 {">=", IS_MORE | IS_EQUAL},
                 {"==", IS_EQUAL},
                 {"=", IS_EQUAL},
                 {"<", IS_LESS},
                 {">", IS_MORE}};
    size_t len = strcspn(word, "!<>="), i = 0;
    while (i < sizeof signs / sizeof *signs &&
           strncmp(word + len, signs[i].sign, strlen(signs[i].sign)) != 0)
        i++;
    if (len == 0 || i == sizeof signs / sizeof *signs)
        return jr_error_set(err, JR_STATUS_USAGE,
                            "--where wants a condition like status=failed or "
                            "results.loss<0.5, not '%s'",
                            word);
    ret->wanted = signs[i].wanted;
    ret->name = jr_row_table_name(table, word, len);
    if (ret->name == NULL)
        return jr_row_table_refuse(table, "--where", word, len, err);
    ret->text = word + len + strlen(signs[i].sign);
    ret->numeric = jr_num_double(ret->text, &ret->number);
    return strcmp(ret->name, "status") == 0 ? check_status(ret->text, err) : 0;
}

/* How the value is to the one that is wanted. */
static enum condition_is compare_value(const struct condition *condition, const json_t *value)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    const json_t *mean = json_object_get(value, "mean");
    int order;
    if (mean != NULL)
        value = mean;
    if (json_is_number(value) && condition->numeric) {
        double own = json_number_value(value);
        return own < condition->number ? IS_LESS : own > condition->number ? IS_MORE : IS_EQUAL;
    }
    if (json_is_string(value)) {
        order = strcmp(json_string_value(value), condition->text);
    } else {
        jr_cell_result_text(&text, value);
        order = strcmp(text.data == NULL ? "" : text.data, condition->text);
    }
    return order < 0 ? IS_LESS : order > 0 ? IS_MORE : IS_EQUAL;
}

int jr_row_table_filter(struct jr_row_table *table, char *const *conditions, struct jr_error *err)
{
    for (; conditions != NULL && *conditions != NULL; conditions++) {
        struct condition condition;
        size_t kept = 0;
        if (read_condition(&condition, table, *conditions, err) != 0)
            return -1;
        for (size_t i = 0; i < table->count; i++) {
            size_t at = table->order[i];
            const json_t *value = jr_row_value(json_array_get(table->rows, at), condition.name);
            unsigned is = value == NULL ? 0 : compare_value(&condition, value);
            if (value == NULL ? condition.wanted == (IS_LESS | IS_MORE)
                              : (condition.wanted & is) != 0)
                table->order[kept++] = at;
        }
        table->count = kept;
    }
    return 0;
}

enum { MOST_LISTED = 24 };

static const char first_of_labels[] = "label.";

const json_t *jr_row_value(const json_t *row, const char *name)
{
    const json_t *value = json_object_get(row, name);
    return json_is_null(value) ? NULL : value;
}

void jr_row_add_members(json_t *row, const json_t *object, const char *prefix)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        struct jr_buf name JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_str(&name, prefix);
        jr_buf_str(&name, key);
        if (name.data != NULL && json_object_get(row, name.data) == NULL)
            jr_json_set(row, name.data, json_incref(value));
    }
}

void jr_row_table_init(struct jr_row_table *ret, json_t *rows, const struct jr_row_kind *kind,
                       enum jr_row_format format)
{
    size_t count = json_array_size(rows);
    *ret =
        (struct jr_row_table){.kind = kind, .format = format, .rows = rows, .names = json_object()};
    ret->order = jr_arena_array(&ret->arena, count, sizeof *ret->order);
    ret->count = ret->order == NULL ? 0 : count;
    for (size_t i = 0; i < ret->count; i++) {
        json_t *row = json_array_get(rows, i);
        ret->order[i] = i;
        for (void *at = json_object_iter(row); at != NULL; at = json_object_iter_next(row, at))
            jr_json_set(ret->names, json_object_iter_key(at), json_true());
    }
    ret->arena.failed |= rows == NULL || ret->names == NULL;
    jr_row_table_add_column(ret, kind->always[0]);
}

void jr_row_table_release(struct jr_row_table *table)
{
    json_decref(table->rows);
    json_decref(table->names);
    jr_arena_release(&table->arena);
}

static bool is_name(const struct jr_row_table *table, const char *name)
{
    const char *const *always = table->kind->always;
    while (*always != NULL && strcmp(*always, name) != 0)
        always++;
    if (json_array_size(table->rows) == 0)
        return true;
    return *always != NULL || json_object_get(table->names, name) != NULL;
}

const char *jr_row_table_name(struct jr_row_table *table, const char *word, size_t len)
{
    const char *name = jr_arena_strndup(&table->arena, word, len);
    size_t own = sizeof first_of_labels - 1;
    const struct jr_row_alias *alias = table->kind->aliases;
    for (; alias != NULL && name != NULL && alias->word != NULL; alias++)
        if (strcmp(alias->word, name) == 0)
            return alias->name;
    /* A field of the results may have the name, and go before it. */
    const char *const *at = name == NULL ? NULL : table->kind->yielding;
    while (at != NULL && *at != NULL && strcmp(*at, name) != 0)
        at++;
    const char *field = at == NULL || *at == NULL
                            ? NULL
                            : jr_arena_printf(&table->arena, JR_ROW_RESULTS "%s", name);
    if (field != NULL && json_object_get(table->names, field) != NULL)
        return field;
    if (name == NULL || is_name(table, name))
        return name;
    if (strncmp(name, first_of_labels, own) == 0)
        name = jr_arena_printf(&table->arena, "labels.%s", name + own);
    else if (table->kind->bare)
        name = jr_arena_printf(&table->arena, JR_ROW_RESULTS "%s", name);
    return name != NULL && is_name(table, name) ? name : NULL;
}

/* The name whose end, behind a dot, is the word: vars.lr of lr; with `nearly` of one that is
 * misspelt or cut short: results.loss of los. */
static const char *name_that_ends(const struct jr_row_table *table, const char *word, bool nearly)
{
    const char *name;
    json_t *value;
    json_object_foreach(table->names, name, value) {
        const char *dot = strchr(name, '.');
        const char *const ends[] = {dot == NULL ? NULL : dot + 1, NULL};
        if (dot != NULL &&
            (nearly ? jr_did_you_mean_longer(word, ends) != NULL : strcmp(dot + 1, word) == 0))
            return name;
    }
    return NULL;
}

/* The names that there are: those of every row, then the others. In `arena`, NULL at the end. */
static const char **list_names(const struct jr_row_table *table, struct jr_arena *arena)
{
    const char **words = NULL;
    size_t count = 0;
    const char *name = NULL;
    json_t *value;
    for (const char *const *at = table->kind->always; *at != NULL; at++) {
        const char **slot = jr_arena_push(arena, &words, &count, sizeof *slot);
        if (slot != NULL)
            *slot = *at;
    }
    size_t always = count;
    json_object_foreach(table->names, name, value) {
        size_t i = 0;
        while (i < always && words != NULL && strcmp(words[i], name) != 0)
            i++;
        const char **slot = i < always ? NULL : jr_arena_push(arena, &words, &count, sizeof *slot);
        if (slot != NULL)
            *slot = name;
    }
    (void)jr_arena_push(arena, &words, &count, sizeof *words);
    return arena->failed ? NULL : words;
}

int jr_row_table_refuse(const struct jr_row_table *table, const char *option, const char *word,
                        size_t len, struct jr_error *err)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *name = jr_arena_strndup(&arena, word, len);
    const char **words = list_names(table, &arena);
    if (words != NULL && name != NULL) {
        const char *meant = name_that_ends(table, name, false);
        if (meant == NULL)
            meant = jr_did_you_mean_longer(name, words);
        if (meant == NULL)
            meant = name_that_ends(table, name, true);
        jr_buf_safe(&text, name);
        jr_buf_str(&text, meant == NULL ? "'. There are " : "': did you mean '");
        if (meant != NULL) {
            jr_buf_safe(&text, meant);
            jr_buf_str(&text, "'? There are ");
        }
        for (size_t i = 0; words[i] != NULL && i <= MOST_LISTED; i++) {
            jr_buf_str(&text, i == 0 ? "" : ", ");
            jr_buf_safe(&text, i == MOST_LISTED ? "..." : words[i]);
        }
    }
    (void)jr_error_set(err, JR_STATUS_USAGE, "%s: no %s has '%s", option, table->kind->what,
                       text.data == NULL ? "" : text.data);
    return -1;
}

void jr_row_table_add_column(struct jr_row_table *table, const char *name)
{
    size_t i = 0;
    while (i < table->columns_count && strcmp(table->columns[i], name) != 0)
        i++;
    if (i < table->columns_count)
        return;
    const char **slot =
        jr_arena_push(&table->arena, &table->columns, &table->columns_count, sizeof *slot);
    if (slot != NULL)
        *slot = name;
}

int jr_row_table_choose(struct jr_row_table *table, const char *list, struct jr_error *err)
{
    for (size_t len; *list != '\0'; list += len + (list[len] == ',')) {
        len = strcspn(list, ",");
        const char *name = jr_row_table_name(table, list, len);
        if (name == NULL)
            return jr_row_table_refuse(table, "--columns", list, len, err);
        jr_row_table_add_column(table, name);
    }
    return 0;
}

bool jr_row_table_differs(const struct jr_row_table *table, const char *name)
{
    const json_t *first = jr_row_value(json_array_get(table->rows, 0), name);
    for (size_t i = 1; i < json_array_size(table->rows); i++) {
        const json_t *other = jr_row_value(json_array_get(table->rows, i), name);
        if ((first == NULL) != (other == NULL) || (first != NULL && json_equal(first, other) == 0))
            return true;
    }
    return false;
}

/* A row and its place in an order. */
struct placed {
    const struct jr_row_table *table;
    const json_t *value;
    size_t index;
};

double jr_row_table_number(const struct jr_row_table *table, const json_t *value)
{
    const json_t *part = json_object_get(value, table->of == NULL ? "mean" : table->of);
    if (part != NULL)
        value = part;
    if (json_is_boolean(value))
        return json_is_true(value) ? 1 : 0;
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static int compare_placed(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    const char *x = json_string_value(a->value), *y = json_string_value(b->value);
    int order = 0;
    if ((a->value == NULL) != (b->value == NULL))
        return a->value == NULL ? 1 : -1; /* without it: last */
    if (x != NULL && y != NULL) {
        order = strcmp(x, y);
    } else if (x != NULL || y != NULL) {
        order = x == NULL ? -1 : 1; /* numbers before texts */
    } else if (a->value != NULL) {
        double m = jr_row_table_number(a->table, a->value),
               n = jr_row_table_number(a->table, b->value);
        order = (m > n) - (m < n);
    }
    if (order != 0)
        return a->table->falls ? -order : order;
    return (a->index > b->index) - (a->index < b->index);
}

int jr_row_table_sort(struct jr_row_table *table, const char *word, struct jr_error *err)
{
    table->falls = *word == '-';
    word += *word == '-';
    table->sort = jr_row_table_name(table, word, strlen(word));
    if (table->sort == NULL)
        return jr_row_table_refuse(table, "--sort", word, strlen(word), err);
    struct placed *placed = jr_arena_array(&table->arena, table->count, sizeof *placed);
    for (size_t i = 0; placed != NULL && i < table->count; i++)
        placed[i] = (struct placed){
            table, jr_row_value(json_array_get(table->rows, table->order[i]), table->sort),
            table->order[i]};
    if (placed != NULL && table->count > 0)
        qsort(placed, table->count, sizeof *placed, compare_placed);
    for (size_t i = 0; placed != NULL && i < table->count; i++)
        table->order[i] = placed[i].index;
    return 0;
}

const char *jr_row_table_heading(const struct jr_row_table *table, const char *name)
{
    if (table->format == JR_ROWS_CSV || !table->kind->bare)
        return name;
    return strncmp(name, JR_ROW_RESULTS, strlen(JR_ROW_RESULTS)) == 0
               ? name + strlen(JR_ROW_RESULTS)
               : jr_cell_column_name(name);
}

/* For programs: texts and numbers in full, and of several ranks' the mean. */
static void add_exact_value(struct jr_buf *out, const json_t *value)
{
    const json_t *mean = json_object_get(value, "mean");
    if (mean != NULL)
        value = mean;
    const char *text = json_string_value(value);
    if (json_is_real(value))
        jr_num_add_double(out, json_real_value(value));
    else if (text == NULL && value != NULL)
        jr_cell_result_text(out, value);
    /* A text as it is, with its line breaks; what would change a terminal is escaped. */
    while (text != NULL && *text != '\0') {
        size_t len = strcspn(text, "\n\r\t");
        jr_buf_escaped(out, text, len);
        text += len;
        if (*text != '\0')
            jr_buf_char(out, *text++);
    }
}

void jr_row_table_value(struct jr_buf *out, const struct jr_row_table *table, const json_t *row,
                        const char *name)
{
    const json_t *value = jr_row_value(row, name);
    char time[32];
    if (table->format == JR_ROWS_CSV) {
        add_exact_value(out, value);
    } else if (json_is_integer(value) && strcmp(name, "cell") == 0) {
        jr_buf_printf(out, "%04lld", (long long)json_integer_value(value));
    } else if (json_is_number(value) && strcmp(name, "seconds") == 0) {
        jr_buf_printf(out, "%.1f", json_number_value(value));
    } else if (json_is_number(value) && strcmp(name, "started") == 0) {
        jr_clock_rfc3339(time, jr_clock_ns_of(json_number_value(value)));
        jr_buf_printf(out, "%.19sZ", time);
    } else {
        jr_cell_result_text(out, value);
    }
}

static void print_aligned(struct jr_buf *out, const struct jr_row_table *table,
                          const struct jr_row_margin *margin)
{
    struct jr_buf lines JR_BUF_CLEANUP = JR_BUF_INIT;
    for (size_t i = 0; i < table->columns_count; i++) {
        jr_buf_str(&lines, i > 0 ? "\t" : margin == NULL ? "" : "  ");
        jr_buf_safe(&lines, jr_row_table_heading(table, table->columns[i]));
    }
    jr_buf_char(&lines, '\n');
    for (size_t i = 0; i < table->count; i++) {
        const json_t *row = json_array_get(table->rows, table->order[i]);
        if (margin != NULL)
            jr_buf_str(&lines, margin->before(margin->data, row));
        for (size_t j = 0; j < table->columns_count; j++) {
            jr_buf_str(&lines, j > 0 ? "\t" : "");
            jr_row_table_value(&lines, table, row, table->columns[j]);
        }
        if (margin != NULL)
            jr_buf_char(&lines, '\t');
        if (margin != NULL)
            margin->behind(margin->data, &lines, row);
        jr_buf_char(&lines, '\n');
    }
    if (table->columns_count < JR_TABLE_COLUMNS)
        jr_table_add(out, &lines, 3);
    else
        jr_buf_add(out, lines.data, lines.len);
    out->failed |= lines.failed;
}

static void add_line_field(struct jr_buf *out, const struct jr_row_table *table, const char *text,
                           size_t i)
{
    if (table->format == JR_ROWS_CSV) {
        /* in quotes where it has to be (RFC 4180) */
        bool quoted = strpbrk(text, ",\"\r\n") != NULL;
        jr_buf_str(out, i == 0 ? "" : ",");
        jr_buf_str(out, quoted ? "\"" : "");
        jr_buf_replaced(out, text, "\"", quoted ? "\"\"" : "\"");
        jr_buf_str(out, quoted ? "\"" : "");
        return;
    }
    jr_buf_str(out, i == 0 ? "| " : " | ");
    for (; *text != '\0'; text++) {
        if (strchr("\\|<", *text) != NULL)
            jr_buf_char(out, '\\');
        jr_buf_char(out, *text);
    }
}

/* CSV and Markdown: a line of headings, and one for each row. */
static void print_lines(struct jr_buf *out, const struct jr_row_table *table)
{
    bool markdown = table->format == JR_ROWS_MARKDOWN;
    size_t count = table->columns_count;
    for (size_t i = 0; i < count; i++) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_safe(&text, jr_row_table_heading(table, table->columns[i]));
        out->failed |= text.failed;
        add_line_field(out, table, text.data == NULL ? "" : text.data, i);
    }
    jr_buf_str(out, markdown ? " |\n" : "\n");
    for (size_t i = 0; markdown && i < count; i++)
        jr_buf_str(out, i + 1 < count ? "|---" : "|---|\n");
    for (size_t i = 0; i < table->count; i++) {
        const json_t *row = json_array_get(table->rows, table->order[i]);
        for (size_t j = 0; j < count; j++) {
            struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
            jr_row_table_value(&text, table, row, table->columns[j]);
            out->failed |= text.failed;
            add_line_field(out, table, text.data == NULL ? "" : text.data, j);
        }
        jr_buf_str(out, markdown ? " |\n" : "\n");
    }
}

void jr_row_table_print(struct jr_buf *out, const struct jr_row_table *table,
                        const struct jr_row_margin *margin)
{
    json_t *list = json_array(); /* of objects, for JSON */
    if (table->format == JR_ROWS_TEXT)
        print_aligned(out, table, margin);
    else if (table->format != JR_ROWS_JSON)
        print_lines(out, table);
    for (size_t i = 0; table->format == JR_ROWS_JSON && i < table->count; i++) {
        const json_t *row = json_array_get(table->rows, table->order[i]);
        json_t *object = json_object();
        for (size_t j = 0; j < table->columns_count; j++)
            jr_json_share(object, row, table->columns[j]);
        jr_json_append(list, object);
    }
    if (table->format == JR_ROWS_JSON)
        jr_json_print(out, list, 2);
    json_decref(list);
    out->failed |= table->arena.failed;
}
