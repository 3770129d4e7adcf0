#include "session/sweep/sweep_screen.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/utf8.h"
#include "output/progress_bar.h"
#include "record/record_folder.h"
#include "session/sweep/internal.h"
#include "sweep/cells.h"
#include "sweep/sweep_file.h"

#include "base/banned.h"

enum { GAP = 2, LEAST_VALUES = 8 };

#define SECOND UINT64_C(1000000000)

/* Append as much of a text as fits. */
static void add_cut(struct jr_buf *out, const struct jr_buf *text, size_t columns)
{
    if (text->data != NULL)
        jr_buf_add(out, text->data, jr_utf8_fit(text->data, text->len, columns));
    out->failed |= text->failed;
}

static size_t width_of(const struct jr_buf *text)
{
    return text->len == 0 ? 0 : jr_utf8_columns(text->data, text->len);
}

/* "step 410/800  51 %  left 31s", in at most so many columns; where it comes to
 * nothing, in `most`; and else how long the cell has been running.
 */
static void add_cell_progress(struct jr_buf *out, const struct jr_cell_line *line, size_t columns,
                              size_t most)
{
    struct jr_progress_metric metrics[JR_METRICS_MOST];
    struct jr_progress_bar bar;
    if (line->progress != NULL && line->progress->job.any) {
        jr_progress_bar_of(&bar, metrics, "", line->progress);
        jr_progress_bar_add(out, &bar, (unsigned)columns, !line->utf8);
        if (out->len == 0)
            jr_progress_bar_add(out, &bar, (unsigned)most, !line->utf8);
    }
    if (out->len > 0)
        return;
    struct jr_buf time JR_BUF_CLEANUP = JR_BUF_INIT;
    uint64_t seconds = line->elapsed_ns / SECOND;
    if (seconds == 0)
        jr_buf_str(&time, "0s");
    else
        jr_num_add_duration(&time, seconds * 1000);
    if (width_of(&time) <= columns)
        add_cut(out, &time, columns);
}

void jr_cell_line_add(struct jr_buf *out, const struct jr_cell_line *line, unsigned columns)
{
    struct jr_buf number JR_BUF_CLEANUP = JR_BUF_INIT, values JR_BUF_CLEANUP = JR_BUF_INIT,
                         progress JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&number, "%04u", line->number);
    jr_buf_safe(&values, line->values);
    if (width_of(&values) < line->values_width)
        jr_buf_fill(&values, ' ', line->values_width - width_of(&values));
    size_t left = columns - (width_of(&number) < columns ? width_of(&number) : columns);
    add_cut(out, &number, columns);
    size_t devices = strlen(line->devices);
    devices = devices > 0 && devices + GAP < left / 4 ? devices + GAP : 0;
    left -= devices;
    /* The values have what they need, but leave half to the progress. */
    size_t wide = width_of(&values) + GAP;
    if (wide > left / 2 && left / 2 < wide)
        wide = left / 2 > LEAST_VALUES ? left / 2 : 0;
    if (left > wide + GAP)
        add_cell_progress(&progress, line, left - wide - GAP, left - GAP);
    /* What the progress does not need is theirs again. */
    size_t room = left - (progress.len > 0 ? width_of(&progress) + GAP : 0);
    if (values.len > 0 && room > GAP) {
        jr_buf_fill(out, ' ', GAP);
        add_cut(out, &values, room - GAP);
    }
    if (progress.len > 0) {
        jr_buf_fill(out, ' ', GAP);
        add_cut(out, &progress, left);
    }
    if (devices > 0) {
        jr_buf_fill(out, ' ', GAP);
        jr_buf_str(out, line->devices);
    }
    out->failed |= number.failed || values.failed || progress.failed;
}

static void add_count(struct jr_buf *out, size_t count, const char *word)
{
    if (count > 0)
        jr_buf_printf(out, "%s%zu %s", out->data[out->len - 1] == ':' ? " " : ", ", count, word);
}

