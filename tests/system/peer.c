/*
 * A rank that loses another one, for the tests of causes.
 *
 * usage: peer HUB LINK DEATH REACTION [WORD...]
 *
 * Rank HUB listens at the socket "hub" in the working folder, or with the link
 * `tcp` at the master's port. Once all others are there it dies as DEATH says.
 * They notice by LINK, and react as REACTION says:
 *
 *   unix, tcp             the end of their connection to the hub
 *   chain                 the end of their connection to the rank before
 *   flock, fcntl, robust  a lock that the dead one held
 *   pidfd                 a descriptor of the dead process
 *
 * Words:
 *
 *   unread      a byte is not read where it goes: the end is a reset, no EOF
 *   delay=USEC  peers take their time to react
 *   linger=USEC the hub takes its time between its last words and its end
 *   early       the hub closes its connections before it lingers
 *   warn        the hub has warned of a connection before
 *   threads     the hub has more threads, which wait
 *   closed=WHO, child=WHO, daemon=WHO
 *               all descriptors are closed, or a child holds them, from the
 *               start: of the `hub`, of `one` other, or of `all`
 *   worker      the hub has a child that goes with it and holds all descriptors
 *   done        one of the others ends with 0 when all are there
 *
 * REACTION may be several with a `+` between them, which others have in turn.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum { MOST = 64 };

struct word {
    const char *name;
    void (*act)(int fd);
};

static char **words;
static int world, place; /* `place` counts from the hub on */

/* What follows `name=`, or "" where the word is `name`, or NULL. */
static const char *find_word(const char *name)
{
    size_t length = strlen(name);
    for (char **word = words; *word; word++)
        if (strncmp(*word, name, length) == 0) {
            if ((*word)[length] == '=')
                return *word + length + 1;
            if (!(*word)[length])
                return "";
        }
    return NULL;
}

static void take_time(const char *name)
{
    const char *usec = find_word(name);
    if (usec)
        (void)usleep((useconds_t)atoi(usec));
}

static void close_all(void)
{
    for (int i = 3; i < 1024; i++)
        (void)close(i);
}

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

static void die_term(int fd)
{
    (void)fd;
    die_by(SIGTERM);
}

static void die_abort(int fd)
{
    (void)fd;
    (void)fputs("peer: the assertion failed\n", stderr);
    abort();
}

/* What a C++ program does whose exception nobody catches. */
static void die_terminate(int fd)
{
    void (*terminate)(void) = NULL;
    void *library = dlopen("libstdc++.so.6", RTLD_NOW);
    (void)fd;
    if (library)
        *(void **)&terminate = dlsym(library, "_ZSt9terminatev");
    if (terminate)
        terminate();
    abort();
}

static void die_exit(int fd)
{
    (void)fd;
    _exit(3);
}

static void die_exit_said(int fd)
{
    (void)fd;
    (void)fputs("peer: the loss is NaN\n", stderr);
    exit(3);
}

static void die_leave(int fd)
{
    (void)fd;
    _exit(0);
}

/* The last of its files that is closed takes its time: by then its sockets are closed, and it
 * cannot be reaped. The kernel may begin at either end. */
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
        close_all();
        (void)kill(me, SIGKILL);
        _exit(0);
    }
    for (;;)
        (void)pause();
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
    (void)fd;
    int ends[2];
    (void)signal(SIGPIPE, SIG_DFL);
    if (pipe(ends) == 0 && close(ends[0]) == 0)
        (void)!write(ends[1], "x", 1);
}

static void react_exit(int fd)
{
    (void)fd;
    exit(1);
}

static void react_exit_said(int fd)
{
    (void)fd;
    (void)fprintf(stderr, "peer: batch %d is short\n", place);
    exit(1);
}

static void react_exit_7(int fd)
{
    (void)fd;
    _exit(7);
}

static void react_well(int fd)
{
    (void)fd;
    _exit(0);
}

static void react_not(int fd)
{
    (void)fd;
    for (;;)
        (void)pause();
}

static void exit_5(int sig)
{
    (void)sig;
    _exit(5);
}

static void react_to_stop(int fd)
{
    (void)signal(SIGTERM, exit_5);
    react_not(fd);
}

