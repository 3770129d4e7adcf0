/* The progress of a run and of its ranks in results.json. results_table.h
 * declares it. */
#include "record/results_table.h"

#include "store/progress.h"

#include "base/banned.h"

void jr_results_put_progress(struct jr_buf *out,
                             const struct jr_results_row *row,
                             const struct jr_results_run *run)
{
    json_t *object = jr_progress_json(run->outcome->progress);
    jr_json_key(out, row->key);
    jr_json_print(out, object, 0);
    json_decref(object);
}

void jr_results_get_progress(struct jr_loaded_run *loaded,
                             const struct jr_results_row *row,
                             const json_t *value)
{
    (void)row;
    if (!json_is_object(value))
        return;
    loaded->outcome.progress = jr_progress_new(loaded->plan.count);
    if (loaded->outcome.progress != NULL)
        jr_progress_get(loaded->outcome.progress, value);
}

void jr_results_put_rank_progress(struct jr_buf *out,
                                  const struct jr_results_rank *rank)
{
    const struct jr_progress *progress = rank->progress;
    if (progress == NULL || !progress->all || rank->i >= progress->count ||
        !progress->ranks[rank->i].any)
        return;
    json_t *object = jr_progress_rank_json(progress, &progress->ranks[rank->i]);
    jr_json_key(out, "progress");
    jr_json_print(out, object, 0);
    json_decref(object);
}

void jr_results_get_rank_progress(struct jr_loaded_run *loaded, size_t i,
                                  const json_t *value)
{
    struct jr_progress *progress = loaded->outcome.progress;
    if (progress != NULL && i < progress->count && json_is_object(value))
        jr_progress_get_rank(&progress->ranks[i], progress, value);
}
