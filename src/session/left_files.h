/*
 * What ranks have left on hosts that do not see the run folder (engine.ssh). An agent there has a
 * run folder of its own, LOG_DIR/RUN_ID/node_N, judges what its ranks have delivered, and sends
 * that and what `engine.ssh.collect` asks for, in records (left_records.h):
 *
 *   {"rank":3,"what":"delivery","size":24}       delivery.h, in JSON
 *   {"rank":3,"what":"stdout","size":65000,"first":true,
 *    "cut":12345,"path":"/home/u/runs/ID/node_1/attempt_0/3/stdout.log"}
 *   {"rank":3,"what":"stdout","size":712}        which follow the others
 *
 * send_left.h sends them; this file puts them where the files would be if the host did see the run
 * folder, so that everything else finds them there.
 */
#ifndef JR_LEFT_FILES_H
#define JR_LEFT_FILES_H

#include <jobrun/plan.h>

#include "base/buf.h"

struct jr_session;

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

/* The word of a kind. */
const char *jr_left_word(enum jr_left_kind kind);

/* Append the path of a file below the run folder; nothing where the rank has none there. */
void jr_left_path(struct jr_buf *out, const struct jr_plan *plan, const struct jr_plan_rank *rank,
                  enum jr_left_kind kind);

/* How many bytes at most of a file of that kind a host is to send; 0: none. */
uint64_t jr_left_most(const struct jr_policy *policy, enum jr_left_kind kind);

/* An attempt begins: forget what earlier ones have left. -1 with `err`. */
int jr_left_files_begin(struct jr_session *session, struct jr_error *err);

/* Take bytes of a node's records, which may end anywhere; `data` is the session. What is no record,
 * or of a rank that is not the node's, ends what is taken of it. */
void jr_left_files_take(void *data, uint32_t node, const char *bytes, size_t len);

/* The attempt is over: note in its outcome which files are not whole. */
void jr_left_files_finish(struct jr_session *session);

/* Free all that was kept. */
void jr_left_files_release(struct jr_session *session);

#endif
