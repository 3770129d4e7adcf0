/*
 * What a library exports, for did-you-mean: its dynamic symbols, as elf(5) has
 * them. dlsym(3) finds a name, but lists none.
 */
#include "worker/c/worker.h"

#include <fcntl.h>
#include <link.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/did_you_mean.h"

#include "base/banned.h"

/* A file in memory. */
struct image {
    const char *bytes;
    size_t len;
};

/* `len` bytes of the file, or NULL where it has none there. */
static const void *image_part(const struct image *image, size_t offset,
                              size_t len)
{
    bool inside = offset <= image->len && len <= image->len - offset;
    return inside && offset % alignof(ElfW(Sym)) == 0 ? image->bytes + offset
                                                      : NULL;
}

/* The functions among the symbols of a section; false where they cannot be
 * read. */
static bool collect_functions(struct jr_arena *arena, const struct image *image,
                              const ElfW(Shdr) * section,
                              const ElfW(Shdr) * strings, const char ***ret)
{
    const ElfW(Sym) *symbols =
        image_part(image, section->sh_offset, section->sh_size);
    const char *text = image->bytes + strings->sh_offset;
    size_t count = section->sh_size / sizeof *symbols, found = 0;
    bool whole = strings->sh_offset < image->len && strings->sh_size > 0 &&
                 strings->sh_size <= image->len - strings->sh_offset &&
                 text[strings->sh_size - 1] == '\0';
    const char **names = jr_arena_array(arena, count + 1, sizeof *names);
    if (symbols == NULL || !whole || names == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        if (symbols[i].st_shndx != SHN_UNDEF &&
            ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC &&
            symbols[i].st_name < strings->sh_size)
            names[found++] = text + symbols[i].st_name;
    *ret = names;
    return true;
}

/* The names of the functions that a library exports, NULL-terminated. */
static bool list_exported_functions(struct jr_arena *arena,
                                    const struct image *image,
                                    const char ***ret)
{
    const ElfW(Ehdr) *head = image_part(image, 0, sizeof *head);
    if (head == NULL || head->e_shentsize != sizeof(ElfW(Shdr)))
        return false;
    size_t count = head->e_shnum;
    const ElfW(Shdr) *sections =
        image_part(image, head->e_shoff, count * sizeof *sections);
    for (size_t i = 0; sections != NULL && i < count; i++)
        if (sections[i].sh_type == SHT_DYNSYM && sections[i].sh_link < count)
            return collect_functions(arena, image, &sections[i],
                                     &sections[sections[i].sh_link], ret);
    return false;
}

/* The name that C++ gives to a function of this name: it holds its length and
 * the name itself. */
static const char *find_mangled(const char *symbol, const char *const *names)
{
    char part_of[256];
    int len =
        snprintf(part_of, sizeof part_of, "%zu%s", strlen(symbol), symbol);
    if (len < 0 || (size_t)len >= sizeof part_of)
        return NULL;
    for (; *names != NULL; names++)
        if (strncmp(*names, "_Z", 2) == 0 && strstr(*names, part_of) != NULL)
            return *names;
    return NULL;
}

static void suggest_symbol(const struct image *image, const char *symbol,
                           struct jr_buf *ret)
{
    struct jr_arena arena = JR_ARENA_INIT;
    const char **names;
    if (list_exported_functions(&arena, image, &names)) {
        const char *foreign = find_mangled(symbol, names);
        const char *near = jr_did_you_mean(symbol, names);
        if (foreign != NULL)
            jr_buf_printf(ret, "; it has C++'s '%s': declare it extern \"C\"",
                          foreign);
        else if (near != NULL)
            jr_buf_printf(ret, ": did you mean '%s'?", near);
    }
    jr_arena_release(&arena);
}

void jr_worker_suggest(const char *path, const char *symbol, struct jr_buf *ret)
{
    JR_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_size <= 0)
        return;
    size_t len = (size_t)st.st_size;
    void *bytes = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return;
    suggest_symbol(&(struct image){bytes, len}, symbol, ret);
    (void)munmap(bytes, len);
}