void jr_sum_line_add(struct jr_buf *out, const struct jr_sum_line *line, unsigned columns)
{
    struct jr_buf counts JR_BUF_CLEANUP = JR_BUF_INIT, time JR_BUF_CLEANUP = JR_BUF_INIT,
                         best JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&counts, "%zu cell%s:", line->cells, line->cells == 1 ? "" : "s");
    if (counts.failed)
        return;
    jr_buf_printf(&counts, " %zu done", line->done);
    add_count(&counts, line->failed, "failed");
    add_count(&counts, line->running, "running");
    add_count(&counts, line->left, "left");
    if (line->stopping) {
        jr_buf_str(&time, "; no other begins");
    } else if (line->timed) {
        uint64_t seconds = (line->left_ns + SECOND / 2) / SECOND;
        if (seconds >= 3600)
            seconds -= seconds % 60;
        jr_buf_str(&time, "; about ");
        jr_num_add_duration(&time, (seconds > 0 ? seconds : 1) * 1000);
        jr_buf_str(&time, " to go");
    }
    if (line->best[0] != '\0') {
        jr_buf_str(&best, "; best so far ");
        jr_buf_safe(&best, line->best);
    }
    size_t width = width_of(&counts);
    add_cut(out, &counts, columns);
    if (width + width_of(&time) <= columns) {
        add_cut(out, &time, columns);
        width += width_of(&time);
    }
    if (width + width_of(&best) <= columns)
        add_cut(out, &best, columns);
    out->failed |= counts.failed || time.failed || best.failed;
}

void jr_lines_erase(struct jr_buf *out, const size_t *widths, size_t count, unsigned columns)
{
    size_t rows = 0;
    for (size_t i = 0; i < count; i++)
        rows += columns == 0 || widths[i] <= columns ? 1 : (widths[i] + columns - 1) / columns;
    jr_buf_char(out, '\r');
    if (rows > 1)
        jr_buf_printf(out, "\033[%zuA", rows - 1);
    jr_buf_str(out, "\033[J");
}

enum { PENDING_MOST = 1 << 20 };

void jr_sweep_output_open(struct jr_sweep_output *ret)
{
    int fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    *ret = (struct jr_sweep_output){
        .fd = fd, .owner = getpid(), .terminal = fd >= 0 && isatty(fd) == 1};
    struct stat st;
    if (fd < 0 || ret->terminal || (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode)))
        return;
    (void)close(fd);
    ret->fd = -1;
}

bool jr_sweep_output_is_open(const struct jr_sweep_output *output)
{
    return output->fd >= 0 && output->owner == getpid();
}

/* Whether there is room for more. */
static bool sweep_output_has_room(const struct jr_sweep_output *output)
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
    if (output->lost == 0 || !sweep_output_has_room(output))
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
    if (sweep_output_has_room(output))
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
    jr_close_fd(&output->fd);
    jr_buf_release(&output->pending);
}

#define TICK_NS UINT64_C(1000000000)
#define SOON_NS UINT64_C(100000000)

enum {
    LINES_KEPT = 3,       /* of the terminal, for what is printed */
    PIPE_MOST = 64 << 10, /* bytes of a line that has no end */
    HURRY_MS = 1000       /* for what is left, once a signal has come */
};

bool jr_sweep_screen_is_open(const struct jr_sweep_run *run)
{
    return run->screen.draws && jr_sweep_output_is_open(&run->screen.output);
}

static unsigned screen_size(const struct jr_sweep_screen *screen, unsigned *ret_lines)
{
    struct winsize size = {0};
    (void)ioctl(screen->output.fd, TIOCGWINSZ, &size);
    *ret_lines = size.ws_row > 0 ? size.ws_row : 24;
    return size.ws_col > 0 ? size.ws_col : 80;
}

static void erase_lines(struct jr_sweep_screen *screen)
{
    unsigned lines;
    if (screen->count > 0)
        jr_lines_erase(&screen->output.pending, screen->widths, screen->count,
                       screen_size(screen, &lines));
    screen->count = 0;
}

