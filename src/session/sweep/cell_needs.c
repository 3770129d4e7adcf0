#include "session/sweep/cell_needs.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/strv.h"
#include "doc/doc.h"
#include "resolve/resolve.h"
#include "session/sweep/internal.h"
#include "session/sweep/cell_session.h"
#include "sweep/cells.h"
#include "sweep/swept_spec.h"

#include "base/banned.h"

void jr_cell_host_alone(struct jr_host *host)
{
    const struct jr_host_scheduler all = host->scheduler;
    host->nodes = 0;
    host->devices_each = host->cpus_each = (struct jr_counts){0};
    host->scheduler = (struct jr_host_scheduler){.name = all.name,
                                                 .job_id = all.job_id,
                                                 .node_rank = -1,
                                                 .restarts = all.restarts,
                                                 .end = all.end,
                                                 .kill_wait = all.kill_wait};
}

/* The facts of all hosts, with what agents do not tell, since it is the same for all of a job. */
static int read_hosts(struct jr_session *session, struct jr_error *err)
{
    const struct jr_host *own = &session->host;
    uint32_t nodes = session->cell_hosts_count;
    struct jr_host *hosts = jr_arena_array(&session->arena, nodes, sizeof *hosts);
    for (uint32_t i = 0; hosts != NULL && i < nodes; i++) {
        if (jr_session_read_node(session, i, &hosts[i], &session->arena, err) != 0)
            return -1;
        hosts[i].scheduler =
            session->cells_by_ssh ? (struct jr_host_scheduler){.node_rank = -1} : own->scheduler;
        hosts[i].now = own->now;
        hosts[i].environment.backend = own->environment.backend;
        hosts[i].environment.omp_num_threads = own->environment.omp_num_threads;
        jr_cell_host_alone(&hosts[i]);
    }
    if (session->arena.failed)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    session->cell_hosts = hosts;
    return 0;
}

/* The spec of the first cell, which says what agents look for. */
static enum jr_status load_first_cell(struct jr_session *session, struct jr_spec_file **ret,
                                      struct jr_error *err)
{
    size_t first = session->diags.count;
    enum jr_status status = JR_STATUS_OK;
    if (jr_swept_spec_load(ret, session->swept, 0, &session->diags) != 0)
        status = jr_spec_status(&session->diags);
    else if (jr_spec_get(*ret) == NULL)
        status = JR_STATUS_INVALID;
    if (*ret != NULL)
        jr_session_keep_cell_file(session, *ret);
    if (status == JR_STATUS_OK) /* warnings are told with the other cells */
        jr_diags_drop_from(&session->diags, first);
    return jr_session_end_stage(session, first, status, err);
}

/* Whether who leads the sweep has agents on other machines. */
static bool cell_hosts_are_led(const struct jr_session *session)
{
    return session->cells_by_ssh || jr_session_leads_allocation(session);
}

enum jr_status jr_cell_hosts_connect(struct jr_session *session, struct jr_error *err)
{
    struct jr_spec_file *file = NULL;
    struct jr_error why = {.status = JR_STATUS_LAUNCH};
    if (session->cell_hosts != NULL || session->swept == NULL || session->swept->cells.count == 0)
        return JR_STATUS_OK;
    session->cells_by_ssh = session->host.real && !jr_session_is_local_only(session) &&
                            jr_spec_states_ssh(session->swept->file);
    if (!cell_hosts_are_led(session))
        return JR_STATUS_OK;
    enum jr_status status = load_first_cell(session, &file, err);
    if (status == JR_STATUS_OK)
        status = jr_session_connect_cell_agents(session, file, err);
    if (status != JR_STATUS_OK || read_hosts(session, &why) == 0)
        return status;
    (void)jr_error_set(err, why.status, "%s", why.text);
    return why.status;
}

