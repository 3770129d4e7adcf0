#include "cluster/transport.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <jobrun/engine.h>

#include "base/io.h"
#include "base/rank_set.h"
#include "base/shell_words.h"
#include "base/strv.h"
#include "base/subprocess.h"
#include "cluster/controller.h"
#include "generated/version.h"
#include "spawn/program.h"

#include "base/banned.h"

int jr_carrier_start(struct jr_carrier *ret, char *const *argv, char *const *envp, bool dies)
{
    int ends[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    bool open = true;
    for (int i = 0; i < 3 && open; i++) {
        open = pipe2(ends[i], O_CLOEXEC) == 0 &&
               fcntl(ends[i][i == 0 ? 1 : 0], F_SETFL, O_NONBLOCK) == 0;
        if (open)
            (void)fcntl(ends[i][1], F_SETPIPE_SZ, 1 << 20);
    }
    /* The child's end of each pipe becomes its descriptor of the same number. */
    const int fds[3] = {ends[0][0], ends[1][1], ends[2][1]};
    const struct jr_subprocess program = {
        .argv = argv, .envp = envp, .fds = fds, .session = true, .dies = dies};
    pid_t pid = open ? jr_subprocess_start(&program) : -1;
    int failed = pid < 0 ? errno : 0;
    if (failed == 0) {
        *ret = (struct jr_carrier){pid, ends[0][1], ends[1][0], ends[2][0]};
        ends[0][1] = ends[1][0] = ends[2][0] = -1;
    }
    for (int i = 0; i < 6; i++)
        if (ends[i / 2][i % 2] >= 0)
            (void)close(ends[i / 2][i % 2]);
    return failed;
}

/* srun. */

/* clang-format off */
/* Input variables of srun(1) that come from a job's own options, or from a user's shell. */
static const char *const unwanted[] = {
    "SLURM_NTASKS*",      "SLURM_NPROCS",       "SLURM_TASKS_PER_NODE",
    "SLURM_CPUS_PER_TASK", "SLURM_CPU_BIND*",   "SLURM_DISTRIBUTION",
    "SLURM_EXACT",        "SLURM_OVERCOMMIT",   "SLURM_THREADS_PER_CORE",
    "SLURM_GPUS_PER_TASK", "SLURM_GPU_BIND",    "SLURM_TRES_PER_TASK",
    "SLURM_TRES_BIND",    "SLURM_NTASKS_PER_GPU", "SLURM_MEM_BIND*",
    "SLURM_LABELIO",      "SLURM_STDINMODE",    "SLURM_STDOUTMODE",
    "SLURM_STDERRMODE",   "SLURM_UNBUFFEREDIO", "SLURM_KILL_BAD_EXIT",
    "SLURM_WAIT",         "SLURM_MULTI_PROG",   "SLURM_MPI_TYPE",
    "SLURM_RELATIVE",     "SLURM_WORKING_DIR",  "SLURM_STEP_*",
    "SLURM_CORE_SPEC",    "SLURM_HINT",         "SLURM_ARBITRARY*",
    "SLURM_EXPORT_ENV",   "SLURM_PTY_*",        "SLURM_SPREAD_JOB",
    "SLURM_USE_MIN_NODES", "SRUN_*",
};
/* clang-format on */

char **jr_srun_words(struct jr_arena *arena, const struct jr_controller_options *options)
{
    uint32_t nodes = options->nodes;
    struct jr_strv words = {0};
    static const char *const fixed[] = {
        "--ntasks-per-node=1",  "--cpu-bind=none",   "--mpi=none", "--overlap",
        "--kill-on-bad-exit=0", "--no-kill",         "--wait=0",   "--export=ALL",
        "--input=all",          "--job-name=jobrun",
    };
    jr_strv_push(&words, arena, jr_arena_strdup(arena, "srun"));
    jr_strv_push(&words, arena, jr_arena_printf(arena, "--nodes=%u", nodes));
    jr_strv_push(&words, arena, jr_arena_printf(arena, "--ntasks=%u", nodes));
    if (options->only_hosts) { /* "--nodelist=n1,n3": those nodes and no others */
        struct jr_buf list JR_BUF_CLEANUP = JR_BUF_INIT;
        for (uint32_t i = 0; i < nodes; i++)
            jr_buf_printf(&list, "%s%s", i == 0 ? "--nodelist=" : ",", options->hosts[i]);
        jr_strv_push(&words, arena, jr_buf_keep(&list, arena));
    }
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        jr_strv_push(&words, arena, jr_arena_strdup(arena, fixed[i]));
    jr_strv_push(&words, arena, jr_arena_strdup(arena, options->program));
    jr_strv_push(&words, arena, jr_arena_strdup(arena, "agent"));
    return words.items;
}

/* In a container, a copied environment, or a shell that outlived its job. */
#define LEFT_OVER                                                                                  \
    "If the SLURM_* variables are left over from another shell, type `unset "                      \
    "SLURM_JOB_ID` first, or start all ranks here with --local"

char **jr_srun_environment(struct jr_arena *arena, char *const *envp)
{
    struct jr_strv env = {0};
    jr_strv_copy(&env, arena, envp);
    for (size_t i = 0; i < sizeof unwanted / sizeof *unwanted; i++)
        jr_env_unset(&env, unwanted[i]);
    return env.items;
}

static int start_srun(struct jr_carrier *ret, const struct jr_controller_options *options,
                      uint32_t node, struct jr_error *err)
{
    (void)node;
    struct jr_arena arena = JR_ARENA_INIT;
    char **words = jr_srun_words(&arena, options);
    char **env = jr_srun_environment(&arena, options->envp);
    int failed = arena.failed ? ENOMEM : jr_carrier_start(ret, words, env, false);
    jr_arena_release(&arena);
    errno = failed;
    if (failed == ENOENT)
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "srun is not in PATH; jobrun needs it to start on "
                            "the nodes of the allocation. " LEFT_OVER);
    return failed == 0 ? 0 : jr_error_sys(err, JR_STATUS_LAUNCH, "could not start srun");
}

