#include "session/support.h"

#include <dlfcn.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

/* The folder, absolute, that lies at `place` from that of `file`; NULL if there
 * is no worker in it. A name that is not absolute is what somebody called the
 * program, and says nothing of where it is. */
static const char *support_beside(struct jr_arena *arena, const char *file,
                                  const char *place)
{
    const char *slash = strrchr(file, '/');
    if (file[0] != '/')
        return NULL;
    const char *folder =
        jr_arena_printf(arena, "%.*s/%s", (int)(slash - file), file, place);
    const char *worker =
        jr_arena_printf(arena, "%s/python/jobrun/_worker.py", folder);
    return worker != NULL && access(worker, R_OK) == 0 ? folder : NULL;
}

/* The place in a build tree, and the place after installation. */
static const char *support_near(struct jr_arena *arena, const char *file,
                                const char *installed)
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
