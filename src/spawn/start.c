#include "spawn/start.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/pidfd.h"
#include "base/rank_set.h"
#include "base/raw_call.h"
#include "base/strv.h"
#include "base/syscalls.h"
#include "plan/planner.h"
#include "spawn/control.h"
#include "spawn/program.h"
#include "store/run_folder.h"

#include "base/banned.h"

#define STACK_SIZE (256U << 10)
/* Big pipes let a rank run on while the runner is elsewhere; together they stay within what one
 * unprivileged user may have (pipe-user-pages-soft). */
#define PIPE_ALLOWANCE (64U << 20)
#define PIPE_MOST      (1024 * 1024)
#define PIPE_USUAL     (64 * 1024)
#define LINE_SIZE      4096 /* of the life line's pipe: nobody writes to it */
#define LINE_MOST      1000 /* a table of more descriptors costs each fork */
#define UP_LOOK_NS     100000000

bool jr_start_shares_file(const struct jr_plan_rank *rank)
{
    return rank->out_path != NULL && rank->err_path != NULL &&
           strcmp(rank->out_path, rank->err_path) == 0;
}

bool jr_start_is_shown(const struct jr_plan_rank *rank, int stream,
                       const struct jr_run_options *options)
{
    enum jr_sink sink = stream == 0 ? rank->out : rank->err;
    int console = stream == 0 ? options->out_fd : options->err_fd;
    return (sink & JR_SINK_CONSOLE) != 0 && rank->on_console && console >= 0;
}

enum jr_route jr_start_route(const struct jr_plan_rank *rank, int stream,
                             const struct jr_run_options *options)
{
    enum jr_sink sink = stream == 0 ? rank->out : rank->err;
    int console = stream == 0 ? options->out_fd : options->err_fd;
    if (rank->input == JR_INPUT_TERMINAL)
        return JR_ROUTE_TERMINAL;
    if (sink == JR_SINK_INHERIT)
        return console < 0 ? JR_ROUTE_NULL : JR_ROUTE_INHERIT;
    if (rank->watched)
        return JR_ROUTE_PIPE;
    if (jr_start_is_shown(rank, stream, options))
        return JR_ROUTE_PIPE;
    if ((sink & JR_SINK_FILE) == 0)
        return JR_ROUTE_NULL;
    return rank->limited ? JR_ROUTE_PIPE : JR_ROUTE_FILE;
}

struct jr_start_cost jr_start_cost(const struct jr_plan *plan, const struct jr_run_options *options)
{
    struct jr_start_cost cost = {0};
    if (plan->setup.text != NULL)
        cost.pipes = cost.files = 2;
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct jr_plan_rank *rank = &plan->ranks[plan->first + i];
        for (int stream = 0; stream < 2; stream++) {
            if (jr_start_route(rank, stream, options) != JR_ROUTE_PIPE)
                continue;
            enum jr_sink sink = stream == 0 ? rank->out : rank->err;
            cost.pipes++;
            cost.files += (sink & JR_SINK_FILE) != 0;
        }
    }
    return cost;
}

/* In bytes; 0: as the kernel makes them. */
static int pipe_size(uint64_t pipes)
{
    int size = PIPE_MOST;
    while (size > PIPE_USUAL && pipes * (uint64_t)size > PIPE_ALLOWANCE)
        size /= 2;
    return size > PIPE_USUAL ? size : 0;
}

/* Put a copy of `fd` (or of /dev/null for -1) into `slot`. */
static int fill_slot(int slot, int fd)
{
    return dup3(fd < 0 ? JR_SLOT_NULL : fd, slot, O_CLOEXEC) == slot ? 0 : -1;
}

/* Whatever the caller has where the slots are goes on under another number:
 * it may be what holds a lease. Returns the new number of `fd`. */
static int move_above_slots(int fd)
{
    if (fd < JR_SLOT_DIR || fd >= JR_SLOT_END)
        return fd;
    return fcntl(fd, F_DUPFD_CLOEXEC, JR_SLOT_END);
}

