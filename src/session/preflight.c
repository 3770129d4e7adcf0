#include "session/preflight.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/did_you_mean.h"
#include "base/io.h"
#include "base/setting_words.h"
#include "base/shell_words.h"
#include "base/strv.h"
#include "base/subprocess.h"
#include "base/syscalls.h"
#include "generated/missing_module.h"
#include "session/internal.h"
#include "spawn/program.h"

#include "base/banned.h"

/* A file that is in the folder in which jobrun was called, and not where the ranks look for it. */

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

/* Append what to do about the path `name`, which ranks look for in `workdir` (an absolute path:
 * which the spec states relative to its folder), where it is not there and is in the current
 * folder. False: that is not so. */
static bool is_misplaced_file(struct jr_buf *out, const struct jr_session *session,
                              const char *workdir, const char *name)
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

/* The same for a program, which is called by ./NAME. */
static bool is_misplaced_program(struct jr_buf *out, const struct jr_session *session,
                                 const char *workdir, const char *name)
{
    if (!is_misplaced_file(out, session, workdir, name))
        return false;
    if (strchr(name, '/') == NULL)
        jr_buf_printf(out, ", and ./%s instead of %s", name, name);
    return true;
}

/* The same for a module, pkg.train or pkg.train:main. */
static bool is_misplaced_module(struct jr_buf *out, const struct jr_session *session,
                                const char *workdir, const char *name)
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
           (is_misplaced_file(out, session, workdir, path.data) ||
            is_misplaced_file(out, session, workdir, folder)) &&
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
            is_misplaced_module(out, session, workdir, argv[i]))
            return set_name(name, argv[i]);
        if (argv[i][0] != '-' && argv[i][0] != '/' && strpbrk(argv[i], "./") != NULL &&
            (i == 0 ? is_misplaced_program : is_misplaced_file)(out, session, workdir, argv[i]))
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
                         ? is_misplaced_file(out, session, "", python->target)
                         : is_misplaced_module(out, session, rank->workdir, python->target);
        return found && set_name(name, python->target);
    }
    if (entry->library != NULL)
        return is_misplaced_file(out, session, "", entry->library->path) &&
               set_name(name, entry->library->path);
    if (entry->form == JR_FORM_SHELL)
        return find_in_shell(out, name, session, entry->argv[0], rank->workdir);
    return find_in_words(out, name, session, rank->argv, rank->workdir);
}

/* How long an interpreter may take to start on a busy file system, and the bytes of its answer at
 * most. */
enum { LIMIT_MS = 20000, MOST_BYTES = 1 << 20 };

