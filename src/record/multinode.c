/*
 * A run in parts as one. The node that failed first decides, with its root cause. A node whose
 * jobrun is gone decides only if no node failed, because the time of its loss is not known. Then
 * come nodes that did not deliver, nodes that are not of one run, and nodes that are not here.
 *
 * They know nothing of each other, and somebody may have changed the spec, or given `-s` on one of
 * them only: then they ran different experiments, or not even one world. `equal` and `distinct`
 * over the ranks of all nodes, each of which has compared its own: the joined results are read like
 * those of one run, compared again, and reported in the same words.
 */
#include "record/multinode.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/rank_set.h"
#include "base/strv.h"
#include "base/syscalls.h"
#include "judge/judge.h"
#include "judge/result_checks.h"
#include "judge/words.h"
#include "record/internal.h"
#include "record/load_results.h"
#include "record/record_code.h"
#include "record/record_folder.h"
#include "record/results_json.h"
#include "record/timeline.h"
#include "store/run_folder.h"

#include "base/banned.h"

#define PREFIX "node_"

/* The nodes that are not here are listed, too. A record that claims more of them than this is not
 * believed: whoever reads it would need the memory. */
enum { MOST_ABSENT = 65536 };

static int compare_node_numbers(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Whether a part is called so, and has a record. */
static bool is_part(int fd, const char *name, uint32_t *ret_node)
{
    char path[JR_PART_PATH];
    if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0 ||
        !jr_num_u32(name + sizeof PREFIX - 1, ret_node) || *ret_node >= JR_RANKS_MAX)
        return false;
    (void)snprintf(path, sizeof path, JR_NODE_DIR, *ret_node);
    if (strcmp(name, path) != 0)
        return false;
    jr_part_path(path, *ret_node, "run.json");
    JR_CLOSE int file = jr_run_file_open(fd, path, NULL);
    return file >= 0;
}

