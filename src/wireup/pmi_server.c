#include "wireup/pmi_server.h"

#include <errno.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

/* A line: words KEY=VALUE with blanks between them. */

/* A part of a line. */
struct pmi_text {
    const char *at;
    size_t len; /* bytes */
};

enum { DIGITS = 20 };

/* Whether the line is one: it begins with KEY=, and has no control bytes. */
static bool pmi_line_is_one(const char *line)
{
    size_t key = strcspn(line, "= ");
    for (const char *at = line; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == '\x7f')
            return false;
    return key > 0 && line[key] == '=';
}

/* The value of the word `key`, up to the end of the line: one that may have blanks. False, and *ret
 * is empty, if there is none. */
static bool pmi_line_rest(const char *line, const char *key, struct pmi_text *ret)
{
    size_t len = strlen(key);
    *ret = (struct pmi_text){"", 0};
    for (const char *at = line; *at != '\0';) {
        at += strspn(at, " ");
        if (strncmp(at, key, len) == 0 && at[len] == '=') {
            *ret = (struct pmi_text){at + len + 1, strlen(at + len + 1)};
            return true;
        }
        at += strcspn(at, " ");
    }
    return false;
}

/* The same of the first such word, which ends at a blank. */
static bool pmi_line_word(const char *line, const char *key, struct pmi_text *ret)
{
    bool found = pmi_line_rest(line, key, ret);
    ret->len = strcspn(ret->at, " ");
    return found;
}

/* Whether the first word of the line is KEY=VALUE. */
static bool pmi_line_begins(const char *line, const char *key, const char *value)
{
    size_t len = strlen(key), rest = strlen(value);
    line += strspn(line, " ");
    return strncmp(line, key, len) == 0 && line[len] == '=' &&
           strncmp(line + len + 1, value, rest) == 0 &&
           (line[len + 1 + rest] == ' ' || line[len + 1 + rest] == '\0');
}

/* The value of the word `key` as a number. False, and *ret untouched, if there is none, or it does
 * not fit. */
static bool pmi_line_number(const char *line, const char *key, int64_t *ret)
{
    struct pmi_text text;
    char *end;
    if (!pmi_line_word(line, key, &text) || text.len == 0 || text.len > DIGITS ||
        strchr("-0123456789", text.at[0]) == NULL)
        return false;
    errno = 0;
    long long number = strtoll(text.at, &end, 10);
    if (errno != 0 || end != text.at + text.len)
        return false;
    *ret = number;
    return true;
}

/* The store: what clients put, for all of them to get. */

static int compare_entries(const void *a, const void *b)
{
    const struct jr_pmi_entry *left = a, *right = b;
    return strcmp(left->key, right->key);
}

/* Texts of lines have no end of their own. */
static struct jr_pmi_entry *find_entry(const struct jr_pmi_store *store, struct pmi_text key)
{
    char text[256];
    struct jr_pmi_entry wanted = {.key = text};
    if (key.len >= sizeof text)
        return NULL;
    *(char *)mempcpy(text, key.at, key.len) = '\0';
    struct jr_pmi_entry *const *slot = tfind(&wanted, &store->places, compare_entries);
    return slot == NULL ? NULL : *slot;
}

static void free_entry(struct jr_pmi_entry *entry)
{
    free(entry->key);
    free(entry->value);
    free(entry);
}

/* Room for one more in a list of entries. */
static bool make_entry_room(struct jr_pmi_entry ***entries, size_t count, size_t *room)
{
    size_t more = *room == 0 ? 64 : *room * 2;
    if (count < *room)
        return true;
    struct jr_pmi_entry **list = reallocarray(*entries, more, sizeof **entries);
    if (list == NULL)
        return false;
    *entries = list;
    *room = more;
    return true;
}

static struct jr_pmi_entry *add_entry(struct jr_pmi_store *store, struct pmi_text key, char *value)
{
    struct jr_pmi_entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL || !make_entry_room(&store->entries, store->count, &store->room)) {
        free(entry);
        return NULL;
    }
    entry->key = strndup(key.at, key.len);
    if (entry->key == NULL || tsearch(entry, &store->places, compare_entries) == NULL) {
        free_entry(entry);
        return NULL;
    }
    entry->value = value;
    store->entries[store->count++] = entry;
    return entry;
}

