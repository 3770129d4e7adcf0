#include "plan/plan_print.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/redact.h"
#include "plan/print_parts.h"

#include "base/banned.h"

/* The index of the variable that is set by jobrun for the rank and has the name of `item`; `hint`
 * is where it is likely to be. env_own if there is none. */
static uint32_t find_own_variable(const struct jr_plan_rank *rank, const char *item, uint32_t hint)
{
    size_t len = strcspn(item, "=") + 1;
    if (hint < rank->env_own && strncmp(rank->env[hint], item, len) == 0)
        return hint;
    uint32_t i = 0;
    while (i < rank->env_own && strncmp(rank->env[i], item, len) != 0)
        i++;
    return i;
}

/* Of the variables of rank 0, which ones are the same for all ranks. */
static void find_common(bool *common, const struct jr_plan_rank *model, struct jr_telling *telling)
{
    const struct jr_plan *plan = telling->plan;
    memset(common, true, model->env_own * sizeof *common);
    for (uint32_t rank = 1; rank < plan->world_size; rank++) {
        struct jr_arena arena = JR_ARENA_INIT;
        struct jr_plan_rank at = jr_plan_rank_at(plan, rank, &arena);
        telling->out->failed |= arena.failed;
        for (uint32_t i = 0; i < model->env_own && !arena.failed; i++) {
            const char *item = model->env[i];
            uint32_t found = common[i] ? find_own_variable(&at, item, i) : 0;
            common[i] = common[i] && found < at.env_own &&
                        (at.env[found] == item || strcmp(at.env[found], item) == 0);
        }
        jr_arena_release(&arena);
    }
}

static void print_variable(struct jr_buf *out, const struct jr_plan *plan, const char *item)
{
    jr_buf_str(out, "  ");
    if (jr_show_secret(plan, item))
        jr_buf_printf(out, "%.*s=" JR_REDACTED, (int)strcspn(item, "="), item);
    else
        jr_buf_safe(out, item);
    jr_buf_char(out, '\n');
}

/* What a rank does not have in common with all others. */
static void print_own_variables(struct jr_telling *telling, const struct jr_plan_rank *model,
                                const bool *common, uint32_t rank)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_plan_rank at = jr_plan_rank_at(telling->plan, rank, &arena);
    telling->out->failed |= arena.failed;
    jr_buf_printf(telling->out, "environment of rank %u\n", rank);
    for (uint32_t i = 0; i < at.env_own && !arena.failed; i++) {
        uint32_t first = find_own_variable(model, at.env[i], i);
        if (first == model->env_own || !common[first])
            print_variable(telling->out, telling->plan, at.env[i]);
    }
    jr_arena_release(&arena);
    jr_telling_pass(telling, true);
}

/* What all ranks have in common is said once. */
static void print_plan_env(struct jr_telling *telling, const struct jr_plan_rank *model)
{
    const struct jr_plan *plan = telling->plan;
    struct jr_buf *out = telling->out;
    JR_FREE bool *common = calloc(model->env_own + 1u, sizeof *common);
    if (common == NULL) {
        out->failed = true;
        return;
    }
    jr_buf_str(out, "\nenvironment of every rank\n");
    find_common(common, model, telling);
    for (uint32_t i = 0; i < model->env_own; i++)
        if (common[i])
            print_variable(out, plan, model->env[i]);
    for (uint32_t i = 0; i < plan->world_size && !telling->ended; i++)
        print_own_variables(telling, model, common, i);
}

/* A word as a shell would want it; of a text of several lines the first. */
static void print_word(struct jr_buf *out, const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ%+,-./:=@_";
    size_t len = strcspn(word, "\n");
    bool whole = word[len] == '\0' || word[len + 1] == '\0';
    const char *rest = whole ? "" : " ...";
    if (len > 0 && word[strspn(word, plain)] == '\0') {
        jr_buf_add(out, word, len);
        return;
    }
    jr_buf_char(out, '\'');
    for (const char *quote; (quote = memchr(word, '\'', len)) != NULL;) {
        size_t before = (size_t)(quote - word);
        jr_buf_escaped(out, word, before);
        jr_buf_str(out, "'\\''");
        word += before + 1;
        len -= before + 1;
    }
    jr_buf_escaped(out, word, len);
    jr_buf_printf(out, "%s'", rest);
}

static void print_plan_argv(struct jr_buf *out, const char *label, char *const *argv)
{
    jr_buf_printf(out, "%-9s", label);
    for (; *argv != NULL; argv++) {
        jr_buf_char(out, ' ');
        print_word(out, *argv);
    }
}

static void print_command(struct jr_buf *out, const struct jr_plan *plan,
                          const struct jr_plan_rank *model)
{
    print_plan_argv(out, "command", model->argv);
    jr_buf_str(out, plan->same_argv ? "\n" : "   (rank 0)\n");
}

/* What runs before the ranks do. */
static void print_plan_start(struct jr_buf *out, const struct jr_plan *plan)
{
    if (plan->setup.text != NULL) {
        char *const setup[] = {(char *)plan->setup.text, NULL};
        print_plan_argv(out, "setup", setup);
        jr_buf_char(out, '\n');
    }
    if (plan->helper.argv != NULL) {
        print_plan_argv(out, "helper", plan->helper.argv);
        jr_buf_char(out, '\n');
    }
}

