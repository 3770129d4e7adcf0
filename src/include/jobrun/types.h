/*
 * The vocabulary that every stage shares: enums, each one X-macro of value,
 * spelling and help, and the policies that a spec states and that travel
 * unchanged from the spec to the run and the report.
 *
 * All strings are UTF-8, NUL-terminated and borrowed: they belong to the stage
 * that made them, which must outlive the reader.
 */
#ifndef JOBRUN_TYPES_H
#define JOBRUN_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More ranks than this, or nodes, are taken for a mistake. */
#define JR_RANKS_MAX (1u << 20)

/* A sweep of more cells is refused. */
#define JR_SWEEP_CELLS_MAX 100000u

/* A mesh axis, fastest first: ranks are laid out [data][pipeline][model]. */
#define JR_AXES(X)                                                             \
    X(MODEL, "model", "tensor parallelism: the fastest axis")                  \
    X(PIPELINE, "pipeline", "pipeline stages")                                 \
    X(DATA, "data", "data parallelism: the slowest axis")

/* The kind of accelerator that the ranks drive. */
#define JR_DEVICES(X)                                                          \
    X(CPU, "cpu", "no accelerator")                                            \
    X(CUDA, "cuda", "NVIDIA")                                                  \
    X(ROCM, "rocm", "AMD")                                                     \
    X(XPU, "xpu", "Intel; Kunlun under the paddle profile")                    \
    X(HPU, "hpu", "Intel Gaudi")                                               \
    X(NPU, "npu", "Huawei Ascend")                                             \
    X(MLU, "mlu", "Cambricon")                                                 \
    X(CUSTOM, "custom", "custom:NAME, a device type of your own")

/* What there is to know of each kind of device: the vendor, the variable that
 * narrows which ones a process sees, and the usual backend. NULL: none. */
#define JR_CUDA_VISIBLE "CUDA_VISIBLE_DEVICES"
#define JR_DEVICE_TRAITS(X)                                                    \
    X(CPU, NULL, NULL, "gloo")                                                 \
    X(CUDA, "NVIDIA", JR_CUDA_VISIBLE, "nccl")                                 \
    X(ROCM, "AMD", "ROCR_VISIBLE_DEVICES", "rccl")                             \
    X(XPU, "Intel", "ZE_AFFINITY_MASK", "xccl")                                \
    X(HPU, "Gaudi", "HABANA_VISIBLE_DEVICES", "hccl")                          \
    X(NPU, "Ascend", "ASCEND_RT_VISIBLE_DEVICES", "hccl")                      \
    X(MLU, "Cambricon", "MLU_VISIBLE_DEVICES", "cncl")                         \
    X(CUSTOM, NULL, NULL, NULL)

/* A communication backend; what each can drive is in contract.h. */
#define JR_BACKENDS(X)                                                         \
    X(NCCL, "nccl", "NVIDIA GPUs")                                             \
    X(GLOO, "gloo", "CPUs")                                                    \
    X(MPI, "mpi", "whatever the MPI library drives")                           \
    X(UCC, "ucc", "CPUs, NVIDIA and AMD GPUs")                                 \
    X(RCCL, "rccl", "AMD GPUs")                                                \
    X(BKCL, "bkcl", "Kunlun XPUs")                                             \
    X(XCCL, "xccl", "Intel XPUs; Paddle's for custom:NAME")                    \
    X(HCCL, "hccl", "Ascend NPUs and Gaudi HPUs")                              \
    X(CNCL, "cncl", "Cambricon MLUs")                                          \
    X(CUSTOM, "custom", "custom:NAME, a backend of your own")

/* How a rank comes to life. */
#define JR_START_METHODS(X)                                                    \
    X(SPAWN, "spawn", "a fresh process image for every rank")                  \
    X(FORK, "fork", "forks of a helper that imported the entry module")        \
    X(FORKSERVER, "forkserver", "forks of a helper that imported `preload`")

/* Which devices a rank sees. */
#define JR_VISIBILITIES(X)                                                     \
    X(ALL, "all", "every rank sees all and picks by LOCAL_RANK")               \
    X(ONE, "one", "each rank sees its own device only")                        \
    X(INHERIT, "inherit", "the environment's variables are not changed")

