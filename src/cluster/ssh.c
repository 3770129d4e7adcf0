#include "cluster/ssh.h"

#include <errno.h>
#include <string.h>

#include <jobrun/engine.h>

#include "base/shell_words.h"
#include "base/strv.h"
#include "cluster/controller.h"
#include "cluster/copy.h"
#include "spawn/program.h"

#include "base/banned.h"

/* What one line of base64 holds of a channel: only one agent speaks through an ssh, so nothing is
 * mixed, and long lines cost less. */
#define PIECE (24U << 10)

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

/* Append a path, of which a first `~` is the home folder there. */
static void add_remote_path(struct jr_buf *out, const char *path)
{
    bool home = strncmp(path, "~/", 2) == 0;
    if (home)
        jr_buf_str(out, "\"$HOME\"/");
    jr_shell_quote(out, home ? path + 2 : path);
}

/* A program that is named is that one; else it is where it is here, or in PATH.
 */
static void add_remote_script(struct jr_buf *out, const struct jr_ssh_start *start)
{
    const struct jr_ssh *ssh = start->ssh;
    bool stated = ssh->program != NULL;
    jr_buf_str(out, "p=");
    add_remote_path(out, stated ? ssh->program : start->program);
    jr_buf_str(out, "; ");
    if (start->copy != NULL) {
        jr_copy_add_script(out, start->copy, start->node, stated);
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
struct refusal {
    const char *part, *advice;
};

static const struct refusal refusals[] = {
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
    while (i < sizeof refusals / sizeof *refusals && strstr(line, refusals[i].part) == NULL)
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
        i < sizeof refusals / sizeof *refusals ? refusals[i].advice : "try: SSH HOST true";
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
    .piece = PIECE,
    .start = start_ssh,
    .is_telling = is_ssh_line_telling,
    .add_advice = add_ssh_advice,
    .places = places_program,
    .version_hint = "; have it copied there: -s engine.ssh.copy=true",
    .has_ended = "ssh has ended",
    .hang_hint = "log in there, and look for `jobrun agent`",
};
