/*
 * A console that has fallen behind, and catches up from the files: while the run goes on, and after
 * it.
 *
 * If the console takes no more of a stream, the stream is put into the queue of the output that its
 * lines go to. From then on its bytes go only into its file. When the output has room, the streams
 * of its queue show a piece of their files in turn, until the console has everything. So a console
 * that is not read blocks no rank, and needs no memory except a record of each stream.
 *
 * What has no file of its own to be read from, because there is none or it cannot be written any
 * more, is kept in memory until it is shown: that is the only copy, and its rank waits for the
 * console meanwhile (tee.c).
 *
 * A line in its place says what the files do not have: what log_limit left out, and what arrived
 * for a file that several streams share.
 */
#ifndef JR_CATCH_UP_H
#define JR_CATCH_UP_H

#include "eventloop/signals.h"
#include "output/line_writer.h"
#include "output/log_file.h"

/* With console.timestamps, when bytes came: up to `end` of the stream, by `wall_ns`. If there is no
 * room for more, two in a row become one. */
#define JR_TIMES_MOST 256
struct jr_times {
    uint32_t count;
    struct jr_time {
        uint64_t end, wall_ns;
    } items[JR_TIMES_MOST];
};

/* How far the console has come with a stream. */
struct jr_shown {
    struct jr_log_file_span file; /* what the file has of the stream */
    uint64_t at;                  /* up to here it was shown */
    uint64_t lost;                /* bytes after those of the file, which were not kept */
    uint64_t tail;                /* bytes after these, left in the remainder */
    enum jr_begun begun;
    bool behind; /* there is more to show */
};

struct jr_follower {
    struct jr_feed *feed;
    const char *path; /* of the file */
    struct jr_shown shown;
    struct jr_buf tail;     /* what comes after the file's, and is nowhere else */
    struct jr_times *times; /* of what is not shown; NULL: nobody asks */
    bool ended;             /* nothing more will come */
    struct jr_follower *next;
};

struct jr_catch_up {
    struct jr_console_writer *console;
    struct jr_line_writer *lines;
    const struct jr_logfiles *files;
    char *bytes; /* room for JR_CATCH_UP_STEP */
    struct jr_catch_up_queue {
        struct jr_follower *first, *last;
    } queues[2]; /* by output of the console */
};

#define JR_CATCH_UP_STEP (1U << 20) /* bytes that are shown in a turn */

/* The stream is behind: it waits until its output has room. */
void jr_catch_up_add(struct jr_catch_up *all, struct jr_follower *stream);

/* The stream is behind, and its file has got bytes; `lost` more were not kept.
 */
void jr_catch_up_note_bytes(struct jr_follower *stream, size_t lost);

/* The stream is behind, and no file has these bytes of it. */
void jr_catch_up_keep(struct jr_follower *stream, const char *bytes, size_t len);

/* The output has room: go on. */
void jr_catch_up_step(struct jr_catch_up *all, struct jr_output *output);

/* Whether any stream is behind. */
bool jr_catch_up_is_behind(const struct jr_catch_up *all);

/* Leave the streams that are behind where they are: what is unfinished in memory is to be read
 * again. */
void jr_catch_up_leave(struct jr_catch_up *all);

/*
 * What a console has not shown when its run has ended, in memory that guard and runner share: the
 * runner leaves it there, and the guard goes on (jr_replay).
 */
struct jr_remainder {
    size_t size;               /* of the mapping */
    uint32_t count;            /* of streams */
    size_t room;               /* for what follows */
    size_t pending_len[2];     /* by output of the console */
    char *pending;             /* lines that the outputs did not take, the first's
                                  before the second's; then the streams' tails */
    size_t tails;              /* bytes of these */
    struct jr_times *times;    /* `count` of them */
    struct jr_shown streams[]; /* 2 of each rank, and 2 of the setup */
};

/* Memory for `ranks` ranks; unused parts cost none. NULL with errno. */
struct jr_remainder *jr_remainder_new(uint32_t ranks);

/* Give the memory back. NULL is allowed. */
void jr_remainder_free(struct jr_remainder *remainder);

/* Keep what the console's outputs have not taken: as many whole lines as there is room for. */
void jr_remainder_keep(struct jr_remainder *remainder, const struct jr_console_writer *console);

/* Keep how far the console has come with stream `i`, and its tail: of that the
 * end, as far as there is room. After the outputs, and in the streams' order.
 */
void jr_remainder_keep_stream(struct jr_remainder *remainder, uint32_t i,
                              const struct jr_follower *stream);

/*
 * What is shown after a run: what its console had not taken by then, out of the files of the
 * streams, attempt after attempt, and what jobrun itself says after that. Nothing here blocks but
 * jr_replay_finish.
 */
struct jr_replay_part;

struct jr_replay {
    struct jr_loop loop;
    struct jr_console_writer console;
    struct jr_logfiles files;
    bool color;
    struct jr_replay_part *first, *last; /* the first is being shown */
    bool ended;                          /* by a signal: no more of the files is shown */
    bool cut;                            /* and there was more */
    bool hurried;                        /* the console is given little time from now on */
    struct jr_watch signals;
    struct jr_signals uses;
    struct jr_timer patience;
    uint64_t limit_ns; /* when a hurried one ends in any case */
    char *bytes;
};

/* For a console as jr_run_options has it; `dir_fd` is that of the run folder,
 * and stays the caller's. Returns 0, or -1 with errno; close it in both cases.
 */
int jr_replay_open(struct jr_replay *replay, int out_fd, int err_fd, int dir_fd, bool color);

/* Drop what is left to show, and free. */
void jr_replay_close(struct jr_replay *replay);

/* Add what a run of `plan` has left, and copy what is needed of both; out of memory it is not
 * shown. */
void jr_replay_add(struct jr_replay *replay, const struct jr_plan *plan,
                   const struct jr_remainder *left);

/* Add text of our own, for standard error; it is copied. False if there is no memory for it. */
bool jr_replay_print(struct jr_replay *replay, const char *text, size_t len);

/* Whether there is anything left to show. */
bool jr_replay_is_done(const struct jr_replay *replay);

/* Show as much as the console takes now. */
void jr_replay_turn(struct jr_replay *replay);

/* Whoever stopped the run does not wait long for its console: a second in which that takes nothing,
 * and ten in all. */
void jr_replay_hurry(struct jr_replay *replay);

/* Show all, however long the console takes; the signals that a run under
 * `policy` takes are blocked. One that would stop the run ends the files, and
 * hurries what is left. */
void jr_replay_finish(struct jr_replay *replay, const struct jr_policy *policy,
                      const sigset_t *ignored);

#endif
