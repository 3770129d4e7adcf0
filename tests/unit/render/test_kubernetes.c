/* Objects of Kubernetes, read back: what each value is, by its path. */
#include "doc/doc.h"
#include "render/render.h"
#include "unit.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))
#define W(literal)    ((char[]){literal})
#define POD           "spec.template.spec"
#define FIRST         POD ".containers[0]"
#define MAP           "---\napiVersion: v1\nkind: ConfigMap\n"
#define SERVICE       "---\napiVersion: v1\nkind: Service\n"
#define JOB           "---\napiVersion: batch/v1\nkind: Job\n"

/* A job, and the text that is made of it. */
struct scene {
    struct jr_arena arena;
    struct jr_policy policy;
    struct jr_engine_job job;
    struct jr_buf out;
};

static void scene_init(struct scene *s)
{
    *s = (struct scene){
        .policy = {.engine.kubernetes.image = W("img"), .timeouts.stop_grace_ms = 30000},
        .job = {.name = "j", .nodes = 1, .ranks = 2, .workdir = "/srv"}};
    s->policy.engine.kubernetes.image = jr_arena_strdup(&s->arena, "img");
    s->job.policy = &s->policy;
    s->job.arena = &s->arena;
    s->job.spec = jr_node_mapping(&s->arena);
    jr_node_set(&s->arena, s->job.spec, "version", jr_node_scalar(&s->arena, "1", true));
}

static void scene_render(struct scene *s)
{
    jr_buf_clear(&s->out);
    CU_ASSERT_EQUAL(jr_engine_render(&s->out, JR_ENGINE_KUBERNETES, &s->job, NULL), 0);
    CU_ASSERT_FALSE(s->out.failed);
}

static void scene_end(struct scene *s)
{
    jr_buf_release(&s->out);
    jr_arena_release(&s->arena);
}

/* The object that begins so, up to the next. */
static void load_object(struct jr_doc *doc, const char *text, const char *head)
{
    const char *start = strstr(text, head);
    CU_ASSERT_PTR_NOT_NULL_FATAL(start);
    const char *next = strstr(start + 4, "---\n");
    size_t len = next == NULL ? strlen(start) : (size_t)(next - start);
    struct jr_diags diags RELEASE(jr_diags_release) = JR_DIAGS_INIT;
    CU_ASSERT_EQUAL_FATAL(jr_doc_load(doc, "object", start, len, &diags), 0);
}

/* What an object has at a path; NULL: nothing. */
struct value {
    const char *path, *value;
};

static void check_values(const struct scene *s, const char *head, const struct value *values,
                         size_t count)
{
    struct jr_doc doc RELEASE(jr_doc_release) = JR_DOC_INIT;
    load_object(&doc, s->out.data, head);
    for (size_t i = 0; i < count; i++) {
        struct jr_buf got JR_BUF_CLEANUP = JR_BUF_INIT;
        const struct jr_node *node = jr_doc_find(doc.root, values[i].path);
        if (node != NULL)
            jr_doc_emit_line(&got, node);
        if (values[i].value == NULL)
            CU_ASSERT_PTR_NULL(node)
        else
            JR_ASSERT_TEXT(got.data, values[i].value);
        if (node == NULL && values[i].value != NULL)
            printf("    %s\n", values[i].path);
    }
}

#define SCENE(name)                                                                                \
    struct scene name RELEASE(scene_end);                                                          \
    scene_init(&name)

#define CHECK_VALUES(s, head, values) check_values(s, head, values, LENGTH(values))

TEST(refuses_what_the_cluster_could_not_run)
{
    struct jr_error err = {0};
    SCENE(s);
    s.job.device = JR_DEVICE_CUSTOM;
    CU_ASSERT_EQUAL(jr_engine_render(&s.out, JR_ENGINE_KUBERNETES, &s.job, &err), -1);
    CU_ASSERT_EQUAL(err.status, JR_STATUS_INVALID);
    JR_ASSERT_TEXT(err.text, "the cluster's name for the devices is not known: "
                             "state engine.kubernetes.device_resource");
    s.policy.engine.kubernetes.image = NULL;
    CU_ASSERT_EQUAL(jr_engine_render(&s.out, JR_ENGINE_KUBERNETES, &s.job, &err), -1);
    CU_ASSERT_EQUAL(err.status, JR_STATUS_INVALID);
    JR_ASSERT_TEXT(err.text, "no image is stated: set engine.kubernetes.image "
                             "to an image that contains jobrun");
    CU_ASSERT_EQUAL(s.out.len, 0);
}

