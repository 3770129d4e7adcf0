/*
 * What the fuzz targets share. A target is one function of any bytes, which aborts where a promise
 * does not hold. libFuzzer calls it, and so does replay.c, over the seeds and mutations of them.
 */
#ifndef JR_FUZZ_H
#define JR_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(bool holds)
{
    if (!holds)
        abort();
}

/* Cut the input at the first `mark` into at most `count` texts, NUL-terminated copies that end at
 * their first NUL; those that are not there are "". Free them with fuzz_free. */
static inline void fuzz_split(char **ret, size_t count, char mark, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < count; i++) {
        const uint8_t *end =
            i + 1 < count && size > 0 ? memchr(data, (unsigned char)mark, size) : NULL;
        size_t len = end == NULL ? size : (size_t)(end - data);
        ret[i] = strndup((const char *)data, len);
        require(ret[i] != NULL);
        data += end == NULL ? len : len + 1;
        size -= end == NULL ? len : len + 1;
    }
}

static inline void fuzz_free(char **texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(texts[i]);
}

/* Whether one of the ranges of a well-formed rank set names `rank`, read naively. */
static inline bool fuzz_names(const char *text, uint32_t rank)
{
    for (; text != NULL; text = strchr(text, ',')) {
        text += *text == ',';
        char *end;
        unsigned long first = strtoul(text, &end, 10), last = first, step = 1;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        if (*end == '/')
            step = strtoul(end + 1, &end, 10);
        if (rank >= first && rank <= last && (rank - first) % step == 0)
            return true;
    }
    return false;
}

#endif
