/* Ranks that must deliver, each to a file of its own: a path that is the same
 * for all of them, or for all of a node, cannot be that. Which ranks share one
 * that differs in some way is known with the plan (plan/cpu_share.c). */
#include "spec/check.h"

#include <string.h>

#include "base/rank_set.h"

#include "base/banned.h"

/* How a path depends on the rank. */
struct path_words {
    bool rank; /* what differs within a node */
    bool node;
};

static void read_path_word(struct path_words *words, const char *name,
                           size_t len)
{
    static const char *const ranks[] = {
        "rank",      "local_rank", "model_rank", "pipeline_rank",
        "data_rank", "rank_dir",   "device"};
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
        words->rank |=
            strlen(ranks[i]) == len && strncmp(ranks[i], name, len) == 0;
    words->node |= len == 9 && strncmp(name, "node_rank", len) == 0;
}

static void read_path_words(struct path_words *words, const char *path)
{
    while (path != NULL && (path = strchr(path, '%')) != NULL) {
        size_t len = path[1] == '{' ? strcspn(path, "}") : 0;
        if (strncmp(path, "%%{", 3) == 0)
            len = 2;
        else if (len > 2)
            read_path_word(words, path + 2, len - 2);
        path += len > 0 ? len : 1;
    }
}

/* Whether the spec alone says that several ranks must deliver. */
static bool must_several_deliver(const struct jr_check *check,
                                 const char *required)
{
    struct jr_sizes sizes = jr_check_known(check);
    uint32_t named = 0;
    struct jr_set set;
    const char *bad;
    if (required == NULL)
        required = "all";
    if (!jr_set_parse(&set, check->lint->arena, required, &bad))
        return false;
    if (set.all)
        return (sizes.world.node != NULL && sizes.world.value > 1) ||
               (sizes.nodes.node != NULL && sizes.nodes.value > 1) ||
               (sizes.local.node != NULL && sizes.local.value > 1);
    for (size_t i = 0; i < set.count && named < 2; i++)
        named += set.ranges[i].last > set.ranges[i].first ? 2 : 1;
    return named > 1;
}

/* Where all of a node share a path, one with one rank each has no such node. */
static bool is_path_shared(const struct jr_check *check,
                           const struct path_words *words)
{
    struct jr_sizes sizes = jr_check_known(check);
    const char *required = jr_check_text(check, "results.required");
    bool all = required == NULL || strcmp(required, "all") == 0;
    if (words->rank)
        return false;
    return !words->node ||
           (all && sizes.local.node != NULL && sizes.local.value > 1);
}

void jr_check_shared(const struct jr_check *check)
{
    const struct jr_node *at = jr_doc_find(check->tree, "results.file");
    const char *file = jr_check_text(check, "results.file");
    struct path_words words = {false, false};
    if (file == NULL || jr_check_is_open(check, "results.required") ||
        jr_check_is_open(check, "workdir") ||
        (at->filled != NULL && at->filled->unknown))
        return;
    read_path_words(&words, file);
    if (file[0] != '/')
        read_path_words(&words, jr_check_text(check, "workdir"));
    if (!is_path_shared(check, &words) ||
        !must_several_deliver(check, jr_check_text(check, "results.required")))
        return;
    struct jr_diag *diag = jr_check_clash(
        check, JR_CODE_RESULT_FILE_SHARED, at, NULL,
        "'results.file' is the same for several ranks that must deliver");
    jr_diag_help(check->lint->diags, diag,
                 "put %%{rank} into it; or, if one rank delivers for all, name "
                 "that rank: required: 0");
}
