/*
 * What other launchers' options become, for `jobrun new --from`: foreign.h declares it. Sources:
 * the argument parsers of torch/distributed/run.py and launch.py, of accelerate's
 * commands/launch.py and utils/launch.py, paddle/distributed/launch/context/args_envs.py,
 * deepspeed/launcher/runner.py and horovod/runner/launch.py, whose tuneable parameters are
 * variables (common/util/config_parser.py); slurm's common/slurm_opt.c and srun(1); the ompi
 * personality of PRRTE (schizo_ompi.c), mpirun(1), and MPICH's hydra utils.c.
 */
#include "spec/foreign.h"

#include <stddef.h>

#include "base/banned.h"

#define SETS(names, takes, turn, field)                                                            \
    {                                                                                              \
        names, JR_TAKES_##takes, JR_TURN_##turn, field, JR_VERDICT_CHANGED, NULL                   \
    }
#define CHANGES(names, takes, turn, field, why)                                                    \
    {                                                                                              \
        names, JR_TAKES_##takes, JR_TURN_##turn, field, JR_VERDICT_CHANGED, why                    \
    }
#define NEEDLESS(names, takes, why)                                                                \
    {                                                                                              \
        names, JR_TAKES_##takes, JR_TURN_NONE, NULL, JR_VERDICT_NEEDLESS, why                      \
    }
#define LOST(names, takes, why)                                                                    \
    {                                                                                              \
        names, JR_TAKES_##takes, JR_TURN_NONE, NULL, JR_VERDICT_LOST, why                          \
    }

#define ABOUT_SRUN  "it is about srun itself"
#define ALLOCATION  "it belongs to the allocation: give it to sbatch or salloc"
#define BATCHES     "see `engine.slurm`, and jobrun submit"
#define COPIES      "code: freeze sends the work tree to hosts that do not see it"
#define DEFAULTS    "accelerate launch also sets the variables of options that are not given"
#define DYNAMO      "env.ACCELERATE_DYNAMO_"
#define ELASTIC     "a job has a fixed number of ranks: see `restart`"
#define ENGINE      "Horovod's own controller is not started"
#define INHERITED   "ranks inherit the whole environment: see `env_remove`"
#define ITS_OWN     "it is about the launcher itself"
#define NO_MPI      "jobrun does not configure MPI"
#define NO_TPU      "jobrun starts nothing on a TPU pod"
#define ONE_PROGRAM "all ranks run the same program"
#define OWN_FILES   "each rank's streams have files of their own: see `log_dir`"
#define PLACES      "a spec does not describe sockets, cores and hardware threads"
#define PLAN        "see jobrun plan"
#define SERVERS     "all ranks run the same program: jobrun starts no servers"
#define TUNER       "jobrun neither tunes nor measures the program"
#define WINDOWS     "jobrun SPEC --debug RANK gives a rank this terminal"
#define ZERO        "env.ACCELERATE_DEEPSPEED_"

static const struct jr_flag flags_torch[] = {
    SETS("-m --module", NONE, MODULE, "entrypoint"),
    SETS("--no-python", NONE, NO_PYTHON, "entrypoint"),
    SETS("-r --redirects", ONE, STREAMS, "redirects"),
    SETS("-t --tee", ONE, STREAMS, "tee"),
    SETS("--log-dir", ONE, PATH, "log_dir"),
    SETS("--rdzv-backend", ONE, RENDEZVOUS, "master_addr"),
    LOST("--rdzv-conf", ONE, "there is no rendezvous to configure"),
    SETS("--max-restarts", ONE, RESTARTS, "restart.max"),
    NEEDLESS("--monitor-interval", ONE, "jobrun sees at once that a rank has ended"),
    LOST("--role", ONE, "all ranks have the same role, 'default'"),
    {0},
};

