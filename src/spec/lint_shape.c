#include "spec/lint_shape.h"

#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "spec/lint_finding.h"
#include "spec/lint_shape_parts.h"
#include "spec/lint_shape_placement.h"
#include "spec/lint_suggest.h"
#include "spec/lint_value.h"

#include "base/banned.h"

enum { AXES = 3, FEW = 4, MOST_JOINED = 12 };

bool jr_shape_are_words(const struct jr_node *node)
{
    size_t i = 0;
    if (node->kind == JR_NODE_SCALAR)
        return jr_lint_is_bare(node->text) && node->filled == NULL;
    while (node->kind == JR_NODE_SEQUENCE && i < node->count &&
           node->items[i]->kind == JR_NODE_SCALAR && jr_shape_are_words(node->items[i]))
        i++;
    return node->kind == JR_NODE_SEQUENCE && i > 0 && i == node->count;
}

/* The numbers of "2x2x4" or [2, 2, 4]; how many there are. */
static size_t read_axes(const struct jr_odd_shape *s, uint32_t axes[static AXES])
{
    size_t count = 0;
    const char *at = s->text;
    uint64_t value;
    if (s->node->kind == JR_NODE_SEQUENCE) {
        for (; count < s->node->count && count < AXES; count++)
            if (s->node->items[count]->kind != JR_NODE_SCALAR ||
                !jr_num_u32(s->node->items[count]->text, &axes[count]))
                return 0;
        return s->node->count > AXES ? 0 : count;
    }
    while (count < AXES && *at >= '1' && *at <= '9' && jr_num_digits(&at, &value) &&
           value <= UINT32_MAX) {
        axes[count++] = (uint32_t)value;
        if (*at == '\0')
            return count;
        if (strchr("xX*", *at) == NULL)
            return 0;
        at++;
    }
    return 0;
}

static bool shape_of_mesh(const struct jr_odd_shape *s)
{
    uint32_t axes[AXES] = {0};
    if (strcmp(s->path, "parallelism") != 0)
        return false;
    size_t count = read_axes(s, axes);
    if (count == 0 && s->node->kind == JR_NODE_SEQUENCE && s->node->count > 0 &&
        s->node->items[0]->kind == JR_NODE_MAPPING)
        return false;
    if (count == 3)
        HELP(s, "name the axes: {data: %u, pipeline: %u, model: %u}", axes[0], axes[1], axes[2]);
    else if (count == 2)
        HELP(s, "name the axes: {data: %u, model: %u}", axes[0], axes[1]);
    else if (count == 1)
        HELP(s, "name the axis: {model: %u}, {pipeline: %u} or {data: %u}", axes[0], axes[0],
             axes[0]);
    else
        HELP(s, "for example: parallelism: {model: 2, pipeline: 2}");
    return true;
}

/* The names of a list as result fields: "{a: {type: number}, ...}". */
static void help_with_fields(const struct jr_odd_shape *s, const char *head, const char *tail)
{
    JR_BUF_CLEANUP struct jr_buf list = JR_BUF_INIT;
    for (size_t i = 0; i < s->node->count && i < FEW; i++)
        jr_buf_printf(&list, "%s%s: {type: number}", i == 0 ? "" : ", ", s->node->items[i]->text);
    if (!list.failed)
        HELP(s, "say what each is: %s{%s%s}%s", head, list.data,
             s->node->count > FEW ? ", ..." : "", tail);
}

static bool shape_of_results(const struct jr_odd_shape *s)
{
    bool list = s->node->kind == JR_NODE_SEQUENCE && jr_shape_are_words(s->node);
    bool fields = strcmp(s->path, "results.fields") == 0;
    if (fields && list) {
        help_with_fields(s, "", "");
        return true;
    }
    if (strcmp(s->path, "results") != 0)
        return false;
    if (list)
        help_with_fields(s, "{fields: ", "}");
    else if (strcasecmp(s->text, "true") == 0)
        HELP(s, "for a result of every rank write {required: all}");
    else if (strcasecmp(s->text, "false") == 0)
        HELP(s, "leave it out, and exit code 0 is enough");
    else if (strpbrk(s->text, "./") != NULL)
        HELP(s, "if each rank writes this file: {file: %s}", s->text);
    else
        HELP(s, "for example: results: {fields: {loss: {type: number}}}");
    return true;
}

