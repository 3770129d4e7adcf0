#include "judge/judgement.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/redact.h"
#include "judge/hang_report.h"
#include "judge/internal.h"
#include "judge/restart.h"
#include "judge/words.h"
#include "store/outcome.h"

#include "base/banned.h"

enum { MOST_ERROR = 16 << 20, TAIL_LINES = 10 };

#define NO_REASON "its node does not say why"

/* A word that is none: what was delivered does not count, whatever it is. */
static enum jr_result_error read_fault(const char *word)
{
    enum jr_result_error fault = JR_RESULT_MISSING;
    (void)jr_result_error_of(word, &fault);
    return fault;
}

/* Let it be what rank `i` has delivered (jr_delivery_pack). */
static void take_delivery(struct jr_judge *judge, size_t i, const json_t *delivery)
{
    struct jr_rank_judgement *rank = &judge->report->ranks[i];
    const char *error = jr_json_get_str(delivery, "error");
    const char *reason = jr_json_get_str(delivery, "reason");
    rank->result = json_incref(json_object_get(delivery, "result"));
    rank->unwritten = jr_json_get_bool(delivery, "unwritten");
    rank->late_match = jr_json_get_bool(delivery, "late_match");
    rank->pattern_limits = jr_json_get_u32(delivery, "pattern_limits");
    if (error == NULL)
        return;
    jr_judge_fault(judge, i, read_fault(error), "%s", reason != NULL ? reason : NO_REASON);
}

/* Hold the ranks that ended well to the spec: what each has delivered is found where its files are,
 * or as its node has found it. */
static void judge_results(struct jr_judge *judge)
{
    struct jr_judgement *report = judge->report;
    jr_artifact_open(judge);
    for (size_t i = 0; i < report->count; i++) {
        const json_t *delivery = judge->deliveries == NULL ? NULL : judge->deliveries[i];
        if (report->ranks[i].state != JR_RANK_SUCCEEDED)
            continue;
        if (delivery != NULL) {
            take_delivery(judge, i, delivery);
            continue;
        }
        jr_result_find(judge, i);
        jr_judge_fields(judge, i);
        jr_artifact_check(judge, i);
    }
    jr_cause_find(judge);
    jr_artifact_check_job(judge);
    jr_result_part(judge);
    jr_compare(judge);
    for (size_t i = 0; i < report->count; i++)
        if (report->ranks[i].state == JR_RANK_SUCCEEDED &&
            report->ranks[i].result_error != JR_RESULT_NONE)
            report->ranks[i].state =
                jr_judge_yielded(judge, i) ? JR_RANK_YIELDED : JR_RANK_INCOMPLETE;
}

static bool any_rank(const struct jr_judge *judge, enum jr_rank_state state)
{
    for (size_t i = 0; i < judge->report->count; i++)
        if (judge->report->ranks[i].state == state)
            return true;
    return false;
}

static bool was_not_launched(const struct jr_judge *judge)
{
    if (jr_outcome_lost(judge->outcome))
        return true;
    for (size_t i = 0; i < judge->report->count; i++)
        if (judge->outcome->ranks[i].end == JR_END_START ||
            (judge->report->ranks[i].unstarted && judge->report->ranks[i].state == JR_RANK_FAILED))
            return true;
    return false;
}

/* Every rank ended with 0, and none of them initialized MPI by the protocol that the spec
 * states. */
static bool are_singletons(const struct jr_judge *judge)
{
    const struct jr_plan_mpi *mpi = &judge->plan->mpi;
    if (!mpi->stated || mpi->protocol == JR_MPI_PROTOCOL_NONE)
        return false;
    for (size_t i = 0; i < judge->report->count; i++)
        if (judge->outcome->ranks[i].mpi != JR_MPI_PART_ABSENT ||
            !jr_outcome_is_well(&judge->outcome->ranks[i]))
            return false;
    return judge->report->count > 0;
}

/* The exit status of a run that failed: where the spec says so, the root cause's own exit code, as
 * a shell would tell it. */
