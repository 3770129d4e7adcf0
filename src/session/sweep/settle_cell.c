#include "session/sweep/settle_cell.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/shell_words.h"
#include "base/strv.h"
#include "record/live_run.h"
#include "session/slurm_queue.h"
#include "session/stages.h"
#include "session/sweep/sweep_run_parts.h"

#include "base/banned.h"

#define NS_PER_MS UINT64_C(1000000)

/* What is told to stop has its grace, and this to be reaped and recorded. */
enum { GRACE_MS = 30000, RECORD_MS = 5000 };

bool jr_journal_says_lost(enum jr_journal_event event, const json_t *line)
{
    const char *status = jr_json_get_str(line, "status");
    return event == JR_JOURNAL_CELL_ENDED && status != NULL && strcmp(status, "lost") == 0;
}

/* A text of a line, which may be anything: "" where it is too long. */
static void learn_text(char *ret, size_t size, const json_t *line, const char *key)
{
    const char *text = jr_json_get_str(line, key);
    bool fits = text != NULL && strlen(text) < size;
    (void)snprintf(ret, size, "%s", fits ? text : "");
}

void jr_former_leader_learn(struct jr_former_leader *leader, enum jr_journal_event event,
                            const json_t *line)
{
    const char *time = jr_json_get_str(line, "time");
    if (event == JR_JOURNAL_SWEEP_STARTED || event == JR_JOURNAL_SWEEP_RESUMED) {
        learn_text(leader->host, sizeof leader->host, line, "host");
        learn_text(leader->job, sizeof leader->job, line, "job");
    }
    if (jr_journal_says_lost(event, line))
        leader->lost = time == NULL ? 0 : jr_clock_of_rfc3339(time);
}

void jr_leader_of_now(const struct jr_sweep_run *run, struct jr_journal_line *ret)
{
    struct jr_session *session = run->session;
    const struct jr_host_scheduler *scheduler = &session->host.scheduler;
    struct utsname here = {0};
    (void)uname(&here);
    ret->host = jr_arena_strdup(&session->arena, here.nodename);
    ret->job = NULL;
    if (!run->submits && scheduler->name != NULL && strstr(scheduler->name, "Slurm") != NULL)
        ret->job = jr_env_get(session->options.envp, "SLURM_JOB_ID");
}

/* Whether a signal that stops runs has come. */
static bool is_told_to_stop(void)
{
    sigset_t pending;
    static const int stops[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    if (sigpending(&pending) != 0)
        return false;
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
        if (sigismember(&pending, stops[i]) == 1)
            return true;
    return false;
}

/* Whether the job of Slurm's in which the sweep ran has ended, and so all that it ran. */
static bool is_leader_job_over(const struct jr_sweep_run *run, struct jr_former_leader *leader)
{
    struct jr_slurm_queue queue;
    if (leader->asked || leader->job[0] == '\0')
        return leader->job_over;
    jr_slurm_queue_init(&queue, run->session->options.envp);
    leader->asked = true;
    leader->job_over = jr_slurm_queue_find(&queue, leader->job) == JR_QUEUE_ENDED;
    jr_slurm_queue_release(&queue);
    return leader->job_over;
}

static bool was_here(const struct jr_former_leader *leader)
{
    struct utsname here = {0};
    return uname(&here) == 0 && leader->host[0] != '\0' && strcmp(leader->host, here.nodename) == 0;
}

/* What is to be thought of a cell that cannot be seen. */
enum trace { TRACE_MAY_RUN, TRACE_ENDING, TRACE_GONE };

static enum trace find_trace(const struct jr_sweep_run *run, struct jr_former_leader *leader,
                             bool lost)
{
    if (run->array_over)
        return TRACE_GONE;
    if (run->was_submitted)
        return TRACE_MAY_RUN;
    if (is_leader_job_over(run, leader))
        return TRACE_GONE;
    return lost || was_here(leader) ? TRACE_ENDING : TRACE_MAY_RUN;
}

/* Until when the cells of a leader that is gone have come to their end: it went before we had the
 * lock, and a cell was lost when the journal says so. */
static uint64_t find_limit(const struct jr_sweep_run *run, const struct jr_former_leader *leader,
                           bool lost)
{
    const struct jr_session *session = run->session;
    const struct jr_spec *spec =
        session->cell_files_count > 0 ? jr_spec_get(session->cell_files[0]) : NULL;
    uint64_t ms = spec == NULL ? GRACE_MS : spec->policy.timeouts.stop_grace_ms;
    double passed = (double)jr_clock_wall_ns() / 1e9 - leader->lost;
    ms += RECORD_MS;
    /* A clock that was put back says nothing. */
    if (lost && passed > 0)
        ms -= passed * 1e3 < (double)ms ? (uint64_t)(passed * 1e3) : ms;
    return jr_clock_ns() + ms * NS_PER_MS;
}

/* Wait for the results of a cell on another machine, whose files tell of no change. `live` is how
 * it stands then. */
static void await_remote_end(struct jr_sweep_run *run, struct jr_live *live, const char *folder,
                             uint64_t until_ns)
{
    enum { TURN_MS = 250 };
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    int left_ms = jr_clock_poll_ms(until_ns);
    if (left_ms <= 0)
        return;
    jr_buf_printf(&line, "waiting for cell %s, which ", folder);
    jr_buf_safe(&line, live->host == NULL ? "another machine" : live->host);
    jr_buf_printf(&line, " may still be ending, for at most %d s", left_ms / 1000 + 1);
    jr_session_note_buf(run->session, &line);
    while (live->standing == JR_STANDING_ELSEWHERE && left_ms > 0 && !is_told_to_stop()) {
        (void)usleep((useconds_t)(left_ms < TURN_MS ? left_ms : TURN_MS) * 1000);
        jr_live_close(live);
        if (jr_live_open(live, run->cells_dir, folder, NULL) != 0)
            live->standing = JR_STANDING_LOST;
        left_ms = jr_clock_poll_ms(until_ns);
    }
}

static void note_remote_loss(const struct jr_sweep_run *run, const struct jr_live *live,
                             const char *folder)
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&line, "cell %s was lost on ", folder);
    jr_buf_safe(&line, live->host == NULL ? "another machine" : live->host);
    jr_buf_str(&line, ", and runs again");
    jr_session_note_buf(run->session, &line);
}