static const struct jr_flag flags_torchrun[] = {
    SETS("--nproc-per-node", ONE, PER_NODE, "local_world_size"),
    SETS("--nnodes", ONE, NODES, "nodes"),
    SETS("--node-rank", ONE, FIELD, "node_rank"),
    SETS("--master-addr", ONE, FIELD, "master_addr"),
    SETS("--master-port", ONE, FIELD, "master_port"),
    SETS("--rdzv-endpoint", ONE, ENDPOINT, "master_addr"),
    SETS("--standalone", NONE, FIELD, "nodes=1"),
    NEEDLESS("--rdzv-id", ONE, "a run has an id of its own, or --run-id"),
    NEEDLESS("--start-method", ONE, "a program is always started afresh, by torchrun too"),
    NEEDLESS("--run-path", NONE, "each rank is an interpreter of its own"),
    NEEDLESS("--event-log-handler", ONE, "a run writes events.jsonl"),
    CHANGES("--local-ranks-filter", ONE, FIELD, "console.ranks",
            "these are ranks of the job, not of a node; the files have the lines of all"),
    LOST("--duplicate-stdout-filters --duplicate-stderr-filters", ONE,
         "a rank's files have all of its lines"),
    SETS("--log-line-prefix-template", ONE, TORCH_PREFIX, "console.prefix"),
    LOST("--print-completion", ONE, "it starts nothing; see jobrun completion"),
    LOST("--logs-specs", ONE, "the layout of a run's folder is fixed"),
    LOST("--local-addr", ONE, "a node is known by its entry in `hosts`"),
    SETS("--numa-binding", ONE, BINDING, "bind"),
    LOST("--signals-to-handle", ONE,
         "jobrun stops the ranks on TERM, INT, HUP and QUIT, or as `signals` says"),
    SETS("--shutdown-timeout", ONE, SECONDS, "timeouts.stop_grace"),
    CHANGES("--virtual-local-rank", NONE, FIELD, "device_visibility=one",
            "LOCAL_RANK stays unchanged: the device has index 0, as in JOBRUN_DEVICE_INDEX"),
    {0},
};

static const struct jr_flag flags_launch[] = {
    SETS("--use-env", NONE, USE_ENV, "entrypoint"),
    {0},
};

