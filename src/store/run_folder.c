#include "store/run_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/shell_words.h"
#include "base/syscalls.h"

#include "base/banned.h"

#define ID_TRIES   16
#define ID_SUFFIX  4  /* hex digits */
#define NAME_MOST  63 /* bytes of the name in an id */
#define TRACKED_IN ".gitignore"
#define RUN_FLAGS  (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

const struct jr_run_file jr_run_files[] = {
#define ROW(in, name, kind, word, title) {JR_IN_##in, name, JR_FILE_##kind, word, title},
    JR_RUN_FILES(ROW)
#undef ROW
};

static unsigned random_suffix(void)
{
    uint16_t bits = 0;
    if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) != (ssize_t)sizeof bits)
        bits = (uint16_t)getpid();
    return bits;
}

void jr_run_folder_id(char out[static 128], const char *name)
{
    struct tm tm;
    time_t now = time(NULL);
    (void)gmtime_r(&now, &tm);
    char stamp[32];
    (void)strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &tm);
    (void)snprintf(out, 128, "%s-%.*s-%04x", stamp, NAME_MOST, name, random_suffix());
}

bool jr_run_folder_is_id(const char *id)
{
    size_t len = strlen(id);
    return len > 0 && len < 128 && id[0] != '.' && strcmp(id, "latest") != 0 &&
           strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == len;
}

static void set_modes(struct jr_run_folder *dir, enum jr_log_mode mode, mode_t mask)
{
    static const mode_t modes[] = {
        [JR_LOG_PRIVATE] = 0700, [JR_LOG_GROUP] = 0750, [JR_LOG_UMASK] = 0777};
    dir->dir_mode = modes[mode];
    if (mode == JR_LOG_UMASK)
        dir->dir_mode &= ~mask;
    dir->file_mode = dir->dir_mode & 0666;
}

/* Open a folder that is ours and that nobody else may write to. */
static int open_log_dir(struct jr_run_folder *dir, const char *path, struct jr_error *err)
{
    dir->log_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir->log_fd < 0 && errno == ENOTDIR)
        return jr_error_set(err, JR_STATUS_LAUNCH, "log_dir %s is a file, not a folder", path);
    struct stat st;
    if (dir->log_fd < 0 || fstat(dir->log_fd, &st) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "log_dir %s", path);
    if (st.st_uid != geteuid())
        return jr_error_set(err, JR_STATUS_LAUNCH, "log_dir %s belongs to user %ju, not to you",
                            path, (uintmax_t)st.st_uid);
    struct jr_buf typed JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_shell_quote(&typed, path);
    if ((st.st_mode & S_IWOTH) != 0 && (st.st_mode & S_ISVTX) == 0)
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "log_dir %s is writable by everybody and has no "
                            "sticky bit (chmod o-w %s, or choose another)",
                            path, typed.failed ? path : typed.data);
    return 0;
}

/* So that runs are not committed by accident; without it nothing is lost. */
static void ignore_in_git(const struct jr_run_folder *dir)
{
    JR_CLOSE int fd = openat(dir->log_fd, TRACKED_IN,
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, dir->file_mode);
    if (fd < 0)
        return;
    (void)jr_io_write_all(fd, "*\n", 2);
    /* Its time is when a run last waited for the disk: none has yet. */
    (void)futimens(fd, (struct timespec[2]){{.tv_nsec = UTIME_OMIT}, {0}});
}

static int enter_log_dir(struct jr_run_folder *dir, const char *path, struct jr_error *err)
{
    struct stat st;
    bool fresh = stat(path, &st) != 0 && errno == ENOENT;
    if (fresh && jr_io_mkdirs(path, dir->dir_mode, err) != 0) {
        if (err != NULL)
            err->status = JR_STATUS_LAUNCH;
        return jr_error_wrap(err, "log_dir");
    }
    if (open_log_dir(dir, path, err) != 0)
        return -1;
    if (fresh)
        ignore_in_git(dir);
    return 0;
}

static void change_suffix(char *id)
{
    size_t len = strlen(id);
    if (len > ID_SUFFIX)
        (void)snprintf(id + len - ID_SUFFIX, ID_SUFFIX + 1, "%04x", random_suffix());
}

static int make_whole_run_dir(struct jr_run_folder *dir, const char *log_dir, bool given,
                              struct jr_error *err)
{
    int tries = given ? 1 : ID_TRIES;
    while (mkdirat(dir->log_fd, dir->id, dir->dir_mode) != 0) {
        if (errno != EEXIST)
            return jr_error_sys(err, JR_STATUS_LAUNCH, "%s/%s", log_dir, dir->id);
        if (--tries == 0)
            return jr_error_set(err, JR_STATUS_LAUNCH, "a run '%s' exists already in %s", dir->id,
                                log_dir);
        change_suffix(dir->id);
    }
    (void)stpcpy(dir->path, dir->id);
    return 0;
}

