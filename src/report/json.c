#include "report.h"

#include <signal.h>
#include <string.h>
#include <sys/utsname.h>

#include "earlier.h"
#include "hang_report.h"
#include "judge.h"
#include "signame.h"
#include "words.h"

#include "banned.h"

enum { FORMAT_VERSION = 1, PIECE = 1 << 16 };

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

/* Everything that a rank's line is made of. */
struct line {
    const struct jr_plan_rank *rank;
    const struct jr_rank_outcome *outcome;
    const struct jr_rank_report *report;
    const char *host;
};

static void put_signal(struct jr_buf *out, const char *key, int signal)
{
    char name[JR_SIGNAL_NAME];
    if (signal != 0)
        jr_signal_name(name, signal);
    jr_json_put_str(out, key, signal == 0 ? NULL : name);
}

/* What jobrun sent it to end it, in that order. */
static void put_stop_signals(struct jr_buf *out,
                             const struct jr_rank_outcome *end)
{
    char name[JR_SIGNAL_NAME];
    bool killed = end->killed && end->stopped_with != SIGKILL;
    jr_json_key(out, "stop_signals");
    jr_buf_char(out, '[');
    jr_signal_name(name, end->stopped_with);
    if (end->stopped_with != 0)
        jr_json_quote(out, name);
    jr_buf_str(out, killed && end->stopped_with != 0 ? ", " : "");
    jr_buf_str(out, killed ? "\"SIGKILL\"]" : "]");
}

static void put_int_or_null(struct jr_buf *out, const char *key, bool there,
                            json_int_t value)
{
    if (there)
        jr_json_put_int(out, key, value);
    else
        jr_json_put_str(out, key, NULL);
}

/* A duration as seconds, to the microsecond. */
static void put_seconds(struct jr_buf *out, const char *key, bool there,
                        uint64_t ns)
{
    if (there)
        jr_json_put_decimal(out, key, ns / US, 6);
    else
        jr_json_put_str(out, key, NULL);
}

static void put_coordinates(struct jr_buf *out, const struct jr_plan_rank *rank)
{
    jr_json_key(out, "coordinates");
    jr_buf_char(out, '{');
    for (int axis = 0; axis < JR_AXIS_COUNT; axis++)
        jr_json_put_int(out, jr_words_axis(axis), rank->at[axis]);
    jr_buf_char(out, '}');
}

static void put_identity(struct jr_buf *out, const struct line *line)
{
    const struct jr_plan_rank *rank = line->rank;
    jr_json_put_int(out, "rank", rank->rank);
    jr_json_put_int(out, "local_rank", rank->local_rank);
    jr_json_put_int(out, "node_rank", rank->node_rank);
    jr_json_put_str(out, "host", line->host);
    put_int_or_null(out, "pid", line->outcome->pid != 0, line->outcome->pid);
    jr_json_put_str(out, "device", rank->device);
    put_coordinates(out, rank);
}

static void put_injected(struct jr_buf *out, const struct jr_rank_outcome *end)
{
#define WORD(name, word, help) word,
    static const char *const words[] = {JR_INJECTS(WORD)};
    jr_json_put_str(out, "injected",
                    end->injected ? words[end->injection] : NULL);
}

static void put_end(struct jr_buf *out, const struct line *line)
{
    const struct jr_rank_outcome *end = line->outcome;
    bool lived = end->pid != 0 && end->ended_ns >= end->started_ns;
    bool signaled = end->end == JR_END_SIGNALED;
    jr_json_put_str(out, "state", jr_rank_state_word(line->report->state));
    put_int_or_null(out, "exit_code", end->end == JR_END_EXITED,
                    end->exit_code);
    put_signal(out, "signal", signaled ? end->signal : 0);
    jr_json_put_bool(out, "core_dumped", signaled && end->core_dumped);
    put_stop_signals(out, end);
    put_injected(out, end);
    put_seconds(out, "seconds", lived, end->ended_ns - end->started_ns);
    put_int_or_null(out, "max_rss_bytes", end->max_rss_bytes != 0,
                    (json_int_t)end->max_rss_bytes);
    put_seconds(out, "cpu_seconds", lived, end->cpu_ns);
}

