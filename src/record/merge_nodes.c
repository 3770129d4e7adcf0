/* The files of a run, out of those of its parts. */
#include "record/merge_nodes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "judge/words.h"
#include "record/merge_verdict.h"
#include "record/multinode.h"
#include "record/node_mismatch.h"
#include "record/record_folder.h"
#include "record/results_rank.h"
#include "record/results_run.h"
#include "record/results_table.h"
#include "store/run_folder.h"

#include "base/banned.h"

static void load_part(struct jr_part *part, int fd, uint32_t node, bool head)
{
    *part = (struct jr_part){.node = node, .status = JR_RUN_LAUNCH_FAILED};
    part->run = jr_node_part_json(fd, node, "run.json", false);
    part->standing = jr_part_standing(fd, node, part->run);
    if (strcmp(part->standing, "finished") == 0)
        part->results = jr_node_part_json(fd, node, "results.json", head);
    const char *word = jr_json_get_str(part->results, "status");
    if (word != NULL)
        (void)jr_run_status_of(word, &part->status);
}

/* The larger one, unless no run has so many. */
static uint32_t larger_count(uint32_t a, uint32_t b)
{
    return b > a && b <= JR_RANKS_MAX ? b : a;
}

/* How many nodes a part says that there are, as far as that can be. */
static uint32_t claimed_nodes(const json_t *run, size_t here)
{
    uint32_t nodes = jr_json_get_u32(run, "nodes");
    uint32_t most = (uint32_t)here + JR_ABSENT_MOST;
    return nodes > most && nodes <= JR_RANKS_MAX ? most : nodes;
}

static void load_all_parts(struct jr_node_parts *ret, int fd, const struct jr_multinode *found,
                           bool head)
{
    *ret = (struct jr_node_parts){.fd = fd};
    ret->items = calloc(found->count, sizeof *ret->items);
    for (size_t i = 0; ret->items != NULL && i < found->count; i++)
        load_part(&ret->items[ret->count++], fd, found->nodes[i], head);
    ret->nodes = found->nodes[found->count - 1] + 1;
    for (size_t i = 0; i < ret->count; i++) {
        const json_t *run = ret->items[i].run;
        ret->nodes = larger_count(ret->nodes, claimed_nodes(run, ret->count));
        ret->world = larger_count(ret->world, jr_json_get_u32(run, "world_size"));
    }
}

static void release_parts(struct jr_node_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++) {
        json_decref(parts->items[i].run);
        json_decref(parts->items[i].results);
    }
    free(parts->items);
}

static double lower_real(double a, double b)
{
    return a < b ? a : b;
}

/* "rank 3: exited with code 1" */
static void set_cause(json_t *node, const json_t *results)
{
    const json_t *cause = json_object_get(results, "root_cause");
    const json_t *rank = json_object_get(cause, "rank");
    const char *message = jr_json_get_str(cause, "message");
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    if (json_is_integer(rank) && message != NULL)
        jr_buf_printf(&text, "rank %lld: ", (long long)json_integer_value(rank));
    jr_buf_str(&text, message == NULL ? "" : message);
    jr_json_set_str(node, "cause", text.len == 0 ? NULL : text.data);
}

static json_t *node_json(uint32_t number, const struct jr_part *part)
{
    static const char *const kept[] = {"fingerprint", "world_size", "nodes", "ranks"};
    const json_t *run = part == NULL ? NULL : part->run;
    const json_t *results = part == NULL ? NULL : part->results;
    json_t *node = json_object();
    char name[JR_PART_NAME];
    (void)snprintf(name, sizeof name, JR_NODE_DIR, number);
    jr_json_set_int(node, "node_rank", number);
    jr_json_set_str(node, "host", jr_json_get_str(run, "host"));
    jr_json_share(node, run, "pid");
    jr_json_set_str(node, "status",
                    results != NULL ? jr_run_status_word(part->status)
                    : part != NULL  ? part->standing
                                    : "absent");
    jr_json_share(node, results, "exit_code");
    set_cause(node, results);
    jr_json_set_str(node, "part", part == NULL ? NULL : name);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        jr_json_share(node, run, kept[i]);
    return node;
}

