/*
 * What the manual says about fields beyond their rows in fields.h: the sections
 * that they are told in, and for each field a note and an example.
 *
 * Texts are plain: `backticks` around what is typed, a blank line between
 * paragraphs, and lines that begin with two blanks as they are.
 */
#ifndef JR_NOTES_H
#define JR_NOTES_H

/* clang-format off */

/* S(first, title, text): a section goes from field `first` of the top to that
 * of the next row. */
#define JR_FIELD_SECTIONS(S)                                                   \
    S("version", "The job", "")                                                \
    S("extends", "Building on other specs",                                    \
      "A spec is put together in this order: the specs that it extends, what " \
      "it says itself, `--set`, and then what `${...}` puts into values:\n"    \
      "\n"                                                                     \
      "  ${vars.lr}             any value of the spec, by its dotted path\n"   \
      "  ${env:NAME}            a variable of the environment\n"               \
      "  ${env:NAME:-default}   the same where it is set, else the default\n"  \
      "  $${                    a literal ${\n"                                \
      "\n"                                                                     \
      "A value without quotes is typed by what it becomes, one in quotes "     \
      "stays a string. Keys are never changed, nor is `shell`, whose dollars " \
      "are the shell's.")                                                      \
    S("entrypoint", "What every rank runs",                                    \
      "An entrypoint has one of its forms. `args` stand beside the form.")     \
    S("env", "The environment of the ranks",                                   \
      "A rank's environment is that of jobrun, less what other launchers and " \
      "MPI left in it, then `setup`, `env_remove`, the profiles, `env` and "   \
      "`per_rank`, in that order. RANK, WORLD_SIZE, MASTER_ADDR and the rest " \
      "of what jobrun promises to every rank cannot be set here.")             \
    S("world_size", "How many ranks, and where",                               \
      "Any two of `world_size`, `nodes` and `local_world_size` give the "      \
      "third; what is left open is filled from the scheduler and the "         \
      "hardware. Statements that contradict each other are an error; none is " \
      "ever picked.")                                                          \
    S("device", "Devices and CPUs", "")                                        \
    S("parallelism", "The mesh",                                               \
      "Ranks are laid out [data][pipeline][model], model fastest, and "        \
      "`world_size` is data x pipeline x model. `jobrun plan` shows the "      \
      "groups.")                                                               \
    S("start_method", "How ranks start", "")                                   \
    S("redirects", "Output",                                                   \
      "`redirects` sends a stream to the rank's file only, `tee` to the file " \
      "and the console; a stream that neither names is inherited. Both take "  \
      "`none` (0), `out` (1), `err` (2) or `all` (3): as one value for all "   \
      "ranks, as a string of rules, or as a mapping; the keys are local "      \
      "ranks, ranges `4-7`, or strides `4-10/2`:\n"                            \
      "\n"                                                                     \
      "  redirects: all\n"                                                     \
      "  redirects: \"0:3,1:0\"\n"                                             \
      "  redirects: {0: all, 1-3: err}\n"                                      \
      "\n"                                                                     \
      "A rank that is not listed is `none`. The files hold exactly the bytes " \
      "that the rank wrote; on the console lines are never torn or mixed.\n"   \
      "\n"                                                                     \
      "A console that is not read (a paused terminal, a pipe that nobody "     \
      "empties) holds no rank. Where a stream is kept in a file, the console " \
      "falls behind and goes on from the file once it is read again: the "     \
      "same lines, looking the same, in order within each stream. The "        \
      "verdict and the record do not wait for that, nor do `jobrun wait`, "    \
      "`show` and `stop`: what is left is shown after them, and then the "     \
      "last lines of the report. A signal ends the showing, and `jobrun stop` "\
      "does; the exit status stays that of the run, and `jobrun logs` has the "\
      "lines. A run that was itself stopped by a signal gives its console a "  \
      "second in which it takes nothing, and ten in all. A line tells what "   \
      "`log_limit` left out meanwhile, and what a file could not take. What "  \
      "`setup` prints beyond a MiB that nobody reads is in setup.log only. A " \
      "stream that is inherited is not jobrun's: the rank writes to the "      \
      "console itself, and waits for it.")                                     \
    S("results", "Results",                                                    \
      "A job succeeds only if every rank that must deliver did. A rank that "  \
      "ends with 0 without its result fails the job with exit status 5, and "  \
      "is named with the reason: missing, empty, not JSON, field, unequal or " \
      "stale.")                                                                \
    S("isolation", "Time, signals and failure", "")                            \
    S("engine", "Engines", "")