/* loss: number, loss: 0.5 */
static bool shape_of_result_field(const struct jr_odd_shape *s)
{
    static const char fields[] = "results.fields.";
    const struct jr_spec_field *type = jr_field_find("results.fields.x.type");
    size_t len = sizeof fields - 1;
    bool sure;
    double number;
    if (strncmp(s->path, fields, len) != 0 || strchr(s->path + len, '.') != NULL ||
        *s->text == '\0')
        return false;
    const char *word =
        jr_lint_near_word(s->text, jr_did_you_mean_list(s->lint, type->type->words), &sure);
    if (word != NULL)
        HELP(s, "write %s: {type: %s}", s->at->key, word);
    else if (jr_num_double(s->text, &number))
        HELP(s, "write %s: {type: number, min: %s}, or max", s->at->key, s->text);
    else if (strchr("<>", *s->text) != NULL &&
             jr_num_double(s->text + strspn(s->text, "<>= "), &number))
        HELP(s, "write %s: {type: number, %s: %s}", s->at->key, *s->text == '<' ? "max" : "min",
             s->text + strspn(s->text, "<>= "));
    else
        return false;
    return true;
}

static bool shape_of_timeouts(const struct jr_odd_shape *s)
{
    uint64_t ms;
    bool time = *s->text != '\0' && jr_num_duration(s->text, &ms);
    if (strcmp(s->path, "timeouts") != 0 || !time)
        return false;
    HELP(s, "say of what: {run: %s}, {silence: %s} or another", s->text, s->text);
    return true;
}

/* restart: on-failure, requeue: true */
static bool shape_of_restart(const struct jr_odd_shape *s)
{
    bool restart = strcmp(s->path, "restart") == 0;
    if ((!restart && strcmp(s->path, "requeue") != 0) || *s->text == '\0')
        return false;
    if (strcasecmp(s->text, "false") == 0 || strcasecmp(s->text, "never") == 0 ||
        strcasecmp(s->text, "no") == 0)
        HELP(s, "leave it out, and nothing is %s", restart ? "restarted" : "requeued");
    else
        HELP(s, "say how often: %s: 3", s->path);
    return true;
}

static bool shape_of_console(const struct jr_odd_shape *s)
{
    if (strcmp(s->path, "console") != 0 || *s->text == '\0')
        return false;
    if (strcasecmp(s->text, "false") != 0 && strcasecmp(s->text, "none") != 0)
        return false;
    HELP(s, "to show no lines write {ranks: none}");
    return true;
}

static bool shape_of_progress(const struct jr_odd_shape *s)
{
    if (strcmp(s->path, "progress") != 0 || s->node->kind != JR_NODE_SCALAR)
        return false;
    if (strchr(s->text, '(') != NULL && strchr(s->text, '\'') == NULL)
        HELP(s, "write {pattern: '%s'}", s->text);
    else
        HELP(s, "for example: progress: {pattern: 'step (?<step>[0-9]+)'}");
    return true;
}

/* deadline: 10m */
static bool shape_of_deadline(const struct jr_odd_shape *s)
{
    uint64_t ms;
    if (strcmp(s->path, "deadline") != 0 || *s->text == '\0' || !jr_num_duration(s->text, &ms))
        return false;
    HELP(s, "write {before: %s}", s->text);
    return true;
}

/* required: [0, 1] */
static bool shape_of_ranks(const struct jr_odd_shape *s)
{
    JR_BUF_CLEANUP struct jr_buf list = JR_BUF_INIT;
    if (s->type->kind != JR_KIND_RANKS || s->node->kind != JR_NODE_SEQUENCE ||
        !jr_shape_are_words(s->node))
        return false;
    for (size_t i = 0; i < s->node->count; i++)
        jr_buf_printf(&list, "%s%s", i == 0 ? "" : ",", s->node->items[i]->text);
    if (!list.failed)
        HELP(s, "write it as one text: \"%s\"", list.data);
    return true;
}

/* setup: [module load cuda, ./prepare] */
static bool shape_of_setup(const struct jr_odd_shape *s)
{
    if (strcmp(s->path, "setup") != 0 || s->node->kind != JR_NODE_SEQUENCE)
        return false;
    HELP(s, "write it as one text: `setup: |`, and a command on each line below, indented");
    return true;
}