static json_t *nodes_json(const struct jr_node_parts *parts)
{
    json_t *nodes = json_array();
    size_t i = 0;
    for (uint32_t node = 0; node < parts->nodes; node++) {
        bool here = i < parts->count && parts->items[i].node == node;
        jr_json_append(nodes, node_json(node, here ? &parts->items[i] : NULL));
        i += here;
    }
    return nodes;
}

json_t *jr_multinode_nodes(int fd, const struct jr_multinode *found)
{
    struct jr_node_parts parts;
    load_all_parts(&parts, fd, found, true);
    json_t *nodes = nodes_json(&parts);
    release_parts(&parts);
    return nodes;
}

/* How long it took. Parts that say nothing of it have begun at least. */
static void set_seconds(json_t *head, const struct jr_node_parts *parts)
{
    double started = jr_json_get_real(head, "started");
    double finished = jr_json_get_real(head, "finished");
    if (started <= 0)
        started = finished = jr_json_get_real(parts->items[0].run, "started");
    uint64_t took = jr_clock_ns_of(finished - started + 5e-4);
    jr_json_set_real(head, "started", started);
    jr_json_set_real(head, "finished", finished);
    jr_json_set_real(head, "seconds", jr_words_wall(took));
}

/* A path of the part, as it is called from above it. */
static void lift_path(json_t *object, const char *key, uint32_t node)
{
    const char *path = jr_json_get_str(object, key);
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    if (path == NULL || *path == '/')
        return;
    jr_buf_printf(&text, JR_NODE_DIR "/%s", node, path);
    jr_json_set(object, key, jr_json_buf(&text));
}

static void add_part_rank(json_t *ranks, json_t *rank, const struct jr_part *part, bool first)
{
    const char *state = jr_json_get_str(rank, "state");
    struct jr_buf folder JR_BUF_CLEANUP = JR_BUF_INIT;
    enum jr_rank_state was = JR_RANK_SUCCEEDED;
    const char *path = NULL;
    for (size_t i = 0; (path = jr_results_path(i)) != NULL; i++)
        lift_path(rank, path, part->node);
    if (!first && state != NULL && jr_rank_state_of(state, &was) && was == JR_RANK_FAILED)
        jr_json_set_str(rank, "state", jr_rank_state_word(JR_RANK_AFTER_FIRST_FAILURE));
    jr_buf_printf(&folder, JR_NODE_DIR "/attempt_%u/%u", part->node,
                  jr_json_get_u32(part->results, "attempt"), jr_json_get_u32(rank, "rank"));
    jr_json_set(rank, "folder", jr_json_buf(&folder));
    json_array_append(ranks, rank);
}

static json_t *all_ranks(const struct jr_node_parts *parts, const struct jr_part *decider)
{
    json_t *ranks = json_array();
    bool failed = decider != NULL && jr_part_weight_of(decider) >= JR_PART_LOST;
    for (size_t i = 0; i < parts->count; i++) {
        const struct jr_part *part = &parts->items[i];
        json_t *list = json_object_get(part->results, "ranks");
        size_t n = 0;
        json_t *rank = NULL;
        json_array_foreach(list, n, rank)
            add_part_rank(ranks, rank, part, !failed || part == decider);
    }
    return ranks;
}

/* The fingerprint that all parts have; NULL: there is none. */
static const char *common_fingerprint(const struct jr_node_parts *parts)
{
    const char *first = jr_json_get_str(parts->items[0].run, "fingerprint");
    for (size_t i = 1; first != NULL && i < parts->count; i++)
        if (!jr_part_has_fingerprint(parts->items[i].run, first))
            return NULL;
    return first;
}

/* What the first node that compares compares. */
static const json_t *first_compared(const struct jr_node_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        if (jr_compare_nodes_asked(parts->items[i].results))
            return parts->items[i].results;
    return NULL;
}

