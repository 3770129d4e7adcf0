/*
 * Who failed first.
 *
 * A rank that dies closes its connections long before it can be reaped: the
 * kernel closes its files while it exits, an interpreter closes them while it
 * finalizes. Peers that notice may fail, and even be reaped, before it. What
 * distinguishes the cause from what followed is gone once jobrun has sent its
 * stop signal, so it is noted before:
 *
 * - When the first failure is known, each rank that runs is looked at: one that
 *   is on its way out by then (proc.h) may have been first; one that is not can
 *   only be later. One that has closed all its files by then, and is no zombie
 *   yet, was overtaken: who waits for the end of its connections is woken while
 *   it closes them, and is often let run before it. The same is done just
 *   before the stop signal is sent, for what begins to end after it is never
 *   the cause. Each look reads one small file per rank.
 * - A worker (a Python or library entrypoint) reports that its rank raised an
 *   exception, or exits with a code that is not 0, before any of its
 *   connections are closed, and waits for the answer, which comes after the
 *   look. So what such a rank did cannot be mistaken for what others did next.
 * - When a rank failed, its error.json, or else the end of its standard error
 *   where that is a file, is held against the table of what only a lost peer
 *   causes (transport_errors.c).
 *
 * The stop waits, HOLD_NS at most, as long as nothing but lost peers and
 * SIGPIPE is known to have failed, and another rank runs that may be the cause;
 * and as long as the first rank that announced its failure is still exiting, so
 * that it is seen how it ends. What fails in any other way is stopped for at
 * once. On several nodes each holds its own stop: the others do not know of it
 * before (run_options.h: the link), and who knows the cause ends the wait of
 * all.
 */
#include "run/policies/first_failure.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/proc.h"
#include "run/runner.h"
#include "run/transport_errors.h"

#include "base/banned.h"

#define HOLD_NS  (UINT64_C(500) * 1000000)
#define STILL_NS UINT64_C(1000000) /* a look that is no older is a new one */

/* More than any traceback; a foreign file of gigabytes is not read. */
static const size_t MAX_ERROR_FILE = (size_t)4 << 20;

/* Whether the rank exits already. A /proc of another PID namespace would tell
 * of somebody else: the parent must be us. A main thread that ended alone is a
 * zombie, too, while the others live. */
static bool is_rank_exiting(const struct jr_rank_run *rank, bool *ret_closed)
{
    struct jr_proc proc;
    bool exiting = jr_proc_of(&proc, rank->pid) && proc.parent == getpid() &&
                   jr_proc_is_exiting(&proc) &&
                   (proc.state != 'Z' || proc.threads <= 1);
    *ret_closed = exiting && proc.state != 'Z' && jr_proc_has_closed(rank->pid);
    return exiting;
}

static void note_exiting_ranks(struct jr_runner *runner)
{
    for (uint32_t i = 0; i < runner->next; i++) {
        const struct jr_rank_run *rank = &runner->ranks[i];
        if (rank->pid == 0 || rank->watch.fd < 0 ||
            rank->outcome->exiting_ns != 0)
            continue;
        bool closed, exiting = is_rank_exiting(rank, &closed);
        uint64_t now = jr_clock_ns();
        if (exiting) {
            rank->outcome->overtaken =
                closed && runner->first_failure.noted_ns == 0;
            rank->outcome->exiting_ns = now;
        } else {
            rank->outcome->alive_ns = now;
        }
    }
    runner->first_failure.noted_ns = jr_clock_ns();
}

void jr_first_failure_note_exiting(struct jr_runner *runner)
{
    uint64_t before = runner->first_failure.noted_ns;
    if (before == 0 || jr_clock_ns() - before > STILL_NS)
        note_exiting_ranks(runner);
}

static void note_exiting_rank(struct jr_runner *runner)
{
    if (runner->first_failure.noted_ns == 0)
        note_exiting_ranks(runner);
}

/* Fill `ret`, which has room for JR_LOST_PEER_TAIL bytes, with the end of the
 * file; returns how many there are. */
