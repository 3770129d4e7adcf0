#include "run/process_probe.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/num.h"

#include "base/banned.h"

/* The system calls that wait, by name; others are shown by number. */
struct call {
    long number;
    const char *name;
};

/* clang-format off */
static const struct call calls[] = {
#define CALL(name) {SYS_##name, #name}
    CALL(read),        CALL(write),         CALL(readv),
    CALL(writev),      CALL(pread64),       CALL(pwrite64),
    CALL(futex),       CALL(ppoll),         CALL(pselect6),
    CALL(epoll_pwait), CALL(recvfrom),      CALL(recvmsg),
    CALL(recvmmsg),    CALL(sendto),        CALL(sendmsg),
    CALL(accept),      CALL(accept4),       CALL(connect),
    CALL(wait4),       CALL(waitid),        CALL(nanosleep),
    CALL(ioctl),       CALL(fsync),         CALL(fdatasync),
    CALL(openat),      CALL(flock),         CALL(fcntl),
    CALL(mmap),        CALL(munmap),        CALL(clock_nanosleep),
    CALL(madvise),     CALL(rt_sigsuspend), CALL(rt_sigtimedwait),
    CALL(msgrcv),      CALL(semop),         CALL(sched_yield),
    CALL(statx),       CALL(newfstatat),    CALL(io_uring_enter),
    CALL(execve),      CALL(restart_syscall),
#ifdef SYS_poll /* not on newer architectures */
    CALL(poll),        CALL(select),        CALL(epoll_wait),
    CALL(pause),       CALL(open),          CALL(stat),
#endif
#undef CALL
};
/* clang-format on */

/* A file of a thread, without its last newline; NULL where it cannot be read, or says nothing. */
static const char *read_fact(struct jr_arena *arena, const char *folder, const char *name)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    char path[96];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!jr_io_fact(&text, "", path) || text.len == 0)
        return NULL;
    return jr_buf_keep(&text, arena);
}

/* "running" is none, and so is -1: blocked, but in no call. */
static const char *name_call(struct jr_arena *arena, const char *text)
{
    int64_t number = -1;
    if (text == NULL || sscanf(text, "%" SCNd64, &number) != 1 || number < 0)
        return NULL;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (calls[i].number == number)
            return calls[i].name;
    return jr_arena_printf(arena, "system call %" PRId64, number);
}

static bool read_thread(struct jr_process_probe_thread *ret, struct jr_arena *arena,
                        const char *folder)
{
    char path[96];
    struct jr_process_probe_thread thread = {0};
    (void)snprintf(path, sizeof path, "%s/stat", folder);
    if (!jr_proc_read(&thread.stat, path))
        return false;
    thread.cpu_ns = thread.stat.cpu_ns;
    const char *exact = read_fact(arena, folder, "schedstat");
    if (exact != NULL)
        (void)sscanf(exact, "%" SCNu64, &thread.cpu_ns);
    thread.wchan = read_fact(arena, folder, "wchan");
    if (thread.wchan != NULL && strcmp(thread.wchan, "0") == 0)
        thread.wchan = NULL;
    thread.call = name_call(arena, read_fact(arena, folder, "syscall"));
    thread.stack = read_fact(arena, folder, "stack");
    *ret = thread;
    return true;
}

/* The kernel lists the main thread first. */
static void read_threads(struct jr_process_probe_process *process, struct jr_arena *arena)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)process->stat.pid);
    JR_CLOSEDIR DIR *tasks = opendir(path);
    const struct dirent *entry;
    uint32_t tid;
    while (tasks != NULL && process->count < JR_PROBE_THREADS && (entry = readdir(tasks)) != NULL) {
        char folder[80];
        struct jr_process_probe_thread thread;
        if (!jr_num_u32(entry->d_name, &tid))
            continue;
        (void)snprintf(folder, sizeof folder, "%s/%u", path, tid);
        if (!read_thread(&thread, arena, folder))
            continue;
        struct jr_process_probe_thread *slot =
            jr_arena_push(arena, &process->threads, &process->count, sizeof *slot);
        if (slot == NULL)
            break;
        *slot = thread;
    }
}

