#include "spec/check_shell_syntax.h"

#include <ctype.h>
#include <string.h>

#include <jobrun/contract.h>

#include "base/did_you_mean.h"
#include "base/strv.h"
#include "diag/fix.h"
#include "spec/check_secrets.h"
#include "spec/internal.h"

#include "base/banned.h"

static const char name_bytes[] = "abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/* A value that is looked at. */
struct shell_place {
    const struct jr_check *check;
    const struct jr_node *node;
    const char *in, *key; /* path and key of an entry; or NULL: entry `index` */
    size_t index;
    const char *shell; /* the way to have it read by one; NULL: there is none */
    bool templates;    /* it may have %{rank} and the like */
};

/* The scalar as it is written somewhere, whatever it is handed on by. */
static const char *written_text(const struct jr_node *node)
{
    return jr_lint_source(jr_lint_origin(node));
}

/* Whether nothing is to be said of a value: its tag says that it is meant. */
static bool is_meant(const struct jr_node *node)
{
    return jr_lint_origin(node)->meant;
}

/* Warn of bytes [from, to) of the text of a place. */
static struct jr_diag *warn_of_syntax(const struct shell_place *place, size_t from, size_t to,
                                      const char *reason)
{
    struct jr_lint *lint = place->check->lint;
    const struct jr_node *origin = jr_lint_origin(place->node);
    const char *text = jr_lint_source(origin);
    const char *path = place->key != NULL
                           ? jr_arena_printf(lint->arena, "%s%s%s", place->in,
                                             place->in[0] == '\0' ? "" : ".", place->key)
                           : jr_arena_printf(lint->arena, "%s[%zu]", place->in, place->index);
    return jr_diags_warning(lint->diags, JR_CODE_SHELL_SYNTAX, jr_lint_part(lint, origin, from, to),
                            path, "%s %s%s", jr_lint_quoted(lint, text + from, to - from), reason,
                            lint->strict ? "; if it is meant, write !!str before it" : "");
}

/* Whether a name or a path may begin here: what stands before it ends one. */
static bool begins_word(const char *text, size_t at)
{
    return at == 0 || strchr(" =:/,;\"'", text[at - 1]) != NULL;
}

/* The template that has the value of a variable that jobrun sets, or NULL. */
static const char *template_of(const char *name)
{
#define ROW(variable, value, field) {variable, value},
    static const char *const rows[][2] = {JR_CONTRACT_VARIABLES(ROW)};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i][0], name) == 0)
            return strstr(name, "_FILE") != NULL || strstr(name, "_PARALLEL_") != NULL ||
                           strcmp(name, "INIT_METHOD") == 0
                       ? NULL
                       : rows[i][1];
    return NULL;
}

/* Whether a value in a file is $NAME or ${NAME} without quotes: what is written for it wants some,
 * since no bare value begins with '%', nor holds '${' within brackets. */
static bool needs_quotes(const struct shell_place *place, const char *name)
{
    const struct jr_span *span = &jr_lint_origin(place->node)->span;
    size_t from, to;
    if (span->source == NULL || span->source->option || !jr_fix_find(span, &from, &to))
        return false;
    const char *text = span->source->text + from;
    size_t braces = strncmp(text, "${", 2) == 0 ? 2 : 0;
    return *text == '$' && to - from == 1 + braces + strlen(name);
}

/* Say how the value of a variable is had. */
static void help_with_variable(const struct shell_place *place, struct jr_diag *diag,
                               const char *name)
{
    struct jr_diags *diags = place->check->lint->diags;
    const struct jr_node *env = jr_doc_get(place->check->tree, "env");
    const struct jr_node *own = env == NULL ? NULL : jr_doc_get(env, name);
    const char *template = template_of(name);
    bool known = own != NULL && own != place->node && strcmp(own->text, "???") != 0 &&
                 jr_scalar_type(own) != JR_SCALAR_NULL;
    const char *shell = place->shell == NULL ? ""
                                             : jr_arena_printf(place->check->lint->arena,
                                                               ", or use %s", place->shell);
    if (shell == NULL)
        return;
    const char *quote = needs_quotes(place, name) ? "\"" : "";
    bool later = !place->templates && strncmp(name, "JOBRUN_", 7) == 0;
    if (later || (template != NULL && !place->templates))
        jr_diag_help(diags, diag, "use %s", place->shell);
    else if (template != NULL)
        jr_diag_help(diags, diag, "write %s%s%s%s", quote, template, quote, shell);
    else if (known)
        jr_diag_help(diags, diag, "write %s${env.%s}%s for the value of `env`%s", quote, name,
                     quote, shell);
    else
        jr_diag_help(diags, diag, "write %s${env:%s}%s for jobrun's own variable%s", quote, name,
                     quote, shell);
}

