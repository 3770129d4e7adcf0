/*
 * What the ranks run: a command, a text of the shell, Python or a function of a library; and the
 * variables and arguments that they get.
 *
 * All strings are UTF-8, NUL-terminated and borrowed: they belong to the stage that made them,
 * which must outlive the reader.
 */
#ifndef JOBRUN_ENTRYPOINT_H
#define JOBRUN_ENTRYPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jobrun/types.h>

/* The form of an entrypoint. */
#define JR_FORMS(X)                                                                                \
    X(COMMAND, "command", "an argv; no shell")                                                     \
    X(SHELL, "shell", "text run by /bin/sh -c")                                                    \
    X(PYTHON, "python", "a Python script, module or function")                                     \
    X(LIBRARY, "library", "a function of a shared library")

/* What of Python an entrypoint names. */
#define JR_PYTHON_FORMS(X)                                                                         \
    X(SCRIPT, "script", "a file, run as `python FILE` would")                                      \
    X(MODULE, "module", "a module, run as `python -m` would")                                      \
    X(FUNCTION, "function", "a function of a module, which is called")

/* What sets up a function's rank before the call. */
#define JR_PYTHON_INITS(X)                                                                         \
    X(NONE, "none", "nothing")                                                                     \
    X(TORCH, "torch", "process group, device, one group per mesh axis")

#define JR_ENUM_FORM(name, word, help)   JR_FORM_##name,
#define JR_ENUM_PYTHON(name, word, help) JR_PYTHON_##name,
#define JR_ENUM_INIT(name, word, help)   JR_INIT_##name,

enum jr_form { JR_FORMS(JR_ENUM_FORM) };
enum jr_python_form { JR_PYTHON_FORMS(JR_ENUM_PYTHON) };
enum jr_python_init { JR_PYTHON_INITS(JR_ENUM_INIT) };

/* The Python that every rank runs. */
struct jr_python {
    enum jr_python_form what;
    char *target;      /* an absolute path, pkg.train, or pkg.train:main */
    char *interpreter; /* a word to look up in PATH, or an absolute path */
    char *setup;       /* pkg:fn, called before the function; NULL: nothing */
    enum jr_python_init init;
    bool smoke_test; /* prove what `init` made */
};

/* The function of a shared library that every rank calls. */
struct jr_library {
    char *path; /* absolute */
    char *symbol;
};

/* A named argument of a function. */
struct jr_kwarg {
    char *name;
    char *value; /* JSON text, whose strings are per-rank templates */
};

/* What every rank runs. For `shell`, argv[0] is the text, and the rest are its positional
 * parameters $1...; for `python` and `library` argv is what is passed to them: strings, or for a
 * function the JSON text of each argument. */
struct jr_entrypoint {
    enum jr_form form;
    char **argv;
    uint32_t argv_count;
    struct jr_kwarg *kwargs; /* of a function */
    uint32_t kwargs_count;
    struct jr_python *python;   /* NULL but for that form */
    struct jr_library *library; /* NULL but for that form */
};

/* Whether the entrypoint is a Python function, whose arguments are JSON. */
static inline bool jr_entrypoint_is_function(const struct jr_entrypoint *entry)
{
    return entry->python != NULL && entry->python->what == JR_PYTHON_FUNCTION;
}

/* One entry of `env`. A NULL value unsets the variable; `required` means that the value must stand
 * in the environment of jobrun itself. */
struct jr_env_entry {
    char *name;
    char *value;
    bool required;
};

/* One entry of `per_rank`: what the ranks of a set get besides. */
struct jr_rank_entry {
    char *ranks; /* rank set */
    char **args; /* per-rank templates; of a function, JSON as in argv */
    uint32_t args_count;
    struct jr_kwarg *kwargs; /* over those of all ranks */
    uint32_t kwargs_count;
    struct jr_env_entry *env;
    uint32_t env_count;
};

#endif
