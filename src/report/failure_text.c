/* How the ranks ended, which are to blame, and what to do about it: see internal.h. */
#include "report/internal.h"

#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/names.h"
#include "base/setting_words.h"
#include "judge/judge.h"
#include "judge/words.h"
#include "report/summary.h"
#include "store/outcome.h"
#include "store/progress.h"
#include "store/run_folder.h"

#include "base/banned.h"

enum {
    TAIL_LINES = 10,
    TAIL_COLUMNS = 200, /* bytes of one line that are shown */
    WHERE_COLUMN = 62,  /* where an exception's place begins */
    MOST_SET = 60,      /* bytes of a rank set that are shown */
    MOST_FOLLOWERS = 4, /* that are listed one by one */
    NODE_LOGS = 4
};

void jr_print_text(const struct jr_page *page, const char *text)
{
    if (text != NULL)
        jr_buf_safe(page->out, text);
}

/* A rank set, cut after a comma when it is long. */
static void add_set(struct jr_buf *out, const uint32_t *ranks, size_t count)
{
    JR_BUF_CLEANUP struct jr_buf set = JR_BUF_INIT;
    jr_words_ranks(&set, ranks, count);
    size_t cut = set.len;
    if (cut > MOST_SET)
        for (cut = MOST_SET; cut > 0 && set.data[cut - 1] != ',';)
            cut--;
    jr_buf_add(out, set.data, cut);
    if (cut < set.len)
        jr_buf_printf(out, "... (%zu ranks)", count);
}

/* Ranks in a state, except for the first cause. */
struct group {
    enum jr_rank_state state;
    /* KILLED: needed SIGKILL; CUT_OFF: jr_outcome_cut_off */
    enum { ALL, EARLY, NOT_EARLY, KILLED, CUT_OFF, NOT_CUT_OFF } which;
};

static bool is_in_group(const struct jr_page *page, size_t i, const struct group *group)
{
    const struct jr_judgement *report = page->report;
    if (report->ranks[i].state != group->state ||
        (report->causes_count > 0 && report->causes[0] == i))
        return false;
    if (group->which == KILLED)
        return page->outcome->ranks[i].killed;
    if (group->which == CUT_OFF || group->which == NOT_CUT_OFF)
        return jr_outcome_cut_off(&page->outcome->ranks[i]) == (group->which == CUT_OFF);
    return group->which == ALL || report->ranks[i].early == (group->which == EARLY);
}

/* Append the ranks of the group. Returns how many they are, and in *ret_first, unless it is NULL,
 * which is the first. */
static size_t add_group(struct jr_buf *out, const struct jr_page *page, const struct group *group,
                        size_t *ret_first)
{
    JR_FREE uint32_t *ranks = calloc(page->report->count + 1, sizeof *ranks);
    size_t count = 0;
    for (size_t i = 0; ranks != NULL && i < page->report->count; i++)
        if (is_in_group(page, i, group)) {
            if (count == 0 && ret_first != NULL)
                *ret_first = i;
            ranks[count++] = jr_plan_of(page->plan, i)->rank;
        }
    if (count > 0)
        add_set(out, ranks, count);
    return count;
}

size_t jr_print_ranks(struct jr_buf *out, const struct jr_page *page, enum jr_rank_state state)
{
    return add_group(out, page, &(struct group){state, ALL}, NULL);
}

static void print_identity(const struct jr_page *page, size_t i)
{
    const struct jr_plan_rank *rank = jr_plan_of(page->plan, i);
    struct utsname here;
    (void)uname(&here);
    jr_buf_printf(page->out, "  rank %u   node %u (", rank->rank, rank->node_rank);
    jr_print_text(page, jr_words_host(page->plan, rank->node_rank, &here));
    jr_buf_printf(page->out, ")   local %u", rank->local_rank);
    const char *before = "   "; /* the axes that are more than 1 long: "   data 1 model 0" */
    for (int axis = JR_AXIS_COUNT - 1; axis >= 0; axis--) {
        if (page->plan->axis_size[axis] < 2)
            continue;
        jr_buf_printf(page->out, "%s%s %u", before, jr_words_axis(axis), rank->at[axis]);
        before = " ";
    }
    if (page->outcome->ranks[i].pid != 0)
        jr_buf_printf(page->out, "   pid %d", (int)page->outcome->ranks[i].pid);
    jr_buf_printf(page->out, "   attempt %u\n", page->plan->attempt);
}

