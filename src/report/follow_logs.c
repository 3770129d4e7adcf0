#include "report/follow_logs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/rank_set.h"
#include "base/syscalls.h"
#include "output/log_file.h"
#include "output/sanitize.h"
#include "record/live_ranks.h"
#include "record/live_run.h"
#include "record/record_folder.h"
#include "report/show.h"

#include "base/banned.h"

enum {
    LINE_MOST = 64 * 1024, /* a longer one is shown in pieces */
    LOOK_MS = 1000
};

/* One log file, read up to the offset of `fd`. */
struct tail {
    const char *path; /* relative to the run folder */
    uint32_t rank;
    int fd;      /* -1: not there yet */
    uint64_t at; /* bytes of the file that were read */
    struct jr_log_gap gap;
    char last;          /* byte that was read */
    struct jr_buf rest; /* where lines are shown: one without its end so far */
};

struct tails {
    struct jr_arena arena;
    const struct jr_logs_view *view;
    int out_fd;
    struct tail *items;
    size_t count;
    const struct tail *last; /* whose heading was the last */
    const char *run_dir, *log_dir, *id;
    const char *events; /* the file of the run's */
    char *const *ends;  /* see jr_record_logs */
    int run_fd, watch_fd;
    struct jr_hold held;        /* the run's jobrun */
    bool blind;                 /* not every addition is notified */
    bool live;                  /* more may come */
    struct jr_live_ranks ranks; /* while it is followed; no run_fd: unknown */
    size_t apart;               /* of those, whose logs it was said are elsewhere */
    bool named;                 /* more than one file: headings */
    bool prefixed;              /* or lines with the rank before them */
    uint32_t last_lines;        /* with which to begin; UINT32_MAX: all */
    uint32_t attempt;           /* whose files are the last ones here */
    size_t per_attempt;         /* files */
    int error;                  /* errno of the printing; EPIPE: the reader went away */
};

static void add_tail(struct tails *tails, uint32_t rank, const char *path)
{
    if (path == NULL)
        return;
    struct tail *tail = jr_arena_push(&tails->arena, &tails->items, &tails->count, sizeof *tail);
    if (tail != NULL)
        *tail = (struct tail){.path = jr_arena_strdup(&tails->arena, path), .rank = rank, .fd = -1};
}