/* The folder of all nodes, which another one may have made, and may remove again where it cannot
 * continue. -1 with EAGAIN: look again. */
static int enter_run(const struct jr_run_folder *dir, const char *log_dir, struct jr_error *err)
{
    struct stat st;
    if (mkdirat(dir->log_fd, dir->id, dir->dir_mode) != 0 && errno != EEXIST)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "%s/%s", log_dir, dir->id);
    int fd = openat(dir->log_fd, dir->id, RUN_FLAGS);
    if (fd < 0 && errno == ENOENT) {
        errno = EAGAIN;
        return -1;
    }
    if (fd < 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "%s/%s", log_dir, dir->id);
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
        ((st.st_mode & S_IWOTH) == 0 || (dir->dir_mode & S_IWOTH) != 0) &&
        jr_access(fd, "run.json", F_OK, AT_SYMLINK_NOFOLLOW) != 0)
        return fd;
    (void)close(fd);
    return jr_error_set(err, JR_STATUS_LAUNCH,
                        "the run '%s' in %s is not a run of several nodes: "
                        "give all nodes another --run-id",
                        dir->id, log_dir);
}

static int make_part(struct jr_run_folder *dir, const char *log_dir, uint32_t node,
                     struct jr_error *err)
{
    char part[16];
    (void)snprintf(part, sizeof part, JR_NODE_DIR, node);
    (void)snprintf(dir->path, sizeof dir->path, "%s/%s", dir->id, part);
    for (int tries = ID_TRIES; tries > 0; tries--) {
        errno = 0;
        JR_CLOSE int run = enter_run(dir, log_dir, err);
        if (run < 0 && errno != EAGAIN)
            return -1;
        if (run >= 0 && mkdirat(run, part, dir->dir_mode) == 0)
            return 0;
        if (run >= 0 && errno == EEXIST)
            return jr_error_set(err, JR_STATUS_LAUNCH,
                                "node %u of the run '%s' has already started, in %s/%s: give each "
                                "node its own --node-rank, and each new run a new --run-id",
                                node, dir->id, log_dir, dir->path);
        if (run >= 0 && errno != ENOENT)
            break;
    }
    return jr_error_sys(err, JR_STATUS_LAUNCH, "%s/%s", log_dir, dir->path);
}

/* Whether `id` is one; it is kept. */
static int take_run_id(struct jr_run_folder *dir, const char *id, struct jr_error *err)
{
    if (strcmp(id, "latest") == 0)
        return jr_error_set(err, JR_STATUS_USAGE,
                            "'latest' always means the newest run, so no run can have this id");
    if (!jr_run_folder_is_id(id))
        return jr_error_set(err, JR_STATUS_USAGE,
                            "a run id is 1 to 127 of A-Z a-z 0-9 . _ - and "
                            "does not begin with a dot: '%.80s' is not one",
                            id);
    (void)stpcpy(dir->id, id);
    return 0;
}

/* `node` NULL: the run is one jobrun's. */
static int create_rundir(struct jr_run_folder *ret, const char *log_dir, const char *id, bool given,
                         const uint32_t *node, enum jr_log_mode mode, struct jr_error *err)
{
    struct jr_run_folder dir = JR_RUN_FOLDER_INIT;
    if (take_run_id(&dir, id, err) != 0)
        return -1;
    /* A folder gets its mode at once: under a umask of 0777 it would shut us out before it could be
     * changed. */
    mode_t mask = umask(0);
    set_modes(&dir, mode, mask);
    int failed = enter_log_dir(&dir, log_dir, err);
    if (failed == 0)
        failed = node == NULL ? make_whole_run_dir(&dir, log_dir, given, err)
                              : make_part(&dir, log_dir, *node, err);
    if (failed == 0 && (dir.fd = openat(dir.log_fd, dir.path, RUN_FLAGS)) < 0)
        failed = jr_error_sys(err, JR_STATUS_LAUNCH, "%s/%s", log_dir, dir.path);
    (void)umask(mask);
    if (failed != 0) {
        jr_run_folder_close(&dir);
        return -1;
    }
    dir.unread = true;
    *ret = dir;
    return 0;
}

int jr_run_folder_create(struct jr_run_folder *ret, const char *log_dir, const char *id, bool given,
                         enum jr_log_mode mode, struct jr_error *err)
{
    return create_rundir(ret, log_dir, id, given, NULL, mode, err);
}

int jr_run_folder_create_part(struct jr_run_folder *ret, const char *log_dir, const char *id,
                              uint32_t node, enum jr_log_mode mode, struct jr_error *err)
{
    return create_rundir(ret, log_dir, id, true, &node, mode, err);
}

