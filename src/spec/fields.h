/*
 * The fields of a spec: one row each. The reader, the struct's binding, the JSON Schema and
 * `explain` are all made from these rows; nothing else knows what fields there are.
 *
 * X(key, type, need, bind, default, unit, part, missing, help)
 *   type     a row of field.c's types: what a value may be
 *   need     REQUIRED, OPTIONAL, or RESOLVED: then null, `auto` and ??? mean
 *            MISSING, and the resolver fills it
 *   bind     where the value goes in the struct (cyaml_bind.c); SKIP: nowhere
 *   default  what an absent field reads as, written as in a spec; NULL: nothing
 *   unit     of a number; NULL: none
 *   part     what it is about (JR_PARTS of field.h): of EXPERIMENT the
 *            fingerprint is made
 *   missing  what happens when it is MISSING or left out, for people
 */
#ifndef JR_FIELDS_H
#define JR_FIELDS_H

/* The fields at the top of a spec, in the order of the manual. */

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

/* The fields of mappings by which a spec says what it is: its sweep and its code. */

/* clang-format off */
#define JR_FIELDS_SWEEP(X)                                                     \
    X("axes", AXES, OPTIONAL, SKIP, NULL, NULL, SOURCE,                        \
      "what --sweep and `include` say",                                        \
      "the fields that vary, each with its values")                            \
    X("exclude", CELLS, OPTIONAL, SKIP, NULL, NULL, SOURCE, "none",            \
      "combinations that are left out")                                        \
    X("include", CELLS, OPTIONAL, SKIP, NULL, NULL, SOURCE, "none",            \
      "cells besides the combinations of the axes")                            \
    X("samples", SAMPLES, OPTIONAL, SKIP, NULL, "draws", SOURCE,               \
      "an error if an axis is drawn",                                          \
      "how many values are drawn for each combination of the others")          \
    X("seed", SEED, OPTIONAL, SKIP, "0", NULL, SOURCE, "0",                    \
      "what the draws are made from")                                          \
    X("parallel", PARALLEL, RESOLVED, SKIP, NULL, "cells", SOURCE,             \
      "as many as the devices and CPUs hold", "cells at once, at most")        \
    X("stop_after", PARALLEL, OPTIONAL, SKIP, NULL, "cells", SOURCE, "none",   \
      "failed cells after which no other begins")                              \
    X("best", BEST, OPTIONAL, SKIP, NULL, NULL, SOURCE,                        \
      "cells are listed by their numbers",                                     \
      "the field of the results by which cells are compared")

#define JR_FIELDS_BEST(X)                                                      \
    X("field", WORD, REQUIRED, SKIP, NULL, NULL, SOURCE,                       \
      "an error: it is required", "a field of the results, a number")          \
    X("goal", GOAL, REQUIRED, SKIP, NULL, NULL, SOURCE,                        \
      "an error: it is required", "whether more is better, or less")           \
    X("of", BEST_OF, OPTIONAL, SKIP, "mean", NULL, SOURCE, "mean",             \
      "which of the ranks' values counts where they differ")

#define JR_FIELDS_CODE(X)                                                      \
    X("mode", CODE_MODE, OPTIONAL, WORDS(mode, code_modes), "record", NULL,    \
      RECORD, "record", "whether a run has a copy of the code of its own")     \
    X("link", LINKS, OPTIONAL, STRS(link), NULL, NULL, RECORD, "all",          \
      "of what git ignores, what the copy has as links to the original")
/* clang-format on */

/* The fields of mappings about what every rank runs, and its limits. */

/* clang-format off */
#define JR_FIELDS_ENTRYPOINT(X)                                                \
    X("command", ARGV, OPTIONAL, SKIP, NULL, NULL, EXPERIMENT,                 \
      "another form", "a program and its arguments; no shell")                 \
    X("shell", SHELL, OPTIONAL, SKIP, NULL, NULL, EXPERIMENT, "another form",  \
      "text run by /bin/sh -c")                                                \
    X("python", PYTHON, OPTIONAL, POINTER(python, PYTHON), NULL, NULL,         \
      EXPERIMENT, "another form", "a Python script, module or function")       \
    X("library", LIBRARY, OPTIONAL, POINTER(library, LIBRARY), NULL, NULL,     \
      EXPERIMENT, "another form", "a function of a shared library")            \
    X("args", ARGS, OPTIONAL, SKIP, NULL, NULL, EXPERIMENT, "none",            \
      "arguments that follow the form's own")                                  \
    X("kwargs", KWARGS, OPTIONAL, SEQ(kwargs, bind_kwarg), NULL, NULL,         \
      EXPERIMENT, "none", "named arguments of a function")

