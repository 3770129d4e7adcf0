/* The plan for programs: the words of the contract, a rank at a time. Declared in plan_print.h and
 * internal.h. */
#include "plan/plan_print.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/redact.h"
#include "plan/internal.h"

#include "base/banned.h"

/* A list of members that is longer than this is not repeated for every rank:
 * the output would grow with the square of the world. */
enum { LONGEST_LIST = 1024 };

/* The plan on its way out. Whether a variable is a secret is found out once,
 * for rank 0: matching globs costs more than all else that is said of a rank.
 */
struct writer {
    struct jr_telling *telling;
    struct jr_buf *out;
    const struct jr_plan *plan;
    const struct jr_plan_rank *model; /* rank 0 */
    const bool *secret;               /* of its variables */
};

/* The members of an object with a number for each axis. */
static void print_json_axes(struct jr_buf *out, const uint32_t values[JR_AXIS_COUNT])
{
    for (enum jr_axis axis = 0; axis < JR_AXIS_COUNT; axis++)
        jr_buf_printf(out, "%s\"%s\":%u", axis > 0 ? "," : "", jr_show_axis[axis], values[axis]);
}

static void print_mesh(struct jr_telling *telling)
{
    struct jr_buf *out = telling->out;
    struct jr_grid grid;
    memcpy(grid.size, telling->plan->axis_size, sizeof grid.size);
    jr_buf_str(out, "\"mesh\":{");
    print_json_axes(out, grid.size);
    jr_buf_str(out, ",\"groups\":{");
    for (enum jr_axis axis = 0; axis < JR_AXIS_COUNT; axis++) {
        jr_buf_printf(out, "%s\"%s\":[", axis > 0 ? "," : "", jr_show_axis[axis]);
        for (uint32_t group = 0; group < jr_grid_groups(&grid, axis); group++) {
            jr_buf_str(out, group > 0 ? "," : "");
            for (uint32_t i = 0; i < grid.size[axis]; i++) {
                jr_buf_char(out, i > 0 ? ',' : '[');
                jr_buf_u64(out, jr_grid_member(&grid, axis, group, i));
            }
            jr_buf_char(out, ']');
        }
        jr_buf_char(out, ']');
        jr_telling_pass(telling, true);
    }
    jr_buf_str(out, "}},\n");
}

static void print_json_argv(struct jr_buf *out, char *const *argv)
{
    const char *before = "";
    for (; *argv != NULL; argv++) {
        jr_buf_str(out, before);
        jr_json_quote(out, *argv);
        before = ",";
    }
}

/* A list of members that mesh.groups tells better is left out. */
static void print_json_env(const struct writer *writer, char *const *env, uint32_t own)
{
    static const char tail[] = "_PARALLEL_MEMBERS";
    const size_t len = sizeof tail - 1;
    struct jr_buf *out = writer->out;
    const char *before = "";
    for (uint32_t i = 0; i < own; i++) {
        const char *item = env[i];
        size_t name = strcspn(item, "=");
        if (name > len && memcmp(item + name - len, tail, len) == 0 &&
            strlen(item + name) > LONGEST_LIST)
            continue;
        bool known =
            i < writer->model->env_own && strncmp(writer->model->env[i], item, name + 1) == 0;
        bool secret = known ? writer->secret[i] : jr_show_secret(writer->plan, item);
        JR_FREE char *key = strndup(item, name);
        out->failed |= key == NULL;
        jr_buf_str(out, before);
        jr_json_quote(out, key);
        jr_buf_char(out, ':');
        jr_json_quote(out, secret ? JR_REDACTED : item + name + 1);
        before = ",";
    }
}

static void print_sink(struct jr_buf *out, enum jr_sink sink, const char *path)
{
    jr_buf_str(out, "{\"file\":");
    jr_json_quote(out, path);
    jr_buf_printf(out, ",\"console\":%s}", sink & JR_SINK_CONSOLE ? "true" : "false");
}

