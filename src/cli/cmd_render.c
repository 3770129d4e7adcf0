/* jobrun render: print the input for an engine. cli.h declares it. */
#include "cli/cmd_render.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "cli/output.h"
#include "cli/stage.h"
#include "cli/verbs.h"
#include "session/render_session.h"
#include "spawn/program.h"

#include "base/banned.h"

/* A path as it is read from any folder. */
static void push_path(struct jr_strv *words, struct jr_cli *cli,
                      const char *path)
{
    char *here = jr_spec_folder(NULL);
    char *absolute = here == NULL ? NULL : jr_io_absolute(here, path);
    cli->arena.failed |= absolute == NULL;
    jr_strv_push(words, &cli->arena, jr_arena_strdup(&cli->arena, absolute));
    free(absolute);
    free(here);
}

static void push_command_word(struct jr_strv *words, struct jr_cli *cli,
                              const char *word)
{
    jr_strv_push(words, &cli->arena, jr_arena_strdup(&cli->arena, word));
}

/* Whether PATH finds this program by its name. */
static bool is_in_path(const struct jr_cli *cli, const char *own)
{
    struct jr_program program = {0};
    struct stat this, found;
    return jr_program_find(&program, "jobrun", jr_env_get(cli->environ, "PATH"),
                           NULL) == 0 &&
           stat(program.path, &found) == 0 && stat(own, &this) == 0 &&
           found.st_ino == this.st_ino && found.st_dev == this.st_dev;
}

/* This program, by its own path unless its name is enough: the job is not to
 * find another one, or none. */
static void push_program(struct jr_strv *words, struct jr_cli *cli)
{
    char own[4096];
    ssize_t len = readlink("/proc/self/exe", own, sizeof own - 1);
    own[len > 0 ? len : 0] = '\0';
    push_command_word(words, cli,
                      len <= 0 || is_in_path(cli, own) ? "jobrun" : own);
}

/* The command line that does there what this one would do here. */
static struct jr_strv rendered_command(struct jr_cli *cli)
{
    struct jr_strv words = {0};
    push_program(&words, cli);
    push_command_word(&words, cli, "run");
    push_path(&words, cli, cli->words[0]);
    for (size_t i = 0; i < cli->sets.count; i++) {
        push_command_word(&words, cli, "--set");
        push_command_word(&words, cli, cli->sets.items[i]);
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

static int check_render_words(const struct jr_cli *cli,
                              enum jr_engine_kind kind)
{
    if (kind == JR_ENGINE_COUNT)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "--engine wants slurm, kubernetes or mpi%s%s%s",
                          cli->engine != NULL ? ", not '" : "",
                          cli->engine != NULL ? cli->engine : "",
                          cli->engine != NULL ? "'" : "");
    if (cli->words_count != 1)
        return jr_cli_say(cli, JR_STATUS_USAGE, "%s wants one spec",
                          cli->verb->name);
    if (kind == JR_ENGINE_SLURM && strcmp(cli->words[0], "-") == 0)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "the job reads its spec when it starts, but standard "
                          "input is gone by then: give a file");
    return 0;
}

static int render_engine(struct jr_session *session, struct jr_cli *cli,
                         enum jr_engine_kind kind, struct jr_buf *out)
{
    const struct jr_strv command = rendered_command(cli);
    struct jr_error err = {0};
    int failed = jr_stage_load(session, cli);
    if (failed == 0 && cli->on != NULL)
        failed = jr_stage_facts(session, cli);
    else if (failed == 0)
        failed = jr_stage_told(session, cli, jr_session_imagine(session, &err),
                               &err);
    if (failed != 0)
        return failed;
    if (cli->arena.failed)
        return jr_cli_say(cli, JR_STATUS_LAUNCH, "out of memory");
    return jr_stage_told(
        session, cli,
        jr_session_render(session, kind, command.items, out, &err), &err);
}

int jr_stage_render(struct jr_cli *cli, struct jr_buf *out)
{
    struct jr_session_options options = jr_stage_options(cli);
    struct jr_session *session = NULL;
    enum jr_engine_kind kind =
        jr_engine_find(cli->engine != NULL ? cli->engine : "");
    int status = check_render_words(cli, kind);
    options.dry_run = true;
    if (status == 0)
        status = jr_stage_open(&session, cli, &options);
    if (status == 0)
        status = render_engine(session, cli, kind, out);
    jr_session_close(session);
    return status;
}

int jr_cmd_render(struct jr_cli *cli)
{
    struct jr_buf text = JR_BUF_INIT;
    int status = jr_stage_render(cli, &text);
    if (status == 0)
        return jr_cli_out(cli, &text);
    jr_buf_release(&text);
    return status;
}
