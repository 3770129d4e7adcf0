/*
 * events.jsonl: what happens in a run, one JSON object a line: an event with its details.
 *
 * One table has the events: from it their lines are written and read, their schema is printed, and
 * their descriptions are taken. A new event is a new row of JR_EVENTS; what an event may say is a
 * member of struct jr_event, and a row of the table of members in events.c.
 */
#ifndef JR_EVENTS_H
#define JR_EVENTS_H

#include <jobrun/run.h>
#include <sys/types.h>

#include "base/json.h"
#include "store/progress.h"

/* What an event may say. Two names of one member differ in what it may be. */
enum jr_event_member {
    JR_SAYS_RANK,
    JR_SAYS_PID,
    JR_SAYS_STREAM,
    JR_SAYS_EXIT_CODE,   /* or null: it died by the signal */
    JR_SAYS_EXIT_SIGNAL, /* or null: it exited with the code */
    JR_SAYS_SIGNAL,
    JR_SAYS_RETURNED,
    JR_SAYS_STAGE,
    JR_SAYS_START_ERRNO, /* 0: it was not the system that refused */
    JR_SAYS_ERRNO,
    JR_SAYS_TIMEOUT,
    JR_SAYS_SIGNALLED,
    JR_SAYS_RUNNING,
    JR_SAYS_INJECTION,
    JR_SAYS_ATTEMPT,
    JR_SAYS_WAIT,
    JR_SAYS_MASTER_PORT,
    JR_SAYS_PROCESSES,
    JR_SAYS_LEFT,
    JR_SAYS_NODE,
    JR_SAYS_NODES,
    JR_SAYS_HEARD,
    JR_SAYS_TOLD,
    JR_SAYS_PROBLEM,
    JR_SAYS_COUNT
};

#define JR_SAYS(member) (UINT32_C(1) << JR_SAYS_##member)

/* Kinds of event. */
enum {
    JR_EVENT_IS_LIFE = 1, /* a rank's start, end, or what it does between */
    JR_EVENT_IS_END = 2   /* with it the end of a run can have begun */
};

/* X(NAME, its word, what it always says, what it may say, kind, what people are told, what the
 * schema says of it) */
