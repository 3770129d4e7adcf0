/*
 * The rules of internal.h on texts that are likely not to be meant as they stand, which are
 * warnings: secrets that a spec gives away, what only a shell or sbatch would replace (`$LR`,
 * `~/data`, `*.csv`, `&&`, logs/%j) where none reads it, and entries of `vars` that nothing reads.
 * What programs are likely to read themselves (a regular expression, the text of sh -c) is left
 * alone, and so is what has the tag !!str.
 */
#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

#include <jobrun/contract.h>

#include "base/did_you_mean.h"
#include "base/num.h"
#include "base/strv.h"
#include "spec/internal.h"

#include "base/banned.h"

/* The scalar as somebody wrote it, whatever was put into it or it is handed on by. */
static const char *written_text(const struct jr_node *node)
{
    return jr_lint_source(jr_lint_origin(node));
}

/* Whether nothing is to be said of a value: its tag says that it is meant. */
static bool is_meant(const struct jr_node *node)
{
    return jr_lint_origin(node)->meant;
}

/* Secrets: by their names, as literal values of variables, or in arguments, which every user of a
 * machine can read. What is found is never quoted. */

enum {
    NAME_MAX_LEN = 96, /* longer names are none that a person would write */
    SHORT_LEN = 8,     /* longer numbers are no counts */
};

static const char BLANKS[] = " \t\r\n";

/* An argument, or a word of shell text. */
struct word {
    const char *text;
    size_t len;
};

/* Whether a value gives nothing away: a path, what comes from elsewhere, a switch or a count. */
static bool is_harmless(struct word value)
{
    static const char *const starts[] = {"$", "/", "~/", "./", "../", "%{"};
    char text[SHORT_LEN + 1];
    double number;
    /* without the shell's quotes, of which one may be some words away */
    if (value.len > 0 && (value.text[0] == '"' || value.text[0] == '\''))
        value = (struct word){value.text + 1, value.len - 1};
    if (value.len > 0 && (value.text[value.len - 1] == '"' || value.text[value.len - 1] == '\''))
        value.len--;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (value.len >= strlen(starts[i]) && memcmp(value.text, starts[i], strlen(starts[i])) == 0)
            return true;
    if (value.len > SHORT_LEN)
        return false;
    *(char *)mempcpy(text, value.text, value.len) = '\0';
    return value.len == 0 || strcasecmp(text, "true") == 0 || strcasecmp(text, "false") == 0 ||
           jr_num_double(text, &number);
}

/* The glob of `secrets` that the name of a variable matches, to be shown, or NULL. */
static const char *find_name_glob(const struct jr_check *check, const char *name)
{
    const struct jr_strv *globs = &check->secrets;
    size_t i = 0;
    if (!jr_env_matches(globs->items, globs->count, name, strlen(name))) /* as most do not */
        return NULL;
    while (i < globs->count && !jr_env_matches(globs->items + i, 1, name, strlen(name)))
        i++;
    return i == globs->count
               ? NULL
               : jr_lint_quoted(check->lint, globs->items[i], strlen(globs->items[i]));
}

/* The same for an argument: the glob must match whole words, which are separated by underscores in
 * `name`: --tokenizer and --max-tokens are not tokens. */
static const char *find_word_glob(const struct jr_check *check, const char *name)
{
    for (size_t i = 0; i < check->secrets.count; i++) {
        char pattern[NAME_MAX_LEN + 8];
        const char *glob = check->secrets.items[i];
        size_t from = strspn(glob, "*_"), whole = strlen(glob), len = whole;
        while (len > from && strchr("*_", glob[len - 1]) != NULL)
            len--;
        if (len == from || len - from > NAME_MAX_LEN)
            continue;
        char *end = stpcpy(pattern, glob[0] == '*' ? "*_" : "_");
        end = mempcpy(end, glob + from, len - from);
        (void)stpcpy(end, glob[whole - 1] == '*' ? "_*" : "_");
        if (fnmatch(pattern, name, FNM_CASEFOLD) == 0)
            return jr_lint_quoted(check->lint, glob, whole);
    }
    return NULL;
}

