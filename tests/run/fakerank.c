/*
 * A rank that does what it is told, for the tests of the run.
 *
 * usage: fakerank [RANKS:]ACT...
 *
 * The acts happen in order; one with a rank number and a colon before it happens in that rank only.
 * An act is a word, or word=value.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef FAKESTEP
#include <jobrun/rank.h>
#endif

static void act_exit(const char *value)
{
    exit((int)strtol(value, NULL, 10));
}

static void act_signal(const char *value)
{
    int sig = (int)strtol(value, NULL, 10);
    (void)signal(sig, SIG_DFL); /* a sanitizer may have taken it */
    (void)raise(sig);
}

static void act_print(const char *value)
{
    (void)printf("%s\n", value);
    (void)fflush(stdout);
}

static void act_say(const char *value)
{
    (void)printf("%s", value);
    (void)fflush(stdout);
}

static void act_error(const char *value)
{
    (void)fprintf(stderr, "%s\n", value);
}

/* So many bytes in lines of 100, numbered; the last may be shorter. */
static void act_flood(const char *value)
{
    char line[101];
    size_t left = (size_t)strtoull(value, NULL, 10);
    for (unsigned long i = 0; left > 0; i++) {
        (void)snprintf(line, sizeof line, "%010lu%089d\n", i, 0);
        size_t len = left < 100 ? left : 100;
        (void)fwrite(line, 1, len, stdout);
        left -= len;
    }
    (void)fflush(stdout);
}

/* One line of so many bytes without a newline. */
static void act_wide(const char *value)
{
    for (size_t left = (size_t)strtoull(value, NULL, 10); left > 0; left--)
        (void)putchar('w');
    (void)fflush(stdout);
}

static void act_bytes(const char *value)
{
    (void)value;
    for (int byte = 0; byte < 256; byte++)
        (void)putchar(byte);
    (void)fflush(stdout);
}

static void act_hang(const char *value)
{
    (void)value;
    for (;;)
        (void)pause();
}

/* Use a processor for ever. */
static void act_spin(const char *value)
{
    (void)value;
    for (volatile unsigned i = 0;; i++)
        continue;
}

static void act_ignore(const char *value)
{
    (void)signal((int)strtol(value, NULL, 10), SIG_IGN);
}

static void say_and_leave(int sig)
{
    static const char text[] = "told to stop\n";
    (void)!write(STDOUT_FILENO, text, sizeof text - 1);
    _exit(sig == SIGTERM ? 0 : 9);
}

/* End with 0 on SIGTERM, 9 on another signal, and say so. */
static void act_obey(const char *value)
{
    (void)value;
    (void)signal(SIGTERM, say_and_leave);
    (void)signal(SIGUSR1, say_and_leave);
}

/* A child in our own group that hangs. */
static void act_fork(const char *value)
{
    if (fork() == 0)
        act_hang(value);
}

/* Leave the session, and everybody who might wait, behind. */
static void act_daemonise(const char *value)
{
    pid_t child = fork();
    if (child == 0) {
        (void)setsid();
        (void)signal(SIGTERM, SIG_IGN);
        if (fork() == 0)
            act_hang(value);
        _exit(0);
    }
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
}

/* Daemonise, then fork and leave, for ever: always one process, never the same for long, and each
 * in a session of its own. */
static void act_hop(const char *value)
{
    (void)value;
    if (fork() != 0)
        return;
    (void)signal(SIGTERM, SIG_IGN);
    for (;;) {
        (void)setsid();
        if (fork() != 0)
            _exit(0);
    }
}

/* Daemonise, and write to standard output for ever. */
static void act_chatter(const char *value)
{
    if (fork() != 0)
        return;
    (void)setsid();
    for (;;) {
        act_print(value);
        (void)usleep(1000);
    }
}

static void act_stop(const char *value)
{
    (void)value;
    (void)raise(SIGSTOP);
}

/* Wait until somebody writes to, or closes, this FIFO. */
static void act_await(const char *value)
{
    char byte;
    int fd = open(value, O_RDONLY);
    (void)!read(fd, &byte, 1);
    (void)close(fd);
}