void jr_run_folder_discard(const struct jr_run_folder *dir)
{
    struct dirent *entry;
    if (dir->kept)
        return;
    int again = openat(dir->fd, ".", RUN_FLAGS);
    DIR *files = again < 0 ? NULL : fdopendir(again);
    while (files != NULL && (entry = readdir(files)) != NULL)
        (void)unlinkat(dir->fd, entry->d_name, 0);
    if (files != NULL)
        (void)closedir(files);
    else if (again >= 0)
        (void)close(again);
    (void)unlinkat(dir->log_fd, dir->path, AT_REMOVEDIR);
    if (strcmp(dir->path, dir->id) != 0)
        (void)unlinkat(dir->log_fd, dir->id, AT_REMOVEDIR);
}

/* `node` NULL: that of the whole run. */
static int join_rundir(struct jr_run_folder *ret, const char *log_dir, const char *id,
                       const uint32_t *node, enum jr_log_mode mode, struct jr_error *err)
{
    struct jr_run_folder dir = JR_RUN_FOLDER_INIT;
    struct stat st;
    mode_t mask = umask(0);
    (void)umask(mask);
    if (!jr_run_folder_is_id(id))
        return jr_error_set(err, JR_STATUS_LAUNCH, "there is no run with this id");
    (void)stpcpy(dir.id, id);
    (void)stpcpy(dir.path, dir.id);
    if (node != NULL)
        (void)snprintf(dir.path, sizeof dir.path, "%s/" JR_NODE_DIR, dir.id, *node);
    set_modes(&dir, mode, mask);
    dir.log_fd = open(log_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir.log_fd >= 0)
        dir.fd = jr_open_beneath(dir.log_fd, dir.path, RUN_FLAGS, 0);
    if (dir.fd < 0) {
        (void)jr_error_sys(err, JR_STATUS_LAUNCH,
                           "the run folder %s/%s is not there (log_dir has to "
                           "be where all nodes see it)",
                           log_dir, dir.path);
    } else if (fstat(dir.fd, &st) != 0 || st.st_uid != geteuid()) {
        (void)jr_error_set(err, JR_STATUS_LAUNCH, "the run folder %s/%s belongs to another user",
                           log_dir, dir.path);
    } else {
        *ret = dir;
        return 0;
    }
    jr_run_folder_close(&dir);
    return -1;
}

int jr_run_folder_join(struct jr_run_folder *ret, const char *log_dir, const char *id,
                       enum jr_log_mode mode, struct jr_error *err)
{
    return join_rundir(ret, log_dir, id, NULL, mode, err);
}

int jr_run_folder_join_part(struct jr_run_folder *ret, const char *log_dir, const char *id,
                            uint32_t node, enum jr_log_mode mode, struct jr_error *err)
{
    return join_rundir(ret, log_dir, id, &node, mode, err);
}

/* Whether the folder of an earlier run is ours to go on with. */
static int check_continued(const struct jr_run_folder *dir, const char *log_dir,
                           struct jr_error *err)
{
    struct stat st;
    if (fstat(dir->fd, &st) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "%s/%s", log_dir, dir->id);
    if (st.st_uid != geteuid())
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "the run %s/%s belongs to user %ju, not to you: it is not continued "
                            "(move it away, or give another --run-id)",
                            log_dir, dir->id, (uintmax_t)st.st_uid);
    struct jr_buf path JR_BUF_CLEANUP = JR_BUF_INIT, typed JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&path, "%s/%s", log_dir, dir->id);
    if (!path.failed)
        jr_shell_quote(&typed, path.data);
    if ((st.st_mode & S_IWOTH) != 0 && (dir->dir_mode & S_IWOTH) == 0)
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "the run %s/%s is writable by everybody: it is not "
                            "continued (chmod o-w %s, or move it away)",
                            log_dir, dir->id, typed.failed ? "FOLDER" : typed.data);
    return 0;
}

int jr_run_folder_continue(struct jr_run_folder *ret, const char *log_dir, const char *id,
                           enum jr_log_mode mode, struct jr_error *err)
{
    struct jr_run_folder dir = JR_RUN_FOLDER_INIT;
    mode_t mask = umask(0);
    (void)umask(mask);
    if (take_run_id(&dir, id, err) != 0)
        return -1;
    (void)stpcpy(dir.path, dir.id);
    set_modes(&dir, mode, mask);
    int failed = 0;
    if (access(log_dir, F_OK) != 0 && errno == ENOENT)
        failed = 1;
    if (failed == 0)
        failed = open_log_dir(&dir, log_dir, err);
    if (failed == 0) {
        dir.fd = openat(dir.log_fd, id, RUN_FLAGS);
        if (dir.fd < 0 && errno == ENOENT)
            failed = 1;
        else if (dir.fd < 0)
            failed = jr_error_sys(err, JR_STATUS_LAUNCH, "%s/%s", log_dir, id);
        else
            failed = check_continued(&dir, log_dir, err);
    }
    if (failed != 0) {
        jr_run_folder_close(&dir);
        return failed;
    }
    dir.kept = true;
    *ret = dir;
    return 0;
}

