#include "record/live_run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/names.h"
#include "base/strv.h"
#include "base/syscalls.h"
#include "judge/words.h"
#include "record/multinode.h"
#include "record/record_facts.h"
#include "record/record_folder.h"
#include "spawn/cgroup_tree.h"
#include "store/run_folder.h"

#include "base/banned.h"

static const char *live_text(struct jr_live *live, const json_t *run, const char *key)
{
    const char *text = jr_json_get_str(run, key);
    return text == NULL ? NULL : jr_arena_strdup(&live->arena, text);
}

/* The process that began the run is gone; its companion may be about to write the results. */
static void find_companion(struct jr_live *live, int fd, const json_t *run)
{
    pid_t pid = jr_record_folder_companion(fd, run);
    struct jr_hold held = jr_hold_open(pid);
    if (pid < 0)
        live->standing = JR_STANDING_ELSEWHERE;
    if (held.pid == 0 || jr_record_folder_companion(fd, run) != pid) { /* it has ended by now */
        jr_hold_close(&held);
        return;
    }
    live->standing = JR_STANDING_RUNNING;
    live->held = held;
}

static void read_live_record(struct jr_live *live, int fd, const json_t *run)
{
    live->pid = (int32_t)jr_json_get_int(run, "pid");
    live->host = live_text(live, run, "host");
    live->user = live_text(live, run, "user");
    live->cgroup = live_text(live, run, "cgroup");
    live->part = live_text(live, run, "part");
    const char *me = jr_user_name(&live->arena, geteuid());
    live->ours = jr_trust_is_ours(&live->trust) && me != NULL && live->user != NULL &&
                 strcmp(me, live->user) == 0;
    live->contained = jr_record_folder_is_contained(run);
    live->placed = json_is_integer(json_object_get(run, "pid_namespace"));
    struct jr_hold held = jr_hold_open(live->pid);
    const char *standing = jr_record_folder_standing(run); /* of what is held */
    live->standing = strcmp(standing, "running") == 0     ? JR_STANDING_RUNNING
                     : strcmp(standing, "elsewhere") == 0 ? JR_STANDING_ELSEWHERE
                                                          : JR_STANDING_LOST;
    if (live->standing == JR_STANDING_RUNNING)
        live->held = held;
    else
        jr_hold_close(&held);
    if (live->standing == JR_STANDING_LOST)
        find_companion(live, fd, run);
    /* Last: what ended while we looked has its results by now. */
    json_auto_t *results = jr_record_folder_head(fd, "results.json");
    const char *word = jr_json_get_str(results, "status");
    enum jr_run_status status;
    bool known = word != NULL && jr_run_status_of(word, &status);
    live->exit_code = jr_record_folder_exit_code(results);
    live->status = known ? jr_run_status_word(status) : "unknown";
    if (results != NULL)
        live->standing = JR_STANDING_FINISHED;
}

