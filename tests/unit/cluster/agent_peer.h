/*
 * A real agent in a process of its own at two pipes, and the controller's side of them, which is a
 * script, a step a line:
 *
 *   > TEXT         say it to the agent, with " for each '; >+ TEXT: without an end of the line
 *   go NAME        begin the run of that name, and hear that it has begun
 *   < WORD         the next word that the agent says; heartbeats are passed over
 *   # KEY TEXT     what that word has there
 *   ~ FLOW TEXT    wait until the stream has the text, and no word comes before; | is a newline
 *   = FLOW TEXT    all that the stream has had since it was looked at so
 *   ! SIGNAL       send it to the agent
 *   .              end its input
 *
 * Who includes it has serve(), which is the agent's process.
 */
#ifndef AGENT_PEER_H
#define AGENT_PEER_H

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
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

static inline void tell_peer(const struct peer *peer, const char *words)
{
    CU_ASSERT_EQUAL(write(peer->to, words, strlen(words)), (ssize_t)strlen(words));
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

/* What the word has of a key: "-" is nothing. */
static inline void check_key(const struct peer *peer, const char *key, const char *expected)
{
    const json_t *value = json_object_get(peer->word, key);
    char text[128] = "-";
    if (json_is_integer(value))
        (void)snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
    else if (json_is_boolean(value))
        (void)snprintf(text, sizeof text, "%s", json_is_true(value) ? "true" : "false");
    else if (json_is_string(value))
        (void)snprintf(text, sizeof text, "%s", json_string_value(value));
    JR_ASSERT_TEXT(text, expected);
}

static inline void await_word(struct peer *peer, const char *word)
{
    const char *got = next_word(peer);
    while (strcmp(got, "heartbeat") == 0 && strcmp(word, "heartbeat") != 0)
        got = next_word(peer);
    JR_ASSERT_TEXT(got, word);
}

/* A step upon a stream: "event TEXT". */
static inline void check_stream(struct peer *peer, char *rest, bool wait)
{
    enum jr_channel flow = jr_channel_find(strsep(&rest, " "));
    CU_ASSERT_NOT_EQUAL_FATAL(flow, JR_CHANNEL_COUNT);
    for (char *at = rest; (at = strchr(at, '|')) != NULL;)
        *at = '\n';
    if (wait) {
        CU_ASSERT_TRUE(await_text(peer, flow, rest));
        return;
    }
    JR_ASSERT_TEXT(text_of(peer, flow), rest);
    jr_buf_clear(&peer->streams[flow]);
}

static inline void play_step(struct peer *peer, char *step)
{
    char what = step[0], *rest = step + (step[1] == '\0' ? 1 : 2), word[512];
    bool whole = step[1] != '+';
    for (char *at = rest; what == '>' && (at = strchr(at, '\'')) != NULL;)
        *at = '"';
    if (what == '>') {
        (void)snprintf(word, sizeof word, "%s%s", rest + !whole, whole ? "\n" : "");
        tell_peer(peer, word);
    } else if (what == 'g') {
        (void)snprintf(word, sizeof word, "{\"t\":\"go\",\"run_id\":\"%s\"}\n", step + 3);
        tell_peer(peer, word);
        await_word(peer, "begun");
    } else if (what == '<') {
        await_word(peer, rest);
    } else if (what == '#') {
        char *key = strsep(&rest, " ");
        check_key(peer, key, rest);
    } else if (what == '~' || what == '=') {
        check_stream(peer, rest, what == '~');
    } else if (what == '!') {
        (void)kill(peer->pid, atoi(rest));
    } else if (what == '.') {
        (void)close(peer->to);
        peer->to = -1;
    } else {
        CU_FAIL("no such step");
    }
}

static inline void play_on(struct peer *peer, const char *script)
{
    char *text = strdup(script), *rest = text, *step;
    while ((step = strsep(&rest, "\n")) != NULL)
        if (step[0] != '\0')
            play_step(peer, step);
    free(text);
}

/* From hello to the end of an agent. */
static inline void play(const char *script)
{
    struct peer peer;
    start_peer_after(&peer, "");
    await_word(&peer, "hello");
    play_on(&peer, script);
    CU_ASSERT_EQUAL(end_peer(&peer), 0);
}

#endif
