/* jobrun diff: two specs, or two runs, side by side; or the specs of a folder
 * beside those of a revision. cli.h declares it. */
#include "cli/cmd_runs.h"
#include "cli/output.h"
#include "cli/stage.h"
#include "session/specs/diff_specs.h"

#include "base/banned.h"

static void note_diff_line(void *data, const char *line)
{
    (void)jr_cli_say(data, 0, "%s", line);
}

static int print_diff(const struct jr_cli *cli, struct jr_diff *diff)
{
    int status = jr_cli_out(cli, &diff->text);
    if (status == 0 && diff->invalid)
        return JR_STATUS_INVALID;
    return status == 0 && cli->exit_code && diff->differs ? JR_STATUS_FAILED
                                                          : status;
}

/* Print what differs, or why that is not known. */
static int conclude_diff(const struct jr_cli *cli, struct jr_diff *diff,
                         enum jr_status status, const struct jr_error *err)
{
    if (status == JR_STATUS_OK)
        return print_diff(cli, diff);
    if (err->text[0] != '\0')
        (void)jr_cli_say(cli, (int)status, "%s", err->text);
    jr_cli_diags(cli, &diff->diags);
    return (int)status;
}

static int diff_two_words(struct jr_cli *cli,
                          const struct jr_diff_options *options)
{
    const struct jr_session_options settings = jr_stage_options(cli);
    struct jr_session *session = NULL;
    struct jr_error err = {0};
    int status = jr_stage_open(&session, cli, &settings);
    if (status == 0)
        status = jr_stage_facts(session, cli);
    if (status == 0) {
        struct jr_diff diff;
        enum jr_status made =
            jr_diff_two(&diff, session, cli->words, options, &err);
        status = conclude_diff(cli, &diff, made, &err);
        jr_diff_release(&diff);
    }
    jr_session_close(session);
    return status;
}

static int diff_folders(const struct jr_cli *cli,
                        const struct jr_diff_options *options)
{
    struct jr_diff diff;
    struct jr_error err = {0};
    enum jr_status made =
        jr_diff_tree(&diff, cli->words, cli->words_count, options, &err);
    int status = conclude_diff(cli, &diff, made, &err);
    jr_diff_release(&diff);
    return status;
}

int jr_cmd_diff(struct jr_cli *cli)
{
    static const char *const formats[] = {"text", "json", "markdown", NULL};
    int format = jr_cli_format(cli, formats);
    if (format < 0)
        return JR_STATUS_USAGE;
    const struct jr_diff_options options = {
        .format = (enum jr_diff_format)format,
        .log_dir = jr_cli_log_dir(cli),
        .environ = cli->environ,
        .rev = cli->rev,
        .code = cli->code,
        .on = cli->on,
        .note = note_diff_line,
        .data = cli,
    };
    if (cli->rev != NULL)
        return diff_folders(cli, &options);
    if (cli->words_count == 2)
        return diff_two_words(cli, &options);
    return jr_cli_say(cli, JR_STATUS_USAGE,
                      "diff needs two arguments: jobrun diff A B (files, "
                      "REV:FILE or runs), or jobrun diff --rev REV FOLDER");
}