/* What srun says on its standard error, where it is about nodes:
 *
 *   srun: error: n2: task 1: Killed
 *   srun: error: n[2-3]: tasks 1-2: Exited with exit code 1
 *   srun: error: Node failure on n2
 */
static const char digits[] = "0123456789";

/* Whether a line names `host`: as a word, not as a part of another. */
static bool line_names_host(const char *line, const char *host)
{
    size_t len = host == NULL ? 0 : strlen(host);
    const char *at = len == 0 ? NULL : strstr(line, host);
    for (; at != NULL; at = strstr(at + 1, host)) {
        bool begins = at > line && (at[-1] == ' ' || at[-1] == ',');
        if (begins && (at[len] == '\0' || strchr(" ,:", at[len]) != NULL))
            return true;
    }
    return false;
}

/* A task is a node: there is one on each. */
static bool line_names_task(const char *line, uint32_t node)
{
    const char *at = strstr(line, ": task ");
    JR_ARENA_CLEANUP struct jr_arena arena = JR_ARENA_INIT;
    struct jr_set tasks;
    const char *bad;
    if (at == NULL)
        at = strstr(line, ": tasks ");
    if (at == NULL)
        return false;
    at += strcspn(at, digits);
    size_t len = strspn(at, "0123456789-,");
    const char *text = jr_arena_strndup(&arena, at, len);
    return len > 0 && text != NULL && jr_set_parse(&tasks, &arena, text, &bad) && !tasks.all &&
           jr_set_has(&tasks, node);
}

static bool srun_lost(const char *line, uint32_t node, const char *host)
{
    static const char error[] = "srun: error: ";
    if (strncmp(line, error, sizeof error - 1) != 0)
        return false;
    const char *failure = strstr(line, "ode failure on ");
    return failure != NULL ? line_names_host(failure, host) : line_names_task(line, node);
}

/* Whether it is about a task: the node is there. */
static bool line_has_task(const char *line)
{
    return strstr(line, ": task") != NULL;
}

/* A line of no interest: that CPUs cannot be bound, which is not requested. */
static bool is_srun_line_idle(const char *line, size_t len)
{
    return memmem(line, len, "lacks support for cpu binding", 29) != NULL;
}

