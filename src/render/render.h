/*
 * What starts jobrun, or the ranks themselves, on machines that are not this one. An engine is a
 * row of JR_ENGINES and a file of the same name (slurm.c, kubernetes.c, mpi.c):
 *
 *   slurm       a batch script for sbatch, which runs jobrun
 *   kubernetes  objects for `kubectl apply`: an Indexed Job, whose pods run
 *               jobrun; its service; a config map with the spec
 *   mpi         a shell script with one command line of mpiexec, which starts
 *               the ranks without jobrun
 *
 * Texts are made, and nothing is started.
 */
#ifndef JR_RENDER_H
#define JR_RENDER_H

#include <jobrun/plan.h>

#include "base/buf.h"
#include "doc/doc.h"

/* The engines: name, word, what each is handed. */
#define JR_ENGINES(X)                                                                              \
    X(SLURM, "slurm", "a batch script for sbatch")                                                 \
    X(KUBERNETES, "kubernetes", "an Indexed Job with its service and spec")                        \
    X(MPI, "mpi", "a command line of mpiexec")

#define JR_ENGINE_ENUM(name, word, help) JR_ENGINE_##name,
enum jr_engine_kind { JR_ENGINES(JR_ENGINE_ENUM) JR_ENGINE_COUNT };

/* What an engine has to know of a job. */
struct jr_engine_job {
    const char *name;
    uint32_t nodes;
    uint32_t spares; /* besides */
    uint32_t ranks;  /* of a node; the most, where nodes differ */
    uint32_t cpus;   /* that a node's ranks need; 0: not stated */
    enum jr_device device;
    const char *bind; /* a word of JR_BINDS */
    const char *workdir;
    bool meets; /* the master address is that of a machine, not made up */
    const struct jr_policy *policy;
    char *const *command;       /* slurm: jobrun's words, NULL-terminated: the program
                                   and `run` come first */
    const char *array;          /* slurm: the cells of a sweep, which are the tasks of a
                                   job array, as --array has them: "0-7,9%4"; NULL: it
                                   is one job */
    struct jr_node *spec;       /* kubernetes: the resolved spec; it is changed */
    struct jr_arena *arena;     /* of `spec` */
    const struct jr_plan *plan; /* mpi */
};

/* The engine that is called so, or JR_ENGINE_COUNT. */
enum jr_engine_kind jr_engine_find(const char *word);

/* Append what the engine is handed. -1 where it cannot take such a job, with the status that this
 * is. Without memory `out` has failed. */
int jr_engine_render(struct jr_buf *out, enum jr_engine_kind kind, const struct jr_engine_job *job,
                     struct jr_error *err);

/* Append a word as it must be written for a shell (POSIX 2.2), and in a line of
 * #SBATCH, which is read by other rules: in quotes only where both agree on
 * what that means. A line break has no such form: the shell's is used. */
void jr_engine_word(struct jr_buf *out, const char *word);

#endif
