/*
 * The folders are those of Python's own documentation ("The initialization of
 * the sys.path module search path") and of site.py, of every layout at once:
 * a folder too many hides a mistake, one too few makes one up.
 */
#include "session/python_modules.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/did_you_mean.h"
#include "base/io.h"
#include "base/strv.h"

#include "base/banned.h"

enum {
    MOST_LINKS = 16,
    MOST_TEXT = 1 << 20, /* of a file that is looked through */
    MOST_NAMES = 2000    /* of modules among which a near one is looked for */
};

/* A search for the first part of a name. */
struct search {
    const struct jr_python_look *look;
    struct jr_arena arena;
    const char *name;    /* that first part */
    const char *version; /* "3.11" */
    struct jr_strv own;  /* modules of the working directory and PYTHONPATH */
    size_t found;        /* folders that have it */
    bool in_workdir;     /* that is one of them */
    bool library;        /* Python's own is among the folders */
    bool doubt;          /* it may be found by other means */
};

static const char *path_in(struct search *search, const char *folder,
                           const char *name)
{
    const char *path = jr_arena_printf(&search->arena, "%s/%s", folder, name);
    return path == NULL ? "" : path;
}

static bool is_there(struct search *search, const char *folder,
                     const char *name)
{
    return access(path_in(search, folder, name), F_OK) == 0;
}

static bool ends(const char *text, const char *with)
{
    size_t len = strlen(text), size = strlen(with);
    return len > size && strcmp(text + len - size, with) == 0;
}

/* Whether an entry of a folder is that module: a folder, name.py, name.pyc,
 * name.cpython-311-x86_64-linux-gnu.so. */
static bool is_module(const char *entry, const char *name)
{
    size_t len = strlen(name);
    if (strncmp(entry, name, len) != 0)
        return false;
    return entry[len] == '\0' ||
           (entry[len] == '.' &&
            (ends(entry, ".py") || ends(entry, ".pyc") || ends(entry, ".so")));
}

/* The module that an entry of a folder of the user's is, for a suggestion. */
static void add_own_module(struct search *search, const struct dirent *entry)
{
    const char *name = entry->d_name;
    size_t len = strcspn(name, ".");
    bool file = strcmp(name + len, ".py") == 0;
    bool folder = name[len] == '\0' && entry->d_type == DT_DIR;
    if ((file || folder) && len > 0 && search->own.count < MOST_NAMES)
        jr_strv_push(&search->own, &search->arena,
                     jr_arena_strndup(&search->arena, name, len));
}

/* Look in a folder of sys.path; `own`: it is no part of Python. */
static void look_in(struct search *search, const char *folder, bool own)
{
    DIR *dir = opendir(folder);
    bool found = false;
    struct dirent *entry;
    if (dir == NULL && errno != ENOENT)
        search->doubt = true; /* an archive, or a folder that is not ours */
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        found |= is_module(entry->d_name, search->name);
        search->doubt |= own && (is_module(entry->d_name, "sitecustomize") ||
                                 is_module(entry->d_name, "usercustomize"));
        if (own)
            add_own_module(search, entry);
    }
    if (dir != NULL)
        (void)closedir(dir);
    search->found += found;
}

/* A file as text; NULL: it cannot be read. */
static const char *read_text(struct search *search, const char *path)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (jr_io_read_file(&text, AT_FDCWD, path, MOST_TEXT, NULL) != 0)
        return NULL;
    return jr_buf_keep(&text, &search->arena);
}

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Whether a program of one line leaves alone what Python finds modules by: it
 * imports what is Python's own, and names nothing of that machinery. */
static bool leaves_imports_alone(const char *line)
{
    static const char *const words[] = {
        "sys.path",  "meta_path",   "path_hooks", "addsitedir", "modules",
        "importlib", "import site", "runpy",      "open("};
    if (!starts(line, "import os") && !starts(line, "import sys"))
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(line, words[i]) != NULL)
            return false;
    return true;
}

