/* cli.h declares it. */
#include <stddef.h>
#include <string.h>

#include "cli/cli.h"

#include "base/banned.h"

#define VERB_ROW(name, words, help, flags) {#name, words, help, flags},

const struct jr_verb jr_verbs[] = {JR_VERBS(VERB_ROW){0}};

const struct jr_verb *jr_verb_find(const char *name)
{
    for (const struct jr_verb *verb = jr_verbs; verb->name != NULL; verb++)
        if (strcmp(verb->name, name) == 0)
            return verb;
    return NULL;
}

static const struct jr_usage usages[] = {
    {"run",
     "Reads the spec, fills in missing values from the hardware, starts the ranks, and waits for "
     "them. The job succeeds only if every rank ended well and delivered its result. When a rank "
     "fails, jobrun stops the other ranks and all their child processes, and the report names the "
     "cause. The run folder keeps the logs, the results and the resolved spec.\n"
     "\n"
     "With `--detach`, jobrun prints the run's id as soon as the run folder exists, and the run "
     "continues without the terminal. Its console output is written to console.log in the run "
     "folder. See `wait`, `stop`, `show` and `logs`.\n"
     "\n"
     "A run leases the devices of its ranks. If other runs hold devices of these, jobrun says so "
     "and the runs share them. With `devices: any` in the spec, jobrun takes free devices; if "
     "there are too few, it names the holders and exits with status 4. With `--wait` it waits "
     "until enough of them are free. Runs that wait get their turn in the order in which they "
     "came.\n"
     "\n"
     "With a spec, the words after `--` are added to the command's arguments. With `-n N` and no "
     "spec, they are the command itself. As SPEC, `-` means standard input.",
     "jobrun train.jobrun.yaml\n"
     "jobrun train.jobrun.yaml -- --epochs 5\n"
     "jobrun train.jobrun.yaml --detach\n"
     "jobrun train.jobrun.yaml --set devices=any --wait=2h\n"
     "jobrun -n 4 -- ./program"},
    {"agent",
     "Runs the ranks of one node. jobrun starts one agent on each node of an allocation by srun, "
     "and on each of `hosts` by ssh. The agent speaks with that jobrun through standard input and "
     "output, and stops its ranks when its input ends. There is no reason to start it by hand; if "
     "you do, it says so and exits with status 2.",
     "jobrun agent"},
    {"validate",
     "Finds every mistake in the specs and shows each at its position, with a fix where there is "
     "one. It executes nothing and reads no environment variables, so it can check a spec in CI, "
     "on a machine that has none of the hardware. Specs with `targets` are also resolved for those "
     "machines; with `--on`, every spec is resolved for that machine.\n"
     "\n"
     "A folder means every *.jobrun.yaml or .yml file below it, and every other YAML file whose "
     "top level has `version` and another field of a spec, or a misspelling of one. Hidden files "
     "and folders, those that git ignores, and the folders of runs are skipped. jobrun prints how "
     "many other YAML files it passed over.\n"
     "\n"
     "With `--fix`, it corrects the mistakes that have only one possible correction: misspelt "
     "names, numbers in quotes, the field names of other launchers. Everything else in the file "
     "stays as it is, including comments and layout. It lists first what it fixed, then what is "
     "left. Below a folder it corrects only files named *.jobrun.yaml or .yml.",
     "jobrun validate specs/\n"
     "jobrun validate specs/ --fix\n"
     "jobrun validate specs/ --format github --strict"},
    {"resolve",
     "Prints a valid and complete spec: every MISSING field is filled and all paths are absolute. "
     "With `--explain` it shows where each value came from, and why the sources with higher "
     "precedence gave none.\n"
     "\n"
     "With `--lock` it prints the experiment alone: program, arguments, environment, sizes and "
     "mesh, with relative paths and without placement, so that two runs of it can be at one time "
     "and on two machines. Commit it beside the spec. `run`, `plan` and `resolve` with `--locked` "
     "refuse a spec that no longer resolves to it (status 3), and name the fields.",
     "jobrun resolve train.jobrun.yaml --lock > train.lock.yaml\n"
     "jobrun train.jobrun.yaml --locked\n"
     "jobrun resolve train.jobrun.yaml --explain --on 2x8:H100"},
    {"plan",
     "Prints what `run` would start, and starts nothing: ranks, mesh, devices, CPUs, ports, files, "
     "and with `--env` each rank's variables. With `--on` it does so for another machine.\n"
     "\n"
     "Without `--on` it then looks at what the launch will need here: the program, the "
     "interpreter and the script, the working directories, and the folders that results, "
     "artifacts and the record are written to. What is missing is said last, with exit status 4; "
     "where the spec has a `setup`, which may provide it, it is a warning.",
     "jobrun plan train.jobrun.yaml --on 2x8:H100"},
    {"runs",
     "Lists the runs below the log folder, newest first: status, exit status, ranks, start, "
     "duration and id. A sweep is one row, with the worst status of its cells; `--cells` lists the "
     "cells instead, those that have not begun last.\n"
     "\n"
     "`--where` keeps the runs that meet a condition, and several of them all conditions; "
     "`--sort` and `--columns` choose order and columns. All three take `run_id`, `name`, "
     "`status`, `exit_code`, `world_size`, `started`, `seconds`, `progress.step`, `spec`, `host` "
     "and `fingerprint`, and of the spec and the results `vars.NAME`, `labels.NAME` and "
     "`results.NAME`. Where ranks delivered different numbers, their mean counts. A run without a "
     "value comes last, and meets no condition but `!=`.",
     "jobrun runs --log-dir /scratch/runs\n"
     "jobrun runs --where status=failed --where labels.team=vision\n"
     "jobrun runs --cells --columns vars.lr,results.loss --sort results.loss"},
    {"show",
     "Summarises a run in a few lines: its outcome, or its current state while it is running. With "
     "`--json` it prints the results. RUN is an id, the beginning of an id, `latest`, which is the "
     "default, or the path of a run's folder. See `report` for a page to pass on to somebody "
     "else.\n"
     "\n"
     "With `--stacks` it shows what the ranks of a running job are doing, without disturbing "
     "them: their processes and threads, the state and system call of each, where in the kernel "
     "it waits, and how much processor time it uses. The kernel shows some of this only to a "
     "privileged user. For a run that hung, it shows what jobrun recorded before it stopped the "
     "ranks.",
     "jobrun show latest\n"
     "jobrun show latest --stacks --rank 3"},
    {"report",
     "Prints the report of a finished run again. A run without results has no report (status 7). "
     "With `--format html` the report is a single file that loads nothing from elsewhere: outcome "
     "and cause, a timeline of the ranks, results, mesh, resources, where each value of the spec "
     "came from, and what ran where. Its links to the logs are relative to the folder of the file: "
     "the folder of `-o`, or else the current one.\n"
     "\n"
     "The report of a sweep is its table, and as HTML also a drawing of the best field over each "
     "axis, and a link to the folder of each cell.",
     "jobrun report latest --format html -o report.html\n"
     "jobrun report 20261121-06"},
    {"top",
     "Shows the ranks of a running job, one per line: what the rank is doing or how it ended, the "
     "processor time and memory that it and its child processes use, how long it has been silent, "
     "and the last line of its logs. On a terminal, the table is refreshed every second; if not "
     "all ranks fit, those that have been silent the longest come first. In a pipe, the whole "
     "table is printed every ten seconds. It ends with the run, which it does not affect.\n"
     "\n"
     "On a terminal, `q` or Ctrl-C quits. `r`, `t`, `c`, `m` and `s` sort by rank, state, "
     "processor time, memory and silence, and the same key again reverses the order. The arrows, "
     "Page Up, Page Down, Home and End scroll, as do `k`, `j`, `b`, the space bar, `g` and `G`. "
     "If `top` itself dies by SIGKILL, the terminal stays as it was drawn: type `reset`.",
     "jobrun top latest\n"
     "jobrun top --once"},
    {"logs",
     "Prints what the ranks wrote, byte for byte. If there are several files, each has a heading.",
     "jobrun logs latest --rank 3 --follow"},
    {"wait",
     "Waits until a run has ended, prints its report, and exits with its exit "
     "status. If the run's jobrun was killed, the run is lost: status 7.",
     "jobrun wait latest"},
    {"stop",
     "Stops one of your runs on this host as Ctrl-C would, waits until it has ended, and prints "
     "its report. A second `stop` kills at once, without the grace period. If the run is lost, it "
     "kills the processes that are left of it. Before it sends a signal, it checks the process "
     "against the record: host, boot, user and start time must match.",
     "jobrun stop latest"},
    {"prune",
     "Removes finished runs, oldest first, and prints their ids. It keeps the newest `--keep` "
     "runs and those younger than `--older`. It never removes a running or lost run, a run of "
     "another user, or a folder that is not a run. Without options it keeps the newest 50; with "
     "`--older` alone, only the age counts. It also removes what `submit` froze for jobs that "
     "Slurm no longer has in its queue.",
     "jobrun prune --dry-run\n"
     "jobrun prune --keep 20\n"
     "jobrun prune --older 30d --log-dir /scratch/runs"},
    {"schema",
     "Prints the JSON Schema of the spec, for editors and other checkers. It "
     "is generated from the table of fields.",
     "jobrun schema -o jobspec-v1.schema.json"},
    {"explain",
     "Explains a field of the spec, given its path, or a diagnostic, given its "
     "code. Without an argument it lists the fields. With the beginning of a "
     "code it lists the codes that start with it.",
     "jobrun explain world_size\n"
     "jobrun explain parallelism.model\n"
     "jobrun explain JR0310\n"
     "jobrun explain JR03"},
    {"doctor",
     "Prints what jobrun sees of this machine: devices, CPUs, memory, and the scheduler and "
     "launcher around it, with the meaning of each of their variables. Devices that runs have "
     "leased are shown with their holders. It then lists the problems that it found, and how to "
     "solve them. `--format yaml` writes the facts file that `--on` reads.\n"
     "\n"
     "With `--hosts` it asks these hosts, all at once and by ssh, as a job that is started on "
     "them would: which of them answer, their devices, the version of jobrun there, by how much "
     "their clocks differ from the one here, and whether they reach the first of them, at the "
     "address and the port where ranks would meet. For that, the first host listens at that port "
     "for a moment. It prints a line for each host, below it what is wrong and what to do, and "
     "what differs between the hosts. The exit status is 4 if anything is wrong with a host. `-s` "
     "states fields that count for this: those of `engine.ssh`, `master_addr`, `master_port` and "
     "`timeouts.start`.",
     "jobrun doctor --format yaml > gpu07.yaml\n"
     "jobrun doctor --hosts gpu01,gpu02\n"
     "jobrun doctor --hosts 'gpu[01-16]' -s engine.ssh.options='[-J, gate]'"},
    {"rerun",
     "Runs the resolved spec of an earlier run again: the same experiment, with the same "
     "fingerprint and working folder, recorded as a new run beside the first. The placement is "
     "resolved again: nodes, hosts, addresses, ports, devices, binding and threads. `--exact` "
     "keeps the earlier placement. A run that was started with `--local` is repeated with "
     "`--local`. Secrets are not stored in the run folder, so they must be in the environment.",
     "jobrun rerun latest\n"
     "jobrun rerun 20261121-063012 --exact"},
    {"render",
     "Prints the input for an engine. For `slurm` this is a batch script that runs jobrun; it "
     "begins with the options of the spec's `engine` field. For `kubernetes` it is an Indexed Job "
     "with a headless service and the resolved spec. For `mpi` it is a script with one command "
     "line, which starts the ranks without jobrun, so nothing checks the results there.\n"
     "\n"
     "The job will run on another machine, so `render` does not look at the hardware of this one. "
     "If the spec leaves out `device` or the number of ranks, describe the machine with `--on`.",
     "jobrun render train.jobrun.yaml --engine slurm --on 2x8:H100\n"
     "jobrun render train.jobrun.yaml --engine kubernetes | kubectl apply -f -\n"
     "jobrun render train.jobrun.yaml --engine mpi > train.sh"},
    {"submit",
     "Passes the script of `render --engine slurm` to sbatch, and prints the job's id. With "
     "`--wait` it waits for the job and exits with the exit status of the job's jobrun. The job "
     "reads the spec when it starts, so jobrun and the spec must have the same paths on the "
     "cluster as here. The cells of a sweep become the tasks of a job array, with all that they "
     "run frozen as it is now; `--resume` submits those that have not delivered.",
     "jobrun submit train.jobrun.yaml --engine slurm\n"
     "jobrun submit train.jobrun.yaml --engine slurm --wait\n"
     "jobrun submit sweep.jobrun.yaml --engine slurm --parallel 8"},
    {"diff",
     "Shows the differences between two resolved specs, or between two runs: each field with both "
     "values and where they come from, and for runs also their outcomes, times and results. A and "
     "B are files, runs, or REV:FILE for a file at a git revision (relative to the top of the "
     "checkout, or with `./` to the current folder). Specs are resolved for `--on`, or else for "
     "this machine; if one of them cannot be resolved, both are compared as they are written. The "
     "last line says whether they are the same experiment: whether only placement, names, output, "
     "records and times differ. Paths count as the same if they are the same from the top of their "
     "checkouts. Of specs the code is not known. Two runs are the same experiment only if their "
     "code was the same, too; otherwise the line names the files that differ, as far as the "
     "recorded commits and patches show, and `--code` prints the patches.\n"
     "\n"
     "With `--rev`, the arguments are files and folders (default: the current folder), and every "
     "spec below them is compared with that revision: which specs were added, removed or changed, "
     "also through a base that they extend. Each spec is resolved for `--on`, or else for the "
     "first of its `targets`, or else compared as it is written. jobrun reads only the files of "
     "this machine, and executes nothing from the repository.",
     "jobrun diff a.jobrun.yaml b.jobrun.yaml --on 2x8:H100\n"
     "jobrun diff main:./train.jobrun.yaml train.jobrun.yaml\n"
     "jobrun diff 20261121-06 latest --code\n"
     "jobrun diff --rev origin/main specs/ --format markdown"},
    {"new",
     "Prints a spec to start from, with a comment for each field, or writes it to a file, and "
     "beside it the schema that its first line names, by which editors complete and check it.\n"
     "\n"
     "`--from` translates another launcher's command line, without expanding or executing any of "
     "it; a hostfile that it names is read. Options that have another meaning in jobrun, or none, "
     "are listed in the spec's comments and on standard error. With `--help` after the launcher's "
     "name, it lists how each option is translated.",
     "jobrun new torch -o train.jobrun.yaml\n"
     "jobrun new --from 'torchrun --nproc-per-node 8 train.py --lr 1e-3'\n"
     "jobrun new --from 'srun --help'"},
    {"help",
     "Describes jobrun and lists its verbs, or describes one verb: `jobrun help run` is the same "
     "as `jobrun run --help`. `jobrun explain` describes the fields of a spec. The text is as "
     "wide as the terminal, or as the variable COLUMNS says.",
     "jobrun help\n"
     "jobrun help run\n"
     "jobrun help --all"},
    {"version", "Prints the version, as `jobrun --version` does.", "jobrun version"},
    {"completion",
     "Prints a script that makes the shell complete jobrun's verbs, options, specs, runs and "
     "fields, and the command after `--`.\n"
     "\n"
     "The words after `--` are a command line without `jobrun`, whose last word is incomplete. "
     "jobrun then prints the possible completions, one per line. The scripts call this.",
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
