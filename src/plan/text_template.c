#include "plan/text_template.h"

#include <stdio.h>
#include <string.h>

#include <jobrun/contract.h>

#include "base/buf.h"
#include "base/json.h"
#include "plan/internal.h"
#include "plan/planner.h"
#include "resolve/node_resources.h"

#include "base/banned.h"

struct jr_piece {
    const char *literal; /* NULL: a word */
    size_t len;
    enum jr_template word;
};

#define AT(axis)    (JR_DOMAIN_AT + JR_AXIS_##axis)
#define GROUP(axis) (JR_DOMAIN_GROUP + JR_AXIS_##axis)

/* The reach of every word that is not the same for the whole job. */
static const enum jr_domain domains[JR_TEMPLATE_COUNT] = {
    [JR_TEMPLATE_RANK] = JR_DOMAIN_RANK,
    [JR_TEMPLATE_RANK_DIR] = JR_DOMAIN_RANK,
    [JR_TEMPLATE_RESULT_FILE] = JR_DOMAIN_RANK,
    [JR_TEMPLATE_PROGRESS_FILE] = JR_DOMAIN_RANK,
    [JR_TEMPLATE_ERROR_FILE] = JR_DOMAIN_RANK,
    [JR_TEMPLATE_LOCAL_RANK] = JR_DOMAIN_LOCAL,
    [JR_TEMPLATE_DEVICE] = JR_DOMAIN_LOCAL,
    [JR_TEMPLATE_DEVICE_INDEX] = JR_DOMAIN_LOCAL,
    [JR_TEMPLATE_ENDPOINT] = JR_DOMAIN_RANK,
    [JR_TEMPLATE_NODE_RANK] = JR_DOMAIN_NODE,
    [JR_TEMPLATE_LOCAL_WORLD_SIZE] = JR_DOMAIN_NODE,
    [JR_TEMPLATE_VISIBLE] = JR_DOMAIN_NODE,
    [JR_TEMPLATE_THREADS] = JR_DOMAIN_NODE,
    [JR_TEMPLATE_MODEL_RANK] = AT(MODEL),
    [JR_TEMPLATE_PIPELINE_RANK] = AT(PIPELINE),
    [JR_TEMPLATE_DATA_RANK] = AT(DATA),
    [JR_TEMPLATE_MODEL_GROUP] = GROUP(MODEL),
    [JR_TEMPLATE_PIPELINE_GROUP] = GROUP(PIPELINE),
    [JR_TEMPLATE_DATA_GROUP] = GROUP(DATA),
    [JR_TEMPLATE_MODEL_MEMBERS] = GROUP(MODEL),
    [JR_TEMPLATE_PIPELINE_MEMBERS] = GROUP(PIPELINE),
    [JR_TEMPLATE_DATA_MEMBERS] = GROUP(DATA),
};

#define WORD(name, word, help) word,
static const char *const words[] = {JR_TEMPLATE_NAMES(WORD) JR_TEMPLATE_INTERNALS(WORD)};

#define COUNT(name, word, help) +1
enum { PUBLIC_WORDS = JR_TEMPLATE_NAMES(COUNT) };

/* `template->pieces` has room. */
static void add_literal_piece(struct jr_compiled_template *template, const char *text, size_t len)
{
    if (len > 0)
        template->pieces[template->count++] = (struct jr_piece){.literal = text, .len = len};
}

