/*
 * A vector of strings in an arena, NULL-terminated for execve. The strings are borrowed unless a
 * call says that it copies.
 */
#ifndef JR_STRV_H
#define JR_STRV_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

struct jr_strv {
    char **items; /* NULL-terminated once anything was added */
    size_t count;
};

/* Append `item` itself; NULL fails the arena. */
void jr_strv_push(struct jr_strv *strv, struct jr_arena *arena, char *item);

/* Whether a list of words, with this character between them, has one of `len` bytes. */
bool jr_words_have(const char *list, char between, const char *word, size_t len);

/* Environments: items are NAME=VALUE; lookup is linear. */

/* The value of `name`, which has no '=' in it, in a NULL-terminated envp, or NULL. */
const char *jr_env_get(char *const *envp, const char *name);

/* Remove every NAME=... whose name matches the glob (fnmatch, no flags). */
void jr_env_unset(struct jr_strv *env, const char *glob);

/* Whether any of `count` globs matches a name of `len` bytes: how `secrets` is read, of variables
 * and of arguments, so case does not count, and a dash is an underscore. True if memory runs out:
 * what may be secret is. */
bool jr_env_matches(char *const *globs, size_t count, const char *name, size_t len);

/* A vector with the same strings, borrowed. */
void jr_strv_copy(struct jr_strv *strv, struct jr_arena *arena, char *const *items);

#endif
