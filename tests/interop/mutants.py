"""Wrong specs out of good ones: the same ones for the same seed.

A mutant is a good spec with one or two changes, as YAML or as JSON text. What
the two sides read differently by nature is avoided: how a number is spelled
(010, 4.0), and what no JSON value can be.
"""
import copy
import json
import random

import yaml

SCALARS = [0, 1, 2, 7, -1, 2.5, -0.5, 65535, 65536, 4294967295, 4294967296,
           True, False, None, "", " ", "4", "text", "two words", "a,b", "auto",
           "???", "all", "none", "out", "err", "3", "4x", "0-3", "0-3,8",
           "0-", "3-1", "0:3", "0:all,1-3:err", "0:x", "x:3", "30s", "5 s",
           "1h30m", "30m1h", "05s", "0", "500ms", "cpu", "gpu", "cuda",
           "custom:x", "custom:", "nccl", "gloo", "spawn", "fork", "Spawn",
           "~/x", "/nowhere/x", "..", "env://", "tcp://h:1", "tcp://h",
           "http://h", "::1", "a/b", "-x", "%{rank}", "GPU-8a2b", "2x8:H100",
           "string", "float", "number", "group", "leader", "stdout", "torch",
           "continue", "rank", "x" * 63, "x" * 64, "\u00fc"]
COLLECTIONS = [[], [1], [0, 1], [0], ["a"], ["a", "b"], [None], [[1]], [{}],
               [2.5], [-1], ["all"], {}, {"a": 1}, {"a": "b"}, {"a": None},
               {"a": []}, {"a": {"type": "number"}}, {"0": "all"},
               {"0-3": 3, "4": "err"}, {"x": 1}, {"0": "x"}, {"default": "gloo"},
               {"command": ["a"]}, {"shell": "a"}, {"model": 2}, {"": 1},
               {"A=B": 1}]
SAMPLES = SCALARS + COLLECTIONS
FOREIGN = ["nprocs", "nproc_per_node", "gpus", "n_gpus", "launch_method",
           "rank_offset", "backend", "cwd", "tp", "timeout", "Nodes"]


def places(value, path=()):
    """The path of every value below."""
    items = (value.items() if isinstance(value, dict) else
             enumerate(value) if isinstance(value, list) else ())
    for key, item in items:
        yield path + (key,)
        yield from places(item, path + (key,))


def parent(spec, path):
    for key in path[:-1]:
        spec = spec[key]
    return spec


def get(spec, path):
    return parent(spec, path)[path[-1]]


def put(spec, path, value):
    parent(spec, path)[path[-1]] = value


class Mutator:
    def __init__(self, seed, specs):
        self.random = random.Random(seed)
        self.specs = specs
        self.fields = sorted({(path, json.dumps(get(spec, path)))
                              for spec in specs for path in places(spec)
                              if all(isinstance(key, str) for key in path)},
                             key=str)

    def place(self, spec, of=object):
        found = [path for path in places(spec) if isinstance(get(spec, path), of)]
        return self.random.choice(found) if found else None

    def mapping(self, spec):
        """The path of a mapping, () for the spec itself."""
        found = [()] + [path for path in places(spec)
                        if isinstance(get(spec, path), dict)]
        path = self.random.choice(found)
        return spec if path == () else get(spec, path)

    def sample(self):
        return copy.deepcopy(self.random.choice(SAMPLES))

    # Each changes the spec in place.

    def retype(self, spec):
        put(spec, self.place(spec), self.sample())

    def set_field(self, spec):
        """A field of any good spec, with the mappings around it."""
        path, _ = self.random.choice(self.fields)
        for key in path[:-1]:
            if not isinstance(spec.get(key), dict):
                spec[key] = {}
            spec = spec[key]
        spec[path[-1]] = self.sample()

    def copy_field(self, spec):
        path, value = self.random.choice(self.fields)
        spec[path[-1]] = json.loads(value)

    def nest_wrong(self, spec):
        path, value = self.random.choice(self.fields)
        self.mapping(spec)[path[-1]] = json.loads(value)

    def misspell(self, spec):
        path = self.place(spec)
        if isinstance(path[-1], str) and path[-1]:
            at = self.random.randrange(len(path[-1]))
            key = self.random.choice([
                path[-1][:at] + path[-1][at + 1:],
                path[-1][:at] + path[-1][at] + path[-1][at:],
                path[-1].upper(), path[-1] + "s",
                path[-1].replace("_", "-")])
            owner = parent(spec, path)
            owner[key] = owner.pop(path[-1])

    def add_key(self, spec):
        key = self.random.choice(FOREIGN + ["toaster", "x-mine", "$schema",
                                            "preload", "signals", "engine"])
        self.mapping(spec)[key] = self.sample()

    def remove(self, spec):
        path = self.place(spec)
        del parent(spec, path)[path[-1]]

    def remove_required(self, spec):
        found = [path for path in places(spec)
                 if path[-1] in ("version", "entrypoint", "type", "command")]
        if found:
            path = self.random.choice(found)
            del parent(spec, path)[path[-1]]

    def wrap(self, spec):
        path = self.place(spec)
        value = get(spec, path)
        put(spec, path, self.random.choice([[value], {"value": value},
                                            [value, value]]))

    def unwrap(self, spec):
        path = self.place(spec, (list, dict))
        if path is not None and get(spec, path):
            value = get(spec, path)
            items = value if isinstance(value, list) else list(value.values())
            put(spec, path, self.random.choice(items))

    def shift_number(self, spec):
        path = self.place(spec, (int, float))
        if path is not None and not isinstance(get(spec, path), bool):
            put(spec, path, self.random.choice(
                [0, -1, -get(spec, path) - 1, get(spec, path) + 1, 1 << 33,
                 0.25]))

    def bend_word(self, spec):
        path = self.place(spec, str)
        if path is not None and get(spec, path):
            word = get(spec, path)
            put(spec, path, self.random.choice(
                [word + "x", word[:-1], word.upper(), " " + word, word + " ",
                 word + "\n", word + "," + word]))

    def repeat(self, spec):
        path = self.place(spec, list)
        if path is not None and get(spec, path):
            get(spec, path).append(self.random.choice(
                [copy.deepcopy(get(spec, path)[0]), self.sample()]))

    CHANGES = [retype, retype, set_field, set_field, set_field, set_field,
               copy_field, nest_wrong, misspell, add_key, remove,
               remove_required, wrap, unwrap, shift_number, bend_word, repeat]

    def text(self, spec):
        style = self.random.choice(["json", "block", "flow"])
        if style == "json":
            return json.dumps(spec, ensure_ascii=False, indent=1)
        return yaml.safe_dump(spec, allow_unicode=True, sort_keys=False,
                              default_flow_style=style == "flow")

    @staticmethod
    def duplicate(spec):
        """A key twice, which no JSON value can have."""
        text = json.dumps(spec)
        return text[:-1] + ", " + text[1:] if len(spec) > 0 else text

    def mutant(self):
        spec = copy.deepcopy(self.random.choice(self.specs))
        names = []
        for _ in range(self.random.choice([1, 1, 1, 2])):
            change = self.random.choice(self.CHANGES)
            names.append(change.__name__)
            if list(places(spec)):
                change(self, spec)
        if self.random.random() < 0.02:
            return "duplicate", self.duplicate(spec)
        return "+".join(names), self.text(spec)


