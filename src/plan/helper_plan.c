#include "plan/helper_plan.h"

#include <string.h>

#include "base/strv.h"
#include "plan/argv.h"

#include "base/banned.h"

/* Whether a rank has that very variable; `hint` is where it is likely to be. */
static bool has_variable(const struct jr_plan_rank *rank, const char *item,
                         size_t hint, size_t count)
{
    if (hint < count && rank->env[hint] == item)
        return true;
    for (char *const *env = rank->env; *env != NULL; env++)
        if (*env == item || strcmp(*env, item) == 0)
            return true;
    return false;
}

/* Ranks `first` on, `count` of them, all have the variable. */
static bool is_variable_common(const struct jr_plan *plan, const size_t *counts,
                               const char *item, size_t hint)
{
    for (uint32_t i = 1; i < plan->count; i++)
        if (!has_variable(&plan->ranks[plan->first + i], item, hint, counts[i]))
            return false;
    return true;
}

static size_t *count_rank_variables(const struct jr_plan *plan,
                                    struct jr_arena *arena)
{
    size_t *counts = jr_arena_array(arena, plan->count, sizeof *counts);
    for (uint32_t i = 0; counts != NULL && i < plan->count; i++)
        while (plan->ranks[plan->first + i].env[counts[i]] != NULL)
            counts[i]++;
    return counts;
}

void jr_helper_fill(struct jr_plan *plan, const struct jr_scopes *scopes,
                    struct jr_arena *arena)
{
    const struct jr_plan_rank *model = &plan->ranks[plan->first];
    struct jr_plan_helper *helper = &plan->helper;
    struct jr_strv env = {0};
    if (arena->failed || scopes->space.arena->failed)
        return;
    helper->argv = jr_argv_helper(scopes, arena);
    size_t *counts = NULL;
    if (helper->argv != NULL)
        counts = count_rank_variables(plan, scopes->space.arena);
    for (size_t i = 0; counts != NULL && i < counts[0]; i++) {
        if (!is_variable_common(plan, counts, model->env[i], i))
            continue;
        jr_strv_push(&env, arena, model->env[i]);
        helper->env_own += i < model->env_own;
    }
    helper->env = env.items;
}
