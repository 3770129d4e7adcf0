/* Which MPI a program needs: names, and programs and libraries that the test writes, found as the
 * dynamic loader finds them. */
#include "wireup/mpi_library.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>

#include "elf_file.h"
#include "scratch.h"

static struct scratch scratch; /* of all cases */
static char place[128], cache[64];

static const char *path_of(const char *name)
{
    (void)snprintf(place, sizeof place, "%s/%s", scratch.dir, name);
    return place;
}

static void write_file(const char *name, const void *bytes, size_t len)
{
    int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(write(fd, bytes, len), (ssize_t)len);
    (void)close(fd);
}

static void write_elf(const char *name, const char *first, const char *second, ElfW(Sxword) tag,
                      const char *path)
{
    const struct elf_file file = elf_file_make(first, second, tag, path);
    write_file(name, &file, sizeof file);
}

/* Check which library `program` needs; NULL: none. */
static void check_library(const char *program, const char *library_path, const char *expected)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_mpi_library found = {JR_MPI_KIND_OPENMPI, "?"};
    const struct jr_mpi_search search = {library_path, cache};
    CU_ASSERT_EQUAL(jr_mpi_library_find(&found, &arena, path_of(program), &search),
                    expected != NULL);
    if (expected == NULL) {
        CU_ASSERT_TRUE(found.name == NULL && found.kind == JR_MPI_KIND_NONE);
    } else {
        JR_ASSERT_TEXT(found.name, expected);
    }
    jr_arena_release(&arena);
}

TEST(finds_none)
{
    scratch_start(&scratch);
    (void)snprintf(cache, sizeof cache, "%s/cache", scratch.dir);
    check_library("missing", NULL, NULL);
    write_file("script", "#!/bin/sh\n", 10);
    check_library("script", NULL, NULL);
    write_elf("plain", "libc.so.6", "libnowhere.so", DT_NULL, NULL);
    check_library("plain", NULL, NULL);
    write_elf("circle", "liba.so", NULL, DT_RUNPATH, scratch.dir);
    write_elf("liba.so", "libb.so", NULL, DT_RUNPATH, scratch.dir);
    write_elf("libb.so", "liba.so", "libb.so", DT_RUNPATH, scratch.dir);
    check_library("circle", NULL, NULL);
}

/* Names up to their version, or with as much of it as tells kinds apart. */
TEST(knows_names)
{
    static const struct {
        const char *name;
        enum jr_mpi_kind kind;
    } vectors[] = {
        {"", JR_MPI_KIND_NONE},
        {"libmpi.so", JR_MPI_KIND_NONE},
        {"libmpi.so.1", JR_MPI_KIND_NONE},
        {"libmpi.so.120", JR_MPI_KIND_NONE},
        {"libmpich.sox", JR_MPI_KIND_NONE},
        {"xlibmpich.so.12", JR_MPI_KIND_NONE},
        {"libmpich.so.12", JR_MPI_KIND_MPICH},
        {"libmpich.so", JR_MPI_KIND_MPICH},
        {"libmpi.so.12", JR_MPI_KIND_MPICH},
        {"libmpi.so.12.0", JR_MPI_KIND_MPICH},
        {"libmpifort.so.12", JR_MPI_KIND_MPICH},
        {"libmpi.so.40", JR_MPI_KIND_OPENMPI},
        {"libmpi_mpifh.so.40", JR_MPI_KIND_OPENMPI},
        {"libmpi_cxx.so.40", JR_MPI_KIND_OPENMPI},
    };
    static const struct jr_mpi_search search = {.cache = "/dev/null"};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_arena arena = JR_ARENA_INIT;
        struct jr_mpi_library found;
        write_elf("plain", vectors[i].name, NULL, DT_NULL, NULL);
        (void)jr_mpi_library_find(&found, &arena, path_of("plain"), &search);
        CU_ASSERT_EQUAL(found.kind, vectors[i].kind);
        jr_arena_release(&arena);
    }
}

