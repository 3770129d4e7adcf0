"""The launchers' own Python interfaces over jobrun.launch and specs, as thin as
they can be, so that the launchers' own tests can be asked of jobrun:

    elastic     torch.distributed.elastic.multiprocessing
    spawning    torch.multiprocessing
    paddle      paddle.distributed.spawn
    megengine   megengine.distributed.launcher
"""

# Ranks of these tests share the machine's CPUs.
ON_CPU = {"device": "cpu", "oversubscribe": True}
