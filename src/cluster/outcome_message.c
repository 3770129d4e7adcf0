#include "cluster/outcome_message.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "store/outcome_codec.h"

#include "base/banned.h"

void jr_outcome_message_add(struct jr_buf *out, const struct jr_outcome *outcome)
{
    size_t most = sizeof outcome->left_pids / sizeof *outcome->left_pids;
    json_t *run = jr_outcome_pack(outcome);
    json_t *ranks = json_array(), *pids = json_array();
    for (uint32_t i = 0; i < outcome->count; i++)
        jr_json_append(ranks, jr_outcome_pack_rank(&outcome->ranks[i]));
    for (size_t i = 0; i < outcome->left && i < most; i++)
        jr_json_append(pids, json_integer(outcome->left_pids[i]));
    jr_json_set(run, "left_pids", pids);
    if (outcome->start_text[0] != '\0')
        jr_json_set_str(run, "start_text", outcome->start_text);
    jr_json_set(run, "ranks", ranks);
    jr_json_print(out, run, 0);
    json_decref(run);
}

void jr_outcome_message_refuse(struct jr_buf *out, const struct jr_error *why)
{
    json_t *run = json_object();
    jr_json_set_str(run, "error", why->text);
    jr_json_print(out, run, 0);
    json_decref(run);
}

static bool read_rank_outcomes(struct jr_outcome *ret, const json_t *ranks)
{
    ret->count = (uint32_t)json_array_size(ranks);
    for (uint32_t i = 0; i < ret->count; i++)
        if (jr_outcome_unpack_rank(&ret->ranks[i], json_array_get(ranks, i)) != 0)
            return false;
    return true;
}

static bool read_run(struct jr_outcome *ret, const json_t *run)
{
    size_t most = sizeof ret->left_pids / sizeof *ret->left_pids;
    const json_t *pids = json_object_get(run, "left_pids");
    const char *text = jr_json_get_str(run, "start_text");
    for (size_t i = 0; i < most && i < json_array_size(pids); i++)
        ret->left_pids[i] = (int32_t)json_integer_value(json_array_get(pids, i));
    (void)snprintf(ret->start_text, sizeof ret->start_text, "%s", text != NULL ? text : "");
    return jr_outcome_unpack(ret, run) == 0;
}

int jr_outcome_message_read(struct jr_outcome *ret, uint32_t count, const char *text, size_t len,
                            struct jr_error *err)
{
    json_t *run = jr_json_parse(text, len, NULL);
    const json_t *ranks = json_object_get(run, "ranks");
    const char *refusal = jr_json_get_str(run, "error");
    int result = 0;
    if (refusal != NULL)
        result = jr_error_set(err, JR_STATUS_LAUNCH, "%s", refusal);
    else if (!json_is_array(ranks) || json_array_size(ranks) != count ||
             !read_rank_outcomes(ret, ranks) || !read_run(ret, run))
        result = jr_error_set(err, JR_STATUS_LAUNCH, "it did not report what became of its ranks");
    json_decref(run);
    return result;
}
