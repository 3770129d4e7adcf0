#include <sys/wait.h>

#include "base/json.h"
#include "session/decimal.h"
#include "session/session.h"

#include "base/banned.h"

static const char *json_text(struct jr_arena *arena, const json_t *json)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (json == NULL)
        return NULL;
    jr_json_print(&text, json, 0);
    return jr_buf_keep(&text, arena);
}

/* The report as jobrun.h has it. */
static int fill_ranks(struct jr_session *session, struct jr_error *err)
{
    const struct jr_judgement *report = &session->report;
    struct jr_arena *arena = &session->arena;
    session->ranks =
        jr_arena_array(arena, report->count, sizeof *session->ranks);
    for (size_t i = 0; i < report->count && session->ranks != NULL; i++) {
        const struct jr_rank_judgement *rank = &report->ranks[i];
        session->ranks[i] = (struct jr_rank_result){
            .plan = &session->plan.ranks[session->plan.first + i],
            .outcome = &session->outcome.ranks[i],
            .state = rank->state,
            .result = json_text(arena, rank->result),
            .result_error = rank->result_error,
            .reason = rank->reason,
            .error = rank->error,
            .where = rank->where,
        };
    }
    for (size_t i = 0; i < report->causes_count && session->ranks != NULL; i++)
        session->ranks[report->causes[i]].cause = true;
    return arena->failed ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory")
                         : 0;
}

int jr_session_finish(struct jr_session *session, struct jr_error *err)
{
    jr_session_write_judgement(session);
    jr_companion_release(&session->companion);
    return fill_ranks(session, err);
}

/* A run ends every descendant of this process: it cannot tell whose it was. */
static bool has_children(void)
{
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

enum jr_status jr_session_run(struct jr_session *session,
                              const struct jr_session_console *console,
                              struct jr_error *err)
{
    JR_DECIMAL_POINT;
    enum jr_status status = JR_STATUS_OK;
    if (session->progress == JR_PROGRESS_DONE) {
        (void)jr_error_set(err, JR_STATUS_USAGE, "a session runs once");
        return JR_STATUS_USAGE;
    }
    if (!session->options.end_children && session->head == NULL &&
        has_children()) {
        (void)jr_error_set(err, JR_STATUS_USAGE,
                           "this process has children, which a run would end");
        return JR_STATUS_USAGE;
    }
    if (!session->begun)
        status = jr_session_begin(session, err);
    if (status != JR_STATUS_OK)
        return status;
    session->progress = JR_PROGRESS_DONE;
    return jr_session_attempts(session, console, err) == 0 ? JR_STATUS_OK
                                                           : JR_STATUS_LAUNCH;
}