static int failed_code(const struct jr_judge *judge)
{
    const struct jr_rank_outcome *rank = &judge->outcome->ranks[judge->report->causes[0]];
    int code = jr_words_exit_code(rank);
    if (judge->plan->policy->exit_status != JR_EXIT_STATUS_RANK)
        return JR_STATUS_FAILED;
    if (code != 0)
        return code;
    return rank->end == JR_END_SIGNALED ? 128 + rank->signal : JR_STATUS_FAILED;
}

static void set_status(struct jr_judgement *report, enum jr_run_status status, int code)
{
    report->status = status;
    report->exit_code = code;
}

/* Why the job is to be continued, if it is. A node that is lost is a failure, which a requeue may
 * turn into that. */
static enum jr_requeue_cause find_requeue_cause(const struct jr_judge *judge)
{
    const struct jr_judgement *report = judge->report;
    if (report->status == JR_RUN_YIELDED)
        return judge->outcome->preempted ? JR_REQUEUE_PREEMPTED : JR_REQUEUE_DEADLINE;
    bool lost = report->status == JR_RUN_FAILED && report->causes_count > 0 &&
                judge->outcome->ranks[report->causes[0]].end == JR_END_LOST;
    return lost ? JR_REQUEUE_LOST_NODE : JR_REQUEUE_NONE;
}

/* "4 singletons: mpi: pmi1 is stated, but no rank called MPI_Init through it"
 */
static void describe_singletons(struct jr_judge *judge)
{
    static const char *const words[] = {
#define WORD(name, word, help) word,
        JR_MPI_PROTOCOLS(WORD)
#undef WORD
    };
    struct jr_judgement *report = judge->report;
    const char *library = judge->plan->mpi.library;
    report->singletons = true;
    report->error = jr_arena_printf(
        &report->arena,
        "%zu singleton%s: `mpi: %s` is stated, but no rank called MPI_Init through it%s%s%s",
        report->count, report->count == 1 ? "" : "s", words[judge->plan->mpi.protocol],
        library == NULL ? "" : " (the program needs ", library == NULL ? "" : library,
        library == NULL ? "" : ")");
}

/* The first that applies decides. */
static void decide_status(struct jr_judge *judge)
{
    static const enum jr_run_status overruns[] = {
        [JR_TIMEOUT_SILENCE] = JR_RUN_HUNG,
        [JR_TIMEOUT_PROGRESS] = JR_RUN_HUNG,
        [JR_TIMEOUT_FIRST_STEP] = JR_RUN_HUNG,
        [JR_TIMEOUT_RUN] = JR_RUN_TIMED_OUT,
        [JR_TIMEOUT_AFTER_FIRST_EXIT] = JR_RUN_TIMED_OUT,
        [JR_TIMEOUT_EXIT] = JR_RUN_SUCCEEDED,
    };
    const struct jr_outcome *outcome = judge->outcome;
    struct jr_judgement *report = judge->report;
    enum jr_run_status overrun = overruns[outcome->timed_out_by];
    bool lacks = any_rank(judge, JR_RANK_NOT_STARTED) || any_rank(judge, JR_RANK_STOPPED);
    if (outcome->stop_signal != 0) {
        set_status(report, JR_RUN_STOPPED, 128 + outcome->stop_signal);
    } else if (was_not_launched(judge)) {
        set_status(report, JR_RUN_LAUNCH_FAILED, JR_STATUS_LAUNCH);
    } else if (overrun != JR_RUN_SUCCEEDED) {
        set_status(report, overrun, JR_STATUS_TIMEOUT);
    } else if (report->causes_count > 0) {
        set_status(report, JR_RUN_FAILED, failed_code(judge));
    } else if (lacks && outcome->preempted) { /* its ranks had no time to deliver */
        set_status(report, JR_RUN_YIELDED, JR_STATUS_YIELDED);
    } else if (lacks) { /* none failed and none was told to stop, but one is missing */
        if (report->error == NULL && outcome->start_text[0] != '\0')
            report->error = jr_arena_strdup(&report->arena, outcome->start_text);
        set_status(report, JR_RUN_LAUNCH_FAILED, JR_STATUS_LAUNCH);
    } else if (are_singletons(judge)) {
        describe_singletons(judge);
        set_status(report, JR_RUN_INCOMPLETE, JR_STATUS_INCOMPLETE);
    } else if (any_rank(judge, JR_RANK_INCOMPLETE)) {
        set_status(report, JR_RUN_INCOMPLETE, JR_STATUS_INCOMPLETE);
    } else if (any_rank(judge, JR_RANK_YIELDED)) {
        set_status(report, JR_RUN_YIELDED, JR_STATUS_YIELDED);
    } else if (report->logs_incomplete) {
        set_status(report, JR_RUN_INCOMPLETE, JR_STATUS_LAUNCH);
    }
}