/* What the CPUs of a rank are. */
#define JR_BINDS(X)                                                            \
    X(NONE, "none", "all that jobrun may use")                                 \
    X(CORE, "core", "physical cores of its own, side by side")                 \
    X(NUMA, "numa", "a NUMA node, shared by the ranks on it")                  \
    X(DEVICE, "device", "its share of the NUMA node of its device")

/* Which output streams of a rank are meant; values are a bit set. */
#define JR_STREAMS(X)                                                          \
    X(NONE, "none", "neither stream")                                          \
    X(OUT, "out", "standard output")                                           \
    X(ERR, "err", "standard error")                                            \
    X(ALL, "all", "both streams")

/* What the first failure does to the other ranks. */
#define JR_ON_FAILURES(X)                                                      \
    X(STOP, "stop",                                                            \
      "the other ranks are stopped, once it is known that the failure is not " \
      "that of a lost peer, or half a second later")                           \
    X(CONTINUE, "continue", "the other ranks continue; the job still fails")

/* Who gets the stop signal. */
#define JR_STOP_TARGETS(X)                                                     \
    X(LEADER, "leader", "the rank's own process")                              \
    X(GROUP, "group", "the rank's whole process group")

/* What exit code 1 becomes. */
#define JR_EXIT_STATUSES(X)                                                    \
    X(CLASS, "class", "the table of exit codes")                               \
    X(RANK, "rank", "the root-cause rank's own code, 128+N for a signal")

/* What is done where the helper of fork and forkserver has threads. */
#define JR_FORK_THREADS(X)                                                     \
    X(WARN, "warn", "jobrun warns once, and forks the ranks")                  \
    X(REFUSE, "refuse", "no rank is started")

/* What the processes of a run share with the rest of the machine. */
#define JR_ISOLATIONS(X)                                                       \
    X(NONE, "none", "they run like any other process")                         \
    X(PID, "pid", "they run in their own PID namespace, and end with it")

/* How the ranks of an MPI program find each other. */
#define JR_MPI_PROTOCOLS(X)                                                    \
    X(AUTO, "auto", "by the MPI library that the program needs, if any")       \
    X(NONE, "none", "jobrun offers nothing: other launchers do, or no one")    \
    X(PMI1, "pmi1", "PMI-1: MPICH, MVAPICH, Intel MPI")                        \
    X(PMIX, "pmix", "PMIx: Open MPI 4 and 5")

/* What jobrun does with a signal that it gets. */
#define JR_ON_SIGNALS(X)                                                       \
    X(FORWARD, "forward", "every rank gets it")                                \
    X(STOP, "stop", "the run is stopped")                                      \
    X(IGNORE, "ignore", "nothing")

/* Permissions of what a run writes. */
#define JR_LOG_MODES(X)                                                        \
    X(PRIVATE, "private", "folders 0700, files 0600")                          \
    X(GROUP, "group", "folders 0750, files 0640")                              \
    X(UMASK, "umask", "0777 and 0666 less the umask")

/* Where a rank's result comes from. */
#define JR_RESULT_FROMS(X)                                                     \
    X(FILE, "file", "JSON that the rank writes to $JOBRUN_RESULT_FILE")        \
    X(STDOUT, "stdout", "the last match of `pattern` on standard output")      \
    X(STDERR, "stderr", "the last match of `pattern` on standard error")       \
    X(RETURN, "return", "what the function returned")

/* What the ranks of a run execute. */
#define JR_CODE_MODES(X)                                                       \
    X(RECORD, "record", "the work tree itself; its state is recorded")         \
    X(FREEZE, "freeze", "a copy of the work tree that is the run's own")

/* Where a rank tells its steps. */
#define JR_PROGRESS_FROMS(X)                                                   \
    X(STDOUT, "stdout", "lines of standard output that match `pattern`")       \
    X(STDERR, "stderr", "lines of standard error that match `pattern`")        \
    X(FILE, "file",                                                            \
      "JSON lines that the rank appends to "                                   \
      "$JOBRUN_PROGRESS_FILE")

/* The type of a result field. */
#define JR_JSON_TYPES(X)                                                       \
    X(INTEGER, "integer", "a whole number")                                    \
    X(NUMBER, "number", "any finite number")                                   \
    X(STRING, "string", "a string")                                            \
    X(BOOLEAN, "boolean", "true or false")                                     \
    X(ARRAY, "array", "a JSON array")                                          \
    X(OBJECT, "object", "a JSON object")

