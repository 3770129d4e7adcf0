#include "session/sweep/sweep_code.h"

#include <string.h>

#include "base/clock.h"
#include "resolve/resolve.h"
#include "session/sweep/cell_hosts.h"
#include "session/sweep/sweep_run_parts.h"
#include "vcs/tree_stamp.h"

#include "base/banned.h"

#define SCRATCH "code.tmp"

/* Ranks may write into the tree all the time. */
#define WAIT_LEAST_NS (30 * UINT64_C(1000000))
#define WAIT_MOST_NS  (2 * UINT64_C(1000000000))

/* The session of the first cell, resolved for its folders and its secrets. */
static bool open_first_cell(struct jr_sweep_run *run)
{
    const struct jr_session *sweep = run->session;
    struct jr_session_options options = {.envp = sweep->options.envp};
    struct jr_session *session = jr_session_open(&options);
    const struct jr_resolve_options how = {
        .local = sweep->options.local,
        .node_rank = sweep->options.node_rank,
        .args = sweep->options.args,
        .environ = sweep->options.envp,
        .skip_leases = true,
    };
    run->code.session = session;
    if (session == NULL || sweep->cell_files_count == 0)
        return false;
    session->file = sweep->cell_files[0]; /* the needs were found by it */
    session->host = run->submits ? sweep->host : jr_cell_host_for(sweep, session->file);
    session->facts = true;
    return jr_resolve(&session->resolution, session->file, &session->host, &how, &session->diags) ==
           JR_STATUS_OK;
}

static void ask_for_code(struct jr_sweep_run *run)
{
    struct jr_sweep_code *code = &run->code;
    struct jr_arena *arena = &code->session->arena;
    const char *scratch = jr_arena_printf(arena, "%s/%s/" SCRATCH, run->log_dir, run->dir.path);
    if (scratch == NULL)
        return;
    jr_known_code_release(&code->known);
    jr_session_know_code(&code->known, code->session, scratch);
    if (code->known.tree.tree[0] != '\0')
        (void)stpcpy(code->tree, code->known.tree.tree);
}

void jr_sweep_code_open(struct jr_sweep_run *run)
{
    run->code.wait_ns = WAIT_LEAST_NS;
    if (open_first_cell(run))
        ask_for_code(run);
}

/* The next question comes later and later, so that a tree that changes with every cell does not
 * keep the sweep from beginning cells. */
void jr_sweep_code_renew(struct jr_sweep_run *run)
{
    struct jr_sweep_code *code = &run->code;
    const struct jr_known_code *known = &code->known;
    uint64_t now = jr_clock_ns();
    uint64_t wait_ns = code->wait_ns > 20 * known->took_ns ? code->wait_ns : 20 * known->took_ns;
    if (!known->tree.work_tree || now < code->looked_ns + WAIT_LEAST_NS)
        return;
    code->looked_ns = now;
    if ((known->stamped && jr_tree_stamp_holds(known->stamp, &known->tree)) ||
        now < known->asked_ns + wait_ns)
        return;
    code->wait_ns *= 2;
    if (code->wait_ns > WAIT_MOST_NS)
        code->wait_ns = WAIT_MOST_NS;
    ask_for_code(run);
}

void jr_sweep_code_close(struct jr_sweep_run *run)
{
    jr_known_code_release(&run->code.known);
    if (run->code.session != NULL)
        run->code.session->file = NULL;
    jr_session_close(run->code.session);
    run->code.session = NULL;
}

bool jr_sweep_code_differs(const struct jr_sweep_run *run, size_t cell)
{
    const char *ran = run->states[cell].code;
    return ran[0] != '\0' && run->code.tree[0] != '\0' && strcmp(ran, run->code.tree) != 0;
}
