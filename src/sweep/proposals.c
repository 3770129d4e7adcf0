/* Cells that a sampler proposes, one after the other. swept_spec.h declares it. */
#include "base/json.h"
#include "sweep/swept_spec.h"

#include "base/banned.h"

/* Fields that a proposal has at most. */
enum { FIELDS_MOST = 256 };

int jr_swept_spec_begin_proposals(struct jr_swept_spec *swept)
{
    struct jr_cells *cells = &swept->cells;
    cells->count = 0;
    cells->most_values = FIELDS_MOST;
    cells->places = jr_arena_array(&cells->arena, JR_SWEEP_CELLS_MAX, sizeof *cells->places);
    swept->values = jr_arena_array(&swept->arena, FIELDS_MOST, sizeof *swept->values);
    return cells->places == NULL || swept->values == NULL ? -1 : 0;
}

static int refuse_proposal(const struct jr_swept_spec *swept, struct jr_diags *diags,
                           const char *why)
{
    (void)jr_diags_error(diags, JR_CODE_WRONG_CELLS, swept->axes.at, NULL, "%s", why);
    return -1;
}

/* The values as a spec has them: JSON is YAML. */
static const struct jr_node *read_proposal(struct jr_swept_spec *swept, const json_t *values,
                                           struct jr_diags *diags)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_doc *doc = jr_arena_alloc(&swept->arena, sizeof *doc);
    struct jr_doc **slot =
        jr_arena_push(&swept->arena, &swept->proposals, &swept->proposals_count, sizeof *slot);
    if (doc == NULL || slot == NULL)
        return NULL;
    *slot = doc;
    *doc = (struct jr_doc)JR_DOC_INIT;
    jr_json_print(&text, values, 0);
    if (text.failed || jr_doc_load_value(doc, "sampler", text.data, 0, diags) != 0)
        return NULL;
    return doc->root;
}

int jr_swept_spec_propose(struct jr_swept_spec *swept, const json_t *values, struct jr_diags *diags)
{
    struct jr_cells *cells = &swept->cells;
    struct jr_sweep_axes *axes = &swept->axes;
    if (cells->count == JR_SWEEP_CELLS_MAX)
        return refuse_proposal(swept, diags, "more than 100000 cells");
    if (json_object_size(values) > FIELDS_MOST)
        return refuse_proposal(swept, diags, "a cell with more than 256 fields");
    const struct jr_node *node = read_proposal(swept, values, diags);
    if (node == NULL)
        return diags->errors > 0 ? -1 : refuse_proposal(swept, diags, "out of memory");
    if (jr_sweep_axes_propose(axes, swept->file, node, diags) != 0)
        return -1;
    cells->places[cells->count++] = (uint32_t)(axes->product + axes->includes_count - 1);
    return 0;
}