/* `hostname`, as a shell runs it. */
static bool check_backticks(const struct shell_place *place, const char *text)
{
    const char *open = strchr(text, '`');
    const char *close = open == NULL ? NULL : strchr(open + 1, '`');
    if (close == NULL || close == open + 1 || place->shell == NULL ||
        !begins_word(text, (size_t)(open - text)))
        return false;
    struct jr_diag *diag = warn_of_syntax(place, (size_t)(open - text), (size_t)(close + 1 - text),
                                          "is not replaced: no shell reads it");
    jr_diag_help(place->check->lint->diags, diag, "use %s", place->shell);
    return true;
}

/* What the loader of programs, not a shell, replaces. */
static bool is_loader_name(const char *name)
{
    return strcmp(name, "ORIGIN") == 0 || strcmp(name, "LIB") == 0 || strcmp(name, "PLATFORM") == 0;
}

/* $NAME or $(command). */
static bool check_dollar(const struct shell_place *place, const char *text)
{
    struct jr_arena *arena = place->check->lint->arena;
    for (const char *at = text; (at = strchr(at, '$')) != NULL; at++) {
        size_t from = (size_t)(at - text), len = strspn(at + 1, name_bytes);
        const char *close = at[1] == '(' ? strchr(at, ')') : NULL;
        const char *name = jr_arena_strndup(arena, at + 1, len);
        bool named =
            len > 0 && !isdigit((unsigned char)at[1]) && name != NULL && !is_loader_name(name);
        if (!begins_word(text, from) || (!named && close == NULL))
            continue;
        size_t to = named ? from + 1 + len : (size_t)(close - text) + 1;
        struct jr_diag *diag =
            warn_of_syntax(place, from, to, "is not replaced: no shell reads it");
        if (named)
            help_with_variable(place, diag, name);
        else if (place->shell != NULL)
            jr_diag_help(place->check->lint->diags, diag, "use %s", place->shell);
        return true;
    }
    return false;
}

/* ~ or ~/data, also as the value of an option, or in a list as PATH is. */
static bool check_tilde(const struct shell_place *place, const char *text)
{
    for (const char *at = text; (at = strchr(at, '~')) != NULL; at++) {
        size_t from = (size_t)(at - text);
        bool whole = at[1] == '\0' && from == 0;
        if ((at[1] != '/' && !whole) || !begins_word(text, from) ||
            (from > 0 && text[from - 1] == '/'))
            continue;
        struct jr_diag *diag = warn_of_syntax(place, from, from + 1 + strcspn(at + 1, " :,"),
                                              "is not your home folder: no shell reads it");
        jr_diag_help(place->check->lint->diags, diag, "write ${env:HOME}%s", whole ? "" : "/...");
        return true;
    }
    return false;
}

/* Words that stand by themselves between commands, or redirect one. */
static bool check_operator(const struct shell_place *place, const char *text)
{
    static const char *const words[] = {"&&", "||",  "|",  ";",  "&",    ">",    ">>", "<",
                                        "2>", "2>>", "&>", ">&", "2>&1", "1>&2", ">&2"};
    size_t i = 0, count = sizeof words / sizeof *words;
    while (i < count && strcmp(words[i], text) != 0)
        i++;
    const char *target = text + strspn(text, "12&");
    bool redirects = target[0] == '>' && target - text < 2 &&
                     target[1 + strspn(target + 1, ">")] != '\0' &&
                     strpbrk(target, "=<|()") == NULL;
    if (i == count && !redirects)
        return false;
    struct jr_diag *diag =
        warn_of_syntax(place, 0, strlen(text), "is an argument of the program: no shell reads it");
    bool kept = redirects || strchr(text, '>') != NULL;
    jr_diag_help(place->check->lint->diags, diag, "use %s%s", place->shell,
                 kept && place->templates ? "; `redirects` keeps output in files" : "");
    return true;
}

/* *.csv, data/part-*.csv and data/ *: but no regular expression. */
static bool check_glob(const struct shell_place *place, const char *text)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_./*%{}-";
    const char *slash = strrchr(text, '/');
    const char *name = slash == NULL ? text : slash + 1;
    const char *star = strchr(name, '*');
    if (star == NULL || text[0] == '-' || text[strspn(text, plain)] != '\0' ||
        strstr(text, ".*") != NULL)
        return false;
    bool whole = slash != NULL && strcmp(name, "*") == 0;
    bool suffix =
        star[1] == '.' && isalnum((unsigned char)star[2]) && strchr(star + 1, '*') == NULL;
    if (!whole && !suffix)
        return false;
    struct jr_diag *diag =
        warn_of_syntax(place, 0, strlen(text), "does not stand for files: no shell reads it");
    jr_diag_help(place->check->lint->diags, diag, "use %s, or let the program look for them",
                 place->shell);
    return true;
}

/* Whether a word lists `text`, or with `within` has one of the words in it. */
static bool is_listed(const char *const *words, const char *text, bool within)
{
    while (*words != NULL && (within ? strstr(text, *words) == NULL : strcmp(*words, text) != 0))
        words++;
    return *words != NULL;
}