const struct jr_transport jr_srun_transport = {
    .program = "srun",
    .start = start_srun,
    .is_idle = is_srun_line_idle,
    .has_lost = srun_lost,
    .has_exited = line_has_task,
    .has_ended = "srun has ended",
    .nodes_hint = "squeue shows which nodes the job has now. " LEFT_OVER,
    .hang_hint = "squeue --steps shows whether its step is gone",
    .silent_hint = "see `scontrol show node ",
};

/* The program for hosts that have none. */

#define FILE_MOST  ((size_t)256 << 20)
#define FILES_MOST 1000u

static int add_copy_file(struct jr_copy *copy, const char *from, const char *path, bool executable,
                         struct jr_error *err)
{
    struct jr_buf bytes JR_BUF_CLEANUP = JR_BUF_INIT;
    if (jr_io_read_file(&bytes, AT_FDCWD, from, FILE_MOST, err) != 0)
        return jr_error_wrap(err, "%s cannot be copied to the hosts", from);
    struct jr_copy_file *file =
        jr_arena_push(&copy->arena, &copy->files, &copy->count, sizeof *file);
    if (file == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    *file = (struct jr_copy_file){.path = jr_arena_strdup(&copy->arena, path),
                                  .at = copy->bytes.len,
                                  .len = bytes.len,
                                  .executable = executable};
    jr_hash(file->hash, bytes.data, bytes.len);
    jr_buf_add(&copy->bytes, bytes.data, bytes.len);
    return 0;
}

static int compare_names(const FTSENT **one, const FTSENT **other)
{
    return strcmp((*one)->fts_name, (*other)->fts_name);
}

/* One entry of the folder. What is hidden, and what Python compiles, is left.
 */
static int add_entry(struct jr_copy *copy, FTS *tree, FTSENT *entry, size_t skipped,
                     struct jr_error *err)
{
    bool left = entry->fts_level > 0 &&
                (entry->fts_name[0] == '.' || strcmp(entry->fts_name, "__pycache__") == 0);
    if (left && entry->fts_info == FTS_D)
        (void)fts_set(tree, entry, FTS_SKIP);
    if (left || entry->fts_info != FTS_F || copy->count >= FILES_MOST)
        return 0;
    const char *path = jr_arena_printf(&copy->arena, "support%s", entry->fts_path + skipped);
    return path == NULL ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory")
                        : add_copy_file(copy, entry->fts_path, path,
                                        (entry->fts_statp->st_mode & 0100) != 0, err);
}

static int add_folder(struct jr_copy *copy, const char *folder, struct jr_error *err)
{
    char *roots[] = {jr_arena_strdup(&copy->arena, folder), NULL};
    FTS *tree =
        roots[0] == NULL ? NULL : fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, compare_names);
    FTSENT *entry;
    int failed = 0;
    if (tree == NULL)
        return jr_error_sys(err, JR_STATUS_LAUNCH, "could not read %s", folder);
    while (failed == 0 && (entry = fts_read(tree)) != NULL)
        failed = add_entry(copy, tree, entry, strlen(folder), err);
    (void)fts_close(tree);
    return failed;
}

int jr_copy_read(struct jr_copy *ret, const char *program, const char *support,
                 struct jr_error *err)
{
    struct utsname here = {0};
    struct jr_buf list JR_BUF_CLEANUP = JR_BUF_INIT;
    char hash[JR_HASH_SIZE];
    *ret = (struct jr_copy){.arena = JR_ARENA_INIT, .bytes = JR_BUF_INIT};
    (void)uname(&here);
    memcpy(ret->machine, here.machine, sizeof ret->machine - 1);
    if (add_copy_file(ret, program, "jobrun", true, err) != 0 ||
        (support != NULL && add_folder(ret, support, err) != 0))
        return -1;
    for (size_t i = 0; i < ret->count; i++)
        jr_buf_printf(&list, "%s  %s\n", ret->files[i].hash, ret->files[i].path);
    jr_hash(hash, list.len > 0 ? list.data : "", list.len);
    memcpy(ret->hash, hash, JR_COPY_NAME - 1);
    return ret->bytes.failed || list.failed || ret->arena.failed
               ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory")
               : 0;
}

void jr_copy_release(struct jr_copy *copy)
{
    jr_buf_release(&copy->bytes);
    jr_arena_release(&copy->arena);
}

/* The script: one line, because not every shell takes a word that has several (csh(1)). It has n,
 * v, h, a and z: node, version, hash, machine and bytes. */

