/*
 * What a restart is triggered by, as a spec says it in restart.on and .never:
 *
 *   exit          any exit code but 0         exit:75      exit:1-3,75
 *   signal        death by any signal         signal:SEGV  signal:BUS,SIGKILL
 *   oom           killed for want of memory   hang   timeout   start   result
 *   lost_node     a node that was lost with its ranks
 *   stderr:/RE/   a PCRE2 that its standard error holds
 */
#ifndef JR_RESTART_TRIGGER_H
#define JR_RESTART_TRIGGER_H

#include "base/rank_set.h"

#define JR_TRIGGERS(X)                                                                             \
    X(EXIT, "exit", "an exit code: exit:75, exit:1-3; alone any but 0")                            \
    X(SIGNAL, "signal", "death by a signal: signal:SEGV,BUS; alone any")                           \
    X(OOM, "oom", "killed because memory ran out")                                                 \
    X(HANG, "hang", "no output for timeouts.silence, or no step in time")                          \
    X(TIMEOUT, "timeout", "longer than timeouts.run")                                              \
    X(START, "start", "a rank that could not be started")                                          \
    X(RESULT, "result", "a rank ended with 0 and did not deliver")                                 \
    X(LOST_NODE, "lost_node", "a node of several that was lost")                                   \
    X(STDERR, "stderr", "a match in its standard error: stderr:/REGEX/")

#define JR_RESTART_TRIGGER_ENUM(name, word, help) JR_RESTART_TRIGGER_##name,
enum jr_restart_trigger_kind { JR_TRIGGERS(JR_RESTART_TRIGGER_ENUM) JR_RESTART_TRIGGER_COUNT };

struct jr_restart_trigger {
    enum jr_restart_trigger_kind kind;
    struct jr_set codes; /* EXIT; `all`: any but 0 */
    uint64_t signals;    /* SIGNAL: bit N - 1 is signal N; 0: any */
    const char *pattern; /* STDERR */
};

/* What is wrong with a text, at its bytes [from, to). */
struct jr_restart_trigger_fault {
    size_t from, to;
    bool word;        /* it begins with no word of the table */
    bool regex;       /* `text` is PCRE2's */
    const char *text; /* for people; in the arena */
};

/* Read one. On failure returns false with *ret_fault, and *ret is undefined. */
bool jr_restart_trigger_parse(struct jr_restart_trigger *ret, struct jr_arena *arena,
                              const char *text, struct jr_restart_trigger_fault *ret_fault);

/* Append the normal form: signals with SIG, codes ascending. */
void jr_restart_trigger_print(struct jr_buf *out, const struct jr_restart_trigger *trigger);

/* Whether the trigger takes this exit code, which is not 0. */
bool jr_restart_trigger_takes_code(const struct jr_restart_trigger *trigger, int code);

/* Whether the trigger takes this signal, which ended a rank. */
bool jr_restart_trigger_takes_signal(const struct jr_restart_trigger *trigger, int signal);

#endif
