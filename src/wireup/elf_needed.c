#include "wireup/elf_needed.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#include "base/banned.h"

/* No real file has more; what claims to is not read. */
enum { SEGMENTS_MAX = 256, ENTRIES_MAX = 4096, TEXT_MAX = 4096 };

/* The program headers that count, and where the file is. */
struct elf_file {
    int fd;
    ElfW(Phdr) segments[SEGMENTS_MAX];
    size_t count;
    struct jr_arena *arena;
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

static bool read_segments(struct elf_file *file)
{
    ElfW(Ehdr) header;
    if (!read_at(file->fd, &header, sizeof header, 0) || !is_native(&header) ||
        header.e_phnum > SEGMENTS_MAX)
        return false;
    file->count = header.e_phnum;
    return read_at(file->fd, file->segments, file->count * sizeof *file->segments, header.e_phoff);
}

static const ElfW(Phdr) * find_dynamic(const struct elf_file *file)
{
    for (size_t i = 0; i < file->count; i++)
        if (file->segments[i].p_type == PT_DYNAMIC)
            return &file->segments[i];
    return NULL;
}

/* Where in the file an address of the loaded program is. */
static bool find_offset(const struct elf_file *file, uint64_t address, uint64_t *ret)
{
    for (size_t i = 0; i < file->count; i++) {
        const ElfW(Phdr) *segment = &file->segments[i];
        uint64_t from = segment->p_vaddr;
        if (segment->p_type != PT_LOAD || address < from || address - from >= segment->p_filesz)
            continue;
        *ret = segment->p_offset + (address - from);
        return true;
    }
    return false;
}

/* A text of the file; NULL: there is none. */
static char *read_text(const struct elf_file *file, uint64_t offset)
{
    char text[TEXT_MAX + 1];
    if (offset > INT64_MAX)
        return NULL;
    ssize_t len = pread(file->fd, text, TEXT_MAX, (off_t)offset);
    if (len <= 0 || memchr(text, '\0', (size_t)len) == NULL)
        return NULL;
    return jr_arena_strdup(file->arena, text);
}

static void take_dynamic_entry(const struct elf_file *file, const ElfW(Dyn) * entry, uint64_t texts,
                               struct jr_elf_needed *ret)
{
    if (entry->d_tag != DT_NEEDED && entry->d_tag != DT_RUNPATH && entry->d_tag != DT_RPATH)
        return;
    uint64_t at = entry->d_un.d_val;
    char *text = at > INT64_MAX - texts ? NULL : read_text(file, texts + at);
    if (text == NULL)
        return;
    if (entry->d_tag == DT_NEEDED)
        jr_strv_push(&ret->names, file->arena, text);
    else if (entry->d_tag == DT_RUNPATH)
        ret->runpath = text;
    else
        ret->rpath = text;
}

static bool take_dynamic(const struct elf_file *file, const ElfW(Phdr) * segment,
                         struct jr_elf_needed *ret)
{
    size_t count = segment->p_filesz / sizeof(ElfW(Dyn));
    if (count > ENTRIES_MAX)
        return false;
    ElfW(Dyn) *entries = jr_arena_array(file->arena, count, sizeof *entries);
    if (entries == NULL || !read_at(file->fd, entries, count * sizeof *entries, segment->p_offset))
        return false;
    uint64_t texts = 0;
    bool found = false;
    for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++)
        if (entries[i].d_tag == DT_STRTAB)
            found = find_offset(file, entries[i].d_un.d_ptr, &texts);
    for (size_t i = 0; found && i < count && entries[i].d_tag != DT_NULL; i++)
        take_dynamic_entry(file, &entries[i], texts, ret);
    return found;
}

bool jr_elf_needed(struct jr_elf_needed *ret, struct jr_arena *arena, const char *path)
{
    struct stat st;
    *ret = (struct jr_elf_needed){0};
    JR_CLOSE int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct elf_file file = {.fd = fd, .arena = arena};
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || !read_segments(&file))
        return false;
    const ElfW(Phdr) *dynamic = find_dynamic(&file);
    return dynamic == NULL || take_dynamic(&file, dynamic, ret);
}
