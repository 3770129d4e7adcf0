/*
 * A ',' or ';' in a value separates two settings only where NAME= follows, and NAME is a path of
 * its own (vars.b, parallelism.data), a field, or an entry beside the one that is set. What has a
 * '=' before that is a text which holds pairs, such as OTEL_RESOURCE_ATTRIBUTES, and so is a value
 * in quotes. Blanks separate settings of `vars` only: other texts have words in them.
 */
#include "doc/joined_settings.h"

#include <string.h>

#include "base/shell_words.h"
#include "doc/emit.h"
#include "doc/node.h"
#include "doc/node_path.h"

#include "base/banned.h"

#define VARIABLES "vars."

static struct jr_shape child_shape(const struct jr_joined_settings *settings,
                                   const struct jr_shape *shape, const char *path, size_t len)
{
    const char *key = jr_arena_strndup(settings->arena, path, len);
    return key == NULL ? (struct jr_shape){0} : settings->shapes->child(shape, key);
}

/* The shape of what the path leads to, without its last step: of the mapping that the option sets
 * an entry of. */
static struct jr_shape own_mapping(const struct jr_joined_settings *settings)
{
    struct jr_shape shape = settings->shapes->root;
    const char *at = settings->path, *end;
    while ((end = strchr(at, '.')) != NULL) {
        shape = child_shape(settings, &shape, at, (size_t)(end - at));
        at = end + 1;
    }
    return shape;
}

/* Whether the mapping that the option sets an entry of has this one, too. */
static bool is_beside(const struct jr_joined_settings *settings, const char *name, size_t len)
{
    const char *dot = strrchr(settings->path, '.');
    const char *mapping = jr_arena_strndup(settings->arena, settings->path,
                                           dot == NULL ? 0 : (size_t)(dot - settings->path));
    const char *key = jr_arena_strndup(settings->arena, name, len);
    if (mapping == NULL || key == NULL)
        return false;
    const struct jr_node *node =
        *mapping == '\0' ? settings->root : jr_doc_find(settings->root, mapping);
    const struct jr_shape shape = own_mapping(settings);
    return jr_doc_get(node, key) != NULL ||
           (!shape.open && settings->shapes->child(&shape, key).type != NULL);
}

/* The length of a path before a '='; 0: there is none. */
static size_t path_length(const char *text)
{
    static const char bytes[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.[]-";
    size_t len = strspn(text, bytes);
    return text[len] == '=' ? len : 0;
}

size_t jr_joined_settings_name(const struct jr_joined_settings *settings, const char *text)
{
    size_t plus = *text == '+', len = path_length(text + plus);
    size_t first = strcspn(text + plus, ".[=");
    const struct jr_shape own = own_mapping(settings);
    bool bare = first == len;
    if (first == 0 || len == 0)
        return 0;
    bool field = child_shape(settings, &settings->shapes->root, text + plus, first).type != NULL;
    /* what `env` and `labels` hold are texts of others */
    if (bare && own.open && !own.declared)
        field = false;
    if (field || (bare && is_beside(settings, text + plus, len)))
        return plus + len;
    return 0;
}

/* Where the next setting begins in the rest of a value, and in *ret_end where what is before it
 * ends. NULL: there is none. */
static const char *next_setting(const struct jr_joined_settings *settings, const char *text,
                                const char **ret_end)
{
    const char *equals = strchr(text, '='), *at = equals, *end;
    while (at != NULL && at > text && strchr(",; ", at[-1]) == NULL)
        at--;
    size_t len = at == NULL ? 0 : jr_joined_settings_name(settings, at);
    if (at == text || len == 0 || at + len != equals)
        return NULL;
    for (end = at; end > text && end[-1] == ' ';)
        end--;
    bool mark = end > text && strchr(",;", end[-1]) != NULL;
    *ret_end = end - mark;
    return mark || strncmp(settings->path, VARIABLES, strlen(VARIABLES)) == 0 ? at : NULL;
}

void jr_joined_settings_add(struct jr_buf *out, const struct jr_joined_settings *settings,
                            const char *text, size_t len)
{
    JR_BUF_CLEANUP struct jr_buf word = JR_BUF_INIT;
    const char *dot = strrchr(settings->path, '.');
    size_t name = strcspn(text, "=");
    if (dot != NULL && memchr(text, '.', name) == NULL && is_beside(settings, text, name))
        jr_buf_add(&word, settings->path, (size_t)(dot - settings->path) + 1);
    jr_buf_add(&word, text, len);
    jr_buf_printf(out, "%s%s ", out->len == 0 ? "" : " ", settings->name);
    if (!word.failed)
        jr_shell_quote(out, word.data);
    out->failed |= word.failed;
}

/* Whether what the option sets takes any text. */
static bool takes_text(const struct jr_joined_settings *settings)
{
    const char *dot = strrchr(settings->path, '.');
    const struct jr_shape mapping = own_mapping(settings);
    return settings->shapes->child(&mapping, dot == NULL ? settings->path : dot + 1).text;
}

/* The option as several, and where it can be one, with its value as the text that it is. */
static void help_with_settings(const struct jr_joined_settings *settings, struct jr_diag *diag,
                               const char *text, struct jr_diags *diags)
{
    JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT, whole = JR_BUF_INIT;
    JR_BUF_CLEANUP struct jr_buf quoted = JR_BUF_INIT;
    const char *option = jr_arena_printf(settings->arena, "%s%s=%s", settings->adds ? "+" : "",
                                         settings->path, text);
    for (const char *end, *next; option != NULL; option = next) {
        next = next_setting(settings, strchr(option, '=') + 1, &end);
        jr_joined_settings_add(&line, settings, option,
                               next == NULL ? strlen(option) : (size_t)(end - option));
    }
    if (!takes_text(settings)) {
        if (!line.failed)
            jr_diag_help(diags, diag, "write %s", line.data);
        return;
    }
    jr_buf_printf(&whole, "%s%s=", settings->adds ? "+" : "", settings->path);
    jr_quote_double(&whole, text, strlen(text));
    if (!whole.failed)
        jr_shell_quote(&quoted, whole.data);
    if (!line.failed && !quoted.failed)
        jr_diag_help(diags, diag, "write %s; for one text: %s %s", line.data, settings->name,
                     quoted.data);
}

bool jr_joined_settings_refuse(const struct jr_joined_settings *settings,
                               const struct jr_node *value, struct jr_diags *diags)
{
    JR_BUF_CLEANUP struct jr_buf shown = JR_BUF_INIT;
    const char *end;
    if (value->kind != JR_NODE_SCALAR || !value->plain)
        return false;
    const char *next = next_setting(settings, value->text, &end);
    if (next == NULL)
        return false;
    jr_point_text(&shown, next, strcspn(next, "="));
    size_t at = (size_t)(next - value->text);
    struct jr_diag *diag =
        jr_diags_error(diags, JR_CODE_WRONG_OVERRIDE, jr_point_part(value, at, value->len),
                       settings->path, "'%s' is a setting of its own: each has its %s",
                       shown.failed ? "" : shown.data, settings->name);
    help_with_settings(settings, diag, value->text, diags);
    return true;
}
