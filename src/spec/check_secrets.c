#include "spec/check_secrets.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

#include "base/num.h"
#include "base/strv.h"
#include "spec/internal.h"

#include "base/banned.h"

/* A stretch of text: an argument, or a word of shell text. */
struct word {
    const char *text;
    size_t len;
};

enum {
    NAME_MAX_LEN = 96, /* longer names are none that a person would write */
    SHORT_LEN = 8,     /* longer numbers are no counts */
};

static const char BLANKS[] = " \t\r\n", REFERENCE[] = "${env:";

/* A scalar as somebody wrote it, whatever was put into it. */
static struct word word_as_written(const struct jr_node *node)
{
    const char *text = jr_lint_source(jr_lint_origin(node));
    return (struct word){text, strlen(text)};
}

static bool word_begins_with(struct word word, const char *prefix)
{
    size_t len = strlen(prefix);
    return word.len >= len && memcmp(word.text, prefix, len) == 0;
}

static bool is_quote(char byte)
{
    return byte == '"' || byte == '\'';
}

/* Without the shell's quotes, of which one may be some words away. */
static struct word unquote_word(struct word word)
{
    if (word.len > 0 && is_quote(word.text[0]))
        word = (struct word){word.text + 1, word.len - 1};
    if (word.len > 0 && is_quote(word.text[word.len - 1]))
        word.len--;
    return word;
}

/* A value that gives nothing away: a path, what comes from elsewhere, a switch or a count. */
static bool is_harmless(struct word value)
{
    static const char *const starts[] = {"$", "/", "~/", "./", "../", "%{"};
    char text[SHORT_LEN + 1];
    double number;
    value = unquote_word(value);
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (word_begins_with(value, starts[i]))
            return true;
    if (value.len > SHORT_LEN)
        return false;
    *(char *)mempcpy(text, value.text, value.len) = '\0';
    return value.len == 0 || strcasecmp(text, "true") == 0 || strcasecmp(text, "false") == 0 ||
           jr_num_double(text, &number);
}

struct jr_strv jr_check_secret_globs(const struct jr_check *check)
{
    const struct jr_node *stated = jr_doc_get(check->tree, "secrets");
    struct jr_arena *arena = check->lint->arena;
    struct jr_strv globs = {0};
    if (stated == NULL)
        return jr_field_defaults(jr_field_find("secrets"), arena);
    for (size_t i = 0; i < stated->count; i++)
        jr_strv_push(&globs, arena, (char *)stated->items[i]->text);
    return globs;
}

/* The first glob of `secrets` for which `match` holds, to be shown, or NULL. */
static const char *find_glob(const struct jr_check *check, const char *name,
                             bool (*match)(const char *glob, const char *name))
{
    for (size_t i = 0; i < check->secrets_count; i++) {
        const char *glob = check->secrets[i];
        if (match(glob, name))
            return jr_lint_quoted(check->lint, glob, strlen(glob));
    }
    return NULL;
}

static bool is_glob_match(const char *glob, const char *name)
{
    return jr_env_matches(&(char *){(char *)glob}, 1, name, strlen(name));
}

/* The glob that the name of a variable matches. Most match none, which one call tells. */
static const char *find_name_glob(const struct jr_check *check, const char *name)
{
    bool any = jr_env_matches(check->secrets, check->secrets_count, name, strlen(name));
    return any ? find_glob(check, name, is_glob_match) : NULL;
}

/* For arguments the glob must match whole words, which are separated by underscores in `name`:
 * --tokenizer and --max-tokens are not tokens. */
