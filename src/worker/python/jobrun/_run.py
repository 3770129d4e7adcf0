"""jobrun.run: a spec with some of its fields set, from a Python program.

    loss = jobrun.run("train.yaml", {"vars.lr": 0.1})["ranks"][0]["result"]["loss"]

It is `jobrun run SPEC -s vars.lr=0.1`, and what the run folder says afterwards.
"""
import json
import os
import secrets
import signal
import subprocess
import time

from jobrun import _job


def run(spec, set=None, *, log_dir="runs", program=None):
    """Run the job of a spec, and return its results.json as a dict, whether it
    succeeded ("status") or not; of a spec that sweeps, its sweep.json.

    spec        the path of the spec
    set         a dict of fields, by their dotted paths, to values
    log_dir     where run folders are kept
    program     which jobrun

    JobError where nothing was started. Whatever exception leaves this call, the
    job has been stopped.
    """
    log_dir = os.path.abspath(log_dir)
    run_id = "%s-%s" % (time.strftime("%Y%m%d-%H%M%S"), secrets.token_hex(4))
    fields = dict(set or {}, log_dir=log_dir.replace("${", "$${"))
    command = [_job.find(program), "run", os.fspath(spec), "--run-id", run_id]
    for path, value in fields.items():
        command += ["-s", "%s=%s" % (path, json.dumps(value))]
    # A session of its own: a Ctrl-C comes by way of this process, once.
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                               start_new_session=True,
                               preexec_fn=_job._die_with_us())
    try:
        status = process.wait()
    except BaseException as error:
        process.send_signal(signal.SIGINT if isinstance(error, KeyboardInterrupt)
                            else signal.SIGTERM)
        process.wait()
        raise
    for name in "results.json", "sweep.json":
        path = os.path.join(log_dir, run_id, name)
        if os.path.exists(path):
            with open(path, "rb") as file:
                return json.load(file)
    raise _job.JobError("jobrun ended with %d" % status, status=status,
                        kind=_job._KINDS.get(status, "stopped"))