/* The entry that has the value now; NULL without memory. */
static struct jr_pmi_entry *set_value(struct jr_pmi_store *store, struct pmi_text key,
                                      struct pmi_text value, size_t *ret_grown)
{
    struct jr_pmi_entry *entry = find_entry(store, key);
    char *copy = strndup(value.at, value.len);
    *ret_grown = 0;
    if (copy == NULL)
        return NULL;
    if (entry == NULL) {
        entry = add_entry(store, key, copy);
        if (entry != NULL)
            *ret_grown = sizeof *entry + key.len + value.len;
        else
            free(copy);
        return entry;
    }
    size_t before = strlen(entry->value);
    *ret_grown = value.len > before ? value.len - before : 0;
    free(entry->value);
    entry->value = copy;
    return entry;
}

/* Set the value of a key, instead of one that it has. *ret_grown: by how many bytes the store is
 * larger. False without memory: nothing has changed. */
static bool pmi_store_put(struct jr_pmi_store *store, struct pmi_text key, struct pmi_text value,
                          size_t *ret_grown)
{
    *ret_grown = 0;
    if (!make_entry_room(&store->fresh, store->fresh_count, &store->fresh_room))
        return false;
    struct jr_pmi_entry *entry = set_value(store, key, value, ret_grown);
    if (entry == NULL)
        return false;
    if (!entry->fresh)
        store->fresh[store->fresh_count++] = entry;
    entry->fresh = true;
    return true;
}

/* The tree's own nodes do not own the entries. */
static void keep_entry(void *entry)
{
    (void)entry;
}

/* The server. */

#define STRANGE_LINE "it sent a line that is none of PMI-1"

/* The codes of MPICH's own errors have more than their class, which is in the lowest bits. What
 * programs give to MPI_Abort is a small number. */
enum { LARGEST_USER_CODE = 0xffff };

bool jr_pmi_is_internal(int code)
{
    return code > LARGEST_USER_CODE || code < -LARGEST_USER_CODE;
}

static uint32_t client_number(const struct jr_pmi *pmi, const struct jr_pmi_client *client)
{
    return (uint32_t)(client - pmi->clients);
}

static void break_client(struct jr_pmi *pmi, struct jr_pmi_client *client, const char *why)
{
    client->state = JR_PMI_BROKEN;
    pmi->waiting -= client->waiting;
    client->waiting = false;
    pmi->hooks.broken(pmi->hooks.owner, client_number(pmi, client), why);
}

/* Requests: each is one line of the client, and has one reply, but for barrier_in, whose reply
 * comes later, and abort, which has none. */

static void reply_init(struct jr_pmi *pmi, struct jr_pmi_client *client, const char *line)
{
    int64_t version = 0;
    if (client->state == JR_PMI_INSIDE) {
        break_client(pmi, client, "it initialized twice");
        return;
    }
    bool known = pmi_line_number(line, "pmi_version", &version) && version == 1;
    jr_buf_printf(&client->out, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=%d\n",
                  known ? 0 : -1);
    if (!known)
        return;
    client->state = JR_PMI_INSIDE;
    client->stranger = 0;
    pmi->hooks.initialized(pmi->hooks.owner, client_number(pmi, client));
}

static void reply_maxes(struct jr_pmi *pmi, struct jr_pmi_client *client, const char *line)
{
    (void)pmi;
    (void)line;
    jr_buf_printf(&client->out, "cmd=maxes kvsname_max=%d keylen_max=%d vallen_max=%d rc=0\n",
                  JR_PMI_NAME_MAX, JR_PMI_KEY_MAX, JR_PMI_VALUE_MAX);
}

static void reply_universe(struct jr_pmi *pmi, struct jr_pmi_client *client, const char *line)
{
    (void)line;
    jr_buf_printf(&client->out, "cmd=universe_size size=%u rc=0\n", pmi->world_size);
}

static void reply_name(struct jr_pmi *pmi, struct jr_pmi_client *client, const char *line)
{
    (void)line;
    jr_buf_printf(&client->out, "cmd=my_kvsname kvsname=%s rc=0\n", pmi->name);
}

/* Why the store is not what the line names, or its key is none; NULL: they are. */
static const char *find_fault(const struct jr_pmi *pmi, const char *line, struct pmi_text *ret_key)
{
    struct pmi_text name;
    (void)pmi_line_word(line, "kvsname", &name);
    if (!pmi_line_word(line, "key", ret_key) || ret_key->len == 0)
        return "no_key";
    if (ret_key->len >= JR_PMI_KEY_MAX)
        return "key_too_long";
    if (name.len != strlen(pmi->name) || memcmp(name.at, pmi->name, name.len) != 0)
        return "unknown_kvsname";
    return NULL;
}

