/* jobrun help and jobrun version. cli.h declares them. */
#include "cli/cli.h"
#include "cli/help.h"
#include "cli/mistakes.h"
#include "cli/output.h"
#include "cli/verbs.h"
#include "generated/version.h"

#include "base/banned.h"

int jr_cmd_version(struct jr_cli *cli)
{
    struct jr_buf out = JR_BUF_INIT;
    jr_buf_str(&out, "jobrun " JR_VERSION "\n");
    return jr_cli_out(cli, &out);
}

int jr_cmd_help(struct jr_cli *cli)
{
    struct jr_buf out = {.width = jr_cli_columns()};
    const struct jr_verb *verb = NULL;
    if (cli->help) {
        verb = cli->verb_stated ? cli->verb : NULL;
    } else if (cli->words_count > 0) {
        verb = jr_verb_find(cli->words[0]);
        if (verb == NULL || cli->words_count > 1)
            return jr_mistake_help(cli);
    }
    jr_cli_help(&out, verb, cli->all);
    return jr_cli_out(cli, &out);
}
