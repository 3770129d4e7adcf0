/* NVIDIA GPUs by /proc/driver/nvidia. What that does not tell is asked of NVIDIA's management
 * library: MIG instances, all of the GPUs where /proc is hidden (sandboxes such as gVisor, WSL),
 * and, for people, their memory. Declared in accel.h.
 */
#include "host/accel/accel.h"

#include <ctype.h>
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "base/subprocess.h"

#include "base/banned.h"

#define DRIVER "/proc/driver/nvidia"

/* One GPU by the driver's description of it. */
static void read_gpu(struct jr_host_reader *probe, struct jr_accel_list *found, const char *bus)
{
    const char *text = jr_host_reader_text(probe, DRIVER "/gpus/%s/information", bus);
    const char *minor = jr_host_reader_field(probe, text, "Device Minor");
    const char *excluded = jr_host_reader_field(probe, text, "GPU Excluded");
    uint32_t number;
    if (minor == NULL || !jr_num_u32(minor, &number) ||
        (excluded != NULL && strcmp(excluded, "Yes") == 0) ||
        !jr_accel_list_usable(probe, found, "/dev/nvidia%u", number))
        return;
    struct jr_host_device *device = jr_accel_list_add(probe, found, JR_DEVICE_CUDA, bus);
    if (device == NULL)
        return;
    device->model = jr_arena_strdup(probe->arena, jr_host_reader_field(probe, text, "Model"));
    /* before its first use, the driver shows a UUID of question marks */
    const char *uuid = jr_host_reader_field(probe, text, "GPU UUID");
    if (uuid != NULL && strchr(uuid, '?') == NULL)
        device->uuid = jr_arena_strdup(probe->arena, uuid);
}

static void report_missing_gpus(struct jr_host_reader *probe, const struct jr_accel_list *found)
{
    if (found->count + found->missing + found->denied == 0)
        jr_host_reader_problem(probe, JR_DEVICE_CUDA,
                               "the NVIDIA driver is loaded, but lists no GPU in " DRIVER "/gpus",
                               "look at the output of `nvidia-smi` and at the kernel's log");
    else if (found->count == 0 && found->denied == 0)
        jr_host_reader_problem(probe, JR_DEVICE_CUDA,
                               jr_arena_printf(probe->arena,
                                               "the NVIDIA driver lists %zu GPU%s, but there is "
                                               "no device node for %s in /dev",
                                               found->missing, found->missing == 1 ? "" : "s",
                                               found->missing == 1 ? "it" : "any of them"),
                               "run `nvidia-modprobe -u -c 0` as root, or start the container "
                               "with its GPUs, for example with `docker run --gpus all`");
    else if (found->count > 0 && jr_node_error(probe, "/dev/nvidiactl") != 0)
        jr_host_reader_problem(probe, JR_DEVICE_CUDA,
                               "there are NVIDIA GPUs, but /dev/nvidiactl cannot be opened, so "
                               "none can be used",
                               "pass it to the container too, or run `nvidia-modprobe` as root");
}

/* A value that cannot be judged is told, and leaves nothing. */
static void report_unreadable_uuids(struct jr_host_reader *probe, const char *value,
                                    const struct jr_accel_list *found)
{
    for (size_t i = 0; i < found->count; i++) {
        if (strncmp(value, "GPU-", 4) != 0 || found->devices[i].uuid != NULL)
            continue;
        jr_host_reader_problem(probe, JR_DEVICE_CUDA,
                               JR_CUDA_VISIBLE
                               " names UUIDs, which the driver does not list before its first use",
                               "run `nvidia-smi` once, or name GPUs by index");
        return;
    }
}

/* A process uses the MIG instances that the variable names, and no GPU then; without the library
 * nobody knows them. */
static void read_instances(struct jr_host_reader *probe, struct jr_accel_list *found)
{
    struct jr_accel_list instances = {0};
    const char *why = jr_nvml_read(probe, &instances, JR_NVML_INSTANCES, JR_NVML_LIMIT_MS);
    if (why != NULL)
        jr_host_reader_problem(probe, JR_DEVICE_CUDA,
                               jr_arena_printf(probe->arena,
                                               JR_CUDA_VISIBLE " names MIG instances, which only "
                                                               "libnvidia-ml.so.1 knows, and it %s",
                                               why),
                               "install the driver's libraries, or pass them to the "
                               "container, or name whole GPUs");
    else
        *found = instances;
}

/* Something of NVIDIA's can be opened, but /proc does not tell what. Under WSL the node may be
 * another vendor's. */
static void read_hidden(struct jr_host_reader *probe, struct jr_accel_list *found)
{
    const char *node = "/dev/nvidiactl";
    bool own = jr_host_reader_exists(probe, node);
    if (!own && !jr_host_reader_exists(probe, "/dev/dxg"))
        return;
    const char *why = jr_nvml_read(probe, found, JR_NVML_GPUS, JR_NVML_LIMIT_MS);
    if (why != NULL && own)
        jr_host_reader_problem(probe, JR_DEVICE_CUDA,
                               jr_arena_printf(probe->arena,
                                               "there is %s, but no " DRIVER
                                               " that lists the GPUs, and libnvidia-ml.so.1 %s",
                                               node, why),
                               "look at the output of `nvidia-smi`, and start the container with "
                               "the driver's libraries too");
}

