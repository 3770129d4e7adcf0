/* Notes and examples of the fields on time, signals and failure. See notes.h.
 */
#ifndef JR_NOTES_FAILURE_H
#define JR_NOTES_FAILURE_H

/* clang-format off */
#define JR_NOTES_FAILURE(N)                                                    \
    N("timeouts", "", "timeouts: {run: 2h, stop_grace: 30s}")                  \
    N("stop_target", "", "stop_target: group")                                 \
    N("deadline",                                                              \
      "`before` the known end (`timeouts.run`, or the end of the allocation) " \
      "every rank gets `signal`, so that it can write a checkpoint and end. "  \
      "After it a rank has yielded if it ends with 0 without having "          \
      "delivered, with 75 (EX_TEMPFAIL), or by that signal where the job has " \
      "made a step; a job all of whose ranks delivered or yielded is to be "   \
      "continued, with status `yielded` and exit status 8. Any other end is "  \
      "a failure. Without `results` a 0 is a delivery. A scheduler that sends "\
      "jobrun USR1 or USR2, whichever `signal` is, starts it earlier.",        \
      "timeouts: {run: 4h}\n"                                                  \
      "results: {from: file}\n"                                                \
      "deadline: {before: 10m}")                                               \
    N("deadline.before", "It must be shorter than `timeouts.run`.",            \
      "results: {from: file}\n"                                                \
      "deadline: {before: 10m}")                                               \
    N("deadline.signal",                                                       \
      "Slurm sends TERM to all processes of a job that it preempts. Unless "   \
      "this is TERM, ranks begin with TERM ignored under Slurm, so that they " \
      "live to get the signal, and a shell script cannot trap TERM there.",    \
      "results: {from: file}\n"                                                \
      "deadline: {before: 10m, signal: TERM}")                                 \
    N("requeue",                                                               \
      "A job that is to be continued starts again as the next attempt of the " \
      "same run. Beyond `max` it ends with status `yielded` and exit status "  \
      "8. One that succeeded never starts again, and `progress.stall` ends "   \
      "one that gets no further. `requeue: 20` is short for `requeue: {max: "  \
      "20}`. Under Slurm the job goes back into the queue, and the next start "\
      "of it goes on with its run, NAME-JOBID. On Kubernetes a pod that ends " \
      "with 8 is started again.",                                              \
      "timeouts: {run: 4h}\n"                                                  \
      "results: {from: file}\n"                                                \
      "deadline: {before: 10m}\n"                                              \
      "requeue: {max: 20}")                                                    \
    N("requeue.on",                                                            \
      "`deadline`: the ranks stopped for `deadline`. `preempted`: the "        \
      "scheduler announced that it needs the nodes; the ranks get the signal " \
      "of `deadline`, or where there is none they are stopped. `lost_node`: "  \
      "a node is no longer heard from.",                                       \
      "requeue: {on: preempted, max: 20}")                                     \
    N("requeue.max", "Requeues in all, whatever their causes were.",           \
      "requeue: {max: 20}")                                                    \
    N("on_hang",                                                               \
      "jobrun gathers the evidence when `timeouts.silence` or "                \
      "`timeouts.after_first_exit` expires. It always writes a hang.json to "  \
      "each rank's folder: its processes and threads, what each of them waits "\
      "for, and the processor time that they use. `jobrun show RUN --stacks` " \
      "prints it, and shows the same for a running job.",                      \
      "on_hang: {signal: USR1, wait: 30s}")                                    \
    N("on_hang.signal",                                                        \
      "The signal is sent to the same processes as the stop signal, after the "\
      "command has run. Python entrypoints have PYTHONFAULTHANDLER=1 unless "  \
      "the spec sets it, so they answer ABRT with the stacks of all threads "  \
      "on standard error. Core files are written only if `limits.core` is "    \
      "stated.",                                                               \
      "on_hang: {signal: none}")                                               \
    N("on_hang.wait",                                                          \
      "After this time the run is stopped, even if some ranks have not "       \
      "answered. With 0 it is stopped at once.",                               \
      "on_hang: {wait: 30s}")                                                  \
    N("on_hang.command",                                                       \
      "The command runs without a shell, in the rank's environment, for at "   \
      "most eight ranks at a time. Its output goes to hang.txt in the rank's " \
      "folder. A debugger may need permission to look at a process that it "   \
      "did not start: see kernel.yama.ptrace_scope and CAP_SYS_PTRACE.",       \
      "on_hang: {command: [py-spy, dump, --pid, \"%{pid}\"]}")                 \
    N("signals",                                                               \
      "A signal that was ignored when jobrun started stays ignored, as HUP "   \
      "does under nohup. A second stop signal kills without the grace period. "\
      "TSTP and CONT suspend and resume the ranks unless they are named here.",\
      "signals: {USR1: forward, HUP: ignore}")                                 \
    N("on_end",                                                                \
      "The command runs without a shell, in the spec's folder, once "          \
      "results.json has been written: after a success, a failure, and a stop. "\
      "It has jobrun's own environment with four more variables: "             \
      "JOBRUN_RUN_ID, JOBRUN_RUN_DIR (the folder with results.json), "         \
      "JOBRUN_STATUS (such as succeeded or failed) and JOBRUN_EXIT_CODE. Its " \
      "output goes to on_end.log in that folder.\n\n"                          \
      "jobrun waits for it for at most 60 s. After that, or at a stop signal, "\
      "the command is killed. Processes that it leaves behind are killed, too. "\
      "If it fails, jobrun prints a warning, and its own exit status stays as "\
      "it is. If each node has a jobrun of its own, the command runs on each " \
      "node.",                                                                 \
      "on_end: [./notify.sh, --channel, training]")                            \
    N("on_failure",                                                            \
      "Ranks that are one MPI world (see `mpi`) are stopped under `continue` " \
      "too, if one fails between MPI_Init and MPI_Finalize: the others would " \
      "wait for it for ever.",                                                 \
      "on_failure: continue")                                                  \
    N("exit_barrier",                                                          \
      "A rank that has returned does not exit until all ranks of its node "    \
      "have returned or one has failed. So what other ranks still need from "  \
      "it, such as the store of rank 0, stays available.",                     \
      "entrypoint: {python: {module: pkg.train}}\n"                            \
      "exit_barrier: true")                                                    \
    N("restart",                                                               \
      "A number alone is `max`. "                                              \
      "All ranks of all nodes are stopped and started again, with new ports "  \
      "where jobrun chose them. Only the results of the last attempt count. "  \
      "`timeouts.run` applies to each attempt. A job is not started again if " \
      "jobrun was told to stop it or if jobrun itself failed, nor if each "    \
      "node has a jobrun of its own.",                                         \
      "restart: {max: 3, on: [oom, exit:75], never: \"stderr:/NaN/\"}")        \
    N("exit_status", "", "exit_status: rank")                                  \
    N("timeouts.start",                                                        \
      "It includes `setup` and the imports of the helper. If it expires, the " \
      "run ends with exit status 7.",                                          \
      "timeouts: {start: 2m}")                                                 \
    N("timeouts.run", "If it expires, the run ends with exit status 6.",       \
      "timeouts: {run: 2h}")                                                   \
    N("timeouts.silence",                                                      \
      "If no rank writes anything for this long, the run has hung: exit "      \
      "status 6. For files that ranks write themselves (`redirects`), jobrun " \
      "checks the file size four times within the limit. It cannot see "       \
      "inherited streams (`tee: none`), and then finds no hang. See "          \
      "`on_hang`.",                                                            \
      "timeouts: {silence: 10m}")                                              \
    N("timeouts.after_first_exit",                                             \
      "The time starts when the first rank has exited with 0. Ranks that "     \
      "still run then are reported like a hang: see `on_hang`. Exit status 6.",\
      "timeouts: {after_first_exit: 1m}")                                      \
    N("timeouts.progress",                                                     \
      "The time starts with the first step of an attempt. Each step beyond the "\
      "furthest one starts it anew. If it expires, the job has hung: see "     \
      "`on_hang`. Exit status 6.",                                             \
      "timeouts: {progress: 15m}")                                             \
    N("timeouts.first_step",                                                   \
      "It limits loading and compiling, which may take far longer than a "     \
      "step. With several ranks, each of them must make its first step. If it "\
      "expires, the job has hung: see `on_hang`. Exit status 6.",              \
      "timeouts: {first_step: 1h, progress: 15m}")                             \
    N("timeouts.exit",                                                         \
      "If threads or exit handlers keep a rank alive after it has returned, "  \
      "it is killed. Its result still counts, and the report warns about it.", \
      "timeouts: {exit: 5s}")                                                  \
    N("timeouts.stop_grace", "", "timeouts: {stop_grace: 5s}")                 \
    N("restart.max", "Ranks find the value in TORCHELASTIC_MAX_RESTARTS.",     \
      "restart: {max: 3}")                                                     \
    N("restart.backoff",                                                       \
      "It doubles with each restart that counts, up to five minutes, or up to "\
      "its own value if that is larger.",                                      \
      "restart: {max: 5, backoff: 10s}")                                       \
    N("restart.window",                                                        \
      "This lets a job that runs for weeks restart now and then.",             \
      "restart: {max: 3, window: 1h}")                                         \
    N("restart.on",                                                            \
      "`stderr` means the standard error of the first rank that failed. If "   \
      "several ranks failed together, one match is enough.",                   \
      "restart: {max: 3, on: [exit:75, signal:SEGV, \"stderr:/NCCL/\"]}")      \
    N("restart.never", "It takes precedence over `on`.",                       \
      "restart: {max: 3, never: [exit:2, start]}")
/* clang-format on */

#endif