static const struct jr_flag flags_accelerate[] = {
    SETS("--num_processes", ONE, FIELD, "world_size"),
    SETS("--num_machines", ONE, FIELD, "nodes"),
    SETS("--machine_rank", ONE, FIELD, "node_rank"),
    SETS("--main_process_ip", ONE, FIELD, "master_addr"),
    SETS("--main_process_port", ONE, FIELD, "master_port"),
    SETS("--gpu_ids", ONE, LIST, "devices"),
    SETS("--num_cpu_threads_per_process", ONE, FIELD, "threads"),
    SETS("--cpu --use_cpu", NONE, CPU, "device"),
    SETS("--use_xpu", NONE, FIELD, "device=xpu"),
    NEEDLESS("--multi_gpu", NONE, "the devices that are there are used"),
    NEEDLESS("--same_network", NONE, "ranks meet at master_addr and master_port"),
    NEEDLESS("-q --quiet", NONE, "the report names the rank that failed"),
    LOST("--config_file", ONE, "jobrun does not read it: give its contents as options"),
    LOST("--ipex --use_mps_device", NONE, "a spec has no such device"),

    SETS("--mixed_precision", ONE, FIELD, "env.ACCELERATE_MIXED_PRECISION"),
    SETS("--enable_cpu_affinity", NONE, FIELD, "env.ACCELERATE_CPU_AFFINITY=1"),
    SETS("--debug", NONE, FIELD, "env.ACCELERATE_DEBUG_MODE=true"),
    SETS("--dynamo_backend", ONE, UPPER, DYNAMO "BACKEND"),
    SETS("--dynamo_mode", ONE, FIELD, DYNAMO "MODE"),
    SETS("--dynamo_use_fullgraph", NONE, FIELD, DYNAMO "USE_FULLGRAPH=True"),
    SETS("--dynamo_use_dynamic", NONE, FIELD, DYNAMO "USE_DYNAMIC=True"),
    SETS("--dynamo_use_regional_compilation", NONE, FIELD, DYNAMO "USE_REGIONAL_COMPILATION=True"),
    SETS("--fp8_use_autocast_during_eval", NONE, FIELD,
         "env.ACCELERATE_FP8_USE_AUTOCAST_DURING_EVAL=True"),
    SETS("--fp8_*", ONE, NAMED, "env.ACCELERATE_*"),

    CHANGES("--use_fsdp", NONE, FIELD, "env.ACCELERATE_USE_FSDP=true", DEFAULTS),
    SETS("--fsdp_transformer_layer_cls_to_wrap", ONE, FIELD, "env.FSDP_TRANSFORMER_CLS_TO_WRAP"),
    SETS("--fsdp_*", ONE, NAMED, "env.*"),
    CHANGES("--use_megatron_lm", NONE, FIELD, "env.ACCELERATE_USE_MEGATRON_LM=true", DEFAULTS),
    SETS("--megatron_lm_tp_degree", ONE, AXIS, "parallelism.model"),
    SETS("--megatron_lm_pp_degree", ONE, AXIS, "parallelism.pipeline"),
    SETS("--megatron_lm_*", ONE, NAMED, "env.*"),
    CHANGES("--use_parallelism_config", NONE, FIELD, "env.ACCELERATE_USE_PARALLELISM_CONFIG=true",
            DEFAULTS),
    SETS("--parallelism_config_tp_size", ONE, AXIS, "parallelism.model"),
    SETS("--parallelism_config_*", ONE, NAMED, "env.*"),

    CHANGES("--use_deepspeed", NONE, FIELD, "env.ACCELERATE_USE_DEEPSPEED=true", DEFAULTS),
    SETS("--deepspeed_config_file", ONE, FIELD, ZERO "CONFIG_FILE"),
    SETS("--zero_stage", ONE, NAMED, ZERO "*"),
    SETS("--offload_*", ONE, NAMED, ZERO "*"),
    SETS("--zero3_init_flag", ONE, FIELD, ZERO "ZERO3_INIT"),
    SETS("--zero3_save_16bit_model", ONE, NAMED, ZERO "*"),
    SETS("--deepspeed_moe_layer_cls_names", ONE, NAMED, "env.ACCELERATE_*"),
    SETS("--gradient_accumulation_steps --gradient_clipping", ONE, NAMED, "env.ACCELERATE_*"),
    SETS("--deepspeed_hostfile --mpirun_hostfile", ONE, HOSTFILE, "hosts"),
    LOST("--deepspeed_exclusion_filter --deepspeed_inclusion_filter", ONE,
         "state the `hosts` to use"),
    NEEDLESS("--deepspeed_multinode_launcher", ONE, "jobrun starts the ranks itself"),
    SETS("--mpirun_ccl", ONE, FIELD, "env.CCL_WORKER_COUNT"),

    LOST("--tpu --tpu_cluster --no_tpu_cluster --tpu_use_sudo --downcast_bf16", NONE, NO_TPU),
    LOST("--vm --env --main_training_function", ONE, NO_TPU),
    SETS("--aws_access_key_id --aws_secret_access_key", ONE, SECRET, NULL),
    {0},
};

