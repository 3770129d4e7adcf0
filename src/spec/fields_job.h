/* The fields of mappings by which a spec says what it is: its sweep and its code. See fields.h. */
#ifndef JR_FIELDS_JOB_H
#define JR_FIELDS_JOB_H

/* clang-format off */
#define JR_FIELDS_SWEEP(X)                                                     \
    X("axes", AXES, OPTIONAL, SKIP, NULL, NULL, SOURCE,                        \
      "what --sweep and `include` say",                                        \
      "the fields that vary, each with its values")                            \
    X("exclude", CELLS, OPTIONAL, SKIP, NULL, NULL, SOURCE, "none",            \
      "combinations that are left out")                                        \
    X("include", CELLS, OPTIONAL, SKIP, NULL, NULL, SOURCE, "none",            \
      "cells besides the combinations of the axes")                            \
    X("samples", SAMPLES, OPTIONAL, SKIP, NULL, "draws", SOURCE,               \
      "an error if an axis is drawn",                                          \
      "how many values are drawn for each combination of the others")          \
    X("seed", SEED, OPTIONAL, SKIP, "0", NULL, SOURCE, "0",                    \
      "what the draws are made from")                                          \
    X("parallel", PARALLEL, RESOLVED, SKIP, NULL, "cells", SOURCE,             \
      "as many as the devices and CPUs hold", "cells at once, at most")        \
    X("stop_after", PARALLEL, OPTIONAL, SKIP, NULL, "cells", SOURCE, "none",   \
      "failed cells after which no other begins")                              \
    X("best", BEST, OPTIONAL, SKIP, NULL, NULL, SOURCE,                        \
      "cells are listed by their numbers",                                     \
      "the field of the results by which cells are compared")

#define JR_FIELDS_BEST(X)                                                      \
    X("field", WORD, REQUIRED, SKIP, NULL, NULL, SOURCE,                       \
      "an error: it is required", "a field of the results, a number")          \
    X("goal", GOAL, REQUIRED, SKIP, NULL, NULL, SOURCE,                        \
      "an error: it is required", "whether more is better, or less")           \
    X("of", BEST_OF, OPTIONAL, SKIP, "mean", NULL, SOURCE, "mean",             \
      "which of the ranks' values counts where they differ")

#define JR_FIELDS_CODE(X)                                                      \
    X("mode", CODE_MODE, OPTIONAL, WORDS(mode, code_modes), "record", NULL,    \
      RECORD, "record", "whether a run has a copy of the code of its own")     \
    X("link", LINKS, OPTIONAL, STRS(link), NULL, NULL, RECORD, "all",          \
      "of what git ignores, what the copy has as links to the original")
/* clang-format on */

#endif
