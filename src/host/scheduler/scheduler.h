/*
 * Schedulers and launchers: one row per system, one row per variable. What is read from them is
 * jr_host_scheduler; `doctor` prints the rows that are set.
 *
 * An ALLOCATION says which nodes a job has. A LAUNCHER has started this very
 * process, one of several, and is believed about which. SELF systems do both:
 * they start the command on every node. Of each kind the first one in the table
 * that is there counts: what starts processes inside of something else comes
 * before it.
 *
 * hostlist.h reads lists of hosts as Slurm writes them.
 */
#ifndef JR_SCHEDULER_H
#define JR_SCHEDULER_H

#include "host/internal.h"

/* Identifier, name, kind, and up to three variables that are set together only there (NULL: the
 * ones before are enough). Of a LAUNCHER one of them says which process this is: a size without a
 * rank is what a shell has kept. Markers are never RANK or WORLD_SIZE: they are left behind in
 * shells, and count pods here and processes there. */
#define JR_SYSTEMS(X)                                                                              \
    X(TORCHRUN, "torchrun", LAUNCHER, "TORCHELASTIC_RUN_ID", "GROUP_WORLD_SIZE", "GROUP_RANK")     \
    X(OPENMPI, "Open MPI", LAUNCHER, "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", NULL)         \
    X(HYDRA, "MPICH", LAUNCHER, "MPI_LOCALNRANKS", "PMI_SIZE", "PMI_RANK")                         \
    X(PALS, "PALS", LAUNCHER, "PALS_RANKID", "PMI_SIZE", NULL)                                     \
    X(JSM, "jsrun", LAUNCHER, "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", NULL)                    \
    X(FLUX, "Flux", LAUNCHER, "FLUX_JOB_ID", "FLUX_TASK_RANK", NULL)                               \
    X(SLURM_STEP, "srun", LAUNCHER, "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_NODEID")               \
    X(PBS_TASK, "pbsdsh", LAUNCHER, "PBS_JOBID", "PBS_TASKNUM", NULL)                              \
    X(LSF_TASK, "blaunch", LAUNCHER, "LSB_JOBID", "LSF_PM_TASKID", NULL)                           \
    X(SGE_TASK, "qrsh", LAUNCHER, "JOB_ID", "PE_TASK_ID", NULL)                                    \
    X(KUBEFLOW, "Kubeflow", SELF, "PET_NNODES", "PET_NODE_RANK", NULL)                             \
    X(VOLCANO, "Volcano", SELF, "VC_TASK_INDEX", NULL, NULL)                                       \
    X(AWS_BATCH, "AWS Batch", SELF, "AWS_BATCH_JOB_NUM_NODES", "AWS_BATCH_JOB_NODE_INDEX", NULL)   \
    X(SAGEMAKER, "SageMaker", SELF, "SM_CURRENT_HOST", "SM_HOSTS", NULL)                           \
    X(KUBERNETES, "Kubernetes", SELF, "JOB_COMPLETION_INDEX", NULL, NULL)                          \
    X(SLURM, "Slurm", ALLOCATION, "SLURM_JOB_ID", NULL, NULL)                                      \
    X(PBS, "PBS", ALLOCATION, "PBS_JOBID", NULL, NULL)                                             \
    X(LSF, "LSF", ALLOCATION, "LSB_JOBID", NULL, NULL)                                             \
    X(SGE, "Grid Engine", ALLOCATION, "JOB_ID", "SGE_TASK_ID", NULL)

enum jr_system_kind { JR_SYSTEM_LAUNCHER, JR_SYSTEM_SELF, JR_SYSTEM_ALLOCATION };

#define JR_SYSTEM_ENUM(id, name, kind, first, second, third) JR_SYSTEM_##id,
enum jr_system { JR_SYSTEMS(JR_SYSTEM_ENUM) JR_SYSTEM_COUNT };

/* What is done with a variable, and what that fills, as facts files call it. Where two rows of a
 * system fill the same member, the first one that is set does. */
#define JR_USES(X)                                                                                 \
    X(NOTHING, NULL)         /* told by doctor, and not read */                                    \
    X(JOB, "job")            /* text */                                                            \
    X(NODES, "nodes")        /* number */                                                          \
    X(INDEX, "node_rank")    /* number */                                                          \
    X(RANK, "node_rank")     /* number, where each node has one task */                            \
    X(SIZE, "nodes")         /* number, where each node has one task */                            \
    X(HERE, "tasks_here")    /* number: tasks on this node */                                      \
    X(STARTED, "tasks_here") /* 2(x3),1: tasks on every node; this one's are HERE */               \
    X(TASKS, "tasks")        /* the same, of what the user asked for */                            \
    X(EACH, "tasks")         /* number: the same for all nodes */                                  \
    X(ADDR, "master_addr")   /* text */                                                            \
    X(PORT, "master_port")   /* number */                                                          \
    X(RESTARTS, NULL)        /* number */                                                          \
    X(END, "end")            /* seconds since 1970 */                                              \
    X(LIST, "hosts")         /* n[1-2] */                                                          \
    X(WORDS, "hosts")        /* h1 h1 h2, once per slot */                                         \
    X(PAIRS, "hosts")        /* h1 4 h2 4, with slots */                                           \
    X(LINES, "hosts")        /* the path of a file with a host per slot */                         \
    X(TABLE, "hosts")        /* the path of a file of HOST SLOTS ... lines */                      \
    X(JSON, "hosts")         /* ["h1", "h2"] */

#define JR_USE_ENUM(use, fact) JR_USE_##use,
enum jr_use { JR_USES(JR_USE_ENUM) JR_USE_COUNT };

/* A row of the table of variables. */
struct jr_variable {
    enum jr_system system;
    const char *name;
    enum jr_use use;
    const char *meaning; /* for people */
    const char *trap;    /* what it does not mean; NULL: no trap */
};

/* Use a row's value: fill the member of hw->scheduler that it is for, if that is blank. False when
 * the value cannot be read. */
bool jr_variable_use(struct jr_host_reader *probe, const struct jr_variable *row,
                     const char *value);

#endif
