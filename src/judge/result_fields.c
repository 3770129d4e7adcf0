#include "judge/result_fields.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/num.h"
#include "base/utf8.h"
#include "judge/compare_ranks.h"
#include "judge/judge.h"
#include "judge/results.h"

#include "base/banned.h"

enum { QUOTE_MAX = 60 };

#define IS(type) (1u << JSON_##type)

struct type {
    unsigned kinds; /* of jansson, as bits */
    const char *noun;
};

static const struct type types[] = {
    [JR_JSON_INTEGER] = {IS(INTEGER), "an integer"},
    [JR_JSON_NUMBER] = {IS(INTEGER) | IS(REAL), "a number"},
    [JR_JSON_STRING] = {IS(STRING), "a string"},
    [JR_JSON_BOOLEAN] = {IS(TRUE) | IS(FALSE), "true or false"},
    [JR_JSON_ARRAY] = {IS(ARRAY), "an array"},
    [JR_JSON_OBJECT] = {IS(OBJECT), "an object"},
};

/* A real of a result: 2.0 shows that it is none of the integers. */
static void quote_real(struct jr_buf *out, double number)
{
    size_t start = out->len;
    jr_num_add_double(out, number);
    if (out->data != NULL && strpbrk(out->data + start, ".e") == NULL)
        jr_buf_str(out, ".0");
}

void jr_judge_quote(struct jr_buf *out, const json_t *value)
{
    if (json_is_real(value)) {
        quote_real(out, json_real_value(value));
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

/* One field of one result on its way through the checks. Each check returns
 * whether it holds, and if not says how in `why`: ", less than 0.9". */
struct subject {
    const struct jr_result_field *field;
    const json_t *value;
    struct jr_regex *pattern;
    const json_t *enums;
    struct jr_buf why;
};

static bool check_type(struct subject *subject)
{
    const struct type *type = &types[subject->field->type];
    if ((type->kinds & 1u << json_typeof(subject->value)) != 0)
        return true;
    jr_buf_printf(&subject->why, ", not %s", type->noun);
    return false;
}

/* Below 0, 0 or above, as the value is less than the bound, equal or more; 0
 * without a bound, and of what is not a number. */
static int compare_with(const struct subject *subject, const char *bound)
{
    struct jr_exact_number limit, value;
    if (bound == NULL || !json_is_number(subject->value) ||
        !jr_exact_number_read(&limit, bound))
        return 0;
    value = json_is_integer(subject->value)
                ? jr_exact_number_integer(json_integer_value(subject->value))
                : jr_exact_number_real(json_real_value(subject->value));
    return jr_exact_number_compare(&value, &limit);
}

static bool check_min(struct subject *subject)
{
    if (compare_with(subject, subject->field->min) >= 0)
        return true;
    jr_buf_printf(&subject->why, ", less than %s", subject->field->min);
    return false;
}

static bool check_max(struct subject *subject)
{
    if (compare_with(subject, subject->field->max) <= 0)
        return true;
    jr_buf_printf(&subject->why, ", more than %s", subject->field->max);
    return false;
}

static bool check_enum(struct subject *subject)
{
    if (subject->enums == NULL)
        return true;
    size_t at = 0;
    const json_t *allowed = NULL;
    json_array_foreach(subject->enums, at, allowed)
        if (jr_judge_equal(allowed, subject->value))
            return true;
    jr_buf_str(&subject->why, ", not one of ");
    json_array_foreach(subject->enums, at, allowed) {
        jr_buf_str(&subject->why, at == 0 ? "" : ", ");
        jr_judge_quote(&subject->why, allowed);
    }
    return false;
}

static bool check_pattern(struct subject *subject)
{
    if (subject->pattern == NULL || !json_is_string(subject->value))
        return true;
    struct jr_match match;
    bool limited = false;
    if (jr_regex_find(subject->pattern, json_string_value(subject->value),
                      json_string_length(subject->value), 0, &match, &limited))
        return true;
    jr_buf_printf(&subject->why, ", which does not match '%s'%s",
                  subject->field->pattern,
                  limited ? " within the match limit" : "");
    return false;
}

static bool (*const checks[])(struct subject *subject) = {
    check_type, check_min, check_max, check_enum, check_pattern,
};

static void check_value(struct jr_judge *judge, size_t i,
                        struct subject *subject)
{
    size_t count = sizeof checks / sizeof checks[0], at = 0;
    while (at < count && checks[at](subject))
        at++;
    if (at == count)
        return;
    JR_BUF_CLEANUP struct jr_buf value = JR_BUF_INIT;
    jr_judge_quote(&value, subject->value);
    jr_judge_fault(judge, i, JR_RESULT_FIELD, "%s: '%s' is %s%s",
                   jr_result_source(judge, i), subject->field->name, value.data,
                   subject->why.data);
}

static void check_field(struct jr_judge *judge, size_t i, uint32_t f)
{
    const struct jr_result_field *field = &judge->wants->fields[f];
    const json_t *value =
        json_object_get(judge->report->ranks[i].result, field->name);
    if (value == NULL) {
        if (field->required)
            jr_judge_fault(judge, i, JR_RESULT_FIELD, "%s has no '%s'",
                           jr_result_source(judge, i), field->name);
        return;
    }
    struct subject subject = {
        .field = field,
        .value = value,
        .pattern = judge->field_pattern[f],
        .enums = judge->field_enums[f],
    };
    check_value(judge, i, &subject);
    jr_buf_release(&subject.why);
}

void jr_judge_fields(struct jr_judge *judge, size_t i)
{
    const json_t *result = judge->report->ranks[i].result;
    if (result == NULL || judge->wants->fields_count == 0)
        return;
    if (!json_is_object(result)) {
        jr_judge_fault(judge, i, JR_RESULT_FIELD,
                       "%s is not an object, and has no fields",
                       jr_result_source(judge, i));
        return;
    }
    for (uint32_t f = 0; f < judge->wants->fields_count; f++)
        check_field(judge, i, f);
}
