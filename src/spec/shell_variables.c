/* References in shell text, which internal.h describes. */
#include <ctype.h>
#include <string.h>

#include <jobrun/contract.h>

#include "doc/doc.h"
#include "spec/field.h"
#include "spec/internal.h"

#include "base/banned.h"

enum { DEEPEST = 64, MOST_HERE = 8 };

/* A here-document whose lines are still to come. */
struct here_document {
    const char *word; /* that ends it, as written without its quotes */
    bool quoted, tabs;
};

/* Shell text that is being read. `out` is what it becomes. */
struct shell_text {
    struct jr_doc *doc;
    struct jr_diags *diags;
    const struct jr_node *node;
    const char *path; /* of the node */
    const char *text;
    size_t at, copied; /* bytes that were read, and that are in `out` */
    /* What is open: " a string, ( a command, a $(( )), g a group in it. */
    char open[DEEPEST];
    size_t depth;
    struct here_document here[MOST_HERE];
    size_t here_count;
    struct jr_buf out;
};

static struct jr_diag *refuse_reference(struct shell_text *shell, size_t len, const char *path,
                                        const char *why)
{
    return jr_diags_error(shell->diags, JR_CODE_WRONG_REFERENCE,
                          jr_point_part(shell->node, shell->at, shell->at + len), shell->path,
                          "'%s' %s", path, why);
}

/* The entry of `env` that hands the value over. Two paths of one name are a mistake. */
static void add_variable(struct shell_text *shell, const char *name, const char *path, size_t len)
{
    struct jr_arena *arena = &shell->doc->arena;
    struct jr_node *env = jr_doc_get(shell->doc->root, "env");
    const char *text = jr_arena_printf(arena, "${%s}", path);
    if (env == NULL || (env->kind == JR_NODE_SCALAR && jr_scalar_type(env) == JR_SCALAR_NULL)) {
        struct jr_node *made = jr_node_mapping(arena);
        if (made == NULL)
            return;
        made->span = env == NULL ? shell->node->span : env->span;
        jr_node_set(arena, shell->doc->root, "env", env = made);
    }
    const struct jr_node *known = jr_doc_get(env, name);
    if (known != NULL && known->kind == JR_NODE_SCALAR && text != NULL &&
        strncmp(known->text, "${", 2) == 0 && strcmp(known->text, text) != 0) {
        jr_diag_help(
            shell->diags,
            refuse_reference(shell, len, path, "has the name of another value in the shell"),
            "it is $%s, too: rename one of them", name);
        return;
    }
    struct jr_node *value =
        known != NULL || text == NULL ? NULL : jr_node_scalar(arena, text, false);
    if (value == NULL || env->kind != JR_NODE_MAPPING)
        return;
    value->span = jr_point_part(shell->node, shell->at, shell->at + len);
    jr_node_set(arena, env, name, value);
}

/* Refuse ${{ x }} and ${oc.env:HOME}, which others replace, and no shell can read. */
static bool refuse_other_reference(struct shell_text *shell, const char *from)
{
    bool env = strncmp(from, "oc.env:", 7) == 0;
    size_t size = strcspn(from, "}\n");
    size_t len = 2 + size + strspn(from + size, "}");
    if (!env && *from != '{')
        return false;
    const char *text = jr_arena_strndup(&shell->doc->arena, shell->text + shell->at, len);
    struct jr_diag *diag =
        refuse_reference(shell, len, text == NULL ? "${" : text, "is nothing that a shell reads");
    if (env)
        jr_diag_help(shell->diags, diag, "a shell writes $%.*s",
                     (int)strspn(from + 7, JR_SHELL_NAME_BYTES), from + 7);
    else
        jr_diag_help(shell->diags, diag,
                     "pass it by a variable of the environment, and write $NAME");
    shell->at += len;
    return true;
}

