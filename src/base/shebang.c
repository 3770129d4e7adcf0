#include "base/shebang.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/shell_words.h"

#include "base/banned.h"

enum { SHEBANG_MAX = 256 }; /* Linux reads no more of a first line */

static const char *next_word(struct jr_arena *arena, const char **line)
{
    *line += strspn(*line, " \t");
    size_t len = strcspn(*line, " \t\n");
    const char *word = jr_arena_strndup(arena, *line, len);
    *line += len;
    return word;
}

/* Whether the interpreter looks a program up, which is the next word. */
static bool is_env(const char *interpreter)
{
    const char *slash = strrchr(interpreter, '/');
    return slash != NULL && strcmp(slash, "/env") == 0;
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
    if (shebang.interpreter != NULL && is_env(shebang.interpreter))
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
