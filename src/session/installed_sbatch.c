#include "session/installed_sbatch.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "host/ask.h"
#include "session/session.h"
#include "spec/sbatch_options.h"

#include "base/banned.h"

/* How long sbatch may take, which may look for its configuration first; and the
 * bytes of its help at most. */
enum { LIMIT_MS = 10000, MOST_BYTES = 1 << 18 };

/* Becomes `sbatch --help`, whose output goes to `fd`. */
static int print_sbatch_help(void *data, int fd)
{
    char *const *envp = data;
    char *const words[] = {(char[]){"sbatch"}, (char[]){"--help"}, NULL};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(fd, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0)
        return 126;
    (void)execvpe(words[0], words, envp);
    return 127;
}

/* Whether the help has --NAME as a whole word. */
static bool is_listed_option(const char *help, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = help; (at = strstr(at, "--")) != NULL; at += 2)
        if (strncmp(at + 2, name, len) == 0 && at[2 + len] != '-' &&
            !isalnum((unsigned char)at[2 + len]))
            return true;
    return false;
}

static void refuse_option(struct jr_session *session, const char *name)
{
    const char *path =
        jr_arena_printf(&session->arena, "engine.slurm.%s", name);
    if (path != NULL)
        (void)jr_diags_error(&session->diags, JR_CODE_SBATCH_LACKS_OPTION,
                             jr_spec_where(session->file, path), path,
                             "the sbatch of this machine has no option '%s'",
                             name);
}

enum jr_status jr_installed_sbatch_check(struct jr_session *session)
{
    const struct jr_engine *engine = &session->resolution.job.policy->engine;
    struct jr_buf help JR_BUF_CLEANUP = JR_BUF_INIT;
    const struct jr_ask ask = {.answer = print_sbatch_help,
                               .data = (void *)session->options.envp,
                               .limit_ms = LIMIT_MS,
                               .most = MOST_BYTES};
    size_t errors = session->diags.errors;
    bool asked = false;
    for (uint32_t i = 0; i < engine->slurm_count; i++) {
        const char *name = engine->slurm[i].name;
        if (jr_sbatch_has_option(name))
            continue;
        if (!asked && jr_ask(&help, &session->arena, &ask) != NULL)
            return JR_STATUS_OK; /* there is none that could be asked */
        asked = true;
        if (help.data != NULL && !is_listed_option(help.data, name))
            refuse_option(session, name);
    }
    return session->diags.errors > errors ? JR_STATUS_UNRESOLVED : JR_STATUS_OK;
}
