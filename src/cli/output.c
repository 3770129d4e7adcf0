/* cli.h declares it. */
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
#include "report/fit_lines.h"
#include "session/foreground.h"

#include "base/banned.h"

enum { INDENT = 8 }; /* of what continues a message: the width of "jobrun: " */

bool jr_cli_write(const struct jr_cli *cli, const char *text, size_t len, int *ret_status)
{
    if (cli->out_closed)
        *ret_status = jr_cli_say(cli, JR_STATUS_LAUNCH, "cannot print: standard output is closed");
    else if (jr_io_write_all(STDOUT_FILENO, text, len) == 0)
        return true;
    else if (errno != EPIPE)
        *ret_status = jr_cli_say(cli, JR_STATUS_LAUNCH, "cannot write to standard output: %s",
                                 strerror(errno));
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

void jr_cli_fit(struct jr_buf *text, int fd)
{
    struct jr_buf fitted = {.failed = text->failed};
    if (!text->failed && text->len > 0)
        jr_fit_lines(&fitted, text->data, jr_cli_message_columns(fd));
    jr_buf_release(text);
    *text = fitted;
}

int jr_cli_deliver(const struct jr_cli *cli, struct jr_buf *text)
{
    if (cli->output == NULL)
        return jr_cli_out(cli, text);
    return jr_cli_create(cli, cli->output, text);
}

int jr_cli_create(const struct jr_cli *cli, const char *path, struct jr_buf *text)
{
    if (text->failed)
        return jr_cli_out(cli, text);
    JR_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    int status = JR_STATUS_OK;
    if (fd < 0 && errno == EEXIST)
        status = jr_cli_say(cli, JR_STATUS_USAGE, "%s already exists, and was not changed", path);
    else if (fd < 0)
        status = jr_cli_say(cli, JR_STATUS_LAUNCH, "cannot make %s: %s", path, strerror(errno));
    else if (jr_io_write_all(fd, text->data, text->len) != 0)
        status = jr_cli_say(cli, JR_STATUS_LAUNCH, "cannot write to %s: %s", path, strerror(errno));
    jr_buf_release(text);
    return status;
}

void jr_cli_err(const struct jr_cli *cli, struct jr_buf *text)
{
    static const char no_memory[] = "jobrun: out of memory\n";
    const char *bytes = text->failed ? no_memory : text->data;
    size_t len = text->failed ? sizeof no_memory - 1 : text->len;
    bool shared = cli->session != NULL && jr_session_print(cli->session, bytes, len);
    if (!shared && !cli->err_closed)
        (void)jr_io_write_all(STDERR_FILENO, bytes, len);
    jr_buf_release(text);
}

void jr_cli_add_message(struct jr_buf *out, const char *text)
{
    static const char lead[] = "jobrun: ", mark[] = "type: ";
    JR_BUF_CLEANUP struct jr_buf safe = JR_BUF_INIT, before = JR_BUF_INIT;
    JR_BUF_CLEANUP struct jr_buf lines = {.width = jr_cli_message_columns(STDERR_FILENO)};
    jr_buf_safe(&safe, text);
    out->failed |= safe.failed;
    if (safe.failed)
        return;
    if (lines.width == 0 || strlen(lead) + safe.len <= lines.width) {
        jr_buf_str(out, lead);
        jr_buf_add(out, safe.data, safe.len);
        return;
    }
    /* Longer than a line of the terminal: what is to be typed is not broken, so that it can be
     * copied. */
    const char *typed = strstr(safe.data, mark);
    size_t len = typed == NULL ? safe.len : (size_t)(typed - safe.data) + strlen(mark) - 1;
    jr_buf_add(&before, safe.data, len);
    jr_buf_str(&lines, lead);
    if (!before.failed)
        jr_buf_wrapped(&lines, before.data, INDENT);
    if (typed != NULL)
        jr_buf_printf(&lines, "\n%*s%s", INDENT, "", typed + strlen(mark));
    out->failed |= lines.failed || before.failed;
    if (!lines.failed)
        jr_buf_str(out, lines.data);
}

int jr_cli_say(const struct jr_cli *cli, int status, const char *format, ...)
{
    char line[1200];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    struct jr_buf out = JR_BUF_INIT;
    jr_cli_add_message(&out, line);
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
    struct jr_buf out = {.width = jr_cli_message_columns(STDERR_FILENO)};
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
        (void)jr_cli_say(cli, 0, "--json and --format %s contradict each other: give one of them",
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
    (void)jr_cli_say(cli, 0, "'%s' is not a format of '%s', which has %s", format, cli->verb->name,
                     list.failed ? "" : list.data);
    jr_buf_release(&list);
    return -1;
}

static bool on_terminal(int fd)
{
    const char *term = getenv("TERM");
    return term != NULL && strcmp(term, "dumb") != 0 && isatty(fd) == 1;
}

int jr_cli_color(struct jr_cli *cli)
{
    const char *word = cli->color == NULL ? "auto" : cli->color;
    bool always = strcmp(word, "always") == 0, never = strcmp(word, "never") == 0;
    if (!always && !never && strcmp(word, "auto") != 0)
        return jr_cli_say(cli, JR_STATUS_USAGE, "--color wants auto, always or never, not '%s'",
                          cli->color);
    /* Where the option leaves it open: no-color.org, bixense.com/clicolors. */
    const char *none = getenv("NO_COLOR"), *force = getenv("CLICOLOR_FORCE");
    if (!always && !never && none != NULL && none[0] != '\0')
        never = true;
    else if (!never && force != NULL && force[0] != '\0' && strcmp(force, "0") != 0)
        always = true;
    bool out = on_terminal(STDOUT_FILENO), err = on_terminal(STDERR_FILENO);
    cli->moves_cursor = out;
    cli->err_terminal = !cli->err_closed && err;
    cli->color_out = always || (!never && out);
    cli->color_err = always || (!never && err);
    return 0;
}

/* COLUMNS, or else what the descriptor's terminal says; 0 where nothing does.
 */
static unsigned stated_columns(int fd)
{
    const char *stated = getenv("COLUMNS");
    struct winsize window;
    uint32_t columns = 0;
    if (stated != NULL && jr_num_u32(stated, &columns) && columns > 0)
        return columns;
    return ioctl(fd, TIOCGWINSZ, &window) == 0 ? window.ws_col : 0;
}

unsigned jr_cli_columns(void)
{
    unsigned columns = stated_columns(STDOUT_FILENO);
    return columns > 0 ? columns : JR_BUF_WIDTH;
}

unsigned jr_cli_message_columns(int fd)
{
    if (isatty(fd) != 1)
        return 0;
    unsigned columns = stated_columns(fd);
    return columns > 0 ? columns : JR_BUF_WIDTH;
}
