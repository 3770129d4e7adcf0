"""Say why a module is missing, on standard output.

Run by jobrun before ranks are started (src/session/preflight.c), in an interpreter of the job's and
with its working directory, with the name of the module. A line for each thing that is known:
"missing NAME"; "near NAME" of what lies where that should be; "folder NAME" and "venv NAME" of
those in the working directory that have it.

It imports only what the interpreter has in itself, lest a file beside the job take the place of a
module of Python's. What is loaded, or a package that changes where its modules are, may have any; so
may a file that acts as one, as that of six does.
"""
import sys

here = sys.path[:1] == [''] and sys.path.pop(0)
import os, _frozen_importlib_external as external
sys.path[:0] = [''] if here == '' else []


def find(name, path):
    for finder in sys.meta_path:
        spec = finder.find_spec(name, path)
        if spec:
            return spec


def has(name, folder):
    return external.PathFinder.find_spec(name, [os.path.abspath(folder)])


def is_open(spec):
    if not spec.origin or not os.path.isfile(spec.origin):
        return False
    with open(spec.origin, errors='replace') as file:
        text = file.read()
    return any(word in text for word in ('__path__', 'extend_path',
        'sys.modules', 'meta_path', 'import_module'))


before, path, places = '', None, [os.getcwd()] if here == '' else []
for part in sys.argv[1].split('.'):
    name = before + part
    spec = find(name, path)
    if not spec:
        break
    if name in sys.modules or is_open(spec):
        sys.exit()
    path = places = list(spec.submodule_search_locations or [])
    before = name + '.'
else:
    sys.exit()
print('missing', name)
for place in places:
    for file in sorted(os.listdir(place)):
        stem = file.split('.')[0]
        if stem.isidentifier() and has(stem, place):
            print('near', stem)
for folder in ('src', 'lib', 'python'):
    if not before and has(part, folder):
        print('folder', folder)
for venv in ('.venv', 'venv', 'env'):
    lib = os.path.join(venv, 'lib')
    if before or not os.path.exists(os.path.join(venv, 'bin/python3')):
        continue
    for version in os.listdir(lib):
        if has(part, os.path.join(lib, version, 'site-packages')):
            print('venv', venv)
