/*
 * When no rank writes anything any more: `timeouts.silence`. internal.h declares it.
 *
 * A run in which no rank has written a byte for so long hangs. Bytes that come through a pipe are
 * seen as they come; a file that a rank writes by itself is looked at by its size, four times
 * within the limit, so that such a hang is found after at most a quarter more of it. There is one
 * timer, which is set to the earliest moment at which it could be too long; nothing is done for
 * each byte but to note the time.
 *
 * The silence begins at the earliest when the last rank is executing. What a rank writes to a
 * stream that it inherited, jobrun cannot see: where there is such a rank, nothing is found.
 * `validate` says so.
 *
 * Of a job on several nodes (run_options.h: the link) all must be silent: a node reports that its
 * ranks are, and again after as long. Then each is asked for how long that has been.
 *
 * What happens then is up to hang.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "run/internal.h"

#include "base/banned.h"

#define MS    UINT64_C(1000000)
#define LOOKS 4 /* at files, within the limit */

static uint64_t output_limit_ns(const struct jr_runner *runner)
{
    return runner->plan->policy->timeouts.silence_ms * MS;
}

/* Note the files that have another size than before. */
static void note_grown_files(struct jr_runner *runner)
{
    struct jr_output_timeout_sizes *sizes = runner->output_timeout.sizes;
    for (uint32_t n = 0; sizes != NULL && n < 2 * runner->next; n++) {
        const struct jr_rank_run *rank = &runner->ranks[n / 2];
        int stream = (int)(n % 2);
        int64_t *bytes = &sizes[n / 2].bytes[stream];
        struct stat file;
        if (jr_start_route(rank->plan, stream, runner->options) != JR_ROUTE_FILE ||
            fstatat(JR_SLOT_DIR, stream == 0 ? rank->plan->out_path : rank->plan->err_path, &file,
                    AT_SYMLINK_NOFOLLOW) != 0 ||
            file.st_size == *bytes)
            continue;
        *bytes = file.st_size;
        rank->outcome->heard_ns = jr_clock_ns();
    }
}

/* The last sign of life of any rank. */
static uint64_t last_output_ns(const struct jr_runner *runner)
{
    uint64_t last = runner->output_timeout.since_ns;
    for (uint32_t i = 0; i < runner->next; i++) {
        const struct jr_rank_outcome *rank = runner->ranks[i].outcome;
        uint64_t sign = rank->heard_ns > rank->started_ns ? rank->heard_ns : rank->started_ns;
        last = sign > last ? sign : last;
    }
    return last;
}

void jr_output_timeout_report(struct jr_runner *runner)
{
    note_grown_files(runner);
    uint64_t now = jr_clock_ns(), last = last_output_ns(runner);
    bool silent = runner->output_timeout.open && !jr_launch_is_due(runner);
    jr_node_link_report(runner, JR_REPORT_QUIET, silent && last < now ? now - last : 0);
}

static void on_output_timeout(void *owner)
{
    struct jr_runner *runner = owner;
    struct jr_output_timeout *silence = &runner->output_timeout;
    note_grown_files(runner);
    uint64_t now = jr_clock_ns(), limit = output_limit_ns(runner);
    uint64_t due = last_output_ns(runner) + limit;
    if (jr_launch_is_due(runner))
        due = now + limit;
    uint64_t look = now + limit / LOOKS;
    if (due > now) {
        silence->timer.at = silence->sizes != NULL && look < due ? look : due;
    } else if (runner->options->link == NULL) {
        jr_hang_begin(runner, JR_HANG_SILENCE);
    } else {
        jr_node_link_report(runner, JR_REPORT_SILENT, 0);
        silence->timer.at = now + limit;
    }
}

/* How many streams of the plan take a way. */
static uint32_t count_routes(const struct jr_runner *runner, enum jr_route route)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < runner->plan->count; i++)
        for (int stream = 0; stream < 2; stream++)
            count += jr_start_route(runner->ranks[i].plan, stream, runner->options) == route;
    return count;
}

static int open_output_timeout(struct jr_runner *runner)
{
    struct jr_output_timeout *silence = &runner->output_timeout;
    uint64_t now = jr_clock_ns(), limit = output_limit_ns(runner);
    *silence = (struct jr_output_timeout){
        .timer = {.due = on_output_timeout, .owner = runner, .pauses = true}, .since_ns = now};
    if (limit == 0 || count_routes(runner, JR_ROUTE_INHERIT) > 0)
        return 0;
    if (count_routes(runner, JR_ROUTE_FILE) > 0) {
        silence->sizes = calloc((size_t)runner->plan->count + 1, sizeof *silence->sizes);
        if (silence->sizes == NULL)
            return -1;
    }
    silence->open = true;
    jr_loop_timer(&runner->loop, &silence->timer);
    silence->timer.at = now + (silence->sizes != NULL ? limit / LOOKS : limit);
    return 0;
}

static void extend_output_limit(struct jr_runner *runner, uint64_t paused_ns)
{
    runner->output_timeout.since_ns = last_output_ns(runner) + paused_ns;
}

static void end_output_limit(struct jr_runner *runner)
{
    runner->output_timeout.timer.at = 0;
}

/* Other nodes may still run, and be asked how long all have been silent: what was written since the
 * last look counts. */
static void close_output_timeout(struct jr_runner *runner)
{
    note_grown_files(runner);
    end_output_limit(runner);
}

const struct jr_runner_policy jr_output_timeout_policy = {
    .name = "output_timeout",
    .open = open_output_timeout,
    .stopping = end_output_limit,
    .resumed = extend_output_limit,
    .close = close_output_timeout,
};