static void put_dropped(struct jr_buf *out, const struct jr_rank_outcome *end)
{
    jr_json_key(out, "dropped_bytes");
    jr_buf_char(out, '{');
    jr_json_put_int(out, "stdout", (json_int_t)end->dropped[0]);
    jr_json_put_int(out, "stderr", (json_int_t)end->dropped[1]);
    jr_buf_char(out, '}');
}

static void put_result(struct jr_buf *out, const struct line *line)
{
    const struct jr_plan_rank *rank = line->rank;
    const struct jr_rank_report *report = line->report;
    jr_json_put_str(out, "stdout", rank->out_path);
    jr_json_put_str(out, "stderr", rank->err_path);
    put_dropped(out, line->outcome);
    jr_json_put_str(out, "error_file",
                    report->error_file ? rank->error_path : NULL);
    jr_json_put_str(out, "error",
                    report->reason != NULL ? report->reason : report->error);
    jr_json_key(out, "result");
    if (report->result != NULL)
        jr_json_print(out, report->result, 0);
    else
        jr_buf_str(out, "null");
    jr_json_put_str(out, "result_error",
                    report->result_error == JR_RESULT_NONE
                        ? NULL
                        : jr_result_error_word(report->result_error));
    jr_json_put_bool(out, "differs", report->differs);
}

static void add_rank(struct jr_buf *out, const struct line *line)
{
    jr_buf_char(out, '{');
    put_identity(out, line);
    put_end(out, line);
    put_result(out, line);
    jr_buf_char(out, '}');
}

static const char *kind_of(const struct line *line)
{
    const struct jr_rank_outcome *rank = line->outcome;
    if (rank->end == JR_END_START || line->report->unstarted)
        return "start";
    if (rank->end == JR_END_LOST)
        return "lost_node";
    if (rank->oom)
        return "oom";
    return rank->end == JR_END_SIGNALED ? "signal" : "exit";
}

/* What the streaming of one results.json needs. */
struct writer {
    struct jr_buf *out;
    const struct jr_report *report;
    const struct jr_plan *plan;
    const struct jr_outcome *outcome;
    struct utsname here;
};

static struct line line_of(const struct writer *writer, size_t i)
{
    const struct jr_plan_rank *rank = jr_plan_of(writer->plan, i);
    return (struct line){
        .rank = rank,
        .outcome = &writer->outcome->ranks[i],
        .report = &writer->report->ranks[i],
        .host = jr_words_host(writer->plan, rank->node_rank, &writer->here),
    };
}

/* The root cause as it is written. */
struct cause {
    const char *kind;
    struct line line;                  /* without a rank: it is none */
    const struct jr_rank_outcome *end; /* that was it; NULL: not an end */
    int signal;                        /* of jobrun itself; 0: none */
    struct jr_buf message;
    struct jr_buf together; /* ranks, with commas */
};

static void add_together(struct cause *cause, const struct writer *writer,
                         size_t i)
{
    jr_buf_printf(&cause->together, "%s%u",
                  cause->together.len == 0 ? "" : ", ",
                  jr_plan_of(writer->plan, i)->rank);
}

/* A cause that is not a rank: jobrun's own end, what kept it from beginning, or
 * time. */
static bool cause_without_rank(struct cause *ret, const struct writer *writer)
{
    const struct jr_outcome *outcome = writer->outcome;
    const char *error = writer->report->error;
    bool stopped = outcome->stop_signal != 0;
    char name[JR_SIGNAL_NAME];
    ret->kind = error != NULL ? "start" : "signal";
    if (error != NULL) {
        jr_buf_str(&ret->message, error);
        return true;
    }
    ret->signal = stopped ? outcome->stop_signal : outcome->runner_signal;
    if (ret->signal == 0)
        return false;
    jr_signal_name(name, ret->signal);
    jr_buf_printf(&ret->message,
                  stopped ? "jobrun was stopped by %s"
                          : "jobrun's runner was killed by %s",
                  name);
    return true;
}

/* A rank, in its own words, else by how it ended. */
static void set_rank(struct cause *cause, const struct writer *writer, size_t i)
{
    const struct jr_rank_report *report = &writer->report->ranks[i];
    const char *own = report->reason != NULL ? report->reason : report->error;
    cause->line = line_of(writer, i);
    cause->end = cause->line.outcome;
    if (own != NULL)
        jr_buf_str(&cause->message, own);
    else
        jr_words_end(&cause->message, cause->end);
}

