#include "session/session_mpi.h"

#include <string.h>

#include "base/io.h"
#include "spawn/program.h"
#include "wireup/mpi_library.h"
#include "wireup/pmix_abi.h"

#include "base/banned.h"

/* What stands in the way of one world; NULL: nothing. */
static const char *find_obstacle_to_world(const struct jr_session *session)
{
    if (session->part)
        return "the ranks of other nodes are started by other jobruns";
    if (session->controller != NULL)
        return "the ranks are on several nodes";
    return NULL;
}

static const char *protocol_word(enum jr_mpi_protocol protocol)
{
    static const char *const words[] = {
#define WORD(name, word, help) word,
        JR_MPI_PROTOCOLS(WORD)
#undef WORD
    };
    return words[protocol];
}

static enum jr_status refuse_protocol(struct jr_session *session,
                                      const char *why)
{
    struct jr_diag *diag = jr_diags_error(
        &session->diags, JR_CODE_MPI_NOT_SERVED,
        jr_spec_where_within(session->file, "mpi"), "mpi",
        "mpi: %s is for ranks that one jobrun starts on one machine, and %s",
        protocol_word(session->resolution.job.policy->mpi), why);
    jr_diag_help(&session->diags, diag,
                 "use nodes: 1, or --local to try it on this machine; on "
                 "several nodes start the program by its own launcher, for "
                 "which `jobrun render SPEC --engine mpi` prints the command");
    return JR_STATUS_UNRESOLVED;
}

#define LIBRARY_MISSING                                                        \
    JR_PMIX_LIBRARY ", the library of PMIx, is not installed"
#define LIBRARY_HELP                                                           \
    "install the package libpmix2 (Debian, Ubuntu) or pmix (Fedora, openSUSE)"

/* What is stated needs a library that is not there. */
static enum jr_status refuse_library(struct jr_session *session)
{
    struct jr_diag *diag =
        jr_diags_error(&session->diags, JR_CODE_MPI_NOT_SERVED,
                       jr_spec_where_within(session->file, "mpi"), "mpi",
                       "mpi: pmix cannot be served: " LIBRARY_MISSING);
    jr_diag_help(&session->diags, diag, LIBRARY_HELP);
    return session->options.dry_run ? JR_STATUS_UNRESOLVED : JR_STATUS_LAUNCH;
}

/* A program that needs MPI, and gets no world. */
static void warn_of_worlds(struct jr_session *session,
                           const struct jr_mpi_library *library,
                           const char *why)
{
    struct jr_buf safe JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_safe(&safe, library->name);
    struct jr_diag *diag = jr_diags_warning(
        &session->diags, JR_CODE_MPI_NOT_SERVED,
        jr_spec_where_within(session->file, "entrypoint"), "entrypoint",
        "the program needs %s, and jobrun does not make its ranks one world: "
        "%s; each rank that calls MPI_Init is a world of its own",
        safe.data == NULL ? "an MPI library" : safe.data, why);
    jr_diag_help(&session->diags, diag,
                 "start it by its own launcher, for which `jobrun render SPEC "
                 "--engine mpi` prints the command; or write mpi: none to say "
                 "that it is meant so");
}

/* A variable of the ranks, as far as it is the same for all. */
static const char *rank_variable(const struct jr_session *session,
                                 const char *name)
{
    const struct jr_job *job = &session->resolution.job;
    for (uint32_t i = job->env_count; i-- > 0;)
        if (strcmp(job->env[i].name, name) == 0 && !job->env[i].required)
            return job->env[i].value;
    return jr_env_get(session->options.envp, name);
}

/* The file that the ranks execute; NULL where it differs, is not there, or is
 * found by what `setup` exports. */
static const char *find_executable(struct jr_session *session)
{
    const struct jr_job *job = &session->resolution.job;
    const struct jr_entrypoint *entry = &job->entrypoint;
    if (entry->form != JR_FORM_COMMAND || entry->argv_count == 0)
        return NULL;
    const char *name = entry->argv[0];
    if (strstr(name, "%{") != NULL || strstr(job->workdir, "%{") != NULL)
        return NULL;
    struct jr_program *program =
        jr_arena_alloc(&session->arena, sizeof *program);
    if (program == NULL ||
        jr_program_find(program, name, rank_variable(session, "PATH"),
                        job->workdir) != 0)
        return NULL;
    return program->path[0] == '/'
               ? program->path
               : jr_arena_printf(&session->arena, "%s/%s", job->workdir,
                                 program->path);
}

/* Where the loader looks for what a rank needs. */
static struct jr_mpi_search make_search(const struct jr_session *session)
{
    return (struct jr_mpi_search){.library_path =
                                      rank_variable(session, "LD_LIBRARY_PATH"),
                                  .cache = JR_MPI_CACHE};
}

/* The library that serves PMIx; NULL: it is not there. */
static const char *find_server(struct jr_session *session)
{
    const struct jr_mpi_search search = make_search(session);
    return jr_mpi_library_path(&session->arena, JR_PMIX_LIBRARY, &search);
}

/* By the libraries that the program needs. */
static void choose_protocol(struct jr_session *session)
{
    const struct jr_mpi_search search = make_search(session);
    struct jr_mpi_library library;
    const char *program = find_executable(session), *server = NULL;
    if (program == NULL ||
        !jr_mpi_library_find(&library, &session->arena, program, &search))
        return;
    const char *obstacle = find_obstacle_to_world(session);
    if (library.kind == JR_MPI_KIND_OPENMPI)
        server = find_server(session);
    if (obstacle == NULL && library.kind == JR_MPI_KIND_OPENMPI &&
        server == NULL)
        obstacle = LIBRARY_MISSING;
    if (obstacle != NULL) {
        warn_of_worlds(session, &library, obstacle);
        return;
    }
    session->mpi.protocol = library.kind == JR_MPI_KIND_OPENMPI
                                ? JR_MPI_PROTOCOL_PMIX
                                : JR_MPI_PROTOCOL_PMI1;
    session->mpi.server = server;
    session->mpi.library = library.name;
}

/* What the spec states, if it can be done. */
static enum jr_status take_stated_protocol(struct jr_session *session)
{
    enum jr_mpi_protocol protocol = session->resolution.job.policy->mpi;
    const char *obstacle = find_obstacle_to_world(session);
    session->mpi.stated = true;
    if (protocol == JR_MPI_PROTOCOL_NONE)
        return JR_STATUS_OK;
    if (obstacle != NULL)
        return refuse_protocol(session, obstacle);
    session->mpi.protocol = protocol;
    if (protocol != JR_MPI_PROTOCOL_PMIX || !session->host.real)
        return JR_STATUS_OK;
    session->mpi.server = find_server(session);
    return session->mpi.server == NULL ? refuse_library(session) : JR_STATUS_OK;
}

enum jr_status jr_session_find_mpi(struct jr_session *session)
{
    if (session->mpi_found)
        return JR_STATUS_OK;
    session->mpi_found = true;
    session->mpi = (struct jr_plan_mpi){.protocol = JR_MPI_PROTOCOL_NONE};
    if (session->resolution.job.policy->mpi != JR_MPI_PROTOCOL_AUTO)
        return take_stated_protocol(session);
    if (session->host.real)
        choose_protocol(session);
    return JR_STATUS_OK;
}
