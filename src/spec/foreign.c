#include "spec/foreign.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/setting_words.h"
#include "doc/doc.h"

#include "base/banned.h"

/* What others write in files, and what is meant by it here: sources are torchrun, Paddle,
 * MegEngine, the ml package, accelerate, DeepSpeed, Horovod, Slurm, MPI, and habit. A '?' behind a
 * name: it may be another thing, or has other values. */
struct foreign_name {
    const char *group; /* "/": fields, by their paths; "=": values; else the path of a mapping */
    const char *here;
    const char *names; /* separated by blanks */
};

#define FIELD "results.fields.*"

static const struct foreign_name names[] = {
    {"/", "backends", "backend"},
    {"/", "backends.data", "data_parallel_backend"},
    {"/", "backends.model", "model_parallel_backend"},
    {"/", "backends.pipeline", "pipeline_parallel_backend"},
    {"/", "bind", "bind_cores_to_rank? bind_to? cpu_bind? numa_binding?"},
    {"/", "console.ranks", "local_ranks_filter?"},
    {"/", "description", "comment? desc notes?"},
    {"/", "device", "accelerator? accelerator_type? device_type? use_cpu?"},
    {"/", "device_visibility", "virtual_local_rank?"},
    {"/", "devices", "device_ids gpu? gpu_ids gpus? selected_devices xpus?"},
    {"/", "engine.kubernetes", "k8s?"},
    {"/", "engine.slurm", "sbatch? sbatch_args?"},
    {"/", "engine.slurm.account", "account?"},
    {"/", "engine.slurm.constraint", "constraint?"},
    {"/", "engine.slurm.exclusive", "exclusive?"},
    {"/", "engine.slurm.gres", "gres?"},
    {"/", "engine.slurm.mail-type", "mail_type?"},
    {"/", "engine.slurm.mail-user", "mail_user?"},
    {"/", "engine.slurm.mem", "mem?"},
    {"/", "engine.slurm.partition", "partition? queue?"},
    {"/", "engine.slurm.qos", "qos?"},
    {"/", "engine.slurm.reservation", "reservation?"},
    {"/", "entrypoint", "argv cmd? entry?"},
    {"/", "entrypoint.python.function", "_target_?"},
    {"/", "entrypoint.python.script", "script?"},
    {"/", "entrypoint.shell", "run?"},
    {"/", "env", "env_vars environ environment runtime_env?"},
    {"/", "extends", "base? _base_? imports? include? inherit? inherits? parent? parents?"},
    {"/", "hosts",
     "cluster_node_ips? host? hostfile? ips? node_ip? nodelist? machinefile? rankfile?"},
    {"/", "init_method", "rdzv_backend?"},
    {"/", "labels", "tags?"},
    {"/", "local_world_size",
     "gpus_per_node? n_gpus? npernode nproc_per_node nprocs_per_node ntasks_per_node num_gpus? ppn "
     "slots?"},
    {"/", "log_dir", "log_file? logdir logfile? logs? output_dir? output_filename?"},
    {"/", "master_addr", "main_process_ip master? master_address master_ip rdzv_endpoint?"},
    {"/", "master_port", "main_process_port port? start_port? started_port?"},
    {"/", "name", "job_name"},
    {"/", "node_rank", "machine_rank"},
    {"/", "nodes", "nnodes num_machines num_nodes"},
    {"/", "on_failure", "kill_on_bad_exit? continue_on_error?"},
    {"/", "parallelism", "axes mesh mesh_shape?"},
    {"/", "parallelism.data", "data_parallel data_parallel_size data_parallelism dp dp_size"},
    {"/", "parallelism.model",
     "model_parallel model_parallel_size model_parallelism tensor_model_parallel_size "
     "tensor_parallel tensor_parallel_size tp tp_size"},
    {"/", "parallelism.pipeline",
     "pipeline_model_parallel_size pipeline_parallel pipeline_parallel_size pipeline_parallelism "
     "pp pp_size"},
    {"/", "rank_start", "rank_offset"},
    {"/", "restart", "restart_policy?"},
    {"/", "restart.max",
     "backoffLimit max_attempts? max_restart max_restarts max_retries retries retry?"},
    {"/", "setup", "before_script? prologue?"},
    {"/", "signals", "signals_to_handle?"},
    {"/", "start_method", "launch_method mp_start_method"},
    {"/", "threads", "cpus? cpus_per_task? num_cpu_threads_per_process omp_num_threads"},
    {"/", "timeouts.run",
     "activeDeadlineSeconds? time? time_limit? timeout? walltime? timeout_minutes?"},
    {"/", "timeouts.stop_grace",
     "grace_period grace_time shutdown_timeout? stop_grace_period stop_timeout?"},
    {"/", "vars", "config? hparams? hyperparameters? parameters? params? variables?"},
    {"/", "workdir", "chdir cwd wdir working_dir working_directory"},
    {"/", "world_size",
     "np nproc nprocs ntasks num_proc num_processes num_procs num_replicas? num_workers? "
     "processes? replicas? tasks?"},
    /* values */
    {"=", "rocm", "amd hip"},
    {"=", "npu", "ascend"},
    {"=", "all", "both std.all true? yes? on?"},
    {"=", "hpu", "gaudi"},
    {"=", "cuda", "gpu? nvidia"},
    {"=", "xpu", "intel kunlun"},
    {"=", "none", "off std.none false"},
    {"=", "torch", "pytorch"},
    {"=", "err", "stderr std.err"},
    {"=", "out", "stdout std.out"},
    {"=", "mlu", "cambricon"},
    {"=", "number", "float double real float32 float64 percent?"},
    {"=", "integer", "int int32 int64"},
    {"=", "string", "str text"},
    {"=", "boolean", "bool"},
    {"=", "array", "list"},
    {"=", "object", "dict map"},
    {"=", "stdout", "out log? output? console? tty?"},
    {"=", "stderr", "err"},
    {"=", "numa", "ccd? l3? package? socket? l3cache?"},
    {"=", "device", "gpu? nearest?"},
    {"=", "custom:ipu", "ipu?"},
    {"=", "custom:mps", "mps?"},
    {"=", "mpi", "openmpi horovod?"},
    {"=", "xccl", "oneccl?"},
    {"=", "custom:smddp", "smddp?"},
    {"=", "custom:tpu", "tpu?"},
    {"=", "stop", "abort fail kill terminate"},
    {"=", "ignore", "drop"},
    {"=", "continue", "ignore? keep_going"},
    {"=", "forward", "pass propagate relay checkpoint? save?"},
    {"=", "private", "0600 0700 user"},
    {"=", "group", "0640 0750 shared? all? tree?"},
    {"=", "umask", "0644? 0755? public? world?"},
    {"=", "file", "json result?"},
    {"=", "freeze", "copy frozen snapshot"},
    {"=", "record", "git? track true?"},
    {"=", "pid", "container? true? docker? namespace"},
    {"=", "core", "hwthread true?"},
    {"=", "max", "highest largest maximise maximize"},
    {"=", "min", "lowest minimise minimize smallest"},
    {"=", "auto", "true?"},
    {"=", "warn", "allow?"},
    {"=", "rank", "child? root? root_cause"},
    {"=", "pmi1", "impi? intel? mpich? mvapich?"},
    {"=", "pmix", "ompi? openmpi?"},
    {"=", "preempted", "preempt preemption"},
    {"=", "deadline", "timeout?"},
    {"=", "class", "default?"},
    {"=", "refuse", "error?"},
    {"=", "spawn", "exec? subprocess thread? threads?"},
    {"=", "oom", "oomkilled oom_kill out_of_memory"},
    {"=", "one", "own single"},
    {"=", "leader", "process"},
    /* the members of mappings */
    {"backends", "data", "dp data_parallel"},
    {"backends", "default", "all global world"},
    {"backends", "model", "mp tensor tp model_parallel"},
    {"backends", "pipeline", "pp pipe pipeline_parallel"},
    {"code", "mode", "copy? freeze? frozen? record? snapshot? track?"},
    {"console", "collapse", "dedup fold"},
    {"console", "hide", "exclude"},
    {"console", "prefix", "format? label? tag?"},
    {"console", "show", "include filter? grep? match? only?"},
    {"console", "timestamps", "timestamp"},
    {"engine", "kubernetes", "k8s kube"},
    {"engine.kubernetes", "claim", "pvc? volume? volumes? persistent_volume_claim claim_name"},
    {"engine.kubernetes", "cpu", "cpus cores limits.cpu requests.cpu"},
    {"engine.kubernetes", "device_resource", "gpu_resource resource_name"},
    {"engine.kubernetes", "image", "container container_image img"},
    {"engine.kubernetes", "memory", "mem ram limits.memory requests.memory"},
    {"engine.kubernetes", "mount", "mount_path"},
    {"engine.kubernetes", "namespace", "name_space ns"},
    {"engine.kubernetes", "priority_class", "priority priority_class_name"},
    {"engine.kubernetes", "pull_secret", "image_pull_secret image_pull_secrets pull_secrets"},
    {"engine.kubernetes", "secret", "env_from? secret_name? secrets?"},
    {"engine.kubernetes", "service_account", "sa service_account_name"},
    {"engine.kubernetes", "shm", "shm_size"},
    {"engine", "mpi", "mpich? mpiexec? mpirun? openmpi?"},
    {"engine", "slurm", "sbatch"},
    {"engine", "ssh", "pdsh? remote?"},
    {"engine.ssh", "collect", "download? fetch? gather? pull?"},
    {"engine.ssh", "copy", "bootstrap? deploy? install? push? upload?"},
    {"engine.ssh", "env", "env_forward? environment? pass_env? send_env?"},
    {"engine.ssh", "options", "args flags opts ssh_options"},
    {"engine.ssh", "program", "executable jobrun path"},
    {"entrypoint", "args", "arguments"},
    {"entrypoint", "command", "exec? executable? program? run?"},
    {"entrypoint", "kwargs", "keywords"},
    {"entrypoint", "library", "lib? so?"},
    {"entrypoint", "shell", "bash sh"},
    {"entrypoint.library", "path", "file lib library so"},
    {"entrypoint.library", "symbol", "entry func function name"},
    {"entrypoint.python", "function", "callable fn func"},
    {"entrypoint.python", "interpreter", "executable python"},
    {"entrypoint.python", "module", "mod package"},
    {"entrypoint.python", "script", "file filename path program"},
    {"limits", "as", "address_space? mem? memory? ram? rss? vmem?"},
    {"limits", "core", "core_dump? core_dumps? core_size?"},
    {"limits", "memlock", "locked_memory max_locked_memory"},
    {"limits", "nofile", "fds files max_files nofiles open_files"},
    {"limits", "nproc", "max_processes? processes? procs? threads?"},
    {"limits", "stack", "stack_size"},
    {"on_hang", "command", "cmd? exec? run?"},
    {"on_hang", "signal", "sig"},
    {"on_hang", "wait", "delay? timeout?"},
    {"parallelism", "data", "ddp? fsdp? replicas? shards?"},
    {"parallelism", "model", "mp tensor"},
    {"parallelism", "pipeline", "pipe stages"},
    {"per_rank.*", "args", "arguments"},
    {"per_rank.*", "env", "environment"},
    {"progress", "from", "source stream"},
    {"progress", "of", "last_step max_steps steps total total_steps"},
    {"progress", "pattern", "regex regexp"},
    {"restart", "backoff", "delay? interval? pause? sleep? wait?"},
    {"restart", "max", "max_restarts max_retries restarts retries attempts? count? limit? times?"},
    {"restart", "never", "except? unless?"},
    {"restart", "on", "causes? if? triggers? when?"},
    {"restart", "window", "period? within?"},
    {"results", "artifacts", "checkpoints? files?"},
    {"results", "distinct", "different unique"},
    {"results", "equal", "identical same"},
    {"results", "fields", "columns? metrics? schema? values?"},
    {"results", "file", "filename? json? output? path?"},
    {"results", "from", "source stream"},
    {"results", "limit", "max_size size"},
    {"results", "pattern", "regex regexp"},
    {"results", "required", "ranks?"},
    {FIELD, "enum", "allowed? choices? one_of? options? values?"},
    {FIELD, "max", "le lte maximum lt? upper?"},
    {FIELD, "min", "ge gte minimum gt? lower?"},
    {FIELD, "pattern", "regex regexp"},
    {FIELD, "type", "dtype? kind?"},
    {"sweep", "axes", "grid matrix parameters params search_space space"},
    {"sweep", "best", "goal? metric? objective?"},
    {"sweep", "parallel", "concurrency jobs max_parallel n_jobs"},
    {"sweep", "samples", "count? iterations? n_trials? num_samples? trials?"},
    {"timeouts", "progress", "step?"},
    {"timeouts", "run", "job? limit? max? total? wall? walltime?"},
    {"timeouts", "silence", "hang? idle? no_output? output? stall?"},
    {"timeouts", "start", "init? launch? startup?"},
    {"timeouts", "stop_grace", "grace? kill? shutdown? stop? term?"},
};

