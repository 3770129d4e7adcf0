#include "session/sweep/cell_session.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/rank_set.h"
#include "host/host.h"
#include "record/live_run.h"
#include "session/sweep/internal.h"
#include "sweep/sweep_file.h"
#include "sweep/swept_spec.h"

#include "base/banned.h"

size_t jr_session_cells(const struct jr_session *session)
{
    return session->swept == NULL ? 0 : session->swept->cells.count;
}

void jr_session_be_cell(struct jr_session *session, const char *number, const char *sweep_id)
{
    session->cell = number;
    session->sweep_id = sweep_id;
}

void jr_session_keep_cell_file(struct jr_session *session, struct jr_spec_file *file)
{
    struct jr_spec_file **slot =
        jr_arena_push(&session->arena, &session->cell_files, &session->cell_files_count,
                      sizeof(struct jr_spec_file *));
    if (slot != NULL)
        *slot = file;
}

void jr_session_close_sweep(struct jr_session *session)
{
    for (size_t i = 0; i < session->cell_files_count; i++)
        jr_spec_free(session->cell_files[i]);
    session->cell_files_count = 0;
    if (session->swept == NULL)
        return;
    jr_swept_spec_close(session->swept);
    free(session->swept);
    session->swept = NULL;
}

enum jr_status jr_session_take_cell(struct jr_session *session, const struct jr_spec_source *source,
                                    const struct jr_spec_options *options, struct jr_error *err)
{
    const struct jr_swept_words words = {source, options, session->options.sweeps};
    struct jr_error why = {0};
    struct jr_buf cell_0 JR_BUF_CLEANUP = JR_BUF_INIT;
    size_t cell = 0;
    if (!jr_spec_sweeps(session->file)) {
        (void)jr_error_set(err, JR_STATUS_USAGE,
                           "--cell %s: the spec has no `sweep`, and there is no --sweep",
                           session->options.cell);
        return JR_STATUS_USAGE;
    }
    session->swept = calloc(1, sizeof *session->swept);
    if (session->swept == NULL)
        return JR_STATUS_LAUNCH;
    struct jr_spec_file *file = session->file;
    session->file = NULL;
    if (jr_swept_spec_open(session->swept, file, &words, &session->diags) != 0)
        return jr_spec_status(&session->diags);
    const struct jr_cells *cells = &session->swept->cells;
    if (session->options.cell == NULL) {
        jr_cells_text(&cell_0, cells, 0);
        (void)jr_error_set(err, JR_STATUS_USAGE,
                           "the spec is a sweep of %zu cell%s: choose one of them, "
                           "for example --cell 0 (%s)",
                           cells->count, cells->count == 1 ? "" : "s",
                           cell_0.failed ? "" : cell_0.data);
        return JR_STATUS_USAGE;
    }
    if (jr_cells_choose(&cell, cells, session->options.cell, &why) != 0) {
        (void)jr_error_set(err, why.status, "%s", why.text);
        return why.status;
    }
    session->cell = jr_arena_printf(&session->arena, "%zu", cell);
    if (session->cell == NULL)
        return JR_STATUS_LAUNCH;
    return jr_swept_spec_load(&session->file, session->swept, cell, &session->diags) == 0
               ? JR_STATUS_OK
               : jr_spec_status(&session->diags);
}

void jr_cell_leave_parent(pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(JR_STATUS_LAUNCH);
    (void)setsid();
}

void jr_cell_take_part(struct jr_session *session, const struct jr_host *whole,
                       const struct jr_host_part *part)
{
    enum { MOST_CPUS = 8192 };
    const struct jr_host *host = &session->host;
    size_t size = CPU_ALLOC_SIZE(MOST_CPUS);
    jr_host_narrow(&session->host, whole, part, &session->arena);
    session->facts = true;
    if (part->cores_count == 0 || session->arena.failed || host->cpus.set == NULL)
        return;
    cpu_set_t *set = CPU_ALLOC(MOST_CPUS); /* the ranks have these CPUs alone */
    if (set == NULL)
        return;
    if (jr_set_cpus(set, size, host->cpus.set))
        (void)sched_setaffinity(0, size, set);
    CPU_FREE(set);
}

bool jr_cell_has_runner(const char *cells_dir, uint32_t number, pid_t *ret_runner)
{
    struct jr_live live;
    char folder[16];
    jr_cell_folder(folder, number);
    *ret_runner = 0;
    if (jr_live_open(&live, cells_dir, folder, NULL) != 0)
        return false;
    *ret_runner = live.held.pid;
    bool running = live.standing == JR_STANDING_RUNNING;
    jr_live_close(&live);
    return running;
}

void jr_cell_kill_strays(const pid_t *known, size_t count)
{
    char path[64];
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    (void)snprintf(path, sizeof path, "proc/%d/task/%d/children", getpid(), getpid());
    if (!jr_io_fact(&text, "/", path) || text.data == NULL)
        return;
    char *save = NULL;
    for (char *word = strtok_r(text.data, " \n", &save); word != NULL;
         word = strtok_r(NULL, " \n", &save)) {
        pid_t pid = (pid_t)strtol(word, NULL, 10);
        size_t i = 0;
        while (i < count && known[i] != pid)
            i++;
        if (pid > 0 && i == count)
            (void)kill(pid, SIGKILL);
    }
}

bool jr_cell_disk_is_full(int dir_fd)
{
    enum { CELL_BYTES = 64 << 10, CELL_FILES = 16 };
    static const char bytes[CELL_BYTES];
    struct statvfs disk;
    if (fstatvfs(dir_fd, &disk) == 0 && (disk.f_bavail * disk.f_frsize < CELL_BYTES ||
                                         (disk.f_files > 0 && disk.f_favail < CELL_FILES)))
        return true;
    /* A quota is not seen before a file is made, or a byte is written. */
    JR_CLOSE int fd = openat(dir_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, S_IRUSR | S_IWUSR);
    return (fd < 0 || jr_io_write_all(fd, bytes, sizeof bytes) != 0) &&
           (errno == ENOSPC || errno == EDQUOT);
}