static bool cause_incomplete(struct cause *ret, const struct writer *writer)
{
    ret->kind = "result";
    for (size_t i = 0; i < writer->report->count; i++) {
        if (writer->report->ranks[i].state != JR_RANK_INCOMPLETE)
            continue;
        if (ret->end == NULL)
            set_rank(ret, writer, i);
        else
            add_together(ret, writer, i);
    }
    return ret->end != NULL;
}

/* A run that met one of its timeouts, with who differs from the others. */
static bool cause_of_time(struct cause *ret, const struct writer *writer)
{
    const struct jr_report *report = writer->report;
    ret->kind = report->status == JR_RUN_HUNG ? "hang" : "timeout";
    if (report->odd_count > 0)
        ret->line = line_of(writer, report->odd[0]);
    for (size_t n = 1; n < report->odd_count; n++)
        add_together(ret, writer, report->odd[n]);
    jr_hang_message(&ret->message, report, writer->plan);
    return true;
}

static bool find_cause(struct cause *ret, const struct writer *writer)
{
    const struct jr_report *report = writer->report;
    bool timed =
        report->status == JR_RUN_HUNG || report->status == JR_RUN_TIMED_OUT;
    if (report->causes_count == 0 && timed && report->error == NULL)
        return cause_of_time(ret, writer);
    if (report->causes_count == 0)
        return report->status == JR_RUN_INCOMPLETE
                   ? cause_incomplete(ret, writer)
                   : cause_without_rank(ret, writer);
    set_rank(ret, writer, report->causes[0]);
    ret->kind = kind_of(&ret->line);
    for (size_t c = 1; c < report->causes_count; c++)
        add_together(ret, writer, report->causes[c]);
    return true;
}

static void put_cause(struct jr_buf *out, const struct cause *cause)
{
    const struct jr_plan_rank *rank = cause->line.rank;
    const struct jr_rank_outcome *end = cause->end;
    bool exited = end != NULL && end->end == JR_END_EXITED;
    bool signaled = end != NULL && end->end == JR_END_SIGNALED;
    jr_buf_char(out, '{');
    put_int_or_null(out, "rank", rank != NULL, rank == NULL ? 0 : rank->rank);
    jr_json_put_str(out, "host", cause->line.host);
    jr_json_put_str(out, "kind", cause->kind);
    put_int_or_null(out, "exit_code", exited, exited ? end->exit_code : 0);
    put_signal(out, "signal", signaled ? end->signal : cause->signal);
    jr_json_put_str(out, "message", cause->message.data);
    jr_json_key(out, "together");
    jr_buf_char(out, '[');
    jr_buf_add(out, cause->together.data, cause->together.len);
    jr_buf_str(out, "]}");
    out->failed |= cause->message.failed || cause->together.failed;
}

static void put_root_cause(const struct writer *writer)
{
    struct cause cause = {0};
    if (find_cause(&cause, writer))
        put_cause(writer->out, &cause);
    else
        jr_buf_str(writer->out, "null");
    jr_buf_release(&cause.message);
    jr_buf_release(&cause.together);
}

/* What reasons call the place that every rank delivers to; NULL: it has not
 * the same name for all. */
static const char *common_source(const struct jr_judge *judge)
{
    const char *name = NULL;
    for (uint32_t i = 0; i < judge->outcome->count; i++) {
        const char *source = jr_result_source(judge, i);
        if (name != NULL && strcmp(source, name) != 0)
            return NULL;
        name = source;
    }
    return name;
}

static void put_names(struct jr_buf *out, const char *key, char *const *names,
                      uint32_t count)
{
    jr_json_key(out, key);
    for (uint32_t i = 0; i < count; i++) {
        jr_buf_str(out, i == 0 ? "[" : ", ");
        jr_json_quote(out, names[i]);
    }
    jr_buf_str(out, count == 0 ? "[]" : "]");
}

/* The fields that were compared over the ranks: those of several nodes that had
 * a jobrun each are compared again by what joins them (across.c). */
