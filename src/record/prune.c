#include "record/prune.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/syscalls.h"
#include "judge/words.h"
#include "record/internal.h"
#include "record/multinode.h"
#include "record/record_code.h"
#include "record/record_folder.h"
#include "record/run_list.h"
#include "store/run_folder.h"

#include "base/banned.h"

#define MOST_DEPTH 200
#define PART_DEPTH 1 /* of the records of a run in parts */

/* A removal under way. */
struct prune {
    struct jr_pruned *pruned;
    dev_t device; /* of the run folder */
    uid_t user;
};

/* What another prune has removed meanwhile is as good as removed. */
static int is_removed_meanwhile(void)
{
    return errno == ENOENT ? 0 : -1;
}

static int remove_folder(struct prune *prune, int at, const char *name, int depth);

static int remove_entry(struct prune *prune, int at, const char *name, int depth)
{
    struct stat st;
    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return is_removed_meanwhile();
    errno = EPERM;
    if (st.st_uid != prune->user || st.st_dev != prune->device)
        return -1;
    if (S_ISDIR(st.st_mode))
        return remove_folder(prune, at, name, depth + 1);
    if (unlinkat(at, name, 0) != 0)
        return is_removed_meanwhile();
    if (st.st_nlink == 1)
        prune->pruned->bytes += (uint64_t)st.st_blocks * 512;
    return 0;
}

/* All entries but, where it can be, the record. Goes on past what stays; returns -1 with the errno
 * of the first that does. */
static int empty_folder(struct prune *prune, DIR *dir, int depth)
{
    const struct dirent *entry;
    int error = 0;
    while ((entry = readdir(dir)) != NULL) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
            (depth <= PART_DEPTH && /* what makes a run one goes last */
             (strcmp(name, "run.json") == 0 || strcmp(name, "results.json") == 0)))
            continue;
        if (remove_entry(prune, dirfd(dir), name, depth) != 0 && error == 0)
            error = errno;
    }
    errno = error;
    return error == 0 ? 0 : -1;
}

static int remove_folder(struct prune *prune, int at, const char *name, int depth)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        int error = errno;
        if (fd >= 0)
            (void)close(fd);
        errno = error;
        return is_removed_meanwhile();
    }
    errno = ELOOP;
    int result = depth > MOST_DEPTH ? -1 : empty_folder(prune, dir, depth);
    if (result == 0 && depth <= PART_DEPTH)
        result = remove_entry(prune, fd, "results.json", 0) != 0
                     ? -1
                     : remove_entry(prune, fd, "run.json", 0);
    int error = errno;
    (void)closedir(dir);
    errno = error;
    if (result == 0 && unlinkat(at, name, AT_REMOVEDIR) != 0)
        result = is_removed_meanwhile();
    return result;
}

int jr_prune_folder(struct jr_pruned *pruned, int dir_fd, const char *name)
{
    struct stat st;
    struct prune prune = {.pruned = pruned, .user = geteuid()};
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return is_removed_meanwhile();
    prune.device = st.st_dev;
    return remove_entry(&prune, dir_fd, name, -1);
}

/* Whether the folder is one of our runs: its record has its own name. */
static bool is_own_run_folder(int dir_fd, const char *id, struct stat *ret)
{
    JR_CLOSE int fd = openat(dir_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, ret) != 0 || ret->st_uid != geteuid())
        return false;
    json_auto_t *run = jr_record_folder_json(fd, "run.json", NULL);
    const char *named = jr_json_get_str(run, "run_id");
    return named != NULL && strcmp(named, id) == 0 &&
           json_is_integer(json_object_get(run, "format_version"));
}

