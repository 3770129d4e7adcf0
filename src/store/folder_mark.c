#include "store/folder_mark.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/syscalls.h"

#include "base/banned.h"

#define DIGITS    "0123456789abcdef"
#define NAME_SIZE (sizeof ".mark-" + JR_FOLDER_MARK)

static void make_token(char ret[static JR_FOLDER_MARK])
{
    uint64_t bits[2] = {jr_clock_ns(), (uint64_t)getpid()};
    (void)!getrandom(bits, sizeof bits, GRND_NONBLOCK);
    (void)snprintf(ret, JR_FOLDER_MARK, "%016" PRIx64 "%016" PRIx64, bits[0],
                   bits[1]);
}

/* False: the token is none, as of a controller that is none of ours. */
static bool name_mark(char ret[static NAME_SIZE], const char *token)
{
    if (strspn(token, DIGITS) != JR_FOLDER_MARK - 1 ||
        token[JR_FOLDER_MARK - 1] != '\0')
        return false;
    (void)snprintf(ret, NAME_SIZE, ".mark-%s", token);
    return true;
}

int jr_folder_mark_make(const struct jr_run_folder *dir,
                        char ret[static JR_FOLDER_MARK], struct jr_error *err)
{
    char name[NAME_SIZE], token[JR_FOLDER_MARK];
    make_token(token);
    (void)name_mark(name, token);
    JR_CLOSE int fd = openat(
        dir->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, dir->file_mode);
    if (fd < 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "the run folder's %s", name);
    memcpy(ret, token, sizeof token);
    return 0;
}

bool jr_folder_mark_is(const struct jr_run_folder *dir, const char *token)
{
    char name[NAME_SIZE];
    return name_mark(name, token) &&
           jr_access(dir->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void jr_folder_mark_remove(const struct jr_run_folder *dir, const char *token)
{
    char name[NAME_SIZE];
    if (name_mark(name, token))
        (void)unlinkat(dir->fd, name, 0);
}
