#include "record/multinode.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/num.h"
#include "base/strv.h"
#include "base/syscalls.h"
#include "record/merge_nodes.h"
#include "record/record_code.h"
#include "record/record_folder.h"
#include "store/run_folder.h"

#include "base/banned.h"

#define PREFIX "node_"

/* The node whose folder is called so; false: it is none's. */
static bool read_node_folder(const char *name, uint32_t *ret)
{
    char same[JR_PART_NAME];
    if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0 ||
        !jr_num_u32(name + sizeof PREFIX - 1, ret) || *ret >= JR_RANKS_MAX)
        return false;
    (void)snprintf(same, sizeof same, JR_NODE_DIR, *ret);
    return strcmp(name, same) == 0;
}

static bool has_node_record(int fd, uint32_t node)
{
    char path[JR_PART_PATH];
    jr_part_path(path, node, "run.json");
    JR_CLOSE int file = jr_run_file_open(fd, path, NULL);
    return file >= 0;
}

static int compare_node_numbers(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void add_node_number(struct jr_multinode *parts, uint32_t node)
{
    uint32_t *nodes = realloc(parts->nodes, (parts->count + 1) * sizeof *nodes);
    if (nodes == NULL)
        return;
    nodes[parts->count++] = node;
    parts->nodes = nodes;
}

void jr_multinode_find(struct jr_multinode *ret, int fd)
{
    uint32_t node;
    *ret = (struct jr_multinode){0};
    if (jr_access(fd, "run.json", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return;
    int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again < 0 ? NULL : fdopendir(again);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;)
        if (read_node_folder(entry->d_name, &node) && has_node_record(fd, node))
            add_node_number(ret, node);
    if (dir != NULL)
        (void)closedir(dir);
    else if (again >= 0)
        (void)close(again);
    if (ret->count > 1)
        qsort(ret->nodes, ret->count, sizeof *ret->nodes, compare_node_numbers);
    while (ret->count > 0 && ret->nodes[ret->count - 1] >= ret->count + JR_ABSENT_MOST)
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

/* How much the state of a node says about the whole run: the lowest value counts. */
static int standing_weight(const char *standing)
{
    static const char *const words[] = {"running", "elsewhere", "lost"};
    int i = 0;
    while (i < 3 && strcmp(standing, words[i]) != 0)
        i++;
    return i;
}

const char *jr_part_standing(int fd, uint32_t node, const json_t *run)
{
    char path[JR_PART_PATH];
    jr_part_path(path, node, "results.json");
    const char *standing = jr_record_folder_standing(run);
    /* What ended while we looked has its results by now. */
    JR_CLOSE int file = jr_run_file_open(fd, path, NULL);
    return file >= 0 ? "finished" : standing;
}

bool jr_part_has_fingerprint(const json_t *run, const char *fingerprint)
{
    const char *own = jr_json_get_str(run, "fingerprint");
    return own == NULL || strcmp(own, fingerprint) == 0;
}

static bool has_code_of(const json_t *run, const json_t *other)
{
    const char *tree = jr_json_get_str(json_object_get(run, "code"), "tree");
    const char *before = jr_json_get_str(json_object_get(other, "code"), "tree");
    return tree == NULL || before == NULL || strcmp(tree, before) == 0;
}

/* "node 0 tree 3f2a1b0c9d8e, node 1 tree 0123456789ab" */
static void name_codes(struct jr_buf *out, int fd, const struct jr_multinode *parts)
{
    enum { MOST_NAMED = 4, SHORT = 12 };
    size_t named = 0;
    for (size_t i = 0; i < parts->count && named < MOST_NAMED; i++) {
        json_t *run = jr_node_part_json(fd, parts->nodes[i], "run.json", false);
        const char *tree = jr_json_get_str(json_object_get(run, "code"), "tree");
        if (tree != NULL) {
            jr_buf_printf(out, "%snode %u tree ", named++ > 0 ? ", " : "", parts->nodes[i]);
            jr_buf_escaped(out, tree, strnlen(tree, SHORT));
        }
        json_decref(run);
    }
    if (parts->count > MOST_NAMED)
        jr_buf_str(out, " ...");
}

/* There is no one code that such a run executed. */
static json_t *several_codes(int fd, const struct jr_multinode *parts)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_buf_str(&text, "the nodes ran different code: ");
    name_codes(&text, fd, parts);
    const struct jr_record_code code = {.problem = text.failed ? "the nodes ran different code"
                                                               : text.data};
    return jr_record_code_json(&code);
}

/* The record of the node that gives the state of the whole run. */
static json_t *deciding_record(int fd, const struct jr_multinode *parts)
{
    json_t *found = NULL;
    int least = 0;
    bool alike = true, one_code = true;
    for (size_t i = 0; i < parts->count; i++) {
        uint32_t node = parts->nodes[i];
        json_t *run = jr_node_part_json(fd, node, "run.json", false);
        int weight = standing_weight(jr_part_standing(fd, node, run));
        char part[JR_PART_NAME];
        (void)snprintf(part, sizeof part, JR_NODE_DIR, node);
        const char *before = jr_json_get_str(found, "fingerprint");
        alike = alike && (before == NULL || jr_part_has_fingerprint(run, before));
        one_code = one_code && (found == NULL || has_code_of(run, found));
        if (run == NULL || (found != NULL && weight >= least)) {
            json_decref(run);
            continue;
        }
        json_decref(found);
        found = run;
        least = weight;
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
        json = jr_merge_results(fd, &parts, head);
    else if (strcmp(name, "plan.json") == 0)
        json = jr_merge_plan(fd, &parts, head);
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
