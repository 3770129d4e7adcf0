#include "record/record_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/names.h"
#include "base/proc.h"
#include "base/shell_words.h"
#include "base/syscalls.h"
#include "judge/judge.h"
#include "judge/words.h"
#include "record/multinode.h"
#include "run/companion.h"

#include "base/banned.h"

enum { HEAD = 64 * 1024, MOST_RECORD = 1 << 20, MOST_THEIRS = 64 << 20 };
static const size_t MOST_OURS = (size_t)4 << 30;

/* The limit for a file of another user: the size of the results of tens of thousands of ranks. */
size_t jr_record_folder_most(int fd, const char *name)
{
    const char *slash = strrchr(name, '/');
    if (strcmp(slash == NULL ? name : slash + 1, "run.json") == 0)
        return MOST_RECORD;
    struct jr_trust trust = jr_trust_folder(fd);
    return jr_trust_is_ours(&trust) ? MOST_OURS : MOST_THEIRS;
}

/* The folder, and whose word it is. */
int jr_record_folder_enter(struct jr_trust *ret_trust, const char *log_dir, const char *id,
                           struct jr_error *err)
{
    static const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    char run[NAME_MAX + 1];
    size_t len = strcspn(id, "/");
    JR_CLOSE int dir = open(log_dir, flags);
    (void)snprintf(run, sizeof run, "%.*s", (int)len, id);
    int fd = dir < 0 ? -1 : openat(dir, run, flags | O_NOFOLLOW);
    if (fd >= 0)
        *ret_trust = jr_trust_run(dir, fd);
    if (fd >= 0 && id[len] == '/') {
        JR_CLOSE int whole = fd;
        fd = openat(whole, id + len + 1, flags | O_NOFOLLOW);
        if (fd >= 0 && jr_trust_is_ours(ret_trust))
            *ret_trust = jr_trust_run(whole, fd);
    }
    if (fd < 0)
        return jr_error_sys(err, JR_STATUS_USAGE, "run '%s' in %s", id, log_dir);
    return fd;
}

bool jr_record_folder_doubt(struct jr_buf *out, const char *log_dir, const char *id)
{
    struct jr_trust trust;
    JR_CLOSE int fd = jr_record_folder_enter(&trust, log_dir, id, NULL);
    if (fd < 0 || jr_trust_is_ours(&trust))
        return false;
    jr_buf_printf(out, "%s ", id);
    jr_trust_explain(out, &trust);
    jr_buf_str(out, ", so what follows need not be true");
    return true;
}

int jr_record_folder_open(const char *log_dir, const char *id, struct jr_error *err)
{
    struct jr_trust trust;
    return jr_record_folder_enter(&trust, log_dir, id, err);
}

/* Say which file of which folder cannot be used, by its whole path. */
static void explain_unread(struct jr_error *err, int fd, const char *name,
                           const struct jr_error *why)
{
    char link[32], folder[PATH_MAX];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, folder, sizeof folder - 1);
    folder[len < 0 ? 0 : len] = '\0';
    *err = *why;
    if (len < 0)
        (void)jr_error_wrap(err, "%s", name);
    else if (why->sys == ENOENT)
        (void)jr_error_set(err, JR_STATUS_LAUNCH, "%s has no %s", folder, name);
    else if (why->status == JR_STATUS_INVALID)
        (void)jr_error_set(err, JR_STATUS_LAUNCH, "%s/%s is damaged: %s", folder, name, why->text);
    else
        (void)jr_error_wrap(err, "%s/%s", folder, name);
    err->sys = why->sys;
}

/* At most `most` bytes, or what the file may have if that is less. */
static int read_at_most(struct jr_buf *ret, int fd, const char *name, size_t most,
                        struct jr_error *err)
{
    size_t limit = jr_record_folder_most(fd, name);
    limit = most < limit ? most : limit;
    /* Zeros that take no space are no text: they are not read, however many they are. Larger files
     * are refused by their size. */
    JR_CLOSE int file = jr_run_file_open(fd, name, NULL);
    off_t size = file < 0 ? 0 : lseek(file, 0, SEEK_END);
    off_t hole = size > HEAD && (uint64_t)size <= limit ? lseek(file, 0, SEEK_HOLE) : -1;
    if (hole >= 0 && hole < size)
        return jr_error_set(err, JR_STATUS_INVALID, "there is a hole in it, as in a sparse file");
    return jr_run_file_read(ret, fd, name, limit, err);
}

int jr_record_folder_read(struct jr_buf *ret, int fd, const char *name, struct jr_error *err)
{
    struct jr_error why = {0};
    if (read_at_most(ret, fd, name, SIZE_MAX, &why) == 0)
        return 0;
    if (err != NULL)
        explain_unread(err, fd, name, &why);
    return -1;
}

