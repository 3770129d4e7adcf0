/* What a session hands out, and what the program needs of it. */
#include "session/foreground.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/num.h"
#include "base/redact.h"
#include "cluster/controller.h"
#include "eventloop/signals.h"
#include "judge/judgement.h"
#include "plan/plan_print.h"
#include "report/summary.h"
#include "resolve/device_profile.h"
#include "resolve/fingerprint.h"
#include "session/internal.h"
#include "session/preflight.h"
#include "store/run_folder.h"

#include "base/banned.h"

const struct jr_diag *jr_session_diags(const struct jr_session *session, size_t *ret_count)
{
    *ret_count = session->diags.count;
    return session->diags.items;
}

char *jr_session_diags_text(const struct jr_session *session, enum jr_diag_format format,
                            bool color)
{
    struct jr_buf text = JR_BUF_INIT;
    jr_diags_render(&text, &session->diags, format, color);
    return jr_buf_detach(&text);
}

void jr_session_forget(struct jr_session *session)
{
    jr_diags_release(&session->diags);
}

const struct jr_spec *jr_session_spec(const struct jr_session *session)
{
    return session->progress == JR_PROGRESS_OPEN ? NULL : jr_spec_get(session->file);
}

const char *jr_session_value(const struct jr_session *session, const char *field)
{
    const struct jr_resolution *resolution = &session->resolution;
    for (size_t i = 0; i < resolution->provenance_count; i++)
        if (strcmp(resolution->provenance[i].field, field) == 0)
            return resolution->provenance[i].value;
    return NULL;
}

const struct jr_plan *jr_session_plan(const struct jr_session *session)
{
    return session->progress < JR_PROGRESS_PLANNED ? NULL : &session->plan;
}

const struct jr_rank_result *jr_session_ranks(const struct jr_session *session, size_t *ret_count)
{
    *ret_count = session->ranks == NULL ? 0 : session->report.count;
    return session->ranks;
}

enum jr_run_status jr_session_status(const struct jr_session *session)
{
    return session->report.status;
}

int jr_session_exit_code(const struct jr_session *session)
{
    return session->exit_code;
}

const struct jr_outcome *jr_session_outcome(const struct jr_session *session)
{
    return session->ranks == NULL ? NULL : &session->outcome;
}

/* What texts are of. */
enum jr_text_stage { JR_TEXT_OF_FACTS, JR_TEXT_OF_RESOLVED, JR_TEXT_OF_PLANNED, JR_TEXT_OF_RUN };

static void add_headline(struct jr_buf *out, const struct jr_plan *plan)
{
    static const char *const words[] = {
#define WORD(name, word, help) word,
        JR_AXES(WORD)
#undef WORD
    };
    jr_buf_escaped(out, plan->name, strlen(plan->name));
    jr_buf_printf(out, ": %u rank%s on %u node%s", plan->world_size,
                  plan->world_size == 1 ? "" : "s", plan->nodes, plan->nodes == 1 ? "" : "s");
    const char *separator = " (";
    for (int axis = JR_AXIS_COUNT - 1; axis >= 0; axis--) {
        if (plan->axis_size[axis] == 1)
            continue;
        jr_buf_printf(out, "%s%s %u", separator, words[axis], plan->axis_size[axis]);
        separator = " x ";
    }
    jr_buf_str(out, separator[1] == '(' ? "" : ")");
    jr_buf_printf(out, ", %s, %s:%u", plan->backend, plan->master_addr, plan->master_port);
    if (plan->mpi.protocol == JR_MPI_PROTOCOL_PMI1)
        jr_buf_str(out, ", one MPI world by PMI-1");
    else if (plan->mpi.protocol == JR_MPI_PROTOCOL_PMIX)
        jr_buf_str(out, ", one MPI world by PMIx");
    if (plan->mpi.library != NULL && plan->mpi.protocol != JR_MPI_PROTOCOL_NONE) {
        jr_buf_str(out, " (");
        jr_buf_safe(out, plan->mpi.library);
        jr_buf_char(out, ')');
    }
    if (plan->count < plan->world_size)
        jr_buf_printf(out, "; here node %u: ranks %u-%u", plan->node_rank, plan->first,
                      plan->first + plan->count - 1);
    jr_buf_char(out, '\n');
}

static void add_report(struct jr_buf *out, const struct jr_session *session, bool color)
{
    struct jr_buf name JR_BUF_CLEANUP = JR_BUF_INIT, step JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_plan plan = session->plan;
    const char *here = session->record.machine.cwd;
    size_t from = out->len, len = here != NULL ? strlen(here) : 0;
    /* A run folder below the current one has its shorter name, which is also where the other verbs
     * look for it. */
    if (len > 1 && strncmp(plan.run_dir, here, len) == 0 && plan.run_dir[len] == '/') {
        plan.run_dir += len + 1;
        plan.own_dir += len + 1;
    }
    plan.no_spec = session->diags.no_spec;
    if (jr_misplaced_find(&step, &name, session) && !step.failed && !name.failed) {
        plan.misplaced = name.data;
        plan.misplaced_step = step.data;
    }
    jr_judgement_print(out, &session->report, &plan, &session->outcome, session->dir.fd, color);
    jr_redact(out, from, plan.hidden, false);
}

