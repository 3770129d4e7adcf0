#include "base/strv.h"

#include <fnmatch.h>
#include <string.h>

#include "base/cleanup.h"

#include "base/banned.h"

void jr_strv_push(struct jr_strv *strv, struct jr_arena *arena, char *item)
{
    if (item == NULL) {
        arena->failed = true;
        return;
    }
    /* The array that grows holds the terminating NULL too. */
    size_t slots = strv->items == NULL ? 0 : strv->count + 1;
    if (slots == 0 && jr_arena_push(arena, &strv->items, &slots, sizeof item) == NULL)
        return;
    if (jr_arena_push(arena, &strv->items, &slots, sizeof item) == NULL)
        return;
    strv->items[strv->count++] = item;
}

bool jr_words_have(const char *list, char between, const char *word, size_t len)
{
    for (size_t size; *list != '\0'; list += size + (list[size] == between)) {
        size = (size_t)(strchrnul(list, between) - list);
        if (size == len && memcmp(list, word, len) == 0)
            return true;
    }
    return false;
}

const char *jr_env_get(char *const *envp, const char *name)
{
    size_t len = strlen(name);
    for (; envp != NULL && *envp != NULL; envp++)
        if (strncmp(*envp, name, len) == 0 && (*envp)[len] == '=')
            return *envp + len + 1;
    return NULL;
}

/* The bytes at `text` that mean themselves in a glob, in any locale. */
static size_t plain_len(const char *text)
{
    size_t len = 0;
    while (text[len] == '_' || (text[len] >= '0' && text[len] <= '9') ||
           ((text[len] | 0x20) >= 'a' && (text[len] | 0x20) <= 'z'))
        len++;
    return len;
}

void jr_env_unset(struct jr_strv *env, const char *glob)
{
    size_t kept = 0, len = plain_len(glob);
    for (size_t i = 0; i < env->count; i++) {
        const char *item = env->items[i], *equals = strchr(item, '=');
        size_t name_len = equals == NULL ? 0 : (size_t)(equals - item);
        bool matches = false;
        /* Nearly every glob is a beginning, which needs no fnmatch(3). */
        if (equals != NULL && strcmp(glob + len, "*") == 0) {
            matches = name_len >= len && memcmp(item, glob, len) == 0;
        } else if (equals != NULL) {
            JR_FREE char *name = strndup(item, name_len);
            matches = name != NULL && fnmatch(glob, name, 0) == 0;
        }
        if (!matches)
            env->items[kept++] = env->items[i];
    }
    env->count = kept;
    if (env->items != NULL)
        env->items[kept] = NULL;
}

static char fold_name_byte(char byte)
{
    if (byte == '-')
        return '_';
    return byte >= 'a' && byte <= 'z' ? (char)(byte - 'a' + 'A') : byte;
}

static bool is_same_folded(const char *name, const char *word, size_t len)
{
    while (len > 0 && fold_name_byte(name[len - 1]) == fold_name_byte(word[len - 1]))
        len--;
    return len == 0;
}

/* The places that a word may have in a name that matches: with `*` before it, after it, or both. */
static bool word_matches(const char *name, size_t len, const char *word, size_t word_len,
                         bool before, bool behind)
{
    const char first = fold_name_byte(*word);
    if (len < word_len || (!before && !behind && len > word_len))
        return false;
    if (!before || !behind)
        return is_same_folded(before ? name + len - word_len : name, word, word_len);
    for (; len >= word_len; name++, len--)
        if (fold_name_byte(*name) == first && is_same_folded(name, word, word_len))
            return true;
    return false;
}

/* Whether a glob of any kind matches. */
static bool glob_matches(const char *glob, const char *name, size_t len)
{
    JR_FREE char *copy = strndup(name, len);
    if (copy == NULL)
        return true;
    for (char *dash = copy; (dash = strchr(dash, '-')) != NULL;)
        *dash = '_';
    return fnmatch(glob, copy, FNM_CASEFOLD) == 0;
}

/* fnmatch(3) makes wide characters of both at each call; nearly every glob is a word with a star
 * before it, after it, or both, which does not need them. */
bool jr_env_matches(char *const *globs, size_t count, const char *name, size_t len)
{
    bool found = false;
    for (size_t i = 0; i < count && !found; i++) {
        bool before = *globs[i] == '*';
        const char *word = globs[i] + before;
        size_t word_len = plain_len(word);
        bool behind = word[word_len] == '*';
        bool plain = word_len > 0 && word[word_len + behind] == '\0';
        found = plain ? word_matches(name, len, word, word_len, before, behind)
                      : glob_matches(globs[i], name, len);
    }
    return found;
}

void jr_strv_copy(struct jr_strv *strv, struct jr_arena *arena, char *const *items)
{
    *strv = (struct jr_strv){0};
    for (; items != NULL && *items != NULL; items++)
        jr_strv_push(strv, arena, *items);
}