static json_t *parse_record_file(int fd, const char *name, size_t most, struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_error why = {0};
    json_t *json = NULL;
    if (read_at_most(&text, fd, name, most, &why) == 0)
        json = jr_json_parse(text.data, text.len, &why);
    else if (why.sys == ENOENT && strchr(name, '/') == NULL)
        json = jr_multinode_json(fd, name, false);
    if (json == NULL && err != NULL)
        explain_unread(err, fd, name, &why);
    return json;
}

json_t *jr_record_folder_json(int fd, const char *name, struct jr_error *err)
{
    return parse_record_file(fd, name, SIZE_MAX, err);
}

json_t *jr_record_folder_head(int fd, const char *name)
{
    static const char mark[] = "\n  \"ranks\": [";
    char text[HEAD + 4];
    struct jr_error why = {0};
    JR_CLOSE int file = jr_run_file_open(fd, name, &why);
    ssize_t got = file < 0 ? -1 : pread(file, text, HEAD, 0);
    if (why.sys == ENOENT && strchr(name, '/') == NULL)
        return jr_multinode_json(fd, name, true);
    if (got <= 0)
        return NULL;
    char *ranks = memmem(text, (size_t)got, mark, sizeof mark - 1);
    if (ranks == NULL) /* so jobrun did not write it, or it is small */
        return parse_record_file(fd, name, MOST_THEIRS, NULL);
    size_t len = (size_t)(ranks - text) + sizeof mark - 1;
    (void)memcpy(text + len, "]}", 2);
    return jr_json_parse(text, len + 2, NULL);
}

