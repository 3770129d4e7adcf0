#include "judge/result_checks.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/num.h"
#include "base/utf8.h"
#include "judge/internal.h"
#include "judge/words.h"

#include "base/banned.h"

/* One rank's value of the field: its canonical text, so that equal values have equal texts. */
struct entry {
    char *text;
    size_t i;
};

/* Ranks with the same value: entries first .. first + count. */
struct group {
    size_t first, count;
};

/* All ranks' values of one field, sorted by value, then rank. */
struct column {
    struct jr_judge *judge;
    const char *field;
    struct entry *entries;
    size_t count;
    struct group *groups;
    size_t groups_count;
};

/* A copy in which 1.0 is 1, so that both print the same. */
static json_t *canonical_json(const json_t *value)
{
    const double exact = 9007199254740992.0; /* 2^53 */
    double real = json_real_value(value);
    json_t *copy, *item = NULL;
    const char *key = NULL;
    size_t at = 0;
    if (json_is_real(value) && real >= -exact && real <= exact && (double)(json_int_t)real == real)
        return json_integer((json_int_t)real);
    if (json_is_array(value)) {
        copy = json_array();
        json_array_foreach(value, at, item)
            jr_json_append(copy, canonical_json(item));
    } else if (json_is_object(value)) {
        copy = json_object();
        json_object_foreach((json_t *)value, key, item)
            jr_json_set(copy, key, canonical_json(item));
    } else {
        copy = json_deep_copy(value);
    }
    return copy;
}

