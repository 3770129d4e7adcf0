#include "spawn/start.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/pidfd.h"
#include "base/rank_set.h"
#include "base/raw_call.h"
#include "base/strv.h"
#include "base/syscalls.h"
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

/* Open /dev/null in its slot. */
static int fill_null_slot(void)
{
    JR_CLOSE int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return -1;
    /* Opened right where it is wanted: dup3 calls that an error. */
    if (fd == JR_SLOT_NULL)
        return jr_steal_fd(&fd) == JR_SLOT_NULL ? 0 : -1;
    return dup3(fd, JR_SLOT_NULL, O_CLOEXEC) == JR_SLOT_NULL ? 0 : -1;
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
    if (fill_null_slot() != 0 || fill_slot(JR_SLOT_DIR, dir) != 0 ||
        fill_slot(JR_SLOT_OUT, out) != 0 || fill_slot(JR_SLOT_ERR, err) != 0)
        return -1;
    for (int slot = JR_SLOT_PIPE_OUT; slot < JR_SLOT_END; slot++)
        if (fill_slot(slot, -1) != 0)
            return -1;
    return fill_slot(JR_SLOT_IN, in);
}

/* Where the kernel lacks close_range(2), a child cannot get rid of thousands of descriptors
 * cheaply: each start then copies them all, and execve closes them, for which all are marked here,
 * once. What jobrun opens later is marked from the beginning. */
static int find_lacks(struct jr_starter *starter)
{
    starter->blind = !jr_pidfd_works();
    starter->marks = !jr_close_range_works();
    starter->waits = !JR_RAW_CALLS || starter->blind || starter->marks;
    return starter->marks ? jr_close_range(STDERR_FILENO + 1, ~0U, JR_CLOSE_RANGE_CLOEXEC) : 0;
}

/* Nothing that jobrun ignores may stay ignored in a rank, except for what was so on entry by the
 * user's wish (nohup). */
static void read_ignored_signals(struct jr_starter *starter, const struct jr_run_options *options)
{
    for (int sig = 1; sig < NSIG; sig++) {
        struct sigaction action;
        bool kept = sigismember(&options->ignored, sig) == 1;
        if (kept || sigaction(sig, NULL, &action) != 0 || action.sa_handler != SIG_IGN)
            continue;
        starter->reset[starter->reset_count++] = sig;
    }
}

/* Have the kernel make the table of descriptors as large as it gets. While a child shares it, each
 * step would wait for an RCU grace period, milliseconds (expand_fdtable() of the kernel's
 * fs/file.c). */
