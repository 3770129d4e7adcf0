#include "resolve/device_pool.h"

#include <string.h>

#include <jobrun/spec.h>

#include "host/host.h"
#include "resolve/device_kind.h"

#include "base/banned.h"

/* Words in the place of a list. */
static bool names_devices(const struct jr_spec *spec)
{
    return spec->devices_count > 0 && strcmp(spec->devices[0], "any") != 0 &&
           strcmp(spec->devices[0], "all") != 0;
}

static bool is_named(const struct jr_host *host, const struct jr_job *job,
                     const struct jr_host_device *device)
{
    for (uint32_t i = 0; i < job->own.devices_count; i++)
        if (jr_device_find(host, job->device, job->own.devices[i]) == device)
            return true;
    return false;
}

uint32_t jr_device_pool_find(bool *ret_may, const struct jr_host *host, const struct jr_job *job,
                             const struct jr_spec *spec)
{
    uint32_t count = 0;
    bool named = names_devices(spec);
    for (uint32_t i = 0; i < host->devices_count; i++) {
        const struct jr_host_device *device = &host->devices[i];
        ret_may[i] = device->visible && device->kind == job->device &&
                     (!named || is_named(host, job, device));
        count += ret_may[i];
    }
    return count;
}