static void print_rank(const struct writer *writer, const struct jr_plan_rank *rank)
{
    struct jr_buf *out = writer->out;
    jr_buf_printf(out, "{\"rank\":%u,\"local_rank\":%u,\"node_rank\":%u,", rank->rank,
                  rank->local_rank, rank->node_rank);
    jr_buf_str(out, "\"coordinates\":{");
    print_json_axes(out, rank->at);
    jr_buf_str(out, "},\"groups\":{");
    print_json_axes(out, rank->group);
    jr_buf_str(out, "},\"argv\":[");
    print_json_argv(out, rank->argv);
    jr_buf_str(out, "],\"workdir\":");
    jr_json_quote(out, rank->workdir);
    jr_buf_str(out, ",\"env\":{");
    print_json_env(writer, rank->env, rank->env_own);
    jr_buf_str(out, "},\"stdout\":");
    print_sink(out, rank->out, rank->out_path);
    jr_buf_str(out, ",\"stderr\":");
    print_sink(out, rank->err, rank->err_path);
    jr_buf_str(out, ",\"device\":");
    jr_json_quote(out, rank->device);
    jr_buf_str(out, ",\"cpus\":");
    jr_json_quote(out, rank->cpus);
    jr_buf_printf(out, ",\"threads\":%u}", rank->threads);
}

/* How ranks start: what runs before them, and what they are forked from. */
static void print_json_start(const struct writer *writer)
{
#define START(name, word, help) word,
    static const char *const methods[] = {JR_START_METHODS(START)};
    const struct jr_plan *plan = writer->plan;
    struct jr_buf *out = writer->out;
    jr_buf_printf(out, "\"start_method\":\"%s\",\"setup\":", methods[plan->start_method]);
    jr_json_quote(out, plan->setup.text);
    jr_buf_str(out, ",\n\"helper\":");
    if (plan->helper.argv == NULL) {
        jr_buf_str(out, "null,\n");
        return;
    }
    jr_buf_str(out, "{\"argv\":[");
    print_json_argv(out, plan->helper.argv);
    jr_buf_str(out, "],\"env\":{");
    print_json_env(writer, plan->helper.env, plan->helper.env_own);
    jr_buf_str(out, "}},\n");
}

static void print_ranks(const struct writer *writer)
{
    const struct jr_plan *plan = writer->plan;
    struct jr_buf *out = writer->out;
    jr_buf_str(out, "\"ranks\":[\n");
    for (uint32_t i = 0; i < plan->world_size && !writer->telling->ended; i++) {
        struct jr_arena arena = JR_ARENA_INIT;
        struct jr_plan_rank rank = jr_plan_rank_at(plan, i, &arena);
        if (arena.failed)
            out->failed = true;
        else
            print_rank(writer, &rank);
        jr_buf_str(out, i + 1 < plan->world_size ? ",\n" : "\n");
        jr_arena_release(&arena);
        jr_telling_pass(writer->telling, true);
    }
}

/* All that has variables, of which the secret ones are found out first. */
static void print_processes(struct jr_telling *telling)
{
    const struct jr_plan *plan = telling->plan;
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_plan_rank model = jr_plan_rank_at(plan, 0, &arena);
    bool *secret = jr_arena_array(&arena, model.env_own, sizeof *secret);
    struct writer writer = {telling, telling->out, plan, &model, secret};
    if (arena.failed) {
        telling->out->failed = true;
    } else {
        for (uint32_t i = 0; i < model.env_own; i++)
            secret[i] = jr_show_secret(plan, model.env[i]);
        print_json_start(&writer);
        print_ranks(&writer);
    }
}

void jr_plan_json(struct jr_buf *out, const struct jr_plan *plan, const struct jr_drain *drain)
{
    struct jr_telling telling = {out, plan, drain, out->len, true, false};
    jr_buf_printf(out, "{\"format_version\":1,\"world_size\":%u,\"nodes\":%u,\"master_addr\":",
                  plan->world_size, plan->nodes);
    jr_json_quote(out, plan->master_addr);
    jr_buf_printf(out, ",\"master_port\":%u,\n", plan->master_port);
    if (plan->spare_nodes > 0) { /* their hosts; null where one is not known */
        for (uint32_t i = 0; i < plan->spare_nodes; i++) {
            jr_buf_str(out, i == 0 ? "\"spares\":[" : ",");
            jr_json_quote(out, plan->hosts == NULL ? NULL : plan->hosts[plan->nodes + i]);
        }
        jr_buf_str(out, "],\n");
    }
    if (plan->frozen != NULL) { /* the copy of the code that a run will have */
        jr_buf_str(out, "\"code\":{\"top\":");
        jr_json_quote(out, plan->frozen);
        jr_buf_str(out, ",\"links\":[");
        for (size_t i = 0; i < plan->links_count; i++) {
            jr_buf_str(out, i == 0 ? "" : ",");
            jr_json_quote(out, plan->links[i]);
        }
        jr_buf_str(out, "]},\n");
    }
    print_mesh(&telling);
    print_processes(&telling);
    jr_buf_str(out, "]}\n");
    jr_telling_pass(&telling, false);
}