void jr_multinode_find(struct jr_multinode *ret, int fd)
{
    uint32_t node;
    *ret = (struct jr_multinode){0};
    if (jr_access(fd, "run.json", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return;
    int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    JR_CLOSEDIR DIR *dir = again < 0 ? NULL : fdopendir(again);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        if (!is_part(fd, entry->d_name, &node))
            continue;
        uint32_t *nodes = realloc(ret->nodes, (ret->count + 1) * sizeof *nodes);
        if (nodes == NULL)
            break;
        nodes[ret->count++] = node;
        ret->nodes = nodes;
    }
    if (dir == NULL && again >= 0)
        (void)close(again);
    if (ret->count > 1)
        qsort(ret->nodes, ret->count, sizeof *ret->nodes, compare_node_numbers);
    while (ret->count > 0 && ret->nodes[ret->count - 1] >= ret->count + MOST_ABSENT)
        ret->count--;
}

void jr_multinode_release(struct jr_multinode *parts)
{
    free(parts->nodes);
    *parts = (struct jr_multinode){0};
}

bool jr_multinode_exists(int fd)
{
    struct jr_multinode parts;
    jr_multinode_find(&parts, fd);
    bool are = parts.count > 0;
    jr_multinode_release(&parts);
    return are;
}

void jr_part_path(char ret[static JR_PART_PATH], uint32_t node, const char *name)
{
    (void)snprintf(ret, JR_PART_PATH, JR_NODE_DIR "/%s", node, name);
}

json_t *jr_node_part_json(int fd, uint32_t node, const char *name, bool head)
{
    char path[JR_PART_PATH];
    jr_part_path(path, node, name);
    return head ? jr_record_folder_head(fd, path) : jr_record_folder_json(fd, path, NULL);
}

/* What the nodes do not have in common. */

enum { MOST_KINDS = 4, MOST_RANGES = 8, SHORT_HASH = 12 };

/* A node that is here. */
struct node_facts {
    uint32_t node;
    uint32_t nodes, world, first, count; /* 0: not known */
    const char *fingerprint;             /* NULL: not known */
    const char *part;
};

struct node_list {
    struct node_facts *items;
    size_t count;
    bool all; /* no node is missing */
};

static void load_node_facts(struct node_list *ret, const json_t *nodes)
{
    size_t count = json_array_size(nodes), i = 0;
    const json_t *node = NULL;
    *ret = (struct node_list){.items = calloc(count + 1, sizeof *ret->items)};
    json_array_foreach(nodes, i, node) {
        const json_t *ranks = json_object_get(node, "ranks");
        if (ret->items == NULL || jr_json_get_str(node, "part") == NULL)
            continue;
        ret->items[ret->count++] = (struct node_facts){
            .node = (uint32_t)i,
            .nodes = jr_json_get_u32(node, "nodes"),
            .world = jr_json_get_u32(node, "world_size"),
            .first = jr_json_get_u32(ranks, "first"),
            .count = jr_json_get_u32(ranks, "count"),
            .fingerprint = jr_json_get_str(node, "fingerprint"),
            .part = jr_json_get_str(node, "part"),
        };
    }
    ret->all = ret->count == count;
}

/* In what nodes may differ: the size of their world, or what they ran. */
enum node_trait { NODE_WORLD, NODE_EXPERIMENT };

/* What is not known is no difference. */
static bool nodes_agree(const struct node_facts *a, const struct node_facts *b,
                        enum node_trait trait)
{
    if (trait == NODE_EXPERIMENT)
        return a->fingerprint == NULL || b->fingerprint == NULL ||
               strcmp(a->fingerprint, b->fingerprint) == 0;
    return a->world == 0 || b->world == 0 || (a->nodes == b->nodes && a->world == b->world);
}

/* Append "nodes 1-2: 4 ranks on 2 nodes": all that are like `facts`, and what they have. */
static void add_kind(struct jr_buf *out, const struct node_list *list,
                     const struct node_facts *facts, enum node_trait trait)
{
    size_t count = 0;
    JR_FREE uint32_t *nodes = calloc(list->count, sizeof *nodes);
    for (size_t i = 0; nodes != NULL && i < list->count; i++)
        if (nodes_agree(facts, &list->items[i], trait))
            nodes[count++] = list->items[i].node;
    jr_buf_printf(out, "node%s ", count == 1 ? "" : "s");
    jr_set_print(out, nodes, count);
    if (trait == NODE_WORLD) {
        jr_buf_printf(out, ": %u rank%s on %u node%s", facts->world, facts->world == 1 ? "" : "s",
                      facts->nodes, facts->nodes == 1 ? "" : "s");
    } else {
        const char *text = facts->fingerprint == NULL ? "none" : facts->fingerprint;
        jr_buf_str(out, ": fingerprint ");
        jr_buf_escaped(out, text, strnlen(text, SHORT_HASH));
    }
}

/* Append "node 0: A; nodes 1-2: B"; returns the first node that is not like the first one, NULL:
 * all are alike. */
static const struct node_facts *add_kinds(struct jr_buf *out, const struct node_list *list,
                                          enum node_trait trait)
{
    const struct node_facts *kinds[MOST_KINDS + 1];
    size_t count = 0;
    for (size_t i = 0; i < list->count && count <= MOST_KINDS; i++) {
        size_t k = 0;
        while (k < count && !nodes_agree(kinds[k], &list->items[i], trait))
            k++;
        if (k == count)
            kinds[count++] = &list->items[i];
    }
    for (size_t k = 0; count > 1 && k < count && k < MOST_KINDS; k++) {
        jr_buf_str(out, k == 0 ? "" : "; ");
        add_kind(out, list, kinds[k], trait);
    }
    if (count > MOST_KINDS)
        jr_buf_str(out, "; and more");
    return count > 1 ? kinds[1] : NULL;
}

/* Append "0-3" to ranges of ranks, the first few of them. */
static void add_node_range(struct jr_buf *out, size_t *count, uint32_t first, uint32_t end)
{
    if (first >= end || (*count)++ > MOST_RANGES)
        return;
    const char *before = *count == 1 ? "" : ",";
    if (*count > MOST_RANGES)
        jr_buf_str(out, ",...");
    else if (end - first == 1)
        jr_buf_printf(out, "%s%u", before, first);
    else
        jr_buf_printf(out, "%s%u-%u", before, first, end - 1);
}

static int compare_first_ranks(const void *a, const void *b)
{
    const struct node_facts *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

/* Append which ranks several nodes have, or none has. False: there are none such. */
static bool describe_ranges(struct jr_buf *out, const struct node_list *list)
{
    JR_BUF_CLEANUP struct jr_buf none = JR_BUF_INIT, twice = JR_BUF_INIT;
    size_t lack = 0, shared = 0, i = 0;
    uint32_t next = 0;
    JR_FREE struct node_facts *sorted = calloc(list->count + 1, sizeof *sorted);
    if (sorted != NULL && list->count > 0) {
        memcpy(sorted, list->items, list->count * sizeof *sorted);
        qsort(sorted, list->count, sizeof *sorted, compare_first_ranks);
    }
    for (; sorted != NULL && i < list->count; i++) {
        uint32_t end = sorted[i].first + sorted[i].count;
        if (sorted[i].count == 0 || end < sorted[i].first)
            break;
        add_node_range(&none, &lack, next, sorted[i].first);
        add_node_range(&twice, &shared, sorted[i].first, end < next ? end : next);
        next = end > next ? end : next;
    }
    if (i > 0 && i == list->count)
        add_node_range(&none, &lack, next, list->items[0].world);
    lack = list->all ? lack : 0;
    if (shared > 0)
        jr_buf_printf(out, "more than one has rank%s %s",
                      strpbrk(twice.data, "-,") == NULL ? "" : "s", twice.data);
    if (lack > 0)
        jr_buf_printf(out, "%snone has rank%s %s", shared > 0 ? "; " : "",
                      strpbrk(none.data, "-,") == NULL ? "" : "s", none.data);
    return lack + shared > 0;
}

static bool describe_other_runs(struct jr_buf *out, const struct node_list *list)
{
    jr_buf_str(out, "the nodes are not of one run: ");
    return add_kinds(out, list, NODE_WORLD) != NULL || describe_ranges(out, list);
}

/* Returns the first node that ran another experiment than the first one. */
static const struct node_facts *describe_experiments(struct jr_buf *out,
                                                     const struct node_list *list)
{
    jr_buf_str(out, "the nodes ran different experiments: ");
    return add_kinds(out, list, NODE_EXPERIMENT);
}

bool jr_node_mismatch_find(struct jr_buf *ret, const json_t *nodes)
{
    struct node_list list;
    load_node_facts(&list, nodes);
    bool found = describe_other_runs(ret, &list);
    if (!found) {
        jr_buf_clear(ret);
        found = describe_experiments(ret, &list) != NULL;
    }
    free(list.items);
    return found && !ret->failed;
}

void jr_node_mismatch_print(struct jr_buf *out, const json_t *nodes, const char *before,
                            const char *run, const char *run_dir, const char *verdict)
{
    struct node_list list;
    JR_BUF_CLEANUP struct jr_buf reason = JR_BUF_INIT, text = JR_BUF_INIT;
    load_node_facts(&list, nodes);
    verdict = verdict == NULL ? "" : verdict;
    bool others = describe_other_runs(&reason, &list);
    if (others && strcmp(verdict, reason.data) != 0)
        jr_buf_printf(out, "%s%s\n", before, reason.data);
    const struct node_facts *other = describe_experiments(&text, &list);
    if (other != NULL) {
        bool told = strcmp(verdict, text.data) == 0;
        jr_buf_printf(out, "%s%s", before, told ? "try:        " : text.data);
        jr_buf_printf(out, "%sjobrun diff %s/%s %s/%s", told ? "" : " (", run, list.items[0].part,
                      run, other->part);
        jr_words_log_dir(out, run_dir);
        jr_buf_str(out, told ? " shows in what they differ\n" : ")\n");
    }
    free(list.items);
}

/* The parts, and which of them decides. */

/* A part that has been read. */
struct node_part {
    uint32_t node;
    const char *standing;  /* "finished", "running", "elsewhere", "lost" */
    json_t *run, *results; /* results: NULL while there are none */
    enum jr_run_status status;
};

/* All parts that are here. */
struct node_parts {
    struct node_part *items;
    size_t count;
    uint32_t nodes, world; /* of the whole */
};

/* How much a part decides about the whole; what is more goes first. */
enum part_weight {
    PART_WELL,
    PART_YIELDED,
    PART_INCOMPLETE,
    PART_LOST,  /* its jobrun is gone */
    PART_FAILED /* among these the first decides */
};

/* The state of the part whose record is `run`: "finished", or the one of
 * jr_record_folder_standing. */
static const char *part_standing(int fd, uint32_t node, const json_t *run)
{
    char path[JR_PART_PATH];
    jr_part_path(path, node, "results.json");
    const char *standing = jr_record_folder_standing(run);
    /* What ended while we looked has its results by now. */
    JR_CLOSE int file = jr_run_file_open(fd, path, NULL);
    return file >= 0 ? "finished" : standing;
}

/* Whether that record has the fingerprint, as far as it has one. */
static bool has_fingerprint(const json_t *run, const char *fingerprint)
{
    const char *own = jr_json_get_str(run, "fingerprint");
    return own == NULL || strcmp(own, fingerprint) == 0;
}

/* The larger one, unless no run has so many. */
static uint32_t larger_count(uint32_t a, uint32_t b)
{
    return b > a && b <= JR_RANKS_MAX ? b : a;
}

static void load_parts(struct node_parts *ret, int fd, const struct jr_multinode *found, bool head)
{
    *ret = (struct node_parts){.items = calloc(found->count, sizeof *ret->items)};
    for (size_t i = 0; ret->items != NULL && i < found->count; i++) {
        struct node_part *part = &ret->items[ret->count++];
        *part = (struct node_part){.node = found->nodes[i], .status = JR_RUN_LAUNCH_FAILED};
        part->run = jr_node_part_json(fd, part->node, "run.json", false);
        part->standing = part_standing(fd, part->node, part->run);
        if (strcmp(part->standing, "finished") == 0)
            part->results = jr_node_part_json(fd, part->node, "results.json", head);
        const char *word = jr_json_get_str(part->results, "status");
        if (word != NULL)
            (void)jr_run_status_of(word, &part->status);
    }
    ret->nodes = found->nodes[found->count - 1] + 1;
    for (size_t i = 0; i < ret->count; i++) {
        uint32_t claimed = jr_json_get_u32(ret->items[i].run, "nodes");
        uint32_t most = (uint32_t)ret->count + MOST_ABSENT;
        if (claimed > most && claimed <= JR_RANKS_MAX)
            claimed = most;
        ret->nodes = larger_count(ret->nodes, claimed);
        ret->world = larger_count(ret->world, jr_json_get_u32(ret->items[i].run, "world_size"));
    }
}

static void release_parts(struct node_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++) {
        json_decref(parts->items[i].run);
        json_decref(parts->items[i].results);
    }
    free(parts->items);
}

static json_t *node_json(uint32_t number, const struct node_part *part)
{
    static const char *const kept[] = {"fingerprint", "world_size", "nodes", "ranks"};
    const json_t *run = part == NULL ? NULL : part->run;
    const json_t *results = part == NULL ? NULL : part->results;
    const json_t *cause = json_object_get(results, "root_cause");
    const json_t *rank = json_object_get(cause, "rank");
    const char *message = jr_json_get_str(cause, "message");
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
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
    if (json_is_integer(rank) && message != NULL)
        jr_buf_printf(&text, "rank %lld: ", (long long)json_integer_value(rank));
    jr_buf_str(&text, message == NULL ? "" : message);
    jr_json_set_str(node, "cause", text.len == 0 ? NULL : text.data);
    jr_json_set_str(node, "part", part == NULL ? NULL : name);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        jr_json_share(node, run, kept[i]);
    return node;
}

static json_t *nodes_json(const struct node_parts *parts)
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
    struct node_parts parts;
    load_parts(&parts, fd, found, true);
    json_t *nodes = nodes_json(&parts);
    release_parts(&parts);
    return nodes;
}

