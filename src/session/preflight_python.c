/* What Python is to read and to import. preflight_parts.h declares it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/did_you_mean.h"
#include "base/syscalls.h"
#include "session/misplaced.h"
#include "session/preflight_parts.h"
#include "session/python_modules.h"

#include "base/banned.h"

/* Where in an argv the first word behind the options of Python stands; 0:
 * nowhere, as where an option is not known to take no value (python(1)). */
static size_t behind_python_options(char *const *argv)
{
    const char *slash = strrchr(argv[0], '/');
    const char *name = slash == NULL ? argv[0] : slash + 1;
    size_t i = 1;
    if (strncmp(name, "python", 6) != 0 || name[6 + strspn(name + 6, "0123456789.")] != '\0')
        return 0;
    while (argv[i] != NULL && argv[i][0] == '-' && argv[i][1] != '\0' &&
           argv[i][1 + strspn(argv[i] + 1, "bBdEiIOPqsSuvx")] == '\0')
        i++;
    return argv[i] == NULL || argv[i][0] == '\0' ? 0 : i;
}

/* Where the script of a shell or another interpreter stands, which is its first word; 0: nowhere
 * that is known. */
static size_t other_script_index(char *const *argv)
{
    static const char *const names[] = {"sh",   "bash",    "zsh",   "dash", "perl",
                                        "ruby", "Rscript", "julia", "node", "lua"};
    const char *slash = strrchr(argv[0], '/');
    const char *name = slash == NULL ? argv[0] : slash + 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return argv[1] != NULL && argv[1][0] != '-' && argv[1][0] != '\0';
    return 0;
}

/* Where the script of Python stands; 0: nowhere, as behind -m and -c. */
static size_t python_script_index(char *const *argv)
{
    size_t i = behind_python_options(argv);
    return i > 0 && argv[i][0] == '-' ? 0 : i;
}

/* Where the module stands, behind -m; 0: nowhere. */
static size_t python_module_index(char *const *argv)
{
    size_t i = behind_python_options(argv);
    return i > 0 && strcmp(argv[i], "-m") == 0 && argv[i + 1] != NULL ? i + 1 : 0;
}

/* Whether Python can import it, as far as that can be told. `text` is the field's: pkg.train, or
 * pkg.train:main. */
static void check_module(struct jr_preflight *preflight, const struct jr_python_look *look,
                         const struct jr_needed *needed)
{
    struct jr_buf part JR_BUF_CLEANUP = JR_BUF_INIT, help JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *module =
        jr_arena_strndup(preflight->arena, needed->text, strcspn(needed->text, ":"));
    if (module == NULL || needed->path == NULL ||
        !jr_python_module_missing(&part, &help, look, module))
        return;
    const char *message =
        jr_arena_printf(preflight->arena, "%s finds no module '%s'", look->interpreter, part.data);
    struct jr_buf beside JR_BUF_CLEANUP = JR_BUF_INIT;
    bool misplaced = jr_misplaced_module(&beside, preflight->session, look->workdir, module);
    jr_preflight_report_help(preflight, JR_CODE_MODULE_NOT_FOUND, needed, message,
                             misplaced ? &beside : &help);
}

static void check_python(struct jr_preflight *preflight, const struct jr_python_look *look,
                         const struct jr_python *python)
{
    const struct jr_needed module = {JR_FORM_FIELD("python", "module"), python->target, 0},
                           function = {JR_FORM_FIELD("python", "function"), python->target, 0},
                           setup = {JR_FORM_FIELD("python", "setup"), python->setup, 0};
    if (python->what == JR_PYTHON_MODULE)
        check_module(preflight, look, &module);
    if (python->what == JR_PYTHON_FUNCTION)
        check_module(preflight, look, &function);
    if (python->setup != NULL)
        check_module(preflight, look, &setup);
}

void jr_preflight_modules(struct jr_preflight *preflight, const char *path, char *const *env,
                          const struct jr_plan_rank *rank)
{
    const struct jr_job *job = &preflight->session->resolution.job;
    const struct jr_entrypoint *entry = &job->entrypoint;
    size_t at = entry->form == JR_FORM_COMMAND ? python_module_index(rank->argv) : 0;
    const struct jr_python_look look = {.env = env,
                                        .workdir = rank->workdir,
                                        .interpreter = path,
                                        .options = rank->argv + 1,
                                        .options_count = at == 0 ? 0 : at - 2 /* up to -m */};
    if (preflight->modules_checked)
        return;
    preflight->modules_checked = true;
    if (entry->python != NULL)
        check_python(preflight, &look, entry->python);
    for (uint32_t i = 0; entry->python != NULL && i < job->preload_count; i++) {
        const struct jr_needed needed = {jr_arena_printf(preflight->arena, "preload[%u]", i),
                                         job->preload[i], 0};
        check_module(preflight, &look, &needed);
    }
    const struct jr_needed word = {jr_arena_printf(preflight->arena, "entrypoint.command[%zu]", at),
                                   rank->argv[at], rank->rank};
    if (at > 0)
        check_module(preflight, &look, &word);
}

void jr_preflight_unreadable(struct jr_preflight *preflight, const struct jr_needed *needed,
                             const char *what, const char *workdir, int error)
{
    struct jr_buf near JR_BUF_CLEANUP = JR_BUF_INIT, help JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *message = jr_arena_printf(preflight->arena, "the %s %s cannot be read: %s", what,
                                          jr_preflight_text(preflight, needed), strerror(error));
    if (error == ENOENT && jr_misplaced_file(&help, preflight->session, workdir, needed->text)) {
        /* said */
    } else if (error == ENOENT && jr_near_file_any(&near, workdir, needed->text)) {
        /* a field's path was made absolute: the name is what can be typed */
        const char *slash = workdir[0] == '\0' ? strrchr(near.data, '/') : NULL;
        jr_buf_printf(&help, "did you mean '%s'?", slash == NULL ? near.data : slash + 1);
    }
    jr_preflight_report_help(preflight, JR_CODE_FILE_NOT_READABLE, needed, message, &help);
}

void jr_preflight_script(struct jr_preflight *preflight, const struct jr_plan_rank *rank)
{
    const struct jr_job *job = &preflight->session->resolution.job;
    size_t i = job->entrypoint.form == JR_FORM_COMMAND ? python_script_index(rank->argv) : 0;
    /* A shell also looks in PATH, and others elsewhere: only what is beside the caller is surely
     * not found. */
    struct jr_buf beside JR_BUF_CLEANUP = JR_BUF_INIT;
    if (i == 0 && job->entrypoint.form == JR_FORM_COMMAND) {
        i = other_script_index(rank->argv);
        if (i > 0 && !jr_misplaced_file(&beside, preflight->session, rank->workdir, rank->argv[i]))
            i = 0;
    }
    if (i == 0 || preflight->script_reported)
        return;
    JR_CLOSE int folder = open(rank->workdir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (jr_access(folder, rank->argv[i], R_OK, AT_EACCESS) == 0)
        return;
    int error = errno;
    const struct jr_needed needed = {
        jr_arena_printf(preflight->arena, "entrypoint.command[%zu]", i), rank->argv[i], rank->rank};
    preflight->script_reported = true;
    if (needed.path != NULL)
        jr_preflight_unreadable(preflight, &needed, "script", rank->workdir, error);
}
