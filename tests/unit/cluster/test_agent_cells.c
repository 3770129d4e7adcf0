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
                                         .cells = &cells};
    (void)dup2(in, STDIN_FILENO);
    (void)dup2(out, STDOUT_FILENO);
    (void)close(in);
    (void)close(out);
    int result = jr_agent_serve(&calls, &(struct jr_sender){.node = NODE}, "n2", &err);
    _exit(result == 0 ? 0 : 9);
}

/* The controller's side: agent_peer.h. */

static void tell(const struct peer *peer, const struct jr_message *message)
{
    struct jr_buf text = JR_BUF_INIT;
    jr_message_put(&text, message);
    CU_ASSERT_EQUAL(write(peer->to, text.data, text.len), (ssize_t)text.len);
    jr_buf_release(&text);
}

static void tell_cell(const struct peer *peer, int64_t node, const char *cell, const char *what)
{
    tell(peer,
         &(struct jr_message){.type = JR_TO_NODES_CELL, .as = node, .cell = cell, .spec = what});
}

static void start(struct peer *peer)
{
    start_peer_after(peer, "");
    JR_ASSERT_TEXT(next_word_but_heartbeats(peer), "hello");
    tell(peer, &(struct jr_message){.type = JR_TO_NODES_SERVE});
}

/* The next word is that a cell has ended so. */
static void check_end(struct peer *peer, const char *cell, int code)
{
    JR_ASSERT_TEXT(next_word_but_heartbeats(peer), "cell_ended");
    JR_ASSERT_TEXT(jr_json_get_str(peer->word, "cell"), cell);
    CU_ASSERT_EQUAL(jr_json_get_int(peer->word, "status"), code);
}

static void end(struct peer *peer)
{
    CU_ASSERT_EQUAL(end_peer(peer), 0);
}

TEST(runs_cells_of_its_node)
{
    struct peer peer;
    start(&peer);
    tell_cell(&peer, NODE + 1, "6", "note");
    tell_cell(&peer, NODE, "7", "note");
    check_end(&peer, "7", 3);
    JR_ASSERT_TEXT(jr_json_get_str(peer.word, "devices"), "0,2");
    JR_ASSERT_TEXT(peer.streams[JR_CHANNEL_NOTE].data, "a line\n");
    end(&peer);
}

/* What is said of a cell comes behind what it has said itself. */
TEST(says_what_is_known_of_an_end)
{
    struct peer peer;
    start(&peer);
    tell_cell(&peer, NODE, "8", "die");
    check_end(&peer, "8", 9);
    JR_ASSERT_TEXT(peer.streams[JR_CHANNEL_NOTE].data, "a line\nit was killed\n");
    tell_cell(&peer, NODE, "9", "note");
    check_end(&peer, "9", 3);
    JR_ASSERT_TEXT(peer.streams[JR_CHANNEL_NOTE].data, "a line\nit was killed\na line\n");
    end(&peer);
}

/* Before cells come, it looks whether their folder is there. */
TEST(says_whether_it_sees_the_folder)
{
    struct peer peer;
    struct jr_message word = {.type = JR_TO_NODES_SHARE,
                              .cells = "/runs/s/cells",
                              .token = "0f",
                              .collect = "results,logs"};
    start(&peer);
    tell(&peer, &word);
    JR_ASSERT_TEXT(next_word_but_heartbeats(&peer), "ready");
    CU_ASSERT_FALSE(jr_json_get_bool(peer.word, "on"));
    word.token = "10";
    tell(&peer, &word);
    JR_ASSERT_TEXT(next_word_but_heartbeats(&peer), "ready");
    CU_ASSERT_TRUE(jr_json_get_bool(peer.word, "on"));
    word.token = "11";
    tell(&peer, &word);
    JR_ASSERT_TEXT(next_word_but_heartbeats(&peer), "refuse");
    CU_ASSERT_EQUAL(jr_json_get_int(peer.word, "status"), JR_STATUS_LAUNCH);
    end(&peer);
}

/* It is more than pipe and outbox hold. */
TEST(hands_on_what_a_cell_has_left)
{
    struct peer peer;
    start(&peer);
    tell_cell(&peer, NODE, "7", "leave");
    check_end(&peer, "7", LEFT);
    CU_ASSERT_TRUE(jr_json_get_bool(peer.word, "on"));
    CU_ASSERT_EQUAL(peer.streams[JR_CHANNEL_LEFT].len, LEFT_BYTES);
    tell_cell(&peer, NODE, "8", "note");
    check_end(&peer, "8", 3);
    CU_ASSERT_FALSE(jr_json_get_bool(peer.word, "on"));
    end(&peer);
}