/* Whether the file is a binary program. */
static bool is_binary(const struct jr_python_look *look)
{
    char magic[4] = "";
    JR_CLOSE int folder = open(look->workdir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    JR_CLOSE int fd = openat(folder, look->interpreter, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return fd >= 0 && read(fd, magic, sizeof magic) == sizeof magic &&
           memcmp(magic, "\177ELF", sizeof magic) == 0;
}

/* What the program prints; nothing where it is not asked or fails. */
static void ask_python(struct jr_buf *out, struct jr_arena *arena,
                       const struct jr_python_look *look, const char *module)
{
    struct jr_strv argv = {0};
    jr_strv_push(&argv, arena, jr_arena_strdup(arena, look->interpreter));
    for (size_t i = 0; i < look->options_count; i++)
        jr_strv_push(&argv, arena, jr_arena_strdup(arena, look->options[i]));
    jr_strv_push(&argv, arena, jr_arena_strdup(arena, "-Bc")); /* no .pyc */
    jr_strv_push(&argv, arena, jr_arena_strdup(arena, JR_MISSING_MODULE));
    jr_strv_push(&argv, arena, jr_arena_strdup(arena, module));
    const struct jr_subprocess python = {
        .path = look->interpreter, .argv = argv.items, .envp = look->env, .workdir = look->workdir};
    if (arena->failed || jr_subprocess_ask(out, arena, &python, LIMIT_MS, MOST_BYTES) != NULL ||
        out->failed)
        jr_buf_clear(out);
}

/* The words behind a key of the answer. */
static struct jr_strv read_answer(const struct jr_buf *out, struct jr_arena *arena, const char *key)
{
    struct jr_strv words = {0};
    size_t len = strlen(key);
    for (const char *at = out->data; at != NULL && *at != '\0';) {
        size_t line = strcspn(at, "\n");
        if (line > len && memcmp(at, key, len) == 0 && at[len] == ' ')
            jr_strv_push(&words, arena, jr_arena_strndup(arena, at + len + 1, line - len - 1));
        at += line + (at[line] == '\n');
    }
    return words;
}

/* What to type, by what lies beside it; `rest` is of the module's name. */
static void add_module_help(struct jr_buf *help, struct jr_arena *arena,
                            const struct jr_python_look *look, const struct jr_buf *answer,
                            const char *part, const char *rest)
{
    const struct jr_strv near = read_answer(answer, arena, "near");
    const struct jr_strv folders = read_answer(answer, arena, "folder");
    const struct jr_strv venvs = read_answer(answer, arena, "venv");
    const char *dot = strrchr(part, '.');
    const char *last = dot == NULL ? part : dot + 1;
    const char *other =
        near.count == 0 ? NULL : jr_did_you_mean(last, (const char *const *)near.items);
    if (other != NULL)
        jr_buf_printf(help, "did you mean '%.*s%s%s'?", (int)(last - part), part, other, rest);
    else if (folders.count > 0)
        jr_buf_printf(help, "it is in %s: " JR_SETTING("env.PYTHONPATH", "%s/%s"), folders.items[0],
                      look->workdir, folders.items[0]);
    else if (venvs.count > 0 && look->field)
        jr_buf_printf(
            help, "%s has it: " JR_SETTING("entrypoint.python.interpreter", "%s/%s/bin/python3"),
            venvs.items[0], look->workdir, venvs.items[0]);
    else if (venvs.count > 0)
        jr_buf_printf(help, "%s has it: write %s/bin/python3 for python3", venvs.items[0],
                      venvs.items[0]);
    else if (dot == NULL)
        jr_buf_printf(help,
                      "Python looks in the working directory, in PYTHONPATH "
                      "and in the packages of %s",
                      look->interpreter);
}

bool jr_python_module_missing(struct jr_buf *ret_part, struct jr_buf *ret_help,
                              const struct jr_python_look *look, const char *module)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_buf answer JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_clear(ret_part);
    jr_buf_clear(ret_help);
    if (is_binary(look))
        ask_python(&answer, &arena, look, module);
    const struct jr_strv missing = read_answer(&answer, &arena, "missing");
    size_t len = missing.count == 0 ? 0 : strlen(missing.items[0]);
    if (len > 0 && strncmp(module, missing.items[0], len) == 0) {
        jr_buf_str(ret_part, missing.items[0]);
        add_module_help(ret_help, &arena, look, &answer, missing.items[0], module + len);
    }
    return len > 0 && ret_part->len > 0 && !ret_part->failed && !ret_help->failed;
}

/* The path of a field of one of the entrypoint's forms. */
#define FORM_FIELD(form, field) "entrypoint." form "." field

/* A look at the machine. Each field is reported once, for the first rank that it does not do
 * for. */
struct preflight {
    struct jr_session *session;
    struct jr_arena *arena; /* of texts for findings */
    bool program_reported, script_reported, workdir_reported, result_reported;
    bool modules_checked;
    bool *artifacts_reported; /* one per artifact; NULL: there are none */
};

/* A field and what it says for a rank. */
struct needed {
    const char *path; /* "results.artifacts[1]"; NULL: no memory for it */
    const char *text; /* as the rank has it */
    uint32_t rank;
};

/* The text in quotes, in the look's arena; a secret in it is the reference that it came from. */
static const char *quote_needed(const struct preflight *preflight, const struct needed *needed)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *kept = jr_spec_kept(preflight->session->file, preflight->arena, needed->path);
    jr_buf_char(&out, '\'');
    jr_buf_safe(&out, kept != NULL ? kept : needed->text);
    jr_buf_char(&out, '\'');
    const char *text = jr_buf_keep(&out, preflight->arena);
    return text == NULL ? "" : text;
}

