/*
 * Specs checked, on a machine that has none of the hardware: each by itself, and resolved for the
 * machines that it names as targets, or for one that is given. Nothing is executed.
 */
#ifndef JR_CHECK_SPECS_H
#define JR_CHECK_SPECS_H

#include <jobrun/error.h>

#include "base/arena.h"
#include "base/buf.h"
#include "diag/diag.h"

struct jr_host;
struct jr_spec_file;
struct jr_spec_options;
struct jr_swept_spec;

/*
 * Which specs the words of a command line mean: a file is itself, a folder is every *.jobrun.yaml
 * or .yml below it, in the order of the names.
 *
 * Where specs are guessed, it is besides every other YAML file whose top level reads like a spec's;
 * and what is hidden, ignored by git, or of a run, is none.
 */

/* A spec, or a folder that has none for us. */
struct jr_found_specs {
    const char *path; /* as it was written, or below what was */
    const char *why;  /* why the folder cannot be checked; NULL: a spec */
    bool guessed;     /* by its text, not by its name */
};

struct jr_finds {
    struct jr_found_specs *items;
    size_t count;
    size_t passed; /* other YAML files, where specs are guessed */
};

/* Find them, in the order of the words, without following links below a folder.
 * `envp` is git's environment, where specs are to be guessed; else NULL. All
 * lives in `arena`, whose failure is the only one. */
void jr_find_specs(struct jr_finds *ret, struct jr_arena *arena, char *const *words, int count,
                   char *const *envp);

/* Whether a file's name is that of a spec. */
bool jr_find_is_named(const char *name);

/* Whether the text of a YAML file reads like a spec's: its top level has
 * `version` and another field of the spec, or a near miss of one. What is wrong
 * further down does not count. */
bool jr_find_reads_like_spec(const char *text);

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

/*
 * The fixes that are sure, written back: validate --fix.
 *
 * A text is read, its fixes are made, and it is read again until no more is sure; only then a file
 * is replaced, in one step, by the new text.
 */

/* Fix what checking a file finds, through a symbolic link the file that it
 * leads to. `told` gets a line for each fix that was written. Returns 0, for a
 * file without any fix or that cannot be read too (checking it will say so), or
 * -1 with why the file was left as it is. */
int jr_fix_file(struct jr_buf *told, const char *path, const struct jr_check_options *options,
                struct jr_error *err);

/* Read a spec from the descriptor `fd` and fix what checking it finds: *ret is the new text, `told`
 * the same as above. -1 where it cannot be read. */
int jr_fix_input(struct jr_buf *ret, struct jr_buf *told, int fd,
                 const struct jr_check_options *options, struct jr_error *err);

#endif
