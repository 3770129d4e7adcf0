#include <string.h>

#include "base/num.h"
#include "host/scheduler/scheduler.h"

#include "base/banned.h"

/* Volcano: a list per task group, VC_<TASK>_HOSTS. Ranks go through the
 * master's first, if there is one, and its workers. */

/* The hosts of one group, appended. */
static void add_group_hosts(struct jr_host_reader *probe, struct jr_strv *to,
                            const char *hosts)
{
    char *text = jr_arena_strdup(probe->arena, hosts);
    for (char *host; (host = strsep(&text, ",")) != NULL;)
        if (host[0] != '\0')
            jr_strv_push(to, probe->arena, host);
}

/* The value of `VC_<TASK>_HOSTS=VALUE`, of a master's or of another task; NULL
 * for other variables. */
static const char *volcano_group_hosts(const char *variable, bool master)
{
    const char *value = strchr(variable, '=');
    if (value == NULL || strncmp(variable, "VC_", 3) != 0 ||
        value - variable < 9 || strncmp(value - 6, "_HOSTS", 6) != 0)
        return NULL;
    size_t len = (size_t)(value - 6 - variable);
    bool is_master =
        len == strlen("VC_MASTER") && strncmp(variable, "VC_MASTER", len) == 0;
    return is_master == master ? value + 1 : NULL;
}

void jr_volcano_settle(struct jr_host_reader *probe)
{
    struct jr_host_scheduler *to = &probe->hw->scheduler;
    size_t workers = 0;
    for (int pass = 0; pass < 2; pass++)
        for (char *const *at = probe->envp; *at != NULL; at++) {
            const char *hosts = volcano_group_hosts(*at, pass == 0);
            workers += hosts != NULL && pass == 1;
            if (hosts != NULL)
                add_group_hosts(probe, &to->hosts, hosts);
        }
    if (workers > 1)
        jr_scheduler_problem(probe,
                             "Volcano has more than one task of workers, and "
                             "does not say in which order to count them",
                             "state nodes, node_rank and hosts");
}

/* AWS Batch: rank 0 is the main node's, whatever its index, and the main node
 * is the only one that is not told its address. */
void jr_aws_batch_settle(struct jr_host_reader *probe)
{
    struct jr_host_scheduler *to = &probe->hw->scheduler;
    const char *text = jr_env_get(probe->envp, "AWS_BATCH_JOB_MAIN_NODE_INDEX");
    uint32_t main_node = 0;
    if (text != NULL && (!jr_num_u32(text, &main_node) || to->nodes == 0 ||
                         main_node >= to->nodes)) {
        jr_scheduler_problem(
            probe, "AWS_BATCH_JOB_MAIN_NODE_INDEX is not one of the nodes",
            "state node_rank and master_addr");
        return;
    }
    if (to->node_rank >= 0 && to->nodes > 0)
        to->node_rank = (int)(((uint32_t)to->node_rank % to->nodes + to->nodes -
                               main_node) %
                              to->nodes);
    if (to->master_addr == NULL && to->node_rank == 0)
        to->master_addr = probe->hw->hostname;
}

void jr_sagemaker_settle(struct jr_host_reader *probe)
{
    struct jr_host_scheduler *to = &probe->hw->scheduler;
    const char *host = jr_env_get(probe->envp, "SM_CURRENT_HOST");
    to->tasks.count = 0;
    to->slots = false;
    to->node_rank = jr_hosts_find(to, host);
    if (to->node_rank < 0)
        jr_scheduler_problem(probe, "SM_CURRENT_HOST is not one of SM_HOSTS",
                             "state nodes, node_rank and hosts");
}

/* Slurm waits KillWait seconds between SIGTERM and SIGKILL, 30 unless
 * slurm.conf(5) says otherwise. */
static uint32_t kill_wait(struct jr_host_reader *probe, const char *path)
{
    char *text = path == NULL ? NULL : jr_host_reader_text(probe, "%s", path);
    uint32_t seconds = text == NULL ? 0 : 30;
    for (char *line; (line = strsep(&text, "\n")) != NULL;) {
        line += strspn(line, " \t");
        if (strncasecmp(line, "KillWait=", 9) != 0)
            continue;
        line += 9;
        line[strspn(line, "0123456789")] = '\0';
        (void)jr_num_u32(line, &seconds);
    }
    return seconds;
}

void jr_slurm_settle(struct jr_host_reader *probe)
{
    struct jr_host_scheduler *to = &probe->hw->scheduler;
    const char *const paths[] = {
        jr_env_get(probe->envp, "SLURM_CONF"),
        "/run/slurm/conf/slurm.conf",
        "/etc/slurm/slurm.conf",
        "/etc/slurm-llnl/slurm.conf",
    };
    for (size_t i = 0; i < 4 && to->kill_wait == 0; i++)
        to->kill_wait = kill_wait(probe, paths[i]);
}
