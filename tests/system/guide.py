"""What the tests of pages share: the blocks of code of a page, and the comparison
of what a page shows with what a command has printed.
"""
import re

BLOCK = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.M | re.S)
FENCE = re.compile(r"^ *(?:```|~~~)", re.M)
PROMPT = re.compile(r"^(\w*)\$ ")
LEFT_OUT = "..."  # as a line of a page: any lines, also none
# What differs between runs and machines, and what stands for it on both sides.
SAME = [
    (r"\d{8}-\d{6}-([\w.-]+)-[0-9a-f]{4}", r"DAY-\1-ID"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME"),
    (r"\b(in|after) \d+(\.\d+)? m?s\b", r"\1 TIME"),
    (r"(?<=  )\d+(\.\d+)? m?s\b", "TIME"),
    (r"\d+ KiB\b", "SIZE"),
    (r"\bpid \d+", "pid PID"),
    (r"(127\.0\.0\.1|\bgpu\d+):\d{4,5}\b", r"\1:PORT"),
    (r"(node \d+) \([^)]*\)", r"\1 (HOST)"),
    (r"\bfingerprint [0-9a-f]{12}\b", "fingerprint HASH"),
    (r" {2,}", "  "),  # columns are as wide as what was replaced
    (r"(?m) +$", ""),
]


def blocks(text):
    """(language, {word: value}, text) of every block of code."""
    for language, words, body in BLOCK.findall(text):
        pairs = [word.partition("=") for word in words.split()]
        yield language, {key: value for key, _, value in pairs}, body


def commands(body):
    """(host, command, output) of a console: a command begins with "$ " or
    "HOST$ ", and what follows is its output."""
    found = []
    for line in body.splitlines():
        prompt = PROMPT.match(line)
        if prompt:
            found.append((prompt.group(1), line[prompt.end():], []))
        else:
            found[-1][2].append(line)
    return found


def by_rank(lines):
    """Lines of ranks that follow one another, in the order of ranks: who prints
    first is chance."""
    found, held = [], []
    for line in [*lines, ""]:
        prefix = re.match(r"\[(\d+)\]", line)
        if prefix:
            held.append((int(prefix.group(1)), line))
            continue
        found += [text for _, text in sorted(held, key=lambda one: one[0])]
        held = []
        found.append(line)
    return found[:-1]


def same(lines, folder=None):
    """With what differs from run to run written the same way."""
    text = "\n".join(lines)
    if folder:
        text = text.replace(str(folder), "/jobs")
    for pattern, word in SAME:
        text = re.sub(pattern, word, text)
    return by_rank(text.splitlines())


def shows(expected, actual):
    """Whether a page's lines are these, which have what LEFT_OUT leaves out."""
    if not expected:
        return not actual
    if expected[0] == LEFT_OUT:
        return any(shows(expected[1:], actual[at:])
                   for at in range(len(actual) + 1))
    return bool(actual) and expected[0] == actual[0] and \
        shows(expected[1:], actual[1:])
