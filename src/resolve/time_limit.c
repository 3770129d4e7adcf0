/* What the job may still use of its allocation's time. These limits belong to
 * the allocation and not to the experiment, so they are reported and obeyed,
 * but are part neither of the resolved spec nor of its fingerprint. */
#include "resolve/rules.h"

#include <inttypes.h>

#include "base/num.h"

#include "base/banned.h"

enum { SECOND = 1000, RESERVE = 10 };

/* Take `bound` for the duration `*to` unless that is less; one that the spec
 * states does not go without a word. */
static enum jr_fired bound_duration_by(struct jr_resolver *r,
                                       struct jr_field_value *out,
                                       const char *path, uint64_t *to,
                                       uint64_t bound)
{
    struct jr_buf JR_BUF_CLEANUP was = JR_BUF_INIT, is = JR_BUF_INIT;
    if (*to != 0 && *to <= bound)
        return JR_PASSED;
    jr_num_add_duration(&was, *to);
    jr_num_add_duration(&is, bound);
    r->arena->failed = r->arena->failed || was.failed || is.failed;
    struct jr_span stated = jr_spec_where(r->file, path);
    const char *written = jr_spec_written(r->file, r->arena, path);
    if (stated.line != 0) {
        struct jr_diag *diag =
            jr_rules_warn(r, JR_CODE_TIME_LIMIT_TOO_LONG, 0,
                          "%s %s is more than the allocation allows: %s", path,
                          written != NULL ? written : was.data, is.data);
        if (diag != NULL)
            diag->span = stated;
        jr_diag_help(r->diags, diag, "%s is used (%s)", is.data, out->rule);
    }
    *to = bound;
    out->text = jr_arena_strdup(r->arena, is.data);
    return JR_FIRED;
}

enum jr_fired jr_rule_run(struct jr_resolver *r, struct jr_field_value *out)
{
    uint64_t end = r->hw->scheduler.end, now = r->hw->now;
    if (end == 0 || now == 0 || end <= now)
        return JR_PASSED;
    out->detail = jr_place_said(r, "end");
    return bound_duration_by(r, out, "timeouts.run", &r->timeouts.run_ms,
                             (end - now) * SECOND);
}

enum jr_fired jr_rule_stop_grace(struct jr_resolver *r,
                                 struct jr_field_value *out)
{
    uint64_t wait = r->hw->scheduler.kill_wait;
    if (wait == 0)
        return JR_PASSED;
    out->detail =
        jr_arena_printf(r->arena, "KillWait %" PRIu64 "s of Slurm", wait);
    return bound_duration_by(
        r, out, "timeouts.stop_grace", &r->timeouts.stop_grace_ms,
        wait > RESERVE ? (wait - RESERVE) * SECOND : SECOND);
}
