/* How the ranks of a session become one world of MPI: what the spec states, or what its program
 * needs. internal.h declares it. */
#include "session/internal.h"

#include <string.h>

#include "base/io.h"
#include "cluster/controller.h"
#include "spawn/program.h"
#include "wireup/mpi_library.h"
#include "wireup/pmix_abi.h"

#include "base/banned.h"

/* What stands in the way of one world; NULL: nothing. */
static const char *find_obstacle_to_world(const struct jr_session *session)
{
    return session->part ? "the ranks of other nodes are started by other jobruns" : NULL;
}

const char *jr_session_mpi_word(enum jr_mpi_protocol protocol)
{
    static const char *const words[] = {
#define WORD(name, word, help) word,
        JR_MPI_PROTOCOLS(WORD)
#undef WORD
    };
    return words[protocol];
}

#define LIBRARY_MISSING JR_PMIX_LIBRARY ", the library of PMIx, is not installed"
#define LIBRARY_HELP    "install the package libpmix2 (Debian, Ubuntu) or pmix (Fedora, openSUSE)"

/* A program that needs MPI, and gets no world. */
static void warn_of_worlds(struct jr_session *session, const char *library, const char *why)
{
    struct jr_buf safe JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_safe(&safe, library);
    session->mpi_obstacle = why;
    struct jr_diag *diag =
        jr_diags_warning(&session->diags, JR_CODE_MPI_NOT_SERVED,
                         jr_spec_where_within(session->file, "entrypoint"), "entrypoint",
                         "the program needs %s, and jobrun does not make its ranks one world: "
                         "%s; each rank that calls MPI_Init is a world of its own",
                         safe.data == NULL ? "an MPI library" : safe.data, why);
    if (session->diags.no_spec)
        jr_diag_help(&session->diags, diag,
                     "start it by its own launcher, mpiexec; or type " JR_SETTING(
                         "mpi", "none") " to say that it is meant so");
    else
        jr_diag_help(&session->diags, diag,
                     "start it by its own launcher, for which `jobrun render SPEC "
                     "--engine mpi` prints the command; or write " JR_SETTING(
                         "mpi", "none") " to say that it is meant so");
}

/* A variable of the ranks, as far as it is the same for all. */
static const char *rank_variable(const struct jr_session *session, const char *name)
{
    const struct jr_job *job = &session->resolution.job;
    for (uint32_t i = job->env_count; i-- > 0;)
        if (strcmp(job->env[i].name, name) == 0 && !job->env[i].required)
            return job->env[i].value;
    return jr_env_get(session->options.envp, name);
}

/* The file of a program that the ranks execute; NULL where it differs, is not there, or is found by
 * what `setup` exports. */
static const char *find_file(struct jr_session *session, const char *name)
{
    const struct jr_job *job = &session->resolution.job;
    if (strstr(name, "%{") != NULL || strstr(job->workdir, "%{") != NULL)
        return NULL;
    struct jr_program *program = jr_arena_alloc(&session->arena, sizeof *program);
    if (program == NULL ||
        jr_program_find(program, name, rank_variable(session, "PATH"), job->workdir) != 0)
        return NULL;
    return program->path[0] == '/'
               ? program->path
               : jr_arena_printf(&session->arena, "%s/%s", job->workdir, program->path);
}

static const char *find_executable(struct jr_session *session)
{
    const struct jr_entrypoint *entry = &session->resolution.job.entrypoint;
    return entry->form == JR_FORM_COMMAND && entry->argv_count > 0
               ? find_file(session, entry->argv[0])
               : NULL;
}

/* The interpreter of a Python program; NULL: it is none, as far as is seen. */
static const char *find_python(struct jr_session *session)
{
    const struct jr_entrypoint *entry = &session->resolution.job.entrypoint;
    const char *file = find_executable(session);
    const char *name = NULL;
    if (entry->form == JR_FORM_PYTHON)
        name = entry->python->interpreter;
    else if (file != NULL && jr_mpi4py_is_python(file))
        return file;
    else if (file != NULL)
        name = jr_mpi4py_interpreter(&session->arena, file);
    return name == NULL ? NULL : find_file(session, name);
}

/* Where the loader looks for what a rank needs. */
static struct jr_mpi_search make_search(const struct jr_session *session)
{
    return (struct jr_mpi_search){.library_path = rank_variable(session, "LD_LIBRARY_PATH"),
                                  .cache = JR_MPI_CACHE};
}

/* The library that serves PMIx; NULL: it is not there. */
static const char *find_server(struct jr_session *session)
{
    const struct jr_mpi_search search = make_search(session);
    return jr_mpi_library_path(&session->arena, JR_PMIX_LIBRARY, &search);
}

/* What is asked for by more than variables, and not by `mpi`: the field that does; NULL: none. */
static const char *find_wish(const struct jr_session *session)
{
    const struct jr_job *job = &session->resolution.job;
    for (uint32_t i = 0; i < job->env_profiles_count; i++)
        if (strcmp(job->env_profiles[i], "mpi") == 0)
            return "env_profiles";
    for (int axis = 0; axis < JR_AXIS_COUNT; axis++)
        if (job->axis_backend[axis] != NULL && strcmp(job->axis_backend[axis], "mpi") == 0)
            return "backends";
    return job->backend != NULL && strcmp(job->backend, "mpi") == 0 ? "backends" : NULL;
}