TEST(reads_no_other_files)
{
    check_library("../..", NULL, NULL);
    write_file("plain", "", 0);
    check_library("plain", NULL, NULL);
    write_file("plain", ELFMAG, SELFMAG);
    check_library("plain", NULL, NULL);
    (void)unlink(path_of("plain"));
    CU_ASSERT_EQUAL(mkfifo(path_of("plain"), 0600), 0);
    check_library("plain", NULL, NULL);
    (void)unlink(path_of("plain"));
}

/* What is broken, or says that its texts are where there are none. */
TEST(reads_no_broken_files)
{
    enum { BROKEN = 11 };
    for (int i = 0; i <= BROKEN; i++) {
        struct elf_file file = elf_file_make("libmpich.so.12", NULL, DT_NULL, NULL);
        size_t len = sizeof file;
        switch (i) {
        case 0:
            file.head.e_ident[EI_DATA] ^= 3;
            break;
        case 1:
            file.head.e_ident[EI_CLASS] ^= 3;
            break;
        case 2:
            file.head.e_type = ET_REL;
            break;
        case 3:
            file.head.e_phnum = 0xfffe;
            break;
        case 4:
            file.head.e_phoff = (ElfW(Off)) - 1;
            break;
        case 5:
            file.segments[1].p_filesz = SIZE_MAX;
            break;
        case 6:
            file.segments[1].p_offset = sizeof file;
            break;
        case 7:
            file.dynamic[0].d_un.d_ptr = (ElfW(Addr)) - 1;
            break;
        case 8:
            len = offsetof(struct elf_file, dynamic);
            break;
        case 9:
            file.dynamic[1].d_un.d_val = 1u << 20;
            break;
        case 10:
            file.dynamic[1].d_un.d_val = (ElfW(Addr)) - 1;
            break;
        }
        if (i == BROKEN)
            file.head.e_phnum = 1; /* no dynamic section */
        write_file("plain", &file, len);
        check_library("plain", NULL, NULL);
    }
}

TEST(finds_what_the_program_names)
{
    write_elf("mpich", "libc.so.6", "libmpich.so.12", DT_NULL, NULL);
    check_library("mpich", NULL, "libmpich.so.12");
    write_elf("open", "libmpi.so.40", "libc.so.6", DT_NULL, NULL);
    check_library("open", NULL, "libmpi.so.40");
}

/* A solver whose library calls MPI, by each way to find that library. */
TEST(finds_what_libraries_need)
{
    write_elf("libsolver.so", "libmpich.so.12", NULL, DT_NULL, NULL);
    write_elf("solver", "libsolver.so", NULL, DT_NULL, NULL);
    check_library("solver", NULL, NULL);
    check_library("solver", "/nowhere::relative", NULL);
    char paths[128];
    (void)snprintf(paths, sizeof paths, "/nowhere:%s", scratch.dir);
    check_library("solver", paths, "libmpich.so.12");
    write_elf("solver", "libsolver.so", NULL, DT_RUNPATH, "/no:$ORIGIN");
    check_library("solver", NULL, "libmpich.so.12");
    write_elf("solver", "libsolver.so", NULL, DT_RPATH, "${ORIGIN}/.");
    check_library("solver", NULL, "libmpich.so.12");
    write_elf("solver", path_of("libsolver.so"), NULL, DT_NULL, NULL);
    check_library("solver", NULL, "libmpich.so.12");
}

/* The C library needs no MPI, whatever bears its name: it is not looked for. */
TEST(leaves_the_c_library_out)
{
    write_elf("libc.so.6", "libmpich.so.12", NULL, DT_NULL, NULL);
    write_elf("usual", "libc.so.6", "libm.so.6", DT_RUNPATH, scratch.dir);
    check_library("usual", NULL, NULL);
    write_elf("libcc.so.1", "libmpich.so.12", NULL, DT_NULL, NULL);
    write_elf("usual", "libc.so.6", "libcc.so.1", DT_RUNPATH, scratch.dir);
    check_library("usual", NULL, "libmpich.so.12");
}

