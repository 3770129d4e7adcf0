#include "session/preflight.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/syscalls.h"
#include "session/on_end.h"
#include "session/preflight_parts.h"

#include "base/banned.h"

const char *jr_preflight_text(const struct jr_preflight *preflight, const struct jr_needed *needed)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *kept = jr_spec_kept(preflight->session->file, preflight->arena, needed->path);
    jr_buf_char(&out, '\'');
    jr_buf_safe(&out, kept != NULL ? kept : needed->text);
    jr_buf_char(&out, '\'');
    const char *text = jr_buf_keep(&out, preflight->arena);
    return text == NULL ? "" : text;
}

struct jr_diag *jr_preflight_report(struct jr_preflight *preflight, enum jr_diag_code code,
                                    const struct jr_needed *needed, const char *message)
{
    struct jr_session *session = preflight->session;
    struct jr_diags *diags = &session->diags;
    struct jr_span span = jr_spec_where_within(session->file, needed->path);
    if (session->plan.setup.text == NULL)
        return jr_diags_error(diags, code, span, needed->path, "%s", message);
    struct jr_diag *diag = jr_diags_warning(diags, code, span, needed->path, "%s", message);
    jr_diag_help(diags, diag, "`setup` has to provide it");
    return diag;
}

void jr_preflight_report_help(struct jr_preflight *preflight, enum jr_diag_code code,
                              const struct jr_needed *needed, const char *message,
                              const struct jr_buf *help)
{
    struct jr_diag *diag =
        jr_preflight_report(preflight, code, needed, message == NULL ? "out of memory" : message);
    if (preflight->session->plan.setup.text == NULL && help->len > 0 && !help->failed)
        jr_diag_help(&preflight->session->diags, diag, "%s", help->data);
}

/* Paths below the run folder are made by jobrun. */
static bool is_in_run_folder(const struct jr_preflight *preflight, const char *path)
{
    const char *folder = preflight->session->plan.run_dir;
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static int folder_error(const char *path, int access)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return errno;
    if (!S_ISDIR(st.st_mode))
        return ENOTDIR;
    return jr_access(AT_FDCWD, path, access, AT_EACCESS) == 0 ? 0 : errno;
}

static bool check_workdir(struct jr_preflight *preflight, const struct jr_plan_rank *rank)
{
    if (is_in_run_folder(preflight, rank->workdir))
        return false; /* nothing in it is known yet */
    int error = folder_error(rank->workdir, X_OK);
    if (error == 0 || preflight->workdir_reported)
        return error == 0;
    const struct jr_needed needed = {"workdir", rank->workdir, rank->rank};
    preflight->workdir_reported = true;
    /* setup runs in it: an error in any case */
    (void)jr_diags_error(&preflight->session->diags, JR_CODE_WORKDIR_UNUSABLE,
                         jr_spec_where_within(preflight->session->file, needed.path), needed.path,
                         "rank %u cannot run in %s: %s", rank->rank,
                         jr_preflight_text(preflight, &needed), strerror(error));
    return false;
}

/* The nearest folder, of the path's own and those above it, that is there must take new files: the
 * ranks may make those below it. Returns an errno. */
static int writing_error(const char *path)
{
    JR_FREE char *folder = strdup(path);
    int error = ENOENT;
    while (folder != NULL && error == ENOENT) {
        char *slash = strrchr(folder, '/');
        if (slash == NULL)
            return 0;
        slash[slash == folder] = '\0';
        error = folder_error(folder, W_OK | X_OK);
        if (slash == folder)
            break;
    }
    return error == ENOENT ? 0 : error;
}

static bool check_writing(struct jr_preflight *preflight, const struct jr_needed *needed,
                          const char *workdir)
{
    JR_FREE char *path = jr_io_absolute(workdir, needed->text);
    int error = path == NULL || is_in_run_folder(preflight, path) ? 0 : writing_error(path);
    if (error == 0)
        return true;
    const char *message =
        jr_arena_printf(preflight->arena, "rank %u cannot write %s: %s", needed->rank,
                        jr_preflight_text(preflight, needed), strerror(error));
    (void)jr_preflight_report(preflight, JR_CODE_FOLDER_NOT_WRITABLE, needed,
                              message == NULL ? "out of memory" : message);
    return false;
}

static void check_files(struct jr_preflight *preflight, const struct jr_plan_rank *rank)
{
    const struct jr_needed result = {"results.file", rank->result_path, rank->rank};
    if (rank->result_path != NULL && rank->result_path[0] == '/' && !preflight->result_reported)
        preflight->result_reported = !check_writing(preflight, &result, rank->workdir);
    for (uint32_t i = 0; i < rank->artifacts_count; i++) {
        const struct jr_needed artifact = {
            jr_arena_printf(preflight->arena, "results.artifacts[%u]", i), rank->artifacts[i],
            rank->rank};
        if (artifact.path != NULL && !preflight->artifacts_reported[i])
            preflight->artifacts_reported[i] = !check_writing(preflight, &artifact, rank->workdir);
    }
}