void jr_nvidia_complete(struct jr_host_reader *probe)
{
    struct jr_host *hw = probe->hw;
    struct jr_accel_list found = {0};
    bool wanted = false;
    for (uint32_t i = 0; i < hw->devices_count; i++)
        wanted |= hw->devices[i].kind == JR_DEVICE_CUDA && hw->devices[i].memory == 0;
    if (!wanted || jr_nvml_read(probe, &found, JR_NVML_GPUS, JR_NVML_LIMIT_MS) != NULL)
        return;
    for (uint32_t i = 0; i < hw->devices_count; i++) {
        struct jr_host_device *device = &hw->devices[i];
        size_t told = 0; /* by the place on the bus */
        while (told < found.count && (device->kind != JR_DEVICE_CUDA || device->bus == NULL ||
                                      found.devices[told].bus == NULL ||
                                      strcmp(device->bus, found.devices[told].bus) != 0))
            told++;
        if (told == found.count)
            continue;
        device->memory = found.devices[told].memory;
        if (device->uuid == NULL)
            device->uuid = found.devices[told].uuid;
    }
}

void jr_nvidia_read(struct jr_host_reader *probe, struct jr_accel_list *found)
{
    const char *value = probe->hw->environment.visible[JR_DEVICE_CUDA];
    if (!jr_host_reader_exists(probe, DRIVER)) {
        if (value != NULL && jr_visible_is_mig(value))
            read_instances(probe, found);
        else
            read_hidden(probe, found);
        return;
    }
    struct jr_strv buses = jr_names_list(probe, DRIVER "/gpus", ":");
    for (size_t i = 0; i < buses.count; i++)
        read_gpu(probe, found, buses.items[i]);
    report_missing_gpus(probe, found);
    if (value != NULL && jr_visible_is_mig(value))
        read_instances(probe, found);
    else if (value != NULL)
        report_unreadable_uuids(probe, value, found);
}

/*
 * NVIDIA's management library, for what /proc does not tell.
 *
 * It is loaded when that is wanted, and not otherwise: to initialise it takes longer than all the
 * other facts together. And it is loaded in a child: a driver that hangs or crashes it takes nobody
 * along.
 */

#define LIBRARY "libnvidia-ml.so.1"

enum { SUCCESS = 0, MIG_ON = 1, NAME_SIZE = 96, ANSWER_MOST = 1 << 20 };

/* How the child ends that has no answer. */
enum { NO_LIBRARY = 1, NO_FUNCTION, NO_START, NO_COUNT, NO_READER };

/* One device, as the child tells it. */
struct record {
    unsigned long long memory;
    char uuid[NAME_SIZE], name[NAME_SIZE], bus[32];
};

/* What is asked of the library, in the child. */
struct question {
    const char *path;
    enum jr_nvml_what what;
    int fd;
};

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

