/* Notes and examples of the fields on output, progress and results. See notes.h. */
#ifndef JR_NOTES_OUTPUT_H
#define JR_NOTES_OUTPUT_H

/* clang-format off */
#define JR_NOTES_OUTPUT(N)                                                     \
    N("redirects", "", "redirects: {0: none, 1-7: all}")                       \
    N("tee",                                                                   \
      "A stream that both `redirects` and `tee` name is treated as `tee`.",    \
      "tee: \"0:all,1-7:err\"")                                                \
    N("console", "",                                                           \
      "console: {prefix: \"%{rank}| \", ranks: 0-3, timestamps: true}")        \
    N("log_dir", "", "log_dir: /scratch/runs")                                 \
    N("log_mode", "", "log_mode: group")                                       \
    N("log_limit",                                                             \
      "jobrun keeps the beginning of the stream (1 MiB, or half of the limit " \
      "if that is less) and its end. A line in the file says how many bytes "  \
      "are left out between them; the report and results.json have the "       \
      "number, too. Redirected streams then go through jobrun. While a stream "\
      "exceeds its limit, it uses half as much disk space again, for "         \
      "FILE.next. If both processes of jobrun were killed at once and "        \
      "FILE.next is still there, it holds nothing that FILE does not.",        \
      "log_limit: 64MiB")                                                      \
    N("results", "",                                                           \
      "results:\n"                                                             \
      "  fields:\n"                                                            \
      "    accuracy: {type: number, min: 0.9}\n"                               \
      "    weights_sha: {type: string}\n"                                      \
      "  equal: [weights_sha]")                                                \
    N("progress",                                                              \
      "It is a bar while the job runs, columns of `top`, `runs` and `show`, "  \
      "metrics.jsonl in the run folder, `progress` in results.json, and what " \
      "`timeouts.progress` and `timeouts.first_step` are about.",              \
      "progress:\n"                                                            \
      "  pattern: 'step (?<step>\\d+)/(?<of>\\d+) loss (?<loss>\\S+)'")        \
    N("console.prefix", "", "console: {prefix: \"%{node_rank}/%{rank}: \"}")   \
    N("console.ranks", "", "console: {ranks: \"0,8\"}")                        \
    N("console.timestamps", "", "console: {timestamps: true}")                 \
    N("console.collapse",                                                      \
      "If ranks 0 to 7 write the same line, it is shown once, at most a tenth "\
      "of a second later, as `[0-7] ...`. The ranks take the place of %{rank} "\
      "in the prefix. The order of each rank's lines is kept. The files have " \
      "all lines.",                                                            \
      "console: {collapse: true}")                                             \
    N("console.partial", "", "console: {partial: 1s}")                         \
    N("console.show",                                                          \
      "A PCRE2 pattern that must match somewhere in the line, without the "    \
      "prefix. Incomplete lines are not shown. The files have all lines. A "   \
      "line on which matching takes too many steps counts as not matching; "   \
      "after a hundred such lines, all lines are shown.",                      \
      "console: {show: '^(epoch|step) '}")                                     \
    N("console.hide", "Like `show`; a line that matches both is hidden.",      \
      "console: {hide: 'FutureWarning'}")                                      \
    N("progress.from",                                                         \
      "In every run, what a rank tells by `jobrun.progress()`, by "            \
      "`jr_progress()`, or by a JSON object on a line of "                     \
      "$JOBRUN_PROGRESS_FILE counts too: {\"step\": 5, \"of\": 100, "          \
      "\"loss\": 0.3}.",                                                       \
      "progress: {from: file}")                                                \
    N("progress.pattern",                                                      \
      "It must match somewhere in a line of at most 64 KiB; a carriage return "\
      "ends a line as a newline does. The group `step` must be a whole "       \
      "number; `of` is the last step; the other named groups are metrics: "    \
      "numbers, nan or inf.",                                                  \
      "progress: {pattern: 'step (?<step>\\d+)/(?<of>\\d+) loss (?<loss>\\S+)'}")\
    N("progress.ranks",                                                        \
      "With several ranks, the job is as far as the slowest of them that "     \
      "still runs. A rank that is slower than the median by half over 10 "     \
      "steps and 5 seconds is reported with its host and device.",             \
      "progress: {from: file, ranks: all}")                                    \
    N("progress.of", "", "progress: {from: file, of: 1000}")                   \
    N("progress.stall",                                                        \
      "An attempt got further if it went beyond the furthest step of all "     \
      "attempts before it; one without a step did not. Attempt 0 sets the "    \
      "mark. A job that stalled ends with exit status 6. 0: restarts go on "   \
      "as `restart` allows.",                                                  \
      "progress: {from: file, stall: 2}\n"                                     \
      "restart: {max: 20}")                                                    \
    N("results.required", "", "results: {required: 0}")                        \
    N("results.from", "",                                                      \
      "results: {from: stdout, pattern: 'loss=(?<loss>[0-9.]+)'}")             \
    N("results.file",                                                          \
      "A file that was made and last changed before the start does not count, "\
      "wherever it is now; nor does a link. A copy counts.",                   \
      "results: {file: \"out/%{rank}.json\"}")                                 \
    N("results.limit",                                                         \
      "A larger file is refused by its size, before it is read. Write large "  \
      "data to a file of `artifacts`. A run takes at most four times the size "\
      "of a result in memory, and more only for what `equal`, `distinct` and " \
      "`enum` compare, where there are values of secrets to be hidden, and on "\
      "a host of its own file system.",                                        \
      "results: {limit: 1GiB}")                                                \
    N("results.pattern",                                                       \
      "The last match in the stream counts; a carriage return ends a line as " \
      "a newline does. A match before what `log_limit` "                       \
      "left out is not known to be the last, and does not count unless "       \
      "another one comes after it. In YAML, single quotes leave "              \
      "backslashes as they are.",                                              \
      "results: {from: stderr, pattern: 'acc=(?<acc>\\d+)'}")                  \
    N("results.fields", "",                                                    \
      "results: {fields: {loss: {type: number, max: 2}}}")                     \
    N("results.equal", "",                                                     \
      "results: {fields: {sha: {type: string}}, equal: [sha]}")                \
    N("results.distinct", "",                                                  \
      "results: {fields: {shard: {type: integer}}, distinct: [shard]}")        \
    N("results.artifacts",                                                     \
      "Each must be a regular file, not a link to one, not empty, and "        \
      "different from the file that was there before the start. A file that "  \
      "was made and last changed before the start does not count wherever it " \
      "is now: moved, hard-linked, or with its folder. A copy counts, with its "\
      "old times too (`cp -p`, `tar x`, `rsync -a`). Two ranks cannot have "   \
      "one file. A path that is the same for all ranks belongs to the whole "  \
      "job: any rank may write that file, at any time. "                       \
      "If the nodes were started by hand, the node with rank 0 checks for it. "\
      "What is changed after the rank has ended does not count; a link to the "\
      "file, another mode, or a move away and back change nothing. A change "  \
      "is seen by the inode, the size, the time of the last change, and the "  \
      "bytes: all of them up to 1 MiB, of a longer file its first and last "   \
      "256 KiB and 128 samples of 4 KiB. So what is changed between those, "   \
      "with the time set back, is not seen. Where a file system does not know "\
      "when a file was made, a file that has several names and was last "      \
      "changed before the start does not count; and on that of a server, "     \
      "other than the one with the run folder, the clocks may differ by a "    \
      "minute.",                                                               \
      "results: {artifacts: [\"ckpt/%{rank}.bin\"]}")                          \
    N("results.fields.*.type", "",                                             \
      "results: {fields: {loss: {type: number}}}")                             \
    N("results.fields.*.min", "",                                              \
      "results: {fields: {accuracy: {type: number, min: 0.9}}}")               \
    N("results.fields.*.max", "",                                              \
      "results: {fields: {loss: {type: number, max: 2}}}")                     \
    N("results.fields.*.enum", "",                                             \
      "results: {fields: {mode: {type: string, enum: [warm, cold]}}}")         \
    N("results.fields.*.pattern", "",                                          \
      "results: {fields: {sha: {type: string, pattern: '^[0-9a-f]{40}$'}}}")   \
    N("results.fields.*.required", "",                                         \
      "results: {fields: {note: {type: string, required: false}}}")
/* clang-format on */

#endif