def make(seed, specs, count):
    mutator = Mutator(seed, specs)
    return [mutator.mutant() for _ in range(count)]


def all_values(specs):
    """Each field of the good specs with each sample, alone in a small spec."""
    fields = {}
    for spec in specs:
        for path in places(spec):
            fields.setdefault(str(path), (spec, path))
    for name, (spec, path) in sorted(fields.items()):
        for sample in SAMPLES:
            around = smallest_around(spec, path)
            put(around, path, copy.deepcopy(sample))
            yield f"{name} = {sample!r}", json.dumps(around)


def smallest_around(spec, path):
    """What of a spec leads to a place, and what every spec has."""
    kept = {"version": 1, "entrypoint": ["./train"]}
    kept[path[0]] = copy.deepcopy(spec[path[0]])
    return kept


# What configs of ml call a field, with what it is in a spec; None: it is left
# out, at these values.
ML = {
    "world_size": ("world_size",), "master_addr": ("master_addr",),
    "threads": ("threads",), "init_method": ("init_method",),
    "launch_method": ("start_method",), "backend": ("backends", "default"),
    "model_parallelism": ("parallelism", "model"),
    "pipeline-parallelism": ("parallelism", "pipeline"),
    "data_parallelism": ("parallelism", "data"),
    "model_parallel_backend": ("backends", "model"),
    "pipeline_parallel_backend": ("backends", "pipeline"),
    "data_parallel_backend": ("backends", "data"),
    "rank": None, "local_rank": None, "join": None, "daemon": None,
}
ML_VALUES = {
    "world_size": [8], "master_addr": ["127.0.0.1"], "threads": [1],
    "init_method": ["env://"], "launch_method": ["spawn", "forkserver"],
    "rank": [-1, None], "local_rank": [-1, None], "join": [True],
    "daemon": [True, False],
}
ML_BLOCKS = [
    "# a comment", "", "parallelism: {model: 1}", "parallelism: {}",
    "parallelism:\n    data: 4 # it is there", "parallelism: &p {data: 2}",
    "backends: gloo", "backends: {default: gloo}", "backends: *b",
    "x-b: &b {data: mpi}", "tp: 2", "vars: {mp: 2}\nx-mp: ${vars.mp}",
    "x-mp: ${model_parallelism}", "timeouts:\n  run: 1h", "grace_period: 5s",
]


def ml_line(chance, name):
    values = ML_VALUES.get(name, [1, 2] if "parallelism" in name else
                           ["gloo", "mpi", "custom:x", None])
    text = json.dumps(chance.choice(values))
    if text.startswith('"') and chance.random() < 0.7 and ":" not in text:
        text = text.strip('"')
    key = chance.choice([name] * 5 + [json.dumps(name), "'%s'" % name])
    return key + chance.choice([": ", ":   "]) + text


def ml(seed, count):
    """Configs of ml in any order, (alone, text) each; alone: no others' fields
    are among them."""
    chance = random.Random(seed)
    for _ in range(count):
        names = chance.sample(sorted(ML), chance.randint(1, len(ML)))
        lines = [ml_line(chance, name) for name in names]
        lines += ["version: 1", "device: cpu", chance.choice(
            ["entrypoint: [./a]", 'entrypoint: {python: {function: "a:b"}}'])]
        style = chance.random()
        if style < 0.3:
            chance.shuffle(lines)
            yield True, "{" + chance.choice([", ", ",\n "]).join(lines) + "}\n"
            continue
        if style > 0.5:
            lines += chance.sample(ML_BLOCKS, chance.randint(1, 5))
        chance.shuffle(lines)
        lines = [chance.choice(["", "# above\n"]) + line +
                 chance.choice(["", "  # behind"])
                 if line and "\n" not in line and chance.random() < 0.4 else line
                 for line in lines]
        end = chance.choice(["", "\n", "\n\n"])
        text = "\n".join(lines) + end
        yield style <= 0.5, text.replace("\n", chance.choice(["\n", "\n", "\r\n"]))
