#include "session/own_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/json.h"
#include "record/prune.h"
#include "record/record_facts.h"
#include "record/record_folder.h"
#include "session/begin.h"
#include "session/findings_text.h"
#include "session/session.h"
#include "store/attempt_folder.h"

#include "base/banned.h"

enum { ROOM = 64 << 10 /* bytes that a folder has to have */ };

#define ROOM_NAME ".room"
#define RESULTS   "results.json"

/* A disk that is full takes folders, and then no logs and no results. */
static int check_room(const struct jr_run_folder *dir, const char *log_dir, struct jr_error *err)
{
    JR_FREE char *zeroes = calloc(1, ROOM);
    JR_CLOSE int fd = openat(dir->fd, ROOM_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int failed =
        zeroes == NULL || fd < 0 || jr_io_write_all(fd, zeroes, ROOM) != 0 || fsync(fd) != 0;
    if (failed)
        (void)jr_error_sys(err, JR_STATUS_LAUNCH, "%s/%s takes no files", log_dir, dir->path);
    if (fd >= 0)
        (void)unlinkat(dir->fd, ROOM_NAME, 0);
    return failed ? -1 : 0;
}

/* A cell that runs again has left a folder when it ran before: it stays, as node_N.1. */
static void set_cell_aside(const struct jr_session *session, const char *id)
{
    enum { MOST_ASIDE = 10000 };
    const struct jr_job *job = &session->resolution.job;
    JR_BUF_CLEANUP struct jr_buf from = JR_BUF_INIT, to = JR_BUF_INIT;
    jr_buf_printf(&from, "%s/%s/" JR_NODE_DIR, job->log_dir, id, job->node_rank);
    for (int i = 1; i < MOST_ASIDE && !from.failed && !to.failed; i++) {
        jr_buf_clear(&to);
        jr_buf_printf(&to, "%s.%d", from.data, i);
        if (!to.failed &&
            (rename(from.data, to.data) == 0 || (errno != EEXIST && errno != ENOTEMPTY)))
            return;
    }
}

int jr_own_folder_make(struct jr_session *session, const char *id, bool again, struct jr_error *err)
{
    const struct jr_job *job = &session->resolution.job;
    struct jr_error none = {0};
    session->apart =
        again && jr_run_folder_join_part(&session->dir, job->log_dir, id, job->node_rank,
                                         job->policy->log_mode, &none) == 0;
    if (session->apart)
        return 0;
    if (session->sweep_id != NULL)
        set_cell_aside(session, id);
    if (jr_run_folder_create_part(&session->dir, job->log_dir, id, job->node_rank,
                                  job->policy->log_mode, err) != 0)
        return -1;
    session->apart = true;
    if (check_room(&session->dir, job->log_dir, err) == 0)
        return 0;
    jr_own_folder_discard(session);
    return -1;
}

void jr_own_folder_discard(struct jr_session *session)
{
    const struct jr_run_folder *dir = &session->dir;
    struct jr_pruned pruned = {0};
    const char *part = strrchr(dir->path, '/');
    if (!session->apart || !dir->unread || part == NULL)
        return;
    JR_CLOSE int run =
        openat(dir->log_fd, dir->id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (run >= 0 && jr_prune_folder(&pruned, run, part + 1) == 0)
        (void)unlinkat(dir->log_fd, dir->id, AT_REMOVEDIR);
    jr_run_folder_close(&session->dir);
    session->apart = false;
}

/* The results of an attempt, as a path below the run folder. */
static void print_results_path(char ret[static 64], uint32_t attempt)
{
    (void)snprintf(ret, 64, "attempt_%u/" RESULTS, attempt);
}

/* Where an agent before this one has left, it took its last attempt for the last of all. */
static void take_results_back(const struct jr_session *session)
{
    char path[64];
    if (session->attempt == 0)
        return;
    print_results_path(path, session->attempt - 1);
    (void)renameat(session->dir.fd, RESULTS, session->dir.fd, path);
}

/* The record of a part, as one of a run whose nodes have a jobrun each. */
static int record_part(struct jr_session *session, struct jr_error *err)
{
    struct jr_record_facts *record = &session->record;
    if (jr_record_facts_fill(record, &session->arena, &session->plan, session->machine) != 0)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    record->attempt = session->attempt;
    return jr_session_write_plan(session, err) == 0 ? jr_session_write_record(session, err) : -1;
}

int jr_own_folder_prepare(struct jr_session *session, struct jr_error *err)
{
    jr_artifacts_free(session->before);
    session->before = NULL;
    take_results_back(session);
    if (jr_attempt_folder_make(&session->dir, session->attempt, err) != 0 ||
        record_part(session, err) != 0)
        return -1;
    return jr_artifacts_before(&session->before, &session->plan, session->dir.fd, err);
}

void jr_own_folder_keep(struct jr_session *session, const struct jr_judgement *report,
                        const struct jr_outcome *outcome)
{
    char path[64];
    struct jr_error err = {0};
    const struct jr_judgement before_report = session->report;
    const struct jr_outcome before_outcome = session->outcome;
    print_results_path(path, session->attempt);
    *strchr(path, '/') = '\0';
    JR_CLOSE int fd =
        openat(session->dir.fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    session->report = *report;
    session->outcome = *outcome;
    if (fd >= 0)
        (void)jr_session_stream(session, fd, RESULTS, jr_session_print_results, &err);
    session->report = before_report;
    session->outcome = before_outcome;
}

/* An agent after this one may go on with the run. */
static bool is_own_record(const struct jr_session *session)
{
    json_t *run = jr_record_folder_json(session->dir.fd, "run.json", NULL);
    bool own = jr_json_get_int(run, "pid") == getpid();
    json_decref(run);
    return own;
}

void jr_own_folder_finish(struct jr_session *session)
{
    char path[64];
    jr_own_folder_discard(session);
    if (!session->apart || !is_own_record(session))
        return;
    print_results_path(path, session->attempt);
    (void)renameat(session->dir.fd, path, session->dir.fd, RESULTS);
}