/* Whatever is there and of this version is taken. */
static const char begin[] =
    "unset CDPATH; u=$(umask); umask 077; w=$PWD; say() { printf '\\n{\"n\":%s,\"t\":\"%s\"}\\n' "
    "\"$n\" \"$1\"; }; die() { printf '%s\\n' \"$1\" >&2; exit 127; }; no() { die \"cannot copy "
    "jobrun: $1\"; }; run() { cd \"$w\"; umask \"$u\"; say placed; exec \"$1\" agent ssh; }; if "
    "command -v \"$p\" >/dev/null 2>&1 && [ \"$(\"$p\" version </dev/null 2>/dev/null)\" = "
    "\"jobrun $v\" ]; then run \"$p\"; fi; [ \"$(uname -sm)\" = \"Linux $a\" ] || no \"that "
    "machine is $(uname -sm), and this program is for Linux $a\"; command -v sha256sum >/dev/null "
    "2>&1 || no 'there is no sha256sum, by which it is checked'; ";

/* Enter a folder, made if it is missing, that is the user's alone. */
static const char enter[] =
    "into() { [ ! -h \"$1\" ] || no \"$PWD/$1 is a link\"; [ -d \"$1\" ] || e=$(mkdir \"$1\" "
    "2>&1) || [ -d \"$1\" ] || no \"no room: $e\"; cd -P \"$1\" || no \"$PWD/$1 cannot be "
    "entered\"; set -f -- $(ls -ldn .); [ \"$3\" = \"$(id -u)\" ] || no \"$PWD belongs to user "
    "$3\"; case $1 in drwx------*) ;; *) no \"others may use $PWD\";; esac; set +f; }; ";

/* What another start on this machine has left half-way is removed. Two may copy at once: who comes
 * second finds the first one's copy. */
static const char receive[] =
    "copy() { o=$(uname -n); for f in .new.\"$o\".*; do [ ! -d \"$f\" ] || kill -0 \"${f##*.}\" "
    "2>/dev/null || rm -rf \"$f\"; done; t=.new.$o.$$; trap 'rm -rf \"$t\"' EXIT; trap 'exit 1' "
    "HUP INT TERM PIPE; e=$(mkdir \"$t\" 2>&1) || no \"no room: $e\"; say want; e=$(head -c "
    "\"$z\" 2>&1 >\"$t/all\") || no \"no room: $e\"; [ \"$(wc -c <\"$t/all\")\" -eq \"$z\" ] || "
    "exit 1; parts; rm -f \"$t/all\"; (cd \"$t\" && whole) || no 'what arrived is not what was "
    "sent'; if [ -e \"$d\" ]; then is_there || mv \"$d\" \"$t/old\"; fi; [ -e \"$d\" ] || mv "
    "\"$t\" \"$d\" || no \"$PWD/$d cannot be made\"; rm -rf \"$t\" \"$d/old\" \"$d/$t\"; trap - "
    "EXIT HUP INT TERM PIPE; }; part() { e=$({ tail -c \"+$1\" \"$t/all\" | head -c \"$2\" "
    ">\"$t/$4\"; } 2>&1) && chmod \"$3\" \"$t/$4\" || no \"no room: $e\"; }; room() { e=$(mkdir "
    "-p \"$t/$1\" 2>&1) || no \"no room: $e\"; }; ";

static const char end[] = "is_there() { (cd -P \"$d\" 2>/dev/null && whole); }; [ -n \"$HOME\" ] "
                          "|| no 'there is no home folder'; e=$(mkdir -p \"$HOME/.cache\" 2>&1) "
                          "|| no \"no room: $e\"; cd -P \"$HOME/.cache\" || no \"$HOME/.cache "
                          "cannot be entered\"; into jobrun; d=$v-$h; [ ! -h \"$d\" ] || no "
                          "\"$PWD/$d is a link\"; [ ! -d \"$d\" ] || (into \"$d\") || exit 127; "
                          "is_there || copy; into \"$d\"; whole || no \"$PWD is not as it was "
                          "made\"; e=$(./jobrun version </dev/null 2>&1); [ \"$e\" = \"jobrun "
                          "$v\" ] || die \"cannot run the copy of jobrun: $e\"; run "
                          "\"$PWD/jobrun\"";