/* Report what is not there: a warning where `setup`, which runs before the ranks, may make it, else
 * with what to type instead; an empty `help` says nothing. */
static void report_needed(struct preflight *preflight, enum jr_diag_code code,
                          const struct needed *needed, const char *message,
                          const struct jr_buf *help)
{
    struct jr_session *session = preflight->session;
    struct jr_diags *diags = &session->diags;
    struct jr_span span = jr_spec_where_within(session->file, needed->path);
    if (message == NULL)
        message = "out of memory";
    if (session->plan.setup.text != NULL) {
        struct jr_diag *diag = jr_diags_warning(diags, code, span, needed->path, "%s", message);
        jr_diag_help(diags, diag, "`setup` has to provide it");
        return;
    }
    struct jr_diag *diag = jr_diags_error(diags, code, span, needed->path, "%s", message);
    if (help != NULL && help->len > 0 && !help->failed)
        jr_diag_help_text(diags, diag, help->data);
}

/* The file that ranks would run or read. */

/* Where in an argv the first word behind the options of Python stands; 0:
 * nowhere, as where an option is not known to take no value (python(1)). */
static size_t behind_python_options(char *const *argv)
{
    const char *slash = strrchr(argv[0], '/');
    const char *name = slash == NULL ? argv[0] : slash + 1;
    size_t i = 1;
    if (strncmp(name, "python", 6) != 0 || name[6 + strspn(name + 6, "0123456789.")] != '\0')
        return 0;
    while (argv[i] != NULL && argv[i][0] == '-' && argv[i][1] != '\0' &&
           argv[i][1 + strspn(argv[i] + 1, "bBdEiIOPqsSuvx")] == '\0')
        i++;
    return argv[i] == NULL || argv[i][0] == '\0' ? 0 : i;
}

/* Whether Python can import it, as far as that can be told. `text` is the field's: pkg.train, or
 * pkg.train:main. */
static void check_module(struct preflight *preflight, const struct jr_python_look *look,
                         const char *path, const char *text, uint32_t rank)
{
    struct jr_buf part JR_BUF_CLEANUP = JR_BUF_INIT, help JR_BUF_CLEANUP = JR_BUF_INIT;
    const struct needed needed = {path, text, rank};
    const char *module = jr_arena_strndup(preflight->arena, text, strcspn(text, ":"));
    if (module == NULL || path == NULL || !jr_python_module_missing(&part, &help, look, module))
        return;
    const char *message =
        jr_arena_printf(preflight->arena, "%s finds no module '%s'", look->interpreter, part.data);
    struct jr_buf beside JR_BUF_CLEANUP = JR_BUF_INIT;
    bool misplaced = is_misplaced_module(&beside, preflight->session, look->workdir, module);
    report_needed(preflight, JR_CODE_MODULE_NOT_FOUND, &needed, message,
                  misplaced ? &beside : &help);
}

/* Look for the modules that a rank imports by the Python at `path`; those of the first rank for
 * which this is called speak for all. */
static void check_modules(struct preflight *preflight, const char *path, char *const *env,
                          const struct jr_plan_rank *rank)
{
    const struct jr_job *job = &preflight->session->resolution.job;
    const struct jr_python *python = job->entrypoint.python;
    bool command = job->entrypoint.form == JR_FORM_COMMAND;
    size_t at = command ? behind_python_options(rank->argv) : 0;
    bool by_word = at > 0 && strcmp(rank->argv[at], "-m") == 0 && rank->argv[at + 1] != NULL;
    const struct jr_python_look look = {.env = env,
                                        .workdir = rank->workdir,
                                        .interpreter = path,
                                        .field = python != NULL,
                                        .options = rank->argv + 1,
                                        .options_count = by_word ? at - 1 : 0 /* up to -m */};
    if (preflight->modules_checked)
        return;
    preflight->modules_checked = true;
    if (python != NULL && python->what == JR_PYTHON_MODULE)
        check_module(preflight, &look, FORM_FIELD("python", "module"), python->target, 0);
    if (python != NULL && python->what == JR_PYTHON_FUNCTION)
        check_module(preflight, &look, FORM_FIELD("python", "function"), python->target, 0);
    if (python != NULL && python->setup != NULL)
        check_module(preflight, &look, FORM_FIELD("python", "setup"), python->setup, 0);
    for (uint32_t i = 0; python != NULL && i < job->preload_count; i++)
        check_module(preflight, &look, jr_arena_printf(preflight->arena, "preload[%u]", i),
                     job->preload[i], 0);
    if (by_word)
        check_module(preflight, &look,
                     jr_arena_printf(preflight->arena, "entrypoint.command[%zu]", at + 1),
                     rank->argv[at + 1], rank->rank);
}