/* What runs once, when all is over. */
static void print_on_end(struct jr_buf *out, const struct jr_policy *policy)
{
    if (policy->on_end_count == 0)
        return;
    jr_buf_printf(out, "%-9s", "on_end");
    for (uint32_t i = 0; i < policy->on_end_count; i++) {
        jr_buf_char(out, ' ');
        print_word(out, policy->on_end[i]);
    }
    jr_buf_char(out, '\n');
}

/* A copy of the code, and what it does not have of its own. */
static void print_frozen(struct jr_buf *out, const struct jr_plan *plan)
{
    enum { MOST_SHOWN = 20 };
    if (plan->frozen == NULL)
        return;
    jr_buf_str(out, "code      a copy of ");
    jr_buf_safe(out, plan->frozen);
    jr_buf_char(out, '\n');
    for (size_t i = 0; i < plan->links_count && i < MOST_SHOWN; i++) {
        jr_buf_str(out, i == 0 ? "links     " : ", ");
        jr_buf_safe(out, plan->links[i]);
    }
    if (plan->links_count > MOST_SHOWN)
        jr_buf_printf(out, " and %zu more", plan->links_count - MOST_SHOWN);
    if (plan->links_count > 0)
        jr_buf_str(out, " (git ignores these: they are not frozen)\n");
}

static void print_plan_text(struct jr_buf *out, const char *label, const char *text)
{
    jr_buf_printf(out, "%-10s", label);
    jr_buf_safe(out, text);
    jr_buf_char(out, '\n');
}

static void print_master(struct jr_buf *out, const struct jr_plan *plan)
{
    const char *addr = plan->master_addr;
    bool v6 = strchr(addr, ':') != NULL;
    jr_buf_str(out, v6 ? "master    [" : "master    ");
    jr_buf_safe(out, addr);
    jr_buf_printf(out, "%s:%u\n", v6 ? "]" : "", plan->master_port);
}

/* The default, and the axes that have another. */
static void print_backends(struct jr_buf *out, const struct jr_plan *plan)
{
    jr_buf_str(out, "backends  ");
    jr_buf_safe(out, plan->backend);
    for (enum jr_axis axis = 0; axis < JR_AXIS_COUNT; axis++) {
        const char *backend = plan->axis_backend[axis];
        if (backend == NULL || strcmp(backend, plan->backend) == 0)
            continue;
        jr_buf_printf(out, ", %s ", jr_show_axis[axis]);
        jr_buf_safe(out, backend);
    }
    jr_buf_char(out, '\n');
}

/* "spares    gpu05, gpu06: each takes the place of a node that is lost" */
static void print_spares(struct jr_buf *out, const struct jr_plan *plan)
{
    if (plan->spare_nodes == 0)
        return;
    jr_buf_str(out, "spares    ");
    for (uint32_t i = 0; i < plan->spare_nodes; i++) {
        uint32_t node = plan->nodes + i;
        const char *host = plan->hosts == NULL ? NULL : plan->hosts[node];
        jr_buf_str(out, i == 0 ? "" : ", ");
        if (host == NULL)
            jr_buf_printf(out, "node %u", node);
        else
            jr_buf_safe(out, host);
    }
    jr_buf_str(out, plan->spare_nodes == 1 ? ": it takes" : ": they take");
    jr_buf_str(out, " the place of a node that is lost\n");
}

static void print_plan_head(struct jr_buf *out, const struct jr_plan *plan,
                            const struct jr_plan_rank *model)
{
    jr_buf_str(out, "job       ");
    jr_buf_safe(out, plan->name);
    jr_buf_printf(out, ": %u rank%s on %u node%s", plan->world_size,
                  plan->world_size == 1 ? "" : "s", plan->nodes, plan->nodes == 1 ? "" : "s");
    if (plan->spare_nodes > 0)
        jr_buf_printf(out, ", and %u spare%s", plan->spare_nodes,
                      plan->spare_nodes == 1 ? "" : "s");
    jr_buf_char(out, '\n');
    if (plan->count != plan->world_size)
        jr_buf_printf(out, "here      node %u: ranks %u-%u\n", plan->node_rank, plan->first,
                      plan->first + plan->count - 1);
    print_spares(out, plan);
    print_plan_start(out, plan);
    print_command(out, plan, model);
    print_on_end(out, plan->policy);
    print_frozen(out, plan);
    print_plan_text(out, "workdir", model->workdir);
    print_plan_text(out, "folder", plan->own_dir);
    print_master(out, plan);
    print_backends(out, plan);
    if (plan->unbound != NULL)
        print_plan_text(out, "bind", plan->unbound);
    if (plan->inject != NULL)
        print_plan_text(out, "rehearsed", plan->inject);
}

void jr_plan_print(struct jr_buf *out, const struct jr_plan *plan, bool env,
                   const struct jr_drain *drain)
{
    struct jr_telling telling = {out, plan, drain, out->len, false, false};
    struct jr_arena arena = JR_ARENA_INIT;
    const struct jr_plan_rank model = jr_plan_rank_at(plan, 0, &arena);
    if (arena.failed) {
        out->failed = true;
    } else {
        print_plan_head(out, plan, &model);
        jr_buf_char(out, '\n');
        jr_show_mesh(out, plan);
        jr_buf_char(out, '\n');
        jr_show_ranks(out, plan, !env);
        if (env)
            print_plan_env(&telling, &model);
        jr_telling_pass(&telling, false);
    }
    jr_arena_release(&arena);
}
