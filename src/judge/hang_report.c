/*
 * Which ranks cause a hang, in which no rank has failed and nothing continues. The ranks of a job
 * do the same thing; in a hang most of them wait for one that does something else. So ranks are
 * grouped by what they were doing, as their evidence says, and the smallest group is the one that
 * differs. If all do the same, it is the rank that fell silent well before the others. If there is
 * no such difference, no rank is named, and the report still shows what they did.
 */
#include "judge/hang_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/num.h"
#include "judge/judge.h"
#include "judge/words.h"
#include "store/progress.h"

#include "base/banned.h"

/* A rank fell silent first if its silence is longer than the next one by at least so many seconds,
 * and by this part of the next one. */
static const double FIRST_BY = 1.0, FIRST_PART = 0.1;

/* Bytes of a rank's evidence; jobrun cuts it long before that. */
enum { EVIDENCE_MOST = 64 << 20 };

static void add_to_group(struct jr_judgement *report, const char *activity, uint32_t i,
                         double silence)
{
    struct jr_hang_group *group = report->hang;
    while (group != NULL && strcmp(group->activity, activity) != 0)
        group = group->next;
    if (group == NULL) {
        group = jr_arena_alloc(&report->arena, sizeof *group);
        if (group == NULL)
            return;
        *group = (struct jr_hang_group){
            .activity = jr_arena_strdup(&report->arena, activity),
            .ranks = jr_arena_array(&report->arena, report->count, sizeof *group->ranks),
            .silence = silence,
            .next = report->hang};
        report->hang = group;
    }
    if (group->ranks != NULL)
        group->ranks[group->count++] = i;
    if (silence > group->silence)
        group->silence = silence;
}

/* The smallest group comes first. */
static void sort_groups(struct jr_judgement *report)
{
    struct jr_hang_group *sorted = NULL;
    while (report->hang != NULL) {
        struct jr_hang_group *group = report->hang, **at = &sorted;
        report->hang = group->next;
        while (*at != NULL && (*at)->count <= group->count)
            at = &(*at)->next;
        group->next = *at;
        *at = group;
    }
    report->hang = sorted;
}

/* Group the ranks by what they did, and blame the group that differs, or who fell silent first. */
static void find_odd(struct jr_judge *judge)
{
    struct jr_judgement *report = judge->report;
    double longest = -1, next = -1; /* the longest silences of all */
    uint32_t who = 0;               /* the longest is its */
    for (uint32_t i = 0; i < report->count; i++) {
        JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT, text = JR_BUF_INIT, activity = JR_BUF_INIT;
        const char *dir = jr_plan_of(judge->plan, i)->dir;
        jr_buf_printf(&path, "%s/hang.json", dir == NULL ? "." : dir);
        if (path.failed ||
            jr_run_file_read(&text, judge->run_fd, path.data, EVIDENCE_MOST, NULL) != 0)
            continue;
        json_t *evidence = jr_json_parse(text.data, text.len, NULL);
        if (evidence == NULL)
            continue;
        double silence = jr_thread_state_silence(evidence);
        jr_thread_state_words(&activity, evidence);
        json_decref(evidence);
        if (activity.failed)
            continue;
        add_to_group(report, activity.data, i, silence);
        who = silence > longest ? i : who;
        next = fmax(next, fmin(silence, longest));
        longest = fmax(longest, silence);
    }
    sort_groups(report);
    const struct jr_hang_group *first = report->hang;
    const struct jr_hang_group *second = first == NULL ? NULL : first->next;
    if (second != NULL && first->count < second->count) {
        report->odd = first->ranks;
        report->odd_count = first->count;
    } else if (next >= 0 && longest - next >= fmax(next * FIRST_PART, FIRST_BY)) {
        report->odd = jr_arena_array(&report->arena, 1, sizeof *report->odd);
        report->odd_count = report->odd != NULL;
        if (report->odd != NULL)
            report->odd[0] = who;
        report->odd_silent = true;
    }
}

static void add_duration(struct jr_buf *out, const char *before, uint64_t ms)
{
    jr_buf_str(out, before);
    if (ms > 0)
        jr_num_add_duration(out, ms);
    else /* a record does not say */
        jr_buf_str(out, "the time");
}

/* "no step beyond 120 for 15m" */
static void describe_step_limit(struct jr_buf *out, struct jr_judge *judge)
{
    const struct jr_timeouts *timeouts = &judge->plan->policy->timeouts;
    const struct jr_progress *progress = judge->outcome->progress;
    if (judge->outcome->timed_out_by == JR_TIMEOUT_FIRST_STEP) {
        add_duration(out, "no first step within ", timeouts->first_step_ms);
        jr_buf_str(out, " (timeouts.first_step)");
        return;
    }
    jr_buf_str(out, "no step ");
    if (progress != NULL && progress->job.any)
        jr_buf_printf(out, "beyond %lld ", (long long)progress->job.best);
    add_duration(out, "for ", timeouts->progress_ms);
    jr_buf_str(out, " (timeouts.progress)");
}