/* Read what begins with "${", of which the shell expands all that is `read`. */
static void read_reference(struct shell_text *shell, bool read, const char *in)
{
    struct jr_arena *arena = &shell->doc->arena;
    const char *from = shell->text + shell->at + 2;
    from += *from == '#' && strchr(JR_SHELL_NAME_BYTES, from[1]) != NULL;
    size_t key = strspn(from, JR_SHELL_NAME_BYTES), len = strspn(from, JR_SHELL_NAME_BYTES ".-");
    size_t start = (size_t)(from - shell->text), size = strcspn(from, "}\n");
    size_t whole = start - shell->at + size + (from[size] == '}');
    if (read && refuse_other_reference(shell, from))
        return;
    if (key == 0 || from[key] != '.' || isdigit((unsigned char)*from)) {
        shell->at += 2;
        return;
    }
    const char *path = jr_arena_strndup(arena, from, len);
    if (path == NULL) {
        shell->at = start + len;
        return;
    }
    char *name = jr_arena_printf(arena, JR_SHELL_VARIABLE "%s",
                                 path + (strncmp(path, "vars.", 5) == 0 ? strlen("vars.") : 0));
    for (char *dot = name; dot != NULL && *dot != '\0'; dot++)
        *dot = *dot == '.' ? '_' : *dot;
    const char *field = jr_arena_strndup(arena, path, strcspn(path, "."));
    if (!read && field != NULL && jr_field_find(field) != NULL) {
        struct jr_diag *diag =
            refuse_reference(shell, whole, path, "is in quotes, where the shell replaces nothing");
        jr_diag_help(shell->diags, diag, "%s", in);
    } else if (read && strchr(path, '-') != NULL) {
        const char *dash = strchr(path, '-');
        struct jr_diag *diag =
            refuse_reference(shell, whole, path, "cannot be the name of a variable in a shell");
        for (char *byte = name; byte != NULL && *byte != '\0'; byte++)
            *byte = *byte == '-' ? '_' : *byte;
        jr_diag_help(shell->diags, diag, "rename it, with _ for -; a default is written ${%.*s:%s}",
                     (int)(dash - path), path, dash);
    } else if (read && name != NULL) {
        add_variable(shell, name, path, whole);
        jr_buf_add(&shell->out, shell->text + shell->copied, start - shell->copied);
        jr_buf_str(&shell->out, name);
        shell->copied = start + len;
    }
    shell->at = start + len;
}

/* Read on to a byte, at which nothing is expanded before. */
static void read_quoted(struct shell_text *shell, size_t end, const char *in)
{
    while (shell->at < end)
        if (strncmp(shell->text + shell->at, "${", 2) == 0)
            read_reference(shell, false, in);
        else
            shell->at++;
    shell->at = end;
}

/* A text in single quotes; `escapes`: in $'...', where \' ends nothing. */
static void read_single(struct shell_text *shell, bool escapes)
{
    size_t end = shell->at + 1;
    while (shell->text[end] != '\0' && shell->text[end] != '\'')
        end += escapes && shell->text[end] == '\\' && shell->text[end + 1] != '\0' ? 2 : 1;
    read_quoted(shell, end,
                "nothing is replaced within single quotes: use double ones, or "
                "close them before it: 'a '\"${vars.x}\"' b'");
    shell->at += shell->text[end] != '\0';
}

/* The word behind <<, in any quotes. */
static void read_here_word(struct shell_text *shell)
{
    struct jr_buf word JR_BUF_CLEANUP = JR_BUF_INIT;
    struct here_document here = {.tabs = shell->text[shell->at] == '-'};
    const char *from = shell->text + shell->at + here.tabs;
    from += strspn(from, " \t");
    size_t len = strcspn(from, " \t\n;&|<>()");
    for (size_t i = 0; i < len; i++)
        if (strchr("'\"\\", from[i]) == NULL)
            jr_buf_char(&word, from[i]);
        else
            here.quoted = true;
    here.word = jr_buf_keep(&word, &shell->doc->arena);
    shell->at = (size_t)(from - shell->text) + len;
    if (len > 0 && here.word != NULL && shell->here_count < MOST_HERE)
        shell->here[shell->here_count++] = here;
}

/* The byte at which the line with the word begins, from `at` on. */
static size_t find_here_end(const char *text, size_t at, const struct here_document *here)
{
    size_t word = strlen(here->word);
    while (text[at] != '\0') {
        const char *line = text + at;
        size_t skipped = here->tabs ? strspn(line, "\t") : 0;
        size_t len = strcspn(line, "\n");
        if (len == skipped + word && memcmp(line + skipped, here->word, word) == 0)
            return at;
        at += len + (line[len] == '\n');
    }
    return at;
}

