#include "session/sweep/session_cells.h"

#include <stdlib.h>

#include "session/session.h"
#include "sweep/swept_spec.h"

#include "base/banned.h"

size_t jr_session_cells(const struct jr_session *session)
{
    return session->swept == NULL ? 0 : session->swept->cells.count;
}

void jr_session_be_cell(struct jr_session *session, const char *number, const char *sweep_id)
{
    session->cell = number;
    session->sweep_id = sweep_id;
}

void jr_session_keep_cell_file(struct jr_session *session, struct jr_spec_file *file)
{
    struct jr_spec_file **slot =
        jr_arena_push(&session->arena, &session->cell_files, &session->cell_files_count,
                      sizeof(struct jr_spec_file *));
    if (slot != NULL)
        *slot = file;
}

void jr_session_close_sweep(struct jr_session *session)
{
    for (size_t i = 0; i < session->cell_files_count; i++)
        jr_spec_free(session->cell_files[i]);
    session->cell_files_count = 0;
    if (session->swept == NULL)
        return;
    jr_swept_spec_close(session->swept);
    free(session->swept);
    session->swept = NULL;
}

static enum jr_status refuse_whole_sweep(struct jr_session *session, struct jr_error *err)
{
    const struct jr_cells *cells = &session->swept->cells;
    struct jr_buf first JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_cells_text(&first, cells, 0);
    (void)jr_error_set(err, JR_STATUS_USAGE,
                       "the spec is a sweep of %zu cell%s: choose one of them, "
                       "for example --cell 0 (%s)",
                       cells->count, cells->count == 1 ? "" : "s", first.failed ? "" : first.data);
    return JR_STATUS_USAGE;
}

/* Load the chosen cell in the place of what was read. */
static enum jr_status load_chosen_cell(struct jr_session *session, size_t cell)
{
    session->cell = jr_arena_printf(&session->arena, "%zu", cell);
    if (session->cell == NULL)
        return JR_STATUS_LAUNCH;
    if (jr_swept_spec_load(&session->file, session->swept, cell, &session->diags) == 0)
        return JR_STATUS_OK;
    return jr_spec_status(&session->diags);
}

enum jr_status jr_session_take_cell(struct jr_session *session, const struct jr_spec_source *source,
                                    const struct jr_spec_options *options, struct jr_error *err)
{
    const struct jr_swept_words words = {source, options, session->options.sweeps};
    struct jr_error why = {0};
    size_t cell = 0;
    if (!jr_spec_sweeps(session->file)) {
        (void)jr_error_set(err, JR_STATUS_USAGE,
                           "--cell %s: the spec has no `sweep`, and there is no --sweep",
                           session->options.cell);
        return JR_STATUS_USAGE;
    }
    session->swept = calloc(1, sizeof *session->swept);
    if (session->swept == NULL)
        return JR_STATUS_LAUNCH;
    struct jr_spec_file *file = session->file;
    session->file = NULL;
    if (jr_swept_spec_open(session->swept, file, &words, &session->diags) != 0)
        return jr_spec_status(&session->diags);
    if (session->options.cell == NULL)
        return refuse_whole_sweep(session, err);
    if (jr_cells_choose(&cell, &session->swept->cells, session->options.cell, &why) != 0) {
        (void)jr_error_set(err, why.status, "%s", why.text);
        return why.status;
    }
    return load_chosen_cell(session, cell);
}
