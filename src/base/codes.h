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
      "Memory ran out, or a spec that had passed all checks could not be\n"    \
      "taken in. It is not the spec's fault: please report the latter.\n"      \
      "\n"                                                                     \
      "  before   ulimit -v 1000; jobrun validate train.jobrun.yaml\n"         \
      "  after    jobrun validate train.jobrun.yaml\n")                        \
    X(101, "the file cannot be read",                                          \
      "The spec does not exist, may not be read, is not a regular file, or\n"  \
      "is larger than 1 MiB. A spec is read whole before anything starts,\n"   \
      "so a pipe or a device is refused; use - for standard input.\n"          \
      "\n"                                                                     \
      "  before   jobrun validate jobs/\n"                                     \
      "  after    jobrun validate jobs/train.jobrun.yaml\n")                   \
    X(102, "not valid YAML",                                                   \
      "The text does not parse as YAML. The usual causes are a tab used for\n" \
      "indentation, a missing blank after a colon, an unclosed quote or\n"     \
      "bracket, and a bare ??? inside [ ] or { }. What follows the place is\n" \
      "not read, so other mistakes may show once it is mended.\n"              \
      "\n"                                                                     \
      "  before   parallelism: {data: ???}\n"                                  \
      "  after    parallelism: {data: auto}\n")                                \
    X(104, "not UTF-8",                                                        \
      "A spec is UTF-8, with or without a byte order mark. The byte that is\n" \
      "pointed at cannot stand in such a text: the file is in another\n"       \
      "encoding (UTF-16, Latin-1), or is not a text.\n"                        \
      "\n"                                                                     \
      "  before   name: caf\\xe9            # Latin-1\n"                       \
      "  after    name: cafe\n")                                               \
    X(105, "control character",                                                \
      "YAML allows no control characters but tabs and line breaks; others\n"   \
      "can be written as escapes in a double-quoted string. NUL cannot\n"      \
      "stand in a spec at all: no argument or variable of a process can\n"     \
      "hold it.\n"                                                             \
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
      "A spec is one YAML document. A line of --- begins another one, whose\n" \
      "content many tools would ignore without a word.\n"                      \
      "\n"                                                                     \
      "  before   world_size: 4\n"                                             \
      "           ---\n"                                                       \
      "           world_size: 8\n"                                             \
      "  after    world_size: 8\n")                                            \
    X(108, "nested too deeply",                                                \
      "Sequences and mappings may stand inside each other 64 deep, counting\n" \
      "what aliases expand to.\n"                                              \
      "\n"                                                                     \
      "  before   x-a: [[[[ ... 65 times ... ]]]]\n"                           \
      "  after    x-a: []\n")                                                  \
    X(109, "too many nodes",                                                   \
      "A spec has at most 100,000 scalars and collections, counting what\n"    \
      "aliases expand to. Data belongs into a file that the job reads.\n"      \
      "\n"                                                                     \
      "  before   x-samples: [1, 2, 3, ... 100000]\n"                          \
      "  after    x-samples: data/samples.json\n")                             \
    X(110, "aliases expand to too much",                                       \
      "A spec may use at most 1,000 aliases, and the text that they repeat\n"  \
      "may not exceed 1 MiB: a few lines of YAML could otherwise fill any\n"   \
      "memory.\n"                                                              \
      "\n"                                                                     \
      "  before   x-b: [*a, *a, *a, ... 1001 times]\n"                         \
      "  after    x-b: [1, 2, 3]\n")                                           \
    X(111, "unknown alias",                                                    \
      "An alias (*name) repeats the node that bears the anchor &name\n"        \
      "further up in the same file. A string that begins with * has to be\n"   \
      "quoted.\n"                                                              \
      "\n"                                                                     \
      "  before   secrets: [*TOKEN]\n"                                         \
      "  after    secrets: [\"*TOKEN\"]\n")                                    \
    X(112, "alias inside its own anchor",                                      \
      "The alias stands within the very node that it repeats, which would\n"   \
      "have no end.\n"                                                         \
      "\n"                                                                     \
      "  before   env: &e {ALL: *e}\n"                                         \
      "  after    env: {ALL: everything}\n")                                   \
    X(113, "a key that is not a scalar",                                       \
      "The keys of a mapping are words or numbers. A sequence or a mapping\n"  \
      "as a key is legal YAML, but names nothing here.\n"                      \
      "\n"                                                                     \
      "  before   {[0, 1]: err}\n"                                             \
      "  after    {\"0,1\": err}\n")                                           \
    X(114, "merge key",                                                        \
      "The merge key (<<) is an extension of YAML 1.1, which readers of\n"     \
      "YAML 1.2 take for an ordinary key. The entries have to be repeated.\n"  \
      "\n"                                                                     \
      "  before   env: {<<: *common, LR: 1}\n"                                 \
      "  after    env: {SEED: 7, LR: 1}\n")                                    \
    X(115, "tag",                                                              \
      "Only the tags of the YAML core schema are known (!!str, !!int,\n"       \
      "!!float, !!bool, !!null, !!seq, !!map), and the value must be what\n"   \
      "they say.\n"                                                            \
      "\n"                                                                     \
      "  before   workdir: !path data\n"                                       \
      "  after    workdir: data\n")                                            \
    X(116, "empty document",                                                   \
      "The spec has no content, or nothing but comments.\n"                    \
      "\n"                                                                     \
      "  before   # to be written\n"                                           \
      "  after    version: 1\n"                                                \
      "           entrypoint: [./train]\n")                                    \
    X(117, "directive",                                                        \
      "Lines at the top that begin with % are directives. %YAML 1.1 and 1.2\n" \
      "are read, and %TAG, which no spec needs, at most 64 times.\n"           \
      "\n"                                                                     \
      "  before   %YAML 2.0\n"                                                 \
      "           ---\n"                                                       \
      "           version: 1\n"                                                \
      "  after    version: 1\n")                                               \
    X(118, "a parent that cannot be read",                                     \
      "`extends` names a file that does not exist, may not be read, is not a\n"\
      "regular file of at most 1 MiB, or is no mapping of fields. Paths are\n" \
      "relative to the file that states them.\n"                               \
      "\n"                                                                     \
      "  before   extends: base.yaml           # which lies in ../bases\n"     \
      "  after    extends: ../bases/base.yaml\n")                              \
    X(119, "a parent outside the root",                                        \
      "Parents and profiles are read below one folder only: that of --root,\n" \
      "else the top of the checkout that the spec lies in, else the spec's\n"  \
      "own folder. So a spec from somebody else cannot have files of yours\n"  \
      "quoted in messages. Links may lead anywhere below that folder.\n"       \
      "\n"                                                                     \
      "  before   jobrun validate jobs/a.yaml      # extends: ../base.yaml\n"  \
      "  after    jobrun validate --root . jobs/a.yaml\n")                     \
    X(120, "extends goes in a circle",                                         \
      "A spec builds on itself, by way of the files in the chain. One of\n"    \
      "them has to stand without the others.\n"                                \
      "\n"                                                                     \
      "  before   a.yaml: {extends: b.yaml}    b.yaml: {extends: a.yaml}\n"    \
      "  after    a.yaml: {extends: b.yaml}    b.yaml: {template: true}\n")    \
    X(121, "too many parents",                                                 \
      "At most 64 files make up a spec, named at most 256 times, and at most\n"\
      "16 MiB are read for them. The limits keep validation of specs from\n"   \
      "elsewhere cheap.\n"                                                     \
      "\n"                                                                     \
      "  before   extends: [part-001.yaml, part-002.yaml, ...]\n"              \
      "  after    extends: parts.yaml\n")                                      \
    X(122, "a profile that cannot be read",                                    \
      "`env_profiles` names words and files. Such a file is below the root,\n" \
      "relative to the file that names it, and is a mapping with `env` and\n"  \
      "`env_remove`, both of the form that they have in a spec.\n"             \
      "\n"                                                                     \
      "  before   LR: 0.1                # ours.yaml\n"                        \
      "  after    env: {LR: 0.1}         # ours.yaml\n")                       \
    X(201, "a required field is missing",                                      \
      "A spec states at least its version and what to run. A result field\n"   \
      "states its type, and an entrypoint has one of its forms.\n"             \
      "\n"                                                                     \
      "  before   version: 1\n"                                                \
      "  after    version: 1\n"                                                \
      "           entrypoint: [./train]\n")                                    \
    X(203, "unknown field",                                                    \
      "The spec has no field of this name at this place. A typing mistake\n"   \
      "would otherwise pass silently and the default would be used. Names\n"   \
      "that begin with x- are yours: jobrun keeps them and never reads them.\n"\
      "\n"                                                                     \
      "  before   paralelism: {model: 2}\n"                                    \
      "  after    parallelism: {model: 2}\n")                                  \
    X(204, "another launcher's word",                                          \
      "The field is known by this name to another launcher. The message\n"     \
      "says what it is called here; see `jobrun explain FIELD` for what it\n"  \
      "wants.\n"                                                               \
      "\n"                                                                     \
      "  before   nproc_per_node: 8\n"                                         \
      "  after    local_world_size: 8\n")                                      \
    X(206, "must be supplied from outside",                                    \
      "??? on a field that jobrun cannot fill from the hardware, or on an\n"   \
      "entry of `vars`, means that the value comes from outside: by --set.\n"  \
      "To `validate` such a value is unknown, and with --strict an error.\n"   \
      "\n"                                                                     \
      "  before   jobrun train.yaml                   # vars: {lr: \"???\"}\n" \
      "  after    jobrun train.yaml --set vars.lr=0.1\n")                      \
    X(207, "a variable that jobrun sets",                                      \
      "RANK, WORLD_SIZE, MASTER_ADDR and their like are jobrun's promise to\n" \
      "each rank. An `env` that set them would break it for all ranks at\n"    \
      "once. The field that decides the value is named where there is one.\n"  \
      "\n"                                                                     \
      "  before   env: {MASTER_PORT: 29501}\n"                                 \
      "  after    master_port: 29501\n")                                       \
    X(208, "a template cannot be run",                                         \
      "`template: true` says that a spec is only a base for others: it may\n"  \
      "lack required fields, and validate takes it as it is, but it is no\n"   \
      "job. The specs that extend it are: they do not inherit the mark.\n"     \
      "\n"                                                                     \
      "  before   jobrun base.jobrun.yaml\n"                                   \
      "  after    jobrun train.jobrun.yaml     # extends: base.jobrun.yaml\n") \
    X(211, "wrong value for a field",                                          \
      "The field wants another type, or a value within other bounds.\n"        \
      "Scalars are read strictly: yes, 4x, 010 and 1_000 are strings, and so\n"\
      "is everything in quotes.\n"                                             \
      "\n"                                                                     \
      "  before   world_size: \"4\"\n"                                         \
      "  after    world_size: 4\n")                                            \
    X(214, "not a per-rank template",                                          \
      "%{rank} and its like stand for a rank's own values in arguments,\n"     \
      "shell text, variables and paths. Any other word between %{ and } is\n"  \
      "a mistake; %%{ is a literal %{.\n"                                      \
      "\n"                                                                     \
      "  before   entrypoint: [./train, --id, \"%{local-rank}\"]\n"            \
      "  after    entrypoint: [./train, --id, \"%{local_rank}\"]\n")           \
    X(215, "not a rule for streams",                                           \
      "redirects and tee take 0 or none, 1 or out, 2 or err, 3 or all: as\n"   \
      "one value for all ranks, as a string of RANKS:STREAMS, or as a\n"       \
      "mapping of local ranks to values.\n"                                    \
      "\n"                                                                     \
      "  before   redirects: {0:3}\n"                                          \
      "  after    redirects: {0: 3}\n")                                        \
    X(216, "a local rank with two rules",                                      \
      "Two rules of one redirects or tee name the same local rank, and it\n"   \
      "would depend on their order which one counts.\n"                        \
      "\n"                                                                     \
      "  before   tee: \"0-3:out,2:err\"\n"                                    \
      "  after    tee: \"0-1:out,2:err,3:out\"\n")                             \
    X(217, "not a regular expression",                                         \
      "The pattern does not compile as PCRE2. The caret stands where it\n"     \
      "breaks off. In YAML, single quotes leave backslashes alone.\n"          \
      "\n"                                                                     \
      "  before   pattern: 'loss=(?<loss>[0-9.]+'\n"                           \
      "  after    pattern: 'loss=(?<loss>[0-9.]+)'\n")                         \
    X(218, "a rank with two entries",                                          \
      "Two entries of per_rank name the same rank, and it would depend on\n"   \
      "their order what it gets.\n"                                            \
      "\n"                                                                     \
      "  before   per_rank: {0-3: {args: [-v]}, 0: {args: [--main]}}\n"        \
      "  after    per_rank: {1-3: {args: [-v]}, 0: {args: [-v, --main]}}\n")   \
    X(219, "not the name of a variable",                                       \
      "The name of an environment variable is not empty and has no = in it.\n" \
      "\n"                                                                     \
      "  before   env: {\"LR=0.1\": \"\"}\n"                                   \
      "  after    env: {LR: 0.1}\n")                                           \
    X(220, "not a reference",                                                  \
      "${vars.NAME}, ${FIELD}, ${env:NAME} and ${env:NAME:-default} put a\n"   \
      "value into a spec when it is read. What stands between the braces is\n" \
      "none of these, or there is no closing brace. $${ is a literal ${;\n"    \
      "what belongs to a shell stands in `shell`, whose dollars are left\n"    \
      "alone.\n"                                                               \
      "\n"                                                                     \
      "  before   description: costs ${ 10 }\n"                                \
      "  after    description: costs $${ 10 }\n")                              \
    X(221, "nothing of that name",                                             \
      "The path between the braces leads to nothing in the spec. Paths begin\n"\
      "at the top: ${vars.lr}, ${parallelism.model}, ${hosts[0]}. The\n"       \
      "environment is ${env:NAME}. Fields that begin with x- are never read.\n"\
      "\n"                                                                     \
      "  before   entrypoint: [./train, --lr, \"${lr}\"]\n"                    \
      "  after    entrypoint: [./train, --lr, \"${vars.lr}\"]\n")              \
    X(222, "a value that is not known yet",                                    \
      "The field between the braces is MISSING: jobrun fills it after the\n"   \
      "spec was read, or not at all. Ranks learn it from their environment,\n" \
      "or by a per-rank template such as %{world_size}.\n"                     \
      "\n"                                                                     \
      "  before   entrypoint: [./train, \"${world_size}\"]\n"                  \
      "  after    entrypoint: [./train, \"%{world_size}\"]\n")                 \
    X(223, "values in a circle",                                               \
      "A value is made of itself, by way of the others in the chain.\n"        \
      "\n"                                                                     \
      "  before   vars: {a: \"${vars.b}\", b: \"${vars.a}\"}\n"                \
      "  after    vars: {a: 1, b: \"${vars.a}\"}\n")                           \
    X(224, "not a scalar",                                                     \
      "Only a string, a number or a boolean can be put into a value. Lists\n"  \
      "and mappings are shared by `extends`, or by anchors.\n"                 \
      "\n"                                                                     \
      "  before   entrypoint: [./train, \"${vars}\"]\n"                        \
      "  after    entrypoint: [./train, \"${vars.lr}\"]\n")                    \
    X(225, "a variable of the environment that is not known",                  \
      "The spec reads a variable that is not set where jobrun is called, or\n" \
      "that is not UTF-8. `validate` reads none but what --allow-env names;\n" \
      "to it such a value is unknown, and with --strict an error.\n"           \
      "\n"                                                                     \
      "  before   workdir: ${env:DATA_ROOT}\n"                                 \
      "  after    workdir: ${env:DATA_ROOT:-/data}\n")                         \
    X(226, "too much is put in",                                               \
      "All that ${...} puts into a spec is at most 1 MiB, and at most 64\n"    \
      "values read one another in a row. A few lines could otherwise fill\n"   \
      "the memory.\n"                                                          \
      "\n"                                                                     \
      "  before   vars: {a: xx, b: \"${vars.a}${vars.a}\", c: ...}\n"          \
      "  after    vars: {a: xx}\n")                                            \
    X(227, "--set leads nowhere",                                              \
      "--set PATH=VALUE puts a value where PATH leads: names with dots\n"      \
      "between them, and [i] for an entry of a list, at most the next free\n"  \
      "one. What is on the way has to be a mapping or a list, or not be\n"     \
      "there yet. VALUE is YAML; `extends` is read before it.\n"               \
      "\n"                                                                     \
      "  before   jobrun train.yaml --set world_size.data=4\n"                 \
      "  after    jobrun train.yaml --set parallelism.data=4\n")               \
    X(301, "an entrypoint of two forms",                                       \
      "What every rank runs is one of command, shell, python and library.\n"   \
      "\n"                                                                     \
      "  before   entrypoint: {command: [./train], shell: ./train}\n"          \
      "  after    entrypoint: {command: [./train]}\n")                         \
    X(302, "nothing to fork from",                                             \
      "fork and forkserver make ranks from a helper that has loaded the\n"     \
      "code of an entry module. A command or a shell starts a program anew,\n" \
      "so there is nothing to fork from.\n"                                    \
      "\n"                                                                     \
      "  before   {entrypoint: [./train], start_method: fork}\n"               \
      "  after    {entrypoint: [./train], start_method: spawn}\n")             \
    X(303, "from, pattern and file do not go together",                        \
      "With `from: stdout` or `stderr` a result is what the named groups of\n" \
      "`pattern` catch; with `from: file` it is the JSON of `file`. One\n"     \
      "that is not read would be a promise that nobody keeps.\n"               \
      "\n"                                                                     \
      "  before   results: {from: stdout}\n"                                   \
      "  after    results: {from: stdout, pattern: 'loss=(?<loss>.+)'}\n")     \
    X(304, "a program returns no result",                                      \
      "`from: return` takes what a function or a library's step returned.\n"   \
      "A command, a shell or a script has an exit code only; its result is\n"  \
      "a file, or a line of its output.\n"                                     \
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
      "equal and distinct name fields of `fields` (or groups of `pattern`),\n" \
      "each once, and a field that is required has a group to come from.\n"    \
      "\n"                                                                     \
      "  before   {fields: {loss: {type: number}}, equal: [los]}\n"            \
      "  after    {fields: {loss: {type: number}}, equal: [loss]}\n")          \
    X(307, "a rank beyond the world",                                          \
      "Ranks count from 0, so the last one is world_size - 1.\n"               \
      "\n"                                                                     \
      "  before   {world_size: 4, results: {required: 0-4}}\n"                 \
      "  after    {world_size: 4, results: {required: 0-3}}\n")                \
    X(308, "the backend cannot drive the device",                              \
      "Each backend drives some kinds of devices. Leave backends out to get\n" \
      "the default of the device.\n"                                           \
      "\n"                                                                     \
      "  before   {device: cpu, backends: nccl}\n"                             \
      "  after    {device: cpu, backends: gloo}\n")                            \
    X(309, "a stream that nothing keeps",                                      \
      "Results, and causes of a restart such as stderr:/REGEX/, are read\n"    \
      "from a stream that jobrun keeps in a file. With\n"                      \
      "`tee` stated, a stream that neither it nor `redirects` takes is\n"      \
      "inherited as it is, and jobrun never sees it.\n"                        \
      "\n"                                                                     \
      "  before   {tee: err, results: {from: stdout, pattern: '(?<x>.+)'}}\n"  \
      "  after    {tee: all, results: {from: stdout, pattern: '(?<x>.+)'}}\n") \
    X(310, "world size does not divide",                                       \
      "world_size must be a multiple of parallelism.model times\n"             \
      "parallelism.pipeline, for every rank has one place in the mesh. The\n"  \
      "message names the nearest sizes that divide.\n"                         \
      "\n"                                                                     \
      "  before   world_size: 6\n"                                             \
      "           parallelism: {model: 2, pipeline: 2}\n"                      \
      "  after    world_size: 8\n"                                             \
      "           parallelism: {model: 2, pipeline: 2}\n")                     \
    X(311, "the mesh is not the world",                                        \
      "world_size is data x model x pipeline. Leave one of them out, and it\n" \
      "is derived.\n"                                                          \
      "\n"                                                                     \
      "  before   {world_size: 8, parallelism: {data: 2, model: 2}}\n"         \
      "  after    {world_size: 8, parallelism: {model: 2}}\n")                 \
    X(312, "the nodes do not make up the world",                               \
      "world_size is nodes x local_world_size: any two give the third.\n"      \
      "Nodes that differ are stated as a list, whose sum is the world.\n"      \
      "\n"                                                                     \
      "  before   {world_size: 6, nodes: 4}\n"                                 \
      "  after    {world_size: 6, local_world_size: [2, 2, 1, 1]}\n")          \
    X(313, "one entry per node",                                               \
      "hosts, and local_world_size as a list, have one entry for each node.\n" \
      "\n"                                                                     \
      "  before   {nodes: 2, hosts: [gpu01]}\n"                                \
      "  after    {nodes: 2, hosts: [gpu01, gpu02]}\n")                        \
    X(314, "an index beyond the last",                                         \
      "node_rank counts the nodes from 0, and rank_start the ranks.\n"         \
      "\n"                                                                     \
      "  before   {nodes: 2, node_rank: 2}\n"                                  \
      "  after    {nodes: 2, node_rank: 1}\n")                                 \
    X(315, "more ranks than can be counted",                                   \
      "The product is above 4294967295.\n"                                     \
      "\n"                                                                     \
      "  before   {nodes: 70000, local_world_size: 70000}\n"                   \
      "  after    {nodes: 70, local_world_size: 8}\n")                         \
    X(316, "rank_start is not where the node begins",                          \
      "rank_start is the number of ranks on the nodes before this one, which\n"\
      "node_rank and local_world_size decide. Leave it out, and it is derived;\n"\
      "stated without node_rank, it says which node this is.\n"                \
      "\n"                                                                     \
      "  before   {nodes: 2, local_world_size: 4, node_rank: 1, rank_start: 3}\n"\
      "  after    {nodes: 2, local_world_size: 4, node_rank: 1}\n")            \
    X(317, "a stream rule for a local rank that no node has",                  \
      "redirects and tee name local ranks: they count from 0 on each node, and\n"\
      "the last is local_world_size - 1 of the largest node.\n"                \
      "\n"                                                                     \
      "  before   {local_world_size: 4, redirects: \"16:3\"}\n"                \
      "  after    {local_world_size: 4, redirects: \"3:3\"}\n")                \
    X(318, "a device twice",                                                   \
      "Local rank i gets entry i of devices, so a device that is listed twice\n"\
      "is shared by two ranks. Where that is meant, say so.\n"                 \
      "\n"                                                                     \
      "  before   devices: [1, 1]\n"                                           \
      "  after    {devices: [1, 1], oversubscribe: true}\n")                   \
    X(319, "devices and local ranks do not fit",                               \
      "Local rank i gets entry i of devices. An entry more would be used by no\n"\
      "rank; where there are fewer, ranks share devices, which `oversubscribe:\n"\
      "true` allows.\n"                                                        \
      "\n"                                                                     \
      "  before   {local_world_size: 2, devices: [0, 1, 2]}\n"                 \
      "  after    {local_world_size: 2, devices: [0, 1]}\n")                   \
    X(320, "a secret is given away",                                           \
      "A warning: the name of a variable or of an argument matches `secrets`\n"\
      "and its value is written out. What a spec says is in its repository\n"  \
      "for ever, and an argument is seen by every user of the machine. Let a\n"\
      "variable come from the environment. What is no secret at all, such as\n"\
      "TOKENIZER, needs narrower `secrets`, or it is not written down.\n"      \
      "\n"                                                                     \
      "  before   env: {HF_TOKEN: hf_8fK2}\n"                                  \
      "  after    env: {HF_TOKEN: \"???\"}\n")                                 \
    X(321, "nothing takes it",                                                 \
      "kwargs, setup, init and smoke_test are for a Python function, and\n"    \
      "smoke_test tries what init made; exit_barrier holds what tells jobrun\n" \
      "that it returned: Python and libraries. Elsewhere they would be a\n"    \
      "promise that nobody keeps.\n"                                           \
      "\n"                                                                     \
      "  before   entrypoint: {python: {script: train.py}, kwargs: {lr: 1}}\n" \
      "  after    entrypoint: {python: {script: train.py}, args: [--lr, 1]}\n")\
    X(322, "a preload that nobody imports",                                    \
      "Modules are preloaded by the helper that Python ranks are forked\n"     \
      "from. Ranks that are spawned import what they need themselves, and a\n" \
      "library has no modules.\n"                                              \
      "\n"                                                                     \
      "  before   {start_method: spawn, preload: [torch]}\n"                   \
      "  after    {start_method: forkserver, preload: [torch]}\n")             \
    X(323, "a variable that comes too late",                                   \
      "A warning: ranks that are forked get their own environment only then,\n"\
      "and LD_*, OMP_* and PYTHON* are read when a library or Python itself\n" \
      "is loaded, which the helper did before. State them for all ranks, or\n" \
      "spawn.\n"                                                               \
      "\n"                                                                     \
      "  before   {start_method: fork, per_rank: {0: {env: {OMP_PROC_BIND: 1}}}}\n"\
      "  after    {start_method: fork, env: {OMP_PROC_BIND: 1}}\n")            \
    X(324, "a word that is no boolean and no number",                          \
      "A warning: yes, no, on, off, 010 and 1_000 are strings, though other\n" \
      "readers of YAML take them for booleans and numbers, and a function\n"   \
      "gets the string. Write true, false or the number; or quotes, where it\n"\
      "is to be a string.\n"                                                   \
      "\n"                                                                     \
      "  before   kwargs: {shuffle: no}\n"                                     \
      "  after    kwargs: {shuffle: false}\n")                                 \
    X(325, "a restart that never comes",                                       \
      "A warning: a job starts again at most `restart.max` times, which is 0\n"\
      "where nobody states it; and nothing is taken for a hang but silence\n"  \
      "for as long as timeouts.silence.\n"                                     \
      "\n"                                                                     \
      "  before   restart: {on: [oom, exit:75]}\n"                             \
      "  after    restart: {max: 3, on: [oom, exit:75]}\n")                    \
    X(326, "silence that cannot be heard",                                     \
      "A warning: timeouts.silence finds a run in which no rank writes\n"      \
      "anything any more. It hears what goes through jobrun (tee) and sees\n"  \
      "files grow (redirects). A stream that neither of them takes is\n"       \
      "inherited as it is; then jobrun cannot tell, and finds no hang.\n"      \
      "\n"                                                                     \
      "  before   {tee: err, timeouts: {silence: 10m}}\n"                      \
      "  after    {tee: err, redirects: out, timeouts: {silence: 10m}}\n")     \
    X(327, "device, devices and bind contradict each other",                   \
      "A list of devices is one of accelerators, which device: cpu has none of;\n"\
      "and devices: none leaves the CPUs only. bind: device binds ranks to the\n"\
      "CPUs that are near their devices, so there have to be some.\n"          \
      "\n"                                                                     \
      "  before   {device: cpu, devices: [0, 1]}\n"                            \
      "  after    {device: cuda, devices: [0, 1]}\n")                          \
    X(328, "MPI programs would be singletons",                                 \
      "A warning: env_profiles: [mpi] gives each rank the variables that mpirun\n"\
      "would, for programs that read them. MPI itself asks a process manager,\n"\
      "and jobrun is none: MPI_Init finds a world of one in every rank, and\n" \
      "each computes the whole alone. Let an MPI launcher start such programs.\n"\
      "\n"                                                                     \
      "  before   {entrypoint: [./solver], env_profiles: [mpi]}\n"             \
      "  after    jobrun render solver.jobrun.yaml --engine mpi\n")            \
    X(329, "a result file for several ranks",                                  \
      "Each rank that must deliver has a file of its own, and this path is\n"  \
      "one for all of them: what one wrote would pass for the others. Put\n"   \
      "%{rank} into it; where one rank delivers for all, name it in\n"         \
      "results.required.\n"                                                    \
      "\n"                                                                     \
      "  before   {world_size: 4, results: {file: out.json}}\n"                \
      "  after    {world_size: 4, results: {file: \"out-%{rank}.json\"}}\n")   \
    X(401, "two statements contradict each other",                             \
      "Sizes that the spec states, or that follow from what it states, do\n"   \
      "not go together: world_size is nodes x local_world_size and data x\n"   \
      "model x pipeline, and hosts and a list of local_world_size have one\n"  \
      "entry per node. Neither side is picked; leave one of them out.\n"       \
      "\n"                                                                     \
      "  before   {world_size: 8, nodes: 2, local_world_size: 3}\n"            \
      "  after    {world_size: 8, nodes: 2}\n")                                \
    X(402, "the world does not divide over the nodes",                         \
      "Every node has the same number of ranks unless local_world_size is a\n" \
      "list. The message names the nearest sizes that divide and the list.\n"  \
      "\n"                                                                     \
      "  before   {world_size: 7, nodes: 2}\n"                                 \
      "  after    {nodes: 2, local_world_size: [4, 3]}\n")                     \
    X(403, "too many ranks",                                                   \
      "A size is beyond what any machine could start, so it is taken for a\n"  \
      "mistake: more than 1,048,576 ranks, nodes or threads.\n"                \
      "\n"                                                                     \
      "  before   world_size: 8000000000\n"                                    \
      "  after    world_size: 8\n")                                            \
    X(404, "more ranks than devices",                                          \
      "A node has fewer usable devices than ranks, and local rank i is to\n"   \
      "have device i to itself. Spread the ranks over more nodes, or say\n"    \
      "that they share: then local rank i gets device i modulo the number of\n"\
      "devices.\n"                                                             \
      "\n"                                                                     \
      "  before   world_size: 8       # on a machine with 4 devices\n"         \
      "  after    world_size: 8\n"                                             \
      "           oversubscribe: true\n")                                      \
    X(405, "more ranks than CPUs",                                             \
      "A warning: the ranks of a node have to share CPUs. Usable CPUs are\n"   \
      "those in the affinity mask and the cpuset, capped by the CFS quota\n"   \
      "rounded down.\n"                                                        \
      "\n"                                                                     \
      "  before   world_size: 64      # on 4 CPUs\n"                           \
      "  after    world_size: 64\n"                                            \
      "           oversubscribe: true\n")                                      \
    X(410, "two kinds of devices",                                             \
      "The machine has accelerators of two vendors, and jobrun does not\n"     \
      "choose.\n"                                                              \
      "\n"                                                                     \
      "  before   world_size: ???\n"                                           \
      "  after    world_size: ???\n"                                           \
      "           device: cuda\n")                                             \
    X(411, "a driver that is there but broken",                                \
      "The driver of an accelerator is loaded but lists no device, or its\n"   \
      "device files are missing. Running on the CPUs instead would hide\n"     \
      "that; say so if it is what you want.\n"                                 \
      "\n"                                                                     \
      "  before   device: ???\n"                                               \
      "  after    device: cpu\n")                                              \
    X(412, "no such device here",                                              \
      "The spec wants a kind of device of which none is visible: there is\n"   \
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
      "Each backend drives some kinds of devices: nccl NVIDIA's (and AMD's\n"  \
      "under torch), gloo CPUs, hccl Ascend NPUs and Gaudi HPUs, and so on.\n" \
      "Leave backends out to get the default of the device.\n"                 \
      "\n"                                                                     \
      "  before   {device: cpu, backends: nccl}\n"                             \
      "  after    {device: cpu, backends: gloo}\n")                            \
    X(415, "OMP_NUM_THREADS is ignored",                                       \
      "A warning: the environment's OMP_NUM_THREADS is not a positive\n"       \
      "integer (or a list that begins with one), so the threads are counted\n" \
      "from the cores.\n"                                                      \
      "\n"                                                                     \
      "  before   OMP_NUM_THREADS=all jobrun train.yaml\n"                     \
      "  after    OMP_NUM_THREADS=4 jobrun train.yaml\n")                      \
    X(416, "TORCH_DISTRIBUTED_BACKEND names no backend",                       \
      "The environment asks for a backend that jobrun does not know. Unset\n"  \
      "the variable, or state backends in the spec, which comes before it.\n"  \
      "\n"                                                                     \
      "  before   TORCH_DISTRIBUTED_BACKEND=nncl jobrun train.yaml\n"          \
      "  after    TORCH_DISTRIBUTED_BACKEND=nccl jobrun train.yaml\n")         \
    X(417, "device and devices contradict each other",                         \
      "The spec lists devices for the CPU, or asks for an accelerator and\n"   \
      "for no devices at all.\n"                                               \
      "\n"                                                                     \
      "  before   {device: cpu, devices: [0, 1]}\n"                            \
      "  after    {device: cuda, devices: [0, 1]}\n")                          \
    X(418, "devices out of order",                                             \
      "Ascend's runtime reads ASCEND_RT_VISIBLE_DEVICES in ascending order\n"  \
      "only: what comes after a larger index is not seen. So ranks that see\n" \
      "all devices cannot have them in another order.\n"                       \
      "\n"                                                                     \
      "  before   devices: [4, 0]\n"                                           \
      "  after    devices: [0, 4]\n"                                           \
      "  or       device_visibility: one\n")                                   \
    X(419, "the listed devices do not fit",                                    \
      "Local rank i gets entry i of devices: an entry more than there are local\n"\
      "ranks would be used by none, and one device under two names, its index\n"\
      "and its UUID, would be two ranks'. Here the facts decide how many ranks\n"\
      "a node has, and which device a name is.\n"                              \
      "\n"                                                                     \
      "  before   {world_size: 2, devices: [0, 1, 2]}\n"                       \
      "  after    {world_size: 2, devices: [0, 1]}\n")                         \
    X(420, "node_rank or master_addr is MISSING",                              \
      "With more than one node, jobrun has to know which node this is and\n"   \
      "where rank 0 listens. A scheduler says both. Without one, run the\n"    \
      "same command on every node with its own --node-rank and a --run-id\n"   \
      "that is the same on all, and state hosts or master_addr; or start all\n"\
      "nodes' ranks on this machine with --local.\n"                           \
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
    X(423, "more nodes than there are",                                        \
      "The job wants more nodes than the scheduler's allocation, or the\n"     \
      "profile of --on, has.\n"                                                \
      "\n"                                                                     \
      "  before   salloc -N 2 jobrun train.yaml       # with nodes: 4\n"       \
      "  after    salloc -N 4 jobrun train.yaml\n")                            \
    X(424, "the scheduler's word cannot be used",                              \
      "A variable of the scheduler or launcher cannot be read, two of them\n"  \
      "contradict each other, or its job is over. Jobs leave such variables\n" \
      "behind in shells. jobrun does not guess: unset them, or state what\n"   \
      "they would have said.\n"                                                \
      "\n"                                                                     \
      "  before   SLURM_JOB_NODELIST='n[1-' jobrun train.yaml\n"               \
      "  after    env -u SLURM_JOB_ID jobrun train.yaml\n")                    \
    X(425, "more than one jobrun on a node",                                   \
      "A launcher (srun, mpirun, flux run) has started several jobruns on\n"   \
      "one node, and each would start all ranks of that node. jobrun is\n"     \
      "started once per node, and starts the ranks itself.\n"                  \
      "\n"                                                                     \
      "  before   srun --ntasks-per-node=8 jobrun train.yaml\n"                \
      "  after    srun --ntasks-per-node=1 jobrun train.yaml\n")               \
    X(426, "longer than the allocation allows",                                \
      "timeouts.run is more than what is left of the job's time, or\n"         \
      "timeouts.stop_grace more than Slurm's KillWait less ten seconds,\n"     \
      "after which nobody would be left to write the record. The lower\n"      \
      "value is used.\n"                                                       \
      "\n"                                                                     \
      "  before   timeouts: {stop_grace: 5m}      # KillWait is 30\n"          \
      "  after    timeouts: {stop_grace: 20s}\n")                              \
    X(430, "the port is taken",                                                \
      "master_port is in use, or leased by another jobrun. A port that the\n"  \
      "spec states is never moved, nor is any on several nodes; without a\n"   \
      "statement one node takes the next free port.\n"                         \
      "\n"                                                                     \
      "  before   master_port: 29500\n"                                        \
      "  after    master_port: ???\n")                                         \
    X(431, "nobody could agree on the port",                                   \
      "master_port 0 is any free port, which one jobrun chooses; the jobruns\n"\
      "on other nodes would not know it.\n"                                    \
      "\n"                                                                     \
      "  before   {nodes: 2, master_port: 0}\n"                                \
      "  after    {nodes: 2, master_port: 29500}\n")                           \
    X(432, "ranks cannot be bound as asked",                                   \
      "bind wants to know the CPUs of the machine, and bind device the NUMA\n" \
      "node of every device that is used, with CPUs of it that jobrun may use.\n"\
      "Where nothing is stated, ranks are not bound then.\n"                   \
      "\n"                                                                     \
      "  before   {device: cpu, bind: device}\n"                               \
      "  after    {device: cpu, bind: core}\n")                                \
    X(433, "the ranks could not be given ports of their own",                  \
      "PaddlePaddle wants to know an address and a port of every rank. On one\n" \
      "node jobrun leases a free port for each; on several nodes they are\n"   \
      "master_port + 1 + the local rank, at the addresses of `hosts`.\n"       \
      "\n"                                                                     \
      "  before   {nodes: 2, master_addr: a, env_profiles: [paddle]}\n"        \
      "  after    {nodes: 2, hosts: [a, b], env_profiles: [paddle]}\n")        \
    X(440, "a stream rule for a rank that is not there",                       \
      "redirects and tee are keyed by local rank, and no node has that many.\n"\
      "\n"                                                                     \
      "  before   {local_world_size: 2, redirects: \"5:3\"}\n"                 \
      "  after    {local_world_size: 2, redirects: \"1:3\"}\n")                \
    X(441, "an entry for a rank that is not there",                            \
      "per_rank is keyed by rank, and the world, as it comes out here, does\n" \
      "not have that many.\n"                                                  \
      "\n"                                                                     \
      "  before   {world_size: 2, per_rank: {5: {args: [-v]}}}\n"              \
      "  after    {world_size: 2, per_rank: {1: {args: [-v]}}}\n")             \
    X(450, "a field is still MISSING",                                         \
      "Nothing around the job tells what the field is to be: of device\n"      \
      "custom:NAME jobrun knows neither the number nor the backend.\n"         \
      "\n"                                                                     \
      "  before   {device: \"custom:tpu\"}\n"                                  \
      "  after    {device: \"custom:tpu\", backends: gloo, world_size: 8}\n")  \
    X(480, "not a machine profile",                                            \
      "The shorthand after --on is NODESxDEVICES[:MODEL][,CPUSc][,MEMg]:\n"    \
      "nodes, devices of each node, their model, CPUs, and memory in GiB. A\n" \
      "text with a dot or a slash, or one that begins with no digit, is the\n" \
      "path of a facts file instead.\n"                                        \
      "\n"                                                                     \
      "  before   --on 8:H100\n"                                               \
      "  after    --on 1x8:H100\n")                                            \
    X(481, "unknown device model",                                             \
      "The model in a profile decides whose devices they are, so it must be\n" \
      "one that jobrun knows. Without a model, they are NVIDIA's.\n"           \
      "\n"                                                                     \
      "  before   --on 2x8:H101\n"                                             \
      "  after    --on 2x8:H100\n")                                            \
    X(482, "unknown fact",                                                     \
      "A facts file has the keys that `doctor --format yaml` writes, and no\n" \
      "others. A typing mistake would otherwise pass as a fact that is not\n"  \
      "known.\n"                                                               \
      "\n"                                                                     \
      "  before   cpu: {usable: 8}\n"                                          \
      "  after    cpus: {usable: 8}\n")                                        \
    X(483, "wrong value for a fact",                                           \
      "A fact has another type, or other bounds. A fact that is not known is\n"\
      "left out, or null.\n"                                                   \
      "\n"                                                                     \
      "  before   memory: plenty\n"                                            \
      "  after    memory: 64GiB\n")                                            \
    X(484, "a fact is missing",                                                \
      "Most facts may be left out. A facts file must state its\n"              \
      "format_version, a device its kind and index, a problem its kind and\n"  \
      "message.\n"                                                             \
      "\n"                                                                     \
      "  before   devices: [{kind: cuda}]\n"                                   \
      "  after    devices: [{kind: cuda, index: 0}]\n")                        \
    X(485, "a device's facts cannot be had",                                   \
      "Beside a spec with `device: custom:NAME` lies NAME.facts, a program\n"  \
      "that prints what there is of such devices; it failed, hung, or may\n"   \
      "not be run. What validate, --on and targets look at needs no such\n"    \
      "program, and does not run it.\n"                                        \
      "\n"                                                                     \
      "  before   -rw-r--r--  acme.facts\n"                                    \
      "  after    -rwxr-xr-x  acme.facts\n")                                   \
    X(486, "facts that contradict each other",                                 \
      "A facts file says two things that cannot both be true: two devices\n"   \
      "with one index, more usable CPUs than there are, a node rank beyond\n"  \
      "the nodes. Such a machine is none, so nothing is resolved for it.\n"    \
      "\n"                                                                     \
      "  before   cpus: {online: 8, usable: 16}\n"                             \
      "  after    cpus: {online: 16, usable: 16}\n")                           \
    X(501, "a required environment variable is not set",                       \
      "The spec says ??? for a variable in env: its value must stand in the\n" \
      "environment that jobrun is called with, and does not.\n"                \
      "\n"                                                                     \
      "  before   env: {DATA_ROOT: \"???\"}\n"                                 \
      "           $ jobrun train.yaml\n"                                       \
      "  after    $ DATA_ROOT=/data jobrun train.yaml\n")                      \
    X(502, "not a per-rank template",                                          \
      "In arguments, shell, env values, workdir, results.file and\n"           \
      "artifacts, %{NAME} stands for something of the rank. NAME is not one\n" \
      "of the words, or the closing brace is missing. %%{ is a literal %{.\n"  \
      "\n"                                                                     \
      "  before   entrypoint: [./train, \"--shard=%{shard}\"]\n"               \
      "  after    entrypoint: [./train, \"--shard=%{data_rank}\"]\n")          \
    X(503, "a model group crosses nodes",                                      \
      "The ranks of a model group exchange data in every layer. Where they\n"  \
      "sit on two nodes, all of that goes over the network.\n"                 \
      "\n"                                                                     \
      "  before   local_world_size: 6\n"                                       \
      "           parallelism: {model: 4}\n"                                   \
      "  after    local_world_size: 8\n"                                       \
      "           parallelism: {model: 4}\n")                                  \
    X(504, "a list of members is left out",                                    \
      "The kernel takes at most 128 KiB in one environment variable, and\n"    \
      "the list of a group's ranks is longer. The variable is not set; the\n"  \
      "groups are in plan.json, under mesh.\n"                                 \
      "\n"                                                                     \
      "  before   os.environ[\"DATA_PARALLEL_MEMBERS\"]\n"                     \
      "  after    plan[\"mesh\"][\"groups\"][\"data\"]\n")                     \
    X(505, "LOCAL_RANK is not a device index",                                 \
      "Under device_visibility: one each rank sees a single device, which\n"   \
      "has index 0 for it: LOCAL_RANK is right for the first rank of a node\n" \
      "only. JOBRUN_DEVICE_INDEX is right for all.\n"                          \
      "\n"                                                                     \
      "  before   set_device(int(os.environ[\"LOCAL_RANK\"]))\n"               \
      "  after    set_device(int(os.environ[\"JOBRUN_DEVICE_INDEX\"]))\n")     \
    X(506, "the job does not hold together",                                   \
      "The plan was given ranks that do not add up: a world_size that is\n"    \
      "not model x pipeline x data, nodes that do not hold as many, or a\n"    \
      "rule for what is no set of ranks. Earlier stages tell of such a\n"      \
      "mistake with its position, so what gets as far as here has met a\n"     \
      "fault of jobrun.\n"                                                     \
      "\n"                                                                     \
      "  before   world_size: 8\n"                                             \
      "           parallelism: {model: 2, pipeline: 2, data: 3}\n"             \
      "  after    world_size: 12\n"                                            \
      "           parallelism: {model: 2, pipeline: 2, data: 3}\n")            \
    X(507, "ranks share a result file",                                        \
      "Each rank must deliver a result of its own, and two of them would\n"    \
      "write it to the same file: what one wrote would pass for both. Put\n"   \
      "%{rank} into results.file; where one rank delivers for all, name it\n"  \
      "in results.required.\n"                                                 \
      "\n"                                                                     \
      "  before   results: {file: out.json}\n"                                 \
      "  after    results: {file: \"out-%{rank}.json\"}\n")                    \
    X(508, "the arguments of a function are too long",                         \
      "args and kwargs are passed as one word of JSON, of which the kernel\n"  \
      "takes less than 128 KiB. Data belongs into a file whose path is\n"      \
      "passed.\n"                                                              \
      "\n"                                                                     \
      "  before   kwargs: {table: [[0.1, 0.2], [0.3, 0.4]]}   # and so on\n"   \
      "  after    kwargs: {table: data/table.json}\n")                         \
    X(509, "forking with an accelerator",                                      \
      "A warning: a process that has initialised an accelerator cannot be\n"   \
      "forked, and `start_method: fork` imports the entry module before the\n" \
      "ranks are forked from it. If that touches the device, the run fails.\n" \
      "A forkserver imports only what `preload` names.\n"                      \
      "\n"                                                                     \
      "  before   {device: cuda, start_method: fork}\n"                        \
      "  after    {device: cuda, start_method: forkserver}\n")                 \
    X(510, "not a failure to inject",                                          \
      "--inject orders failures, to try what a job and its restarts make of\n" \
      "them: KIND:RANKS, and behind it =CODE of `exit`, @TIME after the\n"     \
      "rank's start, and #ATTEMPT (the first, 0, unless it says another, or\n" \
      "* for all). Kinds are kill, exit, hang, stop, slow, noresult and oom.\n"\
      "Items are separated by commas, so each has one range of ranks.\n"       \
      "\n"                                                                     \
      "  before   jobrun train.yaml --inject 'kill:0,3'\n"                     \
      "  after    jobrun train.yaml --inject 'kill:0, kill:3@5s'\n")
/* clang-format on */

#endif
