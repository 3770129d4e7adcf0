#include "spec/manual.h"

#include <string.h>

#include "spec/foreign.h"

#include "base/banned.h"

/*
 * The parts of the manual beyond the rows in fields.h: the sections of the fields, and for each
 * field a note and an example.
 *
 * Texts are plain: `backticks` around what is typed, a blank line between paragraphs, and lines
 * that begin with two blanks as they are.
 */

/* Notes and examples of the fields by which a spec says what it is: its name, what it builds on,
 * its sweep, its code. */

/* clang-format off */
#define JR_NOTES_JOB(N)                                                        \
    N("version", "", "version: 1")                                             \
    N("name", "", "name: digits")                                              \
    N("description", "", "description: the nightly run on real data")          \
    N("labels", "Labels are not part of a run's fingerprint.",                 \
      "labels: {team: vision, ticket: 1234}")                                  \
    N("extends",                                                               \
      "Mappings are merged recursively; lists and scalars replace earlier "    \
      "ones. Later parents override earlier ones. null removes a value of a "  \
      "parent; in `env` it unsets the variable. A short form replaces the "    \
      "whole value, for example `backends: gloo` or an `entrypoint` that is a "\
      "list, and so does an entrypoint of another form. Paths are relative to "\
      "the file that states them. Parents are read only below `--root`; its "  \
      "default is the top of the checkout, or else the spec's own folder. A "  \
      "mapping gives parents names, in the order in which they are merged: "   \
      "`--set extends.model=models/vit.jobrun.yaml` takes another file for "   \
      "`model`, in whichever file names it, and null takes none.",             \
      "extends: {base: base.jobrun.yaml, model: models/resnet.jobrun.yaml}")   \
    N("template",                                                              \
      "A template may lack required fields, and cannot be run. A spec that "   \
      "extends a template is not itself a template.",                          \
      "template: true")                                                        \
    N("vars",                                                                  \
      "Refer to them as `${vars.lr}`. `jobrun train.yaml --set vars.lr=0.2` "  \
      "sets another value, and `--set +vars.wd=0.1` adds a variable; without " \
      "the plus, a name that nothing declares is an error. A variable that is "\
      "`???` must be set that way. One that nothing reads is a warning.",      \
      "vars: {lr: 0.1, epochs: 5}\nenv: {LR: \"${vars.lr}\", "                 \
      "EPOCHS: \"${vars.epochs}\"}")                                           \
    N("sweep",                                                                 \
      "Every combination of the values is a cell: a run of its own, with its " \
      "own folder, results and record. `jobrun validate` checks every cell, "  \
      "`jobrun plan` lists them, and `--cell 7` runs one of them alone. "      \
      "docs/sweeps.md shows it.",                                              \
      "vars: {lr: 0.1}\nenv: {LR: \"${vars.lr}\"}\n"                           \
      "sweep: {axes: {vars.lr: [0.1, 0.03, 0.01]}}")                           \
    N("sweep.axes",                                                            \
      "A key is a field by its dotted path, or several with commas that go "   \
      "together. A value is a list, a range, or a draw:\n\n"                   \
      "  vars.lr: [0.1, 0.01]\n"                                               \
      "  vars.seed: {from: 0, to: 4}            step: 1; -1 where `to` is less\n" \
      "  vars.rate: {log_uniform: [1e-5, 0.1]}  uniform and integers, too\n"   \
      "  extends.model: [a.yaml, b.yaml]        files for a named parent\n"    \
      "  \"vars.batch,vars.steps\": [[32, 4000], [64, 2000]]\n\n"              \
      "The last axis varies fastest. Any field can be one, except those that " \
      "say where runs are made and kept, such as `devices`, `hosts` and "      \
      "`log_dir`. A value may hold `${...}`, which is read in its place.",     \
      "vars: {seed: 0}\nenv: {SEED: \"${vars.seed}\"}\n"                       \
      "sweep: {axes: {vars.seed: {from: 0, to: 4}}}")                          \
    N("sweep.exclude",                                                         \
      "An entry excludes every combination that has all of its values.",       \
      "vars: {lr: 1, seed: 0}\nenv: {LR: \"${vars.lr}\", "                     \
      "SEED: \"${vars.seed}\"}\nsweep:\n"                                      \
      "  axes: {vars.lr: [0.1, 0.01], vars.seed: [0, 1]}\n"                    \
      "  exclude: [{vars.lr: 0.1, vars.seed: 1}]")                             \
    N("sweep.include",                                                         \
      "An entry may also state fields that are no axes. What it does not "     \
      "state is as the spec has it.",                                          \
      "vars: {lr: 1}\nenv: {LR: \"${vars.lr}\"}\n"                             \
      "sweep: {axes: {vars.lr: [0.1, 0.01]}, include: [{vars.lr: 1.5}]}")      \
    N("sweep.samples", "",                                                     \
      "vars: {lr: 1}\nenv: {LR: \"${vars.lr}\"}\n"                             \
      "sweep: {axes: {vars.lr: {log_uniform: [1e-4, 0.1]}}, samples: 8}")      \
    N("sweep.seed",                                                            \
      "Draw i of a field depends on the seed, the field and i alone, so it is "\
      "the same on every machine, and more draws change none of the earlier "  \
      "ones. It is made from SHA-256 of `SEED:PATH:I`.",                       \
      "vars: {lr: 1}\nenv: {LR: \"${vars.lr}\"}\n"                             \
      "sweep: {axes: {vars.lr: {uniform: [0, 1]}}, samples: 8, seed: 3}")      \
    N("sweep.parallel", "`--parallel N` states another number.",               \
      "vars: {lr: 1}\nenv: {LR: \"${vars.lr}\"}\n"                             \
      "sweep: {axes: {vars.lr: [0.1, 0.01]}, parallel: 1}")                    \
    N("sweep.stop_after", "Cells that are running then go on to their end.",   \
      "vars: {lr: 1}\nenv: {LR: \"${vars.lr}\"}\n"                             \
      "sweep: {axes: {vars.lr: [0.1, 0.01]}, stop_after: 1}")                  \
    N("sweep.best",                                                            \
      "A cell's value of the field is the one that its ranks have in common, " \
      "or else what `of` says. Cells without it come last.",                   \
      "vars: {lr: 1}\nenv: {LR: \"${vars.lr}\"}\n"                             \
      "sweep: {axes: {vars.lr: [0.1, 0.01]}, "                                 \
      "best: {field: loss, goal: min}}")                                       \
    N("sweep.best.field", "",                                                  \
      "vars: {lr: 1}\nenv: {LR: \"${vars.lr}\"}\n"                             \
      "sweep: {axes: {vars.lr: [0.1, 0.01]}, "                                 \
      "best: {field: loss, goal: min}}")                                       \
    N("sweep.best.goal", "",                                                   \
      "vars: {lr: 1}\nenv: {LR: \"${vars.lr}\"}\n"                             \
      "sweep: {axes: {vars.lr: [0.1, 0.01]}, "                                 \
      "best: {field: accuracy, goal: max}}")                                   \
    N("sweep.best.of", "",                                                     \
      "vars: {lr: 1}\nenv: {LR: \"${vars.lr}\"}\n"                             \
      "sweep:\n  axes: {vars.lr: [0.1, 0.01]}\n"                               \
      "  best: {field: accuracy, goal: max, of: min}")                         \
    N("targets", "Each target is written like the argument of `--on`.",        \
      "targets: [\"1x8:H100\", \"4x0,32c\"]")                                  \
    N("code",                                                                  \
      "The state of the git work tree around `workdir` is recorded with every "\
      "run: see docs/runs.md. With `freeze`, jobrun also copies the tree to "  \
      "the folder `code` of the run before it starts the first rank, and "     \
      "ranks, `setup` and `on_end` run there: what is edited afterwards "      \
      "reaches no rank. docs/frozen-code.md says what is copied, and what is " \
      "not.",                                                                  \
      "code: freeze")                                                          \
    N("code.mode", "", "code: {mode: freeze}")                                 \
    N("code.link",                                                             \
      "These are the files and folders that the copy does not freeze, such as "\
      "a virtual environment or data. `all` is everything that git ignores "   \
      "in the tree, except `log_dir` and Python's __pycache__. Paths are "     \
      "relative to this file, and git has to ignore them.",                    \
      "code: {mode: freeze, link: [.venv, data]}")
