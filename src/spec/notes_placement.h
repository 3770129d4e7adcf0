/* Notes and examples of the fields on how many ranks there are and where, on their devices, the
 * mesh, and engines. See notes.h. */
#ifndef JR_NOTES_PLACEMENT_H
#define JR_NOTES_PLACEMENT_H

/* clang-format off */
#define JR_NOTES_PLACEMENT(N)                                                  \
    N("world_size", "", "world_size: 8")                                       \
    N("local_world_size",                                                      \
      "A list gives the number of ranks for each node: its length is `nodes`, "\
      "its sum is `world_size`, and its order is that of `hosts`.",            \
      "local_world_size: [8, 8, 4]")                                           \
    N("nodes", "", "nodes: 2")                                                 \
    N("spare_nodes",                                                           \
      "Under Slurm and over ssh: the job starts on `nodes` of its machines, "  \
      "and where one of them is lost and `restart` allows another attempt, a " \
      "spare takes its place, with its node rank; the others keep theirs. "    \
      "`nodes` has to be stated; `hosts` then has an entry for each of both, " \
      "the spares last.",                                                      \
      "nodes: 4\nspare_nodes: 1\nlocal_world_size: 8\nrestart: {max: 3}")      \
    N("node_rank",                                                             \
      "It is different on each machine, so it is usually given on the command "\
      "line: `--node-rank 1 --run-id exp1`.",                                  \
      "nodes: 2\nnode_rank: 0")                                                \
    N("rank_start", "", "nodes: 2\nworld_size: 16\nrank_start: 8")             \
    N("hosts", "", "hosts: [gpu01, gpu02]")                                    \
    N("master_addr", "", "master_addr: gpu01.cluster")                         \
    N("master_port",                                                           \
      "jobrun leases the port for the duration of the run, so two jobs on one "\
      "machine never get the same port. A port that the spec states is never " \
      "changed: if it is in use, the job fails. One that jobrun chooses can " \
      "be bound by a program that sets no options of sockets.",               \
      "master_port: 29500")                                                    \
    N("init_method", "", "init_method: \"tcp://gpu01:29501\"")                 \
    N("device", "", "device: cuda")                                            \
    N("devices",                                                               \
      "Indices are absolute. Each device must be visible in the environment "  \
      "in which jobrun was started; an empty visibility variable means none. " \
      "With `any`, jobrun takes as many devices as the ranks of a node need, " \
      "of those that no other run has leased; if there are too few, it names " \
      "who holds them (exit status 4), or waits (`--wait`).",                  \
      "devices: [0, 1, 4, 5]")                                                 \
    N("device_visibility",                                                     \
      "With `one`, LOCAL_RANK is no device index: the rank's device is 0.",    \
      "device_visibility: one")                                                \
    N("oversubscribe",                                                         \
      "Local rank i gets device i modulo the number of devices.",              \
      "oversubscribe: true")                                                   \
    N("bind",                                                                  \
      "Ranks get contiguous shares of the physical cores that jobrun may use, "\
      "in the order of their NUMA nodes. Memory follows the CPUs: Linux "      \
      "allocates it on the node of the CPU that touches it first.",            \
      "bind: numa")                                                            \
    N("threads", "The value is limited by the CPU quota, and is at least 1.",  \
      "threads: 4")                                                            \
    N("parallelism", "",                                                       \
      "world_size: 8\nparallelism: {model: 2, pipeline: 2, data: auto}")       \
    N("backends", "A backend that cannot drive `device` is an error.",         \
      "backends: {default: nccl, data: gloo}")                                 \
    N("engine", "Only `render` and `submit` use it; `run` ignores it.",        \
      "engine: {slurm: {partition: gpu}}")                                     \
    N("engine.slurm",                                                          \
      "`true` is an option without a value, `false` leaves one out that "      \
      "jobrun would give. What the job itself decides cannot be given: "       \
      "`nodes`, `ntasks`, `ntasks-per-node`, `job-name` and their like.",      \
      "engine: {slurm: {partition: gpu, account: vision, exclusive: true}}")   \
    N("engine.kubernetes",                                                     \
      "`jobrun render SPEC --engine kubernetes | kubectl apply -f -`",         \
      "engine: {kubernetes: {image: registry.example.org/train:7}}")           \
    N("engine.kubernetes.image",                                               \
      "The spec's `workdir` and its program are paths within the image.",      \
      "engine: {kubernetes: {image: registry.example.org/train:7}}")           \
    N("engine.kubernetes.namespace", "",                                       \
      "engine: {kubernetes: {image: train, namespace: vision}}")               \
    N("engine.kubernetes.service_account", "",                                 \
      "engine: {kubernetes: {image: train, service_account: trainer}}")        \
    N("engine.kubernetes.priority_class", "",                                  \
      "engine: {kubernetes: {image: train, priority_class: batch}}")           \
    N("engine.kubernetes.pull_secret", "",                                     \
      "engine: {kubernetes: {image: train, pull_secret: registry}}")           \
    N("engine.kubernetes.secret",                                              \
      "Values that match `secrets` are not written to the config map; they "   \
      "come from this secret.",                                                \
      "engine: {kubernetes: {image: train, secret: tokens}}")                  \
    N("engine.kubernetes.claim",                                               \
      "To keep the runs, state a `log_dir` below `mount`.",                    \
      "log_dir: /data/runs\nengine: {kubernetes: {image: train, claim: "       \
      "shared}}")                                                              \
    N("engine.kubernetes.mount", "",                                           \
      "engine: {kubernetes: {image: train, claim: shared, mount: /mnt}}")      \
    N("engine.kubernetes.shm",                                                 \
      "It counts as memory of the pod. NCCL and data loaders need more than "  \
      "that.",                                                                 \
      "engine: {kubernetes: {image: train, shm: 16Gi}}")                       \
    N("engine.kubernetes.cpu", "",                                             \
      "engine: {kubernetes: {image: train, cpu: 16}}")                         \
    N("engine.kubernetes.memory", "",                                          \
      "engine: {kubernetes: {image: train, memory: 64Gi}}")                    \
    N("engine.kubernetes.device_resource", "",                                 \
      "engine: {kubernetes: {image: train, device_resource: "                  \
      "nvidia.com/mig-1g.5gb}}")                                               \
    N("engine.mpi", "", "engine: {mpi: {dialect: hydra}}")                     \
    N("engine.mpi.dialect", "", "engine: {mpi: {dialect: hydra}}")             \
    N("engine.mpi.launcher", "",                                               \
      "engine: {mpi: {launcher: /opt/openmpi/bin/mpirun}}")                    \
    N("engine.ssh",                                                            \
      "One jobrun then runs the job on all `hosts`. `--hosts gpu01,gpu02` "     \
      "states both, and `--engine ssh` this field alone.",                     \
      "hosts: [gpu01, gpu02]\nengine: {ssh: {}}")                              \
    N("engine.ssh.options",                                                    \
      "They come before the host's name. BatchMode is always on: nobody is "   \
      "asked for a password.",                                                 \
      "hosts: [gpu01, gpu02]\nengine: {ssh: {options: [-J, gate]}}")           \
    N("engine.ssh.program",                                                    \
      "`~/` is the home folder there. A program that is stated is not looked " \
      "for elsewhere.",                                                        \
      "hosts: [gpu01, gpu02]\nengine: {ssh: {program: ~/bin/jobrun}}")         \
    N("engine.ssh.copy",                                                       \
      "It goes through the connection that the agent then has, into "          \
      "`~/.cache/jobrun/VERSION-HASH` there, with what Python entrypoints "    \
      "need. That folder is the user's alone, and is checked by SHA-256 "      \
      "before each use.",                                                      \
      "hosts: [gpu01, gpu02]\nengine: {ssh: {copy: true}}")                    \
    N("engine.ssh.collect",                                                    \
      "Such a host has the run's files in a folder of its own, `node_N` in "   \
      "the run's, and judges there what its ranks have delivered. The values " \
      "of results and the last 64 KiB of each log always come back.",          \
      "hosts: [gpu01, gpu02]\nengine: {ssh: {collect: [results, logs]}}")      \
    N("engine.ssh.env",                                                        \
      "All other variables are those of a login there that is not "            \
      "interactive.",                                                          \
      "hosts: [gpu01, gpu02]\nengine: {ssh: {env: [\"NCCL_*\", HF_HOME]}}")    \
    N("parallelism.model", "", "parallelism: {model: 2}")                      \
    N("parallelism.pipeline", "", "parallelism: {pipeline: 2}")                \
    N("parallelism.data", "", "parallelism: {data: 4}")                        \
    N("backends.default", "", "backends: {default: gloo}")                     \
    N("backends.model", "", "backends: {model: nccl}")                         \
    N("backends.pipeline", "", "backends: {pipeline: nccl}")                   \
    N("backends.data", "", "backends: {data: gloo}")
/* clang-format on */

#endif
