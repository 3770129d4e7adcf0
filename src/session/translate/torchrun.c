/*
 * torchrun, and torch.distributed.run and .launch. Sources: the argument parser of
 * torch/distributed/run.py, and launch.py beside it. internal.h declares its table.
 */
#include <string.h>

#include "base/buf.h"
#include "session/translate/internal.h"
#include "spec/template_text.h"
#include "spec/foreign_names.h"

#include "base/banned.h"

/* A count, `auto`, or what kind of device is counted. */
static int set_per_node(struct jr_translator *t, const struct jr_given *given)
{
    const char *value = given->value;
    static const char *const kinds[] = {"cpu", "cuda", "xpu", "hpu", "npu", NULL};
    bool sure;
    const char *device = jr_field_foreign_word(value, kinds, &sure);
    bool any = strcmp(value, "auto") == 0;
    bool kind = strcmp(value, "cpu") == 0 || strcmp(value, "gpu") == 0 ||
                strcmp(value, "xpu") == 0 || strcmp(value, "hpu") == 0 || strcmp(value, "npu") == 0;
    if (strcmp(value, "gpu") == 0) {
        device = "cuda";
        jr_note_add(t, JR_VERDICT_CHANGED, given->what,
                    "the job needs NVIDIA GPUs; for AMD's, state device: rocm");
    }
    if (!any && !kind)
        return jr_put(t, given, "local_world_size", value);
    if (!any && jr_put(t, given, "device", device ? device : value) != 0)
        return -1;
    return jr_put(t, given, "local_world_size", "auto");
}

static int set_rendezvous(struct jr_translator *t, const struct jr_given *given)
{
    bool own = strcmp(given->value, "c10d") == 0 || strcmp(given->value, "static") == 0;
    jr_note_add(t, own ? JR_VERDICT_NEEDLESS : JR_VERDICT_LOST, given->what,
                "ranks meet at master_addr and master_port");
    return 0;
}

/* 0..3, or LOCAL_RANK:0..3 in a list. */
static int set_streams(struct jr_translator *t, const struct jr_given *given)
{
    static const char *const words[] = {"none", "out", "err", "all"};
    static const char wants[] = "0, 1, 2, 3, or RANK:STREAMS,...";
    const char *value = given->value;
    if (value[0] >= '0' && value[0] <= '3' && value[1] == '\0')
        return jr_put(t, given, given->flag->field, words[value[0] - '0']);
    char **rules = jr_put_split(t, value, ',');
    for (size_t i = 0; rules != NULL && rules[i] != NULL; i++) {
        size_t digits = strspn(rules[i], "0123456789");
        const char *streams = rules[i] + digits;
        if (digits == 0 || strspn(streams, ":") != 1 || strspn(streams + 1, "0123") != 1 ||
            streams[2] != '\0')
            return jr_given_wrong(t, given, wants);
    }
    return jr_put(t, given, given->flag->field, value);
}

/* A template of Python's string.Template. */
static int set_torch_prefix(struct jr_translator *t, const struct jr_given *given)
{
    static const char *const words[][2] = {
        {"${rank}", "%{rank}"}, {"${local_rank}", "%{local_rank}"}, {"${role_name}", "default"}};
    const char *text = jr_template_literal(t->arena, given->value);
    for (size_t i = 0; text != NULL && i < sizeof words / sizeof *words; i++) {
        struct jr_buf out JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_buf_replaced(&out, text, words[i][0], words[i][1]);
        text = jr_buf_keep(&out, t->arena);
    }
    if (text == NULL)
        return -1;
    if (strchr(text, '$') != NULL)
        return jr_given_wrong(t, given,
                              "${rank}, ${local_rank}, ${role_name} "
                              "and no other words with a dollar");
    return jr_put(t, given, "console.prefix", text);
}