/* Print a line now and again until somebody writes to, or closes, this FIFO. */
static void act_babble(const char *value)
{
    char byte;
    int fd = open(value, O_RDONLY | O_NONBLOCK);
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    /* Without a writer there is nothing to read, and no end either. */
    while (poll(&wait, 1, 50) == 0)
        act_print("busy");
    (void)!read(fd, &byte, 1);
    (void)close(fd);
}

/* Tell who waits at this FIFO. */
static void act_tell(const char *value)
{
    int fd = open(value, O_WRONLY);
    (void)!write(fd, "x", 1);
    (void)close(fd);
}

static void act_env(const char *value)
{
    (void)value;
    for (char **entry = environ; *entry != NULL; entry++)
        act_print(*entry);
}

static void act_fds(const char *value)
{
    (void)value;
    (void)printf("fds");
    for (int fd = 0; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            (void)printf(" %d", fd);
    (void)printf("\n");
}

/* What is ignored and what is blocked, by number. */
static void act_signals(const char *value)
{
    (void)value;
    sigset_t mask;
    (void)sigprocmask(SIG_SETMASK, NULL, &mask);
    (void)printf("signals");
    for (int sig = 1; sig < NSIG; sig++) {
        struct sigaction action;
        if (sigaction(sig, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            (void)printf(" ignored %d", sig);
        if (sigismember(&mask, sig) == 1)
            (void)printf(" blocked %d", sig);
    }
    (void)printf("\n");
}

static void act_place(const char *value)
{
    (void)value;
    char *cwd = getcwd(NULL, 0);
    struct rlimit nofile;
    mode_t mask = umask(0);
    (void)getrlimit(RLIMIT_NOFILE, &nofile);
    (void)printf("cwd %s umask %03o nofile %ju leader %d stdin %d\n", cwd, mask,
                 (uintmax_t)nofile.rlim_cur, getsid(0) == getpid(),
                 (int)read(STDIN_FILENO, &mask, 1));
    free(cwd);
}

struct act {
    const char *word;
    void (*act)(const char *value);
};

static const struct act acts[] = {
    {"exit", act_exit},       {"signal", act_signal},       {"print", act_print},
    {"say", act_say},         {"error", act_error},         {"flood", act_flood},
    {"wide", act_wide},       {"bytes", act_bytes},         {"hang", act_hang},
    {"spin", act_spin},       {"ignore", act_ignore},       {"obey", act_obey},
    {"fork", act_fork},       {"daemonise", act_daemonise}, {"hop", act_hop},
    {"chatter", act_chatter}, {"stop", act_stop},           {"await", act_await},
    {"babble", act_babble},   {"tell", act_tell},           {"env", act_env},
    {"fds", act_fds},         {"signals", act_signals},     {"place", act_place},
};

static int perform(const char *text)
{
    size_t len = strcspn(text, "=");
    const char *value = text[len] == '=' ? text + len + 1 : "";
    for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++) {
        if (strlen(acts[i].word) != len || memcmp(acts[i].word, text, len) != 0)
            continue;
        acts[i].act(value);
        return 0;
    }
    (void)fprintf(stderr, "fakerank: no such act: %s\n", text);
    return 99;
}

static int perform_all(int argc, char *const *argv)
{
    const char *rank = getenv("RANK");
    int status = 0;
    for (int i = 0; i < argc && status == 0; i++) {
        size_t digits = strspn(argv[i], "0123456789");
        if (argv[i][digits] != ':')
            status = perform(argv[i]);
        else if (rank != NULL && strlen(rank) == digits && memcmp(rank, argv[i], digits) == 0)
            status = perform(argv[i] + digits + 1);
    }
    return status;
}

#ifdef FAKESTEP
/* The same as a library. */
int fake(const struct jr_rank *rank, struct jr_result *result);
int fake(const struct jr_rank *rank, struct jr_result *result)
{
    (void)result;
    return perform_all(rank->argc, rank->argv);
}
#else
int main(int argc, char **argv)
{
    return perform_all(argc - 1, argv + 1);
}
#endif
