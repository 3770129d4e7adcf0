#include "base/io.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>

#include "base/cleanup.h"

#include "scratch.h"

/* Every case works in a folder of its own. */
static struct scratch scratch;

static bool holds(const char *name)
{
    return faccessat(scratch.fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static unsigned mode_of(const char *name)
{
    struct stat status = {0};
    CU_ASSERT_EQUAL(fstatat(scratch.fd, name, &status, AT_SYMLINK_NOFOLLOW), 0);
    return status.st_mode;
}

TEST(refuses_what_is_no_regular_file)
{
    static const struct {
        const char *path, *text;
    } bad[] = {
        {"/dev/zero", "/dev/zero: is a device, not a regular file"},
        {"absent", "absent: cannot open: No such file or directory"},
        {"fifo", "fifo: is a FIFO, not a regular file"},
        {".", ".: is a folder, not a regular file"},
        {"loop", "loop: cannot open: Too many levels of symbolic links"},
    };
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    scratch_start(&scratch);
    CU_ASSERT_EQUAL(mkfifoat(scratch.fd, "fifo", 0600), 0);
    CU_ASSERT_EQUAL(symlinkat("loop", scratch.fd, "loop"), 0);
    jr_buf_str(&text, "kept");
    JR_EACH(row, bad) {
        struct jr_error err = {0};
        CU_ASSERT_EQUAL(jr_io_read_file(&text, scratch.fd, row->path, 100, &err), -1);
        JR_ASSERT_TEXT(err.text, row->text);
        JR_ASSERT_TEXT(text.data, "kept");
    }
    scratch_end(&scratch);
}

TEST(keeps_the_limit)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_error err = {0};
    scratch_start(&scratch);
    scratch_write(&scratch, "file", "12345");
    CU_ASSERT_EQUAL(jr_io_read_file(&text, scratch.fd, "file", 4, &err), -1);
    JR_ASSERT_TEXT(err.text, "file: is larger than 4 bytes");
    CU_ASSERT_PTR_NULL(text.data);
    CU_ASSERT_EQUAL(jr_io_read_file(&text, scratch.fd, "file", 5, &err), 0);
    JR_ASSERT_TEXT(text.data, "12345");
    CU_ASSERT_EQUAL(text.len, 5);
    scratch_write(&scratch, "file", "");
    CU_ASSERT_EQUAL(jr_io_read_file(&text, scratch.fd, "file", 0, &err), 0);
    JR_ASSERT_TEXT(text.data, "");
    /* One that is sparse is refused by its size: to read it would take all of the memory. */
    JR_CLOSE int fd = openat(scratch.fd, "file", O_WRONLY | O_CLOEXEC);
    CU_ASSERT_EQUAL(ftruncate(fd, (off_t)1 << 42), 0);
    CU_ASSERT_EQUAL(jr_io_read_file(&text, scratch.fd, "file", (size_t)1 << 41, &err), -1);
    JR_ASSERT_TEXT(err.text, "file: is larger than 2097152 MiB");
    scratch_end(&scratch);
}

TEST(reads_descriptors)
{
    enum { PIECES = 5000 };
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_error err = {0};
    JR_CLOSE int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    CU_ASSERT_EQUAL(jr_io_read_fd(&text, zero, 1000000, &err), -1);
    JR_ASSERT_TEXT(err.text, "is larger than 1000000 bytes");
    CU_ASSERT_EQUAL(jr_io_read_fd(&text, -1, 10, &err), -1);
    CU_ASSERT_EQUAL(err.sys, EBADF);
    CU_ASSERT_PTR_NULL(text.data);
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_CLOEXEC), 0);
    for (int i = 0; i < PIECES; i++)
        CU_ASSERT_EQUAL_FATAL(jr_io_write_all(ends[1], "0123456789", 10), 0);
    CU_ASSERT_EQUAL(close(ends[1]), 0);
    CU_ASSERT_EQUAL(jr_io_read_fd(&text, ends[0], SIZE_MAX, &err), 0);
    CU_ASSERT_EQUAL(text.len, PIECES * 10);
    CU_ASSERT_EQUAL(strlen(text.data), PIECES * 10);
    CU_ASSERT_EQUAL(close(ends[0]), 0);
}

