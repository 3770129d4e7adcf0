/*
 * What the job says to templates: the words of contract and templates with their texts, made once,
 * and the scope of each rank picked from them.
 */
#ifndef JR_TEMPLATE_SCOPE_H
#define JR_TEMPLATE_SCOPE_H

#include <jobrun/plan.h>

#include "base/arena.h"
#include "plan/mesh_grid.h"
#include "plan/text_template.h"

struct jr_job;
struct jr_plan_options;

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

#endif
