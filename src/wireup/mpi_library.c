#include "wireup/mpi_library.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/strv.h"

#include "base/banned.h"

/* What a program or a shared library needs, as its file says: the dynamic section of ELF (elf(5)),
 * read without loading or running anything. */

/* No real file has more; what claims to is not read. */
enum { SEGMENTS_MAX = 256, ENTRIES_MAX = 4096, TEXT_MAX = 4096 };

struct elf_needed {
    struct jr_strv names; /* of libraries: "libc.so.6" */
    const char *runpath;  /* folders with colons, where it looks for them after
                             LD_LIBRARY_PATH; NULL: none */
    const char *rpath;    /* the same, before it; NULL: none */
};

static bool read_at(int fd, void *ret, size_t size, uint64_t offset)
{
    return offset <= INT64_MAX && pread(fd, ret, size, (off_t)offset) == (ssize_t)size;
}

static bool is_native(const ElfW(Ehdr) * header)
{
    const unsigned char *ident = header->e_ident;
    unsigned char class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    unsigned char data = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    return memcmp(ident, ELFMAG, SELFMAG) == 0 && ident[EI_CLASS] == class &&
           ident[EI_DATA] == data && (header->e_type == ET_EXEC || header->e_type == ET_DYN) &&
           header->e_phentsize == sizeof(ElfW(Phdr));
}

/* A text of the file; NULL: there is none. */
static char *read_elf_text(int fd, struct jr_arena *arena, uint64_t offset)
{
    char text[TEXT_MAX + 1];
    if (offset > INT64_MAX)
        return NULL;
    ssize_t len = pread(fd, text, TEXT_MAX, (off_t)offset);
    if (len <= 0 || memchr(text, '\0', (size_t)len) == NULL)
        return NULL;
    return jr_arena_strdup(arena, text);
}

/* Where in the file an address of the loaded program is. */
static bool find_elf_offset(const ElfW(Phdr) * segments, size_t count, uint64_t address,
                            uint64_t *ret)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t from = segments[i].p_vaddr;
        if (segments[i].p_type != PT_LOAD || address < from ||
            address - from >= segments[i].p_filesz)
            continue;
        *ret = segments[i].p_offset + (address - from);
        return true;
    }
    return false;
}

static bool read_dynamic(struct elf_needed *ret, struct jr_arena *arena, int fd,
                         const ElfW(Phdr) * segments, size_t count, const ElfW(Phdr) * dynamic)
{
    size_t most = dynamic->p_filesz / sizeof(ElfW(Dyn));
    ElfW(Dyn) *entries = most > ENTRIES_MAX ? NULL : jr_arena_array(arena, most, sizeof *entries);
    uint64_t texts = 0;
    bool found = false;
    if (entries == NULL || !read_at(fd, entries, most * sizeof *entries, dynamic->p_offset))
        return false;
    for (size_t i = 0; i < most && entries[i].d_tag != DT_NULL; i++)
        if (entries[i].d_tag == DT_STRTAB)
            found = find_elf_offset(segments, count, entries[i].d_un.d_ptr, &texts);
    for (size_t i = 0; found && i < most && entries[i].d_tag != DT_NULL; i++) {
        uint64_t tag = (uint64_t)entries[i].d_tag, at = entries[i].d_un.d_val;
        if ((tag != DT_NEEDED && tag != DT_RUNPATH && tag != DT_RPATH) || at > INT64_MAX - texts)
            continue;
        char *text = read_elf_text(fd, arena, texts + at);
        if (text != NULL && tag == DT_NEEDED)
            jr_strv_push(&ret->names, arena, text);
        else if (text != NULL)
            *(tag == DT_RUNPATH ? &ret->runpath : &ret->rpath) = text;
    }
    return found;
}

/* Read the file at `path`. False where it is no regular file, no ELF of this machine's word size
 * and byte order, or a broken one. One that is linked statically needs nothing. */
