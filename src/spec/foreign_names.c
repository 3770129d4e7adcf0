#include "spec/foreign_names.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/setting_words.h"

#include "base/banned.h"

/* The names of other launchers, and the fields here that they correspond to. Sources: torchrun,
 * Paddle, MegEngine, the ml package, accelerate, DeepSpeed, Horovod, Slurm, MPI, and the words of
 * habit. */
struct foreign {
    const char *name, *here;
    bool sure; /* it is the same thing, and has the same values */
};

static const struct foreign foreigners[] = {
    {"accelerator", "device", false},
    {"accelerator_type", "device", false},
    {"account", "engine.slurm.account", false},
    {"activeDeadlineSeconds", "timeouts.run", false},
    {"argv", "entrypoint", true},
    {"axes", "parallelism", true},
    {"backend", "backends", true},
    {"backoffLimit", "restart.max", true},
    {"base", "extends", false},
    {"_base_", "extends", false},
    {"before_script", "setup", false},
    {"bind_cores_to_rank", "bind", false},
    {"bind_to", "bind", false},
    {"chdir", "workdir", true},
    {"cluster_node_ips", "hosts", false},
    {"cmd", "entrypoint", false},
    {"comment", "description", false},
    {"config", "vars", false},
    {"constraint", "engine.slurm.constraint", false},
    {"cpu_bind", "bind", false},
    {"cpus", "threads", false},
    {"cpus_per_task", "threads", false},
    {"cwd", "workdir", true},
    {"data_parallel", "parallelism.data", true},
    {"data_parallel_backend", "backends.data", true},
    {"data_parallel_size", "parallelism.data", true},
    {"data_parallelism", "parallelism.data", true},
    {"desc", "description", true},
    {"device_ids", "devices", true},
    {"device_type", "device", false},
    {"dp", "parallelism.data", true},
    {"dp_size", "parallelism.data", true},
    {"entry", "entrypoint", false},
    {"env_vars", "env", true},
    {"environ", "env", true},
    {"environment", "env", true},
    {"gpu", "devices", false},
    {"gpu_ids", "devices", true},
    {"gpus", "devices", false},
    {"gpus_per_node", "local_world_size", false},
    {"grace_period", "timeouts.stop_grace", true},
    {"grace_time", "timeouts.stop_grace", true},
    {"gres", "engine.slurm.gres", false},
    {"host", "hosts", false},
    {"hostfile", "hosts", false},
    {"hparams", "vars", false},
    {"hyperparameters", "vars", false},
    {"imports", "extends", false},
    {"include", "extends", false},
    {"inherit", "extends", false},
    {"inherits", "extends", false},
    {"ips", "hosts", false},
    {"job_name", "name", true},
    {"k8s", "engine.kubernetes", false},
    {"kill_on_bad_exit", "on_failure", false},
    {"launch_method", "start_method", true},
    {"local_ranks_filter", "console.ranks", false},
    {"log_file", "log_dir", false},
    {"logdir", "log_dir", true},
    {"logfile", "log_dir", false},
    {"logs", "log_dir", false},
    {"machine_rank", "node_rank", true},
    {"main_process_ip", "master_addr", true},
    {"main_process_port", "master_port", true},
    {"master", "master_addr", false},
    {"master_address", "master_addr", true},
    {"master_ip", "master_addr", true},
    {"max_attempts", "restart.max", false},
    {"max_restart", "restart.max", true},
    {"max_restarts", "restart.max", true},
    {"max_retries", "restart.max", true},
    {"mem", "engine.slurm.mem", false},
    {"mesh", "parallelism", true},
    {"mesh_shape", "parallelism", false},
    {"model_parallel", "parallelism.model", true},
    {"model_parallel_backend", "backends.model", true},
    {"model_parallel_size", "parallelism.model", true},
    {"model_parallelism", "parallelism.model", true},
    {"mp_start_method", "start_method", true},
    {"n_gpus", "local_world_size", false},
    {"nnodes", "nodes", true},
    {"node_ip", "hosts", false},
    {"nodelist", "hosts", false},
    {"notes", "description", false},
    {"np", "world_size", true},
    {"npernode", "local_world_size", true},
    {"nproc", "world_size", true},
    {"nproc_per_node", "local_world_size", true},
    {"nprocs", "world_size", true},
    {"nprocs_per_node", "local_world_size", true},
    {"ntasks", "world_size", true},
    {"ntasks_per_node", "local_world_size", true},
    {"num_cpu_threads_per_process", "threads", true},
    {"num_gpus", "local_world_size", false},
    {"num_machines", "nodes", true},
    {"num_nodes", "nodes", true},
    {"num_proc", "world_size", true},
    {"num_processes", "world_size", true},
    {"num_procs", "world_size", true},
    {"num_replicas", "world_size", false},
    {"num_workers", "world_size", false},
    {"numa_binding", "bind", false},
    {"omp_num_threads", "threads", true},
    {"output_dir", "log_dir", false},
    {"output_filename", "log_dir", false},
    {"parameters", "vars", false},
    {"params", "vars", false},
    {"parent", "extends", false},
    {"parents", "extends", false},
    {"partition", "engine.slurm.partition", false},
    {"pipeline_model_parallel_size", "parallelism.pipeline", true},
    {"pipeline_parallel", "parallelism.pipeline", true},
    {"pipeline_parallel_backend", "backends.pipeline", true},
    {"pipeline_parallel_size", "parallelism.pipeline", true},
    {"pipeline_parallelism", "parallelism.pipeline", true},
    {"port", "master_port", false},
    {"pp", "parallelism.pipeline", true},
    {"pp_size", "parallelism.pipeline", true},
    {"ppn", "local_world_size", true},
    {"processes", "world_size", false},
    {"prologue", "setup", false},
    {"qos", "engine.slurm.qos", false},
    {"queue", "engine.slurm.partition", false},
    {"rank_offset", "rank_start", true},
    {"rdzv_backend", "init_method", false},
    {"rdzv_endpoint", "master_addr", false},
    {"replicas", "world_size", false},
    {"reservation", "engine.slurm.reservation", false},
    {"restart_policy", "restart", false},
    {"retries", "restart.max", true},
    {"retry", "restart.max", false},
    {"runtime_env", "env", false},
    {"sbatch", "engine.slurm", false},
    {"sbatch_args", "engine.slurm", false},
    {"script", "entrypoint.python.script", false},
    {"selected_devices", "devices", true},
    {"shutdown_timeout", "timeouts.stop_grace", false},
    {"signals_to_handle", "signals", false},
    {"start_port", "master_port", false},
    {"started_port", "master_port", false},
    {"stop_grace_period", "timeouts.stop_grace", true},
    {"stop_timeout", "timeouts.stop_grace", false},
    {"tags", "labels", false},
    {"_target_", "entrypoint.python.function", false},
    {"tasks", "world_size", false},
    {"tensor_model_parallel_size", "parallelism.model", true},
    {"tensor_parallel", "parallelism.model", true},
    {"tensor_parallel_size", "parallelism.model", true},
    {"time", "timeouts.run", false},
    {"time_limit", "timeouts.run", false},
    {"timeout", "timeouts.run", false},
    {"tp", "parallelism.model", true},
    {"tp_size", "parallelism.model", true},
    {"variables", "vars", false},
    {"virtual_local_rank", "device_visibility", false},
    {"walltime", "timeouts.run", false},
    {"wdir", "workdir", true},
    {"working_dir", "workdir", true},
    {"working_directory", "workdir", true},
    {"xpus", "devices", false},
    {"continue_on_error", "on_failure", false},
    {"exclusive", "engine.slurm.exclusive", false},
    {"machinefile", "hosts", false},
    {"mail_type", "engine.slurm.mail-type", false},
    {"mail_user", "engine.slurm.mail-user", false},
    {"rankfile", "hosts", false},
    {"run", "entrypoint.shell", false},
    {"slots", "local_world_size", false},
    {"timeout_minutes", "timeouts.run", false},
    {"use_cpu", "device", false},
};

