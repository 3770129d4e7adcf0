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
#include "session/session.h"
#include "sweep/sweep_file.h"

#include "base/banned.h"

void jr_cell_leave_parent(pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(JR_STATUS_LAUNCH);
    (void)setsid();
}

/* Let the ranks have these CPUs alone. */
static void bind_to_part(const struct jr_host *host)
{
    enum { MOST_CPUS = 8192 };
    size_t size = CPU_ALLOC_SIZE(MOST_CPUS);
    cpu_set_t *set = CPU_ALLOC(MOST_CPUS);
    if (set != NULL && host->cpus.set != NULL && jr_set_cpus(set, size, host->cpus.set))
        (void)sched_setaffinity(0, size, set);
    if (set != NULL)
        CPU_FREE(set);
}

void jr_cell_take_part(struct jr_session *session, const struct jr_host *whole,
                       const struct jr_host_part *part)
{
    jr_host_narrow(&session->host, whole, part, &session->arena);
    session->facts = true;
    if (part->cores_count > 0 && !session->arena.failed)
        bind_to_part(&session->host);
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

static bool is_known(pid_t pid, const pid_t *known, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (known[i] == pid)
            return true;
    return false;
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
        if (pid > 0 && !is_known(pid, known, count))
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