static const struct jr_flag flags_srun[] = {
    SETS("-N --nodes", ONE, NODE_RANGE, "nodes"),
    SETS("-n --ntasks", ONE, FIELD, "world_size"),
    SETS("--ntasks-per-node --tasks-per-node", ONE, FIELD, "local_world_size"),
    CHANGES("-c --cpus-per-task", ONE, FIELD, "threads",
            "it becomes OMP_NUM_THREADS; no CPU is set aside"),
    SETS("-w --nodelist", ONE, NODELIST, "hosts"),
    SETS("-J --job-name", ONE, FIELD, "name"),
    SETS("-D --chdir", ONE, PATH, "workdir"),
    SETS("-t --time", ONE, TIME, "timeouts.run"),
    SETS("-W --wait", ONE, SECONDS, "timeouts.after_first_exit"),
    SETS("-K --kill-on-bad-exit", MAYBE, KILL, "on_failure"),
    SETS("-O --overcommit", NONE, FIELD, "oversubscribe=true"),
    SETS("--export", ONE, EXPORT, "env"),
    SETS("--cpu-bind", ONE, BINDING, "bind"),
    SETS("--gpus-per-task --ntasks-per-gpu", ONE, GPUS_EACH, "device_visibility"),
    SETS("-m --distribution", ONE, DISTRIBUTION, "world_size"),
    SETS("--mpi", ONE, MPI, "mpi"),

    NEEDLESS("-o --output -e --error --open-mode", ONE, OWN_FILES),
    NEEDLESS("-l --label", NONE, "lines on the console have a prefix: see `console`"),
    NEEDLESS("-u --unbuffered", NONE, "lines are shown as they come"),
    NEEDLESS("--propagate", MAYBE, "ranks inherit jobrun's limits"),
    NEEDLESS("-v --verbose -Q --quiet -X --disable-status --quit-on-interrupt --exact --async",
             NONE, ABOUT_SRUN),
    NEEDLESS("-T --threads --msg-timeout --slurmd-debug --treewidth --comment --wckey", ONE,
             ABOUT_SRUN),
    NEEDLESS("--overlap --exclusive --bcast --compress --send-libs --resv-ports", MAYBE,
             ABOUT_SRUN),

    LOST("-A --account -p --partition -q --qos -C --constraint --reservation -L --licenses -x "
         "--exclude -d --dependency -M --clusters -b --begin --deadline --priority --mail-type "
         "--mail-user --time-min --switches --tmp",
         ONE, ALLOCATION),
    LOST("--mem --mem-per-cpu --mem-per-gpu --gres --gres-flags -G --gpus --gpus-per-node "
         "--gpus-per-socket --cpus-per-gpu --mincpus --tres-per-task --gpu-freq --cpu-freq -S "
         "--core-spec --thread-spec --network --profile --acctg-freq --jobid -r --relative -F "
         "--nodefile --bb --bbf --het-group --pack-group",
         ONE, ALLOCATION),
    LOST("-s --oversubscribe --contiguous --reboot --spread-job "
         "--use-min-nodes -Z --no-allocate -H --hold -E --preserve-env",
         NONE, ALLOCATION),
    LOST("-I --immediate -k --no-kill --requeue --nice --oom-kill-step", MAYBE, ALLOCATION),
    LOST("-B --extra-node-info --sockets-per-node --cores-per-socket "
         "--threads-per-core --ntasks-per-core --ntasks-per-socket --hint",
         ONE, PLACES),
    LOST("--gpu-bind --tres-bind --accel-bind --mem-bind", ONE,
         "a rank sees all devices of its node, or one: see `device_visibility`"),
    LOST("--multi-prog", NONE, "all ranks run the same program"),
    LOST("-i --input", ONE,
         "ranks read /dev/null, or one of them jobrun's own standard input: "
         "jobrun SPEC --stdin RANK"),
    LOST("--pty --x11", MAYBE, "jobrun SPEC --debug RANK gives a rank this terminal"),
    SETS("--signal", ONE, SIGNAL, "deadline"),
    LOST("--export-file", ONE, "jobrun does not read it: see `env`"),
    LOST("--prolog --epilog --task-prolog --task-epilog", ONE,
         "`setup` runs on each node before the ranks, and `on_end` after the end of all"),
    LOST("--container --container-id --environment", ONE, "ranks run in no container of their own"),
    LOST("--test-only", NONE, "see jobrun plan"),
    {0},
};

static const struct jr_flag flags_mpi[] = {
    SETS("-np -n", ONE, FIELD, "world_size"),
    SETS("-host", ONE, HOSTS, "hosts"),
    SETS("-hostfile -machinefile", ONE, HOSTFILE, "hosts"),
    SETS("-wdir", ONE, PATH, "workdir"),
    SETS("-map-by", ONE, MAPPING, "local_world_size"),
    SETS("-bind-to", ONE, BINDING, "bind"),
    SETS("-timeout", ONE, SECONDS, "timeouts.run"),
    LOST("-configfile", ONE, ONE_PROGRAM),
    NEEDLESS("-v -verbose -version", NONE, ITS_OWN),
    LOST("-path", ONE, "name the program by its path, or set PATH"),
    {0},
};

