/*
 * A resolved job: plain values, nothing optional, and for every field where its value came from.
 * Made by jr_resolve from a spec and facts; read by plan.
 *
 * Borrows from the spec and the facts, which must outlive it.
 */
#ifndef JR_JOB_H
#define JR_JOB_H

#include <jobrun/error.h>
#include <jobrun/policy.h>

#include "base/arena.h"

/* The source of a value, best first. */
#define JR_ORIGINS(X)                                                                              \
    X(SET, "--set")                                                                                \
    X(SPEC, "spec")                                                                                \
    X(OPTION, "option")                                                                            \
    X(SCHEDULER, "scheduler")                                                                      \
    X(ENVIRONMENT, "environment")                                                                  \
    X(HARDWARE, "hardware")                                                                        \
    X(DERIVED, "derived")                                                                          \
    X(LEASED, "leased")                                                                            \
    X(DEFAULT, "default")

#define JR_ORIGIN_ENUM(name, word) JR_ORIGIN_##name,
#define JR_ORIGIN_WORD(name, word) word,
enum jr_origin { JR_ORIGINS(JR_ORIGIN_ENUM) };

/* One row of `resolve --explain`. */
struct jr_provenance {
    const char *field; /* dotted path */
    const char *value;
    enum jr_origin origin;
    struct jr_span span;        /* for SPEC and SET */
    struct jr_span *overridden; /* where it was stated before, nearest first */
    size_t overridden_count;
    const char *detail; /* "8 NVIDIA H100 on this node"; NULL: none */
    const char *rule;   /* "nodes x local_world_size"; NULL: as stated */
};

/* What the ranks of a node have of it, by local rank. */
struct jr_node_resources {
    char **devices; /* rank i gets entry i modulo count */
    uint32_t devices_count;
    const char *device_model; /* "H100", for people; NULL when unknown, or not
                                 all are of one */
    char **slots;             /* the CPUs of each rank; of all ranks where all share
                                 this machine (--local): "0-3,8" */
    uint32_t slots_count;     /* 0: ranks are not bound */
    uint32_t threads;
    const char *held; /* who else holds devices of these, as a sentence; NULL:
                         nobody does, or only others know */
};

struct jr_job {
    const char *name;
    struct jr_entrypoint entrypoint;
    const char *workdir; /* absolute */
    const char *setup;   /* shell text; NULL: none */
    struct jr_env_entry *env;
    uint32_t env_count;
    struct jr_rank_entry *per_rank; /* of disjoint sets */
    uint32_t per_rank_count;
    char **env_remove;
    uint32_t env_remove_count;
    char **env_profiles;
    uint32_t env_profiles_count;
    char **secrets;
    uint32_t secrets_count;
    char *const *hidden;       /* values of secrets that are not to be told,
                                  NULL-terminated; NULL: none. See resolve.c */
    char *const *hidden_names; /* the variable of each */

    uint32_t world_size;
    uint32_t nodes;
    uint32_t *local_world_sizes; /* one per node */
    bool ragged;                 /* local world sizes differ */
    uint32_t node_rank;
    uint32_t rank_start;  /* ranks on earlier nodes */
    uint32_t spare_nodes; /* that take the places of lost ones */
    char **hosts;         /* one per node, and then one per spare; NULL entries
                             when unknown */
    const char *master_addr;
    uint32_t master_port;
    uint32_t *rank_ports; /* a port of its own for each rank, on its node; NULL:
                             no profile wants them */
    const char *init_method;
    enum jr_device device;
    const char *device_name; /* as spelled: "cuda", "custom:foo" */
    bool devices_any;        /* free ones, as the spec asks for */
    bool devices_by_index;   /* `devices` are absolute indices, not UUIDs */
    enum jr_visibility device_visibility;
    const char *visibility_variable;     /* "CUDA_VISIBLE_DEVICES"; NULL: none */
    const char *bind;                    /* a word of JR_BINDS */
    const char *unbound;                 /* why ranks have no CPUs, though `bind` says so: a
                                            profile does not tell enough; NULL: all is known */
    struct jr_node_resources own;        /* of the node that this was resolved for */
    struct jr_node_resources *resources; /* of each node; NULL: all are taken to
                               be like this one. See node_resources.h */
    uint32_t axis_size[JR_AXIS_COUNT];
    const char *axis_backend[JR_AXIS_COUNT];
    const char *backend; /* the default one */
    enum jr_start_method start_method;
    char **preload; /* modules */
    uint32_t preload_count;

    struct jr_stream_rule *redirects;
    uint32_t redirects_count;
    struct jr_stream_rule *tee;
    uint32_t tee_count;
    bool tee_stated;
    const char *log_dir; /* absolute */
    const struct jr_policy *policy;
    char fingerprint[65]; /* hex SHA-256; see resolve/fingerprint.c */
};

#endif