int jr_judgement_make(struct jr_judgement *ret, const struct jr_plan *plan,
                      const struct jr_outcome *outcome, const struct jr_left *left,
                      struct jr_error *err)
{
    struct jr_judgement report = {.count = outcome->count};
    struct jr_judge judge = {
        .report = &report,
        .plan = plan,
        .outcome = outcome,
        .before = left->before,
        .deliveries = left->deliveries,
        .apart = left->apart,
        .wants = &plan->policy->results,
        .run_fd = left->run_fd,
    };
    report.ranks = jr_arena_array(&report.arena, report.count, sizeof *report.ranks);
    int result = jr_judge_init(&judge, err);
    if (result == 0 && report.ranks != NULL) {
        report.logs_incomplete = outcome->console_errno != 0;
        for (size_t i = 0; i < outcome->count; i++)
            report.logs_incomplete |= outcome->ranks[i].log_errno != 0;
        jr_cause_sort(&judge);
        jr_hang_find(&judge);
        judge_results(&judge);
        decide_status(&judge);
        report.requeue.cause = find_requeue_cause(&judge);
    }
    jr_judge_release(&judge);
    if (result == 0 && report.arena.failed)
        result = jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    if (result == 0)
        *ret = report;
    else
        jr_judgement_release(&report);
    return result;
}

void jr_judgement_stall(struct jr_judgement *report, const struct jr_stall *stall)
{
    report->stall = *stall;
    report->exit_code = JR_STATUS_TIMEOUT;
    if (report->status == JR_RUN_YIELDED)
        report->status = JR_RUN_FAILED;
    report->requeue.cause = JR_REQUEUE_NONE;
}

bool jr_judgement_left(const struct jr_rank_judgement *rank)
{
    return rank->state == JR_RANK_FAILED && rank->result_error != JR_RESULT_NONE;
}

size_t jr_judgement_first(const struct jr_judgement *report, enum jr_rank_state state)
{
    size_t i = 0;
    while (i < report->count && report->ranks[i].state != state)
        i++;
    return i;
}

uint64_t jr_judgement_began_ns(const struct jr_judgement *report, const struct jr_outcome *outcome)
{
    return report->earlier_count > 0 ? report->earlier[0].started_ns : outcome->started_ns;
}

uint64_t jr_judgement_began_wall_ns(const struct jr_judgement *report,
                                    const struct jr_outcome *outcome)
{
    return report->earlier_count > 0 ? report->earlier[0].started_wall_ns
                                     : outcome->started_wall_ns;
}

void jr_judgement_release(struct jr_judgement *report)
{
    for (size_t i = 0; report->ranks != NULL && i < report->count; i++) {
        json_decref(report->ranks[i].result);
        json_decref(report->ranks[i].text);
    }
    jr_arena_release(&report->arena);
    *report = (struct jr_judgement){0};
}

/* What is told of it, without the values of secrets. */