/* N(path, note, example); one for each field. An example is a piece of a spec
 * that is good in itself but for `version` and `entrypoint`. */
#define JR_FIELD_NOTES(N)                                                      \
    N("version", "", "version: 1")                                             \
    N("name", "", "name: digits")                                              \
    N("description", "", "description: the nightly run on real data")          \
    N("labels", "Labels do not count for the fingerprint of a run.",           \
      "labels: {team: vision, ticket: 1234}")                                  \
    N("extends",                                                               \
      "Maps merge deep, lists and scalars replace, later parents over earlier "\
      "ones, and null removes what a parent said (in `env` it unsets the "     \
      "variable). A short form replaces whole: `backends: gloo`, or a list as "\
      "`entrypoint`; so does an entrypoint of another form. Paths are "        \
      "relative to the file that states them, and parents are read below "     \
      "`--root` only: by default the top of the checkout, else the spec's own "\
      "folder.",                                                               \
      "extends: base.jobrun.yaml")                                             \
    N("template",                                                              \
      "A template need not state what is required, and cannot be run. Specs "  \
      "that extend it are no templates for that.",                             \
      "template: true")                                                        \
    N("vars",                                                                  \
      "They are read as `${vars.lr}`. `jobrun train.yaml --set vars.lr=0.2` "  \
      "gives another value, and `???` demands one.",                           \
      "vars: {lr: 0.1, epochs: 5}")                                            \
    N("targets", "The words are those of `--on`.",                             \
      "targets: [\"1x8:H100\", \"4x0,32c\"]")                                  \
    N("entrypoint", "", "entrypoint: [./train, --epochs, 5]")                  \
    N("workdir",                                                               \
      "It has to be there; `%{rank_dir}`, the rank's own folder, always is.",  \
      "workdir: ../data")                                                      \
    N("setup",                                                                 \
      "What it exports is the base of the ranks' environment: modules, "       \
      "conda, a virtual environment. /bin/sh runs it, in the working "         \
      "directory of the first rank; what it prints is on the console and in "  \
      "setup.log. If its last command fails (or any, after `set -e`), no "     \
      "rank starts. It has to come to its end: no `exit`, no `exec`.",         \
      "setup: . venv/bin/activate")                                            \
    N("env",                                                                   \
      "Values are text as it is written: `SEED: 7` needs no quotes. What "     \
      "launchers leave to the processes that they start does not reach ranks " \
      "by itself: PMI_*, PMIX_*, OMPI_*, PRTE_* and TORCHELASTIC_*. So "       \
      "settings of Open MPI, which are OMPI_MCA_*, have to be stated here.",   \
      "env: {SEED: 7, OUT: \"out/%{rank}\", DATA_ROOT: \"???\", DEBUG: null}") \
    N("env_remove",                                                            \
      "A job that is started in a rank of another one inherits what that "     \
      "one's profiles say of the rank, as PADDLE_* and MPI_LOCAL*, unless its "\
      "own profiles say it anew.",                                             \
      "env_remove: [PYTHONPATH, \"NCCL_*\"]")                                  \
    N("env_profiles",                                                          \
      "A path names a profile of your own: a file with `env` and "             \
      "`env_remove`, of the form that they have here. It is relative to the "  \
      "file that states it, and below `--root`. Its variables come after "     \
      "those of the words, whatever the order, later files over earlier "      \
      "ones, and the spec's own `env` over them all. `paddle` gives every "    \
      "rank a port of its own; under it `xpu` is Kunlun's. Under `mpi` "       \
      "MPI_Init still sees a world of one: no process manager is there.",      \
      "env_profiles: [torch, ./ours.yaml]")                                    \
    N("per_rank",                                                              \
      "No two sets may have a rank in common.",                                \
      "per_rank: {0: {args: [--verbose], env: {DEBUG: 1}}}")                   \
    N("per_rank.*.args", "", "per_rank: {0-3: {args: [--role, chief]}}")       \
    N("per_rank.*.kwargs", "",                                                 \
      "entrypoint: {python: {function: \"pkg.train:main\"}}\n"                 \
      "per_rank: {0: {kwargs: {verbose: true}}}")                              \
    N("per_rank.*.env", "", "per_rank: {1-7/2: {env: {LOG: none}}}")           \
    N("secrets",                                                               \
      "The values of these variables, of jobrun's environment and of `env`, "  \
      "are written as `${env:NAME}` or `<redacted>` wherever jobrun writes; "  \
      "logs, and what ranks deliver into their own files, stay as they are. "  \
      "Elsewhere than in the variable itself only what has 8 bytes or more "   \
      "and is no number, boolean or path is replaced. Results are judged, and "\
      "returned to Python, as they are.",                                                        \
      "secrets: [\"*TOKEN*\", \"WANDB_*\"]")                                   \
    N("world_size", "", "world_size: 8")                                       \
    N("local_world_size",                                                      \
      "A list says that nodes differ: its length is `nodes`, its sum "         \
      "`world_size`, its order that of `hosts`.",                              \
      "local_world_size: [8, 8, 4]")                                           \
    N("nodes", "", "nodes: 2")                                                 \
    N("node_rank",                                                             \
      "It differs from machine to machine, so it is usually given on the "     \
      "command line, as `--node-rank 1 --run-id exp1`.",                       \
      "nodes: 2\nnode_rank: 0")                                                \
    N("rank_start", "", "nodes: 2\nworld_size: 16\nrank_start: 8")             \
    N("hosts", "", "hosts: [gpu01, gpu02]")                                    \
    N("master_addr", "", "master_addr: gpu01.cluster")                         \
    N("master_port",                                                           \
      "A port is leased for the time of the run, so two jobs on one machine "  \
      "never get the same one. A port that the spec states is never moved: "   \
      "if it is taken, the job is refused.",                                   \
      "master_port: 29500")                                                    \
    N("init_method", "", "init_method: \"tcp://gpu01:29501\"")                 \
    N("device", "", "device: cuda")                                            \
    N("devices",                                                               \
      "Indices are absolute. Each must be visible in the environment that "    \
      "jobrun was started in; an empty visibility variable means none.",       \
      "devices: [0, 1, 4, 5]")                                                 \
    N("device_visibility",                                                     \
      "Under `one`, LOCAL_RANK is no device index: the rank's device is 0.",   \
      "device_visibility: one")                                                \
    N("oversubscribe",                                                         \
      "Local rank i gets device i modulo the number of devices.",              \
      "oversubscribe: true")                                                   \
    N("bind",                                                                  \
      "Ranks get contiguous shares of the physical cores that jobrun may use, "\
      "in the order of their NUMA nodes. Memory follows: Linux takes it from " \
      "the node of the CPU that touches it first.",                            \
      "bind: numa")                                                            \
    N("threads",                                                               \
      "It is capped by the CPU quota, and at least 1.", "threads: 4")          \
    N("parallelism", "",                                                       \
      "world_size: 8\nparallelism: {model: 2, pipeline: 2, data: auto}")       \
    N("backends", "A backend that cannot drive `device` is an error.",         \
      "backends: {default: nccl, data: gloo}")                                 \
    N("start_method",                                                          \
      "A command or a shell starts anew: only `spawn` goes with them. A "      \
      "forkserver is one clean process per node that has imported `preload` "  \
      "(or loaded the library), and every rank is a fork of it; under `fork` " \
      "it has imported the entry module, too. What a rank's own environment "  \
      "says of LD_*, OMP_* and PYTHON* then comes too late.",                  \
      "entrypoint: {python: {module: pkg.train}}\n"                            \
      "start_method: forkserver")                                              \
    N("preload", "",                                                           \
      "entrypoint: {python: {module: pkg.train}}\n"                            \
      "start_method: forkserver\n"                                             \
      "preload: [numpy, torch]")                                               \
    N("fork_threads",                                                          \
      "A fork has one thread only: a rank that waits for another one of the "  \
      "helper hangs, and one that has not reached its function after 30 s "    \
      "fails. Pools of OpenBLAS, MKL, OpenMP and torch are none: they have "   \
      "one thread while the helper imports, and each rank sets their size "    \
      "by `threads`.",                                                         \
      "entrypoint: {python: {module: pkg.train}}\n"                            \
      "start_method: forkserver\n"                                             \
      "preload: [grpc]\n"                                                      \
      "fork_threads: refuse")                                                  \
    N("redirects", "", "redirects: {0: none, 1-7: all}")                       \
    N("tee", "A stream that both name is teed.", "tee: \"0:all,1-7:err\"")     \
    N("console", "",                                                           \
      "console: {prefix: \"%{rank}| \", ranks: 0-3, timestamps: true}")        \
    N("log_dir", "", "log_dir: /scratch/runs")                                 \
    N("log_mode", "", "log_mode: group")                                       \
    N("log_limit",                                                             \
      "The first MiB of the stream, or half of the limit, and its end are "    \
      "kept; a line of the file tells how many bytes are left out between "    \
      "them, and so do the report and results.json. What is redirected to a "  \
      "file goes through jobrun then. While a stream outgrows its limit, "     \
      "half as much again is on the disk, as FILE.next. One that is still "    \
      "there when both of jobrun's processes were killed at once holds "       \
      "nothing that FILE has not.",                                            \
      "log_limit: 64MiB")                                                      \
    N("results", "",                                                           \
      "results:\n"                                                             \
      "  fields:\n"                                                            \
      "    accuracy: {type: number, min: 0.9}\n"                               \
      "    weights_sha: {type: string}\n"                                      \
      "  equal: [weights_sha]")                                                \
    N("isolation",                                                             \
      "Under `pid` every process of the run ends with jobrun, even when all "  \
      "of jobrun is killed at once. The ranks see only themselves, in a /proc "\
      "of their own; the report keeps the machine's pids. It takes root, or a "\
      "kernel that lets users make namespaces: then the ranks are in a user "  \
      "namespace, too, in which nothing like sudo works.",                     \
      "isolation: pid")                                                        \
    N("timeouts", "", "timeouts: {run: 2h, stop_grace: 30s}")                  \
    N("stop_target", "", "stop_target: group")                                 \
    N("on_hang",                                                               \
      "It is gathered when `timeouts.silence` or `timeouts.after_first_exit` " \
      "has passed. In any case each rank's folder gets a hang.json: its "      \
      "processes and threads, what each waits for, and the processor time "    \
      "that they take. `jobrun show RUN --stacks` prints it, and the same of " \
      "a run that goes on.",                                                   \
      "on_hang: {signal: USR1, wait: 30s}")                                    \
    N("on_hang.signal",                                                        \
      "It is sent as the stop signal would be, after the command. Python "     \
      "entrypoints, whose ranks have PYTHONFAULTHANDLER=1 unless it is set "   \
      "otherwise, answer ABRT with the stacks of all threads on standard "     \
      "error. No core is dumped, unless `limits.core` is stated.",             \
      "on_hang: {signal: none}")                                               \
    N("on_hang.wait",                                                          \
      "Then the run is stopped, whoever has not answered yet. 0 stops it at "  \
      "once.",                                                                 \
      "on_hang: {wait: 30s}")                                                  \
    N("on_hang.command",                                                       \
      "No shell, the rank's environment, eight at a time; the output goes to " \
      "hang.txt in the rank's folder. Debuggers may need leave to look at a "  \
      "process that they did not start: kernel.yama.ptrace_scope, or "         \
      "CAP_SYS_PTRACE.",                                                       \
      "on_hang: {command: [py-spy, dump, --pid, \"%{pid}\"]}")                 \
    N("signals",                                                               \
      "What was ignored when jobrun began stays ignored, as HUP is under "     \
      "nohup. A second signal that stops does not wait for the grace. TSTP "   \
      "and CONT suspend and resume the ranks unless they are named here.",     \
      "signals: {USR1: forward, HUP: ignore}")                                 \
    N("on_failure", "", "on_failure: continue")                                \
    N("exit_barrier",                                                          \
      "A rank that has returned waits before it exits until all ranks of\n"    \
      "its node have, or until one has failed: what others still want from\n" \
      "it, as the store of rank 0, stays there.",                              \
      "entrypoint: {python: {module: pkg.train}}\n"                            \
      "exit_barrier: true")                                                    \
    N("restart",                                                               \
      "All ranks of all nodes stop and start again, with new ports where "     \
      "jobrun chose them, and only the last attempt's results count. "         \
      "`timeouts.run` is for each attempt. What jobrun was told to stop, or "  \
      "failed at itself, does not start again; nor do nodes that each have a "  \
      "jobrun of their own.",                               \
      "restart: {max: 3, on: [oom, exit:75], never: \"stderr:/NaN/\"}")         \
    N("limits",                                                                \
      "What is stated is the soft limit. The hard one is raised where it is "  \
      "less, where jobrun may do that.",                                       \
      "limits: {nofile: 65536, core: 0}")                                      \
    N("limits.nofile", "", "limits: {nofile: 65536}")                          \
    N("limits.core", "", "limits: {core: unlimited}")                          \
    N("limits.memlock", "", "limits: {memlock: unlimited}")                    \
    N("limits.stack", "", "limits: {stack: 64MiB}")                            \
    N("limits.as", "", "limits: {as: 16GiB}")                                  \
    N("limits.nproc", "", "limits: {nproc: 4096}")                             \
    N("exit_status", "", "exit_status: rank")                                  \
    N("engine",                                                                \
      "Only `render` and `submit` read it; a run does not.",                   \
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
      "The spec's `workdir` and its program are paths in the image.",          \
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
      "Values that `secrets` matches are not written into the config map: "    \
      "they come from here.",                                                  \
      "engine: {kubernetes: {image: train, secret: tokens}}")                  \
    N("engine.kubernetes.claim",                                               \
      "State a `log_dir` below `mount` to keep the runs.",                     \
      "log_dir: /data/runs\nengine: {kubernetes: {image: train, claim: "       \
      "shared}}")                                                              \
    N("engine.kubernetes.mount", "",                                           \
      "engine: {kubernetes: {image: train, claim: shared, mount: /mnt}}")      \
    N("engine.kubernetes.shm",                                                 \
      "It counts as memory of the pod. Data loaders and NCCL want more than"   \
      " the default.",                                                         \
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
    N("entrypoint.command", "", "entrypoint: {command: [./train, -v]}")        \
    N("entrypoint.shell",                                                      \
      "Its dollars are the shell's: `${...}` is not read by jobrun.",          \
      "entrypoint: {shell: ./prep.sh && ./train}")                             \
    N("entrypoint.python",                                                     \
      "It has one of `script`, `module` and `function`. A function is called " \
      "with `args` and `kwargs`, and what it returns is the rank's result. "   \
      "`import jobrun` works in all three: it knows the rank and its groups.", \
      "entrypoint: {python: {function: \"pkg.train:main\"}}")                  \
    N("entrypoint.library",                                                    \
      "It is called as `int f(const struct jr_rank *, struct jr_result *)`: "  \
      "see jobrun/rank.h.",                                                    \
      "entrypoint: {library: {path: ./libstep.so, symbol: step_main}}")        \
    N("entrypoint.args",                                                       \
      "They are text as it is written, but for a function's: those are "       \
      "values of any type that JSON has, as `kwargs` are.",                    \
      "entrypoint: {command: [./train], args: [--shard, \"%{data_rank}\"]}")   \
    N("entrypoint.kwargs",                                                     \
      "Values are of any type that JSON has; null is None. Strings may hold "  \
      "%{rank} and its like, and stay strings. `???` demands a value from "    \
      "outside: `--set entrypoint.kwargs.lr=0.2`.",                            \
      "entrypoint: {python: {function: \"pkg:main\"}, kwargs: {lr: 0.1}}")     \
    N("entrypoint.python.script",                                              \
      "It runs in `workdir`, which is another matter.",                        \
      "entrypoint: {python: {script: train.py}, args: [--epochs, 5]}")         \
    N("entrypoint.python.module", "",                                          \
      "entrypoint: {python: {module: pkg.train}}")                             \
    N("entrypoint.python.function",                                            \
      "The module is looked for in `workdir` first.",                          \
      "entrypoint: {python: {function: \"pkg.train:main\"}}")                  \
    N("entrypoint.python.interpreter",                                         \
      "A word is looked up in the PATH that the ranks have; a path is "        \
      "relative to the spec's folder. That of a virtual environment brings "   \
      "its packages.",                                                         \
      "entrypoint: {python: {script: a.py, interpreter: .venv/bin/python}}")   \
    N("entrypoint.python.setup", "It is called without arguments.",            \
      "entrypoint: {python: {function: \"pkg:main\", setup: \"pkg:prepare\"}}")\
    N("entrypoint.python.init",                                                \
      "`torch` initialises the process group from `init_method` and "          \
      "`backends`, selects the device, and builds one process group per axis " \
      "of the mesh: `jobrun.group(\"model\")`.",                               \
      "entrypoint: {python: {function: \"pkg:main\", init: torch}}")           \
    N("entrypoint.python.smoke_test", "It wants an `init`.",                   \
      "entrypoint: {python: {function: \"m:f\", init: torch, smoke_test: true}}")\
    N("entrypoint.library.path", "",                                           \
      "entrypoint: {library: {path: build/libstep.so, symbol: step}}")         \
    N("entrypoint.library.symbol", "",                                         \
      "entrypoint: {library: {path: ./libstep.so, symbol: step_main}}")        \
    N("parallelism.model", "", "parallelism: {model: 2}")                      \
    N("parallelism.pipeline", "", "parallelism: {pipeline: 2}")                \
    N("parallelism.data", "", "parallelism: {data: 4}")                        \
    N("backends.default", "", "backends: {default: gloo}")                     \
    N("backends.model", "", "backends: {model: nccl}")                         \
    N("backends.pipeline", "", "backends: {pipeline: nccl}")                   \
    N("backends.data", "", "backends: {data: gloo}")                           \
    N("console.prefix", "", "console: {prefix: \"%{node_rank}/%{rank}: \"}")   \
    N("console.ranks", "", "console: {ranks: \"0,8\"}")                        \
    N("console.timestamps", "", "console: {timestamps: true}")                 \
    N("console.collapse",                                                      \
      "A line that ranks 0 to 7 write alike is shown once, after a tenth of "  \
      "a second at most, as `[0-7] ...`: the ranks stand where the prefix "    \
      "has %{rank}. Each rank's lines keep their order. What is folded is "    \
      "still whole in the files.",                                             \
      "console: {collapse: true}")                                             \
    N("console.partial", "", "console: {partial: 1s}")                         \
    N("console.show",                                                          \
      "PCRE2 that must match somewhere in the line, without the prefix; a "    \
      "line is shown once it is whole. What is not shown is still whole in "   \
      "the files. A line that takes too many steps does not match; after a "   \
      "hundred of those all lines are shown.",                                 \
      "console: {show: '^(epoch|step) '}")                                     \
    N("console.hide",                                                          \
      "As `show`; a line that both match is not shown.",                       \
      "console: {hide: 'FutureWarning'}")                                      \
    N("timeouts.start",                                                        \
      "It bounds `setup` and the helper's imports too. A run that is late\n"   \
      "ends with exit status 7.",                                              \
      "timeouts: {start: 2m}")                                                 \
    N("timeouts.run", "A run that times out ends with exit status 6.",         \
      "timeouts: {run: 2h}")                                                   \
    N("timeouts.silence",                                                      \
      "A run in which no rank writes for so long hangs: exit status 6. Files " \
      "that ranks write by themselves (`redirects`) are looked at by their "   \
      "size, four times within the limit. Streams that ranks inherit "         \
      "(`tee: none`) cannot be seen, and then no hang is found. See "          \
      "`on_hang`.",                                                            \
      "timeouts: {silence: 10m}")                                              \
    N("timeouts.after_first_exit",                                             \
      "It begins when the first rank has ended with 0. Ranks that run on "     \
      "longer are told as a hang is: see `on_hang`. Exit status 6.",           \
      "timeouts: {after_first_exit: 1m}")                                      \
    N("timeouts.exit",                                                         \
      "A rank that has returned, and that its threads or exit handlers\n"      \
      "keep, is killed. It has delivered all the same; the report warns.",     \
      "timeouts: {exit: 5s}")                                                  \
    N("timeouts.stop_grace", "", "timeouts: {stop_grace: 5s}")                 \
    N("restart.max",                                                           \
      "Ranks find it in TORCHELASTIC_MAX_RESTARTS.", "restart: {max: 3}")      \
    N("restart.backoff",                                                       \
      "It doubles with each restart that counts, up to five minutes or itself.",\
      "restart: {max: 5, backoff: 10s}")                                       \
    N("restart.window",                                                        \
      "With it a job that runs for weeks may start again now and then.",       \
      "restart: {max: 3, window: 1h}")                                         \
    N("restart.on",                                                            \
      "Standard error is that of the first rank that failed. Where several "   \
      "failed together, one of them will do.",                                 \
      "restart: {max: 3, on: [exit:75, signal:SEGV, \"stderr:/NCCL/\"]}")       \
    N("restart.never", "It wins over `on`.",                                   \
      "restart: {max: 3, never: [exit:2, start]}")                             \
    N("results.required", "", "results: {required: 0}")                        \
    N("results.from", "",                                                      \
      "results: {from: stdout, pattern: 'loss=(?<loss>[0-9.]+)'}")             \
    N("results.file", "", "results: {file: \"out/%{rank}.json\"}")             \
    N("results.limit",                                                         \
      "A larger file is refused by its size, before it is read. Data belongs " \
      "into a file of `artifacts`.",                                           \
      "results: {limit: 1GiB}")                                                \
    N("results.pattern",                                                       \
      "The last match of the stream counts. In YAML, single quotes leave "     \
      "backslashes alone.",                                                    \
      "results: {from: stderr, pattern: 'acc=(?<acc>\\d+)'}")                  \
    N("results.fields", "",                                                    \
      "results: {fields: {loss: {type: number, max: 2}}}")                     \
    N("results.equal", "",                                                     \
      "results: {fields: {sha: {type: string}}, equal: [sha]}")                \
    N("results.distinct", "",                                                  \
      "results: {fields: {shard: {type: integer}}, distinct: [shard]}")        \
    N("results.artifacts",                                                     \
      "Each must be a regular file, not empty, and differ from what stood "    \
      "there before the start. A path that is the same for all ranks is the "  \
      "job's: any rank may make that file, at any time. Of nodes that are "    \
      "started by hand, the one with rank 0 looks for it.",                    \
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

#endif
