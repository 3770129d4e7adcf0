#include "session/send_left.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/json.h"
#include "judge/delivery.h"
#include "judge/redact_report.h"
#include "session/left_files.h"
#include "session/session.h"
#include "store/attempt_folder.h"

#include "base/banned.h"

enum {
    PIECE = 256 << 10,     /* bytes of a file in a record */
    LOG_MOST = 64 << 10,   /* of a log, unless all of it is asked for */
    OTHER_MOST = 256 << 20 /* of a file that is none */
};

int jr_own_folder_make(struct jr_session *session, const char *id, bool again,
                       struct jr_error *err)
{
    const struct jr_job *job = &session->resolution.job;
    struct jr_error none = {0};
    session->apart =
        again &&
        jr_run_folder_join_part(&session->dir, job->log_dir, id, job->node_rank,
                                job->policy->log_mode, &none) == 0;
    if (session->apart)
        return 0;
    if (jr_run_folder_create_part(&session->dir, job->log_dir, id,
                                  job->node_rank, job->policy->log_mode,
                                  err) != 0)
        return -1;
    session->apart = true;
    return 0;
}

int jr_own_folder_prepare(struct jr_session *session, struct jr_error *err)
{
    jr_artifacts_free(session->before);
    session->before = NULL;
    if (jr_attempt_folder_make(&session->dir, session->attempt, err) != 0)
        return -1;
    return jr_artifacts_before(&session->before, &session->plan, err);
}

/* What goes to the controller, and where it is read. */
struct sending {
    const struct jr_session *session;
    const struct jr_plan_rank *rank; /* that is sent now */
    enum jr_left_kind kind;          /* of it */
    int fd;
    char *piece;
};

/* A record; of a file's first one, what is `cut` off before it, and `path`,
 * which is below the run folder; NULL: it is not the first. */
static int send_record(const struct sending *sending, const char *bytes,
                       size_t len, const char *path, uint64_t cut)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT, own = JR_BUF_INIT;
    json_t *head = json_object();
    jr_json_set_int(head, "rank", sending->rank->rank);
    jr_json_set_str(head, "what", jr_left_word(sending->kind));
    jr_json_set_int(head, "size", (json_int_t)len);
    if (path != NULL) {
        jr_buf_printf(&own, "%s/%s", sending->session->plan.own_dir, path);
        jr_json_set_bool(head, "first", true);
        jr_json_set_int(head, "cut", (json_int_t)cut);
        jr_json_set_str(head, "path", own.failed ? path : own.data);
    }
    jr_json_print(&text, head, 0);
    jr_buf_char(&text, '\n');
    json_decref(head);
    if (text.failed || jr_io_write_all(sending->fd, text.data, text.len) != 0)
        return -1;
    return jr_io_write_all(sending->fd, bytes, len);
}

/* Where the first line begins behind `from`; 0 stays 0. */
static uint64_t find_line(const struct sending *sending, int file,
                          uint64_t from)
{
    ssize_t len =
        from == 0 ? 0 : pread(file, sending->piece, PIECE, (off_t)(from - 1));
    const char *end =
        len <= 0 ? NULL : memchr(sending->piece, '\n', (size_t)len);
    return end == NULL ? from : from + (uint64_t)(end - sending->piece);
}

/* The last `most` bytes of a file, from the begin of a line on. What is not
 * there is not sent. */
static int send_left_file(const struct sending *sending, uint64_t most)
{
    const struct jr_session *session = sending->session;
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
    struct stat st;
    jr_left_path(&path, &session->plan, sending->rank, sending->kind);
    JR_CLOSE int file =
        path.len == 0 || path.failed
            ? -1
            : jr_run_file_open(session->dir.fd, path.data, NULL);
    if (file < 0 || fstat(file, &st) != 0)
        return 0;
    uint64_t end = (uint64_t)st.st_size;
    uint64_t at = end <= most ? 0 : find_line(sending, file, end - most);
    const char *first = path.data;
    uint64_t cut = at;
    do {
        size_t want = end - at < PIECE ? (size_t)(end - at) : PIECE;
        ssize_t len = pread(file, sending->piece, want, (off_t)at);
        if (send_record(sending, sending->piece, len > 0 ? (size_t)len : 0,
                        first, cut) != 0)
            return -1;
        at = len > 0 ? at + (uint64_t)len : end;
        first = NULL;
    } while (at < end);
    return 0;
}

