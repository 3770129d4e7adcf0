/* Whether a rank's program can be executed. preflight_parts.h declares it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/did_you_mean.h"
#include "base/shebang.h"
#include "base/strv.h"
#include "base/syscalls.h"
#include "session/misplaced.h"
#include "session/preflight_parts.h"
#include "spawn/program.h"

#include "base/banned.h"

/* Where a rank looks for its program. */
struct lookup {
    const char *search, *workdir; /* its PATH and its folder */
    int folder;                   /* that, open */
};

/* Why a program cannot be executed. */
struct obstacle {
    int error;        /* an errno; 0: it can */
    const char *line; /* what its first line names, if that is at fault; else
                         NULL */
    struct jr_shebang shebang;
};

/* What the first line of a script comes to. */
static struct obstacle find_line_obstacle(const struct lookup *lookup, struct jr_shebang shebang)
{
    struct jr_program program = {0};
    struct obstacle obstacle = {.shebang = shebang};
    if (shebang.interpreter == NULL)
        return obstacle;
    if (jr_access(lookup->folder, shebang.interpreter, X_OK, AT_EACCESS) != 0) {
        obstacle.error = errno;
        obstacle.line = shebang.interpreter;
    } else if (shebang.program != NULL) {
        obstacle.error =
            jr_program_find(&program, shebang.program, lookup->search, lookup->workdir);
        obstacle.line = obstacle.error == 0 ? NULL : shebang.program;
    }
    return obstacle;
}

/* What executing the file, as seen from the folder of a rank, would come to. */
static struct obstacle find_obstacle(struct jr_arena *arena, const struct lookup *lookup,
                                     const char *path)
{
    struct stat st;
    if (fstatat(lookup->folder, path, &st, 0) != 0)
        return (struct obstacle){.error = errno};
    if (S_ISDIR(st.st_mode))
        return (struct obstacle){.error = EISDIR};
    if (jr_access(lookup->folder, path, X_OK, AT_EACCESS) != 0)
        return (struct obstacle){.error = errno};
    return find_line_obstacle(lookup, jr_shebang_read(arena, lookup->folder, path));
}

static const char *describe_program(const struct jr_preflight *preflight,
                                    const struct jr_needed *needed, struct obstacle obstacle)
{
    struct jr_buf safe JR_BUF_CLEANUP = JR_BUF_INIT;
    const char *text = jr_preflight_text(preflight, needed), *ret;
    if (obstacle.line != NULL) {
        jr_buf_safe(&safe, obstacle.line);
        ret = jr_arena_printf(preflight->arena,
                              "the program %s cannot be executed: its first line names '%s': %s",
                              text, safe.data == NULL ? "" : safe.data, strerror(obstacle.error));
    } else if (obstacle.error == ENOENT && strchr(needed->text, '/') == NULL) {
        ret = jr_arena_printf(preflight->arena, "no program %s is in PATH", text);
    } else {
        ret = jr_arena_printf(preflight->arena, "the program %s cannot be executed: %s", text,
                              strerror(obstacle.error));
    }
    return ret == NULL ? "out of memory" : ret;
}

/* The file that was meant by a name which there is none of. */
static bool find_near_program(struct jr_buf *ret, const char *name, const struct lookup *lookup)
{
    if (strchr(name, '/') != NULL)
        return jr_near_file_any(ret, lookup->workdir, name);
    return jr_near_program(ret, lookup->workdir, lookup->search, name);
}

static bool is_in_folder(const char *name, const struct lookup *lookup)
{
    struct stat st;
    return strchr(name, '/') == NULL && fstatat(lookup->folder, name, &st, 0) == 0;
}

static bool is_python_file(const char *name)
{
    size_t len = strlen(name);
    return len > 3 && strcmp(name + len - 3, ".py") == 0;
}

/* What the first line of a script should be. */
static void add_line_help(struct jr_buf *out, const char *name, const struct lookup *lookup,
                          const struct obstacle *obstacle)
{
    struct jr_buf near JR_BUF_CLEANUP = JR_BUF_INIT;
    if (jr_shebang_help_windows(out, &obstacle->shebang, name) ||
        !find_near_program(&near, obstacle->line, lookup))
        return;
    jr_buf_printf(out, "did you mean #!%s%s%s?",
                  obstacle->line == obstacle->shebang.program ? obstacle->shebang.interpreter : "",
                  obstacle->line == obstacle->shebang.program ? " " : "", near.data);
}

/* What to type instead, where that can be known. */
static void add_program_help(struct jr_buf *out, const char *name, const struct lookup *lookup,
                             struct obstacle obstacle)
{
    struct jr_buf near JR_BUF_CLEANUP = JR_BUF_INIT;
    if (obstacle.line != NULL) {
        add_line_help(out, name, lookup, &obstacle);
    } else if (is_in_folder(name, lookup)) {
        jr_buf_printf(out, "write ./%s for the file in the working directory", name);
    } else if (obstacle.error == ENOENT) {
        if (find_near_program(&near, name, lookup))
            jr_buf_printf(out, "did you mean '%s'?", near.data);
    } else if (obstacle.error == EACCES) {
        jr_buf_printf(out, "%smake it executable: chmod +x %s",
                      is_python_file(name) ? "put python3 before it, or " : "", name);
    }
}

static const char *program_field(const struct jr_entrypoint *entry)
{
    if (entry->python != NULL)
        return JR_FORM_FIELD("python", "interpreter");
    return entry->form == JR_FORM_COMMAND ? "entrypoint.command[0]" : "entrypoint";
}

void jr_preflight_program(struct jr_preflight *preflight, const char *name, char *const *env,
                          const struct jr_plan_rank *rank)
{
    const struct jr_needed needed = {program_field(&preflight->session->resolution.job.entrypoint),
                                     name, rank->rank};
    struct jr_buf help JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_program program = {0};
    if (preflight->program_reported)
        return;
    JR_CLOSE int folder = open(rank->workdir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const struct lookup lookup = {jr_env_get(env, "PATH"), rank->workdir, folder};
    struct obstacle obstacle = {.error =
                                    jr_program_find(&program, name, lookup.search, rank->workdir)};
    if (obstacle.error == 0)
        obstacle = find_obstacle(preflight->arena, &lookup, program.path);
    if (obstacle.error == 0) {
        jr_preflight_modules(preflight, program.path, env, rank);
        return;
    }
    preflight->program_reported = true;
    if (obstacle.error != ENOENT || obstacle.line != NULL ||
        !jr_misplaced_program(&help, preflight->session, rank->workdir, name))
        add_program_help(&help, name, &lookup, obstacle);
    jr_preflight_report_help(preflight, JR_CODE_PROGRAM_NOT_FOUND, &needed,
                             describe_program(preflight, &needed, obstacle), &help);
}
