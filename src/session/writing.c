/*
 * What a session tells its caller, and what it writes into its run folder: for all files here, so
 * that it calls none of them. internal.h declares it.
 */
#include "session/internal.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/redact.h"
#include "diag/diag.h"
#include "judge/judgement.h"
#include "plan/plan_print.h"
#include "record/record_facts.h"
#include "record/results_json.h"
#include "session/foreground.h"
#include "store/events.h"

#include "base/banned.h"

void jr_session_note(const struct jr_session *session, const char *line)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (session->options.note == NULL)
        return;
    jr_buf_str(&text, line);
    jr_redact(&text, 0, session->resolution.job.hidden, false);
    if (!text.failed)
        session->options.note(session->options.data, text.data);
}

void jr_session_note_line(void *data, const char *line)
{
    jr_session_note(data, line);
}

void jr_session_note_buf(const struct jr_session *session, const struct jr_buf *line)
{
    if (!line->failed && line->len > 0)
        jr_session_note(session, line->data);
}

enum jr_status jr_session_end_stage(struct jr_session *session, size_t first, enum jr_status status,
                                    struct jr_error *err)
{
    const struct jr_diags *diags = &session->diags;
    JR_BUF_CLEANUP struct jr_buf place = JR_BUF_INIT;
    size_t i = first;
    jr_diags_sort_from(&session->diags, first);
    if (status == JR_STATUS_OK)
        return status;
    while (i < diags->count && diags->items[i].severity != JR_SEVERITY_ERROR)
        i++;
    if (i == diags->count) {
        (void)jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
        return JR_STATUS_LAUNCH;
    }
    jr_diag_place(&place, &diags->items[i].span);
    (void)jr_error_set(err, status, "%s%s%s", place.data == NULL ? "" : place.data,
                       diags->items[i].message, diags->errors > 1 ? " (and more)" : "");
    return status;
}

enum jr_status jr_session_fail(struct jr_error *err, const struct jr_error *why)
{
    (void)jr_error_set(err, why->status, "%s", why->text);
    return why->status;
}

enum jr_status jr_session_misuse(struct jr_error *err, const char *why)
{
    (void)jr_error_set(err, JR_STATUS_USAGE, "%s", why);
    return JR_STATUS_USAGE;
}

void jr_session_add_event(const struct jr_session *session, const struct jr_event *event)
{
    struct jr_events events;
    jr_events_open(&events, session->dir.fd, session->dir.file_mode);
    jr_events_add(&events, event);
    jr_events_close(&events);
}

int jr_session_write(struct jr_session *session, const char *name, struct jr_buf *bytes,
                     struct jr_error *err)
{
    int failed = bytes->failed ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory")
                               : jr_run_folder_write(&session->dir, name, bytes, err);
    jr_buf_release(bytes);
    return failed;
}

int jr_session_write_record(struct jr_session *session, struct jr_error *err)
{
    struct jr_buf bytes = JR_BUF_INIT;
    session->dir.unread = false;
    jr_record_run_json(&bytes, &session->record);
    return jr_session_write(session, "run.json", &bytes, err);
}

int jr_session_stream(const struct jr_session *session, int dir_fd, const char *name,
                      jr_session_printer *print, struct jr_error *err)
{
    struct jr_io_printed text = {print, session};
    const struct jr_io_source source = {jr_io_fill_printed, &text};
    bool make = session->dir.unread && dir_fd == session->dir.fd;
    return (make ? jr_io_make_from : jr_io_replace_from)(dir_fd, name, &source,
                                                         session->dir.file_mode, err);
}

static void print_plan(struct jr_buf *out, const void *data, const struct jr_drain *drain)
{
    const struct jr_session *session = data;
    jr_plan_json(out, &session->plan, drain);
}

int jr_session_write_plan(struct jr_session *session, struct jr_error *err)
{
    return jr_session_stream(session, session->dir.fd, "plan.json", print_plan, err);
}

void jr_session_print_results(struct jr_buf *out, const void *data, const struct jr_drain *drain)
{
    const struct jr_session *session = data;
    struct jr_judgement redacted;
    if (session->plan.hidden == NULL) {
        jr_judgement_json(out, &session->report, &session->plan, &session->outcome, drain);
        return;
    }
    if (jr_judgement_redact(&redacted, &session->report, session->plan.hidden) != 0) {
        out->failed = true;
        return;
    }
    jr_judgement_json(out, &redacted, &session->plan, &session->outcome, drain);
    jr_judgement_release(&redacted);
}

void jr_session_keep_results(const struct jr_session *session, struct jr_error *err)
{
    char name[64];
    (void)snprintf(name, sizeof name, "attempt_%u", session->attempt);
    JR_CLOSE int fd =
        openat(session->dir.fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        (void)jr_session_stream(session, fd, "results.json", jr_session_print_results, err);
}

int jr_session_create_file(const struct jr_session *session, const char *name)
{
    /* The start before may have made it. */
    const int flags =
        O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | (session->dir.kept ? 0 : O_EXCL);
    return openat(session->dir.fd, name, flags, session->dir.file_mode);
}
