#include "judge/thread_state.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"

#include "base/banned.h"

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

static const json_t *find_child_process(const json_t *processes,
                                        const json_t *parent)
{
    json_int_t pid = jr_json_get_int(parent, "pid");
    for (size_t i = 1; i < json_array_size(processes); i++) {
        const json_t *process = json_array_get(processes, i);
        if (jr_json_get_int(process, "parent") == pid)
            return process;
    }
    return NULL;
}

/* A shell waits for what it has started: that is who matters. */
static const json_t *focused_process(const json_t *evidence)
{
    const json_t *processes = json_object_get(evidence, "processes");
    const json_t *process = json_array_get(processes, 0);
    for (size_t i = 1; i < json_array_size(processes) &&
                       waits_for_child(main_thread(process));
         i++) {
        const json_t *child = find_child_process(processes, process);
        if (child == NULL)
            break;
        process = child;
    }
    return process;
}

/* "futex (futex_do_wait)", as far as it is known. */
static void add_waiting_place(struct jr_buf *out, const char *words,
                              const json_t *thread)
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
static void add_heading(struct jr_buf *out, const json_t *evidence)
{
    double silence = jr_thread_state_silence(evidence);
    jr_buf_printf(out, "rank %lld   pid %lld   ",
                  jr_json_get_int(evidence, "rank"),
                  jr_json_get_int(evidence, "pid"));
    jr_thread_state_words(out, evidence);
    jr_buf_printf(out, "   %.2f s of CPU in %.2f s",
                  jr_json_get_real(evidence, "cpu_seconds"),
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

static void print_thread(struct jr_buf *out, const json_t *thread,
                         size_t others)
{
    const char *name = jr_json_get_str(thread, "name"), *state;
    const json_t *stack = json_object_get(thread, "stack");
    JR_BUF_CLEANUP struct jr_buf safe = JR_BUF_INIT;
    jr_buf_safe(&safe, name == NULL ? "?" : name);
    state = jr_json_get_str(thread, "state");
    jr_buf_printf(out, "    %-8lld %-16s %-2.1s %6.2f s  ",
                  jr_json_get_int(thread, "tid"), safe.failed ? "?" : safe.data,
                  state == NULL ? "?" : state,
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
        while (next < count &&
               are_threads_alike(thread, json_array_get(threads, next)))
            next++;
        print_thread(out, thread, next - i - 1);
    }
}

void jr_thread_state_stacks(struct jr_buf *out, const json_t *evidence)
{
    const json_t *processes = json_object_get(evidence, "processes");
    add_heading(out, evidence);
    for (size_t i = 0; i < json_array_size(processes); i++)
        print_process(out, json_array_get(processes, i));
}
