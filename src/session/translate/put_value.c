/*
 * Putting values into the spec, each checked by its field's row; and the setters that the tables of
 * several launchers use. internal.h declares it.
 */
#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include <jobrun/contract.h>

#include "base/io.h"
#include "base/num.h"
#include "base/regex.h"
#include "base/strv.h"
#include "host/scheduler/hostlist.h"
#include "session/translate/internal.h"
#include "spec/field.h"
#include "spec/template_text.h"

#include "base/banned.h"

void jr_note_add(struct jr_translator *t, enum jr_verdict verdict, const char *what,
                 const char *why)
{
    struct jr_note *note =
        jr_arena_push(t->arena, &t->to->notes, &t->to->notes_count, sizeof *note);
    if (note != NULL)
        *note = (struct jr_note){verdict, what, why};
}

int jr_given_wrong(struct jr_translator *t, const struct jr_given *given, const char *wants)
{
    return jr_error_set(t->err, JR_STATUS_USAGE, "'%s': this wants %s", given->what, wants);
}

static bool matches_pattern(const char *pattern, const char *value)
{
    struct jr_regex *regex;
    struct jr_match match;
    size_t offset;
    bool limited;
    if (jr_regex_new(&regex, pattern, &offset, NULL) != 0)
        return false;
    bool found = jr_regex_find(regex, value, strlen(value), 0, &match, &limited);
    jr_regex_free(regex);
    return found;
}

/* What a launcher's value can get wrong; the reader of specs checks it all. */
static bool may_value_fit(const struct jr_spec_type *type, const char *value)
{
    uint32_t number;
    uint64_t ms;
    if (type->kind == JR_KIND_LIST)
        return may_value_fit(type->item, value);
    if (type->kind == JR_KIND_INTEGER)
        return jr_num_u32(value, &number) && number >= type->min && number <= type->max;
    if (type->kind == JR_KIND_DURATION)
        return jr_num_duration(value, &ms);
    if (type->kind == JR_KIND_WORD) {
        for (const struct jr_spec_word *row = type->words; row->word; row++)
            if (strcmp(row->word, value) == 0)
                return true;
        return type->custom && strncmp(value, "custom:", 7) == 0;
    }
    if (type->kind == JR_KIND_TEXT && type->pattern != NULL)
        return matches_pattern(type->pattern, value);
    return true;
}

static int put_node(struct jr_translator *t, const struct jr_given *given, const char *path,
                    struct jr_node *value)
{
    if (value == NULL || !jr_node_set_path(t->arena, t->to->spec, path, value)) {
        t->arena->failed = true;
        return -1;
    }
    if (given->what == NULL)
        return 0;
    struct jr_origin *origin =
        jr_arena_push(t->arena, &t->to->origins, &t->to->origins_count, sizeof *origin);
    if (origin != NULL)
        *origin = (struct jr_origin){path, given->what};
    return 0;
}

bool jr_put_is_name(const char *text, char end)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz0123456789";
    size_t len = strspn(text, letters);
    return len > 0 && text[len] == end && strchr("0123456789", *text) == NULL;
}

static const char variable_name[] = "the name of a variable";

int jr_put(struct jr_translator *t, const struct jr_given *given, const char *path,
           const char *value)
{
    struct jr_buf wants JR_BUF_CLEANUP = JR_BUF_INIT;
    if (strncmp(path, "env.", 4) == 0 && !jr_put_is_name(path + 4, '\0'))
        return jr_given_wrong(t, given, variable_name);
    const struct jr_spec_type *type = jr_field_find(path)->type;
    if (type->kind == JR_KIND_NAMES || type->kind == JR_KIND_LIST)
        type = type->item;
    if (strcmp(value, "auto") != 0 && !may_value_fit(type, value)) {
        jr_field_wants(&wants, type);
        return jr_given_wrong(t, given, wants.data == NULL ? "" : wants.data);
    }
    return put_node(t, given, path, jr_put_scalar(t, value));
}