/* Whether another prune is removing it, or has: its record goes last. */
static bool is_being_removed(int dir_fd, const char *id)
{
    JR_CLOSE int fd = openat(dir_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT;
    return jr_access(fd, "run.json", F_OK, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT &&
           !jr_multinode_exists(fd);
}

/* Remove the copy of the code, and the list of what is in it, from the folder of a run or of a
 * node's part. */
static int remove_code(struct prune *prune, int fd)
{
    if (remove_folder(prune, fd, JR_CODE_DIR, PART_DEPTH + 1) != 0)
        return -1;
    return remove_entry(prune, fd, JR_CODE_LIST, 0);
}

static int remove_all_code(struct prune *prune, int dir_fd, const char *id)
{
    struct jr_multinode parts;
    JR_CLOSE int fd = openat(dir_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return is_removed_meanwhile();
    int failed = remove_code(prune, fd);
    jr_multinode_find(&parts, fd);
    for (size_t i = 0; failed == 0 && i < parts.count; i++) {
        char name[JR_PART_NAME];
        (void)snprintf(name, sizeof name, JR_NODE_DIR, parts.nodes[i]);
        JR_CLOSE int part = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        failed = part < 0 ? is_removed_meanwhile() : remove_code(prune, part);
    }
    int error = errno;
    jr_multinode_release(&parts);
    errno = error;
    return failed;
}

static void prune_one(struct jr_pruned *pruned, struct jr_buf *out, struct jr_buf *bad, int dir_fd,
                      const struct jr_record *record, const struct jr_prune_options *options)
{
    struct stat st;
    struct prune prune = {.pruned = pruned, .user = geteuid()};
    if (!is_own_run_folder(dir_fd, record->id, &st)) {
        if (is_being_removed(dir_fd, record->id))
            return;
        pruned->failed++;
        jr_buf_printf(bad, "jobrun: %s is not one of your runs; it was not removed\n", record->id);
        return;
    }
    prune.device = st.st_dev;
    int failed = 0;
    if (!options->dry)
        failed = options->code ? remove_all_code(&prune, dir_fd, record->id)
                               : remove_folder(&prune, dir_fd, record->id, 0);
    if (failed != 0) {
        pruned->failed++;
        jr_buf_printf(bad, "jobrun: %s could not be removed: %s\n", record->id, strerror(errno));
        return;
    }
    pruned->removed++;
    jr_buf_printf(out, "%s\n", record->id);
}

void jr_prune_latest(int dir_fd)
{
    struct stat st;
    if (fstatat(dir_fd, "latest", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode) &&
        jr_access(dir_fd, "latest", F_OK, 0) != 0)
        (void)unlinkat(dir_fd, "latest", 0);
}

int jr_records_prune(struct jr_pruned *ret, struct jr_buf *out, struct jr_buf *bad,
                     const char *log_dir, const struct jr_prune_options *options,
                     struct jr_error *err)
{
    struct jr_records records = JR_RECORDS_INIT;
    struct jr_pruned pruned = {0};
    double now = (double)jr_clock_wall_ns() / 1e9;
    double limit = now - (double)options->older_ms / 1e3;
    JR_CLOSE int dir = open(log_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (jr_records_list(&records, log_dir, err) != 0)
        return -1;
    for (size_t i = 0; i < records.count; i++) {
        const struct jr_record *record = &records.items[i];
        const char *status = record->status == NULL ? "" : record->status;
        /* Its next attempt runs in the same copy of the code. */
        bool continues = strcmp(status, jr_run_status_word(JR_RUN_YIELDED)) == 0;
        if (!jr_trust_is_ours(&record->trust)) {
            /* It is not among the newest that are kept, or those of other users would push ours out
             * of them. One of ours that everybody may write to is told, because that can be
             * corrected. */
            if (record->trust.verdict != JR_TRUST_OPEN) {
                pruned.foreign++;
                continue;
            }
            jr_buf_printf(bad, "jobrun: %s ", record->id);
            jr_trust_explain(bad, &record->trust);
            jr_buf_str(bad, "; it was left alone (");
            jr_trust_correct(bad, &record->trust, log_dir, record->id);
            jr_buf_str(bad, ")\n");
        } else if (record->damaged) { /* what it was is not known, and so not whether it may go */
            jr_buf_printf(bad, "jobrun: the record of %s is damaged; it was left alone (rm -r ",
                          record->id);
            jr_buf_safe(bad, log_dir);
            jr_buf_printf(bad, "/%s removes it)\n", record->id);
        } else if (options->code && !record->has_code)
            continue;
        else if (!record->finished || (options->code && continues))
            pruned.unfinished++;
        else if (pruned.kept < options->keep || (options->older_ms > 0 && record->started > limit))
            pruned.kept++;
        else
            prune_one(&pruned, out, bad, dir, record, options);
    }
    if (!options->dry && pruned.removed > 0)
        jr_prune_latest(dir);
    jr_records_release(&records);
    *ret = pruned;
    return 0;
}
