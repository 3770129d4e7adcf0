#include "session/sweep/sweep_output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

enum { PENDING_MOST = 1 << 20 };

static bool is_pipe(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

void jr_sweep_output_open(struct jr_sweep_output *ret)
{
    int fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    *ret = (struct jr_sweep_output){
        .fd = fd, .owner = getpid(), .terminal = fd >= 0 && isatty(fd) == 1};
    if (fd < 0 || ret->terminal || is_pipe(fd))
        return;
    (void)close(fd);
    ret->fd = -1;
}

bool jr_sweep_output_is_open(const struct jr_sweep_output *output)
{
    return output->fd >= 0 && output->owner == getpid();
}

bool jr_sweep_output_has_room(const struct jr_sweep_output *output)
{
    return output->pending.len < PENDING_MOST;
}

/* A terminal may be in any mode. */
static void add_lines(struct jr_sweep_output *output, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] == '\n' && output->terminal)
            jr_buf_str(&output->pending, "\r\n");
        else
            jr_buf_char(&output->pending, text[i]);
}

/* Say that something is missing. */
static void add_lost(struct jr_sweep_output *output)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    if (output->lost == 0 || !jr_sweep_output_has_room(output))
        return;
    jr_buf_printf(&line,
                  "jobrun: %zu message%s left out here, because nobody read "
                  "those before: jobrun show prints what became of each cell\n",
                  output->lost, output->lost == 1 ? " was" : "s were");
    output->lost = 0;
    if (!line.failed)
        add_lines(output, line.data, line.len);
}

void jr_sweep_output_add(struct jr_sweep_output *output, const char *text, size_t len)
{
    add_lost(output);
    if (jr_sweep_output_has_room(output))
        add_lines(output, text, len);
    else
        output->lost++;
}

bool jr_sweep_output_is_behind(const struct jr_sweep_output *output)
{
    return output->taken < output->pending.len || output->lost > 0;
}

bool jr_sweep_output_flush(struct jr_sweep_output *output)
{
    add_lost(output);
    while (output->taken < output->pending.len) {
        ssize_t got = write(output->fd, output->pending.data + output->taken,
                            output->pending.len - output->taken);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return false;
        if (got <= 0) { /* it has gone, and nobody sees what is shown */
            output->gone = true;
            output->lost = 0;
            break;
        }
        output->taken += (size_t)got;
    }
    jr_buf_clear(&output->pending);
    output->taken = 0;
    if (output->lost > 0 && !output->gone)
        return jr_sweep_output_flush(output);
    return !output->gone;
}

void jr_sweep_output_close(struct jr_sweep_output *output)
{
    if (output->fd >= 0)
        (void)close(output->fd);
    output->fd = -1;
    jr_buf_release(&output->pending);
}