/* Where the exception was raised, after `width` bytes of its line. */
static void print_place(const struct jr_page *page, size_t i, size_t width)
{
    const char *where = page->report->ranks[i].where;
    if (where != NULL) {
        jr_buf_fill(page->out, ' ', width + 2 < WHERE_COLUMN ? WHERE_COLUMN - width : 2);
        jr_print_text(page, where);
    }
    jr_buf_char(page->out, '\n');
}

static void print_exception(const struct jr_page *page, size_t i)
{
    const struct jr_rank_judgement *rank = &page->report->ranks[i];
    if (rank->error_foreign) {
        jr_buf_str(page->out, "  warning: ");
        jr_print_text(page, jr_plan_of(page->plan, i)->error_path);
        jr_buf_str(page->out, " is incomplete, or not in the form that torch "
                              "and jobrun write; it was ignored\n");
    }
    if (rank->error_strange) {
        jr_buf_str(page->out, "  warning: ");
        jr_print_text(page, jr_plan_of(page->plan, i)->error_path);
        jr_buf_str(page->out, " was written by a process other than the rank, "
                              "and does not count\n");
    }
    if (!rank->error_file)
        return;
    jr_buf_str(page->out, "  ");
    size_t start = page->out->len;
    jr_print_text(page, rank->error);
    print_place(page, i, page->out->len - start);
    if (rank->behind == NULL)
        return;
    jr_buf_str(page->out, "    from ");
    jr_print_text(page, rank->behind);
    jr_buf_char(page->out, '\n');
}

/* One line of a log. Of a progress bar, the state that it was left in. */
static void print_log_line(const struct jr_page *page, const char *line, size_t len)
{
    if (len > 0 && line[len - 1] == '\r')
        len--;
    const char *bar = memrchr(line, '\r', len);
    if (bar != NULL) {
        len -= (size_t)(bar + 1 - line);
        line = bar + 1;
    }
    jr_buf_str(page->out, "    | ");
    jr_buf_escaped(page->out, line, len <= TAIL_COLUMNS ? len : TAIL_COLUMNS);
    jr_buf_str(page->out, len <= TAIL_COLUMNS ? "\n" : "...\n");
}

/* The last lines of one log; false when it holds none. */
static bool print_tail(const struct jr_page *page, const char *path, const char *stream)
{
    JR_BUF_CLEANUP struct jr_buf tail = JR_BUF_INIT;
    if (path != NULL)
        jr_run_file_tail(&tail, page->run_fd, path, TAIL_LINES);
    if (tail.len == 0)
        return false;
    jr_buf_printf(page->out, "  last lines of %s:\n", stream);
    const char *line = tail.data, *end = tail.data + tail.len;
    while (line < end) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t len = (size_t)((stop == NULL ? end : stop) - line);
        print_log_line(page, line, len);
        line += len + 1;
    }
    return true;
}

/* Append where the log of what was before a rank may be: its helper, and the setup, of the run or
 * of the node. Returns its name. */
static const char *add_node_log(struct jr_buf *out, const struct jr_page *page, uint32_t node,
                                size_t i)
{
    static const char *const names[] = {JR_HELPER_LOG, JR_SETUP_LOG};
    if (i % 2 == 1)
        jr_buf_printf(out, JR_NODE_DIR "/", node);
    jr_buf_printf(out, "attempt_%u/%s", page->plan->attempt, names[i / 2]);
    return names[i / 2];
}

/* What was before a rank that has no process. */
static void print_node_logs(const struct jr_page *page, uint32_t node)
{
    for (size_t i = 0; i < NODE_LOGS; i++) {
        JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
        const char *name = add_node_log(&path, page, node, i);
        if (!path.failed && print_tail(page, path.data, name))
            return;
    }
}

/* The ranks beside the cause, those that lost a peer or the others, as a set;
 * `ret` has room for all. */
static size_t find_failed_together(const struct jr_page *page, bool lost, uint32_t *ret)
{
    const struct jr_judgement *report = page->report;
    size_t count = 0;
    bool cause_lost = report->ranks[report->causes[0]].lost_peer;
    for (size_t i = 0; i < report->count; i++)
        if (report->ranks[i].state == JR_RANK_FAILED && report->causes[0] != i &&
            (report->ranks[i].lost_peer && !cause_lost) == lost)
            ret[count++] = (uint32_t)i;
    return count;
}

