#include "spec/lint_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/names.h"
#include "base/num.h"
#include "base/utf8.h"
#include "spec/lint_finding.h"
#include "spec/lint_kubernetes.h"
#include "spec/lint_suggest.h"
#include "spec/lint_value.h"

#include "base/banned.h"

enum { LONGEST = 63, MOST_LISTED = 16, MOST_LOCAL = 1024 };

static const char digits[] = "0123456789";

/* A text on its way to its help. */
struct text {
    struct jr_lint *lint;
    struct jr_diag *diag;
    const struct jr_spec_type *type;
    const struct jr_node *node;
    const char *path, *text;
};

/* Offer a text, in the place of the whole one where that is certain. */
static bool offer(const struct text *t, const char *text, bool sure)
{
    if (text == NULL || !jr_lint_fits(t->lint, t->type, text, strlen(text)))
        return false;
    jr_diag_help(t->lint->diags, t->diag, "did you mean %s?", text);
    if (sure)
        jr_lint_fix_text(t->lint, t->diag, t->node, text);
    return true;
}

/* Whether bytes [from, end) of a text are a number, to its end. */
static bool is_number(const char *text)
{
    return *text != '\0' && text[strspn(text, digits)] == '\0';
}

/* Say what is wrong with an address, as far as it can be told. */
static bool help_with_address(const struct text *t)
{
    const char *text = t->text, *colon = strchr(text, ':');
    struct jr_diags *diags = t->lint->diags;
    size_t len = colon == NULL ? 0 : (size_t)(colon - text);
    const char *last = strrchr(text, '.');
    if (len > 0 && is_number(colon + 1) && jr_lint_fits(t->lint, t->type, text, len))
        jr_diag_help(diags, t->diag, "the port is a field of its own: master_port: %s", colon + 1);
    else if (text[0] == '$' || text[0] == '`')
        jr_diag_help(diags, t->diag,
                     "no shell reads it: leave it out for the first of `hosts`, or this machine");
    else if (strstr(text, "://") != NULL)
        jr_diag_help(diags, t->diag, "write the name alone; a URL belongs into init_method");
    else if (colon == NULL && last != NULL && is_number(last + 1))
        jr_diag_help(diags, t->diag, "an IPv4 address has four numbers from 0 to 255");
    else
        return false;
    return true;
}

/* The count of `gpu01:4` and `gpu01 slots=4`, or NULL: a port is larger. */
static const char *count_of_host(const char *rest)
{
    static const char *const marks[] = {":", " slots=", " slots "};
    uint32_t value;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strncmp(rest, marks[i], strlen(marks[i])) == 0 &&
            jr_num_u32(rest + strlen(marks[i]), &value) && value < MOST_LOCAL)
            return rest + strlen(marks[i]);
    return NULL;
}

/* One of `hosts`, with how many ranks it has, or for whom to log in. */
static bool help_with_host(const struct text *t)
{
    struct jr_diags *diags = t->lint->diags;
    if (strncmp(t->path, "hosts[", 6) != 0)
        return false;
    size_t len = strcspn(t->text, ": ");
    const char *count = count_of_host(t->text + len);
    const char *at = strchr(t->text, '@');
    const char *second = t->text + len + strspn(t->text + len, " ");
    if (t->text[len] == ' ' && count == NULL && len > 0 &&
        jr_lint_fits(t->lint, t->type, t->text, len) &&
        jr_lint_fits(t->lint, t->type, second, strlen(second)))
        jr_diag_help(diags, t->diag, "a comma is between two hosts: %.*s,%s", (int)len, t->text,
                     second);
    else if (at != NULL && jr_lint_fits(t->lint, t->type, at + 1, strlen(at + 1)))
        jr_diag_help(diags, t->diag, "write %s; which user logs in belongs into ~/.ssh/config",
                     at + 1);
    else if (count != NULL && jr_lint_fits(t->lint, t->type, t->text, len))
        jr_diag_help(diags, t->diag,
                     "write %.*s; its ranks are an entry of local_world_size: [%s, ...]", (int)len,
                     t->text, count);
    else
        return false;
    return true;
}