/* Names are labels of DNS, with room for the index of a pod. */
TEST(makes_names_for_hosts)
{
    static const char *const rows[][2] = {
        {"digits", "digits"},
        {"Digits.v2_x", "digits-v2-x"},
        {"a..", "a"},
        {"a-._", "a"},
        /* a service's name begins with a letter: RFC 1035, 2.3.1 */
        {"9Z", "job-9z"},
        {"2024.aaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffff",
         "job-2024-aaaaabbbbbbbbbbccccccccccddddddddddeeeeee"},
        {"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeefff",
         "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee"},
        {"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeee..fff",
         "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeee"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        SCENE(s);
        s.job.name = rows[i][0];
        scene_render(&s);
        const struct value same[] = {{"metadata.name", rows[i][1]}};
        const struct value service[] = {{"metadata.name", rows[i][1]},
                                        {"spec.selector.job-name", rows[i][1]}};
        const struct value job[] = {{"metadata.name", rows[i][1]},
                                    {POD ".subdomain", rows[i][1]},
                                    {POD ".volumes[0].configMap.name", rows[i][1]}};
        CHECK_VALUES(&s, MAP, same);
        CHECK_VALUES(&s, SERVICE, service);
        CHECK_VALUES(&s, JOB, job);
    }
}

/* A pod that says that it is to be continued is started again, and what fails otherwise ends the
 * job. */
TEST(queues_again)
{
    static char deadline[] = "deadline", preempted[] = "preempted";
    static char *on_deadline[] = {deadline}, *both[] = {deadline, preempted};
    static const struct {
        uint32_t nodes;
        struct jr_requeue requeue;
        const char *limit, *disruption;
    } rows[] = {
        {1, {NULL, 0, 20}, "20", "Ignore"},
        {1, {both, 2, 1}, "1", "Ignore"},
        {1, {on_deadline, 1, 20}, "20", "FailJob"},
        {3, {NULL, 0, 20}, "60", "FailJob"},
        {3, {NULL, 0, 4000000000}, "2147483647", "FailJob"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct value job[] = {
            {"spec.backoffLimit", rows[i].limit},
            {"spec.podFailurePolicy.rules[0].action", rows[i].disruption},
            {"spec.podFailurePolicy.rules[0].onPodConditions",
             "[{type: DisruptionTarget, status: \"True\"}]"},
            {"spec.podFailurePolicy.rules[1].action", "FailJob"},
            {"spec.podFailurePolicy.rules[1].onExitCodes",
             "{containerName: jobrun, operator: NotIn, values: [8]}"},
            {"spec.podFailurePolicy.rules[2]", NULL},
        };
        SCENE(s);
        s.job.nodes = rows[i].nodes;
        s.policy.requeue = rows[i].requeue;
        scene_render(&s);
        CHECK_VALUES(&s, JOB, job);
    }
}

/* The spec goes in whole; of several pods the first is where ranks meet, unless somebody said
 * where. */
TEST(carries_the_spec)
{
    static const struct {
        uint32_t nodes;
        const char *stated, *text;
    } rows[] = {
        {1, NULL, "version: 1\n"},
        {2, NULL, "version: 1\nmaster_addr: j-0.j\n"},
        {2, "head", "version: 1\nmaster_addr: head\n"},
        {1, "head", "version: 1\nmaster_addr: head\n"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct jr_doc doc RELEASE(jr_doc_release) = JR_DOC_INIT;
        SCENE(s);
        s.job.nodes = rows[i].nodes;
        if (rows[i].stated != NULL)
            jr_node_set(&s.arena, s.job.spec, "master_addr",
                        jr_node_scalar(&s.arena, rows[i].stated, false));
        scene_render(&s);
        load_object(&doc, s.out.data, MAP);
        const struct jr_node *data = jr_doc_get(doc.root, "data");
        CU_ASSERT_PTR_NOT_NULL_FATAL(data);
        CU_ASSERT_EQUAL(data->count, 1);
        JR_ASSERT_TEXT(data->pairs[0].key->text, "job.jobrun.yaml");
        JR_ASSERT_TEXT(data->pairs[0].value->text, rows[i].text);
    }
}

/* Seconds, rounded up, and 30 for jobrun itself. */
TEST(gives_jobrun_the_time_to_stop)
{
    static const struct {
        uint64_t ms;
        const char *seconds;
    } rows[] = {
        {0, "30"},
        {1, "31"},
        {1000, "31"},
        {1001, "32"},
        {UINT64_C(2147483616000), "2147483646"},
        {UINT64_C(2147483617000), "2147483647"},
        {UINT64_C(9000000000000), "2147483647"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        SCENE(s);
        s.policy.timeouts.stop_grace_ms = rows[i].ms;
        scene_render(&s);
        const struct value job[] = {{POD ".terminationGracePeriodSeconds", rows[i].seconds}};
        CHECK_VALUES(&s, JOB, job);
    }
}

TEST(wants_devices_by_the_name_of_their_plugin)
{
    static const struct {
        enum jr_device device;
        char *stated;
        const char *limits;
    } rows[] = {
        {JR_DEVICE_CPU, NULL, NULL},
        {JR_DEVICE_CUDA, NULL, "{nvidia.com/gpu: 2}"},
        {JR_DEVICE_ROCM, NULL, "{amd.com/gpu: 2}"},
        {JR_DEVICE_XPU, NULL, "{gpu.intel.com/i915: 2}"},
        {JR_DEVICE_HPU, NULL, "{habana.ai/gaudi: 2}"},
        {JR_DEVICE_NPU, NULL, "{huawei.com/Ascend910: 2}"},
        {JR_DEVICE_MLU, NULL, "{cambricon.com/mlu: 2}"},
        {JR_DEVICE_CPU, (char *)(uintptr_t) "x.org/y", NULL},
        {JR_DEVICE_CUDA, (char *)(uintptr_t) "nvidia.com/mig-1g.5gb", "{nvidia.com/mig-1g.5gb: 2}"},
        {JR_DEVICE_CUSTOM, (char *)(uintptr_t) "x.org/y", "{x.org/y: 2}"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        SCENE(s);
        s.job.device = rows[i].device;
        s.policy.engine.kubernetes.device_resource = rows[i].stated;
        scene_render(&s);
        const struct value job[] = {{FIRST ".resources.limits", rows[i].limits}};
        CHECK_VALUES(&s, JOB, job);
    }
}

/* Each volume has a mount of its name, at the same place in its list. */
TEST(mounts_volumes)
{
    static const struct {
        bool shm, claim;
        const char *volumes, *mounts;
    } rows[] = {
        {true, false,
         "[{name: spec, configMap: {name: j}}, "
         "{name: shm, emptyDir: {medium: Memory, sizeLimit: 16Gi}}]",
         "[{name: spec, mountPath: /etc/jobrun}, {name: shm, mountPath: /dev/shm}]"},
        {false, true,
         "[{name: spec, configMap: {name: j}}, "
         "{name: claim, persistentVolumeClaim: {claimName: data}}]",
         "[{name: spec, mountPath: /etc/jobrun}, {name: claim, mountPath: /data}]"},
        {true, true,
         "[{name: spec, configMap: {name: j}}, {name: shm, emptyDir: {medium: Memory, sizeLimit: "
         "16Gi}}, {name: claim, persistentVolumeClaim: {claimName: data}}]",
         "[{name: spec, mountPath: /etc/jobrun}, {name: shm, mountPath: /dev/shm}, {name: claim, "
         "mountPath: /data}]"},
    };
    char size[] = "16Gi", claim[] = "data", mount[] = "/data";
    for (size_t i = 0; i < LENGTH(rows); i++) {
        SCENE(s);
        s.policy.engine.kubernetes.shm = rows[i].shm ? size : NULL;
        s.policy.engine.kubernetes.claim = rows[i].claim ? claim : NULL;
        s.policy.engine.kubernetes.mount = mount;
        scene_render(&s);
        const struct value job[] = {{POD ".volumes", rows[i].volumes},
                                    {FIRST ".volumeMounts", rows[i].mounts}};
        CHECK_VALUES(&s, JOB, job);
    }
}

/* A pod begins above the folders that are made for each rank. */
TEST(begins_in_a_folder_that_is_there)
{
    EACH_PAIR(given, wanted,
              "/ => /|/srv/a => /srv/a|/srv/%{rank} => /srv|/srv/a%{rank}/b => /srv|"
              "/srv/a/b-%{rank} => /srv/a|/srv/a/%{rank}/%{attempt} => /srv/a|/%{rank} => /|"
              "/a%{rank} => /") {
        SCENE(s);
        s.job.workdir = given;
        scene_render(&s);
        const struct value job[] = {{FIRST ".workingDir", wanted}};
        CHECK_VALUES(&s, JOB, job);
    }
}