const struct jr_flag jr_flags_torch[] = {
    JR_SETS("-m --module", NONE, jr_set_module, "entrypoint"),
    JR_SETS("--no-python", NONE, jr_set_no_python, "entrypoint"),
    JR_SETS("-r --redirects", ONE, set_streams, "redirects"),
    JR_SETS("-t --tee", ONE, set_streams, "tee"),
    JR_SETS("--log-dir", ONE, jr_set_path, "log_dir"),
    JR_SETS("--rdzv-backend", ONE, set_rendezvous, "master_addr"),
    JR_LOST("--rdzv-conf", ONE, "there is no rendezvous to configure"),
    JR_SETS("--max-restarts", ONE, jr_set_restarts, "restart.max"),
    JR_NEEDLESS("--monitor-interval", ONE, "jobrun sees at once that a rank has ended"),
    JR_LOST("--role", ONE, "all ranks have the same role, 'default'"),
    {0},
};

static const struct jr_flag flags_torchrun[] = {
    JR_SETS("--nproc-per-node", ONE, set_per_node, "local_world_size"),
    JR_SETS("--nnodes", ONE, jr_set_nodes, "nodes"),
    JR_SETS("--node-rank", ONE, jr_set_field, "node_rank"),
    JR_SETS("--master-addr", ONE, jr_set_field, "master_addr"),
    JR_SETS("--master-port", ONE, jr_set_field, "master_port"),
    JR_SETS("--rdzv-endpoint", ONE, jr_set_endpoint, "master_addr"),
    JR_SETS("--standalone", NONE, jr_set_field, "nodes=1"),
    JR_NEEDLESS("--rdzv-id", ONE, "a run has an id of its own, or --run-id"),
    JR_NEEDLESS("--start-method", ONE, "a program is always started afresh, by torchrun too"),
    JR_NEEDLESS("--run-path", NONE, "each rank is an interpreter of its own"),
    JR_NEEDLESS("--event-log-handler", ONE, "a run writes events.jsonl"),
    JR_CHANGES("--local-ranks-filter", ONE, jr_set_field, "console.ranks",
               "these are ranks of the job, not of a node; the files have the lines of all"),
    JR_LOST("--duplicate-stdout-filters --duplicate-stderr-filters", ONE,
            "a rank's files have all of its lines"),
    JR_SETS("--log-line-prefix-template", ONE, set_torch_prefix, "console.prefix"),
    JR_LOST("--print-completion", ONE, "it starts nothing; see jobrun completion"),
    JR_LOST("--logs-specs", ONE, "the layout of a run's folder is fixed"),
    JR_LOST("--local-addr", ONE, "a node is known by its entry in `hosts`"),
    JR_SETS("--numa-binding", ONE, jr_set_binding, "bind"),
    JR_LOST("--signals-to-handle", ONE,
            "jobrun stops the ranks on TERM, INT, HUP and QUIT, or as `signals` says"),
    JR_SETS("--shutdown-timeout", ONE, jr_set_seconds, "timeouts.stop_grace"),
    JR_CHANGES("--virtual-local-rank", NONE, jr_set_field, "device_visibility=one",
               "LOCAL_RANK stays unchanged: the device has index 0, as in JOBRUN_DEVICE_INDEX"),
    {0},
};

static const struct jr_flag flags_launch[] = {
    JR_SETS("--use-env", NONE, jr_set_use_env, "entrypoint"),
    {0},
};

/* What torchrun takes where the line says nothing. */
static int finish_torchrun(struct jr_translator *t)
{
    static const char *const fields[] = {"local_world_size", "nodes"};
    const struct jr_given unasked = {.what = "torchrun's default"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (jr_doc_get(t->to->spec, fields[i]) == NULL && jr_put(t, &unasked, fields[i], "1") != 0)
            return -1;
    return 0;
}

const struct jr_launcher jr_launcher_torchrun = {
    .names = "torchrun|torch.distributed.run",
    .tables = {flags_torchrun, jr_flags_torch},
    .python = true,
    .abbrev = true,
    .finish = finish_torchrun,
};

/* The older launcher tells a script its local rank by an argument. */
const struct jr_launcher jr_launcher_torch_launch = {
    .names = "torch.distributed.launch",
    .tables = {flags_launch, flags_torchrun, jr_flags_torch},
    .python = true,
    .abbrev = true,
    .local_rank = "--local-rank",
    .finish = finish_torchrun,
};
