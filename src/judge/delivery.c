#include "judge/delivery.h"

#include "judge/words.h"

#include "base/banned.h"

json_t *jr_delivery_pack(const struct jr_rank_judgement *rank)
{
    if (rank->state != JR_RANK_SUCCEEDED && rank->state != JR_RANK_YIELDED &&
        rank->state != JR_RANK_INCOMPLETE)
        return NULL;
    json_t *object = json_object();
    if (rank->result != NULL)
        jr_json_set(object, "result", json_incref(rank->result));
    if (rank->result_error != JR_RESULT_NONE && !rank->differs) {
        jr_json_set_str(object, "error",
                        jr_result_error_word(rank->result_error));
        jr_json_set_str(object, "reason", rank->reason);
    }
    if (rank->late_match)
        jr_json_set_bool(object, "late_match", true);
    if (rank->pattern_limits > 0)
        jr_json_set_int(object, "pattern_limits", rank->pattern_limits);
    return object;
}

void jr_delivery_take(struct jr_judge *judge, size_t i, const json_t *delivery)
{
    struct jr_rank_judgement *rank = &judge->report->ranks[i];
    const char *error = jr_json_get_str(delivery, "error");
    const char *reason = jr_json_get_str(delivery, "reason");
    /* A word that is none: what was delivered does not count, whatever it is.
     */
    enum jr_result_error fault = JR_RESULT_MISSING;
    rank->result = json_incref(json_object_get(delivery, "result"));
    rank->late_match = jr_json_get_bool(delivery, "late_match");
    rank->pattern_limits = jr_json_get_u32(delivery, "pattern_limits");
    if (error == NULL)
        return;
    (void)jr_result_error_of(error, &fault);
    jr_judge_fault(judge, i, fault, "%s",
                   reason != NULL ? reason : "its node does not say why");
}