/* The form of an entrypoint. */
#define JR_FORMS(X)                                                            \
    X(COMMAND, "command", "an argv; no shell")                                 \
    X(SHELL, "shell", "text run by /bin/sh -c")                                \
    X(PYTHON, "python", "a Python script, module or function")                 \
    X(LIBRARY, "library", "a function of a shared library")

/* What of Python an entrypoint names. */
#define JR_PYTHON_FORMS(X)                                                     \
    X(SCRIPT, "script", "a file, run as `python FILE` would")                  \
    X(MODULE, "module", "a module, run as `python -m` would")                  \
    X(FUNCTION, "function", "a function of a module, which is called")

/* Whose options an MPI launcher takes. */
#define JR_MPI_DIALECTS(X)                                                     \
    X(OPENMPI, "openmpi", "Open MPI, PRRTE")                                   \
    X(HYDRA, "hydra", "MPICH, Intel MPI, MVAPICH")

/* What sets up a function's rank before the call. */
#define JR_PYTHON_INITS(X)                                                     \
    X(NONE, "none", "nothing")                                                 \
    X(TORCH, "torch", "process group, device, one group per mesh axis")

/* Which cell of a sweep is the best. */
#define JR_SWEEP_GOALS(X)                                                      \
    X(MAX, "max", "the one with the largest value")                            \
    X(MIN, "min", "the one with the smallest value")

/* Which of the values of a cell's ranks counts. */
#define JR_SWEEP_OFS(X)                                                        \
    X(MEAN, "mean", "the mean of all")                                         \
    X(MIN, "min", "the smallest")                                              \
    X(MAX, "max", "the largest")                                               \
    X(FIRST, "first", "that of the first rank that has one")

/* What a per-rank template may name: %{rank}. */
#define JR_TEMPLATE_NAMES(X)                                                   \
    X(RANK, "rank", "the rank in the world")                                   \
    X(LOCAL_RANK, "local_rank", "the rank on its node")                        \
    X(WORLD_SIZE, "world_size", "ranks in the job")                            \
    X(LOCAL_WORLD_SIZE, "local_world_size", "ranks on its node")               \
    X(NODE_RANK, "node_rank", "the index of its node")                         \
    X(NODES, "nodes", "nodes in the job")                                      \
    X(MASTER_ADDR, "master_addr", "where rank 0 listens")                      \
    X(MASTER_PORT, "master_port", "the port of rank 0")                        \
    X(MODEL_RANK, "model_rank", "the coordinate on the model axis")            \
    X(PIPELINE_RANK, "pipeline_rank", "the coordinate on the pipeline axis")   \
    X(DATA_RANK, "data_rank", "the coordinate on the data axis")               \
    X(RUN_ID, "run_id", "the name of the run")                                 \
    X(RUN_DIR, "run_dir", "the folder of the run")                             \
    X(RANK_DIR, "rank_dir", "the folder of the rank in this attempt")          \
    X(ATTEMPT, "attempt", "0, or how often the job was restarted")             \
    X(DEVICE, "device", "the index or UUID of its device; empty for none")     \
    X(CELL, "cell", "the number of its cell, in a sweep only")                 \
    X(SWEEP_ID, "sweep_id", "the name of the sweep, in a sweep only")