/* Report a file, a `what`, that Python or the loader cannot open for `error` (an errno); a relative
 * one is below `workdir`. */
static void report_unreadable(struct preflight *preflight, const struct needed *needed,
                              const char *what, const char *workdir, int error)
{
    struct jr_buf near JR_BUF_CLEANUP = JR_BUF_INIT, help JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *message = jr_arena_printf(preflight->arena, "the %s %s cannot be read: %s", what,
                                          quote_needed(preflight, needed), strerror(error));
    if (error == ENOENT && is_misplaced_file(&help, preflight->session, workdir, needed->text)) {
        /* said */
    } else if (error == ENOENT && jr_near_file_any(&near, workdir, needed->text)) {
        /* a field's path was made absolute: it is typed from the folder of the spec */
        const char *folder = jr_spec_folder_of(preflight->session->file);
        size_t len = strlen(folder);
        bool below =
            workdir[0] == '\0' && strncmp(near.data, folder, len) == 0 && near.data[len] == '/';
        jr_buf_printf(&help, "did you mean '%s'?", near.data + (below ? len + 1 : 0));
    }
    report_needed(preflight, JR_CODE_FILE_NOT_READABLE, needed, message, &help);
}

/* Where the script of a shell or another interpreter stands, which is its first word; 0: nowhere
 * that is known. */
static size_t other_script_index(char *const *argv)
{
    static const char *const names[] = {"sh",   "bash",    "zsh",   "dash", "perl",
                                        "ruby", "Rscript", "julia", "node", "lua"};
    const char *slash = strrchr(argv[0], '/');
    const char *name = slash == NULL ? argv[0] : slash + 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return argv[1] != NULL && argv[1][0] != '-' && argv[1][0] != '\0';
    return 0;
}

