/*
 * Who failed first. internal.h declares it.
 *
 * A rank that dies closes its connections long before it can be reaped: the kernel closes its files
 * while it exits, an interpreter closes them while it finalizes. Peers that notice may fail, and
 * even be reaped, before it. So the order is not that of reaping but of these, each noted with its
 * time as the loop hears of it, which is in the kernel's order:
 *
 * - The life line of a rank hangs up (spawn/start.h): it has begun to die. One
 *   that hangs up because the rank closes all its files is taken back where the
 *   rank is seen to go on. One that has not hung up when its rank is reaped is
 *   held by what the rank started, and tells nothing. Nobody is woken for a
 *   line: lines are read, in their order, before anything else is noted.
 * - A worker (a Python or library entrypoint) reports that its rank raised an
 *   exception, or exits with a code that is not 0, before any of its
 *   connections are closed, and waits for the answer.
 * - Who has no line is looked at in /proc, one small file per rank, when the
 *   first failure is known and again just before the stop signal is sent: what
 *   begins to end after that is never the cause.
 *
 * What tells more about a rank that failed by itself is noted with it: whether it failed as only
 * who lost a peer does, and a hash of its last words (failure_words.c).
 *
 * A rank may have let go of its peers before its failure can be seen at all: it closed its
 * connections and cleans up, or its program runs under a shell. So the stop that follows a failure
 * is held for HOLD_NS, and for as much again whenever another rank fails by itself; where several
 * have failed and one alone is left, until that ends; and as long as one that announced its failure
 * is still exiting, so that it is seen how it ends. HOLD_MOST_NS is the most. A death by a signal
 * that the rank did not raise by failing itself (SIGABRT and SIGPIPE are what is left of an
 * assertion and of a lost peer) holds nothing, and ends a hold. On several nodes each holds its own
 * stop: the others do not know of it before (run_options.h: the link).
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/proc.h"
#include "run/failure_words.h"
#include "run/internal.h"

#include "base/banned.h"

#define MS           UINT64_C(1000000)
#define HOLD_NS      (20 * MS)
#define HOLD_MOST_NS (500 * MS)
#define STILL_NS     MS         /* a look that is no older is a new one */
#define DYING_NS     (200 * MS) /* from the end of a life line until the reap */

/* More than any traceback; a foreign file of gigabytes is not read. */
static const size_t MAX_ERROR_FILE = (size_t)4 << 20;

static void on_line_end(void *owner, uint32_t events)
{
    struct jr_rank_run *rank = owner;
    if ((events & EPOLLHUP) == 0)
        return;
    jr_loop_close(&rank->line);
    rank->outcome->line_ns = jr_clock_ns();
}

void jr_first_failure_watch(struct jr_rank_run *rank, int line)
{
    rank->line = (struct jr_watch){.fd = line, .ready = on_line_end, .owner = rank};
    if (line < 0)
        return;
    struct pollfd end = {.fd = line};
    /* While the start was under way we had the other end, too: what has hung up by now did so when
     * we let go of it. */
    if (jr_loop_add(&rank->runner->first_failure.lines, &rank->line, 0) != 0 ||
        poll(&end, 1, 0) != 0)
        jr_loop_close(&rank->line);
}

void jr_first_failure_hear_lines(struct jr_runner *runner)
{
    while (jr_loop_turn(&runner->first_failure.lines, true) > 0)
        continue;
}

static void note_exiting_ranks(struct jr_runner *runner)
{
    jr_first_failure_hear_lines(runner);
    for (uint32_t i = 0; i < runner->next; i++) {
        const struct jr_rank_run *rank = &runner->ranks[i];
        struct jr_rank_outcome *outcome = rank->outcome;
        if (rank->pid == 0 || rank->watch.fd < 0 || outcome->exiting_ns != 0)
            continue;
        /* A /proc of another PID namespace would tell of somebody else: the parent must be us. A
         * main thread that ended alone is a zombie, too, while the others live. */
        struct jr_proc proc;
        bool seen = jr_proc_of(&proc, rank->pid) && proc.parent == getpid();
        bool exiting =
            seen && jr_proc_is_exiting(&proc) && (proc.state != 'Z' || proc.threads <= 1);
        uint64_t now = jr_clock_ns();
        if (exiting)
            outcome->exiting_ns = now;
        else
            outcome->alive_ns = now;
        if (seen && !exiting)
            outcome->line_ns = 0;
    }
    runner->first_failure.noted_ns = jr_clock_ns();
}

void jr_first_failure_note_exiting(struct jr_runner *runner)
{
    uint64_t before = runner->first_failure.noted_ns;
    if (before == 0 || jr_clock_ns() - before > STILL_NS)
        note_exiting_ranks(runner);
}

static void note_first(struct jr_runner *runner)
{
    if (runner->first_failure.noted_ns == 0)
        note_exiting_ranks(runner);
}