/* A line of the block; the last one has no newline. */
static void add_drawn_line(struct jr_sweep_screen *screen, const struct jr_buf *line)
{
    if (screen->count == JR_SCREEN_LINES || line->failed || line->len == 0)
        return;
    if (screen->count > 0)
        jr_buf_str(&screen->output.pending, "\r\n");
    screen->widths[screen->count++] = jr_utf8_columns(line->data, line->len);
    jr_buf_add(&screen->output.pending, line->data, line->len);
}

/* "lr 0.03  seed 1", of the axes that have more than one value. */
static void add_values(struct jr_buf *out, const struct jr_sweep_run *run, size_t cell)
{
    struct jr_swept_spec *swept = run->session->swept;
    const struct jr_sweep_axes *axes = swept->cells.axes;
    size_t count = jr_cells_values(&swept->cells, cell, swept->values);
    for (size_t i = 0; i < count; i++) {
        bool fixed = false;
        for (size_t j = 0; j < axes->count; j++)
            fixed |= axes->axes[j].count == 1 && axes->axes[j].fields_count == 1 &&
                     strcmp(axes->axes[j].fields[0].path, swept->values[i].path) == 0;
        if (fixed)
            continue;
        jr_buf_str(out, out->len == 0 ? "" : "  ");
        jr_buf_str(out, jr_cell_column_name(swept->values[i].path));
        jr_buf_char(out, ' ');
        jr_cell_value_text(out, swept->values[i].value);
    }
}

/* "GPU 0,2": those that the cell has for itself. */
static void add_devices(struct jr_buf *out, const struct jr_sweep_run *run,
                        const struct jr_cell_process *process)
{
    const struct jr_session *session = run->session;
    const struct jr_host *host =
        process->on_node ? &session->cell_hosts[process->grant.node] : &session->host;
    for (uint32_t i = 0; i < process->grant.devices_count; i++) {
        const struct jr_host_device *device = &host->devices[process->grant.devices[i]];
        bool gpu = device->kind == JR_DEVICE_CUDA || device->kind == JR_DEVICE_ROCM;
        jr_buf_str(out, i > 0 ? "," : gpu ? "GPU " : "device ");
        jr_buf_printf(out, "%u", device->index);
    }
}

