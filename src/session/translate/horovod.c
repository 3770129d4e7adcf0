/*
 * horovodrun. Source: the argument parser of horovod/runner/launch.py; its tuneable parameters are
 * variables, named in horovod/runner/common/util/ config_parser.py. internal.h declares its table.
 */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/num.h"
#include "session/translate/internal.h"
#include "spec/template_text.h"

#include "base/banned.h"

/* --cache-capacity 2048 is HOROVOD_CACHE_CAPACITY=2048, and a switch is 1. */
static int set_variable(struct jr_translator *t, const struct jr_given *given)
{
    const char *stated = given->flag->field;
    char *path = stated != NULL ? jr_arena_printf(t->arena, "env.HOROVOD_%s", stated)
                                : jr_arena_printf(t->arena, "env.HOROVOD_%s", given->name);
    if (path == NULL)
        return -1;
    for (char *at = path + 4; *at != '\0'; at++)
        *at = (char)(*at == '-' ? '_' : toupper((unsigned char)*at));
    const char *value = given->value == NULL ? "1" : given->value;
    return jr_put(t, given, path, jr_template_literal(t->arena, value));
}

static int set_megabytes(struct jr_translator *t, const struct jr_given *given)
{
    struct jr_given bytes = *given;
    uint32_t megabytes;
    if (!jr_num_u32(given->value, &megabytes))
        return jr_given_wrong(t, given, "a number of megabytes");
    bytes.value = jr_arena_printf(t->arena, "%" PRIu64, (uint64_t)megabytes << 20);
    return bytes.value == NULL ? -1 : set_variable(t, &bytes);
}

static int set_ssh_port(struct jr_translator *t, const struct jr_given *given)
{
    return jr_hosts_ssh_options(t, given, "-p");
}

static int set_ssh_key(struct jr_translator *t, const struct jr_given *given)
{
    return jr_hosts_ssh_options(t, given, "-i");
}

/* MPI's world, by which Horovod finds its ranks as well as by its own server.
 */
static int set_mpi_controller(struct jr_translator *t, const struct jr_given *given)
{
    (void)given;
    t->mpi = true;
    return 0;
}

#define ITS_OWN "it is about the launcher itself"
#define ELASTIC "a job has a fixed number of ranks: see `restart`"
#define ENGINE  "Horovod's own controller is not started"

static const struct jr_flag flags[] = {
    JR_SETS("-np --num-proc", ONE, jr_set_field, "world_size"),
    JR_SETS("-H --hosts", ONE, jr_set_hosts, "hosts"),
    JR_SETS("-hostfile --hostfile", ONE, jr_set_hostfile, "hosts"),
    JR_SETS("--start-timeout", ONE, jr_set_seconds, "timeouts.start"),
    JR_NEEDLESS("--output-filename", ONE,
                "each rank's streams have files of their own: see `log_dir`"),
    JR_NEEDLESS("-v --version -cb --check-build --disable-cache --verbose "
                "--log-with-timestamp --log-without-timestamp",
                NONE, ITS_OWN),
    JR_SETS("-prefix-timestamp --prefix-output-with-timestamp", NONE, jr_set_field,
            "console.timestamps=true"),
    JR_LOST("--config-file", ONE, "jobrun does not read it: give its contents as options"),
    JR_LOST("--network-interface --network-interfaces", ONE,
            "state the variables of the backend in `env`: GLOO_SOCKET_IFNAME, NCCL_SOCKET_IFNAME"),
    JR_SETS("-p --ssh-port", ONE, set_ssh_port, "engine.ssh.options"),
    JR_SETS("-i --ssh-identity-file", ONE, set_ssh_key, "engine.ssh.options"),

    JR_SETS("--fusion-threshold-mb", ONE, set_megabytes, "FUSION_THRESHOLD"),
    JR_SETS("--cycle-time-ms", ONE, set_variable, "CYCLE_TIME"),
    JR_SETS("--cache-capacity", ONE, set_variable, NULL),
    JR_SETS("--hierarchical-allreduce --hierarchical-allgather", NONE, set_variable, NULL),
    JR_NEEDLESS("--no-hierarchical-allreduce --no-hierarchical-allgather --no-autotune "
                "--no-timeline-mark-cycles --stall-check --no-mpi-threads-disable",
                NONE, "it is Horovod's default"),
    JR_SETS("--autotune", NONE, set_variable, NULL),
    JR_SETS("--autotune-log-file", ONE, set_variable, "AUTOTUNE_LOG"),
    JR_SETS("--autotune-warmup-samples --autotune-steps-per-sample "
            "--autotune-bayes-opt-max-samples --autotune-gaussian-process-noise",
            ONE, set_variable, NULL),
    JR_SETS("--timeline-filename", ONE, set_variable, "TIMELINE"),
    JR_SETS("--timeline-mark-cycles", NONE, set_variable, NULL),
    JR_SETS("--no-stall-check", NONE, set_variable, "STALL_CHECK_DISABLE"),
    JR_SETS("--stall-check-warning-time-seconds", ONE, set_variable, "STALL_CHECK_TIME_SECONDS"),
    JR_SETS("--stall-check-shutdown-time-seconds", ONE, set_variable,
            "STALL_SHUTDOWN_TIME_SECONDS"),
    JR_SETS("--gloo-timeout-seconds", ONE, set_variable, NULL),
    JR_SETS("--mpi-threads-disable", NONE, set_variable, NULL),
    JR_SETS("--tcp", NONE, jr_set_field, "env.NCCL_IB_DISABLE=1"),
    JR_SETS("--log-level", ONE, set_variable, NULL),
    JR_SETS("--thread-affinity", ONE, set_variable, NULL),
    JR_SETS("--num-nccl-streams", ONE, set_variable, NULL),

    JR_LOST("--min-np --min-num-proc --max-np --max-num-proc --slots-per-host "
            "--elastic-timeout --reset-limit --host-discovery-script",
            ONE, ELASTIC),
    JR_LOST("--blacklist-cooldown-range", TWO, ELASTIC),
    JR_LOST("--mpi-args --binding-args", ONE, ENGINE),
    JR_SETS("--mpi", NONE, set_mpi_controller, "env_profiles"),
    JR_LOST("--gloo --jsrun", NONE, ENGINE),
    {0},
};

/* Ranks of Horovod find each other by a server of horovodrun's, or by MPI, whose process manager
 * jobrun is. */
static int finish_horovod(struct jr_translator *t)
{
    jr_note_add(t, t->mpi ? JR_VERDICT_CHANGED : JR_VERDICT_LOST, "hvd.init()",
                t->mpi ? "it finds its ranks through MPI, if Horovod was built with "
                         "it; without, it sees a single rank"
                       : "horovodrun's own server is not started, and it sees a single rank; if "
                         "Horovod was built with MPI, it finds its ranks by env_profiles: "
                         "[torch, mpi]; torch.distributed works as it is");
    return 0;
}

const struct jr_launcher jr_launcher_horovod = {
    .names = "horovodrun",
    .tables = {flags},
    .ssh = true,
    .words = true,
    .finish = finish_horovod,
};
