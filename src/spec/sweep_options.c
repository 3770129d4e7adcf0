#include "spec/sweep_options.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "doc/joined_settings.h"
#include "spec/assemble.h"
#include "spec/sweep_meant_values.h"
#include "spec/sweep_values.h"

#include "base/banned.h"

#define NAME "--sweep"

const char *jr_sweep_value_end(const char *text)
{
    int depth = 0;
    char quote = 0;
    for (; *text != '\0'; text++) {
        if (quote != 0)
            quote = *text == quote ? 0 : quote;
        else if (*text == '\'' || *text == '"')
            quote = *text;
        else if (*text == '[' || *text == '{')
            depth++;
        else if (*text == ']' || *text == '}')
            depth--;
        else if (*text == ',' && depth <= 0)
            break;
    }
    return text;
}

/* An option on its way to an axis. */
struct option {
    struct jr_sweep_reading *reading;
    const char *text, *folder;
};

/* Read the value from byte `from` to `to` of the option, which keeps its place there; NULL after a
 * finding. */
static struct jr_node *read_option_value(const struct option *option, size_t from, size_t to)
{
    struct jr_sweep_reading *reading = option->reading;
    size_t errors = reading->diags->errors;
    const char *text = jr_arena_strndup(reading->arena, option->text, to);
    struct jr_doc value;
    if (text == NULL)
        return NULL;
    (void)jr_doc_load_value(&value, NAME, text, from, reading->diags);
    struct jr_node *root = value.root;
    if (value.source != NULL)
        value.source->folder = jr_arena_strdup(reading->arena, option->folder);
    jr_arena_adopt(reading->arena, &value.arena);
    return reading->diags->errors > errors ? NULL : root;
}

/* "0..4" as {from: 0, to: 4}; NULL: it is no range. */
static struct jr_node *read_dotted_range(const struct option *option, const struct jr_node *value)
{
    struct jr_arena *arena = option->reading->arena;
    const char *dots =
        value->kind == JR_NODE_SCALAR && value->plain ? strstr(value->text, "..") : NULL;
    int64_t from, to;
    if (dots == NULL)
        return NULL;
    const char *first = jr_arena_strndup(arena, value->text, (size_t)(dots - value->text));
    if (first == NULL || !jr_num_i64(first, &from) || !jr_num_i64(dots + 2, &to))
        return NULL;
    struct jr_node *range = jr_node_mapping(arena);
    if (range == NULL)
        return NULL;
    range->span = value->span;
    jr_node_set(arena, range, "from", jr_node_scalar(arena, first, true));
    jr_node_set(arena, range, "to", jr_node_scalar(arena, dots + 2, true));
    return range;
}

/* The values after the `=`, which is byte `at`; NULL after a finding. */
static struct jr_node *read_option_values(const struct option *option, size_t at)
{
    struct jr_arena *arena = option->reading->arena;
    struct jr_node *list = jr_node_sequence(arena);
    for (const char *from = option->text + at + 1; list != NULL;) {
        const char *end = jr_sweep_value_end(from);
        struct jr_node *value =
            read_option_value(option, (size_t)(from - option->text), (size_t)(end - option->text));
        if (value == NULL)
            return NULL;
        jr_node_append(arena, list, value);
        list->span = value->span;
        if (*end == '\0')
            break;
        from = end + 1;
    }
    if (list == NULL || list->count != 1)
        return list;
    struct jr_node *range = read_dotted_range(option, list->items[0]);
    bool draw = jr_sweep_is_draw(list->items[0]) || (list->items[0]->kind == JR_NODE_MAPPING &&
                                                     jr_doc_get(list->items[0], "from") != NULL);
    return range != NULL ? range : draw ? list->items[0] : list;
}

/* "0.1:0.3:0.1" and "1 2 3", as values are listed elsewhere; as they are here.
 */