/* The value that is more than what there was; or less than it. */
static json_t *better_value(json_t *best, json_t *value, bool most)
{
    if (!json_is_number(value))
        return best;
    double a = json_number_value(best), b = json_number_value(value);
    return best == NULL || (most ? b > a : b < a) ? value : best;
}

/* The value of a key that is one part's. */
static json_t *pick_value(const struct jr_results_row *row, const struct jr_node_parts *parts)
{
    json_t *best = NULL;
    for (size_t i = 0; i < parts->count; i++) {
        json_t *value = json_object_get(parts->items[i].results, row->key);
        if (row->join != JR_JOIN_FIRST)
            best = better_value(best, value, row->join == JR_JOIN_MOST);
        else if (best == NULL && !json_is_null(value))
            best = value;
    }
    return best;
}

static json_t *sum_values(const struct jr_results_row *row, const struct jr_node_parts *parts)
{
    json_int_t all = 0;
    for (size_t i = 0; i < parts->count; i++)
        all += jr_json_get_u32(parts->items[i].results, row->key);
    return json_integer(all);
}

/* NULL is null. */
static void share_value(json_t *head, const char *key, json_t *value)
{
    jr_json_set(head, key, value == NULL ? json_null() : json_incref(value));
}

/* Join each key as its row says; the verdict, and values that are compared or counted over all
 * nodes, come after. */
static json_t *join_rows(const struct jr_node_parts *parts, const struct jr_part *decider)
{
    size_t count;
    const struct jr_results_row *rows = jr_results_rows(&count);
    const json_t *decides = decider != NULL ? decider->results : NULL;
    const json_t *any = decides;
    json_t *head = json_object();
    for (size_t i = 0; any == NULL && i < parts->count; i++)
        any = parts->items[i].results;
    for (size_t i = 0; i < count; i++) {
        const char *key = rows[i].key;
        if (rows[i].join == JR_JOIN_OWN)
            jr_json_set_null(head, key);
        else if (rows[i].join == JR_JOIN_SUM)
            jr_json_set(head, key, sum_values(&rows[i], parts));
        else if (rows[i].join == JR_JOIN_ANY)
            jr_json_share(head, any, key);
        else if (rows[i].join == JR_JOIN_DECIDER)
            jr_json_share(head, decides, key);
        else
            share_value(head, key, pick_value(&rows[i], parts));
    }
    return head;
}

/* How far the job is whose nodes each know their own ranks: as its slowest rank, with what all of
 * them warn of. */
static void join_progress(json_t *head, const struct jr_node_parts *parts)
{
    const json_t *slowest = NULL;
    json_t *warnings = json_array();
    json_int_t furthest = 0;
    bool several = false;
    for (size_t i = 0; i < parts->count; i++) {
        const json_t *part = json_object_get(parts->items[i].results, "progress");
        json_int_t step = jr_json_get_int(part, "step");
        json_int_t behind = jr_json_get_int(json_object_get(part, "slowest"), "behind");
        (void)json_array_extend(warnings, json_object_get(part, "warnings"));
        if (!json_is_integer(json_object_get(part, "step")))
            continue;
        furthest = step + behind > furthest ? step + behind : furthest;
        several = several || json_is_object(json_object_get(part, "slowest"));
        if (slowest == NULL || step < jr_json_get_int(slowest, "step"))
            slowest = part;
    }
    json_t *joined = slowest == NULL ? NULL : json_copy((json_t *)slowest);
    if (joined != NULL && several) {
        json_t *last = json_object();
        jr_json_share(last, json_object_get(joined, "slowest"), "rank");
        jr_json_set_int(last, "behind", furthest - jr_json_get_int(joined, "step"));
        jr_json_set(joined, "slowest", last);
    }
    if (joined != NULL) {
        jr_json_set(joined, "warnings", json_incref(warnings));
        jr_json_set(head, "progress", joined);
    }
    json_decref(warnings);
}