#define JR_FIELDS_PYTHON(X)                                                    \
    X("script", PATH, OPTIONAL, SKIP, NULL, NULL, EXPERIMENT,                  \
      "a module or a function",                                                \
      "a Python file to run, relative to the spec's folder")                   \
    X("module", MODULE, OPTIONAL, SKIP, NULL, NULL, EXPERIMENT,                \
      "a script or a function", "a module to run, as `python -m` does")        \
    X("function", FUNCTION, OPTIONAL, SKIP, NULL, NULL, EXPERIMENT,            \
      "a script or a module", "a function to call, as pkg.train:main")         \
    X("interpreter", PROGRAM, OPTIONAL, STR(interpreter), "python3", NULL,     \
      EXPERIMENT, "python3", "the Python that runs it: a word, or a path")     \
    X("setup", FUNCTION, OPTIONAL, STR(setup), NULL, NULL, EXPERIMENT,         \
      "none", "a function to call first in each rank")                         \
    X("init", INIT, OPTIONAL, WORDS(init, inits), NULL, NULL, EXPERIMENT,      \
      "nothing", "what to set up before the function is called")               \
    X("smoke_test", FLAG, OPTIONAL, FLAG(smoke_test), NULL, NULL, EXPERIMENT,  \
      "false", "whether to test the groups that init made")

#define JR_FIELDS_LIBRARY(X)                                                   \
    X("path", PATH, REQUIRED, STR(path), NULL, NULL, EXPERIMENT,               \
      "an error: it is required",                                              \
      "the shared library, relative to the spec's folder")                     \
    X("symbol", SYMBOL, REQUIRED, STR(symbol), NULL, NULL, EXPERIMENT,         \
      "an error: it is required", "the function that every rank calls")

#define JR_FIELDS_RANK_ENTRY(X)                                                \
    X("args", ARGS, OPTIONAL, STRS(args), NULL, NULL, EXPERIMENT, "none",      \
      "arguments that follow those of all ranks")                              \
    X("kwargs", KWARGS, OPTIONAL, SEQ(kwargs, bind_kwarg), NULL, NULL,         \
      EXPERIMENT, "none",                                                      \
      "named arguments of a function, over those of all ranks")                \
    X("env", ENV, OPTIONAL, SEQ(env, bind_env), NULL, NULL, EXPERIMENT,        \
      "none", "variables that add to or override those of all ranks")

#define JR_FIELDS_LIMITS(X)                                                    \
    X("nofile", LIMIT_COUNT, OPTIONAL, STR(nofile), NULL, NULL, EXPERIMENT,    \
      "inherited", "open files of a process")                                  \
    X("core", LIMIT_SIZE, OPTIONAL, STR(core), NULL, "bytes", EXPERIMENT,      \
      "inherited", "the size of a core dump; 0 is none")                       \
    X("memlock", LIMIT_SIZE, OPTIONAL, STR(memlock), NULL, "bytes",            \
      EXPERIMENT, "inherited",                                                 \
      "memory that a process may lock; RDMA needs this")                       \
    X("stack", LIMIT_SIZE, OPTIONAL, STR(stack), NULL, "bytes", EXPERIMENT,    \
      "inherited", "the stack of a process")                                   \
    X("as", LIMIT_SIZE, OPTIONAL, STR(as), NULL, "bytes", EXPERIMENT,          \
      "inherited", "the address space of a process")                           \
    X("nproc", LIMIT_COUNT, OPTIONAL, STR(nproc), NULL, NULL, EXPERIMENT,      \
      "inherited", "processes and threads of the user, all together")
/* clang-format on */

/* The fields of mappings about the mesh, backends and engines. */