static int fill_descriptor_slots(const struct jr_run_options *options)
{
    int dir = move_above_slots(options->dir->fd);
    int out = move_above_slots(options->out_fd);
    int err = move_above_slots(options->err_fd);
    int in = fcntl(options->in_fd, F_GETFD) < 0 ? -1 : options->in_fd;
    in = move_above_slots(in);
    for (int fd = JR_SLOT_DIR; fd < JR_SLOT_END; fd++)
        (void)move_above_slots(fd);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return -1;
    if (null != JR_SLOT_NULL) { /* dup3 calls it an error where it was opened right there */
        int moved = dup3(null, JR_SLOT_NULL, O_CLOEXEC);
        (void)close(null); /* before its number is taken for a slot */
        if (moved < 0)
            return -1;
    }
    if (fill_slot(JR_SLOT_DIR, dir) != 0 || fill_slot(JR_SLOT_OUT, out) != 0 ||
        fill_slot(JR_SLOT_ERR, err) != 0)
        return -1;
    for (int slot = JR_SLOT_PIPE_OUT; slot < JR_SLOT_END; slot++)
        if (fill_slot(slot, -1) != 0)
            return -1;
    return fill_slot(JR_SLOT_IN, in);
}

/* The highest descriptor that both ranks and runner may have. Below the slots there is no room for
 * it. */
static int choose_life_line(const struct jr_budget *budget)
{
    rlim_t most = budget->wanted.rlim_cur;
    for (unsigned i = 0; i < budget->limits.count; i++)
        if (budget->limits.items[i].resource == RLIMIT_NOFILE &&
            budget->limits.items[i].limit.rlim_cur < most)
            most = budget->limits.items[i].limit.rlim_cur;
    if (!budget->lines || most <= JR_SLOT_END + 1)
        return 0;
    return most > LINE_MOST ? LINE_MOST : (int)most - 1;
}