/* One "%{...}" or "%%{" at `at`; returns what follows it. */
static const char *compile_mark(struct jr_compiled_template *template, const char *at,
                                bool internals, struct jr_error *err)
{
    if (at[1] == '%') {
        add_literal_piece(template, at + 1, 2);
        return at + 3;
    }
    const char *name = at + 2;
    const char *end = strchr(name, '}');
    enum jr_template word = 0, last = internals ? JR_TEMPLATE_COUNT : PUBLIC_WORDS;
    if (end == NULL) {
        jr_error_set(err, JR_STATUS_INVALID, "'%%{' has no closing brace");
        return NULL;
    }
    size_t len = (size_t)(end - name);
    while (word < last && (strlen(words[word]) != len || memcmp(words[word], name, len) != 0))
        word++;
    if (word == last) {
        jr_error_set(err, JR_STATUS_INVALID, "a template has no word '%.*s'", (int)(end - name),
                     name);
        return NULL;
    }
    template->pieces[template->count++] = (struct jr_piece){.word = word};
    if (template->domain == JR_DOMAIN_JOB)
        template->domain = domains[word];
    else if (domains[word] != JR_DOMAIN_JOB && domains[word] != template->domain)
        template->domain = JR_DOMAIN_RANK;
    return end + 1;
}

/* In a domain with more values than this, few ranks share a value. */
enum { SHARED_MOST = 1 << 14 };

static void share_expansions(struct jr_compiled_template *template,
                             const struct jr_template_space *space)
{
    if (template->domain != JR_DOMAIN_RANK && space->size[template->domain] <= SHARED_MOST)
        template->shared =
            jr_arena_array(space->arena, space->size[template->domain], sizeof(char *));
}

int jr_compiled_template_compile(struct jr_compiled_template *ret,
                                 const struct jr_template_space *space, const char *prefix,
                                 const char *text, struct jr_error *err)
{
    struct jr_compiled_template made = {.domain = JR_DOMAIN_JOB, .json = space->json};
    size_t room = 2; /* the prefix, and before and after every "%{" a piece */
    for (const char *at = strstr(text, "%{"); at; at = strstr(at + 2, "%{"))
        room += 2;
    made.pieces = jr_arena_array(space->arena, room, sizeof *made.pieces);
    if (made.pieces == NULL)
        return 0;
    add_literal_piece(&made, prefix, strlen(prefix));
    const char *mark;
    while ((mark = strstr(text, "%{")) != NULL) {
        mark -= mark > text && mark[-1] == '%'; /* "%%{" */
        add_literal_piece(&made, text, (size_t)(mark - text));
        text = compile_mark(&made, mark, space->internals, err);
        if (text == NULL)
            return -1;
    }
    add_literal_piece(&made, text, strlen(text));
    share_expansions(&made, space);
    *ret = made;
    return 0;
}

void jr_compiled_template_literal(struct jr_compiled_template *ret,
                                  const struct jr_template_space *space, const char *text)
{
    struct jr_compiled_template made = {.domain = JR_DOMAIN_JOB};
    made.pieces = jr_arena_array(space->arena, 1, sizeof *made.pieces);
    if (made.pieces != NULL)
        add_literal_piece(&made, text, strlen(text));
    share_expansions(&made, space);
    *ret = made;
}

static struct jr_piece piece_value(const struct jr_piece *piece, const struct jr_scope *scope)
{
    if (piece->literal != NULL)
        return *piece;
    const char *text = scope->text[piece->word];
    if (text == NULL)
        text = "";
    return (struct jr_piece){.literal = text, .len = strlen(text)};
}

/* The same for words in strings of JSON. */
static char *expand_json(const struct jr_compiled_template *template, struct jr_arena *arena,
                         const struct jr_scope *scope)
{
    struct jr_buf JR_BUF_CLEANUP out = JR_BUF_INIT;
    for (size_t i = 0; i < template->count; i++) {
        const struct jr_piece *piece = &template->pieces[i];
        const char *text = scope->text[piece->word];
        struct jr_buf JR_BUF_CLEANUP quoted = JR_BUF_INIT;
        if (piece->literal != NULL) {
            jr_buf_add(&out, piece->literal, piece->len);
            continue;
        }
        jr_json_quote(&quoted, text == NULL ? "" : text);
        out.failed |= quoted.failed;
        if (!out.failed)
            jr_buf_add(&out, quoted.data + 1, quoted.len - 2);
    }
    return jr_buf_keep(&out, arena);
}

