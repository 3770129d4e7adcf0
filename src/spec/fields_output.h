/* The fields of mappings about output, progress and results. See fields.h. */
#ifndef JR_FIELDS_OUTPUT_H
#define JR_FIELDS_OUTPUT_H

/* clang-format off */
#define JR_FIELDS_CONSOLE(X)                                                   \
    X("prefix", TEMPLATE, OPTIONAL, STR(prefix), "[%{rank}] ", NULL, OUTPUT,   \
      "[%{rank}] ", "the text before each line of a rank")                     \
    X("ranks", RANKS, OPTIONAL, STR(ranks), "all", NULL, OUTPUT, "all",        \
      "the ranks whose lines are shown")                                       \
    X("timestamps", FLAG, OPTIONAL, FLAG(timestamps), "false", NULL, OUTPUT,   \
      "false", "whether to print the time before the prefix")                  \
    X("collapse", FLAG, OPTIONAL, FLAG(collapse), "false", NULL, OUTPUT,       \
      "false", "whether to show a line that several ranks print only once")    \
    X("partial", DURATION, OPTIONAL, U64(partial_ms), "250ms",                 \
      "milliseconds", OUTPUT, "250ms",                                         \
      "how long to wait before an unfinished line is shown")                   \
    X("show", PATTERN, OPTIONAL, STR(show), NULL, NULL, OUTPUT, "all",         \
      "the lines that are shown")                                              \
    X("hide", PATTERN, OPTIONAL, STR(hide), NULL, NULL, OUTPUT, "none",        \
      "the lines that are not shown")

#define JR_FIELDS_PROGRESS(X)                                                  \
    X("from", PROGRESS_FROM, OPTIONAL, WORDS(from, progress_froms), "stdout",  \
      NULL, SUPERVISION, "stdout", "where ranks tell their steps")             \
    X("pattern", PATTERN, OPTIONAL, STR(pattern), NULL, NULL, SUPERVISION,     \
      "required with from: stdout or stderr",                                  \
      "PCRE2 whose group `step` is the step, and others metrics")              \
    X("ranks", RANKS, OPTIONAL, STR(ranks), "0", NULL, SUPERVISION, "0",       \
      "the ranks whose steps count; the slowest decides")                      \
    X("of", WHOLE, OPTIONAL, U32(of), "0", "steps", SUPERVISION, "unknown",    \
      "the last step, if the program does not say; 0: unknown")              \
    X("stall", WHOLE, OPTIONAL, U32(stall), "0", "attempts", SUPERVISION, "0", \
      "restarts end after so many attempts in a row that got no further")

#define JR_FIELDS_RESULTS(X)                                                   \
    X("required", RANKS, OPTIONAL, STR(required), "all", NULL, EXPERIMENT,     \
      "all", "the ranks that must deliver")                                    \
    X("from", RESULT_FROM, OPTIONAL, WORDS(from, result_froms), NULL, NULL,    \
      EXPERIMENT, "return for a function and a library, else file",            \
      "where a rank's result comes from")                                      \
    X("file", TEMPLATE, OPTIONAL, STR(file), NULL, NULL, EXPERIMENT,           \
      "$JOBRUN_RESULT_FILE, in the rank's folder",                             \
      "the file that each rank writes its result to")                          \
    X("limit", SIZE, OPTIONAL, STR(limit), "256MiB", "bytes", EXPERIMENT,      \
      "256MiB", "the largest size that a result may have")                     \
    X("pattern", PATTERN, OPTIONAL, STR(pattern), NULL, NULL, EXPERIMENT,      \
      "required with from: stdout or stderr",                                  \
      "PCRE2 whose named groups are the result's fields")                      \
    X("fields", RESULT_FIELDS, OPTIONAL, SEQ(fields, bind_field), NULL, NULL,  \
      EXPERIMENT, "any fields, or none",                                       \
      "the fields of each result and their constraints")                       \
    X("equal", TEXTS, OPTIONAL, STRS(equal), NULL, NULL, EXPERIMENT, "none",   \
      "fields that must be the same on all ranks")                             \
    X("distinct", TEXTS, OPTIONAL, STRS(distinct), NULL, NULL, EXPERIMENT,     \
      "none", "fields that must differ on all ranks")                          \
    X("artifacts", TEMPLATES, OPTIONAL, STRS(artifacts), NULL, NULL,           \
      EXPERIMENT, "none", "files that each rank must write during the run")

#define JR_FIELDS_RESULT_FIELD(X)                                              \
    X("type", JSON_TYPE, REQUIRED, WORDS(type, json_types), NULL, NULL,        \
      EXPERIMENT, "an error: it is required", "the type of the field")         \
    X("min", NUMBER, OPTIONAL, STR(min), NULL, NULL, EXPERIMENT, "none",       \
      "the smallest value that is accepted")                                   \
    X("max", NUMBER, OPTIONAL, STR(max), NULL, NULL, EXPERIMENT, "none",       \
      "the largest value that is accepted")                                    \
    X("enum", SCALARS, OPTIONAL, STRS(enums), NULL, NULL, EXPERIMENT,          \
      "any value", "the values that are accepted")                             \
    X("pattern", PATTERN, OPTIONAL, STR(pattern), NULL, NULL, EXPERIMENT,      \
      "any text", "PCRE2 that must match somewhere in the string")             \
    X("required", FLAG, OPTIONAL, FLAG(required), "true", NULL, EXPERIMENT,    \
      "true", "whether the field must be present")
/* clang-format on */

#endif