static void react_never(int fd)
{
    (void)signal(SIGTERM, SIG_IGN);
    react_not(fd);
}

static const struct word deaths[] = {{"segv", die_segv},           {"kill", die_kill},
                                     {"term", die_term},           {"abort", die_abort},
                                     {"terminate", die_terminate}, {"exit", die_exit},
                                     {"said", die_exit_said},      {"leave", die_leave},
                                     {"slow", die_slowly},         {"other", die_by_another}};
static const struct word reactions[] = {
    {"abort", die_abort},       {"segv", die_segv},       {"told", react_told},
    {"pipe", react_pipe},       {"exit", react_exit},     {"said", react_exit_said},
    {"exit7", react_exit_7},    {"well", react_well},     {"wait", react_not},
    {"stopped", react_to_stop}, {"stubborn", react_never}};

static void act(const struct word *known, size_t count, const char *name, int fd)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(known[i].name, name) == 0)
            known[i].act(fd);
    (void)fprintf(stderr, "peer: '%s' is no word of mine\n", name);
    exit(99);
}

static void *wait_for_ever(void *arg)
{
    for (;;)
        (void)pause();
    return arg;
}

static void start_threads(void)
{
    for (int i = 0; i < 8; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0)
            exit(94);
    }
}

static int is_meant(const char *name)
{
    const char *who = find_word(name);
    if (!who)
        return 0;
    return strcmp(who, "all") == 0 || place == (strcmp(who, "hub") == 0 ? 0 : 1);
}

static void hold_or_close(void)
{
    if (is_meant("closed"))
        close_all();
    if (is_meant("child") && fork() == 0)
        (void)wait_for_ever(NULL);
    if (is_meant("daemon") && fork() == 0) {
        (void)setsid();
        if (fork() != 0)
            _exit(0);
        (void)wait_for_ever(NULL);
    }
}

static int make_socket(const char *path, struct sockaddr_storage *ret, socklen_t *ret_size)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    (void)strncpy(at.sun_path, path, sizeof at.sun_path - 1);
    memcpy(ret, &at, sizeof at);
    *ret_size = sizeof at;
    return socket(AF_UNIX, SOCK_STREAM, 0);
}

static int make_tcp_socket(struct sockaddr_storage *ret, socklen_t *ret_size)
{
    struct addrinfo *found, hints = {.ai_socktype = SOCK_STREAM};
    int one = 1, fd;
    if (getaddrinfo(getenv("MASTER_ADDR"), getenv("MASTER_PORT"), &hints, &found) != 0)
        exit(93);
    memcpy(ret, found->ai_addr, found->ai_addrlen);
    *ret_size = found->ai_addrlen;
    fd = socket(found->ai_family, SOCK_STREAM, 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    freeaddrinfo(found);
    return fd;
}

static int open_socket(const char *path, struct sockaddr_storage *ret, socklen_t *ret_size)
{
    return path ? make_socket(path, ret, ret_size) : make_tcp_socket(ret, ret_size);
}

static int listen_at(const char *path)
{
    struct sockaddr_storage at;
    socklen_t size;
    int fd = open_socket(path, &at, &size);
    if (path)
        (void)unlink(path); /* an earlier attempt's */
    if (bind(fd, (struct sockaddr *)&at, size) != 0 || listen(fd, MOST) != 0) {
        perror("peer: listen");
        exit(98);
    }
    return fd;
}

static int connect_to(const char *path)
{
    for (;;) {
        struct sockaddr_storage at;
        socklen_t size;
        int fd = open_socket(path, &at, &size);
        if (connect(fd, (struct sockaddr *)&at, size) == 0)
            return fd;
        (void)close(fd);
        (void)usleep(1000);
    }
}

/* The connection to the one before, once the one behind is there, too. */
static int make_chain(void)
{
    char path[16];
    int before = -1, fd = -1;
    (void)snprintf(path, sizeof path, "chain%d", place);
    if (place + 1 < world)
        fd = listen_at(path);
    (void)snprintf(path, sizeof path, "chain%d", place - 1);
    if (place > 0)
        before = connect_to(path);
    if (fd >= 0)
        (void)accept(fd, NULL, NULL);
    return before;
}

static pthread_mutex_t *map_mutex(int is_new)
{
    pthread_mutexattr_t how;
    pthread_mutex_t *mutex;
    int fd = open("lock", O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *mutex) != 0)
        exit(92);
    mutex = mmap(NULL, sizeof *mutex, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (is_new) {
        (void)pthread_mutexattr_init(&how);
        (void)pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED);
        (void)pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
        (void)pthread_mutex_init(mutex, &how);
    }
    return mutex;
}