#define RENDEZVOUS   "jobrun needs no rendezvous"
#define NO_CONTAINER "jobrun starts no container"
#define CONTAINER_OF NO_CONTAINER ": ranks see what their machine has"
#define OUTPUT       "what ranks write is kept in log_dir, and jobrun logs prints it"
#define ORDER        "start one after the other: jobrun FIRST && jobrun SECOND"
#define NUMBERED     "ranks are numbered node by node"
#define RUN_FOLDER   "the run folder has what there is to know"
#define POD                                                                                        \
    "jobrun does not set it: add it to what `jobrun render SPEC --engine "                         \
    "kubernetes` prints"
#define CONTAINER                                                                                  \
    "write cpu and memory; how many devices a node has is local_world_size, "                      \
    "at the top of the spec"

/* Names for which there is no field, and what to do instead. Groups: "*" anywhere in a spec, "-" at
 * its top alone, where common words have a meaning, "{" a list or a mapping there, and a path. */
struct foreign_advice {
    const char *group, *names, *instead;
};

static const struct foreign_advice otherwise[] = {
    {"*", "daemon", "no rank outlives its job"},
    {"*", "dotenv env_file envfile", "to read it, write setup: set -a; . ./.env"},
    {"*", "join", "jobrun ends with the job; --detach leaves it running"},
    {"*", "local_rank", "each rank has its own, in LOCAL_RANK and as %{local_rank}"},
    {"*", "print_config", "jobrun resolve prints what will be run"},
    {"*", "rank",
     "each rank has its own, in RANK and as %{rank}; where this is one of "
     "several nodes, node_rank says which"},
    {"*", "use_paddlecloud", "jobrun detects the scheduler: see jobrun doctor"},
    {"-", "array", "write " JR_SETTING("sweep.axes", "{vars.NAME: {from: 0, to: 9}}")},
    {"-", "deepspeed_config",
     "give it to the program: entrypoint: [python3, train.py, --deepspeed_config, FILE]"},
    {"-", "dependency depends_on needs", ORDER},
    {"-", "distributed_type", "world_size says how many ranks there are"},
    {"-", "error output stderr stdout", OUTPUT},
    {"-", "if", "a spec has no conditions"},
    {"-", "ipc network_mode ports privileged shm_size", CONTAINER_OF},
    {"-", "local_addr monitor_interval rdzv_conf rdzv_id role same_network standalone", RENDEZVOUS},
    {"-", "log_level", "the program has its own; jobrun has none"},
    {"-", "main_training_function", "entrypoint says what each rank runs"},
    {"-", "map_by rank_by", NUMBERED},
    {"-", "mca", "write " JR_SETTING("env.OMPI_MCA_NAME", "VALUE")},
    {"-", "mixed_precision", "write " JR_SETTING("env.ACCELERATE_MIXED_PRECISION", "bf16")},
    {"-", "no_python", "a command is started as it is written"},
    {"-", "run_path", "a script is started as it is written"},
    {"-", "uses", "a spec has no steps of others"},
    {"-", "verbose", "the run folder has what there is to know"},
    {"engine.kubernetes",
     "affinity annotations image_pull_policy node_selector security_context tolerations "
     "volume_mounts",
     POD},
    {"engine.kubernetes", "gpu_limit limits nvidia.com/gpu requests resources", CONTAINER},
    {"{", "container docker",
     "jobrun starts no container: run jobrun inside of it, or put the command "
     "into `entrypoint`: [docker, run, ...]"},
    {"{", "defaults",
     "name the files in `extends`: {base: base.jobrun.yaml, model: "
     "models/resnet.jobrun.yaml}; -s extends.model=FILE takes another one"},
    {"{", "deploy", "say how many ranks there are in `world_size`"},
    {"{", "grid matrix strategy sweeper", "write " JR_SETTING("sweep.axes", "{vars.NAME: [1, 2]}")},
    {"{", "hydra", "leave it out: runs are kept in `log_dir`, and -s sets a field"},
    {"{", "healthcheck",
     "a job that says nothing is ended by " JR_SETTING("timeouts.silence", "10m")},
    {"{", "resources",
     "say how many ranks there are in `world_size`, and what an "
     "engine is asked for in `engine`"},
    {"{", "steps", "write one text: entrypoint: {shell: \"./prepare && ./train\"}"},
    {"{", "volumes",
     "ranks see the files of their machine: leave it out; a claim "
     "of Kubernetes is " JR_SETTING("engine.kubernetes.claim", "NAME")},
};

