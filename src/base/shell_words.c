#include "base/shell_words.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "base/banned.h"

/* The word that is being read. */
struct reading {
    const char *at;
    struct jr_buf text;
    bool quoted, expands, globs;
};

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

static bool is_operator(char byte)
{
    return byte != '\0' && strchr("|&;<>()\n", byte) != NULL;
}

/* A line that is continued on the next one has no break there. */
static bool is_continuation(const char *at)
{
    return at[0] == '\\' && at[1] == '\n';
}

static int open_quote(const char *what, struct jr_error *err)
{
    return jr_error_set(err, JR_STATUS_USAGE, "the line has an open %s", what);
}

/* Take what is up to the closing mark, as it is. */
static int take_until(struct reading *word, const char *open, char mark, struct jr_error *err)
{
    const char *close = strchr(word->at + strlen(open), mark);
    if (close == NULL)
        return open_quote(open, err);
    jr_buf_add(&word->text, word->at, (size_t)(close + 1 - word->at));
    word->at = close + 1;
    return 0;
}

/* A dollar or a backquote: keep it as it is written. */
static int take_expansion(struct reading *word, struct jr_error *err)
{
    word->expands = true;
    if (word->at[0] == '`')
        return take_until(word, "`", '`', err);
    if (word->at[1] == '{')
        return take_until(word, "${", '}', err);
    size_t len = 1, depth = word->at[1] == '('; /* $(...) may nest */
    for (len += depth; depth > 0; len++) {
        if (word->at[len] == '\0')
            return open_quote("$(", err);
        depth += (size_t)(word->at[len] == '(') - (size_t)(word->at[len] == ')');
    }
    jr_buf_add(&word->text, word->at, len);
    word->at += len;
    return 0;
}

/* Whether a $ begins an expansion, and is no mere character. */
static bool is_expansion(const char *at)
{
    if (at[0] == '`')
        return true;
    return at[0] == '$' && at[1] != '\0' && !is_blank(at[1]) &&
           strchr("\"'/.,:%=+]|&;<>)\n", at[1]) == NULL;
}

/* Within double quotes a backslash quotes these only. */
static bool take_escape(struct reading *word, bool in_double)
{
    if (word->at[0] != '\\' || word->at[1] == '\0')
        return false;
    if (is_continuation(word->at)) {
        word->at += 2;
        return true;
    }
    if (in_double && strchr("$`\"\\", word->at[1]) == NULL)
        return false;
    jr_buf_char(&word->text, word->at[1]);
    word->at += 2;
    return true;
}

static int take_double(struct reading *word, struct jr_error *err)
{
    word->at++;
    while (*word->at != '"') {
        if (*word->at == '\0')
            return open_quote("double quote", err);
        if (take_escape(word, true))
            continue;
        if (!is_expansion(word->at))
            jr_buf_char(&word->text, *word->at++);
        else if (take_expansion(word, err) != 0)
            return -1;
    }
    word->at++;
    return 0;
}

/* One character, quote or expansion of a word that began at `start`. */
static int take_piece(struct reading *word, const char *start, struct jr_error *err)
{
    char byte = *word->at;
    if (byte == '"') {
        word->quoted = true;
        return take_double(word, err);
    }
    if (byte == '\'') {
        const char *close = strchr(++word->at, '\'');
        word->quoted = true;
        if (close == NULL)
            return open_quote("single quote", err);
        jr_buf_add(&word->text, word->at, (size_t)(close - word->at));
        word->at = close + 1;
        return 0;
    }
    if (take_escape(word, false)) {
        word->quoted = true;
        return 0;
    }
    if (is_expansion(word->at))
        return take_expansion(word, err);
    word->globs |= strchr("*?[", byte) != NULL;
    if (byte == '~' && (word->at == start || word->at[-1] == '='))
        word->expands = true;
    jr_buf_char(&word->text, byte);
    word->at++;
    return 0;
}