/* The library that a wrapper or a script would use: of the interpreter's mpi4py, or the only one
 * that there is. `count`: of those that there are. */
static bool find_wished_library(struct jr_session *session, struct jr_mpi_library ret[JR_MPI_KINDS],
                                size_t *ret_count)
{
    const struct jr_mpi_search search = make_search(session);
    const struct jr_mpi4py_search package = {.python_path = rank_variable(session, "PYTHONPATH"),
                                             .home = rank_variable(session, "HOME"),
                                             .abi = rank_variable(session, "MPI4PY_MPIABI"),
                                             .libraries = &search};
    const char *python = find_python(session);
    *ret_count = 1;
    if (python != NULL && jr_mpi4py_find(&ret[0], &session->arena, python, &package))
        return true;
    *ret_count = jr_mpi_library_list(ret, &session->arena, &search);
    return *ret_count == 1;
}

/* How a field asks for a world. */
static const char *wish_text(const char *field)
{
    return strcmp(field, "backends") == 0 ? "backends: mpi" : "env_profiles: [mpi]";
}

/* Several kinds of MPI are here, and nothing says which one is meant. */
static enum jr_status refuse_choice(struct jr_session *session, const char *field,
                                    const struct jr_mpi_library *found)
{
    struct jr_diag *diag = jr_diags_error(
        &session->diags, JR_CODE_MPI_NOT_SERVED, jr_spec_where_within(session->file, field), field,
        "%s is for ranks that are one world of MPI, and which MPI the program "
        "uses cannot be seen: %s and %s are here",
        wish_text(field), found[0].name, found[1].name);
    jr_diag_help(&session->diags, diag,
                 "write " JR_SETTING("mpi", "pmix") " for Open MPI, " JR_SETTING(
                     "mpi", "pmi1") " for MPICH, MVAPICH or "
                                    "Intel MPI, or " JR_SETTING(
                                        "mpi", "none") " if the variables are all that is wanted");
    return JR_STATUS_UNRESOLVED;
}

/* What asks for a world gets none, and which library it needs is not known. */
static enum jr_status warn_of_wish(struct jr_session *session, const char *field, const char *why)
{
    session->mpi_obstacle = why;
    struct jr_diag *diag = jr_diags_warning(
        &session->diags, JR_CODE_MPI_NOT_SERVED, jr_spec_where_within(session->file, field), field,
        "%s is for ranks that are one world of MPI, and %s; each rank that "
        "calls MPI_Init is a world of its own",
        wish_text(field), why);
    jr_diag_help(&session->diags, diag,
                 "write " JR_SETTING("mpi", "none") " to say that it is meant so; else see "
                                                    "jobrun explain JR0516");
    return JR_STATUS_OK;
}

/* A world by that library, or a warning that there is none. */
static void serve_or_warn(struct jr_session *session, const struct jr_mpi_library *library)
{
    const char *obstacle = find_obstacle_to_world(session), *server = NULL;
    session->mpi_needed = library->name;
    if (library->kind == JR_MPI_KIND_OPENMPI)
        server = find_server(session);
    if (obstacle == NULL && library->kind == JR_MPI_KIND_OPENMPI && server == NULL)
        obstacle = LIBRARY_MISSING;
    if (obstacle != NULL) {
        warn_of_worlds(session, library->name, obstacle);
        return;
    }
    session->mpi.protocol =
        library->kind == JR_MPI_KIND_OPENMPI ? JR_MPI_PROTOCOL_PMIX : JR_MPI_PROTOCOL_PMI1;
    session->mpi.server = server;
    session->mpi.library = library->name;
}

/* A script or a wrapper, of which a field says that it is an MPI program. Of a profile with ranks
 * that are forked, JR0328 has warned. */
static enum jr_status choose_by_wish(struct jr_session *session)
{
    struct jr_mpi_library found[JR_MPI_KINDS];
    size_t count;
    const char *field = find_wish(session);
    const char *obstacle = find_obstacle_to_world(session);
    bool forked = session->resolution.job.start_method != JR_START_SPAWN;
    if (field == NULL || (forked && strcmp(field, "env_profiles") == 0))
        return JR_STATUS_OK;
    if (forked)
        return warn_of_wish(session, field,
                            "ranks that are forked from a helper cannot reach a process manager");
    if (find_wished_library(session, found, &count)) {
        serve_or_warn(session, &found[0]);
        return JR_STATUS_OK;
    }
    if (obstacle == NULL && count > 0)
        return refuse_choice(session, field, found);
    return warn_of_wish(session, field,
                        obstacle == NULL ? "no MPI library is found here" : obstacle);
}

