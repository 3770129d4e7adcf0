"""Paddle's test_spawn_and_init_parallel_env.py (2.6), each case by its name,
over shim/paddle.py. The original wants a machine with GPUs; a plan for one is
made here.

| case of the original | here |
|---|---|
| TestInitParallelEnv: test_check_env_failed | left out: it sets Paddle's variables by hand and asks how Paddle reads them |
| TestInitParallelEnv: test_init_parallel_env_break | kept, with the variables of a rank alone, in it; needs paddle |
| TestSpawnAssistMethod: test_nprocs_greater_than_device_num_error | kept |
| test_selected_devices_error, test_nprocs_not_equal_to_selected_devices | kept |
| test_get_correct_env, test_options_valid_check | kept |
| test_get_default_nprocs | kept |
| TestDistSpawnRunner (test_dist_base's spawn): check_dist_result_with_spawn | kept, in small: two ranks of a spawn with gloo lose what one does; needs paddle |
"""
import unittest

import origins
from shim.paddle import (_get_default_nprocs, _get_subprocess_env_list,
                         _options_valid_check, spawn)

GPUS = "1x2:H100,8c"
CPUS = "1x0,8c"


# What the ranks do ---------------------------------------------------------

def init_parallel_env():
    import paddle.distributed as dist
    dist.init_parallel_env()
    return [dist.get_rank(), dist.get_world_size()]


def losses(steps):
    """Of a model whose gradients are those of the whole batch, whatever part
    of it a rank has; and its weights."""
    import paddle
    import paddle.distributed as dist
    dist.init_parallel_env()
    rank, size = dist.get_rank(), dist.get_world_size()
    data = paddle.arange(8, dtype="float32").reshape([8, 1])[rank::size]
    weight, found = paddle.to_tensor([0.0]), []
    for _ in range(steps):
        error = data * weight - 3 * data
        both = paddle.stack([(error * error).sum(), (2 * error * data).sum()])
        if size > 1:
            dist.all_reduce(both)
        found.append(both[0].item())
        weight = weight - 0.001 * both[1]
    return found, weight


class TestInitParallelEnv(origins.Case):
    @origins.needs("paddle")
    def test_init_parallel_env_break(self):
        self.assertEqual(spawn(init_parallel_env, nprocs=1).results, [[0, 1]])


class TestSpawnAssistMethod(unittest.TestCase):
    def test_nprocs_greater_than_device_num_error(self):
        with self.assertRaisesRegex(RuntimeError, "JR0404.*100 ranks"):
            _get_subprocess_env_list(100, {}, GPUS)

    def test_selected_devices_error(self):
        with self.assertRaisesRegex(ValueError, "JR0413.*device 100"):
            _get_subprocess_env_list(2, {"selected_devices": "100,101"}, GPUS)

    def test_get_correct_env(self):
        env = _get_subprocess_env_list(1, {"print_config": True}, GPUS)[0]
        self.assertEqual((env["PADDLE_TRAINER_ID"], env["PADDLE_TRAINERS_NUM"],
                          env["FLAGS_selected_gpus"]), ("0", "1", "0"))

    def test_nprocs_not_equal_to_selected_devices(self):
        with self.assertRaisesRegex(ValueError, "JR0319.*3 devices"):
            _get_subprocess_env_list(
                2, {"selected_devices": "100,101,102"}, GPUS)

    def test_options_valid_check(self):
        options = {"selected_devices": "100,101,102"}
        _options_valid_check(options)
        with self.assertRaisesRegex(ValueError, "no argument 'error'"):
            _options_valid_check({**options, "error": "error"})

    def test_get_default_nprocs(self):
        self.assertEqual(_get_default_nprocs(CPUS), 8)
        self.assertEqual(_get_default_nprocs(GPUS), 2)


class TestDistSpawnRunner(origins.Case):
    @origins.needs("paddle")
    def test_check_dist_result_with_spawn(self):
        one = spawn(losses, (5,), nprocs=1).results[0]
        for found, weight in spawn(losses, (5,), nprocs=2,
                                   backend="gloo").results:
            for got, wanted in zip(found, one[0]):
                self.assertAlmostEqual(got, wanted, 2)
            self.assertLess(found[-1], found[0] / 2)
            self.assertAlmostEqual(weight.item(), one[1].item(), 4)


if __name__ == "__main__":
    unittest.main()
