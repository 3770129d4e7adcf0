#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/syscalls.h"

#include "base/banned.h"

enum { PAGE = 4096, CHUNK = 64 * 1024, ALL_BITS = 07777 };
enum { MIB = 1 << 20, MOST_FACT = MIB, MOST_NAMES = 16 };

/* Append one read's worth, at most one byte more than `most`: that one tells a file that is full
 * from one that is longer. A page at first, for most files are short, and some of /proc take as
 * much memory as is asked for. Returns what read returned. */
static ssize_t read_chunk(struct jr_buf *out, int fd, size_t most)
{
    size_t chunk = out->len < PAGE ? PAGE : CHUNK;
    size_t want = most < chunk ? most + 1 : chunk;
    jr_buf_reserve(out, want);
    if (out->failed) {
        errno = ENOMEM;
        return -1;
    }
    ssize_t got;
    do {
        got = read(fd, out->data + out->len, want);
    } while (got < 0 && errno == EINTR);
    if (got > 0)
        out->len += (size_t)got;
    out->data[out->len] = '\0';
    return got;
}

int jr_io_too_large(size_t limit, struct jr_error *err)
{
    bool whole = limit % MIB == 0;
    return jr_error_set(err, JR_STATUS_LAUNCH, "is larger than %zu %s", whole ? limit / MIB : limit,
                        whole ? "MiB" : "bytes");
}

int jr_io_read_fd(struct jr_buf *ret, int fd, size_t limit, struct jr_error *err)
{
    struct jr_buf text = JR_BUF_INIT;
    ssize_t got;
    do {
        got = read_chunk(&text, fd, limit - text.len);
    } while (got > 0 && text.len <= limit);
    int result = 0;
    if (got < 0)
        result = jr_error_sys(err, JR_STATUS_LAUNCH, "cannot read");
    else if (text.len > limit)
        result = jr_io_too_large(limit, err);
    if (result == 0) {
        jr_buf_release(ret);
        *ret = text;
    } else {
        jr_buf_release(&text);
    }
    return result;
}

int jr_io_read_file(struct jr_buf *ret, int dir_fd, const char *path, size_t limit,
                    struct jr_error *err)
{
    /* O_NONBLOCK, or the open itself would wait for a FIFO's writer. */
    JR_CLOSE int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "%s: cannot open", path);
    mode_t mode = status.st_mode;
    if (!S_ISREG(mode))
        return jr_error_set(err, JR_STATUS_LAUNCH, "%s: is %s, not a regular file", path,
                            S_ISDIR(mode)                    ? "a folder"
                            : S_ISFIFO(mode)                 ? "a FIFO"
                            : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
                                                             : "a socket");
    /* By its size, before a byte is read: it may be sparse. */
    if ((status.st_size > 0 && (uint64_t)status.st_size > limit
             ? jr_io_too_large(limit, err)
             : jr_io_read_fd(ret, fd, limit, err)) != 0)
        return jr_error_wrap(err, "%s", path);
    return 0;
}

int jr_io_write_all(int fd, const void *bytes, size_t len)
{
    const char *at = bytes;
    while (len > 0) {
        ssize_t written = write(fd, at, len);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -1;
        at += written;
        len -= (size_t)written;
    }
    return 0;
}

/* Create `.NAME.RANDOM` in the folder and open it for writing. */
static int open_temporary(int dir_fd, const char *name, mode_t mode, struct jr_buf *ret_name)
{
    int fd = -1;
    errno = EEXIST;
    for (int i = 0; fd < 0 && errno == EEXIST && i < MOST_NAMES; i++) {
        uint32_t random;
        if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
            return -1;
        jr_buf_clear(ret_name);
        jr_buf_printf(ret_name, ".%s.%08x", name, random);
        if (ret_name->failed) {
            errno = ENOMEM;
            return -1;
        }
        fd = openat(dir_fd, ret_name->data, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    mode);
    }
    return fd;
}

void jr_io_names(struct jr_strv *ret, struct jr_arena *arena, int dir_fd, const char *name)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    JR_CLOSEDIR DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            jr_strv_push(ret, arena, jr_arena_strdup(arena, entry->d_name));
    if (entries == NULL && fd >= 0)
        (void)close(fd);
}

int jr_io_set_mode(int fd, const struct stat *status, mode_t mode)
{
    return (status->st_mode & ALL_BITS) == mode ? 0 : fchmod(fd, mode);
}

/* Write a file by the source: with `fresh` under its own name, where nothing stands there yet; else
 * under another one, which is changed to it. */
