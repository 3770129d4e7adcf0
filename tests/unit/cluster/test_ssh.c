/* What ssh is started with, what a shell makes of the command for the host, and what is said of a
 * host that is not reached. */
#include "cluster/transport.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jobrun/engine.h>

#include "base/shell_words.h"
#include "cluster/controller.h"
#include "scratch.h"

static char jump[] = "-J", gate[] = "gate", limit[] = "-oConnectTimeout=3";

/* The words with a blank between, but for the command and the shell that makes the line of them. */
static void check_words(const struct jr_ssh *ssh, const char *host, const char *expected)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    const struct jr_ssh_start start = {.ssh = ssh, .program = "/opt/jobrun", .host = host};
    char **words = jr_ssh_words(&arena, &start);
    CU_ASSERT_PTR_NOT_NULL_FATAL(words);
    size_t first = strcmp(words[0], "/bin/sh") == 0 ? 3 : 0;
    for (size_t i = first; words[i] != NULL && strncmp(words[i], "exec ", 5); i++)
        jr_buf_printf(&text, "%s%s", i == first ? "" : " ", words[i]);
    JR_ASSERT_TEXT(text.data, expected);
}

TEST(the_users_words_stand_between_ours)
{
    char *options[] = {jump, gate, limit};
    const struct jr_ssh plain = {0}, stated = {.options = options, .options_count = 3};
    check_words(&plain, "gpu01",
                "ssh -T -oBatchMode=yes -oControlMaster=no -oControlPath=none "
                "-oRemoteCommand=none -oLogLevel=INFO -- gpu01");
    check_words(&stated, "fe80::1",
                "ssh -T -oBatchMode=yes -oControlMaster=no -oControlPath=none "
                "-oRemoteCommand=none -J gate -oConnectTimeout=3 -oLogLevel=INFO -- fe80::1");
    check_words(&stated, "localhost", "/opt/jobrun agent ssh");
}

/* What is printed by the command for a host, run by a shell here. */
static void run_command(const struct scratch *scratch, const char *command, char ret[static 1024])
{
    struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_buf_printf(&line,
                  "cd '%s'; HOME='%s/home' PATH='%s/path:/bin:/usr/bin'; export HOME PATH; %s 2>&1",
                  scratch->dir, scratch->dir, scratch->dir, command);
    FILE *pipe = popen(line.data, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(pipe);
    size_t len = fread(ret, 1, 1023, pipe);
    ret[len] = '\0';
    int status = pclose(pipe);
    CU_ASSERT_TRUE(WIFEXITED(status));
    (void)snprintf(ret + len, 1024 - len, "%d", WEXITSTATUS(status));
}

/* What is set where nobody states it: `ssh -G` tells what is stated, by the user's words or the
 * configuration. */
TEST(leaves_alone_what_is_stated)
{
    static const struct {
        const char *told, *set;
    } vectors[] = {
        {"user u\nconnecttimeout none\nserveraliveinterval 0\n",
         "-oServerAliveInterval=0 -oConnectTimeout=10 "},
        {"connecttimeout 60\nserveraliveinterval 0\n", "-oServerAliveInterval=0 "},
        {"serveraliveinterval 15\nconnecttimeout none\n", "-oConnectTimeout=10 "},
        {"serveraliveinterval 300\nconnecttimeout 5\n", ""},
        {"", "-oServerAliveInterval=0 -oConnectTimeout=10 "}, /* too old */
    };
    SCRATCH(scratch);
    (void)mkdirat(scratch.fd, "path", 0700);
    scratch_write(&scratch, "path/ssh",
                  "#!/bin/sh\n[ \"$1\" != -G ] || exec cat told\n"
                  "for w; do case $w in exec*) ;; *) printf '%s ' \"$w\" ;; esac; done\n");
    CU_ASSERT_EQUAL(fchmodat(scratch.fd, "path/ssh", 0700, 0), 0);
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
        struct jr_buf line JR_BUF_CLEANUP = JR_BUF_INIT;
        const struct jr_ssh plain = {0};
        char out[1024], expected[1024];
        scratch_write(&scratch, "told", vectors[i].told);
        const struct jr_ssh_start start = {
            .ssh = &plain, .program = "/opt/jobrun", .host = "gpu01"};
        char **words = jr_ssh_words(&arena, &start);
        for (size_t k = 0; words[k] != NULL; k++) {
            jr_buf_str(&line, k == 0 ? "" : " ");
            jr_shell_quote(&line, words[k]);
        }
        run_command(&scratch, line.data, out);
        (void)snprintf(expected, sizeof expected,
                       "%s-T -oBatchMode=yes -oControlMaster=no -oControlPath=none "
                       "-oRemoteCommand=none -oLogLevel=INFO -- gpu01 0",
                       vectors[i].set);
        JR_ASSERT_TEXT(out, expected);
    }
}

