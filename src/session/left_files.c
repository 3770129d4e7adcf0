#include "session/left_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json.h"
#include "session/left_records.h"
#include "session/session.h"

#include "base/banned.h"

enum { DELIVERY_MOST = 1024 << 20 }; /* bytes of what a rank has delivered */

static const char *const words[] = {
#define WORD(name, word) word,
    JR_LEFT_KINDS(WORD)
#undef WORD
};

const char *jr_left_word(enum jr_left_kind kind)
{
    return words[kind];
}

void jr_left_path(struct jr_buf *out, const struct jr_plan *plan, const struct jr_plan_rank *rank,
                  enum jr_left_kind kind)
{
    const char *path = NULL;
    if (kind == JR_LEFT_RESULT)
        path = rank->result_path;
    else if (kind == JR_LEFT_ERROR)
        path = rank->error_path;
    else if (kind == JR_LEFT_STDOUT)
        path = rank->out_path;
    else if (kind == JR_LEFT_STDERR)
        path = rank->err_path;
    if (path != NULL && path[0] != '/')
        jr_buf_str(out, path);
    if (kind == JR_LEFT_HANG)
        jr_buf_printf(out, "%s/hang.json", rank->dir);
    if (kind == JR_LEFT_SETUP || kind == JR_LEFT_HELPER)
        jr_buf_printf(out, JR_NODE_DIR "/attempt_%u/%s", rank->node_rank, plan->attempt,
                      kind == JR_LEFT_SETUP ? JR_SETUP_LOG : JR_HELPER_LOG);
}

/* Whether a restart depends on what standard error holds anywhere. */
static bool is_stderr_searched(const struct jr_policy *policy)
{
    static const char begin[] = "stderr:";
    const struct jr_restart *restart = &policy->restart;
    for (uint32_t i = 0; i < restart->on_count; i++)
        if (strncmp(restart->on[i], begin, sizeof begin - 1) == 0)
            return true;
    for (uint32_t i = 0; i < restart->never_count; i++)
        if (strncmp(restart->never[i], begin, sizeof begin - 1) == 0)
            return true;
    return false;
}

static bool is_log_whole(const struct jr_policy *policy, enum jr_left_kind kind)
{
    return jr_left_is_collected(policy->engine.ssh, "logs") ||
           (kind == JR_LEFT_STDERR && is_stderr_searched(policy));
}

uint64_t jr_left_most(const struct jr_policy *policy, enum jr_left_kind kind)
{
    switch ((int)kind) {
    case JR_LEFT_SETUP:
    case JR_LEFT_HELPER:
        return JR_LEFT_LOG_MOST;
    case JR_LEFT_STDOUT:
    case JR_LEFT_STDERR:
        return is_log_whole(policy, kind) ? JR_LEFT_ALL : JR_LEFT_LOG_MOST;
    case JR_LEFT_RESULT:
        return jr_left_is_collected(policy->engine.ssh, "results") ? JR_LEFT_OTHER_MOST : 0;
    default:
        return JR_LEFT_OTHER_MOST;
    }
}

/* What comes from a node. */
struct left_source {
    struct jr_left_stream stream;
    const struct jr_session *session;
    uint32_t node;
    enum jr_left_kind kind; /* of the record */
    uint32_t rank;
    struct jr_buf payload; /* of a delivery */
    int fd;                /* of the file that is written; -1: none is */
    uint64_t room;         /* bytes that may still come of it */
};

struct jr_left_files {
    struct left_source *sources;
    uint32_t nodes, ranks;
    json_t **deliveries;
    int *errors; /* of each rank: why a file of it is not whole; 0 */
};

