/* Set up descriptors and dispositions, parse, and run the verb. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/mistakes.h"

#include "base/banned.h"

/* Fill 0, 1 and 2 where they are closed, so that no file of ours becomes somebody's standard
 * output. True when `fd` was closed. */
static bool fill_descriptor(int fd)
{
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
        return false;
    return open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY) >= 0;
}

#define VERB_FUNCTION(name, words, help, flags) jr_cmd_##name,

static int dispatch_verb(struct jr_cli *cli)
{
    static jr_verb_function *const functions[] = {JR_VERBS(VERB_FUNCTION)};
    jr_verb_function *run = functions[cli->verb - jr_verbs];
    if (cli->version)
        return cli->words_count > 0 && run != jr_cmd_help ? jr_mistake_version(cli)
                                                          : jr_cmd_version(cli);
    return cli->help ? jr_cmd_help(cli) : run(cli);
}

int main(int argc, char **argv)
{
    struct jr_cli cli = {0};
    (void)fill_descriptor(STDIN_FILENO);
    cli.out_closed = fill_descriptor(STDOUT_FILENO);
    cli.err_closed = fill_descriptor(STDERR_FILENO);
    (void)setlocale(LC_CTYPE, "");
    /* A reader that goes away, or a file that may not grow, must end the printing, not the job. */
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    int status = jr_cli_parse(&cli, argc, argv, environ);
    if (status == 0)
        status = dispatch_verb(&cli);
    jr_arena_release(&cli.arena);
    return status;
}