static void print_followers(const struct jr_page *page, uint32_t *places, size_t count)
{
    if (count == 0)
        return;
    jr_buf_str(page->out, "  together with it (too close to order, and of a "
                          "kind that a dead peer causes):\n");
    size_t shown = count > MOST_FOLLOWERS ? MOST_FOLLOWERS : count;
    for (size_t c = 0; c < shown; c++) {
        size_t i = places[c], start = page->out->len;
        jr_buf_printf(page->out, "    rank %u   ", jr_plan_of(page->plan, i)->rank);
        if (page->report->ranks[i].error != NULL)
            jr_print_text(page, page->report->ranks[i].error);
        else
            jr_words_rank_end(page->out, &page->outcome->ranks[i]);
        print_place(page, i, page->out->len - start);
    }
    if (shown == count)
        return;
    for (size_t c = shown; c < count; c++)
        places[c] = jr_plan_of(page->plan, places[c])->rank;
    jr_buf_str(page->out, "    and so did ");
    add_set(page->out, places + shown, count - shown);
    jr_buf_char(page->out, '\n');
}

static void print_failed_together(const struct jr_page *page)
{
    JR_BUF_CLEANUP struct jr_buf set = JR_BUF_INIT;
    JR_FREE uint32_t *places = calloc(page->report->count + 1, sizeof *places);
    if (places == NULL)
        return;
    size_t count = find_failed_together(page, false, places);
    for (size_t c = 0; c < count; c++)
        places[c] = jr_plan_of(page->plan, places[c])->rank;
    if (count > 0) {
        add_set(&set, places, count);
        jr_buf_printf(page->out,
                      "  together:   %s failed with it, too close to tell which was first\n",
                      set.data);
    }
    print_followers(page, places, find_failed_together(page, true, places));
}

/* Its last lines are above. The very last one stays, where no exception stands in its place. */
static void print_last_line(const struct jr_page *page, size_t i)
{
    const struct jr_plan_rank *rank = jr_plan_of(page->plan, i);
    JR_BUF_CLEANUP struct jr_buf tail = JR_BUF_INIT;
    JR_BUF_CLEANUP struct jr_buf prefix = JR_BUF_INIT;
    jr_buf_str(&prefix, rank->prefix == NULL ? "" : rank->prefix);
    while (prefix.len > 0 && prefix.data[prefix.len - 1] == ' ')
        prefix.data[--prefix.len] = '\0';
    jr_buf_str(page->out, "  last lines of stderr: above");
    jr_buf_str(page->out, prefix.len > 0 ? ", behind " : "");
    if (prefix.len > 0)
        jr_print_text(page, prefix.data);
    jr_buf_char(page->out, '\n');
    if (page->report->ranks[i].error_file || rank->err_path == NULL)
        return;
    jr_run_file_tail(&tail, page->run_fd, rank->err_path, 1);
    while (tail.len > 0 && tail.data[tail.len - 1] == '\n')
        tail.len--;
    if (tail.len > 0)
        print_log_line(page, tail.data, tail.len);
}

static void print_output(const struct jr_page *page, size_t i)
{
    const struct jr_plan_rank *rank = jr_plan_of(page->plan, i);
    const bool *silent = page->outcome->ranks[i].silent;
    if (page->report->ranks[i].log_secret) {
        jr_buf_str(page->out, "  the last lines of its logs contain the value "
                              "of a secret, and are not shown\n");
        return;
    }
    if (page->outcome->ranks[i].on_screen) {
        print_last_line(page, i);
        return;
    }
    if (!print_tail(page, rank->err_path, "stderr") &&
        !print_tail(page, rank->out_path, "stdout") && (rank->err_path != NULL || silent[1]) &&
        (rank->out_path != NULL || silent[0]))
        jr_buf_str(page->out, "  it wrote nothing to stdout and stderr\n");
}

void jr_print_rank(const struct jr_page *page, size_t i)
{
    const struct jr_plan_rank *rank = jr_plan_of(page->plan, i);
    print_identity(page, i);
    print_exception(page, i);
    /* How it was lost; of one that left, what it did not deliver. */
    const struct jr_rank_judgement *verdict = &page->report->ranks[i];
    bool left = jr_judgement_left(verdict);
    const char *how = left ? verdict->reason : verdict->error;
    if ((page->outcome->ranks[i].end == JR_END_LOST || left) && how != NULL) {
        jr_buf_str(page->out, "  ");
        jr_print_text(page, how);
        jr_buf_char(page->out, '\n');
    }
    if (page->outcome->ranks[i].pid == 0)
        print_node_logs(page, rank->node_rank);
    else if (!page->report->ranks[i].unstarted) /* else it has said no more */
        print_output(page, i);
}

void jr_print_cause(const struct jr_page *page)
{
    jr_print_rank(page, page->report->causes[0]);
    print_failed_together(page);
}