uint32_t jr_cell_hosts_count(const struct jr_session *session)
{
    const struct jr_host *host = &session->host;
    if (session->cell_hosts != NULL)
        return session->cell_hosts_count;
    return !host->real && host->nodes > 1 ? host->nodes : 1;
}

struct jr_host jr_cell_host(const struct jr_session *session, uint32_t node)
{
    if (session->cell_hosts != NULL)
        return session->cell_hosts[node];
    struct jr_host host = session->host;
    if (!host.real && host.nodes > 1)
        jr_cell_host_alone(&host);
    return host;
}

struct jr_host jr_cell_host_for(const struct jr_session *session, const struct jr_spec_file *file)
{
    struct jr_host host = jr_cell_host(session, 0);
    const struct jr_resolve_options options = {.local = session->options.local,
                                               .args = session->options.args};
    uint32_t nodes = jr_resolve_nodes(file, &host, &options);
    if (nodes <= 1)
        return host;
    if (session->cell_hosts == NULL || nodes > session->cell_hosts_count)
        return session->host;
    /* The first of so many nodes, as a run sees it that has them. */
    host.scheduler =
        session->cells_by_ssh ? (struct jr_host_scheduler){.name = "ssh"} : session->host.scheduler;
    host.scheduler.step = true;
    host.scheduler.nodes = nodes;
    host.scheduler.node_rank = 0;
    host.scheduler.tasks_here = 1;
    if (host.scheduler.hosts.count > nodes)
        host.scheduler.hosts.count = nodes;
    return host;
}

/* Fields that have a part in what a cell needs. */
static const char *const sizing[] = {
    "world_size",        "local_world_size", "nodes",        "spare_nodes", "device",
    "device_visibility", "oversubscribe",    "threads",      "bind",        "parallelism",
    "backends",          "env_profiles",     "start_method", NULL};

/* The finding of needs. */
struct finding {
    struct jr_cell_needs *needs;
    struct jr_session *session;
    struct jr_swept_spec *swept;
    struct jr_buf text; /* the sizing fields as they are written, and all that
                           they refer to */
    json_t *known;      /* the kind of each combination */
};

/* Append what stands at a path, and what an axis puts there. */
static void add_path_text(struct finding *finding, const char *path)
{
    const struct jr_node *root = jr_spec_doc(finding->swept->file)->root;
    const struct jr_node *node = jr_doc_find(root, path);
    size_t field;
    const struct jr_sweep_axis *axis = jr_sweep_axes_find(&finding->swept->axes, path, &field);
    if (node != NULL)
        jr_doc_emit_line(&finding->text, node);
    for (size_t i = 0; axis != NULL && i < axis->count; i++) {
        const struct jr_node *value = axis->values[i * axis->fields_count + field];
        if (value->kind != JR_NODE_SCALAR || strchr(value->text, '$') != NULL)
            jr_doc_emit_line(&finding->text, value);
    }
    jr_buf_char(&finding->text, '\n');
}

/* Gather the text of the sizing fields, and of what is referred to in it. The text grows while it
 * is read, and each path is added once. */
static void gather_text(struct finding *finding)
{
    json_auto_t *seen = json_object();
    for (size_t i = 0; sizing[i] != NULL; i++)
        add_path_text(finding, sizing[i]);
    for (size_t at = 0; !finding->text.failed && at < finding->text.len;) {
        const char *from = strstr(finding->text.data + at, "${");
        if (from == NULL)
            break;
        size_t len = strcspn(from + 2, "}:");
        char *path = strndup(from + 2, len);
        at = (size_t)(from - finding->text.data) + 2;
        if (path != NULL && json_object_get(seen, path) == NULL) {
            (void)json_object_set_new(seen, path, json_true());
            add_path_text(finding, path);
        }
        free(path);
    }
}

