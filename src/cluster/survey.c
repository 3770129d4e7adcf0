#include "cluster/survey.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "cluster/controller_parts.h"
#include "cluster/survey_parts.h"

#include "base/banned.h"

#define MS       UINT64_C(1000000)
#define LIMIT_MS UINT64_C(60000)
#define REACH_MS UINT64_C(30000) /* more than a connection may take there */

/* A clock is asked a few times, and the quickest answer counts. */
enum { ROUNDS = 3 };

/* A host, and what it was asked last. */
struct surveyed {
    char *failure, *advice;
    char version[32];
    int64_t wall_ahead_ns; /* its wall clock less its monotonic one */
    uint64_t asked_ns;     /* our monotonic clock, when it was asked; 0: it is
                              not, or has answered */
    bool timed;
    int64_t offset_ns;
    uint64_t error_ns;
    bool tried;
    enum jr_reach reach;
};

struct jr_survey {
    struct jr_controller *controller;
    struct jr_survey_options options;
    struct surveyed *hosts;
    uint32_t count;
    int meeting;   /* the host that is to listen; -1: none is there */
    uint32_t port; /* at which it does; 0: it does not */
    char token[JR_TOKEN_SIZE];
};

/* What happens to the hosts. */

void jr_survey_fail(struct jr_survey *survey, uint32_t node, const char *what, const char *advice)
{
    struct surveyed *host = &survey->hosts[node];
    host->asked_ns = 0;
    if (host->failure != NULL)
        return;
    host->failure = strdup(what);
    if (advice != NULL)
        host->advice = strdup(advice);
}

void jr_survey_lose(struct jr_survey *survey, const struct jr_link *link)
{
    const struct jr_controller *controller = survey->controller;
    const struct jr_cluster_node *peer = &controller->nodes[link->node];
    struct jr_buf what JR_BUF_CLEANUP = JR_BUF_INIT;
    struct jr_buf advice JR_BUF_CLEANUP = JR_BUF_INIT;
    bool answered = peer->state != JR_NODE_UNKNOWN;
    const char *line = jr_link_refusal(link);
    if (answered || line == NULL)
        jr_link_describe_end(&what, link, true);
    else
        jr_buf_str(&what, line);
    controller->transport->add_advice(&advice, line != NULL ? line : "",
                                      controller->options.hosts[link->node],
                                      controller->options.ssh);
    jr_survey_fail(survey, link->node, what.failed ? "lost" : what.data,
                   answered || advice.failed ? NULL : advice.data);
}

static void note_clock(struct surveyed *host, const struct jr_message *message)
{
    uint64_t now = jr_clock_ns();
    if (host->asked_ns == 0)
        return;
    uint64_t error_ns = (now - host->asked_ns) / 2;
    int64_t theirs = (int64_t)((uint64_t)message->at_ns + (uint64_t)host->wall_ahead_ns);
    if (!host->timed || error_ns < host->error_ns) {
        host->error_ns = error_ns;
        host->offset_ns = jr_clock_ahead(theirs, jr_clock_wall_ns() - error_ns);
    }
    host->timed = true;
    host->asked_ns = 0;
}

void jr_survey_take(struct jr_survey *survey, uint32_t node, const struct jr_message *message)
{
    struct surveyed *host = &survey->hosts[node];
    switch ((int)message->type) {
    case JR_FROM_NODE_HELLO:
        (void)snprintf(host->version, sizeof host->version, "%s",
                       message->version != NULL ? message->version : "unknown");
        host->wall_ahead_ns = jr_clock_ahead(message->wall_ns, (uint64_t)message->at_ns);
        break;
    case JR_FROM_NODE_HEARTBEAT:
        note_clock(host, message);
        break;
    case JR_FROM_NODE_LISTENING:
        if (host->asked_ns == 0 || (int)node != survey->meeting)
            break; /* nobody asked it */
        survey->port = (uint32_t)message->port;
        host->asked_ns = 0;
        break;
    case JR_FROM_NODE_REACHED:
        host->tried = host->asked_ns != 0;
        host->reach = message->code >= JR_REACH_OK && message->code <= JR_REACH_FAILED
                          ? (enum jr_reach)message->code
                          : JR_REACH_FAILED;
        host->asked_ns = 0;
        break;
    }
}