/* clang-format off */
#define JR_FIELDS_PARALLELISM(X)                                               \
    X("model", COUNT, RESOLVED, U32P(model), NULL, "ranks", EXPERIMENT, "1",   \
      "the size of the model axis, the fastest")                               \
    X("pipeline", COUNT, RESOLVED, U32P(pipeline), NULL, "ranks", EXPERIMENT,  \
      "1", "the size of the pipeline axis")                                    \
    X("data", COUNT, RESOLVED, U32P(data), NULL, "ranks", EXPERIMENT,          \
      "world_size / (model x pipeline)",                                       \
      "the size of the data axis, the slowest")

#define JR_FIELDS_BACKENDS(X)                                                  \
    X("default", BACKEND, RESOLVED, STR(fallback), NULL, NULL, EXPERIMENT,     \
      "TORCH_DISTRIBUTED_BACKEND, else by the device",                         \
      "the backend of the whole world")                                        \
    X("model", BACKEND, RESOLVED, STR(model), NULL, NULL, EXPERIMENT,          \
      "the default", "the backend of the model axis")                          \
    X("pipeline", BACKEND, RESOLVED, STR(pipeline), NULL, NULL, EXPERIMENT,    \
      "the default", "the backend of the pipeline axis")                       \
    X("data", BACKEND, RESOLVED, STR(data), NULL, NULL, EXPERIMENT,            \
      "the default", "the backend of the data axis")

#define JR_FIELDS_ENGINE(X)                                                    \
    X("slurm", SLURM, OPTIONAL, SEQ(slurm, bind_env), NULL, NULL, PLACEMENT,   \
      "none", "options of sbatch, by their long names")                        \
    X("kubernetes", KUBERNETES, OPTIONAL, MAP(kubernetes, KUBERNETES), NULL,   \
      NULL, PLACEMENT, "none", "how the pods are made")                        \
    X("mpi", MPI, OPTIONAL, MAP(mpi, MPI), NULL, NULL, PLACEMENT, "none",      \
      "which MPI starts the ranks")                                            \
    X("ssh", SSH, OPTIONAL, POINTER(ssh, SSH), NULL, NULL, PLACEMENT,          \
      "none; --hosts states it", "start the ranks on `hosts`, by ssh")

#define JR_FIELDS_SSH(X)                                                       \
    X("options", LINES, OPTIONAL, STRS(options), NULL, NULL, PLACEMENT,        \
      "none", "words for ssh, such as -J and a jump host")                     \
    X("program", LINE, OPTIONAL, STR(program), NULL, NULL, PLACEMENT,          \
      "the same path as here, else what PATH finds there",                     \
      "the path of jobrun on the hosts")                                       \
    X("copy", FLAG, OPTIONAL, FLAG(copy), NULL, NULL, PLACEMENT, "false",      \
      "copy jobrun to hosts that lack this version of it")                     \
    X("collect", COLLECTS, OPTIONAL, STRS(collect), NULL, NULL, PLACEMENT,     \
      "results, and the last 64 KiB of each log",                              \
      "what comes back whole from hosts that do not see `log_dir`")            \
    X("env", TEXTS, OPTIONAL, STRS(env), NULL, NULL, PLACEMENT, "none",        \
      "names or globs of variables that ranks get from here")

#define JR_FIELDS_KUBERNETES(X)                                                \
    X("image", IMAGE, OPTIONAL, STR(image), NULL, NULL, PLACEMENT,              \
      "`render` refuses", "the container image, which must contain jobrun")    \
    X("namespace", NAMESPACE, OPTIONAL, STR(name_space), NULL, NULL, PLACEMENT,    \
      "that of the user who applies it", "the namespace of all objects")       \
    X("service_account", LABEL, OPTIONAL, STR(service_account), NULL, NULL,    \
      PLACEMENT, "the namespace's default", "the service account of the pods") \
    X("priority_class", LABEL, OPTIONAL, STR(priority_class), NULL, NULL,      \
      PLACEMENT, "none", "the priority class of the pods")                     \
    X("pull_secret", LABEL, OPTIONAL, STR(pull_secret), NULL, NULL,            \
      PLACEMENT, "none", "the secret with which the image is pulled")          \
    X("secret", LABEL, OPTIONAL, STR(secret), NULL, NULL, PLACEMENT, "none",   \
      "a secret whose entries become jobrun's variables")                      \
    X("claim", LABEL, OPTIONAL, STR(claim), NULL, NULL, PLACEMENT, "none",     \
      "a persistent volume claim that all pods share")                         \
    X("mount", MOUNT, OPTIONAL, STR(mount), "/data", NULL, PLACEMENT, "/data",  \
      "where the claim is mounted")                                            \
    X("shm", BYTES, OPTIONAL, STR(shm), NULL, "bytes", PLACEMENT,           \
      "64Mi, the default of container engines", "the size of /dev/shm")        \
    X("cpu", CPUS, OPTIONAL, STR(cpu), NULL, "CPUs", PLACEMENT,            \
      "not limited", "the CPUs of each pod")                                   \
    X("memory", BYTES, OPTIONAL, STR(memory), NULL, "bytes", PLACEMENT,     \
      "not limited", "the memory of each pod")                                 \
    X("device_resource", RESOURCE, OPTIONAL, STR(device_resource), NULL, NULL,     \
      PLACEMENT, "by the device, such as nvidia.com/gpu",                      \
      "the cluster's name for the devices")

