#include "session/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jobrun/engine.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/json.h"
#include "judge/judge.h"
#include "judge/judgement.h"
#include "session/left_files.h"
#include "store/run_folder.h"

#include "base/banned.h"

enum { HEAD_MOST = 64 << 10 }; /* bytes of a record's line */

/* The sender's side. */

int jr_left_send_record(const struct jr_left_sender *sender, const json_t *of, const char *bytes,
                        size_t len)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    json_t *head = json_copy((json_t *)of);
    jr_json_set_int(head, "size", (json_int_t)len);
    jr_json_print(&text, head, 0);
    jr_buf_char(&text, '\n');
    json_decref(head);
    if (text.failed)
        errno = ENOMEM;
    if (text.failed || jr_io_write_all(sender->fd, text.data, text.len) != 0)
        return -1;
    return jr_io_write_all(sender->fd, bytes, len);
}

int jr_left_send_file(const struct jr_left_sender *sender, const json_t *of, const char *path,
                      uint64_t most)
{
    JR_BUF_CLEANUP struct jr_buf own = JR_BUF_INIT;
    struct stat st;
    JR_CLOSE int file = jr_run_file_open(sender->run_fd, path, NULL);
    if (file < 0 || fstat(file, &st) != 0)
        return 0;
    uint64_t end = (uint64_t)st.st_size, at = end <= most ? 0 : end - most;
    if (at > 0) { /* from where a line begins */
        ssize_t len = pread(file, sender->piece, JR_LEFT_PIECE, (off_t)(at - 1));
        const char *line = len <= 0 ? NULL : memchr(sender->piece, '\n', (size_t)len);
        at += line == NULL ? 0 : (uint64_t)(line - sender->piece);
    }
    json_t *first = json_copy((json_t *)of);
    jr_buf_printf(&own, "%s/%s", sender->folder, path);
    jr_json_set_bool(first, "first", true);
    jr_json_set_int(first, "cut", (json_int_t)at);
    jr_json_set_str(first, "path", own.failed ? path : own.data);
    const json_t *head = first;
    int failed;
    do {
        size_t want = end - at < JR_LEFT_PIECE ? (size_t)(end - at) : JR_LEFT_PIECE;
        ssize_t len = pread(file, sender->piece, want, (off_t)at);
        failed = jr_left_send_record(sender, head, sender->piece, len > 0 ? (size_t)len : 0);
        at = len > 0 ? at + (uint64_t)len : end;
        head = of;
    } while (failed == 0 && at < end);
    json_decref(first);
    return failed;
}

bool jr_left_is_collected(const struct jr_ssh *ssh, const char *word)
{
    if (ssh == NULL || ssh->collect_count == 0)
        return strcmp(word, "results") == 0;
    for (uint32_t i = 0; i < ssh->collect_count; i++)
        if (strcmp(ssh->collect[i], word) == 0)
            return true;
    return false;
}

/* The taker's side. */

static void begin_record(struct jr_left_stream *stream, const struct jr_left_taker *taker)
{
    json_t *head = jr_json_parse(stream->head.data, stream->head.len, NULL);
    json_int_t size = jr_json_get_int(head, "size");
    stream->torn = head == NULL || size < 0 || !taker->begin(taker->data, head);
    stream->missing = stream->torn ? 0 : (uint64_t)size;
    if (!stream->torn && size == 0)
        taker->end(taker->data);
    json_decref(head);
    jr_buf_clear(&stream->head);
}

void jr_left_stream_take(struct jr_left_stream *stream, const struct jr_left_taker *taker,
                         const char *bytes, size_t len)
{
    while (len > 0 && !stream->torn) {
        size_t some = len < stream->missing ? len : (size_t)stream->missing;
        if (some > 0) { /* of the record itself */
            taker->take(taker->data, bytes, some);
            stream->missing -= some;
            if (stream->missing == 0)
                taker->end(taker->data);
            bytes += some;
            len -= some;
            continue;
        }
        const char *end = memchr(bytes, '\n', len);
        some = end == NULL ? len : (size_t)(end - bytes);
        jr_buf_add(&stream->head, bytes, some);
        some += end != NULL;
        bytes += some;
        len -= some;
        if (stream->head.failed || stream->head.len > HEAD_MOST)
            stream->torn = true;
        else if (end != NULL)
            begin_record(stream, taker);
    }
}

/* The files. */

static int make_left_file(const struct jr_run_folder *dir, const char *path)
{
    return jr_open_beneath(dir->fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, dir->file_mode);
}

