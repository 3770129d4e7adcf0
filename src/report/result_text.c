#include "report/result_text.h"

#include <stdlib.h>
#include <string.h>

#include "judge/compare_ranks.h"
#include "judge/result_fields.h"
#include "report/summary.h"

#include "base/banned.h"

enum { MOST_FIELDS = 6 };

/* One field over all ranks that delivered. */
struct field {
    const char *name;
    const json_t *first, *min, *max; /* `first` of the lowest rank */
    size_t count;
    bool numbers, equal;
};

static void add_field_value(struct field *field, const json_t *value)
{
    if (field->count++ == 0)
        *field = (struct field){field->name,           value, value, value, 1,
                                json_is_number(value), true};
    field->numbers = field->numbers && json_is_number(value);
    field->equal = field->equal && jr_judge_equal(field->first, value);
    if (json_number_value(value) < json_number_value(field->min))
        field->min = value;
    if (json_number_value(value) > json_number_value(field->max))
        field->max = value;
}

/* For people to five digits, to be compared in full. */
static void add_field_number(struct jr_buf *out, const json_t *number,
                             bool exact)
{
    if (json_is_integer(number))
        jr_buf_printf(out, "%lld", (long long)json_integer_value(number));
    else if (exact)
        jr_json_print(out, number, 0);
    else
        jr_buf_printf(out, "%.5g", json_real_value(number));
}

/* One number if all ranks have the same, else the smallest and the largest:
 * with all their digits if five show no difference. */
static void add_number_range(struct jr_buf *out, const struct field *field,
                             bool exact)
{
    JR_BUF_CLEANUP struct jr_buf min = JR_BUF_INIT, max = JR_BUF_INIT;
    add_field_number(&min, field->min, exact);
    add_field_number(&max, field->max, exact);
    out->failed |= min.failed || max.failed;
    if (out->failed)
        return;
    if (!field->equal && !exact && strcmp(min.data, max.data) == 0)
        add_number_range(out, field, true);
    else if (field->equal)
        jr_buf_str(out, min.data);
    else
        jr_buf_printf(out, "%s .. %s", min.data, max.data);
}

static void add_field_range(struct jr_buf *out, const struct field *field,
                            bool exact)
{
    if (field->numbers) {
        add_number_range(out, field, exact);
    } else if (exact && field->equal) {
        jr_json_print(out, field->first, 0);
    } else if (field->count > 1) {
        jr_buf_str(out, field->equal ? "equal" : "differs");
    } else {
        JR_BUF_CLEANUP struct jr_buf value = JR_BUF_INIT;
        jr_judge_quote(&value, field->first);
        jr_buf_escaped(out, value.data == NULL ? "" : value.data, value.len);
    }
}

static struct field gather_field(const struct jr_judgement *report,
                                 const char *name)
{
    struct field field = {.name = name};
    for (size_t i = 0; i < report->count; i++) {
        const json_t *value = json_object_get(report->ranks[i].result, name);
        if (value != NULL)
            add_field_value(&field, value);
    }
    return field;
}

void jr_print_field(struct jr_buf *out, const struct jr_judgement *report,
                    const char *name)
{
    struct field field = gather_field(report, name);
    if (field.count > 0)
        add_field_range(out, &field, true);
}

json_t *jr_print_first_result(const struct jr_judgement *report)
{
    for (size_t i = 0; i < report->count; i++)
        if (json_is_object(report->ranks[i].result))
            return report->ranks[i].result;
    return NULL;
}

void jr_print_fields(const struct jr_page *page)
{
    json_t *first = jr_print_first_result(page->report);
    const char *name = NULL;
    json_t *value = NULL;
    size_t shown = 0;
    json_object_foreach(first, name, value) {
        if (shown == MOST_FIELDS)
            break;
        struct field field = gather_field(page->report, name);
        jr_buf_str(page->out, shown++ == 0 ? "        " : "   ");
        jr_buf_safe(page->out, name);
        jr_buf_char(page->out, ' ');
        add_field_range(page->out, &field, false);
    }
    if (shown == 0)
        return;
    if (json_object_size(first) > shown)
        jr_buf_printf(page->out, "   and %zu more",
                      json_object_size(first) - shown);
    jr_buf_char(page->out, '\n');
}
