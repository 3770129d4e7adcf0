/* What cells have left on hosts that do not see the folder of the sweep: sent there, and taken
 * here. internal.h has its manual. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jobrun/contract.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "record/prune.h"
#include "record/record_folder.h"
#include "session/left_files.h"
#include "session/sweep/internal.h"
#include "sweep/sweep_file.h"

#include "base/banned.h"

/* A cell on its way. */
struct cell_sender {
    struct jr_left_sender sender;
    json_t *head; /* of its records; with the path of a file */
    json_t *sent; /* an object with the paths of the files that were sent */
    bool results, logs;
};

static int send_path(const struct cell_sender *cell, const char *path, enum jr_run_file_kind kind)
{
    if (json_object_get(cell->sent, path) != NULL)
        return 0;
    jr_json_set_bool(cell->sent, path, true);
    jr_json_set_str(cell->head, "file", path);
    return jr_left_send_file(&cell->sender, cell->head, path, kind,
                             jr_left_most(kind, cell->results, cell->logs));
}

/* The files that a run has in such a folder of its own, or in the run's itself, "". */
static int send_files(const struct cell_sender *cell, const char *folder, enum jr_run_file_in in)
{
    int failed = 0;
    for (size_t i = 0; failed == 0 && i < JR_RUN_FILE_COUNT; i++) {
        JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
        const struct jr_run_file *file = &jr_run_files[i];
        if (file->in != in)
            continue;
        jr_buf_printf(&path, "%s%s%s", folder, folder[0] == '\0' ? "" : "/", file->name);
        failed = path.failed ? -1 : send_path(cell, path.data, file->kind);
    }
    return failed;
}

