/* What is in the folder in which jobrun was called. preflight.h declares it. */
#include "session/internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/shell_words.h"
#include "session/preflight.h"

#include "base/banned.h"

static bool is_below(const char *folder, const char *path)
{
    struct stat st;
    JR_FREE char *whole = jr_io_absolute(folder, path);
    return whole != NULL && stat(whole, &st) == 0;
}

/* The way from one absolute folder to another: "..", "../src". */
static void add_way(struct jr_buf *out, const char *from, const char *to)
{
    size_t same = 0, i = 0, begin = out->len;
    for (; from[i] != '\0' && from[i] == to[i]; i++)
        if (from[i] == '/')
            same = i + 1;
    if ((from[i] == '\0' || from[i] == '/') && (to[i] == '\0' || to[i] == '/'))
        same = i + (from[i] == '/' || to[i] == '/');
    for (const char *at = from + (same < strlen(from) ? same : strlen(from)); *at != '\0';
         at += strcspn(at, "/") + (at[strcspn(at, "/")] == '/'))
        jr_buf_str(out, out->len == begin ? ".." : "/..");
    const char *rest = to + (same < strlen(to) ? same : strlen(to));
    if (*rest != '\0')
        jr_buf_printf(out, "%s%s", out->len == begin ? "" : "/", rest);
    if (out->len == begin)
        jr_buf_char(out, '.');
}

bool jr_misplaced_file(struct jr_buf *out, const struct jr_session *session, const char *workdir,
                       const char *name)
{
    JR_FREE char *here = getcwd(NULL, 0);
    const char *folder = jr_spec_folder_of(session->file);
    size_t len = strlen(folder);
    bool field = name[0] == '/' && strncmp(name, folder, len) == 0 && name[len] == '/';
    struct jr_buf way JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *place = field ? folder : workdir, *path = field ? name + len + 1 : name;
    if (here == NULL || name[0] == '\0' || (name[0] == '/' && !field) || strcmp(here, place) == 0 ||
        !is_below(here, path) || is_below(place, path))
        return false; /* it is not here alone */
    add_way(&way, folder, here);
    if (way.failed)
        return false;
    name = path;
    jr_buf_printf(out, "'%s' is in %s, where jobrun was called; ", name, here);
    if (field)
        jr_buf_printf(out, "write %s/%s", way.data, name);
    else
        jr_buf_printf(out, "write workdir: %s into the spec (or type -s workdir=.)", way.data);
    return true;
}

bool jr_misplaced_program(struct jr_buf *out, const struct jr_session *session, const char *workdir,
                          const char *name)
{
    if (!jr_misplaced_file(out, session, workdir, name))
        return false;
    if (strchr(name, '/') == NULL)
        jr_buf_printf(out, ", and ./%s instead of %s", name, name);
    return true;
}

bool jr_misplaced_module(struct jr_buf *out, const struct jr_session *session, const char *workdir,
                         const char *name)
{
    struct jr_buf path JR_BUF_CLEANUP = JR_BUF_INIT;
    for (const char *at = name; *at != '\0' && *at != ':'; at++)
        jr_buf_char(&path, *at == '.' ? '/' : *at);
    if (path.failed || path.len == 0)
        return false;
    /* a module is a file, a package a folder */
    size_t from = out->len;
    JR_FREE char *folder = strdup(path.data);
    jr_buf_str(&path, ".py");
    return folder != NULL && !path.failed &&
           (jr_misplaced_file(out, session, workdir, path.data) ||
            jr_misplaced_file(out, session, workdir, folder)) &&
           out->len > from;
}

/* What a message says of a path or of a module, which may be all of it or its last part. */
static bool set_name(struct jr_buf *name, const char *text)
{
    const char *slash = strrchr(text, '/');
    jr_buf_clear(name);
    jr_buf_add(name, slash == NULL ? text : slash + 1,
               strcspn(slash == NULL ? text : slash + 1, ":"));
    return true;
}

/* The words of a command: the first that is no option and is a path. */
static bool find_in_words(struct jr_buf *out, struct jr_buf *name, const struct jr_session *session,
                          char *const *argv, const char *workdir)
{
    enum { MOST = 16 };
    for (size_t i = 0; argv[i] != NULL && i < MOST; i++) {
        if (i > 0 && strcmp(argv[i - 1], "-m") == 0 &&
            jr_misplaced_module(out, session, workdir, argv[i]))
            return set_name(name, argv[i]);
        if (argv[i][0] != '-' && argv[i][0] != '/' && strpbrk(argv[i], "./") != NULL &&
            (i == 0 ? jr_misplaced_program : jr_misplaced_file)(out, session, workdir, argv[i]))
            return set_name(name, argv[i]);
    }
    return false;
}

/* The same for the first command of a shell's text. */
static bool find_in_shell(struct jr_buf *out, struct jr_buf *name, const struct jr_session *session,
                          const char *text, const char *workdir)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_shell_words words;
    bool found = false;
    if (jr_shell_split(&words, &arena, text, NULL) == 0) {
        char **argv = jr_arena_array(&arena, words.count + 1, sizeof *argv);
        for (size_t i = 0; argv != NULL && i < words.count; i++)
            argv[i] = jr_arena_strdup(&arena, words.items[i].text);
        found = argv != NULL && !arena.failed && find_in_words(out, name, session, argv, workdir);
    }
    return found;
}

bool jr_misplaced_find(struct jr_buf *out, struct jr_buf *name, const struct jr_session *session)
{
    const struct jr_plan *plan = &session->plan;
    const struct jr_entrypoint *entry = &session->resolution.job.entrypoint;
    if (plan->ranks == NULL || session->file == NULL)
        return false;
    const struct jr_plan_rank *rank = &plan->ranks[plan->first];
    const struct jr_python *python = entry->python;
    if (python != NULL) {
        bool found = python->what == JR_PYTHON_SCRIPT
                         ? jr_misplaced_file(out, session, "", python->target)
                         : jr_misplaced_module(out, session, rank->workdir, python->target);
        return found && set_name(name, python->target);
    }
    if (entry->library != NULL)
        return jr_misplaced_file(out, session, "", entry->library->path) &&
               set_name(name, entry->library->path);
    if (entry->form == JR_FORM_SHELL)
        return find_in_shell(out, name, session, entry->argv[0], rank->workdir);
    return find_in_words(out, name, session, rank->argv, rank->workdir);
}