/* The files of the ranks that were asked for. */
static int choose_tails(struct tails *tails, const struct jr_record_logs *logs,
                        struct jr_error *err)
{
    const struct jr_logs_view *view = tails->view;
    bool silent = false;
    for (size_t i = 0; i < logs->count; i++) {
        if (!jr_set_has(view->ranks, logs->items[i].rank))
            continue;
        silent = silent || logs->items[i].silent;
        add_tail(tails, logs->items[i].rank, logs->items[i].out);
        add_tail(tails, logs->items[i].rank, logs->items[i].err);
    }
    if (tails->arena.failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    if (tails->count == 0 && silent) {
        if (view->note != NULL)
            view->note(view->data, "these ranks wrote nothing to the streams "
                                   "that are kept, and have no logs");
        return 0;
    }
    if (tails->count == 0)
        return jr_record_logs_refuse(logs, view->ranks, err);
    /* A log that is not there, for nothing was written to it, is one of them.
     */
    tails->named = (tails->count > 1 || silent) && !view->follow;
    tails->prefixed = (tails->count > 1 || silent) && view->follow;
    tails->per_attempt = tails->count;
    (void)sscanf(tails->items[0].path, "attempt_%" SCNu32 "/", &tails->attempt);
    return 0;
}

static void emit_bytes(struct tails *tails, const void *bytes, size_t len)
{
    if (tails->error == 0 && jr_io_write_all(tails->out_fd, bytes, len) != 0)
        tails->error = errno;
}

/* The first `len` bytes of the rest: as a terminal may have them, if it is one.
 */
static void show_tail_line(struct tails *tails, struct tail *tail, size_t len, const char *end)
{
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    size_t shown = len;
    const char *text = len == 0 ? "" : tail->rest.data;
    if (tails->prefixed)
        jr_buf_printf(&out, "[%u] ", tail->rank);
    if (tails->view->terminal) {
        const char *line = jr_sanitize_redrawn(text, &shown);
        jr_sanitize_line(&out, line, shown, tails->view->color);
    } else {
        jr_buf_add(&out, text, len);
    }
    jr_buf_str(&out, end);
    if (!out.failed)
        emit_bytes(tails, out.data, out.len);
}

static void show_tail_lines(struct tails *tails, struct tail *tail, const char *bytes, size_t len)
{
    struct jr_buf *rest = &tail->rest;
    for (const char *line; len > 0; rest->len = 0) {
        line = memchr(bytes, '\n', len);
        size_t size = line == NULL ? len : (size_t)(line - bytes);
        jr_buf_add(rest, bytes, size);
        if (rest->failed || (line == NULL && rest->len < LINE_MOST))
            return;
        show_tail_line(tails, tail, rest->len, line == NULL && !tails->prefixed ? "" : "\n");
        bytes += size + (line != NULL);
        len -= size + (line != NULL);
    }
}

/* Where the last so many lines of a file begin. An unfinished one counts. */
static uint64_t find_tail_start(int fd, uint64_t lines)
{
    char bytes[65536];
    off_t end = lseek(fd, 0, SEEK_END);
    for (off_t at = end; at > 0;) {
        size_t size = at < (off_t)sizeof bytes ? (size_t)at : sizeof bytes;
        at -= (off_t)size;
        if (pread(fd, bytes, size, at) != (ssize_t)size)
            return 0;
        for (size_t i = size; i-- > 0;)
            if (bytes[i] == '\n' && at + (off_t)i + 1 < end && --lines == 0)
                return (uint64_t)at + i + 1;
    }
    return 0;
}

/* A log lies in the run folder, whatever the results say. */
static int open_rank_log(const struct tails *tails, const struct tail *tail)
{
    struct stat st;
    JR_CLOSE int fd =
        jr_open_beneath(tails->run_fd, tail->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return -1;
    return jr_steal_fd(&fd);
}

static void put_tail_bytes(struct tails *tails, struct tail *tail, const char *bytes, size_t len)
{
    if (tails->named && tails->last != tail) {
        JR_BUF_CLEANUP struct jr_buf line = JR_BUF_INIT;
        jr_buf_printf(&line, "%s==> %s/%s <==\n", tails->last != NULL ? "\n" : "", tails->run_dir,
                      tail->path);
        emit_bytes(tails, line.data, line.len);
        tails->last = tail;
    }
    tail->last = bytes[len - 1];
    if (tails->view->terminal || tails->prefixed)
        show_tail_lines(tails, tail, bytes, len);
    else
        emit_bytes(tails, bytes, len);
}

/* Print what has been added to one file. */
static void copy_new_bytes(struct tails *tails, struct tail *tail)
{
    char bytes[65536];
    ssize_t n;
    while (tails->error == 0 && (n = pread(tail->fd, bytes, sizeof bytes, (off_t)tail->at)) > 0) {
        tail->at += (uint64_t)n;
        put_tail_bytes(tails, tail, bytes, (size_t)n);
    }
}

/* A log that outgrew its limit is another file now, which lacks more of the stream: go on in it
 * where we are in the stream, or at what it lacks. */
static bool switch_to_new_file(struct tails *tails, struct tail *tail)
{
    struct stat held, there;
    if (fstat(tail->fd, &held) != 0 ||
        fstatat(tails->run_fd, tail->path, &there, AT_SYMLINK_NOFOLLOW) != 0 ||
        (held.st_ino == there.st_ino && held.st_dev == there.st_dev))
        return false;
    int fd = open_rank_log(tails, tail);
    struct jr_log_gap *gap = &tail->gap;
    if (fd < 0)
        return false;
    copy_new_bytes(tails, tail); /* what came before the change */
    if (gap->len > 0 && tail->at > gap->at)
        tail->at += gap->dropped - gap->len;
    (void)close(tail->fd);
    tail->fd = fd;
    if (!jr_log_gap_find(fd, gap) || tail->at <= gap->at)
        return true;
    if (tail->at >= gap->at + gap->dropped) {
        tail->at -= gap->dropped - gap->len;
        return true;
    }
    tail->at = gap->at;
    if (tail->last != '\n')
        put_tail_bytes(tails, tail, "\n", 1);
    return true;
}

/* The files of attempts that have begun since. */
static void add_attempts(struct tails *tails)
{
    char folder[32];
    while (tails->view->attempt == NULL) {
        (void)snprintf(folder, sizeof folder, "attempt_%" PRIu32, tails->attempt + 1);
        if (jr_access(tails->run_fd, folder, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
            return;
        tails->attempt++;
        tails->last = NULL;
        for (size_t i = 0; i < tails->per_attempt; i++) {
            const struct tail *first = &tails->items[i];
            const char *rest = strchr(first->path, '/');
            if (rest != NULL)
                add_tail(tails, first->rank, jr_arena_printf(&tails->arena, "%s%s", folder, rest));
        }
    }
}

static void watch_log_folder(struct tails *tails, const char *path, uint32_t events)
{
    if (inotify_add_watch(tails->watch_fd, path, events) < 0 && errno != ENOENT)
        tails->blind = true;
}

/* Watch the `levels` folders above the path, the outer ones first: what is made in one that is
 * watched tells, and what was made before can be watched. */
static void watch_folders_above(struct tails *tails, char *path, int levels)
{
    char *slash = strrchr(path, '/');
    if (levels == 0 || slash == NULL)
        return;
    *slash = '\0';
    watch_folders_above(tails, path, levels - 1);
    watch_log_folder(tails, path, IN_CREATE | IN_MODIFY | IN_MOVED_TO);
    *slash = '/';
}

/* Watch the folders: that of each file for what is written there, and those above it for what has
 * yet to be made. Watching one twice is harmless. */
static void watch_tails(struct tails *tails)
{
    watch_log_folder(tails, tails->run_dir, IN_CREATE | IN_MOVED_TO);
    if (tails->events != NULL && tails->ranks.run_fd >= 0)
        watch_log_folder(tails, tails->events, IN_MODIFY);
    for (size_t i = 0; i < tails->count; i++) {
        JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
        jr_buf_printf(&path, "%s/%s", tails->run_dir, tails->items[i].path);
        if (!path.failed)
            watch_folders_above(tails, path.data, 3);
    }
}

/* Say whose lines come only when the attempt is over. */
static void note_apart_ranks(struct tails *tails)
{
    const struct jr_logs_view *view = tails->view;
    JR_BUF_CLEANUP struct jr_buf names = JR_BUF_INIT, line = JR_BUF_INIT;
    if (tails->ranks.run_fd < 0 || view->note == NULL)
        return;
    jr_live_ranks_update(&tails->ranks);
    const struct jr_live_ranks *live = &tails->ranks;
    JR_FREE uint32_t *ranks = calloc(live->count + 1, sizeof *ranks);
    size_t count = 0;
    for (size_t i = 0; ranks != NULL && i < live->count; i++)
        if (live->items[i].apart && jr_set_has(view->ranks, live->items[i].rank))
            ranks[count++] = live->items[i].rank;
    jr_set_print(&names, ranks, count);
    if (count > tails->apart && tails->live) {
        jr_buf_printf(&line,
                      "rank%s %s: on hosts that do not see this run folder; "
                      "what is left there comes when the attempt is over (on "
                      "such a host, jobrun logs --follow shows it now)",
                      count == 1 ? "" : "s", names.data);
        if (!names.failed && !line.failed)
            view->note(view->data, line.data);
    }
    tails->apart = count > tails->apart ? count : tails->apart;
}

static void copy_all_tails(struct tails *tails)
{
    for (struct tail *tail = tails->items; tail < tails->items + tails->count; tail++) {
        if (tail->fd < 0 && (tail->fd = open_rank_log(tails, tail)) >= 0) {
            if (tails->last_lines == 0)
                tail->at = (uint64_t)lseek(tail->fd, 0, SEEK_END);
            else if (tails->last_lines != UINT32_MAX)
                tail->at = find_tail_start(tail->fd, tails->last_lines);
            (void)jr_log_gap_find(tail->fd, &tail->gap);
        }
        if (tail->fd < 0)
            continue;
        do
            copy_new_bytes(tails, tail);
        while (tails->error == 0 && switch_to_new_file(tails, tail));
    }
}

/* The results are written last: once they are there, so is all output. */
static bool are_results_there(const struct tails *tails)
{
    for (char *const *end = tails->ends; *end != NULL; end++)
        if (jr_access(tails->run_fd, *end, F_OK, 0) != 0)
            return false;
    return true;
}

/* The run whose jobrun is to be waited for; of a run in parts, one of them. A run elsewhere cannot
 * be waited for, and may still write. */
static void watch_run(struct tails *tails)
{
    struct jr_live live;
    jr_hold_close(&tails->held);
    tails->live = false;
    if (jr_live_open(&live, tails->log_dir, tails->id, NULL) != 0)
        return;
    tails->live = live.standing == JR_STANDING_RUNNING || live.standing == JR_STANDING_ELSEWHERE;
    tails->held = live.held;
    live.held = JR_HOLD_NONE;
    jr_live_close(&live);
}

/* Sleep until something happens in the folders, or the run's jobrun ends. */
static void wait_for_more(struct tails *tails)
{
    char events[16384];
    struct pollfd fds[] = {{.fd = tails->watch_fd, .events = POLLIN},
                           {.fd = tails->held.fd, .events = POLLIN}};
    bool away = tails->blind || tails->held.fd < 0;
    if (poll(fds, 2, away ? LOOK_MS : -1) < 0) {
        tails->error = errno == EINTR ? 0 : errno;
        return;
    }
    if (fds[0].revents != 0 && read(tails->watch_fd, events, sizeof events) < 0 && errno != EAGAIN)
        tails->error = errno;
    if (tails->held.pid != 0 && jr_hold_has_ended(&tails->held))
        watch_run(tails);
}

/* What was written before the end was seen is printed after it. */
static void follow_tails(struct tails *tails)
{
    tails->watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (jr_live_ranks_open(&tails->ranks, tails->log_dir, tails->id, 0, NULL) != 0)
        tails->ranks.run_fd = -1;
    for (bool last = false; !last && tails->error == 0;) {
        add_attempts(tails);
        note_apart_ranks(tails);
        watch_tails(tails);
        last = !tails->live || are_results_there(tails);
        copy_all_tails(tails);
        tails->last_lines = UINT32_MAX; /* what comes now is new */
        if (!last && tails->error == 0)
            wait_for_more(tails);
    }
    if (tails->ranks.run_fd >= 0)
        jr_live_ranks_close(&tails->ranks);
}

static int print_tails(struct tails *tails, struct jr_error *err)
{
    bool follow = tails->view->follow;
    JR_CLOSE int run_fd = jr_record_folder_open(tails->log_dir, tails->id, NULL);
    tails->run_fd = run_fd;
    if (follow)
        follow_tails(tails);
    else
        copy_all_tails(tails);
    bool lost = follow && tails->error == 0 && !are_results_there(tails);
    if (tails->watch_fd >= 0)
        (void)close(tails->watch_fd);
    jr_hold_close(&tails->held);
    for (struct tail *tail = tails->items; tail < tails->items + tails->count; tail++) {
        if (tail->rest.len > 0)
            show_tail_line(tails, tail, tail->rest.len, tails->prefixed ? "\n" : "");
        jr_buf_release(&tail->rest);
        if (tail->fd >= 0)
            (void)close(tail->fd);
    }
    if (tails->error != 0 && tails->error != EPIPE)
        return jr_error_set(err, JR_STATUS_LAUNCH, "cannot print: %s", strerror(tails->error));
    if (lost)
        return jr_error_set(err, JR_STATUS_LAUNCH, "%s has ended, and left no results",
                            tails->run_dir);
    return 0;
}

int jr_logs_print(int out_fd, const char *log_dir, const char *id, const struct jr_logs_view *view,
                  struct jr_error *err)
{
    struct jr_record_logs logs = JR_RECORD_LOGS_INIT;
    if (jr_record_logs_load(&logs, log_dir, id, view->attempt, err) != 0)
        return -1;
    struct tails tails = {
        .view = view,
        .out_fd = out_fd,
        .log_dir = log_dir,
        .id = id,
        .ends = logs.ends,
        .run_fd = -1,
        .watch_fd = -1,
        .ranks = {.run_fd = -1},
        .held = JR_HOLD_NONE,
        .last_lines = view->tail == NULL ? UINT32_MAX : *view->tail,
    };
    tails.run_dir = jr_arena_printf(&tails.arena, "%s/%s", log_dir, id);
    tails.events = jr_arena_printf(&tails.arena, "%s/%s/events.jsonl", log_dir, id);
    int failed = choose_tails(&tails, &logs, err);
    if (failed == 0 && tails.count > 0) {
        watch_run(&tails);
        failed = print_tails(&tails, err);
    }
    jr_record_logs_release(&logs);
    jr_arena_release(&tails.arena);
    return failed;
}