/* What only the tables of contract.h may name. */
#define JR_TEMPLATE_INTERNALS(X)                                               \
    X(INIT_METHOD, "init_method", "how process groups find each other")        \
    X(RESULT_FILE, "result_file", "where its result belongs")                  \
    X(PROGRESS_FILE, "progress_file", "where its steps belong")                \
    X(MAX_RESTARTS, "max_restarts", "restart.max")                             \
    X(ERROR_FILE, "error_file",                                                \
      "where its exception belongs, in the form of torch")                     \
    X(FRAMEWORK_BACKEND, "framework_backend",                                  \
      "the backend of the whole world, as frameworks call it")                 \
    X(MODEL_SIZE, "model_size", "ranks on the model axis")                     \
    X(MODEL_GROUP, "model_group", "the index of its model group")              \
    X(MODEL_MEMBERS, "model_members",                                          \
      "the ranks of its model group, with commas")                             \
    X(MODEL_BACKEND, "model_backend", "the backend of the model axis")         \
    X(PIPELINE_SIZE, "pipeline_size", "ranks on the pipeline axis")            \
    X(PIPELINE_GROUP, "pipeline_group", "the index of its pipeline group")     \
    X(PIPELINE_MEMBERS, "pipeline_members",                                    \
      "the ranks of its pipeline group, with commas")                          \
    X(PIPELINE_BACKEND, "pipeline_backend",                                    \
      "the backend of the pipeline axis")                                      \
    X(DATA_SIZE, "data_size", "ranks on the data axis")                        \
    X(DATA_GROUP, "data_group", "the index of its data group")                 \
    X(DATA_MEMBERS, "data_members",                                            \
      "the ranks of its data group, with commas")                              \
    X(DATA_BACKEND, "data_backend", "the backend of the data axis")            \
    X(ENDPOINTS, "endpoints", "HOST:PORT of every rank, with commas")          \
    X(ENDPOINT, "endpoint", "its own HOST:PORT")                               \
    X(DEVICE_INDEX, "device_index",                                            \
      "the index of its device among those that it sees")                      \
    X(VISIBLE, "visible", "the devices of its node, with commas")              \
    X(THREADS, "threads", "the threads of a rank on its node")

#define JR_ENUM_AXIS(name, word, help)         JR_AXIS_##name,
#define JR_ENUM_DEVICE(name, word, help)       JR_DEVICE_##name,
#define JR_ENUM_BACKEND(name, word, help)      JR_BACKEND_##name,
#define JR_ENUM_START_METHOD(name, word, help) JR_START_##name,
#define JR_ENUM_VISIBILITY(name, word, help)   JR_VISIBLE_##name,
#define JR_ENUM_BIND(name, word, help)         JR_BIND_##name,
#define JR_ENUM_STREAMS(name, word, help)      JR_STREAM_##name,
#define JR_ENUM_ON_FAILURE(name, word, help)   JR_ON_FAILURE_##name,
#define JR_ENUM_STOP_TARGET(name, word, help)  JR_STOP_##name,
#define JR_ENUM_EXIT_STATUS(name, word, help)  JR_EXIT_STATUS_##name,
#define JR_ENUM_FORK_THREADS(name, word, help) JR_FORK_THREADS_##name,
#define JR_ENUM_ISOLATION(name, word, help)    JR_ISOLATION_##name,
#define JR_ENUM_MPI_PROTOCOL(name, word, help) JR_MPI_PROTOCOL_##name,
#define JR_ENUM_ON_SIGNAL(name, word, help)    JR_ON_SIGNAL_##name,
#define JR_ENUM_LOG_MODE(name, word, help)     JR_LOG_##name,
#define JR_ENUM_RESULT_FROM(name, word, help)  JR_FROM_##name,
#define JR_ENUM_CODE_MODE(name, word, help)    JR_CODE_MODE_##name,
#define JR_ENUM_PROGRESS(name, word, help)     JR_PROGRESS_##name,
#define JR_ENUM_JSON_TYPE(name, word, help)    JR_JSON_##name,
#define JR_ENUM_FORM(name, word, help)         JR_FORM_##name,
#define JR_ENUM_PYTHON(name, word, help)       JR_PYTHON_##name,
#define JR_ENUM_INIT(name, word, help)         JR_INIT_##name,
#define JR_ENUM_DIALECT(name, word, help)      JR_MPI_##name,
#define JR_ENUM_SWEEP_GOAL(name, word, help)   JR_GOAL_##name,
#define JR_ENUM_SWEEP_OF(name, word, help)     JR_OF_##name,
#define JR_ENUM_TEMPLATE(name, word, help)     JR_TEMPLATE_##name,

