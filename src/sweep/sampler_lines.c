#include "sweep/sampler_lines.h"

#include <string.h>

#include "base/banned.h"

enum { SHOWN_MOST = 80 };

static void end_message(struct jr_buf *out, json_t *object)
{
    jr_json_print(out, object, 0);
    jr_buf_char(out, '\n');
    json_decref(object);
}

void jr_sampler_ask(struct jr_buf *out, uint32_t cell)
{
    json_t *object = json_object();
    jr_json_set_int(object, "ask", cell);
    end_message(out, object);
}

void jr_sampler_tell(struct jr_buf *out, uint32_t cell, const json_t *values, const char *status,
                     const json_t *result)
{
    json_t *object = json_object();
    jr_json_set_int(object, "tell", cell);
    jr_json_set(object, "values", json_deep_copy(values));
    jr_json_set_str(object, "status", status);
    jr_json_set(object, "result", result == NULL ? json_null() : json_deep_copy(result));
    end_message(out, object);
}

/* What it said, as far as a message has room for it. */
static enum jr_sampler_answer refuse_line(const char *line, size_t len, const char *why,
                                          struct jr_error *err)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    bool cut = len > SHOWN_MOST;
    jr_buf_escaped(&text, line, cut ? SHOWN_MOST : len);
    jr_buf_str(&text, cut ? "..." : "");
    (void)jr_error_set(err, JR_STATUS_LAUNCH,
                       "%s: '%s'; an answer is {\"values\": {PATH: VALUE}} or "
                       "{\"done\": true} on one line",
                       why, text.data == NULL ? "" : text.data);
    return JR_SAMPLER_WRONG;
}

enum jr_sampler_answer jr_sampler_read(const char *line, size_t len, json_t **ret_values,
                                       struct jr_error *err)
{
    json_t *answer = jr_json_parse(line, len, NULL);
    json_t *values = json_object_get(answer, "values"), *done = json_object_get(answer, "done");
    enum jr_sampler_answer kind = JR_SAMPLER_WRONG;
    if (!json_is_object(answer))
        (void)refuse_line(line, len, "it printed what is no JSON object", err);
    else if (json_object_size(answer) != 1 || (values == NULL && done == NULL))
        (void)refuse_line(line, len, "it printed an object with other keys", err);
    else if (json_is_true(done))
        kind = JR_SAMPLER_DONE;
    else if (json_object_size(values) == 0)
        (void)refuse_line(line, len, "it printed no values", err);
    else
        kind = JR_SAMPLER_VALUES;
    if (kind == JR_SAMPLER_VALUES)
        *ret_values = json_incref(values);
    json_decref(answer);
    return kind;
}
