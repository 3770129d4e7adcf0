/*
 * Each row is a text that says what was the matter whichever program wrote it. The advice is one
 * that helps in all cases that the text stands for; where there is none, nothing is said.
 */
#include "report/next_step.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>

#include "judge/judge.h"
#include "store/run_folder.h"

#include "base/setting_words.h"

#include "base/banned.h"

enum { TAIL_LINES = 10, LONGEST_NAME = 80, MOST_TEXTS = 4 };

struct known {
    const char *texts[MOST_TEXTS]; /* any of them; what follows may be a name */
    const char *step;              /* "%s" is that name, up to what ends it; "%p" one that is
                                      a relative path, for a bare word may be a program */
    const char *ends;
};

static const struct known rows[] = {
    {{"\\r': No such file", "\\r\342\200\231: No such file", "\r': No such file",
      "$'\\r': command not found"},
     "its lines end as on Windows: sed -i 's/\\r$//' on the script",
     NULL},
    {{"env: \342\200\230", "env: '"},
     "the first line of the script names '%s', which is not in PATH: correct "
     "it, or load what has it: `" JR_SETTING("setup", "module load NAME") "`",
     "\342'\n"},
    {{"source: not found"},
     "/bin/sh reads `setup` and `shell`, and has no `source`: write . FILE",
     NULL},
    {{"module: not found", "module: command not found"},
     "make it known first: . /etc/profile.d/modules.sh, or lmod.sh; then module load",
     NULL},
    {{"conda: not found", "conda: command not found", "'conda init'"},
     "make it known first: . ~/miniconda3/etc/profile.d/conda.sh, or where it "
     "is installed; then conda activate",
     NULL},
    {{"[[: not found", "Bad substitution", "Syntax error: \"(\" unexpected"},
     "sh reads this, as it does `setup` and `shell`: for bash, write bash -c 'TEXT'",
     NULL},
    {{"ModuleNotFoundError: No module named '", "Error: No module named '"},
     "the Python of the ranks has no '%s': activate an environment that has it, "
     "`" JR_SETTING("setup", ". .venv/bin/activate") "`, or set `" JR_SETTING("env.PYTHONPATH",
                                                                              "FOLDER") "`",
     "'\n"},
    {{"CUDA out of memory", "HIP out of memory", "CUDA error: out of memory",
      "CUBLAS_STATUS_ALLOC_FAILED"},
     "use a smaller batch, or more devices; nvidia-smi or rocm-smi lists who else holds memory of "
     "this one",
     NULL},
    {{"Torch not compiled with CUDA"},
     "the Python of the ranks has a torch without CUDA: install one with it, "
     "or state `" JR_SETTING("device", "cpu") "`",
     NULL},
    {{"No CUDA GPUs are available", "no CUDA-capable device", "CUDA driver version is insufficient",
      "Found no NVIDIA driver"},
     "jobrun doctor lists the devices and drivers that are found here",
     NULL},
    {{"Address already in use", "EADDRINUSE"},
     "have the program listen on MASTER_PORT, which nobody has when the ranks start unless "
     "`master_port` is stated; ss -ltnp lists who holds a port",
     NULL},
    {{"insufficient shared memory (shm)"},
     "/dev/shm is too small: start the container with --shm-size=8g or "
     "--ipc=host, or load data with fewer workers",
     NULL},
    {{"No space left on device"},
     "df -h lists the full file system; jobrun prune --keep 5 removes older runs",
     NULL},
    {{"Disk quota exceeded"},
     "quota -s tells your limits; jobrun prune --keep 5 removes older runs",
     NULL},
    {{"error while loading shared libraries: "},
     "the loader does not find %s: load its module, `" JR_SETTING(
         "setup", "module load NAME") "`, or set `" JR_SETTING("env.LD_LIBRARY_PATH", "FOLDER") "`",
     ": \n"},
    {{"ncclUnhandledCudaError", "ncclSystemError", "ncclInternalError", "ncclRemoteError"},
     "`" JR_SETTING("env.NCCL_DEBUG", "INFO") "` has NCCL say what failed",
     NULL},
    {{"Duplicate GPU detected"},
     "two ranks use one device: call torch.cuda.set_device(int(os."
     "environ[\"LOCAL_RANK\"])), or set "
     "`" JR_SETTING("device_visibility", "one") "`",
     NULL},
    {{"invalid device ordinal"},
     "a rank asks for a device that is not there: start at most as many ranks "
     "on a node as it has devices, which jobrun doctor lists",
     NULL},
    {{"doesn't have NCCL built in", "no GPUs found"},
     "state `" JR_SETTING("backends", "gloo") "`, or install a torch with CUDA",
     NULL},
    {{"can't start new thread", "pthread_create failed", "fork: Resource temporarily unavailable"},
     "a limit on processes is reached: ulimit -u, or `" JR_SETTING("threads", "1") "`",
     NULL},
    {{"terminate called without an active exception"},
     "a thread of a library still ran when the program ended; with torch, call "
     "dist.destroy_process_group(), and gc.collect() once the model is no longer used",
     NULL},
    {{"version `GLIBC_"},
     "it was built on a newer system: build it here, or run it in a container",
     NULL},
    {{"can't open file '"},
     "there is no '%s': the ranks run in the folder of the spec, or without "
     "one in that of the caller, unless `" JR_SETTING("workdir", "FOLDER") "` says otherwise",
     "'\n"},
    {{"No such file or directory: '"},
     "'%p' is looked for in the working directory of the ranks: `" JR_SETTING(
         "workdir", "FOLDER") "` states another",
     "'\n"},
};

