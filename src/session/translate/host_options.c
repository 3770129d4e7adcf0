#include "session/translate/host_options.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "base/io.h"
#include "base/num.h"
#include "base/strv.h"
#include "host/scheduler/hostlist.h"
#include "session/translate/put_value.h"

#include "base/banned.h"

#define BY_SSH                                                                                     \
    "the ranks start there by ssh, and jobrun has to be on these hosts: "                          \
    "where it is not, state `engine.ssh.copy: true`"
#define BLANKS " \t\r"

/* What is larger is no list of hosts. */
enum { MOST_BYTES = 1 << 20, MOST_HOSTS = 4096 };

/* A host, and how many slots it has where any are stated. */
struct place {
    char *name;
    uint32_t slots;
};

struct places {
    struct place *items;
    size_t count;
    bool stated; /* a number of slots, or a host more than once */
    const char *user;
};

/* "4" of slots, which may be more than one word for a host; false: none. */
static bool add_host_place(struct jr_translator *t, struct places *to, const char *name,
                           const char *slots)
{
    uint32_t number = 1;
    if (slots != NULL && (!jr_num_u32(slots, &number) || number == 0))
        return false;
    to->stated |= slots != NULL;
    for (size_t i = 0; i < to->count; i++)
        if (strcmp(to->items[i].name, name) == 0) {
            to->stated = true;
            to->items[i].slots += number;
            return true;
        }
    struct place *place = jr_arena_push(t->arena, &to->items, &to->count, sizeof *place);
    if (place != NULL)
        *place = (struct place){jr_arena_strdup(t->arena, name), number};
    return to->count <= MOST_HOSTS;
}

/* HOST or HOST:SLOTS; an address of IPv6 has more colons, and no slots. */
static bool add_host_word(struct jr_translator *t, struct places *to, char *word, const char *slots)
{
    char *colon = strchr(word, ':');
    if (colon != NULL && strchr(colon + 1, ':') == NULL) {
        *colon = '\0';
        slots = colon + 1;
    }
    return *word != '\0' && add_host_place(t, to, word, slots);
}

/* A host alone that is this machine: the ranks start here, without ssh. */
static bool is_here(const struct places *places)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "::1"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (places->count == 1 && strcmp(places->items[0].name, names[i]) == 0)
            return true;
    return false;
}

/* Have jobrun start the ranks of `hosts` by ssh. */
static int put_ssh(struct jr_translator *t, const struct jr_given *given)
{
    if (jr_doc_find(t->to->spec, "engine.ssh") == NULL &&
        !jr_node_set_path(t->arena, t->to->spec, "engine.ssh", jr_node_mapping(t->arena)))
        return -1;
    jr_note_add(t, JR_VERDICT_CHANGED, given->what, BY_SSH);
    return 0;
}

/* Slots are ranks, unless an option before has said how many a node has. */
static int put_slots(struct jr_translator *t, const struct jr_given *given,
                     const struct places *places)
{
    char **slots = jr_arena_array(t->arena, places->count + 1, sizeof *slots);
    if (!places->stated || jr_doc_get(t->to->spec, "local_world_size") != NULL)
        return 0;
    for (size_t i = 0; slots != NULL && i < places->count; i++)
        slots[i] = jr_arena_printf(t->arena, "%" PRIu32, places->items[i].slots);
    if (slots != NULL && places->count == 1)
        return jr_put(t, given, "local_world_size", slots[0]);
    return jr_put_list(t, given, "local_world_size", slots);
}

static int put_places(struct jr_translator *t, const struct jr_given *given,
                      const struct places *places)
{
    char **names = jr_arena_array(t->arena, places->count + 1, sizeof *names);
    if (names == NULL)
        return -1;
    for (size_t i = 0; i < places->count; i++)
        names[i] = places->items[i].name;
    if (t->launcher->ssh && is_here(places)) {
        if (jr_put(t, given, "nodes", "1") != 0)
            return -1;
        return put_slots(t, given, places);
    }
    if (jr_put_list(t, given, "hosts", names) != 0 || put_slots(t, given, places) != 0)
        return -1;
    if (places->user != NULL)
        jr_note_add(t, JR_VERDICT_LOST, places->user,
                    "which user logs in on a host belongs into ~/.ssh/config");
    if (t->launcher->ssh)
        return put_ssh(t, given);
    if (places->count > 1)
        jr_note_add(t, JR_VERDICT_CHANGED, given->what,
                    "start jobrun on each of them, with a --run-id that all "
                    "share; or once, with --engine ssh");
    return 0;
}

