/*
 * deepspeed, and ds. Source: the argument parser of
 * deepspeed/launcher/runner.py. flag.h declares its table.
 */
#include <string.h>

#include "session/translate/flag.h"
#include "session/translate/put_value.h"
#include "session/translate/setters.h"

#include "base/banned.h"

/* HOST[:SLOT,...][@HOST...]: the devices of one host alone can be said. */
static int set_include(struct jr_translator *t, const struct jr_given *given)
{
    char **hosts = jr_put_split(t, given->value, '@');
    if (hosts == NULL)
        return -1;
    char *colon = strchr(hosts[0], ':');
    if (hosts[1] == NULL && colon != NULL) {
        if (strncmp(hosts[0], "localhost:", 10) != 0)
            jr_note_add(t, JR_VERDICT_LOST, given->what,
                        JR_NO_LOGIN ": start it on that host");
        return jr_put_list(t, given, "devices",
                           jr_put_split(t, colon + 1, ','));
    }
    for (size_t i = 0; hosts[i] != NULL; i++)
        if (strchr(hosts[i], ':') != NULL) {
            jr_note_add(t, JR_VERDICT_LOST, given->what,
                        "`devices` is the same on all nodes: state `hosts`, "
                        "and `devices` where they are alike");
            return 0;
        }
    struct jr_given list = *given;
    char *joined = jr_arena_strdup(t->arena, given->value);
    for (char *at = joined; at != NULL && *at != '\0'; at++)
        *at = *at == '@' ? ',' : *at;
    list.value = joined;
    return joined == NULL ? -1 : jr_set_hosts(t, &list);
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

#define ITS_OWN  "it is about the launcher itself"
#define BATCHES  "see `engine.slurm`, and jobrun submit"
#define ELASTIC  "a job has a fixed number of ranks: see `restart`"
#define NO_HOSTS "jobrun reads no hostfile: state `hosts`"

static const struct jr_flag flags[] = {
    JR_SETS("--num_gpus --num_accelerators", ONE, jr_set_field,
            "local_world_size"),
    JR_SETS("--num_nodes", ONE, jr_set_field, "nodes"),
    JR_SETS("--node_rank", ONE, jr_set_field, "node_rank"),
    JR_SETS("--master_addr", ONE, jr_set_field, "master_addr"),
    JR_SETS("--master_port", ONE, jr_set_field, "master_port"),
    JR_SETS("-i --include", ONE, set_include, "devices"),
    JR_LOST("-e --exclude", ONE, "state the `devices` or `hosts` to use"),
    JR_LOST("-H --hostfile", ONE, NO_HOSTS),
    JR_SETS("--module", NONE, jr_set_module, "entrypoint"),
    JR_SETS("--no_python", NONE, jr_set_no_python, "entrypoint"),
    JR_SETS("--no_local_rank", NONE, jr_set_use_env, "entrypoint"),
    JR_SETS("--enable_each_rank_log", ONE, set_logs, "log_dir"),
    JR_SETS("--bind_cores_to_rank", NONE, jr_set_field, "bind=core"),
    JR_LOST("--bind_core_list", ONE,
            "`bind` distributes the CPUs that jobrun itself may use"),
    JR_NEEDLESS("--no_ssh --no_ssh_check --force_multi", NONE, JR_NO_LOGIN),
    JR_LOST("--ssh_port", ONE, JR_NO_LOGIN),
    JR_NEEDLESS("--launcher", ONE, "jobrun starts the ranks itself"),
    JR_LOST("--launcher_args", ONE, ITS_OWN),
    JR_NEEDLESS("--save_pid", NONE, "jobrun show has the ranks' pids"),
    JR_LOST("--autotuning", ONE, "jobrun does not tune the program"),
    JR_LOST("--comment --account", ONE, BATCHES),
    JR_LOST("--elastic_training", NONE, ELASTIC),
    JR_LOST("--min_elastic_nodes --max_elastic_nodes", ONE, ELASTIC),
    {0},
};

/* What deepspeed takes where the line says nothing of others: this node. */
static int finish_deepspeed(struct jr_translator *t)
{
    static const char *const others[] = {"nodes", "hosts", "node_rank",
                                         "master_addr"};
    const struct jr_given unasked = {.what = "deepspeed's default"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (jr_doc_get(t->to->spec, others[i]) != NULL)
            return 0;
    return jr_put(t, &unasked, "nodes", "1");
}

const struct jr_launcher jr_launcher_deepspeed = {
    .names = "deepspeed|ds|deepspeed.launcher.runner",
    .tables = {flags},
    .python = true,
    .local_rank = "--local_rank",
    .abbrev = true,
    .finish = finish_deepspeed,
};
