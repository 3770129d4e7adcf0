/* Steps that go wrong, for test_step.py. */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <jobrun/rank.h>

#define STEP(name)                                                                                 \
    int name(const struct jr_rank *rank, struct jr_result *result);                                \
    int name(const struct jr_rank *rank, struct jr_result *result)

static pid_t born; /* the process that loaded this */

static void *wait_for_ever(void *nothing)
{
    for (;;)
        (void)pause();
    return nothing;
}

/* ODD says how loading goes wrong. */
__attribute__((constructor)) static void load(void)
{
    const char *odd = getenv("ODD");
    pthread_t thread;
    born = getpid();
    if (odd == NULL)
        return;
    printf("loading %s", odd); /* and no end of the line */
    if (strcmp(odd, "thread") == 0)
        (void)pthread_create(&thread, NULL, wait_for_ever, NULL);
    else if (strcmp(odd, "die") == 0)
        (void)raise(SIGKILL);
    else if (strcmp(odd, "hang") == 0)
        (void)wait_for_ever(NULL);
}

/* What a process of jobrun's is to be: see test_step.py. */
STEP(where)
{
    char text[256];
    int death = 0, fds = 0;
    (void)prctl(PR_GET_PDEATHSIG, &death);
    DIR *dir = opendir("/proc/self/fd");
    while (dir != NULL && readdir(dir) != NULL)
        fds++;
    if (dir != NULL)
        (void)closedir(dir);
    char *folder = getcwd(NULL, 0);
    printf("[%u, %d, %d, %d, %d, %d]\n", rank->rank, born != getpid(), getsid(0) == getpid(), death,
           fds, (int)getppid());
    int length = snprintf(text, sizeof text, "\"%s\"", strrchr(folder, '/') + 1);
    free(folder);
    return jr_result_set_json(result, text, (size_t)length);
}

STEP(silent)
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

STEP(leave)
{
    static const char text[] = "1";
    (void)rank;
    (void)jr_result_set_json(result, text, 1);
    exit(0);
}

STEP(twice)
{
    char text[] = "{\"n\": 1}";
    (void)rank;
    int first = jr_result_set_json(result, text, strlen(text));
    text[6] = '2'; /* what was set is a copy */
    return first != 0 || jr_result_set_json(result, "{]", 2) != -1;
}

STEP(big)
{
    size_t length = strtoul(rank->argv[0], NULL, 10);
    char *text = malloc(length);
    memset(text, 'x', length);
    text[0] = text[length - 1] = '"';
    int code = jr_result_set_json(result, text, length);
    free(text);
    return code;
}

STEP(die)
{
    (void)rank;
    (void)result;
    return raise(SIGKILL);
}

/* As C++ calls a lost(const struct jr_rank *, struct jr_result *) that is not declared extern
 * "C". */
STEP(_Z4lostPK7jr_rankP9jr_result)
{
    (void)rank;
    (void)result;
    return 0;
}
