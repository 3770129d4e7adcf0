/*
 * The vocabulary that every stage shares: enums, each one X-macro of value, spelling and help. What
 * one part of a spec alone is about stands with that part.
 */
#ifndef JOBRUN_TYPES_H
#define JOBRUN_TYPES_H

/* More ranks than this, or nodes, are taken for a mistake. */
#define JR_RANKS_MAX (1u << 20)

/* A mesh axis, fastest first: ranks are laid out [data][pipeline][model]. */
#define JR_AXES(X)                                                                                 \
    X(MODEL, "model", "tensor parallelism: the fastest axis")                                      \
    X(PIPELINE, "pipeline", "pipeline stages")                                                     \
    X(DATA, "data", "data parallelism: the slowest axis")

/* The kind of accelerator that the ranks drive. */
#define JR_DEVICES(X)                                                                              \
    X(CPU, "cpu", "no accelerator")                                                                \
    X(CUDA, "cuda", "NVIDIA")                                                                      \
    X(ROCM, "rocm", "AMD")                                                                         \
    X(XPU, "xpu", "Intel; Kunlun under the paddle profile")                                        \
    X(HPU, "hpu", "Intel Gaudi")                                                                   \
    X(NPU, "npu", "Huawei Ascend")                                                                 \
    X(MLU, "mlu", "Cambricon")                                                                     \
    X(CUSTOM, "custom", "custom:NAME, a device type of your own")

/* What there is to know of each kind of device: the vendor, the variable that narrows which ones a
 * process sees, and the usual backend. NULL: none. */
#define JR_CUDA_VISIBLE "CUDA_VISIBLE_DEVICES"
#define JR_DEVICE_TRAITS(X)                                                                        \
    X(CPU, NULL, NULL, "gloo")                                                                     \
    X(CUDA, "NVIDIA", JR_CUDA_VISIBLE, "nccl")                                                     \
    X(ROCM, "AMD", "ROCR_VISIBLE_DEVICES", "rccl")                                                 \
    X(XPU, "Intel", "ZE_AFFINITY_MASK", "xccl")                                                    \
    X(HPU, "Gaudi", "HABANA_VISIBLE_DEVICES", "hccl")                                              \
    X(NPU, "Ascend", "ASCEND_RT_VISIBLE_DEVICES", "hccl")                                          \
    X(MLU, "Cambricon", "MLU_VISIBLE_DEVICES", "cncl")                                             \
    X(CUSTOM, NULL, NULL, NULL)

/* A communication backend; what each can drive is in contract.h. */
#define JR_BACKENDS(X)                                                                             \
    X(NCCL, "nccl", "NVIDIA GPUs")                                                                 \
    X(GLOO, "gloo", "CPUs")                                                                        \
    X(MPI, "mpi", "whatever the MPI library drives")                                               \
    X(UCC, "ucc", "CPUs, NVIDIA and AMD GPUs")                                                     \
    X(RCCL, "rccl", "AMD GPUs")                                                                    \
    X(BKCL, "bkcl", "Kunlun XPUs")                                                                 \
    X(XCCL, "xccl", "Intel XPUs; Paddle's for custom:NAME")                                        \
    X(HCCL, "hccl", "Ascend NPUs and Gaudi HPUs")                                                  \
    X(CNCL, "cncl", "Cambricon MLUs")                                                              \
    X(CUSTOM, "custom", "custom:NAME, a backend of your own")

/* How a rank comes to life. */
#define JR_START_METHODS(X)                                                                        \
    X(SPAWN, "spawn", "a fresh process image for every rank")                                      \
    X(FORK, "fork", "forks of a helper that imported the entry module")                            \
    X(FORKSERVER, "forkserver", "forks of a helper that imported `preload`")

/* Which devices a rank sees. */
#define JR_VISIBILITIES(X)                                                                         \
    X(ALL, "all", "every rank sees all and picks by LOCAL_RANK")                                   \
    X(ONE, "one", "each rank sees its own device only")                                            \
    X(INHERIT, "inherit", "the environment's variables are not changed")