/* How far the cell is, by its own file, or as its agent says; NULL: that is not known. */
static const struct jr_progress *read_cell_progress(const struct jr_sweep_run *run,
                                                    const struct jr_cell_process *process)
{
    struct jr_progress *progress = run->screen.progress;
    char folder[16];
    jr_cell_folder(folder, run->states[process->cell].number);
    JR_CLOSE int fd =
        openat(run->cells_fd, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    json_t *object = fd < 0 ? json_incref(process->progress) : jr_record_folder_progress(fd);
    if (object == NULL || progress == NULL)
        return NULL;
    memset(progress, 0, sizeof *progress);
    jr_progress_get(progress, object);
    json_decref(object);
    return progress;
}

static void draw_cell(struct jr_sweep_run *run, const struct jr_cell_process *process,
                      size_t values_width, unsigned columns)
{
    struct jr_buf values JR_BUF_CLEANUP = JR_BUF_INIT, devices JR_BUF_CLEANUP = JR_BUF_INIT,
                         text JR_BUF_CLEANUP = JR_BUF_INIT;
    add_values(&values, run, process->cell);
    add_devices(&devices, run, process);
    const struct jr_cell_line line = {.number = run->states[process->cell].number,
                                      .values = values.data == NULL ? "" : values.data,
                                      .values_width = values_width,
                                      .devices = devices.data == NULL ? "" : devices.data,
                                      .progress = read_cell_progress(run, process),
                                      .elapsed_ns = jr_clock_ns() - process->began_ns,
                                      .utf8 = run->screen.utf8};
    jr_cell_line_add(&text, &line, columns);
    add_drawn_line(&run->screen, &text);
}

static int compare_cells(const void *left, const void *right)
{
    const struct jr_cell_process *const *a = left, *const *b = right;
    return ((*a)->cell > (*b)->cell) - ((*a)->cell < (*b)->cell);
}

/* The running cells, the first ones first, as many as there is room for. */
static void draw_cells(struct jr_sweep_run *run, size_t room, unsigned columns)
{
    size_t count = run->running_count, shown = count;
    struct jr_buf more JR_BUF_CLEANUP = JR_BUF_INIT;
    JR_FREE const struct jr_cell_process **sorted = calloc(count + 1, sizeof *sorted);
    if (sorted == NULL)
        return;
    for (size_t i = 0; i < count; i++)
        sorted[i] = &run->running[i];
    qsort(sorted, count, sizeof *sorted, compare_cells);
    if (count > room)
        shown = room > 1 ? room - 1 : 0;
    size_t width = 0;
    for (size_t i = 0; i < shown; i++) {
        struct jr_buf values JR_BUF_CLEANUP = JR_BUF_INIT;
        add_values(&values, run, sorted[i]->cell);
        size_t own = values.data == NULL ? 0 : jr_utf8_columns(values.data, values.len);
        width = own > width ? own : width;
    }
    for (size_t i = 0; i < shown; i++)
        draw_cell(run, sorted[i], width, columns);
    if (shown == count || room == 0)
        return;
    jr_buf_printf(&more, "...   and %zu more", count - shown);
    more.len = jr_utf8_fit(more.data, more.len, columns);
    add_drawn_line(&run->screen, &more);
}

/* What is still to be done, if each cell takes as long as those that delivered and those that run
 * say: one that failed says nothing of it. It is no less than what one of the running cells has
 * left. */
static void estimate_time(const struct jr_sweep_run *run, struct jr_sum_line *line, double seconds)
{
    size_t count = line->done, running = run->running_count;
    double work = 0, least = 0, unsaid = 0;
    JR_FREE double *gone = calloc(running + 1, sizeof *gone);
    for (size_t i = 0; gone != NULL && i < running; i++) {
        const struct jr_cell_process *process = &run->running[i];
        const struct jr_progress *progress = read_cell_progress(run, process);
        uint64_t left_ns;
        gone[i] = (double)(jr_clock_ns() - process->began_ns) / 1e9;
        if (progress == NULL || !jr_steps_left(&progress->job, &left_ns))
            continue;
        least = fmax(least, (double)left_ns / 1e9);
        work += (double)left_ns / 1e9;
        seconds += gone[i] + (double)left_ns / 1e9;
        count++;
        gone[i] = INFINITY;
    }
    if (gone == NULL || count == 0 || running == 0 || !(seconds > 0))
        return;
    double mean = seconds / (double)count;
    for (size_t i = 0; i < running; i++)
        unsaid += fmax(mean - gone[i], 0);
    double left = fmax(least, (work + unsaid + mean * (double)line->left) / (double)running);
    line->timed = left < 1e9;
    line->left_ns = line->timed ? (uint64_t)(left * 1e9) : 0;
}

static void draw_sum(struct jr_sweep_run *run, unsigned columns)
{
    const struct jr_cells *cells = &run->session->swept->cells;
    const struct jr_sweep_record record = {.cells = cells, .states = run->states};
    struct jr_buf best JR_BUF_CLEANUP = JR_BUF_INIT, text JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_sum_line line = {
        .cells = cells->count, .running = run->running_count, .stopping = run->closing};
    double seconds = 0;
    for (size_t i = 0; i < cells->count; i++) {
        const struct jr_cell_state *state = &run->states[i];
        bool good = strcmp(state->status, "succeeded") == 0;
        bool bad = jr_cell_status_class(state->status) != 0;
        line.done += good;
        line.failed += bad;
        seconds += good ? state->seconds : 0;
    }
    size_t known = line.done + line.failed + line.running;
    line.left = known < line.cells ? line.cells - known : 0;
    estimate_time(run, &line, seconds);
    long at = jr_sweep_record_best(&record);
    if (at >= 0) {
        const char *field = cells->axes->best.field;
        jr_buf_printf(&best, "%04u (%s ", run->states[at].number, field);
        jr_cell_result_text(&best, json_object_get(run->states[at].result, field));
        jr_buf_char(&best, ')');
    }
    line.best = best.data == NULL ? "" : best.data;
    jr_sum_line_add(&text, &line, columns);
    add_drawn_line(&run->screen, &text);
}

static void draw_screen(struct jr_sweep_run *run)
{
    struct jr_sweep_screen *screen = &run->screen;
    unsigned lines, columns = screen_size(screen, &lines);
    size_t room = lines > LINES_KEPT + 1 ? lines - LINES_KEPT - 1 : 0;
    if (room > JR_SCREEN_LINES - 1)
        room = JR_SCREEN_LINES - 1;
    columns = columns > 1 ? columns - 1 : 1;
    erase_lines(screen);
    draw_cells(run, room, columns);
    draw_sum(run, columns);
    screen->drawn_ns = jr_clock_ns();
    screen->due_ns = screen->drawn_ns + TICK_NS;
    (void)jr_sweep_output_flush(&screen->output);
}

/* Show the whole lines that cells have printed, above the others. */
static void show_notes(struct jr_sweep_run *run, bool all)
{
    struct jr_sweep_screen *screen = &run->screen;
    struct jr_buf *text = &screen->notes, rest = JR_BUF_INIT;
    size_t len = text->len;
    while (!all && len > 0 && text->data[len - 1] != '\n')
        len--;
    if (len == 0)
        return;
    if (sweep_output_has_room(&screen->output))
        erase_lines(screen);
    jr_sweep_output_add(&screen->output, text->data, len);
    jr_buf_add(&rest, text->data + len, text->len - len);
    jr_buf_release(text);
    *text = rest;
    (void)jr_sweep_output_flush(&screen->output);
    jr_sweep_screen_stir(run);
}

/* Read what cells print. */
static void read_notes(struct jr_sweep_run *run, bool all)
{
    struct jr_sweep_screen *screen = &run->screen;
    char bytes[4096];
    for (ssize_t got = 1; got > 0;) {
        got = read(screen->pipe[0], bytes, sizeof bytes);
        if (got > 0)
            jr_buf_add(&screen->notes, bytes, (size_t)got);
        if (screen->notes.len >= PIPE_MOST)
            show_notes(run, true);
    }
    show_notes(run, all);
}

/* Of the leader's own session: what it says comes above the lines. */
static void note_above_lines(void *data, const char *line)
{
    struct jr_sweep_run *run = data;
    jr_sweep_screen_hide(run);
    if (run->screen.note != NULL)
        run->screen.note(run->screen.data, line);
}

/* What the leader itself prints. */
static bool print_output(void *data, const char *text, size_t len)
{
    struct jr_sweep_run *run = data;
    struct jr_sweep_output *output = &run->screen.output;
    if (!jr_sweep_output_is_open(output))
        return false;
    jr_sweep_output_add(output, text, len);
    (void)jr_sweep_output_flush(output);
    return true;
}

void jr_sweep_screen_open(struct jr_sweep_run *run)
{
    struct jr_sweep_screen *screen = &run->screen;
    jr_sweep_output_open(&screen->output);
    if (screen->output.fd < 0)
        return;
    screen->draws = screen->output.terminal && run->options->live;
    /* The pipe of the cells, unless they have a console of their own. */
    if (run->options->console == NULL &&
        (pipe2(screen->pipe, O_CLOEXEC) != 0 || fcntl(screen->pipe[0], F_SETFL, O_NONBLOCK) != 0)) {
        jr_sweep_output_close(&screen->output);
        return;
    }
    struct jr_session *session = run->session;
    screen->progress = jr_progress_new(1);
    screen->utf8 = run->options->utf8;
    screen->note = session->options.note;
    screen->data = session->options.data;
    session->options.note = note_above_lines;
    session->options.data = run;
    session->printer = print_output;
    session->printer_data = run;
    jr_sweep_screen_stir(run);
}

/* The session is as it was. */
static void leave_session(struct jr_sweep_run *run)
{
    struct jr_session *session = run->session;
    session->options.note = run->screen.note;
    session->options.data = run->screen.data;
    session->printer = NULL;
}

static void close_cells_pipe(struct jr_sweep_screen *screen)
{
    for (int i = 0; i < 2; i++) {
        jr_close_fd(&screen->pipe[i]);
    }
}

void jr_sweep_screen_close(struct jr_sweep_run *run)
{
    struct jr_sweep_screen *screen = &run->screen;
    if (!jr_sweep_output_is_open(&screen->output))
        return;
    read_notes(run, true);
    erase_lines(screen);
    (void)jr_sweep_output_flush(&screen->output);
    screen->draws = false;
    close_cells_pipe(screen);
    jr_buf_release(&screen->notes);
    jr_progress_free(screen->progress);
    screen->progress = NULL;
}

void jr_sweep_screen_finish(struct jr_sweep_run *run)
{
    struct jr_sweep_output *output = &run->screen.output;
    if (!jr_sweep_output_is_open(output))
        return;
    bool waits = true; /* no signal that stops runs has come, or somebody has read since */
    while (waits && !jr_sweep_output_flush(output) && !output->gone) {
        struct pollfd fds[] = {{.fd = output->fd, .events = POLLOUT},
                               {.fd = run->signal_fd, .events = POLLIN}};
        pid_t pid;
        int ready = poll(fds, 2, run->stop_signal != 0 ? HURRY_MS : -1);
        int sig = fds[1].revents != 0 ? jr_signal_read(run->signal_fd, &pid) : 0;
        if (run->signals.use[sig] == JR_SIGNAL_SUSPEND)
            (void)kill(getpid(), SIGSTOP);
        waits = ready != 0 && run->signals.use[sig] != JR_SIGNAL_STOP;
    }
    leave_session(run);
    jr_sweep_output_close(output);
}

void jr_sweep_screen_hide(struct jr_sweep_run *run)
{
    if (!jr_sweep_screen_is_open(run))
        return;
    erase_lines(&run->screen);
    (void)jr_sweep_output_flush(&run->screen.output);
    jr_sweep_screen_stir(run);
}

void jr_sweep_screen_stir(struct jr_sweep_run *run)
{
    uint64_t soon = run->screen.drawn_ns + SOON_NS;
    if (jr_sweep_screen_is_open(run) && (run->screen.due_ns == 0 || run->screen.due_ns > soon))
        run->screen.due_ns = soon;
}

uint64_t jr_sweep_screen_await(const struct jr_sweep_run *run,
                               struct pollfd ret[static JR_SWEEP_SCREEN_FDS])
{
    const struct jr_sweep_screen *screen = &run->screen;
    const struct jr_sweep_output *output = &screen->output;
    ret[0] = ret[1] = (struct pollfd){.fd = -1};
    if (!jr_sweep_output_is_open(output))
        return 0;
    bool behind = jr_sweep_output_is_behind(output);
    ret[0] = (struct pollfd){.fd = screen->pipe[0], .events = POLLIN};
    if (behind)
        ret[1] = (struct pollfd){.fd = output->fd, .events = POLLOUT};
    return screen->draws && !behind && !output->gone ? screen->due_ns : 0;
}

void jr_sweep_screen_turn(struct jr_sweep_run *run)
{
    struct jr_sweep_screen *screen = &run->screen;
    if (!jr_sweep_output_is_open(&screen->output))
        return;
    bool shown = jr_sweep_output_flush(&screen->output);
    read_notes(run, false);
    if (shown && screen->draws && !jr_sweep_output_is_behind(&screen->output) &&
        jr_clock_ns() >= screen->due_ns)
        draw_screen(run);
}

void jr_sweep_screen_leave(struct jr_sweep_run *run)
{
    struct jr_sweep_screen *screen = &run->screen;
    if (screen->output.fd < 0)
        return;
    if (screen->pipe[1] >= 0)
        (void)dup2(screen->pipe[1], STDERR_FILENO);
    close_cells_pipe(screen);
    jr_sweep_output_close(&screen->output);
    leave_session(run);
}
