/*
 * Inside the planner: the mesh, the words of templates, argv, variables and streams of ranks, and
 * what both ways of printing a plan share. Private to this folder.
 */
#ifndef JR_PLAN_INTERNAL_H
#define JR_PLAN_INTERNAL_H

#include <jobrun/plan.h>

#include "base/rank_set.h"
#include "base/strv.h"
#include "diag/diag.h"
#include "plan/text_template.h"
#include "resolve/job.h"

struct jr_drain;
struct jr_plan_options;

/* The mesh: mesh_grid.c. */

struct jr_grid {
    uint32_t size[JR_AXIS_COUNT];
};

/* The number of ranks: the product of all axes. */
uint32_t jr_grid_world(const struct jr_grid *grid);

/* The coordinate of `rank` on `axis`. */
uint32_t jr_grid_at(const struct jr_grid *grid, uint32_t rank, enum jr_axis axis);

/* The rank at the coordinates `at`. */
uint32_t jr_grid_rank(const struct jr_grid *grid, const uint32_t at[JR_AXIS_COUNT]);

/* The index of the group of `rank` along `axis`. */
uint32_t jr_grid_group(const struct jr_grid *grid, uint32_t rank, enum jr_axis axis);

/* The number of groups along `axis`. */
uint32_t jr_grid_groups(const struct jr_grid *grid, enum jr_axis axis);

/* The rank of member `i` of a group; `i` is below the size of the axis. */
uint32_t jr_grid_member(const struct jr_grid *grid, enum jr_axis axis, uint32_t group, uint32_t i);

/* Prove, by enumeration, that the groups of every axis partition the world and
 * that each rank is a member of its own groups. O(world). Returns 0, or -1 with
 * `err`: what is not so, or JR_STATUS_LAUNCH without memory. */
int jr_grid_prove(const struct jr_grid *grid, struct jr_error *err);

/* The words of templates: text_template.c. */

struct jr_decimal {
    char text[11]; /* any uint32_t */
};

/* What is said of a node. */
struct jr_node_words {
    const char *visible, *threads;
};

struct jr_scopes {
    const struct jr_job *job;
    const struct jr_plan_options *options;
    struct jr_grid grid;
    struct jr_template_space space;
    struct jr_scope common;            /* the words that all ranks share */
    const struct jr_decimal *decimals; /* of 0 .. world_size */
    char **members[JR_AXIS_COUNT];     /* by group; NULL: left out */
    struct jr_node_words *nodes;       /* a single one where all are alike */
    char **endpoints;                  /* HOST:PORT by rank; NULL: the job has no rank_ports */
};

/* Prepare in `scratch`, which must live as long as *ret. The rest is borrowed. An axis whose
 * longest list of members would not fit one environment variable has no lists, nor has the job one
 * of endpoints that would not. Memory failure is the arena's. */
void jr_scopes_init(struct jr_scopes *ret, struct jr_arena *scratch, const struct jr_job *job,
                    const struct jr_plan_options *options);

/* The scope of a rank whose place, coordinates, groups and device are set; all but the paths, which
 * are made with its help. */
void jr_scopes_pick(const struct jr_scopes *scopes, const struct jr_plan_rank *rank,
                    struct jr_scope *ret);

/* The argv of ranks, and of the helper that they are forked from: argv.c.
 * A program is itself. Python and libraries are run by a program of jobrun's own, which lies in the
 * support folder: the worker module for Python, and jobrun-step for libraries. A function's
 * arguments are one JSON object, the last word of its argv. */

/* The longest JSON object of arguments; the kernel takes no word of 128 KiB. */
#define JR_CALL_MAX (120u * 1024)

/* Compile the argv of all ranks, in the arena of `scopes`. -1 with `err`: a template is none
 * (JR_STATUS_INVALID), or there is no support folder (JR_STATUS_LAUNCH). */
int jr_argv_compile(struct jr_compiled_templates *ret, const struct jr_scopes *scopes,
                    struct jr_error *err);

/* The helper's argv, in `arena`; NULL where ranks are spawned, or if memory runs out. */
char **jr_argv_helper(const struct jr_scopes *scopes, struct jr_arena *arena);

/* What the entrypoint names, for people: "pkg.train:main"; NULL for a program.
 */
const char *jr_argv_target(const struct jr_entrypoint *entry);

/* The environment of ranks: rank_env.c. */

/* A variable as rank_env.c has decided it. */
struct jr_env_row {
    const char *name;
    size_t len;
    bool unset;                           /* and not to be inherited either */
    struct jr_compiled_template template; /* NAME=VALUE */
};

/* Variables of some ranks only. */
struct jr_env_more {
    struct jr_env_row *rows; /* those that it unsets, too */
    size_t count;
};

struct jr_environment {
    struct jr_env_row *rows;
    size_t count;
    struct jr_strv inherited; /* without those that rows set or unset */
    struct jr_strv base;      /* what a spec's `setup` is run with */
    struct jr_strv drop;      /* globs of what ranks do not get of it */
    const char *package;      /* what PYTHONPATH ends with; NULL: nothing */
};

