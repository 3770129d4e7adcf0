/* What the tests of the worker call, and what loading it does. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <jobrun/rank.h>

#define STEP(name)                                                                                 \
    int name(const struct jr_rank *rank, struct jr_result *result);                                \
    int name(const struct jr_rank *rank, struct jr_result *result)

enum { CONTROL = 3 }; /* of a rank, and the helper's channel */

static int loading_has(const char *word)
{
    const char *words = getenv("LIBRARY_DOES");
    return words != NULL && strstr(words, word) != NULL;
}

static void *stay(void *named)
{
    (void)prctl(PR_SET_NAME, "busy");
    (void)pthread_barrier_wait(named);
    for (;;)
        (void)pause();
    return NULL;
}

static void say_handled(int number)
{
    (void)number;
    (void)send(CONTROL, "handled", 7, MSG_NOSIGNAL);
}

/* Without SA_RESTART: what waits in a system call gets EINTR. */
static void handle_signal(void)
{
    const struct sigaction action = {.sa_handler = say_handled};
    (void)sigaction(SIGUSR1, &action, NULL);
}

/* What its LIBRARY_DOES lists: start a thread, print what is set of OpenMP and leave it in the
 * buffer, take signals, open the file LIBRARY_OPENS. */
__attribute__((constructor)) static void load(void)
{
    static pthread_barrier_t named;
    pthread_t thread;
    if (loading_has("thread")) {
        (void)pthread_barrier_init(&named, NULL, 2);
        (void)pthread_create(&thread, NULL, stay, &named);
        (void)pthread_barrier_wait(&named);
    }
    if (loading_has("print"))
        (void)printf("limit %s.", getenv("OMP_NUM_THREADS"));
    if (loading_has("signal"))
        handle_signal();
    if (getenv("LIBRARY_OPENS") != NULL)
        (void)open(getenv("LIBRARY_OPENS"), O_RDONLY);
}

/* As GNU's OpenMP has it: a region in a fork is ended by a signal. */
void GOMP_parallel(void (*function)(void *), void *data, unsigned threads, unsigned flags);
void GOMP_parallel(void (*function)(void *), void *data, unsigned threads, unsigned flags)
{
    (void)threads;
    (void)flags;
    function(data);
    if (loading_has("hang"))
        (void)raise(SIGKILL);
}

void omp_set_num_threads(int size);
void omp_set_num_threads(int size)
{
    (void)printf("pool %d|", size);
}

/* All that a rank is told, as the result. */
STEP(place)
{
    char text[1024];
    int len = snprintf(text, sizeof text, "[%u,%u,%u,%u,%u,%u,%u,%u", rank->rank, rank->world_size,
                       rank->local_rank, rank->local_world_size, rank->node_rank, rank->nodes,
                       rank->attempt, rank->master_port);
    for (int i = 0; i < 3; i++) {
        const struct jr_rank_place *axis = &rank->axes[i];
        len +=
            snprintf(text + len, sizeof text - (size_t)len, ",[%u,%u,%u,%u,%u,\"%s\"]", axis->size,
                     axis->at, axis->group, axis->first, axis->stride, axis->backend);
    }
    len +=
        snprintf(text + len, sizeof text - (size_t)len, ",\"%s\",\"%s\",\"%s\",\"%s\",\"%s\"",
                 rank->master_addr, rank->init_method, rank->run_id, rank->run_dir, rank->rank_dir);
    for (int i = 0; i < rank->argc; i++)
        len += snprintf(text + len, sizeof text - (size_t)len, ",\"%s\"", rank->argv[i]);
    text[len++] = ']';
    return jr_result_set_json(result, text, (size_t)len) + (rank->argv[rank->argc] != NULL);
}

/* What is no function, and what C++ would have made of lost(). */
extern int placard;
int placard;

STEP(_Z4lostv)
{
    (void)rank;
    (void)result;
    return 0;
}

/* Not what C++ would have made of gone(). */
STEP(_4gonev)
{
    (void)rank;
    (void)result;
    return 0;
}

STEP(code)
{
    (void)result;
    return atoi(rank->argv[0]);
}

/* What counts is what was set last, as it was then. */
STEP(thrice)
{
    char text[] = "{\"n\":1}";
    int bad = jr_result_set_json(result, "[1,2]", 5);
    (void)rank;
    bad |= jr_result_set_json(result, text, 7);
    text[5] = '2';
    return bad != 0 || jr_result_set_json(result, "{]", 2) != -1;
}

STEP(close_control)
{
    (void)rank;
    (void)result;
    return close(CONTROL);
}

STEP(close_control_and_fail)
{
    (void)rank;
    (void)result;
    return close(CONTROL) == 0 ? 9 : 1;
}

/* What is still in the buffer when it returns. */
STEP(print)
{
    (void)rank;
    (void)result;
    return printf("printed") == 7 ? 0 : 1;
}

STEP(take_signals)
{
    (void)rank;
    (void)result;
    handle_signal();
    return 0;
}

/* Whether a program that it starts would get the control socket. */
STEP(control_flags)
{
    (void)rank;
    (void)result;
    return 40 + fcntl(CONTROL, F_GETFD);
}

STEP(take_control_by_a_socket)
{
    (void)rank;
    (void)result;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    return fd >= 0 && dup2(fd, CONTROL) == CONTROL ? 0 : 1;
}

STEP(take_control)
{
    (void)rank;
    (void)result;
    int fd = open("/dev/null", O_RDWR);
    return dup2(fd, CONTROL) == CONTROL ? 0 : 1;
}

STEP(fork_and_return)
{
    (void)rank;
    (void)result;
    (void)fork(); /* the fork returns, too, which is not the rank's end */
    return 0;
}