int jr_starter_open(struct jr_starter *starter, const struct jr_plan *plan,
                    const struct jr_run_options *options, const struct jr_budget *budget)
{
    *starter = (struct jr_starter){.plan = plan,
                                   .options = options,
                                   .runner = getpid(),
                                   .attempt_fd = -1,
                                   .controls = jr_control_wanted(plan),
                                   .pmi = plan->mpi.protocol == JR_MPI_PROTOCOL_PMI1,
                                   .line = choose_life_line(budget),
                                   .pipe_size = pipe_size(jr_start_cost(plan, options).pipes),
                                   .limits = &budget->limits};
    char *stacks = mmap(NULL, JR_FLIGHTS * STACK_SIZE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stacks == MAP_FAILED || fill_descriptor_slots(options) != 0)
        return -1;
    for (size_t n = 0; n < JR_FLIGHTS; n++) /* they grow downwards */
        starter->flights[n].stack = stacks + (n + 1) * STACK_SIZE;
    /* Where the kernel lacks close_range(2), a child cannot get rid of thousands of descriptors
     * cheaply: each start then copies them all, and execve closes them, for which all are marked
     * here, once. What jobrun opens later is marked from the beginning. */
    starter->blind = !jr_pidfd_works();
    starter->marks = !jr_close_range_works();
    starter->waits = !JR_RAW_CALLS || starter->blind || starter->marks;
    if (starter->marks && jr_close_range(STDERR_FILENO + 1, ~0U, JR_CLOSE_RANGE_CLOEXEC) != 0)
        return -1;
    /* Have the kernel make the table of descriptors as large as it gets. While a child shares it,
     * each step would wait for an RCU grace period, milliseconds (expand_fdtable() of the kernel's
     * fs/file.c). */
    rlim_t most = budget->wanted.rlim_cur;
    if (budget->descriptors < most)
        most = budget->descriptors;
    JR_CLOSE int high = most > JR_SLOT_END && most < INT_MAX
                            ? fcntl(JR_SLOT_NULL, F_DUPFD_CLOEXEC, (int)most - 1)
                            : -1;
    starter->umask = umask(0);
    /* Nothing that jobrun ignores may stay ignored in a rank, except for what was so on entry by
     * the user's wish (nohup). */
    for (int sig = 1; sig < NSIG; sig++) {
        struct sigaction action;
        bool kept = sigismember(&options->ignored, sig) == 1;
        if (!kept && sigaction(sig, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            starter->reset[starter->reset_count++] = sig;
    }
    return 0;
}

/* Make the attempt's folder, which the rank's folder `path` is to lie in, or take the one that the
 * head made, and open it: a descriptor that no rank gets. -1 with errno. */
static int open_attempt(struct jr_starter *starter, const char *path)
{
    const struct jr_run_options *options = starter->options;
    struct stat st;
    char name[NAME_MAX + 1], claimed[32];
    size_t len = strcspn(path, "/");
    errno = ENAMETOOLONG;
    if (len >= sizeof name)
        return -1;
    (void)stpcpy(mempcpy(name, path, len), "");
    (void)snprintf(claimed, sizeof claimed, "attempt_%u", options->dir->claimed - 1);
    bool made = options->link != NULL || strcmp(name, claimed) == 0;
    if (mkdirat(JR_SLOT_DIR, name, options->dir->dir_mode) != 0 && (errno != EEXIST || !made))
        return -1;
    JR_CLOSE int fd = openat(JR_SLOT_DIR, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        return -1;
    errno = EEXIST;
    if (st.st_uid == geteuid())
        starter->attempt_fd = fcntl(fd, F_DUPFD_CLOEXEC, JR_SLOT_END);
    if (starter->attempt_fd < 0)
        return -1;
    /* Without it there is no progress, and nothing else is wrong. */
    (void)mkdirat(starter->attempt_fd, JR_PLAN_STEPS, options->dir->dir_mode);
    return 0;
}

int jr_start_folder(struct jr_starter *starter, const char *path)
{
    if (path == NULL || (starter->made != NULL && strcmp(path, starter->made) == 0))
        return 0;
    if (starter->attempt_fd < 0 && open_attempt(starter, path) != 0)
        return -1;
    if (mkdirat(starter->attempt_fd, strchr(path, '/') + 1, starter->options->dir->dir_mode) != 0)
        return -1;
    if (starter->made == NULL)
        starter->made = path;
    return 0;
}

/* Move a descriptor into a slot of the child's flight; `slot` is that of the first flight. Returns
 * the slot's number, or -1 with errno; either way `fd` is closed. */
static int fill_flight_slot(const struct jr_child *child, int slot, int fd)
{
    int moved = dup3(fd, slot + child->shift, O_CLOEXEC);
    int error = errno;
    (void)close(fd);
    errno = error;
    return moved;
}

int jr_start_streams(struct jr_starter *starter, const struct jr_plan_rank *rank,
                     struct jr_child *child, struct jr_started *ret)
{
    for (int stream = 0; stream < 2; stream++) {
        struct jr_child_stream *to = &child->streams[stream];
        enum jr_sink sink = stream == 0 ? rank->out : rank->err;
        struct jr_child_stream file = {.shared = jr_start_shares_file(rank)};
        int ends[2];
        if ((sink & JR_SINK_FILE) != 0)
            file.path = stream == 0 ? rank->out_path : rank->err_path;
        switch (jr_start_route(rank, stream, starter->options)) {
        case JR_ROUTE_INHERIT:
            to->slot = JR_SLOT_OUT + stream;
            break;
        case JR_ROUTE_FILE:
            *to = file;
            break;
        case JR_ROUTE_PIPE:
            ret->kept[stream] = file.path != NULL;
            ret->stage = stream == 0 ? JR_STAGE_STDOUT : JR_STAGE_STDERR;
            if (pipe2(ends, O_CLOEXEC) != 0)
                return -1;
            ret->pipes[stream] = ends[0];
            if (starter->pipe_size != 0)
                (void)fcntl(ends[0], F_SETPIPE_SZ, starter->pipe_size);
            to->slot = fill_flight_slot(child, JR_SLOT_PIPE_OUT + stream, ends[1]);
            if (to->slot < 0)
                return -1;
            ret->stage = JR_STAGE_NONE;
            break;
        case JR_ROUTE_TERMINAL:
            to->slot = JR_SLOT_IN;
            break;
        case JR_ROUTE_NULL:
            to->slot = JR_SLOT_NULL;
            break;
        }
    }
    return 0;
}

/* Make a socket pair, of which the rank's end is then in `slot`. */
static int open_socket(const struct jr_child *child, int slot, int *ret)
{
    int ends[2];
    if (jr_control_open(ends) != 0)
        return -1;
    *ret = ends[0];
    return fill_flight_slot(child, slot, ends[1]) < 0 ? -1 : 0;
}

void jr_start_beside(const struct jr_starter *starter, const struct jr_plan_rank *rank,
                     const char *name, char *ret, size_t size)
{
    const char *dir = rank->dir == NULL ? "" : rank->dir;
    const char *slash = strrchr(dir, '/');
    int len = slash == NULL ? 0 : (int)(slash + 1 - dir);
    if (starter->options->link != NULL)
        (void)snprintf(ret, size, JR_NODE_DIR "/%.*s%s", rank->node_rank, len, dir, name);
    else
        (void)snprintf(ret, size, "%.*s%s", len, dir, name);
}

int jr_start_log(const struct jr_starter *starter, const struct jr_child_stream *to)
{
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY | O_CLOEXEC;
    mode_t mode = starter->options->dir->file_mode;
    struct stat st;
    if (!to->shared)
        return jr_open_beneath(JR_SLOT_DIR, to->path, flags | O_EXCL, mode);
    JR_CLOSE int fd = jr_open_beneath(JR_SLOT_DIR, to->path, flags | O_NONBLOCK, mode);
    if (fd < 0)
        return -1;
    /* Nothing but a plain file: a FIFO in its place would hold us for ever. */
    bool plain = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    if (plain && fcntl(fd, F_SETFL, O_APPEND) == 0)
        return jr_steal_fd(&fd);
    errno = EEXIST;
    return -1;
}

void jr_start_child(struct jr_starter *starter, struct jr_child *ret)
{
    *ret = (struct jr_child){
        .runner = starter->runner,
        .program = starter->program.path,
        .umask = starter->umask,
        .reset = starter->reset,
        .reset_count = starter->reset_count,
        .shielded = starter->options->shields,
        .limits = starter->limits,
        .marked = starter->marks,
    };
}

int jr_start_prepare(struct jr_starter *starter, unsigned n, const struct jr_plan_rank *rank)
{
    struct jr_flight *flight = &starter->flights[n];
    struct jr_child *child = &flight->child;
    struct jr_started *started = &flight->started;
    *started = JR_STARTED_NONE;
    jr_start_child(starter, child);
    child->shift = (int)n * (JR_SLOT_NEXT - JR_SLOT_PIPE_OUT);
    jr_arena_release(&flight->words);
    char **env = rank->env;
    if (env == NULL)
        env = jr_plan_rank_at(starter->plan, rank->rank, &flight->words).env;
    child->argv = rank->argv;
    child->env = jr_exported_extend(
        &starter->exported, jr_exported_join(&starter->exported, env, rank->env_own, rank->drop),
        starter->more);
    child->workdir = rank->workdir;
    child->input = rank->input;
    child->extra = starter->controls;
    child->pmi = starter->pmi;
    if (rank->cpus != NULL) {
        child->cpus = flight->cpus;
        child->cpus_size = sizeof flight->cpus;
        errno = EINVAL;
    }
    if (rank->cpus != NULL && !jr_set_cpus(flight->cpus, sizeof flight->cpus, rank->cpus))
        started->stage = JR_STAGE_CPUS;
    else if (child->env == NULL || flight->words.failed ||
             (child->extra && open_socket(child, JR_SLOT_EXTRA, &started->control) != 0) ||
             (child->pmi && open_socket(child, JR_SLOT_PMI, &started->pmi) != 0))
        started->stage = JR_STAGE_CLONE;
    else if (jr_start_folder(starter, rank->dir) != 0)
        started->stage = JR_STAGE_FOLDER;
    if (started->stage != JR_STAGE_NONE || jr_start_streams(starter, rank, child, started) != 0)
        return -1;
    /* A life line that cannot be had is no reason not to start a rank. */
    int ends[2];
    if (starter->line == 0 || pipe2(ends, O_CLOEXEC) != 0)
        return 0;
    (void)fcntl(ends[0], F_SETPIPE_SZ, LINE_SIZE);
    started->line = ends[0];
    if (fill_flight_slot(child, JR_SLOT_LINE, ends[1]) >= 0)
        child->line = starter->line;
    return 0;
}

static void empty_stream_slots(const struct jr_child *child)
{
    for (int stream = 0; stream < 2; stream++)
        if (child->streams[stream].slot >= JR_SLOT_PIPE_OUT)
            (void)fill_slot(child->streams[stream].slot, -1);
}

void jr_start_settle(const struct jr_child *child, struct jr_started *started)
{
    started->error = started->stage == JR_STAGE_NONE ? 0 : errno;
    empty_stream_slots(child);
    if (started->control >= 0)
        (void)fill_slot(JR_SLOT_EXTRA + child->shift, -1);
    if (started->pmi >= 0)
        (void)fill_slot(JR_SLOT_PMI + child->shift, -1);
    if (started->line >= 0)
        (void)fill_slot(JR_SLOT_LINE + child->shift, -1);
}

/*
 * The part between the descriptors of a rank and its execve: the clone, and the wait for what came
 * of it.
 */

/* The log files of streams that have no pipe. -1 with ret->stage and errno. */
static int open_child_logs(const struct jr_starter *starter, struct jr_child *child,
                           struct jr_started *ret)
{
    for (int stream = 0; stream < 2; stream++) {
        struct jr_child_stream *to = &child->streams[stream];
        if (to->path == NULL)
            continue;
        int fd = jr_start_log(starter, to);
        if (fd >= 0)
            to->slot = fill_flight_slot(child, JR_SLOT_PIPE_OUT + stream, fd);
        if (fd >= 0 && to->slot >= 0)
            continue;
        ret->stage = stream == 0 ? JR_STAGE_STDOUT : JR_STAGE_STDERR;
        return -1;
    }
    return 0;
}

/* The child's table of descriptors is the runner's own until it has left what it does not need of
 * it (child.c). */
static int clone_flight(const struct jr_starter *starter, struct jr_flight *flight, bool waits)
{
    struct jr_started *ret = &flight->started;
    int flags = CLONE_VM | SIGCHLD;
    int stand_in = starter->blind ? jr_pidfd_stand_in() : -1;
    if (starter->blind && stand_in < 0)
        return -1;
    if (!starter->blind)
        flags |= CLONE_PIDFD;
    if (!starter->marks)
        flags |= CLONE_FILES;
    flags |= waits ? CLONE_VFORK : CLONE_CHILD_CLEARTID;
    flight->up = flight->held = !waits;
    flight->child.held = waits ? NULL : &flight->held;
    ret->pid =
        clone(jr_child_main, flight->stack, flags, &flight->child, &ret->pidfd, NULL, &flight->up);
    ret->at_ns = jr_clock_ns();
    if (stand_in >= 0)
        ret->pidfd = stand_in;
    if (ret->pid >= 0)
        return 0;
    int error = errno;
    if (stand_in >= 0)
        (void)close(stand_in);
    flight->up = flight->held = 0;
    ret->pidfd = -1;
    errno = error;
    return -1;
}

/* Find the program, open the logs, and clone. */
static int begin_flight(struct jr_starter *starter, struct jr_flight *flight)
{
    struct jr_child *child = &flight->child;
    struct jr_started *ret = &flight->started;
    bool searched = strchr(child->argv[0], '/') == NULL;
    const char *path = searched ? jr_env_get(child->env, "PATH") : NULL;
    ret->stage = JR_STAGE_EXEC;
    errno = jr_program_find(&starter->program, child->argv[0], path, child->workdir);
    if (errno != 0)
        return -1;
    child->program = flight->program;
    (void)stpcpy(flight->program, starter->program.path);
    if (open_child_logs(starter, child, ret) != 0)
        return -1;
    ret->stage = JR_STAGE_CLONE;
    bool waits = jr_start_width(starter) == 1;
    int failed = clone_flight(starter, flight, waits);
    /* Where processes cannot share memory but for the time in which the one sleeps, such as in an
     * emulator, the first start tells. */
    if (failed != 0 && !waits && (errno == EINVAL || jr_call_is_missing(errno))) {
        starter->waits = true;
        failed = clone_flight(starter, flight, true);
    }
    if (failed == 0)
        ret->stage = JR_STAGE_NONE;
    return failed;
}

static void release_flight(struct jr_flight *flight)
{
    if (flight->held == 0)
        return;
    __atomic_store_n(&flight->held, 0, __ATOMIC_RELEASE);
    (void)syscall(SYS_futex, &flight->held, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Returns 0 once it executes, else -1 with the stage and errno. */
static int end_flight(struct jr_flight *flight)
{
    struct jr_child *child = &flight->child;
    struct jr_started *ret = &flight->started;
    release_flight(flight);
    /* The kernel wakes us when the child executes or ends. Some do not when it is killed, so its
     * end is looked for, too. */
    while (__atomic_load_n(&flight->up, __ATOMIC_ACQUIRE) != 0)
        if (syscall(SYS_futex, &flight->up, FUTEX_WAIT, 1,
                    &(struct timespec){.tv_nsec = UP_LOOK_NS}, NULL, 0) != 0 &&
            errno == ETIMEDOUT && jr_child_has_ended(ret->pidfd, ret->pid))
            break;
    ret->stage = child->stage;
    if (ret->stage == JR_STAGE_NONE)
        return 0;
    (void)waitpid(ret->pid, NULL, 0);
    (void)close(ret->pidfd);
    ret->pidfd = -1;
    ret->pid = 0;
    errno = child->error;
    if (ret->stage == JR_STAGE_EXEC)
        errno = jr_program_refine_errno(child->program, child->workdir, errno);
    return -1;
}

int jr_start_program(struct jr_starter *starter, struct jr_child *child, struct jr_started *ret)
{
    struct jr_flight *flight = &starter->flights[0];
    flight->child = *child;
    flight->started = *ret;
    int failed = begin_flight(starter, flight);
    if (failed == 0)
        failed = end_flight(flight);
    int error = errno;
    empty_stream_slots(&flight->child);
    *child = flight->child;
    *ret = flight->started;
    errno = error;
    return failed;
}

unsigned jr_start_width(const struct jr_starter *starter)
{
    bool made = starter->exported.there || starter->more != NULL;
    return starter->waits || made ? 1 : JR_FLIGHTS;
}

int jr_start_begin(struct jr_starter *starter, unsigned n, const struct jr_plan_rank *rank)
{
    struct jr_flight *flight = &starter->flights[n];
    if (jr_start_prepare(starter, n, rank) == 0 && begin_flight(starter, flight) == 0)
        return 0;
    flight->started.error = errno;
    return -1;
}

void jr_start_release(struct jr_starter *starter, unsigned n)
{
    release_flight(&starter->flights[n]);
}

void jr_start_end(struct jr_starter *starter, unsigned n, struct jr_started *ret)
{
    struct jr_flight *flight = &starter->flights[n];
    errno = flight->started.error;
    if (flight->started.stage == JR_STAGE_NONE)
        (void)end_flight(flight);
    jr_start_settle(&flight->child, &flight->started);
    *ret = flight->started;
}

void jr_start_spawn(struct jr_starter *starter, const struct jr_plan_rank *rank,
                    struct jr_started *ret)
{
    (void)jr_start_begin(starter, 0, rank);
    jr_start_end(starter, 0, ret);
}
