/*
 * Objects for kubectl: each a table of path and value. The pods of an Indexed Job have names in the
 * service's domain, NAME-INDEX.NAME, of which the first is where ranks meet; jobrun reads its
 * node_rank from JOB_COMPLETION_INDEX.
 *
 * One pod is started again when it was evicted, or when jobrun could not
 * launch; what jobrun says of the job itself is final. Of several, none can
 * continue without the others, so any end but a good one ends the job. Under
 * `requeue` exit status 8 starts a pod again, as often as that allows, and any
 * other failure ends the job.
 *
 * Declared in internal.h.
 */
#include "render/internal.h"

#include <ctype.h>
#include <string.h>

#include "base/banned.h"

#define FOLDER  "/etc/jobrun"
#define FILE_   "job.jobrun.yaml"
#define POD     "spec.template.spec"
#define FIRST   POD ".containers[0]"
#define UID     "metadata.labels['batch.kubernetes.io/controller-uid']"
#define JOB_UID "JOBRUN_JOB_UID"
enum { LONGEST = 50 /* of 63, for the index in a pod's host name */ };

/* An object that is made. */
struct object {
    struct jr_arena *arena;
    struct jr_node *root;
    const char *name;
    const struct jr_kubernetes *options;
};

static void set_text_at(const struct object *to, const char *path, const char *value)
{
    if (value != NULL)
        (void)jr_node_set_path(to->arena, to->root, path, jr_node_scalar(to->arena, value, false));
}

static void set_number_at(const struct object *to, const char *path, uint32_t value)
{
    const char *digits = jr_arena_printf(to->arena, "%u", value);
    if (digits != NULL)
        (void)jr_node_set_path(to->arena, to->root, path, jr_node_scalar(to->arena, digits, true));
}

static void set_word_at(const struct object *to, const char *path, const char *value)
{
    (void)jr_node_set_path(to->arena, to->root, path, jr_node_scalar(to->arena, value, true));
}

static struct object begin_object(const struct object *from, const char *version, const char *kind)
{
    struct object to = *from;
    to.root = jr_node_mapping(to.arena);
    set_text_at(&to, "apiVersion", version);
    set_text_at(&to, "kind", kind);
    set_text_at(&to, "metadata.name", to.name);
    set_text_at(&to, "metadata.namespace", to.options->name_space);
    return to;
}

static void emit_object(struct jr_buf *out, const struct object *made)
{
    jr_buf_str(out, "---\n");
    if (!made->arena->failed)
        jr_doc_emit(out, made->root);
}

/* A label of DNS, which is what hosts are called (RFC 1123, 2.1). That of a service begins with a
 * letter besides (RFC 1035, 2.3.1). */
static const char *host_name(struct jr_arena *arena, const char *name)
{
    const char *lead = isdigit((unsigned char)name[0]) ? "job-" : "";
    char *made = jr_arena_printf(arena, "%s%.*s", lead, LONGEST - (int)strlen(lead), name);
    for (char *at = made; at != NULL && *at != '\0'; at++)
        *at = isalnum((unsigned char)*at) ? (char)tolower((unsigned char)*at) : '-';
    for (size_t len = made == NULL ? 0 : strlen(made); len > 1 && made[len - 1] == '-'; len--)
        made[len - 1] = '\0';
    return made;
}

static void add_spec(struct jr_buf *out, const struct object *from, const struct jr_engine_job *job)
{
    struct jr_buf spec JR_BUF_CLEANUP = JR_BUF_INIT;
    struct object to = begin_object(from, "v1", "ConfigMap");
    struct jr_node *data = jr_node_mapping(to.arena);
    if (job->nodes > 1 && jr_doc_get(job->spec, "master_addr") == NULL)
        jr_node_set(to.arena, job->spec, "master_addr",
                    jr_node_scalar(to.arena, jr_arena_printf(to.arena, "%s-0.%s", to.name, to.name),
                                   false));
    if (!to.arena->failed)
        jr_doc_emit(&spec, job->spec);
    if (!to.arena->failed && !spec.failed) {
        jr_node_set(to.arena, data, FILE_, jr_node_scalar(to.arena, spec.data, false));
        jr_node_set(to.arena, to.root, "data", data);
    }
    out->failed |= spec.failed;
    emit_object(out, &to);
}

#define RULES "spec.podFailurePolicy.rules"

/* What befalls a pod that the cluster takes away. */
static void add_disruption(const struct object *to, const char *rule, const char *action)
{
    set_text_at(to, jr_arena_printf(to->arena, "%s.action", rule), action);
    set_text_at(to, jr_arena_printf(to->arena, "%s.onPodConditions[0].type", rule),
                "DisruptionTarget");
    set_text_at(to, jr_arena_printf(to->arena, "%s.onPodConditions[0].status", rule), "True");
}