/* An attempt before the last has results of its own. */
int jr_record_folder_results(struct jr_buf *ret, int fd, const char *id, const uint32_t *attempt,
                             struct jr_error *err)
{
    if (attempt != NULL)
        jr_buf_printf(ret, "attempt_%u/", *attempt);
    jr_buf_str(ret, "results.json");
    if (ret->failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    if (attempt == NULL || jr_access(fd, ret->data, F_OK, 0) == 0)
        return 0;
    json_t *run = jr_record_folder_json(fd, "run.json", NULL);
    json_int_t last = jr_json_get_int(run, "attempt");
    json_decref(run);
    if (last != *attempt)
        return jr_error_set(err, JR_STATUS_USAGE,
                            "run '%s' has no attempt %u: the last one is %lld", id, *attempt,
                            (long long)last);
    jr_buf_clear(ret);
    jr_buf_str(ret, "results.json");
    return 0;
}

int jr_record_folder_exit_code(const json_t *results)
{
    const json_t *code = json_object_get(results, "exit_code");
    json_int_t value = json_is_integer(code) ? json_integer_value(code) : -1;
    return value >= 0 && value <= UINT8_MAX ? (int)value : JR_STATUS_LAUNCH;
}

uint64_t jr_record_folder_ticks(int64_t pid)
{
    struct jr_proc proc;
    bool there = pid > 0 && pid <= INT32_MAX && jr_proc_own(&proc, (pid_t)pid);
    return there && proc.state != 'Z' ? proc.start_ticks : 0;
}

static bool text_is(const json_t *object, const char *key, const char *text)
{
    const char *value = jr_json_get_str(object, key);
    return value != NULL && text != NULL && strcmp(value, text) == 0;
}

bool jr_record_folder_is_contained(const json_t *run)
{
    const json_t *value = json_object_get(run, "pid_namespace");
    uint64_t own = jr_proc_namespace();
    return json_is_integer(value) && own != 0 && (uint64_t)json_integer_value(value) != own;
}

pid_t jr_record_folder_companion(int fd, const json_t *run)
{
    uint64_t key = jr_companion_key(jr_json_get_str(run, "boot_id"), jr_json_get_int(run, "pid"),
                                    (uint64_t)jr_json_get_int(run, "start_ticks"));
    return jr_companion_of(fd, key);
}

const char *jr_record_folder_standing(const json_t *run)
{
    struct utsname here = {0};
    JR_BUF_CLEANUP struct jr_buf boot_id = JR_BUF_INIT;
    (void)uname(&here);
    if (!text_is(run, "host", here.nodename))
        return "elsewhere";
    (void)jr_io_fact(&boot_id, "", "/proc/sys/kernel/random/boot_id");
    if (!text_is(run, "boot_id", boot_id.data))
        return "lost";
    if (jr_record_folder_is_contained(run))
        return "elsewhere";
    uint64_t began = jr_record_folder_ticks(jr_json_get_int(run, "pid"));
    /* A process that took the number over began later. */
    json_int_t ticks = jr_json_get_int(run, "start_ticks");
    return began != 0 && (json_int_t)began == ticks ? "running" : "lost";
}

bool jr_trust_is_ours(const struct jr_trust *trust)
{
    return trust->verdict == JR_TRUST_OURS;
}

static struct jr_trust judge_file(const struct stat *st, unsigned what)
{
    struct jr_trust trust = {JR_TRUST_OURS, what, st->st_uid};
    if (st->st_uid != geteuid())
        trust.verdict = JR_TRUST_THEIRS;
    else if ((st->st_mode & S_IWOTH) != 0)
        trust.verdict = JR_TRUST_OPEN;
    return trust;
}

struct jr_trust jr_trust_folder(int fd)
{
    struct stat st = {.st_uid = (uid_t)-1};
    (void)fstat(fd, &st);
    return judge_file(&st, JR_TRUST_FOLDER);
}

/* The folder above: root's is as good as ours, and where everybody may write, the sticky bit keeps
 * what is ours in its place. */
static struct jr_trust judge_folder_above(int dir_fd)
{
    struct stat st = {.st_uid = (uid_t)-1};
    (void)fstat(dir_fd, &st);
    struct jr_trust trust = judge_file(&st, JR_TRUST_LOG_DIR);
    if (trust.verdict == JR_TRUST_THEIRS && st.st_uid == 0)
        trust.verdict = (st.st_mode & S_IWOTH) != 0 ? JR_TRUST_OPEN : JR_TRUST_OURS;
    if (trust.verdict == JR_TRUST_OPEN && (st.st_mode & S_ISVTX) != 0)
        trust.verdict = JR_TRUST_OURS;
    return trust;
}

struct jr_trust jr_trust_run(int dir_fd, int run_fd)
{
    static const struct {
        const char *name;
        unsigned what;
    } files[] = {{"run.json", JR_TRUST_RECORD}, {"resolved.yaml", JR_TRUST_SPEC}};
    struct jr_trust trust = jr_trust_folder(run_fd);
    if (jr_trust_is_ours(&trust))
        trust = judge_folder_above(dir_fd);
    for (size_t i = 0; i < 2 && jr_trust_is_ours(&trust); i++) {
        struct stat st;
        if (fstatat(run_fd, files[i].name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISLNK(st.st_mode))
            trust = judge_file(&st, files[i].what);
    }
    return trust;
}

void jr_trust_explain(struct jr_buf *out, const struct jr_trust *trust)
{
    static const char *const places[] = {[JR_TRUST_FOLDER] = "",
                                         [JR_TRUST_LOG_DIR] = "lies in a log_dir that ",
                                         [JR_TRUST_RECORD] = "has a run.json that ",
                                         [JR_TRUST_SPEC] = "has a resolved.yaml that "};
    jr_buf_str(out, places[trust->what]);
    if (trust->verdict == JR_TRUST_OPEN) {
        jr_buf_printf(out, "%severybody may write to",
                      trust->what == JR_TRUST_FOLDER ? "is a folder that " : "");
        return;
    }
    jr_buf_str(out, "belongs to user ");
    jr_user_print(out, trust->owner);
    jr_buf_str(out, ", not to you");
}

void jr_trust_correct(struct jr_buf *out, const struct jr_trust *trust, const char *log_dir,
                      const char *id)
{
    static const char *const files[] = {[JR_TRUST_FOLDER] = "",
                                        [JR_TRUST_LOG_DIR] = "",
                                        [JR_TRUST_RECORD] = "/run.json",
                                        [JR_TRUST_SPEC] = "/resolved.yaml"};
    struct jr_buf path JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&path, "%s/%s%s", log_dir, id, files[trust->what]);
    out->failed |= path.failed;
    if (path.failed)
        return;
    if (trust->what == JR_TRUST_LOG_DIR) /* of a node's part, the run's folder */
        *strrchr(path.data, '/') = '\0';
    jr_buf_str(out, "chmod o-w ");
    jr_shell_quote(out, path.data);
}

json_t *jr_record_folder_progress(int fd)
{
    json_t *progress = jr_record_folder_json(fd, "progress.json", NULL);
    if (json_is_object(progress))
        return progress;
    json_decref(progress);
    return NULL;
}

void jr_record_words(struct jr_buf *out, const char *log_dir, const char *id)
{
    JR_FREE char *here = getcwd(NULL, 0);
    struct jr_buf run_dir JR_BUF_CLEANUP = JR_BUF_INIT;
    size_t above = here == NULL ? 0 : strlen(here);
    bool below = above > 1 && strncmp(log_dir, here, above) == 0 && log_dir[above] == '/';
    jr_buf_printf(&run_dir, "%s/", log_dir + (below ? above + 1 : 0)); /* a cell has a slash */
    jr_shell_quote(out, id);
    if (!run_dir.failed)
        jr_words_log_dir(out, run_dir.data);
    out->failed |= run_dir.failed;
}