/* The wall time at which a part failed, by its own clock: when the end of the rank that is the
 * cause began, else of its ranks'. */
static double part_failed_at(int fd, const struct node_part *part)
{
    const json_t *rank = json_object_get(json_object_get(part->results, "root_cause"), "rank");
    struct jr_timeline timeline = {0};
    char path[JR_PART_PATH];
    double wall = -1;
    jr_part_path(path, part->node, "events.jsonl");
    jr_timeline_add(&timeline, fd, path, 0);
    for (size_t i = 0; wall < 0 && json_is_integer(rank) && i < timeline.span_count; i++)
        if (timeline.spans[i].rank == json_integer_value(rank) && timeline.spans[i].last &&
            timeline.spans[i].ended >= 0)
            wall = timeline.spans[i].wall;
    for (size_t i = 0; wall < 0 && i < timeline.moment_count; i++)
        if ((jr_event_kind(timeline.moments[i].name) & JR_EVENT_IS_END) != 0)
            wall = timeline.moments[i].wall;
    jr_timeline_release(&timeline);
    return wall > 0 ? wall : jr_json_get_real(part->results, "finished");
}

static enum part_weight part_weight_of(const struct node_part *part)
{
    if (part->results == NULL)
        return strcmp(part->standing, "lost") == 0 ? PART_LOST : PART_WELL;
    if (part->status == JR_RUN_SUCCEEDED)
        return PART_WELL;
    if (part->status == JR_RUN_YIELDED)
        return PART_YIELDED;
    return part->status == JR_RUN_INCOMPLETE ? PART_INCOMPLETE : PART_FAILED;
}