static bool read_elf_needed(struct elf_needed *ret, struct jr_arena *arena, const char *path)
{
    struct stat st;
    ElfW(Ehdr) header;
    ElfW(Phdr) segments[SEGMENTS_MAX];
    *ret = (struct elf_needed){0};
    JR_CLOSE int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
        !read_at(fd, &header, sizeof header, 0) || !is_native(&header) ||
        header.e_phnum > SEGMENTS_MAX ||
        !read_at(fd, segments, header.e_phnum * sizeof *segments, header.e_phoff))
        return false;
    for (size_t i = 0; i < header.e_phnum; i++)
        if (segments[i].p_type == PT_DYNAMIC)
            return read_dynamic(ret, arena, fd, segments, header.e_phnum, &segments[i]);
    return true;
}

/* Libraries. */

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

static enum jr_mpi_kind mpi_kind_of(const char *name)
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
        const char *known = entry.name < walk->cache.len ? walk->cache.data + entry.name : "";
        const char *path = entry.path < walk->cache.len ? walk->cache.data + entry.path : "";
        if (strcmp(known, name) == 0)
            return jr_arena_strdup(walk->arena, path);
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
                                const struct elf_needed *needed, const char *name)
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
    struct elf_needed needed;
    if (!read_elf_needed(&needed, walk->arena, from))
        return false;
    for (size_t i = 0; i < needed.names.count; i++) {
        enum jr_mpi_kind kind = mpi_kind_of(needed.names.items[i]);
        if (kind == JR_MPI_KIND_NONE)
            continue;
        *ret = (struct jr_mpi_library){kind, needed.names.items[i]};
        return true;
    }
    for (size_t i = 0; i < needed.names.count; i++) {
        char *name = needed.names.items[i];
        bool seen = walk->seen.count >= LIBRARIES_MAX;
        for (size_t k = 0; k < walk->seen.count && !seen; k++)
            seen = strcmp(walk->seen.items[k], name) == 0;
        if (seen || is_of_c_library(name))
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
    const struct elf_needed nothing = {0};
    size_t count = 0;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        enum jr_mpi_kind kind = mpi_kind_of(usual[i]);
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
    const struct elf_needed nothing = {0};
    const char *path = find_library(&walk, "", &nothing, name);
    jr_buf_release(&walk.cache);
    return path;
}

/* mpi4py. */

enum { LINE_MOST = 256, CONFIG_MOST = 1 << 16 };

bool jr_mpi4py_is_python(const char *name)
{
    static const char python[] = "python";
    const char *slash = strrchr(name, '/');
    const char *last = slash == NULL ? name : slash + 1;
    size_t len = sizeof python - 1;
    return strncmp(last, python, len) == 0 && last[len + strspn(last + len, "0123456789.")] == '\0';
}

const char *jr_mpi4py_interpreter(struct jr_arena *arena, const char *file)
{
    static const char env[] = "env";
    char line[LINE_MOST + 1], *rest = line + 2;
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t len = fd < 0 ? -1 : read(fd, line, LINE_MOST);
    if (fd >= 0)
        (void)close(fd);
    if (len < 2 || line[0] != '#' || line[1] != '!')
        return NULL;
    line[len] = '\0';
    line[strcspn(line, "\n")] = '\0';
    char *word = strtok_r(rest, " \t", &rest);
    if (word == NULL)
        return NULL;
    const char *slash = strrchr(word, '/');
    bool looks_up = slash != NULL && strcmp(slash + 1, env) == 0;
    if (looks_up)
        word = strtok_r(rest, " \t", &rest);
    return word != NULL && jr_mpi4py_is_python(word) ? jr_arena_strdup(arena, word) : NULL;
}

/* Whether a file of the package is its module for that variable's value. */
static bool is_module(const char *name, const char *abi)
{
    static const char begin[] = "MPI.", end[] = ".so";
    size_t len = strlen(name), first = sizeof begin - 1;
    if (len <= first + sizeof end - 1 || strncmp(name, begin, first) != 0 ||
        strcmp(name + len - (sizeof end - 1), end) != 0)
        return false;
    size_t abi_len = abi == NULL ? 0 : strlen(abi);
    return abi_len == 0 ||
           (strncmp(name + first, abi, abi_len) == 0 && name[first + abi_len] == '.');
}

