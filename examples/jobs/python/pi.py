"""Pi by throwing darts: each rank throws its own, and returns what it found."""
import random

import jobrun


def estimate(darts, seed=0, note=None):
    """A share of pi; what it returns is the rank's result."""
    generator = random.Random(seed + jobrun.rank())
    inside = sum(generator.random() ** 2 + generator.random() ** 2 < 1
                 for _ in range(darts))
    return {"pi": 4 * inside / darts, "darts": darts, "note": note}
