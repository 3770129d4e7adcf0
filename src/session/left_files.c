#include "session/left_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jobrun/engine.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/rank_set.h"
#include "base/shell_words.h"
#include "base/subprocess.h"
#include "cluster/transport.h"
#include "judge/judge.h"
#include "judge/judgement.h"
#include "record/record_folder.h"
#include "report/show.h"
#include "session/foreground.h"
#include "session/internal.h"

#include "base/banned.h"

enum {
    HEAD_MOST = 64 << 10,       /* bytes of a record's line */
    DELIVERY_MOST = 1024 << 20, /* of what a rank has delivered */
    REST_MOST = 1 << 20
};

static const char delivery_word[] = "delivery";

/* The sender's side. */

bool jr_left_is_collected(const struct jr_ssh *ssh, const char *word)
{
    if (ssh == NULL || ssh->collect_count == 0)
        return strcmp(word, "results") == 0;
    for (uint32_t i = 0; i < ssh->collect_count; i++)
        if (strcmp(ssh->collect[i], word) == 0)
            return true;
    return false;
}

uint64_t jr_left_most(enum jr_run_file_kind kind, bool results, bool logs)
{
    if (kind == JR_FILE_LOG)
        return logs ? INT64_MAX : JR_LEFT_LOG_MOST;
    return kind == JR_FILE_RESULT && !results ? 0 : JR_LEFT_OTHER_MOST;
}

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
                      enum jr_run_file_kind kind, uint64_t most)
{
    JR_BUF_CLEANUP struct jr_buf own = JR_BUF_INIT;
    struct stat st;
    JR_CLOSE int file = most == 0 ? -1 : jr_run_file_open(sender->run_fd, path, NULL);
    if (file < 0 || fstat(file, &st) != 0 || (kind != JR_FILE_LOG && (uint64_t)st.st_size > most))
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

/* The taker's side. */

static int make_left_file(const struct jr_run_folder *dir, const char *path)
{
    return jr_open_beneath(dir->fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, dir->file_mode);
}

/* The beginning of a log stays where it is: a line says so, and a file beside the log tells where
 * that is. */
static void note_cut(const struct jr_left_place *place, int fd, const char *path, json_int_t cut)
{
    JR_BUF_CLEANUP struct jr_buf name = JR_BUF_INIT, text = JR_BUF_INIT;
    json_t *rest = json_object(), *options = json_array();
    jr_buf_printf(&text,
                  "[jobrun: the first %lld bytes of this log are on %s alone; "
                  "`jobrun logs` fetches them]\n",
                  (long long)cut, place->host);
    if (!text.failed)
        (void)jr_io_write_all(fd, text.data, text.len);
    jr_buf_clear(&text);
    for (uint32_t i = 0; place->ssh != NULL && i < place->ssh->options_count; i++)
        jr_json_append(options, jr_json_str(place->ssh->options[i]));
    jr_json_set_str(rest, "host", place->host);
    jr_json_set_str(rest, "path", path);
    jr_json_set_int(rest, "cut", cut);
    jr_json_set(rest, "options", options);
    jr_json_print(&text, rest, 0);
    json_decref(rest);
    jr_buf_printf(&name, "%s" JR_LEFT_REST, place->path.data);
    JR_CLOSE int rest_fd = name.failed || text.failed ? -1 : make_left_file(place->dir, name.data);
    if (rest_fd >= 0)
        (void)jr_io_write_all(rest_fd, text.data, text.len);
}

/* Make a file, of which a record is the first. The descriptor, or -1 with errno. */
static int open_left_file(struct jr_left_place *place, const json_t *head)
{
    char *at = place->path.data;
    const char *name, *path = jr_json_get_str(head, "path");
    json_int_t cut = jr_json_get_int(head, "cut");
    /* The folders on the way. No link is followed: a rank on this machine may have made one. */
    while ((at = strchr(at, '/')) != NULL) {
        *at = '\0';
        JR_CLOSE int above = jr_open_above(place->dir->fd, place->path.data, &name);
        if (above >= 0)
            (void)mkdirat(above, name, place->dir->dir_mode);
        *at++ = '/';
    }
    int fd = make_left_file(place->dir, place->path.data);
    if (fd >= 0 && cut > 0 && path != NULL && place->host != NULL)
        note_cut(place, fd, path, cut);
    return fd;
}

static void close_left_file(struct jr_left_stream *stream)
{
    if (stream->fd >= 0)
        (void)close(stream->fd);
    stream->fd = -1;
}

void jr_left_stream_drop(struct jr_left_stream *stream)
{
    close_left_file(stream);
    jr_buf_release(&stream->head);
    jr_buf_release(&stream->held);
}

static void end_record(struct jr_left_stream *stream, const struct jr_left_taker *taker)
{
    if (stream->text)
        taker->end(taker->data, &stream->held);
    jr_buf_clear(&stream->held);
}

static void begin_record(struct jr_left_stream *stream, const struct jr_left_taker *taker)
{
    struct jr_left_place place = {.path = JR_BUF_INIT};
    json_t *head = jr_json_parse(stream->head.data, stream->head.len, NULL);
    json_int_t size = jr_json_get_int(head, "size");
    stream->torn = head == NULL || size < 0 || !taker->begin(taker->data, head, &place);
    stream->missing = stream->torn ? 0 : (uint64_t)size;
    stream->text = place.text;
    if (!stream->torn && !place.text && jr_json_get_bool(head, "first")) {
        close_left_file(stream);
        if (!place.path.failed && place.path.len > 0) {
            stream->room = place.most;
            stream->error = place.error;
            stream->fd = open_left_file(&place, head);
            if (stream->fd < 0)
                *place.error = errno;
        }
    }
    if (!stream->torn && size == 0)
        end_record(stream, taker);
    jr_buf_release(&place.path);
    json_decref(head);
    jr_buf_clear(&stream->head);
}

static void take_record_bytes(struct jr_left_stream *stream, const char *bytes, size_t len)
{
    if (stream->text)
        jr_buf_add(&stream->held, bytes, len);
    if (stream->text || stream->fd < 0)
        return;
    errno = EFBIG; /* no more than the host was to send */
    if (len > stream->room || jr_io_write_all(stream->fd, bytes, len) != 0) {
        *stream->error = errno;
        close_left_file(stream);
    } else
        stream->room -= len;
}

void jr_left_stream_take(struct jr_left_stream *stream, const struct jr_left_taker *taker,
                         const char *bytes, size_t len)
{
    while (len > 0 && !stream->torn) {
        size_t some = len < stream->missing ? len : (size_t)stream->missing;
        if (some > 0) { /* of the record itself */
            take_record_bytes(stream, bytes, some);
            stream->missing -= some;
            if (stream->missing == 0)
                end_record(stream, taker);
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

/* What ranks have left. */

/* The path of a file below the run folder, or nothing where it is elsewhere. */
static void add_left_path(struct jr_buf *out, const struct jr_plan *plan,
                          const struct jr_plan_rank *rank, const struct jr_run_file *file)
{
    const struct {
        const char *word, *path;
    } stated[] = {{"result", rank->result_path},
                  {"error", rank->error_path},
                  {"stdout", rank->out_path},
                  {"stderr", rank->err_path}};
    if (file->in == JR_IN_ATTEMPT) {
        jr_buf_printf(out, JR_NODE_DIR "/attempt_%u/%s", rank->node_rank, plan->attempt,
                      file->name);
        return;
    }
    for (size_t i = 0; i < sizeof stated / sizeof *stated; i++)
        if (strcmp(stated[i].word, file->word) == 0) {
            if (stated[i].path != NULL && stated[i].path[0] != '/')
                jr_buf_str(out, stated[i].path);
            return;
        }
    jr_buf_printf(out, "%s/%s", rank->dir, file->name);
}

/* Whether one of them is about what standard error holds anywhere. */
static bool has_stderr_pattern(char *const *patterns, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (strncmp(patterns[i], "stderr:", strlen("stderr:")) == 0)
            return true;
    return false;
}

/* How many bytes at most of a file a host is to send; 0: none. A restart may depend on all of
 * standard error. */
static uint64_t most_left_bytes(const struct jr_policy *policy, const struct jr_run_file *file)
{
    const struct jr_restart *restart = &policy->restart;
    const struct jr_ssh *ssh = policy->engine.ssh;
    bool needed = strcmp(file->word, "stderr") == 0 &&
                  (has_stderr_pattern(restart->on, restart->on_count) ||
                   has_stderr_pattern(restart->never, restart->never_count));
    return jr_left_most(file->kind, jr_left_is_collected(ssh, "results"),
                        needed || jr_left_is_collected(ssh, "logs"));
}

/* What comes from a node. */
struct left_source {
    struct jr_left_stream stream;
    const struct jr_session *session;
    uint32_t node, rank;            /* that of the record */
    const struct jr_run_file *file; /* of the record; NULL: a delivery */
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
        left->sources[i] =
            (struct left_source){.session = session, .node = i, .stream = JR_LEFT_STREAM_INIT};
    session->deliveries = left->deliveries;
    return 0;
}

/* The node has to have such a rank, of which it may say such a thing. */
static bool begin_left_record(void *data, const json_t *head, struct jr_left_place *ret)
{
    struct left_source *source = data;
    const struct jr_session *session = source->session;
    const struct jr_plan *plan = &session->plan;
    json_int_t number = jr_json_get_int(head, "rank");
    const char *word = jr_json_get_str(head, "what");
    const struct jr_run_file *file = NULL;
    if (word == NULL || number < 0 || number >= plan->world_size ||
        plan->ranks[number].node_rank != source->node)
        return false;
    ret->text = strcmp(word, delivery_word) == 0;
    for (size_t i = 0; i < JR_RUN_FILE_COUNT; i++)
        if (jr_run_files[i].word != NULL && strcmp(jr_run_files[i].word, word) == 0)
            file = &jr_run_files[i];
    bool first = jr_json_get_bool(head, "first");
    if (ret->text ? jr_json_get_int(head, "size") > DELIVERY_MOST
                  : file == NULL ||
                        (!first && (file != source->file || (uint32_t)number != source->rank)))
        return false;
    source->file = file;
    source->rank = (uint32_t)number;
    if (ret->text || !first)
        return true;
    const struct jr_plan_rank *rank = &plan->ranks[number];
    add_left_path(&ret->path, plan, rank, file);
    ret->dir = &session->dir;
    ret->host = plan->hosts[rank->node_rank];
    ret->ssh = plan->policy->engine.ssh;
    ret->most = most_left_bytes(plan->policy, file);
    ret->error = &session->left->errors[number];
    return true;
}

static void end_delivery(void *data, const struct jr_buf *text)
{
    const struct left_source *source = data;
    json_t **delivery = &source->session->left->deliveries[source->rank];
    json_decref(*delivery);
    *delivery = text->failed ? NULL : jr_json_parse(text->data, text->len, NULL);
}

void jr_left_files_take(void *data, uint32_t node, const char *bytes, size_t len)
{
    const struct jr_session *session = data;
    if (session->left == NULL || node >= session->left->nodes)
        return;
    struct left_source *source = &session->left->sources[node];
    const struct jr_left_taker taker = {source, begin_left_record, end_delivery};
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
        close_left_file(&left->sources[i].stream);
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
    for (uint32_t i = 0; i < left->nodes; i++)
        jr_left_stream_drop(&left->sources[i].stream);
    for (uint32_t i = 0; i < left->ranks; i++)
        json_decref(left->deliveries[i]);
    free(left->sources);
    free(left->deliveries);
    free(left->errors);
    free(left);
}

/* The keys of a record. The caller's. */
static json_t *describe_left(const struct jr_plan_rank *rank, const char *what)
{
    json_t *head = json_object();
    jr_json_set_int(head, "rank", rank->rank);
    jr_json_set_str(head, "what", what);
    return head;
}

static int send_delivery(const struct jr_left_sender *sender, const struct jr_plan_rank *rank,
                         json_t *delivery)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT;
    json_t *head = describe_left(rank, delivery_word);
    jr_json_print(&text, delivery, 0);
    int failed = text.failed ? -1 : jr_left_send_record(sender, head, text.data, text.len);
    json_decref(delivery);
    json_decref(head);
    return failed;
}

/* The files of a rank, or of what was before the ranks. */
static int send_left_files(const struct jr_left_sender *sender, const struct jr_plan *plan,
                           const struct jr_plan_rank *rank, enum jr_run_file_in in)
{
    int failed = 0;
    for (size_t i = 0; i < JR_RUN_FILE_COUNT && failed == 0; i++) {
        const struct jr_run_file *file = &jr_run_files[i];
        if (file->in != in || file->word == NULL)
            continue;
        JR_BUF_CLEANUP struct jr_buf path = JR_BUF_INIT;
        json_t *head = describe_left(rank, file->word);
        add_left_path(&path, plan, rank, file);
        if (path.len > 0 && !path.failed)
            failed = jr_left_send_file(sender, head, path.data, file->kind,
                                       most_left_bytes(plan->policy, file));
        json_decref(head);
    }
    return failed;
}

int jr_left_send(const struct jr_session *session, int fd, struct jr_error *err)
{
    JR_FREE char *piece = malloc(JR_LEFT_PIECE);
    if (piece == NULL)
        return jr_error_set(err, JR_STATUS_LAUNCH, "out of memory");
    const struct jr_left_sender sender = {
        .fd = fd, .piece = piece, .run_fd = session->dir.fd, .folder = session->plan.own_dir};
    const struct jr_plan *plan = &session->plan;
    int failed = 0;
    for (size_t i = 0; i < session->report.count && failed == 0; i++) {
        const struct jr_plan_rank *rank = &plan->ranks[plan->first + i];
        json_t *delivery = jr_delivery_pack(&session->report, i);
        failed = delivery == NULL ? 0 : send_delivery(&sender, rank, delivery);
        if (failed == 0)
            failed = send_left_files(&sender, plan, rank, JR_IN_RANK);
    }
    if (failed == 0)
        failed = send_left_files(&sender, plan, &plan->ranks[plan->first], JR_IN_ATTEMPT);
    if (failed == 0)
        return 0;
    return jr_error_sys(err, JR_STATUS_LAUNCH, "what its ranks have delivered could not be sent");
}

/* The rest of logs that are on another host. */

/* All that ssh prints goes to the file. -1 where it fails. */
static int copy_by_ssh(const struct jr_fetch_logs *wanted, struct jr_arena *arena,
                       const json_t *rest, int fd)
{
    JR_BUF_CLEANUP struct jr_buf command = JR_BUF_INIT;
    const json_t *options = json_object_get(rest, "options");
    size_t count = json_array_size(options);
    struct jr_ssh ssh = {.options = jr_arena_array(arena, count, sizeof(char *)),
                         .options_count = (uint32_t)count};
    for (size_t i = 0; i < count && ssh.options != NULL; i++)
        ssh.options[i] = jr_arena_strdup(arena, json_string_value(json_array_get(options, i)));
    jr_buf_str(&command, "exec cat ");
    jr_shell_quote(&command, jr_json_get_str(rest, "path"));
    const struct jr_ssh_start start = {
        .ssh = &ssh, .host = jr_json_get_str(rest, "host"), .command = command.data};
    char **words = command.failed || arena->failed ? NULL : jr_ssh_words(arena, &start);
    const int fds[3] = {-1, fd, STDERR_FILENO};
    const struct jr_subprocess cat = {.argv = words, .envp = wanted->envp, .fds = fds};
    const struct jr_task_limit limit = {.stop_fd = -1};
    struct jr_task task;
    int status = 0;
    if (words == NULL || jr_task_begin(&task, &cat, NULL) != 0)
        return -1;
    int failed = jr_task_end(&task, NULL, &limit, &status);
    jr_task_cancel(&task);
    return failed == 0 && status == 0 ? 0 : -1;
}

/* Whether what is here behind its first line, which is our own, is what stands there behind the
 * cut: a run of the same name may have another log there by now. */
static bool is_same_log(int here, int whole, off_t cut)
{
    char ours[8192], theirs[8192];
    struct stat st;
    ssize_t len = here < 0 ? -1 : pread(here, ours, 512, 0);
    const char *end = len <= 0 ? NULL : memchr(ours, '\n', (size_t)len);
    if (cut <= 0)
        return true;
    if (end == NULL || fstat(here, &st) != 0)
        return false;
    off_t first = (off_t)(end - ours) + 1, at = first;
    while ((len = pread(here, ours, sizeof ours, at)) > 0 &&
           pread(whole, theirs, (size_t)len, cut + at - first) == len &&
           memcmp(ours, theirs, (size_t)len) == 0)
        at += len;
    return at == st.st_size;
}

/* Fetch a log, and put it in the place of its end. One without a slash is in no attempt, and none
 * of ours; what is another user's, or has nothing beside it that says where it is, stays. */
static void fetch_log(const struct jr_fetch_logs *wanted, struct jr_arena *arena, int run_fd,
                      const char *log)
{
    JR_BUF_CLEANUP struct jr_buf text = JR_BUF_INIT, line = JR_BUF_INIT;
    struct stat st;
    const char *name;
    if (log == NULL || log[0] == '/' || strchr(log, '/') == NULL)
        return;
    const char *left = jr_arena_printf(arena, "%s" JR_LEFT_REST, log);
    const char *part = jr_arena_printf(arena, "%s.part-%d", log, (int)getpid());
    JR_CLOSE int left_fd = arena->failed ? -1 : jr_run_file_open(run_fd, left, NULL);
    if (left_fd < 0 || fstat(left_fd, &st) != 0 || st.st_uid != geteuid() ||
        jr_io_read_fd(&text, left_fd, REST_MOST, NULL) != 0)
        return;
    json_t *rest = jr_json_parse(text.data, text.len, NULL);
    const char *host = jr_json_get_str(rest, "host"), *path = jr_json_get_str(rest, "path");
    JR_CLOSE int above = jr_open_above(run_fd, log, &name);
    if (host != NULL && path != NULL && above >= 0) {
        const char *part_name = part + (name - log), *left_name = left + (name - log);
        JR_CLOSE int fd =
            jr_open_beneath(run_fd, part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, st.st_mode & 0777);
        JR_CLOSE int here = jr_run_file_open(run_fd, log, NULL);
        bool copied = fd >= 0 && copy_by_ssh(wanted, arena, rest, fd) == 0;
        bool same = copied && is_same_log(here, fd, (off_t)jr_json_get_int(rest, "cut"));
        if (!same || renameat(above, part_name, above, name) != 0 ||
            unlinkat(above, left_name, 0) != 0) {
            if (fd >= 0)
                (void)unlinkat(above, part_name, 0);
            jr_buf_printf(&line, "the begin of %s/%s could not be fetched from ", wanted->id, log);
            jr_buf_safe(&line, host);
            jr_buf_str(&line,
                       copied && !same ? ", where another log is by now " : ", where it is ");
            jr_buf_safe(&line, path);
            jr_buf_str(&line, "; its end follows");
            if (!line.failed)
                wanted->note(wanted->data, line.data);
        }
    }
    json_decref(rest);
}

void jr_fetch_logs(const struct jr_fetch_logs *wanted)
{
    struct jr_record_logs logs = JR_RECORD_LOGS_INIT;
    struct jr_arena arena = JR_ARENA_INIT;
    JR_CLOSE int run_fd = jr_record_folder_open(wanted->log_dir, wanted->id, NULL);
    if (run_fd < 0 ||
        jr_record_logs_load(&logs, wanted->log_dir, wanted->id, wanted->attempt, NULL) != 0)
        return;
    for (size_t i = 0; i < logs.count; i++) {
        const struct jr_record_log *log = &logs.items[i];
        if (!jr_set_has(wanted->ranks, log->rank))
            continue;
        fetch_log(wanted, &arena, run_fd, log->out);
        fetch_log(wanted, &arena, run_fd, log->err);
    }
    jr_arena_release(&arena);
    jr_record_logs_release(&logs);
}
