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

enum { FORMAT_VERSION = 1 };

/* Everything that a rank's line is made of. */
struct line {
    const struct jr_plan *plan;
    const struct jr_plan_rank *rank;
    const struct jr_rank_outcome *outcome;
    const struct jr_rank_report *report;
    const char *host;
};

/* A duration as seconds, to the microsecond. */
static double seconds(uint64_t ns)
{
    uint64_t microseconds = ns / 1000;
    return (double)microseconds / 1e6;
}

static void set_signal(json_t *object, const char *key, int signal)
{
    char name[JR_SIGNAL_NAME];
    if (signal != 0)
        jr_signal_name(name, signal);
    jr_json_set_str(object, key, signal == 0 ? NULL : name);
}

/* What jobrun sent it to end it, in that order. */
static json_t *stop_signals(const struct jr_rank_outcome *end)
{
    char name[JR_SIGNAL_NAME];
    json_t *names = json_array();
    jr_signal_name(name, end->stopped_with);
    if (end->stopped_with != 0)
        jr_json_append(names, json_string(name));
    if (end->killed && end->stopped_with != SIGKILL)
        jr_json_append(names, json_string("SIGKILL"));
    return names;
}

static void set_int_or_null(json_t *object, const char *key, bool there,
                            json_int_t value)
{
    if (there)
        jr_json_set_int(object, key, value);
    else
        jr_json_set_null(object, key);
}

static json_t *coordinates(const struct jr_plan_rank *rank)
{
    json_t *object = json_object();
    for (int axis = 0; axis < JR_AXIS_COUNT; axis++)
        jr_json_set_int(object, jr_words_axis(axis), rank->at[axis]);
    return object;
}

static void add_identity(json_t *object, const struct line *line)
{
    const struct jr_plan_rank *rank = line->rank;
    jr_json_set_int(object, "rank", rank->rank);
    jr_json_set_int(object, "local_rank", rank->local_rank);
    jr_json_set_int(object, "node_rank", rank->node_rank);
    jr_json_set_str(object, "host", line->host);
    set_int_or_null(object, "pid", line->outcome->pid != 0, line->outcome->pid);
    jr_json_set_str(object, "device", rank->device);
    jr_json_set(object, "coordinates", coordinates(rank));
}

static void set_injected(json_t *object, const struct jr_rank_outcome *end)
{
#define WORD(name, word, help) word,
    static const char *const words[] = {JR_INJECTS(WORD)};
    jr_json_set_str(object, "injected",
                    end->injected ? words[end->injection] : NULL);
}

static void add_end(json_t *object, const struct line *line)
{
    const struct jr_rank_outcome *end = line->outcome;
    bool lived = end->pid != 0 && end->ended_ns >= end->started_ns;
    bool signaled = end->end == JR_END_SIGNALED;
    jr_json_set_str(object, "state", jr_rank_state_word(line->report->state));
    set_int_or_null(object, "exit_code", end->end == JR_END_EXITED,
                    end->exit_code);
    set_signal(object, "signal", signaled ? end->signal : 0);
    jr_json_set_bool(object, "core_dumped", signaled && end->core_dumped);
    jr_json_set(object, "stop_signals", stop_signals(end));
    set_injected(object, end);
    if (lived)
        jr_json_set_real(object, "seconds",
                         seconds(end->ended_ns - end->started_ns));
    else
        jr_json_set_null(object, "seconds");
    set_int_or_null(object, "max_rss_bytes", end->max_rss_bytes != 0,
                    (json_int_t)end->max_rss_bytes);
    if (lived)
        jr_json_set_real(object, "cpu_seconds", seconds(end->cpu_ns));
    else
        jr_json_set_null(object, "cpu_seconds");
}

static void add_result(json_t *object, const struct line *line)
{
    const struct jr_plan_rank *rank = line->rank;
    const struct jr_rank_report *report = line->report;
    jr_json_set_str(object, "stdout", rank->out_path);
    jr_json_set_str(object, "stderr", rank->err_path);
    jr_json_set(
        object, "dropped_bytes",
        json_pack("{s:I,s:I}", "stdout",
                  (json_int_t)line->outcome->dropped[0], "stderr",
                  (json_int_t)line->outcome->dropped[1]));
    jr_json_set_str(object, "error_file",
                    report->error_file ? rank->error_path : NULL);
    jr_json_set_str(object, "error",
                    report->reason != NULL ? report->reason : report->error);
    if (report->result != NULL)
        json_object_set(object, "result", report->result);
    else
        jr_json_set_null(object, "result");
    jr_json_set_str(object, "result_error",
                    report->result_error == JR_RESULT_NONE
                        ? NULL
                        : jr_result_error_word(report->result_error));
}