/* The part that decides; NULL: all that are here did well. */
static const struct node_part *find_decider(int fd, const struct node_parts *parts)
{
    const struct node_part *found = NULL;
    double first = -1;
    for (size_t i = 0; i < parts->count; i++) {
        const struct node_part *part = &parts->items[i];
        enum part_weight weight = part_weight_of(part);
        enum part_weight best = found ? part_weight_of(found) : PART_WELL;
        if (weight > best) {
            found = part;
            first = -1;
        } else if (weight == best && weight == PART_FAILED) {
            double at = part_failed_at(fd, part);
            first = first < 0 ? part_failed_at(fd, found) : first;
            found = at < first ? part : found;
            first = at < first ? at : first;
        }
    }
    return found;
}

/* results.json. */

/* Put the verdict over the parts, and why, into the joined results; `nodes` are theirs. */
static void set_verdict(json_t *head, const struct node_parts *parts,
                        const struct node_part *decider, const json_t *nodes)
{
    JR_BUF_CLEANUP struct jr_buf message = JR_BUF_INIT;
    struct jr_results_cause cause = {.rank = -1, .exit_code = -1};
    enum jr_run_status status = JR_RUN_SUCCEEDED;
    json_int_t code = 0;
    size_t absent = parts->nodes - parts->count;
    /* What is to be continued says nothing of a node that is not here. */
    if (absent > 0 && decider != NULL && part_weight_of(decider) == PART_YIELDED)
        decider = NULL;
    if (decider != NULL && decider->results != NULL) {
        status = decider->status;
        code = jr_record_folder_exit_code(decider->results);
    } else if (decider != NULL) {
        status = JR_RUN_LAUNCH_FAILED;
        code = JR_STATUS_LAUNCH;
        cause.kind = JR_CAUSE_LOST_NODE;
        cause.host = jr_json_get_str(decider->run, "host");
        jr_buf_printf(&message, "the jobrun of node %u (pid %u on %s) is gone and left no results",
                      decider->node, jr_json_get_u32(decider->run, "pid"),
                      cause.host == NULL ? "?" : cause.host);
    } else if (jr_node_mismatch_find(&message, nodes)) {
        cause.kind = JR_CAUSE_RESULT;
    } else if (absent > 0) {
        cause.kind = JR_CAUSE_RESULT;
        jr_buf_clear(&message);
        jr_buf_printf(&message, "the nodes that are here succeeded, but %zu of %u %s not here",
                      absent, parts->nodes, absent == 1 ? "is" : "are");
    }
    if (cause.kind == JR_CAUSE_RESULT) {
        status = JR_RUN_INCOMPLETE;
        code = JR_STATUS_INCOMPLETE;
    }
    cause.message = message.data;
    jr_json_set_str(head, "status", jr_run_status_word(status));
    jr_json_set_int(head, "exit_code", code);
    if (decider != NULL && decider->results != NULL)
        jr_json_share(head, decider->results, "root_cause");
    else
        jr_json_set(head, "root_cause", message.failed ? NULL : jr_results_cause_json(&cause));
}

