/*
 * What a rank had delivered when it ended.
 *
 * Its result file and its artifacts are looked at once, when the rank is reaped (a function's or a
 * step's result already when it says that it has returned, with what it says of the file itself),
 * and of a stream from which results are read it is noted how many bytes are there by then, those
 * in the pipe included. What is judged later must be the same: whatever another rank, a daemon or a
 * concurrent run makes of it in between is not the rank's.
 *
 * That is one stat(2) for each file that a rank has to deliver, and nothing for a rank that has to
 * deliver none. The time of its last change of status is no part of it: a peer may link the file,
 * move it away and back, or change its mode. But whoever changes bytes can set back all other
 * times, and what is changed through mapped memory, or within one tick of a coarse clock, keeps
 * them: so the bytes are read, too. All of them, up to JR_PIN_DIGESTED: ranks end while jobrun has
 * others to look after, and artifacts are of any size. Of a longer file it is its head, its tail
 * and samples between them, so much in all. What is changed between those, with all times set back,
 * is not seen. Of a log, which may grow later, it is the last bytes that the rank has written by
 * then.
 */
#ifndef JR_PIN_RESULTS_H
#define JR_PIN_RESULTS_H

#include <sys/stat.h>

#include <jobrun/run.h>

#include "base/arena.h"
#include "base/rank_set.h"

/* Which artifacts of a rank are looked at, and from where. */
struct jr_pin_scope {
    const bool *common; /* see jr_pin_common */
    bool own, jobs;
    bool far;        /* see jr_pin_is */
    uint64_t *bytes; /* NULL, or where the digest of each one's bytes goes: 0
                        where that is not known */
};

/* Note what `st` says. */
void jr_pin_fill(struct jr_pin *ret, const struct stat *st);

/* How many bytes tell a result or an artifact from what it is changed to in place; and of a log,
 * how many of its last. */
#define JR_PIN_DIGESTED ((size_t)1 << 20)
#define JR_PIN_LOG      ((size_t)64 << 10)

/* The digest of a file of these bytes; never 0. */
uint64_t jr_pin_digest(const void *bytes, size_t len);

/* The same of a regular file that is open, and has this size; 0: it cannot be read, or does not
 * have so many bytes any more. */
uint64_t jr_pin_digest_fd(int fd, uint64_t size);

/* The digest of the last of them of a log's first `end` bytes; 0: it does not have so many, or
 * none. */
uint64_t jr_pin_log(int fd, uint64_t end);

/* Whether `st` is what was noted. Of a rank of another machine, `far`, device
 * and inode are not compared: they are that machine's own numbers. Its status
 * may have changed where its bytes are known, and are compared by whoever asks.
 */
bool jr_pin_is(const struct jr_pin *pin, const struct stat *st, bool far);

/* Of each artifact, whether it has one path for all ranks: then it is the job's, and is to be made
 * once. NULL if memory runs out. */
bool *jr_pin_common(struct jr_arena *arena, const struct jr_plan *plan);

/* The place in `artifacts` of the artifact `n`. */
#define JR_PIN_PLACE(n) ((n) % JR_PINNED_ARTIFACTS)

/* Note the artifacts of a rank as they stand: its own, those of the job, or both. What is not there
 * is 0. */
void jr_pin_artifacts(uint64_t ret[static JR_PINNED_ARTIFACTS], const struct jr_plan_rank *rank,
                      const struct jr_pin_scope *scope);

#endif