/* cuda:0, gpu0, 0-3, -1 */
static bool help_with_device(const struct text *t)
{
    struct jr_diags *diags = t->lint->diags;
    JR_BUF_CLEANUP struct jr_buf list = JR_BUF_INIT;
    struct jr_set set;
    const char *bad, *index = t->text + strcspn(t->text, digits);
    if (strncmp(t->path, "devices[", 8) != 0)
        return false;
    if (strcmp(t->text, "-1") == 0) {
        jr_diag_help(diags, t->diag, "for no device write devices: none");
        return true;
    }
    if (index > t->text && strchr(":/", index[-1]) != NULL && is_number(index))
        return offer(t, index, true);
    if (!jr_set_parse(&set, t->lint->arena, t->text, &bad) || set.count != 1 ||
        set.ranges[0].last - set.ranges[0].first >= MOST_LISTED)
        return false;
    for (uint32_t i = set.ranges[0].first; i <= set.ranges[0].last; i += set.ranges[0].step)
        jr_buf_printf(&list, "%s%u", list.len > 0 ? ", " : "", i);
    jr_diag_help(diags, t->diag, "write each: [%s]", list.failed ? "" : list.data);
    return true;
}

static bool help_with_init_method(const struct text *t)
{
    struct jr_arena *arena = t->lint->arena;
    static const char tcp[] = "tcp://", file[] = "file://";
    if (strcmp(t->path, "init_method") != 0)
        return false;
    if (strcasecmp(t->text, "env") == 0 || strcasecmp(t->text, "env:") == 0 ||
        strcasecmp(t->text, "env:/") == 0)
        return offer(t, "env://", true);
    const char *host = t->text + sizeof tcp - 1;
    if (strncmp(t->text, tcp, sizeof tcp - 1) == 0 && strchr(host, ':') == NULL)
        return offer(t, jr_arena_printf(arena, "%s:29500", t->text), false);
    if (strncmp(t->text, file, sizeof file - 1) == 0)
        return offer(t, jr_arena_printf(arena, "file:///%s", t->text + 7), false);
    if (t->text[0] == '/')
        return offer(t, jr_arena_printf(arena, "file://%s", t->text), false);
    return strstr(t->text, "://") == NULL && strchr(t->text, ':') != NULL &&
           offer(t, jr_arena_printf(arena, "tcp://%s", t->text), false);
}

/* my job: what a name may not contain becomes one dash. */
static bool help_with_name(const struct text *t)
{
    char slug[LONGEST + 1];
    size_t len = 0;
    if (strcmp(t->path, "name") != 0)
        return false;
    if (t->node->len > LONGEST) {
        jr_diag_help(t->lint->diags, t->diag, "this has %zu characters",
                     jr_utf8_points(t->text, t->node->len));
        return true;
    }
    for (const char *at = t->text; *at != '\0'; at++) {
        bool kept = isalnum((unsigned char)*at) || strchr("._-", *at) != NULL;
        if ((unsigned char)*at < ' ' || (unsigned char)*at >= 0x7f)
            return false;
        if (kept || (len > 0 && slug[len - 1] != '-'))
            slug[len++] = kept ? *at : '-';
    }
    while (len > 0 && slug[len - 1] == '-')
        len--;
    return offer(t, jr_arena_strndup(t->lint->arena, slug, len), false);
}

const char *jr_lint_signal_name(struct jr_lint *lint, const char *text)
{
    uint32_t number;
    char name[JR_SIGNAL_NAME] = "";
    if (jr_num_u32(text, &number) && number > 0 && number < 32) {
        jr_signal_name(name, (int)number);
        return jr_arena_strdup(lint->arena, name + strlen("SIG"));
    }
    char *upper = jr_arena_strdup(lint->arena, text + (strncasecmp(text, "sig", 3) == 0 ? 3 : 0));
    for (char *at = upper; at != NULL && *at != '\0'; at++)
        *at = (char)toupper((unsigned char)*at);
    return upper;
}

static bool help_with_signal(const struct text *t)
{
    if (strcmp(t->path, "on_hang.signal") != 0 && strcmp(t->path, "deadline.signal") != 0)
        return false;
    const char *name = jr_lint_signal_name(t->lint, t->text);
    if (name != NULL && (strcmp(name, "KILL") == 0 || strcmp(name, "STOP") == 0)) {
        jr_diag_help(t->lint->diags, t->diag, "no program can answer %s: write %s or USR1", name,
                     t->path[0] == 'd' ? "TERM" : "ABRT");
        return true;
    }
    return offer(t, name, true);
}