/* Whether a line of a .pth file that is a program adds no module of the name:
 * those of setuptools, of virtualenv and of namespace packages. */
static bool is_harmless(struct search *search, const char *folder,
                        const char *file, const char *line)
{
    static const char editable[] = "import __editable__";
    if (strcmp(file, "distutils-precedence.pth") == 0 ||
        strcmp(file, "_virtualenv.pth") == 0)
        return true;
    if (ends(file, "-nspkg.pth"))
        return strstr(line, search->name) == NULL;
    if (!starts(line, editable))
        return leaves_imports_alone(line);
    line += strlen("import ");
    const char *finder = jr_arena_printf(&search->arena, "%.*s.py",
                                         (int)strcspn(line, " ;.\t"), line);
    const char *text = finder == NULL
                           ? NULL
                           : read_text(search, path_in(search, folder, finder));
    return text != NULL && strstr(text, search->name) == NULL;
}

/* A line of a .pth file: a folder, relative to its own, or a program. */
static void look_by_line(struct search *search, const char *folder,
                         const char *file, const char *line)
{
    if (line[0] == '\0' || line[0] == '#')
        return;
    if (starts(line, "import ") || starts(line, "import\t"))
        search->doubt |= !is_harmless(search, folder, file, line);
    else
        look_in(search, line[0] == '/' ? line : path_in(search, folder, line),
                false);
}

static void look_by_file(struct search *search, const char *folder,
                         const char *file)
{
    const char *text = read_text(search, path_in(search, folder, file));
    search->doubt |= text == NULL;
    while (text != NULL && *text != '\0') {
        size_t len = strcspn(text, "\r\n");
        const char *line = jr_arena_strndup(&search->arena, text, len);
        if (line != NULL)
            look_by_line(search, folder, file, line);
        text += len + strspn(text + len, "\r\n");
    }
}

/* A folder of installed packages. */
static void look_in_site(struct search *search, const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    look_in(search, folder, false);
    search->doubt |=
        dir != NULL && (is_there(search, folder, "sitecustomize.py") ||
                        is_there(search, folder, "usercustomize.py"));
    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (ends(entry->d_name, ".pth"))
            look_by_file(search, folder, entry->d_name);
    if (dir != NULL)
        (void)closedir(dir);
}

/* The folders below a prefix, as PREFIX/lib/python3.11/site-packages. */
static void look_below(struct search *search, const char *prefix)
{
    static const char *const libs[] = {"lib", "lib64", "local/lib",
                                       "local/lib64"};
    for (size_t i = 0; i < sizeof libs / sizeof *libs; i++) {
        const char *lib = path_in(search, prefix, libs[i]);
        const char *own = jr_arena_printf(&search->arena, "%s/python%s", lib,
                                          search->version);
        if (own == NULL)
            return;
        search->library |= is_there(search, own, "os.py");
        look_in(search, own, false);
        look_in(search, path_in(search, own, "lib-dynload"), false);
        look_in_site(search, path_in(search, own, "site-packages"));
        look_in_site(search, path_in(search, own, "dist-packages"));
        look_in_site(search, path_in(search, lib, "python3/dist-packages"));
        const char *zip =
            jr_arena_printf(&search->arena, "%s/python%c%s.zip", lib,
                            search->version[0], search->version + 2);
        search->doubt |= zip == NULL || access(zip, F_OK) == 0;
    }
}

/* The folder that a path lies in, or that which this one lies in. */
static const char *folder_of(struct search *search, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *folder =
        slash == NULL
            ? NULL
            : jr_arena_strndup(&search->arena, path, (size_t)(slash - path));
    return folder == NULL ? "" : folder;
}

/* Take the version from the name of the program that an interpreter is once
 * all links are followed: python3.11, no script that starts one. */
