/*
 * Every code that a diagnostic can carry, in the order of the numbers.
 *
 * JR01xx reading: files, YAML, limits    JR04xx resolution on this machine
 * JR02xx single fields                   JR05xx the plan
 * JR03xx fields against each other
 *
 * X(NAME, number, title): code in C uses JR_CODE_NAME; users see the number as "JR0203". What
 * `jobrun explain` prints below the title is a text file of that name, docs/diagnostics/JR0203.txt:
 * a paragraph, a blank line, and an example before and after. The build fails where a row has no
 * file or a file no row.
 */
#ifndef JR_CODES_H
#define JR_CODES_H

/* clang-format off */
#define JR_CODES(X)                                                            \
    X(INTERNAL, 100, "jobrun itself failed")                                   \
    X(FILE_UNREADABLE, 101, "the file cannot be read")                         \
    X(NOT_YAML, 102, "not valid YAML")                                         \
    X(NOT_UTF8, 104, "not UTF-8")                                              \
    X(CONTROL_CHARACTER, 105, "control character")                             \
    X(DUPLICATE_KEY, 106, "duplicate key")                                     \
    X(SEVERAL_DOCUMENTS, 107, "more than one document")                        \
    X(NESTED_TOO_DEEPLY, 108, "nested too deeply")                             \
    X(DOCUMENT_TOO_LARGE, 109, "too many nodes")                               \
    X(ALIASES_TOO_LARGE, 110, "aliases expand to too much")                    \
    X(UNKNOWN_ALIAS, 111, "unknown alias")                                     \
    X(RECURSIVE_ALIAS, 112, "alias inside its own anchor")                     \
    X(KEY_NOT_SCALAR, 113, "a key is not a scalar")                            \
    X(MERGE_KEY, 114, "merge key")                                             \
    X(UNKNOWN_TAG, 115, "tag")                                                 \
    X(EMPTY_DOCUMENT, 116, "empty document")                                   \
    X(WRONG_DIRECTIVE, 117, "directive")                                       \
    X(PARENT_UNREADABLE, 118, "a parent cannot be read")                       \
    X(PARENT_OUTSIDE_ROOT, 119, "a parent is outside the root")                \
    X(CIRCULAR_EXTENDS, 120, "extends goes in a circle")                       \
    X(TOO_MANY_PARENTS, 121, "too many parents")                               \
    X(ENV_PROFILE_UNREADABLE, 122, "a profile cannot be read")                 \
    X(FIELD_REQUIRED, 201, "a required field is missing")                      \
    X(OTHER_KIND, 202, "the file of another program")                         \
    X(UNKNOWN_FIELD, 203, "unknown field")                                     \
    X(FOREIGN_FIELD, 204, "a field of another launcher")                       \
    X(VALUE_NOT_SUPPLIED, 206, "must be supplied from outside")                \
    X(RESERVED_VARIABLE, 207, "a variable that jobrun sets")                   \
    X(SPEC_IS_TEMPLATE, 208, "a template cannot be run")                       \
    X(WRONG_VALUE, 211, "wrong value for a field")                             \
    X(WRONG_RANK_TEMPLATE, 214, "not a per-rank template")                     \
    X(WRONG_STREAM_RULE, 215, "not a rule for streams")                        \
    X(STREAM_RULE_TWICE, 216, "a local rank with two rules")                   \
    X(WRONG_REGEX, 217, "not a regular expression")                            \
    X(RANK_ENTRY_TWICE, 218, "a rank with two entries")                        \
    X(WRONG_VARIABLE_NAME, 219, "not the name of a variable")                  \
    X(WRONG_REFERENCE, 220, "not a reference")                                 \
    X(UNKNOWN_REFERENCE, 221, "nothing of that name")                          \
    X(REFERENCE_NOT_KNOWN_YET, 222, "a value is not known yet")                \
    X(CIRCULAR_REFERENCE, 223, "values refer to each other in a circle")       \
    X(REFERENCE_NOT_SCALAR, 224, "not a scalar")                               \
    X(UNKNOWN_VARIABLE, 225, "an environment variable is not known")           \
    X(REFERENCES_TOO_LARGE, 226, "references insert too much")                 \
    X(WRONG_OVERRIDE, 227, "--set leads nowhere")                              \
    X(UNDECLARED_ENTRY, 228, "--set names an entry that nothing declares")     \
    X(TYPOGRAPHIC_MARK, 229, "typographic quotes or dashes")                   \
    X(TWO_ENTRYPOINTS, 301, "an entrypoint has two forms")                     \
    X(NOTHING_TO_FORK, 302, "nothing to fork from")                            \
    X(RESULT_SOURCE_CONFLICT, 303,                                             \
      "from, pattern and file do not go together")                             \
    X(PROGRAM_RETURNS_NOTHING, 304, "a program returns no result")             \
    X(RESULT_FIELD_CONFLICT, 305, "a result field contradicts itself")         \
    X(UNKNOWN_RESULT_FIELD, 306, "no such result field")                       \
    X(RANK_BEYOND_WORLD, 307, "a rank is beyond the last one")                 \
    X(BACKEND_CONTRADICTS_DEVICE, 308, "the backend cannot drive the device")  \
    X(STREAM_NOT_KEPT, 309, "a stream is not kept")                            \
    X(WORLD_SIZE_INDIVISIBLE, 310, "world size does not divide")               \
    X(MESH_CONTRADICTS_WORLD, 311, "the mesh does not match world_size")       \
    X(NODES_CONTRADICT_WORLD, 312, "the nodes do not match world_size")        \
    X(ONE_ENTRY_PER_NODE, 313, "one entry per node is required")               \
    X(INDEX_BEYOND_LAST, 314, "an index is beyond the last one")               \
    X(TOO_MANY_RANKS, 315, "too many ranks")                                   \
    X(RANK_START_MISPLACED, 316, "rank_start is not where the node begins")    \
    X(STREAM_RULE_BEYOND_NODES, 317,                                           \
      "a stream rule for a local rank that no node has")                       \
    X(DEVICE_TWICE, 318, "a device is listed twice")                           \
    X(DEVICES_CONTRADICT_RANKS, 319, "devices and local ranks do not fit")     \
    X(SECRET_EXPOSED, 320, "a secret is exposed")                              \
    X(ENTRYPOINT_CANNOT_USE, 321, "the entrypoint cannot use it")              \
    X(PRELOAD_UNUSED, 322, "preload has no effect")                            \
    X(VARIABLE_SET_TOO_LATE, 323, "a variable is set too late")                \
    X(AMBIGUOUS_STRING, 324,                                                   \
      "a string that looks like a boolean or a number")                        \
    X(RESTART_NEVER_HAPPENS, 325, "a restart that never happens")              \
    X(SILENCE_UNDETECTABLE, 326, "silence cannot be detected")                 \
    X(BIND_CONTRADICTS_DEVICES, 327,                                           \
      "device, devices and bind contradict each other")                        \
    X(MPI_SINGLETONS, 328, "MPI programs would be singletons")                 \
    X(RESULT_FILE_SHARED, 329, "several ranks share a result file")            \
    X(VARIABLE_UNREAD, 330, "an entry of vars is never read")                  \
    X(HOST_TWICE, 331, "a host is listed twice")                               \
    X(UNKNOWN_SBATCH_OPTION, 332, "no such option of sbatch")                  \
    X(WRONG_SBATCH_VALUE, 333, "wrong value for an option of sbatch")          \
    X(SHELL_SYNTAX, 334, "shell syntax that no shell reads")                   \
    X(PROGRESS_CONFLICT, 335, "progress cannot be read")                       \
    X(CODE_NOT_LINKED, 336, "code.link has no effect")                         \
    X(LAUNCHER_NESTED, 337, "a launcher within each rank")                     \
    X(COMMAND_UNLIKELY, 338, "a command that no program is meant by")          \
    X(DEADLINE_CONFLICT, 340, "the deadline does not fit")                     \
    X(DEADLINE_LOOSE, 341, "a deadline that does little")                      \
    X(REQUEUE_CONFLICT, 342, "the job cannot be queued again")                 \
    X(REQUEUE_NEVER_HAPPENS, 343, "a requeue that never happens")              \
    X(MPI_NEEDS_SPAWN, 344, "mpi and start_method do not go together")         \
    X(SPARES_CONFLICT, 345, "spare nodes that the job cannot have")            \
    X(SPARES_IDLE, 346, "spare nodes that no attempt would use")               \
    X(WRONG_AXIS, 350, "not an axis of a sweep")                               \
    X(WRONG_AXIS_VALUES, 351, "wrong values of an axis")                       \
    X(CELL_TWICE, 352, "the same cell twice")                                  \
    X(TOO_MANY_CELLS, 353, "too many cells")                                   \
    X(EXCLUDES_NOTHING, 354, "nothing is excluded")                            \
    X(WRONG_CELLS, 355, "wrong cells to include or exclude")                   \
    X(FILE_SHARED_BY_CELLS, 356, "cells share a file")                         \
    X(SWEEP_INCOMPLETE, 357, "a sweep that lacks something")                   \
    X(VALUES_CONTRADICT, 401, "two values contradict each other")              \
    X(WORLD_INDIVISIBLE_BY_NODES, 402,                                         \
      "the world does not divide over the nodes")                              \
    X(WORLD_TOO_LARGE, 403, "too many ranks")                                  \
    X(MORE_RANKS_THAN_DEVICES, 404, "more ranks than devices")                 \
    X(MORE_RANKS_THAN_CPUS, 405, "more ranks than CPUs")                       \
    X(TWO_DEVICE_KINDS, 410, "two kinds of devices")                           \
    X(DRIVER_BROKEN, 411, "a driver is loaded but broken")                     \
    X(DEVICE_NOT_FOUND, 412, "no such device on this machine")                 \
    X(DEVICE_NOT_AVAILABLE, 413, "a listed device is not available")           \
    X(BACKEND_CANNOT_DRIVE, 414, "the backend cannot drive the device")        \
    X(OMP_NUM_THREADS_IGNORED, 415, "OMP_NUM_THREADS is ignored")              \
    X(UNKNOWN_BACKEND, 416, "TORCH_DISTRIBUTED_BACKEND names no backend")      \
    X(DEVICE_CONTRADICTS_DEVICES, 417,                                         \
      "device and devices contradict each other")                              \
    X(DEVICES_OUT_OF_ORDER, 418, "devices are out of order")                   \
    X(DEVICES_DO_NOT_FIT, 419, "the listed devices do not fit")                \
    X(NODE_RANK_MISSING, 420, "node_rank or master_addr is MISSING")           \
    X(NODE_RANK_BEYOND_NODES, 421, "node_rank is beyond the nodes")            \
    X(RANK_START_CONTRADICTS, 422, "rank_start contradicts node_rank")         \
    X(NOT_ENOUGH_NODES, 423, "not enough nodes")                               \
    X(SCHEDULER_UNUSABLE, 424, "scheduler variables cannot be used")           \
    X(SEVERAL_JOBRUNS, 425, "more than one jobrun on a node")                  \
    X(TIME_LIMIT_TOO_LONG, 426, "longer than the allocation allows")           \
    X(SPARES_UNLED, 427, "spare nodes that nobody leads")                      \
    X(PORT_IN_USE, 430, "the port is in use")                                  \
    X(PORT_NOT_AGREED, 431, "the nodes cannot agree on a port")                \
    X(BIND_IMPOSSIBLE, 432, "ranks cannot be bound as requested")              \
    X(NOT_ENOUGH_PORTS, 433, "not every rank can get its own port")            \
    X(DEVICES_HELD, 434, "not enough devices are free")                        \
    X(DEVICES_SHARED, 435, "another run uses the devices")                     \
    X(STREAM_RULE_BEYOND_RANKS, 440,                                           \
      "a stream rule for a local rank that does not exist")                    \
    X(RANK_ENTRY_BEYOND_WORLD, 441,                                            \
      "a rank is named that does not exist")                                   \
    X(FIELD_STILL_MISSING, 450, "a field is still MISSING")                    \
    X(LOCK_DIFFERS, 451, "the spec does not resolve to its lock")              \
    X(LOCK_UNREADABLE, 452, "there is no lock")                                \
    X(SBATCH_LACKS_OPTION, 453, "the installed sbatch has no such option")     \
    X(WRONG_MACHINE_PROFILE, 480, "not a machine profile")                     \
    X(UNKNOWN_DEVICE_MODEL, 481, "unknown device model")                       \
    X(UNKNOWN_FACT, 482, "unknown fact")                                       \
    X(WRONG_FACT, 483, "wrong value for a fact")                               \
    X(FACT_MISSING, 484, "a fact is missing")                                  \
    X(DEVICE_FACTS_UNREADABLE, 485,                                            \
      "the facts about a device cannot be read")                               \
    X(FACTS_CONTRADICT, 486, "facts contradict each other")                    \
    X(VARIABLE_REQUIRED, 501, "a required environment variable is not set")    \
    X(WRONG_TEMPLATE_IN_PLAN, 502, "not a per-rank template")                  \
    X(MODEL_GROUP_CROSSES_NODES, 503, "a model group crosses nodes")           \
    X(MEMBER_LIST_LEFT_OUT, 504, "a list of members is left out")              \
    X(LOCAL_RANK_NOT_DEVICE, 505, "LOCAL_RANK is not a device index")          \
    X(PLAN_INCONSISTENT, 506, "the plan is inconsistent")                      \
    X(RESULT_FILE_SHARED_IN_PLAN, 507, "ranks share a result file")            \
    X(ARGUMENTS_TOO_LONG, 508, "the arguments of a function are too long")     \
    X(FORK_WITH_ACCELERATOR, 509, "forking with an accelerator")               \
    X(WRONG_INJECTION, 510, "not a failure to inject")                         \
    X(WORKDIR_UNUSABLE, 511, "the working directory cannot be used")           \
    X(PROGRAM_NOT_FOUND, 512, "the program cannot be executed")                \
    X(FILE_NOT_READABLE, 513, "the script or library cannot be read")          \
    X(FOLDER_NOT_WRITABLE, 514, "a folder cannot be written")                  \
    X(DEADLINE_WITHOUT_END, 515, "a deadline before an end that is not known") \
    X(MPI_NOT_SERVED, 516, "the ranks do not become one world of MPI")         \
    X(DEVICES_REPLACED, 517, "a variable replaces the chosen devices")         \
    X(MODULE_NOT_FOUND, 518, "a Python module cannot be found")
/* clang-format on */

/* The number of each code by its name: JR_CODE_UNKNOWN_FIELD is 203. */
#define JR_CODE_CONSTANT(name, number, title) JR_CODE_##name = (number),
enum jr_diag_code { JR_CODES(JR_CODE_CONSTANT) };
#undef JR_CODE_CONSTANT

#endif
