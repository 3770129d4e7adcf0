/*
 * To be preloaded: a wall clock that is set an hour forward and back while somebody looks at it, at
 * every third look.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <sys/time.h>
#include <time.h>

static time_t leap(void)
{
    static _Thread_local unsigned looks;
    static const time_t offsets[] = {0, 3600, -3600};
    return offsets[looks++ / 3 % 3];
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
    static int (*real)(clockid_t, struct timespec *);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, ret);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        ret->tv_sec += leap();
    return result;
}

int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    ret->tv_sec = now.tv_sec;
    ret->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *ret)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (ret != NULL)
        *ret = now.tv_sec;
    return now.tv_sec;
}