void jr_lint_suggest_text(struct jr_lint *lint, struct jr_diag *diag,
                          const struct jr_spec_type *type, const struct jr_node *node,
                          const struct jr_node_step *at)
{
    const struct text t = {lint, diag, type, node, jr_lint_path(lint, at), node->text};
    if (node->len == 0 || help_with_host(&t) || help_with_device(&t) || help_with_init_method(&t) ||
        help_with_name(&t) || help_with_signal(&t) ||
        (node->filled == NULL && jr_lint_suggest_kubernetes(lint, diag, type, node, t.path)))
        return;
    if (type->is_address)
        (void)help_with_address(&t);
}

/*
 * What helps with a size that is written otherwise: 64k, 5 GB, 1.5GiB, -1. The types with sizes are
 * texts with a pattern.
 */

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
    static const char *const prefixes[] = {"kilo", "mega", "giga", "tera"};
    const char *letter = strchr(letters, tolower((unsigned char)*text));
    ret->power = 0;
    ret->exact = true;
    if (*text == '\0' || strcasecmp(text, "b") == 0 || strcasecmp(text, "byte") == 0 ||
        strcasecmp(text, "bytes") == 0)
        return true;
    if (letter == NULL)
        return false;
    ret->power = (unsigned)(letter - letters) + 1;
    ret->exact = strcasecmp(text + 1, "ib") == 0 || strcasecmp(text + 1, "i") == 0;
    if (strncasecmp(text, prefixes[letter - letters], 4) == 0)
        return strncasecmp(text + 4, "byte", 4) == 0 &&
               (text[8] == '\0' || strcasecmp(text + 8, "s") == 0);
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
    if (size.power > 4 || size.number > 1e15 || (double)(uint64_t)size.number != size.number)
        return NULL;
    return jr_arena_printf(lint->arena, "%" PRIu64 "%s", (uint64_t)size.number, units[size.power]);
}

/* A size without its unit, where only a number is wanted; or NULL. */
static const char *write_count(struct jr_lint *lint, struct size size)
{
    for (; size.power > 0 && size.number < 1e15; size.power--)
        size.number *= KIB;
    return size.number >= 1e15 || (double)(uint64_t)size.number != size.number
               ? NULL
               : jr_arena_printf(lint->arena, "%" PRIu64, (uint64_t)size.number);
}

const char *jr_lint_near_size(struct jr_lint *lint, const char *text)
{
    struct size size;
    return read_size(text, &size) ? write_size(lint, size) : NULL;
}

bool jr_lint_is_endless(const char *text)
{
    static const char *const words[] = {"-1",       "inf",   ".inf",    "+.inf",     "infinite",
                                        "infinity", "max",   "forever", "unlimited", "none",
                                        "no",       "never", "always"};
    if (text[0] == '-' && text[1] == '1' && /* -1s */
        strspn(text + 2, "smhd") == strlen(text + 2))
        return true;
    size_t i = 0, count = sizeof words / sizeof *words;
    while (i < count && strcasecmp(words[i], text) != 0)
        i++;
    return i < count;
}

/* "none" of what may be 0, as a core dump may. */
static bool is_no_size(const char *text)
{
    return strcasecmp(text, "none") == 0 || strcasecmp(text, "no") == 0 ||
           strcasecmp(text, "never") == 0;
}

static bool fits(struct jr_lint *lint, const struct jr_spec_type *type, const char *text)
{
    return text != NULL && jr_lint_fits(lint, type, text, strlen(text));
}

/* A size with a unit of thousands might be one: it is offered, and not made. */
static void offer_size(struct jr_lint *lint, struct jr_diag *diag, const struct jr_node *node,
                       const struct size *size, const char *text)
{
    uint64_t bytes;
    if (size->exact) {
        jr_diag_help(lint->diags, diag, "did you mean %s?", text);
        jr_lint_fix_text(lint, diag, node, text);
    } else if (size->power == 1 && strchr(text, 'B') != NULL && jr_num_size(text, &bytes)) {
        jr_diag_help(lint->diags, diag, "did you mean %s (%" PRIu64 " bytes)?", text, bytes);
    } else {
        jr_diag_help(lint->diags, diag, "did you mean %s?", text);
    }
}