#define JR_FIELDS_MPI(X)                                                       \
    X("dialect", MPI_DIALECT, OPTIONAL, WORDS(dialect, dialects), "openmpi",   \
      NULL, PLACEMENT, "openmpi", "the MPI whose options the launcher takes")  \
    X("launcher", LINE, OPTIONAL, STR(launcher), "mpiexec", NULL, PLACEMENT,   \
      "mpiexec", "the program that starts the ranks")
/* clang-format on */

/* The fields of mappings about output, progress and results. */

/* clang-format off */
#define JR_FIELDS_CONSOLE(X)                                                   \
    X("prefix", TEMPLATE, OPTIONAL, STR(prefix), "[%{rank}] ", NULL, OUTPUT,   \
      "[%{rank}] ", "the text before each line of a rank")                     \
    X("ranks", RANKS, OPTIONAL, STR(ranks), "all", NULL, OUTPUT, "all",        \
      "the ranks whose lines are shown")                                       \
    X("timestamps", FLAG, OPTIONAL, FLAG(timestamps), "false", NULL, OUTPUT,   \
      "false", "whether to print the time before the prefix")                  \
    X("collapse", FLAG, OPTIONAL, FLAG(collapse), "false", NULL, OUTPUT,       \
      "false", "whether to show a line that several ranks print only once")    \
    X("partial", DURATION, OPTIONAL, U64(partial_ms), "250ms",                 \
      "milliseconds", OUTPUT, "250ms",                                         \
      "how long to wait before an unfinished line is shown")                   \
    X("show", PATTERN, OPTIONAL, STR(show), NULL, NULL, OUTPUT, "all",         \
      "the lines that are shown")                                              \
    X("hide", PATTERN, OPTIONAL, STR(hide), NULL, NULL, OUTPUT, "none",        \
      "the lines that are not shown")

#define JR_FIELDS_PROGRESS(X)                                                  \
    X("from", PROGRESS_FROM, OPTIONAL, WORDS(from, progress_froms), "stdout",  \
      NULL, SUPERVISION, "stdout", "where ranks tell their steps")             \
    X("pattern", PATTERN, OPTIONAL, STR(pattern), NULL, NULL, SUPERVISION,     \
      "required with from: stdout or stderr",                                  \
      "PCRE2 whose group `step` is the step, and others metrics")              \
    X("ranks", RANKS, OPTIONAL, STR(ranks), "0", NULL, SUPERVISION, "0",       \
      "the ranks whose steps count; the slowest decides")                      \
    X("of", WHOLE, OPTIONAL, U32(of), "0", "steps", SUPERVISION, "unknown",    \
      "the last step, if the program does not say; 0: unknown")              \
    X("stall", WHOLE, OPTIONAL, U32(stall), "0", "attempts", SUPERVISION, "0", \
      "restarts end after so many attempts in a row that got no further")