/* A name of others for which there is no field, and what to do instead. */
struct otherwise {
    const char *name, *instead;
};

/* What other launchers must be told, and jobrun has not. */
static const struct otherwise needless[] = {
    {"daemon", "no rank outlives its job"},
    {"dotenv", "to read it, write setup: set -a; . ./.env"},
    {"env_file", "to read it, write setup: set -a; . ./.env"},
    {"envfile", "to read it, write setup: set -a; . ./.env"},
    {"join", "jobrun ends with the job; --detach leaves it running"},
    {"local_rank", "each rank has its own, in LOCAL_RANK and as %{local_rank}"},
    {"print_config", "jobrun resolve prints what will be run"},
    {"rank", "each rank has its own, in RANK and as %{rank}; where this is one of "
             "several nodes, node_rank says which"},
    {"use_paddlecloud", "jobrun detects the scheduler: see jobrun doctor"},
};

#define RENDEZVOUS   "jobrun needs no rendezvous"
#define CONTAINER_OF "jobrun starts no container: ranks see what their machine has"
#define OUTPUT       "what ranks write is kept in log_dir, and jobrun logs prints it"
#define ORDER        "start one after the other: jobrun FIRST && jobrun SECOND"
#define NUMBERED     "ranks are numbered node by node"

/* The same at the top of a spec alone; elsewhere they are common words. */
static const struct otherwise top_needless[] = {
    {"array", "write " JR_SETTING("sweep.axes", "{vars.NAME: {from: 0, to: 9}}")},
    {"deepspeed_config",
     "give it to the program: entrypoint: [python3, train.py, --deepspeed_config, FILE]"},
    {"dependency", ORDER},
    {"depends_on", ORDER},
    {"distributed_type", "world_size says how many ranks there are"},
    {"error", OUTPUT},
    {"if", "a spec has no conditions"},
    {"ipc", CONTAINER_OF},
    {"local_addr", RENDEZVOUS},
    {"log_level", "the program has its own; jobrun has none"},
    {"main_training_function", "entrypoint says what each rank runs"},
    {"map_by", NUMBERED},
    {"mca", "write " JR_SETTING("env.OMPI_MCA_NAME", "VALUE")},
    {"mixed_precision", "write " JR_SETTING("env.ACCELERATE_MIXED_PRECISION", "bf16")},
    {"monitor_interval", RENDEZVOUS},
    {"needs", ORDER},
    {"network_mode", CONTAINER_OF},
    {"no_python", "a command is started as it is written"},
    {"output", OUTPUT},
    {"ports", CONTAINER_OF},
    {"privileged", CONTAINER_OF},
    {"rank_by", NUMBERED},
    {"rdzv_conf", RENDEZVOUS},
    {"rdzv_id", RENDEZVOUS},
    {"role", RENDEZVOUS},
    {"run_path", "a script is started as it is written"},
    {"same_network", RENDEZVOUS},
    {"shm_size", CONTAINER_OF},
    {"standalone", RENDEZVOUS},
    {"stderr", OUTPUT},
    {"stdout", OUTPUT},
    {"uses", "a spec has no steps of others"},
    {"verbose", "the run folder has what there is to know"},
};

