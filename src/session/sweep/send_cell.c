#include "session/sweep/send_cell.h"

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
#include "base/io.h"
#include "record/record_code.h"
#include "record/record_folder.h"
#include "session/left_records.h"
#include "session/on_end.h"
#include "store/run_folder.h"
#include "sweep/sweep_file.h"

#include "base/banned.h"

/* What a run writes, by the folder that it is in. Nothing else is sent: ranks may leave any number
 * of bytes beside it. */
enum kind { KIND_RECORD, KIND_RESULT, KIND_LOG };

struct file_name {
    const char *name; /* NULL: behind the last */
    enum kind kind;
};

static const struct file_name run_files[] = {
    {"run.json", KIND_RECORD},      {"results.json", KIND_RECORD},  {"spec.yaml", KIND_RECORD},
    {"resolved.yaml", KIND_RECORD}, {"explain.json", KIND_RECORD},  {"plan.json", KIND_RECORD},
    {"events.jsonl", KIND_RECORD},  {"metrics.jsonl", KIND_RECORD}, {"progress.json", KIND_RECORD},
    {JR_PATCH_FILE, KIND_RECORD},   {JR_ON_END_LOG, KIND_LOG},      {NULL, KIND_RECORD}};
static const struct file_name attempt_files[] = {{"results.json", KIND_RECORD},
                                                 {JR_SETUP_LOG, KIND_LOG},
                                                 {JR_HELPER_LOG, KIND_LOG},
                                                 {NULL, KIND_RECORD}};
static const struct file_name rank_files[] = {
    {"result.json", KIND_RESULT}, {"error.json", KIND_RECORD}, {"hang.json", KIND_RECORD},
    {"hang.txt", KIND_RECORD},    {"stdout.log", KIND_LOG},    {"stderr.log", KIND_LOG},
    {NULL, KIND_RECORD}};

bool jr_cell_is_log(const char *path)
{
    static const struct file_name *const tables[] = {run_files, attempt_files, rank_files};
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const struct file_name *file = tables[i]; file->name != NULL; file++)
            if (file->kind == KIND_LOG && strcmp(file->name, name) == 0)
                return true;
    return false;
}

/* A cell on its way. */
struct cell_sender {
    struct jr_left_sender sender;
    json_t *head; /* of its records; with the path of a file */
    json_t *sent; /* an object with the paths of the files that were sent */
    bool results, logs;
};

/* A record or a result is sent whole or not at all, and what is too large can be none that a run
 * has written. */
static uint64_t find_most(const struct cell_sender *cell, const char *path, enum kind kind)
{
    struct stat st;
    if (kind == KIND_LOG)
        return cell->logs ? JR_LEFT_ALL : JR_LEFT_LOG_MOST;
    if ((kind == KIND_RESULT && !cell->results) ||
        fstatat(cell->sender.run_fd, path, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        (uint64_t)st.st_size > JR_LEFT_OTHER_MOST)
        return 0;
    return JR_LEFT_OTHER_MOST;
}

static int send_path(const struct cell_sender *cell, const char *path, enum kind kind)
{
    uint64_t most = find_most(cell, path, kind);
    if (most == 0 || json_object_get(cell->sent, path) != NULL)
        return 0;
    jr_json_set_bool(cell->sent, path, true);
    jr_json_set_str(cell->head, "file", path);
    return jr_left_send_file(&cell->sender, cell->head, path, most);
}

/* The files of a table, in a folder below the run's; "": in that itself. */
static int send_files(const struct cell_sender *cell, const char *folder,
                      const struct file_name *files)
{
    int failed = 0;
    for (; failed == 0 && files->name != NULL; files++) {
        JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
        jr_buf_printf(&path, "%s%s%s", folder, folder[0] == '\0' ? "" : "/", files->name);
        failed = path.failed ? -1 : send_path(cell, path.data, files->kind);
    }
    return failed;
}

/* Its ranks' folders are those with a number for a name. */
static int send_ranks(const struct cell_sender *cell, const char *attempt, DIR *entries)
{
    const struct dirent *entry;
    int failed = 0;
    while (failed == 0 && (entry = readdir(entries)) != NULL) {
        JR_BUF_CLEANUP struct jr_buf folder = JR_BUF_INIT;
        if (entry->d_name[strspn(entry->d_name, "0123456789")] != '\0')
            continue;
        jr_buf_printf(&folder, "%s/%s", attempt, entry->d_name);
        failed = folder.failed ? -1 : send_files(cell, folder.data, rank_files);
    }
    return failed;
}

static int send_attempts(const struct cell_sender *cell)
{
    char name[32];
    int failed = 0;
    for (unsigned i = 0; failed == 0; i++) {
        (void)snprintf(name, sizeof name, "attempt_%u", i);
        int fd = jr_open_beneath(cell->sender.run_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
        DIR *entries = fd < 0 ? NULL : fdopendir(fd);
        if (entries == NULL) {
            if (fd >= 0)
                (void)close(fd);
            return 0;
        }
        failed = send_files(cell, name, attempt_files);
        if (failed == 0)
            failed = send_ranks(cell, name, entries);
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
            failed = send_path(cell, path + len + 1, KIND_RESULT);
    }
    json_decref(plan);
    return failed;
}

static int send_run_folder(const struct cell_sender *cell)
{
    if (cell->sender.run_fd < 0) /* it could not begin */
        return 0;
    return send_files(cell, "", run_files) != 0 || send_attempts(cell) != 0
               ? -1
               : send_stated_results(cell);
}

static bool has_word(const char *words, const char *word)
{
    size_t len = strlen(word);
    const char *at = words == NULL ? NULL : strstr(words, word);
    return at != NULL && (at[len] == ',' || at[len] == '\0');
}

static int send_whole(struct cell_sender *cell)
{
    if (send_run_folder(cell) != 0)
        return -1;
    (void)json_object_del(cell->head, "file");
    jr_json_set_bool(cell->head, "whole", true);
    return jr_left_send_record(&cell->sender, cell->head, NULL, 0);
}

int jr_cell_send(const struct jr_cell_sending *sending, struct jr_error *err)
{
    char name[16];
    jr_cell_folder(name, sending->number);
    JR_BUF_CLEANUP struct jr_buf folder = JR_BUF_INIT;
    JR_FREE char *piece = malloc(JR_LEFT_PIECE);
    jr_buf_printf(&folder, "%s/%s", sending->cells_dir, name);
    if (piece == NULL || folder.failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    JR_CLOSE int run_fd = jr_record_folder_open(sending->cells_dir, name, NULL);
    struct cell_sender cell = {
        .sender = {.fd = sending->fd, .piece = piece, .run_fd = run_fd, .folder = folder.data},
        .head = json_object(),
        .sent = json_object(),
        .results = has_word(sending->collect, "results"),
        .logs = has_word(sending->collect, "logs")};
    jr_json_set_int(cell.head, "cell", sending->number);
    int failed = send_whole(&cell);
    if (failed != 0)
        (void)jr_error_sys(err, JR_STATUS_LAUNCH, "what it has left could not be sent");
    json_decref(cell.head);
    json_decref(cell.sent);
    return failed;
}
