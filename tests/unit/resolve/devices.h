/* Devices that no other process on the machine has a name for, and processes that hold them. */
#ifndef DEVICES_H
#define DEVICES_H

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"
#include "resolve/device_lease.h"

enum { DEVICES_MOST = 8 };

struct devices {
    char keys[DEVICES_MOST][JR_DEVICE_KEY_SIZE];
    const char *list[DEVICES_MOST];
};

/* Their keys end with `first` and what follows it. */
static inline void devices_make(struct devices *ret, int first)
{
    for (int i = 0; i < DEVICES_MOST; i++) {
        (void)snprintf(ret->keys[i], sizeof ret->keys[i], "UNIT-%d-%d", (int)getpid(), first + i);
        ret->list[i] = ret->keys[i];
    }
}

/* `need` of the first `count` of them. */
static inline struct jr_device_request devices_request(const struct devices *devices,
                                                       uint32_t count, uint32_t need)
{
    return (struct jr_device_request){.keys = devices->list, .count = count, .need = need};
}

/* How many of the request could be taken, with `leases` for them. */
static inline uint32_t devices_take(const struct jr_device_request *request, uint64_t ticket,
                                    struct jr_device_lease *leases)
{
    uint32_t chosen[DEVICES_MOST];
    return jr_devices_take(request, ticket, chosen, leases);
}

/* A process that shares a device, for run `run` unless that is NULL, until it is killed. */
static inline pid_t devices_hold(const char *key, const char *run)
{
    int ready[2];
    char byte;
    CU_ASSERT_EQUAL_FATAL(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        struct jr_device_lease lease;
        if (jr_device_lease_share(&lease, key) != 0)
            _exit(1);
        if (run != NULL)
            jr_device_lease_note(&lease, run);
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            (void)pause();
    }
    (void)close(ready[1]);
    CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    return child;
}

static inline void devices_kill(pid_t child)
{
    CU_ASSERT_EQUAL(kill(child, SIGKILL), 0);
    CU_ASSERT_EQUAL(waitpid(child, NULL, 0), child);
}

#endif
