/*
 * A job made by hand, of a size that each test chooses, and its plan.
 *
 *     SAMPLE(s, 2, 2, 2);
 *     s.job.own.threads = 4;
 *     CU_ASSERT_EQUAL(sample_build(&s), JR_STATUS_OK);
 *     ... s.plan, s.diags ...
 */
#ifndef JR_SAMPLE_H
#define JR_SAMPLE_H

#include "diag/diag.h"
#include "plan/planner.h"
#include "resolve/job.h"
#include "unit.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* Text that may be written to, as the stages before make it. */
#define TEXT(literal) ((char[]){literal})

struct sample {
    struct jr_job job;
    struct jr_policy policy;
    struct jr_plan_options options;
    uint32_t sizes[16];
    char *hosts[16];
    char *argv[8];
    struct jr_arena arena;
    struct jr_diags diags;
    struct jr_plan plan;
};

/* One node, CPUs, gloo, `./train --epochs 5`, an empty environment. */
static inline void sample_init(struct sample *s, uint32_t model, uint32_t pipeline, uint32_t data)
{
    static char train[] = "./train", epochs[] = "--epochs", five[] = "5";
    static char prefix[] = "[%{rank}] ", all[] = "all", torch[] = "torch";
    static char secret[] = "*TOKEN*";
    static char *profiles[] = {torch}, *secrets[] = {secret};
    uint32_t world = model * pipeline * data;
    *s = (struct sample){.sizes = {world}, .argv = {train, epochs, five}};
    s->policy.console = (struct jr_console){.prefix = prefix, .ranks = all};
    s->job = (struct jr_job){
        .name = "digits",
        .entrypoint = {.form = JR_FORM_COMMAND, .argv = s->argv, .argv_count = 3},
        .workdir = "/home/u/job",
        .env_profiles = profiles,
        .env_profiles_count = 1,
        .secrets = secrets,
        .secrets_count = 1,
        .world_size = world,
        .nodes = 1,
        .local_world_sizes = s->sizes,
        .hosts = s->hosts,
        .master_addr = "127.0.0.1",
        .master_port = 29500,
        .init_method = "env://",
        .device_name = "cpu",
        .own.threads = 3,
        .axis_size = {model, pipeline, data},
        .axis_backend = {"gloo", "gloo", "gloo"},
        .backend = "gloo",
        .log_dir = "/home/u/job/runs",
        .policy = &s->policy,
        .fingerprint = "0f",
    };
    s->options = (struct jr_plan_options){.run_id = "run-1"};
}

/* The environment of jobrun as "NAME=VALUE ...". */
static inline void sample_environ(struct sample *s, const char *text)
{
    char *rest = jr_arena_strdup(&s->arena, text), *word;
    char **items = jr_arena_array(&s->arena, strlen(text) / 2 + 2, sizeof *items);
    s->options.environ = items;
    while ((word = strsep(&rest, " ")) != NULL)
        *items++ = word;
}

/* Spread the ranks evenly over `nodes`. */
static inline void sample_nodes(struct sample *s, uint32_t nodes)
{
    s->job.nodes = nodes;
    for (uint32_t node = 0; node < nodes; node++)
        s->sizes[node] = s->job.world_size / nodes;
}

static inline enum jr_status sample_build(struct sample *s)
{
    return jr_plan_build(&s->plan, &s->arena, &s->job, &s->options, &s->diags);
}

static inline void sample_release(struct sample *s)
{
    jr_arena_release(&s->arena);
    jr_diags_release(&s->diags);
}

#define SAMPLE_CLEANUP RELEASE(sample_release)

#define SAMPLE(name, ...)                                                                          \
    struct sample name SAMPLE_CLEANUP;                                                             \
    sample_init(&name, __VA_ARGS__)

/* The value of a rank's variable, or NULL. */
static inline const char *sample_env(const struct sample *s, uint32_t rank, const char *name)
{
    size_t len = strlen(name);
    char *const *env = s->plan.ranks[rank].env;
    for (; *env != NULL; env++)
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    return NULL;
}

/* Exactly one finding, of this code and with this text. */
static inline bool sample_found(const struct sample *s, const char *code, const char *text)
{
    return s->diags.count == 1 && strcmp(s->diags.items[0].code, code) == 0 &&
           strstr(s->diags.items[0].message, text) != NULL;
}

#endif
