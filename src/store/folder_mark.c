#include "store/folder_mark.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/syscalls.h"

#include "base/banned.h"

#define DIGITS    "0123456789abcdef"
#define NAME_SIZE (sizeof ".mark-" + JR_TOKEN_SIZE)

/* False: the token is none, as of a controller that is none of ours. */
static bool name_mark(char ret[static NAME_SIZE], const char *token)
{
    if (strspn(token, DIGITS) != JR_TOKEN_SIZE - 1 || token[JR_TOKEN_SIZE - 1] != '\0')
        return false;
    (void)snprintf(ret, NAME_SIZE, ".mark-%s", token);
    return true;
}

int jr_folder_mark_make(const struct jr_run_folder *dir, char ret[static JR_TOKEN_SIZE],
                        struct jr_error *err)
{
    char name[NAME_SIZE], token[JR_TOKEN_SIZE];
    jr_token(token);
    (void)name_mark(name, token);
    JR_CLOSE int fd =
        openat(dir->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, dir->file_mode);
    if (fd < 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "the run folder's %s", name);
    memcpy(ret, token, sizeof token);
    return 0;
}

bool jr_folder_mark_is(const struct jr_run_folder *dir, const char *token)
{
    char name[NAME_SIZE];
    return name_mark(name, token) && jr_access(dir->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void jr_folder_mark_remove(const struct jr_run_folder *dir, const char *token)
{
    char name[NAME_SIZE];
    if (name_mark(name, token))
        (void)unlinkat(dir->fd, name, 0);
}