#define POD                                                                                        \
    "jobrun does not set it: add it to what `jobrun render SPEC --engine "                         \
    "kubernetes` prints"
#define CONTAINER                                                                                  \
    "write cpu and memory; how many devices a node has is local_world_size, "                      \
    "at the top of the spec"

/* What is done in another way in `engine.kubernetes`. */
static const struct otherwise pod_otherwise[] = {
    {"affinity", POD},
    {"annotations", POD},
    {"gpu_limit", CONTAINER},
    {"image_pull_policy", POD},
    {"limits", CONTAINER},
    {"node_selector", POD},
    {"nvidia.com/gpu", CONTAINER},
    {"requests", CONTAINER},
    {"resources", CONTAINER},
    {"security_context", POD},
    {"tolerations", POD},
    {"volume_mounts", POD},
};

/* The same at the top, where it has a list or a mapping. */
static const struct otherwise otherwise[] = {
    {"container", "jobrun starts no container: run jobrun inside of it, or put the command "
                  "into `entrypoint`: [docker, run, ...]"},
    {"defaults", "name the files in `extends`: {base: base.jobrun.yaml, model: "
                 "models/resnet.jobrun.yaml}; -s extends.model=FILE takes another one"},
    {"deploy", "say how many ranks there are in `world_size`"},
    {"docker", "jobrun starts no container: run jobrun inside of it, or put the command "
               "into `entrypoint`: [docker, run, ...]"},
    {"grid", "write " JR_SETTING("sweep.axes", "{vars.NAME: [1, 2]}")},
    {"hydra", "leave it out: runs are kept in `log_dir`, and -s sets a field"},
    {"matrix", "write " JR_SETTING("sweep.axes", "{vars.NAME: [1, 2]}")},
    {"healthcheck", "a job that says nothing is ended by " JR_SETTING("timeouts.silence", "10m")},
    {"resources", "say how many ranks there are in `world_size`, and what an "
                  "engine is asked for in `engine`"},
    {"steps", "write one text: entrypoint: {shell: \"./prepare && ./train\"}"},
    {"strategy", "write " JR_SETTING("sweep.axes", "{vars.NAME: [1, 2]}")},
    {"sweeper", "write " JR_SETTING("sweep.axes", "{vars.NAME: [1, 2]}")},
    {"volumes", "ranks see the files of their machine: leave it out; a claim "
                "of Kubernetes is " JR_SETTING("engine.kubernetes.claim", "NAME")},
};

