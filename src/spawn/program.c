#include "spawn/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/syscalls.h"

#include "base/banned.h"

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

static bool is_same_search(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* One folder of the search path, of `len` bytes; empty means the workdir. 0, or why what is there
 * could not be executed. */
static int try_folder(struct jr_program *program, const char *folder, size_t len)
{
    bool relative = len == 0 || folder[0] != '/';
    const char *base = relative && program->workdir ? program->workdir : "";
    int size = snprintf(program->path, sizeof program->path, "%s%s%.*s/%s", base,
                        relative && base[0] != '\0' ? "/" : "", (int)len, folder, program->name);
    if (size < 0 || (size_t)size >= sizeof program->path)
        return ENAMETOOLONG;
    struct stat st;
    if (stat(program->path, &st) != 0)
        return errno;
    if (!S_ISREG(st.st_mode))
        return S_ISDIR(st.st_mode) ? EISDIR : EACCES;
    return jr_access(AT_FDCWD, program->path, X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

/* A folder that says more than "not here" is remembered, as the shells do. */
static int search_path(struct jr_program *program)
{
    int verdict = ENOENT;
    const char *rest = program->search == NULL ? DEFAULT_PATH : program->search;
    for (;;) {
        size_t len = strcspn(rest, ":");
        int error = try_folder(program, rest, len);
        if (error == 0)
            return 0;
        if (error == EACCES || error == EISDIR)
            verdict = error;
        if (rest[len] == '\0')
            return verdict;
        rest += len + 1;
    }
}

int jr_program_find(struct jr_program *program, const char *name, const char *path,
                    const char *workdir)
{
    if (program->name != NULL && is_same_search(program->name, name) &&
        is_same_search(program->search, path) && is_same_search(program->workdir, workdir))
        return program->error;
    program->name = name;
    program->search = path;
    program->workdir = workdir;
    size_t len = strlen(name);
    if (strchr(name, '/') == NULL)
        program->error = len == 0 ? ENOENT : search_path(program);
    else
        program->error = len < sizeof program->path ? 0 : ENAMETOOLONG;
    if (program->error == 0 && strchr(name, '/') != NULL)
        memcpy(program->path, name, len + 1);
    return program->error;
}

int jr_program_refine_errno(const char *path, const char *workdir, int error)
{
    JR_CLOSE int fd = open(workdir == NULL ? "." : workdir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat st;
    int at = fd < 0 ? AT_FDCWD : fd;
    if (fstatat(at, path, &st, 0) != 0)
        return error;
    if (error == EACCES && S_ISDIR(st.st_mode))
        return EISDIR;
    if (error == EACCES && jr_access(at, path, X_OK, AT_EACCESS) == 0)
        return ELIBACC;
    return error == ENOENT ? ELIBACC : error;
}