static bool add_listed_values(struct jr_buf *out, const char *text)
{
    double from, to, step;
    char tail[2];
    if (sscanf(text, "%lf:%lf:%lf%1s", &from, &to, &step, tail) == 3) {
        jr_buf_printf(out, "'{from: %g, to: %g, step: %g}'", from, to, step);
        return !out->failed;
    }
    if (text[strspn(text, "0123456789.eE+- ")] != '\0')
        return false;
    for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
        size_t len = strcspn(text, " ");
        jr_buf_printf(out, "%s%.*s", out->len == 0 ? "" : ",", (int)len, text);
        text += len;
    }
    return !out->failed && out->len > 0 && strchr(out->data, ',') != NULL;
}

/* Refuse values that are one text here, and several elsewhere, and calls such as linspace(0,1,5).
 * `len` bytes are the path. */
static bool refuse_listed_values(const struct option *option, const struct jr_node *key, size_t len)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.";
    JR_BUF_CLEANUP struct jr_buf values = JR_BUF_INIT;
    struct jr_sweep_reading *reading = option->reading;
    const char *text = option->text + len + (option->text[len] == '=');
    size_t name = strspn(text, letters);
    const char *comma = strchr(text, ','), *close = strchr(text, ')');
    bool call = name > 0 && text[name] == '(' && close != NULL &&
                (comma == NULL ? close[1] == '\0' : comma < close);
    bool listed = !call && add_listed_values(&values, text);
    if (!call && !listed)
        return false;
    struct jr_diag *diag = jr_sweep_refuse(
        reading, JR_CODE_WRONG_AXIS_VALUES,
        jr_point_bytes(key->span.source, (size_t)(text - option->text), strlen(option->text)), NULL,
        call ? "there are no functions in --sweep" : "values are separated by commas");
    if (listed)
        jr_diag_help(reading->diags, diag, "--sweep %.*s=%s", (int)len, option->text, values.data);
    else
        jr_diag_help(reading->diags, diag,
                     "list the values, 0.1,0.2; or write a range: '{from: 0, to: 1, step: 0.25}'; "
                     "a text is quoted: '%.*s=\"%s\"'",
                     (int)len, option->text, text);
    return true;
}

/* The axes of an option that has several, each with an option of its own. */
static void help_with_axes(const struct option *option, struct jr_diag *diag,
                           const struct jr_joined_settings *settings)
{
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
    const char *from = option->text, *end = strchr(from, '=');
    while (*end != '\0') {
        end = jr_sweep_value_end(end + 1);
        if (*end != '\0' && jr_joined_settings_name(settings, end + 1) == 0)
            continue;
        jr_joined_settings_add(&line, settings, from, (size_t)(end - from));
        from = end + 1;
    }
    if (!line.failed)
        jr_diag_help(option->reading->diags, diag, "write %s", line.data);
}

/* Refuse an option that goes on with another axis: vars.lr=1,2,vars.b=3,4.
 * `len` bytes are the path. Returns whether it does. */
static bool refuse_joined_axes(const struct option *option, const struct jr_node *key, size_t len)
{
    struct jr_sweep_reading *reading = option->reading;
    const struct jr_shapes shapes = jr_shapes_make();
    const struct jr_joined_settings settings = {reading->arena,
                                                &shapes,
                                                reading->doc->root,
                                                NAME,
                                                jr_arena_strndup(reading->arena, option->text, len),
                                                false};
    const char *at = option->text + len;
    size_t name = 0;
    while (settings.path != NULL && *at != '\0' && name == 0) {
        at = jr_sweep_value_end(at + 1);
        name = *at == '\0' ? 0 : jr_joined_settings_name(&settings, at + 1);
    }
    if (name == 0)
        return false;
    size_t from = (size_t)(at + 1 - option->text);
    struct jr_diag *diag =
        jr_sweep_refuse(reading, JR_CODE_WRONG_AXIS_VALUES,
                        jr_point_bytes(key->span.source, from, strlen(option->text)), NULL,
                        "'%.*s' is an axis of its own: each has its --sweep", (int)name, at + 1);
    help_with_axes(option, diag, &settings);
    return true;
}

