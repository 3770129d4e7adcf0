/*
 * Marks that an editor of prose puts in the place of those of a program:
 * “train” for "train", –epochs for --epochs. YAML has no meaning for them, so
 * they are part of the text. The header of this file is lint.h.
 */
#include "spec/lint.h"

#include <ctype.h>
#include <string.h>

#include "base/utf8.h"

#include "base/banned.h"

enum { NO_BREAK_SPACE = 0xa0, EN_DASH = 0x2013, EM_DASH = 0x2014 };

static bool is_quote(uint32_t point)
{
    return (point >= 0x2018 && point <= 0x201f) || point == 0xab ||
           point == 0xbb || point == 0x2039 || point == 0x203a;
}

/* The size of the mark that a text begins with; 0: it begins with none. */
static size_t quote_before(const char *text, size_t len)
{
    uint32_t point = 0;
    size_t size = len == 0 ? 0 : jr_utf8_next(text, len, &point);
    return is_quote(point) ? size : 0;
}

/* The size of the mark that a text ends with, or 0. */
static size_t quote_behind(const char *text, size_t len)
{
    enum { TAIL = 0xc0, TAIL_BITS = 0x80 };
    size_t size = 1;
    while (size < len && ((unsigned char)text[len - size] & TAIL) == TAIL_BITS)
        size++;
    return len == 0 ? 0 : quote_before(text + len - size, size);
}

const char *jr_lint_typed(struct jr_lint *lint, const struct jr_node *node)
{
    const char *text = node->text;
    size_t len = node->len;
    if (node->kind != JR_NODE_SCALAR || !node->plain || node->filled != NULL)
        return NULL;
    size_t before = quote_before(text, len);
    size_t behind = before == 0 ? 0 : quote_behind(text, len);
    if (behind == 0 || before + behind >= len)
        return NULL;
    const char *inner =
        jr_arena_strndup(lint->arena, text + before, len - before - behind);
    bool single = inner != NULL && strpbrk(inner, "\"\\") != NULL;
    if (inner == NULL || (single && strchr(inner, '\'') != NULL))
        return NULL;
    return jr_arena_printf(lint->arena, single ? "'%s'" : "\"%s\"", inner);
}

/* What stands for an option that begins with a dash of prose, or NULL. */
static const char *typed_option(struct jr_lint *lint,
                                const struct jr_node *node,
                                const struct jr_node_step *at)
{
    uint32_t point = 0;
    if (at == NULL || at->key != NULL || node->filled != NULL || node->len == 0)
        return NULL;
    size_t size = jr_utf8_next(node->text, node->len, &point);
    const char *rest = node->text + size;
    if ((point != EN_DASH && point != EM_DASH) ||
        !isalpha((unsigned char)*rest))
        return NULL;
    bool lone = point == EN_DASH && rest[1] == '\0';
    return jr_arena_printf(lint->arena, "%s%s", lone ? "-" : "--", rest);
}

/* Whether a value is a text for people, in which such marks are meant. */
static bool is_prose(const struct jr_node_step *at)
{
    while (at != NULL && at->up != NULL)
        at = at->up;
    return at != NULL && at->key != NULL &&
           (strcmp(at->key, "description") == 0 ||
            strcmp(at->key, "labels") == 0);
}

void jr_lint_typography(struct jr_lint *lint, const struct jr_node *node,
                        const struct jr_node_step *at)
{
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
    if ((unsigned char)node->text[0] < 0x80 || is_prose(at))
        return;
    const char *quoted = jr_lint_typed(lint, node);
    const char *option = typed_option(lint, node, at);
    if (quoted == NULL && option == NULL)
        return;
    jr_point_path(&path, at);
    struct jr_diag *diag = jr_diags_warning(
        lint->diags, JR_CODE_TYPOGRAPHIC_MARK, node->span, path.data,
        quoted != NULL ? "typographic quotes are part of the text"
                       : "a typographic dash does not begin an option");
    jr_diag_help(lint->diags, diag, "write %s",
                 quoted != NULL ? quoted : option);
}

const char *jr_lint_typed_key(struct jr_lint *lint, const struct jr_node *key)
{
    uint32_t point = 0;
    size_t size = 0;
    if (key->len > 0)
        size = jr_utf8_next(key->text, key->len, &point);
    const char *quoted = jr_lint_typed(lint, key);
    if (quoted != NULL)
        return jr_arena_strndup(lint->arena, quoted + 1, strlen(quoted) - 2);
    if (point != NO_BREAK_SPACE)
        return NULL;
    while (size < key->len && (key->text[size] == ' ' ||
                               strncmp(key->text + size, "\xc2\xa0", 2) == 0))
        size += key->text[size] == ' ' ? 1 : 2;
    return key->text + size;
}