/* Warn at `node`, whose line is not quoted: it may hold the secret. */
static void warn_at_secret(const struct jr_check *check, const struct jr_node *node,
                           const char *path, const char *message)
{
    struct jr_lint *lint = check->lint;
    struct jr_span span = node->span;
    struct jr_source *source = jr_arena_alloc(lint->arena, sizeof *source);
    if (source == NULL || message == NULL)
        return;
    if (span.source != NULL) {
        source->name = span.source->name;
        source->option = span.source->option;
    }
    span.source = source;
    struct jr_diag *diag =
        jr_diags_warning(lint->diags, JR_CODE_SECRET_EXPOSED, span, path, "%s", message);
    jr_diag_help(lint->diags, diag,
                 "take it from the environment (??? in env), or narrow secrets if it is not one");
}

/* Warn of an argument that gives the value of `name` away. */
static void warn_argument(const struct jr_check *check, const struct jr_node *node,
                          const char *path, struct word name, const char *glob)
{
    warn_at_secret(check, node, path,
                   jr_arena_printf(check->lint->arena,
                                   "every user of the machine can read the value of %s, "
                                   "which is a secret by %s of `secrets`",
                                   jr_lint_quoted(check->lint, name.text, name.len), glob));
}

/* Values that the spec itself states, if only by way of another one. */
static void check_secret_variables(const struct jr_check *check, const struct jr_node *env,
                                   const char *path)
{
    struct jr_arena *arena = check->lint->arena;
    for (size_t i = 0; env != NULL && i < env->count; i++) {
        const struct jr_node *key = env->pairs[i].key;
        const struct jr_node *value = jr_lint_origin(env->pairs[i].value);
        const char *glob = find_name_glob(check, key->text);
        const char *text = jr_lint_source(value);
        if (glob == NULL || value->filled != NULL || strcmp(value->text, "???") == 0 ||
            jr_scalar_type(value) == JR_SCALAR_NULL ||
            is_harmless((struct word){text, strlen(text)}))
            continue;
        warn_at_secret(check, key, jr_arena_printf(arena, "%s.%s", path, key->text),
                       jr_arena_printf(arena,
                                       "the spec contains the value of %s, which is a "
                                       "secret by %s of `secrets`",
                                       jr_lint_quoted(check->lint, key->text, key->len), glob));
    }
}

/* "_HF_TOKEN_" for `--hf-token` and `HF_TOKEN=...`; false where the word names nothing. */
static bool read_word_name(struct word word, char ret_name[static NAME_MAX_LEN + 3],
                           size_t *ret_len)
{
    size_t dashes = 0, len = 0;
    while (dashes < word.len && word.text[dashes] == '-')
        dashes++;
    const char *at = word.text + dashes;
    char *out = stpcpy(ret_name, "_");
    for (; dashes + len < word.len && len < NAME_MAX_LEN; len++) {
        bool inner = at[len] == '-' || at[len] == '_';
        if (!inner && !isalnum((unsigned char)at[len]))
            break;
        *out++ = (char)(inner ? '_' : toupper((unsigned char)at[len]));
    }
    (void)stpcpy(out, "_");
    *ret_len = dashes + len;
    bool ends = dashes + len == word.len;
    return len > 0 && (ends ? dashes > 0 : at[len] == '=');
}

/* A word and the one after it. */
static void check_secret_word(const struct jr_check *check, const struct jr_node *node,
                              const char *path, struct word word, struct word next)
{
    char name[NAME_MAX_LEN + 3];
    size_t len;
    if (!read_word_name(word, name, &len))
        return;
    struct word value = next;
    if (len < word.len)
        value = (struct word){word.text + len + 1, word.len - len - 1};
    else if (next.len > 0 && next.text[0] == '-')
        return;
    const char *glob = find_word_glob(check, name);
    if (glob != NULL && !is_harmless(value))
        warn_argument(check, node, path, (struct word){word.text, len}, glob);
}