static bool is_collected(const struct jr_policy *policy, const char *word)
{
    const struct jr_ssh *ssh = policy->engine.ssh;
    if (ssh == NULL || ssh->collect_count == 0)
        return strcmp(word, "results") == 0;
    for (uint32_t i = 0; i < ssh->collect_count; i++)
        if (strcmp(ssh->collect[i], word) == 0)
            return true;
    return false;
}

/* Whether a restart depends on what standard error holds anywhere. */
static bool is_stderr_searched(const struct jr_policy *policy)
{
    static const char begin[] = "stderr:";
    const struct jr_restart *restart = &policy->restart;
    for (uint32_t i = 0; i < restart->on_count; i++)
        if (strncmp(restart->on[i], begin, sizeof begin - 1) == 0)
            return true;
    for (uint32_t i = 0; i < restart->never_count; i++)
        if (strncmp(restart->never[i], begin, sizeof begin - 1) == 0)
            return true;
    return false;
}

static int send_rank_files(struct sending *sending)
{
    const struct jr_policy *policy = sending->session->plan.policy;
    bool whole = is_collected(policy, "logs");
    uint64_t errors =
        whole || is_stderr_searched(policy) ? INT64_MAX : LOG_MOST;
    const uint64_t most[JR_LEFT_KIND_COUNT] = {
        [JR_LEFT_RESULT] = is_collected(policy, "results") ? OTHER_MOST : 0,
        [JR_LEFT_ERROR] = OTHER_MOST,
        [JR_LEFT_HANG] = OTHER_MOST,
        [JR_LEFT_STDOUT] = whole ? INT64_MAX : LOG_MOST,
        [JR_LEFT_STDERR] = errors,
    };
    for (unsigned i = 0; i < JR_LEFT_KIND_COUNT; i++) {
        sending->kind = (enum jr_left_kind)i;
        if (most[i] > 0 && send_left_file(sending, most[i]) != 0)
            return -1;
    }
    return 0;
}

static int send_delivery(struct sending *sending,
                         const struct jr_rank_judgement *rank)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    json_t *delivery = jr_delivery_pack(rank);
    int failed = 0;
    sending->kind = JR_LEFT_DELIVERY;
    if (delivery != NULL) {
        jr_json_print(&text, delivery, 0);
        failed = text.failed
                     ? -1
                     : send_record(sending, text.data, text.len, NULL, 0);
    }
    json_decref(delivery);
    return failed;
}

/* What was before the ranks, and all of them. */
static int send_all_left(struct sending *sending,
                         const struct jr_judgement *report)
{
    const struct jr_plan *plan = &sending->session->plan;
    for (size_t i = 0; i < report->count; i++) {
        sending->rank = &plan->ranks[plan->first + i];
        if (send_delivery(sending, &report->ranks[i]) != 0 ||
            send_rank_files(sending) != 0)
            return -1;
    }
    for (unsigned i = JR_LEFT_SETUP; i <= JR_LEFT_HELPER; i++) {
        sending->rank = &plan->ranks[plan->first];
        sending->kind = (enum jr_left_kind)i;
        if (send_left_file(sending, LOG_MOST) != 0)
            return -1;
    }
    return 0;
}

int jr_left_send(struct jr_session *session, const struct jr_outcome *outcome,
                 int fd, struct jr_error *err)
{
    const struct jr_left left = {.run_fd = session->dir.fd,
                                 .before = session->before};
    struct jr_judgement report;
    JR_FREE char *piece = malloc(PIECE);
    if (piece == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    if (jr_judgement_make(&report, &session->plan, outcome, &left, err) != 0)
        return -1;
    jr_judgement_hide_files(&report, &session->plan, session->dir.fd);
    struct sending sending = {.session = session, .fd = fd, .piece = piece};
    int failed = send_all_left(&sending, &report);
    if (failed != 0)
        (void)jr_error_sys(err, JR_STATUS_LAUNCH,
                           "what its ranks have delivered could not be sent");
    jr_judgement_release(&report);
    return failed;
}
