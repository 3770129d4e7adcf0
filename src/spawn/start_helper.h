/*
 * The start methods fork and forkserver: one helper imports, or loads, once; every rank is a fork
 * of it.
 *
 * The helper is a child of the runner like a rank, with a socket (SEQPACKET) as descriptor 3. On
 * it, one text a message, runner to helper:
 *
 *     rank I LINE      with descriptors: the request, and the rank's standard
 *                      input, output, error, control socket if it has one, and
 *                      life line (start.h), which is to be descriptor LINE; 0:
 *                      it has none
 *     go               fork those requested since the last `go`
 *
 * and helper to runner:
 *
 *     threads TEXT     what is imported has left threads behind: how many, and
 *                      their names
 *     ready            what is to be imported is imported
 *     failed STAGE\n.. it cannot be used: import or fork, and why
 *     rank I PID       from the intermediate process that forked it
 *     refused I ERRNO  the same, where fork(2) failed
 *     done             the intermediate has ended
 *
 * A request is a file of NUL-terminated strings: the working directory, the CPUs as numbers with
 * commas, the number of arguments, the arguments, and the environment. `I` is the rank's place in
 * the plan, less plan->first.
 *
 * The intermediate ends as soon as it has forked its batch, which makes the ranks the runner's own
 * children, for it is a child subreaper. A rank waits for that before it sets its death signal,
 * which would be the intermediate's otherwise.
 */
#ifndef JR_START_HELPER_H
#define JR_START_HELPER_H

#include "eventloop/loop.h"
#include "spawn/start.h"

#define JR_HELPER_BATCH 16 /* ranks requested and not reported yet, at most */

/* What happened, for the runner. */
struct jr_helper_hooks {
    void *owner;
    /* A rank was forked. */
    void (*started)(void *owner, uint32_t i, pid_t pid);
    /* It has threads besides the one that forks: which. */
    void (*threads)(void *owner, const char *text);
    /* No further rank will be. `text`: why; may be empty. */
    void (*failed)(void *owner, enum jr_stage stage, int error, const char *text);
};

struct jr_helper {
    struct jr_watch socket, process; /* -1: none */
    struct jr_loop *loop;
    struct jr_helper_hooks hooks;
    pid_t pid;
    char log[64]; /* the path of what it prints, in the run folder */
    bool ready;
    bool failed;      /* and the hook was called */
    bool forking;     /* `go` was sent, and no `done` has come */
    uint32_t batched; /* ranks that were requested since the last `go` */
    uint32_t pending; /* requested, but not yet reported */
    int status;       /* of its end, as in siginfo_t: */
    int code;         /* CLD_...; 0: it lives */
};

/* Start the helper of the plan. Its end without a failure that was reported before is one, unless
 * jr_helper_close was called. -1 with *ret_stage and errno. */
int jr_helper_open(struct jr_helper *helper, struct jr_starter *starter, const struct jr_plan *plan,
                   struct jr_loop *loop, enum jr_stage *ret_stage);

/* Whether it takes another rank now. */
bool jr_helper_may_start(const struct jr_helper *helper);

/* Request the rank at place `i`. ret->pid stays 0: `started` has it later. */
void jr_helper_start(struct jr_helper *helper, struct jr_starter *starter,
                     const struct jr_plan_rank *rank, uint32_t i, struct jr_started *ret);

/* Have it fork the ranks that were requested. */
void jr_helper_fork(struct jr_helper *helper);

/* Read its messages. To be called before an unknown process is judged. */
void jr_helper_receive(struct jr_helper *helper);

/* Have it end: no further rank is wanted. */
void jr_helper_close(struct jr_helper *helper);

/* Send SIGKILL. Ranks that were requested may still be reported. */
void jr_helper_kill(struct jr_helper *helper);

/* Once it has ended: remove its log if it is empty. */
void jr_helper_tidy(const struct jr_helper *helper);

#endif
