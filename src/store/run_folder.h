/*
 * The run folder: LOG_DIR/RUN_ID, made safely, written atomically, beneath one descriptor,
 * following no link.
 */
#ifndef JR_RUN_FOLDER_H
#define JR_RUN_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/hash.h"
#include <jobrun/error.h>
#include <jobrun/types.h>

#define JR_PATCH_FILE "code.patch"
#define JR_ON_END_LOG "on_end.log"
#define JR_SETUP_LOG  "setup.log"
#define JR_HELPER_LOG "helper.log"

/*
 * The files that jobrun makes in a run folder: X(the folder, the name, what it is, word, title).
 * From this list are made what comes back of a host that does not see the folder (engine.ssh), and
 * what the page of a run lists. Ranks may leave any number of others.
 *
 * The folder is the run's, one of an attempt, or one of a rank in that; of a run that has several
 * nodes, the files of an attempt which are a node's own are in that of JR_NODE_DIR. The word is
 * that by which a node of a run sends what it has of it; NULL: it comes from the node's own jobrun,
 * or the run's controller. The title is what the page says of it; NULL: it is not listed there.
 */
#define JR_RUN_FILES(X)                                                                            \
    X(RUN, "spec.yaml", RECORD, NULL, "the spec as it was read")                                   \
    X(RUN, "resolved.yaml", RECORD, NULL, "the spec as it was run")                                \
    X(RUN, "explain.json", RECORD, NULL, "where each of its values came from")                     \
    X(RUN, "plan.json", RECORD, NULL,                                                              \
      "what jobrun planned to start, with the environment of each rank")                           \
    X(RUN, "events.jsonl", RECORD, NULL, "the events of the run, one per line")                    \
    X(RUN, "results.json", RECORD, NULL, "the outcome and the result of each rank")                \
    X(RUN, "metrics.jsonl", RECORD, NULL, "the steps and metrics, one line per point")             \
    X(RUN, "run.json", RECORD, NULL, "the record of the run")                                      \
    X(RUN, "console.log", LOG, NULL, "the console output of a detached run")                       \
    X(RUN, JR_ON_END_LOG, LOG, NULL, "the output of on_end")                                       \
    X(RUN, "progress.json", RECORD, NULL, NULL)                                                    \
    X(RUN, JR_PATCH_FILE, RECORD, NULL, NULL)                                                      \
    X(ATTEMPT, "results.json", RECORD, NULL, NULL)                                                 \
    X(RANK, "result.json", RESULT, "result", NULL)                                                 \
    X(RANK, "error.json", RECORD, "error", NULL)                                                   \
    X(RANK, "hang.json", RECORD, "hang", NULL)                                                     \
    X(RANK, "hang.txt", RECORD, NULL, NULL)                                                        \
    X(RANK, "stdout.log", LOG, "stdout", NULL)                                                     \
    X(RANK, "stderr.log", LOG, "stderr", NULL)                                                     \
    X(ATTEMPT, JR_SETUP_LOG, LOG, "setup", NULL)                                                   \
    X(ATTEMPT, JR_HELPER_LOG, LOG, "helper", NULL)

enum jr_run_file_in { JR_IN_RUN, JR_IN_ATTEMPT, JR_IN_RANK };

/* A record is jobrun's, a result is what a rank has delivered; a log may be cut. */
enum jr_run_file_kind { JR_FILE_RECORD, JR_FILE_RESULT, JR_FILE_LOG };

struct jr_run_file {
    enum jr_run_file_in in;
    const char *name;
    enum jr_run_file_kind kind;
    const char *word, *title;
};

#define JR_RUN_FILE_ONE(in, name, kind, word, title) +1
enum { JR_RUN_FILE_COUNT = 0 JR_RUN_FILES(JR_RUN_FILE_ONE) };
extern const struct jr_run_file jr_run_files[JR_RUN_FILE_COUNT];

/* The folder, below the run's, of what is a node's own and not one rank's, where a run has several
 * nodes: JR_SETUP_LOG and JR_HELPER_LOG lie in its attempt's folder. */
#define JR_NODE_DIR "node_%u"

struct jr_run_folder {
    int fd;     /* of LOG_DIR/RUN_ID, or of this node's part below it */
    int log_fd; /* of LOG_DIR */
    mode_t dir_mode, file_mode;
    bool unread;      /* it has no run.json yet, by which it would be a run:
                         nobody reads its files */
    bool kept;        /* it is an earlier run's, which goes on: nothing that
                         is in it is discarded */
    uint32_t claimed; /* the attempt whose folder is made already, and one */
    char id[128];
    char path[160]; /* below LOG_DIR: ID, or ID/node_N */
};

