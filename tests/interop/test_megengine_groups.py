"""The cases of MegEngine's test_distributed.py (1.13) whose ranks meet at its
server, each by its name, with MegEngine itself: the table is in
test_megengine_launcher.py."""
import unittest

import origins
from shim.megengine import launcher
from shim.spawning import Queue


def same(got, wanted):
    if got != wanted:
        raise AssertionError("%r is not %r" % (got, wanted))


@origins.needs("megengine")
class Groups(origins.Case):
    def test_init_process_group(self):
        @launcher
        def worker():
            import megengine.distributed as dist
            same(dist.is_distributed(), True)
            same(dist.get_py_server_addr()[0], "localhost")
            same(dist.get_mm_server_addr()[1] > 0, True)
            same(isinstance(dist.get_client(), dist.Client), True)
            return [dist.get_rank(), dist.get_world_size()]
        self.assertEqual(worker(), [[0, 2], [1, 2]])

    def test_new_group(self):
        ranks = [2, 0]

        @launcher(n_gpus=3)
        def worker():
            import megengine.distributed as dist
            rank = dist.get_rank()
            if rank not in ranks:
                return None
            group = dist.new_group(ranks)
            return [group.size, group.key, group.rank]
        self.assertEqual(worker(), [[2, "2,0", 1], None, [2, "2,0", 0]])

    def test_group_barrier(self):
        """What rank 0 does behind the second barrier comes after what rank 1
        does before it."""
        @launcher
        def worker(queue):
            import megengine.distributed as dist
            dist.group_barrier()
            if dist.get_rank() == 1:
                queue.put("before")
            dist.group_barrier()
            if dist.get_rank() == 0:
                queue.put("behind")
        queue = Queue()
        worker(queue)
        self.assertEqual([queue.get(60), queue.get(60)], ["before", "behind"])

    def test_synchronized(self):
        """No rank leaves the function before all have done what it does."""
        @launcher
        def worker(queue):
            import megengine.distributed as dist

            @dist.synchronized
            def function(rank):
                queue.put(rank)
            dist.group_barrier()
            function(dist.get_rank())
            queue.put("behind")
        queue = Queue()
        worker(queue)
        got = [queue.get(60) for _ in range(4)]
        self.assertEqual(sorted(got[:2]), [0, 1])
        self.assertEqual(got[2:], ["behind"] * 2)

    def test_user_set_get(self):
        @launcher
        def worker():
            import megengine.distributed as dist
            dist.get_client().user_set("foo", 1)
            return dist.get_client().user_get("foo")
        self.assertEqual(worker(), [1, 1])


if __name__ == "__main__":
    unittest.main()
