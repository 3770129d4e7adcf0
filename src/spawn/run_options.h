/* What a run is given besides its plan. */
#ifndef JR_RUN_OPTIONS_H
#define JR_RUN_OPTIONS_H

#include <signal.h>

#include <jobrun/run.h>

struct jr_companion;
struct jr_group;
struct jr_replay;
struct jr_run_folder;

/* What ties a run on one node to the others of its job, where it is one of
 * several: what happens is told there, line by line, and in no events.jsonl;
 * what the other nodes have to know goes there as reports, which are no events;
 * and commands come from there, a byte each. The end of the commands is a stop.
 */
struct jr_run_link {
    int events_fd;
    int reports_fd; /* a pipe: each report is one write */
    int commands_fd;
};

/* All ranks of the node have returned, and wait at the exit barrier; it is open
 * here, and need not be held anywhere; no rank has written anything for
 * `timeouts.silence`; and for how long they have been silent, to a query. */
enum jr_report_name {
    JR_REPORT_ALL_RETURNED,
    JR_REPORT_RELEASED,
    JR_REPORT_SILENT,
    JR_REPORT_QUIET
};

struct jr_report {
    enum jr_report_name name;
    uint64_t for_ns; /* of QUIET; 0: a rank is not silent, or cannot be seen */
};

/* End the ranks, for another node does (what the user sends comes as a signal);
 * all ranks of all nodes have returned, so that they may go
 * (`exit_barrier`); some rank of some node has ended well (`after_first_exit`
 * counts from then); tell for how long all have been silent; that was too long,
 * on every node (`silence`). */
#define JR_COMMAND_STOP    's'
#define JR_COMMAND_RELEASE 'r'
#define JR_COMMAND_FIRST   'f'
#define JR_COMMAND_QUERY   'q'
#define JR_COMMAND_HANG    'h'

struct jr_run_options {
    struct jr_run_folder *dir;
    const struct jr_group *group; /* the run's control group; NULL: none */
    int in_fd;          /* for the rank whose input says so; -1: /dev/null */
    int out_fd, err_fd; /* console; -1: closed, lines go nowhere */
    bool live;          /* err_fd is a terminal that wants a status line */
    bool color;
    sigset_t ignored;         /* signals that were ignored on entry (nohup) */
    struct jr_replay *replay; /* goes on with the console after the run; NULL:
                                 jr_run does not return before all is shown */
    const struct jr_run_link *link; /* NULL: the run is whole by itself */
    struct jr_companion *companion; /* the function that writes the record when
                                       the caller was killed; NULL: none */
};

#endif