TEST(wants_the_code_of_cells)
{
    static const struct jr_message word = {.type = JR_TO_NODES_SHARE,
                                           .cells = "/runs/s/cells",
                                           .token = "10",
                                           .collect = "results,logs",
                                           .on = true};
    struct jr_message code = {.type = JR_TO_NODES_CODE, .bytes = "YWI="};
    struct peer peer;
    start(&peer);
    tell(&peer, &word);
    JR_ASSERT_TEXT(next_word_but_heartbeats(&peer), "want");
    tell(&peer, &code);
    code = (struct jr_message){.type = JR_TO_NODES_CODE, .on = true};
    tell(&peer, &code);
    JR_ASSERT_TEXT(next_word_but_heartbeats(&peer), "ready");
    CU_ASSERT_TRUE(jr_json_get_bool(peer.word, "on"));
    tell(&peer, &word);
    JR_ASSERT_TEXT(next_word_but_heartbeats(&peer), "want");
    code = (struct jr_message){.type = JR_TO_NODES_CODE, .bytes = "no"};
    tell(&peer, &code);
    JR_ASSERT_TEXT(next_word_but_heartbeats(&peer), "refuse");
    end(&peer);
}

TEST(says_why_it_refuses)
{
    struct peer peer;
    start(&peer);
    tell_cell(&peer, NODE, "7", "refuse");
    check_end(&peer, "7", JR_STATUS_UNRESOLVED);
    JR_ASSERT_TEXT(peer.streams[JR_CHANNEL_NOTE].data, "cell 7: not here\n");
    end(&peer);
}

TEST(hands_on_signals)
{
    struct peer peer;
    start(&peer);
    tell_cell(&peer, NODE, "7", "wait");
    tell_cell(&peer, NODE, "8", "wait");
    tell(&peer, &(struct jr_message){.type = JR_TO_NODES_SIGNAL, .signal = SIGTERM, .cell = "8"});
    check_end(&peer, "8", 128 + SIGTERM);
    tell(&peer, &(struct jr_message){.type = JR_TO_NODES_SIGNAL, .signal = SIGUSR1});
    check_end(&peer, "7", 128 + SIGUSR1);
    end(&peer);
}

/* Whenever it is asked for a sign of life. */
TEST(tells_how_far_cells_are)
{
    struct peer peer;
    start(&peer);
    tell_cell(&peer, NODE, "7", "wait");
    tell_cell(&peer, NODE, "8", "wait");
    tell(&peer, &(struct jr_message){.type = JR_TO_NODES_HEARTBEAT});
    tell(&peer, &(struct jr_message){.type = JR_TO_NODES_SIGNAL, .signal = SIGTERM});
    JR_ASSERT_TEXT(next_word_but_heartbeats(&peer), "cell_ended");
    JR_ASSERT_TEXT(peer.streams[JR_CHANNEL_PROGRESS].data, "7: 3/7\n8: 3/7\n");
    end(&peer);
}

/* The cluster ends the step: no other cell is to begin. */
TEST(tells_that_the_cluster_ends_it)
{
    struct peer peer;
    start(&peer);
    tell_cell(&peer, NODE, "7", "wait");
    tell_cell(&peer, NODE, "8", "note"); /* once this is over, 7 runs */
    check_end(&peer, "8", 3);
    (void)kill(peer.pid, SIGTERM);
    JR_ASSERT_TEXT(next_word_but_heartbeats(&peer), "terminated");
    check_end(&peer, "7", 128 + SIGTERM);
    end(&peer);
}

TEST(ends_cells_with_its_input)
{
    struct peer peer;
    start(&peer);
    tell_cell(&peer, NODE, "7", "wait");
    tell_cell(&peer, NODE, "8", "note");
    check_end(&peer, "8", 3);
    (void)close(peer.to);
    peer.to = -1;
    check_end(&peer, "7", 128 + SIGTERM);
    end(&peer);
}

/* All of it comes before the end of the cell, also where the console is full.
 */
TEST(hands_on_what_ranks_print)
{
    struct peer peer;
    start(&peer);
    tell_cell(&peer, NODE, "7", "print");
    check_end(&peer, "7", 3);
    JR_ASSERT_TEXT(peer.streams[JR_CHANNEL_OUT].data, "loss 1\n");
    JR_ASSERT_TEXT(peer.streams[JR_CHANNEL_ERR].data, "a warning\n");
    tell(&peer, &(struct jr_message){.type = JR_TO_NODES_HOLD, .on = true});
    tell_cell(&peer, NODE, "8", "print");
    check_end(&peer, "8", 3);
    JR_ASSERT_TEXT(peer.streams[JR_CHANNEL_OUT].data, "loss 1\nloss 1\n");
    end(&peer);
}