static const struct jr_flag flags_openmpi[] = {
    SETS("-c --n", ONE, FIELD, "world_size"),
    SETS("-N -npernode", ONE, FIELD, "local_world_size"),
    SETS("-pernode", NONE, FIELD, "local_world_size=1"),
    SETS("-ppr", ONE, MAPPING, "local_world_size"),
    SETS("-H", ONE, HOSTS, "hosts"),
    SETS("-wd", ONE, PATH, "workdir"),
    SETS("-x", ONE, PAIR, "env"),
    SETS("-mca -gmca -omca -gomca", TWO, MCA, "env.OMPI_MCA_"),
    SETS("-pmixmca -gpmixmca", TWO, MCA, "env.PMIX_MCA_"),
    LOST("-prtemca", TWO, ITS_OWN),
    SETS("-oversubscribe", NONE, FIELD, "oversubscribe=true"),
    SETS("-cpus-per-proc -cpus-per-rank", ONE, FIELD, "threads"),
    SETS("-bind-to-core -bycore", NONE, FIELD, "bind=core"),
    SETS("-bind-to-socket", NONE, FIELD, "bind=numa"),
    SETS("-bind-to-none", NONE, FIELD, "bind=none"),
    SETS("-timestamp-output", NONE, FIELD, "console.timestamps=true"),
    SETS("-output", ONE, OUTPUT, "console.timestamps"),
    SETS("-max-restarts", ONE, RESTARTS, "restart.max"),
    NEEDLESS("-nooversubscribe", NONE, "more ranks than devices are refused unless allowed"),
    NEEDLESS("-byslot", NONE, "ranks fill one node after the other"),
    NEEDLESS("-tag-output", NONE, "lines on the console have a prefix: see `console`"),
    NEEDLESS("-output-filename -output-directory", ONE, OWN_FILES),
    NEEDLESS("-report-bindings -display-map -display-devel-map -display-allocation "
             "-display-devel-allocation -display-topo -display-comm -display-comm-finalize",
             NONE, PLAN),
    NEEDLESS("-display -output-proctable", ONE, PLAN),
    NEEDLESS("-allow-run-as-root -q -quiet -V -p -noprefix -show-progress -debug "
             "-debug-daemons -debug-daemons-file -leave-session-attached",
             NONE, ITS_OWN),
    NEEDLESS("-prefix -tmpdir -launch-agent -max-vm-size -pset -spawn-timeout", ONE, ITS_OWN),
    SETS("-default-hostfile", ONE, HOSTFILE, "hosts"),
    LOST("-rankfile -rf", ONE,
         "ranks fill one node after the other: state `hosts`, and in "
         "`local_world_size` how many ranks each has"),
    LOST("-rank-by -cpu-set -cpu-list -npersocket", ONE, PLACES),
    LOST("-use-hwthread-cpus -bynode -nolocal", NONE, PLACES),
    LOST("-merge-stderr-to-stdout -xml", NONE, "a rank's two streams stay apart"),
    LOST("-stream-buffering", ONE, "the program decides about its buffering"),
    LOST("-stdin", ONE,
         "ranks read /dev/null, or one of them jobrun's own standard input: "
         "jobrun SPEC --stdin RANK"),
    LOST("-forward-signals", ONE, "USR1 and USR2 go to the ranks, and others as `signals` says"),
    LOST("-app -appfile -file", ONE, ONE_PROGRAM),
    LOST("-tune -am -amca -initial-errhandler -with-ft", ONE, NO_MPI),
    LOST("-preload-files", ONE, COPIES),
    LOST("-s -preload-binary", NONE, COPIES),
    LOST("-arch -xterm -stop-in-init -stop-in-app", ONE, WINDOWS),
    LOST("-soft -stop-on-exec", NONE, WINDOWS),
    LOST("-enable-recovery -disable-recovery -continuous", NONE,
         "the first failure stops the job, or see `on_failure`"),
    LOST("-get-stack-traces -report-state-on-timeout", NONE,
         "`on_hang` gathers them from a job that hangs; jobrun show --stacks prints them"),
    LOST("-do-not-launch", NONE, PLAN),
    {0},
};

