"""What a rank asks the package and hears, value by value, in this process; torch
is a stand-in that notes what it is asked for."""
import contextlib
import io
import json
import os
import shutil
import sys
import tempfile
import types
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.environ["SUPPORT"], "python"))
import jobrun
from jobrun import (_error, _job, _launch, _main, _progress, _result, _torch,
                    _worker)

# Rank 17 of 24: 2 model x 3 pipeline x 4 data.
PLACE = {
    "RANK": "17", "WORLD_SIZE": "24", "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "8", "NODE_RANK": "2", "JOBRUN_ATTEMPT": "4",
    "MODEL_PARALLEL_SIZE": "2", "MODEL_PARALLEL_RANK": "1",
    "MODEL_PARALLEL_GROUP": "8", "MODEL_PARALLEL_BACKEND": "rccl",
    "PIPELINE_PARALLEL_SIZE": "3", "PIPELINE_PARALLEL_RANK": "2",
    "PIPELINE_PARALLEL_GROUP": "5", "PIPELINE_PARALLEL_BACKEND": "custom:mine",
    "DATA_PARALLEL_SIZE": "4", "DATA_PARALLEL_RANK": "2",
    "DATA_PARALLEL_GROUP": "5", "DATA_PARALLEL_BACKEND": "gloo",
    "INIT_METHOD": "tcp://n0:1"}


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = os.path.realpath(tempfile.mkdtemp(prefix="job run "))
        self.addCleanup(shutil.rmtree, self.dir)
        patches = [mock.patch.dict(os.environ, PLACE, clear=True),
                   mock.patch.object(jobrun, "_made", None),
                   mock.patch.object(jobrun.result, "delivered", False)]
        for patch in patches:
            patch.start()
            self.addCleanup(patch.stop)

    def says(self, kind, text, call, *args, **more):
        with self.assertRaises(kind) as caught:
            call(*args, **more)
        self.assertEqual(str(caught.exception), text)


class Place(Case):
    def test_numbers(self):
        for call, name, number in (
                (jobrun.rank, "RANK", 17), (jobrun.world_size, "WORLD_SIZE", 24),
                (jobrun.local_rank, "LOCAL_RANK", 1),
                (jobrun.local_world_size, "LOCAL_WORLD_SIZE", 8),
                (jobrun.node_rank, "NODE_RANK", 2),
                (jobrun.attempt, "JOBRUN_ATTEMPT", 4)):
            self.assertEqual(call(), number)
            del os.environ[name]
            self.says(RuntimeError, name + " is not set: this process is not a "
                      "rank of jobrun", call)

    def test_axes(self):
        self.assertEqual([jobrun.size(axis) for axis in jobrun.AXES], [2, 3, 4])
        self.assertEqual(jobrun.coordinates(),
                         {"model": 1, "pipeline": 2, "data": 2})
        self.assertEqual([jobrun.members(axis) for axis in jobrun.AXES],
                         [[16, 17], [13, 15, 17], [5, 11, 17, 23]])
        self.assertEqual(jobrun.groups("pipeline"),
                         [[0, 2, 4], [1, 3, 5], [6, 8, 10], [7, 9, 11],
                          [12, 14, 16], [13, 15, 17], [18, 20, 22],
                          [19, 21, 23]])
        self.assertEqual(len(jobrun.groups("model")), 12)
        self.assertEqual(len(jobrun.groups("data")), 6)

    def test_there_is_no_other_axis(self):
        with mock.patch.object(jobrun, "_made", mock.Mock()):
            for call in (jobrun.size, jobrun.groups, jobrun.members,
                         jobrun.backend, jobrun.group):
                self.says(ValueError, "no axis 'tensor': there are model, "
                          "pipeline, data", call, "tensor")

    def test_backends(self):
        self.assertEqual([jobrun.backend(axis) for axis in jobrun.AXES],
                         ["rccl", "custom:mine", "gloo"])
        self.assertEqual(jobrun.backend(), "gloo") # the data axis's
        for name, found in (("nccl", "nccl"), ("", "gloo")):
            with mock.patch.dict(os.environ, TORCH_DISTRIBUTED_BACKEND=name):
                self.assertEqual(jobrun.backend(), found)
                self.assertEqual(jobrun.backend("model"), "rccl")