static void add_rank(struct jr_buf *out, const struct line *line)
{
    json_t *object = json_object();
    add_identity(object, line);
    add_end(object, line);
    add_result(object, line);
    jr_json_print(out, object, 0);
    json_decref(object);
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

/* A cause that is not a rank: jobrun's own end, what kept it from beginning, or
 * time. */
static json_t *cause_without_rank(const struct jr_report *report,
                                  const struct jr_outcome *outcome)
{
    char name[JR_SIGNAL_NAME] = "", text[64];
    const char *message = text;
    const char *kind = "signal";
    int signal = outcome->stop_signal;
    if (report->error != NULL) {
        kind = "start";
        message = report->error;
    } else if (signal != 0) {
        jr_signal_name(name, signal);
        (void)snprintf(text, sizeof text, "jobrun was stopped by %s", name);
    } else if (outcome->runner_signal != 0) {
        signal = outcome->runner_signal;
        jr_signal_name(name, signal);
        (void)snprintf(text, sizeof text, "jobrun's runner was killed by %s",
                       name);
    } else {
        return NULL;
    }
    json_t *cause = json_object();
    jr_json_set_null(cause, "rank");
    jr_json_set_null(cause, "host");
    jr_json_set_str(cause, "kind", kind);
    jr_json_set_null(cause, "exit_code");
    set_signal(cause, "signal", strcmp(kind, "signal") == 0 ? signal : 0);
    jr_json_set_str(cause, "message", message);
    jr_json_set(cause, "together", json_array());
    return cause;
}

/* The message of a cause: its own words, else how it ended. */
static void set_message(json_t *cause, const struct line *line)
{
    JR_BUF_CLEANUP struct jr_buf end = JR_BUF_INIT;
    const char *own = line->report->reason != NULL ? line->report->reason
                                                   : line->report->error;
    if (own == NULL)
        jr_words_end(&end, line->outcome);
    jr_json_set_str(cause, "message", own != NULL ? own : end.data);
}

static json_t *cause_of_ranks(const struct line *line, const char *kind,
                              json_t *together)
{
    const struct jr_rank_outcome *end = line->outcome;
    json_t *cause = json_object();
    jr_json_set_int(cause, "rank", line->rank->rank);
    jr_json_set_str(cause, "host", line->host);
    jr_json_set_str(cause, "kind", kind);
    set_int_or_null(cause, "exit_code", end->end == JR_END_EXITED,
                    end->exit_code);
    set_signal(cause, "signal", end->end == JR_END_SIGNALED ? end->signal : 0);
    set_message(cause, line);
    jr_json_set(cause, "together", together);
    return cause;
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
        .plan = writer->plan,
        .rank = rank,
        .outcome = &writer->outcome->ranks[i],
        .report = &writer->report->ranks[i],
        .host = jr_words_host(writer->plan, rank->node_rank, &writer->here),
    };
}

static json_t *cause_incomplete(const struct writer *writer)
{
    json_t *together = json_array();
    size_t first = writer->report->count;
    for (size_t i = 0; i < writer->report->count; i++) {
        if (writer->report->ranks[i].state != JR_RANK_INCOMPLETE)
            continue;
        if (first == writer->report->count)
            first = i;
        else
            jr_json_append(
                together, json_integer(jr_plan_of(writer->plan, i)->rank));
    }
    if (first == writer->report->count) {
        json_decref(together);
        return NULL;
    }
    struct line line = line_of(writer, first);
    return cause_of_ranks(&line, "result", together);
}

