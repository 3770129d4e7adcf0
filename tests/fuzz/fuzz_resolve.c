/*
 * A spec on a machine with 2 nodes of 4 devices: what is resolved is written as a spec that
 * resolves to itself, and can be planned and printed.
 */
#include "fuzz.h"

#include "base/json.h"
#include "doc/doc.h"
#include "plan/plan_print.h"
#include "plan/planner.h"
#include "resolve/device_profile.h"
#include "resolve/resolve.h"
#include "spec/load.h"

/* Larger worlds are for the benchmark. */
enum { MOST_RANKS = 64 };

struct stages {
    struct jr_diags diags;
    struct jr_spec_file *file;
    struct jr_resolution resolution;
    bool resolved;
};

static struct stages resolve(const struct jr_host *hw, const char *text, size_t len)
{
    static const struct jr_resolve_options options = {.local = true};
    struct stages stages = {.resolution = JR_RESOLUTION_INIT};
    if (jr_spec_load_text(&stages.file, "f.yaml", "/f", text, len, &stages.diags) != 0)
        return stages;
    enum jr_status status =
        jr_resolve(&stages.resolution, stages.file, hw, &options, &stages.diags);
    stages.resolved = status == JR_STATUS_OK;
    require(status == JR_STATUS_OK || status == JR_STATUS_INVALID ||
            status == JR_STATUS_UNRESOLVED);
    require(stages.resolved == (stages.diags.errors == 0));
    return stages;
}

static void release(struct stages *stages)
{
    jr_resolution_release(&stages->resolution);
    jr_diags_release(&stages->diags);
    jr_spec_free(stages->file);
}

/* Secrets are written as ???: such a spec cannot be read for the same values, but is a spec all the
 * same. */
static void check_again(const struct jr_host *hw, const struct stages *stages)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT, same = JR_BUF_INIT;
    jr_resolution_emit(&text, &stages->resolution, stages->file);
    require(!text.failed);
    if (text.len > JR_DOC_MAX_BYTES)
        return;
    struct stages again = resolve(hw, text.data, text.len);
    require(again.resolved);
    jr_resolution_emit(&same, &again.resolution, again.file);
    require(same.len == text.len && memcmp(same.data, text.data, text.len) == 0);
    require(strcmp(again.resolution.job.fingerprint, stages->resolution.job.fingerprint) == 0);
    release(&again);
}

static void check_explanation(const struct stages *stages)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct jr_error err = {0};
    jr_resolution_explain(&text, &stages->resolution, false);
    require(text.len > 0);
    jr_buf_clear(&text);
    jr_resolution_explain(&text, &stages->resolution, true);
    json_t *json = jr_json_parse(text.data, text.len, &err);
    require(json != NULL);
    json_decref(json);
}

static void check_plan(struct stages *stages)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    static char *const environ[] = {(char *)"PATH=/bin", (char *)"A=%{rank}", NULL};
    const struct jr_plan_options options = {.run_id = "run", .environ = environ, .support = "/s"};
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_plan plan = {0};
    struct jr_error err = {0};
    if (jr_plan_build(&plan, &arena, &stages->resolution.job, &options, &stages->diags) ==
        JR_STATUS_OK) {
        require(plan.world_size == stages->resolution.job.world_size);
        jr_plan_print(&text, &plan, true, NULL);
        jr_buf_clear(&text);
        jr_plan_json(&text, &plan, NULL);
        json_t *json = jr_json_parse(text.data, text.len, &err);
        require(json != NULL);
        json_decref(json);
    } else {
        require(stages->diags.errors > 0);
    }
    jr_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_diags diags = JR_DIAGS_INIT;
    struct jr_host hw;
    require(jr_profile_load(&hw, &arena, "2x4:H100,16c,64g", &diags) == 0);
    struct stages stages = resolve(&hw, (const char *)data, size);
    if (stages.resolved) {
        check_again(&hw, &stages);
        check_explanation(&stages);
        if (stages.resolution.job.world_size <= MOST_RANKS)
            check_plan(&stages);
    }
    release(&stages);
    jr_diags_release(&diags);
    jr_arena_release(&arena);
    return 0;
}