/* The hub has the lock before its peers are there, and ends with it. */
static void take_lock(const char *link, int is_new)
{
    if (strcmp(link, "flock") == 0)
        (void)flock(open("lock", O_RDWR | O_CREAT, 0600), LOCK_EX);
    else if (strcmp(link, "fcntl") == 0)
        (void)fcntl(open("lock", O_RDWR | O_CREAT, 0600), F_SETLKW,
                    &(struct flock){.l_type = F_WRLCK});
    else if (strcmp(link, "robust") == 0)
        (void)pthread_mutex_lock(map_mutex(is_new));
}

static void be_hub(const char *link, const char *death)
{
    pid_t me = getpid();
    char byte;
    int peers[MOST], fd;
    take_lock(link, 1);
    if (strcmp(link, "chain") == 0)
        (void)make_chain();
    fd = listen_at(strcmp(link, "tcp") == 0 ? NULL : "hub");
    for (int i = 0; i + 1 < world; i++)
        peers[i] = accept(fd, NULL, NULL);
    if (find_word("threads"))
        start_threads();
    if (find_word("worker") && fork() == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)wait_for_ever(NULL);
    }
    for (int i = 0; i + 1 < world; i++)
        (void)!write(peers[i], &me, sizeof me);
    for (int i = 0; i + 1 < world; i++)
        (void)!read(peers[i], &byte, 1);
    (void)usleep(2000); /* by then, peers wait */
    if (find_word("warn"))
        (void)fputs("peer: warning: connection reset by peer, again\n", stderr);
    if (find_word("early"))
        close_all();
    take_time("linger");
    act(deaths, sizeof deaths / sizeof deaths[0], death, -1);
}

static void wait_for_end(const char *link, int fd, int before, pid_t hub)
{
    char byte;
    if (strcmp(link, "pidfd") == 0) {
        struct pollfd hub_end = {.fd = (int)syscall(SYS_pidfd_open, hub, 0), .events = POLLIN};
        while (hub_end.fd >= 0 && poll(&hub_end, 1, -1) < 1)
            continue;
    } else if (strcmp(link, "chain") == 0) {
        (void)!read(before, &byte, 1);
    } else if (strcmp(link, "unix") == 0 || strcmp(link, "tcp") == 0) {
        (void)!read(fd, &byte, 1);
    } else {
        take_lock(link, 0);
    }
}

/* The one of REACTION that this rank has, which this takes apart. */
static const char *choose_reaction(char *all)
{
    char *one[8], *rest = NULL;
    int count = 0;
    for (char *at = strtok_r(all, "+", &rest); at && count < 8; at = strtok_r(NULL, "+", &rest))
        one[count++] = at;
    return count ? one[place % count] : "";
}

static void be_peer(const char *link, const char *reaction)
{
    pid_t hub;
    int fd, before = -1;
    if (strcmp(link, "chain") == 0)
        before = make_chain();
    fd = connect_to(strcmp(link, "tcp") == 0 ? NULL : "hub");
    if (read(fd, &hub, sizeof hub) != sizeof hub)
        exit(91);
    (void)!write(fd, "xx", find_word("unread") ? 2 : 1);
    if (place == 1 && find_word("done"))
        _exit(0);
    wait_for_end(link, fd, before, hub);
    take_time("delay");
    act(reactions, sizeof reactions / sizeof reactions[0], reaction, fd);
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 97;
    words = argv + 5;
    world = atoi(getenv("WORLD_SIZE"));
    place = (atoi(getenv("RANK")) - atoi(argv[1]) + world) % world;
    hold_or_close();
    if (place == 0)
        be_hub(argv[2], argv[3]);
    else
        be_peer(argv[2], choose_reaction(argv[4]));
    return 96;
}