static void reply_put(struct jr_pmi *pmi, struct jr_pmi_client *client, const char *line)
{
    struct pmi_text key, value;
    size_t grown = 0;
    const char *fault = find_fault(pmi, line, &key);
    if (fault == NULL && !pmi_line_rest(line, "value", &value))
        fault = "no_value";
    if (fault == NULL && value.len >= JR_PMI_VALUE_MAX)
        fault = "value_too_long";
    if (fault == NULL && client->stored + key.len + value.len > JR_PMI_CLIENT_BYTES)
        fault = "too_many_values";
    if (fault == NULL && !pmi_store_put(&pmi->store, key, value, &grown))
        fault = "no_memory";
    client->stored += grown;
    if (fault == NULL)
        jr_buf_str(&client->out, "cmd=put_result rc=0\n");
    else
        jr_buf_printf(&client->out, "cmd=put_result rc=-1 msg=%s\n", fault);
}

static void reply_get(struct jr_pmi *pmi, struct jr_pmi_client *client, const char *line)
{
    struct pmi_text key;
    const char *fault = find_fault(pmi, line, &key);
    const struct jr_pmi_entry *entry = fault == NULL ? find_entry(&pmi->store, key) : NULL;
    if (entry != NULL)
        jr_buf_printf(&client->out, "cmd=get_result rc=0 value=%s\n", entry->value);
    else
        jr_buf_printf(&client->out, "cmd=get_result rc=-1 msg=%s\n",
                      fault == NULL ? "key_not_found" : fault);
}

static void reply_by_index(struct jr_pmi *pmi, struct jr_pmi_client *client, const char *line)
{
    int64_t i = 0;
    if (!pmi_line_number(line, "idx", &i) || i < 0 || i >= (int64_t)pmi->store.count) {
        jr_buf_str(&client->out, "cmd=getbyidx_results rc=-1 reason=no_more_keyvals\n");
        return;
    }
    const struct jr_pmi_entry *entry = pmi->store.entries[i];
    jr_buf_printf(&client->out, "cmd=getbyidx_results rc=0 nextidx=%lld key=%s val=%s\n",
                  (long long)i + 1, entry->key, entry->value);
}

static void enter_barrier(struct jr_pmi *pmi, struct jr_pmi_client *client, const char *line)
{
    (void)line;
    client->waiting = true;
    if (++pmi->waiting == pmi->count)
        pmi->hooks.barrier(pmi->hooks.owner);
}

void jr_pmi_open_barrier(struct jr_pmi *pmi)
{
    pmi->waiting = 0;
    for (uint32_t i = 0; i < pmi->count; i++) {
        struct jr_pmi_client *client = &pmi->clients[i];
        if (client->waiting)
            jr_buf_str(&client->out, "cmd=barrier_out rc=0\n");
        client->waiting = false;
    }
}

static void reply_finalize(struct jr_pmi *pmi, struct jr_pmi_client *client, const char *line)
{
    (void)line;
    jr_buf_str(&client->out, "cmd=finalize_ack rc=0\n");
    client->state = JR_PMI_FINALIZED;
    client->owner = 0;
    pmi->hooks.finalized(pmi->hooks.owner, client_number(pmi, client));
}

static void take_abort(struct jr_pmi *pmi, struct jr_pmi_client *client, const char *line)
{
    int64_t code = 1;
    (void)pmi_line_number(line, "exitcode", &code);
    if (code > INT_MAX || code < INT_MIN)
        code = INT_MAX;
    client->state = JR_PMI_ABORTED;
    pmi->waiting -= client->waiting;
    client->waiting = false;
    pmi->hooks.aborted(pmi->hooks.owner, client_number(pmi, client), (int)code);
}

struct request {
    const char *name;
    void (*serve)(struct jr_pmi *pmi, struct jr_pmi_client *client, const char *line);
    const char *reply; /* the same to everyone, where nothing else is to be
                          done */
};

static const struct request init_request = {"init", reply_init, NULL};

/* Names could only be published where more than this job reads them, and there is one store. */
static const struct request requests[] = {
    {"get_maxes", reply_maxes, NULL},
    {"get_appnum", NULL, "cmd=appnum appnum=0 rc=0\n"},
    {"get_universe_size", reply_universe, NULL},
    {"get_my_kvsname", reply_name, NULL},
    {"put", reply_put, NULL},
    {"get", reply_get, NULL},
    {"getbyidx", reply_by_index, NULL},
    {"barrier_in", enter_barrier, NULL},
    {"finalize", reply_finalize, NULL},
    {"abort", take_abort, NULL},
    {"publish_name", NULL, "cmd=publish_result rc=-1 info=not_supported\n"},
    {"unpublish_name", NULL, "cmd=unpublish_result rc=-1 info=not_supported\n"},
    {"lookup_name", NULL, "cmd=lookup_result rc=-1 info=not_supported\n"},
    {"create_kvs", NULL, "cmd=newkvs rc=-1 msg=not_supported\n"},
    {"destroy_kvs", NULL, "cmd=kvs_destroyed rc=-1 msg=not_supported\n"},
};

