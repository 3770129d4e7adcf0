#include "usage.h"

#include <stddef.h>
#include <string.h>

#include "banned.h"

static const struct jr_usage usages[] = {
    {"run",
     "Reads the spec, fills what it left out, starts the ranks, and waits for "
     "them. The job succeeds only if every rank ended well and delivered its "
     "result. When one fails, the others are stopped with whatever they "
     "started, and the report names the cause. The run folder keeps logs, "
     "results and the resolved spec.\n"
     "\n"
     "With `--detach` it prints the run's id as soon as the run folder stands, "
     "and the run goes on without the terminal. What it would have shown is in "
     "the folder's console.log; see `wait`, `stop`, `show` and `logs`.\n"
     "\n"
     "With a spec, words behind `--` are added to the command's arguments. "
     "With `-n N` and no spec they are the command itself. `-` is standard "
     "input.",
     "jobrun train.jobrun.yaml\n"
     "jobrun train.jobrun.yaml -- --epochs 5\n"
     "jobrun train.jobrun.yaml --detach\n"
     "jobrun -n 4 -- ./program"},
    {"agent",
     "What jobrun starts on each node of an allocation, by srun, to run that "
     "node's ranks: it speaks with the jobrun that started it through standard "
     "input and output, and stops its ranks when its input ends. Nobody else "
     "needs it; started by hand it says so (status 2).",
     "jobrun agent"},
    {"validate",
     "Finds every mistake of the specs and shows it at its position, with the "
     "fix where there is one. Nothing of a spec is executed and no environment "
     "is read, so a spec can be checked on a machine that has none of the "
     "hardware: in CI. Specs that name `targets`, and all with `--on`, are "
     "resolved for those machines too.\n"
     "\n"
     "A folder stands for every *.jobrun.yaml or .yml below it, and for every "
     "other YAML file whose top level has `version` and another field of a "
     "spec, or a near miss of one. Files and folders that are hidden or that "
     "git ignores are skipped, and so are the folders of runs. How many other "
     "YAML files were passed over is said.\n"
     "\n"
     "With `--fix`, mistakes that can only have been meant in one way are "
     "corrected in the files: misspelt names, numbers in quotes, the words of "
     "other launchers. All else stays as it is, comments and layout too. What "
     "was fixed is told, then what is left. Of a folder only files that are "
     "named *.jobrun.yaml or .yml are corrected.",
     "jobrun validate specs/\n"
     "jobrun validate specs/ --fix\n"
     "jobrun validate specs/ --format github --strict"},
    {"resolve",
     "Prints a spec that is valid and complete: every MISSING field filled, "
     "paths absolute. With `--explain` it tells where each value came from, "
     "and why the better sources had nothing.",
     "jobrun resolve train.jobrun.yaml > train.lock.yaml\n"
     "jobrun resolve train.jobrun.yaml --explain --on 2x8:H100"},
    {"plan",
     "Prints what `run` would start, and starts nothing: ranks, mesh, "
     "devices, CPUs, ports, files, and with `--env` each rank's variables. "
     "With `--on` it does so for another machine.",
     "jobrun plan train.jobrun.yaml --on 2x8:H100"},
    {"runs",
     "Lists the runs below the log folder, the newest first: status, exit "
     "status, ranks, start, duration and id.",
     "jobrun runs --log-dir /scratch/runs"},
    {"show",
     "Tells in a few lines how a run went, or how it stands while it has not "
     "ended; with `--json`, its results. RUN is an id, the beginning of one, "
     "or "
     "`latest`, which is the default. See `report` for something to hand on.\n"
     "\n"
     "With `--stacks` it prints what the ranks of a run that goes on are "
     "doing, without disturbing them: processes and threads, the state and "
     "the system call of each, where in the kernel it waits, and the "
     "processor time that it takes. How much of that the kernel tells depends "
     "on who asks. Of a run that hung it prints what was found then.",
     "jobrun show latest\n"
     "jobrun show latest --stacks --rank 3"},
    {"report",
     "Prints the report of a run that has ended, as it told it then; a run "
     "without results has none (status 7). With `--format html` it is one "
     "file that needs nothing else and fetches nothing: outcome and cause, a "
     "timeline of the ranks, results, mesh, resources, where each value of the "
     "spec came from, and what ran where. It links to the logs by paths from "
     "where the file is: the folder of `-o`, else the current one.",
     "jobrun report latest --format html -o report.html\n"
     "jobrun report 20261121-06"},
    {"top",
     "Shows the ranks of a run that goes on, one a line: what each is doing, "
     "the processors and the memory that it takes with all that it started, "
     "for how long its logs have not grown, and the last line of them. On a "
     "terminal the table is drawn anew every two seconds, with the ranks that "
     "have been silent the longest where not all have room; elsewhere all of "
     "it is printed every ten. It ends with the run, or with Ctrl-C, which "
     "leaves the run alone.",
     "jobrun top latest\n"
     "jobrun top --once"},
    {"logs",
     "Prints what the ranks wrote, byte for byte, with a heading for each "
     "file where there are several.",
     "jobrun logs latest --rank 3 --follow"},
    {"wait",
     "Waits until a run has ended, tells its report, and ends with its exit "
     "status. A run whose jobrun was killed is lost: status 7.",
     "jobrun wait latest"},
    {"stop",
     "Stops a run of yours on this host as Ctrl-C would, waits until it has "
     "ended, and tells its report. Said twice, it does not wait for the grace. "
     "Of a lost run it kills what is left. Nothing is signalled before host, "
     "boot, user and start time of the process are those of the record.",
     "jobrun stop latest"},
    {"prune",
     "Removes runs that have finished, oldest first, and prints their ids. A "
     "run that is among the newest `--keep`, or younger than `--older`, stays; "
     "so does what is running, lost, another user's, or no run. Without "
     "options the newest 50 stay; with `--older` alone its age decides.",
     "jobrun prune --dry-run\n"
     "jobrun prune --keep 20\n"
     "jobrun prune --older 30d --log-dir /scratch/runs"},
    {"schema",
     "Prints the JSON Schema of the spec, for editors and other checkers. It "
     "is made from the table of fields.",
     "jobrun schema > jobspec-v1.schema.json"},
    {"explain",
     "Tells about a field of the spec, by its path, or about a diagnostic, by "
     "its code. Without a word it lists the fields; the beginning of a code "
     "lists the codes that begin so.",
     "jobrun explain world_size\n"
     "jobrun explain parallelism.model\n"
     "jobrun explain JR0310\n"
     "jobrun explain JR03"},
    {"doctor",
     "Prints what jobrun sees of this machine: devices, CPUs, memory, and the "
     "scheduler and launcher around it, with what each of their variables "
     "means "
     "and does not mean. Then what is wrong, and what to do about it. "
     "`--format "
     "yaml` writes the facts file that `--on` reads.",
     "jobrun doctor --format yaml > gpu07.yaml"},
    {"rerun",
     "Runs again what a run resolved to: the same experiment, with the same "
     "fingerprint, in the same working folder, recorded beside the first one. "
     "Where it runs is found anew: nodes, hosts, addresses, ports, devices, "
     "binding and threads. With `--exact` these are as they were. A run that "
     "was started with `--local` is repeated with it. Secrets were not "
     "written down and have to be in the environment.",
     "jobrun rerun latest\n"
     "jobrun rerun 20261121-063012 --exact"},
    {"render",
     "Prints what an engine is handed. `slurm` is a batch script that runs "
     "jobrun; it begins with the options of the spec's `engine`. `kubernetes` "
     "is an Indexed Job with a headless service and the resolved spec. `mpi` "
     "is a script with one command line, which starts the ranks themselves, "
     "without jobrun: nobody judges results there.\n"
     "\n"
     "The machine that renders is not the one that runs, so it is asked "
     "nothing: what the spec leaves out of `device` and of the number of "
     "ranks, `--on` has to tell.",
     "jobrun render train.jobrun.yaml --engine slurm --on 2x8:H100\n"
     "jobrun render train.jobrun.yaml --engine kubernetes | kubectl apply -f "
     "-\n"
     "jobrun render train.jobrun.yaml --engine mpi > train.sh"},
    {"submit",
     "Hands the script of `render --engine slurm` to sbatch, and prints the "
     "job's id. With `--wait` it ends when the job does, with the exit status "
     "that jobrun had there. The job reads the spec when it starts; jobrun and "
     "the spec have to be where they are here.",
     "jobrun submit train.jobrun.yaml --engine slurm\n"
     "jobrun submit train.jobrun.yaml --engine slurm --wait"},
    {"diff",
     "Shows what differs between two specs once they are resolved, or between "
     "two runs: each field with both values and where they come from, and for "
     "runs what became of them, their times and results. A and B are files, "
     "REV:FILE for a file at a revision of git (from the top of the checkout; "
     "`./` is from here), or runs. Specs are resolved for `--on`, else for "
     "this machine; where not both can be, they are compared as they are "
     "written. It ends by saying whether it is the same experiment: only "
     "placement, names, output, records and times differ, and paths are the "
     "same from the top of their checkouts.\n"
     "\n"
     "With `--rev` the words are files and folders instead (default: the "
     "current one), and every spec below them is set against that revision: "
     "what was added, removed or changed, also through a base that it extends. "
     "Each is resolved for `--on`, else for the first of its `targets`, else "
     "compared as it is written. Nothing of this machine is read but the "
     "files, and nothing of the repository is executed.",
     "jobrun diff a.jobrun.yaml b.jobrun.yaml --on 2x8:H100\n"
     "jobrun diff main:./train.jobrun.yaml train.jobrun.yaml\n"
     "jobrun diff 20261121-06 latest\n"
     "jobrun diff --rev origin/main specs/ --format markdown"},
    {"migrate",
     "Brings specs up to the current version of the language, in place, with "
     "their comments and layout. A folder stands for every *.jobrun.yaml or "
     ".yml below it. Version 1 is the only one so far: there is nothing to do "
     "but to "
     "say so, and to refuse what is newer.",
     "jobrun migrate specs/"},
    {"new",
     "Prints a spec to begin with, with a comment for each field, or writes it "
     "to a file.\n"
     "\n"
     "`--from` translates another launcher's command line. Nothing of it is "
     "expanded or executed. Options that mean something else here, or nothing, "
     "are named in the spec's comments and on standard error. With `--help` "
     "behind the launcher's name, it lists what becomes of each option.",
     "jobrun new torch -o train.jobrun.yaml\n"
     "jobrun new --from 'torchrun --nproc-per-node 8 train.py --lr 1e-3'\n"
     "jobrun new --from 'srun --help'"},
    {"completion",
     "Prints a script that makes a shell complete jobrun's verbs, options, "
     "specs, runs and fields.\n"
     "\n"
     "Words behind `--` are a command line without `jobrun`, whose last word "
     "is unfinished: what it could become is printed, one candidate a line. "
     "The scripts call this.",
     "source <(jobrun completion bash)\n"
     "jobrun completion zsh > ~/.zfunc/_jobrun\n"
     "jobrun completion fish > ~/.config/fish/completions/jobrun.fish"},
};

const struct jr_usage *jr_usage_find(const char *verb)
{
    for (size_t i = 0; i < sizeof usages / sizeof *usages; i++)
        if (strcmp(usages[i].verb, verb) == 0)
            return &usages[i];
    return NULL;
}