/* The same for values. */
static const struct foreign words[] = {
    {"amd", "rocm", true},
    {"ascend", "npu", true},
    {"both", "all", true},
    {"gaudi", "hpu", true},
    {"gpu", "cuda", false},
    {"hip", "rocm", true},
    {"intel", "xpu", true},
    {"kunlun", "xpu", true},
    {"nvidia", "cuda", true},
    {"off", "none", true},
    {"pytorch", "torch", true},
    {"stderr", "err", true},
    {"stdout", "out", true},
    {"cambricon", "mlu", true},
    {"float", "number", true},
    {"int", "integer", true},
    {"str", "string", true},
    {"bool", "boolean", true},
    {"double", "number", true},
    {"list", "array", true},
    {"dict", "object", true},
    {"map", "object", true},
    {"std.none", "none", true},
    {"std.out", "out", true},
    {"std.err", "err", true},
    {"std.all", "all", true},
    {"text", "string", true},
    {"real", "number", true},
    {"out", "stdout", true},
    {"err", "stderr", true},
    {"true", "all", false},
    {"yes", "all", false},
    {"on", "all", false},
    {"false", "none", true},
    /* bind */
    {"ccd", "numa", false},
    {"gpu", "device", false},
    {"hwthread", "core", true},
    {"l3", "numa", false},
    {"nearest", "device", false},
    {"package", "numa", false},
    {"socket", "numa", false},
    /* device, backends */
    {"ipu", "custom:ipu", false},
    {"mps", "custom:mps", false},
    {"openmpi", "mpi", true},
    {"oneccl", "xccl", false},
    {"smddp", "custom:smddp", false},
    {"tpu", "custom:tpu", false},
    /* on_failure, signals */
    {"abort", "stop", true},
    {"drop", "ignore", true},
    {"fail", "stop", true},
    {"ignore", "continue", false},
    {"keep_going", "continue", true},
    {"kill", "stop", true},
    {"pass", "forward", true},
    {"propagate", "forward", true},
    {"relay", "forward", true},
    {"terminate", "stop", true},
    /* log_mode */
    {"0600", "private", true},
    {"0640", "group", true},
    {"0644", "umask", false},
    {"0700", "private", true},
    {"0750", "group", true},
    {"0755", "umask", false},
    {"public", "umask", false},
    {"shared", "group", false},
    {"user", "private", true},
    {"world", "umask", false},
    /* results.from */
    {"json", "file", true},
    {"log", "stdout", false},
    {"output", "stdout", false},
    {"result", "file", false},
    /* code, isolation, bind, signals */
    {"checkpoint", "forward", false},
    {"container", "pid", false},
    {"copy", "freeze", true},
    {"frozen", "freeze", true},
    {"git", "record", false},
    {"save", "forward", false},
    {"snapshot", "freeze", true},
    {"track", "record", true},
    {"true", "record", false},
    {"true", "pid", false},
    {"true", "core", false},
    {"docker", "pid", false},
    {"l3cache", "numa", false},
    /* sweep.best.goal, types */
    {"highest", "max", true},
    {"largest", "max", true},
    {"lowest", "min", true},
    {"maximise", "max", true},
    {"maximize", "max", true},
    {"minimise", "min", true},
    {"minimize", "min", true},
    {"smallest", "min", true},
    {"float32", "number", true},
    {"float64", "number", true},
    {"int32", "integer", true},
    {"int64", "integer", true},
    {"percent", "number", false},
    {"true", "auto", false},
    /* others of a few words */
    {"allow", "warn", false},
    {"all", "group", false},
    {"child", "rank", false},
    {"console", "stdout", false},
    {"horovod", "mpi", false},
    {"impi", "pmi1", false},
    {"intel", "pmi1", false},
    {"mpich", "pmi1", false},
    {"mvapich", "pmi1", false},
    {"ompi", "pmix", false},
    {"openmpi", "pmix", false},
    {"preempt", "preempted", true},
    {"preemption", "preempted", true},
    {"timeout", "deadline", false},
    {"tty", "stdout", false},
    {"default", "class", false},
    {"error", "refuse", false},
    {"exec", "spawn", false},
    {"namespace", "pid", true},
    {"oomkilled", "oom", true},
    {"oom_kill", "oom", true},
    {"out_of_memory", "oom", true},
    {"own", "one", true},
    {"process", "leader", true},
    {"root", "rank", false},
    {"root_cause", "rank", true},
    {"single", "one", true},
    {"subprocess", "spawn", true},
    {"thread", "spawn", false},
    {"threads", "spawn", false},
    {"tree", "group", false},
};

