#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

/* With JR_STARVED each request has a block of its own, no larger than it is, so that a test can
 * have any one of them fail, and a sanitizer sees who reads beyond it. */
#ifdef JR_STARVED
enum { FIRST_BLOCK = 0, LARGEST_BLOCK = 0, FIRST_ITEMS = 1, ALIGN = 1 };
#else
enum {
    FIRST_BLOCK = 4096,
    LARGEST_BLOCK = 1 << 20,
    FIRST_ITEMS = 4,
    ALIGN = _Alignof(max_align_t)
};
#endif

struct jr_arena_block {
    struct jr_arena_block *next;
    size_t used, size;
    _Alignas(max_align_t) unsigned char bytes[];
};

void jr_arena_release(struct jr_arena *arena)
{
    if (arena == NULL)
        return;
    for (struct jr_arena_block *block = arena->blocks; block != NULL;) {
        struct jr_arena_block *next = block->next;
        free(block);
        block = next;
    }
    *arena = (struct jr_arena){.limit = arena->limit};
}

static void *fail_arena(struct jr_arena *arena)
{
    arena->failed = true;
    return NULL;
}

/* A new block with room for `size` bytes. A request larger than the usual block gets one to itself.
 * Blocks are zeroed once, here: nothing is reused. */
static struct jr_arena_block *add_block(struct jr_arena *arena, size_t size)
{
    size_t room = arena->blocks == NULL ? FIRST_BLOCK : arena->blocks->size * 2;
    if (room > LARGEST_BLOCK)
        room = LARGEST_BLOCK;
    if (room < size)
        room = size;
    struct jr_arena_block *block = calloc(1, sizeof *block + room);
    if (block == NULL)
        return fail_arena(arena);
    block->size = room;
    block->next = arena->blocks;
    arena->blocks = block;
    return block;
}

void *jr_arena_alloc(struct jr_arena *arena, size_t size)
{
    const size_t align = ALIGN;
    if (size > SIZE_MAX / 2)
        return fail_arena(arena);
    size = size == 0 ? align : (size + align - 1) / align * align;
    if (arena->limit != 0 && (arena->used > arena->limit || size > arena->limit - arena->used))
        return fail_arena(arena);
    struct jr_arena_block *block = arena->blocks;
    if (block == NULL || block->size - block->used < size)
        block = add_block(arena, size);
    if (block == NULL)
        return NULL;
    void *memory = block->bytes + block->used;
    block->used += size;
    arena->used += size;
    return memory;
}

void *jr_arena_array(struct jr_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return fail_arena(arena);
    return jr_arena_alloc(arena, bytes);
}

char *jr_arena_strdup(struct jr_arena *arena, const char *text)
{
    return text == NULL ? NULL : jr_arena_strndup(arena, text, strlen(text));
}

char *jr_arena_strndup(struct jr_arena *arena, const char *text, size_t len)
{
    if (text == NULL)
        return NULL;
    char *copy = len == SIZE_MAX ? fail_arena(arena) : jr_arena_alloc(arena, len + 1);
    if (copy != NULL)
        memcpy(copy, text, len);
    return copy;
}

char *jr_arena_vprintf(struct jr_arena *arena, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (len < 0)
        return fail_arena(arena);
    char *text = jr_arena_alloc(arena, (size_t)len + 1);
    if (text != NULL)
        (void)vsnprintf(text, (size_t)len + 1, format, args);
    return text;
}

char *jr_arena_printf(struct jr_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = jr_arena_vprintf(arena, format, args);
    va_end(args);
    return text;
}

void *jr_arena_push(struct jr_arena *arena, void *items, size_t *count, size_t size)
{
    size_t full = *count, bytes = full * size;
    unsigned char *array, *grown;
    if (arena->failed)
        return NULL;
    memcpy(&array, items, sizeof array);
    /* Capacities are FIRST_ITEMS and then the powers of two, so that an array is full exactly when
     * its count is one of them. It grows in place if it is the newest allocation, else as a copy.
     */
    if (full == 0 || (full >= FIRST_ITEMS && (full & (full - 1)) == 0)) {
        const struct jr_arena_block *block = arena->blocks;
        bool last = full > 0 && array + bytes == block->bytes + block->used &&
                    bytes <= block->size - block->used;
        grown = full == 0 ? jr_arena_array(arena, FIRST_ITEMS, size)
                          : jr_arena_array(arena, last ? 1 : 2, bytes);
        if (grown == NULL)
            return NULL;
        if (!last && full > 0)
            memcpy(grown, array, bytes);
        array = last ? array : grown;
        memcpy(items, &array, sizeof array);
    }
    return memset(array + (*count)++ * size, 0, size);
}

/* The adopted blocks come last: the one in use stays in use. */
void jr_arena_adopt(struct jr_arena *arena, struct jr_arena *from)
{
    struct jr_arena_block **end = &arena->blocks;
    while (*end != NULL)
        end = &(*end)->next;
    *end = from->blocks;
    arena->used += from->used;
    arena->failed |= from->failed;
    *from = (struct jr_arena){.limit = from->limit};
}
