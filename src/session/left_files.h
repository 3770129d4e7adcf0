/*
 * Files that hosts which do not see the run folder (engine.ssh) send to the controller of a job:
 * records in one stream, each a line of JSON and then `size` bytes. What a record is about, its
 * keys say to whoever takes it; those of a file besides:
 *
 *   "first":true      it is the first of the file; others may follow it
 *   "cut":12345       so many bytes of the file are before it, and not sent
 *   "path":"/home/u/runs/ID/node_1/attempt_0/3/stdout.log"
 *
 * Which files they are says the table in store/run_folder.h. Those of a job's ranks are sent and
 * taken here, those of a sweep's cells by sweep/cell_files.c.
 */
#ifndef JR_LEFT_FILES_H
#define JR_LEFT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jobrun/run.h>

#include "base/buf.h"
#include "base/json.h"
#include "store/run_folder.h"

struct jr_session;
struct jr_ssh;

#define JR_LEFT_PIECE      (64U << 10)           /* bytes in a record */
#define JR_LEFT_LOG_MOST   (UINT64_C(64) << 10)  /* of a log, unless all of it is asked for */
#define JR_LEFT_OTHER_MOST (UINT64_C(256) << 20) /* of a file that is none */

/* What follows the name of a log in that of the file that says where all of it is. */
#define JR_LEFT_REST ".left"

/* Whether `engine.ssh.collect` has the word; NULL: none is stated, and the default holds. */
bool jr_left_is_collected(const struct jr_ssh *ssh, const char *word);

/* How many bytes at most a host sends of such a file, where results or whole logs are asked for; 0:
 * it is not sent. */
uint64_t jr_left_most(enum jr_run_file_kind kind, bool results, bool logs);

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

/* Send a file, which is below the run folder: of a log the last `most` bytes, from the begin of a
 * line on; any other whole or not at all, for what is larger can be none that a run has written.
 * Nothing is sent of a file that is not there, or is not regular. The rest is as above. */
int jr_left_send_file(const struct jr_left_sender *sender, const json_t *of, const char *path,
                      enum jr_run_file_kind kind, uint64_t most);

/* Where the bytes of a record go, which begins. */
struct jr_left_place {
    bool text;                       /* to whoever takes it, and to no file */
    struct jr_buf path;              /* of a file, below `dir`; empty: nowhere */
    const struct jr_run_folder *dir; /* in which it is made */
    const char *host;                /* that it comes from, as ssh calls it */
    const struct jr_ssh *ssh;        /* how that is reached; NULL: as it is */
    uint64_t most;                   /* bytes that may come of it */
    int *error;                      /* why it is not whole; EFBIG: there is more of it */
};

/* Who takes. */
struct jr_left_taker {
    void *data;
    /* A record begins. False: it is none, and nothing more is taken. The place of a file is asked
     * for with its first record. */
    bool (*begin)(void *data, const json_t *head, struct jr_left_place *ret);
    /* The text of a record that is no file's has come. */
    void (*end)(void *data, const struct jr_buf *text);
};

/* What has come of a stream. */
struct jr_left_stream {
    struct jr_buf head; /* of a record, up to its newline */
    uint64_t missing;   /* bytes of the record that have not come */
    bool torn;          /* no records come */
    bool text;
    struct jr_buf held; /* of a text */
    int fd;             /* of the file that comes; -1: none does */
    uint64_t room;      /* bytes that may still come of it */
    int *error;
};

#define JR_LEFT_STREAM_INIT                                                                        \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* Take bytes of the stream, which may end anywhere. Files are made, and the folders on their way,
 * through no link. One that is cut begins with a line that says so, and with it comes what
 * jr_fetch_logs fetches the rest by. */
void jr_left_stream_take(struct jr_left_stream *stream, const struct jr_left_taker *taker,
                         const char *bytes, size_t len);

/* Forget it, and close the file that was coming. */
void jr_left_stream_drop(struct jr_left_stream *stream);

/*
 * What ranks have left on hosts that do not see the run folder (engine.ssh). An agent there has a
 * run folder of its own, LOG_DIR/RUN_ID/node_N, judges what its ranks have delivered, and sends
 * that and what `engine.ssh.collect` asks for, in records as above:
 *
 *   {"rank":3,"what":"delivery","size":24}       jr_delivery_pack, in JSON
 *   {"rank":3,"what":"stdout","size":65000,"first":true,
 *    "cut":12345,"path":"/home/u/runs/ID/node_1/attempt_0/3/stdout.log"}
 *   {"rank":3,"what":"stdout","size":712}        which follow the others
 *
 * They are put where the files would be if the host did see the run folder, so that everything else
 * finds them there. The files of a node's own, which are no rank's, go with its first rank.
 */

/* An attempt begins: forget what earlier ones have left. -1 with `err`. */
int jr_left_files_begin(struct jr_session *session, struct jr_error *err);

/* Take bytes of a node's records, which may end anywhere; `data` is the session. What is no record,
 * or of a rank that is not the node's, ends what is taken of it. */
void jr_left_files_take(void *data, uint32_t node, const char *bytes, size_t len);

/* The attempt is over: note in its outcome which files are not whole. */
void jr_left_files_finish(struct jr_session *session);

/* Free all that was kept. */
void jr_left_files_release(struct jr_session *session);

/* The agent's side, once the ranks have ended, and the session has the report of that: write what
 * they have delivered, and the files that are asked for, to `fd`. -1 with `err`: not all is
 * written. */
int jr_left_send(const struct jr_session *session, int fd, struct jr_error *err);

#endif