/* The lines of all here-documents that begin with this one. */
static void read_here_documents(struct shell_text *shell)
{
    for (size_t i = 0; i < shell->here_count; i++) {
        const struct here_document *here = &shell->here[i];
        size_t end = find_here_end(shell->text, shell->at, here);
        while (!here->quoted && shell->at < end) {
            const char *at = shell->text + shell->at;
            if (strncmp(at, "${", 2) == 0)
                read_reference(shell, true, NULL);
            else
                shell->at +=
                    (*at == '\\' || strncmp(at, "$$", 2) == 0) && shell->at + 1 < end ? 2 : 1;
        }
        read_quoted(shell, end,
                    "nothing is replaced in a here-document whose word is quoted: write the word "
                    "without quotes, and \\$ for other dollars");
        shell->at += strcspn(shell->text + end, "\n");
        shell->at += shell->text[shell->at] == '\n';
    }
    shell->here_count = 0;
}

static void open_part(struct shell_text *shell, char kind, size_t len)
{
    if (shell->depth < DEEPEST)
        shell->open[shell->depth++] = kind;
    shell->at += len;
}

/* Where quotes, comments and here-documents are. */
static void read_command_byte(struct shell_text *shell, char open)
{
    const char *at = shell->text + shell->at;
    bool starts = shell->at == 0 || strchr(" \t\n;&|(", at[-1]) != NULL;
    if (*at == '\'') {
        read_single(shell, shell->at > 0 && at[-1] == '$');
    } else if (*at == '"') {
        open_part(shell, '"', 1);
    } else if (*at == '#' && starts) {
        shell->at += strcspn(at, "\n");
    } else if (strncmp(at, "<<<", 3) == 0) {
        shell->at += 3;
    } else if (strncmp(at, "<<", 2) == 0) {
        shell->at += 2;
        read_here_word(shell);
    } else if (strncmp(at, "((", 2) == 0 && starts) {
        open_part(shell, 'a', 2);
    } else if (*at == '(' && open == '(') {
        open_part(shell, '(', 1);
    } else {
        shell->at++;
        if (*at == ')' && open == '(')
            shell->depth--;
        else if (*at == '\n')
            read_here_documents(shell);
    }
}

static void read_byte(struct shell_text *shell)
{
    const char *at = shell->text + shell->at;
    char open = shell->depth == 0 ? '\0' : shell->open[shell->depth - 1];
    if (*at == '\\') {
        shell->at += at[1] == '\0' ? 1 : 2;
    } else if (strncmp(at, "${", 2) == 0) {
        read_reference(shell, true, NULL);
    } else if (strncmp(at, "$$", 2) == 0) {
        shell->at += 2;
    } else if (strncmp(at, "$((", 3) == 0) {
        open_part(shell, 'a', 3);
    } else if (strncmp(at, "$(", 2) == 0) {
        open_part(shell, '(', 2);
    } else if (open == '"') {
        shell->at++;
        shell->depth -= *at == '"';
    } else if (open == 'a' || open == 'g') {
        bool ends = open == 'g' ? *at == ')' : strncmp(at, "))", 2) == 0;
        if (*at == '(')
            open_part(shell, 'g', 1);
        else
            shell->at += ends && open == 'a' ? 2 : 1;
        shell->depth -= ends;
    } else {
        read_command_byte(shell, open);
    }
}

static void read_shell_text(struct jr_doc *doc, struct jr_diags *diags, const char *path)
{
    struct jr_node *node = jr_doc_find(doc->root, path);
    if (node == NULL || node->kind != JR_NODE_SCALAR || node->meant ||
        strstr(node->text, "${") == NULL)
        return;
    struct shell_text shell = {
        .doc = doc, .diags = diags, .node = node, .path = path, .text = node->text};
    while (shell.text[shell.at] != '\0' && !doc->arena.failed)
        read_byte(&shell);
    jr_buf_str(&shell.out, shell.text + shell.copied);
    doc->arena.failed |= shell.out.failed;
    if (shell.copied > 0 && !shell.out.failed)
        jr_node_rewrite(&doc->arena, node, shell.out.data, shell.out.len);
    jr_buf_release(&shell.out);
}

void jr_shell_variables(struct jr_doc *doc, struct jr_diags *diags)
{
    if (doc->root->kind != JR_NODE_MAPPING)
        return;
    read_shell_text(doc, diags, "setup");
    read_shell_text(doc, diags, "entrypoint.shell");
}
