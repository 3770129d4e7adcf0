/*
 * The order of failures (internal.h). Who was first is decided by evidence, the best first.
 *
 * 1. The life line and the announcement (run/policies/first_failure.c). On one
 *    node their times are in the kernel's own order, which decides, whatever
 *    the kind of the failure. An exception may have been raised up to 20 ms
 *    before it was seen; what failed meanwhile is not told apart from it.
 * 2. The reap. A rank whose line tells nothing began to die at some time before
 *    it was reaped, or seen to exit: 20 ms at most, and after it was last seen
 *    alive. Between nodes all times are compared so, or by the error of their
 *    clocks where that is larger.
 * 3. The odd one out. A rank may let go of its peers before its failure can be
 *    seen. Where at least three failed, and all but one in the same way (the
 *    exit code or signal, the last words), that one is the cause. Where it is
 *    seen to fail more than 20 ms after the first, the first is told with it.
 * 4. The words. Who failed as only who lost a peer does, gives way to a rank
 *    that failed otherwise within 20 ms; a rank that left without its result
 *    may have done so a second before.
 *
 * What none of this tells apart is told together. So are two ranks that both failed within 20 ms:
 * the one that was seen first may have noticed that the other let go of it. A death by a signal
 * that jobrun did not send comes first among them.
 */
#include "judge/internal.h"

#include <signal.h>
#include <stdlib.h>

#include "base/banned.h"

#define MS       UINT64_C(1000000)
#define DOUBT_NS (20 * MS)
#define HOLD_NS  (500 * MS) /* the longest that the stop was held */

