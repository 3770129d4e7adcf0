#include "resolve/rules.h"

#include <string.h>

#include "base/num.h"

#include "base/banned.h"

uint32_t jr_cpus_within_quota(const struct jr_host *hw, uint32_t usable)
{
    double quota = hw->cpus.quota;
    if (quota <= 0 || (usable > 0 && quota >= (double)usable))
        return usable;
    return quota < 1 ? 1 : (uint32_t)quota;
}

/* OpenMP's list form, one number per nesting level, counts by its first. */
static bool parse_omp(const char *text, uint32_t *ret)
{
    char first[16];
    size_t len = strcspn(text, ",");
    if (len >= sizeof first)
        return false;
    memcpy(first, text, len);
    first[len] = '\0';
    return jr_num_u32(first, ret) && *ret > 0;
}

enum jr_fired jr_rule_threads_env(struct jr_resolver *r,
                                  struct jr_field_value *out)
{
    const char *text = r->hw->environment.omp_num_threads;
    return text != NULL && parse_omp(text, &out->number) ? JR_FIRED : JR_PASSED;
}

/* Why the variable says nothing. */
static const char *explain_ignored_omp(struct jr_resolver *r)
{
    const char *omp = r->hw->environment.omp_num_threads;
    if (omp == NULL || omp[0] == '\0')
        return "unset";
    struct jr_diag *diag = jr_rules_warn(
        r, JR_CODE_OMP_NUM_THREADS_IGNORED, 0,
        "OMP_NUM_THREADS is not a positive integer and is ignored: '%s'", omp);
    jr_diag_help(r->diags, diag, "unset it, or state threads");
    return "unusable";
}

enum jr_fired jr_rule_threads(struct jr_resolver *r, struct jr_field_value *out)
{
    const struct jr_host_cpus *cpus = &r->hw->cpus;
    const char *omp = explain_ignored_omp(r);
    uint32_t ranks = jr_place_here(r);
    uint32_t cores = cpus->usable_cores ? cpus->usable_cores : cpus->usable;
    uint32_t usable = jr_cpus_within_quota(r->hw, cores);
    out->number = usable > ranks ? usable / ranks : 1;
    if (r->slot_cores > 0 && out->number > r->slot_cores)
        out->number = r->slot_cores;
    if (usable == 0) {
        out->origin = JR_ORIGIN_DEFAULT;
        out->rule = "the number of CPUs is not known";
        return JR_FIRED;
    }
    const char *said =
        jr_arena_printf(r->arena, "%u rank%s", ranks, ranks == 1 ? "" : "s");
    out->detail = said;
    if (cores != 0)
        out->detail = jr_arena_printf(r->arena, "%u physical core%s / %s",
                                      cores, cores == 1 ? "" : "s", said);
    const char *quota = cpus->quota > 0
                            ? jr_arena_printf(r->arena, "%g CPUs", cpus->quota)
                            : "none";
    out->rule =
        jr_arena_printf(r->arena, "quota %s, OMP_NUM_THREADS %s", quota, omp);
    return JR_FIRED;
}
