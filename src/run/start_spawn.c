#include "start.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rundir.h"
#include "set.h"
#include "strv.h"

#include "banned.h"

/* Make a rank's folder, and the attempt's above it when it is the first. */
static int make_folder(const struct jr_rundir *dir, const char *path)
{
    if (path == NULL || mkdirat(JR_SLOT_DIR, path, dir->dir_mode) == 0 ||
        errno == EEXIST)
        return 0;
    const char *slash = strrchr(path, '/');
    if (errno != ENOENT || slash == NULL)
        return -1;
    char parent[PATH_MAX];
    size_t len = (size_t)(slash - path);
    if (len >= sizeof parent)
        return -1;
    memcpy(parent, path, len);
    parent[len] = '\0';
    if (make_folder(dir, parent) != 0)
        return -1;
    return mkdirat(JR_SLOT_DIR, path, dir->dir_mode);
}

/* A pipe whose write end stands in the stream's slot; the log file beside it
 * is opened here, since it is the runner that writes it. */
static int open_pipe(const struct jr_starter *starter,
                     const struct jr_plan_rank *rank, int stream,
                     struct jr_started *ret)
{
    enum jr_sink sink = stream == 0 ? rank->out : rank->err;
    const char *path = stream == 0 ? rank->out_path : rank->err_path;
    if ((sink & JR_SINK_FILE) != 0 && path != NULL) {
        ret->files[stream] =
            openat(JR_SLOT_DIR, path,
                   O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
                   starter->options->dir->file_mode);
        if (ret->files[stream] < 0)
            return -1;
    }
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    ret->pipes[stream] = ends[0];
    (void)fcntl(ends[0], F_SETPIPE_SZ, starter->pipe_size);
    int slot = dup3(ends[1], JR_SLOT_PIPE_OUT + stream, O_CLOEXEC);
    (void)close(ends[1]);
    return slot < 0 ? -1 : 0;
}

static int open_streams(const struct jr_starter *starter,
                        const struct jr_plan_rank *rank, struct jr_child *child,
                        struct jr_started *ret)
{
    for (int stream = 0; stream < 2; stream++) {
        struct jr_child_stream *to = &child->streams[stream];
        switch (jr_start_route(rank, stream, starter->options)) {
        case JR_ROUTE_INHERIT:
            to->slot = JR_SLOT_OUT + stream;
            break;
        case JR_ROUTE_FILE:
            to->path = stream == 0 ? rank->out_path : rank->err_path;
            break;
        case JR_ROUTE_PIPE:
            to->slot = JR_SLOT_PIPE_OUT + stream;
            if (open_pipe(starter, rank, stream, ret) == 0)
                break;
            ret->stage = stream == 0 ? JR_STAGE_STDOUT : JR_STAGE_STDERR;
            return -1;
        case JR_ROUTE_NULL:
            to->slot = JR_SLOT_NULL;
            break;
        }
    }
    return 0;
}

static void close_write_ends(const struct jr_started *started)
{
    for (int stream = 0; stream < 2; stream++)
        if (started->pipes[stream] >= 0)
            (void)dup3(JR_SLOT_NULL, JR_SLOT_PIPE_OUT + stream, O_CLOEXEC);
}

/* The set that a rank is bound to, as text in the plan. */
static int read_cpus(struct jr_starter *starter, const char *text,
                     struct jr_child *child)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_set set = {0};
    const char *bad;
    uint32_t last = 0;
    bool good = jr_set_parse(&set, &arena, text, &bad) &&
                jr_set_max(&set, &last) && last < JR_CPUS;
    child->cpus = starter->cpus;
    child->cpus_size = sizeof starter->cpus;
    CPU_ZERO_S(child->cpus_size, starter->cpus);
    for (uint32_t cpu = 0; good && cpu <= last; cpu++)
        if (jr_set_has(&set, cpu))
            CPU_SET_S(cpu, child->cpus_size, starter->cpus);
    jr_arena_release(&arena);
    errno = EINVAL;
    return good ? 0 : -1;
}

static void start_child(struct jr_starter *starter, struct jr_child *child,
                        struct jr_started *ret)
{
    int flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | CLONE_FILES | SIGCHLD;
    ret->pid = clone(jr_child_main, starter->stack, flags, child, &ret->pidfd);
    if (ret->pid < 0) {
        ret->stage = JR_STAGE_CLONE;
        return;
    }
    ret->stage = child->stage;
    if (ret->stage == JR_STAGE_NONE)
        return;
    (void)waitpid(ret->pid, NULL, 0);
    (void)close(ret->pidfd);
    ret->pidfd = -1;
    ret->pid = 0;
    errno = child->error;
    if (ret->stage == JR_STAGE_EXEC)
        errno = jr_program_blame(child->program, child->workdir, errno);
}

void jr_start_spawn(struct jr_starter *starter, const struct jr_plan_rank *rank,
                    struct jr_started *ret)
{
    *ret =
        (struct jr_started){.pidfd = -1, .pipes = {-1, -1}, .files = {-1, -1}};
    struct jr_child child = {
        .runner = starter->runner,
        .program = starter->program.path,
        .argv = rank->argv,
        .env = rank->env,
        .workdir = rank->workdir,
        .file_mode = starter->options->dir->file_mode,
        .umask = starter->umask,
        .reset = starter->reset,
        .reset_count = starter->reset_count,
        .nofile = starter->nofile,
    };
    int missing = jr_program_find(&starter->program, rank->argv[0],
                                  jr_env_get(rank->env, "PATH"), rank->workdir);
    if (missing != 0) {
        ret->stage = JR_STAGE_EXEC;
        errno = missing;
    } else if (rank->cpus != NULL &&
               read_cpus(starter, rank->cpus, &child) != 0) {
        ret->stage = JR_STAGE_CPUS;
    } else if (make_folder(starter->options->dir, rank->dir) != 0) {
        ret->stage = JR_STAGE_FOLDER;
    } else if (open_streams(starter, rank, &child, ret) == 0) {
        start_child(starter, &child, ret);
    }
    ret->error = ret->stage == JR_STAGE_NONE ? 0 : errno;
    close_write_ends(ret);
}
