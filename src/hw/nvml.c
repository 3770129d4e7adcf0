#include "nvml.h"

#include <ctype.h>
#include <dlfcn.h>
#include <string.h>

#include "banned.h"

#define LIBRARY "libnvidia-ml.so.1"

enum { SUCCESS = 0, MIG_ON = 1, NAME_SIZE = 96 };

/* As in nvml.h of the driver's development kit, whose ABI is stable. */
struct memory {
    unsigned long long total, free, used;
};

struct pci {
    char legacy_bus[16];
    unsigned domain, bus, device, ids, subsystem;
    char bus_id[32];
};

/* The functions that are needed: a pointer each, and its name. */
struct nvml {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    int (*count)(unsigned *ret);
    int (*device)(unsigned index, void **ret);
    int (*pci)(void *device, struct pci *ret);
    int (*mig_mode)(void *device, unsigned *ret_now, unsigned *ret_next);
    int (*mig_most)(void *device, unsigned *ret);
    int (*mig_device)(void *device, unsigned index, void **ret);
    int (*uuid)(void *device, char *ret, unsigned size);
    int (*name)(void *device, char *ret, unsigned size);
    int (*memory)(void *device, struct memory *ret);
};

/* dlsym gives an object pointer for what is a function: POSIX asks for the two
 * to be alike. */
static bool find(const struct nvml *nvml, void *function, const char *name)
{
    void *symbol = dlsym(nvml->library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static bool find_all(struct nvml *nvml)
{
    return find(nvml, &nvml->init, "nvmlInit_v2") &&
           find(nvml, &nvml->shutdown, "nvmlShutdown") &&
           find(nvml, &nvml->count, "nvmlDeviceGetCount_v2") &&
           find(nvml, &nvml->device, "nvmlDeviceGetHandleByIndex_v2") &&
           find(nvml, &nvml->pci, "nvmlDeviceGetPciInfo_v3") &&
           find(nvml, &nvml->mig_mode, "nvmlDeviceGetMigMode") &&
           find(nvml, &nvml->mig_most, "nvmlDeviceGetMaxMigDeviceCount") &&
           find(nvml, &nvml->mig_device,
                "nvmlDeviceGetMigDeviceHandleByIndex") &&
           find(nvml, &nvml->uuid, "nvmlDeviceGetUUID") &&
           find(nvml, &nvml->name, "nvmlDeviceGetName") &&
           find(nvml, &nvml->memory, "nvmlDeviceGetMemoryInfo");
}

static bool load(struct jr_probe *probe, struct nvml *ret)
{
    const char *path =
        probe->root[0] == '\0'
            ? LIBRARY
            : jr_arena_printf(&probe->scratch, "%s/" LIBRARY, probe->root);
    ret->library =
        path == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (ret->library == NULL)
        return false;
    if (find_all(ret) && ret->init() == SUCCESS)
        return true;
    (void)dlclose(ret->library);
    return false;
}

/* The bus as sysfs spells it: in lower case, with a domain of four digits. */
static char *bus_of(struct jr_probe *probe, const struct nvml *nvml, void *gpu)
{
    struct pci pci = {.bus_id = ""};
    if (nvml->pci(gpu, &pci) != SUCCESS)
        return NULL;
    pci.bus_id[sizeof pci.bus_id - 1] = '\0';
    const char *from = pci.bus_id;
    if (strncmp(from, "0000", 4) == 0 && strcspn(from, ":") == 8)
        from += 4;
    char *bus = jr_arena_strdup(&probe->scratch, from);
    for (char *at = bus; at != NULL && *at != '\0'; at++)
        *at = (char)tolower((unsigned char)*at);
    return bus;
}

static void add_instance(struct jr_probe *probe, struct jr_found *found,
                         const struct nvml *nvml, void *instance,
                         const char *bus)
{
    char uuid[NAME_SIZE] = "", name[NAME_SIZE] = "";
    struct memory memory = {0};
    if (nvml->uuid(instance, uuid, sizeof uuid) != SUCCESS)
        return;
    struct jr_hw_device *device =
        jr_found_add(probe, found, JR_DEVICE_CUDA, bus);
    if (device == NULL)
        return;
    device->uuid = jr_arena_strndup(probe->arena, uuid, NAME_SIZE - 1);
    if (nvml->name(instance, name, sizeof name) == SUCCESS)
        device->model = jr_arena_strndup(probe->arena, name, NAME_SIZE - 1);
    if (nvml->memory(instance, &memory) == SUCCESS)
        device->memory = memory.total;
}

static void read_gpu(struct jr_probe *probe, struct jr_found *found,
                     const struct nvml *nvml, void *gpu)
{
    unsigned now = 0, next = 0, most = 0;
    if (nvml->mig_mode(gpu, &now, &next) != SUCCESS || now != MIG_ON ||
        nvml->mig_most(gpu, &most) != SUCCESS)
        return;
    const char *bus = bus_of(probe, nvml, gpu);
    for (unsigned i = 0; i < most; i++) {
        void *instance;
        if (nvml->mig_device(gpu, i, &instance) == SUCCESS)
            add_instance(probe, found, nvml, instance, bus);
    }
}

bool jr_nvml_read(struct jr_probe *probe, struct jr_found *found)
{
    struct nvml nvml = {0};
    unsigned count = 0;
    if (!load(probe, &nvml))
        return false;
    bool answers = nvml.count(&count) == SUCCESS;
    for (unsigned i = 0; answers && i < count; i++) {
        void *gpu;
        if (nvml.device(i, &gpu) == SUCCESS)
            read_gpu(probe, found, &nvml, gpu);
    }
    (void)nvml.shutdown();
    (void)dlclose(nvml.library);
    return answers;
}