static bool read_version(struct search *search, const char *path)
{
    char magic[4] = "";
    const char *slash = strrchr(path, '/');
    JR_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (slash == NULL || !starts(slash + 1, "python3.") || fd < 0 ||
        read(fd, magic, sizeof magic) != sizeof magic ||
        memcmp(magic, "\177ELF", sizeof magic) != 0)
        return false;
    search->version =
        jr_arena_strdup(&search->arena, slash + 1 + strlen("python"));
    return search->version != NULL &&
           search->version[2 + strspn(search->version + 2, "0123456789")] ==
               '\0';
}

/* Look below every prefix that an interpreter may be said to have: those of
 * the links that lead to it are virtual environments. */
static void look_by_interpreter(struct search *search)
{
    const char *path = search->look->interpreter;
    char target[PATH_MAX];
    if (path[0] != '/')
        path = path_in(search, search->look->workdir, path);
    JR_FREE char *real = realpath(path, NULL);
    if (real == NULL || !read_version(search, real)) {
        search->doubt = true;
        return;
    }
    for (unsigned i = 0; i < MOST_LINKS; i++) {
        const char *folder = folder_of(search, path);
        look_below(search, folder_of(search, folder));
        ssize_t len = readlink(path, target, sizeof target - 1);
        if (len < 0)
            break;
        target[len] = '\0';
        path = target[0] == '/' ? jr_arena_strdup(&search->arena, target)
                                : path_in(search, folder, target);
        if (path == NULL)
            break;
    }
    look_below(search, folder_of(search, folder_of(search, real)));
}

/* Look in the folders that variables of the environment name. */
static void look_by_environment(struct search *search)
{
    static const char *const others[] = {"PYTHONHOME", "PYTHONPLATLIBDIR",
                                         "PYTHONCASEOK"};
    char *const *env = search->look->env;
    const char *base = jr_env_get(env, "PYTHONUSERBASE");
    const char *home = jr_env_get(env, "HOME");
    const char *path = jr_env_get(env, "PYTHONPATH");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        search->doubt |= jr_env_get(env, others[i]) != NULL;
    if (base != NULL)
        look_below(search, base);
    else if (home != NULL)
        look_below(search, path_in(search, home, ".local"));
    else
        search->doubt = true; /* it is asked of the system */
    for (size_t len; path != NULL && *path != '\0';
         path += len + (path[len] == ':')) {
        len = strcspn(path, ":");
        const char *folder = jr_arena_strndup(&search->arena, path, len);
        if (folder != NULL && len > 0)
            look_in(search,
                    folder[0] == '/'
                        ? folder
                        : path_in(search, search->look->workdir, folder),
                    true);
    }
}