int jr_put_list(struct jr_translator *t, const struct jr_given *given, const char *path,
                char **items)
{
    const struct jr_spec_type *type = jr_field_find(path)->type;
    struct jr_node *list = jr_node_sequence(t->arena);
    if (items == NULL || list == NULL)
        return -1;
    for (; *items != NULL; items++) {
        if (!may_value_fit(type, *items))
            return jr_given_wrong(t, given, type->wants);
        jr_node_append(t->arena, list, jr_put_scalar(t, *items));
    }
    return put_node(t, given, path, list);
}

struct jr_node *jr_put_scalar(struct jr_translator *t, const char *text)
{
    struct jr_node *node = jr_node_scalar(t->arena, text, true);
    if (node != NULL && jr_scalar_type(node) == JR_SCALAR_NULL)
        node->plain = false;
    return node;
}

const char *jr_put_drop(struct jr_translator *t, const char *key)
{
    struct jr_node *spec = t->to->spec;
    const char *from = NULL;
    struct jr_pair *pair = jr_doc_pair(spec, key);
    if (pair == NULL)
        return NULL;
    size_t behind = (size_t)(spec->pairs + spec->count - (pair + 1));
    memmove(pair, pair + 1, behind * sizeof *pair);
    spec->count--;
    for (size_t i = 0; i < t->to->origins_count; i++)
        if (strcmp(t->to->origins[i].path, key) == 0) {
            from = t->to->origins[i].text;
            t->to->origins[i].path = "";
        }
    return from == NULL ? key : from;
}

char **jr_put_split(struct jr_translator *t, const char *text, char separator)
{
    size_t count = 1, used = 0;
    for (const char *at = text; *at != '\0'; at++)
        count += *at == separator;
    char **items = jr_arena_array(t->arena, count + 1, sizeof *items);
    for (const char *end = text; items != NULL && end != NULL; text = end + 1) {
        end = strchr(text, separator);
        size_t len = end == NULL ? strlen(text) : (size_t)(end - text);
        items[used] = jr_arena_strndup(t->arena, text, len);
        if (items[used++] == NULL)
            return NULL;
        if (end == NULL)
            break;
    }
    return items;
}

#define VARIABLE(name, template, field) {name, field},

/* The field that decides a variable; "" where jobrun alone does. NULL: none. */
static const char *find_deciding_field(const char *name)
{
    static const struct {
        const char *name, *field;
    } rows[] = {
        {"OMP_NUM_THREADS", "threads"},
        {"CUDA_VISIBLE_DEVICES", "devices"},
        {"HIP_VISIBLE_DEVICES", "devices"},
        {"ROCR_VISIBLE_DEVICES", "devices"},
        {"ASCEND_RT_VISIBLE_DEVICES", "devices"},
        {"TORCH_DISTRIBUTED_BACKEND", "backends.default"},
        JR_CONTRACT_VARIABLES(VARIABLE) JR_CONTRACT_CELL(VARIABLE) JR_CONTRACT_TORCH(VARIABLE){0},
    };
    for (size_t i = 0; rows[i].name != NULL; i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].field;
    return NULL;
}

int jr_put_variable(struct jr_translator *t, const struct jr_given *given, const char *name,
                    const char *value)
{
    static const char own[] = "jobrun sets it for each rank itself";
    const char *field = find_deciding_field(name);
    struct jr_given quiet = *given;
    if (!jr_put_is_name(name, '\0'))
        return jr_given_wrong(t, given, variable_name);
    if (field != NULL && field[0] == '\0') {
        jr_note_add(t, JR_VERDICT_NEEDLESS, given->what, own);
        return 0;
    }
    const char *path = field != NULL ? field : jr_arena_printf(t->arena, "env.%s", name);
    if (path == NULL)
        return -1;
    const struct jr_strv globs = jr_field_defaults(jr_field_find("secrets"), t->arena);
    if (jr_env_matches(globs.items, globs.count, name, strlen(name))) {
        quiet.what = jr_arena_printf(t->arena, "%s=...", name);
        jr_note_add(t, JR_VERDICT_CHANGED, quiet.what,
                    "a secret: the spec wants it in jobrun's environment");
        return put_node(t, &quiet, path, jr_put_scalar(t, "???"));
    }
    if (given->expands) {
        jr_note_add(t, JR_VERDICT_LOST, given->what,
                    jr_arena_printf(t->arena, "only the shell knows the value: state '%s'", path));
        return 0;
    }
    bool devices = strcmp(path, "devices") == 0;
    if (devices && (value[0] == '\0' || strcmp(value, "-1") == 0))
        return put_node(t, given, "devices", jr_put_scalar(t, "none"));
    if (devices)
        return jr_put_list(t, given, "devices", jr_put_split(t, value, ','));
    return jr_put(t, given, path, field != NULL ? value : jr_template_literal(t->arena, value));
}

