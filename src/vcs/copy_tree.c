#include "vcs/copy_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

#include "base/banned.h"

enum { PIECE = 256 << 10, LOOK_EVERY = 64 };

/* A copy under way. */
struct copy {
    const struct jr_copy_tree_request *request;
    struct jr_copied_tree *copied;
    int from, to;          /* the folders */
    bool clones;           /* the file system may be able to */
    char *piece;           /* of PIECE bytes; NULL: not needed yet */
    char folder[PATH_MAX]; /* the last one that was made; "": the top */
    bool there;            /* in the tree it is a folder, too */
};

static uint64_t nanoseconds(struct timespec time)
{
    return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

static int report_copy(const struct copy *copy, const char *path, struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf shown = JR_BUF_INIT;
    int error = errno;
    jr_buf_safe(&shown, path);
    errno = error;
    return jr_error_sys(err, JR_STATUS_LAUNCH, "%s/%s could not be copied", copy->request->top,
                        shown.failed ? "" : shown.data);
}

/* Whether there is a folder, and no link to one. */
static bool is_folder(int at, const char *name)
{
    struct stat st;
    return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* Make one folder, unless it is there. Through a link it would be made, and files would be put,
 * where the link leads. */
static int make_folder(const struct copy *copy)
{
    if (mkdirat(copy->to, copy->folder, 0777) == 0)
        return 0;
    if (errno != EEXIST)
        return -1;
    if (is_folder(copy->to, copy->folder))
        return 0;
    errno = EEXIST;
    return -1;
}

/* Make the folders of a path, of which the last are likely to be there. A folder that is none in
 * the tree, such as a link by now, has no files. */
static int make_folders(struct copy *copy, const char *path, bool of_tree)
{
    const char *slash = strrchr(path, '/');
    size_t len = slash == NULL ? 0 : (size_t)(slash - path);
    if (len >= sizeof copy->folder) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (copy->there && strncmp(copy->folder, path, len) == 0 && copy->folder[len] == '\0')
        return 0;
    copy->there = true;
    for (size_t at = 0; at <= len && len > 0; at++) {
        if (path[at] != '/')
            continue;
        memcpy(copy->folder, path, at);
        copy->folder[at] = '\0';
        copy->there = !of_tree || is_folder(copy->from, copy->folder);
        if (!copy->there)
            return 0;
        if (make_folder(copy) != 0)
            return -1;
    }
    memcpy(copy->folder, path, len);
    copy->folder[len] = '\0';
    return 0;
}

/* As the file system can: a clone shares its blocks until one of both is written to. */
static int copy_bytes(struct copy *copy, int from, int to)
{
    if (copy->clones && ioctl(to, FICLONE, from) == 0)
        return 0;
    copy->clones = false;
    if (copy->piece == NULL)
        copy->piece = malloc(PIECE);
    errno = ENOMEM;
    if (copy->piece == NULL)
        return -1;
    for (;;) {
        ssize_t got = read(from, copy->piece, PIECE);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return (int)got;
        if (jr_io_write_all(to, copy->piece, (size_t)got) != 0)
            return -1;
    }
}

static void list_entry(struct copy *copy, const struct stat *st, const char *path)
{
    struct jr_buf *list = &copy->copied->list;
    jr_buf_printf(list, "f %o %lld %llu ", (unsigned)st->st_mode, (long long)st->st_size,
                  (unsigned long long)nanoseconds(st->st_mtim));
    jr_buf_add(list, path, strlen(path) + 1);
}

/* Whether the file was written to since, or while it was copied. */
static bool is_changing(const struct copy *copy, int fd, const struct stat *st)
{
    struct stat now;
    return nanoseconds(st->st_ctim) >= copy->request->since_ns || fstat(fd, &now) != 0 ||
           now.st_size != st->st_size || nanoseconds(now.st_ctim) != nanoseconds(st->st_ctim);
}

static int copy_file(struct copy *copy, const char *path, const struct stat *about)
{
    struct stat st = *about;
    JR_CLOSE int from =
        openat(copy->from, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (from < 0 || fstat(from, &st) != 0)
        return -1;
    if (!S_ISREG(st.st_mode))
        return 0;
    mode_t mode = st.st_mode & 0777;
    JR_CLOSE int to =
        openat(copy->to, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    const struct timespec times[2] = {st.st_mtim, st.st_mtim};
    if (to < 0 || copy_bytes(copy, from, to) != 0 || fchmod(to, mode) != 0 ||
        futimens(to, times) != 0)
        return -1;
    copy->copied->changing |= is_changing(copy, from, &st);
    copy->copied->files++;
    copy->copied->bytes += (uint64_t)st.st_size;
    list_entry(copy, &st, path);
    return 0;
}

/* Whether a relative link, in the folder of `path`, leads out of the tree by its text. */
static bool leaves_tree(const char *path, const char *target)
{
    int depth = 0;
    for (const char *at = path; *at != '\0'; at++)
        depth += *at == '/';
    for (const char *at = target; *at != '\0'; at += *at == '/') {
        size_t len = strcspn(at, "/");
        if (len == 2 && strncmp(at, "..", 2) == 0)
            depth--;
        else if (len > 0 && !(len == 1 && *at == '.'))
            depth++;
        if (depth < 0)
            return true;
        at += len;
    }
    return false;
}

/* What is below the top, of an absolute path; NULL: it is not. */
static const char *below_top(const struct copy *copy, const char *path)
{
    size_t len = strlen(copy->request->top);
    return strncmp(path, copy->request->top, len) == 0 && (path[len] == '/' || path[len] == '\0')
               ? path + len + (path[len] == '/')
               : NULL;
}

/* Where an absolute link leads, as far as its folder goes: below the top, or NULL. */
static char *place_below_top(const struct copy *copy, const char *target)
{
    JR_FREE char *folder = strdup(target);
    char *slash = folder == NULL ? NULL : strrchr(folder, '/');
    if (slash == NULL)
        return NULL;
    *slash = '\0';
    JR_FREE char *real = realpath(slash == folder ? "/" : folder, NULL);
    JR_BUF_CLEANUP struct jr_buf whole = JR_BUF_INIT;
    jr_buf_printf(&whole, "%s/%s", real == NULL ? folder : real, slash + 1);
    const char *below = whole.failed ? NULL : below_top(copy, whole.data);
    return below == NULL ? NULL : strdup(below);
}

/* The text that a link of the tree has in the copy. */
static void print_target(struct jr_buf *out, const struct copy *copy, const char *path,
                         const char *target)
{
    const char *slash = strrchr(path, '/');
    JR_FREE char *below = target[0] == '/' ? place_below_top(copy, target) : NULL;
    if (copy->request->again) {
        jr_buf_str(out, target);
    } else if (below != NULL) {
        for (const char *at = path; *at != '\0'; at++)
            if (*at == '/')
                jr_buf_str(out, "../");
        jr_buf_str(out, *below == '\0' && out->len == 0 ? "." : below);
    } else if (target[0] != '/' && leaves_tree(path, target)) {
        jr_buf_printf(out, "%s/", copy->request->top);
        if (slash != NULL)
            jr_buf_add(out, path, (size_t)(slash - path + 1));
        jr_buf_str(out, target);
    } else {
        jr_buf_str(out, target);
    }
}

static int copy_link(struct copy *copy, const char *path, const struct stat *st)
{
    char target[PATH_MAX];
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    ssize_t len = readlinkat(copy->from, path, target, sizeof target - 1);
    if (len < 0)
        return -1;
    target[len] = '\0';
    print_target(&text, copy, path, target);
    errno = ENOMEM;
    if (text.failed || symlinkat(text.data, copy->to, path) != 0)
        return -1;
    const struct timespec times[2] = {st->st_mtim, st->st_mtim};
    (void)utimensat(copy->to, path, times, AT_SYMLINK_NOFOLLOW);
    struct stat own;
    if (fstatat(copy->to, path, &own, AT_SYMLINK_NOFOLLOW) != 0)
        return -1;
    list_entry(copy, &own, path);
    return 0;
}

/* What is no longer there, or is no file by now, is none of the tree. */
static int copy_entry(struct copy *copy, const char *path)
{
    struct stat st;
    if (make_folders(copy, path, true) != 0)
        return -1;
    if (!copy->there)
        return 0;
    if (fstatat(copy->from, path, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
    if (S_ISLNK(st.st_mode))
        return copy_link(copy, path, &st);
    return S_ISREG(st.st_mode) ? copy_file(copy, path, &st) : 0;
}

static int place_link(struct copy *copy, const char *path)
{
    char target[PATH_MAX], name[PATH_MAX];
    size_t len = strlen(path);
    int size =
        snprintf(name, sizeof name, "%.*s", (int)(len - (len > 0 && path[len - 1] == '/')), path);
    errno = ENAMETOOLONG;
    if (size < 0 || (size_t)size >= sizeof name)
        return -1;
    if (copy->request->again) {
        ssize_t got = readlinkat(copy->from, name, target, sizeof target - 1);
        if (got < 0)
            return -1;
        target[got] = '\0';
    } else {
        size = snprintf(target, sizeof target, "%s/%s", copy->request->top, name);
        if (size < 0 || (size_t)size >= sizeof target)
            return -1;
    }
    if (make_folders(copy, name, false) != 0 || symlinkat(target, copy->to, name) != 0)
        return -1;
    copy->copied->links++;
    jr_buf_str(&copy->copied->list, "l ");
    jr_buf_add(&copy->copied->list, path, len + 1);
    return 0;
}

static bool is_stopped(const struct copy *copy)
{
    struct pollfd stop = {.fd = copy->request->stop_fd, .events = POLLIN};
    return stop.fd >= 0 && poll(&stop, 1, 0) > 0;
}

static int copy_list(struct copy *copy, const struct jr_buf *paths,
                     int (*take)(struct copy *, const char *), struct jr_error *err)
{
    size_t count = 0;
    for (size_t at = 0; at < paths->len; at += strlen(paths->data + at) + 1, count++) {
        if (count % LOOK_EVERY == 0 && is_stopped(copy)) {
            errno = EINTR;
            return report_copy(copy, paths->data + at, err);
        }
        if (take(copy, paths->data + at) != 0)
            return report_copy(copy, paths->data + at, err);
    }
    return 0;
}

int jr_copy_tree(struct jr_copied_tree *ret, const struct jr_copy_tree_request *request,
                 struct jr_error *err)
{
    *ret = JR_COPIED_TREE_INIT;
    if (mkdir(request->to, 0777) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "%s", request->to);
    const char *source = request->from != NULL ? request->from : request->top;
    JR_CLOSE int from = open(source, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    JR_CLOSE int to = open(request->to, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (from < 0 || to < 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "%s", from < 0 ? source : request->to);
    struct copy copy = {
        .request = request, .copied = ret, .from = from, .to = to, .clones = true, .there = true};
    int failed = copy_list(&copy, request->files, copy_entry, err);
    copy.folder[0] = '\0';
    copy.there = true;
    if (failed == 0)
        failed = copy_list(&copy, request->links, place_link, err);
    free(copy.piece);
    if (failed == 0 && ret->list.failed)
        failed = jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    return failed;
}

/* The path of an entry of the list; NULL: it is none. */
static const char *entry_path(const char *entry)
{
    if (strncmp(entry, "f ", 2) != 0 && strncmp(entry, "l ", 2) != 0)
        return NULL;
    for (int i = entry[0] == 'f' ? 4 : 1; i > 0 && entry != NULL; i--) {
        entry = strchr(entry, ' ');
        entry = entry == NULL ? NULL : entry + 1;
    }
    return entry == NULL || *entry == '\0' || *entry == '/' ? NULL : entry;
}

/* Whether the path goes up anywhere. */
static bool goes_up(const char *path)
{
    for (const char *at = path; at != NULL;
         at = strchr(at, '/') == NULL ? NULL : strchr(at, '/') + 1)
        if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || at[2] == '\0'))
            return true;
    return false;
}

bool jr_copied_tree_read(const struct jr_buf *list, struct jr_buf *ret_files,
                         struct jr_buf *ret_links)
{
    for (size_t at = 0; at < list->len;) {
        const char *entry = list->data + at;
        size_t len = strlen(entry);
        const char *path = entry_path(entry);
        if (path == NULL || at + len >= list->len || goes_up(path))
            return false;
        jr_buf_add(entry[0] == 'f' ? ret_files : ret_links, path, strlen(path) + 1);
        at += len + 1;
    }
    return !ret_files->failed && !ret_links->failed;
}

const char *jr_copied_tree_differ(const struct jr_buf *a, const struct jr_buf *b)
{
    size_t at = 0;
    while (at < a->len && at < b->len && strcmp(a->data + at, b->data + at) == 0)
        at += strlen(a->data + at) + 1;
    if (at >= a->len && at >= b->len)
        return NULL;
    const char *entry = at < a->len ? a->data + at : b->data + at;
    const char *path = entry_path(entry);
    return path == NULL ? entry : path;
}

void jr_copied_tree_release(struct jr_copied_tree *copied)
{
    jr_buf_release(&copied->list);
}