static char *expand_template(const struct jr_compiled_template *template, struct jr_arena *arena,
                             const struct jr_scope *scope)
{
    if (template->json)
        return expand_json(template, arena, scope);
    size_t len = 0;
    for (size_t i = 0; i < template->count; i++)
        len += piece_value(&template->pieces[i], scope).len;
    char *text = jr_arena_alloc(arena, len + 1);
    if (text == NULL)
        return NULL;
    char *end = text;
    for (size_t i = 0; i < template->count; i++) {
        struct jr_piece piece = piece_value(&template->pieces[i], scope);
        memcpy(end, piece.literal, piece.len);
        end += piece.len;
    }
    return text;
}

static struct jr_arena *lasting_arena(struct jr_arena *arena, const struct jr_scope *scope)
{
    return scope->lasting != NULL ? scope->lasting : arena;
}

char *jr_compiled_template_expand(const struct jr_compiled_template *template,
                                  struct jr_arena *arena, const struct jr_scope *scope)
{
    if (template->shared == NULL)
        return expand_template(template, arena, scope);
    char **slot = &template->shared[scope->index[template->domain]];
    if (*slot == NULL)
        *slot = expand_template(template, lasting_arena(arena, scope), scope);
    return *slot;
}

bool jr_compiled_template_is_distinct(const struct jr_compiled_template *template)
{
    size_t ranks = 0;
    for (size_t i = 0; i < template->count; i++) {
        const struct jr_piece *piece = &template->pieces[i];
        if (piece->literal != NULL || domains[piece->word] == JR_DOMAIN_JOB)
            continue;
        if (piece->word != JR_TEMPLATE_RANK && piece->word != JR_TEMPLATE_RANK_DIR)
            return false;
        ranks++;
    }
    return ranks == 1;
}

int jr_compiled_templates_compile(struct jr_compiled_templates *ret,
                                  const struct jr_template_space *space, char *const *texts,
                                  size_t count, struct jr_error *err)
{
    struct jr_compiled_templates made = {.count = count};
    made.items = jr_arena_array(space->arena, count, sizeof *made.items);
    if (made.items == NULL)
        return 0;
    for (size_t i = 0; i < count; i++)
        if (jr_compiled_template_compile(&made.items[i], space, "", texts[i], err) < 0)
            return -1;
    *ret = made;
    return 0;
}

bool jr_compiled_templates_vary(const struct jr_compiled_templates *templates)
{
    for (size_t i = 0; i < templates->count; i++)
        if (templates->items[i].domain != JR_DOMAIN_JOB)
            return true;
    return false;
}

char **jr_compiled_templates_expand(struct jr_compiled_templates *templates, struct jr_arena *arena,
                                    const struct jr_scope *scope)
{
    if (templates->shared != NULL)
        return templates->shared;
    bool vary = jr_compiled_templates_vary(templates);
    char **items = jr_arena_array(vary ? arena : lasting_arena(arena, scope), templates->count + 1,
                                  sizeof *items);
    if (items == NULL)
        return NULL;
    for (size_t i = 0; i < templates->count; i++)
        items[i] = jr_compiled_template_expand(&templates->items[i], arena, scope);
    if (!vary)
        templates->shared = items;
    return items;
}

/* The kernel's MAX_ARG_STRLEN is 128 KiB for NAME=VALUE; keep well below. */
enum { LONGEST_LIST = 100 * 1024 };

/* The words of one axis. */
struct axis_words {
    enum jr_template rank, size, group, members, backend;
};

#define AXIS_WORDS(name, word, help)                                                               \
    [JR_AXIS_##name] = {                                                                           \
        JR_TEMPLATE_##name##_RANK,    JR_TEMPLATE_##name##_SIZE,    JR_TEMPLATE_##name##_GROUP,    \
        JR_TEMPLATE_##name##_MEMBERS, JR_TEMPLATE_##name##_BACKEND,                                \
    },

static const struct axis_words axis_words[JR_AXIS_COUNT] = {JR_AXES(AXIS_WORDS)};