/* Append the script for a host. It begins with the shell variable `p`, which is the program that is
 * looked for first; unless it is `stated`, PATH is searched, too. Whatever is there of this version
 * is used. */
static void add_copy_script(struct jr_buf *out, const struct jr_copy *copy, uint32_t node,
                            bool stated)
{
    jr_buf_printf(out, "n=%u; v=" JR_VERSION "; h=%s; a=%s; z=%zu; ", node, copy->hash,
                  copy->machine, copy->bytes.len);
    if (!stated)
        jr_buf_str(out, "[ -x \"$p\" ] || p=jobrun; ");
    jr_buf_str(out, begin);
    jr_buf_str(out, enter);
    /* The files by their hashes, as sha256sum(1) checks them. */
    jr_buf_str(out, "whole() { printf '%s  %s\\n'");
    for (size_t i = 0; i < copy->count; i++) {
        jr_buf_printf(out, " %s ", copy->files[i].hash);
        jr_shell_quote(out, copy->files[i].path);
    }
    jr_buf_str(out, " | sha256sum -c >/dev/null 2>&1; }; ");
    jr_buf_str(out, receive);
    /* What arrived as one is cut into its files. */
    jr_buf_str(out, "parts() { ");
    for (size_t i = 0; i < copy->count; i++) {
        const struct jr_copy_file *file = &copy->files[i];
        const char *slash = strrchr(file->path, '/');
        char *folder = slash == NULL ? NULL : strndup(file->path, (size_t)(slash - file->path));
        if (folder != NULL) {
            jr_buf_str(out, "room ");
            jr_shell_quote(out, folder);
            jr_buf_str(out, "; ");
        }
        free(folder);
        jr_buf_printf(out, "part %zu %zu %s ", file->at + 1, file->len,
                      file->executable ? "700" : "600");
        jr_shell_quote(out, file->path);
        jr_buf_str(out, "; ");
    }
    jr_buf_str(out, "}; ");
    jr_buf_str(out, end);
}

/* ssh. */

/* What one line of base64 holds of a channel: only one agent speaks through an ssh, so nothing is
 * mixed, and long lines cost less. */
#define SSH_PIECE (24U << 10)

/* For ssh_config(5), the first value of an option counts. These come before the user's words:
 * nobody is there to be asked, a connection is this run's alone, and the command is ours. */
static const char *const firm_options[] = {
    "-T", "-oBatchMode=yes", "-oControlMaster=no", "-oControlPath=none", "-oRemoteCommand=none",
};

/* And one of these after them. What ssh says of a connection that ends, as that nothing was heard
 * for ServerAliveInterval, it says as information. So it does with the banner of a host, and nobody
 * wants that with each log. */
static const char *const agent_options[] = {"-oLogLevel=INFO"};
static const char *const command_options[] = {"-oLogLevel=ERROR"};

/* Where neither the user's words nor the configuration, whose values `ssh -G` tells for the host,
 * state these: a host that does not answer is given up soon, and a link that is cut for half a
 * minute loses nothing. Some distributions have another default for ServerAliveInterval in batch
 * mode. */
static const char ssh_script[] = "stated=$(ssh -G -oBatchMode=no \"$@\" </dev/null 2>/dev/null)\n"
                                 "case $stated in\n"
                                 "*'connecttimeout '[0-9]*) ;;\n"
                                 "*) set -- -oConnectTimeout=10 \"$@\" ;;\n"
                                 "esac\n"
                                 "case $stated in\n"
                                 "*'serveraliveinterval '[1-9]*) ;;\n"
                                 "*) set -- -oServerAliveInterval=0 \"$@\" ;;\n"
                                 "esac\n"
                                 "exec ssh \"$@\"";

static const char *const shell_words[] = {"/bin/sh", "-c", ssh_script, "ssh"};

#define PUSH_ALL(words, arena, list)                                                               \
    for (size_t at_ = 0; at_ < sizeof(list) / sizeof *(list); at_++)                               \
    jr_strv_push(words, arena, jr_arena_strdup(arena, (list)[at_]))

/* A program that is named is that one; else it is where it is here, or in PATH.
 */
