#include "record/run_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/strv.h"
#include "base/syscalls.h"
#include "judge/words.h"
#include "record/internal.h"
#include "record/multinode.h"
#include "record/record_code.h"
#include "record/record_folder.h"
#include "store/progress.h"
#include "store/run_folder.h"

#include "base/banned.h"

enum { MOST_CANDIDATES = 8 };

static const char *record_text(struct jr_arena *arena, const json_t *object, const char *key)
{
    return jr_arena_strdup(arena, jr_json_get_str(object, key));
}

/* An object that outlives the file; NULL: there is none. */
static json_t *own_object(const json_t *file, const char *key)
{
    json_t *object = json_object_get(file, key);
    return json_is_object(object) ? json_incref(object) : NULL;
}

/* Open the folder `id`; -1 when that is not a run's name or no folder. */
static int open_run(int dir_fd, const char *id)
{
    if (!jr_run_folder_is_id(id))
        return -1;
    return openat(dir_fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* The copies of the code, of the run or of its nodes' parts. */
static void add_code(struct jr_record *record, int fd, const char *folder, const json_t *run)
{
    const json_t *code = json_object_get(run, "code");
    char path[JR_PART_PATH];
    (void)snprintf(path, sizeof path, "%s%s" JR_CODE_DIR, folder, *folder == '\0' ? "" : "/");
    if (!jr_json_get_bool(code, "frozen") || jr_access(fd, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    json_int_t bytes = jr_json_get_int(code, "bytes");
    record->has_code = true;
    record->code_bytes += bytes > 0 ? (uint64_t)bytes : 0;
}

static void find_code(struct jr_record *record, int fd, const json_t *run)
{
    struct jr_multinode parts;
    if (jr_json_get_str(run, "part") == NULL) {
        add_code(record, fd, "", run);
        return;
    }
    jr_multinode_find(&parts, fd);
    for (size_t i = 0; i < parts.count; i++) {
        char name[JR_PART_NAME];
        (void)snprintf(name, sizeof name, JR_NODE_DIR, parts.nodes[i]);
        json_t *part = jr_node_part_json(fd, parts.nodes[i], "run.json", false);
        add_code(record, fd, name, part);
        json_decref(part);
    }
    jr_multinode_release(&parts);
}

/* Read one folder; false when it is not a run's. */
static bool read_record(struct jr_record *record, struct jr_arena *arena, int dir_fd,
                        const char *id)
{
    JR_CLOSE int fd = open_run(dir_fd, id);
    json_auto_t *run = fd < 0 ? NULL : jr_record_folder_json(fd, "run.json", NULL);
    bool damaged = !json_is_object(run);
    if (fd < 0 || (damaged && jr_access(fd, "run.json", F_OK, AT_SYMLINK_NOFOLLOW) != 0)) {
        return false;
    }
    json_auto_t *results = jr_record_folder_head(fd, "results.json");
    json_auto_t *plan = results != NULL ? NULL : jr_record_folder_head(fd, "plan.json");
    *record = (struct jr_record){
        .id = jr_arena_strdup(arena, id),
        .name = record_text(arena, results != NULL ? results : run, "name"),
        .vars = own_object(run, "vars"),
        .labels = own_object(run, "labels"),
        .spec = record_text(arena, run, "spec"),
        .host = record_text(arena, run, "host"),
        .fingerprint = record_text(arena, run, "fingerprint"),
        .started = jr_json_get_real(results != NULL ? results : run, "started"),
        .world_size = jr_json_get_u32(results != NULL ? results : plan, "world_size"),
        .trust = jr_trust_run(dir_fd, fd),
    };
    find_code(record, fd, run);
    if (results != NULL) {
        /* The word of the contract, and no other text that the file may hold. */
        const char *word = jr_json_get_str(results, "status");
        enum jr_run_status status;
        bool known = word != NULL && jr_run_status_of(word, &status);
        record->finished = true;
        record->status = known ? jr_run_status_word(status) : "unknown";
        record->exit_code = jr_record_folder_exit_code(results);
        record->seconds = jr_json_get_real(results, "seconds");
        record->progress = own_object(results, "progress");
    } else {
        double now = (double)jr_clock_wall_ns() / 1e9;
        record->status = jr_record_folder_standing(run);
        record->seconds = record->started < now ? now - record->started : 0;
        record->progress = jr_record_folder_progress(fd);
    }
    /* Results that are missing are no damage, as the run may go on; those that cannot be read are.
     */
    damaged = damaged || (results == NULL && jr_json_get_str(run, "status") != NULL &&
                          jr_access(fd, "results.json", F_OK, AT_SYMLINK_NOFOLLOW) == 0);
    if (damaged) {
        record->damaged = true;
        record->status = "damaged";
        record->finished = false;
    }
    return true;
}

static int compare_newest_first(const void *a, const void *b)
{
    const struct jr_record *x = a, *y = b;
    if (x->started != y->started)
        return x->started < y->started ? 1 : -1;
    return strverscmp(y->id, x->id); /* S/10 before S/9, as if it was later */
}

static void release_record(const struct jr_record *record)
{
    json_decref(record->progress);
    json_decref(record->vars);
    json_decref(record->labels);
}

void jr_records_add(struct jr_records *records, const struct jr_record *record)
{
    struct jr_record *slot =
        jr_arena_push(&records->arena, &records->items, &records->count, sizeof *record);
    if (slot != NULL)
        *slot = *record;
    else
        release_record(record);
}

void jr_records_order(struct jr_records *records)
{
    if (records->count > 0)
        qsort(records->items, records->count, sizeof *records->items, compare_newest_first);
}

int jr_records_list(struct jr_records *ret, const char *log_dir, struct jr_error *err)
{
    struct jr_records records = JR_RECORDS_INIT;
    JR_CLOSEDIR DIR *dir = opendir(log_dir);
    if (dir == NULL && errno != ENOENT)
        return jr_error_sys(err, JR_STATUS_USAGE, "%s", log_dir);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        struct jr_record record = {0};
        if (read_record(&record, &records.arena, dirfd(dir), entry->d_name))
            jr_records_add(&records, &record);
    }
    if (records.arena.failed) {
        jr_records_release(&records);
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    }
    jr_records_order(&records);
    *ret = records;
    return 0;
}

void jr_record_step(struct jr_buf *out, const struct jr_record *record)
{
    const json_t *step = json_object_get(record->progress, "step");
    const struct jr_steps steps = {.any = json_is_integer(step),
                                   .step = json_integer_value(step),
                                   .of = jr_json_get_int(record->progress, "of")};
    jr_steps_short(out, &steps);
}

void jr_records_release(struct jr_records *records)
{
    for (size_t i = 0; i < records->count; i++)
        release_record(&records->items[i]);
    jr_arena_release(&records->arena);
    *records = (struct jr_records)JR_RECORDS_INIT;
}

static bool is_run(int dir_fd, const char *id)
{
    JR_CLOSE int fd = open_run(dir_fd, id);
    return fd >= 0 &&
           (jr_access(fd, "run.json", F_OK, AT_SYMLINK_NOFOLLOW) == 0 || jr_multinode_exists(fd));
}

/* A search for the runs that a word may mean. */
struct search {
    const char *run;
    bool exact, folder; /* a folder without a record is called so */
    char id[256];       /* the one that is meant, so far */
    size_t count;
    struct jr_buf names;
};

static void consider_run(struct search *search, int dir_fd, const char *id)
{
    if (search->exact || strncmp(id, search->run, strlen(search->run)) != 0)
        return;
    if (!is_run(dir_fd, id)) {
        JR_CLOSE int fd = open_run(dir_fd, id);
        search->folder |= fd >= 0 && strcmp(id, search->run) == 0;
        return;
    }
    search->exact = strcmp(id, search->run) == 0;
    (void)snprintf(search->id, sizeof search->id, "%s", id);
    if (search->count++ < MOST_CANDIDATES)
        jr_buf_printf(&search->names, "%s%s", search->names.len > 0 ? ", " : "", id);
}

static int decide_search(const struct search *search, const char *log_dir, struct jr_error *err)
{
    if (search->exact || search->count == 1)
        return 0;
    if (search->count == 0 && search->folder)
        return jr_error_set(err, JR_STATUS_USAGE,
                            "'%s' in %s is not known as a run: it has no run.json", search->run,
                            log_dir);
    if (search->count == 0)
        return jr_error_set(err, JR_STATUS_USAGE, "no run '%s' in %s", search->run, log_dir);
    return jr_error_set(err, JR_STATUS_USAGE, "'%s' matches %zu runs: %s%s", search->run,
                        search->count, search->names.data == NULL ? "" : search->names.data,
                        search->count > MOST_CANDIDATES ? ", ..." : "");
}

/* The newest run, where LOG_DIR has no usable link to it. */
static int find_newest(char ret_id[static 256], const char *log_dir, struct jr_error *err)
{
    struct jr_records records = JR_RECORDS_INIT;
    if (jr_records_list(&records, log_dir, err) != 0)
        return -1;
    int result = 0;
    size_t i = 0; /* our newest run, or else the newest of all */
    while (i < records.count && !jr_trust_is_ours(&records.items[i].trust))
        i++;
    if (records.count == 0)
        result = jr_error_set(err, JR_STATUS_USAGE, "no runs in %s", log_dir);
    else
        (void)snprintf(ret_id, 256, "%s", records.items[i < records.count ? i : 0].id);
    jr_records_release(&records);
    return result;
}

static int find_latest(char ret_id[static 256], int dir_fd, const char *log_dir,
                       struct jr_error *err)
{
    char target[256];
    ssize_t len = -1;
    struct stat link, dir;
    /* It has to be a link that jobrun made: where everybody may write, anybody could point it at a
     * run that was not meant. */
    if (fstatat(dir_fd, "latest", &link, AT_SYMLINK_NOFOLLOW) == 0 && fstat(dir_fd, &dir) == 0 &&
        (link.st_uid == geteuid() || link.st_uid == dir.st_uid))
        len = readlinkat(dir_fd, "latest", target, sizeof target - 1);
    if (len > 0) {
        target[len] = '\0';
        if (is_run(dir_fd, target)) {
            (void)memcpy(ret_id, target, (size_t)len + 1);
            return 0;
        }
    }
    return find_newest(ret_id, log_dir, err);
}

/* Add the part of the run that was meant, "/node_1". */
static int find_part(char id[static 256], const char *log_dir, const char *part,
                     struct jr_error *err)
{
    size_t len = strlen(id);
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_strv ids = jr_multinode_ids(&arena, log_dir, id);
    bool found = false;
    for (size_t i = 0; i < ids.count && !found; i++)
        found = strcmp(ids.items[i] + len, part) == 0;
    jr_arena_release(&arena);
    if (!found)
        return jr_error_set(err, JR_STATUS_USAGE, "run '%s' in %s has no '%s'", id, log_dir,
                            part + 1);
    (void)snprintf(id + len, 256 - len, "%s", part);
    return 0;
}

static int find_recorded_run(char ret_id[static 256], const char *log_dir, const char *run,
                             struct jr_error *err)
{
    DIR *dir = opendir(log_dir);
    if (dir == NULL && errno == ENOENT)
        return jr_error_set(err, JR_STATUS_USAGE, "no runs in %s (--log-dir DIR: another folder)",
                            log_dir);
    if (dir == NULL)
        return jr_error_sys(err, JR_STATUS_USAGE, "%s", log_dir);
    struct search search = {.run = run};
    int result = 0;
    if (strcmp(run, "latest") == 0) {
        result = find_latest(ret_id, dirfd(dir), log_dir, err);
    } else {
        struct dirent *entry = NULL;
        while ((entry = readdir(dir)) != NULL)
            consider_run(&search, dirfd(dir), entry->d_name);
        result = decide_search(&search, log_dir, err);
        if (result == 0)
            (void)memcpy(ret_id, search.id, sizeof search.id);
    }
    jr_buf_release(&search.names);
    (void)closedir(dir);
    return result;
}

int jr_record_find(char ret_id[static 256], const char *log_dir, const char *run,
                   struct jr_error *err)
{
    const char *part = strchr(run, '/');
    JR_FREE char *whole = strndup(run, part == NULL ? strlen(run) : (size_t)(part - run));
    if (whole == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    if (part == run)
        return jr_error_set(err, JR_STATUS_USAGE, "'%s' is not the id of a run", run);
    if (find_recorded_run(ret_id, log_dir, whole, err) != 0)
        return -1;
    return part == NULL ? 0 : find_part(ret_id, log_dir, part, err);
}