enum jr_axis { JR_AXES(JR_ENUM_AXIS) JR_AXIS_COUNT };
enum jr_device { JR_DEVICES(JR_ENUM_DEVICE) JR_DEVICE_COUNT };
enum jr_backend { JR_BACKENDS(JR_ENUM_BACKEND) JR_BACKEND_COUNT };
enum jr_start_method { JR_START_METHODS(JR_ENUM_START_METHOD) };
enum jr_visibility { JR_VISIBILITIES(JR_ENUM_VISIBILITY) };
enum jr_bind { JR_BINDS(JR_ENUM_BIND) JR_BIND_COUNT };
enum jr_streams { JR_STREAMS(JR_ENUM_STREAMS) };
enum jr_on_failure { JR_ON_FAILURES(JR_ENUM_ON_FAILURE) };
enum jr_stop_target { JR_STOP_TARGETS(JR_ENUM_STOP_TARGET) };
enum jr_exit_status { JR_EXIT_STATUSES(JR_ENUM_EXIT_STATUS) };
enum jr_fork_threads { JR_FORK_THREADS(JR_ENUM_FORK_THREADS) };
enum jr_isolation { JR_ISOLATIONS(JR_ENUM_ISOLATION) };
enum jr_mpi_protocol { JR_MPI_PROTOCOLS(JR_ENUM_MPI_PROTOCOL) };
enum jr_on_signal { JR_ON_SIGNALS(JR_ENUM_ON_SIGNAL) };
enum jr_log_mode { JR_LOG_MODES(JR_ENUM_LOG_MODE) };
enum jr_result_from { JR_RESULT_FROMS(JR_ENUM_RESULT_FROM) };
enum jr_code_mode { JR_CODE_MODES(JR_ENUM_CODE_MODE) };
enum jr_progress_from { JR_PROGRESS_FROMS(JR_ENUM_PROGRESS) };
enum jr_json_type { JR_JSON_TYPES(JR_ENUM_JSON_TYPE) };
enum jr_form { JR_FORMS(JR_ENUM_FORM) };
enum jr_python_form { JR_PYTHON_FORMS(JR_ENUM_PYTHON) };
enum jr_python_init { JR_PYTHON_INITS(JR_ENUM_INIT) };
enum jr_sweep_goal { JR_SWEEP_GOALS(JR_ENUM_SWEEP_GOAL) };
enum jr_sweep_of { JR_SWEEP_OFS(JR_ENUM_SWEEP_OF) };
enum jr_mpi_dialect { JR_MPI_DIALECTS(JR_ENUM_DIALECT) };
enum jr_template {
    JR_TEMPLATE_NAMES(JR_ENUM_TEMPLATE) JR_TEMPLATE_INTERNALS(JR_ENUM_TEMPLATE)
        JR_TEMPLATE_COUNT
};

/* The Python that every rank runs. */
struct jr_python {
    enum jr_python_form what;
    char *target;      /* an absolute path, pkg.train, or pkg.train:main */
    char *interpreter; /* a word to look up in PATH, or an absolute path */
    char *setup;       /* pkg:fn, called before the function; NULL: nothing */
    enum jr_python_init init;
    bool smoke_test; /* prove what `init` made */
};

/* The function of a shared library that every rank calls. */
struct jr_library {
    char *path; /* absolute */
    char *symbol;
};

/* Failures that can be ordered, to rehearse what follows them. */
#define JR_INJECTS(X)                                                          \
    X(KILL, "kill", "SIGKILL")                                                 \
    X(EXIT, "exit", "it ends with an exit code")                               \
    X(HANG, "hang", "it is frozen until jobrun stops it")                      \
    X(STOP, "stop", "SIGSTOP")                                                 \
    X(SLOW, "slow", "it is frozen for four fifths of the time")                \
    X(NORESULT, "noresult", "what it delivers does not count")                 \
    X(OOM, "oom", "it is killed as if memory had run out")                     \
    X(DEADLINE, "deadline", "the deadline comes, for the whole job")           \
    X(PREEMPT, "preempt", "the job is preempted")                              \
    X(LOST_NODE, "lost_node", "its node is lost, of which there is a number")

#define JR_ENUM_INJECT(name, word, help) JR_INJECT_##name,
enum jr_inject { JR_INJECTS(JR_ENUM_INJECT) };

/* A named argument of a function. */
struct jr_kwarg {
    char *name;
    char *value; /* JSON text, whose strings are per-rank templates */
};

/* What every rank runs. For `shell`, argv[0] is the text, and the rest are its
 * positional parameters $1...; for `python` and `library` argv is what is
 * passed to them: strings, or for a function the JSON text of each argument. */
struct jr_entrypoint {
    enum jr_form form;
    char **argv;
    uint32_t argv_count;
    struct jr_kwarg *kwargs; /* of a function */
    uint32_t kwargs_count;
    struct jr_python *python;   /* NULL but for that form */
    struct jr_library *library; /* NULL but for that form */
};

