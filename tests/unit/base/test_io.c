#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "unit.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Every case works in a folder of its own, which it leaves empty. */
static char folder[] = "/tmp/jobrun-test-io-XXXXXX";
static int folder_fd = -1;

static void enter(void)
{
    memset(folder + sizeof folder - 7, 'X', 6);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CU_ASSERT_TRUE_FATAL(folder_fd >= 0);
}

/* Fails when the case left anything but what it removed itself. */
static void leave(void)
{
    CU_ASSERT_EQUAL(close(folder_fd), 0);
    CU_ASSERT_EQUAL(rmdir(folder), 0);
}

static void put(const char *name, const char *text)
{
    struct jr_error err = {0};
    CU_ASSERT_EQUAL(jr_io_replace(folder_fd, name, text, strlen(text), 0600, &err), 0);
    JR_ASSERT_TEXT(err.text, "");
}

static void drop(const char *name)
{
    CU_ASSERT_EQUAL(unlinkat(folder_fd, name, 0), 0);
}

static void refuses_what_is_no_regular_file(void)
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
    struct jr_buf text = JR_BUF_INIT;
    enter();
    CU_ASSERT_EQUAL(mkfifoat(folder_fd, "fifo", 0600), 0);
    CU_ASSERT_EQUAL(symlinkat("loop", folder_fd, "loop"), 0);
    jr_buf_str(&text, "kept");
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct jr_error err = {0};
        CU_ASSERT_EQUAL(jr_io_read_file(&text, folder_fd, bad[i].path, 100, &err), -1);
        JR_ASSERT_TEXT(err.text, bad[i].text);
        JR_ASSERT_TEXT(text.data, "kept");
    }
    jr_buf_release(&text);
    drop("fifo");
    drop("loop");
    leave();
}

static void keeps_the_limit(void)
{
    struct jr_buf text = JR_BUF_INIT;
    struct jr_error err = {0};
    enter();
    put("file", "12345");
    CU_ASSERT_EQUAL(jr_io_read_file(&text, folder_fd, "file", 4, &err), -1);
    JR_ASSERT_TEXT(err.text, "file: is larger than 4 bytes");
    CU_ASSERT_PTR_NULL(text.data);
    CU_ASSERT_EQUAL(jr_io_read_file(&text, folder_fd, "file", 5, &err), 0);
    JR_ASSERT_TEXT(text.data, "12345");
    CU_ASSERT_EQUAL(text.len, 5);
    put("file", "");
    CU_ASSERT_EQUAL(jr_io_read_file(&text, folder_fd, "file", 0, &err), 0);
    JR_ASSERT_TEXT(text.data, "");
    /* One that is sparse is refused by its size: to read it would take all of the memory. */
    int fd = openat(folder_fd, "file", O_WRONLY | O_CLOEXEC);
    CU_ASSERT_EQUAL(ftruncate(fd, (off_t)1 << 42), 0);
    CU_ASSERT_EQUAL(close(fd), 0);
    CU_ASSERT_EQUAL(jr_io_read_file(&text, folder_fd, "file", (size_t)1 << 41, &err), -1);
    JR_ASSERT_TEXT(err.text, "file: is larger than 2097152 MiB");
    jr_buf_release(&text);
    drop("file");
    leave();
}

static void reads_endless_devices_no_further(void)
{
    struct jr_buf text = JR_BUF_INIT;
    struct jr_error err = {0};
    JR_CLOSE int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    CU_ASSERT_EQUAL(jr_io_read_fd(&text, fd, 1000000, &err), -1);
    JR_ASSERT_TEXT(err.text, "is larger than 1000000 bytes");
    CU_ASSERT_EQUAL(jr_io_read_fd(&text, -1, 10, &err), -1);
    CU_ASSERT_EQUAL(err.sys, EBADF);
    CU_ASSERT_PTR_NULL(text.data);
}

static void reads_a_pipe_piece_by_piece(void)
{
    enum { PIECES = 5000 };
    struct jr_buf text = JR_BUF_INIT;
    struct jr_error err = {0};
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_CLOEXEC), 0);
    for (int i = 0; i < PIECES; i++)
        CU_ASSERT_EQUAL_FATAL(jr_io_write_all(ends[1], "0123456789", 10), 0);
    CU_ASSERT_EQUAL(close(ends[1]), 0);
    CU_ASSERT_EQUAL(jr_io_read_fd(&text, ends[0], SIZE_MAX, &err), 0);
    CU_ASSERT_EQUAL(text.len, PIECES * 10);
    CU_ASSERT_EQUAL(strlen(text.data), PIECES * 10);
    CU_ASSERT_EQUAL(close(ends[0]), 0);
    jr_buf_release(&text);
}