static bool is_word_match(const char *glob, const char *name)
{
    char pattern[NAME_MAX_LEN + 8];
    size_t from = strspn(glob, "*_"), len = strlen(glob);
    while (len > from && strchr("*_", glob[len - 1]) != NULL)
        len--;
    if (len == from || len - from > NAME_MAX_LEN)
        return false;
    char *end = stpcpy(pattern, glob[0] == '*' ? "*_" : "_");
    end = mempcpy(end, glob + from, len - from);
    (void)stpcpy(end, glob[strlen(glob) - 1] == '*' ? "_*" : "_");
    return fnmatch(pattern, name, FNM_CASEFOLD) == 0;
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

/* Whether the spec itself states the value, if only by way of another one. */
static bool is_literal_secret(const struct jr_node *value)
{
    value = jr_lint_origin(value);
    return value->filled == NULL && strcmp(value->text, "???") != 0 &&
           jr_scalar_type(value) != JR_SCALAR_NULL && !is_harmless(word_as_written(value));
}

static void check_secret_variables(const struct jr_check *check, const struct jr_node *env,
                                   const char *path)
{
    struct jr_arena *arena = check->lint->arena;
    for (size_t i = 0; env != NULL && i < env->count; i++) {
        const struct jr_node *key = env->pairs[i].key;
        const char *glob = find_name_glob(check, key->text);
        if (glob == NULL || !is_literal_secret(env->pairs[i].value))
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

/* An argument, or the shell text that holds it, and its field. */
struct place {
    const struct jr_node *node;
    const char *path;
};

/* Warn of an argument that gives the value of `name` away. */
static void warn_argument(const struct jr_check *check, struct place place, struct word name,
                          const char *glob)
{
    struct jr_lint *lint = check->lint;
    warn_at_secret(check, place.node, place.path,
                   jr_arena_printf(lint->arena,
                                   "every user of the machine can read the value of %s, "
                                   "which is a secret by %s of `secrets`",
                                   jr_lint_quoted(lint, name.text, name.len), glob));
}

/* Check a word and the one after it. */
static void check_secret_word(const struct jr_check *check, struct place place, struct word word,
                              struct word next)
{
    char name[NAME_MAX_LEN + 3];
    size_t len;
    if (!read_word_name(word, name, &len))
        return;
    struct word value = next;
    if (len < word.len)
        value = (struct word){word.text + len + 1, word.len - len - 1};
    else if (word_begins_with(next, "-"))
        return;
    const char *glob = find_glob(check, name, is_word_match);
    if (glob != NULL && !is_harmless(value))
        warn_argument(check, place, (struct word){word.text, len}, glob);
}

/* Secrets of the environment that an argument asks for. */
static void check_references(const struct jr_check *check, struct place place)
{
    const char *text = word_as_written(place.node).text, *at = text;
    for (; (at = strstr(at, REFERENCE)) != NULL; at += strlen(REFERENCE)) {
        struct word name = {at + strlen(REFERENCE), 0};
        name.len = strcspn(name.text, ":}");
        const char *copy = jr_arena_strndup(check->lint->arena, name.text, name.len);
        const char *glob = copy == NULL ? NULL : find_name_glob(check, copy);
        bool escaped = at > text && at[-1] == '$';
        if (glob != NULL && !escaped)
            warn_argument(check, place, name, glob);
    }
}

/* A named argument, or a key within one, is treated like an option of that name. */
static void check_key(const struct jr_check *check, const struct jr_pair *pair, const char *path)
{
    char name[NAME_MAX_LEN + 3];
    size_t len;
    const char *option = jr_arena_printf(check->lint->arena, "--%s", pair->key->text);
    if (option == NULL || pair->value->kind != JR_NODE_SCALAR ||
        jr_scalar_type(pair->value) == JR_SCALAR_NULL ||
        !read_word_name((struct word){option, strlen(option)}, name, &len))
        return;
    const char *glob = find_glob(check, name, is_word_match);
    if (glob != NULL && !is_harmless(word_as_written(pair->value)))
        warn_argument(check, (struct place){pair->value, path}, (struct word){option + 2, len - 2},
                      glob);
}

/* What a function is called with, whatever its type; NULL: nothing. */
static void check_secret_values(const struct jr_check *check, const struct jr_node *node,
                                const char *path)
{
    const struct place place = {node, path};
    if (node != NULL && node->kind == JR_NODE_SCALAR)
        check_references(check, place);
    for (size_t i = 0; node != NULL && node->kind != JR_NODE_SCALAR && i < node->count; i++) {
        bool list = node->kind == JR_NODE_SEQUENCE;
        if (!list)
            check_key(check, &node->pairs[i], path);
        check_secret_values(check, list ? node->items[i] : node->pairs[i].value, path);
    }
}

static struct word shell_word_at(const char *text)
{
    text += strspn(text, BLANKS);
    return (struct word){text, strcspn(text, BLANKS)};
}

/* Each word of a text that a shell, or a program, will take apart. */
static void check_secret_words(const struct jr_check *check, struct place place, const char *text)
{
    struct word word = shell_word_at(text);
    while (word.len > 0) {
        struct word next = shell_word_at(word.text + word.len);
        check_secret_word(check, place, word, next);
        word = next;
    }
}

static void check_arguments(const struct jr_check *check, const struct jr_node *args,
                            const char *path)
{
    for (size_t i = 0; args != NULL && i < args->count; i++) {
        const struct place place = {args->items[i], path};
        struct word next = {"", 0};
        if (args->items[i]->kind != JR_NODE_SCALAR) {
            check_secret_values(check, args->items[i], path);
            continue;
        }
        if (i + 1 < args->count && args->items[i + 1]->kind == JR_NODE_SCALAR)
            next = word_as_written(args->items[i + 1]);
        struct word word = word_as_written(args->items[i]);
        if (strpbrk(word.text, BLANKS) != NULL)
            check_secret_words(check, place, word.text);
        else
            check_secret_word(check, place, word, next);
        check_references(check, place);
    }
}

static void check_shell(const struct jr_check *check, const struct jr_node *shell, const char *path)
{
    if (shell != NULL)
        check_secret_words(check, (struct place){shell, path}, shell->text);
}

static void check_secrets(const struct jr_check *check)
{
    const struct jr_node *tree = check->tree;
    const struct jr_node *entries = jr_doc_get(tree, "per_rank");
    check_secret_variables(check, jr_doc_get(tree, "env"), "env");
    check_arguments(check, jr_doc_find(tree, "entrypoint.command"), "entrypoint.command");
    check_arguments(check, jr_doc_find(tree, "entrypoint.args"), "entrypoint.args");
    check_secret_values(check, jr_doc_find(tree, "entrypoint.kwargs"), "entrypoint.kwargs");
    check_shell(check, jr_doc_find(tree, "entrypoint.shell"), "entrypoint.shell");
    check_shell(check, jr_doc_get(tree, "setup"), "setup");
    check_arguments(check, jr_doc_get(tree, "on_end"), "on_end");
    for (size_t i = 0; entries != NULL && i < entries->count; i++) {
        const struct jr_node *entry = entries->pairs[i].value;
        check_secret_variables(check, jr_doc_get(entry, "env"), "per_rank");
        check_arguments(check, jr_doc_get(entry, "args"), "per_rank");
        check_secret_values(check, jr_doc_get(entry, "kwargs"), "per_rank");
    }
}

void jr_check_secrets(const struct jr_check *check)
{
    const struct jr_strv globs = jr_check_secret_globs(check);
    struct jr_check with_globs = *check;
    with_globs.secrets = globs.items;
    with_globs.secrets_count = globs.count;
    if (!check->lint->arena->failed)
        check_secrets(&with_globs);
}