/* Whether the entrypoint is a Python function, whose arguments are JSON. */
static inline bool jr_entrypoint_is_function(const struct jr_entrypoint *entry)
{
    return entry->python != NULL && entry->python->what == JR_PYTHON_FUNCTION;
}

/* One entry of `env`. A NULL value unsets the variable; `required` means that
 * the value must stand in the environment of jobrun itself. */
struct jr_env_entry {
    char *name;
    char *value;
    bool required;
};

/* One entry of `per_rank`: what the ranks of a set get besides. */
struct jr_rank_entry {
    char *ranks; /* rank set */
    char **args; /* per-rank templates; of a function, JSON as in argv */
    uint32_t args_count;
    struct jr_kwarg *kwargs; /* over those of all ranks */
    uint32_t kwargs_count;
    struct jr_env_entry *env;
    uint32_t env_count;
};

/* One rule of `redirects` or `tee`: which local ranks (a rank set in its
 * canonical text, see jr_set_parse), which streams. */
struct jr_stream_rule {
    char *ranks;
    enum jr_streams streams;
};

/* How ranks' lines look on the console. */
struct jr_console {
    char *prefix;        /* per-rank template */
    char *ranks;         /* rank set: whose lines are shown */
    bool timestamps;     /* wall time before the prefix */
    bool collapse;       /* the same line from several ranks is shown once */
    uint64_t partial_ms; /* after which an unfinished line is shown */
    char *show, *hide;   /* PCRE2 of the lines that are, or are not, shown;
                            NULL: all are */
};

/* Limits in milliseconds; 0 means none. */
struct jr_timeouts {
    uint64_t start_ms; /* until the last rank is executing */
    uint64_t run_ms;
    uint64_t silence_ms;          /* without a byte of any rank */
    uint64_t after_first_exit_ms; /* of the ranks that run on */
    uint64_t progress_ms;         /* without a step beyond the furthest */
    uint64_t first_step_ms;       /* until there is one */
    uint64_t exit_ms;             /* of a rank that has returned */
    uint64_t stop_grace_ms;
};

/* How the job tells how far it is; beside it, what ranks append to their
 * progress files always counts. */
struct jr_progress_source {
    enum jr_progress_from from;
    char *pattern;  /* PCRE2 with a group `step`; NULL: no stream is read */
    char *ranks;    /* rank set: whose steps count; NULL: rank 0's */
    uint32_t of;    /* the last step; 0: unknown */
    uint32_t stall; /* attempts in a row without a further step, after which
                       there is no other; 0: any number */
};

/* When ranks are told that the end is near; see run/policies/deadline.c. */
struct jr_deadline {
    uint64_t before_ms; /* the known end; 0: there is no deadline */
    char *signal;       /* without SIG */
};

/* Why a job is to be continued: it is not over, and has not failed. */
#define JR_REQUEUE_CAUSES(X)                                                   \
    X(DEADLINE, "deadline", "the ranks stopped for the deadline")              \
    X(PREEMPTED, "preempted", "the scheduler needs the job's nodes")           \
    X(LOST_NODE, "lost_node", "a node was lost")

#define JR_REQUEUE_CAUSE_ENUM(name, word, help) JR_REQUEUE_##name,
enum jr_requeue_cause {
    JR_REQUEUE_NONE,
    JR_REQUEUE_CAUSES(JR_REQUEUE_CAUSE_ENUM) JR_REQUEUE_END
};

/* When a job is continued: in the queue of its scheduler, or in place. */
struct jr_requeue {
    char **on; /* words of the causes; none: all of them */
    uint32_t on_count;
    uint32_t max; /* 0: it is not */
};

/* How evidence of a hang is gathered before the stop. */
struct jr_on_hang {
    char *signal;     /* without SIG; NULL: ABRT where Python handles it */
    uint64_t wait_ms; /* for all of it together */
    char **command;   /* run for each rank; %{pid} is its process */
    uint32_t command_count;
};

/* One entry of `signals`: the name is without SIG, as USR1 or RTMIN+1. */
struct jr_signal_rule {
    char *name;
    enum jr_on_signal use;
};

/* Resource limits of the ranks, each a number, a size or `unlimited`; NULL: as
 * they are. */