#define JOB    "run plan resolve render submit"
#define STARTS "run plan resolve"
#define RUNS   "show top logs report wait stop rerun"

#define NUMBER    "#"
#define DURATION  "@"
#define HOSTS     ","
#define FILE_NAME "/"
#define ANY       ""

/* The hosts of a file, as a launcher's, each once: their numbers of ranks, "a:4" and "a slots=4",
 * are left out. */
#define HOSTS_OF_FILE "$(awk -F'[: \\t]' '/^[^# ]/ && !s[$1]++ {print $1}' %s | paste -sd,)"

/* Options of torchrun, accelerate, DeepSpeed, Paddle, Open MPI, MPICH, Slurm, Hydra and Docker; the
 * first row that fits. */
static const struct jr_foreign_option options[] = {
    {"-np --np --n --nprocs --num-proc --num-processes --ntasks --world-size", JOB,
     JR_FOREIGN_RANKS, NUMBER, "world_size"},
    {"--nproc-per-node --ntasks-per-node --npernode -npernode --ppn -ppn "
     "--num-gpus --local-world-size --nproc --gpus-per-node",
     JOB, JR_FOREIGN_LOCAL, NUMBER, "local_world_size"},
    {"--nnodes --nodes --num-nodes --num-machines", JOB, JR_FOREIGN_NODES, NUMBER, "nodes"},
    {"-N", JOB, JR_FOREIGN_ASK, ANY,
     "type -s nodes=N for what srun means by it, or -s local_world_size=N for mpirun's"},
    {"--gpus --gpu --gpu-ids --devices --include", JOB, JR_FOREIGN_ASK, ANY,
     "type -s devices=[0,1] for devices by their indices, or "
     "-s local_world_size=2 for two ranks on a node"},
    {"-H --host -host -w --nodelist", STARTS, JR_FOREIGN_FILLED, HOSTS, "--hosts %s"},
    {"-H --host --hosts -host --ips", JOB, JR_FOREIGN_LIST, HOSTS, "hosts"},
    {"--hostfile -hostfile --machinefile -machinefile", STARTS, JR_FOREIGN_FILLED, FILE_NAME,
     "--hosts \"" HOSTS_OF_FILE "\""},
    {"--hostfile -hostfile --machinefile -machinefile", JOB, JR_FOREIGN_FILLED, FILE_NAME,
     "-s \"hosts=[" HOSTS_OF_FILE "]\""},
    {"--machine-rank --noderank", STARTS, JR_FOREIGN_WORDS, NUMBER, "--node-rank"},
    {"--master-addr --main-process-ip --master-address", JOB, JR_FOREIGN_FIELD, ANY, "master_addr"},
    {"--master-port --main-process-port --port", JOB, JR_FOREIGN_FIELD, NUMBER, "master_port"},
    {"--max-restarts --retries --max-retries", JOB, JR_FOREIGN_FIELD, NUMBER, "restart.max"},
    {"--start-method --mp-start-method", JOB, JR_FOREIGN_FIELD, "spawn fork forkserver",
     "start_method"},
    {"--redirects", JOB, JR_FOREIGN_FIELD, ANY, "redirects"},
    {"--tee", JOB, JR_FOREIGN_FIELD, ANY, "tee"},
    {"--log-dir --logdir --output-dir", JOB, JR_FOREIGN_FIELD, ANY, "log_dir"},
    {"--chdir --cwd --wdir -wdir --workdir --working-dir -D", JOB, JR_FOREIGN_FIELD, ANY,
     "workdir"},
    {"--name --job-name -J", JOB, JR_FOREIGN_FIELD, ANY, "name"},
    {"--bind-to --cpu-bind", JOB, JR_FOREIGN_FIELD, "none core numa", "bind"},
    {"--num-cpu-threads-per-process --threads --cpus-per-task", JOB, JR_FOREIGN_FIELD, NUMBER,
     "threads"},
    {"--mixed-precision", JOB, JR_FOREIGN_FIELD, "no fp16 bf16 fp8",
     "env.ACCELERATE_MIXED_PRECISION"},
    {"--backend", JOB, JR_FOREIGN_FIELD, "nccl gloo mpi ucc", "backends"},
    {"--device", JOB, JR_FOREIGN_FIELD, "cpu cuda rocm xpu hpu npu mlu", "device"},
    {"--oversubscribe --overcommit -O", JOB, JR_FOREIGN_WORDS, NULL, "-s oversubscribe=true"},
    {"--timeout", JOB, JR_FOREIGN_FIELD, DURATION, "timeouts.run"},
    {"--time -t", JOB, JR_FOREIGN_ASK, ANY,
     "type -s timeouts.run=1h30m; `engine.slurm.time` of the spec is for batch jobs"},
    {"--env -e -x --export", "run resolve render submit", JR_FOREIGN_ENTRY, ANY, "env"},
    {"-e -x --export", "plan", JR_FOREIGN_ENTRY, ANY, "env"},
    {"--standalone", JOB, JR_FOREIGN_NONE, NULL, RENDEZVOUS},
    {"--rdzv-backend --rdzv-endpoint --rdzv-id --rdzv-conf --role --monitor-interval --local-addr",
     JOB, JR_FOREIGN_NONE, ANY, RENDEZVOUS},
    {"--allow-run-as-root -allow-run-as-root", JOB, JR_FOREIGN_NONE, NULL, "every user may run it"},
    {"--multi-gpu", JOB, JR_FOREIGN_NONE, NULL, "world_size says how many ranks there are"},
    {"--use-env", JOB, JR_FOREIGN_NONE, NULL, "each rank has LOCAL_RANK in its environment"},
    {"--no-python --run-path", JOB, JR_FOREIGN_NONE, NULL, "a command is started as it is typed"},
    {"--module", JOB, JR_FOREIGN_ASK, ANY,
     "type what starts it: jobrun -n 2 -- python3 -m pkg.train"},
    {"--use-deepspeed", JOB, JR_FOREIGN_WORDS, NULL, "-s env.ACCELERATE_USE_DEEPSPEED=true"},
    {"--use-fsdp", JOB, JR_FOREIGN_WORDS, NULL, "-s env.ACCELERATE_USE_FSDP=true"},
    {"--gpus-per-task --gpu-bind", JOB, JR_FOREIGN_ASK, ANY,
     "leave it out: each rank has the device of its local rank; -s "
     "device_visibility=one hides the others from it"},
    {"-r", JOB, JR_FOREIGN_FIELD, ANY, "redirects"},
    {"-o --output --error --log-file --output-filename", JOB, JR_FOREIGN_ASK, ANY,
     "what ranks write is kept in the run folder: jobrun logs prints it, and "
     "-s log_dir=DIR takes another folder"},
    {"--array", JOB, JR_FOREIGN_ASK, ANY,
     "type --sweep vars.seed=0..9, which runs the job for each value"},
    {"--map-by --rank-by -map-by -rank-by --distribution", JOB, JR_FOREIGN_NONE, ANY, NUMBERED},
    {"--report-bindings", JOB, JR_FOREIGN_NONE, NULL, "jobrun plan shows the CPUs of each rank"},
    {"--mca -mca", JOB, JR_FOREIGN_ASK, ANY, "type -s env.OMPI_MCA_NAME=VALUE"},
    {"-genv -env", JOB, JR_FOREIGN_ASK, ANY, "type -s env.NAME=VALUE"},
    {"--wrap", JOB, JR_FOREIGN_ASK, ANY,
     "type the command behind `--`: jobrun -n 2 -- python3 train.py"},
    {"--scale --replicas", JOB, JR_FOREIGN_ASK, ANY, "type -s world_size=N"},
    {"--env-file", JOB, JR_FOREIGN_ASK, ANY, "write setup: set -a; . ./.env into the spec"},
    {"--rm -it -ti", JOB, JR_FOREIGN_NONE, NULL, NO_CONTAINER},
    {"--volume --mount --network --ipc --shm-size --image", JOB, JR_FOREIGN_NONE, ANY,
     NO_CONTAINER},
    {"--config-dir --config-path -cd -cp", JOB, JR_FOREIGN_NONE, ANY,
     "a spec is a file, which names its parents in `extends`"},
    {"--slurm", JOB, JR_FOREIGN_ASK, NULL, "type jobrun submit SPEC --engine slurm"},
    {"--unbuffered -u", JOB, JR_FOREIGN_NONE, NULL, "no output is held back"},
    {"--label -l --tag-output", JOB, JR_FOREIGN_NONE, NULL, "each line begins with its rank"},
    {"--kill-on-bad-exit", JOB, JR_FOREIGN_NONE, NULL, "a rank that fails stops the others"},
    {"--verbose", JOB " " RUNS, JR_FOREIGN_NONE, NULL, RUN_FOLDER},
    {"-q --quiet --silent", JOB, JR_FOREIGN_WORDS, NULL, "-s console.ranks=none"},
    {"-d --background --daemon --detached", "run rerun", JR_FOREIGN_WORDS, NULL, "--detach"},
    {"--override --overrides --define", JOB " validate", JR_FOREIGN_WORDS, ANY, "-s"},
    {"--config --config-file --config-name --spec --file -c -f -cn", JOB, JR_FOREIGN_BARE, ANY,
     "a spec is typed by its name alone: jobrun SPEC; what accelerate's file says is translated "
     "by jobrun new --from 'accelerate launch train.py', and srun's -c 4 is -s threads=4"},
    {"--config --config-file --spec --file -c -f", "validate", JR_FOREIGN_BARE, ANY, NULL},
    {"--dry-run --dryrun --check --simulate", "run", JR_FOREIGN_VERB, NULL, "plan"},
    {"--on", "run", JR_FOREIGN_ASK, ANY,
     "nothing can be run on a machine that is only described: type jobrun plan SPEC --on PROFILE"},
    {"--print-config --info", "run", JR_FOREIGN_VERB, NULL, "resolve"},
    {"--cfg", "run", JR_FOREIGN_VERB, ANY, "resolve"},
    {"--multirun -m", JOB, JR_FOREIGN_ASK, NULL,
     "type a list for each field: jobrun SPEC --sweep vars.lr=0.1,0.01; a "
     "module is started by jobrun -n 2 -- python3 -m pkg.train"},
    {"--validate --lint", "run", JR_FOREIGN_VERB, NULL, "validate"},
    {"--partition -p --account -A --qos --constraint -C --gres --mem --exclusive --reservation",
     JOB, JR_FOREIGN_ASK, ANY,
     "write `engine: {slurm: {partition: gpu}}` into the spec, and type jobrun "
     "submit SPEC --engine slurm"},
    {"--run --run-id --id", RUNS, JR_FOREIGN_BARE, ANY, NULL},
    {"--last --latest", RUNS, JR_FOREIGN_NONE, NULL, "the latest run is taken where none is named"},
    {"--all -a", "logs", JR_FOREIGN_NONE, NULL, "without --rank the logs of all ranks are printed"},
    {"--failed --only-failed", "rerun", JR_FOREIGN_ASK, NULL,
     "type jobrun SPEC --resume for the cells of a sweep that have not "
     "delivered; a job is repeated as a whole"},
    {"--timeout --grace", "stop", JR_FOREIGN_ASK, ANY,
     "the spec says how long ranks have: timeouts.stop_grace; a second jobrun stop kills at once"},
    {"--status --state", "runs", JR_FOREIGN_FILLED, ANY, "--where status=%s"},
    {"--failed", "runs", JR_FOREIGN_WORDS, NULL, "--where status=failed"},
    {"--running --live", "runs", JR_FOREIGN_WORDS, NULL, "--where status=running"},
    {"--interval --delay --refresh -d", "top", JR_FOREIGN_NONE, ANY, "it looks once a second"},
    {"--older-than --max-age", "prune", JR_FOREIGN_WORDS, ANY, "--older"},
    {"--keep-last --last", "prune", JR_FOREIGN_WORDS, NUMBER, "--keep"},
    {"--gpu --gpus --all", "doctor", JR_FOREIGN_NONE, NULL, "it lists all devices"},
    {"--format --to", "render", JR_FOREIGN_WORDS, "slurm kubernetes mpi", "--engine"},
    {"-n --lines -t", "logs", JR_FOREIGN_WORDS, NUMBER, "--tail"},
    {"--ranks", "logs show", JR_FOREIGN_WORDS, ANY, "--rank"},
    {"--since --until", "logs", JR_FOREIGN_ASK, ANY,
     "type --tail N for the last N lines of each log"},
    {"--stderr --stdout", "logs", JR_FOREIGN_ASK, NULL,
     "each stream has a file in the run folder: attempt_0/RANK/stderr.log"},
    {"--limit -n --last", "runs", JR_FOREIGN_ASK, ANY,
     "the newest runs come first: jobrun runs | head"},
    {"--all", "stop", JR_FOREIGN_ASK, NULL,
     "type jobrun stop RUN for each; jobrun runs lists them"},
    {"--force --signal -s -9 -f --kill", "stop", JR_FOREIGN_ASK, NULL,
     "a second jobrun stop kills at once"},
    {"--all -a", "prune", JR_FOREIGN_WORDS, NULL, "--keep 0 --dry-run"},
    {"--force -f --yes -y", "prune", JR_FOREIGN_NONE, NULL,
     "it removes finished runs without a question"},
    {"--html", "report", JR_FOREIGN_WORDS, NULL, "--format html"},
    {"--set -s", "rerun", JR_FOREIGN_ASK, ANY,
     "a run is repeated as it was; to change it, type jobrun SPEC -s PATH=VALUE"},
    {"--list --all", "explain", JR_FOREIGN_NONE, NULL, "without an argument it lists the fields"},
};