/* Which limit was met. */
static const char *describe_overrun(struct jr_judge *judge)
{
    const struct jr_timeouts *timeouts = &judge->plan->policy->timeouts;
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    if (judge->outcome->timed_out_by == JR_TIMEOUT_SILENCE) {
        add_duration(&text, "no output from any rank for ", timeouts->silence_ms);
        jr_buf_str(&text, " (timeouts.silence)");
    } else if (judge->outcome->timed_out_by == JR_TIMEOUT_AFTER_FIRST_EXIT) {
        add_duration(&text, "not all ended within ", timeouts->after_first_exit_ms);
        jr_buf_str(&text, " of the first (timeouts.after_first_exit)");
    } else if (judge->outcome->timed_out_by == JR_TIMEOUT_PROGRESS ||
               judge->outcome->timed_out_by == JR_TIMEOUT_FIRST_STEP) {
        describe_step_limit(&text, judge);
    } else {
        jr_buf_str(&text, "longer than timeouts.run");
        if (timeouts->run_ms > 0) {
            jr_buf_str(&text, ", which is ");
            jr_clock_human(&text, timeouts->run_ms * UINT64_C(1000000));
        }
    }
    return jr_buf_keep(&text, &judge->report->arena);
}

void jr_hang_find(struct jr_judge *judge)
{
    enum jr_timeout by = judge->outcome->timed_out_by;
    if (by == JR_TIMEOUT_NONE || by == JR_TIMEOUT_START)
        return;
    if (by != JR_TIMEOUT_RUN)
        find_odd(judge);
    if (judge->report->overrun == NULL)
        judge->report->overrun = describe_overrun(judge);
}

void jr_hang_group_text(struct jr_buf *out, const struct jr_plan *plan,
                        const struct jr_hang_group *group)
{
    JR_FREE uint32_t *ranks = calloc(group->count + 1, sizeof *ranks);
    for (size_t i = 0; ranks != NULL && i < group->count; i++)
        ranks[i] = jr_plan_of(plan, group->ranks[i])->rank;
    if (ranks != NULL)
        jr_words_ranks(out, ranks, group->count);
    jr_buf_printf(out, " %s", group->activity);
    if (group->silence < 0)
        return;
    jr_buf_str(out, ", silent for ");
    jr_clock_human(out, jr_clock_ns_of(group->silence));
}

void jr_hang_message(struct jr_buf *out, const struct jr_judgement *report,
                     const struct jr_plan *plan)
{
    jr_buf_str(out, report->overrun);
    if (report->odd_count == 0)
        return;
    jr_buf_str(out, "; ");
    if (report->odd_silent)
        jr_buf_printf(out, "rank %u fell silent first", jr_plan_of(plan, report->odd[0])->rank);
    else
        jr_hang_group_text(out, plan, report->hang);
}

/* Of one processor, over the time between the two looks. */
static const double BUSY = 0.5;

double jr_thread_state_silence(const json_t *evidence)
{
    const json_t *value = json_object_get(evidence, "silent_seconds");
    return json_is_number(value) ? json_number_value(value) : -1;
}

static const json_t *main_thread(const json_t *process)
{
    return json_array_get(json_object_get(process, "threads"), 0);
}

static bool waits_for_child(const json_t *thread)
{
    const char *call = jr_json_get_str(thread, "syscall");
    const char *wchan = jr_json_get_str(thread, "wchan");
    if (call != NULL)
        return strcmp(call, "wait4") == 0 || strcmp(call, "waitid") == 0;
    return wchan != NULL && strcmp(wchan, "do_wait") == 0;
}

/* A shell waits for what it has started: that is who matters. */
static const json_t *focused_process(const json_t *evidence)
{
    const json_t *processes = json_object_get(evidence, "processes");
    const json_t *process = json_array_get(processes, 0);
    size_t count = json_array_size(processes);
    for (size_t i = 1; i < count && waits_for_child(main_thread(process)); i++) {
        json_int_t pid = jr_json_get_int(process, "pid");
        size_t child = 1;
        while (child < count && jr_json_get_int(json_array_get(processes, child), "parent") != pid)
            child++;
        if (child == count)
            break;
        process = json_array_get(processes, child);
    }
    return process;
}

/* "futex (futex_do_wait)", as far as it is known. */
static void add_waiting_place(struct jr_buf *out, const char *words, const json_t *thread)
{
    const char *call = jr_json_get_str(thread, "syscall");
    const char *wchan = jr_json_get_str(thread, "wchan");
    jr_buf_str(out, words);
    if (call == NULL && wchan == NULL)
        return;
    jr_buf_str(out, " in ");
    jr_buf_safe(out, call != NULL ? call : wchan);
    if (call == NULL || wchan == NULL)
        return;
    jr_buf_str(out, " (");
    jr_buf_safe(out, wchan);
    jr_buf_char(out, ')');
}

