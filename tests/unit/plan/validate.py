"""Check a JSON document against a JSON Schema: validate.py SCHEMA < DOCUMENT

Exit status: 0 valid, 1 not (what is wrong is printed), 77 no jsonschema here.
"""
import json
import sys

try:
    import jsonschema
except ImportError:
    sys.exit(77)

with open(sys.argv[1], encoding="utf-8") as file:
    schema = json.load(file)
jsonschema.Draft202012Validator.check_schema(schema)
errors = list(jsonschema.Draft202012Validator(schema).iter_errors(json.load(sys.stdin)))
for error in errors:
    print(f"{error.json_path}: {error.message}")
sys.exit(bool(errors))
