/*
 * The fields of a spec: one row each. The reader, the struct's binding, the JSON Schema and
 * `explain` are all made from these rows; nothing else knows what fields there are. The rows are in
 * fields_top.h, and those of mappings in a header for each group of sections, as the notes are
 * (notes.h).
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

#include "spec/fields_failure.h"
#include "spec/fields_job.h"
#include "spec/fields_output.h"
#include "spec/fields_placement.h"
#include "spec/fields_ranks.h"
#include "spec/fields_top.h"

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