/* What people call the members of a mapping of the spec, and jobrun calls otherwise. */
struct member {
    const char *group;
    const char *here;
    bool sure;
    const char *names; /* separated by blanks */
};

#define FIELD "results.fields.*"

static const struct member members[] = {
    {"backends", "data", true, "dp data_parallel"},
    {"backends", "default", true, "all global world"},
    {"backends", "model", true, "mp tensor tp model_parallel"},
    {"backends", "pipeline", true, "pp pipe pipeline_parallel"},
    {"code", "mode", false, "copy freeze frozen record snapshot track"},
    {"console", "collapse", true, "dedup fold"},
    {"console", "hide", true, "exclude"},
    {"console", "prefix", false, "format label tag"},
    {"console", "show", true, "include"},
    {"console", "show", false, "filter grep match only"},
    {"console", "timestamps", true, "timestamp"},
    {"engine", "kubernetes", true, "k8s kube"},
    {"engine.kubernetes", "claim", false, "pvc volume volumes"},
    {"engine.kubernetes", "claim", true, "persistent_volume_claim claim_name"},
    {"engine.kubernetes", "cpu", true, "cpus cores limits.cpu requests.cpu"},
    {"engine.kubernetes", "device_resource", true, "gpu_resource resource_name"},
    {"engine.kubernetes", "image", true, "container container_image img"},
    {"engine.kubernetes", "memory", true, "mem ram limits.memory requests.memory"},
    {"engine.kubernetes", "mount", true, "mount_path"},
    {"engine.kubernetes", "namespace", true, "name_space ns"},
    {"engine.kubernetes", "priority_class", true, "priority priority_class_name"},
    {"engine.kubernetes", "pull_secret", true, "image_pull_secret image_pull_secrets pull_secrets"},
    {"engine.kubernetes", "secret", false, "env_from secret_name secrets"},
    {"engine.kubernetes", "service_account", true, "sa service_account_name"},
    {"engine.kubernetes", "shm", true, "shm_size"},
    {"engine", "mpi", false, "mpich mpiexec mpirun openmpi"},
    {"engine", "slurm", true, "sbatch"},
    {"engine", "ssh", false, "pdsh remote"},
    {"engine.ssh", "collect", false, "download fetch gather pull"},
    {"engine.ssh", "copy", false, "bootstrap deploy install push upload"},
    {"engine.ssh", "env", false, "env_forward environment pass_env send_env"},
    {"engine.ssh", "options", true, "args flags opts ssh_options"},
    {"engine.ssh", "program", true, "executable jobrun path"},
    {"entrypoint", "args", true, "arguments"},
    {"entrypoint", "command", false, "exec executable program run"},
    {"entrypoint", "kwargs", true, "keywords"},
    {"entrypoint", "library", false, "lib so"},
    {"entrypoint", "shell", true, "bash sh"},
    {"entrypoint.library", "path", true, "file lib library so"},
    {"entrypoint.library", "symbol", true, "entry func function name"},
    {"entrypoint.python", "function", true, "callable fn func"},
    {"entrypoint.python", "interpreter", true, "executable python"},
    {"entrypoint.python", "module", true, "mod package"},
    {"entrypoint.python", "script", true, "file filename path program"},
    {"limits", "as", false, "address_space mem memory ram rss vmem"},
    {"limits", "core", false, "core_dump core_dumps core_size"},
    {"limits", "memlock", true, "locked_memory max_locked_memory"},
    {"limits", "nofile", true, "fds files max_files nofiles open_files"},
    {"limits", "nproc", false, "max_processes processes procs threads"},
    {"limits", "stack", true, "stack_size"},
    {"on_hang", "command", false, "cmd exec run"},
    {"on_hang", "signal", true, "sig"},
    {"on_hang", "wait", false, "delay timeout"},
    {"parallelism", "data", false, "ddp fsdp replicas shards"},
    {"parallelism", "model", true, "mp tensor"},
    {"parallelism", "pipeline", true, "pipe stages"},
    {"per_rank.*", "args", true, "arguments"},
    {"per_rank.*", "env", true, "environment"},
    {"progress", "from", true, "source stream"},
    {"progress", "of", true, "last_step max_steps steps total total_steps"},
    {"progress", "pattern", true, "regex regexp"},
    {"restart", "backoff", false, "delay interval pause sleep wait"},
    {"restart", "max", true, "max_restarts max_retries restarts retries"},
    {"restart", "max", false, "attempts count limit times"},
    {"restart", "never", false, "except unless"},
    {"restart", "on", false, "causes if triggers when"},
    {"restart", "window", false, "period within"},
    {"results", "artifacts", false, "checkpoints files"},
    {"results", "distinct", true, "different unique"},
    {"results", "equal", true, "identical same"},
    {"results", "fields", false, "columns metrics schema values"},
    {"results", "file", false, "filename json output path"},
    {"results", "from", true, "source stream"},
    {"results", "limit", true, "max_size size"},
    {"results", "pattern", true, "regex regexp"},
    {"results", "required", false, "ranks"},
    {FIELD, "enum", false, "allowed choices one_of options values"},
    {FIELD, "max", true, "le lte maximum"},
    {FIELD, "max", false, "lt upper"},
    {FIELD, "min", true, "ge gte minimum"},
    {FIELD, "min", false, "gt lower"},
    {FIELD, "pattern", true, "regex regexp"},
    {FIELD, "type", false, "dtype kind"},
    {"sweep", "axes", true, "grid matrix parameters params search_space space"},
    {"sweep", "best", false, "goal metric objective"},
    {"sweep", "parallel", true, "concurrency jobs max_parallel n_jobs"},
    {"sweep", "samples", false, "count iterations n_trials num_samples trials"},
    {"timeouts", "progress", false, "step"},
    {"timeouts", "run", false, "job limit max total wall walltime"},
    {"timeouts", "silence", false, "hang idle no_output output stall"},
    {"timeouts", "start", false, "init launch startup"},
    {"timeouts", "stop_grace", false, "grace kill shutdown stop term"},
};