static uint64_t later_ns(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static enum jr_failure failure_of(const struct jr_judge *judge, uint32_t i)
{
    const struct jr_rank_outcome *rank = &judge->outcome->ranks[i];
    const struct jr_rank_judgement *report = &judge->report->ranks[i];
    bool died = rank->end == JR_END_SIGNALED && rank->stopped_with == 0;
    if (rank->end == JR_END_START || rank->end == JR_END_LOST)
        return JR_FAILURE_KILLED;
    if (report->lost_peer)
        return JR_FAILURE_LOST_PEER;
    if (report->state == JR_RANK_SUCCEEDED)
        return JR_FAILURE_LEFT;
    bool killed = died && rank->signal != SIGABRT && rank->signal != SIGPIPE;
    return killed ? JR_FAILURE_KILLED : JR_FAILURE_OWN;
}

struct jr_candidate jr_order_candidate(const struct jr_judge *judge, uint32_t i, uint64_t raised_ns)
{
    const struct jr_rank_outcome *rank = &judge->outcome->ranks[i];
    struct jr_candidate ret = {
        .i = i, .node = jr_plan_of(judge->plan, i)->node_rank, .failure = failure_of(judge, i)};
    uint64_t seen_ns = rank->exiting_ns != 0 ? rank->exiting_ns : rank->ended_ns;
    /* The ranks of a node are lost together, in whatever order. */
    uint64_t line_ns = rank->end == JR_END_LOST ? 0 : rank->line_ns;
    if (rank->told_ns != 0)
        ret.until = rank->told_ns;
    else
        ret.until = line_ns != 0 ? line_ns : seen_ns;
    ret.from = ret.until;
    if (rank->told_ns == 0 && line_ns == 0)
        ret.from = later_ns(rank->alive_ns, later_ns(seen_ns, DOUBT_NS) - DOUBT_NS);
    if (raised_ns != 0 && raised_ns < ret.until) {
        ret.from = raised_ns;
        if (raised_ns + DOUBT_NS < ret.until)
            ret.until = raised_ns + DOUBT_NS;
    }
    return ret;
}

struct jr_candidate jr_order_end(const struct jr_judge *judge, uint32_t i)
{
    uint64_t leaving_ns = judge->outcome->ranks[i].leaving_ns;
    struct jr_candidate ret = jr_order_candidate(judge, i, 0);
    if (leaving_ns != 0)
        ret.from = ret.until = leaving_ns;
    return ret;
}

bool jr_order_before(const struct jr_judge *judge, const struct jr_candidate *a,
                     const struct jr_candidate *b)
{
    uint64_t doubt_ns = judge->outcome->clock_error_ns;
    if (a->node == b->node)
        return a->until < b->from;
    /* Who was killed did not let go of its peers before. */
    if (a->failure == JR_FAILURE_OWN || a->failure == JR_FAILURE_LOST_PEER)
        doubt_ns = later_ns(doubt_ns, DOUBT_NS);
    return a->until + doubt_ns < b->from;
}

static int compare_candidates(const void *left, const void *right)
{
    const struct jr_candidate *a = left, *b = right;
    if (a->until != b->until)
        return a->until < b->until ? -1 : 1;
    return (a->i > b->i) - (a->i < b->i);
}

const struct jr_candidate *jr_order_first(const struct jr_candidate *candidates, size_t count)
{
    const struct jr_candidate *first = NULL;
    for (size_t c = 0; c < count; c++)
        if (first == NULL || compare_candidates(&candidates[c], first) < 0)
            first = &candidates[c];
    return first;
}

/* Whether `c` failed at most 20 ms after the first. */
static bool is_near(const struct jr_candidate *c, const struct jr_candidate *first)
{
    return c->from <= first->until + DOUBT_NS;
}

/* Move one of them to an earlier place. */
static void bring_to_front(struct jr_candidate *sorted, size_t at, size_t to)
{
    struct jr_candidate moved = sorted[at];
    for (; at > to; at--)
        sorted[at] = sorted[at - 1];
    sorted[to] = moved;
}

/* Whether two ranks failed in the same way. */
static bool is_alike(const struct jr_judge *judge, const struct jr_candidate *a,
                     const struct jr_candidate *b)
{
    const struct jr_rank_outcome *x = &judge->outcome->ranks[a->i];
    const struct jr_rank_outcome *y = &judge->outcome->ranks[b->i];
    /* How one that announced it ended is not its own doing any more. */
    bool told = x->told_ns != 0 && y->told_ns != 0;
    return a->failure == b->failure && x->words == y->words && x->told_code == y->told_code &&
           (told || (x->end == y->end && x->exit_code == y->exit_code && x->signal == y->signal));
}

/* The one that failed in another way than all others, while the stop was held; NULL if there is
 * none. Who failed later than others that were killed, or as who loses them does, is none. `sorted`
 * by time. Of three ranks or more, two of the first three are alike if all but one are. */
static const struct jr_candidate *find_odd_one(const struct jr_judge *judge,
                                               const struct jr_candidate *sorted, size_t count)
{
    if (count < 3)
        return NULL;
    const struct jr_candidate *odd = NULL;
    const struct jr_candidate *usual =
        is_alike(judge, &sorted[1], &sorted[2]) ? &sorted[1] : &sorted[0];
    for (size_t c = 0; c < count; c++) {
        if (is_alike(judge, usual, &sorted[c]))
            continue;
        if (odd != NULL)
            return NULL;
        odd = &sorted[c];
    }
    bool follows = odd != sorted && odd != NULL &&
                   (odd->failure == JR_FAILURE_LOST_PEER || usual->failure == JR_FAILURE_KILLED ||
                    odd->from > sorted->until + HOLD_NS);
    return follows ? NULL : odd;
}

/* Whether `c` is told together with `cause`. Two that both failed by themselves within 20 ms are,
 * unless who failed then did so for the loss of the other. */
static bool is_together(const struct jr_judge *judge, const struct jr_candidate *cause,
                        const struct jr_candidate *c, size_t count)
{
    if (!jr_order_before(judge, cause, c))
        return true;
    return count == 2 && cause->failure != JR_FAILURE_KILLED &&
           c->failure != JR_FAILURE_LOST_PEER && is_near(c, cause);
}

/* Who was killed comes first among those that cannot be told apart from the cause. */
static void choose_killed(const struct jr_judge *judge, struct jr_candidate *sorted, size_t count)
{
    if (sorted->failure == JR_FAILURE_KILLED)
        return;
    for (size_t c = 1; c < count; c++)
        if (sorted[c].failure == JR_FAILURE_KILLED && !jr_order_before(judge, sorted, &sorted[c])) {
            bring_to_front(sorted, c, 0);
            return;
        }
}

size_t jr_order_find(const struct jr_judge *judge, struct jr_candidate *candidates, size_t count)
{
    if (count == 0)
        return 0;
    qsort(candidates, count, sizeof *candidates, compare_candidates);
    const struct jr_candidate *odd = find_odd_one(judge, candidates, count);
    if (odd != NULL) { /* who failed more than 20 ms before it is told with it */
        size_t told = is_near(odd, candidates) ? 1 : 2;
        bring_to_front(candidates, (size_t)(odd - candidates), 0);
        return told;
    }
    /* Where one alone lost a peer, and was first, several others may have lost it: it does not give
     * way, and is not told apart. */
    size_t other = 0, lost = 0;
    while (other < count && candidates[other].failure == JR_FAILURE_LOST_PEER)
        other++;
    if (other < count && !is_near(&candidates[other], candidates))
        other = count;
    for (size_t c = 0; c < count; c++)
        lost += candidates[c].failure == JR_FAILURE_LOST_PEER;
    bool in_doubt = other == 1 && lost == 1 && count > 2;
    bool gave_way = other > 0 && other < count && !in_doubt;
    if (gave_way)
        bring_to_front(candidates, other, 0);
    choose_killed(judge, candidates, count);
    size_t together = 1;
    for (size_t c = 1; c < count; c++) {
        bool told = is_together(judge, candidates, &candidates[c], count);
        if (gave_way && candidates[c].failure == JR_FAILURE_LOST_PEER)
            told = lost == 1;
        if (told || (in_doubt && is_near(&candidates[c], candidates)))
            bring_to_front(candidates, c, together++);
    }
    return together;
}