uint32_t jr_put_count(const struct jr_translator *t, const char *path)
{
    const struct jr_node *node = jr_doc_get(t->to->spec, path);
    uint32_t count;
    return node != NULL && node->kind == JR_NODE_SCALAR && jr_num_u32(node->text, &count) ? count
                                                                                          : 0;
}

/* How many ranks there are, and on which nodes, as the launchers deal them. */

/* How many ranks the first nodes have, and the later ones. */
struct deal {
    uint64_t first, first_nodes, later, later_nodes;
};

static int put_deal(struct jr_translator *t, const struct deal *deal)
{
    const struct jr_given unasked = {.what = NULL};
    enum { MOST = 4096 };
    uint64_t nodes = deal->first_nodes + deal->later_nodes;
    if (nodes > MOST || (deal->later == 0 && deal->later_nodes > 0))
        return jr_error_set(t->err, JR_STATUS_USAGE,
                            "the ranks cannot be distributed over the nodes");
    char **items = jr_arena_array(t->arena, nodes + 1, sizeof *items);
    for (uint64_t i = 0; items != NULL && i < nodes; i++)
        items[i] = jr_arena_printf(t->arena, "%u",
                                   (unsigned)(i < deal->first_nodes ? deal->first : deal->later));
    return jr_put_list(t, &unasked, "local_world_size", items);
}

/* Slots are the most that a node takes: fill one after the other, and leave out the nodes that get
 * nothing. Returns false where there are more ranks than slots. */
static bool fill_host_slots(struct jr_translator *t, uint32_t world)
{
    struct jr_node *slots = jr_doc_get(t->to->spec, "local_world_size");
    struct jr_node *hosts = jr_doc_get(t->to->spec, "hosts");
    uint32_t rest = world, count;
    size_t i = 0;
    for (; i < slots->count && rest > 0; i++) {
        if (!jr_num_u32(slots->items[i]->text, &count))
            return true;
        count = count < rest ? count : rest;
        rest -= count;
        slots->items[i] = jr_put_scalar(t, jr_arena_printf(t->arena, "%u", count));
    }
    if (rest > 0) { /* more than the slots: nodes take more than they offer */
        (void)jr_put_drop(t, "local_world_size");
        return false;
    }
    slots->count = i;
    if (hosts != NULL)
        hosts->count = i;
    return true;
}

static int deal_evenly(struct jr_translator *t, uint32_t world, uint32_t nodes)
{
    const struct deal even = {world / nodes + 1, world % nodes, world / nodes,
                              nodes - world % nodes};
    return world % nodes == 0 ? 0 : put_deal(t, &even);
}

int jr_put_sizes(struct jr_translator *t)
{
    uint32_t world = jr_put_count(t, "world_size");
    uint32_t nodes = jr_put_count(t, "nodes");
    uint32_t local = jr_put_count(t, "local_world_size");
    const struct jr_node *stated = jr_doc_get(t->to->spec, "local_world_size");
    if (world == 0)
        return 0;
    if (stated != NULL && stated->kind == JR_NODE_SEQUENCE) {
        uint32_t hosts = (uint32_t)stated->count;
        return fill_host_slots(t, world) ? 0 : deal_evenly(t, world, hosts);
    }
    if (nodes == 0) /* a launcher takes of the hosts only as many as the ranks fill */
        jr_hosts_cut(t, local == 0 ? world : (world - 1) / local + 1);
    uint32_t hosts = nodes == 0 ? jr_hosts_count(t) : 0;
    bool fits = hosts == 0 || world <= (uint64_t)hosts * local;
    if (nodes == 0 && local != 0 && world % local != 0 && fits) {
        const struct deal filled = {local, world / local, world % local, 1};
        return put_deal(t, &filled);
    }
    nodes = nodes == 0 ? hosts : nodes;
    if (nodes == 0 || world == (uint64_t)nodes * local)
        return 0;
    if (local != 0)
        jr_note_add(t, JR_VERDICT_CHANGED, jr_put_drop(t, "local_world_size"),
                    "it was a maximum per node; world_size gives the total");
    return deal_evenly(t, world, nodes);
}