static int read_shell_word(struct jr_shell_words *ret, struct jr_arena *arena, struct reading *word,
                           struct jr_error *err)
{
    const char *start = word->at;
    while (*word->at != '\0' && !is_blank(*word->at) && !is_operator(*word->at))
        if (take_piece(word, start, err) != 0)
            return -1;
    /* The number of a descriptor belongs to the redirection after it. */
    if (!word->quoted && (*word->at == '<' || *word->at == '>') && word->text.len > 0 &&
        strspn(word->text.data, "0123456789") == word->text.len) {
        ret->tail = start;
        return 0;
    }
    struct jr_shell_word *item = jr_arena_push(arena, &ret->items, &ret->count, sizeof *item);
    if (item == NULL || word->text.failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    *item = (struct jr_shell_word){
        .text = jr_arena_strndup(arena, word->text.len == 0 ? "" : word->text.data, word->text.len),
        .start = (size_t)(start - ret->line),
        .end = (size_t)(word->at - ret->line),
        .expands = word->expands,
        .globs = word->globs,
    };
    return 0;
}

/* Blanks, continuations, and a comment. */
static const char *skip_blanks(const char *at)
{
    while (is_blank(*at) || is_continuation(at))
        at += is_blank(*at) ? 1 : 2;
    return *at == '#' ? at + strcspn(at, "\n") : at;
}

int jr_shell_split(struct jr_shell_words *ret, struct jr_arena *arena, const char *line,
                   struct jr_error *err)
{
    *ret = (struct jr_shell_words){.line = line};
    const char *at = line + strspn(line, " \t\r\n");
    while (ret->tail == NULL && *(at = skip_blanks(at)) != '\0') {
        if (is_operator(*at)) {
            ret->tail = at;
            break;
        }
        struct reading word = {.at = at};
        int status = read_shell_word(ret, arena, &word, err);
        jr_buf_release(&word.text);
        if (status != 0)
            return -1;
        at = word.at;
    }
    if (ret->tail != NULL && ret->tail[strspn(ret->tail, " \t\r\n")] == '\0')
        ret->tail = NULL;
    return arena->failed ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory") : 0;
}

void jr_shell_quote(struct jr_buf *out, const char *word)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789%+,-./:=@_";
    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        jr_buf_str(out, word);
        return;
    }
    jr_buf_char(out, '\'');
    jr_buf_replaced(out, word, "'", "'\\''");
    jr_buf_char(out, '\'');
}

enum { SHEBANG_MAX = 256 }; /* Linux reads no more of a first line */

static const char *next_word(struct jr_arena *arena, const char **line)
{
    *line += strspn(*line, " \t");
    size_t len = strcspn(*line, " \t\n");
    const char *word = jr_arena_strndup(arena, *line, len);
    *line += len;
    return word;
}

struct jr_shebang jr_shebang_read(struct jr_arena *arena, int dir_fd, const char *path)
{
    char text[SHEBANG_MAX + 1];
    struct jr_shebang shebang = {0};
    JR_CLOSE int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = fd < 0 ? -1 : read(fd, text, SHEBANG_MAX);
    if (got < 2 || memcmp(text, "#!", 2) != 0)
        return shebang;
    text[got] = '\0';
    const char *line = text + 2;
    shebang.interpreter = next_word(arena, &line);
    const char *slash = shebang.interpreter == NULL ? NULL : strrchr(shebang.interpreter, '/');
    if (slash != NULL && strcmp(slash, "/env") == 0) /* it looks up the next word */
        shebang.program = next_word(arena, &line);
    /* options of env, and variables that it is to set */
    if (shebang.program != NULL &&
        (shebang.program[0] == '-' || strchr(shebang.program, '=') != NULL))
        shebang.program = NULL;
    return shebang;
}

static bool ends_in_return(const char *name)
{
    return name != NULL && strchr(name, '\r') != NULL;
}

bool jr_shebang_help_windows(struct jr_buf *out, const struct jr_shebang *shebang, const char *path)
{
    if (!ends_in_return(shebang->interpreter) && !ends_in_return(shebang->program))
        return false;
    jr_buf_str(out, "its lines end as on Windows: sed -i 's/\\r$//' ");
    jr_shell_quote(out, path);
    return true;
}
