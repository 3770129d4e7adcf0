/*
 * The parts of the manual beyond the rows in fields.h: the sections of the fields, and for each
 * field a note and an example, which are in a header for each group of sections.
 *
 * Texts are plain: `backticks` around what is typed, a blank line between paragraphs, and lines
 * that begin with two blanks as they are.
 */
#ifndef JR_NOTES_H
#define JR_NOTES_H

#include "spec/notes_failure.h"
#include "spec/notes_job.h"
#include "spec/notes_output.h"
#include "spec/notes_placement.h"
#include "spec/notes_ranks.h"

/* clang-format off */

/* S(first, title, text): a section goes from field `first` of the top to that of the next row. */
#define JR_FIELD_SECTIONS(S)                                                   \
    S("version", "The job", "")                                                \
    S("extends", "Building on other specs",                                    \
      "A spec is put together in this order: the specs that it extends, the "  \
      "spec itself, `--set`, and then the references `${...}` in its values:\n\n"\
      "  ${vars.lr}             any value of the spec, by its dotted path\n"   \
      "  ${env:NAME}            an environment variable\n"                     \
      "  ${env:NAME:-default}   the variable if it is set, else the default\n" \
      "  $${                    a literal ${\n\n"                              \
      "After substitution, an unquoted value gets the type that it then has; " \
      "a quoted value stays a string. Keys are never changed. In `shell` and "\
      "`setup`, `${vars.lr}` becomes a variable of the shell, and any other "  \
      "`$` is left to it.")                                                    \
    S("entrypoint", "What every rank runs",                                    \
      "An entrypoint has one of the forms below. Each form may have `args`.")  \
    S("env", "The environment of the ranks",                                   \
      "The environment of a rank starts from jobrun's own, without the "       \
      "variables that other launchers and MPI left in it. Then `setup`, "      \
      "`env_remove`, the profiles, `env` and `per_rank` are applied, in that " \
      "order. RANK, WORLD_SIZE, MASTER_ADDR and the other variables that "     \
      "jobrun sets for every rank cannot be set here. PYTHONPATH ends with "   \
      "jobrun's own folder, behind whatever you set, so that `import jobrun` " \
      "works in every rank; `env: {PYTHONPATH: null}` leaves it out.")         \
    S("world_size", "How many ranks, and where",                               \
      "Any two of `world_size`, `nodes` and `local_world_size` determine the " \
      "third. Values that are left out are filled in from the scheduler and "  \
      "the hardware. Values that contradict each other are an error; jobrun "  \
      "never picks one of them.")                                              \
    S("device", "Devices and CPUs", "")                                        \
    S("parallelism", "The mesh",                                               \
      "Ranks are laid out [data][pipeline][model], model fastest, and "        \
      "`world_size` is data x pipeline x model. `jobrun plan` shows the "      \
      "groups.")                                                               \
    S("start_method", "How ranks start", "")                                   \
    S("redirects", "Output",                                                   \
      "`redirects` sends a stream to the rank's file only; `tee` sends it to " \
      "the file and to the console. A stream that neither of them names is "   \
      "inherited. Both take `none` (0), `out` (1), `err` (2) or `all` (3): as "\
      "one value for all ranks, as a string of rules, or as a mapping. The "   \
      "keys are local ranks, ranges `4-7`, or strides `4-10/2`:\n\n"           \
      "  redirects: all\n"                                                     \
      "  redirects: \"0:3,1:0\"\n"                                             \
      "  redirects: {0: all, 1-3: err}\n\n"                                    \
      "A rank that is not listed is `none`. The files hold exactly the bytes " \
      "that the rank wrote. On the console, lines are never torn or mixed.\n\n"\
      "A console that nobody reads (a paused terminal, or a pipe whose reader "\
      "has stopped) does not block ranks whose streams are kept in a "         \
      "file: the console catches up from that file once it is read again, "    \
      "with the same lines in the same order within each stream. The verdict " \
      "and the record do not wait for the console, and neither do `jobrun "    \
      "wait`, `show` and `stop`. jobrun prints the remaining lines first and " \
      "then the last lines of the report. A signal or `jobrun stop` ends "     \
      "this; the exit status is still that of the run, and `jobrun logs` "     \
      "prints all lines. If the run itself was stopped by a signal, jobrun "   \
      "waits for a blocked console one second, and ten seconds in total. If a "\
      "stream has no file, or its file can no longer be written (a full "      \
      "disk), the console has the only copy: jobrun then shows what the file " \
      "has and everything after it, and the rank waits in its next write "     \
      "until the console is read. Once the run is being stopped, up to 1 MiB " \
      "more of each such stream is taken without waiting, and is shown after " \
      "the run. A line on the console says how much is missing because of "    \
      "`log_limit`. Output of `setup` beyond 1 MiB "                           \
      "that nobody reads is in setup.log only. jobrun does not handle "        \
      "inherited streams: there the rank writes to the console itself, and "   \
      "waits for it.")                                                         \
    S("results", "Results",                                                    \
      "A job succeeds only if every rank that must deliver a result did. A "   \
      "rank that exits with 0 but without a valid result fails the job with "  \
      "exit status 5, and the report names the rank and the reason: missing, " \
      "empty, not JSON, a wrong field, unequal or stale.")                     \
    S("mpi", "MPI", "")                                                        \
    S("isolation", "Time, signals and failure", "")                            \
    S("engine", "Engines", "")

/* N(path, note, example); one for each field. An example is a piece of a spec that is good in
 * itself except for `version` and `entrypoint`. */
#define JR_FIELD_NOTES(N)                                                      \
    JR_NOTES_JOB(N)                                                            \
    JR_NOTES_RANKS(N)                                                          \
    JR_NOTES_PLACEMENT(N)                                                      \
    JR_NOTES_OUTPUT(N)                                                         \
    JR_NOTES_FAILURE(N)
/* clang-format on */

#endif