int jr_set_field(struct jr_translator *t, const struct jr_given *given)
{
    const char *equals = strchr(given->flag->field, '=');
    if (equals == NULL)
        return jr_put(t, given, given->flag->field, given->value);
    const char *path =
        jr_arena_strndup(t->arena, given->flag->field, (size_t)(equals - given->flag->field));
    return path == NULL ? -1 : jr_put(t, given, path, equals + 1);
}

int jr_set_path(struct jr_translator *t, const struct jr_given *given)
{
    const char *path = jr_template_literal(t->arena, given->value);
    return path == NULL ? -1 : jr_put(t, given, given->flag->field, path);
}

int jr_set_seconds(struct jr_translator *t, const struct jr_given *given)
{
    uint32_t seconds;
    if (!jr_num_u32(given->value, &seconds))
        return jr_given_wrong(t, given, "a number of seconds");
    const char *text = jr_arena_printf(t->arena, "%us", seconds);
    return text == NULL ? -1 : jr_put(t, given, given->flag->field, text);
}

int jr_set_list(struct jr_translator *t, const struct jr_given *given)
{
    if (strcmp(given->value, "all") == 0)
        return jr_put(t, given, given->flag->field, "all");
    return jr_put_list(t, given, given->flag->field, jr_put_split(t, given->value, ','));
}

int jr_set_pair(struct jr_translator *t, const struct jr_given *given)
{
    const char *equals = strchr(given->value, '=');
    if (equals == NULL) {
        jr_note_add(t, JR_VERDICT_NEEDLESS, given->what, "the ranks inherit jobrun's environment");
        return 0;
    }
    const char *name = jr_arena_strndup(t->arena, given->value, (size_t)(equals - given->value));
    return name == NULL ? -1 : jr_put_variable(t, given, name, equals + 1);
}

int jr_set_env_two(struct jr_translator *t, const struct jr_given *given)
{
    return jr_put_variable(t, given, given->value, given->second);
}

int jr_set_binding(struct jr_translator *t, const struct jr_given *given)
{
    static const struct {
        const char *theirs, *ours;
    } rows[] = {
        {"none", "none"},    {"no", "none"},       {"off", "none"},     {"core", "core"},
        {"cores", "core"},   {"hwthread", "core"}, {"threads", "core"}, {"rank", "core"},
        {"node", "numa"},    {"numa", "numa"},     {"socket", "numa"},  {"sockets", "numa"},
        {"package", "numa"}, {"ldoms", "numa"},    {"l3cache", "numa"}, {"core-complex", "numa"},
    };
    const char *value = given->value;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t len = strlen(rows[i].theirs);
        if (strncmp(value, rows[i].theirs, len) == 0 && (value[len] == '\0' || value[len] == ':'))
            return jr_put(t, given, given->flag->field, rows[i].ours);
    }
    jr_note_add(t, JR_VERDICT_LOST, given->what,
                "ranks can be bound to nothing, a core, a NUMA node or a device");
    return 0;
}

int jr_set_gpus_each(struct jr_translator *t, const struct jr_given *given)
{
    const char *colon = strrchr(given->value, ':');
    if (strcmp(colon == NULL ? given->value : colon + 1, "1") == 0)
        return jr_put(t, given, "device_visibility", "one");
    jr_note_add(t, JR_VERDICT_LOST, given->what, "a rank sees all devices of its node, or one");
    return 0;
}

int jr_set_restarts(struct jr_translator *t, const struct jr_given *given)
{
    if (strcmp(given->value, "0") != 0)
        return jr_put(t, given, given->flag->field, given->value);
    jr_note_add(t, JR_VERDICT_NEEDLESS, given->what,
                "a job is started once unless `restart` says otherwise");
    return 0;
}

