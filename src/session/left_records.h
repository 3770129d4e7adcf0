/*
 * Files that go from a host to the controller of a job: records in one stream, each a line of JSON
 * and then `size` bytes. What a record is about, its keys say to whoever takes it; those of a file
 * besides:
 *
 *   "first":true      it is the first of the file; others may follow it
 *   "cut":12345       so many bytes of the file are before it, and not sent
 *   "path":"/home/u/runs/ID/node_1/attempt_0/3/stdout.log"
 *
 * left_files.h has those of a run, sweep/cell_files.c those of a cell.
 */
#ifndef JR_LEFT_RECORDS_H
#define JR_LEFT_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"

struct jr_run_folder;
struct jr_ssh;

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

#endif
