#include "session/foreground.h"

#include <fcntl.h>

#include "base/cleanup.h"
#include "cluster/controller.h"
#include "eventloop/signals.h"
#include "session/on_end.h"
#include "session/session.h"
#include "session/stages.h"
#include "store/run_folder.h"

#include "base/banned.h"

struct jr_diags *jr_session_findings(struct jr_session *session)
{
    return &session->diags;
}

const struct jr_host *jr_session_host(const struct jr_session *session)
{
    return &session->host;
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

int jr_session_create_file(const struct jr_session *session, const char *name)
{
    /* The start before may have made it. */
    const int flags =
        O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | (session->dir.kept ? 0 : O_EXCL);
    return openat(session->dir.fd, name, flags, session->dir.file_mode);
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