static void add_remote_script(struct jr_buf *out, const struct jr_ssh_start *start)
{
    const struct jr_ssh *ssh = start->ssh;
    bool stated = ssh->program != NULL;
    const char *path = stated ? ssh->program : start->program;
    bool home = strncmp(path, "~/", 2) == 0; /* the home folder there */
    jr_buf_str(out, home ? "p=\"$HOME\"/" : "p=");
    jr_shell_quote(out, home ? path + 2 : path);
    jr_buf_str(out, "; ");
    if (start->copy != NULL) {
        add_copy_script(out, start->copy, start->node, stated);
        return;
    }
    jr_buf_str(out, "q=$p; ");
    if (!stated)
        jr_buf_str(out, "[ -x \"$p\" ] || p=jobrun; ");
    jr_buf_printf(out,
                  "command -v \"$p\" >/dev/null 2>&1 || { printf '%%s\\n' \"there is no jobrun: "
                  "%s\" >&2; exit 127; }; exec \"$p\" agent ssh",
                  stated ? "$q" : "not as $q, nor in PATH");
}

const char *jr_ssh_command(struct jr_arena *arena, const struct jr_ssh_start *start)
{
    struct jr_buf script JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    if (start->command != NULL)
        jr_buf_str(&script, start->command);
    else
        add_remote_script(&script, start);
    jr_buf_str(&line, "exec sh -c ");
    if (!script.failed)
        jr_shell_quote(&line, script.data);
    line.failed |= script.failed;
    return jr_buf_keep(&line, arena);
}

static bool is_reached_without(const char *host)
{
    return strcmp(host, "localhost") == 0;
}

char **jr_ssh_words(struct jr_arena *arena, const struct jr_ssh_start *start)
{
    const struct jr_ssh *ssh = start->ssh;
    struct jr_strv words = {0};
    if (is_reached_without(start->host) && start->command == NULL) {
        jr_strv_push(&words, arena, jr_arena_strdup(arena, start->program));
        jr_strv_push(&words, arena, jr_arena_strdup(arena, "agent"));
        jr_strv_push(&words, arena, jr_arena_strdup(arena, "ssh"));
        return words.items;
    }
    PUSH_ALL(&words, arena, shell_words);
    PUSH_ALL(&words, arena, firm_options);
    for (uint32_t i = 0; i < ssh->options_count; i++)
        jr_strv_push(&words, arena, jr_arena_strdup(arena, ssh->options[i]));
    if (start->command == NULL)
        PUSH_ALL(&words, arena, agent_options);
    else
        PUSH_ALL(&words, arena, command_options);
    jr_strv_push(&words, arena, jr_arena_strdup(arena, "--"));
    jr_strv_push(&words, arena, jr_arena_strdup(arena, start->host));
    const char *command = jr_ssh_command(arena, start);
    if (command == NULL)
        arena->failed = true;
    else
        jr_strv_push(&words, arena, jr_arena_strdup(arena, command));
    return words.items;
}

static int start_ssh(struct jr_carrier *ret, const struct jr_controller_options *options,
                     uint32_t node, struct jr_error *err)
{
    struct jr_arena arena = JR_ARENA_INIT;
    struct jr_program ssh = {0};
    const struct jr_ssh_start start = {.ssh = options->ssh,
                                       .program = options->program,
                                       .host = options->hosts[node],
                                       .node = node,
                                       .copy = options->copy};
    bool here = is_reached_without(start.host);
    if (!here && jr_program_find(&ssh, "ssh", jr_env_get(options->envp, "PATH"), NULL))
        return jr_error_set(err, JR_STATUS_LAUNCH,
                            "ssh is not in PATH; jobrun needs it to start on "
                            "other hosts (Debian: openssh-client)");
    char **words = jr_ssh_words(&arena, &start);
    /* Whom nobody reads may never see that its input has ended. An agent that is here gives its
     * ranks their grace. */
    int failed = arena.failed ? ENOMEM : jr_carrier_start(ret, words, options->envp, !here);
    jr_arena_release(&arena);
    errno = failed;
    return failed == 0 ? 0 : jr_error_sys(err, JR_STATUS_LAUNCH, "could not start ssh");
}

/* What ssh says of a host that it does not reach, and what is to be done; of several, the first
 * counts. HOST stands for its name, SSH and COPY for ssh and ssh-copy-id with the user's options.
 */