/* By the end of the file. */
static struct jr_failure_words read_last_words(const char *path)
{
    char tail[JR_FAILURE_TAIL];
    struct stat st;
    ssize_t len = 0;
    JR_CLOSE int fd =
        openat(JR_SLOT_DIR, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        len = pread(fd, tail, sizeof tail,
                    st.st_size > (off_t)sizeof tail ? st.st_size - (off_t)sizeof tail : 0);
    return jr_failure_words_of_output(tail, len > 0 ? (size_t)len : 0);
}

/* What its error.json says; false where it has none of its own. */
static bool read_error_words(const struct jr_rank_run *rank, struct jr_failure_words *ret)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    const char *path = rank->plan->error_path;
    if (path == NULL || jr_io_read_file(&text, JR_SLOT_DIR, path, MAX_ERROR_FILE, NULL) != 0 ||
        text.len == 0)
        return false;
    json_auto_t *error = jr_json_parse(text.data, text.len, NULL);
    json_int_t pid = jr_json_get_int(error, "pid");
    bool own = pid == 0 || pid == rank->outcome->own_pid;
    if (own)
        *ret = jr_failure_words_of_error(error);
    return own;
}

/* Note how a rank that was reaped failed, in its own words. */
static void note_words(struct jr_rank_run *rank)
{
    struct jr_rank_outcome *outcome = rank->outcome;
    struct jr_failure_words words = {0};
    bool died = outcome->end == JR_END_SIGNALED;
    if (outcome->end == JR_END_START || (outcome->stopped_with != 0 && outcome->told_ns == 0))
        return;
    /* Of an exit that was told, no error.json tells. */
    if ((outcome->told_code != 0 || !read_error_words(rank, &words)) &&
        rank->plan->err_path != NULL) {
        struct jr_runner *runner = rank->runner;
        jr_tee_pull(&runner->tee, (uint32_t)(rank - runner->ranks), 1);
        words = read_last_words(rank->plan->err_path);
    }
    outcome->words = words.hash;
    if (died && outcome->signal != SIGABRT)
        outcome->lost_peer = outcome->signal == SIGPIPE;
    else
        outcome->lost_peer = words.lost_peer;
}

static bool is_last_alone(const struct jr_runner *runner)
{
    return runner->first_failure.failed > 1 && runner->running == 1 &&
           runner->next == runner->plan->count && runner->options->link == NULL;
}

/* Hold the stop from now on, as it stands. */
static void hold_stop(struct jr_runner *runner)
{
    struct jr_first_failure *first = &runner->first_failure;
    uint64_t at = jr_clock_ns() + HOLD_NS;
    if (first->until_ns == 0)
        first->until_ns = at - HOLD_NS + HOLD_MOST_NS;
    bool waits = first->exiting > 0 || is_last_alone(runner);
    first->timer.at = waits || at > first->until_ns ? first->until_ns : at;
}

void jr_first_failure_announced(struct jr_rank_run *rank, int code)
{
    struct jr_first_failure *first = &rank->runner->first_failure;
    if (rank->outcome->told_ns != 0)
        return;
    jr_first_failure_hear_lines(rank->runner);
    rank->outcome->told_ns = jr_clock_ns();
    rank->outcome->told_code = code;
    if (rank->outcome->warned_with != 0 && code == JR_YIELD_CODE)
        return;
    note_first(rank->runner);
    rank->announced = true;
    first->exiting++;
    if (first->timer.at != 0)
        hold_stop(rank->runner);
}

bool jr_first_failure_holds(struct jr_rank_run *rank)
{
    struct jr_runner *runner = rank->runner;
    const struct jr_rank_outcome *outcome = rank->outcome;
    /* Died by a signal that is no way to fail by itself. */
    bool killed =
        outcome->end == JR_END_SIGNALED && outcome->signal != SIGABRT && outcome->signal != SIGPIPE;
    /* Whether there is a rank, here or on another node, whose end may tell more. */
    bool others = runner->running > 0 || runner->options->link != NULL;
    note_first(runner);
    note_words(rank);
    if (!jr_stop_follows(rank) || jr_stop_has_begun(runner) || killed || !others)
        return false;
    runner->first_failure.failed++;
    hold_stop(runner);
    return true;
}

/* Its line tells nothing where it is held by what the rank started, or where it hung up too long
 * ago to have been its end. */
static void settle_line(struct jr_rank_run *rank)
{
    struct jr_rank_outcome *outcome = rank->outcome;
    struct jr_first_failure *first = &rank->runner->first_failure;
    uint64_t dying_ns = outcome->exiting_ns != 0 ? outcome->exiting_ns : outcome->ended_ns;
    jr_loop_close(&rank->line);
    if (dying_ns > outcome->line_ns + DYING_NS)
        outcome->line_ns = 0;
    first->exiting -= rank->announced;
}

void jr_first_failure_ended(struct jr_rank_run *rank)
{
    struct jr_first_failure *first = &rank->runner->first_failure;
    if (first->timer.at != 0 && is_last_alone(rank->runner))
        first->timer.at = first->until_ns;
}

bool jr_first_failure_holds_stop(const struct jr_runner *runner)
{
    return runner->first_failure.timer.at != 0;
}

bool jr_first_failure_waits(const struct jr_runner *runner)
{
    return runner->first_failure.timer.at != 0 && runner->options->link != NULL;
}

static void on_first_failure_time(void *owner)
{
    jr_stop_begin(owner);
}

static int open_first_failure(struct jr_runner *runner)
{
    jr_runner_timer(runner, &runner->first_failure.timer, on_first_failure_time, true);
    return jr_loop_open(&runner->first_failure.lines);
}

static void end_hold(struct jr_runner *runner)
{
    runner->first_failure.timer.at = 0;
}

const struct jr_runner_policy jr_first_failure_policy = {
    .name = "first_failure",
    .open = open_first_failure,
    .rank_ended = settle_line,
    .stopping = end_hold,
    .close = end_hold,
};