#define JR_FIELDS_RESULTS(X)                                                   \
    X("required", RANKS, OPTIONAL, STR(required), "all", NULL, EXPERIMENT,     \
      "all", "the ranks that must deliver")                                    \
    X("from", RESULT_FROM, OPTIONAL, WORDS(from, result_froms), NULL, NULL,    \
      EXPERIMENT, "return for a function and a library, else file",            \
      "where a rank's result comes from")                                      \
    X("file", TEMPLATE, OPTIONAL, STR(file), NULL, NULL, EXPERIMENT,           \
      "$JOBRUN_RESULT_FILE, in the rank's folder",                             \
      "the file that each rank writes its result to")                          \
    X("limit", SIZE, OPTIONAL, STR(limit), "256MiB", "bytes", EXPERIMENT,      \
      "256MiB", "the largest size that a result may have")                     \
    X("pattern", PATTERN, OPTIONAL, STR(pattern), NULL, NULL, EXPERIMENT,      \
      "required with from: stdout or stderr",                                  \
      "PCRE2 whose named groups are the result's fields")                      \
    X("fields", RESULT_FIELDS, OPTIONAL, SEQ(fields, bind_field), NULL, NULL,  \
      EXPERIMENT, "any fields, or none",                                       \
      "the fields of each result and their constraints")                       \
    X("equal", TEXTS, OPTIONAL, STRS(equal), NULL, NULL, EXPERIMENT, "none",   \
      "fields that must be the same on all ranks")                             \
    X("distinct", TEXTS, OPTIONAL, STRS(distinct), NULL, NULL, EXPERIMENT,     \
      "none", "fields that must differ on all ranks")                          \
    X("artifacts", TEMPLATES, OPTIONAL, STRS(artifacts), NULL, NULL,           \
      EXPERIMENT, "none", "files that each rank must write during the run")

#define JR_FIELDS_RESULT_FIELD(X)                                              \
    X("type", JSON_TYPE, REQUIRED, WORDS(type, json_types), NULL, NULL,        \
      EXPERIMENT, "an error: it is required", "the type of the field")         \
    X("min", NUMBER, OPTIONAL, STR(min), NULL, NULL, EXPERIMENT, "none",       \
      "the smallest value that is accepted")                                   \
    X("max", NUMBER, OPTIONAL, STR(max), NULL, NULL, EXPERIMENT, "none",       \
      "the largest value that is accepted")                                    \
    X("enum", SCALARS, OPTIONAL, STRS(enums), NULL, NULL, EXPERIMENT,          \
      "any value", "the values that are accepted")                             \
    X("pattern", PATTERN, OPTIONAL, STR(pattern), NULL, NULL, EXPERIMENT,      \
      "any text", "PCRE2 that must match somewhere in the string")             \
    X("required", FLAG, OPTIONAL, FLAG(required), "true", NULL, EXPERIMENT,    \
      "true", "whether the field must be present")
/* clang-format on */

/* The fields of mappings about time, signals and failure. */

/* clang-format off */
#define JR_FIELDS_TIMEOUTS(X)                                                  \
    X("start", DURATION, OPTIONAL, U64(start_ms), "0", "milliseconds",         \
      SUPERVISION, "none",                                                     \
      "how long starting all ranks may take; 0: no limit")                     \
    X("run", DURATION, OPTIONAL, U64(run_ms), "0", "milliseconds",             \
      SUPERVISION, "none", "how long the ranks may run; 0: no limit")          \
    X("silence", DURATION, OPTIONAL, U64(silence_ms), "0", "milliseconds",     \
      SUPERVISION, "none",                                                     \
      "how long all ranks together may write nothing; 0: no limit")            \
    X("after_first_exit", DURATION, OPTIONAL, U64(after_first_exit_ms), "0",   \
      "milliseconds", SUPERVISION, "none",                                     \
      "how long ranks may run after the first ended well")                     \
    X("progress", DURATION, OPTIONAL, U64(progress_ms), "0", "milliseconds",   \
      SUPERVISION, "none",                                                     \
      "how long the job may make no step forward; 0: no limit")                \
    X("first_step", DURATION, OPTIONAL, U64(first_step_ms), "0",               \
      "milliseconds", SUPERVISION, "none",                                     \
      "how long the job may take to its first step; 0: no limit")              \
    X("exit", DURATION, OPTIONAL, U64(exit_ms), "30s", "milliseconds",         \
      SUPERVISION, "30s",                                                      \
      "how long a rank may take to exit after it returned; 0: no limit")       \
    X("stop_grace", DURATION, OPTIONAL, U64(stop_grace_ms), "30s",             \
      "milliseconds", SUPERVISION, "30s", "the time from the stop signal to SIGKILL")

