/*
 * deepspeed, and ds. Source: the argument parser of deepspeed/launcher/runner.py. internal.h
 * declares its table.
 */
#include <string.h>

#include "session/translate/internal.h"

#include "base/banned.h"

/* HOST[:SLOT,...][@HOST...]: the hosts to use, of those of the hostfile where there is one, and the
 * devices, which are the same on all nodes. */
static int set_include(struct jr_translator *t, const struct jr_given *given)
{
    char **hosts = jr_put_split(t, given->value, '@');
    const char *slots = "";
    if (hosts == NULL)
        return -1;
    for (size_t i = 0; hosts[i] != NULL; i++) {
        size_t len = strcspn(hosts[i], ":");
        const char *own = jr_arena_strdup(t->arena, hosts[i] + len);
        if (own == NULL)
            return -1;
        if (i > 0 && strcmp(own, slots) != 0) {
            jr_note_add(t, JR_VERDICT_LOST, given->what,
                        "`devices` is the same on all nodes: state `hosts`, "
                        "and `devices` where they are alike");
            return 0;
        }
        hosts[i][len] = '\0';
        slots = own;
    }
    t->include = hosts;
    t->include_what = given->what;
    return slots[0] == '\0' ? 0 : jr_put_list(t, given, "devices", jr_put_split(t, slots + 1, ','));
}

static int set_exclude(struct jr_translator *t, const struct jr_given *given)
{
    if (strchr(given->value, ':') != NULL) {
        jr_note_add(t, JR_VERDICT_LOST, given->what,
                    "state the `devices` to use, which are the same on all nodes");
        return 0;
    }
    t->exclude = jr_put_split(t, given->value, '@');
    t->exclude_what = given->what;
    return t->exclude == NULL ? -1 : 0;
}

static int set_ssh_port(struct jr_translator *t, const struct jr_given *given)
{
    return jr_hosts_ssh_options(t, given, "-p");
}

static int set_no_ssh(struct jr_translator *t, const struct jr_given *given)
{
    jr_note_add(t, JR_VERDICT_CHANGED, given->what,
                "start a jobrun on each host, with its --node-rank and a --run-id that all share");
    t->no_ssh = true;
    return 0;
}

/* The files that each rank has are below log_dir. */
static int set_logs(struct jr_translator *t, const struct jr_given *given)
{
    if (strcmp(given->value, "None") == 0)
        return 0;
    if (jr_put(t, given, "redirects", "all") != 0)
        return -1;
    return jr_set_path(t, given);
}

#define ITS_OWN "it is about the launcher itself"
#define BATCHES "see `engine.slurm`, and jobrun submit"
#define ELASTIC "a job has a fixed number of ranks: see `restart`"

static const struct jr_flag flags[] = {
    JR_SETS("--num_gpus --num_accelerators", ONE, jr_set_field, "local_world_size"),
    JR_SETS("--num_nodes", ONE, jr_set_field, "nodes"),
    JR_SETS("--node_rank", ONE, jr_set_field, "node_rank"),
    JR_SETS("--master_addr", ONE, jr_set_field, "master_addr"),
    JR_SETS("--master_port", ONE, jr_set_field, "master_port"),
    JR_SETS("-i --include", ONE, set_include, "hosts"),
    JR_SETS("-e --exclude", ONE, set_exclude, "hosts"),
    JR_SETS("-H --hostfile", ONE, jr_set_hostfile, "hosts"),
    JR_SETS("--module", NONE, jr_set_module, "entrypoint"),
    JR_SETS("--no_python", NONE, jr_set_no_python, "entrypoint"),
    JR_SETS("--no_local_rank", NONE, jr_set_use_env, "entrypoint"),
    JR_SETS("--enable_each_rank_log", ONE, set_logs, "log_dir"),
    JR_SETS("--bind_cores_to_rank", NONE, jr_set_field, "bind=core"),
    JR_LOST("--bind_core_list", ONE, "`bind` distributes the CPUs that jobrun itself may use"),
    JR_SETS("--no_ssh", NONE, set_no_ssh, "hosts"),
    JR_NEEDLESS("--no_ssh_check --force_multi", NONE,
                "no rank starts before all hosts have answered"),
    JR_SETS("--ssh_port", ONE, set_ssh_port, "engine.ssh.options"),
    JR_NEEDLESS("--launcher", ONE, "jobrun starts the ranks itself"),
    JR_LOST("--launcher_args", ONE, ITS_OWN),
    JR_NEEDLESS("--save_pid", NONE, "jobrun show has the ranks' pids"),
    JR_LOST("--autotuning", ONE, "jobrun does not tune the program"),
    JR_LOST("--comment --account", ONE, BATCHES),
    JR_LOST("--elastic_training", NONE, ELASTIC),
    JR_LOST("--min_elastic_nodes --max_elastic_nodes", ONE, ELASTIC),
    {0},
};

/* The hosts that the filters and --num_nodes leave. */
static int choose_hosts(struct jr_translator *t)
{
    uint32_t nodes = jr_put_count(t, "nodes");
    if (t->include != NULL && jr_hosts_count(t) > 0) {
        jr_hosts_keep(t, t->include, false);
    } else if (t->include != NULL) {
        struct jr_buf list JR_BUF_CLEANUP = JR_BUF_INIT;
        for (char **at = t->include; *at != NULL; at++)
            jr_buf_printf(&list, "%s%s", at == t->include ? "" : ",", *at);
        const struct jr_given given = {.what = t->include_what,
                                       .value = jr_buf_keep(&list, t->arena)};
        if (given.value == NULL || jr_set_hosts(t, &given) != 0)
            return -1;
    }
    if (t->exclude != NULL && jr_hosts_count(t) > 0)
        jr_hosts_keep(t, t->exclude, true);
    else if (t->exclude != NULL)
        jr_note_add(t, JR_VERDICT_LOST, t->exclude_what, "state the `hosts` to use");
    if (nodes > 0)
        jr_hosts_cut(t, nodes);
    if (t->no_ssh)
        (void)jr_put_drop(t, "engine");
    return 0;
}

/* What deepspeed takes where the line says nothing of others: this node. */
static int finish_deepspeed(struct jr_translator *t)
{
    static const char *const others[] = {"nodes", "hosts", "node_rank", "master_addr"};
    const struct jr_given unasked = {.what = "deepspeed's default"};
    if (choose_hosts(t) != 0)
        return -1;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (t->hostfile || jr_doc_get(t->to->spec, others[i]) != NULL)
            return 0;
    return jr_put(t, &unasked, "nodes", "1");
}

const struct jr_launcher jr_launcher_deepspeed = {
    .names = "deepspeed|ds|deepspeed.launcher.runner",
    .tables = {flags},
    .python = true,
    .ssh = true,
    .local_rank = "--local_rank",
    .abbrev = true,
    .finish = finish_deepspeed,
};