/* Whether a program has a language of its own in its arguments, where dollars and stars are
 * common. */
static bool reads_itself(const char *program)
{
    static const char *const programs[] = {"awk",   "gawk",  "mawk",  "perl",     "sed", "grep",
                                           "egrep", "fgrep", "find",  "jq",       "ssh", "make",
                                           "ruby",  "node",  "xargs", "envsubst", NULL};
    const char *slash = strrchr(program, '/');
    return is_listed(programs, slash == NULL ? program : slash + 1, false);
}

/* Whether the word after this one is text for the program: a script, as that of sh -c and python
 * -c, or a pattern. */
static bool announces_text(const char *word)
{
    static const char *const whole[] = {"-c", "-lc", "-ec", "-e", "-xc", "--eval", "-euxc", NULL};
    static const char *const parts[] = {"glob",    "pattern", "regex",  "match",
                                        "include", "exclude", "ignore", NULL};
    return is_listed(whole, word, false) || (word[0] == '-' && is_listed(parts, word, true));
}

static bool is_command_line(const struct jr_node *node)
{
    const struct jr_source *source = node->span.source;
    return source != NULL && source->option && strcmp(source->name, "command") == 0;
}

static void check_word_list(const struct jr_check *check, const char *path,
                            const struct jr_node *words)
{
    const bool own = strcmp(path, "on_end") == 0; /* has no form of a shell */
    bool text = false;
    for (size_t i = 0; words != NULL && i < words->count; i++) {
        const struct jr_node *node = words->items[i];
        /* what a command line has was before the caller's shell already */
        if (node->kind != JR_NODE_SCALAR || is_command_line(node) || is_meant(node)) {
            text = false;
            continue;
        }
        const struct shell_place place = {.check = check,
                                          .node = node,
                                          .in = path,
                                          .index = i,
                                          .shell = own ? "[sh, -c, TEXT]" : "`shell:`",
                                          .templates = !own};
        const char *word = written_text(node);
        if (!text && strpbrk(word, " \n\\") == NULL)
            (void)(check_operator(&place, word) || check_dollar(&place, word) ||
                   check_backticks(&place, word) || check_tilde(&place, word) ||
                   check_glob(&place, word));
        text = announces_text(word);
    }
}

static void check_command_words(const struct jr_check *check)
{
    const struct jr_node *command = jr_doc_find(check->tree, "entrypoint.command");
    const struct jr_node *entries = jr_doc_get(check->tree, "per_rank");
    const struct jr_node *on_end = jr_doc_get(check->tree, "on_end");
    if (on_end != NULL && on_end->count > 0 && !reads_itself(on_end->items[0]->text))
        check_word_list(check, "on_end", on_end);
    if (jr_doc_find(check->tree, "entrypoint.python.function") != NULL)
        return;
    if (command != NULL && command->count > 0 && reads_itself(command->items[0]->text))
        return;
    check_word_list(check, "entrypoint.command", command);
    check_word_list(check, "entrypoint.args", jr_doc_find(check->tree, "entrypoint.args"));
    for (size_t i = 0; entries != NULL && i < entries->count; i++)
        check_word_list(
            check,
            jr_arena_printf(check->lint->arena, "per_rank.%s.args", entries->pairs[i].key->text),
            jr_doc_get(entries->pairs[i].value, "args"));
}

static void check_env_values(const struct jr_check *check, const char *path,
                             const struct jr_node *env)
{
    for (size_t i = 0; env != NULL && i < env->count; i++) {
        const struct jr_pair *pair = &env->pairs[i];
        const struct shell_place place = {.check = check,
                                          .node = pair->value,
                                          .in = path,
                                          .key = pair->key->text,
                                          .templates = true};
        if (pair->value->kind != JR_NODE_SCALAR || is_meant(pair->value) ||
            jr_env_matches(check->secrets, check->secrets_count, pair->key->text, pair->key->len))
            continue;
        const char *text = written_text(pair->value);
        (void)(check_dollar(&place, text) || check_tilde(&place, text));
    }
}

static void check_path_value(const struct jr_check *check, const char *path)
{
    const struct jr_node *node = jr_check_raw(check, path);
    const struct shell_place place = {
        .check = check, .node = node, .in = "", .key = path, .templates = true};
    if (node == NULL || node->kind != JR_NODE_SCALAR || is_meant(node))
        return;
    (void)check_dollar(&place, written_text(node)); /* ~ is an error there */
}

