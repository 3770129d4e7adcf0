/* A shared library as its dynamic section says what it needs, and no more. */
#ifndef ELF_FILE_H
#define ELF_FILE_H

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct elf_file {
    ElfW(Ehdr) head;
    ElfW(Phdr) segments[2];
    ElfW(Dyn) dynamic[5];
    char texts[160];
};

/* A file that needs `first` and `second`, or less where they are NULL, and looks for them in `path`
 * by the tag. */
static inline struct elf_file elf_file_make(const char *first, const char *second, ElfW(Sxword) tag,
                                            const char *path)
{
    struct elf_file image = {
        .head = {.e_type = ET_DYN,
                 .e_phoff = offsetof(struct elf_file, segments),
                 .e_phentsize = sizeof(ElfW(Phdr)),
                 .e_phnum = 2},
        .segments = {{.p_type = PT_LOAD, .p_filesz = sizeof image},
                     {.p_type = PT_DYNAMIC,
                      .p_offset = offsetof(struct elf_file, dynamic),
                      .p_filesz = sizeof image.dynamic}},
        .dynamic = {{.d_tag = DT_STRTAB, .d_un.d_ptr = offsetof(struct elf_file, texts)}},
    };
    const struct {
        ElfW(Sxword) tag;
        const char *text;
    } entries[] = {{DT_NEEDED, first}, {DT_NEEDED, second}, {tag, path}};
    size_t count = 1, at = 1;
    memcpy(image.head.e_ident, ELFMAG, SELFMAG);
    image.head.e_ident[EI_CLASS] = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    image.head.e_ident[EI_DATA] =
        __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
    for (size_t i = 0; i < 3; i++) {
        if (entries[i].text == NULL)
            continue;
        image.dynamic[count].d_tag = entries[i].tag;
        image.dynamic[count++].d_un.d_val = at;
        (void)snprintf(image.texts + at, sizeof image.texts - at, "%s", entries[i].text);
        at += strlen(entries[i].text) + 1;
    }
    return image;
}

#endif