/* clang-format on */

/* Notes and examples of the fields on what every rank runs, in which environment, and how it
 * starts. */

/* clang-format off */
#define JR_NOTES_RANKS(N)                                                      \
    N("entrypoint", "", "entrypoint: [./train, --epochs, 5]")                  \
    N("workdir",                                                               \
      "The folder must exist, except for `%{rank_dir}`, the rank's own "       \
      "folder, which jobrun creates.",                                         \
      "workdir: ../data")                                                      \
    N("setup",                                                                 \
      "The variables that it exports become the base of the ranks' "           \
      "environment, for example from environment modules, conda or a virtual " \
      "environment. /bin/sh runs it in the working directory of the first "    \
      "rank. Its output goes to the console and to setup.log. If its last "    \
      "command fails (or any command, after `set -e`), no rank is started. It "\
      "must run to its end: do not use `exit` or `exec`.",                     \
      "setup: . venv/bin/activate")                                            \
    N("env",                                                                   \
      "Values are text as written: `SEED: 7` needs no quotes. Variables that " \
      "other launchers leave for the processes that they start are not passed "\
      "to ranks: PMI_*, PMIX_*, OMPI_*, PRTE_* and TORCHELASTIC_*. Settings "  \
      "of Open MPI (OMPI_MCA_*) must therefore be stated here. What a "        \
      "scheduler said of its own tasks (SLURM_PROCID, SLURM_NTASKS) is "       \
      "corrected: see the end of this page.",                                  \
      "env: {SEED: 7, OUT: \"out/%{rank}\", DATA_ROOT: \"???\", DEBUG: null}") \
    N("env_remove",                                                            \
      "A job that is started within a rank of another job inherits the "       \
      "variables of that job's profiles, such as PADDLE_*, unless its own "    \
      "profiles set them again.",                                              \
      "env_remove: [PYTHONPATH, \"NCCL_*\"]")                                  \
    N("env_profiles",                                                          \
      "A path names a profile of your own: a file with `env` and "             \
      "`env_remove`, written as in a spec. The path is relative to the file "  \
      "that states it, and must be below `--root`. Variables of such files "   \
      "override those of the built-in profiles, whatever their order; later "  \
      "files override earlier ones, and the spec's own `env` overrides them "  \
      "all. `paddle` gives every rank its own port; with it, `xpu` means "     \
      "Kunlun's devices. `mpi` also says that a script or a wrapper is "       \
      "an MPI program, of which `mpi: auto` makes one world.",                 \
      "env_profiles: [torch, ./ours.yaml]")                                    \
    N("per_rank", "No two sets may contain the same rank.",                    \
      "per_rank: {0: {args: [--verbose], env: {DEBUG: 1}}}")                   \
    N("per_rank.*.args", "", "per_rank: {0-3: {args: [--role, chief]}}")       \
    N("per_rank.*.kwargs", "",                                                 \
      "entrypoint: {python: {function: \"pkg.train:main\"}}\n"                 \
      "per_rank: {0: {kwargs: {verbose: true}}}")                              \
    N("per_rank.*.env", "", "per_rank: {1-7/2: {env: {LOG: none}}}")           \
    N("secrets",                                                               \
      "jobrun writes the values of these variables, both in its own "          \
      "environment and in `env`, as `${env:NAME}` or `<redacted>` wherever it "\
      "writes. Logs, and results that ranks write to their own files, are not "\
      "changed. Outside the variable itself, a value is replaced only if it "  \
      "has at least 8 bytes and is not a number, a boolean or a path. Results "\
      "are checked, and returned to Python, unchanged.",                       \
      "secrets: [\"*TOKEN*\", \"WANDB_*\"]")                                   \
    N("start_method",                                                          \
      "A command or a shell entrypoint always starts a new program, so only "  \
      "`spawn` works with it. With `forkserver`, one clean helper process per "\
      "node imports `preload` (or loads the library), and every rank is a "    \
      "fork of it. With `fork`, the helper also imports the entry module. "    \
      "LD_*, OMP_* and PYTHON* in a rank's own environment then have no "      \
      "effect, because they are read before the fork.",                        \
      "entrypoint: {python: {module: pkg.train}}\n"                            \
      "start_method: forkserver")                                              \
    N("preload", "",                                                           \
      "entrypoint: {python: {module: pkg.train}}\n"                            \
      "start_method: forkserver\n"                                             \
      "preload: [numpy, torch]")                                               \
    N("fork_threads",                                                          \
      "A fork has only one thread. A rank that waits for another thread of "   \
      "the helper hangs; if it has not reached its function after 30 s, it "   \
      "fails. The thread pools of OpenBLAS, MKL, OpenMP and torch do not "     \
      "count: they have one thread while the helper imports, and each rank "   \
      "sets their size from `threads`.",                                       \
      "entrypoint: {python: {module: pkg.train}}\n"                            \
      "start_method: forkserver\n"                                             \
      "preload: [grpc]\n"                                                      \
      "fork_threads: refuse")                                                  \
    N("mpi",                                                                   \
      "jobrun starts MPI programs itself, without mpirun or mpiexec: "         \
      "it serves the protocol by which MPI_Init finds the other ranks. "       \
      "With `auto` the libraries that the program of a `command` needs "       \
      "decide, and the first line of a run says so; of a script or a "         \
      "wrapper those of its mpi4py, where `env_profiles: [mpi]` or "           \
      "`backends: mpi` ask for a world. Stating a protocol makes it a "        \
      "promise: if no rank calls MPI_Init through it, each was a world "       \
      "of its own, and the run ends with exit status 5. A rank that "          \
      "exits with 0 without MPI_Init while others have called it, or "         \
      "without MPI_Finalize, has failed. See docs/mpi.md.",                    \
      "mpi: pmi1")                                                             \
    N("isolation",                                                             \
      "With `pid`, every process of the run ends with jobrun, even if all of " \
      "jobrun is killed at once. The ranks see only each other, in a /proc of "\
      "their own; the report shows the machine's pids. This needs root, or a " \
      "kernel that lets users create namespaces. In the latter case the ranks "\
      "are also in a user namespace, where programs like sudo do not work.",   \
      "isolation: pid")                                                        \
    N("limits",                                                                \
      "These are soft limits. A lower hard limit is raised if jobrun may do "  \
      "so.",                                                                   \
      "limits: {nofile: 65536, core: 0}")                                      \
    N("limits.nofile", "", "limits: {nofile: 65536}")                          \
    N("limits.core", "", "limits: {core: unlimited}")                          \
    N("limits.memlock", "", "limits: {memlock: unlimited}")                    \
    N("limits.stack", "", "limits: {stack: 64MiB}")                            \
    N("limits.as", "", "limits: {as: 16GiB}")                                  \
    N("limits.nproc", "", "limits: {nproc: 4096}")                             \
    N("entrypoint.command", "", "entrypoint: {command: [./train, -v]}")        \
    N("entrypoint.shell",                                                      \
      "`${vars.lr}` in it becomes `${JOBRUN_VAR_lr}`, and the ranks get that " \
      "variable; so does any dotted path of the spec, with `_` for each dot. " \
      "Quotes, defaults (`${vars.lr:-0.1}`) and `$(( ))` are the shell's. In " \
      "single quotes it is an error. `${NAME}` is the shell's own.",           \
      "entrypoint: {shell: ./prep.sh && ./train}")                             \
    N("entrypoint.python",                                                     \
      "It has exactly one of `script`, `module` and `function`. A function is "\
      "called with `args` and `kwargs`, and its return value is the rank's "   \
      "result. In all three, `import jobrun` knows the rank and its groups.",  \
      "entrypoint: {python: {function: \"pkg.train:main\"}}")                  \
    N("entrypoint.library",                                                    \
      "The function has the type `int f(const struct jr_rank *, struct "       \
      "jr_result *)`; see jobrun/rank.h.",                                     \
      "entrypoint: {library: {path: ./libstep.so, symbol: step_main}}")        \
    N("entrypoint.args",                                                       \
      "For a command, a shell, a script or a module they are text as written. "\
      "For a function they may be values of any JSON type, like `kwargs`.",    \
      "entrypoint: {command: [./train], args: [--shard, \"%{data_rank}\"]}")   \
    N("entrypoint.kwargs",                                                     \
      "Values may have any JSON type; null is None. Strings may contain "      \
      "%{rank} and the other per-rank templates, and stay strings. `???` "     \
      "requires a value from outside: `--set entrypoint.kwargs.lr=0.2`.",      \
      "entrypoint: {python: {function: \"pkg:main\"}, kwargs: {lr: 0.1}}")     \
    N("entrypoint.python.script",                                              \
      "It runs in `workdir`, which may be another folder.",                    \
      "entrypoint: {python: {script: train.py}, args: [--epochs, 5]}")         \
    N("entrypoint.python.module", "",                                          \
      "entrypoint: {python: {module: pkg.train}}")                             \
    N("entrypoint.python.function",                                            \
      "jobrun looks for the module in `workdir` first.",                       \
      "entrypoint: {python: {function: \"pkg.train:main\"}}")                  \
    N("entrypoint.python.interpreter",                                         \
      "A name without a slash is looked up in the PATH of the ranks; a path "  \
      "is relative to the spec's folder. With the interpreter of a virtual "   \
      "environment, its packages are available.",                              \
      "entrypoint: {python: {script: a.py, interpreter: .venv/bin/python}}")   \
    N("entrypoint.python.setup", "It is called without arguments.",            \
      "entrypoint: {python: {function: \"pkg:main\", setup: \"pkg:prepare\"}}")\
    N("entrypoint.python.init",                                                \
      "`torch` initialises the process group from `init_method` and "          \
      "`backends`, selects the device, and builds one process group per axis " \
      "of the mesh: `jobrun.group(\"model\")`.",                               \
      "entrypoint: {python: {function: \"pkg:main\", init: torch}}")           \
    N("entrypoint.python.smoke_test", "It requires `init`.",                   \
      "entrypoint: {python: {function: \"m:f\", init: torch, "                 \
      "smoke_test: true}}")                                                    \
    N("entrypoint.library.path", "",                                           \
      "entrypoint: {library: {path: build/libstep.so, symbol: step}}")         \
    N("entrypoint.library.symbol", "",                                         \
      "entrypoint: {library: {path: ./libstep.so, symbol: step_main}}")
