#include "host/scheduler/hosts.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <string.h>

#include "base/json.h"
#include "base/num.h"
#include "host/host.h"

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
           text[strspn(
               text, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._:-")] == '\0';
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
    uint32_t *slot = jr_arena_push(arena, &to->slots, &to->slots_count, sizeof *slot);
    if (slot == NULL)
        return false;
    *slot = slots;
    if (json_object_set_new(to->places, host, json_integer((json_int_t)to->hosts.count)) != 0)
        arena->failed = true;
    jr_strv_push(&to->hosts, arena, jr_arena_strdup(arena, host));
    return true;
}

static struct listing begin_listing(struct jr_host_reader *probe)
{
    return (struct listing){.probe = probe, .places = json_object()};
}

/* Into the facts, if all of it could be read, and unless they have hosts from a better variable. */
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

static bool add_host_words(struct listing *to, const char *value, const char *separators)
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
    return end_listing(&listing, text != NULL && add_host_words(&listing, text, "\n"));
}

/* The next two words of a text, HOST SLOTS; false when that is not what comes.
 */
static bool add_pair(struct listing *to, char **text)
{
    char *host = strsep(text, " \t");
    char *number = strsep(text, " \t");
    uint32_t slots;
    return number != NULL && jr_num_u32(number, &slots) && add_host_slots(to, host, slots);
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

/* Volcano: a list per task group, VC_<TASK>_HOSTS. Ranks go through the master's first, if there is
 * one, and its workers. */

/* The hosts of one group, appended. */
static void add_group_hosts(struct jr_host_reader *probe, struct jr_strv *to, const char *hosts)
{
    char *text = jr_arena_strdup(probe->arena, hosts);
    for (char *host; (host = strsep(&text, ",")) != NULL;)
        if (host[0] != '\0')
            jr_strv_push(to, probe->arena, host);
}

/* The value of `VC_<TASK>_HOSTS=VALUE`, of a master's or of another task; NULL for other
 * variables. */
static const char *volcano_group_hosts(const char *variable, bool master)
{
    const char *value = strchr(variable, '=');
    if (value == NULL || strncmp(variable, "VC_", 3) != 0 || value - variable < 9 ||
        strncmp(value - 6, "_HOSTS", 6) != 0)
        return NULL;
    size_t len = (size_t)(value - 6 - variable);
    bool is_master = len == strlen("VC_MASTER") && strncmp(variable, "VC_MASTER", len) == 0;
    return is_master == master ? value + 1 : NULL;
}

void jr_volcano_settle(struct jr_host_reader *probe)
{
    struct jr_host_scheduler *to = &probe->hw->scheduler;
    size_t workers = 0;
    for (int pass = 0; pass < 2; pass++)
        for (char *const *at = probe->envp; *at != NULL; at++) {
            const char *hosts = volcano_group_hosts(*at, pass == 0);
            workers += hosts != NULL && pass == 1;
            if (hosts != NULL)
                add_group_hosts(probe, &to->hosts, hosts);
        }
    if (workers > 1)
        jr_scheduler_problem(probe,
                             "Volcano has more than one task of workers, and "
                             "does not say in which order to count them",
                             "state nodes, node_rank and hosts");
}

/* AWS Batch: rank 0 is the main node's, whatever its index, and the main node is the only one that
 * is not told its address. */
void jr_aws_batch_settle(struct jr_host_reader *probe)
{
    struct jr_host_scheduler *to = &probe->hw->scheduler;
    const char *text = jr_env_get(probe->envp, "AWS_BATCH_JOB_MAIN_NODE_INDEX");
    uint32_t main_node = 0;
    if (text != NULL &&
        (!jr_num_u32(text, &main_node) || to->nodes == 0 || main_node >= to->nodes)) {
        jr_scheduler_problem(probe, "AWS_BATCH_JOB_MAIN_NODE_INDEX is not one of the nodes",
                             "state node_rank and master_addr");
        return;
    }
    if (to->node_rank >= 0 && to->nodes > 0)
        to->node_rank =
            (int)(((uint32_t)to->node_rank % to->nodes + to->nodes - main_node) % to->nodes);
    if (to->master_addr == NULL && to->node_rank == 0)
        to->master_addr = probe->hw->hostname;
}

void jr_sagemaker_settle(struct jr_host_reader *probe)
{
    struct jr_host_scheduler *to = &probe->hw->scheduler;
    const char *host = jr_env_get(probe->envp, "SM_CURRENT_HOST");
    to->tasks.count = 0;
    to->slots = false;
    to->node_rank = jr_hosts_find(to, host);
    if (to->node_rank < 0)
        jr_scheduler_problem(probe, "SM_CURRENT_HOST is not one of SM_HOSTS",
                             "state nodes, node_rank and hosts");
}

/* Slurm waits KillWait seconds between SIGTERM and SIGKILL, 30 unless slurm.conf(5) says
 * otherwise. */
static uint32_t kill_wait(struct jr_host_reader *probe, const char *path)
{
    char *text = path == NULL ? NULL : jr_host_reader_text(probe, "%s", path);
    uint32_t seconds = text == NULL ? 0 : 30;
    for (char *line; (line = strsep(&text, "\n")) != NULL;) {
        line += strspn(line, " \t");
        if (strncasecmp(line, "KillWait=", 9) != 0)
            continue;
        line += 9;
        line[strspn(line, "0123456789")] = '\0';
        (void)jr_num_u32(line, &seconds);
    }
    return seconds;
}

void jr_slurm_settle(struct jr_host_reader *probe)
{
    struct jr_host_scheduler *to = &probe->hw->scheduler;
    const char *const paths[] = {
        jr_env_get(probe->envp, "SLURM_CONF"),
        "/run/slurm/conf/slurm.conf",
        "/etc/slurm/slurm.conf",
        "/etc/slurm-llnl/slurm.conf",
    };
    for (size_t i = 0; i < 4 && to->kill_wait == 0; i++)
        to->kill_wait = kill_wait(probe, paths[i]);
}

/* Which of several hosts this machine is. */

/* Names are the same in full, or up to the first dot where one ends there. */
static bool is_own_name(const char *host, const char *own)
{
    size_t len = strcspn(own, ".");
    bool cut = own[len] == '\0' || host[strcspn(host, ".")] == '\0';
    if (!cut)
        return strcasecmp(host, own) == 0;
    return strcspn(host, ".") == len && strncasecmp(host, own, len) == 0;
}

/* An address in binary, so that it does not matter how it is written. Returns its size; 0: it is
 * none. */
static size_t parse_address(unsigned char ret[static 16], const char *text)
{
    if (inet_pton(AF_INET, text, ret) == 1)
        return 4;
    return inet_pton(AF_INET6, text, ret) == 1 ? 16 : 0;
}

static bool has_own_address(const struct ifaddrs *own, const unsigned char *address, size_t size)
{
    for (; own != NULL; own = own->ifa_next) {
        const struct sockaddr *at = own->ifa_addr;
        const void *bytes = NULL;
        if (at == NULL || (own->ifa_flags & IFF_LOOPBACK) != 0)
            continue;
        if (at->sa_family == AF_INET && size == 4)
            bytes = &((const struct sockaddr_in *)(const void *)at)->sin_addr;
        if (at->sa_family == AF_INET6 && size == 16)
            bytes = &((const struct sockaddr_in6 *)(const void *)at)->sin6_addr;
        if (bytes != NULL && memcmp(bytes, address, size) == 0)
            return true;
    }
    return false;
}

int jr_host_find_self(const struct jr_host *hw, char *const *hosts, size_t count)
{
    struct ifaddrs *own = NULL;
    unsigned char address[16];
    int found = -1;
    if (getifaddrs(&own) != 0)
        own = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t size = parse_address(address, hosts[i]);
        bool same = size > 0 ? has_own_address(own, address, size)
                             : hw->hostname != NULL && is_own_name(hosts[i], hw->hostname);
        if (same && found >= 0) {
            found = -1;
            break;
        }
        found = same ? (int)i : found;
    }
    freeifaddrs(own);
    return found;
}
