#include "run/process_probe.h"
#include "unit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void look(struct jr_process_probe *ret, pid_t pid)
{
    size_t count = 0;
    struct jr_proc *all = jr_proc_all(&count);
    CU_ASSERT_PTR_NOT_NULL_FATAL(all);
    jr_process_probe_read(ret, all, count, pid);
    free(all);
}

/* A child that has told that it is there, and waits in a read. */
static pid_t start_reader(int ends[2])
{
    char byte;
    int told[2];
    CU_ASSERT_EQUAL_FATAL(pipe(told), 0);
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        (void)!write(told[1], "x", 1);
        (void)!read(ends[0], &byte, 1);
        _exit(0);
    }
    CU_ASSERT_EQUAL(read(told[0], &byte, 1), 1);
    (void)close(told[0]);
    (void)close(told[1]);
    return child;
}

/* Until it sleeps: it may be on its way to its read. */
static void await_sleep(struct jr_process_probe *ret, pid_t child)
{
    for (;;) {
        look(ret, child);
        CU_ASSERT_EQUAL_FATAL(ret->count, 1);
        if (ret->items[0].threads[0].stat.state == 'S')
            return;
        jr_process_probe_release(ret);
    }
}

TEST(nobody_is_there)
{
    struct jr_process_probe probe;
    look(&probe, -1);
    CU_ASSERT_EQUAL(probe.count, 0);
    json_t *json = jr_process_probe_json(&probe, NULL);
    CU_ASSERT_EQUAL(json_array_size(json), 0);
    json_decref(json);
    jr_process_probe_release(&probe);
}

TEST(tells_what_it_waits_for)
{
    struct jr_process_probe probe;
    int ends[2];
    pid_t child = start_reader(ends);
    await_sleep(&probe, child);
    const struct jr_process_probe_thread *thread = &probe.items[0].threads[0];
    CU_ASSERT_TRUE(probe.items[0].stat.pid == child && probe.items[0].count == 1);
    /* Not every kernel, and not everybody's, tells. */
    if (thread->call != NULL)
        JR_ASSERT_TEXT(thread->call, "read");
    json_t *json = jr_process_probe_json(&probe, &probe);
    json_t *first = json_array_get(json_object_get(json_array_get(json, 0), "threads"), 0);
    JR_ASSERT_TEXT(jr_json_get_str(first, "state"), "S");
    CU_ASSERT_EQUAL(json_number_value(json_object_get(first, "cpu_seconds")), 0);
    json_decref(json);
    jr_process_probe_release(&probe);
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* Two looks at ourselves, between which time is spent. */
TEST(counts_time_between_looks)
{
    struct jr_process_probe before, now;
    look(&before, getpid());
    CU_ASSERT_EQUAL(jr_process_probe_used(&before, &before), 0);
    do {
        for (volatile unsigned i = 0; i < 10000000; i++)
            continue;
        look(&now, getpid());
        if (jr_process_probe_used(&now, &before) > 0)
            break;
        jr_process_probe_release(&now);
    } while (true);
    CU_ASSERT_TRUE(jr_process_probe_used(&now, NULL) >= jr_process_probe_used(&now, &before));
    jr_process_probe_release(&before);
    jr_process_probe_release(&now);
}