/* In a run in parts, the part that was examined has ended meanwhile, but others may continue. */
static bool has_moved_on(const struct jr_live *live, int fd)
{
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
    if (live->part == NULL || live->standing != JR_STANDING_LOST)
        return false;
    jr_buf_printf(&path, "%s/results.json", live->part);
    return !path.failed && jr_access(fd, path.data, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int jr_live_open(struct jr_live *ret, const char *log_dir, const char *id, struct jr_error *err)
{
    struct jr_live live = {.held = JR_HOLD_NONE};
    struct jr_trust trust;
    JR_CLOSE int fd = jr_record_folder_enter(&trust, log_dir, id, err);
    if (fd < 0)
        return -1;
    do {
        json_t *run = jr_record_folder_json(fd, "run.json", err);
        jr_live_close(&live);
        if (run == NULL)
            return -1;
        live.trust = trust;
        read_live_record(&live, fd, run);
        json_decref(run);
    } while (has_moved_on(&live, fd));
    if (live.arena.failed) {
        jr_live_close(&live);
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    }
    *ret = live;
    return 0;
}

void jr_live_close(struct jr_live *live)
{
    jr_hold_close(&live->held);
    jr_arena_release(&live->arena);
    *live = (struct jr_live){.held = JR_HOLD_NONE};
}

#define WAIT_NS    (10 * UINT64_C(1000000000)) /* for what does not die */
#define MOST_LOOKS 65536                       /* entries of a log_dir that a start looks at */
#define MOST_LOST  256                         /* unfinished runs whose records it reads */

static unsigned clear_lost_run(struct jr_buf *out, const char *log_dir, const char *id)
{
    struct jr_live live;
    char run[128];
    uint32_t count = 0;
    bool left = false;
    if (jr_live_open(&live, log_dir, id, NULL) != 0)
        return 0;
    (void)snprintf(run, sizeof run, "%.*s", (int)strcspn(id, "/"), id);
    /* If a record does not say to which PID namespace its pid belongs, the run may live in another
     * one. A group that has a runner, or a process that we cannot see, is then not touched. */
    if (live.standing == JR_STANDING_LOST && live.ours && live.cgroup != NULL &&
        jr_group_is_of(live.cgroup, run) && (live.placed || !jr_group_may_be_led(live.cgroup)))
        count = jr_group_clear(live.cgroup, WAIT_NS, &left);
    jr_live_close(&live);
    if (count > 0)
        jr_buf_printf(out, "%sthe lost run %s had left %u process%s, now killed%s",
                      out->len > 0 ? "; " : "", id, count, count == 1 ? "" : "es",
                      left ? "; some could not be killed" : "");
    return count;
}

unsigned jr_lost_sweep(struct jr_buf *out, const char *log_dir, const char *id)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_strv ids = jr_multinode_ids(&arena, log_dir, id);
    unsigned count = 0;
    for (size_t i = 0; i < ids.count; i++)
        count += clear_lost_run(out, log_dir, ids.items[i]);
    return count;
}

/* Runs that have no results. Each start looks at those that were changed last:
 * an older one was among them when an earlier start looked. */
struct unfinished {
    struct {
        struct timespec changed;
        char id[NAME_MAX + 1];
    } runs[MOST_LOST];
    size_t count;
};

static bool is_earlier(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

static void add_unfinished(struct unfinished *list, const char *id, struct timespec changed)
{
    size_t at = 0;
    if (list->count < MOST_LOST) {
        at = list->count++;
    } else {
        for (size_t i = 1; i < list->count; i++)
            if (is_earlier(list->runs[i].changed, list->runs[at].changed))
                at = i;
        if (!is_earlier(list->runs[at].changed, changed))
            return;
    }
    list->runs[at].changed = changed;
    (void)snprintf(list->runs[at].id, sizeof list->runs[at].id, "%s", id);
}

/* Note the entry if it is one of our runs that has no results. The check is cheap, because most
 * runs have results, and those of other users are not opened. */
static void look_at_run(struct unfinished *list, int dir_fd, const struct dirent *entry)
{
    struct stat st;
    if ((entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) ||
        !jr_run_folder_is_id(entry->d_name) ||
        fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode) ||
        st.st_uid != geteuid())
        return;
    JR_CLOSE int fd = openat(dir_fd, entry->d_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && jr_access(fd, "results.json", F_OK, AT_SYMLINK_NOFOLLOW) != 0)
        add_unfinished(list, entry->d_name, st.st_mtim);
}

void jr_lost_sweep_all(const char *log_dir, void (*note)(void *data, const char *line), void *data)
{
    JR_CLOSEDIR DIR *dir = opendir(log_dir);
    const struct dirent *entry;
    struct unfinished *list = dir == NULL ? NULL : calloc(1, sizeof *list);
    for (unsigned looks = 0; list != NULL && looks < MOST_LOOKS && (entry = readdir(dir)) != NULL;
         looks++)
        look_at_run(list, dirfd(dir), entry);
    for (size_t i = 0; list != NULL && i < list->count; i++) {
        struct jr_buf line = JR_BUF_INIT;
        if (jr_lost_sweep(&line, log_dir, list->runs[i].id) > 0 && !line.failed)
            note(data, line.data);
        jr_buf_release(&line);
    }
    free(list);
}

bool jr_live_stays(const struct jr_live *live)
{
    return live->held.pid != 0 && !jr_hold_await(&live->held, JR_LIVE_LEAVE_MS);
}

int jr_live_await(struct jr_live *live, const char *log_dir, const char *id, uint64_t until_ns,
                  struct jr_error *err)
{
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
    char events[4096];
    /* It tells of files that come into the run folder; where it cannot, the jobrun's end does. */
    JR_CLOSE int folder = -1;
    jr_buf_printf(&path, "%s/%s", log_dir, id);
    if (live->standing == JR_STANDING_RUNNING && !path.failed)
        folder = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (folder >= 0 && inotify_add_watch(folder, path.data, IN_MOVED_TO | IN_CREATE) < 0) {
        (void)close(folder);
        folder = -1;
    }
    while (live->standing == JR_STANDING_RUNNING) {
        jr_live_close(live);
        if (jr_live_open(live, log_dir, id, err) != 0)
            return -1;
        if (live->standing != JR_STANDING_RUNNING)
            break;
        struct pollfd fds[] = {{.fd = live->held.fd, .events = POLLIN},
                               {.fd = folder, .events = POLLIN}};
        int ready = poll(fds, 2, jr_hold_poll_ms(&live->held, jr_clock_poll_ms(until_ns)));
        if (ready == 0 && jr_clock_poll_ms(until_ns) == 0)
            return 1;
        if (ready > 0 && fds[1].revents != 0)
            (void)!read(folder, events, sizeof events);
    }
    (void)jr_live_stays(live);
    return 0;
}

int jr_live_stop(const struct jr_live *live, const char *log_dir, const char *id, const char *name,
                 struct jr_error *err)
{
    if (!jr_trust_is_ours(&live->trust)) { /* it may be a forgery, or is another user's */
        JR_BUF_CLEANUP struct jr_buf why = JR_BUF_INIT;
        jr_trust_explain(&why, &live->trust);
        jr_buf_str(&why, ", so its record is not trusted and nothing was signalled (");
        if (live->trust.verdict == JR_TRUST_OPEN)
            jr_trust_correct(&why, &live->trust, log_dir, id);
        jr_buf_printf(&why, "%s)",
                      live->trust.verdict == JR_TRUST_OPEN ? ", if you know that it is yours"
                                                           : "its owner can stop it");
        return jr_error_set(err, JR_STATUS_LAUNCH, "%s %s", name,
                            why.failed ? "is not trusted" : why.data);
    }
    if (!live->ours)
        return jr_error_set(err, JR_STATUS_LAUNCH, "%s belongs to %s; it was left alone", name,
                            live->user == NULL ? "somebody else" : live->user);
    if (jr_hold_signal(&live->held, SIGTERM) != 0 && errno != ESRCH)
        return jr_error_set(err, JR_STATUS_LAUNCH, "pid %d of %s could not be signalled: %s",
                            live->pid, name, strerror(errno));
    (void)jr_hold_signal(&live->held, SIGCONT);
    return 0;
}

void jr_live_explain(struct jr_buf *out, const struct jr_live *live, const char *id)
{
    jr_buf_printf(out, "%s%s%s ", id, live->part == NULL ? "" : "/",
                  live->part == NULL ? "" : live->part);
    if (live->standing == JR_STANDING_LOST)
        jr_buf_printf(out, "is lost: its jobrun (pid %d) is gone and left no results", live->pid);
    else if (live->contained)
        jr_buf_printf(out,
                      "runs in another PID namespace of this host, such as a container, where pid "
                      "%d is its jobrun: run this command there",
                      live->pid);
    else
        jr_buf_printf(out, "runs on another host: run this command on %s",
                      live->host == NULL ? "it" : live->host);
}
