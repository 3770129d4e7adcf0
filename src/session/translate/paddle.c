/*
 * python -m paddle.distributed.launch, and fleetrun. Source: the argument parser of
 * paddle/distributed/launch/context/args_envs.py. internal.h declares its table.
 */
#include <string.h>

#include "session/translate/internal.h"

#include "base/banned.h"

/* a,b without slots: one address for each node. */
static int set_ips(struct jr_translator *t, const struct jr_given *given)
{
    if (strchr(given->value, ',') == NULL && strcmp(given->value, "127.0.0.1") == 0)
        return jr_put(t, given, "nodes", "1");
    return jr_set_hosts(t, given);
}

static int set_run_mode(struct jr_translator *t, const struct jr_given *given)
{
    bool collective = strcmp(given->value, "collective") == 0;
    jr_note_add(t, collective ? JR_VERDICT_NEEDLESS : JR_VERDICT_LOST, given->what,
                collective ? "all ranks are trainers"
                           : "all ranks run the same program: parameter servers need others");
    return 0;
}

/* Its own log files are there in any case. */
static int set_log_dir(struct jr_translator *t, const struct jr_given *given)
{
    const struct jr_given unasked = {.what = NULL};
    if (jr_put(t, &unasked, "tee", "all") != 0)
        return -1;
    return jr_set_path(t, given);
}

#define SERVERS "all ranks run the same program: jobrun starts no servers"
#define ELASTIC "a job has a fixed number of ranks: see `restart`"
#define TUNER   "jobrun neither tunes nor measures the program"

static const struct jr_flag flags[] = {
    JR_SETS("--nproc_per_node", ONE, jr_set_field, "local_world_size"),
    JR_SETS("--nnodes", ONE, jr_set_nodes, "nodes"),
    JR_SETS("--rank", ONE, jr_set_field, "node_rank"),
    JR_SETS("--master", ONE, jr_set_endpoint, "master_addr"),
    JR_SETS("--ips --cluster_node_ips", ONE, set_ips, "hosts"),
    JR_SETS("--devices --gpus --npus --xpus --selected_gpus", ONE, jr_set_list, "devices"),
    JR_SETS("--start_port --started_port", ONE, jr_set_field, "master_port"),
    JR_SETS("--log_dir", ONE, set_log_dir, "log_dir"),
    JR_SETS("--max_restart", ONE, jr_set_restarts, "restart.max"),
    JR_SETS("--run_mode", ONE, set_run_mode, NULL),
    JR_NEEDLESS("--host --node_ip", ONE, "a node knows itself by its name and its addresses"),
    JR_NEEDLESS("--job_id", ONE, "a run has an id of its own, or --run-id"),
    JR_NEEDLESS("--sort_ip", ONE, "the order of `hosts` is that of the nodes"),
    JR_NEEDLESS("--log_level --log_overwrite --legacy", ONE, "it is about the launcher itself"),
    JR_LOST("--enable_gpu_log", ONE, TUNER),
    JR_LOST("--auto_parallel_config --auto_cluster_config --auto_tuner_json", ONE, TUNER),
    JR_LOST("--servers --trainers --trainer_num --server_num --worker_num "
            "--workers --heter_workers --gloo_port --http_port --with_gloo",
            ONE, SERVERS),
    JR_LOST("--elastic_level --elastic_timeout", ONE, ELASTIC),
    {0},
};

/* Programs of Paddle read the variables of its own profile; and one node is what it takes where the
 * line says nothing. */
static int finish_paddle(struct jr_translator *t)
{
    const struct jr_given launcher = {.what = "paddle.distributed.launch"};
    char profile[] = "paddle", *profiles[] = {profile, NULL};
    if (jr_put_list(t, &launcher, "env_profiles", profiles) != 0)
        return -1;
    if (jr_doc_get(t->to->spec, "nodes") != NULL || jr_doc_get(t->to->spec, "hosts") != NULL)
        return 0;
    return jr_put(t, &launcher, "nodes", "1");
}

const struct jr_launcher jr_launcher_paddle = {
    .names = "paddle.distributed.launch|fleetrun",
    .tables = {flags},
    .python = true,
    .abbrev = true,
    .finish = finish_paddle,
};
