/*
 * results.json, key by key: tables whose rows say how each is written from a
 * judged run, how it is read back into one, and what it may be. A new key is a
 * new row: in results_run.c of the run, in results_rank.c of a rank, in
 * results_cause.c of the root cause, and of what a rank's process did in
 * store/outcome_codec.c. This is the header of the three and of
 * results_policy.c, which has rows of the run.
 */
#ifndef JR_RESULTS_TABLE_H
#define JR_RESULTS_TABLE_H

#include "base/json.h"
#include "record/load_results.h"

/* What one rank's object is made of. */
struct jr_results_rank {
    const struct jr_plan_rank *plan;
    const struct jr_rank_outcome *outcome;
    const struct jr_rank_judgement *report;
    const char *host;
    const struct jr_progress *progress; /* NULL: unknown */
    size_t i;                           /* its place there */
};

/* What all of it is made of. */
struct jr_results_run {
    const struct jr_judgement *report;
    const struct jr_plan *plan;
    const struct jr_outcome *outcome;
};

/* The root cause. */
struct jr_results_cause {
    enum jr_cause_kind kind; /* NONE: nothing went wrong */
    const char *host;        /* NULL: none */
    int64_t rank;            /* -1: no rank, but jobrun itself or time */
    int32_t exit_code;       /* -1: none */
    int32_t signal;          /* 0: none */
    const char *message;
    const uint32_t *together; /* ranks that cannot be told apart from it */
    size_t together_count;
};

/* results_rank.c: append a rank's object. */
void jr_results_put_rank(struct jr_buf *out,
                         const struct jr_results_rank *rank);

/* The same file: read it into all three values at `i`, whose strings are the
 * object's. */
void jr_results_get_rank(struct jr_loaded_run *loaded, size_t i,
                         const json_t *object);

/* The same file: the schema of it. */
json_t *jr_results_rank_schema(void);

/* The keys whose values are paths in the run folder, NULL-terminated. */
const char *jr_results_path(size_t i);

/* results_run.c: append the keys before `ranks`, one a line. */
void jr_results_put_run(struct jr_buf *out, const struct jr_results_run *run);

/* The same file: read them. */
void jr_results_get_run(struct jr_loaded_run *loaded, const json_t *object);

/* The same file: their rows. */
const struct jr_results_row *jr_results_rows(size_t *ret_count);

/* results_cause.c: append the object, or null. */
void jr_results_put_cause(struct jr_buf *out,
                          const struct jr_results_cause *cause);

/* The same file: read it; `together` is of `arena`, the strings are the
 * object's. */
void jr_results_get_cause(struct jr_results_cause *ret, struct jr_arena *arena,
                          const json_t *object);

/* The same file: the schema of it. */
json_t *jr_results_cause_schema(void);

/* results_run.c: append schemas/results-v1.schema.json, from all tables. */
void jr_schema_results(struct jr_buf *out);

/* The words of an enum whose 0 is nothing, as a shape that may be null. */
#define JR_SHAPE_WORDS(array)                                                  \
    {                                                                          \
        .words = (array) + 1,                                                  \
        .words_count = sizeof(array) / sizeof *(array)-1, .null = true         \
    }

struct jr_results_row;

typedef void jr_results_put(struct jr_buf *out,
                            const struct jr_results_row *row,
                            const struct jr_results_run *run);
typedef void jr_results_get(struct jr_loaded_run *loaded,
                            const struct jr_results_row *row,
                            const json_t *value);

/* How the key is joined for a run whose nodes each had their own jobrun, from
 * its value on each node. */
enum jr_results_join {
    JR_JOIN_OWN,     /* merge_nodes.c makes it; null until then */
    JR_JOIN_ANY,     /* what the node says that decided, else the first */
    JR_JOIN_DECIDER, /* what the node says that decided; null: none did */
    JR_JOIN_FIRST,   /* the first that is not null */
    JR_JOIN_SUM,
    JR_JOIN_MOST, /* the largest number */
    JR_JOIN_LEAST
};

/* A key of the run. */
struct jr_results_row {
    const char *key;
    jr_results_put *put; /* NULL: it is not written here */
    jr_results_get *get; /* NULL: it is not read */
    enum jr_results_join join;
    size_t at; /* of a plain member of the plan */
    struct jr_json_shape shape;
    const char *help;
};