static const struct jr_flag flags_hydra[] = {
    SETS("-ppn -perhost -grr", ONE, FIELD, "local_world_size"),
    SETS("-hosts -hostlist -machine -machines -machinelist", ONE, HOSTS, "hosts"),
    SETS("-f", ONE, HOSTFILE, "hosts"),
    SETS("-genv -env", TWO, ENV_TWO, "env"),
    NEEDLESS("-genvall -envall", NONE, "the ranks inherit jobrun's environment"),
    LOST("-genvlist -envlist -genvexcl", ONE, INHERITED),
    LOST("-genvnone -envnone", NONE, INHERITED),
    NEEDLESS("-prepend-rank -l", NONE, "lines on the console have a prefix: see `console`"),
    SETS("-prepend-pattern", ONE, MPI_PREFIX, "console.prefix"),
    NEEDLESS("-outfile-pattern -outfile -errfile-pattern -errfile", ONE, OWN_FILES),
    SETS("-binding", ONE, BINDING, "bind"),
    LOST("-membind -order-nodes -ranks-per-proc", ONE, PLACES),
    SETS("-gpus-per-proc", ONE, GPUS_EACH, "device_visibility"),
    LOST("-gpu-subdevs-per-proc", ONE, "a rank sees whole devices"),
    SETS("-disable-auto-cleanup", NONE, FIELD, "on_failure=continue"),
    NEEDLESS("-enable-auto-cleanup", NONE, "the first failure stops all"),
    NEEDLESS("-print-all-exitcodes", NONE, "the report has them"),
    NEEDLESS("-print-rank-map", NONE, PLAN),
    NEEDLESS("-launcher -launcher-exec -bootstrap -bootstrap-exec -rmk "
             "-demux -topolib -bindlib -usize -pmi-port -localhost",
             ONE, ITS_OWN),
    NEEDLESS("-info -profile -skip-launch-node "
             "-disable-hostname-propagation -enable-hostname-propagation",
             NONE, ITS_OWN),
    LOST("-iface -nameserver", ONE, NO_MPI),
    LOST("-enable-x -disable-x", NONE, "ranks have no screen"),
    LOST("-ckpoint-interval -ckpoint-prefix -ckpoint-num -ckpointlib", ONE,
         "jobrun makes no checkpoints"),
    {0},
};

static const struct jr_flag flags_paddle[] = {
    SETS("--nproc_per_node", ONE, FIELD, "local_world_size"),
    SETS("--nnodes", ONE, NODES, "nodes"),
    SETS("--rank", ONE, FIELD, "node_rank"),
    SETS("--master", ONE, ENDPOINT, "master_addr"),
    SETS("--ips --cluster_node_ips", ONE, IPS, "hosts"),
    SETS("--devices --gpus --npus --xpus --selected_gpus", ONE, LIST, "devices"),
    SETS("--start_port --started_port", ONE, FIELD, "master_port"),
    SETS("--log_dir", ONE, LOG_DIR, "log_dir"),
    SETS("--max_restart", ONE, RESTARTS, "restart.max"),
    SETS("--run_mode", ONE, RUN_MODE, NULL),
    NEEDLESS("--host --node_ip", ONE, "a node knows itself by its name and its addresses"),
    NEEDLESS("--job_id", ONE, "a run has an id of its own, or --run-id"),
    NEEDLESS("--sort_ip", ONE, "the order of `hosts` is that of the nodes"),
    NEEDLESS("--log_level --log_overwrite --legacy", ONE, "it is about the launcher itself"),
    LOST("--enable_gpu_log", ONE, TUNER),
    LOST("--auto_parallel_config --auto_cluster_config --auto_tuner_json", ONE, TUNER),
    LOST("--servers --trainers --trainer_num --server_num --worker_num "
         "--workers --heter_workers --gloo_port --http_port --with_gloo",
         ONE, SERVERS),
    LOST("--elastic_level --elastic_timeout", ONE, ELASTIC),
    {0},
};