static void put_program(const struct scratch *scratch, const char *folder, const char *name,
                        const char *says)
{
    char path[128], text[128];
    (void)mkdirat(scratch->fd, folder, 0700);
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    (void)snprintf(text, sizeof text, "#!/bin/sh\necho %s \"$@\"\n", says);
    scratch_write(scratch, path, text);
    CU_ASSERT_EQUAL(fchmodat(scratch->fd, path, 0700, 0), 0);
}

/* Where a program is looked for; %s is the folder. */
TEST(finds_the_program)
{
    static const struct {
        const char *stated, *here, *expected;
    } vectors[] = {
        {NULL, "%s/o'p t/jobrun", "same agent ssh\n0"},
        {NULL, "%s/gone/jobrun", "in path agent ssh\n0"},
        {"~/jobrun", "%s/o'p t/jobrun", "home agent ssh\n0"},
        {"own", "%s/o'p t/jobrun", "own agent ssh\n0"},
        {"/no where/jobrun", "%s/o'p t/jobrun", "there is no jobrun: /no where/jobrun\n127"},
        {"$(touch made)", "/x", "there is no jobrun: $(touch made)\n127"},
    };
    SCRATCH(scratch);
    put_program(&scratch, "o'p t", "jobrun", "same");
    put_program(&scratch, "path", "jobrun", "in path");
    put_program(&scratch, "path", "own", "own");
    put_program(&scratch, "home", "jobrun", "home");
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
        char here[128], out[1024];
        const char *at = strstr(vectors[i].here, "%s");
        (void)snprintf(here, sizeof here, "%s%s", at ? scratch.dir : "",
                       at ? at + 2 : vectors[i].here);
        const struct jr_ssh ssh = {.program = (char *)(uintptr_t)vectors[i].stated};
        const struct jr_ssh_start start = {.ssh = &ssh, .program = here};
        const char *command = jr_ssh_command(&arena, &start);
        CU_ASSERT_PTR_NOT_NULL_FATAL(command);
        run_command(&scratch, command, out);
        JR_ASSERT_TEXT(out, vectors[i].expected);
    }
    CU_ASSERT_NOT_EQUAL(faccessat(scratch.fd, "made", F_OK, 0), 0);
}

/* Neither there nor in PATH. */
TEST(says_that_there_is_none)
{
    struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
    const struct jr_ssh ssh = {0};
    const struct jr_ssh_start start = {.ssh = &ssh, .program = "/no 'where'/jobrun"};
    char out[1024];
    SCRATCH(scratch);
    run_command(&scratch, jr_ssh_command(&arena, &start), out);
    JR_ASSERT_TEXT(out, "there is no jobrun: not as /no 'where'/jobrun, nor in PATH\n127");
}

