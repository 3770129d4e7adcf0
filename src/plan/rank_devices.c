#include "plan/rank_devices.h"

#include <string.h>

#include <jobrun/entrypoint.h>

#include "resolve/job.h"
#include "resolve/node_resources.h"

#include "base/banned.h"

/* HIP would count once more, within what ROCR_VISIBLE_DEVICES has left. */
static const char *const rocm_filters[] = {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES",
                                           "GPU_DEVICE_ORDINAL", NULL};

static const char *const no_filters[] = {NULL};

bool jr_rank_devices_chosen(const struct jr_job *job)
{
    return job->visibility_variable != NULL && jr_node_resources_of(job, 0)->devices_count > 0 &&
           job->device_visibility != JR_VISIBLE_INHERIT;
}

const char *const *jr_rank_devices_filters(const struct jr_job *job)
{
    return job->device == JR_DEVICE_ROCM ? rocm_filters : no_filters;
}

bool jr_rank_devices_ordered(const struct jr_job *job)
{
    return job->devices_by_index && job->device == JR_DEVICE_CUDA;
}

bool jr_rank_devices_replaced(const struct jr_job *job, const struct jr_env_entry *entry)
{
    const char *const *filter = jr_rank_devices_filters(job);
    if (!jr_rank_devices_chosen(job))
        return false;
    if (strcmp(entry->name, job->visibility_variable) == 0)
        return true;
    if (jr_rank_devices_ordered(job) && strcmp(entry->name, JR_DEVICE_ORDER) == 0)
        return entry->value == NULL || strcmp(entry->value, JR_DEVICE_ORDER_BUS) != 0;
    while (*filter != NULL && strcmp(entry->name, *filter) != 0)
        filter++;
    return *filter != NULL && (entry->value != NULL || entry->required);
}