static const char *decimal_text(const struct jr_scopes *scopes, uint32_t n)
{
    return scopes->decimals[n].text;
}

static size_t list_len(const struct jr_scopes *scopes, enum jr_axis axis, uint32_t group)
{
    size_t len = 0;
    for (uint32_t i = 0; i < scopes->grid.size[axis]; i++)
        len += strlen(decimal_text(scopes, jr_grid_member(&scopes->grid, axis, group, i))) + 1;
    return len;
}

/* The last group has the largest ranks, so the longest list. */
static char **make_lists(const struct jr_scopes *scopes, enum jr_axis axis)
{
    uint32_t groups = jr_grid_groups(&scopes->grid, axis);
    if (list_len(scopes, axis, groups - 1) > LONGEST_LIST)
        return NULL;
    char **lists = jr_arena_array(scopes->space.arena, groups, sizeof *lists);
    for (uint32_t group = 0; lists != NULL && group < groups; group++) {
        lists[group] = jr_arena_alloc(scopes->space.arena, list_len(scopes, axis, group));
        char *end = lists[group];
        for (uint32_t i = 0; end != NULL && i < scopes->grid.size[axis]; i++) {
            uint32_t rank = jr_grid_member(&scopes->grid, axis, group, i);
            if (i > 0)
                *end++ = ',';
            end = stpcpy(end, decimal_text(scopes, rank));
        }
    }
    return lists;
}

/* HOST:PORT of each rank, and all of them with commas, unless there are too many for one variable.
 */
static void fill_endpoints(struct jr_scopes *scopes)
{
    JR_BUF_CLEANUP struct jr_buf list = JR_BUF_INIT;
    struct jr_arena *arena = scopes->space.arena;
    const struct jr_job *job = scopes->job;
    uint32_t rank = 0;
    if (job->rank_ports == NULL)
        return;
    scopes->endpoints = jr_arena_array(arena, job->world_size, sizeof *scopes->endpoints);
    for (uint32_t node = 0; scopes->endpoints != NULL && node < job->nodes; node++) {
        const char *host = scopes->options->local ? NULL : job->hosts[node];
        host = host != NULL ? host : job->master_addr;
        bool bare = strchr(host, ':') != NULL && host[0] != '['; /* v6 has colons of its own */
        for (uint32_t i = 0; !arena->failed && i < job->local_world_sizes[node]; i++, rank++) {
            char *endpoint = jr_arena_printf(arena, "%s%s%s:%u", bare ? "[" : "", host,
                                             bare ? "]" : "", job->rank_ports[rank]);
            scopes->endpoints[rank] = endpoint;
            jr_buf_printf(&list, "%s%s", rank > 0 ? "," : "", endpoint == NULL ? "" : endpoint);
        }
    }
    arena->failed |= list.failed;
    if (!arena->failed && list.len <= LONGEST_LIST)
        scopes->common.text[JR_TEMPLATE_ENDPOINTS] = jr_arena_strdup(arena, list.data);
}

/* The nodes of the job, with commas. NULL where one is not known, or they are too many for one
 * variable. */
static const char *join_hosts(const struct jr_scopes *scopes)
{
    JR_BUF_CLEANUP struct jr_buf list = JR_BUF_INIT;
    const struct jr_job *job = scopes->job;
    for (uint32_t node = 0; node < job->nodes; node++) {
        if (scopes->options->local || job->hosts[node] == NULL || list.len > LONGEST_LIST)
            return NULL;
        jr_buf_printf(&list, "%s%s", node > 0 ? "," : "", job->hosts[node]);
    }
    return jr_buf_keep(&list, scopes->space.arena);
}

/* The ranks of each node, as Slurm writes it: "2(x3),1". */
static const char *join_counts(const struct jr_scopes *scopes)
{
    JR_BUF_CLEANUP struct jr_buf list = JR_BUF_INIT;
    const struct jr_job *job = scopes->job;
    for (uint32_t node = 0, same; node < job->nodes; node += same) {
        for (same = 1; node + same < job->nodes &&
                       job->local_world_sizes[node + same] == job->local_world_sizes[node];)
            same++;
        jr_buf_printf(&list, "%s%u", node > 0 ? "," : "", job->local_world_sizes[node]);
        if (same > 1)
            jr_buf_printf(&list, "(x%u)", same);
    }
    return jr_buf_keep(&list, scopes->space.arena);
}

