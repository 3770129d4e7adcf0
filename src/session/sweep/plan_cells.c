#include "session/sweep/plan_cells.h"

#include <string.h>

#include "base/json.h"
#include "base/strv.h"
#include "session/session.h"
#include "session/sweep/cell_needs.h"
#include "session/sweep/sweep_devices.h"
#include "sweep/cell_columns.h"
#include "sweep/swept_spec.h"

#include "base/banned.h"

/* A text of so many bytes is given away. */
enum { PIECE = 64 << 10 };

struct telling {
    const struct jr_session *session;
    const struct jr_cells *cells;
    const struct jr_cell_needs *needs;
    const struct jr_plan_cells_options *options;
    const char *held;      /* who holds devices that cells may have; NULL: nobody */
    struct jr_room *taken; /* by the cells of a round, of each node */
    bool stopped;
};

static void pass_piece(struct telling *telling, struct jr_buf *out, size_t least)
{
    if (out->len < least || out->len == 0 || out->failed)
        return;
    telling->stopped |= telling->options->take(telling->options->data, out->data, out->len) != 0;
    jr_buf_clear(out);
}

/* How many cells run at once at most, and in how many rounds, if all of them take as long and begin
 * in their order. */
static void count_rounds(struct telling *telling, uint32_t *ret_most, size_t *ret_rounds)
{
    const struct jr_cell_needs *needs = telling->needs;
    size_t size = needs->nodes * sizeof *telling->taken;
    uint32_t running = 0;
    *ret_most = 0;
    *ret_rounds = telling->cells->count > 0;
    memset(telling->taken, 0, size);
    for (size_t i = 0; i < telling->cells->count; i++) {
        const struct jr_cell_need *need = &needs->kinds[needs->kind_of[i]];
        if (!jr_cell_needs_place(needs, need, telling->taken, running)) {
            memset(telling->taken, 0, size);
            (void)jr_cell_needs_place(needs, need, telling->taken, 0);
            running = 0;
            ++*ret_rounds;
        }
        if (++running > *ret_most)
            *ret_most = running;
    }
}

/* "3 devices", "1 core" */
static void add_need(struct jr_buf *out, const struct jr_cell_need *need)
{
    if (need->nodes > 1)
        jr_buf_printf(out, "%u nodes", need->nodes);
    else if (need->devices > 0)
        jr_buf_printf(out, "%u %s", need->devices, need->device_name);
    else
        jr_buf_printf(out, "%u core%s", need->cores, need->cores == 1 ? "" : "s");
}

static void tell_text(struct telling *telling, struct jr_buf *out)
{
    const struct jr_cell_needs *needs = telling->needs;
    struct jr_cell_columns columns;
    uint32_t most;
    size_t rounds, count = telling->cells->count;
    count_rounds(telling, &most, &rounds);
    jr_cell_columns_init(&columns, telling->cells);
    const char *where = !telling->session->host.real ? "there"
                        : needs->nodes > 1           ? "on the nodes"
                                                     : "on this machine";
    jr_buf_printf(out, "%zu cell%s, %u at once %s, %zu round%s\n", count, count == 1 ? "" : "s",
                  most, where, rounds, rounds == 1 ? "" : "s");
    if (telling->held != NULL)
        jr_buf_printf(out, "of the devices %s\n", telling->held);
    jr_buf_str(out, "\ncell   ");
    jr_cell_columns_head(out, &columns);
    jr_buf_str(out, "ranks  needs\n");
    for (size_t i = 0; i < count && !telling->stopped; i++) {
        const struct jr_cell_need *need = &needs->kinds[needs->kind_of[i]];
        jr_buf_printf(out, "%04zu   ", i);
        jr_cell_columns_row(out, &columns, i);
        jr_buf_printf(out, "%-5u  ", need->ranks);
        add_need(out, need);
        jr_buf_char(out, '\n');
        pass_piece(telling, out, PIECE);
    }
    jr_cell_columns_release(&columns);
}

/* A cell of the JSON, on a line. */
static void tell_cell(struct jr_buf *out, const struct telling *telling, size_t i)
{
    const struct jr_cell_needs *needs = telling->needs;
    const struct jr_cell_need *need = &needs->kinds[needs->kind_of[i]];
    json_t *cell = json_object();
    jr_json_set_int(cell, "cell", (json_int_t)i);
    jr_json_set(cell, "values", jr_cells_json(telling->cells, i));
    jr_json_set_int(cell, "nodes", need->nodes);
    jr_json_set_int(cell, "ranks", need->ranks);
    jr_json_set_int(cell, "devices", need->devices);
    jr_json_set_int(cell, "cores", need->cores);
    jr_buf_str(out, i == 0 ? "    " : ",\n    ");
    jr_json_print(out, cell, 0);
    json_decref(cell);
}

static void tell_json(struct telling *telling, struct jr_buf *out)
{
    uint32_t most;
    size_t rounds;
    count_rounds(telling, &most, &rounds);
    jr_buf_printf(out,
                  "{\n  \"format_version\": 1,\n  \"at_once\": %u,\n"
                  "  \"rounds\": %zu,\n  \"held\": ",
                  most, rounds);
    jr_json_quote(out, telling->held);
    jr_buf_str(out, ",\n  \"cells\": [\n");
    for (size_t i = 0; i < telling->cells->count && !telling->stopped; i++) {
        tell_cell(out, telling, i);
        pass_piece(telling, out, PIECE);
    }
    jr_buf_str(out, "\n  ]\n}\n");
}

/* Who holds devices of this machine that cells may have. */
static bool find_plan_holders(struct jr_buf *out, struct jr_session *session,
                              const struct jr_cell_needs *needs)
{
    struct jr_device_list list;
    if (!session->host.real || session->cell_hosts != NULL)
        return false;
    jr_sweep_devices_name(&list, session, needs);
    return jr_sweep_devices_holders(out, &list, NULL,
                                    jr_env_get(session->options.envp, "JOBRUN_RUN_ID"));
}

enum jr_status jr_session_plan_cells(struct jr_session *session,
                                     const struct jr_plan_cells_options *options,
                                     struct jr_error *err)
{
    struct jr_cell_needs needs;
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT, held JR_BUF_CLEANUP = JR_BUF_INIT;
    enum jr_status status = jr_cell_needs_find(&needs, session, err);
    if (options->parallel > 0)
        needs.parallel = options->parallel;
    struct telling telling = {
        .session = session,
        .cells = &session->swept->cells,
        .needs = &needs,
        .options = options,
        .taken = jr_arena_array(&needs.arena, needs.nodes + 1, sizeof *telling.taken)};
    out.failed |= telling.taken == NULL;
    if (status == JR_STATUS_OK && telling.taken != NULL) {
        if (find_plan_holders(&held, session, &needs))
            telling.held = held.data;
        if (options->json)
            tell_json(&telling, &out);
        else
            tell_text(&telling, &out);
        pass_piece(&telling, &out, 1);
    }
    jr_cell_needs_release(&needs);
    if (!out.failed)
        return status;
    (void)jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    return JR_STATUS_LAUNCH;
}