int jr_set_hosts(struct jr_translator *t, const struct jr_given *given)
{
    struct places places = {0};
    char **words = jr_put_split(t, given->value, ',');
    for (size_t i = 0; words != NULL && words[i] != NULL; i++)
        if (!add_host_word(t, &places, words[i], NULL))
            return jr_given_wrong(t, given,
                                  "hosts as HOST or HOST:SLOTS, where SLOTS is "
                                  "an integer of at least 1");
    return words == NULL ? -1 : put_places(t, given, &places);
}

/* The next word behind a host: KEY=VALUE, "KEY = VALUE" or "KEY VALUE". False where it is something
 * else. */
static bool read_setting(char **rest, char *word, struct places *to, const char **slots)
{
    char *value = strchr(word, '=');
    if (value != NULL)
        *value++ = '\0';
    while (value == NULL || *value == '\0' || strcmp(value, "=") == 0)
        if ((value = strsep(rest, BLANKS)) == NULL)
            return false;
    if (strncmp(word, "slot", 4) == 0 || strcmp(word, "count") == 0)
        *slots = value;
    else if (strncmp(word, "user", 4) == 0)
        to->user = value;
    return isalpha((unsigned char)*word) != 0;
}

/* The words behind a host: its slots, alone or by name, and what is no number of ranks, such as
 * max_slots=8. False where they are something else. */
static bool read_settings(char *rest, struct places *to, const char **slots)
{
    for (char *word; (word = strsep(&rest, BLANKS)) != NULL;) {
        if (*word == '\0')
            continue;
        if (word[strspn(word, "0123456789")] == '\0') { /* HOST SLOTS ... */
            *slots = word;
            return true;
        }
        if (!read_setting(&rest, word, to, slots))
            return false;
    }
    return true;
}

/* A line of a hostfile: of Open MPI, MPICH, DeepSpeed, a scheduler. */
static bool add_hostfile_line(struct jr_translator *t, struct places *to, char *line)
{
    line[strcspn(line, "#")] = '\0';
    line += strspn(line, BLANKS);
    if (*line == '\0')
        return true;
    char *host = strsep(&line, BLANKS);
    const char *slots = NULL;
    if (!read_settings(line, to, &slots))
        return false;
    char *at = strchr(host, '@');
    if (at != NULL) { /* USER@HOST */
        to->user = host;
        *at = '\0';
        host = at + 1;
    }
    return add_host_word(t, to, host, slots);
}

/* The hosts of a file, or why there are none. Returns NULL: all is well. */
static const char *read_hostfile(struct jr_translator *t, const char *path, struct places *ret)
{
    struct jr_error err = {0};
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    if (jr_io_read_file(&text, AT_FDCWD, path, MOST_BYTES, &err) != 0)
        return jr_arena_strdup(t->arena, err.text);
    char *at = jr_buf_keep(&text, t->arena);
    for (unsigned line = 1; at != NULL; line++)
        if (!add_hostfile_line(t, ret, strsep(&at, "\n")))
            return jr_arena_printf(t->arena,
                                   "line %u of %s is not one of a hostfile, "
                                   "such as 'node1 slots=4'",
                                   line, path);
    return ret->count == 0 ? jr_arena_printf(t->arena, "%s names no host", path) : NULL;
}

