/* An attempt on all nodes, while it goes on: what controller_run.c gives the other files of the
 * controller. Not for other layers. */
#ifndef JR_CONTROLLER_RUN_H
#define JR_CONTROLLER_RUN_H

#include "cluster/controller_mpi.h"
#include "cluster/controller_parts.h"
#include "spawn/slurm_job.h"
#include "store/events.h"
#include "store/folder_mark.h"
#include "store/step_tracker.h"

struct jr_controller_run {
    struct jr_controller *controller;
    const struct jr_plan *plan;
    const struct jr_run_options *options;
    struct jr_outcome *outcome;
    struct jr_watch signals;
    struct jr_signals uses;
    struct jr_events events;
    uint64_t go_ns;         /* when `go` was sent; monotonic */
    uint32_t *first;        /* rank of each node, and one more */
    bool is_querying;       /* nodes are asked about their silence */
    bool has_recent_output; /* a node was silent for less than the limit */
    struct jr_step_tracker steps;
    struct jr_step_limit limits;
    struct jr_controller_mpi mpi;
    struct jr_slurm_call call; /* whether the job is preempted */
    struct jr_watch answer;
    unsigned tries;      /* calls that were made for it */
    bool terminated;     /* the controller was sent SIGTERM, which may mean that */
    bool was_terminated; /* or did */
    bool stopped, released, ended_well, lost;
    char mark[JR_TOKEN_SIZE]; /* of the run folder; "": none yet */
    int result;
    struct jr_error *err;
};

/* Tell all nodes to stop their ranks; who does not in time is given up. Where one program carries
 * the messages of all, and an agent has ended, srun would end all others at the next message to it:
 * then the end of their input tells them. */
void jr_controller_run_stop(struct jr_controller_run *run);

/* All ranks of a node have returned, or are not waited for: open the exit barrier if it was the
 * last node. */
void jr_controller_run_returned(struct jr_controller_run *run, uint32_t node);

/* Open the exit barrier on all nodes. Once. */
void jr_controller_run_release(struct jr_controller_run *run);

/* The controller's monotonic clock at the moment `ns` of a node's; 0 stays 0.
 */
uint64_t jr_controller_run_ns(const struct jr_cluster_node *peer, uint64_t ns);

/* A channel of a node has got bytes. */
void jr_controller_run_stream(struct jr_controller_run *run, uint32_t node, enum jr_channel type);

/* A node has begun the attempt: its `begun` tells the offset of its clock. */
void jr_controller_run_begun(struct jr_controller_run *run, uint32_t node,
                             const struct jr_message *message);

/* The logs of a node are its own, as long as the attempt goes on. */
void jr_controller_run_apart(struct jr_controller_run *run, uint32_t node);

/* The attempt has ended on a node, whose outcome has come. */
void jr_controller_run_over(struct jr_controller_run *run, uint32_t node);

/* A node cannot take part: the run ends, and is refused with this text. */
void jr_controller_run_refuse(struct jr_controller_run *run, uint32_t node, const char *text);

/* A node is lost, and its ranks; `how` says how that is known. */
void jr_controller_run_lost(struct jr_controller_run *run, uint32_t node, const char *how);

/* The same of a node that is not waited for any longer. */
void jr_controller_run_give_up(struct jr_controller_run *run, uint32_t node, const char *how);

/* Show a line that no agent sent (of srun, or the controller's own), escaped, on standard output
 * (`stream` 0) or standard error (1). */
void jr_controller_run_print(struct jr_controller_run *run, int stream, const char *line,
                             size_t len);

#endif
