/* A session on one node of an allocation: the side of the agent there. foreground.h declares it. */
#include "session/foreground.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/json.h"
#include "base/num.h"
#include "base/strv.h"
#include "cluster/agent.h"
#include "cluster/survey.h"
#include "diag/diag.h"
#include "record/prune.h"
#include "record/record_facts.h"
#include "record/record_folder.h"
#include "resolve/device_profile.h"
#include "resolve/node_resources.h"
#include "resolve/lease.h"
#include "session/internal.h"
#include "session/left_files.h"
#include "session/sweep/node_cells.h"
#include "store/run_folder.h"
#include "sweep/sweep_file.h"

#include "base/banned.h"

enum { ROOM = 64 << 10 /* bytes that a folder has to have */, MOST_ASIDE = 10000 };

#define ROOM_NAME ".room"
#define RESULTS   "results.json"

/* The node refuses the run: remove what was made, unless there was an attempt in it. Nothing where
 * the session is not apart. */
static void discard_own_folder(struct jr_session *session)
{
    const struct jr_run_folder *dir = &session->dir;
    struct jr_pruned pruned = {0};
    const char *part = strrchr(dir->path, '/');
    if (!session->apart || !dir->unread || part == NULL)
        return;
    JR_CLOSE int run =
        openat(dir->log_fd, dir->id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (run >= 0 && jr_prune_folder(&pruned, run, part + 1) == 0)
        (void)unlinkat(dir->log_fd, dir->id, AT_REMOVEDIR);
    jr_run_folder_close(&session->dir);
    session->apart = false;
}

/* The run folder of a host that does not see the controller's (engine.ssh), LOG_DIR/RUN_ID/node_N
 * there. It is recorded as the part of a node is where each has a jobrun of its own
 * (record/multinode.h): so `runs`, `show`, `logs` and `prune` are good for it on that host. -1 with
 * `err`: among others where an earlier run has it, or its disk is full. `again`: one that is there
 * already is that of an agent before. */
static int make_own_folder(struct jr_session *session, const char *id, bool again,
                           struct jr_error *err)
{
    const struct jr_job *job = &session->resolution.job;
    struct jr_run_folder *dir = &session->dir;
    struct jr_error none = {0};
    JR_BUF_CLEANUP struct jr_buf from = JR_BUF_INIT, to = JR_BUF_INIT;
    session->apart = again && jr_run_folder_join_part(dir, job->log_dir, id, job->node_rank,
                                                      job->policy->log_mode, &none) == 0;
    if (session->apart)
        return 0;
    /* A cell that runs again has left a folder when it ran before: it stays, as node_N.1. */
    jr_buf_printf(&from, "%s/%s/" JR_NODE_DIR, job->log_dir, id, job->node_rank);
    for (int i = 1; session->sweep_id != NULL && i < MOST_ASIDE && !from.failed; i++) {
        jr_buf_clear(&to);
        jr_buf_printf(&to, "%s.%d", from.data, i);
        if (to.failed || rename(from.data, to.data) == 0 || (errno != EEXIST && errno != ENOTEMPTY))
            break;
    }
    if (jr_run_folder_create_part(dir, job->log_dir, id, job->node_rank, job->policy->log_mode,
                                  err) != 0)
        return -1;
    session->apart = true;
    /* A disk that is full takes folders, and then no logs and no results. */
    JR_FREE char *zeroes = calloc(1, ROOM);
    JR_CLOSE int fd = openat(dir->fd, ROOM_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int failed =
        zeroes == NULL || fd < 0 || jr_io_write_all(fd, zeroes, ROOM) != 0 || fsync(fd) != 0;
    if (failed)
        (void)jr_error_sys(err, JR_STATUS_LAUNCH, "%s/%s takes no files", job->log_dir, dir->path);
    if (fd >= 0)
        (void)unlinkat(dir->fd, ROOM_NAME, 0);
    if (failed)
        discard_own_folder(session);
    return failed ? -1 : 0;
}

/* Make ready for an attempt, whose plan is made: its folder, the record, which is that of a part of
 * a run whose nodes have a jobrun each, and what stands where its ranks are to leave something. -1
 * with `err`. */
static int prepare_own_folder(struct jr_session *session, struct jr_error *err)
{
    struct jr_record_facts *record = &session->record;
    char path[64];
    jr_artifacts_free(session->before);
    session->before = NULL;
    if (session->attempt > 0) {
        /* Where an agent before this one has left, it took its last attempt for the last of all. */
        (void)snprintf(path, sizeof path, "attempt_%u/" RESULTS, session->attempt - 1);
        (void)renameat(session->dir.fd, RESULTS, session->dir.fd, path);
    }
    if (jr_attempt_folder_make(&session->dir, session->attempt, err) != 0)
        return -1;
    if (jr_record_facts_fill(record, &session->arena, &session->plan, session->machine) != 0)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    record->attempt = session->attempt;
    if (jr_session_write_plan(session, err) != 0 || jr_session_write_record(session, err) != 0)
        return -1;
    return jr_artifacts_before(&session->before, &session->plan, session->dir.fd, err);
}

/* The agent leaves: its last attempt is the last of all, as far as it knows, unless an agent after
 * this one goes on with the run; a folder without one is removed. */
static void finish_own_folder(struct jr_session *session)
{
    char path[64];
    discard_own_folder(session);
    if (!session->apart)
        return;
    json_auto_t *run = jr_record_folder_json(session->dir.fd, "run.json", NULL);
    if (jr_json_get_int(run, "pid") == getpid()) {
        (void)snprintf(path, sizeof path, "attempt_%u/" RESULTS, session->attempt);
        (void)renameat(session->dir.fd, path, session->dir.fd, RESULTS);
    }
}

#define FIRST_PORT 29500u

/* What an agent has of its node, and the session in which it runs the job. */
struct node_session {
    struct jr_session *session;
    uint32_t node;
    const char *host;
    const char *device, *folder; /* see multinode_session.h; NULL: of no such kind */
    json_t *assignment;          /* by ssh: what the controller gives to it; NULL */
    size_t piece;                /* see jr_sender */
    char *inject;                /* --inject; NULL */
    struct jr_node_cells cells;  /* of a sweep */
    int lease_fd;                /* of the port that was offered; -1 */
    uint32_t port;
    bool grouped; /* the control group of the run is made, if it can be */
    struct jr_far_code code;
};

static void drop_lease(struct node_session *agent)
{
    jr_close_fd(&agent->lease_fd);
}

#define SPEC_NAME "the resolved spec"

/* The finding, and its position unless that is in a generated text. */
static int refuse_spec(const struct jr_session *session, enum jr_status status,
                       struct jr_error *err)
{
    const struct jr_diags *diags = &session->diags;
    size_t i = 0;
    while (i < diags->count && diags->items[i].severity != JR_SEVERITY_ERROR)
        i++;
    if (i == diags->count)
        return -1;
    const struct jr_diag *diag = &diags->items[i];
    const struct jr_source *source = diag->span.source;
    struct jr_buf place JR_BUF_CLEANUP = JR_BUF_INIT;
    if (source != NULL && strcmp(source->name, SPEC_NAME) != 0)
        jr_diag_place(&place, &diag->span);
    return jr_error_set(err, status, "%s%s%s%s", place.len > 0 ? place.data : "", diag->message,
                        diag->help != NULL ? "; " : "", diag->help != NULL ? diag->help : "");
}

static int send_agent_facts(void *data, struct jr_buf *out, struct jr_error *err)
{
    struct node_session *agent = data;
    struct jr_session *session = agent->session;
    const struct jr_host_scheduler *scheduler = &session->host.scheduler;
    if (jr_session_facts(session, NULL, err) != JR_STATUS_OK)
        return -1;
    if (scheduler->tasks_here > 1)
        return jr_error_set(err, JR_STATUS_UNRESOLVED,
                            "srun started jobrun %u times there, but each node "
                            "needs exactly one agent (--ntasks-per-node=1)",
                            scheduler->tasks_here);
    if (scheduler->problem != NULL)
        return jr_error_set(err, JR_STATUS_UNRESOLVED, "%s; %s", scheduler->problem,
                            scheduler->help);
    /* Devices of the user's own kind, from the facts beside the spec. */
    enum jr_status status = JR_STATUS_OK;
    if (agent->folder != NULL)
        status = jr_session_read_custom(session, agent->folder, agent->device, (struct jr_span){0});
    if (status != JR_STATUS_OK)
        return refuse_spec(session, status, err);
    /* The controller already knows the scheduler's facts about the whole job; a list of all nodes
     * from each of them would be too much. */
    struct jr_host own = session->host;
    own.scheduler = (struct jr_host_scheduler){.node_rank = -1};
    jr_profile_emit(out, &own);
    return out->failed ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory") : 0;
}

/* The next free one, beside those that are held. */
static uint32_t offer_free_port(void *data)
{
    struct node_session *agent = data;
    struct jr_error err = {0};
    uint32_t end = agent->session->host.port_low;
    if (agent->node != 0)
        return 0;
    int held = agent->lease_fd;
    agent->lease_fd = -1;
    for (uint32_t port = FIRST_PORT; port < (end > FIRST_PORT ? end : 65536) && agent->lease_fd < 0;
         port++) {
        agent->lease_fd = jr_lease_choose(port, &err);
        agent->port = port;
        if (agent->lease_fd < 0 && err.sys != EADDRINUSE)
            break;
    }
    if (held >= 0)
        (void)close(held);
    return agent->lease_fd < 0 ? 0 : agent->port;
}

static int resolve_agent_spec(void *data, const struct jr_message *spec,
                              struct jr_agent_answer *ret, struct jr_error *err)
{
    struct node_session *agent = data;
    struct jr_session *session = agent->session;
    const struct jr_spec_source source = {.name = SPEC_NAME, .text = spec->spec};
    struct jr_spec_source whole = source;
    if (source.text == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "the controller sent no spec");
    whole.len = strlen(source.text);
    agent->inject = spec->inject == NULL ? NULL : strdup(spec->inject);
    session->options.inject = agent->inject;
    session->cell = jr_arena_strdup(&session->arena, spec->cell);
    session->sweep_id = jr_arena_strdup(&session->arena, spec->sweep);
    session->cells_dir = jr_arena_strdup(&session->arena, spec->cells);
    session->lease = &agent->lease_fd;
    session->lease_port = agent->port;
    enum jr_status status = jr_session_load(session, &whole, err);
    if (status == JR_STATUS_OK)
        status = jr_session_resolve(session, err);
    drop_lease(agent);
    if (status == JR_STATUS_OK)
        status = jr_session_find_mpi(session);
    if (status != JR_STATUS_OK)
        return refuse_spec(session, status, err);
    const char *address = session->resolution.job.master_addr;
    struct jr_error why = {0};
    if (agent->assignment != NULL && jr_reach_resolve(address, NULL, &why) != 0)
        return jr_error_set(err, JR_STATUS_UNRESOLVED,
                            "the ranks meet at '%s' (master_addr), and that "
                            "name is not known there: %s; state master_addr "
                            "by a name or an address that all hosts know",
                            address, why.text);
    jr_node_resources_tell(&ret->resources, &session->resolution.job.own);
    if (session->mpi.protocol != JR_MPI_PROTOCOL_NONE)
        ret->mpi = jr_session_mpi_word(session->mpi.protocol);
    ret->library = session->mpi_needed;
    ret->obstacle = session->mpi_obstacle;
    return ret->resources.failed ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory") : 0;
}

/* Where the run's files go, once: the folder that all nodes see; by ssh, where it is not there, one
 * of this node's own. The name of a cell's folder is among those of its sweep. */
static int enter_run_folder(struct node_session *agent, const struct jr_message *go,
                            struct jr_error *err)
{
    struct jr_session *session = agent->session;
    struct jr_job *job = &session->resolution.job;
    const char *folder = go->run_id;
    uint32_t number;
    char name[16];
    int failed = 0;
    if (session->apart)
        return 0;
    if (session->dir.fd < 0) {
        if (folder != NULL && session->cells_dir != NULL) {
            if (session->cell == NULL || !jr_num_u32(session->cell, &number))
                return -1;
            jr_cell_folder(name, number);
            session->cell_run_id = jr_arena_strdup(&session->arena, folder);
            job->log_dir = session->cells_dir;
            folder = jr_arena_strdup(&session->arena, name);
        }
        failed = folder == NULL ? -1
                                : jr_run_folder_join(&session->dir, job->log_dir, folder,
                                                     job->policy->log_mode, err);
    }
    /* It may be another one of the same name, on a disk of this node's own: an earlier run's, or
     * one that was copied. */
    if (failed == 0 && (go->token == NULL || !jr_folder_mark_is(&session->dir, go->token)))
        failed = jr_error_set(err, JR_STATUS_LAUNCH,
                              "the run folder %s/%s is another one there (log_dir "
                              "has to be where all nodes see it)",
                              job->log_dir, session->dir.path);
    if (failed == 0 || agent->assignment == NULL || go->run_id == NULL)
        return failed;
    jr_run_folder_close(&session->dir);
    return make_own_folder(session, go->run_id, go->on, err);
}

/* What a spare lacks is to be known before it has ranks. */
static int join_begun_run(void *data, const struct jr_message *spec, struct jr_error *err)
{
    struct node_session *agent = data;
    agent->session->attempt = (uint32_t)spec->number;
    if (enter_run_folder(agent, spec, err) != 0)
        return -1;
    return jr_far_code_lacks(agent->session) ? JR_AGENT_WANTS_CODE : 0;
}

static int prepare_attempt(void *data, const struct jr_message *go, struct jr_error *err)
{
    struct node_session *agent = data;
    struct jr_session *session = agent->session;
    session->attempt = (uint32_t)go->number;
    struct jr_resolution *resolution = &session->resolution;
    uint32_t port = (uint32_t)go->port; /* of this attempt; it may be the one that was offered */
    if (port != 0 && port != resolution->job.master_port) {
        jr_resolution_set_port(resolution, port);
        if (agent->lease_fd >= 0 && port == agent->port) {
            jr_close_fd(&resolution->lease_fd);
            resolution->lease_fd = jr_steal_fd(&agent->lease_fd);
        }
    }
    jr_session_forget(session);
    if (enter_run_folder(agent, go, err) != 0)
        return -1;
    if (jr_far_code_lacks(session))
        return JR_AGENT_WANTS_CODE;
    const char *group = jr_arena_printf(&session->arena, "%s.%u", session->dir.id, agent->node);
    if (group != NULL && !agent->grouped)
        jr_group_make(&session->group, group);
    agent->grouped = true;
    jr_device_leases_note(&session->resolution, session->dir.id);
    if (jr_freeze_join(session, err) != 0 ||
        jr_attempt_folder_make_part(&session->dir, agent->node, session->attempt, err) != 0)
        return -1;
    enum jr_status status = jr_session_plan_as(session, session->dir.id, err);
    if (status != JR_STATUS_OK)
        return refuse_spec(session, status, err);
    if (!session->apart)
        return 0;
    return prepare_own_folder(session, err) == 0 ? JR_AGENT_IS_APART : -1;
}

static int take_agent_code(void *data, const struct jr_message *code, struct jr_error *err)
{
    struct node_session *agent = data;
    if (agent->cells.code != NULL)
        return jr_far_code_take_cells(agent->session, &agent->code, agent->cells.code, code, err);
    int failed = jr_far_code_take(agent->session, &agent->code, code, err);
    if (failed != 0)
        discard_own_folder(agent->session);
    return failed;
}

static int run_agent_plan(void *data, const struct jr_agent_ends *ends, struct jr_outcome *ret,
                          struct jr_error *err)
{
    struct node_session *agent = data;
    struct jr_session *session = agent->session;
    int *leases = NULL;
    const struct jr_run_link link = {.events_fd = ends->events_fd,
                                     .reports_fd = ends->reports_fd,
                                     .commands_fd = ends->commands_fd,
                                     .exchange_fd = ends->exchange_fd};
    struct jr_run_options options = {
        .dir = &agent->session->dir,
        .group = &agent->session->group,
        .in_fd = -1,
        .out_fd = STDOUT_FILENO,
        .err_fd = STDERR_FILENO,
        .link = &link,
        .shields = jr_requeue_shields(session),
        .leases_count = jr_resolution_leases(&session->resolution, &session->arena, &leases),
    };
    options.leases = leases;
    const struct jr_session_console console = {.out_fd = STDOUT_FILENO, .err_fd = STDERR_FILENO};
    (void)sigemptyset(&options.ignored);
    jr_session_open_console(agent->session, &console);
    if (agent->session->replays)
        options.replay = &agent->session->replay;
    if (jr_run(ret, &agent->session->plan, &options, err) != 0)
        return -1;
    if (!session->apart)
        return 0;
    /* Keep how the ranks of this node were judged. What cannot be kept is known to the controller
     * all the same. */
    const struct jr_left left = {
        .run_fd = session->dir.fd, .before = session->before, .apart = true};
    const struct jr_judgement report = session->report;
    const struct jr_outcome outcome = session->outcome;
    struct jr_error unkept = {0};
    if (jr_judgement_make(&session->report, &session->plan, ret, &left, err) != 0)
        return -1;
    session->outcome = *ret;
    jr_judgement_hide_files(&session->report, &session->plan, session->dir.fd);
    jr_session_keep_results(session, &unkept);
    int failed = jr_left_send(session, ends->left_fd, err);
    jr_judgement_release(&session->report);
    session->report = report;
    session->outcome = outcome;
    return failed;
}

static bool is_replay_behind(void *data)
{
    const struct node_session *agent = data;
    return agent->session->replays && !jr_replay_is_done(&agent->session->replay);
}

static void show_replay(void *data)
{
    struct node_session *agent = data;
    sigset_t none;
    (void)sigemptyset(&none);
    jr_device_leases_release(&agent->session->resolution);
    jr_replay_finish(&agent->session->replay, agent->session->plan.policy, &none);
}

static const struct jr_agent_cell_hooks cell_hooks = {
    .share = jr_node_cells_share,
    .begin = jr_node_cells_begin,
    .next_end = jr_node_cells_next_end,
    .signal = jr_node_cells_signal,
    .leave = jr_node_cells_leave,
    .count = jr_node_cells_count,
    .progress = jr_node_cells_progress,
};

/* The variables that ranks get from the controller, in the environment of this agent. -1: that is
 * no list of variables. */
static int take_variables(struct jr_strv *env, struct jr_arena *arena, const char *text)
{
    struct jr_buf all JR_BUF_CLEANUP = JR_BUF_INIT;
    if (text == NULL)
        return 0;
    if (!jr_base64_take(&all, text, strlen(text)) || all.failed ||
        (all.len > 0 && all.data[all.len - 1] != '\0'))
        return -1;
    for (size_t at = 0; at < all.len; at += strlen(all.data + at) + 1) {
        const char *entry = all.data + at;
        if (strchr(entry, '=') == NULL)
            return -1;
        const char *name = jr_arena_strndup(arena, entry, strcspn(entry, "="));
        if (name != NULL)
            jr_env_unset(env, name);
        jr_strv_push(env, arena, jr_arena_strdup(arena, entry));
    }
    return 0;
}

/* By ssh: who this is, and the variables that ranks get from the controller. */
static int take_assignment(struct node_session *agent, struct jr_strv *env, struct jr_arena *arena,
                           struct jr_error *err)
{
    struct jr_message word;
    if (jr_agent_await_assignment(&word, &agent->assignment, err) != 0)
        return -1;
    agent->node = (uint32_t)word.as;
    agent->host = word.host;
    agent->piece = (size_t)word.piece;
    agent->device = word.device;
    agent->folder = word.folder;
    return take_variables(env, arena, word.env) == 0
               ? 0
               : jr_error_set(err, JR_STATUS_LAUNCH, "the controller sent variables that are none");
}

/* The index of this process among the tasks of the step, and where these are not in order, the node
 * that it has. */
static int find_place(struct node_session *agent, char *const *envp, struct jr_error *err)
{
    const char *node = jr_env_get(envp, "SLURM_NODEID");
    const char *places = jr_env_get(envp, JR_AGENT_PLACES);
    char number[16] = "";
    agent->host = jr_env_get(envp, "SLURMD_NODENAME");
    agent->device = jr_env_get(envp, JR_AGENT_DEVICE);
    agent->folder = jr_env_get(envp, JR_AGENT_FOLDER);
    bool found = node != NULL && jr_num_u32(node, &agent->node);
    if (found && places != NULL) {
        for (uint32_t task = agent->node; places != NULL && task > 0; task--) {
            places = strchr(places, ',');
            places += places != NULL;
        }
        size_t len = places == NULL ? sizeof number : strcspn(places, ",");
        if (len < sizeof number)
            memcpy(number, places, len);
        found = jr_num_u32(number, &agent->node);
    }
    if (found && isatty(STDIN_FILENO) != 1)
        return 0;
    return jr_error_set(err, JR_STATUS_USAGE,
                        "an agent is started by jobrun on the nodes of an allocation, with "
                        "srun; started by hand it does nothing");
}

static int serve_session(struct node_session *agent, struct jr_error *err)
{
    struct utsname here = {0};
    (void)uname(&here);
    const struct jr_agent_hooks hooks = {
        .data = agent,
        .describe = send_agent_facts,
        .offer = offer_free_port,
        .resolve = resolve_agent_spec,
        .join = join_begun_run,
        .prepare = prepare_attempt,
        .take_code = take_agent_code,
        .run = run_agent_plan,
        .is_behind = is_replay_behind,
        .show = show_replay,
        .cells = &cell_hooks,
        .cells_data = &agent->cells,
    };
    const struct jr_sender self = {agent->node, agent->piece};
    int failed =
        jr_agent_serve(&hooks, &self, agent->host != NULL ? agent->host : here.nodename, err);
    drop_lease(agent);
    finish_own_folder(agent->session);
    jr_far_code_close(&agent->code);
    jr_node_cells_release(&agent->cells);
    return failed != 0 ? JR_STATUS_LAUNCH : JR_STATUS_OK;
}

int jr_session_serve(char *const *envp, bool assigned, struct jr_error *err)
{
    struct node_session agent = {.lease_fd = -1};
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_strv env = {0};
    jr_strv_copy(&env, &arena, envp);
    int failed =
        assigned ? take_assignment(&agent, &env, &arena, err) : find_place(&agent, envp, err);
    jr_env_unset(&env, JR_AGENT_DEVICE); /* they are not for ranks */
    jr_env_unset(&env, JR_AGENT_FOLDER);
    jr_env_unset(&env, JR_AGENT_PLACES);
    const struct jr_session_options options = {
        .envp = env.items, .node_rank = &agent.node, .end_children = true};
    if (failed == 0)
        agent.session = jr_session_open(&options);
    agent.cells = (struct jr_node_cells){
        .node = agent.session, .index = agent.node, .lease_fd = &agent.lease_fd};
    int status = JR_STATUS_USAGE;
    if (failed == 0 && agent.session != NULL && !arena.failed) {
        status = serve_session(&agent, err);
    } else if (failed == 0) {
        (void)jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
        status = JR_STATUS_LAUNCH;
    }
    jr_session_close(agent.session);
    json_decref(agent.assignment);
    free(agent.inject);
    return status;
}
