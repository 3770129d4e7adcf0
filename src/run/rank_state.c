/* One rank while it runs, by a table of what happens to it. internal.h declares it. */
#include <fcntl.h>
#include <signal.h>

#include "base/clock.h"
#include "base/pidfd.h"
#include "base/proc.h"
#include "run/internal.h"

#include "base/banned.h"

#define JR_RANK_ACTIONS(X)                                                                         \
    X(NOTHING, "-")                                                                                \
    X(SEND, "send")                                                                                \
    X(ASK, "send") /* as a stop, without CONT */                                                   \
    X(HALT, "send STOP")                                                                           \
    X(WAKE, "send CONT")                                                                           \
    X(TELL, "send, CONT") /* a stopped process cannot obey */                                      \
    X(END, "send KILL")

#define ACTION_ENUM(name, word) ACTION_##name,
enum action { JR_RANK_ACTIONS(ACTION_ENUM) ACTION_COUNT };

struct cell {
    enum jr_life next;
    enum action action;
};

#define TO(state, act)                                                                             \
    {                                                                                              \
        JR_LIFE_##state, ACTION_##act                                                              \
    }

/* Columns as in JR_RANK_EVENTS. A stop in progress is not suspended, and what was told to end gets
 * no other signal. */
static const struct cell table[JR_LIFE_COUNT][JR_RANK_EVENT_COUNT] = {
    [JR_LIFE_WAITING] = {TO(RUNNING, NOTHING), TO(ENDED, NOTHING), TO(ENDED, NOTHING),
                         TO(ENDED, NOTHING), TO(ENDED, NOTHING), TO(WAITING, NOTHING),
                         TO(WAITING, NOTHING), TO(WAITING, NOTHING), TO(WAITING, NOTHING)},
    [JR_LIFE_RUNNING] = {TO(RUNNING, NOTHING), TO(RUNNING, NOTHING), TO(ENDED, NOTHING),
                         TO(STOPPING, TELL), TO(KILLING, END), TO(SUSPENDED, HALT),
                         TO(RUNNING, NOTHING), TO(RUNNING, SEND), TO(RUNNING, ASK)},
    [JR_LIFE_SUSPENDED] = {TO(SUSPENDED, NOTHING), TO(SUSPENDED, NOTHING), TO(ENDED, NOTHING),
                           TO(STOPPING, TELL), TO(KILLING, END), TO(SUSPENDED, NOTHING),
                           TO(RUNNING, WAKE), TO(SUSPENDED, SEND), TO(SUSPENDED, NOTHING)},
    [JR_LIFE_STOPPING] = {TO(STOPPING, NOTHING), TO(STOPPING, NOTHING), TO(ENDED, NOTHING),
                          TO(STOPPING, NOTHING), TO(KILLING, END), TO(STOPPING, NOTHING),
                          TO(STOPPING, NOTHING), TO(STOPPING, NOTHING), TO(STOPPING, NOTHING)},
    [JR_LIFE_KILLING] = {TO(KILLING, NOTHING), TO(KILLING, NOTHING), TO(ENDED, NOTHING),
                         TO(KILLING, NOTHING), TO(KILLING, NOTHING), TO(KILLING, NOTHING),
                         TO(KILLING, NOTHING), TO(KILLING, NOTHING), TO(KILLING, NOTHING)},
    [JR_LIFE_ENDED] = {TO(ENDED, NOTHING), TO(ENDED, NOTHING), TO(ENDED, NOTHING),
                       TO(ENDED, NOTHING), TO(ENDED, NOTHING), TO(ENDED, NOTHING),
                       TO(ENDED, NOTHING), TO(ENDED, NOTHING), TO(ENDED, NOTHING)},
};

/* Its number is the rank's as long as its leader is not reaped, which is so in every state that
 * sends anything; so the group is what it seems. */
static void send_group(const struct jr_rank_run *rank, int sig)
{
    (void)kill(-rank->pid, sig);
}

static void send_leader(const struct jr_rank_run *rank, int sig)
{
    if (rank->watch.fd >= 0)
        (void)jr_child_signal(rank->watch.fd, rank->pid, sig);
}

/* What ended by itself a moment ago, and was not reaped yet, was not stopped by us. */
static bool has_ended(const struct jr_rank_run *rank)
{
    return jr_child_has_ended(rank->watch.fd, rank->pid);
}