bool jr_field_is_same_name(const char *a, const char *b)
{
    static const char ignored[] = "-_";
    do {
        a += strspn(a, ignored);
        b += strspn(b, ignored);
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
    } while (*a++ != '\0' && *b++ != '\0');
    return true;
}

/* Whether the names, of which a '?' may stand behind each, have this one. */
static bool names_have(const char *list, const char *name, bool value, bool *ret_sure)
{
    char word[32];
    for (size_t len; *list != '\0'; list += len + (list[len] == ' ')) {
        len = strcspn(list, " ");
        bool sure = list[len - 1] != '?';
        if (len - !sure >= sizeof word)
            continue;
        memcpy(word, list, len - !sure);
        word[len - !sure] = '\0';
        if (value ? strcasecmp(word, name) != 0 : !jr_field_is_same_name(word, name))
            continue;
        *ret_sure = sure;
        return true;
    }
    return false;
}

const char *jr_foreign_meant(const char *group, const char *name, bool *ret_sure)
{
    *ret_sure = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].group, group) == 0 && names_have(names[i].names, name, false, ret_sure))
            return names[i].here;
    return NULL;
}

/* Whether a word is one of those that are allowed: custom:NAME is where custom is. */
static bool is_allowed(const char *word, const char *const *allowed)
{
    size_t len = strcspn(word, ":");
    while (*allowed != NULL && (strncmp(*allowed, word, len) != 0 || (*allowed)[len] != '\0'))
        allowed++;
    return *allowed != NULL;
}

