/*
 * What a per-rank template may name: %{rank}.
 */
#ifndef JOBRUN_TEMPLATE_H
#define JOBRUN_TEMPLATE_H

/* In a spec. */
#define JR_TEMPLATE_NAMES(X)                                                                       \
    X(RANK, "rank", "the rank in the world")                                                       \
    X(LOCAL_RANK, "local_rank", "the rank on its node")                                            \
    X(WORLD_SIZE, "world_size", "ranks in the job")                                                \
    X(LOCAL_WORLD_SIZE, "local_world_size", "ranks on its node")                                   \
    X(NODE_RANK, "node_rank", "the index of its node")                                             \
    X(NODES, "nodes", "nodes in the job")                                                          \
    X(MASTER_ADDR, "master_addr", "where rank 0 listens")                                          \
    X(MASTER_PORT, "master_port", "the port of rank 0")                                            \
    X(MODEL_RANK, "model_rank", "the coordinate on the model axis")                                \
    X(PIPELINE_RANK, "pipeline_rank", "the coordinate on the pipeline axis")                       \
    X(DATA_RANK, "data_rank", "the coordinate on the data axis")                                   \
    X(RUN_ID, "run_id", "the name of the run")                                                     \
    X(RUN_DIR, "run_dir", "the folder of the run")                                                 \
    X(RANK_DIR, "rank_dir", "the folder of the rank in this attempt")                              \
    X(ATTEMPT, "attempt", "0, or how often the job was restarted")                                 \
    X(DEVICE, "device", "the index or UUID of its device; empty for none")                         \
    X(CELL, "cell", "the number of its cell, in a sweep only")                                     \
    X(SWEEP_ID, "sweep_id", "the name of the sweep, in a sweep only")

/* What only the tables of contract.h may name. */
#define JR_TEMPLATE_INTERNALS(X)                                                                   \
    X(INIT_METHOD, "init_method", "how process groups find each other")                            \
    X(RESULT_FILE, "result_file", "where its result belongs")                                      \
    X(PROGRESS_FILE, "progress_file", "where its steps belong")                                    \
    X(MAX_RESTARTS, "max_restarts", "restart.max")                                                 \
    X(ERROR_FILE, "error_file", "where its exception belongs, in the form of torch")               \
    X(FRAMEWORK_BACKEND, "framework_backend",                                                      \
      "the backend of the whole world, as frameworks call it")                                     \
    X(MODEL_SIZE, "model_size", "ranks on the model axis")                                         \
    X(MODEL_GROUP, "model_group", "the index of its model group")                                  \
    X(MODEL_MEMBERS, "model_members", "the ranks of its model group, with commas")                 \
    X(MODEL_BACKEND, "model_backend", "the backend of the model axis")                             \
    X(PIPELINE_SIZE, "pipeline_size", "ranks on the pipeline axis")                                \
    X(PIPELINE_GROUP, "pipeline_group", "the index of its pipeline group")                         \
    X(PIPELINE_MEMBERS, "pipeline_members", "the ranks of its pipeline group, with commas")        \
    X(PIPELINE_BACKEND, "pipeline_backend", "the backend of the pipeline axis")                    \
    X(DATA_SIZE, "data_size", "ranks on the data axis")                                            \
    X(DATA_GROUP, "data_group", "the index of its data group")                                     \
    X(DATA_MEMBERS, "data_members", "the ranks of its data group, with commas")                    \
    X(DATA_BACKEND, "data_backend", "the backend of the data axis")                                \
    X(HOSTS, "hosts", "the nodes of the job, with commas")                                         \
    X(TASKS_PER_NODE, "tasks_per_node", "ranks on each node, as `2(x3),1`")                        \
    X(ENDPOINTS, "endpoints", "HOST:PORT of every rank, with commas")                              \
    X(ENDPOINT, "endpoint", "its own HOST:PORT")                                                   \
    X(DEVICE_INDEX, "device_index", "the index of its device among those that it sees")            \
    X(VISIBLE, "visible", "the devices of its node, with commas")                                  \
    X(THREADS, "threads", "the threads of a rank on its node")

#define JR_ENUM_TEMPLATE(name, word, help) JR_TEMPLATE_##name,
enum jr_template {
    JR_TEMPLATE_NAMES(JR_ENUM_TEMPLATE) JR_TEMPLATE_INTERNALS(JR_ENUM_TEMPLATE) JR_TEMPLATE_COUNT
};

#endif