/* The search in progress. */
struct mpi4py_walk {
    struct jr_arena *arena;
    const struct jr_mpi4py_search *how;
    struct jr_mpi_library found;
    bool several; /* modules for libraries of different kinds */
};

/* Whether `site`, of `len` bytes, has the package: then it is the one. */
static bool search_site(struct mpi4py_walk *walk, const char *site, size_t len)
{
    struct jr_mpi_library library;
    const char *folder = jr_arena_printf(walk->arena, "%.*s/mpi4py", (int)len, site);
    DIR *dir = folder == NULL || len == 0 ? NULL : opendir(folder);
    const struct dirent *entry;
    if (dir == NULL)
        return false;
    while ((entry = readdir(dir)) != NULL) {
        if (!is_module(entry->d_name, walk->how->abi))
            continue;
        const char *path = jr_arena_printf(walk->arena, "%s/%s", folder, entry->d_name);
        if (path == NULL || !jr_mpi_library_find(&library, walk->arena, path, walk->how->libraries))
            continue;
        walk->several |= walk->found.kind != JR_MPI_KIND_NONE && walk->found.kind != library.kind;
        walk->found = library;
    }
    (void)closedir(dir);
    return true;
}

/* The folder above that of a program: "/usr" of "/usr/bin/python3". */
static char *find_prefix(struct mpi4py_walk *walk, const char *program)
{
    const char *slash = strrchr(program, '/');
    const char *above = slash == NULL ? NULL : memrchr(program, '/', (size_t)(slash - program));
    return above == NULL ? NULL : jr_arena_strndup(walk->arena, program, (size_t)(above - program));
}

static bool search_below(struct mpi4py_walk *walk, const char *prefix, const char *name)
{
    static const char *const sites[] = {"local/lib/%s/dist-packages", "lib/%s/site-packages",
                                        "lib/%s/dist-packages", "lib/python3/dist-packages"};
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
        struct jr_buf site JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_printf(&site, "%s/", prefix);
        jr_buf_replaced(&site, sites[i], "%s", name);
        if (!site.failed && search_site(walk, site.data, site.len))
            return true;
    }
    return false;
}

/* A virtual environment: is what its interpreter is of hidden from it? */
static bool hides_others(const char *prefix, bool *ret_is)
{
    struct jr_buf config JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_buf path JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&path, "%s/pyvenv.cfg", prefix);
    *ret_is = !path.failed && jr_io_read_file(&config, AT_FDCWD, path.data, CONFIG_MOST, NULL) == 0;
    return *ret_is &&
           (config.len == 0 || strstr(config.data, "include-system-site-packages = true") == NULL);
}

/* In the order in which the interpreter looks. */
static void search_all_sites(struct mpi4py_walk *walk, const char *python)
{
    char real[PATH_MAX];
    bool virtual = false;
    const char *own = find_prefix(walk, python), *home = walk->how->home;
    if (own == NULL || realpath(python, real) == NULL)
        return;
    for (const char *at = walk->how->python_path; at != NULL;) {
        size_t len = strcspn(at, ":");
        if (search_site(walk, at, len))
            return;
        at = at[len] == '\0' ? NULL : at + len + 1;
    }
    const char *name = strrchr(real, '/') + 1; /* "python3.11" */
    const char *prefix = find_prefix(walk, real);
    bool hidden = hides_others(own, &virtual);
    if ((virtual && search_below(walk, own, name)) || hidden)
        return;
    const char *site =
        home == NULL ? NULL
                     : jr_arena_printf(walk->arena, "%s/.local/lib/%s/site-packages", home, name);
    if ((site == NULL || !search_site(walk, site, strlen(site))) && prefix != NULL)
        (void)search_below(walk, prefix, name);
}

bool jr_mpi4py_find(struct jr_mpi_library *ret, struct jr_arena *arena, const char *python,
                    const struct jr_mpi4py_search *how)
{
    struct mpi4py_walk walk = {.arena = arena, .how = how};
    search_all_sites(&walk, python);
    if (walk.several || walk.found.kind == JR_MPI_KIND_NONE)
        return false;
    *ret = walk.found;
    return true;
}