static void ask_rank_to_end(struct jr_rank_run *rank, int sig)
{
    if (has_ended(rank))
        return;
    /* Whether it ignores the signal because it began so, and has no handler for it: then SIGKILL
     * does what the signal would have done. */
    bool deaf = rank->shielded && sig == SIGTERM;
    pid_t number = deaf ? jr_proc_number(AT_FDCWD, rank->watch.fd) : 0;
    if (deaf && number == 0)
        number = jr_proc_child_number(AT_FDCWD, rank->pid);
    deaf = number > 0 && jr_proc_ignores(number, sig);
    if (rank->group)
        send_group(rank, sig);
    else
        send_leader(rank, sig);
    if (deaf)
        send_leader(rank, SIGKILL);
    /* What was on its way out by itself is not stopped by us. */
    if (rank->outcome->exiting_ns != 0)
        return;
    rank->outcome->stopped_with = deaf ? SIGKILL : sig;
    rank->outcome->killed |= deaf;
}

static void kill_rank(struct jr_rank_run *rank)
{
    if (has_ended(rank))
        return;
    send_leader(rank, SIGKILL);
    send_group(rank, SIGKILL);
    if (rank->outcome->exiting_ns != 0)
        return;
    rank->outcome->killed = true;
    if (rank->outcome->stopped_with == 0)
        rank->outcome->stopped_with = SIGKILL;
}

void jr_rank_handle(struct jr_rank_run *rank, enum jr_rank_event event, int sig)
{
    struct cell cell = table[rank->state][event];
    switch (cell.action) {
    case ACTION_SEND:
        send_leader(rank, sig);
        break;
    case ACTION_ASK:
        ask_rank_to_end(rank, sig);
        break;
    case ACTION_HALT:
        send_group(rank, SIGSTOP);
        break;
    case ACTION_WAKE:
        send_group(rank, SIGCONT);
        break;
    case ACTION_TELL:
        ask_rank_to_end(rank, sig);
        send_group(rank, SIGCONT);
        break;
    case ACTION_END:
        kill_rank(rank);
        break;
    case ACTION_NOTHING:
    case ACTION_COUNT:
        break;
    }
    rank->state = cell.next;
}

static uint64_t timeval_ns(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_usec * 1000;
}

bool jr_rank_reap(struct jr_rank_run *rank)
{
    struct jr_rank_outcome *outcome = rank->outcome;
    siginfo_t info = {0};
    struct rusage usage = {0};
    if (jr_child_wait(rank->watch.fd, rank->pid, &info, &usage) != 0 || info.si_pid == 0)
        return false;
    outcome->ended_ns = jr_clock_ns();
    outcome->max_rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
    outcome->cpu_ns = timeval_ns(&usage.ru_utime) + timeval_ns(&usage.ru_stime);
    outcome->core_dumped = info.si_code == CLD_DUMPED;
    if (info.si_code == CLD_EXITED)
        outcome->exit_code = info.si_status;
    else
        outcome->signal = info.si_status;
    /* Last, for the guard may read this after a runner that was killed. */
    outcome->end = info.si_code == CLD_EXITED ? JR_END_EXITED : JR_END_SIGNALED;
    return true;
}

#define WORD(name, word) word,
static const char *const state_words[] = {JR_LIFE_STATES(WORD)};
static const char *const event_words[] = {JR_RANK_EVENTS(WORD)};
static const char *const action_words[] = {JR_RANK_ACTIONS(WORD)};

void jr_rank_table_print(struct jr_buf *out)
{
    jr_buf_printf(out, "%-10s", "");
    for (int event = 0; event < JR_RANK_EVENT_COUNT; event++)
        jr_buf_printf(out, " | %-21s", event_words[event]);
    for (int state = 0; state < JR_LIFE_COUNT; state++) {
        jr_buf_printf(out, "\n%-10s", state_words[state]);
        for (int event = 0; event < JR_RANK_EVENT_COUNT; event++) {
            const struct cell *cell = &table[state][event];
            jr_buf_printf(out, " | %-9s %-11s", state_words[cell->next],
                          action_words[cell->action]);
        }
    }
    jr_buf_char(out, '\n');
}