TEST(tells_of_a_full_or_broken_target)
{
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_CLOEXEC), 0);
    CU_ASSERT_EQUAL(close(ends[0]), 0);
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    CU_ASSERT_EQUAL(jr_io_write_all(ends[1], "x", 1), -1);
    CU_ASSERT_EQUAL(errno, EPIPE);
    (void)signal(SIGPIPE, before);
    CU_ASSERT_EQUAL(close(ends[1]), 0);
    JR_CLOSE int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    CU_ASSERT_EQUAL(jr_io_write_all(full, "x", 1), -1);
    CU_ASSERT_EQUAL(errno, ENOSPC);
    CU_ASSERT_EQUAL(jr_io_write_all(full, NULL, 0), 0);
}

/* Fails in the middle. */
static int fill_half(void *data, int fd)
{
    (void)data;
    CU_ASSERT_EQUAL(jr_io_write_all(fd, "half", 4), 0);
    errno = ENOSPC;
    return -1;
}

/* What is written has its mode whatever the umask, follows no link, and is not there where it could
 * not be written: nor is anything else then. By replacing, and under its own name. */
TEST(writes_all_or_nothing)
{
    static const struct jr_io_source half = {fill_half, NULL};
    for (int fresh = 0; fresh < 2; fresh++) {
        int (*put)(int, const char *, const void *, size_t, mode_t, struct jr_error *) =
            fresh != 0 ? jr_io_make : jr_io_replace;
        int (*put_from)(int, const char *, const struct jr_io_source *, mode_t, struct jr_error *) =
            fresh != 0 ? jr_io_make_from : jr_io_replace_from;
        struct jr_error err = {0};
        scratch_start(&scratch);
        mode_t mask = umask(0777);
        CU_ASSERT_EQUAL(put(scratch.fd, "file", "old", 3, 0600, &err), 0);
        CU_ASSERT_EQUAL(put(scratch.fd, "file", "new\n", 4, 0640, &err), 0);
        (void)umask(mask);
        scratch_check(&scratch, "file", "new\n");
        CU_ASSERT_EQUAL(mode_of("file") & 07777, 0640);
        scratch_write(&scratch, "target", "precious");
        CU_ASSERT_EQUAL(symlinkat("target", scratch.fd, "link"), 0);
        CU_ASSERT_EQUAL(put(scratch.fd, "link", "b", 1, 0600, &err), 0);
        CU_ASSERT_TRUE(S_ISREG(mode_of("link")));
        scratch_check(&scratch, "link", "b");
        scratch_check(&scratch, "target", "precious");
        CU_ASSERT_EQUAL(put_from(scratch.fd, "gone", &half, 0600, &err), -1);
        JR_ASSERT_TEXT(err.text, "cannot write gone: No space left on device");
        CU_ASSERT_FALSE(holds("gone"));
        CU_ASSERT_EQUAL(put(-1, "file", "x", 1, 0600, &err), -1);
        CU_ASSERT_EQUAL(err.sys, EBADF);
        for (int i = 0; i < 3; i++)
            (void)unlinkat(scratch.fd, (const char *[]){"file", "link", "target"}[i], 0);
        CU_ASSERT_EQUAL(mkdirat(scratch.fd, "dir", 0700), 0);
        CU_ASSERT_EQUAL(put(scratch.fd, "dir", "x", 1, 0600, &err), -1);
        JR_ASSERT_TEXT(err.text, "cannot write dir: Is a directory");
        /* No temporary file is left: the folder can be removed when that is. */
        CU_ASSERT_EQUAL(unlinkat(scratch.fd, "dir", AT_REMOVEDIR), 0);
        CU_ASSERT_EQUAL(rmdir(scratch.dir), 0);
        scratch_end(&scratch);
    }
}