/* env: .env */
static bool shape_of_env_file(const struct jr_odd_shape *s)
{
    if (strcmp(s->path, "env") != 0 || *s->text == '\0' || strchr(s->text, '=') != NULL ||
        !jr_shape_are_words(s->node))
        return false;
    if (jr_scalar_type(s->node) == JR_SCALAR_NULL || strcasecmp(s->text, "none") == 0)
        HELP(s, "leave it out");
    else
        HELP(s, "to read a file of variables write setup: set -a; . ./%s", s->text);
    return true;
}

/* artifacts: ckpt/last.pt, with what is more than a word */
static bool shape_of_texts(const struct jr_odd_shape *s)
{
    if (s->type->kind != JR_KIND_LIST || *s->text == '\0' || s->type->item->kind != JR_KIND_TEXT ||
        strcmp(s->path, "results.artifacts") != 0 || strpbrk(s->text, "\"\\ ,") != NULL)
        return false;
    HELP(s, "a list is written in brackets: [\"%s\"]", s->text);
    return true;
}

/* - name: A, value: 1 */
static bool shape_of_env(const struct jr_odd_shape *s)
{
    const struct jr_node *node = s->node;
    if (!s->type->env || node->kind != JR_NODE_SEQUENCE || node->count == 0)
        return false;
    const struct jr_node *name = jr_doc_get(node->items[0], "name");
    const struct jr_node *value = jr_doc_get(node->items[0], "value");
    if (name == NULL || value == NULL || !jr_shape_are_words(name) ||
        value->kind != JR_NODE_SCALAR || !jr_shape_are_words(value))
        return false;
    HELP(s, "write each as a name and a value: %s: %s", name->text, value->text);
    return true;
}

/* env: {LAYERS: [1, 2]} */
static bool shape_of_env_value(const struct jr_odd_shape *s)
{
    const struct jr_node *node = s->node;
    if (s->at == NULL || s->at->up == NULL || s->at->up->key == NULL ||
        strcmp(s->at->up->key, "env") != 0 || node->kind != JR_NODE_SEQUENCE || node->count < 2 ||
        node->items[0]->kind != JR_NODE_SCALAR || !jr_shape_are_words(node))
        return false;
    JR_BUF_CLEANUP struct jr_buf list = JR_BUF_INIT;
    for (size_t i = 0; i < node->count && i < MOST_JOINED; i++)
        jr_buf_printf(&list, "%s%s", i == 0 ? "" : ",", node->items[i]->text);
    if (!list.failed)
        HELP(s, "a variable is one text: write %s: \"%s%s\"", s->at->key, list.data,
             node->count > MOST_JOINED ? ",..." : "");
    return true;
}

/* `- --lr: 3` */
static bool is_option_item(const struct jr_node *node)
{
    return node->kind == JR_NODE_MAPPING && node->count == 1 &&
           node->pairs[0].key->text[0] == '-' &&
           jr_lint_is_bare(node->pairs[0].key->text + strspn(node->pairs[0].key->text, "-")) &&
           node->pairs[0].value->kind == JR_NODE_SCALAR &&
           jr_lint_is_bare(jr_lint_source(node->pairs[0].value));
}

/* An item such as `- lr: 3`, or a list within a list. */
static bool shape_of_item(const struct jr_odd_shape *s)
{
    const struct jr_node *node = s->node;
    bool text = s->type->kind == JR_KIND_TEXT || s->type->kind == JR_KIND_VALUE;
    if (s->at == NULL || s->at->key != NULL || !text)
        return false;
    if (node->kind == JR_NODE_SEQUENCE)
        HELP(s, "leave out the brackets or the '-' around it");
    else if (is_option_item(node))
        HELP(s, "an option and its value are two items: %s, %s", node->pairs[0].key->text,
             jr_lint_source(node->pairs[0].value));
    else if (node->kind == JR_NODE_MAPPING && node->count == 1 &&
             node->pairs[0].value->kind == JR_NODE_SCALAR && !node->flow)
        HELP(s, "a text with ': ' in it stands in quotes: \"%s: %s\"", node->pairs[0].key->text,
             node->pairs[0].value->text);
    else if (node->kind == JR_NODE_MAPPING && node->count == 1 &&
             jr_shape_are_words(node->pairs[0].value) && jr_shape_are_words(node->pairs[0].key) &&
             strncmp(s->path, "entrypoint", 10) == 0)
        HELP(s, "an option and its value are two items: --%s, %s", node->pairs[0].key->text,
             node->pairs[0].value->text);
    else if (node->kind == JR_NODE_MAPPING)
        HELP(s, "for a text put it into quotes");
    else
        return false;
    return true;
}