static size_t read_tail(const char *path, char *ret)
{
    struct stat st;
    JR_CLOSE int fd =
        openat(JR_SLOT_DIR, path,
               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return 0;
    off_t from = st.st_size > (off_t)JR_LOST_PEER_TAIL
                     ? st.st_size - (off_t)JR_LOST_PEER_TAIL
                     : 0;
    ssize_t len = pread(fd, ret, JR_LOST_PEER_TAIL, from);
    return len > 0 ? (size_t)len : 0;
}

/* By its error.json; *ret_found is whether there is one. */
static bool error_shows_lost_peer(const struct jr_rank_run *rank,
                                  bool *ret_found)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    const char *path = rank->plan->error_path;
    *ret_found =
        path != NULL &&
        jr_io_read_file(&text, JR_SLOT_DIR, path, MAX_ERROR_FILE, NULL) == 0 &&
        text.len > 0;
    if (!*ret_found)
        return false;
    json_t *error = jr_json_parse(text.data, text.len, NULL);
    json_int_t pid = jr_json_get_int(error, "pid");
    *ret_found = pid == 0 || pid == rank->outcome->own_pid;
    bool tells = *ret_found && jr_lost_peer_in_error(error);
    json_decref(error);
    return tells;
}

static bool output_shows_lost_peer(struct jr_rank_run *rank)
{
    char tail[JR_LOST_PEER_TAIL];
    const char *path = rank->plan->err_path;
    if (path == NULL)
        return false;
    jr_tee_pull(&rank->runner->tee, (uint32_t)(rank - rank->runner->ranks), 1);
    return jr_lost_peer_in_output(tail, read_tail(path, tail));
}

/* Whether a rank that was reaped failed by losing a peer. */
static bool failed_by_lost_peer(struct jr_rank_run *rank)
{
    const struct jr_rank_outcome *outcome = rank->outcome;
    bool died = outcome->end == JR_END_SIGNALED, found;
    if (died && outcome->signal != SIGABRT)
        return outcome->signal == SIGPIPE;
    if (outcome->end == JR_END_START)
        return false;
    if (outcome->told_code != 0) /* of an exit, no error.json tells */
        return output_shows_lost_peer(rank);
    return error_shows_lost_peer(rank, &found) ||
           (!found && output_shows_lost_peer(rank));
}

void jr_first_failure_announced(struct jr_rank_run *rank, int code)
{
    struct jr_first_failure *first = &rank->runner->first_failure;
    bool found;
    if (rank->outcome->told_ns != 0)
        return;
    rank->outcome->told_ns = jr_clock_ns();
    rank->outcome->told_code = code;
    if (first->noted_ns != 0 ||
        (rank->outcome->warned_with != 0 && code == JR_YIELD_CODE))
        return;
    note_exiting_ranks(rank->runner);
    if (code == 0 ? error_shows_lost_peer(rank, &found)
                  : output_shows_lost_peer(rank))
        return;
    first->known = true;
    first->announcer = rank;
}

/* Whether there is a rank, here or on another node, whose end may tell more. */
static bool has_other_ranks(const struct jr_runner *runner)
{
    return runner->running > 0 || runner->options->link != NULL;
}

static bool is_cause_clear(const struct jr_first_failure *first)
{
    return first->known && first->announcer == NULL;
}

bool jr_first_failure_holds(struct jr_rank_run *rank)
{
    struct jr_runner *runner = rank->runner;
    struct jr_first_failure *first = &runner->first_failure;
    struct jr_rank_outcome *outcome = rank->outcome;
    note_exiting_rank(runner);
    if (!first->known || outcome->exiting_ns != 0)
        outcome->lost_peer = failed_by_lost_peer(rank);
    if (!outcome->lost_peer)
        first->known = true;
    if (first->announcer == rank)
        first->announcer = NULL;
    if (!jr_stop_follows(rank) || jr_stop_has_begun(runner) ||
        is_cause_clear(first) || !has_other_ranks(runner))
        return false;
    if (!first->held)
        first->timer.at = jr_clock_ns() + HOLD_NS;
    first->held = true;
    return true;
}

void jr_first_failure_ended(struct jr_rank_run *rank)
{
    struct jr_runner *runner = rank->runner;
    struct jr_first_failure *first = &runner->first_failure;
    if (first->announcer == rank)
        first->announcer = NULL;
    if (first->timer.at != 0 && is_cause_clear(first))
        jr_stop_begin(runner);
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
    runner->first_failure = (struct jr_first_failure){
        .timer = {
            .due = on_first_failure_time, .owner = runner, .pauses = true}};
    jr_loop_timer(&runner->loop, &runner->first_failure.timer);
    return 0;
}

static void end_hold(struct jr_runner *runner)
{
    runner->first_failure.timer.at = 0;
}

const struct jr_runner_policy jr_first_failure_policy = {
    .name = "first_failure",
    .open = open_first_failure,
    .stopping = end_hold,
    .close = end_hold,
};