static const char *const refusals[][2] = {
    {"REMOTE HOST IDENTIFICATION HAS CHANGED",
     "its key is not the one that this machine knows: ask why; if that is as "
     "it should be, type: ssh-keygen -R HOST; SSH HOST true"},
    {"host key is known for",
     "this machine does not know its key yet, and jobrun accepts none: look at "
     "it once with: SSH HOST true"},
    {"Host key verification failed",
     "this machine does not know its key, or another one: type: SSH HOST true"},
    {"Permission denied (", "jobrun never asks for a password: give it a key (COPY HOST), and "
                            "try: SSH -o BatchMode=yes HOST true"},
    {"there is no jobrun: ", "install it there, name it: -s engine.ssh.program=PATH, or have it "
                             "copied: -s engine.ssh.copy=true"},
    {"cannot copy jobrun: no room: ",
     "make room in the home folder there, or name one that is installed: -s "
     "engine.ssh.program=PATH"},
    {"cannot copy jobrun: that machine is ", "install jobrun for that machine, and name it: -s "
                                             "engine.ssh.program=PATH"},
    {"cannot copy jobrun: there is no ",
     "install jobrun there, and name it: -s engine.ssh.program=PATH"},
    {"cannot copy jobrun: ", "make it a folder that is the user's alone (chmod 700), remove it, or "
                             "name a jobrun that is installed: -s engine.ssh.program=PATH"},
    {"cannot run the copy of jobrun: ",
     "install what it needs there, or start the job with the program in one "
     "file, which needs nothing but the C library"},
    {"Could not resolve hostname",
     "is that its name? An alias belongs into ~/.ssh/config; try: SSH HOST true"},
};

static size_t find_refusal(const char *line)
{
    size_t i = 0;
    while (i < sizeof refusals / sizeof *refusals && strstr(line, refusals[i][0]) == NULL)
        i++;
    return i;
}

static bool is_ssh_line_telling(const char *line)
{
    return find_refusal(line) < sizeof refusals / sizeof *refusals;
}

/* The options that the user states, for a program that takes those of ssh, but -J only as -o. */
static void add_stated_options(struct jr_buf *out, const struct jr_ssh *ssh, bool jumps)
{
    for (uint32_t i = 0; ssh != NULL && i < ssh->options_count; i++) {
        const char *word = ssh->options[i];
        bool jump = !jumps && strncmp(word, "-J", 2) == 0;
        jr_buf_str(out, jump ? " -o ProxyJump=" : " ");
        if (!jump)
            jr_shell_quote(out, word);
        else if (word[2] != '\0')
            jr_shell_quote(out, word + 2);
        else if (++i < ssh->options_count)
            jr_shell_quote(out, ssh->options[i]);
    }
}

static void add_ssh_advice(struct jr_buf *out, const char *line, const char *host,
                           const struct jr_ssh *ssh)
{
    size_t i = find_refusal(line);
    const char *text =
        i < sizeof refusals / sizeof *refusals ? refusals[i][1] : "try: SSH HOST true";
    while (*text != '\0') {
        bool name = strncmp(text, "HOST", 4) == 0, copy = strncmp(text, "COPY", 4) == 0,
             program = strncmp(text, "SSH", 3) == 0;
        if (name)
            jr_buf_safe(out, host);
        else if (copy || program)
            jr_buf_str(out, copy ? "ssh-copy-id" : "ssh");
        else
            jr_buf_char(out, *text);
        if (copy || program)
            add_stated_options(out, ssh, program);
        text += program ? 3 : name || copy ? 4 : 1;
    }
}

static bool places_program(const struct jr_controller_options *options, uint32_t node)
{
    return options->copy != NULL && !is_reached_without(options->hosts[node]);
}

const struct jr_transport jr_ssh_transport = {
    .program = "ssh",
    .each = true,
    .piece = SSH_PIECE,
    .start = start_ssh,
    .is_telling = is_ssh_line_telling,
    .add_advice = add_ssh_advice,
    .places = places_program,
    .version_hint = "; have it copied there: -s engine.ssh.copy=true",
    .has_ended = "ssh has ended",
    .hang_hint = "log in there, and look for `jobrun agent`",
};
