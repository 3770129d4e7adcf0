/*
 * Any bytes as facts of a machine, a shorthand where they begin like one and else a facts file:
 * what is taken is written as a facts file that is taken again, for the same facts.
 */
#include "fuzz.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "doc/doc.h"
#include "resolve/device_profile.h"

struct facts {
    struct jr_host hw;
    struct jr_arena arena;
    struct jr_diags diags;
    bool taken;
};

static struct facts load(const char *profile)
{
    struct facts facts = {0};
    int got = jr_profile_load(&facts.hw, &facts.arena, profile, &facts.diags);
    facts.taken = got == 0;
    require(facts.taken == (facts.diags.errors == 0));
    JR_BUF_CLEANUP struct jr_buf told = JR_BUF_INIT;
    jr_diags_sort(&facts.diags);
    jr_diags_render(&told, &facts.diags, JR_DIAG_HUMAN, false);
    return facts;
}

static struct facts load_bytes(const void *bytes, size_t len)
{
    char path[32];
    int fd = memfd_create("facts", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct facts facts = load(path);
    (void)close(fd);
    return facts;
}

static void unload(struct facts *facts)
{
    jr_diags_release(&facts->diags);
    jr_arena_release(&facts->arena);
}

/* Where the shorthand is not UTF-8, the facts have U+FFFD instead. */
static void check_again(const struct facts *facts)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT, same = JR_BUF_INIT;
    jr_profile_emit(&text, &facts->hw);
    require(!text.failed);
    if (text.len > JR_DOC_MAX_BYTES)
        return;
    struct facts again = load_bytes(text.data, text.len);
    require(again.taken);
    jr_profile_emit(&same, &again.hw);
    require(strcmp(same.data, text.data) == 0 || strstr(text.data, "\xef\xbf\xbd") != NULL);
    unload(&again);
}

/* By the rule of jr_profile_load: anything else names a file. */
static bool is_shorthand(const char *text)
{
    return *text >= '0' && *text <= '9' && strpbrk(text, "/.") == NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text;
    fuzz_split(&text, 1, '\0', data, size);
    struct facts facts = is_shorthand(text) ? load(text) : load_bytes(data, size);
    if (facts.taken)
        check_again(&facts);
    unload(&facts);
    fuzz_free(&text, 1);
    return 0;
}