class Package(Case):
    def test_what_ranks_do_not_need_is_there(self):
        self.assertIs(jobrun.Job, _job.Job)
        self.assertIs(jobrun.JobError, _job.JobError)
        self.assertIs(jobrun.Failure, _job.Failure)
        self.assertIs(jobrun.launch, _launch.launch)
        self.says(AttributeError, "module 'jobrun' has no attribute 'lunch'",
                  lambda: jobrun.lunch)

    def test_groups_have_to_be_made(self):
        for call, args in (jobrun.group, ("model",)), (jobrun.device, ()):
            self.says(RuntimeError, "there are no process groups: state `init: "
                      "torch` in the spec, or call jobrun.init('torch') first",
                      call, *args)
        self.says(ValueError, "jobrun.init knows 'torch', not 'jax'",
                  jobrun.init, "jax")

    def test_groups_are_made_once(self):
        made = mock.Mock(groups={"model": "m", "data": "d"}, device="cuda:1")
        with mock.patch.object(_torch, "init", return_value=made) as init:
            self.assertIsNone(jobrun.init())
            made.smoke_test.assert_not_called()
            jobrun.init("torch", smoke_test=True)
        init.assert_called_once_with()
        made.smoke_test.assert_called_once_with()
        self.assertEqual((jobrun.group("model"), jobrun.group("data"),
                          jobrun.device()), ("m", "d", "cuda:1"))

    def test_progress(self):
        with mock.patch.object(_progress, "tell") as tell:
            jobrun.progress(3)
            jobrun.progress(4, 9, loss=0.5)
        self.assertEqual(tell.call_args_list, [
            mock.call(3, None, {}), mock.call(4, 9, {"loss": 0.5})])

    def test_result(self):
        os.environ["JOBRUN_RESULT_FILE"] = self.dir + "/result.json"
        _error.claim()
        with mock.patch.object(_result, "_held", None):
            jobrun.result({"x": 1})
        with open(self.dir + "/result.json") as file:
            self.assertEqual(json.load(file), {"x": 1})
        self.assertTrue(jobrun.result.delivered)


class Group:
    def __init__(self, members):
        self.members = tuple(members)


class Torch(Case):
    def setUp(self):
        super().setUp()
        self.dist = types.ModuleType("torch.distributed")
        self.torch = types.ModuleType("torch")
        self.torch.distributed = self.dist
        self.torch.device = lambda *what: ("device",) + what
        self.torch.full = lambda shape, value, device: \
            types.SimpleNamespace(shape=shape, value=value, device=device,
                                  item=lambda: self.sums.pop(0))
        self.dist.is_initialized = lambda: False
        self.dist.HashStore = lambda: "store"
        self.dist.init_process_group = mock.Mock()
        self.dist.new_group = self.new_group
        self.dist.all_reduce = mock.Mock()
        self.dist.destroy_process_group = mock.Mock()
        self.made, self.groups = [], []
        patch = mock.patch.dict(sys.modules, {
            "torch": self.torch, "torch.distributed": self.dist})
        patch.start()
        self.addCleanup(patch.stop)

    def new_group(self, members, backend):
        """torch holds a group until it is destroyed."""
        self.made.append((members, backend))
        self.groups.append(Group(members))
        return self.groups[-1]

    def test_devices(self):
        def module():
            return types.SimpleNamespace(set_device=mock.Mock())
        for backend, kinds, kind in (
                ("nccl", ("cuda",), "cuda"), ("xccl", ("xpu",), "xpu"),
                ("bkcl", ("xpu",), "xpu"), ("hccl", ("npu", "hpu"), "npu"),
                ("hccl", ("hpu",), "hpu"), ("cncl", ("mlu",), "mlu"),
                ("nccl", (), None), ("gloo", ("cuda",), None),
                ("mine", ("cuda",), None)):
            for index in None, "5":
                torch = types.SimpleNamespace(
                    device=self.torch.device, **{k: module() for k in kinds})
                if index is not None:
                    os.environ["JOBRUN_DEVICE_INDEX"] = index
                number = 1 if index is None else 5
                self.assertEqual(
                    _torch._device(torch, backend),
                    ("device", "cpu") if kind is None else
                    ("device", kind, number))
                for name in kinds:
                    calls = getattr(torch, name).set_device.call_args_list
                    self.assertEqual(calls, [mock.call(number)]
                                     if name == kind else [])
            del os.environ["JOBRUN_DEVICE_INDEX"]

    def test_the_world(self):
        start = self.dist.init_process_group
        _torch._init_world(self.dist, "gloo")
        start.assert_called_once_with("gloo", init_method="tcp://n0:1", rank=17,
                                      world_size=24)
        start.reset_mock()
        del os.environ["INIT_METHOD"]
        _torch._init_world(self.dist, "nccl")
        start.assert_called_once_with("nccl", init_method="env://", rank=17,
                                      world_size=24)
        start.reset_mock()
        with mock.patch.dict(os.environ, WORLD_SIZE="1", RANK="0"):
            _torch._init_world(self.dist, "gloo") # alone, without a network
        start.assert_called_once_with("gloo", store="store", rank=0,
                                      world_size=1)
        start.reset_mock()
        self.dist.is_initialized = lambda: True
        _torch._init_world(self.dist, "gloo") # by the user's own code
        start.assert_not_called()

    def test_every_rank_makes_every_group(self):
        self.torch.cuda = types.SimpleNamespace(set_device=mock.Mock())
        os.environ["TORCH_DISTRIBUTED_BACKEND"] = "rccl"
        made = _torch.init()
        self.assertEqual(made.device, ("device", "cuda", 1))
        self.assertEqual(
            {axis: group.members for axis, group in made.groups.items()},
            {"model": (16, 17), "pipeline": (13, 15, 17),
             "data": (5, 11, 17, 23)})
        self.groups.clear()  # a thread of a group outlives none
        self.assertEqual(dict(made.groups), {})
        self.assertEqual(self.dist.init_process_group.call_args[0], ("nccl",))
        self.assertEqual(self.made, [
            (members, backend) for axis, backend in (
                ("model", "nccl"), ("pipeline", "mine"), ("data", "gloo"))
            for members in jobrun.groups(axis)])

    def test_the_world_that_it_began_ends(self):
        """And no other: not the user's own, nor one that has ended already."""
        os.environ["TORCH_DISTRIBUTED_BACKEND"] = "gloo"
        for before, after, ends in ((False, True, 1), (True, True, 0),
                                    (False, False, 0)):
            self.dist.destroy_process_group.reset_mock()
            self.dist.is_initialized = lambda: before
            with mock.patch.object(jobrun, "_made", None):
                jobrun._end()  # there is none
                jobrun.init()
                self.dist.is_initialized = lambda: after
                self.dist.destroy_process_group.assert_not_called()
                jobrun._end()
            self.assertEqual(self.dist.destroy_process_group.call_count, ends)
        self.dist.is_initialized = lambda: True
        self.dist.destroy_process_group.side_effect = RuntimeError("gone")
        _torch.Groups("cpu", {}, True).end()  # what was delivered counts

    def test_the_smoke_test(self):
        held = {axis: self.new_group([], axis) for axis in jobrun.AXES}
        groups = _torch.Groups("cpu", held)
        self.sums = [17.0 + 18, 14.0 + 16 + 18, 6.0 + 12 + 18 + 24]
        groups.smoke_test()
        calls = self.dist.all_reduce.call_args_list
        self.assertEqual([call[1] for call in calls],
                         [{"group": held[axis]} for axis in jobrun.AXES])
        for call in calls:
            value = call[0][0]
            self.assertEqual((value.shape, value.value, value.device),
                             ((1,), 18.0, "cpu"))
        self.sums = [35.0, 47.0, 47.0]
        self.says(RuntimeError, "smoke test: an all-reduce over the pipeline "
                  "group [13, 15, 17] gave 47.0 where 48.0 is right",
                  groups.smoke_test)


