/* What to try about an end, by what the rank wrote, by its exception, and by how it ended. */
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>

#include "told.h"

/* What is told of rank 0 of a run that was judged; "": nothing. */
static void check_step(struct fake *fake, const char *expected)
{
    char whole[512] = "";
    fake_judge(fake);
    if (*expected != '\0')
        (void)snprintf(whole, sizeof whole, "  try:        %s\n", expected);
    CHECK_TOLD(fake, whole, jr_print_next_step(&page, 0));
    fake_end(fake);
}

#define PATH_80                                                                                    \
    "0123456789/0123456789/0123456789/0123456789/0123456789/0123456789/"                           \
    "0123456789/012"
#define IN_FOLDER                                                                                  \
    " is looked for in the working directory of the ranks: "                                       \
    "`workdir: FOLDER` states another"
#define BY_SETUP                                                                                   \
    "activate an environment that has it, `setup: . .venv/bin/activate`, or "                      \
    "set `env: {PYTHONPATH: FOLDER}`"
#define SHEBANG                                                                                    \
    ", which is not in PATH: correct it, or load what has it: "                                    \
    "`setup: module load NAME`"
#define BASH                                                                                       \
    "sh reads this, as it does `setup` and `shell`: for bash, write bash -c "                      \
    "'TEXT'"
#define SH "/bin/sh reads `setup` and `shell`"

TEST(goes_by_what_was_said)
{
    static const struct {
        const char *said, *step;
    } vectors[] = {
        {"/usr/bin/env: \342\200\230bash\\r\342\200\231: No such file",
         "its lines end as on Windows: sed -i 's/\\r$//' on the script"},
        {"a.sh: line 2: $'\\r': command not found",
         "its lines end as on Windows: sed -i 's/\\r$//' on the script"},
        {"/usr/bin/env: \342\200\230pyhton\342\200\231: No such file",
         "the first line of the script names 'pyhton'" SHEBANG},
        {"env: 'pyhton': No such file", "the first line of the script names 'pyhton'" SHEBANG},
        {"sh: 1: source: not found", SH ", and has no `source`: write . FILE"},
        {"sh: 1: [[: not found", BASH},
        {"sh: 1: Bad substitution", BASH},
        {"ModuleNotFoundError: No module named 'torch'",
         "the Python of the ranks has no 'torch': " BY_SETUP},
        {"ModuleNotFoundError: No module named 'a\033'",
         "the Python of the ranks has no 'a\\x1b': " BY_SETUP},
        {"ModuleNotFoundError: No module named ''", ""},
        {"RuntimeError: Torch not compiled with CUDA enabled",
         "the Python of the ranks has a torch without CUDA: install one with it, or state `device: "
         "cpu`"},
        {"terminate called without an active exception",
         "a thread of a library still ran when the program ended; with torch, call "
         "dist.destroy_process_group(), and gc.collect() once the model is no longer used"},
        {"./a: error while loading shared libraries: libx.so.1: cannot open",
         "the loader does not find libx.so.1: load its module, `setup: module load NAME`, or set "
         "`env: {LD_LIBRARY_PATH: FOLDER}`"},
        {"No such file or directory: 'data/x.csv'", "'data/x.csv'" IN_FOLDER},
        {"No such file or directory: 'x.csv'", "'x.csv'" IN_FOLDER},
        {"No such file or directory: '/data/x.csv'", ""},
        {"No such file or directory: 'git'", ""}, /* may be a program */
        {"No such file or directory: '" PATH_80 "'", "'" PATH_80 "'" IN_FOLDER},
        {"No such file or directory: '" PATH_80 "3'", ""},
        {"nothing that is known", ""},
        {"", ""}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        FAKE_ENDS(fake, "1");
        fake_write_rank(&fake, 0, "stderr.log", vectors[i].said);
        check_step(&fake, vectors[i].step);
    }
}

/* Its exception, then standard error, then standard output; and of a rank without a process what
 * was before it. */
TEST(looks_where_it_is_said)
{
    static const char full[] = "Disk quota exceeded";
    static const char step[] =
        "quota -s tells your limits; jobrun prune --keep 5 removes older runs";
    FAKE_ENDS(fake, "1");
    fake_write_rank(&fake, 0, "stdout.log", full);
    check_step(&fake, step);
    fake_ends(&fake, "1");
    fake_write_rank(&fake, 0, "stderr.log", "words\n");
    fake_write_rank(&fake, 0, "stdout.log", full);
    check_step(&fake, "");
    fake_ends(&fake, "1");
    fake_write_rank(&fake, 0, "error.json",
                    "{\"message\": {\"message\": \"OSError: Disk quota exceeded\", \"extraInfo\": "
                    "{\"py_callstack\": \"\", \"timestamp\": \"1800000000\"}}}");
    fake_write_rank(&fake, 0, "stderr.log", "words\n");
    check_step(&fake, step);
    for (int i = 0; i < 4; i++) {
        static const char *const names[] = {"attempt_0/helper.log", "node_0/attempt_0/helper.log",
                                            "attempt_0/setup.log", "node_0/attempt_0/setup.log"};
        fake_start(&fake, 1);
        (void)mkdirat(fake.fd, "node_0", 0700);
        (void)mkdirat(fake.fd, "node_0/attempt_0", 0700);
        fake.ends[0] = (struct jr_rank_outcome){.end = JR_END_START};
        fake_write(&fake, names[i], full);
        check_step(&fake, step);
    }
    fake_start(&fake, 1);
    fake.ends[0] = (struct jr_rank_outcome){.end = JR_END_START};
    fake_write_rank(&fake, 0, "stderr.log", full); /* of an earlier one */
    check_step(&fake, "");
}