int jr_set_hostfile(struct jr_translator *t, const struct jr_given *given)
{
    struct places places = {0};
    struct jr_error *err = t->err, wrong = {0};
    t->hostfile = true;
    if (jr_hosts_count(t) > 0) {
        jr_note_add(t, JR_VERDICT_CHANGED, given->what,
                    "the line itself names the hosts, and the file was not "
                    "read: state their slots in `local_world_size`");
        return 0;
    }
    const char *why = read_hostfile(t, given->value, &places);
    t->err = &wrong;
    if (why == NULL && put_places(t, given, &places) != 0)
        why = wrong.text[0] == '\0'
                  ? "out of memory"
                  : jr_arena_printf(t->arena, "%s names what is no host", given->value);
    t->err = err;
    if (why != NULL)
        jr_note_add(t, JR_VERDICT_LOST, given->what,
                    jr_arena_printf(t->arena,
                                    "%s: translate the line where the file is, or write its hosts "
                                    "into `hosts: [a, b]` and their slots into `local_world_size: "
                                    "[4, 4]`",
                                    why));
    return 0;
}

int jr_set_nodelist(struct jr_translator *t, const struct jr_given *given)
{
    struct jr_strv hosts = {0};
    const char *bad;
    if (strchr(given->value, '/') != NULL)
        return jr_set_hostfile(t, given);
    if (!jr_hostlist_expand(&hosts, t->arena, given->value, &bad))
        return jr_given_wrong(t, given, "hosts as gpu01,gpu[02-04]");
    return jr_put_list(t, given, "hosts", hosts.items);
}

uint32_t jr_hosts_count(const struct jr_translator *t)
{
    const struct jr_node *hosts = jr_doc_get(t->to->spec, "hosts");
    return hosts != NULL && hosts->kind == JR_NODE_SEQUENCE ? (uint32_t)hosts->count : 0;
}

static bool is_named(char *const *named, const char *host)
{
    for (; *named != NULL; named++)
        if (strcmp(*named, host) == 0)
            return true;
    return false;
}

/* A list of hosts and, if it is as long, that of their ranks: keep what `kept` says. */
static void keep_hosts(struct jr_translator *t, const bool *kept)
{
    struct jr_node *hosts = jr_doc_get(t->to->spec, "hosts");
    struct jr_node *ranks = jr_doc_get(t->to->spec, "local_world_size");
    size_t count = 0, all = hosts->count;
    bool both = ranks != NULL && ranks->kind == JR_NODE_SEQUENCE && ranks->count == all;
    for (size_t i = 0; i < all; i++) {
        if (!kept[i])
            continue;
        hosts->items[count] = hosts->items[i];
        if (both)
            ranks->items[count] = ranks->items[i];
        count++;
    }
    hosts->count = count;
    if (both)
        ranks->count = count;
}

void jr_hosts_keep(struct jr_translator *t, char *const *named, bool others)
{
    const struct jr_node *hosts = jr_doc_get(t->to->spec, "hosts");
    uint32_t count = jr_hosts_count(t), left = 0;
    bool *kept = jr_arena_array(t->arena, count, sizeof *kept);
    for (uint32_t i = 0; kept != NULL && i < count; i++) {
        kept[i] = is_named(named, hosts->items[i]->text) != others;
        left += kept[i];
    }
    if (left > 0)
        keep_hosts(t, kept);
}

void jr_hosts_cut(struct jr_translator *t, uint32_t first)
{
    uint32_t count = jr_hosts_count(t);
    bool *kept = jr_arena_array(t->arena, count, sizeof *kept);
    for (uint32_t i = 0; kept != NULL && i < count; i++)
        kept[i] = i < first;
    if (kept != NULL && count > first)
        keep_hosts(t, kept);
}

int jr_hosts_ssh_options(struct jr_translator *t, const struct jr_given *given, const char *letter)
{
    struct jr_node *words = jr_doc_find(t->to->spec, "engine.ssh.options");
    if (words == NULL) {
        words = jr_node_sequence(t->arena);
        if (!jr_node_set_path(t->arena, t->to->spec, "engine.ssh.options", words))
            return -1;
    }
    jr_node_append(t->arena, words, jr_put_scalar(t, letter));
    jr_node_append(t->arena, words, jr_put_scalar(t, given->value));
    return 0;
}
