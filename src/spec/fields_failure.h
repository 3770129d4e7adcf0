/* The fields of mappings about time, signals and failure. See fields.h. */
#ifndef JR_FIELDS_FAILURE_H
#define JR_FIELDS_FAILURE_H

/* clang-format off */
#define JR_FIELDS_TIMEOUTS(X)                                                  \
    X("start", DURATION, OPTIONAL, U64(start_ms), "0", "milliseconds",         \
      SUPERVISION, "none",                                                     \
      "how long starting all ranks may take; 0: no limit")                     \
    X("run", DURATION, OPTIONAL, U64(run_ms), "0", "milliseconds",             \
      SUPERVISION, "none", "how long the ranks may run; 0: no limit")          \
    X("silence", DURATION, OPTIONAL, U64(silence_ms), "0", "milliseconds",     \
      SUPERVISION, "none",                                                     \
      "how long all ranks together may write nothing; 0: no limit")            \
    X("after_first_exit", DURATION, OPTIONAL, U64(after_first_exit_ms), "0",   \
      "milliseconds", SUPERVISION, "none",                                     \
      "how long ranks may run after the first ended well")                     \
    X("progress", DURATION, OPTIONAL, U64(progress_ms), "0", "milliseconds",   \
      SUPERVISION, "none",                                                     \
      "how long the job may make no step forward; 0: no limit")                \
    X("first_step", DURATION, OPTIONAL, U64(first_step_ms), "0",               \
      "milliseconds", SUPERVISION, "none",                                     \
      "how long the job may take to its first step; 0: no limit")              \
    X("exit", DURATION, OPTIONAL, U64(exit_ms), "30s", "milliseconds",         \
      SUPERVISION, "30s",                                                      \
      "how long a rank may take to exit after it returned; 0: no limit")       \
    X("stop_grace", DURATION, OPTIONAL, U64(stop_grace_ms), "30s",             \
      "milliseconds", SUPERVISION, "30s", "the time from the stop signal to SIGKILL")

#define JR_FIELDS_ON_HANG(X)                                                   \
    X("signal", HANG_SIGNAL, OPTIONAL, STR(signal), NULL, NULL, SUPERVISION,   \
      "ABRT if Python's fault handler is on, else none",                       \
      "the signal that makes ranks print their stacks; none sends none")       \
    X("wait", DURATION, OPTIONAL, U64(wait_ms), "10s", "milliseconds",         \
      SUPERVISION, "10s", "how long gathering evidence may take in total")     \
    X("command", HANG_COMMAND, OPTIONAL, STRS(command), NULL, NULL,            \
      SUPERVISION, "none",                                                     \
      "a command to run for each rank; %{pid} is its process")

#define JR_FIELDS_DEADLINE(X)                                                  \
    X("before", DURATION, REQUIRED, U64(before_ms), NULL, "milliseconds",      \
      SUPERVISION, "an error: it is required",                                 \
      "how long before the known end the ranks are warned")                    \
    X("signal", DEADLINE_SIGNAL, OPTIONAL, STR(signal), "USR1", NULL,          \
      SUPERVISION, "USR1", "the signal that warns them")

#define JR_FIELDS_REQUEUE(X)                                                   \
    X("on", REQUEUE_CAUSES, OPTIONAL, STRS(on), NULL, NULL, SUPERVISION,       \
      "all three", "the causes for which it is continued")                     \
    X("max", COUNT, REQUIRED, U32(max), NULL, "requeues", SUPERVISION,         \
      "an error: it is required", "how often it is continued at most")

#define JR_FIELDS_RESTART(X)                                                   \
    X("max", WHOLE, OPTIONAL, U32(max), "0", "restarts", SUPERVISION, "0",     \
      "restarts at most, after the first attempt; 0 is none")                  \
    X("backoff", DURATION, OPTIONAL, U64(backoff_ms), "1s", "milliseconds",    \
      SUPERVISION, "1s",                                                       \
      "the wait before the first restart; it doubles each time")               \
    X("window", DURATION, OPTIONAL, U64(window_ms), "0", "milliseconds",       \
      SUPERVISION, "the whole run",                                            \
      "count only restarts within this time; 0 counts all")                    \
    X("on", TRIGGERS, OPTIONAL, STRS(on), NULL, NULL, SUPERVISION,             \
      "any failure", "the causes that lead to a restart")                      \
    X("never", TRIGGERS, OPTIONAL, STRS(never), NULL, NULL, SUPERVISION,       \
      "none", "causes that end the run, even if `on` has them")
/* clang-format on */

#endif