static int write_file(int dir_fd, const char *name, const struct jr_io_source *source, mode_t mode,
                      bool fresh, struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf temporary = JR_BUF_INIT;
    struct stat status;
    int fd = -1;
    if (fresh)
        fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (!fresh || (fd < 0 && errno == EEXIST)) {
        fresh = false;
        fd = open_temporary(dir_fd, name, mode, &temporary);
    }
    if (fd < 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "cannot create %s", name);
    int failed = source->fill(source->data, fd);
    if (failed == 0)
        failed = fstat(fd, &status);
    if (failed == 0)
        failed = jr_io_set_mode(fd, &status, mode);
    int error = errno;
    /* Some file systems report a full disk only here. */
    if (close(fd) != 0 && failed == 0) {
        failed = -1;
        error = errno;
    }
    errno = error;
    if (failed == 0 && !fresh)
        failed = renameat(dir_fd, temporary.data, dir_fd, name);
    if (failed == 0)
        return 0;
    jr_error_sys(err, JR_STATUS_LAUNCH, "cannot write %s", name);
    (void)unlinkat(dir_fd, fresh ? name : temporary.data, 0);
    return -1;
}

int jr_io_replace_from(int dir_fd, const char *name, const struct jr_io_source *source, mode_t mode,
                       struct jr_error *err)
{
    return write_file(dir_fd, name, source, mode, false, err);
}

int jr_io_make_from(int dir_fd, const char *name, const struct jr_io_source *source, mode_t mode,
                    struct jr_error *err)
{
    return write_file(dir_fd, name, source, mode, true, err);
}

/* Where pieces of a text go. */
struct piece_file {
    int fd, error; /* 0: so far all was written */
};

static int write_piece(void *data, struct jr_buf *text)
{
    struct piece_file *to = data;
    if (to->error == 0 && text->failed)
        to->error = ENOMEM;
    else if (to->error == 0 && jr_io_write_all(to->fd, text->data, text->len) != 0)
        to->error = errno;
    jr_buf_clear(text);
    return to->error;
}

int jr_io_fill_printed(void *data, int fd)
{
    const struct jr_io_printed *printed = data;
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct piece_file to = {.fd = fd};
    const struct jr_drain drain = {write_piece, &to};
    printed->print(&text, printed->data, &drain);
    errno = write_piece(&to, &text);
    return to.error == 0 ? 0 : -1;
}

struct text {
    const void *bytes;
    size_t len;
};

static int fill_with_text(void *data, int fd)
{
    const struct text *text = data;
    return jr_io_write_all(fd, text->bytes, text->len);
}

int jr_io_replace(int dir_fd, const char *name, const void *bytes, size_t len, mode_t mode,
                  struct jr_error *err)
{
    struct text text = {bytes, len};
    return write_file(dir_fd, name, &(struct jr_io_source){fill_with_text, &text}, mode, false,
                      err);
}

int jr_io_make(int dir_fd, const char *name, const void *bytes, size_t len, mode_t mode,
               struct jr_error *err)
{
    struct text text = {bytes, len};
    return write_file(dir_fd, name, &(struct jr_io_source){fill_with_text, &text}, mode, true, err);
}

/* One folder; an existing one is as good, whatever mkdir had against it: on a read-only file system
 * that is not EEXIST. */
static int make_one_folder(const char *path, mode_t mode, struct jr_error *err)
{
    struct stat status;
    if (mkdir(path, mode) == 0)
        return 0;
    int sys = errno;
    if (stat(path, &status) == 0) {
        if (S_ISDIR(status.st_mode))
            return 0;
        return jr_error_set(err, JR_STATUS_LAUNCH, "%s is not a folder", path);
    }
    errno = sys;
    return jr_error_sys(err, JR_STATUS_LAUNCH, "cannot make the folder %s", path);
}

int jr_io_mkdirs(const char *path, mode_t mode, struct jr_error *err)
{
    JR_FREE char *partial = strdup(path);
    if (partial == NULL)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "cannot make the folder %s", path);
    for (char *slash = strchr(partial + (*partial == '/'), '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (make_one_folder(partial, mode, err) != 0)
            return -1;
        *slash = '/';
    }
    return make_one_folder(partial, mode, err);
}

