/* jobrun render: print the input for an engine. cli.h declares it. */
#include "cli/cmd_render.h"

#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/shell_words.h"
#include "cli/output.h"
#include "cli/placeholders.h"
#include "cli/stage.h"
#include "cli/verbs.h"
#include "session/render_session.h"
#include "session/support.h"

#include "base/banned.h"

/* A path as it is read from any folder. */
static void push_path(struct jr_strv *words, struct jr_cli *cli,
                      const char *path)
{
    JR_FREE char *here = getcwd(NULL, 0);
    JR_FREE char *absolute = here == NULL ? NULL : jr_io_absolute(here, path);
    cli->arena.failed |= absolute == NULL;
    jr_strv_push(words, &cli->arena, jr_arena_strdup(&cli->arena, absolute));
}

static void push_command_word(struct jr_strv *words, struct jr_cli *cli,
                              const char *word)
{
    jr_strv_push(words, &cli->arena, jr_arena_strdup(&cli->arena, word));
}

/* The command line that does there what this one would do here. */
static struct jr_strv rendered_command(struct jr_cli *cli)
{
    struct jr_strv words = {0};
    jr_strv_push(&words, &cli->arena,
                 jr_support_program(&cli->arena, cli->environ));
    push_command_word(&words, cli, "run");
    push_path(&words, cli, cli->words[0]);
    for (size_t i = 0; i < cli->sets.count; i++) {
        push_command_word(&words, cli, "--set");
        push_command_word(&words, cli, cli->sets.items[i]);
    }
    for (size_t i = 0; i < cli->sweeps.count; i++) {
        push_command_word(&words, cli, "--sweep");
        push_command_word(&words, cli, cli->sweeps.items[i]);
    }
    if (cli->cell != NULL) {
        push_command_word(&words, cli, "--cell");
        push_command_word(&words, cli, cli->cell);
    }
    if (cli->root != NULL) {
        push_command_word(&words, cli, "--root");
        push_path(&words, cli, cli->root);
    }
    for (char **word = cli->rest; word != NULL && *word != NULL; word++) {
        if (word == cli->rest)
            push_command_word(&words, cli, "--");
        push_command_word(&words, cli, *word);
    }
    return words;
}

/* The same for a job whose spec and code are in a folder. */
static struct jr_strv frozen_command(struct jr_cli *cli, const char *folder)
{
    struct jr_strv words = {0};
    jr_strv_push(&words, &cli->arena,
                 jr_support_program(&cli->arena, cli->environ));
    push_command_word(&words, cli, "run");
    push_command_word(&words, cli, "--frozen");
    push_command_word(&words, cli, folder);
    return words;
}

/* The engine that a word means which is none: "k8s". NULL: nobody knows. */
static const char *near_engine(const char *word)
{
    static const struct {
        const char *word, *here;
    } rows[] = {{"sbatch", "slurm"},   {"srun", "slurm"},
                {"k8s", "kubernetes"}, {"kubectl", "kubernetes"},
                {"openmpi", "mpi"},    {"mpirun", "mpi"},
                {"mpich", "mpi"},      {"mpiexec", "mpi"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcasecmp(rows[i].word, word) == 0)
            return rows[i].here;
    return jr_value_near("ENGINE", word);
}

/* No engine is stated, or none that there is: name the line to type. The engine
 * may stand behind the spec as a word. */
static int refuse_engine(const struct jr_cli *cli)
{
    const char *engine = cli->engine;
    bool bare = engine == NULL && cli->words_count == 2;
    const char *word = bare ? cli->words[1] : engine;
    const char *near = word == NULL                  ? NULL
                       : jr_session_has_engine(word) ? word
                                                     : near_engine(word);
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_buf_str(&text, "--engine wants slurm, kubernetes or mpi");
    if (engine != NULL)
        jr_buf_printf(&text, ", not '%s'", engine);
    if (engine != NULL && near != NULL)
        jr_buf_printf(&text, "; did you mean '%s'?", near);
    if (cli->words_count > 0 && (engine == NULL || near != NULL)) {
        jr_buf_printf(&text, "%s type: jobrun %s ", engine == NULL ? ";" : "",
                      cli->verb->name);
        jr_shell_quote(&text, cli->words[0]);
        jr_buf_printf(&text, " --engine %s", near == NULL ? "slurm" : near);
    }
    return jr_cli_say(cli, JR_STATUS_USAGE, "%s",
                      text.failed ? "out of memory" : text.data);
}

static int check_render_words(const struct jr_cli *cli)
{
    if (cli->engine == NULL || !jr_session_has_engine(cli->engine))
        return refuse_engine(cli);
    if (cli->words_count != 1)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "%s wants one spec: jobrun %s SPEC --engine %s",
                          cli->verb->name, cli->verb->name, cli->engine);
    if (strcmp(cli->engine, "slurm") == 0 && strcmp(cli->words[0], "-") == 0)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "the job reads its spec when it starts, but standard "
                          "input is gone by then: give a file");
    return 0;
}

static int render_engine(struct jr_session *session, struct jr_cli *cli,
                         struct jr_buf *out, bool freezes)
{
    struct jr_strv command = rendered_command(cli);
    const char *folder = NULL;
    struct jr_error err = {0};
    int failed = jr_stage_load(session, cli, NULL);
    if (failed == 0 && cli->on != NULL)
        failed = jr_stage_facts(session, cli);
    else if (failed == 0)
        failed = jr_stage_told(session, cli,
                               jr_session_assume_machine(session, &err), &err);
    if (failed == 0 && freezes)
        failed = jr_stage_told(
            session, cli, jr_submission_make(session, &folder, &err), &err);
    if (failed != 0)
        return failed;
    if (folder != NULL)
        command = frozen_command(cli, folder);
    if (cli->arena.failed)
        return jr_cli_say(cli, JR_STATUS_LAUNCH, "out of memory");
    return jr_stage_told(
        session, cli,
        jr_session_render(session, cli->engine, command.items, out, &err),
        &err);
}

int jr_stage_render(struct jr_cli *cli, struct jr_buf *out,
                    struct jr_session **ret_session)
{
    struct jr_session_options options = jr_stage_options(cli);
    struct jr_session *session = NULL;
    int status = check_render_words(cli);
    options.dry_run = true;
    if (status == 0)
        status = jr_stage_open(&session, cli, &options);
    if (status == 0)
        status = render_engine(session, cli, out, ret_session != NULL);
    if (ret_session != NULL)
        *ret_session = session;
    else
        jr_session_close(session);
    return status;
}

int jr_cmd_render(struct jr_cli *cli)
{
    struct jr_buf text = JR_BUF_INIT;
    int status = jr_stage_render(cli, &text, NULL);
    if (status == 0)
        return jr_cli_out(cli, &text);
    jr_buf_release(&text);
    return status;
}