/* clang-format on */

/* Notes and examples of the fields on how many ranks there are and where, on their devices, the
 * mesh, and engines. */

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

/* Notes and examples of the fields on output, progress and results. */

/* clang-format off */
#define JR_NOTES_OUTPUT(N)                                                     \
    N("redirects", "", "redirects: {0: none, 1-7: all}")                       \
    N("tee",                                                                   \
      "A stream that both `redirects` and `tee` name is treated as `tee`.",    \
      "tee: \"0:all,1-7:err\"")                                                \
    N("console", "",                                                           \
      "console: {prefix: \"%{rank}| \", ranks: 0-3, timestamps: true}")        \
    N("log_dir", "", "log_dir: /scratch/runs")                                 \
    N("log_mode", "", "log_mode: group")                                       \
    N("log_limit",                                                             \
      "jobrun keeps the beginning of the stream (1 MiB, or half of the limit " \
      "if that is less) and its end. A line in the file says how many bytes "  \
      "are left out between them; the report and results.json have the "       \
      "number, too. Redirected streams then go through jobrun. While a stream "\
      "exceeds its limit, it uses half as much disk space again, for "         \
      "FILE.next. If both processes of jobrun were killed at once and "        \
      "FILE.next is still there, it holds nothing that FILE does not.",        \
      "log_limit: 64MiB")                                                      \
    N("results", "",                                                           \
      "results:\n"                                                             \
      "  fields:\n"                                                            \
      "    accuracy: {type: number, min: 0.9}\n"                               \
      "    weights_sha: {type: string}\n"                                      \
      "  equal: [weights_sha]")                                                \
    N("progress",                                                              \
      "It is a bar while the job runs, columns of `top`, `runs` and `show`, "  \
      "metrics.jsonl in the run folder, `progress` in results.json, and what " \
      "`timeouts.progress` and `timeouts.first_step` are about.",              \
      "progress:\n"                                                            \
      "  pattern: 'step (?<step>\\d+)/(?<of>\\d+) loss (?<loss>\\S+)'")        \
    N("console.prefix", "", "console: {prefix: \"%{node_rank}/%{rank}: \"}")   \
    N("console.ranks", "", "console: {ranks: \"0,8\"}")                        \
    N("console.timestamps", "", "console: {timestamps: true}")                 \
    N("console.collapse",                                                      \
      "If ranks 0 to 7 write the same line, it is shown once, at most a tenth "\
      "of a second later, as `[0-7] ...`. The ranks take the place of %{rank} "\
      "in the prefix. The order of each rank's lines is kept. The files have " \
      "all lines.",                                                            \
      "console: {collapse: true}")                                             \
    N("console.partial", "", "console: {partial: 1s}")                         \
    N("console.show",                                                          \
      "A PCRE2 pattern that must match somewhere in the line, without the "    \
      "prefix. Incomplete lines are not shown. The files have all lines. A "   \
      "line on which matching takes too many steps counts as not matching; "   \
      "after a hundred such lines, all lines are shown.",                      \
      "console: {show: '^(epoch|step) '}")                                     \
    N("console.hide", "Like `show`; a line that matches both is hidden.",      \
      "console: {hide: 'FutureWarning'}")                                      \
    N("progress.from",                                                         \
      "In every run, what a rank tells by `jobrun.progress()`, by "            \
      "`jr_progress()`, or by a JSON object on a line of "                     \
      "$JOBRUN_PROGRESS_FILE counts too: {\"step\": 5, \"of\": 100, "          \
      "\"loss\": 0.3}.",                                                       \
      "progress: {from: file}")                                                \
    N("progress.pattern",                                                      \
      "It must match somewhere in a line of at most 64 KiB; a carriage return "\
      "ends a line as a newline does. The group `step` must be a whole "       \
      "number; `of` is the last step; the other named groups are metrics: "    \
      "numbers, nan or inf.",                                                  \
      "progress: {pattern: 'step (?<step>\\d+)/(?<of>\\d+) loss (?<loss>\\S+)'}")\
    N("progress.ranks",                                                        \
      "With several ranks, the job is as far as the slowest of them that "     \
      "still runs. A rank that is slower than the median by half over 10 "     \
      "steps and 5 seconds is reported with its host and device.",             \
      "progress: {from: file, ranks: all}")                                    \
    N("progress.of", "", "progress: {from: file, of: 1000}")                   \
    N("progress.stall",                                                        \
      "An attempt got further if it went beyond the furthest step of all "     \
      "attempts before it; one without a step did not. Attempt 0 sets the "    \
      "mark. A job that stalled ends with exit status 6. 0: restarts go on "   \
      "as `restart` allows.",                                                  \
      "progress: {from: file, stall: 2}\n"                                     \
      "restart: {max: 20}")                                                    \
    N("results.required", "", "results: {required: 0}")                        \
    N("results.from", "",                                                      \
      "results: {from: stdout, pattern: 'loss=(?<loss>[0-9.]+)'}")             \
    N("results.file",                                                          \
      "A file that was made and last changed before the start does not count, "\
      "wherever it is now; nor does a link. A copy counts.",                   \
      "results: {file: \"out/%{rank}.json\"}")                                 \
    N("results.limit",                                                         \
      "A larger file is refused by its size, before it is read. Write large "  \
      "data to a file of `artifacts`. A run takes at most four times the size "\
      "of a result in memory, and more only for what `equal`, `distinct` and " \
      "`enum` compare, where there are values of secrets to be hidden, and on "\
      "a host of its own file system.",                                        \
      "results: {limit: 1GiB}")                                                \
    N("results.pattern",                                                       \
      "The last match in the stream counts; a carriage return ends a line as " \
      "a newline does. A match before what `log_limit` "                       \
      "left out is not known to be the last, and does not count unless "       \
      "another one comes after it. In YAML, single quotes leave "              \
      "backslashes as they are.",                                              \
      "results: {from: stderr, pattern: 'acc=(?<acc>\\d+)'}")                  \
    N("results.fields", "",                                                    \
      "results: {fields: {loss: {type: number, max: 2}}}")                     \
    N("results.equal", "",                                                     \
      "results: {fields: {sha: {type: string}}, equal: [sha]}")                \
    N("results.distinct", "",                                                  \
      "results: {fields: {shard: {type: integer}}, distinct: [shard]}")        \
    N("results.artifacts",                                                     \
      "Each must be a regular file, not a link to one, not empty, and "        \
      "different from the file that was there before the start. A file that "  \
      "was made and last changed before the start does not count wherever it " \
      "is now: moved, hard-linked, or with its folder. A copy counts, with its "\
      "old times too (`cp -p`, `tar x`, `rsync -a`). Two ranks cannot have "   \
      "one file. A path that is the same for all ranks belongs to the whole "  \
      "job: any rank may write that file, at any time. "                       \
      "If the nodes were started by hand, the node with rank 0 checks for it. "\
      "What is changed after the rank has ended does not count; a link to the "\
      "file, another mode, or a move away and back change nothing. A change "  \
      "is seen by the inode, the size, the time of the last change, and the "  \
      "bytes: all of them up to 1 MiB, of a longer file its first and last "   \
      "256 KiB and 128 samples of 4 KiB. So what is changed between those, "   \
      "with the time set back, is not seen. Where a file system does not know "\
      "when a file was made, a file that has several names and was last "      \
      "changed before the start does not count; and on that of a server, "     \
      "other than the one with the run folder, the clocks may differ by a "    \
      "minute.",                                                               \
      "results: {artifacts: [\"ckpt/%{rank}.bin\"]}")                          \
    N("results.fields.*.type", "",                                             \
      "results: {fields: {loss: {type: number}}}")                             \
    N("results.fields.*.min", "",                                              \
      "results: {fields: {accuracy: {type: number, min: 0.9}}}")               \
    N("results.fields.*.max", "",                                              \
      "results: {fields: {loss: {type: number, max: 2}}}")                     \
    N("results.fields.*.enum", "",                                             \
      "results: {fields: {mode: {type: string, enum: [warm, cold]}}}")         \
    N("results.fields.*.pattern", "",                                          \
      "results: {fields: {sha: {type: string, pattern: '^[0-9a-f]{40}$'}}}")   \
    N("results.fields.*.required", "",                                         \
      "results: {fields: {note: {type: string, required: false}}}")