static void write_left_rest(const struct jr_left_file *file, const char *path, json_int_t cut)
{
    JR_BUF_CLEANUP struct jr_buf name = JR_BUF_INIT, text = JR_BUF_INIT;
    json_t *rest = json_object(), *options = json_array();
    for (uint32_t i = 0; file->ssh != NULL && i < file->ssh->options_count; i++)
        jr_json_append(options, jr_json_str(file->ssh->options[i]));
    jr_json_set_str(rest, "host", file->host);
    jr_json_set_str(rest, "path", path);
    jr_json_set_int(rest, "cut", cut);
    jr_json_set(rest, "options", options);
    jr_json_print(&text, rest, 0);
    json_decref(rest);
    jr_buf_printf(&name, "%s" JR_LEFT_REST, file->path);
    if (name.failed || text.failed)
        return;
    JR_CLOSE int fd = make_left_file(file->dir, name.data);
    if (fd >= 0)
        (void)jr_io_write_all(fd, text.data, text.len);
}

int jr_left_file_open(const struct jr_left_file *file, const json_t *head)
{
    const struct jr_run_folder *dir = file->dir;
    JR_FREE char *folder = strdup(file->path);
    const char *name, *path = jr_json_get_str(head, "path");
    json_int_t cut = jr_json_get_int(head, "cut");
    JR_BUF_CLEANUP struct jr_buf note = JR_BUF_INIT;
    /* The folders on the way. No link is followed: a rank on this machine may have made one. */
    for (char *slash = folder == NULL ? NULL : strchr(folder, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        JR_CLOSE int above = jr_open_above(dir->fd, folder, &name);
        if (above >= 0)
            (void)mkdirat(above, name, dir->dir_mode);
        *slash = '/';
    }
    int fd = make_left_file(dir, file->path);
    if (fd < 0 || cut <= 0 || path == NULL || file->host == NULL)
        return fd;
    /* The beginning of a log stays where it is. */
    jr_buf_printf(&note,
                  "[jobrun: the first %lld bytes of this log are on %s alone; "
                  "`jobrun logs` fetches them]\n",
                  (long long)cut, file->host);
    if (!note.failed)
        (void)jr_io_write_all(fd, note.data, note.len);
    write_left_rest(file, path, cut);
    return fd;
}

enum { DELIVERY_MOST = 1024 << 20 }; /* bytes of what a rank has delivered */

static const char *const words[] = {
#define WORD(name, word) word,
    JR_LEFT_KINDS(WORD)
#undef WORD
};

static void add_left_path(struct jr_buf *out, const struct jr_plan *plan,
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
        jr_buf_printf(out, JR_NODE_DIR "/attempt_%u/%s", rank->node_rank, plan->attempt,
                      kind == JR_LEFT_SETUP ? JR_SETUP_LOG : JR_HELPER_LOG);
}

/* Whether one of them is about what standard error holds anywhere. */
static bool has_stderr_pattern(char *const *patterns, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (strncmp(patterns[i], "stderr:", strlen("stderr:")) == 0)
            return true;
    return false;
}

/* How many bytes at most of a file of that kind a host is to send; 0: none. A restart may depend on
 * all of standard error. */
static uint64_t most_left_bytes(const struct jr_policy *policy, enum jr_left_kind kind)
{
    const struct jr_restart *restart = &policy->restart;
    bool whole = jr_left_is_collected(policy->engine.ssh, "logs");
    switch ((int)kind) {
    case JR_LEFT_SETUP:
    case JR_LEFT_HELPER:
        return JR_LEFT_LOG_MOST;
    case JR_LEFT_STDERR:
        whole |= has_stderr_pattern(restart->on, restart->on_count) ||
                 has_stderr_pattern(restart->never, restart->never_count);
        return whole ? JR_LEFT_ALL : JR_LEFT_LOG_MOST;
    case JR_LEFT_STDOUT:
        return whole ? JR_LEFT_ALL : JR_LEFT_LOG_MOST;
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

static void close_left_file(struct left_source *source)
{
    if (source->fd >= 0)
        (void)close(source->fd);
    source->fd = -1;
}

/* The records. */

/* The node has to have such a rank, of which it may say such a thing. */
static bool begin_left_record(void *data, const json_t *head)
{
    struct left_source *source = data;
    const struct jr_session *session = source->session;
    const struct jr_plan *plan = &session->plan;
    json_int_t number = jr_json_get_int(head, "rank");
    const char *word = jr_json_get_str(head, "what");
    bool first = jr_json_get_bool(head, "first");
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
    unsigned kind = 0;
    while (word != NULL && kind < JR_LEFT_KIND_COUNT && strcmp(words[kind], word) != 0)
        kind++;
    if (word == NULL || kind == JR_LEFT_KIND_COUNT || number < 0 || number >= plan->world_size ||
        plan->ranks[number].node_rank != source->node)
        return false;
    if (kind == JR_LEFT_DELIVERY
            ? jr_json_get_int(head, "size") > DELIVERY_MOST
            : !first && (kind != source->kind || (uint32_t)number != source->rank))
        return false;
    source->kind = (enum jr_left_kind)kind;
    source->rank = (uint32_t)number;
    if (kind == JR_LEFT_DELIVERY || !first)
        return true;
    close_left_file(source);
    const struct jr_plan_rank *rank = &plan->ranks[source->rank];
    add_left_path(&path, plan, rank, source->kind);
    if (path.failed || path.len == 0)
        return true;
    const struct jr_left_file file = {.dir = &session->dir,
                                      .path = path.data,
                                      .host = plan->hosts[rank->node_rank],
                                      .ssh = plan->policy->engine.ssh};
    source->room = most_left_bytes(plan->policy, source->kind);
    source->fd = jr_left_file_open(&file, head);
    if (source->fd < 0)
        session->left->errors[source->rank] = errno;
    return true;
}

static void take_left_bytes(void *data, const char *bytes, size_t len)
{
    struct left_source *source = data;
    if (source->kind == JR_LEFT_DELIVERY) {
        jr_buf_add(&source->payload, bytes, len);
        return;
    }
    if (source->fd < 0)
        return;
    errno = EFBIG; /* no more than the host was to send */
    if (len > source->room || jr_io_write_all(source->fd, bytes, len) != 0) {
        source->session->left->errors[source->rank] = errno;
        close_left_file(source);
    } else
        source->room -= len;
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

/* The keys of a record. The caller's. */
static json_t *describe_left(const struct jr_plan_rank *rank, enum jr_left_kind kind)
{
    json_t *head = json_object();
    jr_json_set_int(head, "rank", rank->rank);
    jr_json_set_str(head, "what", words[kind]);
    return head;
}

static int send_left_file(const struct jr_left_sender *sender, const struct jr_plan *plan,
                          const struct jr_plan_rank *rank, enum jr_left_kind kind)
{
    JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
    uint64_t most = most_left_bytes(plan->policy, kind);
    add_left_path(&path, plan, rank, kind);
    if (most == 0 || path.len == 0 || path.failed)
        return 0;
    json_t *head = describe_left(rank, kind);
    int failed = jr_left_send_file(sender, head, path.data, most);
    json_decref(head);
    return failed;
}

/* What all ranks have left, and what was before them. */
static int send_all_left(const struct jr_left_sender *sender, const struct jr_plan *plan,
                         const struct jr_judgement *report)
{
    int failed = 0;
    for (size_t i = 0; i < report->count && failed == 0; i++) {
        const struct jr_plan_rank *rank = &plan->ranks[plan->first + i];
        JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
        json_t *delivery = jr_delivery_pack(report, i);
        if (delivery != NULL) {
            jr_json_print(&text, delivery, 0);
            json_decref(delivery);
            if (text.failed)
                return -1;
            json_t *head = describe_left(rank, JR_LEFT_DELIVERY);
            failed = jr_left_send_record(sender, head, text.data, text.len);
            json_decref(head);
        }
        for (unsigned kind = JR_LEFT_RESULT; kind <= JR_LEFT_STDERR && failed == 0; kind++)
            failed = send_left_file(sender, plan, rank, (enum jr_left_kind)kind);
    }
    for (unsigned kind = JR_LEFT_SETUP; kind <= JR_LEFT_HELPER && failed == 0; kind++)
        failed = send_left_file(sender, plan, &plan->ranks[plan->first], (enum jr_left_kind)kind);
    return failed;
}

int jr_left_send(const struct jr_session *session, int fd, struct jr_error *err)
{
    JR_FREE char *piece = malloc(JR_LEFT_PIECE);
    if (piece == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    const struct jr_left_sender sender = {
        .fd = fd, .piece = piece, .run_fd = session->dir.fd, .folder = session->plan.own_dir};
    if (send_all_left(&sender, &session->plan, &session->report) == 0)
        return 0;
    return jr_error_sys(err, JR_STATUS_LAUNCH, "what its ranks have delivered could not be sent");
}
