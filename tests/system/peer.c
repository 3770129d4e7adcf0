/*
 * A rank that loses its hub, for the tests of causes.
 *
 * usage: peer HUB DEATH REACTION
 *
 * Rank HUB listens at the socket "hub" in the working folder, and once all
 * others are there it dies as DEATH says. They wait for that in read(2), and
 * react as REACTION says.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct word {
    const char *name;
    void (*act)(int fd);
};

static void die_by(int sig)
{
    (void)signal(sig, SIG_DFL);
    (void)raise(sig);
}

/* A file in memory that goes with its last descriptor. */
static int keep_memory(off_t size)
{
    int fd = memfd_create("peer", 0);
    if (fd < 0 || fallocate(fd, 0, 0, size) != 0)
        exit(95);
    return fd;
}

static void die_segv(int fd)
{
    (void)fd;
    die_by(SIGSEGV);
}

static void die_kill(int fd)
{
    (void)fd;
    die_by(SIGKILL);
}

static void die_exit(int fd)
{
    (void)fd;
    _exit(3);
}

/* The last of its files that is closed takes its time: by then its sockets are
 * closed, and it cannot be reaped. The kernel may begin at either end. */
static void die_slowly(int fd)
{
    enum { LOW = 3, HIGH = 200 };
    off_t size = (off_t)96 << 20;
    (void)fd;
    (void)dup2(keep_memory(size), HIGH);
    (void)dup2(keep_memory(size), LOW);
    _exit(3);
}

static void die_by_another(int fd)
{
    pid_t me = getpid();
    (void)fd;
    if (fork() == 0) {
        for (int i = 3; i < 64; i++)
            (void)close(i);
        (void)kill(me, SIGKILL);
        _exit(0);
    }
    for (;;)
        (void)pause();
}

static void react_abort(int fd)
{
    (void)fd;
    die_by(SIGABRT);
}

/* What a program says that asks perror(3). */
static void react_told(int fd)
{
    (void)fd;
    errno = ECONNRESET;
    perror("read");
    _exit(1);
}

static void react_pipe(int fd)
{
    (void)signal(SIGPIPE, SIG_DFL);
    for (;;)
        (void)!write(fd, "x", 1);
}

static void react_exit(int fd)
{
    (void)fd;
    _exit(1);
}

static const struct word deaths[] = {{"segv", die_segv},
                                     {"kill", die_kill},
                                     {"exit", die_exit},
                                     {"slow", die_slowly},
                                     {"other", die_by_another}};
static const struct word reactions[] = {{"abort", react_abort},
                                        {"told", react_told},
                                        {"pipe", react_pipe},
                                        {"exit", react_exit}};

static void act(const struct word *words, size_t count, const char *name,
                int fd)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i].name, name) == 0)
            words[i].act(fd);
    (void)fprintf(stderr, "peer: '%s' is no word of mine\n", name);
    exit(99);
}

static int make_socket(struct sockaddr_un *ret)
{
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX, .sun_path = "hub"};
    return socket(AF_UNIX, SOCK_STREAM, 0);
}

static void be_hub(int world, const char *death)
{
    struct sockaddr_un at;
    int peers[64], fd = make_socket(&at);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0 ||
        listen(fd, world) != 0)
        exit(98);
    for (int i = 0; i + 1 < world; i++)
        peers[i] = accept(fd, NULL, NULL);
    for (int i = 0; i + 1 < world; i++)
        (void)!write(peers[i], "g", 1);
    act(deaths, sizeof deaths / sizeof deaths[0], death, -1);
}

static void be_peer(const char *reaction)
{
    struct sockaddr_un at;
    char byte;
    int fd = make_socket(&at);
    while (connect(fd, (struct sockaddr *)&at, sizeof at) != 0)
        (void)usleep(1000);
    /* Unread where it goes, so that the end is a reset, and not an EOF. */
    (void)!write(fd, "x", 1);
    while (read(fd, &byte, 1) > 0)
        continue;
    act(reactions, sizeof reactions / sizeof reactions[0], reaction, fd);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 97;
    if (strcmp(getenv("RANK"), argv[1]) == 0)
        be_hub(atoi(getenv("WORLD_SIZE")), argv[2]);
    else
        be_peer(argv[3]);
    return 96;
}
