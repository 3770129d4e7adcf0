#include "judge/delivery.h"

#include <string.h>

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

/* A word that is none: what was delivered does not count, whatever it is. */
static enum jr_result_error find_result_error(const char *word)
{
    static const char *const words[] = {
#define WORD(name, word) word,
        JR_RESULT_ERRORS(WORD)
#undef WORD
    };
    size_t i = 0, count = sizeof words / sizeof *words;
    while (i < count && strcmp(words[i], word) != 0)
        i++;
    return i < count ? (enum jr_result_error)i : JR_RESULT_MISSING;
}

void jr_delivery_take(struct jr_judge *judge, size_t i, const json_t *delivery)
{
    struct jr_rank_judgement *rank = &judge->report->ranks[i];
    const char *error = jr_json_get_str(delivery, "error");
    const char *reason = jr_json_get_str(delivery, "reason");
    rank->result = json_incref(json_object_get(delivery, "result"));
    rank->late_match = jr_json_get_bool(delivery, "late_match");
    rank->pattern_limits = jr_json_get_u32(delivery, "pattern_limits");
    if (error != NULL)
        jr_judge_fault(judge, i, find_result_error(error), "%s",
                       reason != NULL ? reason : "its node does not say why");
}