static char *canonical_text(const json_t *value)
{
    json_auto_t *copy = canonical_json(value);
    return json_dumps(copy, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
}

bool jr_judge_equal(const json_t *a, const json_t *b)
{
    if (json_equal(a, b))
        return true;
    JR_FREE char *x = canonical_text(a);
    JR_FREE char *y = canonical_text(b);
    return x != NULL && y != NULL && strcmp(x, y) == 0;
}

static int compare_entry_values(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = strcmp(x->text, y->text);
    return order != 0 ? order : (x->i > y->i) - (x->i < y->i);
}

static void collect_values(struct column *column)
{
    struct jr_judge *judge = column->judge;
    for (size_t i = 0; i < judge->report->count; i++) {
        const struct jr_rank_judgement *rank = &judge->report->ranks[i];
        if (rank->result == NULL || rank->result_error != JR_RESULT_NONE)
            continue;
        const json_t *value = json_object_get(rank->result, column->field);
        if (value == NULL) {
            jr_judge_fault(judge, i, JR_RESULT_FIELD, "%s has no '%s' to compare",
                           jr_result_source(judge, i), column->field);
            continue;
        }
        char *text = canonical_text(value);
        if (text == NULL)
            judge->report->arena.failed = true;
        else
            column->entries[column->count++] = (struct entry){text, i};
    }
}

/* Append " on ranks 0-2": who has the value of the group. */
static void print_holders(struct jr_buf *out, const struct column *column,
                          const struct group *group)
{
    JR_FREE uint32_t *ranks = calloc(group->count, sizeof *ranks);
    if (ranks == NULL)
        return;
    for (size_t n = 0; n < group->count; n++) {
        size_t i = column->entries[group->first + n].i;
        ranks[n] = jr_plan_of(column->judge->plan, i)->rank;
    }
    jr_buf_str(out, " on ");
    jr_words_ranks(out, ranks, group->count);
}

static void print_value(struct jr_buf *out, const struct column *column, const struct group *group)
{
    size_t i = column->entries[group->first].i;
    const json_t *result = column->judge->report->ranks[i].result;
    jr_judge_quote(out, json_object_get(result, column->field));
}

static void fault_group(const struct column *column, const struct group *group,
                        enum jr_result_error error, const char *why)
{
    for (size_t n = 0; n < group->count; n++) {
        size_t i = column->entries[group->first + n].i;
        jr_judge_fault(column->judge, i, error, "%s: '%s' is %s",
                       jr_result_source(column->judge, i), column->field, why);
    }
}

/* The largest group except for `other`, the first of them in a tie. */
static size_t largest_group(const struct column *column, size_t other)
{
    size_t best = other == 0 ? 1 : 0;
    for (size_t g = best + 1; g < column->groups_count; g++)
        if (g != other && column->groups[g].count > column->groups[best].count)
            best = g;
    return best;
}

/* Most ranks are right: those with another value are named, against what the most have. In a tie no
 * value can be trusted, and all are named. */
static void demand_equal(struct column *column)
{
    if (column->groups_count < 2)
        return;
    size_t first = largest_group(column, column->groups_count);
    size_t second = largest_group(column, first);
    bool tie = column->groups[first].count == column->groups[second].count;
    for (size_t g = 0; g < column->groups_count; g++) {
        if (g == first && !tie)
            continue;
        const struct group *believed = &column->groups[g == first ? second : first];
        JR_BUF_CLEANUP struct jr_buf why = JR_BUF_INIT;
        print_value(&why, column, &column->groups[g]);
        jr_buf_str(&why, ", but ");
        print_value(&why, column, believed);
        print_holders(&why, column, believed);
        fault_group(column, &column->groups[g], JR_RESULT_UNEQUAL, why.data);
    }
}

static void demand_distinct(struct column *column)
{
    for (size_t g = 0; g < column->groups_count; g++) {
        if (column->groups[g].count < 2)
            continue;
        JR_BUF_CLEANUP struct jr_buf why = JR_BUF_INIT;
        print_value(&why, column, &column->groups[g]);
        print_holders(&why, column, &column->groups[g]);
        jr_buf_str(&why, ", not distinct");
        fault_group(column, &column->groups[g], JR_RESULT_FIELD, why.data);
    }
}

static void compare_field(struct jr_judge *judge, const char *field, bool equal)
{
    size_t count = judge->report->count + 1;
    struct column column = {
        .judge = judge,
        .field = field,
        .entries = calloc(count, sizeof *column.entries),
        .groups = calloc(count, sizeof *column.groups),
    };
    if (column.entries != NULL && column.groups != NULL) {
        collect_values(&column);
        qsort(column.entries, column.count, sizeof *column.entries, compare_entry_values);
        for (size_t at = 0; at < column.count; at++) {
            const char *text = column.entries[at].text;
            if (at == 0 || strcmp(text, column.entries[at - 1].text) != 0)
                column.groups[column.groups_count++].first = at;
            column.groups[column.groups_count - 1].count++;
        }
        if (equal)
            demand_equal(&column);
        else
            demand_distinct(&column);
    } else {
        judge->report->arena.failed = true;
    }
    for (size_t at = 0; at < column.count; at++)
        free(column.entries[at].text);
    free(column.entries);
    free(column.groups);
}

void jr_compare(struct jr_judge *judge)
{
    const struct jr_results *wants = judge->wants;
    judge->comparing = true;
    for (uint32_t f = 0; f < wants->equal_count; f++)
        compare_field(judge, wants->equal[f], true);
    for (uint32_t f = 0; f < wants->distinct_count; f++)
        compare_field(judge, wants->distinct[f], false);
    judge->comparing = false;
}

void jr_compare_again(struct jr_judge *judge)
{
    for (size_t i = 0; i < judge->report->count; i++) {
        struct jr_rank_judgement *rank = &judge->report->ranks[i];
        if (rank->state != JR_RANK_INCOMPLETE || !rank->differs)
            continue;
        rank->state = JR_RANK_SUCCEEDED;
        rank->differs = false;
        rank->result_error = JR_RESULT_NONE;
        rank->reason = NULL;
    }
    jr_compare(judge);
    for (size_t i = 0; i < judge->report->count; i++)
        if (judge->report->ranks[i].state == JR_RANK_SUCCEEDED &&
            judge->report->ranks[i].result_error != JR_RESULT_NONE)
            judge->report->ranks[i].state = JR_RANK_INCOMPLETE;
}

enum { QUOTE_MAX = 60 };

#define IS(type) (1u << JSON_##type)

static const unsigned json_kinds[] = {
    [JR_JSON_INTEGER] = IS(INTEGER), [JR_JSON_NUMBER] = IS(INTEGER) | IS(REAL),
    [JR_JSON_STRING] = IS(STRING),   [JR_JSON_BOOLEAN] = IS(TRUE) | IS(FALSE),
    [JR_JSON_ARRAY] = IS(ARRAY),     [JR_JSON_OBJECT] = IS(OBJECT),
};

static const char *const json_nouns[] = {
    [JR_JSON_INTEGER] = "an integer", [JR_JSON_NUMBER] = "a number",
    [JR_JSON_STRING] = "a string",    [JR_JSON_BOOLEAN] = "true or false",
    [JR_JSON_ARRAY] = "an array",     [JR_JSON_OBJECT] = "an object",
};

void jr_judge_quote(struct jr_buf *out, const json_t *value)
{
    if (json_is_real(value)) { /* 2.0 shows that it is none of the integers */
        size_t start = out->len;
        jr_num_add_double(out, json_real_value(value));
        if (out->data != NULL && strpbrk(out->data + start, ".e") == NULL)
            jr_buf_str(out, ".0");
        return;
    }
    JR_FREE char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    if (text == NULL)
        return;
    size_t len = strlen(text);
    size_t cut = jr_utf8_cut(text, len, QUOTE_MAX);
    jr_buf_add(out, text, cut);
    if (cut < len)
        jr_buf_str(out, "...");
}

/* Below 0, 0 or above, as the value is less than the bound, equal or more; 0 without a bound, and
 * of what is not a number. */
static int compare_with_bound(const json_t *value, const char *bound)
{
    struct jr_exact_number limit, number;
    if (bound == NULL || !json_is_number(value) || !jr_exact_number_read(&limit, bound))
        return 0;
    number = json_is_integer(value) ? jr_exact_number_integer(json_integer_value(value))
                                    : jr_exact_number_real(json_real_value(value));
    return jr_exact_number_compare(&number, &limit);
}

static bool is_one_of(const json_t *value, const json_t *enums)
{
    size_t at = 0;
    const json_t *allowed = NULL;
    json_array_foreach(enums, at, allowed)
        if (jr_judge_equal(allowed, value))
            return true;
    return enums == NULL;
}

static void check_field(struct jr_judge *judge, size_t i, uint32_t f)
{
    const struct jr_result_field *field = &judge->wants->fields[f];
    const json_t *value = json_object_get(judge->report->ranks[i].result, field->name);
    const json_t *enums = judge->field_enums[f], *allowed = NULL;
    struct jr_regex *pattern = judge->field_pattern[f];
    JR_BUF_CLEANUP struct jr_buf why = JR_BUF_INIT, quoted = JR_BUF_INIT;
    struct jr_match match;
    bool limited = false;
    size_t at = 0;
    if (value == NULL) {
        if (field->required)
            jr_judge_fault(judge, i, JR_RESULT_FIELD, "%s has no '%s'", jr_result_source(judge, i),
                           field->name);
        return;
    }
    if ((json_kinds[field->type] & 1u << json_typeof(value)) == 0) {
        jr_buf_printf(&why, ", not %s", json_nouns[field->type]);
    } else if (compare_with_bound(value, field->min) < 0) {
        jr_buf_printf(&why, ", less than %s", field->min);
    } else if (compare_with_bound(value, field->max) > 0) {
        jr_buf_printf(&why, ", more than %s", field->max);
    } else if (!is_one_of(value, enums)) {
        jr_buf_str(&why, ", not one of ");
        json_array_foreach(enums, at, allowed) {
            jr_buf_str(&why, at == 0 ? "" : ", ");
            jr_judge_quote(&why, allowed);
        }
    } else if (pattern != NULL && json_is_string(value) &&
               !jr_regex_find(pattern, json_string_value(value), json_string_length(value), 0,
                              &match, &limited)) {
        jr_buf_printf(&why, ", which does not match '%s'%s", field->pattern,
                      limited ? " within the match limit" : "");
    } else {
        return;
    }
    jr_judge_quote(&quoted, value);
    jr_judge_fault(judge, i, JR_RESULT_FIELD, "%s: '%s' is %s%s", jr_result_source(judge, i),
                   field->name, quoted.data, why.data);
}

void jr_judge_fields(struct jr_judge *judge, size_t i)
{
    const json_t *result = judge->report->ranks[i].result;
    if (result == NULL || judge->wants->fields_count == 0)
        return;
    if (!json_is_object(result)) {
        jr_judge_fault(judge, i, JR_RESULT_FIELD, "%s is not an object, and has no fields",
                       jr_result_source(judge, i));
        return;
    }
    for (uint32_t f = 0; f < judge->wants->fields_count; f++)
        check_field(judge, i, f);
}