static void add_thread(struct jr_buf *out, const json_t *thread)
{
    const char *state = jr_json_get_str(thread, "state");
    switch (state == NULL ? '?' : state[0]) {
    case 'R':
        jr_buf_str(out, "running");
        break;
    case 'S':
    case 'I':
        add_waiting_place(out, "waiting", thread);
        break;
    case 'D':
        add_waiting_place(out, "stuck", thread);
        break;
    case 'T':
        jr_buf_str(out, "stopped by a signal");
        break;
    case 't':
        jr_buf_str(out, "stopped by a debugger");
        break;
    case 'Z':
    case 'X':
        jr_buf_str(out, "ending");
        break;
    default:
        jr_buf_str(out, "in no known state");
        break;
    }
}

void jr_thread_state_words(struct jr_buf *out, const json_t *evidence)
{
    double used = jr_json_get_real(evidence, "cpu_seconds");
    double interval = jr_json_get_real(evidence, "interval_seconds");
    const json_t *thread = main_thread(focused_process(evidence));
    const char *state = jr_json_get_str(thread, "state");
    bool running = state != NULL && strcmp(state, "R") == 0;
    if (thread == NULL)
        jr_buf_str(out, "gone");
    else if (running || (interval > 0 && used >= BUSY * interval))
        jr_buf_str(out, "using the CPU");
    else
        add_thread(out, thread);
}

/* "rank 3   pid 4711   using the CPU   0.49 s of CPU in 0.50 s   silent ..." */
static void add_stack_heading(struct jr_buf *out, const json_t *evidence)
{
    double silence = jr_thread_state_silence(evidence);
    jr_buf_printf(out, "rank %lld   pid %lld   ", jr_json_get_int(evidence, "rank"),
                  jr_json_get_int(evidence, "pid"));
    jr_thread_state_words(out, evidence);
    jr_buf_printf(out, "   %.2f s of CPU in %.2f s", jr_json_get_real(evidence, "cpu_seconds"),
                  jr_json_get_real(evidence, "interval_seconds"));
    if (silence >= 0) {
        jr_buf_str(out, "   silent for ");
        jr_clock_human(out, jr_clock_ns_of(silence));
    }
    jr_buf_char(out, '\n');
}

static bool has_stack(const json_t *thread)
{
    return json_array_size(json_object_get(thread, "stack")) > 0;
}

static bool is_same_text(const json_t *a, const json_t *b, const char *key)
{
    return json_equal(json_object_get(a, key), json_object_get(b, key)) == 1;
}

static bool are_threads_alike(const json_t *a, const json_t *b)
{
    return !has_stack(a) && !has_stack(b) && is_same_text(a, b, "name") &&
           is_same_text(a, b, "state") && is_same_text(a, b, "wchan") &&
           is_same_text(a, b, "syscall");
}

static void print_thread(struct jr_buf *out, const json_t *thread, size_t others)
{
    const char *name = jr_json_get_str(thread, "name"), *state;
    const json_t *stack = json_object_get(thread, "stack");
    JR_BUF_CLEANUP struct jr_buf safe = JR_BUF_INIT;
    jr_buf_safe(&safe, name == NULL ? "?" : name);
    state = jr_json_get_str(thread, "state");
    jr_buf_printf(out, "    %-8lld %-16s %-2.1s %6.2f s  ", jr_json_get_int(thread, "tid"),
                  safe.failed ? "?" : safe.data, state == NULL ? "?" : state,
                  jr_json_get_real(thread, "cpu_seconds"));
    add_thread(out, thread);
    if (others > 0)
        jr_buf_printf(out, ", and %zu more like it", others);
    jr_buf_char(out, '\n');
    for (size_t i = 0; i < json_array_size(stack); i++) {
        const char *line = json_string_value(json_array_get(stack, i));
        jr_buf_str(out, "        ");
        jr_buf_safe(out, line == NULL ? "" : line);
        jr_buf_char(out, '\n');
    }
}

static void print_process(struct jr_buf *out, const json_t *process)
{
    const json_t *threads = json_object_get(process, "threads");
    const char *name = jr_json_get_str(process, "name");
    size_t count = json_array_size(threads);
    jr_buf_printf(out, "  process %lld ", jr_json_get_int(process, "pid"));
    jr_buf_safe(out, name == NULL ? "?" : name);
    jr_buf_printf(out, ", %zu thread%s\n", count, count == 1 ? "" : "s");
    for (size_t i = 0, next; i < count; i = next) {
        const json_t *thread = json_array_get(threads, i);
        next = i + 1;
        while (next < count && are_threads_alike(thread, json_array_get(threads, next)))
            next++;
        print_thread(out, thread, next - i - 1);
    }
}

void jr_thread_state_stacks(struct jr_buf *out, const json_t *evidence)
{
    const json_t *processes = json_object_get(evidence, "processes");
    add_stack_heading(out, evidence);
    for (size_t i = 0; i < json_array_size(processes); i++)
        print_process(out, json_array_get(processes, i));
}
