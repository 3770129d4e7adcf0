/*
 * What more than one stage has to know of the world outside.
 *
 * The variables that jobrun itself gives to every rank: name, template, and the spec field that
 * decides the value ("" where none does). The spec refuses them in `env`; the plan expands them.
 * The names that a template may use are JR_TEMPLATE_NAMES and JR_TEMPLATE_INTERNALS in template.h.
 */
#ifndef JOBRUN_CONTRACT_H
#define JOBRUN_CONTRACT_H

#include <stdbool.h>
#include <string.h>

/* A kind of device as a bit of a set of them. */
#define JR_KIND(name) (1u << JR_DEVICE_##name)

/* Whether a profile of machines is the shorthand, as 2x8:H100, and not the path of a facts file: it
 * begins with a digit and has neither dot nor slash. */
static inline bool jr_profile_is_shorthand(const char *profile)
{
    return *profile >= '0' && *profile <= '9' && strpbrk(profile, "/.") == NULL;
}

/* One axis of the mesh: its name in upper and in lower case. */
#define JR_CONTRACT_AXIS(X, A, a)                                                                  \
    X(A "_PARALLEL_SIZE", "%{" a "_size}", "parallelism." a)                                       \
    X(A "_PARALLEL_RANK", "%{" a "_rank}", "parallelism." a)                                       \
    X(A "_PARALLEL_GROUP", "%{" a "_group}", "parallelism." a)                                     \
    X(A "_PARALLEL_MEMBERS", "%{" a "_members}", "parallelism." a)                                 \
    X(A "_PARALLEL_BACKEND", "%{" a "_backend}", "backends." a)

/* Always there. */
#define JR_CONTRACT_VARIABLES(X)                                                                   \
    X("RANK", "%{rank}", "")                                                                       \
    X("LOCAL_RANK", "%{local_rank}", "")                                                           \
    X("WORLD_SIZE", "%{world_size}", "world_size")                                                 \
    X("LOCAL_WORLD_SIZE", "%{local_world_size}", "local_world_size")                               \
    X("GROUP_RANK", "%{node_rank}", "node_rank")                                                   \
    X("GROUP_WORLD_SIZE", "%{nodes}", "nodes")                                                     \
    X("NODE_RANK", "%{node_rank}", "node_rank")                                                    \
    X("MASTER_ADDR", "%{master_addr}", "master_addr")                                              \
    X("MASTER_PORT", "%{master_port}", "master_port")                                              \
    X("INIT_METHOD", "%{init_method}", "init_method")                                              \
    X("JOBRUN_RUN_ID", "%{run_id}", "")                                                            \
    X("JOBRUN_RUN_DIR", "%{run_dir}", "log_dir")                                                   \
    X("JOBRUN_RANK_DIR", "%{rank_dir}", "log_dir")                                                 \
    X("JOBRUN_RESULT_FILE", "%{result_file}", "results.file")                                      \
    X("JOBRUN_ERROR_FILE", "%{error_file}", "")                                                    \
    X("JOBRUN_PROGRESS_FILE", "%{progress_file}", "")                                              \
    X("JOBRUN_ATTEMPT", "%{attempt}", "")                                                          \
    JR_CONTRACT_AXIS(X, "MODEL", "model")                                                          \
    JR_CONTRACT_AXIS(X, "PIPELINE", "pipeline")                                                    \
    JR_CONTRACT_AXIS(X, "DATA", "data")

/* What the scheduler or launcher around jobrun said of its own tasks: the name, what it is for a
 * rank (NULL: nothing, it is dropped), and another name that asks for it as well (NULL: none),
 * since a program that finds a size looks for a rank. It is corrected where it was there, and never
 * added otherwise. What describes the allocation (its job, its nodes, its CPUs) is not here, nor
 * are the handles by which a task is known to its scheduler's daemon. */
