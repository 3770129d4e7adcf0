#include "drive.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "unit.h"

static void nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

static long now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void arrange_descriptors(unsigned how, int out)
{
    if ((how & JR_DRIVE_TERMINAL) == 0) {
        int err = open("err", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
        if (out < 0)
            out = open("out", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
        (void)dup2(out, STDOUT_FILENO);
        (void)dup2(err, STDERR_FILENO);
    }
    if ((how & JR_DRIVE_CLOSED) != 0)
        for (int fd = 0; fd < 3; fd++)
            (void)close(fd);
    for (unsigned i = 0; (how & JR_DRIVE_CROWDED) != 0 && i < how >> 8; i++)
        (void)dup2(STDERR_FILENO, (int)(3 + i));
}

static void arrange_signals(unsigned how)
{
    if ((how & JR_DRIVE_NOHUP) != 0) {
        (void)signal(SIGHUP, SIG_IGN);
        (void)signal(SIGINT, SIG_IGN);
    }
    if ((how & JR_DRIVE_NOCHLD) != 0)
        (void)signal(SIGCHLD, SIG_IGN);
}

/* Everything that happens between fork and exec of the driver. */
static void become_driver(const struct jr_drive *drive, unsigned how, int out, const char *words)
{
    char *argv[1100] = {(char *)TEST_RUNDRIVER, (char *)"outcome=outcome"};
    int argc = 2;
    char *copy = strdup(words), *rest = copy;
    for (char *word; (word = strsep(&rest, " ")) != NULL && argc < 1099;)
        if (word[0] != '\0')
            argv[argc++] = strcmp(word, "%F") == 0 ? (char *)TEST_FAKERANK : word;
    if (chdir(drive->folder) != 0 || setenv("JR_MARK", drive->mark, 1) != 0)
        _exit(98);
    arrange_descriptors(how, out);
    arrange_signals(how);
    (void)execv(argv[0], argv);
    _exit(98);
}

static void make_fifo(const struct jr_drive *drive, const char *name)
{
    char path[96];
    (void)snprintf(path, sizeof path, "%s/%s", drive->folder, name);
    if (mkfifo(path, 0600) != 0)
        abort();
}

void jr_drive_start(struct jr_drive *drive, unsigned how, const char *words)
{
    int ends[2] = {-1, -1};
    *drive = (struct jr_drive){.folder = "/tmp/jobrun-test-XXXXXX", .terminal = -1, .from = -1};
    if (mkdtemp(drive->folder) == NULL)
        abort();
    (void)snprintf(drive->mark, sizeof drive->mark, "%s", drive->folder);
    make_fifo(drive, "ready");
    make_fifo(drive, "go");
    if ((how & JR_DRIVE_PIPE) != 0 && pipe2(ends, O_CLOEXEC) != 0)
        abort();
    drive->pid =
        (how & JR_DRIVE_TERMINAL) != 0
            ? forkpty(&drive->terminal, NULL, NULL, &(struct winsize){.ws_col = 40, .ws_row = 10})
            : fork();
    if (drive->pid == 0)
        become_driver(drive, how, ends[1], words);
    if (ends[1] >= 0)
        (void)close(ends[1]);
    drive->from = ends[0];
}

bool jr_drive_ready(struct jr_drive *drive, unsigned count)
{
    char path[96], bytes[256];
    (void)snprintf(path, sizeof path, "%s/ready", drive->folder);
    /* Read and write: so that it has no end before the first writer. */
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    while (count > 0 && poll(&wait, 1, JR_DRIVE_WAIT_MS) == 1) {
        ssize_t len = read(fd, bytes, count < 256 ? count : 256);
        count -= len > 0 ? (unsigned)len : 0;
    }
    (void)close(fd);
    return count == 0;
}

void jr_drive_go(const struct jr_drive *drive)
{
    char path[96];
    (void)snprintf(path, sizeof path, "%s/go", drive->folder);
    (void)close(open(path, O_WRONLY | O_CLOEXEC));
}

void jr_drive_go_all(const struct jr_drive *drive)
{
    char path[96];
    (void)snprintf(path, sizeof path, "%s/go", drive->folder);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    /* Who opens it until here has a writer, and who is later finds nothing. */
    (void)unlink(path);
    (void)close(fd);
}

bool jr_drive_ends(const struct jr_drive *drive, int limit_ms)
{
    siginfo_t info = {0};
    int pidfd = (int)syscall(SYS_pidfd_open, drive->pid, 0);
    struct pollfd wait = {.fd = pidfd, .events = POLLIN};
    if (pidfd >= 0) {
        bool ended = poll(&wait, 1, limit_ms) == 1;
        (void)close(pidfd);
        return ended;
    }
    /* Under a filter that denies pidfds (tests/system/deny.c). */
    for (int ms = 0; ms < limit_ms && info.si_pid == 0; ms++) {
        (void)usleep(1000);
        (void)waitid(P_PID, (id_t)drive->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    }
    return info.si_pid != 0;
}

bool jr_drive_end(struct jr_drive *drive)
{
    bool ended = jr_drive_ends(drive, JR_DRIVE_WAIT_MS);
    if (!ended) {
        (void)printf("\n    %s took too long\n", drive->folder);
        (void)kill(drive->pid, SIGKILL);
    }
    (void)waitpid(drive->pid, &drive->status, 0);
    drive->pid = 0;
    return ended;
}

bool jr_drive_run(struct jr_drive *drive, const char *words)
{
    jr_drive_start(drive, JR_DRIVE_FILES, words);
    return jr_drive_end(drive);
}

char *jr_drive_read(const struct jr_drive *drive, const char *name, size_t *ret_len)
{
    char path[256];
    char *text = NULL;
    size_t len = 0;
    (void)snprintf(path, sizeof path, "%s/%s", drive->folder, name);
    FILE *file = fopen(path, "re");
    FILE *memory = open_memstream(&text, &len);
    char bytes[65536];
    for (size_t got; file != NULL && (got = fread(bytes, 1, sizeof bytes, file)) > 0;)
        (void)fwrite(bytes, 1, got, memory);
    if (file != NULL)
        (void)fclose(file);
    (void)fclose(memory);
    if (ret_len != NULL)
        *ret_len = len;
    return text;
}

bool jr_drive_has(const struct jr_drive *drive, const char *name, const char *text)
{
    char *held = jr_drive_read(drive, name, NULL);
    bool found = strstr(held, text) != NULL;
    if (!found)
        (void)printf("\n    %s: no '%s' in\n%.2000s", name, text, held);
    free(held);
    return found;
}

/* Whether the process `pid` was started by this run. */
static bool is_marked(const struct jr_drive *drive, const char *pid)
{
    char path[300], wanted[80], bytes[65536];
    (void)snprintf(path, sizeof path, "/proc/%s/environ", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, bytes, sizeof bytes);
    if (fd >= 0)
        (void)close(fd);
    int size = snprintf(wanted, sizeof wanted, "JR_MARK=%s", drive->mark);
    return len > 0 && memmem(bytes, (size_t)len, wanted, (size_t)size) != NULL;
}

static unsigned count_marked(const struct jr_drive *drive)
{
    unsigned count = 0;
    DIR *proc = opendir("/proc");
    for (const struct dirent *entry; (entry = readdir(proc)) != NULL;)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            count += is_marked(drive, entry->d_name);
    (void)closedir(proc);
    return count;
}

unsigned jr_drive_survivors(const struct jr_drive *drive, unsigned ms)
{
    long until = now_ms() + (long)ms;
    unsigned count = count_marked(drive);
    while (count > 0 && now_ms() < until) {
        nap();
        count = count_marked(drive);
    }
    return count;
}

bool jr_drive_await(const struct jr_drive *drive, const char *name, const char *text)
{
    long until = now_ms() + JR_DRIVE_WAIT_MS;
    bool found = false;
    while (!found && now_ms() < until) {
        char *held = jr_drive_read(drive, name, NULL);
        found = strstr(held, text) != NULL;
        free(held);
        nap();
    }
    return found;
}

bool jr_drive_holds(const struct jr_drive *drive, const char *name, size_t size)
{
    long until = now_ms() + JR_DRIVE_WAIT_MS;
    struct stat st = {0};
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", drive->folder, name);
    while ((stat(path, &st) != 0 || (size_t)st.st_size < size) && now_ms() < until)
        nap();
    return (size_t)st.st_size >= size;
}

/* The i-th child in the order of their start; 0 when there is none yet. */
static pid_t find_child(pid_t pid, unsigned i)
{
    char path[64];
    int child = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
    FILE *file = fopen(path, "re");
    for (unsigned n = 0; file != NULL && n <= i; n++)
        if (fscanf(file, "%d", &child) != 1)
            child = 0;
    if (file != NULL)
        (void)fclose(file);
    return child;
}

static pid_t await_child(pid_t pid, unsigned i)
{
    long until = now_ms() + JR_DRIVE_WAIT_MS;
    pid_t child = find_child(pid, i);
    while (child == 0 && now_ms() < until) {
        nap();
        child = find_child(pid, i);
    }
    return child;
}

pid_t jr_drive_runner(const struct jr_drive *drive)
{
    return await_child(drive->pid, 0);
}

pid_t jr_drive_rank(const struct jr_drive *drive, unsigned i)
{
    return await_child(jr_drive_runner(drive), i);
}

bool jr_drive_state(pid_t pid, char wanted)
{
    char path[64], state = '?';
    (void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
    long until = now_ms() + JR_DRIVE_WAIT_MS;
    do {
        FILE *file = fopen(path, "re");
        if (file == NULL)
            return false;
        if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
            state = '?';
        (void)fclose(file);
        if (state != wanted)
            nap();
    } while (state != wanted && now_ms() < until);
    return state == wanted;
}

void jr_drive_kill(pid_t pid, int sig)
{
    if (pid <= 1 || kill(pid, sig) != 0)
        (void)printf("\n    no process %d to send %d to\n", pid, sig);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

void jr_drive_close(struct jr_drive *drive)
{
    if (drive->terminal >= 0)
        (void)close(drive->terminal);
    if (drive->from >= 0)
        (void)close(drive->from);
    (void)nftw(drive->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void jr_drive_check(const struct jr_drive *drive, const char *name, const char *parts)
{
    EACH_PART(part, parts)
        CU_ASSERT_TRUE(jr_drive_has(drive, name, part));
}

void jr_drive_free(char *const *text)
{
    free(*text);
}