/* args: {lr: 0.1} */
static bool shape_of_args(const struct jr_odd_shape *s)
{
    const struct jr_node *node = s->node;
    if (strcmp(s->path, "entrypoint.args") != 0 || node->kind != JR_NODE_MAPPING ||
        node->count == 0 || !jr_shape_are_words(node->pairs[0].value) ||
        node->pairs[0].value->kind != JR_NODE_SCALAR)
        return false;
    const char *key = node->pairs[0].key->text;
    HELP(s, "write a list: [%s%s, %s%s]; for a function, kwargs", key[0] == '-' ? "" : "--", key,
         node->pairs[0].value->text, node->count > 1 ? ", ..." : "");
    return true;
}

/* vars: {lr: [0.1, 0.2]}: a list for the program, or values to be tried. */
static void help_with_sweep(const struct jr_odd_shape *s)
{
    JR_BUF_CLEANUP struct jr_buf list = JR_BUF_INIT;
    jr_doc_emit_line(&list, s->node);
    if (!list.failed)
        HELP(s,
             "one value each: write the list where ${vars.%s} stands, or try "
             "each in a run of its own: sweep: {axes: {vars.%s: %s}}",
             s->at->key, s->at->key, list.data);
}

/* best: loss */
static bool shape_of_best(const struct jr_odd_shape *s)
{
    if (strcmp(s->path, "sweep.best") != 0 || *s->text == '\0' || !jr_shape_are_words(s->node))
        return false;
    HELP(s, "write best: {field: %s, goal: %s}", s->text,
         strstr(s->text, "acc") != NULL ? "max" : "min");
    return true;
}

/* vars: {lrs: [1, 2]} */
static bool shape_of_variable(const struct jr_odd_shape *s)
{
    const struct jr_node *node = s->node;
    if (strncmp(s->path, "vars.", 5) != 0)
        return false;
    if (node->kind == JR_NODE_SEQUENCE && jr_shape_are_words(node))
        help_with_sweep(s);
    else if (node->kind == JR_NODE_SEQUENCE)
        HELP(s, "one value each: write the list where ${vars.%s} stands", s->at->key);
    else if (node->kind == JR_NODE_MAPPING && node->count > 0)
        HELP(s, "one value each: write %s_%s: ..., read as ${vars.%s_%s}", s->at->key,
             node->pairs[0].key->text, s->at->key, node->pairs[0].key->text);
    else
        return false;
    return true;
}

/* Whether something was put into a value or into what it holds: it may be a secret, and no help
 * repeats it. */
static bool has_filled(const struct jr_node *node)
{
    bool filled = node->kind == JR_NODE_SCALAR && node->filled != NULL;
    for (size_t i = 0; !filled && node->kind != JR_NODE_SCALAR && i < node->count; i++)
        filled = has_filled(node->kind == JR_NODE_SEQUENCE ? node->items[i] : node->pairs[i].value);
    return filled;
}

bool jr_lint_suggest_shape(struct jr_lint *lint, struct jr_diag *diag,
                           const struct jr_spec_type *type, const struct jr_node *node,
                           const struct jr_node_step *at)
{
    static bool (*const shapes[])(const struct jr_odd_shape *) = {
        shape_of_mesh,     shape_of_results,   shape_of_result_field, shape_of_timeouts,
        shape_of_restart,  shape_of_console,   shape_of_progress,     shape_of_env,
        shape_of_deadline, shape_of_ranks,     shape_of_setup,        shape_of_env_file,
        shape_of_texts,    shape_of_env_value, shape_of_item,         shape_of_variable,
        shape_of_best,     shape_of_args,
    };
    const struct jr_odd_shape s = {lint,
                                   diag,
                                   type,
                                   node,
                                   at,
                                   jr_lint_path(lint, at),
                                   node->kind == JR_NODE_SCALAR ? node->text : ""};
    size_t i = 0, count = sizeof shapes / sizeof *shapes;
    if (has_filled(node))
        return false;
    while (i < count && !shapes[i](&s))
        i++;
    return i < count || jr_shape_of_placement(&s);
}