/* The first row whose text is in `said`, and where what follows it begins. */
static const struct known *find_known(const char *said, const char **ret_name)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t j = 0; j < MOST_TEXTS && rows[i].texts[j] != NULL; j++) {
            const char *found = strstr(said, rows[i].texts[j]);
            if (found == NULL)
                continue;
            *ret_name = found + strlen(rows[i].texts[j]);
            return &rows[i];
        }
    return NULL;
}

/* Where the name stands in a step; NULL: it has none. */
static const char *find_slot(const char *step)
{
    const char *slot = strstr(step, "%s");
    return slot != NULL ? slot : strstr(step, "%p");
}

/* Whether the name, of `len` bytes, can stand there. */
static bool fits_slot(const char *slot, const char *name, size_t len)
{
    bool relative =
        name[0] != '/' && (memchr(name, '/', len) != NULL || memchr(name, '.', len) != NULL);
    return len > 0 && len <= LONGEST_NAME && (slot[1] == 's' || relative);
}

/* Append the step, with the name in it. False where that cannot be one. */
static bool add_known(struct jr_buf *out, const struct known *row, const char *name)
{
    const char *slot = find_slot(row->step);
    size_t len = row->ends == NULL ? 0 : strcspn(name, row->ends);
    if (slot == NULL) {
        jr_buf_str(out, row->step);
        return true;
    }
    if (!fits_slot(slot, name, len))
        return false;
    jr_buf_add(out, row->step, (size_t)(slot - row->step));
    jr_buf_escaped(out, name, len);
    jr_buf_str(out, slot + 2);
    return true;
}

/* What shells say of a command that they cannot execute, by its exit code. */
static bool add_shell_step(struct jr_buf *out, const struct jr_rank_outcome *rank, const char *said)
{
    if (rank->end != JR_END_EXITED)
        return false;
    if (rank->exit_code == 127 && strstr(said, "not found") != NULL)
        jr_buf_str(out, "a program of the working directory is called ./NAME; "
                        "`" JR_SETTING("setup", "module load NAME") "` loads what has it");
    else if (rank->exit_code == 126 && strstr(said, "Permission denied"))
        jr_buf_str(out, "make the program executable: chmod +x");
    else
        return false;
    return true;
}

