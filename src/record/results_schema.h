/* The schema of results.json, from the tables of results_table.h. */
#ifndef JR_RESULTS_SCHEMA_H
#define JR_RESULTS_SCHEMA_H

#include "base/buf.h"
#include "base/json_shape.h"

/* Append schemas/results-v1.schema.json. */
void jr_schema_results(struct jr_buf *out);

/* Parts of it that have no table of their own, as they are no values of one
 * member: lists of objects. */
#define JR_SCHEMA_CAUSE "{}" /* filled in */
#define JR_SCHEMA_ATTEMPTS                                                     \
    "{\"type\": \"array\", \"items\": {\"type\": \"object\","                  \
    " \"required\": [\"attempt\", \"status\", \"exit_code\", \"started\","     \
    " \"seconds\", \"cause\", \"wait\"],"                                      \
    " \"properties\": {\"attempt\": " JR_SHAPE_COUNT ","                       \
    " \"status\": {\"$ref\": \"#/properties/status\"},"                        \
    " \"exit_code\": {\"type\": \"integer\", \"minimum\": 1,"                  \
    " \"maximum\": 255},"                                                      \
    " \"started\": {\"type\": \"number\","                                     \
    " \"description\": \"Since the epoch.\"},"                                 \
    " \"seconds\": " JR_SHAPE_SECONDS ","                                      \
    " \"cause\": {\"type\": \"string\"},"                                      \
    " \"wait\": {\"type\": \"number\", \"minimum\": 0,"                        \
    " \"description\": \"Before the next attempt.\"}}}}"
#define JR_SCHEMA_COMPARED                                                     \
    "{\"type\": [\"object\", \"null\"],"                                       \
    " \"required\": [\"source\", \"equal\", \"distinct\"],"                    \
    " \"properties\": {\"source\": {\"type\": [\"string\", \"null\"],"         \
    " \"description\": \"What reasons call the place that ranks deliver to;"   \
    " null: it has not the same name for all.\"},"                             \
    " \"equal\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}},"    \
    " \"distinct\": {\"type\": \"array\","                                     \
    " \"items\": {\"type\": \"string\"}}}}"
#define JR_SCHEMA_KILLED                                                       \
    "{\"type\": [\"object\", \"null\"],"                                       \
    " \"required\": [\"process\", \"pid\", \"signal\"],"                       \
    " \"properties\": {\"process\": {\"enum\": [\"guard\", \"runner\"]},"      \
    " \"pid\": {\"type\": [\"integer\", \"null\"]},"                           \
    " \"signal\": {\"type\": [\"string\", \"null\"],"                          \
    " \"description\": \"Its name; null: the kernel did not say.\"}}}"
#define JR_SCHEMA_NODES                                                        \
    "{\"type\": \"array\", \"items\": {\"type\": \"object\","                  \
    " \"required\": [\"node_rank\", \"host\", \"pid\", \"status\","            \
    " \"exit_code\", \"cause\", \"part\"],"                                    \
    " \"properties\": {\"node_rank\": " JR_SHAPE_COUNT ","                     \
    " \"host\": {\"type\": [\"string\", \"null\"]},"                           \
    " \"pid\": {\"type\": [\"integer\", \"null\"],"                            \
    " \"description\": \"Of its jobrun.\"},"                                   \
    " \"status\": {\"anyOf\": [{\"$ref\": \"#/properties/status\"},"           \
    " {\"enum\": [\"lost\", \"absent\"]}], \"description\": \"lost: its"       \
    " jobrun is gone and left no results. absent: it is not here.\"},"         \
    " \"exit_code\": {\"type\": [\"integer\", \"null\"], \"minimum\": 0,"      \
    " \"maximum\": 255},"                                                      \
    " \"cause\": {\"type\": [\"string\", \"null\"]},"                          \
    " \"part\": {\"type\": [\"string\", \"null\"],"                            \
    " \"description\": \"Its folder in the run's.\"},"                         \
    " \"fingerprint\": {\"type\": [\"string\", \"null\"]},"                    \
    " \"world_size\": {\"type\": [\"integer\", \"null\"],"                     \
    " \"description\": \"As this node has it.\"},"                             \
    " \"nodes\": {\"type\": [\"integer\", \"null\"]},"                         \
    " \"ranks\": {\"type\": [\"object\", \"null\"],"                           \
    " \"description\": \"Those that its jobrun started.\","                    \
    " \"required\": [\"first\", \"count\"],"                                   \
    " \"properties\": {\"first\": " JR_SHAPE_COUNT ","                         \
    " \"count\": {\"type\": \"integer\", \"minimum\": 1}}}}}}"

#endif