/* clang-format on */

/* Notes and examples of the fields on time, signals and failure. */

/* clang-format off */
#define JR_NOTES_FAILURE(N)                                                    \
    N("timeouts", "", "timeouts: {run: 2h, stop_grace: 30s}")                  \
    N("stop_target", "", "stop_target: group")                                 \
    N("deadline",                                                              \
      "`before` the known end (`timeouts.run`, or the end of the allocation) " \
      "every rank gets `signal`, so that it can write a checkpoint and end. "  \
      "After it a rank has yielded if it ends with 0 without having "          \
      "delivered, with 75 (EX_TEMPFAIL), or by that signal where the job has " \
      "made a step; a job all of whose ranks delivered or yielded is to be "   \
      "continued, with status `yielded` and exit status 8. Any other end is "  \
      "a failure. Without `results` a 0 is a delivery. A scheduler that sends "\
      "jobrun USR1 or USR2, whichever `signal` is, starts it earlier.",        \
      "timeouts: {run: 4h}\n"                                                  \
      "results: {from: file}\n"                                                \
      "deadline: {before: 10m}")                                               \
    N("deadline.before", "It must be shorter than `timeouts.run`.",            \
      "results: {from: file}\n"                                                \
      "deadline: {before: 10m}")                                               \
    N("deadline.signal",                                                       \
      "Slurm sends TERM to all processes of a job that it preempts. Unless "   \
      "this is TERM, ranks begin with TERM ignored under Slurm, so that they " \
      "live to get the signal, and a shell script cannot trap TERM there.",    \
      "results: {from: file}\n"                                                \
      "deadline: {before: 10m, signal: TERM}")                                 \
    N("requeue",                                                               \
      "A job that is to be continued starts again as the next attempt of the " \
      "same run. Beyond `max` it ends with status `yielded` and exit status "  \
      "8. One that succeeded never starts again, and `progress.stall` ends "   \
      "one that gets no further. `requeue: 20` is short for `requeue: {max: "  \
      "20}`. Under Slurm the job goes back into the queue, and the next start "\
      "of it goes on with its run, NAME-JOBID. On Kubernetes a pod that ends " \
      "with 8 is started again.",                                              \
      "timeouts: {run: 4h}\n"                                                  \
      "results: {from: file}\n"                                                \
      "deadline: {before: 10m}\n"                                              \
      "requeue: {max: 20}")                                                    \
    N("requeue.on",                                                            \
      "`deadline`: the ranks stopped for `deadline`. `preempted`: the "        \
      "scheduler announced that it needs the nodes; the ranks get the signal " \
      "of `deadline`, or where there is none they are stopped. `lost_node`: "  \
      "a node is no longer heard from.",                                       \
      "requeue: {on: preempted, max: 20}")                                     \
    N("requeue.max", "Requeues in all, whatever their causes were.",           \
      "requeue: {max: 20}")                                                    \
    N("on_hang",                                                               \
      "jobrun gathers the evidence when `timeouts.silence` or "                \
      "`timeouts.after_first_exit` expires. It always writes a hang.json to "  \
      "each rank's folder: its processes and threads, what each of them waits "\
      "for, and the processor time that they use. `jobrun show RUN --stacks` " \
      "prints it, and shows the same for a running job.",                      \
      "on_hang: {signal: USR1, wait: 30s}")                                    \
    N("on_hang.signal",                                                        \
      "The signal is sent to the same processes as the stop signal, after the "\
      "command has run. Python entrypoints have PYTHONFAULTHANDLER=1 unless "  \
      "the spec sets it, so they answer ABRT with the stacks of all threads "  \
      "on standard error. Core files are written only if `limits.core` is "    \
      "stated.",                                                               \
      "on_hang: {signal: none}")                                               \
    N("on_hang.wait",                                                          \
      "After this time the run is stopped, even if some ranks have not "       \
      "answered. With 0 it is stopped at once.",                               \
      "on_hang: {wait: 30s}")                                                  \
    N("on_hang.command",                                                       \
      "The command runs without a shell, in the rank's environment, for at "   \
      "most eight ranks at a time. Its output goes to hang.txt in the rank's " \
      "folder. A debugger may need permission to look at a process that it "   \
      "did not start: see kernel.yama.ptrace_scope and CAP_SYS_PTRACE.",       \
      "on_hang: {command: [py-spy, dump, --pid, \"%{pid}\"]}")                 \
    N("signals",                                                               \
      "A signal that was ignored when jobrun started stays ignored, as HUP "   \
      "does under nohup. A second stop signal kills without the grace period. "\
      "TSTP and CONT suspend and resume the ranks unless they are named here.",\
      "signals: {USR1: forward, HUP: ignore}")                                 \
    N("on_end",                                                                \
      "The command runs without a shell, in the spec's folder, once "          \
      "results.json has been written: after a success, a failure, and a stop. "\
      "It has jobrun's own environment with four more variables: "             \
      "JOBRUN_RUN_ID, JOBRUN_RUN_DIR (the folder with results.json), "         \
      "JOBRUN_STATUS (such as succeeded or failed) and JOBRUN_EXIT_CODE. Its " \
      "output goes to on_end.log in that folder.\n\n"                          \
      "jobrun waits for it for at most 60 s. After that, or at a stop signal, "\
      "the command is killed. Processes that it leaves behind are killed, too. "\
      "If it fails, jobrun prints a warning, and its own exit status stays as "\
      "it is. If each node has a jobrun of its own, the command runs on each " \
      "node.",                                                                 \
      "on_end: [./notify.sh, --channel, training]")                            \
    N("on_failure",                                                            \
      "Ranks that are one MPI world (see `mpi`) are stopped under `continue` " \
      "too, if one fails between MPI_Init and MPI_Finalize: the others would " \
      "wait for it for ever.",                                                 \
      "on_failure: continue")                                                  \
    N("exit_barrier",                                                          \
      "A rank that has returned does not exit until all ranks of its node "    \
      "have returned or one has failed. So what other ranks still need from "  \
      "it, such as the store of rank 0, stays available.",                     \
      "entrypoint: {python: {module: pkg.train}}\n"                            \
      "exit_barrier: true")                                                    \
    N("restart",                                                               \
      "A number alone is `max`. "                                              \
      "All ranks of all nodes are stopped and started again, with new ports "  \
      "where jobrun chose them. Only the results of the last attempt count. "  \
      "`timeouts.run` applies to each attempt. A job is not started again if " \
      "jobrun was told to stop it or if jobrun itself failed, nor if each "    \
      "node has a jobrun of its own.",                                         \
      "restart: {max: 3, on: [oom, exit:75], never: \"stderr:/NaN/\"}")        \
    N("exit_status", "", "exit_status: rank")                                  \
    N("timeouts.start",                                                        \
      "It includes `setup` and the imports of the helper. If it expires, the " \
      "run ends with exit status 7.",                                          \
      "timeouts: {start: 2m}")                                                 \
    N("timeouts.run", "If it expires, the run ends with exit status 6.",       \
      "timeouts: {run: 2h}")                                                   \
    N("timeouts.silence",                                                      \
      "If no rank writes anything for this long, the run has hung: exit "      \
      "status 6. For files that ranks write themselves (`redirects`), jobrun " \
      "checks the file size four times within the limit. It cannot see "       \
      "inherited streams (`tee: none`), and then finds no hang. See "          \
      "`on_hang`.",                                                            \
      "timeouts: {silence: 10m}")                                              \
    N("timeouts.after_first_exit",                                             \
      "The time starts when the first rank has exited with 0. Ranks that "     \
      "still run then are reported like a hang: see `on_hang`. Exit status 6.",\
      "timeouts: {after_first_exit: 1m}")                                      \
    N("timeouts.progress",                                                     \
      "The time starts with the first step of an attempt. Each step beyond the "\
      "furthest one starts it anew. If it expires, the job has hung: see "     \
      "`on_hang`. Exit status 6.",                                             \
      "timeouts: {progress: 15m}")                                             \
    N("timeouts.first_step",                                                   \
      "It limits loading and compiling, which may take far longer than a "     \
      "step. With several ranks, each of them must make its first step. If it "\
      "expires, the job has hung: see `on_hang`. Exit status 6.",              \
      "timeouts: {first_step: 1h, progress: 15m}")                             \
    N("timeouts.exit",                                                         \
      "If threads or exit handlers keep a rank alive after it has returned, "  \
      "it is killed. Its result still counts, and the report warns about it.", \
      "timeouts: {exit: 5s}")                                                  \
    N("timeouts.stop_grace", "", "timeouts: {stop_grace: 5s}")                 \
    N("restart.max", "Ranks find the value in TORCHELASTIC_MAX_RESTARTS.",     \
      "restart: {max: 3}")                                                     \
    N("restart.backoff",                                                       \
      "It doubles with each restart that counts, up to five minutes, or up to "\
      "its own value if that is larger.",                                      \
      "restart: {max: 5, backoff: 10s}")                                       \
    N("restart.window",                                                        \
      "This lets a job that runs for weeks restart now and then.",             \
      "restart: {max: 3, window: 1h}")                                         \
    N("restart.on",                                                            \
      "`stderr` means the standard error of the first rank that failed. If "   \
      "several ranks failed together, one match is enough.",                   \
      "restart: {max: 3, on: [exit:75, signal:SEGV, \"stderr:/NCCL/\"]}")      \
    N("restart.never", "It takes precedence over `on`.",                       \
      "restart: {max: 3, never: [exit:2, start]}")