/* A new reference to the value, or to its replacement. */
static json_t *redact_json(struct jr_arena *arena, char *const *hidden, json_t *json)
{
    json_t *copy, *value;
    const char *key, *text = json_string_value(json);
    size_t i, len = json_string_length(json);
    if (json_is_object(json)) {
        copy = json_object();
        json_object_foreach(json, key, value) {
            const char *name = jr_redact_copy(arena, key, hidden);
            if (name != NULL)
                jr_json_set(copy, name, redact_json(arena, hidden, value));
        }
        return copy;
    }
    if (json_is_array(json)) {
        copy = json_array();
        json_array_foreach(json, i, value)
            jr_json_append(copy, redact_json(arena, hidden, value));
        return copy;
    }
    if (text == NULL)
        return json_incref(json);
    if (strlen(text) == len) {
        const char *redacted = jr_redact_copy(arena, text, hidden);
        return redacted == text ? json_incref(json) : jr_json_str(redacted);
    }
    /* No value of a secret holds U+0000, but a string may: what stands between two of them is
     * redacted as a text of its own. */
    JR_BUF_CLEANUP struct jr_buf redacted = JR_BUF_INIT;
    for (size_t at = 0; at <= len; at += strlen(text + at) + 1) {
        const char *part = jr_redact_copy(arena, text + at, hidden);
        if (at > 0)
            jr_buf_char(&redacted, '\0');
        jr_buf_str(&redacted, part == NULL ? "" : part);
    }
    return redacted.failed ? NULL : json_stringn(redacted.data, redacted.len);
}

static void redact_rank(struct jr_arena *arena, char *const *hidden, struct jr_rank_judgement *copy,
                        const struct jr_rank_judgement *rank)
{
    *copy = *rank;
    copy->reason = jr_redact_copy(arena, rank->reason, hidden);
    copy->error = jr_redact_copy(arena, rank->error, hidden);
    copy->where = jr_redact_copy(arena, rank->where, hidden);
    copy->behind = jr_redact_copy(arena, rank->behind, hidden);
    copy->result = rank->result == NULL ? NULL : redact_json(arena, hidden, rank->result);
    copy->text = json_incref(rank->text); /* it has none: see results.c */
    copy->artifacts = jr_arena_array(arena, rank->artifacts_count, sizeof *copy->artifacts);
    for (size_t i = 0; i < copy->artifacts_count && copy->artifacts != NULL; i++) {
        copy->artifacts[i] = rank->artifacts[i];
        copy->artifacts[i].path = jr_redact_copy(arena, rank->artifacts[i].path, hidden);
    }
}

int jr_judgement_redact(struct jr_judgement *ret, const struct jr_judgement *report,
                        char *const *hidden)
{
    struct jr_judgement copy = *report;
    struct jr_arena none = JR_ARENA_INIT;
    struct jr_arena *arena = &copy.arena;
    struct jr_attempt *earlier = NULL;
    copy.arena = none;
    copy.ranks = jr_arena_array(arena, copy.count, sizeof *copy.ranks);
    for (size_t i = 0; i < copy.count && copy.ranks != NULL; i++)
        redact_rank(arena, hidden, &copy.ranks[i], &report->ranks[i]);
    copy.error = jr_redact_copy(arena, report->error, hidden);
    copy.not_again = jr_redact_copy(arena, report->not_again, hidden);
    if (copy.earlier_count > 0)
        copy.earlier = earlier = jr_arena_array(arena, copy.earlier_count, sizeof *earlier);
    for (size_t i = 0; i < copy.earlier_count && earlier != NULL; i++) {
        earlier[i] = report->earlier[i];
        earlier[i].cause = jr_redact_copy(arena, earlier[i].cause, hidden);
    }
    if (!arena->failed) {
        *ret = copy;
        return 0;
    }
    jr_judgement_release(&copy);
    return -1;
}

/* What the worker of a rank wrote of its exception is jobrun's word, too. */
static void redact_error_file(const struct jr_plan *plan, const char *path, int run_fd)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT, redacted = JR_BUF_INIT;
    struct stat st;
    if (path == NULL || *path == '/' ||
        jr_run_file_read(&text, run_fd, path, MOST_ERROR, NULL) != 0)
        return;
    jr_buf_add(&redacted, text.data, text.len);
    jr_redact(&redacted, 0, plan->hidden, true);
    if (redacted.failed ||
        (redacted.len == text.len && memcmp(redacted.data, text.data, text.len) == 0))
        return;
    JR_CLOSE int fd = jr_open_beneath(run_fd, path, O_WRONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
        jr_io_write_all(fd, redacted.data, redacted.len) == 0)
        (void)!ftruncate(fd, (off_t)redacted.len);
}

