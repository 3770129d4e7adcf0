/*
 * The table of what only a lost peer causes, and the hash of last words.
 *
 * A rank that fails by losing a peer is rarely the cause of anything: it shows that another one has
 * ended. So its failure gives way to other failures (judge).
 *
 * A kind is the name of an exception's type without its module. A text counts wherever it is in the
 * message of the exception. A line of a log counts for nothing: it may be a warning about something
 * that was mended.
 */
#include "run/failure_words.h"

#include <string.h>
#include <strings.h>

#include "base/banned.h"

/* An exception's type; with `text`, only where that is in its message. */
struct kind {
    const char *name;
    const char *text;
};

static const struct kind kinds[] = {
    /* Python's own, of sockets, pipes, and multiprocessing's connections */
    {"ConnectionError", NULL},
    {"ConnectionResetError", NULL},
    {"ConnectionAbortedError", NULL},
    {"ConnectionRefusedError", NULL},
    {"BrokenPipeError", NULL},
    {"IncompleteReadError", NULL},
    {"RemoteDisconnected", NULL},
    {"SSLEOFError", NULL},
    {"TimeoutError", "timed out"},
    {"timeout", "timed out"}, /* socket.timeout, before Python 3.10 */
    /* torch's, of its store and its sockets */
    {"DistNetworkError", NULL},
    {"DistStoreError", NULL},
    {"RendezvousConnectionError", NULL},
    {"RendezvousTimeoutError", NULL},
};

/* An EOFError is one of a socket, unless it says that it read something else:
 * standard input, a pickle, marshalled code, an archive, an array. */
static const char *const file_ends[] = {
    "EOF when reading a line", "Ran out of input",           "marshal data too short",
    "EOF read where",          "end-of-stream marker",       "No data left in file",
    "reached end of file",     "didn't return enough bytes", "file might be corrupted",
    "Compressed file ended",
};

/* Texts of errno, gloo, c10d, NCCL and similar libraries, Paddle, UCX and MPI.
 */
static const char *const texts[] = {
    "connection reset by peer",
    "connection reset by remote peer",
    "connection closed by peer",
    "connection closed by remote peer",
    "connection refused",
    "connection was likely closed",
    "broken pipe",
    "software caused connection abort",
    "transport endpoint is not connected",
    "socket timeout",
    "application timeout caused pair closure",
    "for recv operation to complete",
    "for send operation to complete",
    "connectfullmesh failed",
    "failed to pass monitoredbarrier",
    "failed to recv, got 0 bytes",
    "the client socket has timed out",
    "the client socket has failed to connect",
    "wait timeout after",
    "seconds waiting for clients",
    "collective operation timeout",
    "remote process exited or there was a network error",
    "a remote process exiting prematurely",
    "communicator was aborted",
    "mpi_err_proc_failed",
    "mpix_err_proc_failed",
    "communication error with rank",
    "peer process has unexpectedly disconnected",
};

/* A piece of text that is not terminated. */
struct piece {
    const char *at;
    size_t len;
};

static bool piece_has(struct piece piece, const char *text)
{
    size_t len = strlen(text);
    for (size_t i = 0; i + len <= piece.len; i++)
        if (strncasecmp(piece.at + i, text, len) == 0)
            return true;
    return false;
}

static bool piece_begins(struct piece piece, const char *text)
{
    size_t len = strlen(text);
    return piece.len >= len && memcmp(piece.at, text, len) == 0;
}

static bool piece_has_any(struct piece piece, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (piece_has(piece, list[i]))
            return true;
    return false;
}

/* Cut the next line off `rest`; false at its end. torch's "[rank3]: " before a line is left out. */
static bool next_line(struct piece *rest, struct piece *ret)
{
    if (rest->len == 0)
        return false;
    const char *end = memchr(rest->at, '\n', rest->len);
    size_t len = end == NULL ? rest->len : (size_t)(end - rest->at);
    *ret = (struct piece){rest->at, len};
    len += end != NULL;
    rest->at += len;
    rest->len -= len;
    if (!piece_begins(*ret, "[rank"))
        return true;
    const char *bracket = memchr(ret->at, ']', ret->len);
    size_t prefix = bracket == NULL ? 0 : (size_t)(bracket - ret->at) + 3;
    if (prefix > 0 && prefix <= ret->len && bracket[1] == ':') {
        ret->at += prefix;
        ret->len -= prefix;
    }
    return true;
}

/* The name of the type of "torch.distributed.DistStoreError: ..."; *ret_rest is its message. False
 * where the line does not begin with a type. */
static bool split_headline(struct piece line, struct piece *ret_name, struct piece *ret_rest)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.";
    size_t end = 0, name = 0;
    for (; end < line.len && memchr(letters, line.at[end], sizeof letters - 1); end++)
        if (line.at[end] == '.')
            name = end + 1;
    if (end == 0 || (end < line.len && line.at[end] != ':'))
        return false;
    *ret_name = (struct piece){line.at + name, end - name};
    *ret_rest = (struct piece){line.at + end, line.len - end};
    return true;
}