const char *jr_foreign_word(const char *word, const char *const *allowed, bool *ret_sure)
{
    *ret_sure = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].group[0] == '=' && is_allowed(names[i].here, allowed) &&
            names_have(names[i].names, word, true, ret_sure))
            return names[i].here;
    return NULL;
}

const char *jr_foreign_instead(const char *group, const char *name)
{
    bool sure;
    for (size_t i = 0; i < sizeof otherwise / sizeof *otherwise; i++)
        if ((strcmp(otherwise[i].group, group) == 0 ||
             (group[0] == '-' && otherwise[i].group[0] == '*')) &&
            names_have(otherwise[i].names, name, false, &sure))
            return otherwise[i].instead;
    return NULL;
}

/* What others say by yes and no, and the field by a word. */
struct meaning {
    const char *name, *value, *here;
};

static const struct meaning meanings[] = {
    {"continue_on_error", "true", "continue"},
    {"continue_on_error", "false", "stop"},
    {"kill_on_bad_exit", "true", "stop"},
    {"kill_on_bad_exit", "1", "stop"},
    {"kill_on_bad_exit", "false", "continue"},
    {"kill_on_bad_exit", "0", "continue"},
    {"use_cpu", "true", "cpu"},
    {"virtual_local_rank", "true", "one"},
    {"virtual_local_rank", "false", "all"},
};