void jr_lint_suggest_size(struct jr_lint *lint, struct jr_diag *diag,
                          const struct jr_spec_type *type, const struct jr_node *node)
{
    struct size size;
    bool endless = jr_lint_is_endless(node->text);
    if (node->filled != NULL)
        return;
    if (is_no_size(node->text) && fits(lint, type, "unlimited"))
        jr_diag_help(lint->diags, diag, "write unlimited for no limit, or 0 for nothing");
    else if (endless && fits(lint, type, "unlimited"))
        jr_diag_help(lint->diags, diag, "write unlimited");
    else if (endless && type->min > 0)
        jr_diag_help(lint->diags, diag, "leave it out for no limit");
    else if (endless)
        jr_diag_help(lint->diags, diag, "there is always a limit: write a size such as 64GiB");
    if (endless || !read_size(node->text, &size))
        return;
    const char *text = write_size(lint, size);
    const char *plain = fits(lint, type, text) ? NULL : write_count(lint, size);
    if (fits(lint, type, text))
        offer_size(lint, diag, node, &size, text);
    else if (fits(lint, type, plain))
        jr_diag_help(lint->diags, diag, "did you mean %s?", plain);
    else if (size.number > 0 && type->min > 0)
        jr_diag_help(lint->diags, diag, "this is too small: at least %uKiB", type->min / KIB);
}

/*
 * Marks that an editor of prose puts in the place of those of a program:
 * “train” for "train", –epochs for --epochs. YAML has no meaning for them, so
 * they are part of the text.
 */

enum { NO_BREAK_SPACE = 0xa0, EN_DASH = 0x2013, EM_DASH = 0x2014 };

static bool is_quote(uint32_t point)
{
    return (point >= 0x2018 && point <= 0x201f) || point == 0xab || point == 0xbb ||
           point == 0x2039 || point == 0x203a;
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
    const char *inner = jr_arena_strndup(lint->arena, text + before, len - before - behind);
    bool single = inner != NULL && strpbrk(inner, "\"\\") != NULL;
    if (inner == NULL || (single && strchr(inner, '\'') != NULL))
        return NULL;
    return jr_arena_printf(lint->arena, single ? "'%s'" : "\"%s\"", inner);
}

const char *jr_lint_seen(struct jr_lint *lint, const char *text, uint32_t *ret_point)
{
    JR_BUF_CLEANUP struct jr_buf seen = JR_BUF_INIT;
    size_t len = strlen(text);
    bool all = true;
    for (size_t at = 0, size; at < len; at += size) {
        uint32_t point = 0;
        size = jr_utf8_next(text + at, len - at, &point);
        if (!jr_utf8_is_unseen(point)) {
            jr_buf_add(&seen, text + at, size);
            continue;
        }
        if (all)
            *ret_point = point;
        all = false;
    }
    return all || seen.len == 0 ? NULL : jr_buf_keep(&seen, lint->arena);
}

/* What stands for an option that begins with a dash of prose, or NULL. */
static const char *typed_option(struct jr_lint *lint, const struct jr_node *node,
                                const struct jr_node_step *at)
{
    uint32_t point = 0;
    if (at == NULL || at->key != NULL || node->filled != NULL || node->len == 0)
        return NULL;
    size_t size = jr_utf8_next(node->text, node->len, &point);
    const char *rest = node->text + size;
    if ((point != EN_DASH && point != EM_DASH) || !isalpha((unsigned char)*rest))
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
           (strcmp(at->key, "description") == 0 || strcmp(at->key, "labels") == 0);
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
    struct jr_diag *diag =
        jr_diags_warning(lint->diags, JR_CODE_TYPOGRAPHIC_MARK, node->span, path.data,
                         quoted != NULL ? "typographic quotes are part of the text"
                                        : "a typographic dash does not begin an option");
    jr_diag_help(lint->diags, diag, "write %s", quoted != NULL ? quoted : option);
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
    while (size < key->len &&
           (key->text[size] == ' ' || strncmp(key->text + size, "\xc2\xa0", 2) == 0))
        size += key->text[size] == ' ' ? 1 : 2;
    return key->text + size;
}