/* The exit codes that end the job, or all but these. */
static void add_verdicts(const struct object *to, const char *rule, bool in,
                         const char *const *codes)
{
    set_text_at(to, jr_arena_printf(to->arena, "%s.action", rule), "FailJob");
    set_text_at(to, jr_arena_printf(to->arena, "%s.onExitCodes.containerName", rule), "jobrun");
    set_text_at(to, jr_arena_printf(to->arena, "%s.onExitCodes.operator", rule),
                in ? "In" : "NotIn");
    for (int i = 0; codes[i] != NULL; i++)
        set_word_at(to, jr_arena_printf(to->arena, "%s.onExitCodes.values[%d]", rule, i), codes[i]);
}

static void add_policy(const struct object *to, const struct jr_engine_job *job)
{
    static const char *const verdicts[] = {"1", "2", "3", "4", "5", "6", NULL};
    static const char *const good[] = {"0", NULL}, *const yielded[] = {"8", NULL};
    const struct jr_requeue *requeue = &job->policy->requeue;
    bool alone = job->nodes == 1;
    if (requeue->max == 0) {
        set_number_at(to, "spec.backoffLimit", alone ? 3 : 0);
        add_verdicts(to, RULES "[0]", alone, alone ? verdicts : good);
        add_disruption(to, RULES "[1]", alone ? "Ignore" : "FailJob");
        return;
    }
    /* A pod that is taken away ends by SIGTERM, which is no verdict: that rule comes first. Each of
     * several pods that stop for the deadline counts by itself. */
    bool continued = requeue->on_count == 0;
    for (uint32_t i = 0; i < requeue->on_count && !continued; i++)
        continued = strcmp(requeue->on[i], "preempted") == 0;
    set_number_at(to, "spec.backoffLimit",
                  requeue->max > INT32_MAX / job->nodes ? INT32_MAX : requeue->max * job->nodes);
    add_disruption(to, RULES "[0]", alone && continued ? "Ignore" : "FailJob");
    add_verdicts(to, RULES "[1]", false, yielded);
}

static void add_volume(const struct object *to, int at, const char *name, const char *path)
{
    const char *volume = jr_arena_printf(to->arena, POD ".volumes[%d]", at);
    const char *mount = jr_arena_printf(to->arena, FIRST ".volumeMounts[%d]", at);
    set_text_at(to, jr_arena_printf(to->arena, "%s.name", volume), name);
    set_text_at(to, jr_arena_printf(to->arena, "%s.name", mount), name);
    set_text_at(to, jr_arena_printf(to->arena, "%s.mountPath", mount), path);
}

static void add_volumes(const struct object *to)
{
    const struct jr_kubernetes *options = to->options;
    int at = 0;
    char path[sizeof POD ".volumes[0].emptyDir.sizeLimit"];
    add_volume(to, at, "spec", FOLDER);
    set_text_at(to, POD ".volumes[0].configMap.name", to->name);
    if (options->shm != NULL) {
        add_volume(to, ++at, "shm", "/dev/shm");
        set_text_at(to, POD ".volumes[1].emptyDir.medium", "Memory");
        set_text_at(to, POD ".volumes[1].emptyDir.sizeLimit", options->shm);
    }
    if (options->claim == NULL)
        return;
    add_volume(to, ++at, "claim", options->mount);
    (void)stpcpy(path, POD ".volumes[0]");
    path[strlen(path) - 2] = (char)('0' + at);
    set_text_at(to, jr_arena_printf(to->arena, "%s.persistentVolumeClaim.claimName", path),
                options->claim);
}

/* What clusters call the devices, where their vendors' plug-ins are. */
static const char *device_resource(enum jr_device device)
{
    static const char *const names[JR_DEVICE_COUNT] = {
        [JR_DEVICE_CUDA] = "nvidia.com/gpu",      [JR_DEVICE_ROCM] = "amd.com/gpu",
        [JR_DEVICE_XPU] = "gpu.intel.com/i915",   [JR_DEVICE_HPU] = "habana.ai/gaudi",
        [JR_DEVICE_NPU] = "huawei.com/Ascend910", [JR_DEVICE_MLU] = "cambricon.com/mlu",
    };
    return names[device];
}