/* The command line that stops the cell where it runs. */
static void add_stop_line(struct jr_buf *out, const struct jr_sweep_run *run, const char *folder)
{
    jr_buf_printf(out, "jobrun stop %s --log-dir ", folder);
    jr_shell_quote(out, run->cells_dir);
}

static int refuse_unseen(const struct jr_sweep_run *run, const struct jr_live *live,
                         const char *folder, struct jr_error *err)
{
    struct jr_buf why JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&why, "cell %s began %s", folder,
                  live->contained ? "in another container of " : "on ");
    jr_buf_safe(&why, live->host == NULL ? "another machine" : live->host);
    jr_buf_str(&why, ", has no results, and may still run there: there, ");
    add_stop_line(&why, run, folder);
    jr_buf_str(&why, "; or, if nothing of it runs any more, (cd ");
    jr_shell_quote(&why, run->cells_dir);
    jr_buf_printf(&why, " && mv %s %s.lost)", folder, folder);
    return jr_error_set(err, JR_STATUS_USAGE, "%s", why.failed ? "out of memory" : why.data);
}

/* A cell that cannot be seen from here. */
static int settle_unseen(struct jr_sweep_run *run, struct jr_former_leader *leader,
                         struct jr_live *live, const char *folder, bool lost, struct jr_error *err)
{
    enum trace trace = find_trace(run, leader, lost);
    if (trace == TRACE_ENDING) {
        if (leader->until_ns == 0)
            leader->until_ns = find_limit(run, leader, lost);
        await_remote_end(run, live, folder, leader->until_ns);
    }
    if (live->standing != JR_STANDING_ELSEWHERE)
        return 0;
    if (trace == TRACE_MAY_RUN || is_told_to_stop())
        return refuse_unseen(run, live, folder, err);
    note_remote_loss(run, live, folder);
    return 0;
}

/* A cell that a jobrun which was killed is still ending here. */
static int await_local_end(struct jr_sweep_run *run, struct jr_live *live, const char *folder,
                           struct jr_error *err)
{
    enum { TURN_NS = 1000000000 };
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&line, "waiting for cell %s, which an earlier jobrun is still ending", folder);
    jr_session_note_buf(run->session, &line);
    while (live->standing == JR_STANDING_RUNNING && !is_told_to_stop() &&
           jr_live_await(live, run->cells_dir, folder, jr_clock_ns() + TURN_NS, NULL) >= 0)
        continue;
    if (live->standing != JR_STANDING_RUNNING)
        return 0;
    jr_buf_clear(&line);
    add_stop_line(&line, run, folder);
    return jr_error_set(err, JR_STATUS_USAGE, "cell %s is being run: %s", folder,
                        line.failed ? "out of memory" : line.data);
}

int jr_settle_cell(struct jr_sweep_run *run, struct jr_former_leader *leader, const char *folder,
                   bool lost, struct jr_error *err)
{
    struct jr_live live;
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    int status = 0;
    if (jr_live_open(&live, run->cells_dir, folder, NULL) != 0)
        return 0;
    if (live.standing == JR_STANDING_RUNNING)
        status = await_local_end(run, &live, folder, err);
    else if (live.standing == JR_STANDING_ELSEWHERE)
        status = settle_unseen(run, leader, &live, folder, lost, err);
    jr_live_close(&live);
    if (status == 0 && jr_lost_sweep(&line, run->cells_dir, folder) > 0)
        jr_session_note_buf(run->session, &line);
    return status;
}
