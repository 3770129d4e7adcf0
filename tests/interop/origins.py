"""What the tests of the launchers' own interfaces share: jobrun's package, a
folder to work in, and framework that may be there or not."""
import importlib.util
import os
import shutil
import sys
import tempfile
import unittest

sys.path.append(os.path.join(os.environ["SUPPORT"], "python"))
import jobrun


def needs(framework):
    """The case is about objects of a framework: interop.origins has all."""
    return unittest.skipUnless(importlib.util.find_spec(framework),
                               "this Python has no " + framework)


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = os.path.realpath(tempfile.mkdtemp(prefix="jobrun origin "))
        self.addCleanup(shutil.rmtree, self.dir)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.dir)
