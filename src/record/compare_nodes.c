/*
 * `equal` and `distinct` over the ranks of all nodes, each of which has
 * compared its own: the joined results are read as those of a run are, compared
 * anew, and told in the same words.
 */
#include "record/merge_nodes.h"

#include <string.h>

#include "judge/judge.h"
#include "record/load_results.h"

#include "base/banned.h"

bool jr_compare_nodes_asked(const json_t *results)
{
    return json_is_object(json_object_get(results, "compared"));
}

/* What comparing has made of each rank. */
static void note_ranks(json_t *joined, const struct jr_loaded_run *past)
{
    for (size_t i = 0; i < past->report.count; i++) {
        const struct jr_rank_judgement *rank = &past->report.ranks[i];
        json_t *line = json_array_get(json_object_get(joined, "ranks"), i);
        bool good = rank->state == JR_RANK_SUCCEEDED;
        if (!good && rank->state != JR_RANK_INCOMPLETE)
            continue;
        const char *error =
            good ? NULL : jr_result_error_word(rank->result_error);
        jr_json_set_str(line, "state", jr_rank_state_word(rank->state));
        jr_json_set_str(line, "error", good ? NULL : rank->reason);
        jr_json_set_str(line, "result_error", error);
        jr_json_set_bool(line, "differs", rank->differs);
    }
}

/* The verdict of a run whose ranks all ended well, of which some did not
 * deliver. */
static void note_verdict(json_t *joined, struct jr_loaded_run *past)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    past->report.status = JR_RUN_INCOMPLETE;
    jr_judgement_json_cause(&text, &past->report, &past->plan, &past->outcome);
    jr_json_set_str(joined, "status", jr_run_status_word(JR_RUN_INCOMPLETE));
    jr_json_set_int(joined, "exit_code", JR_STATUS_INCOMPLETE);
    jr_json_set(joined, "root_cause",
                text.failed ? NULL : jr_json_parse(text.data, text.len, NULL));
}

void jr_compare_nodes_compare(json_t *joined)
{
    struct jr_loaded_run past;
    if (!jr_compare_nodes_asked(joined) ||
        jr_loaded_run_read(&past, json_deep_copy(joined), NULL) != 0)
        return;
    struct jr_judge judge = {.report = &past.report,
                             .plan = &past.plan,
                             .outcome = &past.outcome,
                             .wants = &past.policy.results};
    bool open = past.report.status == JR_RUN_SUCCEEDED ||
                past.report.status == JR_RUN_INCOMPLETE;
    jr_compare_again(&judge);
    note_ranks(joined, &past);
    size_t odd = jr_judgement_first(&past.report, JR_RANK_INCOMPLETE);
    if (open && odd < past.report.count)
        note_verdict(joined, &past);
    jr_loaded_run_release(&past);
}
