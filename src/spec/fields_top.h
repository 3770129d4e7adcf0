/* The fields at the top of a spec, in the order of the manual. See fields.h. */
#ifndef JR_FIELDS_TOP_H
#define JR_FIELDS_TOP_H

/* clang-format off */
#define JR_FIELDS_SPEC(X)                                                      \
    X("version", VERSION, REQUIRED, SKIP, NULL, NULL, SOURCE,                  \
      "an error: it is required", "the version of the spec's language")        \
    X("name", NAME, OPTIONAL, STR(name), NULL, NULL, LABEL,                    \
      "the file's name without .jobrun.yaml",                                  \
      "what the run is called, in its id and in reports")                      \
    X("description", TEXT, OPTIONAL, STR(description), NULL, NULL, LABEL,      \
      "empty", "what the job is for, for people")                              \
    X("labels", LABELS, OPTIONAL, SKIP, NULL, NULL, LABEL, "empty",            \
      "your own words about the job; kept, never read")                        \
    X("extends", EXTENDS, OPTIONAL, SKIP, NULL, NULL, SOURCE, "none",          \
      "specs that this one builds on: paths, relative to this file")           \
    X("template", BASE, OPTIONAL, SKIP, NULL, NULL, SOURCE, "false",           \
      "whether this spec is only a base for others")                           \
    X("vars", VARS, OPTIONAL, SKIP, NULL, NULL, SOURCE, "none",                \
      "values for ${vars.NAME}; ??? requires one from --set")                  \
    X("sweep", SWEEP, OPTIONAL, SKIP, NULL, NULL, SOURCE, "one run",           \
      "the fields that vary, and their values: a run for each combination")    \
    X("targets", TARGETS, OPTIONAL, STRS(targets), NULL, NULL, SOURCE,         \
      "schema and arithmetic are checked",                                     \
      "machines that `validate` resolves the spec against")                    \
    X("entrypoint", ENTRYPOINT, REQUIRED, ENTRY(entrypoint), NULL, NULL,       \
      EXPERIMENT, "an error: it is required",                                  \
      "what every rank runs: a list is a command")                             \
    X("workdir", WORKDIR, OPTIONAL, STR(workdir), ".", NULL, EXPERIMENT,       \
      "the spec's folder", "where ranks run, relative to the spec's folder")   \
    X("setup", SETUP, OPTIONAL, STR(setup), NULL, NULL, EXPERIMENT, "none",    \
      "shell text that is run once per node before the ranks")                 \
    X("env", ENV, OPTIONAL, SEQ(env, bind_env), NULL, NULL, EXPERIMENT,        \
      "none",                                                                  \
      "variables for the ranks; null unsets one, "                             \
      "??? requires it from outside")                                          \
    X("env_remove", TEXTS, OPTIONAL, STRS(env_remove), NULL, NULL,             \
      EXPERIMENT, "none",                                                      \
      "names or globs of variables that ranks do not get")                     \
    X("env_profiles", PROFILES, OPTIONAL, STRS(env_profiles), "torch", NULL,   \
      EXPERIMENT, "[torch]", "frameworks whose variables ranks also get")      \
    X("per_rank", RANK_ENTRIES, OPTIONAL, SEQ(per_rank, bind_rank), NULL,      \
      NULL, EXPERIMENT, "none",                                                \
      "arguments and variables for some ranks only")                           \
    X("secrets", TEXTS, OPTIONAL, STRS(secrets),                               \
      "TOKEN *_TOKEN *SECRET* *PASSWORD* *PASSWD* *API_KEY* *ACCESS_KEY* "     \
      "*PRIVATE_KEY* *CREDENTIAL*",                                            \
      NULL, RECORD,                                                            \
      "TOKEN *_TOKEN *SECRET* *PASSWORD* *PASSWD* *API_KEY* *ACCESS_KEY* "     \
      "*PRIVATE_KEY* *CREDENTIAL*",                                            \
      "globs of variables whose values are never recorded")                    \
    X("world_size", COUNT, RESOLVED, U32P(world_size), NULL, "ranks",          \
      EXPERIMENT, "data x model x pipeline, else nodes x local_world_size",    \
      "ranks in the whole job")                                                \
    X("local_world_size", COUNTS, RESOLVED, U32S(local_world_size), NULL,      \
      "ranks", PLACEMENT,                                                      \
      "world_size / nodes, else the usable devices, else the CPUs",            \
      "ranks per node; a list has one entry per node")                         \
    X("nodes", COUNT, RESOLVED, U32P(nodes), NULL, "nodes", PLACEMENT,         \
      "world_size / local_world_size, else the scheduler's, else 1",           \
      "machines that take part")                                               \
    X("spare_nodes", WHOLE, OPTIONAL, U32(spare_nodes), "0", "nodes",          \
      PLACEMENT, "0",                                                          \
      "machines besides, that take the place of nodes that are lost")          \
    X("node_rank", INDEX, RESOLVED, U32P(node_rank), NULL, NULL, PLACEMENT,    \
      "the scheduler's, or --node-rank; 0 with one node",                      \
      "the index of this machine among the nodes")                             \
    X("rank_start", INDEX, RESOLVED, U32P(rank_start), NULL, "ranks",          \
      PLACEMENT, "the ranks on earlier nodes",                                 \
      "the first rank of this machine")                                        \
    X("hosts", HOSTS, RESOLVED, STRS(hosts), NULL, NULL, PLACEMENT,            \
      "the scheduler's; else none", "addresses of the nodes, one each")        \
    X("master_addr", ADDRESS, RESOLVED, STR(master_addr), NULL, NULL,          \
      PLACEMENT, "the first of hosts; else 127.0.0.1 with one node",           \
      "where the ranks meet: a name or an address, v4 or v6")                  \
    X("master_port", PORT, RESOLVED, U32P(master_port), NULL, NULL,            \
      PLACEMENT, "29500 if free, else the next free one; leased",              \
      "the port on which the ranks meet; 0 is any free one")                   \
    X("init_method", INIT_METHOD, RESOLVED, STR(init_method), NULL, NULL,      \
      PLACEMENT, "env://", "how process groups find each other")               \
    X("device", DEVICE, RESOLVED, STR(device), NULL, NULL, EXPERIMENT,         \
      "what the hardware has; else cpu",                                       \
      "the kind of device the ranks drive")                                    \
    X("devices", DEVICES, RESOLVED, STRS(devices), NULL, NULL, PLACEMENT,      \
      "all that the visibility variable allows",                               \
      "the devices to use: local rank i gets entry i")                         \
    X("device_visibility", VISIBILITY, OPTIONAL,                               \
      WORDS(device_visibility, visibilities), "all", NULL, EXPERIMENT, "all",  \
      "which devices a rank sees")                                             \
    X("oversubscribe", FLAG, OPTIONAL, FLAG(oversubscribe), "false", NULL,     \
      PLACEMENT, "false", "whether a node may have more ranks than devices")   \
    X("bind", BIND, RESOLVED, STR(bind), NULL, NULL, PLACEMENT,                \
      "device if devices have NUMA locality, else none",                       \
      "which CPUs a rank may use")                                             \
    X("threads", COUNT, RESOLVED, U32P(threads), NULL, "threads", PLACEMENT,   \
      "OMP_NUM_THREADS, else physical cores / local ranks",                    \
      "OMP_NUM_THREADS of the ranks")                                          \
    X("parallelism", PARALLELISM, OPTIONAL, MAP(parallelism, PARALLELISM),     \
      NULL, NULL, EXPERIMENT, "one axis: data",                                \
      "the mesh: [data][pipeline][model]")                                     \
    X("backends", BACKENDS, RESOLVED, MAP(backends, BACKENDS), NULL, NULL,     \
      EXPERIMENT, "by the device",                                             \
      "communication backends: one word, or one per axis")                     \
    X("start_method", START_METHOD, OPTIONAL,                                  \
      WORDS(start_method, start_methods), "spawn", NULL, EXPERIMENT, "spawn",  \
      "how ranks are created")                                                 \
    X("preload", MODULES, OPTIONAL, STRS(preload), NULL, NULL, EXPERIMENT,     \
      "none", "modules that the helper imports once, before it forks")         \
    X("fork_threads", FORK_THREADS, OPTIONAL,                                  \
      WORDS(policy.fork_threads, fork_threads), "warn", NULL, SUPERVISION,     \
      "warn", "what to do if imports leave threads in the helper")             \
    X("redirects", STREAMS, OPTIONAL, RULES(redirects), NULL, NULL, OUTPUT,    \
      "none", "streams that go to the rank's files only")                      \
    X("tee", STREAMS, OPTIONAL, RULES(tee), NULL, NULL, OUTPUT,                \
      "the streams that redirects leaves alone",                               \
      "streams that go to the rank's files and to the console")                \
    X("console", CONSOLE, OPTIONAL, MAP(policy.console, CONSOLE), NULL, NULL,  \
      OUTPUT, "prefixed, all ranks",                                           \
      "how the ranks' lines look on the console")                              \
    X("log_dir", LOG_DIR, OPTIONAL, STR(log_dir), "runs", NULL, RECORD,        \
      "runs, in the current folder",                                           \
      "where run folders are made, relative to the spec's folder")             \
    X("log_mode", LOG_MODE, OPTIONAL, WORDS(policy.log_mode, log_modes),       \
      "private", NULL, RECORD, "private", "who may read what a run writes")    \
    X("log_limit", LOG_LIMIT, OPTIONAL, STR(policy.log_limit), NULL, "bytes",  \
      RECORD, "none", "how large the log file of a stream may become")         \
    X("results", RESULTS, OPTIONAL, MAP(policy.results, RESULTS), NULL, NULL,  \
      EXPERIMENT,                                                              \
      "functions and libraries must return; for others exit code 0 is enough", \
      "what each rank must deliver")                                           \
    X("progress", PROGRESS, OPTIONAL, MAP(policy.progress, PROGRESS), NULL,    \
      NULL, SUPERVISION, "what rank 0 tells by jobrun.progress()",             \
      "how the job tells how far it is, and its metrics")                      \
    X("code", CODE, OPTIONAL, MAP(policy.code, CODE), NULL, NULL, RECORD,      \
      "record", "which code ranks execute: the work tree, or a copy of it")    \
    X("mpi", MPI_PROTOCOL, OPTIONAL, WORDS(policy.mpi, mpi_protocols), "auto", \
      NULL, EXPERIMENT, "auto",                                                \
      "how the ranks of an MPI program become one world")                      \
    X("isolation", ISOLATION, OPTIONAL, WORDS(policy.isolation, isolations),   \
      "none", NULL, PLACEMENT, "none",                                         \
      "a PID namespace of the run's own: none or pid")                         \
    X("timeouts", TIMEOUTS, OPTIONAL, MAP(policy.timeouts, TIMEOUTS), NULL,    \
      NULL, SUPERVISION, "none",                                               \
      "limits on how long the parts of a run may take")                        \
    X("stop_target", STOP_TARGET, OPTIONAL,                                    \
      WORDS(policy.stop_target, stop_targets), NULL, NULL, SUPERVISION,        \
      "group for a shell entrypoint, else leader",                             \
      "who gets the stop signal")                                              \
    X("on_hang", ON_HANG, OPTIONAL, MAP(policy.on_hang, ON_HANG), NULL, NULL,  \
      SUPERVISION, "ABRT if Python handles it, 10s",                           \
      "evidence that jobrun gathers before it stops a hung job")               \
    X("deadline", DEADLINE, OPTIONAL, MAP(policy.deadline, DEADLINE), NULL,    \
      NULL, SUPERVISION, "none", "the warning before the end of the time")     \
    X("requeue", REQUEUE, OPTIONAL, MAP(policy.requeue, REQUEUE), NULL, NULL,  \
      SUPERVISION, "none", "when a job that is to be continued is queued again") \
    X("signals", SIGNALS, OPTIONAL, SEQ(policy.signals, bind_signal), NULL,    \
      NULL, SUPERVISION, "TERM INT HUP QUIT stop, USR1 USR2 forward",          \
      "what jobrun does with the signals that it gets")                        \
    X("on_failure", ON_FAILURE, OPTIONAL,                                      \
      WORDS(policy.on_failure, on_failures), "stop", NULL, SUPERVISION,        \
      "stop", "what the first failure does to the other ranks")                \
    X("exit_barrier", FLAG, OPTIONAL, FLAG(policy.exit_barrier), NULL, NULL,   \
      SUPERVISION, "true for functions and libraries, else false",             \
      "whether ranks that returned wait for the others of their node")         \
    X("restart", RESTART, OPTIONAL, MAP(policy.restart, RESTART), NULL, NULL,  \
      SUPERVISION, "never",                                                    \
      "when and how often the whole job is started again")                     \
    X("on_end", END_COMMAND, OPTIONAL, STRS(policy.on_end), NULL, NULL,        \
      SUPERVISION, "none",                                                     \
      "a command that is run once, after the run has ended")                   \
    X("limits", LIMITS, OPTIONAL, MAP(policy.limits, LIMITS), NULL, NULL,      \
      EXPERIMENT, "inherited", "resource limits of the ranks")                 \
    X("exit_status", EXIT_STATUS, OPTIONAL,                                    \
      WORDS(policy.exit_status, exit_statuses), "class", NULL, SUPERVISION,    \
      "class", "which exit status jobrun takes from a failed rank")            \
    X("engine", ENGINE, OPTIONAL, MAP(policy.engine, ENGINE), NULL, NULL,      \
      PLACEMENT, "none",                                                       \
      "how other machines run the job: slurm, kubernetes, mpi or ssh")
/* clang-format on */

#endif