/* What is asked, one thing after the other. */

static bool can_answer(const struct jr_survey *survey, uint32_t node)
{
    return survey->hosts[node].failure == NULL &&
           survey->controller->nodes[node].state == JR_NODE_KNOWN;
}

static bool awaits_answer(const struct jr_survey *survey)
{
    for (uint32_t i = 0; i < survey->count; i++)
        if (survey->hosts[i].asked_ns != 0)
            return true;
    return false;
}

/* Until all have answered that were asked, or failed, or `limit_ms` is over. Returns whether they
 * have. */
static bool await_answers(struct jr_survey *survey, uint64_t limit_ms)
{
    struct jr_controller *controller = survey->controller;
    controller->timed_out = false;
    controller->deadline.at = jr_clock_ns() + limit_ms * MS;
    while (awaits_answer(survey) && !controller->timed_out)
        jr_controller_turn(controller);
    controller->deadline.at = 0;
    return !awaits_answer(survey);
}

static bool awaits_hello(const struct jr_survey *survey)
{
    for (uint32_t i = 0; i < survey->count; i++)
        if (survey->controller->nodes[i].state == JR_NODE_UNKNOWN &&
            survey->hosts[i].failure == NULL)
            return true;
    return false;
}

static uint64_t answer_limit_ms(const struct jr_survey *survey)
{
    uint64_t stated = survey->options.limit_ms;
    return stated > 0 ? stated : LIMIT_MS;
}

static void fail_silent_host(struct jr_survey *survey, uint32_t node, uint64_t limit_ms)
{
    const struct jr_controller *controller = survey->controller;
    struct jr_buf advice JR_BUF_CLEANUP = JR_BUF_INIT;
    char what[64];
    (void)snprintf(what, sizeof what, "no answer within %" PRIu64 " s", (limit_ms + 999) / 1000);
    controller->transport->add_advice(&advice, "", controller->options.hosts[node],
                                      controller->options.ssh);
    jr_survey_fail(survey, node, what, advice.failed ? NULL : advice.data);
}

static void await_hosts(struct jr_survey *survey)
{
    struct jr_controller *controller = survey->controller;
    uint64_t limit_ms = answer_limit_ms(survey);
    controller->timed_out = false;
    controller->deadline.at = jr_clock_ns() + limit_ms * MS;
    while (awaits_hello(survey) && !controller->timed_out)
        jr_controller_turn(controller);
    controller->deadline.at = 0;
    for (uint32_t i = 0; i < survey->count; i++)
        if (controller->nodes[i].state == JR_NODE_UNKNOWN)
            fail_silent_host(survey, i, limit_ms);
}

static void ask_host(struct jr_survey *survey, uint32_t node, const struct jr_message *message)
{
    survey->hosts[node].asked_ns = jr_clock_ns();
    jr_controller_send_to(survey->controller, node, message);
}

static void ask_all(struct jr_survey *survey, const struct jr_message *message)
{
    for (uint32_t i = 0; i < survey->count; i++)
        if (can_answer(survey, i))
            ask_host(survey, i, message);
}

/* Let all answer that were asked; who does not cannot take part. */
static void await_or_fail(struct jr_survey *survey, uint64_t limit_ms)
{
    if (await_answers(survey, limit_ms))
        return;
    for (uint32_t i = 0; i < survey->count; i++)
        if (survey->hosts[i].asked_ns != 0)
            fail_silent_host(survey, i, limit_ms);
}

static void ask_for_clocks(struct jr_survey *survey)
{
    const struct jr_message message = {.type = JR_TO_NODES_HEARTBEAT};
    for (int round = 0; round < ROUNDS; round++) {
        ask_all(survey, &message);
        await_or_fail(survey, answer_limit_ms(survey));
    }
}

/* The first that is there, where ranks would meet at the next one without the first: not at an
 * address that is stated. */
static int find_meeting(const struct jr_survey *survey)
{
    uint32_t count = survey->options.address == NULL ? survey->count : 1;
    for (uint32_t i = 0; i < count; i++)
        if (can_answer(survey, i))
            return (int)i;
    return -1;
}