/* Each word of a text that a shell, or a program, will take apart. */
static void check_secret_words(const struct jr_check *check, const struct jr_node *node,
                               const char *path, const char *text)
{
    text += strspn(text, BLANKS);
    while (*text != '\0') {
        size_t len = strcspn(text, BLANKS);
        const char *next = text + len + strspn(text + len, BLANKS);
        check_secret_word(check, node, path, (struct word){text, len},
                          (struct word){next, strcspn(next, BLANKS)});
        text = next;
    }
}

/* Secrets of the environment that an argument asks for. */
static void check_references(const struct jr_check *check, const struct jr_node *node,
                             const char *path)
{
    static const char reference[] = "${env:";
    const char *text = written_text(node), *at = text;
    for (; (at = strstr(at, reference)) != NULL; at += strlen(reference)) {
        struct word name = {at + strlen(reference), 0};
        name.len = strcspn(name.text, ":}");
        const char *copy = jr_arena_strndup(check->lint->arena, name.text, name.len);
        const char *glob = copy == NULL ? NULL : find_name_glob(check, copy);
        bool escaped = at > text && at[-1] == '$';
        if (glob != NULL && !escaped)
            warn_argument(check, node, path, name, glob);
    }
}

/* What a function is called with, whatever its type; NULL: nothing. A named argument, or a key
 * within one, is treated like an option of that name. */
static void check_secret_values(const struct jr_check *check, const struct jr_node *node,
                                const char *path)
{
    if (node != NULL && node->kind == JR_NODE_SCALAR)
        check_references(check, node, path);
    for (size_t i = 0; node != NULL && node->kind != JR_NODE_SCALAR && i < node->count; i++) {
        bool list = node->kind == JR_NODE_SEQUENCE;
        const struct jr_node *value = list ? node->items[i] : node->pairs[i].value;
        if (!list && value->kind == JR_NODE_SCALAR && jr_scalar_type(value) != JR_SCALAR_NULL) {
            char name[NAME_MAX_LEN + 3];
            const char *text = written_text(value), *key = node->pairs[i].key->text, *glob = NULL;
            const char *option = jr_arena_printf(check->lint->arena, "--%s", key);
            size_t len;
            if (option != NULL && read_word_name((struct word){option, strlen(option)}, name, &len))
                glob = find_word_glob(check, name);
            if (glob != NULL && !is_harmless((struct word){text, strlen(text)}))
                warn_argument(check, value, path, (struct word){option + 2, len - 2}, glob);
        }
        check_secret_values(check, value, path);
    }
}

static void check_secret_arguments(const struct jr_check *check, const struct jr_node *args,
                                   const char *path)
{
    for (size_t i = 0; args != NULL && i < args->count; i++) {
        const struct jr_node *node = args->items[i];
        const char *next = "";
        if (node->kind != JR_NODE_SCALAR) {
            check_secret_values(check, node, path);
            continue;
        }
        if (i + 1 < args->count && args->items[i + 1]->kind == JR_NODE_SCALAR)
            next = written_text(args->items[i + 1]);
        const char *word = written_text(node);
        if (strpbrk(word, BLANKS) != NULL)
            check_secret_words(check, node, path, word);
        else
            check_secret_word(check, node, path, (struct word){word, strlen(word)},
                              (struct word){next, strlen(next)});
        check_references(check, node, path);
    }
}

struct jr_strv jr_check_secret_globs(struct jr_lint *lint, const struct jr_node *tree)
{
    const struct jr_node *stated = jr_doc_get(tree, "secrets");
    struct jr_strv globs = {0};
    if (stated == NULL)
        return jr_field_defaults(jr_field_find("secrets"), lint->arena);
    for (size_t i = 0; i < stated->count; i++)
        jr_strv_push(&globs, lint->arena, (char *)stated->items[i]->text);
    return globs;
}