const char *jr_foreign_value(struct jr_arena *arena, const char *name, const char *value)
{
    bool sure;
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (jr_field_is_same_name(meanings[i].name, name) &&
            strcasecmp(meanings[i].value, value) == 0)
            return meanings[i].here;
    const char *field = jr_foreign_meant("/", name, &sure), *dot = strrchr(value, '.');
    bool number = *value != '\0' && value[strspn(value, "0123456789")] == '\0';
    if (field == NULL)
        return NULL;
    if (strncmp(field, "timeouts.", strlen("timeouts.")) == 0 && number)
        return jr_arena_printf(arena, "%s%s", value,
                               jr_field_is_same_name(name, "timeout_minutes") ? "m" : "s");
    if (strcmp(field, "entrypoint.python.function") == 0 && dot != NULL &&
        strchr(value, ':') == NULL)
        return jr_arena_printf(arena, "\"%.*s:%s\"", (int)(dot - value), value, dot + 1);
    return NULL;
}

void jr_foreign_names(struct jr_buf *out, const char *path)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].group[0] != '/' || strcmp(names[i].here, path) != 0)
            continue;
        for (const char *at = names[i].names; *at != '\0'; at++)
            if (*at == ' ')
                jr_buf_str(out, ", ");
            else if (*at != '?')
                jr_buf_char(out, *at);
    }
}

