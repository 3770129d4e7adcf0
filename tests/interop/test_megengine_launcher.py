"""MegEngine's test_distributed.py (1.13), each case that goes through its
launcher by its name, over shim/megengine.py.

| case of the original | here |
|---|---|
| test_collective_results, four times: ranks that return and ranks that exit with 0 before, results small and large | kept |
| test_new_group, test_group_barrier, test_synchronized, test_user_set_get | kept, with MegEngine itself: test_megengine_groups.py |
| test_init_process_group | kept there, through the launcher: the original starts its processes by multiprocessing |
| test_oprmm_hashable, test_param_pack_split, test_param_pack_concat | left out: operators, without a launcher |
"""
import itertools
import unittest

import origins
from origins import jobrun
from shim.megengine import launcher


class Launcher(origins.Case):
    def test_collective_results(self):
        for early_return, output_size in itertools.product(
                (False, True), (10, 10000)):
            with self.subTest(early_return=early_return, size=output_size):
                @launcher
                def worker():
                    if early_return:
                        exit(0)
                    return [jobrun.rank()] * output_size

                results = worker()
                self.assertEqual(len(results), 2)
                self.assertEqual(results, [None] * 2 if early_return else
                                 [[rank] * output_size for rank in range(2)])


if __name__ == "__main__":
    unittest.main()
