/*
 * What jobrun hands a job to, or reaches hosts by: Slurm, Kubernetes, launchers of MPI and ssh,
 * each with options of its own.
 *
 * All strings are UTF-8, NUL-terminated and borrowed: they belong to the stage that made them,
 * which must outlive the reader.
 */
#ifndef JOBRUN_ENGINE_H
#define JOBRUN_ENGINE_H

#include <jobrun/entrypoint.h>

/* Whose options an MPI launcher takes. */
#define JR_MPI_DIALECTS(X)                                                                         \
    X(OPENMPI, "openmpi", "Open MPI, PRRTE")                                                       \
    X(HYDRA, "hydra", "MPICH, Intel MPI, MVAPICH")

#define JR_ENUM_DIALECT(name, word, help) JR_MPI_##name,
enum jr_mpi_dialect { JR_MPI_DIALECTS(JR_ENUM_DIALECT) };

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
#define JR_COLLECTS(X)                                                                             \
    X(RESULTS, "results", "the files of results")                                                  \
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

/* Each engine's own options. Those of sbatch are long ones without dashes; a value of "false" takes
 * one away that jobrun would give. */
struct jr_engine {
    struct jr_env_entry *slurm;
    uint32_t slurm_count;
    struct jr_kubernetes kubernetes;
    struct jr_mpi mpi;
    struct jr_ssh *ssh; /* the ranks are started on `hosts`; NULL: they are
                           not */
};

#endif