#define JR_EVENTS(X)                                                                               \
    X(RANK_STARTED, "rank_started", JR_SAYS(RANK) | JR_SAYS(PID), 0, JR_EVENT_IS_LIFE,             \
      "a rank started", "A rank has started to run.")                                              \
    X(FIRST_OUTPUT, "first_output", JR_SAYS(RANK) | JR_SAYS(STREAM), 0, JR_EVENT_IS_LIFE,          \
      "a rank wrote something",                                                                    \
      "A rank wrote the first bytes to a stream that goes through a pipe.")                        \
    X(RANK_ENDED, "rank_ended",                                                                    \
      JR_SAYS(RANK) | JR_SAYS(PID) | JR_SAYS(EXIT_CODE) | JR_SAYS(EXIT_SIGNAL), 0,                 \
      JR_EVENT_IS_LIFE, "a rank ended", "A rank has ended, by a signal or with an exit code.")     \
    X(RANK_DONE, "rank_done", JR_SAYS(RANK) | JR_SAYS(RETURNED), 0, JR_EVENT_IS_LIFE,              \
      "a rank was done",                                                                           \
      "A Python or library rank is done: it has returned or has raised an "                        \
      "exception.")                                                                                \
    X(SETUP_STARTED, "setup_started", JR_SAYS(PID), 0, 0, "ran the setup",                         \
      "The spec's setup has started.")                                                             \
    X(SETUP_ENDED, "setup_ended", JR_SAYS(EXIT_CODE) | JR_SAYS(EXIT_SIGNAL), 0, 0,                 \
      "the setup ended", "The spec's setup has ended.")                                            \
    X(START_FAILED, "start_failed", JR_SAYS(RANK) | JR_SAYS(STAGE) | JR_SAYS(START_ERRNO), 0,      \
      JR_EVENT_IS_END, "could not start a rank", "A rank could not be started.")                   \
    X(SIGNAL, "signal", JR_SAYS(SIGNAL), 0, JR_EVENT_IS_END, "jobrun was sent a signal",           \
      "jobrun was sent a signal that stops the run.")                                              \
    X(FORWARD, "forward", JR_SAYS(SIGNAL), 0, 0, "forwarded a signal to the ranks",                \
      "jobrun was sent a signal that it forwards to the ranks.")                                   \
    X(TIMEOUT, "timeout", JR_SAYS(TIMEOUT), JR_SAYS(RANK), JR_EVENT_IS_END, "a timeout expired",   \
      "One of the spec's timeouts has expired.")                                                   \
    X(DEADLINE, "deadline", JR_SAYS(SIGNAL) | JR_SAYS(RUNNING), 0, 0,                              \
      "warned the ranks of the deadline",                                                          \
      "The end is near: the ranks that are running are sent the signal of "                        \
      "`deadline`.")                                                                               \
    X(PREEMPTED, "preempted", JR_SAYS(RUNNING), 0, 0, "was preempted",                             \
      "The scheduler takes the job's nodes away.")                                                 \
    X(EVIDENCE, "evidence", JR_SAYS(SIGNALLED), 0, 0, "recorded what the ranks were doing",        \
      "jobrun has recorded what the ranks of a hung run are doing, and sent "                      \
      "them the signal of `on_hang`.")                                                             \
    X(EVIDENCE_FAILED, "evidence_failed", JR_SAYS(RANK), JR_SAYS(ERRNO), 0,                        \
      "could not record what a rank was doing",                                                    \
      "The evidence about a hung rank could not be written, or the command "                       \
      "of `on_hang` could not be run.")                                                            \
    X(STOP, "stop", JR_SAYS(SIGNAL) | JR_SAYS(RUNNING), 0, 0, "told the ranks to stop",            \
      "The ranks that are still running are sent the stop signal.")                                \
    X(KILL, "kill", JR_SAYS(RUNNING), 0, 0, "killed the ranks that still ran",                     \
      "The ranks that are still running are killed.")                                              \
    X(LOG_FAILED, "log_failed", JR_SAYS(RANK) | JR_SAYS(STREAM) | JR_SAYS(ERRNO), 0, 0,            \
      "could not write a log any more",                                                            \
      "The output of a rank can no longer be written to its log.")                                 \
    X(INJECTED, "injected", JR_SAYS(RANK) | JR_SAYS(INJECTION), 0, 0, "injected a failure",        \
      "--inject affected a rank for the first time.")                                              \
    X(PROGRESS_WARNING, "progress_warning", JR_SAYS(RANK) | JR_SAYS(PROBLEM), 0, 0,                \
      "warned of the progress of a rank",                                                          \
      "jobrun warns of the progress of a rank, or of how the rank tells it.")                      \
    X(MPI_INITIALIZED, "mpi_initialized", 0, 0, 0, "initialized MPI",                              \
      "All ranks of an MPI world that jobrun serves have called MPI_Init.")                        \
    X(MPI_ABORT, "mpi_abort", JR_SAYS(RANK) | JR_SAYS(EXIT_CODE), 0, JR_EVENT_IS_END,              \
      "a rank called MPI_Abort",                                                                   \
      "A rank has called MPI_Abort, with a code whose lowest eight bits "                          \
      "these "                                                                                     \
      "are.")                                                                                      \
    X(MPI_FAILED, "mpi_failed", JR_SAYS(RANK) | JR_SAYS(EXIT_CODE), 0, JR_EVENT_IS_END,            \
      "MPI failed in a rank",                                                                      \
      "A rank had a fatal error within MPI, and is to exit with this code.")                       \
    X(MPI_BROKEN, "mpi_broken", JR_SAYS(RANK), 0, JR_EVENT_IS_END,                                 \
      "a rank broke the protocol of MPI's process manager",                                        \
      "After its MPI_Init a rank sent something that is not PMI-1.")                               \
    X(MPI_SPAWN_REFUSED, "mpi_spawn_refused", JR_SAYS(RANK), 0, 0,                                 \
      "refused to start more processes for a rank",                                                \
      "A rank asked MPI for more processes, which jobrun does not start.")                         \
    X(ATTEMPT_FAILED, "attempt_failed", JR_SAYS(ATTEMPT) | JR_SAYS(WAIT), 0, 0,                    \
      "an attempt failed", "An attempt failed, and the job will be started again.")                \
    X(REQUEUED, "requeued", JR_SAYS(ATTEMPT), 0, 0, "is to be continued",                          \
      "An attempt has ended to be continued, and will be.")                                        \
    X(RESTART, "restart", JR_SAYS(ATTEMPT) | JR_SAYS(MASTER_PORT), 0, 0,                           \
      "started all ranks again", "The next attempt begins: later events belong to its ranks.")     \
    X(HELPER_THREADS, "helper_threads", 0, 0, 0, "the helper has threads that forks do not have",  \
      "The imports of the helper left threads, and the ranks are forked "                          \
      "without them.")                                                                             \
    X(GUARD_LOST, "guard_lost", 0, 0, 0, "lost its guard",                                         \
      "The process that guards the run is gone, so the run is stopped.")                           \
    X(RUNNER_LOST, "runner_lost", JR_SAYS(SIGNAL) | JR_SAYS(PROCESSES) | JR_SAYS(LEFT), 0,         \
      JR_EVENT_IS_END, "lost its runner",                                                          \
      "The process that supervises the ranks is gone, so its guard has "                           \
      "stopped the run.")                                                                          \
    X(LEFT_RUNNING, "left_running", JR_SAYS(RANK) | JR_SAYS(PROCESSES), 0, 0,                      \
      "left processes running",                                                                    \
      "A rank had ended by itself, and processes that it had started went "                        \
      "on. "                                                                                       \
      "They are killed now, since no rank is left.")                                               \
    X(SWEPT, "swept", JR_SAYS(PROCESSES) | JR_SAYS(LEFT), 0, 0,                                    \
      "looked for processes that the ranks left behind",                                           \
      "All ranks have ended. The processes that they left behind, if there "                       \
      "are any, are killed.")                                                                      \
    X(NODE_APART, "node_apart", JR_SAYS(NODE), 0, 0, "has the logs of a node on its own disk",     \
      "A node does not see the run folder: what its ranks leave in files "                         \
      "comes back when the attempt is over.")                                                      \
    X(NODE_LOST, "node_lost", JR_SAYS(NODE), 0, 0, "lost a node",                                  \
      "A node is lost, and with it its ranks.")                                                    \
    X(AGENTS, "agents", JR_SAYS(NODES) | JR_SAYS(HEARD) | JR_SAYS(TOLD), 0, 0,                     \
      "communicated with the agents of the nodes",                                                 \
      "An attempt on several nodes has ended: how much was exchanged with "                        \
      "their agents since they started.")