/* clang-format on */

/* clang-format off */

/* S(first, title, text): a section goes from field `first` of the top to that of the next row. */
#define JR_FIELD_SECTIONS(S)                                                   \
    S("version", "The job", "")                                                \
    S("extends", "Building on other specs",                                    \
      "A spec is put together in this order: the specs that it extends, the "  \
      "spec itself, `--set`, and then the references `${...}` in its values:\n\n"\
      "  ${vars.lr}             any value of the spec, by its dotted path\n"   \
      "  ${env:NAME}            an environment variable\n"                     \
      "  ${env:NAME:-default}   the variable if it is set, else the default\n" \
      "  $${                    a literal ${\n\n"                              \
      "After substitution, an unquoted value gets the type that it then has; " \
      "a quoted value stays a string. Keys are never changed. In `shell` and "\
      "`setup`, `${vars.lr}` becomes a variable of the shell, and any other "  \
      "`$` is left to it.")                                                    \
    S("entrypoint", "What every rank runs",                                    \
      "An entrypoint has one of the forms below. Each form may have `args`.")  \
    S("env", "The environment of the ranks",                                   \
      "The environment of a rank starts from jobrun's own, without the "       \
      "variables that other launchers and MPI left in it. Then `setup`, "      \
      "`env_remove`, the profiles, `env` and `per_rank` are applied, in that " \
      "order. RANK, WORLD_SIZE, MASTER_ADDR and the other variables that "     \
      "jobrun sets for every rank cannot be set here. PYTHONPATH ends with "   \
      "jobrun's own folder, behind whatever you set, so that `import jobrun` " \
      "works in every rank; `env: {PYTHONPATH: null}` leaves it out.")         \
    S("world_size", "How many ranks, and where",                               \
      "Any two of `world_size`, `nodes` and `local_world_size` determine the " \
      "third. Values that are left out are filled in from the scheduler and "  \
      "the hardware. Values that contradict each other are an error; jobrun "  \
      "never picks one of them.")                                              \
    S("device", "Devices and CPUs", "")                                        \
    S("parallelism", "The mesh",                                               \
      "Ranks are laid out [data][pipeline][model], model fastest, and "        \
      "`world_size` is data x pipeline x model. `jobrun plan` shows the "      \
      "groups.")                                                               \
    S("start_method", "How ranks start", "")                                   \
    S("redirects", "Output",                                                   \
      "`redirects` sends a stream to the rank's file only; `tee` sends it to " \
      "the file and to the console. A stream that neither of them names is "   \
      "inherited. Both take `none` (0), `out` (1), `err` (2) or `all` (3): as "\
      "one value for all ranks, as a string of rules, or as a mapping. The "   \
      "keys are local ranks, ranges `4-7`, or strides `4-10/2`:\n\n"           \
      "  redirects: all\n"                                                     \
      "  redirects: \"0:3,1:0\"\n"                                             \
      "  redirects: {0: all, 1-3: err}\n\n"                                    \
      "A rank that is not listed is `none`. The files hold exactly the bytes " \
      "that the rank wrote. On the console, lines are never torn or mixed.\n\n"\
      "A console that nobody reads (a paused terminal, or a pipe whose reader "\
      "has stopped) does not block ranks whose streams are kept in a "         \
      "file: the console catches up from that file once it is read again, "    \
      "with the same lines in the same order within each stream, a piece of "  \
      "each stream in turn. The verdict "                                      \
      "and the record do not wait for the console, and neither do `jobrun "    \
      "wait`, `show` and `stop`. jobrun prints the remaining lines first and " \
      "then the last lines of the report. A signal or `jobrun stop` ends "     \
      "this; the exit status is still that of the run, and `jobrun logs` "     \
      "prints all lines. If the run itself was stopped by a signal, jobrun "   \
      "waits for a blocked console one second, and ten seconds in total. If a "\
      "stream has no file, or its file can no longer be written (a full "      \
      "disk), the console has the only copy: jobrun then shows what the file " \
      "has and everything after it, and the rank waits in its next write "     \
      "until the console is read. Once the run is being stopped, up to 1 MiB " \
      "more of each such stream is taken without waiting, and is shown after " \
      "the run. A line on the console says how much is missing because of "    \
      "`log_limit`. Output of `setup` beyond 1 MiB "                           \
      "that nobody reads is in setup.log only. jobrun does not handle "        \
      "inherited streams: there the rank writes to the console itself, and "   \
      "waits for it.")                                                         \
    S("results", "Results",                                                    \
      "A job succeeds only if every rank that must deliver a result did. A "   \
      "rank that exits with 0 but without a valid result fails the job with "  \
      "exit status 5, and the report names the rank and the reason: missing, " \
      "empty, not JSON, a wrong field, unequal or stale.")                     \
    S("mpi", "MPI", "")                                                        \
    S("isolation", "Time, signals and failure", "")                            \
    S("engine", "Engines", "")