/* Whether a field has a part in what is needed. */
static bool has_part(const struct finding *finding, const char *path)
{
    struct jr_buf name JR_BUF_CLEANUP = JR_BUF_INIT;
    for (size_t i = 0; sizing[i] != NULL; i++) {
        size_t len = strlen(sizing[i]);
        if (strncmp(path, sizing[i], len) == 0 && (path[len] == '\0' || path[len] == '.'))
            return true;
    }
    jr_buf_printf(&name, "${%s}", path);
    if (strncmp(path, "extends.", strlen("extends.")) == 0 || name.failed || finding->text.failed)
        return true;
    return finding->text.data != NULL && strstr(finding->text.data, name.data) != NULL;
}

/* What a cell says of sizing fields, as a text. */
static void add_kind_text(struct jr_buf *out, const struct finding *finding, size_t cell,
                          const bool *counts)
{
    const struct jr_cells *cells = &finding->swept->cells;
    if (cells->axes->count > 0 && jr_cells_value_index(cells, cell, 0) >= 0) {
        for (size_t i = 0; i < cells->axes->count; i++)
            if (counts[i])
                jr_buf_printf(out, "%ld,", jr_cells_value_index(cells, cell, i));
        return;
    }
    struct jr_stated_value *values = finding->swept->values;
    size_t count = jr_cells_values(cells, cell, values);
    for (size_t i = 0; i < count; i++)
        if (has_part(finding, values[i].path)) {
            jr_buf_printf(out, "+%s=", values[i].path);
            jr_doc_emit_line(out, values[i].value);
        }
}

static uint32_t cores_of(const struct jr_host_cpus *cpus)
{
    uint32_t cores = cpus->usable_cores > 0 ? cpus->usable_cores : cpus->usable;
    if (cpus->quota >= 1 && cpus->quota < cores)
        cores = (uint32_t)cpus->quota;
    return cores > 0 ? cores : 1;
}

/* The devices that a cell on devices may have, on each node. */
static void find_pools(struct finding *finding, struct jr_cell_need *need, const struct jr_job *job,
                       const struct jr_spec *spec)
{
    struct jr_cell_needs *needs = finding->needs;
    const bool **may = jr_arena_array(&needs->arena, needs->nodes, sizeof *may);
    if (need->devices == 0 || may == NULL)
        return;
    for (uint32_t i = 0; i < needs->nodes; i++) {
        const struct jr_host host = jr_cell_host(finding->session, i);
        struct jr_room *room = &needs->rooms[i];
        bool *will_do = jr_arena_array(&needs->arena, room->places + 1, sizeof *will_do);
        if (will_do == NULL)
            return;
        uint32_t pool = jr_device_pool_find(will_do, &host, job, spec);
        may[i] = will_do;
        need->pool = pool > need->pool ? pool : need->pool;
        room->devices = pool > room->devices ? pool : room->devices;
    }
    need->may = may;
}

/* What a resolved cell needs. A rank needs a core, or as many as its threads are stated to be;
 * ranks that the machine's CPUs were counted for need all of its cores. */
static void measure_job(struct jr_cell_need *ret, const struct jr_job *job,
                        const struct jr_spec *spec, const struct jr_host *host, bool local)
{
    uint32_t cores = cores_of(&host->cpus), threads = 1;
    ret->nodes = local ? 1 : job->nodes + job->spare_nodes;
    ret->ranks = job->world_size;
    ret->device = job->device;
    ret->device_name = job->device_name;
    ret->oversubscribe = spec->oversubscribe;
    if (ret->nodes > 1) { /* of the allocation: nothing runs beside it */
        ret->cores = cores;
        return;
    }
    uint32_t here = local ? job->world_size : job->local_world_sizes[0];
    if (job->own.devices_count > 0) {
        ret->devices = here < job->own.devices_count ? here : job->own.devices_count;
        return;
    }
    if (spec->threads != NULL)
        threads = *spec->threads;
    uint64_t most = (uint64_t)here * threads;
    ret->cores = most > UINT32_MAX ? UINT32_MAX : (uint32_t)most;
    if (ret->cores > cores && ret->cores <= host->cpus.usable)
        ret->cores = cores;
}