/* results_policy.c: how far the job came. */
jr_results_put jr_results_put_progress;
jr_results_get jr_results_get_progress;

/* The same file: append that of a rank where several are watched; else nothing.
 */
void jr_results_put_rank_progress(struct jr_buf *out,
                                  const struct jr_results_rank *rank);

/* The same file: read it into the progress of the loaded run. */
void jr_results_get_rank_progress(struct jr_loaded_run *loaded, size_t i,
                                  const json_t *value);

/* Their shapes. */
#define JR_SCHEMA_STEPS                                                        \
    "\"step\": {\"type\": [\"integer\", \"null\"]},"                           \
    " \"best\": {\"type\": [\"integer\", \"null\"],"                           \
    " \"description\": \"The furthest step of the attempt.\"},"                \
    " \"of\": {\"type\": [\"integer\", \"null\"]},"                            \
    " \"rate\": {\"type\": [\"number\", \"null\"],"                            \
    " \"description\": \"Steps a second, of late.\"},"                         \
    " \"metrics\": {\"type\": \"object\","                                     \
    " \"additionalProperties\": {\"type\": [\"number\", \"null\"]},"           \
    " \"description\": \"null: infinite, or not a number.\"},"                 \
    " \"time\": {\"type\": [\"string\", \"null\"],"                            \
    " \"description\": \"Of the step.\"}"
#define JR_SCHEMA_PROGRESS                                                     \
    "{\"type\": \"object\", \"required\": [\"step\", \"best\", \"of\", "       \
    "\"rate\","                                                                \
    " \"metrics\", \"time\", \"slowest\", \"warnings\"], \"properties\": "     \
    "{" JR_SCHEMA_STEPS ", \"slowest\": {\"type\": [\"object\", \"null\"],"    \
    " \"description\": \"With several ranks, the one that is the furthest "    \
    "behind.\", \"required\": [\"rank\", \"behind\"],"                         \
    " \"properties\": {\"rank\": " JR_SHAPE_COUNT                              \
    ", \"behind\": " JR_SHAPE_COUNT "}}, \"warnings\": {\"type\": \"array\","  \
    " \"items\": {\"type\": \"string\"}}}}"
#define JR_SCHEMA_RANK_PROGRESS                                                \
    "{\"type\": \"object\", \"required\": [\"step\", \"best\", \"of\", "       \
    "\"rate\","                                                                \
    " \"metrics\", \"time\"], \"properties\": {" JR_SCHEMA_STEPS "}}"

/* results_cause.c: which of jobrun's own two processes was killed. */
jr_results_put jr_results_put_killed;
jr_results_get jr_results_get_killed;

/* results_policy.c: the timeout that ended the run and its limit, what was
 * compared over the ranks, the attempts before this one, how many failed alike
 * or got no further, and why no other followed. */
jr_results_put jr_results_put_timeout, jr_results_put_limit,
    jr_results_put_compared, jr_results_put_attempts, jr_results_put_idle,
    jr_results_put_stall, jr_results_put_requeue, jr_results_put_not_again;
jr_results_get jr_results_get_timeout, jr_results_get_limit,
    jr_results_get_compared, jr_results_get_attempts, jr_results_get_idle,
    jr_results_get_stall, jr_results_get_requeue, jr_results_get_not_again;

#define JR_SCHEMA_STALL                                                        \
    "{\"type\": [\"object\", \"null\"],"                                       \
    " \"required\": [\"attempts\", \"step\"], \"properties\": "                \
    "{\"attempts\": " JR_SHAPE_COUNT ", \"step\": {\"type\": [\"integer\", "   \
    "\"null\"], \"description\": \"The furthest step; null: none was "         \
    "made.\"}}}"

/* The words of the timeouts that end a run, from START on. */
enum { JR_RESULTS_TIMEOUTS = JR_TIMEOUT_EXIT - JR_TIMEOUT_START };
extern const char *const jr_results_timeouts[JR_RESULTS_TIMEOUTS];

/* A number below `end`; 0 if it is not one. What is counted up to, or used as
 * an index, comes from here: a file may say anything. */
uint32_t jr_results_below(const json_t *value, uint32_t end);

#endif