void jr_check_secrets(const struct jr_check *check)
{
    static const char *const shells[] = {"entrypoint.shell", "setup"};
    const struct jr_node *tree = check->tree;
    const struct jr_node *entries = jr_doc_get(tree, "per_rank");
    check_secret_variables(check, jr_doc_get(tree, "env"), "env");
    check_secret_arguments(check, jr_doc_find(tree, "entrypoint.command"), "entrypoint.command");
    check_secret_arguments(check, jr_doc_find(tree, "entrypoint.args"), "entrypoint.args");
    check_secret_values(check, jr_doc_find(tree, "entrypoint.kwargs"), "entrypoint.kwargs");
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        const struct jr_node *shell = jr_doc_find(tree, shells[i]);
        if (shell != NULL)
            check_secret_words(check, shell, shells[i], shell->text);
    }
    check_secret_arguments(check, jr_doc_get(tree, "on_end"), "on_end");
    for (size_t i = 0; entries != NULL && i < entries->count; i++) {
        const struct jr_node *entry = entries->pairs[i].value;
        check_secret_variables(check, jr_doc_get(entry, "env"), "per_rank");
        check_secret_arguments(check, jr_doc_get(entry, "args"), "per_rank");
        check_secret_values(check, jr_doc_get(entry, "kwargs"), "per_rank");
    }
}

/* What only a shell would replace. A check says whether it has warned. `shell` is the way to have
 * the value read by one, NULL: there is none; with `templates` it may have %{rank} and the like. */

/* Warn of bytes [from, to) of the text of a node. */
static struct jr_diag *warn_of_syntax(const struct jr_check *check, const struct jr_node *node,
                                      const char *path, size_t from, size_t to, const char *reason)
{
    struct jr_lint *lint = check->lint;
    const struct jr_node *origin = jr_lint_origin(node);
    return jr_diags_warning(lint->diags, JR_CODE_SHELL_SYNTAX, jr_lint_part(lint, origin, from, to),
                            path, "%s %s%s",
                            jr_lint_quoted(lint, jr_lint_source(origin) + from, to - from), reason,
                            lint->strict ? "; if it is meant, write !!str before it" : "");
}

/* Whether a name or a path may begin here: what stands before it ends one. */
static bool begins_word(const char *text, const char *at)
{
    return at == text || strchr(" =:/,;\"'", at[-1]) != NULL;
}

/* The template that has the value of a variable that jobrun sets, or NULL. */
static const char *template_of(const char *name)
{
#define ROW(variable, value, field) {variable, value},
    static const char *const rows[][2] = {JR_CONTRACT_VARIABLES(ROW)};
    size_t i = 0, count = sizeof rows / sizeof *rows;
    while (i < count && strcmp(rows[i][0], name) != 0)
        i++;
    return i == count || strstr(name, "_FILE") != NULL || strstr(name, "_PARALLEL_") != NULL ||
                   strcmp(name, "INIT_METHOD") == 0
               ? NULL
               : rows[i][1];
}