static void put_compared(struct jr_buf *out, const struct writer *writer)
{
    const struct jr_judge judge = {.plan = writer->plan,
                                   .outcome = writer->outcome,
                                   .wants = &writer->plan->policy->results};
    const struct jr_results *wants = judge.wants;
    if (wants->equal_count + wants->distinct_count == 0) {
        jr_json_put_str(out, "compared", NULL);
        return;
    }
    jr_json_key(out, "compared");
    jr_buf_char(out, '{');
    jr_json_put_str(out, "source", common_source(&judge));
    put_names(out, "equal", wants->equal, wants->equal_count);
    put_names(out, "distinct", wants->distinct, wants->distinct_count);
    jr_buf_char(out, '}');
}

/* Begin the next line of the file. */
static struct jr_buf *next(const struct writer *writer)
{
    jr_buf_str(writer->out, ",\n  ");
    return writer->out;
}

static void add_times(const struct writer *writer)
{
    const struct jr_outcome *run = writer->outcome;
    uint64_t began_ns = jr_report_began_ns(writer->report, run);
    uint64_t began_wall_ns = jr_report_began_wall_ns(writer->report, run);
    jr_json_put_decimal(next(writer), "started", began_wall_ns / MS, 3);
    jr_json_put_decimal(next(writer), "finished", run->ended_wall_ns / MS, 3);
    put_seconds(next(writer), "seconds", true, run->ended_ns - began_ns);
}

/* The keys before `ranks`, one a line. */
static void add_head(const struct writer *writer)
{
    const struct jr_plan *plan = writer->plan;
    const struct jr_report *report = writer->report;
    const char *status = jr_run_status_word(report->status);
    jr_buf_str(writer->out, "{\n  ");
    jr_json_put_int(writer->out, "format_version", FORMAT_VERSION);
    jr_json_put_str(next(writer), "run_id", plan->run_id);
    jr_json_put_str(next(writer), "name", plan->name);
    jr_json_put_str(next(writer), "fingerprint", plan->fingerprint);
    jr_json_put_str(next(writer), "status", status);
    jr_json_put_int(next(writer), "exit_code", report->exit_code);
    jr_json_put_int(next(writer), "attempt", jr_words_attempt(plan));
    add_times(writer);
    jr_json_put_int(next(writer), "world_size", plan->world_size);
    jr_json_put_int(next(writer), "processes_left", writer->outcome->left);
    jr_json_key(next(writer), "root_cause");
    put_root_cause(writer);
    jr_json_put_str(next(writer), "inject", plan->inject);
    jr_earlier_json(next(writer), report);
    jr_json_put_int(next(writer), "failed_alike", (json_int_t)report->idle);
    jr_json_put_str(next(writer), "not_restarted", report->not_again);
    put_compared(next(writer), writer);
    jr_json_key(next(writer), "ranks");
}

/* Let the drain have what there is, once that is enough. False: it ended. */
static bool pass(struct jr_buf *out, const struct jr_drain *drain,
                 size_t enough)
{
    return drain == NULL || out->failed || out->len < enough ||
           drain->take(drain->data, out) == 0;
}

static struct writer begin(struct jr_buf *out, const struct jr_report *report,
                           const struct jr_plan *plan,
                           const struct jr_outcome *outcome)
{
    struct writer writer = {
        .out = out, .report = report, .plan = plan, .outcome = outcome};
    (void)uname(&writer.here);
    return writer;
}

void jr_report_json(struct jr_buf *out, const struct jr_report *report,
                    const struct jr_plan *plan,
                    const struct jr_outcome *outcome,
                    const struct jr_drain *drain)
{
    const struct writer writer = begin(out, report, plan, outcome);
    add_head(&writer);
    jr_buf_char(out, '[');
    for (size_t i = 0; i < report->count; i++) {
        struct line line = line_of(&writer, i);
        jr_buf_str(out, i == 0 ? "\n    " : ",\n    ");
        add_rank(out, &line);
        if (!pass(out, drain, PIECE))
            return;
    }
    jr_buf_str(out, report->count == 0 ? "]\n}\n" : "\n  ]\n}\n");
    (void)pass(out, drain, 0);
}

void jr_report_json_cause(struct jr_buf *out, const struct jr_report *report,
                          const struct jr_plan *plan,
                          const struct jr_outcome *outcome)
{
    const struct writer writer = begin(out, report, plan, outcome);
    put_root_cause(&writer);
}