/* Whether a word is one of those that are allowed: custom:NAME is where custom is. */
static bool is_allowed(const char *word, const char *const *allowed)
{
    size_t len = strcspn(word, ":");
    while (*allowed != NULL && (strncmp(*allowed, word, len) != 0 || (*allowed)[len] != '\0'))
        allowed++;
    return *allowed != NULL;
}

const char *jr_field_foreign_word(const char *word, const char *const *allowed, bool *ret_sure)
{
    *ret_sure = false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcasecmp(words[i].name, word) != 0 || !is_allowed(words[i].here, allowed))
            continue;
        *ret_sure = words[i].sure;
        return words[i].here;
    }
    return NULL;
}

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

static const struct foreign *find_foreign_name(const char *name)
{
    for (size_t i = 0; i < sizeof foreigners / sizeof *foreigners; i++)
        if (jr_field_is_same_name(foreigners[i].name, name))
            return &foreigners[i];
    return NULL;
}

static const char *find_otherwise(const struct otherwise *rows, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (jr_field_is_same_name(rows[i].name, name))
            return rows[i].instead;
    return NULL;
}

const char *jr_field_otherwise(const char *name)
{
    return find_otherwise(otherwise, sizeof otherwise / sizeof *otherwise, name);
}

const char *jr_field_pod_otherwise(const char *name)
{
    return find_otherwise(pod_otherwise, sizeof pod_otherwise / sizeof *pod_otherwise, name);
}