/* What the spec states, if it can be done. */
static enum jr_status take_stated_protocol(struct jr_session *session)
{
    enum jr_mpi_protocol protocol = session->resolution.job.policy->mpi;
    const char *obstacle = find_obstacle_to_world(session);
    const struct jr_span at = jr_spec_where_within(session->file, "mpi");
    session->mpi.stated = true;
    if (protocol == JR_MPI_PROTOCOL_NONE)
        return JR_STATUS_OK;
    if (obstacle != NULL) {
        struct jr_diag *diag = jr_diags_error(&session->diags, JR_CODE_MPI_NOT_SERVED, at, "mpi",
                                              "mpi: %s is for ranks that one jobrun starts, and %s",
                                              jr_session_mpi_word(protocol), obstacle);
        jr_diag_help(&session->diags, diag,
                     "let one jobrun start all: in a Slurm allocation, or with "
                     "--hosts; or use --local to try it on this machine");
        return JR_STATUS_UNRESOLVED;
    }
    session->mpi.protocol = protocol;
    if (protocol != JR_MPI_PROTOCOL_PMIX || !session->host.real)
        return JR_STATUS_OK;
    session->mpi.server = find_server(session);
    if (session->mpi.server != NULL)
        return JR_STATUS_OK;
    struct jr_diag *diag = jr_diags_error(&session->diags, JR_CODE_MPI_NOT_SERVED, at, "mpi",
                                          "mpi: pmix cannot be served: " LIBRARY_MISSING);
    jr_diag_help(&session->diags, diag, LIBRARY_HELP);
    return session->options.dry_run ? JR_STATUS_UNRESOLVED : JR_STATUS_LAUNCH;
}

/* "one MPI world by pmi1 (libmpich.so.12)", or that it is none. */
static void describe_node_world(struct jr_buf *out, const struct jr_controller_node *peer)
{
    if (peer->mpi != NULL)
        jr_buf_printf(out, "one MPI world by %s", peer->mpi);
    else
        jr_buf_str(out, "no MPI world");
    if (peer->library == NULL)
        return;
    jr_buf_str(out, " (");
    jr_buf_safe(out, peer->library);
    jr_buf_char(out, ')');
}

/* All nodes have to make the same of the program. */
static int compare_node_world(const struct jr_session *session, uint32_t node, struct jr_error *err)
{
    const struct jr_controller_node first = jr_controller_node(session->controller, 0);
    const struct jr_controller_node peer = jr_controller_node(session->controller, node);
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    if (first.mpi == NULL || peer.mpi == NULL ? first.mpi == peer.mpi
                                              : strcmp(first.mpi, peer.mpi) == 0)
        return 0;
    jr_controller_name(&text, session->controller, 0);
    jr_buf_str(&text, " makes ");
    describe_node_world(&text, &first);
    jr_buf_str(&text, " of the program, and ");
    jr_controller_name(&text, session->controller, node);
    jr_buf_char(&text, ' ');
    describe_node_world(&text, &peer);
    return jr_error_set(err, JR_STATUS_UNRESOLVED,
                        "%s: install the same program and MPI library on both, "
                        "or state `mpi` in the spec",
                        text.failed ? "out of memory" : text.data);
}

int jr_session_take_node_worlds(struct jr_session *session, struct jr_error *err)
{
    struct jr_controller_node first = jr_controller_node(session->controller, 0);
    /* another controller may follow this one */
    first.library = jr_arena_strdup(&session->arena, first.library);
    first.obstacle = jr_arena_strdup(&session->arena, first.obstacle);
    for (uint32_t node = 1; node < session->resolution.job.nodes; node++)
        if (compare_node_world(session, node, err) != 0)
            return -1;
    enum jr_mpi_protocol protocol = JR_MPI_PROTOCOL_NONE;
    if (first.mpi != NULL)
        protocol = JR_MPI_PROTOCOL_PMIX;
    while (protocol > JR_MPI_PROTOCOL_NONE && strcmp(jr_session_mpi_word(protocol), first.mpi) != 0)
        protocol--;
    session->mpi_found = true;
    session->mpi = (struct jr_plan_mpi){
        .protocol = protocol,
        .stated = session->resolution.job.policy->mpi != JR_MPI_PROTOCOL_AUTO,
        .library = first.library,
    };
    const char *wish = find_wish(session);
    if (first.obstacle != NULL && first.library != NULL)
        warn_of_worlds(session, first.library, first.obstacle);
    else if (first.obstacle != NULL && wish != NULL)
        (void)warn_of_wish(session, wish, first.obstacle);
    return 0;
}

enum jr_status jr_session_find_mpi(struct jr_session *session)
{
    if (session->mpi_found)
        return JR_STATUS_OK;
    session->mpi_found = true;
    session->mpi = (struct jr_plan_mpi){.protocol = JR_MPI_PROTOCOL_NONE};
    if (session->resolution.job.policy->mpi != JR_MPI_PROTOCOL_AUTO)
        return take_stated_protocol(session);
    if (!session->host.real)
        return JR_STATUS_OK;
    /* By the libraries that the program needs. */
    const struct jr_mpi_search search = make_search(session);
    struct jr_mpi_library library;
    const char *program = find_executable(session);
    if (program == NULL || !jr_mpi_library_find(&library, &session->arena, program, &search))
        return choose_by_wish(session);
    serve_or_warn(session, &library);
    return JR_STATUS_OK;
}
