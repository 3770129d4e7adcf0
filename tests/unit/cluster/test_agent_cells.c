/* A real agent in a process of its own, at two pipes, that is given cells of a sweep: its hooks do
 * what the spec of a cell says. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster/agent.h"
#include "cluster/protocol.h"
#include "agent_peer.h"
#include "unit.h"

enum { MOST = 8, LEFT_BYTES = 300000, LEFT = 4 };

/* The agent's side. */

struct hooks {
    pid_t pids[MOST];
    char cells[MOST][16];
    size_t count;
};

static int hook_describe(void *data, struct jr_buf *out, struct jr_error *err)
{
    (void)data;
    (void)err;
    jr_buf_str(out, "cpus: 4\n");
    return 0;
}

static uint32_t hook_offer(void *data)
{
    (void)data;
    return 0;
}

static _Noreturn void run_cell(const char *what, const struct jr_agent_cell_ends *ends)
{
    sigset_t set;
    int sig = 0;
    (void)sigfillset(&set);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    if (write(ends->notes_fd, "a line\n", 7) != 7 ||
        (strcmp(what, "print") == 0 &&
         (write(ends->out_fd, "loss 1\n", 7) != 7 || write(ends->err_fd, "a warning\n", 10) != 10)))
        _exit(1);
    for (int i = 0; strcmp(what, "leave") == 0 && i < LEFT_BYTES / 10; i++)
        if (write(ends->left_fd, "0123456789", 10) != 10)
            _exit(1);
    if (strcmp(what, "leave") == 0)
        _exit(LEFT);
    while (strcmp(what, "wait") == 0 && sig != SIGTERM && sig != SIGUSR1)
        (void)sigwait(&set, &sig);
    if (strcmp(what, "die") == 0)
        _exit(9);
    _exit(sig == 0 ? 3 : 128 + sig);
}

static int hook_begin(void *data, const struct jr_message *cell,
                      const struct jr_agent_cell_ends *ends, struct jr_error *err)
{
    struct hooks *hooks = data;
    if (strcmp(cell->spec, "refuse") == 0)
        return jr_error_set(err, JR_STATUS_UNRESOLVED, "not here");
    pid_t pid = fork();
    if (pid == 0)
        run_cell(cell->spec, ends);
    hooks->pids[hooks->count] = pid;
    (void)snprintf(hooks->cells[hooks->count++], 16, "%s", cell->cell);
    return 0;
}

static bool hook_next_end(void *data, struct jr_agent_cell_end *ret)
{
    struct hooks *hooks = data;
    int status;
    pid_t pid = waitpid(-1, &status, WNOHANG);
    for (size_t i = 0; pid > 0 && i < hooks->count; i++) {
        if (hooks->pids[i] != pid)
            continue;
        (void)snprintf(ret->cell, sizeof ret->cell, "%s", hooks->cells[i]);
        ret->code = WEXITSTATUS(status);
        ret->note = ret->code == 9 ? strdup("it was killed\n") : NULL;
        ret->gone = ret->code == 3 ? strdup("0,2") : NULL;
        ret->sent = ret->code == LEFT;
        hooks->count--;
        hooks->pids[i] = hooks->pids[hooks->count];
        memmove(hooks->cells[i], hooks->cells[hooks->count], 16);
        return true;
    }
    return false;
}

static void hook_signal(void *data, const char *cell, int sig)
{
    const struct hooks *hooks = data;
    for (size_t i = 0; i < hooks->count; i++)
        if (cell == NULL || strcmp(hooks->cells[i], cell) == 0)
            (void)kill(hooks->pids[i], sig);
}

static void hook_leave(void *data)
{
    hook_signal(data, NULL, SIGTERM);
}

static size_t hook_count(void *data)
{
    const struct hooks *hooks = data;
    return hooks->count;
}

static void hook_progress(void *data, struct jr_buf *out)
{
    const struct hooks *hooks = data;
    for (size_t i = 0; i < hooks->count; i++)
        jr_buf_printf(out, "%s: 3/7\n", hooks->cells[i]);
}

/* Tokens of a folder that is seen, and of one that is not. */
static int hook_share(void *data, const struct jr_message *word, bool *ret_apart,
                      struct jr_error *err)
{
    (void)data;
    *ret_apart = strcmp(word->token, "10") == 0 && strcmp(word->collect, "results,logs") == 0;
    return strcmp(word->cells, "/runs/s/cells") == 0 &&
                   (*ret_apart || strcmp(word->token, "0f") == 0)
               ? word->on ? JR_AGENT_WANTS_CODE : 0
               : jr_error_set(err, JR_STATUS_LAUNCH, "it cannot be made");
}

/* Code that is "no" cannot be taken. */
static int hook_take_code(void *data, const struct jr_message *code, struct jr_error *err)
{
    (void)data;
    return code->bytes == NULL || strcmp(code->bytes, "no") != 0
               ? 0
               : jr_error_set(err, JR_STATUS_LAUNCH, "there is no room");
}