static bool holds_something(const struct jr_page *page, const char *path)
{
    JR_BUF_CLEANUP struct jr_buf tail = JR_BUF_INIT;
    if (path != NULL)
        jr_run_file_tail(&tail, page->run_fd, path, 1);
    return tail.len > 0;
}

const char *jr_print_log(const struct jr_page *page, const struct jr_plan_rank *rank)
{
    if (holds_something(page, rank->err_path))
        return rank->err_path;
    return holds_something(page, rank->out_path) ? rank->out_path : NULL;
}

/* " (SIGTERM; rank 6 needed SIGKILL; rank 2 died by SIGSEGV)" */
static void add_stopped_ranks(struct jr_buf *out, const struct jr_page *page, size_t first,
                              size_t count)
{
    (void)first;
    (void)count;
    JR_BUF_CLEANUP struct jr_buf killed = JR_BUF_INIT;
    int signal = 0;
    char name[JR_SIGNAL_NAME];
    for (size_t i = 0; signal == 0 && i < page->report->count; i++)
        if (page->report->ranks[i].state == JR_RANK_STOPPED)
            signal = page->outcome->ranks[i].stopped_with;
    size_t needed = add_group(&killed, page, &(struct group){JR_RANK_STOPPED, KILLED}, NULL);
    size_t crashed = 0; /* the first that died by something else */
    while (crashed < page->report->count &&
           (page->report->ranks[crashed].state != JR_RANK_STOPPED ||
            !jr_words_crashed(&page->outcome->ranks[crashed])))
        crashed++;
    if (signal == 0 && needed == 0)
        return;
    jr_signal_name(name, signal == 0 ? SIGKILL : signal);
    jr_buf_printf(out, " (%s", name);
    if (signal != 0 && signal != SIGKILL && needed > 0)
        jr_buf_printf(out, "; %s needed SIGKILL", killed.data);
    if (crashed < page->report->count) {
        jr_buf_printf(out, "; rank %u ", jr_plan_of(page->plan, crashed)->rank);
        jr_words_rank_end(out, &page->outcome->ranks[crashed]);
    }
    jr_buf_char(out, ')');
}

/* ": exited with code 1", for several with the number of the first. */
static void add_first_end(struct jr_buf *out, const struct jr_page *page, size_t i, size_t count)
{
    const char *error = page->report->ranks[i].error;
    jr_buf_str(out, ": ");
    if (count > 1)
        jr_buf_printf(out, "rank %u ", jr_plan_of(page->plan, i)->rank);
    if (page->outcome->ranks[i].end == JR_END_START && error != NULL)
        jr_buf_safe(out, error);
    else
        jr_words_rank_end(out, &page->outcome->ranks[i]);
}

static void add_reason(struct jr_buf *out, const struct jr_page *page, size_t i, size_t count)
{
    const char *reason = page->report->ranks[i].reason;
    if (reason == NULL)
        return;
    jr_buf_str(out, ": ");
    if (count > 1)
        jr_buf_printf(out, "rank %u: ", jr_plan_of(page->plan, i)->rank);
    jr_buf_safe(out, reason);
}

/* " its checkpoint: its steps of this attempt, up to step 57, are lost" */
static void add_lost_steps(struct jr_buf *out, const struct jr_page *page, size_t first,
                           size_t count)
{
    const struct jr_progress *progress = page->outcome->progress;
    const char *whose = count == 1 ? "its" : "their";
    (void)first;
    jr_buf_printf(out, " %s checkpoint", whose);
    if (progress == NULL || !progress->job.any)
        return;
    jr_buf_printf(out, ": %s steps of this attempt, up to step %" PRId64 ", are lost", whose,
                  progress->job.best);
}

struct end_kind {
    struct group group;
    const char *text;
    void (*detail)(struct jr_buf *out, const struct jr_page *page, size_t first, size_t count);
};

/* How those had ended that had by the first failure. */
static const struct end_kind early_kinds[] = {
    {{JR_RANK_INCOMPLETE, EARLY}, "had ended with 0 without delivering", add_reason},
    {{JR_RANK_SUCCEEDED, EARLY}, "had ended with 0", NULL},
};

/* The ends in the order in which they are printed. */
static const struct end_kind kinds[] = {
    {{JR_RANK_STOPPED, ALL}, "stopped by jobrun", add_stopped_ranks},
    {{JR_RANK_AFTER_FIRST_FAILURE, ALL}, "failed after the first failure", add_first_end},
    {{JR_RANK_INCOMPLETE, NOT_EARLY}, "ended with 0 but did not deliver", add_reason},
    {{JR_RANK_NOT_STARTED, ALL}, "not started", NULL},
    {{JR_RANK_YIELDED, CUT_OFF}, "preempted before", add_lost_steps},
    {{JR_RANK_YIELDED, NOT_CUT_OFF}, "stopped for the deadline", NULL},
    {{JR_RANK_SUCCEEDED, NOT_EARLY}, "succeeded", NULL},
};

