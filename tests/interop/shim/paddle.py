"""paddle.distributed.spawn over jobrun.launch and jobrun plan: the names are
Paddle's. `on` is the machine that a plan is made for."""
import json
import subprocess

import jobrun
from jobrun import _job, _launch
from shim import ON_CPU


def _fields(nprocs, options):
    """Paddle's options as fields of a spec."""
    fields = {"version": 1, "entrypoint": ["true"], "env_profiles": ["paddle"]}
    given = {word: value for word, value in options.items()
             if word not in _launch._NEEDLESS}
    if nprocs != -1:
        given["local_world_size"] = nprocs
    _launch._take_options(fields, given)
    return fields


def _options_valid_check(options):
    try:
        for word in options:
            if word not in _launch._NEEDLESS:
                _launch._field_of(word)
    except TypeError as error:
        raise ValueError(str(error)) from error


def _get_subprocess_env_list(nprocs, options, on):
    """Each rank's environment. RuntimeError for more ranks than devices, and
    ValueError for devices that do not fit, as Paddle has it."""
    done = subprocess.run(
        [_job.find(None), "plan", "-", "--on", on, "--format", "json"],
        input=json.dumps(_fields(nprocs, options)), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        mistake = ValueError if "selected_devices" in options else RuntimeError
        raise mistake(done.stderr)
    return [rank["env"] for rank in json.loads(done.stdout)["ranks"]]


def _get_default_nprocs(on):
    return len(_get_subprocess_env_list(-1, {}, on))


def spawn(func, args=(), nprocs=-1, join=True, daemon=False, **options):
    del daemon  # no rank outlives its job
    _options_valid_check(options)
    job = jobrun.launch(
        func, args, join=False, exchange="pickle", nprocs=nprocs,
        spec={"env_profiles": ["paddle"]},
        **{**ON_CPU, **{word: value for word, value in options.items()
                        if word not in _launch._NEEDLESS}})
    if join:
        job.join()
    return job
