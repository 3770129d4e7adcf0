/* What ssh is started with, what a shell makes of the command for the host, and what is said of a
 * host that is not reached. */
#include "cluster/transport.h"

#include <sys/wait.h>

#include <jobrun/engine.h>

#include "base/shell_words.h"
#include "cluster/controller.h"
#include "scratch.h"

static char jump[] = "-J", gate[] = "gate";

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
         true}};
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
    JR_ASSERT_TEXT(text.data, "jobrun never asks for a password: give it a key (ssh-copy-id -p "
                              "2222 -o ProxyJump=gate '-oIdentityFile=a b' gpu01), and try: ssh -p "
                              "2222 -J gate '-oIdentityFile=a b' -o BatchMode=yes gpu01 true");
}