#define JR_CONTRACT_TASKS(X)                                                                       \
    X("SLURM_PROCID", "%{rank}", "SLURM_NTASKS")                                                   \
    X("SLURM_LOCALID", "%{local_rank}", "SLURM_NTASKS")                                            \
    X("SLURM_NODEID", "%{node_rank}", "SLURM_NTASKS")                                              \
    X("SLURM_NTASKS", "%{world_size}", NULL)                                                       \
    X("SLURM_NPROCS", "%{world_size}", NULL)                                                       \
    X("SLURM_NTASKS_PER_NODE", "%{local_world_size}", "SLURM_NTASKS")                              \
    X("SLURM_TASKS_PER_NODE", "%{tasks_per_node}", NULL)                                           \
    X("SLURM_NNODES", "%{nodes}", "SLURM_NTASKS")                                                  \
    X("SLURM_STEP_NUM_TASKS", "%{world_size}", NULL)                                               \
    X("SLURM_STEP_NUM_NODES", "%{nodes}", NULL)                                                    \
    X("SLURM_STEP_NODELIST", "%{hosts}", NULL)                                                     \
    X("SLURM_STEP_TASKS_PER_NODE", "%{tasks_per_node}", NULL)                                      \
    X("SLURM_LAUNCH_NODE_IPADDR", "%{master_addr}", NULL)                                          \
    X("SLURM_GTIDS", NULL, NULL)                                                                   \
    X("SLURM_TASK_PID", NULL, NULL)                                                                \
    X("SLURM_NTASKS_PER_CORE", NULL, NULL)                                                         \
    X("SLURM_NTASKS_PER_SOCKET", NULL, NULL)                                                       \
    X("SLURM_NTASKS_PER_GPU", NULL, NULL)                                                          \
    X("FLUX_TASK_RANK", "%{rank}", NULL)                                                           \
    X("FLUX_TASK_LOCAL_ID", "%{local_rank}", NULL)                                                 \
    X("FLUX_JOB_SIZE", "%{world_size}", NULL)                                                      \
    X("FLUX_JOB_NNODES", "%{nodes}", NULL)                                                         \
    X("JSM_NAMESPACE_RANK", "%{rank}", NULL)                                                       \
    X("JSM_NAMESPACE_SIZE", "%{world_size}", NULL)                                                 \
    X("JSM_NAMESPACE_LOCAL_RANK", "%{local_rank}", NULL)                                           \
    X("JSM_NAMESPACE_LOCAL_SIZE", "%{local_world_size}", NULL)                                     \
    X("LSF_PM_TASKID", NULL, NULL)                                                                 \
    X("PE_TASK_ID", NULL, NULL)                                                                    \
    X("PBS_VNODENUM", "%{rank}", NULL)                                                             \
    X("ALPS_APP_PE", "%{rank}", NULL)                                                              \
    X("PALS_RANKID", "%{rank}", NULL)                                                              \
    X("PALS_LOCAL_RANKID", "%{local_rank}", NULL)                                                  \
    X("PALS_LOCAL_SIZE", "%{local_world_size}", NULL)                                              \
    X("PALS_NODEID", "%{node_rank}", NULL)                                                         \
    X("MPI_LOCALRANKID", "%{local_rank}", NULL)                                                    \
    X("MPI_LOCALNRANKS", "%{local_world_size}", NULL)                                              \
    X("MV2_COMM_WORLD_RANK", "%{rank}", NULL)                                                      \
    X("MV2_COMM_WORLD_SIZE", "%{world_size}", NULL)                                                \
    X("MV2_COMM_WORLD_LOCAL_RANK", "%{local_rank}", NULL)                                          \
    X("MV2_COMM_WORLD_LOCAL_SIZE", "%{local_world_size}", NULL)                                    \
    X("HOROVOD_RANK", "%{rank}", NULL)                                                             \
    X("HOROVOD_SIZE", "%{world_size}", NULL)                                                       \
    X("HOROVOD_LOCAL_RANK", "%{local_rank}", NULL)                                                 \
    X("HOROVOD_LOCAL_SIZE", "%{local_world_size}", NULL)                                           \
    X("HOROVOD_CROSS_RANK", "%{node_rank}", NULL)                                                  \
    X("HOROVOD_CROSS_SIZE", "%{nodes}", NULL)                                                      \
    X("ROLE_RANK", "%{rank}", NULL)                                                                \
    X("ROLE_WORLD_SIZE", "%{world_size}", NULL)