/* Look for the script of `python3 train.py`, which Python opens only once the rank runs. */
static void check_script(struct preflight *preflight, const struct jr_plan_rank *rank)
{
    struct jr_buf beside JR_BUF_CLEANUP = JR_BUF_INIT;
    if (preflight->session->resolution.job.entrypoint.form != JR_FORM_COMMAND)
        return;
    size_t i = behind_python_options(rank->argv);
    if (i > 0 && rank->argv[i][0] == '-') /* -m or -c */
        i = 0;
    if (i == 0) {
        /* A shell also looks in PATH, and others elsewhere: only what is beside the caller is
         * surely not found. */
        i = other_script_index(rank->argv);
        if (i > 0 && !is_misplaced_file(&beside, preflight->session, rank->workdir, rank->argv[i]))
            i = 0;
    }
    if (i == 0 || preflight->script_reported)
        return;
    JR_CLOSE int folder = open(rank->workdir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (jr_access(folder, rank->argv[i], R_OK, AT_EACCESS) == 0)
        return;
    int error = errno;
    const struct needed needed = {jr_arena_printf(preflight->arena, "entrypoint.command[%zu]", i),
                                  rank->argv[i], rank->rank};
    preflight->script_reported = true;
    if (needed.path != NULL)
        report_unreadable(preflight, &needed, "script", rank->workdir, error);
}

/* Why a program cannot be executed. */
struct obstacle {
    int error;        /* an errno; 0: it can */
    const char *line; /* what its first line names, if that is at fault; else
                         NULL */
    struct jr_shebang shebang;
};

/* What executing the file, as seen from the folder of a rank, would come to. */
static struct obstacle find_obstacle(struct jr_arena *arena, const char *path, const char *search,
                                     const char *workdir, int folder)
{
    struct obstacle obstacle = {0};
    struct jr_program program = {0};
    struct stat st;
    if (fstatat(folder, path, &st, 0) != 0)
        return (struct obstacle){.error = errno};
    if (S_ISDIR(st.st_mode))
        return (struct obstacle){.error = EISDIR};
    if (jr_access(folder, path, X_OK, AT_EACCESS) != 0)
        return (struct obstacle){.error = errno};
    obstacle.shebang = jr_shebang_read(arena, folder, path);
    if (obstacle.shebang.interpreter == NULL)
        return obstacle;
    if (jr_access(folder, obstacle.shebang.interpreter, X_OK, AT_EACCESS) != 0) {
        obstacle.error = errno;
        obstacle.line = obstacle.shebang.interpreter;
    } else if (obstacle.shebang.program != NULL) {
        obstacle.error = jr_program_find(&program, obstacle.shebang.program, search, workdir);
        obstacle.line = obstacle.error == 0 ? NULL : obstacle.shebang.program;
    }
    return obstacle;
}

static const char *describe_program(const struct preflight *preflight, const struct needed *needed,
                                    const struct obstacle *obstacle)
{
    struct jr_buf safe JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *text = quote_needed(preflight, needed);
    if (obstacle->line != NULL) {
        jr_buf_safe(&safe, obstacle->line);
        return jr_arena_printf(preflight->arena,
                               "the program %s cannot be executed: its first line names '%s': %s",
                               text, safe.data == NULL ? "" : safe.data, strerror(obstacle->error));
    }
    if (obstacle->error == ENOENT && strchr(needed->text, '/') == NULL)
        return jr_arena_printf(preflight->arena, "no program %s is in PATH", text);
    return jr_arena_printf(preflight->arena, "the program %s cannot be executed: %s", text,
                           strerror(obstacle->error));
}

/* The file that was meant by a name which there is none of. */
static bool find_near_program(struct jr_buf *ret, const char *name, const char *search,
                              const char *workdir)
{
    if (strchr(name, '/') != NULL)
        return jr_near_file_any(ret, workdir, name);
    return jr_near_program(ret, workdir, search, name);
}

/* What to type instead, where that can be known. */
static void add_program_help(struct jr_buf *out, const char *name, const struct obstacle *obstacle,
                             const char *search, const char *workdir, int folder)
{
    struct jr_buf near JR_BUF_CLEANUP = JR_BUF_INIT;
    struct stat st;
    size_t len = strlen(name);
    if (obstacle->line != NULL) { /* what the first line of a script should be */
        if (jr_shebang_help_windows(out, &obstacle->shebang, name) ||
            !find_near_program(&near, obstacle->line, search, workdir))
            return;
        bool by_env = obstacle->line == obstacle->shebang.program;
        jr_buf_printf(out, "did you mean #!%s%s%s?", by_env ? obstacle->shebang.interpreter : "",
                      by_env ? " " : "", near.data);
    } else if (strchr(name, '/') == NULL && fstatat(folder, name, &st, 0) == 0) {
        jr_buf_printf(out, "write ./%s for the file in the working directory", name);
    } else if (obstacle->error == ENOENT) {
        if (find_near_program(&near, name, search, workdir))
            jr_buf_printf(out, "did you mean '%s'?", near.data);
    } else if (obstacle->error == EACCES) {
        bool python = len > 3 && strcmp(name + len - 3, ".py") == 0;
        jr_buf_printf(out, "%smake it executable: chmod +x %s",
                      python ? "put python3 before it, or " : "", name);
    }
}

/* Look for the program of a rank as its exec will, with the environment `env`, and where that is a
 * Python, for its modules. */
static void check_program(struct preflight *preflight, const char *name, char *const *env,
                          const struct jr_plan_rank *rank)
{
    const struct jr_entrypoint *entry = &preflight->session->resolution.job.entrypoint;
    const struct needed needed = {entry->python != NULL ? FORM_FIELD("python", "interpreter")
                                  : entry->form == JR_FORM_COMMAND ? "entrypoint.command[0]"
                                                                   : "entrypoint",
                                  name, rank->rank};
    struct jr_buf help JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_program program = {0};
    if (preflight->program_reported)
        return;
    JR_CLOSE int folder = open(rank->workdir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const char *search = jr_env_get(env, "PATH");
    struct obstacle obstacle = {.error = jr_program_find(&program, name, search, rank->workdir)};
    if (obstacle.error == 0)
        obstacle = find_obstacle(preflight->arena, program.path, search, rank->workdir, folder);
    if (obstacle.error == 0) {
        check_modules(preflight, program.path, env, rank);
        return;
    }
    preflight->program_reported = true;
    if (obstacle.error != ENOENT || obstacle.line != NULL ||
        !is_misplaced_program(&help, preflight->session, rank->workdir, name))
        add_program_help(&help, name, &obstacle, search, rank->workdir, folder);
    report_needed(preflight, JR_CODE_PROGRAM_NOT_FOUND, &needed,
                  describe_program(preflight, &needed, &obstacle), &help);
}

/* The folders that ranks run in and write to. */

/* Paths below the run folder are made by jobrun. */
static bool is_in_run_folder(const struct preflight *preflight, const char *path)
{
    const char *folder = preflight->session->plan.run_dir;
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static int folder_error(const char *path, int access)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return errno;
    if (!S_ISDIR(st.st_mode))
        return ENOTDIR;
    return jr_access(AT_FDCWD, path, access, AT_EACCESS) == 0 ? 0 : errno;
}

static bool check_workdir(struct preflight *preflight, const struct jr_plan_rank *rank)
{
    if (is_in_run_folder(preflight, rank->workdir))
        return false; /* nothing in it is known yet */
    int error = folder_error(rank->workdir, X_OK);
    if (error == 0 || preflight->workdir_reported)
        return error == 0;
    const struct needed needed = {"workdir", rank->workdir, rank->rank};
    preflight->workdir_reported = true;
    /* setup runs in it: an error in any case */
    (void)jr_diags_error(&preflight->session->diags, JR_CODE_WORKDIR_UNUSABLE,
                         jr_spec_where_within(preflight->session->file, needed.path), needed.path,
                         "rank %u cannot run in %s: %s", rank->rank,
                         quote_needed(preflight, &needed), strerror(error));
    return false;
}

/* The nearest folder, of the path's own and those above it, that is there must take new files: the
 * ranks may make those below it. Returns an errno. */
static int writing_error(const char *path)
{
    JR_FREE char *folder = strdup(path);
    int error = ENOENT;
    while (folder != NULL && error == ENOENT) {
        char *slash = strrchr(folder, '/');
        if (slash == NULL)
            return 0;
        slash[slash == folder] = '\0';
        error = folder_error(folder, W_OK | X_OK);
        if (slash == folder)
            break;
    }
    return error == ENOENT ? 0 : error;
}

static bool check_writing(struct preflight *preflight, const struct needed *needed,
                          const char *workdir)
{
    JR_FREE char *path = jr_io_absolute(workdir, needed->text);
    int error = path == NULL || is_in_run_folder(preflight, path) ? 0 : writing_error(path);
    if (error == 0)
        return true;
    const char *message =
        jr_arena_printf(preflight->arena, "rank %u cannot write %s: %s", needed->rank,
                        quote_needed(preflight, needed), strerror(error));
    report_needed(preflight, JR_CODE_FOLDER_NOT_WRITABLE, needed, message, NULL);
    return false;
}

static void check_files(struct preflight *preflight, const struct jr_plan_rank *rank)
{
    const struct needed result = {"results.file", rank->result_path, rank->rank};
    if (rank->result_path != NULL && rank->result_path[0] == '/' && !preflight->result_reported)
        preflight->result_reported = !check_writing(preflight, &result, rank->workdir);
    for (uint32_t i = 0; i < rank->artifacts_count; i++) {
        const struct needed artifact = {
            jr_arena_printf(preflight->arena, "results.artifacts[%u]", i), rank->artifacts[i],
            rank->rank};
        if (artifact.path != NULL && !preflight->artifacts_reported[i])
            preflight->artifacts_reported[i] = !check_writing(preflight, &artifact, rank->workdir);
    }
}

/* A script or a library, which is the same for all ranks. */
static void check_target(struct preflight *preflight)
{
    const struct jr_entrypoint *entry = &preflight->session->resolution.job.entrypoint;
    bool script = entry->python != NULL && entry->python->what == JR_PYTHON_SCRIPT;
    struct needed needed = {0};
    struct stat st;
    if (script)
        needed = (struct needed){FORM_FIELD("python", "script"), entry->python->target, 0};
    else if (entry->library != NULL)
        needed = (struct needed){FORM_FIELD("library", "path"), entry->library->path, 0};
    else
        return;
    int error = stat(needed.text, &st) != 0 ? errno : 0;
    if (error == 0 && S_ISDIR(st.st_mode) && !script)
        error = EISDIR; /* Python runs a folder that has a __main__.py */
    if (error == 0 && jr_access(AT_FDCWD, needed.text, R_OK, AT_EACCESS) != 0)
        error = errno;
    if (error == 0)
        return;
    report_unreadable(preflight, &needed, script ? "script" : "library", "", error);
}

static void check_rank(struct preflight *preflight, const struct jr_plan_rank *rank)
{
    const struct jr_plan_helper *helper = &preflight->session->plan.helper;
    bool helped = helper->argv != NULL;
    if (preflight->artifacts_reported == NULL)
        preflight->artifacts_reported = jr_arena_array(preflight->arena, rank->artifacts_count + 1,
                                                       sizeof *preflight->artifacts_reported);
    if (preflight->artifacts_reported == NULL || !check_workdir(preflight, rank))
        return;
    check_program(preflight, helped ? helper->argv[0] : rank->argv[0],
                  helped ? helper->env : rank->env, rank);
    if (!helped)
        check_script(preflight, rank);
    check_files(preflight, rank);
}

/* Whether the folder of a file, or with `whole` the path, differs by rank. */
static bool is_per_rank(const char *path, bool whole)
{
    const char *slash = path == NULL ? NULL : strrchr(path, '/');
    const char *name = path == NULL ? NULL : strstr(path, "%{");
    return name != NULL && (whole || (slash != NULL && name < slash));
}

enum jr_status jr_session_preflight(struct jr_session *session)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct preflight preflight = {.session = session, .arena = &arena};
    const struct jr_plan *plan = &session->plan;
    const size_t errors = session->diags.errors;
    if (session->controller != NULL)
        return JR_STATUS_OK;
    /* Whether ranks may need what the first one does not: else it speaks for all, of which there
     * may be a million. */
    const struct jr_job *job = &session->resolution.job;
    const struct jr_results *results = &job->policy->results;
    bool different =
        job->per_rank_count > 0 || is_per_rank(job->workdir, true) ||
        is_per_rank(results->file, false) ||
        (job->entrypoint.form == JR_FORM_COMMAND && is_per_rank(job->entrypoint.argv[0], true));
    for (uint32_t i = 0; i < results->artifacts_count; i++)
        different |= is_per_rank(results->artifacts[i], false);
    uint32_t count = different ? plan->count : 1;
    for (uint32_t i = 0; i < count && !arena.failed; i++) {
        struct jr_arena scratch = JR_ARENA_INIT;
        const struct jr_plan_rank rank = jr_plan_rank_at(plan, plan->first + i, &scratch);
        if (!scratch.failed)
            check_rank(&preflight, &rank);
        jr_arena_release(&scratch);
    }
    check_target(&preflight);
    jr_on_end_check(session);
    const struct needed log_dir = {"log_dir", plan->run_dir, 0};
    int error = writing_error(plan->run_dir);
    if (error != 0) /* an error in any case: it is made before `setup` runs */
        (void)jr_diags_error(&session->diags, JR_CODE_FOLDER_NOT_WRITABLE,
                             jr_spec_where_within(session->file, log_dir.path), log_dir.path,
                             "the run folder %s cannot be made: %s",
                             quote_needed(&preflight, &log_dir), strerror(error));
    return session->diags.errors > errors ? JR_STATUS_UNRESOLVED : JR_STATUS_OK;
}