/* N(path, note, example); one for each field. An example is a piece of a spec that is good in
 * itself except for `version` and `entrypoint`. */
#define JR_FIELD_NOTES(N)                                                      \
    JR_NOTES_JOB(N)                                                            \
    JR_NOTES_RANKS(N)                                                          \
    JR_NOTES_PLACEMENT(N)                                                      \
    JR_NOTES_OUTPUT(N)                                                         \
    JR_NOTES_FAILURE(N)
/* clang-format on */

enum { FACT_COLUMN = 14, LIST_COLUMN = 23 };

const struct jr_field_section *jr_field_sections(size_t *ret_count)
{
#define SECTION(first, title, text) {first, title, text},
    static const struct jr_field_section sections[] = {JR_FIELD_SECTIONS(SECTION)};
    *ret_count = sizeof sections / sizeof *sections;
    return sections;
}

const struct jr_field_section *jr_field_section_at(const struct jr_spec_field *field)
{
    size_t count;
    const struct jr_field_section *sections = jr_field_sections(&count);
    for (size_t i = 0; i < count; i++)
        if (jr_field_get(jr_field_root()->fields, sections[i].first) == field)
            return &sections[i];
    return NULL;
}

void jr_field_path(struct jr_buf *out, const struct jr_spec_field *field)
{
    size_t count;
    const struct jr_spec_group *groups = jr_field_groups(&count);
    for (size_t i = 0; i < count; i++) {
        if (jr_field_get(groups[i].fields, field->key) != field)
            continue;
        const char *dot = groups[i].path[0] == '\0' ? "" : ".";
        jr_buf_printf(out, "%s%s%s", groups[i].path, dot, field->key);
        return;
    }
}