/* dlsym gives an object pointer for what is a function: POSIX asks for the two to be alike. */
static bool find_nvml_function(const struct nvml *nvml, void *function, const char *name)
{
    void *symbol = dlsym(nvml->library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static bool find_nvml_functions(struct nvml *nvml)
{
    return find_nvml_function(nvml, &nvml->init, "nvmlInit_v2") &&
           find_nvml_function(nvml, &nvml->shutdown, "nvmlShutdown") &&
           find_nvml_function(nvml, &nvml->count, "nvmlDeviceGetCount_v2") &&
           find_nvml_function(nvml, &nvml->device, "nvmlDeviceGetHandleByIndex_v2") &&
           find_nvml_function(nvml, &nvml->pci, "nvmlDeviceGetPciInfo_v3") &&
           find_nvml_function(nvml, &nvml->mig_mode, "nvmlDeviceGetMigMode") &&
           find_nvml_function(nvml, &nvml->mig_most, "nvmlDeviceGetMaxMigDeviceCount") &&
           find_nvml_function(nvml, &nvml->mig_device, "nvmlDeviceGetMigDeviceHandleByIndex") &&
           find_nvml_function(nvml, &nvml->uuid, "nvmlDeviceGetUUID") &&
           find_nvml_function(nvml, &nvml->name, "nvmlDeviceGetName") &&
           find_nvml_function(nvml, &nvml->memory, "nvmlDeviceGetMemoryInfo");
}

/* A GPU or an instance of one, whose bus is there. False: nobody listens. */
static bool send_gpu_record(const struct question *question, const struct nvml *nvml, void *thing,
                            struct record *record)
{
    struct memory memory = {0};
    if (nvml->uuid(thing, record->uuid, NAME_SIZE) != SUCCESS)
        return true;
    if (nvml->name(thing, record->name, NAME_SIZE) != SUCCESS)
        record->name[0] = '\0';
    if (nvml->memory(thing, &memory) == SUCCESS)
        record->memory = memory.total;
    /* Less than PIPE_BUF: whole, or not at all. */
    return write(question->fd, record, sizeof *record) == sizeof *record;
}

static bool send_gpu_instances(const struct question *question, const struct nvml *nvml, void *gpu,
                               const struct record *whole)
{
    unsigned now = 0, next = 0, most = 0;
    if (nvml->mig_mode(gpu, &now, &next) != SUCCESS || now != MIG_ON ||
        nvml->mig_most(gpu, &most) != SUCCESS)
        return true;
    for (unsigned i = 0; i < most; i++) {
        struct record record = *whole;
        void *instance;
        if (nvml->mig_device(gpu, i, &instance) == SUCCESS &&
            !send_gpu_record(question, nvml, instance, &record))
            return false;
    }
    return true;
}

static int send_all_gpus(const struct question *question, const struct nvml *nvml)
{
    unsigned count = 0;
    if (nvml->count(&count) != SUCCESS)
        return NO_COUNT;
    for (unsigned i = 0; i < count; i++) {
        struct record record = {.memory = 0};
        void *gpu;
        bool heard = true;
        if (nvml->device(i, &gpu) != SUCCESS)
            continue;
        /* The bus as sysfs spells it: in lower case, with a domain of four digits. */
        struct pci pci = {.bus_id = ""};
        bool known = nvml->pci(gpu, &pci) == SUCCESS;
        pci.bus_id[sizeof pci.bus_id - 1] = '\0';
        const char *from = known ? pci.bus_id : "";
        from += strncmp(from, "0000", 4) == 0 && strcspn(from, ":") == 8 ? 4 : 0;
        for (char *at = record.bus; *from != '\0'; from++)
            *at++ = (char)tolower((unsigned char)*from);
        if (question->what == JR_NVML_INSTANCES)
            heard = send_gpu_instances(question, nvml, gpu, &record);
        else
            heard = send_gpu_record(question, nvml, gpu, &record);
        if (!heard)
            return NO_READER;
    }
    return 0;
}

/* The child's part; what was loaded ends with it. */
static int answer_nvml_question(void *data, int fd)
{
    struct question *question = data;
    struct nvml nvml = {.library = dlopen(question->path, RTLD_NOW | RTLD_LOCAL)};
    question->fd = fd;
    if (nvml.library == NULL)
        return NO_LIBRARY;
    if (!find_nvml_functions(&nvml))
        return NO_FUNCTION;
    if (nvml.init() != SUCCESS)
        return NO_START;
    int status = send_all_gpus(question, &nvml);
    (void)nvml.shutdown();
    return status;
}

static void add_nvml_device(struct jr_host_reader *probe, struct jr_accel_list *found,
                            struct record *record)
{
    record->uuid[NAME_SIZE - 1] = record->name[NAME_SIZE - 1] = '\0';
    record->bus[sizeof record->bus - 1] = '\0';
    struct jr_host_device *device = jr_accel_list_add(probe, found, JR_DEVICE_CUDA,
                                                      record->bus[0] == '\0' ? NULL : record->bus);
    if (device == NULL)
        return;
    device->uuid = jr_arena_strdup(probe->arena, record->uuid);
    if (record->name[0] != '\0')
        device->model = jr_arena_strdup(probe->arena, record->name);
    device->memory = record->memory;
}

/* An exit code of `answer` in words; other reasons as they are. */
static const char *explain_nvml_failure(struct jr_arena *arena, const char *why)
{
    static const char *const reasons[] = {
        [NO_LIBRARY] = "cannot be loaded",
        [NO_FUNCTION] = "is of a version that lacks the functions for it",
        [NO_START] = "cannot be initialised",
        [NO_COUNT] = "cannot count the GPUs",
    };
    for (unsigned i = NO_LIBRARY; i <= NO_COUNT; i++) {
        const char *code = jr_arena_printf(arena, "exited with code %u", i);
        if (code != NULL && strcmp(why, code) == 0)
            return reasons[i];
    }
    return why;
}

const char *jr_nvml_read(struct jr_host_reader *probe, struct jr_accel_list *found,
                         enum jr_nvml_what what, unsigned limit_ms)
{
    struct question question = {
        .path = probe->root[0] == '\0'
                    ? LIBRARY
                    : jr_arena_printf(&probe->scratch, "%s/" LIBRARY, probe->root),
        .what = what};
    const struct jr_subprocess asked = {.call = answer_nvml_question, .data = &question};
    JR_BUF_CLEANUP struct jr_buf out = JR_BUF_INIT;
    const char *why = question.path == NULL
                          ? "cannot be found, because memory ran out"
                          : jr_subprocess_ask(&out, probe->arena, &asked, limit_ms, ANSWER_MOST);
    struct record record;
    for (size_t at = 0; why == NULL && at + sizeof record <= out.len; at += sizeof record) {
        memcpy(&record, out.data + at, sizeof record);
        add_nvml_device(probe, found, &record);
    }
    return why == NULL ? NULL : explain_nvml_failure(probe->arena, why);
}
