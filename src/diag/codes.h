/*
 * Every code that a diagnostic can carry, in the order of the numbers.
 *
 * JR01xx reading: files, YAML, limits    JR04xx resolution on this machine
 * JR02xx single fields                   JR05xx the plan
 * JR03xx fields against each other
 *
 * X(number, title, text): `text` is what `explain` prints below the title: a
 * paragraph, then an example before and after.
 */
#ifndef JR_CODES_H
#define JR_CODES_H

/* clang-format off */
#define JR_CODES(X)                                                            \
    X(100, "jobrun itself failed",                                             \
      "Memory ran out, or jobrun could not process a spec that had passed all\n"\
      "checks. The second is a defect of jobrun, not of the spec: please\n"    \
      "report it.\n"                                                           \
      "\n"                                                                     \
      "  before   ulimit -v 1000; jobrun validate train.jobrun.yaml\n"         \
      "  after    jobrun validate train.jobrun.yaml\n")                        \
    X(101, "the file cannot be read",                                          \
      "The spec does not exist, is not readable, is not a regular file, or is\n"\
      "larger than 1 MiB. jobrun reads the whole spec before it starts\n"      \
      "anything, so it refuses pipes and devices; use - for standard input.\n" \
      "\n"                                                                     \
      "  before   jobrun validate jobs/\n"                                     \
      "  after    jobrun validate jobs/train.jobrun.yaml\n")                   \
    X(102, "not valid YAML",                                                   \
      "The text is not valid YAML. The usual causes are a tab used for\n"      \
      "indentation, a missing space after a colon, an unclosed quote or\n"     \
      "bracket, and a bare ??? inside [ ] or { }. jobrun does not read past\n" \
      "this place, so there may be more mistakes after it.\n"                  \
      "\n"                                                                     \
      "  before   parallelism: {data: ???}\n"                                  \
      "  after    parallelism: {data: auto}\n")                                \
    X(104, "not UTF-8",                                                        \
      "A spec is UTF-8, with or without a byte order mark. The marked byte is\n"\
      "not valid there: the file has another encoding (UTF-16, Latin-1), or\n" \
      "is not a text file.\n"                                                  \
      "\n"                                                                     \
      "  before   name: caf\\xe9            # Latin-1\n"                       \
      "  after    name: cafe\n")                                               \
    X(105, "control character",                                                \
      "YAML allows no control characters except tabs and line breaks; others\n"\
      "can be written as escapes in a double-quoted string. A NUL is not\n"    \
      "allowed in a spec at all, because no argument or variable of a process\n"\
      "can contain one.\n"                                                     \
      "\n"                                                                     \
      "  before   description: \"a\\0b\"\n"                                    \
      "  after    description: \"a b\"\n")                                     \
    X(106, "duplicate key",                                                    \
      "A mapping has the key twice. YAML readers differ in which of the two\n" \
      "values they keep, so jobrun does not choose.\n"                         \
      "\n"                                                                     \
      "  before   env: {LR: 1, LR: 2}\n"                                       \
      "  after    env: {LR: 2}\n")                                             \
    X(107, "more than one document",                                           \
      "A spec is one YAML document. A line of --- begins another document,\n"  \
      "which many tools would silently ignore.\n"                              \
      "\n"                                                                     \
      "  before   world_size: 4\n"                                             \
      "           ---\n"                                                       \
      "           world_size: 8\n"                                             \
      "  after    world_size: 8\n")                                            \
    X(108, "nested too deeply",                                                \
      "Sequences and mappings may be nested at most 64 deep, counting what\n"  \
      "aliases expand to.\n"                                                   \
      "\n"                                                                     \
      "  before   x-a: [[[[ ... 65 times ... ]]]]\n"                           \
      "  after    x-a: []\n")                                                  \
    X(109, "too many nodes",                                                   \
      "A spec may have at most 100,000 scalars and collections, counting what\n"\
      "aliases expand to. Put data into a file that the job reads.\n"          \
      "\n"                                                                     \
      "  before   x-samples: [1, 2, 3, ... 100000]\n"                          \
      "  after    x-samples: data/samples.json\n")                             \
    X(110, "aliases expand to too much",                                       \
      "A spec may use at most 1,000 aliases, and the text that they repeat\n"  \
      "may be at most 1 MiB. Without a limit, a few lines of YAML could fill\n"\
      "the memory.\n"                                                          \
      "\n"                                                                     \
      "  before   x-b: [*a, *a, *a, ... 1001 times]\n"                         \
      "  after    x-b: [1, 2, 3]\n")                                           \
    X(111, "unknown alias",                                                    \
      "An alias (*name) repeats the node that has the anchor &name earlier in\n"\
      "the same file. A string that begins with * must be quoted.\n"           \
      "\n"                                                                     \
      "  before   secrets: [*TOKEN]\n"                                         \
      "  after    secrets: [\"*TOKEN\"]\n")                                    \
    X(112, "alias inside its own anchor",                                      \
      "The alias is inside the node that it repeats, so the expansion would\n" \
      "never end.\n"                                                           \
      "\n"                                                                     \
      "  before   env: &e {ALL: *e}\n"                                         \
      "  after    env: {ALL: everything}\n")                                   \
    X(113, "a key is not a scalar",                                            \
      "The keys of a mapping must be words or numbers. YAML also allows a\n"   \
      "sequence or a mapping as a key, but a spec does not.\n"                 \
      "\n"                                                                     \
      "  before   {[0, 1]: err}\n"                                             \
      "  after    {\"0,1\": err}\n")                                           \
    X(114, "merge key",                                                        \
      "The merge key (<<) is an extension of YAML 1.1, which YAML 1.2 readers\n"\
      "treat as an ordinary key. Repeat the entries instead.\n"                \
      "\n"                                                                     \
      "  before   env: {<<: *common, LR: 1}\n"                                 \
      "  after    env: {SEED: 7, LR: 1}\n")                                    \
    X(115, "tag",                                                              \
      "Only the tags of the YAML core schema are known (!!str, !!int,\n"       \
      "!!float, !!bool, !!null, !!seq, !!map), and the value must have the\n"  \
      "type of its tag.\n"                                                     \
      "\n"                                                                     \
      "  before   workdir: !path data\n"                                       \
      "  after    workdir: data\n")                                            \
    X(116, "empty document",                                                   \
      "The spec has no content except comments.\n"                             \
      "\n"                                                                     \
      "  before   # to be written\n"                                           \
      "  after    version: 1\n"                                                \
      "           entrypoint: [./train]\n")                                    \
    X(117, "directive",                                                        \
      "Lines at the top that begin with % are directives. jobrun reads %YAML\n"\
      "1.1, %YAML 1.2 and up to 64 %TAG lines, though no spec needs %TAG.\n"   \
      "\n"                                                                     \
      "  before   %YAML 2.0\n"                                                 \
      "           ---\n"                                                       \
      "           version: 1\n"                                                \
      "  after    version: 1\n")                                               \
    X(118, "a parent cannot be read",                                          \
      "`extends` names a file that does not exist, is not readable, is not a\n"\
      "regular file of at most 1 MiB, or is not a mapping of fields. Paths\n"  \
      "are relative to the file that states them.\n"                           \
      "\n"                                                                     \
      "  before   extends: base.yaml           # which lies in ../bases\n"     \
      "  after    extends: ../bases/base.yaml\n")                              \
    X(119, "a parent is outside the root",                                     \
      "jobrun reads parents and profiles below one folder only: the one of\n"  \
      "--root, or else the top of the checkout that contains the spec, or\n"   \
      "else the spec's own folder. So a spec from somebody else cannot quote\n"\
      "your files in its messages. Within that folder, links may lead\n"       \
      "anywhere.\n"                                                            \
      "\n"                                                                     \
      "  before   jobrun validate jobs/a.yaml      # extends: ../base.yaml\n"  \
      "  after    jobrun validate --root . jobs/a.yaml\n")                     \
    X(120, "extends goes in a circle",                                         \
      "The spec extends itself, through the other files in the chain. Remove\n"\
      "one of the `extends` in it.\n"                                          \
      "\n"                                                                     \
      "  before   a.yaml: {extends: b.yaml}    b.yaml: {extends: a.yaml}\n"    \
      "  after    a.yaml: {extends: b.yaml}    b.yaml: {template: true}\n")    \
    X(121, "too many parents",                                                 \
      "A spec may consist of at most 64 files, named at most 256 times, and\n" \
      "of at most 16 MiB in total. The limits keep the validation of unknown\n"\
      "specs cheap.\n"                                                         \
      "\n"                                                                     \
      "  before   extends: [part-001.yaml, part-002.yaml, ...]\n"              \
      "  after    extends: parts.yaml\n")                                      \
    X(122, "a profile cannot be read",                                         \
      "`env_profiles` takes names of built-in profiles and paths of files.\n"  \
      "Such a file must be below the root, and its path is relative to the\n"  \
      "file that names it. It is a mapping with `env` and `env_remove`,\n"     \
      "written as in a spec.\n"                                                \
      "\n"                                                                     \
      "  before   LR: 0.1                # ours.yaml\n"                        \
      "  after    env: {LR: 0.1}         # ours.yaml\n")                       \
    X(201, "a required field is missing",                                      \
      "A spec must state at least its version and what to run. A result field\n"\
      "must state its type, and an entrypoint must have one of its forms.\n"   \
      "\n"                                                                     \
      "  before   version: 1\n"                                                \
      "  after    version: 1\n"                                                \
      "           entrypoint: [./train]\n")                                    \
    X(203, "unknown field",                                                    \
      "There is no field with this name at this place. jobrun reports it\n"    \
      "because a typing mistake would otherwise silently leave the default in\n"\
      "use. Names that begin with x- are yours: jobrun keeps and ignores\n"    \
      "them.\n"                                                                \
      "\n"                                                                     \
      "  before   paralelism: {model: 2}\n"                                    \
      "  after    parallelism: {model: 2}\n")                                  \
    X(204, "a field of another launcher",                                      \
      "Another launcher uses this name for the field. The message gives\n"     \
      "jobrun's name for it; `jobrun explain FIELD` describes its values.\n"   \
      "Where the values mean the same, `jobrun validate --fix` writes that\n"  \
      "name, moves the value into its mapping, and removes a field whose\n"    \
      "value asks for nothing (`rank: -1`, `join: true`).\n"                   \
      "\n"                                                                     \
      "  before   nproc_per_node: 8\n"                                         \
      "           model_parallelism: 2\n"                                      \
      "  after    local_world_size: 8\n"                                       \
      "           parallelism: {model: 2}\n")                                      \
    X(206, "must be supplied from outside",                                    \
      "??? on an entry of `vars`, or on a field that jobrun cannot fill from\n"\
      "the hardware, means that the value must be given by --set. For\n"       \
      "`validate` such a value is unknown; with --strict it is an error.\n"    \
      "\n"                                                                     \
      "  before   jobrun train.yaml                   # vars: {lr: \"???\"}\n" \
      "  after    jobrun train.yaml --set vars.lr=0.1\n")                      \
    X(207, "a variable that jobrun sets",                                      \
      "jobrun sets RANK, WORLD_SIZE, MASTER_ADDR and similar variables for\n"  \
      "each rank. Setting them in `env` would break them for all ranks at\n"   \
      "once. If a field decides the value, the message names it.\n"            \
      "\n"                                                                     \
      "  before   env: {MASTER_PORT: 29501}\n"                                 \
      "  after    master_port: 29501\n")                                       \
    X(208, "a template cannot be run",                                         \
      "`template: true` marks a spec that is only a base for others. It may\n" \
      "lack required fields, and `validate` accepts it, but it cannot be run.\n"\
      "Run a spec that extends it; the mark is not inherited.\n"               \
      "\n"                                                                     \
      "  before   jobrun base.jobrun.yaml\n"                                   \
      "  after    jobrun train.jobrun.yaml     # extends: base.jobrun.yaml\n") \
    X(211, "wrong value for a field",                                          \
      "The value has the wrong type or is out of bounds. Scalars are read\n"   \
      "strictly: yes, 4x, 010 and 1_000 are strings, and so is everything in\n"\
      "quotes.\n"                                                              \
      "\n"                                                                     \
      "  before   world_size: \"4\"\n"                                         \
      "  after    world_size: 4\n")                                            \
    X(214, "not a per-rank template",                                          \
      "%{rank} and the other templates are replaced by a rank's own values in\n"\
      "arguments, shell text, variables and paths. No other word is allowed\n" \
      "between %{ and }; %%{ is a literal %{.\n"                               \
      "\n"                                                                     \
      "  before   entrypoint: [./train, --id, \"%{local-rank}\"]\n"            \
      "  after    entrypoint: [./train, --id, \"%{local_rank}\"]\n")           \
    X(215, "not a rule for streams",                                           \
      "redirects and tee take 0 or none, 1 or out, 2 or err, 3 or all. Write\n"\
      "one value for all ranks, a string of RANKS:STREAMS, or a mapping from\n"\
      "local ranks to values.\n"                                               \
      "\n"                                                                     \
      "  before   redirects: {0:3}\n"                                          \
      "  after    redirects: {0: 3}\n")                                        \
    X(216, "a local rank with two rules",                                      \
      "Two rules of one redirects or tee name the same local rank, and which\n"\
      "one applies would depend on their order.\n"                             \
      "\n"                                                                     \
      "  before   tee: \"0-3:out,2:err\"\n"                                    \
      "  after    tee: \"0-1:out,2:err,3:out\"\n")                             \
    X(217, "not a regular expression",                                         \
      "The pattern is not valid PCRE2. The caret marks where it fails. In\n"   \
      "YAML, single quotes leave backslashes as they are.\n"                   \
      "\n"                                                                     \
      "  before   pattern: 'loss=(?<loss>[0-9.]+'\n"                           \
      "  after    pattern: 'loss=(?<loss>[0-9.]+)'\n")                         \
    X(218, "a rank with two entries",                                          \
      "Two entries of per_rank name the same rank, and which one applies\n"    \
      "would depend on their order.\n"                                         \
      "\n"                                                                     \
      "  before   per_rank: {0-3: {args: [-v]}, 0: {args: [--main]}}\n"        \
      "  after    per_rank: {1-3: {args: [-v]}, 0: {args: [-v, --main]}}\n")   \
    X(219, "not the name of a variable",                                       \
      "The name of an environment variable must not be empty and must not\n"   \
      "contain =.\n"                                                           \
      "\n"                                                                     \
      "  before   env: {\"LR=0.1\": \"\"}\n"                                   \
      "  after    env: {LR: 0.1}\n")                                           \
    X(220, "not a reference",                                                  \
      "${vars.NAME}, ${FIELD}, ${env:NAME} and ${env:NAME:-default} are\n"     \
      "replaced by a value when the spec is read. The text between the braces\n"\
      "is none of these, or the closing brace is missing. $${ is a literal\n"  \
      "${. If it is meant for a shell, write it in `shell`, where `$` is left\n"\
      "to the shell.\n"                                                        \
      "\n"                                                                     \
      "  before   description: costs ${ 10 }\n"                                \
      "  after    description: costs $${ 10 }\n")                              \
    X(221, "nothing of that name",                                             \
      "There is no value in the spec with the path between the braces. Paths\n"\
      "begin at the top: ${vars.lr}, ${parallelism.model}, ${hosts[0]}.\n"     \
      "Environment variables are ${env:NAME}. Fields that begin with x- are\n" \
      "never read.\n"                                                          \
      "\n"                                                                     \
      "  before   entrypoint: [./train, --lr, \"${lr}\"]\n"                    \
      "  after    entrypoint: [./train, --lr, \"${vars.lr}\"]\n")              \
    X(222, "a value is not known yet",                                         \
      "The field between the braces is MISSING: jobrun fills it after the\n"   \
      "spec was read, or not at all. Ranks get its value from their\n"         \
      "environment, or from a per-rank template such as %{world_size}.\n"      \
      "\n"                                                                     \
      "  before   entrypoint: [./train, \"${world_size}\"]\n"                  \
      "  after    entrypoint: [./train, \"%{world_size}\"]\n")                 \
    X(223, "values refer to each other in a circle",                           \
      "The value refers to itself, through the other values in the chain.\n"   \
      "\n"                                                                     \
      "  before   vars: {a: \"${vars.b}\", b: \"${vars.a}\"}\n"                \
      "  after    vars: {a: 1, b: \"${vars.a}\"}\n")                           \
    X(224, "not a scalar",                                                     \
      "Only a string, a number or a boolean can be inserted by ${...}. To\n"   \
      "share lists and mappings, use `extends` or YAML anchors.\n"             \
      "\n"                                                                     \
      "  before   entrypoint: [./train, \"${vars}\"]\n"                        \
      "  after    entrypoint: [./train, \"${vars.lr}\"]\n")                    \
    X(225, "an environment variable is not known",                             \
      "The spec reads a variable that is not set in the environment of\n"      \
      "jobrun, or that is not UTF-8. `validate` reads only the variables that\n"\
      "--allow-env names; the value of others is unknown, and with --strict\n" \
      "that is an error.\n"                                                    \
      "\n"                                                                     \
      "  before   workdir: ${env:DATA_ROOT}\n"                                 \
      "  after    workdir: ${env:DATA_ROOT:-/data}\n")                         \
    X(226, "references insert too much",                                       \
      "All ${...} of a spec may insert at most 1 MiB, and at most 64 values\n" \
      "may refer to one another in a row. Without a limit, a few lines could\n"\
      "fill the memory.\n"                                                     \
      "\n"                                                                     \
      "  before   vars: {a: xx, b: \"${vars.a}${vars.a}\", c: ...}\n"          \
      "  after    vars: {a: xx}\n")                                            \
    X(227, "--set leads nowhere",                                              \
      "--set PATH=VALUE sets the value at PATH: names separated by dots, and\n"\
      "[i] for an entry of a list, where i may be at most the next free\n"     \
      "index. Each step of the path must be a mapping or a list, or must not\n"\
      "exist yet. VALUE is YAML. `extends` is read before --set, so it cannot\n"\
      "be set.\n"                                                              \
      "\n"                                                                     \
      "  before   jobrun train.yaml --set world_size.data=4\n"                 \
      "  after    jobrun train.yaml --set parallelism.data=4\n")               \
    X(301, "an entrypoint has two forms",                                      \
      "An entrypoint has exactly one of command, shell, python and library.\n" \
      "\n"                                                                     \
      "  before   entrypoint: {command: [./train], shell: ./train}\n"          \
      "  after    entrypoint: {command: [./train]}\n")                         \
    X(302, "nothing to fork from",                                             \
      "With fork and forkserver, ranks are forked from a helper that has\n"    \
      "loaded the entry module. A command or a shell starts a new program, so\n"\
      "there is nothing to fork from.\n"                                       \
      "\n"                                                                     \
      "  before   {entrypoint: [./train], start_method: fork}\n"               \
      "  after    {entrypoint: [./train], start_method: spawn}\n")             \
    X(303, "from, pattern and file do not go together",                        \
      "With `from: stdout` or `stderr` the result is what the named groups of\n"\
      "`pattern` match; with `from: file` it is the JSON in `file`. The other\n"\
      "one of the two would silently be ignored.\n"                            \
      "\n"                                                                     \
      "  before   results: {from: stdout}\n"                                   \
      "  after    results: {from: stdout, pattern: 'loss=(?<loss>.+)'}\n")     \
    X(304, "a program returns no result",                                      \
      "`from: return` takes the return value of a function or of a library's\n"\
      "step. A command, a shell or a script has only an exit code; its result\n"\
      "must come from a file or from its output.\n"                            \
      "\n"                                                                     \
      "  before   results: {from: return}\n"                                   \
      "  after    results: {from: file}\n")                                    \
    X(305, "a result field contradicts itself",                                \
      "min and max are for numbers, pattern is for strings, enum holds\n"      \
      "values of the field's type, and min is not above max.\n"                \
      "\n"                                                                     \
      "  before   accuracy: {type: number, min: 0.9, max: 0.5}\n"              \
      "  after    accuracy: {type: number, min: 0.5, max: 0.9}\n")             \
    X(306, "no such result field",                                             \
      "equal and distinct may name fields of `fields` (or groups of\n"         \
      "`pattern`), each once. With a pattern, each required field must be one\n"\
      "of its groups.\n"                                                       \
      "\n"                                                                     \
      "  before   {fields: {loss: {type: number}}, equal: [los]}\n"            \
      "  after    {fields: {loss: {type: number}}, equal: [loss]}\n")          \
    X(307, "a rank is beyond the last one",                                    \
      "Ranks count from 0, so the last one is world_size - 1.\n"               \
      "\n"                                                                     \
      "  before   {world_size: 4, results: {required: 0-4}}\n"                 \
      "  after    {world_size: 4, results: {required: 0-3}}\n")                \
    X(308, "the backend cannot drive the device",                              \
      "Each backend works with certain kinds of devices. Leave backends out\n" \
      "to get the default for the device.\n"                                   \
      "\n"                                                                     \
      "  before   {device: cpu, backends: nccl}\n"                             \
      "  after    {device: cpu, backends: gloo}\n")                            \
    X(309, "a stream is not kept",                                             \
      "jobrun reads results, and restart causes such as stderr:/REGEX/, from\n"\
      "a stream that it keeps in a file. If `tee` is stated, a stream that\n"  \
      "neither `tee` nor `redirects` names is inherited, and jobrun never\n"   \
      "sees it.\n"                                                             \
      "\n"                                                                     \
      "  before   {tee: err, results: {from: stdout, pattern: '(?<x>.+)'}}\n"  \
      "  after    {tee: all, results: {from: stdout, pattern: '(?<x>.+)'}}\n") \
    X(310, "world size does not divide",                                       \
      "world_size must be a multiple of parallelism.model times\n"             \
      "parallelism.pipeline, because every rank has exactly one place in the\n"\
      "mesh. The message names the nearest sizes that divide.\n"               \
      "\n"                                                                     \
      "  before   world_size: 6\n"                                             \
      "           parallelism: {model: 2, pipeline: 2}\n"                      \
      "  after    world_size: 8\n"                                             \
      "           parallelism: {model: 2, pipeline: 2}\n")                     \
    X(311, "the mesh does not match world_size",                               \
      "world_size is data x model x pipeline. Leave one of them out to have\n" \
      "it derived.\n"                                                          \
      "\n"                                                                     \
      "  before   {world_size: 8, parallelism: {data: 2, model: 2}}\n"         \
      "  after    {world_size: 8, parallelism: {model: 2}}\n")                 \
    X(312, "the nodes do not match world_size",                                \
      "world_size is nodes x local_world_size: any two of them determine the\n"\
      "third. If nodes differ, state local_world_size as a list, whose sum is\n"\
      "world_size.\n"                                                          \
      "\n"                                                                     \
      "  before   {world_size: 6, nodes: 4}\n"                                 \
      "  after    {world_size: 6, local_world_size: [2, 2, 1, 1]}\n")          \
    X(313, "one entry per node is required",                                   \
      "hosts, and local_world_size as a list, must have one entry for each\n"  \
      "node.\n"                                                                \
      "\n"                                                                     \
      "  before   {nodes: 2, hosts: [gpu01]}\n"                                \
      "  after    {nodes: 2, hosts: [gpu01, gpu02]}\n")                        \
    X(314, "an index is beyond the last one",                                  \
      "node_rank counts the nodes from 0, and rank_start counts the ranks\n"   \
      "from 0.\n"                                                              \
      "\n"                                                                     \
      "  before   {nodes: 2, node_rank: 2}\n"                                  \
      "  after    {nodes: 2, node_rank: 1}\n")                                 \
    X(315, "too many ranks",                                                   \
      "The product is above 4294967295.\n"                                     \
      "\n"                                                                     \
      "  before   {nodes: 70000, local_world_size: 70000}\n"                   \
      "  after    {nodes: 70, local_world_size: 8}\n")                         \
    X(316, "rank_start is not where the node begins",                          \
      "rank_start is the number of ranks on the nodes before this one, which\n"\
      "follows from node_rank and local_world_size. Leave it out to have it\n" \
      "derived. If it is stated without node_rank, it determines which node\n" \
      "this is.\n"                                                             \
      "\n"                                                                     \
      "  before   {nodes: 2, local_world_size: 4, node_rank: 1, rank_start: 3}\n"\
      "  after    {nodes: 2, local_world_size: 4, node_rank: 1}\n")            \
    X(317, "a stream rule for a local rank that no node has",                  \
      "The keys of redirects and tee are local ranks. They count from 0 on\n"  \
      "each node, so the last is local_world_size - 1 of the largest node.\n"  \
      "\n"                                                                     \
      "  before   {local_world_size: 4, redirects: \"16:3\"}\n"                \
      "  after    {local_world_size: 4, redirects: \"3:3\"}\n")                \
    X(318, "a device is listed twice",                                         \
      "Local rank i gets entry i of devices, so a device that is listed twice\n"\
      "is shared by two ranks. Set `oversubscribe: true` to allow this.\n"     \
      "\n"                                                                     \
      "  before   devices: [1, 1]\n"                                           \
      "  after    {devices: [1, 1], oversubscribe: true}\n")                   \
    X(319, "devices and local ranks do not fit",                               \
      "Local rank i gets entry i of devices. With more entries than local\n"   \
      "ranks, some devices would be unused. With fewer, ranks share devices;\n"\
      "set `oversubscribe: true` to allow this.\n"                             \
      "\n"                                                                     \
      "  before   {local_world_size: 2, devices: [0, 1, 2]}\n"                 \
      "  after    {local_world_size: 2, devices: [0, 1]}\n")                   \
    X(320, "a secret is exposed",                                              \
      "A warning: the name of a variable or of an argument matches `secrets`,\n"\
      "but the spec contains its value. A spec is usually committed to a\n"    \
      "repository, and every user of the machine can read the arguments of a\n"\
      "process. Take the value from the environment instead. If it is not a\n" \
      "secret (for example TOKENIZER), narrow `secrets`; otherwise jobrun\n"   \
      "redacts it.\n"                                                          \
      "\n"                                                                     \
      "  before   env: {HF_TOKEN: hf_8fK2}\n"                                  \
      "  after    env: {HF_TOKEN: \"???\"}\n")                                 \
    X(321, "the entrypoint cannot use it",                                     \
      "kwargs, setup, init and smoke_test are for a Python function, and\n"    \
      "smoke_test tests what init set up. exit_barrier is for Python and\n"    \
      "libraries, which tell jobrun that they have returned. With other\n"     \
      "entrypoints they would silently do nothing.\n"                          \
      "\n"                                                                     \
      "  before   entrypoint: {python: {script: train.py}, kwargs: {lr: 1}}\n" \
      "  after    entrypoint: {python: {script: train.py}, args: [--lr, 1]}\n")\
    X(322, "preload has no effect",                                            \
      "The helper that Python ranks are forked from imports the modules of\n"  \
      "`preload`. Spawned ranks import what they need themselves, and a\n"     \
      "library has no modules.\n"                                              \
      "\n"                                                                     \
      "  before   {start_method: spawn, preload: [torch]}\n"                   \
      "  after    {start_method: forkserver, preload: [torch]}\n")             \
    X(323, "a variable is set too late",                                       \
      "A warning: forked ranks get their own environment only after the fork.\n"\
      "LD_*, OMP_* and PYTHON* are read when a library or Python itself is\n"  \
      "loaded, which happens in the helper before that. Set them for all\n"    \
      "ranks, or use start_method: spawn.\n"                                   \
      "\n"                                                                     \
      "  before   {start_method: fork, per_rank: {0: {env: {OMP_PROC_BIND: 1}}}}\n"\
      "  after    {start_method: fork, env: {OMP_PROC_BIND: 1}}\n")            \
    X(324, "a string that looks like a boolean or a number",                   \
      "A warning: yes, no, on, off, 010 and 1_000 are strings, although other\n"\
      "YAML readers take them for booleans and numbers, and the function gets\n"\
      "the string. Write true, false or the number; or quote it if it is\n"    \
      "meant as a string.\n"                                                   \
      "\n"                                                                     \
      "  before   kwargs: {shuffle: no}\n"                                     \
      "  after    kwargs: {shuffle: false}\n")                                 \
    X(325, "a restart that never happens",                                     \
      "A warning: a job is restarted at most `restart.max` times, and the\n"   \
      "default is 0. A hang is only detected if timeouts.silence is set.\n"    \
      "\n"                                                                     \
      "  before   restart: {on: [oom, exit:75]}\n"                             \
      "  after    restart: {max: 3, on: [oom, exit:75]}\n")                    \
    X(326, "silence cannot be detected",                                       \
      "A warning: timeouts.silence detects a run in which no rank writes\n"    \
      "anything any more. jobrun sees output that goes through it (tee) and\n" \
      "files that grow (redirects). A stream that neither of them names is\n"  \
      "inherited, so jobrun cannot see it, and finds no hang.\n"               \
      "\n"                                                                     \
      "  before   {tee: err, timeouts: {silence: 10m}}\n"                      \
      "  after    {tee: err, redirects: out, timeouts: {silence: 10m}}\n")     \
    X(327, "device, devices and bind contradict each other",                   \
      "A list of devices means accelerators, which device: cpu does not have,\n"\
      "and devices: none leaves only the CPUs. bind: device binds ranks to\n"  \
      "the CPUs near their devices, so it requires devices.\n"                 \
      "\n"                                                                     \
      "  before   {device: cpu, devices: [0, 1]}\n"                            \
      "  after    {device: cuda, devices: [0, 1]}\n")                          \
    X(328, "MPI programs would be singletons",                                 \
      "A warning: env_profiles: [mpi] sets the variables that mpirun would\n"  \
      "set, for programs that read them. MPI itself needs a process manager,\n"\
      "and jobrun has none. MPI_Init therefore sees a world of one in every\n" \
      "rank, and each rank does the whole computation alone. Start such\n"     \
      "programs with an MPI launcher.\n"                                       \
      "\n"                                                                     \
      "  before   {entrypoint: [./solver], env_profiles: [mpi]}\n"             \
      "  after    jobrun render solver.jobrun.yaml --engine mpi\n")            \
    X(329, "several ranks share a result file",                                \
      "Each rank that must deliver needs its own file, but this path is the\n" \
      "same for all of them: the result of one would count for the others.\n"  \
      "Put %{rank} into the path. If one rank delivers for all, name it in\n"  \
      "results.required.\n"                                                    \
      "\n"                                                                     \
      "  before   {world_size: 4, results: {file: out.json}}\n"                \
      "  after    {world_size: 4, results: {file: \"out-%{rank}.json\"}}\n")   \
    X(401, "two values contradict each other",                                 \
      "Sizes that the spec states, or that follow from what it states,\n"      \
      "contradict each other. world_size is nodes x local_world_size and data\n"\
      "x model x pipeline; hosts, and local_world_size as a list, have one\n"  \
      "entry per node. jobrun does not pick one of them; leave one out.\n"     \
      "\n"                                                                     \
      "  before   {world_size: 8, nodes: 2, local_world_size: 3}\n"            \
      "  after    {world_size: 8, nodes: 2}\n")                                \
    X(402, "the world does not divide over the nodes",                         \
      "Every node has the same number of ranks unless local_world_size is a\n" \
      "list. The message gives the nearest sizes that divide, and such a\n"    \
      "list.\n"                                                                \
      "\n"                                                                     \
      "  before   {world_size: 7, nodes: 2}\n"                                 \
      "  after    {nodes: 2, local_world_size: [4, 3]}\n")                     \
    X(403, "too many ranks",                                                   \
      "The size is larger than any machine could start, so it is probably a\n" \
      "mistake: more than 1,048,576 ranks, nodes or threads.\n"                \
      "\n"                                                                     \
      "  before   world_size: 8000000000\n"                                    \
      "  after    world_size: 8\n")                                            \
    X(404, "more ranks than devices",                                          \
      "A node has fewer usable devices than ranks, and local rank i gets\n"    \
      "device i for itself. Spread the ranks over more nodes, or set\n"        \
      "`oversubscribe: true`: then local rank i gets device i modulo the\n"    \
      "number of devices.\n"                                                   \
      "\n"                                                                     \
      "  before   world_size: 8       # on a machine with 4 devices\n"         \
      "  after    world_size: 8\n"                                             \
      "           oversubscribe: true\n")                                      \
    X(405, "more ranks than CPUs",                                             \
      "A warning: the ranks of a node must share CPUs. Usable CPUs are those\n"\
      "in the affinity mask and the cpuset, limited by the CFS quota rounded\n"\
      "down.\n"                                                                \
      "\n"                                                                     \
      "  before   world_size: 64      # on 4 CPUs\n"                           \
      "  after    world_size: 64\n"                                            \
      "           oversubscribe: true\n")                                      \
    X(410, "two kinds of devices",                                             \
      "The machine has accelerators of two vendors, and jobrun does not\n"     \
      "choose between them. State `device`.\n"                                 \
      "\n"                                                                     \
      "  before   world_size: ???\n"                                           \
      "  after    world_size: ???\n"                                           \
      "           device: cuda\n")                                             \
    X(411, "a driver is loaded but broken",                                    \
      "The driver of an accelerator is loaded but lists no device, or its\n"   \
      "device files are missing. Running on the CPUs would hide that, so\n"    \
      "jobrun does it only if the spec says so.\n"                             \
      "\n"                                                                     \
      "  before   device: ???\n"                                               \
      "  after    device: cpu\n")                                              \
    X(412, "no such device on this machine",                                   \
      "The spec asks for a kind of device of which none is visible: there is\n"\
      "none, or the inherited visibility variable hides it.\n"                 \
      "\n"                                                                     \
      "  before   device: cuda        # with CUDA_VISIBLE_DEVICES=\"\"\n"      \
      "  after    device: cpu\n")                                              \
    X(413, "a listed device is not available",                                 \
      "An entry of devices names a device that this machine does not have,\n"  \
      "or that the inherited visibility variable hides. Indices are\n"         \
      "absolute.\n"                                                            \
      "\n"                                                                     \
      "  before   devices: [0, 9]\n"                                           \
      "  after    devices: [0, 1]\n")                                          \
    X(414, "the backend cannot drive the device",                              \
      "Each backend works with certain kinds of devices: nccl with NVIDIA's\n" \
      "(and under torch with AMD's), gloo with CPUs, hccl with Ascend NPUs\n"  \
      "and Gaudi HPUs, and so on. Leave backends out to get the default for\n" \
      "the device.\n"                                                          \
      "\n"                                                                     \
      "  before   {device: cpu, backends: nccl}\n"                             \
      "  after    {device: cpu, backends: gloo}\n")                            \
    X(415, "OMP_NUM_THREADS is ignored",                                       \
      "A warning: OMP_NUM_THREADS in the environment is not a positive\n"      \
      "integer (or a list that begins with one), so the number of threads is\n"\
      "derived from the cores.\n"                                              \
      "\n"                                                                     \
      "  before   OMP_NUM_THREADS=all jobrun train.yaml\n"                     \
      "  after    OMP_NUM_THREADS=4 jobrun train.yaml\n")                      \
    X(416, "TORCH_DISTRIBUTED_BACKEND names no backend",                       \
      "The environment asks for a backend that jobrun does not know. Unset\n"  \
      "the variable, or state backends in the spec, which takes precedence.\n" \
      "\n"                                                                     \
      "  before   TORCH_DISTRIBUTED_BACKEND=nncl jobrun train.yaml\n"          \
      "  after    TORCH_DISTRIBUTED_BACKEND=nccl jobrun train.yaml\n")         \
    X(417, "device and devices contradict each other",                         \
      "The spec lists devices for the CPU, or asks for an accelerator and for\n"\
      "no devices.\n"                                                          \
      "\n"                                                                     \
      "  before   {device: cpu, devices: [0, 1]}\n"                            \
      "  after    {device: cuda, devices: [0, 1]}\n")                          \
    X(418, "devices are out of order",                                         \
      "Ascend's runtime reads ASCEND_RT_VISIBLE_DEVICES in ascending order\n"  \
      "only: it ignores every entry after a larger index. So if ranks see all\n"\
      "devices, the devices must be listed in ascending order.\n"              \
      "\n"                                                                     \
      "  before   devices: [4, 0]\n"                                           \
      "  after    devices: [0, 4]\n"                                           \
      "  or       device_visibility: one\n")                                   \
    X(419, "the listed devices do not fit",                                    \
      "Local rank i gets entry i of devices. With more entries than local\n"   \
      "ranks, some devices would be unused. One device listed by its index\n"  \
      "and by its UUID would be given to two ranks. In this case the number\n" \
      "of ranks, or the devices that the names mean, are known only from the\n"\
      "machine.\n"                                                             \
      "\n"                                                                     \
      "  before   {world_size: 2, devices: [0, 1, 2]}\n"                       \
      "  after    {world_size: 2, devices: [0, 1]}\n")                         \
    X(420, "node_rank or master_addr is MISSING",                              \
      "With more than one node, jobrun needs to know which node this is and\n" \
      "where rank 0 listens. A scheduler provides both. Without one, run the\n"\
      "same command on every node, with its own --node-rank, the same\n"       \
      "--run-id everywhere, and hosts or master_addr in the spec; or use\n"    \
      "--local to start the ranks of all nodes on this machine.\n"             \
      "\n"                                                                     \
      "  before   jobrun train.yaml\n"                                         \
      "  after    jobrun train.yaml --node-rank 0 --run-id exp1\n")            \
    X(421, "node_rank is beyond the nodes",                                    \
      "Nodes are counted from 0: the last node_rank is nodes - 1.\n"           \
      "\n"                                                                     \
      "  before   {nodes: 2, node_rank: 2}\n"                                  \
      "  after    {nodes: 2, node_rank: 1}\n")                                 \
    X(422, "rank_start contradicts node_rank",                                 \
      "The first rank of a node is the number of ranks on earlier nodes,\n"    \
      "which follows from node_rank and local_world_size.\n"                   \
      "\n"                                                                     \
      "  before   {nodes: 2, world_size: 8, rank_start: 5}\n"                  \
      "  after    {nodes: 2, world_size: 8, rank_start: 4}\n")                 \
    X(423, "not enough nodes",                                                 \
      "The job needs more nodes than the scheduler's allocation, or the\n"     \
      "machine of --on, has.\n"                                                \
      "\n"                                                                     \
      "  before   salloc -N 2 jobrun train.yaml       # with nodes: 4\n"       \
      "  after    salloc -N 4 jobrun train.yaml\n")                            \
    X(424, "scheduler variables cannot be used",                               \
      "A variable of the scheduler or launcher cannot be read, two of them\n"  \
      "contradict each other, or its job is over. Jobs often leave such\n"     \
      "variables behind in shells. jobrun does not guess: unset them, or\n"    \
      "state the values in the spec.\n"                                        \
      "\n"                                                                     \
      "  before   SLURM_JOB_NODELIST='n[1-' jobrun train.yaml\n"               \
      "  after    env -u SLURM_JOB_ID jobrun train.yaml\n")                    \
    X(425, "more than one jobrun on a node",                                   \
      "A launcher (srun, mpirun, flux run) has started several jobruns on one\n"\
      "node, and each would start all ranks of that node. Start jobrun once\n" \
      "per node; it starts the ranks itself.\n"                                \
      "\n"                                                                     \
      "  before   srun --ntasks-per-node=8 jobrun train.yaml\n"                \
      "  after    srun --ntasks-per-node=1 jobrun train.yaml\n")               \
    X(426, "longer than the allocation allows",                                \
      "timeouts.run is longer than the time that is left to the allocation,\n" \
      "or timeouts.stop_grace is longer than Slurm's KillWait minus ten\n"     \
      "seconds, which jobrun needs to write the record. jobrun uses the lower\n"\
      "value.\n"                                                               \
      "\n"                                                                     \
      "  before   timeouts: {stop_grace: 5m}      # KillWait is 30\n"          \
      "  after    timeouts: {stop_grace: 20s}\n")                              \
    X(430, "the port is in use",                                               \
      "master_port is in use, or leased by another jobrun. jobrun never\n"     \
      "changes a port that the spec states, nor any port on several nodes. On\n"\
      "one node without a stated port, it takes the next free one.\n"          \
      "\n"                                                                     \
      "  before   master_port: 29500\n"                                        \
      "  after    master_port: ???\n")                                         \
    X(431, "the nodes cannot agree on a port",                                 \
      "master_port 0 means any free port, which one jobrun chooses; the\n"     \
      "jobruns on other nodes would not know it.\n"                            \
      "\n"                                                                     \
      "  before   {nodes: 2, master_port: 0}\n"                                \
      "  after    {nodes: 2, master_port: 29500}\n")                           \
    X(432, "ranks cannot be bound as requested",                               \
      "bind requires that the CPUs of the machine are known. bind: device\n"   \
      "also requires the NUMA node of every device that is used, with CPUs\n"  \
      "that jobrun may use. If bind is not stated, ranks are not bound in\n"   \
      "these cases.\n"                                                         \
      "\n"                                                                     \
      "  before   {device: cpu, bind: device}\n"                               \
      "  after    {device: cpu, bind: core}\n")                                \
    X(433, "not every rank can get its own port",                              \
      "PaddlePaddle needs an address and a port for every rank. On one node,\n"\
      "jobrun leases a free port for each. On several nodes, the ports are\n"  \
      "master_port + 1 + the local rank, at the addresses of `hosts`.\n"       \
      "\n"                                                                     \
      "  before   {nodes: 2, master_addr: a, env_profiles: [paddle]}\n"        \
      "  after    {nodes: 2, hosts: [a, b], env_profiles: [paddle]}\n")        \
    X(440, "a stream rule for a local rank that does not exist",               \
      "The keys of redirects and tee are local ranks, and no node has that\n"  \
      "many.\n"                                                                \
      "\n"                                                                     \
      "  before   {local_world_size: 2, redirects: \"5:3\"}\n"                 \
      "  after    {local_world_size: 2, redirects: \"1:3\"}\n")                \
    X(441, "an entry for a rank that does not exist",                          \
      "The keys of per_rank are ranks, and on this machine the job does not\n" \
      "have that many.\n"                                                      \
      "\n"                                                                     \
      "  before   {world_size: 2, per_rank: {5: {args: [-v]}}}\n"              \
      "  after    {world_size: 2, per_rank: {1: {args: [-v]}}}\n")             \
    X(450, "a field is still MISSING",                                         \
      "Neither the hardware nor the environment determines this field. For\n"  \
      "device custom:NAME, for example, jobrun knows neither the number nor\n" \
      "the backend.\n"                                                         \
      "\n"                                                                     \
      "  before   {device: \"custom:tpu\"}\n"                                  \
      "  after    {device: \"custom:tpu\", backends: gloo, world_size: 8}\n")  \
    X(480, "not a machine profile",                                            \
      "The short form after --on is NODESxDEVICES[:MODEL][,CPUSc][,MEMg]:\n"   \
      "nodes, devices per node, their model, CPUs, and memory in GiB. A text\n"\
      "that contains a dot or a slash, or does not begin with a digit, is the\n"\
      "path of a facts file.\n"                                                \
      "\n"                                                                     \
      "  before   --on 8:H100\n"                                               \
      "  after    --on 1x8:H100\n")                                            \
    X(481, "unknown device model",                                             \
      "The model in a profile determines the vendor of the devices, so jobrun\n"\
      "must know it. Without a model, the devices are NVIDIA's.\n"             \
      "\n"                                                                     \
      "  before   --on 2x8:H101\n"                                             \
      "  after    --on 2x8:H100\n")                                            \
    X(482, "unknown fact",                                                     \
      "A facts file may have only the keys that `doctor --format yaml`\n"      \
      "writes. Otherwise a misspelt fact would silently count as unknown.\n"   \
      "\n"                                                                     \
      "  before   cpu: {usable: 8}\n"                                          \
      "  after    cpus: {usable: 8}\n")                                        \
    X(483, "wrong value for a fact",                                           \
      "The fact has the wrong type or is out of bounds. If a fact is not\n"    \
      "known, leave it out, or write null.\n"                                  \
      "\n"                                                                     \
      "  before   memory: plenty\n"                                            \
      "  after    memory: 64GiB\n")                                            \
    X(484, "a fact is missing",                                                \
      "Most facts may be left out. A facts file must state its\n"              \
      "format_version, a device its kind and index, and a problem its kind\n"  \
      "and message.\n"                                                         \
      "\n"                                                                     \
      "  before   devices: [{kind: cuda}]\n"                                   \
      "  after    devices: [{kind: cuda, index: 0}]\n")                        \
    X(485, "the facts about a device cannot be read",                          \
      "For `device: custom:NAME`, jobrun runs the program NAME.facts beside\n" \
      "the spec, which prints the facts about the devices. It failed, did not\n"\
      "finish in time, or may not be executed. `validate`, --on and `targets`\n"\
      "do not need this program and do not run it.\n"                          \
      "\n"                                                                     \
      "  before   -rw-r--r--  acme.facts\n"                                    \
      "  after    -rwxr-xr-x  acme.facts\n")                                   \
    X(486, "facts contradict each other",                                      \
      "The facts file says two things that cannot both be true: two devices\n" \
      "with one index, more usable CPUs than there are, or a node rank beyond\n"\
      "the last node. jobrun does not resolve a spec for such a machine.\n"    \
      "\n"                                                                     \
      "  before   cpus: {online: 8, usable: 16}\n"                             \
      "  after    cpus: {online: 16, usable: 16}\n")                           \
    X(501, "a required environment variable is not set",                       \
      "The spec has ??? for a variable in env, so the environment of jobrun\n" \
      "must set it, but does not.\n"                                           \
      "\n"                                                                     \
      "  before   env: {DATA_ROOT: \"???\"}\n"                                 \
      "           $ jobrun train.yaml\n"                                       \
      "  after    $ DATA_ROOT=/data jobrun train.yaml\n")                      \
    X(502, "not a per-rank template",                                          \
      "In arguments, shell, env values, workdir, results.file and artifacts,\n"\
      "%{NAME} is replaced by a value of the rank. NAME is not a known word,\n"\
      "or the closing brace is missing. %%{ is a literal %{.\n"                \
      "\n"                                                                     \
      "  before   entrypoint: [./train, \"--shard=%{shard}\"]\n"               \
      "  after    entrypoint: [./train, \"--shard=%{data_rank}\"]\n")          \
    X(503, "a model group crosses nodes",                                      \
      "The ranks of a model group exchange data in every layer. If they are\n" \
      "on two nodes, all of that data goes over the network.\n"                \
      "\n"                                                                     \
      "  before   local_world_size: 6\n"                                       \
      "           parallelism: {model: 4}\n"                                   \
      "  after    local_world_size: 8\n"                                       \
      "           parallelism: {model: 4}\n")                                  \
    X(504, "a list of members is left out",                                    \
      "The list of a group's ranks is longer than the 128 KiB that the kernel\n"\
      "allows for one environment variable. The variable is not set; the\n"    \
      "groups are in plan.json, under mesh.\n"                                 \
      "\n"                                                                     \
      "  before   os.environ[\"DATA_PARALLEL_MEMBERS\"]\n"                     \
      "  after    plan[\"mesh\"][\"groups\"][\"data\"]\n")                     \
    X(505, "LOCAL_RANK is not a device index",                                 \
      "With device_visibility: one, each rank sees a single device, which has\n"\
      "index 0. LOCAL_RANK is therefore the right index only for the first\n"  \
      "rank of a node; JOBRUN_DEVICE_INDEX is right for all ranks.\n"          \
      "\n"                                                                     \
      "  before   set_device(int(os.environ[\"LOCAL_RANK\"]))\n"               \
      "  after    set_device(int(os.environ[\"JOBRUN_DEVICE_INDEX\"]))\n")     \
    X(506, "the plan is inconsistent",                                         \
      "The ranks of the plan do not add up: world_size is not model x\n"       \
      "pipeline x data, the nodes do not have that many ranks, or a rule\n"    \
      "names something that is not a set of ranks. Earlier stages report such\n"\
      "mistakes with their position, so this is a defect of jobrun; please\n"  \
      "report it.\n"                                                           \
      "\n"                                                                     \
      "  before   world_size: 8\n"                                             \
      "           parallelism: {model: 2, pipeline: 2, data: 3}\n"             \
      "  after    world_size: 12\n"                                            \
      "           parallelism: {model: 2, pipeline: 2, data: 3}\n")            \
    X(507, "ranks share a result file",                                        \
      "Each rank must deliver its own result, but two of them would write to\n"\
      "the same file: the result of one would count for both. Put %{rank}\n"   \
      "into results.file. If one rank delivers for all, name it in\n"          \
      "results.required.\n"                                                    \
      "\n"                                                                     \
      "  before   results: {file: out.json}\n"                                 \
      "  after    results: {file: \"out-%{rank}.json\"}\n")                    \
    X(508, "the arguments of a function are too long",                         \
      "args and kwargs are passed as one word of JSON, which must be shorter\n"\
      "than 128 KiB because of a limit of the kernel. Write the data to a\n"   \
      "file and pass its path.\n"                                              \
      "\n"                                                                     \
      "  before   kwargs: {table: [[0.1, 0.2], [0.3, 0.4]]}   # and so on\n"   \
      "  after    kwargs: {table: data/table.json}\n")                         \
    X(509, "forking with an accelerator",                                      \
      "A warning: a process that has initialised an accelerator cannot be\n"   \
      "forked, and with `start_method: fork` the helper imports the entry\n"   \
      "module before it forks the ranks. If the import touches the device,\n"  \
      "the run fails. A forkserver imports only what `preload` names.\n"       \
      "\n"                                                                     \
      "  before   {device: cuda, start_method: fork}\n"                        \
      "  after    {device: cuda, start_method: forkserver}\n")                 \
    X(510, "not a failure to inject",                                          \
      "--inject requests failures, to try how a job and its restarts handle\n" \
      "them. Write KIND:RANKS, then optionally =CODE (for exit), @TIME after\n"\
      "the rank's start, and #ATTEMPT (0, the first, by default, or * for\n"   \
      "all). The kinds are kill, exit, hang, stop, slow, noresult and oom.\n"  \
      "Items are separated by commas, so each has one range of ranks.\n"       \
      "\n"                                                                     \
      "  before   jobrun train.yaml --inject 'kill:0,3'\n"                     \
      "  after    jobrun train.yaml --inject 'kill:0, kill:3@5s'\n")
/* clang-format on */

#endif
