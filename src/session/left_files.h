/*
 * Files that hosts which do not see the run folder (engine.ssh) send to the controller of a job.
 */
#ifndef JR_LEFT_FILES_H
#define JR_LEFT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jobrun/run.h>

#include "base/buf.h"
#include "base/json.h"

struct jr_run_folder;
struct jr_session;
struct jr_ssh;

/*
 * Files that go from a host to the controller of a job: records in one stream, each
 * a line of JSON and then `size` bytes. What a record is about, its keys say to whoever takes it;
 * those of a file besides:
 *
 *   "first":true      it is the first of the file; others may follow it
 *   "cut":12345       so many bytes of the file are before it, and not sent
 *   "path":"/home/u/runs/ID/node_1/attempt_0/3/stdout.log"
 *
 * left_files.h has those of a run, sweep/cell_files.c those of a cell.
 */

#define JR_LEFT_PIECE (64U << 10) /* bytes in a record */
#define JR_LEFT_LOG_MOST                                                                           \
    (UINT64_C(64) << 10)                         /* of a log, unless all of it                     \
                                                    is asked for */
#define JR_LEFT_OTHER_MOST (UINT64_C(256) << 20) /* of a file that is none */
#define JR_LEFT_ALL        ((uint64_t)INT64_MAX)

/* What follows the name of a log in that of the file that says where all of it is. */
#define JR_LEFT_REST ".left"

/* Who sends. */
struct jr_left_sender {
    int fd;             /* takes the records */
    char *piece;        /* JR_LEFT_PIECE bytes, for its use */
    int run_fd;         /* the run folder */
    const char *folder; /* its path, absolute */
};

/* Send a record with the keys of the object `of`, which is copied. 0, or -1 with errno. */
int jr_left_send_record(const struct jr_left_sender *sender, const json_t *of, const char *bytes,
                        size_t len);

/* Send the last `most` bytes of a file, which is below the run folder, from the begin of a line on.
 * Nothing is sent of a file that is not there, or is not regular. The rest is as above. */
int jr_left_send_file(const struct jr_left_sender *sender, const json_t *of, const char *path,
                      uint64_t most);

/* Whether `engine.ssh.collect` has the word; NULL: none is stated, and the default holds. */
bool jr_left_is_collected(const struct jr_ssh *ssh, const char *word);

/* Who takes. */
struct jr_left_taker {
    void *data;
    /* A record begins. False: it is none, and nothing more is taken. */
    bool (*begin)(void *data, const json_t *head);
    /* Bytes of it. */
    void (*take)(void *data, const char *bytes, size_t len);
    /* It is whole. */
    void (*end)(void *data);
};

/* What has come of a stream. */
struct jr_left_stream {
    struct jr_buf head; /* of a record, up to its newline */
    uint64_t missing;   /* bytes of the record that have not come */
    bool torn;          /* no records come */
};

/* Take bytes of the stream, which may end anywhere. */
void jr_left_stream_take(struct jr_left_stream *stream, const struct jr_left_taker *taker,
                         const char *bytes, size_t len);

/* A file here, of which a record says that it is the first. */
struct jr_left_file {
    const struct jr_run_folder *dir; /* in which it is made */
    const char *path;                /* below that */
    const char *host;                /* that it comes from, as ssh calls it */
    const struct jr_ssh *ssh;        /* how that is reached; NULL: as it is */
};

/* Make the file and the folders on its way, through no link. One that is cut begins with a line
 * that says so, and with it comes what `jobrun logs` fetches the rest by (fetch_logs.h). The
 * descriptor, or -1 with errno. */
int jr_left_file_open(const struct jr_left_file *file, const json_t *head);

/*
 * What ranks have left on hosts that do not see the run folder (engine.ssh). An agent
 * there has a run folder of its own, LOG_DIR/RUN_ID/node_N, judges what its ranks have delivered,
 * and sends that and what `engine.ssh.collect` asks for, in records as above:
 *
 *   {"rank":3,"what":"delivery","size":24}       delivery.h, in JSON
 *   {"rank":3,"what":"stdout","size":65000,"first":true,
 *    "cut":12345,"path":"/home/u/runs/ID/node_1/attempt_0/3/stdout.log"}
 *   {"rank":3,"what":"stdout","size":712}        which follow the others
 *
 * send_left.h sends them; this file puts them where the files would be if the host did see the run
 * folder, so that everything else finds them there.
 */

/* What a record is about: X(NAME, its word). The files of a node's own, which are no rank's, go
 * with its first rank. */
#define JR_LEFT_KINDS(X)                                                                           \
    X(DELIVERY, "delivery")                                                                        \
    X(RESULT, "result")                                                                            \
    X(ERROR, "error")                                                                              \
    X(HANG, "hang")                                                                                \
    X(STDOUT, "stdout")                                                                            \
    X(STDERR, "stderr")                                                                            \
    X(SETUP, "setup")                                                                              \
    X(HELPER, "helper")

#define JR_LEFT_KIND_ENUM(name, word) JR_LEFT_##name,
enum jr_left_kind { JR_LEFT_KINDS(JR_LEFT_KIND_ENUM) JR_LEFT_KIND_COUNT };

/* An attempt begins: forget what earlier ones have left. -1 with `err`. */
int jr_left_files_begin(struct jr_session *session, struct jr_error *err);

/* Take bytes of a node's records, which may end anywhere; `data` is the session. What is no record,
 * or of a rank that is not the node's, ends what is taken of it. */
void jr_left_files_take(void *data, uint32_t node, const char *bytes, size_t len);

/* The attempt is over: note in its outcome which files are not whole. */
void jr_left_files_finish(struct jr_session *session);

/* Free all that was kept. */
void jr_left_files_release(struct jr_session *session);

/*
 * Where a host does not see the run folder (left_files.h): the agent's side. */

/* Once the ranks have ended, and the session has the report of that: write what they have
 * delivered, and the files that are asked for, to `fd`. -1 with `err`: not all is written. */
int jr_left_send(const struct jr_session *session, int fd, struct jr_error *err);

#endif
