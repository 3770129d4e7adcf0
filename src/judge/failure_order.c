/*
 * A failure has a span in which it began. For an exception that is from when it
 * was raised until its rank announced it; for an exit that was announced, the
 * moment of that. For a death it ends when the rank was seen to exit, or was
 * reaped; it begins when the rank was last seen alive, because the kernel does
 * not say when a process began to die. A rank that was already exiting at the
 * first failure may have begun to at any time before, and one that had closed
 * its files by then is taken for the first of its kind. A failure whose span
 * ends before that of another begins was before that one; where the spans
 * overlap, the kind decides (failure_order.h): a death comes before an
 * exception that may follow from it, a crash before an abort.
 *
 * A failure that only a lost peer causes gives way to every other one, up to a
 * second later.
 *
 * On different nodes a failure counts at one moment, and those that are closer
 * than their clocks can be compared are not told apart.
 */
#include "judge/failure_order.h"

#include <signal.h>
#include <stdlib.h>

#include "base/banned.h"

/* Deaths that are reaped closer to each other than this are not told apart: it
 * is what a runner needs to read a handful of them, and less than a rank needs
 * to notice that another one is gone and to end because of it. */
static const uint64_t TOGETHER_NS = 100000;

/* `raised_ns`: 0 where it is not known when its exception was raised. */
static enum jr_failure candidate_failure(const struct jr_judge *judge,
                                         uint32_t i, uint64_t raised_ns)
{
    const struct jr_rank_outcome *rank = &judge->outcome->ranks[i];
    const struct jr_rank_judgement *report = &judge->report->ranks[i];
    bool died = rank->end == JR_END_SIGNALED && rank->stopped_with == 0;
    if (rank->end == JR_END_START || rank->end == JR_END_LOST)
        return JR_FAILURE_CRASH;
    if (report->lost_peer)
        return JR_FAILURE_LOST_PEER;
    if (report->error_file && (!died || raised_ns != 0))
        return JR_FAILURE_RAISED;
    if (!died)
        return JR_FAILURE_EXIT;
    return rank->signal == SIGABRT ? JR_FAILURE_ABORT : JR_FAILURE_CRASH;
}

static uint64_t later_ns(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

struct jr_candidate jr_order_candidate(const struct jr_judge *judge, uint32_t i,
                                       uint64_t raised_ns)
{
    const struct jr_rank_outcome *rank = &judge->outcome->ranks[i];
    struct jr_candidate ret = {
        .i = i,
        .order = rank->order == 0 ? UINT32_MAX : rank->order,
        .node = jr_plan_of(judge->plan, i)->node_rank,
        .failure = candidate_failure(judge, i, raised_ns),
        .overtaken = rank->overtaken,
    };
    if (raised_ns != 0) {
        ret.from = ret.at = raised_ns;
        ret.until = later_ns(raised_ns, rank->told_ns);
    } else if (rank->told_ns != 0) {
        ret.from = ret.until = ret.at = rank->told_ns;
    } else if (rank->exiting_ns != 0) {
        ret.from = rank->alive_ns;
        ret.until = ret.at = rank->exiting_ns;
    } else {
        ret.until = ret.at = rank->ended_ns;
        ret.from =
            later_ns(rank->alive_ns,
                     ret.at - (ret.at < TOGETHER_NS ? ret.at : TOGETHER_NS));
    }
    return ret;
}

struct jr_candidate jr_order_end(const struct jr_judge *judge, uint32_t i)
{
    struct jr_candidate ret = jr_order_candidate(judge, i, 0);
    uint64_t leaving_ns = judge->outcome->ranks[i].leaving_ns;
    if (leaving_ns != 0)
        ret.from = ret.until = ret.at = leaving_ns;
    return ret;
}

static bool is_failure_before(const struct jr_judge *judge,
                              const struct jr_candidate *a,
                              const struct jr_candidate *b)
{
    if (a->node == b->node)
        return a->until < b->from;
    return a->at + later_ns(judge->outcome->clock_error_ns, TOGETHER_NS) <
           b->at;
}

static bool is_peer_lost(const struct jr_candidate *candidate)
{
    return candidate->failure == JR_FAILURE_LOST_PEER;
}

bool jr_order_had_ended(const struct jr_judge *judge, uint32_t i,
                        const struct jr_candidate *first)
{
    const struct jr_candidate end = jr_order_end(judge, i);
    struct jr_candidate failed = *first;
    if (is_peer_lost(first))
        failed.from = failed.at = judge->outcome->ranks[first->i].ended_ns;
    return is_failure_before(judge, &end, &failed);
}

static int compare_failure_times(const struct jr_candidate *a,
                                 const struct jr_candidate *b)
{
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    if (a->order != b->order)
        return a->order < b->order ? -1 : 1;
    return (a->i > b->i) - (a->i < b->i);
}

static int compare_failure_kinds(const struct jr_candidate *a,
                                 const struct jr_candidate *b)
{
    if (a->failure != b->failure)
        return a->failure < b->failure ? -1 : 1;
    /* For ranks that died, the kernel's order is more reliable than the time at
     * which they were seen. */
    bool deaths = a->failure != JR_FAILURE_RAISED &&
                  a->failure != JR_FAILURE_LOST_PEER && a->node == b->node;
    if (deaths && a->overtaken != b->overtaken)
        return a->overtaken ? -1 : 1;
    if (deaths && a->order != b->order)
        return a->order < b->order ? -1 : 1;
    return compare_failure_times(a, b);
}

static int compare_failures(const void *a, const void *b)
{
    return compare_failure_kinds(a, b);
}

/* The one that had begun soonest, of those that lost a peer or of the others;
 * NULL if there is none. */
static const struct jr_candidate *find_soonest(
    const struct jr_candidate *candidates, size_t count, bool lost)
{
    const struct jr_candidate *soonest = NULL;
    for (size_t c = 0; c < count; c++)
        if (is_peer_lost(&candidates[c]) == lost &&
            (soonest == NULL || candidates[c].until < soonest->until))
            soonest = &candidates[c];
    return soonest;
}

/* The same of all: who lost a peer gives way. */
static const struct jr_candidate *find_first_candidate(
    const struct jr_candidate *candidates, size_t count)
{
    const struct jr_candidate *own = find_soonest(candidates, count, false);
    const struct jr_candidate *lost = find_soonest(candidates, count, true);
    if (own == NULL || lost == NULL)
        return own == NULL ? lost : own;
    return lost->at + JR_ORDER_GIVES_WAY_NS < own->until ? lost : own;
}

/* Put those for which `wanted` is not before them to the front. */
static size_t keep_not_after(const struct jr_judge *judge,
                             struct jr_candidate *candidates, size_t count,
                             const struct jr_candidate *first)
{
    size_t kept = 0;
    for (size_t c = 0; c < count; c++) {
        if (is_failure_before(judge, first, &candidates[c]))
            continue;
        struct jr_candidate moved = candidates[kept];
        candidates[kept++] = candidates[c];
        candidates[c] = moved;
    }
    return kept;
}

size_t jr_order_find(const struct jr_judge *judge,
                     struct jr_candidate *candidates, size_t count)
{
    if (count == 0)
        return 0;
    struct jr_candidate first = *find_first_candidate(candidates, count);
    size_t kept = keep_not_after(judge, candidates, count, &first);
    qsort(candidates, kept, sizeof *candidates, compare_failures);
    /* What it was found by is one of those: the best of them is the cause. */
    first = candidates[0];
    kept = keep_not_after(judge, candidates, kept, &first);
    qsort(candidates, kept, sizeof *candidates, compare_failures);
    return kept;
}