static void widen_table(const struct jr_budget *budget)
{
    rlim_t most = budget->wanted.rlim_cur;
    if (budget->descriptors < most)
        most = budget->descriptors;
    int high = most > JR_SLOT_END && most < INT_MAX
                   ? fcntl(JR_SLOT_NULL, F_DUPFD_CLOEXEC, (int)most - 1)
                   : -1;
    if (high >= 0)
        (void)close(high);
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

static int open_flights(struct jr_starter *starter)
{
    char *stacks = mmap(NULL, JR_FLIGHTS * STACK_SIZE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stacks == MAP_FAILED)
        return -1;
    for (size_t n = 0; n < JR_FLIGHTS; n++) /* they grow downwards */
        starter->flights[n].stack = stacks + (n + 1) * STACK_SIZE;
    return 0;
}

int jr_starter_open(struct jr_starter *starter, const struct jr_plan *plan,
                    const struct jr_run_options *options, const struct jr_budget *budget)
{
    *starter = (struct jr_starter){.options = options,
                                   .runner = getpid(),
                                   .attempt_fd = -1,
                                   .controls = jr_control_wanted(plan),
                                   .pmi = plan->mpi.protocol == JR_MPI_PROTOCOL_PMI1,
                                   .line = choose_life_line(budget),
                                   .pipe_size = pipe_size(jr_start_cost(plan, options).pipes),
                                   .limits = &budget->limits};
    if (open_flights(starter) != 0 || fill_descriptor_slots(options) != 0 ||
        find_lacks(starter) != 0)
        return -1;
    widen_table(budget);
    starter->umask = umask(0);
    read_ignored_signals(starter, options);
    return 0;
}

/* Make a folder at `at`, or take the one that the head made, and open it: a descriptor that no rank
 * gets, or -1 with errno. */
static int make_attempt(const struct jr_starter *starter, const char *name)
{
    const struct jr_run_options *options = starter->options;
    struct stat st;
    char claimed[32];
    (void)snprintf(claimed, sizeof claimed, "attempt_%u", options->dir->claimed - 1);
    bool made = options->link != NULL || strcmp(name, claimed) == 0;
    if (mkdirat(JR_SLOT_DIR, name, options->dir->dir_mode) != 0 && (errno != EEXIST || !made))
        return -1;
    JR_CLOSE int fd = openat(JR_SLOT_DIR, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        return -1;
    errno = EEXIST;
    if (st.st_uid != geteuid())
        return -1;
    return fcntl(fd, F_DUPFD_CLOEXEC, JR_SLOT_END);
}

/* The attempt's folder, which the rank's folder `path` is to lie in. */
static int open_attempt(struct jr_starter *starter, const char *path)
{
    char name[NAME_MAX + 1];
    size_t len = strcspn(path, "/");
    errno = ENAMETOOLONG;
    if (len >= sizeof name)
        return -1;
    (void)stpcpy(mempcpy(name, path, len), "");
    starter->attempt_fd = make_attempt(starter, name);
    if (starter->attempt_fd < 0)
        return -1;
    /* Without it there is no progress, and nothing else is wrong. */
    (void)mkdirat(starter->attempt_fd, JR_PLAN_STEPS, starter->options->dir->dir_mode);
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

int jr_start_fill(const struct jr_child *child, int slot, int fd)
{
    int moved = dup3(fd, slot + child->shift, O_CLOEXEC);
    int error = errno;
    (void)close(fd);
    errno = error;
    return moved;
}

/* A pipe whose write end is in the stream's slot. */
static int open_pipe(const struct jr_starter *starter, struct jr_child *child, int stream,
                     struct jr_started *ret)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    ret->pipes[stream] = ends[0];
    if (starter->pipe_size != 0)
        (void)fcntl(ends[0], F_SETPIPE_SZ, starter->pipe_size);
    child->streams[stream].slot = jr_start_fill(child, JR_SLOT_PIPE_OUT + stream, ends[1]);
    return child->streams[stream].slot < 0 ? -1 : 0;
}

/* The file of a stream; a NULL path where it has none. */
static struct jr_child_stream stream_file(const struct jr_plan_rank *rank, int stream)
{
    enum jr_sink sink = stream == 0 ? rank->out : rank->err;
    struct jr_child_stream file = {0};
    if ((sink & JR_SINK_FILE) != 0)
        file.path = stream == 0 ? rank->out_path : rank->err_path;
    file.shared = jr_start_shares_file(rank);
    return file;
}

int jr_start_streams(struct jr_starter *starter, const struct jr_plan_rank *rank,
                     struct jr_child *child, struct jr_started *ret)
{
    for (int stream = 0; stream < 2; stream++) {
        struct jr_child_stream *to = &child->streams[stream];
        struct jr_child_stream file = stream_file(rank, stream);
        switch (jr_start_route(rank, stream, starter->options)) {
        case JR_ROUTE_INHERIT:
            to->slot = JR_SLOT_OUT + stream;
            break;
        case JR_ROUTE_FILE:
            *to = file;
            break;
        case JR_ROUTE_PIPE:
            ret->kept[stream] = file.path != NULL;
            if (open_pipe(starter, child, stream, ret) == 0)
                break;
            ret->stage = stream == 0 ? JR_STAGE_STDOUT : JR_STAGE_STDERR;
            return -1;
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

/* The set that a rank is bound to, as text in the plan. */
static int read_rank_cpus(struct jr_flight *flight, const char *text)
{
    flight->child.cpus = flight->cpus;
    flight->child.cpus_size = sizeof flight->cpus;
    errno = EINVAL;
    return jr_set_cpus(flight->cpus, sizeof flight->cpus, text) ? 0 : -1;
}

/* Make a socket pair, of which the rank's end is then in `slot`. */
static int open_socket(const struct jr_child *child, int slot, int *ret)
{
    int ends[2];
    if (jr_control_open(ends) != 0)
        return -1;
    *ret = ends[0];
    return jr_start_fill(child, slot, ends[1]) < 0 ? -1 : 0;
}

/* A pipe that cannot be had is no reason not to start a rank. */
static void open_life_line(const struct jr_starter *starter, struct jr_child *child,
                           struct jr_started *ret)
{
    int ends[2];
    if (starter->line == 0 || pipe2(ends, O_CLOEXEC) != 0)
        return;
    (void)fcntl(ends[0], F_SETPIPE_SZ, LINE_SIZE);
    ret->line = ends[0];
    if (jr_start_fill(child, JR_SLOT_LINE, ends[1]) >= 0)
        child->line = starter->line;
}

static int open_sockets(const struct jr_starter *starter, struct jr_child *child,
                        struct jr_started *ret)
{
    child->extra = starter->controls;
    child->pmi = starter->pmi;
    if (child->extra && open_socket(child, JR_SLOT_EXTRA, &ret->control) != 0)
        return -1;
    return child->pmi ? open_socket(child, JR_SLOT_PMI, &ret->pmi) : 0;
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

/* Nothing but a plain file: a FIFO in its place would hold us for ever. */
static int open_shared_log(const char *path, int flags, mode_t mode)
{
    struct stat st;
    JR_CLOSE int fd = jr_open_beneath(JR_SLOT_DIR, path, flags | O_NONBLOCK, mode);
    if (fd < 0)
        return -1;
    bool plain = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    if (plain && fcntl(fd, F_SETFL, O_APPEND) == 0)
        return jr_steal_fd(&fd);
    errno = EEXIST;
    return -1;
}

int jr_start_log(const struct jr_starter *starter, const struct jr_child_stream *to)
{
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY | O_CLOEXEC;
    mode_t mode = starter->options->dir->file_mode;
    if (to->shared)
        return open_shared_log(to->path, flags, mode);
    return jr_open_beneath(JR_SLOT_DIR, to->path, flags | O_EXCL, mode);
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
    child->argv = rank->argv;
    child->env = jr_exported_extend(
        &starter->exported,
        jr_exported_join(&starter->exported, rank->env, rank->env_own, rank->drop), starter->more);
    child->workdir = rank->workdir;
    child->input = rank->input;
    if (rank->cpus != NULL && read_rank_cpus(flight, rank->cpus) != 0)
        started->stage = JR_STAGE_CPUS;
    else if (child->env == NULL || open_sockets(starter, child, started) != 0)
        started->stage = JR_STAGE_CLONE;
    else if (jr_start_folder(starter, rank->dir) != 0)
        started->stage = JR_STAGE_FOLDER;
    else if (jr_start_streams(starter, rank, child, started) == 0) {
        open_life_line(starter, child, started);
        return 0;
    }
    return -1;
}

void jr_start_empty(const struct jr_child *child)
{
    for (int stream = 0; stream < 2; stream++)
        if (child->streams[stream].slot >= JR_SLOT_PIPE_OUT)
            (void)fill_slot(child->streams[stream].slot, -1);
}

void jr_start_settle(const struct jr_child *child, struct jr_started *started)
{
    started->error = started->stage == JR_STAGE_NONE ? 0 : errno;
    jr_start_empty(child);
    if (started->control >= 0)
        (void)fill_slot(JR_SLOT_EXTRA + child->shift, -1);
    if (started->pmi >= 0)
        (void)fill_slot(JR_SLOT_PMI + child->shift, -1);
    if (started->line >= 0)
        (void)fill_slot(JR_SLOT_LINE + child->shift, -1);
}