static void tells_of_a_full_or_broken_target(void)
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

static void replaces_or_leaves_alone(void)
{
    struct jr_buf text = JR_BUF_INIT;
    struct jr_error err = {0};
    struct stat status;
    enter();
    put("file", "old");
    CU_ASSERT_EQUAL(mkdirat(folder_fd, "dir", 0700), 0);
    /* A name that is a folder: the temporary file must not stay behind. */
    CU_ASSERT_EQUAL(jr_io_replace(folder_fd, "dir", "x", 1, 0600, &err), -1);
    JR_ASSERT_TEXT(err.text, "cannot write dir: Is a directory");
    CU_ASSERT_EQUAL(jr_io_replace(-1, "file", "x", 1, 0600, &err), -1);
    CU_ASSERT_EQUAL(err.sys, EBADF);
    CU_ASSERT_EQUAL(jr_io_replace(folder_fd, "file", "new\n", 4, 0640, &err), 0);
    CU_ASSERT_EQUAL(jr_io_read_file(&text, folder_fd, "file", 10, &err), 0);
    JR_ASSERT_TEXT(text.data, "new\n");
    CU_ASSERT_EQUAL(fstatat(folder_fd, "file", &status, 0), 0);
    CU_ASSERT_EQUAL(status.st_mode & 07777, 0640); /* whatever the umask */
    jr_buf_release(&text);
    drop("file");
    CU_ASSERT_EQUAL(unlinkat(folder_fd, "dir", AT_REMOVEDIR), 0);
    leave();
}

static void replaces_a_link_and_not_its_target(void)
{
    struct jr_buf text = JR_BUF_INIT;
    struct jr_error err = {0};
    struct stat status;
    enter();
    put("target", "precious");
    CU_ASSERT_EQUAL(symlinkat("target", folder_fd, "link"), 0);
    put("link", "new");
    CU_ASSERT_EQUAL(fstatat(folder_fd, "link", &status, AT_SYMLINK_NOFOLLOW), 0);
    CU_ASSERT_TRUE(S_ISREG(status.st_mode));
    CU_ASSERT_EQUAL(jr_io_read_file(&text, folder_fd, "target", 10, &err), 0);
    JR_ASSERT_TEXT(text.data, "precious");
    jr_buf_release(&text);
    drop("target");
    drop("link");
    leave();
}

/* Fails in the middle. */
static int fill_half(void *data, int fd)
{
    (void)data;
    CU_ASSERT_EQUAL(jr_io_write_all(fd, "half", 4), 0);
    errno = ENOSPC;
    return -1;
}

/* A new file has its mode whatever the umask, and is not there where it could
 * not be written; what stands in its place is replaced, and no link followed.
 */
static void makes_a_file_under_its_own_name(void)
{
    static const struct jr_io_source half = {fill_half, NULL};
    struct jr_buf text = JR_BUF_INIT;
    struct jr_error err = {0};
    struct stat status;
    enter();
    mode_t mask = umask(0777);
    CU_ASSERT_EQUAL(jr_io_make(folder_fd, "file", "a", 1, 0640, &err), 0);
    (void)umask(mask);
    CU_ASSERT_EQUAL(fstatat(folder_fd, "file", &status, 0), 0);
    CU_ASSERT_EQUAL(status.st_mode & 07777, 0640);
    put("target", "precious");
    CU_ASSERT_EQUAL(symlinkat("target", folder_fd, "link"), 0);
    CU_ASSERT_EQUAL(jr_io_make(folder_fd, "link", "b", 1, 0600, &err), 0);
    CU_ASSERT_EQUAL(jr_io_read_file(&text, folder_fd, "target", 10, &err), 0);
    JR_ASSERT_TEXT(text.data, "precious");
    CU_ASSERT_EQUAL(jr_io_read_file(&text, folder_fd, "link", 10, &err), 0);
    JR_ASSERT_TEXT(text.data, "b");
    CU_ASSERT_EQUAL(jr_io_make_from(folder_fd, "gone", &half, 0600, &err), -1);
    JR_ASSERT_TEXT(err.text, "cannot write gone: No space left on device");
    CU_ASSERT_EQUAL(faccessat(folder_fd, "gone", F_OK, 0), -1);
    CU_ASSERT_EQUAL(jr_io_make(-1, "file", "x", 1, 0600, &err), -1);
    CU_ASSERT_EQUAL(err.sys, EBADF);
    jr_buf_release(&text);
    drop("file");
    drop("link");
    drop("target");
    leave();
}