TEST(makes_folders)
{
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
    struct jr_error err = {0};
    scratch_start(&scratch);
    scratch_write(&scratch, "file", "");
    jr_buf_printf(&path, "%s/file/x", scratch.dir);
    CU_ASSERT_EQUAL(jr_io_mkdirs(path.data, 0700, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/file is not a folder"));
    CU_ASSERT_EQUAL(jr_io_mkdirs("", 0700, &err), -1);
    CU_ASSERT_EQUAL(jr_io_mkdirs("/proc/nope/x", 0700, &err), -1);
    CU_ASSERT_EQUAL(jr_io_mkdirs("/", 0700, &err), 0);
    jr_buf_clear(&path);
    jr_buf_printf(&path, "%s/a//b/c/", scratch.dir);
    for (int i = 0; i < 2; i++)
        CU_ASSERT_EQUAL(jr_io_mkdirs(path.data, 0700, &err), 0);
    CU_ASSERT_TRUE(S_ISDIR(mode_of("a/b/c")));
    scratch_end(&scratch);
}

TEST(makes_paths_absolute)
{
    static const struct {
        const char *base, *path, *absolute;
    } vectors[] = {
        {"/", "..", "/"},
        {"/", "", "/"},
        {"/a", "../../../b", "/b"},
        {"/a/b", "c", "/a/b/c"},
        {"/a/b", "./c/", "/a/b/c"},
        {"/a/b", "../c", "/a/c"},
        {"/a/b/", ".", "/a/b"},
        {"/a/b", "/x//y/./z/..", "/x/y"},
        {"/a/./b/..", "c", "/a/c"},
        {"/a", "...", "/a/..."},
        {"/a", ".hidden", "/a/.hidden"},
    };
    JR_EACH(row, vectors) {
        JR_FREE char *path = jr_io_absolute(row->base, row->path);
        JR_ASSERT_TEXT(path, row->absolute);
    }
}

TEST(finds_the_nearest_above)
{
    char below[sizeof scratch.dir + 4];
    scratch_start(&scratch);
    scratch_write(&scratch, "mark", "");
    (void)snprintf(below, sizeof below, "%s/a/b", scratch.dir);
    CU_ASSERT_EQUAL(mkdirat(scratch.fd, "a", 0700), 0);
    const struct {
        const char *folder, *name, *found;
    } rows[] = {{scratch.dir, "mark", scratch.dir},
                {below, "mark", scratch.dir},
                {below, "proc", "/"},
                {"/", "proc", "/"}};
    JR_EACH(row, rows) {
        JR_FREE char *found = jr_io_find_above(row->folder, row->name);
        JR_ASSERT_TEXT(found, row->found);
    }
    CU_ASSERT_PTR_NULL(jr_io_find_above(below, "no such thing"));
    scratch_end(&scratch);
}

TEST(reads_facts)
{
    static const char *const facts[][2] = {{"0-7\n", "0-7"}, {"two\n\n", "two\n"}, {"", ""}};
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    scratch_start(&scratch);
    CU_ASSERT_FALSE(jr_io_fact(&text, scratch.dir, "absent"));
    CU_ASSERT_FALSE(jr_io_fact(&text, scratch.dir, ""));
    JR_EACH(fact, facts) {
        scratch_write(&scratch, "fact", (*fact)[0]);
        CU_ASSERT_TRUE(jr_io_fact(&text, scratch.dir, "/fact"));
        JR_ASSERT_TEXT(text.data, (*fact)[1]);
        CU_ASSERT_EQUAL(text.len, strlen((*fact)[1]));
    }
    CU_ASSERT_TRUE(jr_io_fact(&text, "", "proc/self/stat"));
    CU_ASSERT_TRUE(text.len > 0);
    scratch_end(&scratch);
}
