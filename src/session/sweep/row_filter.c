/* Conditions on the rows of a table: "status=failed", "results.loss<0.5". Two numbers are compared
 * as numbers, all else as the text that people are shown. A row without a value meets no condition
 * but "is not". row_table.h declares it. */
#include <string.h>
#include <strings.h>

#include <jobrun/verdict.h>

#include "base/did_you_mean.h"
#include "base/num.h"
#include "session/sweep/row_table.h"
#include "sweep/cell_result.h"

#include "base/banned.h"

enum condition_is { IS_LESS = 1, IS_EQUAL = 2, IS_MORE = 4 };

struct condition {
    const char *name;
    unsigned wanted;  /* a set of condition_is */
    const char *text; /* what stands behind the sign */
    double number;    /* the same, where it is one */
    bool numeric;
};

/* The sign at `text`: how long it is, 0 for none. */
static size_t read_sign(unsigned *ret, const char *text)
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
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        size_t len = strlen(signs[i].sign);
        if (strncmp(text, signs[i].sign, len) == 0) {
            *ret = signs[i].wanted;
            return len;
        }
    }
    return 0;
}

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

/* The status that others call so, or NULL. */
static const char *foreign_status(const char *word)
{
    static const char *const others[][2] = {
        {"done", "succeeded"},     {"finished", "succeeded"}, {"completed", "succeeded"},
        {"complete", "succeeded"}, {"success", "succeeded"},  {"ok", "succeeded"},
        {"passed", "succeeded"},   {"error", "failed"},       {"crashed", "failed"},
        {"killed", "stopped"},     {"cancelled", "stopped"},  {"canceled", "stopped"},
        {"aborted", "stopped"},    {"timeout", "timed_out"},  {"pending", "not_started"},
        {"queued", "not_started"}, {"active", "running"},     {"broken", "damaged"}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcasecmp(others[i][0], word) == 0)
            return others[i][1];
    return NULL;
}

/* A misspelt status would list nothing. There are more words for sweeps than those of runs: only
 * what is near to one of these is refused. */
static int check_status(const struct condition *condition, struct jr_error *err)
{
    const char *near = jr_did_you_mean_longer(condition->text, statuses);
    if (near == NULL)
        near = foreign_status(condition->text);
    if (strcmp(condition->name, "status") != 0 || near == NULL ||
        strcmp(near, condition->text) == 0)
        return 0;
    return jr_error_set(err, JR_STATUS_USAGE,
                        "--where: no run has the status '%s'; did you mean status=%s?",
                        condition->text, near);
}

static int read_condition(struct condition *ret, struct jr_row_table *table, const char *word,
                          struct jr_error *err)
{
    size_t len = strcspn(word, "!<>=");
    size_t sign = read_sign(&ret->wanted, word + len);
    if (len == 0 || sign == 0)
        return jr_error_set(err, JR_STATUS_USAGE,
                            "--where wants a condition like status=failed or "
                            "results.loss<0.5, not '%s'",
                            word);
    ret->name = jr_row_table_name(table, word, len);
    if (ret->name == NULL)
        return jr_row_table_refuse(table, "--where", word, len, err);
    ret->text = word + len + sign;
    ret->numeric = jr_num_double(ret->text, &ret->number);
    return check_status(ret, err);
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

static bool is_met(const struct condition *condition, const json_t *row)
{
    const json_t *value = jr_row_value(row, condition->name);
    if (value == NULL)
        return condition->wanted == (IS_LESS | IS_MORE);
    return (condition->wanted & compare_value(condition, value)) != 0;
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
            if (is_met(&condition, json_array_get(table->rows, at)))
                table->order[kept++] = at;
        }
        table->count = kept;
    }
    return 0;
}