/* Decide the variables, in the arena of `scopes`; inherited strings are copied
 * into `arena`, as are `base` and `drop`, which are made for a job with
 * `setup`. Findings: a required variable that is not there (JR0501,
 * JR_STATUS_UNRESOLVED), a value that is not a template (JR0502,
 * JR_STATUS_INVALID), a variable that replaces the devices (JR0517, a warning).
 */
enum jr_status jr_environment_init(struct jr_environment *ret, const struct jr_scopes *scopes,
                                   struct jr_arena *arena, struct jr_diags *diags);

/* The same for the variables of an entry of `per_rank`, whose dotted path is for findings. */
enum jr_status jr_env_more_init(struct jr_env_more *ret, const struct jr_scopes *scopes,
                                const struct jr_rank_entry *entry, const char *path,
                                struct jr_diags *diags);

/* How many variables jobrun sets for a rank: *ret_own of the next call. */
uint32_t jr_environment_own(const struct jr_environment *env, const struct jr_env_more *more);

/* The environment of one rank, for execve: first the variables that jobrun sets, *ret_own of them,
 * then the inherited ones. `more` is what this rank has besides, or NULL: then *ret_own is the
 * `count` of `env`. NULL if memory runs out. */
char **jr_environment_expand(const struct jr_environment *env, const struct jr_env_more *more,
                             struct jr_arena *arena, const struct jr_scope *scope,
                             uint32_t *ret_own);

/* What ranks have of their own, `per_rank`: arguments after those of all ranks and variables that
 * override theirs; and `redirects` and `tee`, where both streams of each local rank go. argv.c */

/* One entry, compiled. */
struct jr_addition {
    struct jr_set ranks;
    struct jr_compiled_templates args; /* of a function the whole call, in one word */
    bool call;
    struct jr_env_more env;
    char **drop; /* names that it unsets, NULL-terminated; NULL: none */
};

/* All of them; no two have a rank in common. */
struct jr_additions {
    struct jr_addition *items;
    size_t count;
    unsigned *of; /* by rank, which one, from 1 on; NULL: there are none */
};

/* Compile the job's entries, in the arena of `scopes`; `drop` is in `arena`. Findings: as those of
 * jr_environment_init, and JR0502 for arguments. */
enum jr_status jr_additions_init(struct jr_additions *ret, const struct jr_scopes *scopes,
                                 struct jr_arena *arena, struct jr_diags *diags);

/* The entry of a rank, or NULL. */
struct jr_addition *jr_additions_find(const struct jr_additions *additions, uint32_t rank);

/* The arguments of `argv`, which may be `argv` itself, followed by those of the entry; of a
 * function with the entry's call. NULL if memory runs out. */
char **jr_addition_argv(struct jr_addition *addition, struct jr_arena *arena, char *const *argv,
                        const struct jr_scope *scope);

/* The sinks of one local rank. */
struct jr_sinks {
    enum jr_sink out, err;
};

/* The sinks of local ranks 0 .. count - 1, in `arena`: what is teed goes to file and console, what
 * is only redirected to the file, the rest is inherited. NULL if memory runs out, or, with `err`,
 * when the ranks of a rule are no rank set. */
struct jr_sinks *jr_sinks_build(struct jr_arena *arena, const struct jr_job *job, uint32_t count,
                                struct jr_error *err);

/* Failures to order: injection_plan.c. */

/* Put what `text` orders for this attempt into the plan, whose ranks are there,
 * `sizes` of them on each node; what is wrong goes to `diags`, at
 * --inject:COLUMN, and is JR_STATUS_USAGE. */
enum jr_status jr_inject_parse(struct jr_plan *plan, struct jr_arena *arena, const char *text,
                               const uint32_t *sizes, struct jr_diags *diags);

/* Printing: plan_print.c and plan_json.c. */

/* A plan that is being told, and how much of it stays in `out`. */
struct jr_telling {
    struct jr_buf *out;
    const struct jr_plan *plan;
    const struct jr_drain *drain; /* NULL: all of it */
    size_t from;                  /* where it begins in `out` */
    bool json;
    bool ended; /* the rest is not needed */
};

/* Hide the values of secrets in what was told, and let the drain have it. With
 * `more` to come only once it is worth while. */
void jr_telling_pass(struct jr_telling *telling, bool more);

/* The word of every axis. */
extern const char *const jr_show_axis[JR_AXIS_COUNT];

/* Whether the name of NAME=VALUE is a secret's, by the plan's globs. Case does not count: a
 * lower-case token is one too. */
bool jr_show_secret(const struct jr_plan *plan, const char *item);

/* Append the mesh as a table, and the groups of every axis with their proof. */
void jr_show_mesh(struct jr_buf *out, const struct jr_plan *plan);

/* Append a row per rank; in a large world, per run of like ranks. `hint` says how to see the
 * environment. */
void jr_show_ranks(struct jr_buf *out, const struct jr_plan *plan, bool hint);

#endif
