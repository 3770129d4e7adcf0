/*
 * One verdict for several nodes. The node that failed first decides, with its root cause. A node
 * whose jobrun is gone decides only if no node failed, because the time of its loss is not known.
 * Then come nodes that did not deliver, nodes that are not of one run, and nodes that are not here.
 */
#include "record/merge_verdict.h"

#include <string.h>

#include "record/merge_nodes.h"
#include "record/multinode.h"
#include "record/node_mismatch.h"
#include "record/record_folder.h"

#include "base/banned.h"

/* When its ranks' end began, by its wall clock; 0: unknown. */
static double ended_at(const struct jr_timeline *timeline, const json_t *rank)
{
    for (size_t i = 0; json_is_integer(rank) && i < timeline->span_count; i++)
        if (timeline->spans[i].rank == json_integer_value(rank) && timeline->spans[i].last &&
            timeline->spans[i].ended >= 0)
            return timeline->spans[i].wall;
    for (size_t i = 0; i < timeline->moment_count; i++)
        if ((jr_event_kind(timeline->moments[i].name) & JR_EVENT_IS_END) != 0)
            return timeline->moments[i].wall;
    return 0;
}

/* The wall time at which a part failed, by its own clock. */
static double failed_at(const struct jr_node_parts *parts, const struct jr_part *part)
{
    const json_t *cause = json_object_get(part->results, "root_cause");
    struct jr_timeline timeline = {0};
    char path[JR_PART_PATH];
    jr_part_path(path, part->node, "events.jsonl");
    jr_timeline_add(&timeline, parts->fd, path, 0);
    double wall = ended_at(&timeline, json_object_get(cause, "rank"));
    jr_timeline_release(&timeline);
    return wall > 0 ? wall : jr_json_get_real(part->results, "finished");
}

enum jr_part_weight jr_part_weight_of(const struct jr_part *part)
{
    if (part->results == NULL)
        return strcmp(part->standing, "lost") == 0 ? JR_PART_LOST : JR_PART_WELL;
    if (part->status == JR_RUN_SUCCEEDED)
        return JR_PART_WELL;
    if (part->status == JR_RUN_YIELDED)
        return JR_PART_YIELDED;
    return part->status == JR_RUN_INCOMPLETE ? JR_PART_INCOMPLETE : JR_PART_FAILED;
}

const struct jr_part *jr_merge_decider(const struct jr_node_parts *parts)
{
    const struct jr_part *found = NULL;
    double first = -1;
    for (size_t i = 0; i < parts->count; i++) {
        const struct jr_part *part = &parts->items[i];
        enum jr_part_weight weight = jr_part_weight_of(part);
        enum jr_part_weight best = found ? jr_part_weight_of(found) : JR_PART_WELL;
        if (weight > best) {
            found = part;
            first = -1;
        } else if (weight == best && weight == JR_PART_FAILED) {
            double at = failed_at(parts, part);
            first = first < 0 ? failed_at(parts, found) : first;
            found = at < first ? part : found;
            first = at < first ? at : first;
        }
    }
    return found;
}

/* A root cause that no rank is. */
static json_t *cause_json(const char *kind, const struct jr_buf *message)
{
    json_t *cause = json_object();
    jr_json_set_null(cause, "rank");
    jr_json_set_null(cause, "host");
    jr_json_set_str(cause, "kind", kind);
    jr_json_set_null(cause, "exit_code");
    jr_json_set_null(cause, "signal");
    jr_json_set(cause, "message", jr_json_buf(message));
    jr_json_set(cause, "together", json_array());
    return cause;
}

static json_t *cause_of_lost(const struct jr_part *part)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *host = jr_json_get_str(part->run, "host");
    jr_buf_printf(&text, "the jobrun of node %u (pid %u on %s) is gone and left no results",
                  part->node, jr_json_get_u32(part->run, "pid"), host == NULL ? "?" : host);
    json_t *cause = cause_json("lost_node", &text);
    jr_json_set_str(cause, "host", host);
    return cause;
}

static json_t *cause_of_absent(const struct jr_node_parts *parts)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    size_t absent = parts->nodes - parts->count;
    jr_buf_printf(&text, "the nodes that are here succeeded, but %zu of %u %s not here", absent,
                  parts->nodes, absent == 1 ? "is" : "are");
    return cause_json("result", &text);
}

void jr_merge_verdict(json_t *head, const struct jr_node_parts *parts,
                      const struct jr_part *decider, const json_t *nodes)
{
    struct jr_buf reason JR_BUF_CLEANUP = JR_BUF_INIT;
    enum jr_run_status status = JR_RUN_SUCCEEDED;
    json_int_t code = 0;
    json_t *cause = NULL;
    bool absent = parts->count < parts->nodes;
    /* What is to be continued says nothing of a node that is not here. */
    if (absent && decider != NULL && jr_part_weight_of(decider) == JR_PART_YIELDED)
        decider = NULL;
    if (decider != NULL && decider->results != NULL) {
        status = decider->status;
        code = jr_record_folder_exit_code(decider->results);
        cause = json_incref(json_object_get(decider->results, "root_cause"));
    } else if (decider != NULL) {
        status = JR_RUN_LAUNCH_FAILED;
        code = JR_STATUS_LAUNCH;
        cause = cause_of_lost(decider);
    } else if (jr_node_mismatch_find(&reason, nodes)) {
        status = JR_RUN_INCOMPLETE;
        code = JR_STATUS_INCOMPLETE;
        cause = cause_json("result", &reason);
    } else if (absent) {
        status = JR_RUN_INCOMPLETE;
        code = JR_STATUS_INCOMPLETE;
        cause = cause_of_absent(parts);
    }
    jr_json_set_str(head, "status", jr_run_status_word(status));
    jr_json_set_int(head, "exit_code", code);
    jr_json_set(head, "root_cause", cause == NULL ? json_null() : cause);
}
