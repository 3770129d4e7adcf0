/* jobrun completion: a shell's script, or what the script asks for. cli.h
 * declares it. */
#include <string.h>

#include "cli/cli.h"
#include "cli/cmd_runs.h"
#include "cli/complete.h"
#include "cli/output.h"
#include "cli/placeholders.h"
#include "generated/scripts.h"

#include "base/banned.h"

static const char *completion_script(const char *shell)
{
    static const struct {
        const char *shell, *text;
    } rows[] = {{"bash", JR_SCRIPT_BASH},
                {"zsh", JR_SCRIPT_ZSH},
                {"fish", JR_SCRIPT_FISH}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].shell, shell) == 0)
            return rows[i].text;
    return NULL;
}

int jr_cmd_completion(struct jr_cli *cli)
{
    struct jr_buf out = JR_BUF_INIT;
    const char *text =
        cli->words_count == 1 ? completion_script(cli->words[0]) : NULL;
    if (text == NULL)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "completion for which shell? bash, zsh or fish");
    if (cli->rest != NULL)
        jr_complete(&out, cli->rest, jr_cli_log_dir(cli));
    else
        jr_buf_str(&out, text);
    return jr_cli_out(cli, &out);
}