#define JR_RUN_FOLDER_INIT                                                                         \
    {                                                                                              \
        .fd = -1, .log_fd = -1                                                                     \
    }

/* A fresh id: 20261121-063012-NAME-3f9c (UTC). */
void jr_run_folder_id(char out[static 128], const char *name);

/* Whether `id` can be a run's: 1 to 127 of A-Z a-z 0-9 . _ - with no dot at the front, and not
 * "latest". */
bool jr_run_folder_is_id(const char *id);

/* Make LOG_DIR as needed (with a .gitignore when new) and the folder `id` in it. A generated id
 * that exists gets another suffix; a given one is refused. A LOG_DIR of another owner, or
 * world-writable without the sticky bit, is refused. */
int jr_run_folder_create(struct jr_run_folder *ret, const char *log_dir, const char *id, bool given,
                         enum jr_log_mode mode, struct jr_error *err);

/* The same where each of several nodes has a jobrun of its own, and they have nothing in common but
 * `id`: this node's part is LOG_DIR/ID/node_N, a run folder of its own, and LOG_DIR may be one that
 * the nodes share. Whoever comes first makes ID; mkdir(2) decides who is `node`, and the second is
 * refused, as is a part of a run that is one jobrun's. */
int jr_run_folder_create_part(struct jr_run_folder *ret, const char *log_dir, const char *id,
                              uint32_t node, enum jr_log_mode mode, struct jr_error *err);

/* Remove what was made, with its files, where no rank has a folder in it yet, and what other nodes
 * have nothing in. The descriptors stay. */
void jr_run_folder_discard(const struct jr_run_folder *dir);

/* Open the folder of the run `id`, which is to go on in this process. It has to be ours, and no
 * link. 0; 1 where there is none; or -1 with `err`. */
int jr_run_folder_continue(struct jr_run_folder *ret, const char *log_dir, const char *id,
                           enum jr_log_mode mode, struct jr_error *err);

/* Open the folder that another node has made for the run `id`. No link is followed. 0, or -1 with
 * `err`. */
int jr_run_folder_join(struct jr_run_folder *ret, const char *log_dir, const char *id,
                       enum jr_log_mode mode, struct jr_error *err);

/* Open the folder of a node's own that jr_run_folder_create_part has made, in another process. 0,
 * or -1 with `err`. */
int jr_run_folder_join_part(struct jr_run_folder *ret, const char *log_dir, const char *id,
                            uint32_t node, enum jr_log_mode mode, struct jr_error *err);

/* Point LOG_DIR/latest at this run, atomically. */
int jr_run_folder_latest(const struct jr_run_folder *dir, struct jr_error *err);

/* Replace a file of the run folder atomically, or make it, where nobody reads the folder yet. */
int jr_run_folder_write(const struct jr_run_folder *dir, const char *name,
                        const struct jr_buf *bytes, struct jr_error *err);

/* Close the descriptors. A second time nothing happens. */
void jr_run_folder_close(struct jr_run_folder *dir);

/*
 * The folder of an attempt, beneath that of the run. No link is followed, and one that exists is
 * nobody's: a rank of an earlier attempt may have made it.
 */

/* Make the folder of an attempt, which all its ranks share: an existing one is refused. 0, or -1
 * with `err`. */
int jr_attempt_folder_make(const struct jr_run_folder *dir, uint32_t attempt, struct jr_error *err);

/* Make the folder of a node's part of an attempt, in the node's own (JR_NODE_DIR), which is made as
 * needed: an existing one is refused. 0, or -1 with `err`. */
int jr_attempt_folder_make_part(const struct jr_run_folder *dir, uint32_t node, uint32_t attempt,
                                struct jr_error *err);

/* Make the folder of an attempt ahead of its time: mkdir(2) decides who continues the run.
 * jr_attempt_folder_make takes it then. 0; 1 where somebody else has made it; or -1 with `err`. */
int jr_attempt_folder_claim(struct jr_run_folder *dir, uint32_t attempt, struct jr_error *err);

/*
 * A mark in a run folder, by which other nodes know that theirs is the same one: a folder of the
 * same name may be another, on a disk of their own. It is an empty file with a name that nobody can
 * have looked for before, so that no cache of a network file system knows better.
 */

/* Make one, and its token. 0, or -1 with `err`. */
int jr_folder_mark_make(const struct jr_run_folder *dir, char ret[static JR_TOKEN_SIZE],
                        struct jr_error *err);

/* Whether the folder has the mark of a token; one that is none is not there. */
bool jr_folder_mark_is(const struct jr_run_folder *dir, const char *token);

/* Remove it. */
void jr_folder_mark_remove(const struct jr_run_folder *dir, const char *token);

#endif
