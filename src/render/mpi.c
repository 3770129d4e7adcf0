/*
 * One command line that starts every rank as the plan has it, each as an application of its own:
 * its folder, its variables, its words. The variables are set by env(1), which all launchers
 * understand alike; what the launcher itself tells its processes is left to it. Nothing checks the
 * results. Declared in internal.h.
 */
#include "render/internal.h"

#include <fnmatch.h>
#include <string.h>

#include "base/redact.h"
#include "base/strv.h"
#include "plan/planner.h"

#include "base/banned.h"

/* How launchers say what they have in common. */
struct dialect {
    const char *hosts, *bind, *workdir;
};

static const struct dialect dialects[] = {
    [JR_MPI_OPENMPI] = {"--host", "--bind-to", "--wdir"},
    [JR_MPI_HYDRA] = {"-hosts", "-bind-to", "-wdir"},
};

#define NEXT " \\\n  "

static bool are_hosts_known(const struct jr_plan *plan)
{
    bool known = plan->hosts != NULL;
    for (uint32_t i = 0; known && i < plan->nodes; i++)
        known = plan->hosts[i] != NULL;
    return known;
}

/* The nodes with their ranks, where all of them are known. */
static void put_hosts(struct jr_buf *out, const struct dialect *dialect, const struct jr_plan *plan)
{
    if (!are_hosts_known(plan))
        return;
    jr_buf_printf(out, NEXT "%s ", dialect->hosts);
    uint32_t node = 0, ranks = 0;
    for (uint32_t i = 0; i <= plan->world_size; i++) {
        if (i < plan->world_size && plan->ranks[i].node_rank == node) {
            ranks++;
            continue;
        }
        jr_buf_str(out, node > 0 ? "," : "");
        jr_engine_word(out, plan->hosts[node]);
        jr_buf_printf(out, ":%u", ranks);
        node++;
        ranks = 1;
    }
}

/* A secret comes from the environment in which the script is run. */
static void put_variable(struct jr_buf *out, const struct jr_plan *plan, const char *variable)
{
    /* what a launcher tells its processes by itself */
    static const char *const globs[] = {"OMPI_*", "PMI_*", "PMIX_*", "MPI_LOCAL*"};
    size_t name = strcspn(variable, "=");
    for (size_t i = 0; i < sizeof globs / sizeof *globs; i++)
        if (fnmatch(globs[i], variable, 0) == 0)
            return;
    jr_buf_char(out, ' ');
    if (!jr_env_matches(plan->secrets, plan->secrets_count, variable, name)) {
        jr_engine_word(out, variable);
        return;
    }
    jr_buf_add(out, variable, name);
    jr_buf_printf(out, "=\"${%.*s:?}\"", (int)name, variable);
}

static void put_rank_command(struct jr_buf *out, const struct dialect *dialect,
                             const struct jr_plan *plan, uint32_t number)
{
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    const struct jr_plan_rank whole = jr_plan_rank_at(plan, number, &arena), *rank = &whole;
    if (arena.failed) {
        out->failed = true;
        return;
    }
    jr_buf_printf(out, NEXT "%s-n 1 %s ", number > 0 ? ": " : "", dialect->workdir);
    jr_engine_word(out, rank->workdir);
    jr_buf_str(out, " env");
    for (uint32_t i = 0; i < rank->env_own; i++)
        put_variable(out, plan, rank->env[i]);
    for (char *const *word = rank->argv; *word != NULL; word++) {
        jr_buf_char(out, ' ');
        jr_engine_word(out, *word);
    }
}

static const char *mpi_refusal(const struct jr_plan *plan)
{
    if (plan->returns)
        return "a function or a library returns its result to jobrun, which "
               "does not run under MPI: use a command, a script or a module";
    if (plan->helper.argv != NULL)
        return "MPI starts each rank as a new process: use start_method: spawn";
    if (plan->spare_nodes > 0)
        return "spare_nodes is for Slurm and ssh, and MPI has none: leave it out";
    if (plan->setup.text != NULL)
        return "MPI cannot run `setup`: run it before, in the shell that starts the launcher";
    return NULL;
}

int jr_mpi_render(struct jr_buf *out, const struct jr_engine_job *job, struct jr_error *err)
{
    const struct jr_plan *plan = job->plan;
    const struct jr_mpi *options = &job->policy->engine.mpi;
    const struct dialect *dialect = &dialects[options->dialect];
    size_t from = out->len;
    if (!job->meets && !are_hosts_known(plan))
        return jr_error_set(err, JR_STATUS_UNRESOLVED,
                            "the address where the ranks of %u nodes meet is "
                            "not known: state hosts, or master_addr",
                            plan->nodes);
    if (mpi_refusal(plan) != NULL)
        return jr_error_set(err, JR_STATUS_INVALID, "%s", mpi_refusal(plan));
    jr_buf_str(out, "#!/bin/sh\n");
    if (job->policy->results.stated)
        jr_buf_str(out, "# Nothing checks the ranks against `results` here.\n");
    /* where the plan's variables say that results and errors go */
    struct jr_buf path JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&path, "%s/attempt_0/", plan->own_dir);
    out->failed |= path.failed;
    jr_buf_printf(out, "rank=0\nwhile [ $rank -lt %u ]; do\n  mkdir -p ", plan->world_size);
    jr_engine_word(out, path.failed ? "" : path.data);
    jr_buf_str(out, "$rank || exit\n  rank=$((rank + 1))\ndone\n");
    jr_buf_str(out, "exec ");
    jr_engine_word(out, options->launcher);
    put_hosts(out, dialect, plan);
    /* the plan's `device` is what is near to one */
    jr_buf_printf(out, NEXT "%s %s", dialect->bind,
                  strcmp(job->bind, "device") == 0 ? "numa" : job->bind);
    for (uint32_t i = 0; i < plan->world_size; i++)
        put_rank_command(out, dialect, plan, i);
    jr_buf_char(out, '\n');
    jr_redact(out, from, plan->hidden, false);
    return 0;
}
