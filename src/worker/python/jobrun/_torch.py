"""`init: torch`: the process group of the world, the device, and one group per
axis of the mesh, each with its own backend."""
import os
import weakref

import jobrun

# What torch calls a backend of an axis (of custom:NAME it knows the NAME), and
# the devices that it drives, where that is not the CPU: the first that this
# torch knows.
_NAMES = {"rccl": "nccl"}
_DRIVES = {"nccl": ("cuda",), "xccl": ("xpu",), "bkcl": ("xpu",),
           "hccl": ("npu", "hpu"), "cncl": ("mlu",)}


class Groups:
    """What jobrun.group and jobrun.device give."""

    def __init__(self, device, groups, owns_world=False):
        self.device = device
        # torch holds them, until they are destroyed.
        self.groups = weakref.WeakValueDictionary(groups)
        self._owns_world = owns_world

    def end(self):
        """Once the rank has done its work: end the world that init began, as
        torch wants it (torch.distributed.destroy_process_group)."""
        import torch.distributed as dist
        try:
            if self._owns_world and dist.is_initialized():
                dist.destroy_process_group()
        except Exception:
            pass  # a peer is gone: what was delivered counts

    def smoke_test(self):
        """An all-reduce over each axis of what the mesh predicts."""
        import torch
        import torch.distributed as dist
        for axis in jobrun.AXES:
            members = jobrun.members(axis)
            value = torch.full((1,), float(jobrun.rank() + 1),
                               device=self.device)
            dist.all_reduce(value, group=self.groups[axis])
            wanted = float(sum(member + 1 for member in members))
            if value.item() != wanted:
                raise RuntimeError(
                    "smoke test: an all-reduce over the %s group %s gave %r "
                    "where %r is right" % (axis, members, value.item(),
                                           wanted))


def _backend(axis=None):
    name = jobrun.backend(axis)
    return _NAMES.get(name, name.rpartition(":")[2])


def _device(torch, backend):
    for kind in _DRIVES.get(backend, ()):
        module = getattr(torch, kind, None)
        if module is None:
            continue
        index = int(os.environ.get("JOBRUN_DEVICE_INDEX",
                                   jobrun.local_rank()))
        module.set_device(index)
        return torch.device(kind, index)
    return torch.device("cpu")


def _init_world(dist, backend):
    """Whether there was none: the user's own code ends its own."""
    if dist.is_initialized():
        return False
    rank, size = jobrun.rank(), jobrun.world_size()
    if size == 1:
        # Alone there is nobody to meet, and may be no network to meet on.
        dist.init_process_group(backend, store=dist.HashStore(), rank=0,
                                world_size=1)
        return True
    dist.init_process_group(
        backend, init_method=os.environ.get("INIT_METHOD", "env://"),
        rank=rank, world_size=size)
    return True


def init():
    """Every rank makes every group, in the same order, as torch wants it."""
    import torch
    import torch.distributed as dist
    backend = _backend()
    device = _device(torch, backend)
    owns_world = _init_world(dist, backend)
    groups = {}
    for axis in jobrun.AXES:
        mine = jobrun.members(axis)
        for members in jobrun.groups(axis):
            group = dist.new_group(members, backend=_backend(axis))
            if members == mine:
                groups[axis] = group
    return Groups(device, groups, owns_world)
