/* What a run is given besides its plan. */
#ifndef JR_RUN_OPTIONS_H
#define JR_RUN_OPTIONS_H

#include <signal.h>

#include <jobrun/run.h>

struct jr_companion;
struct jr_group;
struct jr_replay;
struct jr_run_folder;
struct jr_slurm_self;

/* What connects a run on one node to the others of its job, where it is one of several: events go
 * there, line by line, and into no events.jsonl; what the other nodes have to know goes there as
 * reports, which are no events; and commands come from there, a byte each. The end of the commands
 * is a stop. What MPI's process managers on all nodes have to exchange is bytes that go both
 * ways. */
struct jr_run_link {
    int events_fd;
    int reports_fd; /* a pipe: each report is one write */
    int commands_fd;
    int exchange_fd; /* a socket: frames of wireup/exchange.h */
};

enum jr_report_name {
    JR_REPORT_ALL_RETURNED, /* all ranks of the node wait at the exit barrier */
    JR_REPORT_RELEASED,     /* it is open here, and need be held nowhere */
    JR_REPORT_SILENT,       /* no rank has written for `timeouts.silence` */
    JR_REPORT_QUIET,        /* the answer to a query: for how long */
    JR_REPORT_TERMINATED,   /* SIGTERM came here, or a rank died of it */
    JR_REPORT_INITIALIZED   /* a rank has called MPI_Init, the first here */
};

struct jr_report {
    enum jr_report_name name;
    uint64_t for_ns; /* of QUIET; 0: a rank is not silent, or cannot be seen */
};

/* End the ranks, because another node does. (What the user sends comes as a signal.) */
#define JR_COMMAND_STOP 's'
/* All ranks of all nodes have returned: open the exit barrier. */
#define JR_COMMAND_RELEASE 'r'
/* Some rank of some node has ended well: `after_first_exit` counts from now. */
#define JR_COMMAND_FIRST 'f'
/* Report for how long all ranks have written nothing. */
#define JR_COMMAND_QUERY 'q'
/* That was too long, on every node: the run hangs. */
#define JR_COMMAND_HANG 'h'
/* The job made no step forward for too long, or no first one: it hangs. */
#define JR_COMMAND_NO_STEP       'p'
#define JR_COMMAND_NO_FIRST_STEP 'b'

/* A rank of some node has called MPI_Init. */
#define JR_COMMAND_INITIALIZED 'm'
/* The job is preempted; or it is not, and SIGTERM is what it is. */
#define JR_COMMAND_PREEMPTED     'P'
#define JR_COMMAND_NOT_PREEMPTED 'n'

struct jr_run_options {
    struct jr_run_folder *dir;
    const struct jr_group *group; /* the run's control group; NULL: none */
    int in_fd;                    /* for the rank whose input says so; -1: /dev/null */
    int out_fd, err_fd;           /* console; -1: closed, lines go nowhere */
    bool live;                    /* err_fd is a terminal that wants a status line */
    bool utf8;                    /* it shows more than ASCII */
    bool color;
    sigset_t ignored;                  /* signals that were ignored on entry (nohup) */
    bool shields;                      /* ranks begin with SIGTERM ignored; see
                                          run/policies/preemption.c */
    struct jr_replay *replay;          /* goes on with the console after the run; NULL:
                                          jr_run does not return before all is shown */
    const struct jr_run_link *link;    /* NULL: the run is whole by itself */
    const struct jr_slurm_self *slurm; /* whom scontrol is asked of; NULL: it is
                                          not, here */
    const int *leases;                 /* of ports and devices: sockets that the run holds as
                                          long as it lasts, and whose callers it serves */
    uint32_t leases_count;
    struct jr_companion *companion; /* the function that writes the record when
                                       the caller was killed; NULL: none */
};

#endif
