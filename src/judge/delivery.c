#include "judge/delivery.h"

#include "judge/words.h"

#include "base/banned.h"

#define NO_REASON "its node does not say why"

static void pack_job(json_t *object, const struct jr_judgement *report)
{
    json_t *job = json_array();
    for (size_t n = 0; n < report->job_count; n++) {
        const struct jr_fault *fault = &report->job[n];
        json_t *entry = json_null();
        if (fault->error != JR_RESULT_NONE) {
            entry = json_object();
            jr_json_set_str(entry, "error", jr_result_error_word(fault->error));
            jr_json_set_str(entry, "reason", fault->reason);
        }
        jr_json_append(job, entry);
    }
    jr_json_set(object, "job", job);
}

json_t *jr_delivery_pack(const struct jr_judgement *report, size_t i)
{
    const struct jr_rank_judgement *rank = &report->ranks[i];
    if (rank->state != JR_RANK_SUCCEEDED && rank->state != JR_RANK_YIELDED &&
        rank->state != JR_RANK_INCOMPLETE && !jr_judgement_left(rank))
        return NULL;
    json_t *object = json_object();
    if (rank->result != NULL)
        jr_json_set(object, "result", json_incref(rank->result));
    if (rank->result_error != JR_RESULT_NONE && !rank->differs) {
        jr_json_set_str(object, "error", jr_result_error_word(rank->result_error));
        jr_json_set_str(object, "reason", rank->reason);
    }
    if (rank->unwritten)
        jr_json_set_bool(object, "unwritten", true);
    if (rank->late_match)
        jr_json_set_bool(object, "late_match", true);
    if (rank->pattern_limits > 0)
        jr_json_set_int(object, "pattern_limits", rank->pattern_limits);
    if (report->job != NULL)
        pack_job(object, report);
    return object;
}

/* A word that is none: what was delivered does not count, whatever it is. */
static enum jr_result_error read_fault(const char *word)
{
    enum jr_result_error fault = JR_RESULT_MISSING;
    (void)jr_result_error_of(word, &fault);
    return fault;
}

void jr_delivery_take(struct jr_judge *judge, size_t i, const json_t *delivery)
{
    struct jr_rank_judgement *rank = &judge->report->ranks[i];
    const char *error = jr_json_get_str(delivery, "error");
    const char *reason = jr_json_get_str(delivery, "reason");
    rank->result = json_incref(json_object_get(delivery, "result"));
    rank->unwritten = jr_json_get_bool(delivery, "unwritten");
    rank->late_match = jr_json_get_bool(delivery, "late_match");
    rank->pattern_limits = jr_json_get_u32(delivery, "pattern_limits");
    if (error == NULL)
        return;
    jr_judge_fault(judge, i, read_fault(error), "%s", reason != NULL ? reason : NO_REASON);
}

bool jr_delivery_take_job(struct jr_fault *ret, const struct jr_judge *judge,
                          const json_t *delivery)
{
    const json_t *job = json_object_get(delivery, "job");
    uint32_t count = judge->wants->artifacts_count;
    if (json_array_size(job) != count)
        return false;
    for (uint32_t n = 0; n < count; n++) {
        const json_t *entry = json_array_get(job, n);
        const char *error = jr_json_get_str(entry, "error");
        const char *reason = jr_json_get_str(entry, "reason");
        ret[n] = (struct jr_fault){0};
        if (!json_is_null(entry) && judge->common[n])
            ret[n] = (struct jr_fault){error == NULL ? JR_RESULT_MISSING : read_fault(error),
                                       reason != NULL ? reason : NO_REASON};
    }
    return true;
}