/* Say how the value of a variable is had, whose `$NAME` is bytes [from, to) of the text. */
static void help_with_variable(const struct jr_check *check, const struct jr_node *node,
                               struct jr_diag *diag, size_t from, size_t to, const char *shell,
                               bool templates)
{
    struct jr_lint *lint = check->lint;
    const char *name = jr_arena_strndup(lint->arena, written_text(node) + from + 1, to - from - 1);
    if (name == NULL)
        return;
    struct jr_diags *diags = lint->diags;
    const struct jr_node *own = jr_doc_get(jr_doc_get(check->tree, "env"), name);
    const char *template = template_of(name);
    bool known = own != NULL && own != node && strcmp(own->text, "???") != 0 &&
                 jr_scalar_type(own) != JR_SCALAR_NULL;
    const char *or_shell =
        shell == NULL ? "" : jr_arena_printf(check->lint->arena, ", or use %s", shell);
    const char *reference =
        template != NULL ? template
                         : jr_arena_printf(lint->arena, known ? "${env.%s}" : "${env:%s}", name);
    const char *written =
        reference == NULL ? NULL : jr_lint_replaced(lint, node, from, to, reference);
    if (or_shell == NULL || written == NULL)
        return;
    if (!templates && (template != NULL || strncmp(name, "JOBRUN_", 7) == 0))
        jr_diag_help(diags, diag, "use %s", shell);
    else
        jr_diag_help(diags, diag, "write %s%s%s", written,
                     template != NULL ? ""
                     : known          ? " for the value of `env`"
                                      : " for jobrun's own variable",
                     or_shell);
}

/* $NAME, but for what the loader of programs replaces, and $(command). */
static bool check_dollar(const struct jr_check *check, const struct jr_node *node, const char *path,
                         const char *shell, bool templates)
{
    const char *text = written_text(node);
    for (const char *at = text; (at = strchr(at, '$')) != NULL; at++) {
        size_t from = (size_t)(at - text), len = strspn(at + 1, JR_SHELL_NAME_BYTES);
        const char *close = at[1] == '(' ? strchr(at, ')') : NULL;
        const char *name = jr_arena_strndup(check->lint->arena, at + 1, len);
        bool named = len > 0 && !isdigit((unsigned char)at[1]) && name != NULL &&
                     strcmp(name, "ORIGIN") != 0 && strcmp(name, "LIB") != 0 &&
                     strcmp(name, "PLATFORM") != 0;
        if (!begins_word(text, at) || (!named && close == NULL))
            continue;
        size_t to = named ? from + 1 + len : (size_t)(close - text) + 1;
        struct jr_diag *diag =
            warn_of_syntax(check, node, path, from, to, "is not replaced: no shell reads it");
        if (named)
            help_with_variable(check, node, diag, from, to, shell, templates);
        else if (shell != NULL)
            jr_diag_help(check->lint->diags, diag, "use %s", shell);
        return true;
    }
    return false;
}

/* `hostname`, as a shell runs it. */
static bool check_backticks(const struct jr_check *check, const struct jr_node *node,
                            const char *path, const char *shell)
{
    const char *text = written_text(node), *open = strchr(text, '`');
    const char *close = open == NULL ? NULL : strchr(open + 1, '`');
    if (close == NULL || close == open + 1 || !begins_word(text, open))
        return false;
    struct jr_diag *diag =
        warn_of_syntax(check, node, path, (size_t)(open - text), (size_t)(close + 1 - text),
                       "is not replaced: no shell reads it");
    jr_diag_help(check->lint->diags, diag, "use %s", shell);
    return true;
}

/* ~ or ~/data, also as the value of an option, or in a list as PATH is. */
static bool check_tilde(const struct jr_check *check, const struct jr_node *node, const char *path)
{
    const char *text = written_text(node);
    for (const char *at = text; (at = strchr(at, '~')) != NULL; at++) {
        size_t from = (size_t)(at - text);
        bool whole = at[1] == '\0' && from == 0;
        if ((at[1] != '/' && !whole) || !begins_word(text, at) || (from > 0 && at[-1] == '/'))
            continue;
        size_t rest = strcspn(at + 1, " :,");
        struct jr_diag *diag = warn_of_syntax(check, node, path, from, from + 1 + rest,
                                              "is not your home folder: no shell reads it");
        const char *home =
            jr_arena_printf(check->lint->arena, "${env:HOME}%.*s", (int)rest, at + 1);
        if (home != NULL)
            jr_diag_help(check->lint->diags, diag, "write %s",
                         jr_lint_replaced(check->lint, node, from, from + 1 + rest, home));
        return true;
    }
    return false;
}

