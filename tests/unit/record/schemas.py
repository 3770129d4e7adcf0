"""Hold what jobrun writes to its schemas.

usage: schemas.py SAMPLES SCHEMA_FOLDER

SAMPLES is what the unit test of the writers left: each text behind a line
with `--- ` and the name of its schema.
"""

import json
import pathlib
import sys

import jsonschema


def strict(schema):
    """The schema with no room for keys that it does not list."""
    if isinstance(schema, dict):
        if "properties" in schema:
            schema["additionalProperties"] = False
        for value in schema.values():
            strict(value)
    return schema


def main(texts, folder):
    validators = {}
    for name in ("results", "run"):
        path = pathlib.Path(folder, f"{name}-v1.schema.json")
        schema = json.loads(path.read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        validators[name] = jsonschema.Draft202012Validator(strict(schema))
    samples = pathlib.Path(texts).read_text().split("--- ")[1:]
    assert len(samples) == 54, len(samples)
    bad = 0
    for number, sample in enumerate(samples):
        name, _, body = sample.partition("\n")
        for error in validators[name].iter_errors(json.loads(body)):
            print(f"sample {number} ({name}): {error.json_path}: "
                  f"{error.message}")
            bad += 1
    return bad != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
