"""Pi by throwing darts: each rank throws its own, and returns what it found."""
import random

import jobrun


def estimate(darts, seed=0, note=None):
    """A share of pi; what it returns is the rank's result."""
    generator = random.Random(seed + jobrun.rank())
    inside = 0
    for thrown in range(1, darts + 1):
        inside += generator.random() ** 2 + generator.random() ** 2 < 1
        if thrown % 1000 == 0:
            jobrun.progress(thrown, of=darts, pi=4 * inside / thrown)
    return {"pi": 4 * inside / darts, "darts": darts, "note": note}
