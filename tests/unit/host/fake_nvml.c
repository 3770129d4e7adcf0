/* A libnvidia-ml.so.1 of two GPUs: one has MIG on, with instances in places 0 and 2 of 3; the other
 * has it off. INIT is what nvmlInit_v2 returns, unless it is one of these: then the library hangs,
 * or crashes at the second GPU. */
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { HANG = 100, CRASH = 101 };

#define FAKE __attribute__((visibility("default")))

enum { SUCCESS = 0, INVALID = 2, NOT_FOUND = 6 };

struct memory {
    unsigned long long total, free, used;
};

struct pci {
    char legacy_bus[16];
    unsigned domain, bus, device, ids, subsystem;
    char bus_id[32];
};

FAKE int nvmlInit_v2(void);
FAKE int nvmlShutdown(void);
FAKE int nvmlDeviceGetCount_v2(unsigned *ret);
FAKE int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret);
FAKE int nvmlDeviceGetPciInfo_v3(void *device, struct pci *ret);
FAKE int nvmlDeviceGetMigMode(void *device, unsigned *now, unsigned *next);
FAKE int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *ret);
FAKE int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **ret);
FAKE int nvmlDeviceGetUUID(void *device, char *ret, unsigned size);
FAKE int nvmlDeviceGetName(void *device, char *ret, unsigned size);
FAKE int nvmlDeviceGetMemoryInfo(void *device, struct memory *ret);

/* GPUs first, then the places of instances. */
static char things[5];

int nvmlInit_v2(void)
{
    while (INIT == HANG)
        (void)pause();
    return INIT == CRASH ? SUCCESS : INIT;
}

int nvmlShutdown(void)
{
    return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *ret)
{
    *ret = 2;
    return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret)
{
    if (INIT == CRASH && index == 1)
        (void)raise(SIGSEGV);
    *ret = &things[index];
    return index < 2 ? SUCCESS : INVALID;
}

int nvmlDeviceGetPciInfo_v3(void *device, struct pci *ret)
{
    (void)snprintf(ret->bus_id, sizeof ret->bus_id, "00000000:%s:00.0",
                   device == &things[0] ? "C1" : "01");
    return SUCCESS;
}

int nvmlDeviceGetMigMode(void *device, unsigned *now, unsigned *next)
{
    *now = *next = device == &things[0];
    return SUCCESS;
}

int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *ret)
{
    (void)device;
    *ret = 3;
    return SUCCESS;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **ret)
{
    *ret = &things[2 + index];
    return device == &things[0] && index != 1 ? SUCCESS : NOT_FOUND;
}

int nvmlDeviceGetUUID(void *device, char *ret, unsigned size)
{
    ptrdiff_t place = (char *)device - things;
    if (place < 2)
        (void)snprintf(ret, size, "GPU-7f3a9c4-5d10-4e6b-9a27-b0c4d5e6f70%td", place);
    else
        (void)snprintf(ret, size, "MIG-2f6b3c1d-8e4a-5b7f-9c0d-00000000000%td", place - 2);
    return SUCCESS;
}

int nvmlDeviceGetName(void *device, char *ret, unsigned size)
{
    (void)snprintf(ret, size, "NVIDIA A100-SXM4-40GB%s",
                   (char *)device - things < 2 ? "" : " MIG 3g.20gb");
    return SUCCESS;
}

int nvmlDeviceGetMemoryInfo(void *device, struct memory *ret)
{
    ret->total = ((char *)device - things < 2 ? 40ULL : 20ULL) << 30;
    return SUCCESS;
}
