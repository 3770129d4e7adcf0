#include "vcs/tree_stamp.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "base/banned.h"

/* More files than that are as slow to look at as git is to be asked. */
enum { MOST_FILES = 20000, PATH_MOST = 4096 };

/* Times of files are those of a clock that may be so much behind. */
#define CLOCK_NS (2 * UINT64_C(10000000))

/* A stamp on its way: FNV-1a of all that stat(2) says. */
struct stamping {
    uint64_t hash, newest_ns;
    size_t count;
    int top_fd;
    bool failed;
};

static void add_number(struct stamping *stamping, uint64_t number)
{
    for (unsigned i = 0; i < sizeof number; i++) {
        stamping->hash ^= (number >> (8 * i)) & 0xff;
        stamping->hash *= UINT64_C(1099511628211);
    }
}

static uint64_t time_ns(struct timespec time)
{
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* A file that is not there is a fact, too. */
static void add_path(struct stamping *stamping, const char *path)
{
    struct stat st;
    if (++stamping->count > MOST_FILES) {
        stamping->failed = true;
        return;
    }
    if (fstatat(stamping->top_fd, path, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        stamping->failed |= errno != ENOENT && errno != ENOTDIR;
        add_number(stamping, (uint64_t)errno);
        return;
    }
    uint64_t modified = time_ns(st.st_mtim), changed = time_ns(st.st_ctim);
    add_number(stamping, (uint64_t)st.st_dev);
    add_number(stamping, (uint64_t)st.st_ino);
    add_number(stamping, (uint64_t)st.st_mode);
    add_number(stamping, S_ISDIR(st.st_mode) ? 0 : (uint64_t)st.st_size);
    add_number(stamping, modified);
    add_number(stamping, changed);
    if (modified > stamping->newest_ns)
        stamping->newest_ns = modified;
    if (changed > stamping->newest_ns)
        stamping->newest_ns = changed;
}

/* The folders above a path that are not above the one before it: a file that is made in one, or
 * removed, changes its time. */
static void add_folders(struct stamping *stamping, const char *path, const char *before)
{
    char folder[PATH_MOST];
    size_t len = strlen(path);
    if (len >= sizeof folder) {
        stamping->failed = true;
        return;
    }
    for (size_t i = 0; i < len && !stamping->failed; i++) {
        /* A slash at the end is of a folder that git ignores. */
        if (path[i] != '/' || i + 1 == len || strncmp(path, before, i + 1) == 0)
            continue;
        memcpy(folder, path, i);
        folder[i] = '\0';
        add_path(stamping, folder);
    }
}

/* Paths that each end with a NUL. */
static void add_list(struct stamping *stamping, const struct jr_buf *list, bool files)
{
    const char *before = "";
    for (size_t at = 0; at < list->len && !stamping->failed;) {
        const char *path = list->data + at;
        add_folders(stamping, path, before);
        if (files)
            add_path(stamping, path);
        before = path;
        at += strlen(path) + 1;
    }
}

static bool read_stamp(struct stamping *ret, const struct jr_run_tree *code)
{
    char commit[JR_GIT_HASH];
    *ret = (struct stamping){.hash = UINT64_C(14695981039346656037)};
    if (code->top == NULL || code->tree[0] == '\0')
        return false;
    JR_CLOSE int top_fd = open(code->top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (top_fd < 0)
        return false;
    ret->top_fd = top_fd;
    (void)jr_git_commit(commit, code->top);
    for (const char *at = commit; *at != '\0'; at++)
        add_number(ret, (unsigned char)*at);
    add_path(ret, ".");
    add_list(ret, &code->files, true);
    add_list(ret, &code->links, false);
    return !ret->failed;
}

bool jr_tree_stamp_make(uint64_t *ret, const struct jr_run_tree *code, uint64_t recorded_ns)
{
    struct stamping stamping;
    if (!read_stamp(&stamping, code) || stamping.newest_ns + CLOCK_NS >= recorded_ns)
        return false;
    *ret = stamping.hash;
    return true;
}

bool jr_tree_stamp_holds(uint64_t stamp, const struct jr_run_tree *code)
{
    struct stamping stamping;
    return read_stamp(&stamping, code) && stamping.hash == stamp;
}
