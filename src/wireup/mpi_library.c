#include "wireup/mpi_library.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "wireup/elf_needed.h"

#include "base/banned.h"

/* More libraries than any program has; the rest is not looked at. */
enum { LIBRARIES_MAX = 1024 };

static const size_t CACHE_MAX = (size_t)64 << 20;

/* Names up to their version, or with as much of it as tells kinds apart. */
struct known_name {
    const char *prefix;
    enum jr_mpi_kind kind;
};

static const struct known_name names[] = {
    {"libmpich.so", JR_MPI_KIND_MPICH},
    {"libmpichfort.so", JR_MPI_KIND_MPICH},
    {"libmpichcxx.so", JR_MPI_KIND_MPICH},
    {"libmpi.so.12", JR_MPI_KIND_MPICH},
    {"libmpifort.so.12", JR_MPI_KIND_MPICH},
    {"libmpicxx.so.12", JR_MPI_KIND_MPICH},
    {"libmpi.so.20", JR_MPI_KIND_OPENMPI},
    {"libmpi.so.40", JR_MPI_KIND_OPENMPI},
    {"libmpi_cxx.so", JR_MPI_KIND_OPENMPI},
    {"libmpi_mpifh.so", JR_MPI_KIND_OPENMPI},
    {"libmpi_mpifh-gfortran.so", JR_MPI_KIND_OPENMPI},
    {"libmpi_usempif08.so", JR_MPI_KIND_OPENMPI},
    {"libmpi_usempif08-gfortran.so", JR_MPI_KIND_OPENMPI},
};

enum jr_mpi_kind jr_mpi_kind_of(const char *name)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t len = strlen(names[i].prefix);
        if (strncmp(name, names[i].prefix, len) == 0 && (name[len] == '\0' || name[len] == '.'))
            return names[i].kind;
    }
    return JR_MPI_KIND_NONE;
}

/* The search in progress: what is needed, in the order in which it is found. */
struct walk {
    struct jr_arena *arena;
    const struct jr_mpi_search *search;
    struct jr_strv seen;
    struct jr_buf cache; /* empty: not read, or there is none */
    bool cache_read;
};

/* The cache of ldconfig: a head, entries, and texts that they point to. */
struct cache_head {
    char magic[20];
    uint32_t count, texts;
    uint32_t unused[5];
};

struct cache_entry {
    int32_t flags;
    uint32_t name, path; /* offsets from the head */
    uint32_t version;
    uint64_t hardware;
};

static const char *cache_text(const struct walk *walk, uint32_t offset)
{
    return offset < walk->cache.len ? walk->cache.data + offset : "";
}

/* The file of a library by the cache; NULL: it does not know the name. */
static const char *find_in_cache(struct walk *walk, const char *name)
{
    struct cache_head head;
    struct cache_entry entry;
    if (!walk->cache_read)
        (void)jr_io_read_file(&walk->cache, AT_FDCWD, walk->search->cache, CACHE_MAX, NULL);
    walk->cache_read = true;
    if (walk->cache.failed || walk->cache.len < sizeof head)
        return NULL;
    memcpy(&head, walk->cache.data, sizeof head);
    if (memcmp(head.magic, "glibc-ld.so.cache1.1", sizeof head.magic) != 0)
        return NULL;
    for (size_t i = 0; i < head.count; i++) {
        size_t at = sizeof head + i * sizeof entry;
        if (at + sizeof entry > walk->cache.len)
            break;
        memcpy(&entry, walk->cache.data + at, sizeof entry);
        if (strcmp(cache_text(walk, entry.name), name) == 0)
            return jr_arena_strdup(walk->arena, cache_text(walk, entry.path));
    }
    return NULL;
}

/* One folder of a path, of `len` bytes, with $ORIGIN as the folder of `from`. NULL: the library is
 * not there. */
static const char *find_in_folder(struct walk *walk, const char *folder, size_t len,
                                  const char *from, const char *name)
{
    static const char *const origins[] = {"$ORIGIN", "${ORIGIN}"};
    const char *slash = strrchr(from, '/');
    int dir = slash == NULL ? 0 : (int)(slash - from);
    const char *path = NULL;
    for (size_t i = 0; i < 2 && path == NULL; i++) {
        size_t word = strlen(origins[i]);
        if (len >= word && memcmp(folder, origins[i], word) == 0)
            path = jr_arena_printf(walk->arena, "%.*s%.*s/%s", dir, from, (int)(len - word),
                                   folder + word, name);
    }
    if (path == NULL && len > 0 && folder[0] == '/')
        path = jr_arena_printf(walk->arena, "%.*s/%s", (int)len, folder, name);
    return path != NULL && access(path, R_OK) == 0 ? path : NULL;
}

static const char *find_in_path(struct walk *walk, const char *folders, const char *from,
                                const char *name)
{
    const char *found = NULL;
    for (const char *at = folders; at != NULL && found == NULL;) {
        size_t len = strcspn(at, ":;");
        found = find_in_folder(walk, at, len, from, name);
        at = at[len] == '\0' ? NULL : at + len + 1;
    }
    return found;
}

