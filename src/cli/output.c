#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/cli.h"
#include "session/attempts.h"

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
    (void)jr_cli_say(cli, 0, "'%s' is not a format of '%s', which has %s",
                     format, cli->verb->name, list.data);
    jr_buf_release(&list);
    return -1;
}
