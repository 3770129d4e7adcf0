/*
 * Specs checked, on a machine that has none of the hardware: each by itself, and resolved for the
 * machines that it names as targets, or for one that is given. Nothing is executed.
 */
#ifndef JR_CHECK_SPECS_H
#define JR_CHECK_SPECS_H

#include <jobrun/error.h>

#include "base/arena.h"
#include "diag/diag.h"
#include "session/specs/find_specs.h"

struct jr_host;
struct jr_spec_file;
struct jr_spec_options;
struct jr_swept_spec;

/* How specs are read when they are checked. */
struct jr_check_options {
    char *const *sets;   /* PATH=VALUE of --set, NULL-terminated; NULL: none */
    char *const *sweeps; /* PATH=A,B of --sweep; the same */
    const char *cell;    /* of a sweep this one alone; NULL: every cell */
    const char *root;    /* see jr_session_options */
    char *const *environ;
    char *const *allow_env; /* globs of what ${env:NAME} may read of it,
                               NULL-terminated; what else comes from there is
                               unknown, and judged by nothing; NULL: all */
    const char *on;         /* the profile of a machine to resolve for; NULL: none */
    bool strict;            /* what is unknown, and a warning, makes a spec invalid */
};

/* The same for the reader of specs. */
struct jr_spec_options jr_check_reading(const struct jr_check_options *options);

/* Files, all findings, and the texts that these quote. */
struct jr_spec_checks {
    struct jr_arena arena;
    struct jr_diags diags;
    struct jr_checked *files;
    size_t files_count;
    struct jr_finds finds; /* what is to be checked */
    struct jr_buf input;   /* standard input, where it was read before */
    enum jr_status status; /* the lowest of what the files got, 0 aside */
    struct jr_check_options options;
    struct jr_host *machine; /* that of `on` */
    struct jr_spec_file **specs;
    size_t specs_count;
    struct jr_swept_spec **swept; /* of the specs that are several */
    size_t swept_count;
};

/* Begin with no file. What is found wrong with the machine of `on` is a mistake of the command
 * line: returns its status; JR_STATUS_LAUNCH without a finding if memory runs out. Release in any
 * case. */
enum jr_status jr_spec_checks_open(struct jr_spec_checks *ret,
                                   const struct jr_check_options *options);

/* Check all of `finds`, in order. Findings that a file has in common with those before it are
 * reported once. */
void jr_spec_checks_run(struct jr_spec_checks *checks);

/* Free the findings and the specs. */
void jr_spec_checks_release(struct jr_spec_checks *checks);

#endif
