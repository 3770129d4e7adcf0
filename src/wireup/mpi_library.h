/*
 * Which MPI library a program needs, found out without running it: the program and the libraries
 * that it needs are read as the dynamic loader would look for them (ld.so(8)), and each name is
 * held against a table.
 */
#ifndef JR_MPI_LIBRARY_H
#define JR_MPI_LIBRARY_H

#include <stdbool.h>

#include "base/arena.h"

enum jr_mpi_kind {
    JR_MPI_KIND_NONE,
    JR_MPI_KIND_MPICH,  /* or another that speaks PMI-1: MVAPICH, Intel MPI */
    JR_MPI_KIND_OPENMPI /* which speaks PMIx */
};

struct jr_mpi_library {
    enum jr_mpi_kind kind;
    const char *name; /* "libmpich.so.12"; NULL: none */
};

/* Where the loader looks. */
struct jr_mpi_search {
    const char *library_path; /* LD_LIBRARY_PATH; NULL: none */
    const char *cache;        /* a file as ldconfig(8) writes it */
};

#define JR_MPI_CACHE "/etc/ld.so.cache"

/* The first MPI library that `program`, an absolute path, needs by itself or by what it needs.
 * False: it needs none, as far as can be seen; *ret has none then. A library that is not found is
 * one that needs nothing. */
bool jr_mpi_library_find(struct jr_mpi_library *ret, struct jr_arena *arena, const char *program,
                         const struct jr_mpi_search *search);

enum { JR_MPI_KINDS = 2 }; /* of libraries */

/* The MPI libraries that the loader would find by their names, the first of each kind. Returns how
 * many kinds there are. */
size_t jr_mpi_library_list(struct jr_mpi_library ret[JR_MPI_KINDS], struct jr_arena *arena,
                           const struct jr_mpi_search *search);

/* Where the loader finds the library `name` for a program that says nothing of where it is; NULL:
 * nowhere. */
const char *jr_mpi_library_path(struct jr_arena *arena, const char *name,
                                const struct jr_mpi_search *search);

/*
 * Which MPI library a Python program would use: mpi4py, the package by which Python calls MPI, has
 * it beside it. It is looked for where the interpreter would look, and nothing is run.
 */

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
