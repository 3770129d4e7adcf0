/* Lines that people type out of habit: what is told of them, and the line to type instead. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/shell_words.h"
#include "cli/cli.h"
#include "unit.h"

/* How awk takes the names of a hostfile. */
#define HOSTS "-F'[: \\t]' '/^[^# ]/ && !s[$1]++ {print $1}'"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

enum { MOST_WORDS = 16, MOST_BYTES = 512 };

/* Parse the words of a line behind "jobrun"; what is said goes to `said`. */
static int parse(struct jr_cli *cli, char said[static MOST_BYTES], const char *line)
{
    static char *no_env[] = {NULL};
    struct jr_shell_words words;
    struct jr_error err;
    char **argv = jr_arena_array(&cli->arena, MOST_WORDS + 2, sizeof *argv);
    int before = dup(STDERR_FILENO), file = memfd_create("said", 0), argc = 1;
    CU_ASSERT_TRUE_FATAL(argv != NULL && before >= 0 && file >= 0);
    CU_ASSERT_EQUAL_FATAL(jr_shell_split(&words, &cli->arena, line, &err), 0);
    CU_ASSERT_TRUE_FATAL(words.count <= MOST_WORDS && words.tail == NULL);
    argv[0] = jr_arena_strdup(&cli->arena, "jobrun");
    for (; (size_t)argc <= words.count; argc++)
        argv[argc] = jr_arena_strdup(&cli->arena, words.items[argc - 1].text);
    argv[argc] = NULL;
    (void)dup2(file, STDERR_FILENO);
    int status = jr_cli_parse(cli, argc, argv, no_env);
    (void)dup2(before, STDERR_FILENO);
    ssize_t len = pread(file, said, MOST_BYTES - 1, 0);
    said[len > 0 ? len - 1 : 0] = '\0';
    (void)close(before);
    (void)close(file);
    return status;
}