/* Append the components of `path` to the absolute path in `out`. */
static void append_components(struct jr_buf *out, const char *path)
{
    while (*path != '\0') {
        size_t len = strcspn(path, "/");
        if (len == 2 && strncmp(path, "..", 2) == 0) {
            char *slash = out->len == 0 ? NULL : strrchr(out->data, '/');
            if (slash != NULL) {
                *slash = '\0';
                out->len = (size_t)(slash - out->data);
            }
        } else if (len != 0 && !(len == 1 && *path == '.')) {
            jr_buf_char(out, '/');
            jr_buf_add(out, path, len);
        }
        path += len + (path[len] == '/');
    }
}

char *jr_io_absolute(const char *base, const char *path)
{
    struct jr_buf out = JR_BUF_INIT;
    if (path == NULL || base == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    if (*path != '/')
        append_components(&out, base);
    append_components(&out, path);
    if (out.len == 0)
        jr_buf_char(&out, '/');
    return jr_buf_detach(&out);
}

char *jr_io_find_above(const char *folder, const char *name)
{
    JR_FREE char *at = strdup(folder);
    for (char *slash = at; slash != NULL;) {
        JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
        struct stat st;
        jr_buf_printf(&path, "%s/%s", at, name);
        if (path.failed)
            return NULL;
        if (stat(path.data, &st) == 0)
            return strdup(*at == '\0' ? "/" : at);
        slash = strrchr(at, '/');
        if (slash != NULL)
            *slash = '\0';
    }
    return NULL;
}

bool jr_io_fact(struct jr_buf *ret, const char *root, const char *path)
{
    JR_BUF_CLEANUP struct jr_buf name = JR_BUF_INIT;
    jr_buf_printf(&name, "%s/%s", root, path);
    if (name.failed || jr_io_read_file(ret, AT_FDCWD, name.data, MOST_FACT, NULL) != 0)
        return false;
    if (ret->len > 0 && ret->data[ret->len - 1] == '\n')
        ret->data[--ret->len] = '\0';
    return true;
}

/* Open the folder `name` of `at` as a place to continue from. */
static int enter_folder(int at, const char *name)
{
    struct stat st;
    JR_CLOSE int fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        return -1;
    errno = S_ISLNK(st.st_mode) ? ELOOP : EXDEV;
    if (S_ISLNK(st.st_mode) || strcmp(name, "..") == 0)
        return -1;
    return jr_steal_fd(&fd);
}

/* What openat2 does, if there is none: folder by folder, through no link and never up. */
static int walk_beneath(int dir_fd, const char *path, int flags, mode_t mode)
{
    JR_CLOSE int held = -1;
    int at = dir_fd;
    for (size_t len; path[len = strcspn(path, "/")] == '/'; path += len + 1) {
        char name[NAME_MAX + 1];
        if (len == 0)
            continue;
        if (len >= sizeof name) {
            errno = ENAMETOOLONG;
            return -1;
        }
        (void)stpcpy(mempcpy(name, path, len), "");
        int next = enter_folder(at, name);
        if (held >= 0)
            (void)close(held);
        at = held = next;
        if (next < 0)
            return -1;
    }
    errno = EXDEV;
    if (strcmp(path, "..") == 0)
        return -1;
    /* After a slash at the end only a folder is right. */
    if (*path == '\0' && at != dir_fd)
        return openat(at, ".", flags | O_DIRECTORY, mode);
    return openat(at, path, flags | O_NOFOLLOW, mode);
}

/* struct open_how and its flags (linux/openat2.h), which headers of older kernels do not have. */
struct how_to_open {
    uint64_t flags, mode, resolve;
};
enum { NO_SYMLINKS = 0x04, BENEATH = 0x08 };

int jr_open_beneath(int dir_fd, const char *path, int flags, mode_t mode)
{
    struct how_to_open how = {
        .flags = (uint64_t)(unsigned)flags,
        .mode = (flags & O_CREAT) != 0 ? mode : 0,
        .resolve = BENEATH | NO_SYMLINKS,
    };
    long fd = syscall(SYS_openat2, dir_fd, path, &how, sizeof how);
    if (fd >= 0 || !jr_call_is_missing(errno))
        return (int)fd;
    errno = EXDEV;
    return *path == '/' ? -1 : walk_beneath(dir_fd, path, flags, mode);
}

int jr_open_above(int dir_fd, const char *path, const char **ret_name)
{
    static const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t len = slash == NULL ? 0 : (size_t)(slash - path);
    errno = ENAMETOOLONG;
    if (len >= sizeof folder)
        return -1;
    *ret_name = slash == NULL ? path : slash + 1;
    if (slash == NULL)
        return openat(dir_fd, ".", flags);
    (void)stpcpy(mempcpy(folder, path, len), "");
    return jr_open_beneath(dir_fd, folder, flags, 0);
}