/* Whether a cell can run here if it is alone. */
static bool check_room(struct finding *finding, const struct jr_cell_need *need)
{
    struct jr_buf cell JR_BUF_CLEANUP = JR_BUF_INIT;
    const struct jr_session *session = finding->session;
    const struct jr_cell_needs *needs = finding->needs;
    struct jr_diags *diags = &finding->session->diags;
    bool on_devices = need->devices > 0;
    uint32_t most = on_devices ? need->pool : 0;
    jr_buf_printf(&cell, "cell %zu (", need->cell);
    jr_cells_text(&cell, &finding->swept->cells, need->cell);
    jr_buf_char(&cell, ')');
    if (need->nodes > 1) { /* it can have them, one after the other */
        if (session->host.real
                ? cell_hosts_are_led(session) && jr_cell_hosts_count(session) >= need->nodes
                : session->host.nodes >= need->nodes)
            return true;
        struct jr_diag *diag =
            jr_diags_error(diags, JR_CODE_NOT_ENOUGH_NODES, finding->swept->axes.at, NULL,
                           "%s needs %u nodes, and this machine is one",
                           cell.failed ? "" : cell.data, need->nodes);
        jr_diag_help(
            diags, diag,
            "state " JR_SETTING("nodes", "1") "; or run the sweep in an allocation of "
                                              "Slurm's, or submit it: jobrun submit SPEC --engine "
                                              "slurm; or all nodes' ranks here: --local");
        return false;
    }
    bool fits = need->oversubscribe; /* or some node has what it needs */
    for (uint32_t i = 0; i < needs->nodes; i++) {
        uint32_t devices = 0;
        for (uint32_t k = 0; need->may != NULL && k < needs->rooms[i].places; k++)
            devices += need->may[i][k];
        fits |= need->devices <= devices && need->cores <= needs->rooms[i].cores;
    }
    if (fits)
        return true;
    for (uint32_t i = 0; !on_devices && i < needs->nodes; i++)
        if (needs->rooms[i].cores > most)
            most = needs->rooms[i].cores;
    struct jr_diag *diag = jr_diags_error(
        diags, on_devices ? JR_CODE_MORE_RANKS_THAN_DEVICES : JR_CODE_MORE_RANKS_THAN_CPUS,
        finding->swept->axes.at, NULL, "%s needs %u %s, and %s %u", cell.failed ? "" : cell.data,
        on_devices ? need->devices : need->cores, on_devices ? "devices" : "CPU cores",
        needs->nodes > 1 ? "no node has more than" : "there are", most);
    jr_diag_help(
        diags, diag,
        "use fewer ranks or threads, or let them share: " JR_SETTING("oversubscribe", "true"));
    return false;
}

/* What the nodes have, once it is known which there are: devices of the user's own kind come with
 * the first cell. */
static bool find_rooms(struct finding *finding)
{
    struct jr_cell_needs *needs = finding->needs;
    const struct jr_session *session = finding->session;
    if (needs->rooms != NULL)
        return true;
    needs->nodes = jr_cell_hosts_count(session);
    needs->rooms = jr_arena_array(&needs->arena, needs->nodes, sizeof *needs->rooms);
    for (uint32_t i = 0; needs->rooms != NULL && i < needs->nodes; i++) {
        const struct jr_host host = jr_cell_host(session, i);
        needs->rooms[i] =
            (struct jr_room){.cores = cores_of(&host.cpus), .places = host.devices_count};
    }
    return needs->rooms != NULL;
}

