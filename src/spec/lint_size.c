/*
 * What helps with a size that is written otherwise: 64k, 5 GB, 1.5GiB, -1. The
 * types with sizes are texts with a pattern; the header of this file is
 * lint.h.
 */
#include "spec/lint.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"

#include "base/banned.h"

enum { KIB = 1024 };

/* A size as people write it. */
struct size {
    double number;
    unsigned power; /* of 1024 */
    bool exact;     /* the unit says that it is one of 1024 */
};

/* The unit at `text`, which ends there: k, KB, KiB, bytes. */
static bool read_unit(const char *text, struct size *ret)
{
    static const char letters[] = "kmgt";
    const char *letter = strchr(letters, tolower((unsigned char)*text));
    ret->power = 0;
    ret->exact = true;
    if (*text == '\0' || strcasecmp(text, "b") == 0 ||
        strcasecmp(text, "byte") == 0 || strcasecmp(text, "bytes") == 0)
        return true;
    if (letter == NULL)
        return false;
    ret->power = (unsigned)(letter - letters) + 1;
    ret->exact =
        strcasecmp(text + 1, "ib") == 0 || strcasecmp(text + 1, "i") == 0;
    return ret->exact || text[1] == '\0' || strcasecmp(text + 1, "b") == 0;
}

static bool read_size(const char *text, struct size *ret)
{
    char number[24] = "";
    size_t len = strspn(text, "0123456789.");
    if (len == 0 || len >= sizeof number)
        return false;
    *(char *)mempcpy(number, text, len) = '\0';
    text += len + strspn(text + len, " ");
    return jr_num_double(number, &ret->number) && read_unit(text, ret);
}

/* The size in the largest unit in which it is a whole number, or NULL. */
static const char *write_size(struct jr_lint *lint, struct size size)
{
    static const char *const units[] = {"", "KiB", "MiB", "GiB", "TiB"};
    while (size.power > 0 && (double)(uint64_t)size.number != size.number) {
        size.number *= KIB;
        size.power--;
    }
    if (size.power > 4 || size.number > 1e15 ||
        (double)(uint64_t)size.number != size.number)
        return NULL;
    return jr_arena_printf(lint->arena, "%" PRIu64 "%s", (uint64_t)size.number,
                           units[size.power]);
}

static bool is_without_limit(const char *text)
{
    static const char *const words[] = {"-1",  "inf",  "infinite", "infinity",
                                        "max", "none", "no",       "never"};
    size_t i = 0, count = sizeof words / sizeof *words;
    while (i < count && strcasecmp(words[i], text) != 0)
        i++;
    return i < count;
}

static bool fits(struct jr_lint *lint, const struct jr_spec_type *type,
                 const char *text)
{
    return text != NULL && jr_lint_fits(lint, type, text, strlen(text));
}

/* A size with a unit of thousands might be one: it is offered, and not made. */
static void offer_size(struct jr_lint *lint, struct jr_diag *diag,
                       const struct jr_node *node, const struct size *size,
                       const char *text)
{
    uint64_t bytes;
    if (size->exact) {
        jr_diag_help(lint->diags, diag, "did you mean %s?", text);
        jr_lint_fix_text(lint, diag, node, text);
    } else if (size->power == 1 && strchr(text, 'B') != NULL &&
               jr_num_size(text, &bytes)) {
        jr_diag_help(lint->diags, diag, "did you mean %s (%" PRIu64 " bytes)?",
                     text, bytes);
    } else {
        jr_diag_help(lint->diags, diag, "did you mean %s?", text);
    }
}

void jr_lint_suggest_size(struct jr_lint *lint, struct jr_diag *diag,
                          const struct jr_spec_type *type,
                          const struct jr_node *node)
{
    struct size size;
    bool endless = is_without_limit(node->text) ||
                   strcasecmp(node->text, "unlimited") == 0;
    if (node->filled != NULL)
        return;
    if (endless && fits(lint, type, "unlimited"))
        jr_diag_help(lint->diags, diag, "write unlimited");
    else if (endless && type->min > 0)
        jr_diag_help(lint->diags, diag, "leave it out for no limit");
    else if (endless)
        jr_diag_help(lint->diags, diag,
                     "there is always a limit: write a size such as 64GiB");
    else if (!read_size(node->text, &size))
        return;
    else if (fits(lint, type, write_size(lint, size)))
        offer_size(lint, diag, node, &size, write_size(lint, size));
    else if (size.number > 0 && type->min > 0)
        jr_diag_help(lint->diags, diag, "this is too small: at least %uKiB",
                     type->min / KIB);
}
