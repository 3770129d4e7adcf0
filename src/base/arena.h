/*
 * Memory that lives and dies together.
 *
 * Every stage owns one arena: its value is built in it and released with it,
 * so no node has a destructor of its own. Allocation failure is sticky: the
 * call returns NULL and sets `failed`; string calls pass a NULL source on. So
 * a function checks what it dereferences at once, and the rest by one look at
 * `failed` before it reports success.
 */
#ifndef JR_ARENA_H
#define JR_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct jr_arena_block;

struct jr_arena {
    struct jr_arena_block *blocks;
    size_t used;  /* bytes handed out */
    size_t limit; /* refuse beyond this many bytes; 0 is no limit */
    bool failed;
};

#define JR_ARENA_INIT    ((struct jr_arena){0})
#define JR_ARENA_CLEANUP __attribute__((cleanup(jr_arena_release)))

/* Free everything and leave an empty, usable arena. NULL is allowed. */
void jr_arena_release(struct jr_arena *arena);

/* `size` zeroed bytes aligned for any type, or NULL. */
void *jr_arena_alloc(struct jr_arena *arena, size_t size);

/* `count` zeroed items of `size` bytes; an overflow is a failure. A count of 0
 * yields a valid pointer to nothing. */
void *jr_arena_array(struct jr_arena *arena, size_t count, size_t size);

/* A copy of a text. A NULL source yields NULL without failing the arena. */
char *jr_arena_strdup(struct jr_arena *arena, const char *text);

/* The same of the first `len` bytes of a text. */
char *jr_arena_strndup(struct jr_arena *arena, const char *text, size_t len);

/* What printf(3) would print, as a string; NULL if memory runs out. */
char *jr_arena_printf(struct jr_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same for a list of arguments. */
char *jr_arena_vprintf(struct jr_arena *arena, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* Grow an array by one item of `size` bytes: `items` is the address of the
 * array's pointer (NULL while it is empty). Returns the new zeroed slot and
 * raises `*count`, or returns NULL. It always returns NULL once anything of the
 * arena has failed, so that arrays that share a count stay alike. Amortised
 * doubling; the old array stays in the arena. The capacity is derived from
 * `*count`, so only arrays that grew by this call may be passed. */
void *jr_arena_push(struct jr_arena *arena, void *items, size_t *count, size_t size);

/* Move all that `from` owns, its failure too, into `arena`, where it stays at its addresses; `from`
 * is empty and usable afterwards. Nothing is allocated, so the limit of `arena` may be exceeded by
 * it. */
void jr_arena_adopt(struct jr_arena *arena, struct jr_arena *from);

#endif