/* A run that met one of its timeouts, with who differs from the others. */
static json_t *cause_of_time(const struct writer *writer)
{
    const struct jr_report *report = writer->report;
    JR_BUF_CLEANUP struct jr_buf message = JR_BUF_INIT;
    json_t *cause = json_object(), *together = json_array();
    bool odd = report->odd_count > 0;
    struct line line = {0};
    if (odd)
        line = line_of(writer, report->odd[0]);
    for (size_t n = 1; n < report->odd_count; n++)
        jr_json_append(
            together,
            json_integer(jr_plan_of(writer->plan, report->odd[n])->rank));
    jr_hang_message(&message, report, writer->plan);
    set_int_or_null(cause, "rank", odd, odd ? line.rank->rank : 0);
    jr_json_set_str(cause, "host", line.host);
    jr_json_set_str(cause, "kind",
                    report->status == JR_RUN_HUNG ? "hang" : "timeout");
    jr_json_set_null(cause, "exit_code");
    jr_json_set_null(cause, "signal");
    jr_json_set_str(cause, "message", message.failed ? NULL : message.data);
    jr_json_set(cause, "together", together);
    return cause;
}

static json_t *root_cause(const struct writer *writer)
{
    const struct jr_report *report = writer->report;
    bool timed = report->status == JR_RUN_HUNG ||
                 report->status == JR_RUN_TIMED_OUT;
    if (report->causes_count == 0 && timed && report->error == NULL)
        return cause_of_time(writer);
    if (report->causes_count == 0)
        return report->status == JR_RUN_INCOMPLETE
                   ? cause_incomplete(writer)
                   : cause_without_rank(report, writer->outcome);
    json_t *together = json_array();
    for (size_t c = 1; c < report->causes_count; c++)
        jr_json_append(
            together,
            json_integer(jr_plan_of(writer->plan, report->causes[c])->rank));
    struct line line = line_of(writer, report->causes[0]);
    return cause_of_ranks(&line, kind_of(&line), together);
}

/* The keys before `ranks`, one a line. */
static void add_head(const struct writer *writer)
{
    const struct jr_outcome *run = writer->outcome;
    const struct jr_report *report = writer->report;
    json_t *head = json_object();
    jr_json_set_int(head, "format_version", FORMAT_VERSION);
    jr_json_set_str(head, "run_id", writer->plan->run_id);
    jr_json_set_str(head, "name", writer->plan->name);
    jr_json_set_str(head, "fingerprint", writer->plan->fingerprint);
    jr_json_set_str(head, "status", jr_run_status_word(report->status));
    jr_json_set_int(head, "exit_code", report->exit_code);
    jr_json_set_int(head, "attempt", jr_words_attempt(writer->plan));
    jr_json_set_real(head, "started",
                     jr_words_wall(jr_report_began_wall_ns(report, run)));
    jr_json_set_real(head, "finished", jr_words_wall(run->ended_wall_ns));
    jr_json_set_real(head, "seconds",
                     seconds(run->ended_ns - jr_report_began_ns(report, run)));
    jr_json_set_int(head, "world_size", writer->plan->world_size);
    jr_json_set_int(head, "processes_left", run->left);
    json_t *cause = root_cause(writer);
    jr_json_set(head, "root_cause",
                        cause == NULL ? json_null() : cause);
    jr_json_set_str(head, "inject", writer->plan->inject);
    jr_json_set(head, "attempts", jr_earlier_json(report));
    jr_json_set_int(head, "failed_alike", (json_int_t)report->idle);
    jr_json_set_str(head, "not_restarted", report->not_again);
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(head, key, value)
    {
        jr_buf_printf(writer->out, "  \"%s\": ", key);
        jr_json_print(writer->out, value, 0);
        jr_buf_str(writer->out, ",\n");
    }
    json_decref(head);
}

void jr_report_json(struct jr_buf *out, const struct jr_report *report,
                    const struct jr_plan *plan,
                    const struct jr_outcome *outcome)
{
    struct writer writer = {
        .out = out, .report = report, .plan = plan, .outcome = outcome};
    (void)uname(&writer.here);
    jr_buf_str(out, "{\n");
    add_head(&writer);
    jr_buf_str(out, "  \"ranks\": [");
    for (size_t i = 0; i < report->count; i++) {
        struct line line = line_of(&writer, i);
        jr_buf_str(out, i == 0 ? "\n    " : ",\n    ");
        add_rank(out, &line);
    }
    jr_buf_str(out, report->count == 0 ? "]\n}\n" : "\n  ]\n}\n");
}
