/*
 * No memory: between starve_begin and starve_end a request of ours to the allocator fails; each
 * once alone, and once with all behind it. With starve_begin_json those of jansson's for us count
 * as well, which has to parse nothing then, for it takes no memory for another text (strbuffer.c).
 * Of a program for which jr_starves is called in CMake.
 */
#ifndef JR_STARVE_H
#define JR_STARVE_H

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/buf.h"
#include "unit.h"

static struct {
    unsigned long count; /* of requests since it began */
    unsigned long fails; /* the one that does; 0: none */
    bool more;           /* and all behind it */
    bool begun;
} starved;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);

static bool starve_refuses(void)
{
    if (!starved.begun)
        return false;
    starved.count++;
    if (starved.count != starved.fails && (!starved.more || starved.count < starved.fails))
        return false;
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return starve_refuses() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return starve_refuses() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size)
{
    return starve_refuses() ? NULL : __real_realloc(block, size);
}

static inline void starve_begin(void)
{
    json_set_alloc_funcs(__real_malloc, free);
    starved.begun = true;
}

static inline void starve_begin_json(void)
{
    json_set_alloc_funcs(__wrap_malloc, free);
    starved.begun = true;
}

static inline void starve_end(void)
{
    starved.begun = false;
}

/* Something that appends what it found, and says whether it could. */
typedef bool starve_trial(struct jr_buf *out);

static bool starve_try(starve_trial *trial, struct jr_buf *out, unsigned long fails, bool more)
{
    *out = JR_BUF_INIT;
    starved.count = 0;
    starved.fails = fails;
    starved.more = more && fails > 0;
    bool good = trial(out) && !out->failed;
    CU_ASSERT_FALSE_FATAL(starved.begun);
    return good;
}

/* Without memory for something it says so, or it finds what it finds with memory. */
static inline void starve(starve_trial *trial)
{
    struct jr_buf whole, out;
    CU_ASSERT_TRUE_FATAL(starve_try(trial, &whole, 0, false));
    unsigned long most = starved.count;
    CU_ASSERT_TRUE_FATAL(most > 0 && whole.len > 0);
    for (unsigned long n = 2; n < 2 * most + 2; n++) {
        if (starve_try(trial, &out, n / 2, n % 2 != 0))
            JR_ASSERT_TEXT(out.data, whole.data);
        jr_buf_release(&out);
    }
    jr_buf_release(&whole);
}

#endif
