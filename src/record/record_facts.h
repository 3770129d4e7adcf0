/* run.json, the record of a run: written at the start and again at the end. */
#ifndef JR_RECORD_FACTS_H
#define JR_RECORD_FACTS_H

#include "base/json.h"
#include "judge/judgement.h"
#include "record/record_code.h"

/* What is the same for all runs of one process and what it forks. */
struct jr_record_machine {
    const char *host, *user, *boot_id, *cwd;
    const char *os, *kernel, *arch; /* "Debian GNU/Linux 12", "6.1.0" */
};

/* What run.json says. Strings are borrowed; NULL is null. */
struct jr_record_facts {
    const char *run_id, *name, *version;
    struct jr_record_machine machine;
    int32_t pid;
    uint64_t pid_namespace; /* 0: unknown (proc.h) */
    uint64_t start_ticks;   /* when that process began, since the boot */
    char **argv;            /* NULL-terminated, secrets redacted */
    const char *commit;     /* of git; NULL: unknown */
    const bool *dirty;      /* NULL: unknown */
    struct jr_record_code code;
    const char *fingerprint;
    const char *spec;                 /* as the user named it */
    const char *spec_folder;          /* the folder of that, absolute */
    const json_t *values;             /* an object with vars and labels; NULL: none */
    const char *rerun_of;             /* the id of the run that it repeats */
    uint32_t world_size, nodes;       /* of all of it */
    uint32_t first_rank, ranks;       /* that this jobrun starts */
    uint32_t attempt;                 /* the one that runs, or decided */
    const char *job;                  /* of Slurm, its number; NULL: none */
    uint32_t job_restarts;            /* how often that was started again */
    bool local;                       /* every node's ranks on this machine */
    bool any_devices;                 /* the spec asks for free ones */
    uint64_t started_ns, finished_ns; /* wall time; finished 0: not yet */
    const char *status, *cgroup;      /* status NULL: not yet */
    int exit_code;                    /* once finished */
};

/* Read it; the texts live in `arena`, whose failure says that one is missing.
 */
void jr_record_machine_read(struct jr_record_machine *ret, struct jr_arena *arena);

/* Fill in what this process can tell of itself and of the plan: everything but git, code, spec,
 * cgroup and the end. Copies live in `arena`; `machine` is borrowed, NULL: it is read here. 0, or
 * -1 where memory ran out. */
int jr_record_facts_fill(struct jr_record_facts *ret, struct jr_arena *arena,
                         const struct jr_plan *plan, const struct jr_record_machine *machine);

/* Add the end. */
void jr_record_facts_finish(struct jr_record_facts *facts, const struct jr_judgement *report,
                            const struct jr_outcome *outcome);

/* Append run.json. */
void jr_record_run_json(struct jr_buf *out, const struct jr_record_facts *facts);

#endif