/* Print a line for each kind that there is, with the label before the first. */
static void print_kinds(const struct jr_page *page, const char *label, const struct end_kind *list,
                        size_t count)
{
    for (const struct end_kind *kind = list; kind < list + count; kind++) {
        JR_BUF_CLEANUP struct jr_buf set = JR_BUF_INIT;
        size_t first = 0, ranks = add_group(&set, page, &kind->group, &first);
        if (ranks == 0)
            continue;
        jr_buf_printf(page->out, "  %-*s%s %s", label == NULL ? 0 : 12, label == NULL ? "" : label,
                      set.data, kind->text);
        if (kind->detail != NULL)
            kind->detail(page->out, page, first, ranks);
        jr_buf_char(page->out, '\n');
        label = label == NULL ? NULL : "";
    }
}

void jr_print_early(const struct jr_page *page)
{
    print_kinds(page, "by then:", early_kinds, sizeof early_kinds / sizeof *early_kinds);
}

void jr_print_others(const struct jr_page *page, const char *label)
{
    print_kinds(page, label, kinds, sizeof kinds / sizeof *kinds);
}

/* What to do next. Each row is a text that says what was the matter whichever program wrote it. The
 * advice is one that helps in all cases that the text stands for; where there is none, nothing is
 * said. */

enum { LONGEST_NAME = 80, MOST_TEXTS = 4 };

struct known {
    const char *texts[MOST_TEXTS]; /* any of them; what follows may be a name */
    const char *step;              /* "%s" is that name, up to what ends it; "%p" one that is
                                      a relative path, for a bare word may be a program */
    const char *ends;
};

static const struct known known_texts[] = {
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
    for (size_t i = 0; i < sizeof known_texts / sizeof *known_texts; i++)
        for (size_t j = 0; j < MOST_TEXTS && known_texts[i].texts[j] != NULL; j++) {
            const char *found = strstr(said, known_texts[i].texts[j]);
            if (found == NULL)
                continue;
            *ret_name = found + strlen(known_texts[i].texts[j]);
            return &known_texts[i];
        }
    return NULL;
}

/* Append the step, with the name in it. False where that cannot be one. */
static bool add_known(struct jr_buf *out, const struct known *row, const char *name)
{
    const char *slot = strstr(row->step, "%s"); /* where the name stands; NULL: it has none */
    slot = slot != NULL ? slot : strstr(row->step, "%p");
    size_t len = row->ends == NULL ? 0 : strcspn(name, row->ends);
    if (slot == NULL) {
        jr_buf_str(out, row->step);
        return true;
    }
    bool relative =
        name[0] != '/' && (memchr(name, '/', len) != NULL || memchr(name, '.', len) != NULL);
    if (len == 0 || len > LONGEST_NAME || (slot[1] != 's' && !relative))
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

/* Where a rank lost a peer, and one had ended with 0 by then: the cause itself, or the first that
 * was early. */
static bool add_early_step(struct jr_buf *out, const struct jr_page *page, size_t i)
{
    const struct jr_judgement *report = page->report;
    size_t early = 0;
    if (jr_judgement_left(&report->ranks[i]))
        early = i;
    else
        while (early < report->count && !(report->ranks[i].lost_peer && report->ranks[early].early))
            early++;
    if (early == report->count)
        return false;
    jr_buf_printf(out,
                  "rank %u left while the others went on, which breaks their connections: have "
                  "all ranks make the same number of steps, or wait for each other before they end",
                  jr_plan_of(page->plan, early)->rank);
    return true;
}

/* What the rank has said: its exception, and the end of its log. */
static void add_said(struct jr_buf *said, const struct jr_page *page, size_t i)
{
    const struct jr_plan_rank *rank = jr_plan_of(page->plan, i);
    const struct jr_rank_judgement *judgement = &page->report->ranks[i];
    if (judgement->error != NULL)
        jr_buf_str(said, judgement->error);
    jr_buf_char(said, '\n');
    for (size_t n = 0; n < NODE_LOGS && page->outcome->ranks[i].pid == 0; n++) {
        JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
        (void)add_node_log(&path, page, rank->node_rank, n);
        if (!path.failed)
            jr_run_file_tail(said, page->run_fd, path.data, TAIL_LINES);
    }
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
    jr_setting_words(page->out, step, page->plan->no_spec ? "-s" : NULL);
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