#define JR_EVENT_ENUM(name, word, says, may, kind, words, help) JR_EVENT_##name,
enum jr_event_name {
    JR_EVENT_UNKNOWN, /* of another build */
    JR_EVENTS(JR_EVENT_ENUM)
};

/* One event. A writer sets its name and what it says; other members are not written. */
struct jr_event {
    enum jr_event_name name;
    uint32_t says;    /* a writer: the optional members that it sets; a reader: all
                         members that are there. JR_SAYS(...) */
    uint64_t ns;      /* monotonic; 0: the line does not say */
    uint64_t wall_ns; /* 0: the line does not say */
    uint32_t rank;
    int32_t pid;
    uint32_t stream;   /* 1 stdout, 2 stderr */
    int32_t exit_code; /* -1: none */
    int32_t signal;    /* 0: none */
    bool returned;
    enum jr_stage stage;
    int32_t error; /* errno */
    enum jr_timeout timeout;
    enum jr_inject injection;
    uint32_t signalled, running; /* ranks */
    uint32_t attempt;
    uint64_t wait_ms;
    uint32_t master_port;
    uint32_t processes, left; /* that were killed, and that could not be */
    uint32_t node, nodes;
    uint64_t heard, told; /* bytes */
    enum jr_step_problem problem;
};

/* Append its line, with its times. */
void jr_event_put(struct jr_buf *out, const struct jr_event *event);

/* Read a line, without its newline; false: it is not an event. What it does not say is 0. */
bool jr_event_read(struct jr_event *ret, const char *line, size_t len);

/* The same of a line that was parsed. */
bool jr_event_of(struct jr_event *ret, const json_t *line);

/* Its description for people: "killed the ranks that still ran"; NULL for an unknown one. */
const char *jr_event_words(enum jr_event_name name);

/* Its kinds, JR_EVENT_IS_...; 0: none. */
unsigned jr_event_kind(enum jr_event_name name);

/* Its word in the file: "rank_started"; NULL for an unknown one. */
const char *jr_event_word(enum jr_event_name name);

/* Append schemas/events-v1.schema.json. */
void jr_schema_events(struct jr_buf *out);

/*
 * The log: lines are gathered and written when the loop has nothing else to do.
 */
struct jr_events {
    int fd; /* -1: nowhere */
    struct jr_buf lines;
};

/* Open, or make, events.jsonl in the folder `dir_fd` to append to it. A file that cannot be opened
 * costs the events and nothing else. */
void jr_events_open(struct jr_events *events, int dir_fd, mode_t mode);

/* The same to a copy of `fd`, at `least` or beyond it. */
void jr_events_open_fd(struct jr_events *events, int fd, int least);

/* Add what happens now. The event is borrowed; its times are not looked at. */
void jr_events_add(struct jr_events *events, const struct jr_event *event);

/* Add what happened at another time, by the wall clock and by the monotonic one. */
void jr_events_add_at(struct jr_events *events, const struct jr_event *event, uint64_t wall_ns,
                      uint64_t ns);

/* Add a line, with its newline, that is no event: for the controller of several nodes, where there
 * is one. */
void jr_events_add_line(struct jr_events *events, const struct jr_buf *line);

/* Write the lines that were gathered. What cannot be written is dropped. */
void jr_events_flush(struct jr_events *events);

/* Write them, and close the file. A second time nothing happens. */
void jr_events_close(struct jr_events *events);

#endif