/* Where the loader would find what the file `from` needs; NULL: nowhere. */
static const char *find_library(struct walk *walk, const char *from,
                                const struct jr_elf_needed *needed, const char *name)
{
    static const char usual[] = "/lib64:/usr/lib64:/lib:/usr/lib";
    if (strchr(name, '/') != NULL)
        return *name == '/' ? name : NULL;
    const char *rpath = needed->runpath == NULL ? needed->rpath : NULL;
    const char *found = find_in_path(walk, rpath, from, name);
    if (found == NULL)
        found = find_in_path(walk, walk->search->library_path, from, name);
    if (found == NULL)
        found = find_in_path(walk, needed->runpath, from, name);
    if (found == NULL)
        found = find_in_cache(walk, name);
    return found != NULL ? found : find_in_path(walk, usual, from, name);
}

static bool was_seen(const struct walk *walk, const char *name)
{
    for (size_t i = 0; i < walk->seen.count; i++)
        if (strcmp(walk->seen.items[i], name) == 0)
            return true;
    return false;
}

/* What belongs to the C library and the compiler needs nothing but itself. Most programs need
 * nothing else, and where that is cannot be known without reading the whole of the loader's
 * cache. */
static bool is_of_c_library(const char *name)
{
    static const char *const c_library_parts[] = {
        "libc.so.",    "libm.so.",     "libpthread.so.", "libdl.so.",
        "librt.so.",   "libgcc_s.so.", "libstdc++.so.",  "libresolv.so.",
        "libutil.so.", "ld-linux",     "ld64.so."};
    for (size_t i = 0; i < sizeof c_library_parts / sizeof *c_library_parts; i++)
        if (strncmp(name, c_library_parts[i], strlen(c_library_parts[i])) == 0)
            return true;
    return false;
}

/* What one file needs: an MPI library among it ends the search, the rest is looked at later. */
static bool take_needed(struct walk *walk, struct jr_strv *files, const char *from,
                        struct jr_mpi_library *ret)
{
    struct jr_elf_needed needed;
    if (!jr_elf_needed(&needed, walk->arena, from))
        return false;
    for (size_t i = 0; i < needed.names.count; i++) {
        enum jr_mpi_kind kind = jr_mpi_kind_of(needed.names.items[i]);
        if (kind == JR_MPI_KIND_NONE)
            continue;
        *ret = (struct jr_mpi_library){kind, needed.names.items[i]};
        return true;
    }
    for (size_t i = 0; i < needed.names.count; i++) {
        char *name = needed.names.items[i];
        if (is_of_c_library(name) || was_seen(walk, name) || walk->seen.count >= LIBRARIES_MAX)
            continue;
        jr_strv_push(&walk->seen, walk->arena, name);
        const char *file = find_library(walk, from, &needed, name);
        if (file != NULL)
            jr_strv_push(files, walk->arena, jr_arena_strdup(walk->arena, file));
    }
    return false;
}

bool jr_mpi_library_find(struct jr_mpi_library *ret, struct jr_arena *arena, const char *program,
                         const struct jr_mpi_search *search)
{
    struct walk walk = {.arena = arena, .search = search};
    struct jr_strv files = {0};
    bool found = false;
    *ret = (struct jr_mpi_library){JR_MPI_KIND_NONE, NULL};
    jr_strv_push(&files, arena, jr_arena_strdup(arena, program));
    for (size_t i = 0; i < files.count && !found && !arena->failed; i++)
        found = take_needed(&walk, &files, files.items[i], ret);
    jr_buf_release(&walk.cache);
    return found;
}

size_t jr_mpi_library_list(struct jr_mpi_library ret[JR_MPI_KINDS], struct jr_arena *arena,
                           const struct jr_mpi_search *search)
{
    static const char *const usual[] = {"libmpi.so.40", "libmpi.so.20", "libmpich.so.12",
                                        "libmpi.so.12"};
    struct walk walk = {.arena = arena, .search = search};
    const struct jr_elf_needed nothing = {0};
    size_t count = 0;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        enum jr_mpi_kind kind = jr_mpi_kind_of(usual[i]);
        bool known = count > 0 && ret[count - 1].kind == kind;
        if (!known && find_library(&walk, "", &nothing, usual[i]) != NULL)
            ret[count++] = (struct jr_mpi_library){kind, usual[i]};
    }
    jr_buf_release(&walk.cache);
    return count;
}

const char *jr_mpi_library_path(struct jr_arena *arena, const char *name,
                                const struct jr_mpi_search *search)
{
    struct walk walk = {.arena = arena, .search = search};
    const struct jr_elf_needed nothing = {0};
    const char *path = find_library(&walk, "", &nothing, name);
    jr_buf_release(&walk.cache);
    return path;
}