/* Load a cell, and resolve it on the first node. */
static enum jr_status measure_cell(struct finding *finding, struct jr_cell_need *ret)
{
    struct jr_session *session = finding->session;
    struct jr_spec_file *file = NULL;
    struct jr_resolution resolution = JR_RESOLUTION_INIT;
    static const uint32_t first_node = 0; /* of those that the cell will have */
    const struct jr_resolve_options options = {
        .local = session->options.local,
        .node_rank = cell_hosts_are_led(session) ? &first_node : session->options.node_rank,
        .args = session->options.args,
        .environ = session->options.envp,
        .skip_leases = true,
    };
    enum jr_status status = JR_STATUS_OK;
    if (jr_swept_spec_load(&file, finding->swept, ret->cell, &session->diags) != 0)
        status = jr_spec_status(&session->diags);
    if (file != NULL)
        jr_session_keep_cell_file(session, file);
    if (status == JR_STATUS_OK && jr_spec_get(file) == NULL)
        status = JR_STATUS_INVALID;
    if (status == JR_STATUS_OK && session->cell_hosts == NULL)
        status = jr_session_read_devices(session, file);
    if (status == JR_STATUS_OK && !find_rooms(finding))
        status = JR_STATUS_LAUNCH;
    if (status != JR_STATUS_OK)
        return status;
    const struct jr_host host = jr_cell_host_for(session, file);
    status = jr_resolve(&resolution, file, &host, &options, &session->diags);
    if (status != JR_STATUS_OK)
        return status;
    measure_job(ret, &resolution.job, jr_spec_get(file), &host, session->options.local);
    find_pools(finding, ret, &resolution.job, jr_spec_get(file));
    ret->device_name = jr_arena_strdup(&finding->needs->arena, ret->device_name);
    jr_resolution_release(&resolution);
    return check_room(finding, ret) ? JR_STATUS_OK : JR_STATUS_UNRESOLVED;
}

/* The kind of a cell, which is resolved if it is the first of its kind. */
static enum jr_status find_kind(struct finding *finding, size_t cell, const bool *counts)
{
    struct jr_cell_needs *needs = finding->needs;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    add_kind_text(&text, finding, cell, counts);
    const char *name = text.data == NULL ? "" : text.data;
    const json_t *known = json_object_get(finding->known, name);
    if (known != NULL) {
        needs->kind_of[cell] = (uint32_t)json_integer_value(known);
        return JR_STATUS_OK;
    }
    size_t kind = needs->count;
    struct jr_cell_need *need =
        jr_arena_push(&needs->arena, &needs->kinds, &needs->count, sizeof *need);
    if (need == NULL || text.failed)
        return JR_STATUS_LAUNCH;
    need->cell = cell;
    needs->kind_of[cell] = (uint32_t)kind;
    (void)json_object_set_new(finding->known, name, json_integer((json_int_t)kind));
    return measure_cell(finding, need);
}

static enum jr_status find_kinds(struct finding *finding)
{
    const struct jr_cells *cells = &finding->swept->cells;
    struct jr_cell_needs *needs = finding->needs;
    gather_text(finding);
    const struct jr_sweep_axes *axes = cells->axes;
    bool *counts = jr_arena_array(&needs->arena, axes->count + 1, sizeof *counts);
    for (size_t i = 0; counts != NULL && i < axes->count; i++)
        for (size_t j = 0; j < axes->axes[i].fields_count; j++)
            counts[i] |= has_part(finding, axes->axes[i].fields[j].path);
    needs->kind_of = jr_arena_array(&needs->arena, cells->count, sizeof *needs->kind_of);
    if (counts == NULL || needs->kind_of == NULL)
        return JR_STATUS_LAUNCH;
    for (size_t i = 0; i < cells->count; i++) {
        enum jr_status status = find_kind(finding, i, counts);
        if (status != JR_STATUS_OK)
            return status;
    }
    return JR_STATUS_OK;
}

enum jr_status jr_cell_needs_find(struct jr_cell_needs *ret, struct jr_session *session,
                                  struct jr_error *err)
{
    size_t first = session->diags.count;
    struct finding finding = {.needs = ret,
                              .session = session,
                              .swept = session->swept,
                              .text = JR_BUF_INIT,
                              .known = json_object()};
    *ret = (struct jr_cell_needs){.parallel = session->swept->axes.parallel};
    enum jr_status status = find_kinds(&finding);
    jr_buf_release(&finding.text);
    json_decref(finding.known);
    return jr_session_end_stage(session, first, status, err);
}

