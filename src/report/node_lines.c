/* How each node of a run in parts stands, as lines. */
#include <stdlib.h>
#include <string.h>

#include "base/rank_set.h"
#include "record/multinode.h"

#include "base/banned.h"

static bool is_node_status(const json_t *node, const char *status)
{
    const char *word = jr_json_get_str(node, "status");
    return word != NULL && strcmp(word, status) == 0;
}

static void print_node(struct jr_buf *out, const json_t *node)
{
    const char *host = jr_json_get_str(node, "host");
    const char *cause = jr_json_get_str(node, "cause");
    const char *status = jr_json_get_str(node, "status");
    uint32_t code = jr_json_get_u32(node, "exit_code");
    if (host != NULL) {
        jr_buf_str(out, " (");
        jr_buf_safe(out, host);
        jr_buf_char(out, ')');
    }
    jr_buf_str(out, "   ");
    if (is_node_status(node, "absent")) {
        jr_buf_str(out,
                   "not here: it has not started, or it uses another log_dir");
        return;
    }
    jr_buf_str(out, is_node_status(node, "elsewhere")
                        ? "running, or lost: only its host, "
                          "or its container, can tell"
                        : status);
    if (is_node_status(node, "running") || is_node_status(node, "lost"))
        jr_buf_printf(out, ": pid %u", jr_json_get_u32(node, "pid"));
    if (is_node_status(node, "lost"))
        jr_buf_str(out, " is gone and left no results");
    if (code != 0)
        jr_buf_printf(out, " (exit status %u)", code);
    if (cause != NULL) {
        jr_buf_str(out, ": ");
        jr_buf_safe(out, cause);
    }
}

void jr_multinode_print(struct jr_buf *out, const json_t *nodes,
                        const char *before)
{
    enum { MOST = 10 };
    size_t count = json_array_size(nodes), good = 0, told = 0;
    uint32_t *well = calloc(count + 1, sizeof *well);
    for (size_t i = 0; i < count; i++) {
        const json_t *node = json_array_get(nodes, i);
        if (is_node_status(node, "succeeded") && well != NULL) {
            well[good++] = (uint32_t)i;
        } else if (told++ < MOST) {
            jr_buf_printf(out, "%snode %zu", before, i);
            print_node(out, node);
            jr_buf_char(out, '\n');
        }
    }
    if (told > MOST)
        jr_buf_printf(out, "%sand %zu more nodes\n", before, told - MOST);
    if (good > 0) {
        jr_buf_printf(out, "%snode%s ", before, good == 1 ? "" : "s");
        jr_set_print(out, well, good);
        jr_buf_str(out, "   succeeded\n");
    }
    free(well);
}