bool jr_foreign_lists(const char *list, const char *word, size_t len)
{
    while (*list != '\0') {
        size_t size = strcspn(list, " "), same = 0;
        while (same < size && same < len && list[same] == (word[same] == '_' ? '-' : word[same]))
            same++;
        if (same == size && same == len)
            return true;
        list += size + strspn(list + size, " ");
    }
    return false;
}

const struct jr_foreign_option *jr_foreign_option_row(const char *word, size_t len,
                                                      const char *verb)
{
    size_t i = 0, count = sizeof options / sizeof *options;
    while (i < count && (!jr_foreign_lists(options[i].names, word, len) ||
                         !jr_foreign_lists(options[i].verbs, verb, strlen(verb))))
        i++;
    return i < count ? &options[i] : NULL;
}

/*
 * Files that are YAML or JSON, and yet no specs: those of other programs, and jobrun's own records.
 */

#define SHAPE "begin a spec with: jobrun new -o NAME.jobrun.yaml"

/* A file has all of the keys at its top, and no entrypoint. The first row that fits is the one. */
struct kind {
    const char *keys; /* separated by blanks; "KEY:" wants a mapping there, and
                         "KEY[" a list */
    const char *what, *help;
};

static const struct kind kinds[] = {
    {"apiVersion kind", "a manifest of Kubernetes",
     "jobrun makes one of a spec: jobrun render SPEC --engine kubernetes"},
    {"services:", "a file of Docker Compose",
     "a spec has one command, which each rank runs: entrypoint: [python3, "
     "train.py]; " SHAPE},
    {"on jobs:", "a workflow of GitHub Actions",
     "let it check specs: run: jobrun validate --format github ."},
    {"stages[", "a pipeline of GitLab",
     "let it check specs: script: [jobrun validate --format gitlab .]"},
    {"stages:", "a pipeline of DVC", "a stage of it may run a spec: cmd: jobrun train.jobrun.yaml"},
    {"compute_environment distributed_type", "a configuration of accelerate",
     "translate the command instead: jobrun new --from 'accelerate launch "
     "--num_processes 8 train.py'"},
    {"zero_optimization:", "a configuration of DeepSpeed",
     "give it to the program: entrypoint: [python3, train.py, --deepspeed_config, FILE]"},
    {"train_batch_size", "a configuration of DeepSpeed",
     "give it to the program: entrypoint: [python3, train.py, --deepspeed_config, FILE]"},
    {"train_micro_batch_size_per_gpu", "a configuration of DeepSpeed",
     "give it to the program: entrypoint: [python3, train.py, --deepspeed_config, FILE]"},
    {"method parameters:", "a sweep of Weights & Biases",
     "write sweep: {axes: {vars.NAME: [1, 2]}}"},
    {"dependencies[ channels", "an environment of conda",
     "activate it in a spec: setup: conda activate NAME"},
    {"repos[", "a configuration of pre-commit",
     "let it check specs by a hook whose entry is: jobrun validate"},
    {"resources: run", "a task of SkyPilot",
     "what it runs is `shell` here: entrypoint: {shell: ...}; " SHAPE},
    {"run_id ranks[", "the record of what a run delivered", "print them: jobrun show RUN"},
    {"run_id boot_id", "the record of a run",
     "its spec is resolved.yaml beside it: jobrun rerun RUN"},
    {"format_version mesh ranks[", "the plan of a run",
     "its spec is resolved.yaml beside it: jobrun rerun RUN"},
    {"format_version hostname cpus", "the profile of a machine",
     "give it to a verb: jobrun plan SPEC --on FILE"},
    {"format_version", "a file that jobrun wrote about a run",
     "the spec of a run is resolved.yaml in its folder: jobrun rerun RUN"},
    {"$schema properties:", "a JSON Schema",
     "a spec names it: # yaml-language-server: $schema=FILE"},
    {"defaults[", "a configuration of Hydra",
     "its values are `vars` in a spec, and its list `extends`; " SHAPE},
};