static bool is_headline_of_kind(struct piece line)
{
    struct piece name, rest;
    if (!split_headline(line, &name, &rest))
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i].name) == name.len && piece_begins(name, kinds[i].name))
            return kinds[i].text == NULL || piece_has(rest, kinds[i].text);
    return name.len == strlen("EOFError") && piece_begins(name, "EOFError") &&
           !piece_has_any(rest, file_ends, sizeof file_ends / sizeof *file_ends);
}

/* "K: text", which may have more lines. */
static bool is_lost_peer_message(const char *message)
{
    struct piece rest = {message, message == NULL ? 0 : strlen(message)};
    struct piece line, all = rest;
    return next_line(&rest, &line) &&
           (is_headline_of_kind(line) || piece_has_any(all, texts, sizeof texts / sizeof *texts));
}

/* Lines of a traceback that are indented tell of code, which may hold any of the texts. */
static bool has_lost_peer_line(struct piece rest)
{
    struct piece line;
    while (next_line(&rest, &line)) {
        bool code = piece_begins(line, " ") && !piece_begins(line, "  what()");
        if (!code &&
            (is_headline_of_kind(line) || piece_has_any(line, texts, sizeof texts / sizeof *texts)))
            return true;
    }
    return false;
}

/* FNV-1a, by which equal words are found; 0 is for none. */
static uint32_t add_to_hash(uint32_t hash, char byte)
{
    return (hash ^ (unsigned char)byte) * UINT32_C(16777619);
}

/* The hash of a line, with each number and hexadecimal address as one digit:
 * steps, ranks, pids and addresses differ where the words are the same. */
static uint32_t hash_line(struct piece line)
{
    uint32_t hash = UINT32_C(2166136261);
    for (size_t i = 0; i < line.len;) {
        if (line.at[i] < '0' || line.at[i] > '9') {
            hash = add_to_hash(hash, line.at[i++]);
            continue;
        }
        bool hex = i + 1 < line.len && line.at[i + 1] == 'x';
        i += hex ? 2 : 0;
        while (i < line.len && memchr("0123456789abcdefABCDEF", line.at[i], hex ? 22 : 10))
            i++;
        hash = add_to_hash(hash, '0');
    }
    return line.len == 0 ? 0 : hash == 0 ? 1 : hash;
}

/* Whether one of the exceptions of an error.json, `text` that of the last, is of such a kind. */
static bool error_shows_lost_peer(const json_t *error, const char *text)
{
    const json_t *message = json_object_get(error, "message");
    const json_t *causes = json_object_get(error, "causes"), *cause;
    const char *stack = jr_json_get_str(json_object_get(message, "extraInfo"), "py_callstack");
    size_t i;
    if (jr_json_get_bool(error, "start"))
        return false;
    if (is_lost_peer_message(text))
        return true;
    json_array_foreach(causes, i, cause)
        if (is_lost_peer_message(jr_json_get_str(cause, "message")))
            return true;
    return causes == NULL && stack != NULL &&
           has_lost_peer_line((struct piece){stack, strlen(stack)});
}

struct jr_failure_words jr_failure_words_of_error(const json_t *error)
{
    const json_t *message = json_object_get(error, "message");
    const char *text =
        json_is_string(message) ? json_string_value(message) : jr_json_get_str(message, "message");
    struct piece rest = {text, text == NULL ? 0 : strlen(text)};
    struct piece line, name;
    struct jr_failure_words ret = {.lost_peer = error_shows_lost_peer(error, text)};
    if (next_line(&rest, &line))
        ret.hash = hash_line(split_headline(line, &name, &rest) ? name : line);
    return ret;
}

enum { MORE_LINES = 12 }; /* that a message may have */

/* Where the last uncaught exception begins, with those that it was raised from; NULL if there is
 * none, or the process went on after it. */
static const char *find_exception(struct piece rest)
{
    const char *begin = NULL;
    struct piece line;
    bool linked = false;
    unsigned after = 0;
    while (next_line(&rest, &line)) {
        bool head = piece_begins(line, "Traceback (most recent call last)");
        if (head || piece_begins(line, "terminate called")) {
            begin = head && linked && begin != NULL ? begin : line.at;
            linked = false;
            after = 0;
        }
        /* Python links the traceback that follows to the one before. */
        if (line.len > 0)
            linked = piece_begins(line, "The above exception was the direct cause") ||
                     piece_begins(line, "During handling of the above exception");
        /* What may follow the message of the failure itself: the frames that C++ prints, a log line
         * on the way out, or an empty one. */
        after += line.len > 0 && !piece_begins(line, " ") && !piece_begins(line, "frame #") &&
                 !piece_begins(line, "[");
    }
    return after > MORE_LINES ? NULL : begin;
}

struct jr_failure_words jr_failure_words_of_output(const char *text, size_t len)
{
    struct piece all = {text, len}, line, last = {0};
    const char *begin = find_exception(all);
    while (next_line(&all, &line))
        if (line.len > 0)
            last = line;
    struct jr_failure_words ret = {.hash = hash_line(last)};
    if (begin != NULL)
        ret.lost_peer = has_lost_peer_line((struct piece){begin, len - (size_t)(begin - text)});
    return ret;
}
