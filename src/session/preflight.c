#include "session/preflight.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/did_you_mean.h"
#include "base/io.h"
#include "base/strv.h"
#include "base/syscalls.h"
#include "session/on_end.h"
#include "session/session.h"
#include "spawn/program.h"

#include "base/banned.h"

/* The path of a field of one of the entrypoint's forms. */
#define FORM_FIELD(form, field) "entrypoint." form "." field

enum { SHEBANG_MAX = 256 }; /* Linux reads no more of a first line */

/* A look at the machine. Each field is reported once, for the first rank that
 * it does not do for. */
struct preflight {
    struct jr_session *session;
    struct jr_arena *arena; /* of texts for findings */
    bool program_reported, script_reported, workdir_reported, result_reported;
    bool *artifacts_reported; /* one per artifact; NULL: there are none */
};

/* A field and what it says for a rank. */
struct needed {
    const char *path; /* "results.artifacts[1]" */
    const char *text; /* as the rank has it */
    uint32_t rank;
};

/* Why a program cannot be executed. */
struct obstacle {
    int error;               /* an errno; 0: it can */
    const char *interpreter; /* that its first line names, if that is at fault;
                                else NULL */
};

/* The text in quotes; a secret in it is the reference that it came from. */
static const char *needed_text(const struct preflight *preflight,
                               const struct needed *needed)
{
    struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *kept =
        jr_spec_kept(preflight->session->file, preflight->arena, needed->path);
    jr_buf_char(&out, '\'');
    jr_buf_safe(&out, kept != NULL ? kept : needed->text);
    jr_buf_char(&out, '\'');
    const char *text = jr_buf_keep(&out, preflight->arena);
    return text == NULL ? "" : text;
}

/* Report what is not there: a warning where `setup`, which runs before the
 * ranks, may make it. */
static struct jr_diag *report_needed(struct preflight *preflight,
                                     enum jr_diag_code code,
                                     const struct needed *needed,
                                     const char *message)
{
    struct jr_session *session = preflight->session;
    struct jr_diags *diags = &session->diags;
    struct jr_span span = jr_spec_where_within(session->file, needed->path);
    if (session->plan.setup.text == NULL)
        return jr_diags_error(diags, code, span, needed->path, "%s", message);
    struct jr_diag *diag =
        jr_diags_warning(diags, code, span, needed->path, "%s", message);
    jr_diag_help(diags, diag, "`setup` has to provide it");
    return diag;
}

static bool has_setup(const struct preflight *preflight)
{
    return preflight->session->plan.setup.text != NULL;
}