/* Whether Python may have it compiled in: those modules have no files. */
static bool may_be_built_in(const char *name)
{
    static const char *const names[] = {
        "array",     "atexit",      "audioop",      "binascii", "builtins",
        "cmath",     "errno",       "faulthandler", "fcntl",    "gc",
        "grp",       "itertools",   "marshal",      "math",     "mmap",
        "nis",       "ossaudiodev", "parser",       "posix",    "pwd",
        "pyexpat",   "readline",    "resource",     "select",   "spwd",
        "sys",       "syslog",      "termios",      "time",     "unicodedata",
        "xxsubtype", "zlib",        "zipimport"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return name[0] == '_';
}

/* Whether the package at `folder` may have more modules than files: one that
 * spreads over several folders, or says by program what is in it. */
static bool is_open_package(struct search *search, const char *folder)
{
    static const char *const words[] = {
        "__path__", "extend_path", "sys.modules", "meta_path", "import_module"};
    const char *text =
        read_text(search, path_in(search, folder, "__init__.py"));
    for (size_t i = 0; text != NULL && i < sizeof words / sizeof *words; i++)
        if (strstr(text, words[i]) != NULL)
            return true;
    return text == NULL;
}

/* Whether a part of the name, behind the first, is missing in its package,
 * which lies in the working directory. `ret_end` is the end of that part. */
static bool misses_inner(struct search *search, const char *module,
                         const char **ret_end)
{
    const char *folder = search->look->workdir, *at = module;
    for (;;) {
        size_t len = strcspn(at, ".");
        const char *part = jr_arena_strndup(&search->arena, at, len);
        if (part == NULL || at[len] == '\0')
            return false;
        folder = path_in(search, folder, part);
        at += len + 1;
        if (is_open_package(search, folder))
            return false;
        search->name = jr_arena_strndup(&search->arena, at, strcspn(at, "."));
        search->found = 0;
        search->own.count = 0;
        if (search->name == NULL)
            return false;
        look_in(search, folder, true);
        *ret_end = at + strcspn(at, ".");
        if (search->found == 0)
            return true;
    }
}

/* Whether a folder beside the job has it: src/NAME, or .venv of it. */
static bool help_with_folder(struct jr_buf *help, struct search *search)
{
    static const char *const folders[] = {"src", "lib", "python"};
    static const char *const venvs[] = {".venv", "venv", "env"};
    const char *workdir = search->look->workdir;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const char *folder = path_in(search, workdir, folders[i]);
        search->found = 0;
        look_in(search, folder, false);
        if (search->found > 0) {
            jr_buf_printf(help, "it is in %s: env: {PYTHONPATH: %s}",
                          folders[i], folder);
            return true;
        }
    }
    for (size_t i = 0; i < sizeof venvs / sizeof *venvs; i++) {
        const char *venv = path_in(search, workdir, venvs[i]);
        search->found = 0;
        look_below(search, venv);
        if (search->found > 0 && is_there(search, venv, "bin/python3")) {
            jr_buf_printf(help, "%s has it: write %s/bin/python3 for python3",
                          venvs[i], venvs[i]);
            return true;
        }
    }
    return false;
}

static void help_with_module(struct jr_buf *help, struct search *search,
                             const char *module, const char *end)
{
    const char *near =
        search->own.count == 0
            ? NULL
            : jr_did_you_mean(search->name,
                              (const char *const *)search->own.items);
    size_t before = (size_t)(end - module) - strlen(search->name);
    if (near != NULL)
        jr_buf_printf(help, "did you mean '%.*s%s%s'?", (int)before, module,
                      near, end);
    else if (before == 0 && !help_with_folder(help, search))
        jr_buf_printf(help,
                      "Python looks in the working directory, in PYTHONPATH "
                      "and in the packages of %s",
                      search->look->interpreter);
}

/* Whether the first part of the name is nowhere, or a later one not where the
 * first is. */
static bool is_missing(struct search *search, const char *module,
                       const char **ret_end)
{
    *ret_end = module + strlen(search->name);
    look_in(search, search->look->workdir, true);
    search->in_workdir = search->found > 0;
    look_by_interpreter(search);
    if (search->doubt)
        return false;
    look_by_environment(search);
    if (search->doubt || !search->library || search->arena.failed)
        return false;
    if (search->found == 0)
        return !may_be_built_in(search->name);
    return search->in_workdir && search->found == 1 &&
           misses_inner(search, module, ret_end);
}

bool jr_python_module_missing(struct jr_buf *ret_part, struct jr_buf *ret_help,
                              const struct jr_python_look *look,
                              const char *module)
{
    struct search search = {.look = look, .arena = JR_ARENA_INIT};
    const char *end = module;
    jr_buf_clear(ret_part);
    jr_buf_clear(ret_help);
    search.name = jr_arena_strndup(&search.arena, module, strcspn(module, "."));
    bool missing = search.name != NULL && search.name[0] != '\0' &&
                   is_missing(&search, module, &end);
    if (missing) {
        jr_buf_add(ret_part, module, (size_t)(end - module));
        help_with_module(ret_help, &search, module, end);
    }
    jr_arena_release(&search.arena);
    return missing && !ret_part->failed && !ret_help->failed;
}
