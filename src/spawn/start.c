#include "spawn/start.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "spawn/control.h"
#include "store/run_folder.h"

#include "base/banned.h"

#define STACK_SIZE (256U << 10)
/* Big pipes let a rank run on while the runner is elsewhere; together they stay
 * within what one unprivileged user may have (pipe-user-pages-soft). */
#define PIPE_ALLOWANCE (64U << 20)
#define PIPE_MOST      (1024 * 1024)
#define PIPE_USUAL     (64 * 1024)

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
    if (jr_start_is_shown(rank, stream, options))
        return JR_ROUTE_PIPE;
    if ((sink & JR_SINK_FILE) == 0)
        return JR_ROUTE_NULL;
    return rank->limited ? JR_ROUTE_PIPE : JR_ROUTE_FILE;
}

struct jr_start_cost jr_start_cost(const struct jr_plan *plan,
                                   const struct jr_run_options *options)
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

/* Put a copy of `fd` (or /dev/null for -1) into `slot`. */
static int fill_slot(int slot, int fd)
{
    JR_CLOSE int null = -1;
    if (fd < 0)
        fd = null = open("/dev/null", O_RDWR | O_CLOEXEC);
    /* Opened right where it is wanted: dup3 calls that an error. */
    if (fd == slot)
        return jr_steal_fd(&null) == slot ? 0 : -1;
    if (fd < 0 || dup3(fd, slot, O_CLOEXEC) < 0)
        return -1;
    return 0;
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
    if (fill_slot(JR_SLOT_DIR, dir) != 0 || fill_slot(JR_SLOT_NULL, -1) != 0 ||
        fill_slot(JR_SLOT_OUT, out) != 0 || fill_slot(JR_SLOT_ERR, err) != 0)
        return -1;
    if (fill_slot(JR_SLOT_PIPE_OUT, -1) != 0 ||
        fill_slot(JR_SLOT_PIPE_ERR, -1) != 0 ||
        fill_slot(JR_SLOT_IN, in) != 0 || fill_slot(JR_SLOT_EXTRA, -1) != 0)
        return -1;
    return 0;
}

/* Nothing that jobrun ignores may stay ignored in a rank, but for what was so
 * on entry by the user's wish (nohup). */
static void learn_ignored(struct jr_starter *starter,
                          const struct jr_run_options *options)
{
    for (int sig = 1; sig < NSIG; sig++) {
        struct sigaction action;
        bool kept = sigismember(&options->ignored, sig) == 1;
        if (kept || sigaction(sig, NULL, &action) != 0 ||
            action.sa_handler != SIG_IGN)
            continue;
        starter->reset[starter->reset_count++] = sig;
    }
}

int jr_starter_open(struct jr_starter *starter, const struct jr_plan *plan,
                    const struct jr_run_options *options,
                    const struct jr_budget *budget)
{
    *starter = (struct jr_starter){
        .options = options,
        .runner = getpid(),
        .attempt_fd = -1,
        .controls = jr_control_wanted(plan),
        .pipe_size = pipe_size(jr_start_cost(plan, options).pipes),
        .limits = &budget->limits,
        .stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0)};
    if (starter->stack == MAP_FAILED || fill_descriptor_slots(options) != 0)
        return -1;
    starter->stack += STACK_SIZE; /* it grows downwards */
    starter->umask = umask(0);
    learn_ignored(starter, options);
    return 0;
}