TEST(goes_by_what_shells_say)
{
    static const struct {
        int code;
        const char *said, *step;
    } vectors[] = {
        {127, "sh: 1: train: not found",
         "a program of the working directory is called ./NAME; `setup: module load NAME` loads "
         "what has it"},
        {126, "sh: 1: ./train: Permission denied", "make the program executable: chmod +x"},
        {1, "sh: 1: train: not found", ""},
        {127, "words", ""},
        {126, "words", ""},
        {127, "Permission denied", ""}};
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        FAKE(fake, 1);
        fake_exit(&fake, 0, vectors[i].code);
        fake_write_rank(&fake, 0, "stderr.log", vectors[i].said);
        check_step(&fake, vectors[i].step);
    }
}

TEST(goes_by_the_signal)
{
    static const struct {
        int signal;
        const char *step;
    } vectors[] = {
        {SIGKILL, "journalctl -k or dmesg tells whether the kernel ran out of memory"},
        {SIGBUS, "a mapped file was cut short, or /dev/shm is full: df -h /dev/shm"},
        {SIGILL,
         "the program was built for another kind of CPU, or is damaged: build it on this machine"},
        {SIGSEGV, "--debug 7 gives this rank a terminal of its own, for gdb or pdb"},
        {SIGFPE, "--debug 7 gives this rank a terminal of its own, for gdb or pdb"},
        {SIGTERM, ""},
        {SIGUSR1, ""}};
    struct fake fake;
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        fake_start(&fake, 1);
        fake_signal(&fake, 0, vectors[i].signal);
        fake.ranks[0].rank = 7;
        check_step(&fake, vectors[i].step);
        fake_start(&fake, 1); /* a rehearsal: it is known who did it */
        fake_signal(&fake, 0, vectors[i].signal);
        fake.plan.inject = "kill@0";
        check_step(&fake, "");
    }
    fake_start(&fake, 1);
    fake_signal(&fake, 0, SIGKILL);
    fake.ends[0].oom = true;
    check_step(&fake, "allow more memory (`engine: {slurm: {mem: 64G}}`, or the limit of the "
                      "container), or run fewer ranks on a node");
    fake_start(&fake, 1); /* what it said goes first */
    fake_signal(&fake, 0, SIGSEGV);
    fake_write_rank(&fake, 0, "stderr.log", "Too many open files\n");
    struct jr_buf files JR_BUF_CLEANUP = JR_BUF_INIT;
    struct rlimit limit;
    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_NOFILE, &limit), 0);
    jr_buf_printf(&files,
                  "allow as many as the hard limit does, `limits: {nofile: %ju}`; where that is "
                  "not enough, raise it (limits.conf)",
                  (uintmax_t)limit.rlim_max);
    check_step(&fake, files.data);
}

/* Who typed a command has no spec to write a field into. */
TEST(is_an_option_where_there_is_no_spec)
{
    static const char *const rows[][2] = {
        {"Torch not compiled with CUDA", "the Python of the ranks has a torch without CUDA: "
                                         "install one with it, or state `-s device=cpu`"},
        {"ncclSystemError", "`-s env.NCCL_DEBUG=INFO` has NCCL say what failed"},
        {"env: 'pyhton': No such file",
         "the first line of the script names 'pyhton', which is not in PATH: correct it, or load "
         "what has it: `-s 'setup=module load NAME'`"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        FAKE(fake, 1);
        fake.plan.no_spec = true;
        fake_exit(&fake, 0, 1);
        fake_write_rank(&fake, 0, "stderr.log", rows[i][0]);
        check_step(&fake, rows[i][1]);
    }
}

/* Only where the rank lost a peer, and one had ended with 0 by then. */
TEST(names_who_left_early)
{
    for (int i = 0; i < 4; i++) {
        FAKE_ENDS(fake, "1 0 0");
        fake.ends[0].lost_peer = (i & 1) != 0;
        fake.ends[0].ended_ns = 20 * FAKE_SECOND;
        fake.ends[1].ended_ns = 30 * FAKE_SECOND;
        if ((i & 2) != 0) /* else it has left */
            fake.ends[2].ended_ns = 30 * FAKE_SECOND;
        check_step(
            &fake,
            i == 1
                ? "rank 2 left while the others went on, which breaks their connections: have all "
                  "ranks make the same number of steps, or wait for each other before they end"
                : "");
    }
}

/* The first rank whose result does not count says why for all. */
TEST(says_how_results_are_written)
{
    for (int i = 0; i < 3; i++) {
        FAKE(fake, 2);
        fake_judge(&fake);
        fake.report.ranks[1].state = i == 0 ? JR_RANK_SUCCEEDED : JR_RANK_INCOMPLETE;
        fake.report.ranks[0].unwritten = true; /* which matters to nobody */
        fake.report.ranks[1].unwritten = i == 2;
        CHECK_TOLD(&fake,
                   i < 2 ? ""
                         : "  try:        each rank writes JSON to the file that "
                           "JOBRUN_RESULT_FILE names; `results: {from: stdout}` and `results: "
                           "{pattern: REGEX}` read it from the output\n",
                   jr_print_result_step(&page));
    }
}
