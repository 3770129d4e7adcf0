/* Which MPI library a Python program would use, in trees that the test makes:
 * where the package is, and what its modules need. */
#include "wireup/mpi_library.h"

#include <libgen.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf_file.h"
#include "scratch.h"

static struct scratch scratch;

static void make_folders(const char *path)
{
    char text[256];
    (void)snprintf(text, sizeof text, "%s/%s", scratch.dir, path);
    for (char *at = text + strlen(scratch.dir) + 1; *at != '\0'; at++)
        if (*at == '/') {
            *at = '\0';
            (void)mkdir(text, 0700);
            *at = '/';
        }
}

static void write_text(const char *path, const char *text)
{
    make_folders(path);
    scratch_write(&scratch, path, text);
}

/* A module that needs a library. */
static void write_module(const char *path, const char *library)
{
    const struct elf_file file = elf_file_make(library, NULL, DT_NULL, NULL);
    char whole[256];
    make_folders(path);
    (void)snprintf(whole, sizeof whole, "%s/%s", scratch.dir, path);
    FILE *out = fopen(whole, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    CU_ASSERT_EQUAL(fwrite(&file, sizeof file, 1, out), 1);
    (void)fclose(out);
}

static void start(void)
{
    scratch_start(&scratch);
    write_text("usr/bin/python3.11", "");
    CU_ASSERT_EQUAL(symlinkat("python3.11", scratch.fd, "usr/bin/python3"), 0);
}

static const char *whole_path(char ret[256], const char *path)
{
    (void)snprintf(ret, 256, "%s/%s", scratch.dir, path);
    return ret;
}

/* Check what is found for an interpreter; NULL: nothing. */
static void check_found(const char *python, const char *python_path, const char *abi,
                        const char *expected)
{
    char paths[3][256];
    struct jr_arena arena = JR_ARENA_INIT;
    const struct jr_mpi_search libraries = {NULL, "/nowhere"};
    const struct jr_mpi4py_search search = {
        .python_path = python_path == NULL ? NULL : whole_path(paths[1], python_path),
        .home = whole_path(paths[2], "home"),
        .abi = abi,
        .libraries = &libraries};
    struct jr_mpi_library found = {JR_MPI_KIND_NONE, "none"};
    bool there = jr_mpi4py_find(&found, &arena, whole_path(paths[0], python), &search);
    CU_ASSERT_EQUAL(there, expected != NULL);
    JR_ASSERT_TEXT(found.name, expected == NULL ? "none" : expected);
    jr_arena_release(&arena);
}

#define MODULE "mpi4py/MPI.cpython-311-x86_64-linux-gnu.so"

/* Each is nearer than those before. */
TEST(finds_the_nearest_package)
{
    start();
    check_found("usr/bin/python3", NULL, NULL, NULL);
    check_found("usr/bin/nowhere", NULL, NULL, NULL);
    write_module("usr/lib/python3/dist-packages/" MODULE, "libmpi.so.40");
    check_found("usr/bin/python3", NULL, NULL, "libmpi.so.40");
    check_found("usr/bin/python3.11", NULL, NULL, "libmpi.so.40");
    write_module("usr/lib/python3.12/site-packages/" MODULE, "libmpi.so.20");
    check_found("usr/bin/python3", NULL, NULL, "libmpi.so.40");
    write_module("usr/local/lib/python3.11/dist-packages/" MODULE, "libmpich.so.12");
    check_found("usr/bin/python3", NULL, NULL, "libmpich.so.12");
    write_module("home/.local/lib/python3.11/site-packages/" MODULE, "libmpi.so.20");
    check_found("usr/bin/python3", NULL, NULL, "libmpi.so.20");
    write_module("own/" MODULE, "libmpi.so.12");
    check_found("usr/bin/python3", "own", NULL, "libmpi.so.12");
    check_found("usr/bin/python3", "none:/nowhere", NULL, "libmpi.so.20");
    scratch_end(&scratch);
}

/* A virtual environment sees what is its own, and others if it says so. */
TEST(looks_into_virtual_environments)
{
    start();
    write_module("usr/lib/python3/dist-packages/" MODULE, "libmpi.so.40");
    write_text("venv/bin/x", "");
    CU_ASSERT_EQUAL(symlinkat("../../usr/bin/python3", scratch.fd, "venv/bin/python"), 0);
    write_text("venv/pyvenv.cfg", "include-system-site-packages = false\n");
    check_found("venv/bin/python", NULL, NULL, NULL);
    write_text("venv/pyvenv.cfg", "include-system-site-packages = true\n");
    check_found("venv/bin/python", NULL, NULL, "libmpi.so.40");
    write_module("venv/lib/python3.11/site-packages/" MODULE, "libmpich.so.12");
    check_found("venv/bin/python", NULL, NULL, "libmpich.so.12");
    scratch_end(&scratch);
}

/* One for each library: a variable of mpi4py's says which. */
TEST(chooses_among_several_modules)
{
    start();
    write_module("own/mpi4py/MPI.mpich.abi3.so", "libmpi.so.12");
    write_module("own/mpi4py/MPI.mpich.cpython-311.so", "libmpi.so.12");
    check_found("usr/bin/python3", "own", NULL, "libmpi.so.12");
    write_module("own/mpi4py/MPI.openmpi.abi3.so", "libmpi.so.40");
    write_text("own/mpi4py/MPI.py", "");
    write_text("own/mpi4py/MPI..so", "");
    check_found("usr/bin/python3", "own", NULL, NULL);
    check_found("usr/bin/python3", "own", "", NULL);
    check_found("usr/bin/python3", "own", "mpich", "libmpi.so.12");
    check_found("usr/bin/python3", "own", "openmpi", "libmpi.so.40");
    check_found("usr/bin/python3", "own", "open", NULL);
    scratch_end(&scratch);
}

TEST(knows_interpreters_by_name)
{
    static const char *const pythons[] = {"python", "python3", "python3.11", "/usr/bin/python3",
                                          "./python2"};
    static const char *const others[] = {"",         "pythonw", "python-config", "/python/run",
                                         "ipython3", "sh"};
    for (size_t i = 0; i < sizeof pythons / sizeof *pythons; i++)
        CU_ASSERT_TRUE(jr_mpi4py_is_python(pythons[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CU_ASSERT_FALSE(jr_mpi4py_is_python(others[i]));
}

TEST(reads_the_first_line)
{
    static const struct {
        const char *text, *expected;
    } vectors[] = {
        {"#!/usr/bin/python3\nimport this\n", "/usr/bin/python3"},
        {"#! /usr/bin/env python3.11 -u\n", "python3.11"},
        {"#!/usr/bin/env\tpython", "python"},
        {"#!/bin/sh\n", NULL},
        {"#!/usr/bin/env\n", NULL},
        {"#!\npython3\n", NULL},
        {"#!", NULL},
        {"#", NULL},
        {"", NULL},
        {"python3\n", NULL},
    };
    char path[256];
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_arena arena = JR_ARENA_INIT;
        start();
        write_text("script", vectors[i].text);
        const char *found = jr_mpi4py_interpreter(&arena, whole_path(path, "script"));
        JR_ASSERT_TEXT(found == NULL ? "none" : found,
                       vectors[i].expected == NULL ? "none" : vectors[i].expected);
        CU_ASSERT_PTR_NULL(jr_mpi4py_interpreter(&arena, whole_path(path, "nowhere")));
        jr_arena_release(&arena);
        scratch_end(&scratch);
    }
}