struct jr_limits {
    char *nofile, *core, *memlock, *stack, *as, *nproc;
};

/* When the whole job starts again. */
struct jr_restart {
    uint32_t max;        /* restarts, within the window */
    uint64_t backoff_ms; /* before the first; twice as long before each next */
    uint64_t window_ms;  /* 0: the whole run */
    char **on; /* causes, as base/restart_trigger.h reads them; none: any */
    uint32_t on_count;
    char **never; /* wins over `on` */
    uint32_t never_count;
};

/* What one field of a result must be. NULL bounds are none. */
struct jr_result_field {
    char *name;
    enum jr_json_type type;
    char *min; /* numbers as they are written, which a double may not hold */
    char *max;
    char **enums; /* allowed values, as their JSON text */
    uint32_t enums_count;
    char *pattern;
    bool required;
};

/* The contract that each rank's result has to satisfy. */
struct jr_results {
    bool stated;    /* the spec has a `results` section */
    char *required; /* rank set: who must deliver */
    enum jr_result_from from;
    char *file;    /* per-rank template; NULL: $JOBRUN_RESULT_FILE */
    char *limit;   /* of a result's size, as "256MiB" */
    char *pattern; /* PCRE2; named groups are fields */
    struct jr_result_field *fields;
    uint32_t fields_count;
    char **equal;
    uint32_t equal_count;
    char **distinct;
    uint32_t distinct_count;
    char **artifacts; /* per-rank path templates */
    uint32_t artifacts_count;
};

/* What the pods of a job are made of; NULL: not stated. */
struct jr_kubernetes {
    char *image, *name_space, *service_account, *priority_class;
    char *pull_secret, *secret, *claim, *mount;
    char *shm, *cpu, *memory; /* quantities of Kubernetes */
    char *device_resource;
};

struct jr_mpi {
    enum jr_mpi_dialect dialect;
    char *launcher;
};

/* What comes back whole from hosts that do not see the run folder. */
#define JR_COLLECTS(X)                                                         \
    X(RESULTS, "results", "the files of results")                              \
    X(LOGS, "logs", "whole logs, however large")

/* How hosts are reached by ssh. */
struct jr_ssh {
    char **options; /* words for ssh, before the host's name */
    uint32_t options_count;
    char *program;  /* jobrun's path there; NULL: that of this one, else what
                       PATH finds */
    bool copy;      /* put it there where it is missing, or another version */
    char **collect; /* words of JR_COLLECTS; none: RESULTS */
    uint32_t collect_count;
    char **env; /* globs of variables that ranks there get from here */
    uint32_t env_count;
};

/* Each engine's own options. Those of sbatch are long ones without dashes; a
 * value of "false" takes one away that jobrun would give. */
struct jr_engine {
    struct jr_env_entry *slurm;
    uint32_t slurm_count;
    struct jr_kubernetes kubernetes;
    struct jr_mpi mpi;
    struct jr_ssh *ssh; /* the ranks are started on `hosts`; NULL: they are
                           not */
};

/* What the ranks execute, and what a copy of it has as links to the original:
 * absolute paths, "all" that git ignores, or "none". */
struct jr_code_choice {
    enum jr_code_mode mode;
    char **link;
    uint32_t link_count;
};

/* What the run does with a spec's wishes; plain values, defaults filled. */
struct jr_policy {
    enum jr_on_failure on_failure;
    enum jr_stop_target stop_target;
    bool exit_barrier; /* ranks that returned stay until all have */
    enum jr_exit_status exit_status;
    enum jr_fork_threads fork_threads;
    enum jr_log_mode log_mode;
    char *log_limit; /* see jr_num_size; NULL: none */
    enum jr_isolation isolation;
    enum jr_mpi_protocol mpi;
    struct jr_timeouts timeouts;
    struct jr_limits limits;
    struct jr_on_hang on_hang;
    struct jr_signal_rule *signals;
    uint32_t signals_count;
    struct jr_restart restart;
    char **on_end; /* a command to run once the record is complete */
    uint32_t on_end_count;
    struct jr_console console;
    struct jr_results results;
    struct jr_progress_source progress;
    struct jr_code_choice code;
    struct jr_deadline deadline;
    struct jr_requeue requeue;
    struct jr_engine engine;
};

#endif