int jr_left_files_begin(struct jr_session *session, struct jr_error *err)
{
    const struct jr_plan *plan = &session->plan;
    struct jr_left_files *left = calloc(1, sizeof *left);
    jr_left_files_release(session);
    session->left = left;
    if (left == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    left->sources = calloc(plan->nodes, sizeof *left->sources);
    left->deliveries = calloc(plan->world_size, sizeof(json_t *));
    left->errors = calloc(plan->world_size, sizeof *left->errors);
    if (left->sources == NULL || left->deliveries == NULL || left->errors == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    left->nodes = plan->nodes;
    left->ranks = plan->world_size;
    for (uint32_t i = 0; i < left->nodes; i++)
        left->sources[i] = (struct left_source){.session = session, .node = i, .fd = -1};
    session->deliveries = left->deliveries;
    return 0;
}

/* The files. */

static void open_left_file(struct left_source *source, const json_t *head)
{
    const struct jr_session *session = source->session;
    const struct jr_plan *plan = &session->plan;
    const struct jr_plan_rank *rank = &plan->ranks[source->rank];
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
    jr_left_path(&path, plan, rank, source->kind);
    if (path.failed || path.len == 0)
        return;
    const struct jr_left_file file = {.dir = &session->dir,
                                      .path = path.data,
                                      .host = plan->hosts[rank->node_rank],
                                      .ssh = plan->policy->engine.ssh};
    source->room = jr_left_most(plan->policy, source->kind);
    source->fd = jr_left_file_open(&file, head);
    if (source->fd < 0)
        session->left->errors[source->rank] = errno;
}

static void close_left_file(struct left_source *source)
{
    if (source->fd >= 0)
        (void)close(source->fd);
    source->fd = -1;
}

/* The records. */

/* Whether the node has such a rank, of which it may say such a thing. */
static bool read_left_head(struct left_source *source, const json_t *head)
{
    const struct jr_plan *plan = &source->session->plan;
    json_int_t rank = jr_json_get_int(head, "rank");
    const char *word = jr_json_get_str(head, "what");
    unsigned kind = 0;
    while (word != NULL && kind < JR_LEFT_KIND_COUNT && strcmp(words[kind], word) != 0)
        kind++;
    if (word == NULL || kind == JR_LEFT_KIND_COUNT || rank < 0 || rank >= plan->world_size ||
        plan->ranks[rank].node_rank != source->node ||
        (kind == JR_LEFT_DELIVERY && jr_json_get_int(head, "size") > DELIVERY_MOST))
        return false;
    bool first = jr_json_get_bool(head, "first");
    if (!first && kind != JR_LEFT_DELIVERY &&
        (kind != source->kind || (uint32_t)rank != source->rank))
        return false;
    source->kind = (enum jr_left_kind)kind;
    source->rank = (uint32_t)rank;
    return true;
}

static bool begin_left_record(void *data, const json_t *head)
{
    struct left_source *source = data;
    if (!read_left_head(source, head))
        return false;
    if (source->kind != JR_LEFT_DELIVERY && jr_json_get_bool(head, "first")) {
        close_left_file(source);
        open_left_file(source, head);
    }
    return true;
}

/* No more than the host was to send. */
static int write_left_bytes(struct left_source *source, const char *bytes, size_t len)
{
    errno = EFBIG;
    if (len > source->room || jr_io_write_all(source->fd, bytes, len) != 0)
        return -1;
    source->room -= len;
    return 0;
}

static void take_left_bytes(void *data, const char *bytes, size_t len)
{
    struct left_source *source = data;
    if (source->kind == JR_LEFT_DELIVERY) {
        jr_buf_add(&source->payload, bytes, len);
    } else if (source->fd >= 0 && write_left_bytes(source, bytes, len) != 0) {
        source->session->left->errors[source->rank] = errno;
        close_left_file(source);
    }
}

static void end_left_record(void *data)
{
    struct left_source *source = data;
    struct jr_buf *text = &source->payload;
    json_t **delivery = &source->session->left->deliveries[source->rank];
    if (source->kind != JR_LEFT_DELIVERY)
        return;
    json_decref(*delivery);
    *delivery = text->failed ? NULL : jr_json_parse(text->data, text->len, NULL);
    jr_buf_clear(text);
}

void jr_left_files_take(void *data, uint32_t node, const char *bytes, size_t len)
{
    const struct jr_session *session = data;
    if (session->left == NULL || node >= session->left->nodes)
        return;
    struct left_source *source = &session->left->sources[node];
    const struct jr_left_taker taker = {source, begin_left_record, take_left_bytes,
                                        end_left_record};
    jr_left_stream_take(&source->stream, &taker, bytes, len);
}

/* A node whose bytes end within a record has been lost, and its ranks. */
void jr_left_files_finish(struct jr_session *session)
{
    struct jr_left_files *left = session->left;
    struct jr_outcome *outcome = &session->outcome;
    if (left == NULL)
        return;
    for (uint32_t i = 0; i < left->nodes; i++)
        close_left_file(&left->sources[i]);
    for (uint32_t i = 0; i < left->ranks && i < outcome->count; i++) {
        struct jr_rank_outcome *rank = &outcome->ranks[i];
        uint32_t node = session->plan.ranks[i].node_rank;
        int error = left->sources[node].stream.torn ? EPROTO : left->errors[i];
        if (rank->log_errno == 0)
            rank->log_errno = error;
    }
}

void jr_left_files_release(struct jr_session *session)
{
    struct jr_left_files *left = session->left;
    session->left = NULL;
    session->deliveries = NULL;
    if (left == NULL)
        return;
    for (uint32_t i = 0; i < left->nodes; i++) {
        close_left_file(&left->sources[i]);
        jr_buf_release(&left->sources[i].stream.head);
        jr_buf_release(&left->sources[i].payload);
    }
    for (uint32_t i = 0; i < left->ranks; i++)
        json_decref(left->deliveries[i]);
    free(left->sources);
    free(left->deliveries);
    free(left->errors);
    free(left);
}
