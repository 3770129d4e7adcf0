/*
 * A real agent in a process of its own at two pipes, and the controller's side of them. Who
 * includes it has serve(), which is that process.
 */
#ifndef AGENT_PEER_H
#define AGENT_PEER_H

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/inlet.h"
#include "cluster/protocol.h"
#include "unit.h"

enum { NODE = 3, WAIT_MS = 60000 }; /* NODE: the index of the agent */

static _Noreturn void serve(int in, int out);

struct peer {
    pid_t pid;
    int to, from;
    struct jr_inlet inlet;
    struct jr_buf streams[JR_CHANNEL_COUNT];
    char noise[64]; /* the last line that was no frame */
    json_t *word;   /* the one that came last */
};

/* `before` is what stands on its output when it begins. */
static inline void start_peer_after(struct peer *peer, const char *before)
{
    int to[2], from[2];
    *peer = (struct peer){0};
    CU_ASSERT_EQUAL_FATAL(pipe2(to, O_CLOEXEC), 0);
    CU_ASSERT_EQUAL_FATAL(pipe2(from, O_CLOEXEC), 0);
    peer->pid = fork();
    if (peer->pid == 0) {
        (void)close(to[1]);
        (void)close(from[0]);
        CU_ASSERT_EQUAL(write(from[1], before, strlen(before)), (ssize_t)strlen(before));
        serve(to[0], from[1]);
    }
    (void)close(to[0]);
    (void)close(from[1]);
    peer->to = to[1];
    peer->from = from[0];
}

/* Read once. False at the end, or where nothing comes for too long. */
static inline bool read_peer(struct peer *peer)
{
    static char bytes[65536];
    struct pollfd wait = {.fd = peer->from, .events = POLLIN};
    if (poll(&wait, 1, WAIT_MS) != 1) {
        CU_FAIL("the agent says nothing");
        return false;
    }
    ssize_t len = read(peer->from, bytes, sizeof bytes);
    if (len > 0)
        jr_inlet_add(&peer->inlet, bytes, (size_t)len);
    return len > 0;
}

/* Take one line; true where it is a word, which is `peer->word` then. */
static inline bool take_line(struct peer *peer, const char *line, size_t len)
{
    json_t *frame = jr_message_read(line, len);
    CU_ASSERT_TRUE(len + 1 <= JR_MESSAGE_MOST);
    if (frame == NULL) {
        (void)snprintf(peer->noise, sizeof peer->noise, "%.*s", (int)len, line);
        return false;
    }
    enum jr_channel flow = jr_channel_find(jr_json_get_str(frame, "t"));
    CU_ASSERT_EQUAL(jr_json_get_int(frame, "n"), NODE);
    if (flow != JR_CHANNEL_COUNT) {
        CU_ASSERT_TRUE(jr_channel_take(&peer->streams[flow], frame));
        json_decref(frame);
        return false;
    }
    json_decref(peer->word);
    peer->word = frame;
    return true;
}

/* The next word of the agent; "" at its end. */
static inline const char *next_word(struct peer *peer)
{
    size_t len;
    for (;;) {
        const char *line = jr_inlet_line(&peer->inlet, &len);
        if (line != NULL && take_line(peer, line, len))
            return jr_json_get_str(peer->word, "t");
        if (line == NULL && !read_peer(peer))
            return "";
    }
}

/* The next one that is no heartbeat, which may come at any time. */
static inline const char *next_word_but_heartbeats(struct peer *peer)
{
    const char *word = next_word(peer);
    while (strcmp(word, "heartbeat") == 0)
        word = next_word(peer);
    return word;
}

/* Take frames until a stream holds a text. */
static inline bool await_text(struct peer *peer, enum jr_channel flow, const char *text)
{
    struct jr_buf *stream = &peer->streams[flow];
    size_t len;
    while (stream->len == 0 || strstr(stream->data, text) == NULL) {
        const char *line = jr_inlet_line(&peer->inlet, &len);
        if (line == NULL && !read_peer(peer))
            return false;
        if (line != NULL && take_line(peer, line, len))
            CU_FAIL("a word came before the text");
    }
    return true;
}

static inline const char *text_of(const struct peer *peer, enum jr_channel flow)
{
    return peer->streams[flow].len == 0 ? "" : peer->streams[flow].data;
}

/* The exit status of the agent. What it says meanwhile is taken. */
static inline int end_peer(struct peer *peer)
{
    int status = -1;
    if (peer->to >= 0)
        (void)close(peer->to);
    if (peer->from >= 0) {
        while (next_word(peer)[0] != '\0')
            continue;
        (void)close(peer->from);
    }
    for (int i = 0; i < WAIT_MS && waitpid(peer->pid, &status, WNOHANG) == 0; i++)
        (void)poll(NULL, 0, 1);
    if (status == -1) {
        (void)kill(peer->pid, SIGKILL);
        (void)waitpid(peer->pid, NULL, 0);
    }
    jr_inlet_release(&peer->inlet);
    for (int i = 0; i < JR_CHANNEL_COUNT; i++)
        jr_buf_release(&peer->streams[i]);
    json_decref(peer->word);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#endif