static const char *profile_backend_name(const char *backend)
{
#define CALLED(name, word) {name, word},
    static const char *const names[][2] = {JR_BACKEND_CALLED(CALLED)};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(backend, names[i][0]) == 0)
            return names[i][1];
    const char *colon = strchr(backend, ':');
    return colon == NULL ? backend : colon + 1;
}

static void fill_common(struct jr_scopes *scopes)
{
    const struct jr_job *job = scopes->job;
    const struct jr_plan_options *options = scopes->options;
    struct jr_arena *arena = scopes->space.arena;
    const char **text = scopes->common.text;

    text[JR_TEMPLATE_WORLD_SIZE] = decimal_text(scopes, job->world_size);
    text[JR_TEMPLATE_NODES] = jr_arena_printf(arena, "%u", job->nodes);
    text[JR_TEMPLATE_HOSTS] = join_hosts(scopes);
    text[JR_TEMPLATE_TASKS_PER_NODE] = join_counts(scopes);
    text[JR_TEMPLATE_MASTER_ADDR] = job->master_addr;
    text[JR_TEMPLATE_MASTER_PORT] = jr_arena_printf(arena, "%u", job->master_port);
    text[JR_TEMPLATE_INIT_METHOD] = job->init_method;
    text[JR_TEMPLATE_FRAMEWORK_BACKEND] = profile_backend_name(job->backend);
    text[JR_TEMPLATE_RUN_ID] = options->run_id;
    text[JR_TEMPLATE_RUN_DIR] =
        jr_arena_printf(arena, "%s/%s", job->log_dir, jr_plan_folder(options));
    text[JR_TEMPLATE_CELL] = options->cell;
    text[JR_TEMPLATE_SWEEP_ID] = options->sweep_id;
    text[JR_TEMPLATE_ATTEMPT] = jr_arena_printf(arena, "%u", options->attempt);
    text[JR_TEMPLATE_MAX_RESTARTS] = jr_arena_printf(arena, "%u", job->policy->restart.max);
    for (enum jr_axis axis = 0; axis < JR_AXIS_COUNT; axis++) {
        text[axis_words[axis].size] = decimal_text(scopes, job->axis_size[axis]);
        text[axis_words[axis].backend] = job->axis_backend[axis];
    }
}

static void fill_sizes(struct jr_scopes *scopes)
{
    const struct jr_job *job = scopes->job;
    uint32_t *size = scopes->space.size;
    size[JR_DOMAIN_JOB] = 1;
    size[JR_DOMAIN_NODE] = job->nodes;
    for (uint32_t node = 0; node < job->nodes; node++)
        if (job->local_world_sizes[node] > size[JR_DOMAIN_LOCAL])
            size[JR_DOMAIN_LOCAL] = job->local_world_sizes[node];
    if (job->resources != NULL) /* see jr_scopes_pick */
        size[JR_DOMAIN_LOCAL] = job->world_size;
    for (enum jr_axis axis = 0; axis < JR_AXIS_COUNT; axis++) {
        size[JR_DOMAIN_AT + axis] = job->axis_size[axis];
        size[JR_DOMAIN_GROUP + axis] = jr_grid_groups(&scopes->grid, axis);
    }
    size[JR_DOMAIN_RANK] = job->world_size;
}