const char **jr_field_paths(struct jr_arena *arena)
{
    const char **paths = NULL;
    size_t used = 0, count;
    const struct jr_spec_group *groups = jr_field_groups(&count);
    for (size_t i = 0; i < count; i++) {
        const struct jr_spec_field *row = groups[i].fields;
        for (; row->key != NULL && !arena->failed; row++) {
            char *path =
                jr_arena_printf(arena, "%s%s%s", groups[i].path, i == 0 ? "" : ".", row->key);
            const char **slot = jr_arena_push(arena, &paths, &used, sizeof *paths);
            if (slot != NULL)
                *slot = path;
        }
    }
    (void)jr_arena_push(arena, &paths, &used, sizeof *paths);
    return arena->failed ? NULL : paths;
}

const struct jr_field_note *jr_field_note(const struct jr_spec_field *field)
{
#define NOTE(path, text, example) {path, text, example},
    static const struct jr_field_note notes[] = {JR_FIELD_NOTES(NOTE)};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (jr_field_find(notes[i].path) == field)
            return &notes[i];
    return NULL;
}

const struct jr_spec_field *jr_field_below(const struct jr_spec_type *type)
{
    return type->kind == JR_KIND_NAMES ? type->item->fields : type->fields;
}

const struct jr_spec_word *jr_field_words(const struct jr_spec_type *type)
{
    return type->words == NULL && type->item != NULL ? type->item->words : type->words;
}