TEST(names_the_line_to_type)
{
    static const struct {
        const char *line, *said;
    } rows[] = {
        {"--nproc_per_node 2 train.py",
         "'run' has no option '--nproc_per_node'; type:\n        jobrun -n 2 -- python3 train.py"},
        {"--nproc-per-node=2 train.py",
         "'run' has no option '--nproc-per-node'; type:\n        jobrun -n 2 -- python3 train.py"},
        {"a.yaml --nproc_per_node=2",
         "'run' has no option '--nproc_per_node'; type:\n        jobrun a.yaml -s "
         "local_world_size=2\n        or, if it is the job's: jobrun a.yaml -- --nproc_per_node=2"},
        {"--nproc_per_node=gpu a.yaml",
         "'run' has no option '--nproc_per_node'; type -s local_world_size=N, or leave it out "
         "before a spec, which then has a rank for each device"},
        {"-np 4 ./train x -np 3", "'run' has no option '-np'; type:\n        "
                                  "jobrun -n 4 -- ./train x -np 3"},
        {"--n 4 ./train", "'run' has no option '--n'; type:\n        jobrun -n 4 -- ./train"},
        {"plan a.yaml --n=4", "'plan' has no option '--n'; type:\n        "
                              "jobrun plan a.yaml -s world_size=4\n        or, "
                              "if it is the job's: jobrun plan a.yaml -- --n=4"},
        {"-np four ./train", "'run' has no option '-np'; type -s world_size=N, "
                             "or before a command -n N"},
        {"plan -np 4 ./train", "'plan' has no option '-np'; type:\n        "
                               "jobrun plan -n 4 -- ./train"},
        {"-n 4 --npernode 2 ./train",
         "'run' has no option '--npernode'; type:\n        jobrun -n 4 -s "
         "local_world_size=2 -- ./train"},
        {"--nnodes 2 --nproc_per_node 8 train.py --lr 3",
         "'run' has no option '--nnodes'; type:\n        jobrun -n 16 -s "
         "nodes=2 -- python3 train.py --lr 3"},
        {"--nnodes=1:4 a.yaml", "'run' has no option '--nnodes'; type -s nodes=N: a job has one "
                                "number of nodes"},
        {"--gpus 2 a.yaml", "'run' has no option '--gpus'; type -s devices=[0,1] for devices by "
                            "their indices, or -s local_world_size=2 for two ranks on a node"},
        {"-N 2 ./train", "'run' has no option '-N'; type -s nodes=N for what srun means by it, "
                         "or -s local_world_size=N for mpirun's"},
        {"-H host1,host2 -np 4 ./train",
         "'run' has no option '-H'; type:\n        jobrun -n 4 --hosts host1,host2 -- ./train"},
        {"-H host1:4 -np 4 ./train", "'run' has no option '-H'; type --hosts A,B"},
        {"submit --host host1,host2 a.yaml",
         "'submit' has no option '--host'; type:\n        jobrun submit a.yaml "
         "-s 'hosts=[host1,host2]'"},
        {"--hostfile hosts a.yaml",
         "'run' has no option '--hostfile'; type:\n        jobrun a.yaml "
         "--hosts \"$(awk " HOSTS " hosts | paste -sd,)\""},
        {"-n 4 -machinefile \"a b\" ./train",
         "'run' has no option '-machinefile'; type:\n        jobrun -n 4 "
         "--hosts \"$(awk " HOSTS " 'a b' | paste -sd,)\" -- ./train"},
        {"--hostfile",
         "'run' has no option '--hostfile'; type --hosts \"$(awk " HOSTS " FILE | paste -sd,)\""},
        {"render --hostfile=hosts a.yaml",
         "'render' has no option '--hostfile'; type:\n        jobrun render "
         "a.yaml -s \"hosts=[$(awk " HOSTS " hosts | paste -sd,)]\""},
        {"--num_processes 2 --mixed_precision bf16 train.py",
         "'run' has no option '--num_processes'; type:\n        jobrun -n 2 "
         "-s env.ACCELERATE_MIXED_PRECISION=bf16 -- python3 train.py"},
        {"-m a.yaml", "'run' has no option '-m'; type a list for each field: jobrun SPEC "
                      "--sweep vars.lr=0.1,0.01; a module is started by jobrun -n 2 -- "
                      "python3 -m pkg.train"},
        {"--multi_gpu --num_processes 2 train.py",
         "'run' has no option '--multi_gpu': world_size says how many ranks "
         "there are; type:\n        jobrun -n 2 -- python3 train.py"},
        {"--standalone a.yaml", "'run' has no option '--standalone': jobrun needs no rendezvous; "
                                "type:\n        jobrun a.yaml"},
        {"--rdzv-backend c10d --rdzv_endpoint=h:1 a.yaml",
         "'run' has no option '--rdzv-backend': jobrun needs no rendezvous; "
         "type:\n        jobrun a.yaml"},
        {"--master_port 29501 --master_addr=h a.yaml",
         "'run' has no option '--master_port'; type:\n        jobrun a.yaml -s "
         "master_port=29501 -s master_addr=h"},
        {"--max_restarts 3 a.yaml",
         "'run' has no option '--max_restarts'; type:\n        jobrun a.yaml -s restart.max=3"},
        {"--machine_rank 1 a.yaml",
         "'run' has no option '--machine_rank'; type:\n        jobrun a.yaml --node-rank 1"},
        {"--partition=gpu a.yaml", "'run' has no option '--partition'; write `engine: {slurm: "
                                   "{partition: gpu}}` into the spec, and type jobrun submit SPEC "
                                   "--engine slurm"},
        {"--time=1:00:00 a.yaml", "'run' has no option '--time'; type -s timeouts.run=1h30m; "
                                  "`engine.slurm.time` of the spec is for batch jobs"},
        {"--timeout 5m a.yaml", "'run' has no option '--timeout'; type:\n      "
                                "  jobrun a.yaml -s timeouts.run=5m"},
        {"--timeout 300 a.yaml", "'run' has no option '--timeout'; type -s timeouts.run=30m"},
        {"--allow-run-as-root -np 2 ./train",
         "'run' has no option '--allow-run-as-root': every user may run it; "
         "type:\n        jobrun -n 2 -- ./train"},
        {"--bind-to core a.yaml", "'run' has no option '--bind-to'; type:\n    "
                                  "    jobrun a.yaml -s bind=core"},
        {"--bind-to socket a.yaml", "'run' has no option '--bind-to'; type -s bind=none|core|numa"},
        {"-x PATH -x A=b -np 2 ./train",
         "'run' has no option '-x'; type:\n        jobrun -n 2 -s env.A=b -- ./train"},
        {"--env A=b a.yaml", "'run' has no option '--env'; type:\n        "
                             "jobrun a.yaml -s env.A=b"},
        {"-e \"A=b c\" a.yaml", "'run' has no option '-e'; type -s env.NAME=VALUE"},
        {"--log-dir logs a.yaml", "'run' has no option '--log-dir'; type:\n    "
                                  "    jobrun a.yaml -s log_dir=logs"},
        {"--cfg job a.yaml", "'run' has no option '--cfg'; type:\n        jobrun resolve a.yaml"},
        {"a.yaml --vars.lr=0.1 -q --env.A b",
         "'run' has no option '--vars.lr'; type:\n        jobrun a.yaml -s "
         "vars.lr=0.1 -s console.ranks=none -s env.A=b\n        or, if it is "
         "the job's: jobrun a.yaml -- --vars.lr=0.1 -q --env.A b"},
        {"--vars.lr", "'run' has no option '--vars.lr'; type -s PATH=VALUE"},
        {"--optimizer.lr=3 a.yaml", "unknown option '--optimizer.lr=3'; see jobrun --help"},
        {"-set vars.lr=1 a.yaml", "unknown option '-set'; did you mean '--set'?"},
        {"runs -sort=started", "unknown option '-sort=started'; did you mean '--sort'?"},
        {"--multirun a.yaml",
         "'run' has no option '--multirun'; type a list for each field: jobrun SPEC --sweep "
         "vars.lr=0.1,0.01; a module is started by jobrun -n 2 -- python3 -m pkg.train"},
        {"--config a.yaml -s vars.lr=3",
         "'run' has no option '--config'; type:\n        jobrun a.yaml -s vars.lr=3"},
        {"run -d a.yaml", "'run' has no option '-d'; type:\n        jobrun run a.yaml --detach"},
        {"run --dry-run a.yaml --local",
         "'run' has no option '--dry-run'; type:\n        jobrun plan a.yaml --local"},
        {"submit --partition gpu a.yaml",
         "'submit' has no option '--partition'; write `engine: {slurm: {partition: gpu}}` into "
         "the spec, and type jobrun submit SPEC --engine slurm"},
        {"vars.lr=0.1", "no spec is given before 'vars.lr=0.1'; type: jobrun SPEC -s vars.lr=0.1"},
        {"up a.yaml", "'up' is not a verb of jobrun; type:\n        jobrun run a.yaml"},
        {"ps", "'ps' is not a verb of jobrun; type:\n        jobrun runs\n     "
               "   or, for 2 ranks of the program: jobrun -n 2 -- ps"},
        {"rm latest", "'rm' is not a verb of jobrun; type:\n        jobrun prune\n        "
                      "or, for 2 ranks of the program: jobrun -n 2 -- rm latest"},
        {"kill latest", "'kill' is not a verb of jobrun; type:\n        jobrun stop latest\n  "
                        "      or, for 2 ranks of the program: jobrun -n 2 -- kill latest"},
        {"config --on 2x8 a.yaml", "'config' is not a verb of jobrun; type:\n  "
                                   "      jobrun resolve --on 2x8 a.yaml"},
        {"torchrun --nproc_per_node 2 \"a b.py\"",
         "'torchrun' is another launcher; for a spec that says the same, type:\n        jobrun "
         "new --from 'torchrun --nproc_per_node 2 '\\''a b.py'\\'''"},
        {"mpirun -np 2 ./a.out",
         "'mpirun' is another launcher; for a spec that says the same, type:\n "
         "       jobrun new --from 'mpirun -np 2 ./a.out'"},
        {"run train.py --lr 1",
         "'train.py' is a Python script, not a spec; to start 2 ranks of it, "
         "type:\n        jobrun run -n 2 -- python3 train.py --lr 1"},
        {"plan train.py", "'train.py' is a Python script, not a spec; to start 2 ranks of it, "
                          "type:\n        jobrun plan -n 2 -- python3 train.py"},
        {"--gpus-per-node=4 a.yaml",
         "'run' has no option '--gpus-per-node'; type:\n        jobrun a.yaml "
         "-s local_world_size=4"},
        {"--gpus-per-task 1 a.yaml",
         "'run' has no option '--gpus-per-task'; leave it out: each rank has the device of its "
         "local rank; -s device_visibility=one hides the others from it"},
        {"--cpus-per-task 4 a.yaml",
         "'run' has no option '--cpus-per-task'; type:\n        jobrun a.yaml -s threads=4"},
        {"-o log.txt a.yaml", "'run' has no option '-o'; what ranks write is "
                              "kept in the run folder: jobrun logs prints it, "
                              "and -s log_dir=DIR takes another folder"},
        {"--array 0-3 a.yaml", "'run' has no option '--array'; type --sweep vars.seed=0..9, which "
                               "runs the job for each value"},
        {"-c 4 a.yaml", "'run' has no option '-c'; a spec is typed by its name alone: jobrun "
                        "SPEC; what accelerate's file says is translated by jobrun new --from "
                        "'accelerate launch train.py', and srun's -c 4 is -s threads=4"},
        {"-w gpu01 a.yaml", "'run' has no option '-w'; type:\n        jobrun a.yaml --hosts gpu01"},
        {"-N2 -n 16 ./train", "'run' has no option '-N2'; type -s nodes=N for what srun means by "
                              "it, or -s local_world_size=N for mpirun's"},
        {"--map-by node -np 2 ./train",
         "'run' has no option '--map-by': ranks are numbered node by node; "
         "type:\n        jobrun -n 2 -- ./train"},
        {"--report-bindings -np 2 ./train",
         "'run' has no option '--report-bindings': jobrun plan shows the CPUs "
         "of each rank; type:\n        jobrun -n 2 -- ./train"},
        {"-genv A 1 -n 2 ./train", "'run' has no option '-genv'; type -s env.NAME=VALUE"},
        {"-wdir x -n 2 ./train", "'run' has no option '-wdir'; type:\n        "
                                 "jobrun -n 2 -s workdir=x -- ./train"},
        {"--mca btl tcp -np 2 ./train",
         "'run' has no option '--mca'; type -s env.OMPI_MCA_NAME=VALUE"},
        {"--use_fsdp --num_processes 2 train.py",
         "'run' has no option '--use_fsdp'; type:\n        jobrun -n 2 -s "
         "env.ACCELERATE_USE_FSDP=true -- python3 train.py"},
        {"--module pkg.train",
         "'run' has no option '--module'; type what starts it: jobrun -n 2 -- "
         "python3 -m pkg.train"},
        {"-r 3 a.yaml", "'run' has no option '-r'; type:\n        jobrun a.yaml -s redirects=3"},
        {"--monitor-interval 5 a.yaml", "'run' has no option '--monitor-interval': jobrun needs no "
                                        "rendezvous; type:\n        jobrun a.yaml"},
        {"--scale train=4", "'run' has no option '--scale'; type -s world_size=N"},
        {"--env-file .env a.yaml", "'run' has no option '--env-file'; write "
                                   "setup: set -a; . ./.env into the spec"},
        {"--rm -it a.yaml", "'run' has no option '--rm': jobrun starts no "
                            "container; type:\n        jobrun a.yaml"},
        {"--config-dir conf a.yaml",
         "'run' has no option '--config-dir': a spec is a file, which names "
         "its parents in `extends`; type:\n        jobrun a.yaml"},
        {"--info a.yaml", "'run' has no option '--info'; type:\n        jobrun resolve a.yaml"},
        {"up -d", "'up' is not a verb of jobrun; type:\n        jobrun run SPEC"},
        {"show --last", "'show' has no option '--last': the latest run is taken where none is "
                        "named; type:\n        jobrun show"},
        {"logs --all", "'logs' has no option '--all': without --rank the logs "
                       "of all ranks are printed; type:\n        jobrun logs"},
        {"prune --older-than 30d", "'prune' has no option '--older-than'; "
                                   "type:\n        jobrun prune --older 30d"},
        {"prune --keep-last 3", "'prune' has no option '--keep-last'; type:\n  "
                                "      jobrun prune --keep 3"},
        {"rerun latest --failed",
         "'rerun' has no option '--failed'; type jobrun SPEC --resume for the cells of a sweep "
         "that have not delivered; a job is repeated as a whole"},
        {"runs --status failed", "'runs' has no option '--status'; type:\n     "
                                 "   jobrun runs --where status=failed"},
        {"runs --status", "'runs' has no option '--status'; type --where status=VALUE"},
        {"runs failed", "runs takes no argument; type: jobrun runs --where status=failed"},
        {"render --format slurm a.yaml",
         "'render' has no option '--format'; type:\n        jobrun render a.yaml --engine slurm"},
        {"docker run x", "'docker' is a program, not a spec; to start 2 ranks "
                         "of it, type:\n        jobrun -n 2 -- docker run x"},
        {"top --interval 1", "'top' has no option '--interval': it looks once "
                             "a second; type:\n        jobrun top"},
        {"-n", "-n wants a value: -n N"},
        {"a.yaml --color", "--color wants a value: auto, always, never"},
        {"a.yaml -s lr 0.1", "--set wants PATH=VALUE, not 'lr'; type -s lr=0.1"},
        {"-s a.yaml", "-s wants PATH=VALUE before the spec 'a.yaml'; for example: -s vars.lr=0.1"},
        {"a.yaml -s vars.lr:0.1", "--set wants PATH=VALUE, not 'vars.lr:0.1'; type -s vars.lr=0.1"},
        {"a.yaml -s ~vars.lr", "--set wants PATH=VALUE, not '~vars.lr'; type -s vars.lr=null"},
        {"-n a.yaml", "-n wants the number of ranks, not 'a.yaml'; a spec "
                      "states it itself: jobrun a.yaml"},
        {"logs latest -n 10", "'logs' has no option '-n'; type:\n        "
                              "jobrun logs latest --tail 10"},
        {"logs x --since 5m", "'logs' has no option '--since'; type --tail N for the last N lines "
                              "of each log"},
        {"stop --force latest",
         "'stop' has no option '--force'; a second jobrun stop kills at once"},
        {"prune --all", "'prune' has no option '--all'; type:\n        jobrun "
                        "prune --keep 0 --dry-run"},
        {"prune -y", "'prune' has no option '-y': it removes finished runs "
                     "without a question; type:\n        jobrun prune"},
        {"report latest --html", "'report' has no option '--html'; type:\n     "
                                 "   jobrun report latest --format html"},
        {"rerun latest -s vars.lr=1",
         "'rerun' has no option '-s'; a run is repeated as it was; to change "
         "it, type jobrun SPEC -s PATH=VALUE"},
        {"explain --list", "'explain' has no option '--list': without an argument it lists the "
                           "fields; type:\n        jobrun explain"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct jr_cli cli = {0};
        char said[MOST_BYTES], expected[MOST_BYTES];
        CU_ASSERT_EQUAL(parse(&cli, said, rows[i].line), JR_STATUS_USAGE);
        (void)snprintf(expected, sizeof expected, "jobrun: %s", rows[i].said);
        JR_ASSERT_TEXT(said, expected);
        jr_arena_release(&cli.arena);
    }
}

/* What has another meaning for others is left to those whose option it is. */
TEST(takes_what_is_ours)
{
    static const char *const lines[] = {
        "wait latest --time 5m",
        "logs -f latest",
        "logs --rank 3 latest",
        "plan --env a.yaml",
        "-n2 -- mpirun -np 2 x",
        "a.yaml -- -np 4",
        "-n 2 -- ps",
        "submit --wait a.yaml",
        "-s a=-np a.yaml",
        "a.yaml -- vars.lr=3",
        "--node-rank 1 a.yaml",
    };
    for (size_t i = 0; i < LENGTH(lines); i++) {
        struct jr_cli cli = {0};
        char said[MOST_BYTES];
        CU_ASSERT_EQUAL(parse(&cli, said, lines[i]), 0);
        JR_ASSERT_TEXT(said, "");
        jr_arena_release(&cli.arena);
    }
}
