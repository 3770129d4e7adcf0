#include "session/sweep/cell_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "record/prune.h"
#include "session/stages.h"
#include "session/sweep/send_cell.h"
#include "session/sweep/sweep_run_parts.h"
#include "store/run_folder.h"

#include "base/banned.h"

#define GATHERING     ".%s" /* by the name of its folder */
#define SYNC_EVERY_NS UINT64_C(1000000000)
#define FILES_MOST    100000 /* of a cell: no run on one host has as many */

void jr_cell_files_init(struct jr_cell_files *files, struct jr_sweep_run *run, uint32_t node)
{
    *files = (struct jr_cell_files){.run = run, .node = node, .dir_fd = -1, .fd = -1};
}

static void close_cell_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
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

/* Not all of the cell will be here: what is takes room for nothing. */
static void fail_cell_files(struct jr_cell_files *files, int error)
{
    bool gathers = files->dir_fd >= 0;
    files->error = error;
    close_cell_fd(&files->fd);
    close_cell_fd(&files->dir_fd);
    if (gathers)
        remove_gathering(files);
}

/* One of that name was left by a jobrun that was killed. */
static int open_gathering(struct jr_cell_files *files)
{
    const struct jr_sweep_run *run = files->run;
    char name[32];
    if (files->dir_fd >= 0)
        return 0;
    name_gathering(name, files->number);
    remove_gathering(files);
    if (mkdirat(run->cells_fd, name, run->dir.dir_mode) != 0)
        return -1;
    files->dir_fd = openat(run->cells_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return files->dir_fd < 0 ? -1 : 0;
}

/* A word for ssh is ours alone to write. */
static bool is_cell_path(const char *path)
{
    size_t len = path == NULL ? 0 : strlen(path), end = strlen(JR_LEFT_REST);
    return len > 0 && path[0] != '/' && (len < end || strcmp(path + len - end, JR_LEFT_REST) != 0);
}

/* How many bytes at most a host is to send of a file. */
static uint64_t find_room(const struct jr_spec *spec, const char *path)
{
    if (!jr_cell_is_log(path))
        return JR_LEFT_OTHER_MOST;
    return jr_left_is_collected(spec->policy.engine.ssh, "logs") ? JR_LEFT_ALL : JR_LEFT_LOG_MOST;
}

static void open_cell_file(struct jr_cell_files *files, const json_t *head)
{
    const struct jr_sweep_run *run = files->run;
    const struct jr_spec *spec = jr_spec_get(run->session->cell_files[0]);
    close_cell_fd(&files->fd);
    if (++files->count > FILES_MOST) {
        fail_cell_files(files, EFBIG);
        return;
    }
    if (open_gathering(files) == 0) {
        const struct jr_run_folder dir = {
            .fd = files->dir_fd, .dir_mode = run->dir.dir_mode, .file_mode = run->dir.file_mode};
        const struct jr_left_file file = {.dir = &dir,
                                          .path = jr_json_get_str(head, "file"),
                                          .host = run->nodes.hosts[files->node],
                                          .ssh = spec->policy.engine.ssh};
        files->room = find_room(spec, file.path);
        files->fd = jr_left_file_open(&file, head);
    }
    if (files->fd < 0)
        fail_cell_files(files, errno);
}

/* Whether such a record may come now. */
static bool read_cell_head(struct jr_cell_files *files, const json_t *head)
{
    json_int_t number = jr_json_get_int(head, "cell");
    if (number < 0 || number > UINT32_MAX || files->whole ||
        (files->any && files->number != number) ||
        jr_sweep_nodes_find(files->run, files->node, (uint32_t)number) == NULL)
        return false;
    files->any = true;
    files->number = (uint32_t)number;
    return jr_json_get_bool(head, "whole") || is_cell_path(jr_json_get_str(head, "file"));
}

static bool begin_cell_record(void *data, const json_t *head)
{
    struct jr_cell_files *files = data;
    if (!read_cell_head(files, head))
        return false;
    files->whole = jr_json_get_bool(head, "whole");
    if (!files->whole && files->error == 0 && jr_json_get_bool(head, "first"))
        open_cell_file(files, head);
    return true;
}

static void take_cell_bytes(void *data, const char *bytes, size_t len)
{
    struct jr_cell_files *files = data;
    if (files->fd < 0)
        return;
    if (len > files->room)
        fail_cell_files(files, EFBIG);
    else if (jr_io_write_all(files->fd, bytes, len) != 0)
        fail_cell_files(files, errno);
    else
        files->room -= len;
}

static void end_cell_record(void *data)
{
    (void)data;
}

void jr_cell_files_take(struct jr_cell_files *files, const char *bytes, size_t len)
{
    const struct jr_left_taker taker = {files, begin_cell_record, take_cell_bytes, end_cell_record};
    jr_left_stream_take(&files->stream, &taker, bytes, len);
}

/* On its way to the disk, or there. What is not there needs no way. */
static int settle_record(const struct jr_cell_files *files, const char *name, bool sync)
{
    JR_CLOSE int fd = openat(files->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : -1;
    (void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    return sync && fdatasync(fd) != 0 && errno != EINVAL ? -1 : 0;
}

/* As a run's own (write_judgement.c): a crash of the machine leaves whole records of all cells that
 * have ended but for those of the last second. */
static int settle_records(const struct jr_cell_files *files)
{
    struct jr_sweep_nodes *nodes = &files->run->nodes;
    bool sync = nodes->synced_ns == 0 || jr_clock_ns() >= nodes->synced_ns + SYNC_EVERY_NS;
    if (settle_record(files, "run.json", sync) != 0 ||
        settle_record(files, "results.json", sync) != 0)
        return -1;
    if (sync)
        nodes->synced_ns = jr_clock_ns();
    return 0;
}

/* What has come is the cell's run from now on. */
static void place_cell(struct jr_cell_files *files)
{
    char name[32];
    name_gathering(name, files->number);
    if (settle_records(files) != 0 ||
        renameat(files->run->cells_fd, name, files->run->cells_fd, name + 1) != 0)
        fail_cell_files(files, errno);
}

static void note_cell_error(const struct jr_cell_files *files,
                            const struct jr_cell_process *process)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&line, "cell %u: what it has left on ", files->run->states[process->cell].number);
    jr_buf_safe(&line, files->run->nodes.hosts[files->node]);
    if (files->error == EFBIG)
        jr_buf_str(&line, " is not taken: it sends more of a file than it was "
                          "to (engine.ssh.collect)");
    else
        jr_buf_printf(&line, " could not be written to %s: %s", files->run->cells_dir,
                      strerror(files->error));
    jr_session_note_buf(files->run->session, &line);
}

void jr_cell_files_end(struct jr_cell_files *files, struct jr_cell_process *process)
{
    if (files->stream.torn && files->error == 0)
        fail_cell_files(files, EPROTO);
    if (files->dir_fd >= 0 && files->whole && files->error == 0)
        place_cell(files);
    if (files->error != 0)
        note_cell_error(files, process);
    process->full = files->error == ENOSPC || files->error == EDQUOT;
    jr_cell_files_drop(files);
}

void jr_cell_files_drop(struct jr_cell_files *files)
{
    bool gathers = files->dir_fd >= 0 && !files->whole;
    close_cell_fd(&files->fd);
    close_cell_fd(&files->dir_fd);
    if (gathers)
        remove_gathering(files);
    jr_buf_release(&files->stream.head);
    jr_cell_files_init(files, files->run, files->node);
}
