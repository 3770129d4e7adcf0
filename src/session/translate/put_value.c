/*
 * Putting values into the spec, each checked by its field's row. internal.h declares it.
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
    struct jr_regex *regex;
    struct jr_match match;
    size_t offset;
    bool limited;
    if (type->kind != JR_KIND_TEXT || type->pattern == NULL)
        return true;
    if (jr_regex_new(&regex, type->pattern, &offset, NULL) != 0)
        return false;
    bool found = jr_regex_find(regex, value, strlen(value), 0, &match, &limited);
    jr_regex_free(regex);
    return found;
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