TEST(advises_by_what_ssh_says)
{
    static const struct {
        const char *line, *advice;
        bool telling;
    } vectors[] = {
        {"ssh: connect to host a port 22: No route to host", "try: ssh gpu01 true", false},
        {"u@a: Permission denied (publickey).",
         "jobrun never asks for a password: give it a key (ssh-copy-id gpu01), "
         "and try: ssh -o BatchMode=yes gpu01 true",
         true},
        {"bash: /x: Permission denied", "try: ssh gpu01 true", false},
        {"Host key verification failed.",
         "this machine does not know its key, or another one: type: ssh gpu01 true", true},
        {"there is no jobrun: /x",
         "install it there, name it: -s engine.ssh.program=PATH, or have it "
         "copied: -s engine.ssh.copy=true",
         true},
        {"cannot copy jobrun: no room: head: No space left on device",
         "make room in the home folder there, or name one that is installed: "
         "-s engine.ssh.program=PATH",
         true},
        {"cannot copy jobrun: /home/u/.cache/jobrun is a link",
         "make it a folder that is the user's alone (chmod 700), remove it, or "
         "name a jobrun that is installed: -s engine.ssh.program=PATH",
         true},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
        jr_ssh_transport.add_advice(&text, vectors[i].line, "gpu01", NULL);
        JR_ASSERT_TEXT(text.data, vectors[i].advice);
        CU_ASSERT_EQUAL(jr_ssh_transport.is_telling(vectors[i].line), vectors[i].telling);
    }
}

TEST(advises_with_the_options_that_are_stated)
{
    static char port[] = "-p", number[] = "2222", file[] = "-oIdentityFile=a b";
    static char *words[] = {port, number, jump, gate, file};
    const struct jr_ssh ssh = {.options = words, .options_count = 5};
    struct jr_buf text JR_BUF_CLEANUP = JR_BUF_INIT;
    jr_ssh_transport.add_advice(&text, "Permission denied (publickey).", "gpu01", &ssh);
    JR_ASSERT_TEXT(text.data,
                   "jobrun never asks for a password: give it a key (ssh-copy-id -p 2222 "
                   "-o ProxyJump=gate '-oIdentityFile=a b' gpu01), and try: "
                   "ssh -p 2222 -J gate '-oIdentityFile=a b' -o BatchMode=yes gpu01 true");
}

TEST(says_that_ssh_is_missing)
{
    static char localhost[] = "localhost", other[] = "n1";
    struct jr_carrier carrier;
    struct jr_error err = {0};
    char *hosts[] = {other, localhost};
    char path[128], *const envp[] = {path, NULL};
    const struct jr_ssh ssh = {0};
    const struct jr_controller_options options = {
        .program = "/nowhere/jobrun", .hosts = hosts, .envp = envp, .ssh = &ssh};
    SCRATCH(scratch);
    (void)snprintf(path, sizeof path, "PATH=%s", scratch.dir);
    CU_ASSERT_EQUAL(jr_ssh_transport.start(&carrier, &options, 0, &err), -1);
    JR_ASSERT_TEXT(err.text, "ssh is not in PATH; jobrun needs it to start on "
                             "other hosts (Debian: openssh-client)");
    CU_ASSERT_EQUAL(err.status, JR_STATUS_LAUNCH);
    /* This machine is reached without it. */
    CU_ASSERT_EQUAL(jr_ssh_transport.start(&carrier, &options, 1, &err), -1);
    JR_ASSERT_TEXT(err.text, "could not start ssh: No such file or directory");
}

/* Instead of the agent; there is no jobrun to be found for it. */
TEST(runs_another_command)
{
    static const char *const hosts[] = {"gpu01", "localhost"};
    for (size_t i = 0; i < 2; i++) {
        struct jr_arena arena RELEASE(jr_arena_release) = JR_ARENA_INIT;
        const struct jr_ssh plain = {0};
        const struct jr_ssh_start start = {
            .ssh = &plain, .host = hosts[i], .command = "exec cat one"};
        char **words = jr_ssh_words(&arena, &start);
        CU_ASSERT_PTR_NOT_NULL_FATAL(words);
        size_t count = 0;
        while (words[count] != NULL)
            count++;
        JR_ASSERT_TEXT(words[count - 2], hosts[i]);
        JR_ASSERT_TEXT(words[count - 1], "exec sh -c 'exec cat one'");
    }
}