static void makes_folders(void)
{
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
    struct jr_error err = {0};
    enter();
    put("file", "");
    jr_buf_printf(&path, "%s/file/x", folder);
    CU_ASSERT_EQUAL(jr_io_mkdirs(path.data, 0700, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/file is not a folder"));
    CU_ASSERT_EQUAL(jr_io_mkdirs("", 0700, &err), -1);
    CU_ASSERT_EQUAL(jr_io_mkdirs("/proc/nope/x", 0700, &err), -1);
    CU_ASSERT_EQUAL(jr_io_mkdirs("/", 0700, &err), 0);
    jr_buf_clear(&path);
    jr_buf_printf(&path, "%s/a//b/c/", folder);
    CU_ASSERT_EQUAL(jr_io_mkdirs(path.data, 0700, &err), 0);
    CU_ASSERT_EQUAL(jr_io_mkdirs(path.data, 0700, &err), 0);
    CU_ASSERT_EQUAL(unlinkat(folder_fd, "a/b/c", AT_REMOVEDIR), 0);
    CU_ASSERT_EQUAL(unlinkat(folder_fd, "a/b", AT_REMOVEDIR), 0);
    CU_ASSERT_EQUAL(unlinkat(folder_fd, "a", AT_REMOVEDIR), 0);
    drop("file");
    leave();
}

static void makes_paths_absolute(void)
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
    for (size_t i = 0; i < COUNT(vectors); i++) {
        JR_FREE char *path = jr_io_absolute(vectors[i].base, vectors[i].path);
        JR_ASSERT_TEXT(path, vectors[i].absolute);
    }
}

static void finds_the_nearest_above(void)
{
    enter();
    put("mark", "");
    char below[sizeof folder + 4];
    (void)snprintf(below, sizeof below, "%s/a/b", folder);
    CU_ASSERT_EQUAL(mkdirat(folder_fd, "a", 0700), 0);
    JR_FREE char *here = jr_io_find_above(folder, "mark");
    JR_FREE char *above = jr_io_find_above(below, "mark");
    JR_FREE char *top = jr_io_find_above(below, "proc");
    JR_FREE char *root = jr_io_find_above("/", "proc");
    JR_ASSERT_TEXT(here, folder);
    JR_ASSERT_TEXT(above, folder);
    JR_ASSERT_TEXT(top, "/");
    JR_ASSERT_TEXT(root, "/");
    CU_ASSERT_PTR_NULL(jr_io_find_above(below, "no such thing"));
    CU_ASSERT_EQUAL(unlinkat(folder_fd, "a", AT_REMOVEDIR), 0);
    drop("mark");
    leave();
}

static void reads_facts(void)
{
    struct jr_buf text = JR_BUF_INIT;
    enter();
    CU_ASSERT_FALSE(jr_io_fact(&text, folder, "absent"));
    CU_ASSERT_FALSE(jr_io_fact(&text, folder, ""));
    put("fact", "0-7\n");
    CU_ASSERT_TRUE(jr_io_fact(&text, folder, "fact"));
    JR_ASSERT_TEXT(text.data, "0-7");
    CU_ASSERT_EQUAL(text.len, 3);
    put("fact", "two\n\n");
    CU_ASSERT_TRUE(jr_io_fact(&text, folder, "/fact"));
    JR_ASSERT_TEXT(text.data, "two\n");
    put("fact", "");
    CU_ASSERT_TRUE(jr_io_fact(&text, folder, "fact"));
    JR_ASSERT_TEXT(text.data, "");
    CU_ASSERT_TRUE(jr_io_fact(&text, "", "proc/self/stat"));
    CU_ASSERT_TRUE(text.len > 0);
    jr_buf_release(&text);
    drop("fact");
    leave();
}

JR_UNIT_MAIN("io", CASE(refuses_what_is_no_regular_file), CASE(keeps_the_limit),
             CASE(reads_endless_devices_no_further), CASE(reads_a_pipe_piece_by_piece),
             CASE(tells_of_a_full_or_broken_target), CASE(replaces_or_leaves_alone),
             CASE(replaces_a_link_and_not_its_target), CASE(makes_a_file_under_its_own_name),
             CASE(makes_folders), CASE(makes_paths_absolute), CASE(finds_the_nearest_above),
             CASE(reads_facts))