static const struct request *find_request(const char *line)
{
    if (pmi_line_begins(line, "cmd", init_request.name))
        return &init_request;
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        if (pmi_line_begins(line, "cmd", requests[i].name))
            return &requests[i];
    return NULL;
}

/* MPI_Comm_spawn: as many requests of many lines as it has programs, and one reply behind the last.
 * Its lines are read for these two numbers alone. */
static void take_spawn_line(struct jr_pmi *pmi, struct jr_pmi_client *client, const char *line)
{
    int64_t number = 0;
    client->spawning = true;
    if (pmi_line_number(line, "totspawns", &number))
        client->spawns = number;
    else if (pmi_line_number(line, "spawnssofar", &number))
        client->spawned = number;
    if (strcmp(line, "endcmd") != 0)
        return;
    client->spawning = false;
    if (client->spawned < client->spawns)
        return;
    client->spawns = client->spawned = 0;
    jr_buf_str(&client->out, "cmd=spawn_result rc=-1 msg=not_supported\n");
    pmi->hooks.spawned(pmi->hooks.owner, client_number(pmi, client));
}

/* A line of a client that has not initialized, or has finalized: nothing that it may be is wrong,
 * and `init` is all that counts. */
static void take_outside_line(struct jr_pmi *pmi, struct jr_pmi_client *client, const char *line,
                              pid_t from)
{
    const struct request *request = find_request(line);
    if (request == &init_request) {
        client->owner = from;
        reply_init(pmi, client, line);
    } else if (request != NULL && request->serve != take_abort) {
        jr_buf_str(&client->out, "cmd=error rc=-1 msg=not_initialized\n");
    }
    if (client->state != JR_PMI_INSIDE)
        client->owner = 0;
}

static void take_client_line(struct jr_pmi *pmi, struct jr_pmi_client *client, const char *line,
                             pid_t from)
{
    const struct request *request;
    if (client->state != JR_PMI_INSIDE) {
        take_outside_line(pmi, client, line, from);
    } else if (client->spawning || pmi_line_begins(line, "mcmd", "spawn")) {
        take_spawn_line(pmi, client, line);
    } else if (!pmi_line_is_one(line)) {
        break_client(pmi, client, STRANGE_LINE);
    } else if ((request = find_request(line)) == NULL) {
        jr_buf_str(&client->out, "cmd=error rc=-1 msg=not_supported\n");
    } else if (client->waiting && request->serve != take_abort) {
        break_client(pmi, client, "it sent a request from within the barrier");
    } else if (request->reply != NULL) {
        jr_buf_str(&client->out, request->reply);
    } else {
        request->serve(pmi, client, line);
    }
}

static void skip_client_line(struct jr_pmi *pmi, struct jr_pmi_client *client, const char *why)
{
    client->skipping = true;
    jr_buf_clear(&client->line);
    if (client->state == JR_PMI_INSIDE)
        break_client(pmi, client, why);
}

/* Add to the line that has not ended yet. */
static void add_to_line(struct jr_pmi *pmi, struct jr_pmi_client *client, const char *bytes,
                        size_t len)
{
    if (client->skipping)
        return;
    if (client->line.len + len >= JR_PMI_LINE_MAX)
        skip_client_line(pmi, client, "it sent a line that is too long");
    else if (memchr(bytes, '\0', len) != NULL)
        skip_client_line(pmi, client, STRANGE_LINE);
    else
        jr_buf_add(&client->line, bytes, len);
}

/* Whether the bytes of this process count. One that writes in the middle of another's line, before
 * anyone has initialized, begins anew. */
static bool is_heard(struct jr_pmi_client *client, pid_t from)
{
    if (client->state == JR_PMI_BROKEN || client->state == JR_PMI_ABORTED)
        return false;
    if (client->state == JR_PMI_INSIDE)
        return client->owner == from;
    if (client->owner != from) {
        jr_buf_clear(&client->line);
        client->skipping = false;
    }
    client->owner = from;
    return true;
}