/* ${env:HOME} in the text of a shell, which reads it as something else, if at all. */
static void check_shell_references(const struct jr_check *check)
{
    const struct jr_node *node = jr_check_raw(check, "entrypoint.shell");
    const char *at =
        node == NULL || node->kind != JR_NODE_SCALAR || is_meant(node) ? NULL : node->text;
    for (; at != NULL && (at = strstr(at, "${env:")) != NULL; at++) {
        const char *name = at + strlen("${env:"), *close = strchr(at, '}');
        if (close == NULL || !isalpha((unsigned char)*name))
            continue;
        size_t from = (size_t)(at - node->text);
        size_t to = (size_t)(close - node->text) + 1;
        struct jr_diag *diag = jr_diags_warning(
            check->lint->diags, JR_CODE_SHELL_SYNTAX, jr_lint_part(check->lint, node, from, to),
            "entrypoint.shell", "%s is left to the shell, which cannot read it",
            jr_lint_quoted(check->lint, at, to - from));
        jr_diag_help(check->lint->diags, diag, "a shell writes $%.*s",
                     (int)strspn(name, name_bytes), name);
        return;
    }
}

static void check_shell_syntax(const struct jr_check *check)
{
    const struct jr_node *entries = jr_doc_get(check->tree, "per_rank");
    check_command_words(check);
    check_shell_references(check);
    check_env_values(check, "env", jr_doc_get(check->tree, "env"));
    for (size_t i = 0; entries != NULL && i < entries->count; i++)
        check_env_values(
            check,
            jr_arena_printf(check->lint->arena, "per_rank.%s.env", entries->pairs[i].key->text),
            jr_doc_get(entries->pairs[i].value, "env"));
    check_path_value(check, "workdir");
    check_path_value(check, "log_dir");
    check_path_value(check, "entrypoint.python.script");
}

void jr_check_shell_syntax(const struct jr_check *check)
{
    const struct jr_strv globs = jr_check_secret_globs(check);
    struct jr_check with_globs = *check;
    with_globs.secrets = globs.items;
    with_globs.secrets_count = globs.count;
    if (!check->lint->arena->failed)
        check_shell_syntax(&with_globs);
}

/* References that are lacking: entries of `vars` that no ${...} reads. */

enum { MOST_NAMES = 256 }; /* among so many a near one is looked for */

static bool is_set_outside(const struct jr_node *node)
{
    const struct jr_source *source = node->span.source;
    return source != NULL && strcmp(source->name, "--set") == 0;
}

/* Whether this spec, or --set, states a value: its parents may state more than it reads. */
static bool is_stated_here(const struct jr_check *check, const struct jr_node *node)
{
    const struct jr_source *source = node->span.source;
    return is_set_outside(node) || (source != NULL && source == check->root->span.source);
}

/* The entry that is read and has nearly this name, or NULL. */
static const char *near_read_entry(const struct jr_node *vars, const char *name)
{
    const char *names[MOST_NAMES + 1];
    size_t count = 0;
    if (vars->count > MOST_NAMES)
        return NULL;
    for (size_t i = 0; i < vars->count; i++)
        if (vars->pairs[i].value->read)
            names[count++] = vars->pairs[i].key->text;
    names[count] = NULL;
    return jr_did_you_mean(name, names);
}

static void warn_of_unread_entry(const struct jr_check *check, const struct jr_node *vars,
                                 const struct jr_pair *pair, struct jr_span at)
{
    const struct jr_node_step up = {.key = "vars"};
    const struct jr_node_step step = {.up = &up, .key = pair->key->text};
    const char *path = jr_lint_path(check->lint, &step);
    const char *near = near_read_entry(vars, pair->key->text);
    struct jr_diags *diags = check->lint->diags;
    struct jr_diag *diag = jr_diags_warning(diags, JR_CODE_VARIABLE_UNREAD, at, path,
                                            "nothing in the spec reads '%s'", path);
    if (near != NULL)
        jr_diag_help(diags, diag, "did you mean 'vars.%s'?", near);
    else
        jr_diag_help(diags, diag, "refer to it as ${%s}, or leave it out", path);
}

void jr_check_vars(const struct jr_check *check)
{
    const struct jr_node *vars = jr_check_raw(check, "vars");
    if (vars == NULL || vars->kind != JR_NODE_MAPPING || check->lint->base || check->lint->garbled)
        return;
    for (size_t i = 0; i < vars->count; i++) {
        const struct jr_pair *pair = &vars->pairs[i];
        const struct jr_node *value = pair->value;
        const struct jr_node *at = is_set_outside(value) ? value : pair->key;
        if (!value->read && !value->shared && is_stated_here(check, at) &&
            !jr_lint_is_removed(check->lint, value))
            warn_of_unread_entry(check, vars, pair, at->span);
    }
}