static void describe_accepted(const struct jr_spec_type *type, jr_field_tell *tell, void *context)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_field_wants(&text, type);
    if (type->is_template || (type->item != NULL && type->item->is_template))
        jr_buf_str(&text, "; per-rank templates such as %{rank} are replaced");
    if (!text.failed)
        tell(context, "accepts", text.data);
}

static void describe_missing(const struct jr_spec_field *field, jr_field_tell *tell, void *context)
{
    bool same = field->fallback != NULL && strcmp(field->fallback, field->missing) == 0;
    if (field->fallback != NULL && field->type->kind != JR_KIND_LIST)
        tell(context, "default", field->fallback);
    if (field->need == JR_NEED_RESOLVED) {
        JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
        jr_buf_printf(&text, "(absent, null, auto or %s) %s", "???", field->missing);
        if (!text.failed)
            tell(context, "MISSING", text.data);
    } else if (!same || field->type->kind == JR_KIND_LIST) {
        tell(context, "without it", field->missing);
    }
}

static void describe_since(const struct jr_spec_field *field, jr_field_tell *tell, void *context)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    jr_buf_printf(&text, "jobrun %s", field->since);
    if (!text.failed)
        tell(context, "since", text.data);
}

void jr_field_facts(const struct jr_spec_field *field, jr_field_tell *tell, void *context)
{
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
    JR_BUF_CLEANUP struct jr_buf others = JR_BUF_INIT;
    jr_field_path(&path, field);
    describe_accepted(field->type, tell, context);
    if (field->unit != NULL && field->type->kind != JR_KIND_DURATION)
        tell(context, "unit", field->unit);
    describe_missing(field, tell, context);
    if (!path.failed)
        jr_foreign_names(&others, path.data);
    if (others.len > 0)
        tell(context, "elsewhere", others.data);
    describe_since(field, tell, context);
}

/* One row of a list: a word, and at the column what it is. */
static void print_row(struct jr_buf *out, size_t indent, size_t column, const char *word,
                      const char *text)
{
    size_t width = indent + strlen(word);
    jr_buf_fill(out, ' ', indent);
    jr_buf_str(out, word);
    jr_buf_fill(out, ' ', width < column ? column - width : 1);
    jr_buf_wrapped(out, text, column);
    jr_buf_char(out, '\n');
}

static void print_fact(void *context, const char *label, const char *text)
{
    print_row(context, 2, FACT_COLUMN, label, text);
}

/* Append the lines of a text, each after two blanks. */
static void print_example(struct jr_buf *out, const char *text)
{
    jr_buf_str(out, "\nexample:\n");
    for (const char *line = text; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        jr_buf_printf(out, "  %.*s\n", (int)len, line);
        line += len + (line[len] == '\n');
    }
}

/* Rows of a mapping and, indented further, those of the mappings in it. */
static void print_rows_below(struct jr_buf *out, const struct jr_spec_field *rows, size_t indent)
{
    for (const struct jr_spec_field *row = rows; row->key != NULL; row++) {
        const struct jr_field_section *section = jr_field_section_at(row);
        const struct jr_spec_field *below = jr_field_below(row->type);
        if (section != NULL)
            jr_buf_printf(out, "\n%s\n", section->title);
        print_row(out, indent, LIST_COLUMN, row->key, row->help);
        if (below != NULL)
            print_rows_below(out, below, indent + 2);
    }
}

void jr_field_explain(struct jr_buf *out, const struct jr_spec_field *field)
{
    const struct jr_field_note *note = jr_field_note(field);
    const struct jr_spec_field *below = jr_field_below(field->type);
    const struct jr_spec_word *words = jr_field_words(field->type);
    jr_field_path(out, field);
    jr_buf_printf(out, ": %s\n\n", field->help);
    jr_field_facts(field, print_fact, out);
    if (note != NULL && note->text[0] != '\0') {
        jr_buf_char(out, '\n');
        jr_buf_wrapped(out, note->text, 0);
        jr_buf_char(out, '\n');
    }
    if (words != NULL)
        jr_buf_str(out, "\nwords:\n");
    for (; words != NULL && words->word != NULL; words++)
        print_row(out, 2, LIST_COLUMN, words->word, words->help);
    if (below != NULL) {
        jr_buf_str(out, "\nfields:\n");
        print_rows_below(out, below, 2);
    }
    if (note != NULL)
        print_example(out, note->example);
}

void jr_field_list(struct jr_buf *out)
{
    jr_buf_str(out, "The fields of a spec:\n");
    print_rows_below(out, jr_field_root()->fields, 2);
}
