#include <string.h>

#include "base/json.h"
#include "base/num.h"
#include "host/scheduler/scheduler.h"

#include "base/banned.h"

/* Hosts on the way, in the order in which they came up, with their slots. */
struct listing {
    struct jr_host_reader *probe;
    json_t *places; /* of the hosts, by name: there may be many */
    struct jr_strv hosts;
    uint32_t *slots;
    size_t slots_count;
};

/* A name or an address, as far as its characters go. */
static bool is_host(const char *text)
{
    return text[0] != '\0' &&
           text[strspn(text, "0123456789abcdefghijklmnopqrstuvwxyz"
                             "ABCDEFGHIJKLMNOPQRSTUVWXYZ._:-")] == '\0';
}

/* Count `slots` for a host. */
static bool add_host_slots(struct listing *to, const char *host, uint32_t slots)
{
    struct jr_arena *arena = to->probe->arena;
    const json_t *place = json_object_get(to->places, host);
    if (place != NULL) {
        uint32_t *known = &to->slots[json_integer_value(place)];
        bool fits = slots <= JR_HOSTLIST_MAX - *known;
        *known += fits ? slots : 0;
        return fits;
    }
    if (!is_host(host) || slots == 0 || slots > JR_HOSTLIST_MAX ||
        to->hosts.count == JR_HOSTLIST_MAX)
        return false;
    uint32_t *slot =
        jr_arena_push(arena, &to->slots, &to->slots_count, sizeof *slot);
    if (slot == NULL)
        return false;
    *slot = slots;
    if (json_object_set_new(to->places, host,
                            json_integer((json_int_t)to->hosts.count)) != 0)
        arena->failed = true;
    jr_strv_push(&to->hosts, arena, jr_arena_strdup(arena, host));
    return true;
}

static struct listing begin_listing(struct jr_host_reader *probe)
{
    return (struct listing){.probe = probe, .places = json_object()};
}

/* Into the facts, if all of it could be read, and unless they have hosts from a
 * better variable. */
static bool end_listing(const struct listing *from, bool whole)
{
    struct jr_host_scheduler *to = &from->probe->hw->scheduler;
    json_decref(from->places);
    if (!whole || from->hosts.count == 0)
        return false;
    if (to->hosts.count > 0)
        return true;
    to->hosts = from->hosts;
    to->tasks = (struct jr_counts){from->slots, (uint32_t)from->slots_count};
    to->slots = true;
    return true;
}

bool jr_hosts_list(struct jr_host_reader *probe, const char *value)
{
    struct jr_host_scheduler *to = &probe->hw->scheduler;
    struct jr_strv hosts;
    const char *bad;
    if (!jr_hostlist_expand(&hosts, probe->arena, value, &bad))
        return false;
    if (to->hosts.count == 0)
        to->hosts = hosts;
    return true;
}

static bool add_host_words(struct listing *to, const char *value,
                           const char *separators)
{
    char *text = jr_arena_strdup(&to->probe->scratch, value);
    bool whole = true;
    for (char *word; whole && (word = strsep(&text, separators)) != NULL;) {
        word[strcspn(word, " \t\r")] = '\0';
        whole = word[0] == '\0' || add_host_slots(to, word, 1);
    }
    return whole;
}

bool jr_hosts_words(struct jr_host_reader *probe, const char *value)
{
    struct listing listing = begin_listing(probe);
    return end_listing(&listing, add_host_words(&listing, value, " "));
}

bool jr_hosts_lines(struct jr_host_reader *probe, const char *path)
{
    const char *text = jr_host_reader_text(probe, "%s", path);
    struct listing listing = begin_listing(probe);
    return end_listing(&listing,
                       text != NULL && add_host_words(&listing, text, "\n"));
}

/* The next two words of a text, HOST SLOTS; false when that is not what comes.
 */
static bool add_pair(struct listing *to, char **text)
{
    char *host = strsep(text, " \t");
    char *number = strsep(text, " \t");
    uint32_t slots;
    return number != NULL && jr_num_u32(number, &slots) &&
           add_host_slots(to, host, slots);
}

bool jr_hosts_pairs(struct jr_host_reader *probe, const char *value)
{
    struct listing listing = begin_listing(probe);
    char *text = jr_arena_strdup(&probe->scratch, value);
    bool whole = true;
    while (whole && text != NULL && *text != '\0')
        whole = add_pair(&listing, &text);
    return end_listing(&listing, whole);
}

bool jr_hosts_table(struct jr_host_reader *probe, const char *path)
{
    struct listing listing = begin_listing(probe);
    char *text = jr_host_reader_text(probe, "%s", path);
    bool whole = true;
    for (char *line; whole && (line = strsep(&text, "\n")) != NULL;)
        whole = line[0] == '\0' || add_pair(&listing, &line);
    return end_listing(&listing, whole);
}

/* One slot each, which tells nothing. */
bool jr_hosts_json(struct jr_host_reader *probe, const char *value)
{
    struct listing listing = begin_listing(probe);
    struct jr_error err;
    json_t *list = jr_json_parse(value, strlen(value), &err);
    bool whole = json_is_array(list);
    for (size_t i = 0; whole && i < json_array_size(list); i++) {
        const char *host = json_string_value(json_array_get(list, i));
        whole = host != NULL && add_host_slots(&listing, host, 1);
    }
    json_decref(list);
    return end_listing(&listing, whole);
}

static bool is_same_host(const char *a, const char *b)
{
    size_t len = strcspn(a, ".");
    bool cut = a[len] == '\0' || b[strcspn(b, ".")] == '\0';
    if (!cut)
        return strcmp(a, b) == 0;
    return strcspn(b, ".") == len && strncmp(a, b, len) == 0;
}

int jr_hosts_find(const struct jr_host_scheduler *scheduler, const char *name)
{
    int found = -1;
    for (size_t i = 0; i < scheduler->hosts.count; i++) {
        if (!is_same_host(scheduler->hosts.items[i], name))
            continue;
        if (found >= 0)
            return -1;
        found = (int)i;
    }
    return found;
}
