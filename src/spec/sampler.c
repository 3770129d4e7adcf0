#include "spec/sampler.h"

#include "base/num.h"
#include "base/strv.h"
#include "spec/spec_file.h"
#include "spec/sweep_choices.h"

#include "base/banned.h"

#define SAMPLER_MS (10 * UINT64_C(60000))

/* The program, and a cell that stands for those that it will propose: the spec as it is. */
void jr_sweep_read_sampler(struct jr_sweep_reading *reading, const struct jr_node *sweep)
{
    struct jr_sweep_axes *axes = reading->axes;
    const struct jr_node *list = jr_doc_get(sweep, "sampler");
    struct jr_strv words = {0};
    if (list == NULL || list->kind != JR_NODE_SEQUENCE)
        return;
    for (size_t i = 0; i < list->count; i++)
        jr_strv_push(&words, reading->arena, jr_arena_strdup(reading->arena, list->items[i]->text));
    axes->sampler = words.items;
    axes->sampler_ms = SAMPLER_MS;
    const struct jr_node *limit = jr_doc_get(sweep, "sampler_timeout");
    if (limit != NULL && limit->kind == JR_NODE_SCALAR)
        (void)jr_num_duration(limit->text, &axes->sampler_ms);
    struct jr_sweep_choice *plain =
        jr_arena_push(reading->arena, &axes->includes, &axes->includes_count, sizeof *plain);
    if (plain != NULL)
        plain->node = list;
}

/* What a sampler proposes is all there is. */
void jr_sweep_check_sampler(struct jr_sweep_reading *reading, const struct jr_node *sweep)
{
    static const char *const others[] = {"axes", "exclude", "include", "samples", "seed", NULL};
    const struct jr_sweep_axes *axes = reading->axes;
    const struct jr_node *list = jr_doc_get(sweep, "sampler");
    if (list == NULL)
        return;
    for (size_t i = 0; others[i] != NULL; i++) {
        const struct jr_pair *pair = jr_doc_pair(sweep, others[i]);
        if (pair != NULL)
            (void)jr_sweep_refuse(reading, JR_CODE_WRONG_CELLS, pair->key->span, NULL,
                                  "`%s` beside `sampler`, which proposes all cells", others[i]);
    }
    if (axes->count > 0 && jr_doc_pair(sweep, "axes") == NULL)
        (void)jr_sweep_refuse(reading, JR_CODE_WRONG_CELLS, axes->axes[0].key->span, NULL,
                              "--sweep beside `sampler`, which proposes all cells");
}

int jr_sweep_axes_propose(struct jr_sweep_axes *axes, struct jr_spec_file *file,
                          const struct jr_node *values, struct jr_diags *diags)
{
    size_t errors = diags->errors;
    struct jr_sweep_reading reading = {
        .axes = axes, .doc = &file->doc, .arena = &file->doc.arena, .diags = diags};
    struct jr_sweep_choice choice;
    jr_sweep_read_include(&reading, &choice, values);
    if (diags->errors == errors && !reading.arena->failed)
        jr_sweep_put_choice(&reading, &choice);
    if (diags->errors > errors)
        return -1;
    struct jr_sweep_choice *slot =
        jr_arena_push(reading.arena, &axes->includes, &axes->includes_count, sizeof *slot);
    if (slot != NULL) {
        *slot = choice;
        return 0;
    }
    (void)jr_sweep_refuse(&reading, JR_CODE_INTERNAL, axes->at, NULL, "out of memory");
    return -1;
}