const char *jr_field_needless(const char *name, bool top)
{
    const char *why = find_otherwise(needless, sizeof needless / sizeof *needless, name);
    if (why != NULL || !top)
        return why;
    return find_otherwise(top_needless, sizeof top_needless / sizeof *top_needless, name);
}

const char *jr_field_foreign(const char *name)
{
    const struct foreign *row = find_foreign_name(name);
    return row == NULL ? NULL : row->here;
}

bool jr_field_foreign_is_same(const char *name)
{
    const struct foreign *row = find_foreign_name(name);
    return row != NULL && row->sure;
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

const char *jr_field_foreign_value(struct jr_arena *arena, const char *name, const char *value)
{
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (jr_field_is_same_name(meanings[i].name, name) &&
            strcasecmp(meanings[i].value, value) == 0)
            return meanings[i].here;
    const char *field = jr_field_foreign(name), *dot = strrchr(value, '.');
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

void jr_field_others(struct jr_buf *out, const char *path)
{
    const char *before = "";
    for (size_t i = 0; i < sizeof foreigners / sizeof *foreigners; i++) {
        if (strcmp(foreigners[i].here, path) != 0)
            continue;
        jr_buf_printf(out, "%s%s", before, foreigners[i].name);
        before = ", ";
    }
}

/* Whether one of the names is this one. */
static bool is_listed(const char *names, const char *name)
{
    char word[32];
    for (size_t len; *names != '\0'; names += len + (names[len] == ' ')) {
        len = strcspn(names, " ");
        if (len >= sizeof word)
            continue;
        memcpy(word, names, len);
        word[len] = '\0';
        if (jr_field_is_same_name(word, name))
            return true;
    }
    return false;
}

const char *jr_member_meant(const char *group, const char *name, bool *ret_sure)
{
    *ret_sure = false;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (strcmp(members[i].group, group) != 0 || !is_listed(members[i].names, name))
            continue;
        *ret_sure = members[i].sure;
        return members[i].here;
    }
    return NULL;
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