/* N or MIN:MAX; a spec has a fixed number. */
int jr_set_nodes(struct jr_translator *t, const struct jr_given *given)
{
    char **ends = jr_put_split(t, given->value, ':');
    if (ends == NULL)
        return -1;
    bool range = ends[1] != NULL;
    if (range && ends[2] != NULL)
        return jr_given_wrong(t, given, "N or MIN:MAX");
    if (range && strcmp(ends[0], ends[1]) != 0)
        jr_note_add(t, JR_VERDICT_CHANGED, given->what,
                    "a job has a fixed number of nodes: the greatest");
    return jr_put(t, given, "nodes", ends[range ? 1 : 0]);
}

/* HOST, HOST:PORT or [V6]:PORT. */
int jr_set_endpoint(struct jr_translator *t, const struct jr_given *given)
{
    const char *value = given->value;
    const char *close = value[0] == '[' ? strchr(value, ']') : NULL;
    const char *host = close == NULL ? value : value + 1;
    const char *end = close == NULL ? strchrnul(value, ':') : close;
    const char *colon = strchr(end, ':');
    host = jr_arena_strndup(t->arena, host, (size_t)(end - host));
    if (host == NULL || jr_put(t, given, "master_addr", host) != 0)
        return -1;
    return colon == NULL ? 0 : jr_put(t, given, "master_port", colon + 1);
}

int jr_set_module(struct jr_translator *t, const struct jr_given *given)
{
    (void)given;
    t->module = true;
    return 0;
}

int jr_set_no_python(struct jr_translator *t, const struct jr_given *given)
{
    (void)given;
    t->no_python = true;
    return 0;
}

int jr_set_use_env(struct jr_translator *t, const struct jr_given *given)
{
    (void)given;
    t->local_rank_argument = false;
    return 0;
}

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
    /* A host alone that is this machine: the ranks start here, without ssh. */
    bool here =
        places->count == 1 && (strcmp(names[0], "localhost") == 0 ||
                               strcmp(names[0], "127.0.0.1") == 0 || strcmp(names[0], "::1") == 0);
    if (t->launcher->ssh && here) {
        if (jr_put(t, given, "nodes", "1") != 0)
            return -1;
        return put_slots(t, given, places);
    }
    if (jr_put_list(t, given, "hosts", names) != 0 || put_slots(t, given, places) != 0)
        return -1;
    if (places->user != NULL)
        jr_note_add(t, JR_VERDICT_LOST, places->user,
                    "which user logs in on a host belongs into ~/.ssh/config");
    if (t->launcher->ssh) { /* have jobrun start the ranks of `hosts` by ssh */
        if (jr_doc_find(t->to->spec, "engine.ssh") == NULL &&
            !jr_node_set_path(t->arena, t->to->spec, "engine.ssh", jr_node_mapping(t->arena)))
            return -1;
        jr_note_add(t, JR_VERDICT_CHANGED, given->what, BY_SSH);
    } else if (places->count > 1)
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

/* A line of a hostfile: of Open MPI, MPICH, DeepSpeed, a scheduler. */
static bool add_hostfile_line(struct jr_translator *t, struct places *to, char *line)
{
    line[strcspn(line, "#")] = '\0';
    line += strspn(line, BLANKS);
    if (*line == '\0')
        return true;
    char *host = strsep(&line, BLANKS);
    const char *slots = NULL;
    /* Behind the host its slots, alone or by name, and what is no number of ranks, such as
     * max_slots=8. */
    for (char *word; (word = strsep(&line, BLANKS)) != NULL;) {
        if (*word == '\0')
            continue;
        if (word[strspn(word, "0123456789")] == '\0') { /* HOST SLOTS ... */
            slots = word;
            break;
        }
        if (!read_setting(&line, word, to, &slots))
            return false;
    }
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
        char *const *at = named;
        while (*at != NULL && strcmp(*at, hosts->items[i]->text) != 0)
            at++;
        kept[i] = (*at != NULL) != others;
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