struct jr_slots jr_cell_needs_slots(const struct jr_cell_need *need)
{
    return (struct jr_slots){.cores = need->cores,
                             .devices = need->devices,
                             .may = need->may,
                             .alone = need->nodes > 1,
                             .shares = need->oversubscribe};
}

void jr_cell_needs_release(struct jr_cell_needs *needs)
{
    jr_arena_release(&needs->arena);
}

struct jr_room jr_cell_needs_room(const struct jr_cell_needs *needs)
{
    struct jr_room all = {0};
    for (uint32_t i = 0; i < needs->nodes; i++) {
        all.devices += needs->rooms[i].devices;
        all.cores += needs->rooms[i].cores;
        all.places += needs->rooms[i].places;
    }
    return all;
}

bool jr_cell_needs_place(const struct jr_cell_needs *needs, const struct jr_cell_need *need,
                         struct jr_room *held, uint32_t running)
{
    if (running == 0) {
        /* It begins as the only one, wherever it fits; on several nodes it has all. */
        uint32_t i = 0;
        while (i + 1 < needs->nodes &&
               (need->devices > needs->rooms[i].devices || need->cores > needs->rooms[i].cores))
            i++;
        held[i].devices += need->devices;
        held[i].cores += need->cores;
        for (i = 0; need->nodes > 1 && i < needs->nodes; i++)
            held[i] = (struct jr_room){UINT32_MAX / 2, UINT32_MAX / 2, 0};
        return true;
    }
    if (needs->parallel > 0 && running >= needs->parallel)
        return false;
    if (need->oversubscribe && needs->parallel > 0)
        return true;
    for (uint32_t i = 0; i < needs->nodes && need->nodes <= 1; i++) {
        if (held[i].devices + need->devices > needs->rooms[i].devices ||
            held[i].cores + need->cores > needs->rooms[i].cores)
            continue;
        held[i].devices += need->devices;
        held[i].cores += need->cores;
        return true;
    }
    return false;
}

/* Give the text away, if it is so many bytes. True: nobody wants more. */
static bool pass_piece(const struct jr_plan_cells_options *options, struct jr_buf *out,
                       size_t least)
{
    if (out->len < least || out->len == 0 || out->failed)
        return false;
    bool stopped = options->take(options->data, out->data, out->len) != 0;
    jr_buf_clear(out);
    return stopped;
}

enum { PIECE = 64 << 10 };

static void tell_text(struct jr_buf *out, const struct jr_session *session,
                      const struct jr_cell_needs *needs,
                      const struct jr_plan_cells_options *options, const char *held, uint32_t most,
                      size_t rounds)
{
    struct jr_cell_columns columns;
    const struct jr_cells *cells = &session->swept->cells;
    size_t count = cells->count;
    bool stopped = false;
    jr_cell_columns_init(&columns, cells);
    const char *where = !session->host.real ? "there"
                        : needs->nodes > 1  ? "on the nodes"
                                            : "on this machine";
    jr_buf_printf(out, "%zu cell%s, %u at once %s, %zu round%s\n", count, count == 1 ? "" : "s",
                  most, where, rounds, rounds == 1 ? "" : "s");
    if (held != NULL)
        jr_buf_printf(out, "of the devices %s\n", held);
    jr_buf_str(out, "\ncell   ");
    jr_cell_columns_head(out, &columns);
    jr_buf_str(out, "ranks  needs\n");
    for (size_t i = 0; i < count && !stopped; i++) {
        const struct jr_cell_need *need = &needs->kinds[needs->kind_of[i]];
        jr_buf_printf(out, "%04zu   ", i);
        jr_cell_columns_row(out, &columns, i);
        jr_buf_printf(out, "%-5u  ", need->ranks);
        if (need->nodes > 1)
            jr_buf_printf(out, "%u nodes\n", need->nodes);
        else if (need->devices > 0)
            jr_buf_printf(out, "%u %s\n", need->devices, need->device_name);
        else
            jr_buf_printf(out, "%u core%s\n", need->cores, need->cores == 1 ? "" : "s");
        stopped = pass_piece(options, out, PIECE);
    }
    jr_cell_columns_release(&columns);
}

