/* Whether to print in colour. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

#include "base/banned.h"

enum when { AUTO, ALWAYS, NEVER, UNKNOWN };

static enum when stated_when(const char *word)
{
    static const char *const words[] = {
        [AUTO] = "auto", [ALWAYS] = "always", [NEVER] = "never"};
    for (enum when when = AUTO; word != NULL && when < UNKNOWN; when++)
        if (strcmp(words[when], word) == 0)
            return when;
    return word == NULL ? AUTO : UNKNOWN;
}

/* What the environment wants, where the option leaves it open: NO_COLOR, then
 * CLICOLOR_FORCE (no-color.org, bixense.com/clicolors). */
static enum when wanted_when(void)
{
    const char *none = getenv("NO_COLOR");
    const char *force = getenv("CLICOLOR_FORCE");
    if (none != NULL && none[0] != '\0')
        return NEVER;
    if (force != NULL && force[0] != '\0' && strcmp(force, "0") != 0)
        return ALWAYS;
    return AUTO;
}

static bool on_terminal(int fd)
{
    const char *term = getenv("TERM");
    return term != NULL && strcmp(term, "dumb") != 0 && isatty(fd) == 1;
}

int jr_cli_color(struct jr_cli *cli)
{
    enum when when = stated_when(cli->color);
    if (when == UNKNOWN)
        return jr_cli_say(cli, JR_STATUS_USAGE,
                          "--color wants auto, always or never, not '%s'",
                          cli->color);
    if (when == AUTO)
        when = wanted_when();
    cli->moves_cursor = on_terminal(STDOUT_FILENO);
    cli->color_out =
        when == ALWAYS || (when == AUTO && on_terminal(STDOUT_FILENO));
    cli->color_err =
        when == ALWAYS || (when == AUTO && on_terminal(STDERR_FILENO));
    return 0;
}