/* RPATH comes before LD_LIBRARY_PATH, and RUNPATH behind it. */
TEST(looks_in_the_order_of_the_loader)
{
    CU_ASSERT_EQUAL(mkdir(path_of("other"), 0700), 0);
    write_elf("other/libsolver.so", "libmpi.so.40", NULL, DT_NULL, NULL);
    char other[128];
    (void)snprintf(other, sizeof other, "%s/other", scratch.dir);
    write_elf("solver", "libsolver.so", NULL, DT_RPATH, "$ORIGIN");
    check_library("solver", other, "libmpich.so.12");
    write_elf("solver", "libsolver.so", NULL, DT_RUNPATH, "$ORIGIN");
    check_library("solver", other, "libmpi.so.40");
}

/* Where the library `name` lies, in the scratch.dir; NULL: nowhere. */
static void check_path(const char *name, const char *library_path, const char *expected)
{
    struct jr_arena arena = JR_ARENA_INIT;
    const struct jr_mpi_search search = {library_path, cache};
    const char *path = jr_mpi_library_path(&arena, name, &search);
    if (expected == NULL)
        CU_ASSERT_PTR_NULL(path)
    else
        JR_ASSERT_TEXT(path, path_of(expected));
    jr_arena_release(&arena);
}

/* As ldconfig writes it: a head, one entry, and its two texts. */
TEST(looks_into_the_cache)
{
    struct {
        char magic[20];
        uint32_t count, texts, unused[5];
        int32_t flags;
        uint32_t name, path, version;
        uint64_t hardware;
        char text[160];
    } entry = {.magic = "glibc-ld.so.cache1.1", .count = 1};
    size_t at = offsetof(__typeof__(entry), text);
    entry.name = (uint32_t)at;
    entry.path = (uint32_t)(at + strlen("libsolver.so") + 1);
    (void)snprintf(entry.text, sizeof entry.text, "libsolver.so");
    (void)snprintf(entry.text + strlen("libsolver.so") + 1, 128, "%s/other/libsolver.so",
                   scratch.dir);
    write_elf("solver", "libsolver.so", NULL, DT_NULL, NULL);
    write_file("cache", &entry, sizeof entry);
    check_library("solver", NULL, "libmpi.so.40");
    check_path("libsolver.so", NULL, "other/libsolver.so");
    check_path("libnowhere.so", NULL, NULL);
    check_path("libnowhere.so", scratch.dir, NULL);
    check_path("libsolver.so", scratch.dir, "libsolver.so");
    entry.count = UINT32_MAX;
    entry.path = UINT32_MAX;
    write_file("cache", &entry, sizeof entry);
    check_library("solver", NULL, NULL);
    /* Cut off within an entry, wherever the memory for it ends. */
    for (size_t len = 1; len < 600; len++) {
        static char cut[600];
        memset(cut, 0x7f, sizeof cut);
        memcpy(cut, &entry, offsetof(__typeof__(entry), flags));
        write_file("cache", cut, len);
        check_library("solver", NULL, NULL);
    }
    entry.magic[0] = 'G';
    write_file("cache", &entry, sizeof entry);
    check_library("solver", NULL, NULL);
    write_file("cache", "glibc", 5);
    check_library("solver", NULL, NULL);
}

/* The first of each kind, by the names that have them. What the machine of the test has is beside
 * it, and only adds a kind. */
TEST(lists_what_is_there)
{
    struct jr_mpi_library found[JR_MPI_KINDS];
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_mpi_search search = {scratch.dir, cache};
    write_elf("libmpich.so.12", NULL, NULL, DT_NULL, NULL);
    write_elf("libmpi.so.12", NULL, NULL, DT_NULL, NULL);
    size_t count = jr_mpi_library_list(found, &arena, &search);
    CU_ASSERT_TRUE_FATAL(count >= 1);
    CU_ASSERT_EQUAL(found[count - 1].kind, JR_MPI_KIND_MPICH);
    JR_ASSERT_TEXT(found[count - 1].name, "libmpich.so.12");
    write_elf("libmpi.so.20", NULL, NULL, DT_NULL, NULL);
    CU_ASSERT_EQUAL_FATAL(jr_mpi_library_list(found, &arena, &search), 2);
    CU_ASSERT_TRUE(found[0].kind == JR_MPI_KIND_OPENMPI && found[1].kind == JR_MPI_KIND_MPICH);
    jr_arena_release(&arena);
    scratch_end(&scratch);
}