/* A script or a library, which is the same for all ranks. */
static void check_target(struct jr_preflight *preflight)
{
    const struct jr_entrypoint *entry = &preflight->session->resolution.job.entrypoint;
    bool script = entry->python != NULL && entry->python->what == JR_PYTHON_SCRIPT;
    struct jr_needed needed = {0};
    struct stat st;
    if (script)
        needed = (struct jr_needed){JR_FORM_FIELD("python", "script"), entry->python->target, 0};
    else if (entry->library != NULL)
        needed = (struct jr_needed){JR_FORM_FIELD("library", "path"), entry->library->path, 0};
    else
        return;
    int error = stat(needed.text, &st) != 0 ? errno : 0;
    if (error == 0 && S_ISDIR(st.st_mode) && !script)
        error = EISDIR; /* Python runs a folder that has a __main__.py */
    if (error == 0 && jr_access(AT_FDCWD, needed.text, R_OK, AT_EACCESS) != 0)
        error = errno;
    if (error == 0)
        return;
    jr_preflight_unreadable(preflight, &needed, script ? "script" : "library", "", error);
}

static void check_log_dir(struct jr_preflight *preflight)
{
    const char *folder = preflight->session->plan.run_dir;
    const struct jr_needed needed = {"log_dir", folder, 0};
    int error = writing_error(folder);
    if (error == 0)
        return;
    struct jr_session *session = preflight->session;
    (void)jr_diags_error(&session->diags, JR_CODE_FOLDER_NOT_WRITABLE,
                         jr_spec_where_within(session->file, needed.path), needed.path,
                         "the run folder %s cannot be made: %s",
                         jr_preflight_text(preflight, &needed), strerror(error));
}

static void check_rank(struct jr_preflight *preflight, const struct jr_plan_rank *rank)
{
    const struct jr_plan_helper *helper = &preflight->session->plan.helper;
    bool helped = helper->argv != NULL;
    if (preflight->artifacts_reported == NULL)
        preflight->artifacts_reported = jr_arena_array(preflight->arena, rank->artifacts_count + 1,
                                                       sizeof *preflight->artifacts_reported);
    if (preflight->artifacts_reported == NULL || !check_workdir(preflight, rank))
        return;
    jr_preflight_program(preflight, helped ? helper->argv[0] : rank->argv[0],
                         helped ? helper->env : rank->env, rank);
    if (!helped)
        jr_preflight_script(preflight, rank);
    check_files(preflight, rank);
}

/* Whether the folder of a file, or with `whole` the path, differs by rank. */
static bool is_per_rank(const char *path, bool whole)
{
    const char *slash = path == NULL ? NULL : strrchr(path, '/');
    const char *name = path == NULL ? NULL : strstr(path, "%{");
    return name != NULL && (whole || (slash != NULL && name < slash));
}

/* Whether ranks may need what the first one does not: else it speaks for all, of which there may be
 * a million. */
static bool are_ranks_different(const struct jr_session *session)
{
    const struct jr_job *job = &session->resolution.job;
    const struct jr_results *results = &job->policy->results;
    bool different = job->per_rank_count > 0 || is_per_rank(job->workdir, true) ||
                     is_per_rank(results->file, false);
    if (job->entrypoint.form == JR_FORM_COMMAND)
        different |= is_per_rank(job->entrypoint.argv[0], true);
    for (uint32_t i = 0; i < results->artifacts_count; i++)
        different |= is_per_rank(results->artifacts[i], false);
    return different;
}

enum jr_status jr_session_preflight(struct jr_session *session)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_preflight preflight = {.session = session, .arena = &arena};
    const struct jr_plan *plan = &session->plan;
    const size_t errors = session->diags.errors;
    if (session->controller != NULL)
        return JR_STATUS_OK;
    uint32_t count = are_ranks_different(session) ? plan->count : 1;
    for (uint32_t i = 0; i < count && !arena.failed; i++) {
        struct jr_arena scratch = JR_ARENA_INIT;
        const struct jr_plan_rank rank = jr_plan_rank_at(plan, plan->first + i, &scratch);
        if (!scratch.failed)
            check_rank(&preflight, &rank);
        jr_arena_release(&scratch);
    }
    check_target(&preflight);
    jr_on_end_check(session);
    check_log_dir(&preflight);
    jr_arena_release(&arena);
    return session->diags.errors > errors ? JR_STATUS_UNRESOLVED : JR_STATUS_OK;
}