/* What the CPUs of a rank are. */
#define JR_BINDS(X)                                                                                \
    X(NONE, "none", "all that jobrun may use")                                                     \
    X(CORE, "core", "physical cores of its own, side by side")                                     \
    X(NUMA, "numa", "a NUMA node, shared by the ranks on it")                                      \
    X(DEVICE, "device", "its share of the NUMA node of its device")

/* Which output streams of a rank are meant; values are a bit set. */
#define JR_STREAMS(X)                                                                              \
    X(NONE, "none", "neither stream")                                                              \
    X(OUT, "out", "standard output")                                                               \
    X(ERR, "err", "standard error")                                                                \
    X(ALL, "all", "both streams")

/* What the first failure does to the other ranks. */
#define JR_ON_FAILURES(X)                                                                          \
    X(STOP, "stop",                                                                                \
      "the other ranks are stopped, once it is known that the failure is not "                     \
      "that of a lost peer, or half a second later")                                               \
    X(CONTINUE, "continue", "the other ranks continue; the job still fails")

/* Who gets the stop signal. */
#define JR_STOP_TARGETS(X)                                                                         \
    X(LEADER, "leader", "the rank's own process")                                                  \
    X(GROUP, "group", "the rank's whole process group")

/* What exit code 1 becomes. */
#define JR_EXIT_STATUSES(X)                                                                        \
    X(CLASS, "class", "the table of exit codes")                                                   \
    X(RANK, "rank", "the root-cause rank's own code, 128+N for a signal")

/* What is done where the helper of fork and forkserver has threads. */
#define JR_FORK_THREADS(X)                                                                         \
    X(WARN, "warn", "jobrun warns once, and forks the ranks")                                      \
    X(REFUSE, "refuse", "no rank is started")

/* What the processes of a run share with the rest of the machine. */
#define JR_ISOLATIONS(X)                                                                           \
    X(NONE, "none", "they run like any other process")                                             \
    X(PID, "pid", "they run in their own PID namespace, and end with it")

/* How the ranks of an MPI program find each other. */
#define JR_MPI_PROTOCOLS(X)                                                                        \
    X(AUTO, "auto", "by the MPI library that the program needs, if any")                           \
    X(NONE, "none", "jobrun offers nothing: other launchers do, or no one")                        \
    X(PMI1, "pmi1", "PMI-1: MPICH, MVAPICH, Intel MPI")                                            \
    X(PMIX, "pmix", "PMIx: Open MPI 4 and 5")

/* What jobrun does with a signal that it gets. */
#define JR_ON_SIGNALS(X)                                                                           \
    X(FORWARD, "forward", "every rank gets it")                                                    \
    X(STOP, "stop", "the run is stopped")                                                          \
    X(IGNORE, "ignore", "nothing")

/* Permissions of what a run writes. */
#define JR_LOG_MODES(X)                                                                            \
    X(PRIVATE, "private", "folders 0700, files 0600")                                              \
    X(GROUP, "group", "folders 0750, files 0640")                                                  \
    X(UMASK, "umask", "0777 and 0666 less the umask")

/* What the ranks of a run execute. */
#define JR_CODE_MODES(X)                                                                           \
    X(RECORD, "record", "the work tree itself; its state is recorded")                             \
    X(FREEZE, "freeze", "a copy of the work tree that is the run's own")

/* Where a rank tells its steps. */
#define JR_PROGRESS_FROMS(X)                                                                       \
    X(STDOUT, "stdout", "lines of standard output that match `pattern`")                           \
    X(STDERR, "stderr", "lines of standard error that match `pattern`")                            \
    X(FILE, "file",                                                                                \
      "JSON lines that the rank appends to "                                                       \
      "$JOBRUN_PROGRESS_FILE")

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
#define JR_ENUM_CODE_MODE(name, word, help)    JR_CODE_MODE_##name,
#define JR_ENUM_PROGRESS(name, word, help)     JR_PROGRESS_##name,

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
enum jr_code_mode { JR_CODE_MODES(JR_ENUM_CODE_MODE) };
enum jr_progress_from { JR_PROGRESS_FROMS(JR_ENUM_PROGRESS) };

#endif
