/*
 * The stages that several verbs go through: spec, facts, job, plan.
 */
#ifndef JR_STAGE_H
#define JR_STAGE_H

#include "cli.h"
#include "load.h"
#include "plan.h"
#include "resolve.h"

/* What the verbs hold while they work, released in one call. */
struct jr_stages {
    struct jr_diags diags;
    struct jr_spec_file *file;
    struct jr_arena arena; /* facts and plan */
    struct jr_hw hw;
    struct jr_resolution resolution;
    struct jr_plan plan;
};

#define JR_STAGES_INIT                                                         \
    {                                                                          \
        .resolution = JR_RESOLUTION_INIT                                       \
    }

/* How `validate` reads specs: without an environment but for --allow-env. */
struct jr_spec_options jr_stage_checked(const struct jr_cli *cli);

/* Load the spec that the words name (or the command behind "--" with -n);
 * mistakes are printed. Returns the exit status, 0 to go on. */
int jr_stage_load(struct jr_stages *stages, struct jr_cli *cli);

/* Facts, by --on or of this machine. */
int jr_stage_facts(struct jr_stages *stages, const struct jr_cli *cli);

/* Facts and resolve, of what is loaded. `keep_port` holds the port lease. */
int jr_stage_settle(struct jr_stages *stages, const struct jr_cli *cli,
                    bool keep_port);

/* Load and settle. */
int jr_stage_resolve(struct jr_stages *stages, struct jr_cli *cli,
                     bool keep_port);

/* The plan, under `run_id`; warnings are printed. */
int jr_stage_plan(struct jr_stages *stages, const struct jr_cli *cli,
                  const char *run_id);

void jr_stages_release(struct jr_stages *stages);

#endif
