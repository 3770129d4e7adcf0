#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/did_you_mean.h"
#include "base/io.h"
#include "base/num.h"
#include "cli/cli.h"
#include "cli/verbs.h"
#include "session/foreground.h"

#include "base/banned.h"

bool jr_cli_write(const struct jr_cli *cli, const char *text, size_t len,
                  int *ret_status)
{
    if (cli->out_closed)
        *ret_status = jr_cli_say(cli, JR_STATUS_LAUNCH,
                                 "cannot print: standard output is closed");
    else if (jr_io_write_all(STDOUT_FILENO, text, len) == 0)
        return true;
    else if (errno != EPIPE)
        *ret_status =
            jr_cli_say(cli, JR_STATUS_LAUNCH,
                       "cannot write to standard output: %s", strerror(errno));
    return false;
}

int jr_cli_out(const struct jr_cli *cli, struct jr_buf *text)
{
    int status = 0;
    if (text->failed)
        status = jr_cli_say(cli, JR_STATUS_LAUNCH, "out of memory");
    else
        (void)jr_cli_write(cli, text->data, text->len, &status);
    jr_buf_release(text);
    return status;
}

int jr_cli_deliver(const struct jr_cli *cli, struct jr_buf *text)
{
    const char *path = cli->output;
    if (path == NULL || text->failed)
        return jr_cli_out(cli, text);
    JR_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    int status = JR_STATUS_OK;
    if (fd < 0 && errno == EEXIST)
        status = jr_cli_say(cli, JR_STATUS_USAGE,
                            "%s already exists, and was not changed", path);
    else if (fd < 0)
        status = jr_cli_say(cli, JR_STATUS_LAUNCH, "cannot make %s: %s", path,
                            strerror(errno));
    else if (jr_io_write_all(fd, text->data, text->len) != 0)
        status = jr_cli_say(cli, JR_STATUS_LAUNCH, "cannot write to %s: %s",
                            path, strerror(errno));
    jr_buf_release(text);
    return status;
}

void jr_cli_err(const struct jr_cli *cli, struct jr_buf *text)
{
    static const char no_memory[] = "jobrun: out of memory\n";
    const char *bytes = text->failed ? no_memory : text->data;
    size_t len = text->failed ? sizeof no_memory - 1 : text->len;
    bool shared =
        cli->session != NULL && jr_session_print(cli->session, bytes, len);
    if (!shared && !cli->err_closed)
        (void)jr_io_write_all(STDERR_FILENO, bytes, len);
    jr_buf_release(text);
}

int jr_cli_say(const struct jr_cli *cli, int status, const char *format, ...)
{
    char line[1200];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    struct jr_buf out = JR_BUF_INIT;
    jr_buf_str(&out, "jobrun: ");
    jr_buf_escaped(&out, line, strlen(line));
    jr_buf_char(&out, '\n');
    if (out.failed)
        status = JR_STATUS_LAUNCH;
    jr_cli_err(cli, &out);
    return status;
}

void jr_cli_diags(const struct jr_cli *cli, struct jr_diags *diags)
{
    if (diags->count == 0 && !diags->arena.failed)
        return;
    struct jr_buf out = JR_BUF_INIT;
    jr_diags_sort(diags);
    jr_diags_render(&out, diags, JR_DIAG_HUMAN, cli->color_err);
    if (diags->errors > 0) {
        jr_diags_count(&out, diags);
        jr_buf_char(&out, '\n');
    }
    jr_cli_err(cli, &out);
}

int jr_cli_format(const struct jr_cli *cli, const char *const *words)
{
    const char *format = cli->json ? "json" : cli->format;
    if (format == NULL)
        return 0;
    if (cli->format != NULL && strcmp(format, cli->format) != 0) {
        (void)jr_cli_say(
            cli, 0,
            "--json and --format %s contradict each other: give one of them",
            cli->format);
        return -1;
    }
    struct jr_buf list = JR_BUF_INIT;
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], format) == 0) {
            jr_buf_release(&list);
            return i;
        }
        jr_buf_printf(&list, "%s%s", i == 0 ? "" : ", ", words[i]);
    }
    const char *near = jr_did_you_mean(format, words);
    if (near != NULL)
        jr_buf_printf(&list, "; did you mean '%s'?", near);
    (void)jr_cli_say(cli, 0, "'%s' is not a format of '%s', which has %s",
                     format, cli->verb->name, list.failed ? "" : list.data);
    jr_buf_release(&list);
    return -1;
}

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

unsigned jr_cli_columns(void)
{
    const char *stated = getenv("COLUMNS");
    struct winsize window;
    uint32_t columns = 0;
    if (stated != NULL && jr_num_u32(stated, &columns) && columns > 0)
        return columns;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0)
        return window.ws_col;
    return JR_BUF_WIDTH;
}