/* Whether a process that is not heard has begun to say `init`, however its bytes are cut. */
static bool has_said_init(struct jr_pmi_client *client, pid_t from, const char *bytes, size_t len)
{
    static const char init[] = "cmd=init ";
    if (client->stranger != from)
        client->said = 0;
    client->stranger = from;
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] == '\n')
            client->said = 0;
        else if (client->said >= 0 && bytes[i] == init[client->said])
            client->said++;
        else
            client->said = -1;
        if (client->said == (int)sizeof init - 1)
            return true;
    }
    return false;
}

void jr_pmi_take(struct jr_pmi *pmi, uint32_t number, pid_t from, const char *bytes, size_t len)
{
    struct jr_pmi_client *client = &pmi->clients[number];
    bool stranger = client->state == JR_PMI_INSIDE && client->owner != from;
    if (stranger && has_said_init(client, from, bytes, len))
        break_client(pmi, client,
                     "a second process of it initialized MPI before the first had finalized");
    while (len > 0 && is_heard(client, from)) {
        const char *end = memchr(bytes, '\n', len);
        size_t part = end == NULL ? len : (size_t)(end - bytes);
        add_to_line(pmi, client, bytes, part);
        bytes += part;
        len -= part;
        if (end == NULL || client->state == JR_PMI_BROKEN)
            continue;
        bytes++;
        len--;
        if (client->line.failed) {
            jr_buf_release(&client->line);
            break_client(pmi, client, "there was no memory for its line");
            continue;
        }
        if (!client->skipping)
            take_client_line(pmi, client, client->line.len == 0 ? "" : client->line.data, from);
        client->skipping = false;
        jr_buf_clear(&client->line);
    }
}

int jr_pmi_open(struct jr_pmi *ret, const struct jr_pmi_hooks *hooks, uint32_t count,
                uint32_t world_size, const char *name)
{
    struct jr_pmi pmi = {.hooks = *hooks, .world_size = world_size, .count = count};
    (void)snprintf(pmi.name, sizeof pmi.name, "%s", name);
    pmi.clients = calloc((size_t)count + 1, sizeof *pmi.clients);
    if (pmi.clients == NULL)
        return -1;
    *ret = pmi;
    return 0;
}

bool jr_pmi_take_all(struct jr_pmi *pmi, const char *lines, size_t len)
{
    while (len > 0) {
        const char *stop = memchr(lines, '\n', len);
        const char *blank = stop == NULL ? NULL : memchr(lines, ' ', (size_t)(stop - lines));
        size_t grown;
        if (blank == NULL)
            return false;
        const struct pmi_text key = {lines, (size_t)(blank - lines)};
        const struct pmi_text value = {blank + 1, (size_t)(stop - blank - 1)};
        if (set_value(&pmi->store, key, value, &grown) == NULL)
            return false;
        len -= (size_t)(stop + 1 - lines);
        lines = stop + 1;
    }
    return true;
}

int jr_pmi_map(struct jr_pmi *pmi, uint32_t nodes, const uint32_t *first)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    static const char key[] = "PMI_process_mapping ";
    jr_buf_printf(&line, "%s(vector", key);
    for (uint32_t node = 0, same; node < nodes; node += same) {
        uint32_t size = first[node + 1] - first[node];
        same = 1;
        while (node + same < nodes && first[node + same + 1] - first[node + same] == size)
            same++;
        jr_buf_printf(&line, ",(%u,%u,%u)", node, same, size);
    }
    jr_buf_str(&line, ")\n");
    errno = ENOMEM;
    if (line.len >= sizeof key - 1 + JR_PMI_VALUE_MAX)
        return 0;
    return !line.failed && jr_pmi_take_all(pmi, line.data, line.len) ? 0 : -1;
}

void jr_pmi_take_fresh(struct jr_pmi *pmi, struct jr_buf *out)
{
    struct jr_pmi_store *store = &pmi->store;
    for (size_t i = 0; i < store->fresh_count; i++) {
        struct jr_pmi_entry *entry = store->fresh[i];
        entry->fresh = false;
        jr_buf_printf(out, "%s %s\n", entry->key, entry->value);
    }
    store->fresh_count = 0;
}

void jr_pmi_release(struct jr_pmi *pmi)
{
    for (uint32_t i = 0; i < pmi->count; i++) {
        jr_buf_release(&pmi->clients[i].line);
        jr_buf_release(&pmi->clients[i].out);
    }
    free(pmi->clients);
    tdestroy(pmi->store.places, keep_entry);
    for (size_t i = 0; i < pmi->store.count; i++)
        free_entry(pmi->store.entries[i]);
    free(pmi->store.entries);
    free(pmi->store.fresh);
    *pmi = (struct jr_pmi){0};
}