/* Ranks' folders are those of an attempt with a number for a name. */
static int send_attempts(const struct cell_sender *cell)
{
    const struct dirent *entry;
    char name[32];
    int failed = 0;
    for (unsigned i = 0; failed == 0; i++) {
        (void)snprintf(name, sizeof name, "attempt_%u", i);
        int fd = jr_open_beneath(cell->sender.run_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
        DIR *entries = fd < 0 ? NULL : fdopendir(fd);
        if (entries == NULL && fd >= 0)
            (void)close(fd);
        if (entries == NULL)
            return 0;
        failed = send_files(cell, name, JR_IN_ATTEMPT);
        while (failed == 0 && (entry = readdir(entries)) != NULL) {
            JR_BUF_CLEANUP struct jr_buf folder = JR_BUF_INIT;
            if (entry->d_name[strspn(entry->d_name, "0123456789")] != '\0')
                continue;
            jr_buf_printf(&folder, "%s/%s", name, entry->d_name);
            failed = folder.failed ? -1 : send_files(cell, folder.data, JR_IN_RANK);
        }
        (void)closedir(entries);
    }
    return failed;
}

/* `results.file` names others, as far as they are in the run folder. */
static int send_stated_results(const struct cell_sender *cell)
{
    const char *folder = cell->sender.folder;
    size_t len = strlen(folder);
    json_t *plan = jr_record_folder_json(cell->sender.run_fd, "plan.json", NULL);
    const json_t *ranks = json_object_get(plan, "ranks");
    int failed = 0;
    for (size_t i = 0; failed == 0 && i < json_array_size(ranks); i++) {
        const char *path =
            jr_json_get_str(json_object_get(json_array_get(ranks, i), "env"), "JOBRUN_RESULT_FILE");
        if (path != NULL && strncmp(path, folder, len) == 0 && path[len] == '/')
            failed = send_path(cell, path + len + 1, JR_FILE_RESULT);
    }
    json_decref(plan);
    return failed;
}

static bool has_word(const char *words, const char *word)
{
    size_t len = strlen(word);
    const char *at = words == NULL ? NULL : strstr(words, word);
    return at != NULL && (at[len] == ',' || at[len] == '\0');
}

int jr_cell_send(const char *cells_dir, uint32_t number, const char *collect, int fd,
                 struct jr_error *err)
{
    char name[16];
    jr_cell_folder(name, number);
    JR_BUF_CLEANUP struct jr_buf folder = JR_BUF_INIT;
    JR_FREE char *piece = malloc(JR_LEFT_PIECE);
    jr_buf_printf(&folder, "%s/%s", cells_dir, name);
    if (piece == NULL || folder.failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    JR_CLOSE int run_fd = jr_record_folder_open(cells_dir, name, NULL);
    struct cell_sender cell = {
        .sender = {.fd = fd, .piece = piece, .run_fd = run_fd, .folder = folder.data},
        .head = json_object(),
        .sent = json_object(),
        .results = has_word(collect, "results"),
        .logs = has_word(collect, "logs")};
    jr_json_set_int(cell.head, "cell", number);
    int failed = 0;
    if (run_fd >= 0) /* else it could not begin */
        failed = send_files(&cell, "", JR_IN_RUN) != 0 || send_attempts(&cell) != 0 ||
                 send_stated_results(&cell) != 0;
    if (failed == 0) {
        (void)json_object_del(cell.head, "file");
        jr_json_set_bool(cell.head, "whole", true);
        failed = jr_left_send_record(&cell.sender, cell.head, NULL, 0);
    }
    if (failed != 0)
        (void)jr_error_sys(err, JR_STATUS_LAUNCH, "what it has left could not be sent");
    json_decref(cell.head);
    json_decref(cell.sent);
    return failed == 0 ? 0 : -1;
}

#define GATHERING     ".%s" /* by the name of its folder */
#define SYNC_EVERY_NS UINT64_C(1000000000)
#define FILES_MOST    100000 /* of a cell: no run on one host has as many */

void jr_cell_files_init(struct jr_cell_files *files, struct jr_sweep_run *run, uint32_t node)
{
    *files = (struct jr_cell_files){
        .run = run, .node = node, .dir = {.fd = -1}, .stream = JR_LEFT_STREAM_INIT};
}

static void name_gathering(char ret[static 32], uint32_t number)
{
    char folder[16];
    jr_cell_folder(folder, number);
    (void)snprintf(ret, 32, GATHERING, folder);
}

static void remove_gathering(const struct jr_cell_files *files)
{
    struct jr_pruned pruned = {0};
    char name[32];
    name_gathering(name, files->number);
    (void)jr_prune_folder(&pruned, files->run->cells_fd, name);
}

/* Where not all of the cell will be here, what is takes room for nothing. */
static void drop_gathering(struct jr_cell_files *files)
{
    if (files->dir.fd < 0)
        return;
    (void)close(files->dir.fd);
    files->dir.fd = -1;
    remove_gathering(files);
}

/* The folder in which the files of a cell gather. One of that name was left by a jobrun that was
 * killed. */
static void make_gathering(struct jr_cell_files *files)
{
    const struct jr_sweep_run *run = files->run;
    char name[32];
    name_gathering(name, files->number);
    remove_gathering(files);
    files->dir.dir_mode = run->dir.dir_mode;
    files->dir.file_mode = run->dir.file_mode;
    if (mkdirat(run->cells_fd, name, run->dir.dir_mode) == 0)
        files->dir.fd =
            openat(run->cells_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (files->dir.fd < 0)
        files->error = errno;
}

struct jr_cell_process *jr_sweep_nodes_find(struct jr_sweep_run *run, uint32_t node,
                                            uint32_t number)
{
    for (size_t i = 0; i < run->running_count; i++) {
        struct jr_cell_process *process = &run->running[i];
        if (process->on_node && process->grant.node == node &&
            run->states[process->cell].number == number)
            return process;
    }
    return NULL;
}

/* Take the head of a record. False: such a record may not come now. */
static bool begin_cell_record(void *data, const json_t *head, struct jr_left_place *ret)
{
    struct jr_cell_files *files = data;
    const struct jr_sweep_run *run = files->run;
    const struct jr_ssh *ssh = jr_spec_get(run->session->cell_files[0])->policy.engine.ssh;
    json_int_t number = jr_json_get_int(head, "cell");
    bool whole = jr_json_get_bool(head, "whole");
    const char *path = jr_json_get_str(head, "file");
    size_t len = path == NULL ? 0 : strlen(path), end = strlen(JR_LEFT_REST);
    if (number < 0 || number > UINT32_MAX || files->whole ||
        (files->any && files->number != number) ||
        jr_sweep_nodes_find(files->run, files->node, (uint32_t)number) == NULL)
        return false;
    files->any = true;
    files->number = (uint32_t)number;
    /* A word for ssh is ours alone to write. */
    if (!whole &&
        (len == 0 || path[0] == '/' || (len >= end && strcmp(path + len - end, JR_LEFT_REST) == 0)))
        return false;
    files->whole = whole;
    if (whole || files->error != 0 || !jr_json_get_bool(head, "first"))
        return true;
    if (++files->count > FILES_MOST)
        files->error = EFBIG;
    else if (files->dir.fd < 0)
        make_gathering(files);
    if (files->error != 0)
        return true;
    const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
    enum jr_run_file_kind kind = JR_FILE_RECORD;
    for (size_t i = 0; i < JR_RUN_FILE_COUNT; i++)
        if (jr_run_files[i].kind == JR_FILE_LOG && strcmp(jr_run_files[i].name, name) == 0)
            kind = JR_FILE_LOG;
    jr_buf_str(&ret->path, path);
    ret->dir = &files->dir;
    ret->host = run->nodes.hosts[files->node];
    ret->ssh = ssh;
    ret->most = jr_left_most(kind, true, jr_left_is_collected(ssh, "logs"));
    ret->error = &files->error;
    return true;
}

void jr_cell_files_take(struct jr_cell_files *files, const char *bytes, size_t len)
{
    const struct jr_left_taker taker = {files, begin_cell_record, NULL};
    jr_left_stream_take(&files->stream, &taker, bytes, len);
    if (files->error != 0)
        drop_gathering(files);
}

/* On its way to the disk, or there. What is not there needs no way. */
static int settle_record(const struct jr_cell_files *files, const char *name, bool sync)
{
    JR_CLOSE int fd = openat(files->dir.fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : -1;
    (void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    return sync && fdatasync(fd) != 0 && errno != EINVAL ? -1 : 0;
}

/* What has come is the cell's run from now on. As with a run's own (attempts.c), a crash of
 * the machine leaves whole records of all cells that have ended but for those of the last second.
 */
static void place_cell(struct jr_cell_files *files)
{
    struct jr_sweep_nodes *nodes = &files->run->nodes;
    int cells_fd = files->run->cells_fd;
    bool sync = nodes->synced_ns == 0 || jr_clock_ns() >= nodes->synced_ns + SYNC_EVERY_NS;
    char name[32];
    name_gathering(name, files->number);
    bool settled = settle_record(files, "run.json", sync) == 0 &&
                   settle_record(files, "results.json", sync) == 0;
    if (settled && sync)
        nodes->synced_ns = jr_clock_ns();
    if (!settled || renameat(cells_fd, name, cells_fd, name + 1) != 0)
        files->error = errno;
}

void jr_cell_files_end(struct jr_cell_files *files, struct jr_cell_process *process)
{
    const struct jr_sweep_run *run = files->run;
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    if (files->stream.torn && files->error == 0)
        files->error = EPROTO;
    if (files->dir.fd >= 0 && files->whole && files->error == 0)
        place_cell(files);
    if (files->error != 0) {
        jr_buf_printf(&line, "cell %u: what it has left on ", run->states[process->cell].number);
        jr_buf_safe(&line, run->nodes.hosts[files->node]);
        if (files->error == EFBIG)
            jr_buf_str(&line, " is not taken: it sends more of a file than it was "
                              "to (engine.ssh.collect)");
        else
            jr_buf_printf(&line, " could not be written to %s: %s", run->cells_dir,
                          strerror(files->error));
        jr_session_note_buf(run->session, &line);
    }
    process->full = files->error == ENOSPC || files->error == EDQUOT;
    jr_cell_files_drop(files);
}

void jr_cell_files_drop(struct jr_cell_files *files)
{
    if (!files->whole || files->error != 0)
        drop_gathering(files);
    else if (files->dir.fd >= 0)
        (void)close(files->dir.fd);
    jr_left_stream_drop(&files->stream);
    jr_cell_files_init(files, files->run, files->node);
}
