#include "session/left_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/json.h"
#include "session/session.h"

#include "base/banned.h"

enum {
    HEAD_MOST = 64 << 10,      /* bytes of a record's line */
    DELIVERY_MOST = 1024 << 20 /* of what a rank has delivered */
};

static const char *const words[] = {
#define WORD(name, word) word,
    JR_LEFT_KINDS(WORD)
#undef WORD
};

const char *jr_left_word(enum jr_left_kind kind)
{
    return words[kind];
}

void jr_left_path(struct jr_buf *out, const struct jr_plan *plan,
                  const struct jr_plan_rank *rank, enum jr_left_kind kind)
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
        jr_buf_printf(out, JR_NODE_DIR "/attempt_%u/%s", rank->node_rank,
                      plan->attempt,
                      kind == JR_LEFT_SETUP ? JR_SETUP_LOG : JR_HELPER_LOG);
}

/* What comes from a node. */
struct left_stream {
    struct jr_buf head;    /* of a record, up to its newline */
    struct jr_buf payload; /* of a delivery */
    uint64_t missing;      /* bytes of the record that have not come */
    enum jr_left_kind kind;
    uint32_t rank;
    int fd;    /* of the file that is written; -1: none is */
    bool torn; /* it does not send records */
};

struct jr_left_files {
    struct left_stream *streams;
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
    left->streams = calloc(plan->nodes, sizeof *left->streams);
    left->deliveries = calloc(plan->world_size, sizeof(json_t *));
    left->errors = calloc(plan->world_size, sizeof *left->errors);
    if (left->streams == NULL || left->deliveries == NULL ||
        left->errors == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    left->nodes = plan->nodes;
    left->ranks = plan->world_size;
    for (uint32_t i = 0; i < left->nodes; i++)
        left->streams[i] = (struct left_stream){
            .head = JR_BUF_INIT, .payload = JR_BUF_INIT, .fd = -1};
    session->deliveries = left->deliveries;
    return 0;
}

/* The files. */

/* The folders on the way to a file. No link is followed: a rank on this machine
 * may have made one. */
static void make_left_folders(const struct jr_run_folder *dir, char *path)
{
    const char *name;
    for (char *slash = strchr(path, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        JR_CLOSE int fd = jr_open_above(dir->fd, path, &name);
        if (fd >= 0)
            (void)mkdirat(fd, name, dir->dir_mode);
        *slash = '/';
    }
}

/* What `jobrun logs` fetches the rest by (fetch_logs.h). */
static void write_left_rest(const struct jr_session *session, const char *log,
                            const char *host, const char *path)
{
    const struct jr_ssh *ssh = session->plan.policy->engine.ssh;
    JR_BUF_CLEANUP struct jr_buf name = JR_BUF_INIT, text = JR_BUF_INIT;
    json_t *rest = json_object(), *options = json_array();
    for (uint32_t i = 0; ssh != NULL && i < ssh->options_count; i++)
        jr_json_append(options, jr_json_str(ssh->options[i]));
    jr_json_set_str(rest, "host", host);
    jr_json_set_str(rest, "path", path);
    jr_json_set(rest, "options", options);
    jr_json_print(&text, rest, 0);
    json_decref(rest);
    jr_buf_printf(&name, "%s" JR_LEFT_REST, log);
    if (name.failed || text.failed)
        return;
    JR_CLOSE int fd = jr_open_beneath(session->dir.fd, name.data,
                                      O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                                      session->dir.file_mode);
    if (fd >= 0)
        (void)jr_io_write_all(fd, text.data, text.len);
}

/* The first line of a log whose beginning stays where it is. */
static void write_left_note(const struct jr_session *session,
                            const struct left_stream *stream, const char *log,
                            const json_t *head)
{
    JR_BUF_CLEANUP struct jr_buf note = JR_BUF_INIT;
    const char *path = jr_json_get_str(head, "path");
    const struct jr_plan *plan = &session->plan;
    const char *host = plan->hosts[plan->ranks[stream->rank].node_rank];
    json_int_t cut = jr_json_get_int(head, "cut");
    if (cut <= 0 || path == NULL || host == NULL)
        return;
    jr_buf_printf(&note,
                  "[jobrun: the first %lld bytes of this log are on %s alone; "
                  "`jobrun logs` fetches them]\n",
                  (long long)cut, host);
    if (!note.failed)
        (void)jr_io_write_all(stream->fd, note.data, note.len);
    write_left_rest(session, log, host, path);
}

static void open_left_file(const struct jr_session *session,
                           struct left_stream *stream, const json_t *head)
{
    const struct jr_run_folder *dir = &session->dir;
    const struct jr_plan *plan = &session->plan;
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
    jr_left_path(&path, plan, &plan->ranks[stream->rank], stream->kind);
    if (path.failed || path.len == 0)
        return;
    make_left_folders(dir, path.data);
    stream->fd = jr_open_beneath(dir->fd, path.data,
                                 O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                                 dir->file_mode);
    if (stream->fd < 0)
        session->left->errors[stream->rank] = errno;
    else
        write_left_note(session, stream, path.data, head);
}

static void close_left_file(struct left_stream *stream)
{
    if (stream->fd >= 0)
        (void)close(stream->fd);
    stream->fd = -1;
}

/* The records. */

/* Whether the node has such a rank, of which it may say such a thing. */
static bool read_left_head(const struct jr_session *session, uint32_t node,
                           struct left_stream *stream, const json_t *head)
{
    const struct jr_plan *plan = &session->plan;
    json_int_t rank = jr_json_get_int(head, "rank");
    json_int_t size = jr_json_get_int(head, "size");
    const char *word = jr_json_get_str(head, "what");
    unsigned kind = 0;
    while (word != NULL && kind < JR_LEFT_KIND_COUNT &&
           strcmp(words[kind], word) != 0)
        kind++;
    if (word == NULL || kind == JR_LEFT_KIND_COUNT || rank < 0 ||
        rank >= plan->world_size || plan->ranks[rank].node_rank != node ||
        size < 0 || (kind == JR_LEFT_DELIVERY && size > DELIVERY_MOST))
        return false;
    bool first = jr_json_get_bool(head, "first");
    if (!first && kind != JR_LEFT_DELIVERY &&
        (kind != stream->kind || (uint32_t)rank != stream->rank))
        return false;
    stream->kind = (enum jr_left_kind)kind;
    stream->rank = (uint32_t)rank;
    stream->missing = (uint64_t)size;
    return true;
}

static void end_left_record(const struct jr_session *session,
                            struct left_stream *stream)
{
    struct jr_buf *text = &stream->payload;
    json_t **delivery = &session->left->deliveries[stream->rank];
    if (stream->kind != JR_LEFT_DELIVERY)
        return;
    json_decref(*delivery);
    *delivery =
        text->failed ? NULL : jr_json_parse(text->data, text->len, NULL);
    jr_buf_clear(text);
}

static void begin_left_record(const struct jr_session *session, uint32_t node,
                              struct left_stream *stream)
{
    json_t *head = jr_json_parse(stream->head.data, stream->head.len, NULL);
    stream->torn = !read_left_head(session, node, stream, head);
    if (!stream->torn && stream->kind != JR_LEFT_DELIVERY &&
        jr_json_get_bool(head, "first")) {
        close_left_file(stream);
        open_left_file(session, stream, head);
    }
    if (!stream->torn && stream->missing == 0)
        end_left_record(session, stream);
    json_decref(head);
    jr_buf_clear(&stream->head);
}

/* Bytes of the line that begins a record. Returns how many were taken. */
static size_t take_left_head(const struct jr_session *session, uint32_t node,
                             const char *bytes, size_t len)
{
    struct left_stream *stream = &session->left->streams[node];
    const char *end = memchr(bytes, '\n', len);
    size_t some = end == NULL ? len : (size_t)(end - bytes);
    jr_buf_add(&stream->head, bytes, some);
    if (stream->head.failed || stream->head.len > HEAD_MOST)
        stream->torn = true;
    else if (end != NULL)
        begin_left_record(session, node, stream);
    return end == NULL ? len : some + 1;
}

/* Bytes of the record itself. */
static size_t take_left_bytes(const struct jr_session *session,
                              struct left_stream *stream, const char *bytes,
                              size_t len)
{
    size_t some = len < stream->missing ? len : (size_t)stream->missing;
    if (stream->kind == JR_LEFT_DELIVERY) {
        jr_buf_add(&stream->payload, bytes, some);
    } else if (stream->fd >= 0 &&
               jr_io_write_all(stream->fd, bytes, some) != 0) {
        session->left->errors[stream->rank] = errno;
        close_left_file(stream);
    }
    stream->missing -= some;
    if (stream->missing == 0)
        end_left_record(session, stream);
    return some;
}

void jr_left_files_take(void *data, uint32_t node, const char *bytes,
                        size_t len)
{
    const struct jr_session *session = data;
    if (session->left == NULL || node >= session->left->nodes)
        return;
    struct left_stream *stream = &session->left->streams[node];
    while (len > 0 && !stream->torn) {
        size_t some = stream->missing > 0
                          ? take_left_bytes(session, stream, bytes, len)
                          : take_left_head(session, node, bytes, len);
        bytes += some;
        len -= some;
    }
}

/* A node whose bytes end within a record has been lost, and its ranks. */
void jr_left_files_finish(struct jr_session *session)
{
    struct jr_left_files *left = session->left;
    struct jr_outcome *outcome = &session->outcome;
    if (left == NULL)
        return;
    for (uint32_t i = 0; i < left->nodes; i++)
        close_left_file(&left->streams[i]);
    for (uint32_t i = 0; i < left->ranks && i < outcome->count; i++) {
        struct jr_rank_outcome *rank = &outcome->ranks[i];
        uint32_t node = session->plan.ranks[i].node_rank;
        int error = left->streams[node].torn ? EPROTO : left->errors[i];
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
        close_left_file(&left->streams[i]);
        jr_buf_release(&left->streams[i].head);
        jr_buf_release(&left->streams[i].payload);
    }
    for (uint32_t i = 0; i < left->ranks; i++)
        json_decref(left->deliveries[i]);
    free(left->streams);
    free(left->deliveries);
    free(left->errors);
    free(left);
}
