/*
 * One verdict for several. The node whose failure was the first decides, with
 * its root cause; a node whose jobrun is gone decides where none failed: when
 * that was, nobody knows. Then come nodes that did not deliver, and nodes that
 * are not here.
 */
#include "joined.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "folder.h"
#include "run.h"
#include "words.h"

#include "banned.h"

/* A part that has been read. */
struct part {
    uint32_t node;
    const char *standing;  /* "finished", "running", "elsewhere", "lost" */
    json_t *run, *results; /* results: NULL while there are none */
    enum jr_run_status status;
};

struct parts {
    int fd;
    struct part *items;
    size_t count;
    uint32_t nodes, world; /* of the whole */
};

static void load_part(struct part *part, int fd, uint32_t node, bool head)
{
    *part = (struct part){.node = node, .status = JR_RUN_LAUNCH_FAILED};
    part->run = jr_part_json(fd, node, "run.json", false);
    part->standing = jr_part_standing(fd, node, part->run);
    if (strcmp(part->standing, "finished") == 0)
        part->results = jr_part_json(fd, node, "results.json", head);
    const char *word = jr_json_get_str(part->results, "status");
    if (word != NULL)
        (void)jr_run_status_of(word, &part->status);
}

/* The larger one, unless no run has so many. */
static uint32_t larger(uint32_t a, uint32_t b)
{
    return b > a && b <= JR_RANKS_MAX ? b : a;
}

static void load(struct parts *ret, int fd, const struct jr_parts *found,
                 bool head)
{
    *ret = (struct parts){.fd = fd};
    ret->items = calloc(found->count + 1, sizeof *ret->items);
    for (size_t i = 0; ret->items != NULL && i < found->count; i++)
        load_part(&ret->items[ret->count++], fd, found->nodes[i], head);
    ret->nodes = found->nodes[found->count - 1] + 1;
    for (size_t i = 0; i < ret->count; i++) {
        const json_t *run = ret->items[i].run;
        ret->nodes = larger(ret->nodes, jr_json_get_u32(run, "nodes"));
        ret->world = larger(ret->world, jr_json_get_u32(run, "world_size"));
    }
}

static void release(struct parts *parts)
{
    for (size_t i = 0; i < parts->count; i++) {
        json_decref(parts->items[i].run);
        json_decref(parts->items[i].results);
    }
    free(parts->items);
}

static double lower(double a, double b)
{
    return a < b ? a : b;
}

/* When its ranks' end began, by its wall clock; 0: unknown. */
static double ended_at(const struct jr_timeline *timeline, const json_t *rank)
{
    static const char *const ends[] = {"start_failed", "signal", "timeout",
                                       "runner_lost"};
    for (size_t i = 0; json_is_integer(rank) && i < timeline->span_count; i++)
        if (timeline->spans[i].rank == json_integer_value(rank) &&
            timeline->spans[i].last && timeline->spans[i].ended >= 0)
            return timeline->spans[i].wall;
    for (size_t i = 0; i < timeline->moment_count; i++)
        for (size_t n = 0; n < sizeof ends / sizeof *ends; n++)
            if (strcmp(timeline->moments[i].event, ends[n]) == 0)
                return timeline->moments[i].wall;
    return 0;
}

/* The wall time at which a part failed, by its own clock. */
static double failed_at(const struct parts *parts, const struct part *part)
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

/* How much a part says of the whole; 0: it did well. */
static int weight_of(const struct part *part)
{
    if (part->results == NULL)
        return strcmp(part->standing, "lost") == 0 ? 2 : 0;
    if (part->status == JR_RUN_SUCCEEDED)
        return 0;
    return part->status == JR_RUN_INCOMPLETE ? 1 : 3;
}

/* The part that decides; NULL: all that are here did well. */
static const struct part *find_decider(const struct parts *parts)
{
    const struct part *found = NULL;
    double first = -1;
    for (size_t i = 0; i < parts->count; i++) {
        const struct part *part = &parts->items[i];
        int weight = weight_of(part), best = found ? weight_of(found) : 0;
        if (weight < best || weight == 0 || (weight == best && weight < 3))
            continue;
        if (weight > best) {
            found = part;
            first = -1;
            continue;
        }
        if (first < 0)
            first = failed_at(parts, found);
        double at = failed_at(parts, part);
        if (at < first) {
            found = part;
            first = at;
        }
    }
    return found;
}

/* "rank 3: exited with code 1" */
static void set_cause(json_t *node, const json_t *results)
{
    const json_t *cause = json_object_get(results, "root_cause");
    const json_t *rank = json_object_get(cause, "rank");
    const char *message = jr_json_get_str(cause, "message");
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    if (json_is_integer(rank) && message != NULL)
        jr_buf_printf(&text,
                      "rank %lld: ", (long long)json_integer_value(rank));
    jr_buf_str(&text, message == NULL ? "" : message);
    jr_json_set_str(node, "cause", text.len == 0 ? NULL : text.data);
}

