/*
 * The judgement on the disk: run.json with its end, and results.json, which comes last: a run that
 * has it has finished, and may be removed.
 *
 * Both are written into space that was reserved before the first rank started, so that a disk which
 * the ranks have filled is no obstacle; and both are whole before either takes its place. So the
 * machine may crash at any time, and what cannot be written is known while the judgement can still
 * say so.
 */
#include "session/write_judgement.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/draft_file.h"
#include "judge/judgement.h"
#include "record/record_facts.h"
#include "record/results_json.h"
#include "session/begin.h"
#include "session/findings_text.h"
#include "session/session.h"
#include "session/stages.h"

#include "base/banned.h"

/* What a rank's line in results.json takes, without its result and with it. */
enum { HEAD_BYTES = 16 << 10, LINE_BYTES = 1 << 10, RESULT_BYTES = 3 << 10 };
enum { RECORD_BYTES = 512 }; /* more than run.json had at the start */

#define MOST_RESERVED (UINT64_C(64) << 20)

/* The file in LOG_DIR whose time says when a run last waited for the disk: one that is there, and
 * whose time says nothing else. */
#define SYNCED        ".gitignore"
#define SYNC_EVERY_NS INT64_C(1000000000)

static uint64_t results_bytes(const struct jr_plan *plan)
{
    bool delivers = plan->returns || plan->policy->results.stated;
    uint64_t line = LINE_BYTES + (delivers ? RESULT_BYTES : 0);
    uint64_t bytes = HEAD_BYTES + line * plan->count;
    return bytes < MOST_RESERVED ? bytes : MOST_RESERVED;
}

int jr_session_reserve_names(const struct jr_session *session, struct jr_error *err)
{
    const struct jr_run_folder *dir = &session->dir;
    static const char *const names[] = {"results.json", "run.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (jr_draft_file_reserve(dir->fd, names[i], 0, dir->file_mode, err) != 0)
            return -1;
    return 0;
}

void jr_session_reserve(const struct jr_session *session)
{
    const struct jr_run_folder *dir = &session->dir;
    struct stat st;
    if (fstatat(dir->fd, "run.json", &st, AT_SYMLINK_NOFOLLOW) == 0)
        (void)jr_draft_file_reserve(dir->fd, "run.json", (uint64_t)st.st_size + RECORD_BYTES,
                                    dir->file_mode, NULL);
    (void)jr_draft_file_reserve(dir->fd, "results.json", results_bytes(&session->plan),
                                dir->file_mode, NULL);
}

/* Many short runs in a row need not each wait for the disk: what the last second's have written, it
 * has been told to write. A LOG_DIR whose .gitignore is not jobrun's own has no such time. */
static bool is_sync_due(int log_fd, bool *ret_noted)
{
    struct stat st;
    *ret_noted = fstatat(log_fd, SYNCED, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
                 st.st_size == 2 && st.st_uid == geteuid();
    if (!*ret_noted)
        return true;
    int64_t then = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    int64_t ago = (int64_t)jr_clock_wall_ns() - then;
    return ago < 0 || ago >= SYNC_EVERY_NS;
}

/* The two files on their way. */
struct writing {
    struct jr_session *session;
    struct jr_draft_file record, results;
    jr_session_printer *print; /* the results */
};

static int fill_results(void *data, int fd)
{
    const struct writing *writing = data;
    return jr_session_stream_fd(writing->session, fd, writing->print);
}

static int write_run_record(void *data, int fd)
{
    const struct writing *writing = data;
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_record_run_json(&text, &writing->session->record);
    errno = ENOMEM;
    return text.failed ? -1 : jr_io_write_all(fd, text.data, text.len);
}

static int fill_drafts(struct writing *writing, struct jr_error *err)
{
    const struct jr_io_source results = {fill_results, writing},
                              record = {write_run_record, writing};
    struct jr_session *session = writing->session;
    const struct jr_run_folder *dir = &session->dir;
    jr_record_facts_finish(&session->record, &session->report, &session->outcome);
    if (jr_draft_file_open(&writing->results, dir->fd, "results.json", dir->file_mode, err) != 0 ||
        jr_draft_file_open(&writing->record, dir->fd, "run.json", dir->file_mode, err) != 0)
        return -1;
    if (jr_draft_file_fill(&writing->results, &results, err) != 0)
        return -1;
    return jr_draft_file_fill(&writing->record, &record, err);
}

static int publish_drafts(const struct writing *writing, struct jr_error *err)
{
    const struct jr_run_folder *dir = &writing->session->dir;
    bool noted, sync = is_sync_due(dir->log_fd, &noted);
    if (jr_draft_file_settle(&writing->record, sync, err) != 0 ||
        jr_draft_file_settle(&writing->results, sync, err) != 0)
        return -1;
    if (sync && noted)
        (void)utimensat(dir->log_fd, SYNCED, NULL, AT_SYMLINK_NOFOLLOW);
    if (jr_draft_file_publish(&writing->record, err) != 0 ||
        jr_draft_file_publish(&writing->results, err) != 0)
        return -1;
    if (writing->session->companion.written != NULL)
        *writing->session->companion.written = true;
    return 0;
}

static int write_judgement(struct jr_session *session, jr_session_printer *print,
                           struct jr_error *err)
{
    struct writing writing = {.session = session,
                              .record = JR_DRAFT_FILE_INIT,
                              .results = JR_DRAFT_FILE_INIT,
                              .print = print};
    int failed = fill_drafts(&writing, err);
    if (failed == 0)
        failed = publish_drafts(&writing, err);
    jr_draft_file_close(&writing.record);
    jr_draft_file_close(&writing.results);
    return failed;
}

/* The results of the ranks may need more space than was reserved; they are also in the ranks' own
 * files. */
static void print_brief_report(struct jr_buf *out, const struct jr_session *session,
                               const struct jr_drain *drain)
{
    struct jr_judgement brief;
    if (jr_judgement_redact(&brief, &session->report, session->plan.hidden) != 0) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < brief.count; i++) {
        json_decref(brief.ranks[i].result);
        brief.ranks[i].result = NULL;
        json_decref(brief.ranks[i].text);
        brief.ranks[i].text = NULL;
    }
    jr_judgement_json(out, &brief, &session->plan, &session->outcome, drain);
    jr_judgement_release(&brief);
}

/* The files are not as they should be: a run that did well did not. */
static void judge_failure(struct jr_session *session, const char *why)
{
    struct jr_judgement *report = &session->report;
    jr_session_note(session, why);
    if (report->exit_code != 0)
        return;
    report->status = JR_RUN_INCOMPLETE;
    report->exit_code = JR_STATUS_LAUNCH;
    report->error = jr_arena_printf(&report->arena,
                                    "every rank succeeded, but the record is incomplete: %s", why);
}

void jr_session_write_judgement(struct jr_session *session)
{
    struct jr_error err = {0};
    jr_judgement_hide_files(&session->report, &session->plan, session->dir.fd);
    if (write_judgement(session, jr_session_print_results, &err) != 0) {
        judge_failure(session, err.text);
        if (write_judgement(session, print_brief_report, &err) != 0)
            jr_session_note(session, err.text);
    }
    session->exit_code = session->report.exit_code;
}