#define JR_FIELDS_ON_HANG(X)                                                   \
    X("signal", HANG_SIGNAL, OPTIONAL, STR(signal), NULL, NULL, SUPERVISION,   \
      "ABRT if Python's fault handler is on, else none",                       \
      "the signal that makes ranks print their stacks; none sends none")       \
    X("wait", DURATION, OPTIONAL, U64(wait_ms), "10s", "milliseconds",         \
      SUPERVISION, "10s", "how long gathering evidence may take in total")     \
    X("command", HANG_COMMAND, OPTIONAL, STRS(command), NULL, NULL,            \
      SUPERVISION, "none",                                                     \
      "a command to run for each rank; %{pid} is its process")

#define JR_FIELDS_DEADLINE(X)                                                  \
    X("before", DURATION, REQUIRED, U64(before_ms), NULL, "milliseconds",      \
      SUPERVISION, "an error: it is required",                                 \
      "how long before the known end the ranks are warned")                    \
    X("signal", DEADLINE_SIGNAL, OPTIONAL, STR(signal), "USR1", NULL,          \
      SUPERVISION, "USR1", "the signal that warns them")

#define JR_FIELDS_REQUEUE(X)                                                   \
    X("on", REQUEUE_CAUSES, OPTIONAL, STRS(on), NULL, NULL, SUPERVISION,       \
      "all three", "the causes for which it is continued")                     \
    X("max", COUNT, REQUIRED, U32(max), NULL, "requeues", SUPERVISION,         \
      "an error: it is required", "how often it is continued at most")

#define JR_FIELDS_RESTART(X)                                                   \
    X("max", WHOLE, OPTIONAL, U32(max), "0", "restarts", SUPERVISION, "0",     \
      "restarts at most, after the first attempt; 0 is none")                  \
    X("backoff", DURATION, OPTIONAL, U64(backoff_ms), "1s", "milliseconds",    \
      SUPERVISION, "1s",                                                       \
      "the wait before the first restart; it doubles each time")               \
    X("window", DURATION, OPTIONAL, U64(window_ms), "0", "milliseconds",       \
      SUPERVISION, "the whole run",                                            \
      "count only restarts within this time; 0 counts all")                    \
    X("on", TRIGGERS, OPTIONAL, STRS(on), NULL, NULL, SUPERVISION,             \
      "any failure", "the causes that lead to a restart")                      \
    X("never", TRIGGERS, OPTIONAL, STRS(never), NULL, NULL, SUPERVISION,       \
      "none", "causes that end the run, even if `on` has them")
/* clang-format on */

/* The version of jobrun that brought the rows. */
#define JR_FIELDS_SINCE "0.1"

/* Where a field of a fixed mapping leads: name of the rows, pattern of the path. The order is that
 * of `explain` and of the schema. */
#define JR_FIELD_GROUPS(X)                                                                         \
    X(SPEC, "")                                                                                    \
    X(SWEEP, "sweep")                                                                              \
    X(BEST, "sweep.best")                                                                          \
    X(ENTRYPOINT, "entrypoint")                                                                    \
    X(PYTHON, "entrypoint.python")                                                                 \
    X(LIBRARY, "entrypoint.library")                                                               \
    X(RANK_ENTRY, "per_rank.*")                                                                    \
    X(PARALLELISM, "parallelism")                                                                  \
    X(BACKENDS, "backends")                                                                        \
    X(CONSOLE, "console")                                                                          \
    X(TIMEOUTS, "timeouts")                                                                        \
    X(ON_HANG, "on_hang")                                                                          \
    X(DEADLINE, "deadline")                                                                        \
    X(REQUEUE, "requeue")                                                                          \
    X(LIMITS, "limits")                                                                            \
    X(RESTART, "restart")                                                                          \
    X(ENGINE, "engine")                                                                            \
    X(KUBERNETES, "engine.kubernetes")                                                             \
    X(MPI, "engine.mpi")                                                                           \
    X(SSH, "engine.ssh")                                                                           \
    X(PROGRESS, "progress")                                                                        \
    X(CODE, "code")                                                                                \
    X(RESULTS, "results")                                                                          \
    X(RESULT_FIELD, "results.fields.*")

#endif
