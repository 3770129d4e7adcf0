/*
 * A controller of three nodes with two ranks each, without an srun: what it sends goes into a pipe,
 * and its parts are called one by one. A run goes on, whose events are in the file "events" of the
 * folder.
 */
#ifndef FAKE_CONTROLLER_H
#define FAKE_CONTROLLER_H

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "cluster/internal.h"
#include "cluster/transport.h"
#include "scratch.h"
#include "spawn/run_options.h"
#include "store/progress.h"
#include "store/run_folder.h"

enum { FAKE_NODES = 3, FAKE_EACH = 2, FAKE_WORLD = FAKE_NODES * FAKE_EACH };
#define FAKE_MS UINT64_C(1000000)

struct fake_controller {
    struct scratch scratch;
    struct jr_controller controller;
    struct jr_link link; /* with nothing behind it */
    struct jr_controller_run run;
    struct jr_cluster_node nodes[FAKE_NODES];
    struct jr_policy policy;
    struct jr_plan plan;
    struct jr_plan_rank ranks[FAKE_WORLD];
    struct jr_rank_outcome outcomes[FAKE_WORLD];
    struct jr_outcome outcome;
    struct jr_run_folder folder;
    struct jr_run_options options;
    struct jr_error err;
    uint32_t first[FAKE_NODES + 1];
    int sent; /* where what is sent can be read */
};

static struct fake_controller fake;

static inline void all_in(enum jr_node_state state)
{
    for (uint32_t i = 0; i < FAKE_NODES; i++)
        fake.nodes[i].state = state;
}

/* The nodes are at work, under names n0 to n2. */
static inline void fake_start(void)
{
    int pair[2];
    fake = (struct fake_controller){0};
    (void)signal(SIGPIPE, SIG_IGN);
    scratch_start(&fake.scratch);
    CU_ASSERT_EQUAL_FATAL(pipe2(pair, O_NONBLOCK | O_CLOEXEC), 0);
    fake.sent = pair[0];
    for (uint32_t i = 0; i < FAKE_NODES; i++) {
        fake.first[i + 1] = FAKE_EACH * (i + 1);
        fake.nodes[i].host = strdup(i == 0 ? "n0" : i == 1 ? "n1" : "n2");
    }
    for (uint32_t i = 0; i < FAKE_WORLD; i++)
        fake.ranks[i] = (struct jr_plan_rank){.rank = i, .node_rank = i / FAKE_EACH};
    all_in(JR_NODE_RUNNING);
    fake.plan = (struct jr_plan){.name = "digits",
                                 .run_id = "run-7",
                                 .world_size = FAKE_WORLD,
                                 .nodes = FAKE_NODES,
                                 .ranks = fake.ranks,
                                 .count = FAKE_WORLD,
                                 .policy = &fake.policy};
    fake.folder = (struct jr_run_folder){.fd = fake.scratch.fd, .file_mode = 0600};
    fake.options = (struct jr_run_options){.dir = &fake.folder, .out_fd = -1, .err_fd = -1};
    fake.outcome = (struct jr_outcome){.count = FAKE_WORLD, .ranks = fake.outcomes};
    fake.controller =
        (struct jr_controller){.options = {.program = "/opt/jobrun", .nodes = FAKE_NODES},
                               .transport = &jr_srun_transport,
                               .links = &fake.link,
                               .links_count = 1,
                               .children = {.fd = -1},
                               .code = {.fd = -1},
                               .nodes = fake.nodes,
                               .run = &fake.run};
    jr_link_init(&fake.link, &fake.controller, 0);
    fake.link.in.fd = pair[1];
    fake.run = (struct jr_controller_run){.controller = &fake.controller,
                                          .plan = &fake.plan,
                                          .options = &fake.options,
                                          .outcome = &fake.outcome,
                                          .signals = {.fd = -1},
                                          .answer = {.fd = -1},
                                          .first = fake.first,
                                          .err = &fake.err};
    fake.run.events.fd = openat(fake.scratch.fd, "events", O_WRONLY | O_CREAT | O_APPEND, 0600);
    CU_ASSERT_TRUE_FATAL(fake.run.events.fd >= 0);
    CU_ASSERT_EQUAL_FATAL(jr_loop_open(&fake.controller.loop), 0);
}

/* A line of an agent, or one of srun's, which is no message. */
static inline void receive(const char *line)
{
    json_t *frame = jr_message_read(line, strlen(line));
    if (frame != NULL)
        jr_controller_receive(&fake.controller, frame);
    json_decref(frame);
}

/* What a node says; `more` has other keys, with ' for ". */
static inline void hear(uint32_t node, const char *word, const char *more)
{
    char line[512];
    (void)snprintf(line, sizeof line, "{'n': %u, 't': '%s'%s%s%s}", node, word,
                   strstr(more, "'at'") == NULL ? ", 'at': 5" : "", more[0] == '\0' ? "" : ", ",
                   more);
    for (char *at = line; (at = strchr(at, '\'')) != NULL;)
        *at = '"';
    receive(line);
}

/* A piece of a node's channel that waits to be taken. */
static inline void put(uint32_t node, enum jr_channel channel, const char *text)
{
    jr_buf_str(&fake.nodes[node].streams[channel], text);
}

/* Check what was sent since the last time, by the types: "stop hold". */
static inline void check_sent(const char *expected)
{
    static char bytes[1 << 18];
    struct jr_buf words = JR_BUF_INIT;
    ssize_t len = read(fake.sent, bytes, sizeof bytes - 1);
    bytes[len < 0 ? 0 : len] = '\0';
    for (char *rest = bytes, *line; (line = strsep(&rest, "\n")) != NULL;) {
        json_t *message = jr_json_parse(line, strlen(line), NULL);
        if (message != NULL)
            jr_buf_printf(&words, "%s%s", words.len == 0 ? "" : " ", jr_json_get_str(message, "t"));
        json_decref(message);
    }
    JR_ASSERT_TEXT(words.len == 0 ? "" : words.data, expected);
    jr_buf_release(&words);
}

/* What the file of the folder has; static. */
static inline const char *fake_read(const char *name)
{
    static char text[16384];
    int fd = openat(fake.scratch.fd, name, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    text[len < 0 ? 0 : len] = '\0';
    if (fd >= 0)
        (void)close(fd);
    return text;
}

/* Whether `at` is `ms` after a moment between `before` and now. */
static inline bool is_after(uint64_t at, uint64_t before, uint64_t ms)
{
    return at >= before + ms * FAKE_MS && at <= jr_clock_ns() + ms * FAKE_MS;
}

static inline void fake_end(void)
{
    struct jr_controller *controller = &fake.controller;
    for (uint32_t i = 0; i < FAKE_NODES; i++) {
        free(fake.nodes[i].host);
        free(fake.nodes[i].mpi);
        free(fake.nodes[i].library);
        free(fake.nodes[i].obstacle);
        free(fake.nodes[i].loss);
        for (int k = 0; k < JR_CHANNEL_COUNT; k++)
            jr_buf_release(&fake.nodes[i].streams[k]);
    }
    if (fake.run.steps.progress != NULL)
        jr_controller_steps_close(&fake.run);
    jr_progress_free(fake.outcome.progress);
    if (controller->console_open)
        jr_console_writer_close(&controller->console);
    jr_link_close(&fake.link);
    jr_events_close(&fake.run.events);
    if (fake.sent >= 0)
        (void)close(fake.sent);
    (void)close(controller->loop.epoll_fd);
    scratch_end(&fake.scratch);
}

#endif