void jr_scopes_init(struct jr_scopes *ret, struct jr_arena *scratch, const struct jr_job *job,
                    const struct jr_plan_options *options)
{
    *ret = (struct jr_scopes){.job = job, .options = options};
    ret->space.arena = scratch;
    memcpy(ret->grid.size, job->axis_size, sizeof ret->grid.size);
    struct jr_decimal *decimals =
        jr_arena_array(scratch, (size_t)job->world_size + 1, sizeof *decimals);
    for (uint32_t n = 0; decimals != NULL && n <= job->world_size; n++)
        (void)snprintf(decimals[n].text, sizeof decimals[n].text, "%u", n);
    ret->decimals = decimals;
    if (decimals == NULL)
        return;
    fill_sizes(ret);
    fill_common(ret);
    uint32_t count = job->resources != NULL ? job->nodes : 1;
    ret->nodes = jr_arena_array(scratch, count, sizeof *ret->nodes);
    for (uint32_t i = 0; ret->nodes != NULL && i < count; i++) {
        const struct jr_node_resources *resources = jr_node_resources_of(job, i);
        JR_BUF_CLEANUP struct jr_buf list = JR_BUF_INIT;
        for (uint32_t k = 0; k < resources->devices_count; k++)
            jr_buf_printf(&list, "%s%s", k > 0 ? "," : "", resources->devices[k]);
        ret->nodes[i].visible = jr_buf_keep(&list, scratch);
        ret->nodes[i].threads = jr_arena_printf(scratch, "%u", resources->threads);
    }
    for (enum jr_axis axis = 0; axis < JR_AXIS_COUNT; axis++)
        ret->members[axis] = make_lists(ret, axis);
    fill_endpoints(ret);
}

void jr_scopes_pick(const struct jr_scopes *scopes, const struct jr_plan_rank *rank,
                    struct jr_scope *ret)
{
    const struct jr_job *job = scopes->job;
    /* what depends on the local rank is another on each node, where they have resources of their
     * own */
    bool own = job->resources != NULL;
    const struct jr_node_words *node = &scopes->nodes[own ? rank->node_rank : 0];
    *ret = scopes->common;
    ret->index[JR_DOMAIN_NODE] = rank->node_rank;
    ret->index[JR_DOMAIN_LOCAL] = own ? rank->rank : rank->local_rank;
    ret->text[JR_TEMPLATE_NODE_RANK] = decimal_text(scopes, rank->node_rank);
    ret->text[JR_TEMPLATE_LOCAL_WORLD_SIZE] =
        decimal_text(scopes, job->local_world_sizes[rank->node_rank]);
    ret->text[JR_TEMPLATE_VISIBLE] = node->visible;
    ret->text[JR_TEMPLATE_THREADS] = node->threads;
    /* the index of its device among those that it sees; if the devices are not known, the local
     * rank */
    uint32_t index = rank->local_rank;
    uint32_t count = jr_node_resources_of(job, rank->node_rank)->devices_count;
    if (count > 0)
        index = job->device_visibility == JR_VISIBLE_ONE ? 0 : index % count;
    ret->index[JR_DOMAIN_RANK] = rank->rank;
    ret->text[JR_TEMPLATE_RANK] = decimal_text(scopes, rank->rank);
    ret->text[JR_TEMPLATE_LOCAL_RANK] = decimal_text(scopes, rank->local_rank);
    ret->text[JR_TEMPLATE_DEVICE] = rank->device;
    ret->text[JR_TEMPLATE_DEVICE_INDEX] = decimal_text(scopes, index);
    if (scopes->endpoints != NULL)
        ret->text[JR_TEMPLATE_ENDPOINT] = scopes->endpoints[rank->rank];
    for (enum jr_axis axis = 0; axis < JR_AXIS_COUNT; axis++) {
        const struct axis_words *axis_word = &axis_words[axis];
        uint32_t group = rank->group[axis];
        ret->index[JR_DOMAIN_AT + axis] = rank->at[axis];
        ret->index[JR_DOMAIN_GROUP + axis] = group;
        ret->text[axis_word->rank] = decimal_text(scopes, rank->at[axis]);
        ret->text[axis_word->group] = decimal_text(scopes, group);
        if (scopes->members[axis] != NULL)
            ret->text[axis_word->members] = scopes->members[axis][group];
    }
}
