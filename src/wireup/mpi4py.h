/*
 * Which MPI library a Python program would use: mpi4py, the package by which Python calls MPI, has
 * it beside it. It is looked for where the interpreter would look, and nothing is run.
 */
#ifndef JR_MPI4PY_H
#define JR_MPI4PY_H

#include "wireup/mpi_library.h"

/* What the ranks have in their environment; NULL: nothing. */
struct jr_mpi4py_search {
    const char *python_path; /* PYTHONPATH */
    const char *home;        /* HOME */
    const char *abi;         /* MPI4PY_MPIABI: which one of several modules it takes */
    const struct jr_mpi_search *libraries;
};

/* The MPI library of the mpi4py that `python`, the absolute path of an interpreter, would import.
 * False: it finds none, or one that can take several libraries. */
bool jr_mpi4py_find(struct jr_mpi_library *ret, struct jr_arena *arena, const char *python,
                    const struct jr_mpi4py_search *search);

/* The interpreter that a file names in its first line (#!), as
 * "/usr/bin/python3" or, of env(1), as the word that it looks up in PATH; NULL:
 * it names none that is Python. */
const char *jr_mpi4py_interpreter(struct jr_arena *arena, const char *file);

/* Whether a program of that name, or path, is an interpreter of Python. */
bool jr_mpi4py_is_python(const char *name);

#endif