/* Words that stand by themselves between commands, or redirect one. */
static bool check_operator(const struct jr_check *check, const struct jr_node *node,
                           const char *path, const char *shell, bool templates)
{
    static const char *const words[] = {"&&", "||",  "|",  ";",  "&",    ">",    ">>", "<",
                                        "2>", "2>>", "&>", ">&", "2>&1", "1>&2", ">&2"};
    const char *text = written_text(node);
    size_t i = 0, count = sizeof words / sizeof *words;
    while (i < count && strcmp(words[i], text) != 0)
        i++;
    const char *target = text + strspn(text, "12&");
    bool redirects = target[0] == '>' && target - text < 2 &&
                     target[1 + strspn(target + 1, ">")] != '\0' &&
                     strpbrk(target, "=<|()") == NULL;
    if (i == count && !redirects)
        return false;
    struct jr_diag *diag = warn_of_syntax(check, node, path, 0, strlen(text),
                                          "is an argument of the program: no shell reads it");
    bool kept = redirects || strchr(text, '>') != NULL;
    jr_diag_help(check->lint->diags, diag, "use %s%s", shell,
                 kept && templates ? "; `redirects` keeps output in files" : "");
    return true;
}

/* *.csv, data/part-*.csv and data/ *: but no regular expression. */
static bool check_glob(const struct jr_check *check, const struct jr_node *node, const char *path,
                       const char *shell)
{
    const char *text = written_text(node), *slash = strrchr(text, '/');
    const char *name = slash == NULL ? text : slash + 1;
    const char *star = strchr(name, '*');
    if (star == NULL || text[0] == '-' ||
        text[strspn(text, JR_SHELL_NAME_BYTES "./*%{}-")] != '\0' || strstr(text, ".*") != NULL)
        return false;
    bool whole = slash != NULL && strcmp(name, "*") == 0;
    bool suffix =
        star[1] == '.' && isalnum((unsigned char)star[2]) && strchr(star + 1, '*') == NULL;
    if (!whole && !suffix)
        return false;
    struct jr_diag *diag = warn_of_syntax(check, node, path, 0, strlen(text),
                                          "does not stand for files: no shell reads it");
    jr_diag_help(check->lint->diags, diag, "use %s, or let the program look for them", shell);
    return true;
}

/* Whether one of the words is `text`, or with `within` is within it. */
static bool is_listed(const char *const *words, const char *text, bool within)
{
    while (*words != NULL && (within ? strstr(text, *words) == NULL : strcmp(*words, text) != 0))
        words++;
    return *words != NULL;
}

/* Whether a program has a language of its own in its arguments, where dollars and stars are
 * common. */
static bool reads_itself(const struct jr_node *words)
{
    static const char *const programs[] = {"awk",   "gawk",  "mawk",  "perl",     "sed", "grep",
                                           "egrep", "fgrep", "find",  "jq",       "ssh", "make",
                                           "ruby",  "node",  "xargs", "envsubst", NULL};
    if (words == NULL || words->count == 0)
        return false;
    const char *program = words->items[0]->text, *slash = strrchr(program, '/');
    return is_listed(programs, slash == NULL ? program : slash + 1, false);
}

