#include "judge/restart.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"

#include "base/banned.h"

#define MS      UINT64_C(1000000)
#define AT_ONCE (10 * UINT64_C(1000000000)) /* ns that show no progress */

static const uint64_t LONGEST_WAIT_MS = 5 * 60 * 1000;

/* Restarts that are not older than the window. */
static uint32_t count_restarts(const struct jr_restart *spec,
                               const struct jr_history *history)
{
    uint64_t now = history->items[history->count - 1].ended_ns;
    uint32_t count = 0;
    for (size_t i = 1; i < history->count; i++)
        if (spec->window_ms == 0 ||
            now - history->items[i].started_ns <= spec->window_ms * MS)
            count++;
    return count;
}

static uint64_t backoff_wait_ms(const struct jr_restart *spec, uint32_t counted)
{
    uint64_t most =
        spec->backoff_ms > LONGEST_WAIT_MS ? spec->backoff_ms : LONGEST_WAIT_MS;
    uint64_t wait = spec->backoff_ms;
    for (uint32_t i = 0; i < counted && wait < most; i++)
        wait *= 2;
    return wait < most ? wait : most;
}

/* Why the last attempt is not one to start again after; false: it is. */
static bool is_restart_barred(struct jr_verdict *ret,
                              const struct jr_attempt *last)
{
    size_t size = sizeof ret->why;
    if (!last->failed)
        (void)snprintf(ret->why, size, "%s",
                       last->left == NULL ? "" : last->left);
    else if (last->never != NULL)
        (void)snprintf(ret->why, size, "restart.never names %.100s",
                       last->never);
    else if (last->on == NULL)
        (void)snprintf(ret->why, size, "restart.on does not name such a cause");
    else
        return false;
    return true;
}

static void describe_spent(struct jr_verdict *ret,
                           const struct jr_restart *spec)
{
    struct jr_buf window JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_num_add_duration(&window, spec->window_ms);
    bool whole = spec->window_ms == 0 || window.failed;
    (void)snprintf(ret->why, sizeof ret->why, "restart.max is %u%s%s",
                   spec->max, whole ? "" : " within ",
                   whole ? "" : window.data);
}

void jr_restart_decide(struct jr_verdict *ret, const struct jr_restart *spec,
                       const struct jr_history *history)
{
    const struct jr_attempt *last = &history->items[history->count - 1];
    *ret = (struct jr_verdict){0};
    if (spec->max == 0 || is_restart_barred(ret, last))
        return;
    ret->counted = count_restarts(spec, history);
    if (ret->counted >= spec->max) {
        describe_spent(ret, spec);
        return;
    }
    ret->again = true;
    ret->wait_ms = backoff_wait_ms(spec, ret->counted);
}

size_t jr_restart_idle(const struct jr_history *history)
{
    size_t first = history->count;
    const struct jr_attempt *last = &history->items[history->count - 1];
    while (first > 0 && history->items[first - 1].failed &&
           history->items[first - 1].lived_ns < AT_ONCE &&
           strcmp(history->items[first - 1].how, last->how) == 0)
        first--;
    return history->count - first;
}