static const struct jr_flag flags_deepspeed[] = {
    SETS("--num_gpus --num_accelerators", ONE, FIELD, "local_world_size"),
    SETS("--num_nodes", ONE, FIELD, "nodes"),
    SETS("--node_rank", ONE, FIELD, "node_rank"),
    SETS("--master_addr", ONE, FIELD, "master_addr"),
    SETS("--master_port", ONE, FIELD, "master_port"),
    SETS("-i --include", ONE, INCLUDE, "hosts"),
    SETS("-e --exclude", ONE, EXCLUDE, "hosts"),
    SETS("-H --hostfile", ONE, HOSTFILE, "hosts"),
    SETS("--module", NONE, MODULE, "entrypoint"),
    SETS("--no_python", NONE, NO_PYTHON, "entrypoint"),
    SETS("--no_local_rank", NONE, USE_ENV, "entrypoint"),
    SETS("--enable_each_rank_log", ONE, RANK_LOGS, "log_dir"),
    SETS("--bind_cores_to_rank", NONE, FIELD, "bind=core"),
    LOST("--bind_core_list", ONE, "`bind` distributes the CPUs that jobrun itself may use"),
    SETS("--no_ssh", NONE, NO_SSH, "hosts"),
    NEEDLESS("--no_ssh_check --force_multi", NONE, "no rank starts before all hosts have answered"),
    SETS("--ssh_port", ONE, SSH, "engine.ssh.options"),
    NEEDLESS("--launcher", ONE, "jobrun starts the ranks itself"),
    LOST("--launcher_args", ONE, ITS_OWN),
    NEEDLESS("--save_pid", NONE, "jobrun show has the ranks' pids"),
    LOST("--autotuning", ONE, "jobrun does not tune the program"),
    LOST("--comment --account", ONE, BATCHES),
    LOST("--elastic_training", NONE, ELASTIC),
    LOST("--min_elastic_nodes --max_elastic_nodes", ONE, ELASTIC),
    {0},
};

static const struct jr_flag flags_horovod[] = {
    SETS("-np --num-proc", ONE, FIELD, "world_size"),
    SETS("-H --hosts", ONE, HOSTS, "hosts"),
    SETS("-hostfile --hostfile", ONE, HOSTFILE, "hosts"),
    SETS("--start-timeout", ONE, SECONDS, "timeouts.start"),
    NEEDLESS("--output-filename", ONE,
             "each rank's streams have files of their own: see `log_dir`"),
    NEEDLESS("-v --version -cb --check-build --disable-cache --verbose "
             "--log-with-timestamp --log-without-timestamp",
             NONE, ITS_OWN),
    SETS("-prefix-timestamp --prefix-output-with-timestamp", NONE, FIELD,
         "console.timestamps=true"),
    LOST("--config-file", ONE, "jobrun does not read it: give its contents as options"),
    LOST("--network-interface --network-interfaces", ONE,
         "state the variables of the backend in `env`: GLOO_SOCKET_IFNAME, NCCL_SOCKET_IFNAME"),
    SETS("-p --ssh-port", ONE, SSH, "engine.ssh.options"),
    SETS("-i --ssh-identity-file", ONE, SSH, "engine.ssh.options"),

    SETS("--fusion-threshold-mb", ONE, MEGABYTES, "env.HOROVOD_FUSION_THRESHOLD"),
    SETS("--cycle-time-ms", ONE, NAMED, "env.HOROVOD_CYCLE_TIME"),
    SETS("--cache-capacity", ONE, NAMED, "env.HOROVOD_CACHE_CAPACITY"),
    SETS("--hierarchical-allreduce --hierarchical-allgather", NONE, NAMED, "env.HOROVOD_*"),
    NEEDLESS("--no-hierarchical-allreduce --no-hierarchical-allgather --no-autotune "
             "--no-timeline-mark-cycles --stall-check --no-mpi-threads-disable",
             NONE, "it is Horovod's default"),
    SETS("--autotune", NONE, NAMED, "env.HOROVOD_AUTOTUNE"),
    SETS("--autotune-log-file", ONE, NAMED, "env.HOROVOD_AUTOTUNE_LOG"),
    SETS("--autotune-warmup-samples --autotune-steps-per-sample "
         "--autotune-bayes-opt-max-samples --autotune-gaussian-process-noise",
         ONE, NAMED, "env.HOROVOD_*"),
    SETS("--timeline-filename", ONE, NAMED, "env.HOROVOD_TIMELINE"),
    SETS("--timeline-mark-cycles", NONE, NAMED, "env.HOROVOD_TIMELINE_MARK_CYCLES"),
    SETS("--no-stall-check", NONE, NAMED, "env.HOROVOD_STALL_CHECK_DISABLE"),
    SETS("--stall-check-warning-time-seconds", ONE, NAMED, "env.HOROVOD_STALL_CHECK_TIME_SECONDS"),
    SETS("--stall-check-shutdown-time-seconds", ONE, NAMED,
         "env.HOROVOD_STALL_SHUTDOWN_TIME_SECONDS"),
    SETS("--gloo-timeout-seconds", ONE, NAMED, "env.HOROVOD_GLOO_TIMEOUT_SECONDS"),
    SETS("--mpi-threads-disable", NONE, NAMED, "env.HOROVOD_MPI_THREADS_DISABLE"),
    SETS("--tcp", NONE, FIELD, "env.NCCL_IB_DISABLE=1"),
    SETS("--log-level", ONE, NAMED, "env.HOROVOD_LOG_LEVEL"),
    SETS("--thread-affinity", ONE, NAMED, "env.HOROVOD_THREAD_AFFINITY"),
    SETS("--num-nccl-streams", ONE, NAMED, "env.HOROVOD_NUM_NCCL_STREAMS"),

    LOST("--min-np --min-num-proc --max-np --max-num-proc --slots-per-host "
         "--elastic-timeout --reset-limit --host-discovery-script",
         ONE, ELASTIC),
    LOST("--blacklist-cooldown-range", TWO, ELASTIC),
    LOST("--mpi-args --binding-args", ONE, ENGINE),
    SETS("--mpi", NONE, MPI, "env_profiles"),
    LOST("--gloo --jsrun", NONE, ENGINE),
    {0},
};