class Worker(Case):
    def refusal(self, version):
        told = io.StringIO()
        with mock.patch.object(sys, "version_info", version), \
                mock.patch.object(_main, "main", return_value=5), \
                mock.patch.object(sys, "path", list(sys.path)), \
                contextlib.redirect_stderr(told):
            self.code = _worker.main()
        return told.getvalue()

    def test_an_interpreter_that_is_too_old(self):
        path = os.environ["JOBRUN_ERROR_FILE"] = self.dir + "/error.json"
        text = "%s is Python 3.7, and jobrun's Python entrypoints want 3.8 " \
            "or later: set entrypoint.python.interpreter to a newer one" \
            % sys.executable
        with mock.patch("time.time", return_value=1234567890.5):
            self.assertEqual(self.refusal((3, 7, 9)), "jobrun: " + text + "\n")
        self.assertEqual(self.code, 126)
        with open(path) as file:
            self.assertEqual(json.load(file), {
                "message": {"message": text, "extraInfo": {
                    "py_callstack": "", "timestamp": "1234567890"}},
                "time_ns": 1234567890500000000, "pid": os.getpid(),
                "start": True})
        os.unlink(path)
        for value in "", None:
            os.environ.pop("JOBRUN_ERROR_FILE")
            if value is not None:
                os.environ["JOBRUN_ERROR_FILE"] = value
            self.assertIn(text, self.refusal((2, 7, 18)).replace("2.7", "3.7"))
            os.environ["JOBRUN_ERROR_FILE"] = path
        self.assertEqual(os.listdir(self.dir), [])
        self.assertEqual((self.refusal((3, 8)), self.code), ("", 5))

    def test_its_own_folders_hide_nothing(self):
        here = os.path.dirname(os.path.abspath(_worker.__file__))
        support = os.path.dirname(here)
        for before, after in (
                ([here, "/a"], ["/a", support]),
                (["/a", "/b"], ["/a", "/b", support]), # a safe path
                ([], [support]), (["", "/a"], ["", "/a", support])):
            with mock.patch.object(sys, "path", list(before)), \
                    mock.patch.object(sys, "argv", ["w", "script", "x"]), \
                    mock.patch.object(_main, "main", return_value=7) as main:
                self.assertEqual(_worker.main(), 7)
                self.assertEqual(sys.path, after)
            main.assert_called_once_with(["script", "x"])


if __name__ == "__main__":
    unittest.main()
