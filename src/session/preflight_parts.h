/* What the files of the look at the machine share: preflight.h. */
#ifndef JR_PREFLIGHT_PARTS_H
#define JR_PREFLIGHT_PARTS_H

#include "session/session.h"

/* The path of a field of one of the entrypoint's forms. */
#define JR_FORM_FIELD(form, field) "entrypoint." form "." field

/* A look at the machine. Each field is reported once, for the first rank that it does not do
 * for. */
struct jr_preflight {
    struct jr_session *session;
    struct jr_arena *arena; /* of texts for findings */
    bool program_reported, script_reported, workdir_reported, result_reported;
    bool modules_checked;
    bool *artifacts_reported; /* one per artifact; NULL: there are none */
};

/* A field and what it says for a rank. */
struct jr_needed {
    const char *path; /* "results.artifacts[1]"; NULL: no memory for it */
    const char *text; /* as the rank has it */
    uint32_t rank;
};

/* The text in quotes, in the look's arena; a secret in it is the reference that it came from. */
const char *jr_preflight_text(const struct jr_preflight *preflight, const struct jr_needed *needed);

/* Report what is not there: a warning where `setup`, which runs before the ranks, may make it. The
 * finding is the session's. */
struct jr_diag *jr_preflight_report(struct jr_preflight *preflight, enum jr_diag_code code,
                                    const struct jr_needed *needed, const char *message);

/* The same with what to type instead, unless `setup` may make it; an empty
 * `help` says nothing. */
void jr_preflight_report_help(struct jr_preflight *preflight, enum jr_diag_code code,
                              const struct jr_needed *needed, const char *message,
                              const struct jr_buf *help);

/* Report a file, a `what`, that Python or the loader cannot open for `error` (an errno); a relative
 * one is below `workdir`. */
void jr_preflight_unreadable(struct jr_preflight *preflight, const struct jr_needed *needed,
                             const char *what, const char *workdir, int error);

/* Look for the program of a rank as its exec will, with the environment `env`, and where that is a
 * Python, for its modules. */
void jr_preflight_program(struct jr_preflight *preflight, const char *name, char *const *env,
                          const struct jr_plan_rank *rank);

/* Look for the script of `python3 train.py`, which Python opens only once the rank runs. */
void jr_preflight_script(struct jr_preflight *preflight, const struct jr_plan_rank *rank);

/* Look for the modules that a rank imports by the Python at `path`; those of the first rank for
 * which this is called speak for all. */
void jr_preflight_modules(struct jr_preflight *preflight, const char *path, char *const *env,
                          const struct jr_plan_rank *rank);

#endif
