#include "spec/lint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

#include "base/banned.h"

/* The number that all of a text is, in octal or hexadecimal. */
static bool read_based(const char *text, bool hex, uint64_t *ret)
{
    const char *digits = hex ? "0123456789abcdefABCDEF" : "01234567";
    size_t len = strspn(text, digits);
    errno = 0;
    *ret = strtoull(text, NULL, hex ? 16 : 8);
    return len > 0 && text[len] == '\0' && errno == 0;
}

/* 010, 0x10 and 0o10: readers of YAML disagree. */
static bool suggest_based(struct jr_lint *lint, struct jr_diag *diag,
                          const char *text)
{
    size_t zeros = strspn(text, "0");
    uint64_t decimal, based;
    if (zeros == 0)
        return false;
    if (jr_num_u64(text + zeros, &decimal)) {
        if (read_based(text, false, &based))
            jr_diag_help(lint->diags, diag,
                         "did you mean %" PRIu64 ", or octal %" PRIu64 "?",
                         decimal, based);
        else
            jr_diag_help(lint->diags, diag, "did you mean %" PRIu64 "?",
                         decimal);
        return true;
    }
    bool octal = text[1] == 'o', hex = text[1] == 'x';
    if (!octal && !hex)
        return false;
    if (read_based(text + 2, hex, &based))
        jr_diag_help(lint->diags, diag, "did you mean %" PRIu64 "?", based);
    return true;
}

static bool is_in_range(const struct jr_spec_type *type, const char *text)
{
    uint64_t value;
    return jr_num_u64(text, &value) && value >= type->min && value <= type->max;
}

/* The whole number that +4, 1_000, 4.0 or 1e2 is. */
static bool read_loosely(const char *text, uint64_t *ret)
{
    char digits[32];
    size_t len = 0;
    double real;
    for (text += *text == '+'; *text != '\0' && len < sizeof digits - 1; text++)
        if (*text != '_')
            digits[len++] = *text;
    digits[len] = '\0';
    if (jr_num_u64(digits, ret))
        return true;
    if (!jr_num_double(digits, &real) || real < 0 || real > 1e15 ||
        (double)(uint64_t)real != real)
        return false;
    *ret = (uint64_t)real;
    return true;
}

static void suggest_number(struct jr_lint *lint, struct jr_diag *diag,
                           const struct jr_spec_type *type,
                           const struct jr_node *node)
{
    uint64_t whole;
    if (suggest_based(lint, diag, node->text) ||
        !read_loosely(node->text, &whole))
        return;
    const char *plain = jr_arena_printf(lint->arena, "%" PRIu64, whole);
    if (plain == NULL || strcmp(plain, node->text) == 0)
        return;
    jr_diag_help(lint->diags, diag, "did you mean %s?", plain);
    if (is_in_range(type, plain))
        jr_lint_fix(lint, diag, node, plain);
}

struct jr_node *jr_read_integer(struct jr_lint *lint,
                                const struct jr_spec_type *type,
                                const struct jr_node *node,
                                const struct jr_node_step *at)
{
    uint64_t value;
    if (node->plain && is_in_range(type, node->text))
        return jr_lint_scalar(lint, node, node->text, true);
    struct jr_diag *diag = jr_lint_wrong(lint, type, node, at);
    if (is_in_range(type, node->text))
        jr_lint_unquote(lint, diag, node);
    else if (jr_num_u64(node->text, &value) && value > type->max &&
             type->min < type->max)
        jr_diag_help(lint->diags, diag, "at most %u", type->max);
    else if (node->plain)
        suggest_number(lint, diag, type, node);
    return NULL;
}

struct jr_node *jr_read_number(struct jr_lint *lint,
                               const struct jr_spec_type *type,
                               const struct jr_node *node,
                               const struct jr_node_step *at)
{
    double value;
    bool number = jr_num_double(node->text, &value);
    if (node->plain && number)
        return jr_lint_scalar(lint, node, node->text, true);
    struct jr_diag *diag = jr_lint_wrong(lint, type, node, at);
    if (number)
        jr_lint_unquote(lint, diag, node);
    return NULL;
}

/* The boolean of older YAML that a word is, or NULL. */
static const char *old_boolean(const char *word)
{
    static const char *const words[][2] = {
        {"yes", "true"}, {"no", "false"}, {"on", "true"}, {"off", "false"},
        {"y", "true"},   {"n", "false"},  {"1", "true"},  {"0", "false"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(words[i][0], word) == 0)
            return words[i][1];
    return NULL;
}

struct jr_node *jr_read_boolean(struct jr_lint *lint,
                                const struct jr_spec_type *type,
                                const struct jr_node *node,
                                const struct jr_node_step *at)
{
    bool yes = strcasecmp(node->text, "true") == 0;
    bool no = strcasecmp(node->text, "false") == 0;
    if (jr_scalar_type(node) == JR_SCALAR_BOOL)
        return jr_lint_scalar(lint, node, yes ? "true" : "false", true);
    struct jr_diag *diag = jr_lint_wrong(lint, type, node, at);
    const char *old = old_boolean(node->text);
    if (yes || no)
        jr_lint_unquote(lint, diag, node);
    else if (old != NULL) {
        jr_diag_help(lint->diags, diag, "did you mean %s?", old);
        jr_lint_fix(lint, diag, node, old);
    }
    return NULL;
}
