#include "session/support.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jobrun/jobrun.h>

#include "base/cleanup.h"
#include "base/strv.h"
#include "generated/version.h"
#include "spawn/program.h"

#include "base/banned.h"

/* The folder, absolute, that lies at `place` from that of `file`; NULL if there is no worker in it.
 * A name that is not absolute is what somebody called the program, and says nothing of where it
 * is. */
static const char *support_beside(struct jr_arena *arena, const char *file, const char *place)
{
    const char *slash = strrchr(file, '/');
    if (file[0] != '/')
        return NULL;
    const char *folder = jr_arena_printf(arena, "%.*s/%s", (int)(slash - file), file, place);
    const char *worker = jr_arena_printf(arena, "%s/python/jobrun/_worker.py", folder);
    if (worker == NULL || access(worker, R_OK) != 0)
        return NULL;
    JR_FREE char *real = realpath(folder, NULL);
    return real == NULL ? folder : jr_arena_strdup(arena, real);
}

/* The place in a build tree, and the place after installation. */
static const char *support_near(struct jr_arena *arena, const char *file, const char *installed)
{
    const char *folder = support_beside(arena, file, "support");
    return folder != NULL ? folder : support_beside(arena, file, installed);
}

const char *jr_support_find(struct jr_arena *arena)
{
    char program[PATH_MAX];
    const char *folder = NULL;
    Dl_info info;
    ssize_t len = readlink("/proc/self/exe", program, sizeof program - 1);
    if (len > 0) {
        program[len] = '\0';
        folder = support_near(arena, program, JR_SUPPORT_FROM_BIN);
    }
    if (folder == NULL && dladdr(jr_version(), &info) != 0)
        folder = support_near(arena, info.dli_fname, JR_SUPPORT_FROM_LIB);
    return folder;
}

char *jr_support_program(struct jr_arena *arena, char *const *envp)
{
    char own[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", own, sizeof own - 1);
    struct jr_program program = {0};
    struct stat this, found;
    own[len > 0 ? len : 0] = '\0';
    /* Whether PATH finds that file by the name of jobrun. */
    bool named =
        len <= 0 || (jr_program_find(&program, "jobrun", jr_env_get(envp, "PATH"), NULL) == 0 &&
                     stat(program.path, &found) == 0 && stat(own, &this) == 0 &&
                     found.st_ino == this.st_ino && found.st_dev == this.st_dev);
    return jr_arena_strdup(arena, named ? "jobrun" : own);
}

bool jr_support_has_program(const char *name, char *const *envp)
{
    struct jr_program program = {0};
    return jr_program_find(&program, name, jr_env_get(envp, "PATH"), NULL) == 0;
}

const char *jr_version(void)
{
    return JR_VERSION;
}