#define FIRST_PORT 29500u

/* Where the first host listens. */
static void ask_to_listen(struct jr_survey *survey)
{
    uint32_t node = (uint32_t)survey->meeting;
    uint32_t offered = survey->controller->nodes[node].port;
    uint32_t port = survey->options.port;
    ask_host(survey, node,
             &(struct jr_message){.type = JR_TO_NODES_LISTEN,
                                  .port = port != 0      ? port
                                          : offered != 0 ? offered
                                                         : FIRST_PORT,
                                  .on = port != 0,
                                  .token = survey->token});
    await_or_fail(survey, REACH_MS);
}

static void ask_to_reach(struct jr_survey *survey)
{
    const struct jr_controller *controller = survey->controller;
    const char *stated = survey->options.address;
    ask_all(survey, &(struct jr_message){.type = JR_TO_NODES_REACH,
                                         .host = stated != NULL
                                                     ? stated
                                                     : controller->options.hosts[survey->meeting],
                                         .port = survey->port,
                                         .token = survey->token});
    await_or_fail(survey, REACH_MS);
}

static void ask_hosts(struct jr_survey *survey)
{
    await_hosts(survey);
    ask_for_clocks(survey);
    survey->meeting = find_meeting(survey);
    if (survey->meeting < 0)
        return;
    jr_token(survey->token);
    ask_to_listen(survey);
    if (survey->port != 0)
        ask_to_reach(survey);
}

int jr_survey_hosts(struct jr_survey **ret, const struct jr_controller_options *options,
                    const struct jr_survey_options *meeting, struct jr_error *err)
{
    struct jr_survey *survey = calloc(1, sizeof *survey);
    if (survey == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    *survey = (struct jr_survey){.options = *meeting, .count = options->nodes, .meeting = -1};
    survey->hosts = calloc(options->nodes, sizeof *survey->hosts);
    int failed = survey->hosts == NULL ? jr_error_set(err, JR_STATUS_LAUNCH, "out of memory")
                                       : jr_controller_start(&survey->controller, options, err);
    if (failed != 0) {
        jr_survey_end(survey);
        return -1;
    }
    survey->controller->survey = survey;
    ask_hosts(survey);
    *ret = survey;
    return 0;
}

/* What was found out. */

static const char *stream_text(const struct jr_buf *stream)
{
    return stream->len > 0 && !stream->failed ? stream->data : "";
}

struct jr_survey_host jr_survey_host(const struct jr_survey *survey, uint32_t node)
{
    const struct surveyed *host = &survey->hosts[node];
    const struct jr_buf *streams = survey->controller->nodes[node].streams;
    return (struct jr_survey_host){
        .failure = host->failure,
        .advice = host->advice,
        .facts = stream_text(&streams[JR_CHANNEL_FACTS]),
        .facts_len = streams[JR_CHANNEL_FACTS].len,
        .version = host->version[0] != '\0' ? host->version : NULL,
        .timed = host->timed,
        .clock_offset_ns = host->offset_ns,
        .clock_error_ns = host->error_ns,
        .tried = host->tried,
        .reach = host->reach,
        .reach_why = stream_text(&streams[JR_CHANNEL_WHY]),
    };
}

int jr_survey_meeting(const struct jr_survey *survey, uint32_t *ret_port, const char **ret_why)
{
    *ret_why = NULL;
    if (survey->meeting < 0)
        return -1;
    if (survey->port == 0) {
        *ret_why = stream_text(&survey->controller->nodes[survey->meeting].streams[JR_CHANNEL_WHY]);
        return -1;
    }
    *ret_port = survey->port;
    return survey->meeting;
}

void jr_survey_end(struct jr_survey *survey)
{
    if (survey == NULL)
        return;
    jr_controller_close(survey->controller);
    for (uint32_t i = 0; survey->hosts != NULL && i < survey->count; i++) {
        free(survey->hosts[i].failure);
        free(survey->hosts[i].advice);
    }
    free(survey->hosts);
    free(survey);
}
