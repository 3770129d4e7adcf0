/* The fields of mappings about what every rank runs, and its limits. See fields.h. */
#ifndef JR_FIELDS_RANKS_H
#define JR_FIELDS_RANKS_H

/* clang-format off */
#define JR_FIELDS_ENTRYPOINT(X)                                                \
    X("command", ARGV, OPTIONAL, SKIP, NULL, NULL, EXPERIMENT,                 \
      "another form", "a program and its arguments; no shell")                 \
    X("shell", SHELL, OPTIONAL, SKIP, NULL, NULL, EXPERIMENT, "another form",  \
      "text run by /bin/sh -c")                                                \
    X("python", PYTHON, OPTIONAL, POINTER(python, PYTHON), NULL, NULL,         \
      EXPERIMENT, "another form", "a Python script, module or function")       \
    X("library", LIBRARY, OPTIONAL, POINTER(library, LIBRARY), NULL, NULL,     \
      EXPERIMENT, "another form", "a function of a shared library")            \
    X("args", ARGS, OPTIONAL, SKIP, NULL, NULL, EXPERIMENT, "none",            \
      "arguments that follow the form's own")                                  \
    X("kwargs", KWARGS, OPTIONAL, SEQ(kwargs, bind_kwarg), NULL, NULL,         \
      EXPERIMENT, "none", "named arguments of a function")

#define JR_FIELDS_PYTHON(X)                                                    \
    X("script", PATH, OPTIONAL, SKIP, NULL, NULL, EXPERIMENT,                  \
      "a module or a function",                                                \
      "a Python file to run, relative to the spec's folder")                   \
    X("module", MODULE, OPTIONAL, SKIP, NULL, NULL, EXPERIMENT,                \
      "a script or a function", "a module to run, as `python -m` does")        \
    X("function", FUNCTION, OPTIONAL, SKIP, NULL, NULL, EXPERIMENT,            \
      "a script or a module", "a function to call, as pkg.train:main")         \
    X("interpreter", PROGRAM, OPTIONAL, STR(interpreter), "python3", NULL,     \
      EXPERIMENT, "python3", "the Python that runs it: a word, or a path")     \
    X("setup", FUNCTION, OPTIONAL, STR(setup), NULL, NULL, EXPERIMENT,         \
      "none", "a function to call first in each rank")                         \
    X("init", INIT, OPTIONAL, WORDS(init, inits), NULL, NULL, EXPERIMENT,      \
      "nothing", "what to set up before the function is called")               \
    X("smoke_test", FLAG, OPTIONAL, FLAG(smoke_test), NULL, NULL, EXPERIMENT,  \
      "false", "whether to test the groups that init made")

#define JR_FIELDS_LIBRARY(X)                                                   \
    X("path", PATH, REQUIRED, STR(path), NULL, NULL, EXPERIMENT,               \
      "an error: it is required",                                              \
      "the shared library, relative to the spec's folder")                     \
    X("symbol", SYMBOL, REQUIRED, STR(symbol), NULL, NULL, EXPERIMENT,         \
      "an error: it is required", "the function that every rank calls")

#define JR_FIELDS_RANK_ENTRY(X)                                                \
    X("args", ARGS, OPTIONAL, STRS(args), NULL, NULL, EXPERIMENT, "none",      \
      "arguments that follow those of all ranks")                              \
    X("kwargs", KWARGS, OPTIONAL, SEQ(kwargs, bind_kwarg), NULL, NULL,         \
      EXPERIMENT, "none",                                                      \
      "named arguments of a function, over those of all ranks")                \
    X("env", ENV, OPTIONAL, SEQ(env, bind_env), NULL, NULL, EXPERIMENT,        \
      "none", "variables that add to or override those of all ranks")

#define JR_FIELDS_LIMITS(X)                                                    \
    X("nofile", LIMIT_COUNT, OPTIONAL, STR(nofile), NULL, NULL, EXPERIMENT,    \
      "inherited", "open files of a process")                                  \
    X("core", LIMIT_SIZE, OPTIONAL, STR(core), NULL, "bytes", EXPERIMENT,      \
      "inherited", "the size of a core dump; 0 is none")                       \
    X("memlock", LIMIT_SIZE, OPTIONAL, STR(memlock), NULL, "bytes",            \
      EXPERIMENT, "inherited",                                                 \
      "memory that a process may lock; RDMA needs this")                       \
    X("stack", LIMIT_SIZE, OPTIONAL, STR(stack), NULL, "bytes", EXPERIMENT,    \
      "inherited", "the stack of a process")                                   \
    X("as", LIMIT_SIZE, OPTIONAL, STR(as), NULL, "bytes", EXPERIMENT,          \
      "inherited", "the address space of a process")                           \
    X("nproc", LIMIT_COUNT, OPTIONAL, STR(nproc), NULL, NULL, EXPERIMENT,      \
      "inherited", "processes and threads of the user, all together")
/* clang-format on */

#endif
