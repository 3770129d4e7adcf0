#include "judge/words.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "base/num.h"
#include "base/rank_set.h"
#include "judge/judgement.h"
#include "store/outcome.h"

#include "base/banned.h"

static bool find_table_word(const char *const *table, size_t count, const char *word, size_t *ret)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(table[i], word) != 0)
            continue;
        *ret = i;
        return true;
    }
    return false;
}

/* Both ways between enum jr_TYPE and its words. */
#define WORD(name, word) word,
#define DEFINE_WORDS(type, WORDS)                                                                  \
    static const char *const type##_words[] = {WORDS(WORD)};                                       \
    const char *jr_##type##_word(enum jr_##type value)                                             \
    {                                                                                              \
        return type##_words[value];                                                                \
    }                                                                                              \
    bool jr_##type##_of(const char *word, enum jr_##type *ret)                                     \
    {                                                                                              \
        size_t i, count = sizeof type##_words / sizeof *type##_words;                              \
        if (!find_table_word(type##_words, count, word, &i))                                       \
            return false;                                                                          \
        *ret = (enum jr_##type)i;                                                                  \
        return true;                                                                               \
    }

DEFINE_WORDS(run_status, JR_RUN_STATUSES)
DEFINE_WORDS(rank_state, JR_RANK_STATES)
DEFINE_WORDS(result_error, JR_RESULT_ERRORS)
DEFINE_WORDS(cause_kind, JR_CAUSE_KINDS)

#define CAUSE_WORD(name, word, help) word,
static const char *const requeue_words[] = {NULL, JR_REQUEUE_CAUSES(CAUSE_WORD)};

const char *jr_requeue_word(enum jr_requeue_cause cause)
{
    return requeue_words[cause];
}

enum jr_requeue_cause jr_requeue_of(const char *word)
{
    size_t i = 0;
    if (word != NULL && find_table_word(requeue_words + 1, JR_REQUEUE_END - 1, word, &i))
        return (enum jr_requeue_cause)(i + 1);
    return JR_REQUEUE_NONE;
}

static void signaled(struct jr_buf *out, const struct jr_rank_outcome *rank)
{
    char name[JR_SIGNAL_NAME];
    jr_signal_name(name, rank->signal);
    bool ours = rank->killed || rank->stopped_with == SIGKILL;
    if (rank->injected && rank->oom)
        jr_buf_str(out, "was killed as if memory had run out");
    else if (rank->injected && rank->signal == SIGKILL && !ours)
        jr_buf_str(out, "was killed by SIGKILL");
    else if (rank->oom)
        jr_buf_str(out, "was OOM-killed: the kernel ran out of memory");
    else if (rank->signal == SIGKILL && !ours)
        jr_buf_str(out, "was killed by SIGKILL, sender unknown");
    else
        jr_buf_printf(out, "died by %s%s", name, rank->core_dumped ? " (core dumped)" : "");
}

bool jr_words_crashed(const struct jr_rank_outcome *rank)
{
    return rank->end == JR_END_SIGNALED && rank->stopped_with != 0 &&
           rank->signal != rank->stopped_with && !(rank->killed && rank->signal == SIGKILL);
}

int jr_words_cut_short(const struct jr_rank_outcome *rank)
{
    bool stopped = rank->stopped_with != 0 && rank->end == JR_END_SIGNALED;
    return stopped && !jr_words_crashed(rank) ? rank->told_code : 0;
}

/* How a rank failed as one of an MPI world; false: it did not. */
static bool add_mpi_end(struct jr_buf *out, const struct jr_rank_outcome *rank)
{
    if (rank->mpi == JR_MPI_PART_ABORTED)
        jr_buf_printf(out, "called MPI_Abort with code %d", (int)rank->mpi_code);
    else if (rank->mpi == JR_MPI_PART_BROKEN)
        jr_buf_str(out, "broke the protocol of MPI's process manager");
    else if (rank->mpi == JR_MPI_PART_FAILED)
        jr_buf_str(out, "had a fatal error within MPI");
    else if (!jr_outcome_left_mpi(rank))
        return false;
    else if (rank->mpi == JR_MPI_PART_LEFT)
        jr_buf_str(out, "exited with code 0 without calling MPI_Init, which "
                        "other ranks had called");
    else
        jr_buf_str(out, "exited with code 0 after MPI_Init, without calling MPI_Finalize");
    return true;
}

int jr_words_exit_code(const struct jr_rank_outcome *rank)
{
    int cut = jr_words_cut_short(rank);
    int code = cut != 0 ? cut : rank->exit_code;
    if (rank->mpi == JR_MPI_PART_ABORTED || rank->mpi == JR_MPI_PART_FAILED)
        code = (int)((unsigned)rank->mpi_code & 0xff);
    else if (rank->end != JR_END_EXITED && cut == 0)
        return 0;
    return code != 0 ? code : JR_STATUS_FAILED;
}

static void add_end(struct jr_buf *out, const struct jr_rank_outcome *rank)
{
    switch (rank->end) {
    case JR_END_NONE:
        jr_buf_str(out, rank->pid == 0 ? "was not started" : "was ended with its runner");
        break;
    case JR_END_START:
        jr_buf_str(out, "could not start");
        break;
    case JR_END_EXITED:
        jr_buf_printf(out, "exited with code %d", (int)rank->exit_code);
        break;
    case JR_END_SIGNALED:
        if (jr_words_cut_short(rank) != 0)
            jr_buf_printf(out, "was exiting with code %d when it was stopped",
                          (int)rank->told_code);
        else
            signaled(out, rank);
        break;
    case JR_END_LOST:
        jr_buf_str(out, "was lost with its node");
        break;
    }
}

void jr_words_rank_end(struct jr_buf *out, const struct jr_rank_outcome *rank)
{
    if (!add_mpi_end(out, rank))
        add_end(out, rank);
    if (rank->injected && rank->stopped_with == 0)
        jr_buf_str(out, ", injected");
}

void jr_words_stall(struct jr_buf *out, const struct jr_stall *stall)
{
    if (stall->attempts == 1)
        jr_buf_str(out, "the last attempt ");
    else
        jr_buf_printf(out, "the last %u attempts ", stall->attempts);
    if (stall->stepped)
        jr_buf_printf(out, "got no further than step %" PRId64, stall->step);
    else
        jr_buf_str(out, "made no step");
}

void jr_words_yield(struct jr_buf *out, enum jr_requeue_cause cause,
                    const struct jr_outcome *outcome)
{
    uint32_t i = 0;
    static const char *const texts[] = {
        [JR_REQUEUE_NONE] = "stopped",
        [JR_REQUEUE_DEADLINE] = "stopped for the deadline",
        [JR_REQUEUE_PREEMPTED] = "was preempted",
        [JR_REQUEUE_LOST_NODE] = "lost a node",
    };
    jr_buf_str(out, texts[cause]);
    while (i < outcome->count && !jr_outcome_cut_off(&outcome->ranks[i]))
        i++;
    if (cause == JR_REQUEUE_PREEMPTED && i < outcome->count)
        jr_buf_str(out, " before its checkpoint");
}

void jr_words_lost(struct jr_buf *out, const struct jr_outcome *outcome)
{
    char name[JR_SIGNAL_NAME];
    int sig = jr_outcome_lost_by(outcome);
    jr_signal_name(name, sig);
    if (outcome->guard_pid != 0)
        jr_buf_printf(out, "jobrun's guard (pid %d) was killed", (int)outcome->guard_pid);
    else if (sig != 0)
        jr_buf_str(out, "jobrun's runner was killed");
    if (sig != 0)
        jr_buf_printf(out, " by %s", name);
}

void jr_words_ranks(struct jr_buf *out, const uint32_t *ranks, size_t count)
{
    jr_buf_str(out, count == 1 ? "rank " : "ranks ");
    jr_set_print(out, ranks, count);
}

const char *jr_words_axis(int axis)
{
#define AXIS(name, word, help) word,
    static const char *const axes[] = {JR_AXES(AXIS)};
    return axes[axis];
}

const char *jr_words_host(const struct jr_plan *plan, uint32_t node, const struct utsname *here)
{
    const char *host = plan->hosts == NULL || node >= plan->nodes ? NULL : plan->hosts[node];
    return host != NULL ? host : here->nodename;
}

void jr_words_log_dir(struct jr_buf *out, const char *run_dir)
{
    const char *slash = strrchr(run_dir, '/');
    size_t len = slash == NULL ? 0 : (size_t)(slash - run_dir);
    if (len == 0 || (len == 4 && memcmp(run_dir, "runs", len) == 0))
        return;
    jr_buf_str(out, " --log-dir '");
    jr_buf_escaped(out, run_dir, len);
    jr_buf_char(out, '\'');
}

double jr_words_wall(uint64_t ns)
{
    uint64_t milliseconds = ns / 1000000;
    return (double)milliseconds / 1e3;
}
