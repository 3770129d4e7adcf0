#include "doc/setting_slip.h"

#include <string.h>

#include "base/shell_words.h"
#include "doc/node_path.h"

#include "base/banned.h"

/* A path with dots where others have something else, and '=' behind it. Names that are the user's
 * own may have any byte: behind a dot only those of `vars` are taken for slips. */
static bool add_dotted_path(struct jr_buf *out, const char *path)
{
    static const char variables[] = "vars.";
    bool named = false; /* in [NAME] */
    path += strspn(path, "- ");
    bool own = strncmp(path, variables, sizeof variables - 1) != 0;
    size_t len = strlen(path), first = strcspn(path, ".");
    while (len > 0 && strchr(" :", path[len - 1]) != NULL)
        len--; /* "world_size =2", world_size:=2 */
    for (size_t i = 0; i < len; i++) {
        bool slip = (path[i] == '/' || path[i] == ':') && (i < first || !own);
        bool name = path[i] == '[' && strchr("0123456789-", path[i + 1]) == NULL;
        if (slip || name)
            jr_buf_char(out, '.');
        else if (!named || path[i] != ']')
            jr_buf_char(out, path[i]);
        named = name || (named && path[i] != ']');
    }
    jr_buf_char(out, '=');
    return !out->failed;
}

/* `meant` is the path with a '='. */
static void help_with_path(const struct jr_joined_settings *settings, struct jr_diag *diag,
                           struct jr_buf *meant, const struct jr_node *value,
                           struct jr_diags *diags)
{
    JR_BUF_CLEANUP struct jr_buf quoted = JR_BUF_INIT;
    bool word = value->kind == JR_NODE_SCALAR && value->plain;
    jr_buf_str(meant, word ? value->text : "...");
    if (!meant->failed)
        jr_shell_quote(&quoted, meant->data);
    if (!quoted.failed)
        jr_diag_help(diags, diag, "write %s %s%s", settings->name, settings->adds ? "+" : "",
                     quoted.data);
}

static bool refuse_path(const struct jr_joined_settings *settings, const struct jr_node *value,
                        struct jr_diags *diags)
{
    JR_BUF_CLEANUP struct jr_buf meant = JR_BUF_INIT;
    const char *path = settings->path;
    size_t len = strlen(path);
    if (!add_dotted_path(&meant, path) || value->span.source == NULL ||
        (meant.len == len + 1 && memcmp(meant.data, path, len) == 0) ||
        jr_doc_find(settings->root, path) != NULL ||
        jr_joined_settings_name(settings, meant.data) != meant.len - 1)
        return false;
    struct jr_diag *diag =
        jr_diags_error(diags, JR_CODE_WRONG_OVERRIDE,
                       jr_point_bytes(value->span.source, settings->adds, settings->adds + len),
                       NULL, "this is not how a path is written");
    help_with_path(settings, diag, &meant, value, diags);
    return true;
}

static bool refuse_equals(const struct jr_joined_settings *settings, const struct jr_node *value,
                          struct jr_diags *diags)
{
    if (value->kind != JR_NODE_SCALAR || !value->plain || value->text[0] != '=')
        return false;
    const char *text = value->text + strspn(value->text, "= ");
    struct jr_diag *diag = jr_diags_error(diags, JR_CODE_WRONG_OVERRIDE,
                                          jr_point_part(value, 0, (size_t)(text - value->text)),
                                          settings->path, "a setting has one '='");
    jr_diag_help(diags, diag, "write %s %s%s=%s; a text that begins with '=' is quoted",
                 settings->name, settings->adds ? "+" : "", settings->path, text);
    return true;
}

bool jr_setting_slip_refuse(const struct jr_joined_settings *settings, const struct jr_node *value,
                            struct jr_diags *diags)
{
    return refuse_path(settings, value, diags) || refuse_equals(settings, value, diags);
}