int jr_run_folder_latest(const struct jr_run_folder *dir, struct jr_error *err)
{
    struct stat st;
    char link[64];
    if (fstatat(dir->log_fd, "latest", &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISLNK(st.st_mode))
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "'latest' in the log_dir is not a link; it was left as it is");
    (void)snprintf(link, sizeof link, ".latest-%d-%04x", getpid(), random_suffix());
    if (symlinkat(dir->id, dir->log_fd, link) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "latest");
    if (renameat(dir->log_fd, link, dir->log_fd, "latest") == 0)
        return 0;
    int error = errno;
    (void)unlinkat(dir->log_fd, link, 0);
    errno = error;
    return jr_error_sys(err, JR_STATUS_LAUNCH, "latest");
}

int jr_run_folder_write(const struct jr_run_folder *dir, const char *name,
                        const struct jr_buf *bytes, struct jr_error *err)
{
    if (bytes->failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "%s: out of memory", name);
    int (*put)(int, const char *, const void *, size_t, mode_t, struct jr_error *) =
        dir->unread ? jr_io_make : jr_io_replace;
    return put(dir->fd, name, bytes->data, bytes->len, dir->file_mode, err);
}

void jr_run_folder_close(struct jr_run_folder *dir)
{
    if (dir->fd >= 0)
        (void)close(dir->fd);
    if (dir->log_fd >= 0)
        (void)close(dir->log_fd);
    dir->fd = dir->log_fd = -1;
}

/* The folders of attempts. */

/* Make a folder in one of the run's; -1 with errno. */
static int make_run_subfolder(const struct jr_run_folder *dir, int at, const char *name)
{
    mode_t mask = umask(0);
    int failed = mkdirat(at, name, dir->dir_mode);
    int error = errno;
    (void)umask(mask);
    errno = error;
    return failed;
}

/* Something already exists there, so this attempt may not write to it. */
static int refuse_folder(const char *path, struct jr_error *err)
{
    if (errno != EEXIST)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "the run folder's %s", path);
    return jr_error_set(err, JR_STATUS_LAUNCH,
                        "the run folder already has %s, which this attempt was to write: "
                        "jobrun did not create it, but a rank of an earlier attempt may have",
                        path);
}

/* The node's folder, which an earlier attempt may have made: never a link. */
static int enter_node(const struct jr_run_folder *dir, const char *path, struct jr_error *err)
{
    struct stat st;
    if (make_run_subfolder(dir, dir->fd, path) != 0 && errno != EEXIST)
        return refuse_folder(path, err);
    JR_CLOSE int fd = openat(dir->fd, path, RUN_FLAGS);
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid())
        return jr_steal_fd(&fd);
    errno = EEXIST;
    return refuse_folder(path, err);
}

int jr_attempt_folder_make_part(const struct jr_run_folder *dir, uint32_t node, uint32_t attempt,
                                struct jr_error *err)
{
    char path[64];
    (void)snprintf(path, sizeof path, JR_NODE_DIR, node);
    JR_CLOSE int fd = enter_node(dir, path, err);
    if (fd < 0)
        return -1;
    (void)snprintf(path, sizeof path, JR_NODE_DIR "/attempt_%u", node, attempt);
    return make_run_subfolder(dir, fd, strchr(path, '/') + 1) == 0 ? 0 : refuse_folder(path, err);
}

int jr_attempt_folder_make(const struct jr_run_folder *dir, uint32_t attempt, struct jr_error *err)
{
    char path[64];
    if (dir->claimed == attempt + 1)
        return 0;
    (void)snprintf(path, sizeof path, "attempt_%u", attempt);
    return make_run_subfolder(dir, dir->fd, path) == 0 ? 0 : refuse_folder(path, err);
}

int jr_attempt_folder_claim(struct jr_run_folder *dir, uint32_t attempt, struct jr_error *err)
{
    char path[64];
    (void)snprintf(path, sizeof path, "attempt_%u", attempt);
    if (make_run_subfolder(dir, dir->fd, path) == 0) {
        dir->claimed = attempt + 1;
        return 0;
    }
    return errno == EEXIST ? 1 : refuse_folder(path, err);
}

/* Marks. */

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