static bool holds_secret(const struct jr_plan *plan, const char *path, int run_fd)
{
    JR_BUF_CLEANUP struct jr_buf tail = JR_BUF_INIT;
    if (path == NULL)
        return false;
    jr_run_file_tail(&tail, run_fd, path, TAIL_LINES);
    for (char *const *value = plan->hidden; tail.len > 0 && *value != NULL; value++)
        if (memmem(tail.data, tail.len, *value, strlen(*value)) != NULL)
            return true;
    return false;
}

static void note_log_secrets(struct jr_judgement *report, const struct jr_plan *plan, size_t i,
                             int run_fd)
{
    const struct jr_plan_rank *rank = jr_plan_of(plan, i);
    report->ranks[i].log_secret =
        holds_secret(plan, rank->err_path, run_fd) || holds_secret(plan, rank->out_path, run_fd);
}

void jr_judgement_hide_files(struct jr_judgement *report, const struct jr_plan *plan, int run_fd)
{
    if (plan->hidden == NULL)
        return;
    for (size_t i = 0; i < report->count; i++)
        if (report->ranks[i].error_file)
            redact_error_file(plan, jr_plan_of(plan, i)->error_path, run_fd);
    if (report->causes_count > 0)
        note_log_secrets(report, plan, report->causes[0], run_fd);
    if (report->odd_count > 0)
        note_log_secrets(report, plan, report->odd[0], run_fd);
}

/* What another node has found. */

static void pack_job(json_t *object, const struct jr_judgement *report)
{
    json_t *job = json_array();
    for (size_t n = 0; n < report->job_count; n++) {
        const struct jr_fault *fault = &report->job[n];
        json_t *entry = json_null();
        if (fault->error != JR_RESULT_NONE) {
            entry = json_object();
            jr_json_set_str(entry, "error", jr_result_error_word(fault->error));
            jr_json_set_str(entry, "reason", fault->reason);
        }
        jr_json_append(job, entry);
    }
    jr_json_set(object, "job", job);
}

json_t *jr_delivery_pack(const struct jr_judgement *report, size_t i)
{
    const struct jr_rank_judgement *rank = &report->ranks[i];
    if (rank->state != JR_RANK_SUCCEEDED && rank->state != JR_RANK_YIELDED &&
        rank->state != JR_RANK_INCOMPLETE && !jr_judgement_left(rank))
        return NULL;
    json_t *object = json_object();
    if (rank->result != NULL)
        jr_json_set(object, "result", json_incref(rank->result));
    if (rank->result_error != JR_RESULT_NONE && !rank->differs) {
        jr_json_set_str(object, "error", jr_result_error_word(rank->result_error));
        jr_json_set_str(object, "reason", rank->reason);
    }
    if (rank->unwritten)
        jr_json_set_bool(object, "unwritten", true);
    if (rank->late_match)
        jr_json_set_bool(object, "late_match", true);
    if (rank->pattern_limits > 0)
        jr_json_set_int(object, "pattern_limits", rank->pattern_limits);
    if (report->job != NULL)
        pack_job(object, report);
    return object;
}

bool jr_delivery_take_job(struct jr_fault *ret, const struct jr_judge *judge,
                          const json_t *delivery)
{
    const json_t *job = json_object_get(delivery, "job");
    uint32_t count = judge->wants->artifacts_count;
    if (json_array_size(job) != count)
        return false;
    for (uint32_t n = 0; n < count; n++) {
        const json_t *entry = json_array_get(job, n);
        const char *error = jr_json_get_str(entry, "error");
        const char *reason = jr_json_get_str(entry, "reason");
        ret[n] = (struct jr_fault){0};
        if (!json_is_null(entry) && judge->common[n])
            ret[n] = (struct jr_fault){error == NULL ? JR_RESULT_MISSING : read_fault(error),
                                       reason != NULL ? reason : NO_REASON};
    }
    return true;
}
