/* Set up descriptors and dispositions, parse, and run the verb. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/verbs.h"
#include "version.h"

#include "base/banned.h"

/* Fill 0, 1 and 2 where they are closed, so that no file of ours becomes
 * somebody's standard output. True when `fd` was closed. */
static bool fill_descriptor(int fd)
{
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
        return false;
    return open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY) >= 0;
}

static int print_version(const struct jr_cli *cli)
{
    struct jr_buf out = JR_BUF_INIT;
    jr_buf_str(&out, "jobrun " JR_VERSION "\n");
    return jr_cli_out(cli, &out);
}

static int print_help(const struct jr_cli *cli)
{
    struct jr_buf out = JR_BUF_INIT;
    jr_cli_help(&out, cli->verb_stated ? cli->verb : NULL);
    return jr_cli_out(cli, &out);
}

static int dispatch_verb(struct jr_cli *cli)
{
    if (cli->version)
        return print_version(cli);
    if (cli->help)
        return print_help(cli);
    return cli->verb->run(cli);
}

int main(int argc, char **argv)
{
    struct jr_cli cli = {0};
    (void)fill_descriptor(STDIN_FILENO);
    cli.out_closed = fill_descriptor(STDOUT_FILENO);
    cli.err_closed = fill_descriptor(STDERR_FILENO);
    (void)setlocale(LC_CTYPE, "");
    /* A reader that goes away, or a file that may not grow, must end the
     * printing, not the job. */
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    int status = jr_cli_parse(&cli, argc, argv, environ);
    if (status == 0)
        status = dispatch_verb(&cli);
    jr_arena_release(&cli.arena);
    return status;
}