/* What the values that shell text refers to are called: ${vars.lr} there is ${JOBRUN_VAR_lr}. */
#define JR_SHELL_VARIABLE "JOBRUN_VAR_"

/* Added in the cells of a sweep. */
#define JR_CONTRACT_CELL(X)                                                                        \
    X("JOBRUN_CELL", "%{cell}", "")                                                                \
    X("JOBRUN_SWEEP_ID", "%{sweep_id}", "")

/* Added by `env_profiles: [torch]`. */
#define JR_CONTRACT_TORCH(X)                                                                       \
    X("ROLE_RANK", "%{rank}", "")                                                                  \
    X("ROLE_WORLD_SIZE", "%{world_size}", "world_size")                                            \
    X("ROLE_NAME", "default", "")                                                                  \
    X("TORCHELASTIC_RUN_ID", "%{run_id}", "")                                                      \
    X("TORCHELASTIC_RESTART_COUNT", "%{attempt}", "")                                              \
    X("TORCHELASTIC_MAX_RESTARTS", "%{max_restarts}", "restart.max")                               \
    X("TORCHELASTIC_ERROR_FILE", "%{error_file}", "")                                              \
    X("TORCH_DISTRIBUTED_BACKEND", "%{framework_backend}", "backends")

/* Added by `env_profiles: [paddle]`, as paddle.distributed.launch does. */
#define JR_CONTRACT_PADDLE(X)                                                                      \
    X("PADDLE_TRAINER_ID", "%{rank}", "")                                                          \
    X("PADDLE_TRAINERS_NUM", "%{world_size}", "world_size")                                        \
    X("PADDLE_TRAINER_ENDPOINTS", "%{endpoints}", "hosts")                                         \
    X("PADDLE_CURRENT_ENDPOINT", "%{endpoint}", "hosts")                                           \
    X("PADDLE_MASTER", "%{master_addr}:%{master_port}", "master_addr")                             \
    X("PADDLE_GLOBAL_RANK", "%{rank}", "")                                                         \
    X("PADDLE_GLOBAL_SIZE", "%{world_size}", "world_size")                                         \
    X("PADDLE_LOCAL_RANK", "%{local_rank}", "")                                                    \
    X("PADDLE_LOCAL_SIZE", "%{local_world_size}", "local_world_size")                              \
    X("PADDLE_NNODES", "%{nodes}", "nodes")                                                        \
    X("PADDLE_RANK_IN_NODE", "%{local_rank}", "")                                                  \
    X("PADDLE_DISTRI_BACKEND", "%{framework_backend}", "backends")

/* Taken away by it: proxies broke the exchange of ids. */
#define JR_CONTRACT_PADDLE_REMOVES(X)                                                              \
    X("http_proxy", NULL, "")                                                                      \
    X("https_proxy", NULL, "")

/* And on these kinds of device: the index of the rank's among those it sees. */
#define JR_CONTRACT_PADDLE_DEVICES(X)                                                              \
    X("FLAGS_selected_gpus", "%{device_index}", JR_KIND(CUDA) | JR_KIND(ROCM))                     \
    X("FLAGS_selected_xpus", "%{device_index}", JR_KIND(XPU))                                      \
    X("FLAGS_selected_npus", "%{device_index}", JR_KIND(NPU))                                      \
    X("FLAGS_selected_mlus", "%{device_index}", JR_KIND(MLU))

/* Added by `env_profiles: [megengine]`. */
#define JR_CONTRACT_MEGENGINE(X) X("NCCL_LAUNCH_MODE", "PARALLEL", "")