void jr_process_probe_read(struct jr_process_probe *ret, const struct jr_proc *all, size_t count,
                           pid_t leader)
{
    size_t family[JR_PROBE_PROCESSES];
    size_t found = jr_proc_family(all, count, leader, family, JR_PROBE_PROCESSES);
    *ret = (struct jr_process_probe){.arena = JR_ARENA_INIT};
    for (size_t i = 0; i < found; i++) {
        struct jr_process_probe_process *process =
            jr_arena_push(&ret->arena, &ret->items, &ret->count, sizeof *process);
        if (process == NULL)
            return;
        process->stat = all[family[i]];
        read_threads(process, &ret->arena);
    }
}

void jr_process_probe_release(struct jr_process_probe *probe)
{
    jr_arena_release(&probe->arena);
    *probe = (struct jr_process_probe){0};
}

/* Since the earlier look, if it was there then. */
static uint64_t thread_used(const struct jr_process_probe_thread *thread,
                            const struct jr_process_probe *before)
{
    uint64_t had = 0;
    for (size_t i = 0; before != NULL && i < before->count; i++)
        for (size_t j = 0; j < before->items[i].count; j++)
            if (before->items[i].threads[j].stat.pid == thread->stat.pid)
                had = before->items[i].threads[j].cpu_ns;
    return thread->cpu_ns > had ? thread->cpu_ns - had : 0;
}

uint64_t jr_process_probe_used(const struct jr_process_probe *probe,
                               const struct jr_process_probe *before)
{
    uint64_t used = 0;
    for (size_t i = 0; i < probe->count; i++)
        for (size_t j = 0; j < probe->items[i].count; j++)
            used += thread_used(&probe->items[i].threads[j], before);
    return used;
}

static json_t *lines_json(const char *text)
{
    json_t *lines = text == NULL ? json_null() : json_array();
    while (text != NULL && *text != '\0') {
        size_t len = strcspn(text, "\n");
        jr_json_append(lines, json_stringn(text, len));
        text += len + (text[len] == '\n');
    }
    return lines;
}

static json_t *thread_json(const struct jr_process_probe_thread *thread,
                           const struct jr_process_probe *before)
{
    json_t *object = json_object();
    char state[2] = {thread->stat.state, '\0'};
    jr_json_set_int(object, "tid", thread->stat.pid);
    jr_json_set_str(object, "name", thread->stat.name);
    jr_json_set_str(object, "state", state);
    jr_json_set_str(object, "wchan", thread->wchan);
    jr_json_set_str(object, "syscall", thread->call);
    uint64_t microseconds = thread_used(thread, before) / 1000;
    jr_json_set_real(object, "cpu_seconds", (double)microseconds / 1e6);
    jr_json_set(object, "stack", lines_json(thread->stack));
    return object;
}

json_t *jr_process_probe_json(const struct jr_process_probe *probe,
                              const struct jr_process_probe *before)
{
    json_t *list = json_array();
    for (size_t i = 0; i < probe->count; i++) {
        const struct jr_process_probe_process *process = &probe->items[i];
        json_t *object = json_object(), *threads = json_array();
        jr_json_set_int(object, "pid", process->stat.pid);
        jr_json_set_int(object, "parent", process->stat.parent);
        jr_json_set_str(object, "name", process->stat.name);
        jr_json_set_int(object, "rss_bytes", (json_int_t)process->stat.rss_bytes);
        for (size_t j = 0; j < process->count; j++)
            jr_json_append(threads, thread_json(&process->threads[j], before));
        jr_json_set(object, "threads", threads);
        jr_json_append(list, object);
    }
    return list;
}