/* The path, as a key that has its place in the option. */
static struct jr_node *read_option_key(const struct option *option, size_t len)
{
    struct jr_sweep_reading *reading = option->reading;
    struct jr_source *source = jr_arena_alloc(reading->arena, sizeof *source);
    struct jr_node *key = jr_node_scalar_n(reading->arena, option->text, len, true);
    if (source == NULL || key == NULL)
        return NULL;
    *source = (struct jr_source){.name = NAME,
                                 .text = option->text,
                                 .len = strlen(option->text),
                                 .folder = option->folder,
                                 .option = true};
    key->span = jr_point_bytes(source, 0, len);
    return key;
}

/* Append "1..9" for range(1,10), "a,b" for choice(a,b), (a, b) and [a, b]; false where that is none
 * of these. */
static bool add_meant_values(struct jr_buf *out, struct jr_arena *arena, const char *text)
{
    static const char *const heads[] = {"choice(", "[", "("};
    const char *range = NULL;
    if (text[strcspn(text, "(")] == '(' && jr_sweep_is_meant_range(arena, text, true, true, &range))
        jr_buf_str(out, range == NULL ? "" : range);
    for (size_t i = 0; out->len == 0 && i < sizeof heads / sizeof *heads; i++) {
        if (strncmp(text, heads[i], strlen(heads[i])) != 0)
            continue;
        for (text += strlen(heads[i]); strchr(")]", *text) == NULL; text++)
            if (*text != ' ')
                jr_buf_char(out, *text);
    }
    return out->len > 0 && !out->failed;
}

/* Whether the values are written as others do: range(1,10), or behind a colon. Then that is
 * reported. `len` bytes are the path. */
static bool refuse_other_form(const struct option *option, const struct jr_node *key, size_t len)
{
    struct jr_buf values JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_sweep_reading *reading = option->reading;
    const char *text = option->text + len;
    bool equals = *text == '=', colon = false;
    if (!equals)
        len = strcspn(option->text, ":");
    colon = option->text[len] == ':';
    text = option->text + len + (equals || colon);
    text += strspn(text, " ");
    bool meant = len > 0 && add_meant_values(&values, reading->arena, text);
    if (equals && len > 0 && (!meant || *text == '['))
        return false;
    struct jr_diag *diag =
        jr_sweep_refuse(reading, equals && len > 0 ? JR_CODE_WRONG_AXIS_VALUES : JR_CODE_WRONG_AXIS,
                        key->span, NULL,
                        equals && len > 0 ? *text == '(' ? "values are listed without brackets"
                                                         : "there are no functions in --sweep"
                                          : "--sweep wants PATH=VALUES");
    if (meant)
        jr_diag_help(reading->diags, diag, "--sweep %.*s=%s", (int)len, option->text, values.data);
    else
        jr_diag_help(reading->diags, diag, "--sweep vars.lr=0.1,0.01");
    return true;
}

void jr_sweep_read_options(struct jr_sweep_reading *reading, char *const *sweeps,
                           const char *folder)
{
    for (; sweeps != NULL && *sweeps != NULL; sweeps++) {
        const struct option option = {reading, jr_arena_strdup(reading->arena, *sweeps), folder};
        if (option.text == NULL)
            return;
        size_t len = strcspn(option.text, "=");
        struct jr_node *key = read_option_key(&option, len);
        if (key == NULL)
            return;
        if (reading->axes->at.line == 0)
            reading->axes->at = key->span;
        if (refuse_other_form(&option, key, len) || refuse_joined_axes(&option, key, len) ||
            refuse_listed_values(&option, key, len))
            continue;
        struct jr_node *values = read_option_values(&option, len);
        if (values != NULL)
            jr_sweep_add_axis(reading, key, values);
    }
}
