/*
 * One resolution from a few words: spec text, facts, options.
 *
 *     struct scene SCENE_CLEANUP scene;
 *     scene_open(&scene, "world_size: 8\n", &(struct facts){.on = "1x8:H100"});
 *     ... scene.status, scene.resolution, scene_told(&scene) ...
 */
#ifndef JR_CASE_H
#define JR_CASE_H

#include <stdio.h>
#include <string.h>

#include <jobrun/spec.h>

#include "unit.h"
#include "resolve/device_profile.h"
#include "resolve/resolve.h"
#include "spec/load.h"

/* Lines 1 and 2 of every spec: vectors begin on line 3. */
#define SPEC_HEAD "version: 1\nentrypoint: [./train]\n"

/* Facts: a profile, and what is changed in it. */
struct facts {
    const char *recorded;                /* all of a facts file, and no more */
    const char *on;                      /* NULL: "1x0,8c" */
    const char *backend, *omp, *visible; /* environment */
    char *const *environ, *const *sets;  /* of ${env:...}; --set */
    uint32_t hidden;                     /* devices the variable hides: bits */
    uint32_t job_nodes;                  /* a Slurm job; 0: none */
    int job_rank;
    double quota;
    enum jr_device broken;     /* whose driver; CPU: none's */
    enum jr_device second;     /* the kind of device 1; CPU: as it was */
    bool real;                 /* ports are tried, and the profile says no nodes */
    bool local;                /* --local */
    const uint32_t *node_rank; /* --node-rank */
    const char *target;        /* one of several machines; stated at 9:5 */
};

struct scene {
    struct jr_arena arena;
    struct jr_host hw;
    struct jr_host_problem problem;
    struct jr_spec_file *file;
    struct jr_diags diags;
    struct jr_resolution resolution;
    struct jr_buf told;
    enum jr_status status;
};

static inline void scene_job(struct scene *scene, const struct facts *facts)
{
    char **hosts = jr_arena_array(&scene->arena, facts->job_nodes, sizeof *hosts);
    CU_ASSERT_PTR_NOT_NULL_FATAL(hosts);
    for (uint32_t i = 0; i < facts->job_nodes; i++)
        hosts[i] = jr_arena_printf(&scene->arena, "gpu%02u", i + 1);
    scene->hw.nodes = 0;
    scene->hw.scheduler = (struct jr_host_scheduler){.name = "Slurm",
                                                     .job_id = "77",
                                                     .nodes = facts->job_nodes,
                                                     .node_rank = facts->job_rank,
                                                     .hosts = {hosts, facts->job_nodes}};
}

static inline void scene_facts(struct scene *scene, const struct facts *facts)
{
    struct jr_host *hw = &scene->hw;
    const char *on = facts->on != NULL ? facts->on : "1x0,8c";
    if (facts->recorded != NULL)
        on = facts->recorded;
    CU_ASSERT_EQUAL_FATAL(jr_profile_load(hw, &scene->arena, on, &scene->diags), 0);
    if (facts->recorded != NULL) {
        hw->real = facts->real;
        return;
    }
    if (facts->target != NULL)
        hw->origin = "the target";
    hw->environment.backend = facts->backend;
    hw->environment.omp_num_threads = facts->omp;
    hw->environment.visible[JR_DEVICE_CUDA] = facts->visible;
    for (uint32_t i = 0; i < hw->devices_count; i++)
        hw->devices[i].visible = (facts->hidden & (1u << i)) == 0;
    if (facts->job_nodes > 0)
        scene_job(scene, facts);
    hw->cpus.quota = facts->quota;
    scene->problem = (struct jr_host_problem){facts->broken, "no GPU listed", "see nvidia-smi"};
    if (facts->broken != JR_DEVICE_CPU) {
        hw->problems = &scene->problem;
        hw->problems_count = 1;
    }
    if (facts->second != JR_DEVICE_CPU)
        hw->devices[1].kind = facts->second;
    if (facts->real) {
        hw->real = true;
        hw->nodes = 0;
        hw->origin = "hardware";
    }
}

static inline void scene_load_with(struct scene *scene, const char *text, const struct facts *facts)
{
    struct jr_buf full = JR_BUF_INIT;
    jr_buf_printf(&full, SPEC_HEAD "%s", text);
    const struct jr_spec_source source = {
        .name = "t.jobrun.yaml", .folder = "/srv/job", .text = full.data, .len = full.len};
    const struct jr_spec_options options = {.sets = facts->sets, .environ = facts->environ};
    (void)jr_spec_load(&scene->file, &source, &options, &scene->diags);
    jr_buf_release(&full);
}

static inline void scene_load(struct scene *scene, const char *text)
{
    scene_load_with(scene, text, &(struct facts){0});
}

/* What the spec already refuses when it is loaded is INVALID, too. */
static inline void scene_open(struct scene *scene, const char *text, const struct facts *facts)
{
    *scene = (struct scene){.resolution = JR_RESOLUTION_INIT};
    struct jr_resolve_options options = {.local = facts->local,
                                         .node_rank = facts->node_rank,
                                         .keep_port = true,
                                         .target = facts->target};
    static const struct jr_source source = {.name = "t.yaml"};
    if (facts->target != NULL)
        options.target_at = (struct jr_span){&source, 9, 5, 9, 9};
    scene_facts(scene, facts);
    scene_load_with(scene, text, facts);
    scene->status = JR_STATUS_INVALID;
    if (scene->file != NULL && jr_spec_get(scene->file) != NULL)
        scene->status =
            jr_resolve(&scene->resolution, scene->file, &scene->hw, &options, &scene->diags);
}

/* All findings, in the short form, and then what they offer as help. */
static inline const char *scene_told(struct scene *scene)
{
    jr_buf_clear(&scene->told);
    jr_diags_render(&scene->told, &scene->diags, JR_DIAG_SHORT, false);
    for (size_t i = 0; i < scene->diags.count; i++)
        if (scene->diags.items[i].help != NULL)
            jr_buf_printf(&scene->told, "%s\n", scene->diags.items[i].help);
    for (size_t i = 0; i < scene->diags.count; i++)
        for (const struct jr_related *related = scene->diags.items[i].related; related != NULL;
             related = related->next)
            jr_buf_printf(&scene->told, "see %u:%u\n", related->span.line, related->span.column);
    return scene->told.len > 0 ? scene->told.data : "";
}

static inline const char *scene_value(const struct scene *scene, const char *field, size_t len)
{
    const struct jr_resolution *resolution = &scene->resolution;
    for (size_t i = 0; i < resolution->provenance_count; i++)
        if (strlen(resolution->provenance[i].field) == len &&
            memcmp(resolution->provenance[i].field, field, len) == 0)
            return resolution->provenance[i].value;
    return "(absent)";
}

static inline void scene_close(struct scene *scene)
{
    jr_resolution_release(&scene->resolution);
    jr_diags_release(&scene->diags);
    jr_spec_free(scene->file);
    jr_buf_release(&scene->told);
    jr_arena_release(&scene->arena);
}

#define SCENE_CLEANUP RELEASE(scene_close)

#define SCENE(name, text, facts)                                                                   \
    struct scene name SCENE_CLEANUP;                                                               \
    scene_open(&name, text, facts)

#endif