static void tell_json(struct jr_buf *out, const struct jr_session *session,
                      const struct jr_cell_needs *needs,
                      const struct jr_plan_cells_options *options, const char *held, uint32_t most,
                      size_t rounds)
{
    const struct jr_cells *cells = &session->swept->cells;
    bool stopped = false;
    jr_buf_printf(out,
                  "{\n  \"format_version\": 1,\n  \"at_once\": %u,\n"
                  "  \"rounds\": %zu,\n  \"held\": ",
                  most, rounds);
    jr_json_quote(out, held);
    jr_buf_str(out, ",\n  \"cells\": [\n");
    for (size_t i = 0; i < cells->count && !stopped; i++) {
        const struct jr_cell_need *need = &needs->kinds[needs->kind_of[i]];
        json_t *cell = json_object();
        jr_json_set_int(cell, "cell", (json_int_t)i);
        jr_json_set(cell, "values", jr_cells_json(cells, i));
        jr_json_set_int(cell, "nodes", need->nodes);
        jr_json_set_int(cell, "ranks", need->ranks);
        jr_json_set_int(cell, "devices", need->devices);
        jr_json_set_int(cell, "cores", need->cores);
        jr_buf_str(out, i == 0 ? "    " : ",\n    ");
        jr_json_print(out, cell, 0);
        json_decref(cell);
        stopped = pass_piece(options, out, PIECE);
    }
    jr_buf_str(out, "\n  ]\n}\n");
}

enum jr_status jr_session_plan_cells(struct jr_session *session,
                                     const struct jr_plan_cells_options *options,
                                     struct jr_error *err)
{
    struct jr_cell_needs needs;
    struct jr_device_list devices;
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT, held JR_BUF_CLEANUP = JR_BUF_INIT;
    enum jr_status status = jr_cell_needs_find(&needs, session, err);
    if (options->parallel > 0)
        needs.parallel = options->parallel;
    struct jr_room *taken = jr_arena_array(&needs.arena, needs.nodes + 1, sizeof *taken);
    out.failed |= taken == NULL;
    if (status == JR_STATUS_OK && taken != NULL) {
        /* How many run at once at most, and in how many rounds, if all of them take as long and
         * begin in their order. */
        size_t count = session->swept->cells.count, rounds = count > 0;
        uint32_t most = 0, running = 0;
        for (size_t i = 0; i < count; i++) {
            const struct jr_cell_need *need = &needs.kinds[needs.kind_of[i]];
            if (!jr_cell_needs_place(&needs, need, taken, running)) {
                memset(taken, 0, needs.nodes * sizeof *taken);
                (void)jr_cell_needs_place(&needs, need, taken, 0);
                running = 0;
                rounds++;
            }
            if (++running > most)
                most = running;
        }
        bool any = false; /* somebody holds devices that cells may have */
        if (session->host.real && session->cell_hosts == NULL) {
            jr_sweep_devices_name(&devices, session, &needs);
            any = jr_sweep_devices_holders(&held, &devices, NULL,
                                           jr_env_get(session->options.envp, "JOBRUN_RUN_ID"));
        }
        (options->json ? tell_json : tell_text)(&out, session, &needs, options,
                                                any ? held.data : NULL, most, rounds);
        (void)pass_piece(options, &out, 1);
    }
    jr_cell_needs_release(&needs);
    if (!out.failed)
        return status;
    (void)jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    return JR_STATUS_LAUNCH;
}
