/* Notes and examples of the fields by which a spec says what it is: its name, what it builds on,
 * its sweep, its code. See notes.h. */
#ifndef JR_NOTES_JOB_H
#define JR_NOTES_JOB_H

/* clang-format off */
#define JR_NOTES_JOB(N)                                                        \
    N("version", "", "version: 1")                                             \
    N("name", "", "name: digits")                                              \
    N("description", "", "description: the nightly run on real data")          \
    N("labels", "Labels are not part of a run's fingerprint.",                 \
      "labels: {team: vision, ticket: 1234}")                                  \
    N("extends",                                                               \
      "Mappings are merged recursively; lists and scalars replace earlier "    \
      "ones. Later parents override earlier ones. null removes a value of a "  \
      "parent; in `env` it unsets the variable. A short form replaces the "    \
      "whole value, for example `backends: gloo` or an `entrypoint` that is a "\
      "list, and so does an entrypoint of another form. Paths are relative to "\
      "the file that states them. Parents are read only below `--root`; its "  \
      "default is the top of the checkout, or else the spec's own folder. A "  \
      "mapping gives parents names, in the order in which they are merged: "   \
      "`--set extends.model=models/vit.jobrun.yaml` takes another file for "   \
      "`model`, in whichever file names it, and null takes none.",             \
      "extends: {base: base.jobrun.yaml, model: models/resnet.jobrun.yaml}")   \
    N("template",                                                              \
      "A template may lack required fields, and cannot be run. A spec that "   \
      "extends a template is not itself a template.",                          \
      "template: true")                                                        \
    N("vars",                                                                  \
      "Refer to them as `${vars.lr}`. `jobrun train.yaml --set vars.lr=0.2` "  \
      "sets another value, and `--set +vars.wd=0.1` adds a variable; without " \
      "the plus, a name that nothing declares is an error. A variable that is "\
      "`???` must be set that way. One that nothing reads is a warning.",      \
      "vars: {lr: 0.1, epochs: 5}\nenv: {LR: \"${vars.lr}\", "                 \
      "EPOCHS: \"${vars.epochs}\"}")                                           \
    N("sweep",                                                                 \
      "Every combination of the values is a cell: a run of its own, with its " \
      "own folder, results and record. `jobrun validate` checks every cell, "  \
      "`jobrun plan` lists them, and `--cell 7` runs one of them alone. "      \
      "docs/sweeps.md shows it.",                                              \
      "vars: {lr: 0.1}\nenv: {LR: \"${vars.lr}\"}\n"                           \
      "sweep: {axes: {vars.lr: [0.1, 0.03, 0.01]}}")                           \
    N("sweep.axes",                                                            \
      "A key is a field by its dotted path, or several with commas that go "   \
      "together. A value is a list, a range, or a draw:\n\n"                   \
      "  vars.lr: [0.1, 0.01]\n"                                               \
      "  vars.seed: {from: 0, to: 4}            step: 1; -1 where `to` is less\n" \
      "  vars.rate: {log_uniform: [1e-5, 0.1]}  uniform and integers, too\n"   \
      "  extends.model: [a.yaml, b.yaml]        files for a named parent\n"    \
      "  \"vars.batch,vars.steps\": [[32, 4000], [64, 2000]]\n\n"              \
      "The last axis varies fastest. Any field can be one, except those that " \
      "say where runs are made and kept, such as `devices`, `hosts` and "      \
      "`log_dir`. A value may hold `${...}`, which is read in its place.",     \
      "vars: {seed: 0}\nenv: {SEED: \"${vars.seed}\"}\n"                       \
      "sweep: {axes: {vars.seed: {from: 0, to: 4}}}")                          \
    N("sweep.exclude",                                                         \
      "An entry excludes every combination that has all of its values.",       \
      "vars: {lr: 1, seed: 0}\nenv: {LR: \"${vars.lr}\", "                     \
      "SEED: \"${vars.seed}\"}\nsweep:\n"                                      \
      "  axes: {vars.lr: [0.1, 0.01], vars.seed: [0, 1]}\n"                    \
      "  exclude: [{vars.lr: 0.1, vars.seed: 1}]")                             \
    N("sweep.include",                                                         \
      "An entry may also state fields that are no axes. What it does not "     \
      "state is as the spec has it.",                                          \
      "vars: {lr: 1}\nenv: {LR: \"${vars.lr}\"}\n"                             \
      "sweep: {axes: {vars.lr: [0.1, 0.01]}, include: [{vars.lr: 1.5}]}")      \
    N("sweep.samples", "",                                                     \
      "vars: {lr: 1}\nenv: {LR: \"${vars.lr}\"}\n"                             \
      "sweep: {axes: {vars.lr: {log_uniform: [1e-4, 0.1]}}, samples: 8}")      \
    N("sweep.seed",                                                            \
      "Draw i of a field depends on the seed, the field and i alone, so it is "\
      "the same on every machine, and more draws change none of the earlier "  \
      "ones. It is made from SHA-256 of `SEED:PATH:I`.",                       \
      "vars: {lr: 1}\nenv: {LR: \"${vars.lr}\"}\n"                             \
      "sweep: {axes: {vars.lr: {uniform: [0, 1]}}, samples: 8, seed: 3}")      \
    N("sweep.parallel", "`--parallel N` states another number.",               \
      "vars: {lr: 1}\nenv: {LR: \"${vars.lr}\"}\n"                             \
      "sweep: {axes: {vars.lr: [0.1, 0.01]}, parallel: 1}")                    \
    N("sweep.stop_after", "Cells that are running then go on to their end.",   \
      "vars: {lr: 1}\nenv: {LR: \"${vars.lr}\"}\n"                             \
      "sweep: {axes: {vars.lr: [0.1, 0.01]}, stop_after: 1}")                  \
    N("sweep.best",                                                            \
      "A cell's value of the field is the one that its ranks have in common, " \
      "or else what `of` says. Cells without it come last.",                   \
      "vars: {lr: 1}\nenv: {LR: \"${vars.lr}\"}\n"                             \
      "sweep: {axes: {vars.lr: [0.1, 0.01]}, "                                 \
      "best: {field: loss, goal: min}}")                                       \
    N("sweep.best.field", "",                                                  \
      "vars: {lr: 1}\nenv: {LR: \"${vars.lr}\"}\n"                             \
      "sweep: {axes: {vars.lr: [0.1, 0.01]}, "                                 \
      "best: {field: loss, goal: min}}")                                       \
    N("sweep.best.goal", "",                                                   \
      "vars: {lr: 1}\nenv: {LR: \"${vars.lr}\"}\n"                             \
      "sweep: {axes: {vars.lr: [0.1, 0.01]}, "                                 \
      "best: {field: accuracy, goal: max}}")                                   \
    N("sweep.best.of", "",                                                     \
      "vars: {lr: 1}\nenv: {LR: \"${vars.lr}\"}\n"                             \
      "sweep:\n  axes: {vars.lr: [0.1, 0.01]}\n"                               \
      "  best: {field: accuracy, goal: max, of: min}")                         \
    N("targets", "Each target is written like the argument of `--on`.",        \
      "targets: [\"1x8:H100\", \"4x0,32c\"]")                                  \
    N("code",                                                                  \
      "The state of the git work tree around `workdir` is recorded with every "\
      "run: see docs/runs.md. With `freeze`, jobrun also copies the tree to "  \
      "the folder `code` of the run before it starts the first rank, and "     \
      "ranks, `setup` and `on_end` run there: what is edited afterwards "      \
      "reaches no rank. docs/frozen-code.md says what is copied, and what is " \
      "not.",                                                                  \
      "code: freeze")                                                          \
    N("code.mode", "", "code: {mode: freeze}")                                 \
    N("code.link",                                                             \
      "These are the files and folders that the copy does not freeze, such as "\
      "a virtual environment or data. `all` is everything that git ignores "   \
      "in the tree, except `log_dir` and Python's __pycache__. Paths are "     \
      "relative to this file, and git has to ignore them.",                    \
      "code: {mode: freeze, link: [.venv, data]}")
/* clang-format on */

#endif