static _Noreturn void serve(int in, int out)
{
    struct hooks hooks = {0};
    struct jr_error err = {0};
    static const struct jr_agent_cell_hooks cells = {
        hook_share, hook_begin, hook_next_end, hook_signal, hook_leave, hook_count, hook_progress};
    const struct jr_agent_hooks calls = {.data = &hooks,
                                         .describe = hook_describe,
                                         .offer = hook_offer,
                                         .take_code = hook_take_code,
                                         .cells = &cells,
                                         .cells_data = &hooks};
    (void)dup2(in, STDIN_FILENO);
    (void)dup2(out, STDOUT_FILENO);
    (void)close(in);
    (void)close(out);
    int result = jr_agent_serve(&calls, &(struct jr_sender){.node = NODE}, "n2", &err);
    _exit(result == 0 ? 0 : 9);
}

/* The cases: NODE is 3. */

#define SERVE             "> {'t':'serve'}\n"
#define CELL(cell, what)  "> {'t':'cell','as':3,'cell':'" cell "','spec':'" what "'}\n"
#define ENDED(cell, code) "< cell_ended\n# cell " cell "\n# status " code "\n"

TEST(runs_cells_of_its_node)
{
    play(SERVE "> {'t':'cell','as':4,'cell':'6','spec':'note'}\n" CELL("7", "note")
             ENDED("7", "3") "# devices 0,2\n= note a line|\n");
}

/* All of it comes before the end of the cell, also where the console is full. */
TEST(hands_on_what_ranks_print)
{
    play(SERVE CELL("7", "print") ENDED("7", "3") "= out loss 1|\n= err a warning|\n"
                                                  "> {'t':'hold','on':true}\n" CELL("8", "print")
                                                      ENDED("8", "3") "= out loss 1|\n");
}

/* It is more than pipe and outbox hold. */
TEST(hands_on_what_a_cell_has_left)
{
    struct peer peer;
    start_peer_after(&peer, "");
    play_on(&peer, "< hello\n" SERVE CELL("7", "leave") ENDED("7", "4") "# on true\n");
    CU_ASSERT_EQUAL(peer.streams[JR_CHANNEL_LEFT].len, LEFT_BYTES);
    play_on(&peer, CELL("8", "note") ENDED("8", "3") "# on false\n");
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
}

#define SHARE(token, more)                                                                         \
    "> {'t':'share','cells':'/runs/s/cells','token':'" token "','collect':'results,logs'" more "}" \
    "\n"

TEST(wants_the_code_of_cells)
{
    play(SERVE SHARE(
        "10", ",'on':true") "< want\n> {'t':'code','b':'YWI='}\n"
                            "> {'t':'code','on':true}\n< ready\n# on true\n" SHARE(
                                "10", ",'on':true") "< want\n> {'t':'code','b':'no'}\n< refuse\n");
}

/* What is said of a cell comes behind what it has said itself. */
TEST(says_what_is_known_of_an_end)
{
    play(SERVE CELL("8", "die") ENDED("8", "9") "= note a line|it was killed|\n" CELL("9", "note")
             ENDED("9", "3") "= note a line|\n");
}

TEST(says_why_it_refuses)
{
    play(SERVE CELL("7", "refuse") ENDED("7", "4") "= note cell 7: not here|\n");
}

/* Before cells come, it looks whether their folder is there. */
TEST(says_whether_it_sees_the_folder)
{
    play(SERVE SHARE("0f", "") "< ready\n# on false\n" SHARE("10", "") "< ready\n# on true\n" SHARE(
        "11", "") "< refuse\n# status 7\n");
}

TEST(hands_on_signals)
{
    play(SERVE CELL("7", "wait")
             CELL("8", "wait") "> {'t':'signal','signal':15,'cell':'8'}\n" ENDED(
                 "8", "143") "> {'t':'signal','signal':10}\n" ENDED("7", "138"));
}

/* Whenever it is asked for a sign of life. */
TEST(tells_how_far_cells_are)
{
    play(SERVE CELL("7", "wait") CELL(
        "8", "wait") "> {'t':'heartbeat'}\n"
                     "> {'t':'signal','signal':15}\n< cell_ended\n= progress 7: 3/7|8: 3/7|\n");
}

/* The cluster ends the step: no other cell is to begin. Once cell 8 is over, 7 runs. */
TEST(tells_that_the_cluster_ends_it)
{
    play(SERVE CELL("7", "wait") CELL("8", "note")
             ENDED("8", "3") "! 15\n< terminated\n" ENDED("7", "143"));
}

TEST(ends_cells_with_its_input)
{
    play(SERVE CELL("7", "wait") CELL("8", "note") ENDED("8", "3") ".\n" ENDED("7", "143"));
}
