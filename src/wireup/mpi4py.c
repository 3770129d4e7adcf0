#include "wireup/mpi4py.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/strv.h"

#include "base/banned.h"

enum { LINE_MOST = 256, CONFIG_MOST = 1 << 16 };

bool jr_mpi4py_is_python(const char *name)
{
    static const char python[] = "python";
    const char *slash = strrchr(name, '/');
    const char *last = slash == NULL ? name : slash + 1;
    size_t len = sizeof python - 1;
    return strncmp(last, python, len) == 0 && last[len + strspn(last + len, "0123456789.")] == '\0';
}

const char *jr_mpi4py_interpreter(struct jr_arena *arena, const char *file)
{
    static const char env[] = "env";
    char line[LINE_MOST + 1], *rest = line + 2;
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t len = fd < 0 ? -1 : read(fd, line, LINE_MOST);
    if (fd >= 0)
        (void)close(fd);
    if (len < 2 || line[0] != '#' || line[1] != '!')
        return NULL;
    line[len] = '\0';
    line[strcspn(line, "\n")] = '\0';
    char *word = strtok_r(rest, " \t", &rest);
    if (word == NULL)
        return NULL;
    const char *slash = strrchr(word, '/');
    bool looks_up = slash != NULL && strcmp(slash + 1, env) == 0;
    if (looks_up)
        word = strtok_r(rest, " \t", &rest);
    return word != NULL && jr_mpi4py_is_python(word) ? jr_arena_strdup(arena, word) : NULL;
}

/* Whether a file of the package is its module for that variable's value. */
static bool is_module(const char *name, const char *abi)
{
    static const char begin[] = "MPI.", end[] = ".so";
    size_t len = strlen(name), first = sizeof begin - 1;
    if (len <= first + sizeof end - 1 || strncmp(name, begin, first) != 0 ||
        strcmp(name + len - (sizeof end - 1), end) != 0)
        return false;
    size_t abi_len = abi == NULL ? 0 : strlen(abi);
    return abi_len == 0 ||
           (strncmp(name + first, abi, abi_len) == 0 && name[first + abi_len] == '.');
}

/* The search in progress. */
struct mpi4py_walk {
    struct jr_arena *arena;
    const struct jr_mpi4py_search *how;
    struct jr_mpi_library found;
    bool several; /* modules for libraries of different kinds */
};

static void take_module(struct mpi4py_walk *walk, const char *folder, const char *name)
{
    struct jr_mpi_library library;
    const char *path = jr_arena_printf(walk->arena, "%s/%s", folder, name);
    if (path == NULL || !jr_mpi_library_find(&library, walk->arena, path, walk->how->libraries))
        return;
    walk->several =
        walk->several || (walk->found.kind != JR_MPI_KIND_NONE && walk->found.kind != library.kind);
    walk->found = library;
}

/* Whether `site`, of `len` bytes, has the package: then it is the one. */
static bool search_site(struct mpi4py_walk *walk, const char *site, size_t len)
{
    const char *folder = jr_arena_printf(walk->arena, "%.*s/mpi4py", (int)len, site);
    DIR *dir = folder == NULL || len == 0 ? NULL : opendir(folder);
    const struct dirent *entry;
    if (dir == NULL)
        return false;
    while ((entry = readdir(dir)) != NULL)
        if (is_module(entry->d_name, walk->how->abi))
            take_module(walk, folder, entry->d_name);
    (void)closedir(dir);
    return true;
}

static bool search_python_path(struct mpi4py_walk *walk)
{
    for (const char *at = walk->how->python_path; at != NULL;) {
        size_t len = strcspn(at, ":");
        if (search_site(walk, at, len))
            return true;
        at = at[len] == '\0' ? NULL : at + len + 1;
    }
    return false;
}

/* The folder above that of a program: "/usr" of "/usr/bin/python3". */
static char *find_prefix(struct mpi4py_walk *walk, const char *program)
{
    const char *slash = strrchr(program, '/');
    const char *above = slash == NULL ? NULL : memrchr(program, '/', (size_t)(slash - program));
    return above == NULL ? NULL : jr_arena_strndup(walk->arena, program, (size_t)(above - program));
}

static bool search_below(struct mpi4py_walk *walk, const char *prefix, const char *name)
{
    static const char *const sites[] = {"local/lib/%s/dist-packages", "lib/%s/site-packages",
                                        "lib/%s/dist-packages", "lib/python3/dist-packages"};
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
        struct jr_buf site JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_printf(&site, "%s/", prefix);
        jr_buf_replaced(&site, sites[i], "%s", name);
        if (!site.failed && search_site(walk, site.data, site.len))
            return true;
    }
    return false;
}

/* A virtual environment: is what its interpreter is of hidden from it? */
static bool hides_others(const char *prefix, bool *ret_is)
{
    struct jr_buf config JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_buf path JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&path, "%s/pyvenv.cfg", prefix);
    *ret_is = !path.failed && jr_io_read_file(&config, AT_FDCWD, path.data, CONFIG_MOST, NULL) == 0;
    return *ret_is &&
           (config.len == 0 || strstr(config.data, "include-system-site-packages = true") == NULL);
}

static bool search_home(struct mpi4py_walk *walk, const char *name)
{
    const char *home = walk->how->home;
    const char *site =
        home == NULL ? NULL
                     : jr_arena_printf(walk->arena, "%s/.local/lib/%s/site-packages", home, name);
    return site != NULL && search_site(walk, site, strlen(site));
}

static void search_all_sites(struct mpi4py_walk *walk, const char *python)
{
    char real[PATH_MAX];
    bool virtual = false;
    const char *own = find_prefix(walk, python);
    if (own == NULL || realpath(python, real) == NULL || search_python_path(walk))
        return;
    const char *name = strrchr(real, '/') + 1; /* "python3.11" */
    const char *prefix = find_prefix(walk, real);
    bool hidden = hides_others(own, &virtual);
    if (virtual && search_below(walk, own, name))
        return;
    if (!hidden && !search_home(walk, name) && prefix != NULL)
        (void)search_below(walk, prefix, name);
}

bool jr_mpi4py_find(struct jr_mpi_library *ret, struct jr_arena *arena, const char *python,
                    const struct jr_mpi4py_search *how)
{
    struct mpi4py_walk walk = {.arena = arena, .how = how};
    search_all_sites(&walk, python);
    if (walk.several || walk.found.kind == JR_MPI_KIND_NONE)
        return false;
    *ret = walk.found;
    return true;
}
