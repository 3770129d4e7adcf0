#include "session/sweep/cell_stops.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/pidfd.h"
#include "base/shell_words.h"
#include "record/live_run.h"
#include "session/stages.h"
#include "session/sweep/live_sweep.h"
#include "session/sweep/sweep_run_parts.h"
#include "sweep/journal.h"

#include "base/banned.h"

#define STOPS ".stop"

/* The number of a cell by the name of its folder, "0007"; -1: it is none. */
static long number_of(const char *name)
{
    size_t len = strlen(name);
    return len > 0 && len < 11 && strspn(name, "0123456789") == len ? strtol(name, NULL, 10) : -1;
}

/* In the leader. */

static void stop_cell(struct jr_sweep_run *run, long number)
{
    for (size_t i = 0; i < run->running_count; i++) {
        struct jr_cell_process *process = &run->running[i];
        if ((long)run->states[process->cell].number != number)
            continue;
        if (process->on_node)
            jr_sweep_nodes_stop(run, process);
        else if (process->pid > 0)
            (void)kill(process->pid, SIGTERM);
    }
}

/* The folder, which is ours; NULL: there is none. */
static DIR *open_stops(int sweep_fd)
{
    struct stat st;
    int fd = openat(sweep_fd, STOPS, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *stops = fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() ? fdopendir(fd) : NULL;
    if (stops == NULL && fd >= 0)
        (void)close(fd);
    return stops;
}

void jr_cell_stops_take(struct jr_sweep_run *run)
{
    const struct dirent *entry;
    DIR *stops = open_stops(run->dir.fd);
    while (stops != NULL && (entry = readdir(stops)) != NULL) {
        long number = number_of(entry->d_name);
        if (number >= 0 && unlinkat(dirfd(stops), entry->d_name, 0) == 0)
            stop_cell(run, number);
    }
    if (stops != NULL)
        (void)closedir(stops);
}

void jr_cell_stops_clear(const struct jr_sweep_run *run)
{
    const struct dirent *entry;
    DIR *stops = open_stops(run->dir.fd);
    if (stops == NULL)
        return;
    while ((entry = readdir(stops)) != NULL)
        if (number_of(entry->d_name) >= 0)
            (void)unlinkat(dirfd(stops), entry->d_name, 0);
    (void)closedir(stops);
    (void)unlinkat(run->dir.fd, STOPS, AT_REMOVEDIR);
}

/* In another jobrun. */

/* The folder of its sweep. */
static int open_sweep_of(const struct jr_far_cell *cell)
{
    JR_CLOSE int cells = open(cell->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return cells < 0 ? -1 : openat(cells, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* What the journal says last of a cell. */
struct last_line {
    long number;
    bool runs;
    char *host, *there; /* malloc'ed; NULL: not said */
};

/* A text of a line, in the place of another. */
static void keep_line_text(char **ret, const json_t *line, const char *key)
{
    const char *text = jr_json_get_str(line, key);
    free(*ret);
    *ret = text == NULL ? NULL : strdup(text);
}

static void take_last_line(void *data, enum jr_journal_event event, const json_t *line)
{
    struct last_line *last = data;
    if (event == JR_JOURNAL_SWEEP_RESUMED || event == JR_JOURNAL_SWEEP_ENDED)
        last->runs = false;
    if ((event != JR_JOURNAL_CELL_STARTED && event != JR_JOURNAL_CELL_ENDED) ||
        jr_json_get_int(line, "cell") != last->number)
        return;
    last->runs = event == JR_JOURNAL_CELL_STARTED;
    keep_line_text(&last->host, line, "host");
    keep_line_text(&last->there, line, "there");
}

static void read_last_line(struct last_line *ret, int sweep_fd, const char *id)
{
    *ret = (struct last_line){.number = number_of(id)};
    (void)jr_journal_read(sweep_fd, take_last_line, ret);
    ret->runs = ret->runs && jr_journal_holder(sweep_fd) != 0;
}

static void release_line(struct last_line *line)
{
    free(line->host);
    free(line->there);
}

/* Whether its files are here, and say that it runs here or has ended. */
static bool is_seen(const struct jr_far_cell *cell)
{
    struct jr_live live;
    if (jr_live_open(&live, cell->dir, cell->id, NULL) != 0)
        return false;
    bool seen = live.standing != JR_STANDING_ELSEWHERE;
    jr_live_close(&live);
    return seen;
}

bool jr_far_cell_runs(const struct jr_far_cell *cell)
{
    struct last_line last;
    JR_CLOSE int fd = open_sweep_of(cell);
    if (fd < 0 || number_of(cell->id) < 0 || is_seen(cell))
        return false;
    read_last_line(&last, fd, cell->id);
    release_line(&last);
    return last.runs;
}

/* Write the word. The folder may have been made by somebody before. */
static int leave_word(int sweep_fd, const char *id, struct jr_error *err)
{
    struct stat st;
    (void)mkdirat(sweep_fd, STOPS, S_IRWXU);
    JR_CLOSE int stops = openat(sweep_fd, STOPS, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    JR_CLOSE int fd =
        stops < 0 || fstat(stops, &st) != 0 || st.st_uid != geteuid()
            ? -1
            : openat(stops, id, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
    return fd >= 0 ? 0
                   : jr_error_sys(err, JR_STATUS_LAUNCH,
                                  "could not tell the jobrun of the sweep to stop cell %s", id);
}

/* Have the leader look for it. */
static int wake_leader(int sweep_fd, const char *id, struct jr_error *err)
{
    pid_t pid = jr_journal_holder(sweep_fd);
    if (pid == JR_JOURNAL_UNSEEN)
        return jr_error_set(
            err, JR_STATUS_LAUNCH,
            "cell %s is being run " JR_SWEEP_UNSEEN ": it can be stopped only there", id);
    struct jr_hold leader = jr_hold_open(pid);
    bool same = leader.pid > 0 && jr_journal_holder(sweep_fd) == pid;
    int failed = same ? leave_word(sweep_fd, id, err) : 0;
    if (failed == 0 && same && jr_hold_signal(&leader, SIGCHLD) != 0 && errno != ESRCH)
        failed = jr_error_sys(err, JR_STATUS_LAUNCH, "could not signal process %d", (int)pid);
    jr_hold_close(&leader);
    return failed;
}

int jr_far_cell_stop(const struct jr_far_cell *cell, struct jr_error *err)
{
    struct stat st;
    JR_CLOSE int fd = open_sweep_of(cell);
    if (fd < 0 || fstat(fd, &st) != 0)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "%s", cell->dir);
    if (st.st_uid != geteuid())
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "the sweep belongs to another user, and is left alone");
    return wake_leader(fd, cell->id, err);
}

bool jr_far_cell_await(const struct jr_far_cell *cell, uint64_t until_ns)
{
    enum { TURN_US = 50000, TURNS_MOST = 20 };
    for (unsigned turn = 0; !is_seen(cell); turn++) {
        /* To read the journal takes longer. */
        if (turn % TURNS_MOST == 0 && !jr_far_cell_runs(cell))
            return true;
        if (until_ns != 0 && jr_clock_ns() >= until_ns)
            return false;
        (void)usleep(TURN_US);
    }
    return true;
}

void jr_far_cell_command(struct jr_buf *out, const struct jr_far_cell *cell, const char *verb)
{
    struct last_line last;
    JR_BUF_CLEANUP struct jr_buf there = JR_BUF_INIT;
    JR_CLOSE int fd = open_sweep_of(cell);
    if (fd < 0)
        return;
    read_last_line(&last, fd, cell->id);
    if (last.runs && last.host != NULL && last.there != NULL) {
        jr_shell_quote(&there, last.there); /* for the shell there */
        jr_buf_str(out, "ssh ");
        jr_buf_safe(out, last.host);
        jr_buf_printf(out, " jobrun %s %s --log-dir ", verb, cell->id);
        if (!there.failed)
            jr_shell_quote(out, there.data);
        out->failed |= there.failed;
    }
    release_line(&last);
}