/* No more can be asked for than the hard limit, which is not the same everywhere. */
static bool add_files_step(struct jr_buf *out, const char *said)
{
    struct rlimit limit;
    if (strstr(said, "Too many open files") == NULL || getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return false;
    jr_buf_printf(out,
                  "allow as many as the hard limit does, `" JR_SETTING(
                      "limits.nofile", "%ju") "`; where that is not enough, raise it (limits.conf)",
                  (uintmax_t)limit.rlim_max);
    return true;
}

/* By the signal alone. */
static bool add_signal_step(struct jr_buf *out, const struct jr_rank_outcome *rank, uint32_t number)
{
    if (rank->oom)
        jr_buf_str(
            out, "allow more memory (`" JR_SETTING(
                     "engine.slurm.mem", "64G") "`, or the limit "
                                                "of the container), or run fewer ranks on a node");
    else if (rank->end != JR_END_SIGNALED)
        return false;
    else if (rank->signal == SIGKILL)
        jr_buf_str(out, "journalctl -k or dmesg tells whether the kernel ran out of memory");
    else if (rank->signal == SIGBUS)
        jr_buf_str(out, "a mapped file was cut short, or /dev/shm is full: df -h /dev/shm");
    else if (rank->signal == SIGILL)
        jr_buf_str(out, "the program was built for another kind of CPU, or is "
                        "damaged: build it on this machine");
    else if (rank->signal == SIGSEGV || rank->signal == SIGFPE)
        jr_buf_printf(out, "--debug %u gives this rank a terminal of its own, for gdb or pdb",
                      number);
    else
        return false;
    return true;
}

/* Where a rank lost a peer, and one had ended with 0 by then: which that is, the cause itself or
 * the first that was early; the count of all: none is. */
static size_t find_early(const struct jr_judgement *report, size_t i)
{
    size_t early = 0;
    if (jr_judgement_left(&report->ranks[i]))
        return i;
    if (!report->ranks[i].lost_peer)
        return report->count;
    while (early < report->count && !report->ranks[early].early)
        early++;
    return early;
}

static bool add_early_step(struct jr_buf *out, const struct jr_page *page, size_t i)
{
    size_t early = find_early(page->report, i);
    if (early == page->report->count)
        return false;
    jr_buf_printf(out,
                  "rank %u left while the others went on, which breaks their connections: have "
                  "all ranks make the same number of steps, or wait for each other before they end",
                  jr_plan_of(page->plan, early)->rank);
    return true;
}

/* What was before a rank that has no process. */
static void add_node_said(struct jr_buf *said, const struct jr_page *page, uint32_t node)
{
    static const char *const names[] = {JR_HELPER_LOG, JR_SETUP_LOG};
    for (size_t i = 0; i < 4; i++) {
        struct jr_buf path JR_BUF_CLEANUP = JR_BUF_INIT;
        if (i % 2 == 1)
            jr_buf_printf(&path, JR_NODE_DIR "/", node);
        jr_buf_printf(&path, "attempt_%u/%s", page->plan->attempt, names[i / 2]);
        if (!path.failed)
            jr_run_file_tail(said, page->run_fd, path.data, TAIL_LINES);
    }
}

/* What the rank has said: its exception, and the end of its log. */
static void add_said(struct jr_buf *said, const struct jr_page *page, size_t i)
{
    const struct jr_plan_rank *rank = jr_plan_of(page->plan, i);
    const struct jr_rank_judgement *judgement = &page->report->ranks[i];
    if (judgement->error != NULL)
        jr_buf_str(said, judgement->error);
    jr_buf_char(said, '\n');
    if (page->outcome->ranks[i].pid == 0)
        add_node_said(said, page, rank->node_rank);
    if (judgement->log_secret || page->outcome->ranks[i].pid == 0)
        return;
    if (rank->err_path != NULL)
        jr_run_file_tail(said, page->run_fd, rank->err_path, TAIL_LINES);
    if (rank->out_path != NULL && said->len < 2)
        jr_run_file_tail(said, page->run_fd, rank->out_path, TAIL_LINES);
}

/* A file that is beside the caller, where the end says that it was not found.
 */
static bool add_misplaced_step(struct jr_buf *out, const struct jr_page *page,
                               const struct jr_rank_outcome *rank, const char *said)
{
    if (page->plan->misplaced == NULL ||
        (rank->end != JR_END_START && strstr(said, page->plan->misplaced) == NULL))
        return false;
    jr_buf_safe(out, page->plan->misplaced_step);
    return true;
}

/* Add the line: settings are told as whoever reads it can type them. */
static void add_step(const struct jr_page *page, const char *step)
{
    jr_buf_printf(page->out, "  %-12s", "try:");
    jr_setting_words(page->out, step, page->plan->no_spec);
    jr_buf_char(page->out, '\n');
}

void jr_print_result_step(const struct jr_page *page)
{
    size_t i = jr_judgement_first(page->report, JR_RANK_INCOMPLETE);
    if (i < page->report->count && page->report->ranks[i].unwritten)
        add_step(
            page,
            "each rank writes JSON to the file that "
            "JOBRUN_RESULT_FILE names; `" JR_SETTING("results.from", "stdout") "` and `" JR_SETTING(
                "results.pattern", "REGEX") "` read it from the output");
}

void jr_print_next_step(const struct jr_page *page, size_t i)
{
    struct jr_buf said JR_BUF_CLEANUP = JR_BUF_INIT, step JR_BUF_CLEANUP = JR_BUF_INIT;
    const struct jr_rank_outcome *rank = &page->outcome->ranks[i];
    const char *name = NULL;
    add_said(&said, page, i);
    if (said.failed)
        return;
    const struct known *row = find_known(said.data, &name);
    bool known = add_misplaced_step(&step, page, rank, said.data) ||
                 (row != NULL && add_known(&step, row, name));
    known = known || add_files_step(&step, said.data) || add_early_step(&step, page, i) ||
            add_shell_step(&step, rank, said.data) ||
            (page->plan->inject == NULL && /* else it is known who did it */
             add_signal_step(&step, rank, jr_plan_of(page->plan, i)->rank));
    page->out->failed |= step.failed;
    if (known && !step.failed)
        add_step(page, step.data);
}