/* A path of the part, as it is called from above it. */
static void lift_path(json_t *object, const char *key, uint32_t node)
{
    const char *path = jr_json_get_str(object, key);
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (path == NULL || *path == '/')
        return;
    jr_buf_printf(&text, JR_NODE_DIR "/%s", node, path);
    jr_json_set(object, key, jr_json_buf(&text));
}

static void add_part_rank(json_t *ranks, json_t *rank, const struct node_part *part, bool first)
{
    const char *state = jr_json_get_str(rank, "state");
    JR_BUF_CLEANUP struct jr_buf folder = JR_BUF_INIT;
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

static json_t *join_ranks(const struct node_parts *parts, const struct node_part *decider)
{
    json_t *ranks = json_array();
    bool failed = decider != NULL && part_weight_of(decider) >= PART_LOST;
    for (size_t i = 0; i < parts->count; i++) {
        const struct node_part *part = &parts->items[i];
        size_t n = 0;
        json_t *rank = NULL;
        json_array_foreach(json_object_get(part->results, "ranks"), n, rank)
            add_part_rank(ranks, rank, part, !failed || part == decider);
    }
    return ranks;
}

/* How far the job is whose nodes each know their own ranks: as its slowest rank, with what all of
 * them warn of. */
static void join_progress(json_t *head, const struct node_parts *parts)
{
    const json_t *slowest = NULL;
    json_auto_t *warnings = json_array();
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
}

/* Whether these results have fields that are compared over the ranks. */
static bool are_compared(const json_t *results)
{
    return json_is_object(json_object_get(results, "compared"));
}

/* Compare them over all ranks of the joined results, as far as they are here: who differs did not
 * deliver, and where nothing graver is known, neither did the run. */
static void compare_again(json_t *joined)
{
    struct jr_loaded_run loaded;
    if (!are_compared(joined) || jr_loaded_run_read(&loaded, json_deep_copy(joined), NULL) != 0)
        return;
    struct jr_judgement *report = &loaded.report;
    struct jr_judge judge = {.report = report,
                             .plan = &loaded.plan,
                             .outcome = &loaded.outcome,
                             .wants = &loaded.policy.results};
    bool open = report->status == JR_RUN_SUCCEEDED || report->status == JR_RUN_INCOMPLETE;
    jr_compare_again(&judge);
    for (size_t i = 0; i < report->count; i++) {
        const struct jr_rank_judgement *rank = &report->ranks[i];
        json_t *line = json_array_get(json_object_get(joined, "ranks"), i);
        bool good = rank->state == JR_RANK_SUCCEEDED;
        if (!good && rank->state != JR_RANK_INCOMPLETE)
            continue;
        jr_json_set_str(line, "state", jr_rank_state_word(rank->state));
        jr_json_set_str(line, "error", good ? NULL : rank->reason);
        jr_json_set_str(line, "result_error",
                        good ? NULL : jr_result_error_word(rank->result_error));
        jr_json_set_bool(line, "differs", rank->differs);
    }
    if (open && jr_judgement_first(report, JR_RANK_INCOMPLETE) < report->count) {
        report->status = JR_RUN_INCOMPLETE;
        jr_json_set_str(joined, "status", jr_run_status_word(JR_RUN_INCOMPLETE));
        jr_json_set_int(joined, "exit_code", JR_STATUS_INCOMPLETE);
        jr_json_set(joined, "root_cause",
                    jr_judgement_cause(report, &loaded.plan, &loaded.outcome));
    }
    jr_loaded_run_release(&loaded);
}

static json_t *join_results(int fd, const struct node_parts *parts)
{
    const struct node_part *decider = find_decider(fd, parts);
    JR_FREE const json_t **results = calloc(parts->count + 1, sizeof *results);
    for (size_t i = 0; results != NULL && i < parts->count; i++)
        results[i] = parts->items[i].results;
    json_t *head = jr_results_join(results, results == NULL ? 0 : parts->count,
                                   decider == NULL ? NULL : decider->results);
    json_t *nodes = nodes_json(parts);
    const char *common = jr_json_get_str(parts->items[0].run, "fingerprint");
    for (size_t i = 1; common != NULL && i < parts->count; i++)
        if (!has_fingerprint(parts->items[i].run, common))
            common = NULL;
    jr_json_set_str(head, "fingerprint", common);
    set_verdict(head, parts, decider, nodes);
    join_progress(head, parts);
    /* How long it took. Parts that say nothing of it have begun at least. */
    double started = jr_json_get_real(head, "started");
    double finished = jr_json_get_real(head, "finished");
    if (started <= 0)
        started = finished = jr_json_get_real(parts->items[0].run, "started");
    jr_json_set_real(head, "started", started);
    jr_json_set_real(head, "finished", finished);
    jr_json_set_real(head, "seconds", jr_words_wall(jr_clock_ns_of(finished - started + 5e-4)));
    jr_json_set_int(head, "world_size", parts->world);
    jr_json_set(head, "attempts", json_array());
    jr_json_set(head, "nodes", nodes);
    jr_json_set(head, "ranks", join_ranks(parts, decider));
    compare_again(head);
    return head;
}

/* With `head` the ranks may be left out, unless something is compared over them. NULL while a node
 * goes on, or where none has results. */
static json_t *merge_results(int fd, const struct jr_multinode *found, bool head)
{
    struct node_parts parts;
    json_t *joined = NULL;
    bool over = true, any = false, compared = false;
    load_parts(&parts, fd, found, head);
    for (size_t i = 0; i < parts.count; i++)
        compared = compared || are_compared(parts.items[i].results);
    if (head && compared) {
        release_parts(&parts);
        load_parts(&parts, fd, found, false);
    }
    for (size_t i = 0; i < parts.count; i++) {
        const struct node_part *part = &parts.items[i];
        over = over && (part->results != NULL || strcmp(part->standing, "lost") == 0);
        any = any || part->results != NULL;
    }
    if (over && any)
        joined = join_results(fd, &parts);
    release_parts(&parts);
    return joined;
}

/* The other files. */

/* The ranks that each node's plan has for itself; it has all others, too. */
static json_t *merge_plan(int fd, const struct jr_multinode *found, bool head)
{
    static const char *const streams[] = {"stdout", "stderr"};
    json_t *joined = NULL, *ranks = json_array();
    for (size_t n = 0; n < found->count && (n == 0 || !head); n++) {
        json_t *plan = jr_node_part_json(fd, found->nodes[n], "plan.json", head), *rank = NULL;
        size_t i = 0;
        json_array_foreach(json_object_get(plan, "ranks"), i, rank) {
            if (jr_json_get_u32(rank, "node_rank") != found->nodes[n])
                continue;
            for (size_t s = 0; s < 2; s++)
                lift_path(json_object_get(rank, streams[s]), "file", found->nodes[n]);
            json_array_append(ranks, rank);
        }
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
    struct node_parts parts = {0};
    double first = INFINITY;
    jr_multinode_find(&found, fd);
    if (found.count > 0)
        load_parts(&parts, fd, &found, true);
    jr_multinode_release(&found);
    *ret = (struct jr_timeline){0};
    for (size_t i = 0; i < parts.count; i++)
        first = fmin(first, jr_json_get_real(parts.items[i].run, "started"));
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

static const char *code_tree(const json_t *run)
{
    return jr_json_get_str(json_object_get(run, "code"), "tree");
}

/* There is no one code that such a run executed: "node 0 tree 3f2a1b0c9d8e, node 1 tree
 * 0123456789ab". */
static json_t *several_codes(int fd, const struct jr_multinode *parts)
{
    enum { MOST_NAMED = 4 };
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    size_t named = 0;
    jr_buf_str(&text, "the nodes ran different code: ");
    for (size_t i = 0; i < parts->count && named < MOST_NAMED; i++) {
        json_t *run = jr_node_part_json(fd, parts->nodes[i], "run.json", false);
        const char *tree = code_tree(run);
        if (tree != NULL) {
            jr_buf_printf(&text, "%snode %u tree ", named++ > 0 ? ", " : "", parts->nodes[i]);
            jr_buf_escaped(&text, tree, strnlen(tree, SHORT_HASH));
        }
        json_decref(run);
    }
    if (parts->count > MOST_NAMED)
        jr_buf_str(&text, " ...");
    const struct jr_record_code code = {.problem = text.failed ? "the nodes ran different code"
                                                               : text.data};
    return jr_record_code_json(&code);
}

/* The record of the node that gives the state of the whole run: the lowest weight counts. */
static json_t *deciding_record(int fd, const struct jr_multinode *parts)
{
    static const char *const words[] = {"running", "elsewhere", "lost"};
    json_t *found = NULL;
    size_t least = 0;
    bool alike = true, one_code = true;
    for (size_t i = 0; i < parts->count; i++) {
        uint32_t node = parts->nodes[i];
        json_t *run = jr_node_part_json(fd, node, "run.json", false);
        const char *standing = part_standing(fd, node, run);
        const char *before = jr_json_get_str(found, "fingerprint");
        const char *tree = code_tree(run), *other = code_tree(found);
        char part[JR_PART_NAME];
        size_t weight = 0;
        while (weight < 3 && strcmp(standing, words[weight]) != 0)
            weight++;
        alike = alike && (before == NULL || has_fingerprint(run, before));
        one_code = one_code && (tree == NULL || other == NULL || strcmp(tree, other) == 0);
        if (run == NULL || (found != NULL && weight >= least)) {
            json_decref(run);
            continue;
        }
        json_decref(found);
        found = run;
        least = weight;
        (void)snprintf(part, sizeof part, JR_NODE_DIR, node);
        jr_json_set_str(found, "part", part);
    }
    if (found != NULL && !alike)
        jr_json_set_null(found, "fingerprint");
    if (found != NULL && !one_code)
        jr_json_set(found, "code", several_codes(fd, parts));
    return found;
}

json_t *jr_multinode_json(int fd, const char *name, bool head)
{
    struct jr_multinode parts;
    json_t *json = NULL;
    jr_multinode_find(&parts, fd);
    if (parts.count == 0)
        return NULL;
    if (strcmp(name, "run.json") == 0)
        json = deciding_record(fd, &parts);
    else if (strcmp(name, "results.json") == 0)
        json = merge_results(fd, &parts, head);
    else if (strcmp(name, "plan.json") == 0)
        json = merge_plan(fd, &parts, head);
    else
        json = jr_node_part_json(fd, parts.nodes[0], name, head);
    jr_multinode_release(&parts);
    return json;
}

struct jr_strv jr_multinode_ids(struct jr_arena *arena, const char *log_dir, const char *id)
{
    struct jr_strv ids = {0};
    struct jr_multinode parts = {0};
    JR_CLOSE int fd = jr_record_folder_open(log_dir, id, NULL);
    if (fd >= 0)
        jr_multinode_find(&parts, fd);
    for (size_t i = 0; i < parts.count; i++)
        jr_strv_push(&ids, arena, jr_arena_printf(arena, "%s/" JR_NODE_DIR, id, parts.nodes[i]));
    if (parts.count == 0)
        jr_strv_push(&ids, arena, jr_arena_strdup(arena, id));
    jr_multinode_release(&parts);
    return ids;
}
