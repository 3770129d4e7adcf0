/* A folder for one test, which goes with it. */
#ifndef JR_SCRATCH_H
#define JR_SCRATCH_H

#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

struct scratch {
    char dir[32];
    int fd;
};

static inline void scratch_start(struct scratch *scratch)
{
    *scratch = (struct scratch){.dir = "/tmp/jr_scratch_XXXXXX"};
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(scratch->dir));
    scratch->fd = open(scratch->dir, O_RDONLY | O_DIRECTORY);
    CU_ASSERT_TRUE_FATAL(scratch->fd >= 0);
}

/* Write `name` beneath the folder. */
static inline void scratch_write(const struct scratch *scratch, const char *name, const char *text)
{
    int fd = openat(scratch->fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    CU_ASSERT_TRUE(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    (void)close(fd);
}

/* Write files beneath the folder, "PATH TEXT|PATH TEXT", each with a newline behind its text, and
 * the folders that they are in. */
static inline void scratch_tree(const struct scratch *scratch, const char *files)
{
    EACH_PART(file, files) {
        char *text = file + strcspn(file, " "), line[2048];
        if (*file == '\0')
            continue;
        (void)snprintf(line, sizeof line, "%s\n", *text == ' ' ? text + 1 : "");
        *text = '\0';
        for (char *at = file; (at = strchr(at, '/')) != NULL; at++) {
            *at = '\0';
            (void)mkdirat(scratch->fd, file, 0700);
            *at = '/';
        }
        scratch_write(scratch, file, line);
    }
}

/* The bytes of `name` there; "-": there is no such file, or it is a link. */
static inline void scratch_check(const struct scratch *scratch, const char *name,
                                 const char *expected)
{
    char text[4096] = "-";
    int fd = openat(scratch->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t got = fd < 0 ? 1 : read(fd, text, sizeof text - 1);
    text[got < 0 ? 0 : got] = '\0';
    if (fd >= 0)
        (void)close(fd);
    JR_ASSERT_TEXT(text, expected);
}

static inline int scratch_remove(const char *path, const struct stat *info, int type,
                                 struct FTW *place)
{
    (void)info, (void)type, (void)place;
    return remove(path);
}

static inline void scratch_end(struct scratch *scratch)
{
    (void)close(scratch->fd);
    (void)nftw(scratch->dir, scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* A folder for the rest of the block. */
#define SCRATCH(name)                                                                              \
    struct scratch name RELEASE(scratch_end);                                                      \
    scratch_start(&name)

#endif