static void check_word_list(const struct jr_check *check, const char *path,
                            const struct jr_node *words)
{
    /* the word after one of these, or after an option that has one of those, is text for the
     * program: a script, as that of sh -c and python -c, or a pattern */
    static const char *const whole[] = {"-c", "-lc", "-ec", "-e", "-xc", "--eval", "-euxc", NULL};
    static const char *const parts[] = {"glob",    "pattern", "regex",  "match",
                                        "include", "exclude", "ignore", NULL};
    const bool own = path != NULL && strcmp(path, "on_end") == 0; /* has no form of a shell */
    const char *shell = own ? "[sh, -c, TEXT]" : "`shell:`";
    bool text = false;
    for (size_t i = 0; words != NULL && i < words->count; i++) {
        const struct jr_node *node = words->items[i];
        const struct jr_source *source = node->span.source;
        /* what a command line has was before the caller's shell already */
        bool typed = source != NULL && source->option && strcmp(source->name, "command") == 0;
        if (node->kind != JR_NODE_SCALAR || typed || is_meant(node)) {
            text = false;
            continue;
        }
        const char *word = written_text(node);
        const char *at = jr_arena_printf(check->lint->arena, "%s[%zu]", path, i);
        if (!text && strpbrk(word, " \n\\") == NULL)
            (void)(check_operator(check, node, at, shell, !own) ||
                   check_dollar(check, node, at, shell, !own) ||
                   check_backticks(check, node, at, shell) || check_tilde(check, node, at) ||
                   check_glob(check, node, at, shell));
        text = is_listed(whole, word, false) || (word[0] == '-' && is_listed(parts, word, true));
    }
}

static void check_env_values(const struct jr_check *check, const char *path,
                             const struct jr_node *env)
{
    for (size_t i = 0; env != NULL && i < env->count; i++) {
        const struct jr_node *key = env->pairs[i].key, *value = env->pairs[i].value;
        if (value->kind != JR_NODE_SCALAR || is_meant(value) ||
            jr_env_matches(check->secrets.items, check->secrets.count, key->text, key->len))
            continue;
        const char *at = jr_arena_printf(check->lint->arena, "%s.%s", path, key->text);
        (void)(check_dollar(check, value, at, NULL, true) || check_tilde(check, value, at));
    }
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
        size_t from = (size_t)(at - node->text), to = (size_t)(close - node->text) + 1;
        struct jr_diag *diag = jr_diags_warning(
            check->lint->diags, JR_CODE_SHELL_SYNTAX, jr_lint_part(check->lint, node, from, to),
            "entrypoint.shell", "%s is left to the shell, which cannot read it",
            jr_lint_quoted(check->lint, at, to - from));
        jr_diag_help(check->lint->diags, diag, "a shell writes $%.*s",
                     (int)strspn(name, JR_SHELL_NAME_BYTES), name);
        return;
    }
}

void jr_check_shell_syntax(const struct jr_check *check)
{
    static const char *const paths[] = {"workdir", "log_dir", "entrypoint.python.script"};
    struct jr_arena *arena = check->lint->arena;
    const struct jr_node *command = jr_doc_find(check->tree, "entrypoint.command");
    const struct jr_node *entries = jr_doc_get(check->tree, "per_rank");
    const struct jr_node *on_end = jr_doc_get(check->tree, "on_end");
    size_t count = entries == NULL ? 0 : entries->count;
    if (!reads_itself(on_end))
        check_word_list(check, "on_end", on_end);
    if (jr_doc_find(check->tree, "entrypoint.python.function") == NULL && !reads_itself(command)) {
        check_word_list(check, "entrypoint.command", command);
        check_word_list(check, "entrypoint.args", jr_doc_find(check->tree, "entrypoint.args"));
        for (size_t i = 0; i < count; i++)
            check_word_list(check,
                            jr_arena_printf(arena, "per_rank.%s.args", entries->pairs[i].key->text),
                            jr_doc_get(entries->pairs[i].value, "args"));
    }
    check_shell_references(check);
    check_env_values(check, "env", jr_doc_get(check->tree, "env"));
    for (size_t i = 0; i < count; i++)
        check_env_values(check,
                         jr_arena_printf(arena, "per_rank.%s.env", entries->pairs[i].key->text),
                         jr_doc_get(entries->pairs[i].value, "env"));
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const struct jr_node *node = jr_check_raw(check, paths[i]);
        if (node != NULL && node->kind == JR_NODE_SCALAR && !is_meant(node)) /* ~ is an error */
            (void)check_dollar(check, node, paths[i], NULL, true);
    }
}