static json_t *join_results(const struct jr_node_parts *parts)
{
    const struct jr_part *decider = jr_merge_decider(parts);
    json_t *head = join_rows(parts, decider);
    json_t *nodes = nodes_json(parts);
    jr_json_set_str(head, "fingerprint", common_fingerprint(parts));
    jr_merge_verdict(head, parts, decider, nodes);
    join_progress(head, parts);
    set_seconds(head, parts);
    jr_json_set_int(head, "world_size", parts->world);
    jr_json_set(head, "attempts", json_array());
    jr_json_set(head, "nodes", nodes);
    jr_json_set(head, "ranks", all_ranks(parts, decider));
    jr_compare_nodes_compare(head);
    return head;
}

json_t *jr_merge_results(int fd, const struct jr_multinode *found, bool head)
{
    struct jr_node_parts parts;
    json_t *joined = NULL;
    bool over = true, any = false;
    load_all_parts(&parts, fd, found, head);
    if (head && first_compared(&parts) != NULL) {
        release_parts(&parts);
        load_all_parts(&parts, fd, found, false);
    }
    for (size_t i = 0; i < parts.count; i++) {
        over = over &&
               (parts.items[i].results != NULL || strcmp(parts.items[i].standing, "lost") == 0);
        any = any || parts.items[i].results != NULL;
    }
    if (over && any)
        joined = join_results(&parts);
    release_parts(&parts);
    return joined;
}

/* The ranks that a node's plan has for itself; it has all others, too. */
static void add_planned(json_t *ranks, const json_t *plan, uint32_t node)
{
    static const char *const streams[] = {"stdout", "stderr"};
    size_t i = 0;
    json_t *rank = NULL;
    json_array_foreach(json_object_get(plan, "ranks"), i, rank) {
        if (jr_json_get_u32(rank, "node_rank") != node)
            continue;
        for (size_t n = 0; n < 2; n++)
            lift_path(json_object_get(rank, streams[n]), "file", node);
        json_array_append(ranks, rank);
    }
}

json_t *jr_merge_plan(int fd, const struct jr_multinode *found, bool head)
{
    json_t *joined = NULL, *ranks = json_array();
    for (size_t i = 0; i < found->count && (i == 0 || !head); i++) {
        json_t *plan = jr_node_part_json(fd, found->nodes[i], "plan.json", head);
        add_planned(ranks, plan, found->nodes[i]);
        if (joined == NULL)
            joined = plan;
        else
            json_decref(plan);
    }
    if (joined != NULL)
        json_object_set(joined, "ranks", ranks);
    json_decref(ranks);
    return joined;
}

static int compare_stretch_starts(const void *a, const void *b)
{
    const struct jr_stretch *x = a, *y = b;
    return x->started < y->started ? -1 : x->started > y->started;
}

static int compare_moments(const void *a, const void *b)
{
    const struct jr_moment *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

void jr_multinode_timeline(struct jr_timeline *ret, int fd)
{
    struct jr_multinode found;
    struct jr_node_parts parts = {0};
    double first = INFINITY;
    jr_multinode_find(&found, fd);
    if (found.count > 0)
        load_all_parts(&parts, fd, &found, true);
    jr_multinode_release(&found);
    *ret = (struct jr_timeline){0};
    for (size_t i = 0; i < parts.count; i++)
        first = lower_real(first, jr_json_get_real(parts.items[i].run, "started"));
    for (size_t i = 0; i < parts.count; i++) {
        char path[JR_PART_PATH];
        jr_part_path(path, parts.items[i].node, "events.jsonl");
        jr_timeline_add(ret, fd, path, jr_json_get_real(parts.items[i].run, "started") - first);
    }
    if (ret->span_count > 1)
        qsort(ret->spans, ret->span_count, sizeof *ret->spans, compare_stretch_starts);
    if (ret->moment_count > 1)
        qsort(ret->moments, ret->moment_count, sizeof *ret->moments, compare_moments);
    release_parts(&parts);
}
