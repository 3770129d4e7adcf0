/* What of the spec's policy results.json has: the limit that was met, the fields that were
 * compared, the attempts under `restart`, and the progress of the run and of its ranks. */
#ifndef JR_RESULTS_POLICY_H
#define JR_RESULTS_POLICY_H

#include "base/json_shape.h"
#include "record/results_table.h"

/* The timeout that ended the run and its limit, what was compared over the ranks, the attempts
 * before this one, machines without ranks, how many failed alike or got no further, and why no
 * other followed. */
jr_results_put jr_results_put_timeout, jr_results_put_limit, jr_results_put_compared,
    jr_results_put_attempts, jr_results_put_left_out, jr_results_put_idle, jr_results_put_stall,
    jr_results_put_requeue, jr_results_put_not_again;
jr_results_get jr_results_get_timeout, jr_results_get_limit, jr_results_get_compared,
    jr_results_get_attempts, jr_results_get_left_out, jr_results_get_idle, jr_results_get_stall,
    jr_results_get_requeue, jr_results_get_not_again;

#define JR_SCHEMA_STALL                                                                            \
    "{\"type\": [\"object\", \"null\"],"                                                           \
    " \"required\": [\"attempts\", \"step\"], \"properties\": "                                    \
    "{\"attempts\": " JR_SHAPE_COUNT ", \"step\": {\"type\": [\"integer\", "                       \
    "\"null\"], \"description\": \"The furthest step; null: none was "                             \
    "made.\"}}}"

/* How far the job came. */
jr_results_put jr_results_put_progress;
jr_results_get jr_results_get_progress;

/* Their shapes. */
#define JR_SCHEMA_STEPS                                                                            \
    "\"step\": {\"type\": [\"integer\", \"null\"]},"                                               \
    " \"best\": {\"type\": [\"integer\", \"null\"],"                                               \
    " \"description\": \"The furthest step of the attempt.\"},"                                    \
    " \"of\": {\"type\": [\"integer\", \"null\"]},"                                                \
    " \"rate\": {\"type\": [\"number\", \"null\"],"                                                \
    " \"description\": \"Steps a second, of late.\"},"                                             \
    " \"metrics\": {\"type\": \"object\","                                                         \
    " \"additionalProperties\": {\"type\": [\"number\", \"null\"]},"                               \
    " \"description\": \"null: infinite, or not a number.\"},"                                     \
    " \"time\": {\"type\": [\"string\", \"null\"],"                                                \
    " \"description\": \"Of the step.\"}"
#define JR_SCHEMA_PROGRESS                                                                         \
    "{\"type\": \"object\", \"required\": [\"step\", \"best\", \"of\", "                           \
    "\"rate\","                                                                                    \
    " \"metrics\", \"time\", \"slowest\", \"warnings\"], \"properties\": "                         \
    "{" JR_SCHEMA_STEPS ", \"slowest\": {\"type\": [\"object\", \"null\"],"                        \
    " \"description\": \"With several ranks, the one that is the furthest "                        \
    "behind.\", \"required\": [\"rank\", \"behind\"],"                                             \
    " \"properties\": {\"rank\": " JR_SHAPE_COUNT ", \"behind\": " JR_SHAPE_COUNT                  \
    "}}, \"warnings\": {\"type\": \"array\","                                                      \
    " \"items\": {\"type\": \"string\"}}}}"
#define JR_SCHEMA_RANK_PROGRESS                                                                    \
    "{\"type\": \"object\", \"required\": [\"step\", \"best\", \"of\", "                           \
    "\"rate\","                                                                                    \
    " \"metrics\", \"time\"], \"properties\": {" JR_SCHEMA_STEPS "}}"

/* Append the progress of a rank where several are watched; else nothing. */
void jr_results_put_rank_progress(struct jr_buf *out, const struct jr_results_rank *rank);

/* Read it into the progress of the loaded run. */
void jr_results_get_rank_progress(struct jr_loaded_run *loaded, size_t i, const json_t *value);

/* The words of the timeouts that end a run, from START on. */
enum { JR_RESULTS_TIMEOUTS = JR_TIMEOUT_EXIT - JR_TIMEOUT_START };
extern const char *const jr_results_timeouts[JR_RESULTS_TIMEOUTS];

/* A number below `end`; 0 if it is not one. What is counted up to, or used as an index, comes from
 * here: a file may say anything. */
uint32_t jr_results_below(const json_t *value, uint32_t end);

#endif
