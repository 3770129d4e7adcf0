"""What a JSON Schema validator sees of a YAML text: the JSON value that it has
by the core schema of YAML 1.2, as editors read it.
"""
import re

import yaml

NULL = re.compile(r"(null|Null|NULL|~|)$")
BOOLEAN = re.compile(r"(true|True|TRUE|false|False|FALSE)$")
INTEGER = re.compile(r"[-+]?[0-9]+$")
FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$")


class Unreadable(Exception):
    """A text that is no YAML, or no JSON value."""


def scalar(node):
    text = node.value
    if node.style:  # quoted, or a block
        return text
    if NULL.match(text):
        return None
    if BOOLEAN.match(text):
        return text.lower() == "true"
    if INTEGER.match(text):
        return int(text)
    return float(text) if FLOAT.match(text) else text


def value(node):
    if isinstance(node, yaml.ScalarNode):
        return scalar(node)
    if isinstance(node, yaml.SequenceNode):
        return [value(item) for item in node.value]
    return {key.value: value(item) for key, item in node.value}


def read(text, loader=yaml.BaseLoader):
    """The JSON value of a YAML text; keys are their text, the last of equal
    ones counts. The default is a reader in Python, which is not libyaml as
    jobrun's is."""
    try:
        node = yaml.compose(text, Loader=loader)
        return None if node is None else value(node)
    except (yaml.YAMLError, TypeError, RecursionError) as error:
        raise Unreadable(str(error)) from error
