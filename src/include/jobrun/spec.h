/*
 * A checked spec: plain data, bound from the text. A resolvable field that the spec left out is a
 * NULL pointer (MISSING); everything else has its default. Field by field it follows the contract's
 * table; fields.h has a row for each.
 */
#ifndef JOBRUN_SPEC_H
#define JOBRUN_SPEC_H

#include <jobrun/error.h>
#include <jobrun/policy.h>

/* Where a spec comes from: a path ("-" is standard input); else a command, the
 * implied spec of `-n N -- CMD...`, with a command entrypoint and, unless
 * `ranks` is 0, a world size; else a text. */
struct jr_spec_source {
    const char *path;
    char *const *argv; /* NULL-terminated */
    uint32_t ranks;
    const char *name, *folder; /* of the text; absolute, NULL: the current */
    const char *text;
    size_t len;
};

struct jr_spec_parallelism {
    uint32_t *model, *pipeline, *data;
};

/* Spelled as in the spec: "nccl", "custom:foo". */
struct jr_spec_backends {
    char *fallback; /* `default` */
    char *model, *pipeline, *data;
};

struct jr_spec {
    char *name;
    char *description; /* NULL when absent */
    char **targets;    /* machine profiles: shorthands or absolute paths */
    uint32_t targets_count;
    struct jr_entrypoint entrypoint;
    char *workdir; /* absolute */
    char *setup;   /* shell text; NULL: none */
    struct jr_env_entry *env;
    uint32_t env_count;
    struct jr_rank_entry *per_rank; /* of disjoint sets */
    uint32_t per_rank_count;
    char **env_remove;
    uint32_t env_remove_count;
    char **env_profiles;
    uint32_t env_profiles_count;
    char **secrets; /* name globs */
    uint32_t secrets_count;

    uint32_t *world_size;
    uint32_t *local_world_size; /* one, or one per node; NULL: MISSING */
    uint32_t local_world_size_count;
    uint32_t *nodes, *node_rank, *rank_start;
    uint32_t spare_nodes; /* 0: none */
    char **hosts;
    uint32_t hosts_count;
    char *master_addr;
    uint32_t *master_port; /* 0: any free one */
    char *init_method;
    char *device;   /* "cuda", "custom:foo" */
    char **devices; /* indices or UUIDs; ["all"] or ["none"] */
    uint32_t devices_count;
    enum jr_visibility device_visibility;
    char *bind; /* a word of JR_BINDS */
    bool oversubscribe;
    uint32_t *threads;
    struct jr_spec_parallelism parallelism;
    struct jr_spec_backends backends;
    enum jr_start_method start_method;
    char **preload; /* modules */
    uint32_t preload_count;

    struct jr_stream_rule *redirects;
    uint32_t redirects_count;
    struct jr_stream_rule *tee; /* NULL: the streams that redirects leaves */
    uint32_t tee_count;
    bool tee_stated;
    char *log_dir; /* absolute */
    struct jr_policy policy;
};

#endif