/* Paths below the run folder are made by jobrun. */
static bool is_in_run_folder(const struct preflight *preflight,
                             const char *path)
{
    const char *folder = preflight->session->plan.run_dir;
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 &&
           (path[len] == '/' || path[len] == '\0');
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

static bool check_workdir(struct preflight *preflight,
                          const struct jr_plan_rank *rank)
{
    if (is_in_run_folder(preflight, rank->workdir))
        return false; /* nothing in it is known yet */
    int error = folder_error(rank->workdir, X_OK);
    if (error == 0 || preflight->workdir_reported)
        return error == 0;
    const struct needed needed = {"workdir", rank->workdir, rank->rank};
    preflight->workdir_reported = true;
    /* setup runs in it: an error in any case */
    (void)jr_diags_error(
        &preflight->session->diags, JR_CODE_WORKDIR_UNUSABLE,
        jr_spec_where_within(preflight->session->file, needed.path),
        needed.path, "rank %u cannot run in %s: %s", rank->rank,
        needed_text(preflight, &needed), strerror(error));
    return false;
}

/* The interpreter that the first line of a script names; NULL: there is none,
 * as in a binary. */
static const char *script_interpreter(struct jr_arena *arena, int folder,
                                      const char *path)
{
    char line[SHEBANG_MAX + 1];
    JR_CLOSE int fd = openat(folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = fd < 0 ? -1 : read(fd, line, SHEBANG_MAX);
    if (got < 2 || memcmp(line, "#!", 2) != 0)
        return NULL;
    line[got] = '\0';
    const char *word = line + 2 + strspn(line + 2, " \t");
    return jr_arena_strndup(arena, word, strcspn(word, " \t\n"));
}

/* What executing the file, as seen from `folder`, would come to. */
static struct obstacle find_obstacle(struct jr_arena *arena, int folder,
                                     const char *path)
{
    struct stat st;
    if (fstatat(folder, path, &st, 0) != 0)
        return (struct obstacle){errno, NULL};
    if (S_ISDIR(st.st_mode))
        return (struct obstacle){EISDIR, NULL};
    if (jr_access(folder, path, X_OK, AT_EACCESS) != 0)
        return (struct obstacle){errno, NULL};
    const char *interpreter = script_interpreter(arena, folder, path);
    if (interpreter == NULL ||
        jr_access(folder, interpreter, X_OK, AT_EACCESS) == 0)
        return (struct obstacle){0};
    return (struct obstacle){errno, interpreter};
}

static const char *describe_program(const struct preflight *preflight,
                                    const struct needed *needed,
                                    struct obstacle obstacle)
{
    struct jr_buf safe JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *text = needed_text(preflight, needed), *ret;
    if (obstacle.interpreter != NULL) {
        jr_buf_safe(&safe, obstacle.interpreter);
        ret = jr_arena_printf(preflight->arena,
                              "the program %s cannot be executed: its first "
                              "line names '%s': %s",
                              text, safe.data == NULL ? "" : safe.data,
                              strerror(obstacle.error));
    } else if (obstacle.error == ENOENT && strchr(needed->text, '/') == NULL) {
        ret =
            jr_arena_printf(preflight->arena, "no program %s is in PATH", text);
    } else {
        ret = jr_arena_printf(preflight->arena,
                              "the program %s cannot be executed: %s", text,
                              strerror(obstacle.error));
    }
    return ret == NULL ? "out of memory" : ret;
}

/* Where a rank looks for its program. */
struct lookup {
    const char *search, *workdir; /* its PATH and its folder */
    int folder;                   /* that, open */
};

/* The file that was meant by a name which there is none of. */
static bool find_near_program(struct jr_buf *ret, const char *name,
                              const struct lookup *lookup)
{
    if (strchr(name, '/') != NULL)
        return jr_near_file_any(ret, lookup->workdir, name);
    return jr_near_program(ret, lookup->workdir, lookup->search, name);
}

static bool is_in_folder(const char *name, const struct lookup *lookup)
{
    struct stat st;
    return strchr(name, '/') == NULL &&
           fstatat(lookup->folder, name, &st, 0) == 0;
}

static bool is_python_file(const char *name)
{
    size_t len = strlen(name);
    return len > 3 && strcmp(name + len - 3, ".py") == 0;
}

/* What to type instead, where that can be known. */
static void add_program_help(struct jr_buf *out, const char *name,
                             const struct lookup *lookup,
                             struct obstacle obstacle)
{
    struct jr_buf near JR_BUF_CLEANUP = JR_BUF_INIT;
    if (obstacle.interpreter != NULL) {
        if (strchr(obstacle.interpreter, '\r') != NULL)
            jr_buf_printf(
                out, "its lines end as on Windows: sed -i 's/\\r$//' %s", name);
        else if (jr_near_file_any(&near, lookup->workdir, obstacle.interpreter))
            jr_buf_printf(out, "did you mean #!%s?", near.data);
    } else if (is_in_folder(name, lookup)) {
        jr_buf_printf(out, "write ./%s for the file in the working directory",
                      name);
    } else if (obstacle.error == ENOENT) {
        if (find_near_program(&near, name, lookup))
            jr_buf_printf(out, "did you mean '%s'?", near.data);
    } else if (obstacle.error == EACCES) {
        jr_buf_printf(out, "%smake it executable: chmod +x %s",
                      is_python_file(name) ? "put python3 before it, or " : "",
                      name);
    }
}

static void suggest_program(struct preflight *preflight, struct jr_diag *diag,
                            const struct needed *needed,
                            const struct lookup *lookup,
                            struct obstacle obstacle)
{
    struct jr_buf help JR_BUF_CLEANUP = JR_BUF_INIT;
    if (!has_setup(preflight))
        add_program_help(&help, needed->text, lookup, obstacle);
    if (help.len > 0 && !help.failed)
        jr_diag_help(&preflight->session->diags, diag, "%s", help.data);
}

static const char *program_field(const struct jr_entrypoint *entry)
{
    if (entry->python != NULL)
        return FORM_FIELD("python", "interpreter");
    return entry->form == JR_FORM_COMMAND ? "entrypoint.command[0]"
                                          : "entrypoint";
}

/* Look for the program of a rank as its exec will. */
static void check_program(struct preflight *preflight, const char *name,
                          char *const *env, const struct jr_plan_rank *rank)
{
    const struct needed needed = {
        program_field(&preflight->session->resolution.job.entrypoint), name,
        rank->rank};
    struct jr_program program = {0};
    if (preflight->program_reported)
        return;
    const char *search = jr_env_get(env, "PATH");
    JR_CLOSE int folder = open(rank->workdir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct obstacle obstacle = {
        .error = jr_program_find(&program, name, search, rank->workdir)};
    if (obstacle.error == 0)
        obstacle = find_obstacle(preflight->arena, folder, program.path);
    if (obstacle.error == 0)
        return;
    preflight->program_reported = true;
    struct jr_diag *diag =
        report_needed(preflight, JR_CODE_PROGRAM_NOT_FOUND, &needed,
                      describe_program(preflight, &needed, obstacle));
    const struct lookup lookup = {search, rank->workdir, folder};
    suggest_program(preflight, diag, &needed, &lookup, obstacle);
}

/* Where in an argv the script of Python stands; 0: nowhere, as behind -m and
 * -c, or where an option is not known to take no value (python(1)). */
static size_t python_script_index(char *const *argv)
{
    const char *slash = strrchr(argv[0], '/');
    const char *name = slash == NULL ? argv[0] : slash + 1;
    size_t i = 1;
    if (strncmp(name, "python", 6) != 0 ||
        name[6 + strspn(name + 6, "0123456789.")] != '\0')
        return 0;
    while (argv[i] != NULL && argv[i][0] == '-' && argv[i][1] != '\0' &&
           argv[i][1 + strspn(argv[i] + 1, "bBdEiIOPqsSuvx")] == '\0')
        i++;
    return argv[i] == NULL || argv[i][0] == '-' || argv[i][0] == '\0' ? 0 : i;
}

/* Report a file that Python or the loader opens; a relative one is below
 * `workdir`. */
static void report_unreadable(struct preflight *preflight,
                              const struct needed *needed, const char *what,
                              const char *workdir, int error)
{
    struct jr_buf near JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *message =
        jr_arena_printf(preflight->arena, "the %s %s cannot be read: %s", what,
                        needed_text(preflight, needed), strerror(error));
    struct jr_diag *diag =
        report_needed(preflight, JR_CODE_FILE_NOT_READABLE, needed,
                      message == NULL ? "out of memory" : message);
    if (error != ENOENT || has_setup(preflight) ||
        !jr_near_file_any(&near, workdir, needed->text))
        return;
    /* a field's path was made absolute: the name is what can be typed */
    const char *slash = workdir[0] == '\0' ? strrchr(near.data, '/') : NULL;
    jr_diag_help(&preflight->session->diags, diag, "did you mean '%s'?",
                 slash == NULL ? near.data : slash + 1);
}

/* Python opens its script only once the rank runs: `python3 trian.py`. */
static void check_script(struct preflight *preflight,
                         const struct jr_plan_rank *rank)
{
    const struct jr_job *job = &preflight->session->resolution.job;
    size_t i = job->entrypoint.form == JR_FORM_COMMAND
                   ? python_script_index(rank->argv)
                   : 0;
    if (i == 0 || preflight->script_reported)
        return;
    JR_CLOSE int folder = open(rank->workdir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (jr_access(folder, rank->argv[i], R_OK, AT_EACCESS) == 0)
        return;
    int error = errno;
    const struct needed needed = {
        jr_arena_printf(preflight->arena, "entrypoint.command[%zu]", i),
        rank->argv[i], rank->rank};
    preflight->script_reported = true;
    if (needed.path != NULL)
        report_unreadable(preflight, &needed, "script", rank->workdir, error);
}

/* The nearest folder, of the path's own and those above it, that is there must
 * take new files: the ranks may make those below it. Returns an errno. */
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

static bool check_writing(struct preflight *preflight,
                          const struct needed *needed, const char *workdir)
{
    JR_FREE char *path = jr_io_absolute(workdir, needed->text);
    int error = path == NULL || is_in_run_folder(preflight, path)
                    ? 0
                    : writing_error(path);
    if (error == 0)
        return true;
    const char *message = jr_arena_printf(
        preflight->arena, "rank %u cannot write %s: %s", needed->rank,
        needed_text(preflight, needed), strerror(error));
    (void)report_needed(preflight, JR_CODE_FOLDER_NOT_WRITABLE, needed,
                        message == NULL ? "out of memory" : message);
    return false;
}

static void check_files(struct preflight *preflight,
                        const struct jr_plan_rank *rank)
{
    const struct needed result = {"results.file", rank->result_path,
                                  rank->rank};
    if (rank->result_path != NULL && rank->result_path[0] == '/' &&
        !preflight->result_reported)
        preflight->result_reported =
            !check_writing(preflight, &result, rank->workdir);
    for (uint32_t i = 0; i < rank->artifacts_count; i++) {
        const struct needed artifact = {
            jr_arena_printf(preflight->arena, "results.artifacts[%u]", i),
            rank->artifacts[i], rank->rank};
        if (artifact.path != NULL && !preflight->artifacts_reported[i])
            preflight->artifacts_reported[i] =
                !check_writing(preflight, &artifact, rank->workdir);
    }
}

/* A script or a library, which is the same for all ranks. */
static void check_target(struct preflight *preflight)
{
    const struct jr_entrypoint *entry =
        &preflight->session->resolution.job.entrypoint;
    bool script =
        entry->python != NULL && entry->python->what == JR_PYTHON_SCRIPT;
    struct needed needed = {0};
    struct stat st;
    if (script)
        needed = (struct needed){FORM_FIELD("python", "script"),
                                 entry->python->target, 0};
    else if (entry->library != NULL)
        needed = (struct needed){FORM_FIELD("library", "path"),
                                 entry->library->path, 0};
    else
        return;
    int error = stat(needed.text, &st) != 0 ? errno : 0;
    if (error == 0 && S_ISDIR(st.st_mode) && !script)
        error = EISDIR; /* Python runs a folder that has a __main__.py */
    if (error == 0 && jr_access(AT_FDCWD, needed.text, R_OK, AT_EACCESS) != 0)
        error = errno;
    if (error == 0)
        return;
    report_unreadable(preflight, &needed, script ? "script" : "library", "",
                      error);
}

static void check_log_dir(struct preflight *preflight)
{
    const char *folder = preflight->session->plan.run_dir;
    const struct needed needed = {"log_dir", folder, 0};
    int error = writing_error(folder);
    if (error == 0)
        return;
    struct jr_session *session = preflight->session;
    (void)jr_diags_error(&session->diags, JR_CODE_FOLDER_NOT_WRITABLE,
                         jr_spec_where_within(session->file, needed.path),
                         needed.path, "the run folder %s cannot be made: %s",
                         needed_text(preflight, &needed), strerror(error));
}

static void check_rank(struct preflight *preflight,
                       const struct jr_plan_rank *rank)
{
    const struct jr_plan_helper *helper = &preflight->session->plan.helper;
    bool helped = helper->argv != NULL;
    if (preflight->artifacts_reported == NULL)
        preflight->artifacts_reported =
            jr_arena_array(preflight->arena, rank->artifacts_count + 1,
                           sizeof *preflight->artifacts_reported);
    if (preflight->artifacts_reported == NULL ||
        !check_workdir(preflight, rank))
        return;
    check_program(preflight, helped ? helper->argv[0] : rank->argv[0],
                  helped ? helper->env : rank->env, rank);
    if (!helped)
        check_script(preflight, rank);
    check_files(preflight, rank);
}

/* Whether the folder of a file, or with `whole` the path, differs by rank. */
static bool is_per_rank(const char *path, bool whole)
{
    const char *slash = path == NULL ? NULL : strrchr(path, '/');
    const char *name = path == NULL ? NULL : strstr(path, "%{");
    return name != NULL && (whole || (slash != NULL && name < slash));
}

/* Whether ranks may need what the first one does not: else it speaks for all,
 * of which there may be a million. */
static bool are_ranks_different(const struct jr_session *session)
{
    const struct jr_job *job = &session->resolution.job;
    const struct jr_results *results = &job->policy->results;
    bool different = job->per_rank_count > 0 ||
                     is_per_rank(job->workdir, true) ||
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
    struct preflight preflight = {.session = session, .arena = &arena};
    const struct jr_plan *plan = &session->plan;
    const size_t errors = session->diags.errors;
    if (session->controller != NULL)
        return JR_STATUS_OK;
    uint32_t count = are_ranks_different(session) ? plan->count : 1;
    for (uint32_t i = 0; i < count && !arena.failed; i++) {
        struct jr_arena scratch = JR_ARENA_INIT;
        const struct jr_plan_rank rank =
            jr_plan_rank_at(plan, plan->first + i, &scratch);
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