#define MPI_OF(...)                                                                                \
    .tables = {__VA_ARGS__}, .finish = JR_FINISH_MPI, .ssh = true, .words = true, .several = true

/* Plain `mpirun` may be Open MPI's or MPICH's: their tables are searched one after the other. */
const struct jr_launcher jr_launchers[] = {
    {.names = "torchrun|torch.distributed.run",
     .tables = {flags_torchrun, flags_torch},
     .finish = JR_FINISH_TORCHRUN,
     .python = true,
     .abbrev = true},
    /* The older launcher tells a script its local rank by an argument. */
    {.names = "torch.distributed.launch",
     .tables = {flags_launch, flags_torchrun, flags_torch},
     .finish = JR_FINISH_TORCHRUN,
     .local_rank = "--local-rank",
     .python = true,
     .abbrev = true},
    {.names = "accelerate launch|accelerate-launch|accelerate.commands.launch",
     .tables = {flags_accelerate, flags_torch},
     .python = true,
     .ssh = true},
    {.names = "srun",
     .tables = {flags_srun},
     .finish = JR_FINISH_SRUN,
     .abbrev = true,
     .several = true},
    {.names = "mpirun|mpiexec", MPI_OF(flags_mpi, flags_openmpi, flags_hydra)},
    {.names = "mpirun.openmpi|mpiexec.openmpi|orterun|prterun", MPI_OF(flags_mpi, flags_openmpi)},
    {.names = "mpiexec.hydra|mpirun.mpich|mpiexec.mpich", MPI_OF(flags_mpi, flags_hydra)},
    {.names = "paddle.distributed.launch|fleetrun",
     .tables = {flags_paddle},
     .finish = JR_FINISH_PADDLE,
     .python = true,
     .abbrev = true},
    {.names = "deepspeed|ds|deepspeed.launcher.runner",
     .tables = {flags_deepspeed},
     .finish = JR_FINISH_DEEPSPEED,
     .local_rank = "--local_rank",
     .python = true,
     .ssh = true,
     .abbrev = true},
    {.names = "horovodrun",
     .tables = {flags_horovod},
     .finish = JR_FINISH_HOROVOD,
     .ssh = true,
     .words = true},
    {0},
};