/* Names that sbatch and srun put into the names of files. */
static void check_path_patterns(const struct jr_check *check, const struct jr_node *node,
                                const char *path)
{
    static const char letters[] = "jJAxtranNu";
    static const char *const ours[] = {"%{run_id}", "%{run_id}", "%{run_id}", "%{run_id}",
                                       "%{rank}",   "%{rank}",   "%{cell}",   "%{node_rank}",
                                       NULL,        NULL};
    struct jr_lint *lint = check->lint;
    if (node == NULL || node->kind != JR_NODE_SCALAR || is_meant(node))
        return;
    const char *text = written_text(node), *letter = NULL, *at = text;
    for (; letter == NULL && (at = strchr(at, '%')) != NULL; at++) {
        if (at[1] == '\0' || isalnum((unsigned char)at[2]))
            continue;
        if (at[1] == '%')
            at++;
        else
            letter = strchr(letters, at[1]);
    }
    if (letter == NULL)
        return;
    size_t from = (size_t)(at - 1 - text);
    struct jr_diag *diag = jr_diags_warning(
        lint->diags, JR_CODE_SHELL_SYNTAX, jr_lint_part(lint, jr_lint_origin(node), from, from + 2),
        path, "'%.2s' is not replaced: it is a pattern of sbatch and srun", text + from);
    if (strcmp(path, "log_dir") == 0)
        jr_diag_help(lint->diags, diag, "leave it out: each run has a folder of its own there");
    else if (ours[letter - letters] != NULL)
        jr_diag_help(lint->diags, diag, "write %s", ours[letter - letters]);
}

void jr_check_patterns(const struct jr_check *check)
{
    const struct jr_node *list = jr_doc_find(check->tree, "results.artifacts");
    check_path_patterns(check, jr_check_raw(check, "log_dir"), "log_dir");
    check_path_patterns(check, jr_check_raw(check, "results.file"), "results.file");
    for (size_t i = 0; list != NULL && i < list->count; i++)
        check_path_patterns(check, list->items[i], "results.artifacts");
}

/* The entry of `vars` that is read and has nearly this name, or NULL. */
static const char *near_read_entry(const struct jr_node *vars, const char *name)
{
    enum { MOST_NAMES = 256 };
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

/* Entries of `vars` that this spec, or --set, states, and no ${...} reads: its parents may state
 * more than it reads. */
void jr_check_vars(const struct jr_check *check)
{
    const struct jr_node *vars = jr_check_raw(check, "vars");
    struct jr_diags *diags = check->lint->diags;
    if (vars == NULL || vars->kind != JR_NODE_MAPPING || check->lint->base || check->lint->garbled)
        return;
    for (size_t i = 0; i < vars->count; i++) {
        const struct jr_node *key = vars->pairs[i].key, *value = vars->pairs[i].value;
        const struct jr_source *source = value->span.source;
        bool set = source != NULL && strcmp(source->name, "--set") == 0;
        const struct jr_node *at = set ? value : key;
        bool here = set || (at->span.source != NULL && at->span.source == check->root->span.source);
        if (!here || value->read || value->shared || jr_lint_is_removed(check->lint, value))
            continue;
        const struct jr_node_step up = {.key = "vars"}, step = {.up = &up, .key = key->text};
        const char *path = jr_lint_path(check->lint, &step);
        const char *near = near_read_entry(vars, key->text);
        struct jr_diag *diag = jr_diags_warning(diags, JR_CODE_VARIABLE_UNREAD, at->span, path,
                                                "nothing in the spec reads '%s'", path);
        if (near != NULL)
            jr_diag_help(diags, diag, "did you mean 'vars.%s'?", near);
        else
            jr_diag_help(diags, diag, "refer to it as ${%s}, or leave it out", path);
    }
}
