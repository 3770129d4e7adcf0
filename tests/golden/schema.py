"""Hold the JSON Schema of specs against the golden folders and the examples:

    schema.py PROGRAM SCHEMA GOLDEN EXAMPLES

The committed schema is the one that the program prints; it takes every spec
that is good, and refuses those whose mistakes a schema can see. Exit status: 0
good, 1 not, 77 when there is no jsonschema or no yaml to check with.
"""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "interop"))
program, schema_path, golden, examples = map(pathlib.Path, sys.argv[1:])
printed = subprocess.run([program, "schema"], capture_output=True, check=True).stdout
if printed != schema_path.read_bytes():
    sys.exit(f"{schema_path.name} is not what the field table says: write it anew")

try:
    import jsonschema
    from instance import read
except ImportError:
    sys.exit(77)

SEEN = """booleans empty_lists extends_wrong engine_options other_launchers
    redirects_other required required_result_type shapes template_wrong
    unknown_fields words""".split()
schema = json.loads(printed)
jsonschema.Draft7Validator.check_schema(schema)
validator = jsonschema.Draft7Validator(schema)
bad = 0
good_specs = []
for pattern in ("ok/*/spec.yaml", "warn/*/spec.yaml"):
    good_specs += sorted(golden.glob(pattern))
for path in sorted(golden.glob("ok/*/expected.yaml")):
    args = path.parent / "args"
    # what is only validated has a normal form without what is not known
    if not args.exists() or " -v " not in args.read_text():
        good_specs.append(path)
good_specs += sorted(examples.glob("*.jobrun.yaml"))
for path in good_specs:
    for error in validator.iter_errors(read(path.read_text("utf-8-sig"))):
        print(f"{path}: {error.json_path}: {error.message}")
        bad += 1
for path in sorted(golden.glob("err/*/spec.yaml")):
    if path.parent.name in SEEN and validator.is_valid(read(path.read_text())):
        print(f"{path}: taken by the schema")
        bad += 1
print(f"{len(good_specs)} specs")
sys.exit(bad > 0 or not good_specs)