/* Whether the mapping has the key that the first `len` bytes of a word name. */
static bool has_kind_key(const struct jr_node *root, const char *word, size_t len)
{
    enum jr_node_kind kind = JR_NODE_SCALAR;
    size_t name = len;
    if (len > 0 && word[len - 1] == ':')
        kind = JR_NODE_MAPPING;
    else if (len > 0 && word[len - 1] == '[')
        kind = JR_NODE_SEQUENCE;
    name -= kind != JR_NODE_SCALAR;
    for (size_t i = 0; i < root->count; i++) {
        const struct jr_node *key = root->pairs[i].key;
        if (key->len == name && memcmp(key->text, word, name) == 0)
            return kind == JR_NODE_SCALAR || root->pairs[i].value->kind == kind;
    }
    return false;
}

static bool is_of_kind(const struct jr_node *root, const struct kind *row)
{
    const char *at = row->keys;
    for (size_t len; *at != '\0'; at += len + (at[len] == ' ')) {
        len = strcspn(at, " ");
        if (!has_kind_key(root, at, len))
            return false;
    }
    return true;
}

/* What a spec alone has, so that it is one, with a key too many. */
static bool is_spec(const struct jr_node *root)
{
    static const char *const own[] = {"entrypoint", "extends", "template"};
    size_t i = 0, count = sizeof own / sizeof *own;
    while (i < count && jr_doc_get(root, own[i]) == NULL)
        i++;
    return i < count;
}

bool jr_other_kind_report(struct jr_diags *diags, const struct jr_node *root)
{
    size_t i = 0, count = sizeof kinds / sizeof *kinds;
    if (root->kind != JR_NODE_MAPPING || root->count == 0 || is_spec(root))
        return false;
    while (i < count && !is_of_kind(root, &kinds[i]))
        i++;
    if (i == count)
        return false;
    struct jr_diag *diag = jr_diags_error(diags, JR_CODE_OTHER_KIND, root->pairs[0].key->span, NULL,
                                          "this is %s, not a spec", kinds[i].what);
    jr_diag_help(diags, diag, "%s", kinds[i].help);
    return true;
}