static void add_session_text(struct jr_buf *out, const struct jr_session *session,
                             enum jr_text what, const struct jr_drain *drain)
{
    switch (what) {
    case JR_TEXT_FACTS:
        jr_profile_emit(out, &session->host);
        break;
    case JR_TEXT_RESOLVED:
        jr_resolution_emit(out, &session->resolution, session->file);
        break;
    case JR_TEXT_LOCK:
        jr_lock_emit(out, &session->resolution, session->file);
        break;
    case JR_TEXT_EXPLAIN:
    case JR_TEXT_EXPLAIN_JSON:
        jr_resolution_explain(out, &session->resolution, what == JR_TEXT_EXPLAIN_JSON);
        break;
    case JR_TEXT_HEADLINE:
        add_headline(out, &session->plan);
        break;
    case JR_TEXT_PLAN_JSON:
        jr_plan_json(out, &session->plan, drain);
        break;
    case JR_TEXT_PLAN:
    case JR_TEXT_PLAN_ENV:
        jr_plan_print(out, &session->plan, what == JR_TEXT_PLAN_ENV, drain);
        break;
    case JR_TEXT_REPORT:
    case JR_TEXT_REPORT_COLOR:
        add_report(out, session, what == JR_TEXT_REPORT_COLOR);
        break;
    case JR_TEXT_REPORT_JSON:
        jr_session_print_results(out, session, drain);
    }
}

/* Whether the stage that a text is of is done. */
static bool is_text_there(const struct jr_session *session, enum jr_text what)
{
    const bool done[] = {
        [JR_TEXT_OF_FACTS] = session->facts,
        [JR_TEXT_OF_RESOLVED] = session->progress >= JR_PROGRESS_RESOLVED,
        [JR_TEXT_OF_PLANNED] = session->progress >= JR_PROGRESS_PLANNED,
        [JR_TEXT_OF_RUN] = session->ranks != NULL,
    };
    static const enum jr_text_stage stages[] = {
#define STAGE(name, stage, help) [JR_TEXT_##name] = JR_TEXT_OF_##stage,
        JR_TEXTS(STAGE)
#undef STAGE
    };
    return done[stages[what]];
}

char *jr_session_text(const struct jr_session *session, enum jr_text what)
{
    JR_DECIMAL_POINT;
    struct jr_buf text = JR_BUF_INIT;
    if (!is_text_there(session, what))
        return NULL;
    add_session_text(&text, session, what, NULL);
    return jr_buf_detach(&text);
}

/* The receiver of the pieces of a text. */
struct taker {
    int (*take)(void *data, const char *text, size_t len);
    void *data;
};

static int pass_text(void *data, struct jr_buf *text)
{
    const struct taker *taker = data;
    int ended = text->len > 0 ? taker->take(taker->data, text->data, text->len) : 0;
    jr_buf_clear(text);
    return ended;
}

int jr_session_tell(const struct jr_session *session, enum jr_text what,
                    int (*take)(void *data, const char *text, size_t len), void *data)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    struct taker taker = {take, data};
    const struct jr_drain drain = {pass_text, &taker};
    if (!is_text_there(session, what))
        return -1;
    add_session_text(&text, session, what, &drain);
    if (text.failed)
        return -1;
    (void)pass_text(&taker, &text);
    return 0;
}

struct jr_diags *jr_session_findings(struct jr_session *session)
{
    return &session->diags;
}

void jr_session_open_console(struct jr_session *session, const struct jr_session_console *console)
{
    if (console == NULL || session->replays)
        return;
    session->replays = jr_replay_open(&session->replay, console->out_fd, console->err_fd,
                                      session->dir.fd, console->color) == 0;
    if (!session->replays)
        jr_replay_close(&session->replay);
}

bool jr_session_print(struct jr_session *session, const char *text, size_t len)
{
    if (session->printer != NULL)
        return session->printer(session->printer_data, text, len);
    if (!session->replays || !jr_replay_print(&session->replay, text, len))
        return false;
    jr_replay_turn(&session->replay);
    return true;
}

void jr_session_discard(const struct jr_session *session)
{
    jr_run_folder_discard(&session->dir);
}

void jr_session_defer_on_end(struct jr_session *session)
{
    session->on_end.deferred = true;
}

void jr_session_await_on_end(struct jr_session *session)
{
    jr_on_end_await(session, true);
}

void jr_session_show_rest(struct jr_session *session)
{
    struct jr_replay *replay = &session->replay;
    sigset_t ignored;
    if (!session->replays)
        return;
    jr_signals_ignored(&ignored);
    if (session->controller != NULL &&
        !jr_controller_show_rest(session->controller, session->plan.policy, &ignored,
                                 session->outcome.stop_signal != 0)) {
        replay->cut = true;
        jr_replay_hurry(replay);
    }
    jr_replay_finish(replay, session->plan.policy, &ignored);
    if (replay->cut)
        jr_session_note(session, "not all of the output was shown: `jobrun logs` shows the rest");
    replay->cut = false;
}

void jr_session_signals(const struct jr_session *session, sigset_t *ret)
{
    static const struct jr_policy none;
    const struct jr_plan *plan = jr_session_plan(session);
    struct jr_signals signals;
    sigset_t ignored;
    jr_signals_ignored(&ignored);
    jr_signals_make(&signals, plan != NULL ? plan->policy : &none, &ignored);
    jr_signals_set(&signals, ret);
}

bool jr_session_is_over(const struct jr_session *session)
{
    return session->over;
}

const char *jr_session_run_name(const struct jr_session *session)
{
    return session->dir.path;
}

void jr_session_leave_nodes(struct jr_session *session)
{
    if (session->controller == NULL)
        return;
    JR_CLOSE int stop_fd = jr_signals_open_stops(session->plan.policy);
    (void)jr_controller_heed(session->controller, stop_fd);
    jr_controller_close(session->controller);
    session->controller = NULL;
}
