/* What a program or a shared library needs, as its file says: the dynamic section of ELF (elf(5)),
 * read without loading or running anything. */
#ifndef JR_ELF_NEEDED_H
#define JR_ELF_NEEDED_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/strv.h"

struct jr_elf_needed {
    struct jr_strv names; /* of libraries: "libc.so.6" */
    const char *runpath;  /* folders with colons, where it looks for them after
                             LD_LIBRARY_PATH; NULL: none */
    const char *rpath;    /* the same, before it; NULL: none */
};

/* Read the file at `path`. False where it is no regular file, no ELF of this machine's word size
 * and byte order, or a broken one. One that is linked statically needs nothing. */
bool jr_elf_needed(struct jr_elf_needed *ret, struct jr_arena *arena, const char *path);

#endif