/* Added by `env_profiles: [mpi]`: what programs read before MPI_Init, in the words of Open MPI and
 * of MPICH. */
#define JR_CONTRACT_MPI(X)                                                                         \
    X("OMPI_COMM_WORLD_RANK", "%{rank}", "")                                                       \
    X("OMPI_COMM_WORLD_SIZE", "%{world_size}", "world_size")                                       \
    X("OMPI_COMM_WORLD_LOCAL_RANK", "%{local_rank}", "")                                           \
    X("OMPI_COMM_WORLD_LOCAL_SIZE", "%{local_world_size}", "local_world_size")                     \
    X("OMPI_COMM_WORLD_NODE_RANK", "%{local_rank}", "")                                            \
    X("PMI_RANK", "%{rank}", "")                                                                   \
    X("PMI_SIZE", "%{world_size}", "world_size")                                                   \
    X("MPI_LOCALRANKID", "%{local_rank}", "")                                                      \
    X("MPI_LOCALNRANKS", "%{local_world_size}", "local_world_size")

/* The descriptor at which a rank finds its process manager. */
#define JR_PMI_FD 4

/* Added where jobrun serves PMI-1, in the words of MPICH's hydra. */
#define JR_CONTRACT_PMI1(X)                                                                        \
    X("PMI_FD", "4", "mpi")                                                                        \
    X("PMI_RANK", "%{rank}", "mpi")                                                                \
    X("PMI_SIZE", "%{world_size}", "mpi")                                                          \
    X("MPI_LOCALRANKID", "%{local_rank}", "mpi")                                                   \
    X("MPI_LOCALNRANKS", "%{local_world_size}", "mpi")

/* Added where jobrun serves PMIx, beside what its library says. Open MPI 4 would take each rank for
 * a singleton, and look for its own daemon, but for the first two. */
#define JR_CONTRACT_PMIX(X)                                                                        \
    X("OMPI_MCA_schizo", "^orte", "mpi")                                                           \
    X("OMPI_MCA_ess", "pmi", "mpi")                                                                \
    X("PMIX_RANK", "%{rank}", "mpi")                                                               \
    X("OMPI_COMM_WORLD_RANK", "%{rank}", "mpi")                                                    \
    X("OMPI_COMM_WORLD_SIZE", "%{world_size}", "mpi")                                              \
    X("OMPI_COMM_WORLD_LOCAL_RANK", "%{local_rank}", "mpi")                                        \
    X("OMPI_COMM_WORLD_LOCAL_SIZE", "%{local_world_size}", "mpi")                                  \
    X("OMPI_COMM_WORLD_NODE_RANK", "%{local_rank}", "mpi")

/* What torch and PaddlePaddle call a backend where that is not its own name:
 * RCCL has NCCL's interface, and its name. Of custom:NAME they know the NAME.
 */
#define JR_BACKEND_CALLED(X) X("rccl", "nccl")

/* The kinds of device that a backend drives; gloo moves device memory through the host on AMD's and
 * on NVIDIA's. A device of the user's own may have any backend. */
#define JR_BACKEND_DRIVES(X)                                                                       \
    X(NCCL, JR_KIND(CUDA) | JR_KIND(ROCM))                                                         \
    X(GLOO, JR_KIND(CPU) | JR_KIND(CUDA) | JR_KIND(ROCM))                                          \
    X(MPI, ~0u)                                                                                    \
    X(UCC, JR_KIND(CPU) | JR_KIND(CUDA) | JR_KIND(ROCM))                                           \
    X(RCCL, JR_KIND(ROCM))                                                                         \
    X(BKCL, JR_KIND(XPU))                                                                          \
    X(XCCL, JR_KIND(XPU))                                                                          \
    X(HCCL, JR_KIND(NPU) | JR_KIND(HPU))                                                           \
    X(CNCL, JR_KIND(MLU))                                                                          \
    X(CUSTOM, ~0u)

#endif
