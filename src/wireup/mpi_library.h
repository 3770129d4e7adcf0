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

/* The kind of the library that is called so. */
enum jr_mpi_kind jr_mpi_kind_of(const char *name);

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

#endif