static json_t *node_json(uint32_t number, const struct part *part)
{
    static const char *const kept[] = {"fingerprint", "world_size", "nodes",
                                       "ranks"};
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

static json_t *nodes_json(const struct parts *parts)
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

json_t *jr_parts_nodes(int fd, const struct jr_parts *found)
{
    struct parts parts;
    load(&parts, fd, found, true);
    json_t *nodes = nodes_json(&parts);
    release(&parts);
    return nodes;
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

static json_t *cause_of_lost(const struct part *part)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *host = jr_json_get_str(part->run, "host");
    jr_buf_printf(&text,
                  "the jobrun of node %u (pid %u on %s) is gone and left no "
                  "results",
                  part->node, jr_json_get_u32(part->run, "pid"),
                  host == NULL ? "?" : host);
    json_t *cause = cause_json("lost_node", &text);
    jr_json_set_str(cause, "host", host);
    return cause;
}

static json_t *cause_of_absent(const struct parts *parts)
{
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    size_t absent = parts->nodes - parts->count;
    jr_buf_printf(&text,
                  "what is here did well, but %zu of %u nodes %s not here",
                  absent, parts->nodes, absent == 1 ? "is" : "are");
    return cause_json("result", &text);
}

/* The verdict over the parts, and why. */
static void set_verdict(json_t *head, const struct parts *parts,
                        const struct part *decider, const json_t *nodes)
{
    struct jr_buf torn JR_BUF_CLEANUP = JR_BUF_INIT;
    enum jr_run_status status = JR_RUN_SUCCEEDED;
    json_int_t code = 0;
    json_t *cause = NULL;
    if (decider != NULL && decider->results != NULL) {
        status = decider->status;
        code = jr_json_get_u32(decider->results, "exit_code");
        cause = json_incref(json_object_get(decider->results, "root_cause"));
    } else if (decider != NULL) {
        status = JR_RUN_LAUNCH_FAILED;
        code = JR_STATUS_LAUNCH;
        cause = cause_of_lost(decider);
    } else if (jr_parts_torn(&torn, nodes)) {
        status = JR_RUN_INCOMPLETE;
        code = JR_STATUS_INCOMPLETE;
        cause = cause_json("result", &torn);
    } else if (parts->count < parts->nodes) {
        status = JR_RUN_INCOMPLETE;
        code = JR_STATUS_INCOMPLETE;
        cause = cause_of_absent(parts);
    }
    jr_json_set_str(head, "status", jr_run_status_word(status));
    jr_json_set_int(head, "exit_code", code);
    jr_json_set(head, "root_cause", cause == NULL ? json_null() : cause);
}

/* From when to when, and what is left. */
static void set_sums(json_t *head, const struct parts *parts)
{
    double started = INFINITY, finished = 0, end;
    json_int_t left = 0, attempt = 0;
    for (size_t i = 0; i < parts->count; i++) {
        const json_t *results = parts->items[i].results;
        if (results == NULL)
            continue;
        started = lower(started, jr_json_get_real(results, "started"));
        end = jr_json_get_real(results, "finished");
        finished = end > finished ? end : finished;
        left += jr_json_get_u32(results, "processes_left");
        if (jr_json_get_u32(results, "attempt") > attempt)
            attempt = jr_json_get_u32(results, "attempt");
    }
    if (!isfinite(started))
        started = finished = jr_json_get_real(parts->items[0].run, "started");
    uint64_t took = jr_clock_ns_of(finished - started + 5e-4);
    jr_json_set_int(head, "attempt", attempt);
    jr_json_set_real(head, "started", started);
    jr_json_set_real(head, "finished", finished);
    jr_json_set_real(head, "seconds", jr_words_wall(took));
    jr_json_set_int(head, "processes_left", left);
}

/* A path of the part, as it is called from above it. */
static void lift(json_t *object, const char *key, uint32_t node)
{
    const char *path = jr_json_get_str(object, key);
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    if (path == NULL || *path == '/')
        return;
    jr_buf_printf(&text, JR_NODE_DIR "/%s", node, path);
    jr_json_set(object, key, jr_json_buf(&text));
}

static void add_rank(json_t *ranks, json_t *rank, const struct part *part,
                     bool first)
{
    const char *state = jr_json_get_str(rank, "state");
    struct jr_buf folder JR_BUF_CLEANUP = JR_BUF_INIT;
    static const char *const paths[] = {"stdout", "stderr", "error_file"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        lift(rank, paths[i], part->node);
    if (!first && state != NULL && strcmp(state, "failed") == 0)
        jr_json_set_str(rank, "state", "after_first_failure");
    jr_buf_printf(&folder, JR_NODE_DIR "/attempt_%u/%u", part->node,
                  jr_json_get_u32(part->results, "attempt"),
                  jr_json_get_u32(rank, "rank"));
    jr_json_set(rank, "folder", jr_json_buf(&folder));
    json_array_append(ranks, rank);
}

static json_t *all_ranks(const struct parts *parts, const struct part *decider)
{
    json_t *ranks = json_array();
    bool failed = decider != NULL && weight_of(decider) > 1;
    for (size_t i = 0; i < parts->count; i++) {
        const struct part *part = &parts->items[i];
        json_t *list = json_object_get(part->results, "ranks");
        size_t n = 0;
        json_t *rank = NULL;
        json_array_foreach(list, n, rank)
            add_rank(ranks, rank, part, !failed || part == decider);
    }
    return ranks;
}

/* The fingerprint that all parts have; NULL: there is none. */
static const char *common_fingerprint(const struct parts *parts)
{
    const char *first = jr_json_get_str(parts->items[0].run, "fingerprint");
    for (size_t i = 1; first != NULL && i < parts->count; i++)
        if (!jr_part_ran_like(parts->items[i].run, first))
            return NULL;
    return first;
}

/* What the first node that compares compares. */
static const json_t *first_asked(const struct parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        if (jr_across_asked(parts->items[i].results))
            return parts->items[i].results;
    return NULL;
}

static json_t *join(const struct parts *parts)
{
    static const char *const kept[] = {"format_version", "run_id", "name"};
    const struct part *decider = find_decider(parts);
    const json_t *some = decider != NULL ? decider->results : NULL;
    json_t *head = json_object();
    for (size_t i = 0; some == NULL && i < parts->count; i++)
        some = parts->items[i].results;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        jr_json_share(head, some, kept[i]);
    jr_json_set_str(head, "fingerprint", common_fingerprint(parts));
    json_t *nodes = nodes_json(parts);
    set_verdict(head, parts, decider, nodes);
    set_sums(head, parts);
    jr_json_set_int(head, "world_size", parts->world);
    jr_json_set(head, "attempts", json_array());
    jr_json_share(head, some, "inject");
    jr_json_set_null(head, "not_restarted");
    jr_json_share(head, first_asked(parts), "compared");
    jr_json_set(head, "nodes", nodes);
    jr_json_set(head, "ranks", all_ranks(parts, decider));
    jr_across_compare(head);
    return head;
}

json_t *jr_joined_results(int fd, const struct jr_parts *found, bool head)
{
    struct parts parts;
    json_t *joined = NULL;
    bool over = true, any = false;
    load(&parts, fd, found, head);
    if (head && first_asked(&parts) != NULL) {
        release(&parts);
        load(&parts, fd, found, false);
    }
    for (size_t i = 0; i < parts.count; i++) {
        over = over && (parts.items[i].results != NULL ||
                        strcmp(parts.items[i].standing, "lost") == 0);
        any = any || parts.items[i].results != NULL;
    }
    if (over && any)
        joined = join(&parts);
    release(&parts);
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
            lift(json_object_get(rank, streams[n]), "file", node);
        json_array_append(ranks, rank);
    }
}

json_t *jr_joined_plan(int fd, const struct jr_parts *found, bool head)
{
    json_t *joined = NULL, *ranks = json_array();
    for (size_t i = 0; i < found->count && (i == 0 || !head); i++) {
        json_t *plan = jr_part_json(fd, found->nodes[i], "plan.json", head);
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

static int by_start(const void *a, const void *b)
{
    const struct jr_stretch *x = a, *y = b;
    return x->started < y->started ? -1 : x->started > y->started;
}

static int by_time(const void *a, const void *b)
{
    const struct jr_moment *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

void jr_parts_timeline(struct jr_timeline *ret, int fd)
{
    struct jr_parts found;
    struct parts parts = {0};
    double first = INFINITY;
    jr_parts_find(&found, fd);
    if (found.count > 0)
        load(&parts, fd, &found, true);
    jr_parts_release(&found);
    *ret = (struct jr_timeline){0};
    for (size_t i = 0; i < parts.count; i++)
        first = lower(first, jr_json_get_real(parts.items[i].run, "started"));
    for (size_t i = 0; i < parts.count; i++) {
        char path[JR_PART_PATH];
        jr_part_path(path, parts.items[i].node, "events.jsonl");
        jr_timeline_add(ret, fd, path,
                        jr_json_get_real(parts.items[i].run, "started") -
                            first);
    }
    if (ret->span_count > 1)
        qsort(ret->spans, ret->span_count, sizeof *ret->spans, by_start);
    if (ret->moment_count > 1)
        qsort(ret->moments, ret->moment_count, sizeof *ret->moments, by_time);
    release(&parts);
}
