/* Notes and examples of the fields on what every rank runs, in which environment, and how it
 * starts. See notes.h. */
#ifndef JR_NOTES_RANKS_H
#define JR_NOTES_RANKS_H

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

#endif
