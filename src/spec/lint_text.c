/*
 * What helps with a text that does not match the pattern of its type: a URL
 * where an address is wanted, cuda:0 for a device's index, SIGABRT for ABRT.
 * The header of this file is lint.h.
 */
#include "spec/lint.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "base/signal_name.h"

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
    if (len > 0 && is_number(colon + 1) &&
        jr_lint_fits(t->lint, t->type, text, len))
        jr_diag_help(diags, t->diag,
                     "the port is a field of its own: master_port: %s",
                     colon + 1);
    else if (strstr(text, "://") != NULL)
        jr_diag_help(diags, t->diag,
                     "write the name alone; a URL belongs into init_method");
    else if (colon == NULL && last != NULL && is_number(last + 1))
        jr_diag_help(diags, t->diag,
                     "an IPv4 address has four numbers from 0 to 255");
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
    if (at != NULL && jr_lint_fits(t->lint, t->type, at + 1, strlen(at + 1)))
        jr_diag_help(diags, t->diag,
                     "write %s; which user logs in belongs into ~/.ssh/config",
                     at + 1);
    else if (count != NULL && jr_lint_fits(t->lint, t->type, t->text, len))
        jr_diag_help(diags, t->diag,
                     "write %.*s; its ranks are an entry of "
                     "local_world_size: [%s, ...]",
                     (int)len, t->text, count);
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
    for (uint32_t i = set.ranges[0].first; i <= set.ranges[0].last;
         i += set.ranges[0].step)
        jr_buf_printf(&list, "%s%u", list.len > 0 ? ", " : "", i);
    jr_diag_help(diags, t->diag, "write each: [%s]",
                 list.failed ? "" : list.data);
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
        return offer(t, jr_arena_printf(arena, "file:///%s", t->text + 7),
                     false);
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
    if (strcmp(t->path, "name") != 0 || t->node->len > LONGEST)
        return false;
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
    char *upper = jr_arena_strdup(
        lint->arena, text + (strncasecmp(text, "sig", 3) == 0 ? 3 : 0));
    for (char *at = upper; at != NULL && *at != '\0'; at++)
        *at = (char)toupper((unsigned char)*at);
    return upper;
}

static bool help_with_signal(const struct text *t)
{
    if (strcmp(t->path, "on_hang.signal") != 0)
        return false;
    const char *name = jr_lint_signal_name(t->lint, t->text);
    if (name != NULL &&
        (strcmp(name, "KILL") == 0 || strcmp(name, "STOP") == 0)) {
        jr_diag_help(t->lint->diags, t->diag,
                     "no program can answer %s: write ABRT or USR1", name);
        return true;
    }
    return offer(t, name, true);
}

void jr_lint_suggest_text(struct jr_lint *lint, struct jr_diag *diag,
                          const struct jr_spec_type *type,
                          const struct jr_node *node,
                          const struct jr_node_step *at)
{
    const struct text t = {lint,      diag, type, node, jr_lint_path(lint, at),
                           node->text};
    if (node->len == 0 || help_with_host(&t) || help_with_device(&t) ||
        help_with_init_method(&t) || help_with_name(&t) || help_with_signal(&t))
        return;
    if (type->is_address)
        (void)help_with_address(&t);
}