static void add_limits(const struct object *to, const struct jr_engine_job *job)
{
    const struct jr_kubernetes *options = to->options;
    const char *device =
        options->device_resource != NULL ? options->device_resource : device_resource(job->device);
    set_text_at(to, FIRST ".resources.limits.cpu", options->cpu);
    set_text_at(to, FIRST ".resources.limits.memory", options->memory);
    if (device == NULL || job->device == JR_DEVICE_CPU)
        return;
    const char *digits = jr_arena_printf(to->arena, "%u", job->ranks);
    struct jr_node *limits = jr_doc_find(to->root, FIRST ".resources.limits");
    if (limits == NULL)
        limits = jr_node_mapping(to->arena);
    if (to->arena->failed)
        return;
    jr_node_set(to->arena, limits, device, jr_node_scalar(to->arena, digits, true));
    (void)jr_node_set_path(to->arena, to->root, FIRST ".resources.limits", limits);
}

static void add_container(const struct object *to, const struct jr_engine_job *job)
{
    set_text_at(to, FIRST ".name", "jobrun");
    set_text_at(to, FIRST ".image", to->options->image);
    set_text_at(to, FIRST ".command[0]", "jobrun");
    set_text_at(to, FIRST ".command[1]", "run");
    set_text_at(to, FIRST ".command[2]", FOLDER "/" FILE_);
    if (job->nodes > 1) {
        set_text_at(to, FIRST ".command[3]", "--run-id");
        set_text_at(to, FIRST ".command[4]",
                    jr_arena_printf(to->arena, "%s-$(" JOB_UID ")", to->name));
        set_text_at(to, FIRST ".env[0].name", JOB_UID);
        set_text_at(to, FIRST ".env[0].valueFrom.fieldRef.fieldPath", UID);
    }
    /* where all ranks' working folders are, which are made for each of them: the pod begins there
     */
    const char *folder = job->workdir, *word = strstr(folder, "%{");
    while (word != NULL && word > folder + 1 && *word != '/')
        word--;
    if (word != NULL)
        folder = jr_arena_strndup(to->arena, folder, (size_t)(word - folder));
    set_text_at(to, FIRST ".workingDir", folder);
    set_text_at(to, FIRST ".envFrom[0].secretRef.name", to->options->secret);
    add_limits(to, job);
}

static void add_job(struct jr_buf *out, const struct object *from, const struct jr_engine_job *job)
{
    const struct jr_kubernetes *options = from->options;
    struct object to = begin_object(from, "batch/v1", "Job");
    uint64_t grace = (job->policy->timeouts.stop_grace_ms + 999) / 1000 + 30;
    set_text_at(&to, "spec.completionMode", "Indexed");
    set_number_at(&to, "spec.completions", job->nodes);
    set_number_at(&to, "spec.parallelism", job->nodes);
    add_policy(&to, job);
    set_text_at(&to, POD ".subdomain", to.name);
    set_text_at(&to, POD ".restartPolicy", "Never");
    set_number_at(&to, POD ".terminationGracePeriodSeconds",
                  grace < INT32_MAX ? (uint32_t)grace : INT32_MAX);
    set_text_at(&to, POD ".serviceAccountName", options->service_account);
    set_text_at(&to, POD ".priorityClassName", options->priority_class);
    set_text_at(&to, POD ".imagePullSecrets[0].name", options->pull_secret);
    add_container(&to, job);
    add_volumes(&to);
    emit_object(out, &to);
}

int jr_kubernetes_render(struct jr_buf *out, const struct jr_engine_job *job, struct jr_error *err)
{
    const struct object base = {
        .arena = job->arena,
        .name = host_name(job->arena, job->name),
        .options = &job->policy->engine.kubernetes,
    };
    if (base.options->image == NULL)
        return jr_error_set(err, JR_STATUS_INVALID,
                            "no image is stated: set engine.kubernetes.image "
                            "to an image that contains jobrun");
    if (job->spares > 0)
        return jr_error_set(err, JR_STATUS_INVALID,
                            "spare_nodes is for Slurm and ssh: Kubernetes "
                            "places a pod anew itself; leave it out");
    if (base.options->device_resource == NULL && job->device == JR_DEVICE_CUSTOM)
        return jr_error_set(err, JR_STATUS_INVALID,
                            "the cluster's name for the devices is not known: "
                            "state engine.kubernetes.device_resource");
    add_spec(out, &base, job);
    struct object service = begin_object(&base, "v1", "Service");
    set_text_at(&service, "spec.clusterIP", "None");
    /* ranks look for each other before all of them are ready */
    set_word_at(&service, "spec.publishNotReadyAddresses", "true");
    set_text_at(&service, "spec.selector.job-name", service.name);
    emit_object(out, &service);
    add_job(out, &base, job);
    out->failed |= job->arena->failed;
    return 0;
}
