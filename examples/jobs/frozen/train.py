"""Find the root of 2 by Newton's method; fail once, half-way, to be restarted."""
import hashlib
import os
import pathlib

import jobrun

x = 10.0
for step in range(1, 9):
    x -= (x * x - 2) / (2 * x)
    loss = abs(x * x - 2)
    jobrun.progress(step, of=8, loss=loss)
    if step == 4 and os.environ["JOBRUN_ATTEMPT"] == "0":
        raise SystemExit("an accident of the first attempt")

code = pathlib.Path(__file__).read_bytes()
jobrun.result({"loss": loss, "code": hashlib.sha256(code).hexdigest()})
