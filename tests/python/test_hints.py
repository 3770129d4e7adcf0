"""Holds the types of the package, __init__.pyi, to what the modules have: the same
names, and each function with the same parameters and defaults."""
import ast
import inspect
import os
import pathlib
import sys
import unittest

PACKAGE = pathlib.Path(os.environ["SUPPORT"]) / "python"
sys.path.insert(0, str(PACKAGE))
import jobrun  # noqa: E402

STUB = ast.parse((PACKAGE / "jobrun" / "__init__.pyi").read_text())
MADE = ("launch", "run", "Job", "JobError", "Failure")  # by __getattr__


def stated(node):
    """The parameters that the stub states: name, kind, default as text."""
    args, kinds = node.args, inspect.Parameter
    first = len(args.args) - len(args.defaults)
    found = [(arg.arg, kinds.POSITIONAL_OR_KEYWORD,
              args.defaults[i - first] if i >= first else None)
             for i, arg in enumerate(args.args)]
    found += [(arg.arg, kinds.KEYWORD_ONLY, default)
              for arg, default in zip(args.kwonlyargs, args.kw_defaults)]
    if args.kwarg:
        found.append((args.kwarg.arg, kinds.VAR_KEYWORD, None))
    return found


def differences(where, node, function):
    """Where a function of the stub is not that of the module."""
    real = inspect.signature(function).parameters
    shown = stated(node)
    if [name for name, _, _ in shown] != list(real):
        return ["%s has %s, not %s" % (where, [name for name, _, _ in shown],
                                       list(real))]
    wrong = []
    for name, kind, default in shown:
        if kind != real[name].kind:
            wrong.append("%s: the kind of %s" % (where, name))
        is_open = isinstance(default, ast.Constant) and default.value is ...
        if default is None or is_open:
            continue
        if ast.literal_eval(default) != real[name].default:
            wrong.append("%s: the default of %s" % (where, name))
    return wrong


def has_no_type(node):
    args = node.args.args + node.args.kwonlyargs
    return node.returns is None or any(
        arg.annotation is None for arg in args if arg.arg != "self")


def public(names):
    return {name for name in names if not name.startswith("_")}


class Hints(unittest.TestCase):
    def test_the_marker_is_there(self):
        self.assertTrue((PACKAGE / "jobrun" / "py.typed").is_file())

    def test_the_names_are_those_of_the_package(self):
        listed = public(node.name for node in STUB.body
                        if isinstance(node, (ast.FunctionDef, ast.ClassDef)))
        listed |= public(node.target.id for node in STUB.body
                         if isinstance(node, ast.AnnAssign))
        real = public(name for name, value in vars(jobrun).items()
                      if not inspect.ismodule(value))
        self.assertEqual(listed, real | set(MADE))

    def test_functions_have_these_parameters(self):
        wrong = []
        for node in STUB.body:
            if isinstance(node, ast.FunctionDef):
                wrong += differences(node.name, node,
                                     getattr(jobrun, node.name))
        self.assertEqual(wrong, [])

    def test_classes_have_these_members(self):
        wrong = []
        for node in STUB.body:
            if not isinstance(node, ast.ClassDef):
                continue
            real = getattr(jobrun, node.name)
            methods = {part.name: part for part in node.body
                       if isinstance(part, ast.FunctionDef)}
            for name, part in methods.items():
                member = inspect.getattr_static(real, name)
                if not isinstance(member, property):
                    wrong += differences("%s.%s" % (node.name, name), part,
                                         member)
            inherited = set(dir(tuple)) | set(dir(RuntimeError)) | \
                set(jobrun.Failure._fields)
            wrong += ["%s.%s is not in the stub" % (node.name, name)
                      for name in public(vars(real)) - set(methods) - inherited
                      - {"end"}]
        self.assertEqual(wrong, [])

    def test_errors_and_failures_have_these_fields(self):
        fields = {node.name: [part.target.id for part in node.body
                              if isinstance(part, ast.AnnAssign)]
                  for node in STUB.body if isinstance(node, ast.ClassDef)}
        self.assertEqual(tuple(fields["Failure"]), jobrun.Failure._fields)
        error = jobrun.JobError("no", status=4)
        self.assertEqual(set(fields["JobError"]), set(vars(error)))

    def test_everything_has_a_type(self):
        self.assertEqual([node.name for node in ast.walk(STUB)
                          if isinstance(node, ast.FunctionDef)
                          and has_no_type(node)], [])


if __name__ == "__main__":
    unittest.main()
